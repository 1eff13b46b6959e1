/*
 * mcp/era2026/pipe: requests of the 2026 era on stdio.
 *
 * The pipe and its session belong to mcp/stdio. This file keeps the requests of this era that are
 * in flight there, by the text of their ids, so that notifications/cancelled finds them.
 *
 * Holds always: a request is in the table as long as it can be cancelled, and an id stands for one
 * request.
 */
#include "mcp/era2026/pipe.h"

#include "base/mem.h"
#include "mcp/shared/live.h"
#include "mcp/era2026/methods.h"
#include "mcp/shared/server_inside.h"

struct pipe2026 *pipe2026_create(void)
{
    struct pipe2026 *pipe = MEM_NEW(struct pipe2026);

    map_init(&pipe->requests, MCP_PIPE_REQUESTS_MAX);
    return pipe;
}

void pipe2026_destroy(struct pipe2026 *pipe)
{
    map_finish(&pipe->requests);
    mem_free(pipe);
}

bool pipe_send(struct mcp_server *server, bool kept, struct str line)
{
    if (!server->pipe2026->send)
        return false;
    server->pipe2026->send(server, kept, line);
    return true;
}

void era2026_line(struct mcp_server *server, const struct rpc_message *message)
{
    struct request request = { .server = server,
                               .principal = STR("local"),
                               .roles = ROLES_ALL,
                               .id = message->id,
                               .params = message->params };

    params_find(request.params, &request.has);
    if (server_draining(server))
        reply_error(&request, RPC_INTERNAL_ERROR, STR("The server is shutting down."));
    else
        era2026_request(&request, message->method);
    if (request.later)
        return;
    if (server->out.len)
        pipe_send(server, true, buf_str(&server->out));
    buf_clear(&server->out);
}

bool pipe_add(struct request *request, struct in_flight *in_flight, struct str id,
              void (*cancel)(struct in_flight *in_flight))
{
    struct mcp_server *server = request->server;

    *in_flight = (struct in_flight){ .cancel = cancel, .id = id.at, .id_len = id.len };
    if (request->exchange)
        return true;
    if (map_get(&server->pipe2026->requests, id)) {
        reply_error(
            request, RPC_INVALID_REQUEST,
            STR("A request with this id is still being worked on; give each request its own."));
        return false;
    }
    if (!map_set(&server->pipe2026->requests, id, in_flight)) {
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

    if (in_flight->server && map_get(&in_flight->server->pipe2026->requests, id) == in_flight)
        map_remove(&in_flight->server->pipe2026->requests, id);
    in_flight->server = NULL;
}

void pipe_moved(struct in_flight *in_flight, const char *id)
{
    in_flight->id = id;
    if (in_flight->server) /* the key is replaced with the value, so nothing can fail */
        map_set(&in_flight->server->pipe2026->requests, str_n(id, in_flight->id_len), in_flight);
}

bool era2026_cancelled(struct mcp_server *server, const struct json *params)
{
    struct str id = rpc_id_of(&server->message, json_get(params, STR("requestId")));
    struct in_flight *in_flight = id.len ? map_get(&server->pipe2026->requests, id) : NULL;

    if (!in_flight)
        return false;
    pipe_remove(in_flight);
    in_flight->cancel(in_flight);
    return true;
}

bool era2026_on_pipe(const struct mcp_server *server)
{
    return server->pipe2026->requests.count > 0;
}

void era2026_pipe_closed(struct mcp_server *server)
{
    struct in_flight *in_flight;

    server->pipe2026->send = NULL;
    for (size_t at = 0; (in_flight = map_next(&server->pipe2026->requests, &at));) {
        pipe_remove(in_flight);
        in_flight->cancel(in_flight);
    }
}
