/*
 * tests/unit/core/recover: calls that no node works on, and calls that another node has taken over.
 *
 * The other nodes are played by operations on the store.
 */
#include "world.h"
#include "../runner.h"
#include "base/log.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static struct world world;
static struct store_ops ops; /* the store's own, but it survives */
static void (*own_beat)(struct store *store, struct str node, int64_t ttl_ms, store_done *done,
                        void *data);
static int beats;
static int beats_fail; /* the next so many */
static bool adopts;
static int shown; /* orphans */
static struct world_caller *adopter;
static char call_name[ID_LEN + 1];

enum { TTL_MS = 60000, LOOK_MS = 1000 };

static nod_status asks_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = arena_fmt(&run->arena, "{\"state\":\"" STR_FMT "\"}",
                      STR_ARG(ask_state_name(answer->state)));
    return NOD_OK;
}

static nod_status asks_twice(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, "one", "How many?", world_ask_form, &answer));
    NOD_TRY(world_ask(run, "two", "Really?", world_ask_form, &answer));
    *body = STR("{\"ours\":true}");
    return NOD_OK;
}

static nod_status asks_then_steps(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    NOD_TRY(world_step(run, &world, "step", false));
    *body = STR("{\"ours\":true}");
    return NOD_OK;
}

static nod_status wants_two(struct run *run, struct str *body)
{
    const struct entry *a, *b;
    nod_status first = world_ask(run, "a", "A?", world_ask_form, &a);
    nod_status second = world_ask(run, "b", "B?", world_ask_form, &b);

    if (first == NOD_PENDING || second == NOD_PENDING)
        return NOD_PENDING;
    *body = STR("{\"ours\":true}");
    return NOD_OK;
}

static void count_beat(struct store *store, struct str node, int64_t ttl_ms, store_done *done,
                       void *data)
{
    assert_true(ttl_ms > 0);
    beats++;
    if (beats_fail > 0 && beats_fail--)
        done(data, NOD_E_STORE, NULL);
    else
        own_beat(store, node, ttl_ms, done, data);
}

static void orphan(void *data, const struct call_record *record)
{
    (void)data;
    shown++;
    assert_true(str_eq(record->caller, STR("{\"who\":1}")));
    if (!adopts)
        return;
    adopter = world_caller_new(&world);
    assert_true(engine_adopt(world.engine, &(struct adopt_spec){ .record = record,
                                                                 .target = &world.target,
                                                                 .caller = &adopter->caller }));
}

static void begin(world_handler *handler, bool shared)
{
    world_init(&world, &(struct world_opts){ .handler = handler, .ttl_ms = TTL_MS });
    ops = *world.store->ops;
    ops.durable = true;
    ops.shared = shared;
    own_beat = ops.beat;
    ops.beat = count_beat;
    world.store->ops = &ops;
    beats = shown = 0;
    adopts = true;
    adopter = NULL;
    engine_recover(world.engine, &(struct recovery_opts){ .orphan = orphan });
    world_settle(&world);
}

static struct world_caller *call_with(enum caller_way way, bool hold_steps)
{
    struct world_caller *caller = world_caller_new(&world);

    caller->way = way;
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller_record = STR("{\"who\":1}"),
                                                   .handed = true,
                                                   .hold_steps = hold_steps,
                                                   .caller = &caller->caller });
    if (caller->caller.call)
        snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
    return caller;
}

static struct world_caller *call(enum caller_way way)
{
    return call_with(way, false);
}

static void end(void)
{
    world_finish(&world);
}

/* --- another node --- */

static nod_status other_status;
static uint64_t other_epoch;
static char other_ask[ID_LEN + 1];

static void other_done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    other_status = status;
    if (reply && reply->epoch)
        other_epoch = reply->epoch;
}

static struct str token(void)
{
    static struct id id;

    id_random(&id);
    return id_str(&id);
}

static void other_claims(const char *ask, const char *take_for)
{
    ops.claim(world.store,
              &(struct claim_spec){ .token = token(),
                                    .items = &(struct claim_item){ .ask_id = str_of(ask),
                                                                   .outcome = ASK_ACCEPTED,
                                                                   .content = STR("{\"n\":3}") },
                                    .count = 1,
                                    .by = STR("ann"),
                                    .take_for = str_of(take_for) },
              other_done, NULL);
    world_settle(&world);
    assert_int_equal(other_status, NOD_OK);
}

static void other_takes(void)
{
    ops.take(
        world.store,
        &(struct take_spec){ .token = token(), .call_id = str_of(call_name), .node = STR("other") },
        other_done, NULL);
    world_settle(&world);
    assert_int_equal(other_status, NOD_OK);
}

static void other_finishes(void)
{
    struct buf result;

    buf_init(&result, 1 << 16);
    outcome_write(&result, &(struct outcome){ .status = NOD_OK, .body = STR("{\"theirs\":true}") });
    ops.finish(world.store,
               &(struct finish_spec){ .token = token(),
                                      .call_id = str_of(call_name),
                                      .epoch = other_epoch,
                                      .result = buf_str(&result) },
               other_done, NULL);
    world_settle(&world);
    buf_finish(&result);
}

/* Our node fell silent while it ran in this epoch: somebody else runs the call now. */
static void other_takes_over(uint64_t epoch)
{
    ops.park(world.store,
             &(struct park_spec){ .token = token(),
                                  .node = STR("other"),
                                  .call_id = str_of(call_name),
                                  .epoch = epoch,
                                  .handed = true },
             other_done, NULL);
    world_settle(&world);
    assert_int_equal(other_status, NOD_OK);
    other_takes();
}

static void ask_row(void *data, const struct store_row *row)
{
    (void)data;
    snprintf(other_ask, sizeof(other_ask), STR_FMT, STR_ARG(row->ask->id));
}

static const char *stored_ask(void)
{
    other_ask[0] = '\0';
    ops.scan(world.store,
             &(struct store_scan){ .index = STORE_ASKS_OF_CALL, .key = str_of(call_name) }, ask_row,
             other_done, NULL);
    world_settle(&world);
    assert_string_not_equal(other_ask, "");
    return other_ask;
}

static void looks(int times)
{
    for (int i = 0; i < times; i++)
        world_advance(&world, LOOK_MS);
}

/* --- alive --- */

static void a_node_says_that_it_is_alive_well_before_it_would_count_as_gone(void **state)
{
    begin(asks_once, false);
    (void)state;

    int before = beats;
    assert_true(before >= 1);
    for (int i = 0; i < 50; i++)
        world_advance(&world, RECOVERY_NODE_TTL_MS / 10);
    assert_true(beats - before >= 5 * (RECOVERY_BEATS - 1));
    end();
}

static void a_store_that_does_not_survive_has_nothing_to_recover(void **state)
{
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    (void)state;

    engine_recover(world.engine, &(struct recovery_opts){ .orphan = orphan });
    assert_int_equal(engine_deadline(world.engine), INT64_MAX);
    world_finish(&world);
}

/* Claims fail and looks work: the second look finds what the first is about to end. */
static void an_engine_that_goes_while_questions_are_being_ended_leaves_nothing_behind(void **state)
{
    (void)state;
    begin(asks_once, false);
    call(CALLER_LEAVES);
    world.fail_verb = "claim";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = INT_MAX;
    world_advance(&world, TTL_MS);
    for (int i = 0; i < 15; i++)
        world_advance(&world, 100);
    assert_true(INT_MAX - world.fail_times > 1);
    end();
}

/* --- what nobody works on --- */

static void a_call_that_became_runnable_while_nobody_had_it_is_run_on(void **state)
{
    begin(asks_once, false);
    (void)state;

    call(CALLER_LEAVES);
    other_claims(stored_ask(), "");
    assert_null(adopter);
    looks(2);
    assert_non_null(adopter);
    assert_int_equal(adopter->finished, 1);
    assert_string_equal(adopter->body, "{\"state\":\"accepted\"}");
    assert_int_equal(world.runs, 2);
    looks(3);
    assert_int_equal(shown, 1);
    end();
}

static void where_others_share_the_store_a_call_is_left_alone_until_it_was_seen_twice(void **state)
{
    begin(asks_once, true);
    (void)state;

    call(CALLER_LEAVES);
    other_claims(stored_ask(), "");
    looks(1);
    assert_int_equal(shown, 0);
    looks(1);
    assert_int_equal(shown, 1);
    assert_int_equal(adopter->finished, 1);
    end();
}

/* There are more than one look shows: each of two looks shows another one of two calls. */
static void (*own_scan)(struct store *, const struct store_scan *, store_row_fn *, store_done *,
                        void *);
static int look_count;
static uint64_t look_epoch;

static void scan_in_turn(struct store *store, const struct store_scan *scan, store_row_fn *row,
                         store_done *done, void *data)
{
    static const char *const names[] = { "AAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBA" };

    if (scan->index == STORE_RUNNABLE)
        row(data, &(struct store_row){
                      .call = &(struct call_record){ .id = str_of(names[look_count++ % 2]),
                                                     .state = CALL_STORED_RUNNABLE,
                                                     .epoch = look_epoch,
                                                     .caller = STR("{\"who\":1}") } });
    own_scan(store, scan, row, done, data);
}

/* As many as one look shows, each time the same. */
static void scan_many(struct store *store, const struct store_scan *scan, store_row_fn *row,
                      store_done *done, void *data)
{
    char name[ID_LEN + 1];

    for (int i = 0; scan->index == STORE_RUNNABLE && i < 256; i++) {
        snprintf(name, sizeof(name), "%0*d", ID_LEN, i);
        row(data,
            &(struct store_row){ .call = &(struct call_record){ .id = str_of(name),
                                                                .state = CALL_STORED_RUNNABLE,
                                                                .caller = STR("{\"who\":1}") } });
    }
    look_count += scan->index == STORE_RUNNABLE;
    own_scan(store, scan, row, done, data);
}

static void line12_all_that_one_look_shows_are_known_in_the_next(void **state)
{
    (void)state;
    begin(asks_once, true);
    adopts = false;
    look_count = 0;
    own_scan = ops.scan;
    ops.scan = scan_many;
    for (int i = 0; i < 10 && look_count < 2; i++)
        world_advance(&world, LOOK_MS);
    assert_int_equal(shown, 256);
    world_finish(&world);
}

static void line12_more_calls_than_one_look_shows_are_all_taken_in_the_end(void **state)
{
    (void)state;
    begin(asks_once, true);
    adopts = false;
    look_count = 0;
    look_epoch = 1;
    own_scan = ops.scan;
    ops.scan = scan_in_turn;
    for (int i = 0; i < 10 && look_count < 2; i++)
        world_advance(&world, LOOK_MS);
    assert_int_equal(shown, 0);
    for (int i = 0; i < 10 && look_count < 4; i++)
        world_advance(&world, LOOK_MS);
    assert_int_equal(shown, 2);
    look_epoch++; /* they were taken, and wait to be taken once more */
    for (int i = 0; i < 10 && look_count < 6; i++)
        world_advance(&world, LOOK_MS);
    assert_int_equal(shown, 2);
    for (int i = 0; i < 10 && look_count < 8; i++)
        world_advance(&world, LOOK_MS);
    assert_int_equal(shown, 4);
    world_finish(&world);
}

static void a_call_that_is_not_adopted_is_shown_again(void **state)
{
    begin(asks_once, false);
    (void)state;

    adopts = false;
    call(CALLER_LEAVES);
    other_claims(stored_ask(), "");
    looks(3);
    assert_true(shown >= 2);
    adopts = true;
    looks(1);
    assert_int_equal(adopter->finished, 1);
    end();
}

static void a_question_that_waits_on_no_node_ends_when_its_time_is_up(void **state)
{
    begin(asks_once, false);
    (void)state;

    call(CALLER_LEAVES);
    stored_ask();
    assert_int_equal(engine_pending(world.engine), 0);
    world_advance(&world, TTL_MS - LOOK_MS);
    assert_null(adopter);
    looks(5);
    assert_non_null(adopter);
    assert_int_equal(adopter->finished, 1);
    assert_string_equal(adopter->code, "ELICITATION_TIMEOUT");
    end();
}

static void many_questions_whose_time_is_up_all_end(void **state)
{
    begin(asks_once, false);
    (void)state;

    adopts = false;
    for (int i = 0; i < 1000; i++) {
        world.caller_count = 0;
        call(CALLER_LEAVES);
    }
    world_advance(&world, TTL_MS);
    looks(10);
    other_ask[0] = '\0';
    ops.scan(world.store, &(struct store_scan){ .index = STORE_ASKS_DUE }, ask_row, other_done,
             NULL);
    world_settle(&world);
    assert_string_equal(other_ask, "");
    end();
}

static void a_live_call_whose_hint_was_lost_is_found(void **state)
{
    begin(asks_once, true);
    (void)state;

    ops.watch(world.store, STR("nobody"), NULL, NULL);
    struct world_caller *caller = call(CALLER_HOLDS);
    other_claims(world_up(&world)->id, "");
    assert_int_equal(caller->finished, 0);
    looks(2);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"state\":\"accepted\"}");
    assert_int_equal(shown, 0);
    assert_null(world_up(&world));
    end();
}

/* --- what another node has taken over --- */

static void a_question_answered_and_run_on_elsewhere_brings_their_result(void **state)
{
    begin(asks_once, true);
    (void)state;

    struct world_caller *caller = call(CALLER_HOLDS);
    other_claims(world_up(&world)->id, "other");
    call_wake(caller->caller.call);
    world_settle(&world);
    assert_null(world_up(&world)); /* it is taken down */
    assert_int_equal(caller->finished, 0);
    other_finishes();
    looks(2);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"theirs\":true}");
    assert_int_equal(world.runs, 1);
    end();
}

static void of_two_questions_only_the_one_that_was_answered_elsewhere_is_taken_down(void **state)
{
    begin(wants_two, true);
    (void)state;

    struct world_caller *caller = call(CALLER_HOLDS);
    other_claims(world_up_key(&world, "a")->id, "other");
    call_wake(caller->caller.call);
    world_settle(&world);
    assert_null(world_up_key(&world, "a"));
    assert_non_null(world_up_key(&world, "b"));
    world_answer(&world, world_up_key(&world, "b")->id, ASK_ACCEPTED, "{\"n\":1}", "ann", 0);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"ours\":true}");
    end();
}

static void a_hint_about_nothing_changes_nothing(void **state)
{
    begin(asks_once, true);
    (void)state;

    struct world_caller *caller = call(CALLER_HOLDS);
    call_wake(caller->caller.call);
    world_settle(&world);
    assert_non_null(world_up(&world));
    assert_int_equal(world.shown_count, 1); /* and it is not offered again */
    world_answer(&world, world_up(&world)->id, ASK_ACCEPTED, "{\"n\":1}", "ann", 0);
    assert_int_equal(caller->finished, 1);
    end();
}

/* Ours runs in epoch 2, held; theirs in 4. */
static struct world_caller *taken_over(world_handler *handler)
{
    begin(handler, true);
    struct world_caller *caller = call(CALLER_HOLDS);
    world.blocking = true;
    world_answer(&world, world_up(&world)->id, ASK_ACCEPTED, "{\"n\":1}", "ann", 0);
    assert_non_null(world.held);
    other_takes_over(2);
    assert_true(other_epoch > 2);
    return caller;
}

static void wakes_up(void)
{
    struct run *run = world.held;
    struct str body = STR_NONE;

    world.held = NULL;
    nod_status status = world.handler(run, &body);
    run_done(run, status, body);
    world_settle(&world);
}

static void a_result_in_an_old_epoch_counts_for_nothing_and_theirs_is_delivered(void **state)
{
    struct world_caller *caller = taken_over(asks_once);
    (void)state;

    wakes_up();
    assert_int_equal(caller->finished, 0);
    other_finishes();
    assert_int_equal(other_status, NOD_OK);
    looks(2);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"theirs\":true}");
    end();
}

static void a_result_in_an_old_epoch_after_theirs_is_refused_too(void **state)
{
    struct world_caller *caller = taken_over(asks_once);
    (void)state;

    other_finishes();
    wakes_up();
    looks(1);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"theirs\":true}");
    end();
}

static void a_question_in_an_old_epoch_is_put_to_nobody(void **state)
{
    struct world_caller *caller = taken_over(asks_twice);
    (void)state;

    wakes_up();
    assert_int_equal(world.shown_count, 1); /* the first one */
    other_finishes();
    looks(2);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"theirs\":true}");
    end();
}

static void a_step_in_an_old_epoch_is_not_gone_on_from(void **state)
{
    struct world_caller *caller = taken_over(asks_then_steps);
    (void)state;

    wakes_up();
    assert_int_equal(world.steps_done, 1); /* at least once: theirs has the same key */
    other_finishes();
    looks(2);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"theirs\":true}");
    end();
}

static void what_was_taken_over_and_given_back_is_run_here_again(void **state)
{
    struct world_caller *caller = taken_over(asks_once);
    (void)state;

    wakes_up();
    world.blocking = false;
    ops.park(world.store,
             &(struct park_spec){ .token = token(),
                                  .node = STR("other"),
                                  .call_id = str_of(call_name),
                                  .epoch = other_epoch,
                                  .handed = true },
             other_done, NULL);
    world_settle(&world);
    looks(2);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"state\":\"accepted\"}");
    end();
}

/* --- a node that was stopped, and goes on --- */

static void (*own_claim)(struct store *store, const struct claim_spec *spec, store_done *done,
                         void *data);
static bool others_come; /* while it was stopped */
static struct {
    store_done *done;
    void *data;
} stopped;

/* The reply was on its way when this node was stopped. */
static void goes_on(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    fake_clock_advance(&world.clock, RECOVERY_NODE_TTL_MS + 1000);
    if (others_come) {
        ops.park(world.store,
                 &(struct park_spec){ .token = token(),
                                      .node = STR("other"),
                                      .call_id = str_of(call_name),
                                      .epoch = reply->epoch,
                                      .handed = true },
                 other_done, NULL);
        ops.take(world.store,
                 &(struct take_spec){
                     .token = token(), .call_id = str_of(call_name), .node = STR("other") },
                 other_done, NULL);
    }
    stopped.done(stopped.data, status, reply);
}

static void claim_and_stop(struct store *store, const struct claim_spec *spec, store_done *done,
                           void *data)
{
    stopped.done = done;
    stopped.data = data;
    own_claim(store, spec, goes_on, NULL);
}

static struct world_caller *was_stopped(bool others)
{
    begin(asks_then_steps, true);
    struct world_caller *caller = call(CALLER_HOLDS);

    others_come = others;
    own_claim = ops.claim;
    ops.claim = claim_and_stop;
    world_answer(&world, world_up(&world)->id, ASK_ACCEPTED, "{\"n\":1}", "ann", 0);
    ops.claim = own_claim;
    world_settle(&world);
    return caller;
}

static void a_node_that_was_stopped_does_nothing_of_a_call_that_others_have_taken_over(void **state)
{
    struct world_caller *caller = was_stopped(true);
    (void)state;

    assert_int_equal(world.steps_done, 0);
    other_finishes();
    assert_int_equal(other_status, NOD_OK);
    looks(2);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"theirs\":true}");
    assert_int_equal(world.steps_done, 0);
    end();
}

static void a_node_that_was_stopped_goes_on_with_what_nobody_has_taken(void **state)
{
    struct world_caller *caller = was_stopped(false);
    (void)state;

    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"ours\":true}");
    assert_int_equal(world.steps_done, 1);
    end();
}

/* --- before the first step --- */

static nod_status steps(struct run *run, struct str *body)
{
    NOD_TRY(world_step(run, &world, "step", false));
    *body = STR("{\"ours\":true}");
    return NOD_OK;
}

static void a_call_that_holds_its_steps_is_stored_before_the_first(void **state)
{
    begin(steps, false);
    (void)state;

    world.fail_verb = "append";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 1;
    struct world_caller *caller = call_with(CALLER_HOLDS, true);
    assert_int_equal(world.steps_done, 0); /* the store has not said yes */
    world_advance(&world, 1000);
    world_advance(&world, 0);
    assert_int_equal(world.steps_done, 1);
    assert_int_equal(caller->finished, 1);
    end();
}

static void a_call_that_cannot_be_stored_does_no_step(void **state)
{
    begin(steps, false);
    (void)state;

    world.fail_verb = "append";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = ENGINE_STORE_TRIES;
    struct world_caller *caller = call_with(CALLER_HOLDS, true);
    for (int i = 0; i < 10; i++)
        world_advance(&world, 1000);
    assert_int_equal(world.steps_done, 0);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_STORE);
    end();
}

/* --- ending what is elsewhere --- */

static void a_call_that_is_not_live_is_cancelled_by_its_id(void **state)
{
    begin(asks_once, false);
    (void)state;

    call(CALLER_LEAVES);
    char ask[ID_LEN + 1];
    snprintf(ask, sizeof(ask), "%s", stored_ask());
    engine_cancel(world.engine, str_of(call_name), STR("enough"), NULL, NULL);
    world_settle(&world);
    world_answer(&world, ask, ASK_ACCEPTED, "{\"n\":1}", "ann", 0);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_int_equal(world.last.state, ASK_WITHDRAWN);
    end();
}

static void a_cancel_that_comes_after_their_result_tells_the_result(void **state)
{
    begin(asks_once, true);
    (void)state;

    struct world_caller *caller = call(CALLER_HOLDS);
    other_claims(world_up(&world)->id, "other");
    other_finishes();
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"theirs\":true}");
    end();
}

static void a_call_that_was_opened_first_begins_in_its_epoch(void **state)
{
    static const struct call_spec spec = { .target = &world.target,
                                           .principal = STR_INIT("ann"),
                                           .scope = STR_INIT("s1"),
                                           .caller_record = STR_INIT("{\"who\":1}"),
                                           .handed = true,
                                           .id = STR_INIT("0123456789abcdefghijkl") };

    begin(asks_once, true);
    (void)state;

    assert_int_equal(spec.id.len, ID_LEN);
    engine_open(world.engine, &spec, other_done, NULL);
    world_settle(&world);
    assert_int_equal(other_status, NOD_OK);
    assert_int_equal(world.runs, 0);

    struct world_caller *caller = world_caller_new(&world);
    struct call_spec opened = spec;
    opened.opened = true;
    opened.caller = &caller->caller;
    engine_call(world.engine, &opened);
    world_settle(&world);
    world_answer(&world, world_up(&world)->id, ASK_ACCEPTED, "{\"n\":1}", "ann", 0);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"state\":\"accepted\"}");
    end();
}

static struct shortened { /* the one look that is under way */
    store_done *done;
    void *data;
} shortened;
static void (*own_load)(struct store *store, struct str call_id, store_done *done, void *data);

static void shorten(void *data, nod_status status, const struct store_reply *reply)
{
    struct store_reply seen = *reply;
    struct call_record record = { 0 };

    (void)data;
    if (status == NOD_OK) {
        record.id = reply->call->id;
        record.principal = reply->call->principal;
        record.state = reply->call->state;
        record.forgotten = true;
        seen.call = &record;
    }
    shortened.done(shortened.data, status, &seen);
}

/* As it is when many others have ended since. */
static void load_forgotten(struct store *store, struct str call_id, store_done *done, void *data)
{
    shortened = (struct shortened){ done, data };
    own_load(store, call_id, shorten, NULL);
}

static void line13_an_end_that_is_no_longer_kept_is_not_called_another_request(void **state)
{
    struct call_spec spec = { .target = &world.target,
                              .principal = STR("ann"),
                              .scope = STR("s1"),
                              .keep_ms = 3600000,
                              .named = true,
                              .id = STR("0123456789abcdefghijkl") };

    begin(asks_once, true);
    (void)state;

    struct world_caller *first = world_caller_new(&world);
    spec.caller = &first->caller;
    engine_call(world.engine, &spec);
    world_settle(&world);
    world_answer(&world, world_up(&world)->id, ASK_ACCEPTED, "{\"n\":1}", "ann", 0);
    assert_int_equal(first->finished, 1);

    own_load = ops.load_call;
    ops.load_call = load_forgotten;
    struct world_caller *second = world_caller_new(&world);
    spec.caller = &second->caller;
    engine_call(world.engine, &spec);
    world_settle(&world);
    assert_int_equal(second->finished, 1);
    assert_int_equal(second->status, NOD_E_NOT_FOUND);
    assert_string_equal(second->message, "The call has ended, but its result is no longer known");
    end();
}

static void an_answer_of_another_scope_is_not_found(void **state)
{
    begin(asks_once, false);
    (void)state;

    struct world_caller *caller = call(CALLER_HOLDS);
    ask_answer(world.engine, str_of(world_up(&world)->id),
               &(struct answer){ .action = ASK_DECLINED,
                                 .by = STR("ann"),
                                 .scope = STR("s2"),
                                 .surface = &world.surface },
               NULL, NULL);
    world_settle(&world);
    assert_int_equal(caller->finished, 0);
    assert_non_null(world_up(&world));
    end();
}

static void who_sends_the_same_answer_twice_is_known_from_who_comes_too_late(void **state)
{
    begin(asks_once, false);
    (void)state;

    call(CALLER_LEAVES);
    char ask[ID_LEN + 1];
    snprintf(ask, sizeof(ask), "%s", stored_ask());
    world_answer(&world, ask, ASK_ACCEPTED, "{\"n\":1}", "ann", 0);
    assert_int_equal(world.last.status, NOD_OK);
    world_answer(&world, ask, ASK_ACCEPTED, "{\"n\":1}", "ann", 0);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_true(world.last.same);
    world_answer(&world, ask, ASK_ACCEPTED, "{\"n\":2}", "ann", 0);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_false(world.last.same);
    world_answer(&world, ask, ASK_DECLINED, NULL, "ann", 0);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_false(world.last.same);
    end();
}

static nod_status asks_in_confidence(struct run *run, struct str *body)
{
    const struct entry *answer;

    *body = STR("{}");
    NOD_TRY(run_ask(run,
                    &(struct ask_spec){ .kind = ASK_FORM,
                                        .message = STR("Between us?"),
                                        .detail = str_of(world_ask_form),
                                        .sensitive = true },
                    &answer));
    return NOD_OK;
}

static void line11_another_answer_given_in_confidence_is_told_too_while_the_first_is_kept(
    void **state)
{
    begin(asks_in_confidence, false);
    (void)state;

    call(CALLER_LEAVES);
    char ask[ID_LEN + 1];
    snprintf(ask, sizeof(ask), "%s", stored_ask());
    world_answer(&world, ask, ASK_ACCEPTED, "{\"n\":1}", "ann", 0);
    assert_int_equal(world.last.status, NOD_OK);
    world_answer(&world, ask, ASK_ACCEPTED, "{\"n\":2}", "ann", 0);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_false(world.last.same);
    world_answer(&world, ask, ASK_ACCEPTED, "{ \"n\": 1 }", "ann", 0);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_true(world.last.same);
    end();
}

static size_t said(FILE *log, const char *words)
{
    char line[LOG_LINE_MAX];
    size_t count = 0;

    rewind(log);
    while (fgets(line, sizeof(line), log))
        count += strstr(line, words) != NULL;
    return count;
}

static void a_store_that_took_no_heartbeat_is_said_to_take_them_again(void **state)
{
    FILE *log = tmpfile();

    (void)state;
    begin(asks_once, false);
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_INFO, .fd = fileno(log) });
    for (int i = 1; i <= 2; i++) {
        beats_fail = 3;
        for (int at = 0; at < 10; at++)
            world_advance(&world, RECOVERY_NODE_TTL_MS / RECOVERY_BEATS);
        assert_int_equal(said(log, "the store did not take a heartbeat"), i);
        assert_int_equal(said(log, "the store takes heartbeats again"), i);
    }
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR, .fd = 2 });
    fclose(log);
    end();
}

SUBJECT(recover)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_that_goes_while_questions_are_being_ended_leaves_nothing_behind),
        cmocka_unit_test(
            line11_another_answer_given_in_confidence_is_told_too_while_the_first_is_kept),
        cmocka_unit_test(a_node_says_that_it_is_alive_well_before_it_would_count_as_gone),
        cmocka_unit_test(a_store_that_took_no_heartbeat_is_said_to_take_them_again),
        cmocka_unit_test(a_store_that_does_not_survive_has_nothing_to_recover),
        cmocka_unit_test(a_call_that_became_runnable_while_nobody_had_it_is_run_on),
        cmocka_unit_test(where_others_share_the_store_a_call_is_left_alone_until_it_was_seen_twice),
        cmocka_unit_test(line12_all_that_one_look_shows_are_known_in_the_next),
        cmocka_unit_test(line12_more_calls_than_one_look_shows_are_all_taken_in_the_end),
        cmocka_unit_test(a_call_that_is_not_adopted_is_shown_again),
        cmocka_unit_test(a_question_that_waits_on_no_node_ends_when_its_time_is_up),
        cmocka_unit_test(many_questions_whose_time_is_up_all_end),
        cmocka_unit_test(a_live_call_whose_hint_was_lost_is_found),
        cmocka_unit_test(a_question_answered_and_run_on_elsewhere_brings_their_result),
        cmocka_unit_test(of_two_questions_only_the_one_that_was_answered_elsewhere_is_taken_down),
        cmocka_unit_test(a_hint_about_nothing_changes_nothing),
        cmocka_unit_test(a_result_in_an_old_epoch_counts_for_nothing_and_theirs_is_delivered),
        cmocka_unit_test(a_result_in_an_old_epoch_after_theirs_is_refused_too),
        cmocka_unit_test(a_question_in_an_old_epoch_is_put_to_nobody),
        cmocka_unit_test(a_step_in_an_old_epoch_is_not_gone_on_from),
        cmocka_unit_test(what_was_taken_over_and_given_back_is_run_here_again),
        cmocka_unit_test(
            a_node_that_was_stopped_does_nothing_of_a_call_that_others_have_taken_over),
        cmocka_unit_test(a_node_that_was_stopped_goes_on_with_what_nobody_has_taken),
        cmocka_unit_test(a_call_that_holds_its_steps_is_stored_before_the_first),
        cmocka_unit_test(a_call_that_cannot_be_stored_does_no_step),
        cmocka_unit_test(a_call_that_is_not_live_is_cancelled_by_its_id),
        cmocka_unit_test(a_cancel_that_comes_after_their_result_tells_the_result),
        cmocka_unit_test(a_call_that_was_opened_first_begins_in_its_epoch),
        cmocka_unit_test(line13_an_end_that_is_no_longer_kept_is_not_called_another_request),
        cmocka_unit_test(an_answer_of_another_scope_is_not_found),
        cmocka_unit_test(who_sends_the_same_answer_twice_is_known_from_who_comes_too_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
