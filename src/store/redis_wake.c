/*
 * store/redis: hints from other nodes.
 *
 * A separate connection is subscribed to this node's channel. A message is a call's id and nothing
 * else. Operations wait until the subscription is confirmed, at the start and whenever the
 * connection was lost. So no answer to a question that is asked after that goes unheard. What was
 * sent while the connection was away is lost; the record is the truth, and every waiting call looks
 * at it when the subscription is back.
 */
#include <stdio.h>

#include "base/mem.h"
#include "store/redis_inside.h"

static void wake_ready(struct redis_link *link)
{
    struct redis_store *store = link->owner;

    redis_ops_flow(store);
    if (store->wake)
        store->wake(store->wake_data, STR_NONE);
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

/* While it is away operations wait; if one waits too long, it says why. */
static const struct redis_link_events wake_events = { .ready = wake_ready, .value = wake_value };

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
    if (store->channel_text && str_eq(store->node, node))
        return;
    redis_link_destroy(store->wakes);
    mem_free(store->channel_text);
    size_t len = store->channels.len + node.len;
    store->channel_text = mem_alloc(len + 1);
    snprintf(store->channel_text, len + 1, "%s" STR_FMT, store->channels_text, STR_ARG(node));
    store->node = str_n(store->channel_text + store->channels.len, node.len);
    store->wakes = redis_link_create(store->loop, &store->url, store->tls,
                                     str_n(store->channel_text, len), &wake_events, store);
}
