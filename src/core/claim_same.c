/*
 * core/claim_same: the same answer again, while the first is on its way.
 *
 * While the store is away a client may send its answer again and again. The first is on its way
 * until the store has it. The others wait for its result, and cost no more than a pointer each.
 * Past CLAIM_JOINED_MOST of them, or CLAIM_OF_ASK_MOST different answers, the answerer is told to
 * come later, so nothing piles up.
 *
 * An answer without `done`, and the engine's own word, do not join another: if that one gave up,
 * nobody would send them again. The engine's own word is never told to come later.
 *
 * Holds always: of equal answers that somebody waits for, one at a time is on its way to the store,
 * and one is told that it has won. Every answerer that waits is told something.
 */
#include "core/claim.h"

#include "base/mem.h"

/* Do both say the same, to the same offer, by the same principal, in the same place? */
static bool says_the_same(const struct claim *a, const struct claim *b)
{
    return str_eq(a->ask_id, b->ask_id) && a->outcome == b->outcome && a->again == b->again &&
           a->offer == b->offer && a->answer.surface == b->answer.surface &&
           a->answer.handed == b->answer.handed && str_eq(a->answer.by, b->answer.by) &&
           str_eq(a->answer.scope, b->answer.scope) && str_eq(a->answer.via, b->answer.via) &&
           str_eq(a->content, b->content);
}

void claim_set_out(struct claim *claim)
{
    struct map *ways = &claim->engine->claims_of_ask;

    claim->published = true;
    claim->next_of_ask = map_get(ways, claim->ask_id);
    map_set(ways, claim->ask_id, claim);
}

void claim_arrive(struct claim *claim)
{
    struct map *ways = &claim->engine->claims_of_ask;
    struct claim *first = map_remove(ways, claim->ask_id);

    for (struct claim **at = &first; *at; at = &(*at)->next_of_ask) {
        if (*at == claim) {
            *at = claim->next_of_ask;
            break;
        }
    }
    if (first)
        map_set(ways, first->ask_id, first);
}

/* A claim under way that says the same, and how many are under way in all. */
static struct claim *claim_under_way(const struct claim *claim, size_t *count)
{
    struct claim *found = NULL;

    *count = 0;
    for (struct claim *other = map_get(&claim->engine->claims_of_ask, claim->ask_id); other;
         other = other->next_of_ask) {
        ++*count;
        if (says_the_same(other, claim))
            found = other;
    }
    return found;
}

bool claim_join(struct claim *claim)
{
    size_t count;
    struct claim *first = claim_under_way(claim, &count);
    bool full = first ? first->joined_count == CLAIM_JOINED_MOST : count >= CLAIM_OF_ASK_MOST;

    if (!claim->done || (!first && (!full || claim->by_engine)))
        return false;
    claim->result.pending = true;
    if (full) {
        claim_reject(claim, NOD_E_STORE);
        return true;
    }
    if (!first->joined)
        first->joined = mem_alloc(CLAIM_JOINED_MOST * sizeof(*first->joined));
    first->joined[first->joined_count++] =
        (struct claim_joined){ .done = claim->done, .data = claim->data };
    claim->done = NULL;
    claim_reject(claim, NOD_E_STALE);
    return true;
}

void claim_tell_joined(struct claim *claim)
{
    if (claim->result.status == NOD_OK) {
        claim->result.status = NOD_E_STALE;
        claim->result.same = true;
    }
    for (size_t i = 0; i < claim->joined_count; i++)
        claim->joined[i].done(claim->joined[i].data, &claim->result);
    claim->joined_count = 0;
}

void claim_put_off_joined(struct claim *claim)
{
    size_t count = claim->joined_count;

    claim->joined_count = 0;
    for (size_t i = 0; i < count; i++)
        claim->joined[i].done(claim->joined[i].data,
                              &(struct answer_result){ .status = NOD_E_STORE, .pending = true });
}
