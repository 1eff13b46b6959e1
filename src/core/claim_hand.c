/*
 * core/claim_hand: an answer is in hand while its hooks run.
 *
 * A hook of an answer that crashes takes its process down, and would do so again each time the
 * answer is sent again. So before the first hook is called, the store learns that this node has an
 * answer to the ask in hand: a small record of the ask has a line for each such node, its name and
 * since when, by the store's clock. When the answer
 * has ended, in whatever way, the node takes its name out again. A name that stays is that of a
 * node which has died meanwhile, or was told to stop (node.c), which counts for nothing. The third
 * death ends the call, as for a handler that crashes (suspect.c). An answer that processes have
 * died with is taken in hand after a while, and by itself, as suspects are run: so one that came
 * beside what crashes is not counted with it three times.
 *
 * While another node has an answer to the ask in hand, this one waits: that node may be done soon,
 * or dead already, which is not known at once. So one ask takes down HAND_DEATHS_MOST processes at
 * most, one after the other.
 *
 * Whoever waits for another node holds nothing: an answer that waits for others of its submission
 * (answer_set.c) is in no hook, and is not in hand meanwhile. Otherwise two nodes that are given
 * the same answers at the same time would each wait for what the other has.
 *
 * Nothing of this happens if no hook can want the answer, or if nothing outlives the process.
 *
 * Every change of the record names the version it was made from, so no node takes out the name of
 * another. A name that could not be taken out, because the store was away or another node was
 * faster, is tried again until it is out.
 *
 * Holds always: the store knows that a node has an ask in hand before that node calls a hook for an
 * answer to it. After the last death no hook is called, and the answer goes on only when the store
 * says that the ask has ended: so no answer counts that no hook has seen.
 */
#include "core/claim.h"

#include <limits.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"

#define HAND_KIND STR("hand")

enum {
    HAND_DEATHS_MOST = 3, /* nodes that died with an answer to the ask in hand: they end the call */
    HAND_AGAIN_MS = 100,  /* until it is looked again at who has the ask in hand */
    HAND_LOOKS_MOST = 400, /* looks until the answerer is told to come later */
    HAND_PUTS_MOST = 64,   /* times that other nodes may be faster, until a name stays */
    HAND_EMPTY_MS = 1000,  /* how long a record is kept that has no names */
    HANDS_MAX = 64 << 10,  /* bytes of the names of one record */
};

static void hand_look(struct claim *claim);

/* Takes the first line off: the node, and since when it has the ask in hand; 0: not known. */
static bool hand_cut(struct str *lines, struct str *line, struct str *node, int64_t *since_ms)
{
    struct str when;

    *since_ms = 0;
    if (!str_cut(*lines, '\n', line, lines))
        return false;
    *node = *line;
    if (str_cut(*line, ' ', node, &when) && !str_to_i64(when, since_ms))
        *since_ms = 0;
    return true;
}

/* Nothing is known of the ask, or not enough to call a hook: the answerer is to come later. */
static void hand_failed(struct claim *claim, nod_status status)
{
    if (claim->answer.set)
        answer_set_spoil(claim->answer.set, status);
    claim_failed(claim, status);
}

static void hand_op(struct claim *claim, void (*send)(struct op *op),
                    void (*done)(struct op *op, nod_status status, const struct store_reply *reply))
{
    op_start_of(claim->engine, &claim->op, claim_whose(claim), send, done);
    claim->op.tired = claim_tired;
    if (claim->answer.once) /* nobody would give it a second time */
        claim->op.most = INT_MAX;
}

/* --- after the last death --- */

bool claim_is_crashed(const void *subject)
{
    return ((const struct claim *)subject)->crashed;
}

/* The store says that the ask waits no more: the stages tell the answerer what became of it. */
static void hand_ask_has_ended(struct claim *claim)
{
    claim->crashed = true;
    flow_enter(&claim->flow);
}

struct hand_end { /* of the call; in the claim's arena */
    struct claim *claim;
    struct str target, registered;
    const char *code;
};

static void hand_call_ended(void *data, nod_status status)
{
    struct hand_end *end = data;
    struct claim *claim = end->claim;

    if (status == NOD_OK)
        LOG_ERROR("a call has ended because the server died whenever an answer to it came",
                  LOG_STR("target", end->target), LOG_STR("call", id_str(&claim->asker)),
                  LOG_STR("registered", end->registered), LOG_CSTR("code", end->code),
                  LOG_INT("deaths", HAND_DEATHS_MOST));
    if (status == NOD_OK || status == NOD_E_STALE || status == NOD_E_NOT_FOUND)
        hand_ask_has_ended(claim);
    else
        hand_failed(claim, NOD_E_STORE);
}

static void hand_call_send(struct op *op)
{
    struct store *store = op->engine->store;

    store->ops->load_call(store, id_str(&OP_OF(op, struct claim, op)->asker), op_completed, op);
}

/* A call that has brought the answer does not wait, and finds its end in the store. */
static void hand_call_seen(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = OP_OF(op, struct claim, op);
    struct engine *engine = claim->engine;
    struct str id = id_str(&claim->asker);
    struct call *live = engine_call_at(engine, id);
    struct hand_end *end = ARENA_NEW(&claim->arena, struct hand_end);

    if (status != NOD_OK || !end) {
        hand_failed(claim, status != NOD_OK ? status : NOD_E_LIMIT);
        return;
    }
    const struct call_record *call = reply->call;
    const struct target *target = engine->catalog ? catalog_of_call(engine->catalog, call) : NULL;
    struct outcome outcome = outcome_crashed(&claim->arena, call->target, CRASHED_IN_ANSWER,
                                             steps_are_open(call->entries, call->entry_count));
    *end = (struct hand_end){ .claim = claim,
                              .target = arena_str(&claim->arena, call->target),
                              .registered = target && target->source.len
                                                ? arena_str(&claim->arena, target->source)
                                                : STR("not known"),
                              .code = outcome.code };
    if (live && call_waiting(live))
        engine_end(engine, id, &outcome, hand_call_ended, end);
    else
        engine_end_stored(engine, id, &outcome, hand_call_ended, end);
}

static void hand_ask_send(struct op *op)
{
    struct store *store = op->engine->store;

    store->ops->load_ask(store, OP_OF(op, struct claim, op)->ask_id, op_completed, op);
}

static void hand_ask_seen(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = OP_OF(op, struct claim, op);

    if (status == NOD_E_NOT_FOUND || (status == NOD_OK && reply->ask->state != ASK_PENDING)) {
        hand_ask_has_ended(claim);
        return;
    }
    if (status != NOD_OK) {
        hand_failed(claim, status);
        return;
    }
    claim->asker = id_of(reply->ask->call_id);
    hand_op(claim, hand_call_send, hand_call_seen);
}

/* --- taking it in hand --- */

static void hand_put_send(struct op *op)
{
    struct claim *claim = OP_OF(op, struct claim, op);
    struct engine *engine = claim->engine;

    engine->store->ops->put(engine->store, HAND_KIND, claim->ask_id,
                            arena_fmt(&claim->arena, STR_FMT STR_FMT " %lld\n",
                                      STR_ARG(claim->hands), STR_ARG(engine->node),
                                      (long long)engine_now(engine)),
                            STR_NONE, claim->hand_version, STORE_ABANDONED_MS, op_completed, op);
}

static void hand_put_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = OP_OF(op, struct claim, op);

    claim->hand_version = status == NOD_OK ? reply->version : 0;
    if (status == NOD_E_STALE) { /* another node was faster, or this was sent twice */
        hand_look(claim);
    } else if (status != NOD_OK) {
        hand_failed(claim, NOD_E_STORE);
    } else {
        flow_enter(&claim->flow);
    }
}

static void hand_look_again(struct due *due)
{
    hand_look(HEAP_OF(&due->node, struct claim, doubt.node));
}

static void hand_weigh(struct claim *claim);

static void hand_weigh_again(struct due *due)
{
    hand_weigh(HEAP_OF(&due->node, struct claim, doubt.node));
}

static void hand_wait(struct claim *claim, void (*again)(struct due *due))
{
    if (++claim->hand_looks > HAND_LOOKS_MOST && !claim->answer.once)
        hand_failed(claim, NOD_E_STORE);
    else
        due_set(claim->engine, &claim->doubt, HAND_AGAIN_MS, again);
}

/* Whose hands they are: those of nodes that have died, and of others that live. */
static void hand_weigh(struct claim *claim)
{
    struct engine *engine = claim->engine;
    struct str rest = claim->hands, line, name, kept = STR_NONE;
    int64_t since_ms, newest_ms = 0; /* of the dead */
    size_t dead = 0;
    bool alive = false;

    if (rest.len && !nodes_known(engine, claim->since)) {
        hand_wait(claim, hand_weigh_again);
        return;
    }
    while (hand_cut(&rest, &line, &name, &since_ms)) {
        if (str_eq(name, engine->node) || node_has_left(engine, name))
            continue;
        bool there = node_is_there(engine, name);
        alive |= there;
        dead += !there;
        if (!there && since_ms > newest_ms)
            newest_ms = since_ms;
        kept = arena_fmt(&claim->arena, STR_FMT STR_FMT "\n", STR_ARG(kept), STR_ARG(line));
    }
    claim->hands = kept;
    if (dead >= HAND_DEATHS_MOST) {
        hand_op(claim, hand_ask_send, hand_ask_seen);
        return;
    }
    if (alive) {
        hand_wait(claim, hand_look_again);
        return;
    }
    if (dead && !claim->hand_seen)
        claim->hand_seen = clock_mono(engine->clock);
    if (dead && !suspects_try_answer(engine, claim, dead, claim->hand_seen, newest_ms)) {
        hand_wait(claim, hand_look_again);
        return;
    }
    if (dead)
        LOG_WARN("an answer is taken again whose process died while its hooks ran",
                 LOG_STR("ask", claim->ask_id), LOG_INT("deaths", (int64_t)dead));
    claim->in_hand = true; /* from now on the store may know it */
    hand_op(claim, hand_put_send, hand_put_done);
}

static void hand_look_send(struct op *op)
{
    struct claim *claim = OP_OF(op, struct claim, op);
    struct store *store = claim->engine->store;

    store->ops->get(store, HAND_KIND, claim->ask_id, op_completed, op);
}

static void hand_looked(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = OP_OF(op, struct claim, op);

    if (status == NOD_E_STORE) {
        hand_failed(claim, status);
        return;
    }
    /* What cannot be read is replaced. */
    claim->hands = status == NOD_OK ? arena_str(&claim->arena, reply->value) : STR_NONE;
    claim->hand_version = status == NOD_OK            ? reply->version
                          : status == NOD_E_NOT_FOUND ? STORE_NEW
                                                      : 0;
    claim->since = clock_mono(claim->engine->clock);
    hand_weigh(claim);
}

static void hand_look(struct claim *claim)
{
    hand_op(claim, hand_look_send, hand_looked);
}

/* --- letting it go --- */

struct letting_go {
    struct engine_work work;
    struct id ask;
    struct buf hands; /* the names that stay */
    uint64_t version; /* of the record that they are from */
    int puts;
};

static void letting_go_free(struct letting_go *letting)
{
    buf_finish(&letting->hands);
    engine_work_free(&letting->work);
}

static void letting_go_drop(struct engine_work *work)
{
    letting_go_free(OP_OF(work, struct letting_go, work));
}

/* Another answer to the ask is in hand at this node. */
static bool hand_is_held(const struct engine *engine, struct str ask_id)
{
    LIST_EACH (at, &engine->claims) {
        const struct claim *claim = LIST_OF(at, struct claim, link);
        if (claim->in_hand && str_eq(claim->ask_id, ask_id))
            return true;
    }
    return false;
}

static void letting_go_look(struct letting_go *letting);

static void less_send(struct op *op)
{
    struct letting_go *letting = OP_OF(op, struct letting_go, work.op);
    struct store *store = op->engine->store;

    store->ops->put(store, HAND_KIND, id_str(&letting->ask), buf_str(&letting->hands), STR_NONE,
                    letting->version, letting->hands.len ? STORE_ABANDONED_MS : HAND_EMPTY_MS,
                    op_completed, op);
}

static void less_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct letting_go *letting = OP_OF(op, struct letting_go, work.op);

    (void)reply;
    if (status == NOD_E_STALE && ++letting->puts < HAND_PUTS_MOST)
        letting_go_look(letting);
    else
        letting_go_free(letting);
}

static void letting_go_put(struct letting_go *letting)
{
    op_start(letting->work.op.engine, &letting->work.op, less_send, less_done);
    letting->work.op.most = INT_MAX; /* a name that stays counts as a death when this node ends */
}

static void rest_send(struct op *op)
{
    struct letting_go *letting = OP_OF(op, struct letting_go, work.op);
    struct store *store = op->engine->store;

    store->ops->get(store, HAND_KIND, id_str(&letting->ask), op_completed, op);
}

static void rest_seen(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct letting_go *letting = OP_OF(op, struct letting_go, work.op);
    struct str rest = status == NOD_OK ? reply->value : STR_NONE, line, name;
    int64_t since_ms;
    bool ours = false;

    buf_clear(&letting->hands);
    while (hand_cut(&rest, &line, &name, &since_ms)) {
        if (str_eq(name, op->engine->node))
            ours = true;
        else
            buf_fmt(&letting->hands, STR_FMT "\n", STR_ARG(line));
    }
    if (!ours || letting->hands.overflow || hand_is_held(op->engine, id_str(&letting->ask))) {
        letting_go_free(letting);
        return;
    }
    letting->version = reply->version;
    letting_go_put(letting);
}

static void letting_go_look(struct letting_go *letting)
{
    op_start(letting->work.op.engine, &letting->work.op, rest_send, rest_seen);
    letting->work.op.most = INT_MAX;
}

static void hand_is_over(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply; /* the ask has ended: nobody looks at its hands */
}

void claim_let_go(struct claim *claim)
{
    struct engine *engine = claim->engine;
    struct store *store = engine->store;

    if (!claim->in_hand)
        return;
    claim->in_hand = false;
    if (claim->result.state != ASK_PENDING) {
        store->ops->del(store, HAND_KIND, claim->ask_id, hand_is_over, NULL);
        return;
    }
    if (hand_is_held(engine, claim->ask_id))
        return;
    struct letting_go *letting = MEM_NEW(struct letting_go);
    letting->ask = id_of(claim->ask_id);
    letting->version = claim->hand_version;
    buf_init(&letting->hands, HANDS_MAX);
    buf_add(&letting->hands, claim->hands);
    engine_work_begin(engine, &letting->work, letting_go_drop);
    if (claim->hand_version)
        letting_go_put(letting);
    else
        letting_go_look(letting);
}

void claim_rest_hand(struct claim *claim)
{
    suspects_answer_over(claim->engine, claim);
    claim_let_go(claim);
}

/* --- the whole --- */

void claim_enter(struct claim *claim)
{
    if (!engine_survives(claim->engine) || claim->ask_id.len != ID_LEN ||
        !hooks_may_want(&claim->flow)) {
        flow_enter(&claim->flow);
        return;
    }
    claim_keep_content(claim);
    hand_look(claim);
}
