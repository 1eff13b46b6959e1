/*
 * store/redis: what one node tells all of them.
 *
 * All nodes that share the prefix and the database have one channel, to which a separate connection
 * is subscribed. What is sent while that connection is away is lost here, so nothing that must not
 * be lost is told this way. No operation waits for it.
 */
#include "base/mem.h"
#include "store/redis_inside.h"

static void announce_ready(struct redis_link *link)
{
    (void)link;
}

static void announce_down(struct redis_link *link, const char *why)
{
    (void)link;
    (void)why;
}

static void announce_value(struct redis_link *link, const struct redis_value *value)
{
    struct redis_store *store = link->owner;

    if (store->announced && str_eq(redis_text(redis_item(value, 0)), STR("message")))
        store->announced(store->announced_data, redis_text(redis_item(value, 2)));
}

static const struct redis_link_events announce_events = { announce_ready, announce_down,
                                                          announce_value };

static struct str channel(const struct redis_store *store, struct arena *arena)
{
    return arena_fmt(arena, "%stold:%d", store->url.prefix, store->url.db);
}

void redis_watch_announced(struct store *base, void (*told)(void *data, struct str text),
                           void *data)
{
    struct redis_store *store = redis_of(base);
    struct arena arena;

    store->announced = told;
    store->announced_data = data;
    if (!told || store->announcements)
        return;
    arena_init(&arena, REDIS_REPLY_BYTES);
    struct str name = channel(store, &arena);
    store->announce_channel = str_dup(name);
    store->announcements =
        redis_link_create(store->loop, &store->url, store->tls,
                          str_n(store->announce_channel, name.len), &announce_events, store);
    arena_finish(&arena);
}

void redis_announced_finish(struct redis_store *store)
{
    redis_link_destroy(store->announcements);
    mem_free(store->announce_channel);
}

static void announce_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    (void)op, (void)at, (void)value; /* how many nodes got it does not matter */
}

static const struct redis_verb announce_verb = { "announce", announce_reply };

void redis_announce(struct store *base, struct str text)
{
    struct redis_store *store = redis_of(base);
    struct redis_op *op = redis_op_new(store, &announce_verb, NULL, NULL);

    redis_op_say(op, (struct str[]){ STR("PUBLISH"), channel(store, &op->arena), text }, 3);
    redis_op_send(op);
}
