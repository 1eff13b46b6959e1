/*
 * tests/unit/store/redis_reseal: a secret is replaced in a real Redis.
 *
 * Records of the older secret are sealed with the newer one: alone, while a server changes the same
 * records, and in pieces because the connection is cut again and again. Afterwards the newer secret
 * alone must open everything.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "crypto/seal.h"
#include "net/loop.h"
#include "redis_server.h"
#include "store/redis_inside.h"
#include "../runner.h"

enum {
    LIVES_MS = 600000,
    MANY = 150,
    LARGE = 400 << 10, /* bytes of an entry */
    LARGE_COUNT = 5,
    RECORDS_OF_CALL =
        6,           /* the call, an item of its journal in two forms, an ask, its answer in two */
    CUT_AFTER = 100, /* records */
    LOOK_MS = 1,
};

static const struct str secrets[] = {
    STR_INIT("the-newer-secret-the-newer-secret-the-newer"),
    STR_INIT("the-older-secret-the-older-secret-the-older"),
};

static struct redis_server server;
static struct loop *loop;
static struct store *store;
static struct keyring *older, *both, *newer;
static char why[REDIS_WHY_MAX];
static char url[256];

/* --- the store --- */

struct got {
    int done;
    nod_status status;
    uint64_t version;
    size_t entries;
    enum call_state state;
    char text[64]; /* of a value, of an answer */
};

static void got_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct got *got = data;
    struct str text = reply->ask ? reply->ask->content : reply->value;

    got->done++;
    got->status = status;
    got->version = reply->version;
    got->entries = reply->call ? reply->call->entry_count : 0;
    got->state = reply->call ? reply->call->state : CALL_STORED_RUNNING;
    snprintf(got->text, sizeof(got->text), STR_FMT, STR_ARG(text.at ? text : STR("")));
}

static void until(const struct got *got)
{
    int64_t end = clock_mono(clock_system()) + PATIENCE_MS;

    while (!got->done && clock_mono(clock_system()) < end)
        loop_turn(loop, 10);
    assert_int_equal(got->done, 1);
}

static void store_close(void)
{
    if (store)
        store->ops->destroy(store);
    store = NULL;
}

static void store_use(const struct keyring *ring)
{
    store_close();
    store = redis_store_open(&(struct redis_opts){ .url = url, .loop = loop, .ring = ring }, why);
    if (!store)
        fail_msg("%s", why);
}

static void address(const char *prefix)
{
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d?prefix=%s", server.port, prefix);
}

static bool reseal(const struct keyring *ring, struct reseal_counts *counts)
{
    return redis_store_reseal(&(struct redis_opts){ .url = url, .loop = loop, .ring = ring }, false,
                              counts, why);
}

struct pair {
    struct id call, ask;
};

/* A call with a confidential entry and a confidential question, which is answered. */
static struct pair call_made(void)
{
    struct pair pair;
    struct id token;
    struct got got = { 0 };

    id_random(&pair.call);
    id_random(&pair.ask);
    id_random(&token);
    struct call_record open = { .id = id_str(&pair.call), .scope = STR("s") };
    struct entry entry = {
        .class = ENTRY_STEP, .key = STR("step"), .content = STR("\"known\""), .sensitive = true
    };
    struct ask_record ask = { .id = id_str(&pair.ask),
                              .call_id = id_str(&pair.call),
                              .key = STR("#1"),
                              .message = STR("Go on?"),
                              .sensitive = true,
                              .ttl_ms = LIVES_MS };
    store->ops->park(store,
                     &(struct park_spec){ .token = id_str(&token),
                                          .open = &open,
                                          .node = STR("node-a"),
                                          .call_id = id_str(&pair.call),
                                          .epoch = 1,
                                          .entries = &entry,
                                          .entry_count = 1,
                                          .asks = &ask,
                                          .ask_count = 1,
                                          .handed = true },
                     got_done, &got);
    until(&got);
    assert_int_equal(got.status, NOD_OK);
    got = (struct got){ 0 };
    store->ops->claim(
        store,
        &(struct claim_spec){ .token = id_str(&token),
                              .items = &(struct claim_item){ .ask_id = id_str(&pair.ask),
                                                             .outcome = ASK_ACCEPTED,
                                                             .content = STR("\"answer\"") },
                              .count = 1,
                              .by = STR("ada"),
                              .take_for = STR("node-a") },
        got_done, &got);
    until(&got);
    assert_int_equal(got.status, NOD_OK);
    return pair;
}

static void finish_begin(const struct pair *pair, struct got *got)
{
    struct id token;

    id_random(&token);
    store->ops->finish(store,
                       &(struct finish_spec){ .token = id_str(&token),
                                              .call_id = id_str(&pair->call),
                                              .epoch = 2,
                                              .result = STR("\"result\"") },
                       got_done, got);
}

static struct got load(void (*op)(struct store *, struct str, store_done *, void *),
                       const struct id *id)
{
    struct got got = { 0 };

    op(store, id_str(id), got_done, &got);
    until(&got);
    assert_int_equal(got.status, NOD_OK);
    return got;
}

static struct got put(const char *key, int64_t ttl_ms)
{
    struct got got = { 0 };

    store->ops->put(store, STR("kind"), str_of(key), STR("value"), STR_NONE, 0, ttl_ms, got_done,
                    &got);
    until(&got);
    assert_int_equal(got.status, NOD_OK);
    return got;
}

static struct got value(const char *key)
{
    struct got got = { 0 };

    store->ops->get(store, STR("kind"), str_of(key), got_done, &got);
    until(&got);
    assert_int_equal(got.status, NOD_OK);
    return got;
}

/* How long all keys live, in milliseconds, and how many live for ever. */
static void lives(long long *all, int *for_ever)
{
    char reply[64];

    assert_true(server_say(&server,
                           "EVAL 'local all, ever = 0, 0 "
                           "for _, k in ipairs(redis.call(\"KEYS\", \"*\")) do "
                           "local ms = redis.call(\"PTTL\", k) "
                           "if ms == -1 then ever = ever + 1 else all = all + ms end end "
                           "return string.format(\"%.0f %d\", all, ever)' 0",
                           reply, sizeof(reply)));
    const char *text = strchr(reply, '\n');
    assert_non_null(text);
    assert_int_equal(sscanf(text, "%lld %d", all, for_ever), 2);
}

/* --- the tests --- */

static void every_record_comes_under_the_newest_secret_and_lives_no_longer(void **state)
{
    struct reseal_counts counts;
    struct got got = { 0 };
    long long before, after;
    int ever_before, ever_after;
    (void)state;

    address("nod:");
    store_use(older);
    call_made(); /* that a pattern would find, and the prefix does not */
    address("n*d[a-z]:");
    store_use(older);
    struct pair waits = call_made(), ends = call_made();
    finish_begin(&ends, &got);
    until(&got);
    assert_int_equal(got.status, NOD_OK);
    uint64_t version = put("for ever", 0).version;
    put("a:key", LIVES_MS);
    store_close();

    lives(&before, &ever_before);
    assert_true(reseal(both, &counts));
    lives(&after, &ever_after);
    assert_true(after <= before);
    assert_int_equal(ever_after, ever_before);
    /* Of the call that ended: no second forms any more, but a result. */
    assert_int_equal(counts.records, RECORDS_OF_CALL + RECORDS_OF_CALL - 2 + 1 + 2);
    assert_int_equal(counts.resealed, counts.records);
    assert_int_equal(counts.refused, 0);
    assert_true(reseal(newer, &counts));
    assert_int_equal(counts.resealed + counts.refused, 0);

    store_use(newer);
    assert_int_equal(load(store->ops->load_call, &waits.call).entries, 2);
    assert_string_equal(load(store->ops->load_ask, &waits.ask).text, "\"answer\"");
    assert_int_equal(load(store->ops->load_call, &ends.call).state, CALL_STORED_FINISHED);
    assert_string_equal(load(store->ops->load_ask, &ends.ask).text, "");
    assert_int_equal(value("for ever").version, version);
    assert_string_equal(value("a:key").text, "value");
}

/* Connections whose command is not run yet, because writing is paused. */
static int held(void)
{
    static const char name[] = "blocked_clients:";
    char reply[4096];

    assert_true(server_say(&server, "INFO clients", reply, sizeof(reply)));
    const char *at = strstr(reply, name);
    assert_non_null(at);
    return atoi(at + sizeof(name) - 1);
}

struct holding {
    struct timer timer;
    bool over;
};

/* As soon as a record waits to be replaced, besides the ends, which came first and are run first.
 */
static void let_go(void *data)
{
    struct holding *holding = data;

    holding->over = held() > REDIS_LANES;
    if (holding->over)
        server_do(&server, "CLIENT UNPAUSE");
    else
        timer_set(loop, &holding->timer, LOOK_MS, let_go, holding);
}

static void what_a_server_moves_meanwhile_is_sealed_anew_too(void **state)
{
    static struct got got[MANY];
    struct pair pairs[MANY];
    struct reseal_counts counts;
    (void)state;

    memset(got, 0, sizeof(got));
    address("nod:");
    store_use(older);
    for (size_t i = 0; i < MANY; i++)
        pairs[i] = call_made();
    store_use(both);
    /* The end of a call puts what an older secret sealed into the place of what was read. */
    server_do(&server, "CLIENT PAUSE 60000 WRITE");
    for (size_t i = 0; i < MANY; i++)
        finish_begin(&pairs[i], &got[i]);
    for (int64_t end = clock_mono(clock_system()) + PATIENCE_MS; held() < REDIS_LANES;) {
        assert_true(clock_mono(clock_system()) < end);
        loop_turn(loop, LOOK_MS);
    }
    struct holding holding = { 0 };
    timer_set(loop, &holding.timer, LOOK_MS, let_go, &holding);
    assert_true(reseal(both, &counts));
    assert_true(holding.over);
    assert_int_equal(counts.refused, 0);
    for (size_t i = 0; i < MANY; i++) {
        until(&got[i]);
        assert_int_equal(got[i].status, NOD_OK);
    }
    store_use(newer);
    assert_true(reseal(newer, &counts));
    assert_int_equal(counts.resealed + counts.refused, 0);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(load(store->ops->load_call, &pairs[i].call).state, CALL_STORED_FINISHED);
        assert_string_equal(load(store->ops->load_ask, &pairs[i].ask).text, ""); /* stays erased */
    }
}

struct cutting {
    struct timer timer;
    const struct reseal_counts *counts;
};

static void cut(void *data)
{
    struct cutting *cutting = data;

    if (cutting->counts->resealed < CUT_AFTER)
        timer_set(loop, &cutting->timer, LOOK_MS, cut, cutting);
    else
        server_do(&server, "CLIENT KILL TYPE normal");
}

static void one_that_is_cut_off_is_run_again_and_loses_nothing(void **state)
{
    struct reseal_counts counts = { 0 };
    struct cutting cutting = { .counts = &counts };
    struct pair pairs[MANY];
    int cut_off = 0;
    (void)state;

    address("nod:");
    store_use(older);
    for (size_t i = 0; i < MANY; i++)
        pairs[i] = call_made();
    store_close();
    for (bool done = false; !done && cut_off <= MANY * RECORDS_OF_CALL; cut_off += !done) {
        counts.resealed = 0;
        timer_set(loop, &cutting.timer, LOOK_MS, cut, &cutting);
        done = reseal(both, &counts);
        timer_stop(loop, &cutting.timer);
        assert_int_equal(counts.refused, 0);
        if (!done)
            assert_true(counts.resealed >= CUT_AFTER);
    }
    assert_in_range(cut_off, 1, MANY * RECORDS_OF_CALL / CUT_AFTER);
    assert_true(reseal(newer, &counts));
    assert_int_equal(counts.records, MANY * RECORDS_OF_CALL);
    assert_int_equal(counts.resealed + counts.refused, 0);
    store_use(newer);
    for (size_t i = 0; i < MANY; i++)
        assert_string_equal(load(store->ops->load_ask, &pairs[i].ask).text, "\"answer\"");
}

/* More than goes back in one piece: the key is read again in between. */
static void a_large_call_is_sealed_anew_in_pieces(void **state)
{
    static char text[LARGE];
    struct reseal_counts counts;
    (void)state;

    address("nod:");
    store_use(older);
    struct pair pair = call_made();
    memset(text, 'x', sizeof(text));
    text[0] = text[LARGE - 1] = '"';
    for (int i = 0; i < LARGE_COUNT; i++) {
        struct entry entry = { .class = ENTRY_STEP,
                               .key = STR("step"),
                               .content = str_n(text, sizeof(text)) };
        struct got got = { 0 };
        struct id token;
        id_random(&token);
        store->ops->append(store,
                           &(struct append_spec){ .token = id_str(&token),
                                                  .node = STR("node-a"),
                                                  .call_id = id_str(&pair.call),
                                                  .epoch = 2,
                                                  .entries = &entry,
                                                  .entry_count = 1,
                                                  .handed = true },
                           got_done, &got);
        until(&got);
        assert_int_equal(got.status, NOD_OK);
    }
    assert_true(reseal(both, &counts));
    assert_int_equal(counts.records, RECORDS_OF_CALL + LARGE_COUNT);
    assert_int_equal(counts.resealed, counts.records);
    store_use(newer);
    assert_int_equal(load(store->ops->load_call, &pair.call).entries, 2 + LARGE_COUNT);
}

static void one_that_no_secret_opens_is_counted_and_left_as_it_is(void **state)
{
    struct reseal_counts counts;
    (void)state;

    address("nod:");
    store_use(older);
    struct pair pair = call_made();
    store_close();
    assert_false(reseal(newer, &counts));
    assert_non_null(strstr(why, "it is sealed with the secret of key id"));
    server_do(&server, "DEL nod:{00}mark"); /* as an older nod has left it */
    assert_true(reseal(newer, &counts));
    assert_int_equal(counts.records, RECORDS_OF_CALL);
    assert_int_equal(counts.refused, RECORDS_OF_CALL);
    assert_int_equal(counts.resealed, 0);
    assert_false(reseal(NULL, &counts));
    assert_non_null(strstr(why, "no secret is set"));
    store_use(older);
    assert_string_equal(load(store->ops->load_ask, &pair.ask).text, "\"answer\"");
}

static void a_server_that_cannot_be_written_to_is_said(void **state)
{
    struct reseal_counts counts;
    (void)state;

    address("nod:");
    store_use(older);
    call_made();
    store_close();
    server_do(&server, "CONFIG SET maxmemory 1");
    assert_false(reseal(both, &counts));
    assert_non_null(strstr(why, "run this again"));
    assert_int_equal(counts.resealed, 0);
    server_do(&server, "CONFIG SET maxmemory 0");
    assert_true(reseal(both, &counts));
    assert_int_equal(counts.resealed, RECORDS_OF_CALL);
}

/* --- the whole --- */

static struct keyring *ring_of(const struct str *known, size_t count)
{
    struct keyring *made = NULL;
    const char *problem;

    assert_int_equal(keyring_create(known, count, &made, &problem), NOD_OK);
    return made;
}

static int setup(void **state)
{
    (void)state;
    loop = loop_create();
    newer = ring_of(secrets, 1);
    both = ring_of(secrets, 2);
    older = ring_of(secrets + 1, 1);
    server = (struct redis_server){ 0 };
    server_start(&server);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_close();
    loop_destroy(loop);
    keyring_destroy(newer);
    keyring_destroy(both);
    keyring_destroy(older);
    server_stop(&server);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(redis_reseal)
{
    static const struct CMUnitTest tests[] = {
        TEST(every_record_comes_under_the_newest_secret_and_lives_no_longer),
        TEST(what_a_server_moves_meanwhile_is_sealed_anew_too),
        TEST(one_that_is_cut_off_is_run_again_and_loses_nothing),
        TEST(a_large_call_is_sealed_anew_in_pieces),
        TEST(one_that_no_secret_opens_is_counted_and_left_as_it_is),
        TEST(a_server_that_cannot_be_written_to_is_said),
    };

    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR, .fd = open("/dev/null", O_WRONLY) });
    return cmocka_run_group_tests_name("redis, when a secret is replaced", tests, NULL, NULL);
}
