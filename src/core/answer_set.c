/*
 * core/answer_set: answers that are given together.
 *
 * One submission of a client may answer several questions of one call. Each answer goes through its
 * own stages (claim.c) and then waits for the others. When all are ready, they are claimed in one
 * transition of the store. If one of them cannot count, none does: two submissions never mix.
 *
 * Holds always: a set lives until the store has replied, or until it turns out that there is
 * nothing to claim together.
 */
#include "core/claim.h"

#include <limits.h>

#include "base/crash.h"

struct answer_set {
    struct engine_work work;
    size_t open;        /* answers that are still to come; answers_end counts as one */
    size_t count;       /* answers that are ready */
    nod_status spoiled; /* not NOD_OK: one answer cannot count, so none does */
    struct claim *claims[STORE_CLAIM_MOST]; /* the answers that are ready */
};

void answer_set_more(struct answer_set *set)
{
    set->open++;
}

void answer_set_spoil(struct answer_set *set, nod_status status)
{
    set->spoiled = status;
}

static void set_send(struct op *op)
{
    struct answer_set *set = OP_OF(op, struct answer_set, work.op);
    struct engine *engine = op->engine;
    struct claim_item items[STORE_CLAIM_MOST];
    struct claim_spec spec = { .token = id_str(&op->token),
                               .items = items,
                               .count = set->count,
                               .by = set->claims[0]->answer.by,
                               .via = claim_via(set->claims[0]),
                               .whole = true };

    for (size_t i = 0; i < set->count; i++) {
        const struct ask *ask = claim_ask(set->claims[i]);
        items[i] = claim_as_item(set->claims[i]);
        if (ask) {
            spec.take_for = call_is_foreign(ask->call) ? STR_NONE : engine->node;
            spec.handed = ask->call->handed;
            op->most = INT_MAX; /* as for a single answer: see publish_send */
        }
    }
    CRASH_POINT(answer_before);
    engine->store->ops->claim(engine->store, &spec, op_completed, op);
}

static void set_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct answer_set *set = OP_OF(op, struct answer_set, work.op);
    struct engine *engine = op->engine;
    struct claim *claims[STORE_CLAIM_MOST];
    size_t count = set->count;
    int64_t asked_ms = op->sent_ms;
    bool known = (status == NOD_OK || status == NOD_E_STALE) && reply->claimed_count == count;

    CRASH_POINT(answer_after);
    memcpy(claims, set->claims, count * sizeof(struct claim *));
    engine_work_free(&set->work);
    for (size_t i = 0; i < count; i++) {
        const struct claimed *now = known ? &reply->claimed[i] : NULL;
        if (!now)
            claim_failed(claims[i], status);
        else if (now->ask->state == ASK_PENDING)
            claim_still_up(claims[i], NOD_E_STALE, now);
        else
            claim_settle(claims[i], now);
    }
    if (known)
        claim_call_on(engine, reply, asked_ms);
}

/* An answer that was waited for is ready, or will not come. */
void answer_set_less(struct answer_set *set)
{
    if (--set->open > 0)
        return;
    if (set->spoiled != NOD_OK) {
        /* No answer of the set counts. */
        struct claim *claims[STORE_CLAIM_MOST];
        nod_status status = set->spoiled;
        size_t count = set->count;

        memcpy(claims, set->claims, count * sizeof(struct claim *));
        engine_work_free(&set->work);
        for (size_t i = 0; i < count; i++) {
            claims[i]->result.pending = true;
            claim_reject(claims[i], status);
        }
        return;
    }
    if (set->count < 2) { /* none, or only one: there is nothing to claim together */
        for (size_t i = 0; i < set->count; i++)
            claim_publish(set->claims[i]);
        engine_work_free(&set->work);
        return;
    }
    op_start_of(set->work.op.engine, &set->work.op, claim_whose(set->claims[0]), set_send,
                set_done);
}

void answer_set_join(struct claim *claim)
{
    struct answer_set *set = claim->answer.set;

    if (set->count == STORE_CLAIM_MOST) {
        claim_reject(claim, NOD_E_LIMIT);
        return;
    }
    claim->at_door = true;
    if (set->open > 1)
        claim_rest_hand(claim);
    set->claims[set->count++] = claim;
    answer_set_less(set);
}

struct answer_set *answers_begin(struct engine *engine)
{
    struct answer_set *set = engine_work_new(engine, sizeof(*set));

    set->open = 1;
    return set;
}

void answers_end(struct answer_set *set)
{
    answer_set_less(set);
}
