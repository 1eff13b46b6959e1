/*
 * tests/fuzz/schema: a schema and a value, separated by a NUL or a newline, from anybody.
 *
 * Compiles, checks, and reads the schema as a form of every revision. Whatever the bytes are: no
 * crash, no hang, a refusal always says why, and a form made for a revision is a form of that
 * revision.
 */
#include <stdint.h>
#include <stdlib.h>

#include "json/form.h"
#include "json/schema.h"
#include "target.h"

enum { ARENA_MOST = 16 * 1024 * 1024, WORK_MOST = 200 * 1000 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void must_explain(const struct schema_problems *problems)
{
    must(problems->count > 0 && problems->count <= SCHEMA_PROBLEMS_MAX);
    for (size_t i = 0; i < problems->count; i++)
        must(problems->at[i].message.at && problems->at[i].message.len > 0);
}

static void run_schema(struct arena *arena, const struct json *document, const struct json *value)
{
    const struct schema_opts opts = { .assert_formats = true, .max_work = WORK_MOST };
    struct schema_problems problems;
    struct schema *schema = schema_compile(document, &opts, arena, &problems);

    if (!schema) {
        must_explain(&problems);
        return;
    }
    nod_status status = schema_check(schema, value, arena, &problems);
    must(status == NOD_OK || status == NOD_E_INVALID || status == NOD_E_LIMIT);
    if (status != NOD_OK)
        must_explain(&problems);
    schema_destroy(schema);
}

static void run_form(struct arena *arena, const struct json *document)
{
    struct schema_problems problems;
    struct str field;
    bool is_form = form_check(document, FORM_2026_07_28, arena, &problems) == NOD_OK;

    if (!is_form)
        must_explain(&problems);
    form_asks_secret(document, json_get_str(document, STR("title")), NULL, NULL, &field);
    for (int r = FORM_2025_06_18; r <= FORM_2026_07_28; r++) {
        struct json *out = form_for_revision(document, (enum form_revision)r, arena, &problems);
        if (!out)
            must_explain(&problems);
        else if (is_form && !arena->exhausted)
            must(form_check(out, (enum form_revision)r, arena, &problems) == NOD_OK);
    }
}

FUZZ_TARGET(schema)
{
    struct str text = str_n((const char *)data, size);
    struct str first;
    struct str second;
    struct json_error error;
    struct arena arena;

    if (!str_cut(text, '\0', &first, &second))
        str_cut(text, '\n', &first, &second);
    arena_init(&arena, ARENA_MOST);
    struct json *document = json_parse(&arena, first, NULL, &error);
    struct json *value = json_parse(&arena, second, NULL, &error);
    if (document) {
        run_schema(&arena, document, value ? value : document);
        run_form(&arena, document);
    }
    arena_finish(&arena);
    return 0;
}
