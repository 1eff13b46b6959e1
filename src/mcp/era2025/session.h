/*
 * mcp/era2025/session: one client that has sent initialize (era 2025).
 *
 * A session belongs to the principal that began it. It ends by DELETE, by being idle, or with the
 * server. Its calls are then cancelled, unless the store keeps them for the client to come back. It
 * is freed when the last of them has ended here.
 */
#ifndef NOD_MCP_ERA2025_SESSION_H
#define NOD_MCP_ERA2025_SESSION_H

#include "base/idmap.h"
#include "base/map.h"
#include "mcp/era2025/ended_streams.h"
#include "mcp/wire/revision.h"
#include "mcp/shared/server_inside.h"

enum {
    MCP_SESSIONS_MAX = 20000,         /* sessions of the 2025 era that are live at the same time */
    MCP_CALLS_PER_SESSION_MAX = 1024, /* requests in flight of one session */
};

struct caller2025;
struct mcp_stream;

struct session {
    struct mcp_server *server;
    struct client client; /* the client of its calls; its name is on the heap */
    int64_t soft_ms;      /* the soft deadline of its client, if the operator has set one */
    struct map *index;    /* of the calls by the text of their ids, once there are many */
    struct list call_list;
    struct list cancelling;
    struct list streams;
    struct ended_pile kept;   /* those of its streams that have ended */
    struct mcp_stream *lines; /* stdio: the only one */
    struct list subscriptions;
    struct list urls; /* elicitations whose page it was given (mcp/era2025/ask) */
    struct list by_use;
    int64_t used_ms;
    int64_t until_ms; /* the store's clock: until then something in it waits or is kept */
    /* Its record, with a durable or shared store (mcp/era2025/session_store). */
    int64_t written_ms; /* when the last write began */
    int64_t checked_ms; /* when the store last had it; INT64_MIN: it may have ended */
    uint64_t version;
    int64_t stored_until_ms; /* until_ms, as in the record */
    bool writing;
    bool unwritten; /* its subscriptions have changed since the last write began */

    bool initialized; /* initialize was answered */
    bool restored;    /* it was begun on another node, or before a restart */
    bool stores;      /* a call of it was stored */
    bool boolean_confirm;
    bool pended; /* a pending result was given out in it */
    bool ended;
    bool busy; /* being ended: must not be freed inside session_end */
    uint8_t log_level;
    uint16_t call_count;
    uint16_t standing_count;
    uint16_t subscription_count;
    uint16_t principal_len;
    uint16_t held_count;
    uint32_t next_stream;
    struct list held; /* requests that wait and are no calls: mcp/era2025/held */
    struct id id;
    char text[]; /* its scope: principal, '/', id */
};

/* The sessions of a server. */
struct sessions {
    struct idmap by_id;
    struct list by_use;     /* the session that was silent longest first */
    struct list ending;     /* ended ones whose calls have not all ended yet */
    struct id unknown_call; /* the store has no such call: its request is handled (repeat2025) */
};
struct sessions *sessions_create(void);
void sessions_destroy(struct sessions *sessions);
/* Ends all sessions. Calls that the store has are left to it. */
void sessions_end(struct mcp_server *server, struct str why);
/*
 * The server shuts down: clients that wait for a person are told. With a durable or shared store
 * their calls are still there, and they come back for them.
 */
void sessions_stop_waiting(struct mcp_server *server);
/* The server is being destroyed: the remaining calls of ended sessions are told nothing more. */
void sessions_orphan(struct mcp_server *server);

/* NULL: MCP_SESSIONS_MAX is reached, or the principal has as many as it may have. */
struct session *session_create(struct mcp_server *server, struct str principal);
/* A session that was begun on another node, or before a restart. */
struct session *session_restore(struct mcp_server *server, struct str principal,
                                const struct id *id);
/* Ends it: cancels its calls and closes its streams. Freed now, or when its last call has ended. */
void session_end(struct session *session, struct str why);
/* A call or stream has gone: frees an ended session that nothing points to. */
void session_moved(struct session *session);

/* By its id alone, for code that knows its principal. */
struct session *session_here(struct mcp_server *server, struct str id);
/* By id and principal: the session of another principal is not found. */
struct session *session_find(struct mcp_server *server, struct str id, struct str principal);
enum { SESSION_CALLS_LISTED = 8 }; /* up to here a walk through the list is as fast, and smaller */

/* The call of a request in flight, by the exact text of its id, or NULL. */
struct caller2025 *session_call(const struct session *session, struct str id);
void session_add_call(struct session *session, struct caller2025 *call);
void session_drop_call(struct session *session, struct caller2025 *call);

/* The client has come back to this stream, with these roles. */
void session_came_back(struct session *session, const struct mcp_stream *stream, role_set roles);

/* It has no call, and nobody listens. */
bool session_is_idle(const struct session *session);
/* It is in use right now. */
void session_touch(struct session *session);
/*
 * Something in the session waits, or is kept, for so long from now on. The session lives at least
 * as long and, with a durable or shared store, so does its record.
 */
void session_need(struct session *session, int64_t for_ms);
/* Ends sessions that were idle too long. With a durable or shared store, only on this node. */
void session_sweep(struct mcp_server *server, int64_t now);

static inline struct str session_principal(const struct session *session)
{
    return str_n(session->text, session->principal_len);
}

static inline struct str session_scope(const struct session *session)
{
    return session->client.scope;
}

/* Remembers what the client calls itself (clientInfo), for people. */
enum { SESSION_CLIENT_MAX = 8192 }; /* memory to write it */
void session_name_client(struct session *session, const struct json *info);

static inline const struct revision_facts *session_knows(const struct session *session)
{
    return revision_facts((enum revision)session->client.revision);
}

/* Sends a message that belongs to no call: to stdout, or to the GET stream if there ever was
 * one. */
bool session_notify(struct session *session, struct str message);

/*
 * Cancels every call of the session that waits in the store, on whatever node, except those whose
 * client holds a handle. done() is called when all of them have been found; NOD_E_STORE: the store
 * failed. `server` is NULL if the server is gone.
 */
void session_calls_cancel(struct session *session, struct str why,
                          void (*done)(void *data, struct mcp_server *server, nod_status status),
                          void *data);

#endif
