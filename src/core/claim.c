/*
 * core/claim: an ask leaves "pending" exactly once.
 *
 *     parseInput ▶ lookupPending ▶ validateContent ▶ buildResult ▶ publishResult ▶ finalize
 *
 * An ask can be answered from several places at the same moment: the client's form, two browser
 * tabs, another node, the clock. The first claim decides; everybody else is told who won. The store
 * makes the claim one transition (ask ended, journal longer, call runnable), and this file has what
 * follows. claim_lookup.c decides who may claim what; claim_content.c has the stages that look at
 * the content, answer_set.c the answers that are given together.
 *
 * Holds always:
 * - Content is checked against the schema that was asked before the store hears of it.
 * - Nothing resumes before the claim is committed.
 * - An answer is matched by the exact id of its ask, by who may answer it (answerable.h) and, if
 *   the surface counts its offers, by the offer.
 * - The ask's record counts how often the question was put. Invalid content is asked for again by a
 *   claim too, so it counts once, on whatever node it arrives.
 */
#include "core/claim.h"

#include <limits.h>

#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "core/problems.h"

static struct claim *claim_create(struct engine *engine, struct str ask_id,
                                  const struct answer *answer, answered_fn *done, void *data)
{
    size_t size = sizeof(struct claim) + ask_id.len + answer->by.len + answer->scope.len +
                  answer->via.len + answer->reason.len + 5;
    struct claim *claim = mem_alloc(size);
    size_t most = engine->opts.limits.journal_bytes;
    char *at = (char *)(claim + 1);

    *claim = (struct claim){ .engine = engine,
                             .answer = *answer,
                             .outcome = answer->action,
                             .size = size,
                             .done = done,
                             .data = data };
    claim->answer.once |= !done; /* nobody would send it again */
    claim->ask_id = str_place(&at, ask_id);
    claim->answer.by = str_place(&at, answer->by);
    claim->offer = answer->attempt;
    claim->answer.scope = str_place(&at, answer->scope);
    claim->answer.via = str_place(&at, answer->via);
    claim->answer.reason = str_place(&at, answer->reason);
    if (answer->remember) {
        claim->remember = *answer->remember;
        claim->remember.label = STR_NONE;
        claim->answer.remember = &claim->remember;
    }
    arena_init(&claim->arena, CLAIM_ARENA_MAX);
    claim->answer.read = NULL;
    if (answer->read && claim_keep_record(claim, answer->read))
        claim->answer.read = claim->record;
    buf_init(&claim->text, most < CLAIM_ARENA_MAX ? most : CLAIM_ARENA_MAX);
    list_init(&claim->link);
    list_append(&engine->claims, &claim->link);
    return claim;
}

static void claim_free(struct claim *claim)
{
    flow_drop(&claim->flow);
    due_stop(claim->engine, &claim->doubt);
    if (claim->published)
        claim_arrive(claim);
    mem_free(claim->joined);
    op_abandon(&claim->op);
    suspects_answer_over(claim->engine, claim);
    list_remove(&claim->link);
    buf_finish(&claim->text);
    mem_free(claim->record);
    arena_finish(&claim->arena);
    mem_free_sized(claim, claim->size);
}

void claims_drop(struct engine *engine)
{
    struct list *at;

    while ((at = list_first(&engine->claims))) {
        struct claim *claim = LIST_OF(at, struct claim, link);
        claim->result = (struct answer_result){ .status = NOD_E_STORE, .pending = true };
        if (claim->done && !claim->answer.set) /* whoever gave a set of answers is gone by now */
            claim->done(claim->data, &claim->result);
        claim_tell_joined(claim);
        claim_free(claim);
    }
}

/* The ask, if it is pending here. The stages look it up often, and mostly nothing has changed in
 * between, so the last result is kept. */
struct ask *claim_ask(struct claim *claim)
{
    const struct engine *engine = claim->engine;

    if (claim->looked != engine->asks_moved) {
        claim->ask = engine_ask(engine, claim->ask_id);
        claim->looked = engine->asks_moved;
    }
    return claim->ask;
}

struct str claim_whose(struct claim *claim)
{
    const struct ask *ask = claim_ask(claim);

    return ask ? ask->call->principal : claim->record ? claim->record->principal : claim->answer.by;
}

void claim_reject(struct claim *claim, nod_status status)
{
    claim->result.status = status;
    flow_stop(&claim->flow, status);
}

static void stage_build_result(struct flow *flow, void *subject)
{
    struct claim *claim = subject;

    if (claim->outcome != ASK_ACCEPTED && claim->outcome != ASK_INVALID)
        claim->content = STR_NONE;
    flow_next(flow);
}

struct str claim_via(const struct claim *claim)
{
    if (claim->by_engine)
        return claim->outcome == ASK_EXPIRED ? STR("clock") : STR("nod");
    if (claim->answer.via.len)
        return claim->answer.via;
    if (claim->url_done || claim->page)
        return STR("page");
    return claim->answer.surface ? str_of(claim->answer.surface->ops->name) : STR("client");
}

struct claim_item claim_as_item(struct claim *claim)
{
    const struct ask *ask = claim_ask(claim);

    return (struct claim_item){ .ask_id = claim->ask_id,
                                .outcome = claim->outcome,
                                .content = claim->content,
                                .note =
                                    claim->outcome == claim->answer.action ? claim->note : STR_NONE,
                                .attempt = claim->offer - (ask && claim->offer ? ask->ahead : 0),
                                .again = claim->again };
}

static void publish_send(struct op *op)
{
    struct claim *claim = OP_OF(op, struct claim, op);
    struct engine *engine = claim->engine;
    struct ask *ask = claim_ask(claim);
    struct claim_item item = claim_as_item(claim);
    struct claim_spec spec = { .token = id_str(&op->token),
                               .items = &item,
                               .count = 1,
                               .by = claim->answer.by,
                               .via = claim_via(claim),
                               .handed = claim->answer.handed,
                               .epoch = claim->epoch };

    if (ask) { /* the call waits here: take it in the same transition */
        spec.take_for = call_is_foreign(ask->call) ? STR_NONE : engine->node;
        spec.handed |= ask->call->handed;
        op->most = INT_MAX; /* the call may be taken in an epoch that only the reply tells */
    } else {
        /* What did not come through the call's client is run on without its client. */
        const struct surface *surface = claim->answer.surface;
        spec.handed |= claim->page || (surface && !surface_is_held(surface));
    }
    CRASH_POINT(answer_before);
    engine->store->ops->claim(engine->store, &spec, op_completed, op);
}

static struct str why_ended(const struct claim *claim, enum ask_state state)
{
    if (state == ASK_WITHDRAWN && claim->epoch && claim->answer.reason.len)
        return claim->answer.reason;
    switch (state) {
    case ASK_EXPIRED:
        return STR("Nobody answered in time");
    case ASK_CANCELLED:
        return STR("The question was replaced or dismissed");
    case ASK_WITHDRAWN:
        return STR("The call has ended");
    default:
        return STR("The question was answered elsewhere");
    }
}

/* The ask waits on. */
static void claim_lets_go(const struct claim *claim, struct ask *ask)
{
    if (!ask || !claim->by_engine)
        return;
    ask->claiming = false;
    inner_waits(ask->call);
}

void claim_failed(struct claim *claim, nod_status status)
{
    struct ask *ask = claim_ask(claim);

    claim_lets_go(claim, ask);
    claim->result.pending = status == NOD_E_STORE || status == NOD_E_STALE;
    if (status == NOD_E_NOT_FOUND && ask) {
        LOG_ERROR("the store has lost a question", LOG_STR("ask", claim->ask_id),
                  LOG_STR("call", ask->record.call_id));
        call_wake(ask->call); /* the call has ended elsewhere, or is lost too */
    }
    claim_reject(claim, status);
}

void claim_call_on(struct engine *engine, const struct store_reply *reply, int64_t asked_ms)
{
    struct call *call = engine_call_at(engine, reply->ask->call_id);

    bool ours = reply->taken && call && call_taken(call, reply, asked_ms);
    if (reply->taken && !ours)
        call_give_back(engine, reply->call->id, reply->epoch, reply->call->notices, false);
    if (!ours && call && list_empty(&call->asks))
        call_take(call); /* perhaps no node has taken it, or it has gone on elsewhere */
    else if (!ours && call) {
        inner_waits(call);       /* perhaps this ask alone was on its way */
        call_tell_offered(call); /* perhaps nothing is up at its client any more */
    }
    if (!call && !reply->taken)
        recovery_hurry(engine);
}

void claim_still_up(struct claim *claim, nod_status status, const struct claimed *now)
{
    struct ask *ask = claim_ask(claim);
    bool put = claim->again && now->won;

    claim->result.pending = true;
    if (ask && put && ask_is_up_on(ask, claim->answer.surface))
        ask_offered_anew(ask, now->ask->attempt + ask->ahead, claim->result.problems);
    else if (ask && put)
        ask->record.attempt =
            now->ask->attempt +
            ask->ahead; /* The caller brings it back to the client, and says what was wrong. */
    else if (ask)
        ask_offered_anew(ask, now->ask->attempt + ask->ahead, STR_NONE);
    claim_lets_go(claim, ask);
    claim_reject(claim, put ? NOD_E_INVALID : status);
}

/* Who answered what, for the operator: once for each answer, at the node whose claim has won. What
 * was asked and what was answered is not in it. */
static void log_answer(const struct engine *engine, const struct ask_record *ask)
{
    const struct target *target = engine->catalog ? catalog_of_ask(engine->catalog, ask) : NULL;
    struct str action = ask_action(ask->state);

    if (action.len)
        LOG_INFO("answered", LOG_STR("call", ask->call_id), LOG_STR("ask", ask->id),
                 LOG_STR("tool", ask->target), LOG_IF("plugin", target ? target->from : STR_NONE),
                 LOG_STR("principal", ask->principal), LOG_STR("by", ask->by),
                 LOG_STR("via", ask_via_shown(ask->via)), LOG_STR("action", action));
}

/* Tells the answerer how the ask ended. The claim is gone after this. */
void claim_settle(struct claim *claim, const struct claimed *now)
{
    struct ask *ask = claim_ask(claim);
    enum ask_state state = now->ask->state;

    claim->coming = 0;
    claim->result.state = state;
    claim->result.by = now->ask->by; /* lent: the answerer is told before this returns */
    claim->result.via = now->ask->via;
    claim->result.status = now->won && state == claim->answer.action ? NOD_OK : NOD_E_STALE;
    claim->result.same = claim->result.status == NOD_E_STALE && claim_agrees(claim, now->ask);
    if (now->won && state == ASK_INVALID)
        claim->result.status = NOD_E_INVALID;
    if (now->won)
        counts_ask_ended(&claim->engine->counts, now->ask);
    if (now->won && !claim->by_engine)
        log_answer(claim->engine, now->ask);
    if (now->won && state != ASK_ACCEPTED && now->ask->page && claim->engine->pages.ended)
        claim->engine->pages.ended(claim->engine->pages.data, now->ask);
    struct call *call = ask ? ask->call : engine_call_at(claim->engine, now->ask->call_id);
    if (call && call->live)
        live_learn_end(call, now->ask);
    if (ask) {
        if (!call->live) /* else it has learned it just now */
            call->learned += sizeof(struct entry) + now->ask->key.len + now->ask->content.len +
                             now->ask->by.len + now->ask->note.len;
        /* If the claim came after the ask's time, it has ended the ask by the clock, not by its
         * answer. */
        const struct surface *winner =
            claim->result.status == NOD_E_STALE ? NULL : claim->answer.surface;
        ask_end(ask, winner,
                &(struct winner){
                    .state = state, .by = now->ask->by, .via = now->ask->via, .surface = winner },
                why_ended(claim, state));
    }
    flow_next(&claim->flow);
}

static void publish_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = OP_OF(op, struct claim, op);
    struct engine *engine = claim->engine;

    CRASH_POINT(answer_after);
    if (reply && reply->claimed_count && reply->ask->state == ASK_PENDING) {
        claim_still_up(claim, status, &(struct claimed){ .ask = reply->ask, .won = reply->won });
        return;
    }
    if (status != NOD_OK) {
        claim_failed(claim, status);
        return;
    }
    int64_t asked_ms = op->sent_ms;
    claim_settle(claim, &(struct claimed){ .ask = reply->ask, .won = reply->won });
    claim_call_on(engine, reply, asked_ms);
}

/* The answerer is told that nothing is known yet. If it sends the same answer again, it finds
 * out. */
void claim_tired(struct op *op)
{
    struct claim *claim = OP_OF(op, struct claim, op);
    answered_fn *done = claim->done;

    claim->done = NULL;
    if (done)
        done(claim->data, &(struct answer_result){ .status = NOD_E_STORE, .pending = true });
    claim_put_off_joined(claim);
}

void claim_publish(struct claim *claim)
{
    claim_set_out(claim);
    op_start_of(claim->engine, &claim->op, claim_whose(claim), publish_send, publish_done);
    claim->op.tired = claim_tired;
    /* Send it for as long as the store is away if nobody would give this answer a second time, or
     * if it may take the call in an epoch that only the reply tells. */
    if (claim->answer.once || claim_ask(claim))
        claim->op.most = INT_MAX;
}

void claim_publish_stage(struct claim *claim)
{
    if (claim->answer.set)
        answer_set_join(claim);
    else if (!claim_join(claim))
        claim_publish(claim);
}

/* Hooks may have taken long, and the target of the call may have been replaced meanwhile. */
static void stage_publish(struct flow *flow, void *subject)
{
    (void)flow;
    if (!claim_is_in_vain(subject))
        claim_publish_stage(subject);
}

static void claim_describe(void *subject, struct hook_view *view)
{
    struct claim *claim = subject;
    struct ask *ask = claim_ask(claim);
    const struct ask_record *record = ask ? &ask->record : claim->record;

    if (record)
        ask_record_describe(record, view);
    view->ask_id = claim->ask_id;
    /* of a page that says it is done: whom the ask was put to, as lookupPending will find */
    view->principal = claim->url_done && record ? record->principal : claim->answer.by;
    view->action = claim->outcome;
    view->content = claim->content;
    view->content_tree = claim->content.len ? NULL : claim->answer.content;
    if (record)
        view->call_id = record->call_id;
}

/* Hooks have spoken, or may not. */
static bool is_unhooked(const void *subject)
{
    const struct claim *claim = subject;

    return claim->objection.len || claim->inner || claim_is_crashed(subject);
}

static const struct stage answer_stages[] = {
    { "parseInput", claim_parse_input, .needed = true },
    { "lookupPending", claim_lookup, .needed = true },
    { "validateContent", claim_validate_content, .needed = true },
    { "buildResult", stage_build_result },
    { "publishResult", stage_publish, .needed = true },
    { "finalize", NULL },
};

static void claim_flow_done(struct flow *flow, void *subject, nod_status status);

const struct flow_table answer_flow = { .id = NOD_FLOW_ANSWER,
                                        .done = claim_flow_done,
                                        .stages = answer_stages,
                                        .count = sizeof(answer_stages) / sizeof(answer_stages[0]),
                                        .describe = claim_describe,
                                        .unhooked = is_unhooked,
                                        .write = claim_write_content,
                                        .keep = claim_keep_content };

static void log_objection(struct claim *claim)
{
    struct ask *ask = claim_ask(claim);
    const struct ask_record *record = ask ? &ask->record : claim->record;

    LOG_INFO("a hook refused an answer", LOG_STR("call", record ? record->call_id : STR_NONE),
             LOG_STR("ask", claim->ask_id), LOG_STR("tool", record ? record->target : STR_NONE),
             LOG_STR("by", claim->answer.by), LOG_STR("why", claim->result.message));
}

/*
 * A hook objected to an answer that nobody would give a second time. It counts as one that does not
 * fit (content_invalid), if it may be given at all. True: that is being looked at, without hooks.
 */
static bool objection_counts(struct claim *claim)
{
    struct str problems = claim->result.problems;

    if (!claim->answer.once || claim->answer.set || claim->by_engine || !claim->answer.surface)
        return false;
    claim->objection = problems.len ? problems
                                    : problems_one(&claim->arena, STR(""),
                                                   STR("a rule of this server does not allow it"));
    claim->result = (struct answer_result){ 0 };
    flow_place(&claim->flow, &answer_flow, claim->engine->hooks, "lookupPending", claim);
    flow_enter(&claim->flow);
    return true;
}

static void claim_flow_done(struct flow *flow, void *subject, nod_status status)
{
    struct claim *claim = subject;
    const struct fault *fault = flow_fault(flow);

    if (status != NOD_OK && claim->result.status == NOD_OK &&
        claim->result.state == ASK_PENDING) { /* a hook objected before anything was stored */
        bool page_open = claim->result.pending;
        if (fault) {
            claim->result.code = fault->code;
            claim->result.message = fault->message;
            if (fault->message.len) /* for surfaces that show problems */
                claim->result.problems = problems_one(&claim->arena, STR(""), fault->message);
        }
        log_objection(claim);
        if (!page_open && objection_counts(claim))
            return;
        claim->result.status = status;
        claim->result.pending = true;
    }
    LOG_DEBUG("answer", LOG_STR("ask", claim->ask_id),
              LOG_STR("action", ask_state_name(claim->outcome)),
              LOG_CSTR("status", nod_status_name(claim->result.status)));
    if (claim->result.status == NOD_E_STALE && !claim->result.pending && !claim->result.same &&
        !claim->by_engine)
        claim->engine->counts.claims_lost++;
    struct answer_set *left = claim->at_door ? NULL : claim->answer.set;
    claim_let_go(claim);
    if (claim->done)
        claim->done(claim->data, &claim->result);
    claim_tell_joined(claim);
    claim_free(claim);
    if (left)
        answer_set_less(left);
}

/* --- the ways in --- */

static void claim_begin(struct claim *claim)
{
    flow_place(&claim->flow, &answer_flow, claim->engine->hooks, NULL, claim);
    claim_enter(claim);
}

void ask_answer(struct engine *engine, struct str ask_id, const struct answer *answer,
                answered_fn *done, void *data)
{
    struct claim *claim = claim_create(engine, ask_id, answer, done, data);

    if (answer->set)
        answer_set_more(answer->set);
    claim_begin(claim);
}

void ask_page_answer(struct engine *engine, struct str ask_id, const struct answer *answer,
                     answered_fn *done, void *data)
{
    struct claim *claim = claim_create(engine, ask_id, answer, done, data);

    claim->page = true;
    claim->answer.surface = NULL;
    claim_begin(claim);
}

void ask_url_done(struct engine *engine, struct str ask_id, answered_fn *done, void *data)
{
    struct claim *claim =
        claim_create(engine, ask_id, &(struct answer){ .action = ASK_ACCEPTED }, done, data);

    claim->url_done = true;
    claim->answer.by = STR_NONE; /* set when it is known whom the ask was put to */
    claim_begin(claim);
}

static void own_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = data;

    if (status == NOD_OK)
        claim_keep_record(claim, reply->ask);
    claim_enter(claim);
}

/* The engine's own word (expired, unsupported) enters after the stages that check the answerer.
 * Hooks are to see what was asked, so that is loaded if there are any. */
static void claim_own(struct claim *claim)
{
    struct engine *engine = claim->engine;

    claim->by_engine = true;
    claim->answer.by = STR("nod");
    flow_place(&claim->flow, &answer_flow, engine->hooks, "buildResult", claim);
    claim->flow.firm = true; /* a hook may object to an answer, but not to the clock */
    claim_keep_question(claim);
    if (!claim_ask(claim) && hooks_any(engine->hooks, &answer_flow))
        engine->store->ops->load_ask(engine->store, claim->ask_id, own_loaded, claim);
    else
        claim_enter(claim);
}

static void claim_as(struct engine *engine, struct str ask_id, enum ask_state outcome,
                     answered_fn *done, void *data)
{
    claim_own(claim_create(engine, ask_id, &(struct answer){ .action = outcome }, done, data));
}

void claim_by_engine(struct ask *ask, enum ask_state outcome)
{
    ask->claiming = true;
    claim_as(ask->call->engine, id_str(&ask->id), outcome, NULL, NULL);
}

void claim_taken_back(struct ask *ask, struct str why)
{
    struct claim *claim =
        claim_create(ask->call->engine, id_str(&ask->id),
                     &(struct answer){ .action = ASK_WITHDRAWN, .reason = why }, NULL, NULL);

    ask->claiming = true;
    claim->epoch = ask->call->epoch;
    claim_own(claim);
}

void claim_inner(struct engine *engine, struct str ask_id, struct str outcome, bool handed,
                 answered_fn *done, void *data)
{
    struct claim *claim = claim_create(
        engine, ask_id, &(struct answer){ .action = ASK_ACCEPTED, .handed = handed, .once = true },
        done, data);
    struct ask *ask = claim_ask(claim);

    if (ask)
        ask->claiming = true;
    claim->inner = true;
    claim->content = arena_str(&claim->arena, outcome);
    claim_own(claim);
}

void claim_overdue(struct engine *engine, struct str ask_id, answered_fn *done, void *data)
{
    claim_as(engine, ask_id, ASK_EXPIRED, done, data);
}

void claim_replaced(struct engine *engine, struct str ask_id)
{
    struct ask *ask = engine_ask(engine, ask_id);

    if (!ask)
        claim_as(engine, ask_id, ASK_CANCELLED, NULL, NULL);
    else if (!ask->claiming)
        claim_by_engine(ask, ASK_CANCELLED);
}

void ask_unsupported(struct engine *engine, struct str ask_id, answered_fn *done, void *data)
{
    claim_as(engine, ask_id, ASK_UNSUPPORTED, done, data);
}
