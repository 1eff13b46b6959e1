/*
 * tests/fuzz/seal: arbitrary bytes as sealed bytes, as sealed text and as a token. Nothing that was
 * not sealed may open, and what base64url accepts it must give back letter by letter. The first
 * byte says what to try; 'R' puts a valid header in front, so that the tag check is reached.
 */
#include <stdint.h>
#include <stdlib.h>

#include "crypto/digest.h"
#include "crypto/seal.h"
#include "crypto/page_token.h"
#include "target.h"

enum { ARENA_CAP = 4 << 20, OUT_LIMIT = 1 << 20 };

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

static void with_right_header(const struct seal_for *what, struct str body, struct arena *arena)
{
    struct buf form;
    struct str plain;

    buf_init(&form, OUT_LIMIT);
    must(seal_bytes(ring(), what, STR("genuine"), &form) == NOD_OK);
    size_t whole = form.len;
    form.len = 17; /* version, key id, nonce */
    if (buf_add(&form, body) && !(form.len == whole && body.len == 0))
        must(seal_open_bytes(ring(), what, buf_str(&form), arena, &plain) == NOD_E_REFUSED);
    buf_finish(&form);
}

static void round_trip(const struct seal_for *what, struct str bytes, struct arena *arena)
{
    struct buf text;
    struct str plain;

    buf_init(&text, OUT_LIMIT);
    if (seal_text(ring(), what, bytes, &text) == NOD_OK)
        must(seal_open_text(ring(), what, buf_str(&text), arena, &plain) == NOD_OK &&
             str_eq(plain, bytes));
    buf_finish(&text);
}

FUZZ_TARGET(seal)
{
    static const struct str bound[] = { STR_INIT("a"), STR_INIT("b") };
    static const struct seal_for what = { STR_INIT("p"), STR_INIT("s"), bound, 2 };
    struct page_token token;
    struct arena arena;
    struct str plain;

    if (size == 0)
        return 0;
    struct str bytes = str_n((const char *)data + 1, size - 1);
    arena_init(&arena, ARENA_CAP);
    switch (data[0]) {
    case 'R':
        with_right_header(&what, bytes, &arena);
        break;
    case 'S':
        round_trip(&what, bytes, &arena);
        break;
    default:
        must(seal_open_bytes(ring(), &what, bytes, &arena, &plain) == NOD_E_REFUSED);
        must(seal_open_text(ring(), &what, bytes, &arena, &plain) == NOD_E_REFUSED);
        must(page_token_open(ring(), PAGE_TOKEN_PAGE, bytes, &arena, &token) != NOD_OK);
        struct str decoded = base64url_bytes(&arena, bytes);
        if (decoded.at)
            must(str_eq(base64url_text(&arena, decoded), bytes));
    }
    arena_finish(&arena);
    return 0;
}
