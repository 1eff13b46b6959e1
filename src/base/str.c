/* base/str: see str.h for what a slice is. Nothing here allocates but str_dup. */
#include "base/str.h"

#include "base/mem.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static uint64_t word_at(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return word;
}

static uint32_t half_at(const char *at)
{
    uint32_t half;

    memcpy(&half, at, sizeof(half));
    return half;
}

/* Compares the first and the last word, which may overlap, and then what is between them. */
static bool bytes_same(const char *a, const char *b, size_t len)
{
    if (len >= 8) {
        if (word_at(a) != word_at(b) || word_at(a + len - 8) != word_at(b + len - 8))
            return false;
        if (len <= 16)
            return true;
        return word_at(a + 8) == word_at(b + 8) &&
               (len <= 24 || memcmp(a + 16, b + 16, len - 24) == 0);
    }
    if (len >= 4)
        return half_at(a) == half_at(b) && half_at(a + len - 4) == half_at(b + len - 4);
    return len == 0 || (a[0] == b[0] && a[len / 2] == b[len / 2] && a[len - 1] == b[len - 1]);
}

bool str_same(struct str a, struct str b)
{
    return a.len == b.len && bytes_same(a.at, b.at, a.len);
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    if (a.len == 0)
        return true;
    /* Most pairs that differ do so in the first letter, and most others are the same bytes. */
    if (lower(a.at[0]) != lower(b.at[0]))
        return false;
    if (bytes_same(a.at, b.at, a.len))
        return true;
    for (size_t i = 1; i < a.len; i++)
        if (lower(a.at[i]) != lower(b.at[i]))
            return false;
    return true;
}

int str_cmp(struct str a, struct str b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter ? memcmp(a.at, b.at, shorter) : 0;

    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

/* The bytes of the space, or of the character without a shape, that the text begins with; 0: it
 * begins with something else. */
static size_t unseen(struct str s)
{
    static const struct {
        unsigned char first, second, from, to; /* from 0: there is no third byte */
    } runs[] = {
        { 0xC2, 0xA0, 0, 0 },       /* no-break space */
        { 0xC2, 0xAD, 0, 0 },       /* soft hyphen */
        { 0xE1, 0x9A, 0x80, 0x80 }, /* Ogham space */
        { 0xE1, 0xA0, 0x8E, 0x8E }, /* Mongolian vowel separator */
        { 0xE2, 0x80, 0x80, 0x8F }, /* spaces of many widths, joiners, marks of direction */
        { 0xE2, 0x80, 0xA8, 0xAF }, /* ends of lines and of directions */
        { 0xE2, 0x81, 0x9F, 0xA9 }, /* mathematical space, word joiner, isolates */
        { 0xE3, 0x80, 0x80, 0x80 }, /* ideographic space */
        { 0xEF, 0xBB, 0xBF, 0xBF }, /* byte order mark */
    };
    const unsigned char *at = (const unsigned char *)s.at;

    if (at[0] <= ' ')
        return 1;
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        if (s.len < 2 || at[0] != runs[i].first || at[1] != runs[i].second)
            continue;
        if (!runs[i].from)
            return 2;
        if (s.len > 2 && at[2] >= runs[i].from && at[2] <= runs[i].to)
            return 3;
    }
    return 0;
}

bool str_among(struct str s, const char *const *names)
{
    for (; *names; names++)
        if (str_eq(s, str_of(*names)))
            return true;
    return false;
}

bool str_is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
            return false;
    }
    return true;
}

bool str_is_visible(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] <= ' ' || s.at[i] > '~')
            return false;
    return true;
}

bool str_blank(struct str s)
{
    for (size_t n; s.len > 0 && (n = unseen(s)) > 0;)
        s = str_skip(s, n);
    return s.len == 0;
}

struct str str_trim_slow_(struct str s)
{
    while (s.len > 0 && str_is_blank_(s.at[0]))
        s = str_skip(s, 1);
    while (s.len > 0 && str_is_blank_(s.at[s.len - 1]))
        s.len--;
    return s;
}

bool str_cut(struct str s, char separator, struct str *before, struct str *after)
{
    const char *cut = s.len ? memchr(s.at, separator, s.len) : NULL;

    if (!cut) {
        *before = s;
        *after = STR_NONE;
        return false;
    }
    size_t at = (size_t)(cut - s.at);
    *before = str_n(s.at, at);
    *after = str_skip(s, at + 1);
    return true;
}

ptrdiff_t str_find(struct str s, struct str needle)
{
    if (needle.len == 0)
        return 0;
    const char *hit = s.len ? memmem(s.at, s.len, needle.at, needle.len) : NULL;
    return hit ? hit - s.at : -1;
}

bool str_to_u64(struct str s, uint64_t *out)
{
    uint64_t value = 0;

    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(s.at[i] - '0'), &value))
            return false;
    }
    *out = value;
    return true;
}

bool str_to_i64(struct str s, int64_t *out)
{
    bool negative = s.len > 0 && s.at[0] == '-';
    uint64_t size;

    if (!str_to_u64(negative ? str_skip(s, 1) : s, &size))
        return false;
    if (size > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return false;
    *out = negative ? (int64_t)(0 - size) : (int64_t)size;
    return true;
}

struct str str_place(char **at, struct str s)
{
    struct str copy = { *at, s.len };

    if (s.len)
        memcpy(*at, s.at, s.len);
    (*at)[s.len] = '\0';
    *at += s.len + 1;
    return copy;
}

char *str_dup(struct str s)
{
    char *copy = mem_alloc(s.len + 1);

    if (s.len)
        memcpy(copy, s.at, s.len);
    copy[s.len] = '\0';
    return copy;
}
