/*
 * mcp/era2026/methods: the table of methods of the 2026 era, and how they come over HTTP.
 *
 * A request is checked in this order: is _meta complete (-32602), is it a version we speak
 * (-32022), do the headers agree (-32020), is there such a method (-32601). The first that fails is
 * the answer. The method itself looks at what the client must have declared (-32021).
 *
 * Methods of the 2025 era that this era no longer has (initialize, ping, logging/setLevel,
 * resources/subscribe, resources/unsubscribe) are unknown methods here.
 *
 * Over HTTP there is only POST: a request is answered with JSON or with its own server-sent events,
 * a notification with 202. There are no sessions, no standing streams and nothing to resume:
 * headers for those are ignored. A client that closes the connection has cancelled its request.
 */
#include "mcp/era2026/methods.h"

#include "base/log.h"
#include "mcp/era2026/caller.h"
#include "mcp/era2026/held.h"
#include "mcp/offered/lists.h"
#include "mcp/offered/methods.h"
#include "mcp/shared/endpoint.h"
#include "mcp/wire/era.h"
#include "mcp/wire/headers.h"
#include "mcp/era2026/pipe.h"
#include "mcp/tasks/tasks.h"

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

/* server/discover: the versions and capabilities of this server. */
static void discover(struct request *request)
{
    const struct mcp_opts *opts = &request->server->opts;
    struct json_writer w;

    reply_begin(request, &w);
    reply_cacheable(request, &w, MCP_LIST_FRESH_MS, lists_are_public(request->server));
    jw_key(&w, STR("supportedVersions"));
    jw_array(&w);
    for (size_t i = 0; i < ERA_VERSIONS; i++)
        jw_str(&w, era_versions[i]);
    jw_end(&w);
    jw_key(&w, STR("capabilities"));
    jw_object(&w);
    capabilities_write(request, &w);
    if (tasks_offered(request->server)) {
        jw_key(&w, STR("extensions"));
        jw_object(&w);
        jw_key(&w, STR(META_TASKS));
        jw_object(&w);
        jw_end(&w);
        jw_end(&w);
    }
    jw_end(&w);
    if (opts->instructions.len)
        jw_key_str(&w, STR("instructions"), opts->instructions);
    reply_end(request, &w);
}

static const struct method {
    struct str name;
    void (*handle)(struct request *request);
    struct str named;                                 /* the member that Mcp-Name repeats */
    bool (*offered)(const struct mcp_server *server); /* can there be any; NULL: always */
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
    { STR_INIT("tasks/get"), tasks_get, STR_INIT("taskId"), tasks_may_be },
    { STR_INIT("tasks/update"), tasks_update, STR_INIT("taskId"), tasks_may_be },
    { STR_INIT("tasks/cancel"), tasks_cancel, STR_INIT("taskId"), tasks_may_be },
};

/* Whoever comes back for a call is told how it ended, also if nothing of its kind is left here. */
static const struct method *method_find(const struct mcp_server *server, struct str name,
                                        bool comes_back)
{
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (str_eq(methods[i].name, name))
            return comes_back || !methods[i].offered || methods[i].offered(server) ? &methods[i]
                                                                                   : NULL;
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

/* Is it a version we speak, and do the headers agree with the body? */
static bool is_agreed(const struct request *request, struct str method_name,
                      const struct method *method, struct meta_fault *fault)
{
    struct arena *arena = &request->server->message;
    const struct http_request *http = request->http;
    struct str version = request->meta->version, name = named(method, request);
    bool speaks = era_speaks_2026(version);

    if (speaks && !http)
        return true;
    /* the usual case: each header once, with exactly the words of the body */
    if (speaks && method && header_is(http, STR(HEADER_VERSION), era_versions[0]) &&
        header_is(http, STR(HEADER_METHOD), method->name) &&
        (!name.at || (header_is(http, STR(HEADER_NAME), name) && header_is_plain(name))))
        return true;
    if (!speaks && (!http || str_eq(http_named(http, HTTP_NAME_MCP_PROTOCOL_VERSION), version))) {
        meta_unsupported(version, arena, fault);
        return false;
    }
    return headers_agree(http, version, method_name, name, arena, fault);
}

static void start(struct request *request, const struct start_spec *spec)
{
    if (spec->target->kind != TARGET_TOOL || !tasks_call(request, spec))
        caller2026_start(request, spec);
}

static const struct era_ops ops = { .start = start, .hold = held2026_take, .gone = resume_gone };

void era2026_request(struct request *request, struct str name)
{
    struct mcp_server *server = request->server;
    const struct method *method = method_find(server, name, request->has.state);
    struct meta meta;
    struct meta_fault fault;

    if (!meta_read(request->params, &server->message, &meta, &fault)) {
        reply_fault(request, &fault);
        return;
    }
    request->meta = &meta;
    request->era = &ops;
    request->sender = request->principal;
    request->can = meta.can;
    request->revision = REVISION_NEWEST;
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
    request->meta = NULL; /* it is not valid any longer */
}

void era2026_http(struct request *request, const struct rpc_message *message)
{
    struct http_exchange *exchange = request->exchange;

    switch (message->kind) {
    case RPC_REQUEST:
        era2026_request(request, message->method);
        if (!request->later) {
            http_reply_json(exchange, request->status ? request->status : 200,
                            buf_str(&request->server->out));
            buf_clear(&request->server->out);
        }
        break;
    case RPC_NOTIFICATION: /* this era has none over HTTP; unknown ones are ignored */
        http_reply(exchange, 202, NULL, 0, STR_NONE);
        break;
    case RPC_RESULT:
    case RPC_ERROR:
        endpoint_error(exchange, 400, RPC_INVALID_REQUEST,
                       "Nothing was asked that a response could answer.");
        break;
    }
}

/* --- the end --- */

void era2026_drain(struct mcp_server *server, bool pipe)
{
    subscriptions_close(server, pipe);
    callers_drain(server, pipe);
}

void era2026_overdue(struct mcp_server *server)
{
    callers_overdue(server);
}

void era2026_stop(struct mcp_server *server)
{
    era2026_pipe_closed(server);
    subscriptions_close(server, false);
    callers_drop(server);
    tasks_drop(server);
}
