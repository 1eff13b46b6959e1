/*
 * tests/unit/front/admit: decisions on the head of a request: where it comes from, who it is, what
 * it may do.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "front/front_inside.h"
#include "net/loop.h"
#include "../runner.h"

enum { HEADERS_MAX = 8 };

#define ADA  "ada-token-0123456789"
#define BOB  "bob-token-0123456789"
#define ROOT "root-token-0123456789"

static struct loop *loop;
static struct arena arena;
static struct tokens *tokens;
static struct front *front;
static struct http_ruling ruling;

static void handle(const struct front_request *request, void *data)
{
    (void)request;
    (void)data;
}

static void refused_so(struct buf *body, int status, struct str why)
{
    (void)status;
    buf_fmt(body, "no: " STR_FMT, STR_ARG(why));
}

static void open_front(bool with_tokens, const char *const *origins)
{
    struct str problem;

    loop = loop_create();
    arena_init(&arena, 65536);
    tokens = !with_tokens ? NULL
                          : tokens_parse(STR(ADA " ada\n" BOB " bob answer\n" ROOT " root admin\n"),
                                         STR("t"), &arena, &problem);
    assert_true(!with_tokens || tokens);
    front = front_create(
        &(struct front_opts){ .loop = loop, .tokens = tokens, .allowed_origins = origins });
    assert_non_null(front);
    assert_true(front_route(front, &(struct route){ .method = STR("POST"),
                                                    .pattern = STR("/do"),
                                                    .who = ROLE_ASK,
                                                    .handle = handle,
                                                    .refused = refused_so }));
    assert_true(front_route(front, &(struct route){ .method = STR("GET"),
                                                    .pattern = STR("/open"),
                                                    .anyone = true,
                                                    .handle = handle }));
}

static void close_front(void)
{
    front_destroy(front);
    tokens_destroy(tokens);
    arena_finish(&arena);
    loop_turn(loop, 0);
    loop_destroy(loop);
}

static const struct peer tcp = { .kind = PEER_IP4, .address = { 127, 0, 0, 1 } };

/* The status of the answer, or 0 with HTTP_SERVE, or 1 with HTTP_TRUST. `lines` are pairs. */
static int ruled_for(const struct peer *peer, const char *method, const char *path,
                     const char *const *lines)
{
    struct http_header headers[HEADERS_MAX] = { { STR("Host"), STR("localhost") } };
    struct http_request request = { .method = str_of(method),
                                    .path = str_of(path),
                                    .headers = headers,
                                    .header_count = 1,
                                    .peer = peer };

    for (; *lines; lines += 2) {
        bool host = strcmp(lines[0], "Host") == 0;
        assert_true(request.header_count < HEADERS_MAX);
        headers[host ? 0 : request.header_count++] =
            (struct http_header){ str_of(lines[0]), str_of(lines[1]) };
    }
    ruling = (struct http_ruling){ 0 };
    switch (gate_head(&request, &ruling, front)) {
    case HTTP_ANSWER:
        return ruling.status;
    case HTTP_SERVE:
        return 0;
    default:
        return 1;
    }
}

#define RULED(method, path, ...)                                                                   \
    ruled_for(&tcp, method, path, (const char *const[]){ __VA_ARGS__, NULL })
#define RULED_FOR(peer, method, path, ...)                                                         \
    ruled_for(peer, method, path, (const char *const[]){ __VA_ARGS__, NULL })
#define PLAIN "Accept", "*/*"

static struct str principal(void)
{
    return ((const struct principal *)ruling.mark.who)->name;
}

static struct str header(const char *name)
{
    for (size_t i = 0; i < ruling.header_count; i++)
        if (str_eq_nocase(ruling.headers[i].name, str_of(name)))
            return ruling.headers[i].value;
    return STR_NONE;
}

static void without_tokens_it_is_the_local_user_who_may_everything(void **state)
{
    (void)state;
    open_front(false, NULL);
    assert_int_equal(RULED("POST", "/do", PLAIN), 1);
    assert_true(str_eq(principal(), STR("local")));
    assert_int_equal(((const struct principal *)ruling.mark.who)->roles, ROLES_ALL);
    assert_int_equal(ruling.who.len, 0);
    assert_int_equal(RULED("GET", "/open", PLAIN), 0);
    assert_null(ruling.mark.who);
    assert_int_equal(RULED("POST", "/none", PLAIN), 404);
    close_front();
}

static void over_a_unix_socket_it_counts_whose_process_it_is(void **state)
{
    const struct peer own = { .kind = PEER_LOCAL, .same_user = true };
    const struct peer other = { .kind = PEER_LOCAL };

    (void)state;
    open_front(false, NULL);
    assert_int_equal(RULED_FOR(&own, "POST", "/do", PLAIN), 1);
    assert_int_equal(RULED_FOR(&other, "POST", "/do", PLAIN), 401);
    assert_int_equal(RULED_FOR(&other, "POST", "/do", "Authorization", "Bearer " ADA), 401);
    close_front();

    open_front(true, NULL);
    assert_int_equal(RULED_FOR(&own, "POST", "/do", PLAIN), 1);
    assert_true(str_eq(principal(), STR("local")));
    assert_int_equal(RULED_FOR(&own, "POST", "/do", "Authorization", "Bearer " ADA), 1);
    assert_true(str_eq(principal(), STR("ada")));
    assert_int_equal(RULED_FOR(&own, "POST", "/do", "Authorization", "Bearer x"), 401);
    assert_int_equal(RULED_FOR(&other, "POST", "/do", PLAIN), 401);
    assert_int_equal(RULED_FOR(&other, "POST", "/do", "Authorization", "Bearer " ADA), 1);
    assert_int_equal(RULED_FOR(&own, "POST", "/do", "X-Forwarded-For", "10.0.0.1"), 401);
    assert_int_equal(RULED_FOR(&own, "POST", "/do", "Forwarded", "for=10.0.0.1"), 401);
    static const char *const marks[] = { "X-Real-IP", "Via", "X-Forwarded-Host",
                                         "X-Forwarded-Proto", "x-forwarded-port" };
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        assert_int_equal(RULED_FOR(&own, "POST", "/do", marks[i], "x"), 401);
    close_front();
}

static void a_role_that_is_wanted_is_needed(void **state)
{
    (void)state;
    open_front(true, NULL);
    assert_int_equal(RULED("POST", "/do", PLAIN), 401);
    assert_int_equal(RULED("POST", "/do", "Authorization", "Bearer " ADA), 1);
    assert_true(str_eq(ruling.who, STR("ada")));
    assert_int_equal(RULED("POST", "/do", "Authorization", "Bearer " ROOT), 1);
    assert_int_equal(RULED("POST", "/do", "Authorization", "Bearer " BOB), 403);
    assert_true(str_starts(ruling.body, STR("no: ")));
    assert_true(str_find(ruling.body, STR("it needs the role ask or admin")) > 0);
    close_front();
}

static void who_has_no_token_does_not_learn_the_methods_of_a_guarded_path(void **state)
{
    (void)state;
    open_front(true, NULL);
    assert_int_equal(RULED("PUT", "/do", PLAIN), 401);
    assert_int_equal(RULED("PUT", "/do", "Authorization", "Bearer " BOB), 405);
    assert_true(str_eq(header("Allow"), STR("POST")));
    assert_int_equal(RULED("PUT", "/open", PLAIN), 405);
    assert_true(str_eq(header("Allow"), STR("GET, HEAD")));
    assert_int_equal(RULED("HEAD", "/open", PLAIN), 0);
    close_front();
}

static void a_host_or_an_origin_that_is_not_allowed_comes_before_all_else(void **state)
{
    (void)state;
    open_front(false, NULL);
    assert_int_equal(RULED("POST", "/do", "Host", "evil.example"), 403);
    assert_true(str_starts(ruling.body, STR("no: ")));
    assert_int_equal(RULED("GET", "/open", "Host", "evil.example"), 403);
    assert_true(str_starts(ruling.body, STR("{\"error\":")));
    assert_int_equal(RULED("GET", "/none", "Origin", "https://evil.example"), 403);
    assert_int_equal(RULED("GET", "/healthz", "Host", "10.0.0.1"), 403);
    close_front();
    open_front(true, NULL);
    assert_int_equal(RULED("GET", "/healthz", "Host", "10.0.0.1"), 0);
    assert_int_equal(RULED("GET", "/open", "Host", "10.0.0.1"), 403);
    close_front();
}

static void web_pages_of_allowed_origins_may_ask_and_read(void **state)
{
    static const char *const origins[] = { "https://app.example", NULL };
    static const char *const sent[] = { "X-One", "X-Many-*", NULL };

    (void)state;
    open_front(true, origins);
    front_web_headers(front, sent, "X-Told");
    assert_int_equal(RULED("OPTIONS", "/do", "Origin", "https://app.example",
                           "Access-Control-Request-Method", "POST",
                           "Access-Control-Request-Headers",
                           "authorization, x-one,X-Many-Two, x-many-, cookie"),
                     204);
    assert_true(str_eq(header("Access-Control-Allow-Methods"), STR("POST")));
    assert_true(
        str_eq(header("Access-Control-Allow-Headers"), STR("authorization, x-one, X-Many-Two")));
    assert_true(str_find(ruling.lines, STR("Expose-Headers: X-Told, WWW-Authenticate")) > 0);
    assert_int_equal(RULED("POST", "/do", "Origin", "https://app.example"), 401);
    assert_true(str_find(ruling.lines, STR("Allow-Origin: https://app.example\r\n")) > 0);
    assert_int_equal(RULED("OPTIONS", "/do", "Origin", "http://localhost:1",
                           "Access-Control-Request-Method", "POST"),
                     401);
    assert_int_equal(ruling.lines.len, 0);
    assert_int_equal(RULED("POST", "/do", "Origin", "https://other.example"), 403);
    close_front();
}

static void an_origin_that_no_browser_sends_cannot_be_allowed(void **state)
{
    static const char *const wrong[] = { "app.example", "https://", "https://a/b", "https://a b" };

    (void)state;
    loop = loop_create();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_null(front_create(&(struct front_opts){
            .loop = loop, .allowed_origins = (const char *const[]){ wrong[i], NULL } }));
    loop_turn(loop, 0);
    loop_destroy(loop);
}

static void failed_attempts_are_slowed_by_address_and_valid_ones_never(void **state)
{
    const struct peer other = { .kind = PEER_IP4, .address = { 127, 0, 0, 2 } };

    (void)state;
    open_front(true, NULL);
    for (int i = 0; i < 10; i++)
        assert_int_equal(RULED("POST", "/do", "Authorization", "Bearer wrong-token-0123456789"),
                         401);
    for (int64_t wait = 100; wait <= 3200; wait *= 2) {
        assert_int_equal(RULED("POST", "/do", "Authorization", "Bearer wrong-token-0123456789"), 0);
        assert_ptr_equal(ruling.mark.who, &slow_refused);
        assert_int_equal(ruling.mark.wait_ms, wait);
    }
    assert_int_equal(RULED("POST", "/do", "Authorization", "Bearer wrong-token-0123456789"), 0);
    assert_int_equal(ruling.mark.wait_ms, 5000);
    assert_int_equal(RULED("POST", "/do", PLAIN), 401); /* without a credential it is no attempt */
    assert_int_equal(RULED("POST", "/do", "Authorization", "Bearer " ADA), 1);
    assert_int_equal(
        RULED_FOR(&other, "POST", "/do", "Authorization", "Bearer wrong-token-0123456789"), 401);
    assert_int_equal(slow_count(front), 18);
    close_front();
}

SUBJECT(admit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_tokens_it_is_the_local_user_who_may_everything),
        cmocka_unit_test(over_a_unix_socket_it_counts_whose_process_it_is),
        cmocka_unit_test(a_role_that_is_wanted_is_needed),
        cmocka_unit_test(who_has_no_token_does_not_learn_the_methods_of_a_guarded_path),
        cmocka_unit_test(a_host_or_an_origin_that_is_not_allowed_comes_before_all_else),
        cmocka_unit_test(web_pages_of_allowed_origins_may_ask_and_read),
        cmocka_unit_test(an_origin_that_no_browser_sends_cannot_be_allowed),
        cmocka_unit_test(failed_attempts_are_slowed_by_address_and_valid_ones_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
