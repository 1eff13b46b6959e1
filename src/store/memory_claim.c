/*
 * store/memory: claims, and questions that run out.
 *
 * A claim looks at all of its items before it changes anything, and then changes each of them. Its
 * reply shows the asks as they are when it is delivered.
 *
 * Holds always: an ask that was claimed is in the journal of its call.
 */
#include "store/memory_inside.h"

#include "base/mem.h"
#include "store/claim_rules.h"

/* Was the ask ended before, through the same `via`, by another answer? */
static bool contradicts(const struct stored_ask *ask, const struct claim_spec *claim,
                        const struct claim_item *item)
{
    if (!ask->end)
        return false;
    struct ask_record record = memory_ask_view(ask);
    return claim_contradicts(&record, memory_id_is(&ask->end->token, claim->token), claim, item);
}

/* The ask has ended, by the claim with this token. */
static void ask_journal(struct memory_store *memory, struct stored_ask *ask, struct str token)
{
    ask->end->token = id_of(token);
    memory_journal_ask(memory, ask);
}

/* False: the item is refused, and its ask stays pending. */
static bool memory_claim_item(struct memory_store *memory, struct stored_ask *ask,
                              const struct claim_spec *claim, const struct claim_item *item)
{
    bool due = memory_now(memory) >= ask->expires_ms;

    if (item->turn) {
        ask->turn = (unsigned char)(item->turn > ask->turn ? item->turn : ask->turn);
        if (item->listed)
            ask->listed = LISTED;
        memory_hint_ask(memory, ask, false);
        return true;
    }
    if (item->again && memory_id_is(&ask->again, claim->token))
        return true; /* this very claim has put it up again before */
    if ((item->attempt && item->attempt != ask->attempt) ||
        (claim->epoch && claim->epoch != ask->call->epoch))
        return false;
    if (due && claim_is_word(item)) {
        memory_ask_close(memory, ask, ASK_EXPIRED, STR_NONE, STR("nod"), STR("clock"), STR_NONE);
    } else if (item->again) {
        ask->attempt++;
        ask->again = id_of(claim->token);
        return true;
    } else if (item->outcome == ASK_EXPIRED && !due) {
        return false;
    } else {
        memory_ask_close(memory, ask, item->outcome, item->content, claim->by, claim->via,
                         item->note);
    }
    ask_journal(memory, ask, claim->token);
    return true;
}

/* The call's last question may have ended. Returns the epoch in which it is taken, or 0. */
static uint64_t memory_call_claimed(struct memory_store *memory, struct stored_call *call,
                                    struct str take_for)
{
    if (call->pending > 0 || call->state != CALL_STORED_WAITING)
        return 0;
    if (take_for.len == 0) {
        memory_call_runnable(memory, call);
        return 0;
    }
    memory_call_start(memory, call);
    return call->epoch;
}

/* The time of the ask was up long ago, and no claim has ended it. */
void memory_ask_expire(struct memory_store *memory, struct stored_ask *ask)
{
    memory_ask_close(memory, ask, ASK_EXPIRED, STR_NONE, STR("nod"), STR("clock"), STR_NONE);
    ask_journal(memory, ask, STR_NONE);
    ask->call->ran_out = true;
    memory_call_claimed(memory, ask->call, STR_NONE);
}

/* The asks of the items, which must all exist and belong to one call. */
static nod_status memory_claim_find(struct memory_store *memory, const struct claim_spec *claim,
                                    struct reply_item *items)
{
    nod_status status = claim_check(claim);

    if (status != NOD_OK)
        return status;
    for (size_t i = 0; i < claim->count; i++) {
        struct stored_ask *ask = idmap_get(&memory->asks, claim->items[i].ask_id);
        if (!ask)
            return NOD_E_NOT_FOUND;
        if (i > 0 && ask->call != items[0].ask->call)
            return NOD_E_USAGE;
        items[i].ask = ask;
    }
    for (size_t i = 0; claim->whole && i < claim->count; i++)
        if (contradicts(items[i].ask, claim, &claim->items[i]))
            return NOD_E_STALE;
    return NOD_OK;
}

static nod_status claim_now(struct memory_store *memory, const struct claim_spec *claim,
                            struct reply_item *items)
{
    struct stored_ask *last = NULL;
    bool refused = false, won = false;

    for (size_t i = 0; i < claim->count; i++) {
        struct stored_ask *ask = items[i].ask;
        if (ask->end) {
            items[i].won = memory_id_is(&ask->end->token, claim->token);
        } else {
            items[i].won = memory_claim_item(memory, ask, claim, &claim->items[i]);
            refused |= !items[i].won;
            items[i].put = items[i].won && !ask->end && !claim->items[i].turn;
            last = ask->end ? ask : last;
        }
        won |= items[i].won;
    }
    if (won && !items[0].ask->call->end)
        items[0].ask->call->handed |= claim->handed;
    if (last)
        last->end->took = memory_call_claimed(memory, last->call, claim->take_for);
    return refused && !won ? NOD_E_STALE : NOD_OK;
}

void memory_claim(struct store *store, const struct claim_spec *claim, store_done *done, void *data)
{
    struct memory_store *memory = memory_of(store);
    enum memory_fault fault;

    if (memory_fails_before(memory, "claim", &fault, done, data))
        return;
    struct reply_item *items = mem_zalloc((claim->count + 1) * sizeof(*items));
    nod_status status = memory_claim_find(memory, claim, items);
    bool found = status == NOD_OK || status == NOD_E_STALE;
    if (status == NOD_OK)
        status = claim_now(memory, claim, items);
    struct reply *reply = memory_reply(memory, done, data, status);
    reply->items = items;
    reply->item_count = found ? claim->count : 0;
    for (size_t i = 0; i < reply->item_count; i++) {
        const struct ask_end *end = items[i].ask->end;
        if (items[i].won && end && end->took) {
            reply->reply.taken = true;
            reply->reply.epoch = end->took;
        }
    }
    if (found)
        memory_hold(reply, items[0].ask->call);
    reply->with_call = reply->reply.taken;
    memory_finish_reply(reply, fault);
}
