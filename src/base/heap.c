/* base/heap: see heap.h. Place is 1-based: children of n are 2n and 2n + 1. */
#include "base/heap.h"

#include "base/mem.h"

void heap_init(struct heap *heap)
{
    *heap = (struct heap){ 0 };
}

void heap_finish(struct heap *heap)
{
    mem_free(heap->nodes);
    *heap = (struct heap){ 0 };
}

static void set_place(struct heap *heap, size_t place, struct heap_node *node)
{
    heap->nodes[place - 1] = node;
    node->place = place;
}

static void rise(struct heap *heap, size_t place, struct heap_node *node)
{
    while (place > 1 && heap->nodes[place / 2 - 1]->at > node->at) {
        set_place(heap, place, heap->nodes[place / 2 - 1]);
        place /= 2;
    }
    set_place(heap, place, node);
}

static void sink(struct heap *heap, size_t place, struct heap_node *node)
{
    for (;;) {
        size_t child = place * 2;
        if (child > heap->count)
            break;
        if (child < heap->count && heap->nodes[child]->at < heap->nodes[child - 1]->at)
            child++;
        if (heap->nodes[child - 1]->at >= node->at)
            break;
        set_place(heap, place, heap->nodes[child - 1]);
        place = child;
    }
    set_place(heap, place, node);
}

static void settle(struct heap *heap, size_t place, struct heap_node *node)
{
    if (place > 1 && heap->nodes[place / 2 - 1]->at > node->at)
        rise(heap, place, node);
    else
        sink(heap, place, node);
}

void heap_set(struct heap *heap, struct heap_node *node, int64_t at)
{
    node->at = at;
    if (node->place) {
        settle(heap, node->place, node);
        return;
    }
    if (heap->count == heap->room) {
        heap->room = heap->room ? heap->room * 2 : 16;
        heap->nodes = mem_realloc(heap->nodes, heap->room * sizeof(*heap->nodes));
    }
    heap->count++;
    rise(heap, heap->count, node);
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    size_t place = node->place;

    if (!place)
        return;
    node->place = 0;
    struct heap_node *last = heap->nodes[--heap->count];
    if (last != node)
        settle(heap, place, last);
}

struct heap_node *heap_first(const struct heap *heap)
{
    return heap->count ? heap->nodes[0] : NULL;
}
