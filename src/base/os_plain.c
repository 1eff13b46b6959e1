/*
 * base/os_plain: base/os with what every POSIX system has.
 *
 * It costs two more system calls for each connection, and there is a moment in which a descriptor
 * could be inherited, which matters only if another thread starts a program just then. Freed pieces
 * of base/mem go back to malloc at once. If pipes cannot be opened again, and standard error is the
 * same pipe as standard output, standard error becomes non-blocking too. Hidden pages are locked,
 * but a core dump has them for as long as they are not wiped.
 */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

void os_random(void *out, size_t len)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    char *to = out;

    while (len > 0) {
        ssize_t got = fd < 0 ? -1 : read(fd, to, len);
        if (fd >= 0 && got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            fprintf(stderr, "nod: the kernel gives no random bytes (/dev/urandom)\n");
            abort();
        }
        to += got;
        len -= (size_t)got;
    }
    if (fd >= 0)
        close(fd);
}

size_t os_piece_size(void *piece)
{
    (void)piece;
    return 0;
}

/* Closes one that cannot be had so. */
static int quiet(int fd)
{
    if (fd < 0)
        return fd;
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
        fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

void *os_hidden_pages(size_t len)
{
    void *pages = calloc(1, len);

    if (pages && mlock(pages, len) != 0)
        errno = 0; /* as much as this user may lock is locked already */
    return pages;
}

void os_hidden_free(void *pages, size_t len)
{
    munlock(pages, len);
    free(pages);
}

int os_socket(int family)
{
    return quiet(socket(family, SOCK_STREAM, 0));
}

int os_accept(int fd)
{
    return quiet(accept(fd, NULL, NULL));
}

int os_reopen(int fd, int flags)
{
    (void)fd, (void)flags;
    errno = ENOSYS;
    return -1;
}

bool os_peer_is_us(int fd)
{
#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
    uid_t user;
    gid_t group;

    return getpeereid(fd, &user, &group) == 0 && user == geteuid();
#else
    (void)fd;
    return false;
#endif
}

uint64_t os_socket_mark(int fd)
{
    (void)fd;
    return 0;
}

size_t os_unacknowledged(int fd)
{
    (void)fd;
    return 0;
}

/* No system but Linux is asked: people sign in. */
bool os_tcp_is_us(const struct sockaddr *theirs, const struct sockaddr *ours, uint64_t mark)
{
    (void)theirs, (void)ours, (void)mark;
    return false;
}
