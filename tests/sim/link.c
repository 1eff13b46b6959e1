/*
 * tests/sim/link: the way from a node to the store and back.
 *
 * An operation reaches the memory store at once, or not at all. Its reply is copied and put on its
 * way, and comes late, in any order, or as a failure. The world decides who acts next, so
 * operations of two nodes still meet in every order.
 *
 * The memory store knows one node. What a shared store knows beyond that is added here: to which
 * node a running call belongs, which nodes are alive, and that a call of a node that is gone can be
 * taken. Every transition is written into the ledger as it happens.
 */
#include "sim.h"

#include "base/mem.h"

#include <stdio.h>

enum { DRAIN_MAX = 256 };

enum fate { FATE_FINE, FATE_BEFORE, FATE_AFTER };

static struct {
    void (*fn)(void *data);
    void *data;
} undelivered[DRAIN_MAX];
static size_t undelivered_count;

/* --- the store itself --- */

static void store_defer(void *ctx, void (*fn)(void *data), void *data)
{
    (void)ctx;
    if (undelivered_count == DRAIN_MAX)
        broken("the store has more completions than it was asked for");
    undelivered[undelivered_count].fn = fn;
    undelivered[undelivered_count++].data = data;
}

static void drain(void)
{
    for (size_t i = 0; i < undelivered_count; i++) /* may grow meanwhile */
        undelivered[i].fn(undelivered[i].data);
    undelivered_count = 0;
}

static void hint(struct node *node, struct str call_id)
{
    if (!node->up || node->cut || (!sim.calm && dice() % 1000 < sim.lost))
        return;
    struct message *message = message_new(node, NULL, NULL);
    message->hint = true;
    message->hinted = arena_str(&message->arena, call_id);
    message->from = sim.now + (sim.calm ? 0 : between(0, sim.delay_ms));
    list_append(&node->messages, &message->link);
}

static void woken(void *data, struct str call_id)
{
    (void)data;
    for (size_t i = 0; i < sim.node_count; i++)
        hint(&sim.nodes[i], call_id);
}

void store_make(void)
{
    sim.store = memory_store_create(&(struct memory_opts){ .clock = &sim.store_clock.clock,
                                                           .defer = store_defer,
                                                           .keep_ms = sim.store_keep_ms,
                                                           .looked_after = true });
    sim.store->ops->watch(sim.store, STR("all"), woken, NULL);
}

void store_unmake(void)
{
    sim.store->ops->destroy(sim.store);
    drain();
    sim.store = NULL;
}

struct message *link_peek(struct str call_id)
{
    struct message *message = message_new(NULL, NULL, NULL);

    sim.store->ops->load_call(sim.store, call_id, message_fill, message);
    drain();
    if (message->status == NOD_OK)
        return message;
    message_free(message);
    return NULL;
}

/* --- nodes that are alive --- */

bool link_alive(const char *name)
{
    for (size_t i = 0; i < sim.name_count; i++)
        if (strcmp(sim.names[i], name) == 0)
            return sim.alive_until[i] > store_now();
    return false;
}

static void alive(struct str name, int64_t ttl_ms)
{
    for (size_t i = 0; i < sim.name_count; i++)
        if (str_eq(str_of(sim.names[i]), name))
            sim.alive_until[i] = store_now() + ttl_ms;
}

static const char *owner_of(const struct sim_call *call)
{
    return call->epochs[call->epoch % SIM_EPOCHS].owner;
}

struct str link_owner(struct str call_id)
{
    const struct sim_call *call = ledger_call(call_id);

    return call && call->stored ? str_of(owner_of(call)) : STR_NONE;
}

/* The call's node may be gone. */
static void lapse(const struct sim_call *call)
{
    if (call && call->stored)
        memory_store_lose(sim.store, str_of(call->id), !link_alive(owner_of(call)));
}

/* --- one operation --- */

struct sent {
    struct message *message;
    enum fate fate;
};

static struct node *node_of(struct store *store)
{
    return ((struct link *)(void *)store)->node;
}

static enum fate throw_fate(const struct node *node)
{
    if (node->cut)
        return FATE_BEFORE;
    if (sim.calm || dice() % 1000 >= sim.faults)
        return FATE_FINE;
    return one_in(2) ? FATE_BEFORE : FATE_AFTER;
}

static struct sent send_begin(struct store *store, store_done *done, void *data)
{
    struct node *node = node_of(store);
    struct sent sent = { message_new(node, done, data), throw_fate(node) };

    sim.store_clock.wall = store_now();
    return sent;
}

static void send_end(struct sent sent, const char *verb, const struct sim_call *call)
{
    static const char *const ways[] = { "", ", not sent", ", reply lost" };
    struct message *message = sent.message;
    struct node *node = message->node;

    TRACE("node %s: %s%s%.0zu -> %s%s", node->name, verb, call ? " of call " : "",
          call ? call->number : 0,
          sent.fate == FATE_BEFORE ? "-" : nod_status_name(message->status), ways[sent.fate]);
    if (sent.fate != FATE_FINE) {
        message->status = NOD_E_STORE;
        message->reply = (struct store_reply){ 0 };
        message->row_count = 0;
    }
    message->from = sim.now + (sim.calm ? 0 : between(0, sim.delay_ms));
    list_append(&node->messages, &message->link);
}

static void link_park(struct store *store, const struct park_spec *park, store_done *done,
                      void *data)
{
    struct sent sent = send_begin(store, done, data);
    struct sim_call *call = ledger_call(park->call_id);
    bool gives_back = park->ask_count == 0 && park->entry_count == 0;

    if (sent.fate != FATE_BEFORE) {
        sim.store->ops->park(sim.store, park, message_fill, sent.message);
        drain();
        if (sent.message->status == NOD_OK && ledger_is_new(call, park->token)) {
            if (park->open)
                ledger_opened(call, park->node);
            ledger_wrote(call, "park", park->epoch, park->keep_for_ms);
            if (!gives_back)
                ledger_handed(call, park->handed);
            ledger_entries(call, park->entries, park->entry_count);
            for (size_t i = 0; i < park->ask_count; i++)
                ledger_asked(call, &park->asks[i]);
        }
    }
    send_end(sent, gives_back ? "give back" : "park", call);
}

static void link_append(struct store *store, const struct append_spec *append, store_done *done,
                        void *data)
{
    struct sent sent = send_begin(store, done, data);
    struct sim_call *call = ledger_call(append->call_id);

    if (sent.fate != FATE_BEFORE) {
        sim.store->ops->append(sim.store, append, message_fill, sent.message);
        drain();
        if (sent.message->status == NOD_OK && !append->clears &&
            ledger_is_new(call, append->token)) {
            if (append->open && call_record_is_ahead(append->open)) {
                ledger_ahead(call, append->node);
            } else {
                if (append->open)
                    ledger_opened(call, append->node);
                ledger_wrote(call, "append", append->epoch, append->keep_for_ms);
                ledger_handed(call, append->handed);
                ledger_entries(call, append->entries, append->entry_count);
            }
        }
    }
    send_end(sent,
             append->clears        ? "end of the probation"
             : append->entry_count ? "append"
                                   : "open",
             call);
}

static void link_claim(struct store *store, const struct claim_spec *claim, store_done *done,
                       void *data)
{
    struct sent sent = send_begin(store, done, data);
    struct message *message = sent.message;
    struct sim_call *call = ledger_call_of_ask(claim->items[0].ask_id);

    if (sent.fate != FATE_BEFORE) {
        sim.store->ops->claim(sim.store, claim, message_fill, message);
        drain();
        const struct store_reply *reply = &message->reply;
        bool won = false;
        for (size_t i = 0; i < reply->claimed_count; i++) {
            ledger_claimed(call, &reply->claimed[i]);
            won |= reply->claimed[i].won;
        }
        if (won && claim->handed && !call->ended)
            ledger_handed(call, true);
        if (message->status == NOD_OK && reply->taken)
            ledger_granted(call, node_of(store), reply->epoch, reply->call);
    }
    send_end(sent, claim->whole ? "claim of a round" : "claim", call);
}

static void link_take(struct store *store, const struct take_spec *take, store_done *done,
                      void *data)
{
    static const char *const ways[] = { "take", "take, forgiven,", "take, as a suspect," };
    struct sent sent = send_begin(store, done, data);
    struct sim_call *call = ledger_call(take->call_id);

    if (sent.fate != FATE_BEFORE) {
        lapse(call);
        sim.store->ops->take(sim.store, take, message_fill, sent.message);
        drain();
        if (sent.message->status == NOD_OK) {
            if (take->why == TAKE_SUSPECT && sent.message->reply.epoch > call->epoch)
                call->suspected++;
            ledger_granted(call, node_of(store), sent.message->reply.epoch,
                           sent.message->reply.call);
            figures.takeovers += take->why != TAKE_PLAIN;
        }
    }
    send_end(sent, ways[take->why], call);
}

static bool is_unknown(struct str result)
{
    static const struct str code = STR_INIT("\"OUTCOME_UNKNOWN\"");

    return memmem(result.at, result.len, code.at, code.len) != NULL;
}

static void link_finish(struct store *store, const struct finish_spec *finish, store_done *done,
                        void *data)
{
    struct sent sent = send_begin(store, done, data);
    struct sim_call *call = ledger_call(finish->call_id);

    if (sent.fate != FATE_BEFORE) {
        sim.store->ops->finish(sim.store, finish, message_fill, sent.message);
        drain();
        if (sent.message->status == NOD_OK && ledger_is_new(call, finish->token)) {
            ledger_wrote(call, "finish", finish->epoch, finish->keep_for_ms);
            if (!is_unknown(finish->result)) /* that, whoever finds its home gone may say */
                home_alone_may(call, node_of(store), "finished");
            ledger_handed(call, finish->handed);
            ledger_ended(call, finish->result);
            woken(NULL, finish->call_id);
        }
    }
    send_end(sent, "finish", call);
}

static void link_cancel(struct store *store, struct str token, struct str call_id, struct str why,
                        store_done *done, void *data)
{
    struct sent sent = send_begin(store, done, data);
    struct sim_call *call = ledger_call(call_id);

    if (sent.fate != FATE_BEFORE) {
        sim.store->ops->cancel(sim.store, token, call_id, why, message_fill, sent.message);
        drain();
        if (sent.message->status == NOD_OK && ledger_is_new(call, token)) {
            if (!call->ahead || !call->ended)
                ledger_ended(call, why);
            woken(NULL, call_id);
        }
    }
    send_end(sent, "cancel", call);
}

static void link_load_call(struct store *store, struct str call_id, store_done *done, void *data)
{
    struct sent sent = send_begin(store, done, data);

    if (sent.fate != FATE_BEFORE) {
        sim.store->ops->load_call(sim.store, call_id, message_fill, sent.message);
        drain();
    }
    send_end(sent, "load", ledger_call(call_id));
}

static void link_load_ask(struct store *store, struct str ask_id, store_done *done, void *data)
{
    struct sent sent = send_begin(store, done, data);

    if (sent.fate != FATE_BEFORE) {
        sim.store->ops->load_ask(sim.store, ask_id, message_fill, sent.message);
        drain();
    }
    send_end(sent, "load of an ask", ledger_call_of_ask(ask_id));
}

static void link_scan(struct store *store, const struct store_scan *scan, store_row_fn *row,
                      store_done *done, void *data)
{
    struct sent sent = send_begin(store, done, data);

    sent.message->row = row;
    if (sent.fate != FATE_BEFORE) {
        for (size_t i = 0; i < sim.call_count; i++)
            lapse(&sim.calls[i]);
        sim.store->ops->scan(sim.store, scan, message_row, message_fill, sent.message);
        drain();
    }
    send_end(sent, "scan", ledger_call(scan->key));
}

static void link_beat(struct store *store, struct str node, int64_t ttl_ms, store_done *done,
                      void *data)
{
    struct sent sent = send_begin(store, done, data);

    if (sent.fate != FATE_BEFORE) {
        alive(node, ttl_ms);
        sim.store->ops->beat(sim.store, node, ttl_ms, message_fill, sent.message);
        drain();
    }
    send_end(sent, "beat", NULL);
}

static void link_put(struct store *store, struct str kind, struct str key, struct str value,
                     struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                     void *data)
{
    struct sent sent = send_begin(store, done, data);

    if (sent.fate != FATE_BEFORE) {
        sim.store->ops->put(sim.store, kind, key, value, whose, version, ttl_ms, message_fill,
                            sent.message);
        drain();
    }
    if (sent.fate != FATE_BEFORE && sent.message->status == NOD_OK && str_eq(kind, STR("home")))
        home_beats(value, ttl_ms);
    send_end(sent, "put", NULL);
}

static void link_get(struct store *store, struct str kind, struct str key, store_done *done,
                     void *data)
{
    struct sent sent = send_begin(store, done, data);

    if (sent.fate != FATE_BEFORE) {
        sim.store->ops->get(sim.store, kind, key, message_fill, sent.message);
        drain();
    }
    send_end(sent, "get", NULL);
}

static void link_del(struct store *store, struct str kind, struct str key, store_done *done,
                     void *data)
{
    struct sent sent = send_begin(store, done, data);

    if (sent.fate != FATE_BEFORE) {
        sim.store->ops->del(sim.store, kind, key, message_fill, sent.message);
        drain();
    }
    send_end(sent, "del", NULL);
}

static void link_list(struct store *store, const struct store_list *list, store_row_fn *row,
                      store_done *done, void *data)
{
    struct sent sent = send_begin(store, done, data);

    sent.message->row = row;
    if (sent.fate != FATE_BEFORE) {
        sim.store->ops->list(sim.store, list, message_row, message_fill, sent.message);
        drain();
    }
    send_end(sent, "list", NULL);
}

static void link_watch(struct store *store, struct str node,
                       void (*wake)(void *data, struct str call_id), void *data)
{
    struct link *link = (struct link *)(void *)store;

    (void)node;
    link->wake = wake;
    link->wake_data = data;
}

static int64_t link_now(struct store *store)
{
    const struct link *link = (const struct link *)(const void *)store;

    return clock_wall(&link->node->clock.clock) + link->ahead_ms;
}

#define LINK_OPS                                                                                   \
    .name = "sim", .durable = true, .park = link_park, .append = link_append, .claim = link_claim, \
    .take = link_take, .finish = link_finish, .cancel = link_cancel, .load_call = link_load_call,  \
    .load_ask = link_load_ask, .scan = link_scan, .beat = link_beat, .watch = link_watch,          \
    .put = link_put, .get = link_get, .del = link_del, .list = link_list, .now = link_now

static const struct store_ops shared_ops = { LINK_OPS, .shared = true };
static const struct store_ops lone_ops = { LINK_OPS };

void link_init(struct link *link, struct node *node)
{
    *link = (struct link){
        .store = { .ops = sim.shared ? &shared_ops : &lone_ops, .id = sim.store->id }, .node = node
    };
    link->ahead_ms = store_now() - clock_wall(&node->clock.clock); /* learned when it connects */
}

/* --- on the way back --- */

static void deliver(struct message *message)
{
    struct node *node = message->node;

    list_remove(&message->link);
    if (message->hint) {
        TRACE("node %s: hinted at %s", node->name,
              message->hinted.len ? "a call" : "all, for hints may have been lost");
        if (node->link.wake)
            node->link.wake(node->link.wake_data, message->hinted);
    } else {
        if (message->status == NOD_OK && message->reply.now_ms)
            node->link.ahead_ms = message->reply.now_ms - clock_wall(&node->clock.clock);
        for (size_t i = 0; message->status == NOD_OK && message->row && i < message->row_count; i++)
            message->row(message->data, &message->rows[i]);
        if (message->done)
            message->done(message->data, message->status, &message->reply);
    }
    message_free(message);
}

bool link_deliver(struct node *node)
{
    size_t ready = 0;

    LIST_EACH (at, &node->messages) {
        ready += LIST_OF(at, struct message, link)->from <= sim.now;
        if (sim.in_order && !ready)
            return false;
    }
    if (!ready)
        return false;
    size_t which = sim.in_order ? 0 : pick(ready);
    LIST_EACH (at, &node->messages) {
        struct message *message = LIST_OF(at, struct message, link);
        if (message->from > sim.now || which-- > 0)
            continue;
        deliver(message);
        return true;
    }
    return false;
}

void link_drop(struct node *node)
{
    LIST_EACH (at, &node->messages)
        message_free(LIST_OF(at, struct message, link));
}

void link_cut(struct node *node)
{
    node->cut = true;
    LIST_EACH (at, &node->messages) {
        struct message *message = LIST_OF(at, struct message, link);
        if (message->hint) {
            message_free(message);
            continue;
        }
        message->status = NOD_E_STORE;
        message->reply = (struct store_reply){ 0 };
    }
}

void link_mend(struct node *node)
{
    node->cut = false;
    struct message *message = message_new(node, NULL, NULL);
    message->hint = true; /* of all: some may have been lost */
    message->from = sim.now;
    list_append(&node->messages, &message->link);
}
