/*
 * core/warm: a call that was left waiting, kept as it was left.
 *
 * Most clients that are told how to come back do so within seconds, and to the same node. So the
 * last WARM_CALLS_MAX calls that were left are kept here in one piece: whoever comes back need not
 * load the call and its questions from the store, and nothing is made anew. A warm call has its
 * place in the engine's map, and yet is not live: engine_find does not see it, it has no caller, no
 * deadline and no target, and counts for no limit. The store has all of it.
 *
 * Holds always: a warm call is what the store would give, so it is dropped as soon as an answer, a
 * cancel or a hint says that it has moved on. Should one be old all the same, nothing is lost:
 * every transition is the store's to grant, as it is when a call moves on between its loading and
 * its adoption. Where others share the store nothing is kept: they could move a call without a
 * word.
 */
#include "core/inside.h"

#include "base/mem.h"
#include "core/catalog.h"

void warm_init(struct engine *engine)
{
    list_init(&engine->warm_order);
}

bool call_is_warm(const struct call *call)
{
    return !list_empty(&call->warm);
}

static void warm_take(struct call *call)
{
    list_remove(&call->warm);
    call->engine->warm_count--;
}

static void warm_free(struct call *call)
{
    warm_take(call);
    call_free(call);
}

void warm_drop(struct engine *engine, struct str call_id)
{
    struct call *call = idmap_get(&engine->calls, call_id);

    if (call && call_is_warm(call))
        warm_free(call);
}

void warm_drop_all(struct engine *engine)
{
    LIST_EACH (at, &engine->warm_order)
        warm_free(LIST_OF(at, struct call, warm));
}

/* Small, at rest, and as the store has it: an ask that was put again is known there as it was put
 * first. */
static bool worth_keeping(const struct call *call)
{
    size_t bytes = call->args.len + call->uri.len + call->caller_record.len + call->journal.bytes;

    if (call->engine->store->ops->shared || !call->stored || call->run || call->later ||
        call->op.busy || call->ending || call->woken || call->taken_early)
        return false;
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask)) {
        const struct ask_record *record = &ask->record;
        bytes += sizeof(*ask) + record->message.len + record->detail.len + record->url.len;
        if (record->attempt != 1 || ask->claiming || ask->surface)
            return false;
    }
    return bytes <= WARM_BYTES_MAX && !list_empty(&call->asks);
}

void call_leave_warm(struct call *call)
{
    struct engine *engine = call->engine;

    if (!call->caller->ops->carries || !worth_keeping(call)) {
        call_leave(call);
        return;
    }
    int64_t now = engine_now(engine);
    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        ask_rest(ask);
        if (!ask->record.asked_ms)
            ask->record.asked_ms = now;
        if (!ask->record.expires_ms)
            ask->record.expires_ms = now + ask->record.ttl_ms;
        ask->record.target = STR_NONE;
    }
    if (call->caller->call == call)
        call->caller->call = NULL;
    call->caller = &engine->nobody;
    target_release(call->target); /* it may go while nobody calls it */
    call->target = NULL;
    list_append(&engine->warm_order, &call->warm);
    if (++engine->warm_count > WARM_CALLS_MAX)
        warm_free(LIST_OF(list_first(&engine->warm_order), struct call, warm));
}

struct call *engine_warm(struct engine *engine, struct str call_id)
{
    struct call *call = idmap_get(&engine->calls, call_id);

    if (!call || !call_is_warm(call))
        return NULL;
    int64_t now = engine_now(engine);
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask))
        if (ask->record.expires_ms <= now) { /* the store knows what became of it */
            warm_free(call);
            return NULL;
        }
    return call;
}

struct call_record call_warm_record(const struct call *call, const struct target *target)
{
    return (struct call_record){ .id = id_str(&call->id),
                                 .principal = call->principal,
                                 .scope = call->scope,
                                 .kind = target->kind,
                                 .target = target->name,
                                 .args = call->args,
                                 .uri = call->uri,
                                 .caller = call->caller_record,
                                 .handed = call->handed,
                                 .state = CALL_STORED_WAITING,
                                 .epoch = call->epoch,
                                 .notices = call->notices,
                                 .entries = call->journal.entries,
                                 .entry_count = call->journal.count };
}

bool call_list(struct call *call)
{
    struct engine *engine = call->engine;
    bool room = engine_calls(engine) < engine->opts.limits.calls;

    if (call_is_warm(call)) /* it has its place already */
        warm_take(call);
    else
        call->listed = room && idmap_set(&engine->calls, call);
    return room && call->listed;
}

void ask_put_again(struct ask *ask, int attempt)
{
    if (attempt <= ask->record.attempt)
        return;
    ask->ahead = attempt - ask->record.attempt;
    ask->record.attempt = attempt;
}

void engine_adopt_warm(struct engine *engine, struct call *call, const struct adopt_spec *spec)
{
    call->target = spec->target;
    target_hold(call->target);
    call->caller = spec->caller;
    call->portable = spec->portable;
    call->hold_steps = spec->hold_steps;
    call->keep_ms = spec->keep_ms;
    call->keep_asked_ms = spec->keep_asked_ms;
    call->handed |= spec->handed;
    call->held = call->carried = call->told_waiting = call->fresh_intent = false;
    call->worked_ms = 0;
    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        ask->record.target = call->target->name;
        ask->tally = tally_add(engine, call->principal);
        memset(&ask->flow, 0, sizeof(ask->flow)); /* its request stages are long done */
    }
    call_adopted(call);
}
