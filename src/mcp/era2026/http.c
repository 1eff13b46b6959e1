/*
 * mcp/era2026/http: Streamable HTTP of the 2026 era.
 *
 * Only POST: a request is answered with JSON or with its own server-sent events, a notification
 * with 202. There are no sessions, no standing streams and nothing to resume: headers for those are
 * ignored. A client that closes the connection has cancelled its request.
 */
#include "mcp/shared/endpoint.h"
#include "mcp/era2026/methods.h"

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
