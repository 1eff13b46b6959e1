/*
 * core/offers: on which surfaces an ask is up.
 *
 * An ask is offered on the first surface that can put it to its person. If an offer fails (no
 * handler, an error), the person has not refused anything: the ask moves to the next surface. When
 * none is left it ends in ASK_UNSUPPORTED, unless a client carries it and will bring the answer. If
 * the operator names several surfaces, the ask is up on all of them that can, at the same time. The
 * first answer wins (claim.c); every other offer is withdrawn and told who won.
 *
 * Holds always: a surface is asked to withdraw only what it was offered and has not refused, and at
 * most once for each offer.
 */
#include "core/inside.h"

#include "base/log.h"

_Static_assert(ENGINE_SURFACES_MAX <= 8 * sizeof(unsigned), "an ask has a bit for each surface");

/* --- the surfaces --- */

/* The name is kept in the records of answers: see ask_record.via. */
static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
            return false;
    }
    return name.len > 0 && name.len <= STORE_VIA_MAX;
}

/* By another surface, or as a word for answers that come through no surface (claim_via). */
static bool is_taken(const struct engine *engine, const struct surface *surface)
{
    static const char *const own[] = { "clock", "nod", "page" };
    struct str name = str_of(surface->ops->name);

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (str_eq(name, str_of(own[i])))
            return true;
    for (size_t i = 0; i < engine->surface_count; i++)
        if (str_eq(name, str_of(engine->surfaces[i]->ops->name)))
            return true;
    return !surface->ops->client && str_eq(name, STR("client"));
}

bool engine_add_surface(struct engine *engine, struct surface *surface)
{
    const char *why = NULL;

    if (engine->surface_count == ENGINE_SURFACES_MAX)
        why = "there are already as many as there may be";
    else if (!surface->ops->name || !is_name(str_of(surface->ops->name)))
        why = "its name is not 1 to 32 of a-z, 0-9, - and _";
    else if (is_taken(engine, surface))
        why = "its name is taken";
    if (why) {
        LOG_ERROR("a surface cannot be added",
                  LOG_CSTR("surface", surface->ops->name ? surface->ops->name : ""),
                  LOG_CSTR("why", why));
        return false;
    }
    engine->surfaces[engine->surface_count++] = surface;
    return true;
}

bool engine_has_surface(const struct engine *engine, const struct surface *surface)
{
    for (size_t i = 0; i < engine->surface_count; i++)
        if (engine->surfaces[i] == surface)
            return true;
    return false;
}

bool engine_asks_together(const struct engine *engine)
{
    return engine->together;
}

static struct str name_of(const struct surface *surface)
{
    return surface->ops->client ? STR("client") : str_of(surface->ops->name);
}

struct str engine_surface_names(const struct engine *engine, struct arena *arena)
{
    struct str names = STR_NONE;
    bool client = false; /* there may be several surfaces of the client */

    for (size_t i = 0; i < engine->surface_count; i++) {
        const struct surface *surface = engine->surfaces[i];
        if (!surface->ops->client || !client)
            names = arena_fmt(arena, STR_FMT "%s" STR_FMT, STR_ARG(names), names.len ? "," : "",
                              STR_ARG(name_of(surface)));
        client |= surface->ops->client;
    }
    return names;
}

bool engine_use_surfaces(struct engine *engine, const char *const *names, struct str *unknown)
{
    struct surface *used[ENGINE_SURFACES_MAX];
    size_t count = 0, named = 0;

    for (; names && names[named]; named++) {
        struct str name = str_of(names[named]);
        bool known = false;
        for (size_t i = 0; i < engine->surface_count; i++) {
            if (!str_eq(name_of(engine->surfaces[i]), name))
                continue;
            known = true;
            bool twice = false;
            for (size_t k = 0; k < count; k++)
                twice |= used[k] == engine->surfaces[i];
            if (!twice)
                used[count++] = engine->surfaces[i];
        }
        if (!known) {
            *unknown = name;
            return false;
        }
    }
    if (!named)
        return true;
    memcpy(engine->surfaces, used, count * sizeof(used[0]));
    engine->surface_count = count;
    for (size_t i = 1; i < count; i++)
        engine->together |= !str_eq(name_of(used[0]), name_of(used[i]));
    return true;
}

static bool surface_can(struct surface *surface, const struct call *call, enum ask_kind kind,
                        bool consent)
{
    return !(consent && surface->ops->model) && surface->ops->can(surface, call, kind);
}

bool engine_can_elsewhere(const struct engine *engine, const struct call *call, enum ask_kind kind,
                          bool consent, const struct surface *but)
{
    for (size_t i = 0; i < engine->surface_count; i++)
        if (engine->surfaces[i] != but && surface_can(engine->surfaces[i], call, kind, consent))
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

void ask_offer(struct ask *ask)
{
    const struct engine *engine = ask->call->engine;
    bool one = !engine->together;

    ask->offering = true; /* a surface may refuse before it returns */
    for (size_t i = 0; i < engine->surface_count && !(one && ask->up); i++) {
        struct surface *surface = engine->surfaces[i];
        if (ask->tried & 1u << i || (surface->ops->client && call_is_alone(ask->call)) ||
            !surface_can(surface, ask->call, ask->record.kind, ask->record.consent))
            continue;
        ask->tried |= 1u << i;
        ask->up |= 1u << i;
        surface->ops->offer(surface, ask, ask->record.attempt, STR_NONE);
    }
    ask->offering = false;
    if (!ask->up && !ask->call->carried && !ask->claiming)
        claim_by_engine(ask, ASK_UNSUPPORTED);
}

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

void ask_offered(struct ask *ask, const struct surface *surface, enum offer_result result)
{
    unsigned bit = bit_of(ask->call->engine, surface);

    if (result == OFFER_SHOWN || !(ask->up & bit) || ask->claiming)
        return; /* it is up, or this is about an older offer */
    LOG_DEBUG("offer ended", LOG_STR("ask", id_str(&ask->id)),
              LOG_CSTR("surface", surface->ops->name),
              LOG_CSTR("result", result == OFFER_REFUSED ? "refused" : "unrendered"));
    ask->up &= ~bit;
    if (!ask->up && !ask->offering)
        ask_offer(ask);
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
