/*
 * base/id: names that nobody can guess.
 *
 * 128 random bits from the kernel as 22 characters of base64url. An id is an identifier and, for
 * asks and sessions, hard to guess. It is never the only thing that authorises.
 */
#ifndef NOD_BASE_ID_H
#define NOD_BASE_ID_H

#include <string.h>

#include "base/str.h"

enum { ID_LEN = 22 };

struct id {
    char text[ID_LEN + 1]; /* NUL-terminated */
};

void id_random(struct id *id);

/*
 * An id that no other thread or process makes, and this one never again: 66 random bits of the
 * thread, then a count. For things that must be told apart but are not secret, such as the token of
 * an operation: whoever has seen one can guess the next.
 */
void id_unique(struct id *id);

/* Random bytes from the kernel; ends the process if there are none. */
void random_bytes(void *out, size_t len);

/* The id that this text is; of a longer one, its beginning. */
static inline struct id id_of(struct str text)
{
    struct id id = { 0 };

    if (text.len)
        memcpy(id.text, text.at, text.len < ID_LEN ? text.len : ID_LEN);
    return id;
}

static inline struct str id_str(const struct id *id)
{
    return str_n(id->text, id->text[0] ? ID_LEN : 0);
}

#endif
