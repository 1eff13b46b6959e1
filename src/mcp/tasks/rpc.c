/*
 * mcp/tasks/rpc: tasks/get and tasks/cancel, and what requests that wait have in common.
 *
 * A task that is worked on here, or has ended here, is shown at once. All others are looked up
 * in the store each time, because another node may be working on them; and so is one whose end is
 * on its way to a shared store, which may have it, or that is answered while it is worked on: its
 * questions may be on their way. Either way the request is
 * taken over, and goes on with the task. Requests of tasks/get wait in line: they are small, and a
 * task may be large.
 */
#include "base/mem.h"
#include "core/catalog.h"
#include "mcp/era2026/caller.h"
#include "mcp/shared/delivery.h"
#include "mcp/tasks/tasks.h"

enum { WAIT_ARENA_MAX = 32 << 20 };

/* --- waiting --- */

void task_wait_free(struct task_wait *wait)
{
    pipe_remove(&wait->in_flight);
    if (wait->work.server)
        queue_end(&wait->work.server->queue, &wait->turn);
    server_work_done(&wait->work);
    if (wait->wanted.target)
        target_release(wait->wanted.target);
    task_forget(wait->view);
    arena_finish(&wait->arena);
    mem_free(wait);
}

/* In line, nothing was begun for it. Otherwise what it waits for still comes, and finds nobody to
 * tell. */
static void wait_left(struct task_wait *wait)
{
    wait->response.over = true;
    if (queue_waits(&wait->turn))
        task_wait_free(wait);
}

static void wait_gone(struct response *response)
{
    wait_left(LIST_OF(response, struct task_wait, response));
}

static void wait_cancelled(struct in_flight *in_flight)
{
    wait_left(LIST_OF(in_flight, struct task_wait, in_flight));
}

struct task_wait *task_wait_create(struct request *request)
{
    struct task_wait *wait = MEM_NEW(struct task_wait);

    arena_init(&wait->arena, WAIT_ARENA_MAX);
    list_init(&wait->work.link);
    wait->request_id = arena_str(&wait->arena, request->id);
    wait->principal = arena_str(&wait->arena, request->principal);
    wait->roles = request->roles;
    if (!pipe_add(request, &wait->in_flight, wait->request_id, wait_cancelled)) {
        arena_finish(&wait->arena);
        mem_free(wait);
        return NULL;
    }
    server_work_add(request->server, &wait->work);
    response_take(&wait->response, request, wait_gone);
    return wait;
}

void task_wait_end(struct task_wait *wait, int status)
{
    struct mcp_server *server = wait->work.server;

    if (server) {
        response_end(&wait->response, status, buf_str(&server->out));
        buf_clear(&server->out);
    }
    task_wait_free(wait);
}

void task_wait_fail(struct task_wait *wait, int status, int64_t code, struct str message,
                    struct str data)
{
    struct mcp_server *server = wait->work.server;

    if (server) {
        buf_clear(&server->out);
        rpc_write_error(&server->out, wait->request_id, code, message, data);
    }
    task_wait_end(wait, status);
}

/* --- finding the task --- */

void tasks_missing(struct request *request)
{
    reply_error_data(request, MCP_MISSING_CAPABILITY,
                     STR("The client does not declare the extension " META_TASKS "."),
                     STR(TASKS_REQUIRED));
    request->status = 400;
}

const struct str task_unknown = STR_INIT("There is no such task, or it is no longer kept.");

static const struct str store_away = STR_INIT(
    "The store cannot be reached, and nothing was done for this request; the task goes on. "
    "Try again later.");

static const struct str no_room =
    STR_INIT("This server has no room for the task now, and nothing was done for this request; the "
             "task goes on. Try again later.");

static void wait_loaded(void *data, struct task *task, nod_status status)
{
    struct task_wait *wait = data;

    if (wait->work.server)
        queue_went(&wait->work.server->queue, status != NOD_E_STORE);
    if (task && !task->owner)
        wait->view = task;
    else if (wait->work.server && status == NOD_E_STORE && wait->finishing)
        task = task_find(wait->work.server, id_str(&wait->task), wait->principal);
    if (!wait->work.server)
        task_wait_free(wait);
    else if (task)
        wait->go_on(wait, task);
    else if (status == NOD_E_NOT_FOUND)
        task_wait_fail(wait, 200, RPC_INVALID_PARAMS, task_unknown, STR_NONE);
    else
        task_wait_fail(wait, status == NOD_E_LIMIT ? 503 : resume_http(wait->work.server, status),
                       RPC_INTERNAL_ERROR, status == NOD_E_LIMIT ? no_room : store_away, STR_NONE);
}

static void wait_begin(struct task_wait *wait)
{
    struct mcp_server *server = wait->work.server;
    struct str id = id_str(&wait->task);
    struct task *task = task_find(server, id, wait->principal);
    const struct call *call = task ? task->caller.call : NULL;
    /* Does this node know everything there is to know of the task? What its call asks, or its end,
     * may be stored, be shown by another node, and the reply of the store be still to come. */
    wait->finishing = call && call_working(call) && call_has_ended(call);
    bool known = task && (!engine_store(server->opts.engine)->ops->shared || task_over(task) ||
                          (call && call_working(call) && !wait->finishing && !wait->responses));

    wait->work.drop = NULL;
    if (task)
        task_visited(task, wait->roles);
    if (known)
        wait->go_on(wait, task);
    else if (server_survives(server))
        task_load(server, id, wait->principal, wait->roles, TASK_TO_WORK, wait_loaded, wait);
    else
        task_wait_fail(wait, 200, RPC_INVALID_PARAMS, task_unknown, STR_NONE);
}

static void wait_turn(struct queue_turn *turn)
{
    wait_begin(LIST_OF(turn, struct task_wait, turn));
}

static void wait_drop(struct server_work *work)
{
    struct task_wait *wait = (struct task_wait *)(void *)work;

    queue_end(&work->server->queue, &wait->turn);
    work->server = NULL;
    task_wait_free(wait);
}

void task_of_request(struct request *request, const struct json *responses, bool in_line,
                     void (*go_on)(struct task_wait *wait, struct task *task))
{
    struct mcp_server *server = request->server;
    struct str id;

    if (!request_text(request, STR("taskId"), &id))
        return;
    if (id.len != ID_LEN ||
        (!server_survives(server) && !task_find(server, id, request->principal))) {
        reply_error(request, RPC_INVALID_PARAMS, task_unknown);
        return;
    }
    struct task_wait *wait = task_wait_create(request);
    if (!wait)
        return;
    wait->go_on = go_on;
    wait->task = id_of(id);
    wait->responses = responses ? json_copy(&wait->arena, responses) : NULL;
    wait->work.drop = in_line ? wait_drop : NULL;
    if (in_line)
        queue_wait(&server->queue, &wait->turn, wait->principal, wait_turn);
    else
        wait_begin(wait);
}

/* --- tasks/get --- */

static void get_loaded(struct task_wait *wait, struct task *task)
{
    struct mcp_server *server = wait->work.server;

    if (!wait->response.over) {
        task_write_detailed(server, wait->request_id, task);
        if (task->status == TASK_COMPLETED || task->status == TASK_FAILED)
            delivery_begin(server, wait->response.exchange, id_str(&task->id));
    }
    task_wait_end(wait, 200);
}

void tasks_get(struct request *request)
{
    if (!request->meta->tasks)
        tasks_missing(request);
    else
        task_of_request(request, NULL, true, get_loaded);
}

/* --- tasks/cancel --- */

static const struct str cancel_is_sent_on = STR_INIT(
    "The store cannot be reached, and has not taken the cancel yet. The cancel is sent on as "
    "long as this server lives; send it again to be sure.");

/* Who is told that a task is cancelled can rely on it: the store has it. */
static void cancel_stored(void *data, nod_status status)
{
    struct task_wait *wait = data;

    if (!wait->work.server) {
        task_wait_free(wait);
    } else if (status == NOD_E_STORE) {
        task_wait_fail(wait, 503, RPC_INTERNAL_ERROR, cancel_is_sent_on, STR_NONE);
    } else {
        task_write_done(wait->work.server, wait->request_id);
        task_wait_end(wait, 200);
    }
}

static void cancel_loaded(struct task_wait *wait, struct task *task)
{
    if (task_over(task))
        cancel_stored(wait, NOD_OK);
    else
        engine_cancel(task->server->opts.engine, id_str(&task->id),
                      STR("The client has cancelled the task."), cancel_stored, wait);
}

void tasks_cancel(struct request *request)
{
    if (!request->meta->tasks)
        tasks_missing(request);
    else
        task_of_request(request, NULL, false, cancel_loaded);
}
