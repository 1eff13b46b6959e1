/*
 * store/memory: what is read, the small records and the events of streams.
 *
 * A value or an event whose time is over is not shown any more, and goes when it is met. Of one
 * stream the newest STREAM_EVENTS_MAX events are kept.
 */
#include "store/memory_inside.h"

#include "base/buf.h"
#include "base/mem.h"

enum {
    VALUES_MAX = 1000000,    /* small records, and streams */
    STREAM_EVENTS_MAX = 256, /* kept of one stream; the oldest go first */
    SCAN_MOST = 1000,        /* rows of one scan */
};

/* --- stream events --- */

void memory_event_add(struct memory_store *memory, const struct store_event *event)
{
    struct stored_stream *stream = map_get(&memory->streams, event->stream);
    size_t kept = 0;

    if (!stream) {
        stream = mem_zalloc(sizeof(*stream) + event->stream.len);
        stream->len = event->stream.len;
        memcpy(stream->name, event->stream.at, event->stream.len);
        list_init(&stream->events);
        if (!map_set(&memory->streams, str_n(stream->name, stream->len), stream)) {
            mem_free(stream);
            return;
        }
    }
    struct stored_event *stored = mem_zalloc(sizeof(*stored) + event->text.len + 1);
    char *at = stored->text;
    stored->event = *event;
    stored->event.stream = str_n(stream->name, stream->len);
    stored->event.text = str_place(&at, event->text);
    stored->expires_ms = memory_now(memory) + event->ttl_ms;
    list_append(&stream->events, &stored->link);
    LIST_EACH (link, &stream->events)
        kept++;
    if (kept > STREAM_EVENTS_MAX) {
        struct list *oldest = list_first(&stream->events);
        list_remove(oldest);
        mem_free(LIST_OF(oldest, struct stored_event, link));
    }
}

/* --- reading --- */

void memory_load_call(struct store *store, struct str call_id, store_done *done, void *data)
{
    struct memory_store *memory = memory_enter(store);
    struct call_facts *call = idmap_get(&memory->calls, call_id);
    struct spent *spent = call ? NULL : idmap_get(&memory->spent, call_id);
    struct reply *reply =
        memory_reply(memory, done, data, call || spent ? NOD_OK : NOD_E_NOT_FOUND);

    if (call) {
        memory_hold(reply, call);
        reply->with_call = true;
    } else if (spent) {
        memory_show_spent(reply, spent);
    }
    memory_send(reply);
}

void memory_load_ask(struct store *store, struct str ask_id, store_done *done, void *data)
{
    struct memory_store *memory = memory_enter(store);
    struct ask_facts *ask = idmap_get(&memory->asks, ask_id);
    struct reply *reply = memory_reply(memory, done, data, ask ? NOD_OK : NOD_E_NOT_FOUND);

    if (ask)
        memory_hold_ask(reply, ask);
    memory_send(reply);
}

static void row_of_ask(struct reply *reply, const struct ask_look *look)
{
    struct ask_record record;

    memory_ask_view(look, &record);
    reply->scanning->row(reply->data, &(struct store_row){ .ask = &record });
}

/* The heaps are not sorted; the caller asks again until nothing is due. */
static size_t scan_heap(struct reply *reply, const struct heap *heap, int64_t before, size_t most)
{
    for (size_t i = 0; i < heap->count && most > 0; i++) {
        struct stored_ask *ask = HEAP_OF(heap->slots[i].node, struct stored_ask, due);
        struct ask_look look;
        if (ask->is.expires_ms > before)
            continue;
        memory_ask_look(&ask->is, &look);
        row_of_ask(reply, &look);
        most--;
    }
    return most;
}

static void scan_asks_due(struct reply *reply, size_t most)
{
    struct memory_store *memory = reply->memory;
    int64_t before = reply->scanning->scan.before;

    if (!before)
        before = memory_now(memory);
    most = scan_heap(reply, &memory->lapsed, before, most);
    scan_heap(reply, &memory->due, before, most);
}

static void scan_runnable(struct reply *reply, size_t most)
{
    struct memory_store *memory = reply->memory;
    struct idmap_walk walk = { 0 };

    for (struct call_facts *call; most > 0 && (call = idmap_next(&memory->calls, &walk));) {
        if (call->state != CALL_STORED_RUNNABLE || !call->handed)
            continue;
        struct call_view view;
        memory_call_view(call, &view);
        reply->scanning->row(reply->data, &(struct store_row){ .call = &view.record });
        memory_call_view_finish(&view);
        most--;
    }
}

static void scan_asks_of_call(struct reply *reply, size_t most)
{
    struct memory_store *memory = reply->memory;
    struct call_facts *call = idmap_get(&memory->calls, reply->scanning->scan.key);
    struct ask_look look;

    if (!call)
        return;
    memory_hold(reply, call); /* a row may lead to anything */
    for (bool more = memory_ask_first(call, &look); more && most > 0;
         more = memory_ask_next(&look), most--)
        row_of_ask(reply, &look);
}

static void scan_events(struct reply *reply, size_t most)
{
    struct memory_store *memory = reply->memory;
    const struct store_scan *scan = &reply->scanning->scan;
    struct stored_stream *stream = map_get(&memory->streams, scan->key);

    if (!stream)
        return;
    LIST_EACH (link, &stream->events) {
        struct stored_event *stored = LIST_OF(link, struct stored_event, link);
        if (stored->event.seq <= scan->after || stored->expires_ms <= memory_now(memory))
            continue;
        if (most-- == 0)
            break;
        reply->scanning->row(reply->data, &(struct store_row){ .event = &stored->event });
    }
}

void memory_scan_rows(struct reply *reply)
{
    const struct store_scan *scan = &reply->scanning->scan;
    size_t most = scan->limit && scan->limit < SCAN_MOST ? scan->limit : SCAN_MOST;

    memory_begin(reply->memory);
    switch (scan->index) {
    case STORE_RUNNABLE:
        scan_runnable(reply, most);
        break;
    case STORE_ASKS_DUE:
        scan_asks_due(reply, most);
        break;
    case STORE_ASKS_OF_CALL:
        scan_asks_of_call(reply, most);
        break;
    case STORE_EVENTS:
        scan_events(reply, most);
        break;
    }
}

void memory_scan(struct store *store, const struct store_scan *scan, store_row_fn *row,
                 store_done *done, void *data)
{
    struct reply *reply = memory_reply(memory_enter(store), done, data, NOD_OK);
    struct scanning *scanning = mem_alloc(sizeof(*scanning) + scan->key.len + 1);
    char *at = scanning->key;

    scanning->scan = *scan;
    scanning->scan.key = str_place(&at, scan->key);
    scanning->row = row;
    reply->scanning = scanning;
    memory_send(reply);
}

/* --- small records --- */

static struct str value_key(struct buf *buf, struct str kind, struct str key)
{
    buf_init(buf, kind.len + key.len + 1);
    buf_add(buf, kind);
    buf_add_char(buf, '\0');
    buf_add(buf, key);
    return buf_str(buf);
}

static struct stored_value *value_find(struct memory_store *memory, struct str whole)
{
    struct stored_value *value = map_get(&memory->values, whole);

    if (value && value->expires_ms && value->expires_ms <= memory_now(memory)) {
        map_remove(&memory->values, whole);
        mem_free((char *)value->value.at);
        mem_free(value);
        return NULL;
    }
    return value;
}

void memory_put(struct store *store, struct str kind, struct str key, struct str value,
                uint64_t version, int64_t ttl_ms, store_done *done, void *data)
{
    struct memory_store *memory = memory_enter(store);
    struct buf buf;
    struct str whole = value_key(&buf, kind, key);
    struct stored_value *stored = value_find(memory, whole);
    uint64_t there = stored ? stored->version : STORE_NEW;
    nod_status status = version && version != there ? NOD_E_STALE : NOD_OK;

    if (status == NOD_OK && !stored) {
        stored = mem_zalloc(sizeof(*stored) + whole.len);
        stored->key_len = whole.len;
        memcpy(stored->key, whole.at, whole.len);
        if (!map_set(&memory->values, str_n(stored->key, stored->key_len), stored)) {
            mem_free(stored);
            stored = NULL;
            status = NOD_E_LIMIT;
        }
    }
    struct reply *reply = memory_reply(memory, done, data, status);
    if (status == NOD_OK) {
        mem_free((char *)stored->value.at);
        stored->value = str_n(str_dup(value), value.len);
        stored->version = ++memory->version;
        stored->expires_ms = ttl_ms > 0 ? memory_now(memory) + ttl_ms : 0;
        reply->reply.version = stored->version;
    }
    buf_finish(&buf);
    memory_send(reply);
}

void memory_get(struct store *store, struct str kind, struct str key, store_done *done, void *data)
{
    struct memory_store *memory = memory_enter(store);
    struct buf buf;
    struct stored_value *stored = value_find(memory, value_key(&buf, kind, key));
    struct reply *reply = memory_reply(memory, done, data, stored ? NOD_OK : NOD_E_NOT_FOUND);

    if (stored) {
        reply->value = str_dup(stored->value);
        reply->reply.value = str_n(reply->value, stored->value.len);
        reply->reply.version = stored->version;
    }
    buf_finish(&buf);
    memory_send(reply);
}

void memory_del(struct store *store, struct str kind, struct str key, store_done *done, void *data)
{
    struct memory_store *memory = memory_enter(store);
    struct buf buf;
    struct str whole = value_key(&buf, kind, key);
    struct stored_value *stored = value_find(memory, whole);

    if (stored) {
        map_remove(&memory->values, whole);
        mem_free((char *)stored->value.at);
        mem_free(stored);
    }
    buf_finish(&buf);
    memory_send(memory_reply(memory, done, data, stored ? NOD_OK : NOD_E_NOT_FOUND));
}

/* One process, one node: it is alive as long as its store. */
void memory_beat(struct store *store, struct str node, int64_t ttl_ms, store_done *done, void *data)
{
    (void)node;
    (void)ttl_ms;
    memory_send(memory_reply(memory_enter(store), done, data, NOD_OK));
}

void memory_watch(struct store *store, struct str node,
                  void (*wake)(void *data, struct str call_id), void *data)
{
    struct memory_store *memory = memory_enter(store);

    (void)node;
    memory->wake = wake;
    memory->wake_data = data;
}

/* --- the whole --- */

void memory_values_init(struct memory_store *memory)
{
    map_init(&memory->values, VALUES_MAX);
    map_init(&memory->streams, VALUES_MAX);
}

void memory_values_finish(struct memory_store *memory)
{
    size_t at = 0;

    for (struct stored_value *value; (value = map_next(&memory->values, &at));) {
        mem_free((char *)value->value.at);
        mem_free(value);
    }
    at = 0;
    for (struct stored_stream *stream; (stream = map_next(&memory->streams, &at));) {
        LIST_EACH (link, &stream->events)
            mem_free(LIST_OF(link, struct stored_event, link));
        mem_free(stream);
    }
    map_finish(&memory->values);
    map_finish(&memory->streams);
}
