/*
 * net/listener: see listener.h.
 *
 * "localhost" is two sockets, because a browser may try either address first; the second takes the
 * port that the first one got, and does without where there is no IPv6. Options that every
 * connection needs (no Nagle delay, keep-alive probes) are set once, on the listening socket: an
 * accepted socket inherits them, which saves their system calls on each.
 */
#include "net/listener.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"

enum {
    LISTENER_SOCKETS_MAX = 2,
    LISTENER_HOST_MAX = 64,      /* characters of an address */
    LISTENER_KEEPALIVE_SEC = 60, /* silence before the kernel asks whether the peer is alive */
};

struct listener_socket {
    union {
        uv_handle_t any;
        uv_stream_t uv;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } handle;
};

struct listener {
    struct loop *loop;
    void (*accepted)(struct stream *stream, void *data);
    void *data;
    struct listener_socket sockets[LISTENER_SOCKETS_MAX];
    size_t count; /* sockets that were initialised, and so must be closed */
    size_t open;  /* of these, the ones libuv still holds */
    bool closed;
};

static void on_socket_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;

    if (--listener->open == 0 && listener->closed)
        mem_free(listener);
}

static void on_connection(uv_stream_t *uv, int status)
{
    struct listener *listener = uv->data;
    struct stream *stream;

    if (status < 0) {
        LOG_WARN("a connection could not be accepted", LOG_CSTR("error", uv_strerror(status)));
        return;
    }
    if (stream_accept(listener->loop, uv, &stream) == NOD_OK)
        listener->accepted(stream, listener->data);
}

static uv_tcp_t *socket_add_tcp(struct listener *listener)
{
    struct listener_socket *socket = &listener->sockets[listener->count];

    if (uv_tcp_init(loop_uv(listener->loop), &socket->handle.tcp) != 0)
        return NULL;
    listener->count++;
    listener->open++;
    socket->handle.any.data = listener;
    return &socket->handle.tcp;
}

static int listen_address(struct listener *listener, const struct sockaddr *address)
{
    uv_tcp_t *tcp = socket_add_tcp(listener);

    if (!tcp)
        return UV_EMFILE;
    unsigned flags = address->sa_family == AF_INET6 ? UV_TCP_IPV6ONLY : 0;
    int error = uv_tcp_bind(tcp, address, flags);
    if (error != 0)
        return error;
    uv_tcp_nodelay(tcp, 1);
    uv_tcp_keepalive(tcp, 1, LISTENER_KEEPALIVE_SEC);
    return uv_listen((uv_stream_t *)tcp, LISTENER_BACKLOG, on_connection);
}

static int listen_localhost(struct listener *listener, int port)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    uv_ip4_addr("127.0.0.1", port, &v4);
    int error = listen_address(listener, (const struct sockaddr *)&v4);
    if (error != 0)
        return error;
    uv_ip6_addr("::1", listener_port(listener), &v6);
    if (listen_address(listener, (const struct sockaddr *)&v6) != 0) {
        LOG_DEBUG("localhost is served on 127.0.0.1 alone");
        uv_close(&listener->sockets[listener->count - 1].handle.any, on_socket_closed);
    }
    return 0;
}

static int listen_tcp(struct listener *listener, struct str host, int port)
{
    char text[LISTENER_HOST_MAX + 1];
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (port < 0 || port > UINT16_MAX || !host.len || host.len > LISTENER_HOST_MAX)
        return UV_EINVAL;
    if (str_eq(host, STR("localhost")))
        return listen_localhost(listener, port);
    snprintf(text, sizeof(text), STR_FMT, STR_ARG(host));
    if (uv_ip4_addr(text, port, &v4) == 0)
        return listen_address(listener, (const struct sockaddr *)&v4);
    if (uv_ip6_addr(text, port, &v6) == 0)
        return listen_address(listener, (const struct sockaddr *)&v6);
    return UV_EINVAL;
}

/* A socket file that nobody listens on is left over from a process that died. */
static void remove_stale(const struct sockaddr_un *address)
{
    struct stat info;

    if (lstat(address->sun_path, &info) != 0 || !S_ISSOCK(info.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
        errno == ECONNREFUSED)
        unlink(address->sun_path);
    close(fd);
}

static int listen_unix(struct listener *listener, struct str path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct listener_socket *socket = &listener->sockets[0];

    if (!path.len || path.len >= sizeof(address.sun_path))
        return UV_ENAMETOOLONG;
    memcpy(address.sun_path, path.at, path.len);
    remove_stale(&address);
    int error = uv_pipe_init(loop_uv(listener->loop), &socket->handle.pipe, 0);
    if (error != 0)
        return error;
    listener->count = listener->open = 1;
    socket->handle.any.data = listener;
    error = uv_pipe_bind(&socket->handle.pipe, address.sun_path);
    if (error != 0)
        return error;
    /* Before listen(), so that there is no moment in which somebody else could connect. */
    if (chmod(address.sun_path, S_IRUSR | S_IWUSR) != 0)
        return uv_translate_sys_error(errno);
    return uv_listen(&socket->handle.uv, LISTENER_BACKLOG, on_connection);
}

nod_status listener_open(struct loop *loop, struct str host, int port,
                         void (*accepted)(struct stream *stream, void *data), void *data,
                         struct listener **out)
{
    struct listener *listener = MEM_NEW(struct listener);
    struct str unix_prefix = STR("unix:");

    listener->loop = loop;
    listener->accepted = accepted;
    listener->data = data;
    int error = str_starts(host, unix_prefix)
                    ? listen_unix(listener, str_skip(host, unix_prefix.len))
                    : listen_tcp(listener, host, port);
    if (error != 0) {
        LOG_ERROR("cannot listen; give an address of this machine and a free port",
                  LOG_STR("host", host), LOG_INT("port", port),
                  LOG_CSTR("error", uv_strerror(error)));
        listener_close(listener);
        return NOD_E_IO;
    }
    *out = listener;
    return NOD_OK;
}

int listener_port(const struct listener *listener)
{
    struct sockaddr_storage address;
    int len = sizeof(address);

    if (uv_handle_get_type(&listener->sockets[0].handle.any) != UV_TCP ||
        uv_tcp_getsockname(&listener->sockets[0].handle.tcp, (struct sockaddr *)&address, &len) !=
            0)
        return 0;
    return address.ss_family == AF_INET6
               ? ntohs(((const struct sockaddr_in6 *)(const void *)&address)->sin6_port)
               : ntohs(((const struct sockaddr_in *)(const void *)&address)->sin_port);
}

void listener_close(struct listener *listener)
{
    if (!listener || listener->closed)
        return;
    listener->closed = true;
    if (!listener->open) {
        mem_free(listener);
        return;
    }
    for (size_t i = 0; i < listener->count; i++)
        if (!uv_is_closing(&listener->sockets[i].handle.any))
            uv_close(&listener->sockets[i].handle.any, on_socket_closed);
}
