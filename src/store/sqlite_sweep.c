/*
 * store/sqlite: what is over goes, a slice at a time.
 *
 * Runs on the writer's thread inside a batch's transaction, now and then, and with every commit as
 * long as there is more (side->sweep_on). A slice is small, so that no transition waits long for
 * it.
 */
#include "store/sqlite_inside.h"

struct over {
    int64_t n, pending, owner;
};

static size_t sweep_calls(struct sqlite_side *side)
{
    struct over over[LITE_SWEEP_CALLS];
    size_t count = 0;
    struct query q = query(side, SQL_CALLS_OVER);

    query_int(&q, side->now);
    query_int(&q, LITE_SWEEP_CALLS);
    for (; count < LITE_SWEEP_CALLS && query_row(&q); count++) {
        over[count].n = query_get_int(&q);
        over[count].pending = query_get_int(&q);
        over[count].owner = query_get_int(&q);
    }
    query_end(&q);
    for (size_t i = 0; i < count; i++) {
        int64_t counted = sqlite_call_drop(side, over[i].n, over[i].pending);
        if (counted)
            sqlite_quota_move(side, over[i].owner, -counted);
    }
    return count;
}

static bool sweep_rows(struct sqlite_side *side, enum sql statement)
{
    struct query q = query(side, statement);

    query_int(&q, side->now);
    query_int(&q, LITE_SWEEP_ROWS);
    return query_run(&q) && sqlite3_changes(side->db) == LITE_SWEEP_ROWS;
}

static void sweep_nodes(struct sqlite_side *side)
{
    struct query q = query(side, SQL_NODES_SWEEP);

    query_int(&q, side->now);
    query_run(&q);
}

void sqlite_sweep(struct sqlite_side *side)
{
    bool more = sqlite_quota_lapse(side, side->now);

    more |= sweep_calls(side) == LITE_SWEEP_CALLS;
    more |= sweep_rows(side, SQL_EVENTS_SWEEP);
    more |= sweep_rows(side, SQL_SMALL_SWEEP);
    sweep_nodes(side);
    side->sweep_on = more;
    side->swept_ms = side->now;
}
