/*
 * front/admit: decides about a request when its head has arrived.
 *
 * In this order: may it come from there (Host, Origin), is it a browser that asks for a service
 * worker, is the name in Host ours alone, does the path exist, is it a preflight request (which
 * never carries a token), who is it (a bearer token, the cookie of a sign-in, or the local user on
 * loopback and on a Unix socket), does the path have the method, may this principal use it. Nothing
 * of the body has been read by then, and for requests that are refused nothing of it is kept.
 */
#include "base/log.h"
#include "front/front_inside.h"
#include "front/signin.h"
#include "json/write.h"
#include "net/http1.h"

const struct principal admit_local_user = { .name = STR_INIT("local"), .roles = ROLES_ALL };
const struct principal admit_by_link = { .name = STR_INIT("local"), .roles = ROLE_ANSWER };

/* --- answers --- */

static enum http_verdict answer(struct http_ruling *ruling, int status, struct str name,
                                struct str value)
{
    ruling->status = status;
    if (name.len)
        ruling->headers[ruling->header_count++] = (struct http_header){ name, value };
    return HTTP_ANSWER;
}

static bool is_read(const struct http_request *http)
{
    return str_eq(http->method, STR("GET")) || str_eq(http->method, STR("HEAD"));
}

static bool is_inbox(const struct route *path)
{
    return path && (path->credential || path->cookie || path->page);
}

/* Does somebody look with a browser, where a page can be drawn? */
static bool wants_page(const struct front *front, const struct http_request *http,
                       const struct route *path)
{
    return front->refusal_draw && is_read(http) && (!path || (is_inbox(path) && !path->refused)) &&
           str_find(http_named(http, HTTP_NAME_ACCEPT), STR("text/html")) >= 0;
}

/* What the API of the inbox does not have. */
static bool is_unknown_api(const struct http_request *http, const struct route *path)
{
    return !path && str_starts(http->path, STR("/api/"));
}

/* Programs are answered in JSON; people, where no page can be drawn, in plain text. */
static bool wants_text(const struct http_request *http, const struct route *path)
{
    struct str accept = http_named(http, HTTP_NAME_ACCEPT);

    if (str_find(accept, STR("text/html")) >= 0 || str_find(accept, STR("text/plain")) >= 0)
        return true;
    return !path && !is_unknown_api(http, path) && str_find(accept, STR("json")) < 0;
}

enum http_verdict admit_refuse(struct front *front, const struct http_request *http,
                               const struct route *path, struct http_ruling *ruling, int status,
                               struct str why)
{
    bool own = path && path->refused;
    bool problem = is_inbox(path) || is_unknown_api(http, path);
    struct str type = problem ? FRONT_PROBLEM_TYPE : STR("application/json");

    buf_clear(&front->refusal);
    if (wants_page(front, http, path)) {
        type = STR("text/html; charset=utf-8");
        ruling->lines = page_lines;
        front->refusal_draw(front->refusal_data, &front->refusal, status, why);
    } else if (wants_text(http, path)) {
        type = STR("text/plain; charset=utf-8");
        buf_add(&front->refusal, why);
        buf_add_char(&front->refusal, '\n');
    } else if (own) {
        path->refused(&front->refusal, status, why);
    } else if (problem) {
        front_problem(&front->refusal, status, why);
    } else {
        struct json_writer w;
        json_writer_init(&w, &front->refusal);
        jw_object(&w);
        jw_key_str(&w, STR("error"), why);
        jw_end(&w);
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
    enum http_verdict verdict = admit_refuse(front, http, path, ruling, status, buf_str(&text));
    buf_finish(&text);
    return verdict;
}

enum http_verdict admit_no_credential(struct front *front, const struct http_request *http,
                                      const struct route *path, struct http_ruling *ruling,
                                      struct str why)
{
    answer(ruling, 401, STR("WWW-Authenticate"), STR("Bearer realm=\"nod\""));
    return admit_refuse(front, http, path, ruling, 401, why);
}

enum http_verdict admit_unknown_token(struct front *front, const struct http_request *http,
                                      const struct route *path, struct http_ruling *ruling)
{
    answer(ruling, 401, STR("WWW-Authenticate"),
           STR("Bearer realm=\"nod\", error=\"invalid_token\""));
    return admit_refuse(front, http, path, ruling, 401,
                        STR("This token is not one that the server knows; the operator keeps them "
                            "in the token file."));
}

static enum http_verdict unauthorized(struct front *front, const struct http_request *http,
                                      const struct route *path, struct http_ruling *ruling)
{
    struct buf why;

    buf_init(&why, FRONT_REFUSAL_MAX / 4);
    if (!is_inbox(path))
        buf_add(&why, STR("This needs a token: send the header \"Authorization: Bearer TOKEN\", "
                          "with one from the operator's token file."));
    else if (front->opts.tokens)
        buf_add(&why, STR("This needs a token from the operator's token file (the header "
                          "\"Authorization: Bearer TOKEN\"), or a sign-in."));
    else
        buf_fmt(&why,
                "This needs a sign-in: open the link that the server has logged; " STR_FMT ".",
                STR_ARG(front_way_in(front)));
    enum http_verdict verdict = admit_no_credential(front, http, path, ruling, buf_str(&why));
    buf_finish(&why);
    return verdict;
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

void front_problem(struct buf *body, int status, struct str why)
{
    struct json_writer w;

    json_writer_init(&w, body);
    jw_object(&w);
    jw_key_str(&w, STR("type"), STR("about:blank"));
    jw_key_str(&w, STR("title"), str_of(http1_reason(status)));
    jw_key_i64(&w, STR("status"), status);
    jw_key_str(&w, STR("detail"), why);
    jw_end(&w);
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

struct str admit_bearer(const struct http_request *http)
{
    struct str scheme, token;

    if (!str_cut(http_named(http, HTTP_NAME_AUTHORIZATION), ' ', &scheme, &token) ||
        !str_eq_nocase(scheme, STR("Bearer")))
        return STR_NONE;
    return str_trim(token);
}

/* HTTP_TRUST with the principal of the token, or 401. */
static enum http_verdict by_token(struct front *front, const struct http_request *http,
                                  const struct route *path, struct http_ruling *ruling)
{
    struct str token = admit_bearer(http);

    if (!front->opts.tokens || !token.len)
        return unauthorized(front, http, path, ruling);
    const struct principal *owner = tokens_find(front->opts.tokens, token);
    if (!owner) {
        log_refused(front, http, "token refused");
        ruling->mark.wait_ms = slow_failed(front, http);
        if (!ruling->mark.wait_ms)
            return admit_unknown_token(front, http, path, ruling);
        ruling->mark.who = &slow_refused;
        return HTTP_SERVE;
    }
    ruling->mark.who = owner;
    ruling->who = owner->share;
    return HTTP_TRUST;
}

static enum http_verdict by_local_user(struct http_ruling *ruling)
{
    ruling->mark.who = &admit_local_user; /* who has everything, and no share of its own */
    return HTTP_TRUST;
}

/*
 * What the cookie is worth is decided when the request is there (enter.c). Until then it counts as
 * its principal's if the page key says who that is; otherwise without a body as a stranger's, and
 * with one in a share that all such requests have together.
 */
static enum http_verdict by_cookie(struct front *front, const struct http_request *http,
                                   struct http_ruling *ruling)
{
    struct digest digest;

    digest_of(cookie_page_key(http), &digest);
    struct signin *signin = signin_known(front, &digest);
    const struct principal *known = signin ? holder_principal(front, &signin->holder) : NULL;
    ruling->mark.who = &enter_by_cookie;
    if (known == &admit_local_user)
        return HTTP_TRUST;
    ruling->who = known ? known->share : enter_by_cookie.share;
    return known || !str_eq(http->method, STR("GET")) ? HTTP_TRUST : HTTP_SERVE;
}

/* Over the Unix socket as our own user, and not by a browser behind a proxy that runs as that
 * user. */
static bool is_own_process(const struct http_request *http)
{
    return http->peer->kind == PEER_LOCAL && http->peer->same_user && !address_is_forwarded(http) &&
           !http_named(http, HTTP_NAME_ORIGIN).len &&
           !http_named(http, HTTP_NAME_SEC_FETCH_SITE).len;
}

/* What is sent from elsewhere has no such leave. Behind a public URL there is a proxy, which may
 * run as our own user. */
static bool link_is_near(struct front *front, const struct http_request *http,
                         const struct route *route)
{
    struct str site = http_named(http, HTTP_NAME_SEC_FETCH_SITE);
    bool elsewhere = str_eq(site, STR("cross-site")) || str_eq(site, STR("same-site"));

    return route->link && !elsewhere && !front->public_url.origin.len &&
           !address_is_forwarded(http) && peer_is_us(http->peer);
}

/* What is sent must come from our own page. */
bool admit_link_ok(struct front *front, const struct http_request *http, const struct route *route)
{
    return (is_read(http) || cookie_origin_ok(front, http)) && link_is_near(front, http, route);
}

/* Loopback is not consent: what can be reached over it is not a person. */
static enum http_verdict by_credential(struct front *front, const struct http_request *http,
                                       const struct route *path, struct http_ruling *ruling)
{
    bool signed_in = path->cookie && front->signins && cookie_has(front, http, NULL);

    if (http_named(http, HTTP_NAME_AUTHORIZATION).len)
        return by_token(front, http, path, ruling);
    if (signed_in)
        return by_cookie(front, http, ruling);
    if (is_own_process(http))
        return by_local_user(ruling);
    if (admit_link_ok(front, http, path)) {
        ruling->mark.who = &admit_by_link;
        return HTTP_TRUST;
    }
    if (!front->opts.tokens && link_is_near(front, http, path) &&
        !http_named(http, HTTP_NAME_ORIGIN).len)
        return admit_no_credential(front, http, path, ruling,
                                   STR("The header Origin is missing: what is submitted with the "
                                       "link alone must say that it comes from this very page. "
                                       "Send it with the address of this server, or sign in."));
    return unauthorized(front, http, path, ruling);
}

static enum http_verdict authenticate(struct front *front, const struct http_request *http,
                                      const struct route *path, struct http_ruling *ruling)
{
    if (path->credential || path->cookie)
        return by_credential(front, http, path, ruling);
    if (is_local(front, http) &&
        (!front->opts.tokens || !http_named(http, HTTP_NAME_AUTHORIZATION).len))
        return by_local_user(ruling);
    return by_token(front, http, path, ruling);
}

static bool may(const struct route *route, const struct http_ruling *ruling)
{
    const struct principal *principal = ruling->mark.who;

    return principal == &enter_by_cookie ||
           (principal && roles_include(principal->roles, route->who));
}

enum http_verdict admit_no_role(struct front *front, const struct http_request *http,
                                const struct route *route, struct http_ruling *ruling)
{
    struct buf why;

    buf_init(&why, FRONT_REFUSAL_MAX / 2);
    buf_add(&why, STR("This token may not do this: it needs the role "));
    for (role_set role = 1; role && role <= route->who; role <<= 1)
        if (route->who & role & ~(role_set)ROLE_ADMIN)
            buf_fmt(&why, STR_FMT " or ", STR_ARG(role_name((enum role)role)));
    buf_add(&why, STR("admin, which the operator gives in the token file."));
    log_refused(front, http, "role refused");
    enum http_verdict verdict = admit_refuse(front, http, route, ruling, 403, buf_str(&why));
    buf_finish(&why);
    return verdict;
}

/* Browsers say which site has sent a request; what they do not say anything about passes. */
static bool site_ok(const struct route *route, const struct http_request *http)
{
    struct str site = route->fetch_site ? http_named(http, HTTP_NAME_SEC_FETCH_SITE) : STR_NONE;

    return !site.len || str_eq(site, STR("same-origin")) || str_eq(site, STR("none"));
}

static enum http_verdict let_in(struct front *front, const struct http_request *http,
                                const struct routes_found *found, struct http_ruling *ruling)
{
    const struct route *route = found->route ? found->route : found->path;
    enum http_verdict verdict = HTTP_TRUST;

    if (!is_inbox(route) && cors_preflight(front, http, ruling))
        return HTTP_ANSWER;
    if (!site_ok(route, http))
        return admit_refuse(front, http, route, ruling, 403,
                            STR("A page of another site cannot do this; open this server's own "
                                "page."));
    if (found->route && found->route->anyone) {
        ruling->mark.what = found->route;
        return upgrade_asked(front, http, found->route, ruling) ? HTTP_SERVE : HTTP_ANSWER;
    }
    if (found->guarded)
        verdict = authenticate(front, http, route, ruling);
    if (verdict == HTTP_ANSWER)
        return HTTP_ANSWER;
    if (ruling->mark.who == &slow_refused) {
        ruling->mark.what = route;
        return HTTP_SERVE;
    }
    if (!found->route)
        return not_allowed(front, http, ruling, found->path);
    if (!may(found->route, ruling))
        return admit_no_role(front, http, found->route, ruling);
    if (!upgrade_asked(front, http, found->route, ruling))
        return HTTP_ANSWER;
    ruling->mark.what = found->route;
    return verdict;
}

/* Probes name a server by its address. Without tokens the server listens only on loopback, and its
 * names are known. */
static bool host_ok(const struct front *front, const struct http_request *http,
                    const struct route *path)
{
    return (front->opts.tokens && path && path->any_host) ||
           origin_host_ok(&front->origins, http_named(http, HTTP_NAME_HOST));
}

/*
 * A browser takes "localhost" for ::1 or 127.0.0.1. If only one of them is ours, another program
 * can take the other one, and with it what this name has in the browser: the cookie and the
 * storage. So nobody is signed in under that name. TLS tells the two apart, and a program that
 * brings its token keeps nothing. What a proxy passes on says nothing about the name that the
 * browser knows.
 */
static bool is_shared_name(const struct front *front, const struct http_request *http,
                           const struct route *path, int *port)
{
    bool token =
        http_named(http, HTTP_NAME_AUTHORIZATION).len && !http_named(http, HTTP_NAME_ORIGIN).len;

    return is_inbox(path) && !token && http->peer->kind != PEER_LOCAL && !front_has_tls(front) &&
           origin_host_is_localhost(&front->origins, http_named(http, HTTP_NAME_HOST), port) &&
           !listeners_hold_localhost(front, *port) && !front->public_url.origin.len &&
           !address_is_forwarded(http);
}

/* A person is led to the address that the request came to. If the port is forwarded, that is
 * 127.0.0.1: everything that forwards ports has it. */
static enum http_verdict name_address(struct front *front, const struct http_request *http,
                                      const struct route *path, int port,
                                      struct http_ruling *ruling)
{
    bool ours = false;
    struct buf text;

    for (size_t i = 0; i < front->listener_count; i++)
        ours |= front_port(front, i) == port;
    const char *address = ours && http->peer->kind == PEER_IP6 ? "[::1]" : "127.0.0.1";
    if (is_read(http) && str_find(http_named(http, HTTP_NAME_ACCEPT), STR("text/html")) >= 0 &&
        http->path.len + http->query.len < FRONT_REFUSAL_MAX) {
        buf_clear(&front->allowed);
        buf_fmt(&front->allowed, "http://%s:%d" STR_FMT "%s" STR_FMT, address, port,
                STR_ARG(http->path), http->query.len ? "?" : "", STR_ARG(http->query));
        return answer(ruling, 307, STR("Location"), buf_str(&front->allowed));
    }
    buf_init(&text, FRONT_REFUSAL_MAX / 4);
    buf_fmt(&text,
            "As localhost this server could be taken for another program of this machine; use "
            "http://%s:%d instead.",
            address, port);
    enum http_verdict verdict = admit_refuse(front, http, path, ruling, 403, buf_str(&text));
    buf_finish(&text);
    return verdict;
}

enum http_verdict gate_head(const struct http_request *http, struct http_ruling *ruling, void *data)
{
    struct front *front = data;
    struct str origin = http_named(http, HTTP_NAME_ORIGIN);
    struct routes_found found;
    size_t place;
    int port;

    routes_find(front->routes, http->method, http->path, &found);
    bool inbox = is_inbox(found.route ? found.route : found.path);
    ruling->wiped = found.route && found.route->wiped;
    if (inbox)
        ruling->lines = page_lines; /* and pages of other origins are given no leave */
    if (!host_ok(front, http, found.path))
        return admit_refuse(front, http, found.path, ruling, 403,
                            STR("This Host is not allowed; use a loopback name, or allow it with "
                                "--allow-host."));
    if (worker_answer(front, http, ruling))
        return HTTP_ANSWER;
    if (is_shared_name(front, http, found.path, &port))
        return name_address(front, http, found.path, port, ruling);
    if (origin_allowed(&front->origins, origin, &place))
        ruling->lines = inbox ? page_lines : front->origin_lines[place];
    else if (!origin_ok(&front->origins, origin))
        return admit_refuse(front, http, found.path, ruling, 403,
                            STR("This Origin is not allowed; allow it with --allow-origin."));
    if (!found.path)
        return refuse_about(front, http, ruling, NULL, 404, STR("There is nothing at this path."));
    return let_in(front, http, &found, ruling);
}
