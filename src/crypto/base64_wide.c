/*
 * crypto/base64_wide: base64url with SSSE3.
 *
 * Twelve bytes are spread over sixteen lanes of six bits by a shuffle and two multiplications; a
 * lane becomes a character by adding what its range is shifted by. Back, each lane is compared with
 * the five ranges of digits, and two multiply-and-add steps pull the lanes together again. Every
 * requestState passes here twice.
 *
 * Holds always: a load reads at most 16 bytes of the input, a store writes at most 16 bytes of what
 * the whole input becomes. What is no digit ends the work in front of its group.
 */
#include "crypto/base64_wide.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>

#define SSSE3 __attribute__((target("ssse3")))

enum {
    LANES = 16,
    GROUP = 12,          /* bytes that sixteen characters stand for */
    DECODE_LEAST = 24,   /* characters that become at least as many bytes as a store writes */
    ALL_DIGITS = 0xffff, /* as a mask of lanes */
    SHIFT_26 = 'a' - 26, /* from a lane's bits to its character */
    SHIFT_52 = '0' - 52,
    SHIFT_62 = '-' - 62,
    SHIFT_63 = '_' - 63,
};

static bool has_ssse3(void)
{
    return __builtin_cpu_supports("ssse3") > 0;
}

SSSE3 static __m128i six_bits(__m128i bytes)
{
    __m128i spread =
        _mm_shuffle_epi8(bytes, _mm_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10));
    __m128i outer = _mm_mulhi_epu16(_mm_and_si128(spread, _mm_set1_epi32(0x0fc0fc00)),
                                    _mm_set1_epi32(0x04000040));
    __m128i inner = _mm_mullo_epi16(_mm_and_si128(spread, _mm_set1_epi32(0x003f03f0)),
                                    _mm_set1_epi32(0x01000010));

    return _mm_or_si128(outer, inner);
}

/* 13: a capital; 0: a small letter; 1 to 10: a figure; 11 and 12: the other two. */
SSSE3 static __m128i characters(__m128i bits)
{
    const __m128i shifts =
        _mm_setr_epi8(SHIFT_26, SHIFT_52, SHIFT_52, SHIFT_52, SHIFT_52, SHIFT_52, SHIFT_52,
                      SHIFT_52, SHIFT_52, SHIFT_52, SHIFT_52, SHIFT_62, SHIFT_63, 'A', 0, 0);
    __m128i range = _mm_subs_epu8(bits, _mm_set1_epi8(51));
    __m128i capital = _mm_cmpgt_epi8(_mm_set1_epi8(26), bits);

    range = _mm_or_si128(range, _mm_and_si128(capital, _mm_set1_epi8(13)));
    return _mm_add_epi8(_mm_shuffle_epi8(shifts, range), bits);
}

SSSE3 static size_t encode(const uint8_t *in, size_t len, char *out)
{
    size_t done = 0;

    for (; len - done >= LANES; done += GROUP, out += LANES) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(in + done));
        _mm_storeu_si128((__m128i *)(void *)out, characters(six_bits(bytes)));
    }
    return done;
}

/* The lanes that hold first to last, and what they stand for; *digits gets all that were found. */
SSSE3 static __m128i range_of(__m128i text, char first, char last, char shift, __m128i *digits)
{
    __m128i inside = _mm_and_si128(_mm_cmpgt_epi8(text, _mm_set1_epi8((char)(first - 1))),
                                   _mm_cmpgt_epi8(_mm_set1_epi8((char)(last + 1)), text));

    *digits = _mm_or_si128(*digits, inside);
    return _mm_and_si128(inside, _mm_sub_epi8(text, _mm_set1_epi8(shift)));
}

SSSE3 static bool lanes_of(__m128i text, __m128i *bits)
{
    __m128i digits = _mm_setzero_si128();
    __m128i lanes = range_of(text, 'A', 'Z', 'A', &digits);

    lanes = _mm_or_si128(lanes, range_of(text, 'a', 'z', SHIFT_26, &digits));
    lanes = _mm_or_si128(lanes, range_of(text, '0', '9', SHIFT_52, &digits));
    lanes = _mm_or_si128(lanes, range_of(text, '-', '-', SHIFT_62, &digits));
    lanes = _mm_or_si128(lanes, range_of(text, '_', '_', SHIFT_63, &digits));
    *bits = lanes;
    return _mm_movemask_epi8(digits) == ALL_DIGITS;
}

SSSE3 static __m128i twelve_bytes(__m128i bits)
{
    __m128i pairs = _mm_maddubs_epi16(bits, _mm_set1_epi32(0x01400140));
    __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00011000));

    return _mm_shuffle_epi8(fours,
                            _mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1));
}

SSSE3 static size_t decode(const uint8_t *in, size_t len, uint8_t *out)
{
    size_t done = 0;
    __m128i bits;

    for (; len - done >= DECODE_LEAST; done += LANES, out += GROUP) {
        if (!lanes_of(_mm_loadu_si128((const __m128i *)(const void *)(in + done)), &bits))
            break;
        _mm_storeu_si128((__m128i *)(void *)out, twelve_bytes(bits));
    }
    return done;
}

size_t base64_wide_encode(const uint8_t *in, size_t len, char *out)
{
    return has_ssse3() ? encode(in, len, out) : 0;
}

size_t base64_wide_decode(const uint8_t *in, size_t len, uint8_t *out)
{
    return has_ssse3() ? decode(in, len, out) : 0;
}

#else

size_t base64_wide_encode(const uint8_t *in, size_t len, char *out)
{
    (void)in, (void)len, (void)out;
    return 0;
}

size_t base64_wide_decode(const uint8_t *in, size_t len, uint8_t *out)
{
    (void)in, (void)len, (void)out;
    return 0;
}

#endif
