/*
 * tests/unit/core/version: a call goes on only with the version of its target that it began with.
 *
 * The call begins at a node with version 1. The node of the world has version 2 then. In some tests
 * another node shares the store, and has version 1.
 */
#include "loaded.h"

#include <stdio.h>
#include <string.h>

#include "../runner.h"
#include "core/inside.h"

static struct world world;
static struct store_ops own, ops; /* the store's own, and with the versions of calls */
static struct engine *other;
static struct catalog *here, *there;
static struct target first; /* what the other node has */
static struct loaded loaded;
static char call_name[ID_LEN + 1];
static int runs[3]; /* of each version */

enum { TTL_MS = 600000, PASS_MS = 100 };

#define ACCEPT_3 "{\"n\":3}"

/* --- a store that keeps the versions of calls, as those that outlive a process do --- */

static int64_t began; /* of the one call there is */

static struct passed_on {
    store_done *done;
    store_row_fn *row;
    void *data;
} passed[1024];
static size_t passed_count;

static struct passed_on *pass_on(store_done *done, store_row_fn *row, void *data)
{
    struct passed_on *on = &passed[passed_count++ % 1024];

    *on = (struct passed_on){ .done = done, .row = row, .data = data };
    return on;
}

static void with_version(void *data, nod_status status, const struct store_reply *reply)
{
    struct passed_on *on = data;
    struct store_reply told = reply ? *reply : (struct store_reply){ 0 };
    struct call_record call;

    if (told.call) {
        call = *told.call;
        call.version = began;
        told.call = &call;
    }
    on->done(on->data, status, reply ? &told : NULL);
}

static void row_with_version(void *data, const struct store_row *row)
{
    struct passed_on *on = data;
    struct store_row shown = *row;
    struct call_record call;

    if (row->call) {
        call = *row->call;
        call.version = began;
        shown.call = &call;
    }
    on->row(on->data, &shown);
}

static void park(struct store *store, const struct park_spec *spec, store_done *done, void *data)
{
    if (spec->open)
        began = spec->open->version;
    own.park(store, spec, done, data);
}

static void append(struct store *store, const struct append_spec *spec, store_done *done,
                   void *data)
{
    if (spec->open)
        began = spec->open->version;
    own.append(store, spec, done, data);
}

static void claim(struct store *store, const struct claim_spec *spec, store_done *done, void *data)
{
    own.claim(store, spec, with_version, pass_on(done, NULL, data));
}

static void take(struct store *store, const struct take_spec *spec, store_done *done, void *data)
{
    own.take(store, spec, with_version, pass_on(done, NULL, data));
}

static void load_call(struct store *store, struct str call_id, store_done *done, void *data)
{
    own.load_call(store, call_id, with_version, pass_on(done, NULL, data));
}

static void scan(struct store *store, const struct store_scan *spec, store_row_fn *row,
                 store_done *done, void *data)
{
    own.scan(store, spec, row_with_version, with_version, pass_on(done, row, data));
}

/* --- two nodes --- */

static void count_run(const struct run *run)
{
    runs[run->target->version[0]]++;
}

static nod_status asks_then_steps(struct run *run, struct str *body)
{
    const struct entry *answer;

    count_run(run);
    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    NOD_TRY(world_step(run, &world, "only", false));
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

/* Two steps before the question, and the second must not be repeated. */
static nod_status steps_then_asks(struct run *run, struct str *body)
{
    const struct entry *answer;

    count_run(run);
    NOD_TRY(world_step(run, &world, "one", false));
    NOD_TRY(world_step(run, &world, "two", true));
    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    NOD_TRY(world_step(run, &world, "three", false));
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

static struct world_caller *adopter;

static void orphan(void *data, const struct call_record *record)
{
    struct target *target = data;

    if (data == &first && other->stopping)
        return;
    adopter = world_caller_new(&world);
    engine_adopt(
        data == &first ? other : world.engine,
        &(struct adopt_spec){ .record = record, .target = target, .caller = &adopter->caller });
}

static void pass(int64_t ms)
{
    for (int64_t at = 0; at < ms; at += PASS_MS) {
        world_advance(&world, PASS_MS);
        if (other)
            engine_tick(other);
        world_settle(&world);
    }
}

/* The node of the world is started anew, with this version. */
static void start(unsigned char version)
{
    engine_stop(world.engine);
    world_settle(&world);
    engine_destroy(world.engine);
    world_settle(&world);
    world_engine(&world);
    world.target.version[0] = version;
    engine_use_catalog(world.engine, here);
    engine_recover(world.engine,
                   &(struct recovery_opts){ .orphan = orphan, .data = &world.target });
    pass(1000);
}

static void other_defers(void *ctx, void (*fn)(void *data), void *data)
{
    (void)ctx;
    assert_true(world.queued < WORLD_QUEUE_MAX);
    world.queue[world.queued].fn = fn;
    world.queue[world.queued++].data = data;
}

static void other_starts(void)
{
    other = engine_create(&(struct engine_opts){ .clock = &world.clock.clock,
                                                 .store = world.store,
                                                 .defer = other_defers,
                                                 .defer_ctx = &world,
                                                 .node = STR("other"),
                                                 .ask_ttl_ms = TTL_MS });
    engine_use_catalog(other, there);
    engine_recover(other, &(struct recovery_opts){ .orphan = orphan, .data = &first });
    pass(1000);
}

static void begin(world_handler *handler, bool shared)
{
    world_init(&world, &(struct world_opts){ .handler = handler, .ttl_ms = TTL_MS });
    memset(runs, 0, sizeof(runs));
    adopter = NULL;
    began = 0;
    own = ops = *world.store->ops;
    ops.durable = true;
    ops.shared = shared;
    ops.park = park;
    ops.append = append;
    ops.claim = claim;
    ops.take = take;
    ops.load_call = load_call;
    ops.scan = scan;
    ops.load_with_asks = NULL;
    world.store->ops = &ops;
    here = catalog_create();
    there = catalog_create();
    assert_int_equal(catalog_add(here, &world.target), NOD_OK);
    first = world.target;
    first.version[0] = 1;
    assert_int_equal(catalog_add(there, &first), NOD_OK);
    start(1);
}

static void end(void)
{
    arena_finish(&loaded.arena);
    memset(&loaded, 0, sizeof(loaded));
    world.store->ops->destroy(world.store);
    if (other)
        engine_destroy(other);
    other = NULL;
    engine_destroy(world.engine);
    world.engine = NULL;
    world_settle(&world);
    catalog_destroy(here);
    catalog_destroy(there);
}

/* Version 1 begins a call, and asks. Its client leaves. */
static void call_asks(void)
{
    struct world_caller *caller = world_caller_new(&world);

    caller->way = CALLER_LEAVES;
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller_record = STR("{\"who\":1}"),
                                                   .handed = true,
                                                   .caller = &caller->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
}

static struct str token(void)
{
    static struct id id;

    id_random(&id);
    return id_str(&id);
}

static void done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    (void)reply;
    assert_int_equal(status, NOD_OK);
}

static void load(void)
{
    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
    assert_int_equal(loaded.status, NOD_OK);
}

/* At a node where the call does not wait. */
static void answered(void)
{
    load();
    assert_int_equal(loaded.ask_count, 1);
    own.claim(world.store,
              &(struct claim_spec){ .token = token(),
                                    .items = &(struct claim_item){ .ask_id = loaded.asks[0].id,
                                                                   .outcome = ASK_ACCEPTED,
                                                                   .content = STR(ACCEPT_3) },
                                    .count = 1,
                                    .by = STR("ann"),
                                    .handed = true },
              done, NULL);
    world_settle(&world);
}

static struct world_caller *comes_back(void)
{
    struct world_caller *caller = world_caller_new(&world);

    load();
    loaded.call.handed = true;
    assert_true(loaded_adopt(&loaded, &world, caller, false));
    world_settle(&world);
    pass(5 * PASS_MS); /* it is read which versions other nodes have */
    return caller;
}

static void assert_changed(const struct world_caller *caller)
{
    assert_non_null(caller);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, OUTCOME_TARGET_CHANGED);
    assert_int_equal(runs[2], 0);
}

static void assert_stored_changed(enum call_state as)
{
    load();
    assert_int_equal(loaded.call.state, as);
    assert_true(str_find(loaded.call.result, STR(OUTCOME_TARGET_CHANGED)) > 0);
}

/* --- one node --- */

static void an_answered_call_that_nobody_works_on_ends_under_another_version(void **state)
{
    (void)state;
    begin(asks_then_steps, false);
    call_asks();
    start(2);
    answered();
    pass(3000);
    assert_changed(adopter);
    assert_non_null(strstr(adopter->message, "No step was done."));
    assert_stored_changed(CALL_STORED_FINISHED);
    assert_int_equal(world.steps_done, 0);
    end();
}

static void an_answered_call_that_its_client_comes_back_for_ends_under_another_version(void **state)
{
    (void)state;
    begin(asks_then_steps, false);
    call_asks();
    answered();
    start(1); /* its own version goes on with it */
    assert_int_equal(adopter->finished, 1);
    assert_string_equal(adopter->body, "{\"done\":true}");
    end();

    begin(asks_then_steps, false);
    call_asks();
    world.target.version[0] = 2;
    answered();
    struct world_caller *back = comes_back();
    assert_changed(back);
    assert_stored_changed(CALL_STORED_FINISHED);
    end();
}

static void a_call_that_ran_where_nobody_lives_ends_under_another_version(void **state)
{
    (void)state;
    begin(steps_then_asks, false);
    call_asks();
    assert_int_equal(world.steps_done, 2);
    answered();
    world.target.version[0] = 2;
    load();
    loaded.call.state = CALL_STORED_RUNNING; /* as it was seen, before its node fell silent */
    struct world_caller *back = world_caller_new(&world);
    assert_true(loaded_adopt(&loaded, &world, back, false));
    world_settle(&world);
    assert_changed(back);
    assert_non_null(strstr(back->message, "Done before: 'one', 'two'."));
    assert_non_null(strstr(back->message, "may have been done"));
    load();
    assert_true(str_find(loaded.call.result, STR("\"stepsDone\":[\"one\",\"two\"]")) > 0);
    assert_true(str_find(loaded.call.result, STR("\"interrupted\":true")) > 0);
    assert_int_equal(world.steps_done, 2);
    end();
}

static void a_waiting_call_ends_under_another_version_and_says_what_was_done(void **state)
{
    (void)state;
    begin(steps_then_asks, false);
    call_asks();
    start(2);
    struct world_caller *back = comes_back();
    assert_changed(back);
    assert_int_equal(back->asked, 0);
    assert_non_null(strstr(back->message, "no answer was taken. Done before: 'one', 'two'."));
    assert_stored_changed(CALL_STORED_CANCELLED);
    end();
}

static void an_answer_to_a_waiting_call_of_another_version_is_not_taken(void **state)
{
    (void)state;
    begin(steps_then_asks, false);
    call_asks();
    start(2);
    load();
    char ask[ID_LEN + 1];
    snprintf(ask, sizeof(ask), STR_FMT, STR_ARG(loaded.asks[0].id));
    world_answer(&world, ask, ASK_ACCEPTED, ACCEPT_3, "ann", 0);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_int_equal(world.last.state, ASK_WITHDRAWN);
    assert_stored_changed(CALL_STORED_CANCELLED);
    assert_true(str_find(loaded.call.result, STR("\"stepsDone\":[\"one\",\"two\"]")) > 0);
    end();
}

/* A store that does not outlive the process says no version: the client's state does. */
static void a_version_that_only_the_client_knows_counts_too(void **state)
{
    (void)state;
    begin(asks_then_steps, false);
    call_asks();
    int64_t version = began;
    world.target.version[0] = 2;
    answered();
    began = 0;
    load();
    loaded.call.version = version;
    struct world_caller *back = world_caller_new(&world);
    assert_true(loaded_adopt(&loaded, &world, back, false));
    world_settle(&world);
    assert_changed(back);
    end();
}

/* --- nodes of both versions --- */

static void while_its_version_lives_an_orphan_is_left_to_it(void **state)
{
    (void)state;
    begin(asks_then_steps, true);
    call_asks();
    start(2);
    other_starts();
    answered();
    pass(5000);
    assert_non_null(adopter);
    assert_string_equal(adopter->body, "{\"done\":true}");
    assert_int_equal(runs[2], 0);
    assert_int_equal(world.steps_done, 1);
    end();
}

/* It ran on a node that died, and the nodes that are left have other versions. */
static void a_suspect_is_left_to_a_node_of_its_version(void **state)
{
    (void)state;
    begin(asks_then_steps, true);
    call_asks();
    answered();
    own.take(
        world.store,
        &(struct take_spec){ .token = token(), .call_id = str_of(call_name), .node = STR("dead") },
        done, NULL);
    world_settle(&world);
    memory_store_lose(world.store, str_of(call_name), true);
    start(2);
    other_starts();
    pass(10000);
    assert_non_null(adopter);
    assert_string_equal(adopter->body, "{\"done\":true}");
    assert_int_equal(runs[2], 0);
    assert_int_equal(world.steps_done, 1);
    end();
}

static void an_orphan_ends_when_the_last_node_of_its_version_is_gone(void **state)
{
    (void)state;
    begin(asks_then_steps, true);
    call_asks();
    start(2);
    other_starts();
    struct engine *stuck = other; /* it lives, as its record says, and takes nothing */
    other = NULL;
    answered();
    pass(RECOVERY_NODE_TTL_MS - 2000);
    assert_null(adopter);
    load();
    assert_int_equal(loaded.call.state, CALL_STORED_RUNNABLE);
    pass(5000);
    assert_changed(adopter);
    other = stuck;
    end();
}

static void a_node_that_was_told_to_stop_keeps_no_version_alive(void **state)
{
    (void)state;
    begin(asks_then_steps, true);
    call_asks();
    start(2);
    other_starts();
    engine_stop(other);
    answered();
    pass(4000);
    assert_changed(adopter);
    end();
}

/* The client is asked here, its answer counts, and the other node goes on. */
static void a_client_that_comes_to_a_node_of_another_version_gets_the_result_of_its_own(
    void **state)
{
    (void)state;
    begin(asks_then_steps, true);
    call_asks();
    start(2);
    other_starts();
    struct world_caller *back = comes_back();
    assert_int_equal(back->finished, 0);
    assert_int_equal(back->asked, 1);
    struct shown *shown = world_up(&world);
    assert_non_null(shown);
    world_answer(&world, shown->id, ASK_ACCEPTED, ACCEPT_3, "ann", shown->attempt);
    assert_int_equal(world.last.status, NOD_OK);
    pass(5000);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"done\":true}");
    assert_int_equal(runs[2], 0);
    assert_int_equal(world.steps_done, 1);
    end();
}

static void a_client_that_comes_for_an_answered_call_of_another_version_waits_for_it(void **state)
{
    (void)state;
    begin(asks_then_steps, true);
    call_asks();
    start(2);
    other_starts();
    answered();
    struct world_caller *back = comes_back();
    assert_int_equal(back->finished, 0);
    pass(5000);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"done\":true}");
    assert_int_equal(runs[2], 0);
    end();
}

/* It waits here for its own version, and nobody has that any more. */
static void a_client_that_waits_for_a_version_is_told_when_it_is_gone(void **state)
{
    (void)state;
    begin(asks_then_steps, true);
    call_asks();
    start(2);
    other_starts();
    struct world_caller *back = comes_back();
    assert_int_equal(back->asked, 1);
    engine_stop(other);
    pass(5000);
    assert_changed(back);
    assert_stored_changed(CALL_STORED_CANCELLED);
    end();
}

/* An answer somewhere else, while the client waits here. */
static void a_client_that_waits_for_a_version_hears_of_answers_elsewhere(void **state)
{
    (void)state;
    begin(asks_then_steps, true);
    call_asks();
    start(2);
    other_starts();
    struct world_caller *back = comes_back();
    pass(3000);
    answered();
    pass(5000);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"done\":true}");
    end();
}

/* --- replaced while they wait --- */

static struct target second; /* what replaces the target of the world */

static void replaced(void)
{
    second = world.target;
    second.version[0] = 2;
    assert_int_equal(catalog_replace(here, &world.target, &second), NOD_OK);
    engine_targets_changed(world.engine, true);
    pass(5 * PASS_MS);
}

static struct world_caller *call_is_held(void)
{
    struct world_caller *caller = world_caller_new(&world);

    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller_record = STR("{\"who\":1}"),
                                                   .handed = true,
                                                   .caller = &caller->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
    assert_int_equal(caller->asked, 1);
    return caller;
}

static void a_call_whose_target_is_replaced_is_left_to_a_node_of_its_version(void **state)
{
    (void)state;
    begin(asks_then_steps, true);
    other_starts();
    struct world_caller *caller = call_is_held();
    replaced();
    assert_int_equal(world.target.in_use, 0);
    assert_int_equal(caller->finished, 0);
    struct shown *shown = world_up(&world); /* its client is asked here, as before */
    assert_non_null(shown);
    world_answer(&world, shown->id, ASK_ACCEPTED, ACCEPT_3, "ann", shown->attempt);
    assert_int_equal(world.last.status, NOD_OK);
    pass(5000);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"done\":true}");
    assert_int_equal(runs[2], 0);
    assert_int_equal(world.steps_done, 1);
    end();
}

static void a_call_whose_target_is_replaced_ends_when_no_node_has_its_version(void **state)
{
    (void)state;
    begin(steps_then_asks, true);
    other_starts();
    struct world_caller *caller = call_is_held();
    replaced();
    assert_int_equal(caller->finished, 0);
    engine_stop(other);
    pass(7000);
    assert_changed(caller);
    assert_non_null(strstr(caller->message, "no answer was taken. Done before: 'one', 'two'."));
    assert_stored_changed(CALL_STORED_CANCELLED);
    end();
}

static nod_status steps_twice(struct run *run, struct str *body)
{
    count_run(run);
    NOD_TRY(world_step(run, &world, "one", false));
    NOD_TRY(world_step(run, &world, "two", false));
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

/* The step that is under way here is stored, and the other node does the next. */
static void a_run_whose_target_is_replaced_leaves_its_call_to_a_node_of_its_version(void **state)
{
    (void)state;
    begin(steps_twice, true);
    other_starts();
    world.blocking = true;
    struct world_caller *caller = world_caller_new(&world);
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller_record = STR("{\"who\":1}"),
                                                   .handed = true,
                                                   .caller = &caller->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
    replaced();
    world.blocking = false;
    struct run *run = world.held;
    world.held = NULL;
    struct str body = STR_NONE;
    nod_status status = steps_twice(run, &body);
    run_done(run, status, body);
    pass(5000);
    assert_int_equal(world.target.in_use, 0);
    assert_int_equal(world.steps_done, 2);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"done\":true}");
    assert_int_equal(runs[2], 0);
    end();
}

SUBJECT(version)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answered_call_that_nobody_works_on_ends_under_another_version),
        cmocka_unit_test(
            an_answered_call_that_its_client_comes_back_for_ends_under_another_version),
        cmocka_unit_test(a_call_that_ran_where_nobody_lives_ends_under_another_version),
        cmocka_unit_test(a_waiting_call_ends_under_another_version_and_says_what_was_done),
        cmocka_unit_test(an_answer_to_a_waiting_call_of_another_version_is_not_taken),
        cmocka_unit_test(a_version_that_only_the_client_knows_counts_too),
        cmocka_unit_test(while_its_version_lives_an_orphan_is_left_to_it),
        cmocka_unit_test(a_suspect_is_left_to_a_node_of_its_version),
        cmocka_unit_test(an_orphan_ends_when_the_last_node_of_its_version_is_gone),
        cmocka_unit_test(a_node_that_was_told_to_stop_keeps_no_version_alive),
        cmocka_unit_test(
            a_client_that_comes_to_a_node_of_another_version_gets_the_result_of_its_own),
        cmocka_unit_test(a_client_that_comes_for_an_answered_call_of_another_version_waits_for_it),
        cmocka_unit_test(a_client_that_waits_for_a_version_is_told_when_it_is_gone),
        cmocka_unit_test(a_client_that_waits_for_a_version_hears_of_answers_elsewhere),
        cmocka_unit_test(a_call_whose_target_is_replaced_is_left_to_a_node_of_its_version),
        cmocka_unit_test(a_call_whose_target_is_replaced_ends_when_no_node_has_its_version),
        cmocka_unit_test(a_run_whose_target_is_replaced_leaves_its_call_to_a_node_of_its_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
