/*
 * mcp/shared/work: operations under way in the store that point to the server.
 *
 * A completion may come after the server is gone. Whatever waits for one embeds a server_work: then
 * its `server` is NULL, and the completion only frees what belongs to it. A store that is destroyed
 * before it has replied sends no completion (core/store.h): what waited for one is not freed then,
 * which happens only if the store is away while the process ends.
 */
#ifndef NOD_MCP_SHARED_WORK_H
#define NOD_MCP_SHARED_WORK_H

#include <stdbool.h>

#include "base/list.h"

struct mcp_server;

struct server_work {
    struct list link;
    struct mcp_server *server;
    /* no completion is on its way, and the server is being destroyed */
    void (*drop)(struct server_work *work);
};

void server_work_add(struct mcp_server *server, struct server_work *work);
void server_work_done(struct server_work *work);

/* Is anything under way? */
bool server_works(const struct mcp_server *server);
/* The server is being destroyed: operations under way will find no server. */
void server_work_drop_all(struct mcp_server *server);

#endif
