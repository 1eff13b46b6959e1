/*
 * mcp/era2025/held: a request of the 2025 era that is answered later, and is no call.
 */
#ifndef NOD_MCP_ERA2025_HELD_H
#define NOD_MCP_ERA2025_HELD_H

#include "mcp/era2025/session.h"
#include "mcp/shared/request.h"

enum { MCP_HELD_PER_SESSION_MAX = 64 }; /* requests of one session that wait and are no calls */

/* See era_ops.hold. */
bool held2025_take(struct request *request, struct held *held);
/* The client has cancelled the request of this id. False: there is none. */
bool held2025_cancel(struct session *session, struct str id);
/* The session ends. */
void held2025_end(struct session *session);

#endif
