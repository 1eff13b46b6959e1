/*
 * mcp/soft2025: the soft deadline of a held request (era 2025).
 */
#ifndef NOD_MCP_SOFT2025_H
#define NOD_MCP_SOFT2025_H

#include "mcp/caller2025.h"

/* caller_ops.offered: where its questions are up has changed. */
void soft2025_offered(struct caller *caller, struct call *call);
/* The request no longer waits. */
void soft2025_stop(struct caller2025 *call);
/* Responds with the pending result. The call is `to`'s from now on, or nobody's (NULL). */
void soft2025_pend(struct caller2025 *call, struct caller2025 *to);

#endif
