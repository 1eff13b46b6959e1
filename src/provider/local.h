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

enum { LOCAL_REFUSED_MAX = 256 }; /* bytes of a name in local_set_refused, which is cut */

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
/* What is in a set may be removed by its name, and the set forgets it. */
bool local_remove_tool(struct local *local, struct str name);
bool local_remove_resource(struct local *local, struct str uri); /* or template */
bool local_remove_prompt(struct local *local, struct str name);
bool local_remove_hook(struct local *local, struct hooks *hooks, struct str name);

/*
 * A set: what one plugin, in one version, has registered. It comes in one step, and goes in one
 * step, perhaps for the next version of itself.
 *
 * From local_set_begin until local_set_close or local_set_abort, all that is registered on this
 * local (and hooks in `hooks`) goes into the set, and nobody sees any of it. One set at a time.
 */
struct local_set;

struct local_set_opts {
    struct str from; /* the plugin's name, shown to people; empty: none. Copied */
    /*
     * The set was aborted, replaced or removed, or the server ends, and nobody calls what was
     * registered with it any more: no call has one of its targets, and no run of one of its hooks
     * is left. Called once, on the loop, in a turn of its own: never inside of a handler or a hook.
     * When the server ends it is called by local_destroy, and not at all if a handler did not
     * return (local_stop). The set is gone then. May be NULL.
     */
    void (*released)(void *data);
    void *data;
};

/* What was refused, and whose the other one of that name is. For one line. */
struct local_set_refused {
    const char *kind; /* "tool", "resource", "prompt", "hook"; NULL: none in particular */
    char name[LOCAL_REFUSED_MAX];  /* empty: it has none */
    bool taken;                    /* there is another of that name, which is not of the set: */
    char from[LOCAL_REFUSED_MAX];  /* that one's plugin; empty: it is the program's */
    char shown[LOCAL_REFUSED_MAX]; /* that one's path, if it is another: clients would be shown both
                                      as one (catalog_show) */
    bool limit;                    /* with these there would be more than there may be */
    /* otherwise it could not be registered: the log has said why */
};

/* NULL, logged: another set has been begun. */
struct local_set *local_set_begin(struct local *local, struct hooks *hooks,
                                  const struct local_set_opts *opts);
/* Nothing more is registered with it; it may be committed at any later time. False: something could
 * not be registered, and *refused says what. */
bool local_set_close(struct local_set *set, struct local_set_refused *refused);
/* A set takes effect, and another one goes. Either may be NULL. */
struct local_change {
    struct local_set *set, *instead_of;
};
/*
 * All of these changes are made in one step: nobody sees one without the others. What has the name
 * of something in the set that it replaces has its place. Calls that wait go on with what is there
 * then under the name of their target, if its version is the same, and end otherwise
 * (core/replaced.c).
 *
 * NOD_E_USAGE, NOD_E_LIMIT: the change at `at` cannot be made, and *refused says why. Then nothing
 * has changed, and all the new sets are to be aborted.
 */
nod_status local_sets_change(struct local *local, struct hooks *hooks,
                             const struct local_change *changes, size_t count, size_t *at,
                             struct local_set_refused *refused);
/* Of a set that has not taken effect: nothing of it stays. */
void local_set_abort(struct local_set *set);

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
