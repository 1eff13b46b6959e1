/*
 * mcp/era2026: requests that are served by themselves (revision 2026-07-28).
 *
 * Nothing is remembered between two requests: who it is, which version it speaks and what its
 * client can do come with each one, in struct request (principal, meta).
 *
 * HOW A METHOD IS ADDED. Write `void subject_verb(struct request *request)` in the file of its
 * subject, declare it in mcp/request.h (or its own header), and add a row to the table in
 * era2026.c. The row says which member of params the Mcp-Name header repeats, and which capability
 * or extension the client must have declared. When the function is called, version, _meta and the
 * standard headers have been checked; request->meta is set, and params is an object. It then does
 * one of two things:
 *
 *   - it answers at once: reply_begin(), the result's own members, reply_end(); or reply_error(),
 *     reply_fault(). reply_begin() has written resultType and _meta already. request->status sets
 *     the HTTP status (200 unless said otherwise).
 *   - it takes the request over: response_take() (mcp/response.h), which sets request->later. It
 * then owns the way back, may send notifications, and ends it with response_end(). On stdio it
 *     registers with pipe_add() so that notifications/cancelled finds it. What it needs of the
 *     message (id, params) it copies: the message dies when the function returns.
 *
 * A method whose work is a call of the engine starts it with caller2026_start (mcp/caller2026.h).
 */
#ifndef NOD_MCP_ERA2026_H
#define NOD_MCP_ERA2026_H

#include "mcp/response.h"

enum {
    MCP_LIST_FRESH_MS = 60000,    /* ttlMs of lists and of server/discover */
    MCP_PIPE_REQUESTS_MAX = 1024, /* requests of era 2026 in flight on stdio */
};

/*
 * Of the pipe or the endpoint: the message is of this era (mcp/era). request->has has been found;
 * request->meta is what is known of its _meta, or NULL.
 */
void era2026_request(struct request *request, struct str method);

/* A POST of the endpoint whose message is of this era, by a known principal. */
void era2026_http(struct request *request, const struct rpc_message *message);

/* stdio: a request of this era, and its cancellation. True: it was one of this era's requests. */
void era2026_line(struct mcp_server *server, const struct rpc_message *message);
bool era2026_cancelled(struct mcp_server *server, const struct json *params);

/* The pipe is gone, the server is shutting down, or is going now. */
void era2026_pipe_closed(struct mcp_server *server);
/* Listeners are told the end, and what only waits is answered; of the pipe alone, or all. */
void era2026_drain(struct mcp_server *server, bool pipe);
void era2026_stop(struct mcp_server *server);
/* Is a request of this era in flight on the pipe? */
bool era2026_on_pipe(const struct mcp_server *server);

/* --- requests in flight on stdio --- */

struct in_flight {
    struct mcp_server *server;
    void (*cancel)(struct in_flight *in_flight); /* by the client: no response is sent */
    size_t id_len;
    const char *id; /* its JSON text, the owner's */
};

/* False after an error reply: the id is in use, or there are too many. Does nothing over HTTP. */
bool pipe_add(struct request *request, struct in_flight *in_flight, struct str id,
              void (*cancel)(struct in_flight *in_flight));
/* Fine for one that is not there. */
void pipe_remove(struct in_flight *in_flight);
/* It stands in another place now, and so does its id. */
void pipe_moved(struct in_flight *in_flight, const char *id);

/* The methods of this era alone. */
void discover(struct request *request);
void subscriptions_listen(struct request *request);

/* subscriptions.c */
void subscriptions_changed(struct mcp_server *server, unsigned changed); /* bits of target_kind */
void subscriptions_updated(struct mcp_server *server, struct str uri);
struct task;
/* How a task is, to those who listen for it. */
void subscriptions_task(struct mcp_server *server, struct task *task);
/* Tells every listener that it is over. */
void subscriptions_close(struct mcp_server *server, bool pipe);

#endif
