/*
 * mcp/attach2026: the soft deadline of a request, and the tool waitForPerson (era 2026).
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
