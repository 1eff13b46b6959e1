/*
 * store/memory: small records.
 *
 * A record whose time is over is no longer shown, and is dropped when it is met, or with the next
 * sweep. A record counts against its principal, with the memory it takes.
 */
#include "store/memory_inside.h"

#include "base/buf.h"
#include "base/mem.h"

enum {
    VALUES_MAX = 1000000, /* small records */
    LIST_MOST = 1000,     /* small records of one page */
    LIST_BYTES = 8 << 20, /* bytes of one page, after which it ends early */
    LIST_ROOM = 64 << 20, /* memory of one page with its last record */
};

static struct str memory_value_key(struct buf *buf, struct str kind, struct str key)
{
    buf_init(buf, kind.len + key.len + 1);
    buf_add(buf, kind);
    buf_add_char(buf, '\0');
    buf_add(buf, key);
    return buf_str(buf);
}

static int value_order(const void *key, const struct tree_node *node)
{
    const struct str *whole = key;
    const struct stored_value *value = TREE_OF(node, struct stored_value, in_order);
    size_t both = whole->len < value->key_len ? whole->len : value->key_len;
    int order = both ? memcmp(whole->at, value->key, both) : 0;

    return order ? order : whole->len < value->key_len ? -1 : whole->len > value->key_len;
}

static struct str whole_of(const struct stored_value *value)
{
    return str_n(value->key, value->key_len);
}

/* It is this tally's from now on (NULL: nobody's), and counts as large as it is. */
static void value_count(struct memory_store *memory, struct stored_value *value,
                        struct tally *tally)
{
    struct tally *before = value->tally;
    int64_t bytes = kept_small(STR_NONE, whole_of(value), value->value);

    if (tally) {
        tally->holders++;
        memory_count(memory, tally, bytes);
    }
    if (before) {
        memory_count(memory, before, -value->bytes);
        memory_tally_release(memory, before);
    }
    value->tally = tally;
    value->bytes = bytes;
}

static void value_drop(struct memory_store *memory, struct stored_value *value)
{
    struct str whole = whole_of(value);

    value_count(memory, value, NULL);
    heap_remove(&memory->values_due, &value->due);
    tree_remove(&memory->values, &value->in_order, &whole, value_order);
    memory->value_count--;
    mem_free((char *)value->value.at);
    mem_free(value);
}

static bool value_is_over(const struct memory_store *memory, const struct stored_value *value)
{
    return value->expires_ms && value->expires_ms <= memory_now(memory);
}

/* The first record whose key is not before this one; or, if it must not be the same, after it. */
static struct stored_value *value_from(struct memory_store *memory, struct str whole, bool itself)
{
    struct tree_node *node = itself ? tree_from(&memory->values, &whole, value_order)
                                    : tree_after(&memory->values, &whole, value_order);

    return node ? TREE_OF(node, struct stored_value, in_order) : NULL;
}

static struct stored_value *value_find(struct memory_store *memory, struct str whole)
{
    struct stored_value *value = value_from(memory, whole, true);

    if (!value || !str_eq(whole_of(value), whole))
        return NULL;
    if (!value_is_over(memory, value))
        return value;
    value_drop(memory, value);
    return NULL;
}

static struct stored_value *value_add(struct memory_store *memory, struct str whole)
{
    if (memory->value_count == VALUES_MAX)
        return NULL;
    struct stored_value *stored = mem_zalloc(sizeof(*stored) + whole.len);
    stored->key_len = whole.len;
    memcpy(stored->key, whole.at, whole.len);
    tree_add(&memory->values, &stored->in_order, &whole, value_order);
    memory->value_count++;
    return stored;
}

static void value_set(struct memory_store *memory, struct stored_value *stored, struct str value,
                      struct tally *tally, int64_t ttl_ms)
{
    mem_free((char *)stored->value.at);
    stored->value = str_n(str_dup(value), value.len);
    stored->version = ++memory->version;
    stored->expires_ms = ttl_ms > 0 ? memory_now(memory) + ttl_ms : 0;
    if (stored->expires_ms) {
        heap_set(&memory->values_due, &stored->due, stored->expires_ms);
        memory_note_due(memory, stored->expires_ms);
    } else {
        heap_remove(&memory->values_due, &stored->due);
    }
    value_count(memory, stored, tally);
    if (tally)
        memory_make_room(memory, tally, 0);
}

void memory_put(struct store *store, struct str kind, struct str key, struct str value,
                struct str whose, uint64_t version, int64_t ttl_ms, store_done *done, void *data)
{
    struct memory_store *memory = memory_enter(store);
    struct buf buf;
    struct str whole = memory_value_key(&buf, kind, key);
    struct stored_value *stored = value_find(memory, whole);
    bool if_room = version == STORE_IF_ROOM;
    uint64_t there = stored ? stored->version : STORE_NEW;
    nod_status status = version && !if_room && version != there ? NOD_E_STALE : NOD_OK;
    struct str owner = whose.len || !stored || !stored->tally ? whose : stored->tally->name;
    struct tally *tally = owner.len ? memory_tally_hold(memory, owner) : NULL;
    enum store_quota quota = STORE_QUOTA_NONE;

    if (if_room && !stored && tally)
        quota = memory_full(memory, tally, 0, (uint64_t)kept_small(kind, key, value));
    if (quota)
        status = NOD_E_LIMIT;
    if (status == NOD_OK && !stored && !(stored = value_add(memory, whole)))
        status = NOD_E_LIMIT;
    struct reply *reply = memory_reply(memory, done, data, status);
    reply->reply.quota = quota;
    reply->reply.quota_most = memory_quota_most(memory, quota);
    if (status == NOD_OK) {
        value_set(memory, stored, value, tally, ttl_ms);
        reply->reply.version = stored->version;
    }
    if (tally)
        memory_tally_release(memory, tally);
    buf_finish(&buf);
    memory_send(reply);
}

void memory_get(struct store *store, struct str kind, struct str key, store_done *done, void *data)
{
    struct memory_store *memory = memory_enter(store);
    struct buf buf;
    struct stored_value *stored = value_find(memory, memory_value_key(&buf, kind, key));
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
    struct str whole = memory_value_key(&buf, kind, key);
    struct stored_value *stored = value_find(memory, whole);

    if (stored)
        value_drop(memory, stored);
    buf_finish(&buf);
    memory_send(memory_reply(memory, done, data, stored ? NOD_OK : NOD_E_NOT_FOUND));
}

/* --- listing --- */

/* Adds a record to the page. False: its time is over, and it is dropped. */
static bool list_add(struct memory_store *memory, struct listing *listing, struct listed ***end,
                     struct stored_value *value, size_t kind_len)
{
    struct listed *listed;

    if (value_is_over(memory, value)) {
        value_drop(memory, value);
        return false;
    }
    listed = ARENA_NEW(&listing->arena, struct listed);
    if (!listed)
        return false;
    listed->value.key = arena_str(&listing->arena, str_skip(whole_of(value), kind_len + 1));
    listed->value.value = arena_str(&listing->arena, value->value);
    listed->value.version = value->version;
    **end = listed;
    *end = &listed->next;
    return true;
}

void memory_list(struct store *store, const struct store_list *list, store_row_fn *row,
                 store_done *done, void *data)
{
    struct memory_store *memory = memory_enter(store);
    struct reply *reply = memory_reply(memory, done, data, NOD_OK);

    if (list->cursor.len && list->cursor.at[0] != '.') {
        reply->status = NOD_E_USAGE;
    } else {
        reply->listing = MEM_NEW(struct listing);
        arena_init(&reply->listing->arena, LIST_ROOM);
        reply->listing->row = row;
        struct listing *listing = reply->listing;
        size_t most = list->limit && list->limit < LIST_MOST ? list->limit : LIST_MOST, count = 0;
        struct listed **end = &listing->first;
        struct buf prefix, cursor;
        struct str begins = memory_value_key(&prefix, list->kind, list->prefix);
        struct str last =
            memory_value_key(&cursor, list->kind, str_skip(list->cursor, list->cursor.len > 0));
        bool first = list->cursor.len == 0;
        struct stored_value *at = value_from(memory, first ? begins : last, first);
        while (at && str_starts(whole_of(at), begins) && count < most &&
               listing->arena.used < LIST_BYTES) {
            last = arena_str(&listing->arena, whole_of(at));
            count += list_add(memory, listing, &end, at, list->kind.len);
            at = value_from(memory, last, false); /* by its key, because the last one may be gone */
        }
        if (at && str_starts(whole_of(at), begins)) {
            /* A dot before the key, so that the cursor of an empty key is not empty. */
            char *text = (char *)last.at + list->kind.len;
            text[0] = '.';
            reply->reply.cursor = str_n(text, last.len - list->kind.len);
        }
        buf_finish(&prefix);
        buf_finish(&cursor);
    }
    memory_send(reply);
}

void memory_list_rows(struct reply *reply)
{
    for (struct listed *at = reply->listing->first; at && reply->memory; at = at->next)
        reply->listing->row(reply->data, &(struct store_row){ .value = &at->value });
}

/* --- the whole --- */

void memory_values_finish(struct memory_store *memory)
{
    for (struct tree_node *first; (first = tree_first(&memory->values));)
        value_drop(memory, TREE_OF(first, struct stored_value, in_order));
    heap_finish(&memory->values_due);
}

void memory_values_sweep(struct memory_store *memory, int most)
{
    struct heap_node *first;

    for (; most > 0 && (first = heap_first(&memory->values_due)); most--) {
        if (first->at > memory_now(memory))
            break;
        value_drop(memory, HEAP_OF(first, struct stored_value, due));
    }
}
