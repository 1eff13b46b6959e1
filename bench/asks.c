/*
 * bench/asks: questions asked and answered over HTTP, in both eras, beside the official SDKs.
 *
 *   askERA.vs_best_sdk   server CPU of a call with the better of the official TypeScript SDKs (v1
 *                        and v2), over ours, at 128 clients; higher is better
 *   askERA.vs_floor      server CPU of our bare HTTP server for the same exchanges
 *                        (bench/ask_floor), over that of the calls; 1: MCP costs nothing
 *   askERA.vs_epoll      the same against a bare epoll loop that answers canned bytes
 *
 * A call is what bench/mcp_load does: a tool asks one form, is answered, and ends. Calls per second
 * and CPU per call are printed for 1, 16 and 128 clients. The ratios are by CPU, because the load
 * generator shares the machine, and an SDK has threads of its own on it.
 *
 * Run as: bench-asks SERVER NODE FOLDER; FOLDER has sdk_v1.mjs and sdk_v2.mjs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask_floor.h"
#include "base/buf.h"
#include "epoll_floor.h"
#include "load.h"
#include "mcp_load.h"
#include "server_process.h"

enum {
    MANY_CLIENTS = 128,
    CALLS_OURS = 10000, /* a round at 128 clients */
    CALLS_SDK = 1000,
    ROUNDS = 15,
    ROUNDS_FEW_CLIENTS = 3,
    WARM_ROUNDS = 2, /* before anything is measured: the SDKs are compiled while they run */
    RIVALS_MAX = 3,
};

static const int client_counts[] = { 1, 16, MANY_CLIENTS };

struct cost {
    double cpu; /* seconds of the server for a call */
    double rate;
    struct mcp_load_traffic traffic;
    uint64_t calls;
};

/* --- one server --- */

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

/*
 * What every rival costs with so many clients, in turns, so that other work on the machine slows
 * all of them down. The cost is that of all rounds together: what a server puts off, such as
 * collecting garbage, belongs to it. Returns the CPU of the best of the others over that of the
 * first.
 */
static double compare(const char *era, const struct rival *rivals, size_t count, int clients)
{
    int rounds = clients == MANY_CLIENTS ? ROUNDS : ROUNDS_FEW_CLIENTS;
    double cpu[RIVALS_MAX] = { 0 }, seconds[RIVALS_MAX] = { 0 }, best = 0;
    struct mcp_load *loads[RIVALS_MAX];

    for (size_t i = 0; i < count; i++) {
        loads[i] = open_load(&rivals[i], clients);
        measure(&rivals[i], loads[i],
                rivals[i].calls * (clients == MANY_CLIENTS ? WARM_ROUNDS : 1));
    }
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            struct cost cost =
                measure(&rivals[i], loads[i], rivals[i].calls / (clients == 1 ? 4 : 1));
            cpu[i] += cost.cpu / rounds;
            seconds[i] += 1 / cost.rate / rounds;
        }
    }
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "%s  %-8s %4d clients %10.0f calls/s %10.2f us CPU a call\n", era,
                rivals[i].name, clients, 1 / seconds[i], cpu[i] * 1e6);
        if (i > 0 && (best == 0 || cpu[i] < best))
            best = cpu[i];
        mcp_load_close(loads[i]);
    }
    return best / cpu[0];
}

static void show_rivals(const char *era, struct rival *rivals, size_t count)
{
    double ratio = 0;

    for (size_t i = 0; i < count; i++)
        rivals[i].process = server_process_start(rivals[i].argv);
    for (size_t i = 0; i < sizeof(client_counts) / sizeof(client_counts[0]); i++)
        ratio = compare(era, rivals, count, client_counts[i]);
    printf("ask%s.vs_best_sdk %.1f\n", era, ratio);
    fflush(stdout);
    for (size_t i = 0; i < count; i++)
        server_process_stop(&rivals[i].process);
}

/* --- the floors --- */

#define HEAD_OUT                                                                                   \
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\n"             \
    "Accept: application/json, text/event-stream\r\nContent-Length: "
#define HEAD_IN                                                                                    \
    "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"                                   \
    "Content-Type: application/json\r\nContent-Length: "
#define HEAD_END "1234\r\n\r\n"

/* One exchange of the epoll floor: as many bytes as those of the calls have on average. */
struct canned {
    struct buf request, response;
    size_t body_len; /* of the request */
};

static size_t canned_part(struct buf *out, struct str head, size_t whole)
{
    size_t head_len = head.len + strlen(HEAD_END);
    size_t body = whole > head_len ? whole - head_len : 1;

    buf_init(out, 1 << 20);
    buf_add(out, head);
    buf_fmt(out, "%4zu\r\n\r\n", body);
    for (size_t i = 0; i < body; i++)
        buf_add_char(out, 'x');
    return body;
}

static void canned_make(struct canned *canned, struct mcp_load_traffic traffic)
{
    canned->body_len = canned_part(&canned->request, STR(HEAD_OUT),
                                   (size_t)(traffic.bytes_out / traffic.exchanges));
    canned_part(&canned->response, STR(HEAD_IN), (size_t)(traffic.bytes_in / traffic.exchanges));
}

static void canned_finish(struct canned *canned)
{
    buf_finish(&canned->request);
    buf_finish(&canned->response);
}

/* Our bare HTTP server behind the very clients that make the calls. */
struct http_floor {
    struct ask_floor says;
    struct load_server server;
    struct mcp_load *load;
};

static void http_floor_open(struct http_floor *floor)
{
    floor->server = load_server_start(ask_floor_serve, &floor->says);
    floor->load = mcp_load_open(&(struct mcp_load_opts){ .port = floor->server.port,
                                                         .clients = MANY_CLIENTS,
                                                         .era = floor->says.era,
                                                         .tool = "ask",
                                                         .expects = "\"text\":\"confirmed\"" });
}

static void http_floor_close(struct http_floor *floor)
{
    mcp_load_close(floor->load);
    load_server_stop(&floor->server);
}

static bool nearly(uint64_t a, uint64_t b)
{
    return a < b ? (b - a) * 50 <= b : (a - b) * 50 <= a;
}

/* A floor that exchanges the bytes of the calls. At first only the requestState is missing. */
static void http_floor_start(struct http_floor *floor, const struct cost *ours)
{
    http_floor_open(floor);
    mcp_load_calls(floor->load, ours->calls);
    struct mcp_load_traffic got = mcp_load_traffic(floor->load);
    if (ours->traffic.bytes_out > got.bytes_out)
        floor->says.state_len = (size_t)((ours->traffic.bytes_out - got.bytes_out) / ours->calls);
    http_floor_close(floor);
    http_floor_open(floor);
    mcp_load_calls(floor->load, ours->calls);
    got = mcp_load_traffic(floor->load);
    if (got.exchanges != ours->traffic.exchanges ||
        !nearly(got.bytes_out, ours->traffic.bytes_out) ||
        !nearly(got.bytes_in, ours->traffic.bytes_in)) {
        fprintf(stderr, "bench-asks: the floor does not exchange what the calls exchange\n");
        exit(1);
    }
}

static double http_floor_cpu(const struct http_floor *floor, uint64_t calls)
{
    double before = load_cpu_seconds(&floor->server);

    mcp_load_calls(floor->load, calls);
    return load_cpu_seconds(&floor->server) - before;
}

static double epoll_floor_cpu(const struct load_server *server, struct load *load,
                              uint64_t exchanges)
{
    double before = load_cpu_seconds(server);

    load_run(load, exchanges);
    return load_cpu_seconds(server) - before;
}

static void show_traffic(const char *era, const struct cost *cost, double floor_cpu)
{
    double calls = (double)cost->calls;

    fprintf(stderr,
            "%s  a call is %.1f exchanges, %.0f bytes to the server, %.0f from it; the floor takes "
            "%.2f us CPU for them\n",
            era, (double)cost->traffic.exchanges / calls, (double)cost->traffic.bytes_out / calls,
            (double)cost->traffic.bytes_in / calls, floor_cpu * 1e6);
}

/* In turns, so that other work on the machine slows all of them down. */
static void show_floors(struct rival *ours, const char *era)
{
    double vs_http[ROUNDS], vs_epoll[ROUNDS], http_cpu[ROUNDS];
    struct http_floor http = { .says.era = ours->era };
    struct canned canned;

    ours->process = server_process_start(ours->argv);
    struct mcp_load *load = open_load(ours, MANY_CLIENTS);
    struct cost warm = measure(ours, load, CALLS_OURS);
    http_floor_start(&http, &warm);
    canned_make(&canned, warm.traffic);
    struct epoll_floor says = { canned.body_len, buf_str(&canned.response) };
    struct load_server epoll = load_server_start(epoll_floor_serve, &says);
    struct load *epoll_load = load_open(&(struct load_opts){
        .port = epoll.port, .connections = MANY_CLIENTS, .request = buf_str(&canned.request) });
    epoll_floor_cpu(&epoll, epoll_load, warm.traffic.exchanges);
    for (int i = 0; i < ROUNDS; i++) {
        struct cost cost = measure(ours, load, CALLS_OURS);
        double calls = cost.cpu * (double)cost.calls;
        double floor = http_floor_cpu(&http, cost.calls);
        http_cpu[i] = floor / (double)cost.calls;
        vs_http[i] = floor / calls;
        vs_epoll[i] = epoll_floor_cpu(&epoll, epoll_load, cost.traffic.exchanges) / calls;
    }
    show_traffic(era, &warm, load_median(http_cpu, ROUNDS));
    printf("ask%s.vs_floor %.3f\n", era, load_median(vs_http, ROUNDS));
    printf("ask%s.vs_epoll %.3f\n", era, load_median(vs_epoll, ROUNDS));
    load_close(epoll_load);
    load_server_stop(&epoll);
    http_floor_close(&http);
    mcp_load_close(load);
    server_process_stop(&ours->process);
    canned_finish(&canned);
}

/* --- all of them --- */

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
    char *const ours[] = { argv[1], http, address, NULL };
    char *const sdk_v1[] = { argv[2], v1, mode, NULL };
    char *const sdk_v2_2025[] = { argv[2], v2, old, NULL };
    char *const sdk_v2_2026[] = { argv[2], v2, modern, NULL };
    struct rival rivals_2025[] = { { "nod", ours, MCP_ERA_2025, CALLS_OURS, { 0 } },
                                   { "sdk v1", sdk_v1, MCP_ERA_2025, CALLS_SDK, { 0 } },
                                   { "sdk v2", sdk_v2_2025, MCP_ERA_2025, CALLS_SDK, { 0 } } };
    struct rival rivals_2026[] = { { "nod", ours, MCP_ERA_2026, CALLS_OURS, { 0 } },
                                   { "sdk v2", sdk_v2_2026, MCP_ERA_2026, CALLS_SDK, { 0 } } };

    load_raise_files();
    show_rivals("2025", rivals_2025, sizeof(rivals_2025) / sizeof(rivals_2025[0]));
    show_rivals("2026", rivals_2026, sizeof(rivals_2026) / sizeof(rivals_2026[0]));
    show_floors(&rivals_2025[0], "2025");
    show_floors(&rivals_2026[0], "2026");
    return 0;
}
