/*
 * base/map: linear probing over a power of two of slots. At most three quarters of them are used,
 * including graves, and at most a quarter are graves, because a search for a missing key passes
 * them all.
 *
 * A removed entry leaves a grave, so that probing goes on past it. Graves at the end of a run are
 * cleared at once, the others when the table is rebuilt. Rebuilding adapts the room to the count,
 * so a table that once was large becomes small again. Removing moves no entry, so entries may be
 * removed during a walk.
 */
#include "base/map.h"

#include "base/byte_order.h"
#include "base/id.h" /* random_bytes */
#include "base/mem.h"

struct map_slot {
    struct str key;
    void *value; /* NULL: never used; GRAVE: removed */
    uint64_t hash;
};

static char grave;
#define GRAVE ((void *)&grave)

enum { ROOM_FIRST = 8, ROOM_KEPT = 64 /* slots that are kept when the table empties */ };

static uint64_t rotl(uint64_t x, int b)
{
    return (x << b) | (x >> (64 - b));
}

struct sip {
    uint64_t v0, v1, v2, v3;
};

static void sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v1 = rotl(s->v1, 13) ^ s->v0;
    s->v0 = rotl(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotl(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotl(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotl(s->v1, 17) ^ s->v2;
    s->v2 = rotl(s->v2, 32);
}

static uint64_t hash_key[2];

__attribute__((constructor)) static void hash_key_init(void)
{
    random_bytes(hash_key, sizeof(hash_key));
}

/* The bytes after the last whole word, the first of them lowest. */
static uint64_t tail_of(struct str key)
{
    size_t rest = key.len % 8;
    uint64_t word = 0;

    if (rest && key.len > 8) { /* a whole word that ends with them */
        memcpy(&word, key.at + key.len - 8, 8);
        return order_le64(word) >> (8 * (8 - rest));
    }
    for (size_t i = 0; i < rest; i++)
        word |= (uint64_t)(unsigned char)key.at[key.len - rest + i] << (8 * i);
    return word;
}

/* SipHash-1-3. */
uint64_t map_hash(struct str key)
{
    struct sip s = { hash_key[0] ^ 0x736f6d6570736575u, hash_key[1] ^ 0x646f72616e646f6du,
                     hash_key[0] ^ 0x6c7967656e657261u, hash_key[1] ^ 0x7465646279746573u };
    size_t whole = key.len / 8;
    uint64_t word;

    for (size_t i = 0; i < whole; i++) {
        memcpy(&word, key.at + i * 8, 8);
        word = order_le64(word);
        s.v3 ^= word;
        sip_round(&s);
        s.v0 ^= word;
    }
    word = (uint64_t)key.len << 56 | tail_of(key);
    s.v3 ^= word;
    sip_round(&s);
    s.v0 ^= word;
    s.v2 ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

void map_init(struct map *map, size_t limit)
{
    *map = (struct map){ .limit = limit };
}

void map_finish(struct map *map)
{
    mem_free(map->slots);
    *map = (struct map){ .limit = map->limit };
}

static struct map_slot *slot_find(const struct map *map, struct str key, uint64_t hash)
{
    if (map->room == 0)
        return NULL;
    for (size_t i = hash & (map->room - 1);; i = (i + 1) & (map->room - 1)) {
        struct map_slot *slot = &map->slots[i];
        if (!slot->value)
            return NULL;
        if (slot->hash == hash && slot->value != GRAVE && str_same(slot->key, key))
            return slot;
    }
}

static void slot_put(struct map *map, struct str key, uint64_t hash, void *value)
{
    size_t i = hash & (map->room - 1);

    while (map->slots[i].value && map->slots[i].value != GRAVE)
        i = (i + 1) & (map->room - 1);
    if (!map->slots[i].value)
        map->used++;
    map->slots[i] = (struct map_slot){ key, value, hash };
    map->count++;
}

void *map_get(const struct map *map, struct str key)
{
    struct map_slot *slot = map->count ? slot_find(map, key, map_hash(key)) : NULL;

    return slot ? slot->value : NULL;
}

static bool slot_new(struct map *map, struct str key, uint64_t hash, void *value)
{
    if (map->count >= map->limit)
        return false;
    if ((map->used + 1) * 4 > map->room * 3 || (map->used - map->count) * 4 > map->room) {
        size_t room = ROOM_FIRST;
        while ((map->count + 1) * 2 > room)
            room *= 2;
        struct map old = *map;
        map->slots = mem_zalloc(room * sizeof(struct map_slot));
        map->room = room;
        map->count = map->used = 0;
        for (size_t i = 0; i < old.room; i++)
            if (old.slots[i].value && old.slots[i].value != GRAVE)
                slot_put(map, old.slots[i].key, old.slots[i].hash, old.slots[i].value);
        mem_free(old.slots);
    }
    slot_put(map, key, hash, value);
    return true;
}

bool map_set(struct map *map, struct str key, void *value)
{
    if (!value)
        return false;
    uint64_t hash = map_hash(key);
    struct map_slot *slot = slot_find(map, key, hash);

    if (slot) {
        slot->key = key;
        slot->value = value;
        return true;
    }
    return slot_new(map, key, hash, value);
}

bool map_add(struct map *map, struct str key, void *value)
{
    return value && slot_new(map, key, map_hash(key), value);
}

void *map_remove(struct map *map, struct str key)
{
    struct map_slot *slot = slot_find(map, key, map_hash(key));

    if (!slot)
        return NULL;
    void *value = slot->value;
    *slot = (struct map_slot){ .value = GRAVE };
    map->count--;
    /* A grave before an empty slot is of no use to any search. */
    size_t i = (size_t)(slot - map->slots);
    bool useless = !map->slots[(i + 1) & (map->room - 1)].value;
    for (; useless && map->slots[i].value == GRAVE; i = (i - 1) & (map->room - 1)) {
        map->slots[i].value = NULL;
        map->used--;
    }
    if (map->count == 0 && map->room > ROOM_KEPT)
        map_finish(map);
    return value;
}

void *map_next(const struct map *map, size_t *at)
{
    while (*at < map->room) {
        void *value = map->slots[(*at)++].value;
        if (value && value != GRAVE)
            return value;
    }
    return NULL;
}
