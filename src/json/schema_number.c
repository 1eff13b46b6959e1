/*
 * json/schema_number: exact arithmetic on numbers as they are written, and hashes of values.
 *
 * A JSON number is digits times a power of ten (json/number). On that form it can be decided
 * without rounding whether it is a multiple of another. The digits of the dividend have no trailing
 * zero. So a dividend with a smaller exponent than its divisor cannot be a multiple of it;
 * otherwise the question is one remainder modulo the digits of the divisor.
 *
 * Hashes are for uniqueItems: equal values (1 and 1.0, members in another order) have the same
 * hash. They build on the keyed hash of base/map, so that nobody outside can choose collisions.
 */
#include "json/number.h"
#include "json/schema_inside.h"

__extension__ typedef unsigned __int128 wide;

static uint64_t times_mod(uint64_t a, uint64_t b, uint64_t modulus)
{
    return (uint64_t)((wide)a * b % modulus);
}

static uint64_t ten_to_mod(uint64_t power, uint64_t modulus)
{
    uint64_t result = 1 % modulus;
    uint64_t base = 10 % modulus;

    for (; power; power >>= 1) {
        if (power & 1)
            result = times_mod(result, base, modulus);
        base = times_mod(base, base, modulus);
    }
    return result;
}

bool multiple_of_text(struct str number, struct multiple *out)
{
    struct number_parts d = number_parts(number);

    *out = (struct multiple){ .exponent = d.exponent };
    if (d.count > MULTIPLE_DIGITS_MOST)
        return false;
    for (size_t i = 0; i < d.digits.len; i++)
        if (d.digits.at[i] != '.')
            out->digits = out->digits * 10 + (uint64_t)(d.digits.at[i] - '0');
    return out->digits > 0 && !d.negative;
}

bool multiple_divides(const struct multiple *m, struct str number)
{
    struct number_parts d = number_parts(number);

    if (d.count == 0)
        return true;
    if (d.exponent < m->exponent)
        return false;
    uint64_t rest = 0;
    for (size_t i = 0; i < d.digits.len; i++)
        if (d.digits.at[i] != '.')
            rest = (uint64_t)(((wide)rest * 10 + (uint64_t)(d.digits.at[i] - '0')) % m->digits);
    uint64_t power = (uint64_t)(d.exponent - m->exponent);
    return times_mod(rest, ten_to_mod(power, m->digits), m->digits) == 0;
}

/* --- hashes --- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t words[2] = { a, b };

    return map_hash(str_n((const char *)words, sizeof(words)));
}

/* The place of the point is part of the exponent, so digits are hashed without it. */
static uint64_t number_hash(struct str text)
{
    struct number_parts d = number_parts(text);
    ptrdiff_t point = str_find(d.digits, STR("."));
    uint64_t hash = mix(JSON_NUMBER, d.negative);
    uint64_t part = 0;
    size_t in_part = 0;

    if (d.count == 0)
        return mix(JSON_NUMBER, 2);
    for (size_t i = 0; i < d.digits.len; i++) {
        if ((ptrdiff_t)i == point)
            continue;
        part = part * 10 + (uint64_t)(d.digits.at[i] - '0');
        if (++in_part == MULTIPLE_DIGITS_MOST) {
            hash = mix(hash, part);
            part = in_part = 0;
        }
    }
    return mix(mix(hash, part), (uint64_t)d.exponent);
}

uint64_t value_hash(const struct json *v, uint64_t *cost)
{
    uint64_t hash = mix(v->type, v->type == JSON_BOOL && v->truth);

    *cost += 1;
    switch ((enum json_type)v->type) {
    case JSON_NULL:
    case JSON_BOOL:
        break;
    case JSON_NUMBER:
        *cost += v->text.len / 16;
        return number_hash(v->text);
    case JSON_STRING:
        *cost += v->text.len / 64;
        return mix(hash, map_hash(v->text));
    case JSON_ARRAY:
        JSON_EACH (item, v)
            hash = mix(hash, value_hash(item, cost));
        break;
    case JSON_OBJECT: {
        uint64_t members = 0; /* a sum, because their order does not matter */
        JSON_EACH (member, v)
            members += mix(map_hash(member->key), value_hash(member, cost));
        return mix(hash, members);
    }
    }
    return hash;
}
