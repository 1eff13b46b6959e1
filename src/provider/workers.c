/*
 * provider/workers: threads for handlers that may block.
 *
 * A thread is started if there is work and none is idle, up to the size of the pool. Only healthy
 * threads count towards that size. A thread whose work is late does not count, so a stuck handler
 * is replaced without special treatment. If late work does come back, its thread ends if the pool
 * would have more healthy threads than its size.
 *
 * Holds always, under the lock: healthy = alive - late; healthy <= size after any thread had its
 * turn; alive <= size + WORKERS_STUCK_MAX. The done() of a work is posted after everything its
 * run() posted.
 *
 * One lock guards everything that belongs to the pool. No callback is called with it held.
 */
#include "provider/workers.h"

#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum { WORKERS_TURN_MS = 50 };

struct worker {
    struct list link; /* in `gone`, when it has ended */
    struct workers *workers;
    pthread_t thread;
};

struct workers {
    struct loop *loop;
    size_t size;
    pthread_mutex_t lock;
    pthread_cond_t work_there;
    struct list queue;
    struct list gone; /* threads that have ended and are not joined yet */
    size_t queued;
    size_t alive;
    size_t idle;
    size_t late;
    bool stopping;
    bool abandoned; /* nobody listens any more, so nothing is posted */
};

static size_t healthy(const struct workers *w)
{
    return w->alive - w->late;
}

/* --- on a worker thread --- */

static void work_back(void *data)
{
    struct work *work = data;

    work->state = WORK_IDLE;
    work->done(work, true);
}

static void work_unbegun(void *data)
{
    struct work *work = data;

    work->state = WORK_IDLE;
    work->done(work, false);
}

static void wake_only(void *data)
{
    (void)data; /* its only purpose is to make the loop turn */
}

/* With the lock held, which is released during the run. */
static void work_through(struct workers *w, struct work *work)
{
    list_remove(&work->link);
    w->queued--;
    work->state = WORK_RUNNING;
    pthread_mutex_unlock(&w->lock);
    work->run(work);
    pthread_mutex_lock(&w->lock);
    if (work->state == WORK_LATE)
        w->late--;
    work->state = WORK_RETURNED;
    if (!w->abandoned)
        loop_post(w->loop, work_back, work);
}

static void *worker_main(void *data)
{
    struct worker *self = data;
    struct workers *w = self->workers;
    char crash_stack[LOG_CRASH_STACK];

    log_watch_thread(crash_stack);
    pthread_mutex_lock(&w->lock);
    while (!w->stopping && healthy(w) <= w->size) {
        struct list *first = list_first(&w->queue);
        if (first) {
            work_through(w, LIST_OF(first, struct work, link));
            continue;
        }
        w->idle++;
        pthread_cond_wait(&w->work_there, &w->lock);
        w->idle--;
    }
    w->alive--;
    list_append(&w->gone, &self->link);
    if (w->stopping && !w->abandoned)
        loop_post(w->loop, wake_only, NULL);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* --- threads, with the lock held --- */

/* Signals are for the loop: a worker begins with all of them blocked. */
static bool worker_start(struct workers *w)
{
    struct worker *worker = MEM_NEW(struct worker);
    sigset_t all, before;

    worker->workers = w;
    list_init(&worker->link);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&worker->thread, NULL, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        LOG_ERROR("a worker thread could not be started", LOG_CSTR("error", strerror(error)));
        mem_free(worker);
        return false;
    }
    w->alive++;
    return true;
}

static void staff(struct workers *w)
{
    while (w->queued > w->idle && healthy(w) < w->size && w->alive < w->size + WORKERS_STUCK_MAX)
        if (!worker_start(w))
            break;
}

/* Joins threads that have ended. They no longer need the lock. */
static void reap(struct workers *w)
{
    struct list gone;

    list_init(&gone);
    pthread_mutex_lock(&w->lock);
    LIST_EACH (at, &w->gone) {
        list_remove(at);
        list_append(&gone, at);
    }
    pthread_mutex_unlock(&w->lock);
    LIST_EACH (at, &gone) {
        struct worker *worker = LIST_OF(at, struct worker, link);
        list_remove(at);
        pthread_join(worker->thread, NULL);
        mem_free(worker);
    }
}

/* --- on the loop thread --- */

struct workers *workers_create(struct loop *loop, size_t threads)
{
    struct workers *w = MEM_NEW(struct workers);

    w->loop = loop;
    w->size = threads ? threads : WORKERS_DEFAULT;
    if (w->size > WORKERS_MAX)
        w->size = WORKERS_MAX;
    list_init(&w->queue);
    list_init(&w->gone);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work_there, NULL);
    return w;
}

nod_status workers_submit(struct workers *w, struct work *work)
{
    nod_status status = NOD_E_LIMIT;

    reap(w);
    pthread_mutex_lock(&w->lock);
    if (!w->stopping && w->queued < WORKERS_QUEUE_MAX) {
        work->workers = w;
        work->state = WORK_QUEUED;
        list_append(&w->queue, &work->link);
        w->queued++;
        staff(w);
        if (healthy(w)) {
            pthread_cond_signal(&w->work_there);
            status = NOD_OK;
        } else {
            list_remove(&work->link);
            w->queued--;
            work->state = WORK_IDLE;
        }
    }
    pthread_mutex_unlock(&w->lock);
    return status;
}

void workers_late(struct work *work)
{
    struct workers *w = work->workers;

    pthread_mutex_lock(&w->lock);
    if (work->state == WORK_QUEUED) {
        list_remove(&work->link);
        w->queued--;
        work->state = WORK_RETURNED;
        loop_post(w->loop, work_unbegun, work);
    } else if (work->state == WORK_RUNNING) {
        work->state = WORK_LATE;
        w->late++;
        staff(w);
    }
    pthread_mutex_unlock(&w->lock);
}

static size_t read_count(const struct workers *workers, const size_t *count)
{
    struct workers *w = (struct workers *)workers; /* only the lock changes */

    pthread_mutex_lock(&w->lock);
    size_t n = *count;
    pthread_mutex_unlock(&w->lock);
    return n;
}

size_t workers_stuck(const struct workers *workers)
{
    return read_count(workers, &workers->late);
}

size_t workers_threads(const struct workers *workers)
{
    return read_count(workers, &workers->alive);
}

static void set_true(void *data)
{
    *(bool *)data = true;
}

bool workers_destroy(struct workers *w, int wait_ms)
{
    if (!w)
        return true;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    LIST_EACH (at, &w->queue) {
        struct work *work = LIST_OF(at, struct work, link);
        list_remove(at);
        work->state = WORK_RETURNED;
        loop_post(w->loop, work_unbegun, work);
    }
    w->queued = 0;
    pthread_cond_broadcast(&w->work_there);
    pthread_mutex_unlock(&w->lock);
    int64_t until = clock_mono(clock_system()) + wait_ms;
    while (workers_threads(w) && clock_mono(clock_system()) < until)
        loop_turn(w->loop, WORKERS_TURN_MS);

    pthread_mutex_lock(&w->lock);
    size_t left = w->alive;
    w->abandoned = left > 0;
    pthread_mutex_unlock(&w->lock);
    reap(w);
    /* Posts come in order: when this one has come, so have all that the threads made. */
    bool delivered = false;
    loop_post(w->loop, set_true, &delivered);
    while (!delivered)
        loop_turn(w->loop, WORKERS_TURN_MS);
    if (left) {
        LOG_WARN("handlers still run at the end; they are left behind", LOG_INT("threads", left));
        return false;
    }
    pthread_cond_destroy(&w->work_there);
    pthread_mutex_destroy(&w->lock);
    mem_free(w);
    return true;
}
