/*
 * mcp/era2026/attach: the soft deadline of a request, and requests that find a call that was made
 * before (era 2026).
 *
 * Both are about a request whose call waits for somebody elsewhere. Its own request is held
 * (attach2026_hold) until the call ends, it is the client's turn to be asked, or the soft deadline
 * has come. A request of one of nod's own tools (attach2026_start) is a caller2026 that never had
 * a call of its own: it takes over the one that it names, or of which it answers a question, and is
 * held in the same way. In this era
 * nothing else finds such a call: a request with the same arguments is a new call.
 */
#ifndef NOD_MCP_ERA2026_ATTACH_H
#define NOD_MCP_ERA2026_ATTACH_H

#include "mcp/era2026/caller.h"
#include "mcp/later/handle.h"

struct own_tool;
struct attach2026; /* what a request of such a tool knows of the call that it waits for */

/* A request of one of nod's own tools: gives its answer, if it brings one, looks for the call, and
 * waits for it. */
void attach2026_start(struct caller2026 *caller, const struct own_tool *tool,
                      const struct json *args);
/* Its call has ended: marks the result as handed out, then answers. */
void attach2026_collect(struct caller2026 *caller);

/* The questions of the call are up elsewhere only: waits for them, up to the soft deadline. */
void attach2026_hold(struct caller2026 *caller);
/* caller_ops.offered: if it is the turn of a client that was held, it is asked; if it is the
 * model's, the result tells it. */
void attach2026_offered(struct caller *base, struct call *call);
/* Answers with the pending result of the call, whose handle is there, and leaves the call: it is
 * nobody's from now on, and goes on by itself. */
void attach2026_pend(struct caller2026 *caller, struct call *call);
/* caller_ops.unseen: the soft deadline is over now. */
void attach2026_now(struct caller *base);

#endif
