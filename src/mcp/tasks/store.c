/*
 * mcp/tasks/store: the records of tasks.
 *
 * With a durable or shared store, each task has a small record beside the record of its call: whose
 * it is, how long it lives, what was noted about its questions, how it ended. It is written before
 * the client is given the task's id. The record of the call decides how the task stands, and this
 * record may lag behind it. Only the end is repeated here: the store may give up the result of a
 * call that was fetched once, and the end of a task can be read for as long as the task is kept.
 *
 * A write that fails is tried again for as long as the task is here. If no client could come back
 * for the task, the write is given up after a few tries, and there is no task.
 *
 * Holds always: at most one write of a record is under way, and the last write holds the newest
 * state.
 */
#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/tasks/tasks.h"
#include "mcp/shared/work.h"

enum {
    RECORD_MAX = TASK_END_MAX + MCP_BODY_MAX + (1 << 20),
    FIRST_TRIES = 4,      /* tries to store a task that nobody was told of */
    AGAIN_MS = 100,       /* the first pause between two tries */
    AGAIN_MOST_MS = 2000, /* the longest pause */
};

/* --- writing --- */

static bool record_write(struct buf *out, const struct task *task)
{
    struct json_writer w;

    json_writer_init(&w, out);
    jw_object(&w);
    jw_key_i64(&w, STR("version"), TASK_RECORD_VERSION);
    jw_key_str(&w, STR("principal"), task->principal);
    jw_key_i64(&w, STR("created"), task->created_ms);
    jw_key_i64(&w, STR("updated"), task->updated_ms);
    jw_key_i64(&w, STR("ttl"), task->ttl_ms);
    jw_key_i64(&w, STR("can"), task->client.declares);
    jw_key_i64(&w, STR("roles"), task->caller.roles);
    jw_key_i64(&w, STR("status"), task_over(task) ? (int64_t)task->status : TASK_WORKING);
    jw_key_str(&w, STR("message"), task->message);
    jw_key_str(&w, STR("end"), task->end);
    jw_key(&w, STR("notes"));
    jw_array(&w);
    for (const struct task_note *note = task->notes; note; note = note->next) {
        jw_object(&w);
        jw_key_str(&w, STR("ask"), id_str(&note->ask));
        jw_key_bool(&w, STR("opened"), note->opened);
        if (note->problems.len)
            jw_key_str(&w, STR("problems"), note->problems);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return json_writer_done(&w);
}

struct writing {
    struct server_work work; /* first */
    struct id task;
    bool insist;
    int tries;
    struct timer again;
    struct loop *loop;
    void (*done)(void *data, struct task *task);
    void *data;
};

static void put_now(struct writing *writing, struct task *task);

static void writing_over(struct writing *writing, struct task *task)
{
    if (writing->done)
        writing->done(writing->data, task);
    server_work_done(&writing->work);
    mem_free(writing);
}

static struct task *task_written(const struct writing *writing)
{
    struct mcp_server *server = writing->work.server;

    return server ? task_by_id(server, id_str(&writing->task)) : NULL;
}

static void put_again(void *data)
{
    struct writing *writing = data;
    struct task *task = task_written(writing);

    if (task)
        put_now(writing, task);
    else
        writing_over(writing, NULL);
}

static void written(void *data, nod_status status, const struct store_reply *reply)
{
    struct writing *writing = data;
    struct task *task = task_written(writing);

    (void)reply;
    CRASH_POINT(task_after);
    if (status != NOD_OK && writing->tries++ == 0)
        LOG_WARN("a task could not be stored", LOG_STR("task", id_str(&writing->task)),
                 LOG_CSTR("why", nod_status_name(status)));
    if (!task) {
        writing_over(writing, NULL);
    } else if (status == NOD_E_STORE && (writing->insist || writing->tries < FIRST_TRIES)) {
        int64_t pause = AGAIN_MS;
        for (int i = 1; i < writing->tries && pause < AGAIN_MOST_MS; i++)
            pause *= 2;
        timer_set(writing->loop, &writing->again, pause < AGAIN_MOST_MS ? pause : AGAIN_MOST_MS,
                  put_again, writing);
    } else if (status != NOD_OK && writing->done) { /* nobody was told its id */
        if (task->caller.call)
            call_cancel(task->caller.call, STR("the task could not be stored"));
        task = task_written(writing);
        if (task)
            task_forget(task);
        writing_over(writing, NULL);
    } else {
        task->storing = false;
        if (task->stale)
            task_store(task);
        writing_over(writing, task);
    }
}

/* An end is kept until its time is over, but for at least a while. A task that has not ended is
 * kept longer: it may be answered, and all nodes may be down for days before its call goes on. */
static int64_t record_ttl(const struct task *task)
{
    int64_t until = task_expires(task), more = TASK_ENDED_KEEP_MS;

    if (!task_over(task))
        more += STORE_ABANDONED_MS;
    else if (until < task->updated_ms)
        until = task->updated_ms;
    if (__builtin_add_overflow(until, more, &until))
        until = INT64_MAX;
    int64_t left = until - server_now(task->server);
    return left > 0 ? left : 1;
}

static void put_now(struct writing *writing, struct task *task)
{
    struct store *store = engine_store(task->server->opts.engine);
    struct buf record;

    task->stale = false;
    buf_init(&record, RECORD_MAX);
    record_write(&record, task);
    CRASH_POINT(task_before);
    store->ops->put(store, STR(TASKS_STORE_KIND), id_str(&task->id), buf_str(&record),
                    task->principal, 0, record_ttl(task), written, writing);
    buf_finish(&record);
}

static void writing_dropped(void *data)
{
    writing_over(data, NULL);
}

/* The server is being destroyed. */
static void writing_drop(struct server_work *work)
{
    struct writing *writing = (struct writing *)(void *)work;

    work->server = NULL;
    if (!heap_has(&writing->again.node))
        return; /* freed when its completion comes */
    timer_stop(writing->loop, &writing->again);
    loop_defer(writing->loop, writing_dropped, writing);
}

static void write_now(struct task *task, bool insist, void (*done)(void *data, struct task *task),
                      void *data)
{
    struct writing *writing = MEM_NEW(struct writing);

    task->storing = true;
    writing->task = task->id;
    writing->insist = insist;
    writing->loop = task->server->opts.loop;
    writing->done = done;
    writing->data = data;
    writing->work.drop = writing_drop;
    server_work_add(task->server, &writing->work);
    put_now(writing, task);
}

static void not_minded(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply;
}

void task_store(struct task *task)
{
    struct store *store = engine_store(task->server->opts.engine);
    struct buf record;

    if (!task->owner) { /* it is only shown here */
        buf_init(&record, RECORD_MAX);
        if (task->version && record_write(&record, task))
            store->ops->put(store, STR(TASKS_STORE_KIND), id_str(&task->id), buf_str(&record),
                            task->principal, task->version, record_ttl(task), not_minded, NULL);
        buf_finish(&record);
    } else if (task->storing)
        task->stale = true;
    else if (server_survives(task->server))
        write_now(task, true, NULL, NULL);
}

void task_store_first(struct task *task, bool insist, void (*done)(void *data, struct task *task),
                      void *data)
{
    if (!server_survives(task->server)) {
        done(data, task);
        return;
    }
    write_now(task, insist, done, data);
}

void task_record_drop(struct mcp_server *server, struct str id)
{
    struct store *store = engine_store(server->opts.engine);

    if (server_survives(server))
        store->ops->del(store, STR(TASKS_STORE_KIND), id, not_minded, NULL);
}
