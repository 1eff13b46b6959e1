/*
 * json/number: exact arithmetic on the text of numbers.
 *
 * A number is treated as 0.d1d2d3... x 10^(point + exponent), where d1 is its first digit that is
 * not zero. The digits stay where they are in the text, and so does the exponent, which may have
 * any number of digits: nothing is ever expanded. Comparing takes time linear in the two texts, and
 * no memory.
 *
 * Doubles are read with strtod from a bounded copy and written with snprintf, both without a
 * decimal point, so that the locale of the program does not matter.
 */
#include "json/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/value.h"

/* Past this only the sign of a difference of exponents matters; texts are far shorter (UINT32_MAX
 * bytes). */
#define EXPONENT_FAR (INT64_C(1) << 50)

struct decimal {
    bool negative;
    bool zero;
    const char *digits; /* from the first that is not zero; may contain a '.' */
    const char *end;    /* after the last that is not zero */
    int64_t point;
    bool exponent_negative;
    struct str exponent; /* digits without leading zeros; empty is 0 */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void decimal_read_exponent(struct decimal *d, const char *at, const char *end)
{
    d->exponent_negative = at < end && *at == '-';
    if (at < end && !is_digit(*at))
        at++;
    while (at < end && *at == '0')
        at++;
    d->exponent = str_n(at, (size_t)(end - at));
}

static void decimal_read(struct decimal *d, struct str text)
{
    const char *at = text.at;
    const char *end = text.at + text.len;

    *d = (struct decimal){ .negative = at < end && *at == '-' };
    if (d->negative)
        at++;
    const char *mantissa_end = at;
    const char *dot = NULL;
    for (; mantissa_end < end && (*mantissa_end | 0x20) != 'e'; mantissa_end++)
        if (*mantissa_end == '.')
            dot = mantissa_end;
    if (mantissa_end < end)
        decimal_read_exponent(d, mantissa_end + 1, end);
    if (!dot)
        dot = mantissa_end;

    d->digits = at;
    d->end = mantissa_end;
    while (d->digits < d->end && (*d->digits == '0' || *d->digits == '.'))
        d->digits++;
    d->zero = d->digits == d->end;
    if (d->zero)
        return;
    while (d->end[-1] == '0' || d->end[-1] == '.')
        d->end--;
    d->point = d->digits < dot ? dot - d->digits : dot - d->digits + 1;
}

/* The digit `back` places from the end of the exponent, with its sign. */
static int exponent_digit(const struct decimal *d, size_t back)
{
    if (back >= d->exponent.len)
        return 0;
    int digit = d->exponent.at[d->exponent.len - 1 - back] - '0';
    return d->exponent_negative ? -digit : digit;
}

/*
 * The difference of the two exponents, digit by digit from the top. Once it is past EXPONENT_FAR,
 * the other digits can only take it further, so it stops there.
 */
static int64_t exponent_difference(const struct decimal *a, const struct decimal *b)
{
    size_t places = a->exponent.len > b->exponent.len ? a->exponent.len : b->exponent.len;
    int64_t difference = 0;

    while (places-- > 0) {
        difference = difference * 10 + exponent_digit(a, places) - exponent_digit(b, places);
        if (difference > EXPONENT_FAR || difference < -EXPONENT_FAR)
            break;
    }
    return difference;
}

/* The power of ten, clamped to +-EXPONENT_FAR. */
static int64_t decimal_power(const struct decimal *d)
{
    static const struct decimal none;
    int64_t power = exponent_difference(d, &none);

    if (power > EXPONENT_FAR)
        return EXPONENT_FAR;
    if (power < -EXPONENT_FAR)
        return -EXPONENT_FAR;
    return d->point + power;
}

/* The next digit from *at; after the last one, zeros without end. */
static int digit_next(const char **at, const char *end)
{
    if (*at < end && **at == '.')
        ++*at;
    return *at < end ? *(*at)++ - '0' : 0;
}

static int digits_cmp(const struct decimal *a, const struct decimal *b)
{
    const char *x = a->digits;
    const char *y = b->digits;

    while (x < a->end || y < b->end) {
        int difference = digit_next(&x, a->end) - digit_next(&y, b->end);
        if (difference)
            return difference;
    }
    return 0;
}

static int sign_of(const struct decimal *d)
{
    if (d->zero)
        return 0;
    return d->negative ? -1 : 1;
}

int number_cmp(struct str a, struct str b)
{
    struct decimal x;
    struct decimal y;

    decimal_read(&x, a);
    decimal_read(&y, b);
    if (sign_of(&x) != sign_of(&y))
        return sign_of(&x) < sign_of(&y) ? -1 : 1;
    if (x.zero)
        return 0;

    int64_t powers = exponent_difference(&x, &y) + x.point - y.point;
    int cmp = powers ? (powers > 0) - (powers < 0) : digits_cmp(&x, &y);
    cmp = (cmp > 0) - (cmp < 0);
    return x.negative ? -cmp : cmp;
}

int json_number_cmp(const struct json *a, const struct json *b)
{
    if (!json_is(a, JSON_NUMBER) || !json_is(b, JSON_NUMBER))
        return 0;
    return number_cmp(a->text, b->text);
}

/* --- integers --- */

enum { I64_DIGITS = 19 };

/* The digits as an integer of `places` places. False: some are left over, or it does not fit. */
static bool digits_u64(const struct decimal *d, int64_t places, uint64_t *out)
{
    const char *at = d->digits;
    uint64_t n = 0;

    for (int64_t i = 0; i < places; i++)
        n = n * 10 + (uint64_t)digit_next(&at, d->end); /* 19 digits fit 64 bits */
    *out = n;
    return at >= d->end;
}

bool number_i64(struct str text, int64_t *out)
{
    struct decimal d;
    uint64_t n;

    decimal_read(&d, text);
    if (d.zero) {
        *out = 0;
        return true;
    }
    int64_t places = decimal_power(&d);
    if (places < 1 || places > I64_DIGITS || !digits_u64(&d, places, &n))
        return false;
    if (n > (uint64_t)INT64_MAX + d.negative)
        return false;
    *out = d.negative ? (int64_t)(0 - n) : (int64_t)n;
    return true;
}

struct number_parts number_parts(struct str text)
{
    struct decimal d;

    decimal_read(&d, text);
    if (d.zero)
        return (struct number_parts){ 0 };
    struct str digits = str_n(d.digits, (size_t)(d.end - d.digits));
    size_t count = digits.len - (memchr(digits.at, '.', digits.len) != NULL);
    return (struct number_parts){ d.negative, digits, count, decimal_power(&d) - (int64_t)count };
}

/* --- doubles --- */

/*
 * No two neighbouring doubles need more than 767 digits to be told apart from the point between
 * them; after that only "is anything left" matters. A power of ten beyond the clamp is zero or
 * infinite whatever the digits.
 */
enum { DOUBLE_DIGITS = 800, DOUBLE_POWER_FAR = 5000 };

static double decimal_double(const struct decimal *d)
{
    char copy[DOUBLE_DIGITS + 32];
    const char *at = d->digits;
    size_t len = 0;
    int64_t power = decimal_power(d);

    copy[len++] = d->negative ? '-' : '+';
    while (at < d->end && len <= DOUBLE_DIGITS)
        copy[len++] = (char)('0' + digit_next(&at, d->end));
    if (at < d->end)
        copy[len++] = '1';
    if (power > DOUBLE_POWER_FAR)
        power = DOUBLE_POWER_FAR;
    if (power < -DOUBLE_POWER_FAR)
        power = -DOUBLE_POWER_FAR;
    power -= (int64_t)len - 1; /* from 0.ddd to ddd. */
    snprintf(copy + len, sizeof(copy) - len, "e%lld", (long long)power);
    return strtod(copy, NULL);
}

bool number_double(struct str text, double *out)
{
    struct decimal d;

    decimal_read(&d, text);
    double value = d.zero ? (d.negative ? -0.0 : 0.0) : decimal_double(&d);
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}

/* --- text from numbers --- */

void number_from_u64(uint64_t n, struct number_text *out)
{
    char reversed[NUMBER_TEXT_MAX];
    size_t len = 0;

    do {
        reversed[len++] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    out->len = len;
    for (size_t i = 0; i < len; i++)
        out->at[i] = reversed[len - 1 - i];
}

void number_from_i64(int64_t n, struct number_text *out)
{
    if (n >= 0) {
        number_from_u64((uint64_t)n, out);
        return;
    }
    number_from_u64(0 - (uint64_t)n, out);
    memmove(out->at + 1, out->at, out->len);
    out->at[0] = '-';
    out->len++;
}

enum { SHORTEST_DIGITS_MAX = 17 };

/* A positive double as 0.ddd x 10^power. */
struct shortest {
    char digits[SHORTEST_DIGITS_MAX + 1]; /* room for a carry */
    int count;
    int power;
};

static double shortest_value(const struct shortest *s)
{
    char text[64];
    struct number_text power;

    number_from_i64(s->power - s->count, &power);
    memcpy(text, s->digits, (size_t)s->count);
    text[s->count] = 'e';
    memcpy(text + s->count + 1, power.at, power.len);
    text[(size_t)s->count + 1 + power.len] = '\0';
    return strtod(text, NULL);
}

/* The nearest decimal of `count` digits. */
static void shortest_round(struct shortest *s, double d, int count)
{
    char text[64];
    const char *at = text;

    snprintf(text, sizeof(text), "%.*e", count - 1, d);
    for (s->count = 0; *at && *at != 'e'; at++) /* skips the decimal point of any locale */
        if (is_digit(*at) && s->count < SHORTEST_DIGITS_MAX)
            s->digits[s->count++] = *at;
    s->power = *at ? atoi(at + 1) + 1 : 1;
}

/* One more in the last place. */
static void shortest_step(struct shortest *s)
{
    int i = s->count - 1;

    while (i >= 0 && s->digits[i] == '9')
        s->digits[i--] = '0';
    if (i >= 0) {
        s->digits[i]++;
        return;
    }
    s->digits[0] = '1'; /* 99 became 100: the zeros are there, and the power grows */
    s->power++;
}

/* The same from the nearest decimal of all digits, which is faster. False: what is cut off looks
 * like exactly a half, and more digits would have to say which way to round. */
static bool shortest_cut(struct shortest *s, const struct shortest *all, int count)
{
    *s = *all;
    s->count = count;
    bool half = all->digits[count] == '5';
    for (int i = count + 1; i < all->count; i++)
        half &= all->digits[i] == '0';
    if (!half && all->digits[count] >= '5')
        shortest_step(s);
    return !half;
}

/*
 * The fewest digits that read back as `d`. A decimal of up to DBL_DIG digits comes back out of a
 * normal double unchanged. So one look at DBL_DIG digits finds every shorter decimal as well (zeros
 * at the end are removed later), and SHORTEST_DIGITS_MAX digits always read back. Below a power of
 * two doubles are twice as dense as above it, so there the nearest decimal (below) may miss while
 * the next one up still reads back.
 */
static void shortest_find(struct shortest *s, double d)
{
    int first = d >= DBL_MIN ? DBL_DIG : 1, power;
    bool is_power_of_two = frexp(d, &power) == 0.5;
    struct shortest all;

    shortest_round(&all, d, SHORTEST_DIGITS_MAX);
    for (int count = first; count < SHORTEST_DIGITS_MAX; count++) {
        if (!shortest_cut(s, &all, count))
            shortest_round(s, d, count);
        if (shortest_value(s) == d)
            return;
        if (!is_power_of_two)
            continue;
        shortest_step(s);
        if (shortest_value(s) == d)
            return;
    }
    *s = all;
}

static void text_add(struct number_text *out, const char *from, int count)
{
    memcpy(out->at + out->len, from, (size_t)count);
    out->len += (size_t)count;
}

static void text_add_zeros(struct number_text *out, int count)
{
    memset(out->at + out->len, '0', (size_t)count);
    out->len += (size_t)count;
}

/* Number::toString of ECMAScript: plain up to 21 places and down to 1e-6, otherwise with an
 * exponent. */
static void shortest_lay_out(const struct shortest *s, struct number_text *out)
{
    enum { PLAIN_PLACES_MAX = 21, PLAIN_ZEROS_MAX = 6 };

    if (s->power > 0 && s->power <= PLAIN_PLACES_MAX) {
        int whole = s->count < s->power ? s->count : s->power;
        text_add(out, s->digits, whole);
        text_add_zeros(out, s->power - whole);
        if (s->count > whole) {
            text_add(out, ".", 1);
            text_add(out, s->digits + whole, s->count - whole);
        }
    } else if (s->power <= 0 && s->power > -PLAIN_ZEROS_MAX) {
        text_add(out, "0.", 2);
        text_add_zeros(out, -s->power);
        text_add(out, s->digits, s->count);
    } else {
        text_add(out, s->digits, 1);
        if (s->count > 1) {
            text_add(out, ".", 1);
            text_add(out, s->digits + 1, s->count - 1);
        }
        int len = snprintf(out->at + out->len, sizeof(out->at) - out->len, "e%+d", s->power - 1);
        out->len += (size_t)len;
    }
}

void number_shortest(double d, struct number_text *out)
{
    struct shortest s;

    /* Integers this small are exact and need no search. */
    if (fabs(d) < 1e15 && d == (double)(int64_t)d && (d != 0 || !signbit(d))) {
        number_from_i64((int64_t)d, out);
        return;
    }
    out->len = 0;
    if (signbit(d))
        text_add(out, "-", 1);
    if (d == 0) {
        text_add(out, "0", 1);
        return;
    }
    shortest_find(&s, fabs(d));
    while (s.count > 1 && s.digits[s.count - 1] == '0')
        s.count--;
    shortest_lay_out(&s, out);
}

/*
 * Kept as they are: numbers that overflow a double or vanish in it, and integers that a double
 * would turn into other integers. Two ids that differ must not have the same digest.
 */
bool number_canonical(struct str text, struct number_text *out)
{
    struct decimal d;

    decimal_read(&d, text);
    if (d.zero) {
        number_from_u64(0, out);
        return true;
    }
    double value = decimal_double(&d);
    if (!isfinite(value) || value == 0)
        return false;
    number_shortest(value, out);
    return number_parts(text).exponent < 0 || number_cmp(text, number_str(out)) == 0;
}
