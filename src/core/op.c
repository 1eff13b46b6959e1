/*
 * core/op: a store operation that is sent again while the store fails.
 *
 * Each operation keeps its token, so sending it again after a lost reply does not make it happen
 * twice. The pauses double, up to PAUSE_MOST_MS. After op->most tries the owner is told
 * NOD_E_STORE, and at once if the record is of a secret that this node lacks. An operation that
 * goes on past ENGINE_STORE_TRIES tells its owner so once (op->tired).
 *
 * A store that does one operation after the other is sent no more than it says at once
 * (store_ops.at_once). The others wait in line, by principal (base/fair.h): however much one of
 * them has to store, others are one operation behind it, and what was sent.
 *
 * Holds always: while an operation waits in line, as many are sent as may be.
 * A work is in the engine's list from engine_work_begin to engine_work_end.
 */
#include "core/inside.h"

#include "base/mem.h"

enum { PAUSE_MOST_MS = 2000 }; /* between two tries of a store operation */

static void op_send(struct op *op)
{
    op->busy = true;
    op->engine->ops_sent++;
    op->sent_ms = clock_mono(op->engine->clock);
    op->send(op);
}

static void op_again(struct due *due)
{
    op_send(HEAP_OF(&due->node, struct op, due.node));
}

static void op_leaves_line(struct op *op)
{
    fair_end(&op->engine->ops_line, &op->turn);
    op->busy = op->in_line = false;
    op->due = (struct due){ 0 };
}

/* Nobody waits in line for a store that is away: all would wait one after the other for what none
 * of them gets. */
static void ops_go_on(struct engine *engine)
{
    struct fair_turn *next;

    while ((!engine->ops_most || engine->ops_sent < engine->ops_most) &&
           (next = fair_next(&engine->ops_line))) {
        struct op *op = LIST_OF(next, struct op, turn);
        op_leaves_line(op);
        op_send(op);
    }
}

void op_start_of(struct engine *engine, struct op *op, struct str who, void (*send)(struct op *op),
                 void (*done)(struct op *op, nod_status status, const struct store_reply *reply))
{
    *op = (struct op){ .engine = engine, .most = ENGINE_STORE_TRIES, .send = send, .done = done };
    id_unique(&op->token);
    if (!engine->ops_most || engine->ops_sent < engine->ops_most) {
        op_send(op);
    } else {
        op->busy = op->in_line = true;
        fair_wait(&engine->ops_line, &op->turn, who);
    }
}

void op_start(struct engine *engine, struct op *op, void (*send)(struct op *op),
              void (*done)(struct op *op, nod_status status, const struct store_reply *reply))
{
    op_start_of(engine, op, STR_NONE, send, done);
}

void op_completed(void *data, nod_status status, const struct store_reply *reply)
{
    struct op *op = data;
    struct engine *engine = op->engine;
    bool lacks = reply && reply->lacks; /* another try would not open the record */
    bool away = status == NOD_E_STORE && !lacks;

    op->busy = false;
    engine->ops_sent--;
    engine->ops_most = away ? 0 : engine->store->ops->at_once;
    if (!list_empty(&engine->ops_line.ready))
        ops_go_on(engine);
    counts_time(&engine->counts.store, clock_mono(engine->clock) - op->sent_ms);
    engine->counts.store_failures += status == NOD_E_STORE;
    if (away && ++op->tries < op->most) {
        int64_t pause = ENGINE_STORE_PAUSE_MS;
        for (int i = 1; i < op->tries && pause < PAUSE_MOST_MS; i++)
            pause *= 2;
        due_set(op->engine, &op->due, pause < PAUSE_MOST_MS ? pause : PAUSE_MOST_MS, op_again);
        if (op->tries == ENGINE_STORE_TRIES && op->tired)
            op->tired(op);
        return;
    }
    op->done(op, status, reply);
}

void op_abandon(struct op *op)
{
    if (op->engine && op->in_line)
        op_leaves_line(op);
    else if (op->engine)
        due_stop(op->engine, &op->due);
}

/* --- works --- */

void engine_work_begin(struct engine *engine, struct engine_work *work,
                       void (*drop)(struct engine_work *work))
{
    work->drop = drop;
    work->op.engine = engine;
    list_init(&work->link);
    list_append(&engine->works, &work->link);
}

void engine_work_end(struct engine_work *work)
{
    op_abandon(&work->op);
    list_remove(&work->link);
}

void engine_works_drop(struct engine *engine)
{
    struct list *at;

    while ((at = list_last(&engine->works))) {
        struct engine_work *work = LIST_OF(at, struct engine_work, link);
        work->drop(work);
    }
}

void engine_work_free(struct engine_work *work)
{
    engine_work_end(work);
    mem_free(work);
}

void *engine_work_new(struct engine *engine, size_t size)
{
    struct engine_work *work = mem_zalloc(size);

    engine_work_begin(engine, work, engine_work_free);
    return work;
}

/* --- looks --- */

struct look {
    struct engine_work work;
    struct id call;
    looked_fn *looked;
};

static void look_send(struct op *op)
{
    struct look *look = OP_OF(op, struct look, work.op);
    struct store *store = op->engine->store;

    store->ops->load_call(store, id_str(&look->call), op_completed, op);
}

static void look_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct look *look = OP_OF(op, struct look, work.op);

    if (status == NOD_OK)
        look->looked(op->engine, reply->call);
    engine_work_free(&look->work);
}

void engine_look(struct engine *engine, struct str call_id, looked_fn *looked)
{
    struct look *look = engine_work_new(engine, sizeof(*look));

    look->call = id_of(call_id);
    look->looked = looked;
    op_start(engine, &look->work.op, look_send, look_done);
}

/* --- jobs --- */

static void job_drop(struct engine_work *work)
{
    engine_job_over(OP_OF(work, struct engine_job, work), NOD_E_STORE, STR_NONE);
}

void *engine_job_new(struct engine *engine, size_t size, size_t memory, void *data)
{
    struct engine_job *job = mem_zalloc(size);

    job->engine = engine;
    job->data = data;
    arena_init(&job->arena, memory);
    engine_work_begin(engine, &job->work, job_drop);
    return job;
}

void engine_job_over(struct engine_job *job, nod_status status, struct str cursor)
{
    struct engine_job told = *job;
    char kept[JOB_CURSOR_MAX];
    size_t len = cursor.len <= JOB_CURSOR_MAX ? cursor.len : 0;

    if (len)
        memcpy(kept, cursor.at, len);
    engine_work_end(&job->work);
    arena_finish(&job->arena);
    mem_free(job);
    if (told.listed)
        told.listed(told.data, status, str_n(kept, len));
    else if (told.done)
        told.done(told.data, status);
}

void engine_job_listed(void *data, nod_status status, const struct store_reply *reply)
{
    engine_job_over(data, status, status == NOD_OK ? reply->cursor : STR_NONE);
}
