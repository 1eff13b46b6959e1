/*
 * tests/unit/mcp/ended_streams: what a 2025 client can rely on after the server has sent something:
 * answers that were acknowledged, streams that have ended, sessions that hold something.
 */
#include "world.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

#include "mcp/shared/server_inside.h"
#include "mcp/era2025/ask.h"
#include "mcp/era2025/stream.h"
#include "../runner.h"

#define CALL(id, name, args)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\",\"arguments\":" args "}}"
#define PING      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define FORM_ONLY "{\"elicitation\":{}}"
#define ROOTS     "{\"roots\":{}}"

static struct world world;

static void turns(int count)
{
    for (int i = 0; i < count; i++)
        world_turn(&world);
}

static void asked_id(struct talk *talk, char out[64])
{
    talk_await(talk, "\"id\":\"");
    talk_cut(talk, "\"jsonrpc\":\"2.0\",\"id\":\"", "\"", out, 64);
}

static struct session *session_of(const struct wire_client *client)
{
    return session_find(world.server, str_of(client->session), STR("local"));
}

/* --- answers in an array --- */

static void line05_an_answer_in_an_array_is_acknowledged_when_it_is_stored(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk, array;
    char id[64], body[512];

    (void)state;
    world_start(&world, &(struct world_opts){ .survives = true });
    client_begin(&client, &world, "2025-03-26", ROOTS);
    client_post(&client, &talk, CALL("1", "roots", "{}"));
    asked_id(&talk, id);
    world.store_away = "claim";
    snprintf(
        body, sizeof(body),
        "[{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"roots\":[{\"uri\":\"file:///a\"}]}}]",
        id);
    client_post(&client, &array, body);
    turns(20);
    assert_int_equal(recv(array.fd, body, sizeof(body), MSG_DONTWAIT), -1);
    world.store_away = NULL;
    world_advance(&world, 10000);
    talk_await_end(&array);
    assert_true(talk_has(&array, "HTTP/1.1 202"));
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "file:///a"));
    talk_close(&talk);
    talk_close(&array);
    world_stop(&world);
}

static void line05_requests_beside_an_answer_begin_when_it_is_stored(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk, array;
    char id[64], body[512];

    (void)state;
    world_start(&world, &(struct world_opts){ .survives = true });
    client_begin(&client, &world, "2025-03-26", ROOTS);
    client_post(&client, &talk, CALL("1", "roots", "{}"));
    asked_id(&talk, id);
    world.store_away = "claim";
    snprintf(body, sizeof(body),
             "[" CALL("2", "echo", "{\"text\":\"beside\"}") ",{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
                                                            "\"result\":{\"roots\":[]}}]",
             id);
    client_post(&client, &array, body);
    turns(20);
    assert_int_equal(recv(array.fd, body, sizeof(body), MSG_DONTWAIT), -1);
    world.store_away = NULL;
    world_advance(&world, 10000);
    talk_await_end(&array);
    assert_true(talk_has(&array, "HTTP/1.1 200"));
    assert_true(talk_has(&array, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"result\""));
    talk_await_end(&talk);
    talk_close(&talk);
    talk_close(&array);
    world_stop(&world);
}

static void line05_a_client_that_goes_before_its_array_is_stored_loses_nothing(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk, array;
    char id[64], body[512];

    (void)state;
    world_start(&world, &(struct world_opts){ .survives = true });
    client_begin(&client, &world, "2025-03-26", ROOTS);
    client_post(&client, &talk, CALL("1", "roots", "{}"));
    asked_id(&talk, id);
    world.store_away = "claim";
    snprintf(body, sizeof(body), "[{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"roots\":[]}}]",
             id);
    client_post(&client, &array, body);
    turns(5);
    talk_close(&array);
    turns(5);
    world.store_away = NULL;
    world_advance(&world, 10000);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "accepted"));
    talk_close(&talk);
    world_stop(&world);
}

/* --- ended streams --- */

/* A call with a question, to its end: what went out may never have arrived. */
static void answered_call(struct wire_client *client, int id, char *event, size_t room)
{
    struct talk talk;
    char body[256], ask[64];

    snprintf(body, sizeof(body), CALL("%d", "form", "{}"), id);
    client_post(client, &talk, body);
    asked_id(&talk, ask);
    talk_cut(&talk, "id: ", "\n", event, room);
    client_answer(client, ask, "\"result\":{\"action\":\"accept\",\"content\":{\"age\":7}}");
    talk_await_end(&talk);
    talk_close(&talk);
}

static void line21_results_are_kept_for_their_time_however_many_there_are(void **state)
{
    enum { CALLS = 100 };
    static char events[CALLS][64];
    struct wire_client client = { 0 };
    struct talk talk;
    char result[32];

    (void)state;
    world_start(&world, &(struct world_opts){ 0 });
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    for (int i = 0; i < CALLS; i++)
        answered_call(&client, 100 + i, events[i], sizeof(events[i]));
    for (int i = 0; i < CALLS; i++) {
        client_get(&client, &talk, events[i]);
        talk_await_end(&talk);
        snprintf(result, sizeof(result), "\"id\":%d,\"result\"", 100 + i);
        assert_int_equal(talk_count(&talk, result), 1);
        assert_false(talk_has(&talk, "elicitation/create"));
        talk_close(&talk);
    }
    world_advance(&world, MCP_STREAM_KEEP_MS + 1);
    WORLD_AWAIT(&world, ended_pile_empty(&session_of(&client)->kept));
    client_get(&client, &talk, events[0]);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "HTTP/1.1 400"));
    talk_close(&talk);
    world_stop(&world);
}

/* An ended stream of so many bytes, as a call would leave it. */
static struct mcp_stream *ended_stream(struct session *session, size_t bytes, bool arrived)
{
    static char text[1 << 20];
    struct mcp_stream *stream = mem_zalloc(sizeof(*stream));

    memset(text, ' ', sizeof(text));
    stream->session = session;
    stream->begun = true;
    snprintf(stream->name, sizeof(stream->name), "%u", ++session->next_stream);
    stream->next_seq = 1;
    stream->awaited = 1;
    stream->arrived = arrived;
    ended_entry_init(&stream->kept);
    list_append(&session->streams, &stream->link);
    mcp_stream_respond(stream, str_n(text, bytes));
    return stream;
}

static void line21_bytes_are_bounded_for_a_session_and_its_newest_stay(void **state)
{
    enum { BYTES = 1000 << 10, MANY = 2 * (MCP_KEPT_BYTES_SESSION / BYTES) };
    struct wire_client client = { 0 };
    struct mcp_stream *last = NULL;

    (void)state;
    world_start(&world, &(struct world_opts){ 0 });
    client_begin(&client, &world, "2025-11-25", "{}");
    struct session *session = session_of(&client);
    struct mcp_stream *lost = ended_stream(session, BYTES, false);
    for (int i = 0; i < MANY; i++)
        last = ended_stream(session, BYTES, true);
    size_t arrived = session->kept.bytes - session->kept.lost_bytes;
    assert_true(arrived <= MCP_KEPT_BYTES_SESSION);
    assert_true(arrived > MCP_KEPT_BYTES_SESSION - 2 * BYTES);
    assert_ptr_equal(LIST_OF(session->kept.arrived.prev, struct mcp_stream, kept.of_session), last);
    /* What is not known to have arrived does not go. */
    for (int i = 1; i < MANY; i++)
        ended_stream(session, BYTES, false);
    assert_ptr_equal(LIST_OF(session->kept.lost.next, struct mcp_stream, kept.of_session), lost);
    assert_true(session->kept.lost_bytes > (size_t)MANY * BYTES);
    assert_true(session->kept.bytes - session->kept.lost_bytes <= MCP_KEPT_BYTES_SESSION);
    assert_false(list_empty(&session->kept.arrived));
    world_stop(&world);
}

static void a_result_that_did_not_arrive_stays_and_counts_against_its_principal(void **state)
{
    enum { BYTES = 1000 << 10, MANY = 2 * (MCP_KEPT_BYTES_SESSION / BYTES) };
    struct wire_client client = { 0 };
    uint64_t most = 0;

    (void)state;
    world_start(&world, &(struct world_opts){ .kept_bytes_per_principal = (uint64_t)MANY * BYTES });
    client_begin(&client, &world, "2025-11-25", "{}");
    struct session *session = session_of(&client);
    struct str who = session_principal(session);
    struct mcp_stream *first = ended_stream(session, BYTES, false);
    for (int i = 1; i < MANY - 1; i++)
        ended_stream(session, BYTES, false);
    assert_int_equal(engine_full(world.engine, who, &most), STORE_QUOTA_NONE);
    ended_stream(session, BYTES, false);
    assert_int_equal(engine_full(world.engine, who, &most), STORE_QUOTA_BYTES_PRINCIPAL);
    assert_int_equal(most, (uint64_t)MANY * BYTES);
    assert_ptr_equal(LIST_OF(session->kept.lost.next, struct mcp_stream, kept.of_session), first);
    first->arrived = true;
    ended_streams_arrived(first);
    assert_int_equal(engine_full(world.engine, who, &most), STORE_QUOTA_NONE);
    world_stop(&world);
}

static void line21_bytes_are_bounded_for_a_principal_and_nobody_elses_go(void **state)
{
    enum {
        BYTES = 1000 << 10,
        EACH = MCP_KEPT_BYTES_SESSION / BYTES - 1,
        SESSIONS = 2 * (MCP_KEPT_BYTES_PRINCIPAL / (EACH * BYTES)),
    };
    struct wire_client alice = { .token = "alice-token-0123456789" };
    struct wire_client bob = { .token = "bob-token-0123456789" };
    struct arena arena;
    struct str problem;
    size_t bytes = 0;

    (void)state;
    arena_init(&arena, 65536);
    struct tokens *tokens =
        tokens_parse(STR("alice-token-0123456789 alice\nbob-token-0123456789 bob\n"), STR("t"),
                     &arena, &problem);
    world_start(&world, &(struct world_opts){ .tokens = tokens });
    client_begin(&bob, &world, "2025-11-25", "{}");
    struct session *his = session_find(world.server, str_of(bob.session), STR("bob"));
    ended_stream(his, BYTES, true);
    struct session *hers[SESSIONS];
    for (int i = 0; i < SESSIONS; i++) {
        client_begin(&alice, &world, "2025-11-25", "{}");
        hers[i] = session_find(world.server, str_of(alice.session), STR("alice"));
        for (int n = 0; n < EACH; n++)
            ended_stream(hers[i], BYTES, true);
    }
    for (int i = 0; i < SESSIONS; i++)
        bytes += hers[i]->kept.bytes;
    assert_true(bytes <= MCP_KEPT_BYTES_PRINCIPAL);
    assert_true(bytes > MCP_KEPT_BYTES_PRINCIPAL - 2 * BYTES);
    assert_true(ended_pile_empty(&hers[0]->kept));
    assert_false(ended_pile_empty(&his->kept));
    world_stop(&world);
    tokens_destroy(tokens);
    arena_finish(&arena);
}

static void line24_progress_and_logs_of_an_ended_call_are_told_again(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char event[64];

    (void)state;
    world_start(&world, &(struct world_opts){ 0 });
    client_begin(&client, &world, "2025-11-25", "{}");
    client_post(&client, &talk,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"talk\",\"_meta\":{\"progressToken\":\"tok\"}}}");
    talk_await_end(&talk);
    talk_cut(&talk, "id: ", "\n", event, sizeof(event));
    talk_close(&talk);
    client_get(&client, &talk, event);
    talk_await_end(&talk);
    assert_int_equal(talk_count(&talk, "notifications/progress"), 2);
    assert_int_equal(talk_count(&talk, "notifications/message"), 1);
    assert_int_equal(talk_count(&talk, "\"id\":1,\"result\""), 1);
    talk_close(&talk);
    world_stop(&world);
}

/* --- sessions --- */

#define HOUR_MS 3600000LL
#define DAY     "86400000"

/* The question of a day, asked before a restart; its first event is the one to come back with. */
static void ask_for_a_day(struct wire_client *client, char ask[64], char event[64])
{
    struct talk talk;

    client_begin(client, &world, "2025-11-25", FORM_ONLY);
    client_post(client, &talk, CALL("1", "form", "{\"ttl\":" DAY "}"));
    asked_id(&talk, ask);
    talk_cut(&talk, "id: ", "\n", event, 64);
    talk_close(&talk);
}

static void line06_a_session_lives_as_long_as_a_question_waits_in_it(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64], event[64];

    (void)state;
    world_start(&world, &(struct world_opts){ .survives = true });
    ask_for_a_day(&client, ask, event);
    world_restart(&world);
    world_advance(&world, 20 * HOUR_MS);
    client_get(&client, &talk, event);
    talk_await(&talk, "elicitation/create");
    assert_true(talk_has(&talk, "HTTP/1.1 200"));
    client_answer(&client, ask, "\"result\":{\"action\":\"accept\",\"content\":{\"age\":7}}");
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "accepted {'age':7}"));
    talk_close(&talk);
    world_stop(&world);
}

static void line06_an_answer_is_taken_long_after_the_session_was_idle(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64], event[64];

    (void)state;
    world_start(&world, &(struct world_opts){ .survives = true, .session_idle_ms = 60000 });
    ask_for_a_day(&client, ask, event);
    world_restart(&world);
    world_advance(&world, 20 * HOUR_MS);
    /* Nobody has come back for the call: the answer comes first. */
    client_answer(&client, ask, "\"result\":{\"action\":\"accept\",\"content\":{\"age\":7}}");
    world_advance(&world, 2000); /* it is found, and run */
    turns(20);
    world_restart(&world);
    /* Its result is kept for ten minutes, and so is the session. */
    world_advance(&world, MEMORY_KEEP_MS - 60000);
    client_get(&client, &talk, event);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "accepted {'age':7}"));
    talk_close(&talk);
    world_stop(&world);
}

static void line06_a_question_that_was_asked_while_nobody_was_there_keeps_the_session(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64], event[64], body[256];

    (void)state;
    world_start(&world, &(struct world_opts){ .survives = true, .session_idle_ms = 60000 });
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "twice", "{\"ttl\":" DAY "}"));
    asked_id(&talk, ask);
    talk_cut(&talk, "id: ", "\n", event, 64);
    talk_close(&talk);
    world_restart(&world);
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"action\":\"accept\",\"content\":{"
             "\"age\":7}}}",
             ask);
    assert_int_equal(client_status(&client, "POST", body), 202);
    world_advance(&world, 2000); /* it is run on, and asks its second question */
    turns(20);
    world_restart(&world);
    world_advance(&world, 20 * HOUR_MS);
    client_get(&client, &talk, event);
    talk_await(&talk, "second");
    talk_close(&talk);
    world_stop(&world);
}

static void line06_in_memory_a_session_lives_as_long_as_its_results_are_kept(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char event[64];

    (void)state;
    world_start(&world, &(struct world_opts){ .session_idle_ms = 1000 });
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    answered_call(&client, 1, event, sizeof(event));
    for (int i = 0; i < 2; i++) {
        world_advance(&world, 120000);
        turns(250); /* a sweep comes every second of real time */
    }
    client_get(&client, &talk, event);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "accepted {'age':7}"));
    talk_close(&talk);
    world_stop(&world);
}

/* --- and the rest --- */

static void line24_the_end_of_a_required_page_is_told(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk, standing;

    (void)state;
    world_start(&world, &(struct world_opts){ 0 });
    client_begin(&client, &world, "2025-11-25", "{\"elicitation\":{\"url\":{}}}");
    client_get(&client, &standing, NULL);
    talk_await(&standing, "retry:");
    client_post(&client, &talk, CALL("1", "require", "{}"));
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "-32042"));
    mcp_url_done(world.server, STR("page-1"));
    talk_await(&standing, "\"notifications/elicitation/complete\",\"params\":{\"elicitationId\":"
                          "\"page-1\"}");
    talk_close(&talk);
    talk_close(&standing);
    world_stop(&world);
}

static void nobody_takes_the_room_for_ends_of_pages_from_others(void **state)
{
    static const char file[] = "aaaaaaaaaaaaaaaaaaaa alice\nbbbbbbbbbbbbbbbbbbbb bob\n";
    struct wire_client alice = { .token = "aaaaaaaaaaaaaaaaaaaa" },
                       bob = { .token = "bbbbbbbbbbbbbbbbbbbb" };
    struct talk talk, standing;
    struct arena arena;
    struct str problem;
    struct buf many;

    (void)state;
    arena_init(&arena, 1 << 16);
    struct tokens *tokens = tokens_parse(STR(file), STR("tokens"), &arena, &problem);
    arena_finish(&arena);
    world_start(&world, &(struct world_opts){ .tokens = tokens });
    client_begin(&alice, &world, "2025-11-25", "{\"elicitation\":{\"url\":{}}}");
    client_begin(&bob, &world, "2025-11-25", "{\"elicitation\":{\"url\":{}}}");
    client_get(&alice, &standing, NULL);
    talk_await(&standing, "retry:");
    client_post(&alice, &talk, CALL("1", "require", "{}"));
    talk_await_end(&talk);
    buf_init(&many, 1 << 20);
    for (int i = 0; i < 10000; i++) {
        buf_clear(&many);
        buf_fmt(&many, "{\"elicitations\":[{\"elicitationId\":\"b-%d\"}]}", i);
        client_surface_url_required(
            world.server->client, session_here(world.server, str_of(bob.session)), buf_str(&many));
    }
    buf_finish(&many);
    assert_false(client_surface_url_done(world.server->client, STR("b-8999")));
    assert_true(client_surface_url_done(world.server->client, STR("b-9000")));
    assert_true(client_surface_url_done(world.server->client, STR("page-1")));
    talk_await(&standing, "\"notifications/elicitation/complete\",\"params\":{\"elicitationId\":"
                          "\"page-1\"}");
    talk_close(&talk);
    talk_close(&standing);
    world_stop(&world);
    tokens_destroy(tokens);
}

static void line24_the_same_answer_is_the_same_however_it_is_written(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char id[64], body[512];

    (void)state;
    world_start(&world, &(struct world_opts){ .survives = true });
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "form", "{}"));
    asked_id(&talk, id);
    static const char *const ways[] = { "{ \"age\" :  7 }", "{\"age\":7}", "{\"age\": 7.0}" };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        snprintf(body, sizeof(body),
                 "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"action\":\"accept\","
                 "\"content\":%s}}",
                 id, ways[i]);
        assert_int_equal(client_status(&client, "POST", body), 202);
    }
    client_answer(&client, id, "\"result\":{\"action\":\"accept\",\"content\":{ \"age\" : 7 }}");
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"action\":\"accept\",\"content\":{"
             "\"age\":8}}}",
             id);
    assert_int_equal(client_status(&client, "POST", body), 409);
    talk_await_end(&talk);
    talk_close(&talk);
    world_stop(&world);
}

SUBJECT(ended_streams)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line05_an_answer_in_an_array_is_acknowledged_when_it_is_stored),
        cmocka_unit_test(line05_requests_beside_an_answer_begin_when_it_is_stored),
        cmocka_unit_test(line05_a_client_that_goes_before_its_array_is_stored_loses_nothing),
        cmocka_unit_test(line21_results_are_kept_for_their_time_however_many_there_are),
        cmocka_unit_test(line21_bytes_are_bounded_for_a_session_and_its_newest_stay),
        cmocka_unit_test(a_result_that_did_not_arrive_stays_and_counts_against_its_principal),
        cmocka_unit_test(line21_bytes_are_bounded_for_a_principal_and_nobody_elses_go),
        cmocka_unit_test(line24_progress_and_logs_of_an_ended_call_are_told_again),
        cmocka_unit_test(line06_a_session_lives_as_long_as_a_question_waits_in_it),
        cmocka_unit_test(line06_an_answer_is_taken_long_after_the_session_was_idle),
        cmocka_unit_test(line06_a_question_that_was_asked_while_nobody_was_there_keeps_the_session),
        cmocka_unit_test(line06_in_memory_a_session_lives_as_long_as_its_results_are_kept),
        cmocka_unit_test(line24_the_end_of_a_required_page_is_told),
        cmocka_unit_test(nobody_takes_the_room_for_ends_of_pages_from_others),
        cmocka_unit_test(line24_the_same_answer_is_the_same_however_it_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
