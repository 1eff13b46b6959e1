/*
 * mcp/tasks/load: a task that is not worked on here, as the store knows it.
 *
 * The record of the task says whose it is and how long it lives. The record of its call says how it
 * stands:
 *
 * - waiting, runnable, running: if the store is ours alone, the task is adopted and worked on here.
 *   If the store is shared, the task is only shown, each time anew: another node works on it, or
 *   will.
 * - runnable, with a shared store: adopted too, if this node has its tool. Nobody works on it at
 *   this moment, and if another node takes it as well, the store's epochs decide.
 * - running but not handed, with a shared store: adopted too. Its client has come back with its id,
 *   and no other node may go on with it.
 * - finished, cancelled: the task has ended.
 * - not known, or forgotten: the task has ended, and its result is no longer known. It was stored
 *   before its client was told its id, so there is nothing to begin again.
 *
 * The store's clock decides, so a node whose own clock is wrong decides nothing.
 */
#include "base/mem.h"
#include "core/catalog.h"
#include "core/comeback.h"
#include "mcp/later/caller_away.h"
#include "mcp/shared/caller_record.h"
#include "mcp/shared/live.h"
#include "mcp/era2026/request_state.h"
#include "mcp/tasks/tasks.h"
#include "mcp/shared/work.h"

enum {
    LOAD_ARENA_MAX = 64 << 20,         /* memory of what is read of a task */
    SHOWN_OF_INNER = STORE_CLAIM_MOST, /* questions of inner calls that a task shows, in all */
};

static const struct str forgotten =
    STR_INIT("The task has ended, but its result is no longer known.");

struct loading {
    struct server_work work; /* first */
    struct arena arena;
    struct str id, principal;
    role_set roles;
    enum task_why why;
    const struct json *record;
    uint64_t version;
    struct comer comer; /* comes for the call of the task */
    bool full;          /* there are too many tasks */
    struct task *view;  /* while it is looked at what its inner calls ask */
    size_t room, seen;  /* for questions in it; and those that were looked at */
    task_loaded *done;
    void *data;
};

static void loaded(struct loading *loading, struct task *task, nod_status status)
{
    loading->done(loading->data, task, status);
    server_work_done(&loading->work);
    arena_finish(&loading->arena);
    mem_free(loading);
}

/* Is the task only to be shown? */
static bool views(const struct loading *loading)
{
    return loading->why != TASK_TO_WORK ||
           engine_store(loading->work.server->opts.engine)->ops->shared;
}

static int64_t number(const struct json *record, struct str key)
{
    int64_t n = 0;

    json_i64(json_get(record, key), &n);
    return n;
}

/* When its time is over. */
static int64_t expires(const struct json *record)
{
    int64_t at;

    return __builtin_add_overflow(number(record, STR("created")), number(record, STR("ttl")), &at)
               ? INT64_MAX
               : at;
}

static void note_copy(struct task *task, struct str ask, bool opened, struct str problems)
{
    struct task_note *note = task_note_add(task, ask);

    if (!note)
        return;
    note->opened = opened;
    note->problems = arena_str(&task->arena, problems);
}

/* Of the request that looks at it, or else of the one that made it. A task of an older nod has
 * none: whether its client may answer is looked at when it does. */
static role_set roles_of(const struct loading *loading)
{
    role_set made = (role_set)number(loading->record, STR("roles")) & ROLES_ALL;

    return loading->roles ? loading->roles : made ? made : ROLES_ALL;
}

/* A task as it was when its record was written. NULL: there are too many. */
static struct task *task_of_record(struct loading *loading, bool view)
{
    struct mcp_server *server = loading->work.server;
    const struct json *record = loading->record;
    struct str end = json_get_str(record, STR("end"));
    int64_t status = number(record, STR("status"));
    const struct task *here = task_by_id(server, loading->id);
    struct task *task =
        task_make(server, &(struct task_spec){ .id = loading->id,
                                               .principal = loading->principal,
                                               .can = (uint8_t)number(record, STR("can")),
                                               .roles = roles_of(loading) });

    if (view) { /* with all that was read of it */
        arena_finish(&task->arena);
        task->arena = loading->arena;
        task->principal = loading->principal;
        arena_init(&loading->arena, LOAD_ARENA_MAX);
    }
    task->version = loading->version;
    task->created_ms = number(record, STR("created"));
    task->updated_ms = number(record, STR("updated"));
    task->ttl_ms = number(record, STR("ttl"));
    if (status >= TASK_COMPLETED && status <= TASK_CANCELLED) {
        task->status = (enum task_status)status;
        task->end = str_n(str_dup(end), end.len);
    }
    task_say(task, json_get_str(record, STR("message")));
    JSON_EACH (one, json_get(record, STR("notes")))
        note_copy(task, json_get_str(one, STR("ask")), json_true(json_get(one, STR("opened"))),
                  json_get_str(one, STR("problems")));
    if (view && here && str_eq(here->principal, loading->principal)) {
        /* what this node, which takes part in the task, knows besides the records */
        if (here->message.len)
            task_say(task, here->message);
        for (const struct task_note *note = here->notes; note; note = note->next)
            note_copy(task, id_str(&note->ask), note->opened, note->problems);
    }
    if (view || task_enter(task))
        return task;
    task_forget(task);
    return NULL;
}

/* --- showing a task --- */

static void show_ask(struct task *view, const struct ask_record *record)
{
    struct ask_record *ask = &view->shown[view->shown_count++];

    *ask = ask_record_copy(&view->arena, record);
    if (ask->asked_ms > view->updated_ms)
        view->updated_ms = ask->asked_ms;
}

static void show_inner_ask(void *data, const struct store_row *row)
{
    struct loading *loading = data;

    if (row->ask->state == ASK_PENDING && loading->view->shown_count < loading->room)
        show_ask(loading->view, row->ask);
}

static void show_on(struct loading *loading);

static void inner_shown(void *data, nod_status status, const struct store_reply *reply)
{
    struct loading *loading = data;

    (void)reply;
    if (loading->work.server && status == NOD_OK) {
        show_on(loading);
    } else {
        task_forget(loading->view);
        loaded(loading, NULL, NOD_E_STORE);
    }
}

/* What it waits for may be a call, which asks in its place. That call has the id of the ask. */
static void show_on(struct loading *loading)
{
    struct task *view = loading->view;
    struct store *store = engine_store(loading->work.server->opts.engine);

    while (loading->seen < view->shown_count && view->shown[loading->seen].kind != ASK_CALL)
        loading->seen++;
    if (loading->seen == view->shown_count)
        loaded(loading, view, NOD_OK);
    else
        store->ops->scan(store,
                         &(struct store_scan){ .index = STORE_ASKS_OF_CALL,
                                               .key = view->shown[loading->seen++].id,
                                               .limit = STORE_CLAIM_MOST },
                         show_inner_ask, inner_shown, loading);
}

/* It has not ended. */
static void show(struct loading *loading, const struct back *back)
{
    struct task *view = task_of_record(loading, true);
    bool inner = false;

    for (size_t i = 0; i < back->ask_count; i++)
        inner |= back->asks[i].kind == ASK_CALL;
    loading->view = view;
    loading->room = back->ask_count + (inner ? SHOWN_OF_INNER : 0);
    view->shown = arena_zalloc(&view->arena, (loading->room + 1) * sizeof(*view->shown));
    for (size_t i = 0; view->shown && i < back->ask_count; i++)
        show_ask(view, &back->asks[i]);
    show_on(loading);
}

/* Its call has ended, and the task's record was not written since. NULL: nobody knows how. */
static void ended(struct loading *loading, const struct outcome *outcome)
{
    struct task *task = task_of_record(loading, views(loading));

    if (task && outcome)
        task_end_outcome(task, outcome);
    else if (task)
        task_fail(task, forgotten);
    loaded(loading, task, task ? NOD_OK : NOD_E_LIMIT);
}

/* --- going on with its call --- */

/* Deferred, because the engine has deferred work that comes first. */
static void adopted(void *data)
{
    struct loading *loading = data;
    struct mcp_server *server = loading->work.server;
    struct task *task = server ? task_by_id(server, loading->id) : NULL;

    loaded(loading, task, task ? NOD_OK : NOD_E_STORE);
}

/* Its tool has changed, and its end was stored, unless it had ended before. */
static void changed_stored(void *data, nod_status status)
{
    struct loading *loading = data;
    struct mcp_server *server = loading->work.server;
    struct task *task = server ? task_by_id(server, loading->id) : NULL;

    if (server && !task && (status == NOD_OK || status == NOD_E_STALE))
        engine_return(server->opts.engine, &loading->comer);
    else
        loaded(loading, task, task ? NOD_OK : NOD_E_STORE);
}

/* A task that waits in a store of our own ends at once: nobody else has the version of its call. */
static bool has_changed(const struct loading *loading, const struct call_record *call)
{
    const struct target *target = catalog_of_call(loading->work.server->opts.catalog, call);

    return !views(loading) && call->state == CALL_STORED_WAITING && target &&
           target_has_changed(target, call->version);
}

static struct loading *loading_of(const struct comer *comer)
{
    return LIST_OF(comer, struct loading, comer);
}

static bool loading_there(const struct comer *comer)
{
    return loading_of(comer)->work.server;
}

/* Another request was faster. */
static struct task *works_here(const struct loading *loading)
{
    return views(loading) ? NULL : task_by_id(loading->work.server, loading->id);
}

static enum found loading_found(struct comer *comer, const struct call_record *call)
{
    struct loading *loading = loading_of(comer);
    struct task *task = works_here(loading);

    if (task) {
        loaded(loading, task, NOD_OK);
    } else if (call->state == CALL_STORED_FINISHED || call->state == CALL_STORED_CANCELLED) {
        return FOUND_IT;
    } else if (loading->why == TASK_TO_RUN_ON) {
        struct mcp_server *server = loading->work.server;
        struct target *target = catalog_of_call(server->opts.catalog, call);
        struct caller_record by = { .can = (uint8_t)number(loading->record, STR("can")),
                                    .roles = (uint8_t)roles_of(loading),
                                    .asks_until = expires(loading->record) + TASK_ASKS_MORE_MS };

        if (target && call->state != CALL_STORED_WAITING && !server_draining(server))
            caller_away_go_on(server, call, target, &by);
        loaded(loading, NULL, NOD_OK);
    } else if (has_changed(loading, call)) {
        struct outcome outcome = outcome_changed(
            &loading->arena, call->target,
            &(struct so_far){ .entries = call->entries, .count = call->entry_count });
        engine_end(loading->work.server->opts.engine, loading->id, &outcome, changed_stored,
                   loading);
    } else {
        return FOUND_IT;
    }
    return FOUND_OTHER;
}

static bool loading_waits(struct comer *comer, const struct call_record *call,
                          struct adopt_spec *spec)
{
    struct loading *loading = loading_of(comer);
    struct mcp_server *server = loading->work.server;
    bool waiting = call->state == CALL_STORED_WAITING;
    /* No node works on it; or only a client that has its id may go on with it, and this one has
     * come. */
    bool wants_taker = loading->why == TASK_TO_WORK &&
                       ((call->state == CALL_STORED_RUNNABLE && !server_draining(server)) ||
                        (!call->handed && !waiting));
    /* Its time is over, but it was answered before that. Whoever finds it acts on the answers; to
     * adopt it here would cancel it. */
    bool answered_in_time =
        call->handed && !waiting && expires(loading->record) <= server_now(server);

    if ((views(loading) && !wants_taker) || answered_in_time || task_by_id(server, loading->id) ||
        engine_find(server->opts.engine, call->id))
        return false;
    struct task *task = task_of_record(loading, false);
    loading->full = !task;
    if (!task)
        return false;
    spec->keep_ms = task->ttl_ms + TASK_ENDED_KEEP_MS;
    spec->handed = true;
    spec->caller = &task->caller;
    return true;
}

static void loading_back(struct comer *comer, const struct back *back)
{
    struct loading *loading = loading_of(comer);

    if (back->as == BACK_LEFT) {
        loaded(loading, NULL, NOD_E_STORE);
    } else if (back->as == BACK_WAITS) {
        struct task *task = task_by_id(loading->work.server, loading->id);
        if (task && !back->ask_count)
            task_count(task, true);
        loop_defer(loading->work.server->opts.loop, adopted, loading);
    } else if (back->as == BACK_FULL) { /* loading_waits has made the task */
        task_forget(task_by_id(loading->work.server, loading->id));
        if (views(loading))
            show(loading, back);
        else
            loaded(loading, NULL, NOD_E_LIMIT);
    } else if (works_here(loading)) {
        loaded(loading, works_here(loading), NOD_OK);
    } else if (back->as == BACK_ENDED) {
        ended(loading, back->outcome);
    } else if (back->as == BACK_UNREAD) {
        loaded(loading, NULL, back->status);
    } else if (loading->full) {
        loaded(loading, NULL, NOD_E_LIMIT);
    } else if (back->as == BACK_BUSY || back->as == BACK_TOO_SOON) {
        show(loading, back); /* another node has the task, or may have its tool */
    } else if (expires(loading->record) <= server_now(loading->work.server) - TASK_ENDED_KEEP_MS) {
        /* The time is over, and so is the time in which its client could learn of that. */
        loaded(loading, NULL, NOD_E_NOT_FOUND);
    } else {
        ended(loading, NULL);
    }
}

static const struct comer_ops loading_comes = {
    .there = loading_there, .found = loading_found, .waits = loading_waits, .done = loading_back
};

/* Is the record of this principal, and still kept? An end is kept for a while at least. If the task
 * had not ended when the record was written, the record of its call decides. */
static bool record_fits(const struct loading *loading, const struct json *record, int64_t now)
{
    bool ended_then = number(record, STR("status")) >= TASK_COMPLETED;
    int64_t until = expires(record);

    if (number(record, STR("version")) != TASK_RECORD_VERSION ||
        !str_eq(json_get_str(record, STR("principal")), loading->principal) || until == INT64_MAX)
        return false;
    return !ended_then || until > now || number(record, STR("updated")) + TASK_ENDED_KEEP_MS > now;
}

static void record_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct loading *loading = data;
    struct mcp_server *server = loading->work.server;

    if (!server || status != NOD_OK) {
        loaded(loading, NULL, server ? status : NOD_E_STORE);
        return;
    }
    loading->version = reply->version;
    loading->record =
        json_parse(&loading->arena, arena_str(&loading->arena, reply->value), NULL, NULL);
    if (!record_fits(loading, loading->record, server_now(server))) {
        loaded(loading, NULL, NOD_E_NOT_FOUND);
    } else if (!views(loading) && task_by_id(server, loading->id)) {
        loaded(loading, task_by_id(server, loading->id), NOD_OK);
    } else if (number(loading->record, STR("status")) >= TASK_COMPLETED) {
        struct task *task = task_of_record(loading, views(loading));
        loaded(loading, task, task ? NOD_OK : NOD_E_LIMIT);
    } else {
        loading->comer = (struct comer){ .ops = &loading_comes,
                                         .call = id_of(loading->id),
                                         .principal = loading->principal,
                                         .asks = true,
                                         .spares = loading->why != TASK_TO_WORK };
        engine_return(server->opts.engine, &loading->comer);
    }
}

void task_load(struct mcp_server *server, struct str id, struct str principal, role_set roles,
               enum task_why why, task_loaded *done, void *data)
{
    struct store *store = engine_store(server->opts.engine);
    struct loading *loading = MEM_NEW(struct loading);

    arena_init(&loading->arena, LOAD_ARENA_MAX);
    loading->id = arena_str(&loading->arena, id);
    loading->principal = arena_str(&loading->arena, principal);
    loading->roles = roles;
    loading->why = why;
    loading->done = done;
    loading->data = data;
    server_work_add(server, &loading->work);
    store->ops->get(store, STR(TASKS_STORE_KIND), loading->id, record_loaded, loading);
}

/* --- a call that nobody works on --- */

static void orphan_loaded(void *data, struct task *view, nod_status status)
{
    (void)data, (void)status; /* if there is something to do, the next look shows it again */
    task_forget(view);
}

/* The record of a call that a request opened names no caller, because a request does not come back.
 * If the call became a task later, the record of the task does. */
void tasks_orphan(void *data, const struct call_record *record)
{
    struct mcp_server *server = data;
    bool named = record->caller.len || !str_eq(record->scope, record->principal); /* a session */

    if (named || !catalog_of_call(server->opts.catalog, record))
        caller_away_orphan(server, record);
    else if (!server_draining(server))
        task_load(server, record->id, record->principal, ROLES_NONE, TASK_TO_RUN_ON, orphan_loaded,
                  NULL);
}
