/*
 * tests/unit/store/redis_refused: a Redis that cannot be used, a server that is not a Redis and
 * sends anything, and addresses; each is refused with its reason.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/listener.h"
#include "redis_server.h"
#include "store/redis.h"
#include "../runner.h"

static struct redis_server server;
static struct loop *loop;
static struct store *store;
static char why[REDIS_WHY_MAX];
static char url[512];

static struct store *open_at(const char *address)
{
    return redis_store_open(&(struct redis_opts){ .url = address, .loop = loop }, why);
}

static int setup(void **state)
{
    (void)state;
    loop = loop_create();
    server = (struct redis_server){ 0 };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (store)
        store->ops->destroy(store);
    store = NULL;
    loop_destroy(loop);
    if (server.folder[0])
        server_stop(&server);
    return 0;
}

/* --- servers that will not do --- */

static void a_wrong_password_is_said_and_not_repeated(void **state)
{
    (void)state;

    server.args[0] = "--requirepass";
    server.args[1] = "right-password";
    snprintf(server.password, sizeof(server.password), "%s", "right-password");
    server_start(&server);
    snprintf(url, sizeof(url), "redis://:wrong-password@127.0.0.1:%d", server.port);
    int64_t began = clock_mono(clock_system());
    assert_null(open_at(url));
    assert_true(clock_mono(clock_system()) - began < 3000); /* it does not get better by waiting */
    assert_non_null(strstr(why, "does not accept the user and password"));
    assert_null(strstr(why, "wrong-password"));
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", server.port);
    assert_null(open_at(url));
    assert_non_null(strstr(why, "wants a password"));
}

static void a_database_that_is_not_there_is_said(void **state)
{
    (void)state;

    server_start(&server);
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d/99", server.port);
    assert_null(open_at(url));
    assert_non_null(strstr(why, "does not let us select the database"));
}

static void settings_that_cannot_keep_the_promise_are_refused_when_strict(void **state)
{
    (void)state;

    server_start(&server);
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d?strict=1", server.port);
    assert_null(open_at(url));
    assert_non_null(strstr(why, "appendonly yes"));
    server_do(&server, "CONFIG SET appendonly yes");
    server_do(&server, "CONFIG SET maxmemory-policy allkeys-lru");
    assert_null(open_at(url));
    assert_non_null(strstr(why, "noeviction"));
    server_do(&server, "CONFIG SET maxmemory-policy noeviction");
    server_do(&server, "CONFIG SET appendfsync no");
    assert_null(open_at(url));
    assert_non_null(strstr(why, "appendfsync"));
    server_do(&server, "CONFIG SET appendfsync everysec");
    store = open_at(url);
    assert_non_null(store);
}

static void nobody_there_is_said_with_the_address(void **state)
{
    (void)state;

    snprintf(url, sizeof(url), "redis://user:secret@127.0.0.1:%d?timeout=300", server_free_port());
    assert_null(open_at(url));
    assert_non_null(strstr(why, "redis://127.0.0.1:"));
    assert_non_null(strstr(why, "refused"));
    assert_null(strstr(why, "secret"));
    assert_null(open_at("redis+unix:///nonexistent/socket?timeout=300"));
    assert_non_null(strstr(why, "/nonexistent/socket"));
}

/* --- a server that is none --- */

struct liar {
    struct listener *listener;
    const char *says;
    size_t len;
    size_t times;
    int open;
};

static void liar_read(struct stream *stream, struct str bytes)
{
    struct liar *liar = stream->owner;

    (void)bytes;
    for (size_t i = 0; i < liar->times; i++)
        stream_write(stream, &(struct str){ liar->says, liar->len }, 1);
}

static void liar_end(struct stream *stream, int error)
{
    (void)error;
    stream_close(stream);
}

static void liar_closed(struct stream *stream)
{
    struct liar *liar = stream->owner;

    liar->open--;
}

static const struct stream_events liar_events = { liar_read, liar_end, NULL, liar_closed };

static void liar_accepted(struct stream *stream, const struct peer *peer, void *data)
{
    struct liar *liar = data;

    (void)peer;
    liar->open++;
    stream_own(stream, &liar_events, liar);
    stream_read_start(stream);
}

static void bytes_that_are_no_reply_are_an_error_and_bounded(void **state)
{
    static const struct {
        struct str says;
        size_t times;
    } lies[] = {
        { STR_INIT("HTTP/1.1 400 Bad Request\r\n\r\n"), 1 },
        { STR_INIT("*2147483647\r\n"), 1 },
        { STR_INIT("*1000000\r\n*1000000\r\n"), 1 },
        { STR_INIT("*9223372036854775807\r\n"), 1 },
        { STR_INIT("$99999999999999999999\r\n"), 1 },
        { STR_INIT("$536870912\r\nx"), 1 },
        { STR_INIT("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"), 1 },
        { STR_INIT("+a line that never ends, and goes on, and on, and on"), 4000 },
        { STR_INIT("\0\0\0\0"), 1 },
        { STR_INIT(":1\r\n"), 100 },
        { STR_INIT("$-1\r\n"), 100 },
        { STR_INIT("*-1\r\n"), 100 },
        { STR_INIT("+OK\r\n"), 100 },
        { STR_INIT("-LOADING Redis is loading the dataset in memory\r\n"), 20 },
    };
    (void)state;

    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct liar liar = { .says = lies[i].says.at,
                             .len = lies[i].says.len,
                             .times = lies[i].times };
        assert_int_equal(
            listener_open(loop, STR("127.0.0.1"), 0, liar_accepted, &liar, &liar.listener), NOD_OK);
        snprintf(url, sizeof(url), "redis://127.0.0.1:%d?timeout=200",
                 listener_port(liar.listener));
        assert_null(open_at(url));
        assert_non_null(strstr(why, "redis://127.0.0.1:"));
        assert_true(strlen(why) > strlen("redis://127.0.0.1:12345/0: "));
        listener_close(liar.listener);
        for (int j = 0; liar.open && j < 1000; j++)
            loop_turn(loop, 10);
        assert_int_equal(liar.open, 0);
    }
}

/* --- addresses --- */

static void an_address_is_read_or_refused_with_its_reason(void **state)
{
    static const struct {
        const char *address;
        const char *shown;  /* NULL: refused */
        const char *reason; /* a part of it */
    } known[] = {
        { "redis://h", "redis://h:6379/0", NULL },
        { "redis://", "redis://127.0.0.1:6379/0", NULL },
        { "rediss://u:p@h:1/2", "rediss://h:1/2", NULL },
        { "redis://:a%40b%3A@h", "redis://h:6379/0", NULL },
        { "redis://[::1]:7", "redis://::1:7/0", NULL },
        { "redis+unix:///a/b?db=3", "redis+unix:///a/b, database 3", NULL },
        { "unix:///a", "redis+unix:///a, database 0", NULL },
        { "redis://h?prefix=x%3A&timeout=1&strict=1", "redis://h:6379/0", NULL },
        { "http://h", NULL, "must begin with" },
        { "redis://h:0", NULL, "port" },
        { "redis://h:65536", NULL, "port" },
        { "redis://h:x", NULL, "port" },
        { "redis://h/x", NULL, "database" },
        { "redis://h/-1", NULL, "database" },
        { "redis://h?colour=red", NULL, "colour" },
        { "redis://h?timeout=0", NULL, "timeout=0" },
        { "redis://h?strict=yes", NULL, "strict=yes" },
        { "redis://h?prefix={a}", NULL, "prefix" },
        { "redis://u:%zz@h", NULL, "percent" },
        { "redis://u:%4@h", NULL, "percent" },
        { "redis://u:a%00@h", NULL, "percent" },
        { "redis://[::1", NULL, "bracket" },
        { "redis+unix://", NULL, "no socket" },
        { "redis+unix://h/a", NULL, "no socket" },
    };
    char shown[REDIS_WHY_MAX];
    (void)state;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        bool fine = redis_address_shown(known[i].address, shown, why);
        if (fine != (known[i].shown != NULL))
            fail_msg("%s: %s", known[i].address, fine ? "taken" : why);
        if (fine)
            assert_string_equal(shown, known[i].shown);
        else
            assert_non_null(strstr(why, known[i].reason));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(redis_refused)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_wrong_password_is_said_and_not_repeated),
        TEST(a_database_that_is_not_there_is_said),
        TEST(settings_that_cannot_keep_the_promise_are_refused_when_strict),
        TEST(nobody_there_is_said_with_the_address),
        TEST(bytes_that_are_no_reply_are_an_error_and_bounded),
        TEST(an_address_is_read_or_refused_with_its_reason),
    };

    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR, .fd = open("/dev/null", O_WRONLY) });
    return cmocka_run_group_tests_name("redis, refused", tests, NULL, NULL);
}
