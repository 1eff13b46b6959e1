/*
 * core/claim_hand: an answer is in hand while its hooks run.
 *
 * A hook of an answer that crashes takes its process down, and would do so again each time the
 * answer is sent again. So before the first hook is called, the store learns that this node has an
 * answer to the ask in hand: a small record of the ask has the names of such nodes. When the answer
 * has ended, in whatever way, the node takes its name out again. A name that stays is that of a
 * node which has died meanwhile, or was told to stop (node.c), which counts for nothing. The third
 * death ends the call, as for a handler that crashes (suspect.c).
 *
 * If other nodes have an answer to the ask in hand, and would be too many if they died, this one
 * waits until they are done or gone. So one ask takes down HAND_DEATHS_MOST processes at most.
 *
 * Nothing of this happens if no hook can want the answer, or if nothing outlives the process.
 *
 * Answers to one ask that are in hand at the same time may hide a death from each other: two at one
 * node share its name, which goes with the first that ends, and a node that finds nobody beside it
 * removes the record. Such a death is missed once, and the next one is counted.
 *
 * Holds always: the store knows that a node has an ask in hand before that node calls a hook for an
 * answer to it. For an answer that comes after the last death no hook is called.
 */
#include "core/claim.h"

#include <limits.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"

#define HAND_KIND STR("hand")

enum {
    HAND_DEATHS_MOST = 3, /* nodes that died with an answer to the ask in hand: they end the call */
    HAND_AGAIN_MS = 100,  /* until it is looked again at who has the ask in hand */
    HAND_LOOKS_MOST = 150, /* looks until the answerer is told to come later */
};

static void hand_look(struct claim *claim);

static void hand_unknown(struct claim *claim)
{
    if (claim->answer.set)
        answer_set_spoil(claim->answer.set, NOD_E_STORE);
    claim_failed(claim, NOD_E_STORE);
}

static void hand_op(struct claim *claim, void (*send)(struct op *op),
                    void (*done)(struct op *op, nod_status status, const struct store_reply *reply))
{
    op_start(claim->engine, &claim->op, send, done);
    claim->op.tired = claim_tired;
    if (claim->answer.once) /* nobody would give it a second time */
        claim->op.most = INT_MAX;
}

/* --- after the last death --- */

bool claim_is_crashed(const void *subject)
{
    return ((const struct claim *)subject)->crashed;
}

/* The stages say to the answerer what became of the ask. */
static void hand_ended(void *data, nod_status status)
{
    struct claim *claim = data;

    (void)status;
    flow_enter(&claim->flow);
}

static void hand_call_seen(void *data, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = data;
    struct engine *engine = claim->engine;
    struct call *live = engine_call_at(engine, id_str(&claim->asker));

    if (status != NOD_OK) {
        hand_ended(claim, status);
        return;
    }
    const struct call_record *call = reply->call;
    const struct target *target =
        engine->catalog ? catalog_named(engine->catalog, call->kind, call->target) : NULL;
    struct outcome outcome = outcome_crashed(&claim->arena, call->target, CRASHED_IN_ANSWER,
                                             steps_are_open(call->entries, call->entry_count));
    LOG_ERROR(
        "a call has ended because the server died whenever an answer to it came",
        LOG_STR("target", call->target), LOG_STR("call", call->id),
        LOG_STR("registered", target && target->source.len ? target->source : STR("not known")),
        LOG_CSTR("code", outcome.code), LOG_INT("deaths", HAND_DEATHS_MOST));
    if (live && !call_waiting(live)) { /* it has brought the answer, and ends when it has heard */
        call_end_soon(live, &outcome);
        hand_ended(claim, NOD_OK);
    } else {
        engine_end(engine, id_str(&claim->asker), &outcome, hand_ended, claim);
    }
}

static void hand_ask_seen(void *data, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = data;
    struct store *store = claim->engine->store;

    if (status != NOD_OK || reply->ask->state != ASK_PENDING) {
        hand_ended(claim, status);
        return;
    }
    memcpy(claim->asker.text, reply->ask->call_id.at,
           reply->ask->call_id.len < ID_LEN ? reply->ask->call_id.len : ID_LEN);
    store->ops->load_call(store, id_str(&claim->asker), hand_call_seen, claim);
}

/* --- taking it in hand --- */

static void hand_put_send(struct op *op)
{
    struct claim *claim = OP_OF(op, struct claim, op);
    struct engine *engine = claim->engine;

    engine->store->ops->put(engine->store, HAND_KIND, claim->ask_id,
                            arena_fmt(&claim->arena, STR_FMT STR_FMT "\n", STR_ARG(claim->hands),
                                      STR_ARG(engine->node)),
                            claim->hand_version, STORE_ABANDONED_MS, op_completed, op);
}

static void hand_put_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = OP_OF(op, struct claim, op);

    if (status == NOD_E_STALE) { /* another node was faster, or this was sent twice */
        hand_look(claim);
    } else if (status != NOD_OK) {
        hand_unknown(claim);
    } else {
        claim->in_hand = true;
        claim->hand_version = reply->version;
        flow_enter(&claim->flow);
    }
}

static void hand_look_again(struct due *due)
{
    hand_look(HEAP_OF(&due->node, struct claim, doubt.node));
}

static void hand_weigh(struct claim *claim);

static void hand_weigh_again(struct due *due)
{
    hand_weigh(HEAP_OF(&due->node, struct claim, doubt.node));
}

static void hand_wait(struct claim *claim, void (*again)(struct due *due))
{
    if (++claim->hand_looks > HAND_LOOKS_MOST && !claim->answer.once)
        hand_unknown(claim);
    else
        due_set(claim->engine, &claim->doubt, HAND_AGAIN_MS, again);
}

/* Whose hands they are: those of nodes that have died, and of others that live. */
static void hand_weigh(struct claim *claim)
{
    struct engine *engine = claim->engine;
    struct str rest = claim->hands, name, kept = STR_NONE;
    size_t dead = 0, alive = 0;
    bool ours = false;

    if (rest.len && !nodes_known(engine, claim->since)) {
        hand_wait(claim, hand_weigh_again);
        return;
    }
    while (str_cut(rest, '\n', &name, &rest)) {
        if (str_eq(name, engine->node)) {
            ours = true; /* another answer, at this node */
            continue;
        }
        if (node_has_left(engine, name))
            continue;
        alive += node_is_there(engine, name);
        dead += !node_is_there(engine, name);
        kept = arena_fmt(&claim->arena, STR_FMT STR_FMT "\n", STR_ARG(kept), STR_ARG(name));
    }
    claim->hands = kept;
    if (dead >= HAND_DEATHS_MOST) {
        claim->crashed = true;
        engine->store->ops->load_ask(engine->store, claim->ask_id, hand_ask_seen, claim);
        return;
    }
    if (dead + alive >= HAND_DEATHS_MOST) {
        hand_wait(claim, hand_look_again);
        return;
    }
    if (dead)
        LOG_WARN("an answer is taken again whose process died while its hooks ran",
                 LOG_STR("ask", claim->ask_id), LOG_INT("deaths", (int64_t)dead));
    if (ours)
        flow_enter(&claim->flow);
    else
        hand_op(claim, hand_put_send, hand_put_done);
}

static void hand_look_send(struct op *op)
{
    struct claim *claim = OP_OF(op, struct claim, op);
    struct store *store = claim->engine->store;

    store->ops->get(store, HAND_KIND, claim->ask_id, op_completed, op);
}

static void hand_looked(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = OP_OF(op, struct claim, op);

    if (status == NOD_E_STORE) {
        hand_unknown(claim);
        return;
    }
    /* What cannot be read is replaced. */
    claim->hands = status == NOD_OK ? arena_str(&claim->arena, reply->value) : STR_NONE;
    claim->hand_version = status == NOD_OK            ? reply->version
                          : status == NOD_E_NOT_FOUND ? STORE_NEW
                                                      : 0;
    claim->since = clock_mono(claim->engine->clock);
    hand_weigh(claim);
}

static void hand_look(struct claim *claim)
{
    hand_op(claim, hand_look_send, hand_looked);
}

/* --- the whole --- */

void claim_enter(struct claim *claim)
{
    if (!engine_survives(claim->engine) || claim->ask_id.len != ID_LEN ||
        !hooks_may_want(&claim->flow)) {
        flow_enter(&claim->flow);
        return;
    }
    claim_keep_content(claim);
    hand_look(claim);
}

static void hand_is_empty(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply; /* if it failed, one death too many may be counted */
}

void claim_let_go(struct claim *claim)
{
    struct store *store = claim->engine->store;

    if (!claim->in_hand)
        return;
    if (claim->result.state != ASK_PENDING || !claim->hands.len)
        store->ops->del(store, HAND_KIND, claim->ask_id, hand_is_empty, NULL);
    else
        store->ops->put(store, HAND_KIND, claim->ask_id, claim->hands, claim->hand_version,
                        STORE_ABANDONED_MS, hand_is_empty, NULL);
}
