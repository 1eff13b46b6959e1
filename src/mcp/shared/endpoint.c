/*
 * mcp/shared/endpoint: replies of the endpoint /mcp that are no message, and media types.
 */
#include "mcp/shared/endpoint.h"

/* --- replies --- */

void endpoint_error(struct http_exchange *exchange, int status, int64_t code, const char *message)
{
    struct buf body;

    buf_init(&body, MCP_MESSAGE_MAX);
    rpc_write_refusal(&body, STR_NONE, code, str_of(message), STR_NONE);
    http_reply_json(exchange, status, buf_str(&body));
    buf_finish(&body);
}

void endpoint_not_allowed(struct http_exchange *exchange, struct str allow)
{
    const struct http_header headers[] = { { STR("Allow"), allow },
                                           { STR("Content-Type"), STR("application/json") } };
    struct buf body;

    buf_init(&body, MCP_MESSAGE_MAX);
    rpc_write_refusal(&body, STR_NONE, RPC_INVALID_REQUEST,
                      STR("Since 2026-07-28 every message is sent with POST."), STR_NONE);
    http_reply(exchange, 405, headers, 2, buf_str(&body));
    buf_finish(&body);
}

void endpoint_fault(struct mcp_server *server, struct http_exchange *exchange,
                    const struct rpc_fault *fault)
{
    buf_clear(&server->out);
    rpc_write_refusal(&server->out, fault->id, fault->code, fault->message, STR_NONE);
    http_reply_json(exchange, 400, buf_str(&server->out));
    buf_clear(&server->out);
}

/* --- media types --- */

bool endpoint_is_type(struct str content_type, struct str type)
{
    struct str media, parameters;

    if (str_same(content_type, type))
        return true; /* the usual form */
    str_cut(content_type, ';', &media, &parameters);
    return str_eq_nocase(str_trim(media), type);
}

static bool list_accepts(struct str accept, struct str type, struct str subtype)
{
    bool more = accept.len > 0;

    while (more) {
        struct str one, media, parameters, major, minor;
        more = str_cut(accept, ',', &one, &accept);
        str_cut(one, ';', &media, &parameters);
        if (!str_cut(str_trim(media), '/', &major, &minor))
            continue;
        bool any = str_eq(major, STR("*")) && str_eq(minor, STR("*"));
        if (any || (str_eq_nocase(major, type) &&
                    (str_eq(minor, STR("*")) || str_eq_nocase(minor, subtype))))
            return true;
    }
    return false;
}

/* The list may be spread over several headers. */
bool endpoint_accepts(const struct http_request *http, struct str type, struct str subtype)
{
    for (size_t i = 0; i < http->header_count; i++)
        if (str_eq_nocase(http->headers[i].name, STR("Accept")) &&
            list_accepts(http->headers[i].value, type, subtype))
            return true;
    return false;
}

void endpoint_again(struct mcp_server *server, struct http_exchange *exchange,
                    const struct http_request *http, struct visitor who)
{
    server->http_again(server, exchange, http, who);
}
