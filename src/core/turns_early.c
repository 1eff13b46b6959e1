/*
 * core/turns_early: a turn that comes before its time.
 *
 * Whose turn it is follows from the plan, the record of the ask and the store's clock (plan.c), so
 * all nodes and the next start agree on it. If everybody in a turn has refused, the next turn has
 * come early. The node where the call is live brings the turn in the record forward
 * (claim_item.turn), and the store hints to whoever watches the asks.
 *
 * A client may send its refusal to any node. If the ask is not live there, that node cannot know
 * whether the ask is live anywhere. It brings the turn forward, if it is sure who follows. The node
 * that has the ask up is told, and does what it would have done itself (mcp/era2025/ask.c).
 *
 * Holds always: a turn is only brought forward. Until the store has it, which is tried again while
 * the store is away for a moment (op.c), the turn comes on other nodes when the clock says so. If
 * the plan has no clock, they have the ask only through the node where it is live.
 */
#include "core/call_inside.h"

#include "base/log.h"

static void turn_claim(struct engine *engine, struct str token, const struct claim_item *item,
                       store_done *done, void *data)
{
    engine->store->ops->claim(engine->store,
                              &(struct claim_spec){ .token = token, .items = item, .count = 1 },
                              done, data);
}

/* --- everybody in a turn has refused --- */

struct turn_op {
    struct engine_work work;
    struct id ask;
    unsigned turn;
    bool listed;
};

static void turn_send(struct op *op)
{
    const struct turn_op *turn = OP_OF(op, struct turn_op, work.op);

    turn_claim(op->engine, id_str(&op->token),
               &(struct claim_item){
                   .ask_id = id_str(&turn->ask), .turn = turn->turn, .listed = turn->listed },
               op_completed, op);
}

static void turn_kept(struct op *op, nod_status status, const struct store_reply *reply)
{
    (void)reply;
    if (status != NOD_OK)
        LOG_WARN("other nodes do not learn that a question was refused: it comes up there when its "
                 "turn does",
                 LOG_CSTR("why", nod_status_name(status)));
    engine_work_free(OP_OF(op, struct engine_work, op));
}

void ask_turn_early(struct ask *ask)
{
    struct engine *engine = ask->call->engine;

    ask_record_came_to(engine, &ask->record, call_plan(ask->call), ask->turn);
    if (!engine_survives(engine))
        return;
    struct turn_op *turn = engine_work_new(engine, sizeof(*turn));
    turn->ask = ask->id;
    turn->turn = ask->turn;
    turn->listed = ask->record.listed == LISTED;
    op_start(engine, &turn->work.op, turn_send, turn_kept);
}

/* --- what was refused at another node than the one that asked --- */

bool engine_client_refused(struct engine *engine, const struct ask_record *record, store_done *done,
                           void *data)
{
    struct turn_after after = engine_turn_after_client(engine, record);
    struct ask *ask = engine_ask(engine, record->id);
    struct id token;

    if (!after.sure && !after.unsure)
        return false;
    if (ask && after.sure && !ask->claiming) { /* its client is away */
        ask_turn_to(ask, after.turn);
        ask_offer_unless_carried(ask);
    }
    if (ask || !after.sure || after.unsure || after.comes == TURN_HAS_COME) {
        done(data, NOD_OK, NULL);
        return true;
    }
    id_unique(&token);
    turn_claim(engine, id_str(&token),
               &(struct claim_item){ .ask_id = record->id, .turn = after.turn, .listed = true },
               done, data);
    return true;
}

/* --- records of an older nod --- */

/* An older nod kept the turn beside the ask, in a small record that goes with its time: a digit,
 * and a letter if it said whether the ask is listed. */
#define OLDER_KIND STR("turn")

enum {
    OLDER_ROWS = 256, /* of one page */
};

struct older {
    struct engine_work work;
    size_t cursor_len;
    char cursor[JOB_CURSOR_MAX];
};

static void older_kept(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    (void)status; /* the ask is gone, or comes up when its turn does */
    (void)reply;
}

static void older_row(void *data, const struct store_row *row)
{
    struct op *op = data;
    struct str value = row->value->value;
    unsigned turn = value.len ? (unsigned)(unsigned char)value.at[0] - '0' : 0;
    struct id token;

    if (turn == 0 || turn >= ASK_TURNS)
        return;
    id_unique(&token);
    turn_claim(op->engine, id_str(&token),
               &(struct claim_item){ .ask_id = row->value->key,
                                     .turn = turn,
                                     .listed = value.len == 1 || value.at[1] == 'l' },
               older_kept, NULL);
}

static void older_send(struct op *op)
{
    struct older *older = OP_OF(op, struct older, work.op);
    struct store *store = op->engine->store;

    store->ops->list(store,
                     &(struct store_list){ .kind = OLDER_KIND,
                                           .cursor = str_n(older->cursor, older->cursor_len),
                                           .limit = OLDER_ROWS },
                     older_row, op_completed, op);
}

static void older_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct older *older = OP_OF(op, struct older, work.op);

    if (status == NOD_OK && reply->cursor.len && reply->cursor.len <= JOB_CURSOR_MAX) {
        older->cursor_len = reply->cursor.len;
        memcpy(older->cursor, reply->cursor.at, reply->cursor.len);
        op_start(op->engine, op, older_send, older_done);
    } else {
        engine_work_free(&older->work);
    }
}

void turns_of_older(struct engine *engine)
{
    struct older *older = engine_work_new(engine, sizeof(*older));

    op_start(engine, &older->work.op, older_send, older_done);
}
