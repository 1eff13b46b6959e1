/*
 * core/engine: runs calls, asks people, resumes calls.
 *
 * The engine owns every live call on this node. It knows no socket, no HTTP, no protocol method and
 * no clock but the one it is given. It is driven by four things: engine_call, ask_answer,
 * call_cancel and engine_tick; everything else follows through the seams.
 *
 * Order of durability, each committed before the next begins:
 *     ask ▶ told to any surface;  answer ▶ run again;  step result ▶ go on;  result ▶ reply.
 */
#ifndef NOD_CORE_ENGINE_H
#define NOD_CORE_ENGINE_H

#include "base/clock.h"
#include "core/flow.h"
#include "core/roles.h"
#include "core/caller.h"
#include "core/provider.h"
#include "core/store.h"
#include "core/surface.h"

struct catalog;
struct engine;

struct engine_limits {                 /* 0: the default */
    size_t pending_asks;               /* in all; ENGINE_PENDING_ASKS */
    size_t pending_asks_per_principal; /* ENGINE_PENDING_ASKS_PER_PRINCIPAL */
    size_t journal_entries;            /* of a call; ENGINE_JOURNAL_ENTRIES */
    size_t journal_bytes;              /* ENGINE_JOURNAL_BYTES */
    size_t run_bytes;                  /* memory of one run; ENGINE_RUN_BYTES */
    size_t calls;                      /* live on this node; ENGINE_CALLS */
};

enum {
    ENGINE_PENDING_ASKS = 1000000,             /* questions waiting, in all */
    ENGINE_PENDING_ASKS_PER_PRINCIPAL = 10000, /* and put to one principal */
    ENGINE_JOURNAL_ENTRIES = 64,               /* things a call may learn */
    ENGINE_JOURNAL_BYTES = 256 * 1024,         /* and their bytes; also of one answer */
    ENGINE_JOURNAL_ENTRIES_MOST = 4096,        /* as many as an option may allow */
    ENGINE_JOURNAL_BYTES_MOST = 4 << 20,       /* and bytes */
    ENGINE_JOURNAL_BYTES_LEAST = 4096,         /* bytes that an option must leave */
    ENGINE_JOURNAL_ENTRY_BYTES = 4096, /* for each thing, where a number of them is allowed alone */
    ENGINE_RUN_BYTES = 16 * 1024 * 1024, /* memory of one run of a handler */
    ENGINE_CALLS = 100000,               /* calls live on a node */
    ENGINE_ASK_TTL_MS = 300000,          /* how long a question waits */
    ENGINE_STORE_TRIES = 6,     /* of an operation whose store failed, with growing pauses */
    ENGINE_STORE_PAUSE_MS = 50, /* the first pause */
};

struct engine_opts {
    const struct clock *clock;
    struct store *store;
    struct str node; /* empty: random */
    /* fn(data) later, on this thread, in order; never from inside the call. */
    void (*defer)(void *ctx, void (*fn)(void *data), void *data);
    void *defer_ctx;
    int64_t ask_ttl_ms; /* 0: ENGINE_ASK_TTL_MS */
    bool one_ask_per_scope;
    struct engine_limits limits;
};

struct engine *engine_create(const struct engine_opts *opts);
/*
 * Calls that have not ended are dropped without a word to their callers. The store is destroyed
 * first: it drops the completions that are still on their way here.
 */
void engine_destroy(struct engine *engine);

/* Another clock than the one it was made with, before its first call. */
void engine_use_clock(struct engine *engine, const struct clock *clock);
/* Another store than the one it was made with, before its first call. */
void engine_use_store(struct engine *engine, struct store *store);
/*
 * What there is to call, so that a call whose target is gone ends with an error that says so: when
 * the target is taken away (engine_targets_changed), or when an answer comes, before it is taken.
 * Where others share the store the answer is taken, and a call whose client can come back for it is
 * unloaded: one of them may have the target.
 */
void engine_use_catalog(struct engine *engine, const struct catalog *catalog);
void engine_targets_changed(struct engine *engine);
/* Other bounds on the questions that wait here; 0: as it is. Before its first call. */
void engine_bound_asks(struct engine *engine, size_t in_all, size_t per_principal);
/* Other bounds on what a call may learn; 0: as it is. Before its first call. */
void engine_bound_journals(struct engine *engine, size_t entries, size_t bytes);
/* What is wrong with such bounds, in words; NULL: nothing. 0 is none. */
const char *engine_journal_wrong(size_t entries, size_t bytes);

struct journal_limits {
    size_t entries, bytes;
};
/* What a call of this target may learn; NULL: of one that sets nothing itself. */
struct journal_limits engine_journal_limits(const struct engine *engine,
                                            const struct target *target);

/*
 * In order of preference: an ask is put to the next one when the last has refused it. False, and a
 * line in the log that says why: there are too many, its name is not one (surface.h), or it is
 * another's.
 */
bool engine_add_surface(struct engine *engine, struct surface *surface);
/*
 * Only these surfaces are used, in this order, and where it is more than one an ask is up on all of
 * them that can, at the same time; NULL at the end. "client" is the client that made the call,
 * whichever way it is asked. NULL, or no name: as they were added. False: there is no surface of
 * the name *unknown, and nothing was changed. After the last surface was added, before the first
 * call.
 */
bool engine_use_surfaces(struct engine *engine, const char *const *names, struct str *unknown);
/* What they are called, with commas between them. */
struct str engine_surface_names(const struct engine *engine, struct arena *arena);
bool engine_has_surface(const struct engine *engine, const struct surface *surface);
/* Several surfaces were named: asks that a client carries are up elsewhere, too. */
bool engine_asks_together(const struct engine *engine);
/*
 * "tool.field" each, NULL at the end: fields of forms that may be asked for although they look like
 * secrets. The operator's word, never the author's; every use is logged. The list is not copied.
 */
void engine_allow_fields(struct engine *engine, const char *const *fields);
struct hooks *engine_hooks(struct engine *engine);
const struct flow_table *engine_flow(nod_flow flow);

/* Monotonic ms when engine_tick is due next; INT64_MAX: never. Changes with every call into the
 * engine. */
int64_t engine_deadline(const struct engine *engine);
void engine_tick(struct engine *engine);

/*
 * This node goes. From now on no run begins: calls that the store knows and that outlive the
 * process are given back to it, for the next start or another node; the others are cancelled. What
 * runs may still come to its end.
 */
void engine_stop(struct engine *engine);
/* Nothing of a call is on its way to the store. */
bool engine_settled(const struct engine *engine);

struct store *engine_store(const struct engine *engine);
/* Does the store do its work, as far as it knows? If not, why. */
bool engine_ready(const struct engine *engine, struct str *why);
/* The store's wall clock, in ms: expiry of whatever several nodes see is decided by it. */
int64_t engine_now(const struct engine *engine);
size_t engine_calls(const struct engine *engine);
size_t engine_pending(const struct engine *engine); /* asks */

/* The store outlives this process, or other nodes see it. */
bool engine_survives(const struct engine *engine);

/* --- what nobody works on any more --- */

enum {
    RECOVERY_NODE_TTL_MS = 5000, /* a node that has been silent for that long counts as gone */
    RECOVERY_BEATS = 5,          /* heartbeats in that time */
};

struct recovery_opts {
    /*
     * This call can be run, and is not live here. It may be adopted, now or later, or left to
     * others; it is shown again as long as nobody has. The record may lack its journal.
     */
    void (*orphan)(void *data, const struct call_record *record);
    void *data;
    int64_t node_ttl_ms; /* 0: RECOVERY_NODE_TTL_MS */
};
/* From now on, with a durable or shared store; otherwise there is nothing to recover. Before the
 * first call. */
void engine_recover(struct engine *engine, const struct recovery_opts *opts);

/* --- calls --- */

struct call_spec {
    struct target *target;
    const struct json *args; /* object or NULL; copied */
    struct str uri;          /* resources: the one that is read */
    struct str principal;
    struct str scope;
    struct str caller_record; /* JSON: how the caller can be reached again; may be empty */
    /* How long something lives, from each of its transitions on, that could bring it back: it is
     * remembered at least so long; 0: nothing. With questions it is that and the time they wait,
     * and keep_asked_ms, which counts with them alone. */
    int64_t keep_ms, keep_asked_ms;
    bool handed;   /* its client holds something to come back with: see call_handed */
    bool portable; /* its state is portable and may be presented to another node, which does
                           not share our store: only idempotent steps may happen */
    struct caller *caller;
    struct str id;   /* ID_LEN characters that nobody has used; empty: random */
    bool named;      /* its id stands for the request: one that is stored already is the same */
    bool hold_steps; /* before its first step it stops: see caller_ops.stepping */
    bool opened;     /* by engine_open: the store has it, running here in its first epoch */
};

/*
 * Stores a call before it begins, so that its client can be given something to come back with.
 * `spec` has an id; engine_call with the same, and `opened`, begins it. If this node dies before
 * that, the call is there for whoever comes back with what it was given, and for nobody else. Sent
 * again with its token while the store fails; done() comes in any case, also when the engine goes.
 */
void engine_open(struct engine *engine, const struct call_spec *spec, store_done *done, void *data);

/*
 * Begins a call. caller->call is set before anything else happens. caller->ops->finished comes
 * exactly once, perhaps before this returns.
 */
void engine_call(struct engine *engine, const struct call_spec *spec);

/*
 * Goes on with a call that was unloaded, here or on another node, or that comes back in the
 * client's hands. `asks` are the pending ones. With `import` the store does not know it: it is
 * stored first. asked() follows if something is pending; otherwise it is taken and runs. False, and
 * nothing happened: it is live here already (engine_find).
 */
struct adopt_spec {
    const struct call_record *record;
    const struct ask_record *asks;
    size_t ask_count;
    bool import;
    bool portable; /* see call_spec */
    struct target *target;
    struct caller *caller;
    bool hold_steps;                /* see call_spec */
    int64_t keep_ms, keep_asked_ms; /* see call_spec */
    bool handed;                    /* beside what the record says */
};
bool engine_adopt(struct engine *engine, const struct adopt_spec *spec);
struct call *engine_find(const struct engine *engine, struct str call_id);

/* How often an ask was put to its client, where the client's state knows better than the store. */
void ask_put_again(struct ask *ask, int attempt);

/*
 * The caller is gone and will not be called again. What the store knows goes on or waits for
 * whoever comes back; what it does not know is cancelled.
 */
void call_caller_left(struct call *call);

/*
 * Its client has been given something to come back with. The store is told with the call's next
 * transition: from then on the call is run on wherever there is a node, also without its client.
 */
void call_handed(struct call *call);
/* From its next transition on: see call_spec.keep_ms. */
void call_keep(struct call *call, int64_t keep_ms);

/* Perhaps it has gone on elsewhere: asks the store, if it waits. */
void call_wake(struct call *call);
/* Another caller waits for it from now on; the old one is not called again. */
void call_change_caller(struct call *call, struct caller *to);
/* After caller_ops.stepping, now or later: on with its steps. */
void call_step_on(struct call *call);

/* Cancels: its asks are withdrawn, finished() comes with NOD_E_CANCELLED, perhaps before this
 * returns. */
void call_cancel(struct call *call, struct str why);

/* The same by its id, wherever it is; nothing, if it has ended or is unknown. */
void engine_cancel(struct engine *engine, struct str call_id, struct str why);

/*
 * Ends a call that waits, or that nobody runs, with this failure instead. `done`, which may be
 * NULL, comes when the end is stored. NOD_E_STALE: it had ended before. NOD_E_STORE: the engine, or
 * the call, went before. NOD_PENDING, at once: nothing was done, because it is live here and does
 * not wait; it runs, or comes to an end by itself.
 */
void engine_end(struct engine *engine, struct str call_id, const struct outcome *outcome,
                void (*done)(void *data, nod_status status), void *data);

struct str call_id(const struct call *call);
struct str call_scope(const struct call *call);
const struct target *call_target(const struct call *call);
struct caller *call_caller(const struct call *call);
bool call_waiting(const struct call *call);
bool call_is_stored(const struct call *call); /* the store knows it */
/* It runs here, in an epoch of ours: what we know of it is what there is to know. */
bool call_working(const struct call *call);
struct str call_args(const struct call *call);
struct str call_uri(const struct call *call);
uint32_t call_notices(const struct call *call);
/* Could a surface other than this one put such a question to the person behind this call? */
bool engine_can_elsewhere(const struct engine *engine, const struct call *call, enum ask_kind kind,
                          bool consent, const struct surface *but);
/* What it has learned; during asked(), and while it runs. */
const struct entry *call_journal(const struct call *call, size_t *count);
/* The pending asks of a call, in order: for (ask = call_ask_first(c); ask; ask = call_ask_next(c,
 * ask)). */
struct ask *call_ask_first(const struct call *call);
struct ask *call_ask_next(const struct call *call, const struct ask *ask);

/* --- asks --- */

const struct ask_record *ask_record(
    const struct ask *ask); /* lives as long as the ask is pending here */
struct call *ask_call(const struct ask *ask);
/* A pending ask of this node, or NULL. */
struct ask *engine_ask(const struct engine *engine, struct str ask_id);

/* From a surface: see surface_ops.offer. */
void ask_offered(struct ask *ask, const struct surface *surface, enum offer_result result);

struct answer {
    enum ask_state action;      /* ASK_ACCEPTED, ASK_DECLINED, ASK_CANCELLED */
    const struct json *content; /* with ASK_ACCEPTED; may be NULL where nothing is asked for */
    struct str by;              /* the principal who answers, as verified */
    struct str scope;           /* not empty: the ask must be of this scope */
    struct str via;             /* where it was given (claim_spec.via); empty: the surface's name */
    const struct surface *surface;
    role_set roles;         /* of `by`; what comes through the client that was asked needs none */
    bool handed;            /* who answers has shown that the call's client can come back for it */
    int attempt;            /* the offer it answers; 0: whichever is up */
    struct answer_set *set; /* it is given together with others; NULL: by itself */
    bool too_large; /* there was content, and it is larger than an answer may be: it fits nothing */
    bool once;      /* whoever answers will not do it again: the surface is done with this ask. Also
                       where nobody listens for what became of it */
};

struct answer_result {
    nod_status status; /* NOD_OK: this answer counts. NOD_E_STALE: somebody or something else ended
                          it before. NOD_E_INVALID: the content does not fit (problems).
                          NOD_E_NOT_FOUND, NOD_E_REFUSED, NOD_E_STORE */
    enum ask_state state; /* with NOD_OK, NOD_E_STALE: how it ended */
    struct str by, via;   /* and by whom, and where */
    struct str problems;  /* NOD_E_INVALID, and of a hook that refused: JSON [{path, message}] */
    const char *code;     /* of a hook that refused the answer, for programs; NULL: none */
    struct str message;   /* and for people */
    bool pending;         /* it is still waiting for an answer */
    bool same; /* with NOD_E_STALE: it ended by this very answer, given by the same principal: it
                  was sent twice */
};

typedef void answered_fn(void *data, const struct answer_result *result);

/*
 * Answers an ask, by its exact id: validate, then claim once. `done` (may be NULL) comes once,
 * perhaps before this returns. Content and everything else is copied. On a surface without further
 * attempts, invalid content ends the ask.
 */
void ask_answer(struct engine *engine, struct str ask_id, const struct answer *answer,
                answered_fn *done, void *data);

/* Would this be an answer to the form that the ask puts? As it is checked when it is given. */
bool ask_fits_form(struct engine *engine, const struct ask_record *ask, const struct json *content);

/*
 * Answers to asks of one call that are given together, as one submission. Each is looked at by
 * itself, and told by itself; what fits is claimed in one transition of the store. If another
 * submission was first with other answers, none of it counts. Between the two, ask_answer with
 * `set`; after answers_end the set is the engine's.
 */
struct answer_set *answers_begin(struct engine *engine);
void answers_end(struct answer_set *set);

/*
 * Whoever could put this ask to its person cannot, and no surface of this node has it: it ends in
 * ASK_UNSUPPORTED.
 */
void ask_unsupported(struct engine *engine, struct str ask_id, answered_fn *done, void *data);

/* The page behind a URL ask is done: ends one with wait_done as accepted. */
void ask_url_done(struct engine *engine, struct str ask_id, answered_fn *done, void *data);

#endif
