/*
 * oauth/service: what a service may be.
 *
 * Its addresses are https, or http to this very machine: tokens and codes go there. Everything else
 * is text whose characters are checked here, once, so that whoever builds a URL or a header of it
 * later need not look again.
 */
#include "oauth/oauth.h"

#include <stdio.h>

#include "base/mem.h"

/* Printable ASCII, also spaces. */
static bool is_printable(struct str text, size_t most)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] > '~' || text.at[i] < ' ')
            return false;
    return text.len <= most;
}

static bool is_this_machine(struct str rest)
{
    struct str host = rest;
    struct peer peer;

    for (size_t i = 0; i < host.len; i++)
        if (strchr("/?#", host.at[i]))
            host.len = i;
    if (str_starts(host, STR("[::1]")))
        return host.len == 5 || host.at[5] == ':';
    str_cut(host, ':', &host, &rest);
    if (str_eq_nocase(host, STR("localhost")))
        return true;
    return peer_parse(host, &peer) && peer.kind == PEER_IP4 && peer.address[0] == 127;
}

bool oauth_url_fits(struct str url, const char **why)
{
    *why = "an address begins with https://, or with http:// on this machine";
    if (!str_starts(url, STR("https://")) &&
        !(str_starts(url, STR("http://")) && is_this_machine(str_skip(url, strlen("http://")))))
        return false;
    *why = "an address has at most 2048 characters of ASCII, and no part after #";
    if (url.len > OAUTH_URL_MAX || !str_is_visible(url) || memchr(url.at, '#', url.len))
        return false;
    return fetch_url_fits(url, why);
}

/* a=b&c=d, encoded, and nothing that the flow itself says. */
static bool parameters_fit(struct str text, const char **why)
{
    static const char *const ours[] = { "response_type",
                                        "client_id",
                                        "redirect_uri",
                                        "state",
                                        "code_challenge",
                                        "code_challenge_method",
                                        "scope",
                                        "resource",
                                        "client_secret",
                                        "request",
                                        "request_uri",
                                        "response_mode",
                                        NULL };

    *why = "further parameters are name=value, with & between them";
    if (text.len > OAUTH_TEXT_MAX || !str_is_visible(text))
        return false;
    for (bool more = text.len > 0; more;) {
        struct str one, name, value;
        more = str_cut(text, '&', &one, &text);
        if (!str_cut(one, '=', &name, &value) || !name.len || memchr(one.at, '#', one.len))
            return false;
        if (str_among(name, ours)) {
            *why = "a further parameter may not be one that the flow itself has";
            return false;
        }
    }
    return true;
}

static bool addresses_fit(const struct oauth_service_spec *spec, const void **part,
                          const char **why)
{
    const struct str *const urls[] = { &spec->issuer, &spec->authorization_endpoint,
                                       &spec->token_endpoint, &spec->revocation_endpoint };

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        *part = urls[i];
        if (urls[i]->len && !oauth_url_fits(*urls[i], why))
            return false;
    }
    *part = &spec->issuer;
    *why = "an issuer has no query (RFC 8414)";
    if (spec->issuer.len && memchr(spec->issuer.at, '?', spec->issuer.len))
        return false;
    *part = NULL;
    *why = "it needs an issuer, or an authorization_endpoint and a token_endpoint";
    bool both = spec->authorization_endpoint.len && spec->token_endpoint.len;
    bool one = spec->authorization_endpoint.len || spec->token_endpoint.len;
    return both || (!one && spec->issuer.len);
}

/* A scheme and what it says; RFC 8707, section 2. */
static bool is_absolute(struct str uri)
{
    struct str scheme, rest;

    if (!str_cut(uri, ':', &scheme, &rest) || !scheme.len || !rest.len ||
        memchr(uri.at, '#', uri.len))
        return false;
    for (size_t i = 0; i < scheme.len; i++) {
        char c = scheme.at[i] | 0x20;
        bool later = (scheme.at[i] >= '0' && scheme.at[i] <= '9') || strchr("+-.", scheme.at[i]);
        if (!(c >= 'a' && c <= 'z') && !(i && later))
            return false;
    }
    return true;
}

static bool service_fits(const struct oauth_service_spec *spec, const void **part, const char **why)
{
    *part = NULL;
    *why = "the name of a service has 1 to 32 characters of a-z, 0-9, - and _";
    if (!spec->name.len || spec->name.len > OAUTH_NAME_MAX || !str_is_plain(spec->name))
        return false;
    *part = &spec->title;
    *why = "a title has at most 100 bytes";
    if (spec->title.len > OAUTH_TITLE_MAX)
        return false;
    if (!addresses_fit(spec, part, why))
        return false;
    *part = &spec->client_id;
    *why = "it needs a client_id, of at most 1024 characters of ASCII";
    if (!spec->client_id.len || !is_printable(spec->client_id, OAUTH_TEXT_MAX))
        return false;
    *part = &spec->client_secret;
    *why = "the secret of the client has at most 4096 characters of ASCII";
    if (!is_printable(spec->client_secret, OAUTH_SECRET_MAX))
        return false;
    *part = &spec->client_auth;
    *why = "client_auth says how the client's secret is sent, and there is none";
    if (spec->client_auth != OAUTH_AUTH_ANY && !spec->client_secret.len)
        return false;
    *part = &spec->scopes;
    *why = "scopes are words of ASCII with spaces between them, of at most 1024 characters";
    if (!oauth_scopes_fit(spec->scopes))
        return false;
    *part = &spec->resource;
    *why =
        "a resource is an absolute URI without #, or several with spaces between them (RFC 8707)";
    struct str resources = spec->resource, resource;
    if (!is_printable(resources, OAUTH_TEXT_MAX))
        return false;
    while (oauth_word(&resources, &resource))
        if (!is_absolute(resource))
            return false;
    *part = &spec->parameters;
    return parameters_fit(spec->parameters, why);
}

/* --- a service --- */

/* The texts of a service, copied one behind the other. */
static struct str *texts_of(struct oauth_service_spec *spec, size_t which)
{
    struct str *const all[] = { &spec->name,           &spec->title,
                                &spec->issuer,         &spec->authorization_endpoint,
                                &spec->token_endpoint, &spec->revocation_endpoint,
                                &spec->client_id,      &spec->client_secret,
                                &spec->scopes,         &spec->resource,
                                &spec->parameters,     &spec->allow };

    return which < sizeof(all) / sizeof(all[0]) ? all[which] : NULL;
}

static bool allow_all(struct reach *reach, struct str targets, const char **why)
{
    struct str word;

    *why = "allow is an address and a port, such as 10.0.0.7:8443 or [fd00::7]:8443; up to eight "
           "of them, with spaces between them";
    for (int n = 0; oauth_word(&targets, &word); n++)
        if (n == OAUTH_ALLOWED_MAX || !reach_allow(reach, word))
            return false;
    return true;
}

/* An address that this server itself asks, and may not reach: nobody could connect an account. A
 * name is looked up later. */
static bool is_barred(struct oauth_service *service, const struct oauth_service_spec *spec,
                      const void **part, const char **why)
{
    const struct str *const urls[] = { spec->token_endpoint.len ? &spec->token_endpoint
                                                                : &spec->issuer,
                                       &spec->revocation_endpoint };
    char address[PEER_TEXT_MAX];
    struct peer peer;
    int port;

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        if (!urls[i]->len || !fetch_url_is_barred(*urls[i], &service->reach, &peer, &port))
            continue;
        struct str text = peer_text(&peer, address);
        bool six = peer.kind == PEER_IP6;
        snprintf(service->problem, sizeof(service->problem),
                 STR_FMT " is not a public address; if it is meant, say allow = %s" STR_FMT "%s:%d",
                 STR_ARG(text), six ? "[" : "", STR_ARG(text), six ? "]" : "", port);
        *why = service->problem;
        *part = urls[i];
        return true;
    }
    return false;
}

bool oauth_service_open(struct oauth_service *service, const struct oauth_service_spec *spec,
                        struct loop *loop, const char *ca_file, const void **part, const char **why)
{
    if (!service_fits(spec, part, why))
        return false;
    *service = (struct oauth_service){ .loop = loop };
    *part = &spec->allow;
    if (!allow_all(&service->reach, spec->allow, why) || is_barred(service, spec, part, why))
        return false;
    *part = NULL;
    *why = "libcurl cannot be used";
    service->fetcher = fetcher_create(
        loop,
        &(struct fetcher_opts){ .reach = &service->reach, .forgets = true, .ca_file = ca_file });
    if (!service->fetcher)
        return false;
    struct str *text;
    char *at;
    service->spec = *spec;
    if (!spec->title.len)
        service->spec.title = spec->name;
    for (size_t i = 0; (text = texts_of(&service->spec, i)); i++)
        service->text_size += text->len + 1;
    at = service->text = mem_alloc(service->text_size);
    for (size_t i = 0; (text = texts_of(&service->spec, i)); i++)
        *text = str_place(&at, *text);
    list_init(&service->waits);
    service->discovers = !spec->token_endpoint.len;
    if (!service->discovers) {
        service->authorization = str_dup(spec->authorization_endpoint);
        service->token = str_dup(spec->token_endpoint);
    }
    if (spec->revocation_endpoint.len)
        service->revocation = str_dup(spec->revocation_endpoint);
    return true;
}

void oauth_service_close(struct oauth_service *service)
{
    fetch_cancel(service->fetch);
    fetcher_destroy(service->fetcher);
    explicit_bzero(service->text, service->text_size);
    mem_free(service->text);
    mem_free(service->authorization);
    mem_free(service->token);
    mem_free(service->revocation);
}

struct str oauth_service_identity(const struct oauth_service *service)
{
    return service->spec.issuer.len ? service->spec.issuer : service->spec.token_endpoint;
}

/* --- words between spaces --- */

bool oauth_word(struct str *rest, struct str *word)
{
    while (rest->len && (rest->at[0] == ' ' || rest->at[0] == ','))
        *rest = str_skip(*rest, 1);
    size_t n = 0;
    while (n < rest->len && rest->at[n] != ' ' && rest->at[n] != ',')
        n++;
    *word = str_n(rest->at, n);
    *rest = str_skip(*rest, n);
    return n > 0;
}

static bool has_word(struct str words, struct str wanted)
{
    struct str word;

    while (oauth_word(&words, &word))
        if (str_eq(word, wanted))
            return true;
    return false;
}

bool oauth_scopes_fit(struct str scopes)
{
    return is_printable(scopes, OAUTH_TEXT_MAX) &&
           (!scopes.len || !memchr(scopes.at, '"', scopes.len));
}

bool oauth_scopes_within(struct str wanted, struct str granted)
{
    struct str word;

    while (oauth_word(&wanted, &word))
        if (!has_word(granted, word))
            return false;
    return true;
}

struct str oauth_scopes_join(struct arena *arena, struct str some, struct str more)
{
    struct str rest = more, word, all = some;

    while (oauth_word(&rest, &word))
        if (!has_word(all, word))
            all =
                all.len ? arena_fmt(arena, STR_FMT " " STR_FMT, STR_ARG(all), STR_ARG(word)) : word;
    return all;
}
