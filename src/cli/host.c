/*
 * cli/host: puts the parts of a server together, drives them, and takes them apart again.
 *
 * The engine knows no clock of its own: before the loop waits, its next deadline becomes a timer.
 * The parts are made in the order they need each other and let go in reverse. A handler that never
 * comes back keeps what it may still touch: that is left to the end of the process.
 *
 * Standard output belongs to the protocol. While it is spoken there, file descriptor 1 is standard
 * error, so that a printf in a handler cannot break a message, and descriptor 0 is empty.
 */
#include "cli/host.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/options.h"
#include "cli/secrets.h"
#include "cli/storage.h"
#include "provider/handler.h"
#include "store/memory.h"

/* --- time --- */

static void defer_on_loop(void *ctx, void (*fn)(void *data), void *data)
{
    loop_defer(ctx, fn, data);
}

static void tick(void *data)
{
    nod_server *server = data;

    engine_tick(server->engine);
}

static void before_wait(void *data)
{
    nod_server *server = data;
    int64_t due = server->engine ? engine_deadline(server->engine) : INT64_MAX;

    if (due == INT64_MAX)
        timer_stop(server->loop, &server->tick);
    else
        timer_set(server->loop, &server->tick, due - clock_mono(clock_system()), tick, server);
}

/* --- making a server --- */

static bool opts_fit(const struct nod_server_opts *opts)
{
    const char *wrong = NULL;

    if (!opts->name || !*opts->name)
        wrong = "a server needs a name";
    else if (!opts->version || !*opts->version)
        wrong = "a server needs a version";
    else if (opts->ask_ttl_ms < 0)
        wrong = "ask_ttl_ms is negative";
    else if (opts->workers < 0 || opts->workers > WORKERS_MAX)
        wrong = "workers is negative, or more than there may be (WORKERS_MAX)";
    else if (opts->heartbeat_ms < 0)
        wrong = "heartbeat_ms is negative";
    else if (opts->task_ttl_ms < 0)
        wrong = "task_ttl_ms is negative";
    else if (opts->session_idle_ms < 0)
        wrong = "session_idle_ms is negative";
    else if (opts->node_ttl_ms < 0)
        wrong = "node_ttl_ms is negative";
    else if (opts->keep_ms < 0)
        wrong = "keep_ms is negative";
    if (wrong)
        LOG_ERROR("the server's options are not valid", LOG_CSTR("why", wrong));
    return !wrong;
}

static const char *keep(nod_server *server, const char *text)
{
    return text ? arena_str(&server->arena, text_clean(&server->arena, str_of(text))).at : NULL;
}

static const char *const *keep_list(nod_server *server, const char *const *list)
{
    size_t count = 0;

    while (list && list[count])
        count++;
    if (!count)
        return NULL;
    const char **copy = arena_zalloc(&server->arena, (count + 1) * sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = keep(server, list[i]);
    return copy;
}

/* Of a list with commas; an empty name is none of a surface, and will be refused as such. */
static const char *const *split_names(nod_server *server, struct str list)
{
    size_t most = 2, count = 0;

    for (size_t i = 0; i < list.len; i++)
        most += list.at[i] == ',';
    const char **names = arena_zalloc(&server->arena, most * sizeof(*names));
    for (bool more = names != NULL; more;) {
        struct str name = list;
        more = str_cut(list, ',', &name, &list);
        names[count++] = arena_str(&server->arena, name).at;
    }
    return names;
}

static bool keep_opts(nod_server *server, const struct nod_server_opts *opts)
{
    server->opts = *opts;
    server->opts.name = keep(server, opts->name);
    server->opts.version = keep(server, opts->version);
    server->opts.title = keep(server, opts->title);
    server->opts.instructions = keep(server, opts->instructions);
    server->opts.store = keep(server, opts->store);
    server->opts.boolean_confirm_clients = keep_list(server, opts->boolean_confirm_clients);
    server->opts.surfaces = keep_list(server, opts->surfaces);
    if (server->arena.exhausted)
        LOG_ERROR("the server's options are not valid",
                  LOG_CSTR("why", "their texts are too long"));
    return !server->arena.exhausted;
}

static bool replay_check_wanted(void)
{
    const char *set = getenv("NOD_REPLAY_CHECK");

    return set && strcmp(set, "1") == 0;
}

nod_server *nod_server_create(const struct nod_server_opts *given)
{
    struct nod_server_opts opts;
    nod_server *server;

    OPTS_READ(opts, given);
    if (!opts_fit(&opts))
        return NULL;
    server = MEM_NEW(struct nod_server);
    arena_init(&server->arena, HOST_TEXT_MAX);
    if (!keep_opts(server, &opts)) {
        arena_finish(&server->arena);
        mem_free(server);
        return NULL;
    }
    server->loop = loop_create();
    server->store = memory_store_create(&(struct memory_opts){
        .clock = clock_held(), .defer = defer_on_loop, .defer_ctx = server->loop });
    server->engine =
        engine_create(&(struct engine_opts){ .clock = clock_held(),
                                             .store = server->store,
                                             .defer = defer_on_loop,
                                             .defer_ctx = server->loop,
                                             .ask_ttl_ms = opts.ask_ttl_ms,
                                             .one_ask_per_scope = opts.one_ask_per_scope });
    server->catalog = catalog_create();
    server->local = local_create(&(struct local_opts){ .server = server,
                                                       .catalog = server->catalog,
                                                       .loop = server->loop,
                                                       .workers = (size_t)opts.workers,
                                                       .replay_check = replay_check_wanted() });
    loop_before_wait(server->loop, before_wait, server);
    return server;
}

/* What was done, and what is given back, reaches the store, unless that is away. */
static void settle(nod_server *server)
{
    int64_t until = clock_mono(clock_system()) + HOST_SETTLE_MS;

    while (!engine_settled(server->engine) && clock_mono(clock_system()) < until)
        loop_turn(server->loop, HOST_TURN_MS);
}

void nod_server_destroy(nod_server *server)
{
    if (!server)
        return;
    engine_stop(server->engine);
    bool ended = local_stop(server->local, HOST_WORKERS_MS);
    settle(server);
    mcp_server_destroy(server->mcp);
    server->mcp = NULL;
    front_destroy(server->front);
    server->front = NULL;
    timer_stop(server->loop, &server->tick);
    server->store->ops->destroy(
        server->store); /* first: it drops what is on its way to the engine */
    server->store = NULL;
    engine_destroy(server->engine);
    server->engine = NULL;
    tokens_destroy(server->tokens);
    server->tokens = NULL;
    keyring_destroy(server->ring);
    server->ring = NULL;
    if (!ended) /* its code still runs, on what is left */
        return;
    local_destroy(server->local);
    catalog_destroy(server->catalog);
    loop_turn(server->loop, 0); /* the store's completions find it gone, and free themselves */
    loop_destroy(server->loop);
    arena_finish(&server->arena);
    mem_free(server);
}

/* --- what an author registers --- */

nod_status nod_add_tools(nod_server *server, const nod_tool *tools, size_t count, size_t tool_size)
{
    return local_add_tools(server->local, tools, count, tool_size);
}

nod_status nod_add_resources(nod_server *server, const nod_resource *resources, size_t count,
                             size_t resource_size)
{
    return local_add_resources(server->local, resources, count, resource_size);
}

nod_status nod_add_prompts(nod_server *server, const nod_prompt *prompts, size_t count,
                           size_t prompt_size)
{
    return local_add_prompts(server->local, prompts, count, prompt_size);
}

bool nod_remove_tool(nod_server *server, const char *name)
{
    return name && local_remove_tool(server->local, str_of(name));
}

nod_status nod_hook_with(nod_server *server, const struct nod_hook_opts *opts)
{
    return local_add_hook(server->local, server->engine, opts);
}

/* --- from any thread --- */

struct message {
    nod_server *server;
    void (*tell)(struct mcp_server *mcp, struct str text);
    size_t len;
    char text[];
};

static void message_arrives(void *data)
{
    struct message *message = data;

    if (message->server->mcp)
        message->tell(message->server->mcp, str_n(message->text, message->len));
    mem_free(message);
}

static void post_text(nod_server *server, void (*tell)(struct mcp_server *, struct str),
                      const char *text)
{
    struct str s = str_of(text);
    struct message *message = mem_alloc(sizeof(*message) + s.len);

    message->server = server;
    message->tell = tell;
    message->len = s.len;
    if (s.len)
        memcpy(message->text, s.at, s.len);
    loop_post(server->loop, message_arrives, message);
}

void nod_resource_updated(nod_server *server, const char *uri)
{
    post_text(server, mcp_resource_updated, uri);
}

void nod_url_done(nod_server *server, const char *elicitation_id)
{
    post_text(server, mcp_url_done, elicitation_id);
}

static void drained(void *data)
{
    nod_server *server = data;

    loop_stop(server->loop);
}

static void stop(void *data)
{
    nod_server *server = data;

    if (server->stopping)
        return;
    server->stopping = true;
    if (server->front)
        front_stopping(server->front);
    if (server->mcp)
        mcp_drain(server->mcp, HOST_DRAIN_MS, drained, server);
    else
        drained(server);
}

void nod_stop(nod_server *server)
{
    loop_post(server->loop, stop, server);
}

/* --- serving --- */

static void on_signal(void *data)
{
    nod_server *server = data;

    if (server->stopping)
        _exit(130); /* asked twice: at once */
    LOG_INFO("stopping");
    stop(server);
}

/* Before anybody is told that we serve: who is told may send one. */
static void watch_signals(nod_server *server)
{
    if (!loop_signal(server->loop, SIGINT, on_signal, server) ||
        !loop_signal(server->loop, SIGTERM, on_signal, server))
        LOG_WARN("signals cannot be watched: SIGINT and SIGTERM end the process at once");
}

static size_t first_of(size_t given, size_t programs, size_t usual)
{
    return given ? given : programs ? programs : usual;
}

/* The client that made the call is asked by the protocol: every surface is there by now. */
static bool use_surfaces(nod_server *server)
{
    struct str unknown;
    bool known = engine_use_surfaces(server->engine, server->opts.surfaces, &unknown);

    if (known && server->opts.portable_states && engine_asks_together(server->engine))
        LOG_ERROR("the server's options are not valid",
                  LOG_CSTR("why",
                           "with portable states a call goes on at servers that know nothing "
                           "of what was answered elsewhere: name one surface, or let the "
                           "servers share a store"));
    else if (known)
        return true;
    else
        LOG_ERROR("the server's options are not valid", LOG_CSTR("why", "there is no such surface"),
                  LOG_STR("surface", unknown),
                  LOG_STR("known", engine_surface_names(server->engine, &server->arena)));
    return false;
}

/* False: it cannot serve, and has said why. */
static bool make_mcp(nod_server *server, const size_t *given)
{
    const struct nod_server_opts *opts = &server->opts;
    static const size_t none[OPTIONS_SHARES];

    if (!given)
        given = none;

    watch_signals(server);
    server->mcp = mcp_server_create(&(struct mcp_opts){
        .loop = server->loop,
        .engine = server->engine,
        .catalog = server->catalog,
        .clock = clock_held(),
        .name = str_of(opts->name),
        .title = str_of(opts->title),
        .version = str_of(opts->version),
        .instructions = str_of(opts->instructions),
        .heartbeat_ms = opts->heartbeat_ms,
        .session_idle_ms = opts->session_idle_ms,
        .page_size = opts->page_size,
        .boolean_confirm_clients = opts->boolean_confirm_clients,
        .task_ttl_ms = opts->task_ttl_ms,
        .node_ttl_ms = opts->node_ttl_ms,
        .per_principal = {
            [MCP_SHARE_SESSIONS] = first_of(given[OPTIONS_SESSIONS], opts->sessions_per_principal, 0),
            [MCP_SHARE_CALLS] = first_of(given[OPTIONS_CALLS], opts->calls_per_principal, 0),
            [MCP_SHARE_LISTENERS] = first_of(given[OPTIONS_LISTENERS], opts->listeners_per_principal, 0),
            [MCP_SHARE_SUBSCRIPTIONS] = first_of(given[OPTIONS_SUBSCRIPTIONS], opts->subscriptions_per_principal, 0),
            [MCP_SHARE_TASKS] = first_of(given[OPTIONS_TASKS], opts->tasks_per_principal, 0),
        },
        .portable_states = opts->portable_states,
        .keyring = server->ring ? keyring_copy(server->ring) : NULL,
    });
    return use_surfaces(server);
}

/* Takes 0 and 1 away from the rest of the program. */
static bool take_stdio(int *in, int *out)
{
    int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);

    *in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    *out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    bool fine = empty >= 0 && *in >= 0 && *out >= 0;
    if (fine) {
        fflush(stdout);
        fine = dup2(empty, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
    }
    if (empty >= 0)
        close(empty);
    return fine;
}

bool host_serve_stdio(nod_server *server)
{
    int in, out;

    if (!take_stdio(&in, &out)) {
        LOG_ERROR("standard input or output is closed");
        return false;
    }
    if (!make_mcp(server, NULL))
        return false;
    nod_status status = mcp_stdio_start(server->mcp, in, out, stop, server);
    if (status != NOD_OK)
        LOG_ERROR("cannot serve on standard input and output",
                  LOG_CSTR("why", nod_status_name(status)));
    return status == NOD_OK;
}

/* What two nodes could both go on with must not be in a store that only one of them asks. */
static bool portable_fits(nod_server *server)
{
    const char *wrong = NULL;

    if (!server->opts.portable_states)
        return true;
    if (!server->ring)
        wrong = "portable states need a secret that all servers have: set MCP_ELICITATION_SECRET";
    else if (server->store->ops->shared || server->store->ops->durable)
        wrong = "portable states are for servers that share no store: take out --portable-states, "
                "or keep calls in memory:";
    if (wrong) {
        LOG_ERROR("the server's options are not valid", LOG_CSTR("why", wrong));
        return false;
    }
    for (size_t i = 0; i < catalog_count(server->catalog, TARGET_TOOL, false); i++) {
        const struct target *tool = catalog_at(server->catalog, TARGET_TOOL, false, i);
        if (!tool->portable)
            LOG_WARN("with portable states this tool is refused to 2026 clients: it does not say "
                     ".portable",
                     LOG_STR("tool", tool->name));
    }
    return true;
}

bool host_open_store(nod_server *server, const struct options *options)
{
    if (!secrets_keyring(&server->ring))
        return false;
    size_t in_all = first_of(options->pending_asks, server->opts.pending_asks, ENGINE_PENDING_ASKS);
    size_t each =
        first_of(options->pending_asks_per_principal, server->opts.pending_asks_per_principal,
                 ENGINE_PENDING_ASKS_PER_PRINCIPAL);
    struct store *store = storage_open(&(struct storage_opts){
        .address = options->store ? options->store : server->opts.store,
        .ephemeral = options->ephemeral,
        .loop = server->loop,
        .ring = server->ring,
        .keep_ms = options->keep_ms ? options->keep_ms : server->opts.keep_ms,
        .pending_asks = in_all,
        .pending_asks_per_principal = each,
    });
    if (!store)
        return false;
    engine_bound_asks(server->engine, in_all, each);
    engine_use_store(server->engine, store);
    server->store->ops->destroy(server->store); /* nothing was in it yet */
    server->store = store;
    server->opts.portable_states |= options->portable_states;
    if (options->surfaces)
        server->opts.surfaces = split_names(server, str_of(options->surfaces));
    return portable_fits(server);
}

static bool load_tokens(nod_server *server, const char *path)
{
    struct str problem = STR_NONE;

    server->tokens = tokens_load(path, &server->arena, &problem);
    if (!server->tokens)
        LOG_ERROR("the token file cannot be used", LOG_CSTR("file", path), LOG_STR("why", problem));
    return server->tokens != NULL;
}

static void say_where(const nod_server *server, struct str host, size_t which)
{
    char url[512];
    bool six = host.len && memchr(host.at, ':', host.len);

    if (str_starts(host, STR("unix:")))
        snprintf(url, sizeof(url), STR_FMT, STR_ARG(host));
    else
        snprintf(url, sizeof(url), "%s://%s" STR_FMT "%s:%d/mcp",
                 front_has_tls(server->front) ? "https" : "http", six ? "[" : "", STR_ARG(host),
                 six ? "]" : "", front_port(server->front, which));
    LOG_INFO("listening", LOG_CSTR("url", url));
}

/* As many descriptors as the system lets us have: each client is one. */
static void raise_descriptors(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= files.rlim_max)
        return;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        LOG_DEBUG("the limit of open files stays as it is");
}

/* A shared store may still be on its way to be told of hints. Whoever comes first should not meet
 * a server that is not ready; one whose store stays away says so at /readyz. */
static void await_store(nod_server *server)
{
    int64_t until = loop_now(server->loop) + HOST_STORE_MS;
    struct store *store = server->store;
    struct str why;

    if (!store->ops->shared || !store->ops->ready)
        return;
    while (!store->ops->ready(store, &why) && loop_now(server->loop) < until)
        loop_turn(server->loop, HOST_TURN_MS);
}

static struct str listen_host(const struct options_listen *listen)
{
    return listen->host.len ? listen->host : STR("127.0.0.1");
}

static void on_hangup(void *data)
{
    nod_server *server = data;

    if (server->front)
        front_reload(server->front);
}

/* Nobody is told that we listen before we do everywhere. */
static bool listen_all(nod_server *server, const struct options *options)
{
    for (size_t i = 0; i < options->listen_count; i++) {
        const struct options_listen *listen = &options->listen[i];
        nod_status status = front_listen(server->front, listen_host(listen), listen->port);
        if (status != NOD_OK) {
            LOG_ERROR("cannot serve over HTTP", LOG_STR("host", listen_host(listen)),
                      LOG_INT("port", listen->port), LOG_CSTR("why", nod_status_name(status)));
            return false;
        }
    }
    for (size_t i = 0; i < options->listen_count; i++)
        say_where(server, listen_host(&options->listen[i]), i);
    return true;
}

bool host_serve_http(nod_server *server, const struct options *options)
{
    if (options->token_file && !load_tokens(server, options->token_file))
        return false;
    raise_descriptors();
    await_store(server);
    if (!make_mcp(server, options->per_principal))
        return false;
    server->front = front_create(&(struct front_opts){
        .loop = server->loop,
        .engine = server->engine,
        .tokens = server->tokens,
        .allowed_hosts = options->allow_hosts,
        .allowed_origins = options->allow_origins,
        .public_url = options->public_url,
        .trusted_proxies = options->trusted_proxies,
        .tls_cert = options->tls_cert,
        .tls_key = options->tls_key,
    });
    if (server->front && front_has_tls(server->front) &&
        !loop_signal(server->loop, SIGHUP, on_hangup, server))
        LOG_WARN("SIGHUP cannot be watched: the certificate is not read anew");
    return server->front && mcp_http_start(server->mcp, server->front) == NOD_OK &&
           listen_all(server, options);
}

void host_run(nod_server *server)
{
    /* The loop ends when the server has, and not when it happens to have nothing to wait for. */
    loop_hold(server->loop);
    loop_run(server->loop);
    loop_release(server->loop);
}
