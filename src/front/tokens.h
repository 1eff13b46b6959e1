/*
 * front/tokens: bearer tokens, and their principals.
 *
 * The file has lines `token name role...`, separated by blanks; `#` begins a comment. A token has
 * at least TOKENS_SECRET_MIN characters and occurs once. It makes its bearer the principal `name`,
 * with the roles that follow (core/roles.h); without any it has the role `ask`. Only digests of
 * tokens are kept in memory.
 */
#ifndef NOD_FRONT_TOKENS_H
#define NOD_FRONT_TOKENS_H

#include <nod/nod.h>

#include "base/arena.h"
#include "core/roles.h"
#include "crypto/digest.h"

enum {
    TOKENS_MAX = 10000,        /* tokens in a token file */
    TOKENS_SECRET_MIN = 16,    /* bytes of a token, at least */
    TOKENS_SECRET_MAX = 512,   /* bytes of a token, at most */
    TOKENS_NAME_MAX = 128,     /* bytes of the name of a token's owner */
    TOKENS_FILE_MAX = 4 << 20, /* bytes of a token file */
};

struct tokens;

/* Who asks or answers, as verified. */
struct principal {
    struct str name;
    role_set roles;
    /* In which share what it holds of the server counts (net/http_share). What may only ask counts
     * apart from its person, who has other roles: no agent keeps its person from answering. */
    struct str share;
};

/* NULL, and *problem (in `arena`) names the line and says what to do. `from` is the file's name. */
struct tokens *tokens_parse(struct str text, struct str from, struct arena *arena,
                            struct str *problem);
/* Reads a file. If others may read the file, the log warns of that. */
struct tokens *tokens_load(const char *path, struct arena *arena, struct str *problem);
/*
 * Reads the file again. False with *problem: it cannot be used, and nothing has changed. Principals
 * that tokens_find has returned are valid until the tokens are destroyed, even if their tokens are
 * no longer in the file.
 */
bool tokens_reload(struct tokens *tokens, const char *path, struct arena *arena,
                   struct str *problem);
void tokens_destroy(struct tokens *tokens);

size_t tokens_count(const struct tokens *tokens);
/* All roles that the tokens of this name have in the file, together; none without such a token. */
role_set tokens_roles_of(const struct tokens *tokens, struct str name);
/* The principal of a token, or NULL. */
const struct principal *tokens_find(const struct tokens *tokens, struct str token);
/* The same by the SHA-256 of the token; NULL without tokens. */
const struct principal *tokens_find_digest(const struct tokens *tokens,
                                           const struct digest *digest);

#endif
