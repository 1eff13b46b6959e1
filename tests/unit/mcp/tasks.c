/*
 * tests/unit/mcp/tasks: calls that a client leaves and comes back to, over real sockets: who gets a
 * task, how it lives, what it asks.
 */
#include "task_talk.h"
#include "../runner.h"

#include <stdio.h>
#include <sys/socket.h>

/* --- who gets a task --- */

static void the_extension_is_declared_when_a_tool_has_tasks(void **state)
{
    (void)state;
    expect(&(struct exchange){ "server/discover" }, 200,
           "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}");
}

static void the_extension_is_not_declared_when_no_tool_has_tasks(void **state)
{
    (void)state;
    for (size_t i = 0; i < world.target_count; i++)
        world.targets[i].detach = DETACH_NEVER;
    expect(&(struct exchange){ "server/discover" }, 200, "\"capabilities\"");
    has_not("extensions");
    of_task("tasks/get", "x", NULL, 404, "-32601");
}

static void a_task_is_for_a_request_that_declares_the_extension_and_no_other(void **state)
{
    static const char params[] = "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"}";

    (void)state;
    begin("echo", "{\"text\":\"hi\"}", id);
    expect(&(struct exchange){ "tools/call", "echo", params, WITHOUT }, 200,
           "\"resultType\":\"complete\"");
    has_not("taskId");
}

static void a_tool_without_tasks_is_never_one(void **state)
{
    (void)state;
    set_task("echo", DETACH_NEVER, false);
    expect(&(struct exchange){ "tools/call", "echo",
                               "\"name\":\"echo\",\"task\":{\"ttl\":5},\"arguments\":{}" },
           200, "\"resultType\":\"complete\"");
    has_not("taskId");
}

static void a_required_tool_is_refused_without_the_extension(void **state)
{
    (void)state;
    expect(
        &(struct exchange){ "tools/call", "rich", "\"name\":\"rich\",\"arguments\":{}", WITHOUT },
        400, MISSING);
    assert_int_equal(world.runs, 0);
}

static void a_2025_client_of_a_required_tool_waits_for_the_result(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"rich\",\"arguments\":{}}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "structuredContent"));
    talk_close(&talk);
}

static void methods_of_tasks_need_the_extension(void **state)
{
    static const char *const methods[] = { "tasks/get", "tasks/update", "tasks/cancel" };

    (void)state;
    begin("form", NULL, id);
    for (size_t i = 0; i < 3; i++) {
        char params[256];
        snprintf(params, sizeof(params), "\"taskId\":\"%s\",\"inputResponses\":{}", id);
        expect(&(struct exchange){ methods[i], id, params, WITHOUT }, 400, MISSING);
    }
    get(id, ASKS);
}

static void methods_that_were_taken_away_are_unknown(void **state)
{
    (void)state;
    of_task("tasks/result", "x", NULL, 404, "-32601");
    of_task("tasks/list", "x", NULL, 404, "-32601");
}

static void the_name_header_is_the_task_id(void **state)
{
    char params[128];

    (void)state;
    begin("form", NULL, id);
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    expect(&(struct exchange){ "tasks/get", "another", params }, 400, "-32020");
    expect(&(struct exchange){ "tasks/cancel", NULL, params }, 400, "-32020");
    get(id, ASKS);
}

static void an_unknown_task_is_an_invalid_parameter(void **state)
{
    (void)state;
    of_task("tasks/get", "nobody", NULL, 200, UNKNOWN);
    of_task("tasks/cancel", "nobody", NULL, 200, UNKNOWN);
    update("nobody", "{}", 200, UNKNOWN);
    expect(&(struct exchange){ "tasks/get", "", "\"taskId\":7" }, 200, "-32602");
}

static void a_task_does_not_exist_for_another_principal(void **state)
{
    (void)state;
    token_now = "aaaaaaaaaaaaaaaaaaaa";
    begin("form", NULL, id);
    token_now = "bbbbbbbbbbbbbbbbbbbb";
    of_task("tasks/get", id, NULL, 200, UNKNOWN);
    of_task("tasks/cancel", id, NULL, 200, UNKNOWN);
    update(id, "{\"#1\":" AGE("7") "}", 200, UNKNOWN);
    token_now = "aaaaaaaaaaaaaaaaaaaa";
    get(id, ASKS);
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    get(id, COMPLETED);
    token_now = NULL;
}

/* --- its life --- */

static void a_task_says_when_it_was_made_and_how_long_it_lives(void **state)
{
    (void)state;
    begin("hold", NULL, id);
    assert_non_null(strstr(text, WORKING));
    assert_non_null(strstr(text, "\"createdAt\":\"2023-11-14T22:13:20.000Z\",\"lastUpdatedAt\":"
                                 "\"2023-11-14T22:13:20.000Z\",\"ttlMs\":3600000,"
                                 "\"pollIntervalMs\":1000"));
    has_not("requestState");
    get(id, WORKING);
    world_advance(&world, 1234);
    world_let_go(&world);
    get(id, COMPLETED);
    assert_non_null(strstr(text, "\"lastUpdatedAt\":\"2023-11-14T22:13:21.234Z\""));
    assert_non_null(strstr(text, "let go"));
}

static void the_result_is_what_the_call_would_have_had(void **state)
{
    (void)state;
    expect(&(struct exchange){ "tools/call", "echo",
                               "\"name\":\"echo\",\"arguments\":{\"text\":\"same\"}", WITHOUT },
           200, "\"result\":{");
    cut(text, "\"result\":", NULL, more, sizeof(more));
    more[strlen(more) - 1] = '\0'; /* the bracket of the response */
    begin("echo", "{\"text\":\"same\"}", id);
    get(id, COMPLETED);
    char wanted[TEXT_MAX + 16];
    snprintf(wanted, sizeof(wanted), "\"result\":%s", more);
    assert_non_null(strstr(text, wanted));
}

static void a_tools_own_failure_is_completed_with_an_error(void **state)
{
    (void)state;
    begin("fail", NULL, id);
    get(id, COMPLETED);
    assert_non_null(strstr(text, "\"isError\":true"));
}

static void an_error_of_the_protocol_is_failed_and_has_no_result(void **state)
{
    (void)state;
    expect(
        &(struct exchange){ "tools/call", "sample", "\"name\":\"sample\",\"arguments\":{}", ONLY },
        200, "\"resultType\":\"task\"");
    cut(text, "\"taskId\":\"", "\"", id, sizeof(id));
    get(id, FAILED);
    assert_non_null(strstr(text, "\"error\":{\"code\":-32021"));
    assert_non_null(strstr(text, "\"statusMessage\":"));
    has_not("\"result\":{\"resultType\":\"complete\",\"_meta\":{}");
    has_not("\"content\"");
}

static void what_a_client_cannot_draw_is_not_put_to_it(void **state)
{
    (void)state;
    begin("sample", "{\"tools\":true}", id);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    get(id, FAILED);
    has_not("inputRequests");
}

static void a_task_goes_on_when_its_connection_is_gone(void **state)
{
    struct talk talk;

    (void)state;
    post(&talk, &(struct exchange){ "tools/call", "hold", "\"name\":\"hold\",\"arguments\":{}" });
    talk_await_end(&talk);
    talk_cut(&talk, "\"taskId\":\"", "\"", id, sizeof(id));
    talk_close(&talk);
    world_turn(&world);
    assert_non_null(world.held);
    world_let_go(&world);
    get(id, COMPLETED);
}

static void progress_is_the_status_message_and_nothing_is_notified(void **state)
{
    (void)state;
    begin("talk", NULL, id);
    has_not("text/event-stream");
    has_not("notifications/");
    begin("hold", NULL, id);
    run_emit(world.held, &(struct notice){ .kind = NOTICE_PROGRESS, .text = STR("half of it") });
    run_emit(world.held, &(struct notice){ .kind = NOTICE_LOG, .text = STR("never mind") });
    get(id, "\"status\":\"working\",\"statusMessage\":\"half of it\"");
    has_not("notifications/");
}

static void a_cancelled_task_stays_cancelled(void **state)
{
    (void)state;
    begin("hold", NULL, id);
    cancel(id);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    get(id, CANCELLED);
    cancel(id);
    get(id, CANCELLED);
    begin("form", NULL, other);
    get(other, ASKS);
    cancel(other);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    update(other, "{\"#1\":" AGE("7") "}", 200, ACK); /* and no harm done */
    get(other, CANCELLED);
    has_not("inputRequests");
}

static void cancelling_what_has_ended_changes_nothing(void **state)
{
    (void)state;
    begin("echo", "{\"text\":\"x\"}", id);
    cancel(id);
    get(id, COMPLETED);
}

/* --- questions inside --- */

static void a_question_inside_is_shown_and_answered_by_key(void **state)
{
    (void)state;
    begin("form", NULL, id);
    has_not("inputRequests");
    get(id, ASKS);
    assert_non_null(strstr(text, "\"inputRequests\":{\"#1\":{\"method\":\"elicitation/create\","
                                 "\"params\":{\"mode\":\"form\",\"message\":\"How old?\""));
    get(id, ASKS); /* looking changes nothing */
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    has_not("taskId");
    get(id, COMPLETED);
    assert_non_null(strstr(text, "accepted {'age':7}"));
    has_not("inputRequests");
}

static void questions_one_after_the_other_have_keys_of_their_own(void **state)
{
    (void)state;
    begin("twice", NULL, id);
    get(id, "\"inputRequests\":{\"first\":");
    update(id, "{\"first\":" AGE("1") ",\"second\":" AGE("9") "}", 200, ACK);
    get(id, "\"inputRequests\":{\"second\":"); /* it was not asked yet */
    update(id, "{\"first\":" AGE("5") "}", 200, ACK);
    get(id, "\"inputRequests\":{\"second\":");
    update(id, "{\"second\":" AGE("2") "}", 200, ACK);
    get(id, "1 and 2");
}

static void invalid_content_is_asked_again_under_a_new_key(void **state)
{
    (void)state;
    begin("form", NULL, id);
    update(id, "{\"#1\":" AGE("\"old\"") "}", 200, ACK);
    get(id, ASKS);
    assert_non_null(strstr(text, "\"inputRequests\":{\"#2:#1\":"));
    assert_non_null(strstr(text, "Your last answer could not be used: age"));
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK); /* that key is spent */
    get(id, "\"inputRequests\":{\"#2:#1\":");
    update(id, "{\"#2:#1\":" AGE("false") "}", 200, ACK);
    get(id, "\"inputRequests\":{\"#3:#1\":");
    update(id, "{\"#3:#1\":" AGE("8") "}", 200, ACK);
    get(id, "accepted {'age':8}");
}

static void keys_that_nobody_knows_are_ignored(void **state)
{
    (void)state;
    begin("form", NULL, id);
    update(id, "{\"nobody\":{\"ignored\":true}}", 200, ACK);
    update(id, "{}", 200, ACK);
    get(id, "\"inputRequests\":{\"#1\":");
    assert_int_equal(world.runs, 1);
}

static void some_answers_leave_the_rest_open(void **state)
{
    (void)state;
    begin("pair", NULL, id);
    get(id, "\"first\":");
    assert_non_null(strstr(text, "\"second\":"));
    update(id, "{\"first\":" AGE("1") "}", 200, ACK);
    get(id, "\"inputRequests\":{\"second\":");
    has_not("\"first\":");
    update(id, "{\"first\":" AGE("1") ",\"second\":" AGE("2") "}", 200, ACK);
    get(id, COMPLETED);
}

static void a_malformed_response_is_refused_and_changes_nothing(void **state)
{
    static const char *const responses[] = {
        "7",
        "[]",
        "null",
        "{\"first\":7}",
        "{\"nobody\":7}",
        "{\"first\":{}}",
        "{\"first\":{\"action\":\"maybe\"}}",
        "{\"first\":{\"action\":\"accept\",\"content\":[]}}",
        "{\"second\":" AGE("1") ",\"first\":{\"action\":1}}",
    };

    (void)state;
    begin("pair", NULL, id);
    for (size_t i = 0; i < sizeof(responses) / sizeof(responses[0]); i++)
        update(id, responses[i], 400, "-32602");
    of_task("tasks/update", id, NULL, 400, "-32602");
    get(id, "\"first\":");
    assert_non_null(strstr(text, "\"second\":"));
    assert_int_equal(world.runs, 1);
}

static void decline_and_cancel_are_answers(void **state)
{
    (void)state;
    begin("confirm", NULL, id);
    update(id, "{\"#1\":{\"action\":\"decline\"}}", 200, ACK);
    get(id, "declined");
    begin("confirm", NULL, id);
    update(id, "{\"#1\":{\"action\":\"cancel\"}}", 200, ACK);
    get(id, "cancelled");
}

static void a_page_that_was_opened_is_not_asked_for_again(void **state)
{
    char ask[64];

    (void)state;
    begin("url", "{\"wait\":true}", id);
    get(id, "\"mode\":\"url\"");
    cut(text, "https://example.com/", "\"", ask, sizeof(ask));
    update(id, "{\"#1\":{\"action\":\"accept\"}}", 200, ACK);
    get(id, WORKING);
    has_not("inputRequests");
    mcp_url_done(world.server, str_of(ask));
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    get(id, COMPLETED);
}

/* --- time --- */

static void a_question_waits_as_long_as_its_task(void **state)
{
    (void)state;
    begin("form", NULL, id);
    world_advance(&world, 3590000);
    get(id, ASKS);
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    get(id, COMPLETED);
}

static void after_its_time_a_task_has_failed_and_is_then_forgotten(void **state)
{
    (void)state;
    catalog_find(world.catalog, TARGET_TOOL, STR("hold"))->timeout_ms = 7200000;
    begin("hold", NULL, id);
    world_advance(&world, 3600000);
    get(id, FAILED);
    assert_non_null(strstr(text, "\"error\":{\"code\":-32603,\"message\":\"The time to live of the "
                                 "task is over.\"}"));
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    world_advance(&world, 59999);
    get(id, FAILED);
    world_advance(&world, 1);
    of_task("tasks/get", id, NULL, 200, UNKNOWN);
}

static void line24_a_question_does_not_end_before_its_task(void **state)
{
    (void)state;
    begin("form", NULL, id);
    begin("form", NULL, other);
    world_advance(&world, 3599999);
    get(id, ASKS);
    update(id, "{\"#1\":" AGE("7") "}", 200, ACK);
    get(id, COMPLETED);
    world_advance(&world, 1);
    get(other, FAILED);
    assert_non_null(strstr(text, "The time to live of the task is over."));
}

static void a_result_is_kept_until_the_time_is_over(void **state)
{
    (void)state;
    begin("echo", "{\"text\":\"kept\"}", id);
    world_advance(&world, 3599999);
    get(id, "kept");
    world_advance(&world, 1);
    of_task("tasks/get", id, NULL, 200, UNKNOWN);
}

static void a_very_long_life_is_cut_to_ten_years(void **state)
{
    (void)state;
    world.opts.task_ttl_ms = INT64_MAX;
    world_restart(&world);
    begin("form", NULL, id);
    assert_non_null(strstr(text, "\"ttlMs\":315360000000"));
    get(id, ASKS);
}

/* --- asking first --- */

static void retry(const char *tool, const char *request_state, const char *responses, int status,
                  const char *has)
{
    static char params[2 * TEXT_MAX];

    snprintf(params, sizeof(params),
             "\"name\":\"%s\",\"arguments\":{},\"requestState\":\"%s\",\"inputResponses\":%s", tool,
             request_state, responses);
    expect(&(struct exchange){ "tools/call", tool, params }, status, has);
}

static void what_is_asked_first_is_asked_before_there_is_a_task(void **state)
{
    (void)state;
    set_task("deed", DETACH_MUST, true);
    expect(&(struct exchange){ "tools/call", "deed", "\"name\":\"deed\",\"arguments\":{}" }, 200,
           "\"resultType\":\"input_required\"");
    has_not("taskId");
    cut(text, "\"requestState\":\"", "\"", more, sizeof(more));
    retry("deed", more, "{\"age\":" AGE("7") "}", 200, "\"resultType\":\"task\"");
    has_not("requestState");
    has_not("inputRequests");
    cut(text, "\"taskId\":\"", "\"", id, sizeof(id));
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    get(id, "done");
    assert_int_equal(world.deeds, 1);

    /* The same once more is the same task; with other answers it is nothing. */
    retry("deed", more, "{\"age\":" AGE("7") "}", 200, "\"resultType\":\"task\"");
    cut(text, "\"taskId\":\"", "\"", other, sizeof(other));
    assert_string_equal(id, other);
    retry("deed", more, "{\"age\":" AGE("8") "}", 400, "answered before, with other answers");
    assert_int_equal(world.deeds, 1);
}

static void the_step_is_not_done_before_the_task_is_told(void **state)
{
    struct talk talk;

    (void)state;
    set_task("deed", DETACH_MAY, true);
    post(&talk, &(struct exchange){ "tools/call", "deed",
                                    "\"name\":\"deed\",\"arguments\":{},\"inputResponses\":{"
                                    "\"age\":" AGE("7") "}" });
    for (int i = 0; i < 50; i++)
        loop_turn(world.loop, 1); /* the engine's clock stands still: it does not go on */
    assert_true(recv(talk.fd, text, sizeof(text) - 1, MSG_DONTWAIT | MSG_PEEK) > 0);
    assert_non_null(strstr(text, "taskId"));
    assert_int_equal(world.deeds, 0);
    talk_close(&talk);
    WORLD_AWAIT(&world, world.deeds == 1);
}

static void a_call_that_needs_no_step_has_its_result_at_once(void **state)
{
    (void)state;
    set_task("form", DETACH_MUST, true);
    expect(&(struct exchange){ "tools/call", "form", "\"name\":\"form\",\"arguments\":{}" }, 200,
           "\"resultType\":\"input_required\"");
    cut(text, "\"requestState\":\"", "\"", more, sizeof(more));
    retry("form", more, "{\"#1\":" AGE("7") "}", 200, "\"resultType\":\"complete\"");
    assert_non_null(strstr(text, "accepted"));
}

/* Two requests bring the same answers at the same time, and only one of them may get a task. */
static void a_request_without_the_extension_never_shares_a_task(void **state)
{
    static char params[2 * TEXT_MAX];
    struct talk with, without;

    (void)state;
    set_task("deed", DETACH_MAY, true);
    expect(&(struct exchange){ "tools/call", "deed", "\"name\":\"deed\",\"arguments\":{}" }, 200,
           "\"resultType\":\"input_required\"");
    cut(text, "\"requestState\":\"", "\"", more, sizeof(more));
    snprintf(params, sizeof(params),
             "\"name\":\"deed\",\"arguments\":{},\"requestState\":\"%s\",\"inputResponses\":{"
             "\"age\":" AGE("7") "}",
             more);
    post(&with, &(struct exchange){ "tools/call", "deed", params });
    post(&without, &(struct exchange){ "tools/call", "deed", params, WITHOUT });
    talk_await_end(&with);
    talk_await_end(&without);
    assert_true(talk_has(&with, "taskId"));
    assert_false(talk_has(&without, "taskId"));
    assert_int_equal(world.deeds, 1);
    talk_close(&with);
    talk_close(&without);
}

static void a_round_that_has_begun_goes_on_as_it_began(void **state)
{
    (void)state;
    expect(
        &(struct exchange){ "tools/call", "form", "\"name\":\"form\",\"arguments\":{}", WITHOUT },
        200, "\"resultType\":\"input_required\"");
    cut(text, "\"requestState\":\"", "\"", more, sizeof(more));
    retry("form", more, "{\"#1\":" AGE("7") "}", 200, "\"resultType\":\"complete\"");
}

#define PLAINLY(name)     cmocka_unit_test_setup_teardown(name, setup, teardown)
#define WITH_TOKENS(name) cmocka_unit_test_setup_teardown(name, setup_tokens, teardown_tokens)

SUBJECT(tasks)
{
    const struct CMUnitTest tests[] = {
        PLAINLY(the_extension_is_declared_when_a_tool_has_tasks),
        PLAINLY(the_extension_is_not_declared_when_no_tool_has_tasks),
        PLAINLY(a_task_is_for_a_request_that_declares_the_extension_and_no_other),
        PLAINLY(a_tool_without_tasks_is_never_one),
        PLAINLY(a_required_tool_is_refused_without_the_extension),
        PLAINLY(a_2025_client_of_a_required_tool_waits_for_the_result),
        PLAINLY(methods_of_tasks_need_the_extension),
        PLAINLY(methods_that_were_taken_away_are_unknown),
        PLAINLY(the_name_header_is_the_task_id),
        PLAINLY(an_unknown_task_is_an_invalid_parameter),
        WITH_TOKENS(a_task_does_not_exist_for_another_principal),
        PLAINLY(a_task_says_when_it_was_made_and_how_long_it_lives),
        PLAINLY(the_result_is_what_the_call_would_have_had),
        PLAINLY(a_tools_own_failure_is_completed_with_an_error),
        PLAINLY(an_error_of_the_protocol_is_failed_and_has_no_result),
        PLAINLY(what_a_client_cannot_draw_is_not_put_to_it),
        PLAINLY(a_task_goes_on_when_its_connection_is_gone),
        PLAINLY(progress_is_the_status_message_and_nothing_is_notified),
        PLAINLY(a_cancelled_task_stays_cancelled),
        PLAINLY(cancelling_what_has_ended_changes_nothing),
        PLAINLY(a_question_inside_is_shown_and_answered_by_key),
        PLAINLY(questions_one_after_the_other_have_keys_of_their_own),
        PLAINLY(invalid_content_is_asked_again_under_a_new_key),
        PLAINLY(keys_that_nobody_knows_are_ignored),
        PLAINLY(some_answers_leave_the_rest_open),
        PLAINLY(a_malformed_response_is_refused_and_changes_nothing),
        PLAINLY(decline_and_cancel_are_answers),
        PLAINLY(a_page_that_was_opened_is_not_asked_for_again),
        PLAINLY(a_question_waits_as_long_as_its_task),
        PLAINLY(after_its_time_a_task_has_failed_and_is_then_forgotten),
        PLAINLY(line24_a_question_does_not_end_before_its_task),
        PLAINLY(a_result_is_kept_until_the_time_is_over),
        PLAINLY(a_very_long_life_is_cut_to_ten_years),
        PLAINLY(what_is_asked_first_is_asked_before_there_is_a_task),
        PLAINLY(the_step_is_not_done_before_the_task_is_told),
        PLAINLY(a_call_that_needs_no_step_has_its_result_at_once),
        PLAINLY(a_request_without_the_extension_never_shares_a_task),
        PLAINLY(a_round_that_has_begun_goes_on_as_it_began),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
