/*
 * mcp/tasks/tasks: the life of a task, and how many there may be.
 *
 *     working ⇄ input_required ─▶ completed │ failed │ cancelled ─▶ forgotten
 *
 * A task is the caller of its call: the call tells it what it asks, how far it is, and how it
 * ended. No connection is involved. When its time to live is over, a task that has not ended fails,
 * and its call is cancelled; a task that has ended is forgotten.
 *
 * Holds always: completed, failed and cancelled are final. A task belongs to one principal, and
 * does not exist for any other. While a call points to a task, the task is there.
 */
#include "mcp/tasks/tasks.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "mcp/shared/caller_record.h"
#include "mcp/shared/live.h"
#include "mcp/era2026/ask.h"
#include "mcp/wire/result.h"

enum { TASK_ARENA_MAX = 16 << 20 };

struct tasks {
    struct map by_id;
    struct map owners; /* principal -> struct task_owner */
    struct list ended; /* oldest first */
    struct heap due;
    size_t bytes; /* of what is kept */
    size_t lost;  /* as in struct task_owner */
};

struct tasks *tasks_create(void)
{
    struct tasks *tasks = MEM_NEW(struct tasks);

    map_init(&tasks->by_id, TASKS_MAX);
    map_init(&tasks->owners, TASKS_MAX);
    list_init(&tasks->ended);
    heap_init(&tasks->due);
    return tasks;
}

void tasks_drop(struct mcp_server *server)
{
    struct task *task;

    for (size_t at = 0; (task = map_next(&server->tasks->by_id, &at));)
        task_forget(task);
}

void tasks_destroy(struct mcp_server *server)
{
    struct tasks *tasks = server->tasks;

    tasks_drop(server); /* what the store said meanwhile may have made some */
    map_finish(&tasks->by_id);
    map_finish(&tasks->owners);
    heap_finish(&tasks->due);
    mem_free(tasks);
}

bool tasks_offered(const struct mcp_server *server)
{
    const struct catalog *catalog = server->opts.catalog;

    if (server->tasks->by_id.count) /* a tool with tasks may have been removed */
        return true;
    for (size_t i = 0; i < catalog_count(catalog, TARGET_TOOL, false); i++)
        if (catalog_at(catalog, TARGET_TOOL, false, i)->detach != DETACH_NEVER)
            return true;
    return false;
}

bool tasks_may_be(const struct mcp_server *server)
{
    return tasks_offered(server) || server_survives(server);
}

/* --- coming and going --- */

static struct task_owner *owner_of(struct tasks *tasks, struct str name)
{
    struct task_owner *owner = map_get(&tasks->owners, name);

    if (owner)
        return owner;
    owner = mem_zalloc(sizeof(*owner) + name.len);
    list_init(&owner->ended);
    owner->len = name.len;
    if (name.len)
        memcpy(owner->name, name.at, name.len);
    map_set(&tasks->owners, str_n(owner->name, owner->len), owner);
    return owner;
}

static void owner_drop(struct tasks *tasks, struct task_owner *owner)
{
    if (owner->count)
        return;
    map_remove(&tasks->owners, str_n(owner->name, owner->len));
    mem_free(owner);
}

/* The oldest whose end was fetched, or that the store has. False: there is none. */
static bool forget_first(struct list *ended, bool own, const struct task *but)
{
    LIST_EACH (at, ended) {
        struct task *task = own ? LIST_OF(at, struct task, own) : LIST_OF(at, struct task, ended);
        if (task->lost || task == but)
            continue;
        task_forget(task);
        return true;
    }
    return false;
}

static void lost_count(struct task *task, bool lost)
{
    struct tasks *tasks = task->server->tasks;
    size_t bytes = task->end.len;

    if (task->lost == lost)
        return;
    task->lost = lost;
    tasks->lost = lost ? tasks->lost + bytes : tasks->lost - bytes;
    task->owner->lost = lost ? task->owner->lost + bytes : task->owner->lost - bytes;
}

void tasks_fetched(struct mcp_server *server, struct str id)
{
    struct task *task = map_get(&server->tasks->by_id, id);

    if (task)
        lost_count(task, false);
}

size_t tasks_lost(const struct mcp_server *server, struct str principal)
{
    const struct task_owner *owner =
        principal.len ? map_get(&server->tasks->owners, principal) : NULL;

    return !principal.len ? server->tasks->lost : owner ? owner->lost : 0;
}

bool tasks_full(const struct mcp_server *server, struct str principal)
{
    const struct task_owner *owner = map_get(&server->tasks->owners, principal);

    return owner && owner->count >= server->opts.per_principal[MCP_SHARE_TASKS];
}

struct task *task_make(struct mcp_server *server, const struct task_spec *spec)
{
    int64_t ttl_most = (int64_t)TASK_TTL_MAX_DAYS * 24 * 3600 * 1000;
    struct task *task = MEM_NEW(struct task);

    task->caller.ops = &task_caller_ops;
    task->server = server;
    list_init(&task->ended);
    list_init(&task->own);
    if (spec->id.len == ID_LEN)
        task->id = id_of(spec->id);
    else
        id_random(&task->id);
    arena_init(&task->arena, TASK_ARENA_MAX);
    task->principal = arena_str(&task->arena, spec->principal);
    task->client = (struct client){ .name = client_shown(spec->client, &task->arena),
                                    .declares = spec->can,
                                    .asked = spec->can,
                                    .revision = REVISION_2026_07_28 };
    task->caller.client = &task->client;
    task->caller.roles = spec->roles;
    task->created_ms = task->updated_ms = server_now(server);
    task->ttl_ms = server->opts.task_ttl_ms < ttl_most ? server->opts.task_ttl_ms : ttl_most;
    return task;
}

/* Until its time is over, but for at least a while, so that its client learns of the end. Results
 * past the share of their principal go: docs/inside/store.md, "Whose bytes". */
static void keep_ended(struct task *task)
{
    struct tasks *tasks = task->server->tasks;
    int64_t until = task_expires(task);

    if (until < task->updated_ms + TASK_ENDED_KEEP_MS)
        until = task->updated_ms + TASK_ENDED_KEEP_MS;
    heap_set(&tasks->due, &task->due, until);
    list_append(&tasks->ended, &task->ended);
    list_append(&task->owner->ended, &task->own);
    tasks->bytes += task->end.len;
    task->owner->bytes += task->end.len;
    while (task->owner->bytes > TASKS_BYTES_PER_PRINCIPAL_MAX &&
           forget_first(&task->owner->ended, true, task))
        continue;
    while (tasks->bytes > TASKS_BYTES_MAX && forget_first(&tasks->ended, false, task))
        continue;
}

bool task_enter(struct task *task)
{
    struct tasks *tasks = task->server->tasks;
    struct task_owner *owner = owner_of(tasks, task->principal);
    size_t most = task->server->opts.per_principal[MCP_SHARE_TASKS];

    /* Tasks whose ends were fetched make room for the new one. */
    if (++owner->count > most)
        forget_first(&owner->ended, true, NULL);
    else if (tasks->by_id.count >= TASKS_MAX)
        forget_first(&tasks->ended, false, NULL);
    if (owner->count > most || tasks->by_id.count >= TASKS_MAX ||
        task_by_id(task->server, id_str(&task->id))) {
        owner->count--;
        owner_drop(tasks, owner);
        return false;
    }
    task->owner = owner;
    task->principal = task->client.scope = str_n(owner->name, owner->len);
    map_set(&tasks->by_id, id_str(&task->id), task);
    if (task_over(task))
        keep_ended(task);
    else
        heap_set(&tasks->due, &task->due, task_expires(task));
    return true;
}

struct task *task_create(struct mcp_server *server, const struct task_spec *spec)
{
    struct task *task = task_make(server, spec);

    if (task_enter(task))
        return task;
    task_forget(task);
    return NULL;
}

void task_count(struct task *task, bool running)
{
    struct mcp_server *server = task->server;

    if (task->running == running)
        return;
    task->running = running;
    if (running)
        live_call_began(server);
    else
        live_call_ended(server);
    if (!running)
        server_check_drained(server);
}

void task_forget(struct task *task)
{
    if (!task)
        return;
    if (task->caller.call)
        call_caller_left(task->caller.call);
    if (task->owner) { /* a task that is only shown may outlive the server */
        struct tasks *tasks = task->server->tasks;
        task_count(task, false);
        map_remove(&tasks->by_id, id_str(&task->id));
        heap_remove(&tasks->due, &task->due);
        list_remove(&task->ended);
        list_remove(&task->own);
        lost_count(task, false);
        tasks->bytes -= task->end.len;
        task->owner->bytes -= task->end.len;
        task->owner->count--;
        owner_drop(tasks, task->owner);
    }
    mem_free((char *)task->end.at);
    mem_free((char *)task->message.at);
    arena_finish(&task->arena);
    mem_free(task);
}

int64_t task_expires(const struct task *task)
{
    int64_t at;

    return __builtin_add_overflow(task->created_ms, task->ttl_ms, &at) ? INT64_MAX : at;
}

/* --- its end --- */

bool task_over(const struct task *task)
{
    return task->status >= TASK_COMPLETED;
}

void task_touch(struct task *task)
{
    int64_t now = server_now(task->server);

    if (now > task->updated_ms)
        task->updated_ms = now;
}

void task_say(struct task *task, struct str message)
{
    if (message.len > TASK_MESSAGE_MAX) {
        message.len = TASK_MESSAGE_MAX;
        while (message.len && ((unsigned char)message.at[message.len] & 0xC0) == 0x80)
            message.len--; /* not in the middle of a character */
    }
    mem_free((char *)task->message.at);
    task->message = str_n(str_dup(message), message.len);
}

void task_end(struct task *task, enum task_status status, struct str end, struct str message)
{
    if (task_over(task)) {
        mem_free((char *)end.at);
        return;
    }
    task->status = status;
    task->end = end;
    task_say(task, message);
    if (!task->owner)
        return;
    task_touch(task);
    task_count(task, false);
    task->notes = NULL;
    task->note_count = 0;
    arena_finish(&task->arena);
    arena_init(&task->arena, TASK_ARENA_MAX);
    keep_ended(task);
    task_store(task);
    subscriptions_task(task->server, task);
    if (status != TASK_CANCELLED && !server_survives(task->server))
        lost_count(task, true);
}

void task_fail(struct task *task, struct str message)
{
    struct json_writer w;
    struct buf end;

    buf_init(&end, TASK_END_MAX);
    json_writer_init(&w, &end);
    jw_object(&w);
    jw_key_i64(&w, STR("code"), RPC_INTERNAL_ERROR);
    jw_key_str(&w, STR("message"), message);
    jw_end(&w);
    task_end(task, TASK_FAILED, buf_take(&end), message);
    buf_finish(&end);
}

/* Also the reason for which the call is cancelled, so that its record says why. */
static const struct str time_over = STR_INIT("The time to live of the task is over.");

void task_end_outcome(struct task *task, const struct outcome *outcome)
{
    bool is_result =
        !outcome->request_error && !outcome->no_room && !result_lacks_capability(outcome);
    struct json_writer w;
    struct buf end;

    buf_init(&end, TASK_END_MAX);
    json_writer_init(&w, &end);
    if (outcome->status == NOD_E_CANCELLED && str_eq(outcome->message, time_over)) {
        task_fail(task, time_over);
    } else if (outcome->status == NOD_E_CANCELLED) {
        task_end(task, TASK_CANCELLED, STR_NONE, outcome->message);
    } else if (is_result) {
        if (result_of_outcome(&end, &task->server->opts.self, PART_TOOL_RESULT, outcome))
            task_end(task, TASK_COMPLETED, buf_take(&end), STR_NONE);
        else
            task_fail(task, MCP_TOO_LARGE_OR_WRONG("The result"));
    } else {
        result_error(&w, outcome);
        if (json_writer_done(&w))
            task_end(task, TASK_FAILED, buf_take(&end), outcome->message);
        else
            task_fail(task, MCP_TOO_LARGE("The error"));
    }
    buf_finish(&end);
}

/* The task fails when that is stored: see task_end_outcome. */
static void task_due(struct task *task)
{
    struct call *call = task->caller.call;

    if (task_over(task)) {
        task_forget(task);
        return;
    }
    if (!call || !server_survives(task->server)) { /* there is nothing to store */
        task_fail(task, time_over);
        if (call)
            call_cancel(call, time_over);
        return;
    }
    heap_remove(&task->server->tasks->due, &task->due);
    call_cancel(call, time_over);
}

void tasks_sweep(struct mcp_server *server)
{
    int64_t now = server_now(server);
    struct heap_node *first;

    while ((first = heap_first(&server->tasks->due)) && first->at <= now)
        task_due(HEAP_OF(first, struct task, due));
}

struct task *task_by_id(const struct mcp_server *server, struct str id)
{
    return map_get(&server->tasks->by_id, id);
}

struct task *task_find(struct mcp_server *server, struct str id, struct str principal)
{
    tasks_sweep(server); /* the clock decides, not how often a client looks */
    struct task *task = task_by_id(server, id);

    return task && str_eq(task->principal, principal) ? task : NULL;
}

/* --- as a caller --- */

static struct task *task_of(struct caller *caller)
{
    return (struct task *)(void *)caller;
}

static int64_t task_ask_ttl(struct caller *caller, const struct call *call)
{
    struct task *task = task_of(caller);

    (void)call;
    return task_expires(task) - server_now(task->server) + TASK_ASKS_MORE_MS;
}

static enum caller_way task_asked(struct caller *caller, struct call *call)
{
    struct task *task = task_of(caller);
    enum caller_way way = CALLER_CARRIES;

    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask))
        if (!ask2026_can(task->server->opts.engine, task->client.declares, ask_record(ask)) ||
            !ask_is_clients_turn(ask))
            way = CALLER_HOLDS; /* another surface may take it; otherwise it ends there */
    task_refresh(task, true);
    return way;
}

/* It may be the client's turn now. */
static void task_offered(struct caller *caller, struct call *call)
{
    (void)call;
    task_refresh(task_of(caller), false);
}

/* Progress becomes the status message: a task has no other notifications. */
static void task_notify(struct caller *caller, struct call *call, const struct notice *notice)
{
    (void)call;
    if (notice->kind == NOTICE_PROGRESS && notice->text.len && !task_over(task_of(caller))) {
        task_say(task_of(caller), notice->text);
        task_touch(task_of(caller));
    }
}

static void task_waiting(struct caller *caller, struct call *call, bool waiting)
{
    struct task *task = task_of(caller);

    (void)call;
    if (task_over(task))
        return;
    task_count(task, !waiting);
    task_refresh(task, false);
}

struct leaving {
    struct server_work work; /* first */
    struct id task;
};

static void task_left(void *data)
{
    struct leaving *leaving = data;
    struct mcp_server *server = leaving->work.server;
    struct task *task = server ? task_by_id(server, id_str(&leaving->task)) : NULL;

    if (task && !task->caller.call && !task_over(task))
        task_forget(task);
    server_work_done(&leaving->work);
    mem_free(leaving);
}

static void task_finished(struct caller *caller, struct call *call, const struct outcome *outcome)
{
    if (call_has_ended(call) || !server_survives(task_of(caller)->server)) {
        task_end_outcome(task_of(caller), outcome);
    } else {
        /* Its call has not ended, and this node does not go on with it: whoever asks for the task
         * next finds its record. Deferred, because somebody may be looking at the task. */
        struct task *task = task_of(caller);
        struct leaving *leaving = MEM_NEW(struct leaving);

        leaving->task = task->id;
        server_work_add(task->server, &leaving->work);
        loop_defer(task->server->opts.loop, task_left, leaving);
    }
}

/* Whoever asks for the task next goes on with its record. Its call can still be run, and whether
 * its time is over is decided then. */
static void task_unloaded(struct caller *caller)
{
    struct task *task = task_of(caller);

    heap_remove(&task->server->tasks->due, &task->due);
    task_count(task, false);
}

const struct caller_ops task_caller_ops = {
    .asked = task_asked,
    .offered = task_offered,
    .notify = task_notify,
    .finished = task_finished,
    .waiting = task_waiting,
    .unloaded = task_unloaded,
    .carries = true,
    .ask_ttl_ms = task_ask_ttl,
};

static struct call_spec spec_of(struct task *task, const struct start_spec *wanted)
{
    struct caller_record by = { .can = task->client.declares,
                                .roles = (uint8_t)task->caller.roles,
                                .asks_until = task_expires(task) + TASK_ASKS_MORE_MS };
    bool survives = server_survives(task->server);

    return (struct call_spec){ .target = wanted->target,
                               .args = wanted->args,
                               .meta = wanted->meta,
                               .principal = task->principal,
                               .scope = task->principal,
                               .keep_ms = task->ttl_ms + TASK_ENDED_KEEP_MS,
                               .caller_record =
                                   survives ? caller_record_write(&task->arena, &by) : STR_NONE,
                               .client = task->client.name,
                               .caller = &task->caller,
                               .id = id_str(&task->id) };
}

void task_open(struct task *task, const struct start_spec *wanted, store_done *done, void *data)
{
    struct call_spec spec = spec_of(task, wanted);

    engine_open(task->server->opts.engine, &spec, done, data);
}

void task_begin(struct task *task, const struct start_spec *wanted, bool opened)
{
    struct call_spec spec = spec_of(task, wanted);

    spec.opened = spec.handed = opened;
    task_count(task, true);
    engine_call(task->server->opts.engine, &spec);
}

void task_go_on(struct task *task, struct call *call)
{
    task_count(task, true);
    call_change_caller(call, &task->caller);
    call_keep(call, task->ttl_ms + TASK_ENDED_KEEP_MS);
}

/* --- what it waits for --- */

struct task_note *task_note(const struct task *task, struct str ask_id)
{
    for (struct task_note *note = task->notes; note; note = note->next)
        if (str_eq(id_str(&note->ask), ask_id))
            return note;
    return NULL;
}

struct task_note *task_note_add(struct task *task, struct str ask_id)
{
    struct task_note *note = task_note(task, ask_id);

    if (note || ask_id.len != ID_LEN || task->note_count == TASK_NOTES_MAX)
        return note;
    note = ARENA_NEW(&task->arena, struct task_note);
    if (!note)
        return NULL;
    note->ask = id_of(ask_id);
    note->next = task->notes;
    task->notes = note;
    task->note_count++;
    return note;
}

bool task_shows(const struct task *task, const struct ask_record *ask)
{
    const struct task_note *note = task_note(task, ask->id);

    return ask2026_can(task->server->opts.engine, task->client.declares, ask) &&
           engine_asks_client_this(task->server->opts.engine, ask, task->caller.roles) &&
           !(note && note->opened);
}

void task_visited(struct task *task, role_set roles)
{
    struct engine *engine = task->server->opts.engine;
    struct call *call = task->caller.call;
    struct ask *next;

    task->caller.roles = roles;
    if (!call || !call_waiting(call))
        return;
    for (struct ask *ask = call_ask_first(call); ask; ask = next) {
        next = call_ask_next(call, ask);
        if (!ask_is_for_client(ask) &&
            engine_can_elsewhere(engine, call, ask_record(ask), task->server->mrtr))
            ask_client_unheard(ask);
    }
}

struct str task_key(struct arena *arena, const struct ask_record *ask)
{
    /* An author's key never begins with #, and a numbered one is # and digits only. */
    if (ask->attempt <= 1)
        return ask_carried_key(ask);
    return arena_fmt(arena, "#%d:" STR_FMT, ask->attempt, STR_ARG(ask_carried_key(ask)));
}

const struct ask_record *task_asks_next(struct task_asks *walk)
{
    struct task *task = walk->task;
    struct call *call = task->caller.call;

    if (!task->owner)
        return walk->at < task->shown_count ? &task->shown[walk->at++] : NULL;
    if (!call || call_working(call)) /* what a call that works asks is not stored yet */
        return NULL;
    if (walk->live)
        walk->live = call_ask_next(call, walk->live);
    else if (walk->at++ == 0)
        walk->live = call_ask_first(call);
    return walk->live ? ask_record(walk->live) : NULL;
}

enum task_status task_status(struct task *task)
{
    struct task_asks walk = { .task = task };

    if (task_over(task))
        return task->status;
    if (task_expires(task) <= server_now(task->server)) /* its end is being stored */
        return TASK_WORKING;
    for (const struct ask_record *ask; (ask = task_asks_next(&walk));)
        if (task_shows(task, ask))
            return TASK_INPUT_REQUIRED;
    return TASK_WORKING;
}

void task_refresh(struct task *task, bool tell)
{
    if (task_over(task) || !task->caller.call)
        return;
    enum task_status status = task_status(task);
    if (status == task->status && !tell)
        return;
    task->status = status;
    task_touch(task);
    subscriptions_task(task->server, task);
}
