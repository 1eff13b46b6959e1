/*
 * front/pages: what a browser is told with every page of ours and with what the page fetches, and
 * where it is led without a sign-in.
 *
 * The headers let a page load scripts, styles and images from here alone, be in no frame, share
 * nothing with the window that opened it, tell no other site where it came from, and be stored
 * nowhere.
 *
 * A page that is opened from elsewhere (a link in a chat) comes without the cookie, because it is
 * SameSite=Strict, also if somebody is signed in. So it is answered with an empty page that
 * opens the same address again. This time the request comes from our own origin and has the cookie,
 * if there is one; if not, the browser says where it came from, and it is led to /login. So it is
 * opened again once.
 */
#include "front/front_inside.h"

const struct str page_lines = STR_INIT(
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src "
    "'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Cache-Control: no-store\r\n");

/* Paths that need no encoding in a query: all that are found in links of ours. */
static bool is_plain(struct str path)
{
    for (size_t i = 0; i < path.len; i++)
        if (!((path.at[i] >= 'a' && path.at[i] <= 'z') ||
              (path.at[i] >= 'A' && path.at[i] <= 'Z') ||
              (path.at[i] >= '0' && path.at[i] <= '9') || strchr("-_./", path.at[i])))
            return false;
    return true;
}

/* A text as a value in a query. */
static void add_encoded(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (is_plain(str_n(text.at + i, 1)))
            buf_add_char(out, text.at[i]);
        else
            buf_fmt(out, "%%%02X", (unsigned char)text.at[i]);
    }
}

void page_next(struct buf *out, const struct http_request *http, const struct route *route)
{
    if (str_eq(http->path, STR("/")) || !is_plain(http->path))
        return;
    buf_fmt(out, "?next=" STR_FMT, STR_ARG(http->path));
    size_t end = out->len;
    if (route->query && http->query.len) {
        buf_add(out, STR("%3F"));
        add_encoded(out, http->query);
    }
    if (out->overflow) { /* it is longer than any that leads to a page of ours */
        out->len = end;
        out->overflow = false;
    }
}

/* An address as it may stand in a Refresh header: what could end it is encoded. It means the same
 * to whoever decodes it. */
static void add_target(struct buf *out, struct str target)
{
    bool followed = target.len > 1 && target.at[0] == '/' && target.at[1] != '/';

    if (!followed)
        target = STR("/");
    for (size_t i = 0; i < target.len; i++) {
        unsigned char c = (unsigned char)target.at[i];
        if (c <= ' ' || c > '~' || strchr("\"'<>,;\\", c))
            buf_fmt(out, "%%%02X", c);
        else
            buf_add_char(out, (char)c);
    }
}

static void add_header(struct http_ruling *ruling, struct str name, struct str value)
{
    ruling->headers[ruling->header_count++] = (struct http_header){ name, value };
}

bool page_lead(struct front *front, const struct http_request *http, const struct route *route,
               struct http_ruling *ruling)
{
    struct str site = http_header(http, STR("Sec-Fetch-Site"));
    struct str prefix = front->public_url.path;

    if (!route || !route->page || route->anyone)
        return false;
    buf_clear(&front->refusal);
    if (str_eq(site, STR("cross-site")) || str_eq(site, STR("same-site"))) {
        buf_fmt(&front->refusal, "0;url=" STR_FMT, STR_ARG(prefix));
        add_target(&front->refusal, http->target);
        if (front->refusal.overflow) { /* it is longer than any of ours */
            buf_clear(&front->refusal);
            buf_fmt(&front->refusal, "0;url=" STR_FMT "/", STR_ARG(prefix));
        }
        ruling->status = 200;
        add_header(ruling, STR("Refresh"), buf_str(&front->refusal));
        add_header(ruling, STR("Content-Type"), STR("text/html; charset=utf-8"));
        ruling->body = STR("<!doctype html><html lang=en><title>Opening</title>\n");
        return true;
    }
    buf_fmt(&front->refusal, STR_FMT "/login", STR_ARG(prefix));
    page_next(&front->refusal, http, route);
    ruling->status = 303;
    add_header(ruling, STR("Location"), buf_str(&front->refusal));
    return true;
}
