/* tests/unit/core/scope: one question at a time in a scope, among nodes that share a store. */
#include "loaded.h"
#include "../runner.h"

#include <stdio.h>
#include <string.h>

static struct world world;
static struct caller_ops carrying; /* a caller's that tells its client how to come back */
static char call_name[ID_LEN + 1];

static nod_status asks_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = arena_fmt(&run->arena, "{\"state\":\"" STR_FMT "\"}",
                      STR_ARG(ask_state_name(answer->state)));
    return NOD_OK;
}

static struct world_caller *caller_new(void)
{
    struct world_caller *caller = world_caller_new(&world);

    carrying = *caller->caller.ops;
    carrying.carries = true;
    caller->caller.ops = &carrying;
    caller->way = CALLER_LEAVES;
    return caller;
}

static void call_and_leave(struct world_caller *caller)
{
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller = &caller->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
    assert_null(caller->caller.call);
}

/* The id of the pending ask, from the store. */
static void stored_ask(char id[ID_LEN + 1])
{
    static struct loaded loaded;

    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
    assert_int_equal(loaded.ask_count, 1);
    snprintf(id, ID_LEN + 1, STR_FMT, STR_ARG(loaded.asks[0].id));
    arena_finish(&loaded.arena);
}

static void (*own_put)(struct store *, struct str, struct str, struct str, struct str, uint64_t,
                       int64_t, store_done *, void *);
static char older_value[2 * ID_LEN + 1];

static void told_nobody(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    (void)status;
    (void)reply;
}

/* Another node has seen no question in the scope either, and is the first to write. */
static void put_second(struct store *store, struct str kind, struct str key, struct str value,
                       struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                       void *data)
{
    if (older_value[0])
        own_put(store, kind, key, str_of(older_value), whose, version, ttl_ms, told_nobody, NULL);
    older_value[0] = '\0';
    own_put(store, kind, key, value, whose, version, ttl_ms, done, data);
}

static enum ask_state kept_state;

static void state_shown(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    assert_int_equal(status, NOD_OK);
    kept_state = reply->ask->state;
}

static void of_two_nodes_that_ask_at_once_in_a_scope_one_is_replaced(void **state)
{
    struct store_ops ops;
    char older[ID_LEN + 1];

    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once, .one_ask_per_scope = true });
    call_and_leave(caller_new());
    stored_ask(older);
    snprintf(older_value, sizeof(older_value), "%s%s", call_name, older);
    ops = *world.store->ops;
    ops.del(world.store, STR("scope"), STR("s1"), told_nobody, NULL);
    world_settle(&world);
    own_put = ops.put;
    ops.put = put_second;
    world.store->ops = &ops;
    call_and_leave(caller_new());
    assert_int_equal(older_value[0], 0);
    ops.load_ask(world.store, str_of(older), state_shown, NULL);
    world_settle(&world);
    assert_int_equal(kept_state, ASK_CANCELLED);
    world_finish(&world);
}

SUBJECT(scope)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_nodes_that_ask_at_once_in_a_scope_one_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
