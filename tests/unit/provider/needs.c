/* tests/unit/provider/needs: handlers that need a value which no journal holds, on the loop and on
 * the pool. */
#include "core/need.h"
#include "handler_bench.h"
#include "provider/handler.h"
#include "../runner.h"

static const nod_tool loop = { .input_schema = "{\"type\":\"object\"}" };
static const nod_tool pool = { .input_schema = "{\"type\":\"object\"}", .blocking = true };

static struct need *waiting;
static int fetched, dropped;
static bool at_once;

static void vault_fetch(struct need_source *source, struct need *need)
{
    (void)source;
    fetched++;
    if (at_once)
        need_done(need, NOD_OK, STR("1234"), STR_NONE);
    else
        waiting = need;
}

static void vault_dropped(struct need_source *source, struct need *need)
{
    (void)source;
    assert_ptr_equal(waiting, need);
    waiting = NULL;
    dropped++;
}

static struct need_source vault = { .name = "vault",
                                    .fetch = vault_fetch,
                                    .dropped = vault_dropped };

static int ready(void)
{
    waiting = NULL;
    fetched = dropped = 0;
    at_once = true;
    assert_true(engine_add_need_source(b.engine, &vault));
    return 0;
}

static int setup(void **state)
{
    bench_setup(state);
    return ready();
}

static int setup_checked(void **state)
{
    (void)state;
    bench_open(true);
    return ready();
}

static nod_status pin(nod_call *call, struct str *value)
{
    NOD_TRY(call_may_ask(call, "pin"));
    return call_need(call, &(struct need_spec){ .source = STR("vault"), .name = STR("pin") },
                     value);
}

static int effects;

static nod_status effect(nod_step_run *step, void *arg)
{
    (void)step;
    assert_memory_equal(((struct str *)arg)->at, "1234", 5);
    effects++;
    return NOD_OK;
}

static nod_status works(nod_call *call)
{
    struct str value;
    bool yes;

    NOD_TRY(pin(call, &value));
    NOD_TRY(nod_step(call, "effect", effect, &value, NULL));
    NOD_TRY(nod_confirm(call, &yes, .message = "Go on?"));
    return nod_reply_textf(call, "%zu", value.len);
}

static void works_on(const nod_tool *where)
{
    effects = 0;
    bench_call_as(works, "{}", where);
    assert_int_equal(b.ask_count, 1);
    assert_int_equal(effects, 1);
    bench_answer_at(0, ASK_ACCEPTED, "{}");
    bench_turn(where->blocking);
    expect_body(TEXT_BODY("4"));
    assert_int_equal(effects, 1);
}

static void a_handler_on_the_loop_is_given_it(void **state)
{
    (void)state;
    works_on(&loop);
    assert_int_equal(fetched, 3); /* for the step, the question, and the reply */
}

static void a_handler_on_the_pool_is_given_it(void **state)
{
    (void)state;
    works_on(&pool);
    assert_int_equal(fetched, 3);
}

static nod_status goes_on_without(nod_call *call)
{
    struct str value;
    bool yes;

    (void)!pin(call, &value);
    (void)!nod_step(call, "effect", effect, &value, NULL);
    (void)!nod_confirm(call, &yes, .message = "Go on?");
    return value.len ? nod_reply_text(call, "had it") : nod_reply_text(call, "had none");
}

static void a_handler_that_does_not_pass_on_that_it_is_pending_does_nothing_meanwhile(void **state)
{
    (void)state;
    at_once = false;
    effects = 0;
    bench_call_as(goes_on_without, "{}", &loop);
    assert_false(b.finished);
    assert_int_equal(effects, 0);
    assert_int_equal(b.ask_count, 0);
    need_done(waiting, NOD_OK, STR("1234"), STR_NONE);
    waiting = NULL;
    at_once = true;
    bench_turn(false);
    assert_int_equal(effects, 1);
    bench_answer(ASK_ACCEPTED, "{}");
    expect_body(TEXT_BODY("had it"));
}

static void a_cancelled_call_on_the_pool_waits_for_no_value(void **state)
{
    (void)state;
    at_once = false;
    bench_add("waits", works, &pool);
    bench_start(catalog_find(b.catalog, TARGET_TOOL, STR("waits")), "{}", NULL);
    for (int i = 0; i < BENCH_TURNS && !waiting; i++)
        loop_turn(b.loop, 10);
    assert_non_null(waiting);
    call_cancel(b.caller.call, STR("enough"));
    bench_turn(false);
    expect_failure(NOD_E_CANCELLED, "enough");
    assert_int_equal(dropped, 1);
}

static void the_replay_check_gives_both_runs_the_same(void **state)
{
    (void)state;
    works_on(&loop);
    works_on(&pool);
}

static nod_status needs_another_each_time(nod_call *call)
{
    static int number;
    struct str value;

    NOD_TRY(call_need(call,
                      &(struct need_spec){ .source = STR("vault"),
                                           .name = str_of(nod_fmt(call, "pin-%d", ++number)) },
                      &value));
    return nod_reply_text(call, "done");
}

static void the_replay_check_finds_a_handler_that_needs_another_each_time(void **state)
{
    (void)state;
    bench_call_as(needs_another_each_time, "{}", &loop);
    expect_failure(NOD_E_NOT_DETERMINISTIC,
                   "the value that it needed was \"pin-1\", then \"pin-2\"");
}

SUBJECT(needs)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_handler_on_the_loop_is_given_it, setup, bench_teardown),
        cmocka_unit_test_setup_teardown(a_handler_on_the_pool_is_given_it, setup, bench_teardown),
        cmocka_unit_test_setup_teardown(
            a_handler_that_does_not_pass_on_that_it_is_pending_does_nothing_meanwhile, setup,
            bench_teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_call_on_the_pool_waits_for_no_value, setup,
                                        bench_teardown),
        cmocka_unit_test_setup_teardown(the_replay_check_gives_both_runs_the_same, setup_checked,
                                        bench_teardown),
        cmocka_unit_test_setup_teardown(
            the_replay_check_finds_a_handler_that_needs_another_each_time, setup_checked,
            bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
