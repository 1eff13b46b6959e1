/* tests/unit/provider/blocking: handlers that may block, on the pool. Also run with the thread
 * sanitizer. */
#include <semaphore.h>

#include "handler_bench.h"
#include "../runner.h"

static const nod_tool blocking = { .input_schema = "{\"type\":\"object\"}",
                                   .blocking = true,
                                   .timeout_ms = 1000 };
static sem_t began, go_on;

static int setup(void **state)
{
    sem_init(&began, 0, 0);
    sem_init(&go_on, 0, 0);
    return bench_setup(state);
}

static int teardown(void **state)
{
    int failed = bench_teardown(state);

    sem_destroy(&began);
    sem_destroy(&go_on);
    return failed;
}

static nod_status effect(nod_step_run *step, void *arg)
{
    (void)arg;
    nod_step_result(step, nod_json_str(nod_step_call(step), "done"));
    return NOD_OK;
}

static nod_status works_and_asks(nod_call *call)
{
    const nod_json *result;
    bool yes;

    for (int i = 1; i <= 20; i++)
        nod_progress(call, i, 20, NULL);
    NOD_TRY(nod_step(call, "s", effect, NULL, &result));
    NOD_TRY(nod_confirm(call, &yes, .message = "Go on?"));
    nod_log(call, NOD_LOG_INFO, NULL, "%s", "last");
    return nod_reply_textf(call, "%s %d %s", nod_as_str(result), yes, nod_principal(call));
}

static void a_blocking_handler_asks_like_any_other_and_its_notices_come_in_order(void **state)
{
    char expected[BENCH_TEXT] = "";
    (void)state;

    bench_call_as(works_and_asks, "{}", &blocking);
    assert_int_equal(b.ask_count, 1);
    bench_answer_at(0, ASK_ACCEPTED, "{}");
    bench_turn(true);
    expect_body(TEXT_BODY("done 1 ada"));
    for (int i = 1; i <= 20; i++)
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
                 "progress %d/20 \n", i);
    strncat(expected, "log 1  last\n", sizeof(expected) - strlen(expected) - 1);
    assert_string_equal(b.notices, expected);
}

static atomic_bool saw_cancel;

static nod_status stuck(nod_call *call)
{
    sem_post(&began);
    while (sem_wait(&go_on) != 0)
        ;
    atomic_store(&saw_cancel, nod_cancelled(call));
    nod_progress(call, 1, 1, "too late");
    return nod_reply_text(call, "too late");
}

static nod_status quick(nod_call *call)
{
    return nod_reply_text(call, "quick");
}

static void until_unstuck(void)
{
    while (workers_stuck(local_workers(b.local)))
        loop_turn(b.loop, 10);
    loop_turn(b.loop, 0);
}

static void a_handler_that_outlives_its_timeout_is_answered_for_and_the_pool_stays_usable(
    void **state)
{
    (void)state;
    atomic_store(&saw_cancel, false);
    bench_add("stuck", stuck, &blocking);
    for (int i = 0; i < 3; i++) { /* one more than the pool has threads */
        bench_start(catalog_find(b.catalog, TARGET_TOOL, STR("stuck")), "{}", NULL);
        sem_wait(&began);
        fake_clock_advance(&b.clock, 1001);
        bench_turn(true);
        expect_failure(NOD_E_TIMEOUT, "did not finish within 1000 ms");
    }
    assert_int_equal(workers_stuck(local_workers(b.local)), 3);
    bench_call_as(quick, "{}", &blocking);
    expect_body(TEXT_BODY("quick"));

    for (int i = 0; i < 3; i++)
        sem_post(&go_on);
    until_unstuck();
    assert_true(atomic_load(&saw_cancel));
    assert_null(strstr(b.notices, "too late"));
}

static void a_cancelled_call_does_not_wait_for_its_handler(void **state)
{
    (void)state;
    bench_add("stuck", stuck, &blocking);
    bench_start(catalog_find(b.catalog, TARGET_TOOL, STR("stuck")), "{}", NULL);
    sem_wait(&began);
    call_cancel(b.caller.call, STR("changed my mind"));
    bench_turn(true);
    assert_true(b.finished);
    assert_int_equal(b.status, NOD_E_CANCELLED);
    sem_post(&go_on);
    until_unstuck();
}

static void a_tool_that_was_removed_stays_until_its_handler_has_come_back(void **state)
{
    (void)state;
    bench_add("stuck", stuck, &blocking);
    bench_start(catalog_find(b.catalog, TARGET_TOOL, STR("stuck")), "{}", NULL);
    sem_wait(&began);
    assert_true(local_remove_tool(b.local, STR("stuck")));
    assert_false(local_remove_tool(b.local, STR("stuck")));
    call_cancel(b.caller.call, STR("gone"));
    bench_turn(true);
    assert_true(b.finished);
    sem_post(&go_on); /* reads its target's memory: the sanitizers would say */
    until_unstuck();
}

SUBJECT(blocking)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_blocking_handler_asks_like_any_other_and_its_notices_come_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_handler_that_outlives_its_timeout_is_answered_for_and_the_pool_stays_usable, setup,
            teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_call_does_not_wait_for_its_handler, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_tool_that_was_removed_stays_until_its_handler_has_come_back, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
