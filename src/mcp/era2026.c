/*
 * mcp/era2026: who handles which method, and what is in flight on the pipe.
 *
 * A request is looked at in this order: is _meta complete (-32602), is it a version we speak
 * (-32022), do the headers agree (-32020), is there such a method (-32601), did the client declare
 * what the method needs (-32021). The first that fails is the answer.
 *
 * Methods of the 2025 era that this one has taken away (initialize, ping, logging/setLevel,
 * resources/subscribe, resources/unsubscribe) are unknown methods here.
 */
#include "mcp/era2026.h"

#include "base/log.h"
#include "mcp/caller2026.h"
#include "mcp/era.h"
#include "mcp/headers.h"
#include "mcp/tasks.h"

enum { METHOD_SHOWN_MAX = 100 };

static bool has_prompts(const struct mcp_server *server)
{
    return catalog_count(server->opts.catalog, TARGET_PROMPT, false) > 0;
}

static bool has_resources(const struct mcp_server *server)
{
    return catalog_count(server->opts.catalog, TARGET_RESOURCE, false) > 0 ||
           catalog_count(server->opts.catalog, TARGET_RESOURCE, true) > 0;
}

static const struct method {
    struct str name;
    void (*handle)(struct request *request);
    struct str named;                                 /* the member that Mcp-Name repeats */
    bool (*offered)(const struct mcp_server *server); /* is the capability declared; NULL: always */
} methods[] = {
    { STR_INIT("tools/call"), tools_call, STR_INIT("name"), NULL },
    { STR_INIT("tools/list"), tools_list, { 0 }, NULL },
    { STR_INIT("server/discover"), discover, { 0 }, NULL },
    { STR_INIT("subscriptions/listen"), subscriptions_listen, { 0 }, NULL },
    { STR_INIT("resources/read"), resources_read, STR_INIT("uri"), has_resources },
    { STR_INIT("resources/list"), resources_list, { 0 }, has_resources },
    { STR_INIT("resources/templates/list"), resources_templates_list, { 0 }, has_resources },
    { STR_INIT("prompts/get"), prompts_get, STR_INIT("name"), has_prompts },
    { STR_INIT("prompts/list"), prompts_list, { 0 }, has_prompts },
    { STR_INIT("completion/complete"), completion_complete, { 0 }, NULL },
    { STR_INIT("tasks/get"), tasks_get, STR_INIT("taskId"), tasks_offered },
    { STR_INIT("tasks/update"), tasks_update, STR_INIT("taskId"), tasks_offered },
    { STR_INIT("tasks/cancel"), tasks_cancel, STR_INIT("taskId"), tasks_offered },
};

static const struct method *method_find(const struct mcp_server *server, struct str name)
{
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (str_eq(methods[i].name, name))
            return !methods[i].offered || methods[i].offered(server) ? &methods[i] : NULL;
    return NULL;
}

/* What Mcp-Name has to repeat; {NULL, 0}: nothing. */
static struct str named(const struct method *method, const struct request *request)
{
    if (!method || !method->named.len)
        return STR_NONE;
    struct str name = method->handle == tools_call ? json_str(request->has.name)
                                                   : json_get_str(request->params, method->named);
    return name.at ? name : STR("");
}

/* As nearly every client says it: each header once, in the very words of the body. */
static bool headers_repeat(const struct http_request *http, const struct method *method,
                           struct str name)
{
    return method && header_is(http, STR(HEADER_VERSION), era_versions[0]) &&
           header_is(http, STR(HEADER_METHOD), method->name) &&
           (!name.at || (header_is(http, STR(HEADER_NAME), name) && header_is_plain(name)));
}

/* The version is one we speak, and the headers agree with the body. */
static bool is_agreed(const struct request *request, struct str method_name,
                      const struct method *method, struct meta_fault *fault)
{
    struct arena *arena = &request->server->message;
    const struct http_request *http = request->http;
    struct str version = request->meta->version, name = named(method, request);
    bool speaks = era_speaks_2026(version);

    if (speaks && (!http || headers_repeat(http, method, name)))
        return true;
    if (!speaks && (!http || str_eq(http_header(http, STR(HEADER_VERSION)), version))) {
        meta_unsupported(version, arena, fault);
        return false;
    }
    return headers_agree(http, version, method_name, name, arena, fault);
}

void era2026_request(struct request *request, struct str name)
{
    struct mcp_server *server = request->server;
    const struct method *method = method_find(server, name);
    struct meta meta;
    struct meta_fault fault;

    if (!meta_read(request->params, &server->message, &meta, &fault)) {
        reply_fault(request, &fault);
        return;
    }
    request->meta = &meta;
    if (!is_agreed(request, name, method, &fault)) {
        reply_fault(request, &fault);
    } else if (!method) {
        if (name.len > METHOD_SHOWN_MAX)
            name.len = METHOD_SHOWN_MAX;
        reply_errorf(request, RPC_METHOD_NOT_FOUND, "Method not found: " STR_FMT, STR_ARG(name));
        request->status = 404;
    } else {
        method->handle(request);
    }
    request->meta = NULL; /* it lives no longer */
}

/* --- the pipe --- */

void era2026_line(struct mcp_server *server, const struct rpc_message *message)
{
    struct request request = {
        .server = server, .principal = STR("local"), .id = message->id, .params = message->params
    };

    params_find(request.params, &request.has);
    if (server->draining)
        reply_error(&request, RPC_INTERNAL_ERROR, STR("The server is shutting down."));
    else
        era2026_request(&request, message->method);
    if (request.later)
        return;
    if (server->out.len && server->pipe)
        mcp_stream_send(server->pipe, EVENT_KEPT, buf_str(&server->out));
    buf_clear(&server->out);
}

bool pipe_add(struct request *request, struct in_flight *in_flight, struct str id,
              void (*cancel)(struct in_flight *in_flight))
{
    struct mcp_server *server = request->server;

    *in_flight = (struct in_flight){ .cancel = cancel, .id = id.at, .id_len = id.len };
    if (request->exchange)
        return true;
    if (map_get(&server->on_pipe, id)) {
        reply_error(request, RPC_INVALID_REQUEST,
                    STR("A request with this id is still being worked on; give each its own."));
        return false;
    }
    if (!map_set(&server->on_pipe, id, in_flight)) {
        reply_errorf(request, RPC_INVALID_REQUEST,
                     "There are %d requests in flight; wait for one to end.",
                     MCP_PIPE_REQUESTS_MAX);
        return false;
    }
    in_flight->server = server;
    return true;
}

void pipe_remove(struct in_flight *in_flight)
{
    struct str id = str_n(in_flight->id, in_flight->id_len);

    if (in_flight->server && map_get(&in_flight->server->on_pipe, id) == in_flight)
        map_remove(&in_flight->server->on_pipe, id);
    in_flight->server = NULL;
}

void pipe_moved(struct in_flight *in_flight, const char *id)
{
    in_flight->id = id;
    if (in_flight->server) /* the key is replaced with the value: nothing can fail */
        map_set(&in_flight->server->on_pipe, str_n(id, in_flight->id_len), in_flight);
}

bool era2026_cancelled(struct mcp_server *server, const struct json *params)
{
    struct str id = rpc_id_of(&server->message, json_get(params, STR("requestId")));
    struct in_flight *in_flight = id.len ? map_get(&server->on_pipe, id) : NULL;

    if (!in_flight)
        return false;
    pipe_remove(in_flight);
    in_flight->cancel(in_flight);
    return true;
}

bool era2026_on_pipe(const struct mcp_server *server)
{
    return server->on_pipe.count > 0;
}

void era2026_pipe_closed(struct mcp_server *server)
{
    struct in_flight *in_flight;

    server->pipe = NULL;
    for (size_t at = 0; (in_flight = map_next(&server->on_pipe, &at));) {
        pipe_remove(in_flight);
        in_flight->cancel(in_flight);
    }
}

/* --- the end --- */

void era2026_drain(struct mcp_server *server, bool pipe)
{
    subscriptions_close(server, pipe);
    callers_drain(server, pipe);
}

void era2026_stop(struct mcp_server *server)
{
    era2026_pipe_closed(server);
    subscriptions_close(server, false);
    callers_drop(server);
    tasks_destroy(server);
    map_finish(&server->on_pipe);
}
