/*
 * net/http: the server itself. http_inside.h lists the files it is made of.
 *
 * It accepts connections, counts them and their memory, drains and closes. It is freed when it has
 * been closed and the last connection is gone; until then the loop may still call into it.
 */
#include "net/http_inside.h"

#include <time.h>

#include "base/mem.h"

const struct http_limits http_limits_default = {
    .line_max = 8 * 1024,
    .headers_max = 16 * 1024,
    .header_count_max = 100,
    .body_max = 4 * 1024 * 1024,
    .connections_max = 10000,
    .memory_max = 256 * 1024 * 1024,
    .queue_max = 1024 * 1024,
    .header_ms = 10 * 1000,
    .body_ms = 30 * 1000,
    .body_rate = 4 * 1024,
    .idle_ms = 75 * 1000,
    .write_ms = 30 * 1000,
};

struct str server_prefix(struct http_server *server)
{
    int64_t second = loop_now(server->loop) / 1000 + 1;

    if (second != server->prefix_at) {
        time_t now = time(NULL);
        struct tm parts;

        gmtime_r(&now, &parts);
        strftime(server->prefix, sizeof(server->prefix),
                 "HTTP/1.1 200 OK\r\nDate: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
        server->prefix_at = second;
    }
    return str_n(server->prefix, HTTP_PREFIX_LEN);
}

void server_free(struct http_server *server)
{
    loop_last_stop(&server->flush);
    buf_finish(&server->head);
    cork_finish(&server->cork);
    map_finish(&server->owners);
    spare_free(server);
    mem_free(server);
}

/* Connections that a drain waits for. */
static size_t server_awaited(const struct http_server *server)
{
    return server->connection_count - server->upgraded_count;
}

static void server_drained(struct http_server *server)
{
    void (*drained)(void *data) = server->drained;

    server->drained = NULL;
    timer_stop(server->loop, &server->grace);
    if (drained)
        drained(server->drained_data);
}

void server_forget(struct http_server *server, struct http_conn *conn)
{
    share_known(conn);
    share_disown(conn);
    list_remove(&conn->link);
    server->connection_count--;
    if (server->closed && !server->connection_count)
        server_free(server);
    else if (!server->closed && server->draining && !server_awaited(server))
        server_drained(server);
}

static void on_accepted(struct stream *stream, const struct peer *peer, void *data)
{
    conn_create(data, stream, peer);
}

struct http_server *http_create(struct loop *loop, const struct http_opts *opts)
{
    struct http_server *server = MEM_NEW(struct http_server);

    server->loop = loop;
    server->opts = *opts;
    server->parse_limits = (struct http1_limits){
        .line_max = opts->limits.line_max,
        .headers_max = opts->limits.headers_max,
        .header_count_max = opts->limits.header_count_max,
        .body_max = opts->limits.body_max,
    };
    list_init(&server->connections);
    list_init(&server->strangers);
    map_init(&server->owners, HTTP_OWNERS_MAX);
    buf_init(&server->head, HTTP_HEAD_MAX);
    cork_init(&server->cork);
    return server;
}

nod_status http_listen(struct loop *loop, struct str host, int port, const struct http_opts *opts,
                       struct http_server **out)
{
    struct http_server *server = http_create(loop, opts);
    nod_status status = listener_open(loop, host, port, on_accepted, server, &server->listener);

    if (status != NOD_OK) {
        server_free(server);
        return status;
    }
    server->port = listener_port(server->listener);
    *out = server;
    return NOD_OK;
}

void http_attach(struct http_server *server, struct stream *stream, const struct peer *peer)
{
    conn_create(server, stream, peer);
}

void http_figures(const struct http_server *server, struct http_figures *figures)
{
    *figures = (struct http_figures){ .connections = server->connection_count,
                                      .strangers = server->stranger_count,
                                      .upgraded = server->upgraded_count,
                                      .memory = server->memory };
}

int http_port(const struct http_server *server)
{
    return server->port;
}

static void stop_listening(struct http_server *server)
{
    listener_close(server->listener);
    server->listener = NULL;
}

/* Its owner is told that the client is gone: it can say nothing more. */
static void tell_overdue(const struct list *connections)
{
    static const char body[] =
        "{\"type\":\"about:blank\",\"title\":\"Service "
        "Unavailable\",\"status\":503,\"detail\":\"This "
        "server stops, and does not know what became of this request; send it again later.\"}";

    LIST_EACH (at, connections) {
        struct http_conn *conn = LIST_OF(at, struct http_conn, link);
        struct http_exchange *exchange = conn->exchange;
        if (!exchange || exchange->begun)
            continue;
        if (exchange->gone)
            exchange->gone(exchange->gone_data);
        http_on_gone(exchange, NULL, NULL);
        http_reply_lines(exchange, 503,
                         STR("Content-Type: application/problem+json\r\n" HTTP_RETRY_LINE),
                         str_n(body, sizeof(body) - 1));
        cork_flush(conn);
    }
}

static void on_grace_over(void *data)
{
    struct http_server *server = data;

    tell_overdue(&server->connections);
    tell_overdue(&server->strangers);
    server_drained(server);
}

static void close_idle(const struct list *connections)
{
    LIST_EACH (at, connections) {
        struct http_conn *conn = LIST_OF(at, struct http_conn, link);
        cork_flush(conn); /* so that what was answered in this turn is sent first */
        if (conn_idle(conn))
            conn_close(conn);
    }
}

static void close_all(const struct list *connections)
{
    LIST_EACH (at, connections)
        conn_close(LIST_OF(at, struct http_conn, link));
}

void http_drain(struct http_server *server, int grace_ms, void (*done)(void *data), void *data)
{
    server->draining = true;
    server->drained = done;
    server->drained_data = data;
    stop_listening(server);
    close_idle(&server->connections);
    close_idle(&server->strangers);
    /* done() is called on a later turn in any case, even if there is nothing to wait for. */
    timer_set(server->loop, &server->grace, server_awaited(server) ? grace_ms : 0, on_grace_over,
              server);
}

void http_close(struct http_server *server)
{
    if (!server || server->closed)
        return;
    server->closed = true;
    server->drained = NULL;
    timer_stop(server->loop, &server->grace);
    stop_listening(server);
    if (!server->connection_count) {
        server_free(server);
        return;
    }
    close_all(&server->connections);
    close_all(&server->strangers);
}
