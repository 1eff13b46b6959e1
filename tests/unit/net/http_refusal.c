/*
 * tests/unit/net/http_refusal: limits, timeouts and refusals, over real sockets.
 */
#include "http_talk.h"
#include "../runner.h"

/* --- refusing --- */

static void what_is_refused_is_answered_and_the_connection_closed(void **state)
{
    struct fixture *f = *state;

    f->limits.body_max = 100;
    start(f);
    refused_with(f, STR("GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 400 ");
    refused_with(f, STR("G\1\r\n"), "HTTP/1.1 400 ");
    refused_with(f, STR("GET / HTTP/3.0\r\nHost: h\r\n\r\n"), "HTTP/1.1 505 ");
    refused_with(f, STR("GET / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n"), "HTTP/1.1 417 ");
    refused_with(f, STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n"),
                 "HTTP/1.1 413 ");
    refused_with(f, STR("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n"),
                 "HTTP/1.1 413 ");
    assert_int_equal(f->requests, 0);
}

static void a_refusal_comes_behind_the_answers_before_it(void **state)
{
    struct fixture *f = *state;

    start(f);
    struct buf got = whole_talk(f, STR(GET("/1") "bad\r\n" GET("/2")));
    assert_true(str_starts(buf_str(&got), STR("HTTP/1.1 200 OK")));
    assert_true(has(&got, "GET /1HTTP/1.1 400 ") || has(&got, "GET /1 HTTP/1.1 400 "));
    assert_false(has(&got, "GET /2"));
    buf_finish(&got);
}

/* The client is still sending when it is refused: it must be able to read why. */
static void a_refused_client_that_goes_on_sending_still_reads_the_answer(void **state)
{
    struct fixture *f = *state;
    struct buf got;
    char block[4096];

    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    memset(block, 'x', sizeof(block));
    send_text(f, fd, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999\r\n\r\n");
    for (int i = 0; i < 50; i++)
        send_bytes(f, fd, str_n(block, sizeof(block)));
    await_text(f, fd, &got, "HTTP/1.1 413 ", 1);
    await_close(f, fd, &got);
    buf_finish(&got);
    close(fd);
}

static void long_lines_and_headers_are_refused(void **state)
{
    struct fixture *f = *state;
    struct buf bytes;

    start(f);
    buf_init(&bytes, 1 << 20);
    buf_add(&bytes, STR("GET /"));
    for (size_t i = 0; i < f->limits.line_max; i++)
        buf_add_char(&bytes, 'x');
    refused_with(f, buf_str(&bytes), "HTTP/1.1 414 ");
    buf_clear(&bytes);
    buf_add(&bytes, STR("GET / HTTP/1.1\r\nHost: h\r\nA: "));
    for (size_t i = 0; i < f->limits.headers_max; i++)
        buf_add_char(&bytes, 'x');
    refused_with(f, buf_str(&bytes), "HTTP/1.1 431 ");
    buf_finish(&bytes);
}

static void connections_past_the_limit_get_503(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    f->limits.connections_max = 2;
    start(f);
    int one = dial(f);
    int two = dial(f);
    loop_turn(f->loop, TURN_MS);
    refused_with(f, STR(""), "HTTP/1.1 503 ");
    refused_with(f, STR(GET("/")), "HTTP/1.1 503 ");
    close(one);
    buf_init(&got, RECEIVED_MAX);
    for (int i = 0; i < 3; i++)
        loop_turn(f->loop, TURN_MS);
    int three = dial(f);
    send_text(f, three, GET("/there"));
    await_text(f, three, &got, "GET /there", 1);
    buf_finish(&got);
    close(two);
    close(three);
}

/* 60,000 bytes, all of them sent. */
static struct str large_post(void)
{
    static char text[61000];
    int head =
        snprintf(text, sizeof(text), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\n");

    memset(text + head, 'x', 60000);
    return str_n(text, (size_t)head + 60000);
}

static void requests_past_the_memory_limit_get_503(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    f->limits.memory_max = 100 * 1000;
    start(f);
    int fd = dial(f);
    send_text(f, fd, "POST /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\n");
    for (int i = 0; i < 6000; i++)
        send_text(f, fd, "0123456789");
    AWAIT(f, f->held_count == 1);
    refused_with(f, large_post(), "HTTP/1.1 503 ");
    http_release(f->held[0]); /* what was held is room again */
    int other = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, other, "POST /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\n");
    for (int i = 0; i < 6000; i++)
        send_text(f, other, "0123456789");
    AWAIT(f, f->held_count == 2);
    buf_finish(&got);
    close(fd);
    close(other);
}

/* Who says that much is to come has not sent it yet. */
static void line18_a_promised_body_holds_no_memory(void **state)
{
    struct fixture *f = *state;
    struct buf got;
    int fds[20];

    f->limits.memory_max = 200 * 1000;
    start(f);
    for (size_t i = 0; i < 20; i++) {
        fds[i] = dial(f);
        send_text(f, fds[i], "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\nx");
    }
    for (int i = 0; i < 10; i++)
        loop_turn(f->loop, TURN_MS);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_bytes(f, fd, large_post());
    await_text(f, fd, &got, "\r\n\r\n", 1);
    assert_true(str_starts(buf_str(&got), STR("HTTP/1.1 200 ")));
    buf_finish(&got);
    close(fd);
    for (size_t i = 0; i < 20; i++)
        close(fds[i]);
}

/* --- times --- */

static void a_head_that_takes_too_long_gets_408(void **state)
{
    struct fixture *f = *state;

    f->limits.header_ms = 30;
    start(f);
    refused_with(f, STR("GET / HTTP/1.1\r\nHo"), "HTTP/1.1 408 ");
}

static void a_head_that_trickles_gets_408_all_the_same(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    f->limits.header_ms = 60;
    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, "GET / HTTP/1.1\r\nA: ");
    while (!has(&got, "HTTP/1.1 408 ")) {
        send(fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL); /* progress, but no end */
        loop_turn(f->loop, TURN_MS);
        receive(fd, &got);
    }
    await_close(f, fd, &got);
    buf_finish(&got);
    close(fd);
}

static void nap_ms(int ms)
{
    nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

static void a_body_without_progress_gets_408(void **state)
{
    struct fixture *f = *state;

    f->limits.body_ms = 30;
    start(f);
    refused_with(f, STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab"),
                 "HTTP/1.1 408 ");
}

/* Each piece is there before the server looks, so it does not matter how long the machine leaves
 * the two alone. */
static void a_body_with_progress_takes_as_long_as_it_takes(void **state)
{
    enum { PIECES = 12, PIECE = 1000, LIMIT_MS = 50 };
    struct fixture *f = *state;
    struct buf got;
    char piece[PIECE];

    f->limits.header_ms = f->limits.body_ms = LIMIT_MS;
    f->limits.body_rate = 1; /* a piece is worth a quarter of an hour */
    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    memset(piece, 'x', sizeof(piece));
    send_text(f, fd, "POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 12000\r\n\r\n");
    for (int i = 0; i < PIECES; i++) {
        send_bytes(f, fd, str_n(piece, sizeof(piece)));
        nap_ms(LIMIT_MS / 2);
        loop_turn(f->loop, 0);
    }
    await_text(f, fd, &got, "POST /slow xxxxxxxxxxxx", 1);
    buf_finish(&got);
    close(fd);
}

/* A server that the machine stopped for a while does not blame its client. */
static void what_came_before_a_deadline_is_read_before_it_takes_effect(void **state)
{
    enum { LIMIT_MS = 20 };
    static const char *const pieces[] = {
        "POST /late HT",
        "TP/1.1\r\nHost: h\r\nContent-Length: 33\r\n\r\n",
        "here since ",
        "the server last looked",
    };
    struct fixture *f = *state;
    struct buf got;

    f->limits.header_ms = f->limits.body_ms = LIMIT_MS;
    f->limits.body_rate = 0;
    start(f);
    int fd = dial(f);
    loop_turn(f->loop, 0); /* accepted */
    buf_init(&got, RECEIVED_MAX);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        send_text(f, fd, pieces[i]);
        nap_ms(LIMIT_MS * 2);
        loop_turn(f->loop, 0);
    }
    await_text(f, fd, &got, "POST /late here since the server last looked", 1);
    buf_finish(&got);
    close(fd);
}

static void line18_a_body_that_drips_gets_408_in_the_end(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    f->limits.body_ms = 200;
    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
    int64_t until = now_ms() + PATIENCE_MS, next = 0;
    while (!has(&got, "HTTP/1.1 408 ")) {
        assert_true(now_ms() < until);
        if (now_ms() >= next && send(fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
            next = now_ms() + 20; /* progress, but far too slow */
        loop_turn(f->loop, TURN_MS);
        receive(fd, &got);
    }
    await_close(f, fd, &got);
    buf_finish(&got);
    close(fd);
}

static void an_idle_connection_is_closed_without_a_word(void **state)
{
    struct fixture *f = *state;

    f->limits.idle_ms = 30;
    start(f);
    struct buf got = whole_talk(f, STR(""));
    assert_int_equal(got.len, 0);
    got = whole_talk(f, STR(GET("/once")));
    assert_true(has(&got, "GET /once"));
    assert_false(has(&got, "408"));
    buf_finish(&got);
}

static void a_held_exchange_has_no_deadline(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    f->limits.idle_ms = f->limits.header_ms = f->limits.body_ms = f->limits.write_ms = 20;
    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, GET("/hold"));
    AWAIT(f, f->held_count == 1);
    for (int64_t until = now_ms() + 150; now_ms() < until;)
        loop_turn(f->loop, TURN_MS);
    assert_int_equal(f->gone, 0);
    http_reply(f->held[0], 200, NULL, 0, STR("patience"));
    await_text(f, fd, &got, "patience", 1);
    buf_finish(&got);
    close(fd);
}

static void a_reader_that_takes_nothing_is_closed_and_the_exchange_told(void **state)
{
    struct fixture *f = *state;
    static char block[256 * 1024];

    f->limits.write_ms = 50;
    start(f);
    int fd = dial(f);
    send_text(f, fd, GET("/hold"));
    AWAIT(f, f->held_count == 1);
    http_begin(f->held[0], 200, STR_NONE, NULL, 0);
    while (http_write(f->held[0], str_n(block, sizeof(block))))
        ;
    AWAIT(f, f->gone == 1);
    close(fd);
}

/* Pieces that are held until the end of the turn, and written early to find out who reads. */
static void a_reader_that_takes_none_of_many_small_pieces_is_closed_too(void **state)
{
    static const size_t sizes[] = { 1000, 8000, 15000 };
    struct fixture *f = *state;
    static char block[15000];

    f->limits.write_ms = 50;
    start(f);
    for (size_t i = 0; i < 3; i++) {
        int fd = dial(f);
        send_text(f, fd, GET("/hold"));
        AWAIT(f, f->held_count == (int)i + 1);
        http_begin(f->held[i], 200, STR_NONE, NULL, 0);
        while (http_write(f->held[i], str_n(block, sizes[i])))
            ;
        AWAIT(f, f->gone == (int)i + 1);
        close(fd);
    }
}

static struct http_exchange *refilled;
static int refills;

static void refill(void *data)
{
    static char block[8000];

    (void)data;
    refills++;
    while (http_write(refilled, str_n(block, sizeof(block))))
        ;
}

static void a_reader_that_stops_later_is_closed_too(void **state)
{
    struct fixture *f = *state;
    char some[65536];

    refills = 0;
    f->limits.write_ms = 300;
    start(f);
    int fd = dial(f);
    send_text(f, fd, GET("/hold"));
    AWAIT(f, f->held_count == 1);
    refilled = f->held[0];
    http_on_drain(refilled, refill, NULL);
    http_begin(refilled, 200, STR_NONE, NULL, 0);
    refill(NULL);
    int64_t until = now_ms() + PATIENCE_MS;
    while (refills < 2 && now_ms() < until) {
        if (recv(fd, some, sizeof(some), MSG_DONTWAIT) < 0)
            loop_turn(f->loop, 1);
    }
    assert_true(refills >= 2);
    AWAIT(f, f->gone == 1);
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(http_refusal)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_refused_is_answered_and_the_connection_closed),
        TEST(a_refusal_comes_behind_the_answers_before_it),
        TEST(a_refused_client_that_goes_on_sending_still_reads_the_answer),
        TEST(long_lines_and_headers_are_refused),
        TEST(connections_past_the_limit_get_503),
        TEST(requests_past_the_memory_limit_get_503),
        TEST(line18_a_promised_body_holds_no_memory),
        TEST(line18_a_body_that_drips_gets_408_in_the_end),
        TEST(a_head_that_takes_too_long_gets_408),
        TEST(a_head_that_trickles_gets_408_all_the_same),
        TEST(a_body_without_progress_gets_408),
        TEST(a_body_with_progress_takes_as_long_as_it_takes),
        TEST(what_came_before_a_deadline_is_read_before_it_takes_effect),
        TEST(an_idle_connection_is_closed_without_a_word),
        TEST(a_held_exchange_has_no_deadline),
        TEST(a_reader_that_takes_nothing_is_closed_and_the_exchange_told),
        TEST(a_reader_that_takes_none_of_many_small_pieces_is_closed_too),
        TEST(a_reader_that_stops_later_is_closed_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
