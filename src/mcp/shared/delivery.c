/*
 * mcp/shared/delivery: see delivery.h.
 *
 * Holds always: a delivery is in the list of its server until its connection has said what became
 * of it, or the server is gone.
 */
#include "mcp/shared/delivery.h"

#include "base/mem.h"

struct delivery {
    struct list link;                   /* in server->deliveries */
    struct mcp_server *server;          /* NULL: gone */
    void (*done)(void *data, bool did); /* NULL: nobody wants to know */
    void *data;
    struct id call; /* empty: the store has none */
};

static void fetched(struct mcp_server *server, struct str call_id)
{
    for (const struct result_keeper *keeper = server->keepers; keeper->lost; keeper++)
        if (keeper->fetched)
            keeper->fetched(server, call_id);
    engine_fetched(server->opts.engine, call_id);
}

static void delivered(void *data, bool did)
{
    struct delivery *delivery = data;
    struct mcp_server *server = delivery->server;

    list_remove(&delivery->link);
    if (delivery->done)
        delivery->done(delivery->data, did);
    if (server && did && delivery->call.text[0])
        fetched(server, id_str(&delivery->call));
    MEM_DELETE(delivery);
}

struct delivery *delivery_watch(struct mcp_server *server, struct http_exchange *exchange,
                                struct str call_id, void (*done)(void *data, bool did), void *data)
{
    struct delivery *delivery = MEM_NEW(struct delivery);

    delivery->server = server;
    delivery->done = done;
    delivery->data = data;
    if (call_id.len == ID_LEN)
        delivery->call = id_of(call_id);
    list_init(&delivery->link);
    list_append(&server->deliveries, &delivery->link);
    http_on_arrived(exchange, delivered, delivery);
    return delivery;
}

void delivery_forget(struct delivery *delivery)
{
    delivery->done = NULL;
}

void delivery_begin(struct mcp_server *server, struct http_exchange *exchange, struct str call_id)
{
    if (exchange)
        delivery_watch(server, exchange, call_id, NULL, NULL);
    else
        fetched(server, call_id);
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

static size_t lost(const struct mcp_server *server, struct str principal)
{
    size_t bytes = 0;

    for (const struct result_keeper *keeper = server->keepers; keeper->lost; keeper++)
        bytes += keeper->lost(server, principal);
    return bytes;
}

/* Past its share a principal makes no new calls; it is the same share as in the store. What else is
 * bounded for a principal: docs/inside/store.md, "Whose bytes". */
static enum store_quota kept_full(void *data, struct str principal, uint64_t *most)
{
    struct mcp_server *server = data;
    struct store *store = engine_store(server->opts.engine);
    struct store_held held = { 0 };

    if (store->ops->held)
        store->ops->held(store, &held);
    *most =
        held.each_most && held.each_most < MCP_KEPT_BYTES_MAX ? held.each_most : MCP_KEPT_BYTES_MAX;
    if (lost(server, principal) >= *most)
        return STORE_QUOTA_BYTES_PRINCIPAL;
    *most = MCP_KEPT_BYTES_MAX;
    return lost(server, STR_NONE) >= *most ? STORE_QUOTA_BYTES_ALL : STORE_QUOTA_NONE;
}

void deliveries_init(struct mcp_server *server, const struct result_keeper *keepers)
{
    server->keepers = keepers;
    list_init(&server->deliveries);
    engine_also_full(server->opts.engine, kept_full, server);
}
