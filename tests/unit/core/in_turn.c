/*
 * tests/unit/core/in_turn: a store that takes only so many operations at once is sent those of one
 * principal after the other.
 *
 * The store keeps questions back until the test lets them go.
 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "../runner.h"
#include "core/inside.h"

enum { AT_ONCE = 2, EVES = 6 };

static struct world world;
static struct store_ops ops; /* the store's own, but it takes AT_ONCE, and keeps parks back */
static const struct store_ops *own;

static struct kept {
    store_done *done;
    void *data;
    nod_status status;
    char who; /* the first letter of the principal */
} kept[2 * WORLD_CALLS_MAX];
static size_t kept_count, given; /* parks in the order they came; those that were let go */
static char order[2 * WORLD_CALLS_MAX + 1];

static void park_is_kept(struct store *store, const struct park_spec *park, store_done *done,
                         void *data)
{
    (void)store;
    assert_non_null(park->open);
    order[kept_count] = park->open->principal.at[0];
    kept[kept_count++] = (struct kept){ .done = done, .data = data };
}

static void let_go(nod_status status)
{
    struct kept *one = &kept[given++];

    one->done(one->data, status, &(struct store_reply){ 0 });
    world_settle(&world);
}

static nod_status asks(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = STR("{}");
    return NOD_OK;
}

static int setup(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks });
    own = world.store->ops;
    ops = *own;
    ops.at_once = AT_ONCE;
    ops.park = park_is_kept;
    world.store->ops = &ops;
    engine_use_store(world.engine, world.store);
    kept_count = given = 0;
    memset(order, 0, sizeof(order));
    for (int i = 0; i < EVES; i++)
        world_call(&world, "eve", "s1");
    world_call(&world, "bob", "s2");
    world_settle(&world);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_finish(&world); /* with what still waits in line */
    return 0;
}

static void who_has_one_operation_is_not_behind_all_of_another(void **state)
{
    (void)state;
    assert_string_equal(order, "ee"); /* no more are sent at once */
    while (given < kept_count)
        let_go(NOD_E_LIMIT);
    assert_int_equal(kept_count, EVES + 1); /* all had their turn */
    assert_true(strchr(order, 'b') - order <= AT_ONCE + 1);
}

static void nobody_waits_in_turn_for_a_store_that_is_away(void **state)
{
    (void)state;
    assert_string_equal(order, "ee");
    let_go(NOD_E_STORE);
    assert_int_equal(kept_count, EVES + 1);
}

static void a_call_that_ends_before_its_turn_is_not_sent(void **state)
{
    (void)state;
    assert_int_equal(world.engine->ops_line.users.count, 2);
    engine_destroy(world.engine); /* all of them end */
    world_engine(&world);
    assert_string_equal(order, "ee");
}

SUBJECT(in_turn)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(who_has_one_operation_is_not_behind_all_of_another),
        T(nobody_waits_in_turn_for_a_store_that_is_away),
        T(a_call_that_ends_before_its_turn_is_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
