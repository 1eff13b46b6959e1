/*
 * surface/webhook_scan: finds events that nobody was told of.
 *
 * Hints may be lost: the process died, the store was away, or the queue was full. A scan looks at
 * what is kept to be sent again, then at the asks that wait, then at those that have ended, the
 * latest first, back to a little before hook->since_ms. It reads a page when there is room for all
 * that the page may bring, so it takes as long as the receiver does, and holds no more than the
 * queue. What it finds is checked like every event: if there is a mark, it was delivered.
 */
#include "base/mem.h"
#include "surface/webhook_inside.h"

static void keep_cursor(struct hook *hook, struct str cursor)
{
    mem_free(hook->cursor);
    hook->cursor = cursor.len ? str_dup(cursor) : NULL;
    hook->cursor_len = cursor.len;
}

static void enter(struct hook *hook, enum scan_stage stage)
{
    keep_cursor(hook, STR_NONE);
    hook->past = false;
    hook->stage = stage;
}

static bool is_news(const struct hook *hook, int64_t at_ms)
{
    return at_ms >= hook->since_ms - WEBHOOK_SLACK_MS;
}

static void on_row(void *data, const struct store_row *row)
{
    struct hook *hook = data;

    if (!hook->leads)
        return;
    if (hook->stage == SCAN_KEPT) {
        hook_take_kept(hook, row->value);
        return;
    }
    if (is_news(hook, row->ask->asked_ms))
        hook_take(hook, row->ask->id, WEBHOOK_CREATED, row->ask->asked_ms);
    if (hook->stage != SCAN_ENDED)
        return;
    if (is_news(hook, row->ask->ended_ms))
        hook_take(hook, row->ask->id, WEBHOOK_ENDED, row->ask->ended_ms);
    else
        hook->past = true;
}

static void on_page(void *data, nod_status status, const struct store_reply *reply)
{
    struct hook *hook = data;

    hook->reading = false;
    if (!hook->leads || hook->stage == SCAN_NONE || status == NOD_E_STORE)
        return; /* the next sign of life goes on with it */
    if (status != NOD_OK)
        keep_cursor(hook, STR_NONE); /* it cannot be read to its end: go on with the next */
    else
        keep_cursor(hook, reply->cursor);
    if (!hook->cursor_len || hook->past)
        enter(hook, hook->stage == SCAN_ENDED ? SCAN_NONE : hook->stage + 1);
    scan_go_on(hook);
}

static void read_page(struct hook *hook)
{
    struct store *store = hook->all->store;
    struct str cursor = str_n(hook->cursor, hook->cursor_len);
    char prefix[WEBHOOK_NAME_LEN + 1];

    hook->reading = true;
    if (hook->stage == SCAN_KEPT) {
        memcpy(prefix, hook->name, WEBHOOK_NAME_LEN);
        prefix[WEBHOOK_NAME_LEN] = '/';
        store->ops->list(store,
                         &(struct store_list){ .kind = WEBHOOK_KIND,
                                               .prefix = str_n(prefix, sizeof(prefix)),
                                               .cursor = cursor,
                                               .limit = WEBHOOK_PAGE },
                         on_row, on_page, hook);
        return;
    }
    store->ops->scan(store,
                     &(struct store_scan){ .index = hook->stage == SCAN_PENDING ? STORE_ASKS_PENDING
                                                                                : STORE_ASKS_ENDED,
                                           .cursor = cursor,
                                           .limit = WEBHOOK_PAGE },
                     on_row, on_page, hook);
}

void scan_go_on(struct hook *hook)
{
    if (!hook->leads || hook->reading)
        return;
    if (hook->stage == SCAN_NONE && hook->again && hook_has_room(hook, WEBHOOK_QUEUE_MAX / 2))
        scan_begin(hook, false);
    else if (hook->stage != SCAN_NONE && hook_has_room(hook, WEBHOOK_PAGE * 2))
        read_page(hook);
}

void scan_begin(struct hook *hook, bool kept)
{
    if (hook->stage != SCAN_NONE || hook->reading) {
        hook->again = true; /* once more after this one */
        return;
    }
    hook->again = false;
    enter(hook, kept ? SCAN_KEPT : SCAN_PENDING);
    scan_go_on(hook);
}

void scan_stop(struct hook *hook)
{
    hook->again = false;
    enter(hook, SCAN_NONE);
}
