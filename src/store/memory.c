/*
 * store/memory: the store of one process, in its memory.
 *
 * A transition happens inside the call that asks for it; only its completion comes later, through
 * the given `defer`. So the order of transitions is the order of the calls, whatever the order of
 * the completions. Tests can delay, reorder and lose replies, as with a remote store.
 *
 * Holds always: an ask that is not pending never changes again, except that sensitive content is
 * erased when its call ends. The record of a call outlives every completion on its way that shows
 * it (refs).
 */
#include "store/memory_inside.h"
#include "store/specs.h"

#include "base/mem.h"

bool memory_id_is(const struct id *id, struct str s)
{
    return s.len == ID_LEN && memcmp(id->text, s.at, ID_LEN) == 0;
}

/* --- records --- */

static struct stored_call *memory_call_add(struct memory_store *memory,
                                           const struct call_record *open, struct tally *tally)
{
    struct stored_call *call = memory_call_make(memory, open, tally);

    call->state = CALL_STORED_RUNNING;
    call->epoch = 1;
    call->opened_ms = memory_now(memory);
    idmap_add(&memory->calls, call);
    return call;
}

/* One holder less: it can no longer be found, or a reply that showed it is over. */
void memory_call_release(struct memory_store *memory, struct stored_call *call)
{
    if (--call->refs == 0)
        memory_call_free(memory, call);
}

static void due_leave(struct memory_store *memory, struct stored_call *call)
{
    heap_remove(call->end    ? &memory->ended
                : call->left ? &memory->left
                             : &memory->idle,
                &call->due);
    call->left = false;
}

/* The call can no longer be found. */
void memory_call_drop(struct memory_store *memory, struct stored_call *call)
{
    for (struct stored_ask *ask = call->asks; ask; ask = ask->next) {
        if (!ask->end) {
            memory_quota_remove(memory, ask);
            memory_hint_ask(memory, ask, true);
        }
        memory_index_remove(memory, ask);
        idmap_remove(&memory->asks, ask);
    }
    due_leave(memory, call);
    memory_fetched_remove(memory, call);
    idmap_remove(&memory->calls, call);
    memory_call_release(memory, call);
}

static void memory_ask_add(struct memory_store *memory, struct stored_call *call,
                           const struct ask_record *record)
{
    struct stored_ask *ask = memory_ask_make(memory, call, record);

    ask->asked_ms = record->asked_ms ? record->asked_ms : memory_now(memory);
    ask->expires_ms = record->expires_ms ? record->expires_ms : ask->asked_ms + record->ttl_ms;
    call->pending++;
    call->ran_out = false;
    idmap_add(&memory->asks, ask);
    memory_quota_add(memory, ask);
    memory_index_add(memory, ask);
    memory_hint_ask(memory, ask, false);
}

void memory_ask_close(struct memory_store *memory, struct stored_ask *ask, enum ask_state state,
                      struct str content, struct str by, struct str via, struct str note)
{
    memory_index_remove(memory, ask);
    ask->end = memory_ask_end_make(memory, ask, content, by, via, note);
    ask->end->state = state;
    ask->end->ended_ms = memory_now(memory);
    memory_index_add(memory, ask);
    memory_quota_remove(memory, ask);
    memory_hint_ask(memory, ask, true);
    ask->call->pending--;
}

/* Sensitive content is no longer needed: it is erased, from the ask and from the journal. */
static void erase(struct str *content)
{
    if (content->len)
        explicit_bzero((char *)content->at, content->len);
    *content = STR_NONE;
}

static void memory_call_close(struct memory_store *memory, struct stored_call *call,
                              enum call_state state, struct str result, bool fetched)
{
    int64_t until = memory_now(memory) + memory->opts.keep_ms;

    due_leave(memory, call);
    call->state = (unsigned char)state;
    for (struct stored_ask *ask = call->asks; ask; ask = ask->next) {
        if (!ask->end)
            memory_ask_close(memory, ask, ASK_WITHDRAWN, STR_NONE, STR("nod"), STR_NONE, STR_NONE);
        if (ask->sensitive)
            erase(&ask->end->content);
    }
    for (size_t i = 0; i < call->entry_count; i++)
        if (call->entries[i].sensitive)
            erase(&call->entries[i].content);
    call->end = memory_call_end_make(memory, call, result);
    if (call->keep_until > until)
        until = call->keep_until;
    heap_set(&memory->ended, &call->due, until);
    memory_note_due(memory, until);
    if (fetched)
        memory_fetched_add(memory, call);
    memory_make_room(memory, call->tally, 0); /* the call itself may go */
}

/* --- transitions --- */

/* Any node may take the call. Whoever waits for it here is told. */
void memory_call_runnable(struct memory_store *memory, struct stored_call *call)
{
    int64_t now = memory_now(memory);
    int64_t least = call->ran_out ? now + MEMORY_RAN_OUT_MS : now;
    int64_t until = call->keep_until > least ? call->keep_until : least;

    call->state = CALL_STORED_RUNNABLE;
    call->idle_since = now;
    heap_set(&memory->idle, &call->due, until);
    memory_note_due(memory, until);
    memory_hint(memory, call);
}

/* The status for a call that is not found. */
static nod_status gone(struct memory_store *memory, struct str call_id)
{
    return idmap_get(&memory->spent, call_id) ? NOD_E_STALE : NOD_E_NOT_FOUND;
}

/* A call that waits here but has gone on elsewhere is replaced by what its client has brought. */
static bool memory_is_behind(const struct park_spec *park, struct stored_call *call)
{
    return park->open && call->state == CALL_STORED_WAITING &&
           !memory_id_is(&call->token, park->token) && call->entry_count < park->entry_count;
}

/* A park or an append. `call`: NULL if it is not stored yet. */
static nod_status save_now(struct memory_store *memory, const struct park_spec *park, bool parks,
                           struct stored_call *call, struct tally *tally, enum store_quota *quota)
{
    bool behind = call && parks && memory_is_behind(park, call);
    size_t new = 0;
    uint64_t bytes = 0;

    if (call && memory_id_is(&call->token, park->token))
        return NOD_OK; /* this very operation has happened already */
    if (!call && (!park->open || idmap_get(&memory->spent, park->call_id)))
        return gone(memory, park->call_id);
    if (call && !behind &&
        (park->open || call->epoch != park->epoch ||
         (call->state != CALL_STORED_RUNNING && call->state != CALL_STORED_WAITING)))
        return NOD_E_STALE; /* with `open`: the call is stored already */
    for (size_t i = 0; i < park->ask_count; i++)
        new += park->asks[i].expires_ms == 0; /* the others come back with their call */
    if (!behind && kept_is_new(park->open, park->entry_count, park->ask_count, new))
        bytes = (uint64_t)kept_park(park->open, park->entries, park->entry_count, park->asks,
                                    park->ask_count);
    *quota = memory_full(memory, tally, new, bytes);
    if (*quota)
        return NOD_E_LIMIT;
    if (bytes)
        memory_make_room(memory, tally, bytes);
    if (behind)
        memory_call_drop(memory, call);
    if (!call || behind)
        call = memory_call_add(memory, park->open, tally);
    call->token = id_of(park->token);
    memory_journal_add(memory, call, park->entries, park->entry_count);
    call->notices = park->notices;
    call->handed |= park->handed;
    if (park->entry_count || park->ask_count)
        call->deaths = 0;
    memory_keep_for(memory, call, park->keep_for_ms);
    for (size_t i = 0; i < park->ask_count; i++)
        memory_ask_add(memory, call, &park->asks[i]);
    if (parks)
        call->state = CALL_STORED_WAITING;
    if (parks && call->pending == 0)
        memory_call_runnable(memory, call);
    return NOD_OK;
}

static void memory_save(struct memory_store *memory, const struct park_spec *park, bool parks,
                        enum memory_fault fault, store_done *done, void *data)
{
    struct stored_call *call = idmap_get(&memory->calls, park->call_id);
    struct tally *tally = memory_tally_hold(memory, call         ? call->tally->name
                                                    : park->open ? park->open->principal
                                                                 : STR_NONE);
    enum store_quota quota = STORE_QUOTA_NONE;
    nod_status status = save_now(memory, park, parks, call, tally, &quota);

    memory_tally_release(memory, tally);
    struct reply *reply = memory_reply(memory, done, data, status);
    reply->reply.quota = quota;
    reply->reply.quota_most = memory_quota_most(memory, quota);
    memory_finish_reply(reply, fault);
}

static void memory_park(struct store *store, const struct park_spec *park, store_done *done,
                        void *data)
{
    struct memory_store *memory = memory_of(store);
    enum memory_fault fault;

    if (memory_fails_before(memory, "park", &fault, done, data))
        return;
    memory_save(memory, park, true, fault, done, data);
    memory_sweep(memory);
}

static nod_status memory_clear(struct memory_store *memory, const struct append_spec *append)
{
    struct stored_call *call = idmap_get(&memory->calls, append->call_id);

    if (!call)
        return gone(memory, append->call_id);
    if (call->epoch != append->epoch || call->state != CALL_STORED_RUNNING)
        return NOD_E_STALE;
    struct deaths deaths = deaths_unpack(call->deaths);
    deaths.probation = false;
    call->deaths = deaths_pack(&deaths);
    return NOD_OK;
}

static void memory_append(struct store *store, const struct append_spec *append, store_done *done,
                          void *data)
{
    struct memory_store *memory = memory_of(store);
    const struct park_spec park = park_of_append(append);
    enum memory_fault fault;

    if (memory_fails_before(memory, "append", &fault, done, data))
        return;
    if (append->clears)
        memory_finish_reply(memory_reply(memory, done, data, memory_clear(memory, append)), fault);
    else
        memory_save(memory, &park, false, fault, done, data);
}

void memory_call_start(struct memory_store *memory, struct stored_call *call)
{
    due_leave(memory, call);
    call->state = CALL_STORED_RUNNING;
    call->gone = false;
    call->epoch++;
}

static void memory_take(struct store *store, const struct take_spec *take, store_done *done,
                        void *data)
{
    struct memory_store *memory = memory_of(store);
    enum memory_fault fault;
    nod_status status = NOD_OK;
    bool suspect = false;

    if (memory_fails_before(memory, "take", &fault, done, data))
        return;
    struct stored_call *call = idmap_get(&memory->calls, take->call_id);
    if (!call) {
        status = gone(memory, take->call_id);
    } else if (!memory_id_is(&call->token, take->token)) {
        struct deaths deaths = deaths_unpack(call->deaths);
        bool lost = call->state == CALL_STORED_RUNNING && call->gone;
        bool given_back = call->state == CALL_STORED_RUNNABLE && deaths.probation;
        suspect = take->why == TAKE_PLAIN && (lost || given_back);
        if (suspect || !(lost || call->state == CALL_STORED_RUNNABLE)) {
            status = NOD_E_STALE;
        } else {
            deaths = deaths_taken(deaths, take->why, lost, memory_now(memory));
            call->deaths = deaths_pack(&deaths);
            memory_call_start(memory, call);
            call->token = id_of(take->token);
        }
    }
    struct reply *reply = memory_reply(memory, done, data, status);
    reply->reply.suspect = suspect;
    if (status == NOD_OK) {
        memory_hold(reply, call);
        reply->with_call = true;
        reply->reply.epoch = call->epoch;
        reply->reply.taken = true;
    }
    memory_finish_reply(reply, fault);
}

/* The call that a finish or a cancel is about. NULL: there is none (*status), it has ended, or this
 * very operation has ended it before. */
static struct stored_call *call_to_end(struct memory_store *memory, struct str call_id,
                                       struct str token, nod_status *status)
{
    struct stored_call *call = idmap_get(&memory->calls, call_id);
    bool again = call && memory_id_is(&call->token, token);

    *status = !call ? gone(memory, call_id) : call->end && !again ? NOD_E_STALE : NOD_OK;
    return *status != NOD_OK || again ? NULL : call;
}

static void memory_finish(struct store *store, const struct finish_spec *finish, store_done *done,
                          void *data)
{
    struct memory_store *memory = memory_of(store);
    enum memory_fault fault;
    nod_status status;

    if (memory_fails_before(memory, "finish", &fault, done, data))
        return;
    struct stored_call *call = call_to_end(memory, finish->call_id, finish->token, &status);
    if (call && call->epoch != finish->epoch) {
        status = NOD_E_STALE;
    } else if (call) {
        call->token = id_of(finish->token);
        memory_keep_for(memory, call, finish->keep_for_ms);
        call->handed |= finish->handed;
        memory_call_close(memory, call, CALL_STORED_FINISHED, finish->result, finish->fetched);
    }
    memory_finish_reply(memory_reply(memory, done, data, status), fault);
    memory_sweep(memory);
}

static void memory_cancel(struct store *store, struct str token, struct str call_id, struct str why,
                          store_done *done, void *data)
{
    struct memory_store *memory = memory_of(store);
    enum memory_fault fault;
    nod_status status;

    if (memory_fails_before(memory, "cancel", &fault, done, data))
        return;
    struct stored_call *call = call_to_end(memory, call_id, token, &status);
    if (call) {
        call->token = id_of(token);
        memory_call_close(memory, call, CALL_STORED_CANCELLED, why, true);
    }
    memory_finish_reply(memory_reply(memory, done, data, status), fault);
    memory_sweep(memory);
}

/* --- nodes --- */

/* One process, one node: it is alive as long as its store. What is over goes also while nothing
 * else happens. */
static void memory_beat(struct store *store, struct str node, int64_t ttl_ms, store_done *done,
                        void *data)
{
    (void)node;
    (void)ttl_ms;
    memory_send(memory_reply(memory_enter(store), done, data, NOD_OK));
    memory_sweep_beat(memory_of(store));
}

static void memory_watch(struct store *store, struct str node,
                         void (*wake)(void *data, struct str call_id), void *data)
{
    struct memory_store *memory = memory_enter(store);

    (void)node;
    memory->wake = wake;
    memory->wake_data = data;
}

/* --- the whole --- */

static void memory_destroy(struct store *store)
{
    struct memory_store *memory = memory_of(store);
    struct idmap_walk calls = { 0 }, spents = { 0 };

    memory_replies_drop(memory);
    for (struct stored_call *call; (call = idmap_next(&memory->calls, &calls));)
        memory_call_release(memory, call);
    memory_values_finish(memory);
    for (struct spent *spent; (spent = idmap_next(&memory->spent, &spents));) {
        memory_tally_release(memory, spent->tally);
        mem_free(spent);
    }
    idmap_finish(&memory->spent);
    heap_finish(&memory->spent_due);
    heap_finish(&memory->ended);
    heap_finish(&memory->fetched);
    heap_finish(&memory->idle);
    heap_finish(&memory->left);
    idmap_finish(&memory->calls);
    idmap_finish(&memory->asks);
    map_finish(&memory->tallies); /* empty, because the records are gone */
    heap_finish(&memory->due);
    heap_finish(&memory->lapsed);
    mem_free(memory->hints);
    mem_free(memory);
}

static int64_t memory_wall(struct store *store)
{
    return clock_wall(memory_of(store)->opts.clock);
}

static const struct store_ops memory_ops = {
    .name = "memory",
    .park = memory_park,
    .append = memory_append,
    .claim = memory_claim,
    .take = memory_take,
    .finish = memory_finish,
    .cancel = memory_cancel,
    .fetched = memory_fetched,
    .full = memory_is_full,
    .held = memory_held,
    .load_call = memory_load_call,
    .lacks_call = memory_lacks_call,
    .load_with_asks = memory_load_with_asks,
    .load_ask = memory_load_ask,
    .scan = memory_scan,
    .put = memory_put,
    .get = memory_get,
    .del = memory_del,
    .list = memory_list,
    .beat = memory_beat,
    .watch = memory_watch,
    .watch_asks = memory_watch_asks,
    .now = memory_wall,
    .destroy = memory_destroy,
};

struct store *memory_store_create(const struct memory_opts *opts)
{
    struct memory_store *memory = MEM_NEW(struct memory_store);

    memory->store.ops = &memory_ops;
    id_random(&memory->id);
    memory->store.id = id_str(&memory->id);
    memory->opts = *opts;
    memory->due_at = INT64_MAX;
    if (memory->opts.keep_ms <= 0)
        memory->opts.keep_ms = MEMORY_KEEP_MS;
    memory->store.keep_ms = memory->opts.keep_ms;
    if (memory->opts.abandoned_ms <= 0)
        memory->opts.abandoned_ms = STORE_ABANDONED_MS;
    if (memory->opts.keep_most == 0)
        memory->opts.keep_most = MEMORY_KEEP_MOST;
    idmap_init(&memory->calls, SIZE_MAX / 2, offsetof(struct stored_call, id));
    idmap_init(&memory->asks, SIZE_MAX / 2, offsetof(struct stored_ask, id));
    heap_init(&memory->values_due);
    heap_init(&memory->ended);
    heap_init(&memory->idle);
    heap_init(&memory->left);
    heap_init(&memory->spent_due);
    idmap_init(&memory->spent, SIZE_MAX / 2, offsetof(struct spent, id));
    list_init(&memory->replies);
    heap_init(&memory->fetched);
    heap_init(&memory->due);
    heap_init(&memory->lapsed);
    map_init(&memory->tallies, SIZE_MAX / 2);
    return &memory->store;
}

void memory_store_orphan(struct store *store)
{
    struct memory_store *memory = memory_of(store);
    struct idmap_walk calls = { 0 };

    memory_replies_drop(memory);
    memory->wake = NULL;
    memory->told = NULL;
    memory->hint_count = 0;
    memory->hinting = memory->hints_lost = false;
    for (struct stored_call *call; (call = idmap_next(&memory->calls, &calls));)
        if (call->state == CALL_STORED_RUNNING)
            memory_call_runnable(memory, call);
}

void memory_store_lose(struct store *store, struct str call_id, bool is_gone)
{
    struct stored_call *call = idmap_get(&memory_of(store)->calls, call_id);

    if (call && call->state == CALL_STORED_RUNNING)
        call->gone = is_gone;
}
