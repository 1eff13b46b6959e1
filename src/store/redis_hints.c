/*
 * store/redis: tells a watcher which asks come up and end, on whatever node.
 *
 * While somebody watches, a separate connection is subscribed to the channel of asks. A message
 * says whether asks have come up or ended, whose they are (a digest), their call, and their ids. No
 * operation waits for it, and nothing is kept: what was sent while the connection was away is lost,
 * and the watcher is told to look again when the subscription is there.
 */
#include "store/redis_inside.h"

#include "base/mem.h"

enum { OWNER_DIGITS = 16 };

static void hints_ready(struct redis_link *link)
{
    struct redis_store *store = link->owner;

    if (store->hinted)
        store->hinted(store->hinted_data, NULL);
}

/* False: it is not a digest, and belongs to no principal. */
static bool owner_read(struct str digits, uint64_t *owner)
{
    *owner = 0;
    for (size_t i = 0; i < digits.len; i++) {
        int digit = hex_digit(digits.at[i]);
        if (digit < 0)
            return false;
        *owner = *owner << 4 | (unsigned)digit;
    }
    return true;
}

/* The callback may destroy the store, or end the watch: then the link has no owner any more. */
static void hints_value(struct redis_link *link, const struct redis_value *value)
{
    struct str text = redis_text(redis_item(value, 2));
    uint64_t owner;

    if (!str_eq(redis_text(redis_item(value, 0)), STR("message")) ||
        text.len < 1 + OWNER_DIGITS + 2 * ID_LEN || (text.at[0] != '+' && text.at[0] != '-') ||
        !owner_read(str_n(text.at + 1, OWNER_DIGITS), &owner))
        return;
    char *copy = str_dup(text);
    struct str call = str_n(copy + 1 + OWNER_DIGITS, ID_LEN);
    for (size_t at = 1 + OWNER_DIGITS + ID_LEN; at + ID_LEN <= text.len; at += ID_LEN) {
        struct redis_store *store = link->owner;
        if (!store || !store->hinted)
            break;
        store->hinted(store->hinted_data, &(struct ask_hint){ .ask_id = str_n(copy + at, ID_LEN),
                                                              .call_id = call,
                                                              .owner = owner,
                                                              .ended = copy[0] == '-' });
    }
    mem_free(copy);
}

static const struct redis_link_events hint_events = { .ready = hints_ready, .value = hints_value };

void redis_watch_asks(struct store *base, void (*told)(void *data, const struct ask_hint *hint),
                      void *data)
{
    struct redis_store *store = redis_of(base);

    store->hinted = told;
    store->hinted_data = data;
    if (!told || store->hints) {
        redis_link_destroy(store->hints);
        store->hints = NULL;
    }
    if (told) /* the prefix of the nodes' channels, which is itself no node's */
        store->hints = redis_link_create(store->loop, &store->url, store->tls, store->channels,
                                         &hint_events, store);
}
