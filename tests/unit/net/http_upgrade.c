/*
 * tests/unit/net/http_upgrade: an exchange that is taken over as a stream, over an in-memory
 * connection: every byte once, in order; what the server still counts; and every way it may end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <uv.h>

#include "base/buf.h"
#include "net/http.h"
#include "net/stream.h"
#include "memory_stream.h"
#include "../runner.h"

enum { TURNS_MAX = 100000, AHEAD = 100 * 1000, MANY = 1 << 20, SOON_MS = 20 };

struct fixture {
    struct loop *loop;
    struct http_server *server;
    struct http_limits limits;
    /* the far end */
    struct stream *client;
    struct buf got;
    bool ended, closed;
    /* whoever has taken the connection over */
    struct stream *taken;
    struct buf heard;
    struct http_exchange *held;
    bool mute;  /* it does not read until it is told to */
    bool stays; /* it does not close its stream when that ends */
    int ends, error, taken_closed, drains;
    bool drained;
};

static void client_read(struct stream *stream, struct str bytes)
{
    buf_add(&((struct fixture *)stream->owner)->got, bytes);
}

static void client_end(struct stream *stream, int error)
{
    (void)error;
    ((struct fixture *)stream->owner)->ended = true;
}

static void client_closed(struct stream *stream)
{
    ((struct fixture *)stream->owner)->closed = true;
}

static const struct stream_events client_events = { client_read, client_end, NULL, client_closed };

/* --- the other protocol: it says everything back --- */

static void echo_read(struct stream *stream, struct str bytes)
{
    struct fixture *f = stream->owner;

    assert_int_equal(f->taken_closed, 0);
    buf_add(&f->heard, bytes);
    stream_write(stream, &bytes, 1);
}

static void echo_end(struct stream *stream, int error)
{
    struct fixture *f = stream->owner;

    assert_int_equal(f->taken_closed, 0);
    f->ends++;
    f->error = error;
    if (!f->stays)
        stream_close(stream);
}

static void echo_drain(struct stream *stream)
{
    ((struct fixture *)stream->owner)->drains++;
}

static void echo_closed(struct stream *stream)
{
    struct fixture *f = stream->owner;

    f->taken_closed++;
    f->taken = NULL;
}

static const struct stream_events echo_events = { echo_read, echo_end, echo_drain, echo_closed };

static void take_over(struct fixture *f, struct http_exchange *exchange)
{
    const struct http_header header = { STR("X-Toy"), STR("yes") };

    f->held = NULL;
    f->taken = http_upgrade(exchange, STR("echo"), &header, 1);
    stream_own(f->taken, &echo_events, f);
    if (!f->mute)
        stream_read_start(f->taken);
}

static void on_request(struct http_exchange *exchange, const struct http_request *request,
                       void *data)
{
    struct fixture *f = data;

    if (str_eq(request->path, STR("/take")))
        take_over(f, exchange);
    else if (str_eq(request->path, STR("/hold")))
        f->held = exchange;
    else
        http_reply(exchange, 200, NULL, 0, STR("plain"));
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
    buf_init(&f->heard, 16 << 20);
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
    assert_null(f->taken); /* whatever happened, its owner was told the end */
    buf_finish(&f->got);
    buf_finish(&f->heard);
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

#define ASK(path) "GET " path " HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

/* What the client was sent behind the answer 101; nothing if that is not there. */
static struct str behind(const struct fixture *f)
{
    struct str got = buf_str(&f->got);
    ptrdiff_t from = str_find(got, STR("HTTP/1.1 101 Switching Protocols\r\n"));
    struct str answer = from < 0 ? STR_NONE : str_skip(got, (size_t)from);
    ptrdiff_t end = str_find(answer, STR("\r\n\r\n"));

    return end < 0 ? STR_NONE : str_skip(answer, (size_t)end + 4);
}

static struct http_figures figures(const struct fixture *f)
{
    struct http_figures all;

    http_figures(f->server, &all);
    return all;
}

static void an_exchange_becomes_a_stream(void **state)
{
    struct fixture *f = *state;

    start(f, (struct memory_stream_opts){ .piece_max = 1 });
    say(f, STR(ASK("/take")));
    AWAIT(f, str_find(buf_str(&f->got), STR("\r\n\r\n")) >= 0);
    assert_true(str_find(buf_str(&f->got), STR("\r\nConnection: Upgrade\r\n")) > 0);
    assert_true(str_find(buf_str(&f->got), STR("\r\nUpgrade: echo\r\n")) > 0);
    assert_true(str_find(buf_str(&f->got), STR("\r\nX-Toy: yes\r\n")) > 0);
    assert_true(str_find(buf_str(&f->got), STR("Content-Length")) < 0);
    say(f, STR("hello GET / HTTP/1.1\r\n\r\n")); /* not HTTP any more */
    AWAIT(f, str_eq(behind(f), STR("hello GET / HTTP/1.1\r\n\r\n")));
    assert_int_equal(figures(f).connections, 1);
    assert_int_equal(figures(f).upgraded, 1);
    stream_shutdown(f->client);
    AWAIT(f, f->taken_closed && f->ended);
    assert_int_equal(f->ends, 1);
    assert_int_equal(f->error, 0);
    AWAIT(f, figures(f).connections == 0);
    assert_int_equal(figures(f).upgraded + figures(f).memory, 0);
}

/* At once, after a while, and behind another request; cut in every way. */
static void bytes_behind_the_request_are_handed_over_exactly(void **state)
{
    struct fixture *f = *state;
    static const size_t pieces[] = { 0, 1, 7, 4096 };
    static const char *const paths[] = { ASK("/take"), ASK("/hold"),
                                         "GET / HTTP/1.1\r\nHost: h\r\n\r\n" ASK("/take"),
                                         "GET / HTTP/1.1\r\nHost: h\r\n\r\n" ASK("/hold") };
    char *many = malloc(AHEAD);

    for (size_t i = 0; i < AHEAD; i++)
        many[i] = (char)(i * 31 % 251);
    for (size_t i = 0; i < 16; i++) {
        if (i) {
            teardown(state);
            setup(state);
            f = *state;
        }
        start(f, (struct memory_stream_opts){ .piece_max = pieces[i / 4] });
        struct str parts[] = { str_of(paths[i % 4]), str_n(many, AHEAD) };
        stream_write(f->client, parts, 2);
        AWAIT(f, f->taken || f->held);
        for (int turn = 0; turn < 50 && f->held; turn++) /* more may come ahead */
            loop_turn(f->loop, 0);
        if (f->held) {
            assert_true(figures(f).memory < AHEAD); /* reading has stopped */
            take_over(f, f->held);
        }
        AWAIT(f, behind(f).len >= AHEAD);
        assert_true(str_eq(behind(f), str_n(many, AHEAD)));
        assert_true(str_eq(buf_str(&f->heard), str_n(many, AHEAD)));
        assert_int_equal(figures(f).memory, 0);
    }
    free(many);
}

static void nothing_is_read_before_its_owner_wants_to(void **state)
{
    struct fixture *f = *state;

    f->mute = true;
    start(f, (struct memory_stream_opts){ 0 });
    say(f, STR(ASK("/take") "early"));
    AWAIT(f, f->taken);
    say(f, STR(" late"));
    for (int i = 0; i < 20; i++)
        loop_turn(f->loop, 0);
    assert_int_equal(f->heard.len, 0);
    assert_true(figures(f).memory > 0); /* what is kept counts */
    stream_read_start(f->taken);
    AWAIT(f, f->heard.len == sizeof("early late") - 1);
    assert_true(str_eq(buf_str(&f->heard), STR("early late")));
    stream_read_stop(f->taken);
    say(f, STR("!"));
    for (int i = 0; i < 20; i++)
        loop_turn(f->loop, 0);
    assert_int_equal(f->heard.len, sizeof("early late") - 1);
}

static void its_owner_may_close_it_at_any_time(void **state)
{
    struct fixture *f = *state;

    for (int when = 0; when < 3; when++) { /* at once, with bytes kept, and when all is quiet */
        if (when) {
            teardown(state);
            setup(state);
            f = *state;
        }
        f->mute = when == 1;
        start(f, (struct memory_stream_opts){ 0 });
        say(f, STR(ASK("/take") "early"));
        AWAIT(f, f->taken);
        for (int i = 0; i < 20 && when; i++)
            loop_turn(f->loop, 0);
        stream_close(f->taken);
        assert_int_equal(f->taken_closed, 0); /* not before stream_close returns */
        AWAIT(f, f->taken_closed && f->ended);
        assert_int_equal(f->ends, 0);
        assert_int_equal(f->taken_closed, 1);
        AWAIT(f, figures(f).connections == 0);
    }
}

static void closing_the_server_ends_it(void **state)
{
    struct fixture *f = *state;

    for (int stays = 0; stays < 2; stays++) {
        if (stays) {
            teardown(state);
            setup(state);
            f = *state;
        }
        f->stays = stays;
        start(f, (struct memory_stream_opts){ 0 });
        say(f, STR(ASK("/take")));
        AWAIT(f, behind(f).at && f->taken);
        http_close(f->server);
        f->server = NULL;
        assert_int_equal(f->ends, 1);
        assert_int_equal(f->error, UV_ECANCELED);
        AWAIT(f, f->ended);
        if (stays) { /* the server is gone, and its stream can still be used, in vain */
            struct str words = STR("words");
            assert_int_equal(f->taken_closed, 0);
            stream_write(f->taken, &words, 1);
            stream_read_start(f->taken);
            stream_shutdown(f->taken);
            assert_int_equal(stream_queued(f->taken), 0);
            stream_close(f->taken);
            assert_int_equal(f->taken_closed, 0);
        }
        AWAIT(f, f->taken_closed);
        assert_int_equal(f->ends, 1);
    }
}

static void on_drained(void *data)
{
    ((struct fixture *)data)->drained = true;
}

static void a_drain_does_not_wait_for_it(void **state)
{
    struct fixture *f = *state;

    start(f, (struct memory_stream_opts){ 0 });
    say(f, STR(ASK("/take")));
    AWAIT(f, f->taken);
    http_drain(f->server, 1 << 30, on_drained, f);
    AWAIT(f, f->drained);
    say(f, STR("still there"));
    AWAIT(f, str_eq(behind(f), STR("still there")));
    assert_int_equal(f->ends, 0);
}

static void a_reader_that_takes_nothing_is_cut_off_and_counted_until_then(void **state)
{
    struct fixture *f = *state;
    char *many = calloc(1, MANY);
    struct str words = str_n(many, MANY);

    f->limits.write_ms = SOON_MS;
    start(f, (struct memory_stream_opts){ .window_max = 1024 });
    say(f, STR(ASK("/take")));
    AWAIT(f, behind(f).at && f->taken);
    stream_read_stop(f->client);
    stream_write(f->taken, &words, 1);
    assert_true(stream_queued(f->taken) > MANY / 2);
    assert_true(figures(f).memory >= stream_queued(f->taken));
    while (!f->taken_closed)
        loop_turn(f->loop, SOON_MS);
    assert_int_equal(f->ends, 1);
    assert_int_equal(f->error, UV_ECANCELED);
    AWAIT(f, figures(f).connections == 0);
    assert_int_equal(figures(f).memory, 0);
    free(many);
}

static void a_slow_reader_is_told_everything_and_its_owner_when_that_is_done(void **state)
{
    struct fixture *f = *state;
    char *many = calloc(1, MANY);
    struct str words = str_n(many, MANY);

    start(f, (struct memory_stream_opts){ .piece_max = 4096, .window_max = 8192 });
    say(f, STR(ASK("/take")));
    AWAIT(f, behind(f).at && f->taken);
    stream_write(f->taken, &words, 1);
    AWAIT(f, behind(f).len == MANY && f->drains);
    assert_int_equal(stream_queued(f->taken), 0);
    AWAIT(f, figures(f).memory == 0);
    free(many);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(http_upgrade)
{
    const struct CMUnitTest tests[] = {
        TEST(an_exchange_becomes_a_stream),
        TEST(bytes_behind_the_request_are_handed_over_exactly),
        TEST(nothing_is_read_before_its_owner_wants_to),
        TEST(its_owner_may_close_it_at_any_time),
        TEST(closing_the_server_ends_it),
        TEST(a_drain_does_not_wait_for_it),
        TEST(a_reader_that_takes_nothing_is_cut_off_and_counted_until_then),
        TEST(a_slow_reader_is_told_everything_and_its_owner_when_that_is_done),
    };

    return cmocka_run_group_tests_name("http-upgrade", tests, NULL, NULL);
}
