/*
 * base/os_linux: base/os with what Linux has. The only file that needs Linux.
 */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

void os_random(void *out, size_t len)
{
    char *to = out;

    while (len > 0) {
        ssize_t got = getrandom(to, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            fprintf(stderr, "nod: the kernel gives no random bytes (getrandom)\n");
            abort();
        }
        to += got;
        len -= (size_t)got;
    }
}

size_t os_piece_size(void *piece)
{
    return malloc_usable_size(piece);
}

void *os_hidden_pages(size_t len)
{
    void *pages = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED)
        return NULL;
    madvise(pages, len, MADV_DONTDUMP);
    madvise(pages, len, MADV_DONTFORK);
    if (mlock(pages, len) != 0) /* as much as this user may lock is locked already */
        errno = 0;
    return pages;
}

void os_hidden_free(void *pages, size_t len)
{
    munmap(pages, len);
}

int os_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int os_accept(int fd)
{
    return accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int os_reopen(int fd, int flags)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, flags | O_NONBLOCK | O_CLOEXEC);
}

bool os_peer_is_us(int fd)
{
    struct ucred credentials;
    socklen_t len = sizeof(credentials);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &len) == 0 &&
           credentials.uid == geteuid();
}

/* What the kernel says instead of a user whom this user namespace has no number for. */
enum { UNKNOWN_UID = 65534 };

struct socket_question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 about;
};

/* Writes one end of a connection into a question. */
static bool put_end(const struct sockaddr *address, void *to, uint16_t *port)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
        memcpy(to, &four->sin_addr, sizeof(four->sin_addr));
        *port = four->sin_port;
        return true;
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
        memcpy(to, &six->sin6_addr, sizeof(six->sin6_addr));
        *port = six->sin6_port;
        return true;
    }
    return false;
}

/* The kernel looks the one socket up that has these two ends, and answers at once. With a mark it
 * must be that very socket. */
static bool find_socket(int fd, const struct sockaddr *near, const struct sockaddr *far,
                        uint64_t mark, struct inet_diag_msg *found)
{
    struct socket_question question = {
        .head = { .nlmsg_len = sizeof(question),
                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                  .nlmsg_flags = NLM_F_REQUEST },
        .about = { .sdiag_family = (uint8_t)near->sa_family,
                   .sdiag_protocol = IPPROTO_TCP,
                   .idiag_states = UINT32_MAX,
                   .id.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } },
    };
    struct inet_diag_sockid *id = &question.about.id;
    union {
        struct nlmsghdr head;
        char bytes[1024];
    } reply;

    if (near->sa_family != far->sa_family || !put_end(near, id->idiag_src, &id->idiag_sport) ||
        !put_end(far, id->idiag_dst, &id->idiag_dport))
        return false;
    if (mark) {
        id->idiag_cookie[0] = (uint32_t)mark;
        id->idiag_cookie[1] = (uint32_t)(mark >> 32);
    }
    if (send(fd, &question, sizeof(question), 0) != (ssize_t)sizeof(question) ||
        recv(fd, &reply, sizeof(reply), 0) < (ssize_t)NLMSG_LENGTH(sizeof(*found)) ||
        reply.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    memcpy(found, NLMSG_DATA(&reply.head), sizeof(*found));
    return found->id.idiag_sport == id->idiag_sport && found->id.idiag_dport == id->idiag_dport;
}

uint64_t os_socket_mark(int fd)
{
    uint64_t mark = 0;
    socklen_t len = sizeof(mark);

    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &mark, &len) == 0 ? mark : 0;
}

size_t os_unacknowledged(int fd)
{
    int bytes = 0;

    return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? (size_t)bytes : 0;
}

/*
 * A socket that nobody holds any more has no inode, and the kernel says that it is root's. So only
 * an open one counts, from which nothing was closed. Our own end is looked at last: as long as it
 * is established, no other connection can have the same two ends.
 */
bool os_tcp_is_us(const struct sockaddr *theirs, const struct sockaddr *ours, uint64_t mark)
{
    struct inet_diag_msg found;
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);

    if (fd < 0)
        return false;
    bool yes = mark && find_socket(fd, theirs, ours, 0, &found) &&
               found.idiag_state == TCP_ESTABLISHED && found.idiag_inode != 0 &&
               found.idiag_uid == geteuid() && found.idiag_uid != UNKNOWN_UID &&
               find_socket(fd, ours, theirs, mark, &found) && found.idiag_state == TCP_ESTABLISHED;
    close(fd);
    return yes;
}
