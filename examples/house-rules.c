/*
 * house-rules: rules that belong to no single tool.
 *
 * What it shows: hooks. The tool pays and knows no rule. Around it are seven hooks: one that
 * refuses (outside of opening hours), one that finishes later (a check on another thread), one that
 * asks a person at the gate (large sums), one that changes the text of a question, one that refuses
 * an answer, one around the tool that changes its result (card numbers), and one that keeps a
 * record of every end.
 *
 * A hook that asks follows the rules of handlers: it is called again with the answer, even if the
 * server was killed in between. Its name is part of the key of its question, so do not rename it
 * while calls wait.
 *
 * Run it:
 *
 *     build/release/examples/house-rules
 *     build/release/examples/house-rules --http 127.0.0.1:8080 --store sqlite:rules.db
 *
 * What the person sees: "[house rules] What is it for?" for every payment, and above 1000.00 first
 * "[house rules] 1500.00 to Bob is a lot of money. Go on?".
 */
#include <nod/nod.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the tools --- */

static nod_status send_money(nod_step_run *step, void *arg)
{
    (void)step;
    (void)arg;
    return NOD_OK; /* a real one would pass nod_step_key(step) to the bank */
}

static nod_status pay(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "What is it for?",
                       .form = NOD_FORM(NOD_TEXT("purpose", .required = true))));
    if (answer.action != NOD_ACCEPT)
        return nod_reply_text(call, "Nothing was paid.");
    NOD_TRY(nod_step(call, "send", send_money, NULL, NULL));
    return nod_reply_textf(call, "Paid %.2f to %s with 4111111111111111 for %s.",
                           nod_arg_double(call, "amount"), nod_arg_str(call, "to"),
                           nod_get_str(answer.content, "purpose"));
}

enum { RECORD_MAX = 4096 };
static char record[RECORD_MAX];

static nod_status show_record(nod_call *call)
{
    return nod_reply_text(call, record[0] ? record : "Nothing yet.");
}

static const nod_tool tools[] = {
    { .name = "pay",
      .handler = pay,
      .title = "Pay",
      .description = "Pays somebody",
      .input = NOD_FORM(NOD_TEXT("to", .required = true), NOD_NUMBER("amount", .required = true)) },
    { .name = "show_record", .handler = show_record, .description = "Every end of a payment" },
};

/* --- the rules --- */

/* Before anything else: a refusal that the caller sees, with a code for programs. */
static nod_status opening_hours(nod_hook_run *hook, void *data)
{
    (void)data;
    return getenv("HOUSE_CLOSED") == NULL
               ? NOD_OK
               : nod_hook_fail(hook, NOD_E_REFUSED, "HOUSE_CLOSED", "%s is closed. Come back at 9.",
                               nod_hook_target(hook));
}

/* On its own thread, because it may take long. */
static void *look_at_list(void *arg)
{
    nod_hook_run *hook = arg;

    nod_hook_done(hook, getenv("HOUSE_BLOCKED") == NULL
                            ? NOD_OK
                            : nod_hook_fail(hook, NOD_E_REFUSED, "HOUSE_BLOCKED",
                                            "Payments are blocked by the bank."));
    return NULL;
}

static nod_status bank_check(nod_hook_run *hook, void *data)
{
    pthread_t thread;

    (void)data;
    if (pthread_create(&thread, NULL, look_at_list, hook) != 0)
        return nod_hook_fail(hook, NOD_E_FAILED, NULL, "The bank cannot be asked.");
    pthread_detach(thread);
    return NOD_PENDING; /* nod_hook_done follows */
}

/* At the gate a hook may ask, as a handler does. */
static nod_status second_look(nod_hook_run *hook, void *data)
{
    nod_call *call = nod_hook_call(hook);
    double amount = nod_arg_double(call, "amount");
    bool yes;

    (void)data;
    if (amount <= 1000)
        return NOD_OK;
    NOD_TRY(nod_confirm(call, &yes,
                        .message = nod_fmt(call, "%.2f to %s is a lot of money. Go on?", amount,
                                           nod_arg_str(call, "to"))));
    return yes ? NOD_OK
               : nod_hook_fail(hook, NOD_E_REFUSED, "TOO_MUCH",
                               "Nobody agreed to pay %.2f; nothing was paid.", amount);
}

static nod_status letterhead(nod_hook_run *hook, void *data)
{
    (void)data;
    return nod_hook_set_message(
        hook, nod_fmt(nod_hook_call(hook), "[house rules] %s", nod_hook_message(hook)));
}

/* Refuses an answer. The person is told why, and asked again. */
static nod_status no_bribes(nod_hook_run *hook, void *data)
{
    (void)data;
    return strcmp(nod_get_str(nod_hook_content(hook), "purpose"), "a bribe") != 0
               ? NOD_OK
               : nod_hook_fail(hook, NOD_E_REFUSED, "NO_BRIBES", "This house pays no bribes.");
}

/* Around the tool: it runs, however long that takes, and then its result is checked. */
static nod_status hide_cards(nod_hook_run *hook, nod_status status, void *data)
{
    nod_call *call = nod_hook_call(hook);

    (void)data;
    if (status != NOD_OK)
        return status;
    const nod_json *block = nod_at(nod_get(nod_hook_result(hook), "content"), 0);
    char *text = nod_alloc(call, strlen(nod_get_str(block, "text")) + 1);
    if (text == NULL)
        return NOD_E_LIMIT;
    strcpy(text, nod_get_str(block, "text"));
    char *card = strstr(text, "4111");
    if (card == NULL)
        return NOD_OK;
    memset(card, '*', 12);
    (void)nod_reply_text(call, text);
    return nod_hook_set_result(hook, NULL);
}

static nod_status around_pay(nod_hook_run *hook, void *data)
{
    return nod_hook_next(hook, hide_cards, data);
}

/* After everything: every end comes here, including those that a rule has made. */
static nod_status keep_record(nod_hook_run *hook, void *data)
{
    size_t used = strlen(record);

    (void)data;
    snprintf(record + used, sizeof(record) - used, "%s%s: %s", used ? "\n" : "",
             nod_hook_target(hook), nod_status_name(nod_hook_status(hook)));
    return NOD_OK;
}

static nod_status add_rules(nod_server *server)
{
    NOD_TRY(nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "authorise", .fn = opening_hours,
                     .target = "pay*"));
    NOD_TRY(nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "authorise", .fn = bank_check,
                     .target = "pay*", .priority = 10, .timeout_ms = 5000));
    NOD_TRY(nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "gate", .fn = second_look,
                     .target = "pay*", .name = "second-look"));
    NOD_TRY(nod_hook(server, .flow = NOD_FLOW_ASK, .stage = "validateRequest", .fn = letterhead,
                     .ask = NOD_ASK_FORM));
    NOD_TRY(nod_hook(server, .flow = NOD_FLOW_ANSWER, .stage = "validateContent", .kind = NOD_DID,
                     .fn = no_bribes, .target = "pay*"));
    NOD_TRY(nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "start", .kind = NOD_AROUND,
                     .fn = around_pay, .target = "pay*"));
    return nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "finish", .kind = NOD_DID,
                    .fn = keep_record, .target = "pay*");
}

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "house-rules", .version = NOD_VERSION);

    if (server == NULL || nod_tools(server, tools) != NOD_OK || add_rules(server) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
