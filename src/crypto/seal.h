/*
 * crypto/seal: bytes that others keep for us, and that must come back unread and unchanged.
 *
 * AES-256-GCM. The key is HKDF-SHA256 of a secret for a purpose ("requestState", "record") and a
 * scope, so what was sealed for one cannot be opened for another. The associated data (principal,
 * method, record id, ...) is given in parts, and every part is bound with its length: what was
 * sealed with ("ab", "c") does not open with ("a", "bc").
 *
 * A keyring holds one to KEYRING_SECRETS_MAX secrets, the newest first. The newest seals; all of
 * them open. Sealed bytes name their secret by a key id. So to rotate, put the new secret in front,
 * wait until everything sealed with the old one has expired or was sealed anew, and take the old
 * one out.
 *
 * Version 1 of the form is: 0x01, key id (4), nonce (12), ciphertext, tag (16); as text in
 * base64url.
 *
 * Opening returns the same error, NOD_E_REFUSED, whatever is wrong, so that nobody learns from it.
 *
 * A nonce is 96 random bits, so one key should seal at most 2^32 things. Rotate the secret, or use
 * a narrower scope, before that.
 *
 * Threads: a keyring has a cache and belongs to one thread at a time. Another thread takes a copy
 * (keyring_copy). Secrets are not kept; derived keys are wiped when they leave the cache.
 */
#ifndef NOD_CRYPTO_SEAL_H
#define NOD_CRYPTO_SEAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/hidden.h"
#include <nod/nod.h>

enum {
    KEYRING_SECRET_MIN = 32,   /* characters of a secret */
    KEYRING_SECRET_MAX = 4096, /* bytes of a secret */
    KEYRING_SECRETS_MAX = 8,   /* secrets: the newest and the previous ones */
    KEYRING_CACHE_MAX = 256,   /* purposes and scopes whose keys are kept ready */
    SEAL_OVERHEAD = 1 + 4 + 12 + 16,
    SEAL_PLAIN_MAX = 16 << 20, /* bytes that can be sealed at once */
    SEAL_BOUND_MAX = 16,       /* parts of associated data */
    SEAL_PART_MAX = 1 << 20,   /* bytes of one part */
    SEAL_NAME_MAX = 4096,      /* bytes of a purpose and of a scope */
    SEAL_KEY_TEXT = 9,         /* bytes of a key id in hex, with its NUL */
};

struct keyring;

/*
 * NOD_E_USAGE: no secret, too many, or one that is too short or too long. *why says which and what
 * to do, and never contains a secret.
 */
nod_status keyring_create(const struct str *secrets, size_t count, struct keyring **out,
                          const char **why);
/* Of a secret that nobody has, and that dies with this process: nobody else opens what it seals. */
struct keyring *keyring_random(void);
struct keyring *keyring_copy(const struct keyring *ring);
void keyring_destroy(struct keyring *ring); /* NULL is fine */

/* What sealed bytes are for. It must be the same when they are opened. */
struct seal_for {
    struct str purpose;
    struct str scope;
    const struct str *bound; /* associated data, in parts */
    size_t bound_count;
};

/* Appends the sealed form to `out`. NOD_E_LIMIT, and nothing is appended: a limit above, or the
 * buffer's. */
nod_status seal_bytes(struct keyring *ring, const struct seal_for *what, struct str plain,
                      struct buf *out);
nod_status seal_text(struct keyring *ring, const struct seal_for *what, struct str plain,
                     struct buf *out);

/* NOD_OK with the plain bytes in the arena, or NOD_E_REFUSED with *plain empty. */
nod_status seal_open_bytes(struct keyring *ring, const struct seal_for *what, struct str sealed,
                           struct arena *arena, struct str *plain);
nod_status seal_open_text(struct keyring *ring, const struct seal_for *what, struct str text,
                          struct arena *arena, struct str *plain);

/* The same into hidden memory. */
nod_status seal_open_hidden(struct keyring *ring, const struct seal_for *what, struct str sealed,
                            struct hidden *plain);

/* Does it name the newest secret? That does not mean that it opens. */
bool seal_is_newest(const struct keyring *ring, struct str sealed);

/*
 * Key ids, in hex, for messages: they tell secrets apart and reveal nothing of them. seal_key is
 * the id of the secret that sealed these bytes (false: they are not sealed). keyring_key is the id
 * of a secret of the ring, the newest at 0 (false: it has not so many).
 */
bool seal_key(struct str sealed, char id[SEAL_KEY_TEXT]);
bool seal_text_key(struct str text, char id[SEAL_KEY_TEXT]); /* the same of a text */
bool keyring_key(const struct keyring *ring, size_t at, char id[SEAL_KEY_TEXT]);
/* Does the ring, which may be NULL, have a secret of that id? */
bool keyring_has(const struct keyring *ring, const char *id);

/* RFC 5869 with SHA-256. False only for more than 255 * 32 bytes. */
bool hkdf_sha256(struct str secret, struct str salt, struct str info, uint8_t *out, size_t len);

#endif
