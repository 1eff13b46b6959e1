/*
 * mcp/tasks/wire: a task as the client sees it.
 *
 * The result that makes a task, tasks/get and notifications/tasks have the same members; only the
 * first leaves out inputRequests, result and error. Nothing of a task is ever a requestState.
 */
#include "mcp/era2026/ask.h"
#include "mcp/wire/result.h"
#include "mcp/tasks/tasks.h"

enum { KEYS_ARENA_MAX = 1 << 20 };

static const struct str statuses[] = {
    [TASK_WORKING] = STR_INIT("working"),     [TASK_INPUT_REQUIRED] = STR_INIT("input_required"),
    [TASK_COMPLETED] = STR_INIT("completed"), [TASK_FAILED] = STR_INIT("failed"),
    [TASK_CANCELLED] = STR_INIT("cancelled"),
};

static void write_requests(struct json_writer *w, struct task *task)
{
    struct task_asks walk = { .task = task };
    struct arena arena;

    arena_init(&arena, KEYS_ARENA_MAX);
    jw_key(w, STR("inputRequests"));
    jw_object(w);
    for (const struct ask_record *record; (record = task_asks_next(&walk));) {
        const struct task_note *note = task_note(task, record->id);
        if (!task_shows(task, record))
            continue;
        jw_key(w, task_key(&arena, record));
        ask2026_write(w, task->server, record, note ? note->problems : STR_NONE);
    }
    jw_end(w);
    arena_finish(&arena);
}

void task_write(struct json_writer *w, struct task *task, bool detailed)
{
    enum task_status status = task_status(task);

    jw_key_str(w, STR("taskId"), id_str(&task->id));
    jw_key_str(w, STR("status"), statuses[status]);
    if (task->message.len)
        jw_key_str(w, STR("statusMessage"), task->message);
    jw_key_time(w, STR("createdAt"), task->created_ms);
    jw_key_time(w, STR("lastUpdatedAt"), task->updated_ms);
    jw_key_i64(w, STR("ttlMs"), task->ttl_ms);
    jw_key_i64(w, STR("pollIntervalMs"), TASK_POLL_MS);
    if (!detailed)
        return;
    if (status == TASK_INPUT_REQUIRED)
        write_requests(w, task);
    else if (status == TASK_COMPLETED)
        jw_key_raw(w, STR("result"), task->end);
    else if (status == TASK_FAILED)
        jw_key_raw(w, STR("error"), task->end);
}

static void write_response(struct mcp_server *server, struct str request_id, struct task *task,
                           struct str type, bool detailed)
{
    struct buf *out = &server->out;
    struct json_writer w;

    rpc_begin(&w, out, request_id, STR_NONE);
    result_begin(&w, &server->opts.self, type);
    if (task)
        task_write(&w, task, detailed);
    if (rpc_end(&w))
        return;
    buf_clear(out);
    rpc_write_error(out, request_id, RPC_INTERNAL_ERROR, MCP_TOO_LARGE("The task"), STR_NONE);
}

void task_write_created(struct mcp_server *server, struct str request_id, struct task *task)
{
    write_response(server, request_id, task, STR("task"), false);
}

void task_write_detailed(struct mcp_server *server, struct str request_id, struct task *task)
{
    task_refresh(task, false);
    write_response(server, request_id, task, STR("complete"), true);
}

void task_write_done(struct mcp_server *server, struct str request_id)
{
    write_response(server, request_id, NULL, STR("complete"), false);
}
