/*
 * crypto/link_token: a token is the sealed form of an expiry and a random id. The two texts it is for
 * are associated data. So there is one cipher, one key derivation and one rotation to trust, and no
 * comparison of ours that could leak by its timing: the cipher checks the tag.
 */
#include "crypto/link_token.h"

#include <openssl/crypto.h>

#include "base/id.h"
#include "crypto/digest.h"

_Static_assert(TOKEN_BYTES % 3 == 0, "TOKEN_LEN has no rest to count");

enum { ARENA_CAP = 2048 }; /* a decoded token and the arena's own block */

static struct seal_for purpose_of(struct str purpose, const struct str *bound)
{
    return (struct seal_for){
        .purpose = STR("token"), .scope = purpose, .bound = bound, .bound_count = 1
    };
}

nod_status token_make(struct keyring *ring, struct str purpose, struct str bound,
                      int64_t expires_ms, struct token *out)
{
    uint8_t plain[8 + TOKEN_ID_LEN];
    struct seal_for what = purpose_of(purpose, &bound);
    struct buf text;

    for (int i = 0; i < 8; i++)
        plain[i] = (uint8_t)((uint64_t)expires_ms >> (56 - 8 * i));
    random_bytes(plain + 8, TOKEN_ID_LEN);

    buf_init(&text, TOKEN_LEN);
    nod_status status = seal_text(ring, &what, str_n((char *)plain, sizeof(plain)), &text);
    *out = (struct token){ 0 };
    if (status == NOD_OK)
        memcpy(out->text, text.at, TOKEN_LEN);
    buf_finish(&text);
    OPENSSL_cleanse(plain, sizeof(plain));
    return status;
}

static void read_facts(struct str plain, struct token_facts *facts)
{
    uint64_t expires = 0;

    for (size_t i = 0; i < 8; i++)
        expires = expires << 8 | (unsigned char)plain.at[i];
    facts->expires_ms = (int64_t)expires;
    memcpy(facts->id, plain.at + 8, TOKEN_ID_LEN);
}

nod_status token_verify(struct keyring *ring, struct str purpose, struct str bound, struct str text,
                        int64_t now_ms, struct token_facts *facts)
{
    struct seal_for what = purpose_of(purpose, &bound);
    struct token_facts own = { 0 };
    struct arena arena;
    struct str plain;

    if (!facts)
        facts = &own;
    *facts = own;
    if (text.len != TOKEN_LEN)
        return NOD_E_REFUSED;
    arena_init(&arena, ARENA_CAP);
    nod_status status = seal_open_text(ring, &what, text, &arena, &plain);
    if (status == NOD_OK) {
        read_facts(plain, facts);
        status = now_ms < facts->expires_ms ? NOD_OK : NOD_E_TIMEOUT;
    }
    arena_finish(&arena);
    return status;
}
