/*
 * oauth/discover: where the endpoints of a service are, if only its issuer is known.
 *
 * A service tells that in a document (RFC 8414, or OpenID Connect Discovery) whose address follows
 * from the issuer. The document must name that very issuer: otherwise the endpoints could be
 * somebody else's. It is read when it is needed, and again after OAUTH_METADATA_MS; while it cannot
 * be read again, the old one counts.
 */
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "json/value.h"
#include "oauth/oauth.h"

enum {
    PLACES = 2,                     /* where the document may be */
    DOCUMENT_TREE = 1 << 20,        /* memory of the document as a tree */
    PLACE_MAX = OAUTH_URL_MAX + 64, /* bytes of its address */
};

static void look(struct oauth_service *service);

void oauth_await_stop(struct oauth_await *wait)
{
    if (wait->link.next)
        list_remove(&wait->link);
}

/* --- the document --- */

/* Puts ".well-known" between host and path, or behind the path as OpenID Connect has it. */
static struct str place_of(const struct oauth_service *service, char out[PLACE_MAX])
{
    struct str issuer = service->spec.issuer, host, path;
    size_t slash = (size_t)str_find(issuer, STR("://")) + 3;

    while (issuer.len && issuer.at[issuer.len - 1] == '/')
        issuer.len--;
    while (slash < issuer.len && issuer.at[slash] != '/')
        slash++;
    host = str_n(issuer.at, slash);
    path = str_skip(issuer, slash);
    int n =
        service->which == 0
            ? snprintf(out, PLACE_MAX, STR_FMT "/.well-known/oauth-authorization-server" STR_FMT,
                       STR_ARG(host), STR_ARG(path))
            : snprintf(out, PLACE_MAX, STR_FMT "/.well-known/openid-configuration",
                       STR_ARG(issuer));
    return str_n(out, (size_t)n);
}

static void keep(char **at, struct str text)
{
    mem_free(*at);
    *at = text.len ? str_dup(text) : NULL;
}

/* NULL: it was taken over. Otherwise what is wrong with it. */
static const char *take(struct oauth_service *service, const struct json *document)
{
    struct str authorization = json_get_str(document, STR("authorization_endpoint"));
    struct str token = json_get_str(document, STR("token_endpoint"));
    struct str revocation = json_get_str(document, STR("revocation_endpoint"));
    const struct json *pkce = json_get(document, STR("code_challenge_methods_supported"));
    const struct json *auth = json_get(document, STR("token_endpoint_auth_methods_supported"));
    const char *why;

    if (!str_eq(json_get_str(document, STR("issuer")), service->spec.issuer))
        return "what it says of itself names another issuer";
    if (!oauth_url_fits(authorization, &why) || !oauth_url_fits(token, &why) ||
        (revocation.len && !oauth_url_fits(revocation, &why)))
        return "what it says of itself has an address that cannot be used";
    if (pkce && !json_has_str(pkce, STR("S256")))
        return "it does not know PKCE with S256";
    keep(&service->authorization, authorization);
    keep(&service->token, token);
    if (!service->spec.revocation_endpoint.len)
        keep(&service->revocation, revocation);
    service->names_issuer =
        json_true(json_get(document, STR("authorization_response_iss_parameter_supported")));
    service->auth_in_body = json_has_str(auth, STR("client_secret_post")) &&
                            !json_has_str(auth, STR("client_secret_basic"));
    service->read_ms = loop_now(service->loop) + 1;
    return NULL;
}

static void over(struct oauth_service *service, const char *why)
{
    struct list *at;

    if (why)
        LOG_WARN("what a service says of itself cannot be used",
                 LOG_STR("service", service->spec.name), LOG_CSTR("why", why));
    if (why && service->token) /* the old one counts, and is looked at again later */
        why = NULL;
    while ((at = list_first(&service->waits))) {
        struct oauth_await *wait = LIST_OF(at, struct oauth_await, link);
        list_remove(at);
        wait->ready(wait->data, why);
    }
}

static void fetched(void *data, const struct fetch_result *result)
{
    struct oauth_service *service = data;
    const struct json *document = NULL;
    const char *why = NULL;
    struct arena arena;
    char text[OAUTH_MESSAGE_MAX];

    service->fetch = NULL;
    service->barred = result->end == FETCH_REFUSED;
    arena_init(&arena, DOCUMENT_TREE);
    if (result->end == FETCH_DONE && result->status == 200)
        document = json_parse(&arena, result->body, NULL, NULL);
    if (json_is(document, JSON_OBJECT)) {
        why = take(service, document);
        arena_finish(&arena);
        over(service, why);
        return;
    }
    arena_finish(&arena);
    if (result->end == FETCH_DONE)
        snprintf(text, sizeof(text), "it does not say where its endpoints are");
    else
        oauth_unreached(result, text);
    if (++service->which < PLACES)
        look(service);
    else
        over(service, text);
}

static void look(struct oauth_service *service)
{
    static const struct http_header accept[] = { { STR_INIT("Accept"),
                                                   STR_INIT("application/json") } };
    char place[PLACE_MAX];

    service->fetch =
        fetch_begin(service->fetcher,
                    &(struct fetch_opts){
                        .url = place_of(service, place), .headers = accept, .header_count = 1 },
                    fetched, service);
    if (!service->fetch)
        over(service, "too many requests to it are under way");
}

void oauth_service_await(struct oauth_service *service, struct oauth_await *wait,
                         void (*ready)(void *data, const char *why), void *data)
{
    int64_t now = loop_now(service->loop);

    if (!service->discovers || (service->read_ms && now - service->read_ms < OAUTH_METADATA_MS)) {
        ready(data, NULL);
        return;
    }
    *wait = (struct oauth_await){ .ready = ready, .data = data };
    list_append(&service->waits, &wait->link);
    if (service->fetch)
        return;
    service->which = 0;
    look(service);
}
