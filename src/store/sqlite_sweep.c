/*
 * store/sqlite: removes what is over, a slice at a time.
 *
 * Runs on the writer's thread, inside a batch's transaction, now and then, and with every commit
 * while there is more (side->sweep_on). A slice is small, so that no transition waits long for it.
 */
#include "store/sqlite_inside.h"

struct over {
    int64_t n, pending, owner, bytes;
    bool spare;
};

/* --- time in use --- */

static const struct str used_mark = STR_INIT("used_ms");

int64_t sqlite_used(struct sqlite_side *side)
{
    if (!side->used_at) {
        side->used_ms = query_mark(side, used_mark);
        side->used_at = side->now;
    }
    int64_t passed = side->now - side->used_at;
    if (passed <= 0)
        return side->used_ms;
    side->used_ms += passed < LITE_USED_STEP_MS ? passed : LITE_USED_STEP_MS;
    side->used_at = side->now;
    return side->used_ms;
}

/* --- calls --- */

/* Removes the calls that a query names. True: there may be more. */
static bool drop_found(struct sqlite_side *side, struct query *q)
{
    struct over over[LITE_SWEEP_CALLS];
    size_t count = 0;

    query_int(q, LITE_SWEEP_CALLS);
    for (; count < LITE_SWEEP_CALLS && query_row(q); count++) {
        over[count].n = query_get_int(q);
        over[count].pending = query_get_int(q);
        over[count].owner = query_get_int(q);
        over[count].bytes = query_get_int(q);
        over[count].spare = query_get_int(q);
    }
    query_end(q);
    for (size_t i = 0; i < count; i++) {
        int64_t counted = sqlite_call_drop(side, over[i].n, over[i].pending);
        if (counted)
            sqlite_quota_move(side, over[i].owner, -counted);
        sqlite_quota_bytes(side, over[i].owner, -over[i].bytes,
                           over[i].spare ? -kept_spare(over[i].bytes) : 0);
    }
    return count == LITE_SWEEP_CALLS;
}

/* Removes small records whose time is over. True: there may be more. */
static bool sweep_small(struct sqlite_side *side)
{
    struct over over[LITE_SWEEP_ROWS];
    struct query q = query(side, SQL_SMALL_OVER);
    size_t count = 0;

    query_int(&q, side->now);
    query_int(&q, LITE_SWEEP_ROWS);
    for (; count < LITE_SWEEP_ROWS && query_row(&q); count++) {
        over[count].n = query_get_int(&q);
        over[count].owner = query_get_int(&q);
        over[count].bytes = query_get_int(&q);
    }
    query_end(&q);
    for (size_t i = 0; i < count; i++) {
        query_run_int(side, SQL_SMALL_DROP, over[i].n);
        if (over[i].bytes)
            sqlite_quota_bytes(side, over[i].owner, -over[i].bytes, 0);
    }
    return count == LITE_SWEEP_ROWS;
}

void sqlite_sweep(struct sqlite_side *side)
{
    bool more = sqlite_quota_lapse(side, side->now);

    query_mark_set(side, used_mark, sqlite_used(side));
    /* Calls that ran on nodes that are gone can be run by others from now on. */
    struct query q = query(side, SQL_CALLS_ORPHANED);
    query_int(&q, sqlite_used(side));
    query_int(&q, side->now);
    query_run(&q);
    query_run_int(side, SQL_CALLS_OWNED, side->now);
    /* Calls that have ended and whose time is over. */
    q = query(side, SQL_CALLS_OVER);
    query_int(&q, side->now);
    more |= drop_found(side, &q);
    /* Calls that could be run, and that nobody came for: see STORE_ABANDONED_MS. */
    q = query(side, SQL_CALLS_ABANDONED);
    query_int(&q, sqlite_used(side) - side->store->abandoned_ms);
    query_int(&q, side->now);
    more |= drop_found(side, &q);
    more |= sweep_small(side);
    query_run_int(side, SQL_NODES_SWEEP, side->now);
    side->sweep_on = more;
    side->swept_ms = side->now;
}
