/* tests/unit/net/pipe: lines over pipes, files and memory streams. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "net/pipe.h"
#include "net/stream.h"
#include "memory_stream.h"
#include "../runner.h"

enum { LINE_MAX_ = 100, QUEUE_MAX = 1000, TURN_MS = 2000 };

struct fixture {
    struct loop *loop;
    struct pipe_lines *pipe;
    struct buf lines; /* each line as [line]; an overlong one as [!] */
    int ends;
    int drains;
    bool done;
    bool close_on_line;
    int to;   /* we write here, the pipe reads it */
    int from; /* the pipe writes, we read it here */
};

static void on_done(void *data)
{
    ((struct fixture *)data)->done = true;
}

static void on_line(struct str line, void *data)
{
    struct fixture *f = data;

    buf_add_char(&f->lines, '[');
    if (line.at)
        buf_add(&f->lines, line);
    else
        buf_add_char(&f->lines, '!');
    buf_add_char(&f->lines, ']');
    if (f->close_on_line)
        pipe_close(f->pipe, 0, on_done, f);
}

static void on_end(void *data)
{
    ((struct fixture *)data)->ends++;
}

static void on_drain(void *data)
{
    ((struct fixture *)data)->drains++;
}

static struct pipe_opts opts_of(struct fixture *f)
{
    return (struct pipe_opts){
        .line_max = LINE_MAX_,
        .queue_max = QUEUE_MAX,
        .on_line = on_line,
        .on_end = on_end,
        .on_drain = on_drain,
        .data = f,
    };
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->loop = loop_create();
    f->to = f->from = -1;
    buf_init(&f->lines, 1 << 20);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    if (f->pipe && !f->done) {
        pipe_close(f->pipe, 0, on_done, f);
        while (!f->done)
            loop_turn(f->loop, TURN_MS);
    }
    loop_destroy(f->loop);
    if (f->to >= 0)
        close(f->to);
    if (f->from >= 0)
        close(f->from);
    buf_finish(&f->lines);
    free(f);
    return 0;
}

static void open_pipes(struct fixture *f)
{
    struct pipe_opts opts = opts_of(f);
    int in[2];
    int out[2];

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    opts.read_fd = in[0];
    opts.write_fd = out[1];
    f->to = in[1];
    f->from = out[0];
    assert_int_equal(pipe_open(f->loop, &opts, &f->pipe), NOD_OK);
}

static void say(struct fixture *f, const char *text)
{
    assert_int_equal(write(f->to, text, strlen(text)), (ssize_t)strlen(text));
}

static void end_input(struct fixture *f)
{
    close(f->to);
    f->to = -1;
}

static void run_to_end(struct fixture *f)
{
    while (!f->ends)
        loop_turn(f->loop, TURN_MS);
}

static void assert_lines(struct fixture *f, const char *wanted)
{
    if (!str_eq(buf_str(&f->lines), str_of(wanted)))
        print_error("got %.*s\n", STR_ARG(buf_str(&f->lines)));
    assert_true(str_eq(buf_str(&f->lines), str_of(wanted)));
}

static void lines_come_whole_whatever_the_line_end_and_the_cuts(void **state)
{
    struct fixture *f = *state;

    open_pipes(f);
    say(f, "one\ntwo\r\n\n\r\nth");
    while (f->lines.len < strlen("[one][two][][]"))
        loop_turn(f->loop, TURN_MS);
    say(f, "ree\nlast without an end");
    end_input(f);
    run_to_end(f);
    assert_lines(f, "[one][two][][][three][last without an end]");
    assert_int_equal(f->ends, 1);
}

static void a_line_of_the_limit_is_taken_and_a_longer_one_reported_once_and_skipped(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    struct buf wanted;

    open_pipes(f);
    buf_init(&text, 1 << 16);
    buf_init(&wanted, 1 << 16);
    buf_fmt(&text, "%0100d\n%0100d\r\n%0101d\n%0101d\r\n%0500d\nok\n", 1, 2, 3, 4, 5);
    buf_fmt(&wanted, "[%0100d][%0100d][!][!][!][ok]", 1, 2);
    buf_add_char(&wanted, '\0');
    /* once in one piece, once byte by byte */
    assert_int_equal(write(f->to, text.at, text.len), (ssize_t)text.len);
    while (f->lines.len < wanted.len - 1)
        loop_turn(f->loop, TURN_MS);
    assert_lines(f, wanted.at);
    buf_clear(&f->lines);
    for (size_t i = 0; i < text.len; i++) {
        assert_int_equal(write(f->to, text.at + i, 1), 1);
        loop_turn(f->loop, TURN_MS);
    }
    end_input(f);
    run_to_end(f);
    assert_lines(f, wanted.at);
    buf_finish(&text);
    buf_finish(&wanted);
}

static void a_megabyte_without_a_line_end_is_reported_once(void **state)
{
    struct fixture *f = *state;
    struct stream *ours;
    struct stream *theirs;
    struct pipe_opts opts = opts_of(f);
    static const struct stream_events ignore = { 0 };
    char block[1000];

    memory_stream_pair(f->loop, NULL, &ours, &theirs);
    stream_own(theirs, &ignore, NULL);
    f->pipe = pipe_attach(f->loop, ours, &opts);
    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 1000; i++) {
        struct str bytes = str_n(block, sizeof(block));
        stream_write(theirs, &bytes, 1);
        loop_turn(f->loop, 0);
    }
    stream_write(theirs, (const struct str[]){ STR("\nok\n") }, 1);
    while (f->lines.len < strlen("[!][ok]"))
        loop_turn(f->loop, TURN_MS);
    assert_lines(f, "[!][ok]");
    theirs->events = NULL;
    stream_close(theirs);
}

static void writing_goes_on_after_the_end_of_input(void **state)
{
    struct fixture *f = *state;
    char got[32];

    open_pipes(f);
    end_input(f);
    run_to_end(f);
    assert_true(pipe_write(f->pipe, STR("answer")));
    assert_int_equal(read(f->from, got, sizeof(got)), 7);
    assert_memory_equal(got, "answer\n", 7);
}

/* Fills the kernel's pipe and then the queue, until a write is refused. */
static int fill(struct fixture *f)
{
    char block[400];
    int written = 0;

    memset(block, 'y', sizeof(block));
    while (pipe_write(f->pipe, str_n(block, sizeof(block))))
        assert_true(++written < 100000);
    return written;
}

static void a_full_queue_refuses_writes_and_stops_reading_until_it_is_empty(void **state)
{
    struct fixture *f = *state;
    char got[4096];

    open_pipes(f);
    int written = fill(f);
    assert_true(pipe_queued(f->pipe) > 0 && pipe_queued(f->pipe) <= QUEUE_MAX);
    say(f, "unread\n");
    for (int i = 0; i < 5; i++)
        loop_turn(f->loop, 1);
    assert_lines(f, "");
    assert_int_equal(f->drains, 0);

    size_t total = 0;
    while (!f->drains || !f->lines.len) {
        ssize_t n = read(f->from, got, sizeof(got));
        assert_true(n > 0);
        total += (size_t)n;
        loop_turn(f->loop, 1);
    }
    assert_lines(f, "[unread]");
    assert_true(pipe_write(f->pipe, STR("more")));
    fcntl(f->from, F_SETFL, O_NONBLOCK);
    for (ssize_t n; (n = read(f->from, got, sizeof(got))) > 0;)
        total += (size_t)n;
    assert_int_equal(total, (size_t)written * 401 + 5);
}

static void closing_writes_what_is_queued_first(void **state)
{
    struct fixture *f = *state;
    char got[4096];
    size_t total = 0;

    open_pipes(f);
    int written = fill(f);
    pipe_close(f->pipe, 60000, on_done, f);
    fcntl(f->from, F_SETFL, O_NONBLOCK);
    for (;;) {
        ssize_t n = read(f->from, got, sizeof(got));
        if (n == 0)
            break;
        total += n > 0 ? (size_t)n : 0;
        loop_turn(f->loop, 1);
    }
    while (!f->done)
        loop_turn(f->loop, TURN_MS);
    assert_int_equal(total, (size_t)written * 401);
    assert_int_equal(f->ends, 0); /* nothing but done() after pipe_close */
}

static void closing_does_not_wait_longer_than_the_grace(void **state)
{
    struct fixture *f = *state;

    open_pipes(f);
    fill(f);
    pipe_close(f->pipe, 10, on_done, f); /* nobody reads */
    while (!f->done)
        loop_turn(f->loop, TURN_MS);
}

static void a_handler_may_close_the_pipe_in_the_middle_of_a_read(void **state)
{
    struct fixture *f = *state;

    open_pipes(f);
    f->close_on_line = true;
    say(f, "one\ntwo\nthree\n");
    while (!f->done)
        loop_turn(f->loop, TURN_MS);
    assert_lines(f, "[one]");
    assert_int_equal(f->ends, 0);
}

static void a_reader_that_leaves_is_told_as_the_end_once(void **state)
{
    struct fixture *f = *state;

    open_pipes(f);
    close(f->from);
    f->from = -1;
    assert_true(pipe_write(f->pipe, STR("into the void")));
    run_to_end(f);
    assert_false(pipe_write(f->pipe, STR("again")));
    for (int i = 0; i < 3; i++)
        loop_turn(f->loop, 1);
    assert_int_equal(f->ends, 1);
}

static void files_and_dev_null_can_stand_in_for_pipes(void **state)
{
    struct fixture *f = *state;
    struct pipe_opts opts = opts_of(f);
    FILE *in = tmpfile();
    FILE *out = tmpfile();
    char got[16] = { 0 };

    fputs("from\na file", in);
    fflush(in);
    rewind(in);
    opts.read_fd = dup(fileno(in));
    opts.write_fd = dup(fileno(out));
    assert_int_equal(pipe_open(f->loop, &opts, &f->pipe), NOD_OK);
    run_to_end(f);
    assert_lines(f, "[from][a file]");
    assert_true(pipe_write(f->pipe, STR("to one")));
    assert_int_equal(pread(fileno(out), got, sizeof(got), 0), 7);
    assert_string_equal(got, "to one\n");
    fclose(in);
    fclose(out);
}

static void a_descriptor_that_is_not_open_is_refused(void **state)
{
    struct fixture *f = *state;
    struct pipe_opts opts = opts_of(f);

    opts.read_fd = 1000;
    opts.write_fd = 1001;
    assert_int_equal(pipe_open(f->loop, &opts, &f->pipe), NOD_E_IO);
    f->pipe = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(pipe)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_come_whole_whatever_the_line_end_and_the_cuts),
        TEST(a_line_of_the_limit_is_taken_and_a_longer_one_reported_once_and_skipped),
        TEST(a_megabyte_without_a_line_end_is_reported_once),
        TEST(writing_goes_on_after_the_end_of_input),
        TEST(a_full_queue_refuses_writes_and_stops_reading_until_it_is_empty),
        TEST(closing_writes_what_is_queued_first),
        TEST(closing_does_not_wait_longer_than_the_grace),
        TEST(a_handler_may_close_the_pipe_in_the_middle_of_a_read),
        TEST(a_reader_that_leaves_is_told_as_the_end_once),
        TEST(files_and_dev_null_can_stand_in_for_pipes),
        TEST(a_descriptor_that_is_not_open_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
