/*
 * front/enter: requests that come with the cookie of a sign-in.
 *
 * The page key that is sent with the cookie says which sign-in it is, and that a page of ours sends
 * it (cookie.c). Who it is may have to be asked of the store, so it is decided here, after the head
 * was let through (admit.c), and before the handler is called. A change needs our Origin, too.
 *
 * Holds always: a handler is called with a sign-in that is live, both halves of which were sent,
 * whose token is in the token file, and that has one of the roles of the route.
 */
#include "front/signin.h"

#include "core/store.h"

const struct principal enter_by_cookie = { .name = STR_INIT("(signing in)"),
                                           .share = STR_INIT("(signing in)") };

static void refuse(struct front *front, struct http_exchange *exchange,
                   const struct http_request *http, int status, struct str why)
{
    const struct route *route = http->mark.what;
    struct http_ruling ruling = { 0 };

    if (status == 401)
        admit_no_credential(front, http, route, &ruling, why);
    else
        admit_refuse(front, http, route, &ruling, status, why);
    slow_answer(front, exchange, http, &ruling, status == 401 ? slow_failed(front, http) : 0);
}

/* It is known who it is: may they do this? */
static void enter_as(struct front *front, struct http_exchange *exchange,
                     const struct http_request *http, struct signin *signin)
{
    const struct route *route = http->mark.what;
    const struct principal *principal = holder_principal(front, &signin->holder);
    struct front_request request = { .front = front,
                                     .exchange = exchange,
                                     .http = http,
                                     .principal = principal->name,
                                     .roles = principal->roles,
                                     .session = signin };

    if (!str_eq(http->method, STR("GET")) && !str_eq(http->method, STR("HEAD")) &&
        !cookie_origin_ok(front, http)) {
        refuse(front, exchange, http, 403,
               STR("This did not come from a page of this server: its Origin is missing, or "
                   "another."));
        return;
    }
    if (!roles_include(principal->roles, route->who)) {
        struct http_ruling ruling = { 0 };
        admit_no_role(front, http, route, &ruling);
        http_reply(exchange, ruling.status, ruling.headers, ruling.header_count, ruling.body);
        return;
    }
    if (!http_trust(exchange, principal->share)) {
        refuse(front, exchange, http, 429,
               STR("You have too many connections open; try again later."));
        return;
    }
    signin_use(front, signin);
    front_hand(&request, route);
}

/* There is no sign-in, but this route may need none. */
static void enter_without(struct front *front, struct http_exchange *exchange,
                          const struct http_request *http, int status, struct str why)
{
    struct front_request request = { .front = front,
                                     .exchange = exchange,
                                     .http = http,
                                     .principal = admit_by_link.name,
                                     .roles = admit_by_link.roles,
                                     .by_link = true,
                                     .half = status == 403 };

    if (!admit_link_ok(front, http, http->mark.what))
        refuse(front, exchange, http, status, why);
    else if (!http_trust(exchange, STR_NONE))
        refuse(front, exchange, http, 429,
               STR("There are too many connections open; try again later."));
    else
        front_hand(&request, http->mark.what);
}

/* The one that the page key has led to; NULL: none. */
static void enter_by_key(struct front *front, struct http_exchange *exchange,
                         const struct http_request *http, struct signin *signin)
{
    if (signin && cookie_has(front, http, &signin->cookie))
        enter_as(front, exchange, http, signin);
    else
        enter_without(front, exchange, http, 401, STR("This sign-in has ended; sign in again."));
}

static void fetched(struct signin_op *op, nod_status status)
{
    struct front *front = op->front;
    struct http_exchange *exchange = op->exchange;
    const struct http_request *http = op->http;
    struct signin *signin =
        status == NOD_OK ? map_get(&front->signins->by_digest, digest_str(&op->digest)) : NULL;

    signin_op_free(op);
    if (!exchange)
        return;
    if (!signin && status != NOD_E_NOT_FOUND)
        refuse(front, exchange, http, 503,
               STR(STORE_AWAY ", so it is not known who you are; try again."));
    else
        enter_by_key(front, exchange, http, signin);
}

void enter(struct front *front, struct http_exchange *exchange, const struct http_request *http)
{
    struct str key = cookie_page_key(http);
    struct digest digest;

    if (!key.len) {
        enter_without(front, exchange, http, 403, FRONT_HALF);
        return;
    }
    digest_of(key, &digest);
    struct signin *signin = signin_known(front, &digest);
    if (signin) {
        enter_by_key(front, exchange, http, signin);
        return;
    }
    struct signin_op *op = signin_op_new(front, exchange, http);
    op->digest = digest;
    op->done = fetched;
    signin_fetch(op);
}
