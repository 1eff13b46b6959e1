/*
 * host/host: the parts of a nod_server.
 *
 * It owns the loop, the store, the engine, the catalog, the local provider and, while it serves,
 * the protocol. Everything runs on the thread that calls nod_main, or nod_start and nod_turn,
 * except blocking handlers and the threads of the SQLite store.
 */
#ifndef NOD_HOST_HOST_H
#define NOD_HOST_HOST_H

#include "core/catalog.h"
#include "core/engine.h"
#include "front/front.h"
#include "front/metrics.h"
#include "front/tokens.h"
#include "host/program.h"
#include "host/services.h"
#include "mcp/server.h"
#include "net/loop.h"
#include "accounts/accounts.h"
#include "provider/local.h"
#include "surface/hosted.h"
#include "surface/inbox.h"
#include "surface/webhook.h"

enum {
    HOST_TEXT_MAX = 1024 * 1024, /* of all texts of the options */
    HOST_DRAIN_MS = 5000,        /* what runs may take that long when the server is told to stop */
    HOST_WORKERS_MS = 2000,      /* and a blocking handler, after that */
    HOST_STORE_MS = 2000,        /* a shared store, to be there when the server begins */
    HOST_SETTLE_MS = 1000,       /* and the store, with what they have left */
    HOST_TURN_MS = 20,           /* between two looks at it */
};

/* Of a process that is a server, or a command of one. */
enum { EXIT_FINE = 0, EXIT_CANNOT_SERVE = 1, EXIT_WRONG_USAGE = 2 };

struct nod_server {
    struct settings settings;      /* its texts are in the arena */
    struct config *config;         /* of nod serve; NULL: none */
    const struct program *program; /* likewise; of another program NULL */
    struct arena arena;
    struct loop *loop;
    struct store *store;
    struct hooks hooks;    /* of the engine that it will have */
    struct engine *engine; /* once its store is there */
    struct catalog *catalog;
    struct local *local;
    struct mcp_server *mcp;                /* while it serves */
    struct front *front;                   /* likewise, over HTTP */
    struct inbox *inbox;                   /* likewise, unless it is switched off */
    struct hosted *hosted;                 /* likewise: pages of their own that asks may have */
    struct front_signin_opts signin_times; /* zeroed: as usual */
    struct metrics_port *metrics;          /* likewise, of --metrics */
    struct webhooks *webhooks;             /* likewise, if there are any */
    struct tokens *tokens;
    /* Where it keeps what only handlers see: see host/private_store. `store` and a copy of `ring`,
     * or of its own; both go with the store. */
    struct store *private_store;
    struct keyring *private_ring;
    bool private_last;         /* what is there outlives this process */
    struct keyring *ring;      /* of the secrets that are set, or NULL */
    struct accounts *accounts; /* accounts that people have connected */
    struct services services;  /* the program's; texts are in the arena */
    struct list page_checks; /* of nod_page_check, under way: page_check.c */
    struct list plugins;     /* of nod serve: plugins.c */
    struct plugin_room *plugin_room;
    struct plugin *loading; /* whose .load runs */
    bool plugins_unloaded;  /* the server is taken apart: they go with it */
    struct reload *reload;  /* the last one that was taken: program_reload.c */
    struct timer tick;      /* for the engine's next deadline */
    bool has_client;        /* one, on these two descriptors, unless it serves HTTP */
    int in, out;
    bool started;                  /* nod_start was called */
    bool reloads;                  /* SIGHUP is watched: reload.c */
    bool serving;                  /* and has begun to serve: the loop is held */
    bool ended;                    /* it was told to stop, and what ran has ended */
    bool stop_early, hangup_early; /* told so before it served: then it is done at once */
    bool stopping;
    int64_t hurry_until; /* it was told to stop twice; 0: it was not */
    struct timer hurry;
    const char *wrong_option; /* why it could not serve; NULL: it is not an option's value */
};

/* --- host/host --- */

/* Makes a server of what was read; takes over the arena. */
nod_server *host_create(const struct settings *settings, struct arena *arena);

/* --- host/serve: false, logged, if it cannot serve --- */

/* Makes the engine, as the settings say: with a store, which is then the server's. Once. */
void host_make_engine(nod_server *server, const struct clock *clock, struct store *store);
/* Once the engine is made: have portable states what they need? False, logged. */
bool host_portable_fits(nod_server *server);
/* Opens the store that the command line or the program names, and makes the engine. Once, before
 * serving. */
bool host_open_store(nod_server *server);
/* Makes the front door, with the routes of /mcp. It does not listen yet: between these two a module
 * adds its routes to server->front, and its surface to server->engine. */
bool host_open_http(nod_server *server);
/* Puts the surfaces into use that the options name, the protocol's own among them. */
bool host_use_surfaces(nod_server *server);
bool host_listen(nod_server *server);
/* Instead of both: the protocol and the surfaces of one client, whom it does not hear yet. */
bool host_prepare_stdio(nod_server *server);
/* Does that, and serves the client on the descriptors of nod_stdio. */
bool host_serve_stdio(nod_server *server);
/* Makes the front door that the options want, without routes and listeners. */
bool host_make_front(nod_server *server);
/* Figures at --metrics, when the front door is there, if there is one. */
bool host_open_metrics(nod_server *server);

/* --- host/start --- */

/* It listens: from now on it serves, until it has ended. */
void host_begin(nod_server *server);

/* --- host/main --- */

/* A crash in code that is not nod's is told in the last line of the log. */
void host_watch_crashes(void);
/* The process is the server's own: signals stop it, and it may have descriptors 0 and 1. Before the
 * store is opened. */
void host_own_process(nod_server *server);
/* Serves until it is told to stop, in a process of its own, and destroys the server: the exit code.
 */
int host_main(nod_server *server);
/* Waits until the server, which serves, was told to stop and what ran has ended. */
void host_run(nod_server *server);

/* --- host/page_check --- */

/* Tells all that wait that nothing is known. After the store is gone. */
void page_checks_drop(nod_server *server);
/* Calls fn, in a turn of its own, when all checks that were begun before are over. */
void page_checks_then(nod_server *server, void (*fn)(void *data), void *data);

/* --- host/private_store --- */

/* After the store and the keys are there. False, logged: it cannot serve. */
bool host_open_private(nod_server *server);
/* Before the server's own store is destroyed. */
void host_close_private(nod_server *server);

/* --- host/inbox --- */

/* Of a server on HTTP, whose front door is there and does not listen yet. False: it cannot serve.
 */
bool host_open_inbox(nod_server *server);
/* Of a server on stdio: opens it where the options say. If that cannot be, the log says so, and the
 * server goes on without. Not `listens`: it is made, and no address is opened. False: it cannot
 * serve. */
bool host_open_inbox_beside_stdio(nod_server *server, bool listens);
/* The server listens: tells the log how the inbox is opened. */
void host_announce_inbox(nod_server *server);

/* --- host/webhooks: false, logged, if they cannot be used --- */

/* After the store was opened, before the server listens. */
bool host_open_webhooks(nod_server *server);

/* --- host/oauth: false, logged, if a service cannot be used --- */

/* After the store was opened, before the server listens. */
bool host_open_oauth(nod_server *server);
/* What is wrong with the services of a file (or NULL) and of a configuration: false, and `problem`.
 * Those that the server has are not touched. */
bool host_check_oauth(nod_server *server, const char *file, const struct config *config,
                      char problem[SETTINGS_PROBLEM_MAX]);

/* --- host/remember: what approvals may be remembered for, in the operator's words --- */

bool remember_fits(struct str rule);
/* Reads the rules of a list, which fit, and gives their number. The last word on a tool counts. */
size_t remember_read(const char *const *texts, struct grant_rule rules[GRANT_RULES_MAX]);

/* --- host/tool_names --- */

enum { TOOL_NAMES_MAX = 2048 }; /* bytes of the names that a line lists; the rest is left out */
/* The names of all tools, or of those of a plugin, with commas. */
void tool_names_list(const struct catalog *catalog, struct str plugin, struct buf *out);

/* As --tool-names says. False, logged: two of the tools that are there would be one. */
bool tool_names_show(nod_server *server);
/* Warns of each option that names a tool which this server does not have, with the names that there
 * are. */
void tool_names_check(const nod_server *server);

/* --- host/program --- */

/* Of a server of nod serve: an address to listen on is taken. */
void program_say_taken(const char *address);

/* --- host/check --- */

/* Makes the parts of a server of its settings, without serving, and prints what they are. False:
 * something is wrong, and said on standard error. */
bool host_check(nod_server *server);

/* --- host/shutdown --- */

/* From now on SIGINT and SIGTERM stop the server. While it starts they are noted (stop_early), and
 * it ends as soon as its store has opened or has not. */
void shutdown_watch(nod_server *server);
/* `data` is the server: it is to stop, in good order. */
void shutdown_begin(void *data);
/* Frees the server as it is, as if its process had ended: nothing more is stored. For tests. */
void shutdown_crash(nod_server *server);

/* --- host/reload --- */

/* From now on SIGHUP is noted, until it is known what it is for. */
void reload_hold(void);
/* It is for nothing: it has its default again. `deliver`: one that was noted ends the process. */
void reload_let_go(bool deliver);
/* Of a process that ends with its server: from now on SIGHUP does nothing, not even its default. */
void reload_never(void);
/* From now on SIGHUP reads the token file and the certificate again. */
void reload_watch(nod_server *server);
/* The server serves now: what SIGHUP asked for while it started is done. */
void reload_noted(nod_server *server);
/* Reads the token file and the certificate again. */
void reload_files(nod_server *server);

/* --- host/program_reload: of nod serve --- */

/* The whole configuration is read again, and taken. False, logged: nothing has changed. */
bool program_reload(nod_server *server);
void program_reload_drop(nod_server *server);

#endif
