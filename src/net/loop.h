/*
 * net/loop: one thread, one loop.
 *
 * Everything that does not block runs here. Other threads talk to it through loop_post, one ordered
 * queue. Timers are embedded in their objects, and cost a heap entry each, not a kernel timer.
 */
#ifndef NOD_NET_LOOP_H
#define NOD_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/list.h"
#include "net/turn.h"

struct loop;
struct uv_loop_s;

struct loop *loop_create(void);
/* After loop_run returned and every handle was closed by its owner. */
void loop_destroy(struct loop *loop);

/* Runs until loop_stop, or until nothing is left to wait for. */
void loop_run(struct loop *loop);
/* Runs what is due and returns; waits at most wait_ms (0: not at all). */
void loop_turn(struct loop *loop, int wait_ms);
/*
 * For whoever waits for this loop in a loop of their own, and calls loop_turn(loop, 0) when the
 * descriptor is readable or the time is over. The time is in ms from now, 0 if something is to be
 * done at once, -1 if nothing is; it is right until anything of this loop is touched, and while
 * the loop is held (loop_hold).
 */
int loop_fd(const struct loop *loop);
int loop_timeout(struct loop *loop);
void loop_stop(struct loop *loop);

struct uv_loop_s *loop_uv(struct loop *loop);

/*
 * The loop's only read buffer. Readers borrow it for the length of a callback: nothing in it
 * outlives the call that it was handed to.
 */
char *loop_read_buffer(struct loop *loop, size_t *room);

/*
 * What takes long is done in slices: in one turn of the loop deferred calls, posts, timers and
 * requests are worked on for so long, and the others in the next turn, after I/O was served. A
 * single one of them is not interrupted, so it has to be short itself.
 */
enum { LOOP_SLICE_MS = 10 };
/* On the loop thread: this turn has had its slice. What is not urgent is better deferred. */
bool loop_is_late(struct loop *loop);
/* On the loop thread: what is done from now on is of this kind. Looks at the clock
 * (clock_look_ns). Returns what it was before, which is to be set again behind it. */
enum turn_work loop_spend(struct loop *loop, enum turn_work work);
/* The longest turn of this kind of work, and how many were too long. */
struct turn_figures loop_figures(const struct loop *loop, enum turn_work work);

/* Bytes of memory that this process has; 0: the system does not say. */
size_t loop_resident(void);

/* Monotonic milliseconds, cached for this turn of the loop. */
int64_t loop_now(const struct loop *loop);

/* From any thread: fn(data) on the loop thread, in the order of the calls, as if it were deferred
 * there. */
void loop_post(struct loop *loop, void (*fn)(void *data), void *data);

/*
 * On the loop thread: something is on its way through loop_post, so loop_run must not end because
 * there is nothing else to wait for. Each hold needs a release.
 */
void loop_hold(struct loop *loop);
void loop_release(struct loop *loop);

/* On the loop thread only: calls fn(data) later in this turn or in the next, before waiting for
 * I/O. */
void loop_defer(struct loop *loop, void (*fn)(void *data), void *data);

/*
 * Calls fn(data) each time before the loop waits for I/O, after deferred calls have run: the place
 * to set a timer for a deadline that anything may have moved. Only one; fn must not defer anything.
 */
void loop_before_wait(struct loop *loop, void (*fn)(void *data), void *data);

/*
 * Calls fn(data) once, before the loop next waits for I/O and after everything that was deferred:
 * the place to write in one piece what a whole turn has gathered. Asking again before it was called
 * changes nothing. Embedded in its object, zeroed at first.
 */
struct loop_last {
    struct list link; /* zeroed or alone: not asked for */
    void (*fn)(void *data);
    void *data;
};
void loop_last(struct loop *loop, struct loop_last *last, void (*fn)(void *data), void *data);
void loop_last_stop(struct loop_last *last);

/*
 * Runs deferred calls now, within a bound: for the outermost callback of a handle, with nothing
 * else on the stack. So everything that a request leads to is done, and its memory is free, before
 * the next one is read.
 */
void loop_settle(struct loop *loop);

struct timer {
    struct heap_node node; /* zeroed: not set */
    void (*fn)(void *data);
    void *data;
};

/* Sets or moves a timer. Fires once, after what has come by then was read. Does not keep loop_run
 * alive. */
void timer_set(struct loop *loop, struct timer *timer, int64_t after_ms, void (*fn)(void *data),
               void *data);
void timer_stop(struct loop *loop, struct timer *timer);

/* fn(data) on the loop thread when the signal comes. At most LOOP_SIGNALS_MAX of them. */
enum { LOOP_SIGNALS_MAX = 8 };
bool loop_signal(struct loop *loop, int signo, void (*fn)(void *data), void *data);

#endif
