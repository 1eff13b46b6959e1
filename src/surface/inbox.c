/*
 * surface/inbox: see inbox.h.
 *
 * The surface has nothing to send: an ask that is up here is one that the store lists. Invalid
 * content leaves the ask pending, and its answerer tries again (attempts = 0).
 */
#include "surface/inbox.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/answerable.h"
#include "surface/inbox_inside.h"
#include "surface/page.h"

/* --- the surface --- */

enum { INBOX_KINDS = 1u << ASK_FORM | 1u << ASK_APPROVAL | 1u << ASK_URL };

static bool inbox_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    (void)surface, (void)call;
    return INBOX_KINDS & 1u << kind;
}

static unsigned inbox_kinds(struct surface *surface, const struct call *call)
{
    (void)surface, (void)call;
    return INBOX_KINDS;
}

/* It may have been at the client before, so the store has told of it when it was not up here. */
static void inbox_offer(struct surface *surface, struct ask *ask, int attempt, struct str problems)
{
    const struct inbox *inbox = (const struct inbox *)surface;

    (void)attempt, (void)problems;
    events_note(inbox->events, ask_record(ask));
    ask_offered(ask, surface, OFFER_SHOWN);
}

/* If it has ended, the store tells whoever watches. If only its turn is over, it stays listed: a
 * late answer counts. */
static void inbox_withdraw(struct surface *surface, struct ask *ask, struct str why,
                           const struct winner *winner)
{
    (void)surface, (void)ask, (void)why, (void)winner;
}

static const struct surface_ops inbox_ops = {
    .name = "inbox",
    .can = inbox_can,
    .kinds = inbox_kinds,
    .offer = inbox_offer,
    .withdraw = inbox_withdraw,
    .every = true,
};

/* --- who sees what --- */

struct viewer viewer_of(const struct inbox *inbox, const struct front_request *request)
{
    return (struct viewer){ inbox, request->principal, request->roles };
}

bool viewer_sees(const struct viewer *viewer, const struct ask_record *ask)
{
    const struct inbox *inbox = viewer->inbox;

    return INBOX_KINDS & 1u << ask->kind && answerable_by(ask, viewer->principal, viewer->roles) &&
           engine_asks_on(inbox->opts.engine, ask, &inbox->surface);
}

bool viewer_sees_all(const struct viewer *viewer, const struct ask_record *ask)
{
    return str_eq(viewer->principal, ask->principal) ||
           roles_include(viewer->roles, ROLES_NONE); /* an administrator */
}

/* --- GET /api/me --- */

static void me_serve(const struct front_request *request, void *data)
{
    const struct inbox *inbox = data;
    const struct inbox_opts *opts = &inbox->opts;
    struct json_writer w;
    struct buf body;

    buf_init(&body, INBOX_REPLY_MAX);
    json_writer_init(&w, &body);
    jw_object(&w);
    jw_key_str(&w, STR("principal"), request->principal);
    jw_key(&w, STR("roles"));
    jw_array(&w);
    for (role_set role = ROLE_ASK; role <= ROLE_ADMIN; role <<= 1)
        if (request->roles & role)
            jw_str(&w, role_name((enum role)role));
    jw_end(&w);
    jw_key(&w, STR("server"));
    jw_object(&w);
    jw_key_str(&w, STR("name"), opts->name);
    jw_key_str(&w, STR("title"), opts->title.len ? opts->title : opts->name);
    jw_key_str(&w, STR("version"), opts->version);
    jw_end(&w);
    jw_key_bool(&w, STR("demo"), opts->demo);
    jw_end(&w);
    api_reply(request->exchange, &w, &body);
}

/* --- routes --- */

/* Who answers, and everybody who has a role. */
enum { PEOPLE = ROLE_ANSWER | ROLE_APPROVE, EVERYBODY = PEOPLE | ROLE_ASK };

static const struct route routes[] = {
    { STR_INIT("GET"), STR_INIT("/api/me"), .who = EVERYBODY, .handle = me_serve },
    { STR_INIT("GET"), STR_INIT("/api/openapi.json"), .who = EVERYBODY, .handle = openapi_serve },
    { STR_INIT("GET"), STR_INIT("/api/elicitation"), .who = PEOPLE, .handle = listing_serve },
    { STR_INIT("GET"), STR_INIT("/api/elicitation/{id}"), .who = PEOPLE,
      .handle = listing_serve_one },
    { STR_INIT("POST"), STR_INIT("/api/elicitation/{id}/resolve"), .who = PEOPLE,
      .handle = resolve_serve },
    { STR_INIT("GET"), STR_INIT("/api/events"), .who = PEOPLE, .endless = true,
      .handle = reader_serve },
};

static bool add_routes(struct inbox *inbox)
{
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        struct route route = routes[i];
        route.cookie = route.fetch_site = true;
        route.data = inbox;
        if (!front_route(inbox->opts.front, &route))
            return false;
    }
    return owned_routes(inbox) && page_routes(inbox);
}

static void shown_group_init(struct shown_group *group, size_t most)
{
    list_init(&group->all);
    group->most = most;
}

static void shown_end_all(struct shown_group *group)
{
    struct list *at;

    while ((at = list_first(&group->all)))
        shown_end(LIST_OF(at, struct shown, link));
}

struct inbox *inbox_create(const struct inbox_opts *opts)
{
    struct inbox *inbox = MEM_NEW(struct inbox);

    inbox->surface.ops = &inbox_ops;
    inbox->opts = *opts;
    inbox->store = engine_store(opts->engine);
    shown_group_init(&inbox->reads, INBOX_READS_MAX);
    shown_group_init(&inbox->answers, INBOX_ANSWERS_MAX);
    queue_init(&inbox->lists, opts->loop, 1, TURN_LISTS);
    queue_init(&inbox->catches, opts->loop, 1, TURN_LISTS);
    queue_init(&inbox->ones, opts->loop, INBOX_ONES_AT_ONCE, TURN_LISTS);
    queue_init(&inbox->searches, opts->loop, 1, TURN_LISTS);
    list_init(&inbox->search_turns);
    list_init(&inbox->tries);
    inbox->events = events_create(inbox);
    if (!engine_add_surface(opts->engine, &inbox->surface) || !add_routes(inbox)) {
        events_destroy(inbox->events);
        mem_free(inbox);
        return NULL;
    }
    return inbox;
}

void inbox_stop(struct inbox *inbox)
{
    if (inbox)
        events_stop(inbox->events);
}

void inbox_destroy(struct inbox *inbox)
{
    if (!inbox)
        return;
    events_destroy(inbox->events);
    shown_end_all(&inbox->reads);
    shown_end_all(&inbox->answers);
    queue_finish(&inbox->lists);
    queue_finish(&inbox->catches);
    queue_finish(&inbox->ones);
    queue_finish(&inbox->searches);
    loop_last_stop(&inbox->search_turn);
    page_try_close(inbox);
    MEM_DELETE(inbox);
}
