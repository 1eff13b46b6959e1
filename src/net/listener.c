/*
 * net/listener: see listener.h.
 *
 * "localhost" is two sockets, because a browser may try either address first. The second takes the
 * port of the first, and is left out only if there is no IPv6: whoever had it would be sent what
 * people send to localhost. Options that every connection needs (no
 * Nagle delay, keep-alive probes) are set once, on the listening socket: accepted sockets inherit
 * them, which saves system calls for each.
 *
 * If the process can open no more descriptors, a connection can be neither accepted nor refused
 * (libuv's own listener would refuse it), and would be reported again at once. So the socket is
 * left alone for a moment, and its connections wait in the kernel.
 */
#include "net/listener.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/os.h"

enum {
    LISTENER_SOCKETS_MAX = 2,
    LISTENER_HOST_MAX = 64,      /* characters of an address */
    LISTENER_KEEPALIVE_SEC = 60, /* silence before the kernel asks whether the peer is alive */
    LISTENER_ACCEPTS = 64,       /* connections accepted before others have their turn */
    LISTENER_PAUSE_MS = 100,     /* pause if no more descriptors can be had */
};

struct listener_socket {
    uv_poll_t poll; /* reports connections, which are accepted without libuv: see above */
    struct listener *listener;
    struct timer pause;
    int fd;
};

struct listener {
    struct loop *loop;
    listener_accepted_fn *accepted;
    void *data;
    struct listener_socket sockets[LISTENER_SOCKETS_MAX];
    size_t count;                                              /* sockets that are open */
    size_t polls;                                              /* handles that libuv still holds */
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)]; /* of a Unix socket; or empty */
    struct str tried;                                          /* while it opens: which address */
    bool closed;
};

static void on_connections(uv_poll_t *poll, int status, int what);

static void pause_over(void *data)
{
    struct listener_socket *socket = data;

    uv_poll_start(&socket->poll, UV_READABLE, on_connections);
}

/* Is it a lack of descriptors or memory, and not about one connection? */
static bool is_want_of_room(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void accept_some(struct listener_socket *socket)
{
    struct listener *listener = socket->listener;
    bool local = listener->path[0] != '\0';

    for (int i = 0; i < LISTENER_ACCEPTS && !listener->closed; i++) {
        struct stream *stream;
        int fd = os_accept(socket->fd);
        if (fd < 0 && errno == EAGAIN)
            return;
        if (fd < 0 && is_want_of_room(errno)) {
            LOG_WARN("a connection could not be accepted; trying again soon",
                     LOG_CSTR("error", uv_strerror(uv_translate_sys_error(errno))));
            uv_poll_stop(&socket->poll);
            timer_set(socket->listener->loop, &socket->pause, LISTENER_PAUSE_MS, pause_over,
                      socket);
            return;
        }
        struct peer peer;
        if (fd >= 0)
            peer_of(fd, local, &peer);
        if (fd >= 0 && stream_open_socket(listener->loop, fd, local, &stream) == NOD_OK)
            listener->accepted(stream, &peer, listener->data);
    }
}

static void on_connections(uv_poll_t *poll, int status, int what)
{
    struct listener_socket *socket = poll->data;
    struct loop *loop = socket->listener->loop;

    (void)status; /* accept() reports any error as well */
    (void)what;
    clock_hold();
    accept_some(socket);
    loop_settle(loop);
    clock_release();
}

static int socket_listen(struct listener *listener, struct listener_socket *socket)
{
    if (listen(socket->fd, LISTENER_BACKLOG) != 0)
        return errno;
    if (uv_poll_init(loop_uv(listener->loop), &socket->poll, socket->fd) != 0)
        return ENOMEM;
    listener->polls++;
    listener->count++;
    socket->poll.data = socket;
    uv_poll_start(&socket->poll, UV_READABLE, on_connections);
    return 0;
}

/* The next socket of the listener, unbound; its descriptor or -1. */
static struct listener_socket *socket_open(struct listener *listener, int family)
{
    struct listener_socket *opened = &listener->sockets[listener->count];

    opened->listener = listener;
    opened->fd = os_socket(family);
    return opened;
}

static void option_set(int fd, int level, int option, int value)
{
    /* if this fails, the connection only works a little worse */
    setsockopt(fd, level, option, &value, sizeof(value));
}

static int listen_address(struct listener *listener, const struct sockaddr *address, socklen_t len)
{
    struct listener_socket *socket = socket_open(listener, address->sa_family);

    if (socket->fd < 0)
        return errno;
    option_set(socket->fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (address->sa_family == AF_INET6)
        option_set(socket->fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    option_set(socket->fd, IPPROTO_TCP, TCP_NODELAY, 1);
    option_set(socket->fd, SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef TCP_KEEPIDLE
    option_set(socket->fd, IPPROTO_TCP, TCP_KEEPIDLE, LISTENER_KEEPALIVE_SEC);
#endif
    int error = bind(socket->fd, address, len) == 0 ? socket_listen(listener, socket) : errno;
    if (error != 0)
        close(socket->fd);
    return error;
}

static int listen_localhost(struct listener *listener, int port)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    listener->tried = STR("127.0.0.1");
    uv_ip4_addr("127.0.0.1", port, &v4);
    int error = listen_address(listener, (const struct sockaddr *)&v4, sizeof(v4));
    if (error != 0)
        return error;
    listener->tried = STR("::1");
    uv_ip6_addr("::1", listener_port(listener), &v6);
    error = listen_address(listener, (const struct sockaddr *)&v6, sizeof(v6));
    if (error == EADDRNOTAVAIL || error == EAFNOSUPPORT) {
        LOG_DEBUG("there is no IPv6: localhost is 127.0.0.1 alone");
        return 0;
    }
    return error;
}

static int listen_tcp(struct listener *listener, struct str host, int port)
{
    char text[LISTENER_HOST_MAX + 1];
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (port < 0 || port > UINT16_MAX || !host.len || host.len > LISTENER_HOST_MAX)
        return EINVAL;
    if (str_eq(host, STR("localhost")))
        return listen_localhost(listener, port);
    snprintf(text, sizeof(text), STR_FMT, STR_ARG(host));
    if (uv_ip4_addr(text, port, &v4) == 0)
        return listen_address(listener, (const struct sockaddr *)&v4, sizeof(v4));
    if (uv_ip6_addr(text, port, &v6) == 0)
        return listen_address(listener, (const struct sockaddr *)&v6, sizeof(v6));
    return EINVAL;
}

/* A socket file on which nobody listens was left by a process that died. A file that is no socket
 * is somebody's, and stays: ENOTSOCK. */
static int remove_stale(const struct sockaddr_un *address)
{
    struct stat info;

    if (lstat(address->sun_path, &info) != 0)
        return 0;
    if (!S_ISSOCK(info.st_mode))
        return ENOTSOCK;
    int fd = os_socket(AF_UNIX);
    if (fd < 0)
        return errno;
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
        errno == ECONNREFUSED)
        unlink(address->sun_path);
    close(fd);
    return 0;
}

/* The file gets its permissions before listen(), so that there is no moment in which another user
 * could connect. */
static int listen_bound(struct listener *listener, struct listener_socket *socket,
                        const struct sockaddr_un *address)
{
    memcpy(listener->path, address->sun_path, sizeof(listener->path));
    if (chmod(address->sun_path, S_IRUSR | S_IWUSR) != 0)
        return errno;
    return socket_listen(listener, socket);
}

static int listen_unix(struct listener *listener, struct str path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (!path.len || path.len >= sizeof(address.sun_path))
        return ENAMETOOLONG;
    memcpy(address.sun_path, path.at, path.len);
    int error = remove_stale(&address);
    if (error != 0)
        return error;
    struct listener_socket *socket = socket_open(listener, AF_UNIX);
    if (socket->fd < 0)
        return errno;
    error = bind(socket->fd, (const struct sockaddr *)&address, sizeof(address)) == 0
                ? listen_bound(listener, socket, &address)
                : errno;
    if (error != 0)
        close(socket->fd);
    return error;
}

nod_status listener_open(struct loop *loop, struct str host, int port,
                         listener_accepted_fn *accepted, void *data, struct listener **out)
{
    struct listener *listener = MEM_NEW(struct listener);
    struct str unix_prefix = STR("unix:");

    listener->loop = loop;
    listener->accepted = accepted;
    listener->data = data;
    listener->tried = host;
    int error = str_starts(host, unix_prefix)
                    ? listen_unix(listener, str_skip(host, unix_prefix.len))
                    : listen_tcp(listener, host, port);
    if (error != 0) {
        const char *why = error == EADDRINUSE ? "the address is taken by another program"
                          : error == ENOTSOCK ? "there is a file of this name, and it is no socket"
                                              : uv_strerror(uv_translate_sys_error(error));
        if (str_starts(host, unix_prefix))
            LOG_ERROR("cannot listen; give a path where no other server listens, in a folder that "
                      "exists and that this user may write to",
                      LOG_STR("path", str_skip(host, unix_prefix.len)), LOG_CSTR("why", why));
        else
            LOG_ERROR("cannot listen; give an address of this machine and a free port",
                      LOG_STR("host", listener->tried), LOG_INT("port", port),
                      LOG_CSTR("why", why));
        listener_close(listener);
        return error == EADDRINUSE ? NOD_E_STALE : NOD_E_IO;
    }
    *out = listener;
    return NOD_OK;
}

int listener_port(const struct listener *listener)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);

    if (getsockname(listener->sockets[0].fd, (struct sockaddr *)&address, &len) != 0)
        return 0;
    switch (address.ss_family) {
    case AF_INET:
        return ntohs(((const struct sockaddr_in *)(const void *)&address)->sin_port);
    case AF_INET6:
        return ntohs(((const struct sockaddr_in6 *)(const void *)&address)->sin6_port);
    default:
        return 0;
    }
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct listener *listener = ((struct listener_socket *)handle->data)->listener;

    if (--listener->polls == 0)
        mem_free(listener);
}

void listener_close(struct listener *listener)
{
    if (!listener || listener->closed)
        return;
    listener->closed = true;
    for (size_t i = 0; i < listener->count; i++) {
        struct listener_socket *socket = &listener->sockets[i];
        timer_stop(listener->loop, &socket->pause);
        uv_close((uv_handle_t *)&socket->poll, on_poll_closed);
        close(socket->fd);
    }
    if (listener->path[0])
        unlink(listener->path);
    if (!listener->count)
        mem_free(listener);
}
