/*
 * core/claim_lookup: may this answer be given to this ask?
 *
 * The stage lookupPending. It finds the ask, live here or in the store, and looks in this order at
 * whose turn it is, who answers, whether the tool that asks is still there, whether the ask still
 * waits, which offer of it is answered, whose word counts for it, what else is said with the answer
 * (claim_note.c), and whether the tool is still what it was when the call began.
 *
 * Holds always: whoever may not answer an ask learns nothing of it, not even that it exists.
 */
#include "core/claim.h"

#include "base/mem.h"
#include "core/answerable.h"
#include "core/catalog.h"

static void ended_without(void *data, nod_status status)
{
    struct claim *claim = data;

    claim->result.pending = status == NOD_E_STORE || status == NOD_PENDING; /* not known yet */
    claim->result.state = claim->result.pending ? ASK_PENDING : ASK_WITHDRAWN;
    claim_reject(claim, claim->result.pending ? NOD_E_STORE : NOD_E_STALE);
}

/* The call cannot go on with an answer: it ends, and the answerer learns that. */
static void end_as(struct claim *claim, struct str call_id, struct outcome outcome)
{
    if (claim->lent)
        claim_own_content(claim);
    engine_end(claim->engine, arena_str(&claim->arena, call_id), &outcome, ended_without, claim);
}

static void call_seen(void *data, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = data;
    const struct call_record *call = status == NOD_OK ? reply->call : NULL;
    const struct target *target =
        call && call->state == CALL_STORED_WAITING && !call->forgotten && !claim_ask(claim)
            ? catalog_named(claim->engine->catalog, call->kind, call->target)
            : NULL;

    if (status == NOD_E_STORE) {
        if (claim->answer.set)
            answer_set_spoil(claim->answer.set, status);
        claim_reject(claim, status);
    } else if (target && target_has_changed(target, call)) {
        end_as(claim, call->id, outcome_changed(&claim->arena, target->name));
    } else {
        flow_next(&claim->flow);
    }
}

/* The call is not live here. Its answer is taken only if the target is still what it was when the
 * call began. */
static void check_target(struct claim *claim, const struct ask_record *record)
{
    struct store *store = claim->engine->store;

    if (claim_ask(claim) || !claim->engine->catalog || !engine_survives(claim->engine))
        flow_next(&claim->flow);
    else
        store->ops->load_call(store, record->call_id, call_seen, claim);
}

/* Another submission came first, with another answer to this ask. */
static bool contradicts(const struct claim *claim, const struct ask_record *record)
{
    return claim->answer.set && !claim->result.same && str_eq(record->via, claim_via(claim));
}

/* The answerer's roles. The asked client's own word needs none (core/answerable.h). */
static role_set claim_roles(const struct claim *claim)
{
    const struct surface *surface = claim->answer.surface;
    bool own = claim->url_done || (surface && (surface->ops->client || surface->ops->own_word));

    return claim->answer.roles | (own ? ANSWERS_AS_CLIENT : ROLES_NONE);
}

/* What asks, if its call waits here. */
static const struct target *claim_target(struct claim *claim)
{
    const struct ask *ask = claim_ask(claim);

    return ask ? ask->call->target : NULL;
}

static void turn_loaded(void *data, nod_status status, const struct store_reply *reply);

/* The operator has it asked in other places, or there first. False: it was rejected, or that is
 * being looked up. The client's own surfaces know by themselves whether they are asked at all. */
static bool check_turn(struct claim *claim, const struct ask_record *record)
{
    const struct surface *surface = claim->answer.surface;
    int64_t turn =
        surface ? engine_turn_comes(claim->engine, record, surface) : (int64_t)TURN_HAS_COME;

    if (turn == TURN_HAS_COME || (turn == TURN_NEVER && surface->ops->client))
        return true;
    if (!claim->turn_looked && engine_turn_may_be_early(claim->engine, record, surface)) {
        claim->turn_looked = true;
        if (claim->lent)
            claim_own_content(claim);
        engine_turn_load(claim->engine, claim->ask_id, turn_loaded, claim);
    } else {
        claim_reject(claim, NOD_E_NOT_FOUND);
    }
    return false;
}

/* May this answerer answer this ask? */
static void check_answerer(struct claim *claim, const struct ask_record *record)
{
    const struct surface *surface = claim->answer.surface;
    bool page = record->kind == ASK_URL && record->wait_done && !record->page;
    bool ours = record->page && str_eq(record->principal, claim->answer.by);

    if (claim->url_done) /* the page was opened for the principal that the ask was put to */
        claim->answer.by = arena_str(&claim->arena, record->principal);
    if (!check_turn(claim, record))
        return;
    bool foreign = claim->answer.scope.len && !str_eq(record->scope, claim->answer.scope);
    if (!answerable_by(record, claim->answer.by, claim_roles(claim)) || foreign ||
        (claim->url_done && !page) || (claim->page && !ours)) {
        claim_reject(claim, NOD_E_NOT_FOUND); /* others must not learn that this ask exists */
        return;
    }
    memcpy(claim->asker.text, record->call_id.at,
           record->call_id.len < ID_LEN ? record->call_id.len : ID_LEN);
    claim->result.call_id = id_str(&claim->asker);
    if (record->state == ASK_PENDING && target_is_gone(claim->engine, record->target)) {
        end_as(claim, record->call_id, outcome_gone(&claim->arena, record->target));
    } else if (record->state != ASK_PENDING) {
        claim->result.state = record->state;
        claim->result.by = arena_str(&claim->arena, record->by);
        claim->result.via = arena_str(&claim->arena, record->via);
        claim->result.same = claim_agrees(claim, record);
        if (contradicts(claim, record))
            answer_set_spoil(claim->answer.set, NOD_E_STALE);
        claim_reject(claim, NOD_E_STALE);
    } else if (claim->answer.attempt && claim->answer.attempt < record->attempt) {
        claim->result.pending = true;
        claim_reject(claim, NOD_E_STALE); /* it answers an offer that was replaced */
    } else if (!claim_may_count(claim->engine, record, claim_target(claim), surface)) {
        claim->result.pending = true;
        claim_reject(claim, NOD_E_REFUSED);
    } else if ((claim->result.problems = claim_take_note(claim, record)).len) {
        claim->result.pending = true;
        claim_reject(claim, NOD_E_INVALID);
    } else {
        check_target(claim, record);
    }
}

static void check_loaded(struct claim *claim)
{
    struct ask *ask = claim_ask(claim); /* the call may have come back to this node */

    check_answerer(claim, ask ? &ask->record : claim->record);
}

static void not_loaded(struct claim *claim, nod_status status)
{
    if (status == NOD_E_STORE && claim->answer.set)
        answer_set_spoil(claim->answer.set, status);
    claim_reject(claim, status);
}

static void turn_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = data;

    if (status == NOD_E_STORE) {
        not_loaded(claim, status);
        return;
    }
    struct ask *ask = claim_ask(claim); /* it may have come back to this node, or gone from it */
    struct ask_record *record = ask ? &ask->record : claim->record;
    if (!record) {
        claim_lookup(&claim->flow, claim);
        return;
    }
    if (status == NOD_OK)
        ask_record_turn(record, reply->value);
    check_answerer(claim, record);
}

static void loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = data;

    if (status != NOD_OK) {
        not_loaded(claim, status);
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
    if (claim->lent)
        claim_own_content(claim);
    claim->engine->store->ops->load_ask(claim->engine->store, claim->ask_id, loaded, claim);
}
