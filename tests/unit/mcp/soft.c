/*
 * tests/unit/mcp/soft: a held request whose call ends while its pending result is being prepared.
 * Whatever the store does at that moment, and whoever dies: a result that was handed out is not
 * handed out again for another call.
 */
#include "world.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/inside.h"
#include "core/surface.h"
#include "mcp/later/caller_away.h"
#include "mcp/later/handle.h"
#include "mcp/shared/server_inside.h"
#include "../runner.h"

#define CALL(id)                                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"form\","  \
    "\"arguments\":{\"n\":1}}}"

enum { SOFT_MS = 30, PATIENT_MS = 60000, SHOWN_MAX = 8 };

static struct world world;

/* --- somebody elsewhere --- */

static struct {
    struct surface surface;
    char ids[SHOWN_MAX][ID_LEN + 1];
    char by[64];
    int count, answered;
} inbox;

static bool inbox_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    (void)surface, (void)call;
    return kind == ASK_FORM;
}

static void inbox_offer(struct surface *surface, struct ask *ask, int attempt, struct str problems)
{
    const struct ask_record *record = ask_record(ask);

    (void)attempt, (void)problems;
    assert_true(inbox.count < SHOWN_MAX);
    memcpy(inbox.ids[inbox.count++], record->id.at, ID_LEN);
    snprintf(inbox.by, sizeof(inbox.by), STR_FMT, STR_ARG(record->principal));
    ask_offered(ask, surface, OFFER_SHOWN);
}

static void inbox_withdraw(struct surface *surface, struct ask *ask, struct str why,
                           const struct winner *winner)
{
    (void)surface, (void)ask, (void)why, (void)winner;
}

static const struct surface_ops inbox_ops = {
    .name = "inbox", .can = inbox_can, .offer = inbox_offer, .withdraw = inbox_withdraw
};

static void answered(void *data, const struct answer_result *result)
{
    (void)data;
    assert_int_equal(result->status, NOD_OK);
    inbox.answered++;
}

static void answer_newest(void)
{
    struct arena arena;

    arena_init(&arena, 4096);
    const struct json *content = json_parse(&arena, STR("{\"age\":7}"), NULL, NULL);
    int before = inbox.answered;
    ask_answer(world.engine, str_of(inbox.ids[inbox.count - 1]),
               &(struct answer){ .action = ASK_ACCEPTED,
                                 .content = content,
                                 .by = str_of(inbox.by),
                                 .roles = ROLE_ANSWER,
                                 .surface = &inbox.surface },
               answered, NULL);
    WORLD_AWAIT(&world, inbox.answered > before);
    arena_finish(&arena);
}

/* --- a store that waits --- */

static struct {
    void (*real)(struct store *, struct str, struct str, struct str, struct str, uint64_t, int64_t,
                 store_done *, void *);
    bool holding;
    int count; /* of handles that were written */
    char key[HANDLE_KEY_LEN], value[1024];
    size_t value_len;
    uint64_t version;
    int64_t ttl_ms;
    store_done *done; /* NULL: none waits */
    void *data;
} puts_;

static void handle_put_held(struct store *store, struct str kind, struct str key, struct str value,
                            struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                            void *data)
{
    if (!str_eq(kind, STR("handle"))) {
        puts_.real(store, kind, key, value, whose, version, ttl_ms, done, data);
        return;
    }
    puts_.count++;
    if (!puts_.holding) {
        puts_.real(store, kind, key, value, whose, version, ttl_ms, done, data);
        return;
    }
    assert_null(puts_.done);
    memcpy(puts_.key, key.at, HANDLE_KEY_LEN);
    memcpy(puts_.value, value.at, value.len);
    puts_.value_len = value.len;
    puts_.version = version;
    puts_.ttl_ms = ttl_ms;
    puts_.done = done;
    puts_.data = data;
}

static void let_put(void)
{
    store_done *done = puts_.done;

    assert_non_null(done);
    puts_.done = NULL;
    puts_.real(world.store, STR("handle"), str_n(puts_.key, HANDLE_KEY_LEN),
               str_n(puts_.value, puts_.value_len), STR_NONE, puts_.version, puts_.ttl_ms, done,
               puts_.data);
}

static void lose_put(void)
{
    store_done *done = puts_.done;

    assert_non_null(done);
    puts_.done = NULL;
    done(puts_.data, NOD_E_STORE, &(struct store_reply){ 0 });
}

static void no_list(struct store *store, const struct store_list *list, store_row_fn *row,
                    store_done *done, void *data)
{
    (void)store, (void)list, (void)row;
    done(data, NOD_E_STORE, &(struct store_reply){ 0 });
}

static struct {
    void (*real)(struct store *, struct str, store_done *, void *);
    int fine;   /* so many loads are answered first */
    int failed; /* the others */
} loads;

static void no_load(struct store *store, struct str call_id, store_done *done, void *data)
{
    if (loads.fine-- > 0) {
        loads.real(store, call_id, done, data);
        return;
    }
    loads.failed++;
    done(data, NOD_E_STORE, &(struct store_reply){ 0 });
}

static void fail_loads_after(int fine)
{
    loads.real = world.ops.load_call;
    loads.fine = fine;
    loads.failed = 0;
    world.ops.load_call = no_load;
}

/* --- the tests --- */

static void add_inbox(void)
{
    inbox.surface.ops = &inbox_ops;
    assert_true(engine_add_surface(world.engine, &inbox.surface));
}

static int setup(void **state)
{
    (void)state;
    memset(&inbox, 0, sizeof(inbox));
    memset(&puts_, 0, sizeof(puts_));
    world_start(&world, &(struct world_opts){ .survives = true, .soft_ms = SOFT_MS });
    add_inbox();
    puts_.real = world.ops.put;
    world.ops.put = handle_put_held;
    return 0;
}

static int setup_memory(void **state)
{
    (void)state;
    memset(&inbox, 0, sizeof(inbox));
    memset(&puts_, 0, sizeof(puts_));
    world_start(&world, &(struct world_opts){ .soft_ms = SOFT_MS });
    add_inbox();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (world.loop)
        world_stop(&world);
    return 0;
}

static void await_result(struct talk *talk)
{
    talk_await(talk, "\"result\"");
    assert_true(talk_has(talk, "7"));
    assert_false(talk_has(talk, "waitForPerson"));
    talk_close(talk);
}

static void assert_not_told(struct talk *talk)
{
    char seen[4096];

    for (int i = 0; i < 20; i++)
        world_turn(&world);
    ssize_t len = recv(talk->fd, seen, sizeof(seen), MSG_DONTWAIT | MSG_PEEK);
    assert_true(len <= 0 || !memmem(seen, (size_t)len, "\"result\"", 8));
}

/* The same wish once more is asked again. */
static void another_call_asks(struct wire_client *client, const char *call)
{
    int before = inbox.count;
    struct talk talk;

    puts_.holding = false;
    client_post(client, &talk, call);
    WORLD_AWAIT(&world, inbox.count > before);
    answer_newest();
    await_result(&talk);
}

static void a_result_is_given_after_its_handle_says_so(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    puts_.holding = true;
    client_post(&client, &talk, CALL("1"));
    WORLD_AWAIT(&world, puts_.done); /* the soft deadline: the handle is on its way */
    answer_newest();
    assert_not_told(&talk);
    let_put(); /* it is there */
    WORLD_AWAIT(&world, puts_.done);
    assert_not_told(&talk);
    let_put(); /* and says that the result was handed out */
    await_result(&talk);
    another_call_asks(&client, CALL("2"));
}

/* It dies between the two: nothing was handed out, so whoever calls again gets the result. */
static void a_server_that_dies_before_that_has_handed_out_nothing(void **state)
{
    struct wire_client client = { 0 }, next = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    puts_.holding = true;
    client_post(&client, &talk, CALL("1"));
    WORLD_AWAIT(&world, puts_.done);
    answer_newest();
    let_put();
    WORLD_AWAIT(&world, puts_.done);
    lose_put();
    assert_not_told(&talk);
    talk_close(&talk);
    puts_.holding = false;
    world_restart(&world);
    add_inbox();
    client_begin(&next, &world, "2025-11-25", "{}");
    client_post(&next, &talk, CALL("1"));
    await_result(&talk);
    assert_int_equal(inbox.count, 1);
    another_call_asks(&next, CALL("2"));
}

/* The call has ended well: its client is told that, once the store can be told who has it. */
static void a_result_waits_until_the_store_is_back(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    puts_.holding = true;
    client_post(&client, &talk, CALL("1"));
    WORLD_AWAIT(&world, puts_.done);
    answer_newest();
    let_put();
    for (int i = 0; i < 2; i++) {
        WORLD_AWAIT(&world, puts_.done);
        lose_put();
        assert_not_told(&talk);
    }
    WORLD_AWAIT(&world, puts_.done);
    let_put();
    await_result(&talk);
    another_call_asks(&client, CALL("2"));
}

/* Its pending result was lost, and it was sent again: what it gets then was handed out as well. */
static void a_request_that_comes_back_is_handed_the_result(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-11-25", "{}");
    for (int i = 0; i < 2; i++) {
        int before = inbox.count;
        client_post(&client, &talk, i ? CALL("2") : CALL("1"));
        talk_await(&talk, "callId");
        talk_close(&talk);
        assert_int_equal(inbox.count, before + 1);
        if (!i) /* then it has ended when the request comes back; else it is waited for */
            answer_newest();
        world.server->opts.soft_ms = PATIENT_MS;
        client_post(&client, &talk, i ? CALL("2") : CALL("1"));
        for (int turn = 0; turn < 20; turn++)
            world_turn(&world);
        if (i)
            answer_newest();
        await_result(&talk);
        another_call_asks(&client, i ? CALL("4") : CALL("3"));
        world.server->opts.soft_ms = SOFT_MS;
    }
}

/* --- as many calls are live as may be --- */

/* From now on this node has no room for any call; or has it again. */
static size_t set_room(size_t calls)
{
    size_t before = world.engine->opts.limits.calls;

    world.engine->opts.limits.calls = calls;
    return before;
}

#define WAIT_2025                                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"               \
    "\"waitForPerson\",\"arguments\":{\"callId\":\"%s\"}}}"

/* Its client is told so once, and the question waits on. When there is room again, and long after
 * a result that was handed out would be forgotten, whoever comes gets the result. */
static void told_to_come_later(struct wire_client *client, const char *request, const char *again,
                               const char *told)
{
    struct talk talk;

    int written = puts_.count;
    size_t usual = set_room(0);
    client_post(client, &talk, request);
    talk_await(&talk, told);
    talk_close(&talk);
    assert_int_equal(puts_.count, written);
    set_room(usual);
    world_advance(&world, HANDLE_AGAIN_MS + 1000);
    world.server->opts.soft_ms = PATIENT_MS;
    int before = inbox.count;
    client_post(client, &talk, again);
    WORLD_AWAIT(&world, inbox.count > before);
    answer_newest();
    await_result(&talk);
}

/* A call that waits, and whose client was told so before the process died. */
static void left_waiting(struct wire_client *client, char *call, size_t room)
{
    struct talk talk;

    client_begin(client, &world, "2025-11-25", "{}");
    client_post(client, &talk, CALL("1"));
    talk_await(&talk, "\"callId\":\"");
    talk_cut(&talk, "\"callId\":\"", "\"", call, room);
    talk_close(&talk);
    world_restart(&world);
    add_inbox();
}

static void a_handle_without_room_is_told_to_come_later(void **state)
{
    char call[64], first[512], next[512];
    struct wire_client client = { 0 }, other = { 0 };

    (void)state;
    left_waiting(&client, call, sizeof(call));
    client_begin(&other, &world, "2025-11-25", "{}");
    snprintf(first, sizeof(first), WAIT_2025, 2, call);
    snprintf(next, sizeof(next), WAIT_2025, 3, call);
    told_to_come_later(&other, first, next, "LIMIT_REACHED");
}

static void a_request_that_comes_back_without_room_is_told_to_come_later(void **state)
{
    struct wire_client client = { 0 };
    char call[64];

    (void)state;
    left_waiting(&client, call, sizeof(call));
    told_to_come_later(&client, CALL("1"), CALL("1"), "HTTP/1.1 503");
}

/* --- a request that finds its call while the store is away --- */

/* A call that waits, whose client was told so. */
static void pended(struct wire_client *client, char *call, size_t room)
{
    struct talk talk;

    client_begin(client, &world, "2025-11-25", "{}");
    client_post(client, &talk, CALL("1"));
    talk_await(&talk, "\"callId\":\"");
    talk_cut(&talk, "\"callId\":\"", "\"", call, room);
    talk_close(&talk);
    world.server->opts.soft_ms = PATIENT_MS;
}

static bool is_waited_for(const char *call)
{
    const struct call *live = engine_find(world.engine, str_of(call));

    return live && call_waiting(live) && !caller_is_away(live);
}

static void waits_for(struct wire_client *client, struct talk *talk, const char *call)
{
    char request[512];

    snprintf(request, sizeof(request), WAIT_2025, 2, call);
    client_post(client, talk, request);
    WORLD_AWAIT(&world, is_waited_for(call));
}

static void the_end_of_a_call_that_was_found_waits_until_the_store_is_back(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char call[64];

    (void)state;
    pended(&client, call, sizeof(call));
    waits_for(&client, &talk, call);
    puts_.holding = true;
    answer_newest();
    for (int i = 0; i < 2; i++) {
        WORLD_AWAIT(&world, puts_.done); /* the result was handed out, it says */
        lose_put();
        assert_not_told(&talk);
    }
    WORLD_AWAIT(&world, puts_.done);
    fail_loads_after(0);
    let_put();
    WORLD_AWAIT(&world, loads.failed);
    assert_not_told(&talk);
    world.ops.load_call = loads.real;
    await_result(&talk);
}

/* Nothing was begun for it, so it may be sent again: it is not told an end. */
static void a_request_that_cannot_look_is_to_be_sent_again(void **state)
{
    struct wire_client client = { 0 };
    char call[64], request[512];
    struct talk talk;

    (void)state;
    pended(&client, call, sizeof(call));
    snprintf(request, sizeof(request), WAIT_2025, 2, call);
    for (int i = 0; i < 2; i++) {
        void (*list)(struct store *, const struct store_list *, store_row_fn *, store_done *,
                     void *) = world.ops.list;
        if (i)
            fail_loads_after(1); /* the first is of the request itself */
        else
            world.ops.list = no_list;
        client_post(&client, &talk, request);
        talk_await_end(&talk);
        assert_true(talk_has(&talk, "HTTP/1.1 503"));
        assert_true(talk_has(&talk, "Retry-After: "));
        assert_true(talk_has(&talk, "Nothing was begun or handed out"));
        assert_false(talk_has(&talk, "\"result\""));
        talk_close(&talk);
        world.ops.list = list;
        if (i)
            world.ops.load_call = loads.real;
    }
    client_post(&client, &talk, request);
    answer_newest();
    await_result(&talk);
}

/* It has an event id, and comes back with it until the store can be read. */
static void a_stream_that_was_found_ends_without_an_end_while_the_store_is_away(void **state)
{
    struct wire_client client = { 0 };
    char call[64], event[128];
    struct talk talk;

    (void)state;
    pended(&client, call, sizeof(call));
    waits_for(&client, &talk, call);
    talk_await(&talk, "id: ");
    talk_cut(&talk, "id: ", "\n", event, sizeof(event));
    talk_close(&talk);
    world_restart(&world);
    world.server->opts.soft_ms = PATIENT_MS;
    add_inbox();
    fail_loads_after(1); /* there is no call of the name of the stream */
    client_get(&client, &talk, event);
    talk_await_end(&talk);
    assert_int_equal(loads.failed, 1);
    assert_false(talk_has(&talk, "\"result\""));
    assert_false(talk_has(&talk, "\"error\""));
    talk_close(&talk);
    world.ops.load_call = loads.real;
    client_get(&client, &talk, event);
    WORLD_AWAIT(&world, inbox.count > 1);
    answer_newest();
    await_result(&talk);
}

/* --- a server that stops --- */

/* The call goes with the memory of the process: whoever waits for it is told that. */
static void whoever_waits_for_a_call_that_a_stop_ends_is_told_so(void **state)
{
    struct wire_client client = { 0 };
    struct talk talk;
    char call[64];

    (void)state;
    pended(&client, call, sizeof(call));
    waits_for(&client, &talk, call);
    world_drain(&world, PATIENCE_MS);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "\"isError\":true"));
    assert_true(talk_has(&talk, "the server is shutting down"));
    talk_close(&talk);
}

/* The call waits on in the store. A request in an array has no id to come back with, so it is told
 * where the call can be had. */
static void whoever_waits_for_a_call_that_outlives_a_stop_is_told_so(void **state)
{
    struct wire_client client = { 0 };
    char call[64], request[512], array[520];
    struct talk talk;

    (void)state;
    client_begin(&client, &world, "2025-03-26", "{}");
    client_post(&client, &talk, CALL("1"));
    talk_await(&talk, "Call the tool waitForPerson");
    talk_cut(&talk, "{\\\"callId\\\":\\\"", "\\", call, sizeof(call));
    talk_close(&talk);
    world.server->opts.soft_ms = PATIENT_MS;
    snprintf(request, sizeof(request), WAIT_2025, 2, call);
    snprintf(array, sizeof(array), "[%s]", request);
    client_post(&client, &talk, array);
    WORLD_AWAIT(&world, is_waited_for(call));
    engine_leave(world.engine);
    world_drain(&world, PATIENCE_MS);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "Call the tool waitForPerson"));
    assert_true(talk_has(&talk, call));
    talk_close(&talk);
}

/* `arguments` is JSON. */
static void post_2026(struct talk *talk, const char *tool, const char *arguments)
{
    char body[1024], bytes[2048];

    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
             "\"arguments\":%s,\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             tool, arguments);
    snprintf(bytes, sizeof(bytes),
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream"
             "\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n"
             "Mcp-Method: tools/call\r\nMcp-Name: %s\r\nContent-Length: %zu\r\n\r\n%s",
             tool, strlen(body), body);
    talk_raw(talk, &world, bytes);
}

static void a_handle_of_2026_without_room_is_told_to_come_later(void **state)
{
    char call[64], arguments[128];
    struct talk talk;

    (void)state;
    post_2026(&talk, "form", "{\"n\":1}");
    talk_await(&talk, "\"callId\":\"");
    talk_cut(&talk, "\"callId\":\"", "\"", call, sizeof(call));
    talk_close(&talk);
    world_restart(&world);
    add_inbox();
    snprintf(arguments, sizeof(arguments), "{\"callId\":\"%s\"}", call);
    int written = puts_.count;
    size_t usual = set_room(0);
    post_2026(&talk, "waitForPerson", arguments);
    talk_await(&talk, "LIMIT_REACHED");
    talk_close(&talk);
    assert_int_equal(puts_.count, written);
    set_room(usual);
    world_advance(&world, HANDLE_AGAIN_MS + 1000);
    world.server->opts.soft_ms = PATIENT_MS;
    int before = inbox.count;
    post_2026(&talk, "waitForPerson", arguments);
    WORLD_AWAIT(&world, inbox.count > before);
    answer_newest();
    await_result(&talk);
}

static void a_handle_of_2026_is_told_503_while_the_store_is_away(void **state)
{
    char call[64], arguments[128];
    struct talk talk;

    (void)state;
    post_2026(&talk, "form", "{\"n\":1}");
    talk_await(&talk, "\"callId\":\"");
    talk_cut(&talk, "\"callId\":\"", "\"", call, sizeof(call));
    talk_close(&talk);
    world.ops.list = no_list;
    snprintf(arguments, sizeof(arguments), "{\"callId\":\"%s\"}", call);
    post_2026(&talk, "waitForPerson", arguments);
    talk_await_end(&talk);
    assert_true(talk_has(&talk, "HTTP/1.1 503 "));
    assert_true(talk_has(&talk, "Nothing was handed out"));
    talk_close(&talk);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(soft)
{
    const struct CMUnitTest tests[] = {
        T(a_result_is_given_after_its_handle_says_so),
        T(a_server_that_dies_before_that_has_handed_out_nothing),
        T(a_result_waits_until_the_store_is_back),
        T(a_request_that_comes_back_is_handed_the_result),
        T(a_handle_without_room_is_told_to_come_later),
        T(a_request_that_comes_back_without_room_is_told_to_come_later),
        T(a_handle_of_2026_without_room_is_told_to_come_later),
        T(a_handle_of_2026_is_told_503_while_the_store_is_away),
        T(the_end_of_a_call_that_was_found_waits_until_the_store_is_back),
        T(a_request_that_cannot_look_is_to_be_sent_again),
        cmocka_unit_test_setup_teardown(whoever_waits_for_a_call_that_a_stop_ends_is_told_so,
                                        setup_memory, teardown),
        T(whoever_waits_for_a_call_that_outlives_a_stop_is_told_so),
        T(a_stream_that_was_found_ends_without_an_end_while_the_store_is_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
