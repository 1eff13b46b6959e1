/*
 * core/resting: a call that waits without its client, because it can be answered elsewhere.
 *
 * A client that carries its questions away, or whose connection broke, has left its call. The store
 * has the call, and nothing of it needs to be live. But if a question is up on a surface other than
 * the client, or will be (plan.h), the call rests: it stays here, and its questions are up there.
 * When the last of them is answered, the call is run on at once, without a caller. Its result is
 * stored, and its next questions are up elsewhere again. A client that comes back takes the resting
 * call over (engine_adopt), with its questions as they are up.
 *
 * Holds always: a call rests only while it waits or is being taken, the store knows it, and its
 * client holds something to come back with. Only the core finds it (engine_call_at); for everybody
 * else it is not live. Nothing is lost when a call stops resting: its offers are taken down, and
 * the store has the rest.
 */
#include "core/call_inside.h"

enum { REST_PART = 2 }; /* one in so many of the calls that may be live on a node may rest */

static const struct winner not_known = { .state = ASK_PENDING };

bool call_is_resting(const struct call *call)
{
    return call->rests == RESTS_HERE;
}

void call_awake(struct call *call)
{
    if (!call_is_resting(call))
        return;
    call->engine->resting--;
    call->rests = RESTS_NOT;
}

/* The client is gone, so the ask is no longer up there. It may be offered there again. */
static void forget_client(struct ask *ask)
{
    ask->opened = ask->brought = false;
    ask->up &= ~(unsigned)ask->call->engine->held_bits;
    ask->tried &= ~(unsigned)ask->call->engine->held_bits;
}

static bool may_rest(struct call *call)
{
    const struct engine *engine = call->engine;

    if (call->live) /* its run is here, and nowhere else */
        return call->stored;
    return call_waits_elsewhere(call) && !call_is_foreign(call) && !call_lacks_target(call) &&
           !engine->stopping && call->stored && call->handed &&
           engine->resting < engine->opts.limits.calls / REST_PART;
}

void call_rest(struct call *call)
{
    struct engine *engine = call->engine;
    bool up = false;

    call->roles = call_roles(call);
    inner_leave(call);
    inner_offer_alone(call);
    if (call->caller->call == call)
        call->caller->call = NULL;
    call->caller = &engine->nobody;
    call->told_waiting = false;
    LIST_EACH (at, &call->asks)
        forget_client(LIST_OF(at, struct ask, link));
    if (!may_rest(call)) {
        call_unload(call);
        return;
    }
    call_enter(call, LIVE_WAITING);
    call->carried = true; /* the client has the questions, even if they are up elsewhere too */
    if (call->journal.bytes)
        call->learned = call->journal.bytes;
    if (!call->live)
        journal_finish(&call->journal);
    if (!call_is_resting(call))
        engine->resting++;
    call->rests = RESTS_HERE;
    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        ask_stored(ask);
        up |= ask_waits(ask);
    }
    if (!up && !call->live)
        call_unload(call); /* they are up nowhere, and will not be */
    else if (call->came)
        call_take(call);
    else if (call->unsure)
        call_make_sure(call);
}

void call_offers_end(struct call *call)
{
    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        forget_client(ask); /* the client knows that it has left */
        ask_withdraw(ask, NULL, &not_known, STR("The call goes on elsewhere"));
    }
}

bool call_take_over(struct call *call, const struct adopt_spec *spec)
{
    if (!call_is_resting(call))
        return false;
    call_awake(call);
    call->caller = spec->caller;
    call->caller->call = call;
    call->carries = spec->caller->ops->carries;
    call->steps = spec->hold_steps ? STEPS_STOP : STEPS_FREE;
    call->keep_ms = spec->keep_ms;
    call->keep_asked_ms = spec->keep_asked_ms;
    call->portable = spec->portable;
    call->handed |= spec->handed;
    due_stop(call->engine, &call->timeout);
    if (call->state == LIVE_WAITING) {
        call_enter(call, LIVE_NEW);
        call_later(call, call_go_on);
    } else {
        call->rests = RESTS_FOUND; /* after the store operation that is under way */
    }
    return true;
}
