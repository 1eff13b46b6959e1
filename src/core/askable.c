/*
 * core/askable: what whoever is behind a call can be asked.
 *
 * It is decided before every run, and when the client is told of questions: for each kind of
 * question, whether any surface of the call's plan (plan.h) can put it to its person, whether an
 * answer there counts as consent (consent.h), and whether its client can be asked it. What a client
 * declares comes to kinds of question in client_ask_kinds (client.c); the surfaces of the client
 * say so in surface_ops.kinds. A run that asks what nobody can be asked is told so
 * (run_question.c).
 *
 * Where a question is up is decided in offers.c, and who may answer it in answerable.h.
 */
#include "core/call_inside.h"

struct askable {      /* bits (1 << kind) of what the person behind a call can be asked: */
    unsigned asked;   /* anywhere, for data */
    unsigned consent; /* where it counts as consent */
    unsigned model;   /* through the model, whether or not that counts */
    unsigned client;  /* by the client */
    unsigned role;    /* for consent by the client, if it had the role for that */
};

static unsigned kinds_of(struct surface *surface, const struct call *call)
{
    unsigned kinds = 0;

    if (surface->ops->kinds)
        return surface->ops->kinds(surface, call);
    for (int kind = ASK_FORM; kind <= ASK_ROOTS; kind++)
        if (surface->ops->can(surface, call, (enum ask_kind)kind))
            kinds |= 1u << kind;
    return kinds;
}

/* If the caller is gone it may come back, so what it could do before still counts. */
uint8_t call_find_askable(struct call *call)
{
    const struct engine *engine = call->engine;
    const struct plan *plan = call_plan(call);
    role_set roles = call_roles(call);
    struct askable askable = { 0 };

    for (size_t i = 0; i < engine->surface_count; i++) {
        struct surface *surface = engine->surfaces[i];
        unsigned kinds = plan->all & 1u << i ? kinds_of(surface, call) : 0;
        if (!kinds) /* most surfaces ask nobody behind this call */
            continue;
        askable.asked |= kinds;
        if (consent_counts(engine, surface, call->target, true, call->principal, roles))
            askable.consent |= kinds;
        else if (consent_counts(engine, surface, call->target, true, call->principal, ROLE_ANSWER))
            askable.role |= kinds;
        if (surface_is_held(surface))
            askable.client |= kinds;
        if (surface->ops->model)
            askable.model |= kinds;
    }
    bool alone = call_is_alone(call);
    _Static_assert(ASK_KINDS <= 8, "a set of kinds is a byte");
    call->supports = (uint8_t)(askable.asked | (alone ? call->supports : 0));
    call->supports_consent = (uint8_t)(askable.consent | (alone ? call->supports_consent : 0));
    call->lacks_role = (uint8_t)(askable.role | (alone ? call->lacks_role : 0));
    call->model = (uint8_t)(askable.model | (alone ? call->model : 0));
    return alone ? call->client_kinds : (uint8_t)askable.client;
}
