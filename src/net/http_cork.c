/*
 * net/http_cork: what a streamed response says in one breath goes out in one piece.
 *
 * A head, a first event and a second one are written one after the other, by code that knows
 * nothing of packets. They are gathered here and handed to the stream together: when the stack is
 * clear (a deferred call), when the response ends, when another connection has something to say, or
 * when enough has come together. One connection is gathered for at a time, so the memory is one
 * buffer a server.
 *
 * Holds always: the bytes of a connection reach its stream in the order they were written.
 */
#include "net/http_private.h"

size_t cork_held(const struct http_conn *conn)
{
    return conn->server->corked == conn ? conn->server->cork.len : 0;
}

void cork_flush(struct http_server *server)
{
    struct http_conn *conn = server->corked;
    struct str bytes = buf_str(&server->cork);

    server->corked = NULL;
    if (conn && bytes.len) {
        conn->put += bytes.len;
        stream_write(conn->stream, &bytes, 1);
    }
    buf_clear(&server->cork);
}

static void flush_later(void *data)
{
    struct http_server *server = data;
    struct http_conn *conn = server->corked;

    server->flush_due = false;
    if (server->freed) {
        server_free(server);
        return;
    }
    cork_flush(server);
    if (conn && !conn->closed)
        conn_settle(conn); /* the queue, and with it the deadline, may have changed */
}

void cork_put(struct http_conn *conn, const struct str *parts, size_t count)
{
    struct http_server *server = conn->server;
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += parts[i].len;
    if (server->corked != conn || server->cork.len + len > HTTP_CORK_MAX)
        cork_flush(server);
    if (len > HTTP_CORK_MAX) {
        conn_write(conn, parts, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        buf_add(&server->cork, parts[i]);
    server->corked = conn;
    if (!server->flush_due) {
        server->flush_due = true;
        loop_defer(server->loop, flush_later, server);
    }
}
