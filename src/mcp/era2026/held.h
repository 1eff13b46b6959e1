/*
 * mcp/era2026/held: a request of the 2026 era that is answered later, and is no call.
 */
#ifndef NOD_MCP_ERA2026_HELD_H
#define NOD_MCP_ERA2026_HELD_H

#include "mcp/shared/request.h"

/* See era_ops.hold. */
bool held2026_take(struct request *request, struct held *held);

#endif
