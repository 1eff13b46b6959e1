/*
 * bench/http: the HTTP server against the least a server can do, and the cost of an idle
 * connection.
 *
 *   http.vs_epoll                   exchanges per CPU second of the server, over those of a bare
 *                                   epoll loop that answers canned bytes; higher is better
 *   http.bytes_per_idle_connection  growth of the server's resident memory for each keep-alive
 *                                   connection that has made a request and is idle
 *
 * Both servers are separate processes. The same load generator sends them the same bytes over as
 * many connections, in turns; the medians of the rounds are compared.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "epoll_floor.h"
#include "load.h"
#include "net/http.h"

enum {
    CONNECTIONS = 64,
    ROUNDS = 11,
    EXCHANGES = 20000, /* a round */
    IDLE_CONNECTIONS = 9000,
    BODY_LEN = 400,
};

#define BODY        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"ok\":true}}"
#define BODY_DIGITS "45"
_Static_assert(sizeof(BODY) - 1 == 45, "the canned Content-Length must be the body's");

/* As long as what our server writes, so that both move the same bytes. */
static const char canned[] = "HTTP/1.1 200 OK\r\n"
                             "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
                             "Content-Type: application/json\r\n"
                             "Content-Length: " BODY_DIGITS "\r\n"
                             "\r\n" BODY;

static void on_request(struct http_exchange *exchange, const struct http_request *request,
                       void *data)
{
    static const struct http_header json = { STR_INIT("Content-Type"),
                                             STR_INIT("application/json") };

    (void)data;
    if (request->body.len != BODY_LEN)
        abort();
    http_reply(exchange, 200, &json, 1, STR(BODY));
}

static void serve(int port_fd, void *data)
{
    struct http_opts opts = { .limits = http_limits_default, .on_request = on_request };
    struct loop *loop = loop_create();
    signal(SIGPIPE, SIG_IGN); /* clients go as they like */
    struct http_server *server;

    (void)data;
    if (http_listen(loop, STR("127.0.0.1"), 0, &opts, &server) != NOD_OK)
        exit(1);
    int port = http_port(server);
    if (write(port_fd, &port, sizeof(port)) != sizeof(port))
        exit(1);
    loop_run(loop);
}

/* What a client of an MCP server sends. */
static struct str make_request(struct buf *out)
{
    buf_init(out, 4096);
    buf_fmt(out,
            "POST /mcp HTTP/1.1\r\n"
            "Host: 127.0.0.1:8080\r\n"
            "User-Agent: bench\r\n"
            "Accept: application/json, text/event-stream\r\n"
            "Content-Type: application/json\r\n"
            "Mcp-Protocol-Version: 2026-07-28\r\n"
            "Content-Length: %d\r\n"
            "\r\n",
            BODY_LEN);
    for (int i = 0; i < BODY_LEN; i++)
        buf_add_char(out, (char)('a' + i % 26));
    return buf_str(out);
}

static double exchanges_per_cpu_second(const struct load_server *server, struct load *load)
{
    double before = load_cpu_seconds(server);

    load_run(load, EXCHANGES);
    return EXCHANGES / (load_cpu_seconds(server) - before);
}

static void measure_speed(struct str request)
{
    struct epoll_floor floor = { BODY_LEN, str_n(canned, sizeof(canned) - 1) };
    struct load_server ours = load_server_start(serve, NULL);
    struct load_server theirs = load_server_start(epoll_floor_serve, &floor);
    struct load_opts opts = { .connections = CONNECTIONS, .request = request };
    double our_rate[ROUNDS];
    double their_rate[ROUNDS];
    double ratio[ROUNDS];

    opts.port = ours.port;
    struct load *our_load = load_open(&opts);
    opts.port = theirs.port;
    struct load *their_load = load_open(&opts);
    exchanges_per_cpu_second(&ours, our_load); /* warm */
    exchanges_per_cpu_second(&theirs, their_load);
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2) /* the first one finds colder caches */
            our_rate[i] = exchanges_per_cpu_second(&ours, our_load);
        their_rate[i] = exchanges_per_cpu_second(&theirs, their_load);
        if (i % 2 == 0)
            our_rate[i] = exchanges_per_cpu_second(&ours, our_load);
        ratio[i] = our_rate[i] / their_rate[i];
    }
    fprintf(stderr, "exchanges per CPU second: %.0f ours, %.0f bare epoll\n",
            load_median(our_rate, ROUNDS), load_median(their_rate, ROUNDS));
    printf("http.vs_epoll %.3f\n", load_median(ratio, ROUNDS));
    load_close(our_load);
    load_close(their_load);
    load_server_stop(&ours);
    load_server_stop(&theirs);
}

static void measure_idle(struct str request)
{
    struct load_server server = load_server_start(serve, NULL);
    struct load_opts opts = { .port = server.port, .connections = 1, .request = request };
    struct load *first = load_open(&opts);

    load_run(first, 100);
    uint64_t before = load_rss(&server);
    opts.connections = IDLE_CONNECTIONS;
    struct load *many = load_open(&opts);
    load_run(many, IDLE_CONNECTIONS);
    uint64_t after = load_rss(&server);
    printf("http.bytes_per_idle_connection %.0f\n", (double)(after - before) / IDLE_CONNECTIONS);
    load_close(many);
    load_close(first);
    load_server_stop(&server);
}

int main(void)
{
    struct buf bytes;
    struct str request = make_request(&bytes);

    load_raise_files();
    measure_speed(request);
    measure_idle(request);
    buf_finish(&bytes);
    return 0;
}
