/*
 * crypto/signing: messages that a receiver can tell from forged ones (Standard Webhooks).
 *
 * A message has an id, a time and a body. Its signature is "v1," and the base64 form of
 * HMAC-SHA256 over "id.time.body", under a secret that both sides have, written "whsec_" and its
 * bytes in base64. While a secret is replaced there are two, and a signature by each.
 */
#ifndef NOD_CRYPTO_SIGNING_H
#define NOD_CRYPTO_SIGNING_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
    SIGNING_KEY_MIN = 24,      /* bytes of a secret, at least */
    SIGNING_KEY_MAX = 64,      /* at most */
    SIGNING_KEYS_MAX = 4,      /* secrets at the same time */
    SIGNING_SIGNATURE_LEN = 47 /* "v1," and 32 bytes in base64 */
};

struct signing_key {
    uint8_t bytes[SIGNING_KEY_MAX];
    size_t len;
};

struct signing_keys {
    struct signing_key keys[SIGNING_KEYS_MAX];
    size_t count;
};

/* Reads secrets, with blanks or ends of lines between them. False: *why says what is wrong, without
 * showing any. */
bool signing_keys_read(struct signing_keys *keys, struct str text, const char **why);
void signing_keys_forget(struct signing_keys *keys);

/* The signatures by all keys, a blank between them, with a NUL; `out` has room for
 * SIGNING_SIGNATURES_MAX bytes. */
enum { SIGNING_SIGNATURES_MAX = SIGNING_KEYS_MAX * (SIGNING_SIGNATURE_LEN + 1) };
struct str signing_sign(const struct signing_keys *keys, struct str id, int64_t time_s,
                        struct str body, char out[SIGNING_SIGNATURES_MAX]);

#endif
