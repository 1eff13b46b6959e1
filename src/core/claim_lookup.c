/*
 * core/claim_lookup: may this answer be given to this ask?
 *
 * The stage lookupPending. It finds the ask, live here or in the store, and looks in this order at
 * whose turn it is, who answers, whether its call is being cancelled, whether the tool that asks is
 * still there, whether the ask still waits, which offer of it is answered, whose word counts for
 * it, what else is said with the answer (claim_note.c), and whether the tool is still what it was
 * when the call began.
 *
 * Holds always: whoever may not answer an ask learns nothing of it, not even that it exists.
 */
#include "core/claim.h"

#include "base/mem.h"
#include "core/answerable.h"
#include "core/catalog.h"

static void claim_not_known(struct claim *claim, nod_status status)
{
    if (status == NOD_E_STORE && claim->answer.set)
        answer_set_spoil(claim->answer.set, status);
    claim_reject(claim, status);
}

enum {
    DOUBTS_MOST = 40, /* looks until it is known what becomes of a call */
    DOUBT_MS = 50,    /* between two of them */
};

static void doubt_again(struct due *due);
static store_done loaded;

/* NOD_PENDING: the call is just being taken, looked at or ended here, and is looked at again. */
static void ended_without(void *data, nod_status status)
{
    struct claim *claim = data;

    if (status == NOD_PENDING && claim->doubts < DOUBTS_MOST) {
        due_set(claim->engine, &claim->doubt, DOUBT_MS, doubt_again);
        return;
    }
    if (status != NOD_E_STORE && status != NOD_PENDING && claim->doubts++ < DOUBTS_MOST) {
        claim->engine->store->ops->load_ask(claim->engine->store, claim->ask_id, loaded, claim);
        return; /* it has ended now, or had before: the store says how */
    }
    claim->result.pending = true; /* not known yet */
    claim->result.state = ASK_PENDING;
    claim_reject(claim, NOD_E_STORE);
}

/* The call cannot go on with an answer: it ends, and the answerer learns that. */
static void end_as(struct claim *claim, struct str call_id, struct outcome outcome)
{
    if (claim->lent)
        claim_own_content(claim);
    engine_end(claim->engine, arena_str(&claim->arena, call_id), &outcome, ended_without, claim);
}

static store_done call_seen;

static void doubt_look(struct claim *claim, struct str call_id)
{
    struct store *store = claim->engine->store;

    if (claim->lent)
        claim_own_content(claim);
    if (!claim->doubts++)
        claim->since = clock_mono(claim->engine->clock);
    store->ops->load_call(store, call_id, call_seen, claim);
}

static void doubt_again(struct due *due)
{
    struct claim *claim = HEAP_OF(&due->node, struct claim, doubt.node);

    doubt_look(claim, id_str(&claim->asker));
}

/* An answer to a call of another version counts while a node lives that can go on with it. */
static void call_seen(void *data, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = data;
    struct engine *engine = claim->engine;
    struct ask *ask = claim_ask(claim);
    const struct call_record *call = status == NOD_OK ? reply->call : NULL;
    const struct target *target = NULL;
    enum version_at version = VERSION_HERE;
    struct so_far so_far = { 0 };

    if (call)
        so_far = (struct so_far){ .entries = call->entries, .count = call->entry_count };
    if (claim->gone.len && status != NOD_E_STORE) {
        end_as(claim, id_str(&claim->asker), outcome_gone(&claim->arena, claim->gone, &so_far));
        return;
    }
    if (ask && call_is_foreign(ask->call))
        target = ask->call->target;
    else if (!ask && call && call->state == CALL_STORED_WAITING && !call->forgotten)
        target = catalog_of_call(engine->catalog, call);
    if (call && target)
        version = version_at(engine, target, call, claim->since);
    if (status == NOD_E_STORE || (version == VERSION_UNSURE && claim->doubts >= DOUBTS_MOST))
        claim_not_known(claim, NOD_E_STORE);
    else if (version == VERSION_UNSURE)
        due_set(engine, &claim->doubt, DOUBT_MS, doubt_again);
    else if (version == VERSION_NOWHERE)
        end_as(claim, call->id, outcome_changed(&claim->arena, call->target, &so_far));
    else if (claim->publishes)
        claim_publish_stage(claim);
    else
        flow_next(&claim->flow);
}

bool claim_is_in_vain(struct claim *claim)
{
    struct ask *ask = claim_ask(claim);

    if (!ask || claim->by_engine || ask->record.kind == ASK_CALL ||
        call_version_at(ask->call) != VERSION_NOWHERE)
        return false;
    claim->publishes = true;
    doubt_look(claim, id_str(&claim->asker));
    return true;
}

/* The call does not wait here with the target that it began with. Its answer is taken only if this
 * node, or another one that lives, has that target. */
static void check_target(struct claim *claim, const struct ask_record *record)
{
    struct ask *ask = claim_ask(claim);
    const struct catalog *catalog = claim->engine->catalog;
    bool here = !ask && record->call_version && catalog && catalog_has_version(catalog, record);

    if ((ask && !call_is_foreign(ask->call)) || here || !catalog)
        flow_next(&claim->flow);
    else
        doubt_look(claim, record->call_id);
}

/* The answerer's roles. The asked client's own word needs none (core/answerable.h). */
static role_set claim_roles(const struct claim *claim)
{
    const struct surface *surface = claim->answer.surface;
    bool own = claim->url_done || (surface && (surface->ops->client || surface->ops->own_word));

    return claim->answer.roles | (own ? ANSWERS_AS_CLIENT : ROLES_NONE);
}

/* False: the operator has it asked in other places, or there first. A client that was asked before
 * that is told so below: see answer_unheard. */
static bool is_its_turn(const struct claim *claim, const struct ask_record *record)
{
    const struct surface *surface = claim->answer.surface;
    int64_t turn =
        surface ? engine_turn_comes(claim->engine, record, surface) : (int64_t)TURN_HAS_COME;

    return turn == TURN_HAS_COME || (turn == TURN_NEVER && surface->ops->client);
}

/* A call that is live here has its target at hand. */
static bool has_lost_target(struct claim *claim, const struct ask_record *record)
{
    const struct ask *ask = claim_ask(claim);

    return ask ? call_lacks_target(ask->call) && !claim->engine->store->ops->shared
               : target_is_gone(claim->engine, record);
}

/* The call was being cancelled, or a call that waits for it. The store knows by now how the ask has
 * ended, or the next call on the way down is being cancelled. */
static void cancel_known(void *data, nod_status status)
{
    struct claim *claim = data;

    claim->result.pending = status == NOD_E_STORE;
    if (status == NOD_E_STORE)
        claim_reject(claim, status);
    else
        claim_lookup(&claim->flow, claim);
}

/* May this answerer answer this ask? */
static void check_answerer(struct claim *claim, const struct ask_record *record)
{
    const struct surface *surface = claim->answer.surface;
    const struct ask *ask = claim_ask(claim);
    struct call *cancelled = ask && !claim->answer.set ? call_being_cancelled(ask->call)
                                                       : NULL; /* a set may be its own */
    bool page = record->kind == ASK_URL && record->wait_done && !record->page;
    bool ours = record->page && str_eq(record->principal, claim->answer.by);

    if (claim->url_done) /* the page was opened for the principal that the ask was put to */
        claim->answer.by = arena_str(&claim->arena, record->principal);
    bool foreign = claim->answer.scope.len && !str_eq(record->scope, claim->answer.scope);
    if (!is_its_turn(claim, record) ||
        !answerable_by(record, claim->answer.by, claim_roles(claim)) || foreign ||
        (claim->url_done && !page) || (claim->page && !ours)) {
        claim_reject(claim, NOD_E_NOT_FOUND); /* others must not learn that this ask exists */
        return;
    }
    claim->asker = id_of(record->call_id);
    claim->result.call_id = id_str(&claim->asker);
    if (cancelled) {
        if (claim->lent)
            claim_own_content(claim);
        call_cancel_then(cancelled, STR_NONE, cancel_known, claim); /* told in time */
    } else if (record->state == ASK_PENDING && has_lost_target(claim, record)) {
        claim->gone = arena_str(&claim->arena, record->target);
        doubt_look(claim, record->call_id); /* its end says what was done */
    } else if (record->state != ASK_PENDING) {
        claim->result.state = record->state;
        claim->result.by = arena_str(&claim->arena, record->by);
        claim->result.via = arena_str(&claim->arena, record->via);
        claim->result.same = claim_agrees(claim, record);
        bool contradicts =
            claim->answer.set && !claim->result.same && str_eq(record->via, claim_via(claim));
        if (contradicts) /* another submission came first, with another answer to this ask */
            answer_set_spoil(claim->answer.set, NOD_E_STALE);
        claim_reject(claim, NOD_E_STALE);
    } else if (claim->answer.attempt && claim->answer.attempt < record->attempt) {
        claim->result.pending = true;
        claim_reject(claim, NOD_E_STALE); /* it answers an offer that was replaced */
    } else if (surface && (claim->result.unheard = answer_unheard(claim->engine, record, surface,
                                                                  claim->answer.roles))) {
        claim->result.pending = true;
        claim->result.elsewhere = !claim_ask(claim) && !target_of_ask(claim->engine, record);
        claim_reject(claim, NOD_E_REFUSED);
    } else if ((claim->result.problems = claim_take_note(claim, record)).len) {
        claim->result.pending = true;
        claim_reject(claim, NOD_E_INVALID);
    } else {
        claim_keep_question(claim);
        check_target(claim, record);
    }
}

static void check_loaded(struct claim *claim)
{
    struct ask *ask = claim_ask(claim); /* the call may have come back to this node */

    check_answerer(claim, ask ? &ask->record : claim->record);
}

static void loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = data;

    if (status != NOD_OK) {
        claim_not_known(claim, status);
        return;
    }
    if (!claim->record) /* otherwise a hook that finishes later has had it kept */
        claim->record = MEM_NEW(struct ask_record);
    *claim->record = ask_record_copy(&claim->arena, reply->ask);
    check_loaded(claim);
}

void claim_lookup(struct flow *flow, void *subject)
{
    struct claim *claim = subject;
    struct ask *ask = claim_ask(claim);

    (void)flow;
    if (ask) {
        check_answerer(claim, &ask->record);
        return;
    }
    if (claim->answer.read) {
        check_loaded(claim);
        return;
    }
    if (claim->lent)
        claim_own_content(claim);
    claim->engine->store->ops->load_ask(claim->engine->store, claim->ask_id, loaded, claim);
}
