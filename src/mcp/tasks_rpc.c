/*
 * mcp/tasks_rpc: the requests that make tasks, look at them, answer them and cancel them.
 *
 * A task that is not here may be in the store: then the request is taken over, and goes on when the
 * task has been loaded. Answers are acknowledged when the store has them, so that a client that
 * looks next does not see the question it has just answered.
 */
#include "base/crash.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "mcp/mrtr.h"
#include "mcp/result.h"
#include "mcp/tasks.h"

enum { WAIT_ARENA_MAX = 32 << 20 };

/* A request that waits: for a task to be loaded, for its record to be stored, for its answers. */
struct wait {
    struct server_work work; /* first */
    struct response response;
    struct in_flight in_flight;
    void (*go_on)(struct wait *wait, struct task *task);
    struct arena arena;
    struct str request_id, principal;
    const struct json *responses; /* inputResponses */
    struct target *target;        /* tools/call: held */
    const struct json *args;
    struct id task;
    size_t feeding;
};

struct feed {
    struct wait *wait;
    struct id ask;
    const struct json *response;
};

/* --- waiting ------------------------------------------------------------------------------------
 */

static void wait_free(struct wait *wait)
{
    pipe_remove(&wait->in_flight);
    server_work_done(&wait->work);
    if (wait->target)
        target_release(wait->target);
    arena_finish(&wait->arena);
    mem_free(wait);
}

/* What it waits for comes all the same, and finds nobody to tell. */
static void wait_gone(struct response *response)
{
    (void)response;
}

static void wait_cancelled(struct in_flight *in_flight)
{
    LIST_OF(in_flight, struct wait, in_flight)->response.over = true;
}

static struct wait *wait_create(struct request *request)
{
    struct wait *wait = MEM_NEW(struct wait);

    arena_init(&wait->arena, WAIT_ARENA_MAX);
    list_init(&wait->work.link);
    wait->request_id = arena_str(&wait->arena, request->id);
    wait->principal = arena_str(&wait->arena, request->principal);
    if (!pipe_add(request, &wait->in_flight, wait->request_id, wait_cancelled)) {
        arena_finish(&wait->arena);
        mem_free(wait);
        return NULL;
    }
    server_work_add(request->server, &wait->work);
    response_take(&wait->response, request, wait_gone);
    return wait;
}

/* server->out is the answer. */
static void wait_end(struct wait *wait, int status)
{
    struct mcp_server *server = wait->work.server;

    if (server) {
        response_end(&wait->response, status, buf_str(&server->out));
        buf_clear(&server->out);
    }
    wait_free(wait);
}

static void wait_fail(struct wait *wait, int status, int64_t code, struct str message)
{
    struct mcp_server *server = wait->work.server;

    if (server) {
        buf_clear(&server->out);
        rpc_write_error(&server->out, wait->request_id, code, message, STR_NONE);
    }
    wait_end(wait, status);
}

/* --- finding the task ---------------------------------------------------------------------------
 */

void tasks_missing(struct request *request)
{
    reply_error_data(request, MCP_MISSING_CAPABILITY,
                     STR("The client does not declare the extension " META_TASKS "."),
                     STR(TASKS_REQUIRED));
    request->status = 400;
}

static const struct str unknown = STR_INIT("There is no such task, or it is no longer kept.");

static void wait_loaded(void *data, struct task *task, nod_status status)
{
    struct wait *wait = data;

    if (!wait->work.server)
        wait_free(wait);
    else if (task)
        wait->go_on(wait, task);
    else if (status == NOD_E_NOT_FOUND)
        wait_fail(wait, 200, RPC_INVALID_PARAMS, unknown);
    else
        wait_fail(wait, 200, RPC_INTERNAL_ERROR,
                  STR("The store cannot be reached; try again later."));
}

/*
 * The task of the request. NULL: the request was answered, or has been taken over and goes on with
 * go_on() when the task has been loaded.
 */
static struct task *task_of_request(struct request *request, const struct json *responses,
                                    void (*go_on)(struct wait *wait, struct task *task))
{
    struct mcp_server *server = request->server;
    struct str id;

    if (!request_text(request, STR("taskId"), &id))
        return NULL;
    struct task *task = task_find(server, id, request->principal);
    if (task)
        return task;
    if (!server_survives(server) || id.len != ID_LEN) {
        reply_error(request, RPC_INVALID_PARAMS, unknown);
        return NULL;
    }
    struct wait *wait = wait_create(request);
    if (!wait)
        return NULL;
    wait->go_on = go_on;
    wait->responses = responses ? json_copy(&wait->arena, responses) : NULL;
    task_load(server, arena_str(&wait->arena, id), wait->principal, wait_loaded, wait);
    return NULL;
}

/* --- tools/call ---------------------------------------------------------------------------------
 */

/* Begins its call; NULL: it has come and gone. */
static struct task *start(struct task *task, struct target *target, const struct json *args,
                          bool opened)
{
    struct mcp_server *server = task->server;
    struct id id = task->id;

    task_begin(task, target, args, opened);
    return task_by_id(server, id_str(&id));
}

/* The task is there for everybody: now its call may begin. */
static void begin_call(struct wait *wait, struct task *task, bool opened)
{
    if (task)
        task = start(task, wait->target, wait->args, opened);
    if (wait->work.server && task) {
        task_write_created(wait->work.server, wait->request_id, task);
        wait_end(wait, 200);
    } else {
        wait_fail(wait, 200, RPC_INTERNAL_ERROR,
                  STR("The task could not be stored; try again later."));
    }
}

static void opened(void *data, nod_status status, const struct store_reply *reply)
{
    struct wait *wait = data;
    struct mcp_server *server = wait->work.server;
    struct task *task = server ? task_by_id(server, id_str(&wait->task)) : NULL;

    (void)reply;
    CRASH_POINT(open_after);
    if (task && status != NOD_OK) { /* nobody was told its id */
        task_forget(task);
        task = NULL;
    }
    begin_call(wait, task, true);
}

/*
 * Where other nodes see the task, they have to see its call too: only the store can tell them
 * whether somebody works on it.
 */
static void begun(void *data, struct task *task)
{
    struct wait *wait = data;

    if (!task || !engine_store(task->server->opts.engine)->ops->shared) {
        begin_call(wait, task, false);
        return;
    }
    wait->task = task->id;
    task_open(task, wait->target, wait->args, opened, wait);
}

static void begin_stored(struct request *request, struct task *task, struct target *target,
                         const struct json *args)
{
    struct wait *wait = wait_create(request);

    if (!wait) { /* it was answered with an error */
        task_forget(task);
        return;
    }
    wait->target = target;
    target_hold(target);
    wait->args = args ? json_copy(&wait->arena, args) : NULL;
    task_store_first(task, begun, wait);
}

static void begin(struct request *request, struct target *target, const struct json *args)
{
    struct mcp_server *server = request->server;
    bool survives = server_survives(server);
    struct buf text;

    buf_init(&text, MCP_BODY_MAX);
    if (survives && (!args || !json_write(&text, args)))
        buf_add(&text, STR("{}"));
    struct task *task = task_create(server, &(struct task_spec){ .principal = request->principal,
                                                                 .tool = target->name,
                                                                 .args = buf_str(&text),
                                                                 .can = request->meta->can });
    buf_finish(&text);
    if (!task) {
        reply_error(request, RPC_INTERNAL_ERROR,
                    STR("There are as many tasks as there may be; wait for one to end."));
        request->status = 503;
    } else if (survives) {
        begin_stored(request, task, target, args);
    } else {
        task = start(task, target, args, false);
        if (task)
            task_write_created(server, request->id, task);
        else
            reply_error(request, RPC_INTERNAL_ERROR, unknown);
    }
}

bool tasks_call(struct request *request, struct target *target, const struct json *args)
{
    if (!request->meta || target->task == NOD_TASK_NEVER)
        return false;
    if (!request->meta->tasks) {
        if (target->task != NOD_TASK_REQUIRED)
            return false;
        tasks_missing(request);
        return true;
    }
    if (target->task_asks_first || request->has.state)
        return false; /* it may become one on the way */
    begin(request, target, args);
    return true;
}

/* --- tasks/get ----------------------------------------------------------------------------------
 */

static void get_loaded(struct wait *wait, struct task *task)
{
    task_write_detailed(wait->work.server, wait->request_id, task);
    wait_end(wait, 200);
}

void tasks_get(struct request *request)
{
    if (!request->meta->tasks) {
        tasks_missing(request);
        return;
    }
    struct task *task = task_of_request(request, NULL, get_loaded);
    if (task)
        task_write_detailed(request->server, request->id, task);
}

/* --- tasks/cancel -------------------------------------------------------------------------------
 */

static void cancel(struct task *task)
{
    if (task->caller.call)
        call_cancel(task->caller.call, STR("The client has cancelled the task."));
}

static void cancel_loaded(struct wait *wait, struct task *task)
{
    cancel(task);
    task_write_done(wait->work.server, wait->request_id);
    wait_end(wait, 200);
}

void tasks_cancel(struct request *request)
{
    if (!request->meta->tasks) {
        tasks_missing(request);
        return;
    }
    struct task *task = task_of_request(request, NULL, cancel_loaded);
    if (!task)
        return;
    cancel(task);
    task_write_done(request->server, request->id);
}

/* --- tasks/update -------------------------------------------------------------------------------
 */

static void note_result(struct task *task, const struct feed *feed,
                        const struct answer_result *result)
{
    struct str id = id_str(&feed->ask);
    struct ask *ask = engine_ask(task->server->opts.engine, id);
    struct task_note *note = result->pending && ask ? task_note_add(task, id) : NULL;

    if (!note)
        return;
    if (result->status == NOD_OK)
        note->opened = true; /* the page has the word now */
    if (result->problems.len)
        note->problems = arena_str(&task->arena, result->problems);
    note->attempt = ask_record(ask)->attempt;
    task_store(task);
}

/* The store has this answer, or does not want it. */
static void fed(void *data, const struct answer_result *result)
{
    struct feed *feed = data;
    struct wait *wait = feed->wait;
    struct mcp_server *server = wait->work.server;
    struct task *task = server ? task_find(server, id_str(&wait->task), wait->principal) : NULL;

    if (task && !task_over(task))
        note_result(task, feed, result);
    if (--wait->feeding)
        return;
    if (task)
        task_refresh(task, true);
    if (server)
        task_write_done(server, wait->request_id);
    wait_end(wait, 200);
}

/* Is some response shaped as the question it answers does not allow? Counts those that answer one.
 */
static bool shaped(struct task *task, const struct json *responses, size_t *count)
{
    struct call *call = task->caller.call;
    struct answer answer;
    struct arena arena;
    bool fine = true;

    *count = 0;
    if (!call || !task->asked)
        return true;
    arena_init(&arena, WAIT_ARENA_MAX);
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask)) {
        const struct ask_record *record = ask_record(ask);
        const struct json *response = json_get(responses, task_key(&arena, record));
        if (!response || !task_shows(task, record))
            continue;
        fine = fine && mrtr_read(record, response, &answer);
        ++*count;
    }
    arena_finish(&arena);
    return fine;
}

static void feed_all(struct wait *wait, struct task *task, size_t count)
{
    struct mcp_server *server = wait->work.server;
    struct call *call = task->caller.call;
    struct feed *feeds = arena_zalloc(&wait->arena, count * sizeof(*feeds));
    size_t at = 0;

    wait->task = task->id;
    for (struct ask *ask = call_ask_first(call); feeds && ask; ask = call_ask_next(call, ask)) {
        const struct ask_record *record = ask_record(ask);
        const struct json *response = json_get(wait->responses, task_key(&wait->arena, record));
        if (!response || !task_shows(task, record) || at == count)
            continue;
        feeds[at] = (struct feed){ .wait = wait, .response = response };
        memcpy(feeds[at++].ask.text, record->id.at, ID_LEN);
    }
    wait->feeding = at + 1; /* one for this function */
    struct feed last = { .wait = wait };
    for (size_t i = 0; i < at; i++) {
        struct ask *ask = engine_ask(server->opts.engine, id_str(&feeds[i].ask));
        struct answer answer;
        if (!ask || !mrtr_read(ask_record(ask), feeds[i].response, &answer)) {
            fed(&feeds[i], &(struct answer_result){ .status = NOD_E_STALE });
            continue;
        }
        answer.by = wait->principal;
        answer.surface = server->mrtr;
        ask_answer(server->opts.engine, id_str(&feeds[i].ask), &answer, fed, &feeds[i]);
    }
    fed(&last, &(struct answer_result){ .status = NOD_E_STALE });
}

static const struct str malformed =
    STR_INIT("params.inputResponses: a response is not shaped as its request wants it.");

static void update_loaded(struct wait *wait, struct task *task)
{
    size_t count;

    if (!shaped(task, wait->responses, &count)) {
        wait_fail(wait, 400, RPC_INVALID_PARAMS, malformed);
    } else if (count) {
        feed_all(wait, task, count);
    } else {
        task_write_done(wait->work.server, wait->request_id);
        wait_end(wait, 200);
    }
}

static bool read_responses(struct request *request, const struct json **out)
{
    *out = request->has.responses;
    bool fine = json_is(*out, JSON_OBJECT);
    JSON_EACH (response, fine ? *out : NULL)
        fine = fine && json_is(response, JSON_OBJECT);
    if (fine)
        return true;
    reply_error(request, RPC_INVALID_PARAMS,
                STR("params.inputResponses must be an object of objects."));
    request->status = 400;
    return false;
}

void tasks_update(struct request *request)
{
    const struct json *responses;
    size_t count;

    if (!request->meta->tasks) {
        tasks_missing(request);
        return;
    }
    if (!read_responses(request, &responses))
        return;
    struct task *task = task_of_request(request, responses, update_loaded);
    if (!task)
        return;
    if (!shaped(task, responses, &count)) {
        reply_error(request, RPC_INVALID_PARAMS, malformed);
        request->status = 400;
    } else if (!count) {
        task_write_done(request->server, request->id);
    } else {
        struct wait *wait = wait_create(request);
        if (!wait)
            return;
        wait->responses = json_copy(&wait->arena, responses);
        feed_all(wait, task, count);
    }
}
