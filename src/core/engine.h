/*
 * core/engine: runs calls, asks people, resumes calls.
 *
 * The engine owns every live call on this node. It knows no socket, no HTTP, no protocol method and
 * no clock but the one it is given. Four functions drive it: engine_call, ask_answer, call_cancel
 * and engine_tick. Everything else follows through the seams (store, surface, provider, caller).
 *
 * Order of durability, each committed before the next begins:
 *     ask ▶ told to any surface;  answer ▶ run again;  step result ▶ go on;  result ▶ reply.
 */
#ifndef NOD_CORE_ENGINE_H
#define NOD_CORE_ENGINE_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "core/flow.h"
#include "core/grant.h"
#include "core/roles.h"
#include "core/caller.h"
#include "core/consent.h"
#include "core/counts.h"
#include "core/provider.h"
#include "core/store.h"
#include "core/surface.h"

struct answer;
struct catalog;
struct engine;

struct engine_limits {                 /* 0 stands for the default */
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
    ENGINE_KEPT_MIB = 4096,                    /* MiB of what is kept for calls, in all */
    ENGINE_KEPT_MIB_PER_PRINCIPAL = 64,        /* and for one principal, if there are tokens */
    ENGINE_JOURNAL_ENTRIES = 64,               /* things a call may learn */
    ENGINE_JOURNAL_BYTES = 256 * 1024,         /* and their bytes; also of one answer */
    ENGINE_JOURNAL_ENTRIES_MOST = 4096,        /* the most entries that an option may allow */
    ENGINE_JOURNAL_BYTES_MOST = 4 << 20,       /* and bytes */
    ENGINE_JOURNAL_BYTES_LEAST = 4096,         /* the fewest bytes that an option may allow */
    ENGINE_JOURNAL_ENTRY_BYTES = 4096,   /* bytes for each entry, if only their number is given */
    ENGINE_RUN_BYTES = 16 * 1024 * 1024, /* memory of one run of a handler */
    ENGINE_CALLS = 100000,               /* calls live on a node */
    ENGINE_ASK_TTL_MS = 300000,          /* how long a question waits */
    ENGINE_NEXT_TURN_MS = 30000,         /* how long one place is waited for, in turn */
    ENGINE_PAGE_URL_MAX = 2560,          /* bytes of the address of a page of ours */
    ENGINE_STORE_TRIES = 6,     /* of an operation whose store failed, with growing pauses */
    ENGINE_STORE_PAUSE_MS = 50, /* the first pause */
    ENGINE_TICK_MAX = 64,       /* things that are due, in one engine_tick */
};

struct engine_opts {
    const struct clock *clock;
    struct store *store;
    struct str node; /* empty: random */
    /* Calls fn(data) later, on this thread, in order, and never from inside defer itself. */
    void (*defer)(void *ctx, void (*fn)(void *data), void *data);
    void *defer_ctx;
    const struct catalog *catalog; /* see engine_use_catalog; NULL: none yet */
    struct hooks
        *hooks; /* begun with engine_hooks_init, which this engine finishes; NULL: its own */
    int64_t
        ask_ttl_ms; /* how long a question waits; 0: ENGINE_ASK_TTL_MS; RUN_TTL_MAX_MS at most */
    int64_t
        next_turn_ms; /* how long one turn lasts, where the clock ends it; 0: ENGINE_NEXT_TURN_MS */
    bool one_ask_per_scope;
    /* Whose word is consent, if a target does not say something stricter, as consent_named has it
     * (core/consent.h); NULL: roles. */
    const char *consent;
    bool model_may_consent;   /* what a model says counts, and destructive tools ask it */
    bool confirm_destructive; /* every call of a destructive tool is asked for at the gate */
    /* "tool.field" each, NULL at the end: form fields that may be asked for although they look like
     * secrets. The operator decides this, never the author of a tool; every use is logged. The list
     * is not copied. */
    const char *const *allow_fields;
    const struct grant_rule *remember; /* the operator's rules; copied */
    size_t remember_count;
    struct engine_limits limits;
};

struct engine *engine_create(const struct engine_opts *opts);
/* The operator's rules of what approvals may be remembered for, instead of those there were; texts
 * are copied. */
void engine_remember(struct engine *engine, const struct grant_rule *rules, size_t count);
/*
 * Calls that have not ended are dropped, and their callers are not told. Destroy the store first:
 * it drops the completions that are still on their way here.
 */
void engine_destroy(struct engine *engine);

/* Replaces the store that the engine was made with. Before its first call. */
void engine_use_store(struct engine *engine, struct store *store);
/*
 * Tells the engine what there is to call, so that a call whose target is gone ends with an error
 * that says so. That happens when the target is removed (engine_targets_changed), or when an answer
 * comes, before it is taken. If other nodes share the store, one of them may have the target: then
 * the answer is taken, and a call whose client can come back is unloaded.
 */
void engine_use_catalog(struct engine *engine, const struct catalog *catalog);
/* Targets were added, or also removed (`went`). The live calls are looked at once in a turn, and
 * only if some went. */
void engine_targets_changed(struct engine *engine, bool went);
/* The bytes for a number of entries, if no bytes were given. */
size_t engine_journal_bytes_for(size_t entries);
/* What is wrong with such limits, in words; NULL: nothing. 0 means none was given. */
const char *engine_journal_wrong(size_t entries, size_t bytes);

struct journal_limits {
    size_t entries, bytes;
};
/* What a call of this target may learn; NULL: of a target without limits of its own. */
struct journal_limits engine_journal_limits(const struct engine *engine,
                                            const struct target *target);

/*
 * In order of preference: when a surface has refused an ask, it is put to the next. False: there
 * are too many surfaces, or the name is not valid (surface.h) or is taken; the log says which.
 */
bool engine_add_surface(struct engine *engine, struct surface *surface);
/*
 * Where people are asked: names of surfaces, separated by commas (at the same time) or by > (in
 * turn); see plan.h. The texts of the list, which ends with NULL, are read as if there were a comma
 * between them. "client" is the client that made the call, whichever way it is asked. NULL, or no
 * name: all surfaces, each in its turn. False: there is no surface of the name *unknown, and
 * nothing was changed. Call it after the last surface was added and before the first call. A target
 * may have names of its own.
 */
bool engine_use_surfaces(struct engine *engine, const char *const *names, struct str *unknown);
/* Does what a client with these roles says count as consent, for what this target asks? */
bool engine_client_consents(const struct engine *engine, const struct target *target,
                            role_set roles);
/* What the operator of this server can do if only a model could be asked, and its word does not
 * count: how a sentence goes on. It is never freed. */
void engine_say_instead_of_model(struct engine *engine, const char *what);
struct str engine_instead_of_model(const struct engine *engine);
/* The names of all surfaces, with commas between them. */
struct str engine_surface_names(const struct engine *engine, struct arena *arena);
/* Is the client asked what this target asks? And is anybody else? A target of NULL stands for one
 * that names no surfaces. */
bool engine_asks_client(struct engine *engine, struct target *target);
bool engine_asks_elsewhere(struct engine *engine, struct target *target);
/* Is a person asked elsewhere? */
bool engine_asks_people_elsewhere(struct engine *engine, struct target *target);
/* May it come to a model being asked for data, if the client can be asked these kinds (1 << enum
 * ask_kind)? */
bool engine_asks_model(struct engine *engine, struct target *target, unsigned kinds,
                       role_set roles);
/* Several surfaces were named: asks that a client carries are up elsewhere as well. */
bool engine_asks_together(struct engine *engine, struct target *target);
/* May a call of this target wait for somebody elsewhere, if its client can be asked these kinds (1
 * << enum ask_kind), and has these roles? */
bool engine_waits_elsewhere(struct engine *engine, struct target *target, unsigned kinds,
                            role_set roles);
/* The same, and the somebody is a person. */
bool engine_waits_for_people(struct engine *engine, struct target *target, unsigned kinds,
                             role_set roles);
/*
 * This server has pages of its own (surface/hosted.h). link() appends the address of the page of
 * an ask, whose record has its id, principal and scope; it is for people until `expires_ms`. False:
 * it does not fit. may_open(): can this principal open its pages, as things are now? Who cannot is
 * not asked there. NULL: everybody can. ended(): an ask that has a page ended without being
 * accepted, as this node knows first; NULL: nobody wants to know. Before the first call.
 */
struct engine_pages {
    bool (*link)(void *data, const struct ask_record *ask, int64_t expires_ms, struct buf *url);
    bool (*may_open)(void *data, struct str principal);
    void (*ended)(void *data, const struct ask_record *ask);
    void *data;
    unsigned kinds; /* a bit (1 << enum ask_page) for each that it has; 0: it has none */
};
void engine_use_pages(struct engine *engine, const struct engine_pages *pages);
bool engine_has_page(const struct engine *engine, enum ask_page page);
/*
 * Where an ask of ASK_URL is answered, for somebody who is shown it now. The link of a page of ours
 * is made each time it is shown and is in no record: a server may come back under another address.
 * Empty: this server has no such page.
 */
struct str ask_url(const struct engine *engine, const struct ask_record *ask, struct arena *arena);
struct hooks *engine_hooks(struct engine *engine);
/* The hooks of an engine that there will be, with nod's own. */
void engine_hooks_init(struct hooks *hooks);
const struct flow_table *engine_flow(nod_flow flow);

/* Monotonic ms when engine_tick is due next; INT64_MAX: never. Every call into the engine may
 * change it. */
int64_t engine_deadline(const struct engine *engine);
/* What is due, but not very much at once: then the next deadline is in the past. */
void engine_tick(struct engine *engine);

/*
 * This node stops. From now on no run begins. Calls that the store knows are given back to it, if
 * it is durable or shared, for the next start or another node; all others are cancelled. Runs that
 * are under way may still end.
 */
void engine_stop(struct engine *engine);
/* This node was told to stop. The store is told before anything else, and calls that this node
 * leaves running count for nothing: see node.c. May be called again. */
void engine_leave(struct engine *engine);
/* The store does not know of it yet. */
bool engine_is_leaving(const struct engine *engine);
/* No operation of any call is on its way to the store. */
bool engine_settled(const struct engine *engine);

struct store *engine_store(const struct engine *engine);
/* Does the store work, as far as it knows? If not, *why says why. */
bool engine_ready(const struct engine *engine, struct str *why);
/* Should this node get requests? Not if the store does not work, or holds what this node cannot
 * open. */
bool engine_fit(const struct engine *engine, struct str *why);
/* The store holds what is sealed with a secret that this node does not have. */
bool engine_lacks_secret(const struct engine *engine);
/* The store's wall clock, in ms. It decides the expiry of everything that several nodes see. */
int64_t engine_now(const struct engine *engine);
size_t engine_calls(const struct engine *engine);
size_t engine_pending(const struct engine *engine); /* pending questions to people */
/* What this node has done since it started. Valid as long as the engine. */
const struct counts *engine_counts(const struct engine *engine);

/* --- asks that come up and end, on whatever node --- */

/* Embedded in its owner, zeroed at first. */
struct ask_watch {
    struct list link;
    /* As in store_ops.watch_asks: only a hint; NULL: look at everything. It may unwatch itself, and
     * no other. */
    void (*told)(void *data, const struct ask_hint *hint);
    void *data;
};
/* After engine_use_store. told(NULL) follows, later. */
void engine_watch_asks(struct engine *engine, struct ask_watch *watch);
/* Before the store is destroyed. Does nothing if it does not watch. */
void engine_unwatch_asks(struct engine *engine, struct ask_watch *watch);

/*
 * Who opens no new call, because too many bytes are kept for it, as far as is known at once: by the
 * store, or by whoever has said so with engine_also_full, because it keeps something beside the
 * store. `full` NULL: nobody does.
 */
enum store_quota engine_full(struct engine *engine, struct str principal, uint64_t *most);
void engine_also_full(struct engine *engine,
                      enum store_quota (*full)(void *data, struct str principal, uint64_t *most),
                      void *data);
/* The result of a call was handed out: the store is told, once (store_ops.fetched). */
void engine_fetched(struct engine *engine, struct str call_id);
/* What somebody is told who would exceed a bound of the store. */
struct str engine_quota_message(struct arena *arena, struct str principal, enum store_quota quota,
                                uint64_t most);

/* The store is durable or shared: calls outlive this process, or other nodes see them. */
bool engine_survives(const struct engine *engine);

/* --- calls and questions that no node works on --- */

enum {
    RECOVERY_NODE_TTL_MS = 5000, /* a node that was silent for so long counts as gone */
    RECOVERY_BEATS = 5,          /* heartbeats in that time */
};

struct recovery_opts {
    /*
     * This call can be run, and is not live here. It may be adopted, now or later, or left to
     * others. It is shown again for as long as nobody has taken it. The record may lack its
     * journal.
     */
    void (*orphan)(void *data, const struct call_record *record);
    void *data;
    int64_t node_ttl_ms; /* 0: RECOVERY_NODE_TTL_MS */
};
/* Begins to look for them. Without a durable or shared store there are none, and the store only
 * gets heartbeats while it holds calls, with which it drops what is over. Before the first
 * call. */
void engine_recover(struct engine *engine, const struct recovery_opts *opts);

/* --- calls --- */

struct call_spec {
    struct target *target;
    const struct json *args; /* object or NULL; copied */
    struct str uri;          /* resources: the one that is read */
    struct str principal;
    struct str scope;
    struct str caller_record; /* JSON: how the caller can be reached again; may be empty */
    struct str client;        /* see call_record.client */
    struct str meta;          /* see call_record.meta */
    /* How long, after each of its transitions, something lives that could bring the call back; 0:
     * nothing. The call is remembered for at least so long. While it has questions, that is
     * keep_ms, the time they wait, and keep_asked_ms together. */
    int64_t keep_ms, keep_asked_ms;
    bool handed; /* the client holds something to come back with: see call_handed */
    /* the call's state may be presented to a node that does not share our store: only idempotent
     * steps */
    bool portable;
    struct caller *caller;
    struct str id;   /* ID_LEN characters, never used before; empty: random */
    bool named;      /* the id stands for the request: a stored call of that id is the same */
    bool hold_steps; /* it stops before its first step: see caller_ops.stepping */
    bool opened;     /* engine_open has stored it, running here in its first epoch */
    /* engine_open does not send it again after this time of the monotonic clock; 0: it may */
    int64_t open_until_ms;
};

/*
 * Stores a call before it begins, so that its client can be given something to come back with.
 * `spec` has an id. engine_call with the same spec, and `opened`, begins the call. If this node
 * dies before that, only a client that comes back with what it was given finds the call. The
 * operation is sent again while the store fails. done() is called once in any case, also when the
 * engine is destroyed.
 */
void engine_open(struct engine *engine, const struct call_spec *spec, store_done *done, void *data);

/*
 * Begins a call. caller->call is set before anything else happens. caller->ops->finished is called
 * once, perhaps before this returns.
 */
void engine_call(struct engine *engine, const struct call_spec *spec);

/*
 * Goes on with a call that was unloaded, here or on another node, or whose state the client brings
 * back. `asks` are the pending ones. With `import` the store does not know the call: it is stored
 * first. If something is pending, what the caller brings (caller_ops.brings) is claimed, and
 * asked() follows if that leaves anything; otherwise the call is taken and runs. False, and nothing
 * happened: the call is live here already (engine_find).
 */
struct adopt_spec {
    const struct call_record *record;
    const struct ask_record *asks;
    size_t ask_count;
    bool import;
    bool portable; /* see call_spec */
    struct target *target;
    struct caller *caller;
    const struct client *made_by;   /* who made the call; NULL: the client of `caller` did */
    bool hold_steps;                /* see call_spec */
    int64_t keep_ms, keep_asked_ms; /* see call_spec */
    bool handed;                    /* true also if the record says so */
};
bool engine_adopt(struct engine *engine, const struct adopt_spec *spec);
/* False: the call is not here, and as many calls are live as may be. Adopting it would tell its
 * caller a failure, although the call goes on. */
bool engine_has_room_for(const struct engine *engine, struct str call_id);
struct call *engine_find(const struct engine *engine, struct str call_id);
/* From caller_ops.brings: the answer to this ask, which has a surface. Its content may go when
 * brings() has returned. */
void call_bring(struct ask *ask, const struct answer *answer);

/* Sets how often an ask was put to its client, if the client's state knows better than the
 * store. */
void ask_put_again(struct ask *ask, int attempt);

/*
 * The caller is gone and will not be called again. A call that the store knows goes on, or waits
 * for whoever comes back. A call that it does not know is cancelled.
 */
void call_caller_left(struct call *call);

/*
 * The client has been given something to come back with. The store is told with the call's next
 * transition. From then on any node runs the call on, also without its client.
 */
void call_handed(struct call *call);
/* Sets call_spec.keep_ms, from the call's next transition on. */
void call_keep(struct call *call, int64_t keep_ms);

/* The call may have gone on elsewhere: if it waits, the store is asked. */
void call_wake(struct call *call);
/* Another caller waits for the call from now on. The old one is not called again. */
void call_change_caller(struct call *call, struct caller *to);
/* After caller_ops.stepping, now or later: lets the call go on with its steps. */
void call_step_on(struct call *call);

/* Cancels the call: its asks are withdrawn, and finished() is called with NOD_E_CANCELLED, perhaps
 * before this returns. */
void call_cancel(struct call *call, struct str why);

/* The same. `done`, which may be NULL, is called when its end is stored, whatever it is, and those
 * of the calls that it waited for: no answer to their questions counts any more, on any node.
 * NOD_E_STALE: see engine_end. NOD_E_STORE: as there, or the store is away. Then the cancel is sent
 * on, as long as this node lives. */
void call_cancel_then(struct call *call, struct str why,
                      void (*done)(void *data, nod_status status), void *data);

/* The same by its id, wherever the call is. Nothing happens if it has ended or is unknown. */
void engine_cancel(struct engine *engine, struct str call_id, struct str why,
                   void (*done)(void *data, nod_status status), void *data);
/* The same. If the call is unknown, because another node is still on its way to store it, it is
 * stored as cancelled, as a call of this principal and scope: whoever opens it finds that. */
void engine_cancel_ahead(struct engine *engine, struct str call_id, struct str principal,
                         struct str scope, struct str why,
                         void (*done)(void *data, nod_status status), void *data);

/*
 * Ends a call that waits, or that no node runs, with this failure. `done`, which may be NULL, is
 * called when the end is stored. NOD_E_STALE: the call had ended before. NOD_E_STORE: the engine or
 * the call went away first. NOD_PENDING, at once: nothing was done, because the call is live here
 * and does not wait; it runs, or comes to its own end.
 */
void engine_end(struct engine *engine, struct str call_id, const struct outcome *outcome,
                void (*done)(void *data, nod_status status), void *data);

/* Where the target of a call is, in the version that the call began with. */
enum version_at {
    VERSION_HERE,    /* at this node */
    VERSION_THERE,   /* not here, but at a node that lives, and was not told to stop */
    VERSION_UNSURE,  /* not here; which the others have is being read: ask again */
    VERSION_NOWHERE, /* at no node: its calls end */
};
/* If this node does not have it. */
enum version_at engine_version_elsewhere(struct engine *engine, const struct call_record *record);

struct str call_id(const struct call *call);
struct str call_scope(const struct call *call);
const struct target *call_target(const struct call *call);
struct caller *call_caller(const struct call *call);
/* The client behind its caller; of a call that is alone, the client that made it. */
struct client call_client(const struct call *call);
/* Nobody waits for its result here: the call goes on by itself, and call_change_caller gives it to
 * whoever comes. */
bool call_is_alone(const struct call *call);
bool call_waiting(const struct call *call);
/* It is on its way to the store for the first time, and nothing of it has been done. */
bool call_is_opening(const struct call *call);
/* It waited, and it is being looked at what became of it elsewhere: see call_wake. */
bool call_looking(const struct call *call);
bool call_is_stored(const struct call *call); /* the store knows it */
/* In finished(): is it the end of the call? If not, its caller alone is told so, and may come
 * again: the store has the call as it was, and nothing of it is handed out. */
bool call_has_ended(const struct call *call);
/* The call runs here, in an epoch of ours: no other node knows more of it. */
bool call_working(const struct call *call);
struct str call_args(const struct call *call);
struct str call_meta(const struct call *call); /* see call_record.meta */
struct str call_uri(const struct call *call);
/* Could a surface other than this one put such a question to the person behind this call? */
bool engine_can_elsewhere(const struct engine *engine, const struct call *call,
                          const struct ask_record *ask, const struct surface *but);
/* One of its questions is up elsewhere than at its client, or will be. */
bool call_waits_elsewhere(const struct call *call);
/* A person is asked elsewhere what the call asks, in some turn. */
bool call_asks_people_elsewhere(const struct call *call);
/* All of them are, and none is up at its client. */
bool call_waits_only_elsewhere(const struct call *call);
/* What the call has learned. Valid while it runs, during finished(), and during asked(), unless
 * answers were brought before that: then only the store has it. */
const struct entry *call_journal(const struct call *call, size_t *count);
/* The pending asks of a call, in order. */
struct ask *call_ask_first(const struct call *call);
struct ask *call_ask_next(const struct call *call, const struct ask *ask);

/* --- asks --- */

const struct ask_record *ask_record(
    const struct ask *ask); /* Valid while the ask is pending here. */
struct call *ask_call(const struct ask *ask);
/* Its page was agreed to, by the caller that is here, and is not done yet. */
bool ask_is_opened(const struct ask *ask);
/* A pending ask of this node, or NULL. */
struct ask *engine_ask(const struct engine *engine, struct str ask_id);

/* May the client be asked this, as far as the operator, the target and its roles are concerned? */
bool ask_is_for_client(const struct ask *ask);
/* It may, and its turn has come (core/plan.h). */
bool ask_is_clients_turn(const struct ask *ask);
/* The same of an ask that may not be live here, and a client with these roles. */
bool engine_asks_client_this(struct engine *engine, const struct ask_record *record,
                             role_set roles);
/* The client was asked this before: its turn has come, whatever the clock says. */
void ask_was_clients_turn(struct ask *ask);

#define TURN_HAS_COME 0
#define TURN_NEVER    INT64_MAX /* nobody is asked there */
#define TURN_UNTIMED                                                                               \
    (INT64_MAX - 1) /* when those before it cannot be asked, whatever the clock says */
/* When the turn of this surface comes, by the store's clock, unless nobody before it can be asked
 * any more. What has ended waits for nobody's turn. */
int64_t engine_turn_comes(struct engine *engine, const struct ask_record *record,
                          const struct surface *surface);

/*
 * The client has refused an ask that this node does not have up there: perhaps another node has, or
 * its call is live nowhere. Whoever follows is asked. `done` is called once, perhaps before this
 * returns, when that is recorded; then tell the node that has it up. False: nobody
 * follows, and `done` is not called.
 */
bool engine_client_refused(struct engine *engine, const struct ask_record *record, store_done *done,
                           void *data);
/* Does an answer to this ask count now, by the plan and by core/consent.h? NULL: it does. Otherwise
 * why not, for people. */
const char *answer_unheard(struct engine *engine, const struct ask_record *ask,
                           const struct surface *surface, role_set roles);
/* Is this surface one of those where such an ask is put, and has its turn come? */
bool engine_asks_on(struct engine *engine, const struct ask_record *record,
                    const struct surface *surface);
/* Is it up there now? */
bool ask_is_up_on(const struct ask *ask, const struct surface *surface);

/* What its client says of it does not count, or no longer: whoever follows is asked, as if the
 * client had refused. */
void ask_client_unheard(struct ask *ask);
/* Called by a surface: see surface_ops.offer. */
void ask_offered(struct ask *ask, const struct surface *surface, enum offer_result result);

struct answer {
    enum ask_state action;      /* ASK_ACCEPTED, ASK_DECLINED, ASK_CANCELLED */
    const struct json *content; /* with ASK_ACCEPTED; may be NULL if nothing is asked for */
    struct str reason;          /* why, in the answerer's words; at most NOTE_REASON_MAX bytes */
    /* with ASK_ACCEPTED: one of grants_offered, to be remembered; NULL: nothing */
    const struct remember_choice *remember;
    struct str by;    /* the principal who answers, as verified */
    struct str scope; /* not empty: the ask must be of this scope */
    struct str via;   /* where it was given (claim_spec.via); empty: the surface's name */
    const struct surface *surface;
    role_set roles;         /* the roles of `by`, on the token that brings it: core/consent.h */
    bool handed;            /* the answerer has shown that the call's client can come back */
    int attempt;            /* the offer it answers; 0: whichever is up */
    bool fits;              /* ask_fits_form has said so of the content: it is not checked again */
    struct answer_set *set; /* the answers it is given with; NULL: it is given by itself */
    /* the ask, if the answerer has just read it from the store: then it is not read again */
    const struct ask_record *read;
    bool too_large; /* the content was larger than an answer may be: it fits nothing */
    /* the answerer will not send it again, and the surface is done with this ask. Also set if
     * nobody waits for the result */
    bool once;
};

struct answer_result {
    /* NOD_OK: this answer counts. NOD_E_STALE: the ask had ended before. NOD_E_INVALID: the
     * content does not fit (problems). NOD_E_NOT_FOUND, NOD_E_REFUSED, NOD_E_STORE */
    nod_status status;
    enum ask_state state; /* with NOD_OK, NOD_E_STALE: how the ask ended */
    struct str by, via;   /* by whom, and where */
    struct str call_id;   /* the call that asked; empty: the answerer may not know of it */
    struct str problems;  /* with NOD_E_INVALID, or if a hook refused: JSON [{path, message}] */
    const char *code;     /* of a hook that refused the answer, for programs; NULL: none */
    struct str message;   /* the same, for people */
    bool pending;         /* the ask still waits for an answer */
    const char *unheard;  /* with NOD_E_REFUSED: see answer_unheard; NULL: a hook has refused it */
    bool elsewhere;       /* the same: what the answer counts for, a node with the tool knows */
    /* with NOD_E_STALE: this very answer, by the same principal, ended it: it was sent twice */
    bool same;
};

typedef void answered_fn(void *data, const struct answer_result *result);

/*
 * Answers an ask by its exact id: the answer is validated, then claimed once. `done` (may be NULL)
 * is called once, perhaps before this returns. Content and all else is copied. On a surface without
 * further attempts, invalid content ends the ask.
 */
void ask_answer(struct engine *engine, struct str ask_id, const struct answer *answer,
                answered_fn *done, void *data);

/* Does this content fit the form of the ask? The same check as when an answer is given. */
bool ask_fits_form(struct engine *engine, const struct ask_record *ask, const struct json *content);

/*
 * Answers to asks of one call that are given together, as one submission. Between answers_begin and
 * answers_end, call ask_answer with `set` for each. Each answer is checked and told its result
 * separately; those that fit are claimed in one transition. If another submission came first with
 * other answers, none of these counts. After answers_end the set belongs to the engine.
 */
struct answer_set *answers_begin(struct engine *engine);
void answers_end(struct answer_set *set);

/*
 * The client that was to put this ask to its person cannot, and nobody else can be asked: the ask
 * ends in ASK_UNSUPPORTED.
 */
void ask_unsupported(struct engine *engine, struct str ask_id, answered_fn *done, void *data);

/*
 * The answer was given on the page of this server that the ask has (ask_record.page), by the
 * principal that the ask was put to; nobody else may. There is no surface: via is "page". Content
 * that does not fit leaves the ask pending.
 */
void ask_page_answer(struct engine *engine, struct str ask_id, const struct answer *answer,
                     answered_fn *done, void *data);

/* The page of a URL ask with wait_done, which is not ours, is done: the ask ends as accepted. */
void ask_url_done(struct engine *engine, struct str ask_id, answered_fn *done, void *data);

#endif
