/*
 * tests/unit/core/nodes: what nodes know of each other. Two engines share one store.
 */
#include "world.h"

#include "../runner.h"
#include "core/inside.h"

static struct world world;
static struct store_ops ops; /* the store's own, but it is shared */
static struct engine *other;
static struct catalog *catalog;

static nod_status never_called(struct run *run, struct str *body)
{
    (void)run;
    (void)body;
    return NOD_E_USAGE;
}

static void no_orphan(void *data, const struct call_record *record)
{
    (void)data;
    (void)record;
}

/* A store that is away. */

static struct {
    store_done *done;
    void *data;
} refused[64];
static size_t refused_count;
static bool away;
static void (*own_put)(struct store *store, struct str kind, struct str key, struct str value,
                       struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                       void *data);

static void put(struct store *store, struct str kind, struct str key, struct str value,
                struct str whose, uint64_t version, int64_t ttl_ms, store_done *done, void *data)
{
    if (!away) {
        own_put(store, kind, key, value, whose, version, ttl_ms, done, data);
        return;
    }
    assert_true(refused_count < 64);
    refused[refused_count].done = done;
    refused[refused_count++].data = data;
}

static void refuse(void)
{
    while (refused_count) {
        refused_count--;
        refused[refused_count].done(refused[refused_count].data, NOD_E_STORE,
                                    &(struct store_reply){ 0 });
    }
}

/* Moves the time of both nodes. */
static void pass(int64_t ms)
{
    for (int64_t at = 0; at < ms; at += 100) {
        world_advance(&world, 100);
        if (other)
            engine_tick(other);
        refuse();
        world_settle(&world);
    }
}

static void begin(void)
{
    world_init(&world, &(struct world_opts){ .handler = never_called });
    ops = *world.store->ops;
    ops.durable = ops.shared = true;
    own_put = ops.put;
    ops.put = put;
    world.store->ops = &ops;
    world.target.version[0] = 7;
    catalog = catalog_create();
    other = engine_create(&(struct engine_opts){
        .clock = &world.clock.clock, .store = world.store, .node = STR("other") });
    engine_use_catalog(other, catalog);
    engine_recover(world.engine, &(struct recovery_opts){ .orphan = no_orphan });
    engine_recover(other, &(struct recovery_opts){ .orphan = no_orphan });
    pass(2000);
}

static void end(void)
{
    world.store->ops->destroy(world.store);
    engine_destroy(other);
    engine_destroy(world.engine);
    catalog_destroy(catalog);
    world_settle(&world);
}

/* The records as they are now. */
static void read_nodes(void)
{
    int64_t now = clock_mono(&world.clock.clock);

    for (int i = 0; i < 100 && !nodes_known(world.engine, now); i++)
        pass(100);
    assert_true(nodes_known(world.engine, now));
}

static void a_node_says_which_targets_it_has_in_which_version(void **state)
{
    struct call_record call = { .kind = TARGET_TOOL, .target = world.target.name };

    (void)state;
    begin();
    call.target = world.target.name;
    call.version = target_version(&world.target);
    read_nodes();
    assert_false(nodes_have_target(world.engine, &call));

    assert_int_equal(catalog_add(catalog, &world.target), NOD_OK);
    engine_targets_changed(other, true);
    pass(100);
    read_nodes();
    assert_true(nodes_have_target(world.engine, &call));
    assert_false(nodes_have_target(other, &call)); /* only others count */
    call.version++;
    assert_false(nodes_have_target(world.engine, &call));
    call.version--;

    catalog_remove(catalog, &world.target);
    engine_targets_changed(other, true);
    pass(100);
    read_nodes();
    assert_false(nodes_have_target(world.engine, &call));
    end();
}

static void a_node_that_is_gone_has_nothing(void **state)
{
    struct call_record call = { .kind = TARGET_TOOL };

    (void)state;
    begin();
    call.target = world.target.name;
    call.version = target_version(&world.target);
    catalog_add(catalog, &world.target);
    engine_targets_changed(other, true);
    pass(100);
    struct engine *dead = other;
    other = NULL; /* nobody moves its clock any more */
    pass(RECOVERY_NODE_TTL_MS - 1000);
    read_nodes();
    assert_true(nodes_have_target(world.engine, &call));
    pass(2000);
    read_nodes();
    assert_false(nodes_have_target(world.engine, &call));
    assert_false(node_has_left(world.engine, STR("other")));
    other = dead;
    end();
}

static void that_a_node_was_told_to_stop_outlives_it(void **state)
{
    struct call_record call = { .kind = TARGET_TOOL };

    (void)state;
    begin();
    call.target = world.target.name;
    call.version = target_version(&world.target);
    catalog_add(catalog, &world.target);
    engine_targets_changed(other, true);
    pass(1000);
    read_nodes();
    assert_false(node_has_left(world.engine, STR("other")));
    engine_leave(other);
    assert_false(engine_settled(other)); /* it is on its way */
    world_settle(&world);
    assert_true(engine_settled(other));
    pass(3000); /* further heartbeats do not take it back, and neither does the catalog */
    engine_targets_changed(other, true);
    pass(1000);
    read_nodes();
    assert_true(node_has_left(world.engine, STR("other")));
    assert_false(nodes_have_target(world.engine, &call)); /* it begins no more runs */
    struct engine *dead = other;
    other = NULL;
    world_advance(&world, STORE_ABANDONED_MS - 60000);
    pass(2000);
    read_nodes();
    assert_true(node_has_left(world.engine, STR("other")));
    other = dead;
    end();
}

/* The store is away at first. */
static void that_a_node_was_told_to_stop_is_said_until_the_store_has_it(void **state)
{
    (void)state;
    begin();
    away = true;
    engine_leave(other);
    pass(1000);
    assert_false(engine_settled(other));
    away = false;
    pass(5000);
    assert_true(engine_settled(other));
    read_nodes();
    assert_true(node_has_left(world.engine, STR("other")));
    end();
}

SUBJECT(nodes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_says_which_targets_it_has_in_which_version),
        cmocka_unit_test(a_node_that_is_gone_has_nothing),
        cmocka_unit_test(that_a_node_was_told_to_stop_outlives_it),
        cmocka_unit_test(that_a_node_was_told_to_stop_is_said_until_the_store_has_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
