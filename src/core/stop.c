/*
 * core/stop: a node that stops leaves its calls to the next.
 *
 * Stopping ends nothing that a durable or shared store knows. From engine_stop on no run begins. A
 * call that would run next is given back to the store, runnable, and so is a call that its provider
 * had not begun yet. Another node, or the next start, goes on with it. A run that is under way may
 * still end, and what it did is stored.
 *
 * A call that only this process knows cannot be left to anybody: it is cancelled, and its caller is
 * told.
 */
#include "core/call_inside.h"

static void unload_or_cancel(struct call *call)
{
    if (!call->stored || !engine_survives(call->engine))
        call->cancel_wanted = true;
    if (call->cancel_wanted) {
        struct ending *ending = call_ending(call);
        if (!ending->cancel_why.len)
            ending->cancel_why = arena_str(&ending->arena, STR("the server is shutting down"));
        call_end_cancelled(call);
        return;
    }
    call_give_back(call->engine, id_str(&call->id), call->epoch, call->notices, false);
    call_leave(call);
}

void call_stand_down(struct call *call)
{
    call_enter(call, LIVE_SAVING);
    call_later(call, unload_or_cancel); /* later, because we may be inside its stages */
}

/* A value that its next run needs may take long to come, and no run begins any more. */
void engine_stop(struct engine *engine)
{
    struct call *call;

    engine_leave(engine);
    engine->stopping = true;
    for (struct idmap_walk walk = { 0 }; (call = idmap_next(&engine->calls, &walk));) {
        if (call->state != LIVE_NEEDING)
            continue;
        due_stop(engine, &call->timeout);
        call_need_drop(call);
        call_stand_down(call);
    }
}

void run_unbegun(struct run *run)
{
    struct call *call = run->call;

    if (!call) { /* the call has ended in the meantime */
        run_free(run);
        return;
    }
    call_run_over(call);
    if (run->live)
        live_unbegun(call);
    call_run_free(call);
    call_stand_down(call);
}

bool engine_settled(const struct engine *engine)
{
    struct call *call;

    for (struct idmap_walk walk = { 0 }; (call = idmap_next(&engine->calls, &walk));)
        if (call->state == LIVE_SAVING || call->state == LIVE_FINISHING ||
            call->state == LIVE_CANCELLING)
            return false;
    return list_empty(&engine->works) && list_empty(&engine->claims) && !engine_is_leaving(engine);
}
