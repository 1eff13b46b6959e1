/* tests/unit/mcp/era: how a client opens decides how it is served, on one endpoint and one pipe. */
#include "world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mcp/wire/era.h"
#include "mcp/shared/server_inside.h"
#include "../runner.h"

#define META26                                                                                     \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define ASKABLE26                                                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}"
#define META_OF(version)                                                                           \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version "\","                      \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define HALF "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"
#define REQ(method, params)                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"" method "\",\"params\":{" params "}}"
#define HELLO                                                                                      \
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\","       \
    "\"version\":\"1\"}"

static struct world world;

/* --- the function itself --- */

static void the_decision_table_row_by_row(void **state)
{
    static const struct {
        bool http;
        const char *version, *method, *params;
        enum era era;
    } rows[] = {
        { true, "", "initialize", "{}", ERA_2025 },
        { true, "2025-11-25", "initialize", "{}", ERA_2025 },
        { true, "2025-03-26", "tools/list", "{}", ERA_2025 },
        { true, "", "tools/list", "{\"_meta\":{\"progressToken\":1}}", ERA_2025 },
        { true, "2026-07-28", "tools/list", "{}", ERA_2026 },
        { true, "2026-07-28", "initialize", "{}", ERA_2026 },
        { true, "2026-07-28", "", NULL, ERA_2026 },
        { true, "2025-11-25", "tools/list", "{" META26 "}", ERA_2026 },
        { true, "", "tools/list", "{" META26 "}", ERA_2026 },
        { true, "1999-01-01", "tools/list", "{" META_OF("1999-01-01") "}", ERA_2026 },
        { true, "1999-01-01", "tools/list", "{}", ERA_UNKNOWN },
        { true, "1999-01-01", "", NULL, ERA_UNKNOWN },
        { true, "", "", NULL, ERA_2025 },
        { false, "", "initialize", "{}", ERA_2025 },
        { false, "", "tools/list", "{}", ERA_2025 },
        { false, "", "tools/list", "{" META26 "}", ERA_2026 },
        { false, "", "tools/list", "{" HALF "}", ERA_2026 },
        { false, "", "initialize", "{" META26 "}", ERA_2026 },
        { false, "", "server/discover", "{}", ERA_2026 },
        { false, "", "ping", NULL, ERA_2025 },
    };
    struct arena arena;

    (void)state;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct era_opening opening = {
            .http = rows[i].http,
            .version = str_of(rows[i].version),
            .method = str_of(rows[i].method),
            .params = rows[i].params ? json_parse(&arena, str_of(rows[i].params), NULL, NULL) : NULL
        };
        if (era_of(&opening) != rows[i].era)
            fail_msg("row %zu: %s %s", i, rows[i].version, rows[i].method);
    }
    arena_finish(&arena);
}

/* --- the same over HTTP --- */

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

static void send_http(struct talk *talk, const char *verb, const char *headers, const char *body)
{
    struct buf bytes;

    buf_init(&bytes, 1 << 20);
    buf_fmt(&bytes,
            "%s /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n"
            "%s",
            verb, headers);
    if (body)
        buf_fmt(&bytes, "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
    buf_fmt(&bytes, "\r\n%s", body ? body : "");
    buf_add_char(&bytes, '\0');
    talk_raw(talk, &world, bytes.at);
    buf_finish(&bytes);
}

#define H26(method) "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " method "\r\n"
#define NAME(name)  "Mcp-Name: " name "\r\n"

static void every_way_to_open_over_http(void **state)
{
    static const struct {
        const char *verb, *headers, *body;
        int status;
        const char *has;
    } rows[] = {
        /* modern */
        { "POST", H26("server/discover"), REQ("server/discover", META26), 200,
          "\"supportedVersions\":[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\"]" },
        { "POST", H26("tools/list"), REQ("tools/list", META26), 200,
          "\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":"
          "\"test\"" },
        { "POST", H26("tools/list"), REQ("tools/list", META26), 200,
          "\"ttlMs\":60000,\"cacheScope\":\"public\"" },
        { "POST", H26("tools/call") NAME("echo"),
          REQ("tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"}," META26), 200,
          "\"text\":\"hi\"" },
        { "POST", H26("resources/read") NAME("note://one"),
          REQ("resources/read", "\"uri\":\"note://one\"," META26), 200,
          "\"ttlMs\":0,\"cacheScope\":\"private\"" },
        { "POST", H26("resources/read") NAME("note://none"),
          REQ("resources/read", "\"uri\":\"note://none\"," META26), 200, "-32602" },
        /* what is missing */
        { "POST", H26("tools/list"), REQ("tools/list", ""), 400, "-32602" },
        { "POST", H26("tools/list"), "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}",
          400, "-32602" },
        { "POST", H26("tools/list"), REQ("tools/list", HALF), 400, "-32602" },
        { "POST", H26("initialize"), REQ("initialize", HELLO), 400, "-32602" },
        { "POST", "", REQ("tools/list", META26), 400, "-32020" },
        { "POST", "MCP-Protocol-Version: 2026-07-28\r\n", REQ("tools/list", META26), 400,
          "-32020" },
        { "POST", H26("tools/call"), REQ("tools/call", "\"name\":\"echo\"," META26), 400,
          "-32020" },
        { "POST", H26("tools/call") NAME("form"), REQ("tools/call", "\"name\":\"echo\"," META26),
          400, "-32020" },
        { "POST", "MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/list\r\n",
          REQ("tools/list", META26), 400, "-32020" },
        { "POST", H26("tools/list"), REQ("tools/list", META_OF("1999-01-01")), 400, "-32020" },
        /* versions */
        { "POST", "MCP-Protocol-Version: 1999-01-01\r\nMcp-Method: tools/list\r\n",
          REQ("tools/list", META_OF("1999-01-01")), 400,
          "\"supported\":[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\"],"
          "\"requested\":\"1999-01-01\"" },
        { "POST", "MCP-Protocol-Version: 1999-01-01\r\n", REQ("tools/list", ""), 400, "-32022" },
        { "POST", "MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/list\r\n",
          REQ("tools/list", META_OF("2025-11-25")), 400, "-32022" },
        /* methods that this era does not have */
        { "POST", H26("initialize"), REQ("initialize", HELLO "," META26), 404, "-32601" },
        { "POST", H26("ping"), REQ("ping", META26), 404, "-32601" },
        { "POST", H26("logging/setLevel"), REQ("logging/setLevel", META26), 404, "-32601" },
        { "POST", H26("resources/subscribe"), REQ("resources/subscribe", META26), 404, "-32601" },
        { "POST", H26("no/such"), REQ("no/such", META26), 404,
          "\"id\":7,\"error\":{\"code\":-32601" },
        /* what is no request */
        { "POST", H26("x"), "[" REQ("tools/list", META26) "]", 400, "-32600" },
        { "POST", H26("x"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 400, "-32600" },
        { "POST", H26("x"), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", 202, "202" },
        { "GET", "MCP-Protocol-Version: 2026-07-28\r\n", NULL, 405, "Allow: POST" },
        { "DELETE", "MCP-Protocol-Version: 2026-07-28\r\n", NULL, 405, "Allow: POST" },
        /* headers of the other era are ignored */
        { "POST", H26("tools/list") "Mcp-Session-Id: none\r\nLast-Event-ID: 3\r\n",
          REQ("tools/list", META26), 200, "\"tools\":[" },
        /* legacy */
        { "POST", "", REQ("initialize", HELLO), 200, "Mcp-Session-Id: " },
        { "POST", "MCP-Protocol-Version: 2025-11-25\r\n", REQ("initialize", HELLO), 200,
          "\"protocolVersion\":\"2025-11-25\"" },
        { "POST", "", REQ("tools/list", ""), 400, "Mcp-Session-Id header is missing" },
        { "GET", "", NULL, 400, "Mcp-Session-Id header is missing" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct talk talk;
        char status[16];

        send_http(&talk, rows[i].verb, rows[i].headers, rows[i].body);
        talk_await_end(&talk);
        talk_cut(&talk, "HTTP/1.1 ", " ", status, sizeof(status));
        if (atoi(status) != rows[i].status || !talk_has(&talk, rows[i].has))
            fail_msg("row %zu: wanted %d with %s, got: %.*s", i, rows[i].status, rows[i].has,
                     STR_ARG(buf_str(&talk.got)));
        talk_close(&talk);
    }
}

static void both_eras_at_once_on_one_connection(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char bytes[4096];
    const char *legacy = REQ("tools/list", "");
    const char *modern = REQ("tools/list", META26);

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    snprintf(bytes, sizeof(bytes),
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, "
             "text/event-stream\r\nContent-Type: application/json\r\nMcp-Session-Id: %s\r\n"
             "Content-Length: %zu\r\n\r\n%s"
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, "
             "text/event-stream\r\nContent-Type: application/json\r\n" H26(
                 "tools/list") "Content-Length: %zu\r\n\r\n%s",
             client.session, strlen(legacy), legacy, strlen(modern), modern);
    talk_raw(&talk, &world, bytes);
    talk_await(&talk, "cacheScope");
    assert_int_equal(talk_count(&talk, "HTTP/1.1 200"), 2);
    assert_int_equal(talk_count(&talk, "resultType"), 1);
    talk_close(&talk);
}

/* --- the same over stdio --- */

static struct talk out;
static int in;
static bool ended;

static void on_ended(void *data)
{
    *(bool *)data = true;
}

static int setup_pipe(void **state)
{
    int to[2], from[2];

    (void)state;
    world_start(&world, &(struct world_opts){ .no_http = true });
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    ended = false;
    assert_int_equal(mcp_stdio_start(world.server, to[0], from[1], on_ended, &ended), NOD_OK);
    in = to[1];
    out = (struct talk){ .world = &world, .fd = from[0] };
    assert_int_equal(fcntl(out.fd, F_SETFL, O_NONBLOCK), 0);
    buf_init(&out.got, 16 << 20);
    return 0;
}

static int teardown_pipe(void **state)
{
    (void)state;
    if (in >= 0)
        close(in);
    WORLD_AWAIT(&world, ended);
    close(out.fd);
    buf_finish(&out.got);
    world_stop(&world);
    return 0;
}

static void say_line(const char *line)
{
    struct str rest = str_of(line);

    assert_true(write(in, rest.at, rest.len) == (ssize_t)rest.len);
    assert_int_equal(write(in, "\n", 1), 1);
}

static void await_line(const char *text)
{
    char bytes[65536];

    for (int turns = 0; !talk_has(&out, text); turns++) {
        if (turns > 500)
            print_error("waited for %s, got: %.*s\n", text, STR_ARG(buf_str(&out.got)));
        assert_true(turns <= 500);
        world_turn(&world);
        for (ssize_t n; (n = read(out.fd, bytes, sizeof(bytes))) > 0;)
            buf_add(&out.got, str_n(bytes, (size_t)n));
    }
}

static void every_way_to_open_over_stdio(void **state)
{
    static const struct {
        const char *line, *has;
    } rows[] = {
        { REQ("server/discover", ""), "-32602" },
        { REQ("server/discover", META26), "supportedVersions" },
        { REQ("server/discover", META_OF("1999-01-01")), "-32022" },
        { REQ("tools/list", ""), "before initialize" },
        { REQ("tools/list", HALF), "-32602" },
        { REQ("tools/list", META26), "\"cacheScope\"" },
        { REQ("initialize", HELLO "," META26), "-32601" },
        { REQ("ping", META26), "-32601" },
        { REQ("tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"new\"}," META26),
          "\"text\":\"new\"" },
        { REQ("initialize", HELLO), "\"protocolVersion\":\"2025-11-25\"" },
        /* and both from here on */
        { REQ("ping", ""), "\"result\":{}" },
        { REQ("ping", META26), "-32601" },
        { REQ("tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"old\"}"),
          "\"text\":\"old\"" },
        { REQ("tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"new\"}," META26),
          "\"resultType\":\"complete\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        buf_clear(&out.got);
        say_line(rows[i].line);
        await_line("\n");
        if (!talk_has(&out, rows[i].has))
            fail_msg("row %zu: wanted %s, got: %.*s", i, rows[i].has, STR_ARG(buf_str(&out.got)));
    }
}

static void a_cancelled_request_is_never_answered(void **state)
{
    (void)state;
    say_line(REQ("tools/call", "\"name\":\"hold\"," META26));
    WORLD_AWAIT(&world, world.held);
    say_line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
             "\"requestId\":7}}");
    WORLD_AWAIT(&world, !world.held && engine_calls(world.engine) == 0);
    say_line("{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/list\",\"params\":{" META26 "}}");
    await_line("\"id\":8");
    assert_false(talk_has(&out, "\"id\":7"));
}

static void an_id_in_flight_cannot_be_used_twice(void **state)
{
    (void)state;
    say_line(REQ("tools/call", "\"name\":\"hold\"," META26));
    WORLD_AWAIT(&world, world.held);
    say_line(REQ("tools/call", "\"name\":\"echo\"," META26));
    await_line("still being worked on");
    world_let_go(&world);
    await_line("let go");
}

/* The second one is moved to where the first one waits, and its id with it. */
static void one_of_two_that_wait_for_the_same_end_may_be_cancelled(void **state)
{
    static const char *const cancels[] = {
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
        "cancelled\",\"params\":{\"requestId\":21}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
        "cancelled\",\"params\":{\"requestId\":22}}",
    };
    static const char *const answered[] = { "\"id\":22", "\"id\":21" };
    char requested[4096], line[8192];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        buf_clear(&out.got);
        say_line(REQ("tools/call", "\"name\":\"later\"," ASKABLE26));
        await_line("\"requestState\":\"");
        talk_cut(&out, "\"requestState\":\"", "\"", requested, sizeof(requested));
        for (int id = 21; id <= 22; id++) {
            snprintf(line, sizeof(line),
                     "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                     "\"name\":\"later\"," ASKABLE26 ",\"requestState\":\"%s\",\"inputResponses\":{"
                     "\"age\":{\"action\":\"accept\",\"content\":{\"age\":5}}}}}",
                     id, requested);
            say_line(line);
            WORLD_AWAIT(&world, world.held);
        }
        say_line(cancels[i]);
        say_line("{\"jsonrpc\":\"2.0\",\"id\":23,\"method\":\"tools/list\",\"params\":{" META26
                 "}}");
        await_line("\"id\":23"); /* lines are read in order: it was cancelled by then */
        world_let_go(&world);
        await_line("let go");
        assert_true(talk_has(&out, answered[i]));
        assert_false(talk_has(&out, answered[1 - i]));
    }
}

static void listeners_on_the_pipe_are_told_by_their_id(void **state)
{
    (void)state;
    say_line("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"subscriptions/listen\",\"params\":{"
             "\"notifications\":{\"toolsListChanged\":true}," META26 "}}");
    say_line("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"subscriptions/listen\",\"params\":{"
             "\"notifications\":{\"promptsListChanged\":true,\"resourceSubscriptions\":["
             "\"note://one\",\"note://silent\",\"note://none\"]}," META26 "}}");
    await_line("\"io.modelcontextprotocol/subscriptionId\":\"a\"},\"notifications\":{"
               "\"toolsListChanged\":true}}}");
    await_line("\"io.modelcontextprotocol/subscriptionId\":2},\"notifications\":{"
               "\"promptsListChanged\":true,\"resourceSubscriptions\":[\"note://one\"]}}}");
    buf_clear(&out.got);
    world_add_tool(&world, "another");
    mcp_resource_updated(world.server, STR("note://one"));
    mcp_resource_updated(world.server, STR("note://silent"));
    await_line("notifications/tools/list_changed\",\"params\":{\"_meta\":{"
               "\"io.modelcontextprotocol/subscriptionId\":\"a\"}}}");
    await_line("notifications/resources/updated\",\"params\":{\"_meta\":{"
               "\"io.modelcontextprotocol/subscriptionId\":2},\"uri\":\"note://one\"}}");
    assert_int_equal(talk_count(&out, "\n"), 2);

    buf_clear(&out.got);
    say_line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
             "\"requestId\":\"a\"}}");
    say_line("{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/list\",\"params\":{" META26 "}}");
    await_line("\"id\":8");
    world_add_tool(&world, "third");
    mcp_resource_updated(world.server, STR("note://one"));
    await_line("notifications/resources/updated");
    for (int i = 0; i < 5; i++)
        world_turn(&world);
    assert_false(talk_has(&out, "list_changed"));

    /* The end of the input ends them as they should end. */
    buf_clear(&out.got);
    close(in);
    in = -1;
    await_line("\"id\":2,\"result\":{\"resultType\":\"complete\",\"_meta\":{"
               "\"io.modelcontextprotocol/subscriptionId\":2");
}

SUBJECT(era)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_decision_table_row_by_row),
        cmocka_unit_test_setup_teardown(every_way_to_open_over_http, setup, teardown),
        cmocka_unit_test_setup_teardown(both_eras_at_once_on_one_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(every_way_to_open_over_stdio, setup_pipe, teardown_pipe),
        cmocka_unit_test_setup_teardown(a_cancelled_request_is_never_answered, setup_pipe,
                                        teardown_pipe),
        cmocka_unit_test_setup_teardown(an_id_in_flight_cannot_be_used_twice, setup_pipe,
                                        teardown_pipe),
        cmocka_unit_test_setup_teardown(one_of_two_that_wait_for_the_same_end_may_be_cancelled,
                                        setup_pipe, teardown_pipe),
        cmocka_unit_test_setup_teardown(listeners_on_the_pipe_are_told_by_their_id, setup_pipe,
                                        teardown_pipe),
    };

    return cmocka_run_group_tests_name("mcp-era", tests, NULL, NULL);
}
