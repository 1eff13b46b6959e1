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
 * A call that stays was begun by its home, which alone runs it on while it lives (home_node.c). So
 * the journal of such a call is read first. If its home is here, it goes on here; if its home is
 * another node that lives, it is left alone; and if its home is gone, it ends.
 *
 * The calls come by page. Each look reads one page, and a walk is all pages from the first to the
 * last. So a walk comes to its end whatever is in it: calls that nobody takes, and calls that wait
 * here for their turn (suspect.c). The pages follow each other quickly until the first walk has
 * ended, and later while they bring something to do.
 *
 * With a shared store, a call is left alone until it has been seen twice. That gives the node that
 * holds the client's connection, and got the store's hint, time to take it.
 *
 * A node that was silent for longer than its limit, because it was stopped or cut off, may have
 * lost its calls to others, and is the last to hear of it: the replies that it finds when it wakes
 * are old. So the time of that silence is kept, and a run begins only with what the store has said
 * since then (recovery_silence).
 *
 * A store of one process gets heartbeats while it holds anything, and drops with them what is over.
 * An idle server has no timer.
 *
 * Nor does a call that waits here rely on hints. A shared store hints to some of the nodes that
 * wait for a call, and a hint can be lost. So every waiting call looks at its record now and then,
 * one after the other, at a pace that no number of calls makes a burden.
 */
#include "core/call_inside.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"

enum {
    LOOK_MS = 1000,                /* between two looks */
    LOOK_AGAIN_MS = 20,            /* when there was more than one look shows */
    LOOK_ROWS = 256,               /* calls, and questions, of one look */
    WALK_CURSOR_MAX = 64,          /* bytes of where the next page begins */
    EXPIRING_MOST = 1024,          /* questions being ended; past it the next look waits */
    SEEN_ROWS = 512,               /* rows of calls that are remembered from earlier looks */
    SEEN_WIDE = 8,                 /* calls in a row: all calls of one look have a place */
    SEEN_MS = 500,                 /* a call that was seen so long ago is taken */
    HOMELESS_ARENA_MAX = 96 << 20, /* memory of the record of a call whose home is asked for */
    ROUND_MS = 5000,               /* between two rounds of the waiting calls, or longer: */
    ROUND_STEP_MS = 10,            /* between two calls of a round */
};

struct sighting {
    /* made from the call and its epoch; if two are equal, one is taken a look early */
    uint64_t key;
    uint64_t walk; /* the walk that showed it first; 0: the place is empty */
    int64_t ms;    /* monotonic: when that was */
};

struct recovery {
    struct engine *engine;
    struct recovery_opts opts;
    struct due beat;
    struct due look;
    struct due round;
    bool beating;
    bool silent;        /* the last heartbeat did not reach the store */
    int64_t beat_ms;    /* monotonic: when the last heartbeat was sent, */
    int64_t heard_ms;   /* the last that the store has taken, */
    int64_t silence_ms; /* and when a silence past the limit was last noticed; 0: never */
    int64_t woke_ms;    /* the last of those that is known to be over */
    size_t expiring;
    size_t rows;
    uint64_t walks;
    char cursor[WALK_CURSOR_MAX]; /* of the next page of the walk */
    size_t cursor_len;            /* 0: a walk begins */
    bool looked;                  /* a walk has come to its end */
    size_t fresh;    /* calls of this page that are new to this node, or are live here now */
    size_t suspects; /* those among them */
    bool left_out;   /* the walk has met suspects that found no room */
    bool hurried;    /* there is room now: the next look is at once */
    /* each in the row of its key; those that the last two walks did not show are replaced */
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
    if (silent)
        return;
    recovery->heard_ms = recovery->beat_ms;
    if (recovery->silence_ms > recovery->woke_ms) { /* it is over */
        recovery->woke_ms = recovery->silence_ms;
        homes_woken(recovery->engine);
    }
}

int64_t recovery_node_ttl(const struct engine *engine)
{
    return engine->recovery ? engine->recovery->opts.node_ttl_ms : RECOVERY_NODE_TTL_MS;
}

int64_t recovery_silence(struct engine *engine)
{
    struct recovery *recovery = engine->recovery;

    if (!recovery || !engine->store->ops->shared)
        return 0;
    int64_t now = clock_mono(engine->clock);
    int64_t since =
        recovery->heard_ms > recovery->silence_ms ? recovery->heard_ms : recovery->silence_ms;
    if (now - since > recovery->opts.node_ttl_ms)
        recovery->silence_ms = now;
    return recovery->silence_ms;
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
    recovery_silence(engine); /* it is noticed before it is over */
    recovery->beat_ms = clock_mono(engine->clock);
    engine->store->ops->beat(engine->store, engine->node, recovery->opts.node_ttl_ms, beat_done,
                             recovery);
    if (engine_survives(engine))
        node_beat(engine, recovery->opts.node_ttl_ms);
    home_beat(engine);
}

/* --- looking --- */

static void recover_look(struct due *due);

static void recover_expired(void *data, const struct answer_result *result)
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
    claim_overdue(recovery->engine, row->ask->id, recover_expired, recovery);
}

/* Is there more to do at once than a look every LOOK_MS would get done? */
static bool more_at_once(const struct recovery *recovery)
{
    bool due = recovery->rows >= LOOK_ROWS && recovery->expiring < EXPIRING_MOST;
    bool walk = recovery->cursor_len && (recovery->fresh || !recovery->looked);

    return due || walk || (recovery->left_out && suspects_are_few(recovery->engine));
}

static void due_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct recovery *recovery = data;

    (void)reply;
    bool more = status == NOD_OK && more_at_once(recovery);
    due_set(recovery->engine, &recovery->look, more ? LOOK_AGAIN_MS : LOOK_MS, recover_look);
}

uint64_t sighting_key(const struct call_record *call)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325) ^ call->epoch; /* FNV-1a */

    for (size_t i = 0; i < call->id.len; i++)
        key = (key ^ (unsigned char)call->id.at[i]) * UINT64_C(0x100000001b3);
    return key;
}

/* Was it seen before? If not, it is remembered, unless there is no place for it in this walk. */
static bool seen_before(struct recovery *recovery, const struct call_record *call)
{
    uint64_t key = sighting_key(call);
    int64_t now = clock_mono(recovery->engine->clock);
    struct sighting *row = recovery->seen[key % SEEN_ROWS], *oldest = row;

    for (struct sighting *at = row; at < row + SEEN_WIDE; at++) {
        if (at->walk && at->key == key)
            return now - at->ms >= SEEN_MS;
        if (at->walk < oldest->walk)
            oldest = at;
    }
    if (oldest->walk && oldest->walk + 1 >= recovery->walks)
        return false;
    *oldest = (struct sighting){ .key = key, .walk = recovery->walks, .ms = now };
    recovery->fresh++;
    return false;
}

void recovery_show(struct engine *engine, const struct call_record *record)
{
    struct recovery *recovery = engine->recovery;

    if (recovery && recovery->opts.orphan && !engine_call_at(engine, record->id))
        recovery->opts.orphan(recovery->opts.data, record);
}

static void orphan_met(struct recovery *recovery, const struct target *target,
                       const struct call_record *record)
{
    struct engine *engine = recovery->engine;
    enum version_at version = target ? version_at(engine, target, record, 0) : VERSION_HERE;

    if (version == VERSION_THERE || version == VERSION_UNSURE)
        return; /* it is left to a node that has what it began with */
    if (engine->store->ops->shared && !seen_before(recovery, record))
        return;
    if (inner_orphan(engine, record))
        return;
    bool suspect = suspect_is(record);
    if (suspect && !suspects_have_room(engine, recovery->suspects)) {
        recovery->left_out = true;
        return;
    }
    recovery->suspects += suspect;
    recovery_show(engine, record);
    recovery->fresh += engine_call_at(engine, record->id) != NULL;
}

/* --- calls that stay --- */

static struct target *orphan_target(const struct engine *engine, const struct call_record *record)
{
    return engine->catalog ? catalog_of_call(engine->catalog, record) : NULL;
}

struct homeless { /* a call whose home is asked for */
    struct engine *engine;
    struct arena arena;
    struct call_record record;
};

static void homeless_known(void *data, nod_status status)
{
    struct homeless *homeless = data;

    if (status == NOD_E_NOT_FOUND && !homeless->arena.exhausted)
        home_end(homeless->engine, &homeless->record, NULL, NULL);
    arena_finish(&homeless->arena);
    mem_free(homeless);
}

void recovery_homeless(struct engine *engine, const struct call_record *record)
{
    struct homeless *homeless;

    if (record->state == CALL_STORED_FINISHED || record->state == CALL_STORED_CANCELLED ||
        home_was_seen(engine, record))
        return;
    homeless = MEM_NEW(struct homeless);
    homeless->engine = engine;
    arena_init(&homeless->arena, HOMELESS_ARENA_MAX);
    homeless->record = call_record_copy(&homeless->arena, record);
    home_ask(engine, &homeless->record, homeless_known, homeless);
}

/* With its journal, which the page that showed it may lack. */
static void staying_looked(struct engine *engine, const struct call_record *record)
{
    if (!engine->recovery ||
        (record->state != CALL_STORED_RUNNABLE && record->state != CALL_STORED_RUNNING))
        return;
    switch (home_at(engine, record)) {
    case HOME_ANYWHERE:
        if (!engine_call_at(engine, record->id))
            orphan_met(engine->recovery, orphan_target(engine, record), record);
        break;
    case HOME_HERE:
        recovery_show(engine, record);
        break;
    case HOME_ELSEWHERE:
        recovery_homeless(engine, record);
        break;
    case HOME_GONE:
        home_end(engine, record, NULL, NULL);
        break;
    }
}

static void runnable_row(void *data, const struct store_row *row)
{
    struct recovery *recovery = data;
    struct engine *engine = recovery->engine;
    struct call *live;

    if (!row->call || row->call->id.len != ID_LEN)
        return;
    if ((live = engine_call_at(engine, row->call->id))) {
        if (call_waiting(live) && !live->suspect)
            call_take(live); /* the hint was lost */
        return;
    }
    const struct target *target = orphan_target(engine, row->call);
    if (target && target_stays(target))
        engine_look(engine, row->call->id, staying_looked);
    else
        orphan_met(recovery, target, row->call);
}

static void runnable_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct recovery *recovery = data;
    struct store *store = recovery->engine->store;

    if (status == NOD_OK && reply->cursor.len <= WALK_CURSOR_MAX) {
        recovery->cursor_len = reply->cursor.len;
        if (reply->cursor.len)
            memcpy(recovery->cursor, reply->cursor.at, reply->cursor.len);
        recovery->looked |= !reply->cursor.len;
        suspects_next(recovery->engine);
    } else if (status != NOD_E_STORE) { /* a store that is away has reported it already */
        recovery->cursor_len = 0;
    }
    recovery->rows = 0;
    store->ops->scan(store, &(struct store_scan){ .index = STORE_ASKS_DUE, .limit = LOOK_ROWS },
                     due_row, due_done, recovery);
}

static void recover_look(struct due *due)
{
    struct recovery *recovery = HEAP_OF(&due->node, struct recovery, look.node);
    struct store *store = recovery->engine->store;

    if (!recovery->cursor_len) {
        recovery->walks++;
        recovery->left_out = false;
    }
    recovery->hurried = false;
    recovery->fresh = recovery->suspects = 0;
    if (recovery->engine->store->ops->shared) /* for whoever needs to know it at once */
        nodes_known(recovery->engine, clock_mono(recovery->engine->clock) - LOOK_MS / 2);
    store->ops->scan(store,
                     &(struct store_scan){ .index = STORE_RUNNABLE,
                                           .cursor = str_n(recovery->cursor, recovery->cursor_len),
                                           .limit = LOOK_ROWS },
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
    recovery->heard_ms = clock_mono(engine->clock);
    recovery->looked = !engine_survives(engine); /* then there is nothing to find */
    if (recovery->looked)
        return;
    beat(&recovery->beat);
    turns_of_older(engine);
    inners_recover(engine);
    due_set(engine, &recovery->look, 0, recover_look);
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
        due_set(engine, &engine->recovery->look, 0, recover_look);
}

void recovery_on(struct engine *engine)
{
    struct recovery *recovery = engine->recovery;

    if (!recovery || !recovery->left_out || recovery->hurried || !heap_has(&recovery->look.node))
        return;
    recovery->hurried = true;
    due_set(engine, &recovery->look, LOOK_AGAIN_MS, recover_look);
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
