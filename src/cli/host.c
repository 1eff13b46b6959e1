/*
 * cli/host: makes a server, registers what its author adds, and takes messages from other threads.
 *
 * The engine has no clock of its own: before the loop waits, the engine's next deadline becomes a
 * timer. The parts are made in the order in which they need each other. serve.c has how the server
 * begins to serve, shutdown.c how it ends.
 */
#include "cli/host.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
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
    enum consent_from consent;

    if (!opts->name || !*opts->name)
        wrong = "a server needs a .name";
    else if (!opts->version || !*opts->version)
        wrong = "a server needs a .version";
    else if (opts->ask_ttl_ms < 0)
        wrong = "ask_ttl_ms is negative";
    else if (opts->workers < 0 || opts->workers > WORKERS_MAX)
        wrong = "workers is negative, or more than 256";
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
    else if (opts->soft_deadline_ms < 0)
        wrong = "soft_deadline_ms is negative";
    else if (opts->next_surface_ms < 0)
        wrong = "next_surface_ms is negative";
    else if (opts->consent && *opts->consent && !consent_named(str_of(opts->consent), &consent))
        wrong = "consent is neither \"roles\" nor \"inbox\" nor \"any\"";
    else
        wrong = engine_journal_wrong(opts->journal_entries, opts->journal_bytes);
    _Static_assert(WORKERS_MAX == 256, "as the message says");
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
    server->opts.remember = keep_list(server, opts->remember);
    _Static_assert(HOST_TEXT_MAX == 1 << 20, "as the message says");
    server->opts.consent = keep(server, opts->consent);
    if (server->arena.exhausted)
        LOG_ERROR("the server's options are not valid",
                  LOG_CSTR("why", "their texts have more than 1 MiB in all"));
    return !server->arena.exhausted;
}

nod_server *nod_server_create(const struct nod_server_opts *given)
{
    struct nod_server_opts opts;
    nod_server *server;

    OPTS_READ(opts, given);
    if (!opts_fit(&opts))
        return NULL;
    server = MEM_NEW(struct nod_server);
    list_init(&server->page_checks);
    arena_init(&server->arena, HOST_TEXT_MAX);
    if (!keep_opts(server, &opts)) {
        arena_finish(&server->arena);
        mem_free(server);
        return NULL;
    }
    reload_hold(); /* before all that takes time */
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
    engine_bound_journals(server->engine, opts.journal_entries, opts.journal_bytes);
    engine_confirm_destructive(server->engine, opts.confirm_destructive);
    server->catalog = catalog_create();
    const char *check = getenv("NOD_REPLAY_CHECK");
    server->local =
        local_create(&(struct local_opts){ .server = server,
                                           .catalog = server->catalog,
                                           .loop = server->loop,
                                           .workers = (size_t)opts.workers,
                                           .replay_check = check && strcmp(check, "1") == 0 });
    loop_before_wait(server->loop, before_wait, server);
    const char *wrong = remember_use(server->engine, server->opts.remember, NULL);
    if (wrong) {
        LOG_ERROR("the server's options are not valid", LOG_CSTR("why", wrong));
        nod_server_destroy(server);
        return NULL;
    }
    return server;
}

/* --- what an author registers --- */

void nod_source(nod_server *server, const char *file, int line)
{
    if (server) /* whoever could not make one is told by what comes next */
        local_source(server->local, file, line);
}

/* False, logged. nod_server_create has said before why there is none. */
static bool is_there(const nod_server *server, const char *function)
{
    if (!server)
        LOG_ERROR("there is no server: it is NULL", LOG_CSTR("function", function));
    return server;
}

nod_status nod_add_tools(nod_server *server, const nod_tool *tools, size_t count, size_t tool_size)
{
    if (!is_there(server, "nod_tools"))
        return NOD_E_USAGE;
    return local_add_tools(server->local, tools, count, tool_size);
}

nod_status nod_add_resources(nod_server *server, const nod_resource *resources, size_t count,
                             size_t resource_size)
{
    if (!is_there(server, "nod_resources"))
        return NOD_E_USAGE;
    return local_add_resources(server->local, resources, count, resource_size);
}

nod_status nod_add_prompts(nod_server *server, const nod_prompt *prompts, size_t count,
                           size_t prompt_size)
{
    if (!is_there(server, "nod_prompts"))
        return NOD_E_USAGE;
    return local_add_prompts(server->local, prompts, count, prompt_size);
}

bool nod_remove_tool(nod_server *server, const char *name)
{
    return name && is_there(server, "nod_remove_tool") &&
           local_remove_tool(server->local, str_of(name));
}

bool nod_remove_resource(nod_server *server, const char *uri)
{
    return uri && is_there(server, "nod_remove_resource") &&
           local_remove_resource(server->local, str_of(uri));
}

bool nod_remove_prompt(nod_server *server, const char *name)
{
    return name && is_there(server, "nod_remove_prompt") &&
           local_remove_prompt(server->local, str_of(name));
}

bool nod_remove_hook(nod_server *server, const char *name)
{
    return name && is_there(server, "nod_remove_hook") &&
           local_remove_hook(server->local, server->engine, str_of(name));
}

nod_status nod_hook_with(nod_server *server, const struct nod_hook_opts *opts)
{
    if (!is_there(server, "nod_hook"))
        return NOD_E_USAGE;
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

    if (!server)
        return;
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
