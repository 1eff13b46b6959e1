/*
 * mcp/heard: what another node has told, or this one has noticed, and whom it concerns here.
 */
#ifndef NOD_MCP_HEARD_H
#define NOD_MCP_HEARD_H

struct mcp_server;

/* From now on this server hears what other nodes tell. */
void heard_listen(struct mcp_server *server);

#endif
