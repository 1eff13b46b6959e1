/*
 * core/scope: one question at a time, for clients that carry their questions away.
 *
 * With one_ask_per_scope a new question replaces the older one of its scope, which ends as
 * cancelled. If calls are held, the engine knows the older question (ask.c). If a client carries
 * its questions away and comes back on any node, the store has to know: a record of the scope says
 * which call asked last, and what. A call that asks reads that record, ends the questions in it,
 * and writes its own.
 *
 * Holds always: a call never ends its own questions. A replaced question is claimed like any other
 * end, so if an answer came first, the answer has won.
 */
#include "core/call_inside.h"

#include "base/log.h"
#include "base/mem.h"

enum {
    SCOPE_ASKS_MAX = 256, /* questions of one call in the record */
    SCOPE_TRIES = 5,      /* tries to write it, if others ask in the same scope at the same time */
};

struct scoping {
    struct engine_work work;
    uint64_t version; /* of the record that was read; STORE_NEW: there was none */
    int64_t ttl_ms;
    int tries;
    struct buf value; /* the call and its asks, each ID_LEN characters */
    struct str scope, principal;
    char text[];
};

static void scoping_free(struct scoping *scoping)
{
    buf_finish(&scoping->value);
    engine_work_free(&scoping->work);
}

static void scoping_drop(struct engine_work *work)
{
    scoping_free(OP_OF(work, struct scoping, work));
}

static void scoping_read(struct scoping *scoping);

static void written(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct scoping *scoping = OP_OF(op, struct scoping, work.op);

    (void)reply;
    if (status == NOD_E_STALE && ++scoping->tries < SCOPE_TRIES) {
        scoping_read(scoping);
        return;
    }
    if (status != NOD_OK)
        LOG_WARN("the newest question of a scope could not be recorded",
                 LOG_CSTR("why", nod_status_name(status)));
    scoping_free(scoping);
}

static void write_send(struct op *op)
{
    struct scoping *scoping = OP_OF(op, struct scoping, work.op);
    struct store *store = op->engine->store;

    store->ops->put(store, STR("scope"), scoping->scope, buf_str(&scoping->value),
                    scoping->principal, scoping->version, scoping->ttl_ms, op_completed, op);
}

static void scope_read_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct scoping *scoping = OP_OF(op, struct scoping, work.op);

    if (status != NOD_OK && status != NOD_E_NOT_FOUND) {
        written(op, status, NULL);
        return;
    }
    scoping->version = status == NOD_OK ? reply->version : STORE_NEW;
    if (status == NOD_OK) {
        /* Ends the questions in the record, unless this very call wrote it. */
        struct str older = reply->value;

        if (older.len >= ID_LEN &&
            !str_eq(str_n(older.at, ID_LEN), str_n(scoping->value.at, ID_LEN))) {
            for (older = str_skip(older, ID_LEN); older.len >= ID_LEN;
                 older = str_skip(older, ID_LEN))
                claim_replaced(op->engine, str_n(older.at, ID_LEN));
        }
    }
    op_start(op->engine, op, write_send, written);
}

static void scope_read_send(struct op *op)
{
    struct scoping *scoping = OP_OF(op, struct scoping, work.op);
    struct store *store = op->engine->store;

    store->ops->get(store, STR("scope"), scoping->scope, op_completed, op);
}

static void scoping_read(struct scoping *scoping)
{
    op_start(scoping->work.op.engine, &scoping->work.op, scope_read_send, scope_read_done);
}

void scope_asked(struct call *call)
{
    struct engine *engine = call->engine;
    const struct ask *first = call_ask_first(call);

    if (call->inner) /* the outermost call stands for the scope */
        return;

    /* A call that came back, or was resting, has asked before. */
    if (!engine->opts.one_ask_per_scope || !call->carries || !first || !first->flow.table ||
        first->listed)
        return;
    struct scoping *scoping =
        mem_zalloc(sizeof(*scoping) + call->scope.len + call->principal.len + 2);
    char *at = scoping->text;
    scoping->scope = str_place(&at, call->scope);
    scoping->principal = str_place(&at, call->principal);
    engine_work_begin(engine, &scoping->work, scoping_drop);
    buf_init(&scoping->value, (SCOPE_ASKS_MAX + 1) * ID_LEN);
    buf_add(&scoping->value, id_str(&call->id));
    LIST_EACH (link, &call->asks) {
        const struct ask *ask = LIST_OF(link, struct ask, link);
        if (ask->record.kind == ASK_CALL)
            continue;
        if (scoping->value.len + ID_LEN <= (SCOPE_ASKS_MAX + 1) * ID_LEN)
            buf_add(&scoping->value, id_str(&ask->id));
        if (ask->record.ttl_ms > scoping->ttl_ms)
            scoping->ttl_ms = ask->record.ttl_ms;
    }
    scoping_read(scoping);
}
