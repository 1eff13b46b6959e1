/*
 * crypto/digest: SHA-256, and bytes as text.
 *
 * Decoders are strict: a run of bytes has exactly one text, and everything else is refused.
 * Everything here may be called from any thread.
 */
#ifndef NOD_CRYPTO_DIGEST_H
#define NOD_CRYPTO_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

enum {
    DIGEST_LEN = 32,
    DIGEST_HEX_LEN = 64,
};

struct digest {
    uint8_t bytes[DIGEST_LEN];
};

void digest_of(struct str bytes, struct digest *out);
/* Over several parts, each with its length, so that ("ab", "c") and ("a", "bc") differ. */
void digest_of_parts(const struct str *parts, size_t count, struct digest *out);
/* The bytes over which digest_of_parts takes the digest, in `out`. Empty: they are more than
 * `room`. */
struct str digest_gather(const struct str *parts, size_t count, char *out, size_t room);

static inline struct str digest_str(const struct digest *digest)
{
    return str_n((const char *)digest->bytes, DIGEST_LEN);
}

/* In constant time. */
bool digest_eq(const struct digest *a, const struct digest *b);
/* Lower case, with a NUL at the end. */
void digest_hex(const struct digest *digest, char out[DIGEST_HEX_LEN + 1]);

/*
 * For anything secret: the time taken tells nothing about the bytes, nor about where they differ.
 * It does tell whether the lengths are equal.
 */
bool secret_eq(struct str a, struct str b);

/* Lower case, 2 * bytes.len characters, no NUL. */
void hex_encode(struct str bytes, char *out);
/* Exactly `len` bytes; either case is accepted. */
bool hex_decode(struct str text, uint8_t *out, size_t len);

/* RFC 4648 section 5, without padding. */
static inline size_t base64url_len(size_t bytes)
{
    return bytes / 3 * 4 + (bytes % 3 ? bytes % 3 + 1 : 0);
}

/* base64url_len(bytes.len) characters, no NUL. */
void base64url_encode(struct str bytes, char *out);
/* False: a character is out of place (padding and white space too), bits after the end are not
 * zero, or there are more than `room` bytes. */
bool base64url_decode(struct str text, uint8_t *out, size_t room, size_t *len);

/* Into an arena. {NULL, 0}: it is full, or the text is not base64url. */
struct str base64url_text(struct arena *arena, struct str bytes);
struct str base64url_bytes(struct arena *arena, struct str text);

#endif
