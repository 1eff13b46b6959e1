/*
 * front/sweep: a sign-in whose token is gone ends for good.
 *
 * Whoever the token file no longer names is refused at once, whatever is stored. But the record of
 * a sign-in would count again if its token were put back. So whenever the token file was read, at
 * the start too, all sign-ins and links are looked through, page by page, and those of a token that
 * is not in the file (or has another owner now) are removed from the store. If the store is away,
 * that is tried again until it was done. One that is used in between is removed then (signin.c).
 *
 * All nodes that share a store have the same token file, so the first that has read the new one
 * removes for all. A server without tokens removes nothing.
 *
 * Holds always: at most one look is under way, and one that began after the file was last read
 * follows. It is over when what it removes is gone; only then the log says so.
 */
#include "base/log.h"
#include "core/store.h"
#include "front/signin.h"

enum {
    SWEEP_PAGE = 100,      /* records that are looked at, and perhaps removed, at once */
    SWEEP_AGAIN_MS = 1000, /* before a store that failed is tried again */
};

static const struct str kinds[] = { STR_INIT("signin"), STR_INIT("link") };

static void begin(void *data);

/* Everything was looked at, and what had to go is gone. */
static void finish_if_done(struct front *front)
{
    struct sweep *sweep = &front->signins->sweep;

    if (!sweep->looked || sweep->removing)
        return;
    if (sweep->count)
        LOG_INFO("sign-ins and links whose token is gone have ended",
                 LOG_INT("count", sweep->count));
    sweep->busy = false;
    if (sweep->failed)
        timer_set(front->opts.loop, &front->signins->sweep.again, SWEEP_AGAIN_MS, begin, front);
    else if (sweep->stale)
        begin(front);
}

static void one_removed(struct front *front, nod_status status)
{
    struct sweep *sweep = &front->signins->sweep;

    if (status != NOD_OK && status != NOD_E_NOT_FOUND)
        sweep->failed = true;
    sweep->removing--;
    finish_if_done(front);
}

static void link_removed(void *data, nod_status status, const struct store_reply *reply)
{
    (void)reply;
    one_removed(data, status);
}

/* By then it was forgotten here again, in case that somebody has used it meanwhile. */
static void signin_removed(struct signin_op *op, nod_status status)
{
    struct front *front = op->front;

    signin_op_free(op);
    one_removed(front, status);
}

static void look_at(void *data, const struct store_row *row)
{
    struct front *front = data;
    struct sweep *sweep = &front->signins->sweep;
    struct store *store = signin_store(front);
    struct holder holder;
    struct digest digest;
    struct arena arena;

    arena_init(&arena, SIGNIN_RECORD_MAX * 8);
    bool fine = holder_read(json_parse(&arena, row->value->value, NULL, NULL), &holder);
    arena_finish(&arena);
    if (!fine || !holder_is_lost(front, &holder))
        return;
    sweep->count++;
    sweep->removing++;
    if (sweep->kind || !hex_decode(row->value->key, digest.bytes, DIGEST_LEN)) {
        store->ops->del(store, kinds[sweep->kind], row->value->key, link_removed, front);
        return;
    }
    struct signin *signin = map_get(&front->signins->by_digest, digest_str(&digest));
    if (signin)
        signin_forget(front, signin, watch_lost);
    struct signin_op *op = signin_op_new(front, NULL, NULL);
    op->digest = digest;
    op->done = signin_removed;
    signin_remove(op);
}

static void looked(void *data, nod_status status, const struct store_reply *reply);

static void look(struct front *front, struct str cursor)
{
    struct store *store = signin_store(front);

    store->ops->list(store,
                     &(struct store_list){ .kind = kinds[front->signins->sweep.kind],
                                           .cursor = cursor,
                                           .limit = SWEEP_PAGE },
                     look_at, looked, front);
}

static void looked(void *data, nod_status status, const struct store_reply *reply)
{
    struct front *front = data;
    struct sweep *sweep = &front->signins->sweep;

    if (status == NOD_OK &&
        (reply->cursor.len || ++sweep->kind < sizeof(kinds) / sizeof(kinds[0]))) {
        look(front, reply->cursor);
        return;
    }
    sweep->looked = true;
    sweep->failed |= status != NOD_OK;
    finish_if_done(front);
}

static void begin(void *data)
{
    struct front *front = data;
    struct sweep *sweep = &front->signins->sweep;

    sweep->stale = sweep->busy;
    if (sweep->busy)
        return;
    sweep->busy = true;
    sweep->looked = sweep->failed = false;
    sweep->kind = 0;
    sweep->count = 0;
    look(front, STR_NONE);
}

void front_tokens_read(struct front *front)
{
    if (front->signins && front->opts.tokens)
        begin(front);
}

void sweep_close(struct front *front)
{
    timer_stop(front->opts.loop, &front->signins->sweep.again);
}
