/*
 * base/idmap: from an id to the object that has it.
 *
 * For tables of many objects that are found by nothing but their id: a slot is two words, so a
 * table of thousands stays in the processor's cache, and the id itself is compared where it is, in
 * the object that is wanted anyway. The objects are not owned; their ids must not change while they
 * are in.
 *
 * Ids are made here and at random: nobody can choose one, so their own bytes do for a hash.
 * Anything may be looked for.
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

/* No other with this id may be in. False, and nothing changed, when the limit is reached. */
bool idmap_add(struct idmap *map, void *object);

/* The same, in the place of the one with this id, if there is one: that is not in any more. */
bool idmap_set(struct idmap *map, void *object);

/* Puts `by`, which has the same id, in the place of this very object, which is in. */
void idmap_replace(struct idmap *map, const void *object, void *by);

/* This very object; fine if it is not in. */
void idmap_remove(struct idmap *map, const void *object);

/* Has the place of the object brought into the processor's cache, for what is soon to come. */
void idmap_fetch(const struct idmap *map, const void *object);

struct idmap_walk { /* begins zeroed */
    size_t from, steps;
    const void *given;
};

/*
 * Walks in no particular order: start with a zeroed walk, until NULL. The object just given may be
 * removed before the next is asked for; nothing else may change.
 */
void *idmap_next(const struct idmap *map, struct idmap_walk *walk);

#endif
