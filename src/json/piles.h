/*
 * json/piles: characters that are drawn onto the one before them: accents, vowels, dots.
 *
 * A few on one character are writing. Hundreds cover the lines around it. Whoever shows text from
 * outside leaves PILES_MAX of them, and draws the others as marks (json/unseen.h).
 */
#ifndef NOD_JSON_PILES_H
#define NOD_JSON_PILES_H

#include <stdbool.h>
#include <stdint.h>

enum { PILES_MAX = 4 }; /* accents and the like on one character; further ones are marks */

bool piles(uint32_t code);

#endif
