/*
 * core/home: calls that a provider of this node has begun.
 *
 * Most providers resume by replay, so any node can run their calls on (PROVIDER_MIGRATES). A
 * provider that keeps something for a call, such as a connection or a process, cannot: its calls
 * have their home on the node where they were begun. Before such a call begins, the intent
 * (START_KEY) is committed to its journal. A node that later finds the intent, and is not the
 * call's home, does not begin the call a second time: it ends in NOD_E_OUTCOME_UNKNOWN. After a
 * restart no node is its home.
 *
 * A provider can be told of every end of its calls, so that it can free what it keeps. A call that
 * waits for a person and is not live here may end on another node. So calls that have their home
 * here are looked up in the store every HOME_LOOK_MS.
 *
 * Holds always: a provider that does not migrate begins a call once, on one node, in one life of
 * that node. It is told of the call's end once.
 */
#include "core/inside.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"

enum {
    HOME_LOOK_MS = 5000,       /* between two looks at calls that are not live here */
    HOME_LOOKS_MOST = 256,     /* calls in one look */
    HOME_ARENA_MAX = 64 << 20, /* bytes of the outcome of one */
};

#define START_KEY RUN_RESERVED_PREFIX "start"

struct home {
    struct id call;
    struct list link;      /* in engine->homes_order */
    struct target *target; /* NULL: the end was told; freed when the look has come back */
    struct op op;          /* the look at it in the store */
    bool looking;          /* a look is under way, or waits to be sent again */
    bool ours;             /* this node has committed the intent */
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

static void home_look_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct home *home = OP_OF(op, struct home, op);
    struct engine *engine = op->engine;
    const struct call_record *record = reply ? reply->call : NULL;
    struct outcome outcome = { .status = NOD_E_NOT_FOUND,
                               .code = outcome_code(NOD_E_NOT_FOUND),
                               .message =
                                   STR("The call has ended, but its result is no longer known") };
    struct id call = home->call;
    struct arena arena;

    home->looking = false;
    if (!home->target) { /* its end was told in the meantime */
        home_free(home);
        return;
    }
    if (engine_find(engine, id_str(&call)))
        return; /* the call is live here again: its own end will be told */
    if (status != NOD_E_NOT_FOUND && (status != NOD_OK || (record->state != CALL_STORED_FINISHED &&
                                                           record->state != CALL_STORED_CANCELLED)))
        return;
    arena_init(&arena, HOME_ARENA_MAX);
    if (status == NOD_OK && !record->forgotten) {
        struct outcome stored;
        if (outcome_read(&arena, arena_str(&arena, record->result), &stored) == NOD_OK)
            outcome = stored;
    }
    home_ended(engine, id_str(&call), NULL, &outcome);
    arena_finish(&arena);
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

/* --- the beginning --- */

static bool begun(const struct call *call)
{
    return journal_find(call->journal.entries, call->journal.count, ENTRY_INTENT, STR(START_KEY));
}

/* This node has just committed the intent. */
static bool begun_here(const struct call *call)
{
    const struct journal *journal = &call->journal;
    const struct entry *last = journal->count ? &journal->entries[journal->count - 1] : NULL;

    return call->fresh_intent && last && last->class == ENTRY_INTENT &&
           str_eq(last->key, STR(START_KEY));
}

static void make_home(struct call *call)
{
    struct engine *engine = call->engine;
    struct home *home = MEM_NEW(struct home);

    home->call = call->id;
    home->target = call->target;
    target_hold(home->target);
    list_init(&home->link);
    idmap_set(&engine->homes, home);
    if (list_empty(&engine->homes_order))
        due_set(engine, &engine->homes_look, HOME_LOOK_MS, home_look);
    list_append(&engine->homes_order, &home->link);
}

static void outcome_unknown(struct call *call)
{
    struct str message = arena_fmt(
        &call_ending(call)->arena,
        STR_FMT " was begun on a node that is gone, or before a restart, and cannot go on "
                "elsewhere: whether it was done is not known",
        STR_ARG(call->target->name));

    call_fail(call, NOD_E_OUTCOME_UNKNOWN, NULL, message);
}

static void commit_intent(struct call *call)
{
    struct run *run = run_create(call);
    nod_status status = run_intent(run, STR(START_KEY));

    if (status != NOD_PENDING) {
        call_outcome_fail(call, &run->fault);
        run_free(run);
        flow_jump(&call->flow, "finish");
        return;
    }
    call->run = run;
    call_save(call);
}

bool home_begin(struct call *call)
{
    const struct provider *provider = call->target->provider;
    struct home *home = home_find(call->engine, id_str(&call->id));
    bool stays = !(provider->ops->flags & PROVIDER_MIGRATES);

    if (!stays && !provider->ops->ended)
        return true;
    if (call->engine->stopping)
        return true; /* the call is left to other nodes as it is */
    if (home && begun_here(call))
        home->ours = true;
    if (stays && begun(call) && !(home && home->ours)) { /* another node may have been faster */
        outcome_unknown(call);
        return false;
    }
    if (!home)
        make_home(call);
    if (!stays || begun(call))
        return true;
    commit_intent(call);
    return false;
}
