/*
 * store/cursor: where a page of a listing ended.
 *
 * A cursor is a time and a name. Listings are in the order of both, and neither ever changes. So
 * the next page begins right after the last row of this one, whatever came and went in between. As
 * text it is the time in digits, a dot and the name.
 */
#ifndef NOD_STORE_CURSOR_H
#define NOD_STORE_CURSOR_H

#include "base/str.h"

enum { CURSOR_TEXT_MAX = 64 }; /* bytes of a cursor of asks, with its NUL */

struct cursor {
    bool given; /* false: begin at the start */
    int64_t at;
    struct str name; /* points into the text */
};

/* False: no store wrote this text. An empty text is a cursor that is not given. */
bool cursor_read(struct str text, struct cursor *out);
/* The name is cut if it is longer than that of any ask. */
struct str cursor_write(char out[CURSOR_TEXT_MAX], int64_t at, struct str name);

#endif
