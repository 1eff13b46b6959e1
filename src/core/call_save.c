/*
 * core/call_save: what a run leaves behind is stored before anything follows from it.
 *
 * - A run that recorded asks is parked: its entries and asks are committed in one transition, and
 *   only then is anybody told.
 * - A question that a grant answered, and nothing else, is appended as a step is (grant_pass.c).
 * - The result of a step is appended to the journal, and the call is run again at once.
 * - A call that is held before its first step is opened, so that its client can come back.
 * - If the client is away while its call asks, the places of its asks are found first.
 * - What waits for a call is listed first: if this process dies, another begins the inner call
 *   (inner_list.c).
 *
 * Holds always: at most one store operation of a call is under way.
 */
#include "core/call_inside.h"

#include <limits.h>

#include "base/crash.h"
#include "base/mem.h"
#include "core/catalog.h"

void call_saving_free(struct call *call)
{
    if (call->saving_entries)
        mem_free(call->saving); /* the entries are in the same block */
    call->saving = NULL;
    call->saving_entries = NULL;
    call->saving_asks = call->saving_count = 0;
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
                                 .caller = call->caller_record,
                                 .client = call->client,
                                 .meta = call_meta(call),
                                 .version =
                                     call->version ? call->version : target_version(call->target) };
}

static void saving_fill(struct call *call)
{
    const struct caller_ops *ops = call->caller->ops;
    const struct run_list *news = &call->run->news;
    size_t at = 0;

    if (ops->reserve) { /* each ask gets its place in the caller's stream */
        LIST_EACH (link, &call->asks) {
            struct ask *ask = LIST_OF(link, struct ask, link);
            if (!ask->record.seq)
                ask->record.seq = ops->reserve(call->caller, call);
        }
    }
    LIST_EACH (link, &call->asks)
        if (!LIST_OF(link, struct ask, link)->listed)
            ask_find_turn(LIST_OF(link, struct ask, link));
    call_saving_free(call);
    call->saving_count = news->entries;
    call->saving_asks = news->asks;
    if (news->asks == 1 && news->entries == 0) { /* mostly */
        call->saving = &LIST_OF(list_last(&call->asks), struct ask, link)->record;
        run_free(call->run); /* nothing of it is needed, and many calls may be saved at once */
        call->run = NULL;
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
        if (!LIST_OF(link, struct ask, link)->listed)
            call->saving[at++] = LIST_OF(link, struct ask, link)->record;
}

struct str engine_quota_message(struct arena *arena, struct str principal, enum store_quota quota,
                                uint64_t most)
{
    unsigned long long bound = most;

    switch (quota) {
    case STORE_QUOTA_BYTES_PRINCIPAL:
        return arena_fmt(
            arena,
            "What is kept here for '" STR_FMT "', calls that wait and results that nobody has "
            "fetched, would be more than the %llu bytes that one principal may have "
            "(--kept-mib-per-principal): fetch those results, answer or cancel what waits, or try "
            "again when it has run out",
            STR_ARG(principal), bound);
    case STORE_QUOTA_BYTES_ALL:
        return arena_fmt(arena,
                         "What is kept here for all users, calls that wait and results that nobody "
                         "has fetched, would be more than the %llu bytes that this server keeps "
                         "(--kept-mib): try again later",
                         bound);
    case STORE_QUOTA_ALL:
        return arena_fmt(arena,
                         "As many questions as may be asked in all, %llu, are waiting for an "
                         "answer (--pending): try again when some are answered",
                         bound);
    case STORE_QUOTA_PRINCIPAL:
    case STORE_QUOTA_NONE:
        break;
    }
    return arena_fmt(arena,
                     "As many questions as one principal may have, %llu, are waiting for an answer "
                     "(--pending-per-principal): try again when some are answered",
                     bound);
}

struct str call_quota_message(struct call *call, enum store_quota quota, uint64_t most)
{
    struct arena *arena = &call_ending(call)->arena;
    struct str message = engine_quota_message(arena, call->principal, quota, most);
    struct str done = outcome_so_far(
        arena, &(struct so_far){ .entries = call->journal.entries, .count = call->journal.count });

    if (!done.len)
        return message;
    return arena_fmt(arena,
                     STR_FMT "." STR_FMT " Look at what was done before you make the call again",
                     STR_ARG(message), STR_ARG(done));
}

/* What the caller is to know of a call that cannot go on because of its store: which steps were
 * done, and what to do about it. */
static struct str call_done_before(struct call *call)
{
    struct arena *arena = &call_ending(call)->arena;
    struct str done = outcome_so_far(
        arena, &(struct so_far){ .entries = call->journal.entries, .count = call->journal.count });

    if (!done.len)
        return STR(" No step was done. Try the call again later");
    return arena_fmt(arena, STR_FMT " Look at what was done before you make the call again",
                     STR_ARG(done));
}

static void store_failed(struct call *call, nod_status status, const struct store_reply *reply,
                         const char *what, const char *so)
{
    const char *store = call->engine->store->ops->name;
    struct arena *arena = &call_ending(call)->arena;
    struct str done = call_done_before(call), message;

    if (status == NOD_E_STORE)
        message = arena_fmt(arena, "The %s store did not take %s, so %s." STR_FMT, store, what, so,
                            STR_ARG(done));
    else if (status == NOD_E_LIMIT && reply->quota != STORE_QUOTA_NONE)
        message = call_quota_message(call, reply->quota, reply->quota_most);
    else if (status == NOD_E_LIMIT)
        message = arena_fmt(arena,
                            "The %s store refused %s, so %s: it is larger than a record may "
                            "be." STR_FMT,
                            store, what, so, STR_ARG(done));
    else
        message = arena_fmt(arena, "The %s store refused %s, so %s: %s." STR_FMT, store, what, so,
                            nod_status_name(status), STR_ARG(done));
    call_outcome_fail(call,
                      &(struct fault){ .status = status,
                                       .message = message,
                                       .no_room = reply && store_quota_is_bytes(reply->quota) });
    flow_jump(&call->flow, "finish");
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

    call->steps = STEPS_HELD;
    if (caller->ops->stepping)
        caller->ops->stepping(caller, call);
    else
        call_step_on(call);
}

/* A new call fails when the store is away. A call that has learned something waits for the
 * store. */
void call_keep_trying(struct call *call)
{
    if (call->stored && engine_survives(call->engine))
        call->op.most = INT_MAX;
}

/* What is being stored. It decides what follows. */
enum saving { SAVING_ASKS, SAVING_INTENT, SAVING_STEP, SAVING_PASS, SAVING_OPENING };

static enum saving saving_what(const struct call *call)
{
    if (call->saving_asks)
        return SAVING_ASKS;
    if (call->saving_count == 0)
        return SAVING_OPENING;
    switch (call->saving_entries[call->saving_count - 1].class) {
    case ENTRY_INTENT:
        return SAVING_INTENT;
    case ENTRY_ASK:
        return SAVING_PASS;
    default:
        return SAVING_STEP;
    }
}

static void save_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct store *store = call->engine->store;
    struct call_record open = call_record_of(call);
    struct park_spec park = { .token = id_str(&op->token),
                              .open = call->stored ? NULL : &open,
                              .node = call->engine->node,
                              .call_id = id_str(&call->id),
                              .epoch = call->epoch ? call->epoch : 1,
                              .notices = call->notices,
                              .entries = call->saving_entries,
                              .entry_count = call->saving_count,
                              .asks = call->saving,
                              .ask_count = call->saving_asks,
                              .keep_for_ms = call_keep_for(call),
                              .handed = call->handed };

    if (park.ask_count) {
        CRASH_POINT(ask_before);
        store->ops->park(store, &park, op_completed, op);
        return;
    }
    if (saving_what(call) == SAVING_INTENT)
        CRASH_POINT(intent_before);
    store->ops->append(store,
                       &(struct append_spec){ .token = park.token,
                                              .open = park.open,
                                              .node = park.node,
                                              .call_id = park.call_id,
                                              .epoch = park.epoch,
                                              .notices = park.notices,
                                              .entries = park.entries,
                                              .entry_count = park.entry_count,
                                              .keep_for_ms = park.keep_for_ms,
                                              .handed = park.handed },
                       op_completed, op);
}

/* A point where the crash tests kill the process: see base/crash.h. */
static void save_crash(enum saving what)
{
    switch (what) {
    case SAVING_ASKS:
        CRASH_POINT(ask_after);
        break;
    case SAVING_INTENT:
        CRASH_POINT(intent_after);
        break;
    case SAVING_STEP:
        CRASH_POINT(step_after);
        break;
    case SAVING_PASS:
        break;
    case SAVING_OPENING:
        CRASH_POINT(open_after);
        break;
    }
}

static void save_failed(struct call *call, enum saving what, struct str step, nod_status status,
                        const struct store_reply *reply)
{
    static const struct {
        const char *what, *so;
    } said[] = {
        [SAVING_ASKS] = { "the question", "nobody was asked" },
        [SAVING_INTENT] = { "the intent of a step", "the step was not begun" },
        [SAVING_PASS] = { "the remembered approval", "the call did not go on" },
        [SAVING_OPENING] = { "the call", "it was not begun" },
    };

    if (what != SAVING_STEP) {
        store_failed(call, status, reply, said[what].what, said[what].so);
        return;
    }
    struct arena *arena = &call_ending(call)->arena;
    struct str done = outcome_so_far(
        arena, &(struct so_far){ .entries = call->journal.entries, .count = call->journal.count });
    call_ending(call)->store_away = status == NOD_E_STORE;
    call_fail(call, NOD_E_OUTCOME_UNKNOWN, NULL,
              arena_fmt(arena,
                        "The step '" STR_FMT "' was done, but its result could not be stored (%s "
                        "store: %s)." STR_FMT " Look at what was done before you make the call "
                        "again",
                        STR_ARG(step), call->engine->store->ops->name, nod_status_name(status),
                        STR_ARG(done)));
}

/* The key of the step whose result is being stored. */
static struct str saving_step(struct call *call)
{
    const struct entry *last =
        call->saving_count ? &call->saving_entries[call->saving_count - 1] : NULL;

    return last ? arena_str(&call_ending(call)->arena, last->key) : STR_NONE;
}

bool call_is_opening(const struct call *call)
{
    return !call->stored && call->state == LIVE_SAVING && saving_what(call) != SAVING_STEP;
}

/* Its caller left it on its way, because this node stops (call_caller_left). Whether the store has
 * it now or not: this node neither goes on with it nor ends it. */
static bool save_left(struct call *call, enum saving what, nod_status status)
{
    if (call->stored || call->cancel_wanted || !call_is_alone(call))
        return false;
    if (status == NOD_OK && what != SAVING_ASKS)
        call_give_back(call->engine, id_str(&call->id), 1, call->notices, false);
    call_unload(call);
    return true;
}

static void save_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    if (status == NOD_E_STALE && live_again(op))
        return;
    enum saving what = saving_what(call);
    /* The same request has come before: its call is stored, and ours cannot be opened. Once a step
     * of ours is done it is too late to give way to that call. */
    bool known = status == NOD_E_STALE && call->named && !call->stored && what != SAVING_STEP;
    bool lost = status == NOD_E_STALE && call->stored;
    struct str step =
        status != NOD_OK && what == SAVING_STEP ? saving_step(call) : STR_NONE; /* freed below */

    save_crash(what);
    if (save_left(call, what, status))
        return;
    if (status == NOD_OK) {
        call->ours_ms = op->sent_ms;
        if (call->saving_count && !live_is_saved(call)) {
            /* what was saved is part of the journal from now on */
            struct journal longer;
            journal_make(&longer, call->journal.entries, call->journal.count, call->saving_entries,
                         call->saving_count);
            journal_finish(&call->journal);
            call->journal = longer;
        }
        if (call->live)
            live_saved(call);
        call->fresh_intent = what == SAVING_INTENT;
        if (call->saving_asks || call->saving_count)
            suspect_over(call);
    }
    call_saving_free(call);
    call_run_free(call);
    if (!call->stored) {
        call->epoch = 1;
        recovery_stored(call->engine);
    }
    call->stored = true; /* even if it failed, the store may know the call */
    if (status == NOD_E_LIMIT)
        inner_unlist_fresh(call);
    if (status != NOD_OK && !known && (!lost || call->cancel_wanted))
        call_asks_drop_fresh(call);
    if (known)
        call_known(call);
    else if (call->cancel_wanted)
        call_end_cancelled(call);
    else if (lost)
        call_lost(call);
    else if (status != NOD_OK)
        save_failed(call, what, step, status, reply);
    else if (what == SAVING_ASKS)
        call_asked(call);
    else if (what == SAVING_OPENING)
        steps_tell(call);
    else
        flow_again(&call->flow);
}

void call_save_refused(struct op *op, const struct store_reply *reply)
{
    save_done(op, NOD_E_STALE, reply);
}

static void save_on(struct call *call);

static void inner_list_send(struct op *op)
{
    inner_list(inner_to_list(OP_OF(op, struct call, op)), op_completed, op);
}

static void inner_list_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    if (status != NOD_OK) {
        save_done(op, status, reply);
        return;
    }
    inner_to_list(call)->noted = true;
    save_on(call);
}

static void save_on(struct call *call)
{
    if (inner_to_list(call))
        op_start_of(call->engine, &call->op, call->principal, inner_list_send, inner_list_done);
    else
        op_start_of(call->engine, &call->op, call->principal, save_send, save_done);
    call_keep_trying(call);
}

static void save_start(struct call *call)
{
    saving_fill(call);
    save_on(call);
}

/*
 * --- places for asks whose client is away ---
 *
 * The call runs here, in an epoch that the store gave to this node. So nobody else gives out places
 * meanwhile whose asks could still be stored.
 */

static bool client_is_away(const struct call *call)
{
    const struct caller_ops *ops = call->caller->ops;

    /* Other calls of the tree may have given out places of the same stream. */
    return ops->away && !ops->reserve && !call->carries && !call->inner;
}

static void place_found(void *data, const struct store_row *row)
{
    struct call *call = OP_OF(data, struct call, op);

    if (row->ask->seq > call->place)
        call->place = row->ask->seq;
}

static void places_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct store *store = call->engine->store;

    call->place = 0;
    store->ops->scan(store,
                     &(struct store_scan){ .index = STORE_ASKS_OF_CALL,
                                           .key = id_str(&call->id),
                                           .limit = RUN_ROUND_MAX },
                     place_found, op_completed, op);
}

/* If they cannot be read, the asks have no places: it is better to be asked twice than never. */
static void places_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    uint64_t place = call->place / PLACE_STEP * PLACE_STEP;

    (void)reply;
    if (status == NOD_OK && client_is_away(call)) { /* it may have come back meanwhile */
        LIST_EACH (at, &call->asks) {
            if (LIST_OF(at, struct ask, link)->listed)
                continue;
            place += PLACE_STEP;
            LIST_OF(at, struct ask, link)->record.seq = place < PLACES_END ? place : 0;
        }
    }
    save_start(call);
}

void call_save(struct call *call)
{
    call_enter(call, LIVE_SAVING);
    if (!call->run->news.asks || !call->stored || !engine_survives(call->engine) ||
        !client_is_away(call)) {
        save_start(call);
        return;
    }
    op_start_of(call->engine, &call->op, call->principal, places_send, places_done);
    call_keep_trying(call);
}

/*
 * Times and random numbers that this run recorded were seen by nobody: the next run records new
 * ones. With a durable or shared store, the call is stored before its first step, so that the
 * client can come back for it.
 */
void call_hold_steps(struct call *call)
{
    call_run_free(call);
    if (call->stored || !engine_survives(call->engine)) {
        steps_tell(call);
        return;
    }
    call_saving_free(call);
    call_enter(call, LIVE_SAVING);
    op_start_of(call->engine, &call->op, call->principal, save_send, save_done);
}

void call_step_on(struct call *call)
{
    if (call->steps != STEPS_HELD)
        return;
    call->steps = STEPS_FREE;
    due_set(call->engine, &call->timeout, 0, steps_go); /* the stack is clear then */
}
