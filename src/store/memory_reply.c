/*
 * store/memory: completions on their way, and hints.
 *
 * When a completion is made, its transition has happened. It is delivered later, through the
 * `defer` that the store was given, and shows the records as they are then.
 *
 * Holds always: what a completion shows outlives it (refs). If the store is gone, a completion is
 * freed and delivers nothing.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

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
    call->refs++;
    reply->call = call;
}

void memory_show_spent(struct reply *reply, const struct spent *spent)
{
    struct str name = spent->tally->name;
    struct call_record *record = mem_zalloc(sizeof(*record) + ID_LEN + name.len + 2);
    char *at = (char *)(record + 1);

    record->id = str_place(&at, id_str(&spent->id));
    record->principal = str_place(&at, name);
    record->state = (enum call_state)spent->state;
    record->opened_ms = spent->opened_ms;
    record->keep_until_ms = spent->due.at;
    record->forgotten = true;
    reply->spent = record;
    reply->reply.call = record;
}

/* Drops what the reply holds. Its delivery frees the reply itself. */
static void reply_empty(struct reply *reply)
{
    list_remove(&reply->link);
    if (reply->call)
        memory_call_release(reply->memory, reply->call);
    mem_free(reply->value);
    mem_free(reply->scanning);
    if (reply->listing)
        arena_finish(&reply->listing->arena);
    mem_free(reply->listing);
    mem_free(reply->items);
    mem_free(reply->spent);
}

struct shown { /* asks of a reply, while it is delivered */
    struct ask_record one;
    struct claimed one_claimed;
    void *many;
};

/* The items of a claim, as they are now; otherwise the ask. */
static void asks_show(struct reply *reply, struct shown *shown)
{
    size_t count = reply->item_count;
    struct ask_record *records = &shown->one;
    struct claimed *claimed = &shown->one_claimed;

    shown->many = NULL;
    if (reply->ask) {
        shown->one = memory_ask_view(reply->ask);
        reply->reply.ask = &shown->one;
    }
    if (count == 0)
        return;
    if (count > 1) {
        records = shown->many = mem_alloc(count * (sizeof(*records) + sizeof(*claimed)));
        claimed = (struct claimed *)(void *)(records + count);
    }
    for (size_t i = 0; i < count; i++) {
        records[i] = memory_ask_view(reply->items[i].ask);
        claimed[i].ask = &records[i];
        /* What was put up again may have been ended before this is told. */
        claimed[i].won =
            reply->items[i].won && (!reply->items[i].put || claimed[i].ask->state == ASK_PENDING);
    }
    reply->reply.claimed = claimed;
    reply->reply.claimed_count = count;
    reply->reply.ask = claimed[0].ask;
    reply->reply.won = claimed[0].won;
}

/* The callbacks may make more hints: those are delivered by another reply. */
static void hints_tell(struct reply *reply)
{
    struct memory_store *memory = reply->memory;
    struct told_ask *hints = memory->hints;
    size_t count = memory->hint_count;
    bool lost = memory->hints_lost;

    memory->hints = NULL;
    memory->hint_count = 0;
    memory->hints_lost = memory->hinting = false;
    if (lost && memory->told)
        memory->told(memory->told_data, NULL);
    for (size_t i = 0; !lost && i < count && reply->memory && memory->told; i++)
        memory->told(memory->told_data, &(struct ask_hint){ .ask_id = id_str(&hints[i].ask),
                                                            .call_id = id_str(&hints[i].call),
                                                            .owner = hints[i].owner,
                                                            .ended = hints[i].ended });
    mem_free(hints);
}

static void deliver(void *data)
{
    struct reply *reply = data;

    if (!reply->memory) { /* the store is gone, and nobody is told */
        mem_free_sized(reply, sizeof(*reply));
        return;
    }
    if (reply->scanning && reply->status == NOD_OK)
        memory_scan_rows(reply);
    if (reply->listing && reply->status == NOD_OK)
        memory_list_rows(reply);
    if (reply->tells)
        hints_tell(reply);
    struct call_record call;
    struct shown shown;
    if (reply->call && reply->with_call) {
        call = memory_call_view(reply->call);
        reply->reply.call = &call;
    }
    asks_show(reply, &shown);
    if (reply->wakes)
        reply->memory->wake(reply->memory->wake_data, id_str(&reply->call->id));
    if (reply->done)
        reply->done(reply->data, reply->status, &reply->reply);
    mem_free(shown.many);
    if (reply->memory)
        reply_empty(reply);
    mem_free_sized(reply, sizeof(*reply));
}

void memory_send(struct reply *reply)
{
    reply->memory->opts.defer(reply->memory->opts.defer_ctx, deliver, reply);
}

/* True: a test wants this operation not to happen. The failure is on its way. */
bool memory_fails_before(struct memory_store *memory, const char *verb, enum memory_fault *fault,
                         store_done *done, void *data)
{
    memory_begin(memory);
    *fault = memory->opts.fault ? memory->opts.fault(memory->opts.fault_ctx, verb) : MEMORY_FINE;
    if (*fault != MEMORY_FAIL_BEFORE)
        return false;
    memory_send(memory_reply(memory, done, data, NOD_E_STORE));
    return true;
}

void memory_finish_reply(struct reply *reply, enum memory_fault fault)
{
    if (fault == MEMORY_FAIL_AFTER) { /* it happened, but the reply is lost */
        reply->status = NOD_E_STORE;
        reply->with_call = false;
        reply->ask = NULL;
        reply->item_count = 0;
        mem_free(reply->scanning);
        reply->scanning = NULL;
        reply->reply = (struct store_reply){ 0 };
    }
    memory_send(reply);
}

void memory_hint(struct memory_store *memory, struct stored_call *call)
{
    struct reply *reply;

    if (!memory->wake)
        return;
    reply = memory_reply(memory, NULL, NULL, NOD_OK);
    memory_hold(reply, call);
    reply->wakes = true;
    memory_send(reply);
}

void memory_replies_drop(struct memory_store *memory)
{
    LIST_EACH (link, &memory->replies) {
        struct reply *reply =
            LIST_OF(link, struct reply, link); /* deliver() frees it, and tells nobody */
        reply_empty(reply);
        reply->memory = NULL;
    }
}

static void hints_send(struct memory_store *memory)
{
    if (memory->hinting)
        return;
    memory->hinting = true;
    struct reply *reply = memory_reply(memory, NULL, NULL, NOD_OK);
    reply->tells = true;
    memory_send(reply);
}

void memory_hint_ask(struct memory_store *memory, struct stored_ask *ask, bool ended)
{
    struct tally *tally = ask->call->tally;

    if (!memory->told)
        return;
    if (!tally->owner)
        tally->owner = store_owner(tally->name);
    if (!memory->hints)
        memory->hints = mem_alloc(MEMORY_HINTS_MAX * sizeof(*memory->hints));
    if (memory->hint_count < MEMORY_HINTS_MAX)
        memory->hints[memory->hint_count++] =
            (struct told_ask){ ask->id, ask->call->id, tally->owner, ended };
    else
        memory->hints_lost = true;
    hints_send(memory);
}

void memory_watch_asks(struct store *store, void (*told)(void *data, const struct ask_hint *hint),
                       void *data)
{
    struct memory_store *memory = memory_enter(store);

    memory->told = told;
    memory->told_data = data;
    memory->hints_lost = true; /* what the watcher knows is not known */
    if (told)
        hints_send(memory);
}
