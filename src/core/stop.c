/*
 * core/stop: a node that goes leaves its calls to the next.
 *
 * Stopping ends nothing that the store keeps. From engine_stop on no run begins: a call that would
 * run next is given back to the store, runnable, as is one whose provider had not begun it yet. The
 * next start, or another node, goes on with it. A run that is under way may still come to its end,
 * and what it did is stored.
 *
 * What lives in the memory of this process alone cannot be left to anybody: it is cancelled, and
 * whoever waits for it is told.
 */
#include "core/inside.h"

void engine_stop(struct engine *engine)
{
    engine->stopping = true;
}

static void unload_or_cancel(struct call *call)
{
    struct caller *caller = call->caller;

    if (!call->stored || !engine_survives(call->engine))
        call->cancel_wanted = true;
    if (call->cancel_wanted) {
        struct ending *ending = call_ending(call);
        if (!ending->cancel_why.len)
            ending->cancel_why = arena_str(&ending->arena, STR("the server is shutting down"));
        call_end_cancelled(call);
        return;
    }
    struct call_record record = call_record_of(call);
    record.notices = call->notices;
    call_give_back(call->engine, &record, call->epoch);
    call_unload(call);
    if (caller->ops->unloaded)
        caller->ops->unloaded(caller);
}

void call_stand_down(struct call *call)
{
    call->state = LIVE_SAVING;
    call_later(call, unload_or_cancel); /* we may be inside of its stages */
}

void run_unbegun(struct run *run)
{
    struct call *call = run->call;

    if (!call) { /* the call has ended without us */
        run_free(run);
        return;
    }
    call_run_over(call);
    call->run = NULL;
    run_free(run);
    call_stand_down(call);
}

static bool storing(const struct call *call)
{
    return call->state == LIVE_SAVING || call->state == LIVE_FINISHING ||
           call->state == LIVE_CANCELLING;
}

bool engine_settled(const struct engine *engine)
{
    struct call *call;

    for (struct idmap_walk walk = { 0 }; (call = idmap_next(&engine->calls, &walk));)
        if (storing(call))
            return false;
    return list_empty(&engine->returns) && list_empty(&engine->cancels) &&
           list_empty(&engine->claims) && list_empty(&engine->openings);
}
