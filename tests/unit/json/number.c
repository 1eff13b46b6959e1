/*
 * tests/unit/json/number: numbers of any size, compared and converted without rounding.
 */
#include <float.h>
#include <locale.h>
#include <math.h>

#include "tree.h"
#include "../runner.h"

static int compare(const char *a, const char *b)
{
    return json_number_cmp(tree(a), tree(b));
}

static void numbers_of_any_size_are_compared_exactly(void **state)
{
    /* Each is less than the one in the next row; those within a row are equal. */
    static const char *const rows[][5] = {
        { "-1e99999999999999999999999", "-10e99999999999999999999998" },
        { "-1E400", "-1000e397" },
        { "-9007199254740993" },
        { "-9007199254740992", "-9007199254740992.000" },
        { "-1.5", "-15e-1", "-0.15e1", "-150E-2" },
        { "-1", "-1.0", "-10e-1" },
        { "-1e-400" },
        { "0", "-0", "0.0", "0e99999999999999999999", "-0e-5" },
        { "1e-99999999999999999999999", "0.1e-99999999999999999999998" },
        { "1e-999999999", "0.00001e-999999994" },
        { "0.1", "1e-1", "0.10" },
        { "0.10000000000000000000000000000000000001" },
        { "1", "1.0", "1e0", "100e-2", "1E+00000000000000000000000000" },
        { "9007199254740992" },
        { "9007199254740993", "9.007199254740993e15" },
        { "18446744073709551615" },
        { "18446744073709551616" },
        { "1E400", "10E399", "0.0001e404" },
        { "1e999999999" },
        { "1e9999999999999999999", "0.1e10000000000000000000", "10e9999999999999999998" },
        { "1e10000000000000000000" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t k = 0; k < 5 && rows[i][k]; k++) {
            assert_int_equal(compare(rows[i][k], rows[i][0]), 0);
            assert_true(json_equal(tree(rows[i][0]), tree(rows[i][k])));
            for (size_t j = 0; j < COUNT_OF(rows); j++)
                if (j != i) {
                    assert_int_equal(compare(rows[i][k], rows[j][0]), i < j ? -1 : 1);
                    assert_false(json_equal(tree(rows[i][k]), tree(rows[j][0])));
                }
        }
}

static void what_is_no_number_compares_as_nothing(void **state)
{
    int64_t n = 7;
    double d = 7;

    (void)state;
    assert_int_equal(json_number_cmp(NULL, tree("1")), 0);
    assert_int_equal(json_number_cmp(tree("\"2\""), tree("1")), 0);
    assert_false(json_i64(NULL, &n));
    assert_false(json_i64(tree("\"1\""), &n));
    assert_false(json_double(tree("true"), &d));
    assert_int_equal(n, 7);
    assert_true(d == 7);
}

static void an_integer_is_exact_or_is_none(void **state)
{
    static const struct {
        const char *text;
        bool fits;
        int64_t n;
    } rows[] = {
        { "0", true, 0 },
        { "-0", true, 0 },
        { "-0.000e7", true, 0 },
        { "0e99999999999999999999", true, 0 },
        { "1", true, 1 },
        { "1.0", true, 1 },
        { "1e2", true, 100 },
        { "1.5e1", true, 15 },
        { "1500e-2", true, 15 },
        { "0.0012e4", true, 12 },
        { "12e-0", true, 12 },
        { "1000000000000000000000e-21", true, 1 },
        { "9223372036854775807", true, INT64_MAX },
        { "9223372036854775807.0", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "-922337203685477580.8e1", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "9999999999999999999", false, 0 },
        { "10000000000000000000", false, 0 },
        { "18446744073709551616", false, 0 },
        { "1.5", false, 0 },
        { "1e-1", false, 0 },
        { "0.1", false, 0 },
        { "1e19", false, 0 },
        { "1e400", false, 0 },
        { "1e99999999999999999999999", false, 0 },
        { "1e-99999999999999999999999", false, 0 },
        { "123456789012345678.5", false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t n = 0;
        if (json_i64(tree(rows[i].text), &n) != rows[i].fits)
            fail_msg("%s", rows[i].text);
        assert_true(n == rows[i].n);
    }
}

static void a_double_is_the_nearest_one(void **state)
{
    static const struct {
        const char *text;
        double d;
    } rows[] = {
        { "0.1", 0.1 },
        { "-1.5e3", -1500 },
        { "9007199254740993", 9007199254740992.0 },
        { "9007199254740993.00000000000000000000000000001", 9007199254740994.0 },
        { "1.7976931348623157e308", DBL_MAX },
        { "4.9e-324", 4.9406564584124654e-324 },
        { "1e-400", 0 },
        { "-1e-99999999999999999999", 0 },
        { "123456789e-7", 12.3456789 },
        { "0.000001e6", 1 },
    };
    double d;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_true(json_double(tree(rows[i].text), &d));
        assert_true(d == rows[i].d);
    }
    assert_true(json_double(tree("-0"), &d));
    assert_true(d == 0 && signbit(d));
    assert_false(json_double(tree("1E400"), &d));
    assert_false(json_double(tree("-1e99999999999999999999"), &d));
    assert_false(json_double(tree("1.7976931348623159e308"), &d));
}

/* 2^-1074 lies half-way between two decimals only after 750 digits; the last one of many decides.
 */
static void the_last_of_a_million_digits_still_counts(void **state)
{
    static char text[1000001];
    double d;

    (void)state;
    memset(text, '0', sizeof(text) - 1);
    memcpy(text, "9007199254740993.", 17);
    assert_true(json_double(tree(text), &d));
    assert_true(d == 9007199254740992.0);
    text[sizeof(text) - 2] = '1';
    assert_true(json_double(tree(text), &d));
    assert_true(d == 9007199254740994.0);
    assert_int_equal(compare(text, "9007199254740993"), 1);
}

/* From ECMAScript: the values of RFC 8785, appendix B, and edges of the layout. */
static void doubles_are_written_as_ecmascript_writes_them(void **state)
{
    static const struct {
        uint64_t bits;
        const char *text;
    } rows[] = {
        { 0x0000000000000001, "5e-324" },
        { 0x8000000000000001, "-5e-324" },
        { 0x7fefffffffffffff, "1.7976931348623157e+308" },
        { 0xffefffffffffffff, "-1.7976931348623157e+308" },
        { 0x4340000000000000, "9007199254740992" },
        { 0xc340000000000000, "-9007199254740992" },
        { 0x4430000000000000, "295147905179352830000" },
        { 0x44b52d02c7e14af5, "9.999999999999997e+22" },
        { 0x44b52d02c7e14af6, "1e+23" },
        { 0x44b52d02c7e14af7, "1.0000000000000001e+23" },
        { 0x444b1ae4d6e2ef4e, "999999999999999700000" },
        { 0x444b1ae4d6e2ef4f, "999999999999999900000" },
        { 0x444b1ae4d6e2ef50, "1e+21" },
        { 0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7" },
        { 0x3eb0c6f7a0b5ed8d, "0.000001" },
        { 0x41b3de4355555553, "333333333.3333332" },
        { 0x41b3de4355555554, "333333333.33333325" },
        { 0x41b3de4355555555, "333333333.3333333" },
        { 0x41b3de4355555556, "333333333.3333334" },
        { 0x41b3de4355555557, "333333333.33333343" },
        { 0xbecbf647612f3696, "-0.0000033333333333333333" },
        { 0x43143ff3c1cb0959, "1424953923781206.2" },
        { 0x3d30000000000000, "5.684341886080802e-14" }, /* 2^-44: the nearest 16 digits miss it */
        { 0x3ff0000000000000, "1" },
        { 0x8000000000000000, "-0" },
        { 0x3fb999999999999a, "0.1" },
        { 0x430c6bf526340000, "1000000000000000" },
        { 0x0010000000000000, "2.2250738585072014e-308" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double d;
        memcpy(&d, &rows[i].bits, sizeof(d));
        assert_string_equal(tree_text(json_new_double(&arena, d)), rows[i].text);
    }
    assert_null(json_new_double(&arena, INFINITY));
    assert_null(json_new_double(&arena, NAN));
}

static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void any_double_survives_text(void **state)
{
    uint64_t seed = 88172645463325252u;
    double d;
    double back;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_next(&seed);
        if (i % 4 == 0)
            bits &= 0xfff0000000000000; /* a power of two */
        memcpy(&d, &bits, sizeof(d));
        if (!isfinite(d))
            continue;
        arena_reset(&arena);
        assert_true(json_double(json_new_double(&arena, d), &back));
        assert_memory_equal(&d, &back, sizeof(d));
    }
}

static void a_locale_with_a_comma_changes_nothing(void **state)
{
    static const char *const locales[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "C" };
    double d;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(locales); i++)
        if (setlocale(LC_NUMERIC, locales[i]))
            break;
    assert_true(json_double(tree("1.25"), &d));
    assert_true(d == 1.25);
    assert_string_equal(tree_text(json_new_double(&arena, 0.1)), "0.1");
    setlocale(LC_NUMERIC, "C");
}

static void built_integers_reach_both_ends(void **state)
{
    (void)state;
    assert_string_equal(tree_text(json_new_i64(&arena, INT64_MIN)), "-9223372036854775808");
    assert_string_equal(tree_text(json_new_i64(&arena, INT64_MAX)), "9223372036854775807");
    assert_string_equal(tree_text(json_new_i64(&arena, 0)), "0");
    assert_string_equal(tree_text(json_new_i64(&arena, -10)), "-10");
}

SUBJECT(number)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(numbers_of_any_size_are_compared_exactly),
        TREE_TEST(what_is_no_number_compares_as_nothing),
        TREE_TEST(an_integer_is_exact_or_is_none),
        TREE_TEST(a_double_is_the_nearest_one),
        TREE_TEST(the_last_of_a_million_digits_still_counts),
        TREE_TEST(doubles_are_written_as_ecmascript_writes_them),
        TREE_TEST(any_double_survives_text),
        TREE_TEST(a_locale_with_a_comma_changes_nothing),
        TREE_TEST(built_integers_reach_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
