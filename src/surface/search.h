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
    SEARCH_USER_MAX = 16,     /* searches of one user, under way or waiting; past that: 429 */
    SEARCH_TEXT_MAX = 200,    /* bytes of `q` */
};

struct search {
    struct list link; /* in inbox->searches */
    struct list turn; /* in inbox->search_turns, if it waits for its turn */
    struct shown *shown;
    bool running;                       /* false: another one of its user is */
    void (*begin)(struct shown *shown); /* when it is under way */
    void (*fn)(struct shown *shown);    /* what is done in its turn; NULL: it goes on looking */
    size_t len;
    char text[SEARCH_TEXT_MAX];    /* `q` in lower case */
    size_t again[SEARCH_TEXT_MAX]; /* after a mismatch behind byte i, so many bytes still match */
    size_t ask;                    /* which of shown->asks is looked at */
    struct buf args;               /* of its call */
    size_t part, at, same;         /* which of its texts, where in it, and how much matches there */
};

/* Calls begin() when this search is under way, in a turn of its own. NULL: this user has too many.
 * It is the shown's: shown_end ends it. */
struct search *search_begin(struct shown *shown, struct str wanted,
                            void (*begin)(struct shown *shown));
/* Calls fn in the next turn of this search. */
void search_later(struct search *search, void (*fn)(struct shown *shown));
/* Looks at the asks that were added since the last shown_load, drops those that do not have the
 * text, and then does shown_load. */
void search_asks(struct search *search);

#endif
