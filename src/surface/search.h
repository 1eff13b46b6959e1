/*
 * surface/search: the text `q` of a list. See search.c.
 */
#ifndef NOD_SURFACE_SEARCH_H
#define NOD_SURFACE_SEARCH_H

#include "base/buf.h"
#include "surface/inbox_inside.h"

enum {
    SEARCH_SLICE = 256 << 10, /* bytes that all searches look through before I/O is served */
    SEARCH_STEP = 4 << 10,    /* bytes that anything counts for: an ask, a page of the store */
    SEARCH_TEXT_MAX = 200,    /* bytes of `q` */
};

struct search {
    struct list turn; /* in inbox->search_turns, if it waits for its turn */
    struct shown *shown;
    void (*fn)(struct shown *shown); /* what is done in its turn; NULL: it goes on looking */
    size_t len;
    char text[SEARCH_TEXT_MAX];    /* `q` in lower case */
    size_t again[SEARCH_TEXT_MAX]; /* after a mismatch behind byte i, so many bytes still match */
    size_t ask;                    /* which of shown->asks is looked at */
    struct buf args;               /* of its call */
    size_t part, at, same;         /* which of its texts, where in it, and how much matches there */
};

/* It is the shown's: shown_end ends it. */
struct search *search_create(struct shown *shown, struct str wanted);
/* Calls fn in the next turn of this search; NULL: it goes on looking. */
void search_later(struct search *search, void (*fn)(struct shown *shown));
/* Looks at the asks that were added since the last shown_load, drops those that do not have the
 * text, and then does shown_load. */
void search_asks(struct search *search);

#endif
