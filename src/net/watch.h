/*
 * net/watch: descriptors whose readiness the loop tells of without a libuv handle each.
 *
 * The watches of a loop are one epoll set, and that set is one descriptor among those of libuv. A
 * connection is then told of once for what has come, at the edge, where libuv's own streams are
 * looked at again behind each event; and it has no handle of its own.
 */
#ifndef NOD_NET_WATCH_H
#define NOD_NET_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "net/loop.h"

struct watch { /* embedded in its object */
    /* The outermost callback of its event: what it defers is run right behind it. */
    void (*ready)(struct watch *watch, uint32_t what);
};

/* `what` is as in epoll(7). As long as anything is watched, loop_run does not end. False: the
 * kernel has no room for more. */
bool watch_add(struct loop *loop, struct watch *watch, int fd, uint32_t what);
/* Other events of the same descriptor. What is so already is told of anew. */
void watch_change(struct loop *loop, struct watch *watch, int fd, uint32_t what);
/* No event comes any more, also none that is on its way. Before the descriptor is closed. */
void watch_remove(struct loop *loop, struct watch *watch, int fd);

/* For the loop alone. */
struct watches;
struct watches *watches_create(struct loop *loop);
/* Closes its handle; the memory goes in one of the turns after it. */
void watches_destroy(struct watches *watches);

#endif
