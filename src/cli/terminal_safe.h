/*
 * cli/terminal_safe: text from outside, on a terminal.
 *
 * Messages, arguments, titles and names come from tools, clients and models, and may hold anything.
 * Here they become text that stays where it is put: a character that is not seen, that moves the
 * cursor, or that turns the direction of what follows is drawn as its number, <U+001B>. So are
 * accents beyond a few on one character, which would cover the lines around it. Whatever `nod
 * inbox` draws from outside goes through this file.
 *
 * If the locale is not UTF-8, every character outside of ASCII is drawn by its number: such a
 * terminal could take a byte of it for a control character.
 */
#ifndef NOD_CLI_TERMINAL_SAFE_H
#define NOD_CLI_TERMINAL_SAFE_H

#include <stdio.h>

#include "base/str.h"

/* Looks at the locale. Call it once, before anything is drawn. */
void safe_setup(void);

/* On one line, line ends as marks too; at most so many columns (0: all of it), then "...". Returns
 * how many columns it has taken. */
size_t safe_text(FILE *out, struct str text, size_t columns);
/* The same, and spaces up to the column. */
void safe_cell(FILE *out, struct str text, size_t columns);
/* On as many lines as it has, each after `margin`, so that no line of it looks like one of ours. */
void safe_block(FILE *out, struct str text, const char *margin);
/* JSON that says the same: what would be a mark in a text is \uXXXX in a string. */
void safe_json(FILE *out, struct str json);

#endif
