/*
 * bench/epoll_floor: the least an HTTP server can do.
 *
 * It accepts, reads, finds the end of the head, counts the body (whose length it is told), and
 * writes canned bytes. No parsing, no limits, no timeouts: a floor to measure a server against.
 */
#ifndef NOD_BENCH_EPOLL_FLOOR_H
#define NOD_BENCH_EPOLL_FLOOR_H

#include "base/str.h"

struct epoll_floor {
    size_t body_len;     /* of every request */
    struct str response; /* to every request */
};

/* For load_server_start; data is a struct epoll_floor. */
void epoll_floor_serve(int port_fd, void *data);

#endif
