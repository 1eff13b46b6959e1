/*
 * core/version: a call goes on only with the version of its target that it began with.
 *
 * The record of a call says which version of the target it began with: the author's word and the
 * input schema (target_version). A call that waits here goes over to what replaces its target
 * (replaced.c). A call that comes back, from the store or with its client, is given the target that
 * this node has now. If that is another version, nothing of the call runs here, whether its
 * questions wait or were answered, and however it came (a look for orphans, a client, a task, a
 * retry that brings the answers):
 *
 * - While a node lives that has the version of the call, the call is left to that node. Whoever
 *   came for the call waits with it here, as for a call that runs elsewhere. What people answer
 *   here is stored, and takes nothing. If that node may not run the call on by itself
 *   (call_record.handed), the client is sent away to come to that node.
 * - If no node has that version, the call ends: TOOL_CHANGED, with the steps that were done.
 *
 * A call that stays, and was begun elsewhere, is left to its home in the same way, whatever this
 * node has; what becomes of it when its home is gone is decided elsewhere (home_node.c).
 *
 * Holds always: a run begins only if call_is_foreign has said no, in the epoch of the run.
 */
#include "core/call_inside.h"

#include "core/catalog.h"

enum {
    CHANGED_ARENA_MAX = 64 << 10, /* memory of the message that a target has changed */
    NODES_FRESH_MS = 2000,        /* so old may be what is known of other nodes */
};

static enum version_at at_others(struct engine *engine, const struct call_record *record,
                                 int64_t since)
{
    int64_t least = clock_mono(engine->clock) - NODES_FRESH_MS;

    if (!engine->store->ops->shared)
        return VERSION_NOWHERE;
    if (!nodes_known(engine, since > least ? since : least))
        return VERSION_UNSURE;
    return nodes_have_target(engine, record) ? VERSION_THERE : VERSION_NOWHERE;
}

enum version_at engine_version_elsewhere(struct engine *engine, const struct call_record *record)
{
    return at_others(engine, record, 0);
}

enum version_at version_at(struct engine *engine, const struct target *target,
                           const struct call_record *record, int64_t since)
{
    if (home_at(engine, record) == HOME_ELSEWHERE)
        return VERSION_THERE;
    return target_has_changed(target, record->version) ? at_others(engine, record, since)
                                                       : VERSION_HERE;
}

enum version_at call_version_at(struct call *call)
{
    if (!call_is_foreign(call))
        return VERSION_HERE;
    if (call->away)
        return VERSION_THERE;
    struct call_record record = call_record_of(call);
    return at_others(call->engine, &record, call->back_at);
}

/* Without a version of its own, the call has that of its target. */
bool call_is_foreign(struct call *call)
{
    call_goes_over(call);
    return call->away || target_has_changed(call->target, call->version);
}

void call_end_changed(struct call *call, const struct call_record *waits)
{
    const struct so_far so_far = {
        .entries = waits ? waits->entries : call->journal.entries,
        .count = waits ? waits->entry_count : call->journal.count,
        .answered = !waits,
        .interrupted = !waits && call->interrupted,
    };
    struct arena arena;

    arena_init(&arena, CHANGED_ARENA_MAX);
    struct outcome outcome = call_lacks_target(call)
                                 ? outcome_gone(&arena, call->target->name, &so_far)
                                 : outcome_changed(&arena, call->target->name, &so_far);
    if (waits) {
        call_end_as(call, &outcome);
    } else {
        call_outcome_fail(call, &(struct fault){ .status = outcome.status,
                                                 .code = outcome.code,
                                                 .message = outcome.message,
                                                 .meta = outcome.meta });
        flow_jump(&call->flow, "finish");
    }
    arena_finish(&arena);
}
