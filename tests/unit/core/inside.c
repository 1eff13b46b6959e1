/*
 * tests/unit/core/inside: what the engine calls may call back into the engine.
 *
 * Hooks, callers, surfaces and answerers are told things while a call is in the middle of
 * something. Whatever they do then (cancel, answer, refuse) must leave one end and no dangling
 * memory. The sanitizers check the latter.
 */
#include "world.h"

#include "base/log.h"
#include "../runner.h"

#include <stdio.h>
#include <string.h>

static struct world world;

#define ACCEPT_3 "{\"n\":3}"

static nod_status asks_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = arena_fmt(&run->arena, "{\"state\":\"" STR_FMT "\"}",
                      STR_ARG(ask_state_name(answer->state)));
    return NOD_OK;
}

static void ended_once(const struct world_caller *caller)
{
    assert_int_equal(caller->finished, 1);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(engine_pending(world.engine), 0);
    assert_null(world_up(&world));
}

static nod_status cancel_it(struct nod_hook_run *hook, void *data)
{
    struct world_caller *caller = &world.callers[0];

    (void)hook;
    (void)data;
    if (caller->caller.call)
        call_cancel(caller->caller.call, STR("a hook says so"));
    return NOD_OK;
}

static void a_hook_may_cancel_the_call_at_any_stage(void **state)
{
    static const nod_flow flows[] = { NOD_FLOW_CALL, NOD_FLOW_ASK, NOD_FLOW_ANSWER };

    (void)state;
    for (size_t f = 0; f < 3; f++) {
        const struct flow_table *table = engine_flow(flows[f]);
        for (size_t i = 0; i < table->count * 4; i++) {
            world_init(&world, &(struct world_opts){ .handler = asks_once,
                                                     .requires_confirmation = i & 1 });
            world_hook(&world, table->id, table->stages[i / 4].name, i & 2 ? NOD_DID : NOD_WILL,
                       cancel_it, NULL);
            struct world_caller *caller = world_call(&world, "ann", "s1");
            world_settle(&world);
            while (world_up(&world)) {
                char id[ID_LEN + 1];
                memcpy(id, world_up(&world)->id, sizeof(id));
                world_answer(&world, id, ASK_ACCEPTED, ACCEPT_3, "ann", 1);
                for (size_t s = 0; s < world.shown_count; s++) /* answered: no longer up */
                    if (strcmp(world.shown[s].id, id) == 0)
                        world.shown[s].up = false;
            }
            ended_once(caller);
            world_finish(&world);
        }
    }
}

static void a_hook_may_cancel_when_the_work_ran_out_of_time(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once, .timeout_ms = 1000 });
    world_hook(&world, NOD_FLOW_CALL, "finish", NOD_WILL, cancel_it, NULL);
    world.blocking = true;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_advance(&world, 1000);
    ended_once(caller);
    world_finish(&world);
}

static nod_status refuse(struct nod_hook_run *hook, void *data)
{
    (void)hook;
    (void)data;
    return NOD_E_REFUSED;
}

static void a_hook_that_refuses_answers_cannot_stop_the_clock(void **state)
{
    const struct flow_table *table = engine_flow(NOD_FLOW_ANSWER);

    (void)state;
    for (size_t i = 0; i < table->count; i++) {
        world_init(&world, &(struct world_opts){ .handler = asks_once, .ttl_ms = 5000 });
        world_hook(&world, table->id, table->stages[i].name, NOD_WILL, refuse, NULL);
        struct world_caller *caller = world_call(&world, "ann", "s1");
        world_settle(&world);
        world_advance(&world, 5000);
        ended_once(caller);
        assert_int_equal(caller->status, NOD_E_TIMEOUT);
        world_finish(&world);
    }
}

static void cancels_when_it_waits(struct world_caller *caller, struct call *call, bool waiting)
{
    (void)caller;
    if (waiting)
        call_cancel(call, STR("enough"));
}

static void cancels_when_it_goes_on(struct world_caller *caller, struct call *call, bool waiting)
{
    (void)caller;
    if (!waiting)
        call_cancel(call, STR("enough"));
}

static void a_caller_may_cancel_when_it_is_told_of_waiting(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    world.on_waiting = cancels_when_it_waits;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    ended_once(caller);
    assert_int_equal(caller->status, NOD_E_CANCELLED);
    world_finish(&world);

    for (int gate = 0; gate < 2; gate++) {
        world_init(&world,
                   &(struct world_opts){ .handler = asks_once, .requires_confirmation = gate });
        world.on_waiting = cancels_when_it_goes_on;
        caller = world_call(&world, "ann", "s1");
        world_settle(&world);
        world_answer(&world, world.shown[0].id, ASK_ACCEPTED, ACCEPT_3, "ann", 1);
        world.shown[0].up = false;
        ended_once(caller);
        assert_int_equal(caller->status, NOD_E_CANCELLED);
        assert_int_equal(world.runs, gate ? 0 : 1);
        world_finish(&world);
    }
}

static void cancel_its_call(struct ask *ask)
{
    call_cancel(ask_call(ask), STR("enough"));
}

static void go_from_its_call(struct ask *ask)
{
    if (call_caller(ask_call(ask)) == &world.callers[0].caller)
        call_caller_left(ask_call(ask));
}

static void a_surface_may_cancel_or_end_the_caller_while_it_takes_an_ask_down(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once, .ttl_ms = 5000 });
    world.on_withdraw = cancel_its_call;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    world_advance(&world, 5000);
    ended_once(caller);
    world_finish(&world);

    world_init(&world, &(struct world_opts){ .handler = asks_once });
    world.on_withdraw = go_from_its_call;
    caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&world);
    assert_int_equal(caller->finished, 0); /* it was gone, and is not called again */
    assert_int_equal(engine_calls(world.engine), 0);
    world_finish(&world);
}

static void cancel_on_answer(void)
{
    if (world.callers[0].caller.call)
        call_cancel(world.callers[0].caller.call, STR("enough"));
}

static void an_answerer_may_cancel_the_call_it_answered(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    world.on_answered = cancel_on_answer;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    world_answer(&world, world.shown[0].id, ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    world.shown[0].up = false;
    ended_once(caller);
    assert_int_equal(caller->status, NOD_E_CANCELLED);
    world_finish(&world);
}

static void what_was_put_off_finds_no_engine_and_does_nothing(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    world.blocking = true;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    call_cancel(caller->caller.call, STR("enough")); /* its end is put off */
    world_finish(&world);                            /* and the engine is gone before it comes */
    assert_int_equal(caller->finished, 0);
}

/* --- ending a call from outside --- */

static int told_ends;
static nod_status told_end;

static void end_told(void *data, nod_status status)
{
    (void)data;
    told_ends++;
    told_end = status;
}

static void end_it(struct world_caller *caller)
{
    told_ends = 0;
    engine_end(world.engine, call_id(caller->caller.call),
               &(struct outcome){
                   .status = NOD_E_NOT_FOUND, .code = "TOOL_GONE", .message = STR("It is gone") },
               end_told, NULL);
}

static void the_end_of_a_waiting_call_is_told_when_it_is_stored(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    world.fail_verb = "cancel";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 1;
    end_it(caller);
    world_settle(&world);
    assert_int_equal(world.fail_times, 0);
    assert_int_equal(told_ends, 0); /* the store does not have it yet */
    world_advance(&world, 1000);
    assert_int_equal(told_ends, 1);
    assert_int_equal(told_end, NOD_OK);
    ended_once(caller);
    assert_int_equal(caller->status, NOD_E_NOT_FOUND);
    world_finish(&world);
}

static void the_end_of_a_call_that_runs_is_not_told(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    world.blocking = true;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    end_it(caller);
    assert_int_equal(told_ends, 1);
    assert_int_equal(told_end, NOD_PENDING); /* nothing was done */
    assert_int_equal(caller->finished, 0);
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&world);
    ended_once(caller);
    world_finish(&world);
}

static void an_engine_that_goes_tells_whoever_waits_for_an_end(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    end_it(caller);
    assert_int_equal(told_ends, 0);
    world_finish(&world);
    assert_int_equal(told_ends, 1);
    assert_int_equal(told_end, NOD_E_STORE);
}

SUBJECT(inside)
{
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR });
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_waiting_call_is_told_when_it_is_stored),
        cmocka_unit_test(the_end_of_a_call_that_runs_is_not_told),
        cmocka_unit_test(an_engine_that_goes_tells_whoever_waits_for_an_end),
        cmocka_unit_test(a_hook_may_cancel_the_call_at_any_stage),
        cmocka_unit_test(a_hook_may_cancel_when_the_work_ran_out_of_time),
        cmocka_unit_test(a_hook_that_refuses_answers_cannot_stop_the_clock),
        cmocka_unit_test(a_caller_may_cancel_when_it_is_told_of_waiting),
        cmocka_unit_test(a_surface_may_cancel_or_end_the_caller_while_it_takes_an_ask_down),
        cmocka_unit_test(an_answerer_may_cancel_the_call_it_answered),
        cmocka_unit_test(what_was_put_off_finds_no_engine_and_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
