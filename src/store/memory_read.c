/*
 * store/memory: loads and scans of calls and asks.
 *
 * A load holds the record that it shows. A scan shows what is there when its completion is
 * delivered.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

enum { SCAN_MOST = 1000 }; /* rows of one scan */

/* --- loads --- */

static struct reply *load(struct memory_store *memory, struct str call_id, store_done *done,
                          void *data)
{
    struct stored_call *call = idmap_get(&memory->calls, call_id);
    struct spent *spent = call ? NULL : idmap_get(&memory->spent, call_id);
    struct reply *reply =
        memory_reply(memory, done, data, call || spent ? NOD_OK : NOD_E_NOT_FOUND);

    if (call) {
        memory_hold(reply, call);
        reply->with_call = true;
    } else if (spent) {
        memory_show_spent(reply, spent);
    }
    return reply;
}

void memory_load_call(struct store *store, struct str call_id, store_done *done, void *data)
{
    memory_send(load(memory_enter(store), call_id, done, data));
}

void memory_load_with_asks(struct store *store, struct str call_id, size_t most, store_row_fn *row,
                           store_done *done, void *data)
{
    struct reply *reply = load(memory_enter(store), call_id, done, data);

    if (reply->with_call) {
        reply->scanning = MEM_NEW(struct scanning);
        reply->scanning->scan = (struct store_scan){ .index = STORE_ASKS_OF_CALL, .limit = most };
        reply->scanning->row = row;
    }
    memory_send(reply);
}

bool memory_lacks_call(const struct store *store, struct str call_id)
{
    const struct memory_store *memory = (const struct memory_store *)(const void *)store;

    return !idmap_get(&memory->calls, call_id) && !idmap_get(&memory->spent, call_id);
}

void memory_load_ask(struct store *store, struct str ask_id, store_done *done, void *data)
{
    struct memory_store *memory = memory_enter(store);
    struct stored_ask *ask = idmap_get(&memory->asks, ask_id);
    struct reply *reply = memory_reply(memory, done, data, ask ? NOD_OK : NOD_E_NOT_FOUND);

    if (ask) {
        memory_hold(reply, ask->call);
        reply->ask = ask;
    }
    memory_send(reply);
}

/* --- scans --- */

void memory_row_of_ask(struct reply *reply, const struct stored_ask *ask)
{
    struct ask_record record = memory_ask_view(ask);

    reply->scanning->row(reply->data, &(struct store_row){ .ask = &record });
}

/* The heaps are not sorted. The caller asks again until nothing is due. */
static size_t scan_heap(struct reply *reply, const struct heap *heap, int64_t before, size_t most)
{
    for (size_t i = 0; i < heap->count && most > 0; i++) {
        struct stored_ask *ask = HEAP_OF(heap->slots[i].node, struct stored_ask, due);
        if (ask->expires_ms > before)
            continue;
        memory_row_of_ask(reply, ask);
        most--;
    }
    return most;
}

static bool is_runnable(const struct stored_call *call)
{
    return call->handed && (call->state == CALL_STORED_RUNNABLE ||
                            (call->state == CALL_STORED_RUNNING && call->gone));
}

/* What an operator is shown of a call. */
static struct call_record call_outline(const struct call_record *whole)
{
    return (struct call_record){ .id = whole->id,
                                 .principal = whole->principal,
                                 .kind = whole->kind,
                                 .target = whole->target,
                                 .state = whole->state,
                                 .epoch = whole->epoch,
                                 .opened_ms = whole->opened_ms,
                                 .handed = whole->handed,
                                 .node = whole->node,
                                 .deaths = whole->deaths };
}

/* Calls are in no order, so a page is those with the smallest ids after the cursor. */
static void scan_calls(struct reply *reply, size_t most)
{
    struct memory_store *memory = reply->memory;
    struct scanning *scanning = reply->scanning;
    bool runnable = scanning->scan.index == STORE_RUNNABLE;
    struct id *page = mem_alloc((most + 1) * sizeof(*page));
    struct idmap_walk walk = { 0 };
    size_t count = 0;

    for (const struct stored_call *call; (call = idmap_next(&memory->calls, &walk));) {
        size_t at = count;
        if ((runnable && !is_runnable(call)) ||
            (scanning->cursor.given &&
             memcmp(call->id.text, scanning->cursor.name.at, ID_LEN) <= 0))
            continue;
        while (at > 0 && memcmp(call->id.text, page[at - 1].text, ID_LEN) < 0)
            at--;
        if (at > most)
            continue;
        memmove(page + at + 1, page + at, ((count > most ? most : count) - at) * sizeof(*page));
        page[at] = call->id;
        count += count <= most;
    }
    for (size_t i = 0; i < count && i < most; i++) {
        struct stored_call *call = idmap_get(&memory->calls, id_str(&page[i]));
        if (!call || (runnable && !is_runnable(call)))
            continue; /* the callback of a row has changed or dropped it */
        struct call_record whole = memory_call_view(call);
        struct call_record record = runnable ? whole : call_outline(&whole);
        scanning->row(reply->data,
                      &(struct store_row){ .call = &record, .pending = call->pending });
    }
    if (count > most)
        reply->reply.cursor = cursor_write(scanning->next, 0, id_str(&page[most - 1]));
    mem_free(page);
}

static void memory_scan_of_call(struct reply *reply, size_t most)
{
    struct memory_store *memory = reply->memory;
    struct stored_call *call =
        reply->with_call ? reply->call : idmap_get(&memory->calls, reply->scanning->scan.key);

    if (!call || (reply->with_call && call->state != CALL_STORED_WAITING))
        return;
    if (!reply->with_call)
        memory_hold(reply, call); /* the row's callback may change anything */
    size_t skip = call->ask_count > most ? call->ask_count - most : 0;
    const struct stored_ask *ask = call->asks;
    for (; skip > 0; skip--)
        ask = ask->next;
    for (; ask && most > 0; ask = ask->next, most--)
        memory_row_of_ask(reply, ask);
}

void memory_scan_rows(struct reply *reply)
{
    const struct store_scan *scan = &reply->scanning->scan;
    size_t most = scan->limit && scan->limit < SCAN_MOST ? scan->limit : SCAN_MOST;
    struct memory_store *memory = reply->memory;

    memory_begin(memory);
    int64_t before = scan->before ? scan->before : memory_now(memory);
    switch (scan->index) {
    case STORE_RUNNABLE:
    case STORE_CALLS:
        scan_calls(reply, most);
        break;
    case STORE_ASKS_DUE:
        most = scan_heap(reply, &memory->lapsed, before, most);
        scan_heap(reply, &memory->due, before, most);
        break;
    case STORE_ASKS_OF_CALL:
        memory_scan_of_call(reply, most);
        break;
    case STORE_ASKS_PENDING:
    case STORE_ASKS_ENDED:
        memory_index_scan(reply, most);
        break;
    }
}

void memory_scan(struct store *store, const struct store_scan *scan, store_row_fn *row,
                 store_done *done, void *data)
{
    struct reply *reply = memory_reply(memory_enter(store), done, data, NOD_OK);
    struct scanning *scanning = mem_alloc(sizeof(*scanning) + scan->key.len + scan->cursor.len + 2);
    char *at = scanning->key;

    scanning->scan = *scan;
    scanning->scan.key = str_place(&at, scan->key);
    if (!cursor_read(str_place(&at, scan->cursor), &scanning->cursor) ||
        (scanning->cursor.given && scanning->cursor.name.len != ID_LEN))
        reply->status = NOD_E_USAGE;
    scanning->row = row;
    reply->scanning = scanning;
    memory_send(reply);
}
