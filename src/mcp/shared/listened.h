/*
 * mcp/shared/listened: who provides a resource is told whether anybody subscribes to it.
 *
 * Both eras count their subscriptions here. The provider of a resource hears of its first
 * subscriber and of its last (provider_ops.listened), of this node: several nodes tell each by
 * themselves.
 */
#ifndef NOD_MCP_SHARED_LISTENED_H
#define NOD_MCP_SHARED_LISTENED_H

#include "base/str.h"

struct mcp_server;

struct listened;
struct listened *listened_create(void);
/* Nobody subscribes any more. */
void listened_destroy(struct listened *listened);

/* The principal subscribes to this URI once more, or once less. */
void listened_add(struct mcp_server *server, struct str principal, struct str uri);
void listened_drop(struct mcp_server *server, struct str principal, struct str uri);
/* Resources have come or gone: what is subscribed to may be another target's now. */
void listened_changed(struct mcp_server *server);

#endif
