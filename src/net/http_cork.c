/*
 * net/http_cork: what is written in one turn of the loop is sent at its end, in one write for each
 * connection.
 *
 * A head, a first event and a second one are written one after the other, by code that knows
 * nothing of packets. And if many clients are served in one turn, a write after each request would
 * wake each client while the next one is being worked on. So responses are gathered here, by
 * connection, and handed to the streams together: before the loop waits for I/O, when a connection
 * ends, or when too much has been gathered.
 *
 * The bytes of all connections follow each other in one buffer of the server. A connection has at
 * most one piece there, and adds to its end. If another connection has written in between, a small
 * piece is moved to the end of the buffer first, and a larger one is sent.
 *
 * Holds always: the bytes of a connection reach its stream in the order in which they were written.
 * At most HTTP_HELD_MAX bytes and one more response are held, whatever the number of connections.
 */
#include "net/http_inside.h"

#include "base/mem.h"

enum {
    PIECES_FIRST = 16,
    PIECE_MOVED_MAX = 1024, /* bytes of a piece that is moved, so that it stays in one place */
};

/* What one connection has written. */
struct http_piece {
    struct http_conn *conn; /* NULL: it was sent */
    size_t from;
    size_t len;
};

static struct http_piece *piece_of(const struct http_conn *conn)
{
    return conn->held ? &conn->server->cork.pieces[conn->held - 1] : NULL;
}

size_t cork_held(const struct http_conn *conn)
{
    return conn->held ? piece_of(conn)->len : 0;
}

void cork_init(struct http_cork *cork)
{
    *cork = (struct http_cork){ 0 };
    buf_init(&cork->bytes, HTTP_HELD_MAX + 2 * HTTP_CORK_MAX); /* never reached */
}

void cork_finish(struct http_cork *cork)
{
    buf_finish(&cork->bytes);
    mem_free(cork->pieces);
}

void cork_flush(struct http_conn *conn)
{
    struct http_cork *cork = &conn->server->cork;
    struct http_piece *piece = piece_of(conn);

    if (!piece)
        return;
    struct str bytes = str_n(cork->bytes.at + piece->from, piece->len);
    conn->held = 0;
    conn->put += bytes.len;
    piece->conn = NULL;
    stream_write(conn->stream, &bytes, 1);
    if (--cork->open > 0)
        return;
    cork->piece_count = 0;
    buf_clear(&cork->bytes);
}

static void flush_all(void *data)
{
    struct http_server *server = data;
    struct http_cork *cork = &server->cork;

    for (uint32_t i = 0; i < cork->piece_count; i++) {
        struct http_conn *conn = cork->pieces[i].conn;
        if (!conn)
            continue;
        cork_flush(conn);
        conn_settle(conn); /* the queue, and so the deadline, may have changed */
    }
}

void http_flush(struct http_server *server)
{
    flush_all(server);
}

static struct http_piece *piece_add(struct http_conn *conn)
{
    struct http_cork *cork = &conn->server->cork;

    if (cork->piece_count == cork->piece_room) {
        cork->piece_room = cork->piece_room ? cork->piece_room * 2 : PIECES_FIRST;
        cork->pieces = mem_realloc(cork->pieces, cork->piece_room * sizeof(*cork->pieces));
    }
    struct http_piece *piece = &cork->pieces[cork->piece_count++];
    *piece = (struct http_piece){ .conn = conn, .from = cork->bytes.len };
    conn->held = cork->piece_count;
    cork->open++;
    return piece;
}

/* The connection's piece, at the end of the buffer. */
static struct http_piece *piece_at_end(struct http_conn *conn)
{
    if (conn->held && conn->held == conn->server->cork.piece_count)
        return piece_of(conn);
    if (conn->held && piece_of(conn)->len <= PIECE_MOVED_MAX) {
        struct http_cork *cork = &conn->server->cork;
        struct http_piece before = *piece_of(conn);
        char *to = buf_reserve(&cork->bytes, before.len);

        piece_of(conn)->conn = NULL;
        cork->open--;
        struct http_piece *piece = piece_add(conn);
        memcpy(to, cork->bytes.at + before.from, before.len);
        cork->bytes.len += before.len;
        piece->len = before.len;
        return piece;
    }
    cork_flush(conn);
    return piece_add(conn);
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
    struct http_piece *piece = piece_at_end(conn);
    char *to = buf_reserve(&server->cork.bytes, len);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].len)
            memcpy(to, parts[i].at, parts[i].len);
        to += parts[i].len;
    }
    server->cork.bytes.len += len;
    piece->len += len;
    if (server->cork.bytes.len > HTTP_HELD_MAX)
        flush_all(server);
    else
        loop_last(server->loop, &server->flush, flush_all, server);
}
