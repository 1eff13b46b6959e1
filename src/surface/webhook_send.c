/*
 * surface/webhook_send: one event, from its ask to the mark that it was delivered.
 *
 *     taken ─▶ loaded ─▶ checked ─▶ ready ─▶ sent ─▶ marked ─▶ forgotten
 *     (hint,   (the ask, (no mark:   │  ▲      │ no 2xx
 *      scan)    its body)  not sent) │  └─pause┴▶ kept (a record, which outlives us)
 *                                    └ at most WEBHOOK_AT_ONCE on their way
 *
 * Each arrow is an operation of the store or a request, and may fail: then it is done again. An
 * event that failed for WEBHOOK_TRY_MS is given up, which the log says, and marked.
 *
 * What is ready is sent in turns: an event of one user, then one of the next (base/fair.h).
 *
 * What one user has in memory does not keep out another. If there is no room, events that pause go:
 * they are kept, and found again by a scan. A user with fewer than WEBHOOK_USER_SURE events also
 * takes the place of one that waits for its turn, of a user with more.
 *
 * Holds always: an event is in the map of its webhook by its key, once. It leaves it when it is
 * marked, or was found to be marked, or has nothing to tell. What does not fit is not taken, and
 * makes the webhook scan again when there is room: the records of the asks are the longer queue.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "json/write.h"
#include "surface/webhook_inside.h"

enum {
    KEPT_MAX = WEBHOOK_BODY_MAX * 2 + 4096,  /* bytes of the record of an event that is kept */
    KEPT_LIFE_MS = WEBHOOK_TRY_MS + 3600000, /* it outlives the last try */
    NUMBER_MAX = 24,                         /* characters of a number */
    HOOK_ID_MAX = ID_LEN + 16,               /* characters of webhook-id */
};

struct question { /* an ask whose call is being read */
    struct arena arena;
    struct ask_record ask;
};

struct share { /* of a user, while they have any */
    uint64_t owner;
    size_t count;
};

struct item {
    struct webhook *webhook;
    struct list link;      /* in webhook->items */
    struct fair_turn turn; /* in webhook->ready */
    enum webhook_event event;
    char key[WEBHOOK_KEY_MAX];
    struct str ask_id; /* in the key */
    int64_t at_ms;     /* not later than it happened */
    int attempts;
    bool busy;       /* the store works on it */
    bool dropped;    /* not in the webhook any more; freed when the store is done with it */
    bool kept;       /* there is a record of it */
    bool pausing;    /* before its next try */
    int64_t next_ms; /* when that is */
    struct share *share;
    struct timer timer;
    struct fetch *fetch;
    struct question *question;
    struct str body;
    struct str principal; /* whose question it is; empty: it was kept by an earlier process */
};

static void item_load(void *data);
static void item_check(void *data);
static void item_mark(void *data);
static void item_keep(void *data);
static void item_unkeep(void *data);

static struct store *store_of(const struct item *item)
{
    return item->webhook->all->store;
}

/* --- the queue --- */

bool webhook_has_room(const struct webhook *webhook, size_t more)
{
    return webhook->count + more <= WEBHOOK_QUEUE_MAX && webhook->bytes < WEBHOOK_QUEUE_BYTES;
}

static struct str share_key(const uint64_t *owner)
{
    return str_n((const char *)owner, sizeof(*owner));
}

static size_t share_count(const struct webhook *webhook, uint64_t owner)
{
    const struct share *share = map_get(&webhook->shares, share_key(&owner));

    return share ? share->count : 0;
}

static void share_add(struct item *item, uint64_t owner)
{
    struct map *shares = &item->webhook->shares;

    item->share = map_get(shares, share_key(&owner));
    if (!item->share) {
        item->share = MEM_NEW(struct share);
        item->share->owner = owner;
        map_add(shares, share_key(&item->share->owner), item->share);
    }
    item->share->count++;
}

static void share_leave(struct item *item)
{
    struct share *share = item->share;

    if (--share->count)
        return;
    map_remove(&item->webhook->shares, share_key(&share->owner));
    mem_free(share);
}

static void question_free(struct item *item)
{
    if (item->question)
        arena_finish(&item->question->arena);
    mem_free(item->question);
    item->question = NULL;
}

static void item_free(struct item *item)
{
    question_free(item);
    mem_free((char *)item->body.at);
    mem_free((char *)item->principal.at);
    mem_free(item);
}

/* Takes it out of the queue. Its memory stays while the store works on it. */
static void item_drop(struct item *item)
{
    struct webhook *webhook = item->webhook;

    map_remove(&webhook->items_by_key, str_of(item->key));
    share_leave(item);
    list_remove(&item->link);
    fair_end(&item->webhook->ready, &item->turn);
    timer_stop(webhook->all->opts.loop, &item->timer);
    webhook->count--;
    webhook->bytes -= item->body.len;
    if (item->fetch) {
        fetch_cancel(item->fetch);
        webhook->sending--;
    }
    item->fetch = NULL;
    item->dropped = true;
    if (item->busy)
        list_append(&webhook->all->loose, &item->link);
    else
        item_free(item);
}

static void item_end(struct item *item)
{
    struct webhook *webhook = item->webhook;

    item_drop(item);
    scan_go_on(webhook);
}

void webhook_drop_all(struct webhook *webhook)
{
    LIST_EACH (at, &webhook->items)
        item_drop(LIST_OF(at, struct item, link));
}

void webhook_free_loose(struct webhooks *all)
{
    LIST_EACH (at, &all->loose) {
        list_remove(at);
        item_free(LIST_OF(at, struct item, link));
    }
}

int64_t webhook_oldest(const struct webhook *webhook)
{
    int64_t oldest = INT64_MAX;

    LIST_EACH (at, &webhook->items) {
        const struct item *item = LIST_OF(at, struct item, link);
        if (!item->kept && item->at_ms < oldest)
            oldest = item->at_ms;
    }
    return oldest;
}

bool webhook_make_room(struct webhook *webhook, size_t more)
{
    LIST_EACH (at, &webhook->items) {
        struct item *item = LIST_OF(at, struct item, link);
        if (webhook_has_room(webhook, more))
            return true;
        if (item->pausing && item->kept) {
            webhook->away = true;
            item_drop(item);
        }
    }
    return webhook_has_room(webhook, more);
}

/* Room for an event of this user: at the cost of one that waits for its turn, if others have more
 * than the user has. It is found again by a scan. */
static bool room_for(struct webhook *webhook, uint64_t owner)
{
    if (webhook_make_room(webhook, 1))
        return true;
    webhook->again = true;
    if (share_count(webhook, owner) >= WEBHOOK_USER_SURE)
        return false;
    LIST_EACH (at, &webhook->items) {
        struct item *item = LIST_OF(at, struct item, link);
        if (item->share->count <= WEBHOOK_USER_SURE || !fair_waits(&item->turn))
            continue;
        webhook->away |= item->kept;
        item_drop(item);
        if (webhook_has_room(webhook, 1))
            return true;
    }
    return false;
}

static struct item *item_new(struct webhook *webhook, struct str ask_id, uint64_t owner,
                             enum webhook_event event)
{
    struct item *item = MEM_NEW(struct item);

    item->webhook = webhook;
    item->event = event;
    snprintf(item->key, sizeof(item->key), "%s/" STR_FMT "/%c", webhook->name, STR_ARG(ask_id),
             event == WEBHOOK_CREATED ? 'c' : 'e');
    item->ask_id = str_n(item->key + WEBHOOK_NAME_LEN + 1, ask_id.len);
    if (map_get(&webhook->items_by_key, str_of(item->key))) {
        mem_free(item);
        return NULL;
    }
    map_add(&webhook->items_by_key, str_of(item->key), item);
    list_append(&webhook->items, &item->link);
    webhook->count++;
    share_add(item, owner);
    return item;
}

void webhook_take(struct webhook *webhook, struct str ask_id, uint64_t owner,
                  enum webhook_event event, int64_t at_ms)
{
    struct item *item;

    if (ask_id.len != ID_LEN)
        return;
    if (!room_for(webhook, owner))
        return;
    item = item_new(webhook, ask_id, owner, event);
    if (!item)
        return; /* it is here already */
    item->at_ms = at_ms;
    item_load(item);
}

/* --- the store --- */

static void pause_for(struct item *item, int64_t ms, void (*next)(void *data))
{
    timer_set(item->webhook->all->opts.loop, &item->timer, ms, next, item);
}

/* The store is done with it. False: nobody waits for it any more. */
static bool back(struct item *item)
{
    item->busy = false;
    if (!item->dropped)
        return true;
    list_remove(&item->link);
    item_free(item);
    return false;
}

/* Back, and not to be tried again by `next`. */
static bool settled(struct item *item, nod_status status, void (*next)(void *data))
{
    if (!back(item))
        return false;
    if (status == NOD_E_STORE)
        pause_for(item, WEBHOOK_STORE_MS, next);
    return status != NOD_E_STORE;
}

/* --- what it is about --- */

static void take_body(struct item *item, const struct ask_record *ask,
                      const struct call_record *call)
{
    item->body = webhook_body(item->webhook->all, ask, call, item->event);
    item->webhook->bytes += item->body.len;
    mem_free((char *)item->principal.at);
    item->principal = str_n(str_dup(ask->principal), ask->principal.len);
    item_check(item);
}

static void call_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct item *item = data;

    if (!settled(item, status, item_load))
        return;
    take_body(item, &item->question->ask, status == NOD_OK ? reply->call : NULL);
    question_free(item);
}

static void load_call(struct item *item, const struct ask_record *ask)
{
    question_free(item);
    item->question = MEM_NEW(struct question);
    arena_init(&item->question->arena, WEBHOOK_ARENA_MAX);
    item->question->ask = ask_record_copy(&item->question->arena, ask);
    if (item->question->arena.exhausted) { /* far too long for a body, which will say so */
        take_body(item, ask, NULL);
        return;
    }
    item->busy = true;
    store_of(item)->ops->load_call(store_of(item), item->question->ask.call_id, call_loaded, item);
}

/* Sampling and roots are the client's own business: no person is asked. */
static bool has_news(const struct item *item, const struct ask_record *ask)
{
    bool person = ask->kind == ASK_FORM || ask->kind == ASK_URL || ask->kind == ASK_APPROVAL;

    return person && (item->event == WEBHOOK_CREATED || ask->state != ASK_PENDING);
}

static void loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct item *item = data;

    if (!settled(item, status, item_load))
        return;
    if (status != NOD_OK || !has_news(item, reply->ask))
        item_end(item);
    else if (item->webhook->all->opts.content)
        load_call(item, reply->ask);
    else
        take_body(item, reply->ask, NULL);
}

static void item_load(void *data)
{
    struct item *item = data;

    item->busy = true;
    store_of(item)->ops->load_ask(store_of(item), item->ask_id, loaded, item);
}

/* --- was it delivered? --- */

static void item_ready(void *data)
{
    struct item *item = data;

    item->pausing = false;
    fair_wait(&item->webhook->ready, &item->turn, item->principal);
    webhook_pump(item->webhook);
}

static void checked(void *data, nod_status status, const struct store_reply *reply)
{
    struct item *item = data;

    (void)reply;
    if (!settled(item, status, item_check))
        return;
    if (status != NOD_OK)
        item_ready(item);
    else if (item->kept)
        item_unkeep(item);
    else
        item_end(item);
}

static void item_check(void *data)
{
    struct item *item = data;

    item->busy = true;
    store_of(item)->ops->get(store_of(item), WEBHOOK_KIND_MARK, str_of(item->key), checked, item);
}

static void unkept(void *data, nod_status status, const struct store_reply *reply)
{
    struct item *item = data;

    (void)reply;
    if (settled(item, status, item_unkeep))
        item_end(item);
}

static void item_unkeep(void *data)
{
    struct item *item = data;

    item->busy = true;
    store_of(item)->ops->del(store_of(item), WEBHOOK_KIND, str_of(item->key), unkept, item);
}

static void marked(void *data, nod_status status, const struct store_reply *reply)
{
    struct item *item = data;

    (void)reply;
    if (!settled(item, status, item_mark))
        return;
    if (item->kept)
        item_unkeep(item);
    else
        item_end(item);
}

static void item_mark(void *data)
{
    struct item *item = data;
    struct store *store = store_of(item);
    bool survives = store->ops->durable || store->ops->shared;

    item->busy = true;
    store->ops->put(store, WEBHOOK_KIND_MARK, str_of(item->key), STR("1"), item->principal, 0,
                    survives ? WEBHOOK_MARK_MS : WEBHOOK_MARK_MEMORY_MS, marked, item);
}

/* --- sending --- */

/* The receiver is there again: what waits for its next try need not wait any longer. It may be
 * there for this user only, so of others one event each is tried. */
static void delivered(const struct item *done)
{
    struct webhook *webhook = done->webhook;
    bool was_down = webhook->failures >= WEBHOOK_DOWN_AFTER;
    struct map tried;

    webhook->failures = 0;
    if (!was_down)
        return;
    LOG_INFO("webhooks are delivered again", LOG_CSTR("to", webhook->origin));
    map_init(&tried, WEBHOOK_QUEUE_MAX + WEBHOOK_PAGE * 2);
    LIST_EACH (at, &webhook->items) {
        struct item *item = LIST_OF(at, struct item, link);
        struct str whose = share_key(&item->share->owner);
        if (!item->pausing || (item->share != done->share && map_get(&tried, whose)))
            continue;
        map_set(&tried, whose, item);
        pause_for(item, 0, item_ready);
    }
    map_finish(&tried);
}

static void sent(void *data, const struct fetch_result *result)
{
    struct item *item = data;
    struct webhook *webhook = item->webhook;

    item->fetch = NULL;
    fair_end(&item->webhook->ready, &item->turn);
    webhook->sending--;
    if (result->status >= 200 && result->status < 300) {
        delivered(item);
        item_mark(item);
    } else {
        if (++webhook->failures == 1)
            LOG_WARN("a webhook cannot be delivered and is tried again",
                     LOG_CSTR("to", webhook->origin), LOG_INT("status", result->status),
                     LOG_STR("why", result->why.len ? result->why : STR("the status is not 2xx")));
        item->attempts++;
        if (webhook_now(webhook) - item->at_ms < WEBHOOK_TRY_MS) {
            item_keep(item);
        } else {
            LOG_ERROR("a webhook was given up: nobody has taken it",
                      LOG_CSTR("to", webhook->origin), LOG_STR("ask", item->ask_id));
            item_mark(item);
        }
    }
    webhook_pump(webhook);
}

static struct fetch *post(struct item *item)
{
    const struct webhooks *all = item->webhook->all;
    int64_t now_s = webhook_now(item->webhook) / 1000;
    char signatures[SIGNING_SIGNATURES_MAX], time[NUMBER_MAX], id[HOOK_ID_MAX];

    snprintf(time, sizeof(time), "%" PRId64, now_s);
    snprintf(id, sizeof(id), STR_FMT "-%s", STR_ARG(item->ask_id),
             item->event == WEBHOOK_CREATED ? "created" : "ended");
    const struct http_header headers[] = {
        { STR("Content-Type"), STR("application/json") },
        { STR("User-Agent"), STR("nod/" NOD_VERSION) },
        { STR("webhook-id"), str_of(id) },
        { STR("webhook-timestamp"), str_of(time) },
        { STR("webhook-signature"),
          signing_sign(&all->opts.keys, str_of(id), now_s, item->body, signatures) },
    };
    return fetch_begin(all->fetcher,
                       &(struct fetch_opts){ .method = STR("POST"),
                                             .url = str_of(item->webhook->url),
                                             .headers = headers,
                                             .header_count = sizeof(headers) / sizeof(headers[0]),
                                             .body = item->body,
                                             .timeout_ms = WEBHOOK_SEND_MS },
                       sent, item);
}

void webhook_pump(struct webhook *webhook)
{
    struct fair_turn *turn;

    while (webhook->sending < WEBHOOK_AT_ONCE && (turn = fair_next(&webhook->ready))) {
        struct item *item = LIST_OF(turn, struct item, turn);
        item->fetch = post(item);
        if (item->fetch) {
            webhook->sending++;
            continue;
        }
        fair_end(&webhook->ready, turn);
        pause_for(item, WEBHOOK_STORE_MS, item_ready); /* too many requests are under way */
    }
}

/* --- kept until it is delivered --- */

static void is_kept(void *data, nod_status status, const struct store_reply *reply)
{
    struct item *item = data;
    int64_t wait = item->next_ms - webhook_now(item->webhook);

    (void)reply;
    if (!settled(item, status, item_keep))
        return;
    item->kept |= status == NOD_OK;
    item->pausing = true;
    pause_for(item, wait > 0 ? wait : 0, item_ready);
}

/* How long after the last try the next one is. */
static int64_t pause_of(const struct item *item)
{
    int64_t ms = WEBHOOK_PAUSE_MS;
    uint16_t random;

    for (int i = 1; i < item->attempts && ms < WEBHOOK_PAUSE_MOST_MS; i++)
        ms *= 2;
    if (ms > WEBHOOK_PAUSE_MOST_MS)
        ms = WEBHOOK_PAUSE_MOST_MS;
    random_bytes(&random, sizeof(random));
    return ms - ms / 4 * random / UINT16_MAX; /* not all at the same time */
}

static void item_keep(void *data)
{
    struct item *item = data;
    struct json_writer w;
    struct buf value;

    item->next_ms = webhook_now(item->webhook) + pause_of(item);
    buf_init(&value, KEPT_MAX);
    json_writer_init(&w, &value);
    jw_object(&w);
    jw_key_i64(&w, STR("at"), item->at_ms);
    jw_key_i64(&w, STR("attempts"), item->attempts);
    jw_key_i64(&w, STR("next"), item->next_ms);
    jw_key_str(&w, STR("principal"), item->principal);
    jw_key_str(&w, STR("body"), item->body);
    jw_end(&w);
    item->busy = true;
    store_of(item)->ops->put(store_of(item), WEBHOOK_KIND, str_of(item->key), buf_str(&value),
                             item->principal, 0, KEPT_LIFE_MS, is_kept, item);
    buf_finish(&value);
}

static bool read_key(struct str key, struct str *ask_id, enum webhook_event *event)
{
    size_t len = WEBHOOK_NAME_LEN + 1 + ID_LEN + 2;

    if (key.len != len)
        return false;
    *ask_id = str_n(key.at + WEBHOOK_NAME_LEN + 1, ID_LEN);
    *event = key.at[len - 1] == 'c' ? WEBHOOK_CREATED : WEBHOOK_ENDED;
    return true;
}

void webhook_take_kept(struct webhook *webhook, const struct store_value *kept)
{
    enum webhook_event event;
    struct str ask_id, body;
    struct arena arena;
    int64_t attempts = 0, next = 0;

    arena_init(&arena, WEBHOOK_ARENA_MAX);
    const struct json *value = json_parse(&arena, kept->value, NULL, NULL);
    struct str whose = json_get_str(value, STR("principal"));
    body = json_get_str(value, STR("body"));
    json_i64(json_get(value, STR("next")), &next);
    if (body.len && !webhook->whole && next > webhook_now(webhook)) {
        webhook->away = true; /* unless it is in memory, which does no harm */
    } else if (body.len && read_key(kept->key, &ask_id, &event)) {
        struct item *item = item_new(webhook, ask_id, store_owner(whose), event);
        if (item) {
            item->principal = str_n(str_dup(whose), whose.len);
            json_i64(json_get(value, STR("at")), &item->at_ms);
            json_i64(json_get(value, STR("attempts")), &attempts);
            item->attempts = (int)attempts;
            item->kept = true;
            item->body = str_n(str_dup(body), body.len);
            webhook->bytes += body.len;
            item_check(item);
        }
    }
    arena_finish(&arena);
}
