/*
 * mcp/attach2026: the soft deadline of a request, and the tool waitForPerson (era 2026).
 *
 * Both are about a request whose call waits for somebody elsewhere. Its own request is held
 * (attach2026_hold) until the call ends, it is the client's turn to be asked, or the soft deadline
 * has come. A request of waitForPerson (attach2026_start) is a caller2026 that never had a call of
 * its own: it takes over the one that its handle names, and is held in the same way. In this era
 * nothing else finds such a call: a request with the same arguments is a new call.
 */
#ifndef NOD_MCP_ATTACH2026_H
#define NOD_MCP_ATTACH2026_H

#include "mcp/caller2026.h"
#include "mcp/handle.h"

struct attach2026; /* what a request of waitForPerson knows of the call that it waits for */

/* A request of waitForPerson: looks for the call of this handle, and waits for it. */
void attach2026_start(struct caller2026 *caller, struct str call_id);
/* Its call has ended: marks the result as handed out, then answers. */
void attach2026_collect(struct caller2026 *caller);

/* The questions of the call are up elsewhere only: waits for them, up to the soft deadline. */
void attach2026_hold(struct caller2026 *caller);
/* caller_ops.offered: if it is the turn of a client that was held, it is asked. */
void attach2026_offered(struct caller *base, struct call *call);

#endif
