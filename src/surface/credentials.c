/*
 * surface/credentials: accounts that people have connected, listed and disconnected.
 *
 *     GET    /api/credentials?limit=&cursor=
 *     DELETE /api/credentials/{id}
 *
 * Each sees and disconnects their own, and an administrator everybody's. What an account is, and
 * how it is disconnected, is in oauth/. A token is nowhere here: struct oauth_account has none.
 */
#include "oauth/oauth.h"
#include "surface/inbox_inside.h"

struct connected {      /* one request */
    struct shown shown; /* first; its asks are not used */
    struct json_writer w;
    struct buf body;
};

static struct connected *connected_begin(const struct front_request *request, void *data)
{
    return (struct connected *)(void *)shown_begin(data, request, sizeof(struct connected));
}

/* Whose accounts the viewer may see; empty: everybody's. */
static struct str whose(const struct viewer *viewer)
{
    return roles_include(viewer->roles, ROLES_NONE) ? STR_NONE : viewer->principal;
}

/* --- the list --- */

static void key_time(struct json_writer *w, struct str key, int64_t ms)
{
    if (ms) {
        api_key_time(w, key, ms);
        return;
    }
    jw_key(w, key);
    jw_null(w);
}

static void write_account(void *data, const struct oauth_account *account)
{
    struct connected *connected = data;
    struct json_writer *w = &connected->w;

    jw_object(w);
    jw_key_str(w, STR("id"), account->id);
    jw_key_str(w, STR("name"), account->service);
    jw_key_str(w, STR("title"), account->title);
    jw_key_str(w, STR("principal"), account->principal);
    jw_key_str(w, STR("scopes"), account->scopes);
    jw_key_str(w, STR("state"), account->refused ? STR("refused") : STR("connected"));
    api_key_time(w, STR("connectedAt"), account->connected_ms);
    key_time(w, STR("refreshedAt"), account->refreshed_ms);
    key_time(w, STR("expiresAt"), account->expires_ms);
    jw_end(w);
}

static void listed(void *data, nod_status status, struct str cursor)
{
    struct connected *connected = data;
    struct http_exchange *exchange = connected->shown.exchange;
    struct json_writer *w = &connected->w;

    if (exchange && status == NOD_OK) {
        jw_end(w);
        jw_key(w, STR("next"));
        if (cursor.len)
            jw_str(w, cursor);
        else
            jw_null(w);
        jw_end(w);
        api_reply(exchange, w, &connected->body); /* finishes the body */
    } else {
        buf_finish(&connected->body);
        if (exchange)
            api_problem(exchange, status == NOD_E_USAGE ? 400 : 503,
                        status == NOD_E_USAGE ? STR("The parameter cursor is not one of this list.")
                                              : STR("The store cannot be reached."));
    }
    shown_end(&connected->shown);
}

void credentials_serve(const struct front_request *request, void *data)
{
    struct api_param params[] = { { .name = STR("limit") }, { .name = STR("cursor") } };
    struct connected *connected = connected_begin(request, data);
    int64_t limit = INBOX_PAGE_USUAL;

    if (!connected)
        return;
    struct shown *shown = &connected->shown;
    if (!api_query(request, &shown->arena, params, 2)) {
        shown_end(shown);
        return;
    }
    if (params[0].given &&
        (!str_to_i64(params[0].value, &limit) || limit < 1 || limit > OAUTH_PAGE_MAX)) {
        api_problem(request->exchange, 400, STR("The parameter limit is a number from 1 to 200."));
        shown_end(shown);
        return;
    }
    buf_init(&connected->body, INBOX_REPLY_MAX);
    json_writer_init(&connected->w, &connected->body);
    jw_object(&connected->w);
    jw_key(&connected->w, STR("items"));
    jw_array(&connected->w);
    http_release(request->exchange);
    oauth_list(shown->inbox->opts.oauth, whose(&shown->viewer), params[1].value, (size_t)limit,
               write_account, listed, connected);
}

/* --- disconnecting --- */

static void revoked(void *data, nod_status status)
{
    struct connected *connected = data;
    struct http_exchange *exchange = connected->shown.exchange;

    if (exchange && status == NOD_OK)
        http_reply(exchange, 204, NULL, 0, STR_NONE);
    else if (exchange)
        api_problem(exchange, status == NOD_E_NOT_FOUND ? 404 : 503,
                    status == NOD_E_NOT_FOUND
                        ? STR("There is no such connected account.")
                        : STR("The store cannot be reached. The account may still be connected."));
    shown_end(&connected->shown);
}

void credentials_serve_revoke(const struct front_request *request, void *data)
{
    struct connected *connected = connected_begin(request, data);

    if (!connected)
        return;
    struct shown *shown = &connected->shown;
    struct str id = arena_str(&shown->arena, front_var(request, STR("id")));
    http_release(request->exchange);
    oauth_revoke(shown->inbox->opts.oauth, id, whose(&shown->viewer), revoked, connected);
}
