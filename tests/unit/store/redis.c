/*
 * tests/unit/store/redis: the store suite against a real redis-server: plain, with a password, as
 * another user, over TLS, over a Unix socket, sealed, and as a node of a Redis Cluster.
 */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "crypto/seal.h"
#include "net/loop.h"
#include "redis_server.h"
#include "store/redis_inside.h"
#include "../runner.h"

struct redis_rig {
    struct store_rig rig; /* first */
    struct redis_server server;
    struct loop *loop;
    struct keyring *ring;
    char url[512];
    char why[REDIS_WHY_MAX];
    int64_t abandoned_ms; /* of the stores that are opened from then on */
};

static struct redis_rig *mine(struct store_rig *base)
{
    return (struct redis_rig *)base;
}

static void begin(struct store_rig *base)
{
    mine(base)->loop = loop_create();
    server_do(&mine(base)->server, "FLUSHALL");
}

static struct store *open_store(struct store_rig *base)
{
    struct redis_rig *rig = mine(base);
    struct store *store = redis_store_open(
        &(struct redis_opts){ .url = rig->url,
                              .loop = rig->loop,
                              .ring = rig->ring,
                              .pending_asks = base->pending_asks,
                              .kept_bytes = base->kept_bytes,
                              .kept_bytes_per_principal = base->kept_bytes_per_principal,
                              .keep_ms = base->keep_ms,
                              .abandoned_ms = rig->abandoned_ms,
                              .pending_asks_per_principal = base->pending_asks_per_principal },
        rig->why);

    if (!store)
        print_message("%s\n", rig->why);
    return store;
}

static void turn(struct store_rig *base)
{
    loop_turn(mine(base)->loop, 10);
}

/* Redis has a clock of its own: time passes, and the loop turns meanwhile. */
static void advance(struct store_rig *base, int64_t ms)
{
    int64_t until = clock_mono(clock_system()) + ms + 2;

    while (clock_mono(clock_system()) < until)
        loop_turn(mine(base)->loop, 1);
}

static void end(struct store_rig *base)
{
    loop_destroy(mine(base)->loop);
}

static struct store_rig rig_of(const char *name)
{
    return (struct store_rig){ .name = name,
                               .durable = true,
                               .shared = true,
                               .nodes = true,
                               .quotas = true,
                               .bytes = true,
                               .begin = begin,
                               .open = open_store,
                               .turn = turn,
                               .advance = advance,
                               .end = end };
}

/* --- its own --- */

enum { ABANDONED_MS = 1500 };

static void sweep(void)
{
    redis_store_sweep(suite_store);
    suite_get("none", "such"); /* behind all of it, on one connection at least */
    suite_rig->advance(suite_rig, 200);
}

static void line07_a_call_that_nobody_came_for_is_abandoned_after_its_time(void **state)
{
    struct question asks[3] = { { .key = "a" }, { .key = "b" }, { .key = "c" } };
    struct parking kept = { .call = suite_id(),
                            .open = true,
                            .questions = &asks[2],
                            .count = 1,
                            .keep_for_ms = SUITE_LONG_MS };
    (void)state;

    mine(suite_rig)->abandoned_ms = ABANDONED_MS;
    suite_reopen();
    sweep();
    struct id runnable = suite_ask(&asks[0]), runs = suite_ask(&asks[1]);
    suite_park(&kept);
    suite_claim(&asks[0].id, ASK_ACCEPTED, "{}", "ada", "");
    suite_claim(&asks[1].id, ASK_ACCEPTED, "{}", "ada", "node-a");
    suite_claim(&asks[2].id, ASK_ACCEPTED, "{}", "ada", "");
    sweep();
    assert_int_equal(suite_load_call(&runnable)->status, NOD_OK);
    suite_rig->advance(suite_rig, ABANDONED_MS + 200);
    sweep();
    assert_int_equal(suite_load_call(&runnable)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_load_call(&kept.call)->status, NOD_OK);
    /* Its node is gone: from now on somebody could run it. */
    assert_int_equal(suite_load_call(&runs)->reply.call->state, CALL_STORED_RUNNABLE);
    suite_rig->advance(suite_rig, ABANDONED_MS + 200);
    sweep();
    assert_int_equal(suite_load_call(&runs)->status, NOD_E_NOT_FOUND);
    mine(suite_rig)->abandoned_ms = 0;
}

static void line09_records_that_cannot_be_read_hide_no_others(void **state)
{
    enum { BAD = 20, LIMIT = 8 };
    struct question question;
    char command[256];
    (void)state;

    for (int i = 0; i < BAD; i++) {
        question = (struct question){ .key = "#1", .ttl_ms = SUITE_SHORT_MS };
        struct id call = suite_ask(&question);
        snprintf(command, sizeof(command), "HSET nod:{%02u}c:%s q%s bad",
                 redis_shard(id_str(&call)), call.text, question.id.text);
        server_do(&mine(suite_rig)->server, command);
        question = (struct question){ .key = "#1" };
        call = suite_ask(&question);
        suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "");
        snprintf(command, sizeof(command), "HSET nod:{%02u}c:%s c bad", redis_shard(id_str(&call)),
                 call.text);
        server_do(&mine(suite_rig)->server, command);
    }
    question = (struct question){ .key = "#1", .ttl_ms = SUITE_SHORT_MS + 1 };
    suite_ask(&question);
    struct id due = question.id;
    question = (struct question){ .key = "#1" };
    struct id call = suite_ask(&question);
    suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "");
    suite_rig->advance(suite_rig, 2 * SUITE_SHORT_MS);
    struct got *got = suite_scan(&(struct store_scan){ .index = STORE_RUNNABLE, .limit = LIMIT });
    assert_int_equal(got->rows, 1);
    assert_true(str_eq(got->calls[0].id, id_str(&call)));
    got = suite_scan(&(struct store_scan){ .index = STORE_ASKS_DUE, .limit = LIMIT });
    assert_int_equal(got->rows, 1);
    assert_true(str_eq(got->asks[0].id, id_str(&due)));
}

/* However many run, those that could be run are found. */
static void calls_that_run_hide_none_that_could_be_run(void **state)
{
    enum { READY = 8 };
    struct id ready[READY];
    (void)state;

    suite_beat("busy", SUITE_LONG_MS);
    server_do(&mine(suite_rig)->server,
              "EVAL 'for shard = 0, 63 do for i = 1, 1000 do redis.call(\"HSET\", "
              "string.format(\"nod:{%02d}r\", shard), "
              "string.format(\"%011d%011d\", shard, i), \"busy\") end end' 0");
    for (int i = 0; i < READY; i++) {
        struct question question = { .key = "#1" };
        ready[i] = suite_ask(&question);
        suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "");
    }
    struct got *got = suite_scan(&(struct store_scan){ .index = STORE_RUNNABLE });
    assert_int_equal(got->rows, READY);
    for (int i = 0; i < READY; i++) {
        bool found = false;
        for (size_t row = 0; row < got->rows; row++)
            found |= str_eq(got->calls[row].id, id_str(&ready[i]));
        assert_true(found);
    }
}

/* More than are remembered at a time, of which none can be read: the walk still comes to those that
 * can, shows each once, and ends. */
static void more_than_are_remembered_come_by_page(void **state)
{
    enum { READY = 8, EACH = 160 };
    struct id ready[READY];
    int seen[READY] = { 0 };
    char text[64];
    struct str cursor = STR_NONE;
    int pages = 0;
    (void)state;

    server_do(&mine(suite_rig)->server,
              "EVAL 'for shard = 0, 63 do for i = 1, 160 do redis.call(\"HSET\", "
              "string.format(\"nod:{%02d}r\", shard), "
              "string.format(\"%011d%011d\", shard, i), \"\") end end' 0");
    for (int i = 0; i < READY; i++) {
        struct question question = { .key = "#1" };
        ready[i] = suite_ask(&question);
        suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "");
    }
    do {
        struct got *got = suite_scan(
            &(struct store_scan){ .index = STORE_RUNNABLE, .cursor = cursor, .limit = 3 });
        assert_int_equal(got->status, NOD_OK);
        for (size_t row = 0; row < got->rows; row++)
            for (int i = 0; i < READY; i++)
                seen[i] += str_eq(got->calls[row].id, id_str(&ready[i]));
        if (got->reply.cursor.len)
            memcpy(text, got->reply.cursor.at, got->reply.cursor.len);
        cursor = str_n(text, got->reply.cursor.len);
    } while (cursor.len && ++pages < 64 * EACH);
    assert_int_equal(cursor.len, 0);
    for (int i = 0; i < READY; i++)
        assert_int_equal(seen[i], 1);
}

/* Members of all sorted sets of asks. */
static int indexed(void)
{
    char reply[64];
    int count = -1;

    assert_true(server_say(&mine(suite_rig)->server,
                           "EVAL 'local n = 0 for _, p in ipairs({\"*}a\", \"*}o:*\", \"*}l\"}) do "
                           "for _, k in ipairs(redis.call(\"KEYS\", p)) do "
                           "n = n + redis.call(\"ZCARD\", k) end end return tostring(n)' 0",
                           reply, sizeof(reply)));
    const char *text = strchr(reply, '\n');
    assert_non_null(text);
    assert_int_equal(sscanf(text, "%d", &count), 1);
    return count;
}

static void a_sweep_leaves_nothing_of_what_is_over_in_the_indexes(void **state)
{
    enum { ENDS = 300 };
    struct question asks[3] = { { .key = "a" }, { .key = "b" }, { .key = "c" } };
    (void)state;

    suite_rig->keep_ms = SUITE_SHORT_MS;
    mine(suite_rig)->abandoned_ms = 1;
    suite_reopen();
    sweep();
    suite_ask(&asks[0]); /* nobody comes for it */
    suite_claim(&asks[0].id, ASK_ACCEPTED, "{}", "ada", "");
    struct id ends = suite_ask(&asks[1]);
    suite_cancel(NULL, &ends, "enough");
    for (int i = 0; i < ENDS; i++) {
        struct question more = { .key = "d" };
        struct id call = suite_ask(&more);
        suite_cancel(NULL, &call, "enough");
    }
    suite_put("kind", "key", STR("value"), 0, SUITE_SHORT_MS);
    assert_int_equal(indexed(), 2 * (2 + ENDS) + 1);
    suite_ask(&asks[2]);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS + 50);
    sweep();
    assert_int_equal(indexed(), 2); /* the one that waits */
    mine(suite_rig)->abandoned_ms = 0;
}

static void counted(void *data, nod_status status, const struct store_reply *reply)
{
    (void)reply;
    assert_int_equal(status, NOD_OK);
    ++*(int *)data;
}

static uint64_t commands_sent(void)
{
    return ((struct redis_store *)(void *)suite_store)->commands_sent;
}

/* A count asks every shard: whoever comes while one is on its way does not begin another. */
static void questions_that_come_at_once_are_counted_for_once(void **state)
{
    enum { AT_ONCE = 16, SHARDS = 64, COUNT_MS = 1000, TURNS_MOST = 10000 };
    struct question first = { .key = "#1" };
    struct id calls[AT_ONCE], asks[AT_ONCE];
    int done = 0;
    (void)state;

    suite_rig->pending_asks = suite_rig->pending_asks_per_principal = 100 * AT_ONCE;
    suite_reopen();
    suite_ask(&first);
    suite_rig->advance(suite_rig, COUNT_MS + 100);
    uint64_t before = commands_sent();
    for (int i = 0; i < AT_ONCE; i++) {
        struct id token = suite_id();
        calls[i] = suite_id();
        asks[i] = suite_id();
        struct call_record open = { .id = id_str(&calls[i]),
                                    .principal = STR("ada"),
                                    .scope = STR("ada"),
                                    .target = STR("tool"),
                                    .args = STR("{}") };
        struct ask_record ask = { .id = id_str(&asks[i]),
                                  .call_id = open.id,
                                  .principal = open.principal,
                                  .scope = open.scope,
                                  .target = open.target,
                                  .key = STR("#1"),
                                  .message = STR("Shall it?"),
                                  .ttl_ms = SUITE_LONG_MS };
        suite_store->ops->park(suite_store,
                               &(struct park_spec){ .token = id_str(&token),
                                                    .open = &open,
                                                    .node = STR("node-a"),
                                                    .call_id = open.id,
                                                    .epoch = 1,
                                                    .asks = &ask,
                                                    .ask_count = 1 },
                               counted, &done);
    }
    for (int i = 0; done < AT_ONCE && i < TURNS_MOST; i++)
        suite_rig->turn(suite_rig);
    assert_int_equal(done, AT_ONCE);
    /* One count in all and one of the principal; a pointer and a script for each; and a sweep or a
     * beat may come in between. */
    assert_in_range(commands_sent() - before, 2 * SHARDS, 3 * SHARDS + 2 * AT_ONCE);
    suite_rig->pending_asks = suite_rig->pending_asks_per_principal = 0;
}

#define OWN(name) cmocka_unit_test_setup_teardown(name, suite_setup, suite_teardown)

static const struct CMUnitTest own[] = {
    OWN(line07_a_call_that_nobody_came_for_is_abandoned_after_its_time),
    OWN(line09_records_that_cannot_be_read_hide_no_others),
    OWN(calls_that_run_hide_none_that_could_be_run),
    OWN(more_than_are_remembered_come_by_page),
    OWN(a_sweep_leaves_nothing_of_what_is_over_in_the_indexes),
    OWN(questions_that_come_at_once_are_counted_for_once),
};

/* Of the ways to reach a server one, drawn anew each time, gets the whole suite; the others get its
 * first part. With NOD_SOAK=1, or if one way is named on
 * the command line, all get the whole. */
enum { SUITES = 7 };
static int suite_drawn = -1; /* which one; -1: all */
static int suite_next;

/* The suite, on a server that was started with these settings. */
static int suite_on(struct redis_rig *rig, const char *name)
{
    int nth = suite_next++;

    rig->rig = rig_of(name);
    if (suite_drawn >= 0 && nth != suite_drawn)
        return store_suite_first(&rig->rig);
    return store_suite(&rig->rig);
}

static int plain(struct redis_rig *rig)
{
    int failed;

    server_start(&rig->server);
    snprintf(rig->url, sizeof(rig->url), "redis://127.0.0.1:%d", rig->server.port);
    failed = suite_on(rig, "redis");
    failed += cmocka_run_group_tests_name("redis: its own", own, NULL, NULL);
    snprintf(rig->url, sizeof(rig->url), "redis+unix://%s?db=3&prefix=other%%3A",
             rig->server.socket);
    failed += suite_on(rig, "redis, Unix socket, another database and prefix");
    server_stop(&rig->server);
    return failed;
}

static int sealed(struct redis_rig *rig)
{
    static const struct str secret = STR_INIT("0123456789abcdef0123456789abcdef");
    const char *why;
    int failed;

    server_start(&rig->server);
    snprintf(rig->url, sizeof(rig->url), "redis://127.0.0.1:%d", rig->server.port);
    if (keyring_create(&secret, 1, &rig->ring, &why) != NOD_OK)
        return 1;
    failed = suite_on(rig, "redis, sealed");
    keyring_destroy(rig->ring);
    server_stop(&rig->server);
    return failed;
}

static int password(struct redis_rig *rig)
{
    int failed;

    rig->server.args[0] = "--requirepass";
    rig->server.args[1] = "p@ss:w/rd";
    snprintf(rig->server.password, sizeof(rig->server.password), "%s", "p@ss:w/rd");
    server_start(&rig->server);
    snprintf(rig->url, sizeof(rig->url), "redis://:p%%40ss%%3Aw%%2Frd@127.0.0.1:%d/1",
             rig->server.port);
    failed = suite_on(rig, "redis, password");
    /* The least that nod needs; CONFIG is not among it. */
    server_do(&rig->server, "ACL SETUSER nod on >secret ~nod:* &nod:* +@read +@write +@pubsub "
                            "+@scripting +time +role +auth +select +ping");
    snprintf(rig->url, sizeof(rig->url), "redis://nod:secret@localhost:%d", rig->server.port);
    failed += suite_on(rig, "redis, user");
    server_stop(&rig->server);
    return failed;
}

static int tls(struct redis_rig *rig)
{
    static char ca[128], cert[128], key[128];
    int failed;

    if (!scratch_make(rig->server.folder, sizeof(rig->server.folder)))
        return 1;
    certificates_make(rig->server.folder);
    snprintf(ca, sizeof(ca), "%s/ca.pem", rig->server.folder);
    snprintf(cert, sizeof(cert), "%s/cert.pem", rig->server.folder);
    snprintf(key, sizeof(key), "%s/key.pem", rig->server.folder);
    const char *const args[] = { "--tls-cert-file",    cert, "--tls-key-file",     key,
                                 "--tls-ca-cert-file", ca,   "--tls-auth-clients", "no" };
    for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++)
        rig->server.args[i] = args[i];
    rig->server.port = server_free_port();
    rig->server.tls_port = server_free_port();
    server_start(&rig->server);
    snprintf(rig->url, sizeof(rig->url), "rediss://localhost:%d?ca=%s", rig->server.tls_port, ca);
    failed = suite_on(rig, "redis, TLS");
    server_stop(&rig->server);
    return failed;
}

static int cluster(struct redis_rig *rig)
{
    int failed;

    rig->server.args[0] = "--cluster-enabled";
    rig->server.args[1] = "yes";
    server_start(&rig->server);
    server_do(&rig->server, "CLUSTER ADDSLOTSRANGE 0 16383");
    char state[1024] = "";
    for (int i = 0; i < PATIENCE_MS / 10 && !strstr(state, "cluster_state:ok"); i++) {
        usleep(10000);
        server_say(&rig->server, "CLUSTER INFO", state, sizeof(state));
    }
    snprintf(rig->url, sizeof(rig->url), "redis://127.0.0.1:%d", rig->server.port);
    failed = suite_on(rig, "redis, Cluster");
    server_stop(&rig->server);
    return failed;
}

static const struct {
    const char *name;
    int (*run)(struct redis_rig *rig);
} ways[] = {
    { "plain", plain }, { "sealed", sealed },   { "password", password },
    { "tls", tls },     { "cluster", cluster },
};

SUBJECT(redis)
{
    int failed = 0;

    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR, .fd = 2 }); /* no append-only file */
    if (argc < 2 && !suite_soak()) {
        suite_drawn = (int)((unsigned)(time(NULL) + getpid()) % SUITES);
        print_message("the whole suite on server %d of %d\n", suite_drawn + 1, SUITES);
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct redis_rig rig = { 0 };
        if (argc < 2 || strcmp(argv[1], ways[i].name) == 0)
            failed += ways[i].run(&rig);
    }
    assert_true(argc > 1 || suite_next == SUITES);
    return failed;
}
