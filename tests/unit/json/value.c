/* tests/unit/json/value: getters, builders, equality, and random trees through text and back. */
#include "tree.h"
#include "../runner.h"

static void getters_say_not_there_instead_of_crashing(void **state)
{
    const struct json *v = tree("{\"s\":\"x\",\"n\":1,\"a\":[1],\"z\":null}");
    int64_t n;

    (void)state;
    assert_null(json_get(NULL, STR("a")));
    assert_null(json_get(v, STR("b")));
    assert_null(json_get(json_get(v, STR("a")), STR("0")));
    assert_null(json_get(json_get(v, STR("s")), STR("x")));
    assert_null(json_at(v, 0));
    assert_null(json_at(NULL, 0));
    assert_null(json_at(json_get(v, STR("a")), 1));
    assert_null(json_str(json_get(v, STR("n"))).at);
    assert_null(json_get_str(v, STR("n")).at);
    assert_null(json_get_str(NULL, STR("n")).at);
    assert_false(json_true(NULL));
    assert_false(json_true(json_get(v, STR("n"))));
    assert_false(json_i64(json_get(v, STR("s")), &n));
    assert_null(json_first(NULL));
    assert_null(json_first(json_get(v, STR("s"))));
    assert_true(str_eq(json_get_str(v, STR("s")), STR("x")));
}

static void members_picked_together_are_those_got_one_by_one(void **state)
{
    static const struct str keys[] = { STR_INIT("twice"), STR_INIT(""), STR_INIT("none"),
                                       STR_INIT("a"), STR_INIT("b") };
    static const char *const objects[] = {
        "{\"b\":1,\"twice\":2,\"\":3,\"twice\":4,\"c\":5}",
        "{}",
        "[\"a\"]",
        "\"a\"",
    };
    const struct json *found[COUNT_OF(keys)];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        const struct json *v = tree(objects[i]);
        json_pick(v, keys, COUNT_OF(keys), found);
        for (size_t k = 0; k < COUNT_OF(keys); k++)
            assert_ptr_equal(found[k], json_get(v, keys[k]));
    }
    json_pick(NULL, keys, 1, found);
    assert_null(found[0]);
}

static void pointers_follow_rfc_6901(void **state)
{
    static const struct {
        const char *pointer;
        const char *found; /* NULL: nothing */
    } rows[] = {
        { "/foo", "[\"bar\",\"baz\"]" },
        { "/foo/0", "\"bar\"" },
        { "/", "0" },
        { "/a~1b", "1" },
        { "/c%d", "2" },
        { "/m~0n", "8" },
        { "/x/y/1/z", "true" },
        { "/foo/2", NULL },
        { "/foo/-", NULL },
        { "/foo/01", NULL },
        { "/foo/+1", NULL },
        { "/foo/", NULL },
        { "/foo/18446744073709551616", NULL },
        { "/foo/0/0", NULL },
        { "foo", NULL },
        { "/m~n", NULL },
        { "/m~", NULL },
        { "/nothing", NULL },
        { "/fo", NULL },
    };
    const struct json *v = tree("{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"m~n\":8,"
                                "\"x\":{\"y\":[1,{\"z\":true}]}}");

    (void)state;
    assert_ptr_equal(json_pointer(v, STR("")), v);
    assert_null(json_pointer(NULL, STR("/a")));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct json *found = json_pointer(v, str_of(rows[i].pointer));
        if (!rows[i].found)
            assert_null(found);
        else
            assert_true(str_eq(found->raw, str_of(rows[i].found)));
    }
}

static void types_have_names_a_person_reads(void **state)
{
    (void)state;
    assert_string_equal(json_type_name(tree("{}")), "an object");
    assert_string_equal(json_type_name(tree("[]")), "an array");
    assert_string_equal(json_type_name(tree("\"\"")), "a string");
    assert_string_equal(json_type_name(tree("1")), "a number");
    assert_string_equal(json_type_name(tree("true")), "a boolean");
    assert_string_equal(json_type_name(tree("null")), "null");
    assert_string_equal(json_type_name(NULL), "nothing");
}

static void a_set_key_is_replaced_in_its_place(void **state)
{
    struct json *v = json_new_object(&arena);

    (void)state;
    json_set(&arena, v, STR("a"), json_new_i64(&arena, 1));
    json_set(&arena, v, STR("b"), json_new_str(&arena, STR("\"")));
    json_set(&arena, v, STR("c"), json_new_null(&arena));
    json_set(&arena, v, STR("a"), json_new_bool(&arena, true));
    json_set(&arena, v, STR("c"), json_new_array(&arena));
    json_set(&arena, v, STR("b"), json_new_double(&arena, 1.5));
    json_set(&arena, v, STR("\xC3\xA9\n"), json_new_object(&arena));
    assert_int_equal(v->count, 4);
    assert_string_equal(tree_text(v), "{\"a\":true,\"b\":1.5,\"c\":[],\"\xC3\xA9\\n\":{}}");
}

static void building_with_nothing_does_nothing(void **state)
{
    struct json *object = json_new_object(&arena);
    struct json *array = json_new_array(&arena);

    (void)state;
    json_set(&arena, NULL, STR("a"), json_new_null(&arena));
    json_set(&arena, array, STR("a"), json_new_null(&arena));
    json_set(&arena, object, STR("a"), NULL);
    json_set_new(&arena, object, STR("a"), NULL);
    json_push(NULL, json_new_null(&arena));
    json_push(object, json_new_null(&arena));
    json_push(array, NULL);
    assert_int_equal(object->count, 0);
    assert_int_equal(array->count, 0);
    assert_null(json_copy(&arena, NULL));
}

static void past_the_cap_builders_give_null(void **state)
{
    struct arena small;
    struct json *list;
    size_t built = 0;

    (void)state;
    arena_init(&small, 2048);
    list = json_new_array(&small);
    for (int i = 0; i < 1000; i++) {
        struct json *item = json_new_object(&small);
        json_set(&small, item, STR("key"), json_new_str(&small, STR("value")));
        json_push(list, item);
        built += item != NULL;
    }
    assert_true(built > 0 && built < 30);
    assert_true(small.exhausted);
    assert_int_equal(list->count, built);
    assert_null(json_copy(&small, list));
    arena_finish(&small);
}

static void what_is_changed_is_no_longer_written_raw(void **state)
{
    struct json *v = tree("{\"a\": 1, \"b\": [ 1 ]}");

    (void)state;
    json_set(&arena, v, STR("a"), json_new_i64(&arena, 2));
    assert_string_equal(tree_text(v), "{\"a\":2,\"b\":[ 1 ]}");
}

static void a_copy_outlives_its_source(void **state)
{
    static const char text[] = "{\"a\":[1.0,\"x\\ny\",true,null],\"\\u00e9\":{\"\":\"\"}}";
    struct arena other;
    char *source = malloc(sizeof(text));

    (void)state;
    assert_non_null(source);
    memcpy(source, text, sizeof(text));
    arena_init(&other, 1 << 20);
    struct json *copy = json_copy(&arena, json_parse(&other, str_of(source), NULL, NULL));
    arena_finish(&other);
    memset(source, '!', sizeof(text));
    free(source);
    assert_null(copy->raw.at);
    assert_string_equal(tree_text(copy),
                        "{\"a\":[1.0,\"x\\ny\",true,null],\"\xC3\xA9\":{\"\":\"\"}}");
}

static void equality_is_that_of_json_schema(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        bool equal;
    } rows[] = {
        { "1", "1.0", true },
        { "1", "true", false },
        { "1", "\"1\"", false },
        { "0", "false", false },
        { "null", "null", true },
        { "null", "0", false },
        { "\"\\u0041\"", "\"A\"", true },
        { "\"a\"", "\"b\"", false },
        { "[1,2]", "[1.0,20e-1]", true },
        { "[1,2]", "[2,1]", false },
        { "[1,2]", "[1,2,3]", false },
        { "[]", "{}", false },
        { "{\"a\":1,\"b\":{\"c\":[],\"d\":2}}", "{\"b\":{\"d\":2.0,\"c\":[]},\"a\":1}", true },
        { "{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}", false },
        { "{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false },
        { "{\"a\":1,\"b\":2}", "{\"b\":2,\"c\":1}", false },
        { "{\"a\":1}", "{\"a\":1,\"b\":2}", false },
        { "{\"a\":null}", "{\"b\":null}", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(json_equal(tree(rows[i].a), tree(rows[i].b)), rows[i].equal);
        assert_int_equal(json_equal(tree(rows[i].b), tree(rows[i].a)), rows[i].equal);
    }
    assert_true(json_equal(NULL, NULL));
    assert_false(json_equal(NULL, tree("null")));
}

/* --- random trees --- */

static uint64_t seed = 0x9E3779B97F4A7C15u;

static uint32_t random_below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 32) % n;
}

static struct str random_text(char *to, size_t room)
{
    static const struct str bits[] = {
        STR_INIT("a"),
        STR_INIT("\""),
        STR_INIT("\\"),
        STR_INIT("\n"),
        STR_INIT("\0"),
        STR_INIT("\xC3\xA9"),
        STR_INIT("\xE2\x82\xAC"),
        STR_INIT("\xF0\x9F\x98\x80"),
        STR_INIT("\x1f"),
        STR_INIT("\x7f"),
        STR_INIT("some longer plain text"),
    };
    size_t len = 0;

    for (uint32_t n = random_below(8); n; n--) {
        struct str bit = bits[random_below(COUNT_OF(bits))];
        if (len + bit.len > room)
            break;
        memcpy(to + len, bit.at, bit.len);
        len += bit.len;
    }
    return str_n(to, len);
}

static struct json *random_scalar(void)
{
    char text[256];

    switch (random_below(5)) {
    case 0:
        return json_new_null(&arena);
    case 1:
        return json_new_bool(&arena, random_below(2));
    case 2:
        return json_new_i64(&arena, (int64_t)seed);
    case 3:
        return json_new_double(&arena, (double)(int64_t)seed / 4096.0 / random_below(1000000));
    default:
        return json_new_str(&arena, random_text(text, sizeof(text)));
    }
}

static struct json *random_tree(unsigned depth)
{
    char key[256];

    if (depth == 0 || random_below(3) == 0) {
        struct json *scalar = random_scalar();
        return scalar ? scalar : json_new_null(&arena); /* a division by zero above */
    }
    bool object = random_below(2);
    struct json *v = object ? json_new_object(&arena) : json_new_array(&arena);
    for (uint32_t n = random_below(7); n; n--) {
        struct json *child = random_tree(depth - 1);
        if (object)
            json_set(&arena, v, random_text(key, sizeof(key)), child);
        else
            json_push(v, child);
    }
    return v;
}

static void random_trees_survive_text(void **state)
{
    static const struct json_opts refuse = { .refuse_duplicates = true };

    (void)state;
    for (int i = 0; i < 1500; i++) {
        arena_reset(&arena);
        struct json *v = random_tree(6);
        buf_clear(&out);
        assert_true(json_write(&out, v));
        struct json *back = tree_parse_with(buf_str(&out), &refuse);
        assert_non_null(back);
        assert_true(json_equal(v, back));

        struct str canonical = arena_str(&arena, str_of(tree_canonical(v)));
        assert_string_equal(tree_canonical(back), canonical.at);
        struct json *sorted = tree_parse_with(canonical, &refuse);
        assert_non_null(sorted);
        assert_true(json_equal(sorted, v));
    }
}

SUBJECT(value)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(getters_say_not_there_instead_of_crashing),
        TREE_TEST(members_picked_together_are_those_got_one_by_one),
        TREE_TEST(pointers_follow_rfc_6901),
        TREE_TEST(types_have_names_a_person_reads),
        TREE_TEST(a_set_key_is_replaced_in_its_place),
        TREE_TEST(building_with_nothing_does_nothing),
        TREE_TEST(past_the_cap_builders_give_null),
        TREE_TEST(what_is_changed_is_no_longer_written_raw),
        TREE_TEST(a_copy_outlives_its_source),
        TREE_TEST(equality_is_that_of_json_schema),
        TREE_TEST(random_trees_survive_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
