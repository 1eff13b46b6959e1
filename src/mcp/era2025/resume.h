/*
 * mcp/era2025/resume: a client comes back for something that this node does not have (era 2025),
 * because another node had it, or this one before a restart.
 */
#ifndef NOD_MCP_ERA2025_RESUME_H
#define NOD_MCP_ERA2025_RESUME_H

#include "mcp/era2025/session.h"

/* GET with the id of an event of this call's stream: goes on after that event. */
void resume2025_stream(struct session *session, struct http_exchange *exchange, struct visitor who,
                       struct str call_id, uint32_t seq);

/* The request waits until its session is here. Then it is handled as if it had just arrived. */
void resume2025_session(struct mcp_server *server, struct http_exchange *exchange,
                        const struct http_request *http, struct visitor who, struct str id);

/* notifications/cancelled for a request that is not here. Looks for its call, for a short time.
 * `done`, which may be NULL, is called once: the call is cancelled, or the store does not know it
 * (yet), or NOD_E_STORE. */
void resume2025_cancel(struct session *session, struct str request_id, struct str why,
                       void (*done)(void *data, nod_status status), void *data);

#endif
