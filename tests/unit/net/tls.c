/*
 * tests/unit/net/tls: outgoing connections, and TLS over them and over streams that bring single
 * bytes.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/log.h"
#include "net/connect.h"
#include "net/listener.h"
#include "net/tls.h"
#include "memory_stream.h"
#include "../store/redis_server.h"
#include "../runner.h"

enum { TURNS = PATIENCE_MS / 10, BIG = 300000, HEARD_MOST = 4 << 20 };

static struct loop *loop;
static char folder[64];
static char ca[96], cert[96], key[96];
static struct tls_context *server_side, *client_side;

/* --- an end of a connection --- */

struct end {
    struct stream *stream;
    struct buf heard;
    int ended;   /* on_end(0) */
    int broken;  /* on_end(negative) */
    int drained; /* on_drain */
    bool closed;
    bool stop_at_once; /* reads one piece, and then no more */
    char why[TLS_WHY_MAX];
};

static void end_read(struct stream *stream, struct str bytes)
{
    struct end *end = stream->owner;

    assert_true(buf_add(&end->heard, bytes));
    if (end->stop_at_once)
        stream_read_stop(stream);
}

static void end_end(struct stream *stream, int error)
{
    struct end *end = stream->owner;

    end->ended += error == 0;
    end->broken += error < 0;
    snprintf(end->why, sizeof(end->why), "%s", tls_why(stream));
}

static void end_drain(struct stream *stream)
{
    ((struct end *)stream->owner)->drained++;
}

static void end_closed(struct stream *stream)
{
    ((struct end *)stream->owner)->closed = true;
}

static const struct stream_events end_events = { end_read, end_end, end_drain, end_closed };

static void end_begin(struct end *end, struct stream *stream)
{
    end->stream = stream;
    buf_init(&end->heard, HEARD_MOST);
    stream_own(stream, &end_events, end);
    stream_read_start(stream);
}

static void end_finish(struct end *end)
{
    stream_close(end->stream);
    for (int i = 0; !end->closed && i < TURNS; i++)
        loop_turn(loop, 10);
    assert_true(end->closed);
    buf_finish(&end->heard);
}

static void say(struct end *end, struct str text)
{
    stream_write(end->stream, &text, 1);
}

#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        for (int turn_ = 0; !(condition) && turn_ < TURNS; turn_++)                                \
            loop_turn(loop, 10);                                                                   \
        assert_true(condition);                                                                    \
    } while (0)

/* --- connecting --- */

struct reached {
    int done;
    struct stream *stream;
    char why[CONNECT_WHY_MAX];
};

static void on_reached(void *data, struct stream *stream, const char *why)
{
    struct reached *reached = data;

    reached->done++;
    reached->stream = stream;
    snprintf(reached->why, sizeof(reached->why), "%s", why ? why : "");
}

static struct end accepted;
static int accepts;

static void on_accepted(struct stream *stream, const struct peer *peer, void *data)
{
    (void)data;
    accepts++;
    accepted = (struct end){ 0 };
    end_begin(&accepted, stream);
    (void)peer;
}

static void connects_to(struct str listen_at, struct connect_opts opts)
{
    struct listener *listener;
    struct reached reached = { 0 };
    struct end mine = { 0 };

    accepts = 0;
    assert_int_equal(listener_open(loop, listen_at, 0, on_accepted, NULL, &listener), NOD_OK);
    opts.port = listener_port(listener);
    connect_begin(loop, &opts, on_reached, &reached);
    assert_int_equal(reached.done, 0);
    UNTIL(reached.done && accepts);
    assert_non_null(reached.stream);
    end_begin(&mine, reached.stream);
    say(&mine, STR("there"));
    UNTIL(accepted.heard.len == 5);
    say(&accepted, STR("and back"));
    UNTIL(mine.heard.len == 8);
    assert_int_equal(reached.done, 1);
    end_finish(&mine);
    UNTIL(accepted.ended || accepted.broken);
    end_finish(&accepted);
    listener_close(listener);
}

static void an_address_a_name_and_a_path_are_reached(void **state)
{
    char path[96], place[112];
    (void)state;

    connects_to(STR("127.0.0.1"), (struct connect_opts){ .host = STR("127.0.0.1") });
    connects_to(STR("localhost"), (struct connect_opts){ .host = STR("localhost") });
    snprintf(path, sizeof(path), "%s/socket", folder);
    snprintf(place, sizeof(place), "unix:%s", path);
    connects_to(str_of(place), (struct connect_opts){ .path = str_of(path) });
}

static void nobody_there_is_an_error_with_its_reason(void **state)
{
    struct connect_opts nobody[] = {
        { .host = STR("127.0.0.1"), .port = server_free_port() },
        { .host = STR("no-such-host.invalid"), .port = 1 },
        { .host = STR("not an address"), .port = 1 },
        { .path = STR("/nonexistent/socket") },
    };
    (void)state;

    for (size_t i = 0; i < sizeof(nobody) / sizeof(nobody[0]); i++) {
        struct reached reached = { 0 };
        nobody[i].timeout_ms = 20000;
        connect_begin(loop, &nobody[i], on_reached, &reached);
        UNTIL(reached.done);
        assert_null(reached.stream);
        assert_true(strlen(reached.why) > 0);
    }
}

static void a_connection_that_takes_too_long_is_given_up(void **state)
{
    struct reached reached = { 0 };
    (void)state;

    /* An address that nothing answers for: of a network that is kept for documentation. */
    connect_begin(loop,
                  &(struct connect_opts){ .host = STR("192.0.2.1"), .port = 9, .timeout_ms = 50 },
                  on_reached, &reached);
    UNTIL(reached.done);
    assert_null(reached.stream);
    assert_true(strlen(reached.why) > 0);
}

static void a_cancelled_attempt_says_nothing(void **state)
{
    static const struct str hosts[] = { STR_INIT("127.0.0.1"), STR_INIT("localhost"),
                                        STR_INIT("192.0.2.1") };
    (void)state;

    for (size_t i = 0; i < 6; i++) {
        struct reached reached = { 0 };
        struct connecting *connecting = connect_begin(
            loop, &(struct connect_opts){ .host = hosts[i / 2], .port = 1 }, on_reached, &reached);
        if (i % 2)
            loop_turn(loop, 0); /* it is under way */
        if (!reached.done)
            connect_cancel(connecting);
        int before = reached.done;
        for (int j = 0; j < 10; j++)
            loop_turn(loop, 1);
        assert_int_equal(reached.done, before);
    }
}

/* --- TLS --- */

static void pair_of(struct end *client, struct end *server, const struct memory_stream_opts *opts,
                    struct tls_context *as, struct str host)
{
    struct stream *a, *b;

    memory_stream_pair(loop, opts, &a, &b);
    *client = *server = (struct end){ 0 };
    end_begin(server, tls_server(loop, server_side, b));
    end_begin(client, tls_client(loop, as, a, host));
}

static void bytes_go_both_ways_however_they_are_cut(void **state)
{
    static const size_t pieces[] = { 0, 1, 7, 1000 };
    char *big = malloc(BIG);
    (void)state;

    assert_non_null(big);
    for (size_t i = 0; i < BIG; i++)
        big[i] = (char)(i * 31 + i / 1000);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        size_t len = pieces[i] && pieces[i] < 100 ? 10000 : BIG;
        struct end client, server;
        pair_of(&client, &server, &(struct memory_stream_opts){ .piece_max = pieces[i] },
                client_side, STR("localhost"));
        say(&client, STR("before the handshake is done"));
        UNTIL(server.heard.len == 28);
        say(&client, str_n(big, len));
        say(&server, str_n(big, len));
        UNTIL(server.heard.len == 28 + len && client.heard.len == len);
        assert_memory_equal(client.heard.at, big, len);
        assert_memory_equal(server.heard.at + 28, big, len);
        /* A goodbye is an end and not a break. */
        stream_shutdown(client.stream);
        UNTIL(server.ended);
        say(&server, STR("!"));
        UNTIL(client.heard.len == len + 1);
        stream_shutdown(server.stream);
        UNTIL(client.ended);
        assert_int_equal(client.broken + server.broken, 0);
        end_finish(&client);
        end_finish(&server);
    }
    free(big);
}

static void reading_that_was_stopped_goes_on_where_it_was(void **state)
{
    char *big = malloc(BIG);
    struct end client, server;
    (void)state;

    assert_non_null(big);
    memset(big, 'x', BIG);
    pair_of(&client, &server, &(struct memory_stream_opts){ 0 }, client_side, STR("localhost"));
    server.stop_at_once = true;
    say(&client, str_n(big, BIG));
    UNTIL(server.heard.len > 0);
    size_t first = server.heard.len;
    for (int i = 0; i < 20; i++)
        loop_turn(loop, 1);
    assert_int_equal(server.heard.len, first);
    assert_true(first < BIG);
    server.stop_at_once = false;
    stream_read_start(server.stream);
    UNTIL(server.heard.len == BIG);
    end_finish(&client);
    end_finish(&server);
    free(big);
}

static void a_certificate_that_does_not_fit_is_refused(void **state)
{
    char why[TLS_WHY_MAX];
    struct tls_context *system = tls_context_create(&(struct tls_opts){ 0 }, why);
    const struct {
        struct tls_context *as;
        struct str host;
        bool fits;
    } tries[] = {
        { client_side, STR("localhost"), true },    { client_side, STR("127.0.0.1"), true },
        { client_side, STR("example.com"), false }, { client_side, STR("127.0.0.2"), false },
        { client_side, STR("localhost.x"), false }, { client_side, STR(""), false },
        { client_side, STR("local\0host"), false }, { system, STR("localhost"), false },
    };
    (void)state;

    assert_non_null(system);
    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        struct end client, server;
        pair_of(&client, &server, &(struct memory_stream_opts){ 0 }, tries[i].as, tries[i].host);
        say(&client, STR("secret"));
        if (tries[i].fits) {
            UNTIL(server.heard.len == 6);
        } else {
            UNTIL(client.broken);
            assert_true(strlen(client.why) > 0);
            assert_int_equal(server.heard.len, 0);
        }
        end_finish(&client);
        end_finish(&server);
    }
    tls_context_destroy(system);
}

static void a_connection_that_is_cut_is_broken_and_not_ended(void **state)
{
    struct stream *a, *b;
    struct end client = { 0 }, server = { 0 };
    (void)state;

    memory_stream_pair(loop, &(struct memory_stream_opts){ 0 }, &a, &b);
    end_begin(&server, tls_server(loop, server_side, b));
    end_begin(&client, tls_client(loop, client_side, a, STR("localhost")));
    say(&client, STR("half a mess"));
    UNTIL(server.heard.len == 11);
    stream_shutdown(a); /* below TLS: no goodbye */
    UNTIL(server.broken);
    assert_int_equal(server.ended, 0);
    assert_non_null(strstr(server.why, "without TLS's own end"));
    end_finish(&client);
    end_finish(&server);
}

static void bytes_that_are_no_tls_are_an_error(void **state)
{
    static const struct str lies[] = { STR_INIT("GET / HTTP/1.1\r\n\r\n"), STR_INIT("\0\0\0\0\0\0"),
                                       STR_INIT("\x16\x03\x01\xff\xff\x01") };
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        struct stream *a, *b;
        struct end liar = { 0 }, server = { 0 };
        memory_stream_pair(loop, &(struct memory_stream_opts){ 0 }, &a, &b);
        end_begin(&server, tls_server(loop, server_side, b));
        end_begin(&liar, a);
        say(&liar, lies[i]);
        loop_turn(loop, 1);
        stream_shutdown(a);
        UNTIL(server.broken);
        assert_int_equal(server.heard.len, 0);
        end_finish(&liar);
        end_finish(&server);
    }
}

static void one_that_is_closed_at_any_moment_is_freed(void **state)
{
    (void)state;

    for (int turns = 0; turns < 12; turns++) {
        struct end client, server;
        pair_of(&client, &server, &(struct memory_stream_opts){ .piece_max = 300 }, client_side,
                STR("localhost"));
        say(&client, STR("x"));
        for (int i = 0; i < turns; i++)
            loop_turn(loop, 0);
        end_finish(&client);
        UNTIL(server.ended || server.broken);
        end_finish(&server);
    }
}

static void files_that_cannot_be_used_are_named(void **state)
{
    char why[TLS_WHY_MAX];
    (void)state;

    assert_null(tls_context_create(&(struct tls_opts){ .ca_file = "/nonexistent/ca.pem" }, why));
    assert_non_null(strstr(why, "/nonexistent/ca.pem"));
    assert_null(tls_context_create(&(struct tls_opts){ .cert_file = key }, why));
    assert_non_null(strstr(why, key));
    assert_null(tls_context_create(&(struct tls_opts){ .cert_file = cert, .key_file = ca }, why));
    assert_non_null(strstr(why, "private key"));
}

static int setup(void **state)
{
    (void)state;
    loop = loop_create();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    loop_destroy(loop);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(tls)
{
    static const struct CMUnitTest tests[] = {
        TEST(an_address_a_name_and_a_path_are_reached),
        TEST(nobody_there_is_an_error_with_its_reason),
        TEST(a_connection_that_takes_too_long_is_given_up),
        TEST(a_cancelled_attempt_says_nothing),
        TEST(bytes_go_both_ways_however_they_are_cut),
        TEST(reading_that_was_stopped_goes_on_where_it_was),
        TEST(a_certificate_that_does_not_fit_is_refused),
        TEST(a_connection_that_is_cut_is_broken_and_not_ended),
        TEST(bytes_that_are_no_tls_are_an_error),
        TEST(one_that_is_closed_at_any_moment_is_freed),
        TEST(files_that_cannot_be_used_are_named),
    };
    char why[TLS_WHY_MAX], command[128];

    if (!scratch_make(folder, sizeof(folder)))
        return 1;
    certificates_make(folder);
    snprintf(ca, sizeof(ca), "%s/ca.pem", folder);
    snprintf(cert, sizeof(cert), "%s/cert.pem", folder);
    snprintf(key, sizeof(key), "%s/key.pem", folder);
    server_side = tls_context_create(
        &(struct tls_opts){ .ca_file = ca, .cert_file = cert, .key_file = key }, why);
    client_side = tls_context_create(&(struct tls_opts){ .ca_file = ca }, why);
    int failed =
        server_side && client_side ? cmocka_run_group_tests_name("tls", tests, NULL, NULL) : 1;
    tls_context_destroy(server_side);
    tls_context_destroy(client_side);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command) == 0 ? failed : 1;
}
