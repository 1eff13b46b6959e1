/*
 * store/memory: how many questions wait, in all and for each principal.
 *
 * A question that waits is in `due` and is counted. When its time is over it moves to `lapsed` and
 * is no longer counted, because nobody may ever come to end it.
 *
 * Holds always: a principal has one tally, exactly while it has calls, which counts its asks in
 * `due`. So the tally is looked up once for each call, and not for every question.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

enum { LAPSED_MS = 5000 }; /* for whoever ends a question itself, because its call is live */

void memory_quota_init(struct memory_store *memory)
{
    heap_init(&memory->due);
    heap_init(&memory->lapsed);
    map_init(&memory->tallies, SIZE_MAX / 2);
    memory_bytes_init(memory);
}

void memory_quota_finish(struct memory_store *memory)
{
    map_finish(&memory->tallies); /* empty, because the calls are gone */
    heap_finish(&memory->due);
    heap_finish(&memory->lapsed);
}

static bool fits(size_t count, size_t more, size_t most)
{
    return most == 0 || (count <= most && more <= most - count);
}

struct tally *memory_tally_find(struct memory_store *memory, struct str principal)
{
    return map_get(&memory->tallies, principal);
}

struct tally *memory_tally_add(struct memory_store *memory, struct str principal)
{
    struct tally *tally = mem_zalloc(sizeof(*tally) + principal.len + 1);
    char *at = tally->name;

    tally->len = str_place(&at, principal).len;
    list_init(&tally->fetched);
    map_add(&memory->tallies, str_n(tally->name, tally->len), tally);
    return tally;
}

void memory_tally_release(struct memory_store *memory, struct tally *tally)
{
    if (--tally->calls > 0)
        return;
    map_remove(&memory->tallies, str_n(tally->name, tally->len));
    mem_free(tally);
}

enum store_quota memory_quota_full(struct memory_store *memory, const struct tally *tally,
                                   size_t more)
{
    const struct memory_opts *opts = &memory->opts;

    if (more == 0)
        return STORE_QUOTA_NONE;
    memory_quota_lapse(memory, SIZE_MAX);
    if (!fits(tally ? tally->pending : 0, more, opts->pending_asks_per_principal))
        return STORE_QUOTA_PRINCIPAL;
    return fits(memory->pending, more, opts->pending_asks) ? STORE_QUOTA_NONE : STORE_QUOTA_ALL;
}

void memory_quota_add(struct memory_store *memory, struct stored_ask *ask)
{
    heap_set(&memory->due, &ask->due, ask->expires_ms);
    memory_note_due(memory, ask->expires_ms);
    ask->call->tally->pending++;
    memory->pending++;
}

void memory_quota_remove(struct memory_store *memory, struct stored_ask *ask)
{
    if (ask->lapsed) {
        heap_remove(&memory->lapsed, &ask->due);
        return;
    }
    heap_remove(&memory->due, &ask->due);
    ask->call->tally->pending--;
    memory->pending--;
}

void memory_quota_lapse(struct memory_store *memory, size_t most)
{
    int64_t now = memory_now(memory);
    struct heap_node *first;

    for (; most > 0 && (first = heap_first(&memory->due)) && first->at <= now; most--) {
        struct stored_ask *ask = HEAP_OF(first, struct stored_ask, due);
        memory_quota_remove(memory, ask);
        ask->lapsed = true;
        int64_t keep_ms = memory->opts.keep_ms;
        int64_t until = ask->expires_ms + (keep_ms < LAPSED_MS ? keep_ms : LAPSED_MS);
        heap_set(&memory->lapsed, first, until);
        memory_note_due(memory, until);
    }
}
