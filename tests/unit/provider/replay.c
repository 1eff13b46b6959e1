/* tests/unit/provider/replay: what the replay check finds, what it lets through, and effects
 * outside of steps that are found without it. */
#include "core/inside.h"
#include "handler_bench.h"
#include "../runner.h"

#include <unistd.h>

static int setup_checked(void **state)
{
    (void)state;
    bench_open(true);
    return 0;
}

static int counter, effects;

static nod_status effect(nod_step_run *step, void *arg)
{
    nod_call *call = nod_step_call(step);

    (void)arg;
    effects++;
    nod_step_result(step, nod_json_int(call, effects));
    return NOD_OK;
}

/* --- replies --- */

static nod_status counts_outside(nod_call *call)
{
    NOD_TRY(nod_step(call, "first", effect, NULL, NULL));
    return nod_reply_textf(call, "This is visit number %d", ++counter);
}

static void a_reply_that_changes_is_found_and_both_are_shown(void **state)
{
    (void)state;
    counter = 0;
    bench_call(counts_outside, "{}");
    expect_failure(NOD_E_NOT_DETERMINISTIC, "its reply was \"This is");
    expect_failure(NOD_E_NOT_DETERMINISTIC, "visit number 1");
    expect_failure(NOD_E_NOT_DETERMINISTIC, "visit number 2");
    assert_string_equal(b.code, "NOT_DETERMINISTIC");
}

static nod_status large(nod_step_run *step, void *arg)
{
    nod_call *call = nod_step_call(step);
    char *text = nod_alloc(call, 300000);

    (void)arg;
    memset(text, 'x', 299999);
    nod_step_result(step, nod_json_str(call, text));
    return NOD_OK;
}

static nod_status learns_too_much(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Learn it?"));
    NOD_TRY(nod_step(call, "large", large, NULL, NULL));
    return nod_reply_text(call, "learned");
}

static void a_run_that_ends_at_a_limit_is_not_said_to_differ(void **state)
{
    (void)state;
    bench_call(learns_too_much, "{}");
    bench_answer(ASK_ACCEPTED, NULL);
    expect_failure(NOD_E_LIMIT, "for the result of a step");
}

static char path[64];

static nod_status deletes_outside(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Delete it?"));
    return nod_reply_text(call, unlink(path) == 0 ? "deleted" : "there was no such file");
}

static void an_effect_outside_of_a_step_is_found_by_what_it_leaves(void **state)
{
    int file;

    (void)state;
    snprintf(path, sizeof(path), "/tmp/nod-replay-XXXXXX");
    file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    bench_call(deletes_outside, "{}");
    bench_answer(ASK_ACCEPTED, NULL);
    expect_failure(NOD_E_NOT_DETERMINISTIC, "there was no such file");
}

/* --- questions --- */

static nod_status asks_differently(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = nod_fmt(call, "Pay %d?", ++counter), .key = "pay"));
    return nod_reply_text(call, "paid");
}

static nod_status asks_now_and_then(nod_call *call)
{
    bool yes = true;

    if (++counter % 2)
        NOD_TRY(nod_confirm(call, &yes, .message = "Pay?", .key = "pay"));
    return nod_reply_text(call, "paid");
}

static void a_question_that_changes_is_found_before_anybody_is_asked(void **state)
{
    (void)state;
    counter = 0;
    bench_call(asks_differently, "{}");
    expect_failure(NOD_E_NOT_DETERMINISTIC,
                   "the question under the key 'pay' was \"Pay 1?\", then \"Pay 2?\"");
    counter = 0;
    bench_call(asks_now_and_then, "{}");
    expect_failure(NOD_E_NOT_DETERMINISTIC, "asked under the key 'pay' in one of two runs only");
    assert_int_equal(b.ask_count, 0);
}

static nod_status looks_now_and_then(nod_call *call)
{
    bool yes = true;

    if (++counter != 4) /* the second run with the answer */
        NOD_TRY(nod_confirm(call, &yes, .message = "Pay?", .key = "pay"));
    return nod_reply_text(call, "paid");
}

static void an_answer_that_only_one_run_looks_at_is_found(void **state)
{
    (void)state;
    counter = 0;
    bench_call(looks_now_and_then, "{}");
    bench_answer(ASK_ACCEPTED, NULL);
    expect_failure(NOD_E_NOT_DETERMINISTIC, "came by the key 'pay' in one of two runs only");
}

static nod_status steps_differently(nod_call *call)
{
    NOD_TRY(nod_step(call, nod_key(call, "step-%d", ++counter), effect, NULL, NULL));
    return nod_reply_text(call, "done");
}

static nod_status ends_differently(nod_call *call)
{
    NOD_TRY(nod_step(call, "first", effect, NULL, NULL));
    return ++counter % 2 ? nod_reply_text(call, "done") : NOD_E_IO;
}

static void steps_and_ends_that_change_are_found(void **state)
{
    (void)state;
    counter = 0;
    bench_call(steps_differently, "{}");
    expect_failure(NOD_E_NOT_DETERMINISTIC,
                   "the last step that it came to was \"step-1\", then \"step-2\"");
    counter = 0;
    bench_call(ends_differently, "{}");
    expect_failure(NOD_E_NOT_DETERMINISTIC, "it ended in \"ok\", then in \"i/o error\"");
}

/* --- what is fine --- */

static nod_status runs_once(nod_call *call)
{
    return nod_reply_textf(call, "visit %d", ++counter);
}

static void a_handler_that_asks_nothing_and_has_no_step_runs_once(void **state)
{
    (void)state;
    counter = 0;
    bench_call(runs_once, "{}");
    expect_body(TEXT_BODY("visit 1"));
    assert_int_equal(counter, 1);
}

static nod_status well_behaved(nod_call *call)
{
    const nod_json *result;
    nod_answer answer;
    int64_t ms;
    uint64_t bits;

    NOD_TRY(nod_now(call, &ms));
    NOD_TRY(nod_random(call, &bits));
    NOD_TRY(nod_step(call, "first", effect, NULL, &result));
    NOD_TRY(
        nod_elicit(call, &answer,
                   .message = nod_fmt(call, "%lld %llu %lld?", (long long)ms,
                                      (unsigned long long)bits, (long long)nod_as_int(result))));
    NOD_TRY(nod_step(call, "second", effect, NULL, &result, .at_most_once = true));
    nod_progress(call, 1, 1, "done");
    return nod_reply_textf(call, "%lld", (long long)nod_as_int(result));
}

static void a_handler_that_keeps_the_rules_passes_and_its_steps_are_done_once(void **state)
{
    (void)state;
    effects = 0;
    bench_call(well_behaved, "{}");
    bench_answer(ASK_ACCEPTED, "{\"response\":\"\"}");
    expect_body(TEXT_BODY("2"));
    assert_int_equal(effects, 2);
    assert_string_equal(b.notices, "progress 1/1 done\n");
}

static nod_status asks_for_a_code(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Which area?",
                       .form = NOD_FORM(NOD_TEXT("access_token"))));
    return nod_reply_text(call, "asked");
}

static void a_field_that_the_operator_allows_is_allowed_in_both_runs(void **state)
{
    static const char *const allowed[] = { "asks.access_token", NULL };

    (void)state;
    b.engine->opts.allow_fields = allowed;
    bench_add("asks", asks_for_a_code, NULL);
    bench_start(catalog_find(b.catalog, TARGET_TOOL, STR("asks")), "{}", NULL);
    bench_turn(false);
    assert_int_equal(b.ask_count, 1);
    bench_answer(ASK_ACCEPTED, "{}");
    expect_body(TEXT_BODY("asked"));
}

/* --- the function of a step, called by the handler --- */

static nod_status calls_it_itself(nod_call *call)
{
    NOD_TRY(effect(NULL, NULL));
    return nod_reply_text(call, "done");
}

static nod_step_run *kept;

static nod_status keeps_its_step(nod_step_run *step, void *arg)
{
    (void)arg;
    kept = step;
    return NOD_OK;
}

static nod_status uses_a_step_that_is_over(nod_call *call)
{
    nod_status status = nod_step(call, "keep", keeps_its_step, NULL, NULL);

    if (status != NOD_OK)
        return status;
    if (nod_step_key(kept)[0] != '\0' || nod_step_answer(kept))
        return nod_reply_text(call, "it has a key");
    return nod_reply_text(call, "done");
}

static void the_function_of_a_step_outside_of_one_is_a_mistake(void **state)
{
    (void)state;
    bench_call(calls_it_itself, "{}");
    expect_failure(NOD_E_USAGE, "calls the function of a step itself");
    expect_failure(NOD_E_USAGE, "Give it to nod_step");
    assert_string_equal(b.code, "HANDLER_BUG");
    bench_call(uses_a_step_that_is_over, "{}");
    expect_failure(NOD_E_USAGE, "calls the function of a step itself (nod_step_key");
    bench_call_as(calls_it_itself, "{}", &(nod_tool){ .blocking = true });
    bench_turn(true);
    expect_failure(NOD_E_USAGE, "calls the function of a step itself");
}

SUBJECT(replay)
{
#define T(test)       cmocka_unit_test_setup_teardown(test, setup_checked, bench_teardown)
#define WITHOUT(test) cmocka_unit_test_setup_teardown(test, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        T(a_reply_that_changes_is_found_and_both_are_shown),
        T(a_run_that_ends_at_a_limit_is_not_said_to_differ),
        T(an_effect_outside_of_a_step_is_found_by_what_it_leaves),
        T(a_question_that_changes_is_found_before_anybody_is_asked),
        T(an_answer_that_only_one_run_looks_at_is_found),
        T(steps_and_ends_that_change_are_found),
        T(a_handler_that_asks_nothing_and_has_no_step_runs_once),
        T(a_handler_that_keeps_the_rules_passes_and_its_steps_are_done_once),
        T(a_field_that_the_operator_allows_is_allowed_in_both_runs),
        T(the_function_of_a_step_outside_of_one_is_a_mistake),
        WITHOUT(the_function_of_a_step_outside_of_one_is_a_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
