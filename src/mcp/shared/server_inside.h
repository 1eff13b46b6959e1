/*
 * mcp/shared/server_inside: the server as the files of mcp/ see it. Nobody else includes this.
 *
 * The server is made of parts. Each part belongs to one or two files, and its struct is in their
 * header, or only in the file; here it is only named. What is written out below is what nearly
 * every file needs: the options, the message that is being read, and the one that is being written.
 *
 * Holds always: `out` is empty, or is being filled by the one function that will send it. Between
 * filling and sending nobody calls into the engine, which could call back here.
 */
#ifndef NOD_MCP_SHARED_SERVER_INSIDE_H
#define NOD_MCP_SHARED_SERVER_INSIDE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "front/front.h"
#include "mcp/server.h"
#include "mcp/shared/live.h"
#include "mcp/wire/limits.h"
#include "net/queue.h"

/* Limits that several files use. Every other limit is beside what it bounds. */
enum {
    MCP_URI_MAX = 8192,                  /* bytes of a uri that is subscribed to */
    MCP_SUBSCRIPTIONS_STORED = 64 << 10, /* bytes of subscribed URIs in a session's record */
    MCP_FLUSH_MS = 2000,                 /* time for the last bytes at the end */
    MCP_LARGE_AT_ONCE = 4,               /* requests of a principal that read what may be large */
};

/* Whoever sent a request, as the front door has verified it. */
struct visitor {
    struct str principal; /* memory of the server, or of its tokens */
    role_set roles;       /* of the token that the request came with */
};

struct mcp_server {
    struct mcp_opts opts;
    struct arena texts;   /* for opts */
    struct arena message; /* for the message that is being read */
    struct buf out;       /* the message that is being written */

    struct front *front; /* where /mcp is served; NULL: nowhere */
    /* mcp/http: handles a request as if it had just arrived. */
    void (*http_again)(struct mcp_server *server, struct http_exchange *exchange,
                       const struct http_request *http, struct visitor who);
    struct front *pages; /* where questions have pages; NULL: nowhere */
    struct stdio *stdio; /* mcp/stdio; NULL: no pipe */
    struct timer sweep;

    struct list works;           /* mcp/shared/work: what is under way in the store */
    struct queue queue;          /* small requests for what may be large */
    struct live live;            /* mcp/shared/live: the live calls */
    struct drain *drain;         /* mcp/drain: the end */
    struct shares *shares;       /* mcp/shared/shares: what each principal has */
    struct announcer *announcer; /* mcp/shared/announce: what nodes tell each other */
    struct list deliveries;      /* mcp/shared/delivery: results on their way */
    const struct result_keeper
        *keepers;                      /* mcp/shared/delivery: who keeps results in this process */
    struct list_changes *list_changes; /* mcp/list_changed */
    struct callers_away *away;         /* mcp/later/caller_away: calls whose clients are away */
    struct pending *pending;           /* mcp/later/pending: results that are still to come */
    struct model *model;               /* mcp/later/model; NULL: no model is asked */
    struct views *views;               /* mcp/later/view: questions in the chat */

    /* Era 2025. */
    struct sessions *sessions;           /* mcp/era2025/session */
    struct ended_streams *ended_streams; /* mcp/era2025/ended_streams */
    struct subjects *subjects;           /* mcp/era2025/subscribers */
    struct listened *listened;           /* mcp/shared/listened */
    struct surface *client;              /* mcp/era2025/ask */

    /* Era 2026. */
    struct rounds2026 *rounds;   /* mcp/era2026/round: requests, and what seals requestState */
    struct listeners *listeners; /* mcp/era2026/subscriptions */
    struct tasks *tasks;         /* mcp/tasks/tasks */
    struct pipe2026 *pipe2026;   /* mcp/era2026/pipe */
    struct surface *mrtr;        /* mcp/era2026/ask */
};

/* The store is durable or shared: clients may come back. */
static inline bool server_survives(const struct mcp_server *server)
{
    return engine_survives(server->opts.engine);
}

/* The clock that decides expiry. */
static inline int64_t server_now(const struct mcp_server *server)
{
    return engine_now(server->opts.engine);
}

/* There are tokens: there are other principals than the local user, and each has its share. */
static inline bool server_has_tokens(const struct mcp_server *server)
{
    return server->front && front_has_tokens(server->front);
}

#endif
