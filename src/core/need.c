/*
 * core/need: see need.h.
 *
 * What was fetched for a call is a list of values, the newest first, that only grows at its front
 * and whose members count who holds them: the call, until a run of it has gone on to something
 * else, and each run, until it is freed. So a run on another thread can read its list although its
 * call is gone.
 */
#include "core/call_inside.h"

#include "base/mem.h"
#include "core/run_inside.h"

struct needed { /* what a source has said */
    const struct needed *next;
    unsigned held; /* by a call, runs, and the value in front of it */
    struct need_spec spec;
    nod_status status;
    struct hidden value;
    struct str message;
    size_t size;
};

/* --- what was fetched --- */

const struct needed *needed_hold(const struct needed *needed)
{
    if (needed)
        ((struct needed *)needed)->held++;
    return needed;
}

void needed_release(const struct needed *constant)
{
    while (constant) {
        struct needed *needed = (struct needed *)constant;
        if (--needed->held > 0)
            return;
        constant = needed->next;
        hidden_wipe(&needed->value);
        mem_free_sized(needed, needed->size);
    }
}

static const struct needed *needed_find(const struct needed *needed, const struct need_spec *spec,
                                        size_t *count)
{
    for (*count = 0; needed; needed = needed->next, ++*count)
        if (str_eq(needed->spec.source, spec->source) && str_eq(needed->spec.name, spec->name) &&
            str_eq(needed->spec.detail, spec->detail))
            return needed;
    return NULL;
}

void call_needs_forget(struct call *call)
{
    needed_release(call->needed);
    call->needed = NULL;
}

/* --- the run's side --- */

nod_status run_need(struct run *run, const struct need_spec *spec, struct str *value)
{
    size_t count;

    *value = STR_NONE;
    if (run->live)
        return run_fail(run, NOD_E_USAGE, NULL,
                        STR("A live run is begun once, and cannot be given such values"));
    if (run->step_done)
        return NOD_PENDING;
    if (!spec->name.len || spec->name.len > NEED_NAME_MAX)
        return run_fail_fmt(run, NOD_E_USAGE,
                            "A value that is not journalled needs a name of 1 to %d bytes",
                            NEED_NAME_MAX);
    if (spec->detail.len > NEED_DETAIL_MAX)
        return run_fail_fmt(run, NOD_E_USAGE,
                            "What is said of the value '" STR_FMT "' may have at most %d bytes",
                            STR_ARG(spec->name), NEED_DETAIL_MAX);
    const struct needed *needed = needed_find(run->needed, spec, &count);
    if (needed && needed->status == NOD_OK) {
        *value = hidden_str(&needed->value);
        return NOD_OK;
    }
    if (needed && needed->status == NOD_E_NOT_FOUND) {
        *value = arena_str(&run->arena, needed->message);
        return NOD_E_NOT_FOUND;
    }
    if (needed)
        return run_fail(run, needed->status, NULL, arena_str(&run->arena, needed->message));
    if (count >= NEEDS_OF_RUN_MAX)
        return run_fail_fmt(run, NOD_E_LIMIT,
                            "A handler may use at most %d values such as '" STR_FMT "' in one run",
                            NEEDS_OF_RUN_MAX, STR_ARG(spec->name));
    run->need = (struct need_spec){ arena_str(&run->arena, spec->source),
                                    arena_str(&run->arena, spec->name),
                                    arena_str(&run->arena, spec->detail) };
    if (run->arena.exhausted)
        return run_fail_fmt(run, NOD_E_LIMIT, "The run has used up its memory");
    run->need_more = run->step_done = true;
    return NOD_PENDING;
}

/* --- the call's side --- */

bool engine_add_need_source(struct engine *engine, struct need_source *source)
{
    for (size_t i = 0; i < engine->need_source_count; i++)
        if (strcmp(engine->need_sources[i]->name, source->name) == 0)
            return false;
    if (engine->need_source_count >= NEED_SOURCES_MAX)
        return false;
    engine->need_sources[engine->need_source_count++] = source;
    return true;
}

static struct need_source *source_of(const struct engine *engine, struct str name)
{
    for (size_t i = 0; i < engine->need_source_count; i++)
        if (str_eq(str_of(engine->need_sources[i]->name), name))
            return engine->need_sources[i];
    return NULL;
}

static void need_free(struct need *need)
{
    need->call->need = NULL;
    mem_free_sized(need, need->size);
}

/* The run that came to the need is over: the stack is clear, and the target runs again. */
static void run_again(struct due *due)
{
    struct call *call = HEAP_OF(&due->node, struct call, timeout.node);

    if (call->cancel_wanted)
        call_end_cancelled(call);
    else
        flow_again(&call->flow);
}

static void needed_add(struct call *call, const struct need_spec *spec, nod_status status,
                       struct str value, struct str message)
{
    struct hidden hidden = { 0 };

    if (message.len > NEED_MESSAGE_MAX)
        message.len = NEED_MESSAGE_MAX;
    if (status == NOD_PENDING || status > NOD_OK) {
        status = NOD_E_FAILED;
        message = STR("The source of the value does not say how it went");
    }
    if (status == NOD_OK && !hidden_copy(&hidden, value)) {
        status = NOD_E_LIMIT;
        message = STR("The value is larger than such a value may be");
    }
    size_t size = sizeof(struct needed) + spec->source.len + spec->name.len + spec->detail.len +
                  message.len + 4;
    struct needed *needed = mem_zalloc(size);
    char *at = (char *)(needed + 1);
    needed->spec.source = str_place(&at, spec->source);
    needed->spec.name = str_place(&at, spec->name);
    needed->spec.detail = str_place(&at, spec->detail);
    needed->message = str_place(&at, message);
    needed->status = status;
    needed->value = hidden;
    needed->size = size;
    needed->held = 1;
    needed->next = call->needed; /* which the call held */
    call->needed = needed;
}

void need_done(struct need *need, nod_status status, struct str value, struct str message)
{
    struct call *call = need->call;

    needed_add(call, &need->spec, status, value, message);
    need_free(need);
    due_set(call->engine, &call->timeout, 0, run_again);
}

void call_need_drop(struct call *call)
{
    struct need *need = call->need;

    if (!need)
        return;
    if (need->source->dropped)
        need->source->dropped(need->source, need);
    need_free(need);
}

/* What the run recorded was seen by nobody: the next run records it again. */
void call_need_fetch(struct call *call)
{
    const struct need_spec *spec = &call->run->need;
    size_t size = sizeof(struct need) + spec->source.len + spec->name.len + spec->detail.len + 3;
    struct need *need = mem_zalloc(size);
    char *at = (char *)(need + 1);

    need->engine = call->engine;
    need->call = call;
    need->spec.source = str_place(&at, spec->source);
    need->spec.name = str_place(&at, spec->name);
    need->spec.detail = str_place(&at, spec->detail);
    need->principal = call->principal;
    need->call_id = id_str(&call->id);
    need->tool = call->target->name;
    need->size = size;
    call_run_free(call);
    call_enter(call, LIVE_NEEDING);
    call->need = need;
    need->source = source_of(call->engine, need->spec.source);
    if (need->source)
        need->source->fetch(need->source, need);
    else
        need_done(need, NOD_E_NOT_SUPPORTED, STR_NONE,
                  STR("This server has nothing that such a value could come from"));
}
