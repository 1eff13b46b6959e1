/*
 * store/memory: how many questions wait, in all and for each principal.
 *
 * A question that waits stands in `due` and is counted; when its time is over it moves to `lapsed`,
 * where it is not: nobody may ever come to end it.
 *
 * Holds always: a principal's tally is the number of its asks in `due`, and there is none for 0.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

struct tally {
    size_t count;
    size_t len;
    char name[];
};

void memory_quota_init(struct memory_store *memory)
{
    heap_init(&memory->due);
    heap_init(&memory->lapsed);
    map_init(&memory->tallies, SIZE_MAX / 2);
}

void memory_quota_finish(struct memory_store *memory)
{
    size_t at = 0;

    for (struct tally *tally; (tally = map_next(&memory->tallies, &at));)
        mem_free(tally);
    map_finish(&memory->tallies);
    heap_finish(&memory->due);
    heap_finish(&memory->lapsed);
}

static bool fits(size_t count, size_t more, size_t most)
{
    return most == 0 || (count <= most && more <= most - count);
}

bool memory_quota_room(struct memory_store *memory, struct str principal, size_t more)
{
    const struct memory_opts *opts = &memory->opts;

    if (more == 0)
        return true;
    memory_quota_lapse(memory, SIZE_MAX);
    const struct tally *tally = map_get(&memory->tallies, principal);
    return fits(memory->pending, more, opts->pending_asks) &&
           fits(tally ? tally->count : 0, more, opts->pending_asks_per_principal);
}

static void count_one(struct memory_store *memory, struct str principal)
{
    struct tally *tally = map_get(&memory->tallies, principal);

    if (!tally) {
        tally = mem_zalloc(sizeof(*tally) + principal.len);
        tally->len = principal.len;
        if (principal.len)
            memcpy(tally->name, principal.at, principal.len);
        map_set(&memory->tallies, str_n(tally->name, tally->len), tally);
    }
    tally->count++;
    memory->pending++;
}

static void uncount_one(struct memory_store *memory, struct str principal)
{
    struct tally *tally = map_get(&memory->tallies, principal);

    memory->pending--;
    if (tally && --tally->count == 0) {
        map_remove(&memory->tallies, str_n(tally->name, tally->len));
        mem_free(tally);
    }
}

void memory_quota_add(struct memory_store *memory, struct stored_ask *ask)
{
    heap_set(&memory->due, &ask->due, ask->expires_ms);
    count_one(memory, memory_principal(ask->call));
}

void memory_quota_remove(struct memory_store *memory, struct stored_ask *ask)
{
    if (ask->lapsed) {
        heap_remove(&memory->lapsed, &ask->due);
        return;
    }
    heap_remove(&memory->due, &ask->due);
    uncount_one(memory, memory_principal(ask->call));
}

void memory_quota_lapse(struct memory_store *memory, size_t most)
{
    int64_t now = memory_now(memory);
    struct heap_node *first;

    for (; most > 0 && (first = heap_first(&memory->due)) && first->at <= now; most--) {
        struct stored_ask *ask = HEAP_OF(first, struct stored_ask, due);
        memory_quota_remove(memory, ask);
        ask->lapsed = true;
        heap_set(&memory->lapsed, first, ask->expires_ms + memory_keep(memory, ask->call));
    }
}
