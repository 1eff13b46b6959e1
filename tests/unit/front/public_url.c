/*
 * tests/unit/front/public_url: the address under which clients reach a server.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "front/front.h"
#include "front/public_url.h"
#include "net/loop.h"
#include "../runner.h"

static void a_public_url_is_written_as_browsers_do(void **state)
{
    static const struct {
        const char *text, *origin, *host, *path;
    } cases[] = {
        { "https://nod.example.org", "https://nod.example.org", "nod.example.org", "" },
        { "HTTPS://Nod.Example.ORG/", "https://nod.example.org", "nod.example.org", "" },
        { "https://nod.example.org:443/a/B//", "https://nod.example.org", "nod.example.org",
          "/a/B" },
        { "https://nod.example.org:8443", "https://nod.example.org:8443", "nod.example.org:8443",
          "" },
        { "http://10.0.0.5:80", "http://10.0.0.5", "10.0.0.5", "" },
        { "http://[2001:DB8::1]:8080/x", "http://[2001:db8::1]:8080", "[2001:db8::1]:8080", "/x" },
    };
    struct arena arena;

    (void)state;
    arena_init(&arena, 65536);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct public_url url;
        const char *why;
        assert_true(public_url_read(str_of(cases[i].text), &arena, &url, &why));
        if (!str_eq(url.origin, str_of(cases[i].origin)) ||
            !str_eq(url.host, str_of(cases[i].host)) || !str_eq(url.path, str_of(cases[i].path)))
            fail_msg("%s became " STR_FMT " " STR_FMT " " STR_FMT, cases[i].text,
                     STR_ARG(url.origin), STR_ARG(url.host), STR_ARG(url.path));
        assert_int_equal(url.https, cases[i].origin[4] == 's');
    }
    arena_finish(&arena);
}

static void what_is_no_public_url_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "nod.example.org",
        "ftp://nod.example.org",
        "https://",
        "https:///x",
        "https://a@b",
        "https://a b",
        "https://a:0",
        "https://a:65536",
        "https://a:",
        "https://a:+1",
        "https://[::1",
        "https://[::g]",
        "https://[::1]x",
        "https://[::1]:",
        "https://a/b?c",
        "https://a/#b",
        "https://a/\r\nX: y",
        "https://a\"b",
        "://a",
    };
    struct arena arena;

    (void)state;
    arena_init(&arena, 65536);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct public_url url;
        const char *why;
        if (public_url_read(str_of(wrong[i]), &arena, &url, &why))
            fail_msg("took %s", wrong[i]);
    }
    arena_finish(&arena);
}

static bool links_to(const struct front *front, const char *expected)
{
    struct arena arena;

    arena_init(&arena, 4096);
    bool same = str_eq(front_link(front, STR("/x"), &arena), str_of(expected));
    arena_finish(&arena);
    return same;
}

static void a_link_begins_with_the_public_url_or_where_it_listens(void **state)
{
    struct loop *loop = loop_create();
    struct front *front = front_create(
        &(struct front_opts){ .loop = loop, .public_url = "https://nod.example.org/base/" });
    char expected[64];

    (void)state;
    assert_true(links_to(front, "https://nod.example.org/base/x"));
    assert_true(front_is_secure(front));
    front_destroy(front);

    front = front_create(&(struct front_opts){ .loop = loop });
    assert_true(links_to(front, "http://localhost/x"));
    assert_int_equal(front_listen(front, STR("127.0.0.1"), 0), NOD_OK);
    snprintf(expected, sizeof(expected), "http://127.0.0.1:%d/x", front_port(front, 0));
    assert_true(links_to(front, expected));
    assert_false(front_is_secure(front));
    front_destroy(front);

    assert_null(front_create(&(struct front_opts){ .loop = loop, .public_url = "nod" }));
    assert_null(front_create(&(struct front_opts){
        .loop = loop, .trusted_proxies = (const char *const[]){ "10.0.0.1/8", NULL } }));
    loop_turn(loop, 0);
    loop_destroy(loop);
}

SUBJECT(public_url)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_public_url_is_written_as_browsers_do),
        cmocka_unit_test(what_is_no_public_url_is_refused),
        cmocka_unit_test(a_link_begins_with_the_public_url_or_where_it_listens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
