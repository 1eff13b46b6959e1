/*
 * core/store_gone: what an engine has in place of its store while it is taken apart.
 *
 * By then its store has been destroyed, or is about to be. Who is told that the engine goes may
 * still have something to store, or to look up: that is taken, and never replied to, as by a store
 * that was destroyed. Its owner ends with the engine, as everything that waits for a store does.
 */
#include "core/store.h"

static void no_park(struct store *store, const struct park_spec *park, store_done *done, void *data)
{
    (void)store, (void)park, (void)done, (void)data;
}

static void no_append(struct store *store, const struct append_spec *append, store_done *done,
                      void *data)
{
    (void)store, (void)append, (void)done, (void)data;
}

static void no_claim(struct store *store, const struct claim_spec *claim, store_done *done,
                     void *data)
{
    (void)store, (void)claim, (void)done, (void)data;
}

static void no_take(struct store *store, const struct take_spec *take, store_done *done, void *data)
{
    (void)store, (void)take, (void)done, (void)data;
}

static void no_finish(struct store *store, const struct finish_spec *finish, store_done *done,
                      void *data)
{
    (void)store, (void)finish, (void)done, (void)data;
}

static void no_cancel(struct store *store, struct str token, struct str call_id, struct str why,
                      store_done *done, void *data)
{
    (void)store, (void)token, (void)call_id, (void)why, (void)done, (void)data;
}

static void no_load(struct store *store, struct str id, store_done *done, void *data)
{
    (void)store, (void)id, (void)done, (void)data;
}

static void no_scan(struct store *store, const struct store_scan *scan, store_row_fn *row,
                    store_done *done, void *data)
{
    (void)store, (void)scan, (void)row, (void)done, (void)data;
}

static void no_put(struct store *store, struct str kind, struct str key, struct str value,
                   struct str whose, uint64_t version, int64_t ttl_ms, store_done *done, void *data)
{
    (void)store, (void)kind, (void)key, (void)value, (void)whose, (void)version, (void)ttl_ms;
    (void)done, (void)data;
}

static void no_get(struct store *store, struct str kind, struct str key, store_done *done,
                   void *data)
{
    (void)store, (void)kind, (void)key, (void)done, (void)data;
}

static void no_list(struct store *store, const struct store_list *list, store_row_fn *row,
                    store_done *done, void *data)
{
    (void)store, (void)list, (void)row, (void)done, (void)data;
}

static void no_beat(struct store *store, struct str node, int64_t ttl_ms, store_done *done,
                    void *data)
{
    (void)store, (void)node, (void)ttl_ms, (void)done, (void)data;
}

static void no_watch_asks(struct store *store,
                          void (*told)(void *data, const struct ask_hint *hint), void *data)
{
    (void)store, (void)told, (void)data;
}

static const struct store_ops gone_ops = {
    .name = "gone",
    .park = no_park,
    .append = no_append,
    .claim = no_claim,
    .take = no_take,
    .finish = no_finish,
    .cancel = no_cancel,
    .load_call = no_load,
    .load_ask = no_load,
    .scan = no_scan,
    .put = no_put,
    .get = no_get,
    .del = no_get,
    .list = no_list,
    .beat = no_beat,
    .watch_asks = no_watch_asks,
};

struct store *store_gone(void)
{
    static struct store gone = { .ops = &gone_ops };

    return &gone;
}
