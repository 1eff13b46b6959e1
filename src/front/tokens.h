/*
 * front/tokens: bearer tokens, and whose they are.
 *
 * A file of lines: `token name role...`, separated by blanks; `#` begins a comment. A token is at
 * least TOKENS_SECRET_MIN characters, appears once, and makes its bearer the principal `name` with
 * the roles that follow (core/roles.h); without any it has the role `ask`. Only digests are kept in
 * memory, and a token is looked up by its digest.
 */
#ifndef NOD_FRONT_TOKENS_H
#define NOD_FRONT_TOKENS_H

#include <nod/nod.h>

#include "base/arena.h"
#include "core/roles.h"

enum {
    TOKENS_MAX = 10000,        /* tokens in a token file */
    TOKENS_SECRET_MIN = 16,    /* bytes of a token, at least */
    TOKENS_SECRET_MAX = 512,   /* bytes of a token, at most */
    TOKENS_NAME_MAX = 128,     /* bytes of the name of a token's owner */
    TOKENS_FILE_MAX = 4 << 20, /* bytes of a token file */
};

struct tokens;

/* Who is asking or answering, as we have verified it. */
struct principal {
    struct str name;
    role_set roles;
};

/* NULL with *problem (in `arena`), which names the line and what to do. `from` is the file's name,
 * for messages. */
struct tokens *tokens_parse(struct str text, struct str from, struct arena *arena,
                            struct str *problem);
/* Reads a file. One that others may read is warned of in the log. */
struct tokens *tokens_load(const char *path, struct arena *arena, struct str *problem);
/*
 * Reads the file again. False with *problem: it cannot be used, and nothing has changed. Principals
 * that tokens_find has given out stay where they are until the tokens are destroyed, also those
 * whose tokens are not in the file any more.
 */
bool tokens_reload(struct tokens *tokens, const char *path, struct arena *arena,
                   struct str *problem);
void tokens_destroy(struct tokens *tokens);

size_t tokens_count(const struct tokens *tokens);
/* Whose token it is, or NULL. */
const struct principal *tokens_find(const struct tokens *tokens, struct str token);

#endif
