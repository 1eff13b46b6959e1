/*
 * tests/unit/store/redis_faults: Redis when something goes wrong.
 *
 * A proxy between the store and a real redis-server loses what it is told to lose. The server is
 * killed, made a replica, loses its scripts, and its records are tampered with.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "crypto/seal.h"
#include "net/connect.h"
#include "net/listener.h"
#include "redis_server.h"
#include "store/redis.h"
#include "../runner.h"

enum { LIVES_MS = 600000 };

static struct redis_server server;
static struct loop *loop;
static struct store *store;
static char why[REDIS_WHY_MAX];
static char url[512];

/* --- completions --- */

struct got {
    int done;
    nod_status status;
    bool won, taken;
    uint64_t epoch;
    uint64_t version;
    size_t entries;
    enum call_state call_state;
    enum ask_state ask_state;
    char text[64]; /* of a value, of an answer */
};

static void got_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct got *got = data;
    struct str text = reply->ask ? reply->ask->content : reply->value;

    got->done++;
    got->status = status;
    got->won = reply->won;
    got->taken = reply->taken;
    got->epoch = reply->epoch;
    got->version = reply->version;
    got->entries = reply->call ? reply->call->entry_count : 0;
    got->call_state = reply->call ? reply->call->state : CALL_STORED_RUNNING;
    got->ask_state = reply->ask ? reply->ask->state : ASK_PENDING;
    snprintf(got->text, sizeof(got->text), STR_FMT, STR_ARG(text.at ? text : STR("")));
}

static void until(const struct got *got)
{
    int64_t end = clock_mono(clock_system()) + PATIENCE_MS;

    assert_int_equal(got->done, 0);
    while (!got->done && clock_mono(clock_system()) < end)
        loop_turn(loop, 10);
    assert_int_equal(got->done, 1);
}

static struct id new_id(void)
{
    struct id id;

    id_random(&id);
    return id;
}

struct pair {
    struct id call, ask;
};

static void park_begin(struct pair *pair, const struct id *token, struct got *got)
{
    struct call_record open = { .id = id_str(&pair->call), .scope = STR("s") };
    struct ask_record ask = { .id = id_str(&pair->ask),
                              .call_id = id_str(&pair->call),
                              .key = STR("#1"),
                              .message = STR("Go on?"),
                              .ttl_ms = LIVES_MS };

    *got = (struct got){ 0 };
    store->ops->park(store,
                     &(struct park_spec){ .token = id_str(token),
                                          .open = &open,
                                          .node = STR("node-a"),
                                          .call_id = id_str(&pair->call),
                                          .epoch = 1,
                                          .asks = &ask,
                                          .ask_count = 1,
                                          .handed = true },
                     got_done, got);
}

static nod_status park(struct pair *pair)
{
    struct id token = new_id();
    struct got got;

    pair->call = new_id();
    pair->ask = new_id();
    park_begin(pair, &token, &got);
    until(&got);
    return got.status;
}

static void claim_begin(const struct id *ask, const struct id *token, const char *content,
                        struct got *got)
{
    *got = (struct got){ 0 };
    store->ops->claim(
        store,
        &(struct claim_spec){ .token = id_str(token),
                              .items = &(struct claim_item){ .ask_id = id_str(ask),
                                                             .outcome = ASK_ACCEPTED,
                                                             .content = str_of(content) },
                              .count = 1,
                              .by = STR("ada"),
                              .take_for = STR("node-a") },
        got_done, got);
}

static struct got claim(const struct id *ask, const char *content)
{
    struct id token = new_id();
    struct got got;

    claim_begin(ask, &token, content, &got);
    until(&got);
    return got;
}

static struct got load_ask(const struct id *ask)
{
    struct got got = { 0 };

    store->ops->load_ask(store, id_str(ask), got_done, &got);
    until(&got);
    return got;
}

static struct got load_call(const struct id *call)
{
    struct got got = { 0 };

    store->ops->load_call(store, id_str(call), got_done, &got);
    until(&got);
    return got;
}

static bool is_ready(char reason[REDIS_WHY_MAX])
{
    struct str text = STR("");
    bool ready = store->ops->ready(store, &text);

    snprintf(reason, REDIS_WHY_MAX, STR_FMT, STR_ARG(text));
    return ready;
}

static void wait_ready(bool wanted)
{
    int64_t end = clock_mono(clock_system()) + PATIENCE_MS;
    char reason[REDIS_WHY_MAX];

    while (is_ready(reason) != wanted && clock_mono(clock_system()) < end)
        loop_turn(loop, 10);
    assert_int_equal(is_ready(reason), wanted);
}

static struct store *open_at(const char *address)
{
    return redis_store_open(&(struct redis_opts){ .url = address, .loop = loop }, why);
}

static void open_plain(void)
{
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", server.port);
    store = open_at(url);
    if (!store)
        fail_msg("%s", why);
}

static void quiet(void)
{
    static int nowhere = -1;

    if (nowhere < 0)
        nowhere = open("/dev/null", O_WRONLY);
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR, .fd = nowhere });
}

static int setup(void **state)
{
    (void)state;
    loop = loop_create();
    server = (struct redis_server){ 0 };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (store)
        store->ops->destroy(store);
    store = NULL;
    loop_destroy(loop);
    if (server.folder[0])
        server_stop(&server);
    return 0;
}

/* --- a proxy --- */

/*
 * Between the store and Redis. While `losing`, what Redis says is dropped, and the connection is
 * cut as soon as something was: the operation has happened, and nobody hears of it. While `deaf`,
 * a connection that subscribes is cut.
 */
struct proxy {
    struct listener *listener;
    bool losing;
    bool deaf; /* nobody can subscribe */
    int refused;
    int lost;
    int links;
};

struct proxied {
    struct proxy *proxy;
    struct stream *near; /* the store */
    struct stream *far;  /* Redis */
    int open;
};

enum { SETTLE_TURNS = 30 };
static struct proxy proxy;

static void proxied_close(struct proxied *proxied)
{
    stream_close(proxied->near);
    if (proxied->far)
        stream_close(proxied->far);
}

static void proxied_read(struct stream *stream, struct str bytes)
{
    struct proxied *proxied = stream->owner;
    bool from_redis = stream == proxied->far;

    if (from_redis && proxied->proxy->losing) {
        proxied->proxy->losing = false;
        proxied->proxy->lost++;
        proxied_close(proxied);
        return;
    }
    if (!from_redis && proxied->proxy->deaf && str_find(bytes, STR("SUBSCRIBE")) >= 0) {
        proxied->proxy->refused++;
        proxied_close(proxied);
        return;
    }
    stream_write(from_redis ? proxied->near : proxied->far, &bytes, 1);
}

static void proxied_end(struct stream *stream, int error)
{
    (void)error;
    proxied_close(stream->owner);
}

static void proxied_closed(struct stream *stream)
{
    struct proxied *proxied = stream->owner;

    if (--proxied->open == 0) {
        proxied->proxy->links--;
        mem_free(proxied);
    }
}

static const struct stream_events proxied_events = { proxied_read, proxied_end, NULL,
                                                     proxied_closed };

static void proxied_far(void *data, struct stream *far, const char *reason)
{
    struct proxied *proxied = data;

    (void)reason;
    if (!far) {
        stream_close(proxied->near);
        return;
    }
    proxied->far = far;
    proxied->open++;
    stream_own(far, &proxied_events, proxied);
    stream_read_start(far);
    stream_read_start(proxied->near);
}

static void proxy_accepted(struct stream *near, const struct peer *peer, void *data)
{
    struct proxied *proxied = MEM_NEW(struct proxied);

    (void)peer;
    proxied->proxy = data;
    proxied->near = near;
    proxied->open = 1;
    proxied->proxy->links++;
    stream_own(near, &proxied_events, proxied);
    connect_begin(loop, &(struct connect_opts){ .host = STR("127.0.0.1"), .port = server.port },
                  proxied_far, proxied);
}

static void open_through_proxy(void)
{
    proxy = (struct proxy){ 0 };
    assert_int_equal(
        listener_open(loop, STR("127.0.0.1"), 0, proxy_accepted, &proxy, &proxy.listener), NOD_OK);
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", listener_port(proxy.listener));
    store = open_at(url);
    if (!store)
        fail_msg("%s", why);
    for (int i = 0; i < SETTLE_TURNS; i++) /* what a store says by itself when it begins */
        loop_turn(loop, 10);
}

static void close_proxy(void)
{
    store->ops->destroy(store);
    store = NULL;
    listener_close(proxy.listener);
    for (int i = 0; proxy.links && i < PATIENCE_MS / 10; i++)
        loop_turn(loop, 10);
    assert_int_equal(proxy.links, 0);
}

/* --- replies that are lost --- */

static void an_operation_whose_reply_was_lost_recognises_itself(void **state)
{
    struct id parked = new_id(), claimed = new_id(), finished = new_id(), taken = new_id();
    struct pair pair = { new_id(), new_id() };
    struct got got;
    (void)state;

    server_start(&server);
    open_through_proxy();
    proxy.losing = true;
    park_begin(&pair, &parked, &got);
    until(&got);
    assert_int_equal(got.status, NOD_E_STORE);
    assert_int_equal(proxy.lost, 1);
    park_begin(&pair, &parked, &got);
    until(&got);
    assert_int_equal(got.status, NOD_OK);
    park_begin(&pair, &taken, &got); /* another token: it is there already */
    until(&got);
    assert_int_equal(got.status, NOD_E_STALE);

    proxy.losing = true;
    claim_begin(&pair.ask, &claimed, "{\"n\":1}", &got);
    until(&got);
    assert_int_equal(got.status, NOD_E_STORE);
    for (int i = 0; i < 2; i++) {
        claim_begin(&pair.ask, &claimed, "{\"n\":1}", &got);
        until(&got);
        assert_int_equal(got.status, NOD_OK);
        assert_true(got.won && got.taken);
        assert_int_equal(got.epoch, 2);
        assert_int_equal(got.entries, 1);
    }
    for (int i = 0; i < 3; i++) {
        proxy.losing = i == 0;
        got = (struct got){ 0 };
        store->ops->finish(store,
                           &(struct finish_spec){ .token = id_str(&finished),
                                                  .call_id = id_str(&pair.call),
                                                  .epoch = 2,
                                                  .result = STR("{}") },
                           got_done, &got);
        until(&got);
        assert_int_equal(got.status, i == 0 ? NOD_E_STORE : NOD_OK);
    }
    assert_int_equal(load_call(&pair.call).call_state, CALL_STORED_FINISHED);
    assert_int_equal(proxy.lost, 3);
    close_proxy();
}

static void scripts_that_were_flushed_are_loaded_again(void **state)
{
    struct pair pairs[20];
    struct got got[20];
    (void)state;

    server_start(&server);
    open_plain();
    assert_int_equal(park(&pairs[0]), NOD_OK);
    server_do(&server, "SCRIPT FLUSH");
    for (int i = 0; i < 20; i++) { /* all under way at once */
        struct id token = new_id();
        pairs[i] = (struct pair){ new_id(), new_id() };
        park_begin(&pairs[i], &token, &got[i]);
    }
    for (int i = 0; i < 20; i++) {
        if (!got[i].done)
            until(&got[i]);
        assert_int_equal(got[i].status, NOD_OK);
    }
    server_do(&server, "SCRIPT FLUSH");
    for (int i = 0; i < 20; i++)
        assert_true(claim(&pairs[i].ask, "{}").taken);
}

/* --- Redis away and back --- */

static void what_waits_goes_on_when_redis_is_back(void **state)
{
    struct pair pair;
    struct got late;
    struct id token = new_id();
    char reason[REDIS_WHY_MAX];
    (void)state;

    /* Without "always", a Redis whose disk is busy replies up to two seconds before it writes. */
    server.args[0] = "--appendonly";
    server.args[1] = "yes";
    server.args[2] = "--appendfsync";
    server.args[3] = "always";
    server_start(&server);
    /* Longer than a loaded machine takes to start Redis: an operation whose time is up fails. */
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d?timeout=%d", server.port, PATIENCE_MS);
    store = open_at(url);
    assert_non_null(store);
    assert_int_equal(park(&pair), NOD_OK);
    server_kill(&server);
    wait_ready(false);
    is_ready(reason);
    assert_true(strlen(reason) > 0);
    claim_begin(&pair.ask, &token, "{\"n\":2}", &late); /* waits for a connection */
    for (int i = 0; i < 5; i++)
        loop_turn(loop, 10);
    assert_int_equal(late.done, 0);
    server_start(&server);
    until(&late);
    assert_int_equal(late.status, NOD_OK);
    assert_true(late.won && late.taken);
    wait_ready(true);
}

static void nobody_wakes(void *data, struct str call_id)
{
    (void)data;
    (void)call_id;
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

/* The connections come back in any order, and the one that is subscribed may be the last. */
static void whoever_said_that_it_is_away_says_that_it_is_back(void **state)
{
    FILE *log = tmpfile();
    struct pair pair;

    (void)state;
    server_start(&server);
    open_through_proxy();
    store->ops->watch(store, STR("here"), nobody_wakes, NULL);
    assert_int_equal(park(&pair), NOD_OK);
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_INFO, .fd = fileno(log) });
    proxy.deaf = true;
    server_do(&server, "CLIENT KILL TYPE pubsub");
    server_do(&server, "CLIENT KILL TYPE normal SKIPME yes");
    for (int i = 0; proxy.refused < 4 && i < PATIENCE_MS / 10; i++)
        loop_turn(loop, 10);
    assert_true(proxy.refused >= 4); /* the others are there by then */
    proxy.deaf = false;
    assert_int_equal(park(&pair), NOD_OK);
    assert_int_equal(said(log, "the store is away"), 1);
    assert_int_equal(said(log, "the store is back"), 1);
    quiet();
    fclose(log);
    close_proxy();
}

/* For a limit that a busy machine may miss: what it has disturbed is tried again. */
enum { TRIES = 20 };

static void open_with(int timeout_ms)
{
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d?timeout=%d", server.port, timeout_ms);
    for (int left = TRIES; !store && left; left--)
        store = open_at(url);
    if (!store)
        fail_msg("%s", why);
}

static void park_surely(struct pair *pair)
{
    nod_status status = NOD_E_STORE;

    for (int left = TRIES; status == NOD_E_STORE && left; left--)
        status = park(pair);
    assert_int_equal(status, NOD_OK);
}

static void an_operation_that_finds_nobody_fails_within_its_time(void **state)
{
    int64_t took = INT64_MAX;
    (void)state;

    server_start(&server);
    open_with(300);
    server_kill(&server);
    wait_ready(false);
    for (int left = TRIES; took >= 2000 && left; left--) {
        struct pair pair = { new_id(), new_id() };
        struct id token = new_id();
        struct got got;
        int64_t began = clock_mono(clock_system());
        park_begin(&pair, &token, &got);
        until(&got);
        took = clock_mono(clock_system()) - began;
        assert_int_equal(got.status, NOD_E_STORE);
    }
    assert_true(took < 2000);
}

static void a_redis_that_does_not_answer_is_let_go_of(void **state)
{
    struct pair pair;
    nod_status status = NOD_OK;
    (void)state;

    server_start(&server);
    open_with(400);
    park_surely(&pair);
    for (int left = TRIES; status == NOD_OK && left; left--) { /* the pause may be over by then */
        server_do(&server, "CLIENT PAUSE 1500 ALL");
        status = park(&pair);
    }
    assert_int_equal(status, NOD_E_STORE);
    wait_ready(false);
    wait_ready(true);
    park_surely(&pair);
}

/* --- killed --- */

enum { KILLS = 50, EARLY = 8, LATE = 16, TURNS = 8 };

struct round {                /* what was under way when Redis was killed */
    struct pair early[EARLY]; /* parked before, and claimed now */
    struct pair late[LATE];   /* parked now */
    struct got claimed[EARLY], parked[LATE];
};

static void round_run(struct round *round)
{
    for (int i = 0; i < EARLY; i++) {
        nod_status status = NOD_E_STORE; /* the connection of the last round may be found broken */
        for (int tries = 0; tries < 5 && status == NOD_E_STORE; tries++)
            status = park(&round->early[i]);
        assert_int_equal(status, NOD_OK);
    }
    for (int i = 0; i < LATE; i++) {
        struct id token = new_id(), other = new_id();
        round->late[i] = (struct pair){ new_id(), new_id() };
        park_begin(&round->late[i], &token, &round->parked[i]);
        if (i < EARLY)
            claim_begin(&round->early[i].ask, &other, "{}", &round->claimed[i]);
        if (i % 4 == 3 && rand() % 2) /* in several pieces */
            loop_turn(loop, 1);
    }
    for (int turns = rand() % TURNS; turns > 0; turns--)
        loop_turn(loop, 1);
    server_kill(&server);
    server_start(&server);
    for (int i = 0; i < LATE; i++)
        if (!round->parked[i].done)
            until(&round->parked[i]);
    for (int i = 0; i < EARLY; i++)
        if (!round->claimed[i].done)
            until(&round->claimed[i]);
}

/* How many of its acknowledged transitions are not there. */
static size_t round_lost(struct round *round, size_t *acknowledged)
{
    size_t lost = 0;

    for (int i = 0; i < LATE; i++) {
        struct got ask = load_ask(&round->late[i].ask);
        *acknowledged += round->parked[i].status == NOD_OK;
        lost += round->parked[i].status == NOD_OK && ask.status != NOD_OK;
    }
    for (int i = 0; i < EARLY; i++) {
        struct got ask = load_ask(&round->early[i].ask);
        *acknowledged += 1 + (round->claimed[i].status == NOD_OK);
        lost += ask.status != NOD_OK;
        lost += round->claimed[i].status == NOD_OK && ask.ask_state != ASK_ACCEPTED;
    }
    return lost;
}

static void what_was_acknowledged_is_there_after_a_kill(void **state)
{
    static struct round rounds[KILLS];
    static const char *const args[] = { "--appendonly", "yes", "--appendfsync", "always" };
    const char *given = getenv("NOD_SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    size_t acknowledged = 0, lost = 0;
    (void)state;

    print_message("seed %u\n", seed);
    srand(seed);
    for (size_t i = 0; i < 4; i++)
        server.args[i] = args[i];
    server_start(&server);
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d?timeout=20000&strict=1", server.port);
    store = open_at(url);
    if (!store)
        fail_msg("%s", why);
    for (int i = 0; i < KILLS; i++)
        round_run(&rounds[i]);
    while (load_call(&rounds[0].early[0].call).status == NOD_E_STORE)
        ; /* the connection was lost with the last kill */
    for (int i = 0; i < KILLS; i++)
        lost += round_lost(&rounds[i], &acknowledged);
    print_message("%d kills: %zu transitions acknowledged of %d, lost %zu\n", KILLS, acknowledged,
                  KILLS * (2 * EARLY + LATE), lost);
    assert_int_equal(lost, 0);
    assert_true(acknowledged > KILLS * EARLY);
}

/* --- servers that will not do --- */

static void a_replica_is_refused_also_when_it_becomes_one(void **state)
{
    struct pair pair;
    char reason[REDIS_WHY_MAX];
    (void)state;

    server_start(&server);
    open_plain();
    assert_int_equal(park(&pair), NOD_OK);
    server_do(&server, "REPLICAOF 127.0.0.1 1");
    assert_int_equal(park(&pair), NOD_E_STORE);
    wait_ready(false);
    for (int i = 0; i < PATIENCE_MS / 20 && (is_ready(reason), !strstr(reason, "not a primary"));
         i++)
        loop_turn(loop, 20);
    assert_non_null(strstr(reason, "it is not a primary"));
    assert_null(open_at(url));
    assert_non_null(strstr(why, "it is not a primary"));
    server_do(&server, "REPLICAOF NO ONE");
    wait_ready(true);
    assert_int_equal(park(&pair), NOD_OK);
}

static void a_memory_that_is_full_is_an_error_and_not_a_loss(void **state)
{
    struct pair pair, other;
    (void)state;

    server_start(&server);
    open_plain();
    assert_int_equal(park(&pair), NOD_OK);
    server_do(&server, "CONFIG SET maxmemory 1");
    assert_int_equal(park(&other), NOD_E_STORE);
    server_do(&server, "CONFIG SET maxmemory 0");
    assert_true(claim(&pair.ask, "{}").won);
}

/* --- records that were meddled with --- */

static void content_is_sealed_and_what_was_meddled_with_is_refused(void **state)
{
    static const struct str secret = STR_INIT("0123456789abcdef0123456789abcdef");
    struct keyring *ring = NULL;
    const char *problem;
    struct pair fine, changed;
    static char dump[65536];
    char command[512];
    (void)state;

    server_start(&server);
    assert_int_equal(keyring_create(&secret, 1, &ring, &problem), NOD_OK);
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", server.port);
    struct redis_opts opts = { .url = url, .loop = loop, .ring = ring };
    store = redis_store_open(&opts, why);
    assert_non_null(store);
    assert_int_equal(park(&fine), NOD_OK);
    assert_int_equal(park(&changed), NOD_OK);
    assert_true(claim(&fine.ask, "MARKER-answer").won);

    snprintf(command, sizeof(command),
             "EVAL 'local out = \"\" for _, k in ipairs(redis.call(\"KEYS\", \"*\")) do if "
             "redis.call(\"TYPE\", k).ok == \"hash\" then out = out .. "
             "table.concat(redis.call(\"HGETALL\", k)) end end return out' 0");
    assert_true(server_say(&server, command, dump, sizeof(dump)));
    assert_non_null(memmem(dump, sizeof(dump), fine.ask.text, ID_LEN));
    assert_null(memmem(dump, sizeof(dump), "MARKER", 6));
    assert_null(memmem(dump, sizeof(dump), "Go on?", 6));

    /* A state beside the record, a record over another one. */
    snprintf(command, sizeof(command),
             "EVAL 'for _, k in ipairs(redis.call(\"KEYS\", \"*c:%s\")) do redis.call(\"HSET\", k, "
             "\"m%s\", \"1 1 99999999999999 1 0 0 x\") end return 1' 0",
             changed.call.text, changed.ask.text);
    server_do(&server, command);
    assert_int_equal(load_ask(&changed.ask).status, NOD_E_REFUSED);
    assert_int_equal(load_ask(&fine.ask).status, NOD_OK);
    assert_string_equal(load_ask(&fine.ask).text, "MARKER-answer");
    store->ops->destroy(store);
    opts.ring = NULL;
    assert_null(redis_store_open(&opts, why));
    assert_non_null(strstr(why, "and no secret is set"));
    opts.mark = MARK_IGNORED;
    store = redis_store_open(&opts, why);
    assert_non_null(store);
    assert_int_equal(load_ask(&fine.ask).status, NOD_E_STORE);
    keyring_destroy(ring);
}

/* As the program's that has made it and then done something else. */
static void a_loop_that_has_not_turned_for_long_reaches_it(void **state)
{
    (void)state;

    server_start(&server);
    usleep(1100 * 1000);
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d?timeout=1000", server.port);
    store = open_at(url);
    if (!store)
        fail_msg("%s", why);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(redis_faults)
{
    static const struct CMUnitTest tests[] = {
        TEST(an_operation_whose_reply_was_lost_recognises_itself),
        TEST(a_loop_that_has_not_turned_for_long_reaches_it),
        TEST(scripts_that_were_flushed_are_loaded_again),
        TEST(what_waits_goes_on_when_redis_is_back),
        TEST(whoever_said_that_it_is_away_says_that_it_is_back),
        TEST(an_operation_that_finds_nobody_fails_within_its_time),
        TEST(a_redis_that_does_not_answer_is_let_go_of),
        TEST(what_was_acknowledged_is_there_after_a_kill),
        TEST(a_replica_is_refused_also_when_it_becomes_one),
        TEST(a_memory_that_is_full_is_an_error_and_not_a_loss),
        TEST(content_is_sealed_and_what_was_meddled_with_is_refused),
    };

    quiet();
    return cmocka_run_group_tests_name("redis, when something goes wrong", tests, NULL, NULL);
}
