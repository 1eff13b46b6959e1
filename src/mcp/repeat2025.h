/*
 * mcp/repeat2025: the same request again (era 2025).
 *
 * Within a session the id of a request names one call, on every node and for as long as the call's
 * result is kept. A proxy or a client that sends a request again gets that call's stream or result;
 * the same id with other params is refused.
 */
#ifndef NOD_MCP_REPEAT2025_H
#define NOD_MCP_REPEAT2025_H

#include "mcp/caller2025.h"

/* The call that a request of this session is, wherever it is handled. */
void repeat2025_call(const struct session *session, struct str request_id, struct id *out);

/*
 * A request by itself, over HTTP, that is about to become this call. True: it has been before, or
 * that is being looked for, and it is taken care of.
 */
bool repeat2025_take(struct request *request, const struct caller2025_spec *spec,
                     const struct id *call_id);

#endif
