/* tests/unit/json/known: what is known need not be read, and nothing else changes by that. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "json/known.h"

#define META "{\"version\":\"2026\",\"can\":{\"form\":{},\"list\":[1,\"two\",null]}}"

static struct json_known known;
static struct arena arena;

static int begin(void **state)
{
    (void)state;
    json_known_init(&known, STR("_meta"));
    arena_init(&arena, 1 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    json_known_finish(&known);
    arena_finish(&arena);
    return 0;
}

static struct json *parse(struct str text, bool with_known, struct json_error *error)
{
    struct json_opts opts = { .refuse_duplicates = true, .known = with_known ? &known : NULL };

    return json_parse(&arena, text, &opts, error);
}

/* Seen as often as it takes to be known. */
static int learn(const char *meta)
{
    char text[2048];

    snprintf(text, sizeof(text), "{\"_meta\":%s}", meta);
    const struct json *value = json_get(parse(str_of(text), false, NULL), STR("_meta"));
    assert_non_null(value);
    json_known_saw(&known, value);
    return json_known_saw(&known, value);
}

static int place_of(struct str text)
{
    const struct json *value = json_get(parse(text, true, NULL), STR("_meta"));

    assert_non_null(value);
    return json_known_place(&known, value);
}

/* With what is known and without: the same tree, or the same error. */
static void assert_same(struct str text)
{
    struct json_error without, with;
    struct json *a = parse(text, false, &without), *b = parse(text, true, &with);

    assert_int_equal(a == NULL, b == NULL);
    if (a) {
        assert_true(json_equal(a, b));
        assert_true(str_eq(a->raw, b->raw));
        const struct json *x = json_get(a, STR("_meta")), *y = json_get(b, STR("_meta"));
        assert_true(!x || (str_eq(x->raw, y->raw) && x->raw.at == y->raw.at &&
                           x->count == y->count && x->lines == y->lines));
    } else {
        assert_int_equal(without.status, with.status);
        assert_int_equal(without.offset, with.offset);
        assert_string_equal(without.what, with.what);
    }
}

static void what_was_seen_twice_is_known(void **state)
{
    static const char text[] = "{\"id\":1,\"_meta\":" META ",\"rest\":[{}]}";

    (void)state;
    struct json *value = parse(STR(text), true, NULL);
    const struct json *meta = json_get(value, STR("_meta"));
    assert_int_equal(json_known_place(&known, meta), -1);
    assert_int_equal(json_known_saw(&known, meta), -1); /* once is not enough */
    assert_int_equal(place_of(STR(text)), -1);
    assert_int_equal(json_known_saw(&known, meta), 0);
    assert_int_equal(place_of(STR(text)), 0);
    assert_same(STR(text));
}

static void only_the_member_of_that_name_is_known(void **state)
{
    (void)state;
    assert_true(learn(META) >= 0);
    struct json *value = parse(STR("{\"meta\":" META ",\"a\":{\"_meta\":" META "}}"), true, NULL);
    assert_int_equal(json_known_place(&known, json_get(value, STR("meta"))), -1);
    assert_true(json_known_place(&known, json_get(json_get(value, STR("a")), STR("_meta"))) >= 0);
}

static void every_text_reads_as_if_nothing_were_known(void **state)
{
    static const char *const texts[] = {
        "{\"_meta\":" META "}",
        "{\"_meta\": " META " , \"b\" : 2 }",
        "{\"_meta\":" META " x}",
        "{\"_meta\":" META "x\":1}",
        "{\"_meta\":" META "]",
        "{\"_meta\":" META,
        "{\"_meta\":" META "  ",
        "{\"_meta\":" META "}}",
        "{\"_meta\":" META ",\"_meta\":" META "}",
        "{\"_meta\":" META ",\"_meta\":1}",
        "[{\"_meta\":" META "},{\"_meta\":" META "}]",
        "{\"a\":{\"b\":[{\"_meta\":" META "}]}}",
        "{\"_meta\":{\"version\":\"2026\"}}",
        "{\"_meta\":\""
        "{}"
        "\"}",
        "{\"_meta\":\n" META "\n}",
    };

    (void)state;
    assert_true(learn(META) >= 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char text[512];
        size_t len = strlen(texts[i]);
        for (size_t cut = 0; cut <= len; cut++) /* and every beginning of it */
            assert_same(str_n(texts[i], cut));
        for (size_t at = 0; at < len; at++) { /* and with any letter another one */
            memcpy(text, texts[i], len);
            text[at] ^= 4;
            assert_same(str_n(text, len));
            arena_reset(&arena);
        }
    }
}

static void depth_is_counted_with_what_is_known(void **state)
{
    char text[1024];

    (void)state;
    assert_true(learn(META) >= 0);
    for (int around = 50; around < 70; around++) {
        size_t len = 0;
        for (int i = 0; i < around; i++)
            text[len++] = '[';
        len += (size_t)snprintf(text + len, sizeof(text) - len, "{\"_meta\":" META "}");
        for (int i = 0; i < around; i++)
            text[len++] = ']';
        assert_same(str_n(text, len));
        arena_reset(&arena);
    }
}

static void some_texts_are_never_known(void **state)
{
    char large[JSON_KNOWN_BYTES_MAX + 16] = "{\"a\":\"";

    (void)state;
    memset(large + 6, 'x', JSON_KNOWN_BYTES_MAX);
    memcpy(large + 6 + JSON_KNOWN_BYTES_MAX, "\"}", 3);
    assert_int_equal(learn(large), -1);
    assert_int_equal(learn("{}"), -1);
    assert_int_equal(learn("{\"a\":\n1}"), -1); /* its line end is counted */
    assert_int_equal(learn("[1]"), -1);
    assert_int_equal(learn("{\"a\":[[[[[[[[[1]]]]]]]]]}"), -1);
}

static void the_oldest_is_forgotten_for_a_new_one(void **state)
{
    char meta[64], text[128];

    (void)state;
    for (int i = 0; i < 3 * JSON_KNOWN_PLACES; i++) {
        snprintf(meta, sizeof(meta), "{\"client\":\"number %d\"}", i);
        assert_int_equal(learn(meta), i % JSON_KNOWN_PLACES);
        for (int j = 0; j <= i; j++) {
            snprintf(text, sizeof(text), "{\"_meta\":{\"client\":\"number %d\"}}", j);
            assert_int_equal(place_of(str_of(text)),
                             j > i - JSON_KNOWN_PLACES ? j % JSON_KNOWN_PLACES : -1);
            assert_same(str_of(text));
        }
    }
}

static void what_is_known_takes_no_other_place(void **state)
{
    struct str text = STR("{\"_meta\":" META "}");

    (void)state;
    int place = learn(META);
    const struct json *value = json_get(parse(text, true, NULL), STR("_meta"));
    for (int i = 0; i < 3 * JSON_KNOWN_PLACES; i++)
        assert_int_equal(json_known_saw(&known, value), place);
    assert_int_equal(known.next, 1);
    assert_ptr_equal(known.texts[place].value->first, value->first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_seen_twice_is_known, begin, end),
        cmocka_unit_test_setup_teardown(only_the_member_of_that_name_is_known, begin, end),
        cmocka_unit_test_setup_teardown(every_text_reads_as_if_nothing_were_known, begin, end),
        cmocka_unit_test_setup_teardown(depth_is_counted_with_what_is_known, begin, end),
        cmocka_unit_test_setup_teardown(some_texts_are_never_known, begin, end),
        cmocka_unit_test_setup_teardown(the_oldest_is_forgotten_for_a_new_one, begin, end),
        cmocka_unit_test_setup_teardown(what_is_known_takes_no_other_place, begin, end),
    };

    return cmocka_run_group_tests_name("json-known", tests, NULL, NULL);
}
