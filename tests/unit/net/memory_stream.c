/*
 * A connection without a kernel.
 *
 * Two ends in one process, for tests that control exactly how bytes are split and when the reader
 * stops taking them. It behaves like a socket: what the window does not take is queued on the
 * writer's side, and the other end sees a close as end of input, after the bytes before it.
 *
 * Holds always: at most one deferred turn of each end is under way. A turn makes at most one
 * up-call of each kind. Only a turn frees.
 */
#include "memory_stream.h"

#include <limits.h>

#include "base/buf.h"
#include "base/mem.h"

struct memory_end {
    struct stream stream; /* first */
    struct loop *loop;
    struct memory_stream_opts opts;
    struct memory_end *peer; /* NULL once it is gone */
    struct buf inbox;        /* what the other end wrote within the window */
    struct buf outbox;       /* what this end wrote beyond it */
    bool reading;
    bool finishing; /* shut down: no more writes; the other end is told after the last byte */
    bool end_due;   /* the other end has finished */
    bool ended;
    bool drained;
    bool closed;
    bool scheduled;
};

static void end_turn(void *data);

static struct memory_end *end_of(struct stream *stream)
{
    return (struct memory_end *)(void *)stream;
}

static void end_schedule(struct memory_end *end)
{
    if (end->scheduled)
        return;
    end->scheduled = true;
    loop_defer(end->loop, end_turn, end);
}

/* Moves what the window takes from the writer to the reader. */
static void end_flow(struct memory_end *from)
{
    struct memory_end *to = from->peer;
    size_t window = from->opts.window_max ? from->opts.window_max : SIZE_MAX;

    if (!to)
        return;
    size_t room = window > to->inbox.len ? window - to->inbox.len : 0;
    size_t n = from->outbox.len < room ? from->outbox.len : room;
    if (n) {
        buf_add(&to->inbox, str_n(from->outbox.at, n));
        buf_drop(&from->outbox, n);
        end_schedule(to);
        if (!from->outbox.len) {
            from->drained = true;
            end_schedule(from);
        }
    }
    if (from->finishing && !from->outbox.len && !to->end_due) {
        to->end_due = true;
        end_schedule(to);
    }
}

static void end_read(struct memory_end *end)
{
    size_t room;
    char *at = loop_read_buffer(end->loop, &room);
    size_t n = end->inbox.len < room ? end->inbox.len : room;

    if (end->opts.piece_max && n > end->opts.piece_max)
        n = end->opts.piece_max;
    memcpy(at, end->inbox.at, n); /* the handler may write, and so move the inbox */
    buf_drop(&end->inbox, n);
    if (end->peer)
        end_flow(end->peer);
    end->stream.events->on_read(&end->stream, str_n(at, n));
}

static void end_free(struct memory_end *end)
{
    if (end->peer) {
        end->outbox.len = 0;
        end->finishing = true;
        end_flow(end);
        end->peer->peer = NULL;
    }
    if (end->stream.events)
        end->stream.events->on_closed(&end->stream);
    buf_finish(&end->inbox);
    buf_finish(&end->outbox);
    mem_free(end);
}

static bool end_can_read(const struct memory_end *end)
{
    return end->reading && !end->ended && (end->inbox.len || end->end_due);
}

static void end_turn(void *data)
{
    struct memory_end *end = data;

    end->scheduled = false;
    if (!end->closed && end->drained) {
        end->drained = false;
        if (end->stream.events->on_drain)
            end->stream.events->on_drain(&end->stream);
    }
    if (!end->closed && end_can_read(end)) {
        if (end->inbox.len) {
            end_read(end);
        } else {
            end->ended = true;
            end->stream.events->on_end(&end->stream, 0);
        }
    }
    if (end->closed && !end->scheduled)
        end_free(end);
    else if (end_can_read(end))
        end_schedule(end);
}

static void end_read_start(struct stream *stream)
{
    struct memory_end *end = end_of(stream);

    end->reading = true;
    end_schedule(end);
}

static void end_read_stop(struct stream *stream)
{
    end_of(stream)->reading = false;
}

static void end_write(struct stream *stream, const struct str *parts, size_t count)
{
    struct memory_end *end = end_of(stream);

    if (end->closed || end->finishing || !end->peer)
        return;
    bool was_empty = end->outbox.len == 0;
    for (size_t i = 0; i < count; i++)
        buf_add(&end->outbox, parts[i]);
    end_flow(end);
    if (was_empty && !end->outbox.len)
        end->drained = false; /* taken at once, so there is nothing to drain */
}

static size_t end_queued(const struct stream *stream)
{
    return ((const struct memory_end *)(const void *)stream)->outbox.len;
}

static void end_shutdown(struct stream *stream)
{
    struct memory_end *end = end_of(stream);

    end->finishing = true;
    end_flow(end);
}

static void end_close(struct stream *stream)
{
    struct memory_end *end = end_of(stream);

    if (end->closed)
        return;
    end->closed = true;
    end_schedule(end);
}

static const struct stream_ops memory_ops = {
    .read_start = end_read_start,
    .read_stop = end_read_stop,
    .write = end_write,
    .queued = end_queued,
    .shutdown = end_shutdown,
    .close = end_close,
};

static struct memory_end *end_create(struct loop *loop, const struct memory_stream_opts *opts)
{
    struct memory_end *end = MEM_NEW(struct memory_end);

    end->stream.ops = &memory_ops;
    end->loop = loop;
    end->opts = opts ? *opts : (struct memory_stream_opts){ 0 };
    buf_init(&end->inbox, INT_MAX);
    buf_init(&end->outbox, INT_MAX);
    return end;
}

void memory_stream_pair(struct loop *loop, const struct memory_stream_opts *opts, struct stream **a,
                        struct stream **b)
{
    struct memory_end *one = end_create(loop, opts);
    struct memory_end *two = end_create(loop, opts);

    one->peer = two;
    two->peer = one;
    *a = &one->stream;
    *b = &two->stream;
}
