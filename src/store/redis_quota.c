/*
 * store/redis: how many questions wait, in all and for each principal.
 *
 * Both are counted from indexes that change with the records: the pending asks in every shard, and
 * those of a principal in every shard. Asks that have run out do not count, even if nobody has
 * ended them; in the index of a principal they are searched for when there is no room. Counting
 * asks all shards, so it is done rarely. A node trusts a count for a second, and while the next one
 * is on its way, and allows itself a quarter of the room that is left. So questions that are asked
 * at the same moment exceed a bound only if it is nearly reached, and by little.
 *
 * Holds always: what this node let pass, and was told is stored, before a count was sent is in that
 * count. What it has let pass since then is added to it.
 */
#include "store/redis_inside.h"

#include <stdio.h>

#include "base/mem.h"
#include "crypto/digest.h"

enum {
    OWNER_BYTES = 8,
    ROOM_SHARE = 4,
    LAPSE_LOOKS_MOST = 256, /* asks of one shard that have run out, removed to make room */
};

struct redis_count {
    bool principal; /* the count under way is that of the principal */
    bool in_all;
    uint64_t principal_base, in_all_base;
    size_t principal_waiting, in_all_waiting;
    size_t more;
    char owner[2 * OWNER_BYTES + 1];
};

static void owner_text(struct str principal, char out[2 * OWNER_BYTES + 1])
{
    static const char hex[] = "0123456789abcdef";
    struct digest digest;

    digest_of(principal, &digest);
    for (size_t i = 0; i < OWNER_BYTES; i++) {
        out[2 * i] = hex[digest.bytes[i] >> 4];
        out[2 * i + 1] = hex[digest.bytes[i] & 15];
    }
    out[2 * OWNER_BYTES] = '\0';
}

struct str redis_owner(struct redis_op *op, struct str principal)
{
    char owner[2 * OWNER_BYTES + 1];

    owner_text(principal, owner);
    return redis_copy(op, str_of(owner));
}

/* --- tallies --- */

static void tally_drop(struct redis_store *store, struct redis_tally *tally)
{
    map_remove(&store->tallies, str_of(tally->owner));
    list_remove(&tally->link);
    mem_free(tally);
}

static struct redis_tally *tally_of(struct redis_store *store, const char *owner)
{
    struct redis_tally *tally = map_get(&store->tallies, str_of(owner));

    if (tally)
        return tally;
    struct list *oldest = list_first(&store->tally_order);
    if (store->tallies.count >= REDIS_TALLIES_MOST && oldest)
        tally_drop(store, LIST_OF(oldest, struct redis_tally, link));
    tally = MEM_NEW(struct redis_tally);
    snprintf(tally->owner, sizeof(tally->owner), "%s", owner);
    map_set(&store->tallies, str_of(tally->owner), tally);
    list_append(&store->tally_order, &tally->link);
    return tally;
}

void redis_tallies_finish(struct redis_store *store)
{
    LIST_EACH (at, &store->tally_order)
        tally_drop(store, LIST_OF(at, struct redis_tally, link));
    map_finish(&store->tallies);
}

/* Does the last count say that there is plenty of room? */
static bool plenty(const struct redis_store *store, const struct redis_tally *tally, size_t bound,
                   size_t more)
{
    int64_t now = loop_now(store->loop);
    bool fresh = tally->counted_ms && now - tally->counted_ms < REDIS_COUNT_MS;

    /* If a count is under way, no other is needed. */
    if (tally->counted_ms && now - tally->sent_ms < REDIS_COUNT_MS)
        fresh = now - tally->counted_ms < REDIS_COUNT_OLD_MS;
    if (!bound)
        return true;
    if (!fresh || tally->waiting >= bound)
        return false;
    return tally->passed - tally->base + more <= (bound - tally->waiting) / ROOM_SHARE;
}

/* --- counting --- */

struct redis_count *redis_count_wanted(struct redis_op *op, struct str principal, size_t more)
{
    struct redis_store *store = op->store;
    char owner[2 * OWNER_BYTES + 1] = "";
    struct redis_tally *tally = NULL;

    if (!store->pending_asks && !store->pending_asks_per_principal)
        return NULL;
    if (store->pending_asks_per_principal) {
        owner_text(principal, owner);
        tally = tally_of(store, owner);
    }
    bool each = !tally || plenty(store, tally, store->pending_asks_per_principal, more);
    bool all = plenty(store, &store->in_all, store->pending_asks, more);
    struct redis_count *count = each && all ? NULL : ARENA_NEW(&op->arena, struct redis_count);
    if (!count) {
        if (tally)
            tally->passed += more;
        store->in_all.passed += more;
        return NULL;
    }
    count->more = more;
    count->principal = !each;
    count->in_all = !all;
    snprintf(count->owner, sizeof(count->owner), "%s", owner);
    return count;
}

static void say_shards(struct redis_op *op, const char *letter, struct str tail, struct str from)
{
    for (unsigned i = 0; i < REDIS_SHARDS; i++)
        redis_op_say(op,
                     (struct str[]){ STR("ZCOUNT"), redis_shard_key(op, i, letter, tail), from,
                                     STR("+inf") },
                     4);
}

void redis_count_say(struct redis_op *op, struct redis_count *count)
{
    struct str after =
        arena_fmt(&op->arena, "(%lld", (long long)redis_now(op->store)); /* later than now */

    if (count->principal) {
        struct redis_tally *tally = tally_of(op->store, count->owner);
        count->principal_base = tally->passed;
        tally->sent_ms = loop_now(op->store->loop);
        say_shards(op, "o:", str_of(count->owner), STR("0"));
    }
    if (count->in_all) {
        count->in_all_base = op->store->in_all.passed;
        op->store->in_all.sent_ms = loop_now(op->store->loop);
        say_shards(op, "d", STR_NONE, after);
    }
}

void redis_count_heard(struct redis_count *count, size_t at, const struct redis_value *value)
{
    int64_t n = redis_number(value);
    size_t waiting = n > 0 ? (size_t)n : 0;

    if (count->principal && at < REDIS_SHARDS)
        count->principal_waiting += waiting;
    else
        count->in_all_waiting += waiting;
}

bool redis_lapse_say(struct redis_op *op, struct redis_count *count)
{
    struct redis_store *store = op->store;
    int64_t now = loop_now(store->loop);

    if (!count->principal || now - store->lapsed_ms < REDIS_LAPSE_EVERY_MS)
        return false;
    store->lapsed_ms = now;
    count->principal_waiting = count->in_all_waiting = 0;
    redis_op_more(op);
    for (unsigned i = 0; i < REDIS_SHARDS; i++) {
        struct str key = redis_shard_key(op, i, "d", STR_NONE);
        struct str words[] = { redis_shard_key(op, i, "c:", STR_NONE),
                               redis_digits(op, LAPSE_LOOKS_MOST) };
        redis_op_script(op, SCRIPT_LAPSE, &key, 1, words, 2);
    }
    return true;
}

static bool room(struct redis_store *store, struct redis_tally *tally, uint64_t base,
                 size_t waiting, size_t bound, size_t more)
{
    tally->waiting = waiting;
    tally->base = base;
    tally->counted_ms = loop_now(store->loop);
    return waiting + (tally->passed - base) + more <= bound;
}

enum store_quota redis_count_full(struct redis_store *store, struct redis_count *count)
{
    struct redis_tally *tally = count->owner[0] ? tally_of(store, count->owner) : NULL;
    bool fits = true, fits_all = true;

    if (count->principal && tally) /* the tally may have been forgotten and begun anew */
        fits = room(store, tally,
                    count->principal_base < tally->passed ? count->principal_base : tally->passed,
                    count->principal_waiting, store->pending_asks_per_principal, count->more);
    if (count->in_all)
        fits_all = room(store, &store->in_all, count->in_all_base, count->in_all_waiting,
                        store->pending_asks, count->more);
    if (!fits || !fits_all)
        return fits ? STORE_QUOTA_ALL : STORE_QUOTA_PRINCIPAL;
    if (tally)
        tally->passed += count->more;
    store->in_all.passed += count->more;
    return STORE_QUOTA_NONE;
}
