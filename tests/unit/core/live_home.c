/*
 * tests/unit/core/live_home: a live run outlasts whatever becomes of its call but an end.
 *
 * The store is shared. The other node, which knew nothing of the home, is played by operations on
 * the store. Replies come in the order in which they were queued, unless a test holds one back.
 */
#include "../../toys/live.h"
#include "../runner.h"
#include "core/inside.h"
#include "loaded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TTL_MS = 600000 };

static struct world world;
static struct live_toy toy;
static struct store_ops own, ops;
static char name[ID_LEN + 1]; /* of the call */
static const char *holder;    /* the node that has the call, as the store says; NULL: this one */
static uint64_t epoch;        /* in which that was taken */
static int homes_put;
static int parks;

/* --- the store --- */

struct named_load {
    store_done *done;
    void *data;
};

static void named_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct named_load *load = data;

    if (status == NOD_OK) {
        struct call_record record = *reply->call;
        struct store_reply named = *reply;
        if (!record.node.len) /* else its node is gone */
            record.node = holder ? str_of(holder) : world.engine->node;
        named.call = &record;
        load->done(load->data, status, &named);
    } else {
        load->done(load->data, status, reply);
    }
    free(load);
}

static void named_load(struct store *store, struct str call_id, store_done *done, void *data)
{
    struct named_load *load = malloc(sizeof(*load));

    *load = (struct named_load){ done, data };
    own.load_call(store, call_id, named_loaded, load);
}

static void counted_park(struct store *store, const struct park_spec *park, store_done *done,
                         void *data)
{
    parks++;
    own.park(store, park, done, data);
}

static void counted_put(struct store *store, struct str kind, struct str key, struct str value,
                        struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                        void *data)
{
    homes_put += str_eq(kind, STR("home"));
    own.put(store, kind, key, value, whose, version, ttl_ms, done, data);
}

static void calm(void)
{
    for (int i = 0; i < 12; i++)
        world_advance(&world, 0);
}

static void pass(int64_t ms)
{
    for (int64_t at = 0; at < ms; at += 100)
        world_advance(&world, 100);
}

static struct live_session *only(void)
{
    assert_int_equal(toy.count, 1); /* it was begun once */
    return &toy.sessions[0];
}

static int64_t timeout_ms; /* of its runs; 0: as long as usual */

static void world_begins(void)
{
    world_init(&world, &(struct world_opts){ .ttl_ms = TTL_MS });
    own = ops = *world.store->ops;
    ops.durable = ops.shared = true;
    ops.load_with_asks = NULL;
    ops.load_call = named_load;
    ops.park = counted_park;
    ops.put = counted_put;
    world.store->ops = &ops;
    holder = NULL;
    homes_put = parks = 0;
    live_toy_init(&toy, "live");
    toy.target.timeout_ms = timeout_ms;
}

static struct world_caller *call_live(enum caller_way way)
{
    struct world_caller *caller = world_caller_new(&world);

    caller->way = way;
    engine_call(world.engine, &(struct call_spec){ .target = &toy.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .handed = true,
                                                   .caller = &caller->caller });
    snprintf(name, sizeof(name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    return caller;
}

static struct world_caller *begin(enum caller_way way)
{
    world_begins();
    struct world_caller *caller = call_live(way);
    for (int i = 0; i < 100 && !toy.count; i++)
        if (!world_turn(&world))
            engine_tick(world.engine);
    calm();
    assert_non_null(only()->run);
    return caller;
}

static void ask(const char *key)
{
    assert_int_equal(live_toy_ask(only(), key, key), NOD_PENDING);
}

static void commit(void)
{
    live_toy_commit(only());
    calm();
}

static struct loaded *stored(void)
{
    static struct loaded loaded;

    loaded_begin(&loaded, world.store, str_of(name));
    world_settle(&world);
    return &loaded;
}

/* It ends well, and everything is stored once. */
static void ends(const char *heard)
{
    assert_string_equal(only()->heard, heard);
    assert_int_equal(only()->cancelled, 0);
    live_toy_end(only(), "all");
    pass(3000);
    assert_string_equal(only()->code, "OK");
    struct loaded *loaded = stored();
    assert_int_equal(loaded->call.state, CALL_STORED_FINISHED);
    for (size_t i = 0; i < loaded->call.entry_count; i++)
        for (size_t k = 0; k < i; k++)
            assert_false(loaded->call.entries[i].class == loaded->call.entries[k].class &&
                         str_eq(loaded->call.entries[i].key, loaded->call.entries[k].key));
    loaded_forget(loaded);
    assert_int_equal(only()->ended, 1);
    world_finish(&world);
}

/* --- the other node --- */

static void other_done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    assert_int_equal(status, NOD_OK);
    if (reply->taken)
        epoch = reply->epoch;
}

static void other_answers(const char *key)
{
    struct loaded *loaded = stored();
    struct id token;

    id_random(&token);
    for (size_t i = 0; i < loaded->ask_count; i++)
        if (str_eq(loaded->asks[i].key, str_of(key)))
            world.store->ops->claim(
                world.store,
                &(struct claim_spec){ .token = id_str(&token),
                                      .items = &(struct claim_item){ .ask_id = loaded->asks[i].id,
                                                                     .outcome = ASK_ACCEPTED,
                                                                     .content = STR("{\"n\":4}") },
                                      .count = 1,
                                      .by = STR("ann"),
                                      .via = STR("api") },
                other_done, NULL);
    loaded_forget(loaded);
}

/* With what it knew before the call had a home. */
static void other_takes_as(enum take_why why)
{
    struct id token;

    id_random(&token);
    world.store->ops->take(
        world.store,
        &(struct take_spec){
            .token = id_str(&token), .call_id = str_of(name), .node = STR("other"), .why = why },
        other_done, NULL);
    holder = "other";
    world_settle(&world);
}

static void other_takes(void)
{
    other_takes_as(TAKE_PLAIN);
}

static void other_gives_back(void)
{
    struct id token;

    id_random(&token);
    own.park(world.store,
             &(struct park_spec){ .token = id_str(&token),
                                  .node = STR("other"),
                                  .call_id = str_of(name),
                                  .epoch = epoch },
             other_done, NULL);
    holder = NULL;
    world_settle(&world);
}

/* --- its call is elsewhere for a while --- */

static void it_goes_on_when_a_node_that_took_its_call_has_given_it_back(void **state)
{
    (void)state;
    begin(CALLER_HOLDS);
    ask("a");
    commit();
    other_answers("a");
    other_takes();
    call_wake(engine_find(world.engine, str_of(name)));
    pass(3000);
    assert_int_equal(only()->cancelled, 0);
    other_gives_back();
    pass(3000);
    ends("committed a=accepted");
}

static void it_goes_on_when_a_node_that_took_its_call_has_died(void **state)
{
    (void)state;
    begin(CALLER_HOLDS);
    ask("a");
    commit();
    other_answers("a");
    other_takes();
    call_wake(engine_find(world.engine, str_of(name)));
    pass(3000);
    memory_store_lose(world.store, str_of(name), true);
    pass(3000);
    ends("committed a=accepted");
}

static void what_it_writes_meanwhile_is_stored_when_its_call_is_back(void **state)
{
    (void)state;
    begin(CALLER_HOLDS);
    ask("a");
    commit();
    other_answers("a");
    other_takes();
    live_toy_step(only(), "s");
    ask("b");
    commit();
    pass(40000); /* as often as it looks */
    assert_int_equal(only()->cancelled, 0);
    other_gives_back();
    pass(3000);
    other_answers("b");
    call_wake(engine_find(world.engine, str_of(name)));
    pass(3000);
    ends("committed committed a=accepted b=accepted");
}

/* The end that the home gives it counts, although its live run is gone. */
static void an_end_that_was_refused_meanwhile_is_stored_when_its_call_is_back(void **state)
{
    (void)state;
    timeout_ms = 2000;
    struct world_caller *caller = begin(CALLER_HOLDS);
    timeout_ms = 0;
    memory_store_lose(world.store, str_of(name), true);
    other_takes_as(TAKE_FORGIVEN);
    pass(3000);
    assert_int_equal(only()->cancelled, 1);
    assert_int_equal(caller->finished, 0);
    other_gives_back();
    pass(3000);
    assert_string_equal(caller->code, "TOOL_TIMEOUT");
    assert_string_equal(only()->code, "TOOL_TIMEOUT");
    assert_int_equal(only()->ended, 1);
    struct loaded *loaded = stored();
    assert_int_equal(loaded->call.state, CALL_STORED_FINISHED);
    loaded_forget(loaded);
    world_finish(&world);
}

static void a_cancel_meanwhile_ends_it(void **state)
{
    struct world_caller *caller = begin(CALLER_HOLDS);

    (void)state;
    ask("a");
    commit();
    other_answers("a");
    other_takes();
    live_toy_step(only(), "s");
    commit();
    pass(500);
    call_cancel(caller->caller.call, STR("enough"));
    pass(5000);
    assert_string_equal(caller->code, "CANCELLED");
    assert_int_equal(only()->ended, 1);
    world_finish(&world);
}

static void what_was_stored_before_another_node_took_its_call_is_stored_once(void **state)
{
    (void)state;
    begin(CALLER_HOLDS);
    live_toy_step(only(), "s");
    ask("a");
    world.fail_verb = "park";
    world.fail_how = MEMORY_FAIL_AFTER; /* it is stored, and the reply is lost */
    world.fail_times = 1;
    live_toy_commit(only());
    for (int i = 0; i < 20 && !parks; i++)
        if (!world_turn(&world))
            engine_tick(world.engine);
    assert_int_equal(parks, 1);
    other_answers("a");
    other_takes();
    other_gives_back();
    pass(3000);
    ends("committed a=accepted");
}

/* --- old replies --- */

static struct {
    bool on;
    struct arena arena;
    struct ask_record asks[4];
    size_t count;
    store_row_fn *row;
    store_done *done;
    void *data;
} old_scan; /* of the call's questions, which is yet to be told */

static void old_row(void *data, const struct store_row *row)
{
    (void)data;
    old_scan.asks[old_scan.count++] = ask_record_copy(&old_scan.arena, row->ask);
}

static void old_done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply;
}

static void slow_scan(struct store *store, const struct store_scan *scan, store_row_fn *row,
                      store_done *done, void *data)
{
    if (!old_scan.on || scan->index != STORE_ASKS_OF_CALL) {
        own.scan(store, scan, row, done, data);
        return;
    }
    old_scan.on = false;
    old_scan.row = row;
    old_scan.done = done;
    old_scan.data = data;
    own.scan(store, scan, old_row, old_done, NULL);
}

static void it_is_kept_when_an_old_look_shows_a_question_that_has_ended_since(void **state)
{
    struct world_caller *caller = begin(CALLER_HOLDS);

    (void)state;
    ask("a");
    ask("b");
    commit();
    ops.scan = slow_scan;
    memset(&old_scan, 0, sizeof(old_scan));
    arena_init(&old_scan.arena, 1 << 16);
    old_scan.on = true;
    call_wake(caller->caller.call);
    calm();
    assert_int_equal(old_scan.count, 2);
    world_answer(&world, world_up_key(&world, "a")->id, ASK_ACCEPTED, "{\"n\":1}", "ann", 1);
    calm();
    call_caller_left(caller->caller.call);
    calm();
    for (size_t i = 0; i < old_scan.count; i++)
        old_scan.row(old_scan.data, &(struct store_row){ .ask = &old_scan.asks[i] });
    old_scan.done(old_scan.data, NOD_OK, &(struct store_reply){ 0 });
    arena_finish(&old_scan.arena);
    pass(3000);
    other_answers("b");
    call_wake(engine_call_at(world.engine, str_of(name)));
    pass(3000);
    ends("committed a=accepted b=accepted");
}

static void answer_heard(void *data, const struct answer_result *result)
{
    (void)data, (void)result;
}

/* Whoever came back with an old record, while the claim that took the call was on its way. */
static void a_call_that_has_ended_is_not_begun_again(void **state)
{
    struct world_caller *caller = begin(CALLER_HOLDS), *again;
    struct arena arena;

    (void)state;
    ask("a");
    commit();
    struct loaded *old = stored();
    arena_init(&arena, 4096);
    ask_answer(world.engine, old->asks[0].id,
               &(struct answer){ .action = ASK_ACCEPTED,
                                 .content = json_parse(&arena, STR("{\"n\":1}"), NULL, NULL),
                                 .by = STR("ann"),
                                 .scope = STR("s1"),
                                 .surface = &world.surface,
                                 .attempt = 1 },
               answer_heard, NULL);
    arena_finish(&arena);
    assert_int_equal(world.queued, 1);
    void (*late)(void *) = world.queue[0].fn;
    void *data = world.queue[0].data;
    world.queued = 0; /* the reply to the claim, which has taken the call, comes last */
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(only()->ended, 1);
    again = world_caller_new(&world);
    assert_true(engine_adopt(world.engine, &(struct adopt_spec){ .record = &old->call,
                                                                 .asks = old->asks,
                                                                 .ask_count = old->ask_count,
                                                                 .target = &toy.target,
                                                                 .handed = true,
                                                                 .caller = &again->caller }));
    late(data);
    pass(3000);
    loaded_forget(old);
    assert_string_equal(again->code, "CANCELLED");
    assert_int_equal(only()->ended, 1);
    world_finish(&world);
}

static void cancel_finds_nothing(struct store *store, struct str token, struct str call_id,
                                 struct str why, store_done *done, void *data)
{
    struct id another;

    (void)call_id;
    id_random(&another);
    own.cancel(store, token, id_str(&another), why, done, data);
}

static void its_end_is_told_once_though_somebody_comes_back_with_an_old_record(void **state)
{
    struct world_caller *caller = begin(CALLER_HOLDS), *again;

    (void)state;
    ask("a");
    commit();
    struct loaded *old = stored();
    call_cancel(caller->caller.call, STR("enough"));
    calm();
    assert_int_equal(only()->ended, 1);
    ops.cancel = cancel_finds_nothing; /* the store has forgotten it since */
    again = world_caller_new(&world);
    assert_true(engine_adopt(world.engine, &(struct adopt_spec){ .record = &old->call,
                                                                 .asks = old->asks,
                                                                 .ask_count = old->ask_count,
                                                                 .target = &toy.target,
                                                                 .handed = true,
                                                                 .caller = &again->caller }));
    call_cancel(again->caller.call, STR("once more"));
    pass(3000);
    loaded_forget(old);
    assert_int_equal(again->finished, 1);
    assert_int_equal(only()->ended, 1);
    world_finish(&world);
}

/* --- the name of the home --- */

static void a_node_whose_clock_has_just_begun_says_once_that_it_is_a_home(void **state)
{
    (void)state;
    world_begins();
    world.clock.mono = 0;
    call_live(CALLER_HOLDS);
    for (int i = 0; i < 100 && world_turn(&world); i++)
        ;
    assert_int_equal(homes_put, 1);
    calm();
    ends("");
}

SUBJECT(live_home)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_on_when_a_node_that_took_its_call_has_given_it_back),
        cmocka_unit_test(it_goes_on_when_a_node_that_took_its_call_has_died),
        cmocka_unit_test(what_it_writes_meanwhile_is_stored_when_its_call_is_back),
        cmocka_unit_test(an_end_that_was_refused_meanwhile_is_stored_when_its_call_is_back),
        cmocka_unit_test(a_cancel_meanwhile_ends_it),
        cmocka_unit_test(what_was_stored_before_another_node_took_its_call_is_stored_once),
        cmocka_unit_test(it_is_kept_when_an_old_look_shows_a_question_that_has_ended_since),
        cmocka_unit_test(a_call_that_has_ended_is_not_begun_again),
        cmocka_unit_test(its_end_is_told_once_though_somebody_comes_back_with_an_old_record),
        cmocka_unit_test(a_node_whose_clock_has_just_begun_says_once_that_it_is_a_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
