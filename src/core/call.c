/*
 * core/call: the life of a call.
 *
 *     accept ▶ authorise ▶ gate ▶ start ▶ finish
 *
 * The stages gate and start may wait: the run recorded asks, they were parked, and when the last of them has ended the
 * stage is entered again with a longer journal. A step is committed the same way, without anybody to wait for.
 *
 * Holds always: at most one store operation of a call is under way; a run belongs to at most one call, and a call that
 * ended has taken its run's back pointer away, so a late run_done changes nothing; finished() is called exactly once,
 * after the outcome is committed if the store knows the call.
 */
#include "core/inside.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "json/write.h"

enum {
    OUTCOME_BYTES_MAX = 64 << 20,
    DEFAULT_TIMEOUT_MS = 60000,
    ARGS_BYTES_MAX = 16 << 20,
    EVENT_ARENA_MAX = 64 << 20,
    GATE_ARGS_SHOWN = 2000, /* bytes of the arguments in a gate's question */
};

static void call_deliver(struct call *call);
static void call_end_cancelled(struct call *call);
static void cancel_when_clear(struct call *call);

/* --- creation -------------------------------------------------------------------------------- */

static struct str place(char **at, struct str s)
{
    struct str copy = { *at, s.len };

    if (s.len)
        memcpy(*at, s.at, s.len);
    (*at)[s.len] = '\0';
    *at += s.len + 1;
    return copy;
}

static struct call *call_create(struct engine *engine, const struct call_spec *spec)
{
    struct buf args;

    buf_init(&args, ARGS_BYTES_MAX);
    if (!spec->args || !json_write(&args, spec->args)) {
        buf_clear(&args);
        buf_add(&args, STR("{}"));
    }
    size_t text = spec->principal.len + spec->scope.len + spec->uri.len + spec->caller_record.len + args.len + 5;
    struct call *call = mem_zalloc(sizeof(*call) + text);
    char *at = (char *)(call + 1);

    call->engine = engine;
    id_random(&call->id);
    call->target = spec->target;
    target_hold(call->target);
    call->caller = spec->caller;
    call->principal = place(&at, spec->principal);
    call->scope = place(&at, spec->scope);
    call->uri = place(&at, spec->uri);
    call->caller_record = place(&at, spec->caller_record);
    call->args = place(&at, buf_str(&args));
    buf_finish(&args);
    list_init(&call->asks);
    arena_init(&call->end_arena, OUTCOME_BYTES_MAX);
    buf_init(&call->result, OUTCOME_BYTES_MAX);
    return call;
}

static void saving_free(struct call *call)
{
    mem_free(call->saving);
    mem_free(call->saving_entries);
    call->saving = NULL;
    call->saving_entries = NULL;
}

/* Lets go of the run without waiting for it: its run_done will find no call. */
static void run_detach(struct call *call)
{
    struct run *run = call->run;

    call->run = NULL;
    if (!run)
        return;
    if (call->state != LIVE_RUNNING) {
        run_free(run);
        return;
    }
    run->call = NULL;
    atomic_store(&run->cancelled, true);
    if (run->target->provider->ops->cancelled)
        run->target->provider->ops->cancelled(run->target->provider, run);
}

void call_free(struct call *call)
{
    struct engine *engine = call->engine;

    LIST_EACH(at, &call->asks)
        ask_free(LIST_OF(at, struct ask, link));
    due_stop(engine, &call->timeout);
    op_abandon(&call->op);
    run_detach(call);
    saving_free(call);
    journal_finish(&call->journal);
    arena_finish(&call->end_arena);
    buf_finish(&call->result);
    if (map_get(&engine->calls, id_str(&call->id)) == call)
        map_remove(&engine->calls, id_str(&call->id));
    target_release(call->target);
    mem_free(call);
}

/* --- outcomes -------------------------------------------------------------------------------- */

static void outcome_fail(struct call *call, const struct fault *fault)
{
    struct arena *arena = &call->end_arena;
    struct id error_id;

    id_random(&error_id);
    call->outcome = (struct outcome){ .status = fault->status,
                                      .code = fault->code ? fault->code : outcome_code(fault->status),
                                      .message = arena_str(arena, fault->message),
                                      .details = arena_str(arena, fault->details),
                                      .meta = arena_str(arena, fault->meta),
                                      .error_id = arena_str(arena, id_str(&error_id)),
                                      .rpc_code = fault->rpc_code,
                                      .rpc_data = arena_str(arena, fault->rpc_data) };
    LOG_INFO("call failed", LOG_STR("call", id_str(&call->id)), LOG_STR("target", call->target->name),
             LOG_CSTR("code", call->outcome.code), LOG_STR("error", id_str(&error_id)));
}

void call_fail(struct call *call, nod_status status, const char *code, struct str message)
{
    outcome_fail(call, &(struct fault){ .status = status, .code = code, .message = message });
    flow_jump(&call->flow, "finish");
}

static void call_fail_run(struct call *call, const struct run *run, nod_status status)
{
    struct fault fault = run->fault;

    if (fault.status != status)
        fault = (struct fault){ .status = status,
                                .message = arena_fmt(&call->end_arena, STR_FMT " failed: %s",
                                                     STR_ARG(call->target->name), nod_status_name(status)) };
    outcome_fail(call, &fault);
}

/* --- runs ------------------------------------------------------------------------------------ */

struct run *run_create(struct call *call)
{
    struct engine *engine = call->engine;
    struct run *run = MEM_NEW(struct run);
    struct arena *arena = &run->arena;
    struct json_error error;

    arena_init(arena, engine->opts.limits.run_bytes);
    run->engine = engine;
    run->call = call;
    run->target = call->target;
    target_hold(call->target);
    run->call_id = arena_str(arena, id_str(&call->id));
    run->principal = arena_str(arena, call->principal);
    run->uri = arena_str(arena, call->uri);
    run->journal_count = call->journal.count;
    run->journal_bytes = call->journal.bytes;
    if (call->journal.count) {
        struct entry *entries = arena_alloc(arena, call->journal.count * sizeof(*entries));
        char *text = arena_alloc_aligned(arena, entries_text_bytes(call->journal.entries, call->journal.count) + 1, 1);
        if (entries && text)
            entries_copy(entries, call->journal.entries, call->journal.count, &text);
        run->journal = entries;
    }
    run->args = json_parse(arena, arena_str(arena, call->args), NULL, &error);
    for (int kind = ASK_FORM; kind <= ASK_ROOTS; kind++) {
        if (engine_can(engine, call, (enum ask_kind)kind, false))
            run->supports |= 1u << kind;
        if (engine_can(engine, call, (enum ask_kind)kind, true))
            run->supports_consent |= 1u << kind;
    }
    run->fresh_intent = call->fresh_intent;
    run->notices_sent = call->notices;
    run->ask_ttl_ms = engine->opts.ask_ttl_ms;
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
    mem_free(run);
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
    struct str message = arena_fmt(&call->end_arena, STR_FMT " did not finish within %lld ms of work",
                                   STR_ARG(call->target->name), (long long)timeout_of(call));
    call_fail(call, NOD_E_TIMEOUT, "TOOL_TIMEOUT", message);
}

static void timeout_fired(struct due *due)
{
    struct call *call = HEAP_OF(&due->node, struct call, timeout.node);

    run_detach(call);
    timed_out(call);
}

static void run_begin(struct call *call)
{
    struct engine *engine = call->engine;
    struct provider *provider = call->target->provider;
    int64_t left = timeout_of(call) - call->worked_ms;

    call->run = run_create(call);
    call->state = LIVE_RUNNING;
    if (call->run->arena.exhausted) { /* without its whole journal a handler must not run */
        run_done(call->run, NOD_E_LIMIT, STR_NONE);
        return;
    }
    call->run_began = clock_mono(engine->clock);
    due_set(engine, &call->timeout, left > 0 ? left : 0, timeout_fired);
    provider->ops->start(provider, call->run); /* run_done may have come and gone: the call is not touched again */
}

/* --- waiting: asks are parked, steps appended -------------------------------------------------- */

static void told_waiting(struct call *call, bool waiting)
{
    if (call->told_waiting == waiting)
        return;
    call->told_waiting = waiting;
    if (call->caller->ops->waiting)
        call->caller->ops->waiting(call->caller, call, waiting);
}

static struct call_record record_of(const struct call *call)
{
    return (struct call_record){ .id = id_str(&call->id),
                                 .principal = call->principal,
                                 .scope = call->scope,
                                 .kind = call->target->kind,
                                 .target = call->target->name,
                                 .args = call->args,
                                 .caller = call->caller_record };
}

static void saving_fill(struct call *call)
{
    const struct run_list *news = &call->run->news;
    size_t at = 0;

    saving_free(call);
    call->saving_entries = mem_zalloc((news->entries + 1) * sizeof(struct entry));
    call->saving_count = news->entries;
    for (const struct run_item *item = news->first; item; item = item->next)
        if (!item->is_ask)
            call->saving_entries[at++] = item->entry;
    call->saving = mem_zalloc((news->asks + 1) * sizeof(struct ask_record));
    call->saving_asks = 0;
    LIST_EACH(link, &call->asks)
        call->saving[call->saving_asks++] = LIST_OF(link, struct ask, link)->record;
}

static void saved(struct call *call)
{
    saving_free(call);
    if (call->run)
        run_free(call->run);
    call->run = NULL;
    if (!call->stored)
        call->epoch = 1;
    call->stored = true;
}

static void asks_drop(struct call *call)
{
    LIST_EACH(at, &call->asks)
        ask_free(LIST_OF(at, struct ask, link));
}

static void store_failed(struct call *call, nod_status status, const char *what)
{
    const char *store = call->engine->store->ops->name;
    struct str message;

    if (status == NOD_E_STORE)
        message = arena_fmt(&call->end_arena, "The %s store did not take %s; try the call again later", store, what);
    else
        message = arena_fmt(&call->end_arena, "The %s store refused %s: %s", store, what, nod_status_name(status));
    call_fail(call, status, NULL, message);
}

static void park_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;
    struct call_record open = record_of(call);

    engine->store->ops->park(engine->store, id_str(&op->token), call->stored ? NULL : &open, engine->node,
                             id_str(&call->id), call->epoch ? call->epoch : 1, call->notices, call->saving_entries,
                             call->saving_count, call->saving, call->saving_asks, op_completed, op);
}

static void park_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    (void)reply;
    saved(call); /* if it failed, the store may know it all the same */
    if (status != NOD_OK) {
        asks_drop(call);
        if (call->cancel_wanted)
            call_end_cancelled(call);
        else
            store_failed(call, status, "the question");
        return;
    }
    journal_finish(&call->journal); /* the store has it, and a waiting call should cost little */
    call->fresh_intent = false;
    call->state = LIVE_WAITING;
    if (call->cancel_wanted) {
        call_end_cancelled(call);
        return;
    }
    if (call->caller->ops->asked)
        call->caller->ops->asked(call->caller, call);
    told_waiting(call, true);
    LIST_EACH(at, &call->asks) /* nothing is freed here: an ask ends in a completion of the store */
        ask_stored(LIST_OF(at, struct ask, link));
}

void call_asks_settled(struct call *call)
{
    if (++call->asks_settled < call->asks_expected)
        return;
    if (call->cancel_wanted) {
        asks_drop(call);
        call_end_cancelled(call);
        return;
    }
    if (call->asks_failed != NOD_OK) {
        nod_status status = call->asks_failed;
        asks_drop(call);
        run_free(call->run);
        call->run = NULL;
        call_fail(call, status, NULL,
                  status == NOD_E_LIMIT ? STR("Too many questions are waiting for an answer; try again when some are answered")
                                        : STR("The question was refused before it was asked"));
        return;
    }
    saving_fill(call);
    call->state = LIVE_SAVING;
    op_start(call->engine, &call->op, park_send, park_done);
}

static void asks_begin(struct call *call)
{
    call->state = LIVE_ASKING;
    call->asks_settled = 0;
    call->asks_failed = NOD_OK;
    call->asks_expected = call->run->news.asks + 1; /* one for this function, so that it ends after its loop */
    for (const struct run_item *item = call->run->news.first; item; item = item->next)
        if (item->is_ask)
            list_append(&call->asks, &ask_create(call, item)->link);
    LIST_EACH(at, &call->asks)
        ask_begin(LIST_OF(at, struct ask, link));
    call_asks_settled(call);
}

static void append_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;
    struct call_record open = record_of(call);

    engine->store->ops->append(engine->store, id_str(&op->token), call->stored ? NULL : &open, engine->node,
                               id_str(&call->id), call->epoch ? call->epoch : 1, call->notices,
                               call->saving_entries, call->saving_count, op_completed, op);
}

static void append_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    const struct entry *last = &call->saving_entries[call->saving_count - 1];
    bool intent = last->class == ENTRY_INTENT;

    (void)reply;
    if (status == NOD_OK) {
        struct journal longer;
        journal_make(&longer, call->journal.entries, call->journal.count, call->saving_entries, call->saving_count);
        journal_finish(&call->journal);
        call->journal = longer;
        call->fresh_intent = intent;
    }
    saved(call);
    if (call->cancel_wanted)
        call_end_cancelled(call);
    else if (status == NOD_OK)
        flow_again(&call->flow);
    else if (intent)
        store_failed(call, status, "the intent of a step");
    else
        call_fail(call, NOD_E_OUTCOME_UNKNOWN, NULL,
                  STR("A step was done, but its result could not be stored: look before you try the call again"));
}

static void call_pending(struct call *call)
{
    const struct run *run = call->run;

    if (run->news.asks == 0 && !run->step_done) {
        struct str message = arena_fmt(&call->end_arena,
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
        asks_begin(call);
    } else {
        saving_fill(call);
        call->state = LIVE_SAVING;
        op_start(call->engine, &call->op, append_send, append_done);
    }
}

void run_done(struct run *run, nod_status status, struct str body)
{
    struct call *call = run->call;

    if (!call) { /* the call has ended without us */
        run_free(run);
        return;
    }
    due_stop(call->engine, &call->timeout);
    call->worked_ms += clock_mono(call->engine->clock) - call->run_began;
    if (run->notice_ordinal > call->notices)
        call->notices = run->notice_ordinal;
    call->state = LIVE_ASKING; /* no longer with the provider */

    if (run->bug.at) {
        outcome_fail(call, &(struct fault){ .status = NOD_E_USAGE, .message = run->bug });
    } else if (run->arena.exhausted) {
        outcome_fail(call, &(struct fault){ .status = NOD_E_LIMIT,
                                            .message = STR("The run has used up the memory a run may have") });
    } else if (status == NOD_PENDING) {
        call_pending(call);
        return;
    } else if (status == NOD_OK && body.len) {
        call->outcome = (struct outcome){ .status = NOD_OK, .body = arena_str(&call->end_arena, body) };
    } else if (status == NOD_OK) {
        outcome_fail(call, &(struct fault){ .status = NOD_E_USAGE, .message = STR("The handler gave no reply") });
    } else {
        call_fail_run(call, run, status);
    }
    call->run = NULL;
    run_free(run);
    flow_jump(&call->flow, "finish");
}

/* --- going on --------------------------------------------------------------------------------- */

void call_taken(struct call *call, const struct store_reply *reply)
{
    if (call->state == LIVE_CANCELLING || call->cancel_wanted)
        return;
    call->epoch = reply->epoch;
    journal_finish(&call->journal);
    journal_make(&call->journal, reply->call->entries, reply->call->entry_count, NULL, 0);
    call->fresh_intent = false;
    told_waiting(call, false);
    flow_again(&call->flow);
}

static void take_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;

    engine->store->ops->take(engine->store, id_str(&op->token), id_str(&call->id), engine->node, op_completed, op);
}

static void take_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    call->state = LIVE_WAITING;
    if (call->cancel_wanted)
        call_end_cancelled(call);
    else if (status == NOD_OK)
        call_taken(call, reply);
    /* Otherwise it is not runnable, or the store is away: the next hint or the next expiry tries again. */
}

void call_take(struct call *call)
{
    if (call->state != LIVE_WAITING || !list_empty(&call->asks))
        return;
    call->state = LIVE_TAKING;
    op_start(call->engine, &call->op, take_send, take_done);
}

/* --- the stages -------------------------------------------------------------------------------- */

static void stage_accept(struct flow *flow, void *subject)
{
    struct call *call = subject;
    struct json_error error;
    struct schema_problems problems = { 0 };
    struct arena *arena = &call->end_arena;

    if (!call->target->input) {
        flow_next(flow);
        return;
    }
    struct json *args = json_parse(arena, call->args, NULL, &error);
    if (args && schema_check(call->target->input, args, arena, &problems) == NOD_OK) {
        arena_finish(arena); /* a waiting call should cost little */
        flow_next(flow);
        return;
    }
    struct schema_problem none = { STR(""), STR("not valid") };
    struct schema_problem first = problems.count ? problems.at[0] : none;
    outcome_fail(call, &(struct fault){ .status = NOD_E_INVALID,
                                        .code = "INVALID_ARGUMENTS",
                                        .message = arena_fmt(arena, "Invalid arguments for " STR_FMT ": " STR_FMT
                                                             "%s" STR_FMT,
                                                             STR_ARG(call->target->name), STR_ARG(first.path),
                                                             first.path.len ? ": " : "", STR_ARG(first.message)),
                                        .details = outcome_problems(arena, &problems) });
    flow_jump(flow, "finish");
}

static void stage_authorise(struct flow *flow, void *subject)
{
    (void)subject; /* who may call what is decided by hooks and, with them, by policies */
    flow_next(flow);
}

static struct str gate_message(const struct call *call, struct arena *arena)
{
    struct str shown = call->args;
    const char *more = "";

    if (call->target->confirm_message.len)
        return call->target->confirm_message;
    if (str_eq(shown, STR("{}")))
        return arena_fmt(arena, "Allow " STR_FMT "?", STR_ARG(call->target->title));
    if (shown.len > GATE_ARGS_SHOWN) {
        shown.len = GATE_ARGS_SHOWN;
        while (shown.len && ((unsigned char)shown.at[shown.len] & 0xC0) == 0x80)
            shown.len--; /* not in the middle of a character */
        more = " ...";
    }
    return arena_fmt(arena, "Allow " STR_FMT "?\n\nArguments: " STR_FMT "%s", STR_ARG(call->target->title),
                     STR_ARG(shown), more);
}

static void gate_refused(struct call *call, const struct entry *answer)
{
    bool declined = answer && (answer->state == ASK_DECLINED || answer->state == ASK_CANCELLED);

    if (declined)
        call_fail(call, NOD_E_REFUSED, "CONFIRMATION_DECLINED", STR("A person did not confirm this; nothing was done"));
    else
        call_fail(call, NOD_E_REFUSED, "CONFIRMATION_REQUIRED",
                  STR("This needs a person's confirmation, and nobody could be asked or answered in time; nothing was done"));
}

static void stage_gate(struct flow *flow, void *subject)
{
    struct call *call = subject;
    const struct entry *answer;

    if (!call->target->requires_confirmation) {
        flow_next(flow);
        return;
    }
    struct run *run = run_create(call);
    struct ask_spec spec = { .kind = ASK_APPROVAL,
                             .key = STR(RUN_GATE_KEY),
                             .message = gate_message(call, &run->arena),
                             .consent = true };
    nod_status status = run_ask(run, &spec, &answer);
    if (status == NOD_PENDING) {
        call->run = run;
        asks_begin(call);
        return;
    }
    if (status == NOD_OK && answer->state == ASK_ACCEPTED)
        flow_next(flow);
    else
        gate_refused(call, answer);
    run_free(run);
}

static void stage_start(struct flow *flow, void *subject)
{
    struct call *call = subject;

    (void)flow;
    if (call->cancel_wanted)
        cancel_when_clear(call);
    else
        run_begin(call);
}

/* --- the end ----------------------------------------------------------------------------------- */

static void finish_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;
    struct arena arena;
    struct store_event event = { 0 };

    arena_init(&arena, EVENT_ARENA_MAX);
    bool told = call->caller->ops->event && call->caller->ops->event(call->caller, call, &call->outcome, &arena, &event);
    engine->store->ops->finish(engine->store, id_str(&op->token), id_str(&call->id), call->epoch,
                               buf_str(&call->result), told ? &event : NULL, op_completed, op);
    arena_finish(&arena);
}

static void finish_checked(struct call *call, nod_status status)
{
    if (status == NOD_OK || status == NOD_E_NOT_FOUND) /* not found: it was never opened, after all */
        return;
    outcome_fail(call, &(struct fault){ .status = status,
                                        .message = arena_fmt(&call->end_arena,
                                                             "The result could not be stored (%s store: %s)",
                                                             call->engine->store->ops->name, nod_status_name(status)) });
}

static void finish_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    (void)reply;
    finish_checked(call, status);
    flow_next(&call->flow);
}

static void finish_begin(struct call *call, void (*done)(struct op *, nod_status, const struct store_reply *))
{
    call->state = LIVE_FINISHING;
    buf_clear(&call->result);
    outcome_write(&call->result, &call->outcome);
    op_start(call->engine, &call->op, finish_send, done);
}

static void stage_finish(struct flow *flow, void *subject)
{
    struct call *call = subject;

    if (!call->stored) {
        call->state = LIVE_FINISHING;
        flow_next(flow);
        return;
    }
    finish_begin(call, finish_done);
}

static void refused_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    (void)reply;
    finish_checked(call, status);
    call_deliver(call);
}

static void call_flow_done(struct flow *flow, void *subject, nod_status status)
{
    struct call *call = subject;

    if (status == NOD_OK) {
        call_deliver(call);
        return;
    }
    struct str message = arena_fmt(&call->end_arena, "Refused before the stage %s", flow_stage(flow));
    outcome_fail(call, &(struct fault){ .status = status, .message = message });
    if (call->stored)
        finish_begin(call, refused_done);
    else
        call_deliver(call);
}

static void call_deliver(struct call *call)
{
    struct caller *caller = call->caller;
    struct str why = call->outcome.status == NOD_E_CANCELLED ? call->cancel_why : STR("The call has ended");

    call->state = LIVE_FINISHING;
    told_waiting(call, false);
    LIST_EACH(at, &call->asks)
        ask_end(LIST_OF(at, struct ask, link), NULL, why);
    map_remove(&call->engine->calls, id_str(&call->id));
    caller->call = NULL;
    caller->ops->finished(caller, call, &call->outcome);
    call_free(call);
}

/* --- cancelling --------------------------------------------------------------------------------- */

static void cancel_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;

    engine->store->ops->cancel(engine->store, id_str(&op->token), id_str(&call->id), buf_str(&call->result),
                               op_completed, op);
}

static void cancel_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    (void)reply;
    if (status != NOD_OK)
        LOG_WARN("cancel not stored", LOG_STR("call", id_str(&call->id)), LOG_CSTR("why", nod_status_name(status)));
    call_deliver(call);
}

static void call_end_cancelled(struct call *call)
{
    call->state = LIVE_CANCELLING;
    call->outcome = (struct outcome){ .status = NOD_E_CANCELLED,
                                      .code = outcome_code(NOD_E_CANCELLED),
                                      .message = call->cancel_why };
    if (!call->stored) {
        call_deliver(call);
        return;
    }
    buf_clear(&call->result);
    outcome_write(&call->result, &call->outcome);
    op_start(call->engine, &call->op, cancel_send, cancel_done);
}

static void cancel_later(void *data)
{
    call_end_cancelled(data);
}

/* Ends it when the stack is clear: we may be inside of its handler, or of a hook. */
static void cancel_when_clear(struct call *call)
{
    call->state = LIVE_CANCELLING;
    call->engine->opts.defer(call->engine->opts.defer_ctx, cancel_later, call);
}

void call_cancel(struct call *call, struct str why)
{
    if (call->cancel_wanted || call->state == LIVE_FINISHING || call->state == LIVE_CANCELLING)
        return;
    call->cancel_wanted = true;
    call->cancel_why = arena_str(&call->end_arena, why);
    if (call->state == LIVE_WAITING) {
        call_end_cancelled(call);
    } else if (call->state == LIVE_RUNNING) {
        due_stop(call->engine, &call->timeout);
        run_detach(call);
        cancel_when_clear(call);
    }
    /* In every other state something is on its way that looks at cancel_wanted. */
}

/* --- the table, and the way in -------------------------------------------------------------------- */

static void call_describe(void *subject, struct nod_hook_event *event)
{
    struct call *call = subject;

    event->call_id = call->id.text;
    event->target = call->target->name.at;
    event->principal = call->principal.at;
}

static const struct stage call_stages[] = {
    { "accept", stage_accept }, { "authorise", stage_authorise }, { "gate", stage_gate },
    { "start", stage_start },   { "finish", stage_finish },
};

const struct flow_table call_flow = { NOD_FLOW_CALL, call_stages, sizeof(call_stages) / sizeof(call_stages[0]),
                                      call_describe };

void engine_call(struct engine *engine, const struct call_spec *spec)
{
    struct call *call = call_create(engine, spec);

    spec->caller->call = call;
    if (!map_set(&engine->calls, id_str(&call->id), call)) {
        outcome_fail(call, &(struct fault){ .status = NOD_E_LIMIT,
                                            .message = STR("This server works on as many calls as it may; try again later") });
        call_deliver(call);
        return;
    }
    flow_start(&call->flow, &call_flow, &engine->hooks, NULL, call, call_flow_done);
}

struct str call_id(const struct call *call)
{
    return id_str(&call->id);
}

struct str call_principal(const struct call *call)
{
    return call->principal;
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
    return call->caller;
}

bool call_waiting(const struct call *call)
{
    return call->state == LIVE_WAITING;
}

struct ask *call_ask_first(const struct call *call)
{
    struct list *first = list_first(&call->asks);

    return first ? LIST_OF(first, struct ask, link) : NULL;
}

struct ask *call_ask_next(const struct call *call, const struct ask *ask)
{
    return ask->link.next == &call->asks ? NULL : LIST_OF(ask->link.next, struct ask, link);
}
