/*
 * provider/handler_step: effects that are done once, and values that stay the same.
 *
 * If the result of a step is journalled, it is returned. Otherwise the effect is done now, its
 * result is recorded, and the run is over. The handler is run again when the result is committed,
 * so nothing is ever done because of a result that could still be lost.
 *
 * Only nod_step may call the function of a step. If a handler calls it directly, its effect is
 * outside of any step and happens on every run. That is noticed when the function uses its step,
 * because there is none.
 *
 * A failure is a result too. Its message (from nod_reply_error inside the step) is journalled with
 * it.
 */
#include "base/crash.h"
#include "base/log.h"
#include "provider/at_work.h"
#include "provider/local_inside.h"

struct nod_step_run {
    nod_call *call;
    const char *key;          /* for the other side: made from the call id and the step's key */
    const nod_answer *answer; /* of nod_each; else NULL */
    struct str result;
    struct str error;
};

static _Thread_local struct nod_step_run *step_now; /* that this thread is inside of */

/* Is it the running step? It may be one that is over, so the pointer is only compared. */
static bool is_running(const nod_step_run *step, const char *function)
{
    if (step && step == step_now)
        return true;
    LOG_ERROR("the function of a step was called outside of nod_step",
              LOG_CSTR("function", function));
    nod_call *call = at_work_call();
    if (call)
        run_bug(call->run,
                "The %s " STR_FMT " calls the function of a step itself (%s has no step that "
                "runs): what it does is done again on each run. Give it to nod_step",
                call_what(call), STR_ARG(call_name(call)), function);
    return false;
}

const char *nod_step_key(const nod_step_run *step)
{
    return is_running(step, "nod_step_key") ? step->key : "";
}

nod_call *nod_step_call(nod_step_run *step)
{
    return is_running(step, "nod_step_call") ? step->call : at_work_call();
}

void nod_step_result(nod_step_run *step, const nod_json *result)
{
    if (is_running(step, "nod_step_result"))
        step->result = result ? call_json(step->call, json_in(result)) : STR_NONE;
}

const nod_answer *nod_step_answer(const nod_step_run *step)
{
    return is_running(step, "nod_step_answer") ? step->answer : NULL;
}

void step_error(struct nod_step_run *step, struct str text)
{
    step->error = text;
}

static nod_status give_back(nod_call *call, const struct entry *entry, const nod_json **result)
{
    struct json *content = entry->content.len ? call_parse(call, entry->content) : NULL;

    if (entry->status == NOD_OK) {
        if (result)
            *result = json_out(content);
        return NOD_OK;
    }
    struct str message = json_get_str(content, STR("message"));
    if (!message.len)
        message = arena_fmt(&call->run->arena,
                            "The step '" STR_FMT "' of " STR_FMT
                            " failed without saying why (%s). A step says it with "
                            "nod_reply_error(nod_step_call(step), ...)",
                            STR_ARG(entry->key), STR_ARG(call_name(call)),
                            nod_status_name(entry->status));
    return run_fail(call->run, entry->status, NULL, message);
}

static struct str failure_text(nod_call *call, struct str message)
{
    struct arena *arena = &call->run->arena;
    struct json *failure = json_new_object(arena);

    if (!message.len)
        return STR_NONE;
    json_set(arena, failure, STR("message"), json_new_str(arena, message));
    return call_json(call, failure);
}

static nod_status do_it(nod_call *call, struct str key, const struct step_spec *spec)
{
    struct nod_step_run step = { .call = call, .answer = spec->answer };

    step.key = nod_fmt(call, STR_FMT ":" STR_FMT STR_FMT, STR_ARG(call->run->call_id),
                       STR_ARG(call->run->prefix), STR_ARG(key));
    call->step = step_now = &step;
    CRASH_POINT(effect_before);
    nod_status status = spec->fn(&step, spec->arg);
    CRASH_POINT(effect_after);
    if (call->local->stepped)
        call->local->stepped(call->local->stepped_data, step.key);
    call->step = step_now = NULL;
    call->stopped = true;
    if (status > NOD_OK || status < NOD_E_FAILED || status == NOD_PENDING) {
        run_bug(call->run,
                "The step '" STR_FMT "' of " STR_FMT
                " returned %d: a step ends with NOD_OK or an error",
                STR_ARG(key), STR_ARG(call_name(call)), (int)status);
        status = NOD_E_USAGE;
    }
    if (status == NOD_OK && step.error.at)
        status = NOD_E_FAILED;
    status = run_step_done(call->run, key, status,
                           status == NOD_OK ? step.result : failure_text(call, step.error));
    if (status != NOD_PENDING) {
        struct run *run = call->run;
        run_fail(
            run, status, NULL,
            arena_fmt(
                &run->arena,
                "The step '" STR_FMT
                "' was done, but its result is larger than the journal of a call may be. " STR_FMT,
                STR_ARG(key), STR_ARG(run->fault.message)));
        call->broken = status; /* the handler must not be run again */
    }
    return status;
}

nod_status call_step(nod_call *call, const struct step_spec *spec, const nod_json **result,
                     bool *ended)
{
    const struct entry *entry;
    bool go;

    NOD_TRY(call_check_key(call, "does a step", spec->key));
    call->step_key =
        arena_str(&call->run->arena, spec->key); /* the author's text may be gone by then */
    nod_status status =
        run_step(call->run, spec->key, spec->at_most_once, spec->idempotent, &entry, &go);
    *ended = status == NOD_OK || status == NOD_E_OUTCOME_UNKNOWN;
    if (status == NOD_OK)
        return give_back(call, entry, result);
    if (status == NOD_PENDING && go)
        return do_it(call, spec->key, spec);
    call->stopped |= status == NOD_PENDING;
    return status;
}

nod_status nod_step_with(nod_call *call, const char *key, nod_step_fn *fn, void *arg,
                         const nod_json **result, const struct nod_step_opts *given)
{
    struct nod_step_opts opts;
    bool ended;

    OPTS_READ(opts, given);
    if (result)
        *result = NULL;
    NOD_TRY(call_may_ask(call, "nod_step"));
    if (!key || !*key || !fn) {
        run_bug(call->run, "The %s " STR_FMT " calls nod_step without a key or a function",
                call_what(call), STR_ARG(call_name(call)));
        return NOD_E_USAGE;
    }
    return call_step(call,
                     &(struct step_spec){ .key = call_text(call, key),
                                          .fn = fn,
                                          .arg = arg,
                                          .at_most_once = opts.at_most_once,
                                          .idempotent = opts.idempotent },
                     result, &ended);
}

nod_status nod_now(nod_call *call, int64_t *ms)
{
    *ms = 0;
    NOD_TRY(call_may_ask(call, "nod_now"));
    return run_now(call->run, ms);
}

nod_status nod_random(nod_call *call, uint64_t *bits)
{
    *bits = 0;
    NOD_TRY(call_may_ask(call, "nod_random"));
    return run_random(call->run, bits);
}
