/*
 * front/cookie: the cookie of a sign-in, and what keeps other pages from using it.
 *
 * Its name has the port, because cookies do not know ports: two servers on one machine would
 * overwrite each other's. If the public address has a path, the name has its digest too: there may
 * be another server at another path, and a cookie that begins with __Host- is for all paths. A
 * browser sends it only from our own pages (SameSite=Strict), no script can read it (HttpOnly), and
 * where links begin with https it is sent over TLS alone (Secure, and
 * __Host-, so that no other host of the domain can set it).
 *
 * A browser may send several of our name: another server of this host can have set one for a path,
 * and a browser puts that one first. So each is tried, up to COOKIES_MAX, so that a few cannot shut
 * out the one that is valid.
 *
 * "Same site" ignores ports, and a page of another server on this machine is the same site. So a
 * change must also come from our own origin, port and all, and carry a text that only our pages
 * can have read (csrf). The text is a digest of the cookie's secret: nothing needs to be kept.
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
    COOKIE_NAME_MAX = 32, /* bytes of a cookie's name, with a NUL */
    COOKIE_PLACE_LEN = 8, /* of them, for the digest of a path */
};

static struct str name_of(const struct front *front, char out[COOKIE_NAME_MAX])
{
    struct str path = front->public_url.path;
    char place[CSRF_LEN] = ""; /* a digest, too */
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

struct str cookie_find(const struct front *front, const struct http_request *http, size_t which)
{
    char text[COOKIE_NAME_MAX];
    struct str name = name_of(front, text);

    for (size_t i = 0; i < http->header_count && which < COOKIES_MAX; i++) {
        struct str rest = http->headers[i].value, pair, key, value;
        bool more = str_eq_nocase(http->headers[i].name, STR("Cookie"));
        while (more) {
            more = str_cut(rest, ';', &pair, &rest);
            if (str_cut(str_trim(pair), '=', &key, &value) && str_eq(key, name) &&
                is_secret(value) && which-- == 0)
                return value;
        }
    }
    return STR_NONE;
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

void csrf_of(struct str secret, char out[CSRF_LEN])
{
    const struct str parts[] = { STR("nod csrf"), secret };
    struct digest digest;

    digest_of_parts(parts, 2, &digest);
    base64url_encode(digest_str(&digest), out);
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
