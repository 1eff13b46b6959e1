/* tests/unit/mcp/stdio: one session over a pair of pipes. */
#include "world.h"
#include "../runner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define CALL(id, name, args)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\",\"arguments\":" args "}}"
#define INIT(version, capabilities)                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"" version "\",\"capabilities\":" capabilities ",\"clientInfo\":{\"name\":\"drawless\","     \
    "\"version\":\"1\"}}}"

#define META_2026                                                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}"
#define CALL_2026(id, name, more)                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\"," META_2026 more "}}"

static struct world world;
static struct talk out; /* what the server has written */
static int in;
static bool ended;

static void on_ended(void *data)
{
    *(bool *)data = true;
}

static int start(const struct world_opts *opts)
{
    int to[2], from[2];

    world_start(&world, opts);
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    ended = false;
    assert_int_equal(mcp_stdio_start(world.server, to[0], from[1], on_ended, &ended), NOD_OK);
    in = to[1];
    out = (struct talk){ .world = &world, .fd = from[0] };
    assert_int_equal(fcntl(out.fd, F_SETFL, O_NONBLOCK), 0);
    buf_init(&out.got, 64 << 20);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return start(&(struct world_opts){ .no_http = true });
}

static int setup_surviving(void **state)
{
    (void)state;
    return start(&(struct world_opts){ .no_http = true, .survives = true });
}

static int teardown(void **state)
{
    (void)state;
    if (in >= 0)
        close(in);
    world_stop(&world);
    close(out.fd);
    buf_finish(&out.got);
    return 0;
}

static void send_line(const char *line)
{
    assert_int_equal(write(in, line, strlen(line)), (ssize_t)strlen(line));
    assert_int_equal(write(in, "\n", 1), 1);
}

static void await(const char *text)
{
    char bytes[65536];

    for (int turns = 0; !talk_has(&out, text); turns++) {
        if (turns > 2000)
            print_error("waited for %s, got: %.*s\n", text, STR_ARG(buf_str(&out.got)));
        assert_true(turns <= 2000);
        world_turn(&world);
        ssize_t n = read(out.fd, bytes, sizeof(bytes));
        if (n > 0)
            buf_add(&out.got, str_n(bytes, (size_t)n));
    }
}

static void the_end_of_input_lets_work_end_and_cancels_what_waits(void **state)
{
    (void)state;
    send_line(INIT("2025-11-25", "{\"elicitation\":{}}"));
    send_line(CALL("1", "confirm", "{}"));
    send_line(CALL("2", "hold", "{}"));
    await("elicitation/create");
    WORLD_AWAIT(&world, world.held);
    close(in);
    in = -1;
    WORLD_AWAIT(&world, engine_calls(world.engine) == 1);
    assert_false(ended);
    world_let_go(&world);
    await("\"id\":2,\"result\"");
    WORLD_AWAIT(&world, ended);
    assert_int_equal(engine_calls(world.engine), 0);
}

/* Its request is over, but its end is not stored yet when the server begins to stop. */
static void a_request_that_was_cancelled_is_not_waited_for_by_a_server_that_stops(void **state)
{
    enum { TURNS = 40 };
    char call_state[4096], line[8192];

    (void)state;
    send_line(CALL_2026("1", "later", ""));
    await("\"requestState\"");
    talk_cut(&out, "\"requestState\":\"", "\"", call_state, sizeof(call_state));
    snprintf(line, sizeof(line),
             CALL_2026("2", "later",
                       ",\"requestState\":\"%s\",\"inputResponses\":{\"age\":{\"action\":"
                       "\"accept\",\"content\":{\"age\":7}}}"),
             call_state);
    send_line(line);
    WORLD_AWAIT(&world, world.held);
    world.store_away = "cancel";
    send_line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
              "\"requestId\":2}}");
    WORLD_AWAIT(&world, world.away_tries > 0);
    world_drain(&world, 2000);
    world.store_away = NULL;
    world_advance(&world, 10000);
    WORLD_AWAIT(&world, engine_calls(world.engine) == 0);
    for (int i = 0; i < TURNS; i++)
        world_turn(&world);
}

SUBJECT(stdio)
{
#define T(name, up) cmocka_unit_test_setup_teardown(name, up, teardown)
    const struct CMUnitTest tests[] = {
        T(the_end_of_input_lets_work_end_and_cancels_what_waits, setup),
        T(a_request_that_was_cancelled_is_not_waited_for_by_a_server_that_stops, setup_surviving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
