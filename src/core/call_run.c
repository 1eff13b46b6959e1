/*
 * core/call_run: running a call. A run is made, handed to its provider, timed, and ended.
 *
 * What a run leaves behind is stored by call_save.c (results of steps) and call_asks.c (questions).
 * Then the call's stage is entered again with the longer journal. What a run may look up and record
 * while it is with its provider is in run_journal.c.
 *
 * Holds always: a run belongs to at most one call. If the call drops its run, the run forgets its
 * call, so a late run_done changes nothing.
 */
#include "core/grant_inside.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"

enum { DEFAULT_TIMEOUT_MS = 60000 }; /* for work, if the target sets no timeout */

void call_run_over(struct call *call)
{
    if (call->run_over)
        *call->run_over = true;
    call->run_over = NULL;
    due_stop(call->engine, &call->timeout);
}

void call_run_free(struct call *call)
{
    if (call->run)
        run_free(call->run);
    call->run = NULL;
}

void call_run_drop(struct call *call)
{
    struct run *run = call->run;

    call_run_over(call);
    live_drop(call);
    if (!run || call->state != LIVE_RUNNING) {
        call_run_free(call);
        return;
    }
    call->run = NULL;
    run->call = NULL;
    run->left = call->journal; /* the provider may be reading the journal right now */
    call->journal = (struct journal){ 0 };
    atomic_store(&run->cancelled, true);
    if (run->target->provider->ops->cancelled)
        run->target->provider->ops->cancelled(run->target->provider, run);
}

static int64_t ask_ttl_of(const struct call *call)
{
    const struct caller_ops *ops = call->caller->ops;
    int64_t least = call->engine->opts.ask_ttl_ms;

    if (call->target->ask_ttl_ms) /* the author's word counts, as that of a single question does */
        return call->target->ask_ttl_ms;
    int64_t wanted = ops->ask_ttl_ms ? ops->ask_ttl_ms(call->caller, call) : 0;

    if (wanted > RUN_TTL_MAX_MS)
        wanted = RUN_TTL_MAX_MS;
    return wanted > least ? wanted : least;
}

/* The journal that is lent to a run counts against the memory of the run. */
static void run_journal(struct run *run, const struct journal *journal)
{
    run->journal = journal->entries;
    run->journal_count = journal->count;
    run->journal_bytes = journal->bytes;
    if (journal->bytes > run->arena.cap)
        run->arena.exhausted = true;
    else
        run->arena.cap -= journal->bytes;
}

struct run *run_create(struct call *call)
{
    struct engine *engine = call->engine;
    struct run *run = MEM_NEW(struct run);
    struct arena *arena = &run->arena;
    struct json_error error;

    arena_init(arena, engine->opts.limits.run_bytes);
    run_journal(run, &call->journal);
    run->engine = engine;
    run->call = call;
    run->target = call->target;
    target_hold(call->target);
    run->call_id = arena_str(arena, id_str(&call->id));
    run->principal = arena_str(arena, call->principal);
    run->uri = arena_str(arena, call->uri);
    run->args = json_parse(arena, arena_str(arena, call_args_now(call)), NULL, &error);
    run->meta = arena_str(arena, call_meta(call));
    run->args_changed = call->args_now != NULL;
    run->client = call->client_kinds = call_find_askable(call);
    run->supports = call->supports;
    run->supports_consent = call->supports_consent;
    run->lacks_role = call->lacks_role;
    run->roles = call_roles(call);
    run->model = call->model;
    run->instead_of_model = engine_instead_of_model(engine);
    run->fresh_intent = call->fresh_intent;
    run->portable = call->portable;
    run->carried = call->carries;
    run->notices_sent = call->notices;
    run->needed = needed_hold(call->needed);
    run->hold_steps = call->steps == STEPS_STOP;
    if (!call->stored && engine_ready(engine, &run->store_away))
        run->store_away = STR_NONE;
    run->ask_ttl_ms = ask_ttl_of(call);
    run->allowed_fields = call->engine->opts.allow_fields;
    run->checked = &engine->checked;
    run->pages = engine->pages.kinds;
    run->pages_shut =
        engine->pages.may_open && !engine->pages.may_open(engine->pages.data, call->principal);
    struct journal_limits limits = engine_journal_limits(engine, call->target);
    run->entries_max = limits.entries;
    run->bytes_max = limits.bytes;
    run->clock = engine->clock;
    run->store_ahead_ms = engine_now(engine) - clock_wall(engine->clock);
    run->emit = run_emit;
    atomic_init(&run->cancelled, false);
    return run;
}

void run_free(struct run *run)
{
    target_release((struct target *)run->target);
    arena_finish(&run->arena);
    journal_finish(&run->left);
    needed_release(run->needed);
    MEM_DELETE(run);
}

void run_emit(struct run *run, const struct notice *notice)
{
    struct call *call = run->call;
    struct notice told = *notice;

    if (call && call->caller->ops->notify &&
        (notice->kind != NOTICE_PROGRESS || inner_progress(call, &told)))
        call->caller->ops->notify(call->caller, call, &told);
}

/* A run that is under way has the time of the target that it began with. */
static int64_t timeout_of(const struct call *call)
{
    const struct target *target = call->run ? call->run->target : call->target;

    return target->timeout_ms > 0 ? target->timeout_ms : DEFAULT_TIMEOUT_MS;
}

static void timed_out(struct call *call)
{
    struct str message =
        arena_fmt(&call_ending(call)->arena, STR_FMT " did not finish within %lld ms of work",
                  STR_ARG(call->target->name), (long long)timeout_of(call));
    call_fail(call, NOD_E_TIMEOUT, "TOOL_TIMEOUT", message);
}

static void timeout_fired(struct due *due)
{
    struct call *call = HEAP_OF(&due->node, struct call, timeout.node);

    call_run_drop(call);
    call_enter(call, LIVE_ASKING); /* no longer with the provider */
    timed_out(call);
}

void call_clock_start(struct call *call)
{
    int64_t left = timeout_of(call) - call->worked_ms;

    call->run_began = clock_mono(call->engine->clock);
    due_set(call->engine, &call->timeout, left > 0 ? left : 0, timeout_fired);
}

void call_clock_stop(struct call *call)
{
    due_stop(call->engine, &call->timeout);
    call->worked_ms += clock_mono(call->engine->clock) - call->run_began;
}

void call_run_begin(struct call *call)
{
    struct engine *engine = call->engine;
    struct provider *provider = call->target->provider;
    int64_t left = timeout_of(call) - call->worked_ms;
    bool over = false;

    if (engine->stopping) {
        call_stand_down(call);
        return;
    }
    if (call_may_be_lost(call))
        return;
    call->run = run_create(call);
    call_enter(call, LIVE_RUNNING);
    if (call->run->arena.exhausted) { /* a handler must not run without its whole journal */
        run_done(call->run, NOD_E_LIMIT, STR_NONE);
        return;
    }
    if (call->target->live) {
        live_begin(call);
        return;
    }
    call->run_began = clock_mono(engine->clock);
    call->run_over = &over;
    provider->ops->start(provider, call->run);
    if (over) /* run_done has come, and the call may be gone */
        return;
    call->run_over = NULL;
    due_set(engine, &call->timeout, left > 0 ? left : 0, timeout_fired);
}

void call_pending(struct call *call)
{
    const struct run *run = call->run;

    if (!run->need_more)
        call_needs_forget(call);
    if (run->step_held) {
        call_hold_steps(call);
    } else if (run->news.asks == 0 && !run->need_more &&
               (!run->step_done || run->news.entries == 0)) {
        struct str message = arena_fmt(
            &call_ending(call)->arena,
            STR_FMT " returned NOD_PENDING without having asked anything: a handler returns it "
                    "only when a nod_ function gave it",
            STR_ARG(call->target->name));
        call_run_free(call);
        call_fail(call, NOD_E_USAGE, NULL, message);
    } else if (call_asks_in_vain(call)) {
        return;
    } else if (call->worked_ms >= timeout_of(call)) {
        call_run_free(call);
        timed_out(call);
    } else if (run->need_more) {
        call_need_fetch(call);
    } else if (run->news.asks) {
        grants_look(call);
    } else {
        call_save(call);
    }
}

/* A handler may take it for a no and go on: the operator is told that nobody said it. Once a call.
 */
void call_unasked(struct call *call, const struct run *run)
{
    if (!run->unasked.len || call->unasked)
        return;
    call->unasked = true;
    LOG_WARN("nobody could be asked", LOG_STR("why", run->unasked),
             LOG_STR("target", call->target->name), LOG_IF("plugin", call->target->from),
             LOG_STR("principal", call->principal), LOG_STR("call", id_str(&call->id)));
}

void call_outcome_of(struct call *call, const struct run *run, nod_status status, struct str body)
{
    if (run->bug.at) {
        call_outcome_fail(call, &(struct fault){ .status = NOD_E_USAGE, .message = run->bug });
    } else if (run->arena.exhausted) {
        call_outcome_fail(
            call,
            &(struct fault){ .status = NOD_E_LIMIT,
                             .message = arena_fmt(
                                 &call_ending(call)->arena,
                                 "The run has used up the %zu bytes of memory that a run may have",
                                 call->engine->opts.limits.run_bytes) });
    } else if (status == NOD_OK && body.len) {
        call_outcome_ok(call, body);
    } else if (status == NOD_OK) {
        call_outcome_fail(call, &(struct fault){ .status = NOD_E_USAGE,
                                                 .message = STR("The handler gave no reply") });
    } else {
        struct fault fault = run->fault;

        if (fault.status != status)
            fault = (struct fault){ .status = status,
                                    .message = arena_fmt(
                                        &call_ending(call)->arena, STR_FMT " failed: %s",
                                        STR_ARG(call->target->name), nod_status_name(status)) };
        call_outcome_fail(call, &fault);
    }
}

void run_done(struct run *run, nod_status status, struct str body)
{
    struct call *call = run->call;

    if (!call) { /* the call has ended in the meantime */
        run_free(run);
        return;
    }
    if (run->live) {
        live_done(run, status, body);
        return;
    }
    call_run_over(call);
    call->worked_ms += clock_mono(call->engine->clock) - call->run_began;
    if (run->notice_ordinal > call->notices)
        call->notices = run->notice_ordinal;
    call_enter(call, LIVE_ASKING); /* no longer with the provider */

    call_unasked(call, run);
    bool kept = !run->arena.exhausted || run->step_done; /* what was done is stored in any case */
    if (status == NOD_PENDING && !run->bug.at && kept) {
        call_pending(call);
        return;
    }
    call_outcome_of(call, run, status, body);
    call_run_free(call);
    call_needs_forget(call);
    flow_jump(&call->flow, "finish");
}
