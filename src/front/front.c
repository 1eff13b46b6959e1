/*
 * front: see front.h.
 *
 * One HTTP server takes the connections of all listeners. So the shares of strangers and principals
 * (net/http_share) are counted over all of them.
 *
 * Holds always: a request that reaches a handler has passed the gate. Its mark says by which route,
 * and for which principal.
 */
#include <sys/resource.h>

#include "base/log.h"
#include "base/mem.h"
#include "front/front_inside.h"
#include "front/signin.h"

struct str front_var(const struct front_request *request, struct str name)
{
    for (size_t i = 0; i < request->vars.count; i++)
        if (str_eq(request->vars.at[i].name, name))
            return request->vars.at[i].value;
    return STR_NONE;
}

void front_hand(struct front_request *request, const struct route *route)
{
    if (routes_vars(route, request->http->path, &request->front->path, &request->vars))
        route->handle(request, route->data);
    else
        http_reply(request->exchange, 400, NULL, 0,
                   STR("the path is not percent-encoded correctly\n"));
}

static void on_request(struct http_exchange *exchange, const struct http_request *http, void *data)
{
    struct front *front = data;
    const struct principal *principal = http->mark.who;
    struct front_request request = { .front = front, .exchange = exchange, .http = http };

    if (principal == &enter_by_cookie) {
        enter(front, exchange, http);
        return;
    }
    if (principal == &slow_refused) {
        struct http_ruling ruling = { 0 };
        admit_unknown_token(front, http, http->mark.what, &ruling);
        slow_answer(front, exchange, http, &ruling, http->mark.wait_ms);
        return;
    }
    if (principal) {
        request.principal = principal->name;
        request.roles = principal->roles;
        request.by_link = principal == &admit_by_link;
    }
    front_hand(&request, http->mark.what);
}

bool front_sign_in(struct front *front, const struct front_signin_opts *opts)
{
    return signins_open(front, opts);
}

void front_refuse_with(struct front *front,
                       void (*draw)(void *data, struct buf *body, int status, struct str why),
                       void *data)
{
    front->refusal_draw = draw;
    front->refusal_data = data;
}

void front_links_with(struct front *front,
                      void (*draw)(void *data, struct buf *body, struct str whose), void *data)
{
    front->link_draw = draw;
    front->link_data = data;
}

void front_about(struct front *front, struct str about)
{
    front->about = about;
}

/* --- making one --- */

/* File descriptors run out first: some are kept for the store, files and everything else. */
static size_t connections_most(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY ||
        files.rlim_cur > FRONT_CONNECTIONS_MAX + FRONT_DESCRIPTORS_MIN)
        return FRONT_CONNECTIONS_MAX;
    return files.rlim_cur > 2 * FRONT_DESCRIPTORS_MIN ? files.rlim_cur - FRONT_DESCRIPTORS_MIN
                                                      : FRONT_DESCRIPTORS_MIN;
}

/* With tokens there are strangers, and more than one principal. */
static void limits_of(struct http_limits *limits, bool tokens)
{
    *limits = http_limits_default;
    limits->body_max = FRONT_BODY_MAX;
    limits->connections_max = connections_most();
    if (!tokens)
        return;
    limits->strangers_max = limits->connections_max / FRONT_STRANGERS_PART + 1;
    limits->strangers_memory_max = limits->memory_max / FRONT_STRANGERS_PART;
    limits->stranger_ms = FRONT_STRANGER_MS;
    limits->owner_connections_max = limits->connections_max / FRONT_OWNER_PART + 1;
    limits->owner_memory_max = limits->memory_max / FRONT_OWNER_PART;
}

/* Copies a list, and appends `further` unless it is empty. */
static const struct str *copy_list(struct arena *arena, const char *const *names,
                                   struct str further, size_t *count)
{
    for (*count = 0; names && names[*count];)
        ++*count;
    struct str *copy = arena_alloc(arena, (*count + 1) * sizeof(*copy));
    for (size_t i = 0; copy && i < *count; i++)
        copy[i] = arena_str(arena, str_of(names[i]));
    if (copy && further.len)
        copy[(*count)++] = further;
    if (!copy)
        *count = 0;
    return copy;
}

static bool public_url_open(struct front *front)
{
    const char *given = front->opts.public_url, *why;

    if (!given || public_url_read(str_of(given), &front->texts, &front->public_url, &why))
        return true;
    LOG_ERROR("the public URL cannot be used", LOG_CSTR("url", given), LOG_CSTR("why", why));
    return false;
}

static bool proxies_open(struct front *front)
{
    const char *const *given = front->opts.trusted_proxies;

    for (; given && *given; given++) {
        if (front->proxy_count == FRONT_PROXIES_MAX ||
            !cidr_parse(str_of(*given), &front->proxies[front->proxy_count])) {
            LOG_ERROR("not a proxy that may be trusted; give an address or a net such as "
                      "10.0.0.0/8, whose bits after the prefix are zero",
                      LOG_CSTR("proxy", *given), LOG_INT("most", FRONT_PROXIES_MAX));
            return false;
        }
        front->proxy_count++;
    }
    return true;
}

static bool rules_open(struct front *front)
{
    struct origin_rules *rules = &front->origins;
    const struct front_opts *opts = &front->opts;

    rules->own = front->own;
    rules->hosts =
        copy_list(&front->texts, opts->allowed_hosts, front->public_url.host, &rules->host_count);
    rules->origins = copy_list(&front->texts, opts->allowed_origins, front->public_url.origin,
                               &rules->origin_count);
    return cors_open(front);
}

struct front *front_create(const struct front_opts *opts)
{
    struct front *front = MEM_NEW(struct front);
    struct http_opts http = { .on_head = gate_head, .on_request = on_request, .data = front };

    front->opts = *opts;
    front->routes = routes_create();
    slow_open(front);
    id_random(&front->salt);
    arena_init(&front->texts, FRONT_TEXTS_MAX);
    buf_init(&front->allowed, FRONT_PREFLIGHT_MAX);
    buf_init(&front->refusal, FRONT_REFUSAL_MAX);
    buf_init(&front->path, FRONT_PATH_MAX);
    limits_of(&http.limits, opts->tokens != NULL);
    front->http = http_create(opts->loop, &http);
    if (!public_url_open(front) || !proxies_open(front) || !rules_open(front) ||
        !certificate_open(front) || !health_open(front) || !metrics_open(front)) {
        front_destroy(front);
        return NULL;
    }
    return front;
}

bool front_route(struct front *front, const struct route *route)
{
    const char *why;

    if (routes_add(front->routes, route, &why))
        return true;
    LOG_ERROR("a route cannot be added", LOG_STR("method", route->method),
              LOG_STR("path", route->pattern), LOG_CSTR("why", why));
    return false;
}

void front_credential(const struct front_request *request, struct digest *digest)
{
    const struct signin *signin = request->session;
    struct str token = admit_bearer(request->http);
    const struct str parts[] = { signin ? STR("sign-in") : STR("token"),
                                 signin ? digest_str(&signin->digest) : token };

    digest_of_parts(parts, 2, digest);
}

struct str front_salt(const struct front *front)
{
    return id_str(&front->salt);
}

void front_client(const struct front_request *request, struct peer *client)
{
    const struct front *front = request->front;

    address_of(front->proxies, front->proxy_count, request->http, client);
}

bool front_is_secure(const struct front *front)
{
    return front->public_url.origin.len ? front->public_url.https : front_has_tls(front);
}

bool front_has_tokens(const struct front *front)
{
    return front->opts.tokens != NULL;
}

bool front_has_role(const struct front *front, struct str principal, role_set wanted)
{
    if (str_eq(principal, admit_local_user.name))
        return roles_include(admit_local_user.roles, wanted);
    return front->opts.tokens &&
           roles_include(tokens_roles_of(front->opts.tokens, principal), wanted);
}

/* --- ending --- */

void front_flush(struct front *front)
{
    if (front->http)
        http_flush(front->http);
}

void front_stopping(struct front *front)
{
    front->stopping = true;
}

void front_drain(struct front *front, int grace_ms, void (*done)(void *data), void *data)
{
    front->stopping = true;
    listeners_close(front);
    http_drain(front->http, grace_ms, done, data);
}

void front_close(struct front *front)
{
    listeners_close(front);
    http_close(front->http);
    front->http = NULL;
}

void front_destroy(struct front *front)
{
    if (!front)
        return;
    front_close(front);
    signins_close(front);
    slow_close(front);
    certificate_close(front);
    routes_destroy(front->routes);
    buf_finish(&front->allowed);
    buf_finish(&front->refusal);
    buf_finish(&front->path);
    arena_finish(&front->texts);
    mem_free(front);
}
