/*
 * core/take: a call becomes ours to run again.
 *
 * Usually the claim that ends a call's last ask also takes the call, in the same transition. If the
 * ask was ended elsewhere (on another node, or while the call was not live), the store hints, or
 * our own claim comes too late. Then the call is taken by an operation of its own. If that is
 * refused, the call runs elsewhere, waits again or has ended: this node looks at it until it is
 * ours or its result is known.
 *
 * Holds always: a call runs only in an epoch that the store gave to this node. An epoch that this
 * node cannot use is given back. Every waiting call has a pending ask, a take or a look that will
 * move it.
 */
#include "core/inside.h"

#include <limits.h>

#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"

enum { TAKE_AGAIN_MS = 1000 };

/* --- calls that this node cannot run --- */

struct giving_back {
    struct list link; /* in engine->returns */
    struct op op;
    struct id call;
    uint64_t epoch;
    uint32_t notices;
};

static void giving_free(struct giving_back *giving)
{
    op_abandon(&giving->op);
    list_remove(&giving->link);
    mem_free(giving);
}

/* A park without asks makes it runnable. */
static void give_send(struct op *op)
{
    struct giving_back *giving = OP_OF(op, struct giving_back, op);
    struct store *store = op->engine->store;

    store->ops->park(store,
                     &(struct park_spec){ .token = id_str(&op->token),
                                          .node = op->engine->node,
                                          .call_id = id_str(&giving->call),
                                          .epoch = giving->epoch,
                                          .notices = giving->notices },
                     op_completed, op);
}

static void give_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    (void)status; /* if it was refused, the call has gone on elsewhere */
    (void)reply;
    giving_free(OP_OF(op, struct giving_back, op));
}

void call_give_back(struct engine *engine, const struct call_record *record, uint64_t epoch)
{
    struct giving_back *giving = MEM_NEW(struct giving_back);

    memcpy(giving->call.text, record->id.at, record->id.len < ID_LEN ? record->id.len : ID_LEN);
    giving->epoch = epoch;
    giving->notices = record->notices;
    list_init(&giving->link);
    list_append(&engine->returns, &giving->link);
    op_start(engine, &giving->op, give_send, give_done);
    giving->op.most = INT_MAX; /* until then nobody can run the call */
}

void returns_drop(struct engine *engine)
{
    LIST_EACH (at, &engine->returns)
        giving_free(LIST_OF(at, struct giving_back, link));
}

/* --- going on --- */

static void asks_end(struct call *call)
{
    LIST_EACH (at, &call->asks)
        ask_ended_elsewhere(LIST_OF(at, struct ask, link));
}

/* The call is ours, in call->epoch. */
static void resume(struct call *call)
{
    call->state = LIVE_TELLING;
    call->taken_early = call->woken = false;
    asks_end(call); /* there are none left, unless what we knew was old */
    call->untold = false;
    if (call_is_alone(call) && !call_is_resting(call) && !call->cancel_wanted) {
        struct call_record record = call_record_of(call);
        record.notices = call->notices;
        call_give_back(call->engine, &record, call->epoch);
        call_unload(call);
        return;
    }
    call_awake(call);
    call_tell_waiting(call, false);
    CRASH_POINT(rerun_before);
    flow_again(&call->flow); /* the stage checks whether the call was cancelled */
}

bool call_taken(struct call *call, const struct store_reply *reply)
{
    if (call->state == LIVE_CANCELLING || call->cancel_wanted)
        return true; /* it ends in any case */
    if (call->state != LIVE_WAITING && call->state != LIVE_TAKING && call->state != LIVE_NEW)
        return false;
    if (reply->epoch <= call->epoch || reply->call->epoch != reply->epoch)
        return false; /* it was taken, but again since then */
    call->epoch = reply->epoch;
    journal_finish(&call->journal);
    journal_make(&call->journal, reply->call->entries, reply->call->entry_count, NULL, 0);
    call->fresh_intent = false;
    if (call->state == LIVE_WAITING)
        resume(call);
    else
        /* the operation under way comes back first, and then the call resumes */
        call->taken_early = true;
    return true;
}

bool call_decided(struct call *call)
{
    call->state = LIVE_WAITING;
    if (call->cancel_wanted)
        call_end_cancelled(call);
    else if (call->taken_early)
        resume(call);
    else
        return false;
    return true;
}

void call_go_on(struct call *call)
{
    if (call_decided(call))
        return;
    if (call_is_alone(call))
        call_rest(call);
    else if (list_empty(&call->asks))
        call_take(call);
    else
        call_asked(call);
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
    journal_finish(&call->journal); /* for whoever is told: what it had learned by then */
    journal_make(&call->journal, record->entries, record->entry_count, NULL, 0);
    ending->outcome.elsewhere =
        record->state == CALL_STORED_CANCELLED && ending->outcome.status == NOD_E_CANCELLED;
    if (status == NOD_OK)
        call_deliver(call);
    else
        call_fail_here(call, status, STR("The stored result of this call cannot be read"));
}

static void look_later(struct call *call)
{
    if (call->woken)
        call_take(call);
    else
        call_take_later(call, TAKE_AGAIN_MS);
}

static void ask_found(void *data, const struct store_row *row)
{
    struct call *call = OP_OF(data, struct call, op);

    if (row->ask->state == ASK_PENDING)
        ask_adopt(call, row->ask);
}

static void asks_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct store *store = call->engine->store;

    LIST_EACH (at, &call->asks) /* a scan may have failed half-way */
        ask_free(LIST_OF(at, struct ask, link));
    store->ops->scan(store,
                     &(struct store_scan){ .index = STORE_ASKS_OF_CALL,
                                           .key = id_str(&call->id),
                                           .limit = RUN_ROUND_MAX },
                     ask_found, op_completed, op);
}

static void asks_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    (void)reply;
    if (call_decided(call))
        return;
    if (call_is_alone(call))
        call_unload(call);
    else if (status == NOD_OK && !list_empty(&call->asks))
        call_asked(call);
    else if (status == NOD_E_REFUSED || status == NOD_E_PARSE) /* nor can it be read later */
        call_fail_here(call, status, STR("The stored record of this call cannot be read"));
    else
        look_later(call);
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

/* The call asked again while our caller was on the way: these are its questions now. */
static void waits_again(struct call *call, const struct call_record *record)
{
    asks_end(call);
    journal_finish(&call->journal);
    journal_make(&call->journal, record->entries, record->entry_count, NULL, 0);
    call->epoch = record->epoch;
    call->notices = record->notices;
    call->unsure = call->engine->store->ops->shared;
    call->state = LIVE_TAKING;
    op_start(call->engine, &call->op, asks_send, asks_done);
}

/*
 * The call waits as we know it. One of its questions may still have been answered elsewhere, while
 * another is open.
 */
static void ask_seen(void *data, const struct store_row *row)
{
    struct call *call = OP_OF(data, struct call, op);
    struct ask *ask = engine_ask(call->engine, row->ask->id);

    if (!ask || ask->call != call)
        return;
    if (row->ask->state != ASK_PENDING) {
        ask_seen_ended(ask, row->ask);
        return;
    }
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

static void seen_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    (void)reply;
    if (call_decided(call))
        return;
    if (call_is_alone(call) && !call_is_resting(call)) {
        call_rest(call);
        return;
    }
    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        if (status == NOD_OK && !ask->still)
            ask_ended_elsewhere(ask);
        else if (status == NOD_OK)
            ask_offered_anew(ask, ask->seen + ask->ahead, STR_NONE);
    }
    if (call->woken || list_empty(&call->asks))
        look_later(call);
    else if (call->untold)
        call_asked(call);
}

static void look_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct store *store = call->engine->store;

    store->ops->load_call(store, id_str(&call->id), op_completed, op);
}

static void not_taken(struct call *call, nod_status status)
{
    call_fail_here(call, status,
                   status == NOD_E_NOT_FOUND
                       ? STR("The store no longer knows this call")
                       : arena_fmt(&call_ending(call)->arena,
                                   "The %s store could not load this call; try again later",
                                   call->engine->store->ops->name));
}

static void waits(struct call *call, const struct call_record *record)
{
    if (list_empty(&call->asks) || record->epoch != call->epoch) {
        waits_again(call, record);
        return;
    }
    call->state = LIVE_TAKING;
    op_start(call->engine, &call->op, seen_send, seen_done);
    call->op.most = INT_MAX;
}

/* What we knew of the call's questions is old. */
static void runs_elsewhere(struct call *call)
{
    asks_end(call);
    look_later(call);
}

/* A resting call: its questions are up here only while it waits for them. */
static void rests_elsewhere(struct call *call, const struct call_record *record)
{
    if (record->state == CALL_STORED_WAITING && record->epoch == call->epoch) {
        waits(call, record);
        return;
    }
    journal_finish(&call->journal);
    journal_make(&call->journal, record->entries, record->entry_count, NULL, 0);
    asks_end(call); /* the journal says who won */
    call_unload(call);
}

static void look_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    if (call_decided(call))
        return;
    if (call_is_resting(call) && status == NOD_OK)
        rests_elsewhere(call, reply->call);
    else if (call_is_alone(call))
        call_unload(call);
    else if (status != NOD_OK)
        not_taken(call, status);
    else if (reply->call->state == CALL_STORED_FINISHED ||
             reply->call->state == CALL_STORED_CANCELLED)
        deliver_stored(call, reply->call);
    else if (reply->call->state == CALL_STORED_WAITING)
        waits(call, reply->call);
    else
        runs_elsewhere(call);
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
    op_start(call->engine, &call->op, look_send, ended_found);
    if (engine_survives(call->engine))
        call->op.most = INT_MAX; /* it has ended, and the store will say how */
}

/* --- taking --- */

static void take_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;

    CRASH_POINT(take_before);
    engine->store->ops->take(engine->store, id_str(&op->token), id_str(&call->id), engine->node,
                             op_completed, op);
}

static void take_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    CRASH_POINT(take_after);
    if (status == NOD_OK && call->taken_early)
        call_taken(call, reply); /* a claim took it too; the newer epoch counts */
    if (call_decided(call))
        return;
    if (status == NOD_OK && call_taken(call, reply))
        return;
    if (status == NOD_OK)
        status = NOD_E_STALE; /* an old reply: look at the call as it is now */
    if (call_is_alone(call) && !call_is_resting(call)) {
        call_unload(call);
    } else if (status == NOD_E_STALE) {
        call->state = LIVE_TAKING;
        op_start(call->engine, &call->op, look_send, look_done);
        call->op.most = INT_MAX;
    } else {
        not_taken(call, status);
    }
}

void call_take(struct call *call)
{
    if (call->state != LIVE_WAITING) {
        call->woken = true;
        return;
    }
    if (call->engine->stopping) /* other nodes will take it */
        return;
    due_stop(call->engine, &call->timeout);
    call->woken = false;
    call->state = LIVE_TAKING;
    op_start(call->engine, &call->op, take_send, take_done);
    call->op.most = INT_MAX; /* only the reply tells the epoch that it may have given us */
}

void call_wake(struct call *call)
{
    call_take(call);
}

/* Nobody was told of the asks of this run, and neither the run nor its outcome counts. */
void call_lost(struct call *call)
{
    LOG_INFO("a call has been taken over by another node", LOG_STR("call", id_str(&call->id)));
    call_outcome_forget(call);
    LIST_EACH (at, &call->asks)
        ask_free(LIST_OF(at, struct ask, link));
    journal_finish(&call->journal);
    flow_place(&call->flow, &call_flow, &call->engine->hooks, "gate", call, call_flow_done);
    call->state = LIVE_WAITING;
    if (call_is_alone(call))
        call_unload(call);
    else
        call_take(call);
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

/* Of a forgotten call only the end is left: nothing shows that it was another request. */
static bool same_request(const struct call *call, const struct call_record *record)
{
    if (record->forgotten)
        return true;
    return record->kind == call->target->kind && str_eq(record->target, call->target->name) &&
           str_eq(record->scope, call->scope) && str_eq(record->uri, call->uri) &&
           same_args(record->args, call->args);
}

static void known_found(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

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
    LIST_EACH (at, &call->asks)
        ask_free(LIST_OF(at, struct ask, link));
    journal_finish(&call->journal);
    call->state = LIVE_TAKING;
    op_start(call->engine, &call->op, look_send, known_found);
    call->op.most = INT_MAX;
}
