/*
 * mcp/session_store: sessions that any node can serve (era 2025).
 *
 * With a durable or shared store, a session has a record in it: its owner, what was agreed at its
 * start, and how long it lives. It lives as long as a session may be idle, and at least as long as
 * something in it waits or is kept. Nothing else is needed to go on with a session.
 */
#ifndef NOD_MCP_SESSION_STORE_H
#define NOD_MCP_SESSION_STORE_H

#include "mcp/session.h"

/* Another node has changed its record: it is read again, if it is here. */
void session_look_again(struct mcp_server *server, struct str id);

/*
 * Its first record. done() comes later; with NOD_E_STORE there is none, and nobody may be told the
 * session's id. The session may have ended meanwhile: then it is NULL.
 */
void session_keep(struct session *session,
                  void (*done)(void *data, struct session *session, nod_status status), void *data);
/* It was used, or (`changed`) something of its record is new: written anew if it is time to. */
void session_refresh(struct session *session, bool changed);
/* session_need of a session that need not be here, by the scope of its calls. */
void session_need_away(struct mcp_server *server, struct str scope, int64_t for_ms);
/* The client has ended it. done() comes later. */
void session_erase(struct mcp_server *server, struct str id,
                   void (*done)(void *data, nod_status status), void *data);

/* Do we know, without asking the store, that it has not ended? */
bool session_is_fresh(const struct session *session);
/*
 * Looks for a session that is not here, or not fresh. done() comes later: NOD_OK, and it is here
 * and fresh; NOD_E_NOT_FOUND (also for another principal's); NOD_E_LIMIT; NOD_E_STORE and so on.
 */
void session_fetch(struct mcp_server *server, struct str id, struct str principal,
                   void (*done)(void *data, struct mcp_server *server, nod_status status),
                   void *data);
/* Sessions with calls, or with somebody who listens, are not idle: their records are kept alive.
 * Those with calls are also asked for from time to time: they may have been ended elsewhere. */
void session_recheck(struct mcp_server *server, int64_t now);

#endif
