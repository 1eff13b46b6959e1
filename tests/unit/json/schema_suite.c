/*
 * tests/unit/json/schema_suite: the published JSON Schema test suite, draft 2020-12.
 *
 * Reads the suite from $NOD_SHARED_DATA/json-schema-2020-12, and says so if it is missing. Every
 * test must come out as the suite says, except the rows of `excluded`, each with its reason. An
 * exclusion that matches nothing, or that is not needed, fails too, so the list stays true.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "json/schema.h"
#include "../runner.h"

enum { FILE_MOST = 4 * 1024 * 1024, PATH_MOST_ = 4096, ARENA_MOST = 64 * 1024 * 1024 };

#define REMOTE     "refers to another document, and nothing is ever fetched"
#define METASCHEMA "refers to the metaschema, which is another document"
#define VOCABULARY "needs a metaschema of its own with other vocabularies"
#define DYNAMIC    "needs the dynamic scope; $dynamicRef is resolved like $ref"
#define LEGACY     "is about a keyword of older drafts, which 2020-12 has taken apart"
#define LOOKBEHIND "PCRE2 knows lookbehind of fixed width only; compiling says so"
#define IDNA       "IDNA's rules for what an xn-- label decodes to are not checked"

struct exclusion {
    const char *file;
    const char *group; /* NULL: the whole file */
    const char *test;  /* NULL: the whole group */
    const char *why;
    int used;
};

static struct exclusion excluded[] = {
    { "refRemote.json", NULL, NULL, REMOTE, 0 },
    { "unevaluatedItems.json", "unevaluatedItems with $dynamicRef", "with no unevaluated items",
      DYNAMIC, 0 },
    { "unevaluatedProperties.json", "unevaluatedProperties with $dynamicRef",
      "with no unevaluated properties", DYNAMIC, 0 },
    { "vocabulary.json", "schema that uses custom metaschema with with no validation vocabulary",
      "no validation: invalid number, but it still validates", VOCABULARY, 0 },
    { "dynamicRef.json",
      "A $dynamicRef resolves to the first $dynamicAnchor still in scope that is encountered when "
      "the schema is evaluated",
      "An array containing non-strings is invalid", DYNAMIC, 0 },
    { "dynamicRef.json",
      "A $dynamicRef with intermediate scopes that don't include a matching $dynamicAnchor does "
      "not affect dynamic scope resolution",
      "An array containing non-strings is invalid", DYNAMIC, 0 },
    { "dynamicRef.json",
      "A $dynamicRef that initially resolves to a schema with a matching $dynamicAnchor resolves "
      "to the first $dynamicAnchor in the dynamic scope",
      "The recursive part is not valid against the root", DYNAMIC, 0 },
    { "dynamicRef.json", "multiple dynamic paths to the $dynamicRef keyword",
      "number list with string values", DYNAMIC, 0 },
    { "dynamicRef.json", "multiple dynamic paths to the $dynamicRef keyword",
      "string list with number values", DYNAMIC, 0 },
    { "dynamicRef.json", "after leaving a dynamic scope, it is not used by a $dynamicRef",
      "string matches /$defs/thingy, but the $dynamicRef does not stop here", DYNAMIC, 0 },
    { "dynamicRef.json", "after leaving a dynamic scope, it is not used by a $dynamicRef",
      "/then/$defs/thingy is the final stop for the $dynamicRef", DYNAMIC, 0 },
    { "dynamicRef.json", "strict-tree schema, guards against misspelled properties", NULL, REMOTE,
      0 },
    { "dynamicRef.json", "tests for implementation dynamic anchor and reference link", NULL, REMOTE,
      0 },
    { "dynamicRef.json", "$ref and $dynamicAnchor are independent of order - $defs first", NULL,
      REMOTE, 0 },
    { "dynamicRef.json", "$ref and $dynamicAnchor are independent of order - $ref first", NULL,
      REMOTE, 0 },
    { "dynamicRef.json", "$ref to $dynamicRef finds detached $dynamicAnchor", NULL, REMOTE, 0 },
    { "dynamicRef.json",
      "$dynamicRef avoids the root of each schema, but scopes are still registered",
      "data is not sufficient for schema at second#/$defs/length", DYNAMIC, 0 },
    { "ref.json", "remote ref, containing refs itself", NULL, METASCHEMA, 0 },
    { "defs.json", "validate definition against metaschema", NULL, METASCHEMA, 0 },
    { "optional/cross-draft.json", "refs to historic drafts are processed as historic drafts", NULL,
      REMOTE, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "invalid Punycode", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "contains illegal char U+302E Hangul single dot tone mark", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "Begins with a Spacing Combining Mark", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "Begins with a Nonspacing Mark", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "Begins with an Enclosing Mark", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "Exceptions that are DISALLOWED, right-to-left chars", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "Exceptions that are DISALLOWED, left-to-right chars", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "MIDDLE DOT with no preceding 'l'", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "MIDDLE DOT with nothing preceding", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "MIDDLE DOT with no following 'l'", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "MIDDLE DOT with nothing following", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "Greek KERAIA not followed by Greek", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "Greek KERAIA not followed by anything", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "Hebrew GERESH not preceded by Hebrew", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "Hebrew GERESH not preceded by anything", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "Hebrew GERSHAYIM not preceded by Hebrew", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "Hebrew GERSHAYIM not preceded by anything", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "KATAKANA MIDDLE DOT with no Hiragana, Katakana, or Han", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "KATAKANA MIDDLE DOT with no other characters", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "Arabic-Indic digits mixed with Extended Arabic-Indic digits", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "ZERO WIDTH JOINER not preceded by Virama", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "ZERO WIDTH JOINER not preceded by anything", IDNA, 0 },
    { "optional/format/hostname.json", "validation of A-label (punycode) host names",
      "contains \"--\" in the 3rd and 4th position", IDNA, 0 },
    { "optional/format/ecmascript-regex.json",
      "ECMA 262 lookbehind is valid, including variable width", NULL, LOOKBEHIND, 0 },
    { "optional/dependencies-compatibility.json", NULL, NULL, LEGACY, 0 },
};

struct counts {
    int passed;
    int excluded;
    int failed;
};

static struct exclusion *exclusion_of(const char *file, struct str group, struct str test)
{
    for (size_t i = 0; i < sizeof(excluded) / sizeof(excluded[0]); i++) {
        struct exclusion *e = &excluded[i];
        if (strcmp(e->file, file) == 0 && (!e->group || str_eq(str_of(e->group), group)) &&
            (!e->test || str_eq(str_of(e->test), test)))
            return e;
    }
    return NULL;
}

/* What the schema says of one instance: as the suite wants it or not. */
static bool comes_out_right(const struct schema *schema, const struct json *test)
{
    struct schema_problems problems;
    struct arena arena;

    arena_init(&arena, ARENA_MOST);
    nod_status status = schema_check(schema, json_get(test, STR("data")), &arena, &problems);
    bool right = (status == NOD_OK) == json_true(json_get(test, STR("valid")));
    /* A refusal always says why. */
    right = right && (status == NOD_OK) == (problems.count == 0);
    arena_finish(&arena);
    return right;
}

static void run_group(const char *file, const struct json *group, bool formats,
                      struct counts *counts)
{
    struct str name = json_get_str(group, STR("description"));
    struct schema_opts opts = { .assert_formats = formats };
    struct schema_problems problems;
    struct arena arena;

    arena_init(&arena, ARENA_MOST);
    struct schema *schema =
        schema_compile(json_get(group, STR("schema")), &opts, &arena, &problems);
    JSON_EACH (test, json_get(group, STR("tests"))) {
        struct str what = json_get_str(test, STR("description"));
        struct exclusion *e = exclusion_of(file, name, what);
        bool right = schema && comes_out_right(schema, test);
        if (e) {
            e->used += right ? 0 : 1;
            counts->excluded++;
        } else if (right) {
            counts->passed++;
        } else {
            counts->failed++;
            fprintf(stderr, "  wrong: %s | " STR_FMT " | " STR_FMT "%s" STR_FMT " " STR_FMT "\n",
                    file, STR_ARG(name), STR_ARG(what), schema ? "" : " | does not compile: ",
                    STR_ARG(schema ? STR_NONE : problems.at[0].path),
                    STR_ARG(schema ? STR_NONE : problems.at[0].message));
        }
    }
    schema_destroy(schema);
    arena_finish(&arena);
}

static void run_file(const char *root, const char *file, bool formats, struct counts *counts)
{
    char path[PATH_MOST_];
    struct json_error error;
    struct arena arena;

    assert_true(snprintf(path, sizeof(path), "%s/%s", root, file) < (int)sizeof(path));
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    char *text = mem_alloc(FILE_MOST);
    size_t len = fread(text, 1, FILE_MOST, in);
    fclose(in);
    arena_init(&arena, ARENA_MOST);
    struct json *groups = json_parse(&arena, str_n(text, len), NULL, &error);
    assert_true(json_is(groups, JSON_ARRAY));
    JSON_EACH (group, groups)
        run_group(file, group, formats, counts);
    arena_finish(&arena);
    mem_free(text);
}

static const char *suite_root(char *path, size_t size)
{
    const char *data = getenv("NOD_SHARED_DATA");

    snprintf(path, size, "%s/json-schema-2020-12", data ? data : "");
    DIR *there = data ? opendir(path) : NULL;
    if (!there) {
        print_message("the JSON Schema test suite is not there (%s); skipped\n", path);
        skip();
    }
    closedir(there);
    return path;
}

static void say(const char *what, const struct counts *counts)
{
    print_message("%s: %d passed, %d excluded, %d wrong\n", what, counts->passed, counts->excluded,
                  counts->failed);
}

static void every_required_test_comes_out_as_the_suite_says(void **state)
{
    char root[PATH_MOST_];
    struct counts counts = { 0 };
    DIR *folder;

    (void)state;
    folder = opendir(suite_root(root, sizeof(root)));
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (str_ends(str_of(entry->d_name), STR(".json")))
            run_file(root, entry->d_name, false, &counts);
    closedir(folder);
    say("required", &counts);
    assert_int_equal(counts.failed, 0);
    assert_true(counts.passed > 1000);
}

static void the_optional_tests_that_apply_come_out_as_the_suite_says(void **state)
{
    static const char *const files[] = {
        "optional/anchor.json",
        "optional/bignum.json",
        "optional/dynamicRef.json",
        "optional/ecmascript-regex.json",
        "optional/float-overflow.json",
        "optional/id.json",
        "optional/no-schema.json",
        "optional/non-bmp-regex.json",
        "optional/refOfUnknownKeyword.json",
        "optional/unknownKeyword.json",
        "optional/cross-draft.json",
        "optional/dependencies-compatibility.json",
    };
    char root[PATH_MOST_];
    struct counts counts = { 0 };

    (void)state;
    suite_root(root, sizeof(root));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        run_file(root, files[i], false, &counts);
    say("optional", &counts);
    assert_int_equal(counts.failed, 0);
    assert_true(counts.passed > 100);
}

static void the_formats_we_assert_mean_what_the_suite_says(void **state)
{
    static const char *const files[] = {
        "optional/format/date-time.json", "optional/format/date.json",
        "optional/format/email.json",     "optional/format/hostname.json",
        "optional/format/ipv4.json",      "optional/format/ipv6.json",
        "optional/format/regex.json",     "optional/format/ecmascript-regex.json",
        "optional/format/time.json",      "optional/format/uri.json",
        "optional/format/uuid.json",      "optional/format/unknown.json",
    };
    char root[PATH_MOST_];
    struct counts counts = { 0 };

    (void)state;
    suite_root(root, sizeof(root));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        run_file(root, files[i], true, &counts);
    say("formats", &counts);
    assert_int_equal(counts.failed, 0);
    assert_true(counts.passed > 300);
}

/* Runs last: by now every exclusion has excused something that would have failed. */
static void no_exclusion_is_there_for_nothing(void **state)
{
    char root[PATH_MOST_];
    int idle = 0;

    (void)state;
    suite_root(root, sizeof(root));
    for (size_t i = 0; i < sizeof(excluded) / sizeof(excluded[0]); i++) {
        if (excluded[i].used)
            continue;
        idle++;
        fprintf(stderr, "  not needed: %s | %s | %s\n", excluded[i].file,
                excluded[i].group ? excluded[i].group : "",
                excluded[i].test ? excluded[i].test : "");
    }
    assert_int_equal(idle, 0);
}

SUBJECT(schema_suite)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_required_test_comes_out_as_the_suite_says),
        cmocka_unit_test(the_optional_tests_that_apply_come_out_as_the_suite_says),
        cmocka_unit_test(the_formats_we_assert_mean_what_the_suite_says),
        cmocka_unit_test(no_exclusion_is_there_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
