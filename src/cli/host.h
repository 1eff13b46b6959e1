/*
 * cli/host: what a nod_server is made of.
 *
 * Owns the loop, the store, the engine, the catalog, the local provider and, while it serves, the
 * protocol. Everything runs on the thread that calls nod_main.
 */
#ifndef NOD_CLI_HOST_H
#define NOD_CLI_HOST_H

#include "core/catalog.h"
#include "core/engine.h"
#include "front/front.h"
#include "front/tokens.h"
#include "mcp/server.h"
#include "net/loop.h"
#include "provider/local.h"

enum {
    HOST_TEXT_MAX = 1024 * 1024, /* of all texts of the options */
    HOST_DRAIN_MS = 5000,        /* what runs may take that long when the server is told to stop */
    HOST_WORKERS_MS = 2000,      /* and a blocking handler, after that */
    HOST_STORE_MS = 2000,        /* a shared store, to be there when the server begins */
    HOST_SETTLE_MS = 1000,       /* and the store, with what they have left */
    HOST_TURN_MS = 20,           /* between two looks at it */
};

struct nod_server {
    struct nod_server_opts opts; /* its texts are in the arena */
    struct arena arena;
    struct loop *loop;
    struct store *store;
    struct engine *engine;
    struct catalog *catalog;
    struct local *local;
    struct mcp_server *mcp; /* while it serves */
    struct front *front;    /* likewise, over HTTP */
    struct tokens *tokens;
    struct keyring *ring; /* of the secrets that are set, or NULL */
    struct timer tick;    /* for the engine's next deadline */
    bool stopping;
};

/* Opens the store that the command line or the program names; false, logged, if it cannot be used.
 * Before serving, and once. */
struct options;
bool host_open_store(nod_server *server, const struct options *options);
/* Begins to serve; false, logged, if it cannot. */
bool host_serve_stdio(nod_server *server);
bool host_serve_http(nod_server *server, const struct options *options);
/* Until the server was told to stop and what ran has ended. */
void host_run(nod_server *server);

#endif
