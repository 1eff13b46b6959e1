/*
 * tests/unit/front/origin: the rules for Host and Origin.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "front/origin.h"
#include "../runner.h"

static void only_loopback_and_allowed_hosts_pass(void **state)
{
    static const struct str own[] = { STR_INIT("10.0.0.5"), STR_INIT("unix:/run/nod.sock") };
    static const struct str hosts[] = { STR_INIT("nod.example"), STR_INIT("b.example:8443") };
    const struct origin_rules rules = {
        .own = own, .own_count = 2, .hosts = hosts, .host_count = 2
    };
    static const char *const fine[] = { "localhost",    "LOCALHOST:80",   "127.0.0.1:1",
                                        "127.9.9.9",    "[::1]",          "[::1]:8080",
                                        "nod.example",  "nod.example:99", "b.example:8443",
                                        "10.0.0.5:8080" };
    static const char *const wrong[] = { "",
                                         "evil.example",
                                         "localhost.evil.example",
                                         "127.0.0.1.evil.example",
                                         "localhost:",
                                         "localhost:x",
                                         "localhost:99999",
                                         "[::1",
                                         "[::2]",
                                         "b.example",
                                         "b.example:1",
                                         "128.0.0.1",
                                         "127.0.0.1:80@evil",
                                         ":80" };

    (void)state;
    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
        if (!origin_host_ok(&rules, str_of(fine[i])))
            fail_msg("refused %s", fine[i]);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (origin_host_ok(&rules, str_of(wrong[i])))
            fail_msg("let through %s", wrong[i]);
    assert_false(origin_host_ok(&rules, STR("127.0.0.1\0x")));
}

static void only_loopback_and_allowed_origins_pass(void **state)
{
    static const struct str origins[] = { STR_INIT("https://app.example") };
    const struct origin_rules rules = { .origins = origins, .origin_count = 1 };

    (void)state;
    assert_true(origin_ok(&rules, STR_NONE));
    assert_true(origin_ok(&rules, STR("http://localhost:6274")));
    assert_true(origin_ok(&rules, STR("https://127.0.0.1")));
    assert_true(origin_ok(&rules, STR("https://app.example")));
    assert_false(origin_ok(&rules, STR("null")));
    assert_false(origin_ok(&rules, STR("http://app.example")));
    assert_false(origin_ok(&rules, STR("https://app.example.evil")));
    assert_false(origin_ok(&rules, STR("http://localhost.evil.example")));
    assert_false(origin_ok(&rules, STR("file://localhost")));
    assert_true(origin_is_loopback(STR("unix:/tmp/x")));
    assert_true(origin_is_loopback(STR("::1")));
    assert_false(origin_is_loopback(STR("0.0.0.0")));
}

SUBJECT(origin)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_loopback_and_allowed_hosts_pass),
        cmocka_unit_test(only_loopback_and_allowed_origins_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
