/*
 * cli/store_calls: `nod store list` and `nod store end`, for an operator and without a server.
 *
 * A file must not be in use: one process owns it at a time. A Redis may be: a call that a node runs
 * or holds is ended in the store, the store hints, and that node tells its client and withdraws its
 * questions.
 *
 * Nothing of what people wrote is shown: neither arguments nor questions nor answers. So the list
 * needs no secret; without it a call is listed without its tool and its principal. To end a call
 * the secret is needed, because the end is sealed as everything else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "host/operator_keys.h"
#include "host/storage.h"
#include "cli/terminal_safe.h"
#include "core/outcome.h"
#include "json/write.h"
#include "net/loop.h"

enum {
    LIST_MOST = 100000,      /* calls that are listed */
    LIST_BYTES = 256 << 20,  /* memory of the list */
    LIST_TURN_MS = 20,       /* the longest wait for the store in one turn of the loop */
    LIST_TOOL_COLUMNS = 24,  /* of the table */
    LIST_WHO_COLUMNS = 20,   /* the same, for principals */
    LIST_TIME_MAX = 24,      /* bytes of a time */
    END_REASON_MAX = 500,    /* bytes of a reason */
    END_OUTCOME_MAX = 16384, /* bytes of the outcome with it */
    END_TRIES = 3,           /* how often a Redis is told of the end, if its reply is lost */
};

static const char list_help[] =
    "usage: nod store list --store ADDRESS [--ended] [--json]\n\n"
    "Lists the calls of a store that have not ended: id, state, tool, principal, since when, how\n"
    "many questions wait, how often a process died that ran the call, and which node has it or "
    "had\n"
    "it last. Arguments, questions and answers are not shown. Without the secret of a sealed\n"
    "store, tools and principals are not either.\n\n"
    "  --store ADDRESS   sqlite:PATH, while no server uses it; redis://HOST:PORT, also while\n"
    "                    servers do\n"
    "  --ended           also the calls that have ended and are still kept\n"
    "  --json            for programs: an object with an array \"calls\"\n"
    "  --help\n";

static const char end_help[] =
    "usage: nod store end CALL --reason TEXT --store ADDRESS\n\n"
    "Ends a call, whatever its state: its questions are withdrawn, and its caller gets the "
    "failure\n"
    "ENDED_BY_OPERATOR with the reason. CALL is its id, as nod store list shows it. What the call "
    "has\n"
    "done so far stays done. The secret of the store has to be set, as for a server.\n\n"
    "  --reason TEXT     what the caller reads; at most 500 bytes\n"
    "  --store ADDRESS   sqlite:PATH, while no server uses it; redis://HOST:PORT, also while\n"
    "                    servers do: the node that has the call tells its client\n"
    "  --help\n";

struct wanted {
    const char *command; /* "nod store list" */
    const char *store;
    const char *reason;
    const char *call;
    bool ended, json;
};

/* An id may begin with a dash. */
static bool is_id(const void *data, const char *arg)
{
    const struct wanted *wanted = data;

    return !wanted->call && strlen(arg) == ID_LEN;
}

static bool take_id(void *data, char *arg)
{
    struct wanted *wanted = data;

    if (!is_id(wanted, arg))
        return command_wrong(wanted->command, arg,
                             wanted->call ? "is one word too many"
                                          : "is not the id of a call: an id has 22 characters");
    wanted->call = arg;
    return true;
}

static bool read_args(struct wanted *wanted, const struct command_option *options, const char *help,
                      int argc, char **argv, int *code)
{
    return command_read(&(struct command_line){ .command = wanted->command,
                                                .help = help,
                                                .options = options,
                                                .word = take_id,
                                                .awaits = is_id,
                                                .data = wanted },
                        argc, argv, code);
}

/* --- the store --- */

struct waiting { /* for an operation of the store */
    bool over;
    nod_status status;
};

static void turn_until(struct loop *loop, const struct waiting *waiting)
{
    while (!waiting->over)
        loop_turn(loop, LIST_TURN_MS);
}

/* Does what was asked for with the store open. */
static int with_store(const struct wanted *wanted, enum mark_rule mark,
                      int (*use)(const struct wanted *wanted, struct store *store,
                                 struct loop *loop))
{
    struct keyring *ring = NULL;

    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR, .fd = 2 });
    if (!storage_stays(wanted->store))
        return COMMAND_WRONG_USAGE;
    if (!operator_keyring(NULL, &ring))
        return COMMAND_FAILED;
    struct loop *loop = loop_create();
    struct store *store = storage_visit(
        &(struct storage_opts){ .address = wanted->store, .ring = ring, .loop = loop }, mark);
    int code = store ? use(wanted, store, loop) : COMMAND_FAILED;
    if (store)
        store->ops->destroy(store);
    loop_destroy(loop);
    keyring_destroy(ring);
    return code;
}

/* --- list --- */

struct listed {
    struct str id, tool, principal, node;
    enum target_kind kind;
    enum call_state state;
    int64_t opened_ms;
    size_t pending;
    struct deaths deaths;
    bool closed;
};

struct listing {
    const struct wanted *wanted;
    struct waiting waiting; /* for the page under way */
    struct arena arena;
    struct listed *calls;
    size_t count;
    bool more; /* than are listed */
    char cursor[64];
};

static void list_row(void *data, const struct store_row *row)
{
    struct listing *listing = data;
    const struct call_record *call = row->call;
    bool ended = call->state == CALL_STORED_FINISHED || call->state == CALL_STORED_CANCELLED;

    if (ended && !listing->wanted->ended)
        return;
    if (listing->count == LIST_MOST || listing->arena.exhausted) {
        listing->more = true;
        return;
    }
    listing->calls[listing->count++] =
        (struct listed){ .id = arena_str(&listing->arena, call->id),
                         .tool = arena_str(&listing->arena, call->target),
                         .principal = arena_str(&listing->arena, call->principal),
                         .node = arena_str(&listing->arena, call->node),
                         .kind = call->kind,
                         .state = call->state,
                         .opened_ms = call->opened_ms,
                         .pending = row->pending,
                         .deaths = call->deaths,
                         .closed = row->closed };
}

static void list_page(void *data, nod_status status, const struct store_reply *reply)
{
    struct listing *listing = data;

    listing->waiting.over = true;
    listing->waiting.status = status;
    snprintf(listing->cursor, sizeof(listing->cursor), STR_FMT,
             STR_ARG(reply->cursor.len ? reply->cursor : STR("")));
}

static int oldest_first(const void *one, const void *other)
{
    const struct listed *a = one, *b = other;

    if (a->opened_ms != b->opened_ms)
        return a->opened_ms < b->opened_ms ? -1 : 1;
    return memcmp(a->id.at, b->id.at, a->id.len < b->id.len ? a->id.len : b->id.len);
}

static struct str state_name(enum call_state state)
{
    static const struct str names[] = {
        [CALL_STORED_RUNNING] = STR_INIT("running"),
        [CALL_STORED_WAITING] = STR_INIT("waiting"),
        [CALL_STORED_RUNNABLE] = STR_INIT("runnable"),
        [CALL_STORED_FINISHED] = STR_INIT("finished"),
        [CALL_STORED_CANCELLED] = STR_INIT("cancelled"),
    };
    return names[state];
}

static struct str time_text(int64_t ms, char text[LIST_TIME_MAX])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;

    gmtime_r(&seconds, &utc);
    return str_n(text, strftime(text, LIST_TIME_MAX, "%Y-%m-%dT%H:%M:%SZ", &utc));
}

static void draw_table(const struct listing *listing)
{
    char since[LIST_TIME_MAX];

    safe_setup();
    printf("%-22s  %-9s  %-*s  %-*s  %-20s  %9s  %6s  %s\n", "CALL", "STATE", LIST_TOOL_COLUMNS,
           "TOOL", LIST_WHO_COLUMNS, "PRINCIPAL", "SINCE", "QUESTIONS", "DEATHS", "NODE");
    for (size_t i = 0; i < listing->count; i++) {
        const struct listed *call = &listing->calls[i];
        struct str state = state_name(call->state);
        printf("%-22.*s  %-9.*s  ", STR_ARG(call->id), STR_ARG(state));
        safe_cell(stdout, call->closed ? STR("(sealed)") : call->tool, LIST_TOOL_COLUMNS);
        fputs("  ", stdout);
        safe_cell(stdout, call->closed ? STR("(sealed)") : call->principal, LIST_WHO_COLUMNS);
        struct str opened = time_text(call->opened_ms, since);
        printf("  " STR_FMT "  %9zu  %6u  ", STR_ARG(opened), call->pending,
               call->deaths.early + call->deaths.late);
        safe_text(stdout, call->node.len ? call->node : STR("-"), 0);
        putchar('\n');
    }
    if (!listing->count)
        puts(listing->wanted->ended ? "(no calls)" : "(no calls that have not ended)");
}

static void draw_json(const struct listing *listing)
{
    static const struct str kinds[] = { [TARGET_TOOL] = STR_INIT("tool"),
                                        [TARGET_RESOURCE] = STR_INIT("resource"),
                                        [TARGET_PROMPT] = STR_INIT("prompt") };
    char since[LIST_TIME_MAX];
    struct json_writer w;
    struct buf out;

    buf_init(&out, LIST_BYTES);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key(&w, STR("calls"));
    jw_array(&w);
    for (size_t i = 0; i < listing->count; i++) {
        const struct listed *call = &listing->calls[i];
        jw_object(&w);
        jw_key_str(&w, STR("call"), call->id);
        jw_key_str(&w, STR("state"), state_name(call->state));
        if (call->closed) {
            jw_key_bool(&w, STR("sealed"), true);
        } else {
            jw_key_str(&w, kinds[call->kind], call->tool);
            jw_key_str(&w, STR("principal"), call->principal);
        }
        jw_key_str(&w, STR("since"), time_text(call->opened_ms, since));
        jw_key_i64(&w, STR("questions"), (int64_t)call->pending);
        jw_key_i64(&w, STR("deaths"), call->deaths.early + call->deaths.late);
        if (call->deaths.probation)
            jw_key_bool(&w, STR("suspect"), true);
        if (call->node.len)
            jw_key_str(&w, STR("node"), call->node);
        jw_end(&w);
    }
    jw_end(&w);
    if (listing->more)
        jw_key_bool(&w, STR("more"), true);
    jw_end(&w);
    if (json_writer_done(&w))
        safe_json(stdout, buf_str(&out));
    putchar('\n');
    buf_finish(&out);
}

static int list_calls(const struct wanted *wanted, struct store *store, struct loop *loop)
{
    struct listing listing = { .wanted = wanted };

    arena_init(&listing.arena, LIST_BYTES);
    listing.calls = mem_alloc(LIST_MOST * sizeof(*listing.calls));
    do {
        char cursor[sizeof(listing.cursor)];
        memcpy(cursor, listing.cursor, sizeof(cursor));
        listing.waiting = (struct waiting){ 0 };
        store->ops->scan(store,
                         &(struct store_scan){ .index = STORE_CALLS, .cursor = str_of(cursor) },
                         list_row, list_page, &listing);
        turn_until(loop, &listing.waiting);
    } while (listing.waiting.status == NOD_OK && listing.cursor[0] && !listing.more);
    bool read = listing.waiting.status == NOD_OK;
    if (!read)
        fprintf(stderr, "%s: the store could not be read to the end (%s)\n", wanted->command,
                nod_status_name(listing.waiting.status));
    if (listing.count)
        qsort(listing.calls, listing.count, sizeof(*listing.calls), oldest_first);
    size_t kept = 0;
    for (size_t i = 0; i < listing.count; i++) /* a store may have shown a call twice */
        if (kept == 0 || !str_eq(listing.calls[i].id, listing.calls[kept - 1].id))
            listing.calls[kept++] = listing.calls[i];
    listing.count = kept;
    if (read && wanted->json)
        draw_json(&listing);
    else if (read)
        draw_table(&listing);
    if (listing.more)
        fprintf(stderr, "%s: there are more calls than the %zu that are listed\n", wanted->command,
                listing.count);
    mem_free(listing.calls);
    arena_finish(&listing.arena);
    return read ? COMMAND_FINE : COMMAND_FAILED;
}

int command_store_list(int argc, char **argv)
{
    struct wanted wanted = { .command = "nod store list" };
    const struct command_option options[] = { { "--ended", .flag = &wanted.ended },
                                              { "--json", .flag = &wanted.json },
                                              { "--store", .value = &wanted.store },
                                              { 0 } };
    int code;

    wanted.call = ""; /* it takes none */
    if (!read_args(&wanted, options, list_help, argc, argv, &code))
        return code;
    if (!wanted.store) {
        command_wrong(wanted.command, "--store",
                      "has to be given: sqlite:PATH or redis://HOST:PORT");
        return COMMAND_WRONG_USAGE;
    }
    return with_store(&wanted, MARK_IGNORED, list_calls);
}

/* --- end --- */

static void end_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct waiting *waiting = data;

    waiting->over = true;
    waiting->status = reply && reply->lacks ? NOD_E_REFUSED : status;
}

static int end_said(const struct wanted *wanted, nod_status status)
{
    const char *why = status == NOD_E_NOT_FOUND ? "is not in this store"
                      : status == NOD_E_STALE   ? "has ended already"
                      : status == NOD_E_REFUSED || status == NOD_E_PARSE
                          ? "cannot be opened with the secrets that are set"
                          : "could not be ended: the store failed; try again";

    if (status == NOD_OK) {
        printf("ended %s\n", wanted->call);
        return COMMAND_FINE;
    }
    fprintf(stderr, "%s: ", wanted->command);
    safe_text(stderr, str_of(wanted->call), 0);
    fprintf(stderr, " %s\n", why);
    return COMMAND_FAILED;
}

static int end_call(const struct wanted *wanted, struct store *store, struct loop *loop)
{
    struct waiting waiting = { 0 };
    struct arena arena;
    struct buf result;
    struct id token;

    id_random(&token);
    arena_init(&arena, END_OUTCOME_MAX);
    buf_init(&result, END_OUTCOME_MAX);
    struct outcome outcome = outcome_ended_by_operator(&arena, str_of(wanted->reason));
    bool written = outcome_write(&result, &outcome);
    if (!written)
        command_wrong(wanted->command, "--reason", "is not UTF-8");
    for (int i = 0; written && i < END_TRIES && (i == 0 || waiting.status == NOD_E_STORE); i++) {
        waiting = (struct waiting){ 0 };
        store->ops->cancel(store, id_str(&token), str_of(wanted->call), buf_str(&result), end_done,
                           &waiting);
        turn_until(loop, &waiting);
    }
    buf_finish(&result);
    arena_finish(&arena);
    return written ? end_said(wanted, waiting.status) : COMMAND_WRONG_USAGE;
}

/* They could draw on the caller's terminal. Those of C1 are two bytes in UTF-8. */
static bool has_controls(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0))
            return true;
    return false;
}

int command_store_end(int argc, char **argv)
{
    struct wanted wanted = { .command = "nod store end" };
    const struct command_option options[] = { { "--reason", .value = &wanted.reason },
                                              { "--store", .value = &wanted.store },
                                              { 0 } };
    int code;

    if (!read_args(&wanted, options, end_help, argc, argv, &code))
        return code;
    if (!wanted.call)
        command_wrong(wanted.command, "CALL",
                      "has to be given: the id of a call, as nod store list shows it");
    else if (!wanted.reason || !str_trim(str_of(wanted.reason)).len)
        command_wrong(wanted.command, "--reason", "has to be given: it is what the caller reads");
    else if (strlen(wanted.reason) > END_REASON_MAX)
        command_wrong(wanted.command, "--reason", "takes at most 500 bytes");
    else if (has_controls(wanted.reason))
        command_wrong(wanted.command, "--reason",
                      "has a line break or another control character: give it as one line of text");
    else if (!wanted.store)
        command_wrong(wanted.command, "--store",
                      "has to be given: sqlite:PATH or redis://HOST:PORT");
    else
        return with_store(&wanted, MARK_RESEALS, end_call);
    _Static_assert(END_REASON_MAX == 500 && ID_LEN == 22, "as the messages say");
    return COMMAND_WRONG_USAGE;
}
