/*
 * core/inner_begin: an inner call is begun, or found, and its end goes up.
 *
 * Somebody comes for an inner call (struct coming): the outer call, which has asked for it or has
 * come back, or a look at what is listed (inner_list.c). The call is looked for by the door for
 * whoever comes back (comeback.h). If there is none, it is opened in the store, and begun, or left
 * to whoever goes on with calls that nobody waits for. If it has ended, its end is the answer that
 * the outer call waits for.
 *
 * Holds always: an inner call is opened in the store before it begins, and its ask is listed before
 * that. Of two nodes that open it, one begins it, and the other finds it. The store knows an inner
 * call for INNER_KEEP_MS longer than its ask may wait, and an opening is sent only within half of
 * that time from when the ask was seen waiting: so no call is opened again that has ended and is
 * forgotten.
 */
#include "core/inner_inside.h"

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
    INNER_RESULT_SHARE = 2,    /* a result may take one part in so many of the outer journal */
    INNER_RECORD_VERSION = 1,  /* of what caller_record_write (mcp/) writes too */
};

/* --- the end goes up --- */

struct going_up { /* the end of an inner call, on its way to the ask that waits for it */
    struct engine *engine;
    struct id ask, top;
    bool begun; /* else another node may just be opening the call: the list shows it */
};

static void went_up(void *data, const struct answer_result *result)
{
    struct going_up *up = data;

    if (!result->pending) {
        if (up->begun) {
            inner_unlist(up->engine, id_str(&up->ask));
            engine_fetched(up->engine, id_str(&up->ask));
        }
        inner_round_due(up->engine, id_str(&up->top));
    }
    mem_free(up);
}

/* What is too large for the journal of the outer call is a failure that says so. */
static void outcome_up(struct engine *engine, struct str ask_id, struct str top,
                       const struct target *outer, struct str name, const struct outcome *outcome,
                       bool handed, bool begun)
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
    *up = (struct going_up){
        .engine = engine, .ask = id_of(ask_id), .top = id_of(top), .begun = begun
    };
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
                   call->handed, true);
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
    struct comer comer;
    struct op op;
    struct due again;
    struct arena arena;
    struct id ask; /* by which engine->inner_comings finds it */
    struct str principal, scope, client, caller_record, tool, top, outer;
    const struct json *args, *path;
    size_t depth;
    bool handed;
    bool may_begin;
    bool was_begun;  /* by somebody else */
    bool unwanted;   /* the ask has ended meanwhile */
    int64_t version; /* that it was opened in */
    int64_t ttl_ms;  /* of the ask */
    int64_t seen_ms; /* monotonic: the ask was seen waiting then */
    struct audience audience;
};

static void coming_free(struct coming *coming)
{
    due_stop(coming->engine, &coming->again);
    op_abandon(&coming->op);
    idmap_remove(&coming->engine->inner_comings, coming);
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

/* Until then the call may have begun, ended and been forgotten. Whether its ask still waits is
 * known to the look at the list, which comes anew. */
static void come_later(struct coming *coming)
{
    coming->may_begin &= !engine_survives(coming->engine);
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
               &outcome, coming->handed, false);
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

/* Cancelled only now: an opening that is sent again must find the call, and not open it anew. */
static bool coming_is_unwanted(struct coming *coming)
{
    if (!coming->unwanted)
        return false;
    engine_cancel(coming->engine, id_str(&coming->ask), STR("Nobody waits for the call any more"),
                  NULL, NULL);
    coming_free(coming);
    return true;
}

bool inner_unwanted(struct engine *engine, struct str ask_id)
{
    struct coming *coming = idmap_get(&engine->inner_comings, ask_id);

    if (coming)
        coming->unwanted = true;
    return coming;
}

/* Its tool was replaced by another version, or is gone, while the call was being opened: who comes
 * for it next finds it as one that has begun elsewhere, and leaves or ends it. */
static void coming_changed(struct coming *coming)
{
    recovery_stored(coming->engine);
    call_give_back(coming->engine, id_str(&coming->ask), 1, 0, coming->handed);
    come_later(coming);
}

/* It is opened in the store, for this node. If nobody waits for it here it is given back: who goes
 * on with it alone knows from its record which client is to be asked (recovery_opts.orphan). */
static void coming_call(struct coming *coming, struct target *target)
{
    struct engine *engine = coming->engine;

    if (!target || target_has_changed(target, coming->version)) {
        coming_changed(coming);
        return;
    }
    struct call_spec spec = spec_of(coming, target);
    struct ask *ask = asked_here(coming);

    spec.opened = true;
    spec.caller = inner_caller_for(engine, ask ? ask->call : NULL);
    recovery_stored(engine);
    if (spec.caller == &engine->nobody)
        call_give_back(engine, id_str(&coming->ask), 1, 0, coming->handed);
    else
        engine_call(engine, &spec);
    coming_free(coming);
}

static void coming_opened(void *data, nod_status status, const struct store_reply *reply)
{
    struct coming *coming = data;
    struct engine *engine = coming->engine;
    struct target *target = target_of(coming);

    if (coming_is_unwanted(coming))
        return;
    if (status == NOD_E_STALE) { /* somebody else has begun it */
        coming->was_begun = true;
        engine_return(engine, &coming->comer);
    } else if (status == NOD_E_STORE) {
        come_later(coming);
    } else if (status == NOD_E_LIMIT && reply->quota) {
        coming_refused(coming, status,
                       engine_quota_message(&coming->arena, coming->principal, reply->quota,
                                            reply->quota_most));
    } else if (status != NOD_OK) {
        coming_refused(coming, status, STR("The inner call could not be stored"));
    } else {
        coming_call(coming, target);
    }
}

/* --- its tool is not here --- */

static struct str tool_unknown(struct coming *coming)
{
    return arena_fmt(&coming->arena, "Unknown tool: " STR_FMT, STR_ARG(coming->tool));
}

static void unknown_ended(void *data, nod_status status)
{
    struct coming *coming = data;

    coming->was_begun = true;
    if (status == NOD_E_STORE || status == NOD_PENDING)
        come_later(coming);
    else
        engine_return(coming->engine, &coming->comer); /* and it is told that end */
}

static void unknown_opened(void *data, nod_status status, const struct store_reply *reply)
{
    struct coming *coming = data;
    const struct outcome outcome = { .status = NOD_E_NOT_FOUND,
                                     .code = outcome_code(NOD_E_NOT_FOUND),
                                     .message = tool_unknown(coming) };

    (void)reply;
    if (coming_is_unwanted(coming))
        return;
    if (status == NOD_E_STALE || status == NOD_E_STORE)
        unknown_ended(coming, status);
    else if (status != NOD_OK)
        coming_refused(coming, NOD_E_NOT_FOUND, outcome.message);
    else
        engine_end(coming->engine, id_str(&coming->ask), &outcome, unknown_ended, coming);
}

/* The call may have been opened when the tool was there, or be opened just now by a node that has
 * it. So it is opened here, too, and ended: then there is one end, whoever was first. */
static void coming_open_unknown(struct coming *coming)
{
    struct target *none = target_stand_in(TARGET_TOOL, coming->tool);
    struct call_spec spec = spec_of(coming, none);

    spec.keep_ms += coming->ttl_ms;
    spec.open_until_ms = coming->seen_ms + INNER_FRESH_MS;
    engine_open(coming->engine, &spec, unknown_opened, coming);
    target_release(none);
}

static void coming_open(struct coming *coming)
{
    struct target *target = target_of(coming);

    if (target) {
        struct call_spec spec = spec_of(coming, target);
        coming->version = target_version(target);
        if (engine_survives(coming->engine)) {
            spec.keep_ms += coming->ttl_ms;
            spec.open_until_ms = coming->seen_ms + INNER_FRESH_MS;
        }
        engine_open(coming->engine, &spec, coming_opened, coming);
    } else {
        coming_open_unknown(coming);
    }
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
    else
        coming_open(coming);
}

/* --- nobody knows the call --- */

static void still_asked_send(struct op *op)
{
    struct coming *coming = OP_OF(op, struct coming, op);

    op->engine->store->ops->load_ask(op->engine->store, id_str(&coming->ask), op_completed, op);
}

static void still_asked_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct coming *coming = OP_OF(op, struct coming, op);
    bool waits = status == NOD_OK && reply->ask->state == ASK_PENDING &&
                 reply->ask->expires_ms > reply->now_ms;

    if (coming_is_unwanted(coming))
        return;
    coming->seen_ms = op->sent_ms;
    if (status == NOD_E_STORE ||
        clock_mono(op->engine->clock) - coming->seen_ms >= INNER_FRESH_MS) /* it has slept */
        come_later(coming);
    else if (waits)
        coming_begin(coming);
    else
        coming_free(coming);
}

/* What is known here of the ask may be old: it may have ended, and its call may be forgotten. */
static void coming_unknown(struct coming *coming)
{
    if (!coming->may_begin)
        coming_free(coming);
    else if (engine_survives(coming->engine))
        op_start(coming->engine, &coming->op, still_asked_send, still_asked_done);
    else
        coming_begin(coming);
}

static bool coming_there(const struct comer *comer)
{
    (void)comer;
    return true;
}

bool inner_is_unbegun(const struct engine *engine, const struct call_record *record)
{
    return caller_record_is_inner(record->caller) && record->state == CALL_STORED_RUNNING &&
           record->epoch == 1 && str_eq(record->node, engine->node) &&
           !engine_call_at(engine, record->id);
}

/* This node has opened it, and has not heard so: nobody else will begin it. */
static enum found coming_found(struct comer *comer, const struct call_record *record)
{
    struct coming *coming = coming_of(comer);
    struct target *target = target_of(coming);

    if (coming->unwanted || !target || !inner_is_unbegun(coming->engine, record))
        return FOUND_IT;
    coming->version = record->version;
    coming_call(coming, target);
    return FOUND_OTHER;
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
    spec->caller = inner_caller_for(coming->engine, ask->call);
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

    if (coming_is_unwanted(coming))
        return;
    switch (back->as) {
    case BACK_UNKNOWN:
        if (!coming->was_begun) {
            coming_unknown(coming);
            return;
        }
        /* fall through */
    case BACK_ENDED:
    case BACK_FORGOTTEN:
        outcome_up(coming->engine, id_str(&coming->ask), coming->top,
                   outer_target(coming->engine, coming->principal, coming->path), coming->tool,
                   back->as == BACK_ENDED && back->outcome ? back->outcome : &unknown,
                   coming->handed, true);
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

static const struct comer_ops coming_ops = {
    .there = coming_there, .found = coming_found, .waits = coming_waits, .done = coming_back
};

bool inner_is_coming(const struct engine *engine, struct str ask_id)
{
    return idmap_get(&engine->inner_comings, ask_id);
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

void inner_come(struct engine *engine, const struct ask_record *ask,
                const struct call_record *outer, const struct client *client, role_set roles,
                enum coming_as as)
{
    struct coming *coming = MEM_NEW(struct coming);
    struct arena *arena = &coming->arena;
    struct whom whom;

    coming->engine = engine;
    arena_init(arena, INNER_ARENA_MAX);
    coming->ask = id_of(ask->id);
    bool room = idmap_add(&engine->inner_comings, coming);
    coming->may_begin = as != COMING_LOOKS;
    coming->ttl_ms = ask->ttl_ms;
    coming->seen_ms = clock_mono(engine->clock);
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
    else if (!room && engine_survives(engine))
        coming_free(coming); /* the look at the list comes anew */
    else if (!room)
        coming_refused(coming, NOD_E_LIMIT,
                       STR("As many inner calls as may be are being begun here; try again later"));
    else if (as == COMING_FIRST)
        coming_begin(coming);
    else
        engine_return(engine, &coming->comer);
}

void inner_comings_init(struct engine *engine)
{
    idmap_init(&engine->inner_comings, engine->opts.limits.calls, offsetof(struct coming, ask));
}

void inner_comings_drop(struct engine *engine)
{
    struct coming *coming;

    for (struct idmap_walk walk = { 0 }; (coming = idmap_next(&engine->inner_comings, &walk));)
        coming_free(coming);
    idmap_finish(&engine->inner_comings);
}
