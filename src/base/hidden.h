/*
 * base/hidden: memory for a value that nobody else may see, such as a password.
 *
 * It has pages of its own, which are in no core dump and are not swapped out, where the system can
 * do that (base/os.h). It is wiped before it is given back, whatever it holds.
 *
 * Holds always: after the bytes there is a NUL, which `len` does not count.
 */
#ifndef NOD_BASE_HIDDEN_H
#define NOD_BASE_HIDDEN_H

#include "base/str.h"

enum { HIDDEN_MAX = 64 << 10 }; /* bytes of one hidden value */

struct hidden {
    char *at; /* NULL: nothing */
    size_t len;
    size_t size; /* of the pages */
};

/* Room for `len` bytes, all zero. False: more than HIDDEN_MAX, or no memory; *hidden is nothing. */
bool hidden_make(struct hidden *hidden, size_t len);
/* The same, filled with these bytes. */
bool hidden_copy(struct hidden *hidden, struct str bytes);
/* Wipes it and gives it back. Nothing is fine. */
void hidden_wipe(struct hidden *hidden);

static inline struct str hidden_str(const struct hidden *hidden)
{
    return str_n(hidden->at, hidden->len);
}

#endif
