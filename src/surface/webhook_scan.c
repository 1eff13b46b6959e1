/*
 * surface/webhook_scan: finds events that nobody was told of.
 *
 * Hints may be lost: the process died, the store was away, or the queue was full. A scan looks at
 * what is kept to be sent again, then at the asks that wait, then at those that have ended, the
 * latest first, back to a little before webhook->since_ms. It reads a page when there is room for
 * all that the page may bring, so it takes as long as the receiver does, and holds no more than the
 * queue. What it finds is checked like every event: if there is a mark, it was delivered.
 *
 * Of what is kept and went from memory, a scan of its own takes what is due, every WEBHOOK_KEPT_MS.
 * It reads each record once.
 */
#include "base/mem.h"
#include "surface/webhook_inside.h"

static void keep_cursor(struct webhook *webhook, struct str cursor)
{
    mem_free(webhook->cursor);
    webhook->cursor = cursor.len ? str_dup(cursor) : NULL;
    webhook->cursor_len = cursor.len;
}

static void enter(struct webhook *webhook, enum scan_stage stage)
{
    keep_cursor(webhook, STR_NONE);
    webhook->past = false;
    webhook->stage = stage;
}

static bool is_news(const struct webhook *webhook, int64_t at_ms)
{
    return at_ms >= webhook->since_ms - WEBHOOK_SLACK_MS;
}

static void on_row(void *data, const struct store_row *row)
{
    struct webhook *webhook = data;

    if (!webhook->leads)
        return;
    if (webhook->stage == SCAN_KEPT) {
        webhook_take_kept(webhook, row->value);
        return;
    }
    if (is_news(webhook, row->ask->asked_ms))
        webhook_take(webhook, row->ask->id, store_owner(row->ask->principal), WEBHOOK_CREATED,
                     row->ask->asked_ms);
    if (webhook->stage != SCAN_ENDED)
        return;
    if (is_news(webhook, row->ask->ended_ms))
        webhook_take(webhook, row->ask->id, store_owner(row->ask->principal), WEBHOOK_ENDED,
                     row->ask->ended_ms);
    else
        webhook->past = true;
}

static void on_page(void *data, nod_status status, const struct store_reply *reply)
{
    struct webhook *webhook = data;

    webhook->reading = false;
    if (!webhook->leads || webhook->stage == SCAN_NONE || status == NOD_E_STORE)
        return; /* the next sign of life goes on with it */
    if (status != NOD_OK)
        keep_cursor(webhook, STR_NONE); /* it cannot be read to its end: go on with the next */
    else
        keep_cursor(webhook, reply->cursor);
    if (!webhook->cursor_len || webhook->past)
        enter(webhook,
              webhook->stage == SCAN_ENDED || !webhook->whole ? SCAN_NONE : webhook->stage + 1);
    scan_go_on(webhook);
}

static void read_page(struct webhook *webhook)
{
    struct store *store = webhook->all->store;
    struct str cursor = str_n(webhook->cursor, webhook->cursor_len);
    char prefix[WEBHOOK_NAME_LEN + 1];

    webhook->reading = true;
    if (webhook->stage == SCAN_KEPT) {
        memcpy(prefix, webhook->name, WEBHOOK_NAME_LEN);
        prefix[WEBHOOK_NAME_LEN] = '/';
        store->ops->list(store,
                         &(struct store_list){ .kind = WEBHOOK_KIND,
                                               .prefix = str_n(prefix, sizeof(prefix)),
                                               .cursor = cursor,
                                               .limit = WEBHOOK_PAGE },
                         on_row, on_page, webhook);
        return;
    }
    store->ops->scan(store,
                     &(struct store_scan){ .index = webhook->stage == SCAN_PENDING
                                                        ? STORE_ASKS_PENDING
                                                        : STORE_ASKS_ENDED,
                                           .cursor = cursor,
                                           .limit = WEBHOOK_PAGE },
                     on_row, on_page, webhook);
}

void scan_go_on(struct webhook *webhook)
{
    if (!webhook->leads || webhook->reading)
        return;
    if (webhook->stage != SCAN_NONE) {
        if (webhook_make_room(webhook, WEBHOOK_PAGE * 2))
            read_page(webhook);
    } else if (webhook->away && webhook_now(webhook) - webhook->kept_ms >= WEBHOOK_KEPT_MS) {
        scan_begin(webhook, true);
    } else if (webhook->again && webhook_make_room(webhook, WEBHOOK_QUEUE_MAX / 2)) {
        scan_begin(webhook, false);
    }
}

void scan_begin(struct webhook *webhook, bool kept)
{
    if (webhook->stage != SCAN_NONE || webhook->reading) {
        webhook->again = true; /* once more after this one */
        return;
    }
    webhook->whole = !kept || webhook->kept_ms == 0;
    webhook->again &= !webhook->whole; /* what was not taken is not among what is kept */
    if (kept) {
        webhook->away = false;
        webhook->kept_ms = webhook_now(webhook);
    }
    enter(webhook, kept ? SCAN_KEPT : SCAN_PENDING);
    scan_go_on(webhook);
}

void scan_stop(struct webhook *webhook)
{
    webhook->again = webhook->away = false;
    webhook->kept_ms = 0;
    enter(webhook, SCAN_NONE);
}
