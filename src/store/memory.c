/*
 * store/memory: the store of one process, in its memory.
 *
 * A transition happens inside the call that asks for it; only its completion comes later, through
 * the `defer` it was given. So the order of transitions is the order of the calls, whatever the
 * order of the completions, and the tests can delay, reorder and lose replies as a store far away
 * would.
 *
 * Holds always: an ask that is not pending never changes again. A call's record outlives every
 * completion that is on its way with a view of it (refs).
 */
#include "store/memory_inside.h"

#include "base/mem.h"

enum {
    SWEEP_MOST = 4,      /* records dropped with one operation */
    SPENT_MAX = 1000000, /* calls that must not happen again, after their records are gone */
};

static void id_set(struct id *id, struct str s)
{
    *id = (struct id){ 0 };
    if (s.len == ID_LEN)
        memcpy(id->text, s.at, ID_LEN);
    else if (s.len) /* no id of ours, and kept for what it is */
        memcpy(id->text, s.at, s.len < ID_LEN ? s.len : ID_LEN);
}

static bool id_is(const struct id *id, struct str s)
{
    return s.len == ID_LEN && memcmp(id->text, s.at, ID_LEN) == 0;
}

/* --- records -------------------------------------------------------------------------------------
 */

/* Room behind an object for its texts, and what they will be found by. */
static size_t texts_bytes(const struct str *texts, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += texts[i].len + 1;
    return bytes;
}

static void texts_place(char *at, uint32_t *lens, const struct str *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lens[i] = (uint32_t)str_place(&at, texts[i]).len;
}

static struct stored_call *call_add(struct memory_store *memory, const struct call_record *open)
{
    const struct str texts[CALL_TEXTS] = {
        [TEXT_SCOPE] = open->scope, [TEXT_TARGET] = open->target, [TEXT_ARGS] = open->args,
        [TEXT_URI] = open->uri,     [TEXT_CALLER] = open->caller,
    };
    struct stored_call *call = mem_zalloc(sizeof(*call) + texts_bytes(texts, CALL_TEXTS));

    texts_place(call->text, call->text_len, texts, CALL_TEXTS);
    call->tally = memory_tally_hold(memory, open->principal);
    id_set(&call->id, open->id);
    call->kind = (unsigned char)open->kind;
    call->keep_ms = open->keep_ms;
    call->notices = open->notices;
    call->state = CALL_STORED_RUNNING;
    call->epoch = 1;
    call->opened_ms = memory_now(memory);
    list_init(&call->asks);
    idmap_add(&memory->calls, call);
    return call;
}

static void call_free(struct memory_store *memory, struct stored_call *call)
{
    LIST_EACH (at, &call->asks) {
        struct stored_ask *ask = LIST_OF(at, struct stored_ask, link);
        mem_free(ask->end);
        mem_free(ask);
    }
    journal_finish(&call->journal);
    memory_tally_release(memory, call->tally);
    mem_free((char *)call->result.at);
    mem_free(call);
}

static void call_unref(struct memory_store *memory, struct stored_call *call)
{
    if (call && --call->refs == 0 && call->dropped)
        call_free(memory, call);
}

/* Off the lists; freed now or with the last reply that shows it. */
static void call_drop(struct memory_store *memory, struct stored_call *call)
{
    LIST_EACH (at, &call->asks) {
        struct stored_ask *ask = LIST_OF(at, struct stored_ask, link);
        if (!ask->end)
            memory_quota_remove(memory, ask);
        idmap_remove(&memory->asks, ask);
    }
    if (call->state == CALL_STORED_RUNNABLE)
        heap_remove(&memory->idle, &call->keep);
    idmap_remove(&memory->calls, call);
    call->dropped = true;
    if (call->refs == 0)
        call_free(memory, call);
}

static bool had_effects(const struct stored_call *call)
{
    for (size_t i = 0; i < call->journal.count; i++)
        if (call->journal.entries[i].class == ENTRY_STEP ||
            call->journal.entries[i].class == ENTRY_INTENT)
            return true;
    return false;
}

/* Its record goes before its time: what must not happen twice is remembered in a few bytes. */
static void spent_add(struct memory_store *memory, const struct stored_call *call)
{
    struct spent *spent = MEM_NEW(struct spent);

    spent->id = call->id;
    if (!idmap_add(&memory->spent, spent)) {
        mem_free(spent);
        return;
    }
    heap_set(&memory->spent_due, &spent->due, call->keep.at);
}

/* When the last of its questions is over. */
static int64_t last_expiry(const struct stored_call *call)
{
    int64_t last = 0;

    LIST_EACH (at, &call->asks) {
        const struct stored_ask *ask = LIST_OF(at, struct stored_ask, link);
        if (!ask->end && ask->expires_ms > last)
            last = ask->expires_ms;
    }
    return last;
}

/* Drops a few records whose time is over; called with every end, so that none piles up. */
static void sweep(struct memory_store *memory)
{
    int64_t now = memory_now(memory);
    struct heap_node *first;

    struct stored_call *call;
    for (int i = 0; i < SWEEP_MOST && (call = memory_ended_next(memory)); i++) {
        if (call->keep.at > now && had_effects(call))
            spent_add(memory, call);
        call_drop(memory, call);
    }
    /* A question that ran out long ago, and whose call nobody came back for. */
    memory_quota_lapse(memory, SWEEP_MOST);
    for (int i = 0; i < SWEEP_MOST && (first = heap_first(&memory->lapsed)); i++) {
        call = HEAP_OF(first, struct stored_ask, due)->call;
        int64_t last = last_expiry(call) + memory_keep(memory, call);
        if (first->at > now)
            break;
        if (last > now) /* another one still counts: look again when that is over */
            heap_set(&memory->lapsed, first, last);
        else
            call_drop(memory, call);
    }
    for (int i = 0; i < SWEEP_MOST && (first = heap_first(&memory->idle)); i++) {
        if (first->at > now)
            break;
        call_drop(memory, HEAP_OF(first, struct stored_call, keep));
    }
    for (int i = 0; i < SWEEP_MOST && (first = heap_first(&memory->spent_due)); i++) {
        struct spent *spent = HEAP_OF(first, struct spent, due);
        if (first->at > now)
            break;
        heap_remove(&memory->spent_due, first);
        idmap_remove(&memory->spent, spent);
        mem_free(spent);
    }
}

static void journal_add(struct stored_call *call, const struct entry *entries, size_t count)
{
    struct journal longer;

    if (count == 0)
        return;
    journal_make(&longer, call->journal.entries, call->journal.count, entries, count);
    journal_finish(&call->journal);
    call->journal = longer;
}

static void ask_add(struct memory_store *memory, struct stored_call *call,
                    const struct ask_record *record)
{
    const struct str texts[ASK_TEXTS] = { [TEXT_KEY] = record->key,
                                          [TEXT_MESSAGE] = record->message,
                                          [TEXT_DETAIL] = record->detail,
                                          [TEXT_URL] = record->url };
    struct stored_ask *ask = mem_zalloc(sizeof(*ask) + texts_bytes(texts, ASK_TEXTS));

    texts_place(ask->text, ask->text_len, texts, ASK_TEXTS);
    id_set(&ask->id, record->id);
    ask->call = call;
    ask->kind = (unsigned char)record->kind;
    ask->consent = record->consent;
    ask->sensitive = record->sensitive;
    ask->wait_done = record->wait_done;
    memcpy(ask->digest, record->digest, DIGEST_BYTES);
    ask->ttl_ms = record->ttl_ms;
    ask->attempts = record->attempts;
    ask->attempt = record->attempt;
    ask->seq = record->seq;
    ask->asked_ms = record->asked_ms ? record->asked_ms : memory_now(memory);
    ask->expires_ms = record->expires_ms ? record->expires_ms : ask->asked_ms + record->ttl_ms;
    list_append(&call->asks, &ask->link);
    call->pending++;
    idmap_add(&memory->asks, ask);
    memory_quota_add(memory, ask);
}

static void ask_close(struct memory_store *memory, struct stored_ask *ask, enum ask_state state,
                      struct str content, struct str by)
{
    ask->end = mem_zalloc(sizeof(*ask->end) + content.len + by.len + 2);
    char *at = ask->end->text;

    ask->end->state = state;
    ask->end->content = str_place(&at, content);
    ask->end->by = str_place(&at, by);
    ask->end->ended_ms = memory_now(memory);
    memory_quota_remove(memory, ask);
    ask->call->pending--;
}

/* What a person gave in confidence is needed no longer: it goes, and from the journal too. */
static void ask_erase(struct stored_ask *ask)
{
    explicit_bzero(ask->end->text, ask->end->content.len);
    ask->end->content = STR_NONE;
}

static void journal_erase(struct journal *journal)
{
    for (size_t i = 0; i < journal->count; i++) {
        struct entry *entry = &journal->entries[i];
        if (!entry->sensitive)
            continue;
        if (entry->content.len)
            explicit_bzero((char *)entry->content.at, entry->content.len);
        entry->content = STR_NONE;
    }
}

static void call_close(struct memory_store *memory, struct stored_call *call, enum call_state state,
                       struct str result)
{
    if (call->state == CALL_STORED_RUNNABLE)
        heap_remove(&memory->idle, &call->keep);
    call->state = (unsigned char)state;
    call->result = str_n(str_dup(result), result.len);
    LIST_EACH (at, &call->asks) {
        struct stored_ask *ask = LIST_OF(at, struct stored_ask, link);
        if (!ask->end)
            ask_close(memory, ask, ASK_WITHDRAWN, STR_NONE, STR("nod"));
        if (ask->sensitive)
            ask_erase(ask);
    }
    journal_erase(&call->journal);
    memory_ended_add(memory, call);
}

/* --- completions
 * ----------------------------------------------------------------------------------- */

struct reply *memory_reply(struct memory_store *memory, store_done *done, void *data,
                           nod_status status)
{
    struct reply *reply = MEM_NEW(struct reply);

    reply->memory = memory;
    reply->done = done;
    reply->data = data;
    reply->status = status;
    reply->reply.now_ms = memory_now(memory);
    list_append(&memory->replies, &reply->link);
    return reply;
}

void memory_hold(struct reply *reply, struct stored_call *call)
{
    call_unref(reply->memory, reply->call);
    reply->call = call;
    call->refs++;
}

static void reply_free(struct reply *reply)
{
    list_remove(&reply->link);
    call_unref(reply->memory, reply->call);
    mem_free(reply->value);
    mem_free(reply->scan_key);
    mem_free(reply);
}

static void deliver(void *data)
{
    struct reply *reply = data;

    if (!reply->memory) { /* the store is gone, and nobody is to be told */
        mem_free(reply);
        return;
    }
    if (reply->row && reply->status == NOD_OK)
        memory_scan_rows(reply);
    struct call_record call;
    struct ask_record ask;
    if (reply->call && reply->with_call) {
        memory_call_view(reply->call, &call);
        reply->reply.call = &call;
    }
    if (reply->ask) {
        memory_ask_view(reply->ask, &ask);
        reply->reply.ask = &ask;
    }
    if (reply->wakes)
        reply->memory->wake(reply->memory->wake_data, id_str(&reply->call->id));
    if (reply->done)
        reply->done(reply->data, reply->status, &reply->reply);
    if (reply->memory)
        reply_free(reply);
    else
        mem_free(reply);
}

void memory_send(struct reply *reply)
{
    reply->memory->opts.defer(reply->memory->opts.defer_ctx, deliver, reply);
}

/* True: the test wants this operation not to happen at all; the failure is on its way. */
static bool fails_before(struct memory_store *memory, const char *verb, enum memory_fault *fault,
                         store_done *done, void *data)
{
    memory_begin(memory);
    *fault = memory->opts.fault ? memory->opts.fault(memory->opts.fault_ctx, verb) : MEMORY_FINE;
    if (*fault != MEMORY_FAIL_BEFORE)
        return false;
    memory_send(memory_reply(memory, done, data, NOD_E_STORE));
    return true;
}

static void finish_reply(struct reply *reply, enum memory_fault fault)
{
    if (fault == MEMORY_FAIL_AFTER) { /* it happened, but nobody hears of it */
        reply->status = NOD_E_STORE;
        reply->with_call = false;
        reply->ask = NULL;
        reply->row = NULL;
        reply->reply = (struct store_reply){ 0 };
    }
    memory_send(reply);
}

/* --- transitions
 * ------------------------------------------------------------------------------------ */

static void hint(struct memory_store *memory, struct stored_call *call)
{
    struct reply *reply;

    if (!memory->wake)
        return;
    reply = memory_reply(memory, NULL, NULL, NOD_OK);
    memory_hold(reply, call);
    reply->wakes = true;
    memory_send(reply);
}

/* Whoever comes next may take it; who waits for it here is told. */
static void call_runnable(struct memory_store *memory, struct stored_call *call)
{
    call->state = CALL_STORED_RUNNABLE;
    heap_set(&memory->idle, &call->keep, memory_now(memory) + memory_keep(memory, call));
    hint(memory, call);
}

/* `call` is what is known by that id, or NULL. The call that an operation of a running epoch is
 * about; NULL and *status if it may not happen (or has already). */
static struct stored_call *running_call(struct memory_store *memory, struct stored_call *call,
                                        const struct call_record *open, struct str call_id,
                                        uint64_t epoch, struct str token, size_t new_asks,
                                        nod_status *status)
{
    *status = NOD_OK;
    if (call && id_is(&call->token, token))
        return NULL; /* this very operation has happened */
    if (!call && idmap_get(&memory->spent, call_id))
        *status = NOD_E_STALE;
    else if (!call && !open)
        *status = NOD_E_NOT_FOUND;
    else if (call && (open || call->epoch != epoch || call->state != CALL_STORED_RUNNING))
        *status = NOD_E_STALE; /* with `open`: it is here already */
    else if (!memory_quota_room(memory, call, open ? open->principal : STR_NONE, new_asks))
        *status = NOD_E_LIMIT;
    if (*status != NOD_OK)
        return NULL;
    if (!call)
        call = call_add(memory, open);
    id_set(&call->token, token);
    return call;
}

/* A call that waits here and has gone on elsewhere gives way to what its client has brought. */
static bool is_behind(const struct stored_call *call, size_t entry_count)
{
    return call->state == CALL_STORED_WAITING && call->journal.count < entry_count;
}

/* What comes back with its call was let in before. */
static size_t new_ones(const struct ask_record *asks, size_t count)
{
    size_t new = 0;

    for (size_t i = 0; i < count; i++)
        new += asks[i].expires_ms == 0;
    return new;
}

static void memory_park(struct store *store, struct str token, const struct call_record *open,
                        struct str node, struct str call_id, uint64_t epoch, uint32_t notices,
                        const struct entry *entries, size_t entry_count,
                        const struct ask_record *asks, size_t ask_count, store_done *done,
                        void *data)
{
    struct memory_store *memory = memory_of(store);
    enum memory_fault fault;
    nod_status status;

    (void)node;
    if (fails_before(memory, "park", &fault, done, data))
        return;
    struct stored_call *call = idmap_get(&memory->calls, call_id);
    if (call && open && is_behind(call, entry_count)) {
        call_drop(memory, call);
        call = NULL;
    }
    call =
        running_call(memory, call, open, call_id, epoch, token, new_ones(asks, ask_count), &status);
    if (call) {
        journal_add(call, entries, entry_count);
        call->notices = notices;
        for (size_t i = 0; i < ask_count; i++)
            ask_add(memory, call, &asks[i]);
        call->state = CALL_STORED_WAITING;
        if (call->pending == 0)
            call_runnable(memory, call);
    }
    finish_reply(memory_reply(memory, done, data, status), fault);
    sweep(memory);
}

static void memory_append(struct store *store, struct str token, const struct call_record *open,
                          struct str node, struct str call_id, uint64_t epoch, uint32_t notices,
                          const struct entry *entries, size_t entry_count, store_done *done,
                          void *data)
{
    struct memory_store *memory = memory_of(store);
    enum memory_fault fault;
    nod_status status;

    (void)node;
    if (fails_before(memory, "append", &fault, done, data))
        return;
    struct stored_call *call = idmap_get(&memory->calls, call_id);
    call = running_call(memory, call, open, call_id, epoch, token, 0, &status);
    if (call) {
        journal_add(call, entries, entry_count);
        call->notices = notices;
    }
    finish_reply(memory_reply(memory, done, data, status), fault);
}

static void call_start(struct memory_store *memory, struct stored_call *call)
{
    if (call->state == CALL_STORED_RUNNABLE)
        heap_remove(&memory->idle, &call->keep);
    call->state = CALL_STORED_RUNNING;
    call->epoch++;
}

/* The journal entry of an ask that has ended. */
static void journal_ask(struct stored_ask *ask)
{
    struct entry entry = { .class = ENTRY_ASK,
                           .key = memory_ask_key(ask),
                           .state = ask->end->state,
                           .number = ask->ttl_ms,
                           .ask_id = id_str(&ask->id),
                           .content = ask->end->content,
                           .by = ask->end->by,
                           .sensitive = ask->sensitive };

    memcpy(entry.digest, ask->digest, DIGEST_BYTES);
    journal_add(ask->call, &entry, 1);
}

static nod_status claim_now(struct memory_store *memory, struct stored_ask *ask, struct str token,
                            const struct claim_spec *claim)
{
    bool due = memory_now(memory) >= ask->expires_ms;
    bool persons_word = claim->outcome == ASK_ACCEPTED || claim->outcome == ASK_DECLINED ||
                        claim->outcome == ASK_CANCELLED || claim->outcome == ASK_INVALID;

    if (claim->outcome == ASK_EXPIRED && !due)
        return NOD_E_STALE;
    if (persons_word && due)
        ask_close(memory, ask, ASK_EXPIRED, STR_NONE, STR("nod"));
    else
        ask_close(memory, ask, claim->outcome, claim->content, claim->by);
    id_set(&ask->end->token, token);
    journal_ask(ask);
    if (ask->call->pending == 0 && ask->call->state == CALL_STORED_WAITING) {
        if (claim->take_for.len) {
            call_start(memory, ask->call);
            ask->end->took = ask->call->epoch;
        } else {
            call_runnable(memory, ask->call);
        }
    }
    return NOD_OK;
}

static void memory_claim(struct store *store, struct str token, const struct claim_spec *claim,
                         store_done *done, void *data)
{
    struct memory_store *memory = memory_of(store);
    enum memory_fault fault;

    if (fails_before(memory, "claim", &fault, done, data))
        return;
    struct stored_ask *ask = idmap_get(&memory->asks, claim->ask_id);
    nod_status status = ask ? NOD_OK : NOD_E_NOT_FOUND;
    if (ask && !ask->end)
        status = claim_now(memory, ask, token, claim);
    struct reply *reply = memory_reply(memory, done, data, status);
    if (ask && status == NOD_OK) {
        memory_hold(reply, ask->call);
        reply->ask = ask;
        reply->reply.won = id_is(&ask->end->token, token);
        reply->reply.taken = reply->reply.won && ask->end->took != 0;
        reply->reply.epoch = reply->reply.taken ? ask->end->took : 0;
        reply->with_call = reply->reply.taken;
    }
    finish_reply(reply, fault);
}

static void memory_take(struct store *store, struct str token, struct str call_id, struct str node,
                        store_done *done, void *data)
{
    struct memory_store *memory = memory_of(store);
    enum memory_fault fault;
    nod_status status = NOD_OK;

    (void)node;
    if (fails_before(memory, "take", &fault, done, data))
        return;
    struct stored_call *call = idmap_get(&memory->calls, call_id);
    if (!call) {
        status = NOD_E_NOT_FOUND;
    } else if (!id_is(&call->token, token)) {
        if (call->state == CALL_STORED_RUNNABLE) {
            call_start(memory, call);
            id_set(&call->token, token);
        } else {
            status = NOD_E_STALE;
        }
    }
    struct reply *reply = memory_reply(memory, done, data, status);
    if (status == NOD_OK) {
        memory_hold(reply, call);
        reply->with_call = true;
        reply->reply.epoch = call->epoch;
        reply->reply.taken = true;
    }
    finish_reply(reply, fault);
}

static void memory_finish(struct store *store, struct str token, struct str call_id, uint64_t epoch,
                          struct str result, const struct store_event *event, store_done *done,
                          void *data)
{
    struct memory_store *memory = memory_of(store);
    enum memory_fault fault;
    nod_status status = NOD_OK;

    if (fails_before(memory, "finish", &fault, done, data))
        return;
    struct stored_call *call = idmap_get(&memory->calls, call_id);
    if (!call) {
        status = NOD_E_NOT_FOUND;
    } else if (!id_is(&call->token, token)) {
        bool ended = call->state == CALL_STORED_FINISHED || call->state == CALL_STORED_CANCELLED;
        if (ended || call->epoch != epoch) {
            status = NOD_E_STALE;
        } else {
            id_set(&call->token, token);
            call_close(memory, call, CALL_STORED_FINISHED, result);
            if (event)
                memory_event_add(memory, event);
        }
    }
    finish_reply(memory_reply(memory, done, data, status), fault);
    sweep(memory);
}

static void memory_cancel(struct store *store, struct str token, struct str call_id, struct str why,
                          store_done *done, void *data)
{
    struct memory_store *memory = memory_of(store);
    enum memory_fault fault;
    nod_status status = NOD_OK;

    if (fails_before(memory, "cancel", &fault, done, data))
        return;
    struct stored_call *call = idmap_get(&memory->calls, call_id);
    if (!call) {
        status = NOD_E_NOT_FOUND;
    } else if (!id_is(&call->token, token)) {
        if (call->state == CALL_STORED_FINISHED || call->state == CALL_STORED_CANCELLED) {
            status = NOD_E_STALE;
        } else {
            id_set(&call->token, token);
            call_close(memory, call, CALL_STORED_CANCELLED, why);
        }
    }
    finish_reply(memory_reply(memory, done, data, status), fault);
    sweep(memory);
}

/* --- the whole
 * -----------------------------------------------------------------------------------------------
 */

static void memory_destroy(struct store *store)
{
    struct memory_store *memory = memory_of(store);
    size_t at = 0;

    LIST_EACH (link, &memory->replies) {
        struct reply *reply =
            LIST_OF(link, struct reply, link); /* deliver() frees it, without a word */
        list_remove(&reply->link);
        call_unref(memory, reply->call);
        mem_free(reply->value);
        mem_free(reply->scan_key);
        reply->memory = NULL;
    }
    for (struct stored_call *call; (call = idmap_next(&memory->calls, &at));)
        call_free(memory, call);
    memory_values_finish(memory);
    at = 0;
    for (struct spent *spent; (spent = idmap_next(&memory->spent, &at));)
        mem_free(spent);
    idmap_finish(&memory->spent);
    heap_finish(&memory->spent_due);
    memory_ended_finish(memory);
    heap_finish(&memory->idle);
    idmap_finish(&memory->calls);
    idmap_finish(&memory->asks);
    memory_quota_finish(memory);
    mem_free(memory);
}

static const struct store_ops memory_ops = {
    .name = "memory",
    .park = memory_park,
    .append = memory_append,
    .claim = memory_claim,
    .take = memory_take,
    .finish = memory_finish,
    .cancel = memory_cancel,
    .load_call = memory_load_call,
    .load_ask = memory_load_ask,
    .scan = memory_scan,
    .put = memory_put,
    .get = memory_get,
    .del = memory_del,
    .beat = memory_beat,
    .watch = memory_watch,
    .destroy = memory_destroy,
};

struct store *memory_store_create(const struct memory_opts *opts)
{
    struct memory_store *memory = MEM_NEW(struct memory_store);

    memory->store.ops = &memory_ops;
    memory->opts = *opts;
    if (memory->opts.keep_ms <= 0)
        memory->opts.keep_ms = MEMORY_KEEP_MS;
    if (memory->opts.keep_most == 0)
        memory->opts.keep_most = MEMORY_KEEP_MOST;
    idmap_init(&memory->calls, SIZE_MAX / 2, offsetof(struct stored_call, id));
    idmap_init(&memory->asks, SIZE_MAX / 2, offsetof(struct stored_ask, id));
    memory_values_init(memory);
    memory_ended_init(memory);
    heap_init(&memory->idle);
    heap_init(&memory->spent_due);
    idmap_init(&memory->spent, SPENT_MAX, offsetof(struct spent, id));
    list_init(&memory->replies);
    memory_quota_init(memory);
    return &memory->store;
}

size_t memory_store_calls(const struct store *store)
{
    return ((const struct memory_store *)store)->calls.count;
}

size_t memory_store_asks(const struct store *store)
{
    return ((const struct memory_store *)store)->asks.count;
}
