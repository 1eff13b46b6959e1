/*
 * core/engine: what is live on this node.
 *
 * The engine keeps calls, pending asks, answers under way, and one heap of everything that happens
 * at a set time. It does not decide what an answer means (claim.c) or what a call does next
 * (call.c): everybody calls this file, and it calls nobody back. engine_whole.c makes the engine.
 *
 * Holds always: an ask is in `asks` exactly while it is pending here and known to the store. For
 * exactly as long it is counted for its principal.
 */
#include "core/call_inside.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"

struct kept_schema {
    struct schema *schema;
    size_t len;
    char text[];
};

size_t engine_journal_bytes_for(size_t entries)
{
    return entries < ENGINE_JOURNAL_BYTES_MOST / ENGINE_JOURNAL_ENTRY_BYTES
               ? entries * ENGINE_JOURNAL_ENTRY_BYTES
               : ENGINE_JOURNAL_BYTES_MOST;
}

static size_t at_least(size_t value, size_t least)
{
    return value > least ? value : least;
}

const char *engine_journal_wrong(size_t entries, size_t bytes)
{
    if (entries > ENGINE_JOURNAL_ENTRIES_MOST)
        return "journal_entries is more than 4096";
    if (bytes && bytes < ENGINE_JOURNAL_BYTES_LEAST)
        return "journal_bytes is less than 4096";
    if (bytes > ENGINE_JOURNAL_BYTES_MOST)
        return "journal_bytes is more than 4194304";
    return NULL;
}
_Static_assert(ENGINE_JOURNAL_ENTRIES_MOST == 4096 && ENGINE_JOURNAL_BYTES_LEAST == 4096 &&
                   ENGINE_JOURNAL_BYTES_MOST == 4194304,
               "as engine_journal_wrong, the header and the help say");

struct journal_limits engine_journal_limits(const struct engine *engine,
                                            const struct target *target)
{
    const struct engine_limits *limits = &engine->opts.limits;
    struct journal_limits own = { limits->journal_entries, limits->journal_bytes };

    if (target && target->journal_entries) {
        own.entries = target->journal_entries;
        own.bytes = at_least(engine_journal_bytes_for(own.entries), own.bytes);
    }
    if (target && target->journal_bytes)
        own.bytes = target->journal_bytes;
    return own;
}

void schemas_forget(struct engine *engine)
{
    size_t at = 0;

    for (struct kept_schema *kept; (kept = map_next(&engine->schemas, &at));) {
        schema_destroy(kept->schema);
        mem_free(kept);
    }
    map_finish(&engine->schemas);
}

void engine_use_pages(struct engine *engine, const struct engine_pages *pages)
{
    engine->pages = *pages;
}

bool engine_has_page(const struct engine *engine, enum ask_page page)
{
    return engine->pages.link && engine->pages.kinds & 1u << page;
}

struct hooks *engine_hooks(struct engine *engine)
{
    return engine->hooks;
}

/* --- what there is to call --- */

void engine_use_catalog(struct engine *engine, const struct catalog *catalog)
{
    engine->catalog = catalog;
}

struct target *target_of_ask(const struct engine *engine, const struct ask_record *record)
{
    return engine->catalog ? catalog_of_ask(engine->catalog, record) : NULL;
}

struct target *target_for(const struct engine *engine, struct str principal, struct str name)
{
    return target_of_ask(engine, &(struct ask_record){ .principal = principal, .target = name });
}

bool target_is_gone(const struct engine *engine, const struct ask_record *record)
{
    return engine->catalog && !engine->store->ops->shared && !target_of_ask(engine, record);
}

/* --- things that happen at a set time --- */

void due_set(struct engine *engine, struct due *due, int64_t after_ms,
             void (*fire)(struct due *due))
{
    int64_t at;

    if (__builtin_add_overflow(clock_mono(engine->clock), after_ms, &at))
        at = INT64_MAX;
    due->fire = fire;
    heap_set(&engine->due, &due->node, at);
}

void due_stop(struct engine *engine, struct due *due)
{
    heap_remove(&engine->due, &due->node);
}

int64_t engine_deadline(const struct engine *engine)
{
    const struct heap_node *first = heap_first(&engine->due);

    return first ? first->at : INT64_MAX;
}

void engine_tick(struct engine *engine)
{
    int64_t now = clock_mono(engine->clock);

    for (int i = 0; i < ENGINE_TICK_MAX; i++) {
        struct heap_node *first = heap_first(&engine->due);
        if (!first || first->at > now)
            break;
        struct due *due = HEAP_OF(first, struct due, node);
        heap_remove(&engine->due, first);
        due->fire(due);
    }
}

bool engine_survives(const struct engine *engine)
{
    return engine->store->ops->durable || engine->store->ops->shared;
}

struct store *engine_store(const struct engine *engine)
{
    return engine->store;
}

bool engine_ready(const struct engine *engine, struct str *why)
{
    struct store *store = engine->store;

    *why = STR("the store does not answer");
    return !store->ops->ready || store->ops->ready(store, why);
}

bool engine_fit(const struct engine *engine, struct str *why)
{
    struct store *store = engine->store;

    return engine_ready(engine, why) && (!store->ops->opens || store->ops->opens(store, why));
}

bool engine_lacks_secret(const struct engine *engine)
{
    struct store *store = engine->store;
    struct str why;

    return store->ops->opens && !store->ops->opens(store, &why);
}

int64_t engine_now(const struct engine *engine)
{
    struct store *store = engine->store;

    return store->ops->now ? store->ops->now(store) : clock_wall(engine->clock);
}

size_t engine_calls(const struct engine *engine)
{
    return engine->calls.count;
}

const struct counts *engine_counts(const struct engine *engine)
{
    return &engine->counts;
}

size_t engine_pending(const struct engine *engine)
{
    return engine->pending - engine->pending_calls;
}

struct call *engine_call_at(const struct engine *engine, struct str call_id)
{
    return idmap_get(&engine->calls, call_id);
}

struct ask *engine_ask(const struct engine *engine, struct str ask_id)
{
    return idmap_get(&engine->asks, ask_id);
}

/* --- limits --- */

enum store_quota tally_full(struct engine *engine, struct str principal, size_t *most)
{
    const struct engine_limits *limits = &engine->opts.limits;
    const struct tally *tally = map_get(&engine->tallies, principal);

    *most = limits->pending_asks_per_principal;
    if (tally && tally->count >= *most)
        return STORE_QUOTA_PRINCIPAL;
    *most = limits->pending_asks;
    return engine->pending >= *most ? STORE_QUOTA_ALL : STORE_QUOTA_NONE;
}

struct tally *tally_add(struct engine *engine, struct str principal)
{
    struct tally *tally = map_get(&engine->tallies, principal);

    if (!tally) {
        tally = mem_zalloc(sizeof(*tally) + principal.len);
        tally->len = principal.len;
        if (principal.len)
            memcpy(tally->name, principal.at, principal.len);
        map_add(&engine->tallies, str_n(tally->name, tally->len), tally);
    }
    tally->count++;
    engine->pending++;
    return tally;
}

void tally_drop(struct engine *engine, struct tally *tally)
{
    engine->pending--;
    if (--tally->count > 0)
        return;
    map_remove(&engine->tallies, str_n(tally->name, tally->len));
    mem_free_sized(tally, sizeof(*tally) + tally->len);
}

/* --- what is kept for a principal --- */

void engine_also_full(struct engine *engine,
                      enum store_quota (*full)(void *data, struct str principal, uint64_t *most),
                      void *data)
{
    engine->also_full = full;
    engine->also_full_data = data;
}

enum store_quota engine_full(struct engine *engine, struct str principal, uint64_t *most)
{
    struct store *store = engine->store;
    enum store_quota quota =
        store->ops->full ? store->ops->full(store, principal, most) : STORE_QUOTA_NONE;

    if (!quota && engine->also_full)
        quota = engine->also_full(engine->also_full_data, principal, most);
    return quota;
}

/* --- schemas --- */

const struct schema *engine_schema(struct engine *engine, struct str text)
{
    struct kept_schema *kept = map_get(&engine->schemas, text);

    if (kept)
        return kept->schema;
    if (engine->schemas.count >= ENGINE_SCHEMAS_KEPT)
        schemas_forget(engine);

    struct arena arena;
    struct json_error error;
    struct schema_problems problems = { 0 };
    struct schema *schema = NULL;
    arena_init(&arena, 4 << 20);
    struct json *value = json_parse(&arena, text, NULL, &error);
    if (value)
        schema = schema_compile(value,
                                &(struct schema_opts){ .assert_formats = true,
                                                       .getter_numbers = true,
                                                       .distinct_items = true },
                                &arena, &problems);
    arena_finish(&arena);
    if (!schema)
        return NULL;
    kept = mem_alloc(sizeof(*kept) + text.len);
    kept->schema = schema;
    kept->len = text.len;
    memcpy(kept->text, text.at, text.len);
    map_set(&engine->schemas, str_n(kept->text, kept->len), kept);
    return schema;
}
