/*
 * tests/unit/json/hostile: texts that are made to cost much. Only the time of this process counts,
 * and growth is compared: eight times the text may take at most thirty-two times as long (a small
 * text fits a cache that a large one does not); quadratic work would take sixty-four times. A run
 * that was disturbed is run again, up to RUNS times, and the best ones are compared; with
 * NOD_SOAK=1 there are RUNS_SOAK at least.
 */
#include <stdlib.h>
#include <time.h>

#include "tree.h"
#include "../runner.h"

enum { GROWTH = 8, GROWTH_MOST = 32, RUNS = 40, RUNS_SOAK = 5 };

static const struct json_opts refuse = { .refuse_duplicates = true };

typedef void make_fn(size_t n);

/* Lowers *best to the time of this run, if it is less. */
static void time_run(make_fn *make, size_t n, void (*work)(struct json *v), bool valid,
                     double *best)
{
    buf_clear(&out);
    make(n);
    arena_reset(&arena);
    clock_t begin = clock();
    struct json *v = json_parse(&arena, buf_str(&out), &refuse, &error);
    assert_int_equal(v != NULL, valid);
    if (work)
        work(v);
    double took = (double)(clock() - begin) / CLOCKS_PER_SEC;
    *best = took < *best ? took : *best;
}

static void grows_in_a_line(make_fn *make, size_t n, void (*work)(struct json *v), bool valid)
{
    double small = 1e9, large = 1e9;
    bool linear = false;

    for (int run = 0; run < RUNS && (!linear || (getenv("NOD_SOAK") && run < RUNS_SOAK)); run++) {
        time_run(make, n / GROWTH, work, valid, &small);
        time_run(make, n, work, valid, &large);
        /* What takes less than two milliseconds is no attack, and too short to be compared. */
        linear = large <= 0.002 || large <= small * GROWTH_MOST;
    }
    if (!linear)
        fail_msg("%.6f s became %.6f s", small, large);
}

static void repeat(struct str s, size_t n)
{
    while (n--)
        assert_true(buf_add(&out, s));
}

static void make_brackets(size_t n)
{
    repeat(STR("["), n);
}

static void make_objects(size_t n)
{
    repeat(STR("{\"a\":"), n / 5);
}

static void make_names(size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true(buf_fmt(&out, "%s\"name%zu\":%zu", i ? "," : "{", i, i));
    assert_true(buf_add(&out, STR("}")));
}

static void make_one_name_again_and_again(size_t n)
{
    assert_true(buf_add(&out, STR("{\"a\":1")));
    repeat(STR(",\"a\":1"), n);
    assert_true(buf_add(&out, STR("}")));
}

static void make_long_prefixes(size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true(buf_fmt(&out, "%s\"%0100d%zu\":0", i ? "," : "{", 0, n - i));
    assert_true(buf_add(&out, STR("}")));
}

static void make_escapes(size_t n)
{
    assert_true(buf_add(&out, STR("\"")));
    repeat(STR("\\u00e9\\n"), n / 8);
    assert_true(buf_add(&out, STR("\"")));
}

static void make_short_escaped_strings(size_t n)
{
    assert_true(buf_add(&out, STR("[\"\"")));
    repeat(STR(",\"\\n\""), n / 5);
    assert_true(buf_add(&out, STR("]")));
}

static void make_digits(size_t n)
{
    repeat(STR("7"), n);
}

static void make_spaces(size_t n)
{
    assert_true(buf_add(&out, STR("[")));
    repeat(STR(" \n\t\r"), n / 4);
    assert_true(buf_add(&out, STR("]")));
}

static void a_megabyte_of_brackets_is_refused_at_once(void **state)
{
    (void)state;
    grows_in_a_line(make_brackets, 1 << 20, NULL, false);
    assert_int_equal(error.status, NOD_E_LIMIT);
    assert_int_equal(error.offset, JSON_DEPTH_DEFAULT);
    grows_in_a_line(make_objects, 1 << 20, NULL, false);
    assert_int_equal(error.status, NOD_E_LIMIT);
    assert_true(arena.used < 64 * 1024);
}

static void duplicates_among_many_names_are_found_in_linear_time(void **state)
{
    (void)state;
    grows_in_a_line(make_names, 100000, NULL, true);
    grows_in_a_line(make_long_prefixes, 20000, NULL, true);
    grows_in_a_line(make_one_name_again_and_again, 100000, NULL, false);
    assert_string_equal(error.what, "a member whose name is in the object already");
}

static void long_strings_numbers_and_gaps_are_linear(void **state)
{
    (void)state;
    grows_in_a_line(make_escapes, 1 << 20, NULL, true);
    grows_in_a_line(make_short_escaped_strings, 1 << 20, NULL, true);
    grows_in_a_line(make_digits, 1 << 20, NULL, true);
    grows_in_a_line(make_spaces, 1 << 20, NULL, true);
}

static struct json *backwards(const struct json *object)
{
    struct json *turned = json_new_object(&arena);
    struct json *before = NULL;

    for (const struct json *member = object->first; member; member = member->next) {
        struct json *copy = json_new_null(&arena);
        *copy = *member;
        copy->next = before;
        before = copy;
        if (!turned->last)
            turned->last = copy;
    }
    turned->first = before;
    turned->count = object->count;
    return turned;
}

static void compare_backwards(struct json *v)
{
    assert_true(json_equal(v, backwards(v)));
}

static void compare_number(struct json *v)
{
    double d;
    int64_t n;
    struct json other = *v;

    other.text.len--;
    assert_int_equal(json_number_cmp(v, &other), 1);
    assert_false(json_double(v, &d));
    assert_false(json_i64(v, &n));
}

static void digest_form(struct json *v)
{
    struct buf text;

    buf_init(&text, TREE_BUF);
    assert_true(json_write_canonical(&text, v));
    buf_finish(&text);
}

static void comparing_and_sorting_stay_near_linear(void **state)
{
    (void)state;
    grows_in_a_line(make_names, 100000, compare_backwards, true);
    grows_in_a_line(make_long_prefixes, 20000, compare_backwards, true);
    grows_in_a_line(make_long_prefixes, 20000, digest_form, true);
    grows_in_a_line(make_digits, 1 << 20, compare_number, true);
    grows_in_a_line(make_digits, 1 << 20, digest_form, true);
}

static void a_huge_exponent_is_never_expanded(void **state)
{
    clock_t begin = clock();
    double d;
    int64_t n;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        arena_reset(&arena);
        struct json *big = json_parse(&arena, STR("1e999999999"), NULL, NULL);
        struct json *tiny = json_parse(&arena, STR("1e-999999999"), NULL, NULL);
        assert_int_equal(json_number_cmp(big, tiny), 1);
        assert_false(json_i64(big, &n));
        assert_false(json_i64(tiny, &n));
        assert_false(json_double(big, &d));
        assert_true(json_double(tiny, &d));
        buf_clear(&out);
        assert_true(json_write_canonical(&out, big));
        assert_int_equal(out.len, 11);
    }
    assert_true(clock() - begin < CLOCKS_PER_SEC);
}

/* A small text cannot make a large tree: 64 bytes a value, and a value is at least two characters.
 */
static void memory_is_a_fixed_multiple_of_the_text(void **state)
{
    (void)state;
    buf_clear(&out);
    assert_true(buf_add(&out, STR("[1")));
    repeat(STR(",1"), 500000);
    assert_true(buf_add(&out, STR("]")));
    assert_non_null(json_parse(&arena, buf_str(&out), NULL, NULL));
    assert_true(arena.used < out.len * 33 + 128 * 1024);
}

SUBJECT(hostile)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(a_megabyte_of_brackets_is_refused_at_once),
        TREE_TEST(duplicates_among_many_names_are_found_in_linear_time),
        TREE_TEST(long_strings_numbers_and_gaps_are_linear),
        TREE_TEST(comparing_and_sorting_stay_near_linear),
        TREE_TEST(a_huge_exponent_is_never_expanded),
        TREE_TEST(memory_is_a_fixed_multiple_of_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
