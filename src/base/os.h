/*
 * base/os: what each system does in its own way.
 *
 * There are two files behind this header, and a build has one of them: os_linux.c uses what Linux
 * has, os_plain.c only what POSIX has. Nothing else in the tree needs Linux, or asks which system
 * it is; a test checks that (tests/house/portable.mjs).
 */
#ifndef NOD_BASE_OS_H
#define NOD_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Random bytes from the kernel. Never fails: without them the process ends, with a message. */
void os_random(void *out, size_t len);

/* How many bytes a malloc'ed piece really has; 0: this system does not say. */
size_t os_piece_size(void *piece);

/* Whole pages of zeros for what nobody else may see: at least `len` bytes. Where the system can do
 * it, they are in no core dump, in no child process, and never swapped out; where it cannot, they
 * are pages like any other. NULL: there is no memory. */
void *os_hidden_pages(size_t len);
/* Gives them back. They have been wiped. */
void os_hidden_free(void *pages, size_t len);

/* --- descriptors: -1 with errno on failure; child processes do not inherit them --- */

/* A stream socket that does not block. */
int os_socket(int family);
/* The next connection of a listening socket; it does not block. */
int os_accept(int fd);
/* Opens the same end of a pipe (flags: O_RDONLY, O_WRONLY) again, so that it can be made
 * non-blocking without affecting others that share it. */
int os_reopen(int fd, int flags);

/* Does the process at the other end of a Unix socket run as our user? False if that is not
 * known. */
bool os_peer_is_us(int fd);
/* Bytes written to a socket that the other end has not acknowledged; of a Unix socket, that it has
 * not read. 0 if this system does not say. */
size_t os_unacknowledged(int fd);
/* A number that no other socket of this machine has or had; 0: this system has none. */
uint64_t os_socket_mark(int fd);
/* Does an open socket of our user's hold the other end of a TCP connection within this machine? The
 * two addresses are those of that socket and of ours, `mark` is our socket's. False if either end
 * was closed, also in one direction only. */
struct sockaddr;
bool os_tcp_is_us(const struct sockaddr *theirs, const struct sockaddr *ours, uint64_t mark);

#endif
