/*
 * mcp/era2026/methods: requests that stand alone (revision 2026-07-28).
 *
 * Nothing is remembered between two requests: the principal, the version and what the client can do
 * come with each one, in struct request (principal, meta).
 *
 * How to add a method. Write `void subject_verb(struct request *request)` in the file of its
 * subject, declare it in mcp/offered/methods.h if the 2025 era has it too, and here or in that
 * file's own header otherwise, and add a row to the table in methods.c. The row says which member
 * of params the Mcp-Name header repeats, and when this server has nothing for the method, which is
 * an unknown one then. When the function is called, version, _meta and the standard headers have
 * been checked; request->meta is set, and params is an object. What the client must have declared,
 * the function looks at itself. It then does one of two things:
 *
 * - It answers at once: reply_begin(), the result's own members, reply_end(); or reply_error(),
 *   reply_fault(). reply_begin() has already written resultType and _meta. request->status sets the
 *   HTTP status (200 otherwise).
 * - It takes the request over: response_take() (mcp/era2026/response.h), which sets request->later.
 *   The function then owns the way back, may send notifications, and ends it with response_end().
 *   On stdio it registers with pipe_add() (mcp/era2026/pipe.h) so that notifications/cancelled
 *   finds it. It copies what it needs of the message, which is freed when the function returns.
 *
 * A method whose work is a call of the engine starts it with request->era->start
 * (mcp/era2026/caller.h).
 */
#ifndef NOD_MCP_ERA2026_METHODS_H
#define NOD_MCP_ERA2026_METHODS_H

#include "mcp/era2026/response.h"

/*
 * From the pipe or the endpoint: the message is of this era (mcp/wire/era). request->has is filled
 * in; request->meta is what is known of its _meta, or NULL.
 */
void era2026_request(struct request *request, struct str method);

/* A POST with a message of this era, from a known principal. */
void era2026_http(struct request *request, const struct rpc_message *message);

/* Listeners are told the end, and waiting requests are answered; those of the pipe, or all. */
void era2026_drain(struct mcp_server *server, bool pipe);
/* The time to stop is up: whoever still waits for the store, with nothing done, is to come again.
 */
void era2026_overdue(struct mcp_server *server);
/* The server is being destroyed. */
void era2026_stop(struct mcp_server *server);

/* The methods that only this era has. */
void subscriptions_listen(struct request *request);

/* subscriptions.c */
struct listeners;
struct listeners *listeners_create(void);
void listeners_destroy(struct listeners *listeners);
bool subscriptions_any(const struct mcp_server *server);
/* Lists have changed: which ones for a principal, as bits of enum target_kind. */
void subscriptions_changed(struct mcp_server *server,
                           unsigned (*changed_for)(const struct mcp_server *server,
                                                   struct str principal));
void subscriptions_updated(struct mcp_server *server, struct str uri);
struct task;
/* Tells those who listen for a task how it stands. */
void subscriptions_task(struct mcp_server *server, struct task *task);
/* Tells every listener that it is over. */
void subscriptions_close(struct mcp_server *server, bool pipe);

#endif
