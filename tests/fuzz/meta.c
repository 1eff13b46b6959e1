/*
 * tests/fuzz/meta: _meta, the headers that repeat the body, and annotations of schemas.
 *
 * The lines are: the JSON of params (with its arguments), the JSON of a schema, and then headers,
 * `name: value`. Whatever they are, the answer is yes, or a fault with a code of MCP.
 */
#include <stdlib.h>

#include "mcp/wire/era.h"
#include "mcp/wire/headers.h"
#include "mcp/wire/meta.h"
#include "target.h"

enum { HEADERS_MAX = 32 };

static void check_fault(const struct meta_fault *fault)
{
    bool known = fault->code == -32602 || fault->code == MCP_HEADER_MISMATCH ||
                 fault->code == MCP_UNSUPPORTED_VERSION;

    if (!known || fault->status != 400 || !fault->message.at)
        abort();
}

static size_t read_headers(struct str text, struct http_header headers[HEADERS_MAX])
{
    size_t count = 0;

    for (bool more = text.len > 0; more && count < HEADERS_MAX;) {
        struct str line;
        more = str_cut(text, '\n', &line, &text);
        if (str_cut(line, ':', &headers[count].name, &headers[count].value))
            count++;
    }
    return count;
}

static void hold_against(const struct json *params, const struct json *schema, struct str text,
                         struct arena *arena)
{
    struct http_header headers[HEADERS_MAX];
    struct http_request http = { .headers = headers };
    struct meta meta;
    struct meta_fault fault = { 0 };
    const struct param_header *param_headers;
    struct str problem;
    size_t count;

    http.header_count = read_headers(text, headers);
    if (!meta_read(params, arena, &meta, &fault)) {
        check_fault(&fault);
        return;
    }
    if (!era_speaks_2026(meta.version)) {
        meta_unsupported(meta.version, arena, &fault);
        check_fault(&fault);
    }
    if (!headers_agree(&http, meta.version, STR("tools/call"), json_get_str(params, STR("name")),
                       arena, &fault))
        check_fault(&fault);
    if (!param_headers_find(schema, arena, &param_headers, &count, &problem)) {
        if (!problem.at && !arena->exhausted)
            abort();
        return;
    }
    if (!headers_params_agree(&http, param_headers, count, json_get(params, STR("arguments")),
                              arena, &fault))
        check_fault(&fault);
}

FUZZ_TARGET(meta)
{
    struct str rest = str_n((const char *)data, size), params_text, schema_text = STR_NONE;
    struct arena arena;

    arena_init(&arena, 16 << 20);
    str_cut(rest, '\n', &params_text, &rest);
    str_cut(rest, '\n', &schema_text, &rest);
    const struct json *params = json_parse(&arena, params_text, NULL, NULL);
    const struct json *schema = json_parse(&arena, schema_text, NULL, NULL);
    meta_is_modern(params);
    if (json_is(params, JSON_OBJECT))
        hold_against(params, schema, rest, &arena);
    arena_finish(&arena);
    return 0;
}
