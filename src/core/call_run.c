/*
 * core/call_run: a call runs, waits, and runs again.
 *
 * A run that recorded asks is parked: entries and asks are committed in one transition, and only
 * then is anybody told. A run that did a step has its result appended, and the call is run again at
 * once. When the last pending ask has ended, the claim takes the call (take.c) and its stage is
 * entered again with the longer journal.
 *
 * Holds always: at most one store operation of a call is under way. A run belongs to at most one
 * call, and a call that let go of its run has taken the run's way back, so a late run_done changes
 * nothing.
 */
#include "core/inside.h"

#include <limits.h>

#include "base/crash.h"
#include "base/mem.h"
#include "core/catalog.h"

enum { DEFAULT_TIMEOUT_MS = 60000 }; /* of work, where the target says nothing */

void call_saving_free(struct call *call)
{
    if (!call->saving_lent)
        mem_free(call->saving); /* and the entries, which stand behind */
    call->saving_lent = false;
    call->saving = NULL;
    call->saving_entries = NULL;
}

void call_run_over(struct call *call)
{
    if (call->run_over)
        *call->run_over = true;
    call->run_over = NULL;
    due_stop(call->engine, &call->timeout);
}

/* Lets go of the run without waiting for it: its run_done will find no call. */
void call_run_detach(struct call *call)
{
    struct run *run = call->run;

    call_run_over(call);
    call->run = NULL;
    if (!run)
        return;
    if (call->state != LIVE_RUNNING) {
        run_free(run);
        return;
    }
    run->call = NULL;
    run->left = call->journal; /* it may be reading that right now */
    call->journal = (struct journal){ 0 };
    atomic_store(&run->cancelled, true);
    if (run->target->provider->ops->cancelled)
        run->target->provider->ops->cancelled(run->target->provider, run);
}

static void call_fail_run(struct call *call, const struct run *run, nod_status status)
{
    struct fault fault = run->fault;

    if (fault.status != status)
        fault = (struct fault){ .status = status,
                                .message = arena_fmt(
                                    &call_ending(call)->arena, STR_FMT " failed: %s",
                                    STR_ARG(call->target->name), nod_status_name(status)) };
    call_outcome_fail(call, &fault);
}

static unsigned kinds_of(struct surface *surface, const struct call *call)
{
    unsigned kinds = 0;

    if (surface->ops->kinds)
        return surface->ops->kinds(surface, call);
    for (int kind = ASK_FORM; kind <= ASK_ROOTS; kind++)
        if (surface->ops->can(surface, call, (enum ask_kind)kind))
            kinds |= 1u << kind;
    return kinds;
}

/* What can be asked of the person behind this call. A caller that is gone may come back: until then
 * it can do what it could. */
static void supports(struct call *call)
{
    const struct engine *engine = call->engine;

    if (call_is_alone(call))
        return;
    call->supports = call->supports_consent = 0;
    for (size_t i = 0; i < engine->surface_count; i++) {
        struct surface *surface = engine->surfaces[i];
        unsigned kinds = kinds_of(surface, call);
        call->supports |= kinds;
        if (!surface->ops->model) /* whose word is no consent */
            call->supports_consent |= kinds;
    }
}

/* --- runs --- */

static int64_t ask_ttl_of(const struct call *call)
{
    const struct caller_ops *ops = call->caller->ops;
    int64_t least = call->engine->opts.ask_ttl_ms;
    int64_t wanted = ops->ask_ttl_ms ? ops->ask_ttl_ms(call->caller, call) : 0;

    if (wanted > RUN_TTL_MAX_MS)
        wanted = RUN_TTL_MAX_MS;
    return wanted > least ? wanted : least;
}

/* What it is lent counts against the memory of a run like what it makes itself. */
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
    run->args = json_parse(arena, arena_str(arena, call->args), NULL, &error);
    supports(call);
    run->supports = call->supports;
    run->supports_consent = call->supports_consent;
    run->fresh_intent = call->fresh_intent;
    run->portable = call->portable;
    run->carried = call->caller->ops->carries;
    run->notices_sent = call->notices;
    run->hold_steps = call->hold_steps;
    run->ask_ttl_ms = ask_ttl_of(call);
    run->allowed_fields = call->engine->allowed_fields;
    run->entries_max = engine->opts.limits.journal_entries;
    run->bytes_max = engine->opts.limits.journal_bytes;
    run->clock = engine->clock;
    run->emit = run_emit;
    atomic_init(&run->cancelled, false);
    return run;
}

void run_free(struct run *run)
{
    target_release((struct target *)run->target);
    arena_finish(&run->arena);
    journal_finish(&run->left);
    MEM_DELETE(run);
}

void run_emit(struct run *run, const struct notice *notice)
{
    struct call *call = run->call;

    if (call && call->caller->ops->notify)
        call->caller->ops->notify(call->caller, call, notice);
}

static int64_t timeout_of(const struct call *call)
{
    return call->target->timeout_ms > 0 ? call->target->timeout_ms : DEFAULT_TIMEOUT_MS;
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

    call_run_detach(call);
    call->state = LIVE_ASKING; /* no longer with the provider */
    timed_out(call);
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
    call->run = run_create(call);
    call->state = LIVE_RUNNING;
    if (call->run->arena.exhausted) { /* without its whole journal a handler must not run */
        run_done(call->run, NOD_E_LIMIT, STR_NONE);
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

/* --- waiting: asks are parked, steps appended --- */

void call_tell_waiting(struct call *call, bool waiting)
{
    if (call->told_waiting == waiting)
        return;
    call->told_waiting = waiting;
    if (call->caller->ops->waiting)
        call->caller->ops->waiting(call->caller, call, waiting);
}

struct call_record call_record_of(const struct call *call)
{
    return (struct call_record){ .id = id_str(&call->id),
                                 .principal = call->principal,
                                 .scope = call->scope,
                                 .kind = call->target->kind,
                                 .target = call->target->name,
                                 .args = call->args,
                                 .uri = call->uri,
                                 .caller = call->caller_record };
}

/* Its asks have their places in the caller's stream. */
static void asks_number(struct call *call)
{
    const struct caller_ops *ops = call->caller->ops;

    if (!ops->reserve)
        return;
    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        if (!ask->record.seq)
            ask->record.seq = ops->reserve(call->caller, call);
    }
}

static void saving_fill(struct call *call)
{
    const struct run_list *news = &call->run->news;
    size_t at = 0;

    asks_number(call);
    call_saving_free(call);
    call->saving_count = news->entries;
    call->saving_asks = news->asks;
    if (news->asks == 1 && news->entries == 0) { /* mostly */
        call->saving = &call_ask_first(call)->record;
        call->saving_lent = true;
        return;
    }
    call->saving =
        mem_alloc(news->asks * sizeof(struct ask_record) + news->entries * sizeof(struct entry));
    call->saving_entries = (struct entry *)(call->saving + news->asks);
    for (const struct run_item *item = news->first; item; item = item->next)
        if (!item->is_ask)
            call->saving_entries[at++] = item->entry;
    at = 0;
    LIST_EACH (link, &call->asks)
        call->saving[at++] = LIST_OF(link, struct ask, link)->record;
}

static void saved(struct call *call)
{
    call_saving_free(call);
    if (call->run)
        run_free(call->run);
    call->run = NULL;
    if (!call->stored)
        call->epoch = 1;
    call->stored = true;
}

/* What was saved is part of the journal now. */
static void journal_grow(struct call *call)
{
    struct journal longer;

    if (call->saving_count == 0)
        return;
    journal_make(&longer, call->journal.entries, call->journal.count, call->saving_entries,
                 call->saving_count);
    journal_finish(&call->journal);
    call->journal = longer;
}

static void asks_drop(struct call *call)
{
    LIST_EACH (at, &call->asks)
        ask_free(LIST_OF(at, struct ask, link));
}

/* Which bound it was, and what sets it. */
static struct str quota_message(struct call *call, enum store_quota quota, uint64_t most)
{
    bool all = quota == STORE_QUOTA_ALL;

    return arena_fmt(&call_ending(call)->arena,
                     "%s, %llu, are waiting for an answer (%s): try again when some are answered",
                     all ? "As many questions as may be asked in all"
                         : "As many questions as one principal may have",
                     (unsigned long long)most, all ? "--pending" : "--pending-per-principal");
}

static void store_failed(struct call *call, nod_status status, const struct store_reply *reply,
                         const char *what)
{
    const char *store = call->engine->store->ops->name;
    struct str message;

    if (status == NOD_E_STORE)
        message = arena_fmt(&call_ending(call)->arena,
                            "The %s store did not take %s; try the call again later", store, what);
    else if (status == NOD_E_LIMIT && reply->quota != STORE_QUOTA_NONE)
        message = quota_message(call, reply->quota, reply->quota_most);
    else if (status == NOD_E_LIMIT)
        message =
            arena_fmt(&call_ending(call)->arena,
                      "The %s store refused %s: it is larger than a record may be", store, what);
    else
        message = arena_fmt(&call_ending(call)->arena, "The %s store refused %s: %s", store, what,
                            nod_status_name(status));
    call_fail(call, status, NULL, message);
}

int64_t call_keep_for(const struct call *call)
{
    int64_t longest = 0;

    for (size_t i = 0; i < call->saving_asks; i++) {
        const struct ask_record *ask = &call->saving[i];
        int64_t left = ask->expires_ms ? ask->expires_ms - engine_now(call->engine) : ask->ttl_ms;
        if (left > longest)
            longest = left;
    }
    int64_t more = call->keep_ms + (call->saving_asks ? call->keep_asked_ms : 0);
    return more > 0 ? longest + more : 0;
}

/* A new call fails when the store is away. One that has learned something waits until it is back.
 */
static void keep_trying(struct call *call)
{
    if (call->stored && engine_survives(call->engine))
        call->op.most = INT_MAX;
}

static void park_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;
    struct call_record open = call_record_of(call);

    CRASH_POINT(ask_before);
    engine->store->ops->park(engine->store,
                             &(struct park_spec){ .token = id_str(&op->token),
                                                  .open = call->stored ? NULL : &open,
                                                  .node = engine->node,
                                                  .call_id = id_str(&call->id),
                                                  .epoch = call->epoch ? call->epoch : 1,
                                                  .notices = call->notices,
                                                  .entries = call->saving_entries,
                                                  .entry_count = call->saving_count,
                                                  .asks = call->saving,
                                                  .ask_count = call->saving_asks,
                                                  .keep_for_ms = call_keep_for(call),
                                                  .handed = call->handed },
                             op_completed, op);
}

/* The same request has come before: its call is there, and ours cannot be opened. */
static bool met_itself(const struct call *call, nod_status status)
{
    return status == NOD_E_STALE && call->named && !call->stored;
}

static void park_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    bool known = met_itself(call, status);
    bool lost = status == NOD_E_STALE && call->stored && !call->cancel_wanted;

    CRASH_POINT(ask_after);
    if (status == NOD_OK)
        journal_grow(call);
    saved(call); /* if it failed, the store may know it all the same */
    if (known) {
        call_known(call);
        return;
    }
    if (lost) {
        call_lost(call);
        return;
    }
    if (status != NOD_OK) {
        asks_drop(call);
        if (call->cancel_wanted)
            call_end_cancelled(call);
        else
            store_failed(call, status, reply, "the question");
        return;
    }
    call->fresh_intent = false;
    if (call->cancel_wanted)
        call_end_cancelled(call);
    else
        call_asked(call);
}

static void call_told(struct call *call, enum caller_way way)
{
    CRASH_POINT(told_after);
    call->state = LIVE_WAITING;
    if (call->cancel_wanted)
        call_end_cancelled(call);
    else if (way == CALLER_LEAVES || call_is_alone(call))
        call_leave_warm(call);
    else if (call->woken)
        call_take(call);
    else if (call->unsure)
        call_make_sure(call);
}

void call_asked(struct call *call)
{
    enum caller_way way = CALLER_HOLDS;

    call->state = LIVE_TELLING; /* who is told may cancel or go: that is looked at below */
    scope_asked(call);
    if (call->caller->ops->asked)
        way = call->caller->ops->asked(call->caller, call);
    if (way == CALLER_LEAVES || call_is_alone(call) || call->cancel_wanted) {
        call_told(call, way);
        return;
    }
    call->learned = call->journal.bytes;
    journal_finish(&call->journal); /* the store has it, and a waiting call should cost little */
    call->carried = way == CALLER_CARRIES;
    call_tell_waiting(call, true);
    LIST_EACH (at,
               &call->asks) /* nothing is freed here: an ask ends in a completion of the store */
        ask_stored(LIST_OF(at, struct ask, link));
    call_told(call, way);
}

void call_asks_settled(struct call *call)
{
    if (++call->asks_settled < call->asks_expected)
        return;
    if (call->cancel_wanted) {
        asks_drop(call);
        call_cancel_later(call);
        return;
    }
    if (call->asks_failed != NOD_OK) {
        nod_status status = call->asks_failed;
        asks_drop(call);
        run_free(call->run);
        call->run = NULL;
        call_fail(call, status, NULL,
                  status == NOD_E_LIMIT && call->asks_quota
                      ? quota_message(call, call->asks_quota, call->asks_quota_most)
                      : STR("The question was refused before it was asked"));
        return;
    }
    saving_fill(call);
    call->state = LIVE_SAVING;
    call->woken = false;
    op_start(call->engine, &call->op, park_send, park_done);
    keep_trying(call);
}

void call_asks_begin(struct call *call)
{
    call->state = LIVE_ASKING;
    call->asks_settled = 0;
    call->asks_failed = NOD_OK;
    call->asks_quota = STORE_QUOTA_NONE;
    call->asks_expected =
        call->run->news.asks + 1; /* one for this function, so that it ends after its loop */
    for (const struct run_item *item = call->run->news.first; item; item = item->next)
        if (item->is_ask)
            list_append(&call->asks, &ask_create(call, item)->link);
    LIST_EACH (at, &call->asks)
        ask_begin(LIST_OF(at, struct ask, link));
    call_asks_settled(call);
}

static bool appends_intent(const struct call *call)
{
    return call->saving_count && call->saving_entries[call->saving_count - 1].class == ENTRY_INTENT;
}

static void append_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;
    struct call_record open = call_record_of(call);

    if (appends_intent(call))
        CRASH_POINT(intent_before);
    engine->store->ops->append(engine->store,
                               &(struct append_spec){ .token = id_str(&op->token),
                                                      .open = call->stored ? NULL : &open,
                                                      .node = engine->node,
                                                      .call_id = id_str(&call->id),
                                                      .epoch = call->epoch ? call->epoch : 1,
                                                      .notices = call->notices,
                                                      .entries = call->saving_entries,
                                                      .entry_count = call->saving_count,
                                                      .keep_for_ms = call->keep_ms,
                                                      .handed = call->handed },
                               op_completed, op);
}

static void append_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    bool intent = appends_intent(call);
    bool lost = status == NOD_E_STALE && call->stored;
    bool known = met_itself(call, status) && intent; /* else its step is done */

    if (intent)
        CRASH_POINT(intent_after);
    else
        CRASH_POINT(step_after);
    if (status == NOD_OK) {
        journal_grow(call);
        call->fresh_intent = intent;
    }
    saved(call);
    if (known)
        call_known(call);
    else if (call->cancel_wanted)
        call_end_cancelled(call);
    else if (lost)
        call_lost(call);
    else if (status == NOD_OK)
        flow_again(&call->flow);
    else if (intent)
        store_failed(call, status, reply, "the intent of a step");
    else
        call_fail(call, NOD_E_OUTCOME_UNKNOWN, NULL,
                  STR("A step was done, but its result could not be stored: look before you try "
                      "the call again"));
}

static void steps_go(struct due *due)
{
    struct call *call = HEAP_OF(&due->node, struct call, timeout.node);

    if (call->cancel_wanted)
        call_end_cancelled(call);
    else
        flow_again(&call->flow);
}

static void steps_tell(struct call *call)
{
    struct caller *caller = call->caller;

    call->hold_steps = false;
    call->held = true;
    if (caller->ops->stepping)
        caller->ops->stepping(caller, call);
    else
        call_step_on(call);
}

static void opened(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    bool known = met_itself(call, status);

    CRASH_POINT(open_after);
    call->saving_count = 0;
    saved(call);
    if (known)
        call_known(call);
    else if (call->cancel_wanted)
        call_end_cancelled(call);
    else if (status == NOD_OK)
        steps_tell(call);
    else
        store_failed(call, status, reply, "the call");
}

/*
 * What this run has noted (times, chance) nobody has seen: the next one notes it anew. Where the
 * store survives it knows the call before its first step: whoever is told of it can come back.
 */
static void call_steps_held(struct call *call)
{
    run_free(call->run);
    call->run = NULL;
    if (call->stored || !engine_survives(call->engine)) {
        steps_tell(call);
        return;
    }
    call->saving_count = 0;
    call->state = LIVE_SAVING;
    op_start(call->engine, &call->op, append_send, opened);
}

void call_step_on(struct call *call)
{
    if (!call->held)
        return;
    call->held = false;
    due_set(call->engine, &call->timeout, 0, steps_go); /* the stack is clear then */
}

static void call_pending(struct call *call)
{
    const struct run *run = call->run;

    if (run->step_held) {
        call_steps_held(call);
    } else if (run->news.asks == 0 && (!run->step_done || run->news.entries == 0)) {
        struct str message = arena_fmt(
            &call_ending(call)->arena,
            STR_FMT " returned NOD_PENDING without having asked anything: a handler returns it "
                    "only when a nod_ function gave it",
            STR_ARG(call->target->name));
        run_free(call->run);
        call->run = NULL;
        call_fail(call, NOD_E_USAGE, NULL, message);
    } else if (call->worked_ms >= timeout_of(call)) {
        run_free(call->run);
        call->run = NULL;
        timed_out(call);
    } else if (run->news.asks) {
        call_asks_begin(call);
    } else {
        saving_fill(call);
        call->state = LIVE_SAVING;
        op_start(call->engine, &call->op, append_send, append_done);
        keep_trying(call);
    }
}

void run_done(struct run *run, nod_status status, struct str body)
{
    struct call *call = run->call;

    if (!call) { /* the call has ended without us */
        run_free(run);
        return;
    }
    call_run_over(call);
    call->worked_ms += clock_mono(call->engine->clock) - call->run_began;
    if (run->notice_ordinal > call->notices)
        call->notices = run->notice_ordinal;
    call->state = LIVE_ASKING; /* no longer with the provider */

    if (run->bug.at) {
        call_outcome_fail(call, &(struct fault){ .status = NOD_E_USAGE, .message = run->bug });
    } else if (run->arena.exhausted && !(status == NOD_PENDING && run->step_done)) {
        call_outcome_fail(
            call,
            &(struct fault){ .status = NOD_E_LIMIT,
                             .message = STR("The run has used up the memory a run may have") });
    } else if (status == NOD_PENDING) {
        call_pending(call);
        return;
    } else if (status == NOD_OK && body.len) {
        call_outcome_ok(call, body);
    } else if (status == NOD_OK) {
        call_outcome_fail(call, &(struct fault){ .status = NOD_E_USAGE,
                                                 .message = STR("The handler gave no reply") });
    } else {
        call_fail_run(call, run, status);
    }
    call->run = NULL;
    run_free(run);
    flow_jump(&call->flow, "finish");
}
