/*
 * crypto/digest: SHA-256 through OpenSSL, and the two text forms of bytes.
 *
 * Fetching an algorithm from OpenSSL's providers costs more than hashing a short text, so it is
 * fetched once. If SHA-256 itself fails, the installation is broken and the process ends: there is
 * no digest to return instead, and a wrong one would be trusted.
 */
#include "crypto/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/byte_order.h"

enum {
    PART_HEAD = 8,             /* bytes of a part's length before it */
    PARTS_TOGETHER_MAX = 2048, /* bytes that are hashed in one piece */
};

static EVP_MD *sha256;

static void must(bool worked)
{
    if (!worked) {
        fprintf(stderr, "nod: OpenSSL gives no SHA-256; check its installation and openssl.cnf\n");
        abort();
    }
}

static void fetch(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    must(sha256 != NULL);
}

static const EVP_MD *md(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fetch);
    return sha256;
}

static pthread_key_t ctx_key;

static void ctx_free(void *ctx)
{
    EVP_MD_CTX_free(ctx);
}

static void ctx_key_make(void)
{
    must(pthread_key_create(&ctx_key, ctx_free) == 0);
}

/* One for each thread, freed when it ends: making one costs more than hashing a short text. */
static EVP_MD_CTX *thread_ctx(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Thread_local EVP_MD_CTX *ctx;

    if (ctx)
        return ctx;
    pthread_once(&once, ctx_key_make);
    ctx = EVP_MD_CTX_new();
    must(ctx && pthread_setspecific(ctx_key, ctx) == 0);
    return ctx;
}

void digest_of(struct str bytes, struct digest *out)
{
    EVP_MD_CTX *ctx = thread_ctx();

    must(EVP_DigestInit_ex2(ctx, md(), NULL) == 1 &&
         (bytes.len == 0 || EVP_DigestUpdate(ctx, bytes.at, bytes.len) == 1) &&
         EVP_DigestFinal_ex(ctx, out->bytes, NULL) == 1);
}

static void put_length(uint8_t out[PART_HEAD], size_t len)
{
    uint64_t most_first = order_be64(len);

    memcpy(out, &most_first, sizeof(most_first));
}

struct str digest_gather(const struct str *parts, size_t count, char *out, size_t room)
{
    size_t len = 0;

    for (size_t i = 0; i < count; i++) {
        if (parts[i].len > room || room - parts[i].len < len + PART_HEAD)
            return STR_NONE;
        put_length((uint8_t *)out + len, parts[i].len);
        len += PART_HEAD;
        if (parts[i].len)
            memcpy(out + len, parts[i].at, parts[i].len);
        len += parts[i].len;
    }
    return str_n(out, len);
}

/* Each step of OpenSSL costs as much as some hundred bytes, so short parts are gathered. */
void digest_of_parts(const struct str *parts, size_t count, struct digest *out)
{
    char bytes[PARTS_TOGETHER_MAX];
    struct str whole = digest_gather(parts, count, bytes, sizeof(bytes));

    if (whole.at) {
        digest_of(whole, out);
    } else {
        EVP_MD_CTX *ctx = EVP_MD_CTX_new();
        uint8_t head[PART_HEAD];
        must(ctx && EVP_DigestInit_ex2(ctx, md(), NULL) == 1);
        for (size_t i = 0; i < count; i++) {
            put_length(head, parts[i].len);
            must(EVP_DigestUpdate(ctx, head, sizeof(head)) == 1);
            if (parts[i].len)
                must(EVP_DigestUpdate(ctx, parts[i].at, parts[i].len) == 1);
        }
        must(EVP_DigestFinal_ex(ctx, out->bytes, NULL) == 1);
        EVP_MD_CTX_free(ctx);
    }
}

bool digest_eq(const struct digest *a, const struct digest *b)
{
    return CRYPTO_memcmp(a->bytes, b->bytes, DIGEST_LEN) == 0;
}

void digest_hex(const struct digest *digest, char out[DIGEST_HEX_LEN + 1])
{
    hex_encode(digest_str(digest), out);
    out[DIGEST_HEX_LEN] = '\0';
}

bool secret_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || CRYPTO_memcmp(a.at, b.at, a.len) == 0);
}

/* --- text --- */

void hex_encode(struct str bytes, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < bytes.len; i++) {
        *out++ = digits[(unsigned char)bytes.at[i] >> 4];
        *out++ = digits[(unsigned char)bytes.at[i] & 15];
    }
}

bool hex_decode(struct str text, uint8_t *out, size_t len)
{
    if (text.len % 2 != 0 || text.len / 2 != len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = hex_digit(text.at[2 * i]);
        int low = hex_digit(text.at[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static const char base64_digits[64] = { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789-_" };

/* Reads each group before it writes it: seal_text relies on that to encode in place. */
void base64url_encode(struct str bytes, char *out)
{
    const unsigned char *in = (const unsigned char *)bytes.at;
    size_t left = bytes.len;
    uint32_t bits;

    for (; left >= 3; left -= 3, in += 3, out += 4) {
        bits = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
        out[0] = base64_digits[bits >> 18];
        out[1] = base64_digits[bits >> 12 & 63];
        out[2] = base64_digits[bits >> 6 & 63];
        out[3] = base64_digits[bits & 63];
    }
    if (left == 0)
        return;
    bits = (uint32_t)in[0] << 16 | (left == 2 ? (uint32_t)in[1] << 8 : 0);
    out[0] = base64_digits[bits >> 18];
    out[1] = base64_digits[bits >> 12 & 63];
    if (left == 2)
        out[2] = base64_digits[bits >> 6 & 63];
}

/* One more than the digit's value, so that 0 means: not a digit. */
static const uint8_t base64_values[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['-'] = 63, ['_'] = 64,
};

/* The 6 * count bits of up to four digits; false if one is not a digit. */
static bool group(const unsigned char *in, size_t count, uint32_t *bits)
{
    *bits = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t value = base64_values[in[i]];
        if (value == 0)
            return false;
        *bits = *bits << 6 | (value - 1);
    }
    return true;
}

bool base64url_decode(struct str text, uint8_t *out, size_t room, size_t *len)
{
    const unsigned char *in = (const unsigned char *)text.at;
    size_t rest = text.len % 4;
    size_t bytes = text.len / 4 * 3 + (rest ? rest - 1 : 0);
    uint32_t bits;

    if (rest == 1 || bytes > room)
        return false;
    for (size_t i = 0; i < text.len / 4; i++, in += 4, out += 3) {
        uint32_t a = base64_values[in[0]], b = base64_values[in[1]], c = base64_values[in[2]],
                 d = base64_values[in[3]];
        if (!a || !b || !c || !d)
            return false;
        bits = (a << 18) + (b << 12) + (c << 6) + d - 0x41041; /* one less in each place */
        out[0] = (uint8_t)(bits >> 16);
        out[1] = (uint8_t)(bits >> 8);
        out[2] = (uint8_t)bits;
    }
    if (rest) {
        unsigned spare = rest == 2 ? 4 : 2; /* bits after the last whole byte */
        if (!group(in, rest, &bits) || (bits & ((1u << spare) - 1)) != 0)
            return false;
        bits >>= spare;
        if (rest == 3)
            *out++ = (uint8_t)(bits >> 8);
        *out = (uint8_t)bits;
    }
    *len = bytes;
    return true;
}

struct str base64url_text(struct arena *arena, struct str bytes)
{
    size_t len = base64url_len(bytes.len);
    char *text = arena_alloc_aligned(arena, len + 1, 1);

    if (!text)
        return STR_NONE;
    base64url_encode(bytes, text);
    text[len] = '\0';
    return str_n(text, len);
}

struct str base64url_bytes(struct arena *arena, struct str text)
{
    size_t room = text.len / 4 * 3 + 2;
    uint8_t *bytes = arena_alloc_aligned(arena, room, 1);
    size_t len;

    if (!bytes || !base64url_decode(text, bytes, room, &len))
        return STR_NONE;
    return str_n((const char *)bytes, len);
}
