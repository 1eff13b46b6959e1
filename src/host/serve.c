/*
 * host/serve: a server begins to serve, over stdio or over HTTP.
 *
 * Over HTTP it does so in steps, so that a module can come in between:
 *
 *     host_open_store   the store that the options name is open
 *     host_open_http    the front door is there, with the routes of /mcp; it does not listen yet
 *                       (here a module adds its routes and its surface)
 *     host_listen       the surfaces are in use, and it listens
 *
 * Over stdio, standard output belongs to the protocol. File descriptor 1 is then standard error, so
 * that a printf in a handler cannot break a message, and descriptor 0 is empty. A program that has
 * other descriptors for its client (nod_stdio) keeps its standard streams as they are.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/similar.h"
#include "host/host.h"
#include "host/operator_keys.h"
#include "host/storage.h"
#include "surface/model.h"

/* --- the store --- */

/* `tool` NULL: targets without limits of their own, such as prompts and resources. */
static bool state_has_room(nod_server *server, const struct target *tool)
{
    if (mcp_state_carries(server->engine, tool))
        return true;
    LOG_ERROR("the server's options are not valid", LOG_STR("tool", tool ? tool->name : STR("any")),
              LOG_CSTR("why", "a portable state carries what a call has learned, and has room for "
                              "less of it than these calls may learn: set .journal_bytes of the "
                              "tool or of the server"),
              LOG_INT("journal_bytes_max", MCP_STATE_JOURNAL_MAX));
    return false;
}

/* A call that two nodes could both go on with must not be in a store that only one of them asks. */
bool host_portable_fits(nod_server *server)
{
    const char *wrong = NULL;

    if (!server->settings.opts.portable_states)
        return true;
    if (!server->ring)
        wrong = "--portable-states (.portable_states): portable states need a secret that all "
                "servers have: set MCP_ELICITATION_SECRET";
    else if (!storage_is_memory(server->settings.opts.store))
        wrong = "portable states are for servers that share no store: take out --portable-states, "
                "or keep calls in memory:";
    if (wrong) {
        LOG_ERROR("the server's options are not valid", LOG_CSTR("why", wrong));
        return false;
    }
    if (!state_has_room(server, NULL))
        return false;
    for (size_t i = 0; i < catalog_count(server->catalog, TARGET_TOOL, false); i++) {
        const struct target *tool = catalog_at(server->catalog, TARGET_TOOL, false, i);
        if (tool->portable && !state_has_room(server, tool))
            return false;
        if (!tool->portable)
            LOG_WARN("with portable states this tool is refused to 2026 clients: it does not say "
                     ".portable",
                     LOG_STR("tool", tool->name));
    }
    return true;
}

static void defer_on_loop(void *ctx, void (*fn)(void *data), void *data)
{
    loop_defer(ctx, fn, data);
}

/* The bytes of a journal: of an operator who gives a number of entries alone, those that go with it
 * and no fewer than the program's. */
static size_t journal_bytes(const struct settings *settings)
{
    size_t bytes = settings->opts.journal_bytes,
           usual = engine_journal_bytes_for(settings->opts.journal_entries);
    bool entries_alone = settings_given(settings, "--journal-entries") &&
                         !settings_given(settings, "--journal-bytes");

    return entries_alone && bytes && bytes < usual ? usual : bytes;
}

void host_make_engine(nod_server *server, const struct clock *clock, struct store *store)
{
    const struct nod_server_opts *opts = &server->settings.opts;
    struct grant_rule rules[GRANT_RULES_MAX];

    server->store = store;
    server->engine = engine_create(&(struct engine_opts){
        .clock = clock,
        .store = store,
        .defer = defer_on_loop,
        .defer_ctx = server->loop,
        .hooks = &server->hooks,
        .ask_ttl_ms = opts->ask_ttl_ms,
        .next_turn_ms = opts->next_surface_ms,
        .one_ask_per_scope = opts->one_ask_per_scope,
        .consent = opts->consent,
        .model_may_consent = opts->model_may_consent,
        .confirm_destructive = opts->confirm_destructive,
        .allow_fields = opts->allow_fields,
        .remember = rules,
        .remember_count = remember_read(opts->remember, rules),
        .limits = { .pending_asks = opts->pending_asks,
                    .pending_asks_per_principal = opts->pending_asks_per_principal,
                    .journal_entries = opts->journal_entries,
                    .journal_bytes = journal_bytes(&server->settings) },
    });
}

bool host_open_store(nod_server *server)
{
    const struct settings *settings = &server->settings;
    const struct nod_server_opts *opts = &settings->opts;

    if (!operator_keyring(server->settings.secret_file, &server->ring))
        return false;
    if (server->ring)
        local_use_keyring(server->local, keyring_copy(server->ring));
    /* Without tokens there is one principal, which may have everything. */
    size_t kept_each = opts->kept_mib_per_principal ? opts->kept_mib_per_principal
                       : settings->opts.token_file  ? ENGINE_KEPT_MIB_PER_PRINCIPAL
                                                    : opts->kept_mib;
    struct store *store = storage_open(&(struct storage_opts){
        .address = opts->store,
        .ephemeral = settings->opts.ephemeral,
        .loop = server->loop,
        .ring = server->ring,
        .keep_ms = opts->keep_ms,
        .pending_asks = opts->pending_asks,
        .pending_asks_per_principal = opts->pending_asks_per_principal,
        .kept_bytes = (uint64_t)opts->kept_mib << 20,
        .kept_bytes_per_principal = (uint64_t)kept_each << 20,
    });
    if (!store)
        return false;
    host_make_engine(server, clock_held(), store);
    return host_portable_fits(server) && host_open_private(server);
}

/* --- the protocol --- */

/* What the rules of --soft-deadline say. */
static const struct mcp_soft_rule *read_soft_rules(nod_server *server, size_t *count)
{
    const char *const *texts = server->settings.opts.soft_deadlines;
    struct mcp_soft_rule *rules = arena_zalloc(&server->arena, SETTINGS_NAMES_MAX * sizeof(*rules));

    for (*count = 0; rules && texts && texts[*count]; ++*count) {
        struct mcp_soft_rule *rule = &rules[*count];
        settings_soft_deadline(str_of(texts[*count]), &rule->tool, &rule->name, &rule->ms);
    }
    return rules;
}

static void make_mcp(nod_server *server)
{
    const struct settings *settings = &server->settings;
    const struct nod_server_opts *opts = &settings->opts;
    size_t soft_rule_count;
    const struct mcp_soft_rule *soft_rules = read_soft_rules(server, &soft_rule_count);

    server->mcp = mcp_server_create(&(struct mcp_opts){
        .loop = server->loop,
        .engine = server->engine,
        .catalog = server->catalog,
        .clock = clock_held(),
        .self = { str_of(opts->name), str_of(opts->title), str_of(opts->version), STR_NONE },
        .instructions = str_of(opts->instructions),
        .heartbeat_ms = opts->heartbeat_ms,
        .session_idle_ms = opts->session_idle_ms,
        .page_size = opts->page_size,
        .boolean_confirm_clients = opts->boolean_confirm_clients,
        .task_ttl_ms = opts->task_ttl_ms,
        .node_ttl_ms = opts->node_ttl_ms,
        .soft_ms = opts->soft_deadline_ms,
        .soft_rules = soft_rules,
        .soft_rule_count = soft_rule_count,
        .view_consent = settings->opts.view_consent,
        .no_view_consent = settings->opts.no_view_consent,
        .per_principal = { [MCP_SHARE_SESSIONS] = opts->sessions_per_principal,
                           [MCP_SHARE_CALLS] = opts->calls_per_principal,
                           [MCP_SHARE_LISTENERS] = opts->listeners_per_principal,
                           [MCP_SHARE_SUBSCRIPTIONS] = opts->subscriptions_per_principal,
                           [MCP_SHARE_TASKS] = opts->tasks_per_principal },
        .portable_states = opts->portable_states,
        .keyring = server->ring ? keyring_copy(server->ring) : NULL,
    });
}

static bool surfaces_wrong(const char *why)
{
    LOG_ERROR("the server's options are not valid", LOG_CSTR("why", why));
    return false;
}

/* Named by --surfaces, or by the program. */
static bool no_such_surface(nod_server *server, struct str name)
{
    struct str known = engine_surface_names(server->engine, &server->arena), one, rest = known;
    struct similar similar = { .to = name };
    const char *hint = "";

    while (rest.len) {
        if (!str_cut(rest, ',', &one, &rest))
            rest = STR_NONE;
        similar_try(&similar, arena_str(&server->arena, one).at);
    }
    if (str_eq(name, STR("inbox")))
        hint = server->front ? "; the inbox is not served here"
                             : "; on standard input and output the inbox needs --inbox";
    server->wrong_option = "--surfaces";
    LOG_ERROR(
        "the server's options are not valid",
        LOG_STR("why", arena_fmt(&server->arena, "there is no such surface%s%s%s%s", hint,
                                 similar.meant ? "; did you mean " : "",
                                 similar.meant ? similar.meant : "", similar.meant ? "?" : "")),
        LOG_STR("surface", name), LOG_STR("known", known),
        LOG_STR("named_by", settings_named(&server->settings, "--surfaces", 0, &server->arena)));
    return false;
}

/* Is there somebody else to ask, where the client's word is no consent? */
static bool consent_fits(nod_server *server)
{
    enum consent_from from = CONSENT_ROLES;

    if (server->settings.opts.consent)
        consent_named(str_of(server->settings.opts.consent), &from);
    if (from == CONSENT_ANY)
        LOG_WARN("any client may consent to its own calls, whatever its roles: --consent any");
    if (from == CONSENT_INBOX && !engine_asks_people_elsewhere(server->engine, NULL))
        return surfaces_wrong(
            "consent counts in the inbox only, but this server asks nobody there: "
            "serve the inbox and name it in --surfaces, or take out --consent");
    for (size_t i = 0; i < catalog_count(server->catalog, TARGET_TOOL, false); i++) {
        struct target *tool = catalog_at(server->catalog, TARGET_TOOL, false, i);
        if (tool->consent == CONSENT_INBOX && !engine_asks_people_elsewhere(server->engine, tool))
            LOG_WARN("a tool takes consent from the inbox only, but nobody is asked there: what it "
                     "wants confirmed is not",
                     LOG_STR("tool", tool->name));
    }
    return true;
}

/* Every surface is there by now, including the protocol's own: the client that made the call. */
bool host_use_surfaces(nod_server *server)
{
    static const char *const client_only[] = { "client", NULL };
    struct str unknown;

    if (server->inbox)
        mcp_use_pages(server->mcp, server->front);
    if (!server->settings.opts.no_model && !mcp_use_model(server->mcp, surface_model()))
        return false;
    /* What was answered elsewhere is known at one server only. */
    if (server->settings.opts.portable_states && !server->settings.opts.surfaces)
        server->settings.opts.surfaces = client_only;
    if (!engine_use_surfaces(server->engine, server->settings.opts.surfaces, &unknown))
        return no_such_surface(server, unknown);
    bool elsewhere = engine_asks_elsewhere(server->engine, NULL);
    for (size_t i = 0; i < catalog_count(server->catalog, TARGET_TOOL, false); i++)
        elsewhere |= engine_asks_elsewhere(server->engine,
                                           catalog_at(server->catalog, TARGET_TOOL, false, i));
    if (server->settings.opts.portable_states && elsewhere)
        return surfaces_wrong("with portable states a call goes on at servers that know nothing of "
                              "what was answered elsewhere: name the client only, or let the "
                              "servers share a store");
    return consent_fits(server);
}

/* --- over stdio --- */

/* Takes descriptors 0 and 1 away from the rest of the program. */
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

bool host_prepare_stdio(nod_server *server)
{
    make_mcp(server);
    return host_use_surfaces(server);
}

bool host_serve_stdio(nod_server *server)
{
    int in = server->in, out = server->out;

    if (in == STDIN_FILENO && out == STDOUT_FILENO && !take_stdio(&in, &out)) {
        LOG_ERROR("standard input or output is closed");
        return false;
    }
    if (!host_prepare_stdio(server))
        return false;
    server->has_client = false; /* whoever reads and writes there closes them */
    nod_status status = mcp_stdio_start(server->mcp, in, out, shutdown_begin, server);
    if (status != NOD_OK)
        LOG_ERROR("cannot serve on standard input and output",
                  LOG_CSTR("why", nod_status_name(status)));
    return status == NOD_OK;
}

/* --- over HTTP --- */

static bool load_tokens(nod_server *server, const char *path)
{
    struct str problem = STR_NONE;

    server->tokens = tokens_load(path, &server->arena, &problem);
    if (!server->tokens)
        LOG_ERROR("the token file cannot be used", LOG_CSTR("file", path), LOG_STR("why", problem),
                  LOG_STR("named_by",
                          settings_named(&server->settings, "--token-file", 0, &server->arena)));
    return server->tokens != NULL;
}

/* A shared store may not have subscribed to hints yet. The first client should not meet a server
 * that is not ready. If the store stays away, /readyz says so. */
static void await_store(nod_server *server)
{
    int64_t until = loop_now(server->loop) + HOST_STORE_MS;
    struct store *store = server->store;
    struct str why;

    if (!store->ops->shared || !store->ops->ready)
        return;
    while (!store->ops->ready(store, &why) && !server->stop_early && loop_now(server->loop) < until)
        loop_turn(server->loop, HOST_TURN_MS);
}

bool host_make_front(nod_server *server)
{
    const struct settings *settings = &server->settings;

    if (geteuid() == 0)
        LOG_WARN("this server runs as root: its tools may do everything on this machine, and so "
                 "may whoever gets it to; run it as a user of its own");
    if (settings->opts.token_file && !load_tokens(server, settings->opts.token_file))
        return false;
    await_store(server);
    server->front = front_create(&(struct front_opts){
        .loop = server->loop,
        .engine = server->engine,
        .tokens = server->tokens,
        .allowed_hosts = settings->opts.allow_hosts,
        .allowed_origins = settings->opts.allow_origins,
        .public_url = settings->opts.public_url,
        .trusted_proxies = settings->opts.trusted_proxies,
        .tls_cert = settings->opts.tls_cert,
        .tls_key = settings->opts.tls_key,
        .links_on_hangup = server->reloads,
    });
    return server->front != NULL;
}

bool host_open_http(nod_server *server)
{
    if (!host_make_front(server))
        return false;
    make_mcp(server);
    return mcp_http_start(server->mcp, server->front) == NOD_OK && host_open_inbox(server);
}

static void say_url(const char *event, const char *scheme, struct str host, int port,
                    const char *path)
{
    char url[512];
    bool six = host.len && memchr(host.at, ':', host.len);

    if (str_starts(host, STR("unix:")))
        snprintf(url, sizeof(url), STR_FMT, STR_ARG(host));
    else
        snprintf(url, sizeof(url), "%s://%s" STR_FMT "%s:%d%s", scheme, six ? "[" : "",
                 STR_ARG(host), six ? "]" : "", port, path);
    LOG_INFO(event, LOG_CSTR("url", url));
}

/* Nobody is told an address before the server listens on all of them. */
static bool listen_all(nod_server *server)
{
    const char *scheme = front_has_tls(server->front) ? "https" : "http";
    struct str host;
    int port;

    for (const char *const *at = server->settings.opts.http; *at; at++) {
        settings_address(str_of(*at), &host, &port);
        nod_status status = front_listen(server->front, host, port);
        if (status == NOD_E_STALE && server->program)
            program_say_taken(*at);
        if (status != NOD_OK)
            return false; /* logged */
    }
    for (size_t i = 0; server->settings.opts.http[i]; i++)
        if (settings_address(str_of(server->settings.opts.http[i]), &host, &port))
            say_url("listening", scheme, host, front_port(server->front, i), "/mcp");
    return true;
}

bool host_listen(nod_server *server)
{
    if (!host_use_surfaces(server) || !listen_all(server))
        return false;
    host_announce_inbox(server);
    return true;
}

bool host_open_metrics(nod_server *server)
{
    struct str host;
    int port;

    if (!server->settings.opts.metrics)
        return true;
    settings_address(str_of(server->settings.opts.metrics), &host, &port);
    server->metrics = metrics_listen(&(struct metrics_opts){ .loop = server->loop,
                                                             .engine = server->engine,
                                                             .front = server->front,
                                                             .host = host,
                                                             .port = port });
    if (!server->metrics)
        return false;
    say_url("metrics", "http", host, metrics_port_number(server->metrics), "/metrics");
    return true;
}
