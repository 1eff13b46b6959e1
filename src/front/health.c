/*
 * front/health: is the process alive, and can it do its work?
 *
 *     GET /healthz   200 {"status":"ok"}: the process answers
 *     GET /readyz    200 {"status":"ready","store":"sqlite"}, or
 *                    503 {"status":"not ready","store":"sqlite","why":"database or disk is full"}
 *
 * No token is needed, and nothing private is said. A page in a browser gets neither (Origin).
 * Without tokens the server listens only on loopback, and the Host has to be one of its names, as
 * for every request. With tokens it answers anybody, because probes name it by its address. The
 * check costs nothing and waits for nothing: the store says what it knows of itself.
 */
#include "core/engine.h"
#include "core/store.h"
#include "front/front_inside.h"
#include "json/write.h"

enum { HEALTH_BODY_MAX = 1024 }; /* bytes of an answer */

static bool is_ready(const struct front *front, struct str *why)
{
    *why = STR("the server is shutting down");
    if (front->stopping)
        return false;
    return !front->opts.engine || engine_fit(front->opts.engine, why);
}

static void reply(struct http_exchange *exchange, int status, struct str body)
{
    static const struct http_header headers[] = {
        { STR_INIT("Content-Type"), STR_INIT("application/json") },
        { STR_INIT("Cache-Control"), STR_INIT("no-store") },
    };

    http_reply(exchange, status, headers, sizeof(headers) / sizeof(headers[0]), body);
}

static void say_alive(const struct front_request *request, void *data)
{
    (void)data;
    reply(request->exchange, 200, STR("{\"status\":\"ok\"}"));
}

static void say_ready(const struct front_request *request, void *data)
{
    const struct front *front = data;
    struct json_writer w;
    struct buf body;
    struct str why;
    bool ready = is_ready(front, &why);

    buf_init(&body, HEALTH_BODY_MAX);
    json_writer_init(&w, &body);
    jw_object(&w);
    jw_key_str(&w, STR("status"), ready ? STR("ready") : STR("not ready"));
    if (front->opts.engine)
        jw_key_str(&w, STR("store"), str_of(engine_store(front->opts.engine)->ops->name));
    if (!ready)
        jw_key_str(&w, STR("why"), why);
    jw_end(&w);
    reply(request->exchange, ready ? 200 : 503, buf_str(&body));
    buf_finish(&body);
}

bool health_open(struct front *front)
{
    struct route alive = { .method = STR("GET"),
                           .pattern = STR("/healthz"),
                           .anyone = true,
                           .any_host = true,
                           .handle = say_alive };
    struct route ready = { .method = STR("GET"),
                           .pattern = STR("/readyz"),
                           .anyone = true,
                           .any_host = true,
                           .handle = say_ready,
                           .data = front };

    return front_route(front, &alive) && front_route(front, &ready);
}
