/*
 * core/call_hooks: the stages of a call, as its hooks see them.
 *
 *     accept ▶ authorise ▶ gate ▶ start ▶ finish
 *
 * Hooks at authorise decide who may call what; policies are such hooks. Hooks at the gate may ask a
 * person before the call starts (gate.c).
 *
 * After a restart, or on another node, a call goes on at the gate. Its hooks of gate and start are
 * called again then; those of accept and authorise are not. So arguments can be written only at
 * gate and start, where the same change is made again. It counts for the runs of the call. The
 * call's record keeps what the client has sent.
 *
 * If a hook ends the flow, the call jumps to its last stage with that error as its outcome. So the
 * hooks of finish see every end.
 */
#include "core/call_inside.h"

#include "base/mem.h"
#include "json/schema.h"

enum { ARGS_WRITTEN_MAX = 16 << 20 }; /* memory of arguments that a hook writes, as a tree */

enum { ACCEPT, AUTHORISE, GATE, START, FINISH };

struct str call_args_now(const struct call *call)
{
    return call->args_now ? str_of(call->args_now) : call->args;
}

bool call_has_outcome(const struct call *call)
{
    const struct ending *ending = call->ending;

    return ending && (ending->outcome.status != NOD_OK || ending->outcome.body.len);
}

bool call_awaits_hook(const struct call *call)
{
    if (flow_awaits_hook(&call->flow))
        return true;
    if (call->state != LIVE_ASKING)
        return false;
    LIST_EACH (at, &call->asks)
        if (flow_awaits_hook(&LIST_OF(at, struct ask, link)->flow))
            return true;
    return false;
}

void call_refused(struct call *call, const struct flow *flow, nod_status status)
{
    struct arena *arena = &call_ending(call)->arena;
    const struct fault *said = flow_fault(flow);
    struct fault fault = said ? *said : (struct fault){ .status = status };

    if (fault.code)
        fault.code = arena_str(arena, str_of(fault.code)).at;
    if (!fault.message.len)
        fault.message = arena_fmt(arena, "Refused by a hook at the stage %s", flow_stage(flow));
    call_outcome_fail(call, &fault);
}

/* --- the table --- */

static bool unhooked(const void *subject)
{
    const struct call *call = subject;

    return call->target->inside;
}

static void call_describe(void *subject, struct hook_view *view)
{
    const struct call *call = subject;

    view->call_id = id_str(&call->id);
    view->target = call->target->name;
    view->principal = call->principal;
    view->uri = call->uri;
    view->args = call_args_now(call);
    view->ended = call_has_outcome(call);
    if (view->ended) {
        view->status = call->ending->outcome.status;
        view->result = call->ending->outcome.body;
        view->error = call->ending->outcome.message;
    }
}

static nod_status args_check(const struct call *call, struct str text, struct arena *arena,
                             struct str *why)
{
    struct schema_problems problems = { 0 };
    const struct json *args = json_parse(arena, text, NULL, NULL);

    if (!args || args->type != JSON_OBJECT) {
        *why = STR("Arguments must be an object");
        return NOD_E_INVALID;
    }
    if (!args_leave_room(call, text, args, arena)) {
        *why = arena_fmt(arena, "The arguments need more memory than the %zu bytes they may take",
                         args_room(call));
        return NOD_E_LIMIT;
    }
    if (args_fit(call, args, arena, &problems))
        return NOD_OK;
    *why = problems.count ? arena_fmt(arena,
                                      "The arguments that a hook wrote for " STR_FMT
                                      " do not fit: " STR_FMT ": " STR_FMT,
                                      STR_ARG(call->target->name), STR_ARG(problems.at[0].path),
                                      STR_ARG(problems.at[0].message))
                          : STR("The arguments that a hook wrote do not fit");
    return NOD_E_INVALID;
}

static void args_drop(struct call *call)
{
    mem_free(call->args_now);
    call->args_now = NULL;
}

static void anew(void *subject)
{
    struct call *call = subject;

    args_drop(call);
    call_heard_drop(call);
}

static nod_status write_args(struct call *call, struct str text, struct arena *words,
                             struct str *why)
{
    struct arena arena;

    arena_init(&arena, ARGS_WRITTEN_MAX);
    nod_status status = args_check(call, text, &arena, why);
    if (status == NOD_OK) {
        args_drop(call);
        call->args_now = str_dup(text);
    } else {
        *why = arena_str(words, *why);
    }
    arena_finish(&arena);
    return status;
}

static nod_status write_result(struct call *call, struct str text, struct arena *arena,
                               struct str *why)
{
    const struct json *body = json_parse(arena, text, NULL, NULL);

    if (!body || body->type != JSON_OBJECT) {
        *why = STR("A result must be an object that fits into the memory of a hook");
        return NOD_E_INVALID;
    }
    call_outcome_ok(call, text);
    return NOD_OK;
}

static nod_status call_write(void *subject, size_t stage, enum hook_field field, struct str text,
                             struct arena *arena, struct str *why)
{
    struct call *call = subject;
    bool running = call->state == LIVE_FINISHING || call_has_outcome(call);

    if (field == HOOK_ARGS && (stage == GATE || stage == START) && !running)
        return write_args(call, text, arena, why);
    if (field == HOOK_RESULT && (stage == START || stage == FINISH) &&
        call->state != LIVE_FINISHING)
        return write_result(call, text, arena, why);
    *why = field == HOOK_ARGS
               ? STR("Arguments can be written at gate, or at start before the tool has run")
           : field == HOOK_RESULT ? STR("A result can be written at start, or before finish")
                                  : STR("A call has no such field");
    return NOD_E_USAGE;
}

static nod_status stands(void *subject)
{
    const struct call *call = subject;

    return call_has_outcome(call) ? call->ending->outcome.status : NOD_OK;
}

static bool call_halted(void *subject)
{
    struct call *call = subject;

    if (call->state == LIVE_CANCELLING)
        return true;
    if (!call->cancel_wanted || call->flow.at == FINISH)
        return false;
    call_cancel_later(call);
    return true;
}

static void keep(void *subject)
{
    struct call *call = subject;

    call->given = NULL; /* the tree belongs to the caller of engine_call, which does not wait */
}

static void ask(void *subject, struct run *run)
{
    struct call *call = subject;

    call->run = run;
    call_pending(call);
}

static const struct stage stages[] = {
    [ACCEPT] = { "accept", call_accept, .needed = true }, [AUTHORISE] = { "authorise", NULL },
    [GATE] = { "gate", NULL, .replays = true },           [START] = { "start", call_start },
    [FINISH] = { "finish", call_finish, .needed = true },
};

const struct flow_table call_flow = { .id = NOD_FLOW_CALL,
                                      .done = call_flow_done,
                                      .stages = stages,
                                      .count = sizeof(stages) / sizeof(stages[0]),
                                      .unhooked = unhooked,
                                      .describe = call_describe,
                                      .write = call_write,
                                      .stands = stands,
                                      .halted = call_halted,
                                      .keep = keep,
                                      .ask = ask,
                                      .heard = call_heard,
                                      .anew = anew };
