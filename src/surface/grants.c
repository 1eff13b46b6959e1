/*
 * surface/grants: approvals that are remembered, listed and revoked.
 *
 *     GET    /api/grants?limit=&cursor=
 *     DELETE /api/grants/{id}
 *
 * Each sees and revokes what counts for itself, and an administrator everything. What a grant is
 * and when it ends is decided by the core (core/grant.h). Nothing here makes one: only an answer
 * does.
 */
#include "core/grant.h"
#include "surface/inbox_inside.h"

struct granted {        /* one request */
    struct shown shown; /* first; its asks are not used */
    struct json_writer w;
    struct buf body;
};

static struct granted *granted_begin(const struct front_request *request, void *data)
{
    return (struct granted *)(void *)shown_begin(data, request, sizeof(struct granted));
}

/* Whose grants the viewer may see; empty: everybody's. */
static struct str whose(const struct viewer *viewer)
{
    return roles_include(viewer->roles, ROLES_NONE) ? STR_NONE : viewer->principal;
}

/* --- the list --- */

static void write_grant(void *data, const struct grant *grant)
{
    struct granted *granted = data;
    struct json_writer *w = &granted->w;
    struct arena *arena = &granted->shown.arena;

    jw_object(w);
    jw_key_str(w, STR("id"), grant->id);
    jw_key_str(w, STR("tool"), grant->tool);
    jw_key_str(w, STR("match"), grant_match_name(grant->match));
    jw_key_str(w, STR("principal"), grant->principal);
    jw_key_str(w, STR("scope"), grant_scope_name(grant->scope));
    jw_key_str(w, STR("label"), grant_label(arena, grant->scope, grant->match, grant->for_ms));
    jw_key_str(w, STR("message"), grant->message);
    jw_key_str(w, STR("questionId"), grant->ask_id);
    jw_key_str(w, STR("by"), grant->by);
    api_key_time(w, STR("createdAt"), grant->at_ms);
    if (grant->until_ms) {
        api_key_time(w, STR("expiresAt"), grant->until_ms);
    } else {
        jw_key(w, STR("expiresAt"));
        jw_null(w);
    }
    jw_key_i64(w, STR("uses"), grant->uses);
    jw_end(w);
}

static void listed(void *data, nod_status status, struct str cursor)
{
    struct granted *granted = data;
    struct http_exchange *exchange = granted->shown.exchange;
    struct json_writer *w = &granted->w;

    if (exchange && status == NOD_OK) {
        jw_end(w);
        jw_key(w, STR("next"));
        if (cursor.len)
            jw_str(w, cursor);
        else
            jw_null(w);
        jw_end(w);
        api_reply(exchange, w, &granted->body); /* finishes the body */
    } else {
        buf_finish(&granted->body);
        if (exchange)
            api_problem(exchange, status == NOD_E_USAGE ? 400 : 503,
                        status == NOD_E_USAGE ? STR("The parameter cursor is not one of this list.")
                                              : STR("The store cannot be reached."));
    }
    shown_end(&granted->shown);
}

void grants_serve(const struct front_request *request, void *data)
{
    struct api_param params[] = { { .name = STR("limit") }, { .name = STR("cursor") } };
    struct granted *granted = granted_begin(request, data);
    int64_t limit = INBOX_PAGE_USUAL;

    if (!granted)
        return;
    struct shown *shown = &granted->shown;
    if (!api_query(request, &shown->arena, params, 2)) {
        shown_end(shown);
        return;
    }
    if (params[0].given &&
        (!str_to_i64(params[0].value, &limit) || limit < 1 || limit > GRANT_PAGE_MAX)) {
        api_problem(request->exchange, 400, STR("The parameter limit is a number from 1 to 200."));
        shown_end(shown);
        return;
    }
    buf_init(&granted->body, INBOX_REPLY_MAX);
    json_writer_init(&granted->w, &granted->body);
    jw_object(&granted->w);
    jw_key(&granted->w, STR("items"));
    jw_array(&granted->w);
    http_release(request->exchange);
    grants_list(shown->inbox->opts.engine, whose(&shown->viewer), params[1].value, (size_t)limit,
                write_grant, listed, granted);
}

/* --- revoking --- */

static void revoked(void *data, nod_status status)
{
    struct granted *granted = data;
    struct http_exchange *exchange = granted->shown.exchange;

    if (exchange && status == NOD_OK)
        http_reply(exchange, 204, NULL, 0, STR_NONE);
    else if (exchange)
        api_problem(exchange, status == NOD_E_NOT_FOUND ? 404 : 503,
                    status == NOD_E_NOT_FOUND
                        ? STR("There is no such remembered approval.")
                        : STR("The store cannot be reached. Nothing may have been revoked."));
    shown_end(&granted->shown);
}

void grants_serve_revoke(const struct front_request *request, void *data)
{
    struct granted *granted = granted_begin(request, data);

    if (!granted)
        return;
    struct shown *shown = &granted->shown;
    struct str id = arena_str(&shown->arena, front_var(request, STR("id")));
    http_release(request->exchange);
    grants_revoke(shown->inbox->opts.engine, id, whose(&shown->viewer), revoked, granted);
}
