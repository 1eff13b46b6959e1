/*
 * store/redis: what is remembered of calls and asks that went through here.
 *
 * A record is sealed for its call's scope, and an ask is stored with its call. But an operation
 * that finishes a call or answers an ask names neither. Most such operations come to the node where
 * the call was opened. So that node remembers both, up to a bound, and saves itself a read. The
 * oldest are forgotten first.
 */
#include "base/mem.h"
#include "store/redis_inside.h"

bool redis_is_id(struct str id)
{
    return id.len == ID_LEN && !memchr(id.at, '\0', ID_LEN);
}

const struct known *redis_known(struct redis_store *store, struct str id)
{
    return map_get(&store->known, id);
}

static void known_drop(struct redis_store *store, struct known *known)
{
    map_remove(&store->known, id_str(&known->id));
    list_remove(&known->link);
    mem_free(known);
}

void redis_forget(struct redis_store *store, struct str id)
{
    struct known *known = map_get(&store->known, id);

    if (known)
        known_drop(store, known);
}

void redis_know(struct redis_store *store, struct str id, struct str call, struct str scope,
                bool sensitive)
{
    struct known *known;

    if (!redis_is_id(id) || !redis_is_id(call) || map_get(&store->known, id))
        return;
    if (store->known.count >= REDIS_KNOWN_MOST)
        known_drop(store, LIST_OF(list_first(&store->known_order), struct known, link));
    known = mem_zalloc(sizeof(*known) + scope.len);
    known->id = id_of(id);
    known->call = id_of(call);
    known->sensitive = sensitive;
    known->scope_len = scope.len;
    if (scope.len)
        memcpy(known->scope, scope.at, scope.len);
    map_set(&store->known, id_str(&known->id), known);
    list_append(&store->known_order, &known->link);
}

void redis_forget_all(struct redis_store *store)
{
    LIST_EACH (at, &store->known_order)
        known_drop(store, LIST_OF(at, struct known, link));
    map_finish(&store->known);
}
