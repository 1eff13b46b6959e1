/*
 * oauth/wire: what goes to a service, and what it answers.
 *
 * Bodies are application/x-www-form-urlencoded. Of an answer only what is looked for here is read,
 * and its characters are checked: a token later stands in a header of somebody's request.
 */
#include <stdio.h>

#include "base/id.h"
#include "base/mem.h"
#include "crypto/digest.h"
#include "json/value.h"
#include "oauth/oauth.h"

enum {
    VERIFIER_BYTES = 32,      /* random bytes of a verifier */
    LASTS_MOST_S = 315360000, /* seconds that a token may say it lasts: ten years */
    ERROR_MAX = 64,           /* bytes of the word for an error */
    BASIC_MAX = 3 * (OAUTH_TEXT_MAX + OAUTH_SECRET_MAX) + 8, /* bytes of id and secret, encoded */
};

/* --- writing --- */

static void form_add(struct buf *form, struct str name, struct str value)
{
    if (form->len && form->at[form->len - 1] != '?' && form->at[form->len - 1] != '&')
        buf_add_char(form, '&');
    buf_add_encoded(form, name);
    buf_add_char(form, '=');
    buf_add_encoded(form, value);
}

/* A resource that the tokens are for, one for each word (RFC 8707). */
static void form_add_resources(struct buf *form, const struct oauth_service *service)
{
    struct str resources = service->spec.resource, resource;

    while (oauth_word(&resources, &resource))
        form_add(form, STR("resource"), resource);
}

struct str oauth_verifier(struct arena *arena)
{
    uint8_t bytes[VERIFIER_BYTES];

    random_bytes(bytes, sizeof(bytes));
    struct str verifier = base64url_text(arena, str_n((const char *)bytes, sizeof(bytes)));
    explicit_bzero(bytes, sizeof(bytes));
    return verifier;
}

void oauth_authorization_url(struct buf *url, const struct oauth_service *service,
                             const struct oauth_code_request *request)
{
    const struct oauth_service_spec *spec = &service->spec;
    struct str address = str_of(service->authorization);
    struct digest digest;
    char challenge[64];

    digest_of(request->verifier, &digest);
    base64url_encode(digest_str(&digest), challenge);
    buf_add(url, address);
    if (!memchr(address.at, '?', address.len))
        buf_add_char(url, '?');
    form_add(url, STR("response_type"), STR("code"));
    form_add(url, STR("client_id"), spec->client_id);
    form_add(url, STR("redirect_uri"), request->redirect_uri);
    form_add(url, STR("state"), request->state);
    form_add(url, STR("code_challenge"), str_n(challenge, base64url_len(DIGEST_LEN)));
    form_add(url, STR("code_challenge_method"), STR("S256"));
    if (request->scopes.len)
        form_add(url, STR("scope"), request->scopes);
    form_add_resources(url, service);
    if (spec->parameters.len) { /* as the operator has written them */
        buf_add_char(url, '&');
        buf_add(url, spec->parameters);
    }
}

bool oauth_issuer_fits(const struct oauth_service *service, const struct str *iss)
{
    struct str issuer = service->spec.issuer;

    return iss ? !issuer.len || str_eq(*iss, issuer) : !service->names_issuer;
}

/* "Basic ...": id and secret are encoded as in a form first (RFC 6749, 2.3.1). */
static struct str basic_of(const struct oauth_service *service, char *out, size_t room)
{
    static const char prefix[] = "Basic ";
    struct buf pair;
    size_t len;

    buf_init(&pair, BASIC_MAX);
    buf_wiped(&pair, true);
    buf_add_encoded(&pair, service->spec.client_id);
    buf_add_char(&pair, ':');
    buf_add_encoded(&pair, service->spec.client_secret);
    len = base64url_len(pair.len);
    if (pair.overflow || sizeof(prefix) + len + 3 > room) {
        buf_finish(&pair);
        return STR_NONE;
    }
    char *at = out + sizeof(prefix) - 1;
    memcpy(out, prefix, sizeof(prefix) - 1);
    base64url_encode(buf_str(&pair), at);
    for (size_t i = 0; i < len; i++)
        at[i] = at[i] == '-' ? '+' : at[i] == '_' ? '/' : at[i];
    while (len % 4)
        at[len++] = '=';
    buf_finish(&pair);
    return str_n(out, sizeof(prefix) - 1 + len);
}

void oauth_unreached(const struct fetch_result *result, char out[OAUTH_MESSAGE_MAX])
{
    if (result->end == FETCH_REFUSED)
        snprintf(out, OAUTH_MESSAGE_MAX,
                 STR_FMT ". The operator of this server has to name it in the settings of the "
                         "service: allow = " STR_FMT,
                 STR_ARG(result->why), STR_ARG(result->allow));
    else
        snprintf(out, OAUTH_MESSAGE_MAX, STR_FMT, STR_ARG(result->why));
}

/* Ends the form. */
static struct fetch *wire_post(struct oauth_service *service, const char *endpoint,
                               struct buf *form, fetch_done *done, void *data)
{
    struct http_header headers[3] = {
        { STR("Accept"), STR("application/json") },
        { STR("Content-Type"), STR("application/x-www-form-urlencoded") },
    };
    const struct oauth_service_spec *spec = &service->spec;
    bool in_body = spec->client_auth == OAUTH_AUTH_POST ||
                   (spec->client_auth == OAUTH_AUTH_ANY && service->auth_in_body);
    size_t count = 2, room = 2 * BASIC_MAX;
    char *basic = mem_alloc(room);
    struct fetch *fetch = NULL;
    bool fine = true;

    if (spec->client_secret.len && !in_body) {
        headers[count] =
            (struct http_header){ STR("Authorization"), basic_of(service, basic, room) };
        fine = headers[count++].value.len > 0;
    } else {
        form_add(form, STR("client_id"), spec->client_id);
        if (spec->client_secret.len)
            form_add(form, STR("client_secret"), spec->client_secret);
    }
    if (fine && !form->overflow)
        fetch = fetch_begin(service->fetcher,
                            &(struct fetch_opts){ .method = STR("POST"),
                                                  .url = str_of(endpoint),
                                                  .headers = headers,
                                                  .header_count = count,
                                                  .body = buf_str(form),
                                                  .timeout_ms = OAUTH_ANSWER_MS },
                            done, data);
    explicit_bzero(basic, room);
    mem_free(basic);
    buf_finish(form);
    return fetch;
}

static void form_begin(struct buf *form)
{
    buf_init(form, OAUTH_BODY_MAX);
    buf_wiped(form, true);
}

struct fetch *oauth_exchange(struct oauth_service *service, struct str code,
                             struct str redirect_uri, struct str verifier, fetch_done *done,
                             void *data)
{
    struct buf form;

    form_begin(&form);
    form_add(&form, STR("grant_type"), STR("authorization_code"));
    form_add(&form, STR("code"), code);
    form_add(&form, STR("redirect_uri"), redirect_uri);
    form_add(&form, STR("code_verifier"), verifier);
    form_add_resources(&form, service);
    return wire_post(service, service->token, &form, done, data);
}

struct fetch *oauth_refresh(struct oauth_service *service, struct str token, fetch_done *done,
                            void *data)
{
    struct buf form;

    form_begin(&form);
    form_add(&form, STR("grant_type"), STR("refresh_token"));
    form_add(&form, STR("refresh_token"), token);
    form_add_resources(&form, service);
    return wire_post(service, service->token, &form, done, data);
}

struct fetch *oauth_revoke(struct oauth_service *service, struct str token, bool is_refresh,
                           fetch_done *done, void *data)
{
    struct buf form;

    form_begin(&form);
    form_add(&form, STR("token"), token);
    form_add(&form, STR("token_type_hint"),
             is_refresh ? STR("refresh_token") : STR("access_token"));
    return wire_post(service, service->revocation, &form, done, data);
}

/* --- reading --- */

/* The characters of a token, of a code and of an error (RFC 6749, appendix A), and no more of them
 * than that. */
static bool is_visible(struct str text, size_t most)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] < '!' || text.at[i] > '~')
            return false;
    return text.len <= most;
}

static bool read_lasting(const struct json *body, int64_t *ms)
{
    const struct json *said = json_get(body, STR("expires_in"));
    int64_t seconds;

    *ms = 0;
    if (!said || json_is(said, JSON_NULL))
        return true;
    if (!json_i64(said, &seconds) && !str_to_i64(json_str(said), &seconds))
        return false;
    if (seconds < 0)
        return false;
    *ms = (seconds < LASTS_MOST_S ? seconds : LASTS_MOST_S) * 1000;
    if (!*ms) /* it has run out already */
        *ms = 1;
    return true;
}

bool oauth_tokens_read(struct arena *arena, const struct fetch_result *result,
                       struct oauth_tokens *out)
{
    const struct json *body;

    *out = (struct oauth_tokens){ 0 };
    if (result->end != FETCH_DONE)
        return false;
    body = json_parse(arena, arena_str(arena, result->body), NULL, NULL);
    if (!json_is(body, JSON_OBJECT))
        return false;
    out->error = json_get_str(body, STR("error")); /* some say it with the status 200 */
    if (out->error.len)
        return is_visible(out->error, ERROR_MAX) && result->status < 500;
    if (result->status < 200 || result->status > 299 ||
        !str_eq_nocase(json_get_str(body, STR("token_type")), STR("bearer")))
        return false;
    out->access = json_get_str(body, STR("access_token"));
    out->refresh = json_get_str(body, STR("refresh_token"));
    out->scopes = json_get_str(body, STR("scope"));
    return out->access.len && is_visible(out->access, OAUTH_TOKEN_MAX) &&
           is_visible(out->refresh, OAUTH_TOKEN_MAX) && oauth_scopes_fit(out->scopes) &&
           read_lasting(body, &out->lasts_ms);
}

bool oauth_is_refusal(struct str error)
{
    /* The second is GitHub's word for it. */
    return str_eq(error, STR("invalid_grant")) || str_eq(error, STR("bad_refresh_token"));
}
