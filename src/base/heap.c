/*
 * base/heap: see heap.h. Places count from 1: the children of n are 4n - 2 to 4n + 1.
 *
 * A node has four children, and the times are stored beside the pointers. So a heap of thousands is
 * a few levels deep, and finding the earliest of four children touches only a line or two of the
 * processor's cache.
 */
#include "base/heap.h"

#include "base/mem.h"

enum { CHILDREN = 4, ROOM_FIRST = 16 };

void heap_init(struct heap *heap)
{
    *heap = (struct heap){ 0 };
}

void heap_finish(struct heap *heap)
{
    mem_free(heap->slots);
    *heap = (struct heap){ 0 };
}

static size_t parent_of(size_t place)
{
    return (place + CHILDREN - 2) / CHILDREN;
}

static struct heap_slot *slot_at(const struct heap *heap, size_t place)
{
    return &heap->slots[place - 1];
}

static void put(struct heap *heap, size_t place, struct heap_slot slot)
{
    *slot_at(heap, place) = slot;
    slot.node->place = place;
}

static void rise(struct heap *heap, size_t place, struct heap_slot slot)
{
    while (place > 1 && slot_at(heap, parent_of(place))->at > slot.at) {
        put(heap, place, *slot_at(heap, parent_of(place)));
        place = parent_of(place);
    }
    put(heap, place, slot);
}

/* The earliest child, or 0: there is none. */
static size_t first_child(const struct heap *heap, size_t place)
{
    size_t child = CHILDREN * place - (CHILDREN - 2), end = child + CHILDREN;
    size_t first = child;

    if (child > heap->count)
        return 0;
    if (end > heap->count + 1)
        end = heap->count + 1;
    while (++child < end)
        if (slot_at(heap, child)->at < slot_at(heap, first)->at)
            first = child;
    return first;
}

static void sink(struct heap *heap, size_t place, struct heap_slot slot)
{
    for (size_t child; (child = first_child(heap, place)) != 0; place = child) {
        if (slot_at(heap, child)->at >= slot.at)
            break;
        put(heap, place, *slot_at(heap, child));
    }
    put(heap, place, slot);
}

static void settle(struct heap *heap, size_t place, struct heap_slot slot)
{
    if (place > 1 && slot_at(heap, parent_of(place))->at > slot.at)
        rise(heap, place, slot);
    else
        sink(heap, place, slot);
}

void heap_set(struct heap *heap, struct heap_node *node, int64_t at)
{
    struct heap_slot slot = { at, node };

    node->at = at;
    if (node->place) {
        settle(heap, node->place, slot);
        return;
    }
    if (heap->count == heap->room) {
        heap->room = heap->room ? heap->room * 2 : ROOM_FIRST;
        heap->slots = mem_realloc(heap->slots, heap->room * sizeof(*heap->slots));
    }
    heap->count++;
    rise(heap, heap->count, slot);
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    size_t place = node->place;

    if (!place)
        return;
    node->place = 0;
    struct heap_slot last = heap->slots[--heap->count];
    if (last.node != node)
        settle(heap, place, last);
}

struct heap_node *heap_first(const struct heap *heap)
{
    return heap->count ? heap->slots[0].node : NULL;
}
