/*
 * tests/unit/net/http_talk: a server on a loopback socket and a client that talks to it.
 *
 * Server and client live in one thread: the client's socket does not block, and every wait for it
 * turns the loop.
 */
#ifndef NOD_TESTS_HTTP_TALK_H
#define NOD_TESTS_HTTP_TALK_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "net/http.h"
#include "../runner.h"

enum {
    TURN_MS = 5,
    HELD_MAX = 8,
    RECEIVED_MAX = 64 << 20,
};

struct fixture {
    struct loop *loop;
    struct http_server *server;
    struct http_limits limits;
    struct http_exchange *held[HELD_MAX];
    int held_count;
    int gone;
    int drains;
    int requests;
    bool drained;
    struct str held_body;
};

static inline int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline void on_gone(void *data)
{
    ((struct fixture *)data)->gone++;
}

static inline void on_exchange_drain(void *data)
{
    ((struct fixture *)data)->drains++;
}

static inline void reply_echo(struct http_exchange *exchange, const struct http_request *request)
{
    struct buf body;

    buf_init(&body, 1 << 20);
    buf_fmt(&body, "%.*s %.*s ", STR_ARG(request->method), STR_ARG(request->path));
    buf_add(&body, request->body);
    http_reply(exchange, 200, NULL, 0, buf_str(&body));
    buf_finish(&body);
}

/* /hold keeps the exchange for the test; everything else is answered at once. */
static inline void on_request(struct http_exchange *exchange, const struct http_request *request,
                              void *data)
{
    struct fixture *f = data;

    f->requests++;
    if (str_eq(request->path, STR("/hold"))) {
        assert_true(f->held_count < HELD_MAX);
        http_on_gone(exchange, on_gone, f);
        http_on_drain(exchange, on_exchange_drain, f);
        f->held_body = request->body;
        f->held[f->held_count++] = exchange;
    } else if (str_eq(request->path, STR("/none"))) {
        http_reply(exchange, 204, NULL, 0, STR("never sent"));
    } else if (str_eq(request->path, STR("/close"))) {
        http_close(f->server);
        f->server = NULL;
    } else if (str_eq(request->path, STR("/back"))) { /* its body, after the response has begun */
        http_begin(exchange, 200, STR_NONE, NULL, 0);
        http_write(exchange, request->body);
        http_end(exchange);
    } else if (str_eq(request->path, STR("/inject"))) {
        const struct http_header headers[] = {
            { STR("X-Fine"), STR("yes") },
            { STR("X-Evil"), STR("a\r\nSet-Cookie: b") },
            { STR("X Evil"), STR("c") },
        };
        http_reply(exchange, 200, headers, 3, STR("ok"));
    } else {
        reply_echo(exchange, request);
    }
}

static inline void start(struct fixture *f)
{
    struct http_opts opts = { .limits = f->limits, .on_request = on_request, .data = f };

    assert_int_equal(http_listen(f->loop, STR("127.0.0.1"), 0, &opts, &f->server), NOD_OK);
}

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->loop = loop_create();
    f->limits = http_limits_default;
    /* A deadline that a test is not about lies where only a hang comes. */
    f->limits.header_ms = f->limits.body_ms = f->limits.idle_ms = f->limits.write_ms = PATIENCE_MS;
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    http_close(f->server);
    loop_destroy(f->loop);
    free(f);
    return 0;
}

/* --- the client --- */

static inline int dial(struct fixture *f)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)http_port(f->server)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static inline void send_bytes(struct fixture *f, int fd, struct str bytes)
{
    int64_t until = now_ms() + PATIENCE_MS;

    while (bytes.len) {
        ssize_t n = send(fd, bytes.at, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) {
            bytes = str_skip(bytes, (size_t)n);
            continue;
        }
        assert_true(errno == EAGAIN && now_ms() < until);
        loop_turn(f->loop, TURN_MS);
    }
}

static inline void send_text(struct fixture *f, int fd, const char *text)
{
    send_bytes(f, fd, str_of(text));
}

/* Reads what has come. False at the end of the connection, however it came. */
static inline bool receive(int fd, struct buf *into)
{
    char bytes[65536];
    ssize_t n;

    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        buf_add(into, str_n(bytes, (size_t)n));
    return n < 0 && errno == EAGAIN;
}

/* Turns the loop until `text` has been received `times` times. */
static inline void await_text(struct fixture *f, int fd, struct buf *got, const char *text,
                              int times)
{
    int64_t until = now_ms() + PATIENCE_MS;

    for (;;) {
        bool open = receive(fd, got);
        int seen = 0;
        struct str rest = buf_str(got);
        for (ptrdiff_t at; (at = str_find(rest, str_of(text))) >= 0; seen++)
            rest = str_skip(rest, (size_t)at + strlen(text));
        if (seen >= times)
            return;
        if (!open || now_ms() > until)
            print_error("waited for %s, got: %.*s\n", text, STR_ARG(buf_str(got)));
        assert_true(open && now_ms() < until);
        loop_turn(f->loop, TURN_MS);
    }
}

static inline void await_close(struct fixture *f, int fd, struct buf *got)
{
    int64_t until = now_ms() + PATIENCE_MS;

    while (receive(fd, got)) {
        assert_true(now_ms() < until);
        loop_turn(f->loop, TURN_MS);
    }
}

#define AWAIT(f, condition)                                                                        \
    do {                                                                                           \
        int64_t until_ = now_ms() + PATIENCE_MS;                                                   \
        while (!(condition)) {                                                                     \
            assert_true(now_ms() < until_);                                                        \
            loop_turn((f)->loop, TURN_MS);                                                         \
        }                                                                                          \
    } while (0)

static inline bool has(const struct buf *got, const char *text)
{
    return str_find(buf_str(got), str_of(text)) >= 0;
}

/* A connection of its own: sends, reads to the end of the connection. */
static inline struct buf whole_talk(struct fixture *f, struct str bytes)
{
    struct buf got;
    int fd = dial(f);

    buf_init(&got, RECEIVED_MAX);
    send_bytes(f, fd, bytes);
    await_close(f, fd, &got);
    close(fd);
    return got;
}

static inline void refused_with(struct fixture *f, struct str bytes, const char *status_line)
{
    struct buf got = whole_talk(f, bytes);

    if (!str_starts(buf_str(&got), str_of(status_line)))
        print_error("wanted %s, got %.*s\n", status_line, STR_ARG(buf_str(&got)));
    assert_true(str_starts(buf_str(&got), str_of(status_line)));
    assert_true(has(&got, "\r\nConnection: close\r\n"));
    assert_true(has(&got, "Content-Type: application/problem+json"));
    assert_true(has(&got, "\"detail\":\""));
    assert_true(got.at[got.len - 1] == '}'); /* a whole body that says what was wrong */
    buf_finish(&got);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

#endif
