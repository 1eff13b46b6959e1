/*
 * tests/unit/json/write: the writer cannot be made to write invalid JSON.
 */
#include <math.h>

#include "tree.h"
#include "../runner.h"

static struct json_writer w;

static void begin(void)
{
    buf_clear(&out);
    json_writer_init(&w, &out);
}

static const char *written(void)
{
    assert_true(json_writer_done(&w));
    assert_true(buf_add_char(&out, '\0'));
    return out.at;
}

static void numbers_pass_through_unchanged(void **state)
{
    static const char *const rows[] = {
        "0.1", "1E400", "18446744073709551615", "9007199254740993", "-0", "1.0", "1e+2", "0.10e-00",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct json *v = tree(rows[i]);
        assert_string_equal(tree_text(v), rows[i]);
        assert_string_equal(tree_text(json_copy(&arena, v)), rows[i]);
    }
}

static void values_come_out_with_commas_where_they_belong(void **state)
{
    (void)state;
    begin();
    jw_object(&w);
    jw_key_str(&w, STR("a"), STR("x"));
    jw_key(&w, STR("b"));
    jw_array(&w);
    jw_i64(&w, -1);
    jw_raw(&w, STR("18446744073709551615"));
    jw_double(&w, 0.5);
    jw_array(&w);
    jw_end(&w);
    jw_object(&w);
    jw_end(&w);
    jw_null(&w);
    jw_end(&w);
    jw_key_bool(&w, STR("c"), true);
    jw_key_i64(&w, STR("d"), 4);
    jw_key_raw(&w, STR("e"), STR("[1]"));
    jw_key_value(&w, STR("f"), tree("{\"g\":1.50}"));
    jw_key_value(&w, STR(""), NULL);
    jw_end(&w);
    assert_string_equal(written(), "{\"a\":\"x\",\"b\":[-1,18446744073709551615,0.5,[],{},null],"
                                   "\"c\":true,\"d\":4,\"e\":[1],\"f\":{\"g\":1.50},\"\":null}");
}

static void strings_are_escaped_only_where_they_must_be(void **state)
{
    static const struct {
        struct str text;
        const char *json;
    } rows[] = {
        { STR_INIT("plain"), "\"plain\"" },
        { STR_INIT(""), "\"\"" },
        { { NULL, 0 }, "\"\"" },
        { STR_INIT("\"\\/\b\f\n\r\t"), "\"\\\"\\\\/\\b\\f\\n\\r\\t\"" },
        { STR_INIT("\0\x01\x1f\x7f"), "\"\\u0000\\u0001\\u001f\x7f\"" },
        { STR_INIT("\xC3\xA9\xF0\x9F\x98\x80"), "\"\xC3\xA9\xF0\x9F\x98\x80\"" },
        { STR_INIT("a long run of plain text\nand another long run of it"),
          "\"a long run of plain text\\nand another long run of it\"" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin();
        jw_str(&w, rows[i].text);
        assert_string_equal(written(), rows[i].json);
        assert_true(str_eq(json_str(tree(rows[i].json)), rows[i].text));
    }
}

static void objects_opened_at_once_are_as_if_one_by_one(void **state)
{
    (void)state;
    begin();
    jw_array(&w);
    jw_null(&w);
    jw_open(&w, STR("{\"a\":1,\"b\":{\"c\":"), 2);
    jw_bool(&w, true);
    jw_key_i64(&w, STR("d"), 2);
    jw_end(&w);
    jw_key_str(&w, STR("e"), STR("f"));
    jw_end(&w);
    jw_open(&w, STR("{\"g\":{\"h\":"), 2);
    jw_array(&w);
    jw_end(&w);
    jw_close(&w, 2);
    jw_end(&w);
    assert_string_equal(
        written(), "[null,{\"a\":1,\"b\":{\"c\":true,\"d\":2},\"e\":\"f\"},{\"g\":{\"h\":[]}}]");
}

static void an_unfinished_or_empty_text_is_not_done(void **state)
{
    (void)state;
    begin();
    assert_false(json_writer_done(&w));
    jw_object(&w);
    assert_false(json_writer_done(&w));
    jw_key(&w, STR("a"));
    assert_false(json_writer_done(&w));
    jw_null(&w);
    assert_false(json_writer_done(&w));
    jw_end(&w);
    assert_true(json_writer_done(&w));
}

static void value_without_key(void)
{
    jw_object(&w);
    jw_null(&w);
}

static void key_in_array(void)
{
    jw_array(&w);
    jw_key(&w, STR("a"));
}

static void key_at_the_top(void)
{
    jw_key(&w, STR("a"));
}

static void key_behind_key(void)
{
    jw_object(&w);
    jw_key(&w, STR("a"));
    jw_key(&w, STR("b"));
}

static void end_behind_key(void)
{
    jw_object(&w);
    jw_key(&w, STR("a"));
    jw_end(&w);
}

static void end_without_begin(void)
{
    jw_end(&w);
}

static void one_end_too_many(void)
{
    jw_array(&w);
    jw_end(&w);
    jw_end(&w);
}

static void two_values(void)
{
    jw_null(&w);
    jw_null(&w);
}

static void container_behind_value(void)
{
    jw_i64(&w, 1);
    jw_object(&w);
}

static void open_behind_value(void)
{
    jw_null(&w);
    jw_open(&w, STR("{\"a\":"), 1);
}

static void open_without_key(void)
{
    jw_object(&w);
    jw_open(&w, STR("{\"a\":"), 1);
}

static void open_without_value(void)
{
    jw_open(&w, STR("{\"a\":"), 1);
    jw_close(&w, 1);
}

static void open_too_deep(void)
{
    for (int i = 0; i < JSON_WRITE_DEPTH - 1; i++)
        jw_array(&w);
    jw_open(&w, STR("{\"a\":{\"b\":"), 2);
}

static void text_not_utf8(void)
{
    jw_str(&w, STR("a\xFF"));
}

static void key_not_utf8(void)
{
    jw_object(&w);
    jw_key(&w, STR("\xED\xA0\x80"));
}

static void infinite(void)
{
    jw_double(&w, INFINITY);
}

static void not_a_number(void)
{
    jw_double(&w, NAN);
}

static void empty_raw(void)
{
    jw_raw(&w, STR(""));
}

static void too_deep(void)
{
    for (int i = 0; i <= JSON_WRITE_DEPTH; i++)
        jw_array(&w);
}

/* Whatever went wrong, nothing that follows writes a byte or makes it right again. */
static void misuse_fails_for_good(void **state)
{
    static void (*const misuses[])(void) = {
        value_without_key,      key_in_array,       key_at_the_top,   key_behind_key,
        end_behind_key,         end_without_begin,  one_end_too_many, two_values,
        container_behind_value, text_not_utf8,      key_not_utf8,     infinite,
        not_a_number,           empty_raw,          too_deep,         open_behind_value,
        open_without_key,       open_without_value, open_too_deep,
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(misuses); i++) {
        begin();
        misuses[i]();
        assert_true(w.failed);
        size_t len = out.len;
        jw_object(&w);
        jw_key_str(&w, STR("a"), STR("b"));
        jw_array(&w);
        for (int k = 0; k < JSON_WRITE_DEPTH + 3; k++)
            jw_end(&w);
        jw_value(&w, tree("[1]"));
        assert_int_equal(out.len, len);
        assert_false(json_writer_done(&w));
    }
}

static void every_depth_up_to_the_limit_is_written(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < JSON_WRITE_DEPTH; i++) {
        if (i % 3)
            jw_array(&w);
        else
            jw_object(&w);
        if (i % 3 == 0)
            jw_key(&w, STR("k"));
    }
    jw_null(&w);
    for (int i = 0; i < JSON_WRITE_DEPTH; i++)
        jw_end(&w);
    const char *text = written();
    struct json_opts deep = { .max_depth = JSON_DEPTH_MAX };
    struct json *v = tree_parse_with(str_of(text), &deep);
    assert_non_null(v);
    assert_non_null(json_copy(&arena, v));
    tree_text(json_copy(&arena, v));
}

static void a_tree_that_is_too_deep_fails_and_ends(void **state)
{
    struct json *v = json_new_array(&arena);

    (void)state;
    for (int i = 0; i < 100000; i++) {
        struct json *around = json_new_array(&arena);
        json_push(around, v);
        v = around;
    }
    buf_clear(&out);
    assert_false(json_write(&out, v));
    buf_clear(&out);
    assert_false(json_write_canonical(&out, v));
    assert_null(json_copy(&arena, v));
    assert_true(json_equal(v, v));
}

static void the_limit_of_the_buffer_is_exact(void **state)
{
    static const char text[] = "{\"a\":[1,\"x\\n\",null],\"b\":{}}";
    struct json *v = json_copy(&arena, tree(text));

    (void)state;
    for (size_t limit = 0; limit <= sizeof(text); limit++) {
        struct buf small;
        buf_init(&small, limit);
        assert_int_equal(json_write(&small, v), limit >= sizeof(text) - 1);
        assert_true(small.len <= limit);
        buf_finish(&small);
    }
}

static void what_spans_lines_is_written_on_one(void **state)
{
    (void)state;
    assert_string_equal(
        tree_text(tree("[\n 1.50,\r\n {\"a\\u0041\" :\t\"\\u0041\\n\"}, {\n}\n]\n")),
        "[1.50,{\"a\\u0041\" :\t\"\\u0041\\n\"},{}]");
    assert_string_equal(tree_text(tree("{\"\\u0022\": [1,\n2]}")), "{\"\\\"\":[1,2]}");
}

/* --- the canonical form --- */

static void canonical(const char *from, const char *to)
{
    struct json *v = tree(from);

    assert_string_equal(tree_canonical(v), to);
    assert_string_equal(tree_canonical(json_copy(&arena, v)), to);
    assert_string_equal(tree_canonical(tree(to)), to);
}

static void the_exact_form_is_sorted_and_keeps_every_number_as_it_was_written(void **state)
{
    (void)state;
    buf_clear(&out);
    assert_true(json_write_exact(
        &out,
        tree("{ \"b\": [1.0, 1, -0, 1E2],\n \"a\": {\"\\u0041\": 0.10000000000000000001} }")));
    assert_true(buf_add_char(&out, '\0'));
    assert_string_equal(out.at, "{\"a\":{\"A\":0.10000000000000000001},\"b\":[1.0,1,-0,1E2]}");
}

static void the_examples_of_rfc_8785_come_out_as_it_says(void **state)
{
    (void)state;
    canonical(
        "{\n  \"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3, "
        "0.000000000000000000000000001],\n  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042"
        "\\u0022\\u005c\\\\\\\"\\/\",\n  \"literals\": [null, true, false]\n}",
        "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
        "\"string\":\"\xE2\x82\xAC$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
    canonical(
        "{\"\\u20ac\": \"Euro Sign\",\"\\r\": \"Carriage Return\",\"\\ufb33\": \"Hebrew Letter "
        "Dalet With Dagesh\",\"1\": \"One\",\"\\ud83d\\ude00\": \"Emoji: Grinning Face\","
        "\"\\u0080\": \"Control\",\"\\u00f6\": \"Latin Small Letter O With Diaeresis\"}",
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xC2\x80\":\"Control\",\"\xC3\xB6\":\"Latin "
        "Small Letter O With Diaeresis\",\"\xE2\x82\xAC\":\"Euro Sign\",\"\xF0\x9F\x98\x80\":"
        "\"Emoji: Grinning Face\",\"\xEF\xAC\xB3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

static void names_sort_at_every_level_and_prefixes_first(void **state)
{
    (void)state;
    canonical("{\"b\":{\"y\":1,\"x\":[{\"d\":1,\"c\":2}]},\"aa\":1,\"a\":2,\"\":3}",
              "{\"\":3,\"a\":2,\"aa\":1,\"b\":{\"x\":[{\"c\":2,\"d\":1}],\"y\":1}}");
}

static void numbers_that_a_double_would_confuse_keep_their_text(void **state)
{
    (void)state;
    canonical("[-0,0.0,1.0,1e2,0.10]", "[0,0,1,100,0.1]");
    canonical("[1E400,-1e400,1e-400,9007199254740993,18446744073709551615]",
              "[1E400,-1e400,1e-400,9007199254740993,18446744073709551615]");
    canonical("[9007199254740992.0,1e21,100000000000000000000,1e23]",
              "[9007199254740992,1e+21,100000000000000000000,1e+23]");
}

static void many_members_sort_in_any_order(void **state)
{
    enum { MEMBERS = 1000 };
    struct json *forward = json_new_object(&arena);
    struct json *stride = json_new_object(&arena);
    char key[16];

    (void)state;
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(key, sizeof(key), "k%04d", i);
        json_set_new(&arena, forward, str_of(key), json_new_i64(&arena, i));
        int other = i * 617 % MEMBERS;
        snprintf(key, sizeof(key), "k%04d", other);
        json_set_new(&arena, stride, str_of(key), json_new_i64(&arena, other));
    }
    assert_true(json_equal(forward, stride));
    const char *sorted = tree_text(forward);
    struct str kept = arena_str(&arena, str_of(sorted));
    assert_string_equal(tree_canonical(stride), kept.at);
    json_set(&arena, stride, STR("k0617"), json_new_i64(&arena, -1));
    assert_false(json_equal(forward, stride));
}

SUBJECT(write)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(numbers_pass_through_unchanged),
        TREE_TEST(values_come_out_with_commas_where_they_belong),
        TREE_TEST(strings_are_escaped_only_where_they_must_be),
        TREE_TEST(objects_opened_at_once_are_as_if_one_by_one),
        TREE_TEST(an_unfinished_or_empty_text_is_not_done),
        TREE_TEST(misuse_fails_for_good),
        TREE_TEST(every_depth_up_to_the_limit_is_written),
        TREE_TEST(a_tree_that_is_too_deep_fails_and_ends),
        TREE_TEST(the_limit_of_the_buffer_is_exact),
        TREE_TEST(what_spans_lines_is_written_on_one),
        TREE_TEST(the_exact_form_is_sorted_and_keeps_every_number_as_it_was_written),
        TREE_TEST(the_examples_of_rfc_8785_come_out_as_it_says),
        TREE_TEST(names_sort_at_every_level_and_prefixes_first),
        TREE_TEST(numbers_that_a_double_would_confuse_keep_their_text),
        TREE_TEST(many_members_sort_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
