/*
 * base/similar: a word that was mistyped, and the one that was meant.
 *
 * Of the names that are tried, the one with the fewest characters to be inserted, removed,
 * exchanged or swapped with their neighbour. If more than two are needed, or as many as half of the
 * word has, nothing was meant.
 */
#ifndef NOD_BASE_SIMILAR_H
#define NOD_BASE_SIMILAR_H

#include "base/str.h"

enum {
    SIMILAR_MAX = 64,   /* bytes of a word; longer ones are similar to nothing */
    SIMILAR_TEXT = 128, /* bytes of a message */
};

struct similar {
    struct str to;
    const char *meant; /* NULL: none so far */
    size_t off;
};

/* Tries one more name, which has to outlive the struct. */
void similar_try(struct similar *similar, const char *name);

#endif
