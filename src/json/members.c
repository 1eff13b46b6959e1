/*
 * json/members: sorts members by name.
 *
 * A merge sort from the bottom up: stable, and n log n whatever the names are. An object that is in
 * order already, as most are the second time, is recognised in one pass.
 *
 * It does not decide what two members of one name mean.
 */
#include "json/members.h"

#include "base/mem.h"

/*
 * The order of RFC 8785: by UTF-16 code units. UTF-8 sorts by code point. UTF-16 differs in one
 * place: code points from 10000, written with surrogates (D800 to DFFF), come before E000 to FFFF.
 * In UTF-8 the former begin with F0 to F4, the latter with EE and EF, and no other byte of a
 * sequence has such a value.
 */
static int members_order(struct str a, struct str b)
{
    size_t both = a.len < b.len ? a.len : b.len;
    size_t i = 0;

    while (i < both && a.at[i] == b.at[i])
        i++;
    if (i == both)
        return (a.len > b.len) - (a.len < b.len);

    unsigned char x = (unsigned char)a.at[i];
    unsigned char y = (unsigned char)b.at[i];
    if (x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0))
        return x >= 0xF0 ? -1 : 1;
    return x < y ? -1 : 1;
}

static bool in_order(const struct json **list, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (members_order(list[i - 1]->key, list[i]->key) > 0)
            return false;
    return true;
}

/* Merges the sorted runs [from, middle) and [middle, to) into `out`. */
static void merge(const struct json **list, size_t from, size_t middle, size_t to,
                  const struct json **out)
{
    size_t left = from;
    size_t right = middle;

    for (size_t i = from; i < to; i++) {
        bool take_left =
            left < middle && (right == to || members_order(list[left]->key, list[right]->key) <= 0);
        out[i] = take_left ? list[left++] : list[right++];
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static const struct json **merge_sort(const struct json **list, size_t count)
{
    const struct json **other = mem_alloc(count * sizeof(*other));

    for (size_t run = 1; run < count; run *= 2) {
        for (size_t from = 0; from < count; from += 2 * run)
            merge(list, from, least(from + run, count), least(from + 2 * run, count), other);
        const struct json **sorted = other;
        other = list;
        list = sorted;
    }
    mem_free(other);
    return list;
}

const struct json **members_sorted(const struct json *object)
{
    size_t count = object->count;
    size_t i = 0;

    if (count == 0)
        return NULL;
    const struct json **list = mem_alloc(count * sizeof(*list));
    JSON_EACH (member, object)
        list[i++] = member;
    return in_order(list, count) ? list : merge_sort(list, count);
}
