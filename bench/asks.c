/*
 * bench/asks: questions asked and answered over HTTP, in both eras, beside the official SDKs.
 *
 *   ask2025.vs_best_sdk   server CPU of a call with the better of the official TypeScript SDKs (v1
 *   ask2026.vs_best_sdk   and v2), over ours, at 128 clients; higher is better
 *   ask2025.vs_floor      server CPU of our bare HTTP server for as many exchanges with as many
 *   ask2026.vs_floor      bytes, over that of the calls; 1 would mean that MCP costs nothing
 *   ask2025.vs_epoll      the same against a bare epoll loop that answers canned bytes
 *   ask2026.vs_epoll
 *
 * A call is what bench/mcp_load does: a tool asks one form, is answered, and ends. Calls per second
 * and CPU per call are printed for 1, 16 and 128 clients; the ratios are by CPU, because the load
 * generator is the limit of ours.
 *
 * Run as: bench-asks SERVER NODE FOLDER; FOLDER has sdk_v1.mjs and sdk_v2.mjs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "epoll_floor.h"
#include "load.h"
#include "mcp_load.h"
#include "net/http.h"
#include "server_process.h"

enum {
    MANY_CLIENTS = 128,
    CALLS_OURS = 20000, /* a round at 128 clients */
    CALLS_SDK = 2000,
    ROUNDS = 5,
    ROUNDS_FEW_CLIENTS = 3,
};

static const int client_counts[] = { 1, 16, MANY_CLIENTS };

struct cost {
    double cpu; /* seconds of the server for a call */
    double rate;
    struct mcp_load_traffic traffic;
    uint64_t calls;
};

/* --- one server ----------------------------------------------------------------------------------
 */

struct rival {
    const char *name;
    char *const *argv;
    enum mcp_era era;
    uint64_t calls;
    struct server_process process;
};

static struct cost measure(const struct rival *rival, struct mcp_load *load, uint64_t calls)
{
    double before = server_process_cpu(&rival->process);
    double seconds = mcp_load_calls(load, calls);

    return (struct cost){ .cpu = (server_process_cpu(&rival->process) - before) / (double)calls,
                          .rate = (double)calls / seconds,
                          .traffic = mcp_load_traffic(load),
                          .calls = calls };
}

static struct mcp_load *open_load(const struct rival *rival, int clients)
{
    return mcp_load_open(&(struct mcp_load_opts){ .port = rival->process.port,
                                                  .clients = clients,
                                                  .era = rival->era,
                                                  .tool = "ask",
                                                  .expects = "\"text\":\"confirmed\"" });
}

static double median_cpu(const struct rival *rival, int clients, int rounds, double *rate)
{
    struct mcp_load *load = open_load(rival, clients);
    uint64_t calls = clients == 1 ? rival->calls / 4 : rival->calls;
    double cpu[ROUNDS], rates[ROUNDS];

    measure(rival, load, calls / 4 + 1); /* warm */
    for (int i = 0; i < rounds; i++) {
        struct cost cost = measure(rival, load, calls);
        cpu[i] = cost.cpu;
        rates[i] = cost.rate;
    }
    mcp_load_close(load);
    *rate = load_median(rates, (size_t)rounds);
    return load_median(cpu, (size_t)rounds);
}

/* Prints a line for every number of clients; returns the CPU of a call at the most. */
static double show(struct rival *rival, const char *era)
{
    double cpu = 0;

    rival->process = server_process_start(rival->argv);
    for (size_t i = 0; i < sizeof(client_counts) / sizeof(client_counts[0]); i++) {
        int clients = client_counts[i];
        double rate;
        cpu = median_cpu(rival, clients, clients == MANY_CLIENTS ? ROUNDS : ROUNDS_FEW_CLIENTS,
                         &rate);
        fprintf(stderr, "%s  %-8s %4d clients %10.0f calls/s %10.2f us CPU a call\n", era,
                rival->name, clients, rate, cpu * 1e6);
    }
    server_process_stop(&rival->process);
    return cpu;
}

/* --- the floors ----------------------------------------------------------------------------------
 */

struct floor {
    struct buf request, response;
    struct str body; /* of the response */
    size_t body_len; /* of the request */
};

#define HEAD_OUT                                                                                   \
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\n"             \
    "Accept: application/json, text/event-stream\r\nContent-Length: %4zu\r\n\r\n"
#define HEAD_IN                                                                                    \
    "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"                                   \
    "Content-Type: application/json\r\nContent-Length: %4zu\r\n\r\n"

static size_t head_len(const char *format)
{
    return strlen(format) - (strlen("%4zu") - 4);
}

/* A request and a response as long as those of the calls were on average. */
static void floor_make(struct floor *floor, struct mcp_load_traffic traffic)
{
    size_t out = (size_t)(traffic.bytes_out / traffic.exchanges);
    size_t in = (size_t)(traffic.bytes_in / traffic.exchanges);
    size_t body_in = in > head_len(HEAD_IN) ? in - head_len(HEAD_IN) : 1;

    buf_init(&floor->request, 1 << 20);
    buf_init(&floor->response, 1 << 20);
    floor->body_len = out > head_len(HEAD_OUT) ? out - head_len(HEAD_OUT) : 1;
    buf_fmt(&floor->request, HEAD_OUT, floor->body_len);
    for (size_t i = 0; i < floor->body_len; i++)
        buf_add_char(&floor->request, 'x');
    buf_fmt(&floor->response, HEAD_IN, body_in);
    for (size_t i = 0; i < body_in; i++)
        buf_add_char(&floor->response, 'x');
    floor->body = str_skip(buf_str(&floor->response), floor->response.len - body_in);
}

static void floor_finish(struct floor *floor)
{
    buf_finish(&floor->request);
    buf_finish(&floor->response);
}

static void on_request(struct http_exchange *exchange, const struct http_request *request,
                       void *data)
{
    static const struct http_header json = { STR_INIT("Content-Type"),
                                             STR_INIT("application/json") };
    const struct floor *floor = data;

    if (request->body.len != floor->body_len)
        abort();
    http_reply(exchange, 200, &json, 1, floor->body);
}

static void serve_http(int port_fd, void *data)
{
    struct http_opts opts = { .limits = http_limits_default,
                              .on_request = on_request,
                              .data = data };
    struct loop *loop = loop_create();
    struct http_server *server;

    if (http_listen(loop, STR("127.0.0.1"), 0, &opts, &server) != NOD_OK)
        exit(1);
    int port = http_port(server);
    if (write(port_fd, &port, sizeof(port)) != sizeof(port))
        exit(1);
    loop_run(loop);
}

static double floor_cpu(const struct load_server *server, struct load *load, uint64_t exchanges)
{
    double before = load_cpu_seconds(server);

    load_run(load, exchanges);
    return load_cpu_seconds(server) - before;
}

/* In turns, so that whatever slows the machine down slows all of them down. */
static void show_floors(struct rival *ours, const char *era)
{
    double vs_http[ROUNDS], vs_epoll[ROUNDS];
    struct floor floor;

    ours->process = server_process_start(ours->argv);
    struct mcp_load *load = open_load(ours, MANY_CLIENTS);
    struct cost warm = measure(ours, load, CALLS_OURS / 4);
    floor_make(&floor, warm.traffic);
    struct load_server http = load_server_start(serve_http, &floor);
    struct epoll_floor canned = { floor.body_len, buf_str(&floor.response) };
    struct load_server epoll = load_server_start(epoll_floor_serve, &canned);
    struct load_opts opts = { .connections = MANY_CLIENTS, .request = buf_str(&floor.request) };
    opts.port = http.port;
    struct load *http_load = load_open(&opts);
    opts.port = epoll.port;
    struct load *epoll_load = load_open(&opts);
    floor_cpu(&http, http_load, warm.traffic.exchanges);
    floor_cpu(&epoll, epoll_load, warm.traffic.exchanges);
    for (int i = 0; i < ROUNDS; i++) {
        struct cost cost = measure(ours, load, CALLS_OURS);
        double calls = cost.cpu * (double)cost.calls;
        vs_http[i] = floor_cpu(&http, http_load, cost.traffic.exchanges) / calls;
        vs_epoll[i] = floor_cpu(&epoll, epoll_load, cost.traffic.exchanges) / calls;
    }
    fprintf(stderr, "%s  a call is %.1f exchanges, %.0f bytes to the server, %.0f from it\n", era,
            (double)warm.traffic.exchanges / (double)warm.calls,
            (double)warm.traffic.bytes_out / (double)warm.calls,
            (double)warm.traffic.bytes_in / (double)warm.calls);
    printf("ask%s.vs_floor %.3f\n", era, load_median(vs_http, ROUNDS));
    printf("ask%s.vs_epoll %.3f\n", era, load_median(vs_epoll, ROUNDS));
    load_close(http_load);
    load_close(epoll_load);
    load_server_stop(&http);
    load_server_stop(&epoll);
    mcp_load_close(load);
    server_process_stop(&ours->process);
    floor_finish(&floor);
}

/* --- all of them ---------------------------------------------------------------------------------
 */

static double least(double a, double b)
{
    return a < b ? a : b;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: bench-asks SERVER NODE FOLDER\n");
        return 2;
    }
    char v1[512], v2[512], http[] = "--http", address[] = "127.0.0.1:0", mode[] = "http",
                           old[] = "2025", modern[] = "2026";
    snprintf(v1, sizeof(v1), "%s/sdk_v1.mjs", argv[3]);
    snprintf(v2, sizeof(v2), "%s/sdk_v2.mjs", argv[3]);
    char *const ours_argv[] = { argv[1], http, address, NULL };
    char *const v1_argv[] = { argv[2], v1, mode, NULL };
    char *const v2_2025_argv[] = { argv[2], v2, old, NULL };
    char *const v2_2026_argv[] = { argv[2], v2, modern, NULL };
    struct rival ours_2025 = { "nod", ours_argv, MCP_ERA_2025, CALLS_OURS, { 0 } };
    struct rival ours_2026 = { "nod", ours_argv, MCP_ERA_2026, CALLS_OURS, { 0 } };
    struct rival v1_2025 = { "sdk v1", v1_argv, MCP_ERA_2025, CALLS_SDK, { 0 } };
    struct rival v2_2025 = { "sdk v2", v2_2025_argv, MCP_ERA_2025, CALLS_SDK, { 0 } };
    struct rival v2_2026 = { "sdk v2", v2_2026_argv, MCP_ERA_2026, CALLS_SDK, { 0 } };

    load_raise_files();
    double nod_2025 = show(&ours_2025, "2025");
    double sdk_v1 = show(&v1_2025, "2025");
    double best_2025 = least(sdk_v1, show(&v2_2025, "2025"));
    double nod_2026 = show(&ours_2026, "2026");
    double best_2026 = show(&v2_2026, "2026");
    printf("ask2025.vs_best_sdk %.1f\n", best_2025 / nod_2025);
    printf("ask2026.vs_best_sdk %.1f\n", best_2026 / nod_2026);
    fflush(stdout);
    show_floors(&ours_2025, "2025");
    show_floors(&ours_2026, "2026");
    return 0;
}
