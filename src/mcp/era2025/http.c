/*
 * mcp/era2025/http: Streamable HTTP of the 2025 era.
 *
 * POST brings one message (in 2025-03-26 perhaps an array), GET opens or resumes a stream, DELETE
 * ends the session. A notification or a response is answered with 202, when what it says is stored.
 * A request is answered with JSON if there is nothing to send but its result, otherwise with
 * server-sent events (mcp/era2025/stream).
 *
 * A session begins with initialize, and from then on the Mcp-Session-Id header names it. If the id
 * is unknown, has ended or belongs to another principal, the answer is 404, and the client begins
 * anew.
 */
#include <stdio.h>

#include "base/mem.h"
#include "mcp/era2025/ask.h"
#include "mcp/era2025/caller.h"
#include "mcp/era2025/http.h"
#include "mcp/wire/headers.h"
#include "mcp/era2025/methods.h"
#include "mcp/era2025/resume.h"
#include "mcp/era2025/session_store.h"
#include "mcp/shared/shares.h"
#include "mcp/shared/work.h"

/* --- replies --- */

static void reply_json(struct http_exchange *exchange, int status, struct str body,
                       const struct session *begun)
{
    struct http_header headers[2] = { { STR("Content-Type"), STR("application/json") } };
    size_t count = 1;

    if (begun)
        headers[count++] = (struct http_header){ STR(HEADER_SESSION), id_str(&begun->id) };
    http_reply(exchange, status, headers, count, body);
}

/* --- POST --- */

/* A session's id is given out only when any node can find the session. */
struct beginning {
    struct http_exchange *exchange; /* NULL: the client has gone */
    struct buf reply;
};

static void beginner_gone(void *data)
{
    struct beginning *beginning = data;

    beginning->exchange = NULL;
}

static void session_kept(void *data, struct session *session, nod_status status)
{
    struct beginning *beginning = data;

    if (beginning->exchange && session && status == NOD_OK)
        reply_json(beginning->exchange, 200, buf_str(&beginning->reply), session);
    else if (beginning->exchange)
        endpoint_error(beginning->exchange, 503, RPC_INTERNAL_ERROR,
                       "The session could not be stored, so it was not begun; try again later.");
    if (session && (status != NOD_OK || !beginning->exchange))
        session_end(session, STR("nobody was told of it"));
    buf_finish(&beginning->reply);
    mem_free(beginning);
}

void endpoint_too_many_sessions(struct mcp_server *server, struct http_exchange *exchange,
                                struct str principal)
{
    char why[SHARES_SENTENCE_MAX];

    if (shares_full(server, principal, MCP_SHARE_SESSIONS, 1))
        endpoint_error(exchange, 429, RPC_INTERNAL_ERROR,
                       shares_sentence(server, MCP_SHARE_SESSIONS, why));
    else
        endpoint_error(exchange, 503, RPC_INTERNAL_ERROR,
                       "There are 20000 sessions, as many as there may be; try again later.");
    _Static_assert(MCP_SESSIONS_MAX == 20000, "as the message says");
}

static void post_initialize(struct mcp_server *server, struct http_exchange *exchange,
                            const struct rpc_message *message, struct visitor who)
{
    struct session *session = session_create(server, who.principal);

    if (!session) {
        endpoint_too_many_sessions(server, exchange, who.principal);
        return;
    }
    struct request request = { .server = server,
                               .session = session,
                               .roles = who.roles,
                               .id = message->id,
                               .params = message->params,
                               .exchange = exchange };
    era2025_request(&request, message->method);
    if (!request.failed && server_survives(server)) {
        struct beginning *beginning = MEM_NEW(struct beginning);
        buf_init(&beginning->reply, MCP_MESSAGE_MAX);
        buf_add(&beginning->reply, buf_str(&server->out));
        buf_clear(&server->out);
        beginning->exchange = exchange;
        http_on_gone(exchange, beginner_gone, beginning);
        session_keep(session, session_kept, beginning);
        return;
    }
    reply_json(exchange, 200, buf_str(&server->out), request.failed ? NULL : session);
    buf_clear(&server->out);
    if (request.failed)
        session_end(session, STR("initialize failed"));
}

static void post_request(struct session *session, struct http_exchange *exchange,
                         const struct http_request *http, struct visitor who,
                         const struct rpc_message *message)
{
    struct mcp_server *server = session->server;
    struct request request = { .server = server,
                               .session = session,
                               .id = message->id,
                               .params = message->params,
                               .principal = who.principal,
                               .roles = who.roles,
                               .post = http,
                               .exchange = exchange };

    era2025_request(&request, message->method);
    if (request.later)
        return;
    http_reply_json(exchange, request.status ? request.status : 200, buf_str(&server->out));
    buf_clear(&server->out);
}

/* The question had ended before. A client that sent the same answer twice is not told so. */
static bool is_too_late(const struct answer_result *result)
{
    return result->status == NOD_E_STALE && !result->pending && !result->same;
}

static void reply_too_late(struct http_exchange *exchange, enum ask_state state)
{
    char text[128];

    snprintf(text, sizeof(text),
             "This question has ended already (" STR_FMT "); the answer does "
             "not count.",
             STR_ARG(ask_state_name(state)));
    endpoint_error(exchange, 409, RPC_INVALID_REQUEST, text);
}

static void reply_not_stored(struct http_exchange *exchange)
{
    endpoint_error(exchange, 503, RPC_INTERNAL_ERROR,
                   "The answer could not be stored; send it again.");
}

/* What was acknowledged is never lost: 202 is sent when an answer, or a cancel, is stored. */
struct accepting {
    struct http_exchange *exchange; /* NULL: the client has gone */
    bool survives;                  /* the store does: the client may have answered before */
    size_t left;                    /* notifications on their way to the store */
    bool away;                      /* the store did not take one of them */
};

static void accepting_gone(void *data)
{
    struct accepting *accepting = data;

    accepting->exchange = NULL;
}

static struct accepting *accepting_new(struct mcp_server *server, struct http_exchange *exchange)
{
    struct accepting *accepting = MEM_NEW(struct accepting);

    accepting->survives = server_survives(server);
    accepting->exchange = exchange;
    accepting->left = 1;
    http_on_gone(exchange, accepting_gone, accepting);
    return accepting;
}

static void notified(void *data, nod_status status)
{
    struct accepting *accepting = data;
    struct http_exchange *exchange = accepting->exchange;

    accepting->away |= status == NOD_E_STORE;
    if (--accepting->left > 0)
        return;
    if (exchange && accepting->away)
        endpoint_error(exchange, 503, RPC_INTERNAL_ERROR,
                       "The cancellation could not be stored; send it again.");
    else if (exchange)
        http_reply(exchange, 202, NULL, 0, STR_NONE);
    mem_free(accepting);
}

/* One message of an array. Its response, if any, goes out on the stream; without one, `accepting`
 * waits for what it says. */
static void batch_message(struct session *session, role_set roles, struct mcp_stream *stream,
                          struct accepting *accepting, nod_status status,
                          const struct rpc_message *message, const struct rpc_fault *fault)
{
    struct mcp_server *server = session->server;
    struct request request = { .server = server,
                               .session = session,
                               .roles = roles,
                               .id = message->id,
                               .params = message->params,
                               .stream = stream };

    if (status == NOD_OK && message->kind == RPC_NOTIFICATION) {
        if (accepting)
            accepting->left++;
        era2025_notification(session, message, accepting ? notified : NULL, accepting);
        return;
    }
    if (status == NOD_OK && message->kind != RPC_REQUEST)
        return; /* an answer, which is stored by now */
    if (status != NOD_OK && rpc_is_broken_error(message, fault)) {
        era2025_response(session, roles, message, NULL, NULL);
        return;
    }
    if (status != NOD_OK) {
        if (fault->response)
            return;
        buf_clear(&server->out);
        rpc_write_fault(&server->out, fault);
    } else {
        era2025_request(&request, message->method);
        if (request.later)
            return;
    }
    mcp_stream_await(stream);
    mcp_stream_respond(stream, buf_str(&server->out));
    buf_clear(&server->out);
}

static bool needs_stream(const struct json *array)
{
    JSON_EACH (item, array)
        if (json_get(item, STR("id")) && json_get(item, STR("method")))
            return true;
        else if (!json_get(item, STR("method")) && !json_get(item, STR("result")) &&
                 !json_get(item, STR("error")))
            return true; /* neither of them: it will be answered with an error */
    return false;
}

static bool has_answers(const struct json *array)
{
    JSON_EACH (item, array)
        if (!json_get(item, STR("method")) &&
            (json_get(item, STR("result")) || json_get(item, STR("error"))))
            return true;
    return false;
}

/* The rest of an array, when its answers are stored. */
static void batch_rest(struct session *session, role_set roles, struct http_exchange *exchange,
                       const struct json *array)
{
    struct mcp_server *server = session->server;
    struct rpc_batch batch;
    struct rpc_fault fault;
    struct rpc_message message;
    nod_status status;

    if (rpc_batch_of(array, &batch, &fault) != NOD_OK) {
        endpoint_fault(server, exchange, &fault);
        return;
    }
    struct mcp_stream *stream =
        needs_stream(array) ? mcp_stream_held(session, exchange, true) : NULL;
    struct accepting *accepting = stream ? NULL : accepting_new(server, exchange);
    if (stream)
        mcp_stream_await(stream); /* until all messages have been looked at */
    while (rpc_batch_next(&batch, &server->message, &message, &fault, &status))
        if (stream || status == NOD_OK || rpc_is_broken_error(&message, &fault))
            batch_message(session, roles, stream, accepting, status, &message, &fault);
    if (stream)
        mcp_stream_skip(stream);
    else
        notified(accepting, NOD_OK);
}

/*
 * The answers in an array come first. The client is told nothing, neither 202 nor the first byte of
 * a stream, before they are stored.
 */
struct batch_answers {
    struct server_work work;        /* first */
    struct http_exchange *exchange; /* NULL: the client has gone */
    const struct http_request *http;
    struct visitor who;
    struct id session;
    size_t left; /* answers on their way to the store, plus one while they are being sent */
    bool away;   /* the store did not take one of them */
    bool late;   /* one was too late */
    enum ask_state state; /* how the question of that one had ended */
};

static void batcher_gone(void *data)
{
    struct batch_answers *answers = data;

    answers->exchange = NULL;
}

static void batch_answered(void *data)
{
    struct batch_answers *answers = data;
    struct mcp_server *server = answers->work.server;
    struct http_exchange *exchange = server ? answers->exchange : NULL;
    struct session *session = exchange ? session_here(server, id_str(&answers->session)) : NULL;

    if (exchange)
        http_on_gone(exchange, NULL, NULL);
    if (exchange && answers->away) {
        reply_not_stored(exchange);
    } else if (exchange &&
               !session) { /* the session has left this node; the same answers count once */
        endpoint_again(server, exchange, answers->http, answers->who);
    } else if (exchange) {
        arena_reset(&server->message);
        const struct json *array = json_parse(
            &server->message, arena_str(&server->message, answers->http->body), NULL, NULL);
        if (answers->late && !needs_stream(array))
            reply_too_late(exchange, answers->state);
        else
            batch_rest(session, answers->who.roles, exchange, array);
    }
    server_work_done(&answers->work);
    mem_free(answers);
}

static void batch_answer_over(struct batch_answers *answers)
{
    if (--answers->left > 0)
        return;
    if (answers->work.server) /* when the stack is clear, because requests may follow */
        loop_defer(answers->work.server->opts.loop, batch_answered, answers);
    else
        batch_answered(answers);
}

static void batch_answer_stored(void *data, const struct answer_result *result)
{
    struct batch_answers *answers = data;

    answers->away |= result->status == NOD_E_STORE;
    if (is_too_late(result)) {
        answers->late = true;
        answers->state = result->state;
    }
    batch_answer_over(answers);
}

static void post_batch(struct session *session, struct http_exchange *exchange,
                       const struct http_request *http, struct visitor who,
                       const struct json *array)
{
    struct mcp_server *server = session->server;
    struct rpc_message message;
    struct rpc_batch batch;
    struct rpc_fault fault;
    nod_status status;

    if (rpc_batch_of(array, &batch, &fault) != NOD_OK || !has_answers(array)) {
        batch_rest(session, who.roles, exchange, array);
        return;
    }
    struct batch_answers *answers = MEM_NEW(struct batch_answers);
    answers->exchange = exchange;
    answers->http = http;
    answers->who = who;
    answers->session = session->id;
    answers->left = 1;
    http_on_gone(exchange, batcher_gone, answers);
    server_work_add(server, &answers->work);
    while (rpc_batch_next(&batch, &server->message, &message, &fault, &status)) {
        if (status != NOD_OK || (message.kind != RPC_RESULT && message.kind != RPC_ERROR))
            continue;
        answers->left++;
        era2025_response(session, who.roles, &message, batch_answer_stored, answers);
    }
    batch_answer_over(answers);
}

void endpoint_no_session(struct http_exchange *exchange)
{
    endpoint_error(exchange, 404, RPC_INVALID_REQUEST,
                   "There is no such session, or it has ended; begin a new one with initialize.");
}

/* The session of a request that must have one. NULL: a reply was sent, or the session is looked
 * up. */
static struct session *find_session(struct mcp_server *server, struct http_exchange *exchange,
                                    const struct http_request *http, struct visitor who)
{
    struct str id = http_named(http, HTTP_NAME_MCP_SESSION_ID);
    struct session *session;

    if (id.len == 0) {
        endpoint_error(exchange, 400, RPC_INVALID_REQUEST,
                       "The Mcp-Session-Id header is missing; begin with initialize, and send the "
                       "id that its response carries.");
        return NULL;
    }
    session = session_find(server, id, who.principal);
    if (server_survives(server) && id.len == ID_LEN && (!session || !session_is_fresh(session))) {
        resume2025_session(server, exchange, http, who, id);
        return NULL;
    }
    if (!session) {
        endpoint_no_session(exchange);
        return NULL;
    }
    session_touch(session);
    session_refresh(session, false);
    return session;
}

static void answer_stored(void *data, const struct answer_result *result)
{
    struct accepting *accepting = data;
    struct http_exchange *exchange = accepting->exchange;

    if (exchange && result->status == NOD_E_STORE)
        reply_not_stored(exchange);
    else if (exchange && result->unheard)
        endpoint_error(exchange, 403, RPC_INVALID_REQUEST, result->unheard);
    else if (exchange && accepting->survives && is_too_late(result))
        reply_too_late(exchange, result->state);
    else if (exchange)
        http_reply(exchange, 202, NULL, 0, STR_NONE);
    mem_free(accepting);
}

static void post_message(struct mcp_server *server, struct http_exchange *exchange,
                         const struct http_request *http, struct visitor who,
                         const struct rpc_message *message)
{
    if (message->kind == RPC_REQUEST && str_eq(message->method, STR("initialize")) &&
        !http_named(http, HTTP_NAME_MCP_SESSION_ID).len) {
        post_initialize(server, exchange, message, who);
        return;
    }
    struct session *session = find_session(server, exchange, http, who);
    if (!session)
        return;
    if (message->kind == RPC_REQUEST) {
        post_request(session, exchange, http, who, message);
        return;
    }
    struct accepting *accepting = accepting_new(server, exchange);
    if (message->kind == RPC_NOTIFICATION)
        era2025_notification(session, message, notified, accepting);
    else
        era2025_response(session, who.roles, message, answer_stored, accepting);
}

static void post_array(struct mcp_server *server, struct http_exchange *exchange,
                       const struct http_request *http, struct visitor who,
                       const struct json *array)
{
    struct session *session = find_session(server, exchange, http, who);

    if (!session)
        return;
    if (session_knows(session)->batches)
        post_batch(session, exchange, http, who, array);
    else
        endpoint_error(exchange, 400, RPC_INVALID_REQUEST,
                       "Arrays of messages belong to revision 2025-03-26; send one message.");
}

void era2025_post(struct mcp_server *server, struct http_exchange *exchange,
                  const struct http_request *http, struct visitor who, const struct json *array,
                  const struct rpc_message *message)
{
    if (message)
        post_message(server, exchange, http, who, message);
    else
        post_array(server, exchange, http, who, array);
}

void era2025_broken_error(struct mcp_server *server, struct http_exchange *exchange,
                          const struct http_request *http, struct visitor who,
                          const struct rpc_message *message, const struct rpc_fault *fault)
{
    struct session *session = http_named(http, HTTP_NAME_MCP_SESSION_ID).len
                                  ? find_session(server, exchange, http, who)
                                  : NULL;

    if (session)
        era2025_response(session, who.roles, message, NULL, NULL);
    if (session || !http_named(http, HTTP_NAME_MCP_SESSION_ID).len)
        endpoint_fault(server, exchange, fault);
}

/* --- GET, DELETE --- */

/* The client, and its call, may have been on another node in the meantime. */
static void resume_here(struct mcp_stream *stream, struct http_exchange *exchange, role_set roles,
                        uint32_t seq)
{
    struct session *session = stream->session;

    session_came_back(stream->session, stream, roles);
    LIST_EACH (at, &session->call_list) {
        struct caller2025 *held = LIST_OF(at, struct caller2025, link);
        if (held->stream == stream)
            client_surface_forget_ended(held);
    }
    mcp_stream_resume(stream, exchange, seq);
    caller2025_taken_up(session, stream);
    if (!stream->of_call || !engine_store(session->server->opts.engine)->ops->shared)
        return;
    LIST_EACH (at, &session->call_list) {
        struct caller2025 *held = LIST_OF(at, struct caller2025, link);
        if (held->stream == stream && held->caller.call) {
            call_wake(held->caller.call);
            return;
        }
    }
}

static void stand(struct session *session, struct http_exchange *exchange)
{
    struct mcp_server *server = session->server;
    char why[SHARES_SENTENCE_MAX];

    if (!mcp_stream_standing(session, exchange))
        endpoint_error(exchange, 429, RPC_INTERNAL_ERROR,
                       shares_sentence(server, MCP_SHARE_LISTENERS, why));
}

static void handle_get(struct mcp_server *server, struct http_exchange *exchange,
                       const struct http_request *http, struct visitor who)
{
    struct str last = http_named(http, HTTP_NAME_LAST_EVENT_ID), name = STR_NONE;
    uint32_t seq;

    if (!endpoint_accepts(http, STR("text"), STR("event-stream"))) {
        endpoint_error(exchange, 406, RPC_INVALID_REQUEST, "Accept must list text/event-stream.");
        return;
    }
    struct session *session = find_session(server, exchange, http, who);
    if (!session)
        return;
    if (last.len == 0) {
        stand(session, exchange);
        return;
    }
    struct mcp_stream *stream =
        mcp_event_id_read(last, &name, &seq) ? mcp_stream_find(session, name, seq) : NULL;
    if (stream)
        resume_here(stream, exchange, who.roles, seq);
    else if (server_survives(server) && mcp_stream_name_is_standing(name))
        stand(session, exchange);
    else if (server_survives(server) && name.len == ID_LEN)
        resume2025_stream(session, exchange, who, name, seq);
    else
        endpoint_error(exchange, 400, RPC_INVALID_REQUEST,
                       "This Last-Event-ID belongs to no stream of the session that is still "
                       "kept; send the request again.");
}

/* A client ends its session: first its calls are cancelled, wherever they wait, then its record
 * goes. */
struct deleting {
    struct accepting accepting; /* first */
    struct id session;
};

static void session_erased(void *data, nod_status status)
{
    struct deleting *deleting = data;
    struct http_exchange *exchange = deleting->accepting.exchange;

    if (exchange && status == NOD_E_STORE)
        endpoint_error(exchange, 503, RPC_INTERNAL_ERROR,
                       "The session could not be ended everywhere; try again later.");
    else if (exchange)
        http_reply(exchange, 204, NULL, 0, STR_NONE);
    mem_free(deleting);
}

static void session_calls_cancelled(void *data, struct mcp_server *server, nod_status status)
{
    struct deleting *deleting = data;

    if (server && status == NOD_OK)
        session_erase(server, id_str(&deleting->session), session_erased, deleting);
    else
        session_erased(deleting, NOD_E_STORE);
}

static void handle_delete(struct mcp_server *server, struct http_exchange *exchange,
                          const struct http_request *http, struct visitor who)
{
    struct session *session = find_session(server, exchange, http, who);
    struct str why = STR("the client has ended the session");

    if (!session)
        return;
    grants_end_session(server->opts.engine, session_principal(session), session_scope(session));
    if (server_survives(server)) {
        struct deleting *deleting = MEM_NEW(struct deleting);
        deleting->accepting.exchange = exchange;
        deleting->session = session->id;
        http_on_gone(exchange, accepting_gone, &deleting->accepting);
        session_calls_cancel(session, why, session_calls_cancelled, deleting);
    } else {
        http_reply(exchange, 204, NULL, 0, STR_NONE);
    }
    session_end(session, why);
}

void era2025_http(struct mcp_server *server, struct http_exchange *exchange,
                  const struct http_request *http, struct visitor who)
{
    if (str_eq(http->method, STR("GET")))
        handle_get(server, exchange, http, who);
    else if (str_eq(http->method, STR("DELETE")))
        handle_delete(server, exchange, http, who);
    else
        endpoint_not_allowed(exchange, STR("GET, POST, DELETE"));
}
