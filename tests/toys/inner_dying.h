/*
 * tests/toys/inner_dying: a process that dies while a call waits for a call, and a store that says
 * which version of its tool a call began with.
 */
#ifndef NOD_TESTS_TOYS_INNER_DYING_H
#define NOD_TESTS_TOYS_INNER_DYING_H

#include "core/inside.h"
#include "inner.h"

/* --- the process dies --- */

/*
 * A process that dies does nothing more: its engine is kept aside with what the store would have
 * told it, and goes when its store is gone.
 */
static struct {
    struct engine *engine;
    struct {
        void (*fn)(void *data);
        void *data;
    } queue[WORLD_QUEUE_MAX];
    size_t queued;
} dead;

static int adopted; /* calls that nobody worked on */

static inline void orphan(void *data, const struct call_record *record)
{
    struct target *target = catalog_find(catalog, TARGET_TOOL, record->target);
    struct world_caller *caller;

    (void)data;
    if (engine_find(world.engine, record->id))
        return;
    if (!target) {
        engine_orphan_gone(world.engine, record);
        return;
    }
    caller = world_caller_new(&world);
    caller->way = CALLER_LEAVES;
    caller->caller.ops = &held_ops;
    adopted++;
    assert_true(engine_adopt(
        world.engine,
        &(struct adopt_spec){ .record = record, .target = target, .caller = &caller->caller }));
}

static inline void recover(void)
{
    engine_recover(world.engine, &(struct recovery_opts){ .orphan = orphan });
}

static struct loaded loaded;

static inline void load(const char *id)
{
    loaded_begin(&loaded, world.store, str_of(id));
    world_settle(&world);
}

/* A store in memory does not see that a node is gone: it is told of both calls. */
static inline void lose_calls(void)
{
    load(call_name);
    memory_store_lose(world.store, str_of(call_name), true);
    for (size_t i = 0; i < loaded.ask_count; i++)
        memory_store_lose(world.store, loaded.asks[i].id, true);
    loaded_forget(&loaded);
}

static inline void die(void)
{
    dead.engine = world.engine;
    memcpy(dead.queue, world.queue, sizeof(world.queue));
    dead.queued = world.queued;
    world.queued = 0;
    world_engine(&world);
    engine_again();
    world.engine->opts.ask_ttl_ms = 3600000;
    for (size_t i = 0; i < world.shown_count; i++)
        world.shown[i].up = false;
    lose_calls();
}

static inline void finish_both(void)
{
    struct engine *engine = world.engine;

    world.engine = dead.engine;
    if (!dead.engine) {
        world.engine = engine;
        finish();
        return;
    }
    world_finish(&world);
    engine_destroy(engine);
    memcpy(world.queue, dead.queue, sizeof(world.queue));
    world.queued = dead.queued;
    world_settle(&world);
    dead.engine = NULL;
    catalog_destroy(catalog);
}

/* Its questions are answered as they come, for so many turns. False: it came to its end before. */
static inline bool goes_on_for(int turns)
{
    struct arena arena;

    arena_init(&arena, 1 << 16);
    const struct json *content = json_parse(&arena, STR("{\"n\":1}"), NULL, NULL);
    bool on = true;
    for (int i = 0; on && i < turns; i++) {
        struct shown *up;
        if (world_turn(&world))
            continue;
        up = world_up(&world);
        on = up;
        if (!up)
            break;
        up->up = false;
        ask_answer(world.engine, str_of(up->id),
                   &(struct answer){ .action = ASK_ACCEPTED,
                                     .content = content,
                                     .by = STR("ann"),
                                     .surface = &world.surface },
                   NULL, NULL);
    }
    arena_finish(&arena);
    return on;
}

static inline struct world_caller *begin_to_die(world_handler *handler, bool shared)
{
    begin_with(handler, true);
    world.engine->opts.ask_ttl_ms = 3600000;
    ops.shared = shared;
    adopted = 0;
    struct world_caller *outer = caller_held();
    recover();
    world_settle(&world);
    engine_call(world.engine, &(struct call_spec){ .target = tool("outer"),
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller_record = STR("{\"who\":1}"),
                                                   .handed = true,
                                                   .caller = &outer->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(outer->caller.call)));
    return outer;
}

static inline void ended_right(const struct world_caller *caller, const char *how, int turns)
{
    if (caller->finished != 1 || strcmp(caller->body, "{\"inner\":{\"said\":\"accepted\"}}") != 0)
        fail_msg("%s after %d turns: finished %d, %s %s %s", how, turns, caller->finished,
                 caller->code, caller->message, caller->body);
}

/* --- versions and nodes of calls --- */

/*
 * A store in memory keeps no versions of calls, and no nodes, because it goes with its process. So
 * this one says which version the calls of `inner` began with, and which node has opened one, as
 * stores that outlive a process do.
 */
static int64_t began_with;
static char opened_at[64]; /* empty: nobody is asked for it */

static struct told_on {
    store_done *done;
    store_row_fn *row;
    void *data;
} told_on[1024];
static size_t told_count;

static inline struct told_on *tell_on(store_done *done, store_row_fn *row, void *data)
{
    struct told_on *on = &told_on[told_count++ % 1024];

    *on = (struct told_on){ .done = done, .row = row, .data = data };
    return on;
}

static inline struct call_record versioned(const struct call_record *record)
{
    struct call_record call = *record;

    if (str_eq(call.target, STR("inner")))
        call.version = began_with;
    if (opened_at[0] && call.state == CALL_STORED_RUNNING)
        call.node = str_of(opened_at);
    return call;
}

static inline void told_version(void *data, nod_status status, const struct store_reply *reply)
{
    struct told_on *on = data;
    struct store_reply told = reply ? *reply : (struct store_reply){ 0 };
    struct call_record call;

    if (told.call) {
        call = versioned(told.call);
        told.call = &call;
    }
    on->done(on->data, status, reply ? &told : NULL);
}

static inline void row_version(void *data, const struct store_row *row)
{
    struct told_on *on = data;
    struct store_row shown = *row;
    struct call_record call;

    if (row->call) {
        call = versioned(row->call);
        shown.call = &call;
    }
    on->row(on->data, &shown);
}

static const struct store_ops *unversioned;

static inline void v_claim(struct store *store, const struct claim_spec *spec, store_done *done,
                           void *data)
{
    unversioned->claim(store, spec, told_version, tell_on(done, NULL, data));
}

static inline void v_take(struct store *store, const struct take_spec *spec, store_done *done,
                          void *data)
{
    unversioned->take(store, spec, told_version, tell_on(done, NULL, data));
}

static inline void v_load_call(struct store *store, struct str call_id, store_done *done,
                               void *data)
{
    unversioned->load_call(store, call_id, told_version, tell_on(done, NULL, data));
}

static inline void v_load_with_asks(struct store *store, struct str call_id, size_t most,
                                    store_row_fn *row, store_done *done, void *data)
{
    unversioned->load_with_asks(store, call_id, most, row_version, told_version,
                                tell_on(done, row, data));
}

static inline void v_scan(struct store *store, const struct store_scan *spec, store_row_fn *row,
                          store_done *done, void *data)
{
    unversioned->scan(store, spec, row_version, told_version, tell_on(done, row, data));
}

static inline void v_append(struct store *store, const struct append_spec *spec, store_done *done,
                            void *data)
{
    if (spec->open)
        snprintf(opened_at, sizeof(opened_at), STR_FMT, STR_ARG(spec->node));
    unversioned->append(store, spec, done, data);
}

static inline void keep_versions(void)
{
    static struct store_ops before;

    before = ops;
    unversioned = &before;
    ops.claim = v_claim;
    ops.take = v_take;
    ops.load_call = v_load_call;
    ops.scan = v_scan;
    if (ops.load_with_asks)
        ops.load_with_asks = v_load_with_asks;
}

#endif
