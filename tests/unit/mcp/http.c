/* tests/unit/mcp/http: Streamable HTTP of the 2025 era, over real sockets. */
#include "world.h"
#include "../runner.h"

#include <stdio.h>

#define CALL(id, name, args)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\",\"arguments\":" args "}}"
#define FORM_ONLY "{\"elicitation\":{}}"
#define ASK_ID    "\"id\":\""

static struct world world;

static int setup(void **state)
{
    (void)state;
    world_start(&world, &(struct world_opts){ 0 });
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_stop(&world);
    return 0;
}

/* The id of the newest request that the server has sent. */
static void asked_id(struct talk *talk, char out[64])
{
    talk_await(talk, "\"method\":\"elicitation/create\"");
    talk_cut(talk, "\"jsonrpc\":\"2.0\",\"id\":\"", "\"", out, 64);
}

static void with_attempts_it_is_asked_again_under_another_id(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char id[64], second[80];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "form", "{\"attempts\":2}"));
    asked_id(&talk, id);
    client_answer(&client, id, "\"result\":{\"action\":\"accept\",\"content\":{\"age\":\"x\"}}");
    talk_await(&talk, "Your last answer could not be used: age: ");
    snprintf(second, sizeof(second), "%s.2", id);
    assert_true(talk_has(&talk, second));
    client_answer(&client, id, "\"result\":{\"action\":\"accept\",\"content\":{\"age\":1}}");
    assert_int_equal(engine_pending(world.engine), 1);
    client_answer(&client, second, "\"result\":{\"action\":\"accept\",\"content\":{\"age\":2}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "accepted {'age':2}"));
    talk_close(&talk);
}

static void nothing_is_sent_that_was_not_declared(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char id[64];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "url", "{}"));
    talk_await_end(&talk);
    assert_false(talk_has(&talk, "elicitation/create"));
    assert_true(talk_has(&talk, "\"isError\":true"));
    talk_close(&talk);
    client_begin(&client, &world, "2025-03-26", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "form", "{}"));
    talk_await_end(&talk);
    assert_false(talk_has(&talk, "elicitation/create"));
    talk_close(&talk);
    client_begin(&client, &world, "2025-06-18", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "many", "{}"));
    asked_id(&talk, id);
    assert_false(talk_has(&talk, "\"array\"")); /* which it does not know: a text instead */
    client_answer(&client, id, "\"result\":{\"action\":\"decline\"}");
    talk_await_end(&talk);
    talk_close(&talk);
    client_begin(&client, &world, "2025-11-25", "{\"sampling\":{}}");
    client_post(&client, &talk, CALL("1", "sample", "{\"tools\":true}"));
    talk_await_end(&talk);
    assert_false(talk_has(&talk, "createMessage"));
    talk_close(&talk);
}

static void the_end_of_a_page_is_told_after_the_call_too(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk, standing;
    char id[64];

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{\"elicitation\":{\"url\":{}}}");
    client_get(&client, &standing, NULL);
    talk_await(&standing, "retry:");
    client_post(&client, &talk, CALL("1", "url", "{}"));
    asked_id(&talk, id);
    client_answer(&client, id, "\"result\":{\"action\":\"accept\"}");
    talk_await_end(&talk);
    mcp_url_done(world.server, str_of(id));
    talk_await(&standing, "notifications/elicitation/complete");
    talk_close(&talk);
    talk_close(&standing);
}

static void a_result_can_be_fetched_again_and_only_from_its_own_stream(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char id[64];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "confirm", "{}"));
    asked_id(&talk, id);
    client_answer(&client, id, "\"result\":{\"action\":\"accept\"}");
    talk_await_end(&talk);
    talk_close(&talk);
    client_get(&client, &talk, "1_1");
    talk_await_end(&talk);
    assert_int_equal(talk_count(&talk, "\"id\":1,\"result\""), 1);
    talk_close(&talk);
    static const char *const strangers[] = {
        "2_0", "1_99", "x", "1_", "_1", "1_-1", "99999999999999999999_1"
    };
    for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
        client_get(&client, &talk, strangers[i]);
        talk_await_end(&talk);
        assert_true(talk_has(&talk, "HTTP/1.1 400"));
        talk_close(&talk);
    }
}

static void an_expired_question_is_taken_down(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char id[64];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "confirm", "{}"));
    asked_id(&talk, id);
    world_advance(&world, ENGINE_ASK_TTL_MS + 1);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "notifications/cancelled"));
    assert_true(talk_has(&talk, "ELICITATION_TIMEOUT"));
    talk_close(&talk);
}

static void progress_rises_and_logs_keep_to_the_level(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"talk\",\"_meta\":{\"progressToken\":\"tok\"}}}");
    talk_await_end(&talk);
    assert_int_equal(talk_count(&talk, "notifications/progress"), 2);
    assert_true(talk_has(&talk, "\"progressToken\":\"tok\",\"progress\":1,\"total\":3"));
    assert_true(talk_has(&talk, "\"level\":\"warning\",\"logger\":\"t\",\"data\":\"loud\""));
    assert_false(talk_has(&talk, "quiet"));
    talk_close(&talk);
    assert_int_equal(client_status(&client, "POST",
                                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"logging/setLevel\","
                                   "\"params\":{\"level\":\"emergency\"}}"),
                     200);
    client_post(&client, &talk, CALL("3", "talk", "{}"));
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "application/json"));
    assert_false(talk_has(&talk, "notifications/"));
    talk_close(&talk);
}

static void failures_of_tools_are_results_and_of_others_errors(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    client_post(&client, &talk, CALL("1", "fail", "{}"));
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "\"text\":\"It broke.\"}],\"isError\":true,\"_meta\":{\"code\":"
                                "\"BROKEN\",\"errorId\":\""));
    talk_close(&talk);
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{\"name\":"
                "\"greet\"}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "\"error\":{\"code\":-32602,\"message\":\"topic is missing\""));
    talk_close(&talk);
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":"
                "\"no://x\"}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "-32002"));
    talk_close(&talk);
    client_post(&client, &talk, CALL("1", "nothing", "{}"));
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "\"code\":-32602,\"message\":\"Unknown tool: nothing\""));
    talk_close(&talk);
}

static void lists_come_in_pages_and_older_clients_see_what_they_know(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-03-26", "{}");
    client_post(&client, &talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "\"annotations\":{\"title\":\"Echo\"}"));
    assert_false(talk_has(&talk, "outputSchema"));
    assert_false(talk_has(&talk, "icons"));
    assert_false(talk_has(&talk, "nextCursor"));
    talk_close(&talk);
    client_post(&client, &talk, CALL("1", "rich", "{}"));
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "{\"type\":\"text\",\"text\":\"why: x://y\"}"));
    assert_false(talk_has(&talk, "structuredContent"));
    talk_close(&talk);
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":"
                "\"zzz\"}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "-32602"));
    talk_close(&talk);
}

static void templates_prompts_and_completions_work(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":"
                "\"item://42\"}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "\"uri\":\"item://42\",\"text\":\"id=42\""));
    talk_close(&talk);
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"completion/complete\",\"params\":{"
                "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"greet\"},\"argument\":{\"name\":"
                "\"topic\",\"value\":\"a\"}}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "{\"values\":[\"a-one\"],\"total\":7,\"hasMore\":true}"));
    talk_close(&talk);
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"completion/complete\",\"params\":{"
                "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"nobody\"},\"argument\":{\"name\":"
                "\"topic\",\"value\":\"a\"}}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "-32602"));
    talk_close(&talk);
}

/* A handler that makes a path of a variable is never led out of its folder. */
static void an_encoded_slash_is_no_part_of_a_variable(void **state)
{
    static const char *const uris[] = { "item://a%2Fb", "item://..%2f..%2Fetc", "item://%2F" };
    struct wire_client client = { 0 };
    struct talk talk;
    char body[256];

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
        snprintf(body, sizeof(body),
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":"
                 "\"%s\"}}",
                 uris[i]);
        client_post(&client, &talk, body);
        talk_await_end(&talk);
        assert_false(talk_has(&talk, "id="));
        assert_true(talk_has(&talk, "-32602"));
        assert_true(talk_has(&talk, "encoded slash"));
        talk_close(&talk);
    }
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":"
                "\"item://a%2Eb%5C\"}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "id=a.b"));
    talk_close(&talk);
}

static void subscribers_are_told_and_only_they(void **state)
{
    struct wire_client client = { 0 }, other = { 0 };
    struct talk standing, silent;

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    client_begin(&other, &world, "2025-11-25", "{}");
    client_get(&client, &standing, NULL);
    client_get(&other, &silent, NULL);
    talk_await(&silent, "retry:");
    assert_int_equal(client_status(&client, "POST",
                                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/"
                                   "subscribe\",\"params\":{\"uri\":\"note://one\"}}"),
                     200);
    mcp_resource_updated(world.server, STR("note://one"));
    talk_await(&standing, "notifications/resources/updated\",\"params\":{\"uri\":\"note://one\"}");
    assert_int_equal(client_status(&client, "POST",
                                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/"
                                   "unsubscribe\",\"params\":{\"uri\":\"note://one\"}}"),
                     200);
    mcp_resource_updated(world.server, STR("note://one"));
    world_add_tool(&world, "new");
    talk_await(&standing, "notifications/tools/list_changed");
    talk_await(&silent, "notifications/tools/list_changed");
    assert_int_equal(talk_count(&standing, "resources/updated"), 1);
    assert_false(talk_has(&silent, "resources/updated"));
    talk_close(&standing);
    talk_close(&silent);
}

static void a_resource_without_news_cannot_be_subscribed(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{"
                "\"uri\":\"note://silent\"}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "-32602"));
    talk_close(&talk);
}

static void a_duplicate_id_in_flight_is_refused(void **state)
{
    struct wire_client client = { 0 };
    struct talk first, second, third;

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    client_post(&client, &first, CALL("1", "hold", "{}"));
    WORLD_AWAIT(&world, world.held);
    client_post(&client, &second, CALL("1", "echo", "{}"));
    talk_await_end(&second);
    assert_true(talk_has(&second, "-32600"));
    client_post(&client, &third, CALL("\"1\"", "echo", "{\"text\":\"other\"}"));
    talk_await_end(&third);
    assert_true(talk_has(&third, "other"));
    world_let_go(&world);
    talk_await_end(&first);
    assert_true(talk_has(&first, "let go"));
    talk_close(&first);
    talk_close(&second);
    talk_close(&third);
}

static void the_handshake_is_held_to_its_rules(void **state)
{
    struct wire_client client = { .world = &world }, stranger = { .world = &world };
    struct talk talk;
    const char *ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

    (void)state;
    assert_int_equal(client_status(&client, "POST", ping), 400);
    snprintf(stranger.session, sizeof(stranger.session), "AAAAAAAAAAAAAAAAAAAAAA");
    assert_int_equal(client_status(&stranger, "POST", ping), 404);
    client_begin(&client, &world, "1999-01-01", "{}");
    assert_int_equal(client_status(&client, "POST", ping), 200);
    client.version = "2025-06-18";
    assert_int_equal(client_status(&client, "POST", ping), 200);
    client.version = "1999-01-01";
    assert_int_equal(client_status(&client, "POST", ping), 400);
    client.version = NULL;
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{}}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "-32600"));
    talk_close(&talk);
    client_post(&client, &talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "-32601"));
    talk_close(&talk);
    assert_int_equal(client_status(&client, "DELETE", NULL), 204);
    assert_int_equal(client_status(&client, "POST", ping), 404);
    assert_int_equal(client_status(&client, "DELETE", NULL), 404);
}

static void the_answer_to_an_unknown_version_is_the_newest(void **state)
{
    struct wire_client client = { .world = &world };
    struct talk talk;

    (void)state;
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                "\"protocolVersion\":\"2024-11-05\",\"capabilities\":{},\"clientInfo\":{}}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "\"protocolVersion\":\"2025-11-25\""));
    assert_true(talk_has(&talk, "\"resources\":{\"listChanged\":true,\"subscribe\":true}"));
    assert_true(talk_has(&talk, "\"completions\":{}"));
    talk_close(&talk);
}

static void requests_that_are_not_lawful_are_refused_clearly(void **state)
{
    static const struct {
        const char *request, *status;
    } cases[] = {
        { "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404" },
        { "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", "HTTP/1.1 200" },
        { "GET /healthz HTTP/1.1\r\nHost: evil.example.com\r\n\r\n", "HTTP/1.1 403" },
        { "GET /healthz HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n",
          "HTTP/1.1 403" },
        { "PUT /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 405" },
        { "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: "
          "application/json\r\nContent-Length: 2\r\n\r\n{}",
          "HTTP/1.1 406" },
        { "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nAccept: "
          "*/*\r\nContent-Length: 2\r\n\r\n{}",
          "HTTP/1.1 415" },
        { "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: "
          "*/*\r\nContent-Length: 2\r\n\r\n{]",
          "HTTP/1.1 400" },
        { "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: "
          "*/*\r\nContent-Length: 3\r\n\r\n[1]",
          "HTTP/1.1 400" },
        { "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: "
          "*/*\r\nContent-Length: 13\r\n\r\n{\"a\":1,\"a\":2}",
          "HTTP/1.1 400" },
        { "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n",
          "HTTP/1.1 406" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct talk talk;
        talk_raw(&talk, &world, cases[i].request);
        talk_await_end(&talk);
        if (!talk_has(&talk, cases[i].status))
            print_error("case %zu: %.*s\n", i, STR_ARG(buf_str(&talk.got)));
        assert_true(talk_has(&talk, cases[i].status));
        talk_close(&talk);
    }
}

static void batches_belong_to_one_revision(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    const char *two = "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}," CALL(
                          "2", "echo", "{\"text\":\"x\"}") ",7]";

    (void)state;
    client_begin(&client, &world, "2025-06-18", "{}");
    assert_int_equal(client_status(&client, "POST", two), 400);
    client_begin(&client, &world, "2025-03-26", "{}");
    client_post(&client, &talk, two);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "application/json"));
    assert_true(talk_has(&talk, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"jsonrpc\""));
    assert_true(talk_has(&talk, "\"id\":2,\"result\""));
    assert_true(talk_has(&talk, "-32600"));
    talk_close(&talk);
    client_post(&client, &talk,
                "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}," CALL("2", "talk", "{}") "]");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "text/event-stream"));
    assert_true(talk_has(&talk, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"));
    assert_true(talk_has(&talk, "talked"));
    talk_close(&talk);
    assert_int_equal(
        client_status(&client, "POST", "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]"),
        202);
}

static void the_call_of_a_client_without_an_event_id_ends_without_it(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "hold", "{}"));
    WORLD_AWAIT(&world, world.held);
    talk_close(&talk);
    for (int i = 0; i < 5; i++)
        world_turn(&world);
    world_let_go(&world);
    assert_int_equal(engine_calls(world.engine), 0);
}

SUBJECT(http)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(with_attempts_it_is_asked_again_under_another_id),
        T(nothing_is_sent_that_was_not_declared),
        T(the_end_of_a_page_is_told_after_the_call_too),
        T(a_result_can_be_fetched_again_and_only_from_its_own_stream),
        T(an_expired_question_is_taken_down),
        T(progress_rises_and_logs_keep_to_the_level),
        T(failures_of_tools_are_results_and_of_others_errors),
        T(lists_come_in_pages_and_older_clients_see_what_they_know),
        T(templates_prompts_and_completions_work),
        T(an_encoded_slash_is_no_part_of_a_variable),
        T(subscribers_are_told_and_only_they),
        T(a_resource_without_news_cannot_be_subscribed),
        T(a_duplicate_id_in_flight_is_refused),
        T(the_handshake_is_held_to_its_rules),
        T(the_answer_to_an_unknown_version_is_the_newest),
        T(requests_that_are_not_lawful_are_refused_clearly),
        T(batches_belong_to_one_revision),
        T(the_call_of_a_client_without_an_event_id_ends_without_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
