/*
 * mcp/gate: see gate.h.
 *
 * Web pages of the origins that the operator has allowed are answered with the CORS headers that
 * let them read the response, refusals too: a page that cannot read its 401 cannot sign in. Origins
 * on loopback may send requests without having been allowed, as programs of this machine may; a
 * browser does not let their pages read what comes back.
 */
#include "mcp/gate.h"

#include "base/log.h"
#include "mcp/health.h"
#include "mcp/server_inside.h"
#include "mcp/tokens.h"

#define CORS_EXPOSED "Mcp-Session-Id, WWW-Authenticate, Retry-After"
#define CORS_KEPT    "600" /* seconds for which a browser need not ask again */

static const struct str mcp_path = STR_INIT("/mcp");
static const struct str methods = STR_INIT("GET, POST, DELETE");
static const struct str json_type = STR_INIT("application/json");

/* --- where from --- */

static const struct str *copy_list(struct arena *arena, const char *const *names, size_t *count)
{
    for (*count = 0; names && names[*count];)
        ++*count;
    struct str *copy = arena_alloc(arena, (*count + 1) * sizeof(*copy));
    for (size_t i = 0; copy && i < *count; i++)
        copy[i] = arena_str(arena, str_of(names[i]));
    if (!copy)
        *count = 0;
    return copy;
}

/* scheme://host[:port], and nothing behind it: what browsers send, and we send back. */
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

static bool write_lines(struct mcp_server *server)
{
    const struct origin_rules *rules = &server->origins;
    struct str *lines = arena_alloc(&server->texts, (rules->origin_count + 1) * sizeof(*lines));

    for (size_t i = 0; lines && i < rules->origin_count; i++) {
        if (!is_origin(rules->origins[i])) {
            LOG_ERROR("not an origin that may be allowed; give one as browsers send it, such as "
                      "https://app.example.com",
                      LOG_STR("origin", rules->origins[i]));
            return false;
        }
        lines[i] = arena_fmt(&server->texts,
                             "Access-Control-Allow-Origin: " STR_FMT "\r\n"
                             "Access-Control-Expose-Headers: " CORS_EXPOSED "\r\n"
                             "Vary: Origin\r\n",
                             STR_ARG(rules->origins[i]));
    }
    server->origin_lines = lines;
    return lines != NULL;
}

bool gate_open(struct mcp_server *server, const struct mcp_http_opts *opts)
{
    struct origin_rules *rules = &server->origins;

    rules->own = arena_str(&server->texts, opts->host);
    rules->hosts = copy_list(&server->texts, opts->allowed_hosts, &rules->host_count);
    rules->origins = copy_list(&server->texts, opts->allowed_origins, &rules->origin_count);
    server->tokens = opts->tokens;
    return write_lines(server);
}

/* Probes name a server by its address; see mcp/health.h. */
static bool host_ok(struct mcp_server *server, const struct http_request *http)
{
    struct str host = http_named(http, HTTP_NAME_HOST);

    if (server->tokens && health_has(http->path))
        return true;
    if (host.len && str_same(host, str_n(server->host_passed, server->host_passed_len)))
        return true; /* the rules do not change while we listen */
    if (!origin_host_ok(&server->origins, host))
        return false;
    if (host.len <= sizeof(server->host_passed)) {
        memcpy(server->host_passed, host.at, host.len);
        server->host_passed_len = host.len;
    }
    return true;
}

/* --- answers --- */

static enum http_verdict answer(struct http_ruling *ruling, int status, struct str name,
                                struct str value, struct str body)
{
    ruling->status = status;
    ruling->body = body;
    if (name.len)
        ruling->headers[ruling->header_count++] = (struct http_header){ name, value };
    return HTTP_ANSWER;
}

#define FORBIDDEN(message)                                                                         \
    STR("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"" message "\"}}")

static enum http_verdict forbid(struct http_ruling *ruling, struct str body)
{
    return answer(ruling, 403, STR("Content-Type"), json_type, body);
}

/* --- browsers that ask beforehand --- */

static bool may_be_sent(struct str name)
{
    struct str param = STR("Mcp-Param-"); /* as many as tools have annotations */

    if (name.len > param.len && str_eq_nocase(str_n(name.at, param.len), param))
        return true;
    switch (http_name_of(name)) {
    case HTTP_NAME_ACCEPT:
    case HTTP_NAME_AUTHORIZATION:
    case HTTP_NAME_CONTENT_TYPE:
    case HTTP_NAME_LAST_EVENT_ID:
    case HTTP_NAME_MCP_METHOD:
    case HTTP_NAME_MCP_NAME:
    case HTTP_NAME_MCP_PROTOCOL_VERSION:
    case HTTP_NAME_MCP_SESSION_ID:
        return true;
    default:
        return false;
    }
}

/* Of the headers that the page wants to send, those that mean something here. */
static struct str headers_allowed(struct buf *out, struct str wanted)
{
    bool more = wanted.len > 0;

    buf_clear(out);
    while (more) {
        struct str name;
        more = str_cut(wanted, ',', &name, &wanted);
        name = str_trim(name);
        if (!may_be_sent(name))
            continue;
        if (out->len)
            buf_add(out, STR(", "));
        buf_add(out, name);
    }
    return buf_str(out);
}

static enum http_verdict preflight(struct mcp_server *server, const struct http_request *http,
                                   struct http_ruling *ruling)
{
    struct str wanted = http_header(http, STR("Access-Control-Request-Headers"));
    struct str allowed = headers_allowed(&server->preflight, wanted);

    answer(ruling, 204, STR("Access-Control-Allow-Methods"), methods, STR_NONE);
    if (allowed.len)
        ruling->headers[ruling->header_count++] =
            (struct http_header){ STR("Access-Control-Allow-Headers"), allowed };
    ruling->headers[ruling->header_count++] =
        (struct http_header){ STR("Access-Control-Max-Age"), STR(CORS_KEPT) };
    return HTTP_ANSWER;
}

/* --- who --- */

static enum http_verdict unauthorized(struct http_ruling *ruling, bool given)
{
    return answer(ruling, 401, STR("WWW-Authenticate"),
                  given ? STR("Bearer realm=\"nod\", error=\"invalid_token\"")
                        : STR("Bearer realm=\"nod\""),
                  STR_NONE);
}

/* HTTP_TRUST with the owner of the token, or 401. */
static enum http_verdict authenticate(struct mcp_server *server, const struct http_request *http,
                                      struct http_ruling *ruling)
{
    struct str header = http_named(http, HTTP_NAME_AUTHORIZATION), scheme, token;

    if (!server->tokens)
        return HTTP_TRUST; /* the local user, who has everything */
    if (!str_cut(header, ' ', &scheme, &token) || !str_eq_nocase(scheme, STR("Bearer")))
        return unauthorized(ruling, false);
    const struct token_owner *owner = tokens_find(server->tokens, str_trim(token));
    if (!owner) {
        LOG_DEBUG("token refused");
        return unauthorized(ruling, true);
    }
    ruling->mark = owner;
    ruling->who = owner->name;
    return HTTP_TRUST;
}

struct str gate_principal(const struct http_request *http)
{
    const struct token_owner *owner = http->mark;

    return owner ? owner->name : STR("local");
}

static bool is_method(struct str method)
{
    return str_eq(method, STR("POST")) || str_eq(method, STR("GET")) ||
           str_eq(method, STR("DELETE"));
}

static enum http_verdict let_in(struct mcp_server *server, const struct http_request *http,
                                struct http_ruling *ruling)
{
    if (ruling->lines.len && str_eq(http->method, STR("OPTIONS")) &&
        http_header(http, STR("Access-Control-Request-Method")).len)
        return preflight(server, http, ruling); /* it never carries a token */
    enum http_verdict verdict = authenticate(server, http, ruling);
    if (verdict == HTTP_TRUST && !is_method(http->method))
        return answer(ruling, 405, STR("Allow"), methods, STR_NONE);
    return verdict;
}

enum http_verdict gate_head(const struct http_request *http, struct http_ruling *ruling, void *data)
{
    struct mcp_server *server = data;
    struct str origin = http_named(http, HTTP_NAME_ORIGIN);
    size_t place;

    if (!host_ok(server, http))
        return forbid(ruling, FORBIDDEN("This Host is not allowed; use a loopback name, or allow "
                                        "it in the server's settings."));
    if (origin_allowed(&server->origins, origin, &place))
        ruling->lines = server->origin_lines[place];
    else if (!origin_ok(&server->origins, origin))
        return forbid(ruling, FORBIDDEN("This Origin is not allowed; allow it in the server's "
                                        "settings."));
    if (str_eq(http->path, mcp_path))
        return let_in(server, http, ruling);
    if (health_has(http->path)) /* also for those who have no token */
        return HTTP_SERVE;
    return answer(ruling, 404, STR_NONE, STR_NONE, STR_NONE);
}
