/*
 * net/socket: see socket.h.
 *
 * Readiness is told at its edges, so what is known of it is kept: `readable` says that there may be
 * something to read which nobody has been told of. One event reads once, into the loop's buffer, so
 * that a fast sender delays nobody; where something may be left the socket stands in line for the
 * end of the turn. That is so if the buffer was full, and if there is something behind which a read
 * does not go: the end of what the peer sends, an urgent byte, on a Unix socket descriptors that
 * were sent along. What the kernel does not take is queued, and writability is watched as long as
 * there is a queue.
 *
 * Holds always: up-calls come from events of the loop only, never from inside an op. A socket that
 * is reading and readable is in line. The memory goes behind on_closed and nowhere else.
 */
#include "net/socket.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "net/watch.h"

#define SOCKET_READS  ((uint32_t)(EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET))
#define SOCKET_BEHIND ((uint32_t)(EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR))

struct socket_queue {
    struct buf bytes;
    size_t sent; /* of them, from the front */
};

struct socket {
    struct stream stream; /* first */
    struct watch watch;
    struct loop *loop;
    struct socket_queue *queue; /* what the kernel did not take; NULL: nothing is queued */
    struct loop_last later;     /* in line: there is something to tell at the end of the turn */
    int fd;                     /* -1: closed */
    int error;                  /* of writing, negative; told in line */
    bool reading;               /* the owner wants to be told */
    bool readable;              /* there may be something it was not told of */
    bool behind;                /* a short read may not be the last: see above */
    bool shutting;              /* no more is written; the peer is told once the queue is out */
    bool ended;                 /* on_end(0) was told */
    bool broken;                /* on_end(negative) was told */
};

static struct socket *socket_of(struct stream *stream)
{
    return (struct socket *)(void *)stream;
}

static void in_line(void *data);

static void stand_in_line(struct socket *socket)
{
    loop_last(socket->loop, &socket->later, in_line, socket);
}

static void queue_free(struct socket *socket)
{
    if (!socket->queue)
        return;
    buf_finish(&socket->queue->bytes);
    mem_free(socket->queue);
    socket->queue = NULL;
}

static void tell_broken(struct socket *socket, int error)
{
    if (socket->fd < 0 || socket->broken)
        return;
    socket->broken = true;
    socket->reading = false;
    queue_free(socket);
    socket->stream.events->on_end(&socket->stream, error);
}

static void tell_ended(struct socket *socket)
{
    socket->ended = true;
    socket->reading = false;
    socket->stream.events->on_end(&socket->stream, 0);
}

static void read_once(struct socket *socket)
{
    size_t room;
    char *at = loop_read_buffer(socket->loop, &room);
    ssize_t got = recv(socket->fd, at, room, MSG_DONTWAIT);

    socket->readable =
        (got > 0 && (socket->behind || (size_t)got == room)) || (got < 0 && errno == EINTR);
    if (socket->readable)
        stand_in_line(socket);
    if (got > 0)
        socket->stream.events->on_read(&socket->stream, str_n(at, (size_t)got));
    else if (got == 0)
        tell_ended(socket);
    else if (errno != EAGAIN && errno != EINTR)
        tell_broken(socket, uv_translate_sys_error(errno));
}

/* What the kernel takes right now; or the error, negative. Nothing is no error. */
static ssize_t send_now(int fd, const struct iovec *parts, size_t count)
{
    struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = count };
    ssize_t sent;

    do
        sent = count == 1 ? send(fd, parts->iov_base, parts->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL)
                          : sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    return errno == EAGAIN ? 0 : uv_translate_sys_error(errno);
}

/* The kernel has room again. */
static void write_more(struct socket *socket)
{
    struct socket_queue *queue = socket->queue;
    struct iovec rest = { queue->bytes.at + queue->sent, queue->bytes.len - queue->sent };
    ssize_t sent = send_now(socket->fd, &rest, 1);

    if (sent < 0) {
        tell_broken(socket, (int)sent);
        return;
    }
    queue->sent += (size_t)sent;
    if (queue->sent < queue->bytes.len)
        return;
    queue_free(socket);
    watch_change(socket->loop, &socket->watch, socket->fd, SOCKET_READS);
    if (socket->shutting)
        shutdown(socket->fd, SHUT_WR);
    if (socket->stream.events->on_drain)
        socket->stream.events->on_drain(&socket->stream);
}

static void read_if_wanted(struct socket *socket)
{
    if (socket->fd >= 0 && socket->reading && socket->readable)
        read_once(socket);
}

static void on_ready(struct watch *watch, uint32_t what)
{
    struct socket *socket = (struct socket *)((char *)watch - offsetof(struct socket, watch));

    if (what & SOCKET_BEHIND)
        socket->behind = true;
    if (what & (EPOLLIN | SOCKET_BEHIND))
        socket->readable = true;
    if (socket->queue && (what & (EPOLLOUT | SOCKET_BEHIND)))
        write_more(socket);
    read_if_wanted(socket);
}

static void in_line(void *data)
{
    struct socket *socket = data;
    struct loop *loop = socket->loop;

    clock_hold();
    if (socket->error)
        tell_broken(socket, socket->error);
    read_if_wanted(socket);
    loop_settle(loop);
    clock_release();
}

static void socket_read_start(struct stream *stream)
{
    struct socket *socket = socket_of(stream);

    if (socket->fd < 0 || socket->ended || socket->broken)
        return;
    socket->reading = true;
    if (socket->readable)
        stand_in_line(socket);
}

static void socket_read_stop(struct stream *stream)
{
    socket_of(stream)->reading = false;
}

static void queue_add(struct socket_queue *queue, const struct iovec *parts, size_t count,
                      size_t skip)
{
    if (queue->sent > queue->bytes.len / 2) { /* each byte is moved once, and seldom */
        buf_drop(&queue->bytes, queue->sent);
        queue->sent = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct str part = str_n(parts[i].iov_base, parts[i].iov_len);
        buf_add(&queue->bytes, str_skip(part, skip));
        skip -= skip < part.len ? skip : part.len;
    }
}

static void queue_begin(struct socket *socket)
{
    socket->queue = MEM_NEW(struct socket_queue);
    buf_init(&socket->queue->bytes, INT_MAX); /* the owner's limit is far below */
    if (socket->error)
        stand_in_line(socket);
    else
        watch_change(socket->loop, &socket->watch, socket->fd, SOCKET_READS | EPOLLOUT);
}

static void socket_write(struct stream *stream, const struct str *parts, size_t count)
{
    struct socket *socket = socket_of(stream);
    struct iovec used[STREAM_PARTS_MAX];
    size_t used_count = 0, len = 0;

    assert(count <= STREAM_PARTS_MAX);
    if (socket->fd < 0 || socket->broken || socket->shutting)
        return;
    for (size_t i = 0; i < count; i++) {
        if (!parts[i].len)
            continue;
        used[used_count++] = (struct iovec){ (char *)(uintptr_t)parts[i].at, parts[i].len };
        len += parts[i].len;
    }
    if (len == 0)
        return;
    ssize_t sent = 0;
    if (!socket->queue) {
        sent = send_now(socket->fd, used, used_count);
        if (sent == (ssize_t)len)
            return;
        if (sent < 0) {
            socket->error = (int)sent;
            sent = 0;
        }
        queue_begin(socket);
    }
    queue_add(socket->queue, used, used_count, (size_t)sent);
}

static size_t socket_queued(const struct stream *stream)
{
    const struct socket *socket = (const struct socket *)(const void *)stream;

    return socket->queue ? socket->queue->bytes.len - socket->queue->sent : 0;
}

static void socket_shutdown(struct stream *stream)
{
    struct socket *socket = socket_of(stream);

    if (socket->fd < 0 || socket->broken || socket->shutting)
        return;
    socket->shutting = true;
    if (!socket->queue)
        shutdown(socket->fd, SHUT_WR); /* a peer that is gone already is told by reading */
}

static void closed(void *data)
{
    struct socket *socket = data;

    if (socket->stream.events)
        socket->stream.events->on_closed(&socket->stream);
    mem_free(socket);
}

static void socket_close(struct stream *stream)
{
    struct socket *socket = socket_of(stream);

    if (socket->fd < 0)
        return;
    watch_remove(socket->loop, &socket->watch, socket->fd);
    loop_last_stop(&socket->later);
    close(socket->fd);
    socket->fd = -1;
    queue_free(socket);
    loop_defer(socket->loop, closed, socket);
}

static const struct stream_ops socket_ops = {
    .read_start = socket_read_start,
    .read_stop = socket_read_stop,
    .write = socket_write,
    .queued = socket_queued,
    .shutdown = socket_shutdown,
    .close = socket_close,
};

struct stream *socket_stream_create(struct loop *loop, int fd, bool local)
{
    struct socket *socket = MEM_NEW(struct socket);

    socket->stream.ops = &socket_ops;
    socket->loop = loop;
    socket->fd = fd;
    socket->behind = local;
    socket->watch = (struct watch){ on_ready };
    if (!watch_add(loop, &socket->watch, fd, SOCKET_READS)) {
        close(fd);
        mem_free(socket);
        return NULL;
    }
    return &socket->stream;
}
