/*
 * base/str: text as a slice.
 *
 * A str is a pointer and a length into memory that somebody else owns. It does not end with a NUL
 * and may contain NUL bytes. Copies are explicit (arena_str, str_dup). The empty slice may have a
 * NULL pointer, which is never read.
 */
#ifndef NOD_BASE_STR_H
#define NOD_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *at;
    size_t len;
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })
#define STR_INIT(literal)                                                                          \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }
#define STR_NONE   ((struct str){ NULL, 0 })
#define STR_FMT    "%.*s"
#define STR_ARG(s) (int)(s).len, (s).at

static inline struct str str_of(const char *text)
{
    return (struct str){ text, text ? strlen(text) : 0 };
}

static inline struct str str_n(const char *at, size_t len)
{
    return (struct str){ at, len };
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* The same, faster if neither is a literal and both are short: keys, names, ids. */
bool str_same(struct str a, struct str b);

static inline bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.at, prefix.at, prefix.len) == 0);
}

static inline bool str_ends(struct str s, struct str suffix)
{
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.at + s.len - suffix.len, suffix.at, suffix.len) == 0);
}

static inline struct str str_skip(struct str s, size_t n)
{
    if (n > s.len)
        n = s.len;
    return (struct str){ n ? s.at + n : s.at, s.len - n };
}

/* ASCII only: header names, schemes, host names. */
bool str_eq_nocase(struct str a, struct str b);

/* Byte order; a prefix sorts before what it is a prefix of. */
int str_cmp(struct str a, struct str b);

/* Is it one of these names? NULL ends the list. */
bool str_among(struct str s, const char *const *names);

/* Has it only a-z, 0-9, - and _? So has an empty one. */
bool str_is_plain(struct str s);

/* Has it only visible ASCII, and no space? So has an empty one. */
bool str_is_visible(struct str s);

/* Nothing to be seen of it: empty, or control characters and spaces alone, those of Unicode too. */
bool str_blank(struct str s);

/* Removes spaces and tabs from both ends. */
struct str str_trim_slow_(struct str s);

static inline bool str_is_blank_(char c)
{
    return c == ' ' || c == '\t';
}

static inline struct str str_trim(struct str s)
{
    if (s.len && (str_is_blank_(s.at[0]) || str_is_blank_(s.at[s.len - 1])))
        return str_trim_slow_(s);
    return s;
}

/* Splits at the first separator: true and both halves; or false with everything in *before. */
bool str_cut(struct str s, char separator, struct str *before, struct str *after);

/* Where `needle` begins in `s`, or -1. */
ptrdiff_t str_find(struct str s, struct str needle);

/* The whole slice as a decimal number that fits; false otherwise. */
bool str_to_i64(struct str s, int64_t *out);
bool str_to_u64(struct str s, uint64_t *out);

/*
 * Copies into memory at *at, with a NUL after it, and moves *at past both: for an object whose
 * texts follow it in one allocation. The caller has left room for len + 1 bytes.
 */
struct str str_place(char **at, struct str s);

/* A heap copy that ends with a NUL; free with free(). */
char *str_dup(struct str s);

/* The value of a hexadecimal digit; -1: it is none. */
static inline int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
