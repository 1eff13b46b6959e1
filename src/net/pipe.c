/*
 * net/pipe: lines over a stream; usually this process's own stdin and stdout.
 *
 * A line that was read whole is handed up in place; only a line that comes in pieces is gathered.
 * If the reader of our output is slow and the queue is full, nothing more is read: a client that
 * does not take answers cannot send more requests.
 *
 * A pipe is opened again if the system allows it, because O_NONBLOCK belongs to the open file and
 * not to the descriptor. Otherwise `2>&1` would make stderr non-blocking, and log lines would be
 * lost.
 *
 * Holds always: after pipe_close nothing but done() is called. The struct is freed when the stream
 * is gone, right before done().
 */
#include "net/pipe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/os.h"
#include "net/stream.h"

/* A gathered line larger than this gives its memory back after it was handed up. */
enum { PIPE_KEEP_MAX = 64 * 1024 };

struct pipe_lines {
    struct loop *loop;
    struct stream *stream;
    struct pipe_opts opts;
    struct buf partial; /* the beginning of a line whose end has not come */
    bool skipping;      /* in a line that was too long */
    bool full;          /* a write was refused: reading is stopped until the queue is empty */
    bool ended;         /* on_end was called */
    bool broken;
    bool closing;
    bool closed;
    struct timer grace;
    void (*done)(void *data);
    void *done_data;
};

static void hand_up(struct pipe_lines *pipe, struct str line)
{
    if (line.len && line.at[line.len - 1] == '\r')
        line.len--;
    if (line.len > pipe->opts.line_max)
        line = STR_NONE;
    else if (!line.at)
        line = STR(""); /* an empty line is not an overlong one */
    pipe->opts.on_line(line, pipe->opts.data);
}

static void too_long(struct pipe_lines *pipe)
{
    pipe->skipping = true;
    buf_finish(&pipe->partial);
    pipe->opts.on_line(STR_NONE, pipe->opts.data);
}

/* The end of a line has come. `rest` is what precedes it in this read. */
static void finish_line(struct pipe_lines *pipe, struct str rest)
{
    if (pipe->skipping) {
        pipe->skipping = false;
        return;
    }
    if (!pipe->partial.len) {
        hand_up(pipe, rest);
        return;
    }
    if (!buf_add(&pipe->partial, rest)) {
        too_long(pipe);
        pipe->skipping = false;
        return;
    }
    struct buf whole = pipe->partial; /* the handler may close the pipe */
    buf_init(&pipe->partial, whole.limit);
    hand_up(pipe, buf_str(&whole));
    if (whole.room > PIPE_KEEP_MAX || pipe->closing) {
        buf_finish(&whole);
    } else {
        buf_clear(&whole);
        pipe->partial = whole;
    }
}

static void on_read(struct stream *stream, struct str bytes)
{
    struct pipe_lines *pipe = stream->owner;
    const char *end;

    while (!pipe->closing && bytes.len && (end = memchr(bytes.at, '\n', bytes.len))) {
        size_t len = (size_t)(end - bytes.at);
        finish_line(pipe, str_n(bytes.at, len));
        bytes = str_skip(bytes, len + 1);
    }
    if (!pipe->closing && !pipe->skipping && !buf_add(&pipe->partial, bytes))
        too_long(pipe);
}

static void close_now(struct pipe_lines *pipe)
{
    if (pipe->closed)
        return;
    pipe->closed = true;
    timer_stop(pipe->loop, &pipe->grace);
    stream_close(pipe->stream);
}

static void on_end(struct stream *stream, int error)
{
    struct pipe_lines *pipe = stream->owner;

    pipe->broken = pipe->broken || error < 0;
    if (pipe->closing) {
        if (pipe->broken)
            close_now(pipe);
        return;
    }
    if (error == 0 && pipe->partial.len)
        finish_line(pipe, STR_NONE);
    if (pipe->ended || pipe->closing)
        return;
    pipe->ended = true;
    if (pipe->opts.on_end)
        pipe->opts.on_end(pipe->opts.data);
}

static void on_drain(struct stream *stream)
{
    struct pipe_lines *pipe = stream->owner;

    if (pipe->closing) {
        close_now(pipe);
        return;
    }
    if (pipe->full) {
        pipe->full = false;
        stream_read_start(stream);
    }
    if (pipe->opts.on_drain)
        pipe->opts.on_drain(pipe->opts.data);
}

static void on_closed(struct stream *stream)
{
    struct pipe_lines *pipe = stream->owner;
    void (*done)(void *data) = pipe->done;
    void *data = pipe->done_data;

    buf_finish(&pipe->partial);
    mem_free(pipe);
    if (done)
        done(data);
}

static const struct stream_events pipe_events = { on_read, on_end, on_drain, on_closed };

struct pipe_lines *pipe_attach(struct loop *loop, struct stream *stream,
                               const struct pipe_opts *opts)
{
    struct pipe_lines *pipe = MEM_NEW(struct pipe_lines);

    pipe->loop = loop;
    pipe->stream = stream;
    pipe->opts = *opts;
    buf_init(&pipe->partial, opts->line_max + 1); /* a '\r' may follow a line of line_max bytes */
    stream_own(stream, &pipe_events, pipe);
    stream_read_start(stream);
    return pipe;
}

/* A descriptor of our own; see the top of the file. -1, logged: it failed. */
static int own_fd(int fd, int flags)
{
    struct stat info;
    int own = -1;

    if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode))
        own = os_reopen(fd, flags);
    if (own < 0)
        own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (own < 0)
        LOG_ERROR("a standard stream is not open", LOG_INT("fd", fd));
    return own;
}

nod_status pipe_open(struct loop *loop, const struct pipe_opts *opts, struct pipe_lines **out)
{
    struct stream *reader;
    struct stream *writer;
    int read_fd = own_fd(opts->read_fd, O_RDONLY);
    int write_fd = read_fd >= 0 ? own_fd(opts->write_fd, O_WRONLY) : -1;

    if (opts->read_fd > STDERR_FILENO)
        close(opts->read_fd);
    if (opts->write_fd > STDERR_FILENO && opts->write_fd != opts->read_fd)
        close(opts->write_fd);
    if (write_fd < 0) {
        if (read_fd >= 0)
            close(read_fd);
        return NOD_E_IO;
    }
    if (stream_open_fd(loop, read_fd, &reader) != NOD_OK) {
        close(write_fd);
        return NOD_E_IO;
    }
    if (stream_open_fd(loop, write_fd, &writer) != NOD_OK) {
        stream_close(reader);
        return NOD_E_IO;
    }
    *out = pipe_attach(loop, stream_join(reader, writer), opts);
    return NOD_OK;
}

bool pipe_write(struct pipe_lines *pipe, struct str line)
{
    size_t queued = stream_queued(pipe->stream);
    size_t room = pipe->opts.queue_max > queued ? pipe->opts.queue_max - queued : 0;

    if (pipe->broken || pipe->closing)
        return false;
    if (queued && line.len >= room) {
        if (!pipe->full && !pipe->ended)
            stream_read_stop(pipe->stream);
        pipe->full = true;
        return false;
    }
    stream_write(pipe->stream, (const struct str[]){ line, STR("\n") }, 2);
    return true;
}

size_t pipe_queued(const struct pipe_lines *pipe)
{
    return stream_queued(pipe->stream);
}

static void on_grace_over(void *data)
{
    close_now(data);
}

void pipe_close(struct pipe_lines *pipe, int grace_ms, void (*done)(void *data), void *data)
{
    if (pipe->closing)
        return;
    pipe->closing = true;
    pipe->done = done;
    pipe->done_data = data;
    stream_read_stop(pipe->stream);
    if (pipe->broken || grace_ms <= 0 || stream_queued(pipe->stream) == 0)
        close_now(pipe);
    else
        timer_set(pipe->loop, &pipe->grace, grace_ms, on_grace_over, pipe);
}
