/*
 * core/replaced: calls whose target has been replaced go on with what is there now.
 *
 * A target is code, and code that was replaced is to be let go of. A run that is under way ends
 * with the target that it began with. Everything else of a call goes over to the target that has
 * the same name and the same owner by then, which is what a restart would do to the call:
 *
 * - It waits, and the version is the same (version.c): it waits on, with the questions that are
 *   out, and goes on with the new target, from its gate on.
 * - It waits, and the version is another: it ends in TOOL_CHANGED, or is left to a node that has
 *   its version. An answer that comes before that is not taken.
 * - It runs: when the run has asked, or a step of it is stored, the same is decided before the next
 *   run begins. A run that only asks asks nobody any more, if its call is to end.
 * - Nothing has replaced the target: gone.c says what becomes of the call.
 *
 * What waits is looked at once in a turn, however many targets have come and gone in it. Whoever is
 * faster, an answer for example, meets the call as it is: call_is_foreign looks first. The calls of
 * a target that stays keep it, because its provider keeps something for them.
 *
 * Holds always: no run begins with a target that was removed, unless its calls stay. A call that
 * waits, or whose next run waits for a value, holds no target that was replaced once it was looked
 * at.
 */
#include "core/call_inside.h"

#include "base/mem.h"
#include "core/catalog.h"

/* --- what is let go of, when the stack is clear --- */

static void targets_let_go(struct engine *engine)
{
    while (engine->targets_left_count)
        target_release(engine->targets_left[--engine->targets_left_count]);
    mem_free(engine->targets_left);
    engine->targets_left = NULL;
    engine->targets_left_room = 0;
}

static void targets_left_due(struct due *due)
{
    targets_let_go(HEAP_OF(&due->node, struct engine, targets_left_due.node));
}

/* Whoever is on the stack may still look at it. */
static void target_leave(struct engine *engine, struct target *target)
{
    if (engine->targets_left_count == engine->targets_left_room) {
        engine->targets_left_room = engine->targets_left_room ? engine->targets_left_room * 2 : 8;
        engine->targets_left = mem_realloc(engine->targets_left, engine->targets_left_room *
                                                                     sizeof(*engine->targets_left));
    }
    engine->targets_left[engine->targets_left_count++] = target;
    due_set(engine, &engine->targets_left_due, 0, targets_left_due);
}

void targets_left_drop(struct engine *engine)
{
    targets_let_go(engine);
    due_stop(engine, &engine->targets_left_due);
}

/* --- one call --- */

static bool is_at_rest(const struct call *call)
{
    return call->state == LIVE_WAITING || call->state == LIVE_TAKING || call->state == LIVE_NEEDING;
}

/* From its gate on, as after a restart: the hooks that are there now are asked, and those around
 * the stage that it has left are let go of. */
static void to_its_gate(struct call *call)
{
    flow_place(&call->flow, &call_flow, call->engine->hooks, "gate", call);
}

/* Nothing of the call is under way that has the old target in hand. */
static bool may_go_over(const struct call *call)
{
    return !call->live && call->state != LIVE_RUNNING && call->state != LIVE_FINISHING &&
           call->state != LIVE_CANCELLING;
}

bool call_goes_over(struct call *call)
{
    struct engine *engine = call->engine;
    struct target *old = call->target, *now;

    if (!old->removed || target_stays(old) || !engine->catalog || !may_go_over(call) ||
        !(now = catalog_now(engine->catalog, old)))
        return false;
    if (!call->version)
        call->version = target_version(old);
    target_hold(now);
    call->target = now;
    LIST_EACH (at, &call->asks) /* their texts are lent by the target */
        LIST_OF(at, struct ask, link)->record.target = now->name;
    if (call->need)
        call->need->tool = now->name;
    asks_keep_offers(call);
    if (is_at_rest(call))
        to_its_gate(call);
    if (call->caller->ops->goes_over)
        call->caller->ops->goes_over(call->caller, call);
    target_leave(engine, old);
    return true;
}

/* --- before the next run --- */

/* Not if its client holds nothing: then nobody else would hear of its end. */
bool call_may_be_left(const struct call *call)
{
    return call->handed || call->away || call_is_alone(call);
}

/* The stack is clear: the call was about to be run, in an epoch of this node. */
static void before_its_run(struct call *call)
{
    enum version_at version = call_version_at(call);
    bool gone = call_lacks_target(call);
    bool left =
        call_may_be_left(call) && (gone ? call_may_leave_gone(call) : version != VERSION_HERE);

    if (call->cancel_wanted) {
        call_end_cancelled(call);
    } else if (!gone && version == VERSION_HERE) {
        to_its_gate(call);
        flow_again(&call->flow);
    } else if (!call->stored || !left || version == VERSION_NOWHERE) {
        call_end_changed(call, NULL);
    } else {
        call_enter(call, LIVE_SAVING);
        call_enter(call, LIVE_WAITING);
        call_left_to_others(call, gone);
    }
}

bool call_begins_otherwise(struct call *call)
{
    bool other = call_goes_over(call) || call_is_foreign(call);

    if (!other && (target_stays(call->target) || !call_lacks_target(call)))
        return false;
    call_later(call, before_its_run);
    return true;
}

bool call_asks_in_vain(struct call *call)
{
    const struct run *run = call->run;

    if (!run->news.asks || run->step_done || !call->target->removed || target_stays(call->target))
        return false;
    if (call_lacks_target(call) ? call_may_leave_gone(call)
                                : call_version_at(call) != VERSION_NOWHERE)
        return false;
    call_run_free(call);
    call_needs_forget(call);
    call_end_changed(call, NULL);
    return true;
}

/* --- all calls that wait --- */

/* In a turn of its own: the look at the store, which shows what was done so far. */
static void waiting_look(struct call *call)
{
    bool over = call_goes_over(call);

    if (!call_waiting(call) || call->live)
        return;
    if (call_lacks_target(call))
        call_gone_later(call);
    else if (over && call_is_foreign(call))
        call_take_later(call, 0);
}

static void targets_look(struct due *due)
{
    struct engine *engine = HEAP_OF(&due->node, struct engine, targets_changed.node);
    struct call *call;

    node_targets_changed(engine);
    homes_go_over(engine);
    for (struct idmap_walk walk = { 0 };
         engine->targets_went && engine->catalog && (call = idmap_next(&engine->calls, &walk));)
        if (call->target->removed && is_at_rest(call))
            waiting_look(call);
    engine->targets_went = false;
}

void engine_targets_changed(struct engine *engine, bool went)
{
    engine->targets_went |= went;
    due_set(engine, &engine->targets_changed, 0, targets_look);
}
