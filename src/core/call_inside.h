/*
 * core/call_inside: what the files of the core share with each other and with nobody else, of a
 * call that is live on this node, its run, and its asks. docs/inside/core.md says what each of them
 * is for.
 */
#ifndef NOD_CORE_CALL_INSIDE_H
#define NOD_CORE_CALL_INSIDE_H

#include "core/inside.h"

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
    /* a write that was refused, of a call that stays here, and the looks at who has the call: see
     * live_again */
    int again;
    bool again_over; /* another has it, or it has ended */
    void (*again_send)(struct op *op);
    void (*again_done)(struct op *op, nod_status status, const struct store_reply *reply);
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
    struct heard *heard;      /* the noes that hooks of its gate have heard (gate.c), or NULL */
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
    bool round_due;       /* its caller is told when all of its tree waits: see inner.c */
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
    uint8_t supports, supports_consent, model, lacks_role;
    uint8_t client_kinds;        /* what its client could be asked when it was last there */
    enum store_quota asks_quota; /* the bound that refused one of the asks */
    nod_status asks_failed;
    role_set roles;              /* of its last caller, while it has none: see call_roles */
    struct journal journal;      /* empty while it waits: the store has it */
    size_t learned;              /* bytes of the journal, while it waits */
    struct run *run;             /* under way, or being saved */
    struct live *live;           /* its live run, which may go on while it waits: see live.c */
    const struct needed *needed; /* values for its next run: see need.c */
    struct need *need;           /* one that is being fetched; NULL: none is */
    bool *run_over;              /* set if the run ends while it is being started */
    struct list asks;            /* pending, in order */
    uint32_t asks_settled, asks_expected;
    size_t asks_quota_most; /* how many that bound allows */
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

/* The call, or one of its asks, has come to wait, perhaps again: if the round of its tree is due,
 * it is looked at when the stack is clear. */
void inner_look(struct call *call);
static inline void inner_waits(struct call *call)
{
    if (call->inner || call->round_due)
        inner_look(call);
}

/* The call, or one that waits for it here, which is being cancelled: from then on no answer counts.
 */
static inline struct call *call_being_cancelled(struct call *call)
{
    return call->cancel_wanted ? call : call->inner ? inner_outer_cancelled(call) : NULL;
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

/* --- gate.c --- */

/* A hook of the gate has ended well, with what it was told in this run. */
void call_heard(void *subject, const struct run *run);
/* The gate is begun anew, or the call goes. */
void call_heard_drop(struct call *call);
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

extern const struct flow_table ask_flow;
extern const struct flow_table answer_flow;

/* All asks of the round are ready to be stored, or one has failed. */
void call_asks_settled(struct call *call);
/* The call's last pending ask has ended, and the store gave us the call with this record. False: it
 * cannot go on here. */
bool call_taken(struct call *call, const struct store_reply *reply, int64_t asked_ms);
/* Nobody here works on the call: cancels it in the store, however long that takes. */
void engine_end_later(struct engine *engine, struct str call_id, struct str why);
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
void call_give_back(struct engine *engine, struct str call_id, uint64_t epoch, uint32_t notices,
                    bool handed);
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
enum version_at call_version_at(struct call *call);
/* The call began with another version of its target than this node has, or has its home elsewhere.
 */
bool call_is_foreign(struct call *call);
/* Ends the call, because its target has changed or is gone; the call is ours to run; with a record:
 * which waits, and is LIVE_WAITING here. */
void call_end_changed(struct call *call, const struct call_record *waits);

/* --- targets that come and go while calls wait (replaced.c, gone.c) --- */

/* The call has the target from now on that has replaced its own. False: it has the one it had. */
bool call_goes_over(struct call *call);
/* A run of the call is about to begin. True: its target was replaced, or is gone, and it is decided
 * in a moment how the call goes on. */
bool call_begins_otherwise(struct call *call);
/* call->run has asked something, and the call is to end: it has ended, and nobody is asked. */
bool call_asks_in_vain(struct call *call);
/* Its target was removed, and nothing has replaced it. */
bool call_lacks_target(const struct call *call);
/* Another node may have that target, and the client of the call, if it has any, can go there. */
bool call_may_leave_gone(const struct call *call);
/* The call waits, and lacks its target: it ends, or leaves, in a moment. */
void call_gone_later(struct call *call);
/* The call is ours to run, in call->epoch, and LIVE_WAITING: it is given back to those who have its
 * version. `gone`: this node cannot even wait for it. The call may be gone after this. */
void call_left_to_others(struct call *call, bool gone);
/* May it be? Not if its client holds nothing. */
bool call_may_be_left(const struct call *call);

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
/* A write of a call that stays here was refused. True: it is sent again, if the call is still this
 * node's. */
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
    bool listed : 1;   /* found by its id */
    bool offering : 1; /* it is being put up right now */
    bool opened : 1;   /* a URL that was opened; it ends when its page is done */
    bool claiming : 1; /* the engine is ending it (expired, unsupported): a claim is under way */
    bool still : 1;    /* during a look at the store: it is still pending there */
    bool brought : 1;  /* its caller has brought an answer to it */
    bool noted : 1;    /* it waits for a call, and the store lists it (inner_list.c) */
    int seen;          /* which offer is up there */
    int ahead;         /* offers that our store does not know of: portable states */
    unsigned up;       /* bits of engine->surfaces: the ask is up there, or is being put up */
    unsigned tried;    /* the same: it was offered there, and is up or was refused */
    uint32_t size;     /* of the ask with its text */
    uint8_t turn;      /* of the plan; as many as it has: none is left */
    int64_t since_ms;  /* when it was asked, by the store's clock; 0: not offered yet */
    struct due move;   /* the next turn, if the clock decides */
    struct due expiry;
    struct tally *tally;     /* where it is counted for its principal, or NULL */
    struct winner *seen_end; /* how it ended, with its texts, if the store has said so; or NULL */
    struct flow flow;
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
uint8_t call_find_askable(struct call *call);
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
/* The call has another target, whose plan may be another: what is up stays up, and nothing moves
 * before its time. */
void asks_keep_offers(struct call *call);
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
