/*
 * store/sqlite: how many questions wait, and how many bytes are kept, in all and for each
 * principal.
 *
 * memory_quota.c and redis_quota.c do the same. What bounds the bytes of a principal elsewhere:
 * docs/inside/store.md, "Whose bytes".
 *
 * The counts are in the file (`quota`), so that a restart need not count a million rows. Memory
 * holds the counts that the current transaction has touched. They are written once before a commit,
 * however many transitions it has, and forgotten when the transaction is rolled back.
 *
 * A question counts from when it is stored until it ends, or until its time is over and the mark
 * `lapsed_ms` has passed it, because nobody may ever come to end it.
 *
 * Bytes count from when their call is stored until it is removed. `spare` is what results that were
 * handed out would give back (sqlite_room.c): an operation that fits only without them is let pass,
 * and they go before the commit.
 *
 * Holds always: after a commit, a principal's bytes are the sum of calls.bytes, and its spare that
 * of the calls that have a spare_ms. A principal's count is the number of its pending asks whose
 * expires_ms is later than lapsed_ms. Principals are numbers here, made from a digest. Asks that
 * were stored before there were counts (version 1 of the tables) count only in all.
 */
#include "store/sqlite_inside.h"

#include "base/mem.h"
#include "crypto/digest.h"

enum { IN_ALL = 0 };

static const struct str lapsed_mark = STR_INIT("lapsed_ms");

struct tally {
    int64_t owner; /* also its key in the map */
    int64_t pending;
    int64_t bytes, spare;
    bool changed;
};

int64_t sqlite_quota_owner(struct str principal)
{
    struct digest digest;
    int64_t owner;

    digest_of(principal, &digest);
    memcpy(&owner, digest.bytes, sizeof(owner));
    return owner == IN_ALL ? 1 : owner;
}

static struct str key_of(const int64_t *owner)
{
    return str_n((const char *)owner, sizeof(*owner));
}

static struct tally *lite_tally_of(struct sqlite_side *side, int64_t owner)
{
    struct tally *tally = map_get(&side->tallies, key_of(&owner));

    if (tally)
        return tally;
    tally = MEM_NEW(struct tally);
    tally->owner = owner;
    struct query q = query(side, SQL_QUOTA_FIND);
    query_int(&q, owner);
    if (query_row(&q)) {
        tally->pending = query_get_int(&q);
        tally->bytes = query_get_int(&q);
        tally->spare = query_get_int(&q);
    }
    query_end(&q);
    map_set(&side->tallies, key_of(&tally->owner), tally);
    return tally;
}

static int64_t lapsed_ms(struct sqlite_side *side)
{
    if (side->lapsed_known)
        return side->lapsed_ms;
    side->lapsed_ms = query_mark(side, lapsed_mark);
    side->lapsed_known = !side->error;
    return side->lapsed_ms;
}

bool sqlite_quota_counts(struct sqlite_side *side, int64_t expires_ms)
{
    bool counts = expires_ms > lapsed_ms(side);

    side->mark_wanted |= !counts;
    return counts;
}

static bool lite_fits(struct sqlite_side *side, int64_t owner, int64_t more, int64_t most)
{
    return most <= 0 || lite_tally_of(side, owner)->pending + more <= most;
}

enum store_quota sqlite_quota_full(struct sqlite_side *side, int64_t owner, int64_t more,
                                   int64_t now)
{
    const struct sqlite_store *store = side->store;

    for (;;) {
        enum store_quota quota = STORE_QUOTA_NONE;
        if (!lite_fits(side, owner, more, store->pending_most_each))
            quota = STORE_QUOTA_PRINCIPAL;
        else if (!lite_fits(side, IN_ALL, more, store->pending_most))
            quota = STORE_QUOTA_ALL;
        if (!quota)
            return quota;
        int64_t before = lapsed_ms(side);
        if (!sqlite_quota_lapse(side, now) && lapsed_ms(side) == before)
            return quota;
    }
}

/* --- bytes --- */

static bool bytes_fit(struct sqlite_side *side, int64_t owner, int64_t more, int64_t most)
{
    const struct tally *tally = most > 0 ? lite_tally_of(side, owner) : NULL;

    return !tally || tally->bytes - tally->spare + more <= most;
}

enum store_quota sqlite_quota_bytes_full(struct sqlite_side *side, int64_t owner, int64_t more)
{
    struct sqlite_store *store = side->store;
    enum store_quota quota = STORE_QUOTA_NONE;

    if (!bytes_fit(side, owner, more, store->kept_most_each))
        quota = STORE_QUOTA_BYTES_PRINCIPAL;
    else if (!bytes_fit(side, IN_ALL, more, store->kept_most))
        quota = STORE_QUOTA_BYTES_ALL;
    if (quota)
        atomic_fetch_add(&store->kept_refused, 1);
    return quota;
}

static void tally_bytes(struct tally *tally, int64_t bytes, int64_t spare)
{
    tally->bytes = tally->bytes + bytes > 0 ? tally->bytes + bytes : 0;
    tally->spare = tally->spare + spare > 0 ? tally->spare + spare : 0;
    tally->changed = true;
}

void sqlite_quota_bytes(struct sqlite_side *side, int64_t owner, int64_t bytes, int64_t spare)
{
    tally_bytes(lite_tally_of(side, IN_ALL), bytes, spare);
    if (owner != IN_ALL)
        tally_bytes(lite_tally_of(side, owner), bytes, spare);
}

bool sqlite_quota_over(struct sqlite_side *side, int64_t owner)
{
    int64_t most = owner == IN_ALL ? side->store->kept_most : side->store->kept_most_each;
    const struct tally *tally = lite_tally_of(side, owner);

    return most > 0 && tally->bytes > most && tally->spare > 0;
}

int64_t sqlite_quota_next_over(struct sqlite_side *side)
{
    size_t at = 0;

    for (struct tally *tally; (tally = map_next(&side->tallies, &at));)
        if (tally->changed && sqlite_quota_over(side, tally->owner))
            return tally->owner;
    return SQLITE_NOBODY;
}

/* --- questions --- */

static void tally_move(struct tally *tally, int64_t by)
{
    tally->pending = tally->pending + by > 0 ? tally->pending + by : 0;
    tally->changed = true;
}

void sqlite_quota_move(struct sqlite_side *side, int64_t owner, int64_t by)
{
    tally_move(lite_tally_of(side, IN_ALL), by);
    if (owner != IN_ALL)
        tally_move(lite_tally_of(side, owner), by);
}

int64_t sqlite_quota_of_call(struct sqlite_side *side, int64_t n)
{
    struct query q = query(side, SQL_ASKS_COUNTED);

    query_int(&q, n);
    query_int(&q, lapsed_ms(side));
    int64_t count = query_row(&q) ? query_get_int(&q) : 0;
    query_end(&q);
    return count;
}

bool sqlite_quota_lapse(struct sqlite_side *side, int64_t now)
{
    int64_t from = lapsed_ms(side), last = from;
    bool more = false;

    if (now <= from)
        return false;
    struct query q = query(side, SQL_ASKS_LAPSED);
    query_int(&q, from);
    query_int(&q, now);
    for (int count = 0; query_row(&q); count++) {
        int64_t expires_ms = query_get_int(&q);
        if (count >= LITE_LAPSE_MOST && expires_ms != last) { /* the mark is between two times */
            more = true;
            break;
        }
        last = expires_ms;
        sqlite_quota_move(side, query_get_int(&q), -1);
    }
    query_end(&q);
    side->lapsed_ms = more ? last : now;
    side->lapsed_ahead = true;
    return more;
}

void sqlite_quota_save(struct sqlite_side *side)
{
    size_t at = 0;

    for (struct tally *tally; (tally = map_next(&side->tallies, &at));) {
        if (!tally->changed)
            continue;
        bool any = tally->pending || tally->bytes || tally->spare;
        struct query q = query(side, any ? SQL_QUOTA_SET : SQL_QUOTA_DROP);
        query_int(&q, tally->owner);
        if (any) {
            query_int(&q, tally->pending);
            query_int(&q, tally->bytes);
            query_int(&q, tally->spare);
        }
        query_run(&q);
        tally->changed = false;
        if (tally->owner == IN_ALL)
            atomic_store(&side->store->kept, tally->bytes);
        side->mark_wanted = true;
    }
    /* The mark is saved only with something that depends on it: an idle store writes nothing. But
     * after a failure of the disk, a commit that changes nothing would prove nothing. */
    if ((side->mark_wanted && side->lapsed_ahead) || atomic_load(&side->store->failing)) {
        query_mark_set(side, lapsed_mark, lapsed_ms(side));
        side->lapsed_ahead = side->mark_wanted = false;
    }
    if (side->tallies.count > LITE_TALLIES_MOST)
        sqlite_quota_forget(side);
}

void sqlite_quota_forget(struct sqlite_side *side)
{
    size_t at = 0;

    for (struct tally *tally; (tally = map_next(&side->tallies, &at));)
        mem_free(tally);
    map_finish(&side->tallies);
    map_init(&side->tallies, SIZE_MAX / 2);
    side->lapsed_known = side->lapsed_ahead = side->mark_wanted = false;
}
