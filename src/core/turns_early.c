/*
 * core/turns_early: a turn that comes before its time.
 *
 * Whose turn it is follows from the plan, the record of the ask and the store's clock (plan.c), so
 * all nodes and the next start agree on it. One thing they cannot see: everybody in a turn has
 * refused, so the next one has come early. The node where the call is live puts that into a small
 * record beside the ask, and tells the others. Whoever would turn somebody away because its turn
 * is still to come looks there first, and so does a node to which the ask comes back with its call.
 *
 * A client may send its refusal to any node. If the ask is not live there, that node cannot know
 * whether it is anywhere. It writes the record, if it is sure who follows. The node that has the
 * ask up is told, and does what it would have done itself (mcp/era2025/ask.c).
 *
 * Holds always: the record only brings a turn forward. The others are told once the store has it,
 * which is tried again while the store is away for a moment (op.c). Without it, because it was lost
 * or the store stayed away, the turn comes on other nodes when the clock says so. If the plan has
 * no clock, they have the ask only through the node where it is live.
 */
#include "core/inside.h"

#include "base/log.h"
#include "base/mem.h"

#define TURNS_KIND STR("turn")

enum {
    TURNS_SLACK_MS = 5000, /* the record is kept so long after the clock has come to the turn */
    TURNS_TOLD_MAX = 128,  /* bytes of what the other nodes are told */
    TURN_VALUE_LEN =
        2, /* of the record: the digit of the turn, and whether it is listed from it on */
};

static void turn_value(char out[TURN_VALUE_LEN], unsigned turn, bool listed)
{
    out[0] = (char)('0' + turn);
    out[1] = listed ? 'l' : '-';
}

static void tell_others(struct engine *engine, const struct ask_hint *hint)
{
    struct store *store = engine->store;
    struct buf text;

    if (!store->ops->announce)
        return;
    buf_init(&text, TURNS_TOLD_MAX);
    buf_fmt(&text, STR_FMT " t " STR_FMT " %llu", STR_ARG(engine->node), STR_ARG(hint->ask_id),
            (unsigned long long)hint->owner);
    if (!text.overflow)
        store->ops->announce(store, buf_str(&text));
    buf_finish(&text);
}

/* --- an operation of the store on the turn of an ask --- */

struct turn_op {
    struct engine_work work;
    struct id ask, call;
    /* What is written. */
    char value[TURN_VALUE_LEN];
    uint64_t owner;   /* see store_owner */
    int64_t until_ms; /* the store's clock: when the turn comes by itself */
};

static void turn_op_free(struct turn_op *turn)
{
    engine_work_end(&turn->work);
    mem_free(turn);
}

static void turn_op_drop(struct engine_work *work)
{
    turn_op_free(OP_OF(work, struct turn_op, work));
}

static struct turn_op *turn_op_make(struct ask *ask)
{
    struct turn_op *turn = MEM_NEW(struct turn_op);

    turn->ask = ask->id;
    turn->call = ask->call->id;
    engine_work_begin(ask->call->engine, &turn->work, turn_op_drop);
    return turn;
}

/* --- everybody in a turn has refused --- */

static void keep_send(struct op *op)
{
    struct turn_op *turn = OP_OF(op, struct turn_op, work.op);
    struct store *store = op->engine->store;
    int64_t left = turn->until_ms - engine_now(op->engine) + TURNS_SLACK_MS;

    store->ops->put(store, TURNS_KIND, id_str(&turn->ask), str_n(turn->value, TURN_VALUE_LEN),
                    STR_NONE, 0, left > 0 ? left : 1, op_completed, op);
}

static void kept(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct turn_op *turn = OP_OF(op, struct turn_op, work.op);

    (void)reply;
    if (status == NOD_OK)
        tell_others(op->engine,
                    &(struct ask_hint){ .ask_id = id_str(&turn->ask), .owner = turn->owner });
    else
        LOG_WARN("other nodes do not learn that a question was refused: it comes up there when its "
                 "turn does",
                 LOG_CSTR("why", nod_status_name(status)));
    turn_op_free(turn);
}

void ask_turn_early(struct ask *ask, int64_t clock_ms)
{
    struct engine *engine = ask->call->engine;

    ask_record_came_to(engine, &ask->record, call_plan(ask->call), ask->turn);
    if (!engine_survives(engine))
        return;
    struct turn_op *turn = turn_op_make(ask);
    turn_value(turn->value, ask->turn, ask->record.listed == LISTED);
    turn->owner = store_owner(ask->record.principal);
    turn->until_ms = clock_ms;
    op_start(engine, &turn->work.op, keep_send, kept);
}

/* --- what was refused at another node than the one that asked --- */

bool engine_client_refused(struct engine *engine, const struct ask_record *record, store_done *done,
                           void *data)
{
    struct turn_after after = engine_turn_after_client(engine, record);
    struct ask *ask = engine_ask(engine, record->id);
    char value[TURN_VALUE_LEN];
    int64_t now = engine_now(engine), until = after.comes;

    if (!after.sure && !after.unsure)
        return false;
    if (until == TURN_UNTIMED)
        until = record->expires_ms ? record->expires_ms : now + record->ttl_ms;
    if (ask && after.sure && !ask->claiming) { /* its client is away */
        ask_turn_to(ask, after.turn);
        ask_offer_unless_carried(ask);
    }
    if (ask || !after.sure || after.unsure || after.comes == TURN_HAS_COME) {
        done(data, NOD_OK, NULL);
        return true;
    }
    /* Unless the node that has the call knows better already. */
    turn_value(value, after.turn, true);
    engine->store->ops->put(engine->store, TURNS_KIND, record->id, str_n(value, TURN_VALUE_LEN),
                            record->principal, STORE_NEW, until - now + TURNS_SLACK_MS, done, data);
    return true;
}

void engine_turn_tell(struct engine *engine, const struct ask_hint *hint)
{
    engine_tell_watches(engine, hint);
    tell_others(engine, hint);
}

void engine_turn_told(struct engine *engine, struct str text)
{
    struct ask_hint hint = { 0 };
    struct str owner;

    if (str_cut(text, ' ', &hint.ask_id, &owner) && hint.ask_id.len == ID_LEN &&
        str_to_u64(owner, &hint.owner))
        engine_tell_watches(engine, &hint);
}

bool engine_turn_may_be_early(struct engine *engine, const struct ask_record *record,
                              const struct surface *surface)
{
    int64_t comes = engine_turn_comes(engine, record, surface);
    const struct ask *ask = engine_ask(engine, record->id);

    return comes != TURN_HAS_COME && comes != TURN_NEVER && engine_survives(engine) &&
           (!ask ||
            ask->look == LOOK_SOUGHT); /* of what is live here, we know, once it was looked up */
}

void engine_turn_load(struct engine *engine, struct str ask_id, store_done *done, void *data)
{
    engine->store->ops->get(engine->store, TURNS_KIND, ask_id, done, data);
}

void ask_record_turn(struct ask_record *record, struct str value)
{
    unsigned turn = value.len ? (unsigned)(unsigned char)value.at[0] - '0' : 0;

    if (turn < ASK_TURNS && turn > record->turn)
        record->turn = turn;
    /* A nod that did not write it yet counted turns of another plan: better listed than lost. */
    if (value.len == TURN_VALUE_LEN ? value.at[1] == 'l' : turn > 0)
        record->listed = LISTED;
}

/* --- what comes back --- */

static void look_send(struct op *op)
{
    struct turn_op *look = OP_OF(op, struct turn_op, work.op);

    engine_turn_load(op->engine, id_str(&look->ask), op_completed, op);
}

/* In the order in which they were asked, whatever the order of the replies: whoever comes back for
 * a stream has all that is before the last that it has seen. */
static void offer_found(struct call *call)
{
    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        if (ask->look == LOOK_SOUGHT)
            return;
        if (ask->look == LOOK_NONE)
            continue;
        ask->look = LOOK_NONE;
        if (ask->claiming)
            continue;
        ask_turn_to(ask, ask->record.turn);
        ask_offer_unless_carried(ask);
    }
}

static void looked(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct turn_op *look = OP_OF(op, struct turn_op, work.op);
    struct ask *ask = engine_ask(op->engine, id_str(&look->ask));

    struct call *call = engine_call_at(op->engine, id_str(&look->call));

    if (ask && status == NOD_OK && !ask->claiming)
        ask_record_turn(&ask->record, reply->value);
    if (ask)
        ask->look = LOOK_FOUND;
    turn_op_free(look);
    if (call)
        offer_found(call);
}

bool ask_look_for_turn(struct ask *ask)
{
    struct call *call = ask->call;
    struct engine *engine = call->engine;

    /* Clients that carry their questions refuse nothing, and without a client nobody is asked too
     * early. */
    if (call_is_alone(call) || call->carries || !engine_survives(engine) ||
        call_plan(call)->count < 2 || !engine_asks_elsewhere(engine, call->target))
        return false;
    ask->look = LOOK_SOUGHT;
    op_start(engine, &turn_op_make(ask)->work.op, look_send, looked);
    return true;
}
