/*
 * crypto/signing: see signing.h. HMAC and base64 are OpenSSL's.
 */
#include "crypto/signing.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MAC_LEN = 32,           /* bytes of HMAC-SHA256 */
    TEXT_MAX = 128,         /* characters of a secret in base64 */
    TIME_MAX = 24,          /* characters of a time */
    SECRET_TEXT_MAX = 4096, /* bytes of all secrets as text */
};

static const struct str prefix = STR_INIT("whsec_");

/* OpenSSL's decoder takes whole groups of four, and counts the padding as bytes. */
static bool decode(struct str text, struct signing_key *key)
{
    uint8_t bytes[TEXT_MAX];
    size_t padding = 0;

    while (padding < 2 && padding < text.len && text.at[text.len - 1 - padding] == '=')
        padding++;
    if (text.len == 0 || text.len % 4 != 0 || text.len > sizeof(bytes))
        return false;
    int len = EVP_DecodeBlock(bytes, (const unsigned char *)text.at, (int)text.len);
    bool fits = len >= 0 && (size_t)len - padding >= SIGNING_KEY_MIN &&
                (size_t)len - padding <= SIGNING_KEY_MAX;
    if (fits) {
        key->len = (size_t)len - padding;
        memcpy(key->bytes, bytes, key->len);
    }
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return fits;
}

static struct str next_word(struct str *rest)
{
    size_t begin = 0, end;

    while (begin < rest->len && (unsigned char)rest->at[begin] <= ' ')
        begin++;
    for (end = begin; end < rest->len && (unsigned char)rest->at[end] > ' ';)
        end++;
    struct str word = str_n(rest->at + begin, end - begin);
    *rest = str_skip(*rest, end);
    return word;
}

/* What is wrong with it; NULL: nothing, and it was added. */
static const char *add_key(struct signing_keys *keys, struct str word)
{
    if (keys->count == SIGNING_KEYS_MAX)
        return "there are more than 4 secrets";
    if (!str_starts(word, prefix) || !decode(str_skip(word, prefix.len), &keys->keys[keys->count]))
        return "a secret is whsec_ and 24 to 64 bytes in base64; make one with: "
               "echo whsec_$(openssl rand -base64 32)";
    keys->count++;
    return NULL;
}

bool signing_keys_read(struct signing_keys *keys, struct str text, const char **why)
{
    *keys = (struct signing_keys){ 0 };
    *why = text.len > SECRET_TEXT_MAX ? "it is too long" : NULL;
    for (struct str word; !*why && (word = next_word(&text)).len;)
        *why = add_key(keys, word);
    if (!*why && keys->count == 0)
        *why = "it is empty";
    if (*why)
        signing_keys_forget(keys);
    return *why == NULL;
}

void signing_keys_forget(struct signing_keys *keys)
{
    OPENSSL_cleanse(keys, sizeof(*keys));
}

static void mac(const struct signing_key *key, struct str id, struct str time, struct str body,
                uint8_t out[MAC_LEN])
{
    struct str parts[] = { id, STR("."), time, STR("."), body };
    EVP_MAC *algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(algorithm);
    char digest[] = "SHA256";
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string("digest", digest, 0),
                            OSSL_PARAM_construct_end() };
    size_t len = 0;
    bool fine = ctx && EVP_MAC_init(ctx, key->bytes, key->len, params) == 1;

    for (size_t i = 0; fine && i < sizeof(parts) / sizeof(parts[0]); i++)
        fine = EVP_MAC_update(ctx, (const unsigned char *)parts[i].at, parts[i].len) == 1;
    if (!fine || EVP_MAC_final(ctx, out, &len, MAC_LEN) != 1) {
        fprintf(stderr, "nod: OpenSSL gives no HMAC; check its installation and openssl.cnf\n");
        abort();
    }
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(algorithm);
}

struct str signing_sign(const struct signing_keys *keys, struct str id, int64_t time_s,
                        struct str body, char out[SIGNING_SIGNATURES_MAX])
{
    uint8_t bytes[MAC_LEN];
    char time[TIME_MAX];
    size_t len = 0;

    snprintf(time, sizeof(time), "%" PRId64, time_s);
    for (size_t i = 0; i < keys->count; i++) {
        mac(&keys->keys[i], id, str_of(time), body, bytes);
        if (i)
            out[len++] = ' ';
        memcpy(out + len, "v1,", 3);
        EVP_EncodeBlock((unsigned char *)out + len + 3, bytes, MAC_LEN); /* ends with a NUL */
        len += SIGNING_SIGNATURE_LEN;
    }
    return str_n(out, len);
}
