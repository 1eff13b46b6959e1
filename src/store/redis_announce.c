/*
 * store/redis: what one node tells all of them.
 *
 * All nodes that share the prefix and the database have one channel, to which a separate connection
 * is subscribed. What is sent while that connection is away is lost here, so nothing that must not
 * be lost is told this way. No operation waits for it.
 */
#include "store/redis_inside.h"

static void announce_value(struct redis_link *link, const struct redis_value *value)
{
    struct redis_store *store = link->owner;

    if (store->announced && str_eq(redis_text(redis_item(value, 0)), STR("message")))
        store->announced(store->announced_data, redis_text(redis_item(value, 2)));
}

static const struct redis_link_events announce_events = { .value = announce_value };

void redis_watch_announced(struct store *base, void (*told)(void *data, struct str text),
                           void *data)
{
    struct redis_store *store = redis_of(base);

    store->announced = told;
    store->announced_data = data;
    if (told && !store->announcements)
        store->announcements =
            redis_link_create(store->loop, &store->url, store->tls, str_of(store->announce_channel),
                              &announce_events, store);
}

/* How many nodes got it does not matter. */
static const struct redis_verb announce_verb = { "announce", NULL };

void redis_announce(struct store *base, struct str text)
{
    struct redis_store *store = redis_of(base);
    struct redis_op *op = redis_op_new(store, &announce_verb, NULL, NULL);

    redis_op_say(op, (struct str[]){ STR("PUBLISH"), str_of(store->announce_channel), text }, 3);
    redis_op_send(op);
}
