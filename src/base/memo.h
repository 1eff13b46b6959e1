/*
 * base/memo: what was worked out from some bytes, kept for when the same bytes come again.
 *
 * The same form, the same schema and the same tool come with every call. A memo has a fixed number
 * of places; what comes to a place that is taken replaces what was there, and a pair that is larger
 * than entry_max is not kept at all. So its memory is bounded, and being forgotten is nothing that
 * its user may notice but by the time it takes.
 *
 * Holds always: what is found was kept under exactly these bytes, compared one by one. One
 * thread.
 */
#ifndef NOD_BASE_MEMO_H
#define NOD_BASE_MEMO_H

#include "base/str.h"

enum { MEMO_PLACES = 64 }; /* things that one memo keeps */

struct memo_entry;

struct memo {
    struct memo_entry *places[MEMO_PLACES];
    const struct memo_entry *last; /* found or kept: mostly it is looked for again */
    size_t entry_max;              /* bytes of a key and its value */
};

void memo_init(struct memo *memo, size_t entry_max);
void memo_finish(struct memo *memo);

/* False: not kept, or no longer. The value is NUL-terminated and lives until the next memo_keep. */
bool memo_find(struct memo *memo, struct str key, struct str *value);
/* Copies both. Neither may point into this memo. */
void memo_keep(struct memo *memo, struct str key, struct str value);

enum { MEMO_PARTS_MAX = 4 };

/* The same where the key is of several parts, which need not stand together for that. */
bool memo_find_parts(struct memo *memo, const struct str *parts, size_t count, struct str *value);
void memo_keep_parts(struct memo *memo, const struct str *parts, size_t count, struct str value);

#endif
