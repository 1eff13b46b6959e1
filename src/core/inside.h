/*
 * core/inside: what the files of the core share with each other and with nobody else.
 *
 * engine.c         the engine itself: deadlines, limits, surfaces, schemas
 * call.c           the life of a call: its stages, its end
 * call_hooks.c     its stages, as its hooks see them
 * gate.c           asking before a call starts
 * home.c           calls that providers of this node have begun
 * hook.c           the hooks there are, and one call of one of them
 * call_run.c       a call is run: a run is made, handed to its provider, timed, and ended
 * call_save.c      what a run has left behind is stored
 * call_asks.c      the questions of a round: from the run that asked them to the waiting
 * run_journal.c    what a run may look up and record while it is with its provider
 * ask.c            the life of an ask up to the offer: request stages, expiry
 * offers.c         where an ask is up: the surfaces, one after the other or several at once
 * claim.c          an answer: result stages, the claim, what follows
 * claim_content.c  what the answer brings: read, checked, weighed
 * answer_set.c     answers that are given together
 * take.c           a call becomes ours to run again, or turns out to have ended elsewhere
 * adopt.c          a call that comes back, or whose caller leaves it
 * resting.c           a call that waits without its client, because it can be answered elsewhere
 * recover.c        calls and questions that no node works on
 * open.c           a call is stored before it begins
 * stop.c           what becomes of calls when this node goes
 * op.c             a store operation that is sent again while the store fails
 */
#ifndef NOD_CORE_INSIDE_H
#define NOD_CORE_INSIDE_H

#include "base/heap.h"
#include "base/idmap.h"
#include "base/list.h"
#include "base/map.h"
#include "core/engine.h"
#include "core/record.h"
#include "core/run.h"
#include "json/schema.h"

enum {
    ENGINE_SURFACES_MAX = 8,   /* places where one can be asked */
    ENGINE_SCHEMAS_KEPT = 256, /* compiled schemas of questions; past it all are forgotten */
    ENGINE_LOOKS_A_MS = 2,     /* at calls whose hints may have been lost */
};

struct due { /* something that happens at a time, unless it is stopped */
    struct heap_node node;
    void (*fire)(struct due *due);
};

struct engine {
    struct engine_opts opts;
    const struct clock *clock;
    struct store *store;
    struct id node_id; /* used when no name was given */
    struct str node;
    char *node_text;
    struct hooks hooks;
    struct surface *surfaces[ENGINE_SURFACES_MAX];
    size_t surface_count;
    size_t resting;      /* calls of `calls` that wait without a client: see resting.c */
    bool together;       /* an ask is up on all of them that can, not on one after the other */
    struct idmap calls;  /* struct call */
    struct idmap asks;   /* struct ask, pending here */
    uint64_t asks_moved; /* changes with every one that comes into `asks` or leaves; never 0 */
    struct map tallies;  /* principal -> struct tally */
    struct map scopes;   /* scope -> newest struct ask, with one_ask_per_scope */
    struct map schemas;  /* schema text -> struct kept_schema */
    struct heap due;
    struct map claims_of_ask;      /* ask -> the newest struct claim on its way to the store */
    size_t pending;                /* asks on their way to the store, or waiting */
    struct list claims;            /* answers under way */
    struct list sets;              /* such that are given together */
    struct list returns;           /* calls that are being given back to the store */
    struct list cancels;           /* of calls that are not live here */
    struct list openings;          /* of calls that have not begun */
    struct idmap homes;            /* struct home: calls that providers here have begun; home.c */
    struct list homes_order;       /* the same, the longest unseen first */
    struct due homes_look;         /* at those that are not live */
    struct list scopings;          /* questions that take the place of older ones: see scope.c */
    struct caller nobody;          /* of calls whose caller is gone */
    const struct catalog *catalog; /* NULL: nobody has said what there is */
    struct recovery *recovery;
    bool stopping;                     /* no run begins any more: see engine_stop */
    const char *const *allowed_fields; /* NULL: none */
};

struct tally { /* pending asks of a principal */
    size_t count;
    size_t len;
    char name[];
};

void due_set(struct engine *engine, struct due *due, int64_t after_ms,
             void (*fire)(struct due *due));
void due_stop(struct engine *engine, struct due *due);

/* Compiled and kept; NULL if it does not compile. Valid until the next call of this function. */
const struct schema *engine_schema(struct engine *engine, struct str text);
/* Which bound keeps one more from waiting, and how many it allows. */
enum store_quota tally_full(struct engine *engine, struct str principal, size_t *most);
/* Where one more is counted. */
struct tally *tally_add(struct engine *engine, struct str principal);
void tally_drop(struct engine *engine, struct tally *tally);

void nobody_init(struct caller *nobody);
/* Live here, or resting: see resting.c. */
struct call *engine_call_at(const struct engine *engine, struct str call_id);
void recovery_free(struct engine *engine);
/* Something can be run that is not live here: the next look is now, unless others may take it. */
void recovery_hurry(struct engine *engine);

/* --- calls that have their home here (home.c) --- */

void homes_init(struct engine *engine);
void homes_drop(struct engine *engine);
/* It is about to be run. False: something else comes first, or it has ended. */
bool home_begin(struct call *call);
/* It has ended, and its provider is told: the one that has begun it here, or else this one (NULL:
 * nobody). */
void home_ended(struct engine *engine, struct str call_id, struct provider *provider,
                const struct outcome *outcome);

/* --- op --- */

struct op {
    struct engine *engine;
    struct due due;
    struct id token;
    int tries;
    int most; /* tries */
    bool busy;
    void (*send)(struct op *op);
    void (*done)(struct op *op, nod_status status, const struct store_reply *reply);
    void (*tired)(struct op *op); /* may be NULL: it goes on past ENGINE_STORE_TRIES */
};

#define OP_OF(op_, type, member) ((type *)(void *)((char *)(op_)-offsetof(type, member)))

/* One at a time. `send` begins the store's operation with op_completed as its callback. */
void op_start(struct engine *engine, struct op *op, void (*send)(struct op *op),
              void (*done)(struct op *op, nod_status status, const struct store_reply *reply));
store_done op_completed; /* data is the op */
void op_abandon(struct op *op);

/* --- call --- */

/* Who sets which state and which flag of a call, and what there is together: the tables in
 * docs/inside/core.md, "The states of a live call". Whoever changes one changes the other. */
enum live_state {
    LIVE_NEW,
    LIVE_RUNNING,    /* with the provider */
    LIVE_ASKING,     /* its asks go through the request stages */
    LIVE_SAVING,     /* park or append under way */
    LIVE_TELLING,    /* its asks are stored, or have ended: the caller and the surfaces are told */
    LIVE_WAITING,    /* for people */
    LIVE_TAKING,     /* take under way */
    LIVE_FINISHING,  /* finish under way */
    LIVE_CANCELLING, /* cancel under way */
};

struct ending {         /* what a call needs at its end, and not while it waits */
    struct arena arena; /* the outcome's text */
    struct outcome outcome;
    struct buf result; /* the outcome as the store keeps it */
    bool written;      /* it stands there, and the outcome's body in it */
    struct str cancel_why;
    bool decided;     /* the outcome of a call that is cancelled is set already */
    bool found;       /* it ended elsewhere, or before: the store has told how */
    bool not_the_end; /* the caller is told something else: the call may go on elsewhere */
    void (*told)(void *data, nod_status status); /* waits for the end to be stored; may be NULL */
    void *told_data;
    nod_status stored; /* what the store said to it */
};

struct later { /* something a call does when the stack is clear; outlives the call */
    struct call *call;
    void (*fn)(struct call *call);
};

struct call {
    struct engine *engine;
    struct id id;
    struct target *target;
    struct caller *caller;
    struct str principal, scope, uri, args, caller_record; /* behind the struct */
    size_t size;                                           /* of all that */
    const struct json *given; /* the arguments as a tree, while engine_call has them */
    char *args_now;           /* as hooks have written them for its runs; NULL: as they are */
    size_t args_now_len;
    enum live_state state;
    bool stored; /* the store knows it */
    bool listed; /* found by its id */
    bool cancel_wanted;
    bool fresh_intent;
    bool told_waiting; /* the caller was told that we wait */
    bool taken_early;  /* by a claim, before we could go on */
    bool woken;        /* the store has hinted while we were busy */
    bool carried;      /* its client has its asks, and brings the answers */
    bool carries;      /* see caller_ops; also while its caller is away */
    bool resting;      /* it waits without a caller: see resting.c */
    bool untold;       /* a caller took it over that is still to be told of its asks */
    bool portable;
    bool named;                     /* see call_spec */
    bool unsure;                    /* the store may not know that we wait for it */
    bool hold_steps;                /* until it has come to its first one */
    bool held;                      /* it has: it goes on when its caller says so */
    int64_t keep_ms, keep_asked_ms; /* see call_spec */
    bool handed;                    /* its client can come back: told to the store from now on */
    uint32_t notices;
    uint64_t epoch;
    int64_t worked_ms;
    int64_t run_began;
    struct due timeout; /* of its run; while it waits: when it is taken again */
    struct later *later;
    unsigned supports, supports_consent; /* of its last run; see struct run */
    struct journal journal;              /* empty while waiting: the store has it */
    size_t learned;                      /* bytes of the journal, while waiting */
    struct run *run;                     /* under way, or being saved */
    bool *run_over;                      /* set when the run is over while it is being started */
    struct list asks;                    /* pending, in order */
    size_t asks_settled, asks_expected;
    nod_status asks_failed;
    enum store_quota asks_quota; /* that has refused one of them, and how many it allows */
    size_t asks_quota_most;
    struct flow flow;
    struct op op;
    struct ask_record *saving;    /* views for the store, during a park */
    struct entry *saving_entries; /* behind `saving`, in the same piece */
    size_t saving_asks, saving_count;
    bool saving_lent;      /* `saving` is the record of its only ask */
    struct ending *ending; /* made when it comes to its end: see call_ending */
};

/* --- its stages (call.c), and what hooks see and write of it (call_hooks.c) --- */

extern const struct flow_table call_flow;
void call_accept(struct flow *flow, void *subject);
void call_start(struct flow *flow, void *subject);
void call_finish(struct flow *flow, void *subject);
/* What its runs are given. */
struct str call_args_now(const struct call *call);
bool call_has_outcome(const struct call *call);
/* It, or one of the questions it is about to ask, waits for a hook. */
bool call_awaits_hook(const struct call *call);
/* A hook has ended this flow, which is its own or that of one of its questions: sets the outcome.
 */
void call_refused(struct call *call, const struct flow *flow, nod_status status);
/* Every run has the arguments as a tree beside the journal, which grows: what would not fit then,
 * after a step was done, is not begun. *most: bytes that they may take. */
bool args_leave_room(const struct call *call, struct str args, size_t *most);
/* nod's own hook at the gate. */
void gate_init(struct engine *engine);

extern const struct flow_table ask_flow;
extern const struct flow_table answer_flow;

/* All asks of the round are through their stages up to the store, or one has failed. */
void call_asks_settled(struct call *call);
/* Its last pending ask has ended and the store gave it to us, with this record. False: it cannot
 * go on here. */
bool call_taken(struct call *call, const struct store_reply *reply);
/* The store may have it running here, and nobody works on it: it is ended there, for as long as
 * that takes. */
void engine_end_later(struct engine *engine, struct str call_id, struct str why);
/* Became runnable elsewhere, perhaps: take it. */
void call_take(struct call *call);
/* The same in a while, if it still waits then. */
void call_take_later(struct call *call, int64_t after_ms);
/* The store refused a write: another node has taken it over. Waits for its end, or its turn. */
void call_lost(struct call *call);
/* It waits, with what we have of it just read: the store learns of us by one more look. */
void call_make_sure(struct call *call);
/* It cannot be opened, because it is there: goes on with that, if it is the same. */
void call_known(struct call *call);
/* After engine_adopt: goes on where it waited. */
void call_go_on(struct call *call);
/* It was taken in this epoch, and nobody is here to run it: the next who comes may. */
void call_give_back(struct engine *engine, const struct call_record *record, uint64_t epoch);
void returns_drop(struct engine *engine);
void cancels_drop(struct engine *engine);
void openings_drop(struct engine *engine);
/* As JSON. False: they are larger than arguments may be, and there are none. */
bool args_write(struct buf *out, const struct json *args);
bool call_is_alone(const struct call *call); /* its caller is gone */
void call_free(struct call *call);
/* fn(call) when the stack is clear, unless the call is gone by then. */
void call_later(struct call *call, void (*fn)(struct call *call));
/* Tells the caller how it ended, and frees it. */
void call_deliver(struct call *call);
/* Ends with an error here; what the store knows is left as it is. */
void call_fail_here(struct call *call, nod_status status, struct str message);
struct ending *call_ending(struct call *call);
struct call *call_create(struct engine *engine, const struct call_spec *spec, struct str args);
void call_flow_done(struct flow *flow, void *subject, nod_status status);
/* The asks are stored: the caller is told, then the surfaces. The call may be gone after this. */
void call_asked(struct call *call);
struct call_record call_record_of(const struct call *call);
/* How long from now something lives that could bring it back, with the questions that are being
 * saved; 0: nothing. */
int64_t call_keep_for(const struct call *call);
/* It is live, and found by its id. False: as many calls are live as may be. */
bool call_list(struct call *call);
/* Off this node: the store has it. The client is not told; what is up elsewhere is taken down. */
void call_unload(struct call *call);

/* --- rest --- */

/* Its client is not there. It rests if its questions can be up elsewhere, and is unloaded
 * otherwise. */
void call_rest(struct call *call);
bool call_is_resting(const struct call *call);
/* It rests no more: it runs, or goes. */
void call_awake(struct call *call);
/* What is up elsewhere than at the client is taken down. */
void call_offers_end(struct call *call);
/* A caller has come back. False: it does not rest. */
bool call_take_over(struct call *call, const struct adopt_spec *spec);
/* Sets the outcome, with an id of its own in the log. */
void call_outcome_fail(struct call *call, const struct fault *fault);
/* The same of a call that went well. */
void call_outcome_ok(struct call *call, struct str body);
/* Sets the outcome of one that failed, and on to the stage finish. */
void call_fail(struct call *call, nod_status status, const char *code, struct str message);
void call_end_cancelled(struct call *call);
/* One that waits is cancelled, and ends with this failure. */
void call_end_as(struct call *call, const struct outcome *outcome);
/* Whoever waits for its end to be stored is told. */
void call_end_told(struct call *call, nod_status status);
/* There is no target of that name, here or anywhere. */
bool target_is_gone(const struct engine *engine, struct str name);
/* The cancel came too late: the caller is told how it did end. */
void call_ended_before(struct call *call);
/* The same when the stack is clear: we may be inside of its handler, its stages, or a hook. */
void call_cancel_later(struct call *call);

void call_run_begin(struct call *call);
/* What call->run has recorded is stored, and asked: it goes on when that is known. */
void call_pending(struct call *call);
/* The run is no longer with the provider, and its time is not counted. */
void call_run_over(struct call *call);
/* It would run next, and nothing runs here any more: it goes, or ends, when the stack is clear. */
void call_stand_down(struct call *call);
/* Drops the run without waiting for it: its run_done will find no call. */
void call_run_drop(struct call *call);
/* The asks that call->run recorded go through their stages. */
void call_asks_begin(struct call *call);
/* They were not stored: nobody has heard of them. */
void call_asks_drop(struct call *call);
/* What call->run recorded is stored, with the asks that went through their stages; then it goes on,
 * or waits. */
void call_save(struct call *call);
/* The run came to its first step, which waits until the caller has told its client how to come
 * back: see call_step_on. */
void call_hold_steps(struct call *call);
void call_saving_free(struct call *call);
/* Which bound it was, and what sets it. */
struct str call_quota_message(struct call *call, enum store_quota quota, uint64_t most);
void call_tell_waiting(struct call *call, bool waiting);

struct run *run_create(struct call *call);
void run_free(struct run *run);

/* --- ask --- */

struct ask {
    struct call *call;
    struct list link; /* in call->asks */
    struct ask_record record;
    struct id id;
    bool listed;            /* found by its id */
    unsigned up;            /* bits of engine->surfaces: where it is up, or is being put up */
    unsigned tried;         /* likewise: where it was offered, and is up or was refused */
    bool offering;          /* it is being put up right now */
    struct tally *tally;    /* where it counts for its principal, or NULL */
    bool opened;            /* a URL that was opened; it ends when its page is done */
    bool still;             /* pending, as the store sees it: while it is looked at */
    int seen;               /* and which offer is up there */
    struct winner seen_end; /* how it ended, if the store has said so; its text is seen_text */
    char *seen_text;
    int ahead;     /* offers that were made where our store does not see them: portable states */
    bool claiming; /* ended by the engine itself (expired, unsupported): a claim is under way */
    struct due expiry;
    struct flow flow;
    size_t size; /* with its text */
    char text[]; /* key, message, detail, url */
};

struct ask *ask_create(struct call *call, const struct run_item *item);
/* What hooks may see of it. */
void ask_record_describe(const struct ask_record *record, struct hook_view *view);
/* One that is pending already, and was asked before this call was here. */
void ask_adopt(struct call *call, const struct ask_record *record);
void ask_free(struct ask *ask);
/* Begins the request stages; ends in call_asks_settled or, after the commit, in the offer. */
void ask_begin(struct ask *ask);
/* The park is committed: goes on with buildRequestParams. */
void ask_stored(struct ask *ask);
/* Taken down from all surfaces but this one, which knows already (or NULL), and freed. */
void ask_end(struct ask *ask, const struct surface *but, const struct winner *winner,
             struct str why);
/* The same, because how it ended is in the journal, or nobody here knows. */
void ask_ended_elsewhere(struct ask *ask);
/* The store shows how it ended: whoever is told that it has will be told this. */
void ask_seen_ended(struct ask *ask, const struct ask_record *record);

/* --- offers --- */

/* On the surfaces that can and have not been tried: on the next one, or (engine->together) on all
 * of them. If it is up nowhere after that, and no client carries it, it ends in ASK_UNSUPPORTED. */
void ask_offer(struct ask *ask);
/* The store counts another offer of it, here or on another node: it is put up again where offers
 * are counted, saying what was wrong, if that is known. */
void ask_offered_anew(struct ask *ask, int attempt, struct str problems);
bool ask_is_up_on(const struct ask *ask, const struct surface *surface);
/* Taken down, from all surfaces but this one (or NULL). */
void ask_withdraw(struct ask *ask, const struct surface *but, const struct winner *winner,
                  struct str why);

/* --- claim --- */

/* The engine's own word: ASK_EXPIRED, ASK_UNSUPPORTED, ASK_CANCELLED. */
void claim_by_engine(struct ask *ask, enum ask_state outcome);
/* The time of an ask is up that waits on no node, perhaps. */
void claim_overdue(struct engine *engine, struct str ask_id, answered_fn *done, void *data);
void claims_drop(struct engine *engine);
/* A newer question has taken its place (one_ask_per_scope): it reads `cancel`. */
void claim_replaced(struct engine *engine, struct str ask_id);

/* --- one question at a time (scope.c) --- */

/* Its questions are stored, and will be carried by its client: older ones of its scope end. */
void scope_asked(struct call *call);
void scopings_drop(struct engine *engine);

#endif
