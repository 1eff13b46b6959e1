/*
 * front/signin_link: links that sign a person in, once.
 *
 * A link is /login/ and 128 random bits. Its record says for whom it was made, and whether it was
 * used. To use it is to replace the record that was read by one that says so: of two that try,
 * on whatever node, the store lets one through.
 *
 * The link of a page that one question is answered on is another: see surface/hosted.c.
 *
 * To look at a link uses nothing up: pages are fetched ahead of time, and drawn as pictures.
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
    jw_key_bool(&w, STR("used"), used);
    jw_end(&w);
    digest_hex(&op->digest, hex);
    store->ops->put(store, LINK_KIND, str_n(hex, DIGEST_HEX_LEN), buf_str(&record),
                    signin_whose(op), version, op->front->signins->times.link_ms, done, op);
    buf_finish(&record);
}

static void signin_link_put(void *data, nod_status status, const struct store_reply *reply)
{
    struct signin_op *op = data;

    (void)reply;
    op->done(op, status);
}

void signin_link_make(struct signin_op *op)
{
    id_random(&op->secret);
    digest_of(id_str(&op->secret), &op->digest);
    record_put(op, false, STORE_NEW, signin_link_put);
}

/* Whose the link is, and whether it can be used. */
static nod_status record_read(struct signin_op *op, const struct store_reply *reply)
{
    nod_status status = NOD_OK;
    struct arena arena;

    arena_init(&arena, SIGNIN_RECORD_MAX * 8);
    const struct json *record = json_parse(&arena, reply->value, NULL, NULL);
    if (!holder_read(record, &op->holder) || !holder_principal(op->front, &op->holder))
        status = NOD_E_NOT_FOUND;
    else if (json_true(json_get(record, STR("used"))))
        status = NOD_E_STALE;
    arena_finish(&arena);
    return status;
}

static void to_use(void *data, nod_status status, const struct store_reply *reply)
{
    struct signin_op *op = data;

    if (status == NOD_OK)
        status = record_read(op, reply);
    if (status == NOD_OK)
        record_put(op, true, reply->version, signin_link_put);
    else
        op->done(op, status);
}

static void looked(void *data, nod_status status, const struct store_reply *reply)
{
    struct signin_op *op = data;

    op->done(op, status == NOD_OK ? record_read(op, reply) : status);
}

static void find(struct signin_op *op, store_done *done)
{
    struct store *store = signin_store(op->front);
    char hex[DIGEST_HEX_LEN + 1];

    digest_of(id_str(&op->secret), &op->digest);
    digest_hex(&op->digest, hex);
    store->ops->get(store, LINK_KIND, str_n(hex, DIGEST_HEX_LEN), done, op);
}

void signin_link_use(struct signin_op *op)
{
    find(op, to_use);
}

void signin_link_look(struct signin_op *op)
{
    find(op, looked);
}
