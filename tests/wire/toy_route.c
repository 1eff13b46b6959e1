/*
 * tests/wire/toy_route: a server with a route of its own.
 *
 * A new endpoint needs only a handler and a row of the table. It is beside /mcp, behind the same
 * tokens, roles and rules, and reports what its handler was given. Some are for signed-in browsers,
 * as those of the inbox are; TOY_SESSION_MS, TOY_IDLE_MS and TOY_LINK_MS say how long those last.
 */
#include <stdio.h>
#include <stdlib.h>

#include "host/host.h"
#include "front/front.h"
#include "json/write.h"
#include "net/sse.h"
#include "net/stream.h"
#include "base/mem.h"

enum { TOY_BODY_MAX = 64 << 10, TOY_ARENA_MAX = 16 << 10 };

static void write_pair(struct json_writer *w, struct str key, struct str value)
{
    jw_key(w, key);
    jw_str(w, value);
}

static void greet(const struct front_request *request, void *data)
{
    char text[PEER_TEXT_MAX];
    struct peer client;
    struct arena arena;
    struct json_writer w;
    struct buf body;

    (void)data;
    arena_init(&arena, TOY_ARENA_MAX);
    buf_init(&body, TOY_BODY_MAX);
    json_writer_init(&w, &body);
    front_client(request, &client);
    jw_object(&w);
    write_pair(&w, STR("method"), request->http->method);
    write_pair(&w, STR("name"), front_var(request, STR("name")));
    write_pair(&w, STR("rest"), front_var(request, STR("rest")));
    write_pair(&w, STR("principal"), request->principal);
    write_pair(&w, STR("address"), peer_text(&client, text));
    write_pair(&w, STR("link"), front_link(request->front, STR("/toy"), &arena));
    write_pair(&w, STR("body"), request->http->body);
    jw_key(&w, STR("roles"));
    jw_i64(&w, (int64_t)request->roles);
    jw_key(&w, STR("secure"));
    jw_bool(&w, front_is_secure(request->front));
    jw_end(&w);
    http_reply_json(request->exchange, 200, buf_str(&body));
    buf_finish(&body);
    arena_finish(&arena);
}

/* --- a stream that ends with its credential --- */

struct toy_stream {
    struct http_exchange *exchange;
    struct front_watch watch;
};

static void stream_gone(void *data)
{
    struct toy_stream *stream = data;

    front_unwatch(&stream->watch);
    mem_free(stream);
}

static void stream_ended(void *data, struct str why)
{
    struct toy_stream *stream = data;

    sse_send(stream->exchange, &(struct sse_event){ .event = STR("bye"), .data = why });
    http_on_gone(stream->exchange, NULL, NULL);
    http_end(stream->exchange);
    mem_free(stream);
}

static void stream_begin(const struct front_request *request, void *data)
{
    struct toy_stream *stream = MEM_NEW(struct toy_stream);

    (void)data;
    stream->exchange = request->exchange;
    front_watch(request, &stream->watch, stream_ended, stream);
    http_on_gone(request->exchange, stream_gone, stream);
    sse_begin(request->exchange, NULL, 0);
    sse_send(request->exchange, &(struct sse_event){ .event = STR("hello"), .data = STR("") });
}

/* --- another protocol: it says everything back, and who it is for --- */

static void echo_read(struct stream *stream, struct str bytes)
{
    stream_write(stream, &bytes, 1);
}

static void echo_end(struct stream *stream, int error)
{
    stream->owner = stream; /* what it was sent last is said first */
    if (error || stream_queued(stream) == 0)
        stream_close(stream);
}

static void echo_drain(struct stream *stream)
{
    if (stream->owner)
        stream_close(stream);
}

static void echo_closed(struct stream *stream)
{
    (void)stream;
}

static void echo_begin(const struct front_request *request, void *data)
{
    static const struct stream_events events = { echo_read, echo_end, echo_drain, echo_closed };
    const struct http_header whose = { STR("X-Whose"), request->principal };
    struct stream *stream;

    (void)data;
    if (front_var(request, STR("name")).len > 8) {
        http_reply_json(request->exchange, 404, STR("{}")); /* it need not be taken over */
        return;
    }
    stream = front_upgrade(request, &whose, 1);
    stream_own(stream, &events, NULL);
    stream_read_start(stream);
}

static int64_t from_environment(const char *name)
{
    const char *text = getenv(name);

    return text ? atoll(text) : 0;
}

static const struct route routes[] = {
    { .method = STR_INIT("GET"),
      .pattern = STR_INIT("/toy/{name}"),
      .who = ROLE_ANSWER | ROLE_APPROVE,
      .handle = greet },
    { .method = STR_INIT("POST"),
      .pattern = STR_INIT("/toy/{name}"),
      .who = ROLE_ASK | ROLE_ANSWER,
      .handle = greet },
    { .method = STR_INIT("GET"),
      .pattern = STR_INIT("/signed/{name}"),
      .who = ROLE_ANSWER,
      .cookie = true,
      .fetch_site = true,
      .handle = greet },
    { .method = STR_INIT("POST"),
      .pattern = STR_INIT("/signed/{name}"),
      .who = ROLE_ANSWER,
      .cookie = true,
      .fetch_site = true,
      .handle = greet },
    { .method = STR_INIT("GET"),
      .pattern = STR_INIT("/signed-stream"),
      .who = ROLE_ANSWER,
      .cookie = true,
      .fetch_site = true,
      .endless = true,
      .handle = stream_begin },
    { .method = STR_INIT("GET"),
      .pattern = STR_INIT("/echo/{name}"),
      .who = ROLE_ANSWER,
      .upgrade = STR_INIT("toy-echo"),
      .handle = echo_begin },
    { .method = STR_INIT("GET"),
      .pattern = STR_INIT("/open/{rest...}"),
      .anyone = true,
      .handle = greet },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "toy", .version = NOD_VERSION);
    int code = 1;

    if (server && settings_argv(&server->settings, argc, argv) == SETTINGS_RUN) {
        settings_log(&server->settings);
        server->signin_times =
            (struct front_signin_opts){ .session_ms = from_environment("TOY_SESSION_MS"),
                                        .idle_ms = from_environment("TOY_IDLE_MS"),
                                        .link_ms = from_environment("TOY_LINK_MS") };
        host_own_process(server);
        bool fine = host_open_store(server) && host_open_http(server);
        for (size_t i = 0; fine && i < sizeof(routes) / sizeof(routes[0]); i++)
            fine = front_route(server->front, &routes[i]);
        if (fine && host_listen(server)) {
            host_begin(server);
            host_run(server);
            code = 0;
        }
    }
    nod_server_destroy(server);
    return code;
}
