/*
 * mcp/era2026/response: plain JSON if there is nothing else to send, otherwise server-sent events.
 *
 * The status line waits for the outcome or the first notification, so that an error for which MCP
 * demands an HTTP status can have it.
 *
 * An answer that does not fit into the connection's queue is kept until there is room. Its owner
 * need not wait for that (struct parting).
 */
#include "mcp/era2026/response.h"

#include "base/mem.h"
#include "net/sse.h"
#include "mcp/era2026/pipe.h"

static void exchange_gone(void *data)
{
    struct response *response = data;

    response->exchange = NULL;
    response->over = true;
    response->gone(response);
}

void response_take(struct response *response, struct request *request,
                   void (*gone)(struct response *response))
{
    *response = (struct response){ .server = request->server,
                                   .exchange = request->exchange,
                                   .pipe = !request->exchange,
                                   .gone = gone };
    request->later = true;
    response_moved(response);
}

void response_moved(struct response *response)
{
    if (response->exchange)
        http_on_gone(response->exchange, exchange_gone, response);
}

bool response_event(struct response *response, struct str message)
{
    if (response->over)
        return false;
    if (response->pipe)
        return pipe_send(response->server, true, message);
    if (!response->events) {
        response->events = true;
        sse_begin(response->exchange, NULL, 0);
    }
    return response->exchange &&
           sse_send(response->exchange, &(struct sse_event){ .data = message });
}

void response_notify(struct response *response, struct str message)
{
    if (response->over)
        return;
    if (response->pipe)
        pipe_send(response->server, false, message);
    else
        response_event(response, message);
}

void response_comment(struct response *response)
{
    if (!response->over && response->exchange && response->events &&
        http_queued(response->exchange) == 0)
        sse_comment(response->exchange, STR("waiting"));
}

/* --- the end --- */

struct parting { /* the last event, on its way to a slow reader */
    struct http_exchange *exchange;
    size_t len;
    char text[];
};

static void mark_gone(void *data)
{
    *(bool *)data = true;
}

static void parting_gone(void *data)
{
    mem_free(data);
}

static void parting_try(void *data)
{
    struct parting *parting = data;
    struct http_exchange *exchange = parting->exchange;
    bool gone = false;

    http_on_gone(exchange, mark_gone, &gone);
    bool sent =
        sse_send(exchange, &(struct sse_event){ .data = str_n(parting->text, parting->len) });
    if (!gone && !sent) {
        http_on_gone(exchange, parting_gone, parting);
        return;
    }
    mem_free(parting);
    if (!gone)
        http_end(exchange);
}

static void end_events(struct http_exchange *exchange, struct str message)
{
    bool gone = false;

    http_on_gone(exchange, mark_gone, &gone);
    bool sent = sse_send(exchange, &(struct sse_event){ .data = message });
    if (gone)
        return;
    http_on_gone(exchange, NULL, NULL);
    if (sent) {
        http_end(exchange);
        return;
    }
    struct parting *parting = mem_alloc(sizeof(*parting) + message.len);
    parting->exchange = exchange;
    parting->len = message.len;
    memcpy(parting->text, message.at, message.len);
    http_on_gone(exchange, parting_gone, parting);
    http_on_drain(exchange, parting_try, parting);
}

void response_end(struct response *response, int status, struct str message)
{
    struct http_exchange *exchange = response->exchange;

    if (response->over)
        return;
    response->over = true;
    response->exchange = NULL;
    if (response->pipe) {
        pipe_send(response->server, true, message);
    } else if (response->events) {
        end_events(exchange, message);
    } else {
        http_reply_json(exchange, status, message);
    }
}

void response_drop(struct response *response)
{
    struct http_exchange *exchange = response->exchange;

    if (response->over)
        return;
    response->over = true;
    response->exchange = NULL;
    if (exchange && response->events)
        http_end(exchange);
    else if (exchange)
        http_reply_lines(exchange, 503, STR(HTTP_RETRY_LINE), STR_NONE);
}
