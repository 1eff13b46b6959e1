/*
 * json/fold: a text as its reader sees it, cut into words.
 *
 * It is for comparing what people read with tables of words, not for display. Invisible characters
 * and accents are removed, full-width and styled letters become plain ones, capitals become small.
 * Words are cut where a reader would cut them: at punctuation, at digits, and inside camelCase. The
 * result is UTF-8 with one space before, between and after the words, so that " word " finds a
 * whole word.
 *
 * Pure functions. The cost is bounded: nothing past FOLD_TEXT_MAX bytes is looked at.
 */
#ifndef NOD_JSON_FOLD_H
#define NOD_JSON_FOLD_H

#include "base/str.h"

enum { FOLD_TEXT_MAX = 2048 }; /* bytes of a name, title, description or message that are read */

enum fold_how {
    FOLD_PLAIN,  /* letters of every script stay what they are */
    FOLD_LATIN,  /* letters that look like Latin ones (Cyrillic, Greek) become those */
    FOLD_DIGITS, /* as FOLD_LATIN, and so do digits and signs that stand for letters: p4ssw0rd */
};

struct folded {
    size_t len;
    char text[FOLD_TEXT_MAX * 2 + 2];
};

void fold(struct folded *out, struct str text, enum fold_how how);
struct str folded_str(const struct folded *folded);

/* The same without spaces: for scripts that are written without them, or with too many. */
void fold_dense(struct folded *out, const struct folded *in);

#endif
