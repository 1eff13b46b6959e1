/*
 * core/grant: the record of a grant: how it is kept, listed and revoked.
 *
 * A grant is a small record of the store (kind "grant"). Its key is made from what it allows: whose
 * calls, in which session, of which tool, with which arguments. So the gate finds it with one look
 * at one key, and approving the same thing twice makes one record, not two.
 *
 *     owner (24) session (16) the rest (24)      hexadecimal; without a session 16 zeros
 *
 * The parts are cut from digests. A record says all of it again, and that is compared: two things
 * whose keys are the same by chance never stand for each other.
 *
 * A revoke does not remove the record but writes into it that it was revoked, and when. An answer
 * that was given before, and whose call is run again later, then makes no grant. The record goes
 * when no such answer counts any more (GRANT_MAKE_MS).
 */
#include "core/grant_inside.h"

#include "base/log.h"
#include "crypto/digest.h"
#include "json/write.h"

enum {
    OWNER_BYTES = 12,   /* of a digest, for the owner's part of a key */
    SESSION_BYTES = 8,  /* for the session's */
    REST_BYTES = 12,    /* and for the rest */
    RECORD_MAX = 16384, /* bytes of a record */
    WORK_ARENA = 65536, /* memory of one operation on a grant */
    OVER_PAGE = 64,     /* grants of an ended session that are removed at a time */
};

_Static_assert(2 * OWNER_BYTES == GRANT_OWNER_LEN, "the first part of a key");
_Static_assert(2 * (OWNER_BYTES + SESSION_BYTES + REST_BYTES) == GRANT_KEY_LEN, "parts of a key");

/* --- keys --- */

static char *part(char *at, const struct str *texts, size_t count, size_t bytes)
{
    struct digest digest;

    digest_of_parts(texts, count, &digest);
    hex_encode(str_n((const char *)digest.bytes, bytes), at);
    return at + 2 * bytes;
}

static char *owner_part(char *at, struct str principal)
{
    return part(at, (struct str[]){ STR("grant owner"), principal }, 2, OWNER_BYTES);
}

static char *session_part(char *at, struct str session)
{
    if (session.len)
        return part(at, (struct str[]){ STR("grant session"), session }, 2, SESSION_BYTES);
    memset(at, '0', 2 * (size_t)SESSION_BYTES);
    return at + 2 * SESSION_BYTES;
}

struct str grant_key(const struct grant *grant, char out[GRANT_KEY_LEN])
{
    char *at = session_part(owner_part(out, grant->principal), grant->session);

    part(at,
         (struct str[]){ STR("grant"), grant_scope_name(grant->scope),
                         grant_match_name(grant->match), grant->tool, grant->digest },
         5, REST_BYTES);
    return str_n(out, GRANT_KEY_LEN);
}

/* --- records --- */

static bool grant_write(struct buf *out, const struct grant *grant)
{
    struct json_writer w;

    buf_clear(out);
    json_writer_init(&w, out);
    jw_object(&w);
    jw_key_str(&w, STR("tool"), grant->tool);
    if (grant->asker.len)
        jw_key_str(&w, STR("asker"), grant->asker);
    jw_key_str(&w, STR("principal"), grant->principal);
    jw_key_str(&w, STR("session"), grant->session);
    jw_key_str(&w, STR("scope"), grant_scope_name(grant->scope));
    jw_key_str(&w, STR("match"), grant_match_name(grant->match));
    jw_key_str(&w, STR("digest"), grant->digest);
    jw_key_str(&w, STR("version"), grant->version);
    jw_key_str(&w, STR("by"), grant->by);
    jw_key_str(&w, STR("ask"), grant->ask_id);
    jw_key_str(&w, STR("message"), grant->message);
    jw_key_i64(&w, STR("forMs"), grant->for_ms);
    jw_key_i64(&w, STR("at"), grant->at_ms);
    jw_key_i64(&w, STR("until"), grant->until_ms);
    jw_key_i64(&w, STR("uses"), grant->uses);
    jw_key_bool(&w, STR("revoked"), grant->revoked);
    jw_end(&w);
    return json_writer_done(&w);
}

bool grant_read(struct arena *arena, struct str id, struct str record, struct grant *out)
{
    const struct json *v = json_parse(arena, arena_str(arena, record), NULL, NULL);
    const struct json *revoked = json_get(v, STR("revoked"));

    *out = (struct grant){ .id = arena_str(arena, id) };
    if (!json_is(v, JSON_OBJECT))
        return false;
    out->tool = json_get_str(v, STR("tool"));
    out->asker = json_get_str(v, STR("asker"));
    out->principal = json_get_str(v, STR("principal"));
    out->session = json_get_str(v, STR("session"));
    out->digest = json_get_str(v, STR("digest"));
    out->version = json_get_str(v, STR("version"));
    out->by = json_get_str(v, STR("by"));
    out->ask_id = json_get_str(v, STR("ask"));
    out->message = json_get_str(v, STR("message"));
    out->revoked = json_is(revoked, JSON_BOOL) && revoked->truth;
    return grant_scope_named(json_get_str(v, STR("scope")), &out->scope) &&
           grant_match_named(json_get_str(v, STR("match")), &out->match) &&
           json_i64(json_get(v, STR("forMs")), &out->for_ms) &&
           json_i64(json_get(v, STR("at")), &out->at_ms) &&
           json_i64(json_get(v, STR("until")), &out->until_ms) &&
           json_i64(json_get(v, STR("uses")), &out->uses);
}

bool grant_is_over(const struct grant *grant, int64_t now_ms)
{
    return grant->revoked || (grant->until_ms && grant->until_ms <= now_ms);
}

void grant_put(struct engine *engine, const struct grant *grant, uint64_t version, store_done *done,
               void *data)
{
    struct store *store = engine->store;
    int64_t left = grant->until_ms ? grant->until_ms - engine_now(engine) : 0;
    struct buf record;

    if (grant->revoked)
        left = GRANT_MAKE_MS;
    else if (grant->until_ms && left < 1)
        left = 1;
    buf_init(&record, RECORD_MAX);
    grant_write(&record, grant); /* its texts are bounded where they come from */
    store->ops->put(store, STR(GRANT_KIND), grant->id, buf_str(&record), grant->principal, version,
                    left, done, data);
    buf_finish(&record);
}

/* --- operations that no call waits for --- */

struct grant_work {
    struct engine_job job; /* first */
    struct grant grant;
    char id[GRANT_KEY_LEN];
    size_t id_len;
    struct str principal; /* whose it must be; empty: anyone's */
    /* lists */
    grant_row_fn *row;
    char cursor[JOB_CURSOR_MAX];
    size_t cursor_len;
    char prefix[GRANT_KEY_LEN];
    size_t prefix_len;
    char over[OVER_PAGE][GRANT_KEY_LEN]; /* to be removed: their session has ended */
    size_t over_count;
    char text[]; /* the principal */
};

static struct grant_work *grant_work_new(struct engine *engine, struct str principal, void *data)
{
    struct grant_work *work =
        engine_job_new(engine, sizeof(*work) + principal.len + 1, WORK_ARENA, data);
    char *at = work->text;

    work->principal = str_place(&at, principal);
    return work;
}

static void grant_work_over(struct grant_work *work, nod_status status)
{
    engine_job_over(&work->job, status, STR_NONE);
}

/* --- revoking --- */

/* It replaces whatever is there, so that no use can be faster than a revoke. A use or an answer
 * that has read the record before finds another version there, and reads it again. */
static void revoke_put_send(struct op *op)
{
    struct grant_work *work = OP_OF(op, struct grant_work, job.work.op);
    int64_t now = engine_now(work->job.engine);

    if (now > work->grant.at_ms)
        work->grant.at_ms = now;
    grant_put(work->job.engine, &work->grant, 0, op_completed, op);
}

static void revoke_put_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct grant_work *work = OP_OF(op, struct grant_work, job.work.op);

    (void)reply;
    if (status == NOD_OK)
        LOG_INFO("a remembered approval was revoked", LOG_STR("tool", work->grant.tool),
                 LOG_STR("principal", work->grant.principal), LOG_STR("grant", work->grant.id));
    grant_work_over(work, status);
}

static void revoke_get_send(struct op *op)
{
    struct grant_work *work = OP_OF(op, struct grant_work, job.work.op);
    struct store *store = work->job.engine->store;

    store->ops->get(store, STR(GRANT_KIND), str_n(work->id, work->id_len), op_completed, op);
}

static void revoke_get_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct grant_work *work = OP_OF(op, struct grant_work, job.work.op);
    struct str whose = work->principal;
    struct grant *grant = &work->grant;

    if (status != NOD_OK) {
        grant_work_over(work, status);
        return;
    }
    arena_reset(&work->job.arena);
    if (!grant_read(&work->job.arena, str_n(work->id, work->id_len), reply->value, grant) ||
        grant_is_over(grant, engine_now(work->job.engine)) ||
        (whose.len && !str_eq(whose, grant->principal))) {
        grant_work_over(work, NOD_E_NOT_FOUND);
        return;
    }
    grant->revoked = true;
    op_start(work->job.engine, &work->job.work.op, revoke_put_send, revoke_put_done);
}

void grants_revoke(struct engine *engine, struct str id, struct str principal,
                   void (*done)(void *data, nod_status status), void *data)
{
    struct grant_work *work = grant_work_new(engine, principal, data);

    work->job.done = done;
    work->id_len = id.len == GRANT_KEY_LEN ? id.len : 1; /* of another length there is none */
    memcpy(work->id, id.len == GRANT_KEY_LEN ? id.at : "-", work->id_len);
    op_start(engine, &work->job.work.op, revoke_get_send, revoke_get_done);
}

/* --- listing --- */

static void grant_row(void *data, const struct store_row *row)
{
    struct grant_work *work = data;
    struct str whose = work->principal;
    struct grant grant;

    arena_reset(&work->job.arena);
    if (grant_read(&work->job.arena, row->value->key, row->value->value, &grant) &&
        !grant_is_over(&grant, engine_now(work->job.engine)) &&
        (!whose.len || str_eq(whose, grant.principal)))
        work->row(work->job.data, &grant);
}

void grants_list(struct engine *engine, struct str principal, struct str cursor, size_t limit,
                 grant_row_fn *row, void (*done)(void *data, nod_status status, struct str cursor),
                 void *data)
{
    struct grant_work *work = grant_work_new(engine, principal, data);
    struct store *store = engine->store;

    work->row = row;
    work->job.listed = done;
    if (principal.len)
        work->prefix_len = (size_t)(owner_part(work->prefix, principal) - work->prefix);
    store->ops->list(
        store,
        &(struct store_list){ .kind = STR(GRANT_KIND),
                              .prefix = str_n(work->prefix, work->prefix_len),
                              .cursor = cursor,
                              .limit = limit < GRANT_PAGE_MAX ? limit : GRANT_PAGE_MAX },
        grant_row, engine_job_listed, work);
}

/* --- the end of a session --- */

static void over_next(struct grant_work *work);

/* Nothing can bring them back: no call of the session goes on, and no other session has its
 * scope. */
static void over_deleted(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply;
}

static void over_row(void *data, const struct store_row *row)
{
    struct grant_work *work = data;

    if (work->over_count < OVER_PAGE && row->value->key.len == GRANT_KEY_LEN)
        memcpy(work->over[work->over_count++], row->value->key.at, GRANT_KEY_LEN);
}

static void over_listed(void *data, nod_status status, const struct store_reply *reply)
{
    struct grant_work *work = data;
    struct store *store = work->job.engine->store;

    for (size_t i = 0; i < work->over_count; i++)
        store->ops->del(store, STR(GRANT_KIND), str_n(work->over[i], GRANT_KEY_LEN), over_deleted,
                        NULL);
    work->over_count = 0;
    if (status != NOD_OK || reply->cursor.len == 0 || reply->cursor.len > JOB_CURSOR_MAX) {
        grant_work_over(work, status);
        return;
    }
    work->cursor_len = reply->cursor.len;
    memcpy(work->cursor, reply->cursor.at, reply->cursor.len);
    over_next(work);
}

static void over_next(struct grant_work *work)
{
    struct store *store = work->job.engine->store;

    store->ops->list(store,
                     &(struct store_list){ .kind = STR(GRANT_KIND),
                                           .prefix = str_n(work->prefix, work->prefix_len),
                                           .cursor = str_n(work->cursor, work->cursor_len),
                                           .limit = OVER_PAGE },
                     over_row, over_listed, work);
}

void grants_end_session(struct engine *engine, struct str principal, struct str scope)
{
    struct grant_work *work = grant_work_new(engine, principal, NULL);
    char *at = session_part(owner_part(work->prefix, principal), scope);

    work->prefix_len = (size_t)(at - work->prefix);
    over_next(work);
}
