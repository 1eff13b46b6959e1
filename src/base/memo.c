/* base/memo: see memo.h. One allocation a pair: the parts of the key, then the value, each
 * with a NUL. */
#include "base/memo.h"

#include "base/id.h"
#include "base/mem.h"

struct memo_entry {
    size_t count; /* of parts */
    struct str parts[MEMO_PARTS_MAX];
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

static uint64_t mix_text(uint64_t hash, struct str text)
{
    uint64_t word;
    size_t at = 0;

    hash = mix(hash, text.len);
    for (; text.len - at >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, text.at + at, sizeof(word));
        hash = mix(hash, word);
    }
    for (word = 0; at < text.len; at++)
        word = word << 8 | (unsigned char)text.at[at];
    return mix(hash, word);
}

/*
 * Much less than map_hash, and enough: keys that share a place cost their user what the memo would
 * have saved, and no more.
 */
static size_t place_of(const struct str *parts, size_t count)
{
    uint64_t hash = seed;

    for (size_t i = 0; i < count; i++)
        hash = mix_text(hash, parts[i]);
    return hash >> 32 & (MEMO_PLACES - 1);
}

static bool is_key(const struct memo_entry *entry, const struct str *parts, size_t count)
{
    if (!entry || entry->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!str_eq(entry->parts[i], parts[i]))
            return false;
    return true;
}

bool memo_find_parts(struct memo *memo, const struct str *parts, size_t count, struct str *value)
{
    const struct memo_entry *entry = memo->last;

    if (!is_key(entry, parts, count)) {
        entry = memo->places[place_of(parts, count)];
        if (!is_key(entry, parts, count))
            return false;
        memo->last = entry;
    }
    *value = entry->value;
    return true;
}

void memo_keep_parts(struct memo *memo, const struct str *parts, size_t count, struct str value)
{
    size_t room = memo->entry_max;

    if (count > MEMO_PARTS_MAX || value.len > room)
        return;
    room -= value.len;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].len > room)
            return;
        room -= parts[i].len;
    }
    struct memo_entry **place = &memo->places[place_of(parts, count)];
    struct memo_entry *entry = mem_alloc(sizeof(*entry) + memo->entry_max - room + count + 1);
    char *at = entry->text;

    entry->count = count;
    for (size_t i = 0; i < count; i++)
        entry->parts[i] = str_place(&at, parts[i]);
    entry->value = str_place(&at, value);
    mem_free(*place);
    *place = entry;
    memo->last = entry;
}

bool memo_find(struct memo *memo, struct str key, struct str *value)
{
    return memo_find_parts(memo, &key, 1, value);
}

void memo_keep(struct memo *memo, struct str key, struct str value)
{
    memo_keep_parts(memo, &key, 1, value);
}
