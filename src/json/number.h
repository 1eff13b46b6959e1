/*
 * json/number: numbers as text, inside json/ only.
 *
 * Every function takes the text of a valid JSON number, as the parser leaves it.
 */
#ifndef NOD_JSON_NUMBER_H
#define NOD_JSON_NUMBER_H

#include "base/str.h"

/* Room for any double in ECMAScript form: "-1.2345678901234567e-308" and its like. */
enum { NUMBER_TEXT_MAX = 40 };

struct number_text {
    char at[NUMBER_TEXT_MAX];
    size_t len;
};

int number_cmp(struct str a, struct str b);
bool number_i64(struct str text, int64_t *out);
bool number_double(struct str text, double *out);

/* A number as digits x 10^exponent, without leading or trailing zeros; zero has no digits. */
struct number_parts {
    bool negative;
    struct str digits; /* possibly with one point among them */
    size_t count;      /* of them, without the point */
    int64_t exponent;  /* clamped far beyond anything a text can say; not negative: an integer */
};

struct number_parts number_parts(struct str text);

/* The shortest decimal that reads back as `d`, written as ECMAScript does; -0 is "-0". Finite
 * only. */
void number_shortest(double d, struct number_text *out);
void number_from_i64(int64_t n, struct number_text *out);
void number_from_u64(uint64_t n, struct number_text *out);

/*
 * True: *out is the number as RFC 8785 writes it. False: its own text is to be kept, because a
 * double could not tell which number it is (see docs/inside/json.md).
 */
bool number_canonical(struct str text, struct number_text *out);

static inline struct str number_str(const struct number_text *text)
{
    return str_n(text->at, text->len);
}

#endif
