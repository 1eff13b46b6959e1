/*
 * crypto/link_token: a short text that proves that this server made it, until it expires.
 *
 * A token is made for a purpose ("page", "csrf") and bound to a text (an ask's id, a principal). It
 * verifies only for the same two, with a secret of the keyring, and before it expires. It carries
 * 128 random bits, which make it unique and hard to guess. They also name it (struct
 * token_facts.id), for code that accepts a token only once. It is opaque: neither expiry nor id can
 * be read from it.
 *
 * Threads: as for the keyring.
 */
#ifndef NOD_CRYPTO_LINK_TOKEN_H
#define NOD_CRYPTO_LINK_TOKEN_H

#include "crypto/seal.h"

enum {
    TOKEN_ID_LEN = 16,
    TOKEN_BYTES = SEAL_OVERHEAD + 8 + TOKEN_ID_LEN,
    TOKEN_LEN = TOKEN_BYTES / 3 * 4, /* 57 bytes are 76 characters, without a rest */
};

struct token {
    char text[TOKEN_LEN + 1]; /* NUL-terminated */
};

struct token_facts {
    int64_t expires_ms; /* wall time */
    uint8_t id[TOKEN_ID_LEN];
};

/* NOD_E_LIMIT: `purpose` or `bound` is over a limit of seal.h. */
nod_status token_make(struct keyring *ring, struct str purpose, struct str bound,
                      int64_t expires_ms, struct token *out);

/*
 * NOD_OK. NOD_E_TIMEOUT: a token of ours that has expired (now_ms >= expires_ms), which a person
 * may be told. NOD_E_REFUSED: everything else. `facts` may be NULL; set unless refused.
 */
nod_status token_verify(struct keyring *ring, struct str purpose, struct str bound, struct str text,
                        int64_t now_ms, struct token_facts *facts);

#endif
