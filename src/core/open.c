/*
 * core/open: storing a call before it begins.
 *
 * Once a call is stored, its client can be given an id to come back with. The operation keeps its
 * token however often it is sent, so a lost reply neither makes a second call nor leaves a call
 * that nobody knows.
 */
#include "core/call_inside.h"

#include "base/crash.h"
#include "base/mem.h"
#include "core/catalog.h"

enum { OPEN_ARGS_MAX = 16 << 20 }; /* bytes of the arguments as JSON */

struct opening {
    struct engine_work work;
    struct arena arena; /* of the record's text */
    struct call_record record;
    int64_t keep_ms, until_ms;
    bool handed;
    store_done *done;
    void *data;
};

static void open_send(struct op *op)
{
    struct opening *opening = OP_OF(op, struct opening, work.op);
    struct store *store = op->engine->store;

    if (opening->until_ms && clock_mono(op->engine->clock) >= opening->until_ms) {
        op->most = 0;
        op_completed(op, NOD_E_STORE, NULL);
        return;
    }
    CRASH_POINT(open_before);
    store->ops->append(store,
                       &(struct append_spec){ .token = id_str(&op->token),
                                              .open = &opening->record,
                                              .node = op->engine->node,
                                              .call_id = opening->record.id,
                                              .epoch = 1,
                                              .keep_for_ms = opening->keep_ms,
                                              .handed = opening->handed },
                       op_completed, op);
}

static void open_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct opening *opening = OP_OF(op, struct opening, work.op);
    store_done *done = opening->done;
    void *data = opening->data;

    engine_work_end(&opening->work);
    arena_finish(&opening->arena);
    mem_free(opening);
    done(data, status, reply);
}

static void opening_drop(struct engine_work *work)
{
    open_done(&work->op, NOD_E_STORE, &(struct store_reply){ 0 });
}

void engine_open(struct engine *engine, const struct call_spec *spec, store_done *done, void *data)
{
    struct opening *opening = MEM_NEW(struct opening);
    struct arena *arena = &opening->arena;
    struct buf args;

    arena_init(arena, 2 * OPEN_ARGS_MAX);
    buf_init(&args, OPEN_ARGS_MAX);
    args_write(&args, spec->args);
    opening->record = (struct call_record){ .id = arena_str(arena, spec->id),
                                            .principal = arena_str(arena, spec->principal),
                                            .scope = arena_str(arena, spec->scope),
                                            .kind = spec->target->kind,
                                            .target = arena_str(arena, spec->target->name),
                                            .args = arena_str(arena, buf_str(&args)),
                                            .uri = arena_str(arena, spec->uri),
                                            .caller = arena_str(arena, spec->caller_record),
                                            .client = arena_str(arena, spec->client),
                                            .meta = arena_str(arena, spec->meta),
                                            .version = target_version(spec->target) };
    buf_finish(&args);
    opening->keep_ms = spec->keep_ms;
    opening->until_ms = spec->open_until_ms;
    opening->handed = spec->handed;
    opening->done = done;
    opening->data = data;
    engine_work_begin(engine, &opening->work, opening_drop);
    op_start_of(engine, &opening->work.op, opening->record.principal, open_send, open_done);
}
