/*
 * json/utf8: the bytes of a string, many at a time.
 *
 * It is for the parser, the writer, and wherever bytes come from outside. utf8_plain runs over
 * bytes that mean themselves in a JSON string: ASCII except quotes, backslashes and control
 * characters. utf8_sequence checks what begins with a byte from 0x80.
 */
#ifndef NOD_JSON_UTF8_H
#define NOD_JSON_UTF8_H

#include "base/byte_order.h"
#include "base/str.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define UTF8_EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

static inline bool utf8_is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/*
 * The high bit of each byte of `w` that is not plain. A byte above one that is not plain may be
 * marked by a borrow, so only the lowest mark counts.
 */
static inline uint64_t utf8_marks(uint64_t w)
{
    uint64_t quote = (w ^ UTF8_EACH_BYTE('"')) - UTF8_EACH_BYTE(1);
    uint64_t slash = (w ^ UTF8_EACH_BYTE('\\')) - UTF8_EACH_BYTE(1);

    return (w | (w - UTF8_EACH_BYTE(0x20)) | quote | slash) & UTF8_EACH_BYTE(0x80);
}

/* The same for what does not fill a vector, or if there are no vectors. */
static inline const char *utf8_plain_words(const char *at, const char *end)
{
    while (end - at >= 8) {
        uint64_t w;
        memcpy(&w, at, sizeof(w));
        uint64_t marks = utf8_marks(order_le64(w));
        if (marks)
            return at + (__builtin_ctzll(marks) >> 3);
        at += 8;
    }
    while (at < end && utf8_is_plain((unsigned char)*at))
        at++;
    return at;
}

#ifdef __SSE2__
static inline __m128i utf8_load(const char *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/*
 * All ones in each byte that is not plain. Flipping the second lowest bit swaps the quote and the
 * space, 0x22 and 0x20; every other byte that is not plain stays below them, since bytes from 0x80
 * are negative. So one comparison finds all but the backslash.
 */
static inline __m128i utf8_odd(__m128i v)
{
    __m128i turned = _mm_xor_si128(v, _mm_set1_epi8(0x02));

    return _mm_or_si128(_mm_cmplt_epi8(turned, _mm_set1_epi8(0x21)),
                        _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
}

static inline unsigned utf8_odd_bits(__m128i odd)
{
    return (unsigned)_mm_movemask_epi8(odd);
}

/* After the first sixteen bytes, which were plain: four vectors at a time, then one. */
static inline const char *utf8_plain_long(const char *at, const char *end)
{
    for (; end - at >= 64; at += 64) {
        __m128i left = _mm_or_si128(utf8_odd(utf8_load(at)), utf8_odd(utf8_load(at + 16)));
        __m128i right = _mm_or_si128(utf8_odd(utf8_load(at + 32)), utf8_odd(utf8_load(at + 48)));
        if (utf8_odd_bits(_mm_or_si128(left, right)))
            break;
    }
    for (; end - at >= 16; at += 16) {
        unsigned odd = utf8_odd_bits(utf8_odd(utf8_load(at)));
        if (odd)
            return at + __builtin_ctz(odd);
    }
    return utf8_plain_words(at, end);
}
#endif

/* The first byte from `at` that is not plain, or `end`. Reads nothing at or past `end`. */
static inline const char *utf8_plain(const char *at, const char *end)
{
#ifdef __SSE2__
    if (end - at >= 16) {
        unsigned odd = utf8_odd_bits(utf8_odd(utf8_load(at)));
        return odd ? at + __builtin_ctz(odd) : utf8_plain_long(at + 16, end);
    }
#endif
    return utf8_plain_words(at, end);
}

/*
 * Copies, and tells whether every byte was plain. Most keys and texts are short and plain, and then
 * need no separate check. If not, the copy is useless.
 */
static inline bool utf8_copy_plain(char *to, const char *at, size_t len)
{
    uint64_t first, last;
    uint32_t head, tail;

#ifdef __SSE2__
    if (len >= 16) {
        size_t end = len - 16; /* the last sixteen, some of which may be looked at twice */
        __m128i v = utf8_load(at + end);
        __m128i odd = utf8_odd(v);
        _mm_storeu_si128((__m128i *)(void *)(to + end), v);
        for (size_t i = 0; i < end; i += 16) {
            v = utf8_load(at + i);
            odd = _mm_or_si128(odd, utf8_odd(v));
            _mm_storeu_si128((__m128i *)(void *)(to + i), v);
        }
        return utf8_odd_bits(odd) == 0;
    }
#else
    if (len > 16) {
        memcpy(to, at, len);
        return utf8_plain(at, at + len) == at + len;
    }
#endif
    if (len >= 8) {
        memcpy(&first, at, 8);
        memcpy(&last, at + len - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + len - 8, &last, 8);
        return !(utf8_marks(first) | utf8_marks(last));
    }
    if (len >= 4) {
        memcpy(&head, at, 4);
        memcpy(&tail, at + len - 4, 4);
        memcpy(to, &head, 4);
        memcpy(to + len - 4, &tail, 4);
        return !utf8_marks((uint64_t)head << 32 | tail);
    }
    bool plain = true;
    for (size_t i = 0; i < len; i++) {
        to[i] = at[i];
        plain &= utf8_is_plain((unsigned char)at[i]);
    }
    return plain;
}

static inline bool utf8_is_tail(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/*
 * The length (2 to 4) of the well-formed sequence at `at`, whose first byte is not ASCII, or 0.
 * Overlong forms, surrogates, code points past 10FFFF and cut-off sequences are not well formed.
 */
static inline size_t utf8_sequence(const char *at, const char *end)
{
    unsigned char lead = (unsigned char)at[0];
    size_t left = (size_t)(end - at);

    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    if (lead < 0xE0)
        return left >= 2 && utf8_is_tail(at[1]) ? 2 : 0;
    if (left < 3 || !utf8_is_tail(at[1]) || !utf8_is_tail(at[2]))
        return 0;

    unsigned char second = (unsigned char)at[1];
    if (lead < 0xF0) {
        bool overlong = lead == 0xE0 && second < 0xA0;
        bool surrogate = lead == 0xED && second >= 0xA0;
        return overlong || surrogate ? 0 : 3;
    }
    bool overlong = lead == 0xF0 && second < 0x90;
    bool beyond = lead == 0xF4 && second >= 0x90;
    return left >= 4 && utf8_is_tail(at[3]) && !overlong && !beyond ? 4 : 0;
}

/* How many bytes at the beginning of the text are well formed. */
static inline size_t utf8_good(struct str text)
{
    if (!text.len)
        return 0;
    const char *at = text.at, *end = at + text.len;

    while ((at = utf8_plain(at, end)) < end) {
        size_t n = (unsigned char)*at < 0x80 ? 1 : utf8_sequence(at, end);
        if (!n)
            break;
        at += n;
    }
    return (size_t)(at - text.at);
}

static inline bool utf8_valid(struct str text)
{
    return utf8_good(text) == text.len;
}

/* The character that such a sequence, or one byte of ASCII, stands for. */
static inline uint32_t utf8_code(const char *at, size_t len)
{
    static const unsigned char lead[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    uint32_t code = (unsigned char)at[0] & lead[len];

    for (size_t i = 1; i < len; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

/* Writes a character, and returns where it ends: at most four bytes on. */
static inline char *utf8_put(char *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *to++ = (char)(0xE0 | code >> 12);
        } else {
            *to++ = (char)(0xF0 | code >> 18);
            *to++ = (char)(0x80 | (code >> 12 & 0x3F));
        }
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
    }
    *to++ = (char)(0x80 | (code & 0x3F));
    return to;
}

#endif
