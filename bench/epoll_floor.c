/* bench/epoll_floor: see epoll_floor.h. Connections are told apart by their descriptor alone. */
#include "epoll_floor.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FLOOR_EVENTS = 1024, FLOOR_FILES = 20000, FLOOR_READ = 64 * 1024 };

/* Bytes of the request that have come so far, by descriptor. */
static struct {
    char *partial;
    size_t len;
} conns[FLOOR_FILES];

static char read_buffer[FLOOR_READ];

static int listen_any(int port_fd)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, 1024) != 0 || getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        exit(1);
    int port = ntohs(address.sin_port);
    if (write(port_fd, &port, sizeof(port)) != sizeof(port))
        exit(1);
    return fd;
}

static void accept_all(int listening, int epoll)
{
    int fd;
    int on = 1;

    while ((fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
        if (fd >= FLOOR_FILES)
            exit(1);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

static void keep_partial(int fd, const char *bytes, size_t len)
{
    conns[fd].partial = realloc(conns[fd].partial, len);
    memcpy(conns[fd].partial, bytes, len);
    conns[fd].len = len;
}

/* Answers every whole request in the bytes; returns what is left over. */
static size_t answer(int fd, const char *bytes, size_t len, const struct epoll_floor *floor)
{
    while (len) {
        const char *end = memmem(bytes, len, "\r\n\r\n", 4);
        size_t whole = end ? (size_t)(end - bytes) + 4 + floor->body_len : SIZE_MAX;
        if (whole > len)
            break;
        if (write(fd, floor->response.at, floor->response.len) != (ssize_t)floor->response.len)
            exit(1);
        bytes += whole;
        len -= whole;
    }
    return len;
}

static void read_one(int fd, const struct epoll_floor *floor)
{
    size_t kept = conns[fd].len;

    if (kept)
        memcpy(read_buffer, conns[fd].partial, kept);
    ssize_t n = read(fd, read_buffer + kept, sizeof(read_buffer) - kept);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        close(fd);
        conns[fd].len = 0;
        return;
    }
    size_t len = kept + (size_t)n;
    size_t left = answer(fd, read_buffer, len, floor);
    conns[fd].len = 0;
    if (left)
        keep_partial(fd, read_buffer + len - left, left);
}

void epoll_floor_serve(int port_fd, void *data)
{
    const struct epoll_floor *floor = data;
    static struct epoll_event events[FLOOR_EVENTS];
    int listening = listen_any(port_fd);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = listening };

    epoll_ctl(epoll, EPOLL_CTL_ADD, listening, &event);
    for (;;) {
        int ready = epoll_wait(epoll, events, FLOOR_EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd == listening)
                accept_all(listening, epoll);
            else
                read_one(events[i].data.fd, floor);
        }
    }
}
