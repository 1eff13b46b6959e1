/*
 * core/suspect: calls that were running when their node died.
 *
 * A handler that crashes takes its process down, and would do so again wherever its call is run on.
 * Being run when a process ends is not yet guilt: other calls ran beside it, and processes are
 * killed for other reasons. So a call that ran on a node which is gone is a suspect, unless the
 * node was told to stop (node.c): then it is taken as if nothing had happened.
 *
 * Suspects are run one at a time on a node, after everything else that can be run. A suspect that
 * was never counted is run at once, one that was counted once after SUSPECT_SECOND_MS, and twice
 * after SUSPECT_THIRD_MS, from when this node has first seen that its node was gone, or from when
 * it must have been gone by the store's clock: where no process lives for long, nobody would wait
 * long enough. Nodes that share a store give way to those that were started later: whoever restarts
 * nodes one after the other comes to these last. The run is on probation until the call commits
 * anything, asks, ends, or has run for SUSPECT_CLEARED_MS by the store's clock, which is then
 * stored. Then the next one begins.
 *
 * The store counts, in the transition that takes the call: deaths_taken (store.c), and for Redis
 * take.lua, which says the same. It is an early death if the run that died was on probation, else a
 * late one. A commit clears the counts. The third early death, or the tenth late one, ends the call
 * (suspect_must_end): it is taken once more, for its journal and its end, and is not run.
 *
 * A suspect is live like any call that runs elsewhere (take.c), whoever waits for it: a client that
 * came back, or the look for orphans (recover.c). This file decides when it is taken, and in which
 * way.
 *
 * An answer that processes died with, in one of its hooks (claim_hand.c), is tried in the same
 * lane: no suspect is run meanwhile, and its turn comes before theirs. Otherwise what crashes would
 * take whatever is tried beside it with it, again and again, until that has three deaths too.
 *
 * Holds always: at most one run on probation was begun here and is not cleared (`trial`), or one
 * answer is tried.
 */
#include "core/call_inside.h"

#include <limits.h>

#include "base/log.h"
#include "base/mem.h"

enum {
    SUSPECT_CLEARED_MS = 10000, /* a suspect that has run for so long is cleared */
    SUSPECT_SECOND_MS = 1000,   /* how long a suspect waits that was counted once */
    SUSPECT_THIRD_MS = 10000,   /* and twice */
    SUSPECT_EARLY_MOST = 3,     /* early deaths that end a call */
    SUSPECT_LATE_MOST = 10,     /* late deaths that end a call */
    SUSPECT_YOUNGER_MS = 3000,  /* a node gives so much time to each that was started later */
    SUSPECTS_MOST = 64,         /* past so many that wait, no more orphans are adopted */
    SUSPECT_AGAIN_MS = 1000,    /* until the records of nodes are asked for again */
    SIGHTINGS = 1024,           /* deaths that this node remembers to have seen */
    SUSPECT_ARENA_MAX = 64 << 10,
};

struct suspect {
    struct list link; /* in suspects.waiting */
    struct call *call;
    uint64_t epoch; /* of the run that died */
    struct deaths deaths;
    int64_t seen_ms;   /* monotonic: when this node has first seen that death */
    enum take_why why; /* TAKE_PLAIN: its turn has not come */
    size_t node_len;
    char node[]; /* that it ran on */
};

struct sighting {
    uint64_t key; /* made from a call and the epoch that died; 0: none */
    int64_t ms;
};

struct suspects {
    struct engine *engine;
    struct list waiting; /* struct suspect */
    size_t count;
    struct due next;
    struct call *trial; /* a suspect that is being taken, or runs on probation */
    int64_t began_ms;   /* since then, by the store's clock */
    struct due long_enough;
    bool clearing; /* it is being stored that a trial was long enough */
    struct op clear;
    struct id clear_call;
    uint64_t clear_epoch;
    struct sighting sightings[SIGHTINGS];
    size_t sighted;
    const struct claim *answer; /* one that is tried */
    int64_t answer_until;       /* monotonic: then it counts no more, however long its hooks take */
    int64_t answers_first;      /* monotonic: until then one waits, whose turn comes first */
};

/* --- the end of a call that crashes --- */

bool steps_are_open(const struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].class == ENTRY_INTENT &&
            !journal_find(entries, count, ENTRY_STEP, entries[i].key))
            return true;
    return false;
}

bool suspect_must_end(const struct call *call)
{
    struct deaths deaths = deaths_unpack(call->deaths);

    return deaths.early >= SUSPECT_EARLY_MOST || deaths.late >= SUSPECT_LATE_MOST;
}

/* The store has its end. */
static void suspect_ended(void *data, nod_status status)
{
    const struct call *call = data;
    const struct target *target = call->target;
    struct deaths deaths = deaths_unpack(call->deaths);

    if (status == NOD_OK)
        LOG_ERROR("a call has ended because the server died whenever it ran",
                  LOG_STR("target", target->name), LOG_IF("plugin", target->from),
                  LOG_STR("call", id_str(&call->id)),
                  LOG_STR("registered", target->source.len ? target->source : STR("not known")),
                  LOG_CSTR("code", call->ending->outcome.code), LOG_INT("early", deaths.early),
                  LOG_INT("late", deaths.late));
}

void suspect_end(struct call *call)
{
    struct arena arena;

    arena_init(&arena, SUSPECT_ARENA_MAX);
    struct outcome outcome =
        outcome_crashed(&arena, call->target->name, CRASHED_IN_RUN,
                        steps_are_open(call->journal.entries, call->journal.count));
    call_end_tell(call, suspect_ended, call);
    call_enter(call, LIVE_WAITING);
    call_end_as(call, &outcome);
    arena_finish(&arena);
}

/* --- which, and when --- */

static int64_t first_sighting(struct suspects *suspects, const struct call_record *record)
{
    uint64_t key = sighting_key(record);
    int64_t now = clock_mono(suspects->engine->clock);

    for (size_t i = 0; i < SIGHTINGS; i++)
        if (suspects->sightings[i].key == key)
            return suspects->sightings[i].ms;
    suspects->sightings[suspects->sighted++ % SIGHTINGS] = (struct sighting){ key, now };
    return now;
}

/* How long it waits, from that sighting. */
static int64_t pause_of(const struct suspect *suspect, bool left)
{
    static const int64_t pauses[SUSPECT_EARLY_MOST] = { 0, SUSPECT_SECOND_MS, SUSPECT_THIRD_MS };
    unsigned counted = suspect->deaths.early + (suspect->deaths.probation && !left);

    return counted < SUSPECT_EARLY_MOST ? pauses[counted] : 0; /* 0: it ends */
}

/*
 * Until when one waits that was seen to have died then, monotonic. By the store's clock the time
 * counts from when what had begun at tried_ms would have been cleared: a process that does not live
 * long enough to wait goes by that. 0: not known.
 */
static int64_t waits_until(const struct engine *engine, int64_t pause, int64_t seen_ms,
                           int64_t tried_ms)
{
    int64_t over_ms = tried_ms + SUSPECT_CLEARED_MS - engine_now(engine);
    int64_t anywhere = clock_mono(engine->clock) + over_ms + pause;

    return tried_ms && anywhere < seen_ms + pause ? anywhere : seen_ms + pause;
}

static void suspect_free(struct suspect *suspect)
{
    suspect->call->suspect = NULL;
    suspect->call->engine->suspects->count--;
    list_remove(&suspect->link);
    mem_free(suspect);
}

static void suspect_go(struct suspect *suspect, enum take_why why)
{
    suspect->why = why;
    call_take(suspect->call);
}

static void next_due(struct due *due)
{
    suspects_next(HEAP_OF(&due->node, struct suspects, next.node)->engine);
}

/* Until when no suspect is run, because an answer is tried or is about to be. */
static int64_t answers_until(const struct suspects *suspects, int64_t now)
{
    int64_t tried = suspects->answer ? suspects->answer_until : now;

    return tried > suspects->answers_first ? tried : suspects->answers_first;
}

void suspects_next(struct engine *engine)
{
    struct suspects *suspects = engine->suspects;
    struct suspect *first = NULL;
    int64_t now = clock_mono(engine->clock), at = INT64_MAX;

    if (!suspects || engine->stopping)
        return;
    if (node_is_told_to_stop(engine)) {
        suspects_leave(engine); /* one was met since */
        return;
    }
    bool free = !suspects->trial && !suspects->clearing && recovery_has_looked(engine);
    int64_t answers = answers_until(suspects, now);
    if (suspects_are_few(engine))
        recovery_on(engine);
    LIST_EACH (link, &suspects->waiting) {
        struct suspect *suspect = LIST_OF(link, struct suspect, link);
        struct str node = str_n(suspect->node, suspect->node_len);
        enum version_at version = call_version_at(suspect->call);
        if (suspect->why != TAKE_PLAIN || version == VERSION_THERE || version == VERSION_UNSURE)
            continue; /* it has its turn, or is left to a node that has its version */
        if (!nodes_known(engine, suspect->seen_ms)) {
            due_set(engine, &suspects->next, SUSPECT_AGAIN_MS, next_due);
            return; /* node.c comes back here */
        }
        bool left = node_has_left(engine, node);
        if (left && !suspect->deaths.probation) {
            suspect_go(suspect, TAKE_FORGIVEN);
            continue;
        }
        int64_t due = waits_until(engine, pause_of(suspect, left), suspect->seen_ms,
                                  suspect->deaths.tried_ms) +
                      SUSPECT_YOUNGER_MS * (int64_t)nodes_younger(engine, node);
        if (due < at) {
            at = due;
            first = suspect;
        }
    }
    if (!first || !free)
        return;
    at = at > answers ? at : answers;
    if (at > now) {
        due_set(engine, &suspects->next, at - now, next_due);
        return;
    }
    bool left = node_has_left(engine, str_n(first->node, first->node_len));
    suspects->trial = first->call;
    suspect_go(first, left ? TAKE_FORGIVEN : TAKE_SUSPECT);
}

bool suspects_have_room(const struct engine *engine, size_t coming)
{
    return engine->suspects && engine->suspects->count + coming < SUSPECTS_MOST;
}

bool suspects_are_few(const struct engine *engine)
{
    return suspects_have_room(engine, SUSPECTS_MOST / 2);
}

bool suspect_is(const struct call_record *record)
{
    return record->state == CALL_STORED_RUNNING ||
           (record->state == CALL_STORED_RUNNABLE && record->deaths.probation);
}

void suspect_meet(struct call *call, const struct call_record *record)
{
    struct suspects *suspects = call->engine->suspects;

    if (call->suspect && call->suspect->epoch != record->epoch)
        suspect_over(call);
    if (!suspects || call->suspect)
        return;
    struct suspect *suspect = mem_zalloc(sizeof(*suspect) + record->node.len);
    suspect->call = call;
    suspect->epoch = record->epoch;
    suspect->deaths = record->deaths;
    suspect->seen_ms = first_sighting(suspects, record);
    suspect->node_len = record->node.len;
    if (record->node.len)
        memcpy(suspect->node, record->node.at, record->node.len);
    list_init(&suspect->link);
    list_append(&suspects->waiting, &suspect->link);
    suspects->count++;
    call->suspect = suspect;
    due_set(call->engine, &suspects->next, 0, next_due); /* the call is about to wait */
}

enum take_why suspect_way(const struct call *call)
{
    return call->suspect ? call->suspect->why : TAKE_PLAIN;
}

/* --- answers --- */

bool suspects_try_answer(struct engine *engine, const struct claim *claim, size_t deaths,
                         int64_t seen_ms, int64_t tried_ms)
{
    struct suspects *suspects = engine->suspects;
    int64_t now = clock_mono(engine->clock);

    if (!suspects || suspects->answer == claim)
        return true;
    int64_t pause = deaths < 2 ? SUSPECT_SECOND_MS : SUSPECT_THIRD_MS;
    if (now < waits_until(engine, pause, seen_ms, tried_ms))
        return false;
    suspects->answers_first = now + SUSPECT_AGAIN_MS;
    if (suspects->trial || suspects->clearing || (suspects->answer && now < suspects->answer_until))
        return false;
    suspects->answer = claim;
    suspects->answer_until = now + SUSPECT_CLEARED_MS;
    return true;
}

void suspects_answer_over(struct engine *engine, const struct claim *claim)
{
    struct suspects *suspects = engine->suspects;

    if (!suspects || suspects->answer != claim)
        return;
    suspects->answer = NULL;
    suspects->answers_first = 0;
    due_set(engine, &suspects->next, 0, next_due);
}

/* --- the trial --- */

static void trial_over(struct suspects *suspects)
{
    suspects->trial = NULL;
    due_stop(suspects->engine, &suspects->long_enough);
    due_set(suspects->engine, &suspects->next, 0, next_due);
}

static void clear_send(struct op *op)
{
    struct suspects *suspects = OP_OF(op, struct suspects, clear);
    struct store *store = op->engine->store;

    store->ops->append(store,
                       &(struct append_spec){ .token = id_str(&op->token),
                                              .node = op->engine->node,
                                              .call_id = id_str(&suspects->clear_call),
                                              .epoch = suspects->clear_epoch,
                                              .clears = true },
                       op_completed, op);
}

static void clear_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct suspects *suspects = OP_OF(op, struct suspects, clear);
    struct call *call = engine_call_at(op->engine, id_str(&suspects->clear_call));

    (void)status; /* if it was refused, the call has gone on, here or elsewhere */
    (void)reply;
    suspects->clearing = false;
    if (call && call == suspects->trial && call->epoch == suspects->clear_epoch) {
        struct deaths deaths = deaths_unpack(call->deaths);
        deaths.probation = false;
        call->deaths = deaths_pack(&deaths);
    }
    trial_over(suspects);
}

static void trial_looked_at(struct due *due)
{
    struct suspects *suspects = HEAP_OF(&due->node, struct suspects, long_enough.node);
    struct engine *engine = suspects->engine;
    int64_t left = suspects->began_ms + SUSPECT_CLEARED_MS - engine_now(engine);

    if (left > 0) {
        due_set(engine, due, left < SUSPECT_CLEARED_MS ? left : SUSPECT_CLEARED_MS,
                trial_looked_at);
        return;
    }
    suspects->clearing = true;
    suspects->clear_call = suspects->trial->id;
    suspects->clear_epoch = suspects->trial->epoch;
    op_start(engine, &suspects->clear, clear_send, clear_done);
    suspects->clear.most = INT_MAX;
}

void suspect_taken(struct call *call, const struct call_record *record)
{
    struct suspects *suspects = call->engine->suspects;

    if (!record->deaths.probation)
        suspect_over(call);
    call->deaths = deaths_pack(&record->deaths);
    if (call->suspect)
        suspect_free(call->suspect);
    if (record->deaths.probation && !suspect_must_end(call) &&
        call_version_at(call) != VERSION_NOWHERE) /* then it ends as well */
        LOG_WARN("a call is run again whose process died while it ran",
                 LOG_STR("target", call->target->name), LOG_IF("plugin", call->target->from),
                 LOG_STR("call", id_str(&call->id)),
                 LOG_INT("deaths", record->deaths.early + record->deaths.late));
    if (!suspects || !record->deaths.probation || suspects->clearing ||
        (suspects->trial && suspects->trial != call))
        return;
    suspects->trial = call;
    suspects->began_ms = engine_now(call->engine);
    due_set(call->engine, &suspects->long_enough, SUSPECT_CLEARED_MS, trial_looked_at);
}

void suspect_over(struct call *call)
{
    struct suspects *suspects = call->engine->suspects;

    call->deaths = 0;
    if (call->suspect)
        suspect_free(call->suspect);
    if (suspects && suspects->trial == call) {
        suspects->trial = NULL;
        if (!suspects->clearing)
            trial_over(suspects);
    }
}

/* --- the whole --- */

void suspects_leave(struct engine *engine)
{
    LIST_EACH (at, &engine->suspects->waiting) {
        struct call *call = LIST_OF(at, struct suspect, link)->call;
        if (call->state == LIVE_WAITING && (call_is_alone(call) || call->caller->ops->unloaded))
            call_leave(call);
    }
}

void suspects_init(struct engine *engine)
{
    struct suspects *suspects = MEM_NEW(struct suspects);

    suspects->engine = engine;
    list_init(&suspects->waiting);
    engine->suspects = suspects;
}

void suspects_drop(struct engine *engine)
{
    struct suspects *suspects = engine->suspects;

    LIST_EACH (at, &suspects->waiting)
        suspect_free(LIST_OF(at, struct suspect, link));
    due_stop(engine, &suspects->next);
    due_stop(engine, &suspects->long_enough);
    op_abandon(&suspects->clear);
    mem_free(suspects);
    engine->suspects = NULL;
}
