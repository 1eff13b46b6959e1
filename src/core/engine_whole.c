/*
 * core/engine_whole: an engine is made and taken apart, and its store wakes its calls.
 *
 * This file knows all the others, and none of them calls it.
 */
#include "core/grant_inside.h"

#include "base/log.h"
#include "base/mem.h"

/* Hints may have been lost. The waiting calls look one after the other, so that a store that has
 * just come back is not flooded. Those that are just looking look again: what they were told may be
 * older than the hint. */
static void wake_all(struct engine *engine)
{
    struct call *call;
    int64_t count = 0;

    for (struct idmap_walk walk = { 0 }; (call = idmap_next(&engine->calls, &walk));)
        if (call_waiting(call))
            call_take_later(call, count++ / ENGINE_LOOKS_A_MS);
        else
            call_take(call);
}

/* A hint of the store: this call may have become runnable, or have ended, elsewhere. */
static void wake(void *data, struct str id)
{
    struct call *call = engine_call_at(data, id);

    if (id.len == 0)
        wake_all(data);
    else if (call && (call->state == LIVE_RUNNING || call->state == LIVE_NEEDING))
        call_look(call);
    else if (call)
        call_take(call);
    else
        home_woken(data, id);
}

void engine_use_store(struct engine *engine, struct store *store)
{
    engine->store = store;
    engine->ops_most = store->ops->at_once;
    if (store->ops->watch)
        store->ops->watch(store, engine->node, wake, engine);
}

static size_t or_default(size_t given, size_t usual)
{
    return given ? given : usual;
}

struct engine *engine_create(const struct engine_opts *opts)
{
    struct engine *engine = MEM_NEW(struct engine);
    struct engine_limits *limits = &engine->opts.limits;

    engine->opts = *opts;
    limits->pending_asks = or_default(limits->pending_asks, ENGINE_PENDING_ASKS);
    limits->pending_asks_per_principal =
        or_default(limits->pending_asks_per_principal, ENGINE_PENDING_ASKS_PER_PRINCIPAL);
    limits->journal_entries = or_default(limits->journal_entries, ENGINE_JOURNAL_ENTRIES);
    if (!limits->journal_bytes && opts->limits.journal_entries)
        limits->journal_bytes = engine_journal_bytes_for(opts->limits.journal_entries);
    if (!opts->limits.journal_bytes && limits->journal_bytes < ENGINE_JOURNAL_BYTES)
        limits->journal_bytes = ENGINE_JOURNAL_BYTES;
    limits->run_bytes = or_default(limits->run_bytes, ENGINE_RUN_BYTES);
    limits->calls = or_default(limits->calls, ENGINE_CALLS);
    if (opts->ask_ttl_ms <= 0)
        engine->opts.ask_ttl_ms = ENGINE_ASK_TTL_MS;
    else if (opts->ask_ttl_ms > RUN_TTL_MAX_MS)
        engine->opts.ask_ttl_ms = RUN_TTL_MAX_MS;
    if (opts->next_turn_ms <= 0)
        engine->opts.next_turn_ms = ENGINE_NEXT_TURN_MS;
    engine->consent = CONSENT_ROLES;
    if (opts->consent)
        consent_named(str_of(opts->consent), &engine->consent);
    for (const char *const *field = opts->allow_fields; field && *field; field++)
        LOG_WARN("the operator allows a field that may look like a secret",
                 LOG_CSTR("field", *field));
    if (!opts->allow_fields || !opts->allow_fields[0])
        engine->opts.allow_fields = NULL;
    engine_remember(engine, opts->remember, opts->remember_count);
    engine->catalog = opts->catalog;
    engine->clock = opts->clock;
    if (opts->node.len) {
        engine->node_text = str_dup(opts->node);
        engine->node = str_n(engine->node_text, opts->node.len);
    } else {
        id_random(&engine->node_id);
        engine->node = id_str(&engine->node_id);
    }
    engine->hooks = opts->hooks;
    if (!engine->hooks) {
        engine->hooks = &engine->own_hooks;
        engine_hooks_init(engine->hooks);
    }
    engine->hooks->engine = engine;
    idmap_init(&engine->calls, SIZE_MAX / 2, offsetof(struct call, id)); /* see call_list */
    idmap_init(&engine->asks, SIZE_MAX / 2, offsetof(struct ask, id));
    map_init(&engine->tallies, SIZE_MAX / 2);
    map_init(&engine->claims_of_ask, SIZE_MAX / 2); /* never more than there are claims */
    map_init(&engine->scopes, SIZE_MAX / 2);
    map_init(&engine->schemas, ENGINE_SCHEMAS_KEPT);
    engine->asks_moved = 1;
    heap_init(&engine->due);
    counts_init(&engine->counts);
    list_init(&engine->watches);
    list_init(&engine->claims);
    list_init(&engine->works);
    list_init(&engine->brought);
    fair_init(&engine->ops_line, SIZE_MAX);
    homes_init(engine);
    nobody_init(&engine->nobody);
    inners_init(engine);
    engine_use_store(engine, opts->store);
    nodes_init(engine);
    suspects_init(engine);
    return engine;
}

void engine_destroy(struct engine *engine)
{
    size_t at = 0;

    if (!engine)
        return;
    struct idmap_walk walk = { 0 };
    engine->store = store_gone(); /* what is begun from here on reaches no store */
    for (struct call *call; (call = idmap_next(&engine->calls, &walk));)
        call_end_told(call, NOD_E_STORE); /* first: works and answers may wait for that end */
    engine_works_drop(engine);            /* before the answers, which some of them tell */
    claims_drop(engine);
    engine_works_drop(engine); /* those that the answers left */
    recovery_free(engine);     /* it is told of the claims that it made */
    suspects_drop(engine);
    walk = (struct idmap_walk){ 0 };
    for (struct call *call; (call = idmap_next(&engine->calls, &walk));)
        call_free(call);
    inners_drop(engine);
    brought_drop(engine); /* last: an end that is told above may be heard there */
    nodes_drop(engine);
    secrets_drop(engine); /* which some of them waited for */
    schemas_forget(engine);
    for (struct tally *tally; (tally = map_next(&engine->tallies, &at));)
        mem_free(tally);
    idmap_finish(&engine->calls);
    idmap_finish(&engine->asks);
    map_finish(&engine->tallies);
    map_finish(&engine->claims_of_ask);
    map_finish(&engine->scopes);
    homes_drop(engine);
    targets_left_drop(engine);
    fetched_drop(engine);
    mem_free(engine->gone);
    fair_finish(&engine->ops_line);
    hooks_finish(engine->hooks);
    heap_finish(&engine->due);
    grant_rules_drop(engine);
    mem_free(engine->node_text);
    mem_free(engine);
}

const struct flow_table *engine_flow(nod_flow flow)
{
    static const struct flow_table *const tables[] = {
        [NOD_FLOW_CALL] = &call_flow, [NOD_FLOW_ASK] = &ask_flow, [NOD_FLOW_ANSWER] = &answer_flow
    };
    return flow >= NOD_FLOW_CALL && flow <= NOD_FLOW_ANSWER ? tables[flow] : NULL;
}
