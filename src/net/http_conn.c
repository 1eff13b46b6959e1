/*
 * net/http_conn: one connection of the HTTP server.
 *
 * Bytes come in, requests go up one at a time. While an exchange is open, what the client sends
 * ahead is kept up to a limit; past it nothing more is read. Otherwise reading goes on, because
 * only reading shows that a waiting client has left. A client that closes its side before it is
 * answered counts as gone. What comes when much was done in this turn of the loop is kept, too, as
 * the bytes it is: that takes a fifth of the memory of a request.
 *
 * After a refusal or a last response the connection ends in an orderly way: the writing side is
 * shut once everything is sent, bytes that still come are dropped, and the client has
 * HTTP_LINGER_MS to close. If it were closed at once, the kernel would reset the connection, and
 * the client could lose the very response that says what was wrong.
 *
 * on_head decides who sends a request when its head is there. Nothing is reserved because a head
 * announces it: memory is taken, and counted, as the bytes of a body come, and they must come at a
 * minimum rate.
 *
 * Holds always: at most one exchange is open. conn->incoming exists only while a request is being
 * read. The connection is freed in one place, after its stream is gone and no deferred call holds
 * it.
 */
#include "net/http_inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static void conn_resume(void *data);
static void conn_end(struct http_conn *conn);

static size_t incoming_memory(const struct http_incoming *incoming)
{
    return incoming ? sizeof(*incoming) + http1_memory(&incoming->parser) + incoming->body.room : 0;
}

static void incoming_destroy(struct http_incoming *incoming)
{
    http1_finish(&incoming->parser);
    buf_finish(&incoming->body);
    mem_free(incoming);
}

void incoming_free(struct http_server *server, struct http_incoming *incoming)
{
    if (!incoming)
        return;
    if (incoming == server->handing) {
        server->let_go = true; /* on_request may still be reading it */
        return;
    }
    if (server->spare || incoming_memory(incoming) > HTTP_SPARE_MAX) {
        incoming_destroy(incoming);
        return;
    }
    http1_reset(&incoming->parser);
    buf_clear(&incoming->body);
    buf_wiped(&incoming->body, false);
    incoming->body.limit = server->opts.limits.body_max;
    incoming->lines = STR_NONE;
    incoming->mark = (struct http_mark){ 0 };
    incoming->answered = incoming->unkept = false;
    server->spare = incoming;
}

static struct http_incoming *incoming_create(struct http_server *server)
{
    struct http_incoming *incoming = server->spare;

    if (incoming) {
        server->spare = NULL;
        return incoming;
    }
    incoming = MEM_NEW(struct http_incoming);
    http1_init(&incoming->parser, &server->parse_limits);
    buf_init(&incoming->body, server->opts.limits.body_max);
    return incoming;
}

void exchange_free(struct http_server *server, struct http_exchange *exchange)
{
    incoming_free(server, exchange->incoming);
    mem_free(exchange); /* never reused at once, so that a stale use is found */
}

void spare_free(struct http_server *server)
{
    if (server->spare)
        incoming_destroy(server->spare);
}

static void ahead_free(struct http_conn *conn)
{
    if (!conn->ahead)
        return;
    buf_finish(&conn->ahead->bytes);
    mem_free(conn->ahead);
    conn->ahead = NULL;
}

/* --- deadlines and memory --- */

static void conn_count(struct http_conn *conn, size_t queued)
{
    size_t now = queued + incoming_memory(conn->incoming);

    if (conn->exchange)
        now += incoming_memory(conn->exchange->incoming) + conn->exchange->making;
    if (conn->ahead)
        now += conn->ahead->bytes.room;
    share_count(conn, now);
}

/* The bytes that left the queue so far. Wraps as `put` does, which does not matter for equality. */
static size_t conn_taken(const struct http_conn *conn, size_t queued)
{
    return conn->put - queued;
}

static void on_deadline(void *data);

static void conn_wait(struct http_conn *conn, enum http_wait wait, int64_t ms)
{
    int64_t now = loop_now(conn->server->loop);

    conn->wait = (uint8_t)wait;
    conn->deadline = now + ms;
    /* A timer that fires earlier is left as it is, and moved when it fires: that is cheaper. */
    if (!heap_has(&conn->timer.node) || conn->timer.node.at > conn->deadline)
        timer_set(conn->server->loop, &conn->timer, ms, on_deadline, conn);
}

/* How long the body may be silent from now on. If it comes too slowly, this gets less and less. */
static int64_t body_patience(const struct http_conn *conn)
{
    const struct http_limits *limits = &conn->server->opts.limits;
    const struct http_incoming *incoming = conn->incoming;

    if (incoming->answered)
        return HTTP_LINGER_MS;
    if (!limits->body_rate)
        return limits->body_ms;
    int64_t allowed =
        limits->body_ms + (int64_t)(incoming->body.len * INT64_C(1000) / limits->body_rate);
    int64_t left = incoming->body_from + allowed - loop_now(conn->server->loop);
    return left < 0 ? 0 : left < limits->body_ms ? left : limits->body_ms;
}

/* A stranger has one deadline, from accepting to its first whole head. */
static bool awaits_first(const struct http_conn *conn)
{
    return conn->wait == HTTP_WAIT_FIRST &&
           (!conn->incoming || !http1_has_head(&conn->incoming->parser));
}

void conn_settle(struct http_conn *conn)
{
    const struct http_limits *limits = &conn->server->opts.limits;

    if (conn->closed)
        return;
    size_t queued = stream_queued(conn->stream);
    conn_count(conn, queued);
    if (queued) {
        if (conn->wait != HTTP_WAIT_WRITE) {
            conn->taken = conn_taken(conn, queued);
            conn_wait(conn, HTTP_WAIT_WRITE, limits->write_ms);
        }
    } else if (conn->ending) {
        if (conn->wait != HTTP_WAIT_LINGER)
            conn_wait(conn, HTTP_WAIT_LINGER, HTTP_LINGER_MS);
    } else if (conn->exchange || conn->upgraded) {
        conn->wait = HTTP_WAIT_NONE;
    } else if (awaits_first(conn)) {
        return;
    } else if (!conn->incoming) {
        conn_wait(conn, HTTP_WAIT_IDLE, limits->idle_ms);
    } else if (http1_has_head(&conn->incoming->parser)) {
        if (!conn->incoming->answered || conn->wait != HTTP_WAIT_BODY)
            conn_wait(conn, HTTP_WAIT_BODY, body_patience(conn));
    } else if (conn->wait != HTTP_WAIT_HEAD) {
        conn_wait(conn, HTTP_WAIT_HEAD, limits->header_ms);
    }
}

void conn_settle_soon(struct http_conn *conn)
{
    if (!conn->held)
        conn_settle(conn);
    else if (!conn->closed)
        conn_count(conn, stream_queued(conn->stream));
}

static void conn_refuse(struct http_conn *conn, int status, const char *why)
{
    conn->ending = true;
    response_refuse(conn, status, why);
    incoming_free(conn->server, conn->incoming);
    conn->incoming = NULL;
    conn_end(conn);
}

/* What was over a limit says which, in numbers. */
static void refuse_parsed(struct http_conn *conn, const struct http1 *parser)
{
    const struct http1_limits *limits = parser->limits;
    char why[160];

    switch (parser->status) {
    case 413:
        snprintf(why, sizeof(why), "%s: at most %zu bytes are taken", parser->why,
                 (size_t)limits->body_max);
        break;
    case 414:
        snprintf(why, sizeof(why), "%s: at most %zu bytes are taken", parser->why,
                 (size_t)limits->line_max);
        break;
    case 431:
        snprintf(why, sizeof(why), "%s: at most %zu headers of %zu bytes in all are taken",
                 parser->why, (size_t)limits->header_count_max, (size_t)limits->headers_max);
        break;
    default:
        conn_refuse(conn, parser->status, parser->why);
        return;
    }
    conn_refuse(conn, parser->status, why);
}

static void write_stalled(struct http_conn *conn)
{
    size_t taken = conn_taken(conn, stream_queued(conn->stream));

    if (taken == conn->taken) {
        conn_close(conn);
        return;
    }
    conn->taken = taken;
    conn_wait(conn, HTTP_WAIT_WRITE, conn->server->opts.limits.write_ms);
}

static void on_deadline(void *data)
{
    struct http_conn *conn = data;
    int64_t now = loop_now(conn->server->loop);

    if (conn->wait == HTTP_WAIT_NONE)
        return;
    if (now < conn->deadline) {
        timer_set(conn->server->loop, &conn->timer, conn->deadline - now, on_deadline, conn);
        return;
    }
    switch ((enum http_wait)conn->wait) {
    case HTTP_WAIT_FIRST:
        if (!conn->incoming) {
            conn_close(conn);
            break;
        }
        conn_refuse(conn, 408, "the head of the request took too long");
        break;
    case HTTP_WAIT_HEAD:
        conn_refuse(conn, 408, "the head of the request took too long");
        break;
    case HTTP_WAIT_BODY:
        if (conn->incoming && conn->incoming->answered) {
            conn_close(conn);
            break;
        }
        conn_refuse(conn, 408, "the body of the request took too long");
        break;
    case HTTP_WAIT_WRITE:
        write_stalled(conn);
        break;
    default:
        conn_close(conn);
        break;
    }
}

/* --- going away --- */

void conn_arrived(struct http_arrival **arrivals, bool did)
{
    struct http_arrival *arrival;

    while ((arrival = *arrivals)) {
        *arrivals = arrival->next;
        arrival->arrived(arrival->data, did);
        mem_free(arrival);
    }
}

/* A shut down of our own may be the one thing that is not acknowledged. */
static bool has_all(const struct http_conn *conn)
{
    return !conn->broken && !cork_held(conn) && stream_queued(conn->stream) == 0 &&
           stream_unacknowledged(conn->stream) <= (conn->ending ? 1 : 0);
}

void conn_close(struct http_conn *conn)
{
    if (conn->closed)
        return;
    cork_flush(conn);
    conn->closed = true;
    bool arrived = conn->arrivals && has_all(conn);
    share_known(conn);
    timer_stop(conn->server->loop, &conn->timer);
    stream_close(conn->stream);
    conn_arrived(&conn->arrivals, arrived);
    struct http_exchange *exchange = conn->exchange;
    if (exchange) {
        conn->exchange = NULL;
        if (exchange->gone)
            exchange->gone(exchange->gone_data);
        conn_arrived(&exchange->arrivals, false);
        exchange_free(conn->server, exchange);
    }
    incoming_free(conn->server, conn->incoming);
    conn->incoming = NULL;
    ahead_free(conn);
    conn_count(conn, 0);
    if (conn->upgraded)
        upgraded_cut(conn->upgraded);
}

/* No more requests: shuts our side once everything is sent, and waits for the client to shut its
 * own. */
static void conn_end(struct http_conn *conn)
{
    conn->ending = true;
    if (conn->closed)
        return;
    cork_flush(conn);
    ahead_free(conn);
    if (conn->ended) {
        if (stream_queued(conn->stream) == 0)
            conn_close(conn);
        return;
    }
    stream_shutdown(conn->stream);
    if (conn->paused) {
        conn->paused = false;
        stream_read_start(conn->stream);
    }
    conn_settle(conn);
}

bool conn_idle(const struct http_conn *conn)
{
    return !conn->exchange && !conn->incoming && !conn->ahead && !conn->held && !conn->closed &&
           !conn->upgraded && stream_queued(conn->stream) == 0;
}

/* --- requests --- */

/* Is there room for `more` bytes, beside all others and what this request holds? False: it was
 * refused. */
static bool memory_allows(struct http_conn *conn, size_t more)
{
    int status = share_refuses(conn, incoming_memory(conn->incoming), more);

    if (status)
        conn_refuse(conn, status,
                    status == 429
                        ? "your requests and unread responses hold too much; try again later"
                        : "requests and unread responses hold too much; try again later");
    return !status;
}

/*
 * The ruling is the answer. A short body that follows is read and dropped, so that the connection
 * can go on with the next request. Otherwise it ends here.
 */
static bool head_answered(struct http_conn *conn, const struct http_ruling *ruling)
{
    struct http_incoming *incoming = conn->incoming;
    const struct http1 *parser = &incoming->parser;
    bool keep_alive = parser->keep_alive && !conn->server->draining && !parser->chunked &&
                      parser->content_length <= HTTP_DROPPED_MAX &&
                      (!parser->expect_continue || !parser->content_length);

    response_rule(conn, ruling, keep_alive);
    incoming->answered = true;
    if (keep_alive)
        return true;
    incoming_free(conn->server, incoming);
    conn->incoming = NULL;
    conn_end(conn);
    return false;
}

bool http_trust(struct http_exchange *exchange, struct str who)
{
    share_known(exchange->conn);
    return share_own(exchange->conn, who);
}

static bool head_trusted(struct http_conn *conn, struct str who)
{
    share_known(conn);
    if (share_own(conn, who))
        return memory_allows(conn, 0); /* responses that nobody reads count, too */
    conn_refuse(conn, 429, "you have too many connections open; try again later");
    return false;
}

/* False: nothing more is read for this request. */
static bool head_ruled(struct http_conn *conn)
{
    struct http_server *server = conn->server;
    struct http_incoming *incoming = conn->incoming;
    struct http_ruling ruling = { 0 };

    if (!server->opts.on_head)
        return true;
    enum http_verdict verdict =
        server->opts.on_head(&incoming->parser.request, &ruling, server->opts.data);
    incoming->lines = ruling.lines;
    incoming->mark = ruling.mark;
    incoming->unkept = verdict != HTTP_TRUST;
    buf_wiped(&incoming->body, ruling.wiped);
    conn->wiped |= ruling.wiped;
    if (verdict == HTTP_ANSWER)
        return head_answered(conn, &ruling);
    return verdict != HTTP_TRUST || head_trusted(conn, ruling.who);
}

static bool head_arrived(struct http_conn *conn, size_t input_left)
{
    struct http_incoming *incoming = conn->incoming;
    const struct http1 *parser = &incoming->parser;

    incoming->body_from = loop_now(conn->server->loop);
    incoming->parser.request.peer = &conn->peer;
    incoming->parser.request.old = parser->version_minor == 0;
    if (!parser->chunked && parser->content_length > incoming->body.room)
        incoming->body.limit = (size_t)parser->content_length;
    if (!head_ruled(conn))
        return false;
    if (parser->expect_continue && !incoming->answered && !input_left &&
        (parser->content_length || parser->chunked)) {
        /* An interim answer, so that a client that waits for permission sends its body. */
        struct str go_on = STR("HTTP/1.1 100 Continue\r\n\r\n");

        conn_write(conn, &go_on, 1);
    }
    return true;
}

/* By how much the buffer grows for these bytes: it doubles, but not past the declared length. */
static size_t body_growth(const struct buf *body, size_t more)
{
    size_t room = body->room <= body->limit / 2 ? body->room * 2 : body->limit;

    return (room < body->len + more ? body->len + more : room) - body->room;
}

static bool body_arrived(struct http_conn *conn, struct str piece)
{
    struct buf *body = &conn->incoming->body;

    if (conn->incoming->unkept)
        return true;
    if (piece.len > body->room - body->len && !memory_allows(conn, body_growth(body, piece.len)))
        return false;
    buf_add(body, piece); /* the parser has made sure that it is within body_max */
    return true;
}

static void request_hand(struct http_conn *conn)
{
    struct http_server *server = conn->server;
    struct http_exchange *exchange = conn->exchange;
    struct http_incoming *incoming = exchange->incoming;

    server->handing = incoming;
    server->let_go = false;
    server->opts.on_request(exchange, &incoming->parser.request, server->opts.data);
    server->handing = NULL;
    if (server->let_go)
        incoming_free(server, incoming);
}

static void request_arrived(struct http_conn *conn)
{
    struct http_exchange *exchange = MEM_NEW(struct http_exchange);
    struct http_incoming *incoming = conn->incoming;
    struct http_request *request = &incoming->parser.request;

    request->body = buf_str(&incoming->body);
    request->mark = incoming->mark;
    exchange->conn = conn;
    exchange->incoming = incoming;
    exchange->lines = incoming->lines;
    exchange->head_only = str_eq(request->method, STR("HEAD"));
    exchange->keep_alive = incoming->parser.keep_alive;
    exchange->old = incoming->parser.version_minor == 0;
    conn->incoming = NULL;
    conn->exchange = exchange;
    conn->wait = HTTP_WAIT_NONE; /* the next head gets its own time */
    request_hand(conn);
}

/* Feeds until the bytes are used up, or until one request has been handed over. */
static void conn_parse(struct http_conn *conn, struct str *in)
{
    struct str piece;

    if (!conn->incoming)
        conn->incoming = incoming_create(conn->server);
    for (;;) {
        struct http1 *parser = &conn->incoming->parser;
        switch (http1_next(parser, in, &piece)) {
        case HTTP1_HEAD:
            if (!head_arrived(conn, in->len))
                return;
            break;
        case HTTP1_BODY:
            if (!body_arrived(conn, piece))
                return;
            break;
        case HTTP1_END:
            if (conn->incoming->answered) {
                /* The request was answered when its head was there. */
                incoming_free(conn->server, conn->incoming);
                conn->incoming = NULL;
                conn->wait = HTTP_WAIT_NONE;
            } else {
                request_arrived(conn);
            }
            return;
        case HTTP1_REFUSED:
            refuse_parsed(conn, parser);
            return;
        case HTTP1_MORE:
            return;
        }
    }
}

static bool conn_ready(const struct http_conn *conn)
{
    return !conn->exchange && !conn->ending && !conn->closed && !conn->upgraded &&
           stream_queued(conn->stream) <= conn->server->opts.limits.queue_max;
}

/* If much was done in this turn of the loop, the rest is left for one of the next. */
static void conn_take(struct http_conn *conn, struct str *in)
{
    conn->taking = true;
    while (in->len && conn_ready(conn)) {
        conn_parse(conn, in);
        if (in->len && loop_is_late(conn->server->loop))
            break;
    }
    conn->taking = false;
    if (conn->ending)
        *in = STR_NONE;
}

/* Keeps bytes that came ahead, or too late in the turn. Past the limit the client has to wait. */
static void conn_keep(struct http_conn *conn, struct str in)
{
    size_t room;

    bool answered = !conn->exchange && !conn->upgraded;
    if (answered && !memory_allows(conn, in.len))
        return;
    if (!answered && share_refuses(conn, 0, in.len)) {
        conn_close(conn); /* an error here would be taken for the answer to the previous request */
        return;
    }
    if (!conn->ahead) {
        loop_read_buffer(conn->server->loop, &room);
        conn->ahead = MEM_NEW(struct http_ahead);
        buf_init(&conn->ahead->bytes, HTTP_AHEAD_MAX + room);
        buf_wiped(&conn->ahead->bytes, true); /* who knows of which request they are */
    }
    bool kept = buf_add(&conn->ahead->bytes, in);
    assert(kept); /* reading stops before there could be more */
    (void)kept;
    if (conn->ahead->bytes.len >= HTTP_AHEAD_MAX) {
        conn->paused = true;
        stream_read_stop(conn->stream);
    }
}

static void conn_resume_later(struct http_conn *conn)
{
    if (!conn->ahead || conn->taking || conn->closed || conn->resuming)
        return;
    conn->resuming = true;
    loop_defer(conn->server->loop, conn_resume, conn);
}

/* Goes on with what was kept. Deferred, so that answering a request never re-enters on_request. */
static void conn_resume(void *data)
{
    struct http_conn *conn = data;

    conn->resuming = false;
    if (conn->released) {
        mem_free(conn);
        return;
    }
    struct http_ahead *ahead = conn->ahead;
    if (conn->closed || conn->upgraded || !ahead)
        return;
    conn->ahead = NULL;
    struct str in = str_skip(buf_str(&ahead->bytes), ahead->from);
    conn_take(conn, &in);
    if (conn->closed || !in.len) {
        buf_finish(&ahead->bytes);
        mem_free(ahead);
    } else {
        ahead->from = ahead->bytes.len - in.len;
        conn->ahead = ahead;
    }
    if (conn->closed)
        return;
    if (conn->paused && !conn->ahead && !conn->upgraded) {
        conn->paused = false;
        stream_read_start(conn->stream);
    }
    if (conn_ready(conn))
        conn_resume_later(conn);
    conn_settle(conn);
}

void conn_write(struct http_conn *conn, const struct str *parts, size_t count)
{
    cork_flush(conn);
    for (size_t i = 0; i < count; i++)
        conn->put += parts[i].len;
    stream_write(conn->stream, parts, count);
}

void conn_answered(struct http_conn *conn, bool keep_alive)
{
    conn->exchange = NULL;
    if (!keep_alive || conn->server->draining) {
        conn_end(conn);
        return;
    }
    if (conn->taking)
        return; /* conn_take is on the stack: it goes on, and settles */
    conn_resume_later(conn);
    conn_settle_soon(conn);
}

/* --- the stream's events --- */

/* The bytes are in the memory that they were read into: the loop's, or that of TLS. */
static void conn_wipe(struct http_conn *conn, struct str bytes)
{
    if (conn->wiped)
        explicit_bzero((char *)bytes.at, bytes.len);
    conn->wiped = conn->incoming && conn->incoming->body.wiped;
}

static void on_read(struct stream *stream, struct str bytes)
{
    struct http_conn *conn = stream->owner;
    struct str all = bytes;

    if (conn->arrivals && !cork_held(conn) && stream_queued(stream) == 0)
        conn_arrived(&conn->arrivals, true);
    if (conn->ending) {
        explicit_bzero((char *)bytes.at, bytes.len); /* nobody reads them, whatever they are */
        return;
    }
    if (!conn->ahead && !loop_is_late(conn->server->loop))
        conn_take(conn, &bytes);
    if (bytes.len == 0 || conn->closed)
        conn_wipe(conn, all);
    if (conn->closed)
        return;
    if (bytes.len) {
        conn_keep(conn, bytes);
        conn->wiped = true; /* who knows of which request they are */
        conn_wipe(conn, all);
        if (conn_ready(conn))
            conn_resume_later(conn);
    }
    conn_settle(conn);
    if (conn->stranger)
        share_bound_strangers(conn);
}

static void on_end(struct stream *stream, int error)
{
    struct http_conn *conn = stream->owner;

    conn->ended = true;
    conn->broken = error != 0;
    if (error == 0 && conn->ending && stream_queued(conn->stream) > 0)
        return; /* the last response is still being sent */
    conn_close(conn);
}

static void on_drain(struct stream *stream)
{
    struct http_conn *conn = stream->owner;
    struct http_exchange *exchange = conn->exchange;

    if (conn->ending && conn->ended) {
        conn_close(conn);
        return;
    }
    conn_settle(conn);
    if (exchange && exchange->drained)
        exchange->drained(exchange->drained_data);
    else if (!exchange)
        conn_resume_later(conn);
}

void conn_gone(struct http_conn *conn)
{
    struct http_server *server = conn->server;

    conn->closed = true;
    conn_arrived(&conn->arrivals, false);
    server_forget(server, conn);
    if (conn->resuming) {
        conn->released = true;
        return;
    }
    mem_free(conn);
}

static void on_closed(struct stream *stream)
{
    conn_gone(stream->owner);
}

static const struct stream_events conn_events = { on_read, on_end, on_drain, on_closed };

void conn_create(struct http_server *server, struct stream *stream, const struct peer *peer)
{
    struct http_conn *conn = MEM_NEW(struct http_conn);
    size_t most = server->opts.limits.connections_max;

    conn->server = server;
    conn->stream = stream;
    if (peer)
        conn->peer = *peer;
    stream_own(stream, &conn_events, conn);
    server->connection_count++;
    bool has_place = share_has_place(server);
    if (server->opts.on_head)
        share_stranger(conn);
    else
        list_append(&server->connections, &conn->link);
    if (server->closed || server->connection_count > most + HTTP_REFUSED_MAX) {
        conn_close(conn);
        return;
    }
    stream_read_start(stream);
    if (!has_place) {
        conn_refuse(conn, 503, "too many connections; try again later");
    } else if (server->draining) {
        conn_end(conn);
    } else {
        /* The time that a stranger has for its first head begins here. */
        int ms = conn->server->opts.limits.stranger_ms;

        if (conn->stranger && ms)
            conn_wait(conn, HTTP_WAIT_FIRST, ms);
        conn_settle(conn);
    }
}
