/*
 * host/host: makes a server, registers what its author adds, and takes messages from other threads.
 *
 * The engine has no clock of its own: before the loop waits, the engine's next deadline becomes a
 * timer. The parts are made in the order in which they need each other: the engine and its store
 * when the server begins to serve (serve.c), because only then is known how they are to be.
 * shutdown.c has how it ends.
 */
#include "host/host.h"

#include "base/log.h"
#include "base/mem.h"
#include "host/plugin_file.h"
#include "provider/handler.h"

/* --- time --- */

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

nod_server *host_create(const struct settings *settings, struct arena *arena)
{
    nod_server *server = MEM_NEW(struct nod_server);

    list_init(&server->page_checks);
    list_init(&server->plugins);
    server->arena = *arena;
    server->settings = *settings;
    server->settings.arena = &server->arena;
    server->loop = loop_create();
    engine_hooks_init(&server->hooks);
    server->catalog = catalog_create();
    server->local =
        local_create(&(struct local_opts){ .server = server,
                                           .catalog = server->catalog,
                                           .loop = server->loop,
                                           .workers = (size_t)server->settings.opts.workers,
                                           .replay_check = server->settings.replay_check });
    loop_before_wait(server->loop, before_wait, server);
    tool_names_show(server); /* what is registered is held to it */
    return server;
}

nod_server *nod_server_create(const struct nod_server_opts *given)
{
    struct settings settings;
    struct arena arena;

    arena_init(&arena, HOST_TEXT_MAX);
    if (settings_begin(&settings, given, &arena))
        return host_create(&settings, &arena);
    LOG_ERROR("the server's options are not valid", LOG_CSTR("why", settings.wrong));
    arena_finish(&arena);
    return NULL;
}

/* --- what an author registers --- */

/* Whoever registers something has this in the same object: a plugin that brings a nod of its own is
 * known by it. */
const char plugin_nod_mark[] __attribute__((used)) = "nod's own code: one copy of it to a process";

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
           local_remove_hook(server->local, &server->hooks, str_of(name));
}

nod_status nod_hook_with(nod_server *server, const struct nod_hook_opts *opts)
{
    if (!is_there(server, "nod_hook"))
        return NOD_E_USAGE;
    return local_add_hook(server->local, &server->hooks, opts);
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
