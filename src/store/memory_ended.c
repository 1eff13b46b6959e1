/*
 * store/memory: when the records of ended calls are dropped.
 *
 * Nearly all of them are kept for one of a few times: the store's own, or the time that a protocol
 * gives all its calls. Calls that are kept for about the same time are dropped in about the order
 * in which they ended. So they are in a ring, each after one that goes no later. Calls that fit
 * into no ring are in a heap.
 *
 * A record that is dropped was last touched thousands of calls ago, and has left the processor's
 * cache. Dropping it would wait for memory, and so would writing the next record into its place. A
 * ring knows which records come next, so they are fetched some drops ahead.
 *
 * Holds always: an ended call is in one of the rings or in the heap until it is dropped.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

enum {
    RING_FIRST = 16, /* a power of two, like every size of a ring */
    CACHE_LINE = 64,
    FETCHED = 512,       /* bytes of a record: most are not longer */
    AHEAD_OF_PLACES = 2, /* drops; the places in the maps are known once the record was fetched */
    AHEAD_OF_CALL = 4,
};

struct ended_timed {
    struct heap_node node; /* in by_time */
    struct ended_call *call;
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
    for (size_t i = 0; i < memory->ended.by_time.count; i++)
        mem_free(HEAP_OF(memory->ended.by_time.slots[i].node, struct ended_timed, node));
    heap_finish(&memory->ended.by_time);
}

static struct ended_call **ring_at(const struct ended_ring *ring, size_t i)
{
    return &ring->calls[(ring->first + i) & (ring->room - 1)];
}

static void ring_grow(struct ended_ring *ring)
{
    size_t room = ring->room ? ring->room * 2 : RING_FIRST;
    struct ended_call **calls = mem_alloc(room * sizeof(struct ended_call *));

    for (size_t i = 0; i < ring->count; i++)
        calls[i] = *ring_at(ring, i);
    mem_free(ring->calls);
    ring->calls = calls;
    ring->room = room;
    ring->first = 0;
}

static void ring_add(struct ended_ring *ring, struct ended_call *call)
{
    if (ring->count == ring->room)
        ring_grow(ring);
    *ring_at(ring, ring->count++) = call;
}

/* The ring whose last call goes latest, but not later than this one; otherwise an empty ring; or
 * NULL. */
static struct ended_ring *ring_for(struct ended *ended, int64_t until)
{
    struct ended_ring *best = NULL, *empty = NULL;
    int64_t latest = INT64_MIN;

    for (struct ended_ring *ring = ended->rings; ring < ended->rings + ENDED_RINGS; ring++) {
        int64_t last = ring->count ? (*ring_at(ring, ring->count - 1))->until : 0;
        if (!ring->count)
            empty = ring;
        else if (last <= until && last > latest) {
            best = ring;
            latest = last;
        }
    }
    return best ? best : empty;
}

static int64_t until_of(const struct memory_store *memory, const struct call_facts *call)
{
    int64_t until = memory_now(memory) + memory->opts.keep_ms;

    if (call->keep_until > until)
        until = call->keep_until;
    return until;
}

static void timed_add(struct heap *by_time, struct ended_call *call)
{
    struct ended_timed *timed = MEM_NEW(struct ended_timed);

    timed->call = call;
    heap_set(by_time, &timed->node, call->until);
}

void memory_ended_add(struct memory_store *memory, struct ended_call *call)
{
    struct ended *ended = &memory->ended;

    call->until = until_of(memory, &call->is);
    struct ended_ring *ring = ring_for(ended, call->until);
    if (ring)
        ring_add(ring, call);
    else
        timed_add(&ended->by_time, call);
    ended->count++;
    memory_note_due(memory, call->until);
}

static void fetch(const void *at, size_t len)
{
    for (size_t i = 0; i < len; i += CACHE_LINE)
        __builtin_prefetch((const char *)at + i, 1);
}

/* Fetches what the next drops will touch. */
static void fetch_ahead(struct memory_store *memory, const struct ended_ring *ring)
{
    if (ring->count <= AHEAD_OF_CALL)
        return;
    fetch(*ring_at(ring, AHEAD_OF_CALL), FETCHED);
    const struct ended_call *call = *ring_at(ring, AHEAD_OF_PLACES);
    idmap_fetch(&memory->calls, call);
    if (call->is.ask_count)
        idmap_fetch(&memory->asks, call->asks);
}

static struct ended_call *ring_take(struct memory_store *memory, struct ended_ring *ring)
{
    struct ended_call *call = *ring_at(ring, 0);

    ring->first++;
    ring->count--;
    fetch_ahead(memory, ring);
    return call;
}

static struct ended_call *timed_take(struct heap *by_time)
{
    struct ended_timed *timed = HEAP_OF(heap_first(by_time), struct ended_timed, node);
    struct ended_call *call = timed->call;

    heap_remove(by_time, &timed->node);
    mem_free(timed);
    return call;
}

/* When the first of them goes. *of: its ring; NULL: it is in the heap, or there is none. */
static int64_t ended_first(struct ended *ended, struct ended_ring **of)
{
    const struct heap_node *timed = heap_first(&ended->by_time);
    int64_t first = timed ? timed->at : INT64_MAX;

    *of = NULL;
    for (struct ended_ring *ring = ended->rings; ring < ended->rings + ENDED_RINGS; ring++) {
        if (ring->count == 0 || (*ring_at(ring, 0))->until >= first)
            continue;
        first = (*ring_at(ring, 0))->until;
        *of = ring;
    }
    return first;
}

int64_t memory_ended_due(struct memory_store *memory)
{
    struct ended_ring *of;

    return ended_first(&memory->ended, &of);
}

struct ended_call *memory_ended_next(struct memory_store *memory)
{
    struct ended *ended = &memory->ended;
    struct ended_ring *of;

    if (ended->count == 0)
        return NULL;
    if (ended_first(ended, &of) > memory_now(memory) && ended->count <= memory->opts.keep_most)
        return NULL;
    ended->count--;
    return of ? ring_take(memory, of) : timed_take(&ended->by_time);
}

void memory_ended_each(struct memory_store *memory,
                       void (*each)(void *data, struct ended_call *call), void *data)
{
    struct ended *ended = &memory->ended;

    for (size_t i = 0; i < ENDED_RINGS; i++)
        for (size_t at = ended->rings[i].count; at-- > 0;)
            each(data, *ring_at(&ended->rings[i], at));
    for (size_t i = 0; i < ended->by_time.count; i++)
        each(data, HEAP_OF(ended->by_time.slots[i].node, struct ended_timed, node)->call);
}
