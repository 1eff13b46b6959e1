/*
 * crypto/base64_wide: the middle of a base64url text, sixteen characters at a time.
 *
 * Where the processor has no such instructions nothing is done, and the caller does all of it.
 */
#ifndef NOD_CRYPTO_BASE64_WIDE_H
#define NOD_CRYPTO_BASE64_WIDE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Encodes some of the bytes; how many, a multiple of 12. Each group is read before it is written:
 * `in` may be the end of the room at `out`.
 */
size_t base64_wide_encode(const uint8_t *in, size_t len, char *out);

/* Decodes some of the characters; how many, a multiple of 16, all of them digits. Nothing is
 * written past what the whole text decodes to. */
size_t base64_wide_decode(const uint8_t *in, size_t len, uint8_t *out);

#endif
