/*
 * mcp/later/handle: see handle.h. This file writes the records, as JSON, and finds them.
 *
 *     {"version": 1, "heldUntil": ms, "node": id, "collected": ms, "by": id, "named": true}
 *
 * All but the version may be missing. What is not known is left out when a record is read, so nodes
 * of two versions can share them. A record is small, and its lifetime is the store's business: it
 * ends some time after the call that it names can be asked or answered no more (pending_keep_ms),
 * and `keep` after its result was handed out.
 *
 * Holds always: the callback is called once, also if the server goes away meanwhile; not at all, if
 * the store is destroyed before it has replied (mcp/shared/work.h).
 */
#include "mcp/later/handle.h"

#include "base/crash.h"
#include "base/mem.h"
#include "core/json_digest.h"
#include "json/write.h"
#include "mcp/later/pending.h"
#include "mcp/shared/server_inside.h"
#include "mcp/shared/work.h"

enum {
    HANDLE_VERSION = 1,
    HANDLE_RECORD_MAX = 1024,    /* bytes of a record */
    HANDLE_ARENA_MAX = 64 << 20, /* memory of the arguments while their digest is made */
    HANDLE_DIGEST_BYTES = 16,    /* bytes of the digest, in a key */
};

#define HANDLE_KIND STR("handle")

void handle_prefix(struct str principal, struct str tool, const struct digest *args,
                   char out[ID_LEN + 1])
{
    struct str parts[] = { STR("handle"), principal, tool, digest_str(args) };
    struct digest whole;

    digest_of_parts(parts, sizeof(parts) / sizeof(parts[0]), &whole);
    base64url_encode(str_n((const char *)whole.bytes, HANDLE_DIGEST_BYTES), out);
    out[ID_LEN] = '\0';
}

void handle_key(struct str principal, struct str tool, struct str args, struct str call_id,
                char out[HANDLE_KEY_LEN + 1])
{
    struct digest digest;
    struct arena arena;

    arena_init(&arena, HANDLE_ARENA_MAX);
    digest_of_args(json_parse(&arena, args, NULL, NULL), &digest);
    arena_finish(&arena);
    handle_prefix(principal, tool, &digest, out);
    memcpy(out + ID_LEN, call_id.at, call_id.len < ID_LEN ? call_id.len : ID_LEN);
    out[HANDLE_KEY_LEN] = '\0';
}

struct str handle_call(const struct handle *handle)
{
    return str_n(handle->key + ID_LEN, ID_LEN);
}

/* Where no other node shares the store, whoever held it in another process is gone. */
bool handle_is_held(const struct mcp_server *server, const struct handle *handle)
{
    return engine_store(server->opts.engine)->ops->shared &&
           !str_eq(id_str(&handle->node), id_str(&server->pending->self)) &&
           handle->held_until > server_now(server);
}

/* --- writing --- */

struct putting {
    struct server_work work; /* first */
    void (*done)(void *data, nod_status status);
    void *data;
};

static void put_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct putting *putting = data;
    bool here = putting->work.server;

    (void)reply;
    CRASH_POINT(handle_after);
    server_work_done(&putting->work);
    if (putting->done)
        putting->done(putting->data, here ? status : NOD_E_STORE);
    mem_free(putting);
}

void handle_put(struct mcp_server *server, const struct handle *handle, struct str whose,
                uint64_t version, int64_t ttl_ms, void (*done)(void *data, nod_status status),
                void *data)
{
    struct store *store = engine_store(server->opts.engine);
    struct putting *putting = MEM_NEW(struct putting);
    struct json_writer w;
    struct buf value;

    buf_init(&value, HANDLE_RECORD_MAX);
    json_writer_init(&w, &value);
    jw_object(&w);
    jw_key_i64(&w, STR("version"), HANDLE_VERSION);
    if (handle->named)
        jw_key_bool(&w, STR("named"), true);
    if (handle->held_until) {
        jw_key_i64(&w, STR("heldUntil"), handle->held_until);
        jw_key_str(&w, STR("node"), id_str(&server->pending->self));
    }
    if (handle->collected_ms) {
        jw_key_i64(&w, STR("collected"), handle->collected_ms);
        jw_key_str(&w, STR("by"), id_str(&handle->by));
    }
    jw_end(&w);
    putting->done = done;
    putting->data = data;
    server_work_add(server, &putting->work);
    CRASH_POINT(handle_before);
    store->ops->put(store, HANDLE_KIND, str_of(handle->key), buf_str(&value), whose, version,
                    ttl_ms, put_done, putting);
    buf_finish(&value);
}

void handle_hand_out(struct mcp_server *server, const struct handle *handle, const struct id *by,
                     struct str whose, void (*done)(void *data, nod_status status), void *data)
{
    struct handle out = *handle;

    out.held_until = 0;
    out.collected_ms = server_now(server);
    if (by)
        out.by = *by;
    CRASH_POINT(collect_before);
    handle_put(server, &out, whose, 0, engine_store(server->opts.engine)->keep_ms, done, data);
}

/* --- reading --- */

struct finding {
    struct server_work work; /* first */
    struct handle found[HANDLES_FOUND_MAX];
    size_t count;
    handles_found *done;
    void *data;
};

static void id_copy(struct id *out, struct str text)
{
    if (text.len == ID_LEN)
        *out = id_of(text);
}

static void row(void *data, const struct store_row *row)
{
    struct finding *finding = data;
    struct arena arena;
    int64_t version;

    if (!row->value || row->value->key.len != HANDLE_KEY_LEN || finding->count == HANDLES_FOUND_MAX)
        return;
    arena_init(&arena, HANDLE_RECORD_MAX * 8);
    const struct json *record =
        json_parse(&arena, arena_str(&arena, row->value->value), NULL, NULL);
    if (json_i64(json_get(record, STR("version")), &version) && version == HANDLE_VERSION) {
        struct handle *handle = &finding->found[finding->count++];
        memcpy(handle->key, row->value->key.at, HANDLE_KEY_LEN);
        handle->version = row->value->version;
        handle->named = json_true(json_get(record, STR("named")));
        json_i64(json_get(record, STR("collected")), &handle->collected_ms);
        json_i64(json_get(record, STR("heldUntil")), &handle->held_until);
        id_copy(&handle->node, json_get_str(record, STR("node")));
        id_copy(&handle->by, json_get_str(record, STR("by")));
    }
    arena_finish(&arena);
}

static void listed(void *data, nod_status status, const struct store_reply *reply)
{
    struct finding *finding = data;
    bool here = finding->work.server;

    (void)reply;
    server_work_done(&finding->work);
    finding->done(finding->data, here ? status : NOD_E_STORE, finding->found,
                  here ? finding->count : 0);
    mem_free(finding);
}

void handles_find(struct mcp_server *server, struct str prefix, handles_found *found, void *data)
{
    struct store *store = engine_store(server->opts.engine);
    struct finding *finding = MEM_NEW(struct finding);

    finding->done = found;
    finding->data = data;
    server_work_add(server, &finding->work);
    store->ops->list(
        store,
        &(struct store_list){ .kind = HANDLE_KIND, .prefix = prefix, .limit = HANDLES_FOUND_MAX },
        row, listed, finding);
}

/* --- the request that made the call gets its result --- */

struct collecting {
    struct mcp_server *server;
    void (*done)(void *data, nod_status status);
    void *data;
};

static void collect_done(void *data, nod_status status)
{
    struct collecting *collecting = data;

    collecting->done(collecting->data, status);
    mem_free(collecting);
}

static void collect_found(void *data, nod_status status, const struct handle *handles, size_t count)
{
    struct collecting *collecting = data;

    if (status != NOD_OK || !count || handles[0].collected_ms) {
        collect_done(collecting, status);
        return;
    }
    struct id by = id_of(handle_call(&handles[0]));
    handle_hand_out(collecting->server, &handles[0], &by, STR_NONE, collect_done, collecting);
}

void handle_collect(struct mcp_server *server, const char *key,
                    void (*done)(void *data, nod_status status), void *data)
{
    struct collecting *collecting = MEM_NEW(struct collecting);

    *collecting = (struct collecting){ server, done, data };
    handles_find(server, str_of(key), collect_found, collecting);
}

static void collect_first_done(void *data, nod_status status)
{
    struct comer *comer = data;

    if (!comer->ops->there(comer))
        comer->ops->done(comer, &(struct back){ .as = BACK_LEFT });
    else if (status != NOD_OK)
        comer->ops->done(comer, &(struct back){ .as = BACK_UNREAD, .status = NOD_E_STORE });
    else
        engine_return(comer->engine, comer);
}

bool handle_collect_first(struct mcp_server *server, struct comer *comer,
                          const struct call_record *record, bool *marked)
{
    char key[HANDLE_KEY_LEN + 1];

    if (*marked || record->kind != TARGET_TOOL || record->state != CALL_STORED_FINISHED)
        return false;
    *marked = true;
    handle_key(record->principal, record->target, record->args, record->id, key);
    handle_collect(server, key, collect_first_done, comer);
    return true;
}
