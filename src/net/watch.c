/*
 * net/watch: see watch.h.
 *
 * Holds always: the handle of the set is active as long as something is watched, and no longer. An
 * event that was fetched is not told once its watch was removed, so that whoever is told may remove
 * and free any other.
 */
#include "net/watch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum { WATCH_BATCH = 256 /* events that are fetched at once */ };

struct watches {
    struct loop *loop;
    uv_poll_t handle; /* of the set */
    int set;
    size_t watched;
    size_t next, count; /* of the batch: told next, and fetched */
    struct epoll_event batch[WATCH_BATCH];
};

static void on_events(uv_poll_t *handle, int status, int what)
{
    struct watches *watches = handle->data;
    int count = epoll_wait(watches->set, watches->batch, WATCH_BATCH, 0);

    (void)status; /* whatever it is, the set is what counts */
    (void)what;
    watches->count = count > 0 ? (size_t)count : 0;
    for (watches->next = 0; watches->next < watches->count;) {
        const struct epoll_event *event = &watches->batch[watches->next++];
        struct watch *watch = event->data.ptr;
        if (!watch)
            continue;
        clock_hold();
        watch->ready(watch, event->events);
        loop_settle(watches->loop);
        clock_release();
    }
    watches->count = 0;
}

bool watch_add(struct loop *loop, struct watch *watch, int fd, uint32_t what)
{
    struct watches *watches = loop_watches(loop);
    struct epoll_event event = { .events = what, .data.ptr = watch };

    if (epoll_ctl(watches->set, EPOLL_CTL_ADD, fd, &event) != 0)
        return false;
    if (watches->watched++ == 0)
        uv_poll_start(&watches->handle, UV_READABLE, on_events);
    return true;
}

void watch_change(struct loop *loop, struct watch *watch, int fd, uint32_t what)
{
    struct epoll_event event = { .events = what, .data.ptr = watch };

    if (epoll_ctl(loop_watches(loop)->set, EPOLL_CTL_MOD, fd, &event) != 0)
        LOG_ERROR("a descriptor cannot be watched", LOG_INT("fd", fd),
                  LOG_CSTR("error", uv_strerror(uv_translate_sys_error(errno))));
}

void watch_remove(struct loop *loop, struct watch *watch, int fd)
{
    struct watches *watches = loop_watches(loop);

    epoll_ctl(watches->set, EPOLL_CTL_DEL, fd, NULL);
    for (size_t i = watches->next; i < watches->count; i++)
        if (watches->batch[i].data.ptr == watch)
            watches->batch[i].data.ptr = NULL;
    assert(watches->watched > 0);
    if (--watches->watched == 0)
        uv_poll_stop(&watches->handle);
}

struct watches *watches_create(struct loop *loop)
{
    struct watches *watches = MEM_NEW(struct watches);

    watches->loop = loop;
    watches->set = epoll_create1(EPOLL_CLOEXEC);
    if (watches->set < 0 || uv_poll_init(loop_uv(loop), &watches->handle, watches->set) != 0) {
        LOG_ERROR("the event loop cannot start", LOG_CSTR("what", "epoll"));
        abort();
    }
    watches->handle.data = watches;
    return watches;
}

static void on_gone(uv_handle_t *handle)
{
    struct watches *watches = handle->data;

    close(watches->set);
    mem_free(watches);
}

void watches_destroy(struct watches *watches)
{
    assert(watches->watched == 0);
    uv_close((uv_handle_t *)&watches->handle, on_gone);
}
