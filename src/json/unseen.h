/*
 * json/unseen: characters that cannot be seen, or that move others.
 *
 * Text from outside is shown to people who decide by it. A character that is not drawn, that moves
 * the cursor, or that turns the direction of what follows can make it say something else than what
 * is there. Whoever shows such text draws these as marks: the terminal, the messages that clients
 * show, the page as the server draws it, and its scripts, which have the same table (web/dom.js; a
 * test compares them).
 */
#ifndef NOD_JSON_UNSEEN_H
#define NOD_JSON_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>

bool unseen(uint32_t code);

/* The space that is as wide as a Chinese character (U+3000) is how Chinese, Japanese and Korean are
 * written: one behind such a character is seen. Is this another one? */
bool unseen_blank(uint32_t before, uint32_t code);

/* Where somebody is who goes through a text, character by character; zero at its beginning. */
struct unseen_place {
    unsigned picture; /* 2: right behind one; 1: behind what chooses how it is drawn */
    uint32_t before;  /* the last character */
    unsigned pile;    /* so many accents are on the last character */
};
/* Is this next character drawn as a mark here? Also if it is one accent too many (json/piles.h). */
bool unseen_here(struct unseen_place *place, uint32_t code);
/* What a control character is called: "ESC"; NULL: it has only its number. */
const char *unseen_name(uint32_t code);

#endif
