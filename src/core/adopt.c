/*
 * core/adopt: a call that comes back, and a call whose caller leaves it.
 *
 * Between two runs a call needs no memory on any node: the store has it or, if the nodes share no
 * store, the client carries it. When it comes back it is adopted: a live call is made from the
 * record and its pending asks, and goes on where it waited. Importing is the same for a call that
 * our store does not know: it is stored first, in one transition.
 *
 * Whoever comes back may bring answers: they go in by the same door (brought.c), before anything
 * runs and before anybody is asked.
 *
 * A call goes on only with the version of its target that it began with: see version.c.
 *
 * Holds always: a call is live at most once on a node. Unloading never loses what the store knows.
 */
#include "core/call_inside.h"

#include "base/mem.h"

/* --- leaving and unloading: docs/inside/core.md explains the words --- */

void call_unload(struct call *call)
{
    inner_leave(call);
    call_offers_end(call);
    if (call->caller->call == call)
        call->caller->call = NULL;
    call_free(call);
}

void call_leave(struct call *call)
{
    struct caller *caller = call->caller;

    call_unload(call);
    if (caller->ops->unloaded)
        caller->ops->unloaded(caller);
}

/* It was about to do its first step, and its client can come back only by sending the request
 * again. */
static void call_unload_held(struct call *call)
{
    if (call->steps != STEPS_HELD || call->cancel_wanted)
        return; /* it is already decided otherwise */
    call_give_back(call->engine, id_str(&call->id), call->epoch, call->notices, false);
    call_unload(call);
}

void call_caller_left(struct call *call)
{
    call->roles = call_roles(call);
    call->caller->call = NULL;
    call->caller = &call->engine->nobody;
    call_brought_unheard(call);
    call->told_waiting = false;
    if (!call->stored && call->named && call_is_opening(call) && node_is_told_to_stop(call->engine))
        ; /* the same request finds the call at another node, if the store takes it: save_left */
    else if (!call->stored)
        call_cancel(call, STR("The caller is gone"));
    else if (call->state == LIVE_WAITING)
        call_rest(call);
    else if (call->steps == STEPS_HELD && !call->handed && !call->cancel_wanted)
        call_later(call, call_unload_held);
    else
        call_step_on(call);
}

void call_change_caller(struct call *call, struct caller *to)
{
    if (call_is_alone(call) && call->state == LIVE_TAKING && !call->brought)
        call->rests = RESTS_FOUND; /* nobody was there to be told of the asks */
    call->caller->call = NULL;
    call->caller = to;
    call_brought_unheard(call);
    call->carries = to->ops->carries;
    to->call = call;
}

/* --- coming back --- */

static void imported(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    (void)reply;
    call_saving_free(call);
    call->stored = status == NOD_OK || status == NOD_E_STORE; /* it may be stored then */
    if (status == NOD_OK || call->cancel_wanted)
        call_go_on(call);
    else
        call_fail_here(
            call, status,
            STR("The call could not be stored, and nothing more of it was done; send the "
                "request again later"));
}

static void import_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;
    struct call_record open = call_record_of(call);

    engine->store->ops->park(engine->store,
                             &(struct park_spec){ .token = id_str(&op->token),
                                                  .open = &open,
                                                  .node = engine->node,
                                                  .call_id = id_str(&call->id),
                                                  .epoch = 1,
                                                  .notices = call->notices,
                                                  .entries = call->journal.entries,
                                                  .entry_count = call->journal.count,
                                                  .asks = call->saving,
                                                  .ask_count = call->saving_asks,
                                                  .keep_for_ms = call_keep_for(call),
                                                  .handed = call->handed },
                             op_completed, op);
}

static struct call *call_of_record(struct engine *engine, const struct adopt_spec *spec)
{
    const struct call_record *record = spec->record;
    struct target *begun_with = home_target(engine, record->id);
    struct call *call =
        call_create(engine,
                    &(struct call_spec){ .target = begun_with ? begun_with : spec->target,
                                         .uri = record->uri,
                                         .principal = record->principal,
                                         .scope = record->scope,
                                         .caller_record = record->caller,
                                         .client = record->client,
                                         .meta = record->meta,
                                         .keep_ms = spec->keep_ms,
                                         .keep_asked_ms = spec->keep_asked_ms,
                                         .handed = spec->handed || record->handed,
                                         .portable = spec->portable,
                                         .hold_steps = spec->hold_steps,
                                         .caller = spec->caller },
                    record->args);

    memset(&call->id, 0, sizeof(call->id));
    call->id = id_of(record->id);
    if (spec->made_by)
        call_made_by(call, spec->made_by);
    call->notices = record->notices;
    call->epoch = record->epoch;
    call->version = record->version;
    call->back_at = clock_mono(engine->clock);
    call->interrupted = record->state == CALL_STORED_RUNNING;
    enum home_at home = spec->import ? HOME_ANYWHERE : home_at(engine, record);
    call->away = home == HOME_ELSEWHERE;
    call->was_here = home == HOME_HERE;
    journal_make(&call->journal, record->entries, record->entry_count, NULL, 0);
    for (size_t i = 0; i < spec->ask_count; i++)
        ask_adopt(call, &spec->asks[i]);
    return call;
}

/* False: it has ended, because as many calls are live here as may be. */
static bool enlist(struct call *call)
{
    struct engine *engine = call->engine;

    call->caller->call = call;
    flow_place(&call->flow, &call_flow, engine->hooks, "gate", call);
    if (!call_list(call)) {
        call_fail_here(call, NOD_E_LIMIT,
                       STR("This server has as many live calls as it may have; try again later"));
        return false;
    }
    call->stored = true; /* or will be: from now on unloading it loses nothing */
    return true;
}

bool engine_adopt(struct engine *engine, const struct adopt_spec *spec)
{
    struct call *here = engine_call_at(engine, spec->record->id);

    if (here)
        return call_take_over(here, spec);
    struct call *call = call_of_record(engine, spec);

    if (!enlist(call))
        return true;
    if (!spec->import) {
        call_later(call, call_go_on);
        return true;
    }
    call->epoch = 1;
    call->saving = mem_zalloc((spec->ask_count + 1) * sizeof(struct ask_record));
    call->saving_entries = (struct entry *)(call->saving + spec->ask_count); /* there are none */
    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        ask_find_turn(ask);
        call->saving[call->saving_asks++] = ask->record;
    }
    call_enter(call, LIVE_SAVING);
    op_start_of(engine, &call->op, call->principal, import_send, imported);
    return true;
}

bool engine_has_room_for(const struct engine *engine, struct str call_id)
{
    return engine_calls(engine) < engine->opts.limits.calls || engine_call_at(engine, call_id);
}

struct call *engine_find(const struct engine *engine, struct str call_id)
{
    struct call *call = engine_call_at(engine, call_id);

    return call && !call_is_resting(call) ? call : NULL;
}
