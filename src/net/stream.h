/*
 * net/stream: bytes both ways, whatever carries them.
 *
 * TCP, Unix sockets, pipes, terminals, files, child processes and the in-memory pair are all a
 * struct stream. A filter (TLS) is a stream that owns a lower one. Ops go down, events come up.
 *
 * The rules that every stream keeps:
 * - A stream has one owner, which sets `events` and `owner` before the first op.
 * - An op never makes an up-call before it returns. What happened is told on a later turn.
 * - on_read: the bytes are valid during the call. Only after stream_read_start.
 * - on_end(0): the other side sends no more; writing may still work. on_end(negative): broken, both
 *   ways. Each at most once, and nothing but on_closed follows the second.
 * - stream_write takes everything: what the kernel does not take at once is copied and queued. The
 *   owner looks at stream_queued and stops producing; on_drain comes when the queue is empty again.
 * - stream_close drops what is queued. After it the only event is on_closed, on a later turn; then
 *   the stream is gone. stream_shutdown ends the writing side once the queue is empty.
 */
#ifndef NOD_NET_STREAM_H
#define NOD_NET_STREAM_H

#include <nod/nod.h>

#include "base/str.h"
#include "net/loop.h"

struct stream;
struct uv_stream_s;

/* More parts than that in one write are the caller's mistake. */
enum { STREAM_PARTS_MAX = 16 };

struct stream_ops {
    void (*read_start)(struct stream *stream);
    void (*read_stop)(struct stream *stream);
    void (*write)(struct stream *stream, const struct str *parts, size_t count);
    size_t (*queued)(const struct stream *stream);
    size_t (*unacknowledged)(const struct stream *stream); /* may be NULL */
    void (*shutdown)(struct stream *stream);
    void (*close)(struct stream *stream);
};

struct stream_events {
    void (*on_read)(struct stream *stream, struct str bytes);
    void (*on_end)(struct stream *stream, int error);
    void (*on_drain)(struct stream *stream); /* may be NULL */
    void (*on_closed)(struct stream *stream);
};

struct stream {
    const struct stream_ops *ops;
    const struct stream_events *events;
    void *owner;
};

static inline void stream_own(struct stream *stream, const struct stream_events *events,
                              void *owner)
{
    stream->events = events;
    stream->owner = owner;
}

static inline void stream_read_start(struct stream *stream)
{
    stream->ops->read_start(stream);
}

static inline void stream_read_stop(struct stream *stream)
{
    stream->ops->read_stop(stream);
}

static inline void stream_write(struct stream *stream, const struct str *parts, size_t count)
{
    stream->ops->write(stream, parts, count);
}

static inline size_t stream_queued(const struct stream *stream)
{
    return stream->ops->queued(stream);
}

/* Bytes that have left the queue, and that the other end is not known to have. */
static inline size_t stream_unacknowledged(const struct stream *stream)
{
    return stream->ops->unacknowledged ? stream->ops->unacknowledged(stream) : 0;
}

static inline void stream_shutdown(struct stream *stream)
{
    stream->ops->shutdown(stream);
}

static inline void stream_close(struct stream *stream)
{
    stream->ops->close(stream);
}

/*
 * Takes over a descriptor of any kind: pipe, socket, terminal, regular file, /dev/null. It is
 * closed with the stream, or at once on failure. NOD_E_IO, logged: it failed.
 */
nod_status stream_open_fd(struct loop *loop, int fd, struct stream **out);

/* The same for a descriptor that is known to be a connected socket: TCP or, with `local`, a Unix
 * socket or a pipe. */
nod_status stream_open_socket(struct loop *loop, int fd, bool local, struct stream **out);

/*
 * A socket (a Unix one if `local`) that is not connected yet, and its libuv handle: net/connect
 * connects it before anybody else sees it. With `background` it does not keep loop_run alive.
 */
nod_status stream_unconnected(struct loop *loop, bool local, bool background, struct stream **out,
                              struct uv_stream_s **handle);

/* Reads from one stream and writes to the other. Owns and closes both. */
struct stream *stream_join(struct stream *reader, struct stream *writer);

#endif
