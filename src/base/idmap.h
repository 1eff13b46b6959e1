/*
 * base/idmap: from an id to its object.
 *
 * It is for tables of many objects that are found only by their id. A slot is two words, so a table
 * of thousands stays in the processor's cache; the id itself is compared in the object, which is
 * wanted anyway. Objects are not owned, and their ids must not change while they are in the table.
 *
 * Ids are made here and at random, so nobody can choose them, and their own bytes serve as a hash.
 * Any text may be looked up.
 */
#ifndef NOD_BASE_IDMAP_H
#define NOD_BASE_IDMAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/id.h"

struct idmap_slot;

struct idmap {
    struct idmap_slot *slots;
    size_t room; /* a power of two, or 0 */
    size_t count;
    size_t limit;
    size_t id_at; /* where the struct id is in an object */
};

/* `id_at` is offsetof(type, id). */
void idmap_init(struct idmap *map, size_t limit, size_t id_at);
void idmap_finish(struct idmap *map);

/* The object with this id, or NULL. */
void *idmap_get(const struct idmap *map, struct str id);

/* No other object with this id may be in the table. False, and nothing changed: the limit is
 * reached. */
bool idmap_add(struct idmap *map, void *object);

/* The same, but replaces an object with this id, if there is one. */
bool idmap_set(struct idmap *map, void *object);

/* Removes this very object. Does nothing if it is not in the table. */
void idmap_remove(struct idmap *map, const void *object);

struct idmap_walk { /* begins zeroed */
    size_t from, steps;
    const void *given;
};

/*
 * Walks in no particular order: start with a zeroed walk, until NULL. The object just returned may
 * be removed before the next call; nothing else may change.
 */
void *idmap_next(const struct idmap *map, struct idmap_walk *walk);

#endif
