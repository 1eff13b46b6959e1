/*
 * tests/fuzz/pages: what comes to hosted pages from outside. The first byte says what to try: 'Q'
 * the query of /a/return, 'T' a token that nobody has made, 'S' one whose plain form is arbitrary.
 * What a query is read as must be text, every member once; no token may open that was not sealed.
 */
#include <stdint.h>
#include <stdlib.h>

#include "crypto/page_token.h"
#include "json/utf8.h"
#include "surface/hosted.h"
#include "target.h"

enum { ARENA_CAP = 4 << 20, OUT_LIMIT = 1 << 20, HEAD_LEN = 56 };

static void must(bool truth)
{
    if (!truth)
        abort();
}

static struct keyring *ring(void)
{
    static const struct str secret = STR_INIT("0123456789abcdef0123456789abcdef");
    static struct keyring *made;
    const char *why;

    if (!made)
        must(keyring_create(&secret, 1, &made, &why) == NOD_OK);
    return made;
}

static void is_text(struct str text)
{
    for (const char *at = text.at, *end = text.at + text.len; at < end;) {
        size_t len = (unsigned char)*at < 0x80 ? 1 : utf8_sequence(at, end);
        must(*at != '\0' && len > 0);
        at += len;
    }
}

static void query(struct arena *arena, struct str text)
{
    struct hosted_param members[HOSTED_QUERY_MAX];
    struct str state;
    size_t count;

    if (!hosted_read_query(arena, text, members, &count, &state))
        return;
    must(count <= HOSTED_QUERY_MAX);
    is_text(state);
    for (size_t i = 0; i < count; i++) {
        is_text(members[i].name);
        is_text(members[i].value);
        must(!str_eq(members[i].name, STR("state")));
        for (size_t j = 0; j < i; j++)
            must(!str_eq(members[i].name, members[j].name));
    }
}

static void sealed(struct arena *arena, struct str plain)
{
    const struct seal_for what = { .purpose = STR("page token"), .scope = PAGE_TOKEN_PAGE };
    struct page_token token;
    struct buf text;

    buf_init(&text, OUT_LIMIT);
    if (seal_text(ring(), &what, plain, &text) == NOD_OK) {
        nod_status status = page_token_open(ring(), PAGE_TOKEN_PAGE, buf_str(&text), arena, &token);
        must((status == NOD_OK) == (plain.len >= HEAD_LEN && text.len <= PAGE_TOKEN_TEXT_MAX));
        if (status == NOD_OK)
            must(str_eq(token.name, str_skip(plain, HEAD_LEN)));
        must(page_token_open(ring(), PAGE_TOKEN_RETURN, buf_str(&text), arena, &token) ==
             NOD_E_REFUSED);
    }
    buf_finish(&text);
}

FUZZ_TARGET(pages)
{
    struct str input = str_n((const char *)data, size), rest = str_skip(input, size ? 1 : 0);
    struct page_token token;
    struct arena arena;

    arena_init(&arena, ARENA_CAP);
    switch (size ? data[0] : 0) {
    case 'Q':
        query(&arena, rest);
        break;
    case 'T':
        must(page_token_open(ring(), PAGE_TOKEN_PAGE, rest, &arena, &token) == NOD_E_REFUSED);
        break;
    case 'S':
        sealed(&arena, rest);
        break;
    default:
        break;
    }
    arena_finish(&arena);
    return 0;
}
