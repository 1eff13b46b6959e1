/* tests/unit/json/schema: what a person is told, what does not compile, and that every check ends.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "json/schema.h"
#include "../runner.h"

enum { ARENA_MOST = 64 * 1024 * 1024 };

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct bench {
    struct arena arena;
    struct schema_problems problems;
};

static struct json *parsed(struct bench *bench, struct str text)
{
    const struct json_opts opts = { .max_depth = 128 };
    struct json_error error = { 0 };
    struct json *v = json_parse(&bench->arena, text, &opts, &error);

    if (!v)
        fail_msg("not JSON: " STR_FMT ": %s", STR_ARG(text), error.what);
    return v;
}

static struct schema *compiled(struct bench *bench, struct str text, struct schema_opts opts)
{
    struct schema *schema =
        schema_compile(parsed(bench, text), &opts, &bench->arena, &bench->problems);

    if (!schema)
        fail_msg("does not compile: " STR_FMT ": " STR_FMT " " STR_FMT, STR_ARG(text),
                 STR_ARG(bench->problems.at[0].path), STR_ARG(bench->problems.at[0].message));
    return schema;
}

static nod_status checked(struct bench *bench, struct str schema_text, struct str value,
                          struct schema_opts opts)
{
    struct schema *schema = compiled(bench, schema_text, opts);
    nod_status status = schema_check(schema, parsed(bench, value), &bench->arena, &bench->problems);

    schema_destroy(schema);
    return status;
}

static int set_up(void **state)
{
    static struct bench bench;

    arena_init(&bench.arena, ARENA_MOST);
    *state = &bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    arena_finish(&bench->arena);
    return 0;
}

/* --- messages --- */

struct told {
    const char *schema;
    const char *value;
    const char *path;
    const char *message;
};

static const struct told tellings[] = {
    { "{\"type\":\"number\"}", "\"x\"", "", "expected a number, got a string" },
    { "{\"type\":\"integer\"}", "1.5", "",
      "expected an integer, got a number that is not an integer" },
    { "{\"type\":[\"string\",\"null\",\"array\"]}", "1", "",
      "expected null, a string or an array, got a number" },
    { "{\"required\":[\"a\"]}", "{}", "/a", "is required" },
    { "{\"required\":[\"a/b~c\"]}", "{}", "/a~1b~0c", "is required" },
    { "{\"minLength\":3}", "\"ab\"", "", "must be at least 3 characters long" },
    { "{\"minLength\":1}", "\"\"", "", "must be at least 1 character long" },
    { "{\"maxLength\":2}", "\"\\ud83d\\ude00xx\"", "", "must be at most 2 characters long" },
    { "{\"enum\":[\"a\",\"b\"]}", "\"c\"", "", "must be one of \"a\", \"b\"" },
    { "{\"enum\":[]}", "1", "", "is not allowed: its enum is empty" },
    { "{\"const\":{\"a\":1}}", "1", "", "must be {\"a\":1}" },
    { "{\"minimum\":3}", "2.999999999999999999999", "", "must be at least 3" },
    { "{\"exclusiveMinimum\":3}", "3.0", "", "must be more than 3" },
    { "{\"maximum\":9007199254740993}", "9007199254740994", "",
      "must be at most 9007199254740993" },
    { "{\"exclusiveMaximum\":1e2}", "100", "", "must be less than 1e2" },
    { "{\"multipleOf\":0.01}", "0.015", "", "must be a multiple of 0.01" },
    { "{\"pattern\":\"^a+$\"}", "\"b\"", "", "must match the pattern ^a+$" },
    { "{\"items\":{\"type\":\"null\"}}", "[null,1]", "/1", "expected null, got a number" },
    { "{\"prefixItems\":[true],\"items\":false}", "[1,2]", "/1", "is one item too many" },
    { "{\"minItems\":1}", "[]", "", "must have at least 1 item" },
    { "{\"maxItems\":1}", "[1,2]", "", "must have at most 1 item" },
    { "{\"uniqueItems\":true}", "[1,{\"a\":1,\"b\":2},{\"b\":2.0,\"a\":1e0}]", "/2",
      "is there twice, and all must differ" },
    { "{\"contains\":{\"const\":1}}", "[2]", "",
      "must contain at least 1 item of a certain kind, has 0" },
    { "{\"contains\":{\"const\":1},\"maxContains\":1}", "[1,1]", "",
      "must contain at most 1 item of a certain kind, has 2" },
    { "{\"minProperties\":1}", "{}", "", "must have at least 1 property" },
    { "{\"maxProperties\":1}", "{\"a\":1,\"b\":1}", "", "must have at most 1 property" },
    { "{\"additionalProperties\":false}", "{\"a\":1}", "/a",
      "is not one of the known properties: there are none" },
    { "{\"properties\":{\"name\":{},\"age\":{}},\"required\":[\"name\"],"
      "\"additionalProperties\":false}",
      "{\"name\":1,\"nmae\":1}", "/nmae",
      "is not one of the known properties, which are age, name" },
    { "{\"unevaluatedProperties\":false}", "{\"a\":1}", "/a",
      "is not one of the known properties" },
    { "{\"propertyNames\":{\"maxLength\":1}}", "{\"ab\":1}", "/ab",
      "has a name that is not allowed: must be at most 1 character long" },
    { "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}", "/b", "is required when a is there" },
    { "{\"not\":{\"type\":\"null\"}}", "null", "", "is of a kind that is not allowed" },
    { "false", "1", "", "is not allowed here" },
    { "{\"oneOf\":[{\"const\":\"r\",\"title\":\"Red\"},{\"const\":\"g\",\"title\":\"Green\"}]}",
      "\"x\"", "", "must be one of \"r\", \"g\"" },
    { "{\"oneOf\":[{\"type\":\"string\"},{\"minLength\":0}]}", "\"x\"", "",
      "fits more than one of the alternatives, where exactly one must fit" },
    { "{\"anyOf\":[{\"type\":\"string\"},{\"properties\":{\"a\":{\"minimum\":5}}}]}", "{\"a\":1}",
      "", "fits none of the 2 alternatives; the closest one says at /a: must be at least 5" },
    { "{\"$ref\":\"#/$defs/p\",\"$defs\":{\"p\":{\"required\":[\"x\"]}}}", "{}", "/x",
      "is required" },
};

static void a_problem_says_where_and_what_in_a_sentence(void **state)
{
    struct bench *bench = *state;

    for (size_t i = 0; i < COUNT(tellings); i++) {
        const struct told *t = &tellings[i];
        nod_status status =
            checked(bench, str_of(t->schema), str_of(t->value), (struct schema_opts){ 0 });
        const struct schema_problem *first = &bench->problems.at[0];
        if (status != NOD_E_INVALID || !str_eq(first->path, str_of(t->path)) ||
            !str_eq(first->message, str_of(t->message)))
            fail_msg("%s with %s gives %d \"" STR_FMT "\" \"" STR_FMT "\"", t->schema, t->value,
                     status, STR_ARG(first->path), STR_ARG(first->message));
    }
}

static void all_problems_are_told_at_once_up_to_the_limit(void **state)
{
    struct bench *bench = *state;
    struct str schema = STR("{\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"minimum\":1}},"
                            "\"required\":[\"c\"],\"additionalProperties\":{\"type\":\"null\"}}");

    assert_int_equal(
        checked(bench, schema, STR("{\"a\":1,\"b\":0,\"d\":1}"), (struct schema_opts){ 0 }),
        NOD_E_INVALID);
    assert_int_equal(bench->problems.count, 4);
    assert_int_equal(checked(bench, STR("{\"items\":{\"type\":\"null\"}}"),
                             STR("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"),
                             (struct schema_opts){ 0 }),
                     NOD_E_INVALID);
    assert_int_equal(bench->problems.count, SCHEMA_PROBLEMS_MAX);
}

/* --- what does not compile --- */

static const struct {
    const char *schema;
    const char *path;
} malformed[] = {
    { "3", "" },
    { "{\"type\":\"foo\"}", "/type" },
    { "{\"type\":[]}", "/type" },
    { "{\"type\":[\"string\",\"string\"]}", "/type/1" },
    { "{\"required\":3}", "/required" },
    { "{\"required\":[1]}", "/required/0" },
    { "{\"required\":[\"a\",\"a\"]}", "/required/1" },
    { "{\"minLength\":-1}", "/minLength" },
    { "{\"minLength\":1.5}", "/minLength" },
    { "{\"maxItems\":\"3\"}", "/maxItems" },
    { "{\"minimum\":\"3\"}", "/minimum" },
    { "{\"multipleOf\":0}", "/multipleOf" },
    { "{\"multipleOf\":-2}", "/multipleOf" },
    { "{\"multipleOf\":1.2345678901234567891}", "/multipleOf" },
    { "{\"pattern\":\"(\"}", "/pattern" },
    { "{\"pattern\":\"a++\"}", "/pattern" },
    { "{\"pattern\":\"(?i)a\"}", "/pattern" },
    { "{\"pattern\":\"\\\\Aa\"}", "/pattern" },
    { "{\"pattern\":\"*\"}", "/pattern" },
    { "{\"pattern\":\"a\\\\\"}", "/pattern" },
    { "{\"pattern\":\"(*COMMIT)a\"}", "/pattern" },
    { "{\"patternProperties\":{\"[\":true}}", "/patternProperties/[" },
    { "{\"properties\":{\"a\":{\"properties\":{\"b/c\":7}}}}", "/properties/a/properties/b~1c" },
    { "{\"items\":[true]}", "/items" },
    { "{\"allOf\":[]}", "/allOf" },
    { "{\"anyOf\":{}}", "/anyOf" },
    { "{\"oneOf\":[true,1]}", "/oneOf/1" },
    { "{\"enum\":1}", "/enum" },
    { "{\"uniqueItems\":1}", "/uniqueItems" },
    { "{\"dependentRequired\":{\"a\":\"b\"}}", "/dependentRequired/a" },
    { "{\"$defs\":{\"unused\":{\"type\":1}}}", "/$defs/unused/type" },
    { "{\"$id\":\"http://x/#frag\"}", "/$id" },
    { "{\"$anchor\":\"#x\"}", "/$anchor" },
    { "{\"$defs\":{\"a\":{\"$anchor\":\"x\"},\"b\":{\"$anchor\":\"x\"}}}", "/$defs/b/$anchor" },
    { "{\"properties\":{\"a\":{\"$ref\":\"#/$defs/no\"}}}", "/properties/a/$ref" },
    { "{\"$ref\":\"#/type\",\"type\":\"object\"}", "/$ref" },
    { "{\"$ref\":\"https://example.org/other.json\"}", "/$ref" },
    { "{\"$dynamicRef\":\"#nowhere\"}", "/$dynamicRef" },
    { "{\"$ref\":\"#\"}", "" },
    { "{\"allOf\":[{\"$ref\":\"#/$defs/a\"}],\"$defs\":{\"a\":{\"not\":{\"$ref\":\"#\"}}}}", "" },
};

static void a_malformed_schema_is_refused_at_the_path_of_the_keyword(void **state)
{
    struct bench *bench = *state;

    for (size_t i = 0; i < COUNT(malformed); i++) {
        struct schema *schema = schema_compile(parsed(bench, str_of(malformed[i].schema)), NULL,
                                               &bench->arena, &bench->problems);
        if (schema || !bench->problems.count ||
            !str_eq(bench->problems.at[0].path, str_of(malformed[i].path)))
            fail_msg("%s: %s \"" STR_FMT "\"", malformed[i].schema, schema ? "compiles" : "at",
                     STR_ARG(schema ? STR_NONE : bench->problems.at[0].path));
        assert_true(bench->problems.at[0].message.len > 0);
    }
}

/* --- exactness --- */

static const struct {
    const char *schema;
    const char *value;
    bool fits;
} exactly[] = {
    { "{\"multipleOf\":0.1}", "0.3", true },
    { "{\"multipleOf\":0.0001}", "0.00751", false },
    { "{\"multipleOf\":3}", "123456789012345678901234567890", true },
    { "{\"multipleOf\":11}", "123456789012345678901234567890", false },
    { "{\"multipleOf\":1e-7}", "1e300", true },
    { "{\"multipleOf\":1e300}", "2e300", true },
    { "{\"multipleOf\":1e300}", "2e299", false },
    { "{\"multipleOf\":2}", "0e99999999999999999999", true },
    { "{\"multipleOf\":2.50}", "7.5", true },
    { "{\"type\":\"integer\"}", "1e400", true },
    { "{\"type\":\"integer\"}", "10.0", true },
    { "{\"type\":\"integer\"}", "1e-400", false },
    { "{\"maximum\":1e400}", "1e401", false },
    { "{\"const\":1e400}", "10e399", true },
    { "{\"maxLength\":1e30}", "\"x\"", true },
    { "{\"uniqueItems\":true}", "[1,true,\"1\",[1],{\"a\":1}]", true },
    { "{\"uniqueItems\":true}", "[100,1e2]", false },
    { "{\"uniqueItems\":true}", "[-0,0.0]", false },
    { "{\"uniqueItems\":true}", "[12.50,1.25e1]", false },
    { "{\"pattern\":\"^[\\\\s]$\"}", "\"\\u00a0\"", true },
    { "{\"pattern\":\"^[^\\\\S]$\"}", "\"\\u2003\"", true },
    { "{\"pattern\":\"^[[:alpha:]]$\"}", "\"a]\"", true },
    { "{\"pattern\":\"^\\\\ud83d\\\\ude00$\"}", "\"\\ud83d\\ude00\"", true },
    { "{\"pattern\":\"^.$\"}", "\"\\ud83d\\ude00\"", true },
    { "{\"pattern\":\"^.$\"}", "\"\\r\"", false },
    { "{\"pattern\":\"a$\"}", "\"a\\n\"", false },
    { "{\"pattern\":\"^\\\\v$\"}", "\"\\u000b\"", true },
    { "{\"pattern\":\"^\\\\v$\"}", "\"\\n\"", false },
    { "{\"pattern\":\"^[]$\"}", "\"a\"", false },
    { "{\"pattern\":\"^\\\\p{General_Category=Decimal_Number}$\"}", "\"\\u09ea\"", true },
    { "{\"pattern\":\"^(?<year>\\\\d{4})-\\\\k<year>$\"}", "\"2026-2026\"", true },
    { "{\"pattern\":\"^x{,3}$\"}", "\"x{,3}\"", true },
};

static void numbers_and_patterns_are_exact(void **state)
{
    struct bench *bench = *state;

    for (size_t i = 0; i < COUNT(exactly); i++) {
        nod_status status = checked(bench, str_of(exactly[i].schema), str_of(exactly[i].value),
                                    (struct schema_opts){ 0 });
        if ((status == NOD_OK) != exactly[i].fits)
            fail_msg("%s with %s gives %d", exactly[i].schema, exactly[i].value, status);
    }
}

static void formats_are_checked_only_where_asked(void **state)
{
    struct bench *bench = *state;
    struct str schema = STR("{\"format\":\"email\"}");

    assert_int_equal(checked(bench, schema, STR("\"no\""), (struct schema_opts){ 0 }), NOD_OK);
    assert_int_equal(
        checked(bench, schema, STR("\"no\""), (struct schema_opts){ .assert_formats = true }),
        NOD_E_INVALID);
    assert_true(str_eq(bench->problems.at[0].message, STR("must be an email address")));
    assert_int_equal(checked(bench, STR("{\"format\":\"of-my-own\"}"), STR("\"no\""),
                             (struct schema_opts){ .assert_formats = true }),
                     NOD_OK);
}

static void of_a_keyword_given_twice_the_last_one_counts(void **state)
{
    struct bench *bench = *state;
    struct str schema = STR("{\"prefixItems\":[true],\"prefixItems\":[{\"const\":1},{\"const\":2}],"
                            "\"type\":\"string\",\"type\":\"array\"}");

    assert_int_equal(checked(bench, schema, STR("[1,2]"), (struct schema_opts){ 0 }), NOD_OK);
    assert_int_equal(checked(bench, schema, STR("[1,1]"), (struct schema_opts){ 0 }),
                     NOD_E_INVALID);
}

/* --- bounds --- */

/* Of this process alone: how busy the machine is does not count. */
static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void repeat(struct buf *out, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        buf_add(out, str_of(text));
}

static void assert_limit(struct bench *bench, nod_status status, const char *part)
{
    assert_int_equal(status, NOD_E_LIMIT);
    assert_true(bench->problems.count > 0);
    struct str last = bench->problems.at[bench->problems.count - 1].message;
    if (str_find(last, str_of(part)) < 0)
        fail_msg("\"" STR_FMT "\" does not say \"%s\"", STR_ARG(last), part);
}

static void a_pattern_that_never_ends_is_ended(void **state)
{
    static const char *const patterns[] = {
        "{\"pattern\":\"^(a+)+$\"}",
        "{\"pattern\":\"(a|aa)+b\"}",
        "{\"pattern\":\"(a*)*(a*)*(a*)*c\"}",
        "{\"not\":{\"pattern\":\"^(a|a)*$\"}}",
        "{\"patternProperties\":{\"^(a+)+$\":false}}",
    };
    struct bench *bench = *state;
    struct buf text;

    for (size_t i = 0; i < COUNT(patterns); i++) {
        bool name = i == COUNT(patterns) - 1;
        buf_init(&text, 1 << 20);
        repeat(&text, name ? "{\"" : "\"", 1);
        repeat(&text, "a", 3000);
        repeat(&text, name ? "!cb\":1}" : "!cb\"", 1);
        double began = seconds();
        nod_status status =
            checked(bench, str_of(patterns[i]), buf_str(&text), (struct schema_opts){ 0 });
        assert_limit(bench, status, "to match its pattern");
        assert_true(seconds() - began < 20);
        buf_finish(&text);
    }
}

static void an_honest_pattern_on_a_long_text_is_no_problem(void **state)
{
    struct bench *bench = *state;
    struct buf text;

    buf_init(&text, 1 << 20);
    repeat(&text, "\"", 1);
    repeat(&text, "QUJD", 100000);
    repeat(&text, "\"", 1);
    assert_int_equal(checked(bench, STR("{\"pattern\":\"^[A-Za-z0-9+/]*={0,2}$\"}"), buf_str(&text),
                             (struct schema_opts){ 0 }),
                     NOD_OK);
    buf_finish(&text);
}

static void work_and_depth_are_bounded_even_under_a_not(void **state)
{
    struct bench *bench = *state;
    struct str tree = STR("{\"$defs\":{\"t\":{\"anyOf\":[{\"items\":{\"$ref\":\"#/$defs/t\"},"
                          "\"minItems\":1},{\"items\":{\"$ref\":\"#/$defs/t\"},\"minItems\":1}]}},"
                          "\"not\":{\"$ref\":\"#/$defs/t\"}}");
    struct buf text;

    buf_init(&text, 1 << 20);
    repeat(&text, "[", 60);
    repeat(&text, "]", 60);
    assert_limit(bench, checked(bench, tree, buf_str(&text), (struct schema_opts){ 0 }),
                 "takes more work");
    buf_clear(&text);
    repeat(&text, "[", 120);
    repeat(&text, "]", 120);
    assert_limit(bench,
                 checked(bench, STR("{\"items\":{\"$ref\":\"#\"}}"), buf_str(&text),
                         (struct schema_opts){ .max_depth = 200 }),
                 "nested deeper");
    assert_int_equal(checked(bench, STR("{\"items\":{\"$ref\":\"#\"}}"), buf_str(&text),
                             (struct schema_opts){ .max_depth = 1000 }),
                     NOD_OK);
    assert_limit(bench,
                 checked(bench, STR("{\"items\":true}"), STR("[1,2,3,4,5,6,7,8,9]"),
                         (struct schema_opts){ .max_work = 5 }),
                 "takes more work");
    buf_finish(&text);
}

static void the_deepest_check_there_may_be_fits_the_stack(void **state)
{
    struct bench *bench = *state;
    struct schema_opts deep = { .max_depth = SCHEMA_DEPTH_MOST };
    struct buf text;

    buf_init(&text, 1 << 20);
    buf_add(&text, STR("{\"$ref\":\"#/$defs/n0\",\"$defs\":{"));
    for (int i = 0; i < SCHEMA_DEPTH_MOST / 2 - 4; i++)
        buf_fmt(&text, "\"n%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/n%d\"}]},", i, i + 1);
    buf_fmt(&text, "\"n%d\":false}}", SCHEMA_DEPTH_MOST / 2 - 4);
    assert_int_equal(checked(bench, buf_str(&text), STR("1"), deep), NOD_E_INVALID);
    assert_true(str_eq(bench->problems.at[0].message, STR("is not allowed here")));
    deep.max_depth = 0;
    assert_limit(bench, checked(bench, buf_str(&text), STR("1"), deep), "nested deeper");
    buf_finish(&text);
}

static void unique_items_are_not_quadratic(void **state)
{
    struct bench *bench = *state;
    struct buf text;

    buf_init(&text, 16 << 20);
    repeat(&text, "[", 1);
    for (int i = 0; i < 100000; i++)
        buf_fmt(&text, "{\"b\":%d,\"a\":[\"x\"]},", i);
    repeat(&text, "0]", 1);
    double began = seconds();
    assert_int_equal(
        checked(bench, STR("{\"uniqueItems\":true}"), buf_str(&text), (struct schema_opts){ 0 }),
        NOD_OK);
    assert_true(seconds() - began < 10);
    buf_finish(&text);
}

static void too_many_or_too_deep_subschemas_do_not_compile(void **state)
{
    struct bench *bench = *state;
    struct schema_opts few = { .max_subschemas = 3 };
    struct buf text;

    assert_null(schema_compile(parsed(bench, STR("{\"allOf\":[true,true,true]}")), &few,
                               &bench->arena, &bench->problems));
    assert_true(str_eq(bench->problems.at[0].path, STR("/allOf/2")));
    buf_init(&text, 1 << 20);
    repeat(&text, "{\"not\":", SCHEMA_NEST_MOST + 1);
    repeat(&text, "true", 1);
    repeat(&text, "}", SCHEMA_NEST_MOST + 1);
    assert_null(
        schema_compile(parsed(bench, buf_str(&text)), NULL, &bench->arena, &bench->problems));
    buf_finish(&text);
}

static void a_small_arena_for_problems_is_survived(void **state)
{
    struct bench *bench = *state;
    struct schema_problems problems;
    struct arena tiny;
    struct schema *schema =
        compiled(bench, STR("{\"items\":{\"enum\":[\"a\"]}}"), (struct schema_opts){ 0 });

    arena_init(&tiny, 64);
    assert_int_equal(schema_check(schema, parsed(bench, STR("[1,2,3,4,5]")), &tiny, &problems),
                     NOD_E_INVALID);
    assert_int_equal(problems.count, 5);
    for (size_t i = 0; i < problems.count; i++)
        assert_non_null(problems.at[i].message.at);
    arena_finish(&tiny);
    schema_destroy(schema);
}

/* --- threads --- */

struct shared_use {
    const struct schema *schema;
    int wrong;
};

static void *use(void *data)
{
    struct shared_use *shared = data;
    struct schema_problems problems;
    struct json_error error;
    struct arena arena;

    for (int i = 0; i < 500; i++) {
        arena_init(&arena, 1 << 20);
        const struct json *good = json_parse(&arena, STR("{\"a\":\"abab\"}"), NULL, &error);
        const struct json *bad = json_parse(&arena, STR("{\"a\":\"abba\"}"), NULL, &error);
        if (schema_check(shared->schema, good, &arena, &problems) != NOD_OK ||
            schema_check(shared->schema, bad, &arena, &problems) != NOD_E_INVALID)
            shared->wrong++;
        arena_finish(&arena);
    }
    return NULL;
}

static void a_compiled_schema_serves_several_threads(void **state)
{
    enum { THREADS = 4 };
    struct bench *bench = *state;
    struct schema *schema =
        compiled(bench, STR("{\"properties\":{\"a\":{\"pattern\":\"^(ab)*$\"}}}"),
                 (struct schema_opts){ 0 });
    struct shared_use uses[THREADS];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        uses[i] = (struct shared_use){ .schema = schema };
        assert_int_equal(pthread_create(&threads[i], NULL, use, &uses[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(uses[i].wrong, 0);
    }
    schema_destroy(schema);
}

static void line14_the_shape_of_a_schema_is_without_its_words(void **state)
{
    static const struct {
        const char *schema, *shape;
    } rows[] = {
        { "{\"type\":\"object\",\"title\":\"T\",\"description\":\"D\",\"$comment\":\"c\"}",
          "{\"type\":\"object\"}" },
        /* a property may have any name */
        { "{\"properties\":{\"title\":{\"type\":\"string\",\"title\":\"T\",\"default\":\"x\"}}}",
          "{\"properties\":{\"title\":{\"type\":\"string\"}}}" },
        { "{\"oneOf\":[{\"const\":1,\"title\":\"One\"},{\"const\":{\"title\":2}}]}",
          "{\"oneOf\":[{\"const\":1},{\"const\":{\"title\":2}}]}" },
        { "{\"items\":{\"examples\":[1],\"minimum\":1},\"enum\":[{\"description\":1}]}",
          "{\"items\":{\"minimum\":1},\"enum\":[{\"description\":1}]}" },
        { "{\"$defs\":{\"default\":{\"deprecated\":true,\"type\":\"null\"}},\"not\":true}",
          "{\"$defs\":{\"default\":{\"type\":\"null\"}},\"not\":true}" },
        { "true", "true" },
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct json *shape =
            schema_shape(&bench->arena, parsed(bench, str_of(rows[i].schema)));
        if (!json_equal(shape, parsed(bench, str_of(rows[i].shape))))
            fail_msg("%s", rows[i].schema);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

SUBJECT(schema)
{
    const struct CMUnitTest tests[] = {
        TEST(line14_the_shape_of_a_schema_is_without_its_words),
        TEST(a_problem_says_where_and_what_in_a_sentence),
        TEST(all_problems_are_told_at_once_up_to_the_limit),
        TEST(a_malformed_schema_is_refused_at_the_path_of_the_keyword),
        TEST(numbers_and_patterns_are_exact),
        TEST(formats_are_checked_only_where_asked),
        TEST(of_a_keyword_given_twice_the_last_one_counts),
        TEST(a_pattern_that_never_ends_is_ended),
        TEST(an_honest_pattern_on_a_long_text_is_no_problem),
        TEST(work_and_depth_are_bounded_even_under_a_not),
        TEST(the_deepest_check_there_may_be_fits_the_stack),
        TEST(unique_items_are_not_quadratic),
        TEST(too_many_or_too_deep_subschemas_do_not_compile),
        TEST(a_small_arena_for_problems_is_survived),
        TEST(a_compiled_schema_serves_several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
