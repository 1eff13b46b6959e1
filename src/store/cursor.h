/*
 * store/cursor: where a page of a listing ended.
 *
 * A time and a name behind it: listings are in the order of both, and neither ever changes, so that
 * the next page begins right behind the last row of this one, whatever came and went meanwhile. As
 * text it is the time in digits, a dot and the name.
 */
#ifndef NOD_STORE_CURSOR_H
#define NOD_STORE_CURSOR_H

#include "base/str.h"

enum { CURSOR_TEXT_MAX = 64 }; /* bytes of a cursor of asks, with its end */

struct cursor {
    bool given; /* false: from the beginning */
    int64_t at;
    struct str name; /* points into the text */
};

/* False: no store has said this. An empty text is a cursor that is not given. */
bool cursor_read(struct str text, struct cursor *out);
/* The name is cut if it is longer than that of any ask. */
struct str cursor_write(char out[CURSOR_TEXT_MAX], int64_t at, struct str name);

#endif
