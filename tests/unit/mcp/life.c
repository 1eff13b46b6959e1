/* tests/unit/mcp/life: sessions, principals, limits and the end of a server. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mcp/shared/server_inside.h"
#include "mcp/era2025/stream.h"
#include "../runner.h"

#define CALL(id, name, args)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\",\"arguments\":" args "}}"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"

static struct world world;

static void another_principals_session_does_not_exist(void **state)
{
    struct wire_client alice = { .token = "alice-token-0123456789" };
    struct wire_client bob = { .token = "bob-token-0123456789" };
    struct wire_client nobody = { 0 };
    struct arena arena;
    struct str problem;
    struct talk talk;
    char id[64];

    (void)state;
    arena_init(&arena, 65536);
    struct tokens *tokens = tokens_parse(
        STR("alice-token-0123456789 alice ask answer\nbob-token-0123456789 bob ask answer\n"),
        STR("t"), &arena, &problem);
    world_start(&world, &(struct world_opts){ .tokens = tokens });
    client_begin(&alice, &world, "2025-11-25", "{\"elicitation\":{}}");
    client_begin(&bob, &world, "2025-11-25", "{}");

    client_post(&alice, &talk, CALL("1", "confirm", "{}"));
    talk_await(&talk, "elicitation/create");
    talk_cut(&talk, "\"jsonrpc\":\"2.0\",\"id\":\"", "\"", id, sizeof(id));
    client_answer(&bob, id, "\"result\":{\"action\":\"accept\"}");
    assert_int_equal(engine_pending(world.engine), 1);

    struct wire_client thief = alice;
    thief.token = bob.token;
    assert_int_equal(client_status(&thief, "POST", PING), 404);
    assert_int_equal(client_status(&thief, "DELETE", NULL), 404);
    nobody.world = &world;
    assert_int_equal(client_status(&nobody, "POST", PING), 401);
    nobody.token = "not-a-token-of-anybody";
    assert_int_equal(client_status(&nobody, "POST", PING), 401);
    assert_int_equal(client_status(&alice, "POST", PING), 200);
    client_answer(&alice, id, "\"result\":{\"action\":\"accept\"}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "accepted"));
    talk_close(&talk);
    world_stop(&world);
    tokens_destroy(tokens);
    arena_finish(&arena);
}

static void without_tokens_only_loopback_is_listened_on(void **state)
{
    (void)state;
    world_start(&world, &(struct world_opts){ 0 });
    assert_int_equal(front_listen(world.front, STR("0.0.0.0"), 0), NOD_E_REFUSED);
    world_stop(&world);
}

static void an_idle_session_ends_and_one_that_waits_does_not(void **state)
{
    struct wire_client idle = { 0 }, busy = { 0 };
    struct talk talk;

    (void)state;
    world_start(&world, &(struct world_opts){ .session_idle_ms = 1000 });
    client_begin(&idle, &world, "2025-11-25", "{}");
    client_begin(&busy, &world, "2025-11-25", "{\"elicitation\":{}}");
    client_post(&busy, &talk, CALL("1", "confirm", "{}"));
    talk_await(&talk, "elicitation/create");
    world_advance(&world, 1001);
    WORLD_AWAIT(&world, world.server->sessions->by_id.count == 1);
    assert_int_equal(client_status(&idle, "POST", PING), 404);
    assert_int_equal(client_status(&busy, "POST", PING), 200);
    talk_close(&talk);
    world_stop(&world);
}

/* Its questions may wait for weeks: what the store has, this process need not hold. */
static void a_session_that_waits_alone_is_left_to_a_store_that_keeps_it(void **state)
{
    struct wire_client gone = { 0 }, here = { 0 };
    struct talk talk, held;
    char ask[64], same[64], event[128];

    (void)state;
    world_start(&world, &(struct world_opts){ .session_idle_ms = 1000, .survives = true });
    client_begin(&gone, &world, "2025-11-25", "{\"elicitation\":{}}");
    client_begin(&here, &world, "2025-11-25", "{\"elicitation\":{}}");
    client_post(&here, &held, CALL("1", "confirm", "{}"));
    talk_await(&held, "elicitation/create");
    client_post(&gone, &talk, CALL("1", "confirm", "{}"));
    talk_await(&talk, "elicitation/create");
    talk_cut(&talk, "\"jsonrpc\":\"2.0\",\"id\":\"", "\"", ask, sizeof(ask));
    talk_cut(&talk, "id: ", "\n", event, sizeof(event));
    talk_close(&talk);
    world_advance(&world, 1001);
    WORLD_AWAIT(&world, world.server->sessions->by_id.count == 1);
    assert_int_equal(engine_pending(world.engine), 1); /* of the one that is connected */

    client_get(&gone, &talk, event); /* for the question that it has missed */
    talk_await(&talk, "elicitation/create");
    talk_cut(&talk, "\"jsonrpc\":\"2.0\",\"id\":\"", "\"", same, sizeof(same));
    assert_string_equal(ask, same);
    client_answer(&gone, ask, "\"result\":{\"action\":\"accept\"}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "accepted"));
    talk_close(&talk);
    talk_close(&held);
    world_stop(&world);
}

static void pages_follow_each_other_to_the_end(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char cursor[64] = "", body[256];
    int tools = 0, pages = 0;

    (void)state;
    world_start(&world, &(struct world_opts){ .page_size = 4 });
    client_begin(&client, &world, "2025-11-25", "{}");
    for (bool more = true; more; pages++) {
        snprintf(body, sizeof(body),
                 cursor[0] ? "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
                             "\"cursor\":\"%s\"}}"
                           : "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}%s",
                 cursor);
        client_post(&client, &talk, body);
        talk_await_end(&talk);
        tools += talk_count(&talk, "\"inputSchema\"");
        more = talk_has(&talk, "nextCursor");
        if (more)
            talk_cut(&talk, "\"nextCursor\":\"", "\"", cursor, sizeof(cursor));
        talk_close(&talk);
    }
    /* waitForPerson is not listed to this client, nor are the tools of views */
    int all = (int)catalog_count(world.catalog, TARGET_TOOL, false) - 3;
    assert_int_equal(tools, all);
    assert_int_equal(pages, (all + 3) / 4);
    assert_true(pages > 2);
    world_stop(&world);
}

static void heartbeats_are_comments_without_a_token(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk, standing;

    (void)state;
    world_start(&world, &(struct world_opts){ .heartbeat_ms = 20 });
    client_begin(&client, &world, "2025-11-25", "{\"elicitation\":{}}");
    client_get(&client, &standing, NULL);
    client_post(&client, &talk, CALL("1", "confirm", "{}"));
    talk_await(&talk, ": waiting\n\n");
    assert_false(talk_has(&talk, "notifications/progress"));
    talk_await(&standing, ": waiting\n\n");
    talk_close(&talk);
    talk_close(&standing);
    world_stop(&world);
}

static void calls_another(struct provider *provider, struct run *run)
{
    struct outcome outcome = { .body = STR("{}") };

    (void)provider;
    nod_status status = run_call(
        run, &(struct run_call_spec){ .tool = json_get_str(run->args, STR("tool")) }, &outcome);
    run_done(run, status, outcome.body);
}

#define CALL_FOR(tool)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"outer\","      \
    "\"arguments\":{\"tool\":\"" tool "\"},\"_meta\":{\"progressToken\":\"p\"}}}"

static void heartbeats_say_whether_anybody_is_asked(void **state)
{
    static const struct provider_ops ops = { .name = "calls", .start = calls_another };
    static struct provider provider = { .ops = &ops };
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    world_start(&world, &(struct world_opts){ .heartbeat_ms = 20 });
    world_add_tool(&world, "outer")->provider = &provider;
    client_begin(&client, &world, "2025-11-25", "{\"elicitation\":{}}");
    client_post(&client, &talk, CALL_FOR("hold"));
    talk_await(&talk, "\"progress\":0.001");
    assert_true(talk_has(&talk, "Working on it."));
    assert_false(talk_has(&talk, "Waiting for an answer."));
    world_let_go(&world);
    talk_await_end(&talk);
    talk_close(&talk);
    client_begin(&client, &world, "2025-11-25", "{\"elicitation\":{}}");
    client_post(&client, &talk, CALL_FOR("confirm"));
    talk_await(&talk, "Waiting for an answer.");
    talk_close(&talk);
    world_stop(&world);
}

/* A stream that nobody listens to keeps what matters and drops what does not. */
static void a_log_over_its_caps_drops_progress_first(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char id[64];

    (void)state;
    world_start(&world, &(struct world_opts){ 0 });
    client_begin(&client, &world, "2025-11-25", "{\"elicitation\":{}}");
    client_post(&client, &talk, CALL("1", "confirm", "{}"));
    talk_await(&talk, "elicitation/create");
    talk_cut(&talk, "\"jsonrpc\":\"2.0\",\"id\":\"", "\"", id, sizeof(id));
    talk_close(&talk);
    struct session *session = session_find(world.server, str_of(client.session), STR("local"));
    struct mcp_stream *stream = LIST_OF(session->streams.next, struct mcp_stream, link);
    WORLD_AWAIT(&world, !stream->exchange);
    for (int i = 0; i < 1000; i++) {
        char text[64];
        int n = snprintf(text, sizeof(text), "{\"progress\":%d}", i);
        mcp_stream_send(stream, EVENT_VOLATILE, str_n(text, (size_t)n));
    }
    assert_true(stream->count <= MCP_STREAM_EVENTS_MAX);
    client_get(&client, &talk, "1_0");
    talk_await(&talk, "{\"progress\":999}");
    assert_true(talk_has(&talk, "elicitation/create"));
    assert_false(talk_has(&talk, "{\"progress\":0}"));
    client_answer(&client, id, "\"result\":{\"action\":\"accept\"}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "accepted"));
    talk_close(&talk);
    world_stop(&world);
}

/* The client may come back with the id of what it was told last. */
static void what_is_told_while_a_question_is_stored_does_not_hide_the_question(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char id[64];

    (void)state;
    world_start(&world, &(struct world_opts){ .survives = true });
    client_begin(&client, &world, "2025-06-18", "{\"elicitation\":{}}");
    world.store_away = "park";
    client_post(&client, &talk, CALL("1", "confirm", "{}"));
    struct session *session = session_find(world.server, str_of(client.session), STR("local"));
    WORLD_AWAIT(&world, !list_empty(&session->streams));
    struct mcp_stream *stream = LIST_OF(session->streams.next, struct mcp_stream, link);
    WORLD_AWAIT(&world, stream->reserved);
    mcp_stream_send(stream, EVENT_VOLATILE, STR("{\"told\":true}"));
    talk_await(&talk, "{\"told\":true}");
    talk_cut(&talk, "id: ", "\n", id, sizeof(id));
    talk_close(&talk);
    WORLD_AWAIT(&world, !stream->exchange);
    world.store_away = NULL;
    world_advance(&world, 10000);
    WORLD_AWAIT(&world, engine_pending(world.engine) == 1);
    client_get(&client, &talk, id);
    talk_await(&talk, "elicitation/create");
    talk_close(&talk);
    world_stop(&world);
}

/* Whoever goes away and stays away cannot make the server remember without end. */
static void a_stream_that_nobody_reads_has_an_end(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    world_start(&world, &(struct world_opts){ 0 });
    client_begin(&client, &world, "2025-11-25", "{}");
    client_get(&client, &talk, NULL);
    talk_await(&talk, "retry:");
    talk_close(&talk);
    struct session *session = session_find(world.server, str_of(client.session), STR("local"));
    struct mcp_stream *stream = LIST_OF(session->streams.next, struct mcp_stream, link);
    WORLD_AWAIT(&world, !stream->exchange);
    for (int i = 0; i < 1000; i++)
        session_notify(session, STR("{}"));
    assert_int_equal(stream->count, MCP_STREAM_EVENTS_MAX);
    for (int i = 0; i < MCP_STREAM_EVENTS_MOST + 1000; i++)
        mcp_stream_send(stream, EVENT_KEPT, STR("{}"));
    assert_int_equal(stream->count, MCP_STREAM_EVENTS_MOST);
    world_stop(&world);
}

/* A reader that takes nothing does not make the server hold more than the caps, and gets the result
 * in the end. */
static void a_slow_reader_gets_what_matters_when_it_reads_again(void **state)
{
    static char big[200000];
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    world_start(&world, &(struct world_opts){ 0 });
    client_begin(&client, &world, "2025-11-25", "{\"elicitation\":{}}");
    client_post(&client, &talk, CALL("1", "confirm", "{}"));
    struct session *session = session_find(world.server, str_of(client.session), STR("local"));
    WORLD_AWAIT(&world, engine_pending(world.engine) == 1);
    struct mcp_stream *stream = LIST_OF(session->streams.next, struct mcp_stream, link);
    memset(big, 'x', sizeof(big));
    for (int i = 0; i < 100; i++) {
        mcp_stream_send(stream, EVENT_VOLATILE, str_n(big, sizeof(big)));
        world_turn(&world);
    }
    assert_true(stream->unsent != NULL);
    assert_true(stream->bytes <= MCP_STREAM_BYTES_MAX);
    mcp_stream_send(stream, EVENT_KEPT, STR("{\"last\":true}"));
    talk_await(&talk, "{\"last\":true}");
    assert_true(talk_has(&talk, "elicitation/create"));
    talk_close(&talk);
    world_stop(&world);
}

static void a_drain_lets_work_end_and_tells_those_who_wait(void **state)
{
    struct wire_client client = { 0 };
    struct talk waiting, running;

    (void)state;
    world_start(&world, &(struct world_opts){ 0 });
    client_begin(&client, &world, "2025-11-25", "{\"elicitation\":{}}");
    client_post(&client, &waiting, CALL("1", "confirm", "{}"));
    client_post(&client, &running, CALL("2", "hold", "{}"));
    talk_await(&waiting, "elicitation/create");
    WORLD_AWAIT(&world, world.held);
    world_stop(&world); /* lets go of the running one, then drains */
    /* The sockets have everything already: the server is gone. */
    char bytes[65536];
    ssize_t n = read(running.fd, bytes, sizeof(bytes));
    assert_true(n > 0 && str_find(str_n(bytes, (size_t)n), STR("let go")) >= 0);
    n = read(waiting.fd, bytes, sizeof(bytes));
    assert_true(n > 0 && str_find(str_n(bytes, (size_t)n), STR("shutting down")) >= 0);
    close(waiting.fd);
    close(running.fd);
    buf_finish(&waiting.got);
    buf_finish(&running.got);
}

SUBJECT(life)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_principals_session_does_not_exist),
        cmocka_unit_test(without_tokens_only_loopback_is_listened_on),
        cmocka_unit_test(an_idle_session_ends_and_one_that_waits_does_not),
        cmocka_unit_test(a_session_that_waits_alone_is_left_to_a_store_that_keeps_it),
        cmocka_unit_test(pages_follow_each_other_to_the_end),
        cmocka_unit_test(heartbeats_are_comments_without_a_token),
        cmocka_unit_test(heartbeats_say_whether_anybody_is_asked),
        cmocka_unit_test(a_log_over_its_caps_drops_progress_first),
        cmocka_unit_test(what_is_told_while_a_question_is_stored_does_not_hide_the_question),
        cmocka_unit_test(a_stream_that_nobody_reads_has_an_end),
        cmocka_unit_test(a_slow_reader_gets_what_matters_when_it_reads_again),
        cmocka_unit_test(a_drain_lets_work_end_and_tells_those_who_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
