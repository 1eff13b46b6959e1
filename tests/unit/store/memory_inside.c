/* tests/unit/store/memory_inside: what the store of one process keeps, and for how long. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/memory_inside.h"
#include "../runner.h"

static size_t memory_store_calls(const struct store *store)
{
    return ((const struct memory_store *)(const void *)store)->calls.count;
}

static size_t memory_store_asks(const struct store *store)
{
    return ((const struct memory_store *)(const void *)store)->asks.count;
}

enum { QUEUE_MAX = 64, KEEP_MS = 1000 };

static struct fake_clock fake;
static struct store *store;
static struct {
    void (*fn)(void *data);
    void *data;
} queue[QUEUE_MAX];
static size_t queued;
static nod_status last;
static struct store_reply reply_seen;
static struct call_record call_seen; /* copies: a reply lives during done() */
static struct ask_record ask_seen;
static int tokens;

static void defer(void *ctx, void (*fn)(void *data), void *data)
{
    (void)ctx;
    assert_true(queued < QUEUE_MAX);
    queue[queued].fn = fn;
    queue[queued++].data = data;
}

static void settle(void)
{
    for (size_t i = 0; i < queued; i++)
        queue[i].fn(queue[i].data);
    queued = 0;
}

static void done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    last = status;
    reply_seen = *reply;
    if (reply->call) {
        call_seen = *reply->call;
        reply_seen.call = &call_seen;
    }
    if (reply->ask) {
        ask_seen = *reply->ask;
        reply_seen.ask = &ask_seen;
    }
}

static int begin(void **state)
{
    (void)state;
    fake_clock_init(&fake, 1700000000000);
    store = memory_store_create(&(struct memory_opts){
        .clock = &fake.clock, .defer = defer, .keep_ms = KEEP_MS, .keep_most = 2 });
    return 0;
}

static int end(void **state)
{
    (void)state;
    store->ops->destroy(store);
    settle();
    return 0;
}

/* A name of the length of an id. */
static struct str name(char out[ID_LEN + 1], const char *what)
{
    snprintf(out, ID_LEN + 1, "%-22.22s", what);
    for (size_t i = 0; i < ID_LEN; i++)
        if (out[i] == ' ')
            out[i] = '_';
    return str_n(out, ID_LEN);
}

static struct str token(char out[ID_LEN + 1])
{
    char text[32];

    snprintf(text, sizeof(text), "token%d", ++tokens);
    return name(out, text);
}

static const char *whose = "ann"; /* the next call is */

static struct call_record record_of(struct str id)
{
    return (struct call_record){ .id = id,
                                 .principal = str_of(whose),
                                 .scope = STR("s"),
                                 .target = STR("tool"),
                                 .args = STR("{}") };
}

static int64_t own_keep; /* of the next call; 0: as the store is set */

/* Opens a call that waits for these times to live; 0 ends the list. */
static nod_status park(const char *call, const int64_t *ttls, const struct entry *entries,
                       size_t entry_count)
{
    char id[ID_LEN + 1], t[ID_LEN + 1], ids[4][ID_LEN + 1], text[32];
    struct call_record open = record_of(name(id, call));
    struct ask_record asks[4] = { { .key = STR_NONE } };
    size_t count = 0;

    for (; ttls && ttls[count]; count++) {
        snprintf(text, sizeof(text), "%s-ask%zu", call, count);
        asks[count] = (struct ask_record){ .id = name(ids[count], text),
                                           .call_id = open.id,
                                           .key = str_n(ids[count], ID_LEN),
                                           .ttl_ms = ttls[count] };
    }
    store->ops->park(store,
                     &(struct park_spec){ .token = token(t),
                                          .open = &open,
                                          .node = STR("n"),
                                          .call_id = open.id,
                                          .epoch = 1,
                                          .entries = entries,
                                          .entry_count = entry_count,
                                          .asks = asks,
                                          .ask_count = count,
                                          .keep_for_ms = own_keep,
                                          .handed = true },
                     done, NULL);
    settle();
    return last;
}

static nod_status finish(const char *call)
{
    char id[ID_LEN + 1], t[ID_LEN + 1];

    store->ops->finish(store,
                       &(struct finish_spec){ .token = token(t),
                                              .call_id = name(id, call),
                                              .epoch = 1,
                                              .result = STR("{}"),
                                              .fetched = true },
                       done, NULL);
    settle();
    return last;
}

static nod_status load(const char *call)
{
    char id[ID_LEN + 1];

    store->ops->load_call(store, name(id, call), done, NULL);
    settle();
    return last;
}

static nod_status accept_ask(const char *ask)
{
    char id[ID_LEN + 1], t[ID_LEN + 1];

    store->ops->claim(
        store,
        &(struct claim_spec){
            .token = token(t),
            .items = &(struct claim_item){ .ask_id = name(id, ask), .outcome = ASK_ACCEPTED },
            .count = 1,
            .by = STR("ann") },
        done, NULL);
    settle();
    return last;
}

/* Every transition takes a few away. */
static void pass(int64_t ms)
{
    fake_clock_advance(&fake, ms);
    for (int i = 0; i < 4; i++) {
        char text[32];
        snprintf(text, sizeof(text), "sweeper%d", ++tokens);
        assert_int_equal(park(text, (int64_t[]){ 100000, 0 }, NULL, 0), NOD_OK);
    }
}

static const struct entry step = { .class = ENTRY_STEP, .key = STR_INIT("one") };

static void an_ended_call_is_kept_for_its_time(void **state)
{
    (void)state;
    park("call", (int64_t[]){ 500, 0 }, NULL, 0);
    assert_int_equal(finish("call"), NOD_OK);
    pass(KEEP_MS - 1);
    assert_int_equal(load("call"), NOD_OK);
    pass(1);
    assert_int_equal(load("call"), NOD_E_NOT_FOUND);
}

static void a_call_that_something_could_bring_back_is_kept_for_that(void **state)
{
    (void)state;
    own_keep = 3 * KEEP_MS;
    park("long", (int64_t[]){ 500, 0 }, NULL, 0);
    own_keep = 5;
    park("short", (int64_t[]){ 500, 0 }, NULL, 0);
    own_keep = 0;
    assert_int_equal(finish("long"), NOD_OK);
    assert_int_equal(finish("short"), NOD_OK);
    pass(KEEP_MS - 1);
    assert_int_equal(load("short"), NOD_OK); /* as long as any end */
    pass(1);
    assert_int_equal(load("short"), NOD_E_NOT_FOUND);
    pass(2 * KEEP_MS - 1);
    assert_int_equal(load("long"), NOD_OK);
    pass(1);
    assert_int_equal(load("long"), NOD_E_NOT_FOUND);
}

/* Wall time is set by hand, too. */
static void a_clock_that_was_set_back_keeps_nothing_longer(void **state)
{
    (void)state;
    park("before", (int64_t[]){ 500, 0 }, NULL, 0);
    park("after", (int64_t[]){ 500, 0 }, NULL, 0);
    finish("before");
    fake.wall -= 3600000;
    finish("after");
    pass(KEEP_MS);
    assert_int_equal(load("after"), NOD_E_NOT_FOUND);
    assert_int_equal(load("before"), NOD_OK);
}

/* Two may stay: of those with a time of their own and those without, who would go first goes. */
static void who_would_go_first_makes_room(void **state)
{
    (void)state;
    own_keep = 2 * KEEP_MS;
    park("long", (int64_t[]){ 500, 0 }, NULL, 0);
    own_keep = 0;
    park("first", (int64_t[]){ 500, 0 }, NULL, 0);
    park("plain", (int64_t[]){ 500, 0 }, NULL, 0);
    park("later", (int64_t[]){ 500, 0 }, NULL, 0);
    finish("long");
    finish("first");
    fake_clock_advance(&fake, 1);
    finish("plain");
    assert_int_equal(load("first"), NOD_E_NOT_FOUND);
    assert_int_equal(load("long"), NOD_OK);
    fake_clock_advance(&fake, 1);
    finish("later");
    assert_int_equal(load("plain"), NOD_E_NOT_FOUND);
    assert_int_equal(load("later"), NOD_OK);
    assert_int_equal(load("long"), NOD_OK);
    assert_false(reply_seen.call->forgotten);
}

/* More times than the store has places for, each in use twice. */
static void calls_of_many_times_each_go_in_their_own(void **state)
{
    enum { TIMES = 12, CALLS = 2 * TIMES };
    char call[32];

    (void)state;
    store->ops->destroy(store);
    store = memory_store_create(&(struct memory_opts){
        .clock = &fake.clock, .defer = defer, .keep_ms = 1, .keep_most = 100 });
    for (int i = 0; i < CALLS; i++) {
        own_keep = 10 * (1 + i * 5 % TIMES);
        snprintf(call, sizeof(call), "call%d", i);
        park(call, (int64_t[]){ 500, 0 }, NULL, 0);
        assert_int_equal(finish(call), NOD_OK);
    }
    own_keep = 0;
    for (int time = 1; time <= TIMES; time++) {
        pass(10);
        for (int i = 0; i < CALLS; i++) {
            snprintf(call, sizeof(call), "call%d", i);
            bool over = 1 + i * 5 % TIMES <= time;
            assert_int_equal(load(call), over ? NOD_E_NOT_FOUND : NOD_OK);
        }
    }
}

static void of_many_that_have_ended_the_newest_are_there(void **state)
{
    enum { MANY = 300, KEPT = 100 };
    char call[32];

    (void)state;
    store->ops->destroy(store);
    store = memory_store_create(&(struct memory_opts){
        .clock = &fake.clock, .defer = defer, .keep_ms = KEEP_MS, .keep_most = KEPT });
    for (int i = 0; i < MANY; i++) {
        snprintf(call, sizeof(call), "call%d", i);
        fake_clock_advance(&fake, 1);
        own_keep = 10 * KEEP_MS;
        park(call, (int64_t[]){ 500, 600, 0 }, NULL, 0);
        own_keep = 0;
        assert_int_equal(finish(call), NOD_OK);
        assert_int_equal(memory_store_calls(store), i < KEPT ? i + 1 : KEPT);
        assert_int_equal(memory_store_asks(store), memory_store_calls(store) * 2);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(call, sizeof(call), "call%d", i);
        assert_int_equal(load(call), NOD_OK);
        assert_int_equal(reply_seen.call->forgotten, i < MANY - KEPT);
    }
}

static void who_ends_very_many_calls_pushes_out_nobody_else_s(void **state)
{
    enum { MANY = 300, KEPT = 100, FEW = 3 };
    char call[32];

    (void)state;
    store->ops->destroy(store);
    store = memory_store_create(&(struct memory_opts){
        .clock = &fake.clock, .defer = defer, .keep_ms = KEEP_MS, .keep_most = KEPT });
    own_keep = 10 * KEEP_MS;
    for (int i = 0; i < MANY + FEW; i++) { /* bob's are the oldest */
        snprintf(call, sizeof(call), "call%d", i);
        whose = i < FEW ? "bob" : "ann";
        park(call, NULL, NULL, 0);
        assert_int_equal(finish(call), NOD_OK);
    }
    whose = "ann";
    own_keep = 0;
    assert_int_equal(memory_store_calls(store), KEPT);
    for (int i = 0; i < MANY + FEW; i++) {
        snprintf(call, sizeof(call), "call%d", i);
        assert_int_equal(load(call), NOD_OK);
        assert_int_equal(reply_seen.call->forgotten, i >= FEW && i < MANY + 2 * FEW - KEPT);
    }
}

/* What has made room is known to have ended for as long as something could bring it back. */
static void line01_an_end_that_made_room_is_remembered_until_nothing_brings_it_back(void **state)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    char id[ID_LEN + 1], t[ID_LEN + 1];

    (void)state;
    own_keep = 20 * KEEP_MS;
    park("kept", (int64_t[]){ 500, 0 }, NULL, 0);
    own_keep = 0;
    finish("kept");
    for (size_t i = 0; i < 4; i++) {
        own_keep = i ? 30 * KEEP_MS : 0;
        park(names[i], (int64_t[]){ 500, 0 }, NULL, 0);
        finish(names[i]);
    }
    own_keep = 0;
    assert_int_equal(load("kept"), NOD_OK);
    assert_true(reply_seen.call->forgotten);
    assert_int_equal(reply_seen.call->state, CALL_STORED_FINISHED);
    assert_int_equal(park("kept", NULL, NULL, 0), NOD_E_STALE);
    assert_int_equal(finish("kept"), NOD_E_STALE);
    store->ops->take(
        store,
        &(struct take_spec){ .token = token(t), .call_id = name(id, "kept"), .node = STR("n") },
        done, NULL);
    settle();
    assert_int_equal(last, NOD_E_STALE);
    assert_int_equal(load("a"), NOD_E_NOT_FOUND); /* nothing could bring it back */
    pass(20 * KEEP_MS - 1);
    assert_int_equal(load("kept"), NOD_OK);
    pass(1);
    assert_int_equal(load("kept"), NOD_E_NOT_FOUND);
}

/* However many calls have ended, and however long something could bring them back: none of the
 * marks goes, and they count. */
static void line16_what_is_kept_of_ended_calls_is_bounded(void **state)
{
    enum { MANY_MORE = 100000, MOST_BYTES = 4 << 20 };
    const struct memory_store *memory;
    char call[ID_LEN + 1];
    int count = 0;

    (void)state;
    store->ops->destroy(store);
    store = memory_store_create(&(struct memory_opts){ .clock = &fake.clock,
                                                       .defer = defer,
                                                       .keep_ms = KEEP_MS,
                                                       .keep_most = 2,
                                                       .kept_bytes_per_principal = MOST_BYTES });
    memory = (const struct memory_store *)store;
    own_keep = 1000 * KEEP_MS;
    for (; count < MANY_MORE; count++) {
        snprintf(call, sizeof(call), "c%d", count);
        if (park(call, (int64_t[]){ 500, 0 }, NULL, 0) != NOD_OK)
            break;
        finish(call);
    }
    assert_int_equal(last, NOD_E_LIMIT);
    assert_int_equal(reply_seen.quota, STORE_QUOTA_BYTES_PRINCIPAL);
    assert_true(memory->bytes <= MOST_BYTES);
    assert_true(count > MOST_BYTES / 512);
    for (int i = 0; i < count; i++) {
        snprintf(call, sizeof(call), "c%d", i);
        assert_int_equal(load(call), NOD_OK);
    }
    fake_clock_advance(&fake, 1000 * KEEP_MS);
    for (int i = 0; i < 100; i++) {
        store->ops->beat(store, STR("n"), 1, done, NULL);
        settle();
    }
    assert_int_equal(memory->spent.count, 0);
    own_keep = 0;
    assert_int_equal(park("more", (int64_t[]){ 500, 0 }, NULL, 0), NOD_OK);
}

/* A round of 2026 whose client never came back: its state is no longer good, and nobody looks for
 * such a call here. Nothing but the heartbeat happens. */
static void a_call_that_ran_out_goes_when_nothing_can_bring_it_back(void **state)
{
    enum { MANY = 50, TTL = 2000, GRACE = 600000, BEATS = 1000 };
    const struct memory_store *memory = (const struct memory_store *)store;
    char call[32];

    (void)state;
    own_keep = TTL + GRACE;
    for (int i = 0; i < MANY; i++) {
        snprintf(call, sizeof(call), "call%d", i);
        assert_int_equal(park(call, (int64_t[]){ TTL, 0 }, NULL, 0), NOD_OK);
    }
    own_keep = 0;
    for (int64_t at = 0; at < TTL + GRACE; at += BEATS) {
        assert_int_equal(memory_store_calls(store), MANY);
        fake_clock_advance(&fake, BEATS);
        store->ops->beat(store, STR("n"), BEATS, done, NULL);
        settle();
    }
    assert_int_equal(memory_store_calls(store), 0);
    assert_int_equal(memory->bytes, 0);
}

/* Its handler still waits, and ends the question itself as soon as the process goes on. */
static void a_call_that_ran_out_while_its_process_was_stopped_is_there_when_it_goes_on(void **state)
{
    enum { TTL = 2000, GRACE = 600000 };

    (void)state;
    own_keep = TTL + GRACE;
    assert_int_equal(park("call", (int64_t[]){ TTL, 0 }, NULL, 0), NOD_OK);
    own_keep = 0;
    fake_clock_advance(&fake, 10 * GRACE);
    store->ops->beat(store, STR("n"), 1000, done, NULL);
    settle();
    assert_int_equal(load("call"), NOD_OK);
    fake_clock_advance(&fake, 2 * MEMORY_RAN_OUT_MS);
    store->ops->beat(store, STR("n"), 1000, done, NULL);
    settle();
    assert_int_equal(memory_store_calls(store), 0);
}

/* What is counted is what is there, whatever comes and goes. */
static void the_bytes_come_back_to_nothing(void **state)
{
    const struct memory_store *memory = (const struct memory_store *)store;
    struct entry entry = step;

    (void)state;
    entry.content = STR("[1,2,3]");
    own_keep = 3 * KEEP_MS;
    park("a", (int64_t[]){ 500, 0 }, &entry, 1);
    park("b", (int64_t[]){ 500, 600, 0 }, NULL, 0);
    own_keep = 0;
    park("c", (int64_t[]){ 500, 0 }, NULL, 0);
    uint64_t waiting = memory->bytes;
    assert_true(waiting > 3 * sizeof(struct stored_call));
    accept_ask("a-ask0");
    accept_ask("b-ask0");
    assert_true(memory->bytes > waiting);
    finish("a"), finish("b"), finish("c");
    assert_true(memory->spare <= memory->bytes);
    fake_clock_advance(&fake, 4 * KEEP_MS);
    store->ops->beat(store, STR("n"), 1, done, NULL);
    settle();
    assert_int_equal(memory->bytes, 0);
    assert_int_equal(memory->spare, 0);
    assert_int_equal(memory->tallies.count, 0);
}

static void a_waiting_call_outlives_the_first_of_its_questions(void **state)
{
    (void)state;
    park("two", (int64_t[]){ 100, 50000, 0 }, NULL, 0);
    pass(100 + KEEP_MS + 1);
    assert_int_equal(load("two"), NOD_OK); /* the second one may still be answered */
    assert_int_equal(accept_ask("two-ask1"), NOD_OK);
    assert_int_equal(reply_seen.ask->state, ASK_ACCEPTED);
}

static void line07_a_waiting_call_whose_questions_ran_out_becomes_runnable(void **state)
{
    (void)state;
    park("two", (int64_t[]){ 100, 5000, 0 }, NULL, 0);
    pass(5000 + KEEP_MS + 1);
    pass(0);
    assert_int_equal(load("two"), NOD_OK);
    assert_int_equal(reply_seen.call->state, CALL_STORED_RUNNABLE);
    assert_int_equal(reply_seen.call->entry_count, 2);
}

static void line07_a_runnable_call_goes_only_when_it_is_abandoned(void **state)
{
    (void)state;
    park("left", (int64_t[]){ 500, 0 }, NULL, 0);
    assert_int_equal(accept_ask("left-ask0"), NOD_OK);
    pass(STORE_ABANDONED_MS - 1);
    assert_int_equal(load("left"), NOD_OK);
    assert_int_equal(reply_seen.call->state, CALL_STORED_RUNNABLE);
    pass(1);
    assert_int_equal(load("left"), NOD_E_NOT_FOUND);
}

static void line07_a_call_that_something_can_bring_back_is_not_abandoned(void **state)
{
    (void)state;
    own_keep = 2 * (int64_t)STORE_ABANDONED_MS;
    park("left", (int64_t[]){ 500, 0 }, NULL, 0);
    own_keep = 0;
    assert_int_equal(accept_ask("left-ask0"), NOD_OK);
    pass(2 * (int64_t)STORE_ABANDONED_MS - 1);
    assert_int_equal(load("left"), NOD_OK);
    pass(1);
    assert_int_equal(load("left"), NOD_E_NOT_FOUND);
}

static void a_call_that_is_taken_in_time_stays(void **state)
{
    char id[ID_LEN + 1], t[ID_LEN + 1];

    (void)state;
    park("kept", (int64_t[]){ 500, 0 }, NULL, 0);
    accept_ask("kept-ask0");
    store->ops->take(
        store,
        &(struct take_spec){ .token = token(t), .call_id = name(id, "kept"), .node = STR("n") },
        done, NULL);
    settle();
    assert_int_equal(last, NOD_OK);
    pass(KEEP_MS * 10);
    assert_int_equal(load("kept"), NOD_OK);
}

static void a_call_is_opened_once(void **state)
{
    char id[ID_LEN + 1], t[ID_LEN + 1];
    struct call_record open = record_of(name(id, "once"));

    (void)state;
    store->ops->append(store,
                       &(struct append_spec){ .token = token(t),
                                              .open = &open,
                                              .node = STR("n"),
                                              .call_id = open.id,
                                              .epoch = 1,
                                              .entries = &step,
                                              .entry_count = 1,
                                              .handed = true },
                       done, NULL);
    settle();
    assert_int_equal(last, NOD_OK);
    assert_int_equal(park("once", (int64_t[]){ 500, 0 }, NULL, 0), NOD_E_STALE); /* it runs */
    assert_int_equal(memory_store_asks(store), 0);
}

static void an_operation_that_is_sent_again_happens_once(void **state)
{
    char id[ID_LEN + 1], t[ID_LEN + 1];
    struct call_record open = record_of(name(id, "again"));

    (void)state;
    token(t);
    for (int i = 0; i < 3; i++) {
        store->ops->append(store,
                           &(struct append_spec){ .token = str_n(t, ID_LEN),
                                                  .open = i ? NULL : &open,
                                                  .node = STR("n"),
                                                  .call_id = open.id,
                                                  .epoch = 1,
                                                  .entries = &step,
                                                  .entry_count = 1,
                                                  .handed = true },
                           done, NULL);
        settle();
        assert_int_equal(last, NOD_OK);
    }
    store->ops->load_call(store, open.id, done, NULL);
    settle();
    assert_int_equal(reply_seen.call->entry_count, 1);
}

static nod_status claim(const char *ask, enum ask_state outcome, struct str take_for)
{
    char id[ID_LEN + 1], t[ID_LEN + 1];

    store->ops->claim(store,
                      &(struct claim_spec){ .token = token(t),
                                            .items = &(struct claim_item){ .ask_id = name(id, ask),
                                                                           .outcome = outcome },
                                            .count = 1,
                                            .by = STR("ann"),
                                            .take_for = take_for },
                      done, NULL);
    settle();
    return last;
}

static void a_node_that_slept_cannot_write_over_its_successor(void **state)
{
    char id[ID_LEN + 1], t[ID_LEN + 1];
    struct str call = name(id, "call");

    (void)state;
    park("call", (int64_t[]){ 500, 0 }, NULL, 0);
    assert_int_equal(claim("call-ask0", ASK_ACCEPTED, STR("n")), NOD_OK);
    assert_true(reply_seen.taken);
    assert_int_equal(reply_seen.epoch, 2);
    store->ops->append(store,
                       &(struct append_spec){ .token = token(t),
                                              .node = STR("n"),
                                              .call_id = call,
                                              .epoch = 1,
                                              .entries = &step,
                                              .entry_count = 1,
                                              .handed = true },
                       done, NULL);
    settle();
    assert_int_equal(last, NOD_E_STALE);
    store->ops->park(store,
                     &(struct park_spec){ .token = token(t),
                                          .node = STR("n"),
                                          .call_id = call,
                                          .epoch = 1,
                                          .entries = &step,
                                          .entry_count = 1,
                                          .handed = true },
                     done, NULL);
    settle();
    assert_int_equal(last, NOD_E_STALE);
    assert_int_equal(finish("call"), NOD_E_STALE);
    assert_int_equal(load("call"), NOD_OK);
    assert_int_equal(reply_seen.call->state, CALL_STORED_RUNNING);
    assert_int_equal(reply_seen.call->entry_count, 1); /* the answer alone */
    store->ops->finish(store,
                       &(struct finish_spec){
                           .token = token(t), .call_id = call, .epoch = 2, .result = STR("{}") },
                       done, NULL);
    settle();
    assert_int_equal(last, NOD_OK);
}

static void the_stores_clock_decides_what_is_late(void **state)
{
    (void)state;
    park("call", (int64_t[]){ 500, 500, 0 }, NULL, 0);
    assert_int_equal(claim("call-ask0", ASK_EXPIRED, STR_NONE), NOD_E_STALE); /* not yet */
    fake_clock_advance(&fake, 499);
    assert_int_equal(claim("call-ask0", ASK_DECLINED, STR_NONE), NOD_OK);
    assert_int_equal(reply_seen.ask->state, ASK_DECLINED);
    fake_clock_advance(&fake, 1);
    assert_int_equal(claim("call-ask1", ASK_ACCEPTED, STR_NONE), NOD_OK);
    assert_true(reply_seen.won);
    assert_int_equal(reply_seen.ask->state, ASK_EXPIRED);
    assert_int_equal(reply_seen.ask->content.len, 0);
}

static void an_ask_of_a_call_that_ended_is_withdrawn(void **state)
{
    (void)state;
    park("call", (int64_t[]){ 500, 0 }, NULL, 0);
    finish("call");
    assert_int_equal(claim("call-ask0", ASK_ACCEPTED, STR("n")), NOD_OK);
    assert_false(reply_seen.won);
    assert_false(reply_seen.taken);
    assert_int_equal(reply_seen.ask->state, ASK_WITHDRAWN);
}

/* What a call that ended is shown with, while it is shown. */
static void sees_the_whole_call(void *data, nod_status status, const struct store_reply *reply)
{
    const struct call_record *call = reply->call;
    const struct entry *entries = call ? call->entries : NULL;

    *(bool *)data = true;
    assert_int_equal(status, NOD_OK);
    assert_int_equal(call->state, CALL_STORED_FINISHED);
    assert_int_equal(call->epoch, 3);
    assert_true(str_eq(call->principal, STR("ann")) && str_eq(call->scope, STR("s")));
    assert_true(str_eq(call->target, STR("tool")) && str_eq(call->args, STR("{}")));
    assert_true(str_eq(call->result, STR("{\"done\":1}")));
    assert_int_equal(call->entry_count, 3);
    assert_int_equal(entries[0].class, ENTRY_ASK);
    assert_int_equal(entries[0].state, ASK_ACCEPTED);
    assert_true(str_eq(entries[0].by, STR("ann")) && entries[0].ask_id.len == ID_LEN);
    assert_int_equal(entries[1].class, ENTRY_STEP);
    assert_true(str_eq(entries[1].key, STR("one")));
    assert_int_equal(entries[2].class, ENTRY_ASK);
    assert_int_equal(entries[2].state, ASK_DECLINED);
    assert_true(str_eq(entries[2].key, STR("second")));
}

static void sees_the_whole_ask(void *data, nod_status status, const struct store_reply *reply)
{
    const struct ask_record *ask = reply->ask;

    *(bool *)data = true;
    assert_int_equal(status, NOD_OK);
    assert_true(str_eq(ask->key, STR("second")) && str_eq(ask->message, STR("Sure?")));
    assert_true(str_eq(ask->detail, STR("{\"type\":\"object\"}")) && str_eq(ask->url, STR("u")));
    assert_true(str_eq(ask->by, STR("ann")) && ask->state == ASK_DECLINED);
    assert_int_equal(ask->call_id.len, ID_LEN);
}

/* "call" ends with an answer, a step and another answer, to "second". */
static void end_a_whole_call(void)
{
    char id[ID_LEN + 1], ask[ID_LEN + 1], t[ID_LEN + 1];
    struct str call = name(id, "call");
    const struct ask_record second = { .id = name(ask, "second"),
                                       .call_id = call,
                                       .key = STR("second"),
                                       .message = STR("Sure?"),
                                       .detail = STR("{\"type\":\"object\"}"),
                                       .url = STR("u"),
                                       .ttl_ms = 500 };

    park("call", (int64_t[]){ 500, 0 }, NULL, 0);
    assert_int_equal(claim("call-ask0", ASK_ACCEPTED, STR("n")), NOD_OK);
    store->ops->append(store,
                       &(struct append_spec){ .token = token(t),
                                              .node = STR("n"),
                                              .call_id = call,
                                              .epoch = 2,
                                              .entries = &step,
                                              .entry_count = 1,
                                              .handed = true },
                       done, NULL);
    store->ops->park(store,
                     &(struct park_spec){ .token = token(t),
                                          .node = STR("n"),
                                          .call_id = call,
                                          .epoch = 2,
                                          .asks = &second,
                                          .ask_count = 1,
                                          .handed = true },
                     done, NULL);
    settle();
    assert_int_equal(claim("second", ASK_DECLINED, STR("n")), NOD_OK);
    store->ops->finish(store,
                       &(struct finish_spec){ .token = token(t),
                                              .call_id = call,
                                              .epoch = 3,
                                              .result = STR("{\"done\":1}"),
                                              .fetched = true },
                       done, NULL);
    settle();
    assert_int_equal(last, NOD_OK);
}

/* Its journal is in the order in which it learned what is in it. */
static void an_ended_call_is_shown_as_it_was(void **state)
{
    char id[ID_LEN + 1], ask[ID_LEN + 1];
    bool saw_call = false, saw_ask = false;

    (void)state;
    end_a_whole_call();
    store->ops->load_call(store, name(id, "call"), sees_the_whole_call, &saw_call);
    store->ops->load_ask(store, name(ask, "second"), sees_the_whole_ask, &saw_ask);
    settle();
    assert_true(saw_call && saw_ask);
}

/* Two more have ended, which is as many as may stay; the replies are still on their way. */
static void push_out(const char *first, const char *second)
{
    char id[ID_LEN + 1], t[ID_LEN + 1];

    fake_clock_advance(&fake, 1);
    store->ops->finish(store,
                       &(struct finish_spec){ .token = token(t),
                                              .call_id = name(id, first),
                                              .epoch = 1,
                                              .result = STR("{}"),
                                              .fetched = true },
                       done, NULL);
    store->ops->finish(store,
                       &(struct finish_spec){ .token = token(t),
                                              .call_id = name(id, second),
                                              .epoch = 1,
                                              .result = STR("{}"),
                                              .fetched = true },
                       done, NULL);
    assert_int_equal(memory_store_calls(store), 2);
}

static void an_ended_call_that_goes_while_it_is_being_loaded_is_shown_whole(void **state)
{
    char id[ID_LEN + 1], ask[ID_LEN + 1], t[ID_LEN + 1];
    bool saw_call = false, saw_ask = false, saw_claim = false;
    const struct claim_item late = { .ask_id = name(ask, "second"), .outcome = ASK_ACCEPTED };

    (void)state;
    end_a_whole_call();
    park("a", (int64_t[]){ 500, 0 }, NULL, 0);
    park("b", (int64_t[]){ 500, 0 }, NULL, 0);
    store->ops->load_call(store, name(id, "call"), sees_the_whole_call, &saw_call);
    store->ops->load_ask(store, late.ask_id, sees_the_whole_ask, &saw_ask);
    store->ops->claim(store, &(struct claim_spec){ .token = token(t), .items = &late, .count = 1 },
                      sees_the_whole_ask, &saw_claim);
    push_out("a", "b");
    settle();
    assert_true(saw_call && saw_ask && saw_claim);
    assert_int_equal(load("call"), NOD_E_NOT_FOUND);
}

static void a_store_that_goes_takes_along_what_its_replies_would_have_shown(void **state)
{
    char id[ID_LEN + 1];
    bool saw = false;

    end_a_whole_call();
    park("a", (int64_t[]){ 500, 0 }, NULL, 0);
    park("b", (int64_t[]){ 500, 0 }, NULL, 0);
    store->ops->load_call(store, name(id, "call"), sees_the_whole_call, &saw);
    store->ops->load_call(store, name(id, "a"), sees_the_whole_call, &saw);
    push_out("a", "b");
    end(state);
    assert_false(saw);
    begin(state);
}

static void row_pushes_out(void *data, const struct store_row *row)
{
    int *rows = data;

    if (++*rows == 1)
        push_out("a", "b");
    assert_true(str_eq(row->ask->target, STR("tool")) && str_eq(row->ask->by, STR("ann")));
    assert_int_equal(row->ask->state, *rows == 1 ? ASK_ACCEPTED : ASK_DECLINED);
    assert_true(str_eq(row->ask->message, *rows == 1 ? STR_NONE : STR("Sure?")));
    assert_true(str_eq(row->ask->url, *rows == 1 ? STR_NONE : STR("u")));
}

static void scan_done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    (void)reply;
    last = status;
}

static void an_ended_call_that_goes_at_a_row_of_a_scan_is_shown_to_the_last(void **state)
{
    char id[ID_LEN + 1];
    int rows = 0;

    (void)state;
    end_a_whole_call();
    park("a", (int64_t[]){ 500, 0 }, NULL, 0);
    park("b", (int64_t[]){ 500, 0 }, NULL, 0);
    store->ops->scan(store,
                     &(struct store_scan){ .index = STORE_ASKS_OF_CALL, .key = name(id, "call") },
                     row_pushes_out, scan_done, &rows);
    settle();
    assert_int_equal(rows, 2);
    assert_int_equal(load("call"), NOD_E_NOT_FOUND);
}

/* Where the texts of an ended call are, as the replies show them. */
struct shown {
    const char *args, *result, *message;
    int replies, copies;
};

static void note_where(struct shown *shown, const char **text, const char *at)
{
    shown->copies += *text && *text != at;
    *text = at;
}

static void sees_where(void *data, nod_status status, const struct store_reply *reply)
{
    struct shown *shown = data;

    assert_int_equal(status, NOD_OK);
    if (reply->call) {
        note_where(shown, &shown->args, reply->call->args.at);
        note_where(shown, &shown->result, reply->call->result.at);
    }
    if (reply->ask)
        note_where(shown, &shown->message, reply->ask->message.at);
    shown->replies++;
}

/* It may be as large as a call can be, and anybody may ask for it as often as they like. */
static void an_ended_call_is_shown_to_many_at_once_without_a_copy_for_each(void **state)
{
    enum { LOOKS = 20 };
    char id[ID_LEN + 1], ask[ID_LEN + 1], t[ID_LEN + 1];
    const struct claim_item late = { .ask_id = name(ask, "second"), .outcome = ASK_ACCEPTED };
    struct shown shown = { .replies = 0 };

    (void)state;
    end_a_whole_call();
    for (int i = 0; i < LOOKS; i++) {
        store->ops->load_call(store, name(id, "call"), sees_where, &shown);
        store->ops->load_ask(store, late.ask_id, sees_where, &shown);
        store->ops->claim(store,
                          &(struct claim_spec){ .token = token(t), .items = &late, .count = 1 },
                          sees_where, &shown);
    }
    settle();
    assert_int_equal(shown.replies, 3 * LOOKS);
    assert_true(shown.args && shown.result && shown.message);
    assert_int_equal(shown.copies, 0);
}

static void sees_the_result(void *data, nod_status status, const struct store_reply *reply)
{
    *(bool *)data = true;
    assert_int_equal(status, NOD_OK);
    assert_int_equal(reply->call->state, CALL_STORED_FINISHED);
    assert_true(str_eq(reply->call->result, STR("{}")));
}

static void a_call_that_ends_while_it_is_being_loaded_is_shown_with_its_result(void **state)
{
    char id[ID_LEN + 1];
    bool saw = false;

    (void)state;
    park("call", (int64_t[]){ 500, 0 }, &step, 1);
    store->ops->load_call(store, name(id, "call"), sees_the_result, &saw);
    assert_int_equal(finish("call"), NOD_OK);
    assert_true(saw);
    assert_int_equal(load("call"), NOD_OK);
    assert_int_equal(reply_seen.call->entry_count, 1);
}

SUBJECT(memory_inside)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(an_ended_call_is_kept_for_its_time),
        TEST(a_call_that_something_could_bring_back_is_kept_for_that),
        TEST(a_clock_that_was_set_back_keeps_nothing_longer),
        TEST(who_would_go_first_makes_room),
        TEST(calls_of_many_times_each_go_in_their_own),
        TEST(of_many_that_have_ended_the_newest_are_there),
        TEST(who_ends_very_many_calls_pushes_out_nobody_else_s),
        TEST(line01_an_end_that_made_room_is_remembered_until_nothing_brings_it_back),
        TEST(line16_what_is_kept_of_ended_calls_is_bounded),
        TEST(a_call_that_ran_out_goes_when_nothing_can_bring_it_back),
        TEST(a_call_that_ran_out_while_its_process_was_stopped_is_there_when_it_goes_on),
        TEST(the_bytes_come_back_to_nothing),
        TEST(a_waiting_call_outlives_the_first_of_its_questions),
        TEST(line07_a_waiting_call_whose_questions_ran_out_becomes_runnable),
        TEST(line07_a_runnable_call_goes_only_when_it_is_abandoned),
        TEST(line07_a_call_that_something_can_bring_back_is_not_abandoned),
        TEST(a_call_that_is_taken_in_time_stays),
        TEST(a_call_is_opened_once),
        TEST(an_operation_that_is_sent_again_happens_once),
        TEST(a_node_that_slept_cannot_write_over_its_successor),
        TEST(the_stores_clock_decides_what_is_late),
        TEST(an_ask_of_a_call_that_ended_is_withdrawn),
        TEST(an_ended_call_is_shown_as_it_was),
        TEST(an_ended_call_that_goes_while_it_is_being_loaded_is_shown_whole),
        TEST(a_store_that_goes_takes_along_what_its_replies_would_have_shown),
        TEST(an_ended_call_that_goes_at_a_row_of_a_scan_is_shown_to_the_last),
        TEST(an_ended_call_is_shown_to_many_at_once_without_a_copy_for_each),
        TEST(a_call_that_ends_while_it_is_being_loaded_is_shown_with_its_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
