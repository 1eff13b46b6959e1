/*
 * mcp/shared/drain: how a server comes to its end, and what it still waits for.
 *
 * Every live call is counted here, by its caller, and so is every call that waits for a person. A
 * drain needs to know nothing else of them.
 */
#ifndef NOD_MCP_SHARED_DRAIN_H
#define NOD_MCP_SHARED_DRAIN_H

#include <stdbool.h>

struct drain;
struct mcp_server;

struct drain *drain_create(void);
void drain_destroy(struct mcp_server *server);

/* A call of this server has begun; it has ended, or goes on elsewhere. server_check_drained
 * follows. */
void drain_call_began(struct mcp_server *server);
void drain_call_ended(struct mcp_server *server);
/* A live call waits for a person, or no longer does. */
void drain_call_waits(struct mcp_server *server, bool waits);

/* A call has begun to wait or has ended, or a transport has closed: is the drain complete now? */
void server_check_drained(struct mcp_server *server);
/* An operation of the store has completed. */
void drain_work_done(struct mcp_server *server);

/* No new requests are taken: the server shuts down. */
bool server_draining(const struct mcp_server *server);
/* The server is destroyed at once. Nobody is told when it is drained. */
void drain_give_up(struct mcp_server *server);

#endif
