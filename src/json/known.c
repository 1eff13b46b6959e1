/* json/known: see known.h. */
#include "json/known.h"

enum { ARENA_MAX = 64 * 1024 }; /* what a tree of JSON_KNOWN_BYTES_MAX takes, and more */

void json_known_init(struct json_known *known, struct str key)
{
    *known = (struct json_known){ .key = key };
    for (size_t i = 0; i < JSON_KNOWN_PLACES; i++)
        arena_init(&known->texts[i].arena, ARENA_MAX);
}

void json_known_finish(struct json_known *known)
{
    for (size_t i = 0; i < JSON_KNOWN_PLACES; i++)
        arena_finish(&known->texts[i].arena);
}

const struct json *json_known_find(const struct json_known *known, struct str text)
{
    for (size_t i = 0; i < JSON_KNOWN_PLACES; i++) {
        const struct json *value = known->texts[i].value;
        if (value && value->raw.len <= text.len &&
            memcmp(value->raw.at, text.at, value->raw.len) == 0)
            return value;
    }
    return NULL;
}

int json_known_place(const struct json_known *known, const struct json *value)
{
    for (int i = 0; i < JSON_KNOWN_PLACES; i++)
        if (known->texts[i].value && known->texts[i].value->first == value->first)
            return i;
    return -1;
}

/* Two texts with one mark cost what the set would have saved, and no more. */
static uint64_t mark_of(struct str text)
{
    uint64_t mark = text.len, word;
    size_t at = 0;

    for (; text.len - at >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, text.at + at, sizeof(word));
        mark = (mark ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        mark ^= mark >> 29;
    }
    for (; at < text.len; at++)
        mark = (mark ^ (unsigned char)text.at[at]) * UINT64_C(0x9E3779B97F4A7C15);
    return mark ^ mark >> 32;
}

/* True: it was there before; it is there from now on. */
static bool seen_before(struct json_known *known, uint64_t mark)
{
    uint64_t *seen = &known->seen[mark & (JSON_KNOWN_SEEN - 1)];
    bool before = *seen == mark;

    *seen = mark;
    return before;
}

int json_known_saw(struct json_known *known, const struct json *value)
{
    const struct json_opts opts = { .max_depth = JSON_KNOWN_DEPTH_MAX, .refuse_duplicates = true };

    /* Line ends in it would have to be counted by the parser that it spares. */
    if (!json_is(value, JSON_OBJECT) || value->count == 0 || value->lines ||
        value->raw.len > JSON_KNOWN_BYTES_MAX)
        return -1;
    int known_at = json_known_place(known, value);
    if (known_at >= 0) /* its tree is in use: no other may take its place now */
        return known_at;
    if (!seen_before(known, mark_of(value->raw)))
        return -1;
    size_t place = known->next++ % JSON_KNOWN_PLACES;
    struct json_known_text *text = &known->texts[place];
    text->value = NULL;
    arena_reset(&text->arena);
    text->value = json_parse(&text->arena, arena_str(&text->arena, value->raw), &opts, NULL);
    return text->value ? (int)place : -1;
}
