/*
 * core/call_end: how a call ends: its outcome, the store that is told of it first, the caller that
 * is told of it then; and how a call is cancelled.
 *
 * Holds always: a caller is told the end of its call at most once. If the store knows the call, the
 * end is committed before the caller is told. There is one exception: when the store is away and
 * the client cannot come back, the caller is told so at once, and the end is stored later. A caller
 * that has left, or whose call was unloaded, is told no end.
 */
#include "core/call_inside.h"

#include <limits.h>

#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/masked.h"

/* --- outcomes --- */

void call_outcome_ok(struct call *call, struct str body)
{
    struct ending *ending = call_ending(call);

    buf_clear(&ending->result);
    ending->written = outcome_write_body(&ending->result, &body);
    if (!ending->written)
        body = arena_str(&ending->arena, body);
    ending->outcome = (struct outcome){ .status = NOD_OK, .body = body };
}

void call_outcome_forget(struct call *call)
{
    if (!call->ending)
        return;
    call->ending->outcome = (struct outcome){ 0 };
    call->ending->written = false;
}

enum { LOG_ARENA_MAX = 1 << 20 }; /* memory of a sentence that is masked for the log */

/* A mistake in the program is an error, and one may have to look at its source. That nobody could
 * be asked is a warning of its own: see call_unasked. What people have answered is masked. */
static void log_failure(const struct call *call, const struct outcome *outcome)
{
    static const char *const kinds[] = {
        [TARGET_TOOL] = "tool", [TARGET_RESOURCE] = "resource", [TARGET_PROMPT] = "prompt"
    };
    struct arena arena;
    bool bug = outcome->status == NOD_E_USAGE || outcome->status == NOD_E_NOT_DETERMINISTIC ||
               outcome->status == NOD_E_BAD_SCHEMA;
    enum log_level level = bug ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO;
    struct log_field fields[] = {
        LOG_STR("why", STR_NONE),
        LOG_CSTR("code", outcome->code),
        LOG_STR(kinds[call->target->kind], call->target->name),
        LOG_STR("principal", call->principal),
        LOG_STR("error", outcome->error_id),
        LOG_STR("call", id_str(&call->id)),
        LOG_STR("source", call->target->source),
    };
    size_t count = sizeof(fields) / sizeof(fields[0]);

    if (!log_enabled(level))
        return;
    arena_init(&arena, LOG_ARENA_MAX);
    fields[0] = LOG_STR("why", masked(&arena, outcome->message, &call->journal));
    log_write(level, bug ? "call failed: a mistake in the program" : "call failed", fields,
              bug && call->target->source.len ? count : count - 1);
    arena_finish(&arena);
}

void call_outcome_fail(struct call *call, const struct fault *fault)
{
    struct arena *arena = &call_ending(call)->arena;
    struct id error_id;

    id_random(&error_id);
    call_ending(call)->written = false;
    call_ending(call)->outcome =
        (struct outcome){ .status = fault->status,
                          .code = fault->code ? fault->code : outcome_code(fault->status),
                          .message = arena_str(arena, fault->message),
                          .details = arena_str(arena, fault->details),
                          .meta = arena_str(arena, fault->meta),
                          .error_id = arena_str(arena, id_str(&error_id)),
                          .request_error = fault->request_error,
                          .no_room = fault->no_room,
                          .error_data = arena_str(arena, fault->error_data) };
    log_failure(call, &call_ending(call)->outcome);
}

void call_fail(struct call *call, nod_status status, const char *code, struct str message)
{
    call_outcome_fail(call, &(struct fault){ .status = status, .code = code, .message = message });
    flow_jump(&call->flow, "finish");
}

void call_fail_here(struct call *call, nod_status status, struct str message)
{
    call->stored = false; /* not ours to finish: the next node that takes it may be able to */
    call_ending(call)->not_the_end = true;
    call_fail(call, status, NULL, message);
}

/* --- the end --- */

static bool is_there(const struct caller *caller)
{
    return caller->ops->there && caller->ops->there(caller);
}

static void finish_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;

    CRASH_POINT(result_before);
    engine->store->ops->finish(engine->store,
                               &(struct finish_spec){ .token = id_str(&op->token),
                                                      .call_id = id_str(&call->id),
                                                      .epoch = call->epoch,
                                                      .result = buf_str(&call_ending(call)->result),
                                                      .keep_for_ms = call->keep_ms,
                                                      .handed = call->handed,
                                                      .fetched = is_there(call->caller) },
                               op_completed, op);
}

static void finish_checked(struct call *call, nod_status status)
{
    struct arena *arena = &call_ending(call)->arena;

    call_ending(call)->stored = status;
    if (status == NOD_OK ||
        status == NOD_E_NOT_FOUND) /* NOT_FOUND: the call was never opened after all */
        return;
    if (call_ending(call)->outcome.status != NOD_OK)
        return; /* a failure is told as it is: it says what was done */
    struct str done = outcome_so_far(
        arena, &(struct so_far){ .entries = call->journal.entries, .count = call->journal.count });
    call_outcome_fail(
        call,
        &(struct fault){
            .status = status,
            .message = arena_fmt(arena,
                                 STR_FMT " ran to its end, but its result could not be stored (%s "
                                         "store: %s)." STR_FMT
                                         " Look at what was done before you make the call again",
                                 STR_ARG(call->target->name), call->engine->store->ops->name,
                                 nod_status_name(status), STR_ARG(done)) });
}

/* The end was sent to the store, which has said what came of it. What is stored later is what the
 * caller is told now: nobody has cancelled the call. */
static void finish_came(struct call *call, nod_status status)
{
    finish_checked(call, status);
    if (status == NOD_E_STORE)
        engine_end_stored(call->engine, id_str(&call->id), &call_ending(call)->outcome, NULL, NULL);
}

static void finish_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    (void)reply;
    CRASH_POINT(result_after);
    if (status == NOD_E_STALE && live_again(op))
        return;
    bool forgotten = status == NOD_E_NOT_FOUND && call_ending(call)->outcome.status == NOD_OK;
    if ((status == NOD_E_STALE || forgotten) && !call->cancel_wanted) {
        /* another node gives the result, or gave it and it has been forgotten since */
        call_lost(call);
        return;
    }
    finish_came(call, status);
    flow_next(&call->flow);
}

static void finish_begin(struct call *call,
                         void (*done)(struct op *, nod_status, const struct store_reply *))
{
    struct ending *ending = call_ending(call);

    call_enter(call, LIVE_FINISHING);
    if (!ending->written) {
        buf_clear(&ending->result);
        outcome_write(&ending->result, &ending->outcome);
    }
    op_start_of(call->engine, &call->op, call->principal, finish_send, done);
    /* A result is not lost because the store is away: the finish is sent until it is stored. A
     * failure that only says that the store is away need not wait for the store, unless the client
     * can come back: such a client is told no end that is not stored. */
    bool only_away = ending->outcome.status == NOD_E_STORE || ending->store_away;
    if (engine_survives(call->engine) && (!only_away || call->handed))
        call->op.most = INT_MAX;
}

/* A destructive tool did its work, and nobody was asked: neither by it, nor at the gate, nor in an
 * earlier call whose approval is remembered. */
static void check_asked(struct call *call)
{
    if (!call->target->destructive || call_ending(call)->outcome.status != NOD_OK)
        return;
    for (size_t i = 0; i < call->journal.count; i++) {
        const struct entry *entry = &call->journal.entries[i];
        /* What the engine itself has accepted is the end of an inner call, which is no question. */
        bool inner = entry->state == ASK_ACCEPTED && str_eq(entry->by, STR("nod"));
        if (entry->class == ENTRY_ASK && !inner)
            return;
    }
    call->engine->counts.destructive_unasked++;
    LOG_WARN("a destructive tool ran without asking anybody (--confirm-destructive asks)",
             LOG_STR("tool", call->target->name), LOG_IF("plugin", call->target->from),
             LOG_STR("principal", call->principal), LOG_STR("call", id_str(&call->id)));
}

void call_finish(struct flow *flow, void *subject)
{
    struct call *call = subject;

    if (!call_has_outcome(call))
        call_outcome_fail(call, &(struct fault){ .status = NOD_E_USAGE,
                                                 .message = STR("A hook took the place of the "
                                                                "tool, and gave no result") });
    check_asked(call);
    if (!call->stored) {
        call_enter(call, LIVE_FINISHING);
        flow_next(flow);
        return;
    }
    finish_begin(call, finish_done);
}

static void refused_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    (void)reply;
    if (status == NOD_E_STALE && live_again(op))
        return;
    if (status == NOD_E_STALE && !call->cancel_wanted &&
        engine_call_at(call->engine, id_str(&call->id)) == call) {
        call_lost(call); /* another node has the call: the refusal is not ours to give */
        return;
    }
    finish_came(call, status);
    call_deliver(call);
}

void call_refuse(struct call *call)
{
    if (call->stored)
        finish_begin(call, refused_done);
    else
        call_deliver(call);
}

void call_flow_done(struct flow *flow, void *subject, nod_status status)
{
    struct call *call = subject;

    if (status == NOD_OK || call->state == LIVE_FINISHING) { /* what is stored is final */
        call_deliver(call);
        return;
    }
    call_refused(call, flow, status);
    if (strcmp(flow_stage(flow), "finish") != 0) {
        flow_place(flow, &call_flow, call->engine->hooks, "finish", call);
        flow_enter(flow);
    } else {
        call_refuse(call);
    }
}

struct end_told {
    struct end_told *next;
    void (*done)(void *data, nod_status status);
    void *data;
};

void call_end_tell(struct call *call, void (*done)(void *data, nod_status status), void *data)
{
    if (!done)
        return;
    struct end_told *told = MEM_NEW(struct end_told);
    *told = (struct end_told){ call_ending(call)->told, done, data };
    call_ending(call)->told = told;
}

void call_end_told(struct call *call, nod_status status)
{
    struct end_told *told = call->ending ? call->ending->told : NULL;

    if (told)
        call->ending->told = NULL;
    while (told) {
        struct end_told one = *told;
        mem_free(told);
        told = one.next;
        one.done(one.data, status);
    }
}

/* Unless it has ended elsewhere, or goes on there. */
static void count_end(const struct call *call)
{
    struct counts *counts = &call->engine->counts;
    nod_status status = call->ending->outcome.status;

    if (!call_has_ended(call) || call->ending->found)
        return;
    counts->calls_ended[status == NOD_OK            ? COUNTS_CALL_OK
                        : status == NOD_E_CANCELLED ? COUNTS_CALL_CANCELLED
                                                    : COUNTS_CALL_FAILED]++;
    LIST_EACH (at, &call->asks)
        counts_ask_ended(counts,
                         &(struct ask_record){ .kind = LIST_OF(at, struct ask, link)->record.kind,
                                               .state = ASK_WITHDRAWN,
                                               .via = STR("nod") });
}

void call_deliver(struct call *call)
{
    struct str why = call_ending(call)->outcome.status == NOD_E_CANCELLED
                         ? call_ending(call)->cancel_why
                         : STR("The call has ended");

    call_enter(call, LIVE_FINISHING);
    call_tell_waiting(call, false);
    count_end(call);
    LIST_EACH (at, &call->asks)
        ask_end(LIST_OF(at, struct ask, link), NULL, &(struct winner){ .state = ASK_WITHDRAWN },
                why);
    idmap_remove(&call->engine->calls, call);
    if (call_has_ended(call))
        home_ended(call->engine, id_str(&call->id),
                   call_ending(call)->found || call->was_here ? NULL : call->target->provider,
                   &call_ending(call)->outcome);
    if (call->inner && call_has_ended(call))
        inner_ended(call, &call_ending(call)->outcome);
    /* read only now: the caller may have left in the meantime */
    struct caller *caller = call->caller;
    if (call_ending(call)->found && call_has_ended(call) && is_there(caller))
        engine_fetched(call->engine, id_str(&call->id));
    caller->call = NULL;
    caller->ops->finished(caller, call, &call_ending(call)->outcome);
    CRASH_POINT(reply_after);
    call_end_told(call, call_ending(call)->stored);
    call_free(call);
}

/* --- cancelling --- */

static void cancel_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;

    CRASH_POINT(cancel_before);
    engine->store->ops->cancel(engine->store, id_str(&op->token), id_str(&call->id),
                               buf_str(&call_ending(call)->result), op_completed, op);
}

static void cancel_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    (void)reply;
    CRASH_POINT(cancel_after);
    call_ending(call)->stored = status;
    if (status == NOD_E_STALE) {
        call_ended_before(call);
        return;
    }
    if (status != NOD_OK)
        LOG_WARN("cancel not stored", LOG_STR("call", id_str(&call->id)),
                 LOG_CSTR("why", nod_status_name(status)));
    else if (call_ending(call)->decided)
        log_failure(call, &call_ending(call)->outcome);
    if (status == NOD_E_STORE)
        engine_end_later(call->engine, id_str(&call->id), call_ending(call)->cancel_why);
    call_deliver(call);
}

void call_end_cancelled(struct call *call)
{
    call_enter(call, LIVE_CANCELLING);
    if (!call_ending(call)->decided)
        call_ending(call)->outcome = (struct outcome){ .status = NOD_E_CANCELLED,
                                                       .code = outcome_code(NOD_E_CANCELLED),
                                                       .message = call_ending(call)->cancel_why };
    if (!call->stored) {
        call_deliver(call);
        return;
    }
    buf_clear(&call_ending(call)->result);
    outcome_write(&call_ending(call)->result, &call_ending(call)->outcome);
    op_start_of(call->engine, &call->op, call->principal, cancel_send, cancel_done);
    /* Nobody is told of this end before it is stored: otherwise the call could run on elsewhere. */
    if (engine_survives(call->engine))
        call->op.most = INT_MAX;
}

void call_cancel_later(struct call *call)
{
    call_enter(call, LIVE_CANCELLING);
    call_later(call, call_end_cancelled);
}

void call_cancel(struct call *call, struct str why)
{
    if (call->cancel_wanted || call->state == LIVE_FINISHING || call->state == LIVE_CANCELLING)
        return;
    call->cancel_wanted = true;
    call_ending(call)->cancel_why = arena_str(&call_ending(call)->arena, why);
    live_drop(call);
    if (call->state == LIVE_WAITING) {
        call_end_cancelled(call);
    } else if (call->state == LIVE_RUNNING) {
        due_stop(call->engine, &call->timeout);
        call_run_drop(call);
        call_cancel_later(call);
    } else if (call->state == LIVE_NEEDING) {
        due_stop(call->engine, &call->timeout);
        call_need_drop(call);
        call_cancel_later(call);
    } else if (call_awaits_hook(call)) {
        call_cancel_later(call);
    } else {
        call_step_on(call);
    }
    /* In every other state an operation or a stage is under way that looks at cancel_wanted. */
}

void call_end_as(struct call *call, const struct outcome *outcome)
{
    struct ending *ending = call_ending(call);
    struct id error_id;

    if (call->state != LIVE_WAITING || call->cancel_wanted)
        return;
    id_random(&error_id);
    ending->decided = true;
    ending->outcome = (struct outcome){ .status = outcome->status,
                                        .code = outcome->code, /* a constant */
                                        .message = arena_str(&ending->arena, outcome->message),
                                        .meta = arena_str(&ending->arena, outcome->meta),
                                        .error_id = arena_str(&ending->arena, id_str(&error_id)) };
    call_cancel(call, outcome->message);
}
