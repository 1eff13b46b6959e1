/*
 * tests/toys/inner_rounds: a client that responds once is asked what both calls ask, in one round.
 * Whoever comes back, with whichever of the two calls, is led to the outer one.
 */
#include "inner.h"

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

/* --- a round that is not yet complete when it is looked at --- */

static struct {
    void (*fn)(void *data, struct str call_id);
    void *data;
} hinted;

static void keep_watch(struct store *store, struct str node,
                       void (*fn)(void *data, struct str call_id), void *data)
{
    (void)store, (void)node;
    hinted.fn = fn;
    hinted.data = data;
}

/* A request is made, and the store has this many turns. */
static struct world_caller *begins_for(int turns)
{
    struct world_caller *caller = world_caller_new(&world);

    ops.watch = keep_watch;
    engine_use_store(world.engine, world.store);
    world.on_asked = count_carried;
    carried = 0;
    caller->way = CALLER_LEAVES;
    engine_call(world.engine, &(struct call_spec){ .target = tool("outer"),
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller = &caller->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    for (int i = 0; i < turns; i++)
        world_turn(&world);
    return caller;
}

/* Every call here is looked at, because hints may have been lost. */
static void the_store_is_back(void)
{
    hinted.fn(hinted.data, STR_NONE);
    engine_tick(world.engine);
}

static void a_round_is_told_though_its_calls_were_looked_at_meanwhile(void **state)
{
    (void)state;
    for (int durable = 0; durable < 2; durable++)
        for (uint64_t seed = 0; seed <= ORDERS / 4; seed++)
            for (int turns = 0; turns < 24; turns++) {
                begin_with(asks, durable);
                does.asks_too = turns % 2;
                struct world_caller *outer = begins_for(turns);
                world.seed = seed;
                the_store_is_back();
                world_settle(&world);
                if (outer->asked != 1 || carried != 1 + does.asks_too || outer->finished)
                    fail_msg("durable %d, seed %d, after %d turns: asked %d times, %d questions",
                             durable, (int)seed, turns, outer->asked, carried);
                world.seed = 0;
                struct world_caller *again = come_back("#1");
                assert_string_equal(again->body, "{\"inner\":{\"said\":\"accepted\"}}");
                finish();
            }
}

/* What the outer call asks beside has run out when the inner call asks. */
static void a_round_is_told_though_a_question_of_it_ran_out_meanwhile(void **state)
{
    (void)state;
    int left = 0; /* only the question of the inner call was */

    for (uint64_t seed = 0; seed <= ORDERS / 4; seed++)
        for (int turns = 0; turns < 24; turns++) {
            begin(asks);
            does.asks_too = true;
            struct world_caller *outer = begins_for(turns);
            world.seed = seed;
            fake_clock_advance(&world.clock, 1000);
            engine_tick(world.engine);
            world_settle(&world);
            if (outer->asked + outer->finished != 1)
                fail_msg("seed %d, after %d turns: asked %d times", (int)seed, turns, outer->asked);
            left += outer->asked && carried == 1;
            finish();
        }
    assert_true(left > 0);
}

/* --- coming back --- */

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

SUBJECT(toy_inner_rounds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_questions_of_both_come_in_one_round),
        cmocka_unit_test(an_answer_that_does_not_fit_is_brought_once),
        cmocka_unit_test(what_the_inner_call_asks_next_comes_in_the_next_round),
        cmocka_unit_test(a_round_is_told_though_its_calls_were_looked_at_meanwhile),
        cmocka_unit_test(a_round_is_told_though_a_question_of_it_ran_out_meanwhile),
        cmocka_unit_test(whoever_comes_back_is_asked_what_the_inner_call_asks),
        cmocka_unit_test(whoever_comes_with_the_inner_call_is_led_to_the_outer_one),
        cmocka_unit_test(nobody_is_told_of_an_answer_that_another_request_has_brought),
        cmocka_unit_test(an_answer_comes_to_nobody_if_the_call_is_waited_for_no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
