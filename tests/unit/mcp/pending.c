/*
 * tests/unit/mcp/pending: the listing of a tool whose calls may end in a pending result, and the
 * keys of handles.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "json/schema.h"
#include "mcp/later/handle.h"
#include "mcp/later/pending.h"
#include "../runner.h"

static struct arena arena;

static int prepare(void **state)
{
    (void)state;
    arena_init(&arena, 4 << 20);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    arena_finish(&arena);
    return 0;
}

static bool fits(const struct schema *schema, const char *text)
{
    struct schema_problems problems = { 0 };

    return schema_check(schema, json_parse(&arena, str_of(text), NULL, NULL), &arena, &problems) ==
           NOD_OK;
}

#define PENDING                                                                                    \
    "{\"pending\":true,\"callId\":\"x\",\"waitWith\":\"waitForPerson\",\"waitingFor\":[]}"

static void both_results_fit_and_nothing_else(void **state)
{
    static const char *const listings[] = {
        "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{\"type\":"
        "\"object\","
        "\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"],"
        "\"additionalProperties\":false}}",
        /* with references of its own */
        "{\"name\":\"a\",\"outputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":"
        "\"#/$defs/n\"}},\"required\":[\"n\"],\"$defs\":{\"n\":{\"type\":\"integer\"}}}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(listings) / sizeof(listings[0]); i++) {
        struct schema_problems problems = { 0 };
        struct str wide = pending_widen(&arena, str_of(listings[i]));
        const struct json *tool = json_parse(&arena, wide, NULL, NULL);
        const struct json *output = json_get(tool, STR("outputSchema"));
        assert_true(str_eq(json_get_str(tool, STR("name")), STR("a")));
        assert_true(str_eq(json_get_str(output, STR("type")), STR("object")));
        struct schema *schema = schema_compile(output, NULL, &arena, &problems);
        assert_non_null(schema);
        assert_true(fits(schema, "{\"n\":1}"));
        assert_true(fits(schema, PENDING));
        assert_false(fits(schema, "{\"n\":\"one\"}"));
        assert_false(fits(schema, "{\"pending\":false,\"callId\":\"x\"}"));
        schema_destroy(schema);
    }
}

static void a_tool_without_an_output_schema_is_listed_as_it_is(void **state)
{
    struct str plain = STR("{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"}}");

    (void)state;
    assert_true(str_eq(pending_widen(&arena, plain), plain));
}

static void a_key_is_of_one_principal_tool_and_arguments(void **state)
{
    static const struct {
        const char *principal, *tool, *args;
        bool same;
    } rows[] = {
        { "ann", "t", "{\"a\":1,\"b\":2}", true },  { "ann", "t", "{ \"b\":2, \"a\":1 }", true },
        { "ann", "t", "{\"a\":1}", false },         { "ann", "u", "{\"a\":1,\"b\":2}", false },
        { "bob", "t", "{\"a\":1,\"b\":2}", false },
    };
    struct str call = STR("0123456789abcdefghijkl");
    char first[HANDLE_KEY_LEN + 1], other[HANDLE_KEY_LEN + 1];

    (void)state;
    handle_key(str_of(rows[0].principal), str_of(rows[0].tool), str_of(rows[0].args), call, first);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        handle_key(str_of(rows[i].principal), str_of(rows[i].tool), str_of(rows[i].args), call,
                   other);
        assert_true(str_eq(str_of(first), str_of(other)) == rows[i].same);
        assert_string_equal(other + ID_LEN, "0123456789abcdefghijkl");
    }
}

SUBJECT(pending)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_results_fit_and_nothing_else, prepare, clean),
        cmocka_unit_test_setup_teardown(a_tool_without_an_output_schema_is_listed_as_it_is, prepare,
                                        clean),
        cmocka_unit_test_setup_teardown(a_key_is_of_one_principal_tool_and_arguments, prepare,
                                        clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
