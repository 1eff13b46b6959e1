/*
 * mcp/era2025/resume: going on with a session, or with a stream, from what the store has.
 *
 *   the session is not here      its record is fetched, and the request is handled again
 *   the call has finished        its response is written anew, as the only event
 *   it waits, or can be run      it is adopted; its stream goes on after what was seen
 *   it runs elsewhere            the same: the core waits for its end, or its turn
 *   it was cancelled             the stream ends: the client wanted no response
 *   it is no call                perhaps its request found a call that was made before, such as
 *                                waitForPerson: then that is waited for again (attach.h)
 *   its target is gone           it ends with an error that says so; while another node may have
 *                                the target, the stream ends and the client comes back (gone.h)
 *
 * Nothing of a stream is stored but the records of the call and its questions. So the two can never
 * disagree.
 */
#include "mcp/era2025/resume.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "core/outcome.h"
#include "mcp/era2025/attach.h"
#include "mcp/later/caller_away.h"
#include "mcp/shared/caller_record.h"
#include "mcp/era2025/http.h"
#include "mcp/shared/gone.h"
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
static const char store_away[] =
    "The store cannot be reached, and nothing was done for this request; try again later.";

/* A request that waits for the store. */
struct waiting {
    struct server_work work;        /* first */
    struct http_exchange *exchange; /* NULL: the client has gone */
    const struct http_request *http;
    struct visitor who;
    struct id session, call;
    uint32_t seq;
    bool marked; /* if a handle of the call went out, it says that the result was handed out */
    bool gone;   /* its target is gone, and its end was stored */
    bool found;  /* it is no call: the note of a request that found one was looked for */
};

static void client_gone(void *data)
{
    struct waiting *waiting = data;

    waiting->exchange = NULL;
}

static struct waiting *wait_for(struct mcp_server *server, struct http_exchange *exchange)
{
    struct waiting *waiting = MEM_NEW(struct waiting);

    waiting->exchange = exchange;
    http_on_gone(exchange, client_gone, waiting);
    server_work_add(server, &waiting->work);
    return waiting;
}

/* The wait is over. The exchange, if there is still a client to answer. */
static struct http_exchange *wait_over(struct waiting *waiting)
{
    struct http_exchange *exchange = waiting->work.server ? waiting->exchange : NULL;

    if (exchange)
        http_on_gone(exchange, NULL, NULL);
    server_work_done(&waiting->work);
    return exchange;
}

/* --- the session --- */

static void session_fetched(void *data, struct mcp_server *server, nod_status status)
{
    struct waiting *waiting = data;
    struct http_exchange *exchange = wait_over(waiting);

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
    mem_free(waiting);
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

static void send_outcome(struct session *session, const struct waiting *waiting,
                         struct http_exchange *exchange, const struct call_record *record,
                         const struct caller_record *by, const struct outcome *outcome)
{
    struct mcp_server *server = session->server;
    struct mcp_stream *stream =
        mcp_stream_back(session, exchange, id_str(&waiting->call), waiting->seq);

    mcp_stream_hands(stream, record->id);
    mcp_stream_await(stream);
    caller2025_write(&server->out, by->id, (enum revision)by->revision,
                     caller2025_part(record->kind), outcome);
    mcp_stream_respond(stream, buf_str(&server->out));
    buf_clear(&server->out);
}

/* Nothing more will come. */
static void end_at_once(struct http_exchange *exchange)
{
    sse_begin(exchange, NULL, 0);
    http_end(exchange);
}

/* There is nothing to send now: the client comes back with the id that it has. */
static void end_until_later(struct session *session, const struct waiting *waiting,
                            struct http_exchange *exchange)
{
    struct mcp_stream *stream =
        mcp_stream_back(session, exchange, id_str(&waiting->call), waiting->seq);

    mcp_stream_close(stream);
    mcp_stream_destroy(stream);
}

/* The response as the client would have got it. A client that cancelled the request wants none. */
static void send_result(struct session *session, const struct waiting *waiting,
                        struct http_exchange *exchange, const struct call_record *record,
                        const struct caller_record *by)
{
    struct outcome outcome;
    struct arena arena;

    arena_init(&arena, RESUME_ARENA_MAX);
    if (outcome_read(&arena, record->result, &outcome) != NOD_OK)
        endpoint_error(exchange, 400, RPC_INVALID_REQUEST, not_kept);
    else if (outcome.status == NOD_E_CANCELLED)
        end_at_once(exchange);
    else
        send_outcome(session, waiting, exchange, record, by, &outcome);
    arena_finish(&arena);
}

static void call_loaded(void *data, nod_status status, const struct store_reply *reply);

static void gone_stored(void *data, nod_status status)
{
    struct waiting *waiting = data;
    struct mcp_server *server = waiting->work.server;

    if (server && waiting->exchange && status != NOD_E_STORE) {
        struct store *store = engine_store(server->opts.engine);
        store->ops->load_call(store, id_str(&waiting->call), call_loaded, waiting);
        return;
    }
    struct http_exchange *exchange = wait_over(waiting);
    if (exchange)
        endpoint_error(exchange, 503, RPC_INTERNAL_ERROR, store_away);
    mem_free(waiting);
}

/* Tells the end as it is stored, when it is stored. */
static void send_gone(struct session *session, const struct waiting *waiting,
                      struct http_exchange *exchange, const struct call_record *record)
{
    struct mcp_server *server = session->server;

    if (!gone_for_good(server, record)) {
        end_until_later(session, waiting, exchange);
        return;
    }
    if (waiting->gone) {
        end_at_once(exchange);
        return;
    }
    struct waiting *again = wait_for(server, exchange);
    again->session = waiting->session;
    again->call = waiting->call;
    again->seq = waiting->seq;
    again->gone = true;
    gone_end(server, record, gone_stored, again);
}

static void go_on(struct session *session, const struct waiting *waiting,
                  struct http_exchange *exchange, const struct call_record *record,
                  const struct caller_record *by)
{
    struct mcp_server *server = session->server;
    struct target *target = catalog_named(server->opts.catalog, record->kind, record->target);

    if (!target) {
        send_gone(session, waiting, exchange, record);
        return;
    }
    struct mcp_stream *stream =
        mcp_stream_back(session, exchange, id_str(&waiting->call), waiting->seq);
    if (!caller2025_back(session, waiting->who.roles, stream, record, by, target, true)) {
        mcp_stream_close(stream); /* the client will try again */
        mcp_stream_destroy(stream);
    }
}

/* --- a request that found a call which was made before: attach.h --- */

static void note_found(struct session *session, const struct waiting *waiting,
                       struct http_exchange *exchange, struct str text)
{
    struct attach_note note;
    struct caller_record by;
    struct arena arena;
    struct id id = { 0 };

    arena_init(&arena, RESUME_ARENA_MAX);
    bool read = attach_note_read(&arena, text, &note) && caller_record_read(&arena, note.by, &by) &&
                by.held;
    if (read)
        repeat2025_call(session, by.id, &id);
    if (!read || !str_eq(id_str(&id), id_str(&waiting->call))) {
        endpoint_error(exchange, 400, RPC_INVALID_REQUEST, not_kept);
    } else if (waiting->seq == EVENT_SEQ_RESULT) {
        end_at_once(exchange);
    } else {
        struct mcp_stream *stream =
            mcp_stream_back(session, exchange, id_str(&waiting->call), waiting->seq);
        note.request = id;
        if (!caller2025_back_attached(session, waiting->who.roles, stream, &by, &note)) {
            mcp_stream_close(stream); /* the client will try again */
            mcp_stream_destroy(stream);
        }
    }
    arena_finish(&arena);
}

static void note_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct waiting *waiting = data;
    struct mcp_server *server = waiting->work.server;

    if (status != NOD_OK) {
        call_loaded(waiting, status, NULL);
        return;
    }
    struct http_exchange *exchange = wait_over(waiting);
    struct session *session = exchange ? session_here(server, id_str(&waiting->session)) : NULL;
    struct mcp_stream *stream =
        session ? mcp_stream_find(session, id_str(&waiting->call), waiting->seq) : NULL;

    if (exchange && !session)
        endpoint_error(exchange, 503, RPC_INTERNAL_ERROR, session_away);
    else if (stream) /* the client has come back twice */
        mcp_stream_resume(stream, exchange, waiting->seq);
    else if (exchange)
        note_found(session, waiting, exchange, reply->value);
    mem_free(waiting);
}

static void marked(void *data, nod_status status)
{
    struct waiting *waiting = data;
    struct mcp_server *server = waiting->work.server;

    if (server && status == NOD_OK) {
        struct store *store = engine_store(server->opts.engine);
        store->ops->load_call(store, id_str(&waiting->call), call_loaded, waiting);
    } else {
        call_loaded(waiting, NOD_E_STORE, NULL);
    }
}

static void call_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct waiting *waiting = data;
    struct mcp_server *server = waiting->work.server;
    char key[HANDLE_KEY_LEN + 1];

    if (server && waiting->exchange && !waiting->marked && status == NOD_OK &&
        waiting->seq != EVENT_SEQ_RESULT && handle_may_be(reply->call, key)) {
        waiting->marked = true;
        handle_collect(server, key, marked, waiting);
        return;
    }
    if (server && waiting->exchange && status == NOD_E_NOT_FOUND && !waiting->found) {
        struct store *store = engine_store(server->opts.engine);
        waiting->found = true;
        store->ops->get(store, ATTACH_NOTE_KIND, id_str(&waiting->call), note_loaded, waiting);
        return;
    }
    struct http_exchange *exchange = wait_over(waiting);
    struct session *session = exchange ? session_here(server, id_str(&waiting->session)) : NULL;
    const struct call_record *record = reply ? reply->call : NULL;
    struct mcp_stream *stream =
        session ? mcp_stream_find(session, id_str(&waiting->call), waiting->seq) : NULL;
    struct caller_record by;
    struct arena arena;

    arena_init(&arena, RESUME_ARENA_MAX);
    if (!exchange)
        ;
    else if (status != NOD_OK && status != NOD_E_NOT_FOUND)
        endpoint_error(exchange, 503, RPC_INTERNAL_ERROR, store_away);
    else if (!session) /* the session has left this node, and is found again later */
        endpoint_error(exchange, 503, RPC_INTERNAL_ERROR, session_away);
    else if (stream) /* the client has come back twice */
        mcp_stream_resume(stream, exchange, waiting->seq);
    else if (status != NOD_OK || !str_eq(record->scope, session_scope(session)) ||
             !caller_record_read(&arena, record->caller, &by) || !by.held)
        endpoint_error(exchange, 400, RPC_INVALID_REQUEST, not_kept);
    else if (waiting->seq == EVENT_SEQ_RESULT)
        end_at_once(exchange);
    else if (record->state == CALL_STORED_FINISHED || record->state == CALL_STORED_CANCELLED)
        send_result(session, waiting, exchange, record, &by);
    else
        go_on(session, waiting, exchange, record, &by);
    arena_finish(&arena);
    mem_free(waiting);
}

void resume2025_stream(struct session *session, struct http_exchange *exchange, struct visitor who,
                       struct str call_id, uint32_t seq)
{
    struct mcp_server *server = session->server;
    struct store *store = engine_store(server->opts.engine);
    struct waiting *waiting = wait_for(server, exchange);

    waiting->session = session->id;
    waiting->call = id_of(call_id);
    waiting->seq = seq;
    waiting->who = who;
    store->ops->load_call(store, id_str(&waiting->call), call_loaded, waiting);
}

/* --- cancelling a call that is not here --- */

enum {
    CANCEL_LOOKS = 3,     /* looks at the store, for a call that may be on its way there */
    CANCEL_LOOK_MS = 500, /* between two of them */
};

struct cancelling {
    struct server_work work; /* first */
    struct timer timer;
    int looks;
    char *why;
    struct id call;
};

static void cancelling_free(struct cancelling *cancelling)
{
    server_work_done(&cancelling->work);
    mem_free(cancelling->why);
    mem_free(cancelling);
}

static void cancelling_drop(struct server_work *work)
{
    struct cancelling *cancelling = (struct cancelling *)(void *)work;

    timer_stop(work->server->opts.loop, &cancelling->timer);
    cancelling_free(cancelling);
}

static void cancel_look(void *data);

static void cancel_looked(void *data, nod_status status, const struct store_reply *reply)
{
    struct cancelling *cancelling = data;
    struct mcp_server *server = cancelling->work.server;

    (void)reply;
    if (server && status == NOD_E_NOT_FOUND && ++cancelling->looks < CANCEL_LOOKS) {
        cancelling->work.drop = cancelling_drop;
        timer_set(server->opts.loop, &cancelling->timer, CANCEL_LOOK_MS, cancel_look, cancelling);
        return;
    }
    if (server && status == NOD_OK)
        engine_cancel(server->opts.engine, id_str(&cancelling->call), str_of(cancelling->why));
    cancelling_free(cancelling);
}

static void cancel_look(void *data)
{
    struct cancelling *cancelling = data;
    struct store *store = engine_store(cancelling->work.server->opts.engine);

    cancelling->work.drop = NULL;
    store->ops->load_call(store, id_str(&cancelling->call), cancel_looked, cancelling);
}

void resume2025_cancel(struct session *session, struct str request_id, struct str why)
{
    struct cancelling *cancelling = MEM_NEW(struct cancelling);

    cancelling->why = str_dup(why);
    repeat2025_call(session, request_id, &cancelling->call);
    server_work_add(session->server, &cancelling->work);
    cancel_look(cancelling);
}
