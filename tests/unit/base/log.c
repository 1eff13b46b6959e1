/* tests/unit/base/log: lines as they come out of a pipe: escaping, cutting, filtering, gathering,
 * two threads. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "json/value.h"
#include "../runner.h"

static int fds[2];
static char out[64 << 10];
static size_t out_len;

static void log_to_pipe(enum log_level level, enum log_format format, bool journald)
{
    assert_int_equal(pipe(fds), 0);
    log_setup(
        &(struct log_opts){ .level = level, .format = format, .journald = journald, .fd = fds[1] });
}

/* What has been written: all of it, as the writing end is closed. */
static struct str logged(void)
{
    ssize_t got;

    log_setup(&(struct log_opts){ .level = LOG_LEVEL_INFO, .fd = 2 });
    close(fds[1]);
    out_len = 0;
    while ((got = read(fds[0], out + out_len, sizeof(out) - out_len)) > 0)
        out_len += (size_t)got;
    close(fds[0]);
    return str_n(out, out_len);
}

static bool has(struct str text, struct str part)
{
    return str_find(text, part) >= 0;
}

static size_t count_of(struct str text, char c)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.at[i] == c;
    return count;
}

static void assert_json_line(struct str line)
{
    struct arena arena;
    struct json_error error;

    assert_true(line.len <= LOG_LINE_MAX);
    assert_true(str_ends(line, STR("}\n")));
    arena_init(&arena, 1 << 20);
    if (!json_parse(&arena, str_n(line.at, line.len - 1),
                    &(struct json_opts){ .refuse_duplicates = true }, &error))
        fail_msg("not JSON at byte %zu (%s): " STR_FMT, error.offset, error.what, STR_ARG(line));
    arena_finish(&arena);
}

static void a_line_has_time_level_event_and_fields(void **state)
{
    (void)state;
    log_to_pipe(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, false);
    LOG_WARN("token refused", LOG_STR("name", STR("alice")), LOG_INT("line", -7),
             LOG_CSTR("none", NULL), LOG_STR("spaced", STR("a b")));
    struct str line = logged();
    assert_true(str_starts(line, STR("time=2")));
    assert_true(
        str_ends(line, STR("Z level=warn event=\"token refused\" name=alice line=-7 none=\"\""
                           " spaced=\"a b\"\n")));

    log_to_pipe(LOG_LEVEL_INFO, LOG_FORMAT_JSON, false);
    LOG_ERROR("x", LOG_STR("name", STR("alice")), LOG_INT("line", 7));
    line = logged();
    assert_true(str_starts(line, STR("{\"time\":\"2")));
    assert_true(str_ends(
        line, STR("\"level\":\"error\",\"event\":\"x\",\"name\":\"alice\",\"line\":7}\n")));
    assert_json_line(line);
}

static void nothing_from_outside_begins_a_line_or_moves_a_cursor(void **state)
{
    static const struct str hostile[] = {
        STR_INIT("a\nlevel=error event=forged"),
        STR_INIT("a\r\nb"),
        STR_INIT("\x1b[2J\x1b]0;title\x07"),
        STR_INIT("nul\0inside"),
        STR_INIT("\x7f"),
        STR_INIT("quote\" level=error"),
        STR_INIT("back\\\" slash"),
        STR_INIT("\xc2\x9b"
                 "31mred"), /* CSI in C1 */
        STR_INIT("\xe2\x80\xa8line separator"),
        STR_INIT("\xe2\x80\xae"
                 "override"),
    };

    (void)state;
    for (int format = 0; format < 2; format++) {
        for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
            log_to_pipe(LOG_LEVEL_INFO, (enum log_format)format, false);
            LOG_INFO("e", LOG_STR("v", hostile[i]));
            struct str line = logged();
            assert_int_equal(count_of(line, '\n'), 1);
            for (size_t j = 0; j + 1 < line.len; j++)
                assert_true((unsigned char)line.at[j] >= 0x20 && line.at[j] != 0x7f);
            assert_false(has(line, STR("\xc2\x9b")));
            assert_false(has(line, STR("\xe2\x80\xa8")));
            assert_false(has(line, STR("\xe2\x80\xae")));
            assert_false(has(line, STR(" level=error event=forged\n")));
            if (format == LOG_FORMAT_JSON)
                assert_json_line(line);
        }
    }
}

static void text_passes_and_what_is_not_utf8_is_marked(void **state)
{
    static const struct {
        struct str in, out;
    } cases[] = {
        { STR_INIT("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
          STR_INIT("\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"") },
        { STR_INIT("a\xff"
                   "b"),
          STR_INIT("\"a\\ufffdb\"") },
        { STR_INIT("\xc3"), STR_INIT("\"\\ufffd\"") },
        { STR_INIT("\xc0\xaf"), STR_INIT("\"\\ufffd\\ufffd\"") },
        { STR_INIT("\xe0\x80\x80"), STR_INIT("\"\\ufffd\\ufffd\\ufffd\"") },
        { STR_INIT("\xed\xa0\x80"), STR_INIT("\"\\ufffd\\ufffd\\ufffd\"") },
        { STR_INIT("\xf4\x90\x80\x80"), STR_INIT("\"\\ufffd\\ufffd\\ufffd\\ufffd\"") },
        { STR_INIT("\xf8\x88\x80\x80\x80"), STR_INIT("\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"") },
        { STR_INIT("\xef\xbf\xbd"), STR_INIT("\"\xef\xbf\xbd\"") },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        log_to_pipe(LOG_LEVEL_INFO, LOG_FORMAT_JSON, false);
        LOG_INFO("e", LOG_STR("v", cases[i].in));
        struct str line = logged();
        assert_json_line(line);
        if (!has(line, cases[i].out))
            fail_msg("case %zu: " STR_FMT, i, STR_ARG(line));
    }
}

/* Every length around the edge, with text whose units are one to six bytes long. */
static void a_line_that_is_cut_is_still_well_formed(void **state)
{
    static const struct str units[] = { STR_INIT("x"), STR_INIT("\xf0\x9f\x98\x80"), STR_INIT("\n"),
                                        STR_INIT("\""), STR_INIT("\xff") };
    static char text[LOG_LINE_MAX + 200];

    (void)state;
    for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
        for (size_t len = 0; len + 8 < sizeof(text); len += len < 500 || len > 3800 ? 1 : 97) {
            size_t filled = 0;
            for (; filled + units[u].len <= len; filled += units[u].len)
                memcpy(text + filled, units[u].at, units[u].len);
            log_to_pipe(LOG_LEVEL_INFO, LOG_FORMAT_JSON, u == 0);
            LOG_INFO("e", LOG_STR("long", str_n(text, filled)), LOG_INT("n", 123456789),
                     LOG_STR("last", STR("end")));
            struct str line = logged();
            if (u == 0)
                line = str_skip(line, 3); /* journald's prefix */
            assert_json_line(line);
            assert_true(has(line, STR("\"cut\":true")) != has(line, STR("\"last\":\"end\"}")));
        }
    }
}

static void a_cut_logfmt_line_closes_its_quote_and_says_so(void **state)
{
    static char text[LOG_LINE_MAX * 2];

    (void)state;
    memset(text, ' ', sizeof(text));
    log_to_pipe(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, false);
    LOG_INFO("e", LOG_STR("v", str_n(text, sizeof(text))), LOG_INT("n", 1));
    struct str line = logged();
    assert_true(line.len <= LOG_LINE_MAX);
    assert_true(str_ends(line, STR(" \" cut=true\n")));
    assert_false(has(line, STR(" n=1")));
    assert_int_equal(count_of(line, '"'), 2);
}

static void many_fields_end_at_a_whole_field(void **state)
{
    struct log_field fields[400];

    (void)state;
    for (size_t extra = 0; extra < 40; extra++) {
        char name[64] = "a field with a long name";
        memset(name + 24, 'n', extra);
        for (size_t i = 0; i < 400; i++)
            fields[i] = i % 2 ? LOG_INT("unused", 0) : LOG_STR("unused", STR("v"));
        /* Names have to differ for the JSON to be checked for duplicates. */
        static char names[400][80];
        for (size_t i = 0; i < 400; i++) {
            snprintf(names[i], sizeof(names[i]), "%s %zu", name, i);
            fields[i].name = names[i];
        }
        log_to_pipe(LOG_LEVEL_INFO, LOG_FORMAT_JSON, false);
        log_write(LOG_LEVEL_INFO, "e", fields, 400);
        struct str line = logged();
        assert_json_line(line);
        assert_true(has(line, STR("\"cut\":true}\n")));
    }
}

static void levels_are_filtered_and_parsed(void **state)
{
    enum log_level level = LOG_LEVEL_INFO;

    (void)state;
    log_to_pipe(LOG_LEVEL_WARN, LOG_FORMAT_LOGFMT, false);
    LOG_INFO("quiet");
    LOG_DEBUG("quieter");
    LOG_WARN("heard");
    LOG_ERROR("loud");
    struct str lines = logged();
    assert_int_equal(count_of(lines, '\n'), 2);
    assert_true(has(lines, STR("event=heard\n")) && has(lines, STR("event=loud\n")));

    assert_true(log_level_parse(STR("debug"), &level) && level == LOG_LEVEL_DEBUG);
    assert_true(log_level_parse(STR("error"), &level) && level == LOG_LEVEL_ERROR);
    assert_false(log_level_parse(STR("Error"), &level));
    assert_false(log_level_parse(STR_NONE, &level));
    assert_int_equal(level, LOG_LEVEL_ERROR);
}

static void journald_reads_the_priority_at_the_front(void **state)
{
    (void)state;
    log_to_pipe(LOG_LEVEL_DEBUG, LOG_FORMAT_LOGFMT, true);
    LOG_ERROR("a");
    LOG_WARN("b");
    LOG_INFO("c");
    LOG_DEBUG("d");
    struct str lines = logged(), line;
    static const char *const prefixes[] = { "<3>time=", "<4>time=", "<6>time=", "<7>time=" };
    for (int i = 0; i < 4; i++) {
        assert_true(str_cut(lines, '\n', &line, &lines));
        assert_true(str_starts(line, str_of(prefixes[i])));
    }
}

static void a_log_that_is_gone_harms_nobody(void **state)
{
    (void)state;
    log_to_pipe(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, false);
    close(fds[1]);
    errno = ENOENT;
    LOG_INFO("lost");
    assert_int_equal(errno, ENOENT);
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_INFO, .fd = 2 });
    close(fds[0]);
}

/* --- lines that are gathered --- */

static size_t waiting_in_pipe(void)
{
    int len = 0;

    assert_int_equal(ioctl(fds[0], FIONREAD, &len), 0);
    return (size_t)len;
}

static void gathered_lines_wait_for_the_flush(void **state)
{
    (void)state;
    log_to_pipe(LOG_LEVEL_DEBUG, LOG_FORMAT_LOGFMT, false);
    log_gather(true);
    LOG_INFO("first");
    LOG_DEBUG("second");
    assert_int_equal(waiting_in_pipe(), 0);
    log_flush();
    size_t two = waiting_in_pipe();
    assert_true(two > 0);
    LOG_INFO("third");
    assert_int_equal(waiting_in_pipe(), two);
    log_gather(false);
    assert_true(waiting_in_pipe() > two);
    LOG_INFO("fourth");
    struct str lines = logged(), line;
    static const char *const events[] = { "first", "second", "third", "fourth" };
    for (int i = 0; i < 4; i++) {
        assert_true(str_cut(lines, '\n', &line, &lines));
        assert_true(has(line, str_of(events[i])));
    }
    assert_int_equal(lines.len, 0);
}

static void a_warning_waits_for_nothing_and_comes_after_what_waited(void **state)
{
    (void)state;
    log_to_pipe(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, false);
    log_gather(true);
    LOG_INFO("first");
    LOG_WARN("second");
    size_t two = waiting_in_pipe();
    log_gather(false);
    assert_int_equal(waiting_in_pipe(), two);
    struct str lines = logged();
    assert_int_equal(count_of(lines, '\n'), 2);
    assert_true(str_find(lines, STR("first")) < str_find(lines, STR("second")));
}

static void more_than_a_pipe_takes_in_one_piece_is_not_gathered(void **state)
{
    (void)state;
    log_to_pipe(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, false);
    log_gather(true);
    for (int i = 0; i < 100; i++)
        LOG_INFO("a line", LOG_INT("n", i));
    size_t before = waiting_in_pipe();
    assert_true(before > 0); /* 100 lines are more than LOG_LINE_MAX bytes */
    log_gather(false);
    assert_true(waiting_in_pipe() - before <= LOG_LINE_MAX);
    assert_int_equal(count_of(logged(), '\n'), 100);
}

static void what_was_gathered_outlives_a_crash(void **state)
{
    static const int signals[] = { SIGABRT, SIGSEGV };

    (void)state;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        log_to_pipe(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, false);
        pid_t child = fork();
        if (child == 0) {
            signal(signals[i], SIG_DFL); /* a sanitizer has one of its own */
            log_watch_crashes();
            log_gather(true);
            LOG_INFO("the last words");
            raise(signals[i]); /* once: it is not lost in the handler */
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        struct str lines = logged();
        assert_true(has(lines, STR("the last words")));
        assert_int_equal(count_of(lines, '\n'), 1);
    }
}

static size_t words_of_a_test(struct log_field *fields)
{
    fields[0] = LOG_CSTR("tool", "break it");
    fields[1] = LOG_INT("run", 7);
    return 2;
}

static volatile bool deeper = true;

static int overflow(volatile char *below)
{
    volatile char room[4096];

    room[0] = below ? below[0] : 1;
    return deeper ? overflow(room) + room[0] : room[0];
}

static void run_out_of_stack(void)
{
    overflow(NULL);
}

static void divide(void)
{
    raise(SIGFPE);
}

static void the_last_line_says_whose_code_it_was(void **state)
{
    static const struct {
        void (*die)(void);
        int signal;
        const char *name;
    } ways[] = { { abort, SIGABRT, "signal=SIGABRT" },
                 { divide, SIGFPE, "signal=SIGFPE" },
                 { run_out_of_stack, SIGSEGV, "signal=SIGSEGV" } };

    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        log_to_pipe(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, false);
        pid_t child = fork();
        if (child == 0) {
            signal(ways[i].signal, SIG_DFL);
            sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL); /* a sanitizer has one */
            log_watch_crashes();
            log_last_words(words_of_a_test);
            log_gather(true);
            LOG_INFO("gathered");
            ways[i].die();
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == ways[i].signal);
        struct str lines = logged();
        assert_int_equal(count_of(lines, '\n'), 2);
        assert_true(has(lines, str_of(ways[i].name)));
        assert_true(str_ends(lines, STR("tool=\"break it\" run=7\n")));
    }
}

/* --- two threads --- */

enum { LINES = 2000 };

static void *log_many(void *letter)
{
    char text[3000];

    memset(text, *(char *)letter, sizeof(text));
    for (size_t i = 0; i < LINES; i++)
        LOG_INFO("e", LOG_INT("n", i), LOG_STR("v", str_n(text, 1 + i * 37 % sizeof(text))));
    return NULL;
}

/* One line: all its letters are the same, as many as its number says, and its number is the next.
 */
static void assert_unmixed(struct str line, size_t next[2])
{
    struct str before, value, number;
    int64_t n;
    ptrdiff_t at = str_find(line, STR(" n="));

    assert_true(str_starts(line, STR("time=2")) && at > 0);
    assert_true(str_cut(str_skip(line, (size_t)at + 3), ' ', &number, &value));
    assert_true(str_to_i64(number, &n));
    assert_true(str_cut(value, '=', &before, &value));
    assert_int_equal(value.len, 1 + (size_t)n * 37 % 3000);
    for (size_t i = 1; i < value.len; i++)
        assert_int_equal(value.at[i], value.at[0]);
    assert_true(value.at[0] == 'a' || value.at[0] == 'b');
    assert_int_equal((size_t)n, next[value.at[0] - 'a']++);
}

static void lines_of_two_threads_never_mix(void **state)
{
    char letters[2] = { 'a', 'b' };
    pthread_t threads[2];
    size_t next[2] = { 0, 0 };
    size_t have = 0;

    (void)state;
    log_to_pipe(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, false);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, &letters[i]), 0);
    while (next[0] + next[1] < 2 * (size_t)LINES) {
        ssize_t got = read(fds[0], out + have, sizeof(out) - have);
        assert_true(got > 0);
        have += (size_t)got;
        struct str rest = str_n(out, have), line;
        for (struct str after; str_cut(rest, '\n', &line, &after); rest = after)
            assert_unmixed(line, next);
        memmove(out, rest.at, rest.len);
        have = rest.len;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(have, 0);
    logged();
}

SUBJECT(log)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_time_level_event_and_fields),
        cmocka_unit_test(nothing_from_outside_begins_a_line_or_moves_a_cursor),
        cmocka_unit_test(text_passes_and_what_is_not_utf8_is_marked),
        cmocka_unit_test(a_line_that_is_cut_is_still_well_formed),
        cmocka_unit_test(a_cut_logfmt_line_closes_its_quote_and_says_so),
        cmocka_unit_test(many_fields_end_at_a_whole_field),
        cmocka_unit_test(levels_are_filtered_and_parsed),
        cmocka_unit_test(journald_reads_the_priority_at_the_front),
        cmocka_unit_test(a_log_that_is_gone_harms_nobody),
        cmocka_unit_test(gathered_lines_wait_for_the_flush),
        cmocka_unit_test(a_warning_waits_for_nothing_and_comes_after_what_waited),
        cmocka_unit_test(more_than_a_pipe_takes_in_one_piece_is_not_gathered),
        cmocka_unit_test(what_was_gathered_outlives_a_crash),
        cmocka_unit_test(the_last_line_says_whose_code_it_was),
        cmocka_unit_test(lines_of_two_threads_never_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
