/*
 * core/turns_early: a turn that comes before its time.
 *
 * Whose turn it is follows from the plan, the record of the ask and the store's clock (plan.c), so
 * all nodes and the next start agree on it. One thing they cannot see: everybody in a turn has
 * refused, so the next one has come early. The node where the call is live puts that into a small
 * record beside the ask, and tells the others. Whoever would turn somebody away because its turn
 * is still to come looks there first.
 *
 * Holds always: the record only brings a turn forward. Without it, because it was lost or the store
 * was away, the turn comes when the clock says so.
 */
#include "core/inside.h"

#include "base/log.h"

#define TURNS_KIND STR("turn")

enum {
    TURNS_SLACK_MS = 5000, /* the record is kept so long after the clock has come to the turn */
    TURNS_TOLD_MAX = 128,  /* bytes of what the other nodes are told */
};

static void kept(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)reply;
    if (status != NOD_OK)
        LOG_WARN("other nodes do not learn that a question was refused: it comes up there when its "
                 "turn does",
                 LOG_CSTR("why", nod_status_name(status)));
}

static void tell_others(struct engine *engine, const struct ask *ask)
{
    struct store *store = engine->store;
    struct buf text;

    if (!store->ops->announce)
        return;
    buf_init(&text, TURNS_TOLD_MAX);
    buf_fmt(&text, STR_FMT " t %s %llu", STR_ARG(engine->node), ask->id.text,
            (unsigned long long)store_owner(ask->record.principal));
    if (!text.overflow)
        store->ops->announce(store, buf_str(&text));
    buf_finish(&text);
}

void ask_turn_early(struct ask *ask, int64_t clock_ms)
{
    struct engine *engine = ask->call->engine;
    char turn = (char)('0' + ask->turn);

    ask->record.turn = ask->turn;
    if (!engine_survives(engine))
        return;
    engine->store->ops->put(engine->store, TURNS_KIND, id_str(&ask->id), str_n(&turn, 1), 0,
                            clock_ms - engine_now(engine) + TURNS_SLACK_MS, kept, NULL);
    tell_others(engine, ask);
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

    return comes != TURN_HAS_COME && comes != TURN_NEVER && engine_survives(engine) &&
           !engine_ask(engine, record->id); /* of what is live here, we know */
}

void engine_turn_load(struct engine *engine, struct str ask_id, store_done *done, void *data)
{
    engine->store->ops->get(engine->store, TURNS_KIND, ask_id, done, data);
}

void ask_record_turn(struct ask_record *record, struct str value)
{
    unsigned turn = value.len == 1 ? (unsigned)(unsigned char)value.at[0] - '0' : 0;

    if (turn < ASK_TURNS && turn > record->turn)
        record->turn = turn;
}
