/*
 * mcp/era2025/caller: a request that is held until its call has ended (era 2025).
 *
 * The client's connection may come and go. The stream handles that (mcp/era2025/stream), and it
 * never cancels the call. While the call waits for a person, the client gets a sign of life at
 * every heartbeat: a progress notification if it gave a token (the values always rise, as MCP
 * demands), otherwise a comment.
 *
 * The end of a call becomes a response here. A tool's failure is a result with isError, so that the
 * model sees it. A failure of anything else, or one that stands for a protocol error, is a JSON-RPC
 * error.
 */
#include "mcp/era2025/caller.h"

#include <math.h>

#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/era2025/attach.h"
#include "mcp/later/attach_tool.h"
#include "mcp/shared/caller_record.h"
#include "mcp/shared/live.h"
#include "mcp/wire/notice.h"
#include "mcp/later/pending.h"
#include "mcp/era2025/repeat.h"
#include "mcp/wire/failure.h"
#include "mcp/shared/shares.h"
#include "mcp/era2025/session_store.h"
#include "mcp/era2025/soft.h"
#include "mcp/era2025/stdio_orphans.h"
#include "mcp/era2025/ask.h"

enum { END_AGAIN_MS = 1000 }; /* until a store that did not say who has a result is asked again */

static const struct caller_ops caller2025_ops;
static void call_dropped(struct caller2025 *call);

struct caller2025 *caller2025_of(const struct call *call)
{
    struct caller *caller = call ? call_caller(call) : NULL;

    return caller && caller->ops == &caller2025_ops ? (struct caller2025 *)(void *)caller : NULL;
}

static struct str call_request_id(const struct caller2025 *call)
{
    return str_n(call->text, call->id_len);
}

static struct str call_token(const struct caller2025 *call)
{
    return str_n(call->text + call->id_len, call->token_len);
}

/* --- beginning --- */

static struct caller2025 *call_create(struct session *session, role_set roles, struct str id,
                                      struct str token, enum revision_part part)
{
    struct caller2025 *call = mem_zalloc(sizeof(*call) + id.len + token.len);

    call->caller.ops = &caller2025_ops;
    call->caller.client = &session->client;
    call->caller.roles = roles;
    call->session = session;
    call->began = loop_now(session->server->opts.loop);
    call->part = (uint8_t)part;
    call->id_len = (uint16_t)id.len;
    call->token_len = (uint16_t)token.len;
    memcpy(call->text, id.at, id.len);
    if (token.len)
        memcpy(call->text + call->id_len, token.at, token.len);
    return call;
}

/* From now on the stream waits for its response. */
static void call_join(struct caller2025 *call, struct mcp_stream *stream)
{
    struct session *session = call->session;

    call->stream = stream;
    mcp_stream_await(stream);
    session_add_call(session, call);
    live_call_began(session->server);
}

/* With a durable or shared store: how the client can be reached from any node. One that shows views
 * is asked there also while it is away. */
static struct str caller_record(const struct caller2025 *call)
{
    struct session *session = call->session;

    return call->stream->of_call || client_has_views(session->client.declares)
               ? caller2025_record(call, &session->server->message)
               : STR_NONE;
}

void caller2025_begin(struct caller2025 *call, const struct start_spec *spec, const struct id *id,
                      bool named)
{
    struct session *session = call->session;
    struct mcp_server *server = session->server;

    engine_call(server->opts.engine, &(struct call_spec){ .target = spec->target,
                                                          .args = spec->args,
                                                          .uri = spec->uri,
                                                          .principal = session_principal(session),
                                                          .scope = session_scope(session),
                                                          .caller_record = caller_record(call),
                                                          .client = session->client.name,
                                                          .meta = spec->meta,
                                                          .id = named ? id_str(id) : STR_NONE,
                                                          .named = named,
                                                          .keep_ms = server->opts.session_idle_ms,
                                                          .hold_steps = call->stream->of_call,
                                                          .caller = &call->caller });
}

void caller2025_start(struct request *request, const struct start_spec *spec)
{
    struct session *session = request->session;

    struct id id = { 0 };
    bool alone = !request->stream; /* over HTTP, and not in an array */
    repeat2025_call(session, request->id, &id);
    if (alone && repeat2025_take(request,
                                 &(struct repeat_of){ .kind = spec->target->kind,
                                                      .target = spec->target->name,
                                                      .uri = spec->uri,
                                                      .args = spec->args },
                                 &id))
        return;
    if (session_call(session, request->id)) {
        reply_error(
            request, RPC_INVALID_REQUEST,
            STR("A request with this id is still being worked on; give each request its own."));
        return;
    }
    if (session->call_count >= MCP_CALLS_PER_SESSION_MAX) {
        reply_errorf(request, RPC_INVALID_REQUEST,
                     "This session has %d requests in flight; wait for one to end.",
                     MCP_CALLS_PER_SESSION_MAX);
        return;
    }

    struct mcp_server *server = session->server;
    if (shares_refuse(request, session_principal(session), MCP_SHARE_CALLS, 1))
        return;
    struct str token =
        rpc_id_of(&server->message, json_get(request->has.meta, STR("progressToken")));
    struct caller2025 *call = call_create(session, request->roles, request->id, token, spec->part);
    /* It may be the request of a client that has been given a pending result before. */
    bool attaches =
        spec->part == PART_TOOL_RESULT &&
        (attach_tool_of(spec->target) || session->pended ||
         pending_may_come(server, spec->target, session->client.declares, request->roles));
    if (alone) {
        request->stream = mcp_stream_held(session, request->exchange, false);
        if (server_survives(server))
            mcp_stream_name(request->stream, &id);
    }
    call_join(call, request->stream);
    request->later = true;
    struct mcp_stream *stream = request->stream;
    bool over = false;
    call->over = &over;
    if (attaches)
        attach2025_look(call, spec, &id, alone);
    else
        caller2025_begin(call, spec, &id, alone);
    if (over)
        return;
    call->over = NULL;
    /* The request is held now, perhaps for long, and its memory is not needed. */
    if (stream->exchange && !stream->begun && !stream->array)
        http_release(stream->exchange);
}

enum revision_part caller2025_part(enum target_kind kind)
{
    static const enum revision_part parts[] = {
        [TARGET_TOOL] = PART_TOOL_RESULT,
        [TARGET_RESOURCE] = PART_RESOURCE_RESULT,
        [TARGET_PROMPT] = PART_PROMPT_RESULT,
    };
    return parts[kind];
}

struct caller2025 *caller2025_back(struct session *session, role_set roles,
                                   struct mcp_stream *stream, enum target_kind kind,
                                   const struct caller_record *by, bool handed,
                                   struct adopt_spec *spec)
{
    if (session_call(session, by->id) || session->call_count >= MCP_CALLS_PER_SESSION_MAX)
        return NULL;
    struct caller2025 *call = call_create(session, roles, by->id, by->token, caller2025_part(kind));
    call->back = call->returned = true;
    session->stores = true;
    call_join(call, stream);
    spec->keep_ms = session->server->opts.session_idle_ms;
    spec->handed = handed;
    spec->hold_steps = !handed;
    spec->caller = &call->caller;
    return call;
}

void caller2025_not_back(struct caller2025 *call)
{
    struct mcp_server *server = call->session->server;

    call->stream->awaited--;
    session_drop_call(call->session, call);
    live_call_ended(server);
    mem_free(call);
}

bool caller2025_back_attached(struct session *session, role_set roles, struct mcp_stream *stream,
                              const struct caller_record *by, const struct attach_note *note)
{
    if (session_call(session, by->id) || session->call_count >= MCP_CALLS_PER_SESSION_MAX)
        return false;
    struct caller2025 *call = call_create(session, roles, by->id, by->token, PART_TOOL_RESULT);
    call->back = true;
    call_join(call, stream);
    attach2025_back(call, note);
    return true;
}

struct str caller2025_record(const struct caller2025 *call, struct arena *arena)
{
    struct session *session = call->session;
    struct caller_record by = { .held = true,
                                .can = session->client.declares,
                                .roles = (uint8_t)call->caller.roles,
                                .revision = session->client.revision,
                                .id = call_request_id(call),
                                .token = call_token(call) };

    return caller_record_write(arena, &by);
}

void caller2025_cancel(struct caller2025 *call, struct str why,
                       void (*done)(void *data, nod_status status), void *data)
{
    struct call *its = call->attach ? NULL : call->caller.call;
    bool again = call->cancelled;

    call->quiet = call->cancelled = true;
    if (its)
        call_cancel_then(its, why, done, data);
    else if (!again)
        caller2025_leave(call); /* the call is not this request's, or has ended: it can be found */
    if (!its && done)
        done(data, NOD_OK);
}

/* --- signs of life --- */

static void send_progress(struct caller2025 *call, double value, double total, struct str message)
{
    /* The value MUST rise. If a handler reports one that does not, it is not sent. */
    call->back = false;
    if (!call->token_len || !isfinite(value) || (call->progressed && value <= call->progress))
        return;
    call->progressed = true;
    call->progress = value;
    struct buf *out = &call->session->server->out;
    if (notice_write_progress(out, call_token(call), value, total, message))
        mcp_stream_send(call->stream, EVENT_VOLATILE, buf_str(out));
    buf_clear(out);
}

/* A step so small that it stays behind what the handler will report next, and round, because people
 * are shown it. */
static double next_progress(const struct caller2025 *call)
{
    double parts = 1000, next;

    if (!call->progressed)
        return 0;
    while (fabs(call->progress) * parts > 1e14) /* where thousandths are lost in a double */
        parts /= 10;
    next = (double)(int64_t)(call->progress * parts + (call->progress < 0 ? -0.5 : 0.5)) + 1;
    return next / parts > call->progress ? next / parts : call->progress * (1 + 1e-6);
}

static void call_beat(void *data)
{
    struct caller2025 *call = data;
    struct mcp_server *server = call->session->server;

    timer_set(server->opts.loop, &call->beat, server->opts.heartbeat_ms, call_beat, call);
    if (!call->stream->exchange && !call->stream->pipe)
        return;
    /* A call may wait for another call, which works and asks nobody. */
    bool asks = call->caller.call && call_ask_first(call->caller.call);
    if (call->token_len && !call->back)
        send_progress(call, next_progress(call), 0,
                      asks ? STR("Waiting for an answer.") : STR("Working on it."));
    else
        mcp_stream_comment(call->stream);
}

static void call_waiting_changed(struct caller *caller, struct call *engine_call_, bool waiting)
{
    struct caller2025 *call = (struct caller2025 *)(void *)caller;

    (void)engine_call_;
    if (!call->session || call->waiting == waiting)
        return;
    struct mcp_server *server = call->session->server;
    call->waiting = waiting;
    if (waiting) {
        live_call_waits(server, true);
        timer_set(server->opts.loop, &call->beat, server->opts.heartbeat_ms, call_beat, call);
    } else {
        live_call_waits(server, false);
        timer_stop(server->opts.loop, &call->beat);
        soft2025_stop(call);
    }
    server_check_drained(server);
}

/* To a request that has found the call while it waits. This one gets a pending result. */
static bool caller2025_gives_way(struct caller *caller, struct call *call, struct caller *to)
{
    struct caller2025 *older = (struct caller2025 *)(void *)caller;
    struct caller2025 *newer = to->ops == caller->ops ? (struct caller2025 *)(void *)to : NULL;

    if (!newer || !newer->attach || !call_waiting(call) || older->quiet)
        return false;
    soft2025_pend(older, newer);
    call_waiting_changed(to, call, true); /* as it was told the older one */
    soft2025_offered(to, call);
    return true;
}

/* --- meanwhile --- */

/*
 * The client must have an event id to come back with before it is asked anything, and before
 * anything is done. Clients of older revisions cannot read an event without data. Their first id
 * comes with a progress notification, if they gave a token, or with the first question. False: it
 * has no id.
 */
static bool call_prime(struct caller2025 *call)
{
    if (!call->session || call->stream->pipe)
        return false;
    mcp_stream_begin(call->stream);
    if (!mcp_stream_has_id(call->stream))
        send_progress(call, next_progress(call), 0, STR("Working on it."));
    CRASH_POINT(priming_after);
    return mcp_stream_has_id(call->stream);
}

void caller2025_taken_up(struct session *session, const struct mcp_stream *stream)
{
    if (session_knows(session)->priming) /* its stream has given it an id */
        return;
    LIST_EACH (at, &session->call_list) {
        struct caller2025 *call = LIST_OF(at, struct caller2025, link);
        if (call->stream == stream && !call->back)
            send_progress(call, next_progress(call), 0, STR("Working on it."));
    }
}

int64_t caller2025_needs(const struct mcp_server *server, const struct call *call)
{
    int64_t now = server_now(server), longest = 0;

    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask)) {
        const struct ask_record *record = ask_record(ask);
        int64_t waits = record->expires_ms ? record->expires_ms - now : record->ttl_ms;
        if (waits > longest)
            longest = waits;
    }
    if (longest && server_survives(server)) /* an answer may be acted upon much later */
        longest += STORE_ABANDONED_MS;
    int64_t keep_ms = engine_store(server->opts.engine)->keep_ms;
    if (keep_ms < server->opts.session_idle_ms)
        keep_ms = server->opts.session_idle_ms;
    return longest + keep_ms;
}

void caller2025_keeps_session(struct mcp_server *server, const struct call *call)
{
    session_need_away(server, call_scope(call), caller2025_needs(server, call));
}

static enum caller_way call_asked(struct caller *caller, struct call *engine_call_)
{
    struct caller2025 *call = (struct caller2025 *)(void *)caller;

    call_prime(call);
    if (call->session && call->stream->of_call && !call->stream->lost &&
        mcp_stream_reachable(call->stream))
        call_handed(engine_call_); /* the questions that follow have ids as well */
    return CALLER_HOLDS;
}

static void call_stepping(struct caller *caller, struct call *engine_call_)
{
    struct caller2025 *call = (struct caller2025 *)(void *)caller;

    if (call_prime(call)) {
        /* A process that dies takes along what it has not sent, and the store may be quick. */
        if (call->session->server->front)
            front_flush(call->session->server->front);
        call_handed(engine_call_);
    } else if (call->session && call->stream->lost) {
        /* the client is gone, and can come back only by sending the request again */
        caller2025_leave(call);
        return;
    }
    call_step_on(engine_call_);
}

static uint64_t call_reserve(struct caller *caller, struct call *engine_call_)
{
    const struct caller2025 *call = (const struct caller2025 *)(const void *)caller;

    if (call->session) /* before the questions are stored */
        session_need(call->session, caller2025_needs(call->session->server, engine_call_));
    if (call->session && call->stream->pipe)
        stdio_orphans_note(call->session); /* before the question, in the store's order */
    return call->session && call->stream->of_call ? mcp_stream_reserve(call->stream) : 0;
}

static void call_notify(struct caller *caller, struct call *engine_call_,
                        const struct notice *notice)
{
    struct caller2025 *call = (struct caller2025 *)(void *)caller;

    (void)engine_call_;
    if (!call->session || call->quiet)
        return;
    struct buf *out = &call->session->server->out;
    bool sent = false;
    switch (notice->kind) {
    case NOTICE_PROGRESS:
        send_progress(call, notice->progress, notice->total, notice->text);
        return;
    case NOTICE_LOG:
        sent = notice->level >= call->session->log_level && notice_write_log(out, notice);
        break;
    case NOTICE_OTHER:
        buf_clear(out);
        rpc_write_notification(out, notice->method, notice->params);
        sent = out->len;
        break;
    }
    if (sent)
        mcp_stream_send(call->stream, EVENT_VOLATILE, buf_str(out));
    buf_clear(out);
}

/* --- the end --- */

static void write_error(struct json_writer *w, enum revision_part part,
                        const struct outcome *outcome)
{
    jw_key(w, STR("error"));
    jw_object(w);
    jw_key_i64(w, STR("code"), failure_code2025(outcome, part));
    jw_key_str(w, STR("message"), outcome->message);
    if (outcome->request_error && outcome->error_data.len) {
        jw_key_raw(w, STR("data"), outcome->error_data);
    } else if (!outcome->request_error) {
        jw_key(w, STR("data"));
        jw_object(w);
        failure_facts2025(w, outcome);
        jw_end(w);
    }
    jw_end(w);
}

void caller2025_write(struct buf *out, struct str id, enum revision revision,
                      enum revision_part part, const struct outcome *outcome)
{
    struct json_writer w;
    bool fine = true;

    buf_clear(out);
    json_writer_init(&w, out);
    jw_open(&w, STR("{\"jsonrpc\":\"2.0\",\"id\":"), 1);
    jw_raw(&w, id);
    if (outcome->status == NOD_OK && !outcome->request_error) {
        jw_key(&w, STR("result"));
        fine = revision_write(&w, revision, part, outcome->body);
    } else if (part == PART_TOOL_RESULT && !outcome->request_error && !outcome->no_room) {
        jw_key(&w, STR("result"));
        jw_object(&w);
        failure_content(&w, outcome);
        jw_key(&w, STR("_meta"));
        jw_object(&w);
        failure_facts2025(&w, outcome);
        jw_end(&w);
        jw_end(&w);
    } else {
        write_error(&w, part, outcome);
    }
    jw_end(&w);
    if (!fine || !json_writer_done(&w)) {
        buf_clear(out);
        rpc_write_error(out, id, RPC_INTERNAL_ERROR, MCP_TOO_LARGE_OR_WRONG("The result"),
                        STR_NONE);
    }
}

static void call_free(struct caller2025 *call)
{
    soft2025_forget(call);
    attach2025_forget(call);
    for (struct offer *offer = call->offers, *next; offer; offer = next) {
        next = offer->next;
        mem_free(offer);
    }
    mem_free(call);
}

void caller2025_respond(struct caller2025 *call, const struct outcome *outcome)
{
    struct session *session = call->session;
    struct mcp_server *server = session->server;

    call_waiting_changed(&call->caller, NULL, false);
    if (call->over)
        *call->over = true;
    session_drop_call(session, call);
    timer_stop(server->opts.loop, &call->beat);
    live_call_ended(server);
    if (!call->quiet && (!outcome->elsewhere || call->attach)) { /* who cancels wants no response */
        caller2025_write(&server->out, call_request_id(call),
                         (enum revision)session->client.revision, (enum revision_part)call->part,
                         outcome);
        if (outcome->no_room)
            mcp_stream_refuse(call->stream, 429, buf_str(&server->out));
        else if (outcome->request_error && outcome->status == NOD_E_STORE)
            mcp_stream_refuse(call->stream, 503, buf_str(&server->out));
        else
            mcp_stream_respond(call->stream, buf_str(&server->out));
        buf_clear(&server->out);
    } else {
        mcp_stream_skip(call->stream);
    }
    call_free(call);
    session_moved(session);
    server_check_drained(server);
}

/* Is there somebody to hand the result to? */
static bool is_there(const struct caller2025 *call)
{
    return !call->quiet && (call->stream->exchange || call->stream->pipe);
}

/* What is found by a handle is given out by whoever reads it from the store; and whether a
 * connection has delivered it is known later (mcp/shared/delivery). */
static bool call_is_awaited(const struct caller *caller)
{
    const struct caller2025 *call = (const struct caller2025 *)(const void *)caller;

    return call->session && !call->quiet && call->stream->pipe && !call->attach &&
           !soft2025_noted(call);
}

void caller2025_found_ended(struct caller2025 *call)
{
    if (is_there(call) && call->attach) {
        attach2025_collect(call);
    } else if (is_there(call)) {
        soft2025_collect(call);
    } else {
        if (call->attach)
            attach2025_release(call);
        call_dropped(call);
    }
}

bool caller2025_end_later(struct caller2025 *call, struct timer *timer, void (*again)(void *data),
                          void *data)
{
    struct mcp_server *server = call->session->server;

    if (!server_draining(server))
        timer_set(server->opts.loop, timer, END_AGAIN_MS, again, data);
    else if (!call->stream->pipe)
        call_dropped(call);
    else
        return false;
    return true;
}

void caller2025_refuse_later(struct caller2025 *call, const struct outcome *why)
{
    struct outcome refusal = *why;

    refusal.request_error = !call->stream->pipe && !call->stream->array;
    if (call->stream->begun && call->stream->of_call)
        caller2025_leave(call);
    else
        caller2025_respond(call, &refusal);
}

static void call_finished(struct caller *caller, struct call *engine_call_,
                          const struct outcome *outcome)
{
    struct caller2025 *call = (struct caller2025 *)(void *)caller;
    struct session *session = call->session;

    call_waiting_changed(caller, engine_call_, false);
    if (!session) {
        if (call->over)
            *call->over = true;
        call_free(call);
        return;
    }
    struct mcp_server *server = session->server;
    if (call_is_stored(engine_call_)) {
        session->stores = true;
        session_need(session, caller2025_needs(server, engine_call_));
    }
    if (failure_wants_page(outcome) && (session->client.declares & CLIENT_CAN_URL))
        client_surface_url_required(server->client, session, outcome->error_data);
    if (!call_has_ended(engine_call_)) {
        /* This node cannot go on with the call now. Nothing is handed out: it can be had later. */
        bool has_handle = call->attach || soft2025_noted(call);

        if (call->attach)
            attach2025_release(call);
        if (has_handle && !is_there(call))
            call_dropped(call);
        else
            caller2025_respond(call, outcome);
    } else if (call->attach) {
        caller2025_found_ended(call);
    } else if (!call->quiet && !outcome->elsewhere && soft2025_noted(call)) {
        if (is_there(call))
            soft2025_end(call, engine_call_, outcome);
        else
            call_dropped(call); /* whoever comes back, or calls again, is given the result */
    } else {
        if (!call->quiet && call_is_stored(engine_call_))
            mcp_stream_hands(call->stream, call_id(engine_call_));
        caller2025_respond(call, outcome);
    }
}

/* The stream ends without a response: the client comes back for it. */
static void call_dropped(struct caller2025 *call)
{
    struct session *session = call->session;

    call_waiting_changed(&call->caller, NULL, false);
    if (!session) {
        call_free(call);
        return;
    }
    struct mcp_server *server = session->server;
    struct mcp_stream *stream = call->stream;
    timer_stop(server->opts.loop, &call->beat);
    session_drop_call(session, call);
    live_call_ended(server);
    call_free(call);
    mcp_stream_abandon(stream);
    server_check_drained(server);
}

bool caller2025_may_be_left(const struct caller2025 *call)
{
    return call->waiting && !call->cancelled && call->stream->of_call && call->caller.call &&
           call_is_stored(call->caller.call);
}

void caller2025_leave(struct caller2025 *call)
{
    if (call->attach && call->attach->attached && call->caller.call)
        attach2025_release(call);
    if (call->caller.call)
        call_caller_left(call->caller.call);
    call_dropped(call);
}

static struct str call_made_with(const struct caller *caller)
{
    const struct caller2025 *call = (const struct caller2025 *)(const void *)caller;

    return call->attach ? STR_NONE : call_request_id(call);
}

static void call_unloaded(struct caller *caller)
{
    call_dropped((struct caller2025 *)(void *)caller);
}

static void call_goes_on_with(struct caller *caller, struct call *call)
{
    (void)call;
    attach2025_goes_over((struct caller2025 *)(void *)caller);
}

static const struct caller_ops caller2025_ops = {
    .goes_over = call_goes_on_with,
    .asked = call_asked,
    .reserve = call_reserve,
    .stepping = call_stepping,
    .notify = call_notify,
    .finished = call_finished,
    .there = call_is_awaited,
    .waiting = call_waiting_changed,
    .offered = soft2025_offered,
    .unseen = soft2025_now,
    .request = call_made_with,
    .unloaded = call_unloaded,
    .gives_way = caller2025_gives_way,
};
