/*
 * surface/owned: small records that belong to somebody, listed by page and ended.
 *
 *     GET    /api/NAME?limit=&cursor=
 *     DELETE /api/NAME/{id}
 *
 * Remembered approvals (grants.c), secrets (secrets.c) and connected accounts (credentials.c) are
 * shown alike: each sees and ends what is its own, and an administrator everything. What such a
 * record is, and when it ends, is decided where it is kept; its file here says where that is, and
 * how a record is written.
 */
#include "surface/inbox_inside.h"

static struct owned *begin(const struct owned_place *place, const struct front_request *request)
{
    struct owned *owned = (struct owned *)(void *)shown_begin(place->inbox, &place->inbox->reads,
                                                              request, sizeof(struct owned));

    if (owned)
        owned->kind = place->kind;
    return owned;
}

/* Whose records the viewer may see; empty: everybody's. */
static struct str whose(const struct owned *owned)
{
    const struct viewer *viewer = &owned->shown.viewer;

    return roles_include(viewer->roles, ROLES_NONE) ? STR_NONE : viewer->principal;
}

/* --- the list --- */

void owned_listed(void *data, nod_status status, struct str cursor)
{
    struct owned *owned = data;
    struct http_exchange *exchange = owned->shown.exchange;
    struct json_writer *w = &owned->w;

    if (exchange && status == NOD_OK) {
        jw_end(w);
        api_key_str_or_null(w, STR("next"), cursor);
        if (owned->kind->more)
            owned->kind->more(owned);
        jw_end(w);
        api_reply(exchange, w, &owned->body); /* finishes the body */
    } else {
        buf_finish(&owned->body);
        if (exchange)
            api_problem(exchange, status == NOD_E_USAGE ? 400 : 503,
                        status == NOD_E_USAGE ? STR("The parameter cursor is not one of this list.")
                                              : STR(STORE_AWAY "."));
    }
    shown_end(&owned->shown);
}

static void serve_list(const struct front_request *request, void *place)
{
    struct api_param params[] = { { .name = STR("limit") }, { .name = STR("cursor") } };
    struct owned *owned = begin(place, request);
    size_t limit;

    if (!owned)
        return;
    if (!api_query(request, &owned->shown.arena, params, 2)) {
        shown_end(&owned->shown);
        return;
    }
    if (!api_limit(&params[0], &limit)) {
        api_problem(request->exchange, 400, STR("The parameter limit is a number from 1 to 200."));
        shown_end(&owned->shown);
        return;
    }
    buf_init(&owned->body, INBOX_REPLY_MAX);
    json_writer_init(&owned->w, &owned->body);
    jw_object(&owned->w);
    jw_key(&owned->w, STR("items"));
    jw_array(&owned->w);
    http_release(request->exchange);
    owned->kind->list(owned, whose(owned), params[1].value, limit);
}

/* --- ending one --- */

void owned_ended(void *data, nod_status status)
{
    struct owned *owned = data;
    struct http_exchange *exchange = owned->shown.exchange;
    bool unsure = status == NOD_E_STORE || status == NOD_E_STALE;

    if (exchange && status == NOD_OK)
        http_reply(exchange, 204, NULL, 0, STR_NONE);
    else if (exchange)
        api_problem(exchange, unsure ? 503 : 404, unsure ? owned->kind->unsure : owned->kind->none);
    shown_end(&owned->shown);
}

static void serve_end(const struct front_request *request, void *place)
{
    struct owned *owned = begin(place, request);

    if (!owned)
        return;
    struct str id = arena_str(&owned->shown.arena, front_var(request, STR("id")));
    http_release(request->exchange);
    owned->kind->end(owned, id, whose(owned));
}

bool owned_routes(struct inbox *inbox)
{
    static const struct owned_kind *const kinds[] = { &owned_accounts, &owned_grants,
                                                      &owned_secrets };

    _Static_assert(sizeof(kinds) / sizeof(kinds[0]) == OWNED_KINDS, "a place for each");
    for (size_t i = 0; i < OWNED_KINDS; i++) {
        struct owned_place *place = &inbox->owned[i];
        struct route route = { STR("GET"), kinds[i]->path, .who = ROLE_ANSWER | ROLE_APPROVE };

        *place = (struct owned_place){ inbox, kinds[i] };
        route.cookie = route.fetch_site = true;
        route.data = place;
        route.handle = serve_list;
        if (!front_route(inbox->opts.front, &route))
            return false;
        route.method = STR("DELETE");
        route.pattern = kinds[i]->path_of_one;
        route.handle = serve_end;
        if (!front_route(inbox->opts.front, &route))
            return false;
    }
    return true;
}
