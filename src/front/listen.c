/*
 * front/listen: the addresses that the server listens on.
 *
 * Without tokens the server listens only on loopback addresses, with or without TLS. So there is no
 * anonymous access from other machines.
 */
#include "base/log.h"
#include "front/front_inside.h"

static void on_accepted(struct stream *stream, const struct peer *peer, void *data)
{
    struct front *front = data;

    http_attach(front->http, certificate_wrap(front, stream, peer), peer);
}

bool front_may_listen(const struct front *front, struct str host)
{
    if (front->opts.tokens || origin_is_loopback(host))
        return true;
    LOG_ERROR("refused to listen beyond this machine without tokens; give a token file, or listen "
              "on 127.0.0.1",
              LOG_STR("host", host));
    return false;
}

nod_status front_listen(struct front *front, struct str host, int port)
{
    if (front->listener_count == FRONT_LISTENERS_MAX) {
        LOG_ERROR("too many addresses to listen on", LOG_INT("most", FRONT_LISTENERS_MAX));
        return NOD_E_REFUSED;
    }
    if (!front_may_listen(front, host))
        return NOD_E_REFUSED;
    nod_status status = listener_open(front->opts.loop, host, port, on_accepted, front,
                                      &front->listeners[front->listener_count]);
    if (status != NOD_OK)
        return status;
    front->listener_count++;
    front->own[front->origins.own_count++] = arena_str(&front->texts, host);
    return NOD_OK;
}

int front_port(const struct front *front, size_t which)
{
    return which < front->listener_count && front->listeners[which]
               ? listener_port(front->listeners[which])
               : 0;
}

bool listeners_hold_localhost(const struct front *front, int port)
{
    bool four = false, six = false;

    for (size_t i = 0; i < front->listener_count; i++) {
        struct str host = front->own[i];
        bool both = str_eq(host, STR("localhost")); /* net/listener */
        if (front_port(front, i) != port)
            continue;
        four |= both || str_eq(host, STR("127.0.0.1")) || str_eq(host, STR("0.0.0.0"));
        six |= both || str_eq(host, STR("::1")) || str_eq(host, STR("::"));
    }
    return four && six;
}

/* A wildcard is an address to listen on, not one to connect to. Without a certificate a link names
 * the address: "localhost" may lead to another program (admit.c). */
static struct str name_of(const struct front *front, struct str host)
{
    bool four = str_eq(host, STR("0.0.0.0"));

    if (!four && !str_eq(host, STR("::")))
        return host;
    return front_has_tls(front) ? STR("localhost") : four ? STR("127.0.0.1") : STR("::1");
}

static bool is_unix(struct str host)
{
    return str_starts(host, STR("unix:"));
}

bool front_is_linked(const struct front *front)
{
    for (size_t i = 0; i < front->listener_count; i++)
        if (!is_unix(front->own[i]))
            return true;
    return front->public_url.origin.len > 0;
}

struct str front_socket(const struct front *front)
{
    for (size_t i = 0; i < front->listener_count; i++)
        if (is_unix(front->own[i]))
            return front->own[i];
    return STR_NONE;
}

/* The listener that links are made of; listener_count: there is none. */
static size_t linked_listener(const struct front *front)
{
    size_t which = 0;

    while (which < front->listener_count && is_unix(front->own[which]))
        which++;
    return which;
}

bool front_links_lead_here_only(const struct front *front)
{
    size_t which = linked_listener(front);
    bool reached = false;

    if (front->public_url.origin.len || which == front->listener_count)
        return false;
    for (size_t i = 0; i < front->listener_count; i++)
        reached |= !is_unix(front->own[i]) && !origin_is_loopback(front->own[i]);
    return reached && origin_is_loopback(name_of(front, front->own[which]));
}

struct str front_link(const struct front *front, struct str path, struct arena *arena)
{
    const struct public_url *url = &front->public_url;
    const char *scheme = front_has_tls(front) ? "https" : "http";
    size_t which = linked_listener(front);

    if (url->origin.len)
        return arena_fmt(arena, STR_FMT STR_FMT STR_FMT, STR_ARG(url->origin), STR_ARG(url->path),
                         STR_ARG(path));
    if (which == front->listener_count)
        return arena_fmt(arena, "http://localhost" STR_FMT, STR_ARG(path));
    struct str host = name_of(front, front->own[which]);
    bool six = memchr(host.at, ':', host.len) != NULL;
    return arena_fmt(arena, "%s://%s" STR_FMT "%s:%d" STR_FMT, scheme, six ? "[" : "",
                     STR_ARG(host), six ? "]" : "", front_port(front, which), STR_ARG(path));
}

void listeners_close(struct front *front)
{
    for (size_t i = 0; i < front->listener_count; i++) {
        listener_close(front->listeners[i]);
        front->listeners[i] = NULL;
    }
}
