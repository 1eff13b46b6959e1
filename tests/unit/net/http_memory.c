/*
 * tests/unit/net/http_memory: the server over an in-memory connection, where the test decides how
 * the bytes are cut and when the reader stops taking them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "net/http.h"
#include "net/stream.h"
#include "memory_stream.h"
#include "../runner.h"

enum { TURNS_MAX = 100000 };

struct fixture {
    struct loop *loop;
    struct http_server *server;
    struct http_limits limits;
    struct stream *client;
    struct buf got;
    bool ended;
    bool closed;
    struct http_exchange *held;
    int gone;
    int drains;
    int requests;
};

static void client_read(struct stream *stream, struct str bytes)
{
    buf_add(&((struct fixture *)stream->owner)->got, bytes);
}

static void client_end(struct stream *stream, int error)
{
    assert_int_equal(error, 0);
    ((struct fixture *)stream->owner)->ended = true;
}

static void client_closed(struct stream *stream)
{
    ((struct fixture *)stream->owner)->closed = true;
}

static const struct stream_events client_events = { client_read, client_end, NULL, client_closed };

static void on_gone(void *data)
{
    ((struct fixture *)data)->gone++;
}

static void on_drain(void *data)
{
    ((struct fixture *)data)->drains++;
}

static void on_request(struct http_exchange *exchange, const struct http_request *request,
                       void *data)
{
    struct fixture *f = data;

    f->requests++;
    if (str_eq(request->path, STR("/long")))
        usleep(2 * LOOP_SLICE_MS * 1000);
    if (!str_eq(request->path, STR("/hold"))) {
        http_reply(exchange, 200, NULL, 0, request->body);
        return;
    }
    http_on_gone(exchange, on_gone, f);
    http_on_drain(exchange, on_drain, f);
    f->held = exchange;
}

static void start(struct fixture *f, struct memory_stream_opts memory)
{
    struct http_opts opts = { .limits = f->limits, .on_request = on_request, .data = f };
    struct stream *served;

    f->server = http_create(f->loop, &opts);
    memory_stream_pair(f->loop, &memory, &f->client, &served);
    stream_own(f->client, &client_events, f);
    stream_read_start(f->client);
    http_attach(f->server, served, NULL);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->loop = loop_create();
    f->limits = http_limits_default;
    buf_init(&f->got, 16 << 20);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    if (!f->closed)
        stream_close(f->client);
    http_close(f->server);
    loop_destroy(f->loop);
    assert_true(f->closed);
    buf_finish(&f->got);
    free(f);
    return 0;
}

static void say(struct fixture *f, struct str bytes)
{
    stream_write(f->client, &bytes, 1);
}

#define AWAIT(f, condition)                                                                        \
    do {                                                                                           \
        int turns_ = 0;                                                                            \
        while (!(condition)) {                                                                     \
            assert_true(++turns_ < TURNS_MAX);                                                     \
            loop_turn((f)->loop, 0);                                                               \
        }                                                                                          \
    } while (0)

static bool has(const struct fixture *f, const char *text)
{
    return str_find(buf_str(&f->got), str_of(text)) >= 0;
}

#define POST(body) "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n" body

static void requests_cut_into_single_bytes_are_answered(void **state)
{
    struct fixture *f = *state;

    start(f, (struct memory_stream_opts){ .piece_max = 1 });
    say(f, STR(POST("first") POST("other")));
    say(f, STR("POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
               "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"));
    AWAIT(f, has(f, "\r\n\r\nabc"));
    assert_true(has(f, "\r\n\r\nfirst"));
    assert_true(has(f, "\r\n\r\nother"));
    assert_int_equal(f->requests, 3);
}

static void the_client_that_closes_is_gone(void **state)
{
    struct fixture *f = *state;

    start(f, (struct memory_stream_opts){ 0 });
    say(f, STR("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
    AWAIT(f, f->held);
    stream_close(f->client);
    AWAIT(f, f->gone);
    assert_int_equal(f->gone, 1);
}

static void a_refusal_ends_the_connection_behind_its_answer(void **state)
{
    struct fixture *f = *state;

    start(f, (struct memory_stream_opts){ .window_max = 7 });
    say(f, STR("nonsense\r\n\r\n"));
    AWAIT(f, f->ended);
    assert_true(str_starts(buf_str(&f->got), STR("HTTP/1.1 400 Bad Request\r\n")));
    assert_true(str_ends(buf_str(&f->got), STR("space\"}")));
    stream_close(f->client);
    AWAIT(f, f->closed);
}

/* The reader takes 100 bytes and then stops: the writer is told no, and told when to go on. */
static void writes_stop_when_the_reader_stops(void **state)
{
    struct fixture *f = *state;

    f->limits.queue_max = 1000;
    start(f, (struct memory_stream_opts){ .window_max = 100 });
    say(f, STR("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
    AWAIT(f, f->held);
    stream_read_stop(f->client);
    http_begin(f->held, 200, STR_NONE, NULL, 0);
    int written = 0;
    while (http_write(f->held, STR("0123456789")))
        assert_true(++written < 1000);
    assert_true(http_queued(f->held) > 0 && http_queued(f->held) <= 1000 + 5);
    for (int i = 0; i < 10; i++)
        loop_turn(f->loop, 0);
    assert_int_equal(f->drains, 0);
    stream_read_start(f->client);
    AWAIT(f, f->drains == 1);
    assert_int_equal(http_queued(f->held), 0);
    http_end(f->held);
    AWAIT(f, has(f, "0\r\n\r\n"));
}

/* Who does not take answers is not read from: its requests wait, and are answered in the end. */
static void requests_wait_while_too_much_is_unsent(void **state)
{
    struct fixture *f = *state;
    enum { COUNT = 200 };

    f->limits.queue_max = 500;
    start(f, (struct memory_stream_opts){ .window_max = 1000 });
    stream_read_stop(f->client);
    for (int i = 0; i < COUNT; i++)
        say(f, STR(POST("hello")));
    for (int i = 0; i < 1000; i++)
        loop_turn(f->loop, 0);
    assert_true(f->requests < COUNT / 2);
    stream_read_start(f->client);
    AWAIT(f, f->requests == COUNT);
    AWAIT(f, stream_queued(f->client) == 0);
}

/* Each takes longer than a slice: one is answered before I/O is served, one after it. */
static void requests_that_come_late_in_a_turn_wait_for_the_next(void **state)
{
    struct fixture *f = *state;
    enum { COUNT = 4 };

    start(f, (struct memory_stream_opts){ 0 });
    for (int i = 0; i < COUNT; i++)
        say(f, STR("GET /long HTTP/1.1\r\nHost: h\r\n\r\n"));
    for (int before = 0; f->requests < COUNT; before = f->requests) {
        AWAIT(f, f->requests > before);
        assert_true(f->requests <= before + 2);
    }
    say(f, STR(POST("hello")));
    AWAIT(f, has(f, "hello"));
}

static void on_drained(void *data)
{
    ((struct fixture *)data)->gone++;
}

/* What was answered in this very turn is out before the connection is closed, and nobody waits. */
static void a_drain_in_the_turn_of_an_answer_waits_for_nothing(void **state)
{
    struct fixture *f = *state;

    start(f, (struct memory_stream_opts){ 0 });
    say(f, STR("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
    AWAIT(f, f->held);
    http_reply(f->held, 200, NULL, 0, STR("good-bye"));
    assert_false(has(f, "good-bye"));
    http_drain(f->server, 3600 * 1000, on_drained, f);
    AWAIT(f, f->ended);
    assert_true(has(f, "good-bye"));
    stream_close(f->client);
    AWAIT(f, f->gone == 1);
}

/* More than is held for all connections is written without waiting for the end of the turn. */
static void what_is_held_back_is_bounded(void **state)
{
    static char text[8 * 1024];
    struct fixture *f = *state;
    size_t most = 0;

    start(f, (struct memory_stream_opts){ 0 });
    say(f, STR("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
    AWAIT(f, f->held);
    memset(text, 'x', sizeof(text));
    http_begin(f->held, 200, STR_NONE, NULL, 0);
    for (int i = 0; i < 100 && http_write(f->held, str_n(text, sizeof(text))); i++)
        most += sizeof(text);
    assert_true(most >= 512 * 1024);
    http_end(f->held);
    AWAIT(f, has(f, "\r\n0\r\n\r\n"));
    assert_true(f->got.len > most);
}

static void a_large_write_goes_through_an_empty_queue(void **state)
{
    struct fixture *f = *state;
    static char block[100000];

    f->limits.queue_max = 1000;
    start(f, (struct memory_stream_opts){ .window_max = 64 });
    say(f, STR("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
    AWAIT(f, f->held);
    http_begin(f->held, 200, STR_NONE, NULL, 0);
    AWAIT(f, http_queued(f->held) == 0);
    assert_true(http_write(f->held, str_n(block, sizeof(block))));
    assert_false(http_write(f->held, STR("x")));
    int before = f->drains;
    AWAIT(f, f->drains > before);
    http_end(f->held);
    AWAIT(f, has(f, "\r\n0\r\n\r\n"));
    assert_true(f->got.len > sizeof(block));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(http_memory)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_cut_into_single_bytes_are_answered),
        TEST(the_client_that_closes_is_gone),
        TEST(a_refusal_ends_the_connection_behind_its_answer),
        TEST(writes_stop_when_the_reader_stops),
        TEST(requests_wait_while_too_much_is_unsent),
        TEST(requests_that_come_late_in_a_turn_wait_for_the_next),
        TEST(a_drain_in_the_turn_of_an_answer_waits_for_nothing),
        TEST(what_is_held_back_is_bounded),
        TEST(a_large_write_goes_through_an_empty_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
