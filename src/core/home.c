/*
 * core/home: calls that a provider of this node has begun.
 *
 * Most calls resume by replay, so any node can run them on. A provider that keeps something for the
 * calls of a target, such as a connection or a process, says so (target.stays): such a call has its
 * home on the node where it was begun. Before it begins, the intent (START_KEY) is committed to its
 * journal, with the name and the life of this node (home_node.c). While this node lives it alone
 * runs the call on: whoever is brought an answer elsewhere stores it, the store hints to this node,
 * and the call goes on here, whether it is live here or not (home_woken). When this node is gone,
 * whoever comes to the call ends it in NOD_E_OUTCOME_UNKNOWN. After a restart no node is its home.
 * A call that is not live here goes on only if the store says that somebody can come back for it.
 *
 * The beginning is an effect. It is held as a first step is (call_spec.hold_steps) until the client
 * has something to come back with.
 *
 * A provider can be told of every end of its calls, so that it can free what it keeps. A call that
 * waits for a person and is not live here may end on another node, and a hint may be lost. So calls
 * that have their home here are looked up in the store, HOME_LOOKS_MOST of them in turn every
 * HOME_LOOK_MS, and sooner when this node was silent for so long that others may have ended them.
 *
 * Holds always: a call that stays is begun once, on one node, in one life of that node. Its
 * provider is told of the call's end once.
 */
#include "core/call_inside.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"

enum {
    HOME_LOOK_MS = 5000,       /* between two looks at calls that are not live here */
    HOME_LOOKS_MOST = 256,     /* calls in one look */
    HOME_ARENA_MAX = 64 << 20, /* bytes of the outcome of one */
};

struct home {
    struct id call;
    struct list link;      /* in engine->homes_order */
    struct target *target; /* NULL: the end was told; freed when the look has come back */
    struct op op;          /* the look at it in the store */
    bool looking;          /* a look is under way, or waits to be sent again */
    bool stays;            /* of its target: this node is the only one that runs it on */
    bool live_begun;       /* its live run was begun */
};

static struct home *home_find(const struct engine *engine, struct str call_id)
{
    return idmap_get(&engine->homes, call_id);
}

static void home_free(struct home *home)
{
    op_abandon(&home->op);
    list_remove(&home->link);
    if (home->target)
        target_release(home->target);
    mem_free(home);
}

/* Removes it from the table. */
static void home_over(struct engine *engine, struct home *home)
{
    idmap_remove(&engine->homes, home);
    engine->homes_staying -= home->stays;
    if (!home->op.busy) {
        home_free(home);
        return;
    }
    target_release(home->target);
    home->target = NULL;
}

void homes_init(struct engine *engine)
{
    idmap_init(&engine->homes, SIZE_MAX / 2, offsetof(struct home, call)); /* as many as calls */
    list_init(&engine->homes_order);
    id_random(&engine->life);
    engine->home_heard_ms = INT64_MIN / 2; /* never */
}

void homes_drop(struct engine *engine)
{
    LIST_EACH (at, &engine->homes_order)
        home_free(LIST_OF(at, struct home, link));
    due_stop(engine, &engine->homes_look);
    idmap_finish(&engine->homes);
}

/* --- the end --- */

static void home_tell(struct provider *provider, struct str call_id, const struct outcome *outcome)
{
    if (provider->ops->ended)
        provider->ops->ended(provider, call_id, outcome);
}

void home_ended(struct engine *engine, struct str call_id, struct provider *provider,
                const struct outcome *outcome)
{
    struct home *home = home_find(engine, call_id);
    struct target *target = home ? home->target : NULL;

    if (!home) {
        if (provider)
            home_tell(provider, call_id, outcome);
        return;
    }
    target_hold(target); /* home_over lets go of the target */
    home_over(engine, home);
    home_tell(target->provider, call_id, outcome);
    target_release(target);
}

static void home_look_send(struct op *op)
{
    struct home *home = OP_OF(op, struct home, op);
    struct store *store = op->engine->store;

    store->ops->load_call(store, id_str(&home->call), op_completed, op);
}

/* A call that has its home here, as the store has it: `record`, or NULL if the store knows it no
 * longer. The call is not live here, or rests. */
static void home_seen(struct engine *engine, struct str call_id, const struct call_record *record)
{
    struct outcome outcome = { .status = NOD_E_NOT_FOUND,
                               .code = outcome_code(NOD_E_NOT_FOUND),
                               .message =
                                   STR("The call has ended, but its result is no longer known") };
    struct call *resting = engine_call_at(engine, call_id);
    struct arena arena;

    if (record && record->state == CALL_STORED_RUNNABLE) {
        if (resting)
            call_take(resting);
        else if (record->handed && home_at(engine, record) == HOME_HERE)
            recovery_show(engine, record);
        return;
    }
    if (record && record->state != CALL_STORED_FINISHED && record->state != CALL_STORED_CANCELLED)
        return;
    if (resting && !call_waiting(resting))
        return; /* it is being ended here, and that end will be told */
    arena_init(&arena, HOME_ARENA_MAX);
    if (record && !record->forgotten) {
        struct outcome stored;
        if (outcome_read(&arena, arena_str(&arena, record->result), &stored) == NOD_OK)
            outcome = stored;
    }
    home_ended(engine, call_id, NULL, &outcome);
    arena_finish(&arena);
}

static void home_look_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct home *home = OP_OF(op, struct home, op);
    struct engine *engine = op->engine;
    struct id call = home->call;

    home->looking = false;
    if (!home->target) /* its end was told in the meantime */
        home_free(home);
    else if (!engine_find(engine, id_str(&call)) && /* else its own end will be told */
             (status == NOD_OK || status == NOD_E_NOT_FOUND))
        home_seen(engine, id_str(&call), status == NOD_OK ? reply->call : NULL);
}

static void home_look(struct due *due)
{
    struct engine *engine = HEAP_OF(&due->node, struct engine, homes_look.node);
    struct list *last = list_last(&engine->homes_order);
    size_t looks = 0;

    if (!last)
        return;
    due_set(engine, due, HOME_LOOK_MS, home_look);
    for (struct list *at = list_first(&engine->homes_order), *next; looks < HOME_LOOKS_MOST;
         at = next) {
        struct home *home = LIST_OF(at, struct home, link);
        bool was_last = at == last;
        next = at->next;
        list_remove(at); /* to the end of the list, so that the others have their turn */
        list_append(&engine->homes_order, at);
        if (!engine_find(engine, id_str(&home->call)) && !home->looking) {
            home->looking = true;
            op_start(engine, &home->op, home_look_send, home_look_done);
            looks++;
        }
        if (was_last)
            return;
    }
}

static void home_looked(struct engine *engine, const struct call_record *record)
{
    if (home_find(engine, record->id) && !engine_find(engine, record->id))
        home_seen(engine, record->id, record);
}

void home_woken(struct engine *engine, struct str call_id)
{
    if (home_find(engine, call_id))
        engine_look(engine, call_id, home_looked);
}

void homes_woken(struct engine *engine)
{
    struct call *call;

    for (struct idmap_walk walk = { 0 }; (call = idmap_next(&engine->calls, &walk));) {
        if (!home_find(engine, id_str(&call->id)))
            continue;
        if (call->state == LIVE_RUNNING || call->state == LIVE_NEEDING)
            call_look(call);
        else if (call_waiting(call))
            call_take_later(call, 0);
    }
    if (!list_empty(&engine->homes_order))
        due_set(engine, &engine->homes_look, 0, home_look);
}

/* A call that stays keeps the target that it was begun with; so does one whose target is another
 * provider's by now, because the one that began it is told of its end. */
void homes_go_over(struct engine *engine)
{
    if (!engine->catalog || !engine->targets_went)
        return;
    LIST_EACH (at, &engine->homes_order) {
        struct home *home = LIST_OF(at, struct home, link);
        struct target *old = home->target, *now;
        if (home->stays || !old || !old->removed || !(now = catalog_now(engine->catalog, old)) ||
            now->provider != old->provider)
            continue;
        target_hold(now);
        home->target = now;
        target_release(old);
    }
}

/* --- the beginning --- */

static void make_home(struct call *call)
{
    struct engine *engine = call->engine;
    struct home *home = MEM_NEW(struct home);

    home->call = call->id;
    home->target = call->target;
    home->stays = target_stays(call->target);
    engine->homes_staying += home->stays;
    target_hold(home->target);
    list_init(&home->link);
    idmap_set(&engine->homes, home);
    if (list_empty(&engine->homes_order))
        due_set(engine, &engine->homes_look, HOME_LOOK_MS, home_look);
    list_append(&engine->homes_order, &home->link);
}

bool target_stays(const struct target *target)
{
    return target->stays || target->live;
}

struct target *home_target(const struct engine *engine, struct str call_id)
{
    const struct home *home = home_find(engine, call_id);

    return home && home->stays ? home->target : NULL;
}

static void commit_intent(struct call *call)
{
    struct run *run = run_create(call);
    nod_status status = home_intent(run);

    if (!home_find(call->engine, id_str(&call->id)))
        make_home(call);

    if (status != NOD_PENDING) {
        call_outcome_fail(call, &run->fault);
        run_free(run);
        flow_jump(&call->flow, "finish");
        return;
    }
    call->run = run;
    call_save(call);
}

void home_live_begun(const struct call *call)
{
    home_find(call->engine, id_str(&call->id))->live_begun = true;
}

/* What gave us the call may be old: it has ended here since, and its provider keeps nothing. */
static bool home_may_run(const struct call *call)
{
    const struct home *home = home_find(call->engine, id_str(&call->id));

    return home && !home->live_begun;
}

static bool home_has_begun(struct call *call)
{
    struct call_record record = { .entries = call->journal.entries,
                                  .entry_count = call->journal.count };

    switch (home_at(call->engine, &record)) {
    case HOME_HERE:
        if (home_may_run(call))
            return true;
        break;
    case HOME_ANYWHERE:
        if (call->steps == STEPS_STOP) { /* the client could not come back for what is begun */
            call_enter(call, LIVE_ASKING);
            call_hold_steps(call);
        } else if (home_is_known(call)) {
            commit_intent(call);
        }
        return false;
    case HOME_ELSEWHERE:
    case HOME_GONE: /* it was imported, with what it had begun where this store is not shared */
        break;
    }
    struct outcome outcome = outcome_homeless(&call_ending(call)->arena, call->target->name);
    call_fail(call, outcome.status, outcome.code, outcome.message);
    return false;
}

bool home_begin(struct call *call)
{
    const struct target *target = call->target;

    if (!target_stays(target) && !target->provider->ops->ended)
        return true;
    if (call->engine->stopping)
        return true; /* the call is left to other nodes as it is */
    if (target_stays(target))
        return home_has_begun(call);
    if (!home_find(call->engine, id_str(&call->id)))
        make_home(call);
    return true;
}
