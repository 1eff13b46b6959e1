/* tests/unit/net/sse: what events look like on the wire, and what cannot be put into one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/buf.h"
#include "net/sse.h"
#include "net/stream.h"
#include "memory_stream.h"
#include "../runner.h"

struct fixture {
    struct loop *loop;
    struct http_server *server;
    struct stream *client;
    struct http_exchange *exchange;
    struct buf got;
};

static void client_read(struct stream *stream, struct str bytes)
{
    buf_add(&((struct fixture *)stream->owner)->got, bytes);
}

static void client_end(struct stream *stream, int error)
{
    (void)stream;
    (void)error;
}

static void client_closed(struct stream *stream)
{
    (void)stream;
}

static const struct stream_events client_events = { client_read, client_end, NULL, client_closed };

static void on_request(struct http_exchange *exchange, const struct http_request *request,
                       void *data)
{
    (void)request;
    ((struct fixture *)data)->exchange = exchange;
}

/* An event stream that has begun, in HTTP/1.0 so that no chunk sizes are mixed in. */
static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct http_opts opts = { .limits = http_limits_default, .on_request = on_request, .data = f };
    struct memory_stream_opts memory = { .window_max = 4096 };
    struct stream *served;
    struct str request = STR("GET / HTTP/1.0\r\n\r\n");

    opts.limits.queue_max = 1000;
    f->loop = loop_create();
    buf_init(&f->got, 1 << 20);
    f->server = http_create(f->loop, &opts);
    memory_stream_pair(f->loop, &memory, &f->client, &served);
    stream_own(f->client, &client_events, f);
    http_attach(f->server, served, NULL);
    stream_write(f->client, &request, 1);
    for (int i = 0; i < 100 && !f->exchange; i++)
        loop_turn(f->loop, 0);
    assert_non_null(f->exchange);
    stream_read_start(f->client);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    stream_close(f->client);
    http_close(f->server);
    loop_destroy(f->loop);
    buf_finish(&f->got);
    free(f);
    return 0;
}

static struct str received(struct fixture *f)
{
    for (int i = 0; i < 20; i++)
        loop_turn(f->loop, 0);
    ptrdiff_t head = str_find(buf_str(&f->got), STR("\r\n\r\n"));
    assert_true(head > 0);
    return str_skip(buf_str(&f->got), (size_t)head + 4);
}

static void assert_received(struct fixture *f, const char *wanted)
{
    struct str got = received(f);

    if (!str_eq(got, str_of(wanted)))
        print_error("got %.*s\n", STR_ARG(got));
    assert_true(str_eq(got, str_of(wanted)));
}

static void a_stream_says_what_it_is_and_carries_the_callers_headers(void **state)
{
    struct fixture *f = *state;
    const struct http_header extra = { STR("Mcp-Session-Id"), STR("abc") };

    sse_begin(f->exchange, &extra, 1);
    assert_received(f, "");
    struct str head = buf_str(&f->got);
    assert_true(str_find(head, STR("Content-Type: text/event-stream\r\n")) > 0);
    assert_true(str_find(head, STR("Cache-Control: no-cache, no-transform\r\n")) > 0);
    assert_true(str_find(head, STR("X-Accel-Buffering: no\r\n")) > 0);
    assert_true(str_find(head, STR("Mcp-Session-Id: abc\r\n")) > 0);
}

static void an_event_has_its_fields_in_order(void **state)
{
    struct fixture *f = *state;

    sse_begin(f->exchange, NULL, 0);
    assert_true(sse_send(f->exchange, &(struct sse_event){ .id = STR("7"),
                                                           .event = STR("ask"),
                                                           .data = STR("{}"),
                                                           .retry_ms = 1500 }));
    assert_true(sse_send(f->exchange, &(struct sse_event){ .data = STR("plain") }));
    assert_true(sse_send(f->exchange, &(struct sse_event){ .id = STR("8") }));
    assert_received(f, "id: 7\nevent: ask\nretry: 1500\ndata: {}\n\n"
                       "data: plain\n\n"
                       "id: 8\ndata: \n\n");
}

static void every_line_end_in_the_data_begins_a_data_line(void **state)
{
    struct fixture *f = *state;

    sse_begin(f->exchange, NULL, 0);
    assert_true(
        sse_send(f->exchange, &(struct sse_event){ .data = STR("a\nid: forged\r\nb\rc\n\nd\n") }));
    assert_received(f, "data: a\ndata: id: forged\ndata: b\ndata: c\ndata: \ndata: d\ndata: \n\n");
}

static void an_id_or_a_name_with_a_line_end_is_refused(void **state)
{
    struct fixture *f = *state;
    struct str bad[] = { STR("a\nb"), STR("a\rb"), STR("a\0b"), STR("\n") };

    sse_begin(f->exchange, NULL, 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(sse_send(f->exchange, &(struct sse_event){ .id = bad[i] }));
        assert_false(sse_send(f->exchange, &(struct sse_event){ .event = bad[i] }));
    }
    assert_received(f, "");
}

static void a_comment_cannot_become_an_event(void **state)
{
    struct fixture *f = *state;

    sse_begin(f->exchange, NULL, 0);
    assert_true(sse_comment(f->exchange, STR("alive")));
    assert_true(sse_comment(f->exchange, STR("x\ndata: forged\n\ny")));
    assert_received(f, ": alive\n\n: x\n: data: forged\n: \n: y\n\n");
}

static void an_event_that_does_not_fit_is_refused_whole(void **state)
{
    struct fixture *f = *state;
    static char text[900];

    memset(text, 'e', sizeof(text));
    stream_read_stop(f->client);
    sse_begin(f->exchange, NULL, 0);
    size_t sent = 0;
    while (sse_send(f->exchange, &(struct sse_event){ .data = str_n(text, sizeof(text)) }))
        assert_true(++sent < 100);
    assert_false(sse_send(f->exchange, &(struct sse_event){ .data = str_n(text, sizeof(text)) }));
    stream_read_start(f->client);
    assert_int_equal(received(f).len, sent * (sizeof(text) + strlen("data: \n\n")));
    assert_true(sse_comment(f->exchange, STR("room again")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(sse)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stream_says_what_it_is_and_carries_the_callers_headers),
        TEST(an_event_has_its_fields_in_order),
        TEST(every_line_end_in_the_data_begins_a_data_line),
        TEST(an_id_or_a_name_with_a_line_end_is_refused),
        TEST(a_comment_cannot_become_an_event),
        TEST(an_event_that_does_not_fit_is_refused_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
