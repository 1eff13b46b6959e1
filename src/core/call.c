/*
 * core/call: a call is made, and goes through its first stages.
 *
 *     accept ▶ authorise ▶ gate ▶ start ▶ finish
 *
 * The stages gate and start may wait (call_run.c). When the last ask of the round has ended, the
 * stage is entered again with a longer journal. How a call ends is in call_end.c.
 *
 * Holds always: no provider sees a call whose arguments do not fit the schema of its target, or
 * leave no room in the journal.
 */
#include "core/grant_inside.h"

#include "base/mem.h"
#include "core/catalog.h"
#include "core/problems.h"
#include "json/write.h"

enum {
    OUTCOME_BYTES_MAX = 64 << 20, /* of a result or a failure */
    ARGS_BYTES_MAX = 16 << 20,    /* of the arguments as JSON */
    ARGS_TREE_MAX = 64 << 20,     /* memory of the arguments while they are checked */
    ARGS_LENT_BYTES = 16 << 10,   /* of arguments that are checked as their giver's tree */
};

/* --- creation --- */

struct call *call_create(struct engine *engine, const struct call_spec *spec, struct str args)
{
    size_t text = spec->principal.len + spec->scope.len + spec->uri.len + spec->caller_record.len +
                  spec->client.len + args.len + spec->meta.len + 7;
    struct call *call = mem_alloc(sizeof(*call) + text);
    char *at = (char *)(call + 1);

    *call = (struct call){ .engine = engine, .size = (uint32_t)(sizeof(*call) + text) };
    if (spec->id.len == ID_LEN)
        call->id = id_of(spec->id);
    else
        id_random(&call->id);
    call->target = spec->target;
    target_hold(call->target);
    call->caller = spec->caller;
    call->principal = str_place(&at, spec->principal);
    call->scope = str_place(&at, spec->scope);
    call->uri = str_place(&at, spec->uri);
    call->caller_record = str_place(&at, spec->caller_record);
    call->client = str_place(&at, spec->client);
    call->args = str_place(&at, args);
    call->meta_len = (uint32_t)str_place(&at, spec->meta).len;
    call->keep_ms = spec->keep_ms;
    call->keep_asked_ms = spec->keep_asked_ms;
    call->handed = spec->handed;
    call->portable = spec->portable;
    call->steps = spec->hold_steps ? STEPS_STOP : STEPS_FREE;
    call->named = spec->named;
    call->inner = caller_record_is_inner(call->caller_record);
    call->carries = spec->caller->ops->carries;
    call_made_by(call, spec->caller->client);
    list_init(&call->asks);
    return call;
}

struct ending *call_ending(struct call *call)
{
    if (!call->ending) {
        call->ending = MEM_NEW(struct ending);
        arena_init(&call->ending->arena, OUTCOME_BYTES_MAX);
        buf_init(&call->ending->result, OUTCOME_BYTES_MAX);
    }
    return call->ending;
}

bool call_list(struct call *call)
{
    struct engine *engine = call->engine;

    return engine_calls(engine) < engine->opts.limits.calls && idmap_set(&engine->calls, call);
}

void call_free(struct call *call)
{
    struct engine *engine = call->engine;

    call_end_told(call, NOD_E_STORE); /* the call goes before its end is known */
    flow_drop(&call->flow);
    call_asks_drop(call);
    due_stop(engine, &call->timeout);
    suspect_over(call);
    call_need_drop(call);
    call_brought_leave(call);
    if (call->later)
        call->later->call = NULL;
    call_awake(call);
    op_abandon(&call->op);
    granting_free(call);
    call_run_drop(call);
    call_needs_forget(call);
    call_saving_free(call);
    journal_finish(&call->journal);
    if (call->ending) {
        arena_finish(&call->ending->arena);
        buf_finish(&call->ending->result);
        MEM_DELETE(call->ending);
    }
    mem_free(call->args_now);
    call_heard_drop(call);
    idmap_remove(&call->engine->calls, call);
    target_release(call->target);
    mem_free_sized(call, call->size);
}

static void later_comes(void *data)
{
    struct later *later = data;
    struct call *call = later->call;

    if (call) {
        call->later = NULL;
        later->fn(call);
    }
    MEM_DELETE(later);
}

void call_later(struct call *call, void (*fn)(struct call *call))
{
    struct later *later = MEM_NEW(struct later);

    later->call = call;
    later->fn = fn;
    call->later = later;
    call->engine->opts.defer(call->engine->opts.defer_ctx, later_comes, later);
}

/* --- the stages --- */

static void refuse_arguments(struct call *call, struct arena *arena,
                             const struct schema_problems *problems)
{
    struct str list = problems_list(arena, problems, NULL); /* models know arguments by name */
    struct str said = problems_sentence(arena, list);

    if (!said.len)
        said = STR("not valid");
    call_outcome_fail(
        call,
        &(struct fault){ .status = NOD_E_INVALID,
                         .code = "INVALID_ARGUMENTS",
                         .message = arena_fmt(arena, "Invalid arguments for " STR_FMT ": " STR_FMT,
                                              STR_ARG(call->target->name), STR_ARG(said)),
                         .details = list });
}

size_t args_room(const struct call *call)
{
    size_t run = call->engine->opts.limits.run_bytes;
    /* Once lent, once as the handler reads it. */
    size_t journal = 2 * engine_journal_limits(call->engine, call->target).bytes;

    return run > journal ? run - journal : 0;
}

bool args_leave_room(const struct call *call, struct str args, const struct json *tree,
                     const struct arena *arena)
{
    return args.len <= ARGS_LENT_BYTES ||
           (arena->used + args.len <= args_room(call) && (tree || !arena->exhausted));
}

bool args_fit(const struct call *call, const struct json *args, struct arena *arena,
              struct schema_problems *problems)
{
    const struct schema *input = call->target->input;

    return (!input || schema_check(input, args, arena, problems) == NOD_OK) &&
           (!call->target->provider->ops->c_strings || problems_no_nul(arena, args, problems));
}

/* `given` is their tree, if there is one. False: they do not fit, and the call ends. */
static bool accept_args(struct call *call, const struct json *given)
{
    struct schema_problems problems = { 0 };
    struct json_error error;
    struct arena arena;
    bool fit = false;

    arena_init(&arena, ARGS_TREE_MAX);
    const struct json *args = given ? given : json_parse(&arena, call->args, NULL, &error);
    if (!args_leave_room(call, call->args, args, &arena)) {
        struct str message = arena_fmt(
            &call_ending(call)->arena,
            "The arguments need more memory than the %zu bytes that those of a call may take, "
            "beside what it learns; nothing was done",
            args_room(call));
        call_fail(call, NOD_E_LIMIT, NULL, message);
    } else if (args && args_fit(call, args, &arena, &problems)) {
        fit = true;
    } else {
        refuse_arguments(call, &arena, &problems);
        flow_jump(&call->flow, "finish");
    }
    arena_finish(&arena);
    return fit;
}

static void accepted(struct call *call)
{
    flow_next(&call->flow);
}

static void accept_long_args(struct call *call)
{
    if (accept_args(call, NULL))
        call_later(call, accepted);
}

/* Long arguments are looked at by themselves, in a turn of the loop between that in which the
 * message was read and that in which the call goes on: each of the three reads them whole. */
void call_accept(struct flow *flow, void *subject)
{
    struct call *call = subject;
    const struct json *given = call->given;

    call->given = NULL;
    if (call->args.len > ARGS_LENT_BYTES)
        call_later(call, accept_long_args);
    else if (!call->target->input && (!call->target->provider->ops->c_strings ||
                                      !memmem(call->args.at, call->args.len, "\\u0000", 6)))
        flow_next(flow);
    else if (accept_args(call, given))
        flow_next(flow);
}

void call_start(struct flow *flow, void *subject)
{
    struct call *call = subject;

    (void)flow;
    if (call->cancel_wanted)
        call_cancel_later(call);
    else if (call_begins_otherwise(call) || !grants_made(call))
        return; /* the stage is entered again, or the call ends */
    else if (call->live)
        live_on(call);
    else if (home_begin(call))
        call_run_begin(call);
}

/* --- the way in --- */

bool args_write(struct buf *out, const struct json *args)
{
    bool fits = !args || json_write(out, args);

    if (!args || !fits) {
        buf_clear(out);
        buf_add(out, STR("{}"));
    }
    return fits;
}

void engine_call(struct engine *engine, const struct call_spec *spec)
{
    struct buf args;

    buf_init(&args, ARGS_BYTES_MAX);
    bool fits = args_write(&args, spec->args);
    struct call *call = call_create(engine, spec, buf_str(&args));
    buf_finish(&args);
    engine->counts.calls_begun++;
    spec->caller->call = call;
    call->given = spec->args;
    call->stored = spec->opened;
    call->epoch = spec->opened ? 1 : 0;
    if (!fits) {
        call_outcome_fail(call, &(struct fault){ .status = NOD_E_LIMIT,
                                                 .message = STR("The arguments are larger than the "
                                                                "arguments of a call may be") });
        call_deliver(call);
        return;
    }
    enum store_quota quota = STORE_QUOTA_NONE;
    uint64_t most = 0;
    if (!spec->opened)
        quota = engine_full(engine, call->principal, &most);
    if (quota) {
        call_outcome_fail(call, &(struct fault){ .status = NOD_E_LIMIT,
                                                 .message = call_quota_message(call, quota, most),
                                                 .no_room = true });
        call_deliver(call);
        return;
    }
    if (!call_list(call)) {
        call_outcome_fail(
            call, &(struct fault){
                      .status = NOD_E_LIMIT,
                      .message = STR(
                          "This server has as many live calls as it may have; try again later") });
        call_refuse(call);
        return;
    }
    flow_start(&call->flow, &call_flow, engine->hooks, NULL, call);
}

void call_handed(struct call *call)
{
    call->handed = true;
    inner_handed(call);
}

void call_keep(struct call *call, int64_t keep_ms)
{
    call->keep_ms = keep_ms;
}

struct str call_id(const struct call *call)
{
    return id_str(&call->id);
}

struct str call_scope(const struct call *call)
{
    return call->scope;
}

const struct target *call_target(const struct call *call)
{
    return call->target;
}

struct caller *call_caller(const struct call *call)
{
    return call_top(call)->caller;
}

bool call_working(const struct call *call)
{
    return call->state == LIVE_RUNNING || call->state == LIVE_ASKING ||
           call->state == LIVE_NEEDING || call->state == LIVE_SAVING ||
           call->state == LIVE_FINISHING;
}

bool call_waiting(const struct call *call)
{
    return call->state == LIVE_WAITING;
}

bool call_looking(const struct call *call)
{
    return call->state == LIVE_TAKING;
}

bool call_is_stored(const struct call *call)
{
    return call->stored;
}

bool call_has_ended(const struct call *call)
{
    return call->ending && !call->ending->not_the_end;
}

struct str call_args(const struct call *call)
{
    return call->args;
}

struct str call_meta(const struct call *call)
{
    return str_n(call->args.at + call->args.len + 1, call->meta_len);
}

struct str call_uri(const struct call *call)
{
    return call->uri;
}

const struct entry *call_journal(const struct call *call, size_t *count)
{
    *count = call->journal.count;
    return call->journal.entries;
}
