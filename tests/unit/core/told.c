/*
 * tests/unit/core/told: what a caller is told of a call that its store does not take. It can tell
 * from the sentence whether the call was not begun, begun, or done and not stored.
 */
#include "world.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../runner.h"
#include "loaded.h"

static struct world world;
static char call_name[ID_LEN + 1]; /* of the last call of `steps` */

static void store_refuses(const char *verb)
{
    world.fail_verb = verb;
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = INT_MAX;
}

static nod_status asks(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = STR("{}");
    return NOD_OK;
}

static nod_status step_then_asks(struct run *run, struct str *body)
{
    NOD_TRY(world_step(run, &world, "one", false));
    return asks(run, body);
}

static nod_status steps(struct run *run, struct str *body)
{
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(run->call_id));
    NOD_TRY(world_step(run, &world, "one", false));
    NOD_TRY(world_step(run, &world, "two", false));
    *body = STR("{}");
    return NOD_OK;
}

static nod_status steps_then_refused(struct run *run, struct str *body)
{
    NOD_TRY(world_step(run, &world, "one", false));
    store_refuses("append");
    NOD_TRY(world_step(run, &world, "two", false));
    *body = STR("{}");
    return NOD_OK;
}

static nod_status step_then_once(struct run *run, struct str *body)
{
    NOD_TRY(world_step(run, &world, "one", false));
    store_refuses("append");
    NOD_TRY(world_step(run, &world, "two", true));
    *body = STR("{}");
    return NOD_OK;
}

static nod_status step_then_fails(struct run *run, struct str *body)
{
    (void)body;
    NOD_TRY(world_step(run, &world, "one", false));
    return run_fail(run, NOD_E_FAILED, NULL, STR("It broke"));
}

/* The sentence that the caller is told, if operations of this kind fail (NULL: the handler says).
 */
static const char *told(world_handler *handler, const char *verb)
{
    world_init(&world, &(struct world_opts){ .handler = handler });
    if (verb)
        store_refuses(verb);
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    for (int i = 0; i < 200 && !caller->finished; i++)
        world_advance(&world, 100);
    assert_int_equal(caller->finished, 1);
    return caller->message;
}

static void assert_says(const char *said, const char *what)
{
    if (!strstr(said, what))
        fail_msg("\"%s\" is not in: %s", what, said);
}

static void a_question_that_is_not_stored_was_put_to_nobody(void **state)
{
    (void)state;
    const char *said = told(asks, "park");
    assert_says(said, "did not take the question, so nobody was asked. No step was done.");
    assert_says(said, "Try the call again later");
    world_finish(&world);
}

static void a_question_that_is_not_stored_says_which_steps_were_done_before(void **state)
{
    (void)state;
    const char *said = told(step_then_asks, "park");
    assert_int_equal(world.steps_done, 1);
    assert_says(said, "so nobody was asked. Done before: 'one'. Look at what was done");
    world_finish(&world);
}

static void a_step_whose_result_is_not_stored_was_done(void **state)
{
    (void)state;
    const char *said = told(steps_then_refused, NULL);
    assert_int_equal(world.steps_done, 2);
    assert_says(said, "The step 'two' was done, but its result could not be stored");
    assert_says(said, "Done before: 'one'.");
    assert_string_equal(world.callers[0].code, "OUTCOME_UNKNOWN");
    world_finish(&world);
}

static void an_intent_that_is_not_stored_began_no_step(void **state)
{
    (void)state;
    const char *said = told(step_then_once, NULL);
    assert_int_equal(world.steps_done, 1);
    assert_says(said, "did not take the intent of a step, so the step was not begun");
    assert_says(said, "Done before: 'one'.");
    world_finish(&world);
}

static void a_result_that_is_not_stored_was_done(void **state)
{
    (void)state;
    const char *said = told(steps, "finish");
    assert_says(said, "tool ran to its end, but its result could not be stored");
    assert_says(said, "Done before: 'one', 'two'. Look at what was done");
    world_finish(&world);
}

static void the_end_that_is_stored_later_says_what_the_caller_was_told(void **state)
{
    struct loaded loaded = { 0 };

    (void)state;
    told(steps, "finish");
    world.fail_times = 0;
    world_settle(&world);
    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
    assert_int_equal(loaded.status, NOD_OK);
    assert_int_equal(loaded.call.state, CALL_STORED_CANCELLED);
    assert_says(loaded.call.result.at, "tool ran to its end, but its result could not be stored");
    loaded_forget(&loaded);
    arena_finish(&loaded.arena);
    world_finish(&world);
}

static void a_failure_that_is_not_stored_is_told_as_it_is(void **state)
{
    (void)state;
    assert_string_equal(told(step_then_fails, "finish"), "It broke");
    world_finish(&world);
}

static void keep_status(void *data, nod_status status)
{
    *(nod_status *)data = status;
}

static void who_cancels_a_call_is_not_told_of_an_end_that_is_not_stored(void **state)
{
    nod_status cancelled = NOD_PENDING;

    (void)state;
    world_init(&world, &(struct world_opts){ .handler = step_then_fails });
    store_refuses("finish");
    struct world_caller *caller = world_call(&world, "ann", "s");
    world_settle(&world);
    assert_non_null(caller->caller.call); /* its end is on its way to the store */
    engine_cancel(world.engine, call_id(caller->caller.call), STR("enough"), keep_status,
                  &cancelled);
    assert_int_equal(cancelled, NOD_PENDING);
    for (int i = 0; i < 200 && !caller->finished; i++)
        world_advance(&world, 100);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(cancelled, NOD_E_STORE);
    world_finish(&world);
}

SUBJECT(told)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_that_is_not_stored_was_put_to_nobody),
        cmocka_unit_test(a_question_that_is_not_stored_says_which_steps_were_done_before),
        cmocka_unit_test(a_step_whose_result_is_not_stored_was_done),
        cmocka_unit_test(an_intent_that_is_not_stored_began_no_step),
        cmocka_unit_test(a_result_that_is_not_stored_was_done),
        cmocka_unit_test(the_end_that_is_stored_later_says_what_the_caller_was_told),
        cmocka_unit_test(a_failure_that_is_not_stored_is_told_as_it_is),
        cmocka_unit_test(who_cancels_a_call_is_not_told_of_an_end_that_is_not_stored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
