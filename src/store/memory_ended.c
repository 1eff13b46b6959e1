/*
 * store/memory: calls that have ended, and when their records go.
 *
 * Nearly all of them are kept for one of a few times: the store's own, or the one that a protocol
 * gives all its calls. Those that are kept equally long go in the order they came, so they stand in
 * a ring; where there are more times than rings, the others stand in a heap. A ring that is empty
 * is free for another time.
 *
 * A record that goes was touched last thousands of calls ago, and has left the processor's cache
 * by now. Dropping it would wait for memory at each step of the way from the call to its ask and
 * from there to the answer; a ring knows who goes next, so each step is fetched some drops ahead.
 *
 * Holds always: an ended call is in one of the rings or in the heap until it is dropped.
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
    for (size_t i = 0; i < ENDED_RINGS; i++)
        mem_free(memory->ended.rings[i].calls);
    heap_finish(&memory->ended.by_time);
}

static struct stored_call **ring_at(const struct ended_ring *ring, size_t i)
{
    return &ring->calls[(ring->first + i) & (ring->room - 1)];
}

static void ring_grow(struct ended_ring *ring)
{
    size_t room = ring->room ? ring->room * 2 : RING_FIRST;
    struct stored_call **calls = mem_alloc(room * sizeof(struct stored_call *));

    for (size_t i = 0; i < ring->count; i++)
        calls[i] = *ring_at(ring, i);
    mem_free(ring->calls);
    ring->calls = calls;
    ring->room = room;
    ring->first = 0;
}

static void ring_add(struct ended_ring *ring, struct stored_call *call, int64_t until)
{
    if (ring->count == ring->room)
        ring_grow(ring);
    call->keep.at = until;
    *ring_at(ring, ring->count++) = call;
}

/* The one of those that are kept so long; else one that nobody uses; or NULL. */
static struct ended_ring *ring_for(struct ended *ended, int64_t keep_ms)
{
    struct ended_ring *empty = NULL;

    for (struct ended_ring *ring = ended->rings; ring < ended->rings + ENDED_RINGS; ring++) {
        if (ring->count > 0 && ring->keep_ms == keep_ms)
            return ring;
        if (ring->count == 0 && !empty)
            empty = ring;
    }
    if (empty)
        empty->keep_ms = keep_ms;
    return empty;
}

void memory_ended_add(struct memory_store *memory, struct stored_call *call)
{
    struct ended *ended = &memory->ended;
    int64_t keep_ms = memory_keep(memory, call);
    int64_t until = memory_now(memory) + keep_ms;
    struct ended_ring *ring = ring_for(ended, keep_ms);

    /* Its clock may have been set back: then it would have to go before those that are in. */
    if (ring && (ring->count == 0 || (*ring_at(ring, ring->count - 1))->keep.at <= until))
        ring_add(ring, call, until);
    else
        heap_set(&ended->by_time, &call->keep, until);
    ended->count++;
}

static void fetch(const void *at, size_t len)
{
    for (size_t i = 0; at && i < len; i += CACHE_LINE)
        __builtin_prefetch((const char *)at + i, 1);
}

static void fetch_ask(struct memory_store *memory, const struct stored_ask *ask)
{
    idmap_fetch(&memory->asks, ask);
    if (ask->end)
        fetch(ask->end, sizeof(*ask->end));
}

/* What the drops to come will touch. */
static void fetch_ahead(struct memory_store *memory, const struct ended_ring *ring)
{
    if (ring->count <= AHEAD_OF_CALL)
        return;
    fetch(*ring_at(ring, AHEAD_OF_CALL), sizeof(struct stored_call));
    const struct stored_call *call = *ring_at(ring, AHEAD_OF_PARTS);
    idmap_fetch(&memory->calls, call);
    fetch(call->journal.entries, sizeof(*call->journal.entries));
    fetch(call->result.at, 1);
    if (!list_empty(&call->asks))
        fetch(LIST_OF(call->asks.next, struct stored_ask, link), sizeof(struct stored_ask));
    call = *ring_at(ring, 0);
    if (!list_empty(&call->asks))
        fetch_ask(memory, LIST_OF(call->asks.next, struct stored_ask, link));
}

struct stored_call *memory_ended_next(struct memory_store *memory)
{
    struct ended *ended = &memory->ended;
    struct heap_node *first = heap_first(&ended->by_time);
    struct ended_ring *of = NULL; /* the ring it is in, if not in the heap */

    for (struct ended_ring *ring = ended->rings; ring < ended->rings + ENDED_RINGS; ring++) {
        struct heap_node *node = ring->count ? &(*ring_at(ring, 0))->keep : NULL;
        if (!node || (first && first->at <= node->at))
            continue;
        first = node;
        of = ring;
    }
    if (!first || (first->at > memory_now(memory) && ended->count <= memory->opts.keep_most))
        return NULL;
    ended->count--;
    if (of) {
        of->first++;
        of->count--;
        fetch_ahead(memory, of);
    } else {
        heap_remove(&ended->by_time, first);
    }
    return HEAP_OF(first, struct stored_call, keep);
}
