/*
 * tests/toys/inner: how a call ends that another call waits for.
 *
 * Each end is compared with that of the same tool called directly. The outer call is ended in every
 * way, and whoever is asked is asked by the rules of both tools. The provider is in inner.h.
 */
#include "core/inside.h"
#include "inner_dying.h"

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

static const char *const nested[] = { "inner", "outer", "around" };
enum { NESTED = sizeof(nested) / sizeof(nested[0]) };

static void refused_as_withdrawn(const char *ask_id, int runs)
{
    world_answer(&world, ask_id, ASK_ACCEPTED, "{\"n\":1}", "ann", 1);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_int_equal(world.last.state, ASK_WITHDRAWN);
    assert_int_equal(does.runs, runs);
}

static void an_answer_after_a_cancel_does_not_count(void **state)
{
    char ask_id[ID_LEN + 1];

    (void)state;
    for (size_t i = 0; i < NESTED; i++) {
        begin(asks);
        tool("around");
        struct world_caller *caller = call(nested[i]);
        memcpy(ask_id, world_up(&world)->id, sizeof(ask_id));
        int runs = does.runs;
        call_cancel(caller->caller.call, STR("enough"));
        refused_as_withdrawn(ask_id, runs); /* before the store has said anything */
        assert_string_equal(caller->code, "CANCELLED");
        assert_int_equal(ups(), 0);
        finish();
    }
}

static void cancel_accepted(void *data, nod_status status)
{
    assert_int_equal(status, NOD_OK);
    *(bool *)data = true;
}

/* Live here, or only in the store. */
static void once_a_cancel_is_accepted_nothing_inside_can_be_answered(void **state)
{
    char ask_id[ID_LEN + 1];

    (void)state;
    for (size_t i = 0; i < NESTED; i++)
        for (int live = 0; live < 2; live++) {
            bool accepted = false;
            begin_with(asks, true);
            tool("around");
            call_of(nested[i], true, true);
            memcpy(ask_id, world_up(&world)->id, sizeof(ask_id));
            int runs = does.runs;
            if (!live) {
                engine_destroy(world.engine);
                world_engine(&world);
                engine_again();
            }
            engine_cancel(world.engine, str_of(call_name), STR("enough"), cancel_accepted,
                          &accepted);
            while (!accepted)
                assert_true(world_turn(&world));
            refused_as_withdrawn(ask_id, runs);
            finish();
        }
}

static void cancel_heard(void *data, nod_status status)
{
    *(nod_status *)data = status;
}

static void a_cancel_that_the_store_does_not_take_is_not_accepted_and_goes_on(void **state)
{
    (void)state;
    for (int live = 0; live < 2; live++) {
        nod_status told = NOD_OK;
        char ask_id[ID_LEN + 1];
        begin_with(asks, true);
        call_of("outer", true, true);
        memcpy(ask_id, world_up(&world)->id, sizeof(ask_id));
        if (!live) {
            engine_destroy(world.engine);
            world_engine(&world);
            engine_again();
        }
        world.fail_verb = "cancel";
        world.fail_how = MEMORY_FAIL_BEFORE;
        world.fail_times = 1000;
        engine_cancel(world.engine, str_of(call_name), STR("enough"), cancel_heard, &told);
        if (live) { /* whoever answers meanwhile is told so in the same time */
            world.last.status = NOD_OK;
            world_answer(&world, ask_id, ASK_ACCEPTED, "{\"n\":1}", "ann", 1);
        }
        world_advance(&world, 4000);
        assert_int_equal(told, NOD_OK);
        world_advance(&world, 2000);
        assert_int_equal(told, NOD_E_STORE);
        if (live)
            assert_int_equal(world.last.status, NOD_E_STORE);
        world.fail_times = 0;
        world_advance(&world, 4000);
        load(call_name);
        assert_int_equal(loaded.call.state, CALL_STORED_CANCELLED);
        loaded_forget(&loaded);
        finish();
    }
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

static nod_status calls_two(struct run *run, struct str *body)
{
    struct outcome one, two;

    if (str_eq(run->target->name, STR("inner")))
        return asks(run, body);
    nod_status first =
        run_call(run, &(struct run_call_spec){ .key = STR("a"), .tool = STR("nowhere") }, &one);
    nod_status second =
        run_call(run, &(struct run_call_spec){ .key = STR("b"), .tool = STR("inner") }, &two);

    if (first != NOD_OK || second != NOD_OK)
        return first != NOD_OK ? first : second;
    *body =
        arena_fmt(&run->arena, "{\"a\":%d,\"b\":" STR_FMT "}", (int)one.status, STR_ARG(two.body));
    return NOD_OK;
}

/* The caller of both is told of both ends, when the last one has come. */
static void a_call_that_fails_leaves_the_one_beside_it_alone(void **state)
{
    char expected[64];

    (void)state;
    begin(calls_two);
    struct world_caller *outer = call("pair");
    assert_int_equal(ups(), 1);
    assert_int_equal(outer->finished, 0);
    accepts_it();
    snprintf(expected, sizeof(expected), "{\"a\":%d,\"b\":{\"said\":\"accepted\"}}",
             (int)NOD_E_NOT_FOUND);
    assert_string_equal(outer->body, expected);
    finish();
}

static void a_limit_of_questions_is_an_outcome(void **state)
{
    (void)state;
    begin(asks);
    world.engine->opts.limits.pending_asks_per_principal = 1; /* the outer call has it */
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
    world.engine->opts.confirm_destructive = true;
    world.engine->consent = CONSENT_INBOX;
    outer_says("outer", "CONFIRMATION_REQUIRED");
    finish();
    begin(replies); /* the outer tool has asked nobody: the inner one does */
    tool("inner")->destructive = true;
    world.engine->opts.confirm_destructive = true;
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

SUBJECT(toy_inner)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inner_call_ends_as_the_same_tool_called_directly),
        cmocka_unit_test(a_cancelled_call_cancels_what_it_waits_for),
        cmocka_unit_test(an_answer_after_a_cancel_does_not_count),
        cmocka_unit_test(once_a_cancel_is_accepted_nothing_inside_can_be_answered),
        cmocka_unit_test(a_cancel_that_the_store_does_not_take_is_not_accepted_and_goes_on),
        cmocka_unit_test(a_call_that_was_waited_for_long_enough_is_cancelled),
        cmocka_unit_test(an_unknown_tool_is_an_outcome),
        cmocka_unit_test(a_tool_that_is_not_listed_to_the_caller_is_unknown),
        cmocka_unit_test(a_circle_is_named),
        cmocka_unit_test(calls_are_as_deep_as_they_may_be_and_no_deeper),
        cmocka_unit_test(a_result_that_is_too_large_says_so),
        cmocka_unit_test(a_tool_that_is_removed_while_its_call_waits_is_an_outcome),
        cmocka_unit_test(a_call_that_fails_leaves_the_one_beside_it_alone),
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
