/*
 * mcp/era2025/methods: the 2025 era: handshake, sessions, and requests from both sides.
 *
 * Revisions 2025-03-26, 2025-06-18 and 2025-11-25. The transports hand messages in, one at a time.
 *
 * How to add a method. Write `void subject_verb(struct request *request)` in the file of its
 * subject, declare it in that file's header (mcp/offered/methods.h if the 2026 era has the method
 * too: the same function serves both), and add a row to the table in methods.c. The row says also
 * whether the method may come before initialize. When the function is called, request->session says
 * whose the session is, which revision it speaks and what its client can do. The function writes
 * the response at once (reply_begin, reply_end, reply_error), or starts a call with
 * request->era->start, which sets request->later.
 */
#ifndef NOD_MCP_ERA2025_METHODS_H
#define NOD_MCP_ERA2025_METHODS_H

#include "mcp/shared/request.h"

/* Writes the response into server->out, or starts a call (request->later). */
void era2025_request(struct request *request, struct str method);
/* `done` (may be NULL) is called once, perhaps before this returns: what the notification says is
 * done and stored, or not (NOD_E_STORE). */
void era2025_notification(struct session *session, const struct rpc_message *message,
                          void (*done)(void *data, nod_status status), void *data);
/* A response to one of our own requests. `done` (may be NULL) is called once, perhaps before this
 * returns: the answer is stored or did not count, unless the status is NOD_E_STORE. */
void era2025_response(struct session *session, role_set roles, const struct rpc_message *message,
                      answered_fn *done, void *data);

/* A POST from a known principal: one message or, if message is NULL, an array of them. */
void era2025_post(struct mcp_server *server, struct http_exchange *exchange,
                  const struct http_request *http, struct visitor who, const struct json *array,
                  const struct rpc_message *message);
/* The same for GET and DELETE. */
void era2025_http(struct mcp_server *server, struct http_exchange *exchange,
                  const struct http_request *http, struct visitor who);
/* An error response that is malformed: the question it answers is told, and the sender is
 * refused. */
void era2025_broken_error(struct mcp_server *server, struct http_exchange *exchange,
                          const struct http_request *http, struct visitor who,
                          const struct rpc_message *message, const struct rpc_fault *fault);

#endif
