/*
 * surface/webhook_lead: which node sends, and up to when everything is known to be sent or kept.
 *
 * For each webhook there is one small record that all nodes see: who leads, until when, and
 * `since`. It is replaced only by its version, so of two nodes that would lead one is refused. The
 * one that leads renews it every WEBHOOK_RENEW_MS. If it does not for WEBHOOK_LEASE_MS, another
 * takes over, and looks at everything that happened from `since` on. A store that no other process
 * shares is taken over at once: whoever led before is gone.
 *
 * Holds always: every event before `since` was delivered, has a record of its own, or was given up.
 * A node that was only asleep learns at its next sign of life that it does not lead any more; what
 * it sends until then comes twice, with the same id.
 */
#include "base/log.h"
#include "json/write.h"
#include "surface/webhook_inside.h"

enum { RECORD_MAX = 512 }; /* bytes of the record */

#define RECORD_LIFE_MS INT64_C(2592000000) /* it is forgotten if nobody leads for 30 days */

static void look(void *data);

static void look_later(struct webhook *webhook)
{
    timer_set(webhook->all->opts.loop, &webhook->look, WEBHOOK_RENEW_MS, look, webhook);
}

/* How far everything is known to be done. It never goes back. */
static int64_t done_until(const struct webhook *webhook)
{
    int64_t now = webhook_now(webhook), oldest = webhook_oldest(webhook);
    int64_t until = oldest < now ? oldest : now;

    if (webhook->stage != SCAN_NONE || webhook->again || until < webhook->since_ms)
        return webhook->since_ms;
    return until;
}

static void write_record(struct webhook *webhook, int64_t since_ms, uint64_t version,
                         store_done *done)
{
    struct store *store = webhook->all->store;
    struct json_writer w;
    struct buf value;

    buf_init(&value, RECORD_MAX);
    json_writer_init(&w, &value);
    jw_object(&w);
    jw_key_i64(&w, STR("until"), webhook_now(webhook) + WEBHOOK_LEASE_MS);
    jw_key_i64(&w, STR("since"), since_ms);
    jw_end(&w);
    webhook->since_ms = since_ms;
    store->ops->put(store, WEBHOOK_KIND, str_of(webhook->name), buf_str(&value), STR_NONE, version,
                    RECORD_LIFE_MS, done, webhook);
    buf_finish(&value);
}

static void renewed(void *data, nod_status status, const struct store_reply *reply)
{
    struct webhook *webhook = data;

    if (status == NOD_OK) {
        webhook->version = reply->version;
        scan_go_on(webhook); /* in case the store had failed */
    } else if (status != NOD_E_STORE) {
        LOG_INFO("webhooks are sent by another node", LOG_CSTR("to", webhook->origin));
        webhook->leads = false;
        scan_stop(webhook);
        webhook_drop_all(webhook);
    }
    look_later(webhook);
}

static void taken(void *data, nod_status status, const struct store_reply *reply)
{
    struct webhook *webhook = data;

    if (status == NOD_OK) {
        webhook->leads = true;
        webhook->version = reply->version;
        webhook->failures = 0;
        scan_begin(webhook, true);
    }
    look_later(webhook);
}

static void looked(void *data, nod_status status, const struct store_reply *reply)
{
    struct webhook *webhook = data;
    int64_t until = 0, since = webhook_now(webhook);
    struct arena arena;

    if (status == NOD_E_NOT_FOUND) { /* nobody has led yet: what happened before is no news */
        write_record(webhook, since, STORE_NEW, taken);
        return;
    }
    if (status == NOD_OK) {
        arena_init(&arena, WEBHOOK_ARENA_MAX);
        const struct json *record = json_parse(&arena, reply->value, NULL, NULL);
        json_i64(json_get(record, STR("until")), &until);
        json_i64(json_get(record, STR("since")), &since);
        arena_finish(&arena);
        if (!webhook->all->store->ops->shared || until < webhook_now(webhook)) {
            write_record(webhook, since, reply->version, taken);
            return;
        }
    }
    look_later(webhook);
}

static void look(void *data)
{
    struct webhook *webhook = data;
    struct store *store = webhook->all->store;

    if (webhook->leads)
        write_record(webhook, done_until(webhook), webhook->version, renewed);
    else
        store->ops->get(store, WEBHOOK_KIND, str_of(webhook->name), looked, webhook);
}

void lead_begin(struct webhook *webhook)
{
    timer_set(webhook->all->opts.loop, &webhook->look, 0, look, webhook);
}
