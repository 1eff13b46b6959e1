/*
 * mcp/server: the Model Context Protocol in front of an engine.
 *
 * One mcp_server serves every transport of the process. It registers its client surface with the
 * engine itself.
 */
#ifndef NOD_MCP_SERVER_H
#define NOD_MCP_SERVER_H

#include "base/clock.h"
#include "core/catalog.h"
#include "core/engine.h"
#include "mcp/wire/result.h"
#include "net/loop.h"

struct mcp_server;
struct keyring;
struct front; /* front/front.h: the listeners and the routes */

/* What each principal has a share of: mcp/shared/shares. */
enum mcp_share {
    MCP_SHARE_SESSIONS,
    MCP_SHARE_CALLS,         /* live calls: requests in flight */
    MCP_SHARE_LISTENERS,     /* GET streams and subscriptions/listen */
    MCP_SHARE_SUBSCRIPTIONS, /* to resources, in either era */
    MCP_SHARE_TASKS,
    MCP_SHARE_URLS, /* past it the oldest goes, and nobody is refused */
    MCP_SHARES
};

enum {
    MCP_HEARTBEAT_MS = 15000,               /* between signs of life on a stream that waits */
    MCP_SESSION_IDLE_MS = 3600000,          /* a session without a sign of life ends after this */
    MCP_PAGE_SIZE = 100,                    /* rows of a page of a list */
    MCP_SESSIONS_PER_PRINCIPAL_MAX = 2000,  /* sessions of one principal, if there are tokens */
    MCP_CALLS_PER_PRINCIPAL_MAX = 2000,     /* its requests in flight, if there are tokens */
    MCP_LISTENERS_PER_PRINCIPAL_MAX = 1000, /* GET streams and subscriptions/listen */
    MCP_SUBSCRIPTIONS_PER_PRINCIPAL_MAX = 10000, /* to resources */
    TASKS_PER_PRINCIPAL_MAX = 1000,              /* tasks of one principal */
    MCP_COMPLETION_MS = 10000, /* how long a provider may take to suggest something */
    MCP_STATE_JOURNAL_MAX =
        512 << 10, /* bytes of a journal and its questions in a portable state */
};

/* Does a portable state have room for everything that a call of this target may learn? */
bool mcp_state_carries(const struct engine *engine, const struct target *target);

/* The operator raises the soft deadline for a client, by the name it gives, or for a tool. */
struct mcp_soft_rule {
    struct str name;
    bool tool;
    int64_t ms;
};

struct mcp_opts {
    struct loop *loop;
    struct engine *engine;
    struct catalog *catalog;
    const struct clock *clock;
    struct implementation self; /* its name, title and version */
    struct str instructions;
    int64_t heartbeat_ms;                       /* 0: 15000 */
    int64_t session_idle_ms;                    /* 0: one hour */
    size_t page_size;                           /* 0: 100 */
    const char *const *boolean_confirm_clients; /* NULL-terminated, or NULL */
    int64_t completion_ms; /* how long a provider may take to suggest something; 0: 10000 */
    int64_t hold_ms;       /* how long a retry waits for a page, or for another node; 0: 20000 */
    int64_t node_ttl_ms;   /* a node that was silent for so long is gone; 0: RECOVERY_NODE_TTL_MS */
    int64_t task_ttl_ms;   /* how long a task lives; 0: one hour */
    size_t per_principal[MCP_SHARES]; /* how many of each one principal may have; 0: the default */
    struct keyring *keyring; /* seals what clients carry; taken over. NULL: a random key for the
                                life of the server */
    bool portable_states; /* a 2026 call goes on at any node that has the key, without its store */
    int64_t soft_ms;      /* how long a call is held that waits for somebody elsewhere; 0: 50000 */
    const struct mcp_soft_rule *soft_rules; /* live as long as the server */
    size_t soft_rule_count;
    /* A view of a client without a token may consent; and those of these principals may not,
     * whatever they have. NULL-terminated, or NULL; lives as long as the server. */
    bool view_consent;
    const char *const *no_view_consent;
};

struct mcp_server *mcp_server_create(const struct mcp_opts *opts);
void mcp_server_destroy(struct mcp_server *server);

/* Questions can be answered on pages of this front door, each at /ask/{id}. */
void mcp_use_pages(struct mcp_server *server, struct front *pages);

/* The model of a client without elicitation is asked, where nobody else can be: mcp/later/model,
 * surface/model, which is taken over. After every other surface was added. False, logged: it cannot
 * be. */
bool mcp_use_model(struct mcp_server *server, struct surface *model);

/* stdio: one session with the local user. ended() when the input has ended and the last reply is
 * sent. */
nod_status mcp_stdio_start(struct mcp_server *server, int read_fd, int write_fd,
                           void (*ended)(void *data), void *data);

/*
 * Adds the routes of /mcp to the front door, once, before it listens. A drain drains the front too,
 * and the server closes it before it is destroyed; whoever made the front destroys it after that.
 * NOD_E_REFUSED, logged: the routes are taken.
 */
nod_status mcp_http_start(struct mcp_server *server, struct front *front);

/* No new requests. done() is called when running calls have ended, or after grace_ms; waiting calls
 * are then cancelled or, with a durable or shared store, left to it. */
void mcp_drain(struct mcp_server *server, int grace_ms, void (*done)(void *data), void *data);

/* On the loop thread. */
void mcp_resource_updated(struct mcp_server *server, struct str uri);
/* The page of a URL elicitation is done: ends an ask that waits for it, and tells the client. */
void mcp_url_done(struct mcp_server *server, struct str elicitation_id);

#endif
