/*
 * provider/local: runs C handlers.
 *
 * A handler runs on the loop or, if it may block, on a thread of the pool. In both cases it has a
 * run of its own and nothing else: what it records takes effect when its end is reported to the
 * engine, on the loop. Notices from a worker use the same queue as its end, so they arrive before
 * it and in order.
 *
 * If the call has ended in the meantime (cancelled, out of time), what the run still sends is
 * dropped, and its end only frees it. Its target is kept until then, because its code is still
 * running.
 */
#include "provider/local.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "provider/local_inside.h"

enum {
    NOTICES_IN_FLIGHT_MAX = 1024, /* notices of one run on a worker; more are dropped */
    LOOP_HELD_MS = 100,           /* a handler on the loop that takes longer is named in the log */
    STUCK_AFTER_MS = 1000, /* a run that goes on for so long after its call has ended is logged */
};

struct job { /* a run on the pool */
    struct work work;
    struct list link;
    struct local *local;
    struct nod_call call;
    struct run *run;
    struct target *target;
    nod_status status;
    struct str body;
    struct timer stuck;
    int64_t began_ms;
    bool dead;
    bool unbegun; /* its call has ended, or the pool is stopping */
    bool warned;
    atomic_uint notices; /* on their way to the loop */
};

void local_call_init(nod_call *call, struct local *local, struct run *run)
{
    memset(call, 0, sizeof(*call));
    call->run = run;
    call->local = local;
    call->target = (const struct local_target *)run->target; /* base is its first member */
    reply_init(&call->reply);
}

/* --- on the loop --- */

/* While a handler runs here nobody else is served. The first time it is said, and again when it has
 * become twice as long. */
static void loop_was_held(const struct target *target, const char *what, int64_t began_ms)
{
    struct local_target *t =
        (struct local_target *)target; /* what was said of it changes nothing */
    int64_t ms = clock_mono(clock_held()) - began_ms;

    if (ms <= LOOP_HELD_MS || ms < 2 * t->held_ms)
        return;
    t->held_ms = ms;
    LOG_WARN("a handler held the loop, and nobody else was served meanwhile: make it .blocking",
             LOG_CSTR("handler", what), LOG_STR("target", target->name),
             LOG_IF("plugin", target->from), LOG_INT("ms", ms), LOG_INT("most", LOOP_HELD_MS),
             LOG_STR("source", target->source));
}

/* --- on the pool --- */

struct posted_notice {
    struct job *job;
    struct notice notice;
    char text[];
};

static void notice_arrives(void *data)
{
    struct posted_notice *posted = data;
    struct job *job = posted->job;

    atomic_fetch_sub(&job->notices, 1);
    if (!job->dead)
        run_emit(job->run, &posted->notice);
    mem_free(posted);
}

static void copy_text(char **at, struct str *text)
{
    if (text->len)
        memcpy(*at, text->at, text->len);
    if (text->at)
        text->at = *at;
    *at += text->len;
}

/* On the worker. */
static void emit_from_worker(struct run *run, const struct notice *notice)
{
    struct job *job = run->handle;

    if (atomic_load(&run->cancelled) || atomic_load(&job->notices) >= NOTICES_IN_FLIGHT_MAX)
        return;
    struct posted_notice *posted =
        mem_alloc(sizeof(*posted) + notice->logger.len + notice->text.len + notice->method.len +
                  notice->params.len);
    char *at = posted->text;

    posted->job = job;
    posted->notice = *notice;
    copy_text(&at, &posted->notice.logger);
    copy_text(&at, &posted->notice.text);
    copy_text(&at, &posted->notice.method);
    copy_text(&at, &posted->notice.params);
    atomic_fetch_add(&job->notices, 1);
    loop_post(job->local->loop, notice_arrives, posted);
}

/* On the worker. */
static void job_run(struct work *work)
{
    struct job *job = (struct job *)(void *)work; /* work is its first member */

    job->status = handler_run(&job->call, &job->body);
}

static int64_t job_ran_ms(const struct job *job)
{
    return clock_mono(clock_system()) - job->began_ms;
}

static void job_end(struct job *job)
{
    struct target *target = job->target;

    if (job->unbegun)
        run_unbegun(job->run);
    else
        run_done(job->run, job->status, job->body);
    handler_finish(&job->call);
    target_release(target);
    list_remove(&job->link);
    MEM_DELETE(job);
}

static void job_done(struct work *work, bool was_run)
{
    struct job *job = (struct job *)(void *)work;

    timer_stop(job->local->loop, &job->stuck);
    if (job->warned)
        LOG_INFO("a stuck handler came back", LOG_STR("target", job->target->name),
                 LOG_IF("plugin", job->target->from), LOG_INT("ms", job_ran_ms(job)));
    job->unbegun = !was_run;
    job_end(job);
}

static void run_on_pool(struct local *local, struct run *run)
{
    struct job *job = MEM_NEW(struct job);

    job->work = (struct work){ .run = job_run, .done = job_done };
    job->local = local;
    job->run = run;
    job->target = (struct target *)run->target;
    job->began_ms = clock_mono(clock_system());
    local_call_init(&job->call, local, run);
    run->handle = job;
    run->emit = emit_from_worker;
    run->checked = NULL;
    target_hold(job->target);
    list_append(&local->jobs, &job->link);
    if (workers_submit(local->workers, &job->work) == NOD_OK)
        return;
    LOG_WARN("no worker for a blocking handler", LOG_STR("target", run->target->name),
             LOG_IF("plugin", run->target->from), LOG_INT("stuck", workers_stuck(local->workers)));
    job->status =
        run_fail(run, NOD_E_LIMIT, NULL,
                 workers_stuck(local->workers)
                     ? STR("Every worker thread is held by a handler that does not return; "
                           "try again later")
                     : STR("Too many blocking calls are waiting; try again later"));
    job_end(job);
}

static void job_is_stuck(void *data)
{
    struct job *job = data;

    job->warned = true;
    LOG_WARN("a handler is still running after its call has ended",
             LOG_STR("target", job->target->name), LOG_IF("plugin", job->target->from),
             LOG_INT("ms", job_ran_ms(job)), LOG_INT("stuck", workers_stuck(job->local->workers)));
}

/* --- the provider --- */

static void local_start(struct provider *provider, struct run *run)
{
    struct local *local = (struct local *)provider; /* its first member */
    const struct local_target *target = (const struct local_target *)run->target;

    run->handle = NULL;
    if (target->blocking) {
        run_on_pool(local, run);
    } else {
        struct nod_call call;
        struct str body;

        local_call_init(&call, local, run);
        run->emit = run_emit;
        enum turn_work before = loop_spend(local->loop, TURN_HANDLERS);
        int64_t began_ms = clock_mono(clock_held());
        nod_status status = handler_run(&call, &body);
        /* looks at the clock: the handler may have taken long, and may make it too late */
        loop_spend(local->loop, before);
        loop_was_held(run->target, call_what(&call), began_ms);
        run_done(run, status, body);
        handler_finish(&call);
    }
}

static void local_cancelled(struct provider *provider, struct run *run)
{
    struct local *local = (struct local *)provider;
    struct job *job = run->handle;

    atomic_store(&run->cancelled, true);
    if (!job || job->dead)
        return;
    job->dead = true;
    timer_set(local->loop, &job->stuck, STUCK_AFTER_MS, job_is_stuck, job);
    workers_late(&job->work);
}

static void emit_nothing(struct run *run, const struct notice *notice)
{
    (void)run;
    (void)notice;
}

static nod_handler *completer_of(const struct local_target *t, struct str argument)
{
    if (t->complete)
        return t->complete;
    for (size_t i = 0; i < t->argument_count; i++)
        if (str_eq(t->arguments[i].name, argument))
            return t->arguments[i].complete;
    return NULL;
}

static nod_status complete_now(struct provider *provider, struct target *target,
                               struct completion *completion)
{
    nod_handler *complete = completer_of((struct local_target *)target, completion->argument);
    struct run run = { .target = target, .args = completion->context, .emit = emit_nothing };
    struct nod_call call;

    if (!complete)
        return NOD_E_NOT_FOUND;
    arena_init(&run.arena, COMPLETION_BYTES_MAX);
    local_call_init(&call, (struct local *)provider, &run);
    call.completion = completion;
    int64_t began_ms = clock_mono(clock_system());
    nod_call *outer = handler_enter(&call);
    nod_status status = complete(&call);
    handler_defers(&call);
    handler_enter(outer);
    clock_look_again();
    loop_was_held(target, "completion", began_ms);
    if (run.bug.at) {
        LOG_ERROR("a completion handler made a mistake", LOG_STR("target", target->name),
                  LOG_IF("plugin", target->from), LOG_STR("why", run.bug));
        status = NOD_E_USAGE;
    }
    handler_finish(&call);
    arena_finish(&run.arena);
    return status;
}

static void local_complete(struct provider *provider, struct target *target,
                           struct completion *completion, completion_done *done)
{
    done(completion, complete_now(provider, target, completion));
}

static void local_released(struct provider *provider, struct target *target)
{
    (void)provider;
    local_target_free((struct local_target *)target);
}

static const struct provider_ops local_ops = {
    .name = "local",
    .c_strings = true,
    .start = local_start,
    .cancelled = local_cancelled,
    .complete = local_complete,
    .released = local_released,
};

/* --- life --- */

struct local_target *local_target_new(struct local *local, enum target_kind kind)
{
    struct local_target *t = MEM_NEW(struct local_target);

    t->local = local;
    t->base.kind = kind;
    t->base.provider = &local->provider;
    arena_init(&t->arena, LOCAL_TARGET_BYTES);
    t->base.source = arena_str(&t->arena, str_of(local->source));
    t->set = local->staging;
    set_hold(t->set);
    t->base.from = set_from(t->set);
    list_init(&t->link);
    return t;
}

void local_target_free(struct local_target *t)
{
    if (!t)
        return;
    list_remove(&t->link);
    schema_destroy(t->input);
    schema_destroy(t->output);
    arena_finish(&t->arena);
    set_let_go(t->set);
    mem_free(t);
}

/* The end of a path that is too long says more than its beginning. */
void local_source(struct local *local, const char *file, int line)
{
    size_t len = file ? strlen(file) : 0, most = LOCAL_SOURCE_MAX - 16;

    snprintf(local->source, sizeof(local->source), "%s:%d",
             file ? file + (len > most ? len - most : 0) : "", line);
    if (!len)
        local->source[0] = '\0';
}

struct local *local_create(const struct local_opts *opts)
{
    struct local *local = MEM_NEW(struct local);

    local->provider.ops = &local_ops;
    local->server = opts->server;
    local->catalog = opts->catalog;
    local->loop = opts->loop;
    local->replay_check = opts->replay_check;
    pthread_mutex_init(&local->ring_lock, NULL);
    local_hooks_init(local);
    local->workers = workers_create(opts->loop, opts->workers);
    list_init(&local->targets);
    list_init(&local->sets);
    list_init(&local->jobs);
    return local;
}

bool local_stop(struct local *local, int wait_ms)
{
    bool ended = workers_destroy(local->workers, wait_ms);

    LIST_EACH (at, &local->jobs) {
        struct job *job = LIST_OF(at, struct job, link);
        timer_stop(local->loop, &job->stuck);
        atomic_store(&job->run->cancelled, true); /* it sends nothing more to a loop that is gone */
    }
    local->workers = NULL;
    return ended;
}

void local_destroy(struct local *local)
{
    if (!local)
        return;
    size_t count = 0;
    LIST_EACH (at, &local->targets)
        count++;
    struct target **targets = mem_zalloc((count + 1) * sizeof(*targets));
    count = 0;
    LIST_EACH (at, &local->targets)
        targets[count++] = &LIST_OF(at, struct local_target, link)->base;
    catalog_change(local->catalog,
                   &(struct catalog_change){ .remove = targets, .remove_count = count }, NULL);
    mem_free(targets);
    while (!list_empty(&local->targets)) /* targets of calls that were dropped with the engine */
        local_target_free(LIST_OF(list_first(&local->targets), struct local_target, link));
    sets_end(local);
    keyring_destroy(local->ring);
    pthread_mutex_destroy(&local->ring_lock);
    local_hooks_finish(local);
    mem_free(local);
}

void local_check_replays(struct local *local, bool check)
{
    local->replay_check = check;
}

void local_watch_steps(struct local *local, void (*fn)(void *data, const char *key), void *data)
{
    local->stepped = fn;
    local->stepped_data = data;
}

void local_use_titles(struct local *local, local_title *title, const void *data)
{
    local->title = title;
    local->title_data = data;
}

struct workers *local_workers(struct local *local)
{
    return local->workers;
}
