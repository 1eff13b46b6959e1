/*
 * core/fetched: the store is told that a result was handed out.
 *
 * A client may fetch a result as often as it likes, and many results at once. The store is told
 * once of each, and of few at a time. What is marked in this process itself (a store in memory)
 * costs nothing to tell, and is told at once.
 *
 * The newest FETCHED_KNOWN marks are known, in a ring: those that were told, then those that are
 * under way, then those that wait. A mark is only a hint (store_ops.fetched): one for which there
 * is no place in the ring is left out, and the result stays for its time, or until it is handed out
 * again.
 *
 * Holds always: of one call at most one mark is in the ring, and at most FETCHED_AT_ONCE are under
 * way.
 */
#include "core/call_inside.h"

#include "base/mem.h"

enum {
    FETCHED_KNOWN = 4096, /* results of which the store was told, or is to be: the newest */
    FETCHED_AT_ONCE = 64, /* of which it is being told */
};

struct fetched_mark {
    struct engine *engine;
    struct id call; /* in `known`, unless the store was not told after all */
    bool under_way;
};

struct fetched {
    struct idmap known;
    uint64_t made, sent; /* since the engine began; a mark is at ring[its number % FETCHED_KNOWN] */
    size_t under_way;
    struct fetched_mark ring[FETCHED_KNOWN];
};

static void marks_send(struct engine *engine);

static void mark_told(void *data, nod_status status, const struct store_reply *reply)
{
    struct fetched_mark *mark = data;
    struct engine *engine = mark->engine;

    (void)reply;
    mark->under_way = false;
    engine->fetched->under_way--;
    if (status == NOD_E_STORE || status == NOD_E_NOT_FOUND) /* the next who fetches it tells it */
        idmap_remove(&engine->fetched->known, mark);
    marks_send(engine);
}

static void marks_send(struct engine *engine)
{
    struct fetched *fetched = engine->fetched;

    while (fetched->sent < fetched->made && fetched->under_way < FETCHED_AT_ONCE) {
        struct fetched_mark *mark = &fetched->ring[fetched->sent++ % FETCHED_KNOWN];
        mark->under_way = true;
        fetched->under_way++;
        engine->store->ops->fetched(engine->store, id_str(&mark->call), mark_told, mark);
    }
}

static struct fetched *fetched_create(void)
{
    struct fetched *fetched = MEM_NEW(struct fetched);

    idmap_init(&fetched->known, FETCHED_KNOWN, offsetof(struct fetched_mark, call));
    return fetched;
}

void engine_fetched(struct engine *engine, struct str call_id)
{
    if (!engine->store->ops->fetched)
        return;
    if (!engine_survives(engine)) {
        engine->store->ops->fetched(engine->store, call_id, NULL, NULL);
        return;
    }
    if (!engine->fetched)
        engine->fetched = fetched_create();
    struct fetched *fetched = engine->fetched;
    struct fetched_mark *mark = &fetched->ring[fetched->made % FETCHED_KNOWN];
    bool full = mark->under_way || fetched->made - fetched->sent == FETCHED_KNOWN;
    if (full || call_id.len != ID_LEN || idmap_get(&fetched->known, call_id))
        return;
    idmap_remove(&fetched->known, mark); /* the oldest */
    *mark = (struct fetched_mark){ .engine = engine, .call = id_of(call_id) };
    idmap_add(&fetched->known, mark);
    fetched->made++;
    marks_send(engine);
}

void fetched_drop(struct engine *engine)
{
    if (engine->fetched)
        idmap_finish(&engine->fetched->known);
    mem_free(engine->fetched);
}
