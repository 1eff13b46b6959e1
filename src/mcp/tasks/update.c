/*
 * mcp/tasks/update: answers to what a task asks.
 *
 * Answers are acknowledged when the store has them. A key that nothing waits for is ignored, as the
 * specification demands: it was never given out, its question has ended, by another answer or by
 * the clock, or is asked again under another key. The log says which answers came too late;
 * tasks/get shows what is asked now. But a client whose word does not count for a question that
 * waits is told so.
 */
#include "base/log.h"
#include "base/mem.h"
#include "mcp/era2026/ask.h"
#include "mcp/tasks/tasks.h"

enum { KEYS_ARENA_MAX = 32 << 20 };

struct feed {
    struct task_wait *wait;
    struct id ask;
    struct str key; /* of the response */
    const struct json *response;
};

/* --- too late --- */

static void came_late(const struct feed *feed, struct str state)
{
    LOG_INFO("an answer came too late, and is ignored", LOG_STR("task", id_str(&feed->wait->task)),
             LOG_STR("key", feed->key), LOG_STR("state", state));
}

/* "#2:name" is the second offer of "name". */
static struct str key_base(struct str key)
{
    size_t at = 1;

    if (key.len < 3 || key.at[0] != '#')
        return key;
    while (at < key.len && key.at[at] >= '0' && key.at[at] <= '9')
        at++;
    return at > 1 && at < key.len && key.at[at] == ':' ? str_n(key.at + at + 1, key.len - at - 1)
                                                       : key;
}

/* Nothing that is shown has this key. If its question waits elsewhere, is this client heard? */
static void check_key(struct task_wait *wait, struct task *task, struct str key)
{
    struct task_asks walk = { .task = task };
    struct str base = key_base(key);

    for (const struct ask_record *ask; !wait->unheard && (ask = task_asks_next(&walk));)
        if (str_eq(ask_carried_key(ask), base))
            wait->unheard =
                answer_unheard(task->server->opts.engine, ask, task->server->mrtr, wait->roles);
}

/* --- the end --- */

/* The task as this request sees it; NULL: it is gone. */
static struct task *task_here(struct task_wait *wait)
{
    struct mcp_server *server = wait->work.server;

    if (wait->view || !server)
        return wait->view;
    return task_find(server, id_str(&wait->task), wait->principal);
}

static void fed_one(struct task_wait *wait)
{
    if (--wait->feeding)
        return;
    struct task *task = wait->work.server ? task_here(wait) : NULL;
    if (task)
        task_refresh(task, true);
    struct mcp_server *server = wait->work.server;
    if (!server) {
        task_wait_free(wait);
    } else if (wait->failed == NOD_E_STORE) {
        task_wait_fail(wait, 503, RPC_INTERNAL_ERROR,
                       STR(STORE_AWAY "; send the answers again later."), STR_NONE);
    } else if (wait->unheard) {
        task_wait_fail(wait, 200, RPC_INVALID_PARAMS, str_of(wait->unheard), STR_NONE);
    } else if (wait->failed != NOD_OK) {
        task_wait_fail(
            wait, 200, RPC_INVALID_PARAMS,
            arena_fmt(&wait->arena, "An answer was not taken: %s.", nod_status_name(wait->failed)),
            STR_NONE);
    } else {
        task_write_done(server, wait->request_id);
        task_wait_end(wait, 200);
    }
}

/* --- answers one by one --- */

static void passed_on(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply; /* if it failed, the next answer tries again */
}

static const struct ask_record *ask_of_task(struct task *task, struct str id)
{
    struct task_asks walk = { .task = task };
    const struct ask_record *ask;

    while ((ask = task_asks_next(&walk)) && !str_eq(ask->id, id))
        continue;
    return ask;
}

/* The client's word does not count: whoever follows is asked. */
static void pass_on(struct task_wait *wait, struct str ask_id)
{
    struct engine *engine = wait->work.server ? wait->work.server->opts.engine : NULL;
    struct ask *live = engine ? engine_ask(engine, ask_id) : NULL;
    struct task *task = engine && !live ? task_here(wait) : NULL;
    const struct ask_record *ask = task ? ask_of_task(task, ask_id) : NULL;

    if (live && call_waiting(ask_call(live))) {
        ask_client_unheard(live);
        return;
    }
    if (ask && engine_asks_on(engine, ask, wait->work.server->mrtr) &&
        !engine_client_refused(engine, ask, passed_on, NULL))
        ask_unsupported(engine, ask->id, NULL, NULL);
}

/* The store has taken this answer, or refused it. */
static void fed(void *data, const struct answer_result *result)
{
    struct feed *feed = data;
    struct task_wait *wait = feed->wait;
    struct task *task = wait->work.server ? task_here(wait) : NULL;

    /* it is asked again, and the client is told why */
    bool refused = result->pending && result->problems.len;
    bool noted = task && !task_over(task) && result->pending &&
                 (result->status == NOD_OK || result->status == NOD_E_INVALID || refused);
    struct task_note *note = noted ? task_note_add(task, id_str(&feed->ask)) : NULL;

    if (note) {
        note->opened |= result->status == NOD_OK; /* the page decides now */
        if (result->problems.len)
            note->problems = arena_str(&task->arena, result->problems);
        task_touch(task);
        task_store(task);
    }
    if (result->status == NOD_E_STALE && !result->same)
        came_late(feed, result->pending ? STR("asked again") : ask_state_name(result->state));
    else if (result->status == NOD_E_NOT_FOUND)
        came_late(feed, STR("over"));
    else if (result->status != NOD_OK && result->status != NOD_E_INVALID &&
             result->status != NOD_E_STALE && !refused)
        wait->failed = result->status;
    if (result->unheard) {
        wait->unheard = result->unheard;
        pass_on(wait, id_str(&feed->ask));
    }
    fed_one(wait);
}

static void feed_one(struct feed *feed, struct task *task)
{
    struct mcp_server *server = feed->wait->work.server;
    const struct ask_record *ask = ask_of_task(task, id_str(&feed->ask));
    struct answer answer;

    if (!ask || !ask2026_read(ask, feed->response, &answer)) {
        fed(feed, &(struct answer_result){ .status = NOD_E_STALE, .state = ASK_WITHDRAWN });
        return;
    }
    answer.by = feed->wait->principal;
    answer.roles = feed->wait->roles;
    answer.attempt = ask->attempt; /* the key has named the offer */
    answer.surface = server->mrtr;
    ask_answer(server->opts.engine, id_str(&feed->ask), &answer, fed, feed);
}

/* --- all answers of a request --- */

/* The ask that is shown under this key, or NULL. */
static const struct ask_record *shown_as(struct task *task, struct arena *arena, struct str key)
{
    struct task_asks walk = { .task = task };
    const struct ask_record *ask;

    while ((ask = task_asks_next(&walk)))
        if (task_shows(task, ask) && str_eq(task_key(arena, ask), key))
            return ask;
    return NULL;
}

static void feed_all(struct task_wait *wait, struct task *task)
{
    size_t given = 0, known = 0;

    JSON_EACH (response, wait->responses)
        given++;
    struct feed *feeds = arena_zalloc(&wait->arena, (given + 1) * sizeof(*feeds));
    JSON_EACH (response, feeds ? wait->responses : NULL) {
        const struct ask_record *ask = shown_as(task, &wait->arena, response->key);
        if (ask)
            feeds[known++] = (struct feed){
                .wait = wait, .ask = id_of(ask->id), .key = response->key, .response = response
            };
        else
            check_key(wait, task, response->key);
    }
    if (!feeds)
        wait->failed = NOD_E_LIMIT;
    wait->task = task->id;
    wait->feeding = known + 1; /* plus one for this function */
    for (size_t i = 0; i < known; i++) {
        task = task_here(wait);
        if (task)
            feed_one(&feeds[i], task);
        else
            fed(&feeds[i], &(struct answer_result){ .status = NOD_E_NOT_FOUND });
    }
    fed_one(wait);
}

static const struct str malformed =
    STR_INIT("params.inputResponses: a response is not shaped as its request wants it.");

static void update_loaded(struct task_wait *wait, struct task *task)
{
    /* Does every response have the shape that its question wants? */
    struct answer answer;
    struct arena arena;
    bool fine = true;

    arena_init(&arena, KEYS_ARENA_MAX);
    JSON_EACH (response, wait->responses) {
        const struct ask_record *ask = shown_as(task, &arena, response->key);
        fine = fine && (!ask || ask2026_read(ask, response, &answer));
    }
    arena_finish(&arena);
    if (fine)
        feed_all(wait, task);
    else
        task_wait_fail(wait, 400, RPC_INVALID_PARAMS, malformed, STR_NONE);
}

void tasks_update(struct request *request)
{
    const struct json *responses = request->has.responses;
    bool fine = json_is(responses, JSON_OBJECT);

    JSON_EACH (response, fine ? responses : NULL)
        fine = fine && json_is(response, JSON_OBJECT);
    if (!request->meta->tasks) {
        tasks_missing(request);
    } else if (fine) {
        task_of_request(request, responses, false, update_loaded);
    } else {
        reply_error(request, RPC_INVALID_PARAMS,
                    STR("params.inputResponses must be an object of objects."));
        request->status = 400;
    }
}
