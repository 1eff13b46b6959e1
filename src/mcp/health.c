/*
 * mcp/health: see health.h.
 *
 * What is looked at costs nothing and waits for nothing: the store says what it knows of itself.
 */
#include "mcp/health.h"

#include "json/write.h"
#include "mcp/endpoint.h"

static const struct str alive_path = STR_INIT("/healthz");
static const struct str ready_path = STR_INIT("/readyz");

enum { HEALTH_BODY_MAX = 1024 };

bool health_has(struct str path)
{
    return str_eq(path, alive_path) || str_eq(path, ready_path);
}

bool health_store_ready(struct mcp_server *server, struct str *why)
{
    struct store *store = engine_store(server->opts.engine);

    *why = STR("the store does not answer");
    return !store->ops->ready || store->ops->ready(store, why);
}

static bool is_ready(struct mcp_server *server, struct str *why)
{
    *why = STR("the server is shutting down");
    return !server->draining && health_store_ready(server, why);
}

static void write_pair(struct json_writer *w, struct str key, struct str value)
{
    jw_key(w, key);
    jw_str(w, value);
}

/* The status of the response. */
static int write_ready(struct mcp_server *server, struct json_writer *w)
{
    struct store *store = engine_store(server->opts.engine);
    struct str why;
    bool ready = is_ready(server, &why);

    write_pair(w, STR("status"), ready ? STR("ready") : STR("not ready"));
    write_pair(w, STR("store"), str_of(store->ops->name));
    if (!ready)
        write_pair(w, STR("why"), why);
    return ready ? 200 : 503;
}

void health_reply(struct mcp_server *server, struct http_exchange *exchange,
                  const struct http_request *http)
{
    static const struct http_header headers[] = {
        { STR_INIT("Content-Type"), STR_INIT("application/json") },
        { STR_INIT("Cache-Control"), STR_INIT("no-store") },
    };
    struct json_writer w;
    struct buf body;
    int status = 200;

    if (!str_eq(http->method, STR("GET")) && !str_eq(http->method, STR("HEAD"))) {
        endpoint_not_allowed(exchange, STR("GET, HEAD"));
        return;
    }
    buf_init(&body, HEALTH_BODY_MAX);
    json_writer_init(&w, &body);
    jw_object(&w);
    if (str_eq(http->path, ready_path))
        status = write_ready(server, &w);
    else
        write_pair(&w, STR("status"), STR("ok"));
    jw_end(&w);
    http_reply(exchange, status, headers, 2, buf_str(&body));
    buf_finish(&body);
}
