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
 * A call may be taken out before its time, to make room (memory_bytes.c). Its place in the ring is
 * then empty.
 *
 * Holds always: an ended call is in one of the rings or in the heap until it is dropped. The first
 * place of a ring is not empty.
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
    call->ring = ring;
    call->place = ring->taken + ring->count;
    ring->last_until = call->until;
    *ring_at(ring, ring->count++) = call;
}

/* The ring whose last call goes latest, but not later than this one; otherwise an empty ring; or
 * NULL. */
static struct ended_ring *ring_for(struct ended *ended, int64_t until)
{
    struct ended_ring *best = NULL, *empty = NULL;
    int64_t latest = INT64_MIN;

    for (struct ended_ring *ring = ended->rings; ring < ended->rings + ENDED_RINGS; ring++) {
        if (!ring->count)
            empty = ring;
        else if (ring->last_until <= until && ring->last_until > latest) {
            best = ring;
            latest = ring->last_until;
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
    call->timed = timed;
    heap_set(by_time, &timed->node, call->until);
}

void memory_ended_add(struct memory_store *memory, struct ended_call *call)
{
    struct ended *ended = &memory->ended;

    call->until = until_of(memory, &call->is);
    call->timed = NULL;
    call->ring = NULL;
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
    if (*ring_at(ring, AHEAD_OF_CALL))
        fetch(*ring_at(ring, AHEAD_OF_CALL), FETCHED);
    const struct ended_call *call = *ring_at(ring, AHEAD_OF_PLACES);
    if (!call)
        return;
    idmap_fetch(&memory->calls, call);
    if (call->is.ask_count)
        idmap_fetch(&memory->asks, call->asks);
}

/* The first place of a ring is never empty. */
static void ring_settle(struct ended_ring *ring)
{
    while (ring->count && !*ring_at(ring, 0)) {
        ring->first++;
        ring->count--;
        ring->taken++;
    }
}

/* The first that goes; NULL: there is none. */
static struct ended_call *ended_first(struct ended *ended)
{
    struct heap_node *timed = heap_first(&ended->by_time);
    struct ended_call *call = timed ? HEAP_OF(timed, struct ended_timed, node)->call : NULL;

    for (struct ended_ring *ring = ended->rings; ring < ended->rings + ENDED_RINGS; ring++) {
        struct ended_call *first = ring->count ? *ring_at(ring, 0) : NULL;
        if (first && (!call || first->until < call->until))
            call = first;
    }
    return call;
}

int64_t memory_ended_due(struct memory_store *memory)
{
    const struct ended_call *first = ended_first(&memory->ended);

    return first ? first->until : INT64_MAX;
}

void memory_ended_remove(struct memory_store *memory, struct ended_call *call)
{
    struct ended *ended = &memory->ended;
    struct ended_ring *ring = call->ring;

    memory_bytes_unlist(memory, call);
    ended->count--;
    if (!ring) {
        heap_remove(&ended->by_time, &call->timed->node);
        mem_free(call->timed);
        return;
    }
    *ring_at(ring, (size_t)(call->place - ring->taken)) = NULL;
    ring_settle(ring);
    fetch_ahead(memory, ring);
}

struct ended_call *memory_ended_next(struct memory_store *memory)
{
    struct ended *ended = &memory->ended;
    struct ended_call *call = ended_first(ended);

    if (!call)
        return NULL;
    if (call->until > memory_now(memory)) {
        struct list *oldest = list_first(&memory->fetched);
        if (ended->count <= memory->opts.keep_most || !oldest)
            return NULL;
        /* A result that nobody has fetched makes no room. */
        if (!call->is.fetched)
            call = LIST_OF(oldest, struct ended_call, in_all);
    }
    memory_ended_remove(memory, call);
    return call;
}

void memory_ended_each(struct memory_store *memory,
                       void (*each)(void *data, struct ended_call *call), void *data)
{
    struct ended *ended = &memory->ended;

    for (size_t i = 0; i < ENDED_RINGS; i++)
        for (size_t at = ended->rings[i].count; at-- > 0;)
            if (*ring_at(&ended->rings[i], at))
                each(data, *ring_at(&ended->rings[i], at));
    for (size_t i = 0; i < ended->by_time.count; i++)
        each(data, HEAP_OF(ended->by_time.slots[i].node, struct ended_timed, node)->call);
}
