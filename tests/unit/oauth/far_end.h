/*
 * tests/unit/oauth/far_end: an authorization server on loopback, whose answers the test writes.
 *
 * It lives in the thread of the test: every wait turns the loop. Requests are counted by path, and
 * the last one of each kind is kept as it came. With `holds` the next requests wait for
 * far_end_release.
 */
#ifndef NOD_TESTS_OAUTH_FAR_END_H
#define NOD_TESTS_OAUTH_FAR_END_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "net/http.h"
#include "net/loop.h"
#include "oauth/oauth.h"

enum { FAR_END_HELD_MAX = 8, FAR_END_TEXT_MAX = 16384 };

struct far_end {
    struct loop *loop;
    struct http_server *server;
    char base[80];  /* http://127.0.0.1:PORT */
    char allow[64]; /* 127.0.0.1:PORT */
    /* Answers what has come; NULL: with `status` and `answer`. */
    void (*answers)(struct far_end *far, const struct http_request *request);
    int status;
    char answer[FAR_END_TEXT_MAX];
    int requests;
    char path[256], body[FAR_END_TEXT_MAX], authorization[FAR_END_TEXT_MAX];
    bool holds;
    struct http_exchange *held[FAR_END_HELD_MAX];
    int held_count;
};

void far_end_open(struct far_end *far, struct loop *loop);
void far_end_close(struct far_end *far);
void far_end_say(struct far_end *far, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Answers all that waits, with what is to be said now. */
void far_end_release(struct far_end *far);
/* A service there, with all of its endpoints and a public client. */
struct oauth_service_spec far_end_spec(struct far_end *far);
/* Turns the loop until it is true; fails if that takes too long. */
#define far_end_await(far, condition)                                                              \
    do {                                                                                           \
        int64_t until_ = loop_now((far)->loop) + PATIENCE_MS;                                      \
        while (!(condition) && loop_now((far)->loop) < until_)                                     \
            loop_turn((far)->loop, 5);                                                             \
        assert_true(condition);                                                                    \
    } while (0)

#endif
