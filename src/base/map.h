/*
 * base/map: from text to pointer.
 *
 * Open addressing with a keyed SipHash (the key is random in each process, so no peer can choose
 * collisions). Neither keys nor values are copied or owned: a key must live as long as its entry,
 * usually inside the value. The limit is a constructor argument.
 */
#ifndef NOD_BASE_MAP_H
#define NOD_BASE_MAP_H

#include "base/str.h"

struct map_slot;

struct map {
    struct map_slot *slots;
    size_t room; /* a power of two, or 0 */
    size_t count;
    size_t used; /* including the graves of removed entries */
    size_t limit;
};

void map_init(struct map *map, size_t limit);
void map_finish(struct map *map);

void *map_get(const struct map *map, struct str key);

/*
 * Adds or replaces an entry, including its key. False, and nothing changed: the limit is reached,
 * or the value is NULL, which would read as "not there".
 */
bool map_set(struct map *map, struct str key, void *value);

/* The same for a key that is known to be new, without a search. */
bool map_add(struct map *map, struct str key, void *value);

/* Returns the value that was there, or NULL. */
void *map_remove(struct map *map, struct str key);

/*
 * Walks in no particular order: start with *at = 0, until NULL. Any entry may be removed during the
 * walk, but nothing may be added.
 */
void *map_next(const struct map *map, size_t *at);

uint64_t map_hash(struct str key);

#endif
