/*
 * store/memory: calls that have ended, and when their records go.
 *
 * Nearly all of them are kept for the store's own time, so they go in the order they came: a ring.
 * Those with a time of their own stand in a heap.
 *
 * A record that goes was touched last thousands of calls ago, and has left the processor's cache
 * by now. Dropping it would wait for memory at each step of the way from the call to its ask and
 * from there to the answer; the ring knows who goes next, so each step is fetched some drops ahead.
 *
 * Holds always: an ended call is in the ring or in the heap until it is dropped.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

enum {
    RING_FIRST = 16, /* a power of two, as every room of the ring */
    CACHE_LINE = 64,
    AHEAD_OF_PARTS = 2, /* drops; a record's parts are known when the record itself has come */
    AHEAD_OF_CALL = 4,
};

void memory_ended_init(struct memory_store *memory)
{
    memory->ended = (struct ended){ 0 };
    heap_init(&memory->ended.by_time);
}

void memory_ended_finish(struct memory_store *memory)
{
    mem_free(memory->ended.ring);
    heap_finish(&memory->ended.by_time);
}

static struct stored_call **ring_at(const struct ended *ended, size_t i)
{
    return &ended->ring[(ended->first + i) & (ended->room - 1)];
}

static void ring_grow(struct ended *ended)
{
    size_t room = ended->room ? ended->room * 2 : RING_FIRST;
    struct stored_call **ring = mem_alloc(room * sizeof(*ring));

    for (size_t i = 0; i < ended->count; i++)
        ring[i] = *ring_at(ended, i);
    mem_free(ended->ring);
    ended->ring = ring;
    ended->room = room;
    ended->first = 0;
}

void memory_ended_add(struct memory_store *memory, struct stored_call *call)
{
    struct ended *ended = &memory->ended;
    int64_t until = memory_now(memory) + memory_keep(memory, call);

    if (call->keep_ms > 0) {
        heap_set(&ended->by_time, &call->keep, until);
        return;
    }
    if (ended->count == ended->room)
        ring_grow(ended);
    call->keep.at = until;
    *ring_at(ended, ended->count++) = call;
}

static void fetch(const void *at, size_t len)
{
    for (size_t i = 0; i < len; i += CACHE_LINE)
        __builtin_prefetch((const char *)at + i, 1);
}

static void fetch_ask(struct memory_store *memory, const struct stored_ask *ask)
{
    idmap_fetch(&memory->asks, ask);
    if (ask->end)
        fetch(ask->end, sizeof(*ask->end));
}

/* What the drops to come will touch. */
static void fetch_ahead(struct memory_store *memory)
{
    const struct ended *ended = &memory->ended;

    if (ended->count <= AHEAD_OF_CALL)
        return;
    fetch(*ring_at(ended, AHEAD_OF_CALL), sizeof(struct stored_call));
    const struct stored_call *call = *ring_at(ended, AHEAD_OF_PARTS);
    idmap_fetch(&memory->calls, call);
    fetch(call->journal.entries, sizeof(*call->journal.entries));
    fetch(call->result.at, 1);
    if (!list_empty(&call->asks))
        fetch(LIST_OF(call->asks.next, struct stored_ask, link), sizeof(struct stored_ask));
    call = *ring_at(ended, 0);
    if (!list_empty(&call->asks))
        fetch_ask(memory, LIST_OF(call->asks.next, struct stored_ask, link));
}

struct stored_call *memory_ended_next(struct memory_store *memory)
{
    struct ended *ended = &memory->ended;
    struct heap_node *timed = heap_first(&ended->by_time);
    struct stored_call *first = ended->count ? *ring_at(ended, 0) : NULL;
    bool too_many = ended->count + ended->by_time.count > memory->opts.keep_most;

    if (timed && (!first || timed->at < first->keep.at)) {
        if (timed->at > memory_now(memory) && !too_many)
            return NULL;
        heap_remove(&ended->by_time, timed);
        return HEAP_OF(timed, struct stored_call, keep);
    }
    if (!first || (first->keep.at > memory_now(memory) && !too_many))
        return NULL;
    ended->first++;
    ended->count--;
    fetch_ahead(memory);
    return first;
}
