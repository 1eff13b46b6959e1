/*
 * core/masked: see masked.h.
 *
 * A value of a few characters ("no", "7") is often a part of other words, so it is masked only
 * where it stands alone. A long one is masked wherever it is, and also if the sentence has only its
 * beginning, because it was cut.
 */
#include "core/masked.h"

#include "base/buf.h"
#include "json/value.h"

enum {
    MASKED_ARENA_MAX = 32 << 20,    /* memory of one answer as a tree */
    MASKED_SENTENCE_MAX = 64 << 10, /* bytes of a masked sentence */
    MASKED_SHORT = 4,               /* bytes: shorter values are masked where they stand alone */
    MASKED_PART = 8, /* bytes of the beginning of a value that are masked without the rest */
};

static const struct str mask = STR_INIT("[answer]");

static bool is_word(char c)
{
    unsigned char u = (unsigned char)c;

    return (u >= '0' && u <= '9') || (u >= 'A' && u <= 'Z') || (u >= 'a' && u <= 'z') || u >= 0x80;
}

static bool stands_alone(struct str s, size_t at, size_t len)
{
    return (at == 0 || !is_word(s.at[at - 1])) && (at + len == s.len || !is_word(s.at[at + len]));
}

/* How many bytes at this place are the value, or its beginning. */
static size_t match(struct str s, size_t at, struct str value, bool number)
{
    size_t len = 0;

    while (len < value.len && at + len < s.len && s.at[at + len] == value.at[len])
        len++;
    if (len < value.len)
        return len >= MASKED_PART && !number ? len : 0;
    return (value.len >= MASKED_SHORT && !number) || stands_alone(s, at, len) ? len : 0;
}

static struct str without(struct arena *arena, struct str s, struct str value, bool number)
{
    struct buf out;
    size_t from = 0, at = 0;

    if (!value.len || !s.len || (value.len < MASKED_PART && value.len > s.len))
        return s;
    buf_init(&out, MASKED_SENTENCE_MAX);
    while (at < s.len) {
        size_t len = s.at[at] == value.at[0] ? match(s, at, value, number) : 0;
        if (!len) {
            at++;
            continue;
        }
        buf_add(&out, str_n(s.at + from, at - from));
        buf_add(&out, mask);
        at += len;
        from = at;
    }
    if (from > 0) {
        buf_add(&out, str_skip(s, from));
        s = out.overflow ? STR_NONE : arena_str(arena, buf_str(&out));
    }
    buf_finish(&out);
    return s;
}

static struct str without_values(struct arena *arena, struct str s, const struct json *value)
{
    if (json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER))
        return without(arena, s, value->text, value->type == JSON_NUMBER);
    JSON_EACH (child, value)
        s = without_values(arena, s, child);
    return s;
}

struct str masked(struct arena *arena, struct str sentence, const struct journal *journal)
{
    struct str s = sentence;

    for (size_t i = 0; i < journal->count; i++) {
        const struct entry *entry = &journal->entries[i];
        struct arena tree;

        if (entry->class != ENTRY_ASK || entry->state != ASK_ACCEPTED || !entry->content.len)
            continue;
        arena_init(&tree, MASKED_ARENA_MAX);
        const struct json *content = json_parse(&tree, entry->content, NULL, NULL);
        s = content ? without_values(arena, s, content) : STR_NONE;
        arena_finish(&tree);
        if (!s.len)
            return STR("(a sentence that cannot be shown without an answer)");
    }
    return s;
}
