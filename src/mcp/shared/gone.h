/*
 * mcp/shared/gone: a call that comes back to a node which does not have its target.
 *
 * However it comes (a look for orphans, an event id, the same request again, waitForPerson, a
 * requestState, a task), the rule is the same, and it is here: a call that has ended gives its end;
 * a call that has not is left to other nodes while one of them may have its target, and ends in
 * TOOL_GONE, with the steps that were done, when none has.
 */
#ifndef NOD_MCP_SHARED_GONE_H
#define NOD_MCP_SHARED_GONE_H

#include "core/engine.h"

struct mcp_server;
struct gone;

enum {
    MCP_GONE_MS = 30000
}; /* a call that could be run, and whose target no node has, ends then */

struct gone *gone_create(void);
void gone_destroy(struct gone *gone);

/*
 * Somebody has come for this call, which has not ended, and whose target this node does not have.
 * True: no node has the target, and the call is to be ended. False: another node has it, or may
 * have it soon: come again later.
 */
bool gone_for_good(struct mcp_server *server, const struct call_record *record);

/* Ends it, as engine_end does. The journal of the record must be there. */
void gone_end(struct mcp_server *server, const struct call_record *record,
              void (*done)(void *data, nod_status status), void *data);

/* Nobody works on this call, and its target is not here. The journal need not be there. */
void gone_orphan(struct mcp_server *server, const struct call_record *record);

#endif
