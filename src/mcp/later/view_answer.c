/*
 * mcp/later/view_answer: the tool nodAnswer: the answer to a question, from a view.
 *
 *     {nonce, action, content, reason} ▶ the record of the nonce ▶ the answer is claimed
 *
 * If the request that made the call still waits for it, or waitForPerson does, the result goes
 * there, and this request is told that the answer was taken. If nobody waits, because the call has
 * returned its pending result, it is run on for this request, which returns its end: then the
 * handle of the pending result is marked as handed out, as waitForPerson does it
 * (era2025/attach.c); it is looked at until then where only another node can run it. If the call
 * asks again, or works for longer than VIEW_END_MS, the view is
 * told so, and the call is found by its handle as before.
 *
 * Every reply has _meta.nod: {taken, callId, ended}. If the answer was not taken it has what is
 * wrong, or who answered before.
 *
 * Holds always: a request that is refused learns nothing of the question. A content that does not
 * fit leaves the question pending.
 */
#include "base/crash.h"
#include "base/mem.h"
#include "core/comeback.h"
#include "mcp/later/caller_away.h"
#include "mcp/shared/caller_record.h"
#include "mcp/wire/failure.h"
#include "mcp/later/handle.h"
#include "mcp/later/view_inside.h"

enum {
    VIEW_END_MS = 50000,          /* how long the end of a call is waited for */
    VIEW_LOOK_MS = 1000,          /* between two looks at a call whose tool is at another node */
    VIEW_ANSWER_BYTES = 64 << 20, /* memory of a result while it is read */
    VIEW_ACK_MAX = 64 << 10,      /* bytes of a reply that has no result */
};

struct answering {
    struct caller caller; /* first: waits for the end of the call */
    struct comer comer;   /* comes for it, once the answer was taken */
    struct client maker;  /* of the call */
    struct list link;
    struct views *views;
    struct run *run; /* NULL: it is over */
    unsigned busy;   /* completions on their way that point here */
    enum ask_state action;
    const struct json *content;
    bool too_large;
    bool same; /* it was given before, just as it is */
    struct view_record record;
    bool known;     /* the handle of the pending result */
    bool collected; /* the handle says that the result was handed out */
    struct handle handle;
    struct timer timer;
    int64_t until; /* the end of the call is waited for */
    struct arena arena;
};

/* Whoever answers in a view is asked there. */
static const struct client answering_client = { .declares = CLIENT_CAN_VIEW,
                                                .asked = CLIENT_CAN_VIEW };

/* --- the end of a request --- */

static void answering_settle(struct answering *answering)
{
    if (answering->run || answering->busy || answering->caller.call)
        return;
    arena_finish(&answering->arena);
    mem_free(answering);
}

static void answering_end(struct answering *answering, nod_status status, struct str body)
{
    struct run *run = answering->run;

    answering->run = NULL;
    run->handle = NULL;
    list_remove(&answering->link);
    timer_stop(answering->views->server->opts.loop, &answering->timer);
    run_done(run, status, body);
}

static void answering_fail(struct answering *answering, nod_status status, const char *code,
                           const char *message)
{
    answering_end(answering, run_fail(answering->run, status, code, str_of(message)), STR_NONE);
}

static void store_failed(struct answering *answering)
{
    answering_fail(answering, NOD_E_STORE, NULL,
                   STORE_AWAY ", so it is not known whether the answer was taken; "
                              "send the same answer again later.");
}

static void refuse(struct answering *answering)
{
    answering_fail(answering, NOD_E_NOT_FOUND, "QUESTION_UNKNOWN",
                   "No question with this nonce waits for you: it was answered or has expired, or "
                   "it never was yours.");
}

static void write_meta(struct json_writer *w, const struct answering *answering, bool taken,
                       bool ended)
{
    jw_key(w, STR("nod"));
    jw_object(w);
    jw_key_bool(w, STR("taken"), taken);
    jw_key_bool(w, STR("ended"), ended);
    jw_key_str(w, STR("callId"), id_str(&answering->record.call));
    jw_end(w);
}

/* `facts` is a JSON object, for the view. */
static void acknowledge(struct answering *answering, bool taken, struct str facts)
{
    struct json_writer w;
    struct buf body;

    buf_init(&body, VIEW_ACK_MAX);
    json_writer_init(&w, &body);
    jw_object(&w);
    content_text(&w, facts);
    jw_key(&w, STR("_meta"));
    jw_object(&w);
    write_meta(&w, answering, taken, false);
    jw_end(&w);
    jw_end(&w);
    answering_end(answering, json_writer_done(&w) ? NOD_OK : NOD_E_LIMIT, buf_str(&body));
    buf_finish(&body);
}

static void was_taken(struct answering *answering)
{
    acknowledge(answering, true, STR("{\"taken\":true}"));
}

/* --- the end of the call --- */

/* The result of the call, and what this tool adds to it. A failure is told as it is everywhere.
 * Nobody needs the id of the ask, which only the 2025 era tells. */
static void give_result(struct answering *answering, const struct outcome *outcome)
{
    bool fine = outcome->status == NOD_OK;
    const struct json *result =
        fine ? json_parse(&answering->arena, outcome->body, NULL, NULL) : NULL;
    struct json_writer w;
    struct buf body;

    buf_init(&body, MCP_MESSAGE_MAX);
    json_writer_init(&w, &body);
    jw_object(&w);
    JSON_EACH (member, result)
        if (!str_eq(member->key, STR("_meta")))
            jw_key_value(&w, member->key, member);
    if (!fine)
        failure_content(&w, outcome);
    jw_key(&w, STR("_meta"));
    jw_object(&w);
    JSON_EACH (member, json_get(result, STR("_meta")))
        if (!str_eq(member->key, STR("nod")))
            jw_key_value(&w, member->key, member);
    if (!fine)
        failure_facts2026(&w, outcome);
    write_meta(&w, answering, true, true);
    jw_end(&w);
    jw_end(&w);
    if (json_writer_done(&w) && (result || !fine))
        answering_end(answering, NOD_OK, buf_str(&body));
    else
        was_taken(answering);
    buf_finish(&body);
}

static void collected(void *data, nod_status status)
{
    struct answering *answering = data;

    CRASH_POINT(collect_after);
    if (answering->run && status == NOD_OK) {
        answering->collected = true;
        engine_return(answering->views->server->opts.engine, &answering->comer);
        return; /* which is busy as this was */
    }
    if (answering->run)
        was_taken(answering); /* it was not handed out, and can be had by its handle */
    answering->busy--;
    answering_settle(answering);
}

static void collect(struct answering *answering)
{
    handle_hand_out(answering->views->server, &answering->handle, NULL, STR_NONE, collected,
                    answering);
}

static void call_finished(struct caller *caller, struct call *call, const struct outcome *outcome)
{
    struct answering *answering = (struct answering *)(void *)caller;

    (void)outcome;
    answering->caller.call = NULL;
    if (answering->run && !call_has_ended(call)) {
        was_taken(answering); /* the call can be had by its handle */
    } else if (answering->run) {
        answering->busy++;
        collect(answering);
    }
    answering_settle(answering);
}

static void asked_again(void *data)
{
    struct answering *answering = data;

    answering->busy--;
    if (answering->run)
        was_taken(answering);
    answering_settle(answering);
}

/* The next question is up in views again: the request is told when the engine is done with it. */
static enum caller_way call_asked(struct caller *caller, struct call *call)
{
    struct answering *answering = (struct answering *)(void *)caller;

    call_handed(call);
    if (!call_ask_first(call)) /* it waits for calls, and the answer was one of theirs */
        return CALLER_HOLDS;
    answering->busy++;
    loop_defer(answering->views->server->opts.loop, asked_again, answering);
    return CALLER_LEAVES;
}

static void call_unloaded(struct caller *caller)
{
    struct answering *answering = (struct answering *)(void *)caller;

    answering->caller.call = NULL;
    if (answering->run)
        was_taken(answering);
    answering_settle(answering);
}

static void call_noticed(struct caller *caller, struct call *call, const struct notice *notice)
{
    (void)caller, (void)call, (void)notice; /* nobody reads it */
}

static const struct caller_ops answering_ops = { .away = true,
                                                 .asked = call_asked,
                                                 .notify = call_noticed,
                                                 .finished = call_finished,
                                                 .unloaded = call_unloaded };

/* --- from the answer to the call --- */

static void leave(struct answering *answering)
{
    struct call *call = answering->caller.call;

    answering->caller.call = NULL;
    if (call)
        call_caller_left(call);
}

static void end_due(void *data)
{
    struct answering *answering = data;

    leave(answering);
    was_taken(answering);
    answering_settle(answering);
}

/* The result was handed out already. Whoever sends the same answer again has not got it. */
static bool is_again(const struct answering *answering, const struct handle *handle)
{
    return answering->same && handle->collected_ms &&
           server_now(answering->views->server) - handle->collected_ms < HANDLE_AGAIN_MS;
}

/* A pending result was given out, and nobody waits for the call since then? */
static bool is_nobodys(const struct answering *answering, const struct handle *handle)
{
    struct mcp_server *server = answering->views->server;
    struct call *live = engine_find(server->opts.engine, id_str(&answering->record.call));

    return !handle->collected_ms && !handle_is_held(server, handle) &&
           (!live || caller_is_away(live));
}

static void handle_found(void *data, nod_status status, const struct handle *handles, size_t count)
{
    struct answering *answering = data;

    bool has = answering->run && status == NOD_OK && count;

    if (has && (is_nobodys(answering, &handles[0]) || is_again(answering, &handles[0]))) {
        answering->handle = handles[0];
        answering->known = true;
        answering->collected = handles[0].collected_ms != 0;
        engine_return(answering->views->server->opts.engine, &answering->comer);
        return; /* which is busy as this was */
    }
    if (answering->run)
        was_taken(answering);
    answering->busy--;
    answering_settle(answering);
}

static struct answering *answering_of(const struct comer *comer)
{
    return LIST_OF(comer, struct answering, comer);
}

static bool answering_there(const struct comer *comer)
{
    return answering_of(comer)->run;
}

/* Whether anybody waits for the call, its handle says: that is looked for first. */
static enum found answering_found(struct comer *comer, const struct call_record *call)
{
    struct answering *answering = answering_of(comer);
    char key[HANDLE_KEY_LEN + 1];

    if (answering->known)
        return FOUND_IT;
    handle_key(call->principal, call->target, call->args, call->id, key);
    handles_find(answering->views->server, str_of(key), handle_found, answering);
    return FOUND_OTHER; /* it comes again, and stays as busy */
}

/* Nobody waits for the call: it is run on for this request. */
static bool answering_waits(struct comer *comer, const struct call_record *call,
                            struct adopt_spec *spec)
{
    struct answering *answering = answering_of(comer);

    answering->maker = caller_record_maker(call);
    spec->keep_ms = answering->views->server->opts.session_idle_ms;
    spec->handed = true;
    spec->made_by = &answering->maker;
    spec->caller = &answering->caller;
    return true;
}

static void answering_look(void *data)
{
    struct answering *answering = data;

    answering->busy++;
    engine_return(answering->views->server->opts.engine, &answering->comer);
}

static void answering_back(struct comer *comer, const struct back *back)
{
    struct answering *answering = answering_of(comer);
    struct mcp_server *server = answering->run ? answering->views->server : NULL;
    int64_t left = server ? answering->until - loop_now(server->opts.loop) : 0;

    if (server && back->as == BACK_ENDED && !answering->collected) {
        collect(answering);
        return; /* which is busy as this was */
    }
    if (server && back->as == BACK_ENDED && back->outcome) {
        engine_fetched(server->opts.engine, back->record->id);
        give_result(answering, back->outcome);
    } else if (server && back->as == BACK_WAITS) {
        timer_set(server->opts.loop, &answering->timer, left > 0 ? left : 0, end_due, answering);
    } else if (server && back->as == BACK_TOO_SOON && left > 0) { /* another node may have it */
        timer_set(server->opts.loop, &answering->timer, VIEW_LOOK_MS, answering_look, answering);
    } else if (server) {
        was_taken(answering);
    }
    answering->busy--;
    answering_settle(answering);
}

static const struct comer_ops answering_comes = { .there = answering_there,
                                                  .found = answering_found,
                                                  .waits = answering_waits,
                                                  .done = answering_back };

/* --- the answer --- */

static void say_why(struct answering *answering, const struct answer_result *result)
{
    struct json_writer w;
    struct buf facts;

    buf_init(&facts, VIEW_ACK_MAX / 4);
    json_writer_init(&w, &facts);
    jw_object(&w);
    jw_key_bool(&w, STR("taken"), false);
    if (result->status == NOD_E_STALE && !result->pending) {
        jw_key_str(&w, STR("state"), ask_state_name(result->state));
        jw_key_str(&w, STR("by"), result->by);
        jw_key_str(&w, STR("via"), ask_via_shown(result->via));
    } else if (result->problems.len) {
        jw_key_raw(&w, STR("errors"), result->problems);
    }
    if (result->message.len)
        jw_key_str(&w, STR("detail"), result->message);
    else if (result->unheard)
        jw_key_str(&w, STR("detail"), str_of(result->unheard));
    jw_end(&w);
    acknowledge(answering, false,
                json_writer_done(&w) ? buf_str(&facts) : STR("{\"taken\":false}"));
    buf_finish(&facts);
}

static void answered(void *data, const struct answer_result *result)
{
    struct answering *answering = data;
    struct views *views = answering->views;
    struct ask *ask = result->unheard && answering->run
                          ? engine_ask(views->server->opts.engine, view_ask_id(&answering->record))
                          : NULL;
    bool taken = result->status == NOD_OK || (result->status == NOD_E_STALE && result->same);

    if (result->status == NOD_OK && !result->pending && answering->run)
        view_over(views, &answering->record);
    if (ask) /* whoever follows is asked as well */
        ask_offered(ask, &views->surface, OFFER_UNSEEN);
    if (answering->run && taken) {
        CRASH_POINT(attach_after);
        answering->same = result->same;
        answering->until = loop_now(views->server->opts.loop) + VIEW_END_MS;
        answering->comer.ops = &answering_comes;
        answering->comer.call = answering->record.call;
        answering->comer.principal = answering->run->principal;
        engine_return(views->server->opts.engine, &answering->comer);
        return; /* which is busy as this was */
    }
    if (answering->run && result->status == NOD_E_STORE)
        store_failed(answering);
    else if (answering->run && result->status == NOD_E_NOT_FOUND)
        refuse(answering);
    else if (answering->run)
        say_why(answering, result);
    answering->busy--;
    answering_settle(answering);
}

static void record_known(struct mcp_server *server, void *data, nod_status status,
                         const struct view_record *record)
{
    struct answering *answering = data;
    const struct run *run = answering->run;

    if (run && (status == NOD_E_STORE || !server)) {
        store_failed(answering);
    } else if (run && (!record || !view_nonce_is(record, json_get_str(run->args, STR("nonce"))) ||
                       !view_is_up(answering->views, view_ask_id(record)))) {
        refuse(answering);
    } else if (run) {
        answering->record = *record;
        answering->record.tool = arena_str(&answering->arena, record->tool);
        answering->record.request = arena_str(&answering->arena, record->request);
        ask_answer(server->opts.engine, view_ask_id(&answering->record),
                   &(struct answer){ .action = answering->action,
                                     .content = answering->content,
                                     .too_large = answering->too_large,
                                     .reason = json_get_str(run->args, STR("reason")),
                                     .by = run->principal,
                                     .roles = run->roles,
                                     .surface = &answering->views->surface },
                   answered, answering);
        return; /* which is busy as this was */
    }
    answering->busy--;
    answering_settle(answering);
}

/* --- requests --- */

/* As an object, or as its text, in which numbers are as they were typed. */
static bool read_content(struct answering *answering, const struct json *given)
{
    struct json_opts opts = { .refuse_duplicates = true };

    answering->content = given;
    if (json_is(given, JSON_STRING))
        answering->content =
            json_parse(&answering->arena, arena_str(&answering->arena, given->text), &opts, NULL);
    return !given || json_is(answering->content, JSON_OBJECT);
}

static void view_answer_start(struct own_tool *tool, struct run *run)
{
    struct views *views = tool->data;
    struct answering *answering = MEM_NEW(struct answering);
    struct str nonce = json_get_str(run->args, STR("nonce"));
    char key[VIEW_KEY_LEN + 1];

    answering->caller.ops = &answering_ops;
    answering->caller.client = &answering_client;
    answering->views = views;
    answering->run = run;
    run->handle = answering;
    arena_init(&answering->arena, VIEW_ANSWER_BYTES);
    list_append(&views->answers, &answering->link);
    if (!ask_action_read(json_get_str(run->args, STR("action")), &answering->action)) {
        answering_fail(answering, NOD_E_INVALID, NULL,
                       "nodAnswer: action must be accept, decline or cancel.");
    } else if (!read_content(answering, json_get(run->args, STR("content")))) {
        answering_fail(answering, NOD_E_INVALID, NULL,
                       "nodAnswer: content must be an object, or the JSON of one.");
    } else if (nonce.len != VIEW_NONCE_LEN) {
        refuse(answering);
    } else {
        view_key(run->principal, str_n(nonce.at, ID_LEN), key);
        answering->busy++;
        view_record_get(views->server, key, record_known, answering);
    }
    answering_settle(answering);
}

static void view_answer_cancelled(struct run *run)
{
    struct answering *answering = run->handle;

    if (!answering)
        return;
    leave(answering);
    answering_end(answering, NOD_E_CANCELLED, STR_NONE);
    answering_settle(answering);
}

const struct own_tool_ops view_answer_ops = { .start = view_answer_start,
                                              .cancelled = view_answer_cancelled,
                                              .released = view_released };

void view_answers_drop(struct views *views)
{
    LIST_EACH (at, &views->answers)
        view_answer_cancelled(LIST_OF(at, struct answering, link)->run);
}
