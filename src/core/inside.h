/*
 * core/inside: what the files of the core share with each other and with nobody else, of the engine
 * and its node. What they share of one call, its run and its asks, is in call_inside.h.
 * docs/inside/core.md says what each of them is for.
 */
#ifndef NOD_CORE_INSIDE_H
#define NOD_CORE_INSIDE_H

#include "base/fair.h"
#include "base/heap.h"
#include "base/idmap.h"
#include "base/list.h"
#include "base/map.h"
#include "core/engine.h"
#include "core/need.h"
#include "core/record.h"
#include "core/run.h"
#include "json/schema.h"

enum {
    ENGINE_SURFACES_MAX = 8,   /* surfaces of one engine */
    ENGINE_SCHEMAS_KEPT = 256, /* compiled schemas of questions; past that all are dropped */
    ENGINE_LOOKS_A_MS = 2,     /* looks in a ms at calls whose hints may have been lost */
};

struct due { /* something that happens at a set time, unless it is stopped */
    struct heap_node node;
    void (*fire)(struct due *due);
};

struct claim;

struct engine {
    struct engine_opts opts;
    const struct clock *clock;
    struct store *store;
    struct id node_id; /* used if no name was given */
    struct str node;
    char *node_text;
    struct hooks *hooks; /* of its maker, or its own */
    struct hooks own_hooks;
    struct surface *surfaces[ENGINE_SURFACES_MAX];
    size_t surface_count;
    /* which of them are the client's, a model's, asked through the request that the call came with
     * (surface_is_held), and for every ask (surface_ops.every) */
    uint8_t client_bits, model_bits, held_bits, every_bits;
    struct questions checked;     /* see run.h */
    size_t resting;               /* calls of `calls` that wait without a client: see resting.c */
    struct plan plan;             /* where people are asked, unless a target says otherwise */
    enum consent_from consent;    /* of .consent */
    const char *instead_of_model; /* see engine_say_instead_of_model; NULL: nothing was said */
    struct idmap calls;           /* struct call */
    struct idmap asks;            /* struct ask, pending here */
    uint64_t asks_moved;          /* changes whenever an ask enters or leaves `asks`; never 0 */
    struct map tallies;           /* principal -> struct tally */
    struct map scopes;            /* scope -> newest struct ask, with one_ask_per_scope */
    struct map schemas;           /* schema text -> struct kept_schema */
    struct heap due;
    struct map claims_of_ask; /* ask -> the newest struct claim on its way to the store */
    size_t pending;           /* asks on their way to the store, or waiting */
    size_t pending_calls;     /* of these, asks that an inner call answers */
    struct list claims;       /* answers under way */
    struct list works;        /* struct engine_work: what else is under way in the store */
    size_t ops_sent;          /* struct op: those that the store has, */
    size_t ops_most;          /* how many of them it may have; 0: any number */
    struct fair ops_line;     /* and those that wait for that: op.c */
    struct list brought;      /* answers that callers have brought */
    struct idmap homes;       /* struct home: calls that providers here have begun; home.c */
    struct list homes_order;  /* the same, least recently looked at first */
    struct due homes_look;    /* the next look at those that are not live here */
    size_t homes_staying;     /* those that nobody else may run on */
    struct id life;           /* of this node, as the intents of those name it: home_node.c */
    bool home_beating;        /* the record that says that it lives is on its way, */
    int64_t home_sent_ms;     /* monotonic: since then, */
    int64_t home_heard_ms;    /* and when the last was sent that the store has taken */
    struct id home_seen;      /* the life of another node that was seen to live, */
    int64_t home_seen_ms;     /* monotonic: then */
    /* the look at what waits for a target that is gone, and whether one has gone since */
    struct due targets_changed;
    bool targets_went;
    /* targets that calls have left, until the stack is clear: see replaced.c */
    struct target **targets_left;
    size_t targets_left_count, targets_left_room;
    struct due targets_left_due;
    struct counts counts;
    struct list watches;  /* struct ask_watch: see ask_watch.c */
    struct caller nobody; /* the caller of calls whose caller is gone */
    /* the callers of inner calls: the outermost holds, or carries (inner.c) */
    struct inner_caller {
        struct caller caller; /* first */
        struct engine *engine;
    } inner_callers[2];
    struct idmap inner_comings; /* struct coming: inner calls that are begun, or looked for; as many
                                   as calls may be live */
    struct idmap inner_rounds;  /* struct inner_round: calls whose rounds may be complete */
    struct due inners_due;      /* the next look at what is listed */
    char inner_cursor[64];      /* of the next page of it */
    size_t inner_cursor_len;
    enum store_quota (*also_full)(void *data, struct str principal, uint64_t *most);
    void *also_full_data;
    const struct catalog *catalog; /* NULL: not known */
    struct fetched *fetched;       /* results that were handed out: see fetched.c; NULL: none was */
    struct gone *gone; /* calls whose targets are not here: see gone.c; NULL: none was met */
    struct recovery *recovery;
    struct suspects *suspects;   /* calls whose nodes have died: see suspect.c */
    struct nodes *nodes;         /* this node and the others: see node.c */
    bool stopping;               /* no run begins any more: see engine_stop */
    struct engine_pages pages;   /* zeroed: this server has none */
    struct grant_rule *remember; /* the operator's: see grant_offer.c */
    size_t remember_count;
    struct secrets *secrets; /* NULL: there are none: see secret.c */
    struct need_source *need_sources[NEED_SOURCES_MAX];
    size_t need_source_count;
};

struct tally { /* pending asks of a principal */
    size_t count;
    size_t len;
    char name[];
};

void due_set(struct engine *engine, struct due *due, int64_t after_ms,
             void (*fire)(struct due *due));
void due_stop(struct engine *engine, struct due *due);

/* Compiled and kept; NULL: it does not compile. Valid until the next call of this function. */
const struct schema *engine_schema(struct engine *engine, struct str text);
void schemas_forget(struct engine *engine);
/* Which bound, if any, keeps one more question from waiting, and how many it allows. */
enum store_quota tally_full(struct engine *engine, struct str principal, size_t *most);
/* Counts one more question of the principal, and returns where. */
struct tally *tally_add(struct engine *engine, struct str principal);
void tally_drop(struct engine *engine, struct tally *tally);

void nobody_init(struct caller *nobody);
/* A call that is live here, resting ones included: see resting.c. */
struct call *engine_call_at(const struct engine *engine, struct str call_id);
void recovery_free(struct engine *engine);
/* A call was stored: the store gets heartbeats while it holds anything. */
void recovery_stored(struct engine *engine);
/* A call can be run that is not live here: look now, unless other nodes may take it. */
void recovery_hurry(struct engine *engine);
/* There is room for suspects again: if some were left out, look for them now. */
void recovery_on(struct engine *engine);
/* All that can be run has been looked at since this node began. True also if nobody looks. */
bool recovery_has_looked(const struct engine *engine);
/* When this node had last been silent for so long that others may have taken over its calls,
 * monotonic; 0: never, or the store has one node. */
int64_t recovery_silence(struct engine *engine);
/* How long this node counts as alive after a heartbeat. */
int64_t recovery_node_ttl(const struct engine *engine);
/* A call that can be run, and is not live here, is shown to whoever knows its caller. */
void recovery_show(struct engine *engine, const struct call_record *record);
/* A call whose home is elsewhere, as the store has it: if that home is gone, the call ends. */
void recovery_homeless(struct engine *engine, const struct call_record *record);
/* Made from the call and its epoch: a call that was taken since then is another sighting. */
uint64_t sighting_key(const struct call_record *call);

/* --- nodes (node.c) --- */

void nodes_init(struct engine *engine);
void nodes_drop(struct engine *engine);
/* With every heartbeat: the record of this node is put, with the node's time to live. */
void node_beat(struct engine *engine, int64_t ttl_ms);
void node_targets_changed(struct engine *engine);
/* The engine goes: targets that calls have left are let go of (replaced.c). */
void targets_left_drop(struct engine *engine);
/* Was this node told to stop? Whether the store knows: engine_is_leaving. */
bool node_is_told_to_stop(const struct engine *engine);
/* Were the records of all nodes read since then, by this node's monotonic clock? If not they are
 * read now: ask again at the next look. */
bool nodes_known(struct engine *engine, int64_t since);
/* As far as is known: was this node told to stop? */
bool node_has_left(const struct engine *engine, struct str name);
/* As far as is known: has this node said that it is alive? With a store that is not shared, none
 * does. */
bool node_is_there(const struct engine *engine, struct str name);
/* As far as is known: how many nodes that live, and were not told to stop, were started after this
 * one? `but`: a node that is gone, and may still be known. */
size_t nodes_younger(const struct engine *engine, struct str but);
/* As far as is known: does another node that lives, and was not told to stop, have the target of
 * this record, in the version of the record? */
bool nodes_have_target(const struct engine *engine, const struct call_record *record);

/* --- calls that were running when their node died (suspect.c) --- */

void suspects_init(struct engine *engine);
/* An answer that so many processes died with, as was first seen then (monotonic); the last of them
 * had it in hand since then, by the store's clock (0: not known). May its hooks be called now? If
 * so, it is tried until it is over. */
bool suspects_try_answer(struct engine *engine, const struct claim *claim, size_t deaths,
                         int64_t seen_ms, int64_t tried_ms);
void suspects_answer_over(struct engine *engine, const struct claim *claim);
void suspects_drop(struct engine *engine);
/* Something has changed: perhaps it is the turn of one. */
void suspects_next(struct engine *engine);
/* May one more be adopted, to wait for its turn, when so many are about to come? */
bool suspects_have_room(const struct engine *engine, size_t coming);
/* So few wait that more can be fetched. */
bool suspects_are_few(const struct engine *engine);
/* This node was told to stop: calls that wait for their turn are left to others. */
void suspects_leave(struct engine *engine);
/* Is this the record of a call that ran on a node which is gone, if its node is? */
bool suspect_is(const struct call_record *record);
/* The call, which is live here, can only be taken as a suspect. */
void suspect_meet(struct call *call, const struct call_record *record);
/* How the call is to be taken now. */
enum take_why suspect_way(const struct call *call);
/* The call was taken. */
void suspect_taken(struct call *call, const struct call_record *record);
/* The call has committed something, was not taken, or goes. */
void suspect_over(struct call *call);
/* A step that must not be repeated was begun, or a provider, and it is not known what became of
 * it. */
bool steps_are_open(const struct entry *entries, size_t count);
/* The call was taken, and is not to be run: it crashed too often. */
bool suspect_must_end(const struct call *call);
void suspect_end(struct call *call);

/* --- calls that have their home here (home.c) --- */

void homes_init(struct engine *engine);
void homes_drop(struct engine *engine);
/* Providers are told of the ends of their calls by the targets that are there now. */
void homes_go_over(struct engine *engine);
/* The call is about to be run. False: something else comes first, or it has ended. */
bool home_begin(struct call *call);
/* The provider of the call has its live run from now on. */
void home_live_begun(const struct call *call);
/* The store has hinted that something has become of the call, which is not live here. */
void home_woken(struct engine *engine, struct str call_id);
/* This node was silent for so long that others may have ended the calls that have their home here.
 */
void homes_woken(struct engine *engine);
/* The target of a call that stays and was begun here; NULL: there is no such call. */
struct target *home_target(const struct engine *engine, struct str call_id);
/* The call has ended: tells the provider that began it here, or else this one (NULL: nobody). */
void home_ended(struct engine *engine, struct str call_id, struct provider *provider,
                const struct outcome *outcome);

/* --- where the home of a call is (home_node.c) --- */

#define START_KEY RUN_RESERVED_PREFIX "start" /* of the intent to begin a call that stays */

enum home_at {
    HOME_ANYWHERE,  /* nothing was begun that stays: any node may run it */
    HOME_HERE,      /* this node alone may */
    HOME_ELSEWHERE, /* another node alone, if that lives: home_ask */
    HOME_GONE,      /* nobody may */
};

/* By the journal of the record. */
enum home_at home_at(const struct engine *engine, const struct call_record *record);
/* Of a record that is HOME_ELSEWHERE: was that home seen to live a moment ago? */
bool home_was_seen(const struct engine *engine, const struct call_record *record);
/* NOD_OK: the home lives; NOD_E_NOT_FOUND: it does not. */
typedef void home_told(void *data, nod_status status);
/* Of a record that is HOME_ELSEWHERE. told() may come at once. */
void home_ask(struct engine *engine, const struct call_record *record, home_told *told, void *data);
/* The home of this call is gone: it ends, in NOD_E_OUTCOME_UNKNOWN. `done` may be NULL. */
void home_end(struct engine *engine, const struct call_record *record,
              void (*done)(void *data, nod_status status), void *data);
/* With every heartbeat: this node says that it lives, if it is the home of any call. */
void home_beat(struct engine *engine);
/* Has this node said so, before it becomes the home of this call? If not it does so now, and the
 * stage of the call is entered again after that. */
bool home_is_known(struct call *call);
/* Records the intent to begin the call of this run here. */
nod_status home_intent(struct run *run);

/* --- calls that wait for calls (inner.c) --- */

void inners_init(struct engine *engine);
void inners_drop(struct engine *engine);
/* Begins to look at what is listed. */
void inners_recover(struct engine *engine);
/* Does this part of a record say that its call is an inner one? */
bool caller_record_is_inner(struct str caller_record);
/* The outermost call that waits for the call of this record. False: it is not an inner one. */
bool inner_top_id(struct str caller_record, struct id *out);
/* How a question of an inner call begins, with the names of all tools; empty: it is none. */
struct str inner_said(const struct call *call, struct arena *arena);
/* Of an inner call: see call_top. */
struct call *inner_top(const struct call *call);
/* A call that waits for it here and is being cancelled, or NULL. */
struct call *inner_outer_cancelled(const struct call *call);
/* One of its asks waits for a call. */
bool call_has_inner(const struct call *call);
/* An ask that waits for a call, and is to be listed before it is stored; NULL: there is none. */
struct ask *inner_to_list(const struct call *call);
void inner_list(const struct ask *ask, store_done *done, void *data);
/* The asks of the run were refused: those that wait for calls are no longer listed. */
void inner_unlist_fresh(const struct call *call);
/* Of an ask of the kind call: begins its inner call, or gives it to whoever has the outer one. */
void inner_offer(struct ask *ask);
/* Its call is about to leave this node, and goes on without a caller: what it waits for begins. */
void inner_offer_alone(struct call *call);
/* The ask has ended, or its call leaves this node. */
void inner_withdraw(struct ask *ask, const struct winner *winner, struct str why);
/* The caller of the call is gone: so are those of its inner calls. */
void inner_leave(struct call *call);
/* Nobody hears any more what becomes of the answers that were brought for its inner calls. */
void inner_brought_unheard(struct call *call);
void inner_handed(struct call *call);
/* The inner call has ended: the ask that waits for it is claimed. */
void inner_ended(struct call *call, const struct outcome *outcome);
bool inner_is_live(const struct ask *ask);
bool inner_waits_elsewhere(const struct ask *ask);
bool inner_waits_only_elsewhere(const struct ask *ask);
/* The caller of the outermost call is told (call_round) when all of the tree waits: now, or as soon
 * as the last of it does (inner_waits). */
void inner_round_due(struct engine *engine, struct str top_id);
/* The answers that were brought are all there. False: there are none. */
bool inner_round_brought(struct call *call);
/* As call_put_up, for all inner calls that wait. */
void inner_put_up(struct call *call, bool carried);
/*
 * Progress of the call, as the client of the outermost call is to be told. What the client is told
 * must rise, and every call has a scale of its own: the scale of a call begins where what was told
 * before has ended. False: the client is told nothing, because a call that waits for this one has
 * reported progress of its own, which counts.
 */
bool inner_progress(struct call *call, struct notice *notice);
/* A call that nobody works on. True: it is an inner one, and its outer call goes for it. */
bool inner_orphan(struct engine *engine, const struct call_record *record);

/* --- op --- */

struct op {
    struct engine *engine;
    union {
        struct due due;        /* the next try */
        struct fair_turn turn; /* in engine->ops_line, before the first; see in_line */
    };
    struct id token;
    bool busy : 1;    /* it waits in line, or for its reply */
    bool in_line : 1; /* it was not sent yet */
    int tries;
    int most;        /* the number of tries */
    int64_t sent_ms; /* monotonic, the newest of them */
    void (*send)(struct op *op);
    void (*done)(struct op *op, nod_status status, const struct store_reply *reply);
    /* called after ENGINE_STORE_TRIES, if there are more tries; may be NULL */
    void (*tired)(struct op *op);
};

#define OP_OF(op_, type, member) ((type *)(void *)((char *)(op_)-offsetof(type, member)))

/* One at a time. `send` begins the store's operation, with op_completed as its callback. */
void op_start(struct engine *engine, struct op *op, void (*send)(struct op *op),
              void (*done)(struct op *op, nod_status status, const struct store_reply *reply));
/* The same, for this principal: if others wait, it waits in line. */
void op_start_of(struct engine *engine, struct op *op, struct str who, void (*send)(struct op *op),
                 void (*done)(struct op *op, nod_status status, const struct store_reply *reply));
store_done op_completed; /* data is the op */
void op_abandon(struct op *op);

/* An operation with a life of its own: nothing else would end it when the engine goes. */
struct engine_work {
    struct list link; /* in engine->works */
    struct op op;
    /* The engine goes: frees it, with what it is a part of, and tells whoever waits for it. */
    void (*drop)(struct engine_work *work);
};

void engine_work_begin(struct engine *engine, struct engine_work *work,
                       void (*drop)(struct engine_work *work));
void engine_work_end(struct engine_work *work);
/* `size` bytes, zeroed, that begin with a work which nobody waits for; and its end. */
void *engine_work_new(struct engine *engine, size_t size);
void engine_work_free(struct engine_work *work);
/* The newest first: what began later may tell what began before. */
void engine_works_drop(struct engine *engine);

/* Loads a call. If it can be read, looked() is shown it; nobody waits for that. */
typedef void looked_fn(struct engine *engine, const struct call_record *record);
void engine_look(struct engine *engine, struct str call_id, looked_fn *looked);

enum { JOB_CURSOR_MAX = 512 }; /* bytes of where a page ends */

/* A work that somebody waits for, who is told of its end, or where the page ends that was listed.
 * The first member of whatever it is a part of. */
struct engine_job {
    struct engine_work work;
    struct engine *engine;
    struct arena arena;
    void (*done)(void *data, nod_status status);                      /* may be NULL */
    void (*listed)(void *data, nod_status status, struct str cursor); /* lists: instead of done */
    void *data;
};

/* `size` bytes, zeroed, that begin with a job. */
void *engine_job_new(struct engine *engine, size_t size, size_t memory, void *data);
/* Frees the job with what it is a part of, and tells. */
void engine_job_over(struct engine_job *job, nod_status status, struct str cursor);
store_done engine_job_listed; /* of a list; data is the job */

#endif
