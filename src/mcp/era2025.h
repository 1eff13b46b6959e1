/*
 * mcp/era2025: handshake, sessions, and requests from both sides.
 *
 * Revisions 2025-03-26, 2025-06-18 and 2025-11-25. The transports hand messages in, one at a time.
 */
#ifndef NOD_MCP_ERA2025_H
#define NOD_MCP_ERA2025_H

#include "mcp/request.h"

/* Writes the response into server->out, or has started a call (request->later). */
void era2025_request(struct request *request, struct str method);
void era2025_notification(struct session *session, const struct rpc_message *message);
/* To one of our own requests. */
/* done (may be NULL) comes once, perhaps before this returns: what became of the answer is stored,
 * unless its status is NOD_E_STORE. */
void era2025_response(struct session *session, const struct rpc_message *message, answered_fn *done,
                      void *data);

/* A POST of the endpoint, by a known principal: one message, or (message NULL) an array of them. */
void era2025_post(struct mcp_server *server, struct http_exchange *exchange,
                  const struct http_request *http, struct str principal, const struct json *array,
                  const struct rpc_message *message);
/* The same for GET and DELETE. */
void era2025_http(struct mcp_server *server, struct http_exchange *exchange,
                  const struct http_request *http, struct str principal);
/* An error response without the shape of one: what waits for it is told, and its sender is refused.
 */
void era2025_broken_error(struct mcp_server *server, struct http_exchange *exchange,
                          const struct http_request *http, struct str principal,
                          const struct rpc_message *message, const struct rpc_fault *fault);

#endif
