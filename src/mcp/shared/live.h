/*
 * mcp/shared/live: which calls are live here, and whether new ones are taken.
 *
 * Every call that a drain waits for is counted, by its caller, and so is every one of them that
 * waits for a person. Whoever drains the server (mcp/drain) needs to know nothing else of them.
 *
 * Holds always: no more of them wait than there are.
 */
#ifndef NOD_MCP_SHARED_LIVE_H
#define NOD_MCP_SHARED_LIVE_H

#include <stdbool.h>
#include <stddef.h>

struct mcp_server;

struct live {
    size_t calls;   /* live calls */
    size_t waiting; /* those that wait for a person */
    bool draining;  /* no new requests are taken: the server shuts down */
    void (*changed)(struct mcp_server *server); /* mcp/drain: is the drain complete now? */
};

/* A call of this server has begun; it has ended, or goes on elsewhere. server_check_drained
 * follows. */
void live_call_began(struct mcp_server *server);
void live_call_ended(struct mcp_server *server);
/* A live call waits for a person, or no longer does. */
void live_call_waits(struct mcp_server *server, bool waits);

/* A call has begun to wait or has ended, a transport has closed, or an operation of the store has
 * completed. */
void server_check_drained(struct mcp_server *server);

/* No new requests are taken: the server shuts down. */
bool server_draining(const struct mcp_server *server);

#endif
