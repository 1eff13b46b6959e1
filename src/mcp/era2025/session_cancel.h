/*
 * mcp/era2025/session_cancel: cancels the calls of a session that wait in the store.
 */
#ifndef NOD_MCP_ERA2025_SESSION_CANCEL_H
#define NOD_MCP_ERA2025_SESSION_CANCEL_H

#include "mcp/era2025/session.h"

/*
 * Cancels every call of the session that waits in the store, on whatever node, except those whose
 * client holds a handle. done() is called when all of them have been found; NOD_E_STORE: the store
 * failed. `server` is NULL if the server is gone.
 */
void session_calls_cancel(struct session *session, struct str why,
                          void (*done)(void *data, struct mcp_server *server, nod_status status),
                          void *data);

#endif
