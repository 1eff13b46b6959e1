/*
 * front/upgrade: requests that change to another protocol (RFC 9110, 7.8).
 *
 * A route names the protocol that it changes to. Whoever comes to it has passed all other checks
 * before: Host, Origin, who it is, and whether that principal may. Then the request has to ask for
 * the change: HTTP/1.1, "Connection: Upgrade", and the protocol in Upgrade; otherwise 426, with the
 * protocol that would do. A request with a body is refused with 400: what follows the head is the
 * other protocol's, and nobody could tell the two apart. While the server stops, nothing new is
 * taken over.
 *
 * Holds always: what is refused here stays HTTP, so its body, if it has one, is read as one.
 */
#include "front/front_inside.h"

/* Is it in one of the lists of that header? A protocol may have a version behind a slash, which has
 * to be the same. */
static bool upgrade_lists(const struct http_request *http, struct str name, struct str wanted)
{
    for (size_t i = 0; i < http->header_count; i++) {
        struct str rest = http->headers[i].value, one;
        if (!str_eq_nocase(http->headers[i].name, name))
            continue;
        while (rest.len) {
            str_cut(rest, ',', &one, &rest);
            if (str_eq_nocase(str_trim(one), wanted))
                return true;
        }
    }
    return false;
}

static bool upgrade_has_body(const struct http_request *http)
{
    struct str length = http_named(http, HTTP_NAME_CONTENT_LENGTH);

    for (size_t i = 0; i < length.len; i++)
        if (length.at[i] != '0')
            return true;
    return http_named(http, HTTP_NAME_TRANSFER_ENCODING).len > 0;
}

bool upgrade_asked(struct front *front, const struct http_request *http, const struct route *route,
                   struct http_ruling *ruling)
{
    if (!route->upgrade.len)
        return true;
    if (upgrade_has_body(http)) {
        admit_refuse(front, http, route, ruling, 400,
                     STR("A request that changes to another protocol has no body."));
        return false;
    }
    if (front->stopping) {
        ruling->headers[ruling->header_count++] =
            (struct http_header){ STR("Retry-After"), STR(HTTP_RETRY_AFTER) };
        admit_refuse(front, http, route, ruling, 503,
                     STR("This server is stopping; come again later."));
        return false;
    }
    if (!http->old && upgrade_lists(http, STR("Connection"), STR("upgrade")) &&
        upgrade_lists(http, STR("Upgrade"), route->upgrade))
        return true;
    ruling->headers[ruling->header_count++] =
        (struct http_header){ STR("Upgrade"), route->upgrade };
    ruling->headers[ruling->header_count++] =
        (struct http_header){ STR("Connection"), STR("Upgrade") };
    struct buf why;
    buf_init(&why, FRONT_REFUSAL_MAX / 4);
    buf_fmt(
        &why,
        "This path speaks another protocol: send \"Connection: Upgrade\" and \"Upgrade: " STR_FMT
        "\", over HTTP/1.1.",
        STR_ARG(route->upgrade));
    admit_refuse(front, http, route, ruling, 426, buf_str(&why));
    buf_finish(&why);
    return false;
}

struct stream *front_upgrade(const struct front_request *request, const struct http_header *headers,
                             size_t header_count)
{
    const struct route *route = request->http->mark.what;

    return http_upgrade(request->exchange, route->upgrade, headers, header_count);
}
