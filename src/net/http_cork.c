/*
 * net/http_cork: what is said in one turn of the loop goes out at its end, one write a connection.
 *
 * A head, a first event and a second one are written one after the other, by code that knows
 * nothing of packets; and when many clients are served in one turn, a write after each of their
 * requests would wake each of them while the next one is being worked on. So responses are gathered
 * here, by connection, and handed to the streams together: before the loop waits for I/O, when a
 * connection ends, or when too much has come together.
 *
 * Holds always: the bytes of a connection reach its stream in the order they were written; what is
 * held is at most HTTP_HELD_MAX bytes and one response more, whatever the number of connections.
 */
#include "net/http_private.h"

#include "base/mem.h"

struct http_held {
    struct list link; /* in server->held */
    struct http_conn *conn;
    struct buf bytes;
};

size_t cork_held(const struct http_conn *conn)
{
    return conn->held ? conn->held->bytes.len : 0;
}

void cork_flush(struct http_conn *conn)
{
    struct http_held *held = conn->held;

    if (!held)
        return;
    struct str bytes = buf_str(&held->bytes);
    conn->held = NULL;
    conn->put += bytes.len;
    conn->server->held_bytes -= bytes.len;
    list_remove(&held->link);
    stream_write(conn->stream, &bytes, 1);
    buf_finish(&held->bytes);
    mem_free(held);
}

static void flush_all(void *data)
{
    struct http_server *server = data;

    for (struct list *at; (at = list_first(&server->held));) {
        struct http_conn *conn = LIST_OF(at, struct http_held, link)->conn;
        cork_flush(conn);
        conn_settle(conn); /* the queue, and with it the deadline, may have changed */
    }
}

static struct http_held *held_of(struct http_conn *conn)
{
    struct http_held *held = conn->held;

    if (held)
        return held;
    held = MEM_NEW(struct http_held);
    held->conn = conn;
    buf_init(&held->bytes, HTTP_CORK_MAX);
    list_init(&held->link);
    list_append(&conn->server->held, &held->link);
    conn->held = held;
    return held;
}

void cork_put(struct http_conn *conn, const struct str *parts, size_t count)
{
    struct http_server *server = conn->server;
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += parts[i].len;
    if (len > HTTP_CORK_MAX - cork_held(conn))
        cork_flush(conn);
    if (len > HTTP_CORK_MAX) {
        conn_write(conn, parts, count);
        return;
    }
    struct http_held *held = held_of(conn);
    buf_reserve(&held->bytes, len);
    for (size_t i = 0; i < count; i++)
        buf_add(&held->bytes, parts[i]);
    server->held_bytes += len;
    if (server->held_bytes > HTTP_HELD_MAX)
        flush_all(server);
    else
        loop_last(server->loop, &server->flush, flush_all, server);
}
