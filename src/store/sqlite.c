/*
 * store/sqlite: the store of one server, in a file.
 *
 * This file is the loop's part. An operation is copied, gets the time, and goes into the queue of
 * the writer or of the reader. When it comes back it is delivered here, and freed.
 *
 * Holds always: between submission and delivery an operation belongs to one thread. Completions
 * that are on their way when the store is destroyed find the mailbox empty, and are dropped.
 */
#include "store/sqlite_inside.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/record.h"
#include "store/claim_rules.h"

static struct sqlite_store *of(struct store *store)
{
    return (struct sqlite_store *)store;
}

/* --- delivery --- */

struct delivery {
    struct sqlite_mailbox *mailbox;
    struct list ops;
};

static void sent(struct sqlite_store *store)
{
    store->in_flight++;
    loop_hold(store->loop);
}

static void came_back(struct sqlite_store *store)
{
    store->in_flight--;
    loop_release(store->loop);
}

static void lite_op_free(struct sqlite_op *op)
{
    list_remove(&op->link);
    arena_finish(&op->arena);
    mem_free(op);
}

static void mailbox_unref(struct sqlite_mailbox *mailbox)
{
    if (atomic_fetch_sub(&mailbox->refs, 1) == 1)
        mem_free(mailbox);
}

static void lite_op_tell(struct sqlite_mailbox *mailbox, struct sqlite_op *op)
{
    if (op->row && op->status == NOD_OK)
        for (struct sqlite_row *at = op->rows; at && mailbox->store; at = at->next)
            op->row(op->data, &at->row);
    if (op->done && mailbox->store)
        op->done(op->data, op->status, &op->reply);
    if (op->wake.len && mailbox->store && mailbox->store->wake)
        mailbox->store->wake(mailbox->store->wake_data, op->wake);
    if (op->status == NOD_OK)
        sqlite_hints_tell(mailbox, op);
}

/* In their order, and those that one turn of the loop has no time for in the next. The callbacks
 * may destroy the store. */
static void tell_arrived(void *data)
{
    struct sqlite_mailbox *mailbox = data;
    struct loop *loop = mailbox->store ? mailbox->store->loop : NULL;
    struct list *first;

    enum turn_work before = loop ? loop_spend(loop, TURN_STORE) : TURN_REQUESTS;
    while ((first = list_first(&mailbox->arrived))) {
        struct sqlite_op *op = LIST_OF(first, struct sqlite_op, link);
        if (mailbox->store)
            came_back(mailbox->store);
        lite_op_tell(mailbox, op);
        lite_op_free(op);
        if (!list_empty(&mailbox->arrived) && mailbox->store && loop_is_late(loop)) {
            loop_defer(loop, tell_arrived, mailbox);
            loop_spend(loop, before);
            return;
        }
    }
    mailbox->telling = false;
    mailbox_unref(mailbox);
    if (loop)
        loop_spend(loop, before);
}

/* On the loop. */
static void arrive(void *data)
{
    struct delivery *delivery = data;
    struct sqlite_mailbox *mailbox = delivery->mailbox;

    LIST_EACH (at, &delivery->ops) {
        list_remove(at);
        list_append(&mailbox->arrived, at);
    }
    mem_free(delivery);
    if (mailbox->telling) {
        mailbox_unref(mailbox);
        return;
    }
    mailbox->telling = true;
    tell_arrived(mailbox);
}

void sqlite_deliver(struct sqlite_store *store, struct list *ops)
{
    struct delivery *delivery = MEM_NEW(struct delivery);

    list_init(&delivery->ops);
    LIST_EACH (at, ops) {
        list_remove(at);
        list_append(&delivery->ops, at);
    }
    delivery->mailbox = store->mailbox;
    atomic_fetch_add(&store->mailbox->refs, 1);
    loop_post(store->loop, arrive, delivery);
}

/* --- submission --- */

static struct sqlite_op *op_new(struct sqlite_store *store, const struct sqlite_verb *verb,
                                store_done *done, void *data)
{
    struct sqlite_op *op = MEM_NEW(struct sqlite_op);

    list_init(&op->link);
    op->verb = verb;
    op->done = done;
    op->data = data;
    op->now = clock_wall(store->clock);
    op->reply.now_ms = op->now;
    op->rows_end = &op->rows;
    arena_init(&op->arena, LITE_OP_BYTES);
    return op;
}

static void op_submit(struct sqlite_store *store, struct sqlite_side *side, struct sqlite_op *op)
{
    sent(store);
    if (op->arena.exhausted)
        op->status = NOD_E_LIMIT;
    else if (sqlite_side_submit(side, op))
        return;
    else
        op->status = NOD_E_STORE;
    _Static_assert(LITE_OP_BYTES == 96 << 20 && LITE_QUEUE_MOST == 200000, "as the message says");
    LOG_ERROR("the store did not take an operation", LOG_CSTR("store", "sqlite"),
              LOG_CSTR("file", store->path), LOG_CSTR("what", op->verb->name),
              LOG_CSTR("why", op->status == NOD_E_LIMIT ? "it needs more than 96 MiB of memory"
                                                        : "200000 operations wait for the disk"));
    struct list alone;
    list_init(&alone);
    list_append(&alone, &op->link);
    sqlite_deliver(store, &alone);
}

static struct str copy(struct sqlite_op *op, struct str s)
{
    return s.len ? arena_str(&op->arena, s) : STR_NONE;
}

static const struct call_record *lite_copy_call(struct sqlite_op *op,
                                                const struct call_record *call)
{
    if (!call)
        return NULL;
    struct call_record *made = ARENA_NEW(&op->arena, struct call_record);
    if (!made)
        return NULL;
    *made = call_record_copy(&op->arena, call);
    return made;
}

static void copy_entries(struct sqlite_op *op, const struct entry *entries, size_t count)
{
    if (count == 0)
        return;
    op->entries = arena_alloc(&op->arena, count * sizeof(*entries));
    char *text = arena_alloc(&op->arena, entries_text_bytes(entries, count) + 1);
    if (!op->entries || !text)
        return;
    entries_copy(op->entries, entries, count, &text);
    op->entry_count = count;
}

static void lite_copy_asks(struct sqlite_op *op, const struct ask_record *asks, size_t count)
{
    if (count == 0)
        return;
    op->asks = arena_alloc(&op->arena, count * sizeof(*asks));
    for (size_t i = 0; op->asks && i < count; i++) {
        struct ask_record *ask = &op->asks[i];
        *ask = ask_record_copy(&op->arena, &asks[i]);
        ask->call_id = op->id;
        op->new_asks += asks[i].expires_ms == 0;
    }
    op->ask_count = count;
}

static void op_save(struct store *store, const struct sqlite_verb *verb,
                    const struct park_spec *park, store_done *done, void *data)
{
    struct sqlite_op *op = op_new(of(store), verb, done, data);

    op->token = copy(op, park->token);
    op->id = copy(op, park->call_id);
    op->node = copy(op, park->node);
    op->epoch = park->epoch;
    op->notices = park->notices;
    op->keep_for_ms = park->keep_for_ms;
    op->handed = park->handed;
    op->open = lite_copy_call(op, park->open);
    copy_entries(op, park->entries, park->entry_count);
    lite_copy_asks(op, park->asks, park->ask_count);
    op_submit(of(store), &of(store)->writer, op);
}

/* --- the vtable --- */

static const struct sqlite_verb verb_park = { "park", sqlite_park };
static const struct sqlite_verb verb_append = { "append", sqlite_append };
static const struct sqlite_verb verb_clear = { "append", sqlite_clear };
static const struct sqlite_verb verb_claim = { "claim", sqlite_claim };
static const struct sqlite_verb verb_take = { "take", sqlite_take };
static const struct sqlite_verb verb_finish = { "finish", sqlite_finish };
static const struct sqlite_verb verb_fetched = { "fetched", sqlite_fetched };
static const struct sqlite_verb verb_cancel = { "cancel", sqlite_cancel };
static const struct sqlite_verb verb_load_call = { "load_call", sqlite_load_call };
static const struct sqlite_verb verb_load_ask = { "load_ask", sqlite_load_ask };
static const struct sqlite_verb verb_scan = { "scan", sqlite_scan };
static const struct sqlite_verb verb_put = { "put", sqlite_put };
static const struct sqlite_verb verb_get = { "get", sqlite_get };
static const struct sqlite_verb verb_del = { "del", sqlite_del };
static const struct sqlite_verb verb_list = { "list", sqlite_list };
static const struct sqlite_verb verb_beat = { "beat", sqlite_beat };

static void op_park(struct store *store, const struct park_spec *park, store_done *done, void *data)
{
    op_save(store, &verb_park, park, done, data);
}

static void op_append(struct store *store, const struct append_spec *append, store_done *done,
                      void *data)
{
    if (append->clears) {
        struct sqlite_op *op = op_new(of(store), &verb_clear, done, data);
        op->id = copy(op, append->call_id);
        op->epoch = append->epoch;
        op_submit(of(store), &of(store)->writer, op);
        return;
    }
    op_save(store, &verb_append,
            &(struct park_spec){ .token = append->token,
                                 .open = append->open,
                                 .node = append->node,
                                 .call_id = append->call_id,
                                 .epoch = append->epoch,
                                 .notices = append->notices,
                                 .entries = append->entries,
                                 .entry_count = append->entry_count,
                                 .keep_for_ms = append->keep_for_ms,
                                 .handed = append->handed },
            done, data);
}

static void op_claim(struct store *store, const struct claim_spec *claim, store_done *done,
                     void *data)
{
    struct sqlite_op *op = op_new(of(store), &verb_claim, done, data);
    size_t count = claim_check(claim) == NOD_OK ? claim->count : 0; /* 0: it is refused */
    struct claim_item *items = arena_alloc(&op->arena, (count + 1) * sizeof(*items));

    op->token = copy(op, claim->token);
    op->claim = *claim;
    op->claim.token = op->token;
    op->claim.items = items;
    op->claim.count = count;
    op->claim.by = copy(op, claim->by);
    op->claim.via = copy(op, claim->via);
    op->claim.take_for = copy(op, claim->take_for);
    for (size_t i = 0; items && i < count; i++) {
        items[i] = claim->items[i];
        items[i].ask_id = copy(op, claim->items[i].ask_id);
        items[i].content = copy(op, claim->items[i].content);
        items[i].note = copy(op, claim->items[i].note);
    }
    op_submit(of(store), &of(store)->writer, op);
}

static void op_take(struct store *store, const struct take_spec *take, store_done *done, void *data)
{
    struct sqlite_op *op = op_new(of(store), &verb_take, done, data);

    op->token = copy(op, take->token);
    op->id = copy(op, take->call_id);
    op->node = copy(op, take->node);
    op->why = take->why;
    op_submit(of(store), &of(store)->writer, op);
}

static void op_finish(struct store *store, const struct finish_spec *finish, store_done *done,
                      void *data)
{
    struct sqlite_op *op = op_new(of(store), &verb_finish, done, data);

    op->token = copy(op, finish->token);
    op->id = copy(op, finish->call_id);
    op->epoch = finish->epoch;
    op->content = copy(op, finish->result);
    op->keep_for_ms = finish->keep_for_ms;
    op->handed = finish->handed;
    op->fetched = finish->fetched;
    op_submit(of(store), &of(store)->writer, op);
}

static void lite_not_minded(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply;
}

static void op_fetched(struct store *store, struct str call_id)
{
    struct sqlite_op *op = op_new(of(store), &verb_fetched, lite_not_minded, NULL);

    op->id = copy(op, call_id);
    op_submit(of(store), &of(store)->writer, op);
}

static void held(struct store *base, struct store_held *out)
{
    struct sqlite_store *store = of(base);

    *out = (struct store_held){ .bytes = (uint64_t)atomic_load(&store->kept),
                                .bytes_most = (uint64_t)store->kept_most,
                                .each_most = (uint64_t)store->kept_most_each,
                                .refused = atomic_load(&store->kept_refused),
                                .dropped = atomic_load(&store->kept_dropped) };
}

static void op_cancel(struct store *store, struct str token, struct str call_id, struct str why,
                      store_done *done, void *data)
{
    struct sqlite_op *op = op_new(of(store), &verb_cancel, done, data);

    op->token = copy(op, token);
    op->id = copy(op, call_id);
    op->content = copy(op, why);
    op_submit(of(store), &of(store)->writer, op);
}

static void op_load_call(struct store *store, struct str call_id, store_done *done, void *data)
{
    struct sqlite_op *op = op_new(of(store), &verb_load_call, done, data);

    op->id = copy(op, call_id);
    op_submit(of(store), &of(store)->reader, op);
}

static void op_load_ask(struct store *store, struct str ask_id, store_done *done, void *data)
{
    struct sqlite_op *op = op_new(of(store), &verb_load_ask, done, data);

    op->id = copy(op, ask_id);
    op_submit(of(store), &of(store)->reader, op);
}

static void op_scan(struct store *store, const struct store_scan *scan, store_row_fn *row,
                    store_done *done, void *data)
{
    struct sqlite_op *op = op_new(of(store), &verb_scan, done, data);

    op->scan = *scan;
    op->id = op->scan.key = copy(op, scan->key);
    op->scan.cursor = copy(op, scan->cursor);
    op->row = row;
    op_submit(of(store), &of(store)->reader, op);
}

static void lite_put(struct store *store, struct str kind, struct str key, struct str value,
                     struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                     void *data)
{
    struct sqlite_op *op = op_new(of(store), &verb_put, done, data);

    op->kind = copy(op, kind);
    op->id = copy(op, key);
    op->content = copy(op, value);
    op->whose = copy(op, whose);
    op->version = version;
    op->ttl_ms = ttl_ms;
    op_submit(of(store), &of(store)->writer, op);
}

static void lite_get(struct store *store, struct str kind, struct str key, store_done *done,
                     void *data)
{
    struct sqlite_op *op = op_new(of(store), &verb_get, done, data);

    op->kind = copy(op, kind);
    op->id = copy(op, key);
    op_submit(of(store), &of(store)->reader, op);
}

static void lite_del(struct store *store, struct str kind, struct str key, store_done *done,
                     void *data)
{
    struct sqlite_op *op = op_new(of(store), &verb_del, done, data);

    op->kind = copy(op, kind);
    op->id = copy(op, key);
    op_submit(of(store), &of(store)->writer, op);
}

static void op_list(struct store *store, const struct store_list *list, store_row_fn *row,
                    store_done *done, void *data)
{
    struct sqlite_op *op = op_new(of(store), &verb_list, done, data);

    op->list = *list;
    op->kind = op->list.kind = copy(op, list->kind);
    op->list.prefix = copy(op, list->prefix);
    op->list.cursor = copy(op, list->cursor);
    op->row = row;
    op_submit(of(store), &of(store)->reader, op);
}

static void lite_beat(struct store *store, struct str node, int64_t ttl_ms, store_done *done,
                      void *data)
{
    struct sqlite_op *op = op_new(of(store), &verb_beat, done, data);

    op->node = copy(op, node);
    op->ttl_ms = ttl_ms;
    op_submit(of(store), &of(store)->writer, op);
}

/* One process owns the file, so there is only one node to give hints to. */
static void set_watch(struct store *store, struct str node,
                      void (*wake)(void *data, struct str call_id), void *data)
{
    (void)node;
    of(store)->wake = wake;
    of(store)->wake_data = data;
}

/* --- the whole --- */

/* For the writer only the time matters: the batch then looks for what is over, and at the files.
 * The reader has to read something to find out whether it can. */
static void look_run(struct sqlite_side *side, struct sqlite_op *op)
{
    if (side->writes)
        return;
    op->id = STR("look");
    sqlite_load_call(side, op);
    op->status = op->status == NOD_E_NOT_FOUND ? NOD_OK : op->status;
}

static const struct sqlite_verb verb_look = { "look", look_run };

static void look_due(void *data)
{
    struct sqlite_store *store = data;

    op_submit(store, &store->writer, op_new(store, &verb_look, NULL, NULL));
    if (atomic_load(&store->unreadable))
        op_submit(store, &store->reader, op_new(store, &verb_look, NULL, NULL));
    sqlite_mark_look(store);
    timer_set(store->loop, &store->look, LITE_LOOK_EVERY_MS, look_due, store);
}

static bool ready(struct store *base, struct str *why)
{
    struct sqlite_store *store = of(base);
    const char *lost = sqlite_file_lost(store);
    int error = atomic_load(&store->failing);

    if (!error)
        error = atomic_load(&store->unreadable);
    if (lost)
        *why = str_of(lost);
    else if (atomic_load(&store->damaged))
        *why =
            STR("its file is damaged: stop the server, and repair it or put a copy in its place");
    else if (error)
        *why = str_of(sqlite3_errstr(error));
    else
        return true;
    return false;
}

static void side_init(struct sqlite_store *store, struct sqlite_side *side, bool writes,
                      const struct keyring *ring)
{
    side->store = store;
    side->writes = writes;
    side->codec = (struct codec){ .ring = ring ? keyring_copy(ring) : NULL, .store = "sqlite" };
    buf_init(&side->buf, CODEC_RECORD_MAX + SEAL_OVERHEAD + CODEC_SCOPE_MAX + 64);
    list_init(&side->queue);
    map_init(&side->tallies, SIZE_MAX / 2);
    pthread_mutex_init(&side->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&side->wake, &attr);
    pthread_condattr_destroy(&attr);
}

static void side_finish(struct sqlite_side *side)
{
    LIST_EACH (at, &side->queue)
        lite_op_free(LIST_OF(at, struct sqlite_op, link));
    sqlite_disconnect(side);
    pthread_cond_destroy(&side->wake);
    pthread_mutex_destroy(&side->lock);
}

static void lite_destroy(struct store *base)
{
    struct sqlite_store *store = of(base);

    store->mailbox->store = NULL;
    while (store->in_flight)
        came_back(store);
    if (store->loop)
        timer_stop(store->loop, &store->look);
    sqlite_side_stop(&store->writer);
    sqlite_side_stop(&store->reader);
    side_finish(&store->reader);
    side_finish(&store->writer); /* the last connection moves the whole log into the file */
    sqlite_file_finish(store);
    mailbox_unref(store->mailbox);
    pthread_mutex_destroy(&store->foreign_lock);
    mem_free(store->vfs);
    mem_free(store);
}

static int64_t now(struct store *base)
{
    return clock_wall(of(base)->clock);
}

static const struct store_ops sqlite_ops = {
    .name = "sqlite",
    .durable = true,
    .park = op_park,
    .append = op_append,
    .claim = op_claim,
    .take = op_take,
    .finish = op_finish,
    .cancel = op_cancel,
    .fetched = op_fetched,
    .held = held,
    .load_call = op_load_call,
    .load_ask = op_load_ask,
    .scan = op_scan,
    .put = lite_put,
    .get = lite_get,
    .del = lite_del,
    .list = op_list,
    .beat = lite_beat,
    .watch = set_watch,
    .watch_asks = sqlite_watch_asks,
    .ready = ready,
    .opens = sqlite_opens,
    .now = now,
    .destroy = lite_destroy,
};

static bool begin_writer(struct sqlite_store *store, enum mark_rule mark, char *why)
{
    return sqlite_file_lock(store, why) && sqlite_connect(&store->writer, why) &&
           sqlite_migrate(&store->writer, why) && sqlite_mark_check(&store->writer, mark, why);
}

static bool lite_begin(struct sqlite_store *store, enum mark_rule mark, char *why)
{
    if (!begin_writer(store, mark, why) || !sqlite_connect(&store->reader, why))
        return false;
    if (!sqlite_file_is_there(&store->writer)) {
        sqlite_file_say_lost(&store->writer);
        snprintf(why, LITE_WHY_MAX, "%s: %s", store->path, sqlite_file_lost(store));
        return false;
    }
    if (sqlite_side_start(&store->writer) && sqlite_side_start(&store->reader))
        return true;
    snprintf(why, LITE_WHY_MAX, "the threads of the store cannot be started");
    return false;
}

static struct sqlite_store *make(const struct sqlite_opts *opts, char *why)
{
    struct sqlite_store *store = MEM_NEW(struct sqlite_store);

    store->store.ops = &sqlite_ops;
    store->loop = opts->loop;
    store->clock = opts->clock ? opts->clock : clock_system();
    sqlite_file_names(store, opts->path);
    store->vfs = opts->vfs ? str_dup(str_of(opts->vfs)) : NULL;
    store->file_fd = store->lock_fd = -1;
    store->synchronous = opts->synchronous;
    store->keep_ms = opts->keep_ms > 0 ? opts->keep_ms : LITE_KEEP_MS;
    store->store.keep_ms = store->keep_ms;
    store->abandoned_ms = opts->abandoned_ms > 0 ? opts->abandoned_ms : STORE_ABANDONED_MS;
    store->pending_most = (int64_t)opts->pending_asks;
    store->pending_most_each = (int64_t)opts->pending_asks_per_principal;
    store->kept_most = (int64_t)opts->kept_bytes;
    store->kept_most_each = (int64_t)opts->kept_bytes_per_principal;
    store->mailbox = MEM_NEW(struct sqlite_mailbox);
    store->mailbox->store = store;
    list_init(&store->mailbox->arrived);
    atomic_store(&store->mailbox->refs, 1);
    pthread_mutex_init(&store->foreign_lock, NULL);
    side_init(store, &store->writer, true, opts->ring);
    side_init(store, &store->reader, false, opts->ring);
    why[0] = '\0';
    return store;
}

struct store *sqlite_store_open(const struct sqlite_opts *opts, char why[LITE_WHY_MAX])
{
    struct sqlite_store *store = make(opts, why);

    if (!lite_begin(store, opts->mark, why)) {
        lite_destroy(&store->store);
        return NULL;
    }
    timer_set(store->loop, &store->look, LITE_LOOK_EVERY_MS, look_due, store);
    return &store->store;
}

struct sqlite_store *sqlite_store_offline(const struct sqlite_opts *opts, char *why)
{
    struct sqlite_store *store = make(opts, why);

    store->loop = NULL;
    if (begin_writer(store, opts->mark, why))
        return store;
    lite_destroy(&store->store);
    return NULL;
}

uint64_t sqlite_store_commits(const struct store *store)
{
    return atomic_load(&((struct sqlite_store *)(void *)store)->commits);
}
