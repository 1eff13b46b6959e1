/*
 * base/os_linux: base/os with what Linux has. The only file that needs Linux.
 */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
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
