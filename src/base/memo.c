/* base/memo: see memo.h. One allocation a pair: the key, then the value, each with a NUL. */
#include "base/memo.h"

#include "base/id.h"
#include "base/mem.h"

struct memo_entry {
    struct str key;
    struct str value;
    char text[];
};

void memo_init(struct memo *memo, size_t entry_max)
{
    *memo = (struct memo){ .entry_max = entry_max };
}

void memo_finish(struct memo *memo)
{
    for (size_t i = 0; i < MEMO_PLACES; i++)
        mem_free(memo->places[i]);
    memo_init(memo, memo->entry_max);
}

static uint64_t seed; /* of this process */

__attribute__((constructor)) static void seed_init(void)
{
    random_bytes(&seed, sizeof(seed));
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/*
 * Much less than map_hash, and enough: keys that share a place cost their user what the memo would
 * have saved, and no more.
 */
static size_t place_of(struct str key)
{
    uint64_t hash = seed ^ key.len, word;
    size_t at = 0;

    for (; key.len - at >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, key.at + at, sizeof(word));
        hash = mix(hash, word);
    }
    for (word = 0; at < key.len; at++)
        word = word << 8 | (unsigned char)key.at[at];
    return mix(hash, word) >> 32 & (MEMO_PLACES - 1);
}

bool memo_find(struct memo *memo, struct str key, struct str *value)
{
    const struct memo_entry *entry = memo->last;

    if (!entry || !str_eq(entry->key, key)) {
        entry = memo->places[place_of(key)];
        if (!entry || !str_eq(entry->key, key))
            return false;
        memo->last = entry;
    }
    *value = entry->value;
    return true;
}

void memo_keep(struct memo *memo, struct str key, struct str value)
{
    if (key.len > memo->entry_max || value.len > memo->entry_max - key.len)
        return;
    struct memo_entry **place = &memo->places[place_of(key)];
    struct memo_entry *entry = mem_alloc(sizeof(*entry) + key.len + value.len + 2);
    char *at = entry->text;

    entry->key = str_place(&at, key);
    entry->value = str_place(&at, value);
    mem_free(*place);
    *place = entry;
    memo->last = entry;
}
