/*
 * json/unseen: characters that cannot be seen, or that move others.
 *
 * Text from outside is shown to people who decide by it. A character that is not drawn, that moves
 * the cursor, or that turns the direction of what follows can make it say something else than what
 * is there. Whoever shows such text draws these as marks: the terminal, the page as the server
 * draws it, and its scripts, which have the same table (web/dom.js; a test compares them).
 */
#ifndef NOD_JSON_UNSEEN_H
#define NOD_JSON_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>

bool unseen(uint32_t code);
/* Joins two pictures to one, or chooses how one is drawn: right behind a picture it is a part of
 * it, anywhere else it is unseen. */
bool unseen_joins(uint32_t code);

#endif
