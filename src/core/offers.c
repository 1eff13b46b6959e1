/*
 * core/offers: on which surfaces an ask is up.
 *
 * What can be asked at all, of whoever is behind a call, is decided before: see askable.c.
 *
 * An ask is offered on all surfaces of its turn (plan.h) that can put it to its person. If an offer
 * fails (no handler, an error), the person has not refused anything. When no offer of the turn is
 * left, it is the next one's turn; so it is, where the plan says so, when nobody has answered in
 * time. When there is no further turn, the ask ends in ASK_UNSUPPORTED, unless a client carries it
 * and will bring the answer. The first answer wins (claim.c); every other offer is withdrawn and
 * told who won.
 *
 * Holds always: a surface is asked to withdraw only what it was offered and has not refused, and at
 * most once for each offer.
 */
#include "core/call_inside.h"

#include "base/log.h"

_Static_assert(ENGINE_SURFACES_MAX <= 8 * sizeof(unsigned), "an ask has a bit for each surface");
_Static_assert((int)PLAN_TURNS_MAX <= (int)ASK_TURNS, "a record has room for each turn");

/* --- the surfaces --- */

/* By another surface, or as a word for answers that come through no surface (claim_via). */
static bool is_taken(const struct engine *engine, const struct surface *surface)
{
    static const char *const own[] = { "clock", "nod", "page", NULL };
    struct str name = str_of(surface->ops->name);

    for (size_t i = 0; i < engine->surface_count; i++)
        if (str_eq(name, str_of(engine->surfaces[i]->ops->name)))
            return true;
    return str_among(name, own) || (!surface->ops->client && str_eq(name, STR("client")));
}

bool engine_add_surface(struct engine *engine, struct surface *surface)
{
    struct str name = str_of(surface->ops->name); /* it is kept in the records of answers */
    const char *why = NULL;

    if (engine->surface_count == ENGINE_SURFACES_MAX)
        why = "there are already as many as there may be";
    else if (!name.len || name.len > STORE_VIA_MAX || !str_is_plain(name))
        why = "its name is not 1 to 32 of a-z, 0-9, - and _";
    else if (is_taken(engine, surface))
        why = "its name is taken";
    if (why) {
        LOG_ERROR("a surface cannot be added",
                  LOG_CSTR("surface", surface->ops->name ? surface->ops->name : ""),
                  LOG_CSTR("why", why));
        return false;
    }
    uint8_t bit = (uint8_t)(1u << engine->surface_count);
    engine->client_bits |= surface->ops->client ? bit : 0;
    engine->model_bits |= surface->ops->model ? bit : 0;
    engine->held_bits |= surface_is_held(surface) ? bit : 0;
    engine->every_bits |= surface->ops->every ? bit : 0;
    engine->surfaces[engine->surface_count++] = surface;
    engine->plan.made = false;
    return true;
}

struct str engine_surface_names(const struct engine *engine, struct arena *arena)
{
    struct str names = STR_NONE;
    bool client = false; /* there may be several surfaces of the client */

    for (size_t i = 0; i < engine->surface_count; i++) {
        const struct surface *surface = engine->surfaces[i];
        if (!surface->ops->client || !client)
            names = arena_fmt(arena, STR_FMT "%s" STR_FMT, STR_ARG(names), names.len ? "," : "",
                              STR_ARG(surface_word(surface)));
        client |= surface->ops->client;
    }
    return names;
}

static bool surface_can(struct surface *surface, const struct call *call,
                        const struct ask_record *ask)
{
    const struct engine *engine = call->engine;

    return consent_counts(engine, surface, call->target, ask_is_consent(engine, ask, call->target),
                          call->principal, call_roles(call)) &&
           surface->ops->can(surface, call, ask->kind);
}

bool engine_can_elsewhere(const struct engine *engine, const struct call *call,
                          const struct ask_record *ask, const struct surface *but)
{
    const struct plan *plan = call_plan(call);

    for (size_t i = 0; i < engine->surface_count; i++)
        if (engine->surfaces[i] != but && plan->all & 1u << i &&
            surface_can(engine->surfaces[i], call, ask))
            return true;
    return false;
}

/* --- offers --- */

/* 0: not a surface of this engine. */
static unsigned bit_of(const struct engine *engine, const struct surface *surface)
{
    for (size_t i = 0; i < engine->surface_count; i++)
        if (engine->surfaces[i] == surface)
            return 1u << i;
    return 0;
}

bool ask_is_up_on(const struct ask *ask, const struct surface *surface)
{
    return surface && ask->up & bit_of(ask->call->engine, surface);
}

/* The client was told of the call's questions, and could be asked this one. */
static bool client_could(const struct ask *ask)
{
    return ask->call->client_kinds & 1u << ask->record.kind && ask_is_for_client(ask);
}

/* The turn that the clock has come to. It is the store's, which all nodes see. */
static size_t turn_by_clock(const struct ask *ask, const struct plan *plan)
{
    const struct engine *engine = ask->call->engine;
    int64_t waited = plan->timed ? engine_now(engine) - ask->since_ms : 0;

    if (waited <= 0)
        return 0;
    int64_t turn = waited / engine->opts.next_turn_ms;
    return turn < plan->count ? (size_t)turn : (size_t)plan->count - 1;
}

/* May it be put up there, as the next place? */
static bool may_be_put_up(const struct ask *ask, size_t on)
{
    struct surface *surface = ask->call->engine->surfaces[on];

    return !(ask->tried & 1u << on) && !(surface_is_held(surface) && call_is_alone(ask->call)) &&
           surface_can(surface, ask->call, &ask->record);
}

static bool turn_can(const struct ask *ask, unsigned turn)
{
    for (size_t i = 0; i < ask->call->engine->surface_count; i++)
        if (turn & 1u << i && may_be_put_up(ask, i))
            return true;
    return false;
}

bool ask_can_move(const struct ask *ask, const struct surface *from)
{
    const struct plan *plan = call_plan(ask->call);
    bool can = ask->up & ~bit_of(ask->call->engine, from);

    for (size_t turn = ask->turn; turn < plan->count; turn++)
        can = can || turn_can(ask, plan->turns[turn]);
    return can;
}

/* A client that is away may come back in its turn. */
static bool awaits_client(const struct ask *ask, unsigned turn)
{
    return call_is_alone(ask->call) && client_could(ask) && turn & ask->call->engine->held_bits;
}

void ask_find_turn(struct ask *ask)
{
    const struct plan *plan = call_plan(ask->call);
    size_t turn = 0;

    if (ask->record.kind == ASK_CALL)
        return;
    while (turn < plan->count && !turn_can(ask, plan->turns[turn]) &&
           !awaits_client(ask, plan->turns[turn]))
        turn++;
    ask_record_came_to(ask->call->engine, &ask->record, plan, turn); /* if anybody can be asked */
}

static void put_up(struct ask *ask, unsigned turn)
{
    const struct engine *engine = ask->call->engine;

    for (size_t i = 0; i < engine->surface_count; i++) {
        struct surface *surface = engine->surfaces[i];
        if (!(turn & 1u << i) || !may_be_put_up(ask, i))
            continue;
        ask->tried |= 1u << i;
        ask->up |= 1u << i;
        surface->ops->offer(surface, ask, ask->record.attempt, STR_NONE);
    }
}

static void turn_is_over(struct due *due)
{
    struct ask *ask = HEAP_OF(&due->node, struct ask, move.node);

    if (!ask->claiming)
        ask_offer(ask);
}

/* If it is there before the clock, all nodes are to know. */
static void note_early(struct ask *ask, const struct plan *plan)
{
    const struct engine *engine = ask->call->engine;
    int64_t at = ask->since_ms + engine->opts.next_turn_ms * ask->turn;

    if (ask->turn < plan->count && ask->turn > ask->record.turn &&
        (!plan->timed || at > engine_now(engine)))
        ask_turn_early(ask);
}

void call_tell_offered(struct call *call)
{
    if (call->caller->ops->offered)
        call->caller->ops->offered(call->caller, call);
}

void ask_turn_to(struct ask *ask, size_t turn)
{
    static const struct winner not_known = { .state = ASK_PENDING };
    const struct engine *engine = ask->call->engine;
    const struct plan *plan = call_plan(ask->call);

    if (turn <= ask->turn || turn >= plan->count || !turn_can(ask, plan->turns[turn]))
        return;
    ask->turn = (uint8_t)turn;
    for (size_t i = 0; i < engine->surface_count; i++) {
        struct surface *surface = engine->surfaces[i];
        if (!(ask->up & ~(unsigned)plan->turns[turn] & 1u << i))
            continue;
        ask->up &= ~(1u << i);
        surface->ops->withdraw(surface, ask, STR("The question is asked elsewhere now"),
                               &not_known);
    }
}

/* Where they are up, the turn of the new plan is that of where they are up; else it stays, if the
 * plan has so many. */
void asks_keep_offers(struct call *call)
{
    const struct plan *plan = call_plan(call);

    LIST_EACH (at, &call->asks) {
        struct ask *ask = LIST_OF(at, struct ask, link);
        size_t turn = ask->turn;
        for (size_t i = 0; i < plan->count && ask->up; i++)
            if (plan->turns[i] & ask->up)
                turn = i;
        ask->turn = (uint8_t)(turn < plan->count ? turn : plan->count);
    }
}

void ask_offer(struct ask *ask)
{
    struct call *call = ask->call;
    const struct plan *plan = call_plan(call);

    if (ask->record.kind == ASK_CALL) {
        ask->tried = 1;
        inner_offer(ask);
        return;
    }
    if (!ask->since_ms)
        ask->since_ms = ask->record.asked_ms ? ask->record.asked_ms : engine_now(call->engine);
    ask->offering = true; /* a surface may refuse before it returns */
    ask_turn_to(ask, turn_by_clock(ask, plan));
    for (; ask->turn < plan->count; ask->turn++) {
        put_up(ask, plan->turns[ask->turn]);
        if (ask->up || (call->carried && client_could(ask) &&
                        plan->turns[ask->turn] & call->engine->held_bits))
            break;
    }
    ask->offering = false;
    note_early(ask, plan);
    /* When nobody has answered by then, it is the next one's turn. */
    if (plan->timed && ask->turn + 1u < plan->count) {
        struct engine *engine = call->engine;
        int64_t at = ask->since_ms + engine->opts.next_turn_ms * (ask->turn + 1);
        int64_t left = at - engine_now(engine);
        due_set(engine, &ask->move, left > 0 ? left : 1, turn_is_over);
    }
    if (!ask->up && !call->carried && !ask->claiming)
        claim_by_engine(ask, ASK_UNSUPPORTED);
    else
        call_tell_offered(call);
}

void ask_offer_unless_carried(struct ask *ask)
{
    struct call *call = ask->call;

    if (!call->carried || !client_could(ask) || call_plan(call)->several)
        ask_offer(ask);
}

bool ask_waits(const struct ask *ask)
{
    return ask->up || heap_has(&ask->move.node) || inner_is_live(ask);
}

/* --- elsewhere --- */

bool call_waits_elsewhere(const struct call *call)
{
    bool elsewhere = engine_asks_elsewhere(call->engine, call->target);

    if (elsewhere && call_plan(call)->several)
        return true;
    LIST_EACH (at, &call->asks) { /* it may be up where its client fetches it */
        const struct ask *ask = LIST_OF(at, struct ask, link);
        if (ask->record.kind == ASK_CALL) {
            if (inner_waits_elsewhere(ask))
                return true;
            continue;
        }
        if ((elsewhere && !client_could(ask)) || ask->up & ~(unsigned)call->engine->held_bits)
            return true;
    }
    return false;
}

bool call_waits_only_elsewhere(const struct call *call)
{
    if (call->state != LIVE_WAITING && call->state != LIVE_TELLING)
        return false;
    LIST_EACH (at, &call->asks) {
        const struct ask *ask = LIST_OF(at, struct ask, link);
        unsigned up = ask->up;
        if (ask->record.kind == ASK_CALL ? !inner_waits_only_elsewhere(ask)
                                         : up & call->engine->held_bits || !up)
            return false;
    }
    return !list_empty(&call->asks);
}

/* --- afterwards --- */

void ask_offered_anew(struct ask *ask, int attempt, struct str problems)
{
    const struct engine *engine = ask->call->engine;

    if (attempt <= ask->record.attempt)
        return;
    ask->record.attempt = attempt;
    for (size_t i = 0; i < engine->surface_count; i++) {
        struct surface *surface = engine->surfaces[i];
        /* A surface that leaves the ask pending after invalid content keeps the offer that it
         * shows. */
        if (ask->up & 1u << i && surface->ops->attempts > 0)
            surface->ops->offer(surface, ask, attempt, problems);
    }
}

/* It is put up in the next place as well, whose turn has come then; where it was it stays up. */
static void offer_further(struct ask *ask)
{
    const struct engine *engine = ask->call->engine;
    const struct plan *plan = call_plan(ask->call);
    unsigned before = ask->up;
    size_t turn = ask->turn;

    ask->offering = true;
    while (ask->up == before && ++turn < plan->count)
        put_up(ask, plan->turns[turn] & ~(unsigned)engine->model_bits);
    ask->offering = false;
    if (turn < plan->count) {
        ask->turn = (uint8_t)turn;
        note_early(ask, plan);
    }
    call_tell_offered(ask->call);
}

void ask_offered(struct ask *ask, const struct surface *surface, enum offer_result result)
{
    unsigned bit = bit_of(ask->call->engine, surface);

    if (result == OFFER_SHOWN || !(ask->up & bit) || ask->claiming)
        return; /* it is up, or this is about an older offer */
    if (result == OFFER_UNSEEN) {
        offer_further(ask);
        return;
    }
    LOG_DEBUG("offer ended", LOG_STR("ask", id_str(&ask->id)),
              LOG_STR("surface", ask_via_shown(str_of(surface->ops->name))),
              LOG_CSTR("result", result == OFFER_REFUSED ? "refused" : "unrendered"));
    ask->up &= ~bit;
    if (!ask->up && !ask->offering)
        ask_offer(ask);
}

void ask_client_unheard(struct ask *ask)
{
    ask->up &= ~(unsigned)ask->call->engine->held_bits;
    ask->tried |= ask->call->engine->held_bits;
    if (ask->up || ask->offering || ask->claiming)
        return;
    ask_offer(ask);
    if (!ask->up && !ask->claiming && !client_could(ask)) /* nor does its client carry it */
        claim_by_engine(ask, ASK_UNSUPPORTED);
}

void ask_withdraw(struct ask *ask, const struct surface *but, const struct winner *winner,
                  struct str why)
{
    const struct engine *engine = ask->call->engine;

    for (size_t i = 0; i < engine->surface_count; i++) {
        struct surface *surface = engine->surfaces[i];
        if (!(ask->up & 1u << i))
            continue;
        ask->up &= ~(1u << i);
        if (surface != but)
            surface->ops->withdraw(surface, ask, why, winner);
    }
}
