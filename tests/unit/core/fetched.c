/*
 * tests/unit/core/fetched: what the store is told of results that were handed out, however often
 * they are.
 */
#include "world.h"

#include <string.h>

#include "../runner.h"

enum { MANY = 10000, AT_ONCE_MOST = 64, RING = 4096 };

static struct world world;
static struct store_ops ops; /* the store's own, but it survives, and marks are counted */

static struct told {
    store_done *done;
    void *data;
} told[MANY]; /* marks, in order; those from `over` on are under way */
static size_t told_count, over, most;

static void mark_comes(struct store *store, struct str call_id, store_done *done, void *data)
{
    (void)store;
    assert_int_equal(call_id.len, ID_LEN);
    assert_true(told_count < MANY);
    told[told_count++] = (struct told){ done, data };
    if (told_count - over > most)
        most = told_count - over;
}

/* The oldest that is under way is over. */
static void mark_ends(nod_status status)
{
    struct told mark = told[over++];

    assert_true(over <= told_count);
    if (mark.done)
        mark.done(mark.data, status, NULL);
}

static int setup(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ 0 });
    ops = *world.store->ops;
    ops.durable = true;
    ops.fetched = mark_comes;
    world.store->ops = &ops;
    told_count = over = most = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_finish(&world);
    return 0;
}

static struct id handed_out(void)
{
    struct id id;

    id_random(&id);
    engine_fetched(world.engine, id_str(&id));
    return id;
}

static void a_result_is_marked_once_however_often_it_is_handed_out(void **state)
{
    (void)state;
    struct id id = handed_out();
    for (int i = 0; i < 100; i++)
        engine_fetched(world.engine, id_str(&id));
    assert_int_equal(told_count, 1);
    mark_ends(NOD_OK);
    for (int i = 0; i < 100; i++)
        engine_fetched(world.engine, id_str(&id));
    assert_int_equal(told_count, 1);
}

static void one_that_was_marked_before_this_process_is_not_marked_again(void **state)
{
    (void)state;
    struct id id = handed_out();
    mark_ends(NOD_E_STALE);
    engine_fetched(world.engine, id_str(&id));
    assert_int_equal(told_count, 1);
}

static void a_mark_that_the_store_did_not_take_is_made_again_with_the_next_delivery(void **state)
{
    (void)state;
    struct id id = handed_out();
    mark_ends(NOD_E_STORE);
    assert_int_equal(told_count, 1); /* nobody has fetched it since */
    engine_fetched(world.engine, id_str(&id));
    assert_int_equal(told_count, 2);
    mark_ends(NOD_E_NOT_FOUND); /* its end was not stored yet */
    engine_fetched(world.engine, id_str(&id));
    assert_int_equal(told_count, 3);
    mark_ends(NOD_OK);
    engine_fetched(world.engine, id_str(&id));
    assert_int_equal(told_count, 3);
}

static void many_results_at_once_are_marked_a_few_at_a_time(void **state)
{
    (void)state;
    for (int i = 0; i < RING; i++)
        handed_out();
    while (over < told_count)
        mark_ends(NOD_OK);
    assert_int_equal(told_count, RING); /* none was left out */
    assert_int_equal(most, AT_ONCE_MOST);
}

static void a_store_that_takes_no_marks_is_not_what_they_pile_up_for(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * RING; i++)
        handed_out();
    assert_int_equal(told_count, AT_ONCE_MOST);
    while (over < told_count)
        mark_ends(NOD_E_STORE);
    assert_int_equal(told_count, RING); /* the others were left out */
    struct id id = handed_out();
    mark_ends(NOD_OK);
    engine_fetched(world.engine, id_str(&id));
    assert_int_equal(told_count, RING + 1);
    assert_int_equal(most, AT_ONCE_MOST);
}

SUBJECT(fetched)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(a_result_is_marked_once_however_often_it_is_handed_out),
        T(one_that_was_marked_before_this_process_is_not_marked_again),
        T(a_mark_that_the_store_did_not_take_is_made_again_with_the_next_delivery),
        T(many_results_at_once_are_marked_a_few_at_a_time),
        T(a_store_that_takes_no_marks_is_not_what_they_pile_up_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
