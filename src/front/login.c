/*
 * front/login: signing in and out.
 *
 *     GET  /login/{link}     a one-time link: a page that says whose sign-in it is, with a button
 *     POST /login/{link}     of that page: uses the link, and signs in
 *     POST /api/login        with a token as bearer: signs in
 *     POST /api/login-link   makes a one-time link: with a token as bearer, or as the server's own
 *                            user over the Unix socket
 *     POST /api/logout       ends the sign-in
 *
 * Whoever signs in is given both halves of the sign-in (cookie.c): the cookie, and in the body of
 * the reply, this once, the page key. To open a link signs nobody in and uses nothing up: whoever
 * has a token can make one and put it where another person's browser opens it, so that person is
 * asked first. The page may not be in a frame, and is no picture: it is opened as a document.
 *
 * A program that had this address before may have left pages in the browser's cache. The reply that
 * signs in takes them out (Clear-Site-Data), before the browser goes on to one of them. It takes
 * out nothing else: the cookie, and what our pages have stored, stay.
 */
#include "core/store.h"
#include "front/signin.h"

enum { LOGIN_TEXT_MAX = 8 << 10 }; /* bytes of a reply, with its headers */

/* The exchange is not the operation's any more. */
static void reply_ruled(struct signin_op *op, const struct http_ruling *ruling, int64_t wait_ms)
{
    struct http_exchange *exchange = op->exchange;

    http_on_gone(exchange, NULL, NULL);
    op->exchange = NULL;
    slow_answer(op->front, exchange, op->http, ruling, wait_ms);
}

static void reply_problem(struct signin_op *op, int status, struct str why)
{
    struct http_ruling ruling = { 0 };

    admit_refuse(op->front, op->http, op->route, &ruling, status, why);
    reply_ruled(op, &ruling, 0);
}

static void reply_store_away(struct signin_op *op, nod_status status)
{
    if (status == NOD_E_LIMIT)
        reply_problem(op, 429, STR("The store has no room for one more; try again later."));
    else
        reply_problem(op, 503, STR(STORE_AWAY "; try again."));
}

/* Whose a sign-in or link is to be that this request makes. */
static void holder_of(const struct front_request *request, struct holder *holder)
{
    struct str token = admit_bearer(request->http);
    struct digest digest;

    digest_of(token, &digest);
    holder_set(holder, token.len ? HOLDER_TOKEN : HOLDER_LOCAL, &digest, request->principal);
}

static struct signin_op *begin(const struct front_request *request, const struct route *route)
{
    struct signin_op *op = signin_op_new(request->front, request->exchange, request->http);

    op->route = route;
    return op;
}

struct str front_way_in(const struct front *front)
{
    if (front_has_tokens(front))
        return STR("sign in with a token, or with a link that `nod login` makes with one");
    if (front_socket(front).len)
        return STR(
            "`nod login unix:PATH`, over the server's Unix socket and as its own user, makes "
            "a new one");
    if (front->opts.links_on_hangup)
        return STR("the server logs a new one whenever it is sent SIGHUP");
    return STR(
        "the server logs one when it starts, and no other; if it also listens on a Unix socket, "
        "`nod login unix:PATH` makes a new one");
}

/* --- /login/{link} --- */

static void say_in(struct signin_op *op, nod_status status)
{
    struct arena arena;
    struct buf body;

    if (op->exchange && status != NOD_OK)
        reply_store_away(op, status);
    if (op->exchange) {
        arena_init(&arena, LOGIN_TEXT_MAX);
        buf_init(&body, LOGIN_TEXT_MAX);
        const struct http_header headers[] = {
            { STR("Set-Cookie"), cookie_line(op->front, id_str(&op->cookie), &arena) },
            { STR("Content-Type"), STR("application/json") },
            { STR("Clear-Site-Data"), STR("\"cache\"") },
        };
        const struct principal *principal = holder_principal(op->front, &op->holder);
        struct json_writer w;
        json_writer_init(&w, &body);
        jw_object(&w);
        jw_key_str(&w, STR("key"), id_str(&op->secret));
        jw_key_str(&w, STR("principal"), principal ? principal->name : STR_NONE);
        jw_end(&w);
        http_reply(op->exchange, 200, headers, 3, buf_str(&body));
        buf_finish(&body);
        arena_finish(&arena);
        op->exchange = NULL;
    }
    signin_op_free(op);
}

/* A person is led to the page where they can sign in, which says why (`word`). What is not known
 * counts as an attempt; a link that was used was not guessed. */
static void reply_no_link(struct signin_op *op, int status, struct str word, const char *why)
{
    int64_t wait_ms = status == 404 ? slow_failed(op->front, op->http) : 0;
    struct http_ruling ruling = { .status = 303, .header_count = 1 };
    struct arena arena;

    arena_init(&arena, LOGIN_TEXT_MAX);
    ruling.headers[0] =
        (struct http_header){ STR("Location"),
                              arena_fmt(&arena, STR_FMT "/login?link=" STR_FMT,
                                        STR_ARG(op->front->public_url.path), STR_ARG(word)) };
    if (str_find(http_named(op->http, HTTP_NAME_ACCEPT), STR("text/html")) < 0) {
        ruling = (struct http_ruling){ 0 };
        admit_refuse(op->front, op->http, op->route, &ruling, status,
                     arena_fmt(&arena, "%s; " STR_FMT ".", why, STR_ARG(front_way_in(op->front))));
    }
    reply_ruled(op, &ruling, wait_ms);
    arena_finish(&arena);
}

static void say_no_link(struct signin_op *op, nod_status status)
{
    if (op->exchange && status == NOD_E_STALE)
        reply_no_link(op, 410, STR("used"), "This link was used before, and a link signs in once");
    else if (op->exchange && status == NOD_E_NOT_FOUND)
        reply_no_link(op, 404, STR("unknown"),
                      "There is no such link, or its ten minutes are over");
    else if (op->exchange)
        reply_store_away(op, status);
    signin_op_free(op);
}

static void link_looked(struct signin_op *op, nod_status status)
{
    const struct front *front = op->front;
    struct buf page;

    if (status != NOD_OK || !op->exchange) {
        say_no_link(op, status);
        return;
    }
    buf_init(&page, FRONT_LINK_PAGE_MAX);
    front->link_draw(front->link_data, &page, holder_principal(front, &op->holder)->name);
    const struct http_header type = { STR("Content-Type"), STR("text/html; charset=utf-8") };
    http_reply(op->exchange, 200, &type, 1, buf_str(&page));
    buf_finish(&page);
    op->exchange = NULL;
    signin_op_free(op);
}

static void older_ended(struct signin_op *op, nod_status status)
{
    (void)status; /* if the store has failed, its cookie is gone from the browser all the same */
    signin_op_free(op);
}

/* It ends if the request has its cookie too: the page key alone is half of it, and ends nothing. */
static void older_looked(struct signin_op *older, nod_status status)
{
    struct signin_op *op = older->data;
    const struct signin *signin =
        status == NOD_OK ? signin_known(older->front, &older->digest) : NULL;

    if (signin && op->exchange && cookie_has(op->front, op->http, &signin->cookie)) {
        older->done = older_ended;
        signin_remove(older);
    } else {
        signin_op_free(older);
    }
    say_in(op, NOD_OK);
}

/* Whoever was signed in before is signed out now, and not if the link cannot be used. */
static void say_in_instead(struct signin_op *op, nod_status status)
{
    struct str key = op->exchange ? cookie_page_key(op->http) : STR_NONE;

    if (status != NOD_OK || !key.len) {
        say_in(op, status);
        return;
    }
    struct signin_op *older = signin_op_new(op->front, NULL, NULL);
    digest_of(key, &older->digest);
    older->done = older_looked;
    older->data = op;
    signin_fetch(older);
}

static void link_used(struct signin_op *op, nod_status status)
{
    if (status != NOD_OK) {
        say_no_link(op, status);
        return;
    }
    op->done = say_in_instead;
    signin_make(op);
}

static struct signin_op *begin_link(const struct front_request *request)
{
    struct signin_op *op = begin(request, request->http->mark.what);
    struct str link = front_var(request, STR("link"));

    if (link.len == ID_LEN)
        op->secret = id_of(link);
    return op;
}

static void open_link(const struct front_request *request, void *data)
{
    struct signin_op *op = begin_link(request);
    struct str as = http_header(request->http, STR("Sec-Fetch-Dest"));

    (void)data;
    op->done = link_looked;
    if (!as.len || str_eq(as, STR("document"))) {
        signin_link_look(op);
        return;
    }
    reply_problem(op, 403, STR("A link is opened as a page: in no frame, and not as a picture."));
    signin_op_free(op);
}

static void use_link(const struct front_request *request, void *data)
{
    struct signin_op *op = begin_link(request);
    struct str site = http_named(request->http, HTTP_NAME_SEC_FETCH_SITE);

    (void)data;
    op->done = link_used;
    if (cookie_origin_ok(request->front, request->http) &&
        (!site.len || str_eq(site, STR("same-origin")))) {
        signin_link_use(op);
        return;
    }
    reply_problem(op, 403, STR("A link is used by its own page: open it, and press the button."));
    signin_op_free(op);
}

/* --- the API --- */

static void log_in(const struct front_request *request, void *data)
{
    struct signin_op *op = begin(request, request->http->mark.what);

    (void)data;
    holder_of(request, &op->holder);
    op->done = say_in;
    if (op->holder.kind != HOLDER_TOKEN)
        reply_problem(op, 400,
                      STR("Send the token that you sign in with as \"Authorization: Bearer "
                          "TOKEN\"."));
    else if (!signin_may_make(request->front, &op->holder))
        reply_problem(op, 429, STR("You have signed in too often; try again in a minute."));
    else {
        signin_make(op);
        return;
    }
    signin_op_free(op);
}

static void say_link(struct signin_op *op, nod_status status)
{
    struct arena arena;
    struct json_writer w;
    struct buf body;

    if (op->exchange && status != NOD_OK)
        reply_store_away(op, status);
    if (op->exchange) {
        arena_init(&arena, LOGIN_TEXT_MAX);
        buf_init(&body, LOGIN_TEXT_MAX);
        json_writer_init(&w, &body);
        jw_object(&w);
        jw_key(&w, STR("url"));
        jw_str(&w, front_link(op->front,
                              arena_fmt(&arena, "/login/" STR_FMT, STR_ARG(id_str(&op->secret))),
                              &arena));
        jw_key_i64(&w, STR("seconds"), op->front->signins->times.link_ms / 1000);
        jw_end(&w);
        http_reply_json(op->exchange, 200, buf_str(&body));
        buf_finish(&body);
        arena_finish(&arena);
        op->exchange = NULL;
    }
    signin_op_free(op);
}

static void make_link(const struct front_request *request, void *data)
{
    struct signin_op *op = begin(request, request->http->mark.what);

    (void)data;
    holder_of(request, &op->holder);
    op->done = say_link;
    if (signin_may_make(request->front, &op->holder)) {
        signin_link_make(op);
        return;
    }
    reply_problem(op, 429, STR("You have made too many links; try again in a minute."));
    signin_op_free(op);
}

static void say_out(struct signin_op *op, nod_status status)
{
    struct arena arena;

    if (op->exchange && status != NOD_OK)
        reply_store_away(op, status);
    if (op->exchange) {
        arena_init(&arena, LOGIN_TEXT_MAX);
        const struct http_header header = { STR("Set-Cookie"),
                                            cookie_line(op->front, STR_NONE, &arena) };
        http_reply(op->exchange, 204, &header, 1, STR_NONE);
        arena_finish(&arena);
        op->exchange = NULL;
    }
    signin_op_free(op);
}

static void log_out(const struct front_request *request, void *data)
{
    struct signin_op *op = begin(request, request->http->mark.what);

    (void)data;
    op->done = say_out;
    if (request->session) {
        op->digest = request->session->digest;
        signin_remove(op);
        return;
    }
    reply_problem(op, 400, STR("There is no sign-in to end: a token ends with the token file."));
    signin_op_free(op);
}

/* --- the link of the start --- */

static void say_start(struct signin_op *op, nod_status status)
{
    struct arena arena;
    struct str url = STR_NONE;

    arena_init(&arena, LOGIN_TEXT_MAX);
    if (status == NOD_OK)
        url = front_link(
            op->front, arena_fmt(&arena, "/login/" STR_FMT, STR_ARG(id_str(&op->secret))), &arena);
    op->told(op->data, url);
    arena_finish(&arena);
    signin_op_free(op);
}

void front_start_link(struct front *front, void (*told)(void *data, struct str url), void *data)
{
    struct signin_op *op = signin_op_new(front, NULL, NULL);

    holder_set(&op->holder, HOLDER_START, NULL, admit_local_user.name);
    op->done = say_start;
    op->told = told;
    op->data = data;
    signin_link_make(op);
}

#define BY(what) .who = ROLES_ALL, .what = true, .fetch_site = true
static const struct route routes[] = {
    { STR_INIT("GET"), STR_INIT("/login/{link}"), .anyone = true, .page = true,
      .handle = open_link },
    { STR_INIT("POST"), STR_INIT("/login/{link}"), .anyone = true, .page = true,
      .handle = use_link },
    { STR_INIT("POST"), STR_INIT("/api/login"), BY(credential), .handle = log_in },
    { STR_INIT("POST"), STR_INIT("/api/login-link"), BY(credential), .handle = make_link },
    { STR_INIT("POST"), STR_INIT("/api/logout"), BY(cookie), .handle = log_out },
};
#undef BY

bool login_open(struct front *front)
{
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        if (!front_route(front, &routes[i]))
            return false;
    return true;
}
