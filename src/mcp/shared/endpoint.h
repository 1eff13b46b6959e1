/*
 * mcp/shared/endpoint: what both eras share of the endpoint /mcp.
 */
#ifndef NOD_MCP_SHARED_ENDPOINT_H
#define NOD_MCP_SHARED_ENDPOINT_H

#include "mcp/shared/server_inside.h"
#include "rpc/message.h"

/* An HTTP error whose body is a JSON-RPC error without an id. */
void endpoint_error(struct http_exchange *exchange, int status, int64_t code, const char *message);
/* 400 with what was wrong with a message. */
void endpoint_fault(struct mcp_server *server, struct http_exchange *exchange,
                    const struct rpc_fault *fault);
/* 405 with the methods that are allowed. */
void endpoint_not_allowed(struct http_exchange *exchange, struct str allow);
/* Handles a request that had to wait as if it had just arrived. */
void endpoint_again(struct mcp_server *server, struct http_exchange *exchange,
                    const struct http_request *http, struct visitor who);
/* Do the Accept headers list the media type? Wildcards count. */
bool endpoint_accepts(const struct http_request *http, struct str type, struct str subtype);
/* Is it this media type, whatever its parameters? */
bool endpoint_is_type(struct str content_type, struct str type);

#endif
