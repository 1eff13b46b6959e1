/*
 * tests/unit/mcp/store_away: what a 2025 client is told, and what that costs, while the store takes
 * nothing. An end is told when it is stored, the same answer is on its way once, and a request in
 * flight is freed with the server.
 */
#include "world.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/shared/server_inside.h"
#include "../runner.h"

#define CALL(id, name, args)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\",\"arguments\":" args "}}"
#define FORM_ONLY "{\"elicitation\":{}}"
#define SEVEN     "\"result\":{\"action\":\"accept\",\"content\":{\"age\":7}}"
#define EIGHT     "\"result\":{\"action\":\"accept\",\"content\":{\"age\":8}}"

enum { SENT_AGAIN = 40 }; /* of the same answer, while the store is away */

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

static bool is_silent(const struct talk *talk)
{
    char byte;

    return recv(talk->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == -1;
}

static void post_answer(struct wire_client *client, struct talk *talk, const char *id,
                        const char *result)
{
    char body[512];

    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}", id, result);
    client_post(client, talk, body);
}

static int setup(void **state)
{
    (void)state;
    world_start(&world, &(struct world_opts){ .survives = true });
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (world.loop)
        world_stop(&world);
    return 0;
}

/* --- an end is told after it is stored --- */

static void the_end_of_a_tool_that_is_gone_is_told_when_it_is_stored(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64], event[128];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "form", "{}"));
    asked_id(&talk, ask);
    talk_cut(&talk, "id: ", "\n", event, sizeof(event));
    talk_close(&talk);
    world_restart(&world);
    catalog_remove(world.catalog, catalog_find(world.catalog, TARGET_TOOL, STR("form")));
    world.store_away = "cancel";
    client_get(&client, &talk, event);
    turns(40);
    assert_true(world.away_tries > 0);
    assert_true(is_silent(&talk));
    world.store_away = NULL;
    world_advance(&world, 10000);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "TOOL_GONE"));
    talk_close(&talk);
}

static void whoever_answers_for_a_tool_that_is_gone_is_told_when_it_is_stored(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "form", "{}"));
    asked_id(&talk, ask);
    talk_close(&talk);
    world_restart(&world);
    catalog_remove(world.catalog, catalog_find(world.catalog, TARGET_TOOL, STR("form")));
    world.store_away = "cancel";
    post_answer(&client, &talk, ask, SEVEN);
    turns(40);
    assert_true(world.away_tries > 0);
    assert_true(is_silent(&talk));
    world.store_away = NULL;
    world_advance(&world, 10000);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "HTTP/1.1 409"));
    talk_close(&talk);
}

/* --- the same answer again --- */

/* How often the store is asked to take an answer, when it is asked once more. */
static int tries_of_one_turn(void)
{
    turns(10);
    world.away_tries = 0;
    world_advance(&world, 2500); /* longer than the longest pause between two tries */
    turns(5);
    return world.away_tries;
}

static void the_same_answer_again_joins_the_one_that_is_on_its_way(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk, sent[SENT_AGAIN];
    char ask[64];
    int taken = 0, later = 0;

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "form", "{}"));
    asked_id(&talk, ask);
    world.store_away = "claim";
    for (int i = 0; i < SENT_AGAIN; i++)
        post_answer(&client, &sent[i], ask, SEVEN);
    assert_int_equal(tries_of_one_turn(), 1);
    world.store_away = NULL;
    world_advance(&world, 10000);
    for (int i = 0; i < SENT_AGAIN; i++) {
        talk_await_end(&sent[i]);
        taken += talk_has(&sent[i], "HTTP/1.1 202");
        later += talk_has(&sent[i], "HTTP/1.1 503"); /* more than may wait for one */
        talk_close(&sent[i]);
    }
    assert_int_equal(taken + later, SENT_AGAIN);
    assert_true(taken > SENT_AGAIN / 4 && later > 0);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "accepted"));
    talk_close(&talk);
}

/* Another answer is another matter: it is tried, and one of the two wins. */
static void another_answer_does_not_join(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk, seven, eight;
    char ask[64];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "form", "{}"));
    asked_id(&talk, ask);
    world.store_away = "claim";
    post_answer(&client, &seven, ask, SEVEN);
    turns(5);
    post_answer(&client, &eight, ask, EIGHT);
    assert_int_equal(tries_of_one_turn(), 2);
    world.store_away = NULL;
    world_advance(&world, 10000);
    talk_await_end(&seven);
    talk_await_end(&eight);
    assert_int_equal(talk_has(&seven, "HTTP/1.1 202") + talk_has(&eight, "HTTP/1.1 202"), 1);
    assert_int_equal(talk_has(&seven, "HTTP/1.1 409") + talk_has(&eight, "HTTP/1.1 409"), 1);
    talk_close(&seven);
    talk_close(&eight);
    talk_await_end(&talk);
    talk_close(&talk);
}

/* --- a session that is ended --- */

static struct {
    int asks, done;
} seen;

static void count_ask(void *data, const struct store_row *row)
{
    (void)data;
    seen.asks += row->ask != NULL;
}

static void scanned(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)reply;
    assert_int_equal(status, NOD_OK);
    seen.done++;
}

static int pending_asks(void)
{
    seen.asks = seen.done = 0;
    world.store->ops->scan(world.store, &(struct store_scan){ .index = STORE_ASKS_PENDING },
                           count_ask, scanned, NULL);
    WORLD_AWAIT(&world, seen.done);
    return seen.asks;
}

/* Those that are live on no node as well: their process has gone. */
static void the_end_of_a_session_ends_the_calls_that_wait_in_the_store(void **state)
{
    struct wire_client client = { 0 }, other = { 0 };
    struct talk talk;
    char ask[64], theirs[64];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_begin(&other, &world, "2025-11-25", FORM_ONLY);
    for (int i = 0; i < 3; i++) {
        client_post(&client, &talk,
                    i == 0   ? CALL("1", "form", "{}")
                    : i == 1 ? CALL("2", "form", "{}")
                             : CALL("3", "form", "{}"));
        asked_id(&talk, ask);
        talk_close(&talk);
    }
    client_post(&other, &talk, CALL("1", "form", "{}"));
    asked_id(&talk, theirs);
    talk_close(&talk);
    world_restart(&world);
    assert_int_equal(pending_asks(), 4);
    assert_int_equal(client_status(&client, "DELETE", NULL), 204);
    turns(20);
    assert_int_equal(pending_asks(), 1); /* of the other session */
    post_answer(&client, &talk, ask, SEVEN);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "HTTP/1.1 404"));
    talk_close(&talk);
    post_answer(&other, &talk, theirs, SEVEN);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "HTTP/1.1 202"));
    talk_close(&talk);
}

static void no_scan(struct store *store, const struct store_scan *scan, store_row_fn *row,
                    store_done *done, void *data)
{
    (void)store, (void)scan, (void)row;
    done(data, NOD_E_STORE, &(struct store_reply){ 0 });
}

/* Nobody is told that it has ended while its calls may go on. */
static void a_session_whose_calls_cannot_be_found_has_not_ended(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "form", "{}"));
    asked_id(&talk, ask);
    talk_close(&talk);
    world_restart(&world);
    void (*scan)(struct store *, const struct store_scan *, store_row_fn *, store_done *, void *) =
        world.ops.scan;
    world.ops.scan = no_scan;
    assert_int_equal(client_status(&client, "DELETE", NULL), 503);
    world.ops.scan = scan;
    assert_int_equal(client_status(&client, "DELETE", NULL), 204);
    turns(20);
    assert_int_equal(pending_asks(), 0);
    assert_int_equal(client_status(&client, "DELETE", NULL), 404);
}

/* --- a server that stops while the store is asked --- */

static struct {
    struct str call_id;
    store_done *done;
    void *data;
    void (*real)(struct store *store, struct str call_id, store_done *done, void *data);
    char text[64];
} held;

static void hold_load(struct store *store, struct str call_id, store_done *done, void *data)
{
    (void)store;
    memcpy(held.text, call_id.at, call_id.len);
    held.call_id = str_n(held.text, call_id.len);
    held.done = done;
    held.data = data;
}

static void hold_loads(void)
{
    held.done = NULL;
    held.real = world.ops.load_call;
    world.ops.load_call = hold_load;
}

static void let_load(void)
{
    world.ops.load_call = held.real;
    held.real(world.store, held.call_id, held.done, held.data);
}

/* What a client does on 404 is to begin anew: it must not be told so of a session that lives. */
static void a_server_that_stops_never_says_that_a_session_is_gone(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64], event[128];

    (void)state;
    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "form", "{}"));
    asked_id(&talk, ask);
    talk_cut(&talk, "id: ", "\n", event, sizeof(event));
    talk_close(&talk);
    for (int i = 0; i < 2; i++) {
        world_restart(&world);
        hold_loads();
        if (i)
            client_get(&client, &talk, event);
        else
            client_post(&client, &talk, CALL("2", "form", "{}"));
        WORLD_AWAIT(&world, held.done);
        world_drain(&world, PATIENCE_MS);
        turns(20);
        let_load();
        talk_await_end(&talk);
        assert_true(talk_has(&talk, "HTTP/1.1 503"));
        assert_true(talk_has(&talk, "Retry-After: "));
        talk_close(&talk);
        WORLD_AWAIT(&world, world.ended);
        world.draining = world.ended = false;
    }
    world_restart(&world);
}

/* --- a node that stops while its store hangs --- */

/* A request is on its way to the store when the server is told to stop. The store takes it only
 * when the time to stop is up. */
static void stopped_on_its_way(struct talk *talk)
{
    WORLD_AWAIT(&world, world.away_tries > 0);
    engine_leave(world.engine);
    world_drain(&world, 1);
    talk_await_end(talk);
    world.store_away = NULL;
    world_advance(&world, 10000);
    turns(20);
    WORLD_AWAIT(&world, world.ended);
    world.draining = world.ended = false;
}

static void goes_on_at_the_next_node(const char *verb, const char *request)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char ask[64];

    client_begin(&client, &world, "2025-11-25", FORM_ONLY);
    client_post(&client, &talk, CALL("1", "echo", "{}"));
    talk_await_end(&talk);
    talk_close(&talk);
    world.store_away = verb;
    world.away_tries = 0;
    client_post(&client, &talk, request);
    stopped_on_its_way(&talk);
    assert_false(talk_has(&talk, "\"result\""));
    assert_false(talk_has(&talk, "\"error\""));
    talk_close(&talk);
    world_restart(&world);
    client_post(&client, &talk, request);
    asked_id(&talk, ask);
    client_answer(&client, ask, SEVEN);
    talk_await(&talk, "\"text\":\"done\"");
    talk_close(&talk);
    assert_int_equal(world.deeds, 1);
}

static void a_request_on_its_way_to_the_store_goes_on_at_the_next_node(void **state)
{
    (void)state;
    goes_on_at_the_next_node("park", CALL("2", "deed", "{}"));
}

static void a_request_that_is_stored_before_its_first_step_goes_on_at_the_next_node(void **state)
{
    (void)state;
    goes_on_at_the_next_node("append", CALL("2", "deed", "{\"first\":true}"));
}

static void a_request_of_2026_on_its_way_to_the_store_is_to_be_sent_again(void **state)
{
    static const char body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"deed\","
        "\"arguments\":{},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{\"form\":{}}}}}}";
    char bytes[2048];
    struct talk talk;

    (void)state;
    snprintf(bytes, sizeof(bytes),
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream"
             "\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n"
             "Mcp-Method: tools/call\r\nMcp-Name: deed\r\nContent-Length: %zu\r\n\r\n%s",
             sizeof(body) - 1, body);
    world.store_away = "park";
    talk_raw(&talk, &world, bytes);
    stopped_on_its_way(&talk);
    assert_true(talk_has(&talk, "HTTP/1.1 503"));
    assert_true(talk_has(&talk, "Nothing was done for this request"));
    talk_close(&talk);
    world_restart(&world);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(store_away)
{
    const struct CMUnitTest tests[] = {
        T(the_end_of_a_tool_that_is_gone_is_told_when_it_is_stored),
        T(whoever_answers_for_a_tool_that_is_gone_is_told_when_it_is_stored),
        T(the_same_answer_again_joins_the_one_that_is_on_its_way),
        T(another_answer_does_not_join),
        T(the_end_of_a_session_ends_the_calls_that_wait_in_the_store),
        T(a_session_whose_calls_cannot_be_found_has_not_ended),
        T(a_server_that_stops_never_says_that_a_session_is_gone),
        T(a_request_on_its_way_to_the_store_goes_on_at_the_next_node),
        T(a_request_that_is_stored_before_its_first_step_goes_on_at_the_next_node),
        T(a_request_of_2026_on_its_way_to_the_store_is_to_be_sent_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
