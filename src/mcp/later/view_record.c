/*
 * mcp/later/view_record: the records of questions that are offered to views, as JSON.
 *
 * A key is a digest of the principal and the id of the ask. So a principal's questions are listed
 * by their prefix, on every node, and nobody finds those of another. The nonce is the id and a
 * secret that is in this record alone: whoever knows a question from elsewhere, such as the inbox,
 * cannot answer it here. It is given to whoever is of the chat whose call it is, or shows the
 * handle of that call, which the chat was given with its pending result (view_is_own).
 */
#include "base/mem.h"
#include "core/json_digest.h"
#include "mcp/later/pending.h"
#include "mcp/later/view_inside.h"

enum {
    VIEW_VERSION = 1,
    VIEW_RECORD_MAX = 4096,    /* bytes of a record */
    VIEW_ARENA_MAX = 64 << 10, /* memory of one while it is read */
};

void view_owner(struct str principal, char out[VIEW_OWNER_LEN + 1])
{
    enum { BYTES = 16 };
    struct str parts[] = { STR("view"), principal };
    struct digest whole;

    digest_of_parts(parts, sizeof(parts) / sizeof(parts[0]), &whole);
    base64url_encode(str_n((const char *)whole.bytes, BYTES), out);
    out[VIEW_OWNER_LEN] = '\0';
}

void view_key(struct str principal, struct str ask_id, char out[VIEW_KEY_LEN + 1])
{
    view_owner(principal, out);
    memset(out + VIEW_OWNER_LEN, '-', ID_LEN);
    memcpy(out + VIEW_OWNER_LEN, ask_id.at, ask_id.len < ID_LEN ? ask_id.len : ID_LEN);
    out[VIEW_KEY_LEN] = '\0';
}

struct str view_ask_id(const struct view_record *record)
{
    return str_n(record->key + VIEW_OWNER_LEN, ID_LEN);
}

bool view_nonce_is(const struct view_record *record, struct str nonce)
{
    return secret_eq(nonce, str_n(record->nonce, VIEW_NONCE_LEN));
}

/* --- whose it is --- */

void view_chat(const struct views *views, const struct call *call, struct str principal,
               char out[VIEW_CHAT_LEN + 1])
{
    enum { BYTES = 16 };
    bool session = !str_eq(call_scope(call), principal);
    struct str parts[] = { session ? STR("session") : STR("pipe"),
                           session ? call_scope(call) : id_str(&views->server->pending->self) };
    struct digest whole;

    memset(out, '\0', VIEW_CHAT_LEN + 1);
    if (!session && views->server->front)
        return;
    digest_of_parts(parts, sizeof(parts) / sizeof(parts[0]), &whole);
    base64url_encode(str_n((const char *)whole.bytes, BYTES), out);
}

bool view_is_own(const struct view_record *record, const char *chat, struct str call_id)
{
    return (chat[0] && secret_eq(str_of(chat), str_of(record->chat))) ||
           secret_eq(call_id, id_str(&record->call));
}

void view_args(const struct json *args, char out[VIEW_ARGS_LEN + 1])
{
    enum { BYTES = 16 };
    struct digest whole;

    memset(out, '\0', VIEW_ARGS_LEN + 1);
    if (digest_of_json(args, &whole) == NOD_OK)
        base64url_encode(str_n((const char *)whole.bytes, BYTES), out);
}

/* --- reading --- */

bool view_record_read(struct arena *arena, struct str key, struct str value, uint64_t version,
                      struct view_record *out)
{
    const struct json *record = json_parse(arena, arena_str(arena, value), NULL, NULL);
    struct str nonce = json_get_str(record, STR("nonce"));
    struct str call = json_get_str(record, STR("call"));
    struct str args = json_get_str(record, STR("arguments"));
    struct str chat = json_get_str(record, STR("chat"));
    int64_t written;

    *out = (struct view_record){ .version = version };
    if (key.len != VIEW_KEY_LEN || nonce.len != VIEW_NONCE_LEN || call.len != ID_LEN ||
        !json_i64(json_get(record, STR("version")), &written) || written != VIEW_VERSION)
        return false;
    memcpy(out->key, key.at, VIEW_KEY_LEN);
    memcpy(out->nonce, nonce.at, VIEW_NONCE_LEN);
    out->call = id_of(call);
    if (args.len == VIEW_ARGS_LEN)
        memcpy(out->args, args.at, VIEW_ARGS_LEN);
    if (chat.len == VIEW_CHAT_LEN)
        memcpy(out->chat, chat.at, VIEW_CHAT_LEN);
    out->tool = json_get_str(record, STR("tool"));
    out->request = rpc_id_of(arena, json_get(record, STR("request")));
    json_i64(json_get(record, STR("fetched")), &out->fetched_ms);
    out->over = json_true(json_get(record, STR("over")));
    return true;
}

struct getting {
    struct server_work work; /* first */
    char key[VIEW_KEY_LEN + 1];
    view_got_fn *done;
    void *data;
};

static void got(void *data, nod_status status, const struct store_reply *reply)
{
    struct getting *getting = data;
    struct mcp_server *server = getting->work.server;
    struct view_record record;
    struct arena arena;

    server_work_done(&getting->work);
    arena_init(&arena, VIEW_ARENA_MAX);
    if (status == NOD_OK &&
        !view_record_read(&arena, str_of(getting->key), reply->value, reply->version, &record))
        status = NOD_E_NOT_FOUND;
    getting->done(server, getting->data, status, status == NOD_OK ? &record : NULL);
    arena_finish(&arena);
    mem_free(getting);
}

void view_record_get(struct mcp_server *server, const char *key, view_got_fn *done, void *data)
{
    struct store *store = engine_store(server->opts.engine);
    struct getting *getting = MEM_NEW(struct getting);

    memcpy(getting->key, key, VIEW_KEY_LEN);
    getting->done = done;
    getting->data = data;
    server_work_add(server, &getting->work);
    store->ops->get(store, VIEW_KIND, str_of(getting->key), got, getting);
}

/* --- writing --- */

struct putting {
    struct server_work work; /* first */
    view_put_fn *done;
    void *data;
};

static void put_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct putting *putting = data;
    struct mcp_server *server = putting->work.server;

    (void)reply;
    server_work_done(&putting->work);
    if (putting->done)
        putting->done(server, putting->data, status);
    mem_free(putting);
}

void view_record_put(struct mcp_server *server, const struct view_record *record, struct str whose,
                     uint64_t version, int64_t ttl_ms, view_put_fn *done, void *data)
{
    struct store *store = engine_store(server->opts.engine);
    struct putting *putting = MEM_NEW(struct putting);
    struct json_writer w;
    struct buf value;

    buf_init(&value, VIEW_RECORD_MAX);
    json_writer_init(&w, &value);
    jw_object(&w);
    jw_key_i64(&w, STR("version"), VIEW_VERSION);
    jw_key_str(&w, STR("nonce"), str_of(record->nonce));
    jw_key_str(&w, STR("call"), id_str(&record->call));
    jw_key_str(&w, STR("tool"), record->tool);
    if (record->request.len && record->request.len <= VIEW_REQUEST_ID_MAX)
        jw_key_raw(&w, STR("request"), record->request);
    if (record->args[0])
        jw_key_str(&w, STR("arguments"), str_of(record->args));
    if (record->chat[0])
        jw_key_str(&w, STR("chat"), str_of(record->chat));
    if (record->fetched_ms)
        jw_key_i64(&w, STR("fetched"), record->fetched_ms);
    if (record->over)
        jw_key_bool(&w, STR("over"), true);
    jw_end(&w);
    putting->done = done;
    putting->data = data;
    server_work_add(server, &putting->work);
    store->ops->put(store, VIEW_KIND, str_of(record->key), buf_str(&value), whose, version,
                    ttl_ms > 0 ? ttl_ms : 1, put_done, putting);
    buf_finish(&value);
}
