/*
 * mcp/session: one client that has said hello (era 2025).
 *
 * A session belongs to the principal that began it. It ends by DELETE, by being idle, or with the
 * server; its calls are cancelled then, and it is freed when the last of them has ended.
 */
#ifndef NOD_MCP_SESSION_H
#define NOD_MCP_SESSION_H

#include "base/idmap.h"
#include "base/map.h"
#include "mcp/ended_streams.h"
#include "mcp/revision.h"
#include "mcp/server_inside.h"

enum {
    MCP_SESSIONS_MAX = 20000,         /* sessions of the 2025 era that are live at the same time */
    MCP_CALLS_PER_SESSION_MAX = 1024, /* requests in flight of one session */
};

/* What the client declared. */
enum client_can {
    CLIENT_CAN_FORM = 1,
    CLIENT_CAN_URL = 2,
    CLIENT_CAN_SAMPLE = 4,
    CLIENT_CAN_SAMPLE_TOOLS = 8,
    CLIENT_CAN_ROOTS = 16,
};

/* The kinds of asks that a client can be asked which declared this, a bit (1 << enum ask_kind)
 * each. */
unsigned client_ask_kinds(unsigned can);

struct caller2025;
struct mcp_stream;

struct session {
    struct mcp_server *server;
    struct id id;
    uint8_t revision; /* enum revision */
    uint8_t can;      /* enum client_can */
    uint8_t log_level;
    bool initialized; /* initialize was answered */
    bool restored;    /* it was begun elsewhere, or before a restart */
    bool stores;      /* a call of it was stored */
    bool boolean_confirm;
    bool ended;
    bool busy;         /* being ended: not to be freed under the hands of session_end */
    struct map *index; /* of the calls by the text of their ids, once they are many */
    struct list call_list;
    struct list cancelling;
    struct list streams;
    struct ended_pile kept;   /* of them, those that have ended */
    struct mcp_stream *lines; /* stdio: the only one */
    uint32_t next_stream;
    uint16_t call_count;
    uint16_t standing_count;
    uint16_t subscription_count;
    struct list subscriptions;
    struct list urls; /* elicitations whose page it was given (mcp/ask2025) */
    struct list by_use;
    int64_t used_ms;
    int64_t until_ms; /* the store's clock: what waits or is kept in it can be come back for */
    /* Its record, where the store survives (mcp/session_store). */
    int64_t written_ms; /* the last writing began */
    int64_t checked_ms; /* the store had it; INT64_MIN: perhaps no longer */
    uint64_t version;
    int64_t stored_until_ms; /* until_ms as the record has it */
    bool writing;
    bool unwritten; /* what it subscribes to has changed since the last writing began */
    uint16_t principal_len;
    uint16_t scope_len;
    char text[]; /* the scope: principal, '/', id */
};

/* Those of a server. */
struct sessions {
    struct idmap by_id;
    struct list by_use;     /* the one that was silent longest first */
    struct list ending;     /* ended ones whose calls have not all ended yet */
    struct id unknown_call; /* the store has no such call: its request is handled (repeat2025) */
};
struct sessions *sessions_create(void);
void sessions_destroy(struct sessions *sessions);
/* Ends them all; what the store has of their calls is left to it. */
void sessions_end(struct mcp_server *server, struct str why);
/*
 * The server shuts down: clients that wait for a person are told, and not left hanging. With a
 * durable or shared store their calls are still there, and they come back for them.
 */
void sessions_stop_waiting(struct mcp_server *server);
/* The server is going: what is left of the calls of ended sessions is told nothing more. */
void sessions_orphan(struct mcp_server *server);

/* NULL: MCP_SESSIONS_MAX, or the share of the principal. */
struct session *session_create(struct mcp_server *server, struct str principal);
/* One that was begun elsewhere, or before a restart. */
struct session *session_restore(struct mcp_server *server, struct str principal,
                                const struct id *id);
/* Ends it: cancels its calls, closes its streams. Freed now or when its last call has ended. */
void session_end(struct session *session, struct str why);
/* A call or stream has gone: frees an ended session that nothing points to any more. */
void session_moved(struct session *session);

/* By its id alone: for those who know whose it is. */
struct session *session_here(struct mcp_server *server, struct str id);
/* By id, and of this principal: another one's session is not found. */
struct session *session_find(struct mcp_server *server, struct str id, struct str principal);
enum { SESSION_CALLS_LISTED = 8 }; /* up to here looking through the list is as fast, and smaller */

/* The call of a request in flight, by the exact text of its id, or NULL. */
struct caller2025 *session_call(const struct session *session, struct str id);
void session_add_call(struct session *session, struct caller2025 *call);
void session_drop_call(struct session *session, struct caller2025 *call);

/* It has no call, and nobody listens. */
bool session_is_idle(const struct session *session);
/* It is in use right now. */
void session_touch(struct session *session);
/*
 * Something in it waits, or is kept, for so long from now on: it lives at least as long, and where
 * the store survives so does its record.
 */
void session_need(struct session *session, int64_t for_ms);
/* Ends those that have been idle too long; where the store survives, only here. */
void session_sweep(struct mcp_server *server, int64_t now);

static inline struct str session_principal(const struct session *session)
{
    return str_n(session->text, session->principal_len);
}

static inline struct str session_scope(const struct session *session)
{
    return str_n(session->text, session->scope_len);
}

static inline const struct revision_facts *session_knows(const struct session *session)
{
    return revision_facts((enum revision)session->revision);
}

/* A message outside of any call: to stdout, or to the GET stream if there ever was one. */
void session_notify(struct session *session, struct str message);

#endif
