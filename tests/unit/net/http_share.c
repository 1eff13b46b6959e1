/*
 * tests/unit/net/http_share: what is decided when a head has arrived, and how much strangers and
 * owners may hold; over real sockets.
 *
 * A request is trusted if it names an owner in the header `Owner`. /open is served to anybody, and
 * everything else is answered with 401.
 */
#include "http_talk.h"
#include "../runner.h"

static enum http_verdict rule(const struct http_request *request, struct http_ruling *ruling,
                              void *data)
{
    struct str owner = http_header(request, STR("Owner"));

    (void)data;
    ruling->lines = STR("Ruled: yes\r\n");
    ruling->mark.who = ruling;
    if (str_eq(owner, STR("ada")) || str_eq(owner, STR("bob"))) {
        ruling->who = str_eq(owner, STR("ada")) ? STR("ada") : STR("bob");
        return HTTP_TRUST;
    }
    if (str_eq(request->path, STR("/open")))
        return HTTP_SERVE;
    ruling->status = 401;
    ruling->headers[ruling->header_count++] =
        (struct http_header){ STR("WWW-Authenticate"), STR("Bearer") };
    ruling->body = STR("who are you?");
    return HTTP_ANSWER;
}

static void start_ruled(struct fixture *f)
{
    struct http_opts opts = {
        .limits = f->limits, .on_head = rule, .on_request = on_request, .data = f
    };

    assert_int_equal(http_listen(f->loop, STR("127.0.0.1"), 0, &opts, &f->server), NOD_OK);
}

#define FROM(owner, line, headers, body)                                                           \
    line " HTTP/1.1\r\nHost: h\r\nOwner: " owner "\r\n" headers "\r\n" body

/* Sends, and waits until `text` has come back. */
static int say(struct fixture *f, const char *bytes, const char *text)
{
    struct buf got;
    int fd = dial(f);

    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, bytes);
    await_text(f, fd, &got, text, 1);
    buf_finish(&got);
    return fd;
}

static bool is_closed(int fd)
{
    struct buf got;

    buf_init(&got, RECEIVED_MAX);
    bool open = receive(fd, &got);
    buf_finish(&got);
    return !open;
}

static void line18_who_is_turned_away_is_told_before_a_body_comes(void **state)
{
    struct fixture *f = *state;

    start_ruled(f);
    int fd = say(f, FROM("eve", "POST /p", "Content-Length: 4000000\r\n", ""), "who are you?");
    close(fd);
    fd = say(f, FROM("eve", "POST /p", "Transfer-Encoding: chunked\r\n", ""), "Ruled: yes");
    close(fd);
    fd = say(f, FROM("eve", "POST /p", "Content-Length: 5\r\nExpect: 100-continue\r\n", ""),
             "HTTP/1.1 401 Unauthorized");
    close(fd);
    assert_int_equal(f->requests, 0);
}

/* A client may ask again on the connection on which it was refused, if what it sent was short. */
static void line18_a_short_body_of_a_refused_request_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    start_ruled(f);
    int fd = say(f, FROM("eve", "POST /p", "Content-Length: 5\r\n", "ab"), "who are you?");
    buf_init(&got, RECEIVED_MAX);
    send_text(f, fd, "cde" FROM("ada", "POST /p", "Content-Length: 3\r\n", "xyz"));
    await_text(f, fd, &got, "POST /p xyz", 1);
    assert_true(has(&got, "Ruled: yes\r\n"));
    buf_finish(&got);
    close(fd);
}

static void line18_a_refused_body_that_does_not_come_is_not_waited_for(void **state)
{
    struct fixture *f = *state;

    start_ruled(f);
    int fd = say(f, FROM("eve", "POST /p", "Content-Length: 50\r\n", "ab"), "who are you?");
    AWAIT(f, is_closed(fd));
    close(fd);
}

static void line18_nothing_of_a_body_is_kept_for_a_stranger(void **state)
{
    struct fixture *f = *state;

    start_ruled(f);
    int fd = say(f, FROM("", "POST /open", "Content-Length: 5\r\n", "abcde"), "POST /open ");
    send_text(f, fd, FROM("", "GET /open", "", ""));
    struct buf got;
    buf_init(&got, RECEIVED_MAX);
    await_text(f, fd, &got, "GET /open ", 1);
    assert_false(has(&got, "abcde"));
    buf_finish(&got);
    close(fd);
}

/* Those who say nothing make room for those who come. */
static void line18_strangers_push_out_strangers_and_nobody_else(void **state)
{
    struct fixture *f = *state;
    int silent[6];

    f->limits.strangers_max = 4;
    start_ruled(f);
    int known = say(f, FROM("ada", "GET /first", "", ""), "GET /first");
    for (size_t i = 0; i < 6; i++) {
        silent[i] = dial(f);
        send_text(f, silent[i], "GET / HT"); /* not a whole head */
        loop_turn(f->loop, TURN_MS);
    }
    AWAIT(f, is_closed(silent[0]));
    AWAIT(f, is_closed(silent[1]));
    int late = say(f, FROM("ada", "GET /late", "", ""), "GET /late");
    AWAIT(f, is_closed(silent[2]));
    assert_false(is_closed(silent[3]) || is_closed(silent[4]) || is_closed(silent[5]));
    assert_false(is_closed(known) || is_closed(late));
    for (size_t i = 0; i < 6; i++)
        close(silent[i]);
    close(known);
    close(late);
}

static void line18_strangers_have_a_place_taken_from_them_when_there_is_no_other(void **state)
{
    struct fixture *f = *state;

    f->limits.connections_max = 2;
    f->limits.strangers_max = 2;
    start_ruled(f);
    int known = say(f, FROM("ada", "GET /first", "", ""), "GET /first");
    int silent = dial(f);
    loop_turn(f->loop, TURN_MS);
    int late = say(f, FROM("ada", "GET /late", "", ""), "GET /late");
    AWAIT(f, is_closed(silent));
    assert_false(is_closed(known));
    close(known);
    close(silent);
    close(late);
}

static void line18_the_heads_of_strangers_share_little_memory(void **state)
{
    struct fixture *f = *state;
    char line[4000];
    int fds[20], closed = 0;

    f->limits.strangers_memory_max = 40 * 1000;
    start_ruled(f);
    memset(line, 'x', sizeof(line));
    for (size_t i = 0; i < 20; i++) {
        fds[i] = dial(f);
        send_text(f, fds[i], "GET /");
        send_bytes(f, fds[i], str_n(line, sizeof(line)));
        for (int turn = 0; turn < 3; turn++)
            loop_turn(f->loop, TURN_MS);
    }
    for (size_t i = 0; i < 20; i++)
        closed += is_closed(fds[i]);
    assert_true(closed >= 10 && closed < 20);
    assert_false(is_closed(fds[19])); /* who came last has the best of chances */
    for (size_t i = 0; i < 20; i++)
        close(fds[i]);
}

static void line18_a_stranger_has_one_deadline_for_its_first_head(void **state)
{
    struct fixture *f = *state;
    struct buf got;

    f->limits.stranger_ms = 150;
    start_ruled(f);
    int fd = dial(f), dripping = dial(f);
    send_text(f, dripping, "GET / HT");
    int known = say(f, FROM("ada", "GET /known", "", ""), "GET /known");
    buf_init(&got, RECEIVED_MAX);
    await_text(f, dripping, &got, "HTTP/1.1 408 ", 1);
    AWAIT(f, is_closed(fd));
    assert_false(is_closed(known));
    buf_finish(&got);
    close(fd);
    close(dripping);
    close(known);
}

static void line19_connections_are_shared_by_owner(void **state)
{
    struct fixture *f = *state;
    int adas[2];

    f->limits.owner_connections_max = 2;
    start_ruled(f);
    for (size_t i = 0; i < 2; i++)
        adas[i] = say(f, FROM("ada", "GET /a", "", ""), "GET /a");
    int more = say(f, FROM("ada", "GET /more", "", ""), "HTTP/1.1 429 Too Many Requests");
    int bob = say(f, FROM("bob", "GET /b", "", ""), "GET /b");
    close(adas[0]);
    AWAIT(f, is_closed(more));
    for (int i = 0; i < 5; i++)
        loop_turn(f->loop, TURN_MS);
    int again = say(f, FROM("ada", "GET /again", "", ""), "GET /again");
    close(adas[1]);
    close(more);
    close(bob);
    close(again);
}

static void line19_memory_is_shared_by_owner(void **state)
{
    static char body[60000];
    struct fixture *f = *state;

    f->limits.owner_memory_max = 100 * 1000;
    start_ruled(f);
    int held = dial(f), more = dial(f), bob = dial(f);
    struct buf got;
    buf_init(&got, RECEIVED_MAX);
    memset(body, 'x', sizeof(body));
    send_text(f, held, FROM("ada", "POST /hold", "Content-Length: 60000\r\n", ""));
    send_bytes(f, held, str_n(body, sizeof(body)));
    AWAIT(f, f->held_count == 1);
    send_text(f, more, FROM("ada", "POST /m", "Content-Length: 60000\r\n", ""));
    send_bytes(f, more, str_n(body, sizeof(body)));
    await_text(f, more, &got, "HTTP/1.1 429 ", 1);
    assert_true(has(&got, "Retry-After: "));
    send_text(f, bob, FROM("bob", "POST /b", "Content-Length: 60000\r\n", ""));
    send_bytes(f, bob, str_n(body, sizeof(body)));
    buf_clear(&got);
    await_text(f, bob, &got, "HTTP/1.1 200 ", 1);
    buf_finish(&got);
    close(held);
    close(more);
    close(bob);
}

/* Somebody who asks and does not read is not given more and more. */
static void responses_that_nobody_reads_count_in_the_share(void **state)
{
    static char body[16 << 20];
    struct fixture *f = *state;
    struct http_figures figures;
    struct buf got;

    f->limits.owner_memory_max = 1 << 20;
    start_ruled(f);
    buf_init(&got, RECEIVED_MAX);
    memset(body, 'x', sizeof(body));
    int slow = dial(f);
    send_text(f, slow, FROM("ada", "GET /hold", "", ""));
    AWAIT(f, f->held_count == 1);
    http_reply(f->held[0], 200, NULL, 0, str_n(body, sizeof(body)));
    http_flush(f->server);
    http_figures(f->server, &figures);
    assert_true(figures.memory > f->limits.owner_memory_max);
    close(say(f, FROM("ada", "GET /more", "", ""), "HTTP/1.1 429 "));
    close(say(f, FROM("bob", "GET /b", "", ""), "GET /b"));
    AWAIT(f, (receive(slow, &got), got.len > sizeof(body))); /* all of it comes */
    close(say(f, FROM("ada", "GET /again", "", ""), "GET /again"));
    buf_finish(&got);
    close(slow);
}

static void what_a_response_needs_while_it_is_made_counts_in_the_share(void **state)
{
    struct fixture *f = *state;
    int fds[3];

    f->limits.owner_memory_max = 100 * 1000;
    start_ruled(f);
    for (int i = 0; i < 3; i++) {
        fds[i] = dial(f);
        send_text(f, fds[i],
                  i < 2 ? FROM("ada", "GET /hold", "", "") : FROM("bob", "GET /hold", "", ""));
        AWAIT(f, f->held_count == i + 1);
    }
    assert_int_equal(http_hold(f->held[0], 40 * 1000), 0);
    assert_int_equal(http_hold(f->held[0], 60 * 1000), 0); /* instead of them, not beside them */
    assert_int_equal(http_hold(f->held[1], 60 * 1000), 429);
    assert_int_equal(http_hold(f->held[2], 60 * 1000), 0);
    http_reply(f->held[0], 200, NULL, 0, STR("made"));
    http_flush(f->server);
    assert_int_equal(http_hold(f->held[1], 60 * 1000), 0);
    close(fds[1]); /* who goes away holds nothing */
    AWAIT(f, f->gone == 1);
    close(say(f, FROM("ada", "POST /p", "Content-Length: 3\r\n", "xyz"), "POST /p xyz"));
    close(fds[0]);
    close(fds[2]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(http_share)
{
    const struct CMUnitTest tests[] = {
        TEST(line18_who_is_turned_away_is_told_before_a_body_comes),
        TEST(line18_a_short_body_of_a_refused_request_is_dropped),
        TEST(line18_a_refused_body_that_does_not_come_is_not_waited_for),
        TEST(line18_nothing_of_a_body_is_kept_for_a_stranger),
        TEST(line18_strangers_push_out_strangers_and_nobody_else),
        TEST(line18_strangers_have_a_place_taken_from_them_when_there_is_no_other),
        TEST(line18_the_heads_of_strangers_share_little_memory),
        TEST(line18_a_stranger_has_one_deadline_for_its_first_head),
        TEST(line19_connections_are_shared_by_owner),
        TEST(line19_memory_is_shared_by_owner),
        TEST(responses_that_nobody_reads_count_in_the_share),
        TEST(what_a_response_needs_while_it_is_made_counts_in_the_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
