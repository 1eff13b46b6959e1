/*
 * tour: most of nod in five tools.
 *
 * What it shows: a wizard of three forms with every kind of field; a blocking tool with progress;
 * an approval with a form; a question and a step for each item of a list; the client's model, and a
 * person who reads what it wrote before it is sent. tour.cpp is the same server in C++.
 *
 * Every tool asks before it does anything, and does everything in steps. So it can be killed at any
 * moment: on a store that outlives it (--store sqlite:tour.db, with a secret), each call goes on
 * where it was.
 *
 * Run it:
 *
 *     build/release/examples/tour
 *     build/release/examples/tour --http 127.0.0.1:8080 --store sqlite:tour.db
 *
 * TOUR_LEDGER names the file that the deeds are written to; without it they are not written down.
 */
#include <nod/nod.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHELF_MS = 50, LINE_MAX_BYTES = 1024 };

/* The world outside: a ledger. It knows a step that is done again after a crash by its key. */
static nod_status write_down(nod_step_run *step, void *text)
{
    const char *key = nod_step_key(step), *path = getenv("TOUR_LEDGER");
    FILE *ledger = path ? fopen(path, "a+") : NULL;
    char line[LINE_MAX_BYTES];
    bool known = false;

    while (ledger && !known && fgets(line, sizeof(line), ledger))
        known = strncmp(line, key, strlen(key)) == 0;
    if (ledger && !known)
        fprintf(ledger, "%s\t%s\n", key, (const char *)text);
    return (ledger && fclose(ledger) != 0) || (path && !ledger) ? NOD_E_IO : NOD_OK;
}

/* --- a wizard: three forms, one after the other --- */

static nod_status plan_trip(nod_call *call)
{
    nod_answer who, where, how;
    const char *extras = "none";

    NOD_TRY(nod_elicit(
        call, &who, .key = "who", .message = "Who is travelling?", .attempts = 3,
        .form = NOD_FORM(NOD_TEXT("name", .title = "Name", .required = true, NOD_MIN(2)),
                         NOD_TEXT("email", .title = "E-mail", .format = "email", .required = true),
                         NOD_INT("people", .title = "How many people", NOD_MIN(1), NOD_MAX(9),
                                 .required = true, .preset = "1"))));
    if (who.action != NOD_ACCEPT)
        return nod_reply_text(call, "Nothing was booked.");
    NOD_TRY(nod_elicit(
        call, &where, .key = "where", .message = "Where to, and when?", .attempts = 3,
        .form = NOD_FORM(NOD_CHOICE("city", NOD_OPTIONS({ "LIS", "Lisbon" }, { "OSL", "Oslo" }),
                                    .title = "City", .required = true),
                         NOD_TEXT("day", .title = "Day", .format = "date", .required = true),
                         NOD_BOOL("flexible", .title = "A day earlier or later is fine"))));
    if (where.action != NOD_ACCEPT)
        return nod_reply_text(call, "Nothing was booked.");
    NOD_TRY(nod_elicit(
        call, &how, .key = "how", .message = "How would you like to travel?", .attempts = 3,
        .form = NOD_FORM(
            NOD_NUMBER("budget", .title = "At most, in euros", NOD_MIN(50), .required = true),
            NOD_CHOICES("extras", NOD_OPTIONS({ "meal", "A meal" }, { "bike", "A bike" }),
                        .title = "Extras"))));
    if (how.action != NOD_ACCEPT)
        return nod_reply_text(call, "Nothing was booked.");

    for (size_t i = 0; i < nod_count(nod_get(how.content, "extras")); i++) {
        const char *extra = nod_as_str(nod_at(nod_get(how.content, "extras"), i));
        extras = i == 0 ? extra : nod_fmt(call, "%s and %s", extras, extra);
    }
    const char *trip =
        nod_fmt(call, "%s on %s%s for %lld, %s <%s>, up to %.2f, extras: %s",
                nod_get_str(where.content, "city"), nod_get_str(where.content, "day"),
                nod_get_bool(where.content, "flexible") ? " or so" : "",
                (long long)nod_get_int(who.content, "people"), nod_get_str(who.content, "name"),
                nod_get_str(who.content, "email"), nod_get_double(how.content, "budget"), extras);
    NOD_TRY(nod_step(call, "book", write_down, (void *)trip, NULL));
    return nod_reply_textf(call, "Booked: %s.", trip);
}

/* --- a blocking tool: a thread of its own, progress, and a step for what is slow --- */

static nod_status index_shelf(nod_step_run *step, void *shelf)
{
    nanosleep(&(struct timespec){ .tv_nsec = SHELF_MS * 1000000L }, NULL);
    if (nod_cancelled(nod_step_call(step)))
        return NOD_E_CANCELLED;
    return write_down(step, shelf);
}

static nod_status index_library(nod_call *call)
{
    int shelves = (int)nod_arg_int(call, "shelves");
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = nod_fmt(call, "Index %d shelves?", shelves)));
    for (int i = 1; yes && i <= shelves; i++) {
        const char *shelf = nod_fmt(call, "shelf %d", i);
        NOD_TRY(nod_step(call, shelf, index_shelf, (void *)shelf, NULL));
        nod_progress(call, i, shelves, shelf);
    }
    return nod_reply_textf(call, "Indexed %d shelves.", yes ? shelves : 0);
}

/* --- an approval with a form: who paid for what, and from where --- */

static nod_status pay_invoice(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(
        call, &approval, .message = "Pay this invoice?",
        .form = NOD_FORM(
            NOD_CHOICE("account", NOD_OPTIONS({ "checking", "Checking" }, { "savings", "Savings" }),
                       .title = "Account", .required = true),
            NOD_TEXT("note", .title = "Note", NOD_MAX(80)))));
    if (!approval.approved)
        return nod_reply_text(call, "Nothing was paid.");
    const char *payment =
        nod_fmt(call, "%.2f for %s from %s", nod_arg_double(call, "amount"),
                nod_arg_str(call, "invoice"), nod_get_str(approval.data, "account"));
    NOD_TRY(nod_step(call, "pay", write_down, (void *)payment, NULL));
    return nod_reply_textf(call, "Paid %s, approved by %s.", payment, approval.by);
}

/* --- a question about each item, and a step for each yes --- */

static const char *about_ticket(nod_call *call, void *ticket)
{
    return nod_fmt(call, "Close ticket %s?", *(const char **)ticket);
}

static nod_status close_ticket(nod_step_run *step, void *ticket)
{
    return write_down(step, *(void **)ticket);
}

static nod_status close_tickets(nod_call *call)
{
    static const char *const tickets[] = { "T-1", "T-2", "T-3" };
    nod_each_result results[3];
    const char *closed = "";

    NOD_TRY(nod_each(call, tickets, 3, results, .key = "close", .ask = about_ticket,
                     .step = close_ticket));
    for (int i = 0; i < 3; i++)
        if (results[i].done)
            closed = nod_fmt(call, "%s %s", closed, tickets[i]);
    return nod_reply_textf(call, "Closed:%s.", *closed ? closed : " none");
}

/* --- the client's model writes, a person reads, and then it is sent --- */

static nod_status draft_reply(nod_call *call)
{
    nod_answer draft;
    bool yes = false;

    NOD_TRY(nod_sample(
        call, &draft, .key = "draft", .max_tokens = 200,
        .prompt = nod_fmt(call, "Answer in one sentence: %s", nod_arg_str(call, "question"))));
    const char *text = nod_get_str(nod_get(draft.content, "content"), "text");
    if (*text) /* the model may refuse, or answer with something else than text */
        NOD_TRY(nod_confirm(call, &yes, .key = "send?",
                            .message = nod_fmt(call, "Send this?\n\n%s", text)));
    if (!yes)
        return nod_reply_text(call, "Nothing was sent.");
    NOD_TRY(nod_step(call, "send", write_down, (void *)text, NULL));
    return nod_reply_textf(call, "Sent: %s", text);
}

static const nod_tool tools[] = {
    { .name = "plan_trip", .handler = plan_trip, .description = "Books a trip, in three forms" },
    { .name = "index_library",
      .handler = index_library,
      .description = "Indexes the shelves of a library; takes its time",
      .input = NOD_FORM(NOD_INT("shelves", .required = true, NOD_MIN(1), NOD_MAX(8))),
      .blocking = true },
    { .name = "pay_invoice",
      .handler = pay_invoice,
      .description = "Pays an invoice that a person has approved",
      .input = NOD_FORM(NOD_TEXT("invoice", .required = true),
                        NOD_NUMBER("amount", .required = true, NOD_MIN(0.01))),
      .destructive = true },
    { .name = "close_tickets",
      .handler = close_tickets,
      .description = "Closes tickets, one by one" },
    { .name = "draft_reply",
      .handler = draft_reply,
      .description = "Has an answer written, shows it, and sends it",
      .input = NOD_FORM(NOD_TEXT("question", .required = true)) },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "tour", .version = NOD_VERSION);

    if (!server || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
