/*
 * kit/kit_expect: what a test expects, and how it reports what is different.
 *
 * It prints one line for each, as compilers do: the file and line, what was expected, and what
 * came.
 */
#include <stdarg.h>
#include <stdio.h>

#include "kit/kit.h"

void kit_fail(nod_test *test, const char *file, int line, const char *format, ...)
{
    va_list args;

    test->failures++;
    if (file)
        fprintf(stderr, "%s:%d: ", file, line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* How the call ended, for a message about something else. */
static const char *in_brackets(nod_test *test)
{
    const char *code = nod_test_code(test);

    return *code ? code : nod_test_is_error(test) ? "isError" : "a result";
}

bool nod_test_expect_text(nod_test *test, const char *text, const char *file, int line)
{
    const char *got = nod_test_text(test);

    if (strcmp(got, text) == 0)
        return true;
    kit_fail(test, file, line, "expected the text \"%s\", got \"%s\" (%s)", text, got,
             in_brackets(test));
    return false;
}

bool nod_test_expect_match(nod_test *test, const char *part, const char *file, int line)
{
    const char *got = nod_test_text(test);

    if (strstr(got, part))
        return true;
    kit_fail(test, file, line, "expected a text with \"%s\" in it, got \"%s\" (%s)", part, got,
             in_brackets(test));
    return false;
}

bool nod_test_expect_json(nod_test *test, const char *json, const char *file, int line)
{
    const struct json *expected = json_parse(&test->said, str_of(json), NULL, NULL);
    const struct json *got = (const struct json *)(const void *)nod_test_structured(test);

    if (!expected) {
        kit_fail(test, file, line, "what is expected is not JSON: %s", json);
        return false;
    }
    if (got && json_equal(expected, got))
        return true;
    if (got)
        kit_fail(test, file, line, "expected the structured result %s, got " STR_FMT, json,
                 STR_ARG(test->outcome.body));
    else
        kit_fail(test, file, line,
                 "expected the structured result %s, but there was none (%s: \"%s\")", json,
                 in_brackets(test), nod_test_text(test));
    return false;
}

bool nod_test_expect_code(nod_test *test, const char *code, const char *file, int line)
{
    if (strcmp(nod_test_code(test), code) == 0)
        return true;
    kit_fail(test, file, line, "expected the code %s, got %s: \"%s\"", code, in_brackets(test),
             nod_test_text(test));
    return false;
}

bool nod_test_expect_count(nod_test *test, const char *what, size_t expected, size_t got,
                           const char *file, int line)
{
    if (expected == got)
        return true;
    kit_fail(test, file, line, "expected %zu %s, got %zu", expected, what, got);
    return false;
}

bool nod_test_expect_true(nod_test *test, const char *what, bool holds, const char *file, int line)
{
    if (!holds)
        kit_fail(test, file, line, "does not hold: %s", what);
    return holds;
}
