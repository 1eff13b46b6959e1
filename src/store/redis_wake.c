/*
 * store/redis: hints from other nodes.
 *
 * A separate connection is subscribed to this node's channel. A message is a call's id and nothing
 * else. Operations wait until the subscription is confirmed, at the start and whenever the
 * connection was lost. So no answer to a question that is asked after that goes unheard. What was
 * sent while the connection was away is lost; the record is the truth, and every waiting call looks
 * at it when the subscription is back.
 */
#include "base/mem.h"
#include "store/redis_inside.h"

static void wake_ready(struct redis_link *link)
{
    struct redis_store *store = link->owner;

    redis_ops_flow(store);
    if (store->wake)
        store->wake(store->wake_data, STR_NONE);
}

static void wake_down(struct redis_link *link, const char *why)
{
    (void)link;
    (void)why; /* operations wait from now on; if one waits too long, it says why */
}

static void wake_value(struct redis_link *link, const struct redis_value *value)
{
    struct redis_store *store = link->owner;
    struct str call = redis_text(redis_item(value, 2));
    struct id id = id_of(call);

    if (!str_eq(redis_text(redis_item(value, 0)), STR("message")) || call.len != ID_LEN)
        return;
    if (store->wake)
        store->wake(store->wake_data, id_str(&id));
}

static const struct redis_link_events wake_events = { wake_ready, wake_down, wake_value };

bool redis_watching(const struct redis_store *store)
{
    return !store->wakes || store->wakes->ready;
}

void redis_watch(struct store *base, struct str node, void (*wake)(void *data, struct str call_id),
                 void *data)
{
    struct redis_store *store = redis_of(base);

    store->wake = wake;
    store->wake_data = data;
    if (store->node_text && str_eq(store->node, node))
        return;
    redis_link_destroy(store->wakes);
    store->wakes = NULL;
    mem_free(store->node_text);
    mem_free(store->channel_text);
    store->node_text = str_dup(node);
    store->node = str_n(store->node_text, node.len);

    struct arena arena;
    arena_init(&arena, REDIS_REPLY_BYTES);
    struct str channel = redis_channel(store, &arena, node);
    store->channel_text = str_dup(channel);
    store->wakes = redis_link_create(store->loop, &store->url, store->tls,
                                     str_n(store->channel_text, channel.len), &wake_events, store);
    arena_finish(&arena);
}
