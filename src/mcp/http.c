/*
 * mcp/http: the HTTP endpoint, before the era of a request is known.
 *
 * A request that comes here has passed the front door (front/admit), which has checked its head.
 * This file finds out whether there is a message, and of which era (mcp/wire/era). Then the era's
 * own file goes on.
 */
#include <stdio.h>

#include "base/log.h"
#include "mcp/shared/live.h"
#include "mcp/shared/endpoint.h"
#include "mcp/wire/headers.h"
#include "mcp/wire/era.h"
#include "mcp/era2025/methods.h"
#include "mcp/era2026/methods.h"

/* --- requests --- */

static bool begins_array(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
            return c == '[';
    }
    return false;
}

/*
 * The tree points into the body, which is freed as soon as the response begins. A single message
 * has been read by then. Of an array, the first message may be answered before the last has been
 * looked at, so the body of an array is copied.
 */
static struct json *parse_body(struct mcp_server *server, struct http_exchange *exchange,
                               const struct http_request *http)
{
    struct json_error error;
    bool array = begins_array(http->body);
    struct str text = array ? arena_str(&server->message, http->body) : http->body;
    struct json_opts opts = { .max_values = MCP_VALUES_MAX, .refuse_duplicates = true };
    struct json *value = json_parse(&server->message, text, &opts, &error);

    if (value)
        return value;
    char why[256];
    snprintf(why, sizeof(why), "The body is not JSON: at byte %zu, %s%s.", error.offset, error.what,
             MCP_AT_MOST(&error));
    endpoint_error(exchange, 400, RPC_PARSE_ERROR, why);
    return NULL;
}

/* A version that nobody here speaks. */
static void reply_unsupported(struct mcp_server *server, struct http_exchange *exchange,
                              struct str id, struct str version)
{
    struct meta_fault fault;

    meta_unsupported(version, &server->message, &fault);
    buf_clear(&server->out);
    rpc_write_refusal(&server->out, id, fault.code, fault.message, fault.data);
    http_reply_json(exchange, fault.status, buf_str(&server->out));
    buf_clear(&server->out);
}

static enum era era_of_post(const struct request *request, struct str method)
{
    return era_of(
        &(struct era_opening){ .http = true,
                               .version = http_named(request->http, HTTP_NAME_MCP_PROTOCOL_VERSION),
                               .method = method,
                               .params = request->params });
}

/* An answer that the store cannot take is refused at once: the client still has it, and would
 * otherwise wait for as long as the store is away. */
static bool refuse_answer(const struct request *request, const struct rpc_message *message,
                          bool array)
{
    struct mcp_server *server = request->server;
    struct str why;
    /* An array counts as bringing one: its messages are looked at later. */
    bool brings = array || (message->kind != RPC_REQUEST && message->kind != RPC_NOTIFICATION) ||
                  str_eq(message->method, STR("tasks/update")) || request->has.state;

    if (engine_ready(server->opts.engine, &why) || !brings)
        return false;
    struct str text = arena_fmt(
        &server->message, "The answer cannot be stored now (" STR_FMT "); send it again later.",
        STR_ARG(why));
    buf_clear(&server->out);
    rpc_write_error(&server->out, message->id, RPC_INTERNAL_ERROR, text, STR_NONE);
    http_reply_json(request->exchange, 503, buf_str(&server->out));
    buf_clear(&server->out);
    return true;
}

static void post_value(struct mcp_server *server, struct http_exchange *exchange,
                       const struct http_request *http, struct visitor who,
                       const struct json *value)
{
    struct rpc_message message;
    struct rpc_fault fault;
    bool array = rpc_is_batch(value);

    if (array) {
        message = (struct rpc_message){ 0 };
    } else if (rpc_read(value, &server->message, &message, &fault) != NOD_OK) {
        if (rpc_is_broken_error(&message, &fault))
            era2025_broken_error(server, exchange, http, who, &message, &fault);
        else
            endpoint_fault(server, exchange, &fault);
        return;
    }
    struct request request = { .server = server,
                               .principal = who.principal,
                               .roles = who.roles,
                               .http = http,
                               .id = message.id,
                               .params = message.params,
                               .exchange = exchange };
    params_find(message.params, &request.has);
    if (refuse_answer(&request, &message, array))
        return;
    switch (era_of_post(&request, message.method)) {
    case ERA_2025:
        era2025_post(server, exchange, http, who, value, array ? NULL : &message);
        break;
    case ERA_2026:
        if (array)
            endpoint_error(exchange, 400, RPC_INVALID_REQUEST, "Send one message, not an array.");
        else
            era2026_http(&request, &message);
        break;
    case ERA_UNKNOWN:
        reply_unsupported(server, exchange, message.id,
                          http_named(http, HTTP_NAME_MCP_PROTOCOL_VERSION));
        break;
    }
}

static void handle_post(struct mcp_server *server, struct http_exchange *exchange,
                        const struct http_request *http, struct visitor who)
{
    struct str accept = http_named(http, HTTP_NAME_ACCEPT);

    if (!str_eq(accept, STR("application/json, text/event-stream")) && /* the usual form */
        (!endpoint_accepts(http, STR("application"), STR("json")) ||
         !endpoint_accepts(http, STR("text"), STR("event-stream")))) {
        endpoint_error(exchange, 406, RPC_INVALID_REQUEST,
                       "Accept must list both application/json and text/event-stream.");
        return;
    }
    if (!endpoint_is_type(http_named(http, HTTP_NAME_CONTENT_TYPE), STR("application/json"))) {
        endpoint_error(exchange, 415, RPC_INVALID_REQUEST,
                       "Content-Type must be application/json.");
        return;
    }
    arena_reset(&server->message);
    const struct json *value = parse_body(server, exchange, http);
    if (value)
        post_value(server, exchange, http, who, value);
    if (server->message.used > MCP_TREE_KEEP) {
        arena_finish(&server->message);
        arena_init(&server->message, MCP_TREE_MAX);
    }
}

static void again(struct mcp_server *server, struct http_exchange *exchange,
                  const struct http_request *http, struct visitor who)
{
    static const struct http_header type = { STR_INIT("Content-Type"),
                                             STR_INIT("text/plain; charset=utf-8") };
    struct str version = http_named(http, HTTP_NAME_MCP_PROTOCOL_VERSION);

    if (server_draining(server)) {
        endpoint_error(exchange, 503, RPC_INTERNAL_ERROR, "The server is shutting down.");
        return;
    }
    if (str_eq(http->method, STR("POST"))) {
        handle_post(server, exchange, http, who);
        return;
    }
    /* Only the 2025 era uses GET, DELETE and the like. No MCP client says that it takes HTML: a
     * person has opened the address. */
    if (str_eq(http->method, STR("GET")) &&
        str_find(http_named(http, HTTP_NAME_ACCEPT), STR("text/html")) >= 0) {
        http_reply(exchange, 406, &type, 1,
                   STR("This is an MCP server, made with nod. There is nothing to see here with a "
                       "browser: give this address to an MCP client (Streamable HTTP).\n"));
        return;
    }
    switch (era_of(&(struct era_opening){ .http = true, .version = version })) {
    case ERA_2025:
        era2025_http(server, exchange, http, who);
        break;
    case ERA_2026:
        endpoint_not_allowed(exchange, STR("POST"));
        break;
    case ERA_UNKNOWN:
        reply_unsupported(server, exchange, STR_NONE, version);
        break;
    }
}

static void on_request(const struct front_request *request, void *data)
{
    again(data, request->exchange, request->http,
          (struct visitor){ request->principal, request->roles });
}

/* A refusal at the front door, as a JSON-RPC error without an id. */
static void write_refused(struct buf *body, int status, struct str why)
{
    (void)status;
    rpc_write_refusal(body, STR_NONE, RPC_INVALID_REQUEST, why, STR_NONE);
}

/* --- routes --- */

/* With a slash behind it as well: whoever has typed one means the same. */
static bool add_route(struct mcp_server *server, struct front *front, struct str method)
{
    struct route route = { .method = method,
                           .pattern = STR("/mcp"),
                           .who = ROLE_ASK,
                           .endless = true,
                           .handle = on_request,
                           .refused = write_refused,
                           .data = server };

    if (!front_route(front, &route))
        return false;
    route.pattern = STR("/mcp/");
    return front_route(front, &route);
}

nod_status mcp_http_start(struct mcp_server *server, struct front *front)
{
    static const char *const sent[] = { HEADER_METHOD,           HEADER_NAME,
                                        HEADER_VERSION,          HEADER_SESSION,
                                        HEADER_PARAM_PREFIX "*", NULL };

    if (server->front)
        return NOD_E_USAGE;
    if (!add_route(server, front, STR("GET")) || !add_route(server, front, STR("POST")) ||
        !add_route(server, front, STR("DELETE")))
        return NOD_E_REFUSED;
    front_web_headers(front, sent, HEADER_SESSION);
    front_about(front, STR("This is an MCP server: clients connect to /mcp (Streamable HTTP)."));
    server->front = front;
    server->http_again = again;
    return NOD_OK;
}
