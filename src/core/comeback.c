/*
 * core/comeback: see comeback.h.
 *
 * A call that has not ended is met in this order:
 *
 *   it is live here      its caller gives way (caller_ops.gives_way), or the call is alone, and the
 *                        comer's caller has it from now on; otherwise somebody else keeps it
 *   its home is gone     it ends, in OUTCOME_UNKNOWN, and the comer gets that end from the store
 *   its home is elsewhere, and lives
 *                        it waits here for the end, whatever target this node has (home_node.c)
 *   its target is gone   it ends, in TOOL_GONE, and the comer gets that end from the store; but
 *                        while another node may have the target, the comer comes again (gone.c)
 *   there is no room     as many calls are live here as may be: the comer comes again
 *   otherwise            it is adopted (adopt.c): it waits, can be run, or runs elsewhere, and the
 *                        core goes on with it, or waits for its end or its turn (take.c). If its
 *                        target has changed, it ends there (version.c)
 *
 * What the comer's caller brings is claimed with the adoption (brought.c).
 *
 * Holds always: nobody is told anything of a call of another principal, but that there is none. The
 * comer is told once; whoever waits for the store is told too when the engine goes.
 */
#include "core/comeback.h"

#include "base/mem.h"
#include "core/catalog.h"
#include "core/gone.h"
#include "core/call_inside.h"

enum {
    COMEBACK_ARENA_MAX = 96 << 20, /* memory of a record and its end, while they are read */
    ASKS_AT_FIRST = 1,             /* with its texts it fits into the first block of an arena */
};
_Static_assert((STORE_CLAIM_MOST & (STORE_CLAIM_MOST - 1)) == 0 &&
                   (ASKS_AT_FIRST & (ASKS_AT_FIRST - 1)) == 0,
               "doubling must meet the most");

struct comeback {
    struct engine_work work;
    struct engine *engine;
    struct comer *comer;
    struct arena arena;
    struct call_record record; /* while something else is looked at */
    bool scans;                /* its asks do not come with its record */
    bool met;                  /* the comer has said that it means this call */
    bool gone;                 /* its end was stored, because its target is gone, or its home */
    struct ask_record *asks;
    size_t ask_count, ask_room;
};

static void comeback_free(struct comeback *back)
{
    engine_work_end(&back->work);
    arena_finish(&back->arena);
    mem_free_sized(back, sizeof(*back));
}

static void comeback_tell(struct comeback *back, const struct back *reply)
{
    struct comer *comer = back->comer;

    comer->kept = NULL;
    comer->ops->done(comer, reply);
    comeback_free(back);
}

static void comeback_tell_plain(struct comeback *back, enum back_as as,
                                const struct call_record *record)
{
    comeback_tell(
        back, &(struct back){
                  .as = as, .record = record, .asks = back->asks, .ask_count = back->ask_count });
}

static void comeback_drop(struct engine_work *work)
{
    comeback_tell_plain(OP_OF(work, struct comeback, work), BACK_LEFT, NULL);
}

/* False: nobody is there to go on for, or there is nothing to go on with; the comer is told. */
static bool comeback_goes_on(struct comeback *back, nod_status status)
{
    if (!back->comer->ops->there(back->comer))
        comeback_tell_plain(back, BACK_LEFT, NULL);
    else if (status == NOD_E_NOT_FOUND)
        comeback_tell_plain(back, BACK_UNKNOWN, NULL);
    else if (status != NOD_OK)
        comeback_tell(back, &(struct back){ .as = BACK_UNREAD, .status = status });
    else
        return true;
    return false;
}

/* --- its target is gone --- */

static void comeback_load(struct comeback *back);

static void comeback_gone_stored(void *data, nod_status status)
{
    struct comeback *back = data;

    /* it may have ended before: then the store says how */
    if (comeback_goes_on(back, status == NOD_E_STORE ? NOD_E_STORE : NOD_OK))
        comeback_load(back);
}

/* --- it has not ended --- */

static bool call_give_way(struct call *call, struct caller *to)
{
    struct caller *caller = call->caller;

    if (!call_is_alone(call))
        return caller->ops->gives_way && caller->ops->gives_way(caller, call, to);
    call_change_caller(call, to);
    return true;
}

static void comeback_waits(struct comeback *back, const struct call_record *record,
                           struct target *target)
{
    struct comer *comer = back->comer;
    struct call *live = engine_find(back->engine, record->id);
    struct adopt_spec spec = {
        .record = record, .target = target, .asks = back->asks, .ask_count = back->ask_count
    };
    bool wants = comer->ops->waits && comer->ops->waits(comer, record, &spec);

    if (wants && !live && !engine_has_room_for(back->engine, record->id))
        comeback_tell_plain(back, BACK_FULL, record);
    else if (wants && (live ? call_give_way(live, spec.caller) : engine_adopt(back->engine, &spec)))
        comeback_tell_plain(back, BACK_WAITS, record);
    else
        comeback_tell_plain(back, BACK_BUSY, record);
}

static struct target *comeback_target(const struct comeback *back, const struct call_record *record)
{
    const struct catalog *catalog = back->engine->catalog;

    return catalog ? catalog_of_call(catalog, record) : NULL;
}

static void comeback_homeless(struct comeback *back, const struct call_record *record)
{
    back->gone = true;
    home_end(back->engine, record, comeback_gone_stored, back);
}

/* Its home is elsewhere. */
static void comeback_home_known(void *data, nod_status status)
{
    struct comeback *back = data;
    const struct call_record *record = &back->record;

    if (!comeback_goes_on(back, status == NOD_E_NOT_FOUND ? NOD_OK : status))
        return;
    if (status == NOD_E_NOT_FOUND) {
        comeback_homeless(back, record);
        return;
    }
    struct target *target = comeback_target(back, record);
    if (target)
        target_hold(target);
    else
        target = target_stand_in(record->kind, record->target);
    comeback_waits(back, record, target);
    target_release(target);
}

/* They have some texts from the record of their call. */
static void comeback_asks_of(struct comeback *back, const struct call_record *record)
{
    for (size_t i = 0; i < back->ask_count; i++) {
        back->asks[i].principal = record->principal;
        back->asks[i].scope = record->scope;
        back->asks[i].target = record->target;
    }
}

static void comeback_begun(struct comeback *back, const struct call_record *record)
{
    if (record != &back->record)
        back->record = call_record_copy(&back->arena, record);
    comeback_asks_of(back, &back->record); /* what they had is gone with the record of the store */
    if (back->arena.exhausted)
        comeback_tell(back, &(struct back){ .as = BACK_UNREAD, .status = NOD_E_LIMIT });
    else
        home_ask(back->engine, &back->record, comeback_home_known, back);
}

static void comeback_has_not_ended(struct comeback *back, const struct call_record *record)
{
    struct engine *engine = back->engine;
    struct target *target = comeback_target(back, record);
    enum home_at home = back->gone ? HOME_ANYWHERE : home_at(engine, record);

    if (home == HOME_ELSEWHERE)
        comeback_begun(back, record);
    else if (home == HOME_GONE)
        comeback_homeless(back, record);
    else if (!back->gone && (target || engine_find(engine, record->id)))
        comeback_waits(back, record, target);
    else if (!engine->catalog || back->gone || back->comer->spares ||
             !gone_for_good(engine, record))
        comeback_tell_plain(back, BACK_TOO_SOON, record);
    else {
        back->gone = true;
        gone_end(engine, record, comeback_gone_stored, back);
    }
}

/* --- its pending asks --- */

/* Most calls have one ask: room for as many as there may be would be wasted. */
static bool comeback_ask_room(struct comeback *back)
{
    if (back->ask_count < back->ask_room)
        return true;
    if (back->ask_room == STORE_CLAIM_MOST)
        return false;
    size_t room = back->ask_room ? back->ask_room * 2 : ASKS_AT_FIRST;
    struct ask_record *asks = arena_alloc(&back->arena, room * sizeof(*asks));
    if (!asks)
        return false;
    if (back->ask_count)
        memcpy(asks, back->asks, back->ask_count * sizeof(*asks));
    back->asks = asks;
    back->ask_room = room;
    return true;
}

static void comeback_ask(void *data, const struct store_row *row)
{
    struct comeback *back = data;

    if (row->ask && row->ask->state == ASK_PENDING && comeback_ask_room(back))
        back->asks[back->ask_count++] = ask_record_copy(&back->arena, row->ask);
}

static void comeback_asks_known(struct comeback *back, const struct call_record *record)
{
    comeback_asks_of(back, record);
    if (back->arena.exhausted)
        comeback_tell(back, &(struct back){ .as = BACK_UNREAD, .status = NOD_E_LIMIT });
    else
        comeback_has_not_ended(back, record);
}

static void comeback_asks_scanned(void *data, nod_status status, const struct store_reply *reply)
{
    struct comeback *back = data;

    (void)reply;
    if (comeback_goes_on(back, status))
        comeback_asks_known(back, &back->record);
}

/* --- what the store has --- */

static void comeback_met(struct comeback *back, const struct call_record *record)
{
    back->met = true;
    if (record->state == CALL_STORED_FINISHED || record->state == CALL_STORED_CANCELLED) {
        struct outcome outcome;
        bool read =
            record->result.len && outcome_read(&back->arena, record->result, &outcome) == NOD_OK;

        comeback_tell(back, &(struct back){ .as = BACK_ENDED,
                                            .record = record,
                                            .outcome = read ? &outcome : NULL });
    } else if (!back->comer->asks || record->state != CALL_STORED_WAITING) {
        back->ask_count = 0;
        comeback_has_not_ended(back, record);
    } else if (!back->scans) {
        comeback_asks_known(back, record);
    } else {
        struct store *store = back->engine->store;

        if (record != &back->record)
            back->record = call_record_copy(&back->arena, record);
        store->ops->scan(store,
                         &(struct store_scan){ .index = STORE_ASKS_OF_CALL,
                                               .key = id_str(&back->comer->call),
                                               .limit = STORE_CLAIM_MOST },
                         comeback_ask, comeback_asks_scanned, back);
    }
}

static void comeback_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct comeback *back = data;
    struct comer *comer = back->comer;

    if (!comeback_goes_on(back, status))
        return;
    if (reply->call->forgotten) {
        comeback_tell_plain(back, BACK_FORGOTTEN, NULL);
    } else if (!str_eq(reply->call->principal, comer->principal)) {
        comeback_tell_plain(back, BACK_UNKNOWN, NULL);
    } else if (!comer->inner && inner_top_id(reply->call->caller, &comer->call)) {
        comeback_load(back);
    } else if (back->met || !comer->ops->found) {
        comeback_met(back, reply->call);
    } else {
        switch (comer->ops->found(comer, reply->call)) {
        case FOUND_IT:
            comeback_met(back, reply->call);
            break;
        case FOUND_OTHER:
            comeback_free(back);
            break;
        case FOUND_LATER:
            back->record = call_record_copy(&back->arena, reply->call);
            comer->kept = back;
            break;
        }
    }
}

static void comeback_load(struct comeback *back)
{
    struct store *store = back->engine->store;
    struct str id = id_str(&back->comer->call);

    back->ask_count = 0;
    back->scans = !store->ops->load_with_asks;
    if (back->comer->asks && !back->scans)
        store->ops->load_with_asks(store, id, STORE_CLAIM_MOST, comeback_ask, comeback_loaded,
                                   back);
    else
        store->ops->load_call(store, id, comeback_loaded, back);
}

void engine_return(struct engine *engine, struct comer *comer)
{
    struct comeback *back = MEM_NEW(struct comeback);

    back->engine = comer->engine = engine;
    back->comer = comer;
    arena_init(&back->arena, COMEBACK_ARENA_MAX);
    engine_work_begin(engine, &back->work, comeback_drop);
    comeback_load(back);
}

void comer_goes_on(struct comer *comer, bool means)
{
    struct comeback *back = comer->kept;

    comer->kept = NULL;
    if (!means)
        comeback_free(back);
    else if (comeback_goes_on(back, back->arena.exhausted ? NOD_E_LIMIT : NOD_OK))
        comeback_met(back, &back->record);
}
