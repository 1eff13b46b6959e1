/*
 * core/cancel: a call is ended by somebody who is not its run, wherever it is, with the calls that
 * it waits for.
 *
 * A call that is live here is cancelled as call_end.c says. Any other is cancelled in the store.
 * Then the store is asked which calls it waited for: its asks of the kind call that were not ended
 * by the end of theirs. They were withdrawn with it, or ran out before. Each of these calls is
 * cancelled in the same way. The outer call goes first. In the other order the end of an inner call
 * would be an answer, with which the outer one would run on.
 *
 * A call may be cancelled ahead: it is on its way to the store, where another node is opening it.
 * It is opened here then, with nothing in it, and cancelled. Whoever opens it later finds it so,
 * before anything of it has happened. So are the calls that a cancelled call waited for. If this
 * node dies before the cancel, an empty call is left that nobody runs.
 *
 * Whoever waits for the end is told when all of them are stored as ended: from then on no answer to
 * any of their questions counts, on whatever node it is given. If that takes long, because the
 * store is away, whoever waits is told so. The cancel is sent on.
 *
 * Holds always: done() is called once. A cancel that was sent is not given up while this node and
 * its store live.
 */
#include "core/inner_inside.h"

#include <limits.h>

#include "base/mem.h"

enum {
    CANCELLED_MAX = 64 << 20, /* bytes of the outcome of a call that is not live here */
    CANCEL_TOLD_MS = 5000,    /* whoever waits for a cancel is told so late that it is not stored */
    AHEAD_KEEP_MS = 3600000,  /* a call that is cancelled ahead is known for so long */
};

struct cancelling {
    struct engine_work work;
    struct due late;
    struct id call;
    struct buf result; /* the outcome as the store keeps it */
    char *why;         /* for the calls that it waited for */
    char *principal,
        *scope; /* of a call that is cancelled ahead; of the calls that it waited for */
    bool ahead;
    struct id inner[STORE_CLAIM_MOST];
    size_t inner_count;
    size_t left; /* of these, plus one while they are being cancelled */
    nod_status status;
    void (*done)(void *data, nod_status status);
    void *data;
};

static void cancel_tell(struct cancelling *cancelling, nod_status status)
{
    void (*done)(void *, nod_status) = cancelling->done;

    cancelling->done = NULL;
    if (done)
        done(cancelling->data, status);
}

static void cancelling_over(struct cancelling *cancelling, nod_status status)
{
    due_stop(cancelling->work.op.engine, &cancelling->late);
    engine_work_end(&cancelling->work);
    buf_finish(&cancelling->result);
    cancel_tell(cancelling, status);
    mem_free(cancelling->why);
    mem_free(cancelling->principal);
    mem_free(cancelling->scope);
    mem_free(cancelling);
}

static void cancelling_drop(struct engine_work *work)
{
    cancelling_over(OP_OF(work, struct cancelling, work), NOD_E_STORE);
}

static void cancelling_late(struct due *due)
{
    cancel_tell(HEAP_OF(&due->node, struct cancelling, late.node), NOD_E_STORE);
}

static struct cancelling *cancelling_new(struct engine *engine, struct str call_id, struct str why,
                                         void (*done)(void *data, nod_status status), void *data)
{
    struct cancelling *cancelling = MEM_NEW(struct cancelling);

    cancelling->call = id_of(call_id);
    cancelling->why = str_dup(why.len ? why : STR("Nobody waits for the call any more"));
    cancelling->done = done;
    cancelling->data = data;
    buf_init(&cancelling->result, CANCELLED_MAX);
    engine_work_begin(engine, &cancelling->work, cancelling_drop);
    return cancelling;
}

/* The same; if it takes long, done() is told before its end. */
static struct cancelling *cancelling_until(struct engine *engine, struct str call_id,
                                           struct str why,
                                           void (*done)(void *data, nod_status status), void *data)
{
    struct cancelling *cancelling = cancelling_new(engine, call_id, why, done, data);

    if (done)
        due_set(engine, &cancelling->late, CANCEL_TOLD_MS, cancelling_late);
    return cancelling;
}

static void cancelling_of(struct cancelling *cancelling, struct str principal, struct str scope)
{
    cancelling->principal = str_dup(principal);
    cancelling->scope = str_dup(scope);
}

/* --- the calls that it waited for --- */

static void cancelling_less(struct cancelling *cancelling)
{
    if (--cancelling->left == 0)
        cancelling_over(cancelling, cancelling->status);
}

static void inner_cancelled(void *data, nod_status status)
{
    struct cancelling *cancelling = data;

    if (status == NOD_E_STORE)
        cancelling->status = status;
    cancelling_less(cancelling);
}

static void waited_row(void *data, const struct store_row *row)
{
    struct cancelling *cancelling = OP_OF(data, struct cancelling, work.op);

    if (row->ask->kind != ASK_CALL || row->ask->state == ASK_ACCEPTED ||
        row->ask->id.len != ID_LEN || cancelling->inner_count == STORE_CLAIM_MOST)
        return;
    cancelling->inner[cancelling->inner_count++] = id_of(row->ask->id);
    if (!cancelling->principal)
        cancelling_of(cancelling, row->ask->principal, row->ask->scope);
}

static void waited_send(struct op *op)
{
    struct cancelling *cancelling = OP_OF(op, struct cancelling, work.op);
    struct store *store = op->engine->store;

    cancelling->inner_count = 0;
    store->ops->scan(store,
                     &(struct store_scan){ .index = STORE_ASKS_OF_CALL,
                                           .key = id_str(&cancelling->call),
                                           .limit = STORE_CLAIM_MOST },
                     waited_row, op_completed, op);
}

static void waited_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct cancelling *cancelling = OP_OF(op, struct cancelling, work.op);
    struct engine *engine = op->engine;

    (void)reply;
    if (status == NOD_E_STORE)
        cancelling->status = status; /* the look at the list comes to them (inner_list.c) */
    cancelling->left = 1;
    for (size_t i = 0; i < cancelling->inner_count; i++) {
        inner_unwanted(engine, id_str(&cancelling->inner[i])); /* if it is just being begun here */
        cancelling->left++;
        engine_cancel_ahead(engine, id_str(&cancelling->inner[i]), str_of(cancelling->principal),
                            str_of(cancelling->scope), str_of(cancelling->why), inner_cancelled,
                            cancelling);
    }
    cancelling_less(cancelling);
}

/* The call has ended, now or before. */
static void cancelling_down(struct cancelling *cancelling, nod_status status)
{
    struct engine *engine = cancelling->work.op.engine;

    cancelling->status = status;
    if (status != NOD_OK && status != NOD_E_STALE) {
        cancelling_over(cancelling, status);
        return;
    }
    op_start(engine, &cancelling->work.op, waited_send, waited_done);
    if (engine_survives(engine))
        cancelling->work.op.most = INT_MAX;
}

/* --- a call that is not live here --- */

static void cancelling_send(struct op *op)
{
    struct cancelling *cancelling = OP_OF(op, struct cancelling, work.op);
    struct store *store = op->engine->store;

    store->ops->cancel(store, id_str(&op->token), id_str(&cancelling->call),
                       buf_str(&cancelling->result), op_completed, op);
}

static void cancelling_begin(struct cancelling *cancelling);

static void ahead_send(struct op *op)
{
    struct cancelling *cancelling = OP_OF(op, struct cancelling, work.op);
    struct call_record record = { .id = id_str(&cancelling->call),
                                  .principal = str_of(cancelling->principal),
                                  .scope = str_of(cancelling->scope),
                                  .kind = TARGET_TOOL,
                                  .args = STR("{}") };

    op->engine->store->ops->append(op->engine->store,
                                   &(struct append_spec){ .token = id_str(&op->token),
                                                          .open = &record,
                                                          .node = op->engine->node,
                                                          .call_id = record.id,
                                                          .epoch = 1,
                                                          .keep_for_ms = AHEAD_KEEP_MS },
                                   op_completed, op);
}

/* It is there now, whoever has opened it. */
static void ahead_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct cancelling *cancelling = OP_OF(op, struct cancelling, work.op);

    (void)reply;
    if (status == NOD_OK || status == NOD_E_STALE)
        cancelling_begin(cancelling);
    else
        cancelling_over(cancelling, status);
}

static void cancelling_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct cancelling *cancelling = OP_OF(op, struct cancelling, work.op);
    struct engine *engine = op->engine;
    struct outcome outcome;
    struct arena arena;

    (void)reply;
    if (status == NOD_E_NOT_FOUND && cancelling->ahead) {
        cancelling->ahead = false;
        op_start_of(engine, &cancelling->work.op, str_of(cancelling->principal), ahead_send,
                    ahead_done);
        if (engine_survives(engine))
            cancelling->work.op.most = INT_MAX;
        return;
    }
    arena_init(&arena, CANCELLED_MAX * 4);
    if (status == NOD_OK && !engine_find(engine, id_str(&cancelling->call)) &&
        outcome_read(&arena, buf_str(&cancelling->result), &outcome) == NOD_OK)
        home_ended(engine, id_str(&cancelling->call), NULL, &outcome);
    arena_finish(&arena);
    cancelling_down(cancelling, status);
}

static void cancelling_begin(struct cancelling *cancelling)
{
    struct engine *engine = cancelling->work.op.engine;

    op_start(engine, &cancelling->work.op, cancelling_send, cancelling_done);
    if (engine_survives(engine))
        cancelling->work.op.most = INT_MAX; /* until then nobody can run it, or find it ended */
}

void engine_end_stored(struct engine *engine, struct str call_id, const struct outcome *outcome,
                       void (*done)(void *data, nod_status status), void *data)
{
    struct cancelling *cancelling = cancelling_new(engine, call_id, outcome->message, done, data);

    outcome_write(&cancelling->result, outcome);
    cancelling_begin(cancelling);
}

static struct outcome outcome_cancelled(struct str why)
{
    return (struct outcome){ .status = NOD_E_CANCELLED,
                             .code = outcome_code(NOD_E_CANCELLED),
                             .message = why };
}

void engine_end_later(struct engine *engine, struct str call_id, struct str why)
{
    struct outcome outcome = outcome_cancelled(why);

    engine_end_stored(engine, call_id, &outcome, NULL, NULL);
}

/* --- wherever it is --- */

static void cancelled_here(void *data, nod_status status)
{
    cancelling_down(data, status);
}

/* It tells those that it waits for by itself: see inner_withdraw. */
void call_cancel_then(struct call *call, struct str why,
                      void (*done)(void *data, nod_status status), void *data)
{
    if (done)
        call_end_tell(call, cancelled_here,
                      cancelling_until(call->engine, id_str(&call->id), why, done, data));
    call_cancel(call, why);
}

void engine_cancel_ahead(struct engine *engine, struct str call_id, struct str principal,
                         struct str scope, struct str why,
                         void (*done)(void *data, nod_status status), void *data)
{
    struct call *live = engine_call_at(engine, call_id);
    struct outcome outcome = outcome_cancelled(why);

    if (live) {
        call_cancel_then(live, why, done, data);
        return;
    }
    struct cancelling *cancelling = cancelling_until(engine, call_id, why, done, data);
    cancelling->ahead = principal.len;
    if (cancelling->ahead)
        cancelling_of(cancelling, principal, scope);
    outcome_write(&cancelling->result, &outcome);
    cancelling_begin(cancelling);
}

void engine_cancel(struct engine *engine, struct str call_id, struct str why,
                   void (*done)(void *data, nod_status status), void *data)
{
    engine_cancel_ahead(engine, call_id, STR_NONE, STR_NONE, why, done, data);
}

void engine_end(struct engine *engine, struct str call_id, const struct outcome *outcome,
                void (*done)(void *data, nod_status status), void *data)
{
    struct call *live = engine_call_at(engine, call_id);

    if (!live) {
        engine_end_stored(engine, call_id, outcome, done, data);
        return;
    }
    if (call_waiting(live) && !live->cancel_wanted) {
        call_end_tell(live, done, data);
        call_end_as(live, outcome);
    } else if (done) {
        done(data, NOD_PENDING);
    }
}
