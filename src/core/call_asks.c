/*
 * core/call_asks: the questions of one round of a call.
 *
 * Each ask goes through its stages (ask.c). When all of them are ready to be stored, they are
 * parked in one transition (call_save.c). Then the caller is told, then the surfaces, and the call
 * waits. When the last pending ask has ended, its claim takes the call (take.c), which is run
 * again.
 *
 * Holds always: nobody is told of a question that is not stored. A round is asked whole or not at
 * all. The ids of a round are in the order in which its questions were asked: a store lists
 * questions of the same millisecond by their ids.
 */
#include "core/hook_inside.h"

#include "base/crash.h"

void call_asks_drop(struct call *call)
{
    LIST_EACH (at, &call->asks)
        ask_free(LIST_OF(at, struct ask, link));
}

void call_asks_drop_fresh(struct call *call)
{
    LIST_EACH (at, &call->asks)
        if (!LIST_OF(at, struct ask, link)->listed)
            ask_free(LIST_OF(at, struct ask, link));
}

void call_tell_waiting(struct call *call, bool waiting)
{
    if (call->told_waiting == waiting)
        return;
    call->told_waiting = waiting;
    if (call->caller->ops->waiting)
        call->caller->ops->waiting(call->caller, call, waiting);
}

static void call_told(struct call *call, enum caller_way way)
{
    CRASH_POINT(told_after);
    call_enter(call, LIVE_WAITING);
    call_lets_hooks_go(call);
    if (call->cancel_wanted)
        call_end_cancelled(call);
    else if (way == CALLER_LEAVES || call_is_alone(call))
        call_rest(call);
    else if (call->came)
        call_take(call);
    else if (call_lacks_target(call))
        call_gone_later(call);
    else if (call->unsure || call_is_foreign(call)) /* no hint comes of a call that was not tried */
        call_make_sure(call);
}

/* Its questions can be found, and are up where they are to be. */
void call_put_up(struct call *call, bool carried)
{
    if (call->journal.bytes) /* a call that has rested has given up its journal already */
        call->learned = call->journal.bytes;
    if (!call->live)
        journal_finish(
            &call->journal); /* the store has it, and a waiting call should cost little */
    call->carried = carried;
    call_tell_waiting(call, true);
    LIST_EACH (at, &call->asks) /* frees no ask */
        ask_stored(LIST_OF(at, struct ask, link));
}

/* Its caller responds once, with all questions: those of its inner calls are waited for. */
static bool tells_later(struct call *call)
{
    call->round_due = call->caller->ops->brings && call_has_inner(call);
    if (!call->round_due)
        return false;
    call_enter(call, LIVE_TELLING);
    call_put_up(call, true);
    call_told(call, CALLER_CARRIES); /* and the round is looked at */
    return true;
}

void call_round(struct call *call)
{
    struct caller *caller = call->caller;

    call_enter(call, LIVE_TELLING);
    if (!caller->ops->brings(caller, call)) {
        call_told(call, CALLER_LEAVES);
    } else if (inner_round_brought(call)) {
        if (call->state == LIVE_TELLING)
            call_enter(call, LIVE_WAITING);
    } else {
        enum caller_way way = caller->ops->asked(caller, call);
        if (way != CALLER_LEAVES && !call_is_alone(call) && !call->cancel_wanted) {
            inner_put_up(call, way == CALLER_CARRIES);
            call_put_up(call, way == CALLER_CARRIES);
        }
        call_told(call, way);
    }
}

void call_tell(struct call *call)
{
    enum caller_way way = CALLER_HOLDS;

    if (tells_later(call))
        return;

    /* the caller may cancel the call or leave it: that is checked below */
    call_enter(call, LIVE_TELLING);
    if (call->caller->ops->asked)
        way = call->caller->ops->asked(call->caller, call);
    if (way == CALLER_LEAVES || call_is_alone(call) || call->cancel_wanted) {
        call_told(call, way);
        return;
    }
    call_put_up(call, way == CALLER_CARRIES);
    call_told(call, way);
}

void call_asked(struct call *call)
{
    struct caller *caller = call->caller;

    if (call->rests == RESTS_FOUND)
        call->rests = RESTS_NOT;
    call_enter(call, LIVE_TELLING);
    call->client_kinds = call_find_askable(call);
    scope_asked(call);
    if (tells_later(call))
        return;
    if (!call->cancel_wanted && caller->ops->brings && !caller->ops->brings(caller, call))
        call_told(call, CALLER_LEAVES);
    else if (call->brought)
        call_brought_all(call);
    else
        call_tell(call);
}

/* The questions of this round are not asked. */
static void round_dropped(struct call *call)
{
    nod_status status = call->asks_failed;

    call_asks_drop_fresh(call);
    if (call->cancel_wanted) {
        call_end_cancelled(call);
        return;
    }
    call_run_free(call);
    if (call->asks_quota)
        call_fail(call, status, NULL,
                  call_quota_message(call, call->asks_quota, call->asks_quota_most));
    else
        flow_jump(&call->flow, "finish"); /* with the outcome that the hook's error has set */
}

void call_asks_settled(struct call *call)
{
    if (++call->asks_settled < call->asks_expected)
        return;
    if (call->cancel_wanted || call->asks_failed != NOD_OK) {
        if (call->cancel_wanted)
            call_enter(call, LIVE_CANCELLING);
        call_later(call, round_dropped); /* later, because the last of its asks is inside a stage */
        return;
    }
    if (!call->live || call->came == CAME_EPOCH) /* a hint of other questions that wait stays */
        call->came = CAME_NOTHING;
    call_save(call);
}

static void ids_in_order(struct list *asks)
{
    LIST_EACH (at, asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        if (ask->listed) /* of a round before, and waits */
            continue;
        id_random(&ask->id);
        for (struct list *before = at->prev; before != asks; before = before->prev) {
            struct ask *other = LIST_OF(before, struct ask, link),
                       *next = LIST_OF(before->next, struct ask, link);
            struct id id = other->id;
            if (other->listed)
                break;
            if (memcmp(id.text, next->id.text, ID_LEN) < 0)
                break;
            other->id = next->id;
            next->id = id;
        }
    }
}

void call_asks_begin(struct call *call)
{
    call_enter(call, LIVE_ASKING);
    call->asks_settled = 0;
    call->asks_failed = NOD_OK;
    call->asks_quota = STORE_QUOTA_NONE;
    call->asks_expected =
        call->run->news.asks +
        1; /* One more for this function, so that the round is not settled before the loop ends. */
    for (const struct run_item *item = call->run->news.first; item; item = item->next)
        if (item->is_ask)
            list_append(&call->asks, &ask_create(call, item)->link);
    ids_in_order(&call->asks);
    LIST_EACH (at, &call->asks)
        if (!LIST_OF(at, struct ask, link)->listed)
            ask_begin(LIST_OF(at, struct ask, link));
    call_asks_settled(call);
}
