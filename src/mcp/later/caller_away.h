/*
 * mcp/later/caller_away: the caller of a call whose client is away.
 *
 * A call that no node works on is run on for a client that will come back for it, by an event id or
 * a task id. This does not apply to a request of the 2026 era whose client has gone: there, closing
 * the connection cancels. Such a call waits for its retry.
 */
#ifndef NOD_MCP_LATER_CALLER_AWAY_H
#define NOD_MCP_LATER_CALLER_AWAY_H

#include "core/engine.h"

struct caller_record;
struct callers_away;
struct mcp_server;

/* keeps_session() is told of a call that a request of a session made, and that waits or has ended
 * now: its session is needed for as long as somebody may come back for it. */
struct callers_away *callers_away_create(void (*keeps_session)(struct mcp_server *server,
                                                               const struct call *call));
void callers_away_destroy(struct callers_away *callers);

/* Runs on a call that nobody works on, if its record names its caller. */
void caller_away_orphan(struct mcp_server *server, const struct call_record *record);
/* The same for a caller that is named elsewhere. */
void caller_away_go_on(struct mcp_server *server, const struct call_record *record,
                       struct target *target, const struct caller_record *by);

/* Is the client of this call away, or does the call go on by itself? */
bool caller_is_away(const struct call *call);

/* The server is being destroyed. */
void caller_away_stop(struct mcp_server *server);

#endif
