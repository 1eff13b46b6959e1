/*
 * mcp/shared/delivery: see delivery.h.
 *
 * Holds always: a delivery is in the list of its server until its connection has said what became
 * of it, or the server is gone.
 */
#include "mcp/shared/delivery.h"

#include "base/mem.h"
#include "mcp/era2025/stream.h"
#include "mcp/tasks/tasks.h"

struct delivery {
    struct list link;          /* in server->deliveries */
    struct mcp_server *server; /* NULL: gone */
    struct mcp_stream *stream; /* NULL: none, or it is gone */
    struct id call;            /* empty: the store has none */
};

static void delivered(void *data, bool did)
{
    struct delivery *delivery = data;
    struct mcp_server *server = delivery->server;
    struct mcp_stream *stream = delivery->stream;

    list_remove(&delivery->link);
    if (stream)
        stream->delivery = NULL;
    if (stream && did) {
        stream->arrived = true;
        ended_streams_arrived(stream);
    }
    if (server && did && delivery->call.text[0]) {
        tasks_fetched(server, id_str(&delivery->call));
        engine_fetched(server->opts.engine, id_str(&delivery->call));
    }
    MEM_DELETE(delivery);
}

static struct delivery *delivery_new(struct mcp_server *server, struct http_exchange *exchange,
                                     struct str call_id)
{
    struct delivery *delivery = MEM_NEW(struct delivery);

    delivery->server = server;
    if (call_id.len == ID_LEN)
        delivery->call = id_of(call_id);
    list_init(&delivery->link);
    list_append(&server->deliveries, &delivery->link);
    http_on_arrived(exchange, delivered, delivery);
    return delivery;
}

void delivery_begin(struct mcp_server *server, struct http_exchange *exchange, struct str call_id)
{
    if (exchange) {
        delivery_new(server, exchange, call_id);
        return;
    }
    tasks_fetched(server, call_id);
    engine_fetched(server->opts.engine, call_id);
}

void delivery_of_stream(struct mcp_stream *stream, struct http_exchange *exchange,
                        struct str call_id)
{
    delivery_lose_stream(stream);
    stream->delivery = delivery_new(stream->session->server, exchange, call_id);
    stream->delivery->stream = stream;
}

void delivery_lose_stream(struct mcp_stream *stream)
{
    if (stream->delivery)
        stream->delivery->stream = NULL;
    stream->delivery = NULL;
}

void deliveries_drop(struct mcp_server *server)
{
    struct list *at;

    engine_also_full(server->opts.engine, NULL, NULL);
    while ((at = list_first(&server->deliveries))) {
        struct delivery *delivery = LIST_OF(at, struct delivery, link);
        list_remove(at);
        delivery->server = NULL;
    }
}

/* --- what this process keeps --- */

static enum store_quota kept_full(void *data, struct str principal, uint64_t *most)
{
    struct mcp_server *server = data;
    struct store *store = engine_store(server->opts.engine);
    struct store_held held = { 0 };

    if (store->ops->held)
        store->ops->held(store, &held);
    *most =
        held.each_most && held.each_most < MCP_KEPT_BYTES_MAX ? held.each_most : MCP_KEPT_BYTES_MAX;
    if (ended_streams_lost(server, principal) + tasks_lost(server, principal) >= *most)
        return STORE_QUOTA_BYTES_PRINCIPAL;
    *most = MCP_KEPT_BYTES_MAX;
    return ended_streams_lost(server, STR_NONE) + tasks_lost(server, STR_NONE) >= *most
               ? STORE_QUOTA_BYTES_ALL
               : STORE_QUOTA_NONE;
}

void deliveries_init(struct mcp_server *server)
{
    list_init(&server->deliveries);
    engine_also_full(server->opts.engine, kept_full, server);
}
