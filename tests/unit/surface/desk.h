/*
 * tests/unit/surface/desk: a server's inbox and its pages, over real HTTP, with a clock that is
 * moved by hand.
 *
 * The core is that of tests/unit/core/world: a memory store, and completions that the test turns.
 * Whoever comes has a token: ada and bob answer, root is an administrator.
 */
#ifndef NOD_TESTS_SURFACE_DESK_H
#define NOD_TESTS_SURFACE_DESK_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/record.h"
#include "json/value.h"

#define ADA  "ada-token-0123456789"
#define BOB  "bob-token-0123456789"
#define ROOT "root-token-0123456789"
#define FORM                                                                                       \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}"

int desk_setup(void **state);
int desk_teardown(void **state);

/* A call of the tool asks this principal, by a form or on a page of this server; the id of its
 * question. */
const char *desk_ask(const char *principal, const char *message, enum ask_page page);
/* How the last call ended; NULL: it has not. */
const char *desk_result(void);
/* Moves the clock. */
void desk_later(int64_t ms);
/* Somebody answers at another place than here, at once. */
void desk_elsewhere(const char *id, const char *by, enum ask_state action, const char *content);

/* A request, with the token of somebody or none; the status of the reply, whose body is then here.
 * The path is a format. */
int desk_get(const char *token, const char *path, ...) __attribute__((format(printf, 2, 3)));
int desk_post(const char *token, const char *body, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/* Sends the request so many times at once, while the store takes lists and does not answer; when
 * the requests are there, the first look fails. How often the store was asked, once all have ended
 * with `want`. */
int desk_get_while_away(const char *token, const char *path, int times, int want);
/* So many streams are open, and all know what there is. */
void desk_watch(const char *token, size_t count);
/* How many of them were told in one turn of the loop, at most, when all have been. */
size_t desk_told_at_once(void);
/* The same, of a heartbeat, and when the server stops. */
size_t desk_beaten_at_once(void);
size_t desk_ended_at_once(void);
const struct json *desk_body(void);
/* A member of the body, by its path with dots: "items.0.message". As JSON. */
const char *desk_at(const char *path);

#endif
