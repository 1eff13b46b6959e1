/*
 * front/gate: decides about a request when its head has arrived.
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
static enum http_verdict forbid(struct front *front, struct http_ruling *ruling,
                                const struct route *path, struct str why)
{
    struct str type = path && path->refused_type.len ? path->refused_type : STR("application/json");

    buf_clear(&front->refusal);
    if (path && path->refused)
        path->refused(&front->refusal, why);
    else
        write_refusal(&front->refusal, why);
    ruling->body = buf_str(&front->refusal);
    return answer(ruling, 403, STR("Content-Type"), type);
}

static enum http_verdict unauthorized(struct http_ruling *ruling, bool given)
{
    return answer(ruling, 401, STR("WWW-Authenticate"),
                  given ? STR("Bearer realm=\"nod\", error=\"invalid_token\"")
                        : STR("Bearer realm=\"nod\""));
}

static enum http_verdict not_allowed(struct front *front, struct http_ruling *ruling,
                                     struct str path)
{
    routes_allow(front->routes, path, &front->allowed);
    return answer(ruling, 405, STR("Allow"), buf_str(&front->allowed));
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
                                      struct http_ruling *ruling)
{
    const struct tokens *tokens = front->opts.tokens;
    struct str header = http_named(http, HTTP_NAME_AUTHORIZATION), scheme, token;

    if (is_local(front, http) && (!tokens || !header.len)) {
        ruling->mark.who = &local_user; /* the local user has everything, and no share of its own */
        return HTTP_TRUST;
    }
    if (!tokens || !str_cut(header, ' ', &scheme, &token) || !str_eq_nocase(scheme, STR("Bearer")))
        return unauthorized(ruling, false);
    const struct principal *owner = tokens_find(tokens, str_trim(token));
    if (!owner) {
        log_refused(front, http, "token refused");
        return unauthorized(ruling, true);
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
    enum http_verdict verdict = forbid(front, ruling, route, buf_str(&why));
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
    if (found->guarded && authenticate(front, http, ruling) == HTTP_ANSWER)
        return HTTP_ANSWER;
    if (!found->route)
        return not_allowed(front, ruling, http->path);
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
        return forbid(front, ruling, found.path,
                      STR("This Host is not allowed; use a loopback name, or allow it in the "
                          "server's settings."));
    if (origin_allowed(&front->origins, origin, &place))
        ruling->lines = front->origin_lines[place];
    else if (!origin_ok(&front->origins, origin))
        return forbid(front, ruling, found.path,
                      STR("This Origin is not allowed; allow it in the server's settings."));
    if (!found.path)
        return answer(ruling, 404, STR_NONE, STR_NONE);
    return let_in(front, http, &found, ruling);
}
