/*
 * store/redis: park and append.
 *
 * Each is one script, with the records, written and sealed here, and what Redis has to see. Two
 * things may have to be read first: the call's scope, if it is not remembered here, and the number
 * of waiting questions, if the last count does not say that there is room (redis_quota.c). In the
 * meantime the operation keeps its arguments.
 *
 * Pointers to the asks are sent before the script, in the same batch of commands.
 */
#include "store/redis_inside.h"
#include "store/specs.h"

static const struct redis_verb park_verb;

enum {
    SAVE_WORDS = 20,
    ASK_WORDS = 7,
    SMALL_ARGS_MOST = 1024, /* bytes of arguments that stay when the content of a call goes */
};

/* The ask's call, for operations that know only the ask's id. It lives as long as the call may. */
static void say_pointer(struct redis_op *op, const struct ask_record *ask, int64_t keep_for_ms)
{
    int64_t left = ask->expires_ms ? ask->expires_ms - redis_now(op->store) : ask->ttl_ms;
    int64_t keep_ms = op->store->keep_ms > REDIS_KEEP_MS ? op->store->keep_ms : REDIS_KEEP_MS;
    int64_t kept_ms = redis_life(keep_for_ms) + keep_ms + op->store->abandoned_ms;

    redis_op_say(op,
                 (struct str[]){ STR("SET"), redis_key(op, ask->id, "p:", ask->id),
                                 id_str(&op->call), STR("PX"),
                                 redis_digits(op, redis_life(left) + kept_ms) },
                 5);
}

static void ask_words(struct redis_op *op, const struct ask_record *given, struct str scope,
                      struct str *words)
{
    struct ask_record ask = *given;

    ask.scope = scope;
    ask.call_id = id_str(&op->call);
    if (!redis_is_id(ask.id))
        op->status = NOD_E_LIMIT;
    words[0] = ask.id;
    words[1] = redis_digits(op, ask.asked_ms);
    words[2] = redis_digits(op, ask.expires_ms);
    words[3] = redis_digits(op, redis_life(ask.ttl_ms));
    words[4] = ask.sensitive ? STR("1") : STR("0");
    words[5] = redis_digits(op, ask.attempt);
    words[6] = redis_kept(op, codec_write_ask(&op->store->codec, &ask, &op->store->record));
    redis_know(op->store, ask.id, ask.call_id, scope, ask.sensitive);
}

/* The same without sensitive content; nothing if there is none. */
static struct str save_erased(struct redis_op *op, const struct park_spec *park, struct str scope)
{
    struct entry *entries = NULL;

    for (size_t i = 0; i < park->entry_count; i++) {
        if (!park->entries[i].sensitive || !park->entries[i].content.len)
            continue;
        if (!entries) {
            entries = arena_alloc(&op->arena, park->entry_count * sizeof(*entries));
            if (!entries)
                return STR_NONE; /* the arena is exhausted: nothing is sent */
            memcpy(entries, park->entries, park->entry_count * sizeof(*entries));
        }
        entries[i].content = STR_NONE;
    }
    if (!entries)
        return STR_NONE;
    return redis_kept(op, codec_write_entries(&op->store->codec, scope, id_str(&op->call), entries,
                                              park->entry_count, &op->store->record));
}

/* What stays of a call when its content goes; nothing if that would be the same. */
static struct str save_small(struct redis_op *op, const struct park_spec *park)
{
    struct call_record small;

    if (!park->open || park->open->args.len <= SMALL_ARGS_MOST)
        return STR_NONE;
    small = *park->open;
    small.args = small.uri = small.caller = small.client = small.meta = STR_NONE;
    return redis_kept(op, codec_write_call(&op->store->codec, &small, &op->store->record));
}

static void save_say(struct redis_op *op, const struct park_spec *park, struct str scope,
                     bool refuse)
{
    struct redis_store *store = op->store;
    struct str call = id_str(&op->call);
    size_t count = SAVE_WORDS + ASK_WORDS * park->ask_count;
    struct str *words = arena_alloc(&op->arena, count * sizeof(*words));

    if (park->ask_count > REDIS_ASKS_MOST || !words) {
        redis_op_end(op, NOD_E_LIMIT);
        return;
    }
    words[0] = park->token;
    words[1] = redis_digits(op, (int64_t)park->epoch);
    words[2] = park->node;
    words[3] = redis_digits(op, park->notices);
    words[4] = op->verb == &park_verb ? STR("p") : STR("a");
    words[5] = park->open ? STR("1") : STR_NONE;
    words[6] = words[7] = STR_NONE;
    if (park->open)
        words[6] = redis_kept(op, codec_write_call(&store->codec, park->open, &store->record));
    if (park->entry_count)
        words[7] = redis_kept(op, codec_write_entries(&store->codec, scope, call, park->entries,
                                                      park->entry_count, &store->record));
    words[8] = redis_digits(op, (int64_t)park->entry_count);
    words[9] = call;
    words[10] = store->node;
    words[11] = store->channels;
    words[12] = save_erased(op, park, scope);
    words[13] = refuse ? STR("1") : STR("0");
    words[14] = park->open ? redis_owner(op, park->open->principal) : STR_NONE;
    words[15] = park->handed ? STR("1") : STR("0");
    words[16] = redis_digits(op, redis_life(park->keep_for_ms));
    words[17] = redis_used(op);
    words[18] = save_small(op, park);
    words[19] = redis_digits(op, park->open ? park->open->version : 0);
    for (size_t i = 0; i < park->ask_count; i++) {
        ask_words(op, &park->asks[i], scope, words + SAVE_WORDS + ASK_WORDS * i);
        say_pointer(op, &park->asks[i], park->keep_for_ms);
    }
    struct str keys[] = { redis_key(op, call, "c:", call), redis_key(op, call, "r", STR_NONE),
                          redis_key(op, call, "d", STR_NONE) };
    redis_op_script(op, SCRIPT_SAVE, keys, 3, words, count);
}

/* --- what is read first --- */

enum { SAVE_LOOK, SAVE_COUNT, SAVE_LAPSE, SAVE_SPARES, SAVE_ROOM, SAVE_NOW };

struct held { /* the arguments, until they can be sent */
    struct park_spec park;
    struct str scope;
    struct redis_count *count; /* NULL: there is room */
    struct redis_room *room;   /* being made */
    enum store_quota quota;    /* there is no room */
};

static void save_held(struct redis_op *op, const struct held *held, bool refuse)
{
    save_say(op, &held->park, held->scope, refuse);
    op->phase = SAVE_NOW;
}

/* The shards were asked what there is. */
static void save_counted(struct redis_op *op, struct held *held)
{
    held->quota = redis_count_full(op->store, held->count);
    bool own = held->quota == STORE_QUOTA_PRINCIPAL || held->quota == STORE_QUOTA_BYTES_PRINCIPAL;
    uint64_t lacks = held->quota ? 0 : redis_count_lacks(op->store, held->count);

    if (own && redis_lapse_say(op, held->count)) {
        op->phase = SAVE_LAPSE;
        return;
    }
    redis_op_more(op);
    if (lacks) {
        op->phase = SAVE_SPARES;
        held->room = redis_room_say(op, held->count, lacks);
    } else {
        save_held(op, held, held->quota != STORE_QUOTA_NONE);
    }
}

static void save_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct held *held = (struct held *)(uintptr_t)op->with;

    if (op->phase == SAVE_LOOK) {
        if (!redis_looked(op, value, &held->scope))
            return;
        redis_op_more(op);
        op->phase = SAVE_COUNT;
        if (held->count)
            redis_count_say(op, held->count);
        else
            save_held(op, held, false);
    } else if (op->phase == SAVE_COUNT) {
        redis_count_heard(op->store, held->count, at, value);
        if (at + 1 < op->expected)
            return;
        save_counted(op, held);
    } else if (op->phase == SAVE_SPARES) {
        redis_room_heard(held->room, at, value);
        if (at + 1 < op->expected)
            return;
        redis_op_more(op);
        op->phase = SAVE_ROOM;
        if (!redis_room_make(op, held->room, held->count))
            save_held(op, held, false);
    } else if (op->phase == SAVE_ROOM) {
        op->store->kept_dropped += (uint64_t)redis_number(redis_item(value, 2));
        if (at + 1 < op->expected)
            return;
        redis_op_more(op);
        save_held(op, held, false);
    } else if (op->phase == SAVE_LAPSE) {
        if (at + 1 < op->expected)
            return;
        redis_op_more(op);
        op->phase = SAVE_COUNT;
        redis_count_say(op, held->count);
    } else if (at + 1 == op->expected && !redis_op_said(op, value)) {
        if (op->status == NOD_E_LIMIT && held)
            redis_quota_said(op, held->quota);
    } else if (at + 1 == op->expected) {
        op->wakes = redis_number(redis_item(value, 2)) != 0;
        if (op->key.at) /* it was opened, for this scope */
            redis_know(op->store, id_str(&op->call), id_str(&op->call), op->key, false);
    }
}

static const struct redis_verb park_verb = { "park", save_reply };
static const struct redis_verb append_verb = { "append", save_reply };

/* Keeps everything the operation needs later. If it does not fit, the arena is exhausted, and
 * nothing is sent. */
static struct held *hold(struct redis_op *op, const struct park_spec *park, struct str scope)
{
    struct held *held = ARENA_NEW(&op->arena, struct held);

    if (!held || !park_copy(&op->arena, park, &held->park))
        return NULL;
    held->scope = redis_copy(op, scope);
    return held;
}

/* What has to be counted first; NULL: there is room. */
static struct redis_count *counted_first(struct redis_op *op, const struct park_spec *park)
{
    struct redis_more more = { 0 };

    for (size_t i = 0; i < park->ask_count; i++) /* what comes back with its call was counted */
        more.asks += park->asks[i].expires_ms == 0;
    if (!kept_is_new(park->open != NULL, park->entry_count, park->ask_count, more.asks))
        return NULL;
    more.bytes = (uint64_t)kept_park(park->open, park->entries, park->entry_count, park->asks,
                                     park->ask_count);
    return redis_count_wanted(op, park->open ? park->open->principal : park->asks[0].principal,
                              &more);
}

static void save_send(struct store *base, const struct redis_verb *verb,
                      const struct park_spec *park, store_done *done, void *data)
{
    struct redis_store *store = redis_of(base);
    struct redis_op *op = redis_op_new(store, verb, done, data);
    const struct known *known = redis_known(store, park->call_id);
    bool fits = redis_plain(park->token, park->node);

    if (!redis_is_id(park->call_id) || !fits) {
        redis_op_end(op, park->open || !fits ? NOD_E_LIMIT : NOD_E_NOT_FOUND);
        return;
    }
    op->call = id_of(park->call_id);
    struct str scope = park->open ? park->open->scope : known ? redis_known_scope(known) : STR_NONE;
    bool looks = !park->open && !known && (park->entry_count || park->ask_count);
    struct redis_count *count = counted_first(op, park);
    if (park->open)
        op->key = arena_str(&op->arena, scope);
    if (!looks && !count) {
        save_say(op, park, scope, false);
        op->phase = SAVE_NOW;
    } else {
        struct held *held = hold(op, park, scope);
        if (held)
            held->count = count;
        op->with = held;
        op->phase = looks ? SAVE_LOOK : SAVE_COUNT;
        if (looks)
            redis_say_look(op);
        else
            redis_count_say(op, count);
    }
    if (list_empty(&op->link)) /* it was not ended because of its size */
        redis_op_send_or_end(op);
}

void redis_park(struct store *store, const struct park_spec *park, store_done *done, void *data)
{
    save_send(store, &park_verb, park, done, data);
}

void redis_append(struct store *store, const struct append_spec *append, store_done *done,
                  void *data)
{
    struct park_spec park = park_of_append(append);

    if (append->clears)
        redis_clear(store, append, done, data);
    else
        save_send(store, &append_verb, &park, done, data);
}
