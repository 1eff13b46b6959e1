/*
 * core/inner_list: asks that wait for calls and have not ended, as the store lists them.
 *
 * Between an ask and the beginning of its inner call a process can die, and between the end of the
 * inner call and the claim of the ask. Nobody would begin the inner call, or tell the outer one. So
 * with a store that outlives the process, each such ask is listed before it is stored, and until it
 * has ended. Every node looks at a page of the list every INNER_LOOK_MS: an inner call that has
 * ended claims its ask, one that was not begun is begun, if its outer call may go on without a
 * client, and one that nobody waits for any more is cancelled.
 *
 * What was listed a moment ago is left to whoever has listed it. An ask that is listed and was
 * never stored is taken off the list when the call that would store it has ended, or was itself not
 * stored for INNER_UNSTORED_MS. An ask that has ended stays on the list while somebody may be
 * opening its call: for INNER_KEEP_MS.
 *
 * Holds always: what is taken off the list needs nothing more: its ask has ended, and so has the
 * call, or nobody opens it any more; or the ask will not be stored.
 */
#include "core/inner_inside.h"

#include <stdio.h>

#include "base/mem.h"

enum {
    INNER_LOOK_MS = 5000,         /* between two looks at the list */
    INNER_LOOK_ROWS = 256,        /* inner calls in one look */
    INNER_YOUNG_MS = 5000,        /* after so long a look comes to what is listed */
    INNER_UNSTORED_MS = 86400000, /* the first ask of a call is on its way no longer than this */
    INNER_LISTED_TEXT = 80,       /* bytes of what is listed */
    INNER_LOOK_ARENA = 256 << 10, /* memory of an ask that is looked at */
};

#define INNER_LISTED_MS (STORE_ABANDONED_MS)

/* --- what is listed --- */

struct ask *inner_to_list(const struct call *call)
{
    if (!call->saving_asks || !engine_survives(call->engine))
        return NULL;
    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        if (ask->record.kind == ASK_CALL && !ask->listed && !ask->noted)
            return ask;
    }
    return NULL;
}

void inner_list(const struct ask *ask, store_done *done, void *data)
{
    struct engine *engine = ask->call->engine;
    char text[INNER_LISTED_TEXT];

    snprintf(text, sizeof(text), "{\"at\":%lld,\"call\":\"" STR_FMT "\"}",
             (long long)engine_now(engine), STR_ARG(id_str(&ask->call->id)));
    engine->store->ops->put(engine->store, INNER_KIND, id_str(&ask->id), str_of(text),
                            ask->record.principal, 0, INNER_LISTED_MS, done, data);
}

static void unlisted(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply; /* a look finds it again, and ends it again */
}

void inner_unlist(struct engine *engine, struct str ask_id)
{
    if (engine_survives(engine))
        engine->store->ops->del(engine->store, INNER_KIND, ask_id, unlisted, NULL);
}

void inner_unlist_fresh(const struct call *call)
{
    LIST_EACH (at, &call->asks) {
        const struct ask *ask = LIST_OF(at, struct ask, link);
        if (ask->noted && !ask->listed)
            inner_unlist(call->engine, id_str(&ask->id));
    }
}

struct look_end { /* of a call that nobody waits for any more */
    struct engine *engine;
    struct id ask;
    bool settled; /* its ask has ended so long ago that nobody opens the call any more */
};

struct inner_look {
    struct engine_work work;
    struct id ask;
    int64_t age_ms; /* it is listed for so long */
    struct arena arena;
    struct ask_record record;
};

static void look_free(struct inner_look *look)
{
    engine_work_end(&look->work);
    arena_finish(&look->arena);
    mem_free(look);
}

static void look_drop(struct engine_work *work)
{
    look_free(OP_OF(work, struct inner_look, work));
}

static void outer_loaded(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct inner_look *look = OP_OF(op, struct inner_look, work.op);
    struct engine *engine = op->engine;
    const struct call_record *outer = status == NOD_OK ? reply->call : NULL;

    if (outer && !outer->forgotten && !inner_is_coming(engine, look->record.id) &&
        !engine_call_at(engine, look->record.id)) {
        struct ask *ask = engine_ask(engine, look->record.id);
        struct client nobody = { 0 };
        if (ask)
            inner_offer(ask);
        else
            inner_come(engine, &look->record, outer, &nobody, ROLES_NONE,
                       outer->handed ? COMING_BACK : COMING_LOOKS);
    }
    look_free(look);
}

static void outer_send(struct op *op)
{
    struct inner_look *look = OP_OF(op, struct inner_look, work.op);

    op->engine->store->ops->load_call(op->engine->store, look->record.call_id, op_completed, op);
}

static void look_cancelled(void *data, nod_status status)
{
    struct look_end *up = data;

    if (status != NOD_E_STORE && (status != NOD_E_NOT_FOUND || up->settled))
        inner_unlist(up->engine, id_str(&up->ask));
    mem_free(up);
}

/* Nobody waits for the end of the call any more. */
static void look_cancel(struct inner_look *look, bool settled)
{
    struct engine *engine = look->work.op.engine;
    struct look_end *up = MEM_NEW(struct look_end);

    *up = (struct look_end){ .engine = engine, .ask = look->ask, .settled = settled };
    engine_cancel(engine, id_str(&look->ask), STR("Nobody waits for the call any more"),
                  look_cancelled, up);
    look_free(look);
}

/* The ask is not stored. */
static void unstored_loaded(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct inner_look *look = OP_OF(op, struct inner_look, work.op);
    bool ended =
        status == NOD_OK && (reply->call->forgotten || reply->call->state == CALL_STORED_FINISHED ||
                             reply->call->state == CALL_STORED_CANCELLED);

    if (ended || (status == NOD_E_NOT_FOUND && look->age_ms >= INNER_UNSTORED_MS))
        look_cancel(look, true);
    else
        look_free(look);
}

static void ask_loaded(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct inner_look *look = OP_OF(op, struct inner_look, work.op);

    if (status == NOD_OK && reply->ask->state == ASK_PENDING) {
        look->record = ask_record_copy(&look->arena, reply->ask);
        op_start(op->engine, op, outer_send, outer_loaded);
    } else if (status == NOD_OK) {
        look_cancel(look, reply->now_ms - reply->ask->ended_ms >= INNER_KEEP_MS);
    } else if (status == NOD_E_NOT_FOUND) {
        op_start(op->engine, op, outer_send, unstored_loaded);
    } else {
        look_free(look);
    }
}

static void ask_send(struct op *op)
{
    struct inner_look *look = OP_OF(op, struct inner_look, work.op);

    op->engine->store->ops->load_ask(op->engine->store, id_str(&look->ask), op_completed, op);
}

/* When it was listed, and by which call. */
static void listed_read(struct inner_look *look, struct str value)
{
    const struct json *text = json_parse(&look->arena, arena_str(&look->arena, value), NULL, NULL);
    struct str by = json_get_str(text, STR("call"));
    int64_t at = 0;

    json_i64(json_get(text, STR("at")), &at);
    look->age_ms = engine_now(look->work.op.engine) - at;
    look->record.call_id = by.len == ID_LEN ? by : id_str(&look->ask);
}

static void listed_row(void *data, const struct store_row *row)
{
    struct engine *engine = data;
    struct call *inner;

    if (row->value->key.len != ID_LEN || inner_is_coming(engine, row->value->key))
        return;
    inner = engine_call_at(engine, row->value->key);
    if (inner && !call_is_resting(inner))
        return; /* its end will be told */
    struct inner_look *look = MEM_NEW(struct inner_look);
    look->ask = id_of(row->value->key);
    arena_init(&look->arena, INNER_LOOK_ARENA);
    engine_work_begin(engine, &look->work, look_drop);
    listed_read(look, row->value->value);
    if (look->age_ms < INNER_YOUNG_MS)
        look_free(look);
    else
        op_start(engine, &look->work.op, ask_send, ask_loaded);
}

static void inners_look(struct due *due);

static void listed_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct engine *engine = data;

    engine->inner_cursor_len = 0;
    if (status == NOD_OK && reply->cursor.len <= sizeof(engine->inner_cursor)) {
        engine->inner_cursor_len = reply->cursor.len;
        if (reply->cursor.len)
            memcpy(engine->inner_cursor, reply->cursor.at, reply->cursor.len);
    }
    due_set(engine, &engine->inners_due, INNER_LOOK_MS, inners_look);
}

static void inners_look(struct due *due)
{
    struct engine *engine = HEAP_OF(&due->node, struct engine, inners_due.node);

    engine->store->ops->list(
        engine->store,
        &(struct store_list){ .kind = INNER_KIND,
                              .cursor = str_n(engine->inner_cursor, engine->inner_cursor_len),
                              .limit = INNER_LOOK_ROWS },
        listed_row, listed_done, engine);
}

void inners_recover(struct engine *engine)
{
    due_set(engine, &engine->inners_due, 0, inners_look);
}
