/*
 * mcp/tasks/begin: how a call becomes a task.
 *
 * If a tool's calls are tasks from the beginning, the task is stored, then its call is opened in
 * the store, then the client is given the id, and only then does the call begin. Until then no node
 * runs it, even after a crash: the client would call again, and the work would be done twice. If
 * the client is gone before it could be given the id, the call does not begin.
 *
 * With task_asks_first the call is held before its first step, and becomes a task there, in the
 * same order. The client can come back with the requestState of its last round, so the store is
 * waited for.
 */
#include "base/crash.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "mcp/era2026/caller.h"
#include "mcp/shared/shares.h"
#include "mcp/tasks/tasks.h"

enum { NO_ROOM_ARENA_MAX = 16 << 10 }; /* memory of what a client is told past its bytes */

static const struct str not_stored = STR_INIT(
    "The task could not be stored, so it was not begun, and no step was done; try again later.");
static const struct str not_read =
    STR_INIT("The store did not say whether this call is a task; try again later.");

/* Nobody has been told of the task. */
static void drop(struct task *task)
{
    struct mcp_server *server = task->server;
    struct id id = task->id;

    if (task->caller.call)
        call_cancel(task->caller.call, STR("the client has gone"));
    else
        engine_cancel(server->opts.engine, id_str(&id), STR("the task was not given out"), NULL,
                      NULL);
    task = task_by_id(server, id_str(&id));
    if (task)
        task_forget(task);
    task_record_drop(server, id_str(&id));
}

/* --- from the beginning --- */

/* The task and its call are stored: the client is told, and then the call begins. */
static void give_out(struct task_wait *wait, struct task *task)
{
    struct mcp_server *server = wait->work.server;

    if (wait->response.over) {
        drop(task);
        task_wait_free(wait);
        return;
    }
    task_write_created(server, wait->request_id, task);
    response_end(&wait->response, 200, buf_str(&server->out));
    buf_clear(&server->out);
    if (server->front)
        front_flush(server->front);
    CRASH_POINT(task_told_after);
    task_begin(task, &wait->wanted, true);
    task_wait_free(wait);
}

static void opened(void *data, nod_status status, const struct store_reply *reply)
{
    struct task_wait *wait = data;
    struct mcp_server *server = wait->work.server;
    struct task *task = server ? task_by_id(server, id_str(&wait->task)) : NULL;

    CRASH_POINT(open_after);
    if (task && status == NOD_OK) {
        give_out(wait, task);
        return;
    }
    if (task)
        drop(task);
    if (status == NOD_E_LIMIT && store_quota_is_bytes(reply->quota)) {
        task_wait_fail(
            wait, 429, RPC_INTERNAL_ERROR,
            engine_quota_message(&wait->arena, wait->principal, reply->quota, reply->quota_most),
            STR_NONE);
        return;
    }
    task_wait_fail(wait, status == NOD_E_STORE ? 503 : 200, RPC_INTERNAL_ERROR, not_stored,
                   STR_NONE);
}

static void stored(void *data, struct task *task)
{
    struct task_wait *wait = data;

    if (!task) {
        task_wait_fail(wait, 503, RPC_INTERNAL_ERROR, not_stored, STR_NONE);
        return;
    }
    wait->task = task->id;
    task_open(task, &wait->wanted, opened, wait);
}

/* As far as it is known at once; otherwise the store tells when the call is opened. */
static bool no_room(struct request *request)
{
    struct engine *engine = request->server->opts.engine;
    uint64_t most = 0;
    struct arena arena;

    enum store_quota quota = engine_full(engine, request->principal, &most);
    if (!quota)
        return false;
    arena_init(&arena, NO_ROOM_ARENA_MAX);
    reply_error(request, RPC_INTERNAL_ERROR,
                engine_quota_message(&arena, request->principal, quota, most));
    request->status = 429;
    arena_finish(&arena);
    return true;
}

static void begin(struct request *request, const struct start_spec *wanted)
{
    struct mcp_server *server = request->server;

    if (no_room(request))
        return;
    struct task *task = task_create(server, &(struct task_spec){ .principal = request->principal,
                                                                 .client = request->meta->client,
                                                                 .can = request->meta->can,
                                                                 .roles = request->roles });
    if (!task) {
        bool own = tasks_full(server, request->principal);
        char why[SHARES_SENTENCE_MAX];
        _Static_assert(TASKS_MAX == 20000, "as the message says");
        reply_error(request, RPC_INTERNAL_ERROR,
                    own ? str_of(shares_sentence(server, MCP_SHARE_TASKS, why))
                        : STR("There are 20000 tasks, as many as there may be; wait for one to "
                              "end."));
        request->status = own ? 429 : 503;
    } else if (server_survives(server)) {
        struct task_wait *wait = task_wait_create(request);
        if (!wait) { /* an error was replied */
            task_forget(task);
            return;
        }
        wait->wanted = *wanted;
        target_hold(wanted->target);
        wait->wanted.args = wanted->args ? json_copy(&wait->arena, wanted->args) : NULL;
        wait->wanted.meta = arena_str(&wait->arena, wanted->meta);
        task_store_first(task, false, stored, wait);
    } else { /* no client can come back to another process */
        struct id id = task->id;
        task_begin(task, wanted, false);
        task = task_by_id(server, id_str(&id));
        if (task)
            task_write_created(server, request->id, task);
        else
            reply_error(request, RPC_INTERNAL_ERROR, task_unknown);
    }
}

bool tasks_call(struct request *request, const struct start_spec *spec)
{
    const struct target *target = spec->target;

    if (!request->meta || target->detach == DETACH_NEVER)
        return false;
    if (!request->meta->tasks) {
        if (target->detach != DETACH_MUST)
            return false;
        tasks_missing(request);
        return true;
    }
    if (target->detach_after_asks || request->has.state)
        return false; /* the call may become a task later */
    begin(request, spec);
    return true;
}

/* --- a request that becomes a task --- */

void tasks_respond(struct caller2026 *caller, struct task *task)
{
    struct buf *out = &caller->server->out;

    LIST_EACH (at, &caller->waiters) {
        struct waiter *waiter = LIST_OF(at, struct waiter, link);
        task_write_created(caller->server, waiter_id(waiter), task);
        response_end(&waiter->response, 200, buf_str(out));
        buf_clear(out);
        waiter_free(waiter);
    }
    caller_over(caller);
}

/* The id is given out only when the task's record is stored. */
static void taken(void *data, struct task *task)
{
    struct caller2026 *caller = data;
    /* the client is gone, and has nothing to come back with */
    bool gone = caller->over && !caller->resumed;

    if (caller->server && !caller->over && !task) {
        caller_fail(caller, 503, RPC_INTERNAL_ERROR, not_stored, STR_NONE);
    } else if (caller->server && !caller->over) { /* before anything is done */
        tasks_respond(caller, task);
        if (task->server->front)
            front_flush(task->server->front);
    }
    if (task && gone)
        drop(task);
    else if (task && task->caller.call) { /* the client has the id, or its state */
        call_handed(task->caller.call);
        call_step_on(task->caller.call);
    }
    caller->busy--;
    caller_settle(caller);
}

bool tasks_take(struct caller2026 *caller, struct call *call)
{
    struct task *task =
        task_create(caller->server, &(struct task_spec){ .id = call_id(call),
                                                         .principal = caller->principal,
                                                         .can = caller->client.declares,
                                                         .roles = caller->caller.roles });

    if (!task)
        return false;
    task_go_on(task, call);
    caller->busy++;
    task_store_first(task, caller->resumed, taken, caller);
    return true;
}

/* --- a request whose call is a task already --- */

struct resumed {
    struct caller2026 *caller;
    void (*done)(struct caller2026 *caller, bool was);
};

static void resumed_loaded(void *data, struct task *view, nod_status status)
{
    struct resumed *resumed = data;
    struct caller2026 *caller = resumed->caller;
    bool unsure = status != NOD_OK && status != NOD_E_NOT_FOUND;

    if (caller->server && !caller->over) {
        if (view)
            tasks_respond(caller, view);
        else if (unsure) /* if the call is a task, it must not go on as a request */
            caller_fail(caller, resume_http(caller->server, status), RPC_INTERNAL_ERROR, not_read,
                        STR_NONE);
    }
    resumed->done(caller, view || unsure);
    task_forget(view);
    mem_free(resumed);
    caller->busy--;
    caller_settle(caller);
}

void tasks_resumed(struct caller2026 *caller, struct str id,
                   void (*done)(struct caller2026 *caller, bool was))
{
    struct resumed *resumed = MEM_NEW(struct resumed);

    *resumed = (struct resumed){ caller, done };
    caller->busy++;
    task_load(caller->server, id, caller->principal, caller->caller.roles, TASK_TO_LOOK,
              resumed_loaded, resumed);
}
