/*
 * front/admit: decides about a request when its head has arrived.
 *
 * In this order: may it come from there (Host, Origin), does the path exist, is it a preflight
 * request (which never carries a token), who is it (a bearer token, or the local user on loopback
 * and on a Unix socket), does the path have the method, may this principal use it. Nothing of the
 * body has been read by then, and for requests that are refused nothing of it is kept.
 */
#include "base/log.h"
#include "front/front_inside.h"
#include "json/write.h"

static const struct principal local_user = { .name = STR_INIT("local"), .roles = ROLES_ALL };

/* --- answers --- */

static enum http_verdict answer(struct http_ruling *ruling, int status, struct str name,
                                struct str value)
{
    ruling->status = status;
    if (name.len)
        ruling->headers[ruling->header_count++] = (struct http_header){ name, value };
    return HTTP_ANSWER;
}

/* Programs are answered in JSON; people, who look with a browser, in plain text. */
static bool wants_text(const struct http_request *http, const struct route *path)
{
    struct str accept = http_named(http, HTTP_NAME_ACCEPT);

    if (str_find(accept, STR("text/html")) >= 0 || str_find(accept, STR("text/plain")) >= 0)
        return true;
    return !path && str_find(accept, STR("json")) < 0;
}

static void write_refusal(struct buf *body, struct str why)
{
    struct json_writer w;

    json_writer_init(&w, body);
    jw_object(&w);
    jw_key(&w, STR("error"));
    jw_str(&w, why);
    jw_end(&w);
}

/* The route `path` decides how its clients are told; NULL: there is no such path. */
static enum http_verdict refuse(struct front *front, const struct http_request *http,
                                struct http_ruling *ruling, const struct route *path, int status,
                                struct str why)
{
    struct str type = path && path->refused_type.len ? path->refused_type : STR("application/json");

    buf_clear(&front->refusal);
    if (wants_text(http, path)) {
        type = STR("text/plain; charset=utf-8");
        buf_add(&front->refusal, why);
        buf_add_char(&front->refusal, '\n');
    } else if (path && path->refused) {
        path->refused(&front->refusal, status, why);
    } else {
        write_refusal(&front->refusal, why);
    }
    ruling->body = buf_str(&front->refusal);
    return answer(ruling, status, STR("Content-Type"), type);
}

/* The sentence, and behind it what is here. */
static enum http_verdict refuse_about(struct front *front, const struct http_request *http,
                                      struct http_ruling *ruling, const struct route *path,
                                      int status, struct str why)
{
    struct buf text;

    buf_init(&text, FRONT_REFUSAL_MAX / 2);
    buf_add(&text, why);
    if (front->about.len)
        buf_fmt(&text, " " STR_FMT, STR_ARG(front->about));
    enum http_verdict verdict = refuse(front, http, ruling, path, status, buf_str(&text));
    buf_finish(&text);
    return verdict;
}

static enum http_verdict unauthorized(struct front *front, const struct http_request *http,
                                      struct http_ruling *ruling, const struct route *path,
                                      bool given)
{
    answer(ruling, 401, STR("WWW-Authenticate"),
           given ? STR("Bearer realm=\"nod\", error=\"invalid_token\"")
                 : STR("Bearer realm=\"nod\""));
    return refuse(front, http, ruling, path, 401,
                  given
                      ? STR("This token is not one that the server knows; the operator keeps them "
                            "in the token file.")
                      : STR("This needs a token: send the header \"Authorization: Bearer TOKEN\", "
                            "with one from the operator's token file."));
}

static enum http_verdict not_allowed(struct front *front, const struct http_request *http,
                                     struct http_ruling *ruling, const struct route *path)
{
    struct buf why;

    routes_allow(front->routes, http->path, &front->allowed);
    answer(ruling, 405, STR("Allow"), buf_str(&front->allowed));
    buf_init(&why, FRONT_REFUSAL_MAX / 4);
    buf_fmt(&why, "This path takes " STR_FMT " only.", STR_ARG(buf_str(&front->allowed)));
    enum http_verdict verdict = refuse_about(front, http, ruling, path, 405, buf_str(&why));
    buf_finish(&why);
    return verdict;
}

/* --- who --- */

static void log_refused(const struct front *front, const struct http_request *http,
                        const char *event)
{
    char text[PEER_TEXT_MAX];
    struct peer client;

    if (!log_enabled(LOG_LEVEL_DEBUG))
        return;
    address_of(front->proxies, front->proxy_count, http, &client);
    LOG_DEBUG(event, LOG_STR("address", peer_text(&client, text)));
}

/* Without tokens the server listens only on loopback, so a client over TCP is the local user. File
 * permissions decide who may open a Unix socket; what counts is the user of the client's process. A
 * proxy that passes requests on is not the local user, even if it runs as the same user. */
static bool is_local(const struct front *front, const struct http_request *http)
{
    if (http->peer->kind != PEER_LOCAL)
        return !front->opts.tokens;
    return http->peer->same_user && (!front->opts.tokens || !address_is_forwarded(http));
}

/* HTTP_TRUST with the principal of the token, or 401. */
static enum http_verdict authenticate(struct front *front, const struct http_request *http,
                                      const struct route *path, struct http_ruling *ruling)
{
    const struct tokens *tokens = front->opts.tokens;
    struct str header = http_named(http, HTTP_NAME_AUTHORIZATION), scheme, token;

    if (is_local(front, http) && (!tokens || !header.len)) {
        ruling->mark.who = &local_user; /* the local user has everything, and no share of its own */
        return HTTP_TRUST;
    }
    if (!tokens || !str_cut(header, ' ', &scheme, &token) || !str_eq_nocase(scheme, STR("Bearer")))
        return unauthorized(front, http, ruling, path, false);
    const struct principal *owner = tokens_find(tokens, str_trim(token));
    if (!owner) {
        log_refused(front, http, "token refused");
        return unauthorized(front, http, ruling, path, true);
    }
    ruling->mark.who = owner;
    ruling->who = owner->name;
    return HTTP_TRUST;
}

static bool may(const struct route *route, const struct http_ruling *ruling)
{
    const struct principal *principal = ruling->mark.who;

    return principal && roles_include(principal->roles, route->who);
}

static enum http_verdict forbid_role(struct front *front, const struct http_request *http,
                                     struct http_ruling *ruling, const struct route *route)
{
    struct buf why;

    buf_init(&why, FRONT_REFUSAL_MAX / 2);
    buf_add(&why, STR("This token may not do this: it needs the role "));
    for (role_set role = 1; role && role <= route->who; role <<= 1)
        if (route->who & role & ~(role_set)ROLE_ADMIN)
            buf_fmt(&why, STR_FMT " or ", STR_ARG(role_name((enum role)role)));
    buf_add(&why, STR("admin, which the operator gives in the token file."));
    log_refused(front, http, "role refused");
    enum http_verdict verdict = refuse(front, http, ruling, route, 403, buf_str(&why));
    buf_finish(&why);
    return verdict;
}

static enum http_verdict let_in(struct front *front, const struct http_request *http,
                                const struct routes_found *found, struct http_ruling *ruling)
{
    if (cors_preflight(front, http, ruling))
        return HTTP_ANSWER;
    if (found->route && found->route->anyone) {
        ruling->mark.what = found->route;
        return HTTP_SERVE;
    }
    if (found->guarded && authenticate(front, http, found->path, ruling) == HTTP_ANSWER)
        return HTTP_ANSWER;
    if (!found->route)
        return not_allowed(front, http, ruling, found->path);
    if (!may(found->route, ruling))
        return forbid_role(front, http, ruling, found->route);
    ruling->mark.what = found->route;
    return HTTP_TRUST;
}

/* Probes name a server by its address. Without tokens the server listens only on loopback, and its
 * names are known. */
static bool host_ok(const struct front *front, const struct http_request *http,
                    const struct route *path)
{
    return (front->opts.tokens && path && path->any_host) ||
           origin_host_ok(&front->origins, http_named(http, HTTP_NAME_HOST));
}

enum http_verdict gate_head(const struct http_request *http, struct http_ruling *ruling, void *data)
{
    struct front *front = data;
    struct str origin = http_named(http, HTTP_NAME_ORIGIN);
    struct routes_found found;
    size_t place;

    routes_find(front->routes, http->method, http->path, &found);
    if (!host_ok(front, http, found.path))
        return refuse(front, http, ruling, found.path, 403,
                      STR("This Host is not allowed; use a loopback name, or allow it with "
                          "--allow-host."));
    if (origin_allowed(&front->origins, origin, &place))
        ruling->lines = front->origin_lines[place];
    else if (!origin_ok(&front->origins, origin))
        return refuse(front, http, ruling, found.path, 403,
                      STR("This Origin is not allowed; allow it with --allow-origin."));
    if (!found.path)
        return refuse_about(front, http, ruling, NULL, 404, STR("There is nothing at this path."));
    return let_in(front, http, &found, ruling);
}
