/*
 * core/inside: what the files of the core share with each other and with nobody else.
 * docs/inside/core.md says what each of them is for.
 */
#ifndef NOD_CORE_INSIDE_H
#define NOD_CORE_INSIDE_H

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
    struct hooks hooks;
    struct surface *surfaces[ENGINE_SURFACES_MAX];
    size_t surface_count;
    /* which of them are the client's, a model's, asked through the request that the call came with
     * (surface_is_held), and for every ask (surface_ops.every) */
    uint8_t client_bits, model_bits, held_bits, every_bits;
    struct questions checked; /* see run.h */
    size_t resting;           /* calls of `calls` that wait without a client: see resting.c */
    struct plan plan;         /* where people are asked, unless a target says otherwise */
    int64_t next_turn_ms;
    enum consent_from consent; /* see engine_consent */
    bool model_may_consent;
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
    struct suspects *suspects;         /* calls whose nodes have died: see suspect.c */
    struct nodes *nodes;               /* this node and the others: see node.c */
    bool stopping;                     /* no run begins any more: see engine_stop */
    const char *const *allowed_fields; /* NULL: none */
    struct engine_pages pages;         /* zeroed: this server has none */
    struct grant_rule *remember;       /* the operator's: see grant_offer.c */
    size_t remember_count;
    struct secrets *secrets; /* NULL: there are none: see secret.c */
    struct need_source *need_sources[NEED_SOURCES_MAX];
    size_t need_source_count;
    bool confirm_destructive; /* see engine_confirm_destructive */
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
/* When the stack is clear: if all of the tree waits, its caller is told (call_round). */
void inner_round_later(struct engine *engine, struct str top_id);
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
    struct due due;
    struct id token;
    bool busy;
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

/* --- call --- */

/* docs/inside/core.md, "The states of a live call", says who sets each state and flag, and which of
 * them occur together. Change it, and the table in call_state.c, together with this. */
enum live_state {
    LIVE_NEW,
    LIVE_RUNNING,    /* with the provider */
    LIVE_ASKING,     /* its asks go through the request stages */
    LIVE_NEEDING,    /* a value that its next run needs is being fetched: see need.h */
    LIVE_SAVING,     /* park or append under way, or a look at what the store has of it */
    LIVE_TELLING,    /* its asks are stored, or have ended: the caller and the surfaces are told */
    LIVE_WAITING,    /* waits for people */
    LIVE_TAKING,     /* take under way */
    LIVE_FINISHING,  /* finish under way */
    LIVE_CANCELLING, /* cancel under way */
};

/* What has come while something else was under way: it is looked at after that. */
enum call_came {
    CAME_NOTHING,
    CAME_HINT,  /* the store has hinted that it can be taken */
    CAME_EPOCH, /* a claim has taken it */
};

enum call_steps {
    STEPS_FREE,
    STEPS_STOP, /* it stops before its first step: its client could not come back for it */
    STEPS_HELD, /* it has come to that step, and goes on when its caller says so */
};

enum call_rests {
    RESTS_NOT,
    RESTS_HERE,  /* it waits without a caller: see resting.c */
    RESTS_FOUND, /* a caller took it over that is still to be told of the asks */
};

struct maker { /* what stays known of the client that made a call */
    uint8_t declares;
    bool told;
};

struct ending {         /* what a call needs at its end, but not while it waits */
    struct arena arena; /* the outcome's text */
    struct outcome outcome;
    struct buf result; /* the outcome as the store keeps it */
    bool written;      /* `result` is written, and holds the outcome's body */
    struct str cancel_why;
    bool decided;     /* the outcome is set although the call is being cancelled */
    bool store_away;  /* it fails because the store is away, and its client may be told at once */
    bool found;       /* it ended elsewhere or before, and the store has told how */
    bool not_the_end; /* only the caller is told this end: the call may go on elsewhere */
    struct end_told *told; /* who is told when the end is stored */
    nod_status stored;     /* the status of storing the end */
};

struct later { /* something a call does when the stack is clear; outlives the call */
    struct call *call;
    void (*fn)(struct call *call);
};

struct call {
    struct engine *engine;
    struct target *target;
    struct caller *caller;
    struct str principal, scope, uri, args, caller_record, client; /* behind the struct */
    const struct json *given; /* the arguments as a tree, during engine_call */
    char *args_now;    /* the arguments as hooks have written them for its runs; NULL: unchanged */
    uint32_t size;     /* of the call with all its text */
    uint32_t meta_len; /* of call_meta, which is behind `args` */
    struct id id;
    unsigned char state; /* enum live_state */
    unsigned char came;  /* enum call_came */
    unsigned char steps; /* enum call_steps */
    unsigned char rests; /* enum call_rests */
    bool stored;         /* the store knows it */
    bool cancel_wanted;
    bool fresh_intent;
    bool told_waiting; /* the caller was told that the call waits */
    bool carried;      /* the client has the asks, and brings the answers */
    bool carries;      /* see caller_ops; kept while the caller is away */
    bool portable;
    bool named;           /* see call_spec */
    bool unsure;          /* the store may not know that this node waits for the call */
    bool handed;          /* the client can come back: the store is told with the next transition */
    bool unasked;         /* it was logged that nobody could be asked */
    bool inner;           /* another call waits for it: see inner.c */
    bool interrupted;     /* it was last seen running, on a node that may be gone */
    bool counts;          /* it has reported progress of its own: see inner_progress */
    bool away;            /* its home is elsewhere, which alone runs it on: see home_node.c */
    bool was_here;        /* it came back to its home, which may have heard of its end by now */
    unsigned char pace;   /* of the looks at a call that is away and runs: see take.c */
    struct maker made_by; /* the client that made it: see client.c */
    unsigned char way;    /* of the take under way: enum take_why */
    uint32_t notices;
    uint32_t granted;               /* entries of the journal whose grants are made */
    uint64_t deaths;                /* of its run here: see deaths_pack */
    struct suspect *suspect;        /* it waits for its turn: see suspect.c */
    int64_t keep_ms, keep_asked_ms; /* see call_spec */
    uint64_t epoch;
    int64_t version; /* of the target it began with, as its record has it; 0: that of `target` */
    int64_t back_at; /* monotonic: when it came back to this node; 0: it began here */
    int64_t ours_ms; /* monotonic: when the store was asked that last said that it is ours */
    int64_t worked_ms;
    int64_t run_began;
    double counted;     /* where its own progress begins: what inner calls have reported before */
    struct due timeout; /* of its run; while it waits: the next take; else: its next run */
    struct later *later;
    /* of its last run; see struct run */
    unsigned supports, supports_consent, model, lacks_role;
    role_set roles;              /* of its last caller, while it has none: see call_roles */
    unsigned client_kinds;       /* what its client could be asked when it was last told of asks */
    struct journal journal;      /* empty while it waits: the store has it */
    size_t learned;              /* bytes of the journal, while it waits */
    struct run *run;             /* under way, or being saved */
    struct live *live;           /* its live run, which may go on while it waits: see live.c */
    const struct needed *needed; /* values for its next run: see need.c */
    struct need *need;           /* one that is being fetched; NULL: none is */
    bool *run_over;              /* set if the run ends while it is being started */
    struct list asks;            /* pending, in order */
    uint32_t asks_settled, asks_expected;
    nod_status asks_failed;
    /* the bound that refused one of the asks, and how many it allows */
    enum store_quota asks_quota;
    size_t asks_quota_most;
    struct flow flow;
    struct op op;
    uint64_t place; /* the highest that its asks have, while it is looked for: see call_save.c */
    struct ask_record *saving;    /* views for the store, during a park */
    struct entry *saving_entries; /* behind them; NULL: `saving` is the record of its only ask */
    uint32_t saving_asks, saving_count;
    struct ending *ending;     /* made when the call comes to its end: see call_ending */
    struct brought *brought;   /* answers that its caller has brought, until they are known */
    struct granting *granting; /* while grants are made or looked for: see grant_inside.h */
};

/* The outermost call that waits for it, with a caller, here; or the call itself. */
static inline struct call *call_top(const struct call *call)
{
    return call->inner ? inner_top(call) : (struct call *)call;
}

/* Remembers what the client that made the call says of itself (client.c). NULL: nothing. */
void call_made_by(struct call *call, const struct client *client);

/* Sets its state: nothing else does. */
void call_enter(struct call *call, enum live_state state);

/* --- its stages (call.c), and what hooks see and write of it (call_hooks.c) --- */

extern const struct flow_table call_flow;
void call_accept(struct flow *flow, void *subject);
void call_start(struct flow *flow, void *subject);
void call_finish(struct flow *flow, void *subject);
/* The arguments that its runs are given. */
struct str call_args_now(const struct call *call);
bool call_has_outcome(const struct call *call);
/* Does the call, or one of the questions it is about to ask, wait for a hook? */
bool call_awaits_hook(const struct call *call);
/* A hook has ended this flow, of the call or of one of its questions: sets the outcome. */
void call_refused(struct call *call, const struct flow *flow, nod_status status);
/* Every run holds the arguments as a tree beside the journal, which grows. If both might not fit
 * later, after a step was done, the call is not begun. `tree` is all that is in the arena. */
bool args_leave_room(const struct call *call, struct str args, const struct json *tree,
                     const struct arena *arena);
/* The bytes that the arguments may take. */
size_t args_room(const struct call *call);
/* They fit the target's schema, if it has one, and no text has a NUL in it that its provider could
 * not give it. */
bool args_fit(const struct call *call, const struct json *args, struct arena *arena,
              struct schema_problems *problems);
/* nod's own hook at the gate. */
void gate_init(struct engine *engine);

extern const struct flow_table ask_flow;
extern const struct flow_table answer_flow;

/* All asks of the round are ready to be stored, or one has failed. */
void call_asks_settled(struct call *call);
/* The call's last pending ask has ended, and the store gave us the call with this record. False: it
 * cannot go on here. */
bool call_taken(struct call *call, const struct store_reply *reply, int64_t asked_ms);
/* Nobody here works on the call: cancels it in the store, however long that takes. `done` may be
 * NULL. */
void engine_end_later(struct engine *engine, struct str call_id, struct str why,
                      void (*done)(void *data, nod_status status), void *data);
/* The call may have become runnable elsewhere: takes it. */
void call_take(struct call *call);
/* The same after a while, if it still waits then. */
void call_take_later(struct call *call, int64_t after_ms);
/* Every call that waits, one after the other, with this pause in between. Returns how long that is
 * in all. */
int64_t calls_look(struct engine *engine, int64_t step_ms);
/* The store refused a write: another node has the call. Waits for its end, or its turn. */
void call_lost(struct call *call);
/* True: this node was silent for so long that another may have the call. The store is asked, and
 * then the call goes on, here or there. */
bool call_may_be_lost(struct call *call);
/* Of its op: loads it. */
void call_load_send(struct op *op);
/* The call waits, and was just read: one more look tells the store that this node waits for it. */
void call_make_sure(struct call *call);
/* The call cannot be opened because it is stored already: goes on with that one, if it is the
 * same. */
void call_known(struct call *call);
/* An operation has completed, and the call waits. True: it is already decided how it goes on. */
bool call_decided(struct call *call);
/* After engine_adopt: goes on where the call waited. */
void call_go_on(struct call *call);
/* The call was taken in this epoch, but cannot be run here: makes it runnable for others. */
void call_give_back(struct engine *engine, struct str call_id, uint64_t epoch, uint32_t notices);
/* A hint has come for a call that runs here: if it was ended elsewhere, its run is dropped. */
void call_look(struct call *call);
/* Writes the arguments as JSON. False: they are too large, and nothing is written. */
bool args_write(struct buf *out, const struct json *args);
void call_free(struct call *call);
/* Calls fn(call) when the stack is clear, unless the call is gone by then. */
void call_later(struct call *call, void (*fn)(struct call *call));
/* Tells the caller how the call ended, and frees it. */
void call_deliver(struct call *call);
/* Ends the call for its caller, with an error. What the store knows of it stays as it is. */
void call_fail_here(struct call *call, nod_status status, struct str message);
struct ending *call_ending(struct call *call);
struct call *call_create(struct engine *engine, const struct call_spec *spec, struct str args);
void call_flow_done(struct flow *flow, void *subject, nod_status status);
/* Its outcome is set, and no stage runs any more: it ends without them. */
void call_refuse(struct call *call);
/* The asks are stored: claims what the caller brings, then tells the caller, then the surfaces. The
 * call may be gone after this. */
void call_asked(struct call *call);
/* Tells the caller of the asks that are left, then the surfaces. Likewise. */
void call_tell(struct call *call);
/* The call and all its inner calls wait: claims what the caller brings, or tells it. Likewise. */
void call_round(struct call *call);
/* Its asks can be found, and are up on surfaces; `carried`: its client has them. */
void call_put_up(struct call *call, bool carried);
struct call_record call_record_of(const struct call *call);
/* How long from now something lives that could bring the call back, with the questions that are
 * being saved; 0: nothing. */
int64_t call_keep_for(const struct call *call);
/* Lists the call, so that it is found by its id. False: as many calls are live as may be. */
bool call_list(struct call *call);
/* Frees the call here; the store has it. Offers elsewhere are taken down. The client is not
 * told. */
void call_unload(struct call *call);
/* The same, and the client is told to come back: another node, or the next start, goes on. */
void call_leave(struct call *call);

/* --- the version of its target (version.c) --- */

/* Where the version is that the call of this record began with. What is known of other nodes must
 * not be older than `since`, by this node's monotonic clock. */
enum version_at version_at(struct engine *engine, const struct target *target,
                           const struct call_record *record, int64_t since);
enum version_at call_version_at(const struct call *call);
/* The call began with another version of its target than this node has, or has its home elsewhere.
 */
bool call_is_foreign(const struct call *call);
/* Ends the call, which is ours to run; with a record: which waits, and is LIVE_WAITING here. */
void call_end_changed(struct call *call, const struct call_record *waits);

/* --- rest --- */

/* The client is gone. The call rests if its questions can be up elsewhere; otherwise it is
 * unloaded. */
void call_rest(struct call *call);
bool call_is_resting(const struct call *call);
/* The call no longer rests: it runs, or goes. */
void call_awake(struct call *call);
/* Takes its asks down everywhere but at the client. */
void call_offers_end(struct call *call);
/* A caller has come back for a resting call. False: it does not rest. */
bool call_take_over(struct call *call, const struct adopt_spec *spec);
/* Sets the outcome of a call that failed, with an error id that is also in the log. */
void call_outcome_fail(struct call *call, const struct fault *fault);
/* Sets the outcome of a call that went well. */
void call_outcome_ok(struct call *call, struct str body);
/* The call has no outcome after all: it may run again. */
void call_outcome_forget(struct call *call);
/* Sets the outcome of a call that failed, and goes to the stage finish. */
void call_fail(struct call *call, nod_status status, const char *code, struct str message);
void call_end_cancelled(struct call *call);
/* Cancels a call that waits; it ends with this failure. */
void call_end_as(struct call *call, const struct outcome *outcome);
/* Ends a call in the store, whatever it is doing. If it is live here, it finds that out. */
void engine_end_stored(struct engine *engine, struct str call_id, const struct outcome *outcome,
                       void (*done)(void *data, nod_status status), void *data);
/* done(), which may be NULL, is told when the end of this call is stored. */
void call_end_tell(struct call *call, void (*done)(void *data, nod_status status), void *data);
/* Tells all of these. */
void call_end_told(struct call *call, nod_status status);
/* There is no target for the call of this ask, and no other node can have one. */
bool target_is_gone(const struct engine *engine, const struct ask_record *record);
/* The cancel came too late: the caller is told how the call ended. */
void call_ended_before(struct call *call);
/* Cancels when the stack is clear: we may be inside its handler, its stages, or a hook. */
void call_cancel_later(struct call *call);

/* Logs, once a call, that a question of this run could be put to nobody. */
void call_unasked(struct call *call, const struct run *run);
void call_run_begin(struct call *call);
/* The time that its run works counts from here, and no longer. */
void call_clock_start(struct call *call);
void call_clock_stop(struct call *call);
/* Sets the outcome with which this run has ended. */
void call_outcome_of(struct call *call, const struct run *run, nod_status status, struct str body);
/* Stores and asks what call->run has recorded. The call goes on when that is done. */
void call_pending(struct call *call);
/* The run is no longer with the provider, and its clock is stopped. */
void call_run_over(struct call *call);
/* The call would run next, but this node is stopping: gives it back, or ends it. */
void call_stand_down(struct call *call);
/* Frees the run, if there is one: it is not with the provider. */
void call_run_free(struct call *call);
/* Drops the run without waiting for it: when it ends, run_done finds no call. */
void call_run_drop(struct call *call);
/* Sends the asks that call->run recorded through their stages. */
void call_asks_begin(struct call *call);
/* The asks were not stored, and nobody has heard of them: drops them. */
void call_asks_drop(struct call *call);
/* Only those of them that nobody has heard of: others wait beside them (live.c). */
void call_asks_drop_fresh(struct call *call);
/* Stores what call->run recorded, and the asks that are through their stages. Then the call goes
 * on, or waits. */
void call_save(struct call *call);
/* The store has refused it, and the call, which was cancelled meanwhile, ends. */
void call_save_refused(struct op *op, const struct store_reply *reply);
/* Of the operation of a call that has just begun: a call that has learned something waits for the
 * store. */
void call_keep_trying(struct call *call);
/* The run came to its first step, which waits until the caller has told its client how to come
 * back: see call_step_on. */
void call_hold_steps(struct call *call);
void call_saving_free(struct call *call);
/* A sentence that says which bound it was, and which option sets it. */
struct str call_quota_message(struct call *call, enum store_quota quota, uint64_t most);
void call_tell_waiting(struct call *call, bool waiting);

/* --- a run that stays open while its call waits (live.c) --- */

/* call->run, which was just made, is handed to its provider, and stays open. */
void live_begin(struct call *call);
/* Its provider has not begun it: it is call->run again. */
void live_unbegun(struct call *call);
/* The call has no live run from now on: the provider is told, and its run_done changes nothing. */
void live_drop(struct call *call);
/* The provider has called run_done. */
void live_done(struct run *run, nod_status status, struct str body);
/* The call is at rest, or something has come: it is the run's turn when the stack is clear. */
void live_wake(struct call *call);
/* The stage `start` is entered again: the live run goes on, or waits on. */
void live_on(struct call *call);
/* What it committed is stored, and in the journal. */
void live_saved(struct call *call);
/* The store says what the call has learned, or how one of its questions has ended. */
void live_learn(struct call *call, const struct call_record *record);
void live_learn_end(struct call *call, const struct ask_record *ask);
/* The call has a live run, and knows how the question has ended. */
bool live_knows(const struct call *call, const struct ask_record *ask);
/* The call has a live run, and its journal has what is being saved, or how that ended. */
bool live_is_saved(const struct call *call);
/* A write of the call was refused. True: it is sent again, if the call is still this node's. */
bool live_again(struct op *op);
/* A claim has taken the call while the live run was doing something else. False: not for us. */
bool live_taken(struct call *call, const struct store_reply *reply, int64_t asked_ms);

enum live_seen {
    LIVE_SEEN_WAITS, /* as it was */
    LIVE_SEEN_TAKE,  /* it can be taken */
    LIVE_SEEN_LATER, /* another node has it, and gives it back */
    LIVE_SEEN_OURS,  /* it was taken by this node */
    LIVE_SEEN_LOST,  /* it has ended, and the run is dropped */
};
/* A take was refused, and this is what the store has. */
enum live_seen live_looked(struct call *call, nod_status status, const struct call_record *record);

/* --- results that were handed out (fetched.c) --- */

void fetched_drop(struct engine *engine);

/* --- secrets --- */

void secrets_drop(struct engine *engine);

/* --- values that a run needs and the journal must not hold (need.c) --- */

const struct needed *needed_hold(const struct needed *needed);
/* Wipes those that nobody else holds. */
void needed_release(const struct needed *needed);
/* The run of the call came to a value that is not there: fetches it, and runs the call again. */
void call_need_fetch(struct call *call);
/* The call does not wait for the value any more. */
void call_need_drop(struct call *call);
/* A run of it has gone on to something else: no later run is given these values. */
void call_needs_forget(struct call *call);

struct run *run_create(struct call *call);
void run_free(struct run *run);

/* --- ask --- */

struct ask {
    struct call *call;
    struct list link; /* in call->asks */
    struct ask_record record;
    struct id id;
    bool listed;      /* found by its id */
    bool offering;    /* it is being put up right now */
    bool opened;      /* a URL that was opened; it ends when its page is done */
    bool claiming;    /* the engine is ending it (expired, unsupported): a claim is under way */
    bool still : 1;   /* during a look at the store: it is still pending there */
    bool brought : 1; /* its caller has brought an answer to it */
    bool noted : 1;   /* it waits for a call, and the store lists it (inner_list.c) */
    int seen;         /* which offer is up there */
    int ahead;        /* offers that our store does not know of: portable states */
    unsigned up;      /* bits of engine->surfaces: the ask is up there, or is being put up */
    unsigned tried;   /* the same: it was offered there, and is up or was refused */
    uint8_t turn;     /* of the plan; as many as it has: none is left */
    int64_t since_ms; /* when it was asked, by the store's clock; 0: not offered yet */
    struct due move;  /* the next turn, if the clock decides */
    struct due expiry;
    struct tally *tally;     /* where it is counted for its principal, or NULL */
    struct winner *seen_end; /* how it ended, with its texts, if the store has said so; or NULL */
    struct flow flow;
    size_t size; /* of the ask with its text */
    char text[]; /* key, message, detail, url */
};

struct ask *ask_create(struct call *call, const struct run_item *item);
/* What hooks may see of it. */
void ask_record_describe(const struct ask_record *record, struct hook_view *view);
/* An ask that was pending before its call came to this node. */
struct ask *ask_adopt(struct call *call, const struct ask_record *record);
void ask_free(struct ask *ask);
/* Begins the request stages. They end in call_asks_settled or, after the commit, in the offer. */
void ask_begin(struct ask *ask);
/* The park is committed: the ask goes on with buildRequestParams. */
void ask_stored(struct ask *ask);
/* Takes the ask down from all surfaces but this one, which knows already (or NULL), and frees
 * it. */
void ask_end(struct ask *ask, const struct surface *but, const struct winner *winner,
             struct str why);
/* The same, if only the journal says how it ended, or nobody here knows. */
void ask_ended_elsewhere(struct ask *ask);
/* The store shows how it ended: the surfaces will be told this. */
void ask_seen_ended(struct ask *ask, const struct ask_record *record);

/* --- what can be asked (askable.c) --- */

/* Finds which kinds of question can be put to whoever is behind the call, and sets what its runs
 * can ask. Returns what its client can be asked. */
unsigned call_find_askable(struct call *call);
/* The roles of whoever is behind it, or was before its caller left. */
role_set call_roles(const struct call *call);

/* --- offers --- */

/* Offers the ask on the surfaces of its turn that can and have not been tried, or of the next turn
 * where one can. If it is up nowhere after that, and no client carries it, it ends in
 * ASK_UNSUPPORTED. */
void ask_offer(struct ask *ask);
/* The same, unless its client has it, and it is to be asked nowhere else. */
void ask_offer_unless_carried(struct ask *ask);
/* It is this turn now, if somebody can be asked in it. ask_offer puts it up there. */
void ask_turn_to(struct ask *ask, size_t turn);
/* Sets record.turn, before the ask is stored. */
void ask_find_turn(struct ask *ask);
/* Notes that the ask has come to this turn of its plan. A turn that the plan does not have is none.
 */
void ask_record_came_to(struct engine *engine, struct ask_record *record, const struct plan *plan,
                        size_t turn);
/* Where the call's asks are up has changed: see caller_ops.offered. */
void call_tell_offered(struct call *call);
/* Is it up on another surface, or could it be, in this turn or a later one? */
bool ask_can_move(const struct ask *ask, const struct surface *from);
/* It is up somewhere, or will be. */
bool ask_waits(const struct ask *ask);

/* The store counts another offer of the ask, made here or on another node. It is put up again on
 * the surfaces that count offers, with what was wrong, if that is known. */
void ask_offered_anew(struct ask *ask, int attempt, struct str problems);
/* Takes the ask down from all surfaces but this one (or NULL). */
void ask_withdraw(struct ask *ask, const struct surface *but, const struct winner *winner,
                  struct str why);

/* --- plan --- */

struct str surface_word(const struct surface *surface); /* what the operator calls it */
const struct plan *call_plan(const struct call *call);
/* What asks, by the name in a record. NULL: there is no such target here for its principal. */
struct target *target_of_ask(const struct engine *engine, const struct ask_record *record);
struct target *target_for(const struct engine *engine, struct str principal, struct str name);

/* --- turns --- */

/* Its turn has come before the clock would have come to it: all nodes are to know. */
void ask_turn_early(struct ask *ask);
/* At the start: turns that came early while an older nod ran are brought into the records. */
void turns_of_older(struct engine *engine);

/* --- claim --- */

/* The engine's own word: ASK_EXPIRED, ASK_UNSUPPORTED, ASK_CANCELLED. */
void claim_by_engine(struct ask *ask, enum ask_state outcome);
/* The live run that asked takes it back. */
void claim_taken_back(struct ask *ask, struct str why);
/* The inner call of this ask has ended, with this outcome. */
void claim_inner(struct engine *engine, struct str ask_id, struct str outcome, bool handed,
                 answered_fn *done, void *data);
/* The time of an ask is up that may wait on no node. */
void claim_overdue(struct engine *engine, struct str ask_id, answered_fn *done, void *data);
void claims_drop(struct engine *engine);
/* A newer question has replaced it (one_ask_per_scope): it ends as cancelled. */
void claim_replaced(struct engine *engine, struct str ask_id);

/* --- answers that a caller brings (brought.c) --- */

/* It has given all; goes on when they are known. */
void call_brought_all(struct call *call);
/* The call goes, or they are known. */
void call_brought_leave(struct call *call);
/* Its caller leaves, or is another from now on. */
void call_brought_unheard(struct call *call);
void brought_drop(struct engine *engine);

/* --- one question at a time (scope.c) --- */

/* The call's questions are stored, and its client will carry them: older ones of its scope end. */
void scope_asked(struct call *call);

/* Who follows if the client has refused, as far as that can be known without the call. */
struct turn_after {
    unsigned turn; /* with `sure` */
    int64_t comes; /* with `sure`: see engine_turn_comes */
    bool sure;     /* somebody in this turn can be asked */
    bool unsure;   /* perhaps somebody before can be, or in this one */
};
struct turn_after engine_turn_after_client(struct engine *engine, const struct ask_record *record);

#endif
