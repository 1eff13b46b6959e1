/*
 * front/listen: the addresses that are listened on.
 *
 * Without tokens only loopback addresses are listened on, TLS or not: there is no other anonymous
 * access.
 */
#include "base/log.h"
#include "front/front_inside.h"

static void on_accepted(struct stream *stream, const struct peer *peer, void *data)
{
    struct front *front = data;

    http_attach(front->http, certificate_wrap(front, stream, peer), peer);
}

nod_status front_listen(struct front *front, struct str host, int port)
{
    if (front->listener_count == FRONT_LISTENERS_MAX) {
        LOG_ERROR("too many addresses to listen on", LOG_INT("most", FRONT_LISTENERS_MAX));
        return NOD_E_REFUSED;
    }
    if (!front->opts.tokens && !origin_is_loopback(host)) {
        LOG_ERROR("refused to listen beyond this machine without tokens; give a token file, or "
                  "listen on 127.0.0.1",
                  LOG_STR("host", host));
        return NOD_E_REFUSED;
    }
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

void listeners_close(struct front *front)
{
    for (size_t i = 0; i < front->listener_count; i++) {
        listener_close(front->listeners[i]);
        front->listeners[i] = NULL;
    }
}
