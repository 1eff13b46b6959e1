/*
 * base/percent: texts of addresses, in which a byte may be written as %XX.
 */
#ifndef NOD_BASE_PERCENT_H
#define NOD_BASE_PERCENT_H

#include "base/str.h"

/* `out` has `room` bytes, for a NUL after the text as well, and may be the text itself. False: it
 * does not fit, is badly encoded, or contains a NUL. */
bool percent_decode(struct str text, char *out, size_t room, size_t *len);

#endif
