/*
 * mcp/work: what is under way in the store, and points to the server.
 *
 * A completion may come when the server has gone. Whoever waits for one embeds a server_work; its
 * `server` is NULL then, and there is nothing to do but to free what belongs to it.
 */
#ifndef NOD_MCP_WORK_H
#define NOD_MCP_WORK_H

#include <stdbool.h>

#include "base/list.h"

struct mcp_server;

struct server_work {
    struct list link;
    struct mcp_server *server;
    void (*drop)(struct server_work *work); /* no completion is on its way: the server goes */
};

void server_work_add(struct mcp_server *server, struct server_work *work);
void server_work_done(struct server_work *work);

/* Is anything under way? */
bool server_works(const struct mcp_server *server);
/* The server goes: what is under way comes home to nobody. */
void server_work_drop_all(struct mcp_server *server);

#endif
