/*
 * tests/toys/inner_live: a live run waits for a call beside a question, is told of each, and may
 * take the call back or end while both wait.
 */
#include "inner.h"
#include "live.h"

static struct live_toy live;

/* What is due now happens, and all that follows from it. */
static void live_calm(void)
{
    for (int i = 0; i < 12; i++)
        world_advance(&world, 0);
}

static void live_asks_both(struct live_session *session)
{
    struct outcome outcome;

    assert_int_equal(live_toy_ask(session, "beside", "Beside?"), NOD_PENDING);
    assert_int_equal(run_call(session->run,
                              &(struct run_call_spec){ .key = STR("call"), .tool = STR("inner") },
                              &outcome),
                     NOD_PENDING);
    live_toy_commit(session);
}

static struct world_caller *begin_live(void)
{
    begin(asks);
    live_toy_init(&live, "alive");
    assert_int_equal(catalog_add(catalog, &live.target), NOD_OK);
    struct world_caller *outer = call_of("alive", true, true);
    assert_int_equal(live.count, 1);
    live_asks_both(&live.sessions[0]);
    live_calm();
    assert_int_equal(outer->finished, 0);
    assert_int_equal(ups(), 2); /* what it asks, and what the inner call asks */
    return outer;
}

static void answer_that_says(const char *part)
{
    for (size_t i = 0; i < world.shown_count; i++) {
        struct shown *up = &world.shown[i];
        if (!up->up || !strstr(up->message, part))
            continue;
        up->up = false;
        world_answer(&world, up->id, ASK_ACCEPTED, "{\"n\":1}", "ann", 1);
        live_calm();
        return;
    }
    fail_msg("%s is not up", part);
}

static void finish_live(struct world_caller *outer)
{
    if (live.sessions[0].run)
        live_toy_end(&live.sessions[0], "over");
    live_calm();
    assert_int_equal(outer->finished, 1);
    assert_int_equal(outer->status, NOD_OK);
    assert_int_equal(ups(), 0);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(engine_pending(world.engine), 0);
    finish();
}

static void a_live_run_waits_for_a_call_beside_a_question(void **state)
{
    (void)state;
    struct world_caller *outer = begin_live();
    answer_that_says("alive ▸ inner: Go on?");
    assert_non_null(strstr(live.sessions[0].heard, "call=accepted"));
    assert_null(strstr(live.sessions[0].heard, "beside="));
    answer_that_says("Beside?");
    assert_non_null(strstr(live.sessions[0].heard, "beside=accepted"));
    finish_live(outer);

    outer = begin_live(); /* in the other order */
    answer_that_says("Beside?");
    assert_non_null(strstr(live.sessions[0].heard, "beside=accepted"));
    assert_null(strstr(live.sessions[0].heard, "call="));
    answer_that_says("Go on?");
    assert_non_null(strstr(live.sessions[0].heard, "call=accepted"));
    finish_live(outer);

    finish_live(begin_live()); /* it ends while both wait */

    outer = begin_live(); /* it takes the call back */
    assert_int_equal(live_toy_take_back(&live.sessions[0], "call", "not needed"), NOD_PENDING);
    live_calm();
    assert_int_equal(ups(), 1);
    assert_int_equal(engine_calls(world.engine), 1);
    finish_live(outer);
}

/* The client is told when both calls wait. Then the inner call is at rest, and the outer one, which
 * may store something beside. */
static void a_round_is_told_though_a_live_run_stores_something_meanwhile(void **state)
{
    (void)state;
    for (int turns = 0; turns < 24; turns++) {
        begin(asks);
        live_toy_init(&live, "alive");
        assert_int_equal(catalog_add(catalog, &live.target), NOD_OK);
        struct world_caller *outer = call_of("alive", false, true);
        struct live_session *session = &live.sessions[0];
        live_asks_both(session);
        engine_tick(world.engine); /* it is the run's turn */
        for (int i = 0; i < turns && world_turn(&world); i++)
            engine_tick(world.engine);
        if (session->run && strstr(session->heard, "committed")) {
            live_toy_step(session, "deed");
            live_toy_commit(session);
        }
        live_calm();
        if (outer->asked != 1)
            fail_msg("after %d turns: asked %d times", turns, outer->asked);
        finish();
    }
}

SUBJECT(toy_inner_live)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_live_run_waits_for_a_call_beside_a_question),
        cmocka_unit_test(a_round_is_told_though_a_live_run_stores_something_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
