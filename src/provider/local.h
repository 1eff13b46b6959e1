/*
 * provider/local: tools, resources and prompts that are C functions.
 *
 * Registers them in the catalog and runs them: on the loop, or on the worker pool if they may
 * block. A local call resumes by being run again with a longer journal.
 */
#ifndef NOD_PROVIDER_LOCAL_H
#define NOD_PROVIDER_LOCAL_H

#include "core/catalog.h"
#include "core/engine.h"
#include "json/schema.h"
#include "net/loop.h"
#include "provider/workers.h"

struct local;

struct local_opts {
    nod_server *server; /* what nod_server_of returns; may be NULL */
    struct catalog *catalog;
    struct loop *loop;
    size_t workers;    /* 0: WORKERS_DEFAULT */
    bool replay_check; /* every run twice, to find handlers that are not deterministic */
};

struct local *local_create(const struct local_opts *opts);
/*
 * Ends the pool, waiting at most wait_ms, outside of loop_run; see workers_destroy. Call it while
 * the engine is still there. False: a handler did not return, and what it may use has to stay.
 */
bool local_stop(struct local *local, int wait_ms);
/* After the engine is gone. Removes everything from the catalog. */
void local_destroy(struct local *local);

/* Where the program registers from now on, for messages: see nod_source. */
void local_source(struct local *local, const char *file, int line);
/* A table is added whole or not at all. Mistakes are logged. */
nod_status local_add_tools(struct local *local, const nod_tool *tools, size_t count, size_t size);
nod_status local_add_resources(struct local *local, const nod_resource *resources, size_t count,
                               size_t size);
nod_status local_add_prompts(struct local *local, const nod_prompt *prompts, size_t count,
                             size_t size);
/* A hook of the program. */
nod_status local_add_hook(struct local *local, struct hooks *hooks,
                          const struct nod_hook_opts *opts);
/* False: there is none of that name, or it is another provider's. */
bool local_remove_tool(struct local *local, struct str name);
bool local_remove_resource(struct local *local, struct str uri); /* or template */
bool local_remove_prompt(struct local *local, struct str name);
bool local_remove_hook(struct local *local, struct hooks *hooks, struct str name);

/* Sets local_opts.replay_check afterwards. */
void local_check_replays(struct local *local, bool check);
/* Calls fn(data, key of the step) after the effect of each step and before it is recorded, on the
 * handler's thread. For tests. */
void local_watch_steps(struct local *local, void (*fn)(void *data, const char *key), void *data);
/* What people read for the name of a service of nod_credential (empty: there is none of that name).
 * Called on handlers' threads. Before the first call. */
typedef struct str local_title(const void *data, struct str service);
void local_use_titles(struct local *local, local_title *title, const void *data);
/* What seals the tokens of nod_page_token; taken over. Without: a random one for this process. */
struct keyring;
struct page_token;
void local_use_keyring(struct local *local, struct keyring *ring);
/* Opens such a token: page_token_open. */
nod_status local_open_page_token(struct local *local, struct str text, struct arena *arena,
                                 struct page_token *out);
struct workers *local_workers(struct local *local);

#endif
