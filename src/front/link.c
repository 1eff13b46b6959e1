/*
 * front/link: one-time links.
 *
 * A link is /login/ and 128 random bits. Its record says for whom it was made, and whether it was
 * used. To use it is to replace the record that was read by one that says so: of two that try,
 * on whatever node, the store lets one through.
 *
 * Holds always: a link signs in once, or, if the store fails in between, not at all.
 */
#include "base/log.h"
#include "core/store.h"
#include "front/signin.h"

#define LINK_KIND STR("link")

static void record_put(struct signin_op *op, bool used, uint64_t version, store_done *done)
{
    struct store *store = signin_store(op->front);
    char hex[DIGEST_HEX_LEN + 1];
    struct json_writer w;
    struct buf record;

    buf_init(&record, SIGNIN_RECORD_MAX);
    json_writer_init(&w, &record);
    jw_object(&w);
    holder_write(&w, &op->holder);
    jw_key(&w, STR("used"));
    jw_bool(&w, used);
    jw_end(&w);
    digest_hex(&op->digest, hex);
    store->ops->put(store, LINK_KIND, str_n(hex, DIGEST_HEX_LEN), buf_str(&record), version,
                    op->front->signins->times.link_ms, done, op);
    buf_finish(&record);
}

static void made(void *data, nod_status status, const struct store_reply *reply)
{
    struct signin_op *op = data;

    (void)reply;
    op->done(op, status);
}

void link_make(struct signin_op *op)
{
    id_random(&op->secret);
    digest_of(id_str(&op->secret), &op->digest);
    record_put(op, false, STORE_NEW, made);
}

static void used(void *data, nod_status status, const struct store_reply *reply)
{
    struct signin_op *op = data;

    (void)reply;
    op->done(op, status);
}

static void found(void *data, nod_status status, const struct store_reply *reply)
{
    struct signin_op *op = data;
    struct arena arena;
    bool before = false;

    if (status != NOD_OK) {
        op->done(op, status);
        return;
    }
    arena_init(&arena, SIGNIN_RECORD_MAX * 8);
    const struct json *record = json_parse(&arena, reply->value, NULL, NULL);
    if (!holder_read(record, &op->holder) || !holder_principal(op->front, &op->holder))
        status = NOD_E_NOT_FOUND;
    else
        before = json_true(json_get(record, STR("used")));
    arena_finish(&arena);
    if (status != NOD_OK || before)
        op->done(op, before ? NOD_E_STALE : status);
    else
        record_put(op, true, reply->version, used);
}

void link_use(struct signin_op *op)
{
    struct store *store = signin_store(op->front);
    char hex[DIGEST_HEX_LEN + 1];

    digest_of(id_str(&op->secret), &op->digest);
    digest_hex(&op->digest, hex);
    store->ops->get(store, LINK_KIND, str_n(hex, DIGEST_HEX_LEN), found, op);
}
