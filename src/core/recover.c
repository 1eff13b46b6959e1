/*
 * core/recover: finds calls and questions that no node works on.
 *
 * A node reports at every heartbeat that it is alive. A call that ran on a node which has fallen
 * silent is runnable again. So is a call whose last question was answered where it was not live.
 * Once a second this node looks for such calls and shows them to the protocol, which knows their
 * callers (engine_recover) and adopts them. If two nodes adopt the same call, the store's epochs
 * decide. The same look ends questions whose time is up and that wait on no node.
 *
 * Nothing is loaded ahead: a call that waits for a person costs a node nothing until somebody comes
 * back to it or its time is up.
 *
 * A call of another version of its target is left to a node that has that version, while such a
 * node lives (version.c).
 *
 * With a shared store, a call is left alone until it has been seen twice. That gives the node that
 * holds the client's connection, and got the store's hint, time to take it. The two looks need not
 * follow each other: if there are more calls than one look shows, the store shows others each time.
 *
 * A store of one process gets heartbeats while it holds anything, and drops with them what is over.
 * An idle server has no timer.
 *
 * Nor does a call that waits here rely on hints. A shared store hints to some of the nodes that
 * wait for a call, and a hint can be lost. So every waiting call looks at its record now and then,
 * one after the other, at a pace that no number of calls makes a burden.
 */
#include "core/inside.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"

enum {
    LOOK_MS = 1000,       /* between two looks */
    LOOK_AGAIN_MS = 20,   /* when there was more than one look shows */
    LOOK_ROWS = 256,      /* calls, and questions, of one look */
    EXPIRING_MOST = 1024, /* questions being ended; past it the next look waits */
    SEEN_ROWS = 512,      /* rows of calls that are remembered from earlier looks */
    SEEN_WIDE = 8,        /* calls in a row: all calls of one look have a place */
    ROUND_MS = 5000,      /* between two rounds of the waiting calls, or longer: */
    ROUND_STEP_MS = 10,   /* between two calls of a round */
};

struct sighting {
    /* made from the call and its epoch; if two are equal, one is taken a look early */
    uint64_t key;
    uint64_t look; /* the look that showed it first; 0: the place is empty */
};

struct recovery {
    struct engine *engine;
    struct recovery_opts opts;
    struct due beat;
    struct due look;
    struct due round;
    bool beating;
    bool silent; /* the last heartbeat did not reach the store */
    size_t expiring;
    size_t rows;
    size_t calls; /* that the look under way has shown */
    bool looked;  /* the last one has shown all there were */
    uint64_t looks;
    /* each in the row of its key; the oldest is replaced */
    struct sighting seen[SEEN_ROWS][SEEN_WIDE];
};

/* --- heartbeats --- */

static void beat_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct recovery *recovery = data;
    bool silent = status != NOD_OK;

    (void)reply;
    recovery->beating = false;
    if (recovery->silent && !silent)
        LOG_INFO("the store takes heartbeats again",
                 LOG_CSTR("store", recovery->engine->store->ops->name));
    if (!recovery->silent && silent)
        LOG_WARN(recovery->engine->store->ops->shared
                     ? "the store did not take a heartbeat: if this goes on, other nodes take over"
                     : "the store did not take a heartbeat: it cannot be written",
                 LOG_CSTR("store", recovery->engine->store->ops->name));
    recovery->silent = silent;
}

static bool holds_anything(const struct engine *engine)
{
    struct store_held held = { .bytes = 0 };

    if (engine->store->ops->held)
        engine->store->ops->held(engine->store, &held);
    return held.bytes > 0;
}

static void beat(struct due *due)
{
    struct recovery *recovery = HEAP_OF(&due->node, struct recovery, beat.node);
    struct engine *engine = recovery->engine;

    if (engine_survives(engine) || holds_anything(engine))
        due_set(engine, due, recovery->opts.node_ttl_ms / RECOVERY_BEATS, beat);
    if (recovery->beating)
        return;
    recovery->beating = true;
    engine->store->ops->beat(engine->store, engine->node, recovery->opts.node_ttl_ms, beat_done,
                             recovery);
    if (engine_survives(engine))
        node_beat(engine, recovery->opts.node_ttl_ms);
}

/* --- looking --- */

static void look(struct due *due);

static void expired(void *data, const struct answer_result *result)
{
    struct recovery *recovery = data;

    (void)result;
    recovery->expiring--;
}

static void due_row(void *data, const struct store_row *row)
{
    struct recovery *recovery = data;

    recovery->rows++;
    if (!row->ask || engine_ask(recovery->engine, row->ask->id))
        return; /* it waits here: its own clock ends it */
    recovery->expiring++;
    claim_overdue(recovery->engine, row->ask->id, expired, recovery);
}

static void due_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct recovery *recovery = data;

    (void)reply;
    bool more =
        status == NOD_OK && recovery->rows >= LOOK_ROWS && recovery->expiring < EXPIRING_MOST;
    due_set(recovery->engine, &recovery->look, more ? LOOK_AGAIN_MS : LOOK_MS, look);
}

uint64_t sighting_key(const struct call_record *call)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325) ^ call->epoch; /* FNV-1a */

    for (size_t i = 0; i < call->id.len; i++)
        key = (key ^ (unsigned char)call->id.at[i]) * UINT64_C(0x100000001b3);
    return key;
}

/* Was it seen in an earlier look? If not, it is remembered for the next. */
static bool seen_before(struct recovery *recovery, const struct call_record *call)
{
    uint64_t key = sighting_key(call);
    struct sighting *row = recovery->seen[key % SEEN_ROWS], *oldest = row;

    for (struct sighting *at = row; at < row + SEEN_WIDE; at++) {
        if (at->look && at->key == key)
            return at->look != recovery->looks;
        if (at->look < oldest->look)
            oldest = at;
    }
    *oldest = (struct sighting){ .key = key, .look = recovery->looks };
    return false;
}

static void runnable_row(void *data, const struct store_row *row)
{
    struct recovery *recovery = data;
    struct engine *engine = recovery->engine;
    struct call *live;

    recovery->calls++;
    if (!row->call || row->call->id.len != ID_LEN)
        return;
    if ((live = engine_call_at(engine, row->call->id))) {
        if (call_waiting(live) && !live->suspect)
            call_take(live); /* the hint was lost */
        return;
    }
    if (suspect_is(row->call) && !suspects_have_room(engine))
        return;
    struct target *target =
        engine->catalog ? catalog_named(engine->catalog, row->call->kind, row->call->target) : NULL;
    enum version_at version = target ? version_at(engine, target, row->call, 0) : VERSION_HERE;
    if (version == VERSION_THERE || version == VERSION_UNSURE)
        return; /* it is left to a node that has what it began with */
    if (!engine->store->ops->shared || seen_before(recovery, row->call))
        recovery->opts.orphan(recovery->opts.data, row->call);
}

static void runnable_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct recovery *recovery = data;
    struct store *store = recovery->engine->store;

    (void)reply;
    if (status == NOD_OK) { /* a store that is away has reported it already */
        recovery->looked = recovery->calls < LOOK_ROWS;
        suspects_next(recovery->engine);
    }
    recovery->rows = 0;
    store->ops->scan(store, &(struct store_scan){ .index = STORE_ASKS_DUE, .limit = LOOK_ROWS },
                     due_row, due_done, recovery);
}

static void look(struct due *due)
{
    struct recovery *recovery = HEAP_OF(&due->node, struct recovery, look.node);
    struct store *store = recovery->engine->store;

    recovery->looks++;
    recovery->calls = 0;
    if (recovery->engine->store->ops->shared) /* for whoever needs to know it at once */
        nodes_known(recovery->engine, clock_mono(recovery->engine->clock) - LOOK_MS / 2);
    store->ops->scan(store, &(struct store_scan){ .index = STORE_RUNNABLE, .limit = LOOK_ROWS },
                     runnable_row, runnable_done, recovery);
}

/* --- calls that wait here --- */

static void round_begin(struct due *due)
{
    struct recovery *recovery = HEAP_OF(&due->node, struct recovery, round.node);
    int64_t whole = calls_look(recovery->engine, ROUND_STEP_MS);

    due_set(recovery->engine, due, whole > ROUND_MS ? whole : ROUND_MS, round_begin);
}

/* --- the whole --- */

void engine_recover(struct engine *engine, const struct recovery_opts *opts)
{
    if (engine->recovery)
        return;
    struct recovery *recovery = MEM_NEW(struct recovery);
    recovery->engine = engine;
    recovery->opts = *opts;
    if (recovery->opts.node_ttl_ms <= 0)
        recovery->opts.node_ttl_ms = RECOVERY_NODE_TTL_MS;
    engine->recovery = recovery;
    recovery->looked = !engine_survives(engine); /* then there is nothing to find */
    if (recovery->looked)
        return;
    beat(&recovery->beat);
    due_set(engine, &recovery->look, 0, look);
    if (engine->store->ops->shared)
        due_set(engine, &recovery->round, ROUND_MS, round_begin);
}

void recovery_stored(struct engine *engine)
{
    struct recovery *recovery = engine->recovery;

    if (recovery && !heap_has(&recovery->beat.node))
        due_set(engine, &recovery->beat, recovery->opts.node_ttl_ms / RECOVERY_BEATS, beat);
}

void recovery_hurry(struct engine *engine)
{
    if (engine->recovery && !engine->store->ops->shared && heap_has(&engine->recovery->look.node))
        due_set(engine, &engine->recovery->look, 0, look);
}

bool recovery_has_looked(const struct engine *engine)
{
    return !engine->recovery || engine->recovery->looked;
}

void recovery_free(struct engine *engine)
{
    struct recovery *recovery = engine->recovery;

    if (!recovery)
        return;
    due_stop(engine, &recovery->beat);
    due_stop(engine, &recovery->look);
    due_stop(engine, &recovery->round);
    mem_free(recovery);
    engine->recovery = NULL;
}
