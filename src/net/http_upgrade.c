/*
 * net/http_upgrade: an exchange that is taken over as a stream (RFC 9110, 7.8).
 *
 * http_upgrade answers 101 and gives the connection to somebody who speaks another protocol on it.
 * The new owner sees a stream like any other. Below it is still a connection of the server: it has
 * its place among the connections and in its owner's share, what is written to it and not sent
 * counts as memory, a reader that takes nothing for write_ms is closed, and closing the server
 * closes it. It speaks no HTTP any more. A drain does not wait for it.
 *
 * Bytes that came behind the request belong to the new protocol. They are kept, as bytes that come
 * ahead of a response are, and are the first that the new owner reads.
 *
 * Holds always: each byte behind the request is read once, in order, whoever reads it. The new
 * owner's on_closed comes once, after its stream_close and after the connection is gone; if the
 * server closes the connection first, the owner is told so by on_end.
 */
#include "net/http_inside.h"

#include <uv.h>

#include "base/mem.h"

struct http_upgraded {
    struct stream stream; /* first: what the new owner has */
    struct loop *loop;
    struct http_conn *conn; /* NULL: it is gone */
    bool reading;           /* the owner wants to */
    bool broken;            /* the owner was told so */
    bool dropped;           /* the owner has closed it */
    bool deferred;          /* a deferred call holds this */
};

static struct http_upgraded *upgraded_of(const struct stream *stream)
{
    return (struct http_upgraded *)(void *)stream;
}

/* The connection below, while it can be used. */
static struct http_conn *upgraded_open(const struct stream *stream)
{
    struct http_conn *conn = upgraded_of(stream)->conn;

    return conn && !conn->closed ? conn : NULL;
}

static void upgraded_finish(struct http_upgraded *upgraded)
{
    upgraded->stream.events->on_closed(&upgraded->stream);
    mem_free(upgraded);
}

/* Reads what came behind the request, and from then on what comes. */
static void upgraded_go_on(void *data)
{
    struct http_upgraded *upgraded = data;
    struct http_conn *conn = upgraded->conn;

    upgraded->deferred = false;
    if (upgraded->dropped && !conn) {
        upgraded_finish(upgraded);
        return;
    }
    if (!conn || conn->closed || !upgraded->reading)
        return;
    struct http_ahead *ahead = conn->ahead;
    conn->ahead = NULL;
    conn->paused = false;
    if (ahead) {
        conn_settle(conn);
        upgraded->stream.events->on_read(&upgraded->stream,
                                         str_skip(buf_str(&ahead->bytes), ahead->from));
        buf_finish(&ahead->bytes);
        mem_free(ahead);
    }
    if (upgraded->reading && !conn->closed)
        stream_read_start(conn->stream);
}

static void upgraded_defer(struct http_upgraded *upgraded)
{
    if (upgraded->deferred)
        return;
    upgraded->deferred = true;
    loop_defer(upgraded->loop, upgraded_go_on, upgraded);
}

/* --- what the new owner does --- */

/* Deferred in any case: the bytes of this turn may not be kept yet. */
static void up_read_start(struct stream *stream)
{
    upgraded_of(stream)->reading = true;
    if (upgraded_open(stream))
        upgraded_defer(upgraded_of(stream));
}

static void up_read_stop(struct stream *stream)
{
    upgraded_of(stream)->reading = false;
    if (upgraded_open(stream))
        stream_read_stop(upgraded_open(stream)->stream);
}

static void up_write(struct stream *stream, const struct str *parts, size_t count)
{
    struct http_conn *conn = upgraded_open(stream);

    if (!conn)
        return;
    conn_write(conn, parts, count);
    conn_settle(conn);
}

static size_t up_queued(const struct stream *stream)
{
    struct http_conn *conn = upgraded_open(stream);

    return conn ? stream_queued(conn->stream) : 0;
}

static size_t up_unacknowledged(const struct stream *stream)
{
    struct http_conn *conn = upgraded_open(stream);

    return conn ? stream_unacknowledged(conn->stream) : 0;
}

static void up_shutdown(struct stream *stream)
{
    struct http_conn *conn = upgraded_open(stream);

    if (conn)
        stream_shutdown(conn->stream);
}

static void up_close(struct stream *stream)
{
    struct http_upgraded *upgraded = upgraded_of(stream);

    if (upgraded->dropped)
        return;
    upgraded->dropped = true;
    if (upgraded->conn)
        conn_close(upgraded->conn);
    else
        upgraded_defer(upgraded);
}

static const struct stream_ops up_ops = {
    .read_start = up_read_start,
    .read_stop = up_read_stop,
    .write = up_write,
    .queued = up_queued,
    .unacknowledged = up_unacknowledged,
    .shutdown = up_shutdown,
    .close = up_close,
};

/* --- what happens below --- */

static void below_read(struct stream *stream, struct str bytes)
{
    struct http_upgraded *upgraded = stream->owner;

    conn_arrived(&upgraded->conn->arrivals, true);
    upgraded->stream.events->on_read(&upgraded->stream, bytes);
}

static void below_end(struct stream *stream, int error)
{
    struct http_upgraded *upgraded = stream->owner;

    upgraded->conn->ended = true;
    upgraded->conn->broken = upgraded->broken = error != 0;
    upgraded->stream.events->on_end(&upgraded->stream, error);
}

static void below_drain(struct stream *stream)
{
    struct http_upgraded *upgraded = stream->owner;

    conn_settle(upgraded->conn);
    if (upgraded->stream.events->on_drain)
        upgraded->stream.events->on_drain(&upgraded->stream);
}

static void below_closed(struct stream *stream)
{
    struct http_upgraded *upgraded = stream->owner;

    upgraded->conn->server->upgraded_count--;
    conn_gone(upgraded->conn);
    upgraded->conn = NULL;
    if (upgraded->dropped && !upgraded->deferred)
        upgraded_finish(upgraded);
}

static const struct stream_events below_events = { below_read, below_end, below_drain,
                                                   below_closed };

void upgraded_cut(struct http_upgraded *upgraded)
{
    if (upgraded->dropped || upgraded->broken)
        return;
    upgraded->broken = true;
    upgraded->stream.events->on_end(&upgraded->stream, UV_ECANCELED);
}

struct stream *http_upgrade(struct http_exchange *exchange, struct str protocol,
                            const struct http_header *headers, size_t header_count)
{
    struct http_conn *conn = exchange->conn;
    struct http_upgraded *upgraded = MEM_NEW(struct http_upgraded);

    response_upgrade(exchange, protocol, headers, header_count);
    upgraded->stream.ops = &up_ops;
    upgraded->loop = conn->server->loop;
    upgraded->conn = conn;
    conn->upgraded = upgraded;
    conn->server->upgraded_count++;
    stream_read_stop(conn->stream);
    stream_own(conn->stream, &below_events, upgraded);
    conn_settle(conn);
    return &upgraded->stream;
}
