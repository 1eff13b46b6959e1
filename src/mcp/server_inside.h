/*
 * mcp/server_inside: the server as the files of mcp/ see it. Nobody else includes this.
 *
 * Holds always: `out` is empty, or being filled by the one function that will send it; between
 * filling and sending nobody calls into the engine, which could lead back here.
 */
#ifndef NOD_MCP_SERVER_INSIDE_H
#define NOD_MCP_SERVER_INSIDE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/idmap.h"
#include "base/list.h"
#include "base/map.h"
#include "mcp/meta.h"
#include "front/front.h"
#include "mcp/server.h"
#include "net/http.h"

/* Limits that several files keep to; every other one stands with what it bounds. */
enum {
    MCP_URI_MAX = 8192,                  /* bytes of a uri that is subscribed to */
    MCP_SUBSCRIPTIONS_STORED = 64 << 10, /* bytes of their uris in a session's record */
    MCP_MESSAGE_MAX = 16 << 20,          /* bytes of one message we send */
    MCP_BODY_MAX = 4 << 20,              /* bytes of one message that comes */
    MCP_TREE_MAX = 64 << 20,             /* memory of one parsed message */
    MCP_TREE_KEEP = 256 << 10,           /* and how much of it is kept for the next one */
    MCP_FLUSH_MS = 2000,                 /* for the last bytes on the way out */
    MCP_UNRUN_MAX = 256,                 /* such calls that are watched at a time */
};

struct session;
struct stdio;

struct unrun { /* a call that can be run, but not here: its target is missing */
    struct id call;
    int64_t first, seen; /* the loop's clock */
};

struct mcp_server {
    struct mcp_opts opts;
    struct arena texts;                 /* of opts */
    struct arena message;               /* the one being read */
    struct buf out;                     /* the one being written */
    struct buf plain, sealed, requests; /* of the round that goes out: see round2026.c */
    struct surface *client;

    struct idmap sessions;               /* HTTP only */
    struct list by_use;                  /* of them, the one that was silent longest first */
    struct list ending;                  /* ended sessions whose calls have not all ended yet */
    struct ended_streams *ended_streams; /* ended streams */
    struct timer sweep;
    struct id announcer; /* names this server to the others */
    struct map subjects; /* uri -> who subscribes */
    unsigned changed;    /* bits of enum target_kind: lists whose change is still to be told */
    bool telling;
    struct timer tell;

    /* Era 2026. */
    struct keyring *keyring; /* seals requestState */
    struct surface *mrtr;
    struct list callers;   /* requests whose calls are live, or being looked for */
    struct list listeners; /* subscriptions/listen */
    size_t listener_count;
    struct tasks *tasks;
    struct map on_pipe;      /* stdio: request id -> struct in_flight */
    struct mcp_stream *pipe; /* stdio: where lines go; NULL: there is none */

    struct id unknown_call; /* the store has no such call: its request is handled (repeat2025) */
    struct list works;      /* struct server_work */
    struct unrun unrun[MCP_UNRUN_MAX];
    struct list callers_away; /* struct caller_away: calls that are run for clients who are away */

    struct map holders;  /* principal -> what it has: mcp/shares */
    struct front *front; /* where /mcp is served; NULL: nowhere */
    struct stdio *stdio;

    size_t calls;   /* live */
    size_t waiting; /* of them, for a person */
    uint64_t stray; /* responses that answered nothing */

    bool draining;
    bool drained; /* no call is left, or the time is up: only the last bytes are on their way */
    bool http_drained;
    bool flushing, flushed; /* the store is taking the last records; its time for that is up */
    struct timer drain_limit;
    struct timer drain_turn;
    void (*drain_done)(void *data);
    void *drain_data;
};

/* Something under way in the store that points to the server. `server` is NULL once that has gone:
 * then there is nothing to do but to free what belongs to it. */
struct server_work {
    struct list link;
    struct mcp_server *server;
    void (*drop)(struct server_work *work); /* no completion is on its way: the server goes */
};
void server_work_add(struct mcp_server *server, struct server_work *work);
void server_work_done(struct server_work *work);

/* What is stored outlives this process, or other nodes see it: clients may come back. */
static inline bool server_survives(const struct mcp_server *server)
{
    return engine_survives(server->opts.engine);
}

/* The clock that decides what has run out. */
static inline int64_t server_now(const struct mcp_server *server)
{
    return engine_now(server->opts.engine);
}

/* A call has begun to wait, has ended or a transport has closed: is a drain complete now? */
void server_check_drained(struct mcp_server *server);

/* There are tokens: more principals than the local user, and each has its share. */
static inline bool server_has_tokens(const struct mcp_server *server)
{
    return server->front && front_has_tokens(server->front);
}

/* mcp/stdio_orphans: what an earlier process has asked over its pipe is withdrawn. */
void stdio_orphans_withdraw(struct mcp_server *server);

/* mcp/stdio */
void mcp_stdio_check_drained(struct mcp_server *server);
/* Flushes and closes; server_check_drained follows. */
void mcp_stdio_close(struct mcp_server *server);
/* The server goes now. */
void mcp_stdio_stop(struct mcp_server *server);

#endif
