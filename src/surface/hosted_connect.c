/*
 * surface/hosted_connect: a page that leads to an authorization server, and back.
 *
 * A handler needs an account of its person's that is not connected (nod_credential). The page of
 * the question says whose account it will be, at which service and at which address, and leads the
 * person there when they want; the service sends them back to /a/return. What comes back is
 * exchanged for tokens by this server (accounts/), which keeps them. The answer to the question has
 * no content: it says that an account was connected, and nothing more.
 *
 * Which account it is decides whose account the tools act with. So the person has always signed in,
 * also where a link is enough for data: whoever made the call has the link, and must not choose.
 *
 * The question is answered first, and connects the account by that. If it ended in another way
 * while the person was away, nothing is connected, and the service is told so (accounts/held.c).
 *
 * A person who has connected an account is not asked for it a second time (hosted_others.c). If it
 * fails, the question still waits, and its link can be opened again.
 */
#include "accounts/accounts.h"
#include "surface/hosted.h"

static void undo(struct hosted *hosted, const struct ask_record *ask, struct arena *arena)
{
    const struct json *detail = json_parse(arena, ask->detail, NULL, NULL);

    accounts_drop(hosted_opts(hosted)->accounts,
                  &(struct account_flow){ .ask_id = ask->id,
                                          .principal = ask->principal,
                                          .service = json_get_str(detail, STR("service")) });
}

static struct account_flow flow_of(struct hosted_visit *visit)
{
    const struct json *detail = json_parse(&visit->arena, visit->ask.detail, NULL, NULL);
    struct engine *engine = hosted_opts(visit->hosted)->engine;

    return (struct account_flow){
        .ask_id = visit->ask.id,
        .principal = visit->ask.principal,
        .service = json_get_str(detail, STR("service")),
        .scopes = json_get_str(detail, STR("scopes")),
        .redirect_uri = hosted_return_url(visit),
        .ttl_ms = visit->ask.expires_ms - engine_now(engine),
    };
}

/* Another question for the same account, which asks for no more than was asked for here. */
static bool is_same(struct arena *arena, const struct ask_record *mine,
                    const struct ask_record *other)
{
    const struct json *one = json_parse(arena, mine->detail, NULL, NULL);
    const struct json *two = json_parse(arena, other->detail, NULL, NULL);

    return json_is(one, JSON_OBJECT) &&
           str_eq(json_get_str(one, STR("service")), json_get_str(two, STR("service"))) &&
           oauth_scopes_within(json_get_str(two, STR("scopes")), json_get_str(one, STR("scopes")));
}

static void done(void *data, const struct account_flow_result *result)
{
    struct hosted_visit *visit = data;

    switch (result->end) {
    case ACCOUNT_FLOW_GO:
        hosted_lead(visit, result->url);
        break;
    case ACCOUNT_FLOW_AGREED:
        hosted_answer(visit, ASK_ACCEPTED, NULL);
        break;
    case ACCOUNT_FLOW_DECLINED:
        hosted_answer(visit, ASK_DECLINED, NULL);
        break;
    case ACCOUNT_FLOW_REFUSED:
        hosted_refuse(visit, 403, result->message);
        break;
    case ACCOUNT_FLOW_FAILED:
        hosted_refuse(visit, 502, result->message);
        break;
    }
}

/* The person goes to the service, or comes back and may have to go again: begins, with the state
 * that they bring back then. */
static void go(struct hosted_visit *visit, struct account_flow *flow,
               void (*begin)(struct accounts *accounts, const struct account_flow *flow,
                             account_flow_done *done, void *data))
{
    struct buf state;

    buf_init(&state, HOSTED_STATE_MAX);
    if (hosted_state(visit, &state)) {
        flow->state = buf_str(&state);
        begin(hosted_opts(visit->hosted)->accounts, flow, done, visit);
    } else {
        hosted_refuse(visit, 500, STR("The address of the service would be too long."));
    }
    buf_finish(&state);
}

static void opened(struct hosted_visit *visit)
{
    struct account_flow flow = flow_of(visit);

    go(visit, &flow, accounts_begin);
}

static void connect_draw(struct hosted_visit *visit, struct json_writer *w)
{
    const struct json *detail = json_parse(&visit->arena, visit->ask.detail, NULL, NULL);

    jw_key_str(
        w, STR("service"),
        accounts_title(hosted_opts(visit->hosted)->accounts, json_get_str(detail, STR("service"))));
}

static struct str member(const struct hosted_visit *visit, struct str name, bool *given)
{
    for (size_t i = 0; i < visit->query_count; i++) {
        if (str_eq(visit->query[i].name, name)) {
            *given = true;
            return visit->query[i].value;
        }
    }
    *given = false;
    return STR_NONE;
}

static void returned(struct hosted_visit *visit)
{
    struct account_flow flow = flow_of(visit);
    bool given;

    flow.code = member(visit, STR("code"), &given);
    flow.error = member(visit, STR("error"), &given);
    flow.iss = member(visit, STR("iss"), &flow.has_iss);
    go(visit, &flow, accounts_return);
}

static void kept(void *data, nod_status status)
{
    struct hosted_visit *visit = data;

    (void)status; /* if the store is away, the call that goes on keeps it */
    if (visit->counted)
        hosted_answer_others(visit, is_same);
    hosted_show(visit);
}

static bool settled(struct hosted_visit *visit)
{
    struct accounts *accounts = hosted_opts(visit->hosted)->accounts;
    struct account_flow flow = flow_of(visit);

    if (visit->ask.state == ASK_ACCEPTED) {
        accounts_keep(accounts, &flow, kept, visit);
        return false;
    }
    if (visit->ask.state != ASK_PENDING || flow.ttl_ms <= 0) /* otherwise it can be tried again */
        undo(visit->hosted, &visit->ask, &visit->arena);
    return true;
}

const struct hosted_kind hosted_connect = { .name = STR_INIT("connect"),
                                            .done = STR_INIT(
                                                "The account is connected, and the tool goes on."),
                                            .signed_in = true,
                                            .undone = STR_INIT(" Nothing was connected by it."),
                                            .draw = connect_draw,
                                            .opened = opened,
                                            .returned = returned,
                                            .settled = settled,
                                            .undo = undo };
