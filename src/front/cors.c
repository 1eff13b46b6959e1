/*
 * front/cors: web pages of other origins.
 *
 * Pages of origins that the operator has allowed get the headers that let them read the response,
 * even of a refusal: a page that cannot read its 401 cannot sign in. Origins on loopback may send
 * requests without being allowed, as programs on this machine may, but a browser does not let their
 * pages read the responses.
 */
#include "base/log.h"
#include "front/front_inside.h"

#define CORS_READ "WWW-Authenticate, Retry-After"
#define CORS_KEPT "600" /* seconds for which a browser need not ask again */

/* Headers that any page of an allowed origin may send; modules add their own. */
static const struct str always_sent[] = {
    STR_INIT("Accept"),
    STR_INIT("Authorization"),
    STR_INIT("Content-Type"),
    STR_INIT("Last-Event-ID"),
};

/* scheme://host[:port] and nothing after it: what browsers send, and we send back. */
static bool is_origin(struct str text)
{
    ptrdiff_t scheme = str_find(text, STR("://"));

    if (scheme <= 0 || (size_t)scheme + 3 == text.len)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~' || text.at[i] == ',' ||
            (text.at[i] == '/' && i >= (size_t)scheme + 3))
            return false;
    return true;
}

/* Called before any request comes, and again when a module has named more headers. */
static bool write_lines(struct front *front)
{
    const struct origin_rules *rules = &front->origins;
    struct str *lines = arena_alloc(&front->texts, (rules->origin_count + 1) * sizeof(*lines));

    buf_clear(&front->allowed);
    for (size_t i = 0; i < front->read_count; i++)
        buf_fmt(&front->allowed, STR_FMT ", ", STR_ARG(front->read[i]));
    buf_add(&front->allowed, STR(CORS_READ));
    for (size_t i = 0; lines && i < rules->origin_count; i++)
        lines[i] = arena_fmt(&front->texts,
                             "Access-Control-Allow-Origin: " STR_FMT "\r\n"
                             "Access-Control-Expose-Headers: " STR_FMT "\r\n"
                             "Vary: Origin\r\n",
                             STR_ARG(rules->origins[i]), STR_ARG(buf_str(&front->allowed)));
    front->origin_lines = lines;
    return lines != NULL;
}

bool cors_open(struct front *front)
{
    const struct origin_rules *rules = &front->origins;

    for (size_t i = 0; i < rules->origin_count; i++) {
        if (!is_origin(rules->origins[i])) {
            LOG_ERROR("not an origin that may be allowed; give one as browsers send it, such as "
                      "https://app.example.com",
                      LOG_STR("origin", rules->origins[i]));
            return false;
        }
    }
    return write_lines(front);
}

void front_web_headers(struct front *front, const char *const *sent, const char *read)
{
    for (; sent && *sent && front->sent_count < FRONT_WEB_HEADERS_MAX; sent++)
        front->sent[front->sent_count++] = arena_str(&front->texts, str_of(*sent));
    if (read && front->read_count < FRONT_WEB_HEADERS_MAX)
        front->read[front->read_count++] = arena_str(&front->texts, str_of(read));
    write_lines(front);
}

/* --- preflight requests --- */

static bool is_of(struct str name, struct str given)
{
    if (!given.len || given.at[given.len - 1] != '*')
        return str_eq_nocase(name, given);
    given.len--;
    return name.len > given.len && str_eq_nocase(str_n(name.at, given.len), given);
}

static bool may_be_sent(const struct front *front, struct str name)
{
    for (size_t i = 0; i < sizeof(always_sent) / sizeof(always_sent[0]); i++)
        if (is_of(name, always_sent[i]))
            return true;
    for (size_t i = 0; i < front->sent_count; i++)
        if (is_of(name, front->sent[i]))
            return true;
    return false;
}

/* Appends to `out` those headers, of the ones the page wants to send, that mean something here. */
static struct str headers_allowed(const struct front *front, struct buf *out, struct str wanted)
{
    size_t from = out->len;
    bool more = wanted.len > 0;

    while (more) {
        struct str name;
        more = str_cut(wanted, ',', &name, &wanted);
        name = str_trim(name);
        if (!may_be_sent(front, name))
            continue;
        if (out->len > from)
            buf_add(out, STR(", "));
        buf_add(out, name);
    }
    return str_skip(buf_str(out), from);
}

static void add_header(struct http_ruling *ruling, struct str name, struct str value)
{
    ruling->headers[ruling->header_count++] = (struct http_header){ name, value };
}

bool cors_preflight(struct front *front, const struct http_request *http,
                    struct http_ruling *ruling)
{
    struct buf *text = &front->allowed;

    if (!ruling->lines.len || !str_eq(http->method, STR("OPTIONS")) ||
        !http_header(http, STR("Access-Control-Request-Method")).len)
        return false;
    routes_allow(front->routes, http->path, text);
    size_t methods_len = text->len;
    struct str wanted = http_header(http, STR("Access-Control-Request-Headers"));
    struct str headers = headers_allowed(front, text, wanted);
    ruling->status = 204;
    add_header(ruling, STR("Access-Control-Allow-Methods"), str_n(text->at, methods_len));
    if (headers.len)
        add_header(ruling, STR("Access-Control-Allow-Headers"), headers);
    add_header(ruling, STR("Access-Control-Max-Age"), STR(CORS_KEPT));
    return true;
}
