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

struct mcp_stream;

/* The response to this exchange, which is not written yet, is the result of this call. `exchange`
 * NULL: it goes to a pipe. */
void delivery_begin(struct mcp_server *server, struct http_exchange *exchange, struct str call_id);
/* The same for a stream that has ended, and is kept until it has arrived. `call_id` empty: its
 * response is the result of no call that the store has. */
void delivery_of_stream(struct mcp_stream *stream, struct http_exchange *exchange,
                        struct str call_id);
/* The stream is being destroyed. */
void delivery_lose_stream(struct mcp_stream *stream);
void deliveries_init(struct mcp_server *server);
/* The server is being destroyed. */
void deliveries_drop(struct mcp_server *server);

#endif
