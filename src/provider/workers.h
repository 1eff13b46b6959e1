/*
 * provider/workers: threads for handlers that may block.
 *
 * A work is embedded in its object, and belongs to the pool from workers_submit until its done() is
 * called. run() is called on a worker thread, done() afterwards on the loop thread, exactly once.
 *
 * A work that runs longer than it may is declared late: its thread no longer counts as one of the
 * pool's, and another thread takes its place if there is something to do. The number of late works
 * that are replaced is bounded. Past it the pool refuses work instead of queueing it for ever.
 */
#ifndef NOD_PROVIDER_WORKERS_H
#define NOD_PROVIDER_WORKERS_H

#include <nod/nod.h>

#include "base/list.h"
#include "net/loop.h"

enum {
    WORKERS_DEFAULT = 4,
    WORKERS_MAX = 256,        /* threads for blocking handlers */
    WORKERS_QUEUE_MAX = 4096, /* works that wait for a thread */
    WORKERS_STUCK_MAX = 16,   /* late works that get a replacement */
};

struct workers;

enum work_state { WORK_IDLE, WORK_QUEUED, WORK_RUNNING, WORK_LATE, WORK_RETURNED };

struct work {
    void (*run)(struct work *work);                /* on a worker thread */
    void (*done)(struct work *work, bool was_run); /* on the loop thread */
    struct workers *workers;                       /* the rest belongs to the pool */
    struct list link;
    enum work_state state;
};

struct workers *workers_create(struct loop *loop, size_t threads);

/* NOD_E_LIMIT: the queue is full, or every thread is stuck and no more may be started. */
nod_status workers_submit(struct workers *workers, struct work *work);

/*
 * Nobody waits for this work any longer. If it has not begun, it is taken out of the queue, and
 * done(was_run = false) is called on the next turn of the loop. If it runs, it is late from now on.
 */
void workers_late(struct work *work);

/* Late works that still run. */
size_t workers_stuck(const struct workers *workers);
size_t workers_threads(const struct workers *workers);

/*
 * Ends the pool: nothing new begins, and queued work comes back without having been run. Call it on
 * the loop thread, outside of loop_run; it turns the loop while it waits, for at most wait_ms.
 * True: every thread has ended, and the pool is freed. False: some work did not come back. What
 * that work uses, including the pool, has to stay until the process ends; its done() is not called.
 */
bool workers_destroy(struct workers *workers, int wait_ms);

#endif
