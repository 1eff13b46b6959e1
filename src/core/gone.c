/*
 * core/gone: see gone.h.
 *
 * With a shared store, another node that lives and has the target (in the version of the call) goes
 * on with the call, and nothing ends here. If there is none, one may be on its way: all nodes that
 * have the target may be started anew at this moment. So the call ends when no node has had the
 * target for ENGINE_GONE_MS, since this node first met the call. Where the store is not shared,
 * nobody else can have the target: a client that comes is told at once, and only a call that
 * nobody has come for waits as long, because the target may be registered while the server runs.
 *
 * A call that waits here when its target is removed, and nothing replaces it (replaced.c), is left
 * to other nodes in the same way, if its client can go there, and ends otherwise. A call that runs
 * then ends its run first.
 *
 * Holds always: what is seen of a call is forgotten when another node is seen to have its target.
 */
#include "core/gone.h"

#include <limits.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "core/call_inside.h"

enum {
    UNRUN_MAX = 256,           /* calls without a target that are watched at a time */
    UNRUN_UNSEEN_MS = 10000,   /* one that was not seen for that long makes room for another */
    UNRUN_ANEW_MS = 60000,     /* and one that was not seen for that long is met anew */
    GONE_ARENA_MAX = 64 << 10, /* memory of the message that a target is gone */
};

struct unrun { /* a call that is not run here: its target is missing */
    struct id call;
    int64_t first, seen; /* monotonic */
};

struct gone {
    struct unrun unrun[UNRUN_MAX];
};

/*
 * A call that this node cannot run, and since when it has seen it. Calls that are seen again keep
 * their places. NULL: no place is free now.
 */
static struct unrun *watched(struct engine *engine, struct str call_id, int64_t now)
{
    struct unrun *free = NULL;

    if (!engine->gone)
        engine->gone = MEM_NEW(struct gone);
    for (size_t i = 0; i < UNRUN_MAX; i++) {
        struct unrun *unrun = &engine->gone->unrun[i];
        if (str_eq(id_str(&unrun->call), call_id)) {
            if (now - unrun->seen > UNRUN_ANEW_MS)
                unrun->first = now;
            unrun->seen = now;
            return unrun;
        }
        if (!unrun->call.text[0] || now - unrun->seen > UNRUN_UNSEEN_MS)
            free = unrun;
    }
    if (free) {
        *free = (struct unrun){ .first = now, .seen = now };
        free->call = id_of(call_id);
    }
    return free;
}

/* Has no node had its target for so long that the call may end? */
static bool gone_long(struct engine *engine, const struct call_record *record)
{
    int64_t now = clock_mono(engine->clock);
    struct unrun *unrun = watched(engine, record->id, now);
    enum version_at at = engine_version_elsewhere(engine, record);

    if (!unrun)
        return false;
    if (at == VERSION_THERE)
        *unrun = (struct unrun){ 0 };
    return at == VERSION_NOWHERE && now - unrun->first >= ENGINE_GONE_MS;
}

bool gone_for_good(struct engine *engine, const struct call_record *record)
{
    if (!engine->store->ops->shared)
        return true;
    /* A node that runs the call keeps the target that the call began with. If that node is gone,
     * nobody may know it but whoever has come: the look for orphans shows it only if the store was
     * told that somebody can come back. */
    bool runs = record->state == CALL_STORED_RUNNING && node_is_there(engine, record->node);
    return !runs && gone_long(engine, record);
}

static void gone_end_as(struct engine *engine, struct str call_id, struct str target,
                        const struct so_far *so_far, void (*done)(void *data, nod_status status),
                        void *data)
{
    struct arena arena;

    arena_init(&arena, GONE_ARENA_MAX);
    struct outcome outcome = outcome_gone(&arena, target, so_far);
    engine_end(engine, call_id, &outcome, done, data);
    arena_finish(&arena);
}

void gone_end(struct engine *engine, const struct call_record *record,
              void (*done)(void *data, nod_status status), void *data)
{
    LOG_WARN("a call is ended: its target no longer exists", LOG_STR("call", record->id),
             LOG_STR("target", record->target));
    gone_end_as(engine, record->id, record->target,
                &(struct so_far){
                    .entries = record->entries,
                    .count = record->entry_count,
                    .answered = record->state != CALL_STORED_WAITING,
                    .interrupted = record->state == CALL_STORED_RUNNING,
                },
                done, data);
}

/* --- a call that nobody has come for --- */

/* A look may show the call without its journal: so it is loaded before it ends. */
static void gone_orphan_loaded(struct engine *engine, const struct call_record *record)
{
    if (home_at(engine, record) == HOME_ELSEWHERE)
        recovery_homeless(engine, record);
    else if (engine->catalog &&
             (record->state == CALL_STORED_RUNNABLE || record->state == CALL_STORED_RUNNING) &&
             !catalog_of_call(engine->catalog, record))
        gone_end(engine, record, NULL, NULL);
}

void engine_orphan_gone(struct engine *engine, const struct call_record *record)
{
    if (gone_long(engine, record))
        engine_look(engine, record->id, gone_orphan_loaded);
}

/* --- a call that waits here --- */

/* A waiting call has no journal here, and its end says what was done. */
static void gone_seen(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    const struct call_record *record = status == NOD_OK ? reply->call : NULL;
    struct so_far so_far = { 0 };

    if (call_decided(call))
        return;
    if (record && record->state != CALL_STORED_WAITING) {
        call_take_later(call, 0); /* it was answered meanwhile, and ends when it is taken */
        return;
    }
    if (record)
        so_far = (struct so_far){ .entries = record->entries, .count = record->entry_count };
    gone_end_as(call->engine, id_str(&call->id), call->target->name, &so_far, NULL, NULL);
}

bool call_lacks_target(const struct call *call)
{
    const struct target *target = call->target;

    return target->removed && !call->away && !call->live && call->engine->catalog &&
           !target_is_stand_in(target) && !catalog_now(call->engine->catalog, target);
}

bool call_may_leave_gone(const struct call *call)
{
    bool comes_back =
        call->stored && call->caller->ops->unloaded && (call->handed || call->carries);

    return call->engine->store->ops->shared && (call_is_resting(call) || comes_back);
}

/* If the target has come back meanwhile, the waiting call goes on with that one, and is looked up
 * in the store, which this had delayed. */
static void end_without_target(struct due *due)
{
    struct call *call = HEAP_OF(&due->node, struct call, timeout.node);

    if (!call_waiting(call))
        return;
    if (!call_lacks_target(call)) {
        call_take_later(call, 0);
    } else if (call_may_leave_gone(call)) {
        call_leave(call); /* another node may have the target */
    } else {
        call_enter(call, LIVE_TAKING);
        op_start_of(call->engine, &call->op, call->principal, call_load_send, gone_seen);
        call->op.most = INT_MAX; /* without the record nobody could say what was done */
    }
}

void call_gone_later(struct call *call)
{
    due_set(call->engine, &call->timeout, 0, end_without_target);
}
