/* tests/unit/mcp/meta: what _meta must have, and when headers agree with the body. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "mcp/wire/headers.h"
#include "mcp/wire/meta.h"
#include "mcp/era2025/session.h"
#include "rpc/message.h"
#include "../runner.h"

static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, 4 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_finish(&arena);
    return 0;
}

static const struct json *parsed(const char *text)
{
    const struct json *value = json_parse(&arena, str_of(text), NULL, NULL);

    assert_non_null(value);
    return value;
}

#define V               "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\""
#define C(capabilities) "\"io.modelcontextprotocol/clientCapabilities\":" capabilities
#define META(members)   "{\"_meta\":{" members "}}"

static void _meta_is_read_row_by_row(void **state)
{
    static const struct {
        const char *params;
        bool modern, fine;
    } rows[] = {
        { "{}", false, false },
        { "{\"_meta\":7}", false, false },
        { "{\"_meta\":{}}", false, false },
        { META("\"progressToken\":1"), false, false },
        { META(V), true, false },
        { META(C("{}")), true, false },
        { META(V "," C("{}")), true, true },
        { META(V "," C("[]")), true, false },
        { META(V "," C("null")), true, false },
        { META("\"io.modelcontextprotocol/protocolVersion\":7," C("{}")), true, false },
        { META(V "," C("{}") ",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"x\"}"), true,
          true },
        { META(V "," C("{}") ",\"io.modelcontextprotocol/clientInfo\":\"x\""), true, false },
        { META(V "," C("{}") ",\"io.modelcontextprotocol/logLevel\":\"warning\""), true, true },
        { META(V "," C("{}") ",\"io.modelcontextprotocol/logLevel\":\"loud\""), true, false },
        { META(V "," C("{}") ",\"io.modelcontextprotocol/logLevel\":3"), true, false },
        { META(V "," C("{}") ",\"progressToken\":\"t\""), true, true },
        { META(V "," C("{}") ",\"progressToken\":1.5"), true, false },
        { META(V "," C("{}") ",\"com.example/other\":[1]"), true, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct json *params = parsed(rows[i].params);
        struct meta meta;
        struct meta_fault fault = { 0 };

        if (meta_is_modern(params) != rows[i].modern)
            fail_msg("modern or not: %s", rows[i].params);
        if (meta_read(params, &arena, &meta, &fault) != rows[i].fine)
            fail_msg("fine or not: %s", rows[i].params);
        if (!rows[i].fine) {
            assert_int_equal(fault.code, RPC_INVALID_PARAMS);
            assert_int_equal(fault.status, 400);
        }
    }
}

static void a_progress_token_that_is_too_long_is_told_how_long_one_may_be(void **state)
{
    static char params[50000];
    struct meta_fault fault = { 0 };
    struct meta meta;

    (void)state;
    snprintf(params, sizeof(params), META(V "," C("{}") ",\"progressToken\":\"%040000d\""), 7);
    assert_false(meta_read(parsed(params), &arena, &meta, &fault));
    assert_non_null(strstr(fault.message.at, "of at most 512 bytes"));
}

static void capabilities_are_those_that_are_declared(void **state)
{
    static const struct {
        const char *capabilities;
        unsigned can;
    } rows[] = {
        { "{}", 0 },
        { "{\"elicitation\":{}}", CLIENT_CAN_FORM },
        { "{\"elicitation\":true}", 0 },
        { "{\"elicitation\":{\"url\":{}}}", CLIENT_CAN_URL },
        { "{\"elicitation\":{\"form\":{},\"url\":{}}}", CLIENT_CAN_FORM | CLIENT_CAN_URL },
        { "{\"sampling\":{}}", CLIENT_CAN_SAMPLE },
        { "{\"sampling\":{\"tools\":{}}}", CLIENT_CAN_SAMPLE | CLIENT_CAN_SAMPLE_TOOLS },
        { "{\"roots\":{}}", CLIENT_CAN_ROOTS },
        { "{\"experimental\":{\"elicitation\":{}}}", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(meta_can(parsed(rows[i].capabilities)), rows[i].can);

    struct meta meta;
    struct meta_fault fault;
    assert_true(
        meta_read(parsed(META(V "," C("{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"))),
                  &arena, &meta, &fault));
    assert_true(meta.tasks);
    assert_int_equal(meta.log_level, META_NO_LOG);
}

static void a_value_in_base64_is_what_it_stands_for(void **state)
{
    static const struct {
        struct str raw;
        bool fine;
        struct str value;
    } rows[] = {
        { STR_INIT("us-west1"), true, STR_INIT("us-west1") },
        { STR_INIT("  padded\t"), true, STR_INIT("padded") },
        { STR_INIT("=?base64?SGVsbG8sIOS4lueVjA==?="), true, STR_INIT("Hello, 世界") },
        { STR_INIT("=?base64?IHBhZGRlZCA=?="), true, STR_INIT(" padded ") },
        { STR_INIT("=?base64?bGluZTEKbGluZTI=?="), true, STR_INIT("line1\nline2") },
        { STR_INIT("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="), true, STR_INIT("=?base64?literal?=") },
        { STR_INIT("=?base64?\?="), true, STR_INIT("") },
        { STR_INIT("=?BASE64?SGk=?="), true, STR_INIT("=?BASE64?SGk=?=") },
        { STR_INIT("=?base64?SGk="), true, STR_INIT("=?base64?SGk=") },
        { STR_INIT("=?base64?SGk?="), false, { 0 } },  /* the padding is missing */
        { STR_INIT("=?base64?SGl=?="), false, { 0 } }, /* bits behind the end */
        { STR_INIT("=?base64?SG k=?="), false, { 0 } },
        { STR_INIT("=?base64?S===?="), false, { 0 } },
        { STR_INIT("=?base64?=SGk?="), false, { 0 } },
        { STR_INIT("=?base64?SGk-?="), false, { 0 } },
        { STR_INIT("caf\xc3\xa9"), false, { 0 } },
        { STR_INIT("a\x01z"), false, { 0 } },
        { STR_INIT("a\x7fz"), false, { 0 } },
        { STR_INIT("a\tb"), true, STR_INIT("a\tb") },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct str value;
        if (header_value(rows[i].raw, &arena, &value) != rows[i].fine)
            fail_msg("%s", rows[i].raw.at);
        if (rows[i].fine && !str_eq(value, rows[i].value))
            fail_msg("%s became " STR_FMT, rows[i].raw.at, STR_ARG(value));
    }
}

static struct http_request request_of(const struct http_header *headers, size_t count)
{
    return (struct http_request){ .headers = headers, .header_count = count };
}

static void the_standard_headers_repeat_the_body(void **state)
{
    static const struct {
        struct http_header headers[4];
        bool fine;
    } rows[] = {
        { { { STR_INIT("MCP-Protocol-Version"), STR_INIT("2026-07-28") },
            { STR_INIT("Mcp-Method"), STR_INIT("tools/call") },
            { STR_INIT("Mcp-Name"), STR_INIT("echo") } },
          true },
        { { { STR_INIT("mcp-protocol-version"), STR_INIT(" 2026-07-28 ") },
            { STR_INIT("MCP-METHOD"), STR_INIT("tools/call") },
            { STR_INIT("mcp-name"), STR_INIT("=?base64?ZWNobw==?=") } },
          true },
        { { { STR_INIT("Mcp-Method"), STR_INIT("tools/call") },
            { STR_INIT("Mcp-Name"), STR_INIT("echo") } },
          false },
        { { { STR_INIT("MCP-Protocol-Version"), STR_INIT("2025-11-25") },
            { STR_INIT("Mcp-Method"), STR_INIT("tools/call") },
            { STR_INIT("Mcp-Name"), STR_INIT("echo") } },
          false },
        { { { STR_INIT("MCP-Protocol-Version"), STR_INIT("2026-07-28") },
            { STR_INIT("Mcp-Name"), STR_INIT("echo") } },
          false },
        { { { STR_INIT("MCP-Protocol-Version"), STR_INIT("2026-07-28") },
            { STR_INIT("Mcp-Method"), STR_INIT("TOOLS/CALL") },
            { STR_INIT("Mcp-Name"), STR_INIT("echo") } },
          false },
        { { { STR_INIT("MCP-Protocol-Version"), STR_INIT("2026-07-28") },
            { STR_INIT("Mcp-Method"), STR_INIT("tools/call") } },
          false },
        { { { STR_INIT("MCP-Protocol-Version"), STR_INIT("2026-07-28") },
            { STR_INIT("Mcp-Method"), STR_INIT("tools/call") },
            { STR_INIT("Mcp-Name"), STR_INIT("echo ") },
            { STR_INIT("Mcp-Name"), STR_INIT("echo") } },
          false },
        { { { STR_INIT("MCP-Protocol-Version"), STR_INIT("2026-07-28") },
            { STR_INIT("Mcp-Method"), STR_INIT("tools/call") },
            { STR_INIT("Mcp-Name"), STR_INIT("ech\xc3\xb6") } },
          false },
        { { { STR_INIT("MCP-Protocol-Version"), STR_INIT("2026-07-28") },
            { STR_INIT("Mcp-Method"), STR_INIT("=?base64?dG9vbHMvY2FsbA==?=") },
            { STR_INIT("Mcp-Name"), STR_INIT("echo") } },
          false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct http_request http = request_of(rows[i].headers, 4);
        struct meta_fault fault = { 0 };
        bool fine =
            headers_agree(&http, STR("2026-07-28"), STR("tools/call"), STR("echo"), &arena, &fault);
        if (fine != rows[i].fine)
            fail_msg("row %zu", i);
        if (!fine) {
            assert_int_equal(fault.code, MCP_HEADER_MISMATCH);
            assert_int_equal(fault.status, 400);
        }
    }
}

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-header\":"
    "\"Region\"},\"count\":{\"type\":\"integer\",\"x-mcp-header\":\"Count\"},\"deep\":{\"type\":"
    "\"object\",\"properties\":{\"dry\":{\"type\":\"boolean\",\"x-mcp-header\":\"Dry\"}}}}}";

static void parameters_are_held_against_their_headers(void **state)
{
    static const struct {
        const char *args;
        struct http_header headers[3];
        bool fine;
    } rows[] = {
        { "{}", { { { 0 }, { 0 } } }, true },
        { "{\"region\":null}", { { { 0 }, { 0 } } }, true },
        { "{\"region\":\"eu\"}", { { STR_INIT("Mcp-Param-Region"), STR_INIT("eu") } }, true },
        { "{\"region\":\"eu\"}",
          { { STR_INIT("mcp-param-region"), STR_INIT("=?base64?ZXU=?=") } },
          true },
        { "{\"region\":\"eu\"}", { { STR_INIT("Mcp-Param-Region"), STR_INIT("us") } }, false },
        { "{\"region\":\"eu\"}", { { { 0 }, { 0 } } }, false },
        { "{}", { { STR_INIT("Mcp-Param-Region"), STR_INIT("eu") } }, false },
        { "{\"region\":7}", { { STR_INIT("Mcp-Param-Region"), STR_INIT("7") } }, false },
        { "{\"count\":42}", { { STR_INIT("Mcp-Param-Count"), STR_INIT("42") } }, true },
        { "{\"count\":42}", { { STR_INIT("Mcp-Param-Count"), STR_INIT("42.0") } }, true },
        { "{\"count\":100}", { { STR_INIT("Mcp-Param-Count"), STR_INIT("1e2") } }, true },
        { "{\"count\":42}", { { STR_INIT("Mcp-Param-Count"), STR_INIT("43") } }, false },
        { "{\"count\":9007199254740993}",
          { { STR_INIT("Mcp-Param-Count"), STR_INIT("9007199254740992") } },
          false },
        { "{\"count\":42}", { { STR_INIT("Mcp-Param-Count"), STR_INIT("\"42\"") } }, false },
        { "{\"count\":42}", { { STR_INIT("Mcp-Param-Count"), STR_INIT("") } }, false },
        { "{\"deep\":{\"dry\":true}}", { { STR_INIT("Mcp-Param-Dry"), STR_INIT("true") } }, true },
        { "{\"deep\":{\"dry\":true}}", { { STR_INIT("Mcp-Param-Dry"), STR_INIT("True") } }, false },
        { "{\"deep\":{\"dry\":false}}",
          { { STR_INIT("Mcp-Param-Dry"), STR_INIT("false") } },
          true },
        { "{}", { { STR_INIT("Mcp-Param-Other"), STR_INIT("x") } }, true },
    };
    const struct param_header *param_headers;
    struct str problem;
    size_t count;

    (void)state;
    assert_true(param_headers_find(parsed(schema), &arena, &param_headers, &count, &problem));
    assert_int_equal(count, 3);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct http_request http = request_of(rows[i].headers, 3);
        struct meta_fault fault = { 0 };
        bool fine =
            headers_params_agree(&http, param_headers, count, parsed(rows[i].args), &arena, &fault);
        if (fine != rows[i].fine)
            fail_msg("row %zu: %s", i, rows[i].args);
        if (!fine)
            assert_int_equal(fault.code, MCP_HEADER_MISMATCH);
    }
}

#define P(inner)      "{\"type\":\"object\",\"properties\":{\"a\":" inner "}}"
#define A(type, name) "{\"type\":\"" type "\",\"x-mcp-header\":" name "}"

static void an_annotation_that_cannot_work_is_refused(void **state)
{
    static const struct {
        const char *schema;
        bool fine;
    } rows[] = {
        { P(A("string", "\"X\"")), true },
        { P(A("integer", "\"x-1_y\"")), true },
        { P(A("boolean", "\"X\"")), true },
        { P(A("number", "\"X\"")), false },
        { P(A("array", "\"X\"")), false },
        { P(A("string", "\"\"")), false },
        { P(A("string", "\"a b\"")), false },
        { P(A("string", "\"a\\r\\nb\"")), false },
        { P(A("string", "\"a\\u0000b\"")), false },
        { P(A("string", "\"\xc3\xa9\"")), false },
        { P(A("string", "7")), false },
        { P(A("string", "null")), false },
        { P("{\"type\":[\"string\",\"null\"],\"x-mcp-header\":\"X\"}"), false },
        { "{\"type\":\"object\",\"x-mcp-header\":\"X\"}", false },
        { "{\"type\":\"object\",\"properties\":{\"a\":" A("string", "\"X\"") ",\"b\":" A(
              "string", "\"x\"") "}}",
          false },
        { P("{\"type\":\"array\",\"items\":" A("string", "\"X\"") "}"), false },
        { P("{\"oneOf\":[" A("string", "\"X\"") "]}"), false },
        { "{\"type\":\"object\",\"$defs\":{\"d\":" A("string", "\"X\"") "}}", false },
        { "{\"type\":\"object\",\"if\":" P(A("string", "\"X\"")) "}", false },
        { "{\"type\":\"object\",\"additionalProperties\":" A("string", "\"X\"") "}", false },
        { P("{\"type\":\"object\",\"properties\":{\"b\":" A("string", "\"X\"") "}}"), true },
        /* Data, and properties that are only called so, are no annotations. */
        { P("{\"type\":\"object\",\"default\":{\"x-mcp-header\":7}}"), true },
        { "{\"type\":\"object\",\"properties\":{\"x-mcp-header\":{\"type\":\"string\"}}}", true },
        { "{\"type\":\"object\",\"$defs\":{\"x-mcp-header\":{\"type\":\"string\"}}}", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct param_header *param_headers;
        struct str problem;
        size_t count;
        bool fine =
            param_headers_find(parsed(rows[i].schema), &arena, &param_headers, &count, &problem);
        if (fine != rows[i].fine)
            fail_msg("%s", rows[i].schema);
        if (!fine)
            assert_true(problem.len > 0);
    }
}

static void what_the_protocol_uses_is_not_for_the_target(void **state)
{
    static const struct {
        const char *meta, *rest;
    } rows[] = {
        { "7", "" },
        { "{}", "" },
        { "{\"progressToken\":1}", "" },
        { "{" V "," C("{}") ",\"io.modelcontextprotocol/related-task\":{}}", "" },
        { "{\"dev.mcp/a\":1,\"com.mcp.tools/b\":2,\"org.modelcontextprotocol.api/c\":3}", "" },
        { "{\"modelcontextprotocol.io/a\":1,\"mcp.dev/b\":2}", "" },
        { "{\"com.example.mcp/a\":1,\"mcp\":2,\"mcp/c\":3,\"a.b\":4}",
          "{\"com.example.mcp/a\":1,\"mcp\":2,\"mcp/c\":3,\"a.b\":4}" },
        { "{\"progressToken\":1,\"traceparent\":\"00-1\",\"tracestate\":\"a\",\"baggage\":\"b\"}",
          "{\"traceparent\":\"00-1\",\"tracestate\":\"a\",\"baggage\":\"b\"}" },
        { "{" V ",\"com.example/n\":{\"x\":[0.10,1e400,\"\\u0000\"]},\"\":null,\"/\":true}",
          "{\"com.example/n\":{\"x\":[0.10,1e400,\"\\u0000\"]},\"\":null,\"/\":true}" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct str rest;
        assert_true(meta_rest(parsed(rows[i].meta), &arena, &rest));
        if (!str_eq(rest, str_of(rows[i].rest)))
            fail_msg("%s: " STR_FMT, rows[i].meta, STR_ARG(rest));
    }
    struct str none;
    assert_true(meta_rest(NULL, &arena, &none));
    assert_int_equal(none.len, 0);
}

static void what_is_for_the_target_has_a_bound(void **state)
{
    static char text[META_REST_MAX + 64];
    struct str rest;

    (void)state;
    for (int over = 0; over < 2; over++) { /* {"a":"xxx"} */
        size_t len = META_REST_MAX - sizeof("{\"a\":\"\"}") + 1 + (size_t)over;
        int head = sprintf(text, "{\"progressToken\":1,\"a\":\"");
        memset(text + head, 'x', len);
        sprintf(text + head + len, "\"}");
        assert_int_equal(meta_rest(parsed(text), &arena, &rest), !over);
        assert_int_equal(rest.len, over ? 0 : META_REST_MAX);
    }
}

SUBJECT(meta)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(_meta_is_read_row_by_row, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_progress_token_that_is_too_long_is_told_how_long_one_may_be, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_protocol_uses_is_not_for_the_target, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_for_the_target_has_a_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(capabilities_are_those_that_are_declared, setup, teardown),
        cmocka_unit_test_setup_teardown(a_value_in_base64_is_what_it_stands_for, setup, teardown),
        cmocka_unit_test_setup_teardown(the_standard_headers_repeat_the_body, setup, teardown),
        cmocka_unit_test_setup_teardown(parameters_are_held_against_their_headers, setup, teardown),
        cmocka_unit_test_setup_teardown(an_annotation_that_cannot_work_is_refused, setup, teardown),
    };

    return cmocka_run_group_tests_name("mcp-meta", tests, NULL, NULL);
}
