/* tests/unit/net/http_server: requests, streams, gone clients, draining, many connections; over
 * real sockets. */
#include "http_talk.h"
#include "../runner.h"

/* --- requests and responses --- */

static void a_connection_serves_many_requests(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    start(f);
    int fd = dial(f);
    for (int i = 0; i < 20; i++) {
        buf_init(&got, RECEIVED_MAX);
        send_text(f, fd, "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
        await_text(f, fd, &got, "POST /p abc", 1);
        assert_true(str_starts(buf_str(&got), STR("HTTP/1.1 200 OK\r\nDate: ")));
        assert_true(has(&got, "\r\nContent-Length: 11\r\n"));
        assert_false(has(&got, "Connection:"));
        buf_finish(&got);
    }
    assert_int_equal(f->requests, 20);
    close(fd);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, GET("/1") GET("/hold") GET("/2") GET("/hold") GET("/3"));
    AWAIT(f, f->held_count == 1);
    for (int i = 0; i < 3; i++)
        loop_turn(f->loop, 1);
    assert_int_equal(f->requests, 2); /* the next one waits for its turn */
    http_reply(f->held[0], 200, NULL, 0, STR("first held"));
    assert_int_equal(f->requests, 2); /* and is not handed over from inside the reply */
    AWAIT(f, f->held_count == 2);
    http_reply(f->held[1], 200, NULL, 0, STR("second held"));
    await_text(f, fd, &got, "GET /3", 1);
    struct str rest = buf_str(&got);
    const char *order[] = { "GET /1", "first held", "GET /2", "second held", "GET /3" };
    for (size_t i = 0; i < 5; i++) {
        ptrdiff_t at = str_find(rest, str_of(order[i]));
        assert_true(at >= 0);
        rest = str_skip(rest, (size_t)at);
    }
    buf_finish(&got);
    close(fd);
}

/* Heads are built one after the other in the same memory, and nothing of one is in the next. */
static void every_response_has_its_own_status_and_lines(void **state)
{
    static const struct {
        int status;
        struct str lines;
        const char *expected; /* behind the Date */
    } replies[] = {
        { 200, STR_INIT("A: 1\r\n"), "GMT\r\nA: 1\r\nContent-Length: 4\r\n\r\nheld" },
        { 200, STR_INIT("A: 1\r\n"), "GMT\r\nA: 1\r\nContent-Length: 4\r\n\r\nheld" },
        { 404, STR_INIT("A: 1\r\n"), "GMT\r\nA: 1\r\nContent-Length: 4\r\n\r\nheld" },
        { 200, STR_INIT("A: 1\r\n"), "GMT\r\nA: 1\r\nContent-Length: 4\r\n\r\nheld" },
        { 200, STR_INIT("B: 2\r\n"), "GMT\r\nB: 2\r\nContent-Length: 4\r\n\r\nheld" },
        { 200, { NULL, 0 }, "GMT\r\nContent-Length: 4\r\n\r\nheld" },
        { 200, { NULL, 0 }, "GMT\r\nContent-Length: 4\r\n\r\nheld" },
        { 200, STR_INIT("A: 1\r\n"), "GMT\r\nA: 1\r\nContent-Length: 4\r\n\r\nheld" },
    };
    struct fixture *f = *state;

    start(f);
    int fd = dial(f);
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        struct buf got;

        buf_init(&got, RECEIVED_MAX);
        send_text(f, fd, GET("/hold"));
        AWAIT(f, f->held_count == (int)i + 1);
        http_reply_lines(f->held[i], replies[i].status, replies[i].lines, STR("held"));
        await_text(f, fd, &got, "held", 1);
        assert_true(str_starts(buf_str(&got), replies[i].status == 200
                                                  ? STR("HTTP/1.1 200 OK\r\nDate: ")
                                                  : STR("HTTP/1.1 404 Not Found\r\nDate: ")));
        assert_true(str_ends(buf_str(&got), str_of(replies[i].expected)));
        buf_finish(&got);
    }
    close(fd);
}

/* Far more than is kept ahead: reading stops, and everything is answered all the same. */
static void a_flood_of_pipelined_requests_behind_a_held_one_is_answered(void **state)
{
    struct fixture *f = *state;
    enum { FLOOD = 5000 };
    struct buf flood;
    struct buf got;

    start(f);
    int fd = dial(f);
    buf_init(&flood, 1 << 20);
    buf_init(&got, RECEIVED_MAX);
    buf_add(&flood, STR(GET("/hold")));
    for (int i = 0; i < FLOOD; i++)
        buf_add(&flood, STR(GET("/f")));
    send_bytes(f, fd, buf_str(&flood));
    AWAIT(f, f->held_count == 1);
    http_reply(f->held[0], 200, NULL, 0, STR("held"));
    await_text(f, fd, &got, "GET /f", FLOOD);
    assert_int_equal(f->requests, FLOOD + 1);
    buf_finish(&flood);
    buf_finish(&got);
    close(fd);
}

static void chunked_bodies_arrive_whole(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd,
              "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
              "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n" GET("/next"));
    await_text(f, fd, &got, "POST /c abcde", 1);
    await_text(f, fd, &got, "GET /next", 1);
    buf_finish(&got);
    close(fd);
}

static void a_body_larger_than_a_read_arrives_whole(void **state)
{
    struct fixture *f = *state;
    enum { LARGE = 700 * 1000 };
    struct buf bytes;

    start(f);
    buf_init(&bytes, 1 << 20);
    buf_fmt(&bytes, "POST /hold HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", LARGE);
    for (int i = 0; i < LARGE; i++)
        buf_add_char(&bytes, (char)('a' + i % 26));
    int fd = dial(f);
    send_bytes(f, fd, buf_str(&bytes));
    AWAIT(f, f->held_count == 1);
    assert_int_equal(f->held_body.len, LARGE);
    assert_memory_equal(f->held_body.at, bytes.at + bytes.len - LARGE, LARGE);
    http_reply(f->held[0], 200, NULL, 0, STR(""));
    buf_finish(&bytes);
    close(fd);
}

static void a_request_lives_until_it_was_handed_over_though_its_response_has_begun(void **state)
{
    struct fixture *f = *state;
    enum { LONG = 20000 }; /* more than is kept as a spare: its memory goes when it goes */
    struct buf text, got;

    start(f);
    int fd = dial(f);
    buf_init(&text, 1 << 20);
    buf_init(&got, RECEIVED_MAX);
    buf_fmt(&text, "POST /back HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", LONG);
    for (int i = 0; i < LONG - 4; i++)
        buf_add_char(&text, 'b');
    buf_add(&text, STR("tail"));
    send_bytes(f, fd, buf_str(&text));
    await_text(f, fd, &got, "bbbtail", 1);
    send_text(f, fd, GET("/next"));
    await_text(f, fd, &got, "GET /next", 1);
    buf_finish(&text);
    buf_finish(&got);
    close(fd);
}

static void a_client_that_expects_leave_gets_it_before_its_body(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd,
              "POST /e HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    await_text(f, fd, &got, "HTTP/1.1 100 Continue\r\n\r\n", 1);
    assert_int_equal(f->requests, 0);
    send_text(f, fd, "ok");
    await_text(f, fd, &got, "POST /e ok", 1);
    buf_finish(&got);
    close(fd);
}

static void head_and_204_have_no_body(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, "HEAD /h HTTP/1.1\r\nHost: h\r\n\r\n" GET("/none") GET("/last"));
    await_text(f, fd, &got, "GET /last", 1);
    assert_true(has(&got, "Content-Length: 8\r\n\r\nHTTP/1.1 204 No Content\r\n"));
    assert_false(has(&got, "HEAD /h"));
    assert_false(has(&got, "never sent"));
    buf_finish(&got);
    close(fd);
}

static void http_1_0_is_answered_and_closed(void **state)
{
    struct fixture *f = *state;

    start(f);
    struct buf got = whole_talk(f, STR("GET /old HTTP/1.0\r\n\r\n"));
    assert_true(has(&got, "Connection: close\r\n"));
    assert_true(has(&got, "GET /old"));
    buf_finish(&got);

    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, "GET /hold HTTP/1.0\r\n\r\n");
    AWAIT(f, f->held_count == 1);
    http_begin(f->held[0], 200, STR_NONE, NULL, 0);
    http_write(f->held[0], STR("plain"));
    http_end(f->held[0]);
    await_close(f, fd, &got);
    assert_false(has(&got, "chunked")); /* it would not know what that is */
    assert_true(str_ends(buf_str(&got), STR("\r\n\r\nplain")));
    buf_finish(&got);
    close(fd);
}

static void a_client_that_wants_to_close_gets_closed(void **state)
{
    struct fixture *f = *state;

    start(f);
    struct buf got =
        whole_talk(f, STR("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" GET("/y")));
    assert_true(has(&got, "GET /x"));
    assert_false(has(&got, "GET /y"));
    buf_finish(&got);
}

static void streams_are_chunked_and_the_connection_goes_on(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, GET("/hold") GET("/after"));
    AWAIT(f, f->held_count == 1);
    http_begin(f->held[0], 200, STR_NONE, NULL, 0);
    await_text(f, fd, &got, "Transfer-Encoding: chunked\r\n\r\n", 1);
    assert_true(http_write(f->held[0], STR("hello")));
    assert_true(http_write(f->held[0], STR(""))); /* would be the end, if it were written */
    await_text(f, fd, &got, "5\r\nhello\r\n", 1);
    assert_true(http_write(f->held[0], STR("0123456789abcdef")));
    http_end(f->held[0]);
    await_text(f, fd, &got, "10\r\n0123456789abcdef\r\n0\r\n\r\nHTTP/1.1 200 OK", 1);
    await_text(f, fd, &got, "GET /after", 1);
    buf_finish(&got);
    close(fd);
}

enum { SPEAKERS = 3, WORDS = 120, LONGEST = 9000 };

/* What a connection says in its nth word: mostly little, at times a lot. */
static struct str word_of(char text[LONGEST], int speaker, int n)
{
    size_t len = n % 16 == 15 ? LONGEST : (size_t)(1 + n * 37 % 400);

    memset(text, 'a' + speaker * 8 + n % 8, len);
    return str_n(text, len);
}

static void what_several_say_in_one_turn_reaches_each_whole_and_in_order(void **state)
{
    struct fixture *f = *state;
    struct buf told[SPEAKERS];
    int fds[SPEAKERS];
    char text[LONGEST];

    start(f);
    for (int i = 0; i < SPEAKERS; i++) {
        fds[i] = dial(f);
        send_text(f, fds[i], GET("/hold"));
        AWAIT(f, f->held_count == (int)i + 1);
        http_begin(f->held[i], 200, STR_NONE, NULL, 0);
        buf_init(&told[i], RECEIVED_MAX);
    }
    for (int n = 0; n < WORDS; n++) {
        for (int i = 0; i < SPEAKERS; i++) {
            struct str word = word_of(text, i, n);
            assert_true(http_write(f->held[i], word));
            buf_fmt(&told[i], "%zx\r\n", word.len);
            buf_add(&told[i], word);
            buf_add(&told[i], STR("\r\n"));
        }
    }
    for (int i = 0; i < SPEAKERS; i++) {
        struct buf got;

        http_end(f->held[i]);
        buf_add(&told[i], STR("0\r\n\r\n"));
        buf_init(&got, RECEIVED_MAX);
        await_text(f, fds[i], &got, "\r\n0\r\n\r\n", 1);
        struct str body =
            str_skip(buf_str(&got), (size_t)str_find(buf_str(&got), STR("\r\n\r\n")) + 4);
        assert_true(str_eq(body, buf_str(&told[i])));
        buf_finish(&got);
        buf_finish(&told[i]);
        close(fds[i]);
    }
}

static void a_header_that_would_end_its_line_is_left_out(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, GET("/inject"));
    await_text(f, fd, &got, "\r\n\r\nok", 1);
    assert_true(has(&got, "X-Fine: yes\r\n"));
    assert_false(has(&got, "Evil"));
    assert_false(has(&got, "Set-Cookie"));
    buf_finish(&got);
    close(fd);
}

/* --- streams, gone clients, draining --- */

static void a_client_that_leaves_is_told_once(void **state)
{
    struct fixture *f = *state;

    start(f);
    int held = dial(f);
    int streamed = dial(f);
    send_text(f, held, GET("/hold"));
    AWAIT(f, f->held_count == 1);
    send_text(f, streamed, GET("/hold"));
    AWAIT(f, f->held_count == 2);
    http_begin(f->held[1], 200, STR_NONE, NULL, 0);
    close(held);
    AWAIT(f, f->gone == 1);
    close(streamed);
    AWAIT(f, f->gone == 2);
    for (int i = 0; i < 3; i++)
        loop_turn(f->loop, 1);
    assert_int_equal(f->gone, 2);
}

static void a_client_that_resets_the_connection_is_gone(void **state)
{
    struct fixture *f = *state;
    const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

    start(f);
    int fd = dial(f);
    send_text(f, fd, GET("/hold"));
    AWAIT(f, f->held_count == 1);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(fd);
    AWAIT(f, f->gone == 1);
    assert_int_equal(f->requests, 1);
}

static void a_client_that_says_no_more_is_answered_and_closed(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, GET("/1") GET("/2"));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    await_close(f, fd, &got);
    assert_true(has(&got, "GET /1"));
    assert_true(has(&got, "GET /2"));
    buf_finish(&got);
    close(fd);
}

static void what_was_sent_before_leaving_at_once_is_taken_whole(void **state)
{
    struct fixture *f = *state;

    start(f);
    for (int i = 1; i <= 3; i++) {
        int fd = dial(f);
        send_text(f, fd, GET("/none"));
        close(fd);
        AWAIT(f, f->requests == i);
    }
}

static void a_full_queue_refuses_writes_until_on_drain(void **state)
{
    struct fixture *f = *state;
    static char block[64 * 1024];
    struct buf got;
    size_t written = 0;

    f->limits.queue_max = 256 * 1024;
    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, GET("/hold"));
    AWAIT(f, f->held_count == 1);
    http_begin(f->held[0], 200, STR_NONE, NULL, 0);
    memset(block, 'q', sizeof(block));
    while (http_write(f->held[0], str_n(block, sizeof(block))))
        written++;
    size_t queued = http_queued(f->held[0]);
    assert_true(queued > 0 && queued <= f->limits.queue_max);
    assert_false(http_write(f->held[0], str_n(block, sizeof(block))));
    assert_int_equal(http_queued(f->held[0]), queued); /* nothing was queued */
    assert_int_equal(f->drains, 0);
    while (!f->drains) {
        receive(fd, &got);
        loop_turn(f->loop, TURN_MS);
    }
    assert_int_equal(http_queued(f->held[0]), 0);
    assert_true(http_write(f->held[0], STR("last")));
    http_end(f->held[0]);
    await_text(f, fd, &got, "4\r\nlast\r\n0\r\n\r\n", 1);
    size_t head = (size_t)str_find(buf_str(&got), STR("\r\n\r\n")) + 4;
    assert_int_equal(got.len - head, written * (sizeof(block) + strlen("10000\r\n\r\n")) +
                                         strlen("4\r\nlast\r\n0\r\n\r\n"));
    buf_finish(&got);
    close(fd);
}

static void a_large_reply_to_a_slow_reader_arrives_whole(void **state)
{
    struct fixture *f = *state;
    enum { LARGE = 8 << 20 };
    struct buf got;
    char *body = malloc(LARGE);

    memset(body, 'L', LARGE);
    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, "GET /hold HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    AWAIT(f, f->held_count == 1);
    http_reply(f->held[0], 200, NULL, 0, str_n(body, LARGE));
    free(body); /* what the kernel did not take was copied */
    await_close(f, fd, &got);
    assert_true(got.len > LARGE);
    assert_int_equal(got.at[got.len - 1], 'L');
    buf_finish(&got);
    close(fd);
}

static void on_drained(void *data)
{
    ((struct fixture *)data)->drained = true;
}

static void draining_lets_open_exchanges_finish_and_takes_no_more(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    start(f);
    int idle = dial(f);
    int busy = dial(f);
    int port = http_port(f->server);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, idle, GET("/x"));
    await_text(f, idle, &got, "GET /x", 1);
    send_text(f, busy, GET("/hold"));
    AWAIT(f, f->held_count == 1);
    http_drain(f->server, 60000, on_drained, f);
    await_close(f, idle, &got);
    assert_false(f->drained);
    assert_int_equal(f->gone, 0);

    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int late = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_not_equal(connect(late, (const struct sockaddr *)&address, sizeof(address)), 0);
    close(late);

    buf_clear(&got);
    http_reply(f->held[0], 200, NULL, 0, STR("finished"));
    await_close(f, busy, &got);
    assert_true(has(&got, "Connection: close\r\n"));
    assert_true(has(&got, "finished"));
    close(busy);
    AWAIT(f, f->drained);
    buf_finish(&got);
    close(idle);
}

static void draining_ends_after_its_grace(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    start(f);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, GET("/hold"));
    AWAIT(f, f->held_count == 1);
    http_drain(f->server, 20, on_drained, f);
    AWAIT(f, f->drained);
    assert_int_equal(f->gone, 1);
    http_close(f->server);
    f->server = NULL;
    await_close(f, fd, &got); /* it is not left without a word */
    assert_true(has(&got, "HTTP/1.1 503 "));
    assert_true(has(&got, "Retry-After: "));
    assert_true(has(&got, "This server stops"));
    buf_finish(&got);
    close(fd);
}

static void draining_an_empty_server_is_told_on_a_later_turn(void **state)
{
    struct fixture *f = *state;

    start(f);
    http_drain(f->server, 60000, on_drained, f);
    assert_false(f->drained);
    AWAIT(f, f->drained);
}

static void the_server_may_be_closed_from_inside_a_request(void **state)
{
    struct fixture *f = *state;

    start(f);
    struct buf got = whole_talk(f, STR(GET("/1") GET("/close") GET("/2")));
    assert_true(has(&got, "GET /1"));
    assert_false(has(&got, "GET /2"));
    assert_null(f->server);
    buf_finish(&got);
}

/* --- where it listens --- */

static void a_unix_socket_is_for_this_user_and_replaces_a_stale_one(void **state)
{
    struct fixture *f = *state;
    struct http_opts opts = { .limits = f->limits, .on_request = on_request, .data = f };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct stat info;
    struct buf host;
    struct buf got;
    char folder[64];

    assert_true(scratch_make(folder, sizeof(folder)));
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    int stale = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(stale, (const struct sockaddr *)&address, sizeof(address)), 0);
    close(stale);

    buf_init(&host, 256);
    buf_fmt(&host, "unix:%s", address.sun_path);
    assert_int_equal(http_listen(f->loop, buf_str(&host), 0, &opts, &f->server), NOD_OK);
    assert_int_equal(stat(address.sun_path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    struct http_server *second = NULL;
    assert_int_equal(http_listen(f->loop, buf_str(&host), 0, &opts, &second), NOD_E_STALE);

    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, GET("/unix"));
    await_text(f, fd, &got, "GET /unix", 1);
    close(fd);
    buf_finish(&got);
    buf_finish(&host);
    http_close(f->server);
    f->server = NULL;
    loop_turn(f->loop, TURN_MS);
    unlink(address.sun_path);
    rmdir(folder);
}

static void an_address_that_cannot_be_had_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct http_opts opts = { .limits = f->limits, .on_request = on_request, .data = f };
    struct http_server *second = NULL;

    start(f);
    assert_int_equal(http_listen(f->loop, STR("127.0.0.1"), http_port(f->server), &opts, &second),
                     NOD_E_STALE);
    assert_int_equal(http_listen(f->loop, STR("no address"), 0, &opts, &second), NOD_E_IO);
    assert_int_equal(http_listen(f->loop, STR("127.0.0.1"), 70000, &opts, &second), NOD_E_IO);
    assert_int_equal(http_listen(f->loop, STR("unix:"), 0, &opts, &second), NOD_E_IO);
}

static void localhost_is_a_name_it_knows(void **state)
{
    struct fixture *f = *state;
    struct http_opts opts = { .limits = f->limits, .on_request = on_request, .data = f };
    struct buf got;

    assert_int_equal(http_listen(f->loop, STR("localhost"), 0, &opts, &f->server), NOD_OK);
    int fd = dial(f);
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, GET("/l"));
    await_text(f, fd, &got, "GET /l", 1);
    buf_finish(&got);
    close(fd);
}

/* --- many --- */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Of this process alone: how busy the machine is does not count. */
static int64_t worked_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t median_request_ns(struct fixture *f, int fd)
{
    enum { ROUNDS = 301 };
    static int64_t took[ROUNDS];
    struct buf got;

    buf_init(&got, RECEIVED_MAX);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t begun = worked_ns();
        send_text(f, fd, GET("/t"));
        await_text(f, fd, &got, "GET /t", 1);
        took[i] = worked_ns() - begun;
        buf_clear(&got);
    }
    buf_finish(&got);
    qsort(took, ROUNDS, sizeof(took[0]), by_value);
    return took[ROUNDS / 2];
}

static void silent_and_half_sent_connections_delay_nobody(void **state)
{
    struct fixture *f = *state;
    enum { SILENT = 1000, HALF = 500, RATIO_MAX = 4 };
    static int fds[SILENT + HALF];
    struct rlimit files;

    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    start(f);
    int fd = dial(f);
    int64_t alone = median_request_ns(f, fd);
    for (int i = 0; i < SILENT + HALF; i++) {
        fds[i] = dial(f);
        if (i >= SILENT)
            send_text(f, fds[i],
                      i % 2 ? "GET / HTTP/1.1\r\nHo"
                            : "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab");
        if (i % 100 == 0)
            loop_turn(f->loop, TURN_MS);
    }
    for (int i = 0; i < 20; i++)
        loop_turn(f->loop, 0);
    int64_t beside = median_request_ns(f, fd);
    print_message("median of a request: %lld ns alone, %lld ns beside %d others (%.2f)\n",
                  (long long)alone, (long long)beside, SILENT + HALF,
                  (double)beside / (double)alone);
    assert_true(beside < alone * RATIO_MAX);
    for (int i = 0; i < SILENT + HALF; i++)
        close(fds[i]);
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(http_server)
{
    const struct CMUnitTest tests[] = {
        TEST(a_connection_serves_many_requests),
        TEST(pipelined_requests_are_answered_in_order),
        TEST(every_response_has_its_own_status_and_lines),
        TEST(a_flood_of_pipelined_requests_behind_a_held_one_is_answered),
        TEST(chunked_bodies_arrive_whole),
        TEST(a_body_larger_than_a_read_arrives_whole),
        TEST(a_request_lives_until_it_was_handed_over_though_its_response_has_begun),
        TEST(a_client_that_expects_leave_gets_it_before_its_body),
        TEST(head_and_204_have_no_body),
        TEST(http_1_0_is_answered_and_closed),
        TEST(a_client_that_wants_to_close_gets_closed),
        TEST(streams_are_chunked_and_the_connection_goes_on),
        TEST(what_several_say_in_one_turn_reaches_each_whole_and_in_order),
        TEST(a_header_that_would_end_its_line_is_left_out),
        TEST(a_client_that_leaves_is_told_once),
        TEST(a_client_that_resets_the_connection_is_gone),
        TEST(a_client_that_says_no_more_is_answered_and_closed),
        TEST(what_was_sent_before_leaving_at_once_is_taken_whole),
        TEST(a_full_queue_refuses_writes_until_on_drain),
        TEST(a_large_reply_to_a_slow_reader_arrives_whole),
        TEST(draining_lets_open_exchanges_finish_and_takes_no_more),
        TEST(draining_ends_after_its_grace),
        TEST(draining_an_empty_server_is_told_on_a_later_turn),
        TEST(the_server_may_be_closed_from_inside_a_request),
        TEST(a_unix_socket_is_for_this_user_and_replaces_a_stale_one),
        TEST(an_address_that_cannot_be_had_is_an_error),
        TEST(localhost_is_a_name_it_knows),
        TEST(silent_and_half_sent_connections_delay_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
