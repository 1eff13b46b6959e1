/*
 * mcp/mcp_call: a request that is held until its call has ended.
 *
 * The client's connection may come and go meanwhile: that is the stream's matter, and never cancels
 * anything. While the call waits for a person the client is shown a sign of life every heartbeat:
 * progress notifications if it gave a token (their values only ever rise, as MCP demands), comments
 * if not.
 *
 * How a call ended becomes a response here. A tool's failure is a result with isError, so that the
 * model sees it; a failure of anything else, and what a protocol error stands for, is a JSON-RPC
 * error.
 */
#include "mcp/mcp_call.h"

#include <math.h>

#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/caller2026.h"
#include "mcp/notice.h"

static const struct caller_ops mcp_call_ops;

struct mcp_call *mcp_call_of(const struct call *call)
{
    struct caller *caller = call ? call_caller(call) : NULL;

    return caller && caller->ops == &mcp_call_ops ? (struct mcp_call *)(void *)caller : NULL;
}

static struct str call_request_id(const struct mcp_call *call)
{
    return str_n(call->text, call->id_len);
}

static struct str call_token(const struct mcp_call *call)
{
    return str_n(call->text + call->id_len, call->token_len);
}

/* --- beginning ------------------------------------------------------------------------------ */

static struct mcp_call *call_create(struct request *request, const struct mcp_call_spec *spec)
{
    struct str token =
        rpc_id_of(&request->server->message,
                  json_get(json_get(request->params, STR("_meta")), STR("progressToken")));
    struct mcp_call *call = mem_zalloc(sizeof(*call) + request->id.len + token.len);

    call->caller.ops = &mcp_call_ops;
    call->session = request->session;
    call->part = (uint8_t)spec->part;
    call->id_len = (uint16_t)request->id.len;
    call->token_len = (uint16_t)token.len;
    memcpy(call->text, request->id.at, request->id.len);
    if (token.len)
        memcpy(call->text + call->id_len, token.at, token.len);
    return call;
}

void mcp_call_start(struct request *request, const struct mcp_call_spec *spec)
{
    struct session *session = request->session;

    if (request->meta) {
        caller2026_start(request, spec);
        return;
    }
    if (session_call(session, request->id)) {
        reply_error(request, RPC_INVALID_REQUEST,
                    STR("A request with this id is still being worked on; give each its own."));
        return;
    }
    if (session->call_count >= MCP_CALLS_PER_SESSION_MAX) {
        reply_errorf(request, RPC_INVALID_REQUEST,
                     "This session has %d requests in flight; wait for one to end.",
                     MCP_CALLS_PER_SESSION_MAX);
        return;
    }

    struct mcp_call *call = call_create(request, spec);
    if (!request->stream)
        request->stream = mcp_stream_held(session, request->exchange, false);
    call->stream = request->stream;
    mcp_stream_await(call->stream);
    session_add_call(session, call);
    session->server->calls++;
    request->later = true;

    bool over = false;
    call->over = &over;
    engine_call(session->server->opts.engine,
                &(struct call_spec){ .target = spec->target,
                                     .args = spec->args,
                                     .uri = spec->uri,
                                     .principal = session_principal(session),
                                     .scope = session_scope(session),
                                     .caller = &call->caller });
    if (over)
        return;
    call->over = NULL;
    /* It is held now, perhaps for long: the request's memory is not needed. */
    if (call->stream->exchange && !call->stream->begun && !call->stream->array)
        http_release(call->stream->exchange);
}

void mcp_call_cancel(struct mcp_call *call, struct str why)
{
    call->quiet = true;
    if (call->cancelled)
        return;
    call->cancelled = true;
    call_cancel(call->caller.call, why);
}

/* --- signs of life ---------------------------------------------------------------------------- */

static void send_progress(struct mcp_call *call, double value, double total, struct str message)
{
    /* The value MUST rise; one that does not is a handler's slip, and would only confuse the
     * client. */
    if (!call->token_len || !isfinite(value) || (call->progressed && value <= call->progress))
        return;
    call->progressed = true;
    call->progress = value;
    struct buf *out = &call->session->server->out;
    if (notice_write_progress(out, call_token(call), value, total, message))
        mcp_stream_send(call->stream, EVENT_VOLATILE, buf_str(out));
    buf_clear(out);
}

/* A step so small that it does not get ahead of what the handler will report next. */
static double next_progress(const struct mcp_call *call)
{
    return call->progressed ? call->progress + (fabs(call->progress) + 1) * 1e-6 : 0;
}

static void call_beat(void *data)
{
    struct mcp_call *call = data;
    struct mcp_server *server = call->session->server;

    timer_set(server->opts.loop, &call->beat, server->opts.heartbeat_ms, call_beat, call);
    if (!call->stream->exchange && !call->stream->pipe)
        return;
    if (call->token_len)
        send_progress(call, next_progress(call), 0, STR("Waiting for an answer."));
    else
        mcp_stream_comment(call->stream);
}

static void call_waiting_changed(struct caller *caller, struct call *engine_call_, bool waiting)
{
    struct mcp_call *call = (struct mcp_call *)(void *)caller;

    (void)engine_call_;
    if (!call->session || call->waiting == waiting)
        return;
    struct mcp_server *server = call->session->server;
    call->waiting = waiting;
    if (waiting) {
        server->waiting++;
        timer_set(server->opts.loop, &call->beat, server->opts.heartbeat_ms, call_beat, call);
    } else {
        server->waiting--;
        timer_stop(server->opts.loop, &call->beat);
    }
    server_moved(server);
}

/* --- meanwhile ---------------------------------------------------------------------------------
 */

static enum caller_way call_asked(struct caller *caller, struct call *engine_call_)
{
    struct mcp_call *call = (struct mcp_call *)(void *)caller;

    (void)engine_call_;
    /* The client must have an event id to come back with before it is asked anything. */
    if (call->session && !call->stream->pipe)
        mcp_stream_begin(call->stream);
    CRASH_POINT(priming_after);
    return CALLER_HOLDS;
}

static void send_log(struct mcp_call *call, const struct notice *notice)
{
    struct buf *out = &call->session->server->out;

    if (notice->level < call->session->log_level)
        return;
    if (notice_write_log(out, notice))
        mcp_stream_send(call->stream, EVENT_VOLATILE, buf_str(out));
    buf_clear(out);
}

static void send_other(struct mcp_call *call, const struct notice *notice)
{
    struct buf *out = &call->session->server->out;

    buf_clear(out);
    rpc_write_notification(out, notice->method, notice->params);
    if (out->len)
        mcp_stream_send(call->stream, EVENT_VOLATILE, buf_str(out));
    buf_clear(out);
}

static void call_notify(struct caller *caller, struct call *engine_call_,
                        const struct notice *notice)
{
    struct mcp_call *call = (struct mcp_call *)(void *)caller;

    (void)engine_call_;
    if (!call->session || call->quiet)
        return;
    switch (notice->kind) {
    case NOTICE_PROGRESS:
        send_progress(call, notice->progress, notice->total, notice->text);
        break;
    case NOTICE_LOG:
        send_log(call, notice);
        break;
    case NOTICE_OTHER:
        send_other(call, notice);
        break;
    }
}

/* --- the end ------------------------------------------------------------------------------------
 */

/* {code, errorId, details, and what else is known}: where programs look. */
static void write_failure_facts(struct json_writer *w, const struct outcome *outcome)
{
    jw_object(w);
    jw_key_str(w, STR("code"),
               str_of(outcome->code ? outcome->code : outcome_code(outcome->status)));
    if (outcome->error_id.len)
        jw_key_str(w, STR("errorId"), outcome->error_id);
    if (outcome->details.len)
        jw_key_raw(w, STR("details"), outcome->details);
    if (outcome->meta.len) {
        struct arena arena;
        arena_init(&arena, MCP_TREE_MAX);
        const struct json *meta = json_parse(&arena, outcome->meta, NULL, NULL);
        JSON_EACH (member, json_is(meta, JSON_OBJECT) ? meta : NULL)
            jw_key_value(w, member->key, member);
        arena_finish(&arena);
    }
    jw_end(w);
}

static void write_tool_failure(struct json_writer *w, const struct outcome *outcome)
{
    jw_object(w);
    jw_key(w, STR("content"));
    jw_array(w);
    jw_object(w);
    jw_key_str(w, STR("type"), STR("text"));
    jw_key_str(w, STR("text"), outcome->message);
    jw_end(w);
    jw_end(w);
    jw_key_bool(w, STR("isError"), true);
    jw_key(w, STR("_meta"));
    write_failure_facts(w, outcome);
    jw_end(w);
}

static int64_t error_code(enum revision_part part, const struct outcome *outcome)
{
    if (outcome->rpc_code)
        return outcome->rpc_code;
    if (outcome->status == NOD_E_NOT_FOUND && part == PART_RESOURCE_RESULT)
        return MCP_RESOURCE_NOT_FOUND;
    return outcome->status == NOD_E_INVALID || outcome->status == NOD_E_NOT_FOUND
               ? RPC_INVALID_PARAMS
               : RPC_INTERNAL_ERROR;
}

static void write_error(struct json_writer *w, enum revision_part part,
                        const struct outcome *outcome)
{
    jw_key(w, STR("error"));
    jw_object(w);
    jw_key_i64(w, STR("code"), error_code(part, outcome));
    jw_key_str(w, STR("message"), outcome->message);
    if (outcome->rpc_code && outcome->rpc_data.len) {
        jw_key_raw(w, STR("data"), outcome->rpc_data);
    } else if (!outcome->rpc_code) {
        jw_key(w, STR("data"));
        write_failure_facts(w, outcome);
    }
    jw_end(w);
}

void mcp_call_write(struct buf *out, struct str id, enum revision revision, enum revision_part part,
                    const struct outcome *outcome)
{
    struct json_writer w;
    bool fine = true;

    buf_clear(out);
    json_writer_init(&w, out);
    jw_object(&w);
    jw_key_str(&w, STR("jsonrpc"), STR("2.0"));
    jw_key_raw(&w, STR("id"), id);
    if (outcome->status == NOD_OK && !outcome->rpc_code) {
        jw_key(&w, STR("result"));
        fine = revision_write(&w, revision, part, outcome->body);
    } else if (part == PART_TOOL_RESULT && !outcome->rpc_code) {
        jw_key(&w, STR("result"));
        write_tool_failure(&w, outcome);
    } else {
        write_error(&w, part, outcome);
    }
    jw_end(&w);
    if (!fine || !json_writer_done(&w)) {
        buf_clear(out);
        rpc_write_error(out, id, RPC_INTERNAL_ERROR,
                        STR("The result is too large to be sent, or is not valid."), STR_NONE);
    }
}

static bool call_event(struct caller *caller, struct call *engine_call_,
                       const struct outcome *outcome, struct arena *arena,
                       struct store_event *event)
{
    /* The log of the stream has what a client may come back for. */
    (void)caller, (void)engine_call_, (void)outcome, (void)arena, (void)event;
    return false;
}

static void call_free(struct mcp_call *call)
{
    for (struct offer *offer = call->offers, *next; offer; offer = next) {
        next = offer->next;
        mem_free(offer);
    }
    mem_free(call);
}

static void call_finished(struct caller *caller, struct call *engine_call_,
                          const struct outcome *outcome)
{
    struct mcp_call *call = (struct mcp_call *)(void *)caller;
    struct session *session = call->session;

    call_waiting_changed(caller, engine_call_, false);
    if (call->over)
        *call->over = true;
    if (!session) {
        call_free(call);
        return;
    }
    struct mcp_server *server = session->server;
    session_drop_call(session, call);
    timer_stop(server->opts.loop, &call->beat);
    server->calls--;
    if (!call->quiet) {
        mcp_call_write(&server->out, call_request_id(call), (enum revision)session->revision,
                       (enum revision_part)call->part, outcome);
        mcp_stream_respond(call->stream, buf_str(&server->out));
        buf_clear(&server->out);
    } else {
        mcp_stream_skip(call->stream);
    }
    call_free(call);
    session_moved(session);
    server_moved(server);
}

static const struct caller_ops mcp_call_ops = {
    .asked = call_asked,
    .notify = call_notify,
    .event = call_event,
    .finished = call_finished,
    .waiting = call_waiting_changed,
};
