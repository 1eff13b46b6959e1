/* tests/unit/host/settings: the table of settings, and the command line that is read through it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "host/settings.h"
#include "../runner.h"

static struct settings settings;
static struct arena arena;

static enum settings_do read_line_as(const struct nod_server_opts *opts, const char *const *argv)
{
    int argc = 0;

    while (argv[argc])
        argc++;
    arena_reset(&arena);
    assert_true(settings_begin(&settings, opts, &arena));
    return settings_argv(&settings, argc, (char **)argv);
}

static enum settings_do read_line(const char *const *argv)
{
    return read_line_as(&(struct nod_server_opts){ .size = sizeof(struct nod_server_opts),
                                                   .name = "x",
                                                   .version = "1" },
                        argv);
}

#define READ(...) read_line((const char *const[]){ "server", __VA_ARGS__, NULL })

static void nothing_means_standard_input_and_output(void **state)
{
    (void)state;
    assert_int_equal(read_line((const char *const[]){ "server", NULL }), SETTINGS_RUN);
    assert_null(settings.opts.http);
    assert_null(settings.log);
}

static void an_address_is_read_in_every_form(void **state)
{
    static const struct {
        const char *text, *host;
        int port;
    } cases[] = {
        { "8080", "127.0.0.1", 8080 },
        { ":8080", "127.0.0.1", 8080 },
        { "0", "127.0.0.1", 0 },
        { "127.0.0.1:1", "127.0.0.1", 1 },
        { "example.com:65535", "example.com", 65535 },
        { "[::1]:443", "::1", 443 },
        { "unix:/run/nod.sock", "unix:/run/nod.sock", 0 },
    };
    struct str host;
    int port;
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(READ("--http", cases[i].text), SETTINGS_RUN);
        assert_string_equal(settings.opts.http[0], cases[i].text);
        assert_null(settings.opts.http[1]);
        assert_true(settings_address(str_of(settings.opts.http[0]), &host, &port));
        assert_true(str_eq(host, str_of(cases[i].host)));
        assert_int_equal(port, cases[i].port);
    }
}

static void several_addresses_are_listened_on_up_to_a_bound(void **state)
{
    const char *argv[2 * SETTINGS_LISTEN_MAX + 4] = { "server" };
    size_t n = 1;

    (void)state;
    assert_int_equal(READ("--http", "1", "--http=unix:x", "--http", "[::1]:3"), SETTINGS_RUN);
    assert_string_equal(settings.opts.http[1], "unix:x");
    assert_string_equal(settings.opts.http[2], "[::1]:3");
    assert_null(settings.opts.http[3]);
    for (int i = 0; i < SETTINGS_LISTEN_MAX; i++) {
        argv[n++] = "--http";
        argv[n++] = "0";
    }
    assert_int_equal(read_line(argv), SETTINGS_RUN);
    argv[n++] = "--http";
    argv[n++] = "0";
    assert_int_equal(read_line(argv), SETTINGS_WRONG);
}

static void a_time_and_the_bounds_are_read_strictly(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } times[] = { { "90s", 90000 }, { "30m", 1800000 }, { "24h", 86400000 }, { "7d", 604800000 } };
    static const char *const bad_times[] = { "",   "h",    "24", "24 h",  "-1h",
                                             "0s", "1.5h", "1w", "4000d", "99999999999999999999s" };
    static const char *const bad_counts[] = { "", "0", "-1", "1k", "+1", "99999999999" };
    (void)state;

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        assert_int_equal(READ("--keep", times[i].text), SETTINGS_RUN);
        assert_int_equal(settings.opts.keep_ms, times[i].ms);
    }
    for (size_t i = 0; i < sizeof(bad_times) / sizeof(bad_times[0]); i++)
        assert_int_equal(READ("--keep", bad_times[i]), SETTINGS_WRONG);
    assert_int_equal(READ("--pending=7", "--pending-per-principal", "3"), SETTINGS_RUN);
    assert_int_equal(settings.opts.pending_asks, 7);
    assert_int_equal(settings.opts.pending_asks_per_principal, 3);
    assert_int_equal(READ("--kept-mib=8", "--kept-mib-per-principal", "2"), SETTINGS_RUN);
    assert_int_equal(settings.opts.kept_mib, 8);
    assert_int_equal(settings.opts.kept_mib_per_principal, 2);
    assert_int_equal(READ("--http=:1", "--calls-per-principal", "5"), SETTINGS_RUN);
    assert_int_equal(settings.opts.calls_per_principal, 5);
    assert_int_equal(settings.opts.sessions_per_principal, 2000);
    for (size_t i = 0; i < sizeof(bad_counts) / sizeof(bad_counts[0]); i++) {
        assert_int_equal(READ("--pending", bad_counts[i]), SETTINGS_WRONG);
        assert_int_equal(READ("--pending-per-principal", bad_counts[i]), SETTINGS_WRONG);
    }
}

static void an_address_that_is_none_is_refused(void **state)
{
    static const char *const cases[] = { "",        ":",    "x",       "localhost", "localhost:",
                                         "h:65536", "h:-1", "h:+1",    "h: 1",      "h:99999999999",
                                         "::1:80",  "[]:1", "[::1:80", "h:1x",      "unix:" };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (READ("--http", cases[i]) != SETTINGS_WRONG)
            fail_msg("%s was taken", cases[i]);
}

static void values_come_behind_a_blank_or_an_equals_sign(void **state)
{
    (void)state;
    assert_int_equal(READ("--http=:1", "--token-file=a=b", "--allow-host", "x", "--allow-host=y",
                          "--allow-origin", "https://z", "--log=debug", "--log-format", "json"),
                     SETTINGS_RUN);
    assert_string_equal(settings.opts.token_file, "a=b");
    assert_string_equal(settings.opts.allow_hosts[0], "x");
    assert_string_equal(settings.opts.allow_hosts[1], "y");
    assert_null(settings.opts.allow_hosts[2]);
    assert_string_equal(settings.opts.allow_origins[0], "https://z");
    assert_string_equal(settings.log, "debug");
    assert_string_equal(settings.log_format, "json");
}

static void what_is_wrong_is_said_without_moving_a_terminal(void **state)
{
    char arg[160] = "--x";
    (void)state;

    assert_int_equal(READ("--z\x1b[2J\xc2\x9b\nq\xe2\x80\xae\xff"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong,
                        "--z\\u001b[2J\\u009b\\u000aq\\u202e\\ufffd is not an option");
    assert_int_equal(READ("--log", "\x1b]0;x\x07"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong, "--log takes error, warn, info or debug; it was given "
                                        "\"\\u001b]0;x\\u0007\"");
    /* A text that is cut ends with a whole character. */
    for (size_t at = strlen(arg); at + 3 < sizeof(arg); at += 2)
        memcpy(arg + at, "\xc3\xa9", 3);
    assert_int_equal(READ(arg), SETTINGS_WRONG);
    assert_null(strstr(settings.wrong, "\\ufffd"));
    assert_non_null(strstr(settings.wrong, "\xc3\xa9 is not an option"));
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    assert_int_equal(READ("--htpp", "1"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong, "--htpp is not an option; did you mean --http?");
    assert_int_equal(READ("--zzzz"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong, "--zzzz is not an option");
    assert_int_equal(READ("-h"), SETTINGS_HELP);
    assert_int_equal(READ("serve"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong, "serve is not an option, and a server takes nothing else");
    assert_int_equal(READ("--http"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong,
                        "--http needs a value: HOST:PORT, a PORT alone (0 to 65535), or unix:PATH");
    assert_int_equal(READ("--http", "99999"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong,
                        "--http takes HOST:PORT, a PORT alone (0 to 65535), or unix:PATH; it was "
                        "given \"99999\"");
    assert_int_equal(READ("--log", "loud"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong,
                        "--log takes error, warn, info or debug; it was given \"loud\"");
    assert_int_equal(READ("--pending", "0"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong, "--pending takes a number of questions, from 1 to "
                                        "1000000000; it was given \"0\"");
    assert_int_equal(READ("--token-file", "x"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong, "--token-file needs --http or --inbox");
    assert_int_equal(READ("--help=1"), SETTINGS_WRONG);
}

static void tls_takes_a_certificate_and_a_key(void **state)
{
    (void)state;
    assert_int_equal(READ("--http", "1", "--tls-cert", "c", "--tls-key=k"), SETTINGS_RUN);
    assert_string_equal(settings.opts.tls_cert, "c");
    assert_string_equal(settings.opts.tls_key, "k");
    assert_int_equal(READ("--http", "1", "--tls-key", "k"), SETTINGS_WRONG);
    assert_non_null(strstr(settings.wrong, "--tls-cert"));
    assert_int_equal(READ("--tls-cert", "c"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong, "--tls-cert needs --http or --inbox");
}

static void the_public_url_and_proxies_are_kept(void **state)
{
    (void)state;
    assert_int_equal(READ("--http", "1", "--public-url", "https://a", "--trusted-proxy", "::1",
                          "--trusted-proxy=10.0.0.0/8"),
                     SETTINGS_RUN);
    assert_string_equal(settings.opts.public_url, "https://a");
    assert_string_equal(settings.opts.trusted_proxies[1], "10.0.0.0/8");
    assert_null(settings.opts.trusted_proxies[2]);
    assert_int_equal(READ("--http", "1", "--public-url", "a"), SETTINGS_WRONG);
    assert_int_equal(READ("--trusted-proxy", "::1"), SETTINGS_WRONG);
    assert_int_equal(READ("--http", "1", "--trusted-proxy", "foo"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong,
                        "--trusted-proxy takes an address, or a net such as 10.0.0.0/8, whose bits "
                        "after the prefix are zero; it was given \"foo\"");
}

static void help_and_version_come_before_anything_behind_them(void **state)
{
    (void)state;
    assert_int_equal(READ("--help", "--nonsense"), SETTINGS_HELP);
    assert_int_equal(READ("--log", "warn", "--version"), SETTINGS_VERSION);
}

static void names_are_bounded(void **state)
{
    const char *argv[2 * SETTINGS_NAMES_MAX + 6] = { "server", "--http", "1" };
    size_t n = 3;
    (void)state;

    for (int i = 0; i < SETTINGS_NAMES_MAX; i++) {
        argv[n++] = "--allow-host";
        argv[n++] = "x";
    }
    assert_int_equal(read_line(argv), SETTINGS_RUN);
    argv[n++] = "--allow-host";
    argv[n++] = "x";
    assert_int_equal(read_line(argv), SETTINGS_WRONG);
}

static void a_store_is_named_and_a_flag_takes_no_value(void **state)
{
    (void)state;

    assert_int_equal(READ("--log", "info"), SETTINGS_RUN);
    assert_null(settings.opts.store);
    assert_int_equal(READ("--store", "sqlite:x.db", "--ephemeral"), SETTINGS_RUN);
    assert_string_equal(settings.opts.store, "sqlite:x.db");
    assert_true(settings.opts.ephemeral);
    assert_int_equal(READ("--ephemeral", "--store=memory:"), SETTINGS_RUN);
    assert_string_equal(settings.opts.store, "memory:");
    assert_int_equal(READ("--ephemeral=yes"), SETTINGS_WRONG);
    assert_non_null(strstr(settings.wrong, "takes no value"));
    assert_int_equal(READ("--store", "x.db"), SETTINGS_WRONG);
    assert_non_null(strstr(settings.wrong, "sqlite:PATH"));
    assert_int_equal(READ("--store"), SETTINGS_WRONG);
}

static void what_a_call_may_do_and_where_it_asks_is_kept(void **state)
{
    (void)state;
    assert_int_equal(READ("--allow-field", "t.pin", "--allow-field=u.key", "--surfaces", "a,b>c",
                          "--portable-states", "--ask-ttl=7d", "--journal-entries", "100",
                          "--journal-bytes=8192"),
                     SETTINGS_RUN);
    assert_string_equal(settings.opts.allow_fields[0], "t.pin");
    assert_string_equal(settings.opts.allow_fields[1], "u.key");
    assert_null(settings.opts.allow_fields[2]);
    assert_string_equal(settings.opts.surfaces[0], "a,b>c");
    assert_true(settings.opts.portable_states);
    assert_int_equal(settings.opts.ask_ttl_ms, 604800000);
    assert_int_equal(settings.opts.journal_entries, 100);
    assert_int_equal(settings.opts.journal_bytes, 8192);
}

/* --- what overrides what --- */

static const char *const two_rules[] = { "a=session", "none", NULL };
static const char *const two_places[] = { "client", "inbox", NULL };
static const struct nod_server_opts programs = { .size = sizeof(programs),
                                                 .name = "x",
                                                 .version = "1",
                                                 .keep_ms = 5,
                                                 .pending_asks = 7,
                                                 .consent = "inbox",
                                                 .remember = two_rules,
                                                 .surfaces = two_places };

static void what_the_program_has_set_stays_unless_the_command_line_says_otherwise(void **state)
{
    (void)state;
    assert_int_equal(read_line_as(&programs, (const char *const[]){ "server", NULL }),
                     SETTINGS_RUN);
    assert_int_equal(settings.opts.keep_ms, 5);
    assert_int_equal(settings.opts.pending_asks, 7);
    assert_string_equal(settings.opts.consent, "inbox");
    assert_int_equal(read_line_as(&programs, (const char *const[]){ "server", "--keep=1h",
                                                                    "--consent", "any", NULL }),
                     SETTINGS_RUN);
    assert_int_equal(settings.opts.keep_ms, 3600000);
    assert_int_equal(settings.opts.pending_asks, 7);
    assert_string_equal(settings.opts.consent, "any");
    assert_true(settings_given(&settings, "--keep"));
    assert_false(settings_given(&settings, "--pending"));
}

static void what_nobody_has_set_is_as_the_table_says(void **state)
{
    (void)state;
    assert_int_equal(READ("--log=info"), SETTINGS_RUN);
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *row = &settings_table[i];
        const void *place = (const char *)&settings + row->at;
        if (row->type == SETTING_COUNT)
            assert_int_equal(*(const size_t *)place, row->usual);
        else if (row->type == SETTING_TIME)
            assert_int_equal(*(const int64_t *)place, row->usual);
    }
}

static void rules_come_after_those_of_the_program_and_places_instead_of_them(void **state)
{
    (void)state;
    assert_int_equal(
        read_line_as(&programs,
                     (const char *const[]){ "server", "--remember", "b=8h", "--remember=c=session",
                                            "--surfaces=model", "--surfaces=client", NULL }),
        SETTINGS_RUN);
    assert_string_equal(settings.opts.remember[0], "a=session");
    assert_string_equal(settings.opts.remember[1], "none");
    assert_string_equal(settings.opts.remember[2], "b=8h");
    assert_string_equal(settings.opts.remember[3], "c=session");
    assert_null(settings.opts.remember[4]);
    assert_string_equal(settings.opts.surfaces[0], "client"); /* the last one counts */
    assert_null(settings.opts.surfaces[1]);
    assert_string_equal(two_rules[1], "none");
}

static void of_two_that_do_not_go_together_the_command_lines_counts(void **state)
{
    static const char *const http[] = { "0", NULL };
    struct nod_server_opts opts = { .size = sizeof(opts), .name = "x", .version = "1" };
    (void)state;

    opts.inbox = "1";
    assert_int_equal(read_line_as(&opts, (const char *const[]){ "s", "--http=2", NULL }),
                     SETTINGS_RUN);
    assert_null(settings.opts.inbox);
    assert_string_equal(settings.opts.http[0], "2");
    assert_int_equal(read_line_as(&opts, (const char *const[]){ "s", "--no-inbox", NULL }),
                     SETTINGS_RUN);
    assert_null(settings.opts.inbox);
    assert_true(settings.opts.no_inbox);
    opts.no_inbox = true;
    assert_int_equal(read_line_as(&opts, (const char *const[]){ "s", NULL }), SETTINGS_WRONG);
    assert_string_equal(settings.wrong, ".inbox and .no_inbox do not go together");
    assert_true(settings.now.from == FROM_PROGRAM);
    opts.inbox = NULL;
    opts.http = http;
    assert_int_equal(read_line_as(&opts, (const char *const[]){ "s", "--inbox=1", NULL }),
                     SETTINGS_RUN);
    assert_null(settings.opts.http);
    assert_false(settings.opts.no_inbox);
    opts.inbox = "1";
    opts.no_inbox = false;
    assert_int_equal(read_line_as(&opts, (const char *const[]){ "s", NULL }), SETTINGS_WRONG);
    assert_string_equal(settings.wrong, ".inbox is for a server on standard input and output; with "
                                        ".http the inbox is at / already");
    assert_true(settings.now.from == FROM_PROGRAM);
    assert_int_equal(READ("--inbox=1", "--no-inbox"), SETTINGS_WRONG);
    assert_string_equal(settings.wrong, "--inbox and --no-inbox do not go together");
    assert_false(settings.now.from == FROM_PROGRAM);
}

/* What settings_begin says of this struct. */
static const char *wrong_of(const struct nod_server_opts *opts)
{
    arena_reset(&arena);
    assert_false(settings_begin(&settings, opts, &arena));
    return settings.wrong;
}

static void what_is_wrong_in_the_struct_is_said_by_its_members(void **state)
{
    const char *addresses[SETTINGS_LISTEN_MAX + 2];
    struct nod_server_opts opts = { .name = "x", .version = "1" };
    (void)state;

    assert_string_equal(wrong_of(&opts),
                        "a server's options need .size = sizeof(struct nod_server_opts)");
    opts.size = sizeof(opts);
    opts.pending_asks = SIZE_MAX;
    char largest[64];
    snprintf(largest, sizeof(largest), "it was given \"%zu\"", SIZE_MAX);
    assert_non_null(strstr(wrong_of(&opts), largest));
    opts.pending_asks = 0;
    opts.heartbeat_ms = -5;
    assert_non_null(strstr(wrong_of(&opts), ".heartbeat_ms takes a number of milliseconds"));
    assert_non_null(strstr(settings.wrong, "it was given \"-5\""));
    opts.heartbeat_ms = 0;
    for (int i = 0; i <= SETTINGS_LISTEN_MAX; i++)
        addresses[i] = "0";
    addresses[SETTINGS_LISTEN_MAX + 1] = NULL;
    opts.http = addresses;
    assert_string_equal(wrong_of(&opts), ".http has 17 entries, and may have 16 at most; one is "
                                         "HOST:PORT, a PORT alone (0 to 65535), or unix:PATH");
    opts.http = NULL;
    opts.token_file = "tokens";
    assert_int_equal(read_line_as(&opts, (const char *const[]){ "s", NULL }), SETTINGS_WRONG);
    assert_string_equal(settings.wrong, ".token_file needs .http or .inbox");
    assert_true(settings.now.from == FROM_PROGRAM);
}

SUBJECT(settings)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_means_standard_input_and_output),
        cmocka_unit_test(an_address_is_read_in_every_form),
        cmocka_unit_test(several_addresses_are_listened_on_up_to_a_bound),
        cmocka_unit_test(a_time_and_the_bounds_are_read_strictly),
        cmocka_unit_test(an_address_that_is_none_is_refused),
        cmocka_unit_test(values_come_behind_a_blank_or_an_equals_sign),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(what_is_wrong_is_said_without_moving_a_terminal),
        cmocka_unit_test(of_two_that_do_not_go_together_the_command_lines_counts),
        cmocka_unit_test(what_is_wrong_in_the_struct_is_said_by_its_members),
        cmocka_unit_test(the_public_url_and_proxies_are_kept),
        cmocka_unit_test(tls_takes_a_certificate_and_a_key),
        cmocka_unit_test(help_and_version_come_before_anything_behind_them),
        cmocka_unit_test(names_are_bounded),
        cmocka_unit_test(a_store_is_named_and_a_flag_takes_no_value),
        cmocka_unit_test(what_a_call_may_do_and_where_it_asks_is_kept),
        cmocka_unit_test(what_the_program_has_set_stays_unless_the_command_line_says_otherwise),
        cmocka_unit_test(what_nobody_has_set_is_as_the_table_says),
        cmocka_unit_test(rules_come_after_those_of_the_program_and_places_instead_of_them),
    };
    arena_init(&arena, 1 << 20);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_finish(&arena);
    return failed;
}
