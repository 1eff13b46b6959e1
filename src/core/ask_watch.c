/*
 * core/ask_watch: several watchers of the asks that come up and end, on a store that tells one.
 *
 * The store is watched while there is a watcher. A new one makes the watch begin again, so that all
 * are told to look at everything: the new one has to, and for the others it is one look more.
 */
#include "core/inside.h"

static void watches_tell(void *data, const struct ask_hint *hint)
{
    struct engine *engine = data;

    LIST_EACH (at, &engine->watches) {
        const struct ask_watch *watch = LIST_OF(at, struct ask_watch, link);
        watch->told(watch->data, hint);
    }
}

void engine_watch_asks(struct engine *engine, struct ask_watch *watch)
{
    list_append(&engine->watches, &watch->link);
    engine->store->ops->watch_asks(engine->store, watches_tell, engine);
}

void engine_unwatch_asks(struct engine *engine, struct ask_watch *watch)
{
    if (!watch->link.next || list_empty(&watch->link))
        return;
    list_remove(&watch->link);
    if (list_empty(&engine->watches))
        engine->store->ops->watch_asks(engine->store, NULL, NULL);
}
