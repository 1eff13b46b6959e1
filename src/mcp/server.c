/*
 * mcp/server: the server itself: its options, its parts, and its regular work.
 *
 * The parts are made here and freed in reverse, each by the file it belongs to. drain.c has how a
 * server that serves comes to its end.
 */
#include "mcp/shared/delivery.h"
#include "mcp/era2025/caller.h"
#include "mcp/era2025/subscribers.h"
#include "mcp/shared/server_inside.h"

#include "base/mem.h"
#include "crypto/seal.h"
#include "mcp/parts.h"
#include "mcp/shared/announce.h"
#include "mcp/era2025/ask.h"
#include "mcp/era2026/ask.h"
#include "mcp/later/pending.h"
#include "mcp/era2026/caller.h"
#include "mcp/later/caller_away.h"
#include "mcp/era2026/methods.h"
#include "mcp/later/model.h"
#include "mcp/era2026/pipe.h"
#include "mcp/wire/result.h"
#include "mcp/era2025/session_store.h"
#include "mcp/shared/listened.h"
#include "mcp/shared/shares.h"
#include "mcp/tasks/tasks.h"
#include "mcp/later/view.h"
#include "mcp/shared/work.h"

enum {
    MCP_SWEEP_MS = 1000, /* how often idle sessions and old streams are ended */
};

enum { SERVER_TEXTS_MAX = 1 << 20 };

static void server_sweep(void *data)
{
    struct mcp_server *server = data;
    int64_t now = clock_mono(server->opts.clock);

    session_sweep(server, now);
    session_recheck(server, now);
    ended_streams_sweep(server, now);
    tasks_sweep(server);
    if (server->out.room > MCP_TREE_KEEP) {
        /* One large message must not stay in memory for ever. */
        buf_finish(&server->out);
        buf_init(&server->out, MCP_MESSAGE_MAX);
    }
    timer_set(server->opts.loop, &server->sweep, MCP_SWEEP_MS, server_sweep, server);
}

static void catalog_changed(void *data, const struct catalog_change *change)
{
    struct mcp_server *server = data;

    list_changed(server, change);
    engine_targets_changed(server->opts.engine, change->remove_count > 0);
}

static const char *const *copy_names(struct arena *arena, const char *const *names)
{
    size_t count = 0;

    if (!names)
        return NULL;
    while (names[count])
        count++;
    const char **copy = arena_zalloc(arena, (count + 1) * sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = arena_str(arena, str_of(names[i])).at;
    return copy;
}

static const struct result_keeper keepers[] = {
    { .lost = ended_streams_lost },
    { .lost = tasks_lost, .fetched = tasks_fetched },
    { 0 },
};

struct mcp_server *mcp_server_create(const struct mcp_opts *opts)
{
    struct mcp_server *server = MEM_NEW(struct mcp_server);
    struct mcp_opts *own = &server->opts;

    arena_init(&server->texts, SERVER_TEXTS_MAX);
    *own = *opts;
    own->self.name = arena_str(&server->texts, opts->self.name);
    own->self.title = arena_str(&server->texts, opts->self.title);
    own->self.version = arena_str(&server->texts, opts->self.version);
    own->instructions = arena_str(&server->texts, opts->instructions);
    own->boolean_confirm_clients = copy_names(&server->texts, opts->boolean_confirm_clients);
    if (own->heartbeat_ms <= 0)
        own->heartbeat_ms = MCP_HEARTBEAT_MS;
    if (own->session_idle_ms <= 0)
        own->session_idle_ms = MCP_SESSION_IDLE_MS;
    if (own->completion_ms <= 0)
        own->completion_ms = MCP_COMPLETION_MS;
    if (own->hold_ms <= 0)
        own->hold_ms = MCP_HOLD_MS;
    if (own->task_ttl_ms <= 0)
        own->task_ttl_ms = TASK_TTL_MS;
    if (own->soft_ms <= 0)
        own->soft_ms = PENDING_SOFT_MS;
    if (own->page_size == 0)
        own->page_size = MCP_PAGE_SIZE;

    arena_init(&server->message, MCP_TREE_MAX);
    buf_init(&server->out, MCP_MESSAGE_MAX);
    if (result_meta(&server->out, &own->self))
        own->self.meta = arena_str(&server->texts, buf_str(&server->out));
    buf_clear(&server->out);
    list_init(&server->works);
    queue_init(&server->queue, own->loop, MCP_LARGE_AT_ONCE, TURN_STORE);
    drain_create(server);
    server->shares = shares_create(own);
    server->list_changes = list_changes_create();
    server->away = callers_away_create(caller2025_keeps_session);
    server->sessions = sessions_create();
    server->ended_streams = ended_streams_create();
    deliveries_init(server, keepers);
    server->subjects = subjects_create();
    server->listened = listened_create();
    server->rounds = rounds2026_create(opts->keyring ? opts->keyring : keyring_random());
    server->listeners = listeners_create();
    server->tasks = tasks_create();
    server->pipe2026 = pipe2026_create();
    server->client = client_surface_create(server);
    engine_add_surface(own->engine, server->client);
    server->mrtr = ask2026_surface_create(server->opts.engine);
    engine_add_surface(own->engine, server->mrtr);
    server->views = views_create(server);
    server->pending = pending_create(server);
    catalog_watch(own->catalog, catalog_changed, server);
    engine_use_catalog(own->engine, own->catalog);
    heard_listen(server);
    engine_recover(own->engine, &(struct recovery_opts){ .orphan = tasks_orphan,
                                                         .data = server,
                                                         .node_ttl_ms = own->node_ttl_ms });
    timer_set(own->loop, &server->sweep, MCP_SWEEP_MS, server_sweep, server);
    return server;
}

void mcp_server_destroy(struct mcp_server *server)
{
    if (!server)
        return;
    catalog_watch(server->opts.catalog, NULL, NULL);
    engine_use_catalog(server->opts.engine, NULL);
    drain_give_up(server);
    views_drop(server->views);
    mcp_stdio_stop(server);
    era2026_stop(server);
    sessions_end(server, STR("the server is closing"));
    loop_settle(server->opts.loop); /* lets cancelled calls end, if the store is near */
    sessions_orphan(server);
    if (server->front)
        front_close(server->front); /* clients that still wait are told before their calls go */
    caller_away_stop(server);
    server_work_drop_all(server);
    timer_stop(server->opts.loop, &server->sweep);
    announce_stop(server);
    client_surface_destroy(server->client);
    ask2026_surface_destroy(server->mrtr);
    pipe2026_destroy(server->pipe2026);
    listeners_destroy(server->listeners);
    rounds2026_destroy(server->rounds);
    subjects_destroy(server->subjects);
    ended_streams_destroy(server->ended_streams);
    deliveries_drop(server);
    tasks_destroy(server);
    sessions_destroy(server->sessions);
    callers_away_destroy(server->away);
    model_destroy(server->model);
    pending_destroy(server->pending);
    views_destroy(server->views);
    list_changes_destroy(server);
    shares_destroy(server->shares);
    listened_destroy(server->listened);
    queue_finish(&server->queue);
    drain_destroy(server);
    buf_finish(&server->out);
    arena_finish(&server->message);
    arena_finish(&server->texts);
    mem_free(server);
}

/* --- from outside of calls --- */

void mcp_use_pages(struct mcp_server *server, struct front *pages)
{
    server->pages = pages;
}

void mcp_url_done(struct mcp_server *server, struct str elicitation_id)
{
    if (!client_surface_url_done(server->client, elicitation_id))
        announce_url_done(server, elicitation_id);
    ask_url_done(server->opts.engine, elicitation_id, NULL, NULL);
}
