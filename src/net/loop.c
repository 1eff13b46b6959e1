/*
 * net/loop: libuv, with three things that it leaves to its users.
 *
 * Timers: one heap of deadlines over one uv_timer, so that a connection's timer is four words
 * inside the connection. Deferred calls: a queue that is run after the callback that filled it
 * (loop_settle), and right before and right after waiting for I/O. Posts: a queue under a lock, the
 * only thing here that other threads may touch; what was posted is then deferred.
 *
 * Holds always: a queue is run as the batch it was when its turn came, and in one turn for
 * LOOP_SLICE_MS at most. So a call that defers (or posts, or sets a timer of 0 ms) again and again
 * never keeps I/O from being served, and neither do ten thousand that come at once. A timer that
 * is due fires after I/O was served once more: what had come before a deadline is read before the
 * deadline takes effect, even if the process was stopped meanwhile. None of the loop's own handles
 * keeps loop_run alive, except the idle handle while something is deferred or due.
 */
#include "net/loop.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/broken_pipe.h"

enum {
    LOOP_READ_BUFFER = 64 * 1024,
    LOOP_QUEUE_FIRST = 16,
    LOOP_SETTLE_BATCHES = 16, /* batches of deferred calls, before other I/O is served */
    LOOP_NS_OF_MS = 1000000,
    LOOP_DESTROY_TURNS = 64,  /* turns that closing handles get before a leak is reported */
    LOOP_LOOKUP_MS = 30000,   /* time for a name lookup on a thread to come back */
    LOOP_LOOKUP_TURN_MS = 50, /* between two checks whether it has */
};

struct task {
    void (*fn)(void *data);
    void *data;
};

struct tasks { /* a queue */
    struct task *at;
    size_t from; /* those before it were taken */
    size_t end;
    size_t room;
};

struct loop_signal_slot {
    uv_signal_t handle;
    void (*fn)(void *data);
    void *data;
};

struct loop {
    uv_loop_t uv;
    uv_timer_t clock; /* armed for the first deadline of the heap */
    uv_timer_t turn;  /* bounds the wait of loop_turn */
    uv_async_t wake;
    uv_prepare_t before_io;
    uv_check_t after_io;
    /* active while something is deferred, due or to be done last, so that the loop does not sleep
     */
    uv_idle_t busy;
    bool restless; /* `busy` is active */
    struct heap timers;
    int64_t armed_at; /* of `clock`; 0: not armed */
    int64_t due;      /* the time up to which timers fire after this turn's I/O; 0: none does */
    size_t held;      /* things on their way from other threads */
    bool firing;
    bool settling;
    struct task before_wait;
    struct list lasts; /* struct loop_last, to be called before the next wait */
    struct turns turns;
    int64_t slice_until_ns; /* of this turn */
    bool ending;            /* everything is done at once, as nobody waits for it */
    bool waiting;           /* nothing is known to have been done since the last wait began */
    struct tasks deferred;
    uv_mutex_t lock; /* guards `posted` alone */
    struct tasks posted;
    struct loop_signal_slot signals[LOOP_SIGNALS_MAX];
    size_t signal_count;
    char read_buffer[LOOP_READ_BUFFER];
};

static size_t tasks_count(const struct tasks *tasks)
{
    return tasks->end - tasks->from;
}

static void tasks_add(struct tasks *tasks, void (*fn)(void *data), void *data)
{
    if (tasks->end == tasks->room && tasks->from > tasks->room / 2) {
        tasks->end -= tasks->from;
        memmove(tasks->at, tasks->at + tasks->from, tasks->end * sizeof(*tasks->at));
        tasks->from = 0;
    } else if (tasks->end == tasks->room) {
        tasks->room = tasks->room ? tasks->room * 2 : LOOP_QUEUE_FIRST;
        tasks->at = mem_realloc(tasks->at, tasks->room * sizeof(*tasks->at));
    }
    tasks->at[tasks->end++] = (struct task){ fn, data };
}

static struct task tasks_take(struct tasks *tasks)
{
    struct task task = tasks->at[tasks->from++];

    if (tasks->from == tasks->end)
        tasks->from = tasks->end = 0;
    return task;
}

/* --- slices --- */

/* The clock of the loop stands at the end of the wait, until the next is at hand. */
static void turn_notice(struct loop *loop)
{
    if (!loop->waiting)
        return;
    loop->waiting = false;
    turn_began(&loop->turns, loop_now(loop) * LOOP_NS_OF_MS);
    loop->slice_until_ns = loop->turns.since_ns + LOOP_SLICE_MS * LOOP_NS_OF_MS;
}

static bool slice_is_over(const struct loop *loop)
{
    return clock_look_ns() >= loop->slice_until_ns && !loop->ending;
}

bool loop_is_late(struct loop *loop)
{
    if (!loop->waiting)
        return slice_is_over(loop);
    turn_notice(loop);
    return false; /* the turn has only begun */
}

enum turn_work loop_spend(struct loop *loop, enum turn_work work)
{
    turn_notice(loop);
    return turn_spend(&loop->turns, work);
}

struct turn_figures loop_figures(const struct loop *loop, enum turn_work work)
{
    return loop->turns.figures[work];
}

static void on_busy(uv_idle_t *handle)
{
    (void)handle; /* it only has to be active */
}

static void stir(struct loop *loop)
{
    if (loop->restless)
        return;
    loop->restless = true;
    uv_idle_start(&loop->busy, on_busy);
}

/* Lets the loop sleep, unless there is something to be done before waiting for I/O. */
static void rest(struct loop *loop)
{
    if (!loop->restless || tasks_count(&loop->deferred) || loop->due || !list_empty(&loop->lasts))
        return;
    loop->restless = false;
    uv_idle_stop(&loop->busy);
}

/* As one batch, while the slice lasts, but so many calls at least. False: it is over. */
static bool run_deferred(struct loop *loop, size_t least)
{
    size_t count = tasks_count(&loop->deferred);

    for (size_t done = 0; done < count; done++) {
        if (done >= least && slice_is_over(loop))
            return false;
        struct task task = tasks_take(&loop->deferred);
        task.fn(task.data);
    }
    return true;
}

/* As one batch: a call that asks again has its turn after I/O was served. */
static void run_lasts(struct loop *loop)
{
    struct list batch;

    if (list_empty(&loop->lasts))
        return;
    list_init(&batch);
    LIST_EACH (at, &loop->lasts) {
        list_remove(at);
        list_append(&batch, at);
    }
    for (struct list *at; (at = list_first(&batch));) {
        struct loop_last *last = LIST_OF(at, struct loop_last, link);
        list_remove(at);
        last->fn(last->data);
    }
}

static void on_clock(uv_timer_t *handle)
{
    ((struct loop *)handle->data)->armed_at = 0; /* it only ends the wait: see timers_look */
}

/* Arms the clock for the first deadline, unless it fires before that anyway. */
static void clock_arm(struct loop *loop)
{
    const struct heap_node *first = heap_first(&loop->timers);

    if (!first || loop->firing || (loop->armed_at && loop->armed_at <= first->at))
        return;
    int64_t wait = first->at - loop_now(loop);
    loop->armed_at = first->at;
    uv_timer_start(&loop->clock, on_clock, wait > 0 ? (uint64_t)wait : 0, 0);
    uv_unref((uv_handle_t *)&loop->clock);
}

/* After I/O: only what was due before it, because a wait that was interrupted has read nothing. */
static void timers_fire(struct loop *loop)
{
    int64_t due = loop->due;
    struct heap_node *first;

    if (!due)
        return;
    loop->due = 0;
    loop->firing = true;
    enum turn_work before = loop_spend(loop, TURN_TIMERS);
    while ((first = heap_first(&loop->timers)) && first->at <= due) {
        struct timer *timer = HEAP_OF(first, struct timer, node);
        heap_remove(&loop->timers, first);
        timer->fn(timer->data);
        if (slice_is_over(loop))
            break; /* the others are still due before the next wait */
    }
    loop_spend(loop, before);
    loop->firing = false;
    clock_arm(loop);
}

static void on_before_io(uv_prepare_t *handle)
{
    struct loop *loop = handle->data;

    turn_notice(loop); /* the first turn begins here */
    run_deferred(loop, 1);
    if (loop->before_wait.fn)
        loop->before_wait.fn(loop->before_wait.data);
    run_lasts(loop);
    /* Before I/O: is a timer due? */
    const struct heap_node *first = heap_first(&loop->timers);
    if (first && first->at <= loop_now(loop)) {
        loop->due = loop_now(loop);
        stir(loop);
    } else {
        clock_arm(loop);
    }
    log_flush();
    rest(loop); /* it may sleep now, unless something new has come */
    turn_ended(&loop->turns);
    loop->waiting = true;
}

void loop_last(struct loop *loop, struct loop_last *last, void (*fn)(void *data), void *data)
{
    last->fn = fn;
    last->data = data;
    if (last->link.next && !list_empty(&last->link))
        return;
    list_init(&last->link);
    list_append(&loop->lasts, &last->link);
    stir(loop); /* keeps a loop awake that has nothing else to do */
}

void loop_last_stop(struct loop_last *last)
{
    if (last->link.next)
        list_remove(&last->link);
}

static void on_after_io(uv_check_t *handle)
{
    struct loop *loop = handle->data;

    turn_notice(loop);
    timers_fire(loop);
    run_deferred(loop, 0);
    rest(loop);
}

void loop_before_wait(struct loop *loop, void (*fn)(void *data), void *data)
{
    loop->before_wait = (struct task){ fn, data };
}

void loop_defer(struct loop *loop, void (*fn)(void *data), void *data)
{
    tasks_add(&loop->deferred, fn, data);
    stir(loop);
}

void loop_settle(struct loop *loop)
{
    if (loop->settling)
        return;
    loop->settling = true;
    for (int i = 0; i < LOOP_SETTLE_BATCHES && tasks_count(&loop->deferred); i++)
        if (!run_deferred(loop, 0))
            break;
    loop->settling = false;
}

static void take_posted(struct loop *loop)
{
    uv_mutex_lock(&loop->lock);
    struct tasks now = loop->posted;
    loop->posted = (struct tasks){ 0 };
    uv_mutex_unlock(&loop->lock);

    while (tasks_count(&now)) {
        struct task task = tasks_take(&now);
        loop_defer(loop, task.fn, task.data);
    }
    mem_free(now.at);
}

static void on_wake(uv_async_t *handle)
{
    take_posted(handle->data);
    turn_notice(handle->data);
    loop_settle(handle->data);
}

void loop_post(struct loop *loop, void (*fn)(void *data), void *data)
{
    uv_mutex_lock(&loop->lock);
    tasks_add(&loop->posted, fn, data);
    uv_async_send(&loop->wake); /* inside the lock, so that the loop is not gone yet */
    uv_mutex_unlock(&loop->lock);
}

void loop_hold(struct loop *loop)
{
    if (loop->held++ == 0)
        uv_ref((uv_handle_t *)&loop->wake);
}

void loop_release(struct loop *loop)
{
    assert(loop->held > 0);
    if (--loop->held == 0)
        uv_unref((uv_handle_t *)&loop->wake);
}

void timer_set(struct loop *loop, struct timer *timer, int64_t after_ms, void (*fn)(void *data),
               void *data)
{
    int64_t least = loop->firing ? 1 : 0;

    timer->fn = fn;
    timer->data = data;
    heap_set(&loop->timers, &timer->node, loop_now(loop) + (after_ms > least ? after_ms : least));
    clock_arm(loop);
}

void timer_stop(struct loop *loop, struct timer *timer)
{
    heap_remove(&loop->timers, &timer->node);
}

size_t loop_resident(void)
{
    size_t bytes = 0;

    return uv_resident_set_memory(&bytes) == 0 ? bytes : 0;
}

static void on_signal(uv_signal_t *handle, int signo)
{
    const struct loop_signal_slot *slot = handle->data;

    (void)signo;
    slot->fn(slot->data);
}

bool loop_signal(struct loop *loop, int signo, void (*fn)(void *data), void *data)
{
    if (loop->signal_count == LOOP_SIGNALS_MAX)
        return false;
    struct loop_signal_slot *slot = &loop->signals[loop->signal_count];
    if (uv_signal_init(&loop->uv, &slot->handle) != 0)
        return false;
    loop->signal_count++;
    slot->fn = fn;
    slot->data = data;
    slot->handle.data = slot;
    uv_unref((uv_handle_t *)&slot->handle);
    return uv_signal_start(&slot->handle, on_signal, signo) == 0;
}

static void must(int error, const char *what)
{
    if (error == 0)
        return;
    LOG_ERROR("the event loop cannot start", LOG_CSTR("what", what),
              LOG_CSTR("error", uv_strerror(error)));
    abort();
}

struct loop *loop_create(void)
{
    struct loop *loop = MEM_NEW(struct loop);

    must(uv_loop_init(&loop->uv), "loop");
    must(uv_mutex_init(&loop->lock), "lock");
    must(uv_async_init(&loop->uv, &loop->wake, on_wake), "wake");
    uv_timer_init(&loop->uv, &loop->clock);
    uv_timer_init(&loop->uv, &loop->turn);
    uv_prepare_init(&loop->uv, &loop->before_io);
    uv_check_init(&loop->uv, &loop->after_io);
    uv_idle_init(&loop->uv, &loop->busy);
    loop->uv.data = loop->wake.data = loop->clock.data = loop->turn.data = loop;
    loop->before_io.data = loop->after_io.data = loop->busy.data = loop;
    uv_prepare_start(&loop->before_io, on_before_io);
    uv_check_start(&loop->after_io, on_after_io);
    uv_unref((uv_handle_t *)&loop->wake);
    uv_unref((uv_handle_t *)&loop->before_io);
    uv_unref((uv_handle_t *)&loop->after_io);
    heap_init(&loop->timers);
    list_init(&loop->lasts);
    turns_init(&loop->turns);
    loop->waiting = true;
    return loop;
}

static void report_open(uv_handle_t *handle, void *data)
{
    (void)data;
    LOG_ERROR("a handle was left open when the loop ended",
              LOG_CSTR("type", uv_handle_type_name(uv_handle_get_type(handle))),
              LOG_INT("closing", uv_is_closing(handle)));
}

void loop_destroy(struct loop *loop)
{
    if (!loop)
        return;
    loop->ending = true;
    /* What is still closing, deferred or posted gets its turns: that is where objects are freed. */
    for (int i = 0; i < LOOP_DESTROY_TURNS; i++) {
        uv_run(&loop->uv, UV_RUN_NOWAIT);
        take_posted(loop);
        if (!tasks_count(&loop->deferred) && !uv_loop_alive(&loop->uv))
            break;
    }
    for (int64_t until = loop_now(loop) + LOOP_LOOKUP_MS;
         loop->uv.active_reqs.count && loop_now(loop) < until;)
        loop_turn(loop, LOOP_LOOKUP_TURN_MS);
    uv_handle_t *own[] = {
        (uv_handle_t *)&loop->clock,     (uv_handle_t *)&loop->turn,     (uv_handle_t *)&loop->wake,
        (uv_handle_t *)&loop->before_io, (uv_handle_t *)&loop->after_io, (uv_handle_t *)&loop->busy,
    };

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        uv_close(own[i], NULL);
    for (size_t i = 0; i < loop->signal_count; i++)
        uv_close((uv_handle_t *)&loop->signals[i].handle, NULL);
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    if (uv_loop_close(&loop->uv) != 0) {
        uv_walk(&loop->uv, report_open, NULL);
        assert(false && "every handle is closed before its loop is destroyed");
    }
    uv_mutex_destroy(&loop->lock);
    heap_finish(&loop->timers);
    mem_free(loop->deferred.at);
    mem_free(loop->posted.at);
    mem_free(loop);
}

void loop_run(struct loop *loop)
{
    struct broken_pipe held;

    broken_pipe_hold(&held);
    uv_update_time(&loop->uv);
    turns_init(&loop->turns); /* what came before was no turn that anybody waited for */
    loop->waiting = true;
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    broken_pipe_release(&held);
}

static void on_turn(uv_timer_t *handle)
{
    (void)handle; /* it only ends the wait */
}

void loop_turn(struct loop *loop, int wait_ms)
{
    struct broken_pipe held;

    broken_pipe_hold(&held);
    uv_update_time(&loop->uv);
    turns_resume(&loop->turns); /* what came before was somebody else's work */
    loop->waiting = true;
    if (wait_ms <= 0) {
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    } else {
        /* It repeats: libuv looks at the timers before it waits, and one that was due by then would
         * leave a wait without an end. */
        uv_timer_start(&loop->turn, on_turn, (uint64_t)wait_ms, (uint64_t)wait_ms);
        uv_run(&loop->uv, UV_RUN_ONCE);
        uv_timer_stop(&loop->turn);
    }
    if (!loop->waiting)
        turn_ended(&loop->turns); /* what follows is, too */
    loop->waiting = true;
    broken_pipe_release(&held);
}

int loop_fd(const struct loop *loop)
{
    return uv_backend_fd(&loop->uv);
}

/* libuv says 0 itself while anything is deferred (`busy` is active then), and while it has not told
 * the system what to watch. */
int loop_timeout(struct loop *loop)
{
    uv_update_time(&loop->uv);
    if (loop->before_wait.fn)
        loop->before_wait.fn(loop->before_wait.data);
    clock_arm(loop);
    return uv_backend_timeout(&loop->uv);
}

void loop_stop(struct loop *loop)
{
    uv_stop(&loop->uv);
}

struct uv_loop_s *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

char *loop_read_buffer(struct loop *loop, size_t *room)
{
    *room = sizeof(loop->read_buffer);
    return loop->read_buffer;
}

int64_t loop_now(const struct loop *loop)
{
    return (int64_t)uv_now(&loop->uv);
}
