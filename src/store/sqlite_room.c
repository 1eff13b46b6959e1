/*
 * store/sqlite: makes room of results that were handed out, before a commit.
 *
 * The operations of a batch were let pass because there is enough that may go. Of a principal past
 * its bound, the contents of its ended calls go, the oldest end first; past the bound in all, those
 * of any principal, the oldest call first. Of such a call a small record stays, with its principal
 * and its state, for as long as something could bring the call back.
 *
 * Everything happens in the batch's transaction. If there is much to do, the next commits go on.
 */
#include "store/sqlite_inside.h"

enum {
    ROOM_ARENA_MAX = 64 << 20, /* memory of the records that are made small with one commit */
    IN_ALL = 0,
};

struct spare {
    int64_t n, owner, bytes, keep_until_ms;
    struct str id, record;
};

static bool spare_find(struct sqlite_side *side, struct arena *arena, int64_t owner,
                       struct spare *spare)
{
    struct query q = query(side, owner == IN_ALL ? SQL_CALLS_SPARE : SQL_CALLS_SPARE_OF);

    query_int(&q, owner == IN_ALL ? side->spare_at : owner);
    bool found = query_row(&q);
    if (found) {
        spare->n = query_get_int(&q);
        spare->id = query_get_bytes(&q, arena);
        spare->owner = query_get_int(&q);
        spare->bytes = query_get_int(&q);
        spare->keep_until_ms = query_get_int(&q);
        spare->record = query_get_bytes(&q, arena);
    }
    query_end(&q);
    if (owner == IN_ALL)
        side->spare_at = found ? spare->n : 0;
    return found;
}

/* The record without what it was called with. One that does not open is no longer there to be
 * fetched either, and goes whole. */
static bool record_small(struct sqlite_side *side, struct arena *arena, const struct spare *spare)
{
    struct call_record call = { 0 };

    if (codec_read_call(&side->codec, spare->id, spare->record, arena, &call) != NOD_OK)
        return false;
    call.args = call.uri = call.caller = call.client = call.meta = STR_NONE;
    return codec_write_call(&side->codec, &call, sqlite_blank(side)) == NOD_OK;
}

static void spare_goes(struct sqlite_side *side, struct arena *arena, const struct spare *spare)
{
    bool marked = spare->keep_until_ms > side->now && record_small(side, arena, spare);
    int64_t left = marked ? KEPT_CALL_BYTES : 0;

    if (marked) {
        sqlite_call_empty(side, spare->n);
        struct query q = query(side, SQL_CALL_SHRINK);
        query_blob(&q, sqlite_fresh(side));
        query_int(&q, left);
        query_int(&q, spare->n);
        query_run(&q);
    } else {
        sqlite_call_drop(side, spare->n, 0);
    }
    sqlite_quota_bytes(side, spare->owner, left - spare->bytes, -kept_spare(spare->bytes));
    atomic_fetch_add(&side->store->kept_dropped, 1);
}

void sqlite_make_room(struct sqlite_side *side)
{
    int64_t owner = sqlite_quota_next_over(side);
    int left = LITE_ROOM_CALLS;
    struct arena arena;

    if (owner == SQLITE_NOBODY || side->error)
        return;
    arena_init(&arena, ROOM_ARENA_MAX);
    for (; owner != SQLITE_NOBODY && left > 0 && !side->error;
         owner = sqlite_quota_next_over(side)) {
        int before = left;
        struct spare spare;
        bool begun = false;

        while (left > 0 && !side->error && !arena.exhausted && sqlite_quota_over(side, owner)) {
            if (spare_find(side, &arena, owner, &spare)) {
                spare_goes(side, &arena, &spare);
                left--;
            } else if (owner == IN_ALL && !begun) {
                begun = true; /* once more, from the first */
            } else {
                break;
            }
        }
        if (left == before)
            break; /* it has nothing more */
    }
    arena_finish(&arena);
}
