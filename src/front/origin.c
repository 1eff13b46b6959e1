/*
 * front/origin: the checks of Host and Origin.
 *
 * The port of a loopback name is ignored: a forwarded port is still this machine, and rebinding is
 * about names. Names are compared as a whole, without regard to case: "localhost.evil.example" is
 * not localhost.
 */
#include "front/origin.h"

#include <arpa/inet.h>

enum { ORIGIN_HTTP_PORT = 80 }; /* of a Host without one */

/* Splits "name:port" and "[addr]:port". False: it is neither. */
static bool split_port(struct str host, struct str *name, struct str *port)
{
    *port = STR_NONE;
    if (host.len && host.at[0] == '[') {
        const char *close = memchr(host.at, ']', host.len);
        if (!close)
            return false;
        size_t inside = (size_t)(close - host.at);
        struct str rest = str_skip(host, inside + 1);
        *name = str_n(host.at + 1, inside - 1);
        if (rest.len == 0)
            return name->len > 0;
        if (rest.at[0] != ':')
            return false;
        *port = str_skip(rest, 1);
    } else if (!str_cut(host, ':', name, port)) {
        *name = host;
        return name->len > 0;
    }
    int64_t number;
    return name->len > 0 && port->len <= 5 && str_to_i64(*port, &number) && number > 0 &&
           number <= 65535;
}

/* False: it is a name. */
static bool read_address(struct str name, bool *loopback)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr four;
    struct in6_addr six;

    if (name.len == 0 || name.len >= sizeof(text))
        return false;
    memcpy(text, name.at, name.len);
    text[name.len] = '\0';
    if (strlen(text) != name.len)
        return false;
    bool is_four = inet_pton(AF_INET, text, &four) == 1;
    if (!is_four && inet_pton(AF_INET6, text, &six) != 1)
        return false;
    *loopback = is_four ? (ntohl(four.s_addr) >> 24) == 127 : IN6_IS_ADDR_LOOPBACK(&six);
    return true;
}

static bool name_is_loopback(struct str name)
{
    bool loopback;

    return str_eq(name, STR("127.0.0.1")) || /* the usual form */
           str_eq_nocase(name, STR("localhost")) || (read_address(name, &loopback) && loopback);
}

bool origin_host_is_address(struct str host)
{
    struct str name, port;
    bool loopback;

    return split_port(host, &name, &port) && read_address(name, &loopback);
}

bool origin_is_loopback(struct str host)
{
    if (str_starts(host, STR("unix:")))
        return true;
    if (host.len > 2 && host.at[0] == '[' && host.at[host.len - 1] == ']')
        host = str_n(host.at + 1, host.len - 2);
    return name_is_loopback(host);
}

static bool is_allowed(const struct origin_rules *rules, struct str host, struct str name)
{
    for (size_t i = 0; i < rules->host_count; i++)
        if (str_eq_nocase(rules->hosts[i], host) || str_eq_nocase(rules->hosts[i], name))
            return true;
    return false;
}

bool origin_host_is_localhost(const struct origin_rules *rules, struct str host, int *port)
{
    struct str name, digits;
    int64_t number = ORIGIN_HTTP_PORT;

    if (!split_port(host, &name, &digits) || !str_eq_nocase(name, STR("localhost")) ||
        is_allowed(rules, host, name))
        return false;
    if (digits.len)
        str_to_i64(digits, &number);
    *port = (int)number;
    return true;
}

bool origin_host_ok(const struct origin_rules *rules, struct str host)
{
    struct str name, port;

    if (!split_port(host, &name, &port))
        return false;
    if (name_is_loopback(name))
        return true;
    for (size_t i = 0; i < rules->own_count; i++)
        if (str_eq_nocase(name, rules->own[i]))
            return true;
    return is_allowed(rules, host, name);
}

bool origin_allowed(const struct origin_rules *rules, struct str origin, size_t *place)
{
    for (*place = 0; *place < rules->origin_count; ++*place)
        if (str_eq_nocase(rules->origins[*place], origin))
            return true;
    return false;
}

bool origin_ok(const struct origin_rules *rules, struct str origin)
{
    struct str host = STR_NONE, name, port;
    size_t place;

    if (origin.len == 0 || origin_allowed(rules, origin, &place))
        return true;
    if (str_starts(origin, STR("http://")))
        host = str_skip(origin, 7);
    else if (str_starts(origin, STR("https://")))
        host = str_skip(origin, 8);
    return split_port(host, &name, &port) && name_is_loopback(name);
}
