/* tests/unit/provider/loops: handlers that do the same for many things, and what may go wrong. */
#include "handler_bench.h"

enum { ITEMS = 3 };

static int effects;

static nod_status charge(nod_step_run *step, void *arg)
{
    (void)step, (void)arg;
    effects++;
    return NOD_OK;
}

static nod_status fails(nod_step_run *step, void *arg)
{
    (void)step, (void)arg;
    effects++;
    return NOD_E_FAILED;
}

/* --- keys --- */

static nod_status charges_under_one_key(nod_call *call)
{
    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_step(call, "charge", charge, NULL, NULL));
    return nod_reply_text(call, "all charged");
}

static void a_step_in_a_loop_needs_a_key_for_each_turn(void **state)
{
    (void)state;
    effects = 0;
    bench_call(charges_under_one_key, "{}");
    expect_failure(NOD_E_USAGE, "uses the key 'charge' for two steps in one run");
    expect_failure(NOD_E_USAGE, "nod_key(call, \"charge-%d\", i)");
    assert_string_equal(b.code, "HANDLER_BUG");
    assert_int_equal(effects, 1);
}

static nod_status asks_under_one_key(nod_call *call)
{
    int yes_count = 0;

    for (int i = 0; i < ITEMS; i++) {
        bool yes;
        NOD_TRY(nod_confirm(call, &yes, .key = "sure", .message = "Sure?"));
        yes_count += yes;
    }
    return nod_reply_textf(call, "%d times yes", yes_count);
}

static void one_yes_does_not_count_three_times(void **state)
{
    (void)state;
    bench_call(asks_under_one_key, "{}");
    bench_answer(ASK_ACCEPTED, NULL);
    expect_failure(NOD_E_USAGE, "uses the key 'sure' for two questions in one run");
    assert_string_equal(b.code, "HANDLER_BUG");
}

static nod_status asks_another_under_one_key(nod_call *call)
{
    nod_answer answer;

    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_elicit(call, &answer, .key = "name", .message = nod_fmt(call, "Name %d?", i)));
    return nod_reply_text(call, "done");
}

static void another_question_under_the_key_is_told_as_the_same_mistake(void **state)
{
    (void)state;
    bench_call(asks_another_under_one_key, "{}");
    bench_answer(ASK_ACCEPTED, "{\"response\":\"Ada\"}");
    expect_failure(NOD_E_USAGE, "uses the key 'name' for two questions");
}

static nod_status wants_under_one_key(nod_call *call)
{
    nod_answer answers[ITEMS];

    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_want(call, &answers[i], .key = "name", .message = "Name?"));
    NOD_TRY(nod_await(call));
    return nod_reply_text(call, "done");
}

static nod_status wants_then_elicits(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_want(call, &answer, .key = "name", .message = "Name?"));
    NOD_TRY(nod_elicit(call, &answer, .key = "name", .message = "Name?"));
    NOD_TRY(nod_await(call));
    return nod_reply_text(call, "done");
}

static void a_round_with_a_key_twice_is_refused_before_anybody_is_asked(void **state)
{
    (void)state;
    bench_call(wants_under_one_key, "{}");
    expect_failure(NOD_E_USAGE, "uses the key 'name' for two questions");
    assert_int_equal(b.ask_count, 0);
    bench_call(wants_then_elicits, "{}");
    expect_failure(NOD_E_USAGE, "uses the key 'name' for two questions");
    assert_int_equal(b.ask_count, 0);
}

static nod_status goes_on_regardless(nod_call *call)
{
    for (int i = 0; i < ITEMS; i++)
        (void)!nod_step(call, "charge", charge, NULL, NULL);
    (void)!nod_step(call, "other", charge, NULL, NULL);
    return nod_reply_text(call, "done");
}

static void after_the_mistake_nothing_more_is_done(void **state)
{
    (void)state;
    effects = 0;
    bench_call(goes_on_regardless, "{}");
    expect_failure(NOD_E_USAGE, "'charge'");
    assert_int_equal(effects, 1);
}

static nod_status tries_again(nod_call *call)
{
    for (int i = 0; i < ITEMS; i++) {
        nod_status status = nod_step(call, "charge", fails, NULL, NULL);
        if (status != NOD_E_FAILED)
            return status;
    }
    return nod_reply_text(call, "in vain");
}

static void a_failed_step_is_tried_again_under_another_key(void **state)
{
    (void)state;
    effects = 0;
    bench_call(tries_again, "{}");
    expect_failure(NOD_E_USAGE, "'charge'");
    assert_int_equal(effects, 1);
}

static nod_status with_an_index(nod_call *call)
{
    nod_answer answers[ITEMS];
    int done = 0;

    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_want(call, &answers[i], .key = nod_key(call, "card-%d", i),
                         .message = nod_fmt(call, "Charge card %d?", i),
                         .form = NOD_FORM(NOD_BOOL("ok"))));
    NOD_TRY(nod_await(call));
    for (int i = 0; i < ITEMS; i++) {
        if (!nod_get_bool(answers[i].content, "ok"))
            continue;
        /* A question and its step may have the same key. */
        NOD_TRY(nod_step(call, nod_key(call, "card-%d", i), charge, NULL, NULL,
                         .at_most_once = i == 0));
        done++;
    }
    return nod_reply_textf(call, "%d charged", done);
}

static void keys_with_an_index_are_different_keys(void **state)
{
    (void)state;
    effects = 0;
    bench_call(with_an_index, "{}");
    assert_int_equal(b.ask_count, ITEMS);
    assert_string_equal(b.asks[2].key, "card-2");
    bench_answer_at(0, ASK_ACCEPTED, "{\"ok\":true}");
    bench_answer_at(1, ASK_ACCEPTED, "{\"ok\":false}");
    bench_answer_at(2, ASK_ACCEPTED, "{\"ok\":true}");
    bench_turn(false);
    expect_body(TEXT_BODY("2 charged"));
    assert_int_equal(effects, 2);
}

static void a_blocking_handler_and_the_replay_check_have_the_same_rule(void **state)
{
    (void)state;
    bench_teardown(NULL);
    bench_open(true);
    effects = 0;
    bench_call(with_an_index, "{}");
    for (size_t i = 0; i < ITEMS; i++)
        bench_answer_at(i, ASK_ACCEPTED, "{\"ok\":true}");
    bench_turn(false);
    expect_body(TEXT_BODY("3 charged"));
    assert_int_equal(effects, ITEMS);

    effects = 0;
    bench_call_as(charges_under_one_key, "{}", &(nod_tool){ .blocking = true });
    bench_turn(true);
    expect_failure(NOD_E_USAGE, "uses the key 'charge' for two steps");
    assert_int_equal(effects, 1);
}

static nod_status empty_key(nod_call *call)
{
    return nod_step(call, nod_key(call, "%s", ""), charge, NULL, NULL);
}

static void a_key_that_comes_out_empty_is_a_mistake(void **state)
{
    (void)state;
    bench_call(empty_key, "{}");
    expect_failure(NOD_E_USAGE, "an empty key");
}

static nod_status numbered(nod_call *call)
{
    nod_answer answer;

    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_elicit(call, &answer, .message = "Name?"));
    return nod_reply_text(call, "asked");
}

static void questions_without_a_key_are_numbered(void **state)
{
    (void)state;
    bench_call(numbered, "{}");
    for (int i = 0; i < ITEMS; i++)
        bench_answer(ASK_ACCEPTED, "{\"response\":\"Ada\"}");
    expect_body(TEXT_BODY("asked"));
    assert_int_equal(b.ask_count, ITEMS);
}

/* --- hooks --- */

static nod_status confirms_twice(nod_hook_run *hook, void *data)
{
    nod_call *call = nod_hook_call(hook);
    bool yes;

    (void)data;
    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_confirm(call, &yes, .message = "Sure?", .key = "sure"));
    return NOD_OK;
}

static nod_status confirms(nod_hook_run *hook, void *data)
{
    bool yes;

    (void)data;
    NOD_TRY(nod_confirm(nod_hook_call(hook), &yes, .message = "Sure?", .key = "sure"));
    return yes ? NOD_OK : nod_hook_fail(hook, NOD_E_REFUSED, NULL, "Not sure.");
}

static nod_status echo(nod_call *call)
{
    return nod_reply_text(call, "done");
}

static void add_hook(const char *name, nod_hook_fn *fn, const char *target)
{
    assert_int_equal(local_add_hook(b.local, b.engine,
                                    &(struct nod_hook_opts){ .size = sizeof(struct nod_hook_opts),
                                                             .flow = NOD_FLOW_CALL,
                                                             .stage = "gate",
                                                             .fn = fn,
                                                             .name = name,
                                                             .target = target }),
                     NOD_OK);
}

static void a_hook_has_the_same_rule(void **state)
{
    (void)state;
    add_hook("sure", confirms_twice, NULL);
    bench_call(echo, "{}");
    bench_answer(ASK_ACCEPTED, NULL);
    expect_failure(NOD_E_USAGE, "A hook of the tool");
    expect_failure(NOD_E_USAGE, "uses the key 'sure' for two questions");
}

static void two_hooks_of_one_name_do_not_share_a_yes(void **state)
{
    (void)state;
    add_hook("sure", confirms, NULL);
    add_hook("sure", confirms, "no-such-tool"); /* it is never called for this one */
    bench_call(echo, "{}");
    bench_answer(ASK_ACCEPTED, NULL);
    expect_body(TEXT_BODY("done"));

    add_hook("sure", confirms, NULL);
    bench_call(echo, "{}");
    expect_failure(NOD_E_USAGE, "a hook whose .name");
    assert_int_equal(b.ask_count, 0);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        T(a_step_in_a_loop_needs_a_key_for_each_turn),
        T(one_yes_does_not_count_three_times),
        T(another_question_under_the_key_is_told_as_the_same_mistake),
        T(a_round_with_a_key_twice_is_refused_before_anybody_is_asked),
        T(after_the_mistake_nothing_more_is_done),
        T(a_failed_step_is_tried_again_under_another_key),
        T(keys_with_an_index_are_different_keys),
        T(a_blocking_handler_and_the_replay_check_have_the_same_rule),
        T(a_key_that_comes_out_empty_is_a_mistake),
        T(questions_without_a_key_are_numbered),
        T(a_hook_has_the_same_rule),
        T(two_hooks_of_one_name_do_not_share_a_yes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
