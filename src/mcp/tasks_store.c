/*
 * mcp/tasks_store: tasks that outlive the process.
 *
 * Where the store does (or where other nodes see it), each task has a small record in it beside the
 * record of its call: whose it is, until when, what it runs, how it ended. It is written before the
 * client is given the task's id. A node that is asked for a task it does not have reads the record,
 * and then goes on with the call as the store knows it:
 *
 *   waiting, runnable, running   adopted; if it runs elsewhere, the core waits for its turn
 *   finished, cancelled          the task has ended, and is kept from now on
 *   not known                    it had not come to its first question or step: it is begun again,
 *                                unless another node may be at it
 *
 * Holds always: at most one writing of a record is under way, and what it writes last is newest.
 */
#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "mcp/state.h"
#include "mcp/tasks.h"

enum {
    RECORD_VERSION = 1,
    RECORD_MAX = TASK_END_MAX + MCP_BODY_MAX + (1 << 20),
    LOAD_ARENA_MAX = 64 << 20,
};

/* --- writing ------------------------------------------------------------------------------------
 */

static void write_notes(struct json_writer *w, const struct task *task)
{
    jw_key(w, STR("notes"));
    jw_array(w);
    for (const struct task_note *note = task->notes; note; note = note->next) {
        jw_object(w);
        jw_key_str(w, STR("ask"), id_str(&note->ask));
        jw_key_i64(w, STR("attempt"), note->attempt);
        jw_key_bool(w, STR("opened"), note->opened);
        if (note->problems.len)
            jw_key_str(w, STR("problems"), note->problems);
        jw_end(w);
    }
    jw_end(w);
}

static bool write_record(struct buf *out, const struct task *task)
{
    struct json_writer w;

    json_writer_init(&w, out);
    jw_object(&w);
    jw_key_i64(&w, STR("version"), RECORD_VERSION);
    jw_key_str(&w, STR("principal"), task_principal(task));
    jw_key_i64(&w, STR("created"), task->created_ms);
    jw_key_i64(&w, STR("updated"), task->updated_ms);
    jw_key_i64(&w, STR("ttl"), task->ttl_ms);
    jw_key_i64(&w, STR("can"), task->can);
    jw_key_i64(&w, STR("status"), task_over(task) ? (int64_t)task->status : TASK_WORKING);
    jw_key_str(&w, STR("tool"), task->tool);
    jw_key_str(&w, STR("args"), task->args);
    jw_key_str(&w, STR("message"), str_n(task->message, task->message_len));
    jw_key_str(&w, STR("end"), task->end);
    write_notes(&w, task);
    jw_end(&w);
    return json_writer_done(&w);
}

struct writing {
    struct server_work work; /* first */
    struct id task;
    void (*done)(void *data, struct task *task);
    void *data;
};

static void written(void *data, nod_status status, const struct store_reply *reply)
{
    struct writing *writing = data;
    struct mcp_server *server = writing->work.server;
    struct task *task = server ? task_by_id(server, id_str(&writing->task)) : NULL;

    (void)reply;
    CRASH_POINT(task_after);
    if (status != NOD_OK)
        LOG_WARN("a task could not be stored", LOG_STR("task", id_str(&writing->task)),
                 LOG_CSTR("why", nod_status_name(status)));
    if (task) {
        task->storing = false;
        if (task->stale)
            task_store(task);
    }
    if (writing->done && status != NOD_OK && task) { /* nobody was told its id */
        if (task->caller.call)
            call_cancel(task->caller.call, STR("the task could not be stored"));
        task = task_by_id(server, id_str(&writing->task));
        if (task)
            task_forget(task);
        task = NULL;
    }
    if (writing->done)
        writing->done(writing->data, task);
    server_work_done(&writing->work);
    mem_free(writing);
}

static void write_now(struct task *task, void (*done)(void *data, struct task *task), void *data)
{
    struct mcp_server *server = task->server;
    struct store *store = engine_store(server->opts.engine);
    int64_t left = task_expires(task) + TASK_ENDED_KEEP_MS - clock_wall(server->opts.clock);
    struct writing *writing = MEM_NEW(struct writing);
    struct buf record;

    task->storing = true;
    task->stale = false;
    writing->task = task->id;
    writing->done = done;
    writing->data = data;
    server_work_add(server, &writing->work);
    buf_init(&record, RECORD_MAX);
    write_record(&record, task);
    CRASH_POINT(task_before);
    store->ops->put(store, STR(TASKS_STORE_KIND), id_str(&task->id), buf_str(&record), 0,
                    left > 0 ? left : 1, written, writing);
    buf_finish(&record);
}

void task_store(struct task *task)
{
    if (!task->kept)
        return;
    if (task->storing)
        task->stale = true;
    else
        write_now(task, NULL, NULL);
}

void task_store_first(struct task *task, void (*done)(void *data, struct task *task), void *data)
{
    if (!server_survives(task->server)) {
        done(data, task);
        return;
    }
    task->kept = true;
    write_now(task, done, data);
}

/* --- reading ------------------------------------------------------------------------------------
 */

struct loading {
    struct server_work work; /* first */
    struct arena arena;
    struct str id, principal;
    const struct json *record;
    struct call_record call;
    struct ask_record *asks;
    size_t ask_count;
    void (*done)(void *data, struct task *task, nod_status status);
    void *data;
};

static void loaded(struct loading *loading, struct task *task, nod_status status)
{
    loading->done(loading->data, task, status);
    server_work_done(&loading->work);
    arena_finish(&loading->arena);
    mem_free(loading);
}

static int64_t number(const struct json *record, struct str key)
{
    int64_t n = 0;

    json_i64(json_get(record, key), &n);
    return n;
}

static void read_notes(struct task *task, const struct json *notes)
{
    JSON_EACH (one, notes) {
        struct task_note *note = task_note_add(task, json_get_str(one, STR("ask")));
        if (!note)
            continue;
        note->attempt = (int)number(one, STR("attempt"));
        note->opened = json_true(json_get(one, STR("opened")));
        note->problems = arena_str(&task->arena, json_get_str(one, STR("problems")));
    }
}

/* A task as it was when its record was written; not ended yet. */
static struct task *task_of_record(struct loading *loading)
{
    const struct json *record = loading->record;
    struct task *task = task_create(
        loading->work.server, &(struct task_spec){ .id = loading->id,
                                                   .principal = loading->principal,
                                                   .tool = json_get_str(record, STR("tool")),
                                                   .args = json_get_str(record, STR("args")),
                                                   .can = (uint8_t)number(record, STR("can")) });

    if (!task)
        return NULL;
    task->created_ms = number(record, STR("created"));
    task->updated_ms = number(record, STR("updated"));
    task_set_ttl(task, number(record, STR("ttl")));
    read_notes(task, json_get(record, STR("notes")));
    struct str message = json_get_str(record, STR("message"));
    if (message.len)
        task_say(task, message);
    return task;
}

static struct str heap_copy(struct str text)
{
    char *copy = text.len ? mem_alloc(text.len) : NULL;

    if (copy)
        memcpy(copy, text.at, text.len);
    return str_n(copy, text.len);
}

/* It has ended, and its record says how. */
static void restore(struct loading *loading, enum task_status status)
{
    const struct json *record = loading->record;
    int64_t updated = number(record, STR("updated"));
    struct task *task = task_of_record(loading);

    if (task) {
        task_end(task, status, heap_copy(json_get_str(record, STR("end"))),
                 json_get_str(record, STR("message")));
        task_restored(task, updated);
    }
    loaded(loading, task, task ? NOD_OK : NOD_E_LIMIT);
}

/* --- going on with its call ---------------------------------------------------------------------
 */

/* Only to look at: somebody else is at work. */
static void show(struct loading *loading)
{
    struct task *task = task_of_record(loading);

    if (task)
        task->kept = false;
    struct mcp_server *server = loading->work.server;
    struct id id = { 0 };
    memcpy(id.text, loading->id.at, ID_LEN);
    loaded(loading, task, task ? NOD_OK : NOD_E_LIMIT);
    task = task_by_id(server, id_str(&id));
    if (task && !task->caller.call && !task_over(task))
        task_forget(task);
}

static void adopted(void *data)
{
    struct loading *loading = data;
    struct mcp_server *server = loading->work.server;
    struct task *task = server ? task_by_id(server, loading->id) : NULL;

    loaded(loading, task, task ? NOD_OK : NOD_E_STORE);
}

static void adopt(struct loading *loading)
{
    struct mcp_server *server = loading->work.server;
    struct target *target = catalog_find(server->opts.catalog, TARGET_TOOL, loading->call.target);
    struct task *task = task_of_record(loading);

    if (!task) {
        loaded(loading, NULL, NOD_E_LIMIT);
        return;
    }
    task->kept = true;
    for (size_t i = 0; i < loading->ask_count; i++) {
        const struct task_note *note = task_note(task, loading->asks[i].id);
        if (note && note->attempt > loading->asks[i].attempt)
            loading->asks[i].attempt = note->attempt;
    }
    if (!target) {
        task_fail(task, RPC_INTERNAL_ERROR, STR("The tool of this task is no longer there."));
    } else if (!engine_adopt(server->opts.engine,
                             &(struct adopt_spec){ .record = &loading->call,
                                                   .asks = loading->asks,
                                                   .ask_count = loading->ask_count,
                                                   .target = target,
                                                   .keep_ms = task->ttl_ms + TASK_ENDED_KEEP_MS,
                                                   .caller = &task->caller })) {
        task_forget(task);
        show(loading);
        return;
    } else if (!loading->ask_count) {
        task_count(task);
    }
    /* The engine has put off its word, and comes first. */
    loop_defer(server->opts.loop, adopted, loading);
}

/* Nothing has happened yet that could happen twice. */
static void begin_again(struct loading *loading)
{
    struct mcp_server *server = loading->work.server;
    struct target *target =
        catalog_find(server->opts.catalog, TARGET_TOOL, json_get_str(loading->record, STR("tool")));
    const struct json *args =
        json_parse(&loading->arena, json_get_str(loading->record, STR("args")), NULL, NULL);

    if (engine_store(server->opts.engine)->ops->shared) {
        show(loading);
        return;
    }
    struct task *task = task_of_record(loading);
    if (!task) {
        loaded(loading, NULL, NOD_E_LIMIT);
        return;
    }
    task->kept = true;
    if (target)
        task_begin(task, target, args, false);
    else
        task_fail(task, RPC_INTERNAL_ERROR, STR("The tool of this task is no longer there."));
    loaded(loading, task_by_id(server, loading->id), NOD_OK);
}

static void keep_ask(void *data, const struct store_row *row)
{
    struct loading *loading = data;
    struct arena *arena = &loading->arena;

    if (!row->ask || row->ask->state != ASK_PENDING || !loading->asks ||
        loading->ask_count == STATE_ASKS_MAX)
        return;
    struct ask_record *ask = &loading->asks[loading->ask_count++];
    *ask = *row->ask;
    ask->id = arena_str(arena, ask->id);
    ask->call_id = arena_str(arena, ask->call_id);
    ask->key = arena_str(arena, ask->key);
    ask->message = arena_str(arena, ask->message);
    ask->detail = arena_str(arena, ask->detail);
    ask->url = arena_str(arena, ask->url);
    ask->principal = ask->scope = loading->principal;
    ask->target = loading->call.target;
    ask->content = ask->by = STR_NONE;
}

static void asks_scanned(void *data, nod_status status, const struct store_reply *reply)
{
    struct loading *loading = data;

    (void)reply;
    if (!loading->work.server)
        loaded(loading, NULL, NOD_E_STORE);
    else if (task_by_id(loading->work.server, loading->id))
        loaded(loading, task_by_id(loading->work.server, loading->id), NOD_OK);
    else if (status != NOD_OK || loading->arena.exhausted)
        loaded(loading, NULL, NOD_E_STORE);
    else
        adopt(loading);
}

static void keep_call(struct loading *loading, const struct call_record *record)
{
    struct arena *arena = &loading->arena;
    struct entry *entries = arena_zalloc(arena, (record->entry_count + 1) * sizeof(*entries));

    loading->call = *record;
    loading->call.id = loading->id;
    loading->call.principal = loading->call.scope = loading->principal;
    loading->call.target = arena_str(arena, record->target);
    loading->call.args = arena_str(arena, record->args);
    loading->call.uri = arena_str(arena, record->uri);
    loading->call.caller = arena_str(arena, record->caller);
    loading->call.result = STR_NONE;
    for (size_t i = 0; entries && i < record->entry_count; i++) {
        entries[i] = record->entries[i];
        entries[i].key = arena_str(arena, record->entries[i].key);
        entries[i].ask_id = arena_str(arena, record->entries[i].ask_id);
        entries[i].content = arena_str(arena, record->entries[i].content);
        entries[i].by = arena_str(arena, record->entries[i].by);
    }
    loading->call.entries = entries;
}

/* Ended after its record was written last. */
static void ended_meanwhile(struct loading *loading, const struct call_record *record)
{
    struct task *task = task_of_record(loading);
    struct outcome outcome;

    if (task) {
        task->kept = true;
        if (record->state == CALL_STORED_CANCELLED)
            task_end(task, TASK_CANCELLED, STR_NONE, STR_NONE);
        else if (outcome_read(&loading->arena, record->result, &outcome) == NOD_OK)
            task_end_outcome(task, &outcome);
        else
            task_fail(task, RPC_INTERNAL_ERROR, STR("How the task ended cannot be read."));
    }
    loaded(loading, task, task ? NOD_OK : NOD_E_LIMIT);
}

static void found(struct loading *loading, const struct call_record *record)
{
    struct store *store = engine_store(loading->work.server->opts.engine);

    if (!str_eq(record->principal, loading->principal)) {
        loaded(loading, NULL, NOD_E_NOT_FOUND);
        return;
    }
    switch (record->state) {
    case CALL_STORED_FINISHED:
    case CALL_STORED_CANCELLED:
        ended_meanwhile(loading, record);
        return;
    case CALL_STORED_RUNNING:
    case CALL_STORED_RUNNABLE:
    case CALL_STORED_WAITING:
        break;
    }
    keep_call(loading, record);
    loading->asks = arena_zalloc(&loading->arena, STATE_ASKS_MAX * sizeof(*loading->asks));
    store->ops->scan(store,
                     &(struct store_scan){
                         .index = STORE_ASKS_OF_CALL, .key = loading->id, .limit = STATE_ASKS_MAX },
                     keep_ask, asks_scanned, loading);
}

static void call_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct loading *loading = data;
    struct mcp_server *server = loading->work.server;
    struct task *task = server ? task_by_id(server, loading->id) : NULL;

    if (!server)
        loaded(loading, NULL, NOD_E_STORE);
    else if (task)
        loaded(loading, task, NOD_OK); /* somebody else was faster */
    else if (status == NOD_OK && reply->call->forgotten)
        loaded(loading, NULL, NOD_E_NOT_FOUND);
    else if (status == NOD_OK)
        found(loading, reply->call);
    else if (status == NOD_E_NOT_FOUND)
        begin_again(loading);
    else
        loaded(loading, NULL, status);
}

/* Whose it is, and whether its time is not over. */
static bool record_fits(const struct loading *loading, const struct json *record, int64_t now)
{
    int64_t until;
    int64_t late = number(record, STR("status")) >= TASK_COMPLETED
                       ? number(record, STR("updated")) + TASK_ENDED_KEEP_MS
                       : 0;

    return number(record, STR("version")) == RECORD_VERSION &&
           str_eq(json_get_str(record, STR("principal")), loading->principal) &&
           !__builtin_add_overflow(number(record, STR("created")), number(record, STR("ttl")),
                                   &until) &&
           (until > now || late > now);
}

static void record_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct loading *loading = data;
    struct mcp_server *server = loading->work.server;

    if (!server || status != NOD_OK) {
        loaded(loading, NULL, server ? status : NOD_E_STORE);
        return;
    }
    loading->record =
        json_parse(&loading->arena, arena_str(&loading->arena, reply->value), NULL, NULL);
    if (!record_fits(loading, loading->record, clock_wall(server->opts.clock))) {
        loaded(loading, NULL, NOD_E_NOT_FOUND);
    } else if (task_by_id(server, loading->id)) {
        loaded(loading, task_by_id(server, loading->id), NOD_OK);
    } else {
        int64_t ended = number(loading->record, STR("status"));
        struct store *store = engine_store(server->opts.engine);
        if (ended >= TASK_COMPLETED && ended <= TASK_CANCELLED)
            restore(loading, (enum task_status)ended);
        else
            store->ops->load_call(store, loading->id, call_loaded, loading);
    }
}

void task_load(struct mcp_server *server, struct str id, struct str principal,
               void (*done)(void *data, struct task *task, nod_status status), void *data)
{
    struct store *store = engine_store(server->opts.engine);
    struct loading *loading = MEM_NEW(struct loading);

    arena_init(&loading->arena, LOAD_ARENA_MAX);
    loading->id = arena_str(&loading->arena, id);
    loading->principal = arena_str(&loading->arena, principal);
    loading->done = done;
    loading->data = data;
    server_work_add(server, &loading->work);
    store->ops->get(store, STR(TASKS_STORE_KIND), loading->id, record_loaded, loading);
}
