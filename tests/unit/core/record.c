/* tests/unit/core/record: records are copied whole; JSON is recognised by its digest. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/json_digest.h"
#include "core/record.h"

enum { ARENA_CAP = 1 << 20 };

static int arena_begin(void **state)
{
    static struct arena arena;

    arena_init(&arena, ARENA_CAP);
    *state = &arena;
    return 0;
}

static int arena_end(void **state)
{
    arena_finish(*state);
    return 0;
}

static void assert_digest(const struct digest *digest, const char *hex)
{
    char text[DIGEST_HEX_LEN + 1];

    digest_hex(digest, text);
    assert_string_equal(text, hex);
}

static void assert_json_digest(struct arena *arena, const char *json, const char *hex)
{
    struct json_error error;
    struct digest digest;
    struct json *value = json_parse(arena, str_of(json), NULL, &error);

    assert_non_null(value);
    assert_int_equal(digest_of_json(value, &digest), NOD_OK);
    assert_digest(&digest, hex);
}

/* The two examples of RFC 8785, sections 3.2.2 and 3.2.3. */
static void json_is_digested_in_its_canonical_form(void **state)
{
    assert_json_digest(
        *state,
        "{\n  \"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3,\n"
        "  0.000000000000000000000000001],\n"
        "  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
        "  \"literals\": [null, true, false]\n}",
        "2d5e01a318d0f0879ab568c4be289c8b1f64ef8921a53c6277d5e069978baacb");
    assert_json_digest(*state,
                       "{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\","
                       "\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\"1\":\"One\","
                       "\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\\u007f\","
                       "\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
                       "741eb039ec942f906d981b7a59f8fc4e2394b27b88d0947677f244132433a649");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_digested_in_its_canonical_form),
    };

    return cmocka_run_group_tests(tests, arena_begin, arena_end);
}
