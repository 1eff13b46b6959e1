/*
 * base/list: a doubly linked list inside the objects it links.
 *
 * A list head and a link are the same struct. An unlinked link points to itself, so list_remove
 * may be called twice. The list owns nothing.
 */
#ifndef NOD_BASE_LIST_H
#define NOD_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *prev;
};

#define LIST_OF(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* The body may remove `at`. */
#define LIST_EACH(at, head)                                                                        \
    for (struct list *at = (head)->next, *at##_next = at->next; at != (head);                      \
         at = at##_next, at##_next = at->next)

static inline void list_init(struct list *list)
{
    list->next = list->prev = list;
}

static inline bool list_empty(const struct list *list)
{
    return list->next == list;
}

static inline void list_append(struct list *list, struct list *link)
{
    link->prev = list->prev;
    link->next = list;
    list->prev->next = link;
    list->prev = link;
}

static inline void list_remove(struct list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_init(link);
}

static inline struct list *list_first(const struct list *list)
{
    return list_empty(list) ? NULL : list->next;
}

static inline struct list *list_last(const struct list *list)
{
    return list_empty(list) ? NULL : list->prev;
}

#endif
