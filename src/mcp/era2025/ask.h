/*
 * mcp/era2025/ask: asking through the MCP client itself (era 2025).
 *
 * Sends elicitation/create (form and URL), sampling/createMessage and roots/list, on the stream of
 * the call that asks. The ask's id is the JSON-RPC id of the request, so an answer is matched by
 * the exact id it answers.
 */
#ifndef NOD_MCP_ERA2025_ASK_H
#define NOD_MCP_ERA2025_ASK_H

#include "core/surface.h"
#include "core/engine.h"
#include "rpc/message.h"

struct caller2025;
struct mcp_server;
struct session;

struct surface *client_surface_create(struct mcp_server *server);
void client_surface_destroy(struct surface *surface);

/*
 * A response from this session's client. A response that answers nothing changes nothing. `done`
 * (may be NULL) is called once, perhaps before this returns.
 */
void client_surface_response(struct surface *surface, struct session *session, role_set roles,
                             const struct rpc_message *message, answered_fn *done, void *data);

/* Another node was told by its client that it has no answer to this attempt. */
void client_surface_refused(struct surface *surface, struct str ask_id, uint64_t attempt);

/* The page of a URL elicitation is done: tells the client that was given it. False: this node has
 * given it to none. */
bool client_surface_url_done(struct surface *surface, struct str elicitation_id);
/* The same for a session that listens here, whichever node has given it the page. False: it does
 * not. */
bool client_surface_complete(struct session *session, struct str elicitation_id);
/* A call ended with the error that pages have to be opened first. `data` (JSON) names them. */
void client_surface_url_required(struct surface *surface, struct session *session, struct str data);
/* The stream of the call is about to be shown again: without the questions that have ended. */
void client_surface_forget_ended(struct caller2025 *call);
/* The session has ended. */
void client_surface_forget(struct surface *surface, struct session *session);

#endif
