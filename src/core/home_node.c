/*
 * core/home_node: which node is the home of a call, and does that node live?
 *
 * The intent to begin a call that stays (home.c) names the node that begins it, and the life of
 * that node: an id that each engine makes for itself, so a node that was started again is another
 * home. While a node is the home of any call it says so with every heartbeat, in a small record
 * under the name of its life (kind "home"), and it has said so before the first intent is
 * committed. The record lives for HOME_LIVES times as long as a heartbeat: a node that was asleep,
 * or is slow, keeps its calls, because an unknown outcome cannot be taken back.
 *
 * A node that is told to stop stays the home of its calls until it is gone: its runs may still end.
 *
 * Whoever comes for a call whose home is elsewhere asks whether that home lives (home_ask). If it
 * does, the call waits here as a call does that runs elsewhere (call.away). If not, the call ends
 * (home_end). That is decided in two places: where somebody comes back for a call (comeback.c), and
 * in the look for orphans (recover.c).
 *
 * Holds always: a home that is silent for less than its time keeps its calls, by the store's clock.
 * A store that is not shared has one node, and what another life of it has begun is gone.
 */
#include "core/call_inside.h"

#include "base/log.h"
#include "base/mem.h"

#define HOME_KIND STR("home")

enum {
    HOME_LIVES = 2,            /* times to live of a node that its record lives */
    HOME_FRESH_MS = 1000,      /* so long a home that was seen to live is not asked for again */
    HOME_ARENA_MAX = 64 << 10, /* memory of the message that a home is gone */
};

struct home_asking {
    struct engine_work work;
    struct id life;
    home_told *told;
    void *data;
};

/* --- where it is --- */

static struct str home_life(const struct entry *start)
{
    struct str life = start->content; /* a JSON string */

    return life.len == ID_LEN + 2 ? str_n(life.at + 1, ID_LEN) : STR_NONE;
}

static const struct entry *home_start(const struct call_record *record)
{
    return journal_find(record->entries, record->entry_count, ENTRY_INTENT, STR(START_KEY));
}

enum home_at home_at(const struct engine *engine, const struct call_record *record)
{
    const struct entry *start = home_start(record);

    if (!start)
        return HOME_ANYWHERE;
    if (str_eq(home_life(start), id_str(&engine->life)))
        return HOME_HERE;
    return engine->store->ops->shared && home_life(start).len ? HOME_ELSEWHERE : HOME_GONE;
}

nod_status home_intent(struct run *run)
{
    struct engine *engine = run->call->engine;

    return run_intent(run, STR(START_KEY), engine->node,
                      arena_fmt(&run->arena, "\"%s\"", engine->life.text));
}

/* --- this node says that it lives --- */

static int64_t home_ttl(const struct engine *engine)
{
    return HOME_LIVES * recovery_node_ttl(engine);
}

static void home_put(struct engine *engine, store_done *done, void *data)
{
    engine->store->ops->put(engine->store, HOME_KIND, id_str(&engine->life), engine->node, STR_NONE,
                            0, home_ttl(engine), done, data);
}

static void home_beaten(void *data, nod_status status, const struct store_reply *reply)
{
    struct engine *engine = data;

    (void)reply;
    engine->home_beating = false;
    if (status == NOD_OK)
        engine->home_heard_ms = engine->home_sent_ms;
}

void home_beat(struct engine *engine)
{
    if (!engine->store->ops->shared || !engine->homes_staying || engine->home_beating)
        return;
    engine->home_beating = true;
    engine->home_sent_ms = clock_mono(engine->clock);
    home_put(engine, home_beaten, engine);
}

static void home_say_send(struct op *op)
{
    home_put(op->engine, op_completed, op);
}

static void home_said(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    (void)reply;
    if (status == NOD_OK)
        op->engine->home_heard_ms = op->sent_ms;
    if (call->cancel_wanted)
        call_end_cancelled(call);
    else if (status == NOD_OK)
        flow_again(&call->flow);
    else
        call_fail(call, status, NULL,
                  STR("The store did not take the name of the node that would begin this call, so "
                      "it was not begun. Try again later"));
}

bool home_is_known(struct call *call)
{
    struct engine *engine = call->engine;

    if (!engine->store->ops->shared ||
        clock_mono(engine->clock) - engine->home_heard_ms < home_ttl(engine) / 2)
        return true;
    call_enter(call, LIVE_SAVING);
    op_start_of(engine, &call->op, call->principal, home_say_send, home_said);
    call_keep_trying(call);
    return false;
}

/* --- does another live? --- */

static void home_asked_send(struct op *op)
{
    struct home_asking *asking = OP_OF(op, struct home_asking, work.op);
    struct store *store = op->engine->store;

    store->ops->get(store, HOME_KIND, id_str(&asking->life), op_completed, op);
}

static void home_asked_over(struct engine_work *work, nod_status status)
{
    struct home_asking asking = *OP_OF(work, struct home_asking, work);

    engine_work_free(work);
    asking.told(asking.data, status);
}

static void home_asked_drop(struct engine_work *work)
{
    home_asked_over(work, NOD_E_STORE);
}

static void home_asked_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct home_asking *asking = OP_OF(op, struct home_asking, work.op);
    struct engine *engine = op->engine;

    (void)reply;
    if (status == NOD_OK) {
        engine->home_seen = asking->life;
        engine->home_seen_ms = op->sent_ms;
    }
    home_asked_over(&asking->work, status);
}

bool home_was_seen(const struct engine *engine, const struct call_record *record)
{
    return str_eq(id_str(&engine->home_seen), home_life(home_start(record))) &&
           clock_mono(engine->clock) - engine->home_seen_ms < HOME_FRESH_MS;
}

void home_ask(struct engine *engine, const struct call_record *record, home_told *told, void *data)
{
    struct str life = home_life(home_start(record));

    if (home_was_seen(engine, record)) {
        told(data, NOD_OK);
        return;
    }
    struct home_asking *asking = MEM_NEW(struct home_asking);
    asking->life = id_of(life);
    asking->told = told;
    asking->data = data;
    engine_work_begin(engine, &asking->work, home_asked_drop);
    op_start(engine, &asking->work.op, home_asked_send, home_asked_done);
}

/* --- it does not --- */

void home_end(struct engine *engine, const struct call_record *record,
              void (*done)(void *data, nod_status status), void *data)
{
    struct arena arena;

    arena_init(&arena, HOME_ARENA_MAX);
    struct outcome outcome = outcome_homeless(&arena, record->target);
    LOG_WARN("a call is ended: the node that began it is gone", LOG_STR("call", record->id),
             LOG_STR("target", record->target), LOG_STR("node", home_start(record)->by));
    engine_end_stored(engine, record->id, &outcome, done, data);
    arena_finish(&arena);
}
