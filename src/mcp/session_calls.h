/*
 * mcp/session_calls: ending what waits in a session, wherever it is.
 */
#ifndef NOD_MCP_SESSION_CALLS_H
#define NOD_MCP_SESSION_CALLS_H

#include "mcp/session.h"

/*
 * Cancels every call of the session that waits in the store and is live on no node, or on another
 * one. done() when all of them have been found; NOD_E_STORE: the store did not tell. `server` is
 * NULL when the server has gone.
 */
void session_calls_cancel(struct session *session, struct str why,
                          void (*done)(void *data, struct mcp_server *server, nod_status status),
                          void *data);

#endif
