/*
 * tests/unit/crypto/page_token: tokens of pages, for whom they are and what does not open.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "crypto/digest.h"
#include "crypto/page_token.h"
#include "../runner.h"

enum { EXPIRES = 1000 };

struct made {
    struct keyring *ring;
    struct arena arena;
    struct buf text;
};

static void make(struct made *made, struct str name)
{
    made->ring = keyring_random();
    arena_init(&made->arena, 64 << 10);
    buf_init(&made->text, PAGE_TOKEN_TEXT_MAX);
    assert_int_equal(page_token_make(made->ring, PAGE_TOKEN_PAGE, STR("ada"), STR("scope"), name,
                                     EXPIRES, &made->text),
                     NOD_OK);
}

static void finish(struct made *made)
{
    buf_finish(&made->text);
    arena_finish(&made->arena);
    keyring_destroy(made->ring);
}

static nod_status open_it(struct made *made, struct str purpose, struct page_token *token)
{
    return page_token_open(made->ring, purpose, buf_str(&made->text), &made->arena, token);
}

static void it_says_for_whom_and_about_what(void **state)
{
    struct page_token token;
    struct made made;

    (void)state;
    make(&made, STR("an ask"));
    assert_int_equal(open_it(&made, PAGE_TOKEN_PAGE, &token), NOD_OK);
    assert_true(str_eq(token.name, STR("an ask")));
    assert_int_equal(token.expires_ms, EXPIRES);
    assert_true(page_token_is_for(&token, STR("ada")) && page_token_is_of(&token, STR("scope")));
    assert_false(page_token_is_for(&token, STR("bob")) || page_token_is_of(&token, STR("ada")) ||
                 page_token_is_for(&token, STR("scope")));
    finish(&made);
}

static void it_opens_for_its_purpose_alone_and_with_its_key(void **state)
{
    struct page_token token;
    struct made made;

    (void)state;
    make(&made, STR("an ask"));
    assert_int_equal(open_it(&made, PAGE_TOKEN_RETURN, &token), NOD_E_REFUSED);
    assert_int_equal(open_it(&made, PAGE_TOKEN_OWN, &token), NOD_E_REFUSED);
    keyring_destroy(made.ring);
    made.ring = keyring_random();
    assert_int_equal(open_it(&made, PAGE_TOKEN_PAGE, &token), NOD_E_REFUSED);
    finish(&made);
}

static void every_changed_bit_is_refused(void **state)
{
    uint8_t bytes[PAGE_TOKEN_TEXT_MAX];
    struct page_token token;
    struct made made;
    size_t len;

    (void)state;
    make(&made, STR("0123456789012345678901"));
    assert_true(base64url_decode(buf_str(&made.text), bytes, sizeof(bytes), &len));
    for (size_t bit = 0; bit < 8 * len; bit++) {
        struct arena arena;
        arena_init(&arena, 64 << 10);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct str text = base64url_text(&arena, str_n((const char *)bytes, len));
        assert_int_equal(page_token_open(made.ring, PAGE_TOKEN_PAGE, text, &arena, &token),
                         NOD_E_REFUSED);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        arena_finish(&arena);
    }
    finish(&made);
}

static void a_name_that_is_too_long_makes_none(void **state)
{
    static char name[PAGE_TOKEN_NAME_MAX + 1];
    struct made made;

    (void)state;
    make(&made, str_n(name, PAGE_TOKEN_NAME_MAX));
    buf_clear(&made.text);
    assert_int_equal(page_token_make(made.ring, PAGE_TOKEN_PAGE, STR("ada"), STR(""),
                                     str_n(name, sizeof(name)), EXPIRES, &made.text),
                     NOD_E_LIMIT);
    assert_int_equal(made.text.len, 0);
    finish(&made);
}

SUBJECT(page_token)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_for_whom_and_about_what),
        cmocka_unit_test(it_opens_for_its_purpose_alone_and_with_its_key),
        cmocka_unit_test(every_changed_bit_is_refused),
        cmocka_unit_test(a_name_that_is_too_long_makes_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
