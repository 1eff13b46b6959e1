/*
 * store/redis: the store that several nodes share.
 *
 * This file opens and closes the store, and has the small records and the heartbeats, which are one
 * command or one small script each. redis_inside.h says where the rest is.
 *
 * Holds always: nothing here blocks. The one exception is opening: it turns the loop until the
 * first greeting is done, so that a wrong address ends a server at its start and not at its first
 * call.
 */
#include "store/redis.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "store/redis_inside.h"

enum {
    OPEN_TURN_MS = 20,
    OPEN_QUIET_MS = 1000, /* without an answer, before it is said that nothing answers */
    SWEEP_LOOKS = 64,     /* records of each index that one step of a sweep looks at */
    SWEEPS_MOST = 256,    /* steps of one sweep of a shard, as long as there is more to remove */
};

/* --- small records --- */

static struct str redis_value_key(struct redis_op *op)
{
    return redis_key(op, op->key, "k:", redis_value_name(op, op->kind, op->key));
}

static struct redis_op *value_op(struct store *store, const struct redis_verb *verb,
                                 struct str kind, struct str key, store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(store), verb, done, data);

    op->kind = arena_str(&op->arena, kind);
    op->key = arena_str(&op->arena, key);
    return op;
}

struct putting {
    struct str words[7];
    struct redis_count *count; /* NULL: there is room, or none is needed */
    enum store_quota quota;
    uint64_t bytes;
};

enum { PUT_COUNT, PUT_LAPSE, PUT_NOW };

static void put_say(struct redis_op *op, struct putting *putting)
{
    struct str keys[] = { redis_value_key(op), redis_key(op, op->key, "l", STR_NONE) };

    op->phase = PUT_NOW;
    putting->words[6] = putting->quota ? STR("1") : STR("0");
    redis_op_script(op, SCRIPT_PUT, keys, 2, putting->words, 7);
}

/* All shards have said how much there is. Results that were handed out make room with the next
 * call: this is a small record. */
static void put_counted(struct redis_op *op, struct putting *putting)
{
    putting->quota = redis_count_full(op->store, putting->count);
    if (putting->quota && redis_lapse_say(op, putting->count)) {
        op->phase = PUT_LAPSE;
        return;
    }
    redis_op_more(op);
    put_say(op, putting);
}

static void put_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct putting *putting = (struct putting *)(uintptr_t)op->with;

    if (op->phase == PUT_COUNT)
        redis_count_heard(op->store, putting->count, at, value);
    if (at + 1 < op->expected)
        return;
    if (op->phase == PUT_COUNT) {
        put_counted(op, putting);
    } else if (op->phase == PUT_LAPSE) {
        redis_op_more(op);
        op->phase = PUT_COUNT;
        redis_count_say(op, putting->count);
    } else if (redis_op_said(op, value)) {
        op->reply.version = (uint64_t)redis_number(redis_item(value, 2));
        if (!putting->count)
            redis_tally_grew(op->store, redis_text(redis_item(value, 3)), putting->bytes);
    } else if (op->status == NOD_E_LIMIT) {
        redis_quota_said(op, putting->quota);
    }
}

static const struct redis_verb put_verb = { "put", put_reply };

static void redis_put(struct store *base, struct str kind, struct str key, struct str value,
                      struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                      void *data)
{
    struct redis_store *store = redis_of(base);
    struct redis_op *op = value_op(base, &put_verb, kind, key, done, data);
    struct putting *putting = ARENA_NEW(&op->arena, struct putting);
    nod_status status =
        codec_write_text(&store->codec, CODEC_VALUE, kind, key, value, &store->record);
    bool if_room = version == STORE_IF_ROOM;

    if (!putting || status != NOD_OK) {
        buf_clear(&store->record);
        redis_op_end(op, status != NOD_OK ? status : NOD_E_LIMIT);
        return;
    }
    putting->bytes = (uint64_t)kept_small(kind, key, value);
    putting->words[0] = version == STORE_NEW ? STR("new")
                        : if_room            ? STR("0")
                                             : redis_digits(op, (int64_t)version);
    putting->words[1] = redis_digits(op, redis_life(ttl_ms));
    putting->words[2] = redis_copy(op, buf_str(&store->record));
    putting->words[3] = redis_value_name(op, op->kind, op->key);
    putting->words[4] = whose.len ? redis_owner(op, whose) : STR_NONE;
    putting->words[5] = redis_digits(op, (int64_t)putting->bytes);
    buf_clear(&store->record);
    op->with = putting;
    if (if_room && whose.len)
        putting->count =
            redis_count_wanted(op, whose, &(struct redis_more){ .bytes = putting->bytes });
    if (putting->count)
        redis_count_say(op, putting->count);
    else
        put_say(op, putting);
    redis_op_send_or_end(op);
}

static void get_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct str record = redis_text(redis_item(value, 1));

    (void)at;
    if (redis_item(value, 0)->type == REDIS_IS_NIL) {
        op->status = NOD_E_NOT_FOUND;
        return;
    }
    op->reply.version = (uint64_t)redis_number(redis_item(value, 0));
    op->status = codec_read_text(&op->store->codec, CODEC_VALUE, op->kind, op->key, record,
                                 &op->arena, &op->reply.value);
}

static const struct redis_verb get_verb = { "get", get_reply };

static void redis_get(struct store *store, struct str kind, struct str key, store_done *done,
                      void *data)
{
    struct redis_op *op = value_op(store, &get_verb, kind, key, done, data);

    redis_op_say(op, (struct str[]){ STR("HMGET"), redis_value_key(op), STR("v"), STR("d") }, 4);
    redis_op_send(op);
}

static void del_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    (void)at;
    if (redis_number(value) == 0)
        op->status = NOD_E_NOT_FOUND;
}

static const struct redis_verb del_verb = { "del", del_reply };

static void redis_del(struct store *store, struct str kind, struct str key, store_done *done,
                      void *data)
{
    struct redis_op *op = value_op(store, &del_verb, kind, key, done, data);

    struct str name = redis_value_name(op, op->kind, op->key);
    struct str keys[] = { redis_value_key(op), redis_key(op, op->key, "l", STR_NONE) };

    redis_op_script(op, SCRIPT_DEL, keys, 2, &name, 1);
    redis_op_send(op);
}

/* --- nodes, sweeping --- */

/* A heartbeat also shows when Redis takes no writes, and when it does again: it is a write that
 * needs memory. Other writes may succeed even then. */
static void beat_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    (void)at;
    (void)value;
    redis_writes(op->store);
}

static const struct redis_verb beat_verb = { "beat", beat_reply };

/* --- sweeping: the time in use, then a shard, then calls that have run in it for too long --- */

enum { SWEEP_USED, SWEEP_SHARD, SWEEP_ALIVE, SWEEP_ORPHANS };

struct sweeping {
    unsigned shard;
    unsigned again;
    size_t count;     /* of calls that have run for very long */
    struct str *runs; /* call, node and epoch of each */
    bool *gone;
};

static void sweep_say(struct redis_op *op, unsigned shard)
{
    struct str keys[] = { redis_shard_key(op, shard, "r", STR_NONE),
                          redis_shard_key(op, shard, "d", STR_NONE) };
    struct str words[] = { redis_shard_key(op, shard, "c:", STR_NONE),
                           arena_fmt(&op->arena, "%d", SWEEP_LOOKS), redis_used(op),
                           redis_digits(op, op->store->abandoned_ms),
                           redis_digits(op, redis_life(op->store->keep_ms)) };

    redis_op_script(op, SCRIPT_SWEEP, keys, 2, words, 5);
}

static void sweep_runs(struct redis_op *op, struct sweeping *sweeping,
                       const struct redis_value *runs)
{
    sweeping->count = (runs->type == REDIS_IS_LIST ? runs->count : 0) / 3;
    sweeping->runs = arena_alloc(&op->arena, (3 * sweeping->count + 1) * sizeof(struct str));
    sweeping->gone = arena_zalloc(&op->arena, sweeping->count + 1);
    if (!sweeping->count || !sweeping->runs || !sweeping->gone)
        return;
    for (size_t i = 0; i < 3 * sweeping->count; i++)
        sweeping->runs[i] = redis_copy(op, redis_text(&runs->items[i]));
    redis_op_more(op);
    for (size_t i = 0; i < sweeping->count; i++) {
        struct str node = sweeping->runs[3 * i + 1];
        redis_op_say(op, (struct str[]){ STR("EXISTS"), redis_key(op, node, "n:", node) }, 2);
    }
}

static void sweep_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct sweeping *sweeping = (struct sweeping *)(uintptr_t)op->with;

    if (op->phase == SWEEP_ALIVE) {
        sweeping->gone[at] = redis_number(value) == 0;
        if (at + 1 == op->expected) {
            redis_op_more(op);
            for (size_t i = 0; i < sweeping->count; i++) {
                const struct str *run = &sweeping->runs[3 * i];
                struct str keys[] = { redis_shard_key(op, sweeping->shard, "c:", run[0]),
                                      redis_shard_key(op, sweeping->shard, "r", STR_NONE) };
                struct str words[] = { run[0], run[1], run[2],
                                       sweeping->gone[i] ? STR("1") : STR("0"), redis_used(op) };
                redis_op_script(op, SCRIPT_ORPHAN, keys, 2, words, 5);
            }
        }
    } else if (op->phase == SWEEP_ORPHANS || !redis_op_said(op, value)) {
        return;
    } else if (op->phase == SWEEP_USED) {
        op->store->used_ms = redis_number(redis_item(value, 2)) + 1; /* 0: not known */
        redis_op_more(op);
        sweep_say(op, sweeping->shard);
    } else {
        if (redis_number(redis_item(value, 3)) && ++sweeping->again < SWEEPS_MOST) {
            redis_op_more(op);
            op->phase = SWEEP_SHARD;
            sweep_say(op, sweeping->shard);
        } else {
            sweep_runs(op, sweeping, redis_item(value, 2));
        }
    }
}

static const struct redis_verb sweep_verb = { "sweep", sweep_reply };

static void redis_beat(struct store *base, struct str node, int64_t ttl_ms, store_done *done,
                       void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &beat_verb, done, data);
    struct str ttl = arena_fmt(&op->arena, "%lld", (long long)(ttl_ms > 0 ? ttl_ms : 1));

    redis_op_say(
        op, (struct str[]){ STR("SET"), redis_key(op, node, "n:", node), STR("1"), STR("PX"), ttl },
        5);
    redis_op_send(op);
}

static void sweep_begin(struct redis_store *store)
{
    struct redis_op *op = redis_op_new(store, &sweep_verb, NULL, NULL);
    struct sweeping *sweeping = ARENA_NEW(&op->arena, struct sweeping);

    if (!sweeping) {
        redis_op_end(op, NOD_E_LIMIT);
        return;
    }
    sweeping->shard = store->swept++ % REDIS_SHARDS;
    op->with = sweeping;
    struct str key = redis_shard_key(op, 0, "used", STR_NONE);
    struct str step = redis_digits(op, REDIS_USED_STEP_MS);
    redis_op_script(op, SCRIPT_TIME_IN_USE, &key, 1, &step, 1);
    redis_op_send(op);
}

void redis_store_sweep(struct store *store)
{
    for (unsigned i = 0; i < REDIS_SHARDS; i++)
        sweep_begin(redis_of(store));
}

static void sweep_due(void *data)
{
    struct redis_store *store = data;
    const char *why;

    timer_set(store->loop, &store->sweep, REDIS_SWEEP_EVERY_MS, sweep_due, store);
    if (!redis_lanes_ready(store, &why))
        return;
    sweep_begin(store);
    redis_mark_look(store);
}

/* --- the whole --- */

static bool op_ready(struct store *base, struct str *why)
{
    const struct redis_store *store = redis_of(base);
    const char *reason = "";

    if (redis_lanes_ready(store, &reason) && redis_watching(store) && !store->refusing)
        return true;
    if (!reason[0] && store->refusing)
        reason = store->refusing;
    *why = str_of(reason[0] ? reason : store->wakes ? store->wakes->why : "");
    return false;
}

static void redis_destroy(struct store *base)
{
    struct redis_store *store = redis_of(base);

    timer_stop(store->loop, &store->sweep);
    redis_ops_drop(store);
    redis_link_destroy(store->wakes);
    redis_link_destroy(store->hints);
    redis_link_destroy(store->announcements);
    for (unsigned i = 0; i < REDIS_LANES; i++)
        redis_link_destroy(store->lanes[i]);
    redis_forget_all(store);
    redis_tallies_finish(store);
    keyring_destroy(store->codec.ring);
    buf_finish(&store->record);
    tls_context_destroy(store->tls);
    mem_free(store->channel_text);
    explicit_bzero(&store->url, sizeof(store->url));
    mem_free(store);
}

static int64_t op_now(struct store *base)
{
    return redis_now(redis_of(base));
}

static const struct store_ops redis_ops = {
    .name = "redis",
    .shared = true,
    .durable = true,
    .at_once = REDIS_AT_ONCE,
    .park = redis_park,
    .append = redis_append,
    .claim = redis_claim,
    .take = redis_take,
    .finish = redis_finish,
    .cancel = redis_cancel,
    .fetched = redis_fetched,
    .held = redis_held,
    .load_call = redis_load_call,
    .load_with_asks = redis_load_with_asks,
    .load_ask = redis_load_ask,
    .scan = redis_scan,
    .put = redis_put,
    .get = redis_get,
    .del = redis_del,
    .list = redis_list,
    .beat = redis_beat,
    .watch = redis_watch,
    .watch_asks = redis_watch_asks,
    .announce = redis_announce,
    .watch_announced = redis_watch_announced,
    .ready = op_ready,
    .opens = redis_opens,
    .now = op_now,
    .destroy = redis_destroy,
};

/* True: every connection is greeted, or it is known that this server cannot be used. */
static bool first_greeting(struct redis_store *store, char *why)
{
    int64_t until = loop_now(store->loop) + store->url.timeout_ms;
    int64_t quiet_for = store->url.timeout_ms - OPEN_QUIET_MS;
    const char *reason = "";
    bool said = false;

    while (!redis_lanes_ready(store, &reason) && !store->lanes[0]->hopeless &&
           loop_now(store->loop) < until) {
        loop_turn(store->loop, OPEN_TURN_MS);
        const char *why_not = store->lanes[0]->why;
        bool failed =
            (store->lanes[0]->settled && *why_not) || loop_now(store->loop) > until - quiet_for;
        if (said || !failed || redis_lanes_ready(store, &reason) || store->lanes[0]->hopeless)
            continue;
        said = true;
        LOG_ERROR("Redis cannot be reached; it is tried again for a while",
                  LOG_CSTR("where", store->url.shown),
                  LOG_CSTR("why", *why_not ? why_not : "it has not answered yet"),
                  LOG_INT("for_ms", store->url.timeout_ms));
    }
    bool ready = redis_lanes_ready(store, &reason);
    if (!ready)
        snprintf(why, REDIS_WHY_MAX, "%.80s: %.400s", store->url.shown,
                 store->lanes[0]->hopeless ? store->lanes[0]->why : reason);
    return ready;
}

static bool use_tls(struct redis_store *store, char *why)
{
    const struct redis_url *url = &store->url;
    char reason[TLS_WHY_MAX];

    if (!url->tls)
        return true;
    store->tls =
        tls_context_create(&(struct tls_opts){ .ca_file = url->ca[0] ? url->ca : NULL,
                                               .cert_file = url->cert[0] ? url->cert : NULL,
                                               .key_file = url->key[0] ? url->key : NULL },
                           reason);
    if (!store->tls)
        snprintf(why, REDIS_WHY_MAX, "%s", reason);
    return store->tls != NULL;
}

struct store *redis_store_open(const struct redis_opts *opts, char why[REDIS_WHY_MAX])
{
    struct redis_store *store = MEM_NEW(struct redis_store);

    why[0] = '\0';
    store->store.ops = &redis_ops;
    store->loop = opts->loop;
    if (!redis_url_parse(str_of(opts->url), &store->url, why) || !use_tls(store, why)) {
        explicit_bzero(&store->url, sizeof(store->url));
        mem_free(store);
        return NULL;
    }
    store->url.strict |= opts->strict;
    store->keep_ms = opts->keep_ms > 0 ? opts->keep_ms : REDIS_KEEP_MS;
    store->store.keep_ms = store->keep_ms;
    store->abandoned_ms = opts->abandoned_ms > 0 ? opts->abandoned_ms : STORE_ABANDONED_MS;
    store->codec =
        (struct codec){ .ring = opts->ring ? keyring_copy(opts->ring) : NULL, .store = "redis" };
    buf_init(&store->record, CODEC_RECORD_MAX + SEAL_OVERHEAD + CODEC_SCOPE_MAX + 64);
    list_init(&store->waiting);
    for (unsigned i = 0; i < REDIS_LANES; i++)
        list_init(&store->sent[i]);
    list_init(&store->finished);
    list_init(&store->known_order);
    map_init(&store->known, REDIS_KNOWN_MOST);
    list_init(&store->tally_order);
    map_init(&store->tallies, REDIS_TALLIES_MOST);
    store->mark = opts->mark;
    store->pending_asks = opts->pending_asks;
    store->pending_asks_per_principal = opts->pending_asks_per_principal;
    store->kept_most = opts->kept_bytes;
    store->kept_most_each = opts->kept_bytes_per_principal;
    /* Channels are not separated by database, so the number is part of the name. */
    snprintf(store->channels_text, sizeof(store->channels_text), "%swake:%d:", store->url.prefix,
             store->url.db);
    store->channels = str_of(store->channels_text);
    snprintf(store->announce_channel, sizeof(store->announce_channel), "%stold:%d",
             store->url.prefix, store->url.db);
    loop_turn(store->loop, 0); /* the clock of a loop that has not turned for long is behind */
    store->home = MEM_NEW(struct redis_home);
    store->home->store = store;
    for (unsigned i = 0; i < REDIS_LANES; i++) {
        store->lanes[i] = redis_link_create(store->loop, &store->url, store->tls, STR_NONE,
                                            &redis_command_events, store);
        store->lanes[i]->lane = i;
    }
    if (!first_greeting(store, why) || !redis_mark_check(store, why)) {
        redis_destroy(&store->store);
        return NULL;
    }
    store->store.id = id_str(&store->lanes[0]->store_id);
    sweep_due(store);
    return &store->store;
}
