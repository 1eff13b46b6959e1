/*
 * mcp/server: the server itself: its options, its clockwork, its end.
 *
 * A drain refuses new requests, lets what runs end, and then cancels what waits for a person: its
 * clients hold a connection to this process. With a durable or shared store it is unloaded instead,
 * and the clients come back for it. A drain is complete when no call is left, or when its time is
 * up.
 */
#include "mcp/announce.h"
#include "mcp/server_inside.h"

#include "base/log.h"
#include "base/mem.h"
#include "crypto/seal.h"
#include "mcp/caller_away.h"
#include "mcp/era2026.h"
#include "mcp/caller2025.h"
#include "mcp/ask2026.h"
#include "mcp/result.h"
#include "mcp/session_store.h"
#include "mcp/shares.h"
#include "mcp/request_state.h"
#include "mcp/tasks.h"
#include "mcp/ask2025.h"
#include "mcp/caller2026.h"

enum {
    MCP_SUBJECTS_MAX = 100000,     /* resources that somebody subscribes to */
    MCP_HEARTBEAT_MS = 15000,      /* between signs of life on a stream that waits */
    MCP_SESSION_IDLE_MS = 3600000, /* a session without a sign of life ends then */
    MCP_PAGE_SIZE = 100,           /* rows of a page of a list */
    MCP_SWEEP_MS = 1000,           /* how often idle sessions and old streams are looked for */
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

static void catalog_changed(void *data, enum target_kind kind)
{
    struct mcp_server *server = data;

    session_tell_changed(server, kind);
    engine_targets_changed(server->opts.engine);
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

/* Good as long as this process: nobody else can go on with what it has given out. */
static struct keyring *random_keyring(void)
{
    struct keyring *ring = NULL;
    const char *why;
    struct id parts[2];
    char secret[2 * ID_LEN];

    for (size_t i = 0; i < 2; i++) {
        id_random(&parts[i]);
        memcpy(secret + i * ID_LEN, parts[i].text, ID_LEN);
    }
    keyring_create(&(struct str){ secret, sizeof(secret) }, 1, &ring, &why);
    return ring;
}

struct mcp_server *mcp_server_create(const struct mcp_opts *opts)
{
    struct mcp_server *server = MEM_NEW(struct mcp_server);
    struct mcp_opts *own = &server->opts;

    arena_init(&server->texts, SERVER_TEXTS_MAX);
    *own = *opts;
    own->name = arena_str(&server->texts, opts->name);
    own->title = arena_str(&server->texts, opts->title);
    own->version = arena_str(&server->texts, opts->version);
    own->instructions = arena_str(&server->texts, opts->instructions);
    own->boolean_confirm_clients = copy_names(&server->texts, opts->boolean_confirm_clients);
    if (own->heartbeat_ms <= 0)
        own->heartbeat_ms = MCP_HEARTBEAT_MS;
    if (own->session_idle_ms <= 0)
        own->session_idle_ms = MCP_SESSION_IDLE_MS;
    if (own->hold_ms <= 0)
        own->hold_ms = MCP_HOLD_MS;
    if (own->task_ttl_ms <= 0)
        own->task_ttl_ms = TASK_TTL_MS;
    if (own->page_size == 0)
        own->page_size = MCP_PAGE_SIZE;

    arena_init(&server->message, MCP_TREE_MAX);
    buf_init(&server->out, MCP_MESSAGE_MAX);
    if (result_meta(&server->out, own))
        own->result_meta = arena_str(&server->texts, buf_str(&server->out));
    buf_clear(&server->out);
    buf_init(&server->plain, STATE_PORTABLE_MAX);
    buf_init(&server->sealed, STATE_PORTABLE_MAX);
    buf_init(&server->requests, MCP_MESSAGE_MAX);
    idmap_init(&server->sessions, MCP_SESSIONS_MAX, offsetof(struct session, id));
    map_init(&server->subjects, MCP_SUBJECTS_MAX);
    list_init(&server->by_use);
    list_init(&server->ending);
    server->ended_streams = ended_streams_create();
    list_init(&server->callers);
    list_init(&server->listeners);
    list_init(&server->works);
    list_init(&server->callers_away);
    map_init(&server->on_pipe, MCP_PIPE_REQUESTS_MAX);
    shares_init(server);
    server->tasks = tasks_create();
    server->keyring = opts->keyring ? opts->keyring : random_keyring();
    server->client = client_surface_create(server);
    engine_add_surface(own->engine, server->client);
    server->mrtr = ask2026_surface_create();
    engine_add_surface(own->engine, server->mrtr);
    catalog_watch(own->catalog, catalog_changed, server);
    engine_use_catalog(own->engine, own->catalog);
    announce_listen(server);
    engine_recover(own->engine, &(struct recovery_opts){ .orphan = caller_away_orphan,
                                                         .data = server,
                                                         .node_ttl_ms = own->node_ttl_ms });
    timer_set(own->loop, &server->sweep, MCP_SWEEP_MS, server_sweep, server);
    return server;
}

void server_work_add(struct mcp_server *server, struct server_work *work)
{
    work->server = server;
    list_append(&server->works, &work->link);
}

void server_work_done(struct server_work *work)
{
    list_remove(&work->link);
    if (work->server && work->server->drained)
        server_check_drained(work->server);
}

static void end_sessions(struct mcp_server *server, struct str why)
{
    struct list *at;

    while ((at = list_first(&server->by_use))) {
        struct session *session = LIST_OF(at, struct session, by_use);
        LIST_EACH (link, &session->call_list) {
            struct caller2025 *call = LIST_OF(link, struct caller2025, link);
            if (call->stream->of_call && !call->cancelled)
                caller2025_leave(call); /* others may go on with it */
        }
        session_end(session, why);
    }
}

static void not_any_more(void *data)
{
    (void)data;
}

void mcp_server_destroy(struct mcp_server *server)
{
    if (!server)
        return;
    catalog_watch(server->opts.catalog, NULL, NULL);
    engine_use_catalog(server->opts.engine, NULL);
    server->draining = server->drained = true;
    server->drain_done = not_any_more;
    mcp_stdio_stop(server);
    era2026_stop(server);
    end_sessions(server, STR("the server is closing"));
    loop_settle(
        server->opts.loop); /* what was cancelled comes to its end where the store is near */
    LIST_EACH (at, &server->ending)
        session_orphan(LIST_OF(at, struct session, by_use));
    if (server->front)
        front_close(server->front); /* clients that still wait are told before their calls go */
    caller_away_stop(server);
    LIST_EACH (at, &server->works) {
        struct server_work *work = LIST_OF(at, struct server_work, link);
        list_remove(at);
        if (work->drop)
            work->drop(work);
        else
            work->server = NULL;
    }
    timer_stop(server->opts.loop, &server->sweep);
    timer_stop(server->opts.loop, &server->drain_limit);
    timer_stop(server->opts.loop, &server->drain_turn);
    timer_stop(server->opts.loop, &server->tell);
    announce_stop(server);
    client_surface_destroy(server->client);
    ask2026_surface_destroy(server->mrtr);
    keyring_destroy(server->keyring);
    ended_streams_destroy(server->ended_streams);
    map_finish(&server->subjects);
    idmap_finish(&server->sessions);
    shares_finish(server);
    buf_finish(&server->out);
    buf_finish(&server->plain);
    buf_finish(&server->sealed);
    buf_finish(&server->requests);
    arena_finish(&server->message);
    arena_finish(&server->texts);
    mem_free(server);
}

/* --- drain --- */

static void drain_flushed(void *data)
{
    struct mcp_server *server = data;

    server->flushed = true;
    server_check_drained(server);
}

/* What the store has been given comes home first, unless the store is away. */
static void drain_complete(struct mcp_server *server)
{
    void (*done)(void *) = server->drain_done;

    if (!list_empty(&server->works) && !server->flushed) {
        if (!server->flushing)
            timer_set(server->opts.loop, &server->drain_limit, MCP_FLUSH_MS, drain_flushed, server);
        server->flushing = true;
        return;
    }
    timer_stop(server->opts.loop, &server->drain_limit);
    server->drain_done = not_any_more;
    done(server->drain_data);
}

static void drain_http_done(void *data)
{
    struct mcp_server *server = data;

    server->http_drained = true;
    if (!server->stdio)
        drain_complete(server);
}

static void drain_last(struct mcp_server *server)
{
    if (server->drained)
        return;
    server->drained = true;
    timer_stop(server->opts.loop, &server->drain_limit);
    mcp_stdio_close(server);
    end_sessions(server, STR("the server is shutting down"));
    if (server->front)
        front_drain(server->front, MCP_FLUSH_MS, drain_http_done, server);
    else
        timer_set(server->opts.loop, &server->drain_turn, 0, drain_http_done, server);
}

/* Waiting clients are told, and not left hanging. With a durable or shared store their calls are
 * still there, and they come back for them. */
static void cancel_waiting(struct mcp_server *server)
{
    LIST_EACH (at, &server->by_use) {
        struct session *session = LIST_OF(at, struct session, by_use);
        LIST_EACH (link, &session->call_list) {
            struct caller2025 *call = LIST_OF(link, struct caller2025, link);
            if (call->waiting && !call->cancelled && call->stream->of_call) {
                caller2025_leave(call);
            } else if (call->waiting && !call->cancelled) {
                call->cancelled = true;
                call_cancel(call->caller.call, STR("the server is shutting down"));
            }
        }
    }
}

static void drain_step(void *data)
{
    struct mcp_server *server = data;

    if (server->drained || server->calls > server->waiting)
        return;
    cancel_waiting(server);
    if (server->calls == 0)
        drain_last(server);
}

static void drain_overdue(void *data)
{
    struct mcp_server *server = data;

    if (server->calls)
        LOG_WARN("calls still ran when the time to stop was up", LOG_INT("calls", server->calls));
    cancel_waiting(server);
    drain_last(server);
}

void server_check_drained(struct mcp_server *server)
{
    mcp_stdio_check_drained(server);
    /* Later: this comes from inside of the engine. */
    if (server->drained && server->http_drained && !server->stdio)
        drain_complete(server);
    else if (server->draining && !server->drained)
        timer_set(server->opts.loop, &server->drain_turn, 0, drain_step, server);
}

void mcp_drain(struct mcp_server *server, int grace_ms, void (*done)(void *data), void *data)
{
    if (server->draining)
        return;
    server->draining = true;
    era2026_drain(server, false);
    server->drain_done = done;
    server->drain_data = data;
    timer_set(server->opts.loop, &server->drain_limit, grace_ms, drain_overdue, server);
    timer_set(server->opts.loop, &server->drain_turn, 0, drain_step, server);
}

/* --- from outside of calls --- */

void mcp_url_done(struct mcp_server *server, struct str elicitation_id)
{
    client_surface_url_done(server->client, elicitation_id);
    ask_url_done(server->opts.engine, elicitation_id, NULL, NULL);
}
