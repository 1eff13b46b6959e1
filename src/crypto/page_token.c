/*
 * crypto/page_token: see page_token.h.
 *
 * The plain form is: expiry (8 bytes), unique (16), digest of the principal (16), digest of the
 * scope (16), name. Digests keep it short, whatever principals and scopes are called.
 */
#include "crypto/page_token.h"

#include <openssl/crypto.h>

#include "base/id.h"
#include "crypto/digest.h"

enum {
    EXPIRY_LEN = 8,
    HEAD_LEN = EXPIRY_LEN + PAGE_TOKEN_UNIQUE_LEN + 2 * PAGE_TOKEN_MARK_LEN,
};

static struct seal_for purpose_of(struct str purpose)
{
    return (struct seal_for){ .purpose = STR("page token"), .scope = purpose };
}

static void mark_of(struct str kind, struct str text, uint8_t out[PAGE_TOKEN_MARK_LEN])
{
    const struct str parts[] = { kind, text };
    struct digest digest;

    digest_of_parts(parts, 2, &digest);
    memcpy(out, digest.bytes, PAGE_TOKEN_MARK_LEN);
}

nod_status page_token_make(struct keyring *ring, struct str purpose, struct str principal,
                           struct str scope, struct str name, int64_t expires_ms, struct buf *out)
{
    uint8_t plain[HEAD_LEN + PAGE_TOKEN_NAME_MAX], *at = plain;
    struct seal_for what = purpose_of(purpose);

    if (name.len > PAGE_TOKEN_NAME_MAX)
        return NOD_E_LIMIT;
    for (int i = 0; i < EXPIRY_LEN; i++)
        *at++ = (uint8_t)((uint64_t)expires_ms >> (56 - 8 * i));
    random_bytes(at, PAGE_TOKEN_UNIQUE_LEN);
    at += PAGE_TOKEN_UNIQUE_LEN;
    mark_of(STR("principal"), principal, at);
    at += PAGE_TOKEN_MARK_LEN;
    mark_of(STR("scope"), scope, at);
    at += PAGE_TOKEN_MARK_LEN;
    if (name.len)
        memcpy(at, name.at, name.len);
    return seal_text(ring, &what, str_n((const char *)plain, HEAD_LEN + name.len), out);
}

nod_status page_token_open(struct keyring *ring, struct str purpose, struct str text,
                           struct arena *arena, struct page_token *out)
{
    struct seal_for what = purpose_of(purpose);
    struct str plain;
    uint64_t expires = 0;

    *out = (struct page_token){ 0 };
    if (text.len > PAGE_TOKEN_TEXT_MAX ||
        seal_open_text(ring, &what, text, arena, &plain) != NOD_OK || plain.len < HEAD_LEN)
        return NOD_E_REFUSED;
    const char *at = plain.at;
    for (int i = 0; i < EXPIRY_LEN; i++)
        expires = expires << 8 | (unsigned char)*at++;
    out->expires_ms = (int64_t)expires;
    memcpy(out->unique, at, PAGE_TOKEN_UNIQUE_LEN);
    at += PAGE_TOKEN_UNIQUE_LEN;
    memcpy(out->principal, at, PAGE_TOKEN_MARK_LEN);
    at += PAGE_TOKEN_MARK_LEN;
    memcpy(out->scope, at, PAGE_TOKEN_MARK_LEN);
    out->name = str_skip(plain, HEAD_LEN);
    return NOD_OK;
}

static bool is_mark(const uint8_t mark[PAGE_TOKEN_MARK_LEN], struct str kind, struct str text)
{
    uint8_t own[PAGE_TOKEN_MARK_LEN];

    mark_of(kind, text, own);
    return CRYPTO_memcmp(own, mark, PAGE_TOKEN_MARK_LEN) == 0;
}

bool page_token_is_for(const struct page_token *token, struct str principal)
{
    return is_mark(token->principal, STR("principal"), principal);
}

bool page_token_is_of(const struct page_token *token, struct str scope)
{
    return is_mark(token->scope, STR("scope"), scope);
}
