/* tests/unit/surface/pages: pages that one question is answered on, and who they are for. */
#include "desk.h"

#include "../runner.h"

static char path[2048]; /* of the page that is asked on: /a/TOKEN */

static const char *ask_on_page(void)
{
    const char *id = desk_ask("ada", "How many?", PAGE_FORM);
    char url[2048];
    int port;

    assert_int_equal(desk_get(ADA, "/api/elicitation/%s", id), 200);
    snprintf(url, sizeof(url), "%s", desk_at("page"));
    assert_int_equal(sscanf(url, "\"http://127.0.0.1:%d%2000[^\"]", &port, path), 2);
    return id;
}

static void a_question_that_has_a_page_is_listed_with_its_link_and_no_schema(void **state)
{
    (void)state;
    ask_on_page();
    assert_string_equal(desk_at("kind"), "\"url\"");
    assert_string_equal(desk_at("schema"), "null");
    assert_string_equal(desk_at("url"), desk_at("page"));
}

static void a_page_shows_its_question_to_whom_it_was_put(void **state)
{
    (void)state;
    ask_on_page();
    assert_int_equal(desk_get(ADA, "%s/data", path), 200);
    assert_string_equal(desk_at("kind"), "\"form\"");
    assert_string_equal(desk_at("state"), "\"pending\"");
    assert_string_equal(desk_at("principal"), "\"ada\"");
    assert_string_equal(desk_at("me"), "\"ada\"");
    assert_string_equal(desk_at("message"), "\"How many?\"");
    assert_string_equal(desk_at("schema"), FORM);
    assert_int_equal(desk_get(BOB, "%s/data", path), 404);
    assert_int_equal(desk_get(ROOT, "%s/data", path), 404); /* it is ada's, and nobody's else */
    assert_int_equal(desk_get(NULL, "%s/data", path), 401);
    assert_int_equal(desk_get(NULL, "%s", path), 200); /* the empty page is for anyone */
}

static void a_token_that_is_not_whole_opens_nothing(void **state)
{
    char wrong[2048];
    size_t len;

    (void)state;
    ask_on_page();
    len = strlen(path);
    for (size_t at = strlen("/a/"); at < len; at += 7) {
        snprintf(wrong, sizeof(wrong), "%s", path);
        wrong[at] = wrong[at] == 'A' ? 'B' : 'A';
        if (desk_get(ADA, "%s/data", wrong) != 404)
            fail_msg("opened with byte %zu changed", at);
    }
    assert_int_equal(desk_get(ADA, "%.*s/data", (int)len - 1, path), 404);
    assert_int_equal(desk_get(ADA, "/a/x/data"), 404);
    assert_int_equal(desk_post(ADA, "{\"action\":\"decline\"}", "/a/x"), 404);
    assert_null(desk_result());
}

static void a_page_is_answered_once_and_only_with_what_fits(void **state)
{
    (void)state;
    ask_on_page();
    assert_int_equal(
        desk_post(ADA, "{\"action\":\"accept\",\"content\":{\"n\":\"x\"}}", "%s", path), 422);
    assert_string_equal(desk_at("errors.0.path"), "\"/n\"");
    assert_int_equal(desk_post(ADA, "{\"action\":\"accept\",\"content\":7}", "%s", path), 400);
    assert_int_equal(desk_post(ADA, "{\"action\":\"approve\"}", "%s", path), 400);
    assert_int_equal(desk_post(BOB, "{\"action\":\"accept\",\"content\":{\"n\":7}}", "%s", path),
                     404);
    assert_null(desk_result());
    assert_int_equal(desk_post(ADA, "{\"action\":\"accept\",\"content\":{\"n\":7}}", "%s", path),
                     200);
    assert_string_equal(desk_at("state"), "\"accepted\"");
    assert_string_equal(desk_at("outcome"), "\"This was answered, and the tool goes on.\"");
    assert_string_equal(desk_result(), "{\"n\":7}");
    assert_int_equal(desk_post(ADA, "{\"action\":\"decline\"}", "%s", path), 409);
    assert_int_equal(desk_get(ADA, "%s/data", path), 200);
    assert_string_equal(desk_at("state"), "\"accepted\"");
    assert_string_equal(desk_at("schema"), "(none)");
}

static void a_page_whose_time_is_over_takes_nothing(void **state)
{
    (void)state;
    ask_on_page();
    desk_later(600001);
    assert_int_equal(desk_post(ADA, "{\"action\":\"accept\",\"content\":{\"n\":7}}", "%s", path),
                     409);
    assert_string_equal(desk_at("state"), "\"expired\"");
    assert_string_not_equal(desk_result(), "{\"n\":7}");
}

/* Nothing that is entered on the page passes through the inbox. */
static void the_inbox_cannot_fill_in_a_page(void **state)
{
    const char *id;

    (void)state;
    id = ask_on_page();
    assert_int_equal(desk_post(ADA, "{\"action\":\"accept\",\"content\":{\"n\":7}}",
                               "/api/elicitation/%s/resolve", id),
                     200);
    assert_string_equal(desk_at("pending"), "true");
    assert_string_equal(desk_at("data"), "(none)");
    assert_null(desk_result());
    assert_int_equal(desk_post(ADA, "{\"action\":\"decline\"}", "/api/elicitation/%s/resolve", id),
                     200);
    assert_non_null(desk_result());
}

SUBJECT(pages)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, desk_setup, desk_teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_question_that_has_a_page_is_listed_with_its_link_and_no_schema),
        CASE(a_page_shows_its_question_to_whom_it_was_put),
        CASE(a_token_that_is_not_whole_opens_nothing),
        CASE(a_page_is_answered_once_and_only_with_what_fits),
        CASE(a_page_whose_time_is_over_takes_nothing),
        CASE(the_inbox_cannot_fill_in_a_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
