/*
 * tests/unit/json/shown: what a message shows of a value, within bounds, whatever the value is.
 */
#include <stdlib.h>

#include "tree.h"
#include "json/shown.h"
#include "../runner.h"

static struct buf drawn;

static size_t show(const char *text, bool lines)
{
    arena_reset(&arena);
    struct json *v = json_parse(&arena, str_of(text), NULL, &error);
    assert_non_null(v);
    buf_clear(&drawn);
    return json_show(&drawn, v, lines);
}

static void expect(const char *text, const char *wanted)
{
    assert_int_equal(show(text, false), 0);
    buf_add_char(&drawn, '\0');
    assert_string_equal(drawn.at, wanted);
}

static void what_fits_is_json_without_blanks_and_disguises(void **state)
{
    (void)state;
    buf_init(&drawn, SHOWN_ROOM);
    expect(" { \"a\" : [ 1.0 , true,\n null, false ] , \"b\" : { } , \"c\":[ ] } ",
           "{\"a\":[1.0,true,null,false],\"b\":{},\"c\":[]}");
    expect("{\"\\u0072\\u006d\":\"\\u002d\\/ \\\"\\\\\\n\\t\\r\"}",
           "{\"rm\":\"-/ \\\"\\\\\\n\\t\\r\"}");
    buf_finish(&drawn);
}

static void what_cannot_be_seen_is_a_mark(void **state)
{
    (void)state;
    buf_init(&drawn, SHOWN_ROOM);
    expect("\"a\\u202eb\\u001b\\u007f\\udb40\\udc41\\u00a0\\u2028\"",
           "\"a<U+202E>b<ESC><U+007F><U+E0041><U+00A0><U+2028>\"");
    expect("\"\\u200b\\u200b\\u200b\\u200c\"", "\"<U+200B\xC3\x97"
                                               "3><U+200C>\"");
    /* A joined picture is left as it is; a joiner behind a letter is not. */
    expect("\"\xF0\x9F\x91\xA9\\u200d\xF0\x9F\x9A\x80 a\\u200d\"",
           "\"\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x9A\x80 a<U+200D>\"");
    /* Behind a picture: one selector, and one joiner. Whatever more there is hides something. */
    expect("\"\xE2\x86\x92\\ufe0f\\u200d\\ufe0f\\u200d\\u200d\\ufe0e.\"",
           "\"\xE2\x86\x92\xEF\xB8\x8F\xE2\x80\x8D<U+FE0F><U+200D\xC3\x97"
           "2><U+FE0E>.\"");
    /* Blanks that are no space, and signs of notes and shorthand that are not drawn. */
    expect("\"\\ud834\\udd73\\ud82f\\udca3\\u2800\\ufe0f\\u2003\\u1680\"",
           "\"<U+1D173><U+1BCA3><U+2800><U+FE0F><U+2003><U+1680>\"");
    /* One wide space behind Japanese is writing; at the beginning, or behind a letter, it hides. */
    expect("\"\xE4\xBA\xAC\\u3000\xE9\x83\xBD\\u3000\\u3000\\u3000\"",
           "\"\xE4\xBA\xAC\xE3\x80\x80\xE9\x83\xBD\xE3\x80\x80<U+3000\xC3\x97"
           "2>\"");
    expect("\"\\u3000a\\u3000b\\u3000\"", "\"<U+3000>a<U+3000>b<U+3000>\"");
    /* Blanks of hieroglyphs, of music, and of what is no text. */
    expect("\"\\ud80d\\udc41\\ud834\\udd59\\ufffc\"", "\"<U+13441><U+1D159><U+FFFC>\"");
    /* Four accents are writing. */
    expect("\"e\\u0301\\u0301\\u0301\\u0301x\\u0301\"",
           "\"e\xCC\x81\xCC\x81\xCC\x81\xCC\x81x\xCC\x81\"");
    expect("\"e\\u0301\\u0301\\u0301\\u0301\\u0301\\u0301\\u0302x\"",
           "\"e\xCC\x81\xCC\x81\xCC\x81\xCC\x81<U+0301\xC3\x97"
           "2><U+0302>x\"");
    buf_finish(&drawn);
}

/* A value of some kind, with what is drawn long, and many members. */
static void grow(unsigned *seed, int depth, size_t *left)
{
    static const char *const odd[] = { "\\u202e", "\\u200b\\u00ad", "e\\u0301", "\\\"", "\\u001b" };
    size_t count = (size_t)rand_r(seed) % (rand_r(seed) % 4 ? 6 : 400);
    int kind = rand_r(seed) % 5;

    if (kind < 2 && depth < 60 && *left) {
        buf_add_char(&out, kind ? '{' : '[');
        for (size_t i = 0; i < count && *left; i++) {
            --*left;
            if (i)
                buf_add_char(&out, ',');
            if (kind)
                buf_fmt(&out, "\"%zu%0*d\":", i, rand_r(seed) % 9 ? 1 : 300, 0);
            grow(seed, depth + 1, left);
        }
        buf_add_char(&out, kind ? '}' : ']');
        return;
    }
    if (kind == 2) {
        buf_fmt(&out, "1%0*d", (int)count, 0);
        return;
    }
    buf_add_char(&out, '"');
    for (size_t i = 0; i < count; i++)
        buf_fmt(&out, "%s", kind == 3 ? "plain" : odd[rand_r(seed) % 5]);
    buf_add_char(&out, '"');
}

static void whatever_is_drawn_is_bounded_and_nothing_is_missing_without_a_count(void **state)
{
    unsigned seed = 1;
    size_t largest = 0;

    (void)state;
    buf_init(&drawn, SHOWN_ROOM);
    for (int i = 0; i < 300; i++) {
        size_t left = 1500;
        buf_clear(&out);
        grow(&seed, 0, &left);
        buf_add_char(&out, '\0');
        size_t missing = show(out.at, i % 2);
        assert_false(drawn.overflow);
        largest = drawn.len > largest ? drawn.len : largest;
        bool dots = str_find(buf_str(&drawn), STR("\xE2\x80\xA6")) >= 0;
        assert_int_equal(dots, missing > 0);
    }
    assert_in_range(largest, SHOWN_MAX, SHOWN_ROOM);
    buf_finish(&drawn);
}

static void a_number_is_written_as_people_do(void **state)
{
    char count[SHOWN_COUNT_MAX];

    (void)state;
    assert_string_equal(shown_count(count, 0), "0");
    assert_string_equal(shown_count(count, 999), "999");
    assert_string_equal(shown_count(count, 1000), "1,000");
    assert_string_equal(shown_count(count, SIZE_MAX), "18,446,744,073,709,551,615");
}

SUBJECT(shown)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(what_fits_is_json_without_blanks_and_disguises),
        TREE_TEST(what_cannot_be_seen_is_a_mark),
        TREE_TEST(whatever_is_drawn_is_bounded_and_nothing_is_missing_without_a_count),
        TREE_TEST(a_number_is_written_as_people_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
