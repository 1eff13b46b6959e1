/*
 * store/redis: how many questions wait, and how many bytes are kept, in all and for each principal.
 *
 * memory_quota.c and sqlite_quota.c do the same. What bounds the bytes of a principal elsewhere:
 * docs/inside/store.md, "Whose bytes".
 *
 * Questions are counted from indexes that change with the records: the pending asks in every shard,
 * and those of a principal in every shard. Bytes are counted by the transitions themselves, in
 * every shard, for each principal and for all; of calls that Redis has removed by itself the bytes
 * are searched for when there is no room. Asks that have run out do not count, even if nobody has
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
    ROOM_AHEAD = 16,        /* a part of the bound, of which room is made at once */
    LAPSE_LOOKS_MOST = 256, /* asks of one shard that have run out, removed to make room */
};

static void owner_text(struct str principal, char out[REDIS_OWNER_MAX])
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
    char owner[REDIS_OWNER_MAX];

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

static struct redis_tally *redis_tally_of(struct redis_store *store, const char *owner)
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

void redis_tally_grew(struct redis_store *store, struct str owner, size_t bytes)
{
    struct redis_tally *tally = owner.len ? map_get(&store->tallies, owner) : NULL;

    if (tally)
        tally->bytes.passed += bytes;
    store->in_all.bytes.passed += owner.len ? bytes : 0;
}

void redis_tallies_finish(struct redis_store *store)
{
    LIST_EACH (at, &store->tally_order)
        tally_drop(store, LIST_OF(at, struct redis_tally, link));
    map_finish(&store->tallies);
}

static bool meter_plenty(const struct redis_meter *meter, uint64_t bound, uint64_t more)
{
    if (!bound || !more)
        return true;
    return meter->there < bound &&
           meter->passed - meter->base + more <= (bound - meter->there) / ROOM_SHARE;
}

static bool is_fresh(const struct redis_store *store, const struct redis_tally *tally)
{
    int64_t now = loop_now(store->loop);

    if (!tally->counted_ms)
        return false;
    /* If a count is under way, no other is needed. */
    return now - tally->counted_ms <
           (now - tally->sent_ms < REDIS_COUNT_MS ? REDIS_COUNT_OLD_MS : REDIS_COUNT_MS);
}

/* Does the last count say that there is plenty of room? */
static bool plenty(const struct redis_store *store, const struct redis_tally *tally,
                   const struct redis_more *more, const struct redis_more *bound)
{
    if ((!bound->asks || !more->asks) && (!bound->bytes || !more->bytes))
        return true;
    return is_fresh(store, tally) && meter_plenty(&tally->asks, bound->asks, more->asks) &&
           meter_plenty(&tally->bytes, bound->bytes, more->bytes);
}

static void tally_pass(struct redis_tally *tally, const struct redis_more *more)
{
    tally->asks.passed += more->asks;
    tally->bytes.passed += more->bytes;
}

static struct redis_more bound_each(const struct redis_store *store)
{
    return (struct redis_more){ store->pending_asks_per_principal, store->kept_most_each };
}

static struct redis_more bound_all(const struct redis_store *store)
{
    return (struct redis_more){ store->pending_asks, store->kept_most };
}

/* --- counting --- */

struct redis_count *redis_count_wanted(struct redis_op *op, struct str principal,
                                       const struct redis_more *more)
{
    struct redis_store *store = op->store;
    const struct redis_more each = bound_each(store), all = bound_all(store);
    char owner[REDIS_OWNER_MAX] = "";
    struct redis_tally *tally = NULL;

    if (each.asks || each.bytes) {
        owner_text(principal, owner);
        tally = redis_tally_of(store, owner);
    }
    bool fits = !tally || plenty(store, tally, more, &each);
    bool fits_all = plenty(store, &store->in_all, more, &all);
    struct redis_count *count = fits && fits_all ? NULL : ARENA_NEW(&op->arena, struct redis_count);
    if (!count) {
        if (tally)
            tally_pass(tally, more);
        tally_pass(&store->in_all, more);
        return NULL;
    }
    count->more = *more;
    count->principal = !fits;
    count->in_all = !fits_all;
    snprintf(count->owner, sizeof(count->owner), "%s", owner);
    return count;
}

static bool counts_asks(const struct redis_store *store)
{
    return store->pending_asks || store->pending_asks_per_principal;
}

static bool counts_bytes(const struct redis_store *store)
{
    return store->kept_most || store->kept_most_each;
}

static void say_shards(struct redis_op *op, const char *letter, struct str tail, struct str from,
                       struct str whose)
{
    struct str spare = arena_fmt(&op->arena, "s" STR_FMT, STR_ARG(whose));

    for (unsigned i = 0; counts_asks(op->store) && i < REDIS_SHARDS; i++)
        redis_op_say(op,
                     (struct str[]){ STR("ZCOUNT"), redis_shard_key(op, i, letter, tail), from,
                                     STR("+inf") },
                     4);
    for (unsigned i = 0; counts_bytes(op->store) && i < REDIS_SHARDS; i++)
        redis_op_say(
            op, (struct str[]){ STR("HMGET"), redis_shard_key(op, i, "b", STR_NONE), whose, spare },
            4);
}

static void sum_begin(struct redis_store *store, struct redis_tally *tally, struct redis_sum *sum)
{
    *sum = (struct redis_sum){ .asks_base = tally->asks.passed, .bytes_base = tally->bytes.passed };
    tally->sent_ms = loop_now(store->loop);
}

void redis_count_say(struct redis_op *op, struct redis_count *count)
{
    struct str after =
        arena_fmt(&op->arena, "(%lld", (long long)redis_now(op->store)); /* later than now */

    if (count->principal) {
        sum_begin(op->store, redis_tally_of(op->store, count->owner), &count->of_principal);
        say_shards(op, "o:", str_of(count->owner), STR("0"), str_of(count->owner));
    }
    if (count->in_all) {
        sum_begin(op->store, &op->store->in_all, &count->of_all);
        say_shards(op, "d", STR_NONE, after, STR("*"));
    }
}

void redis_count_heard(const struct redis_store *store, struct redis_count *count, size_t at,
                       const struct redis_value *value)
{
    size_t asks = counts_asks(store) ? REDIS_SHARDS : 0;
    size_t each = asks + (counts_bytes(store) ? REDIS_SHARDS : 0);
    struct redis_sum *sum = count->principal && at < each ? &count->of_principal : &count->of_all;

    if (at % each < asks) {
        sum->asks += redis_number(value);
    } else {
        sum->bytes += redis_number(redis_item(value, 0));
        sum->spare += redis_number(redis_item(value, 1));
    }
}

bool redis_lapse_say(struct redis_op *op, struct redis_count *count)
{
    struct redis_store *store = op->store;
    int64_t now = loop_now(store->loop);

    if (!count->principal || count->lapsed || now - store->lapsed_ms < REDIS_LAPSE_EVERY_MS)
        return false;
    store->lapsed_ms = now;
    count->lapsed = true;
    redis_op_more(op);
    for (unsigned i = 0; i < REDIS_SHARDS; i++) {
        struct str due = redis_shard_key(op, i, "d", STR_NONE);
        struct str bytes = redis_shard_key(op, i, "b", STR_NONE);
        struct str most = redis_digits(op, LAPSE_LOOKS_MOST);
        struct str words[] = { redis_shard_key(op, i, "c:", STR_NONE), most };
        struct str owned[] = { str_of(count->owner), most };
        redis_op_script(op, SCRIPT_LAPSE, &due, 1, words, 2);
        redis_op_script(op, SCRIPT_KEPT, &bytes, 1, owned, 2);
    }
    return true;
}

static uint64_t not_less(int64_t n)
{
    return n > 0 ? (uint64_t)n : 0;
}

/* The tally may have been forgotten and begun anew. */
static uint64_t base_of(uint64_t base, const struct redis_meter *meter)
{
    return base < meter->passed ? base : meter->passed;
}

/* What does not fit, if anything. */
static enum {
    FITS,
    NO_ASKS,
    NO_BYTES
} sum_fits(struct redis_store *store, struct redis_tally *tally, const struct redis_sum *sum,
           const struct redis_more *more, const struct redis_more *bound)
{
    tally->asks.there = not_less(sum->asks);
    tally->asks.base = base_of(sum->asks_base, &tally->asks);
    tally->bytes.there = not_less(sum->bytes);
    tally->bytes.spare = not_less(sum->spare < sum->bytes ? sum->spare : sum->bytes);
    tally->bytes.base = base_of(sum->bytes_base, &tally->bytes);
    tally->counted_ms = loop_now(store->loop);
    if (bound->asks && more->asks &&
        tally->asks.there + (tally->asks.passed - tally->asks.base) + more->asks > bound->asks)
        return NO_ASKS;
    const struct redis_meter *bytes = &tally->bytes;
    if (bound->bytes && more->bytes &&
        bytes->there - bytes->spare + (bytes->passed - bytes->base) + more->bytes > bound->bytes)
        return NO_BYTES;
    return FITS;
}

enum store_quota redis_count_full(struct redis_store *store, struct redis_count *count)
{
    struct redis_tally *tally = count->owner[0] ? redis_tally_of(store, count->owner) : NULL;
    const struct redis_more each = bound_each(store), all = bound_all(store);
    int lacks = FITS, lacks_all = FITS;

    if (count->principal && tally)
        lacks = sum_fits(store, tally, &count->of_principal, &count->more, &each);
    if (count->in_all)
        lacks_all = sum_fits(store, &store->in_all, &count->of_all, &count->more, &all);
    if (lacks)
        return lacks == NO_ASKS ? STORE_QUOTA_PRINCIPAL : STORE_QUOTA_BYTES_PRINCIPAL;
    if (lacks_all)
        return lacks_all == NO_ASKS ? STORE_QUOTA_ALL : STORE_QUOTA_BYTES_ALL;
    if (tally)
        tally_pass(tally, &count->more);
    tally_pass(&store->in_all, &count->more);
    return STORE_QUOTA_NONE;
}

void redis_quota_said(struct redis_op *op, enum store_quota quota)
{
    struct redis_store *store = op->store;
    const uint64_t most[] = { [STORE_QUOTA_NONE] = 0,
                              [STORE_QUOTA_ALL] = store->pending_asks,
                              [STORE_QUOTA_PRINCIPAL] = store->pending_asks_per_principal,
                              [STORE_QUOTA_BYTES_ALL] = store->kept_most,
                              [STORE_QUOTA_BYTES_PRINCIPAL] = store->kept_most_each };

    op->reply.quota = quota;
    op->reply.quota_most = most[quota];
    store->kept_refused += store_quota_is_bytes(quota);
}

uint64_t redis_count_lacks(struct redis_store *store, const struct redis_count *count)
{
    uint64_t most = store->kept_most_each;

    if (!count->principal || !most || !count->more.bytes)
        return 0;
    const struct redis_meter *bytes = &redis_tally_of(store, count->owner)->bytes;
    uint64_t wanted =
        bytes->there + (bytes->passed - bytes->base); /* with what was just let pass */
    return wanted > most ? wanted - most + most / ROOM_AHEAD : 0;
}
