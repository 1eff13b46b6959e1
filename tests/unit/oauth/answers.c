/* tests/unit/oauth/answers: what a token endpoint answers, read strictly. */
#include "far_end.h"

#include "../runner.h"

static struct arena arena;
static struct oauth_tokens tokens;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_finish(&arena);
    return 0;
}

static bool reads(int status, struct str body)
{
    return oauth_tokens_read(
        &arena, &(struct fetch_result){ .end = FETCH_DONE, .status = status, .body = body },
        &tokens);
}

static void equal(struct str text, const char *expected)
{
    char seen[256];

    snprintf(seen, sizeof(seen), STR_FMT, STR_ARG(text));
    assert_string_equal(seen, expected);
}

static void all_that_is_said_is_read(void **state)
{
    (void)state;
    assert_true(reads(200, STR("{\"access_token\":\"a1\",\"token_type\":\"Bearer\","
                               "\"refresh_token\":\"r1\",\"scope\":\"read write\","
                               "\"expires_in\":3600,\"extra\":{\"deep\":[1]}}")));
    equal(tokens.access, "a1");
    equal(tokens.refresh, "r1");
    equal(tokens.scopes, "read write");
    assert_int_equal(tokens.lasts_ms, 3600000);
    assert_int_equal(tokens.error.len, 0);

    assert_true(reads(201, STR("{\"access_token\":\"a1\",\"token_type\":\"BEARER\"}")));
    assert_int_equal(tokens.refresh.len, 0);
    assert_int_equal(tokens.scopes.len, 0);
    assert_int_equal(tokens.lasts_ms, 0);
}

static void what_lacks_a_member_or_has_another_type_is_no_answer(void **state)
{
    static const char *const bodies[] = {
        "",
        "[]",
        "null",
        "\"access_token\"",
        "{\"access_token\":\"a\",\"token_type\":\"bearer\"", /* cut off */
        "{\"token_type\":\"bearer\"}",
        "{\"access_token\":\"\",\"token_type\":\"bearer\"}",
        "{\"access_token\":7,\"token_type\":\"bearer\"}",
        "{\"access_token\":\"a\"}",
        "{\"access_token\":\"a\",\"token_type\":\"mac\"}",
        "{\"access_token\":\"a\",\"token_type\":\"dpop\"}",
        "access_token=a&token_type=bearer",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        if (reads(200, str_of(bodies[i])))
            fail_msg("taken for an answer: %s", bodies[i]);
    assert_false(reads(302, STR("{\"access_token\":\"a\",\"token_type\":\"bearer\"}")));
    assert_false(reads(500, STR("{\"access_token\":\"a\",\"token_type\":\"bearer\"}")));
    assert_false(
        oauth_tokens_read(&arena, &(struct fetch_result){ .end = FETCH_TOO_LATE }, &tokens));
}

static void how_long_a_token_lasts_has_bounds(void **state)
{
    static const struct {
        const char *said;
        bool fine;
        int64_t ms;
    } cases[] = {
        { "null", true, 0 },
        { "1", true, 1000 },
        { "0", true, 1 }, /* it has run out already: 0 would mean that nobody knows */
        { "\"3600\"", true, 3600000 },
        { "315360000", true, 315360000000 },
        { "315360001", true, 315360000000 },
        { "9223372036854775807", true, 315360000000 },
        { "9223372036854775808", false, 0 },
        { "-1", false, 0 },
        { "\"-1\"", false, 0 },
        { "1e300", false, 0 },
        { "0.5", false, 0 },
        { "\"soon\"", false, 0 },
        { "\"\"", false, 0 },
        { "true", false, 0 },
        { "[3600]", false, 0 },
    };
    char body[256];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(body, sizeof(body),
                 "{\"access_token\":\"a\",\"token_type\":\"bearer\",\"expires_in\":%s}",
                 cases[i].said);
        if (reads(200, str_of(body)) != cases[i].fine ||
            (cases[i].fine && tokens.lasts_ms != cases[i].ms))
            fail_msg("expires_in %s: %lld ms", cases[i].said, (long long)tokens.lasts_ms);
    }
}

/* A token later stands in a header of somebody's request. */
static void a_token_has_visible_characters_and_not_too_many(void **state)
{
    static const char *const wrong[] = { "a b", "a\\nb", "a\\u0000b", "a\\u00e9", "\\u007f" };
    static char body[OAUTH_TOKEN_MAX + 256];
    static char most[OAUTH_TOKEN_MAX + 2];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(body, sizeof(body), "{\"access_token\":\"%s\",\"token_type\":\"bearer\"}",
                 wrong[i]);
        assert_false(reads(200, str_of(body)));
        snprintf(body, sizeof(body),
                 "{\"access_token\":\"a\",\"refresh_token\":\"%s\",\"token_type\":\"bearer\"}",
                 wrong[i]);
        assert_false(reads(200, str_of(body)));
    }
    for (int more = 0; more < 2; more++) {
        memset(most, 'x', OAUTH_TOKEN_MAX + 1);
        most[OAUTH_TOKEN_MAX + more] = '\0';
        snprintf(body, sizeof(body), "{\"access_token\":\"%s\",\"token_type\":\"bearer\"}", most);
        assert_int_equal(reads(200, str_of(body)), !more);
    }
    assert_false(reads(200, STR("{\"access_token\":\"a\",\"token_type\":\"bearer\","
                                "\"scope\":\"a \\\"b\\\"\"}")));
}

static void an_error_is_read_whatever_its_status_but_not_of_a_service_that_fails(void **state)
{
    (void)state;
    assert_true(reads(400, STR("{\"error\":\"invalid_grant\",\"error_description\":\"x\"}")));
    equal(tokens.error, "invalid_grant");
    assert_true(oauth_is_refusal(tokens.error));
    assert_true(reads(200, STR("{\"error\":\"bad_refresh_token\",\"access_token\":\"a\"}")));
    assert_true(oauth_is_refusal(tokens.error));
    assert_int_equal(tokens.access.len, 0);
    assert_true(reads(401, STR("{\"error\":\"invalid_client\"}")));
    assert_false(oauth_is_refusal(tokens.error)); /* the operator's mistake ends no account */
    assert_true(reads(400, STR("{\"error\":\"temporarily_unavailable\"}")));
    assert_false(oauth_is_refusal(tokens.error));

    assert_false(reads(503, STR("{\"error\":\"invalid_grant\"}")));
    assert_false(reads(400, STR("{\"error\":\"invalid\\ngrant\"}")));
    assert_false(
        reads(400, STR("{\"error\":\"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
                       "eeeeeeeeeeeeeeeeeeeeeeee\"}")));
    assert_false(reads(400, STR("{\"error\":{\"code\":\"invalid_grant\"}}")));
    assert_false(reads(400, STR("<html>Bad Request</html>")));
}

SUBJECT(answers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_said_is_read),
        cmocka_unit_test(what_lacks_a_member_or_has_another_type_is_no_answer),
        cmocka_unit_test(how_long_a_token_lasts_has_bounds),
        cmocka_unit_test(a_token_has_visible_characters_and_not_too_many),
        cmocka_unit_test(an_error_is_read_whatever_its_status_but_not_of_a_service_that_fails),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
