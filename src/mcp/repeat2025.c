/*
 * mcp/repeat2025: the same request again.
 *
 *   it is in flight here     the new connection takes the stream over, from its beginning
 *   it has ended             it gets the same response again
 *   it waits, or can be run  it is adopted, as for a client that comes back with an event id
 *   it runs elsewhere        the same: the core waits for its end, or its turn
 *   it was cancelled         an error: a client that cancels a request wants no result
 *
 * The id of a call is made from the session and the request's id. So any node knows what to look
 * for, and two nodes that get the same request at once cannot both store it: the store refuses the
 * second, which goes on with the first one's call. The id is also made from the store's id, which
 * no client knows, so that no client can choose where a call is placed in a hash table.
 *
 * A call that neither asked anything nor did a step is not stored. If its request is sent again
 * after it has ended, it is run again.
 *
 * The store is asked for such a call only if there can be one: if other nodes share the store, if
 * the session is older than this process, or if one of its calls has been stored; and not if the
 * store says at once that it has no such call.
 */
#include "mcp/repeat2025.h"

#include "base/mem.h"
#include "core/catalog.h"
#include "core/outcome.h"
#include "core/json_digest.h"
#include "mcp/attach2025.h"
#include "mcp/caller_record.h"
#include "mcp/endpoint.h"
#include "mcp/work.h"

enum {
    REPEAT_ID_BYTES = 16,        /* bytes of the digest, in a call's id */
    REPEAT_ARENA_MAX = 64 << 20, /* memory of a record while it is looked at */
};

static const char other_params[] =
    "This id was used for another request of this session before; give each request its own.";
static const char was_cancelled[] = "This request was cancelled; send it again under another id.";
static const char is_forgotten[] = "This request has ended, and its result is no longer kept; send "
                                   "it again under another id.";
static const char in_flight[] =
    "A request with this id is still being worked on; give each request its own.";

void repeat2025_call(const struct session *session, struct str request_id, struct id *out)
{
    struct store *store = engine_store(session->server->opts.engine);
    struct str parts[] = { STR("2025 request"), store->id, session_scope(session), request_id };
    struct digest digest;

    digest_of_parts(parts, sizeof(parts) / sizeof(parts[0]), &digest);
    base64url_encode(str_n((const char *)digest.bytes, REPEAT_ID_BYTES), out->text);
    out->text[ID_LEN] = '\0';
}

/* --- is it the same? --- */

void repeat2025_wish(enum target_kind kind, struct str target, struct str uri,
                     const struct json *args, struct digest *out)
{
    static const struct json nothing = { .type = JSON_OBJECT };
    char kind_text[] = { (char)('0' + (int)kind) };
    struct digest args_digest = { 0 };

    digest_of_json(args ? args : &nothing, &args_digest);
    struct str parts[] = { str_n(kind_text, 1), target, uri, digest_str(&args_digest) };
    digest_of_parts(parts, sizeof(parts) / sizeof(parts[0]), out);
}

static void wish_of_text(enum target_kind kind, struct str target, struct str uri, struct str args,
                         struct digest *out)
{
    struct arena arena;

    arena_init(&arena, REPEAT_ARENA_MAX);
    repeat2025_wish(kind, target, uri, json_parse(&arena, args, NULL, NULL), out);
    arena_finish(&arena);
}

/* --- in flight here --- */

static void again_here(struct request *request, const struct digest *wish, struct caller2025 *held)
{
    const struct call *call = held->caller.call;
    struct digest its = { 0 };

    if (held->cancelled || held->quiet) {
        reply_error(request, RPC_INVALID_REQUEST, str_of(was_cancelled));
        return;
    }
    if (held->attach)
        its = held->attach->wish;
    else if (call)
        wish_of_text(call_target(call)->kind, call_target(call)->name, call_uri(call),
                     call_args(call), &its);
    if (call && !digest_eq(wish, &its)) {
        reply_error(request, RPC_INVALID_REQUEST, str_of(other_params));
        return;
    }
    /* There is nothing to compare with, or the stream has other requests too. */
    if (!call || held->stream->array || held->stream->pipe) {
        reply_error(request, RPC_INVALID_REQUEST, str_of(in_flight));
        return;
    }
    request->later = true;
    mcp_stream_again(held->stream, request->exchange);
}

/* --- looking for it --- */

struct looking {
    struct server_work work;        /* first */
    struct http_exchange *exchange; /* NULL: the client has gone */
    const struct http_request *http;
    struct str principal; /* memory of the server, or of its tokens */
    struct id session, call;
    struct digest wish;
    bool marked; /* if a handle of the call went out, it says that the result was handed out */
    uint16_t id_len;
    uint16_t token_len;
    char text[]; /* the request's id, then the progress token, both JSON */
};

static void client_gone(void *data)
{
    struct looking *looking = data;

    looking->exchange = NULL;
}

static void refuse(struct mcp_server *server, const struct looking *looking,
                   struct http_exchange *exchange, const char *why)
{
    buf_clear(&server->out);
    rpc_write_error(&server->out, str_n(looking->text, looking->id_len), RPC_INVALID_REQUEST,
                    str_of(why), STR_NONE);
    http_reply_json(exchange, 200, buf_str(&server->out));
    buf_clear(&server->out);
}

static struct mcp_stream *stream_for(struct session *session, const struct looking *looking,
                                     struct http_exchange *exchange)
{
    struct mcp_stream *stream = mcp_stream_held(session, exchange, false);

    if (server_survives(session->server))
        mcp_stream_name(stream, &looking->call);
    return stream;
}

/* Sends the same response again. */
static void send_result(struct session *session, const struct looking *looking,
                        struct http_exchange *exchange, const struct call_record *record)
{
    struct mcp_server *server = session->server;
    struct outcome outcome;
    struct arena arena;

    arena_init(&arena, REPEAT_ARENA_MAX);
    if (record->result.len && outcome_read(&arena, record->result, &outcome) == NOD_OK) {
        struct mcp_stream *stream = stream_for(session, looking, exchange);
        mcp_stream_await(stream);
        caller2025_write(&server->out, str_n(looking->text, looking->id_len),
                         (enum revision)session->revision, caller2025_part(record->kind), &outcome);
        mcp_stream_respond(stream, buf_str(&server->out));
        buf_clear(&server->out);
    } else {
        refuse(server, looking, exchange, is_forgotten);
    }
    arena_finish(&arena);
}

static void go_on(struct session *session, const struct looking *looking,
                  struct http_exchange *exchange, const struct call_record *record)
{
    struct mcp_server *server = session->server;
    struct target *target = catalog_named(server->opts.catalog, record->kind, record->target);
    struct caller_record by = { .held = true,
                                .can = session->can,
                                .revision = session->revision,
                                .id = str_n(looking->text, looking->id_len),
                                .token =
                                    str_n(looking->text + looking->id_len, looking->token_len) };

    if (!target) {
        refuse(server, looking, exchange, "What this request calls no longer exists.");
        return;
    }
    _Static_assert(MCP_CALLS_PER_SESSION_MAX == 1024, "as the message says");
    if (session->call_count >= MCP_CALLS_PER_SESSION_MAX) {
        refuse(
            server, looking, exchange,
            "This session has 1024 requests in flight, and may have no more; wait for one to end.");
        return;
    }
    struct mcp_stream *stream = stream_for(session, looking, exchange);
    if (caller2025_back(session, stream, record, &by, target, false)) {
        if (stream->exchange && !stream->begun)
            http_release(stream->exchange);
        return;
    }
    mcp_stream_close(stream); /* another request has the call: the client will try again */
    mcp_stream_destroy(stream);
}

static void found(struct session *session, const struct looking *looking,
                  struct http_exchange *exchange, const struct call_record *record)
{
    struct mcp_server *server = session->server;
    struct digest its;

    wish_of_text(record->kind, record->target, record->uri, record->args, &its);
    bool same = str_eq(record->scope, session_scope(session)) && digest_eq(&its, &looking->wish);
    if (!same && !record->forgotten) /* of a forgotten call only the end is left */
        refuse(server, looking, exchange, other_params);
    else if (record->state == CALL_STORED_CANCELLED)
        refuse(server, looking, exchange, was_cancelled);
    else if (record->state == CALL_STORED_FINISHED)
        send_result(session, looking, exchange, record);
    else
        go_on(session, looking, exchange, record);
}

static void looked(void *data, nod_status status, const struct store_reply *reply);

static void marked(void *data, nod_status status)
{
    struct looking *looking = data;
    struct mcp_server *server = looking->work.server;

    if (server && status == NOD_OK) {
        struct store *store = engine_store(server->opts.engine);
        store->ops->load_call(store, id_str(&looking->call), looked, looking);
    } else {
        looked(looking, NOD_E_STORE, NULL);
    }
}

static void looked(void *data, nod_status status, const struct store_reply *reply)
{
    struct looking *looking = data;
    struct mcp_server *server = looking->work.server;
    struct http_exchange *exchange = server ? looking->exchange : NULL;
    char key[HANDLE_KEY_LEN + 1];

    if (exchange && !looking->marked && status == NOD_OK && handle_may_be(reply->call, key)) {
        looking->marked = true;
        handle_collect(server, key, marked, looking);
        return;
    }
    struct session *session = exchange ? session_here(server, id_str(&looking->session)) : NULL;

    if (exchange)
        http_on_gone(exchange, NULL, NULL);
    server_work_done(&looking->work);
    if (!exchange) {
        ;
    } else if (!session) { /* the session has left this node, or was ended */
        endpoint_again(server, exchange, looking->http, looking->principal);
    } else if (status == NOD_E_NOT_FOUND ||
               session_call(session, str_n(looking->text, looking->id_len))) {
        server->sessions->unknown_call = looking->call;
        endpoint_again(server, exchange, looking->http, looking->principal);
        server->sessions->unknown_call = (struct id){ 0 };
    } else if (status == NOD_OK) {
        found(session, looking, exchange, reply->call);
    } else if (status == NOD_E_STORE) {
        endpoint_error(exchange, 503, RPC_INTERNAL_ERROR,
                       "The store cannot be reached; try again later.");
    } else {
        refuse(server, looking, exchange, "The stored record of this request cannot be read.");
    }
    mem_free(looking);
}

/* Can there be a stored call of this id that is not in flight here? */
static bool may_be_stored(const struct session *session, const struct id *call_id)
{
    const struct store *store = engine_store(session->server->opts.engine);

    return (session->restored || session->stores || store->ops->shared) &&
           !(store->ops->lacks_call && store->ops->lacks_call(store, id_str(call_id)));
}

bool repeat2025_take(struct request *request, const struct caller2025_spec *spec,
                     const struct id *call_id)
{
    struct session *session = request->session;
    struct mcp_server *server = session->server;
    struct caller2025 *held = session_call(session, request->id);
    struct digest wish;

    if (!held && (!may_be_stored(session, call_id) ||
                  str_eq(id_str(&server->sessions->unknown_call), id_str(call_id))))
        return false;
    repeat2025_wish(spec->target->kind, spec->target->name, spec->uri, spec->args, &wish);
    if (held) {
        again_here(request, &wish, held);
        return true;
    }
    struct str token =
        rpc_id_of(&server->message, json_get(request->has.meta, STR("progressToken")));
    struct looking *looking = mem_zalloc(sizeof(*looking) + request->id.len + token.len);
    struct store *store = engine_store(server->opts.engine);
    looking->exchange = request->exchange;
    looking->http = request->post;
    looking->principal = request->principal;
    looking->session = session->id;
    looking->call = *call_id;
    looking->wish = wish;
    looking->id_len = (uint16_t)request->id.len;
    looking->token_len = (uint16_t)token.len;
    memcpy(looking->text, request->id.at, request->id.len);
    if (token.len)
        memcpy(looking->text + request->id.len, token.at, token.len);
    request->later = true;
    http_on_gone(request->exchange, client_gone, looking);
    server_work_add(server, &looking->work);
    store->ops->load_call(store, id_str(&looking->call), looked, looking);
    return true;
}
