/*
 * tests/unit/json/parse: what the parser accepts, what it refuses, and how it says so.
 */
#include <dirent.h>

#include "tree.h"
#include "../runner.h"

static void every_kind_of_value_is_read(void **state)
{
    (void)state;
    const struct json *v =
        tree(" { \"a\" : [ null , true , false , -1.5e+3 , \"x\" , { } , [ ] ] } ");
    const struct json *list = json_get(v, STR("a"));

    assert_true(json_is(v, JSON_OBJECT));
    assert_int_equal(v->count, 1);
    assert_int_equal(list->count, 7);
    assert_true(json_is(json_at(list, 0), JSON_NULL));
    assert_true(json_true(json_at(list, 1)));
    assert_true(json_is(json_at(list, 2), JSON_BOOL));
    assert_false(json_true(json_at(list, 2)));
    assert_true(str_eq(json_at(list, 3)->text, STR("-1.5e+3")));
    assert_true(str_eq(json_str(json_at(list, 4)), STR("x")));
    assert_true(json_is(json_at(list, 5), JSON_OBJECT));
    assert_true(json_is(json_at(list, 6), JSON_ARRAY));
    assert_null(json_at(list, 7));
}

static void every_value_knows_its_raw_bytes(void **state)
{
    (void)state;
    const struct json *v = tree(" [ {\"a\\n\": \"\\u0041\"} , 1.50 , true ] ");
    const struct json *object = json_at(v, 0);

    assert_true(str_eq(v->raw, STR("[ {\"a\\n\": \"\\u0041\"} , 1.50 , true ]")));
    assert_true(str_eq(object->raw, STR("{\"a\\n\": \"\\u0041\"}")));
    assert_true(str_eq(object->first->raw, STR("\"\\u0041\"")));
    assert_true(str_eq(object->first->key, STR("a\n")));
    assert_true(str_eq(json_at(v, 1)->raw, STR("1.50")));
    assert_true(str_eq(json_at(v, 2)->raw, STR("true")));
}

static void escapes_are_undone(void **state)
{
    static const struct {
        const char *json;
        struct str text;
    } rows[] = {
        { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", STR_INIT("\"\\/\b\f\n\r\t") },
        { "\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"",
          STR_INIT("A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80") },
        { "\"\\u0000\"", STR_INIT("\0") },
        { "\"\\uDBFF\\uDFFF\"", STR_INIT("\xF4\x8F\xBF\xBF") },
        { "\"before\\nand behind, longer than a word\"",
          STR_INIT("before\nand behind, longer than a word") },
        { "\"\"", STR_INIT("") },
        { "\"\x7F\xC2\x80\xEE\x80\x80\"", STR_INIT("\x7F\xC2\x80\xEE\x80\x80") },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_true(str_eq(json_str(tree(rows[i].json)), rows[i].text));
}

/* A special byte is found at every place of a word and of what follows it. */
static void a_string_of_any_length_ends_at_its_quote(void **state)
{
    char text[80];

    (void)state;
    for (size_t len = 0; len < 70; len++) {
        memset(text, 'x', sizeof(text));
        text[0] = '"';
        text[len + 1] = '"';
        struct json *v = tree_parse_with(str_n(text, len + 2), NULL);
        assert_non_null(v);
        assert_int_equal(v->text.len, len);

        text[len + 1] = '\x1F';
        assert_null(tree_parse_with(str_n(text, sizeof(text)), NULL));
        assert_int_equal(error.offset, len + 1);
        text[len + 1] = '\x80';
        assert_null(tree_parse_with(str_n(text, sizeof(text)), NULL));
        assert_int_equal(error.offset, len + 1);
    }
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    static const struct {
        const char *json;
        size_t offset;
        const char *what;
    } rows[] = {
        { "", 0, "expected a value" },
        { "  ", 2, "expected a value" },
        { "[1,]", 3, "expected a value" },
        { "[1 2]", 3, "expected a comma or a closing bracket" },
        { "[1}", 2, "expected a comma or a closing bracket" },
        { "[", 1, "the text ends within an array" },
        { "[1", 2, "the text ends within an array" },
        { "[1,", 3, "expected a value" },
        { "{", 1, "the text ends within an object" },
        { "{\"a\"", 4, "expected a colon after the member name" },
        { "{\"a\":", 5, "expected a value" },
        { "{\"a\":1", 6, "the text ends within an object" },
        { "{\"a\":1,}", 7, "expected a member name in double quotes" },
        { "{a:1}", 1, "expected a member name in double quotes" },
        { "{\"a\" 1}", 5, "expected a colon after the member name" },
        { "{\"a\":1]", 6, "expected a comma or a closing brace" },
        { "[[1] ", 5, "the text ends within an array" },
        { "{\"a\":[1]", 8, "the text ends within an object" },
        { "[ \n", 3, "the text ends within an array" },
        { "[\"a] ", 5, "the text ends within a string" },
        { "[1] x", 4, "expected nothing after the value" },
        { "[1]]", 3, "expected nothing after the value" },
        { "[,]", 1, "expected a value" },
        { "[tru]", 1, "expected a value" },
        { "\"abc", 4, "the text ends within a string" },
        { "\"abc\\", 5, "the text ends within a string" },
        { "\"a\nb\"", 2, "a control character in a string must be escaped" },
        { "\"a\\x\"", 2, "not an escape that JSON knows" },
        { "\"a\\\xC3\xA9\"", 2, "not an escape that JSON knows" },
        { "\"\\u12G4\"", 1, "expected four hexadecimal digits in an escape" },
        { "\"\\u12\"", 1, "expected four hexadecimal digits in an escape" },
        { "\"\\ud800\"", 1, "an escape of half a surrogate pair" },
        { "\"\\ud800\\u0041\"", 1, "an escape of half a surrogate pair" },
        { "\"\\udc00\"", 1, "an escape of half a surrogate pair" },
        { "\"\xC0\xAF\"", 1, "a string that is not valid UTF-8" },
        { "\"\xED\xA0\x80\"", 1, "a string that is not valid UTF-8" },
        { "\"\xF4\x90\x80\x80\"", 1, "a string that is not valid UTF-8" },
        { "\"\xE0\x80\x80\"", 1, "a string that is not valid UTF-8" },
        { "\"\xF0\x80\x80\x80\"", 1, "a string that is not valid UTF-8" },
        { "\"\xE2\x82", 1, "a string that is not valid UTF-8" },
        { "{\"\xFF\":1}", 2, "a string that is not valid UTF-8" },
        { "01", 0, "a number must not begin with a zero" },
        { "-", 1, "expected a digit" },
        { "1.", 2, "expected a digit after the decimal point" },
        { "1e+", 3, "expected a digit in the exponent" },
        { "+1", 0, "expected a value" },
        { "NaN", 0, "expected a value" },
        { "tru", 0, "expected a value" },
        { "1 2", 2, "expected nothing after the value" },
        { "null\v", 4, "expected nothing after the value" },
        { "\xEF\xBB\xBF{}", 0, "the text begins with a byte order mark" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_null(tree_parse(rows[i].json));
        assert_string_equal(error.what, rows[i].what);
        assert_int_equal(error.offset, rows[i].offset);
        assert_int_equal(error.status, NOD_E_PARSE);
    }
}

static void a_nul_byte_ends_nothing(void **state)
{
    (void)state;
    assert_null(tree_parse_with(STR("1\0"), NULL));
    assert_null(tree_parse_with(STR("\"a\0b\""), NULL));
    assert_null(json_parse(&arena, STR_NONE, NULL, NULL));
}

static void depth_stops_where_it_was_set(void **state)
{
    static const struct {
        uint32_t asked;
        size_t allowed;
    } rows[] = {
        { 0, JSON_DEPTH_DEFAULT }, { 1, 1 }, { 100, 100 }, { UINT32_MAX, JSON_DEPTH_MAX }
    };
    char text[2 * JSON_DEPTH_MAX + 2];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct json_opts opts = { .max_depth = rows[i].asked };
        size_t n = rows[i].allowed;
        memset(text, '[', n);
        memset(text + n, ']', n);
        assert_non_null(tree_parse_with(str_n(text, 2 * n), &opts));
        memset(text, '[', n + 1);
        memset(text + n + 1, ']', n + 1);
        assert_null(tree_parse_with(str_n(text, 2 * n + 2), &opts));
        assert_int_equal(error.status, NOD_E_LIMIT);
        assert_int_equal(error.offset, n);
    }
}

/* Whether the arena has one block or many, and whether strings take room between the values. */
static void values_stop_where_they_were_set(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 300; count++) {
        buf_clear(&out);
        for (uint32_t i = 1; i < count; i++)
            assert_true(buf_fmt(&out, "%s%s", i > 1 ? "," : "[", i % 3 ? "1" : "\"\\u00e9\""));
        assert_true(buf_add(&out, count > 1 ? STR("]") : STR("[]")));
        for (uint32_t most = count - 1; most <= count + 1; most++) {
            struct json_opts opts = { .max_values = most };
            arena_reset(&arena);
            assert_int_equal(tree_parse_with(buf_str(&out), &opts) != NULL, !most || most >= count);
            if (most && most < count) {
                assert_int_equal(error.status, NOD_E_LIMIT);
                assert_string_equal(error.what,
                                    "the document has more values than are allowed for it");
            }
        }
    }
}

static void names_are_refused_twice_only_where_asked(void **state)
{
    static const struct json_opts refuse = { .refuse_duplicates = true };
    const struct json *v = tree("{\"a\":1,\"b\":2,\"a\":3}");
    int64_t n;

    (void)state;
    assert_true(json_i64(json_get(v, STR("a")), &n));
    assert_int_equal(n, 3);
    assert_null(tree_parse_with(STR("{\"a\":1,\"b\":2,\"a\":3}"), &refuse));
    assert_int_equal(error.offset, 17);
    assert_null(tree_parse_with(STR("{\"a\":1,\"\\u0061\":2}"), &refuse));
    assert_null(tree_parse_with(STR("[{\"x\":{\"\":1,\"\":2}}]"), &refuse));
    assert_non_null(
        tree_parse_with(STR("{\"a\":{\"a\":1},\"A\":1,\"\":2,\"aa\":[{\"a\":1}]}"), &refuse));
}

/* Small and large objects are checked in two ways: both find any one pair. */
static void any_pair_of_equal_names_is_found(void **state)
{
    static const struct json_opts refuse = { .refuse_duplicates = true };

    (void)state;
    for (int count = 2; count <= 40; count++)
        for (int twin = -1; twin < count - 1; twin++) {
            buf_clear(&out);
            for (int i = 0; i < count; i++) {
                int name = i == count - 1 && twin >= 0 ? twin : i;
                assert_true(buf_fmt(&out, "%s\"k%d\":%d", i ? "," : "{", name, i));
            }
            assert_true(buf_add(&out, STR("}")));
            arena_reset(&arena);
            assert_int_equal(tree_parse_with(buf_str(&out), &refuse) == NULL, twin >= 0);
        }
}

static void the_arenas_cap_is_a_limit_error(void **state)
{
    static const char text[] = "[[1,2,3],{\"a\":\"\\u00e9\"},\"a\\nb\",[[[[[[[[1]]]]]]]]]";
    size_t refused = 0;

    (void)state;
    for (size_t cap = 0; cap < 4096; cap += 16) {
        struct arena small;
        arena_init(&small, cap);
        if (!json_parse(&small, STR(text), NULL, &error)) {
            assert_int_equal(error.status, NOD_E_LIMIT);
            assert_string_equal(error.what,
                                "the document needs more memory than is allowed for it");
            refused++;
        }
        assert_true(small.used <= cap);
        arena_finish(&small);
    }
    assert_in_range(refused, 64, 200);
}

/* --- the public parsing suite --- */

static bool suite_read(const char *folder, const char *name, struct str *text)
{
    char path[4096];
    int len = snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = len > 0 && (size_t)len < sizeof(path) ? fopen(path, "rb") : NULL;

    if (!file)
        return false;
    buf_clear(&out);
    for (size_t got = 1; got;) {
        char *to = buf_reserve(&out, 4096);
        assert_non_null(to);
        got = fread(to, 1, 4096, file);
        out.len += got;
    }
    fclose(file);
    *text = buf_str(&out);
    return true;
}

static void suite_check(const char *folder, const char *name, size_t *checked)
{
    struct str text = STR_NONE;

    assert_true(suite_read(folder, name, &text));
    arena_reset(&arena);
    bool taken = tree_parse_with(text, NULL) != NULL;
    if (name[0] == 'i')
        printf("%s: %s\n", name, taken ? "taken" : error.what);
    else if (taken != (name[0] == 'y'))
        fail_msg("%s was %s", name, taken ? "taken" : error.what);
    ++*checked;
}

static void the_parsing_suite_is_passed_whole(void **state)
{
    enum { SUITE_FILES_LEAST = 300 };
    const char *data = getenv("NOD_SHARED_DATA");
    char folder[2048];
    size_t checked = 0;

    (void)state;
    snprintf(folder, sizeof(folder), "%s/json-parsing", data ? data : ".");
    DIR *dir = opendir(folder);
    if (!dir) {
        printf("json-parsing is not present: the tables of this file stand alone\n");
        skip();
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strchr("yni", entry->d_name[0]) && entry->d_name[1] == '_')
            suite_check(folder, entry->d_name, &checked);
    closedir(dir);
    assert_true(checked >= SUITE_FILES_LEAST);
}

SUBJECT(parse)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(every_kind_of_value_is_read),
        TREE_TEST(every_value_knows_its_raw_bytes),
        TREE_TEST(escapes_are_undone),
        TREE_TEST(a_string_of_any_length_ends_at_its_quote),
        TREE_TEST(what_is_wrong_is_said_with_its_place),
        TREE_TEST(a_nul_byte_ends_nothing),
        TREE_TEST(depth_stops_where_it_was_set),
        TREE_TEST(values_stop_where_they_were_set),
        TREE_TEST(names_are_refused_twice_only_where_asked),
        TREE_TEST(any_pair_of_equal_names_is_found),
        TREE_TEST(the_arenas_cap_is_a_limit_error),
        TREE_TEST(the_parsing_suite_is_passed_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
