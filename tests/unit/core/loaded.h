/*
 * tests/unit/core/loaded: a call's record, as a caller that comes back has it.
 *
 * It takes two reads of the store, which may complete in any order and may be old by then: the
 * record, and its pending asks. Everything is copied.
 */
#ifndef NOD_TESTS_CORE_LOADED_H
#define NOD_TESTS_CORE_LOADED_H

#include "world.h"

enum { LOADED_ASKS_MAX = 32 };

struct loaded {
    struct arena arena;
    struct call_record call;
    struct ask_record asks[LOADED_ASKS_MAX];
    size_t ask_count;
    nod_status status;
    int on_their_way;
};

static inline struct str loaded_keep(struct loaded *loaded, struct str s)
{
    return arena_str(&loaded->arena, s);
}

static inline void loaded_call(void *data, nod_status status, const struct store_reply *reply)
{
    struct loaded *loaded = data;

    loaded->on_their_way--;
    loaded->status = status;
    if (status != NOD_OK)
        return;
    const struct call_record *call = reply->call;
    struct entry *entries = arena_alloc(&loaded->arena, (call->entry_count + 1) * sizeof(*entries));
    loaded->call = *call;
    loaded->call.id = loaded_keep(loaded, call->id);
    loaded->call.principal = loaded_keep(loaded, call->principal);
    loaded->call.scope = loaded_keep(loaded, call->scope);
    loaded->call.target = loaded_keep(loaded, call->target);
    loaded->call.args = loaded_keep(loaded, call->args);
    loaded->call.uri = loaded_keep(loaded, call->uri);
    loaded->call.caller = loaded_keep(loaded, call->caller);
    loaded->call.result = loaded_keep(loaded, call->result);
    for (size_t i = 0; i < call->entry_count; i++) {
        entries[i] = call->entries[i];
        entries[i].key = loaded_keep(loaded, entries[i].key);
        entries[i].content = loaded_keep(loaded, entries[i].content);
        entries[i].by = loaded_keep(loaded, entries[i].by);
        entries[i].ask_id = loaded_keep(loaded, entries[i].ask_id);
        entries[i].note = loaded_keep(loaded, entries[i].note);
    }
    loaded->call.entries = entries;
}

static inline void loaded_ask(void *data, const struct store_row *row)
{
    struct loaded *loaded = data;

    if (row->ask->state != ASK_PENDING)
        return;
    assert_true(loaded->ask_count < LOADED_ASKS_MAX);
    struct ask_record *ask = &loaded->asks[loaded->ask_count++];
    *ask = *row->ask;
    ask->id = loaded_keep(loaded, ask->id);
    ask->call_id = loaded_keep(loaded, ask->call_id);
    ask->key = loaded_keep(loaded, ask->key);
    ask->message = loaded_keep(loaded, ask->message);
    ask->detail = loaded_keep(loaded, ask->detail);
    ask->url = loaded_keep(loaded, ask->url);
    ask->remember = loaded_keep(loaded, ask->remember);
}

static inline void loaded_asks(void *data, nod_status status, const struct store_reply *reply)
{
    (void)status;
    (void)reply;
    ((struct loaded *)data)->on_their_way--;
}

static inline void loaded_forget(struct loaded *loaded)
{
    arena_finish(&loaded->arena);
    memset(loaded, 0, sizeof(*loaded));
    arena_init(&loaded->arena, 1 << 20);
}

/* Done when nothing is on_their_way. */
static inline void loaded_begin(struct loaded *loaded, struct store *store, struct str call_id)
{
    loaded_forget(loaded);
    loaded->on_their_way = 2;
    store->ops->load_call(store, call_id, loaded_call, loaded);
    store->ops->scan(store, &(struct store_scan){ .index = STORE_ASKS_OF_CALL, .key = call_id },
                     loaded_ask, loaded_asks, loaded);
}

static inline bool loaded_adopt(const struct loaded *loaded, struct world *world,
                                struct world_caller *caller, bool import)
{
    return engine_adopt(world->engine, &(struct adopt_spec){ .record = &loaded->call,
                                                             .asks = loaded->asks,
                                                             .ask_count = loaded->ask_count,
                                                             .import = import,
                                                             .target = &world->target,
                                                             .caller = &caller->caller });
}

#endif
