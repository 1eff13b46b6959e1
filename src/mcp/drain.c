/*
 * mcp/drain: the end of a server, step by step.
 *
 *   1. No new request is taken. Listeners of the 2026 era are told the end; waiting requests of
 *      that era are answered (era2026_drain).
 *   2. Running calls may end, within the time of the drain.
 *   3. Calls that wait for a person are cancelled: their clients hold a connection to this process.
 *      With a durable or shared store they are unloaded instead, and the clients come back.
 *   4. When no call is left, or the time is up, stdio and the sessions are closed, and the front
 *      door sends its last bytes.
 *   5. Operations of the store are awaited, unless the store is away. Then done() is called.
 *
 * Holds always: done() is called once. It may be called from a completion of the store.
 */
#include "mcp/parts.h"

#include "base/log.h"
#include "base/mem.h"
#include "mcp/era2026/methods.h"
#include "mcp/shared/server_inside.h"
#include "mcp/era2025/session.h"
#include "mcp/later/view.h"
#include "mcp/shared/work.h"

struct drain {
    bool drained; /* no call is left, or the time is up: only the last bytes are still to be sent */
    bool http_drained;
    bool flushing, flushed; /* the store is taking the last records; its time for that is up */
    struct timer limit;
    struct timer turn;
    void (*done)(void *data);
    void *data;
};

static void not_any_more(void *data)
{
    (void)data;
}

/* --- the last bytes --- */

static void drain_flushed(void *data)
{
    struct mcp_server *server = data;

    server->drain->flushed = true;
    server_check_drained(server);
}

/* Operations of the store are awaited first, unless the store is away. */
static void drain_complete(struct mcp_server *server)
{
    struct drain *drain = server->drain;
    void (*done)(void *) = drain->done;

    if (server_works(server) && !drain->flushed) {
        if (!drain->flushing)
            timer_set(server->opts.loop, &drain->limit, MCP_FLUSH_MS, drain_flushed, server);
        drain->flushing = true;
        return;
    }
    timer_stop(server->opts.loop, &drain->limit);
    drain->done = not_any_more;
    done(drain->data);
}

static void drain_http_done(void *data)
{
    struct mcp_server *server = data;

    server->drain->http_drained = true;
    if (!server->stdio)
        drain_complete(server);
}

static void drain_last(struct mcp_server *server)
{
    struct drain *drain = server->drain;

    if (drain->drained)
        return;
    drain->drained = true;
    timer_stop(server->opts.loop, &drain->limit);
    mcp_stdio_close(server);
    sessions_end(server, STR("the server is shutting down"));
    if (server->front)
        front_drain(server->front, MCP_FLUSH_MS, drain_http_done, server);
    else
        timer_set(server->opts.loop, &drain->turn, 0, drain_http_done, server);
}

/* --- the calls --- */

static void drain_step(void *data)
{
    struct mcp_server *server = data;
    struct drain *drain = server->drain;

    if (drain->drained || server->live.calls > server->live.waiting)
        return;
    sessions_stop_waiting(server);
    if (server->live.calls == 0)
        drain_last(server);
}

static void drain_overdue(void *data)
{
    struct mcp_server *server = data;

    if (server->live.calls)
        LOG_WARN("calls still ran when the time to stop was up",
                 LOG_INT("calls", server->live.calls));
    sessions_stop_waiting(server);
    era2026_overdue(server);
    drain_last(server);
}

static void check(struct mcp_server *server)
{
    struct drain *drain = server->drain;

    mcp_stdio_check_drained(server);
    /* Later, because the engine is on the stack. */
    if (drain->drained && drain->http_drained && !server->stdio)
        drain_complete(server);
    else if (server->live.draining && !drain->drained)
        timer_set(server->opts.loop, &drain->turn, 0, drain_step, server);
}

void drain_create(struct mcp_server *server)
{
    server->drain = MEM_NEW(struct drain);
    server->live.changed = check;
}

void drain_destroy(struct mcp_server *server)
{
    timer_stop(server->opts.loop, &server->drain->limit);
    timer_stop(server->opts.loop, &server->drain->turn);
    mem_free(server->drain);
    server->drain = NULL;
}

void drain_give_up(struct mcp_server *server)
{
    server->live.draining = server->drain->drained = true;
    server->drain->done = not_any_more;
}

void mcp_drain(struct mcp_server *server, int grace_ms, void (*done)(void *data), void *data)
{
    struct drain *drain = server->drain;

    if (server->live.draining)
        return;
    server->live.draining = true;
    views_stop(server->views);
    era2026_drain(server, false);
    drain->done = done;
    drain->data = data;
    timer_set(server->opts.loop, &drain->limit, grace_ms, drain_overdue, server);
    timer_set(server->opts.loop, &drain->turn, 0, drain_step, server);
}
