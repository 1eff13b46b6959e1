/*
 * crypto/page_token: what stands in the address of a page that is for one person.
 *
 * A token says for whom the page is (a principal, and the scope of what it asks), what it is about
 * (the id of an ask, or a name of its maker's), and until when. It is sealed: nothing of that can
 * be read from it or changed. It is no sign-in: whoever opens the page has to be that person.
 *
 * Whether it was used is not in the token. `unique` names it, for whoever takes it only once.
 *
 * What is made for one purpose does not open for another: the token of a page is no `state`, which
 * a foreign page is given, and neither is one that a handler has made for a page of its own.
 */
#ifndef NOD_CRYPTO_PAGE_TOKEN_H
#define NOD_CRYPTO_PAGE_TOKEN_H

#include "crypto/seal.h"

enum {
    PAGE_TOKEN_UNIQUE_LEN = 16,
    PAGE_TOKEN_MARK_LEN = 16,   /* bytes of a digest of the principal, and of the scope */
    PAGE_TOKEN_NAME_MAX = 512,  /* bytes of what it is about */
    PAGE_TOKEN_TEXT_MAX = 1024, /* bytes of a token as text, at most */
};

#define PAGE_TOKEN_PAGE   STR("page")   /* /a/{token} */
#define PAGE_TOKEN_RETURN STR("return") /* /a/return?state= */
#define PAGE_TOKEN_OWN    STR("own")    /* pages of a handler's own */

struct page_token {
    struct str name; /* what it is about */
    int64_t expires_ms;
    uint8_t unique[PAGE_TOKEN_UNIQUE_LEN];
    uint8_t principal[PAGE_TOKEN_MARK_LEN], scope[PAGE_TOKEN_MARK_LEN];
};

/* Appends a new token. NOD_E_LIMIT: the name is too long, or the buffer full. */
nod_status page_token_make(struct keyring *ring, struct str purpose, struct str principal,
                           struct str scope, struct str name, int64_t expires_ms, struct buf *out);
/* NOD_E_REFUSED: it is not one of ours, for this purpose. When it expires is for the caller to
 * check. The name is in the arena. */
nod_status page_token_open(struct keyring *ring, struct str purpose, struct str text,
                           struct arena *arena, struct page_token *out);
bool page_token_is_for(const struct page_token *token, struct str principal);
bool page_token_is_of(const struct page_token *token, struct str scope);

#endif
