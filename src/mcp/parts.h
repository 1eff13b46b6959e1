/*
 * mcp/parts: what the files of mcp/ itself give each other. What all rooms below it know of a
 * server is in shared/server_inside.h, and what the program knows in server.h.
 */
#ifndef NOD_MCP_PARTS_H
#define NOD_MCP_PARTS_H

#include "core/catalog.h"

struct list_changes;
struct mcp_server;

/* --- the pipe (stdio.c) --- */

/* A call has ended: if the input has ended too, the pipe may be closed. */
void mcp_stdio_check_drained(struct mcp_server *server);
/* Flushes and closes; server_check_drained follows. */
void mcp_stdio_close(struct mcp_server *server);
/* The server is being destroyed. */
void mcp_stdio_stop(struct mcp_server *server);

/* --- how a server comes to its end (drain.c) --- */

void drain_create(struct mcp_server *server);
void drain_destroy(struct mcp_server *server);
/* The server is destroyed at once. Nobody is told when it is drained. */
void drain_give_up(struct mcp_server *server);

/* --- what another node has told, or this one has noticed (heard.c) --- */

/* From now on this server hears what other nodes tell. */
void heard_listen(struct mcp_server *server);

/* --- clients of both eras are told that a list of targets has changed (list_changed.c) --- */

struct list_changes *list_changes_create(void);
void list_changes_destroy(struct mcp_server *server);
/* Those whose lists have changed are told, once in a turn. */
void list_changed(struct mcp_server *server, const struct catalog_change *change);

#endif
