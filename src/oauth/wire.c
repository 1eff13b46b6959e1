/*
 * oauth/wire: what goes to a service, and what it answers.
 *
 * Bodies are application/x-www-form-urlencoded. Of an answer only what is looked for here is read,
 * and its characters are checked: a token later stands in a header of somebody's request.
 */
#include <stdio.h>

#include "base/mem.h"
#include "crypto/digest.h"
#include "oauth/oauth_inside.h"

enum {
    LASTS_MOST_S = 315360000, /* seconds that a token may say it lasts: ten years */
    ERROR_MAX = 64,           /* bytes of the word for an error */
    BASIC_MAX = 3 * (OAUTH_TEXT_MAX + OAUTH_SECRET_MAX) + 8, /* bytes of id and secret, encoded */
};

/* --- writing --- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

static void encode(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (is_plain(text.at[i]))
            buf_add_char(out, text.at[i]);
        else
            buf_fmt(out, "%%%02X", (unsigned char)text.at[i]);
    }
}

void form_add(struct buf *form, struct str name, struct str value)
{
    if (form->len && form->at[form->len - 1] != '?' && form->at[form->len - 1] != '&')
        buf_add_char(form, '&');
    encode(form, name);
    buf_add_char(form, '=');
    encode(form, value);
}

static void challenge_of(struct str verifier, char out[64])
{
    struct digest digest;

    digest_of(verifier, &digest);
    base64url_encode(digest_str(&digest), out);
    out[base64url_len(DIGEST_LEN)] = '\0';
}

void wire_authorization(struct buf *url, const struct service *service,
                        const struct oauth_flow *flow, struct str scopes, struct str verifier)
{
    const struct oauth_service_spec *spec = &service->spec;
    struct str resources = spec->resource, resource, address = str_of(service->authorization);
    char challenge[64];

    challenge_of(verifier, challenge);
    buf_add(url, address);
    if (!memchr(address.at, '?', address.len))
        buf_add_char(url, '?');
    form_add(url, STR("response_type"), STR("code"));
    form_add(url, STR("client_id"), spec->client_id);
    form_add(url, STR("redirect_uri"), flow->redirect_uri);
    form_add(url, STR("state"), flow->state);
    form_add(url, STR("code_challenge"), str_of(challenge));
    form_add(url, STR("code_challenge_method"), STR("S256"));
    if (scopes.len)
        form_add(url, STR("scope"), scopes);
    while (word_next(&resources, &resource))
        form_add(url, STR("resource"), resource);
    if (spec->parameters.len) { /* as the operator has written them */
        buf_add_char(url, '&');
        buf_add(url, spec->parameters);
    }
}

/* "Basic ...": id and secret are encoded as in a form first (RFC 6749, 2.3.1). */
static struct str basic_of(const struct service *service, char *out, size_t room)
{
    static const char prefix[] = "Basic ";
    struct buf pair;
    size_t len;

    buf_init(&pair, BASIC_MAX);
    buf_wiped(&pair, true);
    encode(&pair, service->spec.client_id);
    buf_add_char(&pair, ':');
    encode(&pair, service->spec.client_secret);
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

static bool secret_in_body(const struct service *service)
{
    return service->spec.client_auth == OAUTH_AUTH_POST ||
           (service->spec.client_auth == OAUTH_AUTH_ANY && service->auth_in_body);
}

void wire_unreached(const struct fetch_result *result, char out[OAUTH_MESSAGE_MAX])
{
    if (result->end == FETCH_REFUSED)
        snprintf(out, OAUTH_MESSAGE_MAX,
                 STR_FMT ". The operator of this server has to name it in the settings of the "
                         "service: allow = " STR_FMT,
                 STR_ARG(result->why), STR_ARG(result->allow));
    else
        snprintf(out, OAUTH_MESSAGE_MAX, STR_FMT, STR_ARG(result->why));
}

struct fetch *wire_post(struct service *service, const char *endpoint, struct buf *form,
                        fetch_done *done, void *data)
{
    struct http_header headers[3] = {
        { STR("Accept"), STR("application/json") },
        { STR("Content-Type"), STR("application/x-www-form-urlencoded") },
    };
    size_t count = 2, room = 2 * BASIC_MAX;
    char *basic = mem_alloc(room);
    struct fetch *fetch = NULL;
    bool fine = true;

    if (service->spec.client_secret.len && !secret_in_body(service)) {
        headers[count] =
            (struct http_header){ STR("Authorization"), basic_of(service, basic, room) };
        fine = headers[count++].value.len > 0;
    } else {
        form_add(form, STR("client_id"), service->spec.client_id);
        if (service->spec.client_secret.len)
            form_add(form, STR("client_secret"), service->spec.client_secret);
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
    return fetch;
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

bool wire_tokens_read(struct arena *arena, const struct fetch_result *result,
                      struct wire_tokens *out)
{
    const struct json *body;

    *out = (struct wire_tokens){ 0 };
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

bool wire_is_refusal(struct str error)
{
    /* The second is GitHub's word for it. */
    return str_eq(error, STR("invalid_grant")) || str_eq(error, STR("bad_refresh_token"));
}
