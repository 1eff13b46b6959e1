/*
 * base/id: names nobody can guess.
 *
 * 128 random bits as 22 characters of base64url. An id is an identifier and,
 * for asks and sessions, hard to guess; it is never the only thing that authorises.
 */
#ifndef NOD_BASE_ID_H
#define NOD_BASE_ID_H

#include "base/str.h"

enum { ID_LEN = 22 };

struct id {
    char text[ID_LEN + 1]; /* NUL-terminated */
};

void id_random(struct id *id);

/*
 * An id that no other thread or process makes, and this one never again: 66 random bits of the
 * thread, then a count. For what has to be told apart and is no secret, as the token of an
 * operation is: who has seen one can guess the next.
 */
void id_unique(struct id *id);

/* Random bytes; ends the process if there are none. More than 16 come from the kernel itself. */
void random_bytes(void *out, size_t len);

/*
 * Who fills the pool that ids and short pieces are taken from; the kernel, if nobody is named or
 * the one who is says false. A source is a generator fit for keys that the kernel has seeded. It
 * may be called by any thread, and gives a forked child other bytes than its parent.
 */
typedef bool random_fill_fn(void *out, size_t len);
void random_source(random_fill_fn *fill);

static inline struct str id_str(const struct id *id)
{
    return str_n(id->text, id->text[0] ? ID_LEN : 0);
}

#endif
