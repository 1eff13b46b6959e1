/*
 * surface/model: see model.h. It has nothing to send, and nothing to take back.
 */
#include "surface/model.h"

#include "base/mem.h"
#include "core/catalog.h"

static unsigned model_kinds(struct surface *surface, const struct call *call)
{
    struct client client = call_client(call);

    (void)surface;
    if (call_target(call)->kind != TARGET_TOOL || !client.told ||
        client.declares & (CLIENT_CAN_FORM | CLIENT_CAN_URL))
        return 0;
    return 1u << ASK_FORM | 1u << ASK_APPROVAL;
}

static bool model_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    return model_kinds(surface, call) & 1u << kind;
}

static void model_offer(struct surface *surface, struct ask *ask, int attempt, struct str problems)
{
    (void)attempt, (void)problems;
    ask_offered(ask, surface, OFFER_SHOWN);
}

static void model_withdraw(struct surface *surface, struct ask *ask, struct str why,
                           const struct winner *winner)
{
    (void)surface, (void)ask, (void)why, (void)winner; /* the next result does not have it */
}

static const struct surface_ops model_ops = { .name = "model",
                                              .can = model_can,
                                              .kinds = model_kinds,
                                              .offer = model_offer,
                                              .withdraw = model_withdraw,
                                              .model = true,
                                              .own_word = true };

struct surface *surface_model(void)
{
    struct surface *surface = MEM_NEW(struct surface);

    surface->ops = &model_ops;
    return surface;
}
