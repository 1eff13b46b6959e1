/*
 * net/file_stream: stdin from a file, stdout to a file.
 *
 * epoll refuses regular files, because they are always ready. While this stream is read, it takes
 * one buffer in each turn of the loop, so that a large file starves nobody. It writes straight to
 * the page cache. It is meant for redirected standard streams, not for large files.
 *
 * Holds always: at most one deferred turn is under way, and only that turn makes up-calls or frees.
 */
#include "net/file_stream.h"

#include <errno.h>
#include <unistd.h>

#include "base/mem.h"

struct file_stream {
    struct stream stream; /* first */
    struct loop *loop;
    int fd;
    int write_error; /* negative errno that is still to be told */
    bool reading;
    bool ended;
    bool broken;
    bool closed;
    bool scheduled;
};

static void file_turn(void *data);

static struct file_stream *file_of(struct stream *stream)
{
    return (struct file_stream *)(void *)stream;
}

static void file_schedule(struct file_stream *file)
{
    if (file->scheduled)
        return;
    file->scheduled = true;
    loop_defer(file->loop, file_turn, file);
}

static void file_break(struct file_stream *file, int error)
{
    file->broken = true;
    file->stream.events->on_end(&file->stream, error);
}

static void file_read(struct file_stream *file)
{
    size_t room;
    char *at = loop_read_buffer(file->loop, &room);
    ssize_t got;

    do
        got = read(file->fd, at, room);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
        file->stream.events->on_read(&file->stream, str_n(at, (size_t)got));
    } else if (got < 0) {
        file_break(file, -errno);
    } else {
        file->ended = true;
        file->stream.events->on_end(&file->stream, 0);
    }
}

static void file_turn(void *data)
{
    struct file_stream *file = data;

    file->scheduled = false;
    if (file->closed) {
        close(file->fd);
        if (file->stream.events)
            file->stream.events->on_closed(&file->stream);
        mem_free(file);
        return;
    }
    if (file->write_error && !file->broken)
        file_break(file, file->write_error);
    else if (file->reading && !file->ended && !file->broken)
        file_read(file);
    if (file->closed || (file->reading && !file->ended && !file->broken))
        file_schedule(file);
}

static void file_read_start(struct stream *stream)
{
    struct file_stream *file = file_of(stream);

    file->reading = true;
    file_schedule(file);
}

static void file_read_stop(struct stream *stream)
{
    file_of(stream)->reading = false;
}

static int write_all(int fd, struct str bytes)
{
    while (bytes.len) {
        ssize_t put = write(fd, bytes.at, bytes.len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -errno;
        bytes = str_skip(bytes, (size_t)put);
    }
    return 0;
}

static void file_write(struct stream *stream, const struct str *parts, size_t count)
{
    struct file_stream *file = file_of(stream);

    for (size_t i = 0; i < count && !file->write_error && !file->closed; i++)
        file->write_error = write_all(file->fd, parts[i]);
    if (file->write_error)
        file_schedule(file);
}

static size_t file_queued(const struct stream *stream)
{
    (void)stream;
    return 0;
}

static void file_shutdown(struct stream *stream)
{
    (void)stream; /* nothing is queued, and a file has no other side to tell */
}

static void file_close(struct stream *stream)
{
    struct file_stream *file = file_of(stream);

    if (file->closed)
        return;
    file->closed = true;
    file_schedule(file);
}

static const struct stream_ops file_ops = {
    .read_start = file_read_start,
    .read_stop = file_read_stop,
    .write = file_write,
    .queued = file_queued,
    .shutdown = file_shutdown,
    .close = file_close,
};

struct stream *file_stream_create(struct loop *loop, int fd)
{
    struct file_stream *file = MEM_NEW(struct file_stream);

    file->stream.ops = &file_ops;
    file->loop = loop;
    file->fd = fd;
    return &file->stream;
}
