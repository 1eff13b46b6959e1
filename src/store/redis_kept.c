/*
 * store/redis: makes room of results that were handed out, and is told that they were.
 *
 * Ended calls of a principal whose results were handed out are in an index of each shard, by when
 * they were. When a principal would go past its bytes, the oldest of all shards are looked at, and
 * the time is found until which they have to go. Then each shard drops its own up to that time.
 * Room is made for a little more than is needed, so that this is not done for every call.
 */
#include "store/redis_inside.h"

#include <stdlib.h>

enum {
    ROOM_LOOKS_MOST = 32,  /* results of one shard that are looked at, to make room */
    ROOM_DROPS_MOST = 256, /* and that go at once */
};

struct redis_spare {
    int64_t ended_ms;
    uint64_t bytes;
    unsigned shard;
};

struct redis_room {
    struct redis_spare spares[REDIS_SHARDS * ROOM_LOOKS_MOST];
    size_t count;
    uint64_t lacks;
};

struct redis_room *redis_room_say(struct redis_op *op, const struct redis_count *count,
                                  uint64_t lacks)
{
    struct redis_room *room = ARENA_NEW(&op->arena, struct redis_room);

    if (!room)
        return NULL; /* the arena is exhausted: nothing is sent */
    room->lacks = lacks;
    for (unsigned i = 0; i < REDIS_SHARDS; i++)
        redis_op_say(op,
                     (struct str[]){ STR("ZRANGE"),
                                     redis_shard_key(op, i, "f:", str_of(count->owner)), STR("0"),
                                     redis_digits(op, ROOM_LOOKS_MOST - 1), STR("WITHSCORES") },
                     5);
    return room;
}

/* A member is a call, its bytes, and when it is removed. */
void redis_room_heard(struct redis_room *room, size_t at, const struct redis_value *value)
{
    for (size_t i = 0; i + 1 < (value->type == REDIS_IS_LIST ? value->count : 0); i += 2) {
        struct str id, bytes, rest = redis_text(&value->items[i]);
        uint64_t n;
        if (room->count < REDIS_SHARDS * ROOM_LOOKS_MOST && str_cut(rest, ' ', &id, &rest) &&
            str_cut(rest, ' ', &bytes, &rest) && str_to_u64(bytes, &n))
            room->spares[room->count++] =
                (struct redis_spare){ .ended_ms = redis_number(&value->items[i + 1]),
                                      .bytes = n > KEPT_CALL_BYTES ? n - KEPT_CALL_BYTES : 0,
                                      .shard = (unsigned)at };
    }
}

static int by_age(const void *a, const void *b)
{
    int64_t one = ((const struct redis_spare *)a)->ended_ms;
    int64_t other = ((const struct redis_spare *)b)->ended_ms;

    return one < other ? -1 : one > other;
}

bool redis_room_make(struct redis_op *op, struct redis_room *room, const struct redis_count *count)
{
    bool said[REDIS_SHARDS] = { false };
    uint64_t freed = 0;
    int64_t till = 0;
    size_t goes = 0;

    qsort(room->spares, room->count, sizeof(room->spares[0]), by_age);
    for (; goes < room->count && freed < room->lacks; goes++) {
        freed += room->spares[goes].bytes;
        till = room->spares[goes].ended_ms;
    }
    for (size_t i = 0; i < goes; i++) {
        unsigned shard = room->spares[i].shard;
        struct str key = redis_shard_key(op, shard, "b", STR_NONE);
        struct str words[] = { str_of(count->owner), redis_digits(op, till),
                               redis_shard_key(op, shard, "c:", STR_NONE),
                               redis_digits(op, ROOM_DROPS_MOST) };
        if (said[shard])
            continue;
        said[shard] = true;
        redis_op_script(op, SCRIPT_ROOM, &key, 1, words, 4);
    }
    return goes > 0;
}

/* --- what was handed out --- */

static const struct redis_verb fetched_verb = { "fetched", redis_reply_said };

void redis_fetched(struct store *base, struct str call_id, store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &fetched_verb, done, data);

    if (!redis_is_id(call_id)) {
        redis_op_end(op, NOD_E_NOT_FOUND);
        return;
    }
    op->call = id_of(call_id);
    struct str keys[] = { redis_key(op, call_id, "c:", call_id),
                          redis_key(op, call_id, "r", STR_NONE) };
    struct str word = id_str(&op->call);
    redis_op_script(op, SCRIPT_FETCHED, keys, 2, &word, 1);
    redis_op_send_or_end(op);
}

void redis_held(struct store *base, struct store_held *held)
{
    const struct redis_store *store = redis_of(base);
    const struct redis_meter *bytes = &store->in_all.bytes;

    *held = (struct store_held){ .bytes = bytes->there + (bytes->passed - bytes->base),
                                 .bytes_most = store->kept_most,
                                 .each_most = store->kept_most_each,
                                 .refused = store->kept_refused,
                                 .dropped = store->kept_dropped };
}
