/*
 * json/shown: a JSON value in a message that a person decides by.
 *
 * A client's form shows a message and no more, so what a tool is about to be given has to be seen
 * in it. If there is too much, each value is cut and not the whole: every member has its name and
 * the beginning of its value, whatever stands before it. Nothing is left out without being counted
 * where it is missing. There are no blanks between the parts, and no escapes but for quotes,
 * backslashes and the ends of lines; what cannot be seen is a mark (json/unseen.h): <U+202E>,
 * <ESC>, and a hundred of them <U+200B×100>.
 */
#ifndef NOD_JSON_SHOWN_H
#define NOD_JSON_SHOWN_H

#include "base/buf.h"
#include "json/value.h"

enum {
    SHOWN_MAX = 4096, /* bytes of a value that are shown; names and counts come on top if cut */
    SHOWN_ROOM = 16 * 1024, /* bytes of what is drawn, marks, names and counts included */
    SHOWN_MEMBERS_MAX = 48, /* members of an object, or items of an array, if not all fit */
    SHOWN_DEPTH_MAX = 8,    /* objects and arrays inside each other, if not all fit */
    SHOWN_NAME_MAX = 64,    /* bytes of a name, if not all fit */
    SHOWN_LEAST = 32,       /* bytes that every value has room for */
    SHOWN_COUNT_MAX = 32,   /* bytes of a number as people write it */
};

/* Draws the value. `lines`: each member on a line of its own. Returns how many bytes of it are not
 * shown. `out` has room for SHOWN_ROOM. */
size_t json_show(struct buf *out, const struct json *v, bool lines);

/* 12345 as 12,345; points into `out`. */
const char *shown_count(char out[SHOWN_COUNT_MAX], size_t n);

#endif
