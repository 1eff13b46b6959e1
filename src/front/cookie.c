/*
 * front/cookie: the two halves of a sign-in in a browser, and what keeps other pages from using it.
 *
 * The cookie's name has the port, because cookies do not know ports: two servers on one machine
 * would overwrite each other's. If the public address has a path, the name has its digest too:
 * there may be another server at another path, and a cookie that begins with __Host- is for all
 * paths. No script can read it (HttpOnly), other sites cannot make a browser send it
 * (SameSite=Strict), and where links begin with https it is sent over TLS alone (Secure, and
 * __Host-, so that no other host of the domain can set it).
 *
 * But it is sent to every port of the host: whatever else listens on this machine is given the
 * cookie of whoever visits it, and can send it here. So a cookie alone opens nothing. The other
 * half, the page key, is handed over once, in the reply to the request that signs in. The page
 * keeps it in the storage of its origin, port and all, and sends it as a header with each request.
 * A page of another origin can neither read it nor send that header.
 *
 * A browser may send any number of cookies of our name: another server of this host can have set
 * some, for other paths. The page key says which sign-in it is, so one of them has to be its
 * cookie.
 *
 * A change must also come from our own origin.
 */
#include <stdio.h>

#include "front/signin.h"

static bool is_secret(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!((text.at[i] >= 'a' && text.at[i] <= 'z') ||
              (text.at[i] >= 'A' && text.at[i] <= 'Z') ||
              (text.at[i] >= '0' && text.at[i] <= '9') || text.at[i] == '-' || text.at[i] == '_'))
            return false;
    return text.len == ID_LEN;
}

/* Of the browser's address: that of the public URL, or of the first TCP address listened on. */
static int port_of(const struct front *front)
{
    size_t which = 0;

    if (front->public_url.origin.len)
        return front->public_url.port;
    while (which < front->listener_count && front_port(front, which) == 0)
        which++;
    return front_port(front, which);
}

enum {
    COOKIE_NAME_MAX = 32,   /* bytes of a cookie's name, with a NUL */
    COOKIE_PLACE_LEN = 8,   /* of them, for the digest of a path */
    COOKIE_DIGEST_LEN = 43, /* bytes of that digest: a SHA-256 as base64url */
};

static struct str name_of(const struct front *front, char out[COOKIE_NAME_MAX])
{
    struct str path = front->public_url.path;
    char place[COOKIE_DIGEST_LEN] = "";
    struct digest digest;

    if (path.len) {
        digest_of_parts(&path, 1, &digest);
        base64url_encode(digest_str(&digest), place);
    }
    int len =
        snprintf(out, COOKIE_NAME_MAX, "%snod-%d%s%.*s", front_is_secure(front) ? "__Host-" : "",
                 port_of(front), path.len ? "-" : "", COOKIE_PLACE_LEN, place);
    return str_n(out, (size_t)len);
}

bool cookie_has(const struct front *front, const struct http_request *http,
                const struct digest *digest)
{
    char text[COOKIE_NAME_MAX];
    struct str name = name_of(front, text);
    struct digest one;

    for (size_t i = 0; i < http->header_count; i++) {
        struct str rest = http->headers[i].value, pair, key, value;
        bool more = str_eq_nocase(http->headers[i].name, STR("Cookie"));
        while (more) {
            more = str_cut(rest, ';', &pair, &rest);
            if (!str_cut(str_trim(pair), '=', &key, &value) || !str_eq(key, name) ||
                !is_secret(value))
                continue;
            digest_of(value, &one);
            if (!digest || str_eq(digest_str(&one), digest_str(digest)))
                return true;
        }
    }
    return false;
}

struct str cookie_page_key(const struct http_request *http)
{
    return http_named(http, HTTP_NAME_X_PAGE_KEY);
}

struct str cookie_line(const struct front *front, struct str secret, struct arena *arena)
{
    char text[COOKIE_NAME_MAX];
    struct str name = name_of(front, text);
    int64_t seconds = secret.len ? front->signins->times.session_ms / 1000 : 0;

    return arena_fmt(arena,
                     STR_FMT "=" STR_FMT "; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s",
                     STR_ARG(name), STR_ARG(secret), (long long)seconds,
                     front_is_secure(front) ? "; Secure" : "");
}

bool cookie_origin_ok(const struct front *front, const struct http_request *http)
{
    struct str origin = http_named(http, HTTP_NAME_ORIGIN);
    struct str host = http_named(http, HTTP_NAME_HOST);
    struct str scheme = front_has_tls(front) ? STR("https://") : STR("http://");

    if (front->public_url.origin.len && str_eq_nocase(origin, front->public_url.origin))
        return true;
    /* The Host has been checked: it is one of our names, and a page cannot choose it. */
    return host.len && str_starts(origin, scheme) &&
           str_eq_nocase(str_skip(origin, scheme.len), host);
}
