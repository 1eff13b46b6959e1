/*
 * core/plan: see plan.h.
 *
 * Holds always: a plan is made once, from the surfaces that are there when the first call is made,
 * and does not change after that. A surface occurs in a plan at most once.
 */
#include "core/call_inside.h"

#include "base/log.h"
#include "core/catalog.h"

_Static_assert((int)PLAN_TURNS_MAX == (int)ENGINE_SURFACES_MAX && ENGINE_SURFACES_MAX <= 8,
               "a turn has a bit for each surface, and each surface may be a turn");

struct str surface_word(const struct surface *surface)
{
    return surface->ops->client ? STR("client") : str_of(surface->ops->name);
}

static unsigned bits_of(const struct plan *plan)
{
    unsigned bits = 0;

    for (size_t i = 0; i < plan->count; i++)
        bits |= plan->turns[i];
    return bits;
}

static struct str trimmed(struct str text)
{
    while (text.len && text.at[0] == ' ')
        text = str_skip(text, 1);
    while (text.len && text.at[text.len - 1] == ' ')
        text.len--;
    return text;
}

static void turn_over(struct plan *out)
{
    if (out->turns[out->count])
        out->count++;
}

/* "a,b>c". False: there is no surface of the name *unknown. The others are still used. */
static bool plan_text(const struct engine *engine, struct str text, struct plan *out,
                      struct str *unknown)
{
    bool known = true;
    size_t from = 0;

    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.at[i] != ',' && text.at[i] != '>')
            continue;
        struct str name = trimmed(str_n(text.at + from, i - from));
        unsigned bits = 0; /* the client may be asked in several ways: surfaces of one name */
        for (size_t on = 0; on < engine->surface_count; on++)
            if (str_eq(surface_word(engine->surfaces[on]), name))
                bits |= 1u << on;
        out->turns[out->count] |= (uint8_t)(bits & ~bits_of(out));
        if (!bits) {
            *unknown = name;
            known = false;
        }
        if (i < text.len && text.at[i] == '>') {
            out->timed = true;
            turn_over(out);
        }
        from = i + 1;
    }
    return known;
}

static bool plan_names(const struct engine *engine, const char *const *names, struct plan *out,
                       struct str *unknown)
{
    bool known = true;

    *out = (struct plan){ .made = true };
    if (!names || !names[0]) {
        /* The client first, also if another surface was added before it: a server on stdio has its
         * inbox earlier than its protocol. */
        for (int client = 1; client >= 0; client--)
            for (size_t i = 0; i < engine->surface_count; i++)
                if (engine->surfaces[i]->ops->client == (client == 1))
                    out->turns[out->count++] = (uint8_t)(1u << i);
        out->all = (uint8_t)bits_of(out);
        return true;
    }
    for (; *names; names++)
        known &= plan_text(engine, str_of(*names), out, unknown);
    turn_over(out);
    out->all = (uint8_t)bits_of(out);
    out->timed &= out->count > 1;
    /* More than the client, in all its ways, or more than one other surface. A model is never asked
     * what a client carries. */
    unsigned client = engine->client_bits, bits = out->all;
    unsigned others = bits & ~client & ~engine->model_bits;
    out->several = others && (bits & client || others & (others - 1));
    return known;
}

/* --- of the engine, and of a target --- */

bool engine_use_surfaces(struct engine *engine, const char *const *names, struct str *unknown)
{
    struct plan plan;

    if (!plan_names(engine, names, &plan, unknown))
        return false;
    engine->plan = plan;
    return true;
}

static const struct plan *target_plan(struct engine *engine, struct target *target)
{
    struct str unknown = STR_NONE;

    if (!target || !target->surfaces || !target->surfaces[0]) {
        if (!engine->plan.made)
            engine_use_surfaces(engine, NULL, &unknown);
        return &engine->plan;
    }
    if (!target->plan.made && !plan_names(engine, target->surfaces, &target->plan, &unknown))
        LOG_WARN("a tool names a surface that is not here: nobody is asked there",
                 LOG_STR("tool", target->name), LOG_STR("surface", unknown));
    return &target->plan;
}

const struct plan *call_plan(const struct call *call)
{
    return target_plan(call->engine, call->target);
}

/* --- what a model is told --- */

void engine_say_instead_of_model(struct engine *engine, const char *what)
{
    engine->instead_of_model = what;
}

struct str engine_instead_of_model(const struct engine *engine)
{
    return str_of(engine->instead_of_model ? engine->instead_of_model
                                           : "the operator can have a person asked elsewhere");
}

/* --- whose turn it is --- */

/* The turn with one of these surfaces; as many as there are: none has. */
static size_t turn_with(const struct plan *plan, unsigned bits)
{
    size_t turn = 0;

    while (turn < plan->count && !(plan->turns[turn] & bits))
        turn++;
    return turn;
}

void ask_record_came_to(struct engine *engine, struct ask_record *record, const struct plan *plan,
                        size_t turn)
{
    if (turn >= plan->count)
        return;
    size_t every = turn_with(plan, engine->every_bits);
    record->turn = (uint8_t)turn;
    if (every <= turn)
        record->listed = LISTED;
    else if (every < plan->count && plan->timed && record->listed == NOT_LISTED)
        record->listed = LISTED_BY_CLOCK;
}

/* `ask` is NULL if it is not live here. */
static int64_t turn_comes(struct engine *engine, const struct ask_record *record,
                          const struct ask *ask, unsigned bits)
{
    struct target *target = ask ? ask->call->target : target_of_ask(engine, record);
    const struct plan *plan = target_plan(engine, target);
    size_t turn = turn_with(plan, bits);

    if (turn == plan->count)
        return TURN_NEVER;
    /* It may have been asked under another plan: see enum ask_listed. */
    bool listed = record->listed == LISTED || (record->listed == LISTED_BY_CLOCK && !plan->timed);
    if (listed && bits & engine->every_bits)
        return TURN_HAS_COME;
    if (turn <= record->turn || (ask && turn <= ask->turn) || record->state != ASK_PENDING)
        return TURN_HAS_COME;
    if (!plan->timed)
        return TURN_UNTIMED;
    int64_t now = engine_now(engine);
    int64_t since = ask && ask->since_ms ? ask->since_ms : record->asked_ms;
    int64_t at = (since ? since : now) + engine->opts.next_turn_ms * (int64_t)turn;
    return at > now ? at : TURN_HAS_COME;
}

/* The client's surfaces have one turn: an ask may have been put up through one of them, and be
 * answered through another after a restart. */
int64_t engine_turn_comes(struct engine *engine, const struct ask_record *record,
                          const struct surface *surface)
{
    unsigned bits = 0;

    for (size_t i = 0; i < engine->surface_count; i++)
        if (engine->surfaces[i] == surface)
            bits = 1u << i;
    if (surface->ops->client)
        bits = engine->client_bits;
    return turn_comes(engine, record, engine_ask(engine, record->id), bits);
}

bool engine_asks_on(struct engine *engine, const struct ask_record *record,
                    const struct surface *surface)
{
    return engine_turn_comes(engine, record, surface) == TURN_HAS_COME;
}

const char *answer_unheard(struct engine *engine, const struct ask_record *record,
                           const struct surface *surface, role_set roles)
{
    const struct ask *live = engine_ask(engine, record->id);
    const struct target *target = live ? live->call->target : target_of_ask(engine, record);
    bool consent = ask_is_consent(engine, record, target);

    if (surface->ops->client && engine_turn_comes(engine, record, surface) == TURN_NEVER)
        return "This answer does not count: this is asked elsewhere now, and not through the "
               "client "
               "that made the call.";
    if (consent_counts(engine, surface, target, consent, record->principal, roles))
        return NULL;
    if (consent_counts(engine, surface, target, consent, record->principal, ROLE_ANSWER))
        return "This answer does not count: " CONSENT_NEEDS_ROLE
               ", which this token does not have.";
    return surface->ops->model
               ? "This is a person's to decide, and a model may not answer it."
               : "This answer does not count: this server takes no consent from the client that "
                 "made the call; it is given in the inbox.";
}

/* They can put this to the person behind any call. */
static unsigned bits_sure(const struct engine *engine, const struct target *target,
                          const struct ask_record *record)
{
    unsigned bits = 0;

    for (size_t i = 0; i < engine->surface_count; i++) {
        struct surface *surface = engine->surfaces[i];
        if (surface->ops->every && surface->ops->can(surface, NULL, record->kind) &&
            consent_counts(engine, surface, target, ask_is_consent(engine, record, target),
                           STR_NONE, ROLES_NONE))
            bits |= 1u << i;
    }
    return bits;
}

struct turn_after engine_turn_after_client(struct engine *engine, const struct ask_record *record)
{
    struct target *target = target_of_ask(engine, record);
    const struct plan *plan = target_plan(engine, target);
    unsigned sure = bits_sure(engine, target, record);
    /* of these only the call itself can tell whether they are able to */
    unsigned unsure = ~(unsigned)(engine->every_bits | engine->client_bits | engine->model_bits);
    struct turn_after after = { 0 };

    for (size_t turn = turn_with(plan, engine->client_bits); turn < plan->count && !after.sure;
         turn++) {
        after.turn = (unsigned)turn;
        after.sure = plan->turns[turn] & sure;
        after.unsure |= (plan->turns[turn] & unsure) != 0;
    }
    if (after.sure)
        after.comes =
            turn_comes(engine, record, engine_ask(engine, record->id), plan->turns[after.turn]);
    return after;
}

static bool client_is_asked(struct engine *engine, struct target *target,
                            const struct ask_record *record, role_set roles)
{
    return engine_asks_client(engine, target) && (engine_client_consents(engine, target, roles) ||
                                                  !ask_is_consent(engine, record, target));
}

bool ask_is_for_client(const struct ask *ask)
{
    const struct call *call = ask->call;

    return client_is_asked(call->engine, call->target, &ask->record, call_roles(call));
}

bool ask_is_clients_turn(const struct ask *ask)
{
    struct engine *engine = ask->call->engine;

    return ask_is_for_client(ask) &&
           turn_comes(engine, &ask->record, ask, engine->client_bits) == TURN_HAS_COME;
}

void ask_was_clients_turn(struct ask *ask)
{
    const struct plan *plan = call_plan(ask->call);
    size_t turn = turn_with(plan, ask->call->engine->client_bits);

    if (turn > ask->record.turn)
        ask_record_came_to(ask->call->engine, &ask->record, plan, turn);
}

bool engine_asks_client_this(struct engine *engine, const struct ask_record *record, role_set roles)
{
    return client_is_asked(engine, target_of_ask(engine, record), record, roles) &&
           turn_comes(engine, record, engine_ask(engine, record->id), engine->client_bits) ==
               TURN_HAS_COME;
}

bool engine_asks_client(struct engine *engine, struct target *target)
{
    return target_plan(engine, target)->all & engine->client_bits;
}

bool engine_asks_elsewhere(struct engine *engine, struct target *target)
{
    return target_plan(engine, target)->all & ~engine->client_bits;
}

bool engine_asks_people_elsewhere(struct engine *engine, struct target *target)
{
    return target_plan(engine, target)->all & ~engine->client_bits & ~engine->model_bits;
}

bool call_asks_people_elsewhere(const struct call *call)
{
    return engine_asks_people_elsewhere(call->engine, call->target);
}

bool engine_asks_model(struct engine *engine, struct target *target, unsigned kinds, role_set roles)
{
    const struct plan *plan = target_plan(engine, target);
    unsigned model = engine->model_bits;
    bool consent = question_is_consent(&(struct question_kind){ .kind = ASK_FORM }, target);

    if (kinds & (1u << ASK_FORM | 1u << ASK_URL) ||
        (consent &&
         !(engine->opts.model_may_consent && engine_client_consents(engine, target, roles))))
        return false;
    for (size_t turn = 0; turn < plan->count; turn++) {
        if (plan->turns[turn] & model)
            return true;
        if (plan->turns[turn] & engine->every_bits && !plan->timed)
            return false; /* everything is answered there, and no later turn comes */
    }
    return false;
}

bool engine_asks_together(struct engine *engine, struct target *target)
{
    return target_plan(engine, target)->several;
}

bool engine_waits_for_people(struct engine *engine, struct target *target, unsigned kinds,
                             role_set roles)
{
    return engine_asks_people_elsewhere(engine, target) &&
           (engine_asks_together(engine, target) || !engine_asks_client(engine, target) ||
            !(kinds & 1u << ASK_FORM) || !engine_client_consents(engine, target, roles));
}

bool engine_waits_elsewhere(struct engine *engine, struct target *target, unsigned kinds,
                            role_set roles)
{
    return engine_asks_model(engine, target, kinds, roles) ||
           engine_waits_for_people(engine, target, kinds, roles);
}
