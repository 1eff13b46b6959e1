/*
 * mcp/stdio: one session over stdin and stdout, with the local user.
 *
 * Each line is one message. A line that cannot be read is answered with JSON-RPC's error for it.
 * When the input ends, running calls may end, and calls that wait for a person are cancelled,
 * because nobody is left who could answer. Then the last reply is flushed, and ended() is called.
 */
#include "base/log.h"
#include "base/mem.h"
#include "mcp/shared/live.h"
#include "mcp/wire/era.h"
#include "mcp/era2025/methods.h"
#include "mcp/era2026/methods.h"
#include "mcp/era2025/caller.h"
#include "mcp/era2026/pipe.h"
#include "mcp/era2025/stdio_orphans.h"
#include "mcp/parts.h"

enum {
    MCP_LINE_MAX = 4 << 20,         /* bytes of one line on stdio */
    MCP_LINES_QUEUED_MAX = 4 << 20, /* bytes of lines that were not written yet */
};

struct stdio {
    struct mcp_server *server;
    struct session *session;
    struct pipe_lines *pipe;
    bool input_ended;
    bool closing;
    bool flushing;
    struct timer turn;
    void (*ended)(void *data);
    void *data;
};

static void send_out(struct stdio *stdio)
{
    struct buf *out = &stdio->server->out;

    if (out->len)
        mcp_stream_send(stdio->session->lines, EVENT_KEPT, buf_str(out));
    buf_clear(out);
}

static void take_message(struct stdio *stdio, const struct rpc_message *message)
{
    struct mcp_server *server = stdio->server;
    struct session *session = stdio->session;
    struct request request = { .server = server,
                               .session = session,
                               .roles = ROLES_ALL,
                               .id = message->id,
                               .params = message->params,
                               .stream = session->lines };

    struct era_opening opening = { .method = message->method, .params = message->params };
    if (message->kind == RPC_REQUEST && era_of(&opening) == ERA_2026) {
        era2026_line(server, message);
        return;
    }
    switch (message->kind) {
    case RPC_REQUEST:
        if (server_draining(server))
            reply_error(&request, RPC_INTERNAL_ERROR, STR("The server is shutting down."));
        else
            era2025_request(&request, message->method);
        if (!request.later)
            send_out(stdio);
        break;
    case RPC_NOTIFICATION:
        if (str_eq(message->method, STR("notifications/cancelled")) &&
            era2026_cancelled(server, message->params))
            break;
        era2025_notification(session, message, NULL, NULL);
        break;
    case RPC_RESULT:
    case RPC_ERROR:
        era2025_response(session, ROLES_ALL, message, NULL, NULL);
        break;
    }
}

static void send_fault(struct stdio *stdio, const struct rpc_fault *fault)
{
    if (fault->response)
        return;
    buf_clear(&stdio->server->out);
    rpc_write_fault(&stdio->server->out, fault);
    send_out(stdio);
}

static void take_value(struct stdio *stdio, const struct json *value)
{
    struct rpc_batch batch;
    struct rpc_message message;
    struct rpc_fault fault;
    nod_status status;

    if (rpc_is_batch(value) && !session_knows(stdio->session)->batches) {
        send_fault(stdio, &(struct rpc_fault){
                              .code = RPC_INVALID_REQUEST,
                              .message = STR("Arrays of messages belong to revision 2025-03-26; "
                                             "send one message a line.") });
        return;
    }
    if (rpc_batch_of(value, &batch, &fault) != NOD_OK) {
        send_fault(stdio, &fault);
        return;
    }
    while (rpc_batch_next(&batch, &stdio->server->message, &message, &fault, &status)) {
        if (status == NOD_OK || rpc_is_broken_error(&message, &fault))
            take_message(stdio, &message);
        else
            send_fault(stdio, &fault);
    }
}

static void on_line(struct str line, void *data)
{
    struct stdio *stdio = data;
    struct mcp_server *server = stdio->server;
    struct json_opts opts = { .max_values = MCP_VALUES_MAX, .refuse_duplicates = true };
    struct json_error error = { 0 };

    if (line.at && str_trim(line).len == 0)
        return;
    arena_reset(&server->message);
    /* A call may outlive the line: the engine copies what the call needs. */
    const struct json *value = line.at ? json_parse(&server->message, line, &opts, &error) : NULL;
    if (value) {
        take_value(stdio, value);
    } else {
        struct str why =
            line.at
                ? arena_fmt(&server->message, "The line is not JSON: at byte %zu, %s%s.",
                            error.offset, error.what, MCP_AT_MOST(&error))
                : arena_fmt(&server->message, "The line is longer than %d bytes.", MCP_LINE_MAX);
        send_fault(stdio,
                   &(struct rpc_fault){ .code = line.at ? RPC_PARSE_ERROR : RPC_INVALID_REQUEST,
                                        .message = why });
    }
    if (server->message.used > MCP_TREE_KEEP) {
        arena_finish(&server->message);
        arena_init(&server->message, MCP_TREE_MAX);
    }
}

/* --- the end --- */

static void on_closed(void *data)
{
    struct stdio *stdio = data;
    void (*ended)(void *) = stdio->ended;
    void *ended_data = stdio->data;

    struct mcp_server *server = stdio->server;

    if (server)
        server->stdio = NULL;
    mem_free(stdio);
    if (server)
        server_check_drained(server);
    if (ended)
        ended(ended_data);
}

static void close_pipe(struct stdio *stdio)
{
    struct session *session = stdio->session;

    if (stdio->closing)
        return;
    stdio->closing = true;
    timer_stop(stdio->server->opts.loop, &stdio->turn);
    stdio->session = NULL;
    era2026_pipe_closed(stdio->server);
    if (session) {
        grants_end_session(stdio->server->opts.engine, session_principal(session),
                           session_scope(session));
        session_end(session, STR("the input has ended"));
    }
    pipe_close(stdio->pipe, MCP_FLUSH_MS, on_closed, stdio);
}

/* Calls that wait are cancelled, calls that run may end. */
static void wind_up(void *data)
{
    struct stdio *stdio = data;
    struct session *session = stdio->session;

    LIST_EACH (at, &session->call_list) {
        struct caller2025 *call = LIST_OF(at, struct caller2025, link);
        if (call->waiting && !call->cancelled && call->attach) {
            caller2025_leave(call);
        } else if (call->waiting && !call->cancelled) {
            call->cancelled = true;
            call_cancel(call->caller.call, STR("the input has ended"));
        }
    }
    era2026_drain(stdio->server, true);
    if (session->call_count || era2026_on_pipe(stdio->server))
        return;
    if (session->lines->first && !stdio->flushing) {
        /* A slow reader gets its last lines, for a limited time. */
        stdio->flushing = true;
        timer_set(stdio->server->opts.loop, &stdio->turn, MCP_FLUSH_MS, wind_up, stdio);
        return;
    }
    close_pipe(stdio);
}

static void on_end(void *data)
{
    struct stdio *stdio = data;

    stdio->input_ended = true;
    if (stdio->closing)
        return;
    engine_leave(stdio->server->opts.engine); /* at once: what runs may run for long */
    timer_set(stdio->server->opts.loop, &stdio->turn, 0, wind_up, stdio);
}

void mcp_stdio_check_drained(struct mcp_server *server)
{
    struct stdio *stdio = server->stdio;

    /* Later, because the engine is on the stack. */
    if (stdio && stdio->input_ended && !stdio->closing)
        timer_set(server->opts.loop, &stdio->turn, 0, wind_up, stdio);
}

static void on_drain(void *data)
{
    struct stdio *stdio = data;

    if (!stdio->session)
        return;
    mcp_stream_pump(stdio->session->lines);
    if (stdio->flushing && !stdio->session->lines->first)
        wind_up(stdio);
}

/* Both eras write to one pipe. */
static void send_line(struct mcp_server *server, bool kept, struct str line)
{
    mcp_stream_send(server->stdio->session->lines, kept ? EVENT_KEPT : EVENT_VOLATILE, line);
}

nod_status mcp_stdio_start(struct mcp_server *server, int read_fd, int write_fd,
                           void (*ended)(void *data), void *data)
{
    if (server->stdio)
        return NOD_E_USAGE;
    struct stdio *stdio = MEM_NEW(struct stdio);
    struct pipe_opts opts = { .read_fd = read_fd,
                              .write_fd = write_fd,
                              .line_max = MCP_LINE_MAX,
                              .queue_max = MCP_LINES_QUEUED_MAX,
                              .on_line = on_line,
                              .on_end = on_end,
                              .on_drain = on_drain,
                              .data = stdio };

    stdio->server = server;
    stdio->ended = ended;
    stdio->data = data;
    stdio->session = session_create(server, STR("local"));
    if (!stdio->session) {
        mem_free(stdio);
        return NOD_E_LIMIT;
    }
    nod_status status = pipe_open(server->opts.loop, &opts, &stdio->pipe);
    if (status != NOD_OK) {
        session_end(stdio->session, STR("stdio cannot be opened"));
        mem_free(stdio);
        return status;
    }
    stdio->session->lines = mcp_stream_lines(stdio->session, stdio->pipe);
    server->pipe2026->send = send_line;
    server->stdio = stdio;
    stdio_orphans_withdraw(server);
    return NOD_OK;
}

void mcp_stdio_close(struct mcp_server *server)
{
    if (server->stdio)
        close_pipe(server->stdio);
}

void mcp_stdio_stop(struct mcp_server *server)
{
    struct stdio *stdio = server->stdio;

    if (!stdio)
        return;
    close_pipe(stdio);
    /* The pipe closes later, when the server is gone and nobody waits to be told. */
    stdio->server = NULL;
    stdio->ended = NULL;
    server->stdio = NULL;
}
