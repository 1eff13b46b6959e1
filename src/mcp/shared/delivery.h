/*
 * mcp/shared/delivery: when a result counts as handed out.
 *
 * A store may drop the result of a call to make room, once it was handed out. That a response was
 * written to a connection does not say that it has arrived. So over HTTP a result is handed out
 * when the connection says so (http_on_arrived); if it breaks, the result stays for whoever comes
 * back. On a pipe there is nothing to wait for.
 *
 * What this process keeps beside the store, streams that have ended and results of tasks, is kept
 * by the same rule: what nobody has fetched stays for its time, and counts against its principal,
 * who makes no new calls past its share.
 */
#ifndef NOD_MCP_SHARED_DELIVERY_H
#define NOD_MCP_SHARED_DELIVERY_H

#include "mcp/shared/server_inside.h"

struct delivery;

enum {
    MCP_KEPT_BYTES_MAX = 512 << 20
}; /* bytes of results that this process keeps, of everybody */

/* Whoever keeps results in this process, beside the store. */
struct result_keeper {
    /* Bytes that nobody has fetched, of this principal, or of all (empty). */
    size_t (*lost)(const struct mcp_server *server, struct str principal);
    /* The result of this call has arrived; may be NULL. */
    void (*fetched)(struct mcp_server *server, struct str call_id);
};

/* The response to this exchange, which is not written yet, is the result of this call. `exchange`
 * NULL: it goes to a pipe. */
void delivery_begin(struct mcp_server *server, struct http_exchange *exchange, struct str call_id);
/* The same, and done() is told what became of it, unless it is forgotten before. `call_id` empty:
 * the response is the result of no call that the store has. */
struct delivery *delivery_watch(struct mcp_server *server, struct http_exchange *exchange,
                                struct str call_id, void (*done)(void *data, bool did), void *data);
void delivery_forget(struct delivery *delivery);
/* The keepers live as long as the server; the last one has no functions. */
void deliveries_init(struct mcp_server *server, const struct result_keeper *keepers);
/* The server is being destroyed. */
void deliveries_drop(struct mcp_server *server);

#endif
