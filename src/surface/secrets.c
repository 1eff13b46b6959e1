/*
 * surface/secrets: secrets that people have given, listed by name and deleted.
 *
 *     GET    /api/secrets?limit=&cursor=
 *     DELETE /api/secrets/{id}          an id, or the name of one's own
 *
 * Each sees and deletes its own, and an administrator everybody's. No value is ever shown: there is
 * no function that reads one here (core/secret.h).
 */
#include "core/secret.h"
#include "surface/inbox_inside.h"

struct secrets_request {
    struct shown shown; /* first; its asks are not used */
    struct json_writer w;
    struct buf body;
};

static struct secrets_request *begin(const struct front_request *request, void *data)
{
    return (struct secrets_request *)(void *)shown_begin(data, request,
                                                         sizeof(struct secrets_request));
}

/* Whose secrets the viewer may see; empty: everybody's. */
static struct str whose(const struct viewer *viewer)
{
    return roles_include(viewer->roles, ROLES_NONE) ? STR_NONE : viewer->principal;
}

static void write_row(void *data, const struct secret_row *row)
{
    struct json_writer *w = &((struct secrets_request *)data)->w;

    jw_object(w);
    jw_key_str(w, STR("id"), row->id);
    jw_key_str(w, STR("name"), row->name);
    jw_key_str(w, STR("principal"), row->principal);
    api_key_time(w, STR("createdAt"), row->at_ms);
    if (row->until_ms) {
        api_key_time(w, STR("expiresAt"), row->until_ms);
    } else {
        jw_key(w, STR("expiresAt"));
        jw_null(w);
    }
    jw_end(w);
}

static void listed(void *data, nod_status status, struct str cursor)
{
    struct secrets_request *work = data;
    struct http_exchange *exchange = work->shown.exchange;
    struct json_writer *w = &work->w;

    if (exchange && status == NOD_OK) {
        jw_end(w);
        jw_key(w, STR("next"));
        if (cursor.len)
            jw_str(w, cursor);
        else
            jw_null(w);
        jw_key(w, STR("lasting"));
        jw_bool(w, engine_secrets_last(work->shown.inbox->opts.engine));
        jw_end(w);
        api_reply(exchange, w, &work->body); /* finishes the body */
    } else {
        buf_finish(&work->body);
        if (exchange)
            api_problem(exchange, status == NOD_E_USAGE ? 400 : 503,
                        status == NOD_E_USAGE ? STR("The parameter cursor is not one of this list.")
                                              : STR("The store cannot be reached."));
    }
    shown_end(&work->shown);
}

void secrets_serve(const struct front_request *request, void *data)
{
    struct api_param params[] = { { .name = STR("limit") }, { .name = STR("cursor") } };
    struct secrets_request *work = begin(request, data);
    int64_t limit = INBOX_PAGE_USUAL;

    if (!work)
        return;
    struct shown *shown = &work->shown;
    if (!api_query(request, &shown->arena, params, 2)) {
        shown_end(shown);
        return;
    }
    if (params[0].given &&
        (!str_to_i64(params[0].value, &limit) || limit < 1 || limit > SECRET_PAGE_MAX)) {
        api_problem(request->exchange, 400, STR("The parameter limit is a number from 1 to 200."));
        shown_end(shown);
        return;
    }
    buf_init(&work->body, INBOX_REPLY_MAX);
    json_writer_init(&work->w, &work->body);
    jw_object(&work->w);
    jw_key(&work->w, STR("items"));
    jw_array(&work->w);
    http_release(request->exchange);
    secrets_list(shown->inbox->opts.engine, whose(&shown->viewer), params[1].value, (size_t)limit,
                 write_row, listed, work);
}

static void deleted(void *data, nod_status status)
{
    struct secrets_request *work = data;
    struct http_exchange *exchange = work->shown.exchange;

    if (exchange && status == NOD_OK)
        http_reply(exchange, 204, NULL, 0, STR_NONE);
    else if (exchange)
        api_problem(exchange, status == NOD_E_STORE ? 503 : 404,
                    status == NOD_E_STORE
                        ? STR("The store cannot be reached. Nothing may have been deleted.")
                        : STR("There is no such secret."));
    shown_end(&work->shown);
}

void secrets_serve_delete(const struct front_request *request, void *data)
{
    struct secrets_request *work = begin(request, data);

    if (!work)
        return;
    struct shown *shown = &work->shown;
    struct str id =
        secret_id(&shown->arena, shown->viewer.principal, front_var(request, STR("id")));
    http_release(request->exchange);
    secret_delete(shown->inbox->opts.engine, id, whose(&shown->viewer), deleted, work);
}
