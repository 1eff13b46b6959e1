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
 * when everything waits (call_round): until then it is held.
 * - A call without a caller has inner calls without one. They rest, or go on by themselves.
 *
 * Down: if the ask ends in another way than by its inner call, the inner call is cancelled. Up:
 * each end of an inner call claims its ask, on whatever node it comes, with the outcome as the
 * content. A failure of the inner call is what the outer run is told, and no failure of the outer
 * call.
 *
 * Between the end of an inner call and the claim a process can die. So with a store that outlives
 * the process each inner call that was begun is listed there (INNER_KIND) until its ask has ended,
 * and all of the list is looked at now and then, by every node.
 *
 * Holds always: an inner call is opened in the store before it begins. Nothing of an inner call is
 * told to a caller of another principal. A listed inner call whose ask is pending comes to its end,
 * and a pending ask whose inner call has ended is claimed.
 */
#include "core/inside.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "core/comeback.h"
#include "json/write.h"

enum {
    INNER_DEPTH_MAX = 4,       /* calls inside of each other, below the outermost */
    INNER_ARENA_MAX = 1 << 20, /* memory of what an inner call is begun with */
    INNER_WHOM_MAX = 16 << 10, /* bytes of whom an inner call is for, in its record */
    INNER_AGAIN_MS = 1000,     /* before an inner call that could not be had is looked at again */
    INNER_LOOK_MS = 5000,      /* between two looks at the list */
    INNER_LOOK_ROWS = 256,     /* inner calls in one look */
    INNER_RESULT_SHARE = 2,    /* a result may take one part in so many of the outer journal */
    INNER_RECORD_VERSION = 1,  /* of what caller_record_write (mcp/) writes too */
    INNER_KEEP_MS = 60000,     /* the end of an inner call is kept for at least so long */
};

#define INNER_KIND      STR("inner")
#define INNER_LISTED    STR("{}")
#define INNER_LISTED_MS (STORE_ABANDONED_MS)

/* --- whom an inner call is for --- */

struct whom {
    struct str top;          /* the id of the outermost call */
    const struct json *path; /* the names of the tools, from the outermost to the outer one */
};

bool caller_record_is_inner(struct str caller_record)
{
    return str_starts(caller_record, STR("{\"inner\":"));
}

static bool whom_read(struct arena *arena, struct str caller_record, struct whom *out)
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

    arena_init(&arena, INNER_ARENA_MAX);
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

struct call *call_top(const struct call *call)
{
    struct call *outer;

    while (is_attached(call) && (outer = call_outer(call)))
        call = outer;
    return (struct call *)call;
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

struct ask *call_ask_first(const struct call *call)
{
    return ask_from(call, call, call->asks.next);
}

struct ask *call_ask_next(const struct call *call, const struct ask *ask)
{
    return ask_from(call, ask->call, ask->link.next);
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

/* --- the round of a whole tree --- */

struct inner_round {       /* the outermost call is looked at when the stack is clear */
    struct list link;      /* in engine->inner_rounds */
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

    list_remove(&round->link);
    mem_free(round);
    if (call && call->caller->ops->brings && tree_waits(call))
        call_round(call);
}

void inner_round_later(struct engine *engine, struct str top_id)
{
    LIST_EACH (at, &engine->inner_rounds)
        if (str_eq(id_str(&LIST_OF(at, struct inner_round, link)->call), top_id))
            return;
    struct inner_round *round = MEM_NEW(struct inner_round);
    round->engine = engine;
    round->call = id_of(top_id);
    list_init(&round->link);
    list_append(&engine->inner_rounds, &round->link);
    engine->opts.defer(engine->opts.defer_ctx, round_comes, round);
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
        inner_round_later(call->engine, id_str(&top->id));
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

    if (top && top->caller->ops->answered)
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

/* Progress is that of the outermost call: two that count would take turns. */
static void inner_notify(struct caller *caller, struct call *call, const struct notice *notice)
{
    struct call *top = call_top(call);

    (void)caller;
    if (top != call && notice->kind != NOTICE_PROGRESS && top->caller->ops->notify)
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

static struct caller *caller_for(struct engine *engine, const struct call *outer)
{
    if (!outer || call_is_alone(outer))
        return &engine->nobody;
    return &engine->inner_callers[call_top(outer)->caller->ops->carries].caller;
}

/* --- the end goes up --- */

struct going_up { /* the end of an inner call, on its way to the ask that waits for it */
    struct engine *engine;
    struct id ask, top;
};

static void unlisted(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply; /* a look finds it again, and ends it again */
}

static void unlist(struct engine *engine, struct str ask_id)
{
    if (engine_survives(engine))
        engine->store->ops->del(engine->store, INNER_KIND, ask_id, unlisted, NULL);
}

static void went_up(void *data, const struct answer_result *result)
{
    struct going_up *up = data;

    if (!result->pending) {
        unlist(up->engine, id_str(&up->ask));
        engine_fetched(up->engine, id_str(&up->ask));
        inner_round_later(up->engine, id_str(&up->top));
    }
    mem_free(up);
}

/* What is too large for the journal of the outer call is a failure that says so. */
static void outcome_up(struct engine *engine, struct str ask_id, struct str top,
                       const struct target *outer, struct str name, const struct outcome *outcome,
                       bool handed)
{
    size_t most = engine_journal_limits(engine, outer).bytes / INNER_RESULT_SHARE;
    struct going_up *up = MEM_NEW(struct going_up);
    struct arena arena;
    struct buf text;

    arena_init(&arena, INNER_ARENA_MAX);
    buf_init(&text, most);
    if (!outcome_write(&text, outcome) || text.overflow) {
        struct outcome large = {
            .status = NOD_E_LIMIT,
            .code = outcome_code(NOD_E_LIMIT),
            .message = arena_fmt(&arena,
                                 "The result of " STR_FMT " does not fit into the journal of the "
                                 "call that waits for it: it may have %zu bytes there",
                                 STR_ARG(name), most),
        };
        buf_clear(&text);
        outcome_write(&text, &large);
    }
    *up = (struct going_up){ .engine = engine, .ask = id_of(ask_id), .top = id_of(top) };
    claim_inner(engine, ask_id, buf_str(&text), handed, went_up, up);
    buf_finish(&text);
    arena_finish(&arena);
}

static const struct target *outer_target(const struct engine *engine, struct str principal,
                                         const struct json *path)
{
    struct str name = STR_NONE;

    JSON_EACH (one, path)
        name = json_str(one);
    return name.len && engine->catalog ? catalog_for(engine->catalog, principal, TARGET_TOOL, name)
                                       : NULL;
}

void inner_ended(struct call *call, const struct outcome *outcome)
{
    struct engine *engine = call->engine;
    struct arena arena;
    struct whom whom;

    arena_init(&arena, INNER_ARENA_MAX);
    if (whom_read(&arena, call->caller_record, &whom))
        outcome_up(engine, id_str(&call->id), whom.top,
                   outer_target(engine, call->principal, whom.path), call->target->name, outcome,
                   call->handed);
    arena_finish(&arena);
}

/* --- it is begun, or found --- */

/*
 * Somebody comes for an inner call: the outer call, which has asked for it or has come back, or a
 * look at the list. All that the inner call is begun with is in the arena: the outer call may leave
 * this node meanwhile.
 */
struct coming {
    struct engine *engine;
    struct list link; /* in engine->inner_comings */
    struct comer comer;
    struct op op;
    struct due again;
    struct arena arena;
    struct id ask;
    struct str principal, scope, client, caller_record, tool, top, outer;
    const struct json *args, *path;
    size_t depth;
    bool handed;
    bool may_begin;
    struct audience audience;
};

static void coming_free(struct coming *coming)
{
    due_stop(coming->engine, &coming->again);
    op_abandon(&coming->op);
    list_remove(&coming->link);
    arena_finish(&coming->arena);
    mem_free(coming);
}

static struct coming *coming_of(const struct comer *comer)
{
    return LIST_OF(comer, struct coming, comer);
}

static struct ask *asked_here(const struct coming *coming)
{
    struct ask *ask = engine_ask(coming->engine, id_str(&coming->ask));

    return ask && ask->record.kind == ASK_CALL ? ask : NULL;
}

static void come_again(struct due *due)
{
    struct coming *coming = HEAP_OF(&due->node, struct coming, again.node);

    engine_return(coming->engine, &coming->comer);
}

static void come_later(struct coming *coming)
{
    due_set(coming->engine, &coming->again, INNER_AGAIN_MS, come_again);
}

/* Nothing was begun. */
static void coming_refused(struct coming *coming, nod_status status, struct str message)
{
    struct outcome outcome = { .status = status, .code = outcome_code(status), .message = message };

    LOG_INFO("an inner call is refused", LOG_STR("why", message), LOG_STR("outer", coming->outer),
             LOG_STR("tool", coming->tool), LOG_STR("principal", coming->principal));
    outcome_up(coming->engine, id_str(&coming->ask), coming->top,
               outer_target(coming->engine, coming->principal, coming->path), coming->tool,
               &outcome, coming->handed);
    coming_free(coming);
}

static struct call_spec spec_of(const struct coming *coming, struct target *target)
{
    return (struct call_spec){ .target = target,
                               .args = coming->args,
                               .principal = coming->principal,
                               .scope = coming->scope,
                               .caller_record = coming->caller_record,
                               .client = coming->client,
                               .keep_ms = INNER_KEEP_MS,
                               .handed = coming->handed,
                               .id = id_str(&coming->ask),
                               .named = true };
}

static struct target *target_of(const struct coming *coming)
{
    const struct catalog *catalog = coming->engine->catalog;
    struct target *target =
        catalog ? catalog_for(catalog, coming->principal, TARGET_TOOL, coming->tool) : NULL;

    return target && (target->callable_unlisted || !target->listed ||
                      target->listed(target, &coming->audience))
               ? target
               : NULL;
}

static void coming_opened(void *data, nod_status status, const struct store_reply *reply)
{
    struct coming *coming = data;
    struct engine *engine = coming->engine;
    struct target *target = target_of(coming);

    if (status == NOD_E_STALE) { /* somebody else has begun it */
        engine_return(engine, &coming->comer);
    } else if (status == NOD_E_STORE) {
        come_later(coming);
    } else if (status == NOD_E_LIMIT && reply->quota) {
        coming_refused(coming, status,
                       engine_quota_message(&coming->arena, coming->principal, reply->quota,
                                            reply->quota_most));
    } else if (status != NOD_OK) {
        coming_refused(coming, status, STR("The inner call could not be stored"));
    } else if (!target) {
        come_later(coming); /* it went at this instant: the inner call ends as such calls do */
    } else {
        struct call_spec spec = spec_of(coming, target);
        struct ask *ask = asked_here(coming);
        spec.opened = true;
        spec.caller = caller_for(engine, ask ? ask->call : NULL);
        recovery_stored(engine);
        engine_call(engine, &spec);
        coming_free(coming);
    }
}

static void coming_open(struct coming *coming)
{
    struct target *target = target_of(coming);

    if (target) {
        struct call_spec spec = spec_of(coming, target);
        engine_open(coming->engine, &spec, coming_opened, coming);
    } else {
        coming_refused(coming, NOD_E_NOT_FOUND,
                       arena_fmt(&coming->arena, "Unknown tool: " STR_FMT, STR_ARG(coming->tool)));
    }
}

static void list_send(struct op *op)
{
    struct coming *coming = OP_OF(op, struct coming, op);
    struct store *store = op->engine->store;

    store->ops->put(store, INNER_KIND, id_str(&coming->ask), INNER_LISTED, coming->principal, 0,
                    INNER_LISTED_MS, op_completed, op);
}

static void list_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct coming *coming = OP_OF(op, struct coming, op);

    (void)reply;
    if (status == NOD_OK)
        coming_open(coming);
    else
        come_later(coming);
}

/* Is it one of the tools that wait for this call? */
static bool is_circle(const struct coming *coming)
{
    JSON_EACH (name, coming->path)
        if (str_eq(json_str(name), coming->tool))
            return true;
    return false;
}

static struct str path_said(struct coming *coming)
{
    struct str said = STR_NONE;

    JSON_EACH (name, coming->path)
        said = arena_fmt(&coming->arena, STR_FMT STR_FMT " ▸ ", STR_ARG(said),
                         STR_ARG(json_str(name)));
    return arena_fmt(&coming->arena, STR_FMT STR_FMT, STR_ARG(said), STR_ARG(coming->tool));
}

static void coming_begin(struct coming *coming)
{
    if (is_circle(coming))
        coming_refused(coming, NOD_E_USAGE,
                       arena_fmt(&coming->arena,
                                 "A tool may not wait for a call that waits for the tool: " STR_FMT,
                                 STR_ARG(path_said(coming))));
    else if (coming->depth > INNER_DEPTH_MAX)
        coming_refused(coming, NOD_E_LIMIT,
                       arena_fmt(&coming->arena,
                                 "At most %d calls may wait inside of each other: " STR_FMT,
                                 INNER_DEPTH_MAX, STR_ARG(path_said(coming))));
    else if (!target_of(coming) || !engine_survives(coming->engine))
        coming_open(coming);
    else
        op_start(coming->engine, &coming->op, list_send, list_done);
}

static bool coming_there(const struct comer *comer)
{
    (void)comer;
    return true;
}

/* An inner call without an outer one here waits in the store, or goes on by itself. */
static bool coming_waits(struct comer *comer, const struct call_record *record,
                         struct adopt_spec *spec)
{
    struct coming *coming = coming_of(comer);
    struct ask *ask = asked_here(coming);

    (void)record;
    if (!ask || call_is_alone(ask->call))
        return false;
    spec->keep_ms = INNER_KEEP_MS;
    spec->handed = ask->call->handed;
    spec->caller = caller_for(coming->engine, ask->call);
    return true;
}

static void coming_back(struct comer *comer, const struct back *back)
{
    static const struct outcome unknown = {
        .status = NOD_E_NOT_FOUND,
        .code = "NOT_FOUND",
        .message = STR_INIT("The call has ended, but its result is no longer known"),
    };
    struct coming *coming = coming_of(comer);

    switch (back->as) {
    case BACK_UNKNOWN:
        if (coming->may_begin)
            coming_begin(coming);
        else
            coming_free(coming);
        return;
    case BACK_ENDED:
    case BACK_FORGOTTEN:
        outcome_up(coming->engine, id_str(&coming->ask), coming->top,
                   outer_target(coming->engine, coming->principal, coming->path), coming->tool,
                   back->as == BACK_ENDED && back->outcome ? back->outcome : &unknown,
                   coming->handed);
        break;
    case BACK_UNREAD:
    case BACK_TOO_SOON:
    case BACK_FULL:
        come_later(coming);
        return;
    case BACK_LEFT:
    case BACK_WAITS:
    case BACK_BUSY:
        break;
    }
    coming_free(coming);
}

static const struct comer_ops coming_ops = { .there = coming_there,
                                             .waits = coming_waits,
                                             .done = coming_back };

static bool is_coming(const struct engine *engine, struct str ask_id)
{
    LIST_EACH (at, &engine->inner_comings)
        if (str_eq(id_str(&LIST_OF(at, struct coming, link)->ask), ask_id))
            return true;
    return false;
}

/* The record of the inner call says whom it is for, and what else the record of the outer one says
 * of the client; who else would run it on alone needs that. */
static struct str whom_write(struct coming *coming, const struct call_record *outer,
                             const struct json *said, const struct client *client, role_set roles)
{
    struct json_writer w;
    struct buf out;

    buf_init(&out, INNER_WHOM_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key(&w, STR("inner"));
    jw_object(&w);
    jw_key_str(&w, STR("top"), coming->top);
    jw_key_str(&w, STR("outer"), outer->id);
    jw_key(&w, STR("path"));
    jw_value(&w, coming->path);
    jw_end(&w);
    JSON_EACH (member, said)
        if (!str_eq(member->key, STR("inner")))
            jw_key_value(&w, member->key, member);
    if (!json_get(said, STR("version"))) {
        jw_key_i64(&w, STR("version"), INNER_RECORD_VERSION);
        jw_key_i64(&w, STR("can"), client->declares);
        jw_key_i64(&w, STR("roles"), (int64_t)roles);
    }
    jw_end(&w);
    struct str text = json_writer_done(&w) ? arena_str(&coming->arena, buf_str(&out)) : STR_NONE;
    buf_finish(&out);
    return text;
}

/* The tools that wait, with the outer one at the end. */
static const struct json *path_with(struct coming *coming, const struct json *before,
                                    struct str outer)
{
    struct json_writer w;
    struct buf out;

    buf_init(&out, INNER_WHOM_MAX);
    json_writer_init(&w, &out);
    jw_array(&w);
    JSON_EACH (name, before) {
        jw_str(&w, json_str(name));
        coming->depth++;
    }
    jw_str(&w, outer);
    coming->depth++;
    jw_end(&w);
    const struct json *path =
        json_writer_done(&w)
            ? json_parse(&coming->arena, arena_str(&coming->arena, buf_str(&out)), NULL, NULL)
            : NULL;
    buf_finish(&out);
    return path;
}

enum coming_as {
    COMING_FIRST, /* the ask is new: nobody can have begun the call, or hardly */
    COMING_BACK,
    COMING_LOOKS, /* nobody may begin it: the client of the outer call has to come back */
};

static void come(struct engine *engine, const struct ask_record *ask,
                 const struct call_record *outer, const struct client *client, role_set roles,
                 enum coming_as as)
{
    struct coming *coming = MEM_NEW(struct coming);
    struct arena *arena = &coming->arena;
    struct whom whom;

    coming->engine = engine;
    list_init(&coming->link);
    list_append(&engine->inner_comings, &coming->link);
    arena_init(arena, INNER_ARENA_MAX);
    coming->ask = id_of(ask->id);
    coming->may_begin = as != COMING_LOOKS;
    coming->handed = outer->handed;
    coming->principal = arena_str(arena, outer->principal);
    coming->scope = arena_str(arena, outer->scope);
    coming->client = arena_str(arena, outer->client);
    coming->outer = arena_str(arena, outer->target);
    const struct json *said = json_parse(arena, arena_str(arena, outer->caller), NULL, NULL);
    bool nested = whom_read(arena, outer->caller, &whom);
    coming->top = nested ? whom.top : arena_str(arena, outer->id);
    coming->path = path_with(coming, nested ? whom.path : NULL, outer->target);
    coming->caller_record =
        whom_write(coming, outer, json_is(said, JSON_OBJECT) ? said : NULL, client, roles);
    const struct json *wanted = json_parse(arena, arena_str(arena, ask->detail), NULL, NULL);
    coming->tool = json_get_str(wanted, STR("tool"));
    coming->args = json_get(wanted, STR("arguments"));
    coming->audience = (struct audience){ .principal = coming->principal,
                                          .kinds = client_ask_kinds(client->declares),
                                          .views = client_has_views(client->declares),
                                          .roles = roles };
    coming->comer = (struct comer){ .ops = &coming_ops,
                                    .call = coming->ask,
                                    .principal = coming->principal,
                                    .asks = true,
                                    .inner = true };
    if (!coming->caller_record.len || !coming->path || arena->exhausted)
        coming_refused(coming, NOD_E_LIMIT, STR("What the inner call is begun with is too large"));
    else if (as == COMING_FIRST)
        coming_begin(coming);
    else
        engine_return(engine, &coming->comer);
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
}

void inner_offer(struct ask *ask)
{
    struct call *outer = ask->call, *inner = inner_of(ask), *top = call_top(outer);
    struct engine *engine = outer->engine;

    if (ask->claiming || is_coming(engine, id_str(&ask->id)))
        return;
    if (inner) {
        attach(inner, caller_for(engine, outer), outer->handed);
        return;
    }
    struct call_record record = call_record_of(outer);
    struct client client = call_client(top);
    record.handed = outer->handed;
    come(engine, &ask->record, &record, &client, call_roles(top),
         ask->flow.table ? COMING_FIRST : COMING_BACK);
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
    if (ended)
        engine_cancel(engine, id_str(&ask->id), why, NULL, NULL);
    else if (inner && is_attached(inner) && winner->state != ASK_ACCEPTED)
        call_caller_left(inner);
}

/* --- what is listed --- */

struct inner_look {
    struct engine_work work;
    struct id ask;
    struct arena arena;
    struct ask_record record;
};

static void look_free(struct inner_look *look)
{
    engine_work_end(&look->work);
    arena_finish(&look->arena);
    mem_free(look);
}

static void look_drop(struct engine_work *work)
{
    look_free(OP_OF(work, struct inner_look, work));
}

static void outer_loaded(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct inner_look *look = OP_OF(op, struct inner_look, work.op);
    struct engine *engine = op->engine;
    const struct call_record *outer = status == NOD_OK ? reply->call : NULL;

    if (outer && !outer->forgotten && !is_coming(engine, look->record.id) &&
        !engine_call_at(engine, look->record.id)) {
        struct ask *ask = engine_ask(engine, look->record.id);
        struct client nobody = { 0 };
        if (ask)
            inner_offer(ask);
        else
            come(engine, &look->record, outer, &nobody, ROLES_NONE,
                 outer->handed ? COMING_BACK : COMING_LOOKS);
    }
    look_free(look);
}

static void outer_send(struct op *op)
{
    struct inner_look *look = OP_OF(op, struct inner_look, work.op);

    op->engine->store->ops->load_call(op->engine->store, look->record.call_id, op_completed, op);
}

static void look_cancelled(void *data, nod_status status)
{
    struct going_up *up = data;

    if (status != NOD_E_STORE)
        unlist(up->engine, id_str(&up->ask));
    mem_free(up);
}

static void ask_loaded(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct inner_look *look = OP_OF(op, struct inner_look, work.op);
    struct engine *engine = op->engine;

    if (status == NOD_OK && reply->ask->state == ASK_PENDING) {
        look->record = ask_record_copy(&look->arena, reply->ask);
        op_start(engine, op, outer_send, outer_loaded);
        return;
    }
    if (status == NOD_OK || status == NOD_E_NOT_FOUND) { /* nobody waits for its end any more */
        struct going_up *up = MEM_NEW(struct going_up);
        *up = (struct going_up){ .engine = engine, .ask = look->ask };
        engine_cancel(engine, id_str(&look->ask), STR("Nobody waits for the call any more"),
                      look_cancelled, up);
    }
    look_free(look);
}

static void ask_send(struct op *op)
{
    struct inner_look *look = OP_OF(op, struct inner_look, work.op);

    op->engine->store->ops->load_ask(op->engine->store, id_str(&look->ask), op_completed, op);
}

static void listed_row(void *data, const struct store_row *row)
{
    struct engine *engine = data;
    struct call *inner;

    if (row->value->key.len != ID_LEN || is_coming(engine, row->value->key))
        return;
    inner = engine_call_at(engine, row->value->key);
    if (inner && !call_is_resting(inner))
        return; /* its end will be told */
    struct inner_look *look = MEM_NEW(struct inner_look);
    look->ask = id_of(row->value->key);
    arena_init(&look->arena, INNER_ARENA_MAX);
    engine_work_begin(engine, &look->work, look_drop);
    op_start(engine, &look->work.op, ask_send, ask_loaded);
}

static void inners_look(struct due *due);

static void listed_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct engine *engine = data;

    engine->inner_cursor_len = 0;
    if (status == NOD_OK && reply->cursor.len <= sizeof(engine->inner_cursor)) {
        engine->inner_cursor_len = reply->cursor.len;
        if (reply->cursor.len)
            memcpy(engine->inner_cursor, reply->cursor.at, reply->cursor.len);
    }
    due_set(engine, &engine->inners_due, INNER_LOOK_MS, inners_look);
}

static void inners_look(struct due *due)
{
    struct engine *engine = HEAP_OF(&due->node, struct engine, inners_due.node);

    engine->store->ops->list(
        engine->store,
        &(struct store_list){ .kind = INNER_KIND,
                              .cursor = str_n(engine->inner_cursor, engine->inner_cursor_len),
                              .limit = INNER_LOOK_ROWS },
        listed_row, listed_done, engine);
}

void inners_recover(struct engine *engine)
{
    due_set(engine, &engine->inners_due, 0, inners_look);
}

/* True: the outer call is here, with its caller, and goes for it. */
bool inner_orphan(struct engine *engine, const struct call_record *record)
{
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
    list_init(&engine->inner_comings);
    list_init(&engine->inner_rounds);
    for (int carries = 0; carries < 2; carries++)
        engine->inner_callers[carries] =
            (struct inner_caller){ .caller.ops = &inner_ops[carries], .engine = engine };
}

void inners_drop(struct engine *engine)
{
    LIST_EACH (at, &engine->inner_comings)
        coming_free(LIST_OF(at, struct coming, link));
    LIST_EACH (at, &engine->inner_rounds) {
        LIST_OF(at, struct inner_round, link)->engine = NULL;
        list_remove(at);
    }
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
