/*
 * host/shutdown: the end of a server, from the signal to the last byte of its memory.
 *
 *   1. SIGINT, SIGTERM, nod_stop, or the end of standard input. While the server starts that is
 *      noted, and done as soon as it serves, or before that; here a second signal ends the process
 *      at once. The store is told before anything
 *      else (core/node.c). A second signal ends the process as soon as the store knows, or its time
 *      for that (HOST_SETTLE_MS) is up; a third one ends it at once.
 *   2. /readyz says that the server is stopping, so that balancers send no new clients.
 *   3. The protocol drains (mcp/drain.c): there are no new requests; running calls may end, within
 *      HOST_DRAIN_MS; calls that wait for a person are cancelled or, with a durable or shared
 *      store, left to it; the last bytes are sent, and the store takes the last records.
 *   4. The loop stops, and nod_main or nod_turn says so. nod_server_destroy does the rest:
 *   5. The engine starts nothing any more; blocking handlers have HOST_WORKERS_MS to return.
 *   6. What was done, and what is given back, reaches the store, within HOST_SETTLE_MS.
 *   7. The parts are freed: the protocol, the front door, the store, the engine, and the rest.
 *
 * If a handler never returns, what it may still use is not freed before the process ends.
 */
#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "host/plugin.h"
#include "crypto/seal.h"
#include "net/broken_pipe.h"

/* --- being told to stop --- */

static void drained(void *data)
{
    nod_server *server = data;

    server->ended = true;
    loop_stop(server->loop); /* nod_main goes on; nod_turn says it */
}

void shutdown_begin(void *data)
{
    nod_server *server = data;

    if (!server->serving) { /* a store that opens turns the loop */
        server->stop_early = true;
        return;
    }
    if (server->stopping)
        return;
    server->stopping = true;
    engine_leave(server->engine); /* before anything else */
    if (server->front)
        front_stopping(server->front);
    inbox_stop(server->inbox);
    if (server->mcp)
        mcp_drain(server->mcp, HOST_DRAIN_MS, drained, server);
    else
        drained(server);
}

void nod_stop(nod_server *server)
{
    if (server)
        loop_post(server->loop, shutdown_begin, server);
}

/* Asked twice. */
static void end_soon(void *data)
{
    nod_server *server = data;

    if (!server->engine || !engine_is_leaving(server->engine) ||
        loop_now(server->loop) >= server->hurry_until)
        _exit(130);
    timer_set(server->loop, &server->hurry, 1, end_soon, server);
}

static void on_signal(void *data)
{
    nod_server *server = data;

    if (!server->serving && server->stop_early) {
        _exit(130); /* nothing has begun */
    } else if (!server->stopping) {
        LOG_INFO("stopping");
        shutdown_begin(server);
    } else if (server->hurry_until) {
        _exit(130);
    } else {
        server->hurry_until = loop_now(server->loop) + HOST_SETTLE_MS;
        end_soon(server);
    }
}

void shutdown_watch(nod_server *server)
{
    if (!loop_signal(server->loop, SIGINT, on_signal, server) ||
        !loop_signal(server->loop, SIGTERM, on_signal, server))
        LOG_WARN("signals cannot be watched: SIGINT and SIGTERM end the process at once");
}

/* --- taking it apart --- */

/* Frees the rest when nothing of it runs any more. `ended`: no handler runs either. */
static void take_apart(nod_server *server, bool ended)
{
    if (server->serving)
        loop_release(server->loop);
    if (server->has_client && server->in > STDERR_FILENO)
        close(server->in);
    if (server->has_client && server->out > STDERR_FILENO && server->out != server->in)
        close(server->out);
    timer_stop(server->loop, &server->hurry);
    inbox_stop(server->inbox);
    mcp_server_destroy(server->mcp);
    server->mcp = NULL;
    metrics_close(server->metrics);
    server->metrics = NULL;
    if (server->front)
        front_close(server->front);
    timer_stop(server->loop, &server->tick);
    host_close_private(server);
    if (server->store) /* it drops completions that are on their way to the front and the engine */
        server->store->ops->destroy(server->store);
    server->store = NULL;
    page_checks_drop(server);
    webhooks_destroy(server->webhooks);
    server->webhooks = NULL;
    front_destroy(server->front);
    server->front = NULL;
    if (server->engine)
        engine_destroy(server->engine);
    else
        hooks_finish(&server->hooks);
    server->engine = NULL;
    hosted_destroy(server->hosted);
    server->hosted = NULL;
    accounts_destroy(server->accounts); /* the last calls have let go of it */
    server->accounts = NULL;
    inbox_destroy(server->inbox);
    server->inbox = NULL;
    tokens_destroy(server->tokens);
    server->tokens = NULL;
    keyring_destroy(server->private_ring);
    server->private_ring = NULL;
    keyring_destroy(server->ring);
    server->ring = NULL;
    if (!ended) /* its code still runs, and uses what is left */
        return;
    plugins_unload(server); /* their threads may have used the loop until now */
    /* What was deferred finds the rest gone, and frees itself. It may still let go of a target. */
    loop_turn(server->loop, 0);
    local_destroy(server->local);
    plugins_free(server); /* nothing points to their code any more */
    catalog_destroy(server->catalog);
    loop_destroy(server->loop);
    program_reload_drop(server);
    config_destroy(server->config);
    arena_finish(&server->arena);
    mem_free(server);
}

void nod_server_destroy(nod_server *server)
{
    struct broken_pipe held;

    if (!server)
        return;
    broken_pipe_hold(&held); /* streams are closed with their last words */
    if (server->engine)
        engine_stop(server->engine);
    bool ended = local_stop(server->local, HOST_WORKERS_MS);
    /* What was done, and what is given back, reaches the store, unless it is away. */
    int64_t until = clock_mono(clock_system()) + HOST_SETTLE_MS;
    while (server->engine && !engine_settled(server->engine) && clock_mono(clock_system()) < until)
        loop_turn(server->loop, HOST_TURN_MS);
    take_apart(server, ended);
    broken_pipe_release(&held);
}

void shutdown_crash(nod_server *server)
{
    take_apart(server, local_stop(server->local, HOST_WORKERS_MS));
}
