/* tests/unit/mcp/state_given: a state that was given out is known again, once, and only for whom
 * and what it was made. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "mcp/state_given.h"

static const struct state_bound good = {
    .principal = STR_INIT("alice"),
    .method = STR_INIT("tools/call"),
    .target = STR_INIT("delete"),
    .args = STR_INIT("fedcba9876543210fedcba9876543210"),
    .uri = STR_INIT("file:///a"),
};
static const struct str text = STR_INIT("AQAAAAAAAAAAsealed-text-of-some-length-and-a-tag");
static const struct str plain = STR_INIT("what was sealed");

static struct state_given *given;
static struct arena arena;

static int begin(void **state)
{
    (void)state;
    given = state_given_create();
    arena_init(&arena, 1 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    state_given_destroy(given);
    arena_finish(&arena);
    return 0;
}

static bool takes(const struct state_bound *bound, struct str brought)
{
    struct str got = STR_NONE;

    if (!state_given_take(given, bound, brought, &arena, &got))
        return false;
    assert_true(str_eq(got, plain));
    return true;
}

static void what_was_given_is_known_once(void **state)
{
    (void)state;
    assert_false(takes(&good, text));
    state_given_keep(given, &good, plain, text);
    assert_true(takes(&good, text));
    assert_false(takes(&good, text)); /* the second time it is opened like any other */
}

static void a_text_that_differs_anywhere_is_not_known(void **state)
{
    char other[64];

    (void)state;
    state_given_keep(given, &good, plain, text);
    for (size_t i = 0; i < text.len; i++) {
        memcpy(other, text.at, text.len);
        other[i] ^= 1;
        assert_false(takes(&good, str_n(other, text.len)));
    }
    for (size_t len = 0; len < text.len; len++) {
        assert_false(takes(&good, str_n(text.at, len)));
        assert_false(takes(&good, str_n(text.at + text.len - len, len)));
    }
    assert_true(takes(&good, text)); /* and none of them took it away */
}

static void what_it_is_bound_to_has_to_be_the_same(void **state)
{
    (void)state;
    state_given_keep(given, &good, plain, text);
    for (int part = 0; part < STATE_BOUND_PARTS; part++) {
        struct state_bound bound = good;
        struct str *const fields[STATE_BOUND_PARTS] = { &bound.principal, &bound.method,
                                                        &bound.target, &bound.args, &bound.uri };
        fields[part]->len--;
        assert_false(takes(&bound, text));
        *fields[part] = STR("another");
        assert_false(takes(&bound, text));
        *fields[part] = STR_NONE;
        assert_false(takes(&bound, text));
    }
    /* A letter that moves from one part to the next makes another list of parts. */
    struct state_bound moved = good;
    moved.principal = STR("alicet");
    moved.method = STR("ools/call");
    assert_false(takes(&moved, text));
    assert_true(takes(&good, text));
}

static void a_large_one_is_not_kept(void **state)
{
    static char large[STATE_GIVEN_BYTES_MAX];

    (void)state;
    memset(large, 'x', sizeof(large));
    struct str whole = str_n(large, sizeof(large));
    state_given_keep(given, &good, plain, whole);
    assert_false(takes(&good, whole));
    struct str fits = str_n(large, sizeof(large) - 200);
    state_given_keep(given, &good, plain, fits);
    assert_true(takes(&good, fits));
}

static void newer_ones_replace_older_ones_and_most_are_known(void **state)
{
    enum { MANY = 4 * STATE_GIVEN_PLACES, NEWEST = STATE_GIVEN_PLACES / 8 };
    char one[64];
    int known = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(one, sizeof(one), "sealed-%012d-%012d", i, i * 7919);
        state_given_keep(given, &good, plain, str_of(one));
    }
    for (int i = MANY - NEWEST; i < MANY; i++) {
        snprintf(one, sizeof(one), "sealed-%012d-%012d", i, i * 7919);
        known += takes(&good, str_of(one));
    }
    assert_true(known > NEWEST / 2);
}

/* Their ends are the same, and the end says where a text has its places. */
static void of_three_in_the_same_places_the_oldest_goes(void **state)
{
    struct str first = STR("first-with-one-end"), second = STR("second-with-one-end"),
               third = STR("third-with-one-end");

    (void)state;
    state_given_keep(given, &good, plain, first);
    state_given_keep(given, &good, plain, second);
    assert_true(takes(&good, first));
    assert_true(takes(&good, second));
    state_given_keep(given, &good, plain, first);
    state_given_keep(given, &good, plain, second);
    state_given_keep(given, &good, plain, third);
    assert_false(takes(&good, first));
    assert_true(takes(&good, second));
    assert_true(takes(&good, third));
}

static void what_nobody_came_back_for_is_forgotten(void **state)
{
    (void)state;
    state_given_keep(given, &good, plain, text);
    state_given_sweep(given);
    assert_true(takes(&good, text)); /* it was young then */
    state_given_keep(given, &good, plain, text);
    state_given_sweep(given);
    state_given_sweep(given);
    assert_false(takes(&good, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_given_is_known_once, begin, end),
        cmocka_unit_test_setup_teardown(a_text_that_differs_anywhere_is_not_known, begin, end),
        cmocka_unit_test_setup_teardown(what_it_is_bound_to_has_to_be_the_same, begin, end),
        cmocka_unit_test_setup_teardown(a_large_one_is_not_kept, begin, end),
        cmocka_unit_test_setup_teardown(of_three_in_the_same_places_the_oldest_goes, begin, end),
        cmocka_unit_test_setup_teardown(what_nobody_came_back_for_is_forgotten, begin, end),
        cmocka_unit_test_setup_teardown(newer_ones_replace_older_ones_and_most_are_known, begin,
                                        end),
    };

    return cmocka_run_group_tests_name("mcp-state-given", tests, NULL, NULL);
}
