/*
 * mcp/era2025/repeat: the same request again.
 *
 *   it is in flight here     the new connection takes the stream over, from its beginning. If other
 *                            nodes share the store, this one first looks whether its questions were
 *                            answered, or the call was ended, there
 *   it has ended             it gets the same response again
 *   it was cancelled         an error: a client that cancels a request wants no result
 *   it has not ended         it goes on, as for a client that comes back with an event id
 *                            (core/comeback.h); or it is to be sent again later, while another node
 *                            may have its target, or there is no room for its call
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
#include "mcp/era2025/repeat.h"

#include "base/mem.h"
#include "core/catalog.h"
#include "core/comeback.h"
#include "core/json_digest.h"
#include "mcp/era2025/ask.h"
#include "mcp/era2025/attach.h"
#include "mcp/shared/caller_record.h"
#include "mcp/shared/endpoint.h"
#include "mcp/wire/failure.h"
#include "mcp/era2025/soft.h"
#include "mcp/shared/work.h"

enum {
    REPEAT_ID_BYTES = 16,        /* bytes of the digest, in a call's id */
    REPEAT_ARENA_MAX = 64 << 20, /* memory of a record while it is looked at */
    REPEAT_LOOK_MS = 5,          /* until it is seen whether a call still waits */
    REPEAT_LOOKS = 200,          /* after so many the stream is shown as this node knows it */
};

static const char other_params[] =
    "This id was used for another request of this session before; give each request its own.";
static const char was_cancelled[] = "This request was cancelled; send it again under another id.";
static const char is_forgotten[] = "This request has ended, and its result is no longer kept; send "
                                   "it again under another id.";
static const char is_elsewhere[] =
    "What this request calls is not at this node, and its call has not ended; send the request "
    "again later.";
static const char is_full[] = "This server has as many live calls as it may have. The call of this "
                              "request has not ended, and "
                              "goes on; send the request again later.";
static const char store_away[] =
    STORE_AWAY ", so it is not known whether this request was made before, and "
               "nothing was done for it now; send it again later.";
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

void repeat2025_wish(const struct repeat_of *of, struct digest *out)
{
    bool by_uri = of->kind == TARGET_RESOURCE; /* which its name and arguments follow from */
    char kind_text[] = { (char)('0' + (int)of->kind) };
    struct digest args;

    if (of->args_digest && !by_uri)
        args = *of->args_digest;
    else
        digest_of_args(by_uri ? NULL : of->args, &args);
    struct str parts[] = { str_n(kind_text, 1), by_uri ? STR_NONE : of->target, of->uri,
                           digest_str(&args) };
    digest_of_parts(parts, sizeof(parts) / sizeof(parts[0]), out);
}

static void wish_of_text(enum target_kind kind, struct str target, struct str uri, struct str args,
                         struct digest *out)
{
    struct arena arena;

    arena_init(&arena, REPEAT_ARENA_MAX);
    repeat2025_wish(&(struct repeat_of){ .kind = kind,
                                         .target = target,
                                         .uri = uri,
                                         .args = json_parse(&arena, args, NULL, NULL) },
                    out);
    arena_finish(&arena);
}

/* What the request calls a tool, if it means the one of this path; otherwise the path. A client may
 * have another name for a tool that is gone (core/tool_name.h), so the paths themselves need not be
 * the same. */
static struct str as_called(const struct mcp_server *server, enum target_kind kind, struct str name,
                            struct str path)
{
    return kind == TARGET_TOOL && catalog_calls(server->opts.catalog, name, path) ? name : path;
}

/* --- in flight here --- */

static void again_here(struct request *request, const struct repeat_of *of, struct caller2025 *held)
{
    struct call *call = held->caller.call;
    bool ending = !call && soft2025_ends(held, of->target, of->args);
    struct digest its = { 0 }, wish;

    if (held->cancelled || held->quiet) {
        reply_error(request, RPC_INVALID_REQUEST, str_of(was_cancelled));
        return;
    }
    struct repeat_of wished = *of;
    const struct target *attached = held->attach ? held->attach->target : NULL;
    if (attached && of->kind == TARGET_TOOL &&
        catalog_calls(request->server->opts.catalog, of->target, attached->name))
        wished.target = attached->name; /* which the digest was made of */
    if (held->attach)
        its = held->attach->wish;
    else if (call)
        wish_of_text(call_target(call)->kind,
                     as_called(request->server, of->kind, of->target, call_target(call)->name),
                     call_uri(call), call_args(call), &its);
    repeat2025_wish(&wished, &wish);
    if ((call || held->attach) && !digest_eq(&wish, &its)) {
        reply_error(request, RPC_INVALID_REQUEST, str_of(other_params));
        return;
    }
    /* There is nothing to compare with, or the stream has other requests too. */
    if ((!call && !held->attach && !ending) || held->stream->array || held->stream->pipe) {
        reply_error(request, RPC_INVALID_REQUEST, str_of(in_flight));
        return;
    }
    request->later = true;
    client_surface_forget_ended(held);
    mcp_stream_again(held->stream, request->exchange);
    if (call && held->stream->of_call && mcp_stream_has_id(held->stream))
        call_handed(call); /* the client may have been lost before it was given an id */
}

/* --- looking for it --- */

struct looking {
    struct server_work work;        /* first */
    struct comer comer;             /* comes for the call */
    struct http_exchange *exchange; /* NULL: the client has gone, or was answered */
    const struct http_request *http;
    struct visitor who;
    struct id session;
    enum target_kind kind;
    struct digest wish;
    bool marked;             /* if a handle of the call went out, it says who has the result */
    struct caller2025 *call; /* that waits on; NULL: none does */
    struct timer timer;
    int looks; /* at whether the call still waits as this node knows it */
    uint16_t id_len;
    uint16_t token_len;
    size_t name_len;
    char text[]; /* the request's id, then the progress token, both JSON; then what it calls */
};

static void looking_left(void *data)
{
    struct looking *looking = data;

    looking->exchange = NULL;
}

/* The client is answered with it now. */
static struct http_exchange *looking_answers(struct looking *looking)
{
    struct http_exchange *exchange = looking->exchange;

    http_on_gone(exchange, NULL, NULL);
    looking->exchange = NULL;
    return exchange;
}

static void looking_free(struct looking *looking)
{
    server_work_done(&looking->work);
    mem_free(looking);
}

static void refuse_with(struct looking *looking, struct str why, struct str data)
{
    struct buf *out = &looking->work.server->out;

    buf_clear(out);
    rpc_write_error(out, str_n(looking->text, looking->id_len), RPC_INVALID_REQUEST, why, data);
    http_reply_json(looking_answers(looking), 200, buf_str(out));
    buf_clear(out);
}

static void refuse(struct looking *looking, const char *why)
{
    refuse_with(looking, str_of(why), STR_NONE);
}

/* It was cancelled, and may have done steps before: these are named. */
static void refuse_cancelled(struct looking *looking, const struct call_record *record)
{
    struct arena arena;
    struct buf data;
    struct json_writer w;

    arena_init(&arena, REPEAT_ARENA_MAX);
    buf_init(&data, REPEAT_ARENA_MAX);
    struct outcome outcome = outcome_withdrawn(
        &arena, &(struct so_far){ .entries = record->entries, .count = record->entry_count });
    json_writer_init(&w, &data);
    jw_object(&w);
    failure_facts2025(&w, &outcome);
    jw_end(&w);
    refuse_with(looking, outcome.message, json_writer_done(&w) ? buf_str(&data) : STR_NONE);
    buf_finish(&data);
    arena_finish(&arena);
}

static struct mcp_stream *stream_for(struct session *session, struct looking *looking)
{
    struct mcp_stream *stream = mcp_stream_held(session, looking_answers(looking), false);

    if (server_survives(session->server))
        mcp_stream_name(stream, &looking->comer.call);
    return stream;
}

/* Sends the same response again. A call that its client cancelled has none; one that was ended
 * while nobody ran it has (TOOL_GONE, HANDLER_CRASHED). */
static void send_result(struct session *session, struct looking *looking, const struct back *back)
{
    struct mcp_server *server = session->server;
    const struct call_record *record = back->record;

    if (record->state == CALL_STORED_CANCELLED &&
        (!back->outcome || back->outcome->status == NOD_E_CANCELLED)) {
        refuse_cancelled(looking, record);
    } else if (back->outcome) {
        struct mcp_stream *stream = stream_for(session, looking);
        mcp_stream_await(stream);
        caller2025_write(&server->out, str_n(looking->text, looking->id_len),
                         (enum revision)session->client.revision, caller2025_part(record->kind),
                         back->outcome);
        mcp_stream_hands(stream, record->id);
        mcp_stream_respond(stream, buf_str(&server->out));
        buf_clear(&server->out);
    } else {
        refuse(looking, is_forgotten);
    }
}

/* The request is handled as if it had just come. `known`: it is not looked for a second time. */
static void looking_again(struct looking *looking, bool known)
{
    struct mcp_server *server = looking->work.server;

    if (known)
        server->sessions->unknown_call = looking->comer.call;
    endpoint_again(server, looking_answers(looking), looking->http, looking->who);
    server->sessions->unknown_call = (struct id){ 0 };
}

/* NULL: the request is handled again, because its session has left this node or was ended, or
 * because a request of its id is in flight here by now. */
static struct session *looking_session(struct looking *looking)
{
    struct session *session = session_here(looking->work.server, id_str(&looking->session));
    bool in_flight_here = session && session_call(session, str_n(looking->text, looking->id_len));

    if (session && !in_flight_here)
        return session;
    looking_again(looking, in_flight_here);
    return NULL;
}

static struct looking *looking_of(const struct comer *comer)
{
    return LIST_OF(comer, struct looking, comer);
}

static bool looking_there(const struct comer *comer)
{
    return looking_of(comer)->work.server && looking_of(comer)->exchange;
}

static enum found looking_found(struct comer *comer, const struct call_record *record)
{
    struct looking *looking = looking_of(comer);
    struct session *session = looking_session(looking);
    struct digest its;

    if (session) {
        struct str name =
            str_n(looking->text + looking->id_len + looking->token_len, looking->name_len);
        wish_of_text(record->kind, as_called(session->server, looking->kind, name, record->target),
                     record->uri, record->args, &its);
        if (str_eq(record->scope, session_scope(session)) &&
            (digest_eq(&its, &looking->wish) || call_record_is_ahead(record)))
            return FOUND_IT;
        refuse(looking, other_params);
    }
    looking_free(looking);
    return FOUND_OTHER;
}

static void looking_failed(struct looking *looking, const char *why)
{
    endpoint_error(looking_answers(looking), 503, RPC_INTERNAL_ERROR, why);
}

static bool looking_waits(struct comer *comer, const struct call_record *record,
                          struct adopt_spec *spec)
{
    struct looking *looking = looking_of(comer);
    struct session *session = session_here(looking->work.server, id_str(&looking->session));
    struct caller_record by = { .held = true,
                                .can = session->client.declares,
                                .revision = session->client.revision,
                                .id = str_n(looking->text, looking->id_len),
                                .token =
                                    str_n(looking->text + looking->id_len, looking->token_len) };

    _Static_assert(MCP_CALLS_PER_SESSION_MAX == 1024, "as the message says");
    if (session->call_count >= MCP_CALLS_PER_SESSION_MAX) {
        refuse(
            looking,
            "This session has 1024 requests in flight, and may have no more; wait for one to end.");
        return false;
    }
    if (!engine_has_room_for(session->server->opts.engine, record->id)) {
        looking_failed(looking, is_full); /* nothing has begun on its connection yet */
        return false;
    }
    struct mcp_stream *stream = stream_for(session, looking);
    looking->call =
        caller2025_back(session, looking->who.roles, stream, record->kind, &by, false, spec);
    if (stream->exchange) /* perhaps for long, and the memory of the request is not needed */
        http_release(stream->exchange);
    return looking->call;
}

static void looking_back(struct comer *comer, const struct back *back)
{
    struct looking *looking = looking_of(comer);
    struct session *session;

    switch (back->as) {
    case BACK_LEFT:
    case BACK_WAITS:
    case BACK_FULL: /* looking_waits has told the client */
        break;
    case BACK_UNREAD:
        if (back->status == NOD_E_STORE)
            looking_failed(looking, store_away);
        else
            refuse(looking, "The stored record of this request cannot be read.");
        break;
    case BACK_UNKNOWN:
        looking_again(looking, true);
        break;
    case BACK_FORGOTTEN:
        if (looking_session(looking))
            refuse(looking, is_forgotten);
        break;
    case BACK_ENDED:
        if (handle_collect_first(looking->work.server, comer, back->record, &looking->marked))
            return;
        if ((session = looking_session(looking)))
            send_result(session, looking, back);
        break;
    case BACK_BUSY: /* another request has the call: the client will try again */
        if (looking->call) {
            struct mcp_stream *stream = looking->call->stream;
            caller2025_not_back(looking->call);
            mcp_stream_begin(stream);
            mcp_stream_close(stream);
            mcp_stream_destroy(stream);
        }
        break;
    case BACK_TOO_SOON:
        looking_failed(looking, is_elsewhere);
        break;
    }
    looking_free(looking);
}

static const struct comer_ops looking_comes = {
    .there = looking_there, .found = looking_found, .waits = looking_waits, .done = looking_back
};

/* Can there be a stored call of this id that is not in flight here? */
static bool may_be_stored(const struct session *session, const struct id *call_id)
{
    const struct store *store = engine_store(session->server->opts.engine);

    return (session->restored || session->stores || store->ops->shared) &&
           !(store->ops->lacks_call && store->ops->lacks_call(store, id_str(call_id)));
}

static struct looking *looking_create(struct request *request, const struct repeat_of *of,
                                      const struct id *call_id)
{
    struct mcp_server *server = request->session->server;
    struct str token =
        rpc_id_of(&server->message, json_get(request->has.meta, STR("progressToken")));
    struct looking *looking =
        mem_zalloc(sizeof(*looking) + request->id.len + token.len + of->target.len);

    looking->http = request->post;
    looking->who = (struct visitor){ request->principal, request->roles };
    looking->session = request->session->id;
    looking->comer = (struct comer){ .ops = &looking_comes,
                                     .call = *call_id,
                                     .principal = looking->who.principal };
    looking->id_len = (uint16_t)request->id.len;
    looking->token_len = (uint16_t)token.len;
    memcpy(looking->text, request->id.at, request->id.len);
    if (token.len)
        memcpy(looking->text + request->id.len, token.at, token.len);
    looking->kind = of->kind;
    looking->name_len = of->target.len;
    if (of->target.len)
        memcpy(looking->text + request->id.len + token.len, of->target.at, of->target.len);
    request->later = true;
    looking->exchange = request->exchange;
    http_on_gone(request->exchange, looking_left, looking);
    server_work_add(server, &looking->work);
    return looking;
}

/* --- in flight here, and perhaps no longer what this node takes it for --- */

static void settling_drop(struct server_work *work)
{
    struct looking *looking = (struct looking *)(void *)work;

    timer_stop(work->server->opts.loop, &looking->timer);
    looking_free(looking);
}

static void settle_look(void *data)
{
    struct looking *looking = data;
    struct mcp_server *server = looking->work.server;
    struct http_exchange *exchange = looking->exchange;
    struct session *session = session_here(server, id_str(&looking->session));
    const struct caller2025 *held =
        session ? session_call(session, str_n(looking->text, looking->id_len)) : NULL;

    if (exchange && held && held->caller.call && call_looking(held->caller.call) &&
        ++looking->looks < REPEAT_LOOKS) {
        timer_set(server->opts.loop, &looking->timer, REPEAT_LOOK_MS, settle_look, looking);
        return;
    }
    if (exchange)
        looking_again(looking, held);
    looking_free(looking);
}

/* Its questions may have ended at another node, of which this one has not heard yet. True: that is
 * looked up, and then the request comes again. */
static bool settles_first(struct request *request, const struct repeat_of *of,
                          const struct caller2025 *held, const struct id *call_id)
{
    struct mcp_server *server = request->session->server;
    struct call *call = held->caller.call;

    if (!call || held->stream->pipe || !engine_store(server->opts.engine)->ops->shared)
        return false;
    call_wake(call);
    if (!call_looking(call))
        return false;
    struct looking *looking = looking_create(request, of, call_id);
    looking->work.drop = settling_drop;
    timer_set(server->opts.loop, &looking->timer, REPEAT_LOOK_MS, settle_look, looking);
    return true;
}

bool repeat2025_take(struct request *request, const struct repeat_of *of, const struct id *call_id)
{
    struct session *session = request->session;
    struct mcp_server *server = session->server;
    struct caller2025 *held = session_call(session, request->id);
    bool again = str_eq(id_str(&server->sessions->unknown_call), id_str(call_id));

    if (!held && (!may_be_stored(session, call_id) || again))
        return false;
    if (held && !again && settles_first(request, of, held, call_id))
        return true;
    if (held) {
        again_here(request, of, held);
        return true;
    }
    struct looking *looking = looking_create(request, of, call_id);
    repeat2025_wish(of, &looking->wish);
    engine_return(server->opts.engine, &looking->comer);
    return true;
}

bool repeat2025_gone(struct request *request, const struct wanted *wanted)
{
    struct id id = { 0 };

    if (request->stream) /* not over HTTP, or in an array */
        return false;
    repeat2025_call(request->session, request->id, &id);
    return repeat2025_take(request,
                           &(struct repeat_of){ .kind = wanted->kind,
                                                .target = wanted->name,
                                                .uri = wanted->uri,
                                                .args = wanted->args },
                           &id);
}
