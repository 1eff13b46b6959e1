/*
 * core/take: a call becomes ours to run again.
 *
 * Usually the claim that ends a call's last ask also takes the call, in the same transition. If the
 * ask was ended elsewhere (on another node, or while the call was not live), the store hints, or
 * our own claim comes too late. Then the call is taken by an operation of its own. If that is
 * refused, the call runs elsewhere, waits again or has ended: this node looks at it until it is
 * ours or its result is known.
 *
 * A call of another version of its target is not taken while a node lives that has that version; it
 * is only looked at. If no node has that version, it is taken, and ends (version.c).
 *
 * Holds always: a call runs only in an epoch that the store gave to this node. An epoch that this
 * node cannot use is given back. Every waiting call has a pending ask, a take or a look that will
 * move it.
 */
#include "core/call_inside.h"

#include <limits.h>

#include "base/crash.h"
#include "base/log.h"
#include "core/catalog.h"

enum {
    TAKE_AGAIN_MS = 1000,
    AWAY_AGAIN_MS = 32,   /* the first look at a call that runs at its home; each later one after */
    AWAY_PACES = 5,       /* twice as long as the last, so often; then as other calls */
    UNSURE_AGAIN_MS = 50, /* while it is read which versions other nodes have */
};

/* --- calls that this node cannot run --- */

struct giving_back {
    struct engine_work work;
    struct id call;
    uint64_t epoch;
    uint32_t notices;
    bool handed;
};

/* A park without asks makes it runnable. */
static void give_send(struct op *op)
{
    struct giving_back *giving = OP_OF(op, struct giving_back, work.op);
    struct store *store = op->engine->store;

    store->ops->park(store,
                     &(struct park_spec){ .token = id_str(&op->token),
                                          .node = op->engine->node,
                                          .call_id = id_str(&giving->call),
                                          .epoch = giving->epoch,
                                          .notices = giving->notices,
                                          .handed = giving->handed },
                     op_completed, op);
}

static void give_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    (void)status; /* if it was refused, the call has gone on elsewhere */
    (void)reply;
    engine_work_free(OP_OF(op, struct engine_work, op));
}

void call_give_back(struct engine *engine, struct str call_id, uint64_t epoch, uint32_t notices,
                    bool handed)
{
    struct giving_back *giving = engine_work_new(engine, sizeof(*giving));

    giving->call = id_of(call_id);
    giving->epoch = epoch;
    giving->notices = notices;
    giving->handed = handed;
    op_start(engine, &giving->work.op, give_send, give_done);
    giving->work.op.most = INT_MAX; /* until then nobody can run the call */
}

/* --- going on --- */

static void asks_end(struct call *call)
{
    LIST_EACH (at, &call->asks)
        ask_ended_elsewhere(LIST_OF(at, struct ask, link));
}

void call_left_to_others(struct call *call, bool gone)
{
    bool handed = call->handed || !call_is_alone(call); /* who has come back has a handle */

    call_give_back(call->engine, id_str(&call->id), call->epoch, call->notices, handed);
    if (call_is_alone(call) && !call_is_resting(call) && !call->live) {
        call_unload(call);
    } else if (gone) {
        call_leave(call);
    } else {
        suspect_over(call); /* others have their turn */
        call_take_later(call, TAKE_AGAIN_MS);
    }
}

/* The call is ours, in call->epoch. */
static void resume(struct call *call)
{
    enum version_at version = call->live ? VERSION_HERE : call_version_at(call);
    bool alone = call_is_alone(call) && !call_is_resting(call) && !call->live;
    bool gone = call_lacks_target(call) && !target_stays(call->target);
    bool elsewhere =
        call_may_be_left(call) &&
        (gone ? call_may_leave_gone(call) : version == VERSION_THERE || version == VERSION_UNSURE);

    call_enter(call, LIVE_TELLING);
    call->came = CAME_NOTHING;
    asks_end(call); /* there are none left, unless what we knew was old */
    if (call->rests == RESTS_FOUND)
        call->rests = RESTS_NOT;
    if (suspect_must_end(call) && !call->cancel_wanted && !elsewhere && !call->live) {
        call_awake(call);
        suspect_end(call);
        return;
    }
    if (!call->cancel_wanted && (alone || elsewhere)) {
        call_enter(call, LIVE_WAITING);
        call_left_to_others(call, gone);
        return;
    }
    call_awake(call);
    call_tell_waiting(call, false);
    CRASH_POINT(rerun_before);
    if ((gone || version != VERSION_HERE) && !call->cancel_wanted)
        call_end_changed(call, NULL);
    else
        flow_again(&call->flow); /* the stage checks whether the call was cancelled */
}

static void call_learn(struct call *call, const struct call_record *record)
{
    if (call->live) {
        live_learn(call, record);
        return;
    }
    journal_finish(&call->journal);
    journal_make(&call->journal, record->entries, record->entry_count, NULL, 0);
}

/* What the store says of the call, beside its journal. */
static void call_seen_as(struct call *call, const struct call_record *record)
{
    if (record->version)
        call->version = record->version;
    call->handed |= record->handed;
    call->away = home_at(call->engine, record) == HOME_ELSEWHERE;
}

bool call_taken(struct call *call, const struct store_reply *reply, int64_t asked_ms)
{
    if (call->state == LIVE_CANCELLING || call->cancel_wanted)
        return true; /* it ends in any case */
    bool open =
        call->state == LIVE_WAITING || call->state == LIVE_TAKING || call->state == LIVE_NEW;
    if (call->live && (!open || reply->epoch == call->epoch))
        return live_taken(call, reply, asked_ms);
    if (!open)
        return false;
    if (reply->epoch <= call->epoch || reply->call->epoch != reply->epoch)
        return false; /* it was taken, but again since then */
    call->epoch = reply->epoch;
    call->ours_ms = asked_ms;
    call_seen_as(call, reply->call);
    call_learn(call, reply->call);
    call->fresh_intent = false;
    suspect_taken(call, reply->call);
    if (call->state == LIVE_WAITING)
        resume(call);
    else
        /* the operation under way comes back first, and then the call resumes */
        call->came = CAME_EPOCH;
    return true;
}

bool call_decided(struct call *call)
{
    call_enter(call, LIVE_WAITING);
    if (call->cancel_wanted)
        call_end_cancelled(call);
    else if (call->came == CAME_EPOCH)
        resume(call);
    else
        return false;
    return true;
}

/* Another node has the version of the call, and may not run it on without its client: the client
 * is sent there. True: so it is, and the call is gone. */
static bool sent_on(struct call *call)
{
    if (call->handed || call->away || call_version_at(call) != VERSION_THERE)
        return false;
    call_leave(call);
    return true;
}

void call_go_on(struct call *call)
{
    if (call_decided(call))
        return;
    if (call_is_alone(call)) {
        call_rest(call);
        return;
    }
    if (sent_on(call))
        return;
    enum version_at version = call_version_at(call);
    bool asked = version == VERSION_HERE || version == VERSION_THERE;
    if (asked && !list_empty(&call->asks)) {
        call_asked(call);
        return;
    }
    call_offers_end(call); /* they may be up here since it rested */
    call_asks_drop(call);  /* unless it ends, they are read anew */
    call_take(call);
}

/* --- a call that somebody else has --- */

static void take_again(struct due *due)
{
    call_take(HEAP_OF(&due->node, struct call, timeout.node));
}

void call_take_later(struct call *call, int64_t after_ms)
{
    due_set(call->engine, &call->timeout, after_ms, take_again);
}

static void deliver_stored(struct call *call, const struct call_record *record)
{
    struct ending *ending = call_ending(call);

    if (record->forgotten) {
        call_fail_here(call, NOD_E_NOT_FOUND,
                       STR("The call has ended, but its result is no longer known"));
        return;
    }
    nod_status status =
        outcome_read(&ending->arena, arena_str(&ending->arena, record->result), &ending->outcome);

    ending->found = true;
    call_learn(call, record); /* for whoever is told: what it had learned by then */
    ending->outcome.elsewhere =
        record->state == CALL_STORED_CANCELLED && ending->outcome.status == NOD_E_CANCELLED;
    if (status == NOD_OK) {
        if (ending->outcome.code && strcmp(ending->outcome.code, OUTCOME_ENDED_BY_OPERATOR) == 0)
            LOG_WARN("an operator has ended a call", LOG_STR("tool", call->target->name),
                     LOG_STR("principal", call->principal), LOG_STR("call", id_str(&call->id)),
                     LOG_STR("why", ending->outcome.message));
        call_deliver(call);
    } else {
        call_fail_here(call, status, STR("The stored result of this call cannot be read"));
    }
}

/* --- a call that runs here, and was ended elsewhere --- */

static void say_taken_over(const struct call *call)
{
    LOG_INFO("a call has been taken over by another node", LOG_STR("call", id_str(&call->id)));
}

/* Nothing that the run does from now on would be stored. */
static void ended_looked(struct engine *engine, const struct call_record *record)
{
    struct call *call = engine_call_at(engine, record->id);

    if (!call || (call->state != LIVE_RUNNING && call->state != LIVE_NEEDING) ||
        (record->state != CALL_STORED_CANCELLED && record->state != CALL_STORED_FINISHED))
        return;
    due_stop(engine, &call->timeout);
    if (call->state == LIVE_RUNNING)
        call_run_drop(call);
    else
        call_need_drop(call);
    if (record->state == CALL_STORED_FINISHED)
        say_taken_over(call);
    deliver_stored(call, record);
}

void call_look(struct call *call)
{
    engine_look(call->engine, id_str(&call->id), ended_looked);
}

/* --- a call that cannot be read --- */

/*
 * The store has the call, and this node cannot read it: the record is sealed with a secret that is
 * not set here, was written by a newer nod, or is damaged. Another node may be able to read it, and
 * the call then goes on there. So its client is told no end. It comes back, and finds that node.
 */
static bool left_to_others(struct call *call)
{
    if (!call->engine->store->ops->shared || !call->caller->ops->unloaded)
        return false;
    LOG_WARN("a call cannot be read here: it is left to other nodes",
             LOG_STR("tool", call->target->name), LOG_STR("call", id_str(&call->id)));
    call_leave(call);
    return true;
}

static void not_taken(struct call *call, nod_status status)
{
    if (status != NOD_E_NOT_FOUND && left_to_others(call))
        return;
    call_fail_here(
        call, status,
        status == NOD_E_NOT_FOUND
            ? STR("The store no longer knows this call")
            : arena_fmt(&call_ending(call)->arena,
                        "The %s store could not load this call, and nothing more of it was "
                        "done; try again later",
                        call->engine->store->ops->name));
}

/* --- a call that waits, runs or has ended elsewhere --- */

/* Only nodes that may run the call on are told when it has ended: a call that is away looks. */
static void look_later(struct call *call)
{
    if (call->came)
        call_take(call);
    else if (call->away && call->pace < AWAY_PACES)
        call_take_later(call, AWAY_AGAIN_MS << call->pace++);
    else
        call_take_later(call, TAKE_AGAIN_MS);
}

/*
 * When we tried to take the call it may have been running elsewhere, and may have asked only since
 * then. The store tells us of its end only after a take that found it waiting.
 */
void call_make_sure(struct call *call)
{
    call->unsure = false;
    call_take_later(call, TAKE_AGAIN_MS);
}

/* --- its questions, as the store has them --- */

static struct ask *ask_of(const struct call *call, struct str id)
{
    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        if (str_eq(id_str(&ask->id), id))
            return ask;
    }
    return NULL;
}

/*
 * The record that says that the call waits may be older than this row: what is pending now is what
 * its client is asked, and what the client was asked already stays up.
 */
static void ask_seen(void *data, const struct store_row *row)
{
    struct call *call = OP_OF(data, struct call, op);
    struct ask *ask = ask_of(call, row->ask->id);

    if (row->ask->state != ASK_PENDING) {
        if (ask)
            ask_seen_ended(ask, row->ask);
        return;
    }
    if (!ask && live_knows(call, row->ask)) /* it has ended since it was read */
        return;
    if (!ask)
        ask = ask_adopt(call, row->ask);
    ask->still = true;
    ask->seen = row->ask->attempt;
}

static void seen_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct store *store = call->engine->store;

    LIST_EACH (at, &call->asks)
        LIST_OF(at, struct ask, link)->still = false;
    store->ops->scan(store,
                     &(struct store_scan){ .index = STORE_ASKS_OF_CALL,
                                           .key = id_str(&call->id),
                                           .limit = RUN_ROUND_MAX },
                     ask_seen, op_completed, op);
}

/* What is no longer pending has ended elsewhere. If that is not known, only what somebody here has
 * heard of stays. True: there are some that nobody here has heard of. */
static bool asks_are_now(struct call *call, bool known)
{
    bool fresh = false;

    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        bool heard = ask->listed;
        if (!known && !heard)
            ask_free(ask);
        else if (known && !ask->still)
            ask_ended_elsewhere(ask);
        else if (known && heard)
            ask_offered_anew(ask, ask->seen + ask->ahead, STR_NONE);
        else
            fresh |= !heard;
    }
    return fresh;
}

static void seen_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    bool unreadable = status == NOD_E_REFUSED || status == NOD_E_PARSE || (reply && reply->lacks);

    if (call_decided(call))
        return;
    bool fresh = asks_are_now(call, status == NOD_OK);
    if (call_is_alone(call) && !call_is_resting(call)) {
        if (fresh && !call->live)
            call_unload(call);
        else
            call_rest(call);
    } else if (list_empty(&call->asks) && unreadable) {
        not_taken(call, status); /* nor can it be read later */
    } else if (fresh) {
        call_asked(call);
    } else if (call->came || list_empty(&call->asks)) {
        look_later(call);
    } else if (call->rests == RESTS_FOUND) {
        call_asked(call);
    } else if (call_is_foreign(call)) {
        call_make_sure(call);
    }
}

void call_load_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct store *store = call->engine->store;

    store->ops->load_call(store, id_str(&call->id), op_completed, op);
}

static void waits(struct call *call, const struct call_record *record)
{
    enum version_at version = call_version_at(call);

    if (call_lacks_target(call)) {
        call_gone_later(call);
        return;
    }
    if (version == VERSION_NOWHERE) {
        call_end_changed(call, record);
        return;
    }
    if (version == VERSION_UNSURE) {
        call_take_later(call, UNSURE_AGAIN_MS);
        return;
    }
    call->pace = 0;
    if (list_empty(&call->asks) || record->epoch != call->epoch) { /* it has asked again */
        call_learn(call, record);
        call->epoch = record->epoch;
        call->notices = record->notices;
        call->unsure = call->engine->store->ops->shared;
    }
    call_enter(call, LIVE_TAKING);
    op_start_of(call->engine, &call->op, call->principal, seen_send, seen_done);
    call->op.most = INT_MAX;
}

/* A resting call: its questions are up here only while it waits for them. */
static void rests_elsewhere(struct call *call, const struct call_record *record)
{
    if (record->state == CALL_STORED_WAITING && record->epoch == call->epoch) {
        waits(call, record);
        return;
    }
    call_learn(call, record);
    asks_end(call); /* the journal says who won */
    call_unload(call);
}

/* A live run goes on, or waits on. False: the call has none any more, and is like any other. */
static bool live_seen(struct call *call, nod_status status, const struct store_reply *reply)
{
    switch (live_looked(call, status, status == NOD_OK ? reply->call : NULL)) {
    case LIVE_SEEN_WAITS:
        waits(call, reply->call);
        return true;
    case LIVE_SEEN_TAKE:
        call_take_later(call, UNSURE_AGAIN_MS);
        return true;
    case LIVE_SEEN_LATER:
        call_take_later(call, TAKE_AGAIN_MS);
        return true;
    case LIVE_SEEN_OURS:
        resume(call);
        return true;
    case LIVE_SEEN_LOST:
        break;
    }
    return false;
}

/* Another node runs a call on only if the store says that somebody can come back for it. This node
 * knows that, and says it when it gives the call back. */
static bool handle_is_unheard(struct call *call, const struct call_record *record)
{
    if (record->handed || record->state != CALL_STORED_RUNNABLE)
        return false;
    return call->away ? call->handed || !call_is_alone(call)
                      : call->handed && call_version_at(call) == VERSION_THERE;
}

static void take_send(struct op *op);
static void take_done(struct op *op, nod_status status, const struct store_reply *reply);

/* `orphaned`: a take was refused because its node is gone (store_reply.suspect). */
static void take_looked(struct call *call, nod_status status, const struct store_reply *reply,
                        bool orphaned)
{
    if (call_decided(call))
        return;
    if (call->live && live_seen(call, status, reply))
        return;
    if (status == NOD_OK && !(orphaned && suspect_is(reply->call)))
        suspect_over(call); /* another node has it, or it waits or has ended */
    if (status == NOD_OK) {
        call_seen_as(call, reply->call);
        call->interrupted = reply->call->state == CALL_STORED_RUNNING;
        if (call->away)
            recovery_homeless(call->engine, reply->call);
    }
    if (call_is_resting(call) && status == NOD_OK) {
        rests_elsewhere(call, reply->call);
    } else if (call_is_alone(call)) {
        call_unload(call);
    } else if (status != NOD_OK) {
        not_taken(call, status);
    } else if (reply->call->state == CALL_STORED_FINISHED ||
               reply->call->state == CALL_STORED_CANCELLED) {
        deliver_stored(call, reply->call);
    } else if (sent_on(call)) {
        return;
    } else if (reply->call->state == CALL_STORED_WAITING) {
        waits(call, reply->call);
    } else if (handle_is_unheard(call, reply->call)) {
        asks_end(call);
        call_enter(call, LIVE_TAKING);
        op_start(call->engine, &call->op, take_send, take_done);
        call->op.most = INT_MAX;
    } else {
        /* What we knew of the call's questions is old. Or the call ran on a node that is gone, and
         * its turn comes (suspect.c). */
        if (orphaned && suspect_is(reply->call) && !call->away)
            suspect_meet(call, reply->call);
        asks_end(call);
        if (call_version_at(call) == VERSION_UNSURE)
            call_take_later(call, UNSURE_AGAIN_MS);
        else
            look_later(call);
    }
}

static void take_look_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    take_looked(OP_OF(op, struct call, op), status, reply, false);
}

static void orphan_look_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    take_looked(OP_OF(op, struct call, op), status, reply, true);
}

static void ended_found(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    struct ending *ending = call_ending(call);
    struct outcome outcome;

    ending->found = true;
    if (status == NOD_OK &&
        outcome_read(&ending->arena, arena_str(&ending->arena, reply->call->result), &outcome) ==
            NOD_OK)
        ending->outcome = outcome;
    else
        call_outcome_fail(
            call, &(struct fault){
                      .status = NOD_E_NOT_FOUND,
                      .message = STR("The call has ended, but its result is no longer known") });
    call_deliver(call);
}

void call_ended_before(struct call *call)
{
    op_start_of(call->engine, &call->op, call->principal, call_load_send, ended_found);
    if (engine_survives(call->engine))
        call->op.most = INT_MAX; /* it has ended, and the store will say how */
}

/* --- taking --- */

static void take_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;

    /* A live run is here: it was not what took down a node that had its call meanwhile. */
    call->way = (unsigned char)(call->live ? TAKE_FORGIVEN : suspect_way(call));
    CRASH_POINT(take_before);
    engine->store->ops->take(engine->store,
                             &(struct take_spec){ .token = id_str(&op->token),
                                                  .call_id = id_str(&call->id),
                                                  .node = engine->node,
                                                  .why = (enum take_why)call->way },
                             op_completed, op);
}

static void take_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    CRASH_POINT(take_after);
    if (status == NOD_OK && call->came == CAME_EPOCH)
        call_taken(call, reply, op->sent_ms); /* a claim took it too; the newer epoch counts */
    if (call_decided(call))
        return;
    if (status == NOD_OK && call_taken(call, reply, op->sent_ms))
        return;
    if (status == NOD_OK)
        status = NOD_E_STALE; /* an old reply: look at the call as it is now */
    bool orphaned = status == NOD_E_STALE && reply->suspect;
    if (call->way != TAKE_PLAIN)
        suspect_over(call); /* its turn is over */
    if (call_is_alone(call) && !call_is_resting(call) && !call->live) {
        call_unload(call);
    } else if (status == NOD_E_STALE) {
        call_enter(call, LIVE_TAKING);
        op_start_of(call->engine, &call->op, call->principal, call_load_send,
                    orphaned ? orphan_look_done : take_look_done);
        call->op.most = INT_MAX;
    } else {
        not_taken(call, status);
    }
}

void call_take(struct call *call)
{
    if (call->state != LIVE_WAITING) {
        if (!call->came)
            call->came = CAME_HINT;
        return;
    }
    if (call->live && call->came == CAME_EPOCH) {
        call_decided(call);
        return;
    }
    if (call->engine->stopping && !call->live) /* other nodes will take it */
        return;
    due_stop(call->engine, &call->timeout);
    call->came = CAME_NOTHING;
    call_enter(call, LIVE_TAKING);
    enum version_at version = call_version_at(call);
    if (version == VERSION_HERE || version == VERSION_NOWHERE) {
        op_start_of(call->engine, &call->op, call->principal, take_send, take_done);
    } else {
        suspect_over(call); /* it is no trial of ours */
        op_start_of(call->engine, &call->op, call->principal, call_load_send, take_look_done);
    }
    call->op.most = INT_MAX; /* only the reply tells the epoch that it may have given us */
}

void call_wake(struct call *call)
{
    call_take(call);
}

int64_t calls_look(struct engine *engine, int64_t step_ms)
{
    struct call *call;
    int64_t after_ms = 0;

    for (struct idmap_walk walk = { 0 }; (call = idmap_next(&engine->calls, &walk));)
        if (call->state == LIVE_WAITING && call->stored && !call->suspect &&
            !heap_has(&call->timeout.node)) /* it looks soon anyway */
            call_take_later(call, after_ms += step_ms);
    return after_ms;
}

/* Nobody was told of the asks of this run, and neither the run nor its outcome counts. */
void call_lost(struct call *call)
{
    say_taken_over(call);
    call_outcome_forget(call);
    live_drop(call);
    call_asks_drop_fresh(call);
    journal_finish(&call->journal);
    asks_end(call); /* those of a live run, which wait */
    flow_place(&call->flow, &call_flow, call->engine->hooks, "gate", call);
    call_enter(call, LIVE_WAITING);
    if (call_is_alone(call))
        call_unload(call);
    else
        call_take(call);
}

/* --- a call that others may have taken over while this node was silent --- */

static void ours_looked(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    bool ours = status == NOD_OK && reply->call->state == CALL_STORED_RUNNING &&
                reply->call->epoch == call->epoch;

    if (!ours && !call->cancel_wanted) {
        call_lost(call);
        return;
    }
    call->ours_ms = op->sent_ms;
    flow_again(&call->flow); /* the stage checks whether the call was cancelled */
}

bool call_may_be_lost(struct call *call)
{
    if (!call->stored || call->ours_ms >= recovery_silence(call->engine))
        return false;
    call_enter(call, LIVE_SAVING);
    op_start_of(call->engine, &call->op, call->principal, call_load_send, ours_looked);
    call->op.most = INT_MAX;
    return true;
}

/* --- a request that was made before --- */

static bool same_args(struct str one, struct str other)
{
    enum { ARGS_ARENA_MAX = 64 << 20 }; /* memory of both sets of arguments, as trees */
    struct arena arena;

    if (str_eq(one, other))
        return true;
    arena_init(&arena, ARGS_ARENA_MAX);
    const struct json *a = json_parse(&arena, one, NULL, NULL);
    const struct json *b = json_parse(&arena, arena_str(&arena, other), NULL, NULL);
    bool same = a && b && json_equal(a, b);
    arena_finish(&arena);
    return same;
}

/* Of a forgotten call only the end is left, and a call that was cancelled ahead had nothing else:
 * nothing shows that it was another request. */
static bool same_request(const struct call *call, const struct call_record *record)
{
    if (record->forgotten || call_record_is_ahead(record))
        return true;
    return record->kind == call->target->kind && str_eq(record->target, call->target->name) &&
           str_eq(record->scope, call->scope) && str_eq(record->uri, call->uri) &&
           same_args(record->args, call->args);
}

static void known_found(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    if (status == NOD_OK)
        call_seen_as(call, reply->call);
    if (status == NOD_OK && !same_request(call, reply->call)) {
        call_fail_here(call, NOD_E_INVALID,
                       STR("This id was used for another request; give each request its own"));
        return;
    }
    if (call_decided(call))
        return;
    if (call_is_alone(call))
        call_unload(call);
    else if (status != NOD_OK)
        not_taken(call, status);
    else
        call_lost(call);
}

/* Nobody was told of the asks of this run, and the run does not count. */
void call_known(struct call *call)
{
    call_asks_drop(call);
    journal_finish(&call->journal);
    call_enter(call, LIVE_TAKING);
    op_start_of(call->engine, &call->op, call->principal, call_load_send, known_found);
    call->op.most = INT_MAX;
}
