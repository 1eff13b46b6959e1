/*
 * probe: the server for the wire tests, with everything that no example would do.
 *
 * Its tools time out, ask too much, forget to reply, change their minds on a replay, sleep too
 * long. What the tests want to know afterwards (how often the handler or the step ran) is counted
 * and read with the tool `counters`. Options of the server come from the environment: PROBE_...
 */
#include "rounds.h"
#include "values.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    atomic_int runs; /* of handlers that count themselves */
    atomic_int steps;
    atomic_int defers;
    atomic_int cancels;
    atomic_int working; /* until_cancelled has begun */
} seen;

static void sleep_ms(int64_t ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 },
              NULL);
}

static void count_defer(void *data)
{
    (void)data;
    seen.defers++;
}

static nod_status counters(nod_call *call)
{
    nod_json *all = nod_object(call);

    nod_set_int(call, all, "runs", seen.runs);
    nod_set_int(call, all, "steps", seen.steps);
    nod_set_int(call, all, "defers", seen.defers);
    nod_set_int(call, all, "cancels", seen.cancels);
    nod_set_int(call, all, "working", seen.working);
    return nod_reply_text(call, nod_json_text(call, all));
}

/* --- asking --- */

static const char *action_name(nod_action action)
{
    static const char *const names[] = { "waiting", "accept",    "decline", "cancel",
                                         "expired", "withdrawn", "unfit",   "unasked" };

    return names[action];
}

static const char *answer_text(nod_call *call, const nod_answer *answer)
{
    return answer->content ? nod_fmt(call, "%s %s", action_name(answer->action),
                                     nod_json_text(call, answer->content))
                           : action_name(answer->action);
}

static nod_status ask(nod_call *call)
{
    nod_answer answer;

    seen.runs++;
    nod_defer(call, count_defer, NULL);
    NOD_TRY(nod_elicit(call, &answer, .message = nod_arg_str_or(call, "message", "Who are you?"),
                       .ttl_ms = nod_arg_int_or(call, "ttl", 0),
                       .attempts = (int)nod_arg_int_or(call, "attempts", 0),
                       .sensitive = nod_arg_bool_or(call, "sensitive", false),
                       .form = NOD_FORM(NOD_TEXT("name", .required = true, NOD_MIN(2)),
                                        NOD_INT("age", NOD_MIN(0), NOD_MAX(150)),
                                        NOD_TEXT("code", .pattern = "^[A-Z]{3}$"))));
    return nod_reply_text(call, answer_text(call, &answer));
}

static nod_status ticket(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(
        nod_elicit(call, &answer, .message = "Which one?", .attempts = 2,
                   .form = NOD_FORM(NOD_TEXT("ticket", .title = "Ticket", .required = true,
                                             NOD_MIN(1), .pattern = "^T-[0-9]+$", .hint = "T-123"),
                                    NOD_INT("hours", .title = "Hours spent", NOD_MIN(0)))));
    return nod_reply_text(call, answer_text(call, &answer));
}

static nod_status ask_plain(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Say something"));
    return nod_reply_text(call, answer_text(call, &answer));
}

#define CHOICE_FIELDS                                                                              \
    NOD_TEXT("name", .preset = "Ada"), NOD_INT("age", .preset = "36"),                             \
        NOD_BOOL("member", .preset = "true"),                                                      \
        NOD_CHOICE("size", NOD_OPTIONS({ "s", "Small" }, { "l", "Large" }), .required = true,      \
                   .preset = "s")

static nod_status ask_choice(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Choose", .form = NOD_FORM(CHOICE_FIELDS)));
    return nod_reply_text(call, answer_text(call, &answer));
}

static nod_status ask_lists(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(
        call, &answer, .message = "Choose", .attempts = (int)nod_arg_int_or(call, "attempts", 0),
        .form = NOD_FORM(CHOICE_FIELDS,
                         NOD_CHOICES("extras", NOD_OPTIONS({ "a", "Apple" }, { "b", "Pear" }),
                                     NOD_MAX(2), .preset = "[\"a\"]"))));
    return nod_reply_text(call, answer_text(call, &answer));
}

static nod_status confirm(nod_call *call)
{
    bool yes;

    NOD_TRY(
        nod_confirm(call, &yes, .message = "Really?", .ttl_ms = nod_arg_int_or(call, "ttl", 0)));
    return nod_reply_text(call, yes ? "yes" : "no");
}

static nod_status approve(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = "Approve this?",
                        .ttl_ms = nod_arg_int_or(call, "ttl", 0),
                        .attempts = (int)nod_arg_int_or(call, "attempts", 0),
                        .form = NOD_FORM(NOD_TEXT("reason", .required = true))));
    nod_json *result = nod_object(call);
    nod_set_bool(call, result, "approved", approval.approved);
    nod_set_str(call, result, "id", approval.execution_id ? approval.execution_id : "");
    nod_set_str(call, result, "by", approval.by ? approval.by : "");
    nod_set_str(call, result, "action", action_name(approval.action));
    nod_set(call, result, "data", approval.data ? approval.data : nod_object(call));
    return nod_reply_text(call, nod_json_text(call, result));
}

static nod_status approve_extras(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(
        call, &approval, .message = "With what?",
        .form = NOD_FORM(NOD_CHOICES("extras", NOD_OPTIONS({ "a", "Anchor" }, { "b", "Boat" })))));
    return nod_reply_text(call, approval.data ? nod_json_text(call, approval.data)
                                              : action_name(approval.action));
}

static const nod_form one_word = { sizeof(nod_field),
                                   (const nod_field[]){ NOD_TEXT("word", .required = true) }, 1 };

static nod_status three(nod_call *call)
{
    nod_answer first, second, third;

    NOD_TRY(nod_elicit(call, &first, .message = "First", .form = &one_word));
    NOD_TRY(nod_elicit(call, &second, .form = &one_word,
                       .message = nod_fmt(call, "After %s", nod_get_str(first.content, "word"))));
    NOD_TRY(nod_elicit(call, &third, .form = &one_word,
                       .message = nod_fmt(call, "After %s", nod_get_str(second.content, "word"))));
    return nod_reply_textf(call, "%s %s %s", nod_get_str(first.content, "word"),
                           nod_get_str(second.content, "word"), nod_get_str(third.content, "word"));
}

static nod_status two_at_once(nod_call *call)
{
    nod_answer left, right;

    NOD_TRY(nod_want(call, &left, .message = "Left", .key = "left", .form = &one_word));
    NOD_TRY(nod_want(call, &right, .message = "Right", .key = "right", .form = &one_word));
    NOD_TRY(nod_await(call));
    return nod_reply_textf(call, "left %s, right %s", nod_get_str(left.content, "word"),
                           nod_get_str(right.content, "word"));
}

static nod_status meet(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "When?",
                       .form = NOD_FORM(NOD_TEXT("when", .format = "date-time", .required = true),
                                        NOD_TEXT("until", .format = "date-time"),
                                        NOD_TEXT("day", .format = "date"))));
    return nod_reply_text(call, nod_json_text(call, answer.content));
}

/* Six questions in one round, and one more when they are answered. */
static nod_status tickets(nod_call *call)
{
    nod_answer answers[6], last;

    for (int i = 0; i < 6; i++) {
        const char *ticket = nod_fmt(call, "T-%d", i + 1);
        NOD_TRY(nod_want(call, &answers[i], .message = ticket, .key = ticket, .form = &one_word));
    }
    NOD_TRY(nod_await(call));
    NOD_TRY(nod_elicit(call, &last, .message = "And who pays?", .form = &one_word));
    return nod_reply_textf(call, "paid by %s", nod_get_str(last.content, "word"));
}

static nod_status negative_ttl(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Never", .ttl_ms = -1));
    return nod_reply_text(call, "asked");
}

static nod_status bad_schema(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(
        call, &answer, .message = "Never",
        .schema = "{\"type\":\"object\",\"properties\":{\"deep\":{\"type\":\"object\"}}}"));
    return nod_reply_text(call, "asked");
}

static nod_status secret_field(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Never",
                       .form = NOD_FORM(NOD_TEXT("password", .title = "Your password"))));
    return nod_reply_text(call, "asked");
}

static nod_status supports(nod_call *call)
{
    nod_json *can = nod_object(call);

    nod_set_bool(call, can, "form", nod_supports(call, NOD_MODE_FORM));
    nod_set_bool(call, can, "url", nod_supports(call, NOD_MODE_URL));
    nod_set_bool(call, can, "sampling", nod_supports(call, NOD_MODE_SAMPLING));
    nod_set_bool(call, can, "roots", nod_supports(call, NOD_MODE_ROOTS));
    return nod_reply_text(call, nod_json_text(call, can));
}

/* --- asking the client's model, and asking where it is not a tool that asks --- */

static nod_status sample(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_sample(call, &answer, .prompt = "Hello", .system_prompt = "Be brief",
                       .params = "{\"temperature\":0.5}"));
    return nod_reply_text(call, answer_text(call, &answer));
}

static nod_status read_asking(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Which word?", .form = &one_word));
    return nod_reply_resource_text(call, NULL, "text/plain", answer_text(call, &answer));
}

static nod_status prompt_asking(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Which word?", .form = &one_word));
    return nod_reply_text(call, answer_text(call, &answer));
}

static const nod_resource resources[] = {
    { .uri = "probe://asking", .name = "asking", .read = read_asking, .mime_type = "text/plain" },
};
static const nod_prompt prompts[] = { { .name = "asking", .get = prompt_asking } };

/* --- pages --- */

static nod_status url(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit_url(call, &answer, .message = "Open this",
                           .url = "https://example.org/do?id={id}",
                           .wait_done = nod_arg_bool_or(call, "wait", false),
                           .ttl_ms = nod_arg_int_or(call, "ttl", 0)));
    return nod_reply_text(call, action_name(answer.action));
}

static nod_status url_done(nod_call *call)
{
    nod_url_done(nod_server_of(call), nod_arg_str(call, "id"));
    return nod_reply_text(call, "done");
}

static nod_status require_url(nod_call *call)
{
    return nod_require_url(call, .message = "Open this first",
                           .url = "https://example.org/first?id={id}");
}

/* --- steps and replays --- */

static nod_status count_step(nod_step_run *step, void *arg)
{
    nod_json *result = nod_object(nod_step_call(step));
    (void)arg;

    seen.steps++;
    nod_set_str(nod_step_call(step), result, "key", nod_step_key(step));
    nod_step_result(step, result);
    return NOD_OK;
}

static nod_status steps(nod_call *call)
{
    const nod_json *before, *after;
    bool yes;

    seen.runs++;
    NOD_TRY(nod_step(call, "before", count_step, NULL, &before));
    NOD_TRY(nod_confirm(call, &yes, .message = "Go on?"));
    NOD_TRY(nod_step(call, "after", count_step, NULL, &after));
    return nod_reply_textf(call, "%s %s", nod_get_str(before, "key"), nod_get_str(after, "key"));
}

static nod_status fail_step(nod_step_run *step, void *arg)
{
    (void)step;
    (void)arg;
    seen.steps++;
    return NOD_E_IO;
}

/* A field that looks like a secret, and one that does not. */
static nod_status asks_for_pin(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Which pin of the board?",
                       .form = NOD_FORM(NOD_TEXT("pin", .title = "PIN", .required = true))));
    return nod_reply_text(call, nod_get_str(answer.content, "pin"));
}

static nod_status failing_step(nod_call *call)
{
    nod_status failed = nod_step(call, "fail", fail_step, NULL, NULL, .at_most_once = true);
    bool yes;

    if (failed == NOD_PENDING)
        return failed;
    NOD_TRY(nod_confirm(call, &yes, .message = "It failed. Go on?"));
    return nod_reply_text(call, nod_status_name(failed));
}

static nod_status too_many_steps(nod_call *call)
{
    for (int i = 0; i < 100; i++)
        NOD_TRY(nod_step(call, nod_fmt(call, "step-%d", i), count_step, NULL, NULL));
    return nod_reply_text(call, "no limit");
}

enum { EACH_MOST = 200 };

static const char *about_number(nod_call *call, void *item)
{
    return nod_fmt(call, "Number %d?", *(int *)item);
}

/* A question and a step for each of many. */
static nod_status each_of_many(nod_call *call)
{
    int numbers[EACH_MOST], count = (int)nod_arg_int(call, "count"), done = 0;
    nod_each_result results[EACH_MOST];

    for (int i = 0; i < count && i < EACH_MOST; i++)
        numbers[i] = i;
    NOD_TRY(nod_each(call, numbers, (size_t)count, results, .key = "number", .ask = about_number,
                     .step = count_step));
    for (int i = 0; i < count; i++)
        done += results[i].done;
    return nod_reply_textf(call, "%d of %d done", done, count);
}

static nod_status charge_under_one_key(nod_call *call)
{
    for (int i = 0; i < 3; i++)
        NOD_TRY(nod_step(call, "charge", count_step, NULL, NULL));
    return nod_reply_text(call, "charged three times");
}

/* Steps and no question: nothing brings such a call back once it has ended. */
static nod_status steps_alone(nod_call *call)
{
    NOD_TRY(nod_step(call, "first", count_step, NULL, NULL));
    NOD_TRY(nod_step(call, "second", count_step, NULL, NULL));
    return nod_reply_text(call, "done");
}

static nod_status stable(nod_call *call)
{
    static int64_t first_ms;
    static uint64_t first_bits;
    static char first_id[128];
    int64_t ms;
    uint64_t bits;
    bool yes;

    NOD_TRY(nod_now(call, &ms));
    NOD_TRY(nod_random(call, &bits));
    if (first_ms == 0) {
        first_ms = ms;
        first_bits = bits;
        snprintf(first_id, sizeof(first_id), "%s", nod_call_id(call));
    }
    NOD_TRY(nod_confirm(call, &yes, .message = "Same?"));
    return nod_reply_text(call, ms == first_ms && bits == first_bits &&
                                        strcmp(first_id, nod_call_id(call)) == 0
                                    ? "the same on every run"
                                    : "different");
}

static nod_status telling(nod_call *call)
{
    bool yes;

    nod_progress(call, 1, 3, "one");
    nod_log(call, NOD_LOG_INFO, "probe", "one");
    nod_notify(call, "notifications/probe", "{\"n\":1}");
    NOD_TRY(nod_confirm(call, &yes, .message = "Go on?"));
    nod_progress(call, 2, 3, "two");
    nod_log(call, NOD_LOG_WARNING, "probe", "two");
    NOD_TRY(nod_confirm(call, &yes, .message = "And on?"));
    nod_progress(call, 3, 3, "three");
    return nod_reply_text(call, "told");
}

/* --- mistakes --- */

static nod_status changes_its_mind(nod_call *call)
{
    static int turn;
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = "mind", .form = &one_word,
                       .message = nod_fmt(call, "Question %d", turn++)));
    return nod_reply_text(call, "not noticed");
}

static nod_status reads_what_is_not_there(nod_call *call)
{
    return nod_reply_textf(call, "got \"%s\"", nod_arg_str(call, "nothing"));
}

static nod_status says_nothing(nod_call *call)
{
    (void)call;
    return NOD_OK;
}

static nod_status fails(nod_call *call)
{
    (void)call;
    return NOD_E_FAILED;
}

static nod_status pends_for_nothing(nod_call *call)
{
    (void)call;
    return NOD_PENDING;
}

static nod_status structured(nod_call *call)
{
    nod_json *value = nod_object(call);

    if (nod_arg_bool_or(call, "good", true))
        nod_set_int(call, value, "n", 1);
    else
        nod_set_str(call, value, "n", "one");
    return nod_reply_structured(call, value);
}

/* --- threads --- */

/* Works before it asks, so that its client can be gone by then. */
static nod_status naps_and_asks(nod_call *call)
{
    sleep_ms(nod_arg_int_or(call, "ms", 30));
    return ask(call);
}

static nod_status sleeper(nod_call *call)
{
    seen.working++;
    sleep_ms(nod_arg_int(call, "ms"));
    return nod_reply_text(call, "slept");
}

static nod_status until_cancelled(nod_call *call)
{
    nod_log(call, NOD_LOG_INFO, "probe", "working");
    seen.working++;
    for (int i = 0; i < 1000; i++) {
        if (nod_cancelled(call)) {
            seen.cancels++;
            return NOD_E_CANCELLED;
        }
        sleep_ms(10);
    }
    return nod_reply_text(call, "never cancelled");
}

/* Asks, and then works until somebody ends it. */
static nod_status asks_and_works(nod_call *call)
{
    enum { WORKS_MS = 60000, LOOK_MS = 10 };
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Begin?"));
    seen.working++;
    for (int i = 0; i < WORKS_MS / LOOK_MS; i++) {
        if (nod_cancelled(call)) {
            seen.cancels++;
            return NOD_E_CANCELLED;
        }
        sleep_ms(LOOK_MS);
    }
    return nod_reply_text(call, "never cancelled");
}

static nod_status slow_person(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Take your time"));
    return nod_reply_text(call, yes ? "yes" : "no");
}

/* --- who, and lists that change --- */

static nod_status whoami(nod_call *call)
{
    return nod_reply_text(call, nod_principal(call));
}

static nod_status add_tool(nod_call *call)
{
    const nod_tool added[] = {
        { .name = "added", .handler = whoami, .description = "Added while running" }
    };

    NOD_TRY(nod_tools(nod_server_of(call), added));
    return nod_reply_text(call, "added");
}

static nod_status remove_tool(nod_call *call)
{
    return nod_reply_text(call,
                          nod_remove_tool(nod_server_of(call), "added") ? "removed" : "not there");
}

/* --- hooks --- */

enum { TRACE_MAX = 8192 };
static char trace[TRACE_MAX];
static size_t trace_len;
static char refused_stage[64]; /* "flow.stage" that a hook refuses; empty: none */

static nod_status note_stage(nod_hook_run *hook, void *data)
{
    static const char *const flows[] = { "call", "ask", "answer" };
    char name[64];
    bool before = data != NULL;

    snprintf(name, sizeof(name), "%s.%s", flows[nod_hook_flow(hook)], nod_hook_stage(hook));
    if (before) {
        int n = snprintf(trace + trace_len, TRACE_MAX - trace_len, "%s ", name);
        if (n > 0 && (size_t)n < TRACE_MAX - trace_len)
            trace_len += (size_t)n;
    }
    return before && strcmp(name, refused_stage) == 0 ? NOD_E_REFUSED : NOD_OK;
}

static nod_status hooks(nod_call *call)
{
    (void)nod_reply_text(call, trace);
    trace[0] = '\0';
    trace_len = 0;
    snprintf(refused_stage, sizeof(refused_stage), "%s", nod_arg_str_or(call, "refuse", ""));
    return NOD_OK;
}

static const struct {
    nod_flow flow;
    const char *stage;
} stages[] = {
    { NOD_FLOW_CALL, "accept" },
    { NOD_FLOW_CALL, "authorise" },
    { NOD_FLOW_CALL, "gate" },
    { NOD_FLOW_CALL, "start" },
    { NOD_FLOW_CALL, "finish" },
    { NOD_FLOW_ASK, "parseInput" },
    { NOD_FLOW_ASK, "validateRequest" },
    { NOD_FLOW_ASK, "generateElicitId" },
    { NOD_FLOW_ASK, "storePendingRecord" },
    { NOD_FLOW_ASK, "buildRequestParams" },
    { NOD_FLOW_ASK, "finalize" },
    { NOD_FLOW_ANSWER, "parseInput" },
    { NOD_FLOW_ANSWER, "lookupPending" },
    { NOD_FLOW_ANSWER, "validateContent" },
    { NOD_FLOW_ANSWER, "buildResult" },
    { NOD_FLOW_ANSWER, "publishResult" },
    { NOD_FLOW_ANSWER, "finalize" },
};

static nod_status add_hooks(nod_server *server)
{
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        NOD_TRY(nod_hook(server, .flow = stages[i].flow, .stage = stages[i].stage, .kind = NOD_WILL,
                         .fn = note_stage, .data = trace));
        NOD_TRY(nod_hook(server, .flow = stages[i].flow, .stage = stages[i].stage, .kind = NOD_DID,
                         .fn = note_stage));
    }
    return nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "no such stage", .fn = note_stage) ==
                   NOD_E_NOT_FOUND
               ? NOD_OK
               : NOD_E_USAGE;
}

#define TTL NOD_INT("ttl")

static nod_tool tools[] = {
    { .name = "counters", .handler = counters },
    { .name = "ask",
      .handler = ask,
      .input = NOD_FORM(NOD_TEXT("message"), NOD_INT("ttl"), NOD_INT("attempts")) },
    { .name = "ask_plain", .handler = ask_plain },
    { .name = "strict",
      .handler = whoami,
      .input = NOD_FORM(NOD_TEXT("name", .required = true), NOD_INT("age")),
      .strict = true },
    { .name = "naps_and_asks",
      .handler = naps_and_asks,
      .input = NOD_FORM(NOD_INT("ms"), NOD_TEXT("message"), NOD_INT("ttl"), NOD_INT("attempts")),
      .blocking = true },
    { .name = "ask_choice", .handler = ask_choice },
    { .name = "ask_lists", .handler = ask_lists, .input = NOD_FORM(NOD_INT("attempts")) },
    { .name = "confirm", .handler = confirm, .input = NOD_FORM(TTL) },
    { .name = "approve",
      .handler = approve,
      .input =
          NOD_FORM(NOD_TEXT("what"), NOD_NUMBER("amount"), NOD_INT("ttl"), NOD_INT("attempts")) },
    { .name = "approve_extras", .handler = approve_extras },
    { .name = "hurry", .handler = ask_plain, .ask_ttl_ms = 150 },
    { .name = "ticket",
      .handler = ticket,
      .input = NOD_FORM(NOD_TEXT("code", .pattern = "^[A-Z]{3}$", .hint = "ABC"),
                        NOD_INT("n", .title = "How many", NOD_MAX(5))) },
    { .name = "three", .handler = three },
    { .name = "two_at_once", .handler = two_at_once },
    { .name = "meet", .handler = meet },
    { .name = "tickets", .handler = tickets, .asks = true },
    { .name = "negative_ttl", .handler = negative_ttl },
    { .name = "bad_schema", .handler = bad_schema },
    { .name = "secret_field", .handler = secret_field },
    { .name = "supports", .handler = supports },
    { .name = "sample", .handler = sample },
    { .name = "url", .handler = url, .input = NOD_FORM(NOD_BOOL("wait"), TTL) },
    { .name = "url_done",
      .handler = url_done,
      .input = NOD_FORM(NOD_TEXT("id", .required = true)) },
    { .name = "require_url", .handler = require_url },
    { .name = "steps", .handler = steps },
    { .name = "failing_step", .handler = failing_step },
    { .name = "asks_for_pin", .handler = asks_for_pin },
    { .name = "too_many_steps", .handler = too_many_steps },
    { .name = "steps_alone", .handler = steps_alone },
    { .name = "each_of_many",
      .handler = each_of_many,
      .input = NOD_FORM(NOD_INT("count", .required = true)),
      .journal_entries = 2 * EACH_MOST },
    { .name = "charge_under_one_key", .handler = charge_under_one_key },
    { .name = "stable", .handler = stable },
    { .name = "telling", .handler = telling },
    { .name = "changes_its_mind", .handler = changes_its_mind },
    { .name = "reads_what_is_not_there", .handler = reads_what_is_not_there },
    { .name = "says_nothing", .handler = says_nothing },
    { .name = "fails", .handler = fails },
    { .name = "pends_for_nothing", .handler = pends_for_nothing },
    { .name = "structured",
      .handler = structured,
      .input = NOD_FORM(NOD_BOOL("good")),
      .output_schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"
                       "\"required\":[\"n\"]}" },
    { .name = "sleeper",
      .handler = sleeper,
      .input = NOD_FORM(NOD_INT("ms", .required = true, NOD_MIN(0), NOD_MAX(60000))),
      .blocking = true,
      .timeout_ms = 1000 },
    { .name = "until_cancelled", .handler = until_cancelled, .blocking = true },
    { .name = "asks_and_works", .handler = asks_and_works, .blocking = true },
    { .name = "slow_person", .handler = slow_person, .timeout_ms = 1000 },
    { .name = "slow_person_blocking",
      .handler = slow_person,
      .timeout_ms = 1000,
      .blocking = true },
    { .name = "three_blocking", .handler = three, .blocking = true },
    { .name = "steps_blocking", .handler = steps, .blocking = true },
    { .name = "gated",
      .handler = whoami,
      .title = "Gated tool",
      .input = NOD_FORM(NOD_TEXT("what")),
      .requires_confirmation = true },
    { .name = "whoami", .handler = whoami },
    { .name = "add_tool", .handler = add_tool },
    { .name = "remove_tool", .handler = remove_tool },
    { .name = "hooks", .handler = hooks, .input = NOD_FORM(NOD_TEXT("refuse")) },
};

static int64_t setting(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

int main(int argc, char **argv)
{
    const char *boolean_clients[] = { getenv("PROBE_BOOLEAN_CLIENT"), NULL };
    nod_server *server =
        nod_server_new(.name = "probe", .version = NOD_VERSION, .instructions = "For tests alone.",
                       .ask_ttl_ms = setting("PROBE_TTL_MS"),
                       .one_ask_per_scope = setting("PROBE_ONE_ASK") != 0, .workers = 2,
                       .heartbeat_ms = setting("PROBE_HEARTBEAT_MS"),
                       .session_idle_ms = setting("PROBE_IDLE_MS"),
                       .page_size = (size_t)setting("PROBE_PAGE_SIZE"),
                       .boolean_confirm_clients = boolean_clients);

    if (server == NULL)
        return 1;
    /* A tool that has a time for its work has so many times as much. */
    for (size_t i = 0; setting("PROBE_PACE") && i < sizeof(tools) / sizeof(tools[0]); i++)
        tools[i].timeout_ms *= setting("PROBE_PACE");
    if (nod_tools(server, tools) != NOD_OK || nod_resources(server, resources) != NOD_OK ||
        nod_prompts(server, prompts) != NOD_OK || rounds_add(server) != NOD_OK ||
        values_add(server) != NOD_OK ||
        (setting("PROBE_HOOKS") != 0 && add_hooks(server) != NOD_OK)) {
        nod_server_destroy(server);
        return 1;
    }
    return nod_main(server, argc, argv);
}
