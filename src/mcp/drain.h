/*
 * mcp/drain: how a server comes to its end. (mcp_drain is in server.h.)
 */
#ifndef NOD_MCP_DRAIN_H
#define NOD_MCP_DRAIN_H

struct mcp_server;

void drain_create(struct mcp_server *server);
void drain_destroy(struct mcp_server *server);
/* The server is destroyed at once. Nobody is told when it is drained. */
void drain_give_up(struct mcp_server *server);

#endif
