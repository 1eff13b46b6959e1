/*
 * tests/unit/core/suspects: calls that were running when their node died, rule by rule.
 *
 * A call is put into the store as if it ran on a node that is gone (memory_store_lose). Its
 * handlers hold their runs. A death is the end of the engine: the next one finds what it left.
 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "../runner.h"
#include "base/log.h"
#include "core/catalog.h"
#include "core/call_inside.h"

enum { CALLS_MOST = 3000, HELD_MOST = 16, LOOK_MS = 1000, CLEARED_MS = 10000 };

static struct world world;
static struct store_ops ops; /* the store's own, but it survives */
static struct id calls[CALLS_MOST];
static size_t call_count;
static struct run *held[HELD_MOST]; /* runs that are under way, in the order they began */
static size_t held_count;
static size_t begun;                                          /* runs */
static nod_status (*work)(struct run *run, struct str *body); /* NULL: it holds */
static struct world_caller *adopter;
static struct world_caller adopters[CALLS_MOST]; /* if `many` */
static size_t adopted;
static bool many;
static bool leaves_runnable; /* calls that are no suspects are not adopted */
static int64_t version;      /* that its calls began with; 0: not known */

static void start(struct provider *provider, struct run *run)
{
    struct str body = STR("{\"done\":true}");

    (void)provider;
    begun++;
    if (work) {
        nod_status status = work(run, &body);
        run_done(run, status, body);
        return;
    }
    assert_true(held_count < HELD_MOST);
    held[held_count++] = run;
}

static struct provider_ops provider_ops;

static void orphan(void *data, const struct call_record *record)
{
    struct call_record found_so = *record;

    (void)data;
    if (leaves_runnable && record->state == CALL_STORED_RUNNABLE)
        return;
    found_so.version = version;
    if (world.caller_count == WORLD_CALLS_MAX)
        world.caller_count = 0; /* the first are gone by then */
    struct world_caller *made = world_caller_new(&world);
    adopter = many ? &adopters[adopted++ % CALLS_MOST] : made;
    *adopter = (struct world_caller){ .caller.ops = made->caller.ops, .way = CALLER_LEAVES };
    engine_adopt(world.engine, &(struct adopt_spec){ .record = &found_so,
                                                     .target = &world.target,
                                                     .caller = &adopter->caller });
}

static void no_run(struct run *run)
{
    run_done(run, NOD_E_FAILED, STR_NONE); /* its call is gone */
}

static void begin(void)
{
    world_init(&world, &(struct world_opts){ .timeout_ms = 86400000 });
    ops = *world.store->ops;
    ops.durable = true;
    world.store->ops = &ops;
    provider_ops = *world.provider.ops;
    provider_ops.start = start;
    world.provider.ops = &provider_ops;
    world.target.source = STR("tools.c:120");
    call_count = held_count = begun = adopted = 0;
    many = leaves_runnable = false;
    version = 0;
    work = NULL;
}

static void serve(void)
{
    engine_recover(world.engine, &(struct recovery_opts){ .orphan = orphan });
    world_settle(&world);
    for (int i = 0; i < 8; i++) /* what is due now, and what follows from it */
        world_advance(&world, 1);
}

/* Stores a call that runs on a node which is gone. */
static struct str left_running(bool handed, const struct entry *entries, size_t count)
{
    struct id *id = &calls[call_count++], token;

    id_random(id);
    id_random(&token);
    struct call_record open = { .id = id_str(id),
                                .principal = STR("ann"),
                                .scope = STR("s1"),
                                .target = world.target.name,
                                .args = STR("{}"),
                                .caller = STR("{}") };
    ops.append(world.store,
               &(struct append_spec){ .token = id_str(&token),
                                      .open = &open,
                                      .node = STR("gone"),
                                      .call_id = open.id,
                                      .epoch = 1,
                                      .entries = entries,
                                      .entry_count = count,
                                      .handed = handed },
               NULL, NULL);
    world_settle(&world);
    memory_store_lose(world.store, open.id, true);
    return open.id;
}

static void die(void)
{
    world_settle(&world);
    engine_destroy(world.engine);
    while (held_count)
        no_run(held[--held_count]);
    world_settle(&world);
    for (size_t i = 0; i < call_count; i++)
        memory_store_lose(world.store, id_str(&calls[i]), true);
    world_engine(&world);
    serve();
}

static struct call_record found;

static void loaded(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    assert_int_equal(status, NOD_OK);
    found = *reply->call;
}

static const struct call_record *stored(struct str id)
{
    ops.load_call(world.store, id, loaded, NULL);
    world_settle(&world);
    return &found;
}

static void pass(int64_t ms)
{
    for (; ms > 0; ms -= 100)
        world_advance(&world, ms < 100 ? ms : 100);
}

static void end(void)
{
    world.store->ops->destroy(world.store);
    engine_destroy(world.engine);
    while (held_count)
        no_run(held[--held_count]);
    world_settle(&world);
}

static bool has_ended(struct str id)
{
    return stored(id)->state >= CALL_STORED_FINISHED;
}

static void one_that_was_never_counted_is_run_at_once(void **state)
{
    (void)state;
    begin();
    struct str id = left_running(true, NULL, 0);
    serve();
    assert_int_equal(begun, 1);
    assert_int_equal(stored(id)->deaths.late, 1);
    assert_true(stored(id)->deaths.probation);
    end();
}

static void the_third_counted_death_ends_the_call_after_pauses_of_0_1_and_10_seconds(void **state)
{
    (void)state;
    begin();
    struct str id = left_running(true, NULL, 0);
    serve();
    assert_int_equal(begun, 1);
    die();
    pass(900);
    assert_int_equal(begun, 1);
    pass(200);
    assert_int_equal(begun, 2);
    assert_int_equal(stored(id)->deaths.early, 1);
    die();
    pass(9900);
    assert_int_equal(begun, 2);
    pass(200);
    assert_int_equal(begun, 3);
    assert_int_equal(stored(id)->deaths.early, 2);
    die();
    pass(100);
    assert_int_equal(begun, 3);
    assert_true(has_ended(id));
    assert_int_equal(adopter->finished, 1);
    assert_int_equal(adopter->status, NOD_E_CRASHED);
    assert_string_equal(adopter->code, "HANDLER_CRASHED");
    end();
}

static void where_no_process_lives_for_long_the_third_run_comes_by_the_clock_of_the_store(
    void **state)
{
    (void)state;
    begin();
    left_running(true, NULL, 0);
    serve();
    die();
    pass(1100);
    assert_int_equal(begun, 2);
    for (int64_t ms = 1000; ms < 19000; ms += 4000) { /* since then */
        pass(ms == 1000 ? 900 : 4000);
        assert_int_equal(begun, 2);
        die();
    }
    pass(4500);
    assert_int_equal(begun, 3);
    end();
}

static void an_open_step_makes_its_outcome_unknown(void **state)
{
    struct entry entries[] = { { .class = ENTRY_INTENT, .key = STR("a") },
                               { .class = ENTRY_STEP, .key = STR("a") },
                               { .class = ENTRY_INTENT, .key = STR("b") } };
    (void)state;

    for (size_t count = 2; count <= 3; count++) {
        begin();
        struct str id = left_running(true, entries, count);
        serve();
        for (int i = 0; i < 3; i++) {
            die();
            pass(i == 0 ? 1100 : 10100); /* not so long that it is cleared */
            if (i < 2)
                assert_false(has_ended(id));
        }
        assert_true(has_ended(id));
        assert_string_equal(adopter->code, count == 2 ? "HANDLER_CRASHED" : "OUTCOME_UNKNOWN");
        end();
    }
}

/* Its target has changed meanwhile. A run would be of another version, and might be what crashes.
 */
static void a_suspect_of_another_version_ends_and_is_not_run(void **state)
{
    struct entry entries[] = { { .class = ENTRY_INTENT, .key = STR("a") },
                               { .class = ENTRY_STEP, .key = STR("a") } };
    FILE *log = tmpfile();
    char line[1024];

    (void)state;
    begin();
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_INFO, .fd = fileno(log) });
    world.target.version[0] = 1;
    version = target_version(&world.target);
    world.target.version[0] = 2;
    struct str id = left_running(true, entries, 2);
    serve();
    pass(100);
    assert_int_equal(begun, 0);
    assert_true(has_ended(id));
    assert_int_equal(adopter->finished, 1);
    assert_string_equal(adopter->code, OUTCOME_TARGET_CHANGED);
    assert_non_null(strstr(adopter->message, "Done before: 'a'."));
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR, .fd = 2 });
    rewind(log);
    while (fgets(line, sizeof(line), log))
        assert_null(strstr(line, "a call is run again"));
    fclose(log);
    end();
}

static void suspects_are_run_one_at_a_time(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 3; i++)
        left_running(true, NULL, 0);
    serve();
    assert_int_equal(begun, 1);
    pass(CLEARED_MS - 500);
    assert_int_equal(begun, 1);
    pass(1000); /* the first has run for long enough */
    assert_int_equal(begun, 2);
    struct run *second = held[1];
    held[1] = NULL;
    held_count = 1;
    run_done(second, NOD_OK, STR("{}")); /* the second ends, and the third begins */
    pass(500);
    assert_int_equal(begun, 3);
    end();
}

static nod_status asks(struct run *run, struct str *body)
{
    const struct entry *answer;

    (void)body;
    return world_ask(run, NULL, "How many?", world_ask_form, &answer);
}

static nod_status steps(struct run *run, struct str *body)
{
    (void)body;
    if (!journal_find(run->journal, run->journal_count, ENTRY_STEP, STR("s")))
        return world_step(run, &world, "s", false);
    return world_ask(run, NULL, "How many?", world_ask_form, &(const struct entry *){ 0 });
}

static void a_suspect_that_commits_anything_is_cleared(void **state)
{
    nod_status (*const ways[])(struct run *, struct str *) = { asks, steps };
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        begin();
        struct str first = left_running(true, NULL, 0), other = left_running(true, NULL, 0);
        work = ways[i];
        serve();
        pass(200);
        assert_int_equal(stored(first)->state, CALL_STORED_WAITING);
        assert_int_equal(stored(other)->state, CALL_STORED_WAITING); /* it had its turn */
        assert_int_equal(stored(first)->deaths.late, 0);
        assert_false(stored(first)->deaths.probation);
        end();
    }
}

static void deaths_later_in_a_run_end_it_at_the_tenth(void **state)
{
    (void)state;
    begin();
    struct str id = left_running(true, NULL, 0);
    serve();
    for (unsigned i = 1; i < 9; i++) {
        pass(CLEARED_MS + 500);
        assert_false(stored(id)->deaths.probation);
        die();
        assert_int_equal(begun, i + 1);
        assert_int_equal(stored(id)->deaths.late, i + 1);
        assert_int_equal(stored(id)->deaths.early, 0);
    }
    pass(CLEARED_MS + 500);
    die();
    pass(100);
    assert_int_equal(begun, 9);
    assert_true(has_ended(id));
    assert_string_equal(adopter->code, "HANDLER_CRASHED");
    end();
}

/* The node "gone" says that it was told to stop. */
static void say_that_it_left(void)
{
    struct engine *gone = engine_create(&(struct engine_opts){
        .clock = &world.clock.clock, .store = world.store, .node = STR("gone") });

    engine_leave(gone);
    world_settle(&world);
    engine_destroy(gone);
    engine_use_store(world.engine, world.store); /* who is hinted */
}

static void what_a_node_leaves_that_was_told_to_stop_is_run_at_once_and_counts_nothing(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 3; i++)
        left_running(true, NULL, 0);
    say_that_it_left();
    serve();
    for (size_t i = 1; i <= 12; i++) {
        assert_int_equal(begun, 3 * i);
        for (size_t at = 0; at < call_count; at++) {
            assert_int_equal(stored(id_str(&calls[at]))->deaths.late, 0);
            assert_false(stored(id_str(&calls[at]))->deaths.probation);
        }
        die();
    }
    end();
}

static void a_client_that_comes_back_waits_with_its_suspect_and_gets_the_result(void **state)
{
    (void)state;
    begin();
    struct str id = left_running(false, NULL, 0); /* not handed: nobody else brings it on */
    serve();
    pass(3000);
    assert_int_equal(begun, 0);
    struct world_caller *client = world_caller_new(&world);
    struct call_record record = *stored(id);
    engine_adopt(world.engine, &(struct adopt_spec){ .record = &record,
                                                     .target = &world.target,
                                                     .caller = &client->caller });
    pass(500);
    assert_int_equal(begun, 1);
    held_count = 0;
    run_done(held[0], NOD_OK, STR("{\"n\":1}"));
    world_settle(&world);
    assert_int_equal(client->finished, 1);
    assert_string_equal(client->body, "{\"n\":1}");
    end();
}

/* A client that asks again and again for a short time does not begin the pause anew. */
static void the_pause_is_measured_from_the_first_sighting(void **state)
{
    (void)state;
    begin();
    struct str id = left_running(false, NULL, 0);
    serve();
    for (int deaths = 0; deaths < 3; deaths++) {
        for (int i = 0; i < 14 && begun == (size_t)deaths; i++) {
            world.caller_count = 0;
            struct world_caller *client = world_caller_new(&world);
            struct call_record record = *stored(id);
            engine_adopt(world.engine, &(struct adopt_spec){ .record = &record,
                                                             .target = &world.target,
                                                             .caller = &client->caller });
            pass(900);
            if (begun == (size_t)deaths)
                call_caller_left(client->caller.call);
            pass(100);
        }
        assert_int_equal(begun, deaths + 1);
        if (deaths < 2)
            die();
    }
    assert_int_equal(stored(id)->deaths.early, 2);
    end();
}

static void make_runnable(struct str id)
{
    struct id token;

    id_random(&token);
    memory_store_lose(world.store, id, false);
    ops.park(
        world.store,
        &(struct park_spec){
            .token = id_str(&token), .node = STR("x"), .call_id = id, .epoch = 1, .handed = true },
        NULL, NULL);
    world_settle(&world);
}

static void what_else_can_be_run_comes_first(void **state)
{
    (void)state;
    begin();
    struct str suspect = left_running(true, NULL, 0), other = left_running(true, NULL, 0);
    make_runnable(other);
    serve();
    assert_int_equal(begun, 2);
    assert_true(str_eq(held[0]->call_id, other));
    assert_true(str_eq(held[1]->call_id, suspect));
    end();
}

static nod_status ends(struct run *run, struct str *body)
{
    (void)run;
    *body = STR("{}");
    return NOD_OK;
}

static size_t ended_count(void)
{
    size_t ended = 0;

    for (size_t i = 0; i < call_count; i++)
        ended += has_ended(id_str(&calls[i]));
    return ended;
}

/* More than one look shows, and more than wait here at a time. */
static void however_many_there_are_all_have_their_turn(void **state)
{
    static const size_t counts[] = { 256, 600, CALLS_MOST };
    static const bool shared[] = { false, true };
    (void)state;

    for (size_t i = 0; i < 6; i++) {
        begin();
        many = true;
        ops.shared = shared[i % 2];
        work = ends;
        for (size_t at = 0; at < counts[i / 2]; at++)
            left_running(true, NULL, 0);
        serve();
        for (int64_t ms = 0; ms < 60 * LOOK_MS && begun < call_count; ms += 5)
            world_advance(&world, 5);
        pass(LOOK_MS);
        assert_int_equal(begun, call_count);
        assert_int_equal(ended_count(), call_count);
        end();
    }
}

static size_t waiting_here(void)
{
    struct idmap_walk walk = { 0 };
    size_t count = 0;

    for (struct call *call; (call = idmap_next(&world.engine->calls, &walk));)
        count += call->suspect != NULL;
    return count;
}

/* The first of them holds its run, so the others wait: few here, the rest in the store. */
static void of_many_few_wait_here(void **state)
{
    (void)state;
    begin();
    many = true;
    for (int i = 0; i < 600; i++)
        left_running(true, NULL, 0);
    serve();
    pass(5 * LOOK_MS);
    assert_int_equal(begun, 1);
    assert_in_range(waiting_here(), 32, 64);
    assert_in_range(adopted, 32, 80);
    pass(CLEARED_MS);
    assert_int_equal(begun, 2); /* the first has run for long enough */
    end();
}

/* Nor does it matter how many calls there are that nobody takes here. */
static void calls_that_are_left_to_others_hide_no_suspect(void **state)
{
    (void)state;
    begin();
    leaves_runnable = true;
    work = ends;
    for (int i = 0; i < 600; i++)
        make_runnable(left_running(true, NULL, 0));
    struct str id = left_running(true, NULL, 0);
    serve();
    pass(2 * LOOK_MS);
    assert_int_equal(begun, 1);
    assert_true(has_ended(id));
    end();
}

SUBJECT(suspects)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_was_never_counted_is_run_at_once),
        cmocka_unit_test(the_third_counted_death_ends_the_call_after_pauses_of_0_1_and_10_seconds),
        cmocka_unit_test(
            where_no_process_lives_for_long_the_third_run_comes_by_the_clock_of_the_store),
        cmocka_unit_test(an_open_step_makes_its_outcome_unknown),
        cmocka_unit_test(a_suspect_of_another_version_ends_and_is_not_run),
        cmocka_unit_test(suspects_are_run_one_at_a_time),
        cmocka_unit_test(a_suspect_that_commits_anything_is_cleared),
        cmocka_unit_test(deaths_later_in_a_run_end_it_at_the_tenth),
        cmocka_unit_test(
            what_a_node_leaves_that_was_told_to_stop_is_run_at_once_and_counts_nothing),
        cmocka_unit_test(a_client_that_comes_back_waits_with_its_suspect_and_gets_the_result),
        cmocka_unit_test(the_pause_is_measured_from_the_first_sighting),
        cmocka_unit_test(what_else_can_be_run_comes_first),
        cmocka_unit_test(however_many_there_are_all_have_their_turn),
        cmocka_unit_test(of_many_few_wait_here),
        cmocka_unit_test(calls_that_are_left_to_others_hide_no_suspect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
