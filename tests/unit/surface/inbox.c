/* tests/unit/surface/inbox: what a question looks like in the API, lists by page and by filter, and
 * answers that come through it. */
#include "desk.h"

#include "../runner.h"

#define YES "{\"action\":\"accept\",\"content\":{\"n\":7}}"

static void a_question_is_shown_with_all_that_an_answerer_needs(void **state)
{
    const char *id = desk_ask("ada", "How many?", PAGE_NONE);
    char quoted[64];

    (void)state;
    snprintf(quoted, sizeof(quoted), "\"%s\"", id);
    assert_int_equal(desk_get(ADA, "/api/elicitation/%s", id), 200);
    assert_string_equal(desk_at("id"), quoted);
    assert_string_equal(desk_at("kind"), "\"form\"");
    assert_string_equal(desk_at("state"), "\"pending\"");
    assert_string_equal(desk_at("tool"), "\"tool\"");
    assert_string_equal(desk_at("title"), "\"Tool\"");
    assert_string_equal(desk_at("message"), "\"How many?\"");
    assert_string_equal(desk_at("schema"), FORM);
    assert_string_equal(desk_at("arguments"), "{\"message\":\"How many?\",\"page\":0}");
    assert_string_equal(desk_at("principal"), "\"ada\"");
    assert_string_equal(desk_at("server"), "\"desk\"");
    assert_string_equal(desk_at("askedAt"), "\"2023-11-14T22:13:20.000Z\"");
    assert_string_equal(desk_at("expiresAt"), "\"2023-11-14T22:23:20.000Z\"");
    assert_string_equal(desk_at("url"), "(none)");
    assert_string_equal(desk_at("answer"), "(none)");
    assert_string_equal(desk_at("call"), "(none)");
}

static void a_question_that_has_ended_says_how_and_what_came_of_it(void **state)
{
    const char *id = desk_ask("ada", "How many?", PAGE_NONE);

    (void)state;
    desk_later(1500);
    assert_int_equal(desk_post(ADA,
                               "{\"action\":\"accept\",\"content\":{\"n\":7},\"reason\":\"r\"}",
                               "/api/elicitation/%s/resolve", id),
                     200);
    assert_int_equal(desk_get(ADA, "/api/elicitation/%s", id), 200);
    assert_string_equal(desk_at("state"), "\"accepted\"");
    assert_string_equal(desk_at("answer"),
                        "{\"action\":\"accept\",\"by\":\"ada\",\"via\":\"api\","
                        "\"at\":\"2023-11-14T22:13:21.500Z\",\"reason\":\"r\",\"tookMs\":1500,"
                        "\"content\":{\"n\":7}}");
    assert_string_equal(desk_at("call.state"), "\"finished\"");
    assert_string_equal(desk_result(), "{\"n\":7}");
    assert_int_equal(desk_get(ROOT, "/api/elicitation/%s", id), 200);
    assert_string_equal(desk_at("answer.content"), "{\"n\":7}");
}

/* --- answers --- */

static void an_answer_names_its_question_by_the_exact_id(void **state)
{
    const char *id = desk_ask("ada", "How many?", PAGE_NONE);
    char other[ID_LEN + 2];

    (void)state;
    snprintf(other, sizeof(other), "%s", id);
    other[ID_LEN - 1] = other[ID_LEN - 1] == 'a' ? 'b' : 'a';
    assert_int_equal(desk_post(ADA, YES, "/api/elicitation/%s/resolve", other), 404);
    snprintf(other, sizeof(other), "%.*s", ID_LEN - 1, id);
    assert_int_equal(desk_post(ADA, YES, "/api/elicitation/%s/resolve", other), 404);
    assert_null(desk_result());
    assert_int_equal(desk_post(ADA, YES, "/api/elicitation/%s/resolve", id), 200);
    assert_string_equal(desk_at("approved"), "true");
    assert_string_equal(desk_at("action"), "\"accept\"");
    assert_string_equal(desk_at("data"), "{\"n\":7}");
    assert_string_equal(desk_result(), "{\"n\":7}");
}

static void for_another_principal_a_question_is_not_there(void **state)
{
    const char *id = desk_ask("ada", "How many?", PAGE_NONE);

    (void)state;
    assert_int_equal(desk_get(BOB, "/api/elicitation/%s", id), 404);
    assert_int_equal(desk_post(BOB, YES, "/api/elicitation/%s/resolve", id), 404);
    assert_string_equal(desk_at("detail"), "\"There is no such question.\"");
    assert_int_equal(desk_post(NULL, YES, "/api/elicitation/%s/resolve", id), 401);
    assert_null(desk_result());
    assert_int_equal(desk_get(ADA, "/api/elicitation/%s", id), 200);
    assert_string_equal(desk_at("state"), "\"pending\"");
}

static void content_that_does_not_fit_leaves_the_question_pending(void **state)
{
    const char *id = desk_ask("ada", "How many?", PAGE_NONE);

    (void)state;
    assert_int_equal(desk_post(ADA, "{\"action\":\"accept\",\"content\":{\"n\":\"x\"}}",
                               "/api/elicitation/%s/resolve", id),
                     422);
    assert_string_equal(desk_at("errors.0.path"), "\"/n\"");
    assert_int_equal(desk_post(ADA, "{\"approved\":true}", "/api/elicitation/%s/resolve", id), 422);
    assert_int_equal(desk_post(ADA, "{\"approved\":true,\"data\":{\"n\":7},\"executionId\":\"x\"}",
                               "/api/elicitation/%s/resolve", id),
                     422);
    assert_string_equal(desk_at("errors.0.path"), "\"/executionId\"");
    assert_null(desk_result());
    assert_int_equal(
        desk_post(ADA, "{\"approved\":true,\"data\":{\"n\":7}}", "/api/elicitation/%s/resolve", id),
        200);
}

static void a_body_that_is_no_answer_is_refused(void **state)
{
    static const char *const bodies[] = {
        "7",
        "{",
        "{}",
        "{\"action\":\"maybe\"}",
        "{\"approved\":\"yes\"}",
        "{\"approved\":true,\"action\":\"accept\"}",
        "{\"approved\":true,\"content\":{}}",
        "{\"action\":\"accept\",\"data\":{}}",
        "{\"action\":\"accept\",\"action\":\"decline\"}",
        "{\"action\":\"accept\",\"reason\":7}",
        "{\"action\":\"accept\",\"remember\":\"always\"}",
        "{\"action\":\"accept\",\"executionId\":7}",
        "{\"action\":\"accept\",\"other\":1}",
    };
    const char *id = desk_ask("ada", "How many?", PAGE_NONE);

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        if (desk_post(ADA, bodies[i], "/api/elicitation/%s/resolve", id) != 400)
            fail_msg("taken: %s", bodies[i]);
    assert_null(desk_result());
}

static void whoever_is_late_is_told_who_was_faster(void **state)
{
    const char *id = desk_ask("ada", "How many?", PAGE_NONE);

    (void)state;
    desk_elsewhere(id, "ada", ASK_DECLINED, NULL);
    assert_int_equal(desk_post(ADA, YES, "/api/elicitation/%s/resolve", id), 409);
    assert_string_equal(desk_at("detail"), "\"Somebody has answered this before.\"");
    assert_string_equal(desk_at("state"), "\"declined\"");
    assert_string_equal(desk_at("answer.action"), "\"decline\"");
    assert_string_equal(desk_at("answer.by"), "\"ada\"");
    assert_string_equal(desk_at("answer.via"), "\"terminal\"");
}

static void the_same_answer_sent_twice_counts_as_given(void **state)
{
    const char *id = desk_ask("ada", "How many?", PAGE_NONE);

    (void)state;
    assert_int_equal(desk_post(ADA, YES, "/api/elicitation/%s/resolve", id), 200);
    assert_int_equal(desk_post(ADA, YES, "/api/elicitation/%s/resolve", id), 200);
    assert_string_equal(desk_at("approved"), "true");
    assert_int_equal(desk_post(ADA, "{\"action\":\"accept\",\"content\":{\"n\":8}}",
                               "/api/elicitation/%s/resolve", id),
                     409);
    assert_int_equal(desk_post(ADA, "{\"action\":\"decline\"}", "/api/elicitation/%s/resolve", id),
                     409);
    assert_string_equal(desk_at("state"), "\"accepted\"");
}

static void after_its_time_a_question_is_not_answered(void **state)
{
    const char *id = desk_ask("ada", "How many?", PAGE_NONE);

    (void)state;
    desk_later(600001);
    assert_int_equal(desk_post(ADA, YES, "/api/elicitation/%s/resolve", id), 409);
    assert_string_equal(desk_at("state"), "\"expired\"");
    assert_string_equal(desk_at("answer.action"), "null");
    assert_string_equal(desk_at("detail"), "\"The time to answer this is over.\"");
}

/* --- lists --- */

static void a_list_goes_on_where_its_page_ended(void **state)
{
    static const char *const messages[] = { "one", "two", "three", "four", "five" };
    char cursor[1024], quoted[1024];

    (void)state;
    for (int i = 0; i < 5; i++) {
        desk_ask(i == 3 ? "bob" : "ada", messages[i], PAGE_NONE);
        desk_later(1000);
    }
    assert_int_equal(desk_get(ADA, "/api/elicitation?limit=2"), 200);
    assert_string_equal(desk_at("items.0.message"), "\"one\"");
    assert_string_equal(desk_at("items.1.message"), "\"two\"");
    assert_string_equal(desk_at("items.2"), "(none)");
    assert_string_equal(desk_at("now"), "\"2023-11-14T22:13:25.000Z\"");
    snprintf(quoted, sizeof(quoted), "%s", desk_at("next"));
    sscanf(quoted, "\"%1000[^\"]", cursor);
    assert_int_equal(desk_get(ADA, "/api/elicitation?limit=2&cursor=%s", cursor), 200);
    assert_string_equal(desk_at("items.0.message"), "\"three\"");
    assert_string_equal(desk_at("items.1.message"), "\"five\""); /* and not bob's */
    assert_string_equal(desk_at("items.2"), "(none)");
    assert_int_equal(desk_get(ADA, "/api/elicitation?cursor=nonsense"), 400);
}

static void filters_leave_out_what_does_not_fit(void **state)
{
    const char *first = desk_ask("ada", "Red fish", PAGE_NONE);

    (void)state;
    desk_later(60000);
    desk_ask("ada", "Blue fish", PAGE_NONE);
    desk_ask("bob", "Old boot", PAGE_NONE);
    assert_int_equal(
        desk_post(ADA, "{\"action\":\"decline\"}", "/api/elicitation/%s/resolve", first), 200);
    static const struct {
        const char *token, *query, *one;
    } cases[] = {
        { ADA, "", "\"Blue fish\"" },
        { ADA, "?state=pending", "\"Blue fish\"" },
        { ADA, "?state=ended", "\"Red fish\"" },
        { ADA, "?state=declined", "\"Red fish\"" },
        { ADA, "?state=accepted", NULL },
        { ADA, "?tool=tool", "\"Blue fish\"" },
        { ADA, "?tool=other", NULL },
        { ADA, "?principal=bob", NULL },
        { ADA, "?q=BLUE", "\"Blue fish\"" },
        { ADA, "?q=boot", NULL },
        { ADA, "?since=2023-11-14T22:14:20Z", "\"Blue fish\"" },
        { ADA, "?until=2023-11-14T22:14:19Z", NULL },
        { ROOT, "?q=boot", "\"Old boot\"" },
        { ROOT, "?principal=bob", "\"Old boot\"" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(desk_get(cases[i].token, "/api/elicitation%s", cases[i].query), 200);
        const char *expected = cases[i].one ? cases[i].one : "(none)";
        if (strcmp(desk_at("items.0.message"), expected) != 0 ||
            strcmp(desk_at("items.1"), "(none)") != 0)
            fail_msg("%s: %s", cases[i].query, desk_at("items"));
    }
}

static void a_query_that_cannot_be_meant_is_refused(void **state)
{
    static const char *const queries[] = { "state=open",      "limit=0",  "limit=201", "limit=x",
                                           "since=today",     "q=",       "q=%20",     "other=1",
                                           "limit=1&limit=2", "tool=%zz", "tool=a%00b" };

    (void)state;
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
        if (desk_get(ADA, "/api/elicitation?%s", queries[i]) != 400)
            fail_msg("taken: %s", queries[i]);
    assert_int_equal(desk_get(NULL, "/api/elicitation"), 401);
}

static void lists_of_one_user_fail_together_while_the_store_is_away(void **state)
{
    (void)state;
    assert_int_equal(desk_get_while_away(ADA, "/api/elicitation", 8, 503), 1);
}

static void searches_of_one_user_fail_together_while_the_store_is_away(void **state)
{
    (void)state;
    assert_int_equal(desk_get_while_away(ADA, "/api/elicitation?q=fish", 8, 503), 1);
}

static void of_an_event_some_streams_are_told_at_a_time(void **state)
{
    (void)state;
    desk_watch(ADA, 200);
    desk_ask("ada", "How many?", PAGE_NONE);
    assert_in_range(desk_told_at_once(), 1, 50);
}

static void a_heartbeat_and_the_end_come_to_some_streams_at_a_time(void **state)
{
    (void)state;
    desk_watch(ADA, 200);
    assert_in_range(desk_beaten_at_once(), 1, 50);
    assert_in_range(desk_beaten_at_once(), 1, 50);
    assert_in_range(desk_ended_at_once(), 1, 50);
}

SUBJECT(inbox)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, desk_setup, desk_teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_question_is_shown_with_all_that_an_answerer_needs),
        CASE(a_question_that_has_ended_says_how_and_what_came_of_it),
        CASE(an_answer_names_its_question_by_the_exact_id),
        CASE(for_another_principal_a_question_is_not_there),
        CASE(content_that_does_not_fit_leaves_the_question_pending),
        CASE(a_body_that_is_no_answer_is_refused),
        CASE(whoever_is_late_is_told_who_was_faster),
        CASE(the_same_answer_sent_twice_counts_as_given),
        CASE(after_its_time_a_question_is_not_answered),
        CASE(a_list_goes_on_where_its_page_ended),
        CASE(filters_leave_out_what_does_not_fit),
        CASE(a_query_that_cannot_be_meant_is_refused),
        CASE(lists_of_one_user_fail_together_while_the_store_is_away),
        CASE(searches_of_one_user_fail_together_while_the_store_is_away),
        CASE(of_an_event_some_streams_are_told_at_a_time),
        CASE(a_heartbeat_and_the_end_come_to_some_streams_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
