/*
 * front/enter: requests that come with the cookie of a sign-in.
 *
 * Who it is may have to be asked of the store, so it is decided here, after the head was let
 * through (admit.c), and before the handler is called. A change needs our Origin and the text of
 * front_csrf, which a page of somebody else can neither send nor read.
 *
 * Holds always: a handler is called with a sign-in that is live, whose token is in the token file,
 * and that has one of the roles of the route.
 */
#include "front/signin.h"

const struct principal enter_by_cookie = { .name = STR_INIT("(signing in)") };

static bool is_change(const struct http_request *http)
{
    return !str_eq(http->method, STR("GET")) && !str_eq(http->method, STR("HEAD"));
}

static void refuse(struct front *front, struct http_exchange *exchange,
                   const struct http_request *http, const struct route *route, int status,
                   struct str why)
{
    struct http_ruling ruling = { 0 };

    if (status == 401)
        admit_no_credential(front, http, route, &ruling, why);
    else
        admit_refuse(front, http, route, &ruling, status, why);
    slow_answer(front, exchange, http, &ruling, status == 401 ? slow_failed(front, http) : 0);
}

/* It is known who it is: may they do this? */
static void enter_as(struct front *front, struct http_exchange *exchange,
                     const struct http_request *http, struct signin *signin, struct str secret)
{
    const struct route *route = http->mark.what;
    const struct principal *principal = holder_principal(front, &signin->holder);
    char csrf[CSRF_LEN];
    struct front_request request = { .front = front,
                                     .exchange = exchange,
                                     .http = http,
                                     .principal = principal->name,
                                     .roles = principal->roles,
                                     .session = signin,
                                     .csrf = str_n(csrf, CSRF_LEN) };

    csrf_of(secret, csrf);
    if (is_change(http) && !cookie_origin_ok(front, http)) {
        refuse(front, exchange, http, route, 403,
               STR("This did not come from a page of this server: its Origin is missing, or "
                   "another."));
        return;
    }
    if (is_change(http) && !secret_eq(http_header(http, STR("X-CSRF-Token")), request.csrf)) {
        refuse(front, exchange, http, route, 403,
               STR("The header X-CSRF-Token is missing or wrong; /api/me says what it has to be."));
        return;
    }
    if (!roles_include(principal->roles, route->who)) {
        struct http_ruling ruling = { 0 };
        admit_no_role(front, http, route, &ruling);
        http_reply(exchange, ruling.status, ruling.headers, ruling.header_count, ruling.body);
        return;
    }
    if (!http_trust(exchange, principal == &admit_local_user ? STR_NONE : principal->name)) {
        refuse(front, exchange, http, route, 429,
               STR("You have too many connections open; try again later."));
        return;
    }
    signin_use(front, signin);
    front_hand(&request, route);
}

static void enter_from(struct front *front, struct http_exchange *exchange,
                       const struct http_request *http, size_t which);

/* The sign-in has ended, but this route needs none. */
static void enter_by_link(struct front *front, struct http_exchange *exchange,
                          const struct http_request *http)
{
    struct front_request request = { .front = front,
                                     .exchange = exchange,
                                     .http = http,
                                     .principal = admit_by_link.name,
                                     .roles = admit_by_link.roles,
                                     .by_link = true };

    if (http_trust(exchange, STR_NONE))
        front_hand(&request, http->mark.what);
}

static void fetched(struct signin_op *op, nod_status status)
{
    struct front *front = op->front;
    struct http_exchange *exchange = op->exchange;
    const struct http_request *http = op->http;
    const struct route *route = op->route;
    size_t which = op->which;
    struct signin *signin =
        status == NOD_OK ? map_get(&front->signins->by_digest, digest_str(&op->digest)) : NULL;

    signin_op_free(op);
    if (!exchange)
        return;
    if (signin)
        enter_as(front, exchange, http, signin, cookie_find(front, http, which));
    else if (status != NOD_E_NOT_FOUND)
        refuse(front, exchange, http, route, 503,
               STR("The store cannot be reached, so it is not known who you are; try again."));
    else if (cookie_find(front, http, which + 1).len)
        enter_from(front, exchange, http, which + 1);
    else if (admit_link_ok(front, http, route))
        enter_by_link(front, exchange, http);
    else
        refuse(front, exchange, http, route, 401, STR("This sign-in has ended; sign in again."));
}

/* By this cookie of the request, or by one of those that follow it. */
static void enter_from(struct front *front, struct http_exchange *exchange,
                       const struct http_request *http, size_t which)
{
    struct str secret = cookie_find(front, http, which);
    struct digest digest;

    digest_of(secret, &digest);
    struct signin *signin = signin_known(front, &digest);
    if (signin) {
        enter_as(front, exchange, http, signin, secret);
        return;
    }
    struct signin_op *op = signin_op_new(front, exchange, http);
    op->route = http->mark.what;
    op->which = which;
    op->digest = digest;
    op->done = fetched;
    signin_fetch(op);
}

void enter(struct front *front, struct http_exchange *exchange, const struct http_request *http)
{
    enter_from(front, exchange, http, 0);
}
