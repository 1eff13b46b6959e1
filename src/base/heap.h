/*
 * base/heap: a heap of deadlines.
 *
 * The node is embedded in its object and knows its place, so removing and moving are logarithmic. A
 * zeroed node is in no heap.
 */
#ifndef NOD_BASE_HEAP_H
#define NOD_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
    int64_t at;
    size_t place; /* 1-based; 0: not in a heap */
};

struct heap_slot {
    int64_t at; /* the node's */
    struct heap_node *node;
};

struct heap {
    struct heap_slot *slots;
    size_t count;
    size_t room;
};

#define HEAP_OF(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

void heap_init(struct heap *heap);
/* Nodes that are still in it must not be used with a heap again. */
void heap_finish(struct heap *heap);

/* Adds the node, or moves it if it is in the heap. */
void heap_set(struct heap *heap, struct heap_node *node, int64_t at);

/* Does nothing if the node is in no heap. */
void heap_remove(struct heap *heap, struct heap_node *node);

/* The earliest, or NULL. */
struct heap_node *heap_first(const struct heap *heap);

static inline bool heap_has(const struct heap_node *node)
{
    return node->place != 0;
}

#endif
