/*
 * surface/webhook_lead: which node sends, and up to when everything is known to be sent or kept.
 *
 * For each hook there is one small record that all nodes see: who leads, until when, and `since`.
 * It is replaced only by its version, so of two nodes that would lead one is refused. The one that
 * leads renews it every WEBHOOK_RENEW_MS. If it does not for WEBHOOK_LEASE_MS, another takes over,
 * and looks at everything that happened from `since` on. A store that no other process shares is
 * taken over at once: whoever led before is gone.
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

static void look_later(struct hook *hook)
{
    timer_set(hook->all->opts.loop, &hook->look, WEBHOOK_RENEW_MS, look, hook);
}

/* How far everything is known to be done. It never goes back. */
static int64_t done_until(const struct hook *hook)
{
    int64_t now = webhook_now(hook), oldest = hook_oldest(hook);
    int64_t until = oldest < now ? oldest : now;

    if (hook->stage != SCAN_NONE || hook->again || until < hook->since_ms)
        return hook->since_ms;
    return until;
}

static void write_record(struct hook *hook, int64_t since_ms, uint64_t version, store_done *done)
{
    struct store *store = hook->all->store;
    struct json_writer w;
    struct buf value;

    buf_init(&value, RECORD_MAX);
    json_writer_init(&w, &value);
    jw_object(&w);
    jw_key_i64(&w, STR("until"), webhook_now(hook) + WEBHOOK_LEASE_MS);
    jw_key_i64(&w, STR("since"), since_ms);
    jw_end(&w);
    hook->since_ms = since_ms;
    store->ops->put(store, WEBHOOK_KIND, str_of(hook->name), buf_str(&value), version,
                    RECORD_LIFE_MS, done, hook);
    buf_finish(&value);
}

static void renewed(void *data, nod_status status, const struct store_reply *reply)
{
    struct hook *hook = data;

    if (status == NOD_OK) {
        hook->version = reply->version;
        scan_go_on(hook); /* in case the store had failed */
    } else if (status != NOD_E_STORE) {
        LOG_INFO("webhooks are sent by another node", LOG_CSTR("to", hook->origin));
        hook->leads = false;
        scan_stop(hook);
        hook_drop_all(hook);
    }
    look_later(hook);
}

static void taken(void *data, nod_status status, const struct store_reply *reply)
{
    struct hook *hook = data;

    if (status == NOD_OK) {
        hook->leads = true;
        hook->version = reply->version;
        hook->failures = 0;
        scan_begin(hook, true);
    }
    look_later(hook);
}

static void looked(void *data, nod_status status, const struct store_reply *reply)
{
    struct hook *hook = data;
    int64_t until = 0, since = webhook_now(hook);
    struct arena arena;

    if (status == NOD_E_NOT_FOUND) { /* nobody has led yet: what happened before is no news */
        write_record(hook, since, STORE_NEW, taken);
        return;
    }
    if (status == NOD_OK) {
        arena_init(&arena, WEBHOOK_ARENA_MAX);
        const struct json *record = json_parse(&arena, reply->value, NULL, NULL);
        json_i64(json_get(record, STR("until")), &until);
        json_i64(json_get(record, STR("since")), &since);
        arena_finish(&arena);
        if (!hook->all->store->ops->shared || until < webhook_now(hook)) {
            write_record(hook, since, reply->version, taken);
            return;
        }
    }
    look_later(hook);
}

static void look(void *data)
{
    struct hook *hook = data;
    struct store *store = hook->all->store;

    if (hook->leads)
        write_record(hook, done_until(hook), hook->version, renewed);
    else
        store->ops->get(store, WEBHOOK_KIND, str_of(hook->name), looked, hook);
}

void lead_begin(struct hook *hook)
{
    timer_set(hook->all->opts.loop, &hook->look, 0, look, hook);
}
