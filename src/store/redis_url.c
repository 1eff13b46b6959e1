/*
 * store/redis: the address.
 *
 * An address is scheme://[user[:password]@][host[:port]][/path][?name=value&...]. Each part is
 * percent-decoded after it was cut out, so a password may hold any byte but NUL. An unknown part is
 * an error that names it: a misspelt option must not silently mean its default.
 *
 * Holds always: no message made here, and no text in `shown`, contains the password.
 */
#include <stddef.h>
#include <stdio.h>

#include "base/percent.h"
#include "store/redis_inside.h"

enum { PORT_DEFAULT = 6379, PORT_MOST = 65535, DB_MOST = 1 << 20, TIMEOUT_MOST_MS = 600000 };

static bool url_refuse(char *why, const char *what, struct str which)
{
    snprintf(why, REDIS_WHY_MAX, "%s" STR_FMT, what, STR_ARG(which));
    return false;
}

static bool decode(struct str text, char *out, size_t room)
{
    size_t len;

    return percent_decode(text, out, room, &len);
}

static bool number(struct str text, int64_t most, int64_t *out)
{
    return str_to_i64(text, out) && *out >= 0 && *out <= most;
}

/* --- options --- */

static bool set_prefix(struct redis_url *url, struct str value)
{
    /* Braces would be a hash tag of their own. */
    return decode(value, url->prefix, sizeof(url->prefix)) && !strpbrk(url->prefix, "{}");
}

static bool set_db(struct redis_url *url, struct str value)
{
    int64_t n;

    if (!number(value, DB_MOST, &n))
        return false;
    url->db = (int)n;
    return true;
}

static bool set_strict(struct redis_url *url, struct str value)
{
    url->strict = str_eq(value, STR("1"));
    return url->strict || str_eq(value, STR("0"));
}

static bool set_timeout(struct redis_url *url, struct str value)
{
    return number(value, TIMEOUT_MOST_MS, &url->timeout_ms) && url->timeout_ms > 0;
}

static const struct {
    struct str name;
    bool (*set)(struct redis_url *url, struct str value);
    size_t file; /* where the name of a file goes, if there is no function */
} options[] = {
    { STR_INIT("prefix"), set_prefix, 0 },
    { STR_INIT("db"), set_db, 0 },
    { STR_INIT("strict"), set_strict, 0 },
    { STR_INIT("timeout"), set_timeout, 0 },
    { STR_INIT("ca"), NULL, offsetof(struct redis_url, ca) },
    { STR_INIT("cert"), NULL, offsetof(struct redis_url, cert) },
    { STR_INIT("key"), NULL, offsetof(struct redis_url, key) },
};

static bool parse_option(struct redis_url *url, struct str option, char *why)
{
    struct str name, value = STR_NONE;

    str_cut(option, '=', &name, &value);
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (str_eq(name, options[i].name))
            return (options[i].set
                        ? options[i].set(url, value)
                        : decode(value, (char *)url + options[i].file, REDIS_PATH_MAX)) ||
                   url_refuse(why, "its option has a value that cannot be used: ", option);
    return url_refuse(why, "it has an option that is not known: ", name);
}

/* --- the whole --- */

static const struct {
    struct str scheme;
    bool tls;
    bool local;
} schemes[] = {
    { STR_INIT("redis://"), false, false },
    { STR_INIT("rediss://"), true, false },
    { STR_INIT("redis+unix://"), false, true },
    { STR_INIT("unix://"), false, true },
};

_Static_assert(REDIS_HOST_MAX == 256 && REDIS_PATH_MAX == 1024 && REDIS_SECRET_MAX == 512,
               "the messages below name the limits");

static bool parse_user(struct redis_url *url, struct str text, char *why)
{
    struct str user, password;
    bool both = str_cut(text, ':', &user, &password);

    /* What cannot be decoded may be the password, so it is not repeated. */
    if (!decode(user, url->user, sizeof(url->user)) ||
        (both && !decode(password, url->password, sizeof(url->password))))
        return url_refuse(
            why, "its user or password has more than 511 bytes, or is badly percent-encoded",
            STR(""));
    return true;
}

static bool parse_host(struct redis_url *url, struct str text, char *why)
{
    struct str host = text, port = STR_NONE;
    int64_t n;

    if (host.len && host.at[0] == '[') { /* an IPv6 address */
        if (!str_cut(str_skip(host, 1), ']', &host, &port))
            return url_refuse(why, "its host has no closing bracket", STR(""));
        if (port.len && port.at[0] != ':')
            return url_refuse(why, "there is something after its host: ", port);
        port = str_skip(port, 1);
    } else {
        str_cut(text, ':', &host, &port);
    }
    if (port.len) {
        if (!number(port, PORT_MOST, &n) || n == 0)
            return url_refuse(why, "its port is not a port number: ", port);
        url->port = (int)n;
    }
    if (!decode(host.len ? host : STR("127.0.0.1"), url->host, sizeof(url->host)))
        return url_refuse(why, "its host has more than 255 bytes, or is badly percent-encoded",
                          STR(""));
    return true;
}

static bool parse_place(struct redis_url *url, struct str rest, bool local, char *why)
{
    const char *slash = rest.len ? memchr(rest.at, '/', rest.len) : NULL;
    size_t cut = slash ? (size_t)(slash - rest.at) : rest.len;
    struct str authority = str_n(rest.at, cut), path = str_skip(rest, cut), host = authority;
    struct str user = STR("");

    for (size_t i = authority.len; i > 0; i--) { /* the last @: a host contains none */
        if (authority.at[i - 1] != '@')
            continue;
        user = str_n(authority.at, i - 1);
        host = str_skip(authority, i);
        break;
    }
    if (!parse_user(url, user, why))
        return false;
    if (local) {
        if (host.len || path.len < 2)
            return url_refuse(why, "it names no socket: redis+unix:///path", STR(""));
        return decode(path, url->path, sizeof(url->path)) ||
               url_refuse(why, "its path has more than 1023 bytes, or is badly percent-encoded",
                          STR(""));
    }
    if (!parse_host(url, host, why))
        return false;
    path = str_skip(path, 1);
    return !path.len || set_db(url, path) ||
           url_refuse(why, "what follows its host is not the number of a database: ", path);
}

bool redis_url_parse(struct str text, struct redis_url *out, char why[REDIS_WHY_MAX])
{
    *out = (struct redis_url){ .port = PORT_DEFAULT, .timeout_ms = REDIS_TIMEOUT_MS };
    snprintf(out->prefix, sizeof(out->prefix), "%s", "nod:");
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (!str_starts(text, schemes[i].scheme))
            continue;
        struct str rest, query = STR_NONE, option;
        out->tls = schemes[i].tls;
        str_cut(str_skip(text, schemes[i].scheme.len), '?', &rest, &query);
        if (!parse_place(out, rest, schemes[i].local, why))
            return false;
        while (query.len) {
            struct str more = STR_NONE;
            str_cut(query, '&', &option, &more);
            if (!parse_option(out, option, why))
                return false;
            query = more;
        }
        if (out->path[0])
            snprintf(out->shown, sizeof(out->shown), "redis+unix://%.400s, database %d", out->path,
                     out->db);
        else
            snprintf(out->shown, sizeof(out->shown), "redis%s://%s:%d/%d", out->tls ? "s" : "",
                     out->host, out->port, out->db);
        return true;
    }
    return url_refuse(why, "it must begin with redis://, rediss:// or redis+unix://", STR(""));
}

bool redis_address_shown(const char *url, char shown[REDIS_WHY_MAX], char why[REDIS_WHY_MAX])
{
    struct redis_url parsed;
    bool fine = redis_url_parse(str_of(url), &parsed, why);

    snprintf(shown, REDIS_WHY_MAX, "%s", fine ? parsed.shown : "redis://");
    explicit_bzero(&parsed, sizeof(parsed));
    return fine;
}
