/*
 * store/redis: operations on their way.
 *
 * An operation has one or more commands, which are sent together, and as many replies. Without a
 * connection it waits for one. Replies come in the order of the commands, so sent operations form a
 * queue. They also form a queue of deadlines, because all commands have the same time.
 *
 * There are a few connections, each with its queue, because Redis reads no more than 16 KiB of one
 * before it writes (and, with appendfsync always, syncs) and answers. An operation's shard decides
 * its connection, so operations on one call, or one small record, keep their order.
 *
 * When a connection is lost, everything that was sent on it completes with NOD_E_STORE: it may or
 * may not have happened, and the caller sends it again with the same token to find out. Nothing is
 * sent again here, with one exception: a script that Redis did not know (it was restarted, or its
 * scripts were flushed) has certainly not run. It is sent again after the scripts themselves.
 *
 * Holds always: done() is called once, on a later turn than the call that began the operation, and
 * not at all after the store was destroyed, which done() itself may do.
 */
#include <stdio.h>

#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/redis_inside.h"

enum { WORDS_FEW = 32, LOG_EVERY_MS = 1000 };

/* --- keys --- */

/* The same on every node and for ever: FNV-1a. */
unsigned redis_shard(struct str of)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < of.len; i++)
        hash = (hash ^ (unsigned char)of.at[i]) * 16777619u;
    return (hash ^ hash >> 16) % REDIS_SHARDS;
}

struct str redis_shard_key(struct redis_op *op, unsigned shard, const char *letter, struct str tail)
{
    struct str prefix = str_of(op->store->url.prefix), name = str_of(letter);
    const char tag[] = { '{', (char)('0' + shard / 10), (char)('0' + shard % 10), '}' };
    size_t len = prefix.len + sizeof(tag) + name.len + tail.len;
    char *at = arena_alloc_aligned(&op->arena, len + 1, 1);

    op->shard = shard;
    if (!at)
        return STR_NONE;
    memcpy(at, prefix.at, prefix.len + 1);
    memcpy(at + prefix.len, tag, sizeof(tag));
    memcpy(at + prefix.len + sizeof(tag), name.at, name.len);
    if (tail.len)
        memcpy(at + len - tail.len, tail.at, tail.len);
    return str_n(at, len);
}

struct str redis_key(struct redis_op *op, struct str of, const char *letter, struct str tail)
{
    return redis_shard_key(op, redis_shard(of), letter, tail);
}

/* --- making one --- */

struct redis_op *redis_op_new(struct redis_store *store, const struct redis_verb *verb,
                              store_done *done, void *data)
{
    struct redis_op *op = MEM_NEW(struct redis_op);

    list_init(&op->link);
    op->store = store;
    op->verb = verb;
    op->done = done;
    op->data = data;
    op->rows_end = &op->rows;
    buf_init(&op->bytes, REDIS_OP_BYTES);
    arena_init(&op->arena, REDIS_OP_BYTES);
    store->in_flight++;
    loop_hold(store->loop);
    return op;
}

static void redis_op_free(struct redis_op *op)
{
    list_remove(&op->link);
    buf_finish(&op->bytes);
    arena_finish(&op->arena);
    mem_free(op);
}

void redis_op_say(struct redis_op *op, const struct str *words, size_t count)
{
    redis_command(&op->bytes, words, count);
    op->expected++;
}

void redis_op_script(struct redis_op *op, enum redis_script script, const struct str *keys,
                     size_t key_count, const struct str *args, size_t arg_count)
{
    size_t count = 3 + key_count + arg_count;
    struct str few[WORDS_FEW];
    struct str *words = count <= WORDS_FEW ? few : mem_alloc(count * sizeof(*words));
    char keys_text = (char)('0' + key_count); /* a script has a handful */

    words[0] = STR("EVALSHA");
    words[1] = str_n(op->store->lanes[0]->shas[script], SHA_LEN);
    words[2] = str_n(&keys_text, 1);
    memcpy(words + 3, keys, key_count * sizeof(*keys));
    if (arg_count)
        memcpy(words + 3 + key_count, args, arg_count * sizeof(*args));
    redis_op_say(op, words, count);
    if (words != few)
        mem_free(words);
}

/* --- the end of one --- */

static void uncount(struct redis_op *op)
{
    op->store->bytes -= op->counted;
    op->counted = 0;
}

/* Calls done(), and frees the operation. The store may be gone after this. */
static void redis_op_tell(struct redis_op *op)
{
    struct redis_store *store = op->store;
    struct redis_home *home = store->home;

    list_remove(&op->link);
    uncount(op);
    store->in_flight--;
    loop_release(store->loop);
    if (!op->reply.now_ms)
        op->reply.now_ms = redis_now(store);
    redis_mark_met(store);
    if (op->status == NOD_E_REFUSED && op->reply.lacks)
        op->status = NOD_E_STORE;
    home->telling++;
    if (op->status == NOD_OK)
        for (const struct redis_row *at = op->rows; at && home->store; at = at->next)
            op->row(op->data, &at->row);
    if (op->done && home->store)
        op->done(op->data, op->status, &op->reply);
    if (op->wakes && home->store && store->wake)
        store->wake(store->wake_data, id_str(&op->call));
    if (--home->telling == 0 && !home->store && !home->turning)
        mem_free(home);
    redis_op_free(op);
}

static void tell_finished(void *data);

static void tell_later(struct redis_home *home)
{
    if (home->turning)
        return;
    home->turning = true;
    loop_defer(home->store->loop, tell_finished, home);
}

static void tell_finished(void *data)
{
    struct redis_home *home = data;

    home->turning = false;
    if (!home->store) {
        if (!home->telling)
            mem_free(home);
        return;
    }
    home->telling++; /* the home has to outlive the callbacks */
    struct redis_store *store = home->store;
    struct loop *loop = store->loop;
    enum turn_work before = loop_spend(loop, TURN_STORE);
    struct list *last = store->finished.prev; /* what is added meanwhile is told on its own turn */
    while (home->store && !list_empty(&store->finished)) {
        struct list *first = list_first(&store->finished);
        bool end = first == last;
        redis_op_tell(LIST_OF(first, struct redis_op, link));
        if (end || loop_is_late(loop))
            break;
    }
    if (home->store && !list_empty(&store->finished))
        tell_later(home);
    loop_spend(loop, before);
    if (--home->telling == 0 && !home->store && !home->turning)
        mem_free(home);
}

void redis_op_end(struct redis_op *op, nod_status status)
{
    op->status = status;
    op->reply.won = op->reply.taken = false;
    op->reply.call = NULL;
    op->reply.ask = NULL;
    list_remove(&op->link);
    list_append(&op->store->finished, &op->link);
    tell_later(op->store->home);
}

static void op_fail(struct redis_op *op)
{
    op->wakes = false;
    redis_op_end(op, NOD_E_STORE);
}

static void say_away(struct redis_store *store, const char *what, const char *why)
{
    if (store->told)
        return;
    store->told = true;
    LOG_ERROR("the store is away: operations fail, and waiting calls go on waiting",
              LOG_CSTR("store", "redis"), LOG_CSTR("where", store->url.shown),
              LOG_CSTR("what", what), LOG_CSTR("why", why));
}

/* Errors that are about the server, not about the operation: it takes no writes until somebody has
 * fixed that. If they come from inside a script, they may follow its name. */
static const struct {
    struct str text;
    const char *why;
} lasting[] = {
    { STR_INIT("OOM command not allowed"),
      "its memory is full (maxmemory), and it takes no writes: give it more" },
    { STR_INIT("MISCONF"), "it cannot write to its disk, and takes no writes (MISCONF)" },
    { STR_INIT("NOREPLICAS"), "it has too few replicas, and takes no writes (NOREPLICAS)" },
};

void redis_writes(struct redis_store *store)
{
    if (store->refusing)
        LOG_INFO("the store takes writes again", LOG_CSTR("store", "redis"),
                 LOG_CSTR("where", store->url.shown));
    store->refusing = NULL;
}

void redis_op_refused(struct redis_op *op, const struct redis_value *value)
{
    static const char *const turned[] = { "READONLY", "LOADING", "MASTERDOWN", "NOAUTH",
                                          "CLUSTERDOWN" };
    struct redis_store *store = op->store;
    struct str said = value->type == REDIS_IS_ERROR ? value->text : STR("a reply of another kind");

    op->status = NOD_E_STORE;
    for (size_t i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
        if (str_find(said, lasting[i].text) >= 0)
            store->refusing = lasting[i].why;
    for (size_t i = 0; i < sizeof(turned) / sizeof(turned[0]); i++)
        if (redis_error_is(value, turned[i]))
            op->leave = true;
    if (loop_now(store->loop) - store->complained_ms < LOG_EVERY_MS)
        return;
    store->complained_ms = loop_now(store->loop);
    LOG_ERROR("the store refused an operation", LOG_CSTR("store", "redis"),
              LOG_CSTR("where", store->url.shown), LOG_CSTR("what", op->verb->name),
              LOG_STR("why", said),
              LOG_CSTR("hint", redis_error_is(value, "MOVED")
                                   ? "this is one node of a Redis Cluster of several; name a "
                                     "proxy of it, or a Redis of its own"
                               : redis_error_is(value, "READONLY")
                                   ? "it has become a replica; name the primary"
                                   : ""));
}

bool redis_op_said(struct redis_op *op, const struct redis_value *value)
{
    int64_t said = redis_number(redis_item(value, 0));

    if (value->type != REDIS_IS_LIST || value->count < 2) {
        redis_op_refused(op, value);
        return false;
    }
    op->reply.now_ms = redis_number(redis_item(value, 1));
    if (op->reply.now_ms > 0)
        op->store->lanes[0]->offset_ms = op->reply.now_ms - loop_now(op->store->loop);
    if (said == SAID_NOT_FOUND)
        op->status = NOD_E_NOT_FOUND;
    else if (said == SAID_STALE)
        op->status = NOD_E_STALE;
    else if (said == SAID_LIMIT)
        op->status = NOD_E_LIMIT;
    else if (said != SAID_DONE && said != SAID_RUNS)
        redis_op_refused(op, value);
    return op->status == NOD_OK;
}

void redis_reply_said(struct redis_op *op, size_t at, const struct redis_value *value)
{
    (void)at;
    redis_op_said(op, value);
}

/* --- deadlines --- */

static void deadline_due(void *data);

static const struct redis_op *first_of(const struct list *queue)
{
    const struct list *first = list_first(queue);

    return first ? LIST_OF(first, struct redis_op, link) : NULL;
}

static void deadline_set(struct redis_store *store)
{
    const struct redis_op *first = first_of(&store->waiting);

    if (heap_has(&store->deadline.node))
        return; /* at worst the timer fires early */
    for (unsigned i = 0; i < REDIS_LANES; i++) {
        const struct redis_op *op = first_of(&store->sent[i]);
        if (op && (!first || op->deadline < first->deadline))
            first = op;
    }
    if (first)
        timer_set(store->loop, &store->deadline, first->deadline - loop_now(store->loop),
                  deadline_due, store);
}

static bool overdue(const struct redis_store *store, const struct list *queue)
{
    const struct redis_op *first = first_of(queue);

    return first && first->deadline <= loop_now(store->loop);
}

bool redis_lanes_ready(const struct redis_store *store, const char **why)
{
    for (unsigned i = 0; i < REDIS_LANES; i++) {
        if (store->lanes[i]->ready)
            continue;
        *why = store->lanes[i]->why;
        return false;
    }
    return true;
}

static void deadline_due(void *data)
{
    struct redis_store *store = data;
    char why[REDIS_WHY_MAX];

    while (overdue(store, &store->waiting)) {
        struct redis_op *op = LIST_OF(list_first(&store->waiting), struct redis_op, link);
        const char *reason = store->wakes ? store->wakes->why : "";
        redis_lanes_ready(store, &reason);
        say_away(store, op->verb->name, reason);
        op_fail(op);
    }
    snprintf(why, sizeof(why), "it did not answer within %lld ms",
             (long long)store->url.timeout_ms);
    for (unsigned i = 0; i < REDIS_LANES; i++)
        if (overdue(store, &store->sent[i]))
            redis_link_fail(store->lanes[i], why); /* fails all that was sent on it */
    deadline_set(store);
}

/* --- sending --- */

static bool flows(const struct redis_store *store)
{
    const char *why;

    return redis_lanes_ready(store, &why) && redis_watching(store);
}

static void op_go(struct redis_op *op)
{
    struct redis_store *store = op->store;
    unsigned lane = op->shard % REDIS_LANES;

    list_remove(&op->link);
    list_append(&store->sent[lane], &op->link);
    op->got = 0;
    op->again = false;
    store->commands_sent += op->expected;
    CRASH_POINT(redis_send_before);
    redis_link_write(store->lanes[lane], buf_str(&op->bytes));
}

void redis_ops_flow(struct redis_store *store)
{
    if (store->told && flows(store)) {
        LOG_INFO("the store is back", LOG_CSTR("store", "redis"),
                 LOG_CSTR("where", store->url.shown));
        store->told = false;
    }
    while (flows(store) && !list_empty(&store->waiting))
        op_go(LIST_OF(list_first(&store->waiting), struct redis_op, link));
    deadline_set(store);
}

void redis_op_send(struct redis_op *op)
{
    struct redis_store *store = op->store;
    bool large = op->bytes.overflow || op->arena.exhausted;
    bool full =
        store->in_flight > REDIS_QUEUE_MOST || op->bytes.len > REDIS_QUEUE_BYTES - store->bytes;

    _Static_assert(REDIS_OP_BYTES == 96 << 20 && REDIS_QUEUE_MOST == 200000 &&
                       REDIS_QUEUE_BYTES == 256 << 20,
                   "as the message says");
    if (large || full) {
        LOG_ERROR("the store did not take an operation", LOG_CSTR("store", "redis"),
                  LOG_CSTR("where", store->url.shown), LOG_CSTR("what", op->verb->name),
                  LOG_CSTR("why", large ? "it needs more than 96 MiB of memory"
                                        : "200000 operations, or 256 MiB, wait for replies"));
        redis_op_end(op, large ? NOD_E_LIMIT : NOD_E_STORE);
        return;
    }
    op->counted = op->bytes.len;
    store->bytes += op->counted;
    op->deadline = loop_now(store->loop) + store->url.timeout_ms;
    list_append(&store->waiting, &op->link);
    if (flows(store) && list_first(&store->waiting) == &op->link)
        op_go(op);
    deadline_set(store);
}

void redis_op_more(struct redis_op *op)
{
    uncount(op);
    buf_clear(&op->bytes);
    op->expected = 0;
    op->phase++;
    op->more = true;
}

/* --- replies --- */

/* Sends the scripts, and then the operation that needed them. The scripts' own replies are
 * ignored. */
static void say_again(struct redis_op *op)
{
    struct redis_store *store = op->store;
    static const struct redis_verb loading = { "load a script", NULL };
    struct redis_op *load = redis_op_new(store, &loading, NULL, NULL);

    for (unsigned i = 0; i < SCRIPTS; i++)
        redis_op_say(
            load,
            (struct str[]){ STR("SCRIPT"), STR("LOAD"), redis_script_text((enum redis_script)i) },
            3);
    load->shard = op->shard; /* on the same connection, so that they are in this order */
    op->tries++;
    uncount(op);
    redis_op_send(load);
    redis_op_send(op);
}

static void ops_value(struct redis_link *link, const struct redis_value *value)
{
    struct redis_store *store = link->owner;
    struct list *first = list_first(&store->sent[link->lane]);

    if (!first) {
        redis_link_fail(link, "it sends replies that nobody asked for");
        return;
    }
    struct redis_op *op = LIST_OF(first, struct redis_op, link);
    size_t at = op->got++;

    if (redis_error_is(value, "NOSCRIPT") && op->tries == 0)
        op->again = true;
    else if (value->type == REDIS_IS_ERROR)
        redis_op_refused(op, value);
    else if (op->verb->reply && op->status == NOD_OK && !op->again) {
        op->store->codec.lacked = false;
        op->verb->reply(op, at, value);
        op->reply.lacks |= op->store->codec.lacked;
    }
    if (op->got < op->expected && !op->more)
        return;
    list_remove(&op->link);
    if (op->status == NOD_OK && op->more) {
        op->more = false;
        redis_op_send(op);
    } else if (op->status == NOD_OK && op->again) {
        say_again(op);
    } else {
        bool leave = op->leave;
        if (op->status != NOD_OK)
            op->wakes = false;
        CRASH_POINT(redis_reply_after);
        redis_op_tell(op);
        if (link->owner && leave)
            redis_link_fail(link, "it cannot be written to any more");
    }
    if (link->owner)
        deadline_set(store);
}

static void ops_ready(struct redis_link *link)
{
    redis_ops_flow(link->owner);
}

static void ops_down(struct redis_link *link, const char *why)
{
    struct redis_store *store = link->owner;

    say_away(store, "connection", why);
    while (!list_empty(&store->sent[link->lane]))
        op_fail(LIST_OF(list_first(&store->sent[link->lane]), struct redis_op, link));
    deadline_set(store);
}

const struct redis_link_events redis_command_events = { ops_ready, ops_down, ops_value };

static void queue_drop(struct list *queue)
{
    LIST_EACH (at, queue)
        redis_op_free(LIST_OF(at, struct redis_op, link));
}

void redis_ops_drop(struct redis_store *store)
{
    queue_drop(&store->waiting);
    queue_drop(&store->finished);
    for (unsigned i = 0; i < REDIS_LANES; i++)
        queue_drop(&store->sent[i]);
    for (; store->in_flight; store->in_flight--)
        loop_release(store->loop);
    timer_stop(store->loop, &store->deadline);
    struct redis_home *home = store->home;
    home->store = NULL;
    if (!home->turning && !home->telling)
        mem_free(home);
}
