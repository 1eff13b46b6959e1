/*
 * tests/toys/inner_away: the outer call ends, the store is away, or the node sleeps while the inner
 * call is being begun. It is begun once, or not at all, and nothing of it is left.
 */
#include "inner_dying.h"

/* --- the outer call ends while the inner one is being begun --- */

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

/* --- the caller leaves while the inner call is being begun --- */

/* Its client may come back, and is asked first. The second surface can put the question up at any
 * time, and has no turn before the client refuses. */
static void whoever_comes_back_is_asked_what_the_inner_call_asked_meanwhile(void **state)
{
    (void)state;
    for (int turns = 0; turns < 2 * ORDER_TURNS; turns++) {
        struct world_caller *outer = begin_to_die(asks, true);

        world.second_can = world.can;
        while (!call_is_stored(outer->caller.call))
            assert_true(world_turn(&world));
        for (int i = 0; i < turns && world_turn(&world); i++)
            ;
        call_caller_left(outer->caller.call);
        for (size_t i = 0; i < world.shown_count; i++)
            world.shown[i].up = false; /* it has left them */
        goes_on(20);
        struct world_caller *back = caller_held();
        come_for(back, call_name);
        goes_on(20);
        if (ups() != 1)
            fail_msg("left after %d turns: %zu questions are up at the client, %zu elsewhere",
                     turns, ups(), world.second_count);
        accepts_it();
        ended_right(back, "left", turns);
        finish();
    }
}

SUBJECT(toy_inner_away)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inner_call_begins_no_more_after_the_end_of_its_outer_call_was_told),
        cmocka_unit_test(an_inner_call_that_is_forgotten_is_not_opened_again),
        cmocka_unit_test(the_end_of_an_inner_call_is_known_while_its_ask_may_wait),
        cmocka_unit_test(an_inner_call_that_is_opened_after_its_ask_has_ended_is_cancelled),
        cmocka_unit_test(an_ask_that_is_not_begun_does_not_stay_listed),
        cmocka_unit_test(an_ask_that_is_long_on_its_way_stays_listed),
        cmocka_unit_test(an_opening_that_was_not_heard_of_is_begun_once),
        cmocka_unit_test(whoever_comes_back_is_asked_what_the_inner_call_asked_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
