/*
 * mcp/era2025/session_store: sessions that any node can serve (era 2025).
 *
 * With a durable or shared store, a session has a record in it: its principal, what was agreed at
 * its start, its subscriptions, and how long it lives. It lives as long as a session may be idle,
 * and at least as long as something in it waits or is kept. Nothing else is needed to go on with a
 * session.
 */
#ifndef NOD_MCP_ERA2025_SESSION_STORE_H
#define NOD_MCP_ERA2025_SESSION_STORE_H

#include "mcp/era2025/session.h"
#include "mcp/shared/request.h"

/* Another node has changed the record: reads it again, if the session is here. */
void session_look_again(struct mcp_server *server, struct str id);

/*
 * Writes the first record. done() is called later. With NOD_E_STORE there is no record, and nobody
 * may be told the session's id. The session is NULL if it has ended in the meantime.
 */
void session_keep(struct session *session,
                  void (*done)(void *data, struct session *session, nod_status status), void *data);
/* The session was used, or (`changed`) its record has to change: writes it, if it is time to. */
void session_refresh(struct session *session, bool changed);
/* session_need for a session that may not be here, by the scope of its calls. */
void session_need_away(struct mcp_server *server, struct str scope, int64_t for_ms);
/* The client has ended the session: erases the record. done() is called later. */
void session_erase(struct mcp_server *server, struct str id,
                   void (*done)(void *data, nod_status status), void *data);

/* Is it known, without asking the store, that the session has not ended? */
bool session_is_fresh(const struct session *session);
/*
 * Looks for a session that is not here, or not fresh. done() is called later. NOD_OK: it is here
 * and fresh. NOD_E_NOT_FOUND, also for another principal's session; NOD_E_LIMIT; NOD_E_STORE and
 * others.
 */
void session_fetch(struct mcp_server *server, struct str id, struct str principal,
                   void (*done)(void *data, struct mcp_server *server, nod_status status),
                   void *data);
/* Sessions with calls, or with a client that listens, are not idle: their records are kept
 * alive. Those with calls are also checked from time to time, because they may have been ended
 * elsewhere. */
void session_recheck(struct mcp_server *server, int64_t now);

#endif
