/*
 * tests/toys/inner: a provider whose calls wait for calls of other tools, in one file.
 *
 * The tool `outer` calls the tool `inner` with run_call, and replies with how that ended. What
 * `inner` does is set by each test. Nothing in core/, mcp/ or front/ knows of these tools.
 *
 * The tests compare each end with that of the same tool called directly; end the outer call in
 * every way; carry the questions of both calls in one round; and take the process down after each
 * turn.
 */
#include "../unit/core/loaded.h"
#include "../unit/runner.h"

#include <stdio.h>
#include <string.h>

#include "core/comeback.h"
#include "core/consent.h"
#include "core/gone.h"
#include "core/grant.h"
#include "core/hook.h"

static struct world world;
static struct catalog *catalog;
static struct store_ops ops;

/* --- the tools --- */

enum { TOOLS_MAX = 8 };

static struct target tools[TOOLS_MAX];
static size_t tool_count;
static struct provider toy;

/* What `inner` does. */
static struct {
    world_handler *handler;
    int runs; /* of inner, ever */
    int64_t ttl_ms;
    const char *args; /* with which outer calls it */
    bool asks_too;    /* outer asks a question beside */
    int beside;       /* calls of it that outer waits for at the same time, and does not look at */
    bool twice;       /* outer calls it twice, one after the other */
    bool counts_first, counts_last; /* outer reports progress before and after its calls */
} does;

static void counts(struct run *run, double progress)
{
    run_notice(run, &(struct notice){ .kind = NOTICE_PROGRESS, .progress = progress, .total = 10 });
}
static const char *does_first; /* a step of outer, before it calls; NULL: none */

static struct str kept(struct run *run, struct str text)
{
    return arena_str(&run->arena, text);
}

static const struct json *args_of(struct run *run)
{
    return does.args ? json_parse(&run->arena, kept(run, str_of(does.args)), NULL, NULL) : NULL;
}

static char beside_said[128]; /* how one of them failed */

static nod_status calls(struct run *run, const char *tool, struct str *body)
{
    const struct entry *answer = NULL;
    struct outcome outcome;

    if (does_first)
        NOD_TRY(world_step(run, &world, does_first, false));
    nod_status asked = does.asks_too && str_eq(run->target->name, STR("outer"))
                           ? world_ask(run, NULL, "Beside?", world_ask_form, &answer)
                           : NOD_OK;
    struct run_call_spec spec = { .tool = str_of(tool),
                                  .args = args_of(run),
                                  .ttl_ms = does.ttl_ms };

    for (int i = 0; i < does.beside; i++) {
        struct outcome other;
        nod_status one = run_call(run, &spec, &other);
        if (one == NOD_OK && other.status != NOD_OK)
            snprintf(beside_said, sizeof(beside_said), STR_FMT, STR_ARG(other.message));
        if (one == NOD_PENDING)
            asked = one;
    }
    if (does.counts_first)
        counts(run, 1);
    nod_status status = run_call(run, &spec, &outcome);
    if (asked == NOD_PENDING)
        return NOD_PENDING;
    if (status == NOD_OK && does.twice)
        status = run_call(run, &spec, &outcome);
    if (status != NOD_OK)
        return status;
    if (does.counts_last)
        counts(run, 9);
    if (outcome.status == NOD_OK)
        *body = arena_fmt(&run->arena, "{\"inner\":" STR_FMT "}", STR_ARG(outcome.body));
    else
        *body =
            arena_fmt(&run->arena, "{\"status\":%d,\"code\":\"%s\",\"message\":\"" STR_FMT "\"}",
                      (int)outcome.status, outcome.code, STR_ARG(outcome.message));
    return NOD_OK;
}

static void toy_start(struct provider *provider, struct run *run)
{
    struct str body = STR_NONE, name = run->target->name;
    nod_status status;

    (void)provider;
    if (str_eq(name, STR("outer"))) {
        status = calls(run, "inner", &body);
    } else if (str_eq(name, STR("around"))) {
        status = calls(run, "outer", &body);
    } else if (str_starts(name, STR("deep"))) {
        char next[8];
        snprintf(next, sizeof(next), "deep%d", name.at[4] - '0' + 1);
        status = calls(run, next, &body);
    } else {
        does.runs++;
        status = does.handler(run, &body);
    }
    run_done(run, status, body);
}

static const struct provider_ops toy_ops = { .name = "toy", .start = toy_start };

static struct target *tool(const char *name)
{
    struct target *target = catalog_find(catalog, TARGET_TOOL, str_of(name));

    if (target)
        return target;
    assert_true(tool_count < TOOLS_MAX);
    target = &tools[tool_count++];
    *target = (struct target){
        .kind = TARGET_TOOL, .name = str_of(name), .title = str_of(name), .provider = &toy
    };
    assert_int_equal(catalog_add(catalog, target), NOD_OK);
    return target;
}

/* --- the callers --- */

/* One that is told of questions as they come, as a held stream is; world_caller is one that
 * responds once. */
static struct caller_ops held_ops;

static void engine_again(void)
{
    engine_use_catalog(world.engine, catalog);
}

static size_t most_calls; /* live at a time; 0: as many as usual */

static void begin_with(world_handler *handler, bool durable)
{
    memset(&does, 0, sizeof(does));
    does.handler = handler;
    world_init(&world, &(struct world_opts){ .ttl_ms = 1000, .limits.calls = most_calls });
    ops = *world.store->ops;
    ops.durable = durable;
    world.store->ops = &ops;
    toy.ops = &toy_ops;
    catalog = catalog_create();
    tool_count = 0;
    tool("outer");
    tool("inner");
    engine_again();
}

static void begin(world_handler *handler)
{
    begin_with(handler, false);
}

static void finish(void)
{
    world_finish(&world);
    catalog_destroy(catalog);
}

static char call_name[ID_LEN + 1];

static struct world_caller *caller_held(void)
{
    struct world_caller *caller = world_caller_new(&world);

    held_ops = *caller->caller.ops;
    held_ops.brings = NULL;
    caller->caller.ops = &held_ops;
    caller->way = CALLER_HOLDS;
    return caller;
}

static void call_by(struct world_caller *caller, const char *name, bool handed)
{
    engine_call(world.engine, &(struct call_spec){ .target = tool(name),
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .handed = handed,
                                                   .caller = &caller->caller });
    if (caller->caller.call)
        snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
}

static struct world_caller *call_of(const char *name, bool held, bool handed)
{
    struct world_caller *caller = held ? caller_held() : world_caller_new(&world);

    if (!held)
        caller->way = CALLER_LEAVES;
    call_by(caller, name, handed);
    return caller;
}

static struct world_caller *call(const char *name)
{
    return call_of(name, true, false);
}

static void answer(enum ask_state action, const char *content)
{
    struct shown *up = world_up(&world);
    char id[ID_LEN + 1];

    assert_non_null(up);
    memcpy(id, up->id, sizeof(id));
    up->up = false;
    world_answer(&world, id, action, content, "ann", 1);
}

static size_t ups(void)
{
    size_t count = 0;

    for (size_t i = 0; i < world.shown_count; i++)
        count += world.shown[i].up;
    return count;
}

/* --- what inner does --- */

static nod_status replies(struct run *run, struct str *body)
{
    (void)run;
    *body = STR("{\"done\":1}");
    return NOD_OK;
}

static nod_status asks(struct run *run, struct str *body)
{
    const struct entry *said;
    nod_status status = world_ask(run, NULL, "Go on?", world_ask_form, &said);

    if (status != NOD_OK)
        return status;
    *body =
        arena_fmt(&run->arena, "{\"said\":\"" STR_FMT "\"}", STR_ARG(ask_state_name(said->state)));
    return NOD_OK;
}

static nod_status asks_twice(struct run *run, struct str *body)
{
    const struct entry *said;
    nod_status status = world_ask(run, "one", "One?", world_ask_form, &said);

    if (status == NOD_OK)
        status = world_ask(run, "two", "Two?", world_ask_form, &said);
    if (status == NOD_OK)
        *body = STR("{\"both\":true}");
    return status;
}

static nod_status steps_then_asks(struct run *run, struct str *body)
{
    nod_status status = world_step(run, &world, "deed", false);

    return status == NOD_OK ? asks(run, body) : status;
}

static nod_status fails(struct run *run, struct str *body)
{
    (void)body;
    return run_fail(run, NOD_E_REFUSED, "OUT_OF_STOCK", STR("there are none left"));
}

static nod_status is_wrong(struct run *run, struct str *body)
{
    (void)run, (void)body;
    return NOD_OK; /* without a reply */
}

static nod_status is_large(struct run *run, struct str *body)
{
    char *text = arena_alloc(&run->arena, 300 << 10);

    memset(text, 'x', 300 << 10);
    *body = arena_fmt(&run->arena, "{\"text\":\"%.*s\"}", 300 << 10, text);
    return NOD_OK;
}

/* --- the same ends as called directly --- */

static nod_status refuses(struct nod_hook_run *hook, void *data)
{
    (void)data;
    return hook_fail(hook, NOD_E_REFUSED, "NOT_TODAY", STR("not today"));
}

static nod_status refuses_inner(struct nod_hook_run *hook, void *data)
{
    return str_eq(hook_target(hook)->name, STR("inner")) ? refuses(hook, data) : NOD_OK;
}

static void accepts_it(void)
{
    answer(ASK_ACCEPTED, "{\"n\":1}");
}

static void declines_it(void)
{
    answer(ASK_DECLINED, NULL);
}

static void dismisses_it(void)
{
    answer(ASK_CANCELLED, NULL);
}

static void waits_too_long(void)
{
    world_advance(&world, 1000);
}

static void confirms_it(void)
{
    answer(ASK_ACCEPTED, "{}");
}

static void confirms_and_accepts(void)
{
    confirms_it();
    accepts_it();
}

static void accepts_both(void)
{
    accepts_it();
    accepts_it();
}

static const struct {
    const char *name;
    world_handler *handler;
    void (*then)(void);
    const char *code; /* NULL: it goes well */
    const char *args;
    bool gate, hook, unable;
} ends[] = {
    { "replies", replies, NULL, NULL },
    { "accepted", asks, accepts_it, NULL },
    { "declined", asks, declines_it, NULL },
    { "dismissed", asks, dismisses_it, NULL },
    { "expired", asks, waits_too_long, "ELICITATION_TIMEOUT" },
    { "asked twice", asks_twice, accepts_both, NULL },
    { "after a step", steps_then_asks, accepts_it, NULL },
    { "fails", fails, NULL, "OUT_OF_STOCK" },
    { "a mistake", is_wrong, NULL, "HANDLER_BUG" },
    { "the gate says yes", asks, confirms_and_accepts, NULL, .gate = true },
    { "the gate says no", asks, declines_it, "CONFIRMATION_DECLINED", .gate = true },
    { "the gate expires", asks, waits_too_long, "CONFIRMATION_REQUIRED", .gate = true },
    { "a hook refuses", asks, NULL, "NOT_TODAY", .hook = true },
    { "nobody can be asked", asks, NULL, "ELICITATION_NOT_SUPPORTED", .unable = true },
};

static void end_begin(size_t i)
{
    begin(ends[i].handler);
    tool("inner")->requires_confirmation = ends[i].gate;
    if (ends[i].hook)
        world_hook(&world, NOD_FLOW_CALL, "authorise", NOD_WILL, refuses_inner, NULL);
    if (ends[i].unable)
        world.can = 0;
}

static void an_inner_call_ends_as_the_same_tool_called_directly(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char expected[1024];

        end_begin(i);
        struct world_caller *direct = call("inner");
        if (ends[i].then)
            ends[i].then();
        assert_int_equal(direct->finished, 1);
        if (direct->status == NOD_OK)
            snprintf(expected, sizeof(expected), "{\"inner\":%s}", direct->body);
        else
            snprintf(expected, sizeof(expected),
                     "{\"status\":%d,\"code\":\"%s\",\"message\":\"%s\"}", (int)direct->status,
                     direct->code, direct->message);
        assert_string_equal(direct->code, ends[i].code ? ends[i].code : "");
        int runs = does.runs;
        finish();

        end_begin(i);
        struct world_caller *outer = call("outer");
        if (ends[i].then)
            ends[i].then();
        if (outer->finished != 1 || strcmp(outer->body, expected) != 0)
            fail_msg("%s: finished %d with %s %s, not %s", ends[i].name, outer->finished,
                     outer->code, outer->body, expected);
        assert_int_equal(does.runs, runs);
        assert_int_equal(engine_calls(world.engine), 0);
        assert_int_equal(engine_pending(world.engine), 0);
        assert_int_equal(ups(), 0);
        finish();
    }
}

/* --- going down --- */

static void a_cancelled_call_cancels_what_it_waits_for(void **state)
{
    (void)state;
    begin(asks);
    struct world_caller *outer = call("outer");
    assert_int_equal(ups(), 1);
    assert_int_equal(engine_calls(world.engine), 2);
    call_cancel(outer->caller.call, STR("enough"));
    world_settle(&world);
    assert_string_equal(outer->code, "CANCELLED");
    assert_int_equal(ups(), 0);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(engine_pending(world.engine), 0);
    finish();
}

static void a_call_that_was_waited_for_long_enough_is_cancelled(void **state)
{
    (void)state;
    begin(asks);
    does.ttl_ms = 500;
    struct world_caller *outer = call("outer");
    assert_int_equal(ups(), 1);
    world_advance(&world, 500);
    assert_string_equal(outer->code, "ELICITATION_TIMEOUT");
    assert_int_equal(ups(), 0);
    assert_int_equal(engine_calls(world.engine), 0);
    finish();
}

/* --- what is refused --- */

static void outer_says(const char *name, const char *part)
{
    struct world_caller *outer = call(name);

    assert_int_equal(outer->finished, 1);
    if (!strstr(outer->body, part))
        fail_msg("%s says %s %s, and not %s", name, outer->code, outer->body, part);
    assert_int_equal(does.runs, 0);
}

static void an_unknown_tool_is_an_outcome(void **state)
{
    (void)state;
    begin(replies);
    catalog_remove(catalog, tool("inner"));
    outer_says("outer", "Unknown tool: inner");
    finish();
}

static bool never(const struct target *target, const struct audience *audience)
{
    (void)target;
    assert_true(str_eq(audience->principal, STR("ann")));
    return false;
}

static void a_tool_that_is_not_listed_to_the_caller_is_unknown(void **state)
{
    (void)state;
    begin(replies);
    tool("inner")->listed = never;
    outer_says("outer", "Unknown tool: inner");
    finish();
}

static nod_status calls_outer(struct run *run, struct str *body)
{
    does.runs--;
    return calls(run, "outer", body);
}

static void a_circle_is_named(void **state)
{
    (void)state;
    begin(calls_outer);
    outer_says("outer", "outer ▸ inner ▸ outer");
    finish();
}

static void calls_are_as_deep_as_they_may_be_and_no_deeper(void **state)
{
    (void)state;
    begin(replies);
    for (int i = 0; i < 6; i++) {
        static char names[6][8];
        snprintf(names[i], sizeof(names[i]), "deep%d", i);
        tool(names[i]);
    }
    outer_says("deep0", "At most 4 calls");
    finish();
    begin(replies); /* around ▸ outer ▸ inner */
    struct world_caller *around = call("around");
    assert_string_equal(around->body, "{\"inner\":{\"inner\":{\"done\":1}}}");
    finish();
}

static void a_result_that_is_too_large_says_so(void **state)
{
    (void)state;
    begin(is_large);
    struct world_caller *outer = call("outer");
    assert_non_null(strstr(outer->body, "does not fit into the journal"));
    assert_non_null(strstr(outer->body, "LIMIT_REACHED"));
    finish();
}

static void a_tool_that_is_removed_while_its_call_waits_is_an_outcome(void **state)
{
    (void)state;
    begin(asks);
    struct world_caller *outer = call("outer");
    assert_int_equal(ups(), 1);
    catalog_remove(catalog, tool("inner"));
    engine_targets_changed(world.engine, true);
    world_advance(&world, 1);
    world_advance(&world, 1);
    assert_non_null(strstr(outer->body, "TOOL_GONE"));
    assert_int_equal(ups(), 0);
    finish();
}

static void a_limit_of_questions_is_an_outcome(void **state)
{
    (void)state;
    begin(asks);
    engine_bound_asks(world.engine, 0, 1); /* the outer call has it */
    struct world_caller *outer = call("outer");
    assert_non_null(strstr(outer->body, "LIMIT_REACHED"));
    assert_non_null(strstr(outer->body, "--pending-per-principal"));
    assert_int_equal(ups(), 0);
    assert_int_equal(engine_calls(world.engine), 0);
    finish();
}

static void a_limit_of_live_calls_is_an_outcome(void **state)
{
    (void)state;
    most_calls = 1;
    begin(asks);
    most_calls = 0;
    struct world_caller *outer = call("outer");
    assert_non_null(strstr(outer->body, "as many live calls"));
    assert_int_equal(does.runs, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    finish();
}

static void recover(void);

/* Of four calls three come at the same time; of those, two may be live beside the outer call. */
static void as_many_inner_calls_come_at_a_time_as_calls_may_be_live(void **state)
{
    (void)state;
    for (int durable = 0; durable < 2; durable++) {
        most_calls = 3;
        begin_with(replies, durable);
        most_calls = 0;
        does.beside = 3;
        beside_said[0] = '\0';
        struct world_caller *outer = call("outer");
        if (!durable) { /* nobody would come for the fourth again */
            assert_non_null(strstr(outer->body, "As many inner calls as may be"));
            assert_non_null(strstr(outer->body, "LIMIT_REACHED"));
            assert_non_null(strstr(beside_said, "as many live calls"));
            assert_int_equal(does.runs, 2);
        } else { /* the look at the list comes for the fourth */
            assert_int_equal(outer->finished, 0);
            recover();
            for (int i = 0; i < 4; i++)
                world_advance(&world, 5000);
            assert_string_equal(outer->body, "{\"inner\":{\"done\":1}}");
            assert_int_equal(does.runs, 3);
        }
        assert_int_equal(outer->finished, 1);
        assert_int_equal(engine_calls(world.engine), 0);
        assert_int_equal(engine_pending(world.engine), 0);
        finish();
    }
}

/* --- whose it is --- */

static void a_question_names_both_tools(void **state)
{
    (void)state;
    begin(asks);
    call("outer");
    assert_string_equal(world_up(&world)->message, "outer ▸ inner: Go on?");
    finish();
    begin(asks);
    call("around");
    assert_string_equal(world_up(&world)->message, "around ▸ outer ▸ inner: Go on?");
    accepts_it();
    assert_int_equal(engine_calls(world.engine), 0);
    finish();
}

static void the_clock_of_the_outer_call_stands_still(void **state)
{
    (void)state;
    begin(asks);
    tool("outer")->timeout_ms = 100;
    struct world_caller *outer = call("outer");
    world_advance(&world, 900);
    accepts_it();
    assert_string_equal(outer->body, "{\"inner\":{\"said\":\"accepted\"}}");
    finish();
}

static uint64_t all_ended(void)
{
    const struct counts *counts = engine_counts(world.engine);
    uint64_t all = 0;

    for (size_t i = 0; i < COUNTS_STATES; i++)
        for (size_t place = 0; place < COUNTS_PLACES; place++)
            all += counts->ended[i][place];
    return all;
}

static void only_what_people_are_asked_is_counted_as_a_question(void **state)
{
    (void)state;
    begin(asks);
    call("outer");
    assert_int_equal(engine_counts(world.engine)->asked, 1);
    assert_int_equal(engine_pending(world.engine), 1);
    accepts_it();
    assert_int_equal(engine_pending(world.engine), 0);
    assert_int_equal(all_ended(), 1);
    assert_int_equal(engine_counts(world.engine)->answer.count, 1);
    finish();
    begin(asks);
    struct world_caller *outer = call("outer");
    call_cancel(outer->caller.call, STR("enough"));
    world_settle(&world);
    assert_int_equal(all_ended(), 1);
    finish();
}

static void a_call_of_another_tool_asks_nobody(void **state)
{
    (void)state;
    begin(replies);
    tool("outer")->destructive = true;
    assert_int_equal(call("outer")->status, NOD_OK);
    assert_int_equal(engine_counts(world.engine)->destructive_unasked, 1);
    does.asks_too = true;
    struct world_caller *outer = call("outer");
    accepts_it();
    assert_int_equal(outer->finished, 1);
    assert_int_equal(engine_counts(world.engine)->destructive_unasked, 1);
    finish();
}

/* --- consent inside is as outside --- */

static void a_question_of_a_destructive_inner_tool_is_consent(void **state)
{
    (void)state;
    for (int destructive = 0; destructive < 2; destructive++) {
        begin(asks);
        tool("inner")->destructive = destructive;
        struct world_caller *outer = call("outer");
        struct ask *ask = call_ask_first(outer->caller.call);
        assert_int_equal(ask_is_consent(world.engine, ask_record(ask), NULL), destructive);
        accepts_it();
        assert_int_equal(outer->finished, 1);
        finish();
    }
}

static void a_harmless_outer_tool_does_not_launder_a_destructive_one(void **state)
{
    (void)state;
    begin(replies); /* the word of the client does not count, and there is no inbox */
    struct surface_ops own = *world.surface.ops;
    own.own_word = true;
    world.surface.ops = &own;
    tool("inner")->destructive = true;
    engine_confirm_destructive(world.engine, true);
    engine_consent(world.engine, CONSENT_INBOX);
    outer_says("outer", "CONFIRMATION_REQUIRED");
    finish();
    begin(replies); /* the outer tool has asked nobody: the inner one does */
    tool("inner")->destructive = true;
    engine_confirm_destructive(world.engine, true);
    struct world_caller *outer = call("outer");
    assert_int_equal(outer->finished, 0);
    declines_it();
    assert_non_null(strstr(outer->body, "CONFIRMATION_DECLINED"));
    assert_int_equal(does.runs, 0);
    finish();
}

static void a_remembered_approval_answers_the_inner_gate(void **state)
{
    (void)state;
    begin(replies);
    world.can = 0; /* as an inbox would, the second surface asks */
    world.second_can = 1u << ASK_APPROVAL;
    tool("inner")->requires_confirmation = true;
    tool("inner")->remember = NOD_REMEMBER_PRINCIPAL | NOD_REMEMBER_TOOL;
    struct world_caller *outer = call("outer");
    assert_int_equal(world.second_count, 1);
    world_answer_by(&world, world.second_shown[0].id,
                    &(struct answer){ .action = ASK_ACCEPTED,
                                      .by = STR("ann"),
                                      .roles = ROLE_ANSWER,
                                      .surface = &world.second,
                                      .remember = &(struct remember_choice){
                                          .scope = GRANT_PRINCIPAL, .match = GRANT_TOOL } });
    world_settle(&world);
    assert_int_equal(world.last.status, NOD_OK);
    assert_string_equal(outer->body, "{\"inner\":{\"done\":1}}");
    outer = call("outer"); /* nobody is asked */
    assert_string_equal(outer->body, "{\"inner\":{\"done\":1}}");
    struct world_caller *direct = call("inner");
    assert_string_equal(direct->body, "{\"done\":1}");
    assert_int_equal(world.second_count, 1);
    finish();
}

/* --- progress --- */

static char heard[128]; /* progress, as the client is told */

static void told_progress(struct caller *caller, struct call *of, const struct notice *notice)
{
    size_t len = strlen(heard);

    (void)caller, (void)of;
    snprintf(heard + len, sizeof(heard) - len, "%g/%g ", notice->progress, notice->total);
}

static nod_status counts_to_five(struct run *run, struct str *body)
{
    counts(run, 0);
    counts(run, 5);
    return replies(run, body);
}

static void the_progress_of_an_inner_call_is_told_unless_the_outer_one_counts(void **state)
{
    static const struct {
        const char *tool, *told;
        bool twice, first, last;
    } rows[] = {
        { "inner", "0/10 5/10 " },
        { "outer", "0/10 5/10 " },
        { "around", "0/10 5/10 " },
        { "outer", "0/10 5/10 5/15 10/15 ", .twice = true }, /* the callers leave 5 out */
        { "outer", "1/10 9/10 ", .first = true, .last = true },
        { "outer", "0/10 5/10 14/15 ", .last = true },
        { "around", "1/10 ", .first = true },
        { "around", "0/10 5/10 14/15 23/24 ", .last = true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin(counts_to_five);
        does.twice = rows[i].twice;
        does.counts_first = rows[i].first;
        does.counts_last = rows[i].last;
        heard[0] = '\0';
        struct world_caller *caller = caller_held();
        held_ops.notify = told_progress;
        call_by(caller, rows[i].tool, false);
        assert_int_equal(caller->finished, 1);
        assert_string_equal(heard, rows[i].told);
        finish();
    }
}

/* --- one round for both --- */

static int carried; /* questions that the caller was told of, the last time */

static void count_carried(struct world_caller *caller, struct call *told)
{
    (void)caller;
    carried = 0;
    for (struct ask *ask = call_ask_first(told); ask; ask = call_ask_next(told, ask)) {
        assert_int_not_equal(ask_record(ask)->kind, ASK_CALL);
        carried++;
    }
}

static struct world_caller *come_back(const char *key);
static void come_for(struct world_caller *caller, const char *id);

static void the_questions_of_both_come_in_one_round(void **state)
{
    (void)state;
    begin(asks);
    world.on_asked = count_carried;
    does.asks_too = true;
    struct world_caller *outer = call_of("outer", false, false);
    assert_int_equal(outer->asked, 1);
    assert_int_equal(carried, 2);
    assert_int_equal(outer->finished, 0);
    assert_int_equal(engine_calls(world.engine), 0); /* the client has them */
    struct world_caller *again = come_back("#1");    /* both are called so */
    assert_int_equal(again->asked, 0);
    assert_string_equal(again->body, "{\"inner\":{\"said\":\"accepted\"}}");
    assert_int_equal(does.runs, 2);
    finish();
}

static void an_answer_that_does_not_fit_is_brought_once(void **state)
{
    (void)state;
    begin(asks);
    world.on_asked = count_carried;
    call_of("outer", false, false);
    struct world_caller *again = world_caller_new(&world);
    again->way = CALLER_LEAVES;
    again->brings[0] =
        (struct world_brings){ .key = "#1", .action = ASK_ACCEPTED, .content = "{\"n\":\"x\"}" };
    come_for(again, call_name);
    assert_int_equal(again->brings[0].status, NOD_E_INVALID);
    assert_int_equal(again->brings[0].told, 1);
    assert_int_equal(again->asked, 1);
    assert_int_equal(carried, 1);
    again = come_back("#1");
    assert_string_equal(again->body, "{\"inner\":{\"said\":\"accepted\"}}");
    finish();
}

static void what_the_inner_call_asks_next_comes_in_the_next_round(void **state)
{
    (void)state;
    begin(asks_twice);
    world.on_asked = count_carried;
    struct world_caller *outer = call_of("outer", false, false);
    assert_int_equal(outer->asked, 1);
    assert_int_equal(carried, 1);
    struct world_caller *again = come_back("one");
    assert_int_equal(again->finished, 0);
    assert_int_equal(again->asked, 1);
    assert_int_equal(carried, 1);
    assert_int_equal(does.runs, 2);
    again = come_back("two");
    assert_string_equal(again->body, "{\"inner\":{\"both\":true}}");
    assert_int_equal(does.runs, 3);
    finish();
}

/* --- coming back --- */

struct returning {
    struct comer comer;
    struct world_caller *caller;
    int done;
    enum back_as as;
};

static bool returning_there(const struct comer *comer)
{
    (void)comer;
    return true;
}

static bool returning_waits(struct comer *comer, const struct call_record *record,
                            struct adopt_spec *spec)
{
    (void)record;
    spec->handed = record->handed;
    spec->caller = &LIST_OF(comer, struct returning, comer)->caller->caller;
    return true;
}

static void returning_done(struct comer *comer, const struct back *back)
{
    struct returning *returning = LIST_OF(comer, struct returning, comer);

    returning->done++;
    returning->as = back->as;
    if (back->as == BACK_ENDED) {
        returning->caller->finished++;
        returning->caller->status = back->outcome->status;
        snprintf(returning->caller->body, sizeof(returning->caller->body), STR_FMT,
                 STR_ARG(back->outcome->body));
    }
}

static const struct comer_ops returning_ops = { .there = returning_there,
                                                .waits = returning_waits,
                                                .done = returning_done };
static struct returning returning;

static void come_for(struct world_caller *caller, const char *id)
{
    returning = (struct returning){ .comer = { .ops = &returning_ops,
                                               .call = id_of(str_of(id)),
                                               .principal = STR("ann"),
                                               .asks = true },
                                    .caller = caller };
    engine_return(world.engine, &returning.comer);
    world_settle(&world);
    assert_int_equal(returning.done, 1);
}

/* As one that responds once, with an answer to each question of this key. */
static struct world_caller *come_back(const char *key)
{
    struct world_caller *caller = world_caller_new(&world);

    caller->way = CALLER_LEAVES;
    caller->brings[0] =
        (struct world_brings){ .key = key, .action = ASK_ACCEPTED, .content = "{\"n\":1}" };
    come_for(caller, call_name);
    return caller;
}

static void whoever_comes_back_is_asked_what_the_inner_call_asks(void **state)
{
    (void)state;
    begin(asks);
    struct world_caller *outer = call_of("outer", true, false);
    assert_int_equal(ups(), 1);
    call_caller_left(outer->caller.call);
    world_settle(&world);
    assert_int_equal(engine_calls(world.engine), 0);
    for (size_t i = 0; i < world.shown_count; i++)
        world.shown[i].up = false;
    struct world_caller *again = caller_held();
    come_for(again, call_name);
    assert_int_equal(ups(), 1);
    accepts_it();
    assert_string_equal(again->body, "{\"inner\":{\"said\":\"accepted\"}}");
    finish();
}

static void whoever_comes_with_the_inner_call_is_led_to_the_outer_one(void **state)
{
    (void)state;
    begin(asks);
    struct world_caller *outer = call_of("outer", true, false);
    char inner[ID_LEN + 1];
    const struct ask_record *record = ask_record(call_ask_first(outer->caller.call));
    snprintf(inner, sizeof(inner), STR_FMT, STR_ARG(record->call_id));
    assert_string_not_equal(inner, call_name);
    call_caller_left(outer->caller.call);
    world_settle(&world);
    struct world_caller *again = world_caller_new(&world);
    again->way = CALLER_LEAVES;
    again->brings[0] =
        (struct world_brings){ .key = "#1", .action = ASK_ACCEPTED, .content = "{\"n\":1}" };
    come_for(again, inner);
    assert_string_equal(again->body, "{\"inner\":{\"said\":\"accepted\"}}");
    finish();
}

/* --- the process dies --- */

/*
 * A process that dies does nothing more: its engine is kept aside with what the store would have
 * told it, and goes when its store is gone.
 */
static struct {
    struct engine *engine;
    struct {
        void (*fn)(void *data);
        void *data;
    } queue[WORLD_QUEUE_MAX];
    size_t queued;
} dead;

static int adopted; /* calls that nobody worked on */

static void orphan(void *data, const struct call_record *record)
{
    struct target *target = catalog_find(catalog, TARGET_TOOL, record->target);
    struct world_caller *caller;

    (void)data;
    if (engine_find(world.engine, record->id))
        return;
    if (!target) {
        engine_orphan_gone(world.engine, record);
        return;
    }
    caller = world_caller_new(&world);
    caller->way = CALLER_LEAVES;
    caller->caller.ops = &held_ops;
    adopted++;
    assert_true(engine_adopt(
        world.engine,
        &(struct adopt_spec){ .record = record, .target = target, .caller = &caller->caller }));
}

static void recover(void)
{
    engine_recover(world.engine, &(struct recovery_opts){ .orphan = orphan });
}

static struct loaded loaded;

static void load(const char *id)
{
    loaded_begin(&loaded, world.store, str_of(id));
    world_settle(&world);
}

/* A store in memory does not see that a node is gone: it is told of both calls. */
static void lose_calls(void)
{
    load(call_name);
    memory_store_lose(world.store, str_of(call_name), true);
    for (size_t i = 0; i < loaded.ask_count; i++)
        memory_store_lose(world.store, loaded.asks[i].id, true);
    loaded_forget(&loaded);
}

static void die(void)
{
    dead.engine = world.engine;
    memcpy(dead.queue, world.queue, sizeof(world.queue));
    dead.queued = world.queued;
    world.queued = 0;
    world_engine(&world);
    engine_again();
    engine_ask_ttl(world.engine, 3600000);
    for (size_t i = 0; i < world.shown_count; i++)
        world.shown[i].up = false;
    lose_calls();
}

static void finish_both(void)
{
    struct engine *engine = world.engine;

    world.engine = dead.engine;
    if (!dead.engine) {
        world.engine = engine;
        finish();
        return;
    }
    world_finish(&world);
    engine_destroy(engine);
    memcpy(world.queue, dead.queue, sizeof(world.queue));
    world.queued = dead.queued;
    world_settle(&world);
    dead.engine = NULL;
    catalog_destroy(catalog);
}

/* Its questions are answered as they come, for so many turns. False: it came to its end before. */
static bool goes_on_for(int turns)
{
    struct arena arena;

    arena_init(&arena, 1 << 16);
    const struct json *content = json_parse(&arena, STR("{\"n\":1}"), NULL, NULL);
    bool on = true;
    for (int i = 0; on && i < turns; i++) {
        struct shown *up;
        if (world_turn(&world))
            continue;
        up = world_up(&world);
        on = up;
        if (!up)
            break;
        up->up = false;
        ask_answer(world.engine, str_of(up->id),
                   &(struct answer){ .action = ASK_ACCEPTED,
                                     .content = content,
                                     .by = STR("ann"),
                                     .surface = &world.surface },
                   NULL, NULL);
    }
    arena_finish(&arena);
    return on;
}

static struct world_caller *begin_to_die(world_handler *handler, bool shared)
{
    begin_with(handler, true);
    engine_ask_ttl(world.engine, 3600000);
    ops.shared = shared;
    adopted = 0;
    struct world_caller *outer = caller_held();
    recover();
    world_settle(&world);
    engine_call(world.engine, &(struct call_spec){ .target = tool("outer"),
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller_record = STR("{\"who\":1}"),
                                                   .handed = true,
                                                   .caller = &outer->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(outer->caller.call)));
    return outer;
}

static void ended_right(const struct world_caller *caller, const char *how, int turns)
{
    if (caller->finished != 1 || strcmp(caller->body, "{\"inner\":{\"said\":\"accepted\"}}") != 0)
        fail_msg("%s after %d turns: finished %d, %s %s %s", how, turns, caller->finished,
                 caller->code, caller->message, caller->body);
}

/* The client comes back, is asked what is still asked, and answers. True: it had ended before. */
static bool dies_after(int turns, world_handler *handler)
{
    struct world_caller *outer = begin_to_die(handler, false);

    if (!goes_on_for(turns)) {
        ended_right(outer, "alive", turns);
        finish();
        return true;
    }
    die();
    fake_clock_advance(&world.clock, 60000);
    struct world_caller *again = caller_held();
    come_for(again, call_name);
    recover();
    for (int i = 0; i < 40 && !again->finished && returning.as != BACK_UNKNOWN; i++) {
        if (world_up(&world))
            accepts_it();
        else
            world_advance(&world, 500);
    }
    if (returning.as != BACK_UNKNOWN) { /* else it died before anything was stored */
        ended_right(again, "killed", turns);
        for (int i = 0; i < 20; i++)
            world_advance(&world, 500);
        assert_int_equal(engine_calls(world.engine), 0);
        assert_int_equal(engine_pending(world.engine), 0);
    }
    finish_both();
    return false;
}

static void killed_after_any_turn_it_ends_right(void **state)
{
    (void)state;
    int turns = 0;

    while (!dies_after(turns, asks))
        assert_true(++turns < 200);
    assert_true(turns > 8);
    for (turns = 0; !dies_after(turns, steps_then_asks); turns++)
        assert_true(turns < 200);
}

/* Nobody comes back. What was asked or answered before goes on by itself. */
static bool dies_alone_after(int turns)
{
    struct world_caller *outer = begin_to_die(asks, false);

    (void)outer;
    if (!goes_on_for(turns)) {
        finish();
        return true;
    }
    die();
    fake_clock_advance(&world.clock, 60000);
    recover();
    for (int i = 0; i < 60; i++)
        world_advance(&world, 500);
    load(call_name);
    if (loaded.status == NOD_OK && loaded.call.state != CALL_STORED_FINISHED) {
        /* what is left is a question that nobody has answered */
        assert_int_equal(loaded.call.state, CALL_STORED_WAITING);
        assert_int_equal(loaded.ask_count, 1);
        char inner[ID_LEN + 1], question[ID_LEN + 1];
        snprintf(inner, sizeof(inner), STR_FMT, STR_ARG(loaded.asks[0].id));
        loaded_forget(&loaded);
        load(inner); /* it was begun by itself, also if nobody had begun it before */
        if (loaded.status != NOD_OK || loaded.call.state != CALL_STORED_WAITING ||
            loaded.ask_count != 1)
            fail_msg("killed after %d turns: the inner call is %d %d", turns, loaded.status,
                     loaded.call.state);
        assert_int_equal(does.runs, 1);
        snprintf(question, sizeof(question), STR_FMT, STR_ARG(loaded.asks[0].id));
        loaded_forget(&loaded);
        world_answer(&world, question, ASK_ACCEPTED, "{\"n\":1}", "ann", 1);
        for (int i = 0; i < 60; i++)
            world_advance(&world, 500);
        load(call_name);
        if (loaded.call.state != CALL_STORED_FINISHED)
            fail_msg("killed after %d turns: the outer call is %d", turns, loaded.call.state);
    }
    loaded_forget(&loaded);
    finish_both();
    return false;
}

static void no_beginning_and_no_end_is_lost_if_nobody_comes_back(void **state)
{
    (void)state;
    int turns = 0;

    while (!dies_alone_after(turns))
        assert_true(++turns < 200);
}

static nod_status steps_once(struct run *run, struct str *body)
{
    nod_status status = world_step(run, &world, "deed", true);

    return status == NOD_OK ? asks(run, body) : status;
}

static void what_may_be_done_once_is_not_done_twice(void **state)
{
    (void)state;
    bool over = false;
    int unknown = 0;

    for (int turns = 0; !over; turns++) {
        assert_true(turns < 200);
        struct world_caller *outer = begin_to_die(steps_once, false);
        over = !goes_on_for(turns);
        if (over) {
            ended_right(outer, "alive", turns);
            finish();
            break;
        }
        die();
        fake_clock_advance(&world.clock, 60000);
        struct world_caller *again = caller_held();
        come_for(again, call_name);
        recover();
        for (int i = 0; i < 40 && !again->finished && returning.as != BACK_UNKNOWN; i++) {
            if (world_up(&world))
                accepts_it();
            else
                world_advance(&world, 500);
        }
        if (strstr(again->body, "OUTCOME_UNKNOWN"))
            unknown++;
        else if (returning.as != BACK_UNKNOWN)
            ended_right(again, "killed", turns);
        assert_true(world.steps_done <= 1);
        finish_both();
    }
    assert_true(unknown > 0);
}

/* --- the inner tool changes, or goes, while no process lives --- */

/*
 * A store in memory keeps no versions of calls, and no nodes, because it goes with its process. So
 * this one says which version the calls of `inner` began with, and which node has opened one, as
 * stores that outlive a process do.
 */
static int64_t began_with;
static char opened_at[64]; /* empty: nobody is asked for it */

static struct told_on {
    store_done *done;
    store_row_fn *row;
    void *data;
} told_on[1024];
static size_t told_count;

static struct told_on *tell_on(store_done *done, store_row_fn *row, void *data)
{
    struct told_on *on = &told_on[told_count++ % 1024];

    *on = (struct told_on){ .done = done, .row = row, .data = data };
    return on;
}

static struct call_record versioned(const struct call_record *record)
{
    struct call_record call = *record;

    if (str_eq(call.target, STR("inner")))
        call.version = began_with;
    if (opened_at[0] && call.state == CALL_STORED_RUNNING)
        call.node = str_of(opened_at);
    return call;
}

static void told_version(void *data, nod_status status, const struct store_reply *reply)
{
    struct told_on *on = data;
    struct store_reply told = reply ? *reply : (struct store_reply){ 0 };
    struct call_record call;

    if (told.call) {
        call = versioned(told.call);
        told.call = &call;
    }
    on->done(on->data, status, reply ? &told : NULL);
}

static void row_version(void *data, const struct store_row *row)
{
    struct told_on *on = data;
    struct store_row shown = *row;
    struct call_record call;

    if (row->call) {
        call = versioned(row->call);
        shown.call = &call;
    }
    on->row(on->data, &shown);
}

static const struct store_ops *unversioned;

static void v_claim(struct store *store, const struct claim_spec *spec, store_done *done,
                    void *data)
{
    unversioned->claim(store, spec, told_version, tell_on(done, NULL, data));
}

static void v_take(struct store *store, const struct take_spec *spec, store_done *done, void *data)
{
    unversioned->take(store, spec, told_version, tell_on(done, NULL, data));
}

static void v_load_call(struct store *store, struct str call_id, store_done *done, void *data)
{
    unversioned->load_call(store, call_id, told_version, tell_on(done, NULL, data));
}

static void v_load_with_asks(struct store *store, struct str call_id, size_t most,
                             store_row_fn *row, store_done *done, void *data)
{
    unversioned->load_with_asks(store, call_id, most, row_version, told_version,
                                tell_on(done, row, data));
}

static void v_scan(struct store *store, const struct store_scan *spec, store_row_fn *row,
                   store_done *done, void *data)
{
    unversioned->scan(store, spec, row_version, told_version, tell_on(done, row, data));
}

static void v_append(struct store *store, const struct append_spec *spec, store_done *done,
                     void *data)
{
    if (spec->open)
        snprintf(opened_at, sizeof(opened_at), STR_FMT, STR_ARG(spec->node));
    unversioned->append(store, spec, done, data);
}

static void keep_versions(void)
{
    static struct store_ops before;

    before = ops;
    unversioned = &before;
    ops.claim = v_claim;
    ops.take = v_take;
    ops.load_call = v_load_call;
    ops.scan = v_scan;
    if (ops.load_with_asks)
        ops.load_with_asks = v_load_with_asks;
}

static int ran_as[3]; /* runs of each version of inner */

static nod_status asks_as(struct run *run, struct str *body)
{
    ran_as[run->target->version[0]]++;
    return asks(run, body);
}

enum meanwhile { IT_CHANGES, IT_GOES };

/* 1: it had ended before. */
static bool changes_after(int turns, enum meanwhile what, bool comes_back, int *ended)
{
    tools[1].version[0] = 0;
    memset(ran_as, 0, sizeof(ran_as));
    begin_with(asks_as, true);
    keep_versions();
    engine_ask_ttl(world.engine, 3600000);
    adopted = 0;
    tool("inner")->version[0] = 1;
    began_with = target_version(tool("inner"));
    struct world_caller *outer = caller_held();
    recover();
    world_settle(&world);
    engine_call(world.engine, &(struct call_spec){ .target = tool("outer"),
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller_record = STR("{\"who\":1}"),
                                                   .handed = true,
                                                   .caller = &outer->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(outer->caller.call)));
    if (!goes_on_for(turns)) {
        ended_right(outer, "alive", turns);
        finish();
        return true;
    }
    die();
    if (what == IT_GOES)
        catalog_remove(catalog, tool("inner"));
    else
        tool("inner")->version[0] = 2;
    fake_clock_advance(&world.clock, 60000);
    int before = ran_as[1];
    struct world_caller *again = caller_held();
    if (comes_back)
        come_for(again, call_name);
    recover();
    for (int i = 0; i < 200 && !again->finished; i++) {
        if (comes_back && returning.as == BACK_UNKNOWN)
            break;
        if (world_up(&world))
            accepts_it();
        else
            world_advance(&world, 500);
    }
    if (!comes_back) {
        load(call_name);
        bool waits = loaded.status == NOD_OK && loaded.call.state == CALL_STORED_WAITING;
        loaded_forget(&loaded);
        come_for(again, call_name); /* to see what became of it */
        if (waits)                  /* for an answer that nobody gave */
            for (int i = 0; i < 60 && !again->finished; i++) {
                if (world_up(&world))
                    accepts_it();
                else
                    world_advance(&world, 500);
            }
    }
    if (returning.as != BACK_UNKNOWN) {
        const char *code = what == IT_GOES ? "TOOL_GONE" : "TOOL_CHANGED";
        if (again->finished != 1)
            fail_msg("killed after %d turns: not finished", turns);
        if (strstr(again->body, code))
            (*ended)++;
        else if (what == IT_GOES
                     ? !strstr(again->body, "accepted") && !strstr(again->body, "Unknown tool")
                     : !strstr(again->body, "accepted"))
            fail_msg("killed after %d turns: %s %s", turns, again->code, again->body);
        assert_true(!before || !ran_as[2]); /* what one version has begun, no other runs on */
        for (int i = 0; i < 20; i++)
            world_advance(&world, 500);
        assert_int_equal(engine_calls(world.engine), 0);
        assert_int_equal(engine_pending(world.engine), 0);
    }
    assert_int_equal(ran_as[1], before);
    finish_both();
    return false;
}

static void an_inner_tool_that_has_changed_or_gone_meanwhile_is_an_outcome(void **state)
{
    (void)state;
    for (int what = IT_CHANGES; what <= IT_GOES; what++) {
        for (int comes_back = 0; comes_back < 2; comes_back++) {
            int ended = 0, turns = 0;
            while (!changes_after(turns, what, comes_back, &ended))
                assert_true(++turns < 200);
            assert_true(ended > 2);
        }
    }
}

/* --- the outer call ends while the inner one is being begun --- */

enum { ORDERS = 60, ORDER_TURNS = 6 };

/* The outer call is cancelled after so many turns of the store, whose replies come in an order of
 * this seed. */
static void cancelled_while_it_begins(uint64_t seed, int turns, bool durable)
{
    begin_with(steps_then_asks, durable);
    world.seed = seed;
    if (durable)
        recover();
    world_settle(&world);
    struct world_caller *outer = caller_held();
    engine_call(world.engine, &(struct call_spec){ .target = tool("outer"),
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller_record = STR("{\"who\":1}"),
                                                   .handed = true,
                                                   .caller = &outer->caller });
    for (int i = 0; i < turns && world_turn(&world); i++)
        ;
    assert_non_null(outer->caller.call);
    call_cancel(outer->caller.call, STR("enough"));
    while (!outer->finished && world_turn(&world))
        ;
    assert_true(outer->finished);
    int runs = does.runs, steps = world.steps_done;
    world_settle(&world);
    if (does.runs != runs || world.steps_done != steps || ups())
        fail_msg("seed %d, after %d turns, durable %d: then it ran %d times, did %d steps, and %zu "
                 "questions are up",
                 (int)seed, turns, durable, does.runs - runs, world.steps_done - steps, ups());
    world_advance(&world, 4000);
    assert_int_equal(ups(), 0);
    assert_int_equal(engine_calls(world.engine), 0);
    finish();
}

static void an_inner_call_begins_no_more_after_the_end_of_its_outer_call_was_told(void **state)
{
    (void)state;
    for (int durable = 0; durable < 2; durable++)
        for (uint64_t seed = 1; seed <= ORDERS; seed++)
            for (int turns = 0; turns < ORDER_TURNS; turns++)
                cancelled_while_it_begins(seed, turns, durable);
}

/* --- the store is away, or this node sleeps, while the inner call is being begun --- */

static char inner_name[ID_LEN + 1];

/* The inner call that the outer one waits for, as the store has it. */
static void find_inner(void)
{
    load(call_name);
    assert_int_equal(loaded.status, NOD_OK);
    assert_int_equal(loaded.ask_count, 1);
    snprintf(inner_name, sizeof(inner_name), STR_FMT, STR_ARG(loaded.asks[0].id));
    loaded_forget(&loaded);
}

static void unheard(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply;
}

/* What another node does to a call. */
static void cancelled_elsewhere(const char *id)
{
    struct id token;

    id_unique(&token);
    world.store->ops->cancel(world.store, id_str(&token), str_of(id), STR("{}"), unheard, NULL);
}

static void sleeps_for(int64_t ms)
{
    fake_clock_advance(&world.clock, ms);
    cancelled_elsewhere(""); /* there is no such call; the store forgets what it may forget */
}

static void goes_on(int rounds)
{
    for (int i = 0; i < rounds; i++)
        world_advance(&world, 500);
}

static void an_inner_call_that_is_forgotten_is_not_opened_again(void **state)
{
    (void)state;
    struct world_caller *outer = begin_to_die(asks, true);

    world.fail_verb = "append"; /* it is opened, and this node does not hear so */
    world.fail_how = MEMORY_FAIL_AFTER;
    world.fail_times = 1;
    world_settle(&world);
    find_inner();
    assert_int_equal(does.runs, 0);
    cancelled_elsewhere(call_name);
    cancelled_elsewhere(inner_name);
    sleeps_for(2 * 86400000);
    world_turn(&world);
    engine_tick(world.engine);
    goes_on(40);
    assert_int_equal(does.runs, 0);
    assert_int_equal(outer->finished, 1);
    load(inner_name);
    assert_int_equal(loaded.status, NOD_E_NOT_FOUND);
    loaded_forget(&loaded);
    finish();
}

/* It has ended, and its process died before the outer call was told. */
static void the_end_of_an_inner_call_is_known_while_its_ask_may_wait(void **state)
{
    (void)state;
    begin_to_die(replies, false);
    world.fail_verb = "claim";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 1000;
    world_settle(&world);
    assert_int_equal(does.runs, 1);
    world.fail_times = 0;
    die();
    sleeps_for(4 * 3600000);
    recover();
    goes_on(40);
    load(call_name);
    assert_int_equal(loaded.call.state, CALL_STORED_FINISHED);
    assert_non_null(memmem(loaded.call.result.at, loaded.call.result.len, "done", 4));
    loaded_forget(&loaded);
    assert_int_equal(does.runs, 1);
    finish_both();
}

static size_t listed;

static void count_listed(void *data, const struct store_row *row)
{
    (void)data, (void)row;
    listed++;
}

static size_t asks_listed(void)
{
    listed = 0;
    world.store->ops->list(world.store, &(struct store_list){ .kind = STR("inner"), .limit = 9 },
                           count_listed, unheard, NULL);
    world_settle(&world);
    return listed;
}

/* Another node has seen the ask waiting, and opens its call a moment after the ask has ended. */
static void an_inner_call_that_is_opened_after_its_ask_has_ended_is_cancelled(void **state)
{
    (void)state;
    struct world_caller *outer = begin_to_die(asks, true);
    struct id token;

    world.fail_verb = "append";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 1000;
    world_settle(&world);
    find_inner();
    call_cancel(outer->caller.call, STR("enough"));
    goes_on(40);
    assert_int_equal(outer->finished, 1);
    world.fail_times = 0;
    goes_on(20);
    assert_int_equal(asks_listed(), 1);
    id_unique(&token);
    world.store->ops->append(
        world.store,
        &(struct append_spec){ .token = id_str(&token),
                               .open = &(struct call_record){ .id = str_of(inner_name),
                                                              .principal = STR("ann"),
                                                              .scope = STR("s1"),
                                                              .target = STR("inner") },
                               .node = STR("other"),
                               .call_id = str_of(inner_name),
                               .epoch = 1 },
        unheard, NULL);
    goes_on(20);
    load(inner_name);
    assert_int_equal(loaded.status, NOD_OK);
    assert_int_equal(loaded.call.state, CALL_STORED_CANCELLED);
    loaded_forget(&loaded);
    assert_int_equal(asks_listed(), 0);
    finish();
}

static void an_ask_that_is_not_begun_does_not_stay_listed(void **state)
{
    (void)state;
    struct world_caller *outer = begin_to_die(asks, true);

    world.fail_verb = "append";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 1000;
    world_settle(&world);
    assert_int_equal(asks_listed(), 1);
    call_cancel(outer->caller.call, STR("enough"));
    goes_on(140);
    assert_int_equal(asks_listed(), 0);
    finish();
}

/* The outer call is stored, and its ask is on its way for long: the store is away. */
static void an_ask_that_is_long_on_its_way_stays_listed(void **state)
{
    (void)state;
    does_first = "deed";
    begin_to_die(asks, true);
    world.fail_verb = "park";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 1000;
    world_settle(&world);
    assert_int_equal(asks_listed(), 1);
    for (int i = 0; i < 8; i++)
        world_advance(&world, 600000);
    assert_int_equal(asks_listed(), 1);
    world.fail_times = 0;
    goes_on(20);
    assert_int_equal(does.runs, 1);
    assert_int_equal(asks_listed(), 1);
    does_first = NULL;
    finish();
}

/* This node has opened it, and was not told so however often it asked. */
static void an_opening_that_was_not_heard_of_is_begun_once(void **state)
{
    (void)state;
    struct world_caller *outer = begin_to_die(asks, false);

    world.fail_verb = "append";
    world.fail_how = MEMORY_FAIL_AFTER;
    world.fail_times = ENGINE_STORE_TRIES;
    began_with = target_version(tool("inner"));
    keep_versions();
    ops.append = v_append;
    goes_on(10);
    assert_int_equal(world.fail_times, 0);
    goes_on(10);
    assert_int_equal(does.runs, 1);
    assert_int_equal(ups(), 1);
    accepts_it();
    ended_right(outer, "not heard", 0);
    opened_at[0] = '\0';
    finish();
}

/* A request brings an answer to the question of the inner call; then something happens to it. */
static struct world_caller *brings_for(int turns, int64_t ttl_ms)
{
    begin(asks);
    does.ttl_ms = ttl_ms;
    call_of("outer", false, false);
    struct world_caller *first = world_caller_new(&world);
    first->way = CALLER_LEAVES;
    first->brings[0] =
        (struct world_brings){ .key = "#1", .action = ASK_ACCEPTED, .content = "{\"n\":1}" };
    returning = (struct returning){ .comer = { .ops = &returning_ops,
                                               .call = id_of(str_of(call_name)),
                                               .principal = STR("ann"),
                                               .asks = true },
                                    .caller = first };
    engine_return(world.engine, &returning.comer);
    for (int i = 0; i < turns; i++)
        world_turn(&world);
    return first;
}

static void nobody_is_told_of_an_answer_that_another_request_has_brought(void **state)
{
    (void)state;
    int before = 0; /* it was not yet known what became of the answer */

    for (int turns = 0; turns < 40; turns++) {
        struct world_caller *first = brings_for(turns, 0);
        struct world_caller *second = world_caller_new(&world);
        second->way = CALLER_LEAVES;
        if (first->caller.call) {
            before += !first->brings[0].told;
            call_change_caller(first->caller.call, &second->caller);
            world_settle(&world);
            assert_int_equal(second->brings[0].told, 0);
            assert_int_equal(second->finished + second->asked, 1);
        }
        finish();
    }
    assert_true(before > 2);
}

static void an_answer_comes_to_nobody_if_the_call_is_waited_for_no_longer(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ORDERS; seed++)
        for (int turns = 0; turns < 20; turns++) {
            struct world_caller *first = brings_for(turns, 100);
            world.seed = seed;
            world_advance(&world, 200);
            world.seed = 0;
            world_advance(&world, 5000);
            assert_true(first->brings[0].told <= 1);
            assert_int_equal(engine_calls(world.engine), 0);
            finish();
        }
}

SUBJECT(toy_inner)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inner_call_ends_as_the_same_tool_called_directly),
        cmocka_unit_test(a_cancelled_call_cancels_what_it_waits_for),
        cmocka_unit_test(an_inner_call_begins_no_more_after_the_end_of_its_outer_call_was_told),
        cmocka_unit_test(a_call_that_was_waited_for_long_enough_is_cancelled),
        cmocka_unit_test(an_unknown_tool_is_an_outcome),
        cmocka_unit_test(a_tool_that_is_not_listed_to_the_caller_is_unknown),
        cmocka_unit_test(a_circle_is_named),
        cmocka_unit_test(calls_are_as_deep_as_they_may_be_and_no_deeper),
        cmocka_unit_test(a_result_that_is_too_large_says_so),
        cmocka_unit_test(a_tool_that_is_removed_while_its_call_waits_is_an_outcome),
        cmocka_unit_test(a_limit_of_questions_is_an_outcome),
        cmocka_unit_test(a_limit_of_live_calls_is_an_outcome),
        cmocka_unit_test(as_many_inner_calls_come_at_a_time_as_calls_may_be_live),
        cmocka_unit_test(a_question_names_both_tools),
        cmocka_unit_test(the_clock_of_the_outer_call_stands_still),
        cmocka_unit_test(only_what_people_are_asked_is_counted_as_a_question),
        cmocka_unit_test(a_call_of_another_tool_asks_nobody),
        cmocka_unit_test(a_question_of_a_destructive_inner_tool_is_consent),
        cmocka_unit_test(a_harmless_outer_tool_does_not_launder_a_destructive_one),
        cmocka_unit_test(a_remembered_approval_answers_the_inner_gate),
        cmocka_unit_test(the_progress_of_an_inner_call_is_told_unless_the_outer_one_counts),
        cmocka_unit_test(the_questions_of_both_come_in_one_round),
        cmocka_unit_test(an_answer_that_does_not_fit_is_brought_once),
        cmocka_unit_test(what_the_inner_call_asks_next_comes_in_the_next_round),
        cmocka_unit_test(whoever_comes_back_is_asked_what_the_inner_call_asks),
        cmocka_unit_test(whoever_comes_with_the_inner_call_is_led_to_the_outer_one),
        cmocka_unit_test(killed_after_any_turn_it_ends_right),
        cmocka_unit_test(no_beginning_and_no_end_is_lost_if_nobody_comes_back),
        cmocka_unit_test(what_may_be_done_once_is_not_done_twice),
        cmocka_unit_test(an_inner_tool_that_has_changed_or_gone_meanwhile_is_an_outcome),
        cmocka_unit_test(an_inner_call_that_is_forgotten_is_not_opened_again),
        cmocka_unit_test(the_end_of_an_inner_call_is_known_while_its_ask_may_wait),
        cmocka_unit_test(an_inner_call_that_is_opened_after_its_ask_has_ended_is_cancelled),
        cmocka_unit_test(an_ask_that_is_not_begun_does_not_stay_listed),
        cmocka_unit_test(an_ask_that_is_long_on_its_way_stays_listed),
        cmocka_unit_test(an_opening_that_was_not_heard_of_is_begun_once),
        cmocka_unit_test(nobody_is_told_of_an_answer_that_another_request_has_brought),
        cmocka_unit_test(an_answer_comes_to_nobody_if_the_call_is_waited_for_no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
