/* base/memo: found by all of its bytes, bounded, and free to forget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/memo.h"

static void what_was_kept_is_found_by_the_same_bytes(void **state)
{
    struct memo memo;
    struct str value;
    char key[] = "a form";

    (void)state;
    memo_init(&memo, 100);
    assert_false(memo_find(&memo, STR("a form"), &value));
    memo_keep(&memo, str_of(key), STR("{}"));
    key[0] = 'X'; /* it has a copy of its own */
    assert_true(memo_find(&memo, STR("a form"), &value));
    assert_true(str_eq(value, STR("{}")));
    assert_int_equal(value.at[value.len], '\0');
    assert_false(memo_find(&memo, str_of(key), &value));
    assert_false(memo_find(&memo, STR("a for"), &value));
    memo_finish(&memo);
    assert_false(memo_find(&memo, STR("a form"), &value));
}

static void the_newest_value_of_a_key_counts(void **state)
{
    struct memo memo;
    struct str value;

    (void)state;
    memo_init(&memo, 100);
    memo_keep(&memo, STR("k"), STR("old"));
    memo_keep(&memo, STR("k"), STR("new"));
    assert_true(memo_find(&memo, STR("k"), &value));
    assert_true(str_eq(value, STR("new")));
    memo_keep(&memo, STR(""), STR("")); /* nothing is something as well */
    assert_true(memo_find(&memo, STR(""), &value));
    assert_int_equal(value.len, 0);
    memo_finish(&memo);
}

static void the_parts_of_a_key_are_not_its_bytes_alone(void **state)
{
    struct memo memo;
    struct str value;

    (void)state;
    memo_init(&memo, 100);
    memo_keep_parts(&memo, (struct str[]){ STR("ab"), STR_NONE, STR("c") }, 3, STR("one"));
    memo_keep(&memo, STR("abc"), STR("two"));
    assert_true(memo_find_parts(&memo, (struct str[]){ STR("ab"), STR(""), STR("c") }, 3, &value));
    assert_true(str_eq(value, STR("one")));
    assert_false(memo_find_parts(&memo, (struct str[]){ STR("a"), STR("b"), STR("c") }, 3, &value));
    assert_false(memo_find_parts(&memo, (struct str[]){ STR("ab"), STR("c") }, 2, &value));
    assert_true(memo_find(&memo, STR("abc"), &value));
    assert_true(str_eq(value, STR("two")));
    memo_finish(&memo);
}

static void a_key_whose_parts_are_too_large_together_is_not_kept(void **state)
{
    struct memo memo;
    struct str value, parts[] = { STR("1234"), STR("5678"), STR("9") };

    (void)state;
    memo_init(&memo, 10);
    memo_keep_parts(&memo, parts, 3, STR("ab"));
    assert_false(memo_find_parts(&memo, parts, 3, &value));
    memo_keep_parts(&memo, parts, 3, STR("a"));
    assert_true(memo_find_parts(&memo, parts, 3, &value));
    memo_finish(&memo);
}

static void what_is_too_large_is_not_kept(void **state)
{
    struct memo memo;
    struct str value;

    (void)state;
    memo_init(&memo, 10);
    memo_keep(&memo, STR("12345"), STR("12345"));
    memo_keep(&memo, STR("54321"), STR("123456"));
    memo_keep(&memo, STR("12345678901"), STR_NONE);
    assert_true(memo_find(&memo, STR("12345"), &value));
    assert_false(memo_find(&memo, STR("54321"), &value));
    assert_false(memo_find(&memo, STR("12345678901"), &value));
    memo_finish(&memo);
}

/* More keys than places: some are forgotten, and none is taken for another. */
static void it_forgets_and_never_mistakes(void **state)
{
    struct memo memo;
    struct str value;
    char text[32];
    size_t found = 0;

    (void)state;
    memo_init(&memo, 100);
    for (int i = 0; i < 10 * MEMO_PLACES; i++) {
        struct str key = str_n(text, (size_t)snprintf(text, sizeof(text), "key %d", i));
        memo_keep(&memo, key, key);
    }
    for (int i = 0; i < 10 * MEMO_PLACES; i++) {
        struct str key = str_n(text, (size_t)snprintf(text, sizeof(text), "key %d", i));
        if (!memo_find(&memo, key, &value))
            continue;
        assert_true(str_eq(value, key));
        found++;
    }
    assert_in_range(found, MEMO_PLACES / 2, MEMO_PLACES);
    memo_finish(&memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_kept_is_found_by_the_same_bytes),
        cmocka_unit_test(the_newest_value_of_a_key_counts),
        cmocka_unit_test(the_parts_of_a_key_are_not_its_bytes_alone),
        cmocka_unit_test(a_key_whose_parts_are_too_large_together_is_not_kept),
        cmocka_unit_test(what_is_too_large_is_not_kept),
        cmocka_unit_test(it_forgets_and_never_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
