/*
 * net/http_response: answers an exchange, whole or in pieces.
 *
 * A head is built in one buffer of the server, and is sent together with the first bytes of the
 * body, in one write. A header that could end its own line (CR, LF, NUL) is left out and logged, so
 * no text from outside can begin another header or response.
 *
 * Holds always: an exchange is answered once. When the response is complete the exchange is freed,
 * before the connection goes on. The request is valid until the head of the response is written,
 * because the caller may send slices of it.
 */
#include "net/http_inside.h"

#include <assert.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"

enum {
    HTTP_CHUNK_HEAD = 20,   /* sixteen hexadecimal digits and a line end */
    HTTP_NUMBER_LEN = 20,   /* digits of a length */
    HTTP_REFUSAL_MAX = 512, /* bytes of the body of a refusal */
};

_Static_assert((int)HTTP_PARTS_MAX + 2 <= (int)STREAM_PARTS_MAX, "a chunk is one write");

static bool all_are(struct str s, uint8_t kind)
{
    uint8_t all = kind;

    for (size_t i = 0; i < s.len; i++)
        all &= http1_bytes[(uint8_t)s.at[i]];
    return all & kind;
}

static void head_add(struct buf *head, struct str name, struct str value)
{
    size_t len = name.len + value.len + 4;
    char *to = buf_reserve(head, len);

    if (!to)
        return;
    memcpy(to, name.at, name.len);
    to += name.len;
    *to++ = ':';
    *to++ = ' ';
    if (value.len)
        memcpy(to, value.at, value.len);
    to += value.len;
    *to++ = '\r';
    *to++ = '\n';
    head->len += len;
}

/* Leaves room for the framing, without which the rest would be useless. */
static bool head_fits(const struct buf *head, const struct http_header *header)
{
    size_t used = head->len + strlen(": \r\n");
    size_t room =
        used < HTTP_HEAD_MAX - HTTP_FRAMING_MAX ? HTTP_HEAD_MAX - HTTP_FRAMING_MAX - used : 0;

    return header->name.len < room && header->value.len < room - header->name.len;
}

/* Status line, Date, and lines that are known to be valid. Others and the framing follow. */
static struct buf *head_begin(struct http_server *server, int status, struct str lines)
{
    struct buf *head = &server->head;
    struct str prefix = server_prefix(server);

    buf_clear(head);
    /* Most responses of a second begin in the same way, and the lines are constants: reuse them. */
    if (status == 200 && server->head_prefix_at == server->prefix_at &&
        server->head_lines.at == lines.at && server->head_lines.len == lines.len) {
        head->len = prefix.len + lines.len;
        return head;
    }
    if (status != 200) {
        const char digits[] = { (char)('0' + status / 100), (char)('0' + status / 10 % 10),
                                (char)('0' + status % 10), ' ' };

        buf_add(head, STR("HTTP/1.1 "));
        buf_add(head, str_n(digits, sizeof(digits)));
        buf_add(head, str_of(http1_reason(status)));
        buf_add(head, STR("\r\n"));
        prefix = str_skip(prefix, HTTP_STATUS_LEN);
    }
    buf_add(head, prefix);
    if (lines.len)
        buf_add(head, lines);
    server->head_lines = lines;
    server->head_prefix_at = status == 200 ? server->prefix_at : 0;
    return head;
}

static void head_headers(struct buf *head, const struct http_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (headers[i].name.len > 0 && all_are(headers[i].name, HTTP1_TOKEN) &&
            all_are(headers[i].value, HTTP1_VALUE) && head_fits(head, &headers[i]))
            head_add(head, headers[i].name, headers[i].value);
        else
            LOG_ERROR("a response header was left out: too long, or bytes that no header may hold",
                      LOG_STR("name", headers[i].name));
    }
}

/* "Content-Length: 17" and a line end, written backwards. */
static void head_length(struct buf *head, size_t len)
{
    static const char name[] = "Content-Length: ";
    char text[sizeof(name) - 1 + HTTP_NUMBER_LEN + 2];
    size_t at = sizeof(text);

    text[--at] = '\n';
    text[--at] = '\r';
    do
        text[--at] = (char)('0' + len % 10);
    while (len /= 10);
    at -= sizeof(name) - 1;
    memcpy(text + at, name, sizeof(name) - 1);
    buf_add(head, str_n(text + at, sizeof(text) - at));
}

static void head_end(struct buf *head, bool keep_alive)
{
    if (!keep_alive)
        head_add(head, STR("Connection"), STR("close"));
    buf_add(head, STR("\r\n"));
}

static bool has_no_body(int status)
{
    return status == 204 || status == 304;
}

static bool keeps_alive(const struct http_exchange *exchange)
{
    return exchange->keep_alive && !exchange->conn->server->draining;
}

void http_on_gone(struct http_exchange *exchange, void (*gone)(void *data), void *data)
{
    exchange->gone = gone;
    exchange->gone_data = data;
}

void http_on_arrived(struct http_exchange *exchange, void (*arrived)(void *data, bool did),
                     void *data)
{
    struct http_arrival *arrival = MEM_NEW(struct http_arrival);

    *arrival = (struct http_arrival){ exchange->arrivals, arrived, data };
    exchange->arrivals = arrival;
}

void http_on_drain(struct http_exchange *exchange, void (*drained)(void *data), void *data)
{
    exchange->drained = drained;
    exchange->drained_data = data;
}

static void request_free(struct http_exchange *exchange)
{
    incoming_free(exchange->conn->server, exchange->incoming);
    exchange->incoming = NULL;
}

int http_hold(struct http_exchange *exchange, size_t bytes)
{
    struct http_conn *conn = exchange->conn;
    size_t others = conn->counted - exchange->making;
    int status = bytes > exchange->making ? share_refuses(conn, others, bytes) : 0;

    if (status)
        return status;
    exchange->making = bytes;
    share_count(conn, others + bytes);
    return 0;
}

void http_release(struct http_exchange *exchange)
{
    request_free(exchange);
    conn_settle(exchange->conn);
}

static void exchange_finish(struct http_exchange *exchange, bool keep_alive)
{
    struct http_conn *conn = exchange->conn;
    struct http_arrival **last = &conn->arrivals;

    while (*last)
        last = &(*last)->next;
    *last = exchange->arrivals;
    exchange_free(conn->server, exchange);
    conn_answered(conn, keep_alive);
}

/* The framing, the body, and the end of the exchange. */
static void reply_with(struct http_exchange *exchange, int status, struct buf *head,
                       struct str body)
{
    struct http_conn *conn = exchange->conn;
    bool keep_alive = keeps_alive(exchange);

    if (exchange->lines.len)
        buf_add(head, exchange->lines);
    if (!has_no_body(status))
        head_length(head, body.len);
    head_end(head, keep_alive);
    if (exchange->head_only || has_no_body(status))
        body = STR_NONE;
    cork_put(conn, (const struct str[]){ buf_str(head), body }, 2);
    exchange_finish(exchange, keep_alive);
}

static void check_begin(const struct http_exchange *exchange, int status)
{
    assert(!exchange->begun && exchange->conn->exchange == exchange);
    assert(status >= 200 && status <= 599);
    (void)exchange;
    (void)status;
}

void http_reply(struct http_exchange *exchange, int status, const struct http_header *headers,
                size_t header_count, struct str body)
{
    check_begin(exchange, status);
    struct buf *head = head_begin(exchange->conn->server, status, STR_NONE);
    head_headers(head, headers, header_count);
    reply_with(exchange, status, head, body);
}

void http_reply_lines(struct http_exchange *exchange, int status, struct str lines, struct str body)
{
    check_begin(exchange, status);
    reply_with(exchange, status, head_begin(exchange->conn->server, status, lines), body);
}

void http_begin(struct http_exchange *exchange, int status, struct str lines,
                const struct http_header *headers, size_t header_count)
{
    struct http_conn *conn = exchange->conn;

    check_begin(exchange, status);
    exchange->begun = true;
    exchange->bodiless = has_no_body(status);
    exchange->keep_alive = keeps_alive(exchange);
    exchange->chunked = !exchange->old && !exchange->bodiless;
    struct buf *head = head_begin(conn->server, status, lines);
    head_headers(head, headers, header_count);
    if (exchange->lines.len)
        buf_add(head, exchange->lines);
    if (exchange->chunked)
        buf_add(head, STR("Transfer-Encoding: chunked\r\n"));
    head_end(head, exchange->keep_alive);
    struct str bytes = buf_str(head);
    cork_put(conn, &bytes, 1);
    request_free(exchange);
    conn_settle_soon(conn);
}

void response_upgrade(struct http_exchange *exchange, struct str protocol,
                      const struct http_header *headers, size_t header_count)
{
    struct http_conn *conn = exchange->conn;
    struct http_arrival **last = &conn->arrivals;

    assert(!exchange->begun && conn->exchange == exchange);
    struct buf *head = head_begin(conn->server, 101, STR("Connection: Upgrade\r\n"));
    head_add(head, STR("Upgrade"), protocol);
    head_headers(head, headers, header_count);
    if (exchange->lines.len)
        buf_add(head, exchange->lines);
    head_end(head, true);
    struct str bytes = buf_str(head);
    conn_write(conn, &bytes, 1);
    while (*last)
        last = &(*last)->next;
    *last = exchange->arrivals;
    conn->exchange = NULL;
    exchange_free(conn->server, exchange);
}

static bool queue_allows(const struct http_exchange *exchange, size_t more)
{
    const struct http_conn *conn = exchange->conn;
    const struct http_limits *limits = &conn->server->opts.limits;

    if (cork_held(conn) + stream_queued(conn->stream) + more > limits->queue_max)
        cork_flush(exchange->conn); /* only the stream knows how much the reader takes */
    size_t queued = stream_queued(conn->stream);
    if (!queued)
        return true; /* what is larger than the queue may go into an empty one */
    return queued < limits->queue_max && more <= limits->queue_max - queued &&
           conn->server->memory < limits->memory_max;
}

/* "1f4\r\n", written backwards. */
static struct str chunk_head(char out[HTTP_CHUNK_HEAD], size_t len)
{
    size_t at = HTTP_CHUNK_HEAD;

    out[--at] = '\n';
    out[--at] = '\r';
    do
        out[--at] = "0123456789abcdef"[len & 15];
    while ((len >>= 4) != 0);
    return str_n(out + at, HTTP_CHUNK_HEAD - at);
}

bool http_write_parts(struct http_exchange *exchange, const struct str *parts, size_t count)
{
    struct str framed[HTTP_PARTS_MAX + 2];
    char size[HTTP_CHUNK_HEAD];
    size_t len = 0;

    assert(exchange->begun && exchange->conn->exchange == exchange && count <= HTTP_PARTS_MAX);
    for (size_t i = 0; i < count; i++) {
        framed[i + 1] = parts[i];
        len += parts[i].len;
    }
    if (!len || exchange->head_only || exchange->bodiless)
        return true;
    if (!queue_allows(exchange, len)) {
        conn_settle_soon(exchange->conn); /* finding out may have sent what was held */
        return false;
    }
    if (exchange->chunked) {
        framed[0] = chunk_head(size, len);
        framed[count + 1] = STR("\r\n");
        cork_put(exchange->conn, framed, count + 2);
    } else {
        cork_put(exchange->conn, parts, count);
    }
    conn_settle_soon(exchange->conn);
    return true;
}

bool http_write(struct http_exchange *exchange, struct str bytes)
{
    return http_write_parts(exchange, &bytes, 1);
}

size_t http_queued(const struct http_exchange *exchange)
{
    return stream_queued(exchange->conn->stream) + cork_held(exchange->conn);
}

void http_end(struct http_exchange *exchange)
{
    struct str last = STR("0\r\n\r\n");

    assert(exchange->begun && exchange->conn->exchange == exchange);
    if (exchange->chunked && !exchange->head_only)
        cork_put(exchange->conn, &last, 1);
    exchange_finish(exchange, exchange->keep_alive);
}

/* Whatever the request was for, nobody has looked at it yet: every client is told in this form. */
#define PROBLEM "Content-Type: application/problem+json\r\n"

static struct str refusal_lines(int status)
{
    /* A client that has done nothing wrong is told when to try again. */
    return status == 429 || status == 503 ? STR(PROBLEM HTTP_RETRY_LINE) : STR(PROBLEM);
}

void response_refuse(struct http_conn *conn, int status, const char *why)
{
    struct buf *head = head_begin(conn->server, status, refusal_lines(status));
    char body[HTTP_REFUSAL_MAX];

    assert(!strpbrk(why, "\"\\")); /* it is JSON as it stands: all are sentences of ours */
    int len =
        snprintf(body, sizeof(body),
                 "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"detail\":\"%s\"}",
                 http1_reason(status), status, why);
    assert(len > 0 && (size_t)len < sizeof(body));
    if (conn->incoming && conn->incoming->lines.len)
        buf_add(head, conn->incoming->lines);
    head_length(head, (size_t)len);
    head_end(head, false);
    conn_write(conn, (const struct str[]){ buf_str(head), str_n(body, (size_t)len) }, 2);
}

void response_rule(struct http_conn *conn, const struct http_ruling *ruling, bool keep_alive)
{
    const struct http_request *request = &conn->incoming->parser.request;
    struct buf *head = head_begin(conn->server, ruling->status, STR_NONE);
    struct str body = ruling->body;

    head_headers(head, ruling->headers, ruling->header_count);
    if (ruling->lines.len)
        buf_add(head, ruling->lines);
    if (!has_no_body(ruling->status))
        head_length(head, body.len);
    head_end(head, keep_alive);
    if (has_no_body(ruling->status) || str_eq(request->method, STR("HEAD")))
        body = STR_NONE;
    conn_write(conn, (const struct str[]){ buf_str(head), body }, 2);
}
