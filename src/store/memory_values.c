/*
 * store/memory: the small records.
 *
 * One whose time is over is not shown any more, and goes when it is met.
 */
#include "store/memory_inside.h"

#include "base/buf.h"
#include "base/mem.h"

enum { VALUES_MAX = 1000000 }; /* small records */

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

/* --- the whole --- */

void memory_values_init(struct memory_store *memory)
{
    map_init(&memory->values, VALUES_MAX);
}

void memory_values_finish(struct memory_store *memory)
{
    size_t at = 0;

    for (struct stored_value *value; (value = map_next(&memory->values, &at));) {
        mem_free((char *)value->value.at);
        mem_free(value);
    }
    map_finish(&memory->values);
}
