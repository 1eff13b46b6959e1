/*
 * base/idmap: linear probing over a power of two of slots, each a hash and an object.
 *
 * When an object is removed, the following ones move up, so that probing never meets an abandoned
 * slot. So a table through which objects only pass does not degrade. The room is adapted to the
 * count when an object is added.
 */
#include "base/idmap.h"

#include "base/mem.h"

struct idmap_slot {
    uint64_t hash;
    void *object; /* NULL: nothing is here */
};

enum {
    ROOM_FIRST = 8,
    ROOM_KEPT = 64, /* slots that are kept when the table empties */
    ROOM_TIMES = 16 /* with more slots than this for each object, the table is made smaller */
};

static uint64_t seed; /* of this process */

__attribute__((constructor)) static void seed_init(void)
{
    random_bytes(&seed, sizeof(seed));
}

static uint64_t word_at(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return word;
}

/* Bytes of an id are letters: multiplying carries their differences into the bits that count. */
static uint64_t hash_of(const char id[ID_LEN])
{
    uint64_t last = word_at(id + ID_LEN - 8);
    uint64_t hash = (word_at(id) ^ (last << 32 | last >> 32) ^ seed) * 0x9e3779b97f4a7c15u;

    return hash ^ hash >> 32;
}

/* Compares three words, the last two of which overlap. */
static bool same_id(const char a[ID_LEN], const char b[ID_LEN])
{
    return word_at(a) == word_at(b) && word_at(a + 8) == word_at(b + 8) &&
           word_at(a + ID_LEN - 8) == word_at(b + ID_LEN - 8);
}

static const char *id_in(const struct idmap *map, const void *object)
{
    return ((const struct id *)(const void *)((const char *)object + map->id_at))->text;
}

void idmap_init(struct idmap *map, size_t limit, size_t id_at)
{
    *map = (struct idmap){ .limit = limit, .id_at = id_at };
}

void idmap_finish(struct idmap *map)
{
    mem_free(map->slots);
    idmap_init(map, map->limit, map->id_at);
}

static struct idmap_slot *slot_of(const struct idmap *map, const char id[ID_LEN], uint64_t hash)
{
    if (map->count == 0)
        return NULL;
    for (size_t i = hash & (map->room - 1);; i = (i + 1) & (map->room - 1)) {
        struct idmap_slot *slot = &map->slots[i];
        if (!slot->object)
            return NULL;
        if (slot->hash == hash && same_id(id_in(map, slot->object), id))
            return slot;
    }
}

void *idmap_get(const struct idmap *map, struct str id)
{
    if (map->count == 0 || id.len != ID_LEN)
        return NULL;
    const struct idmap_slot *slot = slot_of(map, id.at, hash_of(id.at));
    return slot ? slot->object : NULL;
}

static void put(struct idmap *map, uint64_t hash, void *object)
{
    size_t i = hash & (map->room - 1);

    while (map->slots[i].object)
        i = (i + 1) & (map->room - 1);
    map->slots[i] = (struct idmap_slot){ hash, object };
    map->count++;
}

/* Rebuilt with at least a fifth free for new ones, so that it is not soon done again. */
static size_t room_for(size_t count)
{
    size_t room = ROOM_FIRST;

    while (count * 9 > room * 5)
        room *= 2;
    return room;
}

static bool add(struct idmap *map, uint64_t hash, void *object)
{
    if (map->count >= map->limit)
        return false;
    if ((map->count + 1) * 4 > map->room * 3 ||
        (map->room > ROOM_KEPT && map->count * ROOM_TIMES < map->room)) {
        size_t room = room_for(map->count + 1);
        struct idmap old = *map;

        map->slots = mem_zalloc(room * sizeof(struct idmap_slot));
        map->room = room;
        map->count = 0;
        for (size_t i = 0; i < old.room; i++)
            if (old.slots[i].object)
                put(map, old.slots[i].hash, old.slots[i].object);
        mem_free(old.slots);
    }
    put(map, hash, object);
    return true;
}

bool idmap_add(struct idmap *map, void *object)
{
    return add(map, hash_of(id_in(map, object)), object);
}

bool idmap_set(struct idmap *map, void *object)
{
    const char *id = id_in(map, object);
    uint64_t hash = hash_of(id);
    struct idmap_slot *slot = slot_of(map, id, hash);

    if (!slot)
        return add(map, hash, object);
    slot->object = object;
    return true;
}

void idmap_remove(struct idmap *map, const void *object)
{
    if (map->count == 0)
        return;
    size_t mask = map->room - 1, i = hash_of(id_in(map, object)) & mask;
    for (; map->slots[i].object != object; i = (i + 1) & mask)
        if (!map->slots[i].object)
            return;
    /* Slot i is empty now: objects that passed it on the way from their own slot move up. */
    for (size_t j = (i + 1) & mask; map->slots[j].object; j = (j + 1) & mask) {
        if (((j - map->slots[j].hash) & mask) < ((j - i) & mask))
            continue; /* its own slot is after i */
        map->slots[i] = map->slots[j];
        i = j;
    }
    map->slots[i].object = NULL;
    map->count--;
    if (map->count == 0 && map->room > ROOM_KEPT)
        idmap_finish(map);
}

void *idmap_next(const struct idmap *map, struct idmap_walk *walk)
{
    if (map->count == 0)
        return NULL;
    if (walk->steps == 0) {
        /* A walk begins after an empty slot: no object moves up past it. */
        size_t i = 0;

        while (map->slots[i].object)
            i++;
        walk->from = i;
    }
    for (; walk->steps < map->room; walk->steps++) {
        void *object = map->slots[(walk->from + walk->steps) & (map->room - 1)].object;
        if (!object || object == walk->given)
            continue; /* it was not removed, or another would be here */
        walk->given = object;
        return object;
    }
    return NULL;
}
