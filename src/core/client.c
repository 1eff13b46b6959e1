/*
 * core/client: the client of a call.
 *
 * While a caller waits for the call, the client is the caller's. A call that goes on alone has the
 * client that made it, as far as that was said when the call began or came back
 * (adopt_spec.made_by). Nobody is there to be asked then, but a view fetches its questions by
 * itself.
 */
#include "core/call_inside.h"

/* --- the caller of a call whose caller is gone --- */

static enum caller_way nobody_asked(struct caller *caller, struct call *call)
{
    (void)caller;
    (void)call;
    return CALLER_LEAVES;
}

static void nobody_finished(struct caller *caller, struct call *call, const struct outcome *outcome)
{
    (void)caller;
    (void)call;
    (void)outcome;
}

static const struct caller_ops nobody_ops = { .away = true,
                                              .asked = nobody_asked,
                                              .finished = nobody_finished };

bool call_is_alone(const struct call *call)
{
    return call->caller == &call->engine->nobody;
}

role_set call_roles(const struct call *call)
{
    call = call_top(call);
    return call_is_alone(call) ? call->roles : call->caller->roles;
}

void nobody_init(struct caller *nobody)
{
    nobody->ops = &nobody_ops;
}

/* --- what a client declares --- */

unsigned client_ask_kinds(unsigned declares)
{
    return (declares & CLIENT_CAN_FORM ? 1u << ASK_FORM | 1u << ASK_APPROVAL : 0) |
           (declares & CLIENT_CAN_URL ? 1u << ASK_URL : 0) |
           (declares & CLIENT_CAN_SAMPLE ? 1u << ASK_SAMPLE : 0) |
           (declares & CLIENT_CAN_ROOTS ? 1u << ASK_ROOTS : 0);
}

bool client_has_views(unsigned declares)
{
    return declares & CLIENT_CAN_VIEW && !(declares & CLIENT_CAN_FORM);
}

void call_made_by(struct call *call, const struct client *client)
{
    call->made_by = client ? (struct maker){ client->declares, client->told } : (struct maker){ 0 };
}

struct client call_client(const struct call *call)
{
    struct client client;

    call = call_top(call);
    if (call->caller->client)
        client = *call->caller->client;
    else if (call_is_alone(call))
        client =
            (struct client){ .name = call->client,
                             .declares = call->made_by.declares,
                             .asked =
                                 client_has_views(call->made_by.declares) ? CLIENT_CAN_VIEW : 0,
                             .told = call->made_by.told };
    else
        client = (struct client){ 0 };
    if (!client.scope.len)
        client.scope = call->scope;
    return client;
}
