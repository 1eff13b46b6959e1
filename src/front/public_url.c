/*
 * front/public_url: see public_url.h.
 *
 * The origin is written as browsers write it, so that the two can be compared as text.
 */
#include "front/public_url.h"

#include "net/peer.h"

static bool in_set(struct str text, const char *further)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!plain && (!c || !strchr(further, c)))
            return false;
    }
    return text.len > 0;
}

static struct str lowered(struct arena *arena, struct str text)
{
    char *copy = arena_alloc(arena, text.len + 1);

    for (size_t i = 0; copy && i < text.len; i++)
        copy[i] = (char)(text.at[i] >= 'A' && text.at[i] <= 'Z' ? text.at[i] + 32 : text.at[i]);
    return copy ? str_n(copy, text.len) : STR_NONE;
}

/* "name", "name:port", "[addr]" or "[addr]:port", in lower case. The port is 0 if there is none. */
static bool read_host(struct str text, struct str *name, int *port)
{
    struct str digits = STR_NONE;
    struct peer address;
    int64_t number = 0;

    if (text.len && text.at[0] == '[') {
        const char *close = memchr(text.at, ']', text.len);
        if (!close)
            return false;
        *name = str_n(text.at, (size_t)(close - text.at) + 1);
        digits = str_skip(text, name->len);
        if (digits.len && digits.at[0] != ':')
            return false;
        if (!peer_parse(str_n(name->at + 1, name->len - 2), &address))
            return false;
        digits = digits.len ? str_skip(digits, 1) : digits;
        if (text.len > name->len && !digits.len)
            return false;
    } else {
        bool has_port = str_cut(text, ':', name, &digits);
        if (!in_set(*name, ".-_") || (has_port && !digits.len))
            return false;
    }
    if (digits.len && (digits.len > 5 || !in_set(digits, "") || !str_to_i64(digits, &number) ||
                       number < 1 || number > UINT16_MAX))
        return false;
    *port = (int)number;
    return true;
}

/* The path prefix, without slashes at its end. */
static bool read_path(struct str text, struct str *path)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~' || strchr("?#\"<>\\^`{|}", text.at[i]))
            return false;
    while (text.len && text.at[text.len - 1] == '/')
        text.len--;
    *path = text;
    return true;
}

bool public_url_read(struct str text, struct arena *arena, struct public_url *url, const char **why)
{
    ptrdiff_t mark = str_find(text, STR("://"));
    struct str scheme, rest, host, name, path = STR_NONE;
    int port;

    *url = (struct public_url){ 0 };
    *why = "give one such as https://nod.example.org";
    if (text.len > PUBLIC_URL_MAX || mark <= 0)
        return false;
    scheme = lowered(arena, str_n(text.at, (size_t)mark));
    rest = str_skip(text, (size_t)mark + 3);
    url->https = str_eq(scheme, STR("https"));
    if (!url->https && !str_eq(scheme, STR("http")))
        return false;
    const char *slash = rest.len ? memchr(rest.at, '/', rest.len) : NULL;
    host = lowered(arena, slash ? str_n(rest.at, (size_t)(slash - rest.at)) : rest);
    if (!read_host(host, &name, &port)) {
        *why = "its host is not a name or an address, with or without a port";
        return false;
    }
    if (slash && !read_path(str_skip(rest, host.len), &path)) {
        *why = "its path has characters that a path cannot have; leave out `?` and `#`";
        return false;
    }
    url->port = port ? port : url->https ? 443 : 80;
    if (url->port == (url->https ? 443 : 80))
        url->host = name;
    else
        url->host = host;
    url->host = arena_str(arena, url->host);
    url->path = arena_str(arena, path);
    url->origin = arena_fmt(arena, STR_FMT "://" STR_FMT, STR_ARG(scheme), STR_ARG(url->host));
    return !arena->exhausted;
}
