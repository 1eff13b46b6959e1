/*
 * core/live: a run that stays open while its call waits.
 *
 * A handler is run from the top with each answer. A provider that holds something for a call (a
 * connection, a process, a request elsewhere) cannot do that: what it holds goes on by itself. So a
 * target may say that its runs are live (target.live). Such a run is begun once and is with its
 * provider until the provider ends it, whatever its call does meanwhile. On the loop thread, at any
 * time, the provider may
 *
 * - record entries and questions (run_step_done, run_ask) and commit them (run_commit): they are
 *   stored as those of any run are, beside questions that wait, and the run goes on;
 * - take a question back (run_take_back);
 * - send progress and logs (run_notice);
 * - end the run (run_done): what still waits is withdrawn in the transition that stores the end.
 *
 * It is told when what it has committed is stored (provider_ops.committed), and of each question
 * that has ended, in whatever way and on whatever node (provider_ops.answered).
 *
 * Nothing of this happens inside the provider's own call. Its wishes are noted, and done one after
 * the other by live_turn when the stack is clear and the call is at rest: it runs, or it waits. The
 * call takes the same ways as that of a handler: a batch, which is a run of its own with what is
 * new, goes through the stages of its questions, is parked or appended, and told. Only where the
 * handler would be run again, the live run goes on (live_on).
 *
 * A claim that ends the last question takes the call, in the next epoch. If a write of the live run
 * was under way in the epoch before, the store refuses it. Then it is found out who has the call:
 * if it is still this node, the write is sent again in the new epoch. A node that knew nothing of
 * the home may have taken the call: it gives the call back, or dies, and this node takes it again.
 * The same holds for the result of a step and for the end of any call that stays, with a live run
 * or without: they are this node's to give, if the store says that the call has its home here.
 *
 * Holds always: a live run is begun once, and told of each of its questions once, after `committed`
 * and never after its end. A call with a live run stays on this node until the run is ended; the
 * run is dropped only if the call has ended otherwise. From the oldest question that waits on there
 * are at most STORE_CLAIM_MOST.
 */
#include "core/grant_inside.h"

#include <limits.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "core/run_inside.h"

enum {
    AGAIN_MOST = 16, /* looks in a row at who has the call, for one refused write */
    AGAIN_MS = 1000, /* until the next, also while another node has the call */
};

struct live_question { /* was committed, and its end not yet told */
    struct list link;
    uint32_t nth;   /* of the questions of the run, from 1 */
    bool back;      /* the provider takes it back */
    char *why;      /* with `back` */
    struct str key; /* behind the struct */
};

struct live {
    struct call *call; /* NULL: the run was dropped */
    struct run *run;   /* NULL: it has ended, and its outcome is that of the call */
    struct due turn;
    struct list waiting; /* struct live_question, the oldest first */
    uint32_t asked;      /* questions that were committed, ever */
    bool commit;         /* the provider has called run_commit */
    bool saving;         /* what it committed is on its way */
    bool saved;          /* it is stored, and the provider is to be told */
    bool done;           /* the provider has called run_done */
    bool busy;           /* live_turn is on the stack */
    nod_status status;   /* with `done` */
    char *body;
    size_t body_len;
};

static void live_free(struct live *live)
{
    LIST_EACH (at, &live->waiting) {
        struct live_question *question = LIST_OF(at, struct live_question, link);
        mem_free(question->why);
        mem_free(question);
    }
    mem_free(live->body);
    mem_free(live);
}

static void turn_comes(struct due *due);

void live_wake(struct call *call)
{
    due_set(call->engine, &call->live->turn, 0, turn_comes); /* the stack is clear then */
}

/* --- what the run knows --- */

/* The journal of the call has changed, or a question was asked or has ended. */
static void run_learns(struct call *call)
{
    struct live *live = call->live;
    struct list *first = list_first(&live->waiting);
    struct run *run = live->run;

    call->learned = call->journal.bytes;
    if (!run)
        return;
    run->journal = call->journal.entries;
    run->journal_count = call->journal.count;
    run->journal_bytes = call->journal.bytes;
    run->entries_used = NULL;
    run->noes_heard = NULL;
    run->entry_next = 0;
    run->held = 0;
    LIST_EACH (at, &live->waiting)
        run->held++;
    run->since_oldest =
        first ? live->asked + 1 - LIST_OF(first, struct live_question, link)->nth : 0;
}

static bool knows(const struct call *call, const struct entry *entry)
{
    return journal_find(call->journal.entries, call->journal.count, entry->class, entry->key);
}

/* Nothing is forgotten: what the store says may be older than what is known here. */
static void learn(struct call *call, const struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct journal longer;
        if (knows(call, &entries[i]))
            continue;
        journal_make(&longer, call->journal.entries, call->journal.count, &entries[i], 1);
        journal_finish(&call->journal);
        call->journal = longer;
    }
    run_learns(call);
    live_wake(call);
}

void live_learn(struct call *call, const struct call_record *record)
{
    learn(call, record->entries, record->entry_count);
}

void live_learn_end(struct call *call, const struct ask_record *ask)
{
    struct entry entry = { .class = ENTRY_ASK,
                           .key = ask->key,
                           .state = ask->state,
                           .number = ask->ttl_ms,
                           .ask_id = ask->id,
                           .content = ask->content,
                           .by = ask->by,
                           .note = ask->note,
                           .sensitive = ask->sensitive };

    memcpy(entry.digest, ask->digest, DIGEST_BYTES);
    learn(call, &entry, 1);
}

bool live_knows(const struct call *call, const struct ask_record *ask)
{
    return call->live && knows(call, &(struct entry){ .class = ENTRY_ASK, .key = ask->key });
}

void live_saved(struct call *call)
{
    call->live->saving = false;
    call->live->saved = true;
    run_learns(call);
}

bool live_waits_for(const struct run *run, struct str key)
{
    if (!run->live || !run->call)
        return false;
    LIST_EACH (at, &run->call->live->waiting)
        if (str_eq(LIST_OF(at, struct live_question, link)->key, key))
            return true;
    return false;
}

/* --- the beginning and the end --- */

void live_begin(struct call *call)
{
    struct live *live = MEM_NEW(struct live);
    struct run *run = call->run;
    struct provider *provider = call->target->provider;

    live->call = call;
    live->run = run;
    list_init(&live->waiting);
    call->run = NULL;
    call->live = live;
    run->live = true;
    home_live_begun(call);
    call_clock_start(call);
    provider->ops->start(provider, run);
}

void live_unbegun(struct call *call)
{
    struct live *live = call->live;

    due_stop(call->engine, &live->turn);
    call->run = live->run;
    call->live = NULL;
    live_free(live);
}

void live_drop(struct call *call)
{
    struct live *live = call->live;

    if (!live)
        return;
    struct run *run = live->run;
    due_stop(call->engine, &live->turn);
    call->live = NULL;
    live->call = NULL;
    live->run = NULL;
    if (run && live->done) {
        run_free(run);
    } else if (run) {
        run->call = NULL;
        run->left = call->journal; /* the run reads it until it ends */
        call->journal = (struct journal){ 0 };
        atomic_store(&run->cancelled, true);
        if (run->target->provider->ops->cancelled)
            run->target->provider->ops->cancelled(run->target->provider, run);
    }
    if (!live->busy)
        live_free(live);
}

void live_done(struct run *run, nod_status status, struct str body)
{
    struct call *call = run->call;
    struct live *live = call->live;

    if (live->done)
        return;
    if (status == NOD_PENDING)
        run_bug(run, "A live run is open while its call waits: it ends with a result or an error");
    live->done = true;
    live->status = status;
    live->body_len = body.len;
    if (body.len)
        live->body = str_dup(body);
    live_wake(call);
}

/* The call leaves the state in which it was at rest. */
static void set_out(struct call *call)
{
    if (call->state == LIVE_RUNNING)
        call_clock_stop(call);
    else
        due_stop(call->engine, &call->timeout); /* the next look */
    call_awake(call);
    call->notices = call->live->run->notice_ordinal > call->notices
                        ? call->live->run->notice_ordinal
                        : call->notices;
}

static void live_end(struct call *call)
{
    struct live *live = call->live;
    struct run *run = live->run;

    set_out(call);
    live->run = NULL;
    call_unasked(call, run);
    call_enter(call, LIVE_ASKING); /* no longer with the provider */
    call_outcome_of(call, run, live->status, str_n(live->body, live->body_len));
    run_free(run);
    call_needs_forget(call);
    flow_jump(&call->flow, "finish");
}

/* --- what the provider wants --- */

void run_commit(struct run *run)
{
    if (!run->live || !run->call)
        return;
    run->call->live->commit = true;
    live_wake(run->call);
}

static void news_forget(struct run *run, struct run_item *gone)
{
    struct run_list left = { 0 };

    for (struct run_item *item = run->news.first, *next; item; item = next) {
        next = item->next;
        if (item == gone)
            continue;
        item->next = NULL;
        if (left.last)
            left.last->next = item;
        else
            left.first = item;
        left.last = item;
    }
    left.entries = run->news.entries;
    left.asks = run->news.asks - 1;
    left.bytes = run->news.bytes - run_item_bytes(gone);
    run->news = left;
}

nod_status run_take_back(struct run *run, struct str key, struct str why)
{
    if (!run->live || !run->call)
        return NOD_E_NOT_FOUND;
    for (struct run_item *item = run->news.first; item; item = item->next)
        if (item->is_ask && str_eq(item->entry.key, key)) {
            news_forget(run, item); /* nobody has heard of it */
            return NOD_OK;
        }
    LIST_EACH (at, &run->call->live->waiting) {
        struct live_question *question = LIST_OF(at, struct live_question, link);
        if (!str_eq(question->key, key) || question->back)
            continue;
        question->back = true;
        question->why = str_dup(why);
        live_wake(run->call);
        return NOD_PENDING;
    }
    return NOD_E_NOT_FOUND;
}

/* --- its turn --- */

static struct ask *ask_with_key(const struct call *call, struct str key)
{
    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        if (ask->listed && str_eq(ask->record.key, key))
            return ask;
    }
    return NULL;
}

static void question_told(struct call *call, struct live_question *question)
{
    struct ask *ask = ask_with_key(call, question->key);

    list_remove(&question->link);
    mem_free(question->why);
    mem_free(question);
    run_learns(call);
    if (ask && !ask->claiming) /* it was answered before it was put up here */
        ask_ended_elsewhere(ask);
}

/* Tells the provider what has happened. False: the run is no longer its call's. */
static bool live_tell(struct live *live)
{
    if (live->saved) {
        const struct provider_ops *ops = live->run->target->provider->ops;
        live->saved = false;
        if (ops->committed)
            ops->committed(live->run->target->provider, live->run);
    }
    for (bool told = true; told && live->call && !live->done;) {
        told = false;
        LIST_EACH (at, &live->waiting) {
            struct live_question *question = LIST_OF(at, struct live_question, link);
            struct call *call = live->call;
            const struct entry *end =
                journal_find(call->journal.entries, call->journal.count, ENTRY_ASK, question->key);
            if (!end)
                continue;
            question_told(call, question);
            if (!live->call) /* a surface that was told has ended the call */
                return false;
            struct provider *provider = live->run->target->provider;
            if (provider->ops->answered)
                provider->ops->answered(provider, live->run, end);
            told = true; /* whatever it did may have changed the list */
            break;
        }
    }
    return live->call != NULL;
}

static void take_back_all(struct call *call)
{
    LIST_EACH (at, &call->live->waiting) {
        struct live_question *question = LIST_OF(at, struct live_question, link);
        struct ask *ask = question->back ? ask_with_key(call, question->key) : NULL;
        if (ask && !ask->claiming)
            claim_taken_back(ask, str_of(question->why));
    }
}

/* The items are copied: the run may be dropped, and be freed by its provider, before they are
 * stored. */
static struct run_item *item_copy(struct arena *arena, const struct run_item *from)
{
    struct run_item *item = ARENA_NEW(arena, struct run_item);

    if (!item)
        return NULL;
    *item = *from;
    item->next = NULL;
    item->entry.key = arena_str(arena, from->entry.key);
    item->entry.content = arena_str(arena, from->entry.content);
    item->spec.key = item->entry.key;
    item->spec.message = arena_str(arena, from->spec.message);
    item->spec.detail = arena_str(arena, from->spec.detail);
    item->spec.url = arena_str(arena, from->spec.url);
    item->spec.path = arena_str(arena, from->spec.path);
    item->spec.path_digest = arena_str(arena, from->spec.path_digest);
    return item;
}

static void question_waits(struct live *live, struct str key)
{
    struct live_question *question = mem_zalloc(sizeof(*question) + key.len + 1);
    char *at = (char *)(question + 1);

    question->key = str_place(&at, key);
    question->nth = ++live->asked;
    list_init(&question->link);
    list_append(&live->waiting, &question->link);
}

/* What the provider has committed goes the way of what a handler leaves behind. */
static void live_save(struct call *call)
{
    struct live *live = call->live;
    struct run *run = live->run, *batch = run_create(call);

    set_out(call);
    live->commit = false;
    live->saving = true;
    for (const struct run_item *from = run->news.first; from; from = from->next) {
        struct run_item *item = item_copy(&batch->arena, from);
        if (!item)
            break;
        if (batch->news.last)
            batch->news.last->next = item;
        else
            batch->news.first = item;
        batch->news.last = item;
        if (item->is_ask)
            question_waits(live, item->entry.key);
    }
    batch->news.entries = run->news.entries;
    batch->news.asks = run->news.asks;
    batch->news.bytes = run->news.bytes;
    run->news = (struct run_list){ 0 };
    if (!call_is_alone(call)) { /* whoever is behind the call may be another by now */
        run->supports = batch->supports;
        run->client = batch->client;
        run->supports_consent = batch->supports_consent;
        run->lacks_role = batch->lacks_role;
        run->model = batch->model;
        run->roles = batch->roles;
    }
    run_learns(call);
    call->run = batch;
    if (batch->arena.exhausted) {
        call_run_free(call);
        call_enter(call, LIVE_ASKING); /* between its run and its end */
        call_fail(call, NOD_E_LIMIT, NULL,
                  STR("What the run has recorded needs more memory than a run may have"));
    } else if (batch->news.asks) {
        grants_look(call);
    } else {
        call_save(call);
    }
}

/* An answer says that it is to be remembered: that is stored before the run goes on. */
static bool grant_is_wanted(const struct call *call)
{
    for (size_t i = call->granted; i < call->journal.count && !call->engine->stopping; i++) {
        const struct entry *entry = &call->journal.entries[i];
        if (entry->class == ENTRY_ASK && entry->state == ASK_ACCEPTED && entry->note.len)
            return true;
    }
    return false;
}

static bool at_rest(const struct live *live)
{
    const struct call *call = live->call;

    return call && live->run && !call->cancel_wanted &&
           (call->state == LIVE_RUNNING || call->state == LIVE_WAITING);
}

static void live_turn(struct live *live)
{
    if (!at_rest(live))
        return;
    if (grant_is_wanted(live->call)) {
        struct call *call = live->call;
        set_out(call);
        call_enter(call, LIVE_SAVING);
        if (grants_made(call)) /* else the run goes on when it is */
            live_on(call);
        return;
    }
    if (!live->done && !live_tell(live))
        return;
    if (!at_rest(live))
        return;
    struct call *call = live->call;
    if (live->done) {
        live_end(call);
        return;
    }
    take_back_all(call);
    if (!at_rest(live))
        return;
    if (live->commit && live->run->news.first)
        live_save(call);
    else if (live->commit && !live->saving) { /* there was nothing to store */
        live->commit = false;
        live->saved = true;
        live_wake(call);
    }
}

static void turn_comes(struct due *due)
{
    struct live *live = HEAP_OF(&due->node, struct live, turn.node);

    live->busy = true;
    live_turn(live);
    live->busy = false;
    if (!live->call)
        live_free(live);
}

void live_on(struct call *call)
{
    if (list_empty(&call->asks)) {
        call->came = CAME_NOTHING;
        call_tell_waiting(call, false);
        call_enter(call, LIVE_RUNNING);
        call_clock_start(call);
        return;
    }
    call_enter(call, LIVE_WAITING);
    if (call_is_alone(call))
        call_rest(call);
    else if (call->came)
        call_take(call);
}

/* --- a write that was refused: who has the call? --- */

bool live_is_saved(const struct call *call)
{
    if (call->saving_count)
        return call->live && knows(call, &call->saving_entries[0]);
    return call->saving_asks && live_knows(call, &call->saving[0]);
}

/* `record` (may be NULL) is what the store has. Without a live run nothing but this call's own
 * writes makes its journal longer. */
static void again_send(struct call *call, const struct call_record *record)
{
    struct ending *ending = call->ending;
    bool longer =
        !call->live && call->saving_count && record && record->entry_count > call->journal.count;

    call->came = CAME_NOTHING;
    if (longer || live_is_saved(call)) { /* before another node took the call */
        ending->again_done(&call->op, NOD_OK, NULL);
        return;
    }
    op_start_of(call->engine, &call->op, call->principal, ending->again_send, ending->again_done);
    if (engine_survives(call->engine))
        call->op.most = INT_MAX;
}

/* Another node has the call, or it has ended. */
static void again_lost(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    if (call->cancel_wanted) { /* meanwhile, while it saved */
        call_save_refused(op, reply);
        return;
    }
    live_drop(call);
    call->ending->again_over = true;
    call->ending->again_done(op, status, reply);
}

static void again_look(struct call *call);

/* A store of one process does not name the node. */
static bool runs_here(const struct call *call, const struct call_record *record)
{
    const struct engine *engine = call->engine;

    return record->state == CALL_STORED_RUNNING &&
           (!engine->store->ops->shared || str_eq(record->node, engine->node));
}

static bool has_ended(const struct call_record *record)
{
    return record->state == CALL_STORED_FINISHED || record->state == CALL_STORED_CANCELLED;
}

static void again_loaded(struct op *op, nod_status status, const struct store_reply *reply);

static void again_load(struct call *call)
{
    op_start_of(call->engine, &call->op, call->principal, call_load_send, again_loaded);
    call->op.most = INT_MAX;
}

static void again_due(struct due *due)
{
    struct call *call = HEAP_OF(&due->node, struct call, timeout.node);

    if (!call->cancel_wanted) {
        again_look(call);
        return;
    }
    again_load(call);
}

/* It is this node's, in this epoch. */
static void again_ours(struct call *call, uint64_t epoch, const struct call_record *record)
{
    call->epoch = epoch;
    if (call->live)
        live_learn(call, record);
    again_send(call, record);
}

static void again_loaded(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    const struct call_record *record = status == NOD_OK ? reply->call : NULL;

    bool elsewhere = record && !call->live && home_at(call->engine, record) != HOME_HERE;

    if (call->cancel_wanted || !record || has_ended(record) || elsewhere) {
        again_lost(op, status == NOD_OK ? NOD_E_STALE : status, reply);
    } else if (call->came == CAME_EPOCH) {
        again_send(call, record);
    } else if (call->ending->again > AGAIN_MOST) {
        due_set(call->engine, &call->timeout, AGAIN_MS, again_due);
    } else if (record->state == CALL_STORED_RUNNABLE) {
        again_look(call);
    } else if ((runs_here(call, record) && record->epoch > call->epoch) ||
               (record->state == CALL_STORED_WAITING && record->epoch == call->epoch)) {
        again_ours(call, record->epoch, record); /* its claim took it: the reply is on its way */
    } else {
        due_set(call->engine, &call->timeout, AGAIN_MS, again_due);
    }
}

static void again_took(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    if (call->cancel_wanted) {
        again_lost(op, NOD_E_STALE, reply);
    } else if (status == NOD_OK && reply->epoch > call->epoch) {
        call->ours_ms = op->sent_ms;
        again_ours(call, reply->epoch, reply->call);
    } else if (call->came == CAME_EPOCH) {
        again_send(call, NULL);
    } else {
        again_load(call);
    }
}

static void again_take_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct engine *engine = call->engine;

    engine->store->ops->take(engine->store,
                             &(struct take_spec){ .token = id_str(&op->token),
                                                  .call_id = id_str(&call->id),
                                                  .node = engine->node,
                                                  .why = TAKE_FORGIVEN },
                             op_completed, op);
}

static void again_look(struct call *call)
{
    call->ending->again++;
    op_start_of(call->engine, &call->op, call->principal, again_take_send, again_took);
    call->op.most = INT_MAX; /* only the reply tells the epoch that it may have given us */
}

/* Without a live run: the call has its home here if the store says so, and then no other node may
 * run it on, or end it. What it asks is asked again. */
static bool may_stay_here(const struct call *call)
{
    return call->live || (target_stays(call->target) && !call->saving_asks);
}

bool live_again(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);

    if (!call->stored || call->cancel_wanted || !may_stay_here(call))
        return false;
    struct ending *ending = call_ending(call);
    if (ending->again_over)
        return false;
    if (op->send != ending->again_send)
        ending->again = 0;
    ending->again_send = op->send;
    ending->again_done = op->done;
    if (call->came == CAME_EPOCH && ending->again++ <= AGAIN_MOST)
        again_send(call, NULL);
    else if (call->live)
        again_look(call);
    else
        again_load(call);
    return true;
}

/* --- what the store says of a call that waits --- */

bool live_taken(struct call *call, const struct store_reply *reply, int64_t asked_ms)
{
    if (reply->epoch < call->epoch || reply->call->epoch != reply->epoch)
        return false;
    bool newer = reply->epoch > call->epoch;
    call->epoch = reply->epoch;
    call->ours_ms = asked_ms;
    live_learn(call, reply->call);
    if (newer && call->state != LIVE_RUNNING)
        call->came = CAME_EPOCH;
    return true;
}

enum live_seen live_looked(struct call *call, nod_status status, const struct call_record *record)
{
    if (status == NOD_OK && record->state == CALL_STORED_RUNNABLE)
        return LIVE_SEEN_TAKE;
    if (status == NOD_OK && record->state == CALL_STORED_WAITING && record->epoch == call->epoch) {
        live_learn(call, record);
        return LIVE_SEEN_WAITS;
    }
    if (status == NOD_OK && runs_here(call, record) && record->epoch >= call->epoch) {
        call->epoch = record->epoch;
        live_learn(call, record);
        return LIVE_SEEN_OURS;
    }
    if (status == NOD_OK && !has_ended(record))
        return LIVE_SEEN_LATER;
    LOG_INFO("a live run is dropped: its call has ended elsewhere",
             LOG_STR("call", id_str(&call->id)));
    call_awake(call);
    live_drop(call);
    return LIVE_SEEN_LOST;
}
