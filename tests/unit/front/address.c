/*
 * tests/unit/front/address: networks, and whose X-Forwarded-For is believed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "front/address.h"
#include "../runner.h"

static bool has(const char *net, const char *address)
{
    struct cidr cidr;
    struct peer peer;

    assert_true(cidr_parse(str_of(net), &cidr));
    assert_true(peer_parse(str_of(address), &peer));
    return cidr_has(&cidr, &peer);
}

static void a_net_has_the_addresses_of_its_prefix(void **state)
{
    (void)state;
    assert_true(has("10.0.0.0/8", "10.255.0.1"));
    assert_false(has("10.0.0.0/8", "11.0.0.1"));
    assert_true(has("192.168.128.0/17", "192.168.200.1"));
    assert_false(has("192.168.128.0/17", "192.168.127.255"));
    assert_true(has("127.0.0.1", "127.0.0.1"));
    assert_false(has("127.0.0.1", "127.0.0.2"));
    assert_true(has("0.0.0.0/0", "8.8.8.8"));
    assert_false(has("0.0.0.0/0", "2001:db8::1"));
    assert_true(has("2001:db8::/32", "2001:db8:ffff::1"));
    assert_false(has("2001:db8::/32", "2001:db9::1"));
    assert_true(has("::1", "::1"));
    assert_true(has("::/0", "2001:db8::1"));
    assert_false(has("::/0", "10.0.0.1"));
    assert_true(has("10.0.0.0/8", "::ffff:10.1.2.3"));
}

static void what_is_no_net_is_refused(void **state)
{
    static const char *const wrong[] = { "",           "10.0.0.0/",   "10.0.0.0/33",  "10.0.0.1/8",
                                         "10.0.0/8",   "::1/129",     "::1/64",       "a.example",
                                         "10.0.0.0/x", "10.0.0.0/-1", "10.0.0.0/8/8", "/8",
                                         "10.0.0.0/+8" };
    struct cidr cidr;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (cidr_parse(str_of(wrong[i]), &cidr))
            fail_msg("took %s", wrong[i]);
}

/* The client's address of a request from `peer`, whose X-Forwarded-For has these lines. */
static const char *client_of(const char *peer, const char *first, const char *second)
{
    static char text[PEER_TEXT_MAX];
    struct cidr trusted[2];
    struct peer from = { 0 }, client;
    struct http_header headers[] = { { STR("Host"), STR("x") },
                                     { STR("x-forwarded-for"), str_of(first) },
                                     { STR("Accept"), STR("10.9.9.9") },
                                     { STR("X-Forwarded-For"), str_of(second ? second : "") } };
    struct http_request request = { .headers = headers,
                                    .header_count = second  ? 4
                                                    : first ? 3
                                                            : 1,
                                    .peer = &from };

    assert_true(cidr_parse(STR("10.0.0.0/8"), &trusted[0]));
    assert_true(cidr_parse(STR("2001:db8::/32"), &trusted[1]));
    assert_true(peer_parse(str_of(peer), &from));
    address_of(trusted, 2, &request, &client);
    struct str written = peer_text(&client, text);
    return written.at;
}

static void only_a_trusted_proxy_is_believed(void **state)
{
    (void)state;
    assert_string_equal(client_of("203.0.113.7", "198.51.100.1", NULL), "203.0.113.7");
    assert_string_equal(client_of("10.0.0.1", NULL, NULL), "10.0.0.1");
    assert_string_equal(client_of("10.0.0.1", "198.51.100.1", NULL), "198.51.100.1");
    assert_string_equal(client_of("2001:db8::1", "2001:db9::7", NULL), "2001:db9::7");
}

static void the_last_address_that_is_no_proxys_is_the_clients(void **state)
{
    (void)state;
    assert_string_equal(client_of("10.0.0.1", "1.1.1.1, 198.51.100.1, 10.0.0.2", NULL),
                        "198.51.100.1");
    assert_string_equal(client_of("10.0.0.1", "1.1.1.1", "198.51.100.1,10.0.0.2"), "198.51.100.1");
    assert_string_equal(client_of("10.0.0.1", "198.51.100.1", "10.0.0.3 , 10.0.0.2"),
                        "198.51.100.1");
    assert_string_equal(client_of("10.0.0.1", "10.0.0.3, 10.0.0.2", NULL), "10.0.0.3");
    assert_string_equal(client_of("10.0.0.1", "198.51.100.1:4711", NULL), "198.51.100.1");
    assert_string_equal(client_of("10.0.0.1", "[2001:db9::7]:4711", NULL), "2001:db9::7");
    assert_string_equal(client_of("10.0.0.1", "2001:db9::7", NULL), "2001:db9::7");
}

static void what_is_no_address_ends_the_search(void **state)
{
    static const char *const wrong[] = { "",
                                         ",",
                                         "unknown",
                                         "198.51.100.1,",
                                         "198.51.100.1, evil",
                                         "[::1",
                                         "198.51.100.1 10.0.0.2",
                                         "2001:db9::7:99999:1:1:1:1:1" };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_string_equal(client_of("10.0.0.1", wrong[i], NULL), "10.0.0.1");
    assert_string_equal(client_of("10.0.0.1", "198.51.100.1, x, 10.0.0.2", NULL), "10.0.0.2");
}

SUBJECT(address)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_net_has_the_addresses_of_its_prefix),
        cmocka_unit_test(what_is_no_net_is_refused),
        cmocka_unit_test(only_a_trusted_proxy_is_believed),
        cmocka_unit_test(the_last_address_that_is_no_proxys_is_the_clients),
        cmocka_unit_test(what_is_no_address_ends_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
