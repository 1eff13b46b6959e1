/*
 * core/secret: see secret.h.
 *
 * Each operation is a piece of work that outlives whoever began it: a page that was closed, or a
 * call that was cancelled while its value was fetched.
 */
#include "core/secret.h"

#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/call_inside.h"
#include "crypto/digest.h"
#include "crypto/inner_seal.h"
#include "json/write.h"

enum {
    OWNER_BYTES = SECRET_OWNER_LEN / 2, /* of a digest, for the owner's part of an id */
    RECORD_MAX = 64 << 10,              /* bytes of a record, with the sealed value */
    WORK_ARENA = 256 << 10,             /* memory of one operation */
    GIVE_TRIES = 8,                     /* of storing one that others write at the same time */
    ASKED_MAX = 4096,                   /* bytes of what is asked for */
};

struct secrets {
    struct engine *engine;
    struct secrets_opts opts;
    struct need_source source;
};

struct secret { /* a record */
    struct secret_row row;
    struct str ask_id;
    struct str sealed;
};

/* --- names and records --- */

bool secret_name_ok(struct str name)
{
    if (name.len < 1 || name.len > SECRET_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        bool inside = i > 0 && i + 1 < name.len && (c == '.' || c == '_' || c == '-');
        if (!plain && !inside)
            return false;
    }
    return true;
}

static struct str owner_of(struct str principal, char out[SECRET_OWNER_LEN])
{
    struct digest digest;

    digest_of_parts((struct str[]){ STR("secret owner"), principal }, 2, &digest);
    hex_encode(str_n((const char *)digest.bytes, OWNER_BYTES), out);
    return str_n(out, SECRET_OWNER_LEN);
}

static struct str secret_key_of(struct arena *arena, struct str principal, struct str name)
{
    char owner[SECRET_OWNER_LEN];

    owner_of(principal, owner);
    return arena_fmt(arena, STR_FMT "." STR_FMT, SECRET_OWNER_LEN, owner, STR_ARG(name));
}

static bool secret_read(struct arena *arena, struct str id, struct str record, struct secret *out)
{
    const struct json *v = json_parse(arena, arena_str(arena, record), NULL, NULL);

    if (!json_is(v, JSON_OBJECT))
        return false;
    *out = (struct secret){ .row = { .id = arena_str(arena, id),
                                     .principal = json_get_str(v, STR("principal")),
                                     .name = json_get_str(v, STR("name")),
                                     .tool = json_get_str(v, STR("tool")) },
                            .ask_id = json_get_str(v, STR("ask")),
                            .sealed = json_get_str(v, STR(INNER_SEAL_MEMBER)) };
    return json_i64(json_get(v, STR("at")), &out->row.at_ms) &&
           json_i64(json_get(v, STR("until")), &out->row.until_ms) &&
           str_eq(secret_key_of(arena, out->row.principal, out->row.name), out->row.id);
}

static bool is_over(const struct engine *engine, const struct secret *secret)
{
    return secret->row.until_ms && secret->row.until_ms <= engine_now(engine);
}

struct str secret_asked_write(struct arena *arena, const struct secret_asked *asked)
{
    struct json_writer w;
    struct buf out;

    buf_init(&out, ASKED_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key_str(&w, STR("name"), asked->name);
    if (asked->keep_ms)
        jw_key_i64(&w, STR("keepMs"), asked->keep_ms);
    jw_end(&w);
    struct str text = json_writer_done(&w) ? arena_str(arena, buf_str(&out)) : STR_NONE;
    buf_finish(&out);
    return text;
}

bool secret_asked_read(struct arena *arena, struct str detail, struct secret_asked *out)
{
    const struct json *v = json_parse(arena, detail, NULL, NULL);
    const struct json *keep = json_get(v, STR("keepMs"));

    *out = (struct secret_asked){ .name = arena_str(arena, json_get_str(v, STR("name"))) };
    return secret_name_ok(out->name) && (!keep || json_i64(keep, &out->keep_ms));
}

/* --- one operation --- */

struct secret_work {
    struct engine_job job; /* first */
    struct secrets *secrets;
    struct str id, principal;
    struct secret secret; /* to be stored */
    struct str ask_id;    /* only what was stored for this question is deleted; empty: whatever */
    uint64_t version;
    int64_t keep_ms;
    int tries;
    struct need *need;  /* that waits for it */
    secret_row_fn *row; /* lists */
};

static struct secret_work *secret_work_new(struct secrets *secrets, void *data)
{
    struct secret_work *work = engine_job_new(secrets->engine, sizeof(*work), WORK_ARENA, data);

    work->secrets = secrets;
    return work;
}

static void secret_work_over(struct secret_work *work, nod_status status)
{
    engine_job_over(&work->job, status, STR_NONE);
}

static void secret_get_send(struct op *op)
{
    struct secret_work *work = OP_OF(op, struct secret_work, job.work.op);
    struct store *store = work->secrets->opts.store;

    store->ops->get(store, STR(SECRET_KIND), work->id, op_completed, op);
}

/* --- the source of values for runs --- */

/* The engine goes before the call that waits for the value. */
static void fetch_dropped(struct engine_work *dropped)
{
    struct secret_work *work = OP_OF(dropped, struct secret_work, job.work);

    if (work->need)
        work->need->data = NULL;
    secret_work_over(work, NOD_E_STORE);
}

static void fetch_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct secret_work *work = OP_OF(op, struct secret_work, job.work.op);
    struct secrets *secrets = work->secrets;
    struct hidden value = { 0 };
    struct secret secret;

    if (status == NOD_OK && (!secret_read(&work->job.arena, work->id, reply->value, &secret) ||
                             is_over(secrets->engine, &secret)))
        status = NOD_E_NOT_FOUND;
    else if (status == NOD_OK && inner_open(secrets->opts.ring, STR(SECRET_KIND), work->id,
                                            secret.sealed, &value) != NOD_OK)
        status = NOD_E_REFUSED;
    if (status == NOD_E_REFUSED || status == NOD_E_PARSE) {
        /* it was sealed with a secret that is gone, or tampered with: the person gives it anew */
        LOG_WARN("a stored secret cannot be opened, and is asked for again",
                 LOG_STR("id", work->id));
        status = NOD_E_NOT_FOUND;
    }
    struct need *need = work->need;
    secret_work_over(work, status);
    if (need)
        need_done(need, status, hidden_str(&value),
                  status == NOD_E_STORE
                      ? STR("The store of the secrets cannot be reached; try again")
                      : STR("The secret cannot be read"));
    hidden_wipe(&value);
}

static void source_fetch(struct need_source *source, struct need *need)
{
    struct secrets *secrets =
        (struct secrets *)(void *)((char *)source - offsetof(struct secrets, source));
    struct secret_work *work = secret_work_new(secrets, NULL);

    work->job.work.drop = fetch_dropped;
    work->need = need;
    need->data = work;
    work->id = secret_key_of(&work->job.arena, need->principal, need->spec.name);
    op_start(secrets->engine, &work->job.work.op, secret_get_send, fetch_done);
}

static void source_dropped(struct need_source *source, struct need *need)
{
    struct secret_work *work = need->data;

    (void)source;
    if (work)
        work->need = NULL;
}

/* --- giving --- */

static void give_again(struct secret_work *work);

static void secret_put_send(struct op *op)
{
    struct secret_work *work = OP_OF(op, struct secret_work, job.work.op);
    struct store *store = work->secrets->opts.store;
    struct buf record;

    CRASH_POINT(secret_before);
    buf_init(&record, RECORD_MAX);
    struct json_writer w;
    json_writer_init(&w, &record);
    jw_object(&w);
    jw_key_str(&w, STR("principal"), work->secret.row.principal);
    jw_key_str(&w, STR("name"), work->secret.row.name);
    jw_key_str(&w, STR("ask"), work->secret.ask_id);
    jw_key_str(&w, STR("tool"), work->secret.row.tool);
    jw_key_i64(&w, STR("at"), work->secret.row.at_ms);
    jw_key_i64(&w, STR("until"), work->secret.row.until_ms);
    jw_key_str(&w, STR(INNER_SEAL_MEMBER), work->secret.sealed);
    jw_end(&w);
    json_writer_done(&w);
    store->ops->put(store, STR(SECRET_KIND), work->id, buf_str(&record), work->secret.row.principal,
                    work->version, work->keep_ms, op_completed, op);
    buf_finish(&record);
}

static void secret_put_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct secret_work *work = OP_OF(op, struct secret_work, job.work.op);

    (void)reply;
    CRASH_POINT(secret_after);
    if (status == NOD_E_STALE && ++work->tries < GIVE_TRIES) {
        give_again(work);
        return;
    }
    if (status == NOD_OK)
        LOG_INFO("a secret was stored", LOG_STR("name", work->secret.row.name),
                 LOG_STR("principal", work->secret.row.principal));
    secret_work_over(work, status == NOD_E_STALE ? NOD_E_STORE : status);
}

/* Does this stay? Nobody is asked for a secret that is there, so it was given since the question
 * was put, perhaps for another one. What cannot be opened never stays. */
static bool stays(const struct secret_work *work, const struct secret *there, bool *same)
{
    struct keyring *ring = work->secrets->opts.ring;
    struct hidden old = { 0 }, new = { 0 };

    bool opens = inner_open(ring, STR(SECRET_KIND), work->id, there->sealed, &old) == NOD_OK &&
                 inner_open(ring, STR(SECRET_KIND), work->id, work->secret.sealed, &new) == NOD_OK;
    *same = opens && str_eq(hidden_str(&old), hidden_str(&new));
    hidden_wipe(&old);
    hidden_wipe(&new);
    return opens;
}

/* Whatever cannot be read is replaced. */
static void give_get_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct secret_work *work = OP_OF(op, struct secret_work, job.work.op);
    struct engine *engine = work->secrets->engine;
    struct secret there;

    if (status == NOD_E_STORE) {
        secret_work_over(work, status);
        return;
    }
    bool same;
    if (status == NOD_OK && secret_read(&work->job.arena, work->id, reply->value, &there) &&
        !is_over(engine, &there) && stays(work, &there, &same)) {
        secret_work_over(work, same ? NOD_OK : NOD_E_STALE);
        return;
    }
    work->version = status == NOD_OK ? reply->version : status == NOD_E_NOT_FOUND ? STORE_NEW : 0;
    work->secret.row.at_ms = engine_now(engine);
    work->secret.row.until_ms = work->keep_ms ? work->secret.row.at_ms + work->keep_ms : 0;
    op_start(engine, &work->job.work.op, secret_put_send, secret_put_done);
}

static void give_again(struct secret_work *work)
{
    op_start(work->secrets->engine, &work->job.work.op, secret_get_send, give_get_done);
}

void secret_give(struct engine *engine, const struct secret_given *given,
                 void (*done)(void *data, nod_status status), void *data)
{
    nod_status status = !engine->secrets || !secret_name_ok(given->name) || given->keep_ms < 0 ||
                                given->keep_ms > SECRET_MS_MAX
                            ? NOD_E_USAGE
                        : given->value.len < 1 || given->value.len > SECRET_VALUE_MAX ? NOD_E_LIMIT
                                                                                      : NOD_OK;

    if (status != NOD_OK) {
        done(data, status);
        return;
    }
    struct secret_work *work = secret_work_new(engine->secrets, data);
    work->job.done = done;
    work->keep_ms = given->keep_ms;
    work->id = secret_key_of(&work->job.arena, given->principal, given->name);
    work->secret.row.principal = arena_str(&work->job.arena, given->principal);
    work->secret.row.name = arena_str(&work->job.arena, given->name);
    work->secret.ask_id = arena_str(&work->job.arena, given->ask_id);
    work->secret.row.tool = arena_str(&work->job.arena, given->tool);
    struct buf sealed;
    buf_init(&sealed, RECORD_MAX);
    status =
        inner_seal(work->secrets->opts.ring, STR(SECRET_KIND), work->id, given->value, &sealed);
    work->secret.sealed = arena_str(&work->job.arena, buf_str(&sealed));
    buf_finish(&sealed);
    if (work->job.arena.exhausted)
        status = NOD_E_LIMIT;
    if (status == NOD_OK)
        give_again(work);
    else
        secret_work_over(work, status);
}

/* --- listing and deleting --- */

static void secret_row(void *data, const struct store_row *row)
{
    struct secret_work *work = data;
    struct secret secret;

    arena_reset(&work->job.arena);
    if (secret_read(&work->job.arena, row->value->key, row->value->value, &secret) &&
        !is_over(work->secrets->engine, &secret))
        work->row(work->job.data, &secret.row);
}

void secrets_list(struct engine *engine, struct str principal, struct str cursor, size_t limit,
                  secret_row_fn *row,
                  void (*done)(void *data, nod_status status, struct str cursor), void *data)
{
    char owner[SECRET_OWNER_LEN];

    if (!engine->secrets) {
        done(data, NOD_OK, STR_NONE);
        return;
    }
    struct secret_work *work = secret_work_new(engine->secrets, data);
    struct store *store = engine->secrets->opts.store;
    work->row = row;
    work->job.listed = done;
    store->ops->list(
        store,
        &(struct store_list){ .kind = STR(SECRET_KIND),
                              .prefix = principal.len ? owner_of(principal, owner) : STR_NONE,
                              .cursor = cursor,
                              .limit = limit < SECRET_PAGE_MAX ? limit : SECRET_PAGE_MAX },
        secret_row, engine_job_listed, work);
}

struct str secret_id(struct arena *arena, struct str principal, struct str called)
{
    bool is_id = called.len > SECRET_OWNER_LEN && called.at[SECRET_OWNER_LEN] == '.';

    for (size_t i = 0; is_id && i < SECRET_OWNER_LEN; i++)
        is_id = strchr("0123456789abcdef", called.at[i]) != NULL && called.at[i];
    return is_id || !secret_name_ok(called) ? arena_str(arena, called)
                                            : secret_key_of(arena, principal, called);
}

static void del_send(struct op *op)
{
    struct secret_work *work = OP_OF(op, struct secret_work, job.work.op);
    struct store *store = work->secrets->opts.store;

    store->ops->del(store, STR(SECRET_KIND), work->id, op_completed, op);
}

static void del_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct secret_work *work = OP_OF(op, struct secret_work, job.work.op);

    (void)reply;
    if (status == NOD_OK)
        LOG_INFO("a secret was deleted", LOG_STR("name", work->secret.row.name),
                 LOG_STR("principal", work->secret.row.principal));
    secret_work_over(work, status);
}

static void delete_get_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct secret_work *work = OP_OF(op, struct secret_work, job.work.op);

    if (status == NOD_OK &&
        (!secret_read(&work->job.arena, work->id, reply->value, &work->secret) ||
         is_over(work->secrets->engine, &work->secret) ||
         (work->principal.len && !str_eq(work->principal, work->secret.row.principal)) ||
         (work->ask_id.len && !str_eq(work->ask_id, work->secret.ask_id))))
        status = NOD_E_NOT_FOUND;
    if (status == NOD_OK)
        op_start(work->secrets->engine, &work->job.work.op, del_send, del_done);
    else
        secret_work_over(work, status);
}

void secret_delete(struct engine *engine, struct str id, struct str principal,
                   void (*done)(void *data, nod_status status), void *data)
{
    if (!engine->secrets || id.len <= SECRET_OWNER_LEN || id.len > SECRET_ID_MAX) {
        done(data, NOD_E_NOT_FOUND);
        return;
    }
    struct secret_work *work = secret_work_new(engine->secrets, data);
    work->job.done = done;
    work->id = arena_str(&work->job.arena, id);
    work->principal = arena_str(&work->job.arena, principal);
    op_start(engine, &work->job.work.op, secret_get_send, delete_get_done);
}

void secret_take_back(struct engine *engine, struct str principal, struct str name,
                      struct str ask_id)
{
    if (!engine->secrets)
        return;
    struct secret_work *work = secret_work_new(engine->secrets, NULL);
    work->id = secret_key_of(&work->job.arena, principal, name);
    work->principal = arena_str(&work->job.arena, principal);
    work->ask_id = arena_str(&work->job.arena, ask_id);
    op_start(engine, &work->job.work.op, secret_get_send, delete_get_done);
}

/* --- life --- */

void engine_use_secrets(struct engine *engine, const struct secrets_opts *opts)
{
    struct secrets *secrets = MEM_NEW(struct secrets);

    secrets->engine = engine;
    secrets->opts = *opts;
    secrets->source = (struct need_source){ .name = SECRET_KIND,
                                            .fetch = source_fetch,
                                            .dropped = source_dropped };
    engine->secrets = secrets;
    engine_add_need_source(engine, &secrets->source);
}

bool engine_secrets_last(const struct engine *engine)
{
    return engine->secrets && engine->secrets->opts.last;
}

void secrets_drop(struct engine *engine)
{
    mem_free(engine->secrets);
    engine->secrets = NULL;
}
