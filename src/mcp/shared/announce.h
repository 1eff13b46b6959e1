/*
 * mcp/shared/announce: what nodes that share a store tell each other.
 */
#ifndef NOD_MCP_SHARED_ANNOUNCE_H
#define NOD_MCP_SHARED_ANNOUNCE_H

#include <stdint.h>

#include "base/id.h"
#include "base/str.h"

struct announcer;
struct mcp_server;

/* From now on this server hears what other nodes tell; and stops hearing it. `what` is the letter,
 * `rest` what comes behind it. */
void announce_listen(struct mcp_server *server,
                     void (*on_heard)(struct mcp_server *server, char what, struct str rest));
void announce_stop(struct mcp_server *server);

/* A resource has changed: tells its subscribers on other nodes. */
void announce_updated(struct mcp_server *server, struct str uri);
/* A page is done that another node may have given to a client. */
void announce_url_done(struct mcp_server *server, struct str elicitation_id);
/* The same, and the client's session is known, but does not listen here. */
void announce_complete(struct mcp_server *server, const struct id *session,
                       struct str elicitation_id);
/* The client has refused a question, in this attempt, that another node may have up there. */
void announce_refused(struct mcp_server *server, struct str ask_id, uint32_t attempt);
/* The record of a session has changed: other nodes that have the session read it again. */
void announce_session(struct mcp_server *server, const struct id *session);

#endif
