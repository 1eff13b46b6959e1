/* tests/unit/net/fetch: requests to a real server on loopback, and to where they must not go. */
#include <arpa/inet.h>

#include "net/fetch.h"
#include "http_talk.h"
#include "../runner.h"

enum { LARGE = 200 * 1024 };

struct told {
    int count;
    struct fetch_result result;
    char body[512];
    char why[FETCH_WHY_MAX];
};

static void on_done(void *data, const struct fetch_result *result)
{
    struct told *told = data;

    told->count++;
    told->result = *result;
    snprintf(told->body, sizeof(told->body), STR_FMT, STR_ARG(result->body));
    snprintf(told->why, sizeof(told->why), STR_FMT, STR_ARG(result->why));
}

struct scene {
    struct fixture *f;
    struct reach reach;
    struct fetcher *fetcher;
    int port;
    char url[256];
};

/* What the far end does, by path; the rest is http_talk's. */
static void far_end(struct http_exchange *exchange, const struct http_request *request, void *data)
{
    struct fixture *f = data;

    if (str_eq(request->path, STR("/redirect"))) {
        const struct http_header to = { STR("Location"), STR("/elsewhere") };
        f->requests++;
        http_reply(exchange, 302, &to, 1, STR("go away"));
    } else if (str_eq(request->path, STR("/large"))) {
        char *body = calloc(1, LARGE);
        http_reply(exchange, 200, NULL, 0, str_n(body, LARGE));
        free(body);
    } else if (str_eq(request->path, STR("/endless"))) {
        char *body = calloc(1, LARGE);
        http_begin(exchange, 200, STR_NONE, NULL, 0); /* in chunks: its length is not told before */
        http_write(exchange, str_n(body, LARGE));
        http_end(exchange);
        free(body);
    } else {
        on_request(exchange, request, data);
    }
}

static struct scene begin(void **state, bool named)
{
    struct scene s = { .f = *state };
    struct http_opts opts = { .limits = s.f->limits, .on_request = far_end, .data = s.f };
    char target[64];

    assert_int_equal(http_listen(s.f->loop, STR("127.0.0.1"), 0, &opts, &s.f->server), NOD_OK);
    s.port = http_port(s.f->server);
    snprintf(target, sizeof(target), "127.0.0.1:%d", s.port);
    if (named)
        assert_true(reach_allow(&s.reach, str_of(target)));
    return s;
}

static void open_fetcher(struct scene *s)
{
    s->fetcher = fetcher_create(s->f->loop, &(struct fetcher_opts){ .reach = &s->reach });
    assert_non_null(s->fetcher);
}

static struct str url_of(struct scene *s, const char *host, const char *path)
{
    snprintf(s->url, sizeof(s->url), "http://%s:%d%s", host, s->port, path);
    return str_of(s->url);
}

static void await(struct scene *s, const struct told *told, int count)
{
    int64_t until = now_ms() + PATIENCE_MS;

    while (told->count < count && now_ms() < until)
        loop_turn(s->f->loop, TURN_MS);
    assert_int_equal(told->count, count);
}

static void get(struct scene *s, struct told *told, struct str url)
{
    *told = (struct told){ 0 };
    assert_non_null(fetch_begin(s->fetcher, &(struct fetch_opts){ .url = url }, on_done, told));
    assert_int_equal(told->count, 0); /* later, never from inside */
    await(s, told, 1);
}

static void a_request_goes_out_and_its_response_comes_back(void **state)
{
    struct scene s = begin(state, true);
    const struct http_header header = { STR("Content-Type"), STR("application/json") };
    struct told told = { 0 };

    open_fetcher(&s);
    for (int i = 1; i <= 3; i++) { /* the second and third on the connection of the first */
        struct fetch_opts opts = { .method = STR("POST"),
                                   .url = url_of(&s, "127.0.0.1", "/hook?x=1"),
                                   .headers = &header,
                                   .header_count = 1,
                                   .body = STR("{\"a\":1}") };
        assert_non_null(fetch_begin(s.fetcher, &opts, on_done, &told));
        await(&s, &told, i);
        assert_int_equal(told.result.end, FETCH_DONE);
        assert_int_equal(told.result.status, 200);
        assert_string_equal(told.body, "POST /hook {\"a\":1}");
    }
    get(&s, &told, url_of(&s, "localhost", "/named"));
    assert_string_equal(told.body, "GET /named ");
    assert_int_equal(s.f->requests, 4);
    fetcher_destroy(s.fetcher);
}

/* How many connections the far end has, once that many are left. */
static void await_connections(struct scene *s, size_t count)
{
    struct http_figures figures;
    int64_t until = now_ms() + PATIENCE_MS;

    do {
        loop_turn(s->f->loop, TURN_MS);
        http_figures(s->f->server, &figures);
    } while (figures.connections != count && now_ms() < until);
    assert_int_equal(figures.connections, count);
}

static void a_fetcher_that_forgets_keeps_no_connection(void **state)
{
    struct scene s = begin(state, true);
    struct told told, other = { 0 };

    open_fetcher(&s);
    get(&s, &told, url_of(&s, "127.0.0.1", "/kept"));
    await_connections(&s, 1);
    fetcher_destroy(s.fetcher);
    await_connections(&s, 0);
    s.fetcher =
        fetcher_create(s.f->loop, &(struct fetcher_opts){ .reach = &s.reach, .forgets = true });
    for (int i = 1; i <= 3; i++) {
        struct fetch_opts opts = { .url = url_of(&s, "127.0.0.1", "/other") };
        assert_non_null(fetch_begin(s.fetcher, &opts, on_done, &other));
        get(&s, &told, url_of(&s, "127.0.0.1", "/forgotten"));
        assert_string_equal(told.body, "GET /forgotten ");
        await(&s, &other, i);
        await_connections(&s, 0);
    }
    fetcher_destroy(s.fetcher);
}

/* A name that leads to this machine, and every way to write its address. */
static void an_address_that_is_not_public_is_not_reached_unless_it_is_named(void **state)
{
    static const char *const hosts[] = { "127.0.0.1",  "localhost",          "127.1",
                                         "0x7f000001", "[::ffff:127.0.0.1]", "2130706433",
                                         "0.0.0.0",    "0177.0.0.1" };
    static const char *const others[] = {
        "http://[::1]/",           "http://169.254.169.254/latest",
        "http://10.0.0.1/",        "http://[64:ff9b::7f00:1]/",
        "http://[fd00:ec2::254]/", "http://100.64.0.1/"
    };
    struct scene s = begin(state, false);
    struct told told;

    open_fetcher(&s);
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        get(&s, &told, url_of(&s, hosts[i], "/secret"));
        assert_int_equal(told.result.end, FETCH_REFUSED);
        assert_non_null(strstr(told.why, "is not a public address"));
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        get(&s, &told, str_of(others[i]));
        assert_int_equal(told.result.end, FETCH_REFUSED);
    }
    assert_int_equal(s.f->requests, 0);

    /* Another port of a named address is not named. */
    assert_true(reach_allow(&s.reach, STR("127.0.0.1:1")));
    get(&s, &told, url_of(&s, "127.0.0.1", "/secret"));
    assert_int_equal(told.result.end, FETCH_REFUSED);
    assert_int_equal(s.f->requests, 0);
    fetcher_destroy(s.fetcher);
}

static void a_redirect_is_not_followed(void **state)
{
    struct scene s = begin(state, true);
    struct told told;

    open_fetcher(&s);
    get(&s, &told, url_of(&s, "127.0.0.1", "/redirect"));
    assert_int_equal(told.result.end, FETCH_DONE);
    assert_int_equal(told.result.status, 302);
    assert_int_equal(s.f->requests, 1);
    fetcher_destroy(s.fetcher);
}

static void a_response_that_is_too_large_is_refused(void **state)
{
    struct scene s = begin(state, true);
    struct told told;

    open_fetcher(&s);
    get(&s, &told, url_of(&s, "127.0.0.1", "/large"));
    assert_int_equal(told.result.end, FETCH_TOO_LARGE);
    get(&s, &told, url_of(&s, "127.0.0.1", "/endless"));
    assert_int_equal(told.result.end, FETCH_TOO_LARGE);
    fetcher_destroy(s.fetcher);
}

static void a_response_that_takes_too_long_is_given_up(void **state)
{
    struct scene s = begin(state, true);
    struct told told = { 0 };
    struct fetch_opts opts = { .url = url_of(&s, "127.0.0.1", "/hold"), .timeout_ms = 60 };

    open_fetcher(&s);
    int64_t since = loop_now(s.f->loop); /* which may be behind, if the machine was busy */
    assert_non_null(fetch_begin(s.fetcher, &opts, on_done, &told));
    await(&s, &told, 1);
    assert_int_equal(told.result.end, FETCH_TOO_LATE);
    assert_string_equal(told.why, "it did not answer within 60 ms");
    assert_true(loop_now(s.f->loop) - since >= 50);
    fetcher_destroy(s.fetcher);
}

static void nobody_there_is_a_failure(void **state)
{
    struct scene s = begin(state, true);
    struct told told;

    open_fetcher(&s);
    url_of(&s, "127.0.0.1", "/");
    http_close(s.f->server);
    s.f->server = NULL;
    get(&s, &told, str_of(s.url));
    assert_int_equal(told.result.end, FETCH_FAILED);
    assert_string_equal(told.why, "nothing listens there (connection refused)");
    get(&s, &told, STR("http://no-such-name.invalid/"));
    assert_int_equal(told.result.end, FETCH_FAILED);
    if (strcmp(told.why, "nobody knows this name") != 0) /* a machine without a resolver */
        assert_string_equal(told.why, "names cannot be looked up at the moment");
    fetcher_destroy(s.fetcher);
}

/* Before anything, during the lookup, and while the far end thinks: done() is never called. */
static void a_fetch_can_be_cancelled_at_any_moment(void **state)
{
    static const char *const hosts[] = { "127.0.0.1", "localhost" };
    struct scene s = begin(state, true);
    struct told told = { 0 };
    int held = 0;

    open_fetcher(&s);
    for (int i = 0; i < 6; i++) {
        struct fetch_opts opts = { .url = url_of(&s, hosts[i % 2], "/hold") };
        struct fetch *fetch = fetch_begin(s.fetcher, &opts, on_done, &told);
        assert_non_null(fetch);
        if (i >= 2) {
            int64_t until = now_ms() + PATIENCE_MS;
            while (s.f->held_count == held && now_ms() < until)
                loop_turn(s.f->loop, TURN_MS);
            held = s.f->held_count;
        }
        fetch_cancel(fetch);
        loop_turn(s.f->loop, 0);
    }
    assert_int_equal(held, 4);
    for (int64_t until = now_ms() + PATIENCE_MS; s.f->gone < 4 && now_ms() < until;)
        loop_turn(s.f->loop, TURN_MS);
    assert_int_equal(s.f->gone, 4); /* the far end sees it */
    assert_int_equal(told.count, 0);
    fetcher_destroy(s.fetcher);
}

/* With fetches in each state; teardown then destroys the loop under what is left of them. */
static void a_fetcher_can_go_while_fetches_are_under_way(void **state)
{
    static const char *const hosts[] = { "127.0.0.1", "localhost", "no-such-name.invalid" };
    struct scene s = begin(state, true);
    struct told told = { 0 };

    open_fetcher(&s);
    assert_non_null(fetch_begin(s.fetcher,
                                &(struct fetch_opts){ .url = url_of(&s, "127.0.0.1", "/hold") },
                                on_done, &told));
    for (int64_t until = now_ms() + PATIENCE_MS; !s.f->held_count && now_ms() < until;)
        loop_turn(s.f->loop, TURN_MS);
    for (size_t i = 0; i < 3; i++)
        assert_non_null(fetch_begin(s.fetcher,
                                    &(struct fetch_opts){ .url = url_of(&s, hosts[i], "/hold") },
                                    on_done, &told));
    fetcher_destroy(s.fetcher);
    assert_int_equal(told.count, 0);
}

static void more_than_the_most_are_not_begun(void **state)
{
    struct scene s = begin(state, true);
    struct told told = { 0 };
    struct fetch_opts opts = { .url = url_of(&s, "127.0.0.1", "/x") };

    open_fetcher(&s);
    for (int i = 0; i < FETCH_AT_ONCE_MAX; i++)
        assert_non_null(fetch_begin(s.fetcher, &opts, on_done, &told));
    assert_null(fetch_begin(s.fetcher, &opts, on_done, &told));
    await(&s, &told, FETCH_AT_ONCE_MAX);
    assert_non_null(fetch_begin(s.fetcher, &opts, on_done, &told));
    await(&s, &told, FETCH_AT_ONCE_MAX + 1);
    fetcher_destroy(s.fetcher);
}

static void a_proxy_of_the_environment_is_not_used(void **state)
{
    struct scene s = begin(state, true);
    struct told told;

    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    open_fetcher(&s);
    get(&s, &told, url_of(&s, "127.0.0.1", "/direct"));
    assert_string_equal(told.body, "GET /direct ");
    fetcher_destroy(s.fetcher);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
}

static void only_urls_of_http_fit(void **state)
{
    static const char *const wrong[] = { "",
                                         "example.org",
                                         "//example.org/x",
                                         "ftp://example.org/",
                                         "file:///etc/passwd",
                                         "gopher://127.0.0.1:6379/_FLUSHALL",
                                         "unix:/tmp/x",
                                         "http://",
                                         "http:///127.0.0.1:9/x",
                                         "http:/127.0.0.1:9/x",
                                         "http://user@example.org/",
                                         "http://user:secret@example.org/",
                                         "http://example.org./",
                                         "http://b\303\274cher.example/",
                                         "http://exa mple.org/",
                                         "http://example.org:99999/" };
    struct scene s = begin(state, true);
    struct told told = { 0 };
    const char *why;

    open_fetcher(&s);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(fetch_url_fits(str_of(wrong[i]), &why));
        assert_non_null(why);
        assert_null(fetch_begin(s.fetcher, &(struct fetch_opts){ .url = str_of(wrong[i]) }, on_done,
                                &told));
    }
    assert_true(fetch_url_fits(STR("https://example.org/hook?key=1"), &why));
    assert_true(fetch_url_fits(STR("http://[2606:4700::1111]:8080/"), &why));
    assert_int_equal(told.count, 0);
    fetcher_destroy(s.fetcher);
}

static void a_header_cannot_begin_another_line(void **state)
{
    struct scene s = begin(state, true);
    const struct http_header evil = { STR("X-A"), STR("a\r\nX-B: b") };
    struct told told = { 0 };
    struct fetch_opts opts = { .url = url_of(&s, "127.0.0.1", "/"),
                               .headers = &evil,
                               .header_count = 1 };

    open_fetcher(&s);
    assert_null(fetch_begin(s.fetcher, &opts, on_done, &told));
    fetcher_destroy(s.fetcher);
}

static void what_is_public_and_what_is_not(void **state)
{
    static const char *const public[] = {
        "8.8.8.8",      "1.1.1.1",     "100.63.255.255", "100.128.0.1",     "172.15.0.1",
        "172.32.0.1",   "192.0.1.1",   "198.17.0.1",     "223.255.255.255", "2606:4700:4700::1111",
        "2a00:1450::1", "2001:200::1", "::ffff:8.8.8.8"
    };
    static const char *const not [] = { "0.0.0.0",
                                        "0.1.2.3",
                                        "10.255.255.255",
                                        "100.64.0.1",
                                        "100.127.255.255",
                                        "100.100.100.200",
                                        "127.0.0.1",
                                        "127.255.255.254",
                                        "168.63.129.16",
                                        "169.254.169.254",
                                        "172.16.0.1",
                                        "172.31.255.255",
                                        "192.0.0.192",
                                        "192.0.2.1",
                                        "192.88.99.1",
                                        "192.168.0.1",
                                        "198.18.0.1",
                                        "198.19.255.255",
                                        "198.51.100.1",
                                        "203.0.113.1",
                                        "224.0.0.1",
                                        "239.255.255.255",
                                        "240.0.0.1",
                                        "255.255.255.255",
                                        "::",
                                        "::1",
                                        "::ffff:127.0.0.1",
                                        "::ffff:10.0.0.1",
                                        "::127.0.0.1",
                                        "64:ff9b::8.8.8.8",
                                        "64:ff9b::7f00:1",
                                        "64:ff9b:1::1",
                                        "100::1",
                                        "2001::1",
                                        "2001:db8::1",
                                        "2002:7f00:1::",
                                        "3fff::1",
                                        "fc00::1",
                                        "fd00:ec2::254",
                                        "fe80::1",
                                        "fec0::1",
                                        "ff02::1" };
    struct peer peer;

    (void)state;
    for (size_t i = 0; i < sizeof(public) / sizeof(public[0]); i++) {
        assert_true(peer_parse(str_of(public[i]), &peer));
        assert_true(reach_is_public(&peer));
    }
    for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++) {
        assert_true(peer_parse(str_of(not [i]), &peer));
        if (reach_is_public(&peer))
            fail_msg("%s", not [i]);
    }
}

static void a_target_is_named_as_address_and_port(void **state)
{
    static const char *const wrong[] = { "",          ":80",          "10.0.0.1",
                                         "10.0.0.1:", "10.0.0.1:0",   "10.0.0.1:70000",
                                         "name:80",   "::1:80",       "[::1]",
                                         "[::1]80",   "10.0.0.0/8:80" };
    struct reach reach = { 0 };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(443) };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(reach_allow(&reach, str_of(wrong[i])));
    inet_pton(AF_INET6, "fd00::7", &six.sin6_addr);
    assert_false(reach_permits(&reach, (const struct sockaddr *)&six));
    assert_true(reach_allow(&reach, STR("[fd00::7]:443")));
    assert_true(reach_permits(&reach, (const struct sockaddr *)&six));
    six.sin6_port = htons(444);
    assert_false(reach_permits(&reach, (const struct sockaddr *)&six));
    for (size_t i = 1; i < REACH_ALLOWED_MAX; i++)
        assert_true(reach_allow(&reach, STR("10.0.0.1:80")));
    assert_false(reach_allow(&reach, STR("10.0.0.1:80")));
}

SUBJECT(fetch)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_request_goes_out_and_its_response_comes_back),
        TEST(an_address_that_is_not_public_is_not_reached_unless_it_is_named),
        TEST(a_fetcher_that_forgets_keeps_no_connection),
        TEST(a_redirect_is_not_followed),
        TEST(a_response_that_is_too_large_is_refused),
        TEST(a_response_that_takes_too_long_is_given_up),
        TEST(nobody_there_is_a_failure),
        TEST(a_fetch_can_be_cancelled_at_any_moment),
        TEST(a_fetcher_can_go_while_fetches_are_under_way),
        TEST(more_than_the_most_are_not_begun),
        TEST(a_proxy_of_the_environment_is_not_used),
        TEST(only_urls_of_http_fit),
        TEST(a_header_cannot_begin_another_line),
        cmocka_unit_test(what_is_public_and_what_is_not),
        cmocka_unit_test(a_target_is_named_as_address_and_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
