/* base/similar: the distance of Damerau and Levenshtein, with two rows and the one before. */
#include "base/similar.h"

enum { OFF_MOST = 2 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(struct str a, struct str b)
{
    size_t rows[3][SIMILAR_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];

    for (size_t j = 0; j <= b.len; j++)
        last[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            row[j] =
                least(least(last[j], row[j - 1]) + 1, last[j - 1] + (a.at[i - 1] != b.at[j - 1]));
            if (i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] && a.at[i - 2] == b.at[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[b.len];
}

void similar_try(struct similar *similar, const char *name)
{
    struct str other = str_of(name);

    if (similar->to.len > SIMILAR_MAX || other.len > SIMILAR_MAX)
        return;
    size_t off = distance(similar->to, other);
    if (off > OFF_MOST || 2 * off >= similar->to.len || (similar->meant && off >= similar->off))
        return;
    similar->meant = name;
    similar->off = off;
}
