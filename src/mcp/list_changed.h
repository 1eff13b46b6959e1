/*
 * mcp/list_changed: tells clients of both eras that a list of targets has changed.
 */
#ifndef NOD_MCP_LIST_CHANGED_H
#define NOD_MCP_LIST_CHANGED_H

#include "core/catalog.h"

struct list_changes;
struct mcp_server;

struct list_changes *list_changes_create(void);
void list_changes_destroy(struct mcp_server *server);

/* The list of this kind has changed: listeners are told, once in a turn. */
void list_changed(struct mcp_server *server, enum target_kind kind);

#endif
