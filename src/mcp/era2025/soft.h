/*
 * mcp/era2025/soft: the soft deadline of a held request (era 2025).
 *
 * A request whose call has its questions up elsewhere only is not held for ever: at the soft
 * deadline (mcp/later/pending) its client is given a pending result. The call is nobody's from then
 * on, until a request finds it again (mcp/era2025/attach).
 *
 * Holds always: the client has no pending result before the store has the record of its handle. And
 * once that record may be there, the request that made the call gets the result of the call itself
 * only after the record says so: otherwise a server that dies in between leaves a record by which a
 * later call with the same arguments would be given a result that was handed out before. The same
 * counts for a request that has come back, because its pending result may have been lost.
 */
#ifndef NOD_MCP_ERA2025_SOFT_H
#define NOD_MCP_ERA2025_SOFT_H

#include "mcp/era2025/caller.h"

/* caller_ops.offered: where its questions are up has changed. */
void soft2025_offered(struct caller *caller, struct call *call);
/* caller_ops.unseen: its soft deadline is over now, if its questions are up elsewhere only. */
void soft2025_now(struct caller *caller);
/* The call waits for nobody now. */
void soft2025_stop(struct caller2025 *call);
/* The caller is being freed. */
void soft2025_forget(struct caller2025 *call);
/* Responds with the pending result. The call is `to`'s from now on, or nobody's (NULL). */
void soft2025_pend(struct caller2025 *call, struct caller2025 *to);

/* Its call, of this tool with these arguments, has ended, and the response is on its way. */
bool soft2025_ends(const struct caller2025 *call, struct str tool, const struct json *args);
/* May there be a record of a handle of its call? */
bool soft2025_noted(const struct caller2025 *call);
/* Its call has ended like this: responds as soon as that record, if it is there, says so. */
void soft2025_end(struct caller2025 *call, const struct call *ended, const struct outcome *outcome);
/* The same once more: the store did not say so. */
void soft2025_collect(struct caller2025 *call);

#endif
