/*
 * net/stream: a stream over a libuv handle (TCP, Unix socket, pipe, terminal), and the join of two.
 *
 * An idle wire owns the handle and a few words. Reading borrows the loop's buffer. Writing tries
 * the kernel first; only what it does not take is copied, into a queue that exists while it is not
 * empty. One uv_write is under way at a time, and what comes in the meantime is gathered for the
 * next. So many small writes to a slow reader cost their bytes and nothing else.
 *
 * Holds always: events are made by libuv callbacks only, never from inside an op. The memory is
 * freed in the close callback and nowhere else.
 */
#include "net/stream.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/os.h"
#include "net/file_stream.h"

enum { WIRE_SHUTDOWN_NONE, WIRE_SHUTDOWN_WANTED, WIRE_SHUTDOWN_SENT };

struct wire_queue {
    uv_write_t request;
    struct buf sending; /* under way; not touched until the write is done */
    struct buf waiting; /* written next */
};

struct wire {
    struct stream stream;     /* first */
    struct wire_queue *queue; /* NULL: nothing is queued */
    uint8_t shutdown;
    bool ended;  /* on_end(0) was told */
    bool broken; /* on_end(negative) was told */
    bool closed;
    union { /* last, and allocated only as far as the kind in use needs */
        uv_handle_t any;
        uv_stream_t uv;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
        uv_tty_t tty;
    } handle;
};

static struct wire *wire_of(struct stream *stream)
{
    return (struct wire *)(void *)stream;
}

static struct wire *wire_of_handle(const uv_handle_t *handle)
{
    return handle->data;
}

static void wire_broken(struct wire *wire, int error)
{
    if (wire->broken || wire->closed)
        return;
    wire->broken = true;
    wire->stream.events->on_end(&wire->stream, error);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    size_t room;
    char *at = loop_read_buffer(handle->loop->data, &room);

    (void)suggested;
    *out = uv_buf_init(at, (unsigned)room);
}

static void on_read(uv_stream_t *uv, ssize_t got, const uv_buf_t *buf)
{
    struct wire *wire = wire_of_handle((uv_handle_t *)uv);
    struct loop *loop = uv->loop->data;

    clock_hold();
    if (got > 0) {
        wire->stream.events->on_read(&wire->stream, str_n(buf->base, (size_t)got));
    } else if (got < 0) {
        uv_read_stop(&wire->handle.uv);
        if (got != UV_EOF) {
            wire_broken(wire, (int)got);
        } else if (!wire->ended) {
            wire->ended = true;
            wire->stream.events->on_end(&wire->stream, 0);
        }
    }
    loop_settle(loop);
    clock_release();
}

static void wire_read_start(struct stream *stream)
{
    struct wire *wire = wire_of(stream);

    if (wire->closed || wire->ended || wire->broken)
        return;
    uv_read_start(&wire->handle.uv, on_alloc, on_read);
}

static void wire_read_stop(struct stream *stream)
{
    uv_read_stop(&wire_of(stream)->handle.uv);
}

static void on_written(uv_write_t *request, int status);

static void queue_free(struct wire *wire)
{
    if (!wire->queue)
        return;
    buf_finish(&wire->queue->sending);
    buf_finish(&wire->queue->waiting);
    mem_free(wire->queue);
    wire->queue = NULL;
}

static void on_shut(uv_shutdown_t *request, int status)
{
    (void)status; /* a peer that is already gone is noticed by reading */
    mem_free(request);
}

static void wire_shut(struct wire *wire)
{
    uv_shutdown_t *request = MEM_NEW(uv_shutdown_t);

    wire->shutdown = WIRE_SHUTDOWN_SENT;
    if (uv_shutdown(request, &wire->handle.uv, on_shut) != 0)
        mem_free(request);
}

/* Starts writing `sending`. An error that libuv sees at once is told later, through on_written. */
static void queue_send(struct wire *wire)
{
    struct wire_queue *queue = wire->queue;
    uv_buf_t buf = uv_buf_init(queue->sending.at, (unsigned)queue->sending.len);

    queue->request.data = wire;
    int error = uv_write(&queue->request, &wire->handle.uv, &buf, 1, on_written);
    assert(error == 0 || wire->shutdown == WIRE_SHUTDOWN_SENT);
    (void)error;
}

static void on_written(uv_write_t *request, int status)
{
    struct wire *wire = request->data;
    struct wire_queue *queue = wire->queue;

    if (wire->closed)
        return; /* the close callback frees the queue */
    if (status < 0) {
        buf_clear(&queue->waiting);
        buf_clear(&queue->sending);
        wire_broken(wire, status);
        return;
    }
    if (queue->waiting.len) {
        struct buf sent = queue->sending;

        queue->sending = queue->waiting;
        queue->waiting = sent;
        buf_clear(&queue->waiting);
        queue_send(wire);
        return;
    }
    queue_free(wire);
    if (wire->shutdown == WIRE_SHUTDOWN_WANTED)
        wire_shut(wire);
    if (wire->stream.events->on_drain)
        wire->stream.events->on_drain(&wire->stream);
}

static void queue_add(struct buf *to, const struct str *parts, size_t count, size_t skip)
{
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += parts[i].len;
    buf_reserve(to, len - skip);
    for (size_t i = 0; i < count; i++) {
        buf_add(to, str_skip(parts[i], skip));
        skip -= skip < parts[i].len ? skip : parts[i].len;
    }
}

/* Writes what the kernel takes right now. An error counts as nothing, and comes back through the
 * queue. */
static size_t write_now(struct wire *wire, const struct str *parts, size_t count, size_t *len)
{
    uv_buf_t bufs[STREAM_PARTS_MAX];
    unsigned used = 0;

    *len = 0;
    for (size_t i = 0; i < count; i++) {
        if (!parts[i].len)
            continue;
        bufs[used++] = uv_buf_init((char *)(uintptr_t)parts[i].at, (unsigned)parts[i].len);
        *len += parts[i].len;
    }
    if (!used)
        return 0;
    int sent = uv_try_write(&wire->handle.uv, bufs, used);
    return sent > 0 ? (size_t)sent : 0;
}

static void wire_write(struct stream *stream, const struct str *parts, size_t count)
{
    struct wire *wire = wire_of(stream);
    size_t len;

    assert(count <= STREAM_PARTS_MAX);
    if (wire->closed || wire->broken || wire->shutdown != WIRE_SHUTDOWN_NONE)
        return;
    if (wire->queue) {
        queue_add(&wire->queue->waiting, parts, count, 0);
        return;
    }
    size_t sent = write_now(wire, parts, count, &len);
    if (sent == len)
        return;
    wire->queue = MEM_NEW(struct wire_queue);
    buf_init(&wire->queue->sending, INT_MAX); /* the owner's limit is much lower */
    buf_init(&wire->queue->waiting, INT_MAX);
    queue_add(&wire->queue->sending, parts, count, sent);
    queue_send(wire);
}

static size_t wire_queued(const struct stream *stream)
{
    const struct wire *wire = (const struct wire *)(const void *)stream;

    if (!wire->queue)
        return 0;
    return wire->queue->waiting.len + uv_stream_get_write_queue_size(&wire->handle.uv);
}

static void wire_shutdown(struct stream *stream)
{
    struct wire *wire = wire_of(stream);

    if (wire->closed || wire->broken || wire->shutdown != WIRE_SHUTDOWN_NONE)
        return;
    if (wire->queue)
        wire->shutdown = WIRE_SHUTDOWN_WANTED;
    else
        wire_shut(wire);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct wire *wire = wire_of_handle(handle);

    queue_free(wire);
    if (wire->stream.events)
        wire->stream.events->on_closed(&wire->stream);
    mem_free(wire);
}

static void wire_close(struct stream *stream)
{
    struct wire *wire = wire_of(stream);

    if (wire->closed)
        return;
    wire->closed = true;
    uv_close(&wire->handle.any, on_handle_closed);
}

static size_t wire_unacknowledged(const struct stream *stream)
{
    const struct wire *wire = (const struct wire *)(const void *)stream;
    uv_os_fd_t fd;

    return uv_fileno(&wire->handle.any, &fd) == 0 ? os_unacknowledged(fd) : 0;
}

static const struct stream_ops wire_ops = {
    .read_start = wire_read_start,
    .read_stop = wire_read_stop,
    .write = wire_write,
    .queued = wire_queued,
    .unacknowledged = wire_unacknowledged,
    .shutdown = wire_shutdown,
    .close = wire_close,
};

static size_t wire_size(uv_handle_type type)
{
    size_t handle = type == UV_TTY          ? sizeof(uv_tty_t)
                    : type == UV_NAMED_PIPE ? sizeof(uv_pipe_t)
                                            : sizeof(uv_tcp_t);

    return offsetof(struct wire, handle) + handle;
}

/* A wire whose handle is not initialised yet. */
static struct wire *wire_create(uv_handle_type type)
{
    struct wire *wire = mem_zalloc(wire_size(type));

    wire->stream.ops = &wire_ops;
    return wire;
}

static int wire_init(struct wire *wire, struct loop *loop, uv_handle_type type)
{
    int error = type == UV_NAMED_PIPE ? uv_pipe_init(loop_uv(loop), &wire->handle.pipe, 0)
                                      : uv_tcp_init(loop_uv(loop), &wire->handle.tcp);

    wire->handle.any.data = wire;
    return error;
}

nod_status stream_unconnected(struct loop *loop, bool local, bool background, struct stream **out,
                              struct uv_stream_s **handle)
{
    uv_handle_type type = local ? UV_NAMED_PIPE : UV_TCP;
    struct wire *wire = wire_create(type);

    if (wire_init(wire, loop, type) != 0) {
        mem_free(wire);
        return NOD_E_IO;
    }
    if (background)
        uv_unref(&wire->handle.any);
    *out = &wire->stream;
    *handle = &wire->handle.uv;
    return NOD_OK;
}

static nod_status fd_refused(int fd, int error)
{
    LOG_ERROR("a descriptor cannot be used as a stream", LOG_INT("fd", fd),
              LOG_CSTR("error", uv_strerror(error)));
    close(fd);
    return NOD_E_IO;
}

/* libuv opens a terminal anew, so that the shell's own descriptor stays blocking. */
static nod_status open_tty(struct loop *loop, int fd, struct stream **out)
{
    struct wire *wire = wire_create(UV_TTY);
    int error = uv_tty_init(loop_uv(loop), &wire->handle.tty, fd, 0);

    if (error != 0) {
        mem_free(wire);
        return fd_refused(fd, error);
    }
    wire->handle.any.data = wire;
    *out = &wire->stream;
    return NOD_OK;
}

nod_status stream_open_socket(struct loop *loop, int fd, bool local, struct stream **out)
{
    uv_handle_type type = local ? UV_NAMED_PIPE : UV_TCP;
    struct wire *wire = wire_create(type);
    int error = wire_init(wire, loop, type);

    if (error != 0) {
        mem_free(wire);
        return fd_refused(fd, error);
    }
    error =
        type == UV_TCP ? uv_tcp_open(&wire->handle.tcp, fd) : uv_pipe_open(&wire->handle.pipe, fd);
    if (error != 0) {
        wire_close(&wire->stream);
        return fd_refused(fd, error);
    }
    *out = &wire->stream;
    return NOD_OK;
}

nod_status stream_open_fd(struct loop *loop, int fd, struct stream **out)
{
    uv_handle_type type = uv_guess_handle(fd);

    if (fcntl(fd, F_GETFD) < 0)
        return fd_refused(fd, UV_EBADF);
    switch (type) {
    case UV_TTY:
        return open_tty(loop, fd, out);
    case UV_TCP:
    case UV_NAMED_PIPE:
        return stream_open_socket(loop, fd, type == UV_NAMED_PIPE, out);
    default:
        *out = file_stream_create(loop, fd);
        return NOD_OK;
    }
}

/* --- two streams as one --- */

struct joined {
    struct stream stream; /* first */
    struct stream *reader;
    struct stream *writer; /* NULL once it was closed by shutdown */
    int open;              /* halves that are not closed yet */
    bool shutting;         /* the writer is closed as soon as its queue is empty */
    bool broken;
    bool closed;
};

static struct joined *joined_of(struct stream *stream)
{
    return (struct joined *)(void *)stream;
}

static void half_read(struct stream *half, struct str bytes)
{
    struct joined *joined = half->owner;

    joined->stream.events->on_read(&joined->stream, bytes);
}

static void half_end(struct stream *half, int error)
{
    struct joined *joined = half->owner;

    if (joined->closed || joined->broken)
        return;
    joined->broken = error < 0;
    joined->stream.events->on_end(&joined->stream, error);
}

/* A pipe has no half-close: closing it ends its writing side. */
static void joined_end_writer(struct joined *joined)
{
    stream_close(joined->writer);
    joined->writer = NULL;
}

static void half_drain(struct stream *half)
{
    struct joined *joined = half->owner;

    if (joined->shutting && joined->writer)
        joined_end_writer(joined);
    if (joined->stream.events->on_drain)
        joined->stream.events->on_drain(&joined->stream);
}

static void half_closed(struct stream *half)
{
    struct joined *joined = half->owner;

    if (--joined->open > 0)
        return;
    if (joined->stream.events)
        joined->stream.events->on_closed(&joined->stream);
    mem_free(joined);
}

static const struct stream_events half_events = { half_read, half_end, half_drain, half_closed };

static void joined_read_start(struct stream *stream)
{
    stream_read_start(joined_of(stream)->reader);
}

static void joined_read_stop(struct stream *stream)
{
    stream_read_stop(joined_of(stream)->reader);
}

static void joined_write(struct stream *stream, const struct str *parts, size_t count)
{
    struct joined *joined = joined_of(stream);

    if (joined->writer && !joined->shutting)
        stream_write(joined->writer, parts, count);
}

static size_t joined_queued(const struct stream *stream)
{
    const struct joined *joined = (const struct joined *)(const void *)stream;

    return joined->writer ? stream_queued(joined->writer) : 0;
}

static void joined_shutdown(struct stream *stream)
{
    struct joined *joined = joined_of(stream);

    if (joined->shutting || joined->closed)
        return;
    joined->shutting = true;
    if (stream_queued(joined->writer) == 0)
        joined_end_writer(joined);
}

static void joined_close(struct stream *stream)
{
    struct joined *joined = joined_of(stream);

    if (joined->closed)
        return;
    joined->closed = true;
    stream_close(joined->reader);
    if (joined->writer)
        joined_end_writer(joined);
}

static const struct stream_ops joined_ops = {
    .read_start = joined_read_start,
    .read_stop = joined_read_stop,
    .write = joined_write,
    .queued = joined_queued,
    .shutdown = joined_shutdown,
    .close = joined_close,
};

struct stream *stream_join(struct stream *reader, struct stream *writer)
{
    struct joined *joined = MEM_NEW(struct joined);

    joined->stream.ops = &joined_ops;
    joined->reader = reader;
    joined->writer = writer;
    joined->open = 2;
    stream_own(reader, &half_events, joined);
    stream_own(writer, &half_events, joined);
    return &joined->stream;
}
