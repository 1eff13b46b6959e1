/*
 * mcp/era2025/resume: going on with a session, or with a stream, from what the store has.
 *
 *   the session is not here      its record is fetched, and the request is handled again
 *   the call has ended           its response is written anew, as the only event
 *   it was cancelled             the stream ends: the client wanted no response
 *   it has not ended             its stream goes on after what was seen (core/comeback.h)
 *   somebody else has it here,   the stream ends, and the client comes back
 *   another node may have its
 *   target, or there is no room
 *   it is no call                perhaps its request found a call that was made before, such as
 *                                waitForPerson: then that is waited for again (attach.h)
 *
 * Nothing of a stream is stored but the records of the call and its questions. So the two can never
 * disagree.
 */
#include "mcp/era2025/resume.h"

#include "base/mem.h"
#include "core/comeback.h"
#include "mcp/era2025/attach.h"
#include "mcp/shared/caller_record.h"
#include "mcp/era2025/http.h"
#include "mcp/later/handle.h"
#include "mcp/era2025/caller.h"
#include "mcp/era2025/repeat.h"
#include "mcp/era2025/session_store.h"
#include "net/sse.h"
#include "mcp/shared/work.h"

enum { RESUME_ARENA_MAX = 64 << 20 };

static const char not_kept[] = "This Last-Event-ID belongs to no stream of the session that is "
                               "still kept; send the request again.";
static const char session_away[] = "The session is no longer served here; try again later.";
static const char not_read[] =
    "The stored record of this call cannot be read here; nothing was done for this request.";
static const char store_away[] =
    STORE_AWAY ", and nothing was done for this request; try again later.";

/* A request that waits for the store. */
struct waiting {
    struct server_work work;        /* first */
    struct queue_turn turn;         /* in server->queue, if it comes for a stream */
    struct comer comer;             /* comes for the call of the stream */
    struct http_exchange *exchange; /* NULL: the client has gone, or was answered */
    const struct http_request *http;
    struct visitor who;
    struct id session;
    uint32_t seq;
    bool marked;             /* if a handle of the call went out, it says who has the result */
    struct caller_record by; /* in the arena */
    struct caller2025 *call; /* that waits on; NULL: none does */
    struct arena arena;
};

static void waiting_free(struct waiting *waiting)
{
    if (waiting->work.server)
        queue_end(&waiting->work.server->queue, &waiting->turn);
    server_work_done(&waiting->work);
    arena_finish(&waiting->arena);
    mem_free(waiting);
}

static void waiting_left(void *data)
{
    struct waiting *waiting = data;

    waiting->exchange = NULL;
    if (queue_waits(&waiting->turn))
        waiting_free(waiting); /* nothing was begun for it */
}

static struct waiting *wait_for(struct mcp_server *server, struct http_exchange *exchange)
{
    struct waiting *waiting = MEM_NEW(struct waiting);

    waiting->exchange = exchange;
    arena_init(&waiting->arena, RESUME_ARENA_MAX);
    http_on_gone(exchange, waiting_left, waiting);
    server_work_add(server, &waiting->work);
    return waiting;
}

/* The client is answered with it now. */
static struct http_exchange *waiting_answers(struct waiting *waiting)
{
    struct http_exchange *exchange = waiting->exchange;

    http_on_gone(exchange, NULL, NULL);
    waiting->exchange = NULL;
    return exchange;
}

static void waiting_fails(struct waiting *waiting, int status, int64_t code, const char *why)
{
    endpoint_error(waiting_answers(waiting), status, code, why);
}

/* --- the session --- */

static void session_fetched(void *data, struct mcp_server *server, nod_status status)
{
    struct waiting *waiting = data;
    struct http_exchange *exchange = server && waiting->exchange ? waiting_answers(waiting) : NULL;

    if (!exchange)
        ;
    else if (status == NOD_OK)
        endpoint_again(server, exchange, waiting->http, waiting->who);
    else if (status == NOD_E_LIMIT)
        endpoint_too_many_sessions(server, exchange, waiting->who.principal);
    else if (status == NOD_E_STORE)
        endpoint_error(exchange, 503, RPC_INTERNAL_ERROR, store_away);
    else
        endpoint_no_session(exchange);
    waiting_free(waiting);
}

void resume2025_session(struct mcp_server *server, struct http_exchange *exchange,
                        const struct http_request *http, struct visitor who, struct str id)
{
    struct waiting *waiting = wait_for(server, exchange);

    waiting->http = http;
    waiting->who = who;
    session_fetch(server, id, who.principal, session_fetched, waiting);
}

/* --- the stream --- */

static struct mcp_stream *waiting_stream(struct session *session, struct waiting *waiting)
{
    return mcp_stream_back(session, waiting_answers(waiting), id_str(&waiting->comer.call),
                           waiting->seq);
}

/* Nothing more will come. */
static void end_at_once(struct waiting *waiting)
{
    struct http_exchange *exchange = waiting_answers(waiting);

    sse_begin(exchange, NULL, 0);
    http_end(exchange);
}

/* There is nothing to send now: the client comes back with the id that it has. */
static void end_until_later(struct mcp_stream *stream)
{
    mcp_stream_close(stream);
    mcp_stream_destroy(stream);
}

/* The session of the stream. NULL: the client was answered. */
static struct session *waiting_session(struct waiting *waiting)
{
    struct session *session = session_here(waiting->work.server, id_str(&waiting->session));
    struct mcp_stream *stream =
        session ? mcp_stream_find(session, id_str(&waiting->comer.call), waiting->seq) : NULL;

    if (!session) /* it has left this node, and is found again later */
        waiting_fails(waiting, 503, RPC_INTERNAL_ERROR, session_away);
    else if (stream) /* the client has come back twice */
        mcp_stream_resume(stream, waiting_answers(waiting), waiting->seq);
    return stream ? NULL : session;
}

static void waiting_refuse(struct waiting *waiting)
{
    if (waiting_session(waiting))
        waiting_fails(waiting, 400, RPC_INVALID_REQUEST, not_kept);
}

/* The response as the client would have got it. A client that cancelled the request wants none. */
static void send_result(struct session *session, struct waiting *waiting, const struct back *back)
{
    struct mcp_server *server = session->server;

    if (!back->outcome) {
        waiting_fails(waiting, 400, RPC_INVALID_REQUEST, not_kept);
    } else if (back->outcome->status == NOD_E_CANCELLED) {
        end_at_once(waiting);
    } else {
        struct mcp_stream *stream = waiting_stream(session, waiting);
        mcp_stream_hands(stream, back->record->id);
        mcp_stream_await(stream);
        caller2025_write(&server->out, waiting->by.id, (enum revision)waiting->by.revision,
                         caller2025_part(back->record->kind), back->outcome);
        mcp_stream_respond(stream, buf_str(&server->out));
        buf_clear(&server->out);
    }
}

/* --- a request that found a call which was made before: attach.h --- */

static void note_found(struct session *session, struct waiting *waiting, struct str text)
{
    struct attach_note note;
    struct id id = { 0 };
    bool read = attach_note_read(&waiting->arena, text, &note) &&
                caller_record_read(&waiting->arena, note.by, &waiting->by) && waiting->by.held;

    if (read)
        repeat2025_call(session, waiting->by.id, &id);
    if (!read || !str_eq(id_str(&id), id_str(&waiting->comer.call))) {
        waiting_fails(waiting, 400, RPC_INVALID_REQUEST, not_kept);
    } else if (waiting->seq == EVENT_SEQ_RESULT) {
        end_at_once(waiting);
    } else {
        struct mcp_stream *stream = waiting_stream(session, waiting);
        note.request = id;
        if (!caller2025_back_attached(session, waiting->who.roles, stream, &waiting->by, &note))
            end_until_later(stream);
    }
}

static void note_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct waiting *waiting = data;
    struct session *session;

    if (!waiting->work.server || !waiting->exchange)
        ;
    else if (status == NOD_E_NOT_FOUND)
        waiting_refuse(waiting);
    else if (status != NOD_OK)
        waiting_fails(waiting, 503, RPC_INTERNAL_ERROR, store_away);
    else if ((session = waiting_session(waiting)))
        note_found(session, waiting, reply->value);
    waiting_free(waiting);
}

/* --- the call of the stream --- */

static struct waiting *waiting_of(const struct comer *comer)
{
    return LIST_OF(comer, struct waiting, comer);
}

static bool waiting_there(const struct comer *comer)
{
    return waiting_of(comer)->work.server && waiting_of(comer)->exchange;
}

static enum found waiting_found(struct comer *comer, const struct call_record *record)
{
    struct waiting *waiting = waiting_of(comer);

    queue_went(&waiting->work.server->queue, true);
    struct session *session = waiting_session(waiting);

    if (session &&
        (!str_eq(record->scope, session_scope(session)) ||
         !caller_record_read(&waiting->arena, record->caller, &waiting->by) || !waiting->by.held))
        waiting_fails(waiting, 400, RPC_INVALID_REQUEST, not_kept);
    else if (session && waiting->seq == EVENT_SEQ_RESULT)
        end_at_once(waiting);
    if (waiting->exchange)
        return FOUND_IT;
    waiting_free(waiting);
    return FOUND_OTHER;
}

static bool waiting_waits(struct comer *comer, const struct call_record *record,
                          struct adopt_spec *spec)
{
    struct waiting *waiting = waiting_of(comer);
    struct session *session = session_here(waiting->work.server, id_str(&waiting->session));
    struct mcp_stream *stream = waiting_stream(session, waiting);

    waiting->call = caller2025_back(session, waiting->who.roles, stream, record->kind, &waiting->by,
                                    true, spec);
    if (!waiting->call)
        end_until_later(stream);
    return waiting->call;
}

static void waiting_back(struct comer *comer, const struct back *back)
{
    struct waiting *waiting = waiting_of(comer);
    struct mcp_server *server = waiting->work.server;
    struct session *session;

    switch (back->as) {
    case BACK_LEFT:
    case BACK_WAITS:
        break;
    case BACK_UNREAD:
        queue_went(&server->queue, back->status != NOD_E_STORE);
        waiting_fails(waiting, 503, RPC_INTERNAL_ERROR,
                      back->status == NOD_E_STORE ? store_away : not_read);
        break;
    case BACK_UNKNOWN: {
        struct store *store = engine_store(server->opts.engine);
        store->ops->get(store, ATTACH_NOTE_KIND, id_str(&comer->call), note_loaded, waiting);
        return;
    }
    case BACK_FORGOTTEN:
        waiting_refuse(waiting);
        break;
    case BACK_ENDED:
        if (handle_collect_first(server, comer, back->record, &waiting->marked))
            return;
        if ((session = waiting_session(waiting)))
            send_result(session, waiting, back);
        break;
    case BACK_BUSY: /* the client will try again */
    case BACK_FULL:
        if (waiting->call) {
            struct mcp_stream *stream = waiting->call->stream;
            caller2025_not_back(waiting->call);
            end_until_later(stream);
        }
        break;
    case BACK_TOO_SOON:
        if ((session = waiting_session(waiting)))
            end_until_later(waiting_stream(session, waiting));
        break;
    }
    waiting_free(waiting);
}

static const struct comer_ops waiting_comes = {
    .there = waiting_there, .found = waiting_found, .waits = waiting_waits, .done = waiting_back
};

static void waiting_drop(struct server_work *work)
{
    struct waiting *waiting = (struct waiting *)(void *)work;

    queue_end(&work->server->queue, &waiting->turn);
    work->server = NULL;
    waiting_free(waiting);
}

static void waiting_turn(struct queue_turn *turn)
{
    struct waiting *waiting = LIST_OF(turn, struct waiting, turn);

    waiting->work.drop = NULL; /* the engine tells it */
    engine_return(waiting->work.server->opts.engine, &waiting->comer);
}

void resume2025_stream(struct session *session, struct http_exchange *exchange, struct visitor who,
                       struct str call_id, uint32_t seq)
{
    struct mcp_server *server = session->server;
    struct waiting *waiting = wait_for(server, exchange);

    waiting->session = session->id;
    waiting->seq = seq;
    waiting->who = who;
    waiting->comer =
        (struct comer){ .ops = &waiting_comes, .call = id_of(call_id), .principal = who.principal };
    waiting->work.drop = waiting_drop;
    queue_wait(&server->queue, &waiting->turn, who.principal, waiting_turn);
}

/* --- cancelling a call that is not here --- */

struct cancelling {
    struct server_work work; /* first */
    char *why, *principal, *scope;
    struct id call;
    void (*done)(void *data, nod_status status); /* NULL: nobody waits, or it is told by the core */
    void *data;
};

static void cancelling_free(struct cancelling *cancelling, nod_status status)
{
    if (cancelling->done)
        cancelling->done(cancelling->data, status);
    server_work_done(&cancelling->work);
    mem_free(cancelling->why);
    mem_free(cancelling->principal);
    mem_free(cancelling->scope);
    mem_free(cancelling);
}

/* A request that had its pending result has ended, and its cancel comes too late. One that the
 * store does not know is perhaps worked on by another node, and has asked nothing yet. */
static void cancel_handles(void *data, nod_status status, const struct handle *handles,
                           size_t count)
{
    struct cancelling *cancelling = data;
    struct mcp_server *server = cancelling->work.server;

    (void)handles;
    if (server && status == NOD_OK && !count) {
        struct engine *engine = server->opts.engine;
        bool shared = engine_store(engine)->ops->shared;
        engine_cancel_ahead(
            engine, id_str(&cancelling->call), shared ? str_of(cancelling->principal) : STR_NONE,
            str_of(cancelling->scope), str_of(cancelling->why), cancelling->done, cancelling->data);
        cancelling->done = NULL;
    }
    cancelling_free(cancelling, server ? status : NOD_E_STORE);
}

static void cancel_looked(void *data, nod_status status, const struct store_reply *reply)
{
    struct cancelling *cancelling = data;
    struct mcp_server *server = cancelling->work.server;
    const struct call_record *call = server && status == NOD_OK ? reply->call : NULL;
    char key[HANDLE_KEY_LEN + 1];

    if (server && status == NOD_E_NOT_FOUND) {
        cancel_handles(cancelling, NOD_OK, NULL, 0);
    } else if (call && !call->forgotten) {
        handle_key(call->principal, call->target, call->args, call->id, key);
        handles_find(server, str_of(key), cancel_handles, cancelling);
    } else {
        cancelling_free(cancelling, server && status != NOD_E_STORE ? NOD_OK : NOD_E_STORE);
    }
}

void resume2025_cancel(struct session *session, struct str request_id, struct str why,
                       void (*done)(void *data, nod_status status), void *data)
{
    struct cancelling *cancelling = MEM_NEW(struct cancelling);
    struct store *store = engine_store(session->server->opts.engine);

    cancelling->why = str_dup(why);
    cancelling->principal = str_dup(session_principal(session));
    cancelling->scope = str_dup(session_scope(session));
    cancelling->done = done;
    cancelling->data = data;
    repeat2025_call(session, request_id, &cancelling->call);
    server_work_add(session->server, &cancelling->work);
    store->ops->load_call(store, id_str(&cancelling->call), cancel_looked, cancelling);
}
