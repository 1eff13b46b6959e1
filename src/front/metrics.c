/*
 * front/metrics: the figures of core/counts, the HTTP server and the process, as Prometheus reads
 * them (its text format, version 0.0.4).
 *
 *     # HELP nod_asks_ended_total Questions that ended by this node.
 *     # TYPE nod_asks_ended_total counter
 *     nod_asks_ended_total{state="accepted",surface="page"} 3
 *
 * Everything is counted where it happens; this file only reads and writes. Of asks, what is 0 is
 * left out, so that a table of states and surfaces does not become a page of zeros.
 */
#include "front/metrics.h"

#include <inttypes.h>

#include "base/mem.h"
#include "core/engine.h"
#include "front/front_inside.h"

enum {
    METRICS_MAX = 64 << 10,       /* bytes of a response */
    METRICS_CONNECTIONS_MAX = 64, /* at the address that serves nothing else */
};

#define METRICS_TYPE "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"

/* --- writing --- */

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_fmt(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one(struct buf *out, const char *name, const char *type, const char *help,
                uint64_t value)
{
    head(out, name, type, help);
    buf_fmt(out, "%s %" PRIu64 "\n", name, value);
}

/* Seconds, without the digits that a double would add. */
static void seconds(struct buf *out, uint64_t ms)
{
    buf_fmt(out, "%" PRIu64 ".%03" PRIu64, ms / 1000, ms % 1000);
}

static void times(struct buf *out, const char *name, const char *help,
                  const struct counts_times *times)
{
    uint64_t below = 0;

    head(out, name, "histogram", help);
    for (size_t i = 0; i < COUNTS_BUCKETS - 1; i++) {
        below += times->in[i];
        buf_fmt(out, "%s_bucket{le=\"", name);
        seconds(out, (uint64_t)times->bounds_ms[i]);
        buf_fmt(out, "\"} %" PRIu64 "\n", below);
    }
    buf_fmt(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum ", name, times->count, name);
    seconds(out, times->sum_ms);
    buf_fmt(out, "\n%s_count %" PRIu64 "\n", name, times->count);
}

static void write_asks(struct buf *out, const struct engine *engine)
{
    const struct counts *counts = engine_counts(engine);

    one(out, "nod_asks_total", "counter", "Questions that were put up by this node.",
        counts->asked);
    one(out, "nod_asks_pending", "gauge", "Questions of calls at this node that wait.",
        engine_pending(engine));
    head(out, "nod_asks_ended_total", "counter",
         "Questions that ended by this node, by how they ended and where.");
    for (size_t state = ASK_PENDING + 1; state < COUNTS_STATES; state++)
        for (size_t place = 0; place < COUNTS_PLACES; place++)
            if (counts->ended[state][place])
                buf_fmt(out,
                        "nod_asks_ended_total{state=\"" STR_FMT "\",surface=\"" STR_FMT
                        "\"} %" PRIu64 "\n",
                        STR_ARG(ask_state_name((enum ask_state)state)),
                        STR_ARG(counts_place_name(place)), counts->ended[state][place]);
    times(out, "nod_answer_seconds", "From a question to a person's answer.", &counts->answer);
    one(out, "nod_claims_lost_total", "counter", "Answers to questions that had ended by then.",
        counts->claims_lost);
}

static void write_calls(struct buf *out, const struct engine *engine)
{
    static const char *const ends[COUNTS_CALL_ENDS] = { "ok", "failed", "cancelled" };
    const struct counts *counts = engine_counts(engine);

    one(out, "nod_calls_total", "counter", "Calls that began at this node.", counts->calls_begun);
    one(out, "nod_calls_live", "gauge", "Calls at this node that have not ended.",
        engine_calls(engine));
    head(out, "nod_calls_ended_total", "counter", "Calls that ended at this node, by how.");
    for (size_t i = 0; i < COUNTS_CALL_ENDS; i++)
        buf_fmt(out, "nod_calls_ended_total{outcome=\"%s\"} %" PRIu64 "\n", ends[i],
                counts->calls_ended[i]);
    one(out, "nod_destructive_unasked_total", "counter",
        "Calls of destructive tools that ended well and asked nobody.",
        counts->destructive_unasked);
    one(out, "nod_grants_used_total", "counter",
        "Questions that were not asked, because an approval is remembered.", counts->grants_used);
    times(out, "nod_store_seconds", "Operations of calls on the store.", &counts->store);
    one(out, "nod_store_failures_total", "counter",
        "Operations that the store did not do; they are sent again.", counts->store_failures);
    struct str why;
    one(out, "nod_store_ready", "gauge",
        "Whether the store works, and this node opens what it holds, as far as it knows.",
        engine_fit(engine, &why));
}

static void write_kept(struct buf *out, const struct engine *engine)
{
    struct store *store = engine_store(engine);
    struct store_held held;

    if (!store->ops->held)
        return;
    store->ops->held(store, &held);
    one(out, "nod_kept_bytes", "gauge",
        "What the store keeps for calls, as far as this node knows.", held.bytes);
    one(out, "nod_kept_bytes_max", "gauge", "How much of it there may be.", held.bytes_most);
    one(out, "nod_kept_bytes_per_principal_max", "gauge", "And for one principal.", held.each_most);
    one(out, "nod_kept_refused_total", "counter",
        "Calls and questions that were refused for want of these bytes.", held.refused);
    one(out, "nod_kept_dropped_total", "counter",
        "Results that were handed out, dropped to make room.", held.dropped);
}

/* How long others had to wait, because the server was at work. */
static void write_turns(struct buf *out, const struct loop *loop)
{
    static const char longest[] = "nod_turn_seconds_max", too_long[] = "nod_turns_long_total";

    head(out, longest, "gauge",
         "CPU time of the longest turn of the loop, by what it was spent on; nobody else is served "
         "meanwhile.");
    for (enum turn_work work = TURN_REQUESTS; work < TURN_WORKS; work++) {
        buf_fmt(out, "%s{work=\"%s\"} ", longest, turn_work_name(work));
        seconds(out, (uint64_t)loop_figures(loop, work).longest_ns / 1000000);
        buf_fmt(out, "\n");
    }
    head(out, too_long, "counter", "Turns that took more than 50 ms.");
    _Static_assert(TURN_MOST_MS == 50, "as the help says");
    for (enum turn_work work = TURN_REQUESTS; work < TURN_WORKS; work++)
        buf_fmt(out, "%s{work=\"%s\"} %" PRIu64 "\n", too_long, turn_work_name(work),
                loop_figures(loop, work).too_long);
}

static void write_process(struct buf *out, const struct front *front)
{
    const struct http_server *http = front ? front->http : NULL;
    struct http_figures figures = { 0 };
    size_t resident = loop_resident();

    if (http) {
        http_figures(http, &figures);
        head(out, "nod_connections", "gauge", "Open connections; a stranger has shown no token.");
        buf_fmt(out,
                "nod_connections{peer=\"known\"} %zu\nnod_connections{peer=\"stranger\"} %zu\n",
                figures.connections - figures.strangers, figures.strangers);
        one(out, "nod_connection_memory_bytes", "gauge",
            "Partial requests and unsent responses of all connections.", figures.memory);
        one(out, "nod_failed_attempts_total", "counter",
            "Requests with a token, a cookie or a link that is not known.", slow_count(front));
    }
    if (resident)
        one(out, "process_resident_memory_bytes", "gauge", "Memory of this process.", resident);
}

static void reply(struct http_exchange *exchange, const struct loop *loop,
                  const struct engine *engine, const struct front *front)
{
    struct buf out;

    buf_init(&out, METRICS_MAX);
    if (engine) {
        write_asks(&out, engine);
        write_calls(&out, engine);
        write_kept(&out, engine);
    }
    write_turns(&out, loop);
    write_process(&out, front);
    head(&out, "nod_info", "gauge", "The version of nod, and the kind of store.");
    buf_fmt(&out, "nod_info{version=\"%s\",store=\"%s\"} 1\n", NOD_VERSION,
            engine ? engine_store(engine)->ops->name : "none");
    http_reply_lines(exchange, 200, STR(METRICS_TYPE "Cache-Control: no-store\r\n"), buf_str(&out));
    buf_finish(&out);
}

/* --- at the front door --- */

static void serve(const struct front_request *request, void *data)
{
    const struct front *front = data;

    reply(request->exchange, front->opts.loop, front->opts.engine, front);
}

bool metrics_open(struct front *front)
{
    return front_route(front, &(struct route){ .method = STR("GET"),
                                               .pattern = STR("/metrics"),
                                               .who = ROLE_ADMIN,
                                               .credential = true,
                                               .cookie = true,
                                               .fetch_site = true,
                                               .handle = serve,
                                               .data = front });
}

/* --- at an address of its own --- */

struct metrics_port {
    const struct loop *loop;
    const struct engine *engine;
    const struct front *front;
    struct http_server *http;
    struct str host;
};

/* A page whose owner has pointed its name here is of our own origin to its browser, which then says
 * neither of the two above. */
static bool host_ok(const struct metrics_port *port, const struct http_request *request)
{
    struct str host = http_named(request, HTTP_NAME_HOST);
    struct origin_rules rules = { 0 };

    if (port->front)
        rules = port->front->origins;
    rules.own = &port->host;
    rules.own_count = 1;
    return str_starts(port->host, STR("unix:")) || origin_host_is_address(host) ||
           origin_host_ok(&rules, host);
}

static void on_request(struct http_exchange *exchange, const struct http_request *request,
                       void *data)
{
    const struct metrics_port *port = data;
    bool reads = str_eq(request->method, STR("GET")) || str_eq(request->method, STR("HEAD"));

    if (http_named(request, HTTP_NAME_ORIGIN).len ||
        http_named(request, HTTP_NAME_SEC_FETCH_SITE).len)
        http_reply_json(exchange, 403, STR("{\"error\":\"Not for browsers.\"}"));
    else if (!host_ok(port, request))
        http_reply_json(
            exchange, 403,
            STR("{\"error\":\"This server does not go by that name: use its address, or "
                "start it with --allow-host NAME.\"}"));
    else if (!str_eq(request->path, STR("/metrics")))
        http_reply_json(exchange, 404, STR("{\"error\":\"Only /metrics is here.\"}"));
    else if (!reads)
        http_reply_lines(exchange, 405, STR("Allow: GET, HEAD\r\n"), STR_NONE);
    else
        reply(exchange, port->loop, port->engine, port->front);
}

struct metrics_port *metrics_listen(const struct metrics_opts *opts)
{
    struct metrics_port *port = MEM_NEW(struct metrics_port);
    struct http_opts http = { .limits = http_limits_default, .on_request = on_request };

    port->loop = opts->loop;
    port->engine = opts->engine;
    port->front = opts->front;
    port->host = opts->host;
    http.data = port;
    http.limits.connections_max = METRICS_CONNECTIONS_MAX;
    http.limits.body_max = 0;
    if (http_listen(opts->loop, opts->host, opts->port, &http, &port->http) == NOD_OK)
        return port;
    mem_free(port);
    return NULL;
}

int metrics_port_number(const struct metrics_port *port)
{
    return http_port(port->http);
}

void metrics_close(struct metrics_port *port)
{
    if (!port)
        return;
    http_close(port->http);
    mem_free(port);
}
