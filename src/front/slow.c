/*
 * front/slow: failed attempts to get in are counted, and answered ever more slowly.
 *
 * An attempt is a request with a token, a cookie or a link that is not known. The first few of an
 * address are refused at once, because people mistype and pages outlive their sign-ins. After that
 * a refusal takes longer with each attempt, up to SLOW_MOST_MS. Only refusals wait: a credential is
 * looked at when it comes, and a valid one is never delayed, whatever else its address has sent.
 *
 * A refusal that waits holds a connection of a stranger, of which there are few (net/http_share).
 * An address that has many of them waiting is told so (429) instead of waiting for more.
 *
 * Addresses of one IPv6 network (64 bits) count as one, as they are given out so.
 */
#include "base/log.h"
#include "base/mem.h"
#include "front/front_inside.h"

enum {
    SLOW_FREE = 10,              /* attempts of an address that are refused at once */
    SLOW_FIRST_MS = 100,         /* how long the next one takes; then twice as long each time */
    SLOW_MOST_MS = 5000,         /* and at most so long */
    SLOW_FORGET_MS = 60000,      /* an address is forgiven after so long without an attempt */
    SLOW_ADDRESSES_MAX = 4096,   /* addresses that are counted; past it the oldest is forgiven */
    SLOW_HELD_MAX = 256,         /* refusals that wait, in all */
    SLOW_HELD_EACH_MAX = 16,     /* and for one address */
    SLOW_TEXT_MAX = 4096,        /* bytes of a refusal that waits */
    SLOW_NETWORK_BYTES = 64 / 8, /* of an IPv6 address */
    SLOW_KEY_LEN = 1 + PEER_ADDRESS_BYTES, /* its kind, and its bytes */
};

struct address {
    char key[SLOW_KEY_LEN];
    struct list by_use; /* the latest is last */
    int64_t last_ms;
    unsigned count; /* attempts */
    unsigned held;
};

struct slow {
    struct map by_key;
    struct list by_use;
    struct list held;
    size_t held_count;
    uint64_t failed; /* attempts, ever */
};

struct held { /* a refusal that waits */
    struct list link;
    struct front *front;
    struct http_exchange *exchange;
    char key[SLOW_KEY_LEN];
    struct timer timer;
    struct arena arena; /* for the texts */
    struct http_ruling ruling;
};

const struct principal slow_refused = { .name = STR_INIT("(refused)") };

static void key_of(const struct front *front, const struct http_request *http,
                   char key[SLOW_KEY_LEN])
{
    struct peer client;

    address_of(front->proxies, front->proxy_count, http, &client);
    memset(key, 0, SLOW_KEY_LEN);
    key[0] = (char)client.kind;
    if (client.kind == PEER_IP4 || client.kind == PEER_IP6)
        memcpy(key + 1, client.address, client.kind == PEER_IP4 ? 4 : SLOW_NETWORK_BYTES);
}

static void forgive(struct slow *slow, struct address *address)
{
    map_remove(&slow->by_key, str_n(address->key, SLOW_KEY_LEN));
    list_remove(&address->by_use);
    mem_free(address);
}

/* Those whose time is over, and the oldest if there are too many. */
static void forgive_some(struct slow *slow, int64_t now)
{
    LIST_EACH (at, &slow->by_use) {
        struct address *address = LIST_OF(at, struct address, by_use);
        if (now - address->last_ms < SLOW_FORGET_MS && slow->by_key.count < SLOW_ADDRESSES_MAX)
            return;
        forgive(slow, address);
    }
}

static struct address *address_at(struct slow *slow, const char key[SLOW_KEY_LEN])
{
    struct address *address = map_get(&slow->by_key, str_n(key, SLOW_KEY_LEN));

    if (address) {
        list_remove(&address->by_use);
    } else {
        address = MEM_NEW(struct address);
        memcpy(address->key, key, SLOW_KEY_LEN);
        map_set(&slow->by_key, str_n(address->key, SLOW_KEY_LEN), address);
    }
    list_append(&slow->by_use, &address->by_use);
    return address;
}

int64_t slow_failed(struct front *front, const struct http_request *http)
{
    struct slow *slow = front->slow;
    int64_t now = loop_now(front->opts.loop);
    char key[SLOW_KEY_LEN];

    slow->failed++;
    forgive_some(slow, now);
    key_of(front, http, key);
    struct address *address = address_at(slow, key);
    address->last_ms = now;
    if (++address->count == SLOW_FREE) {
        char text[PEER_TEXT_MAX];
        struct peer client;
        address_of(front->proxies, front->proxy_count, http, &client);
        LOG_WARN("many failed attempts to get in; further ones are answered slowly",
                 LOG_STR("address", peer_text(&client, text)), LOG_INT("attempts", SLOW_FREE));
    }
    if (address->count <= SLOW_FREE)
        return 0;
    unsigned doublings = address->count - SLOW_FREE - 1;
    int64_t wait = doublings < 16 ? (int64_t)SLOW_FIRST_MS << doublings : SLOW_MOST_MS;
    return wait < SLOW_MOST_MS ? wait : SLOW_MOST_MS;
}

uint64_t slow_count(const struct front *front)
{
    return front->slow->failed;
}

/* --- refusals that wait --- */

static void held_free(struct held *held)
{
    struct slow *slow = held->front->slow;
    struct address *address = map_get(&slow->by_key, str_n(held->key, SLOW_KEY_LEN));

    if (address && address->held)
        address->held--;
    slow->held_count--;
    timer_stop(held->front->opts.loop, &held->timer);
    list_remove(&held->link);
    arena_finish(&held->arena);
    mem_free(held);
}

static void held_gone(void *data)
{
    held_free(data);
}

static void answer(struct http_exchange *exchange, const struct http_ruling *ruling)
{
    http_reply(exchange, ruling->status, ruling->headers, ruling->header_count, ruling->body);
}

static void held_over(void *data)
{
    struct held *held = data;

    http_on_gone(held->exchange, NULL, NULL);
    answer(held->exchange, &held->ruling);
    held_free(held);
}

void slow_answer(struct front *front, struct http_exchange *exchange,
                 const struct http_request *http, const struct http_ruling *ruling, int64_t wait_ms)
{
    struct slow *slow = front->slow;
    char key[SLOW_KEY_LEN];

    if (!wait_ms) {
        answer(exchange, ruling);
        return;
    }
    key_of(front, http, key);
    struct address *address = map_get(&slow->by_key, str_n(key, SLOW_KEY_LEN));
    if (!address || address->held >= SLOW_HELD_EACH_MAX || slow->held_count >= SLOW_HELD_MAX) {
        struct http_ruling too_many = {
            .headers = { { STR("Retry-After"), STR(HTTP_RETRY_AFTER) } }, .header_count = 1
        };
        admit_refuse(front, http, http->mark.what, &too_many, 429,
                     STR("There were too many failed attempts to get in; try again later."));
        answer(exchange, &too_many);
        return;
    }
    struct held *held = MEM_NEW(struct held);
    held->front = front;
    held->exchange = exchange;
    memcpy(held->key, key, SLOW_KEY_LEN);
    arena_init(&held->arena, SLOW_TEXT_MAX);
    held->ruling = *ruling;
    held->ruling.body = arena_str(&held->arena, ruling->body);
    for (size_t i = 0; i < ruling->header_count; i++) {
        held->ruling.headers[i].name = arena_str(&held->arena, ruling->headers[i].name);
        held->ruling.headers[i].value = arena_str(&held->arena, ruling->headers[i].value);
    }
    address->held++;
    slow->held_count++;
    list_append(&slow->held, &held->link);
    http_on_gone(exchange, held_gone, held);
    timer_set(front->opts.loop, &held->timer, wait_ms, held_over, held);
}

/* --- the whole --- */

void slow_open(struct front *front)
{
    struct slow *slow = front->slow = MEM_NEW(struct slow);

    map_init(&slow->by_key, SLOW_ADDRESSES_MAX);
    list_init(&slow->by_use);
    list_init(&slow->held);
}

void slow_close(struct front *front)
{
    struct slow *slow = front->slow;

    LIST_EACH (at, &slow->held)
        held_free(LIST_OF(at, struct held, link));
    LIST_EACH (at, &slow->by_use)
        forgive(slow, LIST_OF(at, struct address, by_use));
    map_finish(&slow->by_key);
    mem_free(slow);
    front->slow = NULL;
}
