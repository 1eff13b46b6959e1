/*
 * core/inner: a call that waits for a call.
 *
 * A run may ask for a call of another tool (ASK_CALL, run_call). That ask is put to the engine, and
 * to nobody else: offering it begins an inner call, and the end of the inner call is its answer.
 * The inner call has the id of the ask, so the store begins it once, on whatever node; and from
 * either of the two the other is found, here and in the store, without a pointer.
 *
 * An inner call is a call like any other: it has stages, hooks, a gate, limits and a record, and
 * the principal, the scope and the roles of the outer call. Its record says whom it is for. What it
 * asks is put to the person behind the outer call:
 *
 * - While the outer call has a caller here, the inner call has one of the engine's two inner
 * callers (inner_ops), which pass everything on to the caller of the outermost call. Surfaces that
 * ask for the client or the caller of an inner call are given those of the outermost (call_top).
 * - call_ask_first and call_ask_next walk over the asks of a call and of all its inner calls, and
 *   leave the asks of the kind call out. So whoever carries the questions of a call carries those
 * of the inner ones too, each under a name of its own (ask_carried_key).
 * - A caller that responds once, with all questions (it has caller_ops.brings), is told of them
 * when everything waits (call_round): until then it is held, and the round is due (call.round_due).
 * - A call without a caller has inner calls without one. They rest, or go on by themselves.
 *
 * Down: if the ask ends in another way than by its inner call, the inner call is cancelled. Up:
 * each end of an inner call claims its ask, on whatever node it comes, with the outcome as the
 * content. A failure of the inner call is what the outer run is told, and no failure of the outer
 * call.
 *
 * How an inner call is begun, and how its end goes up: inner_begin.c. What is looked at in case
 * that a process dies in between: inner_list.c.
 *
 * Holds always: an inner call has the id of the ask that waits for it. Nothing of an inner call is
 * told to a caller of another principal. No question of it stays up when its ask has ended. A round
 * that is due is looked at whenever a call of its tree comes to wait (inner_waits).
 */
#include "core/inner_inside.h"

#include <math.h>

#include "base/mem.h"
#include "json/write.h"

enum {
    WHOM_ARENA_MAX = 64 << 10, /* memory of whom an inner call is for, while it is read */
    INNER_ROUNDS_EACH = 2,     /* rounds that are looked at in one turn, for each live call */
};

/* --- whom an inner call is for --- */

bool caller_record_is_inner(struct str caller_record)
{
    return str_starts(caller_record, STR("{\"inner\":"));
}

bool whom_read(struct arena *arena, struct str caller_record, struct whom *out)
{
    const struct json *inner =
        caller_record_is_inner(caller_record)
            ? json_get(json_parse(arena, arena_str(arena, caller_record), NULL, NULL), STR("inner"))
            : NULL;

    *out = (struct whom){ .top = json_get_str(inner, STR("top")),
                          .path = json_get(inner, STR("path")) };
    return out->top.len == ID_LEN && json_is(out->path, JSON_ARRAY);
}

/* "outer ▸ inner: ", as people read it. */
struct str inner_said(const struct call *call, struct arena *arena)
{
    struct str said = STR_NONE;
    struct whom whom;

    if (!whom_read(arena, call->caller_record, &whom))
        return said;
    JSON_EACH (name, whom.path)
        said = arena_fmt(arena, STR_FMT STR_FMT " ▸ ", STR_ARG(said), STR_ARG(json_str(name)));
    return arena_fmt(arena, STR_FMT STR_FMT ": ", STR_ARG(said), STR_ARG(call->target->name));
}

bool inner_top_id(struct str caller_record, struct id *out)
{
    struct arena arena;
    struct whom whom;

    arena_init(&arena, WHOM_ARENA_MAX);
    bool is = whom_read(&arena, caller_record, &whom);
    if (is)
        *out = id_of(whom.top);
    arena_finish(&arena);
    return is;
}

/* --- the live tree --- */

static const struct caller_ops inner_ops[2];

static bool is_attached(const struct call *call)
{
    return call->inner &&
           (call->caller->ops == &inner_ops[0] || call->caller->ops == &inner_ops[1]);
}

/* The call that waits for this one, if it is live here. */
static struct call *call_outer(const struct call *call)
{
    struct ask *ask = call->inner ? engine_ask(call->engine, id_str(&call->id)) : NULL;

    return ask && ask->record.kind == ASK_CALL ? ask->call : NULL;
}

struct call *inner_top(const struct call *call)
{
    struct call *outer;

    while (is_attached(call) && (outer = call_outer(call)))
        call = outer;
    return (struct call *)call;
}

struct call *inner_outer_cancelled(const struct call *call)
{
    struct call *outer = call_outer(call);

    while (outer && !outer->cancel_wanted)
        outer = call_outer(outer);
    return outer;
}

static struct call *inner_of(const struct ask *ask)
{
    struct call *inner =
        ask->record.kind == ASK_CALL ? engine_call_at(ask->call->engine, id_str(&ask->id)) : NULL;

    return inner && inner->inner ? inner : NULL;
}

/* Its asks are stored: others may be told of them. */
static bool has_asked(const struct call *call)
{
    return call->state == LIVE_NEW || call->state == LIVE_TELLING || call->state == LIVE_WAITING ||
           call->state == LIVE_TAKING;
}

/* The first ask from here on that is put to somebody. */
static struct ask *ask_from(const struct call *top, const struct call *in, const struct list *at)
{
    for (;;) {
        if (at == &in->asks) {
            struct ask *of = in == top ? NULL : engine_ask(in->engine, id_str(&in->id));
            if (!of)
                return NULL;
            in = of->call;
            at = of->link.next;
            continue;
        }
        struct ask *ask = LIST_OF(at, struct ask, link);
        if (ask->record.kind != ASK_CALL)
            return ask;
        const struct call *inner = inner_of(ask);
        at = at->next;
        if (inner && ask->listed && has_asked(inner)) {
            in = inner;
            at = inner->asks.next;
        }
    }
}

/* Most calls wait for no call: their asks are one list. */
static inline struct ask *ask_at(const struct call *top, const struct call *in,
                                 const struct list *at)
{
    if (at == &in->asks && in == top)
        return NULL;
    if (at != &in->asks && LIST_OF(at, struct ask, link)->record.kind != ASK_CALL)
        return LIST_OF(at, struct ask, link);
    return ask_from(top, in, at);
}

struct ask *call_ask_first(const struct call *call)
{
    return ask_at(call, call, call->asks.next);
}

struct ask *call_ask_next(const struct call *call, const struct ask *ask)
{
    return ask_at(call, ask->call, ask->link.next);
}

bool call_has_inner(const struct call *call)
{
    LIST_EACH (at, &call->asks)
        if (LIST_OF(at, struct ask, link)->record.kind == ASK_CALL)
            return true;
    return false;
}

bool inner_is_live(const struct ask *ask)
{
    return inner_of(ask);
}

bool inner_waits_elsewhere(const struct ask *ask)
{
    const struct call *inner = inner_of(ask);

    return inner && call_waits_elsewhere(inner);
}

bool inner_waits_only_elsewhere(const struct ask *ask)
{
    const struct call *inner = inner_of(ask);

    return inner && call_waits_only_elsewhere(inner);
}

void inner_handed(struct call *call)
{
    LIST_EACH (at, &call->asks) {
        struct call *inner = inner_of(LIST_OF(at, struct ask, link));
        if (inner && !inner->handed)
            call_handed(inner);
    }
}

void inner_leave(struct call *call)
{
    LIST_EACH (at, &call->asks) {
        struct call *inner = inner_of(LIST_OF(at, struct ask, link));
        if (inner && is_attached(inner))
            call_caller_left(inner);
    }
}

/* What was brought for the inner calls was brought by that caller, too. */
void inner_brought_unheard(struct call *call)
{
    LIST_EACH (at, &call->asks) {
        struct call *inner = inner_of(LIST_OF(at, struct ask, link));
        if (inner && is_attached(inner))
            call_brought_unheard(inner);
    }
}

/* --- the round of a whole tree --- */

struct inner_round {       /* the outermost call is looked at when the stack is clear */
    struct engine *engine; /* NULL: it is gone */
    struct id call;
};

/* It waits, and so does every inner call of it, for people. */
static bool tree_waits(const struct call *call)
{
    if (call->state != LIVE_WAITING || call->cancel_wanted || call->came || call_is_alone(call) ||
        list_empty(&call->asks))
        return false;
    LIST_EACH (at, &call->asks) {
        const struct ask *ask = LIST_OF(at, struct ask, link);
        const struct call *inner = inner_of(ask);
        if (ask->claiming ||
            (ask->record.kind == ASK_CALL && !(inner && is_attached(inner) && tree_waits(inner))))
            return false;
    }
    return true;
}

static void round_comes(void *data)
{
    struct inner_round *round = data;
    struct call *call = round->engine ? engine_call_at(round->engine, id_str(&round->call)) : NULL;

    if (round->engine)
        idmap_remove(&round->engine->inner_rounds, round);
    mem_free(round);
    if (!call || !call->round_due || !call->caller->ops->brings || !tree_waits(call))
        return;
    call->round_due = false;
    call_round(call);
}

void inner_look(struct call *call)
{
    struct engine *engine = call->engine;
    const struct call *top = call_top(call);
    struct str top_id = id_str(&top->id);

    if (!top->round_due || idmap_get(&engine->inner_rounds, top_id))
        return;
    struct inner_round *round = MEM_NEW(struct inner_round);
    round->engine = engine;
    round->call = id_of(top_id);
    if (!idmap_add(&engine->inner_rounds, round)) { /* more than all live calls have */
        mem_free(round);
        return;
    }
    engine->opts.defer(engine->opts.defer_ctx, round_comes, round);
}

void inner_round_due(struct engine *engine, struct str top_id)
{
    struct call *top = engine_call_at(engine, top_id);

    if (!top)
        return;
    top->round_due = true;
    inner_look(top);
}

bool inner_round_brought(struct call *call)
{
    bool any = call->brought;

    LIST_EACH (at, &call->asks) {
        struct call *inner = inner_of(LIST_OF(at, struct ask, link));
        any |= inner && inner_round_brought(inner);
    }
    if (call->brought)
        call_brought_all(call);
    return any;
}

void inner_put_up(struct call *call, bool carried)
{
    LIST_EACH (at, &call->asks) {
        struct call *inner = inner_of(LIST_OF(at, struct ask, link));
        if (!inner || inner->state != LIVE_WAITING)
            continue;
        inner_put_up(inner, carried);
        call_put_up(inner, carried);
    }
}

/* --- progress --- */

bool inner_progress(struct call *call, struct notice *notice)
{
    struct call *top = call_top(call);

    for (const struct call *at = call; at != top && (at = call_outer(at));)
        if (at->counts)
            return false;
    if (!isfinite(notice->progress))
        return false;
    if (!call->counts)
        call->counted = top->counted;
    call->counts = true;
    notice->progress += call->counted;
    notice->total += notice->total > 0 ? call->counted : 0;
    if (call != top && notice->progress > top->counted)
        top->counted = notice->progress;
    return true;
}

/* --- the caller of an inner call --- */

static uint64_t inner_reserve(struct caller *caller, struct call *call)
{
    struct call *top = call_top(call);

    (void)caller;
    return top != call && top->caller->ops->reserve ? top->caller->ops->reserve(top->caller, top)
                                                    : 0;
}

static enum caller_way inner_asked(struct caller *caller, struct call *call)
{
    struct call *top = call_top(call);
    const struct caller_ops *ops = top->caller->ops;

    (void)caller;
    if (top == call || call_is_alone(top))
        return CALLER_LEAVES;
    if (ops->brings) {
        top->round_due = true; /* and is looked at as soon as this call waits */
        return CALLER_CARRIES;
    }
    return ops->asked ? ops->asked(top->caller, top) : CALLER_HOLDS;
}

static void inner_answered(struct caller *caller, struct str ask_id,
                           const struct answer_result *result)
{
    struct engine *engine = ((struct inner_caller *)(void *)caller)->engine;
    struct ask *ask = engine_ask(engine, ask_id);
    struct call *call = engine_call_at(engine, result->call_id);
    struct call *top = ask ? call_top(ask->call) : call ? call_top(call) : NULL;

    if (top && !is_attached(top) && top->caller->ops->answered) /* else the outer call has left */
        top->caller->ops->answered(top->caller, ask_id, result);
}

static bool inner_contradicted(struct caller *caller, struct call *call)
{
    struct call *top = call_top(call);

    (void)caller;
    if (top == call || !top->caller->ops->contradicted ||
        !top->caller->ops->contradicted(top->caller, top))
        return false;
    call_caller_left(top);
    return call->caller != &call->engine->nobody; /* it has left with the outermost */
}

static void inner_notify(struct caller *caller, struct call *call, const struct notice *notice)
{
    struct call *top = call_top(call);

    (void)caller;
    if (top != call && top->caller->ops->notify)
        top->caller->ops->notify(top->caller, top, notice);
}

static void inner_offered(struct caller *caller, struct call *call)
{
    struct call *top = call_top(call);

    (void)caller;
    if (top != call)
        call_tell_offered(top);
}

static int64_t inner_ask_ttl(struct caller *caller, const struct call *call)
{
    const struct call *top = call_top(call);

    (void)caller;
    return top != call && top->caller->ops->ask_ttl_ms
               ? top->caller->ops->ask_ttl_ms(top->caller, top)
               : 0;
}

/* inner_ended does what follows, also for a call that has no caller. */
static void inner_finished(struct caller *caller, struct call *call, const struct outcome *outcome)
{
    (void)caller, (void)call, (void)outcome;
}

static void inner_unloaded(struct caller *caller)
{
    (void)caller; /* the look at the list comes to it */
}

#define INNER_OPS                                                                                  \
    .reserve = inner_reserve, .answered = inner_answered, .contradicted = inner_contradicted,      \
    .asked = inner_asked, .notify = inner_notify, .finished = inner_finished,                      \
    .offered = inner_offered, .ask_ttl_ms = inner_ask_ttl, .unloaded = inner_unloaded

static const struct caller_ops inner_ops[2] = { { INNER_OPS }, { INNER_OPS, .carries = true } };

struct caller *inner_caller_for(struct engine *engine, const struct call *outer)
{
    if (!outer || call_is_alone(outer))
        return &engine->nobody;
    return &engine->inner_callers[call_top(outer)->caller->ops->carries].caller;
}
/* It is live here: the outer call has it, if nobody else keeps it. */
static void attach(struct call *inner, struct caller *to, bool handed)
{
    struct caller *caller = inner->caller;

    if (is_attached(inner) || to == &inner->engine->nobody)
        return;
    if (call_is_resting(inner))
        call_take_over(inner, &(struct adopt_spec){
                                  .caller = to, .keep_ms = INNER_KEEP_MS, .handed = handed });
    else if (call_is_alone(inner))
        call_change_caller(inner, to);
    else if (caller->ops->gives_way)
        caller->ops->gives_way(caller, inner, to);
    inner_waits(inner);
}

void inner_offer(struct ask *ask)
{
    struct call *outer = ask->call, *inner = inner_of(ask), *top = call_top(outer);
    struct engine *engine = outer->engine;

    if (ask->claiming || inner_is_coming(engine, id_str(&ask->id)))
        return;
    if (inner) {
        attach(inner, inner_caller_for(engine, outer), outer->handed);
        return;
    }
    struct call_record record = call_record_of(outer);
    struct client client = call_client(top);
    /* The last operation of the outer call has stored the ask: just now, and at the first try. */
    bool first = ask->flow.table && outer->op.tries == 0 &&
                 clock_mono(engine->clock) - outer->op.sent_ms < INNER_FRESH_MS;
    record.handed = outer->handed;
    inner_come(engine, &ask->record, &record, &client, call_roles(top),
               first ? COMING_FIRST : COMING_BACK);
}

void inner_offer_alone(struct call *call)
{
    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        if (ask->record.kind == ASK_CALL && call->handed && call->stored && !ask->tried) {
            ask->tried = 1;
            inner_offer(ask);
        }
    }
}
/* --- down --- */

/* At once, while the caller of the outermost call is there to tell its client. */
static void inner_take_down(struct call *call, const struct winner *winner, struct str why)
{
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask))
        ask_withdraw(ask, NULL, winner, why);
}

void inner_withdraw(struct ask *ask, const struct winner *winner, struct str why)
{
    struct engine *engine = ask->call->engine;
    struct call *inner = inner_of(ask);
    bool ended = winner->state != ASK_PENDING && winner->state != ASK_ACCEPTED;

    if (winner->state == ASK_WITHDRAWN && ask->call->ending && ask->call->ending->not_the_end)
        ended = false;
    if (ended && inner && has_asked(inner))
        inner_take_down(inner, &(struct winner){ .state = ASK_WITHDRAWN }, why);
    if (ended && !inner_unwanted(engine, id_str(&ask->id)))
        engine_cancel(engine, id_str(&ask->id), why, NULL, NULL);
    if (!ended && inner && is_attached(inner) && winner->state != ASK_ACCEPTED)
        call_caller_left(inner);
}
/* True: the outer call is here, with its caller, and goes for it; or this node has opened it, and
 * whoever comes for it begins it. */
bool inner_orphan(struct engine *engine, const struct call_record *record)
{
    if (inner_is_coming(engine, record->id) || inner_is_unbegun(engine, record))
        return true;
    struct ask *ask =
        caller_record_is_inner(record->caller) ? engine_ask(engine, record->id) : NULL;

    if (!ask || ask->record.kind != ASK_CALL || call_is_alone(ask->call))
        return false;
    inner_offer(ask);
    return true;
}
/* --- the whole --- */

void inners_init(struct engine *engine)
{
    inner_comings_init(engine);
    idmap_init(&engine->inner_rounds, INNER_ROUNDS_EACH * engine->opts.limits.calls,
               offsetof(struct inner_round, call));
    for (int carries = 0; carries < 2; carries++)
        engine->inner_callers[carries] =
            (struct inner_caller){ .caller.ops = &inner_ops[carries], .engine = engine };
}

void inners_drop(struct engine *engine)
{
    struct inner_round *round;

    inner_comings_drop(engine);
    for (struct idmap_walk walk = { 0 }; (round = idmap_next(&engine->inner_rounds, &walk));)
        round->engine = NULL;
    idmap_finish(&engine->inner_rounds);
    due_stop(engine, &engine->inners_due);
}

/* --- for providers --- */

nod_status run_call(struct run *run, const struct run_call_spec *spec, struct outcome *outcome)
{
    const struct entry *answer;
    struct json_writer w;
    struct buf detail;

    if (run->portable)
        return run_fail(run, NOD_E_NOT_SUPPORTED, NULL,
                        STR("This server gives out portable states, and a call that waits for a "
                            "call cannot be carried in one"));
    buf_init(&detail, RUN_DETAIL_MAX);
    json_writer_init(&w, &detail);
    jw_object(&w);
    jw_key_str(&w, STR("tool"), spec->tool);
    if (spec->args)
        jw_key_value(&w, STR("arguments"), spec->args);
    jw_end(&w);
    bool fits = json_writer_done(&w);
    nod_status status =
        fits ? run_ask(run,
                       &(struct ask_spec){
                           .kind = ASK_CALL,
                           .key = spec->key,
                           .message = arena_fmt(&run->arena, "Call " STR_FMT, STR_ARG(spec->tool)),
                           .detail = buf_str(&detail),
                           .ttl_ms = spec->ttl_ms ? spec->ttl_ms : RUN_CALL_TTL_MS,
                       },
                       &answer)
             : run_fail(run, NOD_E_LIMIT, NULL,
                        arena_fmt(&run->arena,
                                  "The arguments of a call that a call waits for may have %d bytes",
                                  RUN_DETAIL_MAX));
    buf_finish(&detail);
    if (status != NOD_OK)
        return status;
    if (answer->state == ASK_ACCEPTED)
        return outcome_read(&run->arena, arena_str(&run->arena, answer->content), outcome);
    *outcome = (struct outcome){ .status = NOD_E_CANCELLED,
                                 .code = outcome_code(NOD_E_CANCELLED),
                                 .message = STR("The inner call was cancelled") };
    return NOD_OK;
}
