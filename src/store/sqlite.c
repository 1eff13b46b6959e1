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
#include "store/claim_rules.h"
#include "store/specs.h"

static struct sqlite_store *of(struct store *store)
{
    return (struct sqlite_store *)store;
}

/* --- delivery --- */

struct delivery {
    struct sqlite_mailbox *mailbox;
    struct list ops;
};

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
        if (op->row && op->status == NOD_OK)
            for (struct sqlite_row *at = op->rows; at && mailbox->store; at = at->next)
                op->row(op->data, &at->row);
        if (op->done && mailbox->store)
            op->done(op->data, op->status, &op->reply);
        if (op->wake.len && mailbox->store && mailbox->store->wake)
            mailbox->store->wake(mailbox->store->wake_data, op->wake);
        if (op->status == NOD_OK)
            sqlite_hints_tell(mailbox, op);
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

static void op_submit(struct sqlite_store *store, struct sqlite_op *op)
{
    store->in_flight++;
    loop_hold(store->loop);
    if (op->arena.exhausted)
        op->status = NOD_E_LIMIT;
    else if (sqlite_side_submit(op->verb->reads ? &store->reader : &store->writer, op))
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

/* An operation on what `id` names: a call, an ask, or a small record of this kind. */
static struct sqlite_op *op_on(struct store *store, const struct sqlite_verb *verb, struct str kind,
                               struct str id, store_done *done, void *data)
{
    struct sqlite_op *op = op_new(of(store), verb, done, data);

    op->kind = copy(op, kind);
    op->id = copy(op, id);
    return op;
}

/* --- the vtable --- */

static void op_save(struct store *store, const struct park_spec *given, bool parks,
                    store_done *done, void *data)
{
    static const struct sqlite_verb park_verb = { "park", sqlite_save, false };
    static const struct sqlite_verb append_verb = { "append", sqlite_save, false };
    struct sqlite_op *op = op_new(of(store), parks ? &park_verb : &append_verb, done, data);
    struct park_spec park;

    park_copy(&op->arena, given, &park);
    op->parks = parks;
    op->token = park.token;
    op->id = park.call_id;
    op->node = park.node;
    op->epoch = park.epoch;
    op->notices = park.notices;
    op->keep_for_ms = park.keep_for_ms;
    op->handed = park.handed;
    op->open = park.open;
    op->entries = park.entries;
    op->entry_count = park.entry_count;
    op->asks = (struct ask_record *)(uintptr_t)park.asks;
    op->ask_count = park.ask_count;
    for (size_t i = 0; op->asks && i < op->ask_count; i++) {
        op->asks[i].call_id = op->id;
        op->new_asks += given->asks[i].expires_ms == 0;
    }
    op_submit(of(store), op);
}

static void op_park(struct store *store, const struct park_spec *park, store_done *done, void *data)
{
    op_save(store, park, true, done, data);
}

static void op_append(struct store *store, const struct append_spec *append, store_done *done,
                      void *data)
{
    static const struct sqlite_verb verb = { "append", sqlite_clear, false };
    struct park_spec park = park_of_append(append);

    if (!append->clears) {
        op_save(store, &park, false, done, data);
        return;
    }
    struct sqlite_op *op = op_on(store, &verb, STR_NONE, append->call_id, done, data);
    op->epoch = append->epoch;
    op_submit(of(store), op);
}

static void op_claim(struct store *store, const struct claim_spec *claim, store_done *done,
                     void *data)
{
    static const struct sqlite_verb verb = { "claim", sqlite_claim, false };
    struct sqlite_op *op = op_new(of(store), &verb, done, data);
    struct claim_spec given = *claim;

    if (claim_check(claim) != NOD_OK)
        given.count = 0; /* it is refused */
    claim_copy(&op->arena, &given, &op->claim);
    op->token = op->claim.token;
    op_submit(of(store), op);
}

static void op_take(struct store *store, const struct take_spec *take, store_done *done, void *data)
{
    static const struct sqlite_verb verb = { "take", sqlite_take, false };
    struct sqlite_op *op = op_on(store, &verb, STR_NONE, take->call_id, done, data);

    op->token = copy(op, take->token);
    op->node = copy(op, take->node);
    op->why = take->why;
    op_submit(of(store), op);
}

static void op_end(struct store *store, const struct finish_spec *end, enum call_state state,
                   store_done *done, void *data)
{
    static const struct sqlite_verb finish = { "finish", sqlite_end, false };
    static const struct sqlite_verb cancel = { "cancel", sqlite_end, false };
    struct sqlite_op *op = op_on(store, state == CALL_STORED_FINISHED ? &finish : &cancel, STR_NONE,
                                 end->call_id, done, data);

    op->state = state;
    op->token = copy(op, end->token);
    op->epoch = end->epoch;
    op->content = copy(op, end->result);
    op->keep_for_ms = end->keep_for_ms;
    op->handed = end->handed;
    op->fetched = end->fetched;
    op_submit(of(store), op);
}

static void op_finish(struct store *store, const struct finish_spec *finish, store_done *done,
                      void *data)
{
    op_end(store, finish, CALL_STORED_FINISHED, done, data);
}

static void op_cancel(struct store *store, struct str token, struct str call_id, struct str why,
                      store_done *done, void *data)
{
    op_end(store, &(struct finish_spec){ .token = token, .call_id = call_id, .result = why },
           CALL_STORED_CANCELLED, done, data);
}

static void op_fetched(struct store *store, struct str call_id, store_done *done, void *data)
{
    static const struct sqlite_verb verb = { "fetched", sqlite_fetched, false };

    op_submit(of(store), op_on(store, &verb, STR_NONE, call_id, done, data));
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

static void op_load_call(struct store *store, struct str call_id, store_done *done, void *data)
{
    static const struct sqlite_verb verb = { "load_call", sqlite_load_call, true };

    op_submit(of(store), op_on(store, &verb, STR_NONE, call_id, done, data));
}

static void op_load_ask(struct store *store, struct str ask_id, store_done *done, void *data)
{
    static const struct sqlite_verb verb = { "load_ask", sqlite_load_ask, true };

    op_submit(of(store), op_on(store, &verb, STR_NONE, ask_id, done, data));
}

static void op_scan(struct store *store, const struct store_scan *scan, store_row_fn *row,
                    store_done *done, void *data)
{
    static const struct sqlite_verb verb = { "scan", sqlite_scan, true };
    struct sqlite_op *op = op_on(store, &verb, STR_NONE, scan->key, done, data);

    op->scan = *scan;
    op->scan.key = op->id;
    op->scan.cursor = copy(op, scan->cursor);
    op->row = row;
    op_submit(of(store), op);
}

static void lite_put(struct store *store, struct str kind, struct str key, struct str value,
                     struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                     void *data)
{
    static const struct sqlite_verb verb = { "put", sqlite_put, false };
    struct sqlite_op *op = op_on(store, &verb, kind, key, done, data);

    op->content = copy(op, value);
    op->whose = copy(op, whose);
    op->version = version;
    op->ttl_ms = ttl_ms;
    op_submit(of(store), op);
}

static void lite_get(struct store *store, struct str kind, struct str key, store_done *done,
                     void *data)
{
    static const struct sqlite_verb verb = { "get", sqlite_get, true };

    op_submit(of(store), op_on(store, &verb, kind, key, done, data));
}

static void lite_del(struct store *store, struct str kind, struct str key, store_done *done,
                     void *data)
{
    static const struct sqlite_verb verb = { "del", sqlite_del, false };

    op_submit(of(store), op_on(store, &verb, kind, key, done, data));
}

static void op_list(struct store *store, const struct store_list *list, store_row_fn *row,
                    store_done *done, void *data)
{
    static const struct sqlite_verb verb = { "list", sqlite_list, true };
    struct sqlite_op *op = op_on(store, &verb, list->kind, STR_NONE, done, data);

    op->list = *list;
    op->list.kind = op->kind;
    op->list.prefix = copy(op, list->prefix);
    op->list.cursor = copy(op, list->cursor);
    op->row = row;
    op_submit(of(store), op);
}

static void lite_beat(struct store *store, struct str node, int64_t ttl_ms, store_done *done,
                      void *data)
{
    static const struct sqlite_verb verb = { "beat", sqlite_beat, false };
    struct sqlite_op *op = op_new(of(store), &verb, done, data);

    op->node = copy(op, node);
    op->ttl_ms = ttl_ms;
    op_submit(of(store), op);
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

static void look_due(void *data)
{
    static const struct sqlite_verb writes = { "look", look_run, false };
    static const struct sqlite_verb reads = { "look", look_run, true };
    struct sqlite_store *store = data;

    op_submit(store, op_new(store, &writes, NULL, NULL));
    if (atomic_load(&store->unreadable))
        op_submit(store, op_new(store, &reads, NULL, NULL));
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

/* It refuses if the program has used SQLite before, and nothing changes. */
static void own_process_once(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void sqlite_own_process(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, own_process_once);
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
