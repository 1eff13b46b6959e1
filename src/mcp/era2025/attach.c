/*
 * mcp/era2025/attach: from a request to a call that went on without its client (era 2025).
 *
 *     waitForPerson {callId}     its handle ▶ the call, whoever waits for it now: the older request
 *                                gets a pending result, or both get the end
 *     an answer to a question    claims the question ▶ its call, in the same way (attach_tool.h)
 *     the same tool, arguments   a handle whose result was not handed out, of a call that nobody
 *                                holds, and whose question is not up with the model of another
 *                                session ▶ the call; otherwise a new call begins
 *
 * The request waits for the call as the one that made it did, up to its own soft deadline. When the
 * call has ended, the record of the handle says so before the client is told: no later request is
 * given the same result for a new wish. The same request again gets it again, and so does whoever
 * names the handle within HANDLE_AGAIN_MS: a reply that was lost looks like one that was not. If
 * the client is gone when the call ends, nothing was handed out.
 *
 * Whoever merely called again may have meant another call. So that result says which call it is of
 * (attach_mark.c).
 *
 * Holds always: a call is found by its own principal only. A call that a request holds is not given
 * to another one that merely wishes the same.
 */
#include "mcp/era2025/attach.h"

#include "base/crash.h"
#include "base/mem.h"
#include "core/json_digest.h"
#include "core/catalog.h"
#include "json/write.h"
#include "mcp/later/attach_tool.h"
#include "mcp/later/caller_away.h"
#include "mcp/shared/caller_record.h"
#include "mcp/shared/live.h"
#include "mcp/later/model.h"
#include "mcp/later/pending.h"
#include "mcp/era2025/repeat.h"

enum {
    ATTACH_ARENA_MAX = 64 << 20, /* memory of the arguments, or of a result that is read */
    ATTACH_AGAIN_MS = 100,       /* between two looks at a call that runs for another request */
    NOTE_MAX = 32 << 10,         /* bytes of a note of which call a stream is */
    GONE_AGAIN_MS = 1000,        /* and at one whose tool is at another node */
};

#define STORE_AWAY_NOTHING                                                                         \
    STORE_AWAY ". Nothing was begun or handed out by this request; try again later."

static void attach_settle(struct attach *attach)
{
    if (attach->call || attach->busy)
        return;
    if (attach->target)
        target_release(attach->target);
    arena_finish(&attach->arena);
    mem_free(attach);
}

void attach2025_forget(struct caller2025 *call)
{
    struct attach *attach = call->attach;

    call->attach = NULL;
    if (!attach)
        return;
    attach->call = NULL;
    if (heap_has(&attach->again.node))
        timer_stop(attach->server->opts.loop, &attach->again);
    attach_settle(attach);
}

/* It may wait for long for another request that has the call. */
static void attach_target_now(struct attach *attach)
{
    struct target *old = attach->target, *now;

    if (!old || !old->removed || !(now = catalog_now(attach->server->opts.catalog, old)))
        return;
    target_hold(now);
    attach->target = now;
    target_release(old);
}

void attach2025_goes_over(struct caller2025 *call)
{
    if (call->attach)
        attach_target_now(call->attach);
}

/* --- ends without a call --- */

static void say_failure(struct attach *attach, const char *code, const char *why)
{
    struct caller2025 *call = attach->call;

    caller2025_respond(
        call, &(struct outcome){ .status = NOD_E_NOT_FOUND, .code = code, .message = str_of(why) });
}

static void say_away(struct attach *attach)
{
    caller2025_refuse_later(attach->call, &(struct outcome){ .status = NOD_E_STORE,
                                                             .code = "STORE_AWAY",
                                                             .message = STR(STORE_AWAY_NOTHING) });
}

static void begin_own(struct attach *attach)
{
    struct caller2025 *call = attach->call;
    struct target *target = attach->target;
    struct id id = attach->request;

    if (attach->answered) { /* the request that made the call still waits for it */
        struct outcome taken = attach_taken();
        caller2025_respond(call, &taken);
        return;
    }
    if (attach->by_handle) {
        say_failure(attach, "CALL_UNKNOWN", attach_not_known);
        return;
    }
    attach->busy++; /* the arguments are needed until the call has begun */
    attach->call = NULL;
    call->attach = NULL;
    caller2025_begin(
        call, &(struct start_spec){ .target = target, .args = attach->args, .meta = attach->meta },
        &id, attach->named);
    attach->busy--;
    attach_settle(attach);
}

/* --- attaching --- */

static int64_t soft_of(const struct attach *attach)
{
    return pending_soft_ms(attach->server, attach->target, STR_NONE);
}

static void look_next(struct attach *attach);
static void find(struct attach *attach, const char *prefix);

/* Goes to the door. What it has found there, attach_found and attach_back say. */
static void attach_comes(struct attach *attach, struct str call_id)
{
    attach->busy++;
    attach_target_now(attach);
    attach->comer.call = call_id.len == ID_LEN ? id_of(call_id) : (struct id){ 0 };
    attach->comer.principal = session_principal(attach->call->session);
    engine_return(attach->server->opts.engine, &attach->comer);
}

static void load(void *data)
{
    struct attach *attach = data;

    attach_comes(attach, handle_call(&attach->found[attach->at]));
}

/* Another node may have the tool: the call is looked at until it has ended, or until the soft
 * deadline. */
static void wait_elsewhere(struct attach *attach, struct str call_id)
{
    struct mcp_server *server = attach->server;
    int64_t left = attach->call->began + soft_of(attach) - loop_now(server->opts.loop);
    struct buf body;

    if (left > 0 && !server_draining(server)) {
        timer_set(server->opts.loop, &attach->again, left < GONE_AGAIN_MS ? left : GONE_AGAIN_MS,
                  load, attach);
        return;
    }
    attach2025_release(attach->call);
    buf_init(&body, PENDING_BODY_MAX);
    pending_write_elsewhere(call_id, &body);
    caller2025_respond(attach->call, &(struct outcome){ .status = NOD_OK, .body = buf_str(&body) });
    buf_finish(&body);
}

/* A question that the model of a session was given is answered in that session only: in another
 * one its id would be of no use. */
static bool is_with_other_model(const struct attach *attach, const struct call_record *record,
                                const struct call *live)
{
    const struct session *session = attach->call->session;

    if (record->state == CALL_STORED_FINISHED || str_eq(record->scope, session_scope(session)))
        return false;
    if (live && call_waiting(live))
        return model_is_asked(attach->server, live);
    return engine_asks_model(attach->server->opts.engine, attach->target,
                             client_ask_kinds(session->client.declares),
                             attach->call->caller.roles);
}

static struct attach *attach_of(const struct comer *comer)
{
    return LIST_OF(comer, struct attach, comer);
}

static bool attach_there(const struct comer *comer)
{
    const struct attach *attach = attach_of(comer);

    return attach->call && attach->call->session;
}

/* Is it a call that a request which merely wishes the same may have? */
static bool may_be_had(const struct attach *attach, const struct call_record *record)
{
    const struct call *live = engine_find(attach->server->opts.engine, record->id);

    return (!live || caller_is_away(live)) && record->state != CALL_STORED_CANCELLED &&
           !is_with_other_model(attach, record, live);
}

static enum found attach_found(struct comer *comer, const struct call_record *record)
{
    struct attach *attach = attach_of(comer);
    char key[HANDLE_KEY_LEN + 1];

    handle_key(record->principal, record->target, record->args, record->id, key);
    if (attach->count && strncmp(key, attach->found[attach->at].key, ID_LEN) == 0 &&
        (attach->by_handle || attach->hands_out || may_be_had(attach, record)))
        return FOUND_IT;
    attach->busy--;
    if (attach->count)
        look_next(attach);
    else /* it is named: its handle is found by what the call was made with */
        find(attach, key);
    return FOUND_OTHER;
}

static bool attach_waits(struct comer *comer, const struct call_record *record,
                         struct adopt_spec *spec)
{
    struct attach *attach = attach_of(comer);

    attach->attached = true;
    attach->maker = caller_record_maker(record);
    spec->keep_ms = attach->server->opts.session_idle_ms;
    spec->handed = true;
    spec->made_by = &attach->maker;
    spec->caller = &attach->call->caller;
    return true;
}

static void hand_out(struct attach *attach, const struct back *back);

static void attach_back(struct comer *comer, const struct back *back)
{
    struct attach *attach = attach_of(comer);
    const struct caller2025 *other;
    const struct call *live;

    attach->busy--;
    if (!attach_there(comer)) {
        attach_settle(attach);
        return;
    }
    if (attach->hands_out) {
        hand_out(attach, back);
        return;
    }
    switch (back->as) {
    case BACK_LEFT:
    case BACK_WAITS:
        break;
    case BACK_UNREAD:
        if (back->status == NOD_E_STORE)
            say_away(attach);
        else
            look_next(attach);
        break;
    case BACK_UNKNOWN:
    case BACK_FORGOTTEN:
        look_next(attach);
        break;
    case BACK_ENDED:
        attach->attached = true;
        caller2025_found_ended(attach->call);
        break;
    case BACK_BUSY:
        attach->attached = false;
        live = engine_find(attach->server->opts.engine, back->record->id);
        other = live ? caller2025_of(live) : NULL;
        /* It runs for another request that was attached: this one looks again when it waits or has
         * ended. */
        if (attach->by_handle && other && other->attach && other->session && !call_waiting(live))
            timer_set(attach->server->opts.loop, &attach->again, ATTACH_AGAIN_MS, load, attach);
        else
            say_failure(attach, "CALL_BUSY", attach_is_elsewhere);
        break;
    case BACK_TOO_SOON:
        wait_elsewhere(attach, back->record->id);
        break;
    case BACK_FULL:
        attach->attached = false;
        attach2025_release(attach->call);
        say_failure(attach, "LIMIT_REACHED", attach_no_room);
        break;
    }
}

static const struct comer_ops attach_ops = {
    .there = attach_there, .found = attach_found, .waits = attach_waits, .done = attach_back
};

/* --- the note: attach.h --- */

static struct str note_write(const struct attach *attach, struct arena *arena)
{
    char wish[DIGEST_HEX_LEN + 1];
    struct json_writer w;
    struct buf out;

    digest_hex(&attach->wish, wish);
    buf_init(&out, NOTE_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key_str(&w, STR("call"), id_str(&attach->wanted));
    jw_key_str(&w, STR("wish"), str_of(wish));
    jw_key_bool(&w, STR("marks"), attach->call->caller.again);
    jw_key_bool(&w, STR("answered"), attach->answered);
    jw_key_str(&w, STR("by"), caller2025_record(attach->call, arena));
    jw_end(&w);
    struct str text = json_writer_done(&w) ? arena_str(arena, buf_str(&out)) : STR_NONE;
    buf_finish(&out);
    return text;
}

bool attach_note_read(struct arena *arena, struct str text, struct attach_note *out)
{
    const struct json *note = json_parse(arena, arena_str(arena, text), NULL, NULL);
    struct str call = json_get_str(note, STR("call"));

    *out = (struct attach_note){ .by = json_get_str(note, STR("by")),
                                 .marks = json_true(json_get(note, STR("marks"))),
                                 .answered = json_true(json_get(note, STR("answered"))) };
    if (call.len != ID_LEN ||
        !hex_decode(json_get_str(note, STR("wish")), out->wish.bytes, DIGEST_LEN))
        return false;
    out->call = id_of(call);
    return out->by.len > 0;
}

static void note_put(void *data, nod_status status, const struct store_reply *reply)
{
    struct attach *attach = data;

    (void)reply;
    attach->busy--;
    if (!attach->call || !attach->call->session) {
        attach_settle(attach);
    } else if (status == NOD_OK || status == NOD_E_LIMIT) {
        /* Without a note the stream cannot be resumed elsewhere, but its client can call again. So
         * whoever has no room left can still fetch what takes it. */
        attach->noted = status == NOD_OK;
        load(attach);
    } else {
        say_away(attach);
    }
}

static void note(struct attach *attach)
{
    struct mcp_server *server = attach->server;
    struct store *store = engine_store(server->opts.engine);
    struct arena arena;

    if (attach->noted || !attach->call->stream->of_call) {
        load(attach);
        return;
    }
    arena_init(&arena, NOTE_MAX * 2);
    attach->busy++;
    store->ops->put(store, ATTACH_NOTE_KIND, id_str(&attach->request), note_write(attach, &arena),
                    session_principal(attach->call->session), STORE_IF_ROOM,
                    soft_of(attach) + server->opts.session_idle_ms, note_put, attach);
    arena_finish(&arena);
}

static void held(void *data, nod_status status)
{
    struct attach *attach = data;

    attach->busy--;
    if (!attach->call || !attach->call->session)
        attach_settle(attach);
    else if (status == NOD_OK || attach->by_handle)
        note(attach);
    else
        look_next(attach); /* another node was faster */
}

/* Other nodes are told that somebody holds the call. */
static void hold(struct attach *attach)
{
    struct mcp_server *server = attach->server;
    struct handle handle = attach->found[attach->at];

    attach->wanted = (struct id){ 0 };
    memcpy(attach->wanted.text, handle_call(&handle).at, ID_LEN);
    if (!engine_store(server->opts.engine)->ops->shared || handle.collected_ms) {
        note(attach);
        return;
    }
    handle.held_until = server_now(server) + soft_of(attach) + HANDLE_HELD_MORE_MS;
    attach->busy++;
    handle_put(server, &handle, STR_NONE, handle.version, STORE_ABANDONED_MS, held, attach);
}

static bool may_have(const struct attach *attach, const struct handle *handle)
{
    bool again = handle->collected_ms && str_eq(id_str(&handle->by), id_str(&attach->request));

    if (attach->by_handle)
        return !handle->collected_ms || again ||
               server_now(attach->server) - handle->collected_ms < HANDLE_AGAIN_MS;
    return again ||
           (!handle->named && !handle->collected_ms && !handle_is_held(attach->server, handle));
}

/* The next handle, or what follows if there is none. */
static void look_on(struct attach *attach)
{
    while (attach->at < attach->count && !may_have(attach, &attach->found[attach->at]))
        attach->at++;
    if (attach->at < attach->count) {
        attach->collected = attach->found[attach->at].collected_ms != 0;
        hold(attach);
    } else if (attach->by_handle && attach->count) {
        say_failure(attach, "RESULT_HANDED_OUT", attach_was_collected);
    } else {
        begin_own(attach);
    }
}

static void look_next(struct attach *attach)
{
    attach->at++;
    if (attach->by_handle)
        say_failure(attach, "CALL_UNKNOWN", attach_not_known);
    else
        look_on(attach);
}

static void found(void *data, nod_status status, const struct handle *handles, size_t count)
{
    struct attach *attach = data;

    attach->busy--;
    if (!attach->call || !attach->call->session) {
        attach_settle(attach);
        return;
    }
    if (status != NOD_OK) {
        say_away(attach);
        return;
    }
    memcpy(attach->found, handles, count * sizeof(*handles));
    attach->count = count;
    look_on(attach);
}

static void find(struct attach *attach, const char *prefix)
{
    attach->busy++;
    handles_find(attach->server, str_of(prefix), found, attach);
}

static void was_answered(void *data, bool server, struct str call_id, const struct outcome *refusal)
{
    struct attach *attach = data;

    attach->busy--;
    if (!server || !attach->call || !attach->call->session) {
        attach_settle(attach);
    } else if (refusal) {
        caller2025_respond(attach->call, refusal);
    } else {
        attach->answered = true;
        attach_comes(attach, call_id);
    }
}

/* A request of one of nod's own tools. */
static void look_by_tool(struct attach *attach, const struct own_tool *tool,
                         const struct json *args)
{
    struct session *session = attach->call->session;
    struct outcome refusal;
    struct attach_wish wish;

    if (!attach_read(tool, args, &attach->arena, &wish, &refusal)) {
        caller2025_respond(attach->call, &refusal);
    } else if (wish.ask_id.len) {
        attach->busy++;
        attach_answer(attach->server, &wish,
                      (struct visitor){ session_principal(session), attach->call->caller.roles },
                      session_scope(session), was_answered, attach);
    } else {
        attach_comes(attach, wish.call_id);
    }
}

void attach2025_look(struct caller2025 *call, const struct start_spec *spec,
                     const struct id *request, bool named)
{
    struct mcp_server *server = call->session->server;
    const struct own_tool *tool = attach_tool_of(spec->target);
    struct attach *attach = MEM_NEW(struct attach);
    char prefix[ID_LEN + 1];

    attach->comer.ops = &attach_ops;
    attach->server = server;
    attach->call = call;
    attach->request = *request;
    attach->named = named;
    attach->by_handle = tool != NULL;
    call->caller.again = !tool;
    arena_init(&attach->arena, ATTACH_ARENA_MAX);
    struct digest args;
    digest_of_args(spec->args, &args);
    repeat2025_wish(&(struct repeat_of){ .kind = TARGET_TOOL,
                                         .target = spec->target->name,
                                         .args = spec->args,
                                         .args_digest = &args },
                    &attach->wish);
    call->attach = attach;
    if (tool) {
        look_by_tool(attach, tool, spec->args);
        return;
    }
    attach->target = spec->target;
    target_hold(spec->target);
    attach->args = spec->args ? json_copy(&attach->arena, spec->args) : NULL;
    attach->meta = arena_str(&attach->arena, spec->meta);
    handle_prefix(session_principal(call->session), spec->target->name, &args, prefix);
    find(attach, prefix);
}

void attach2025_back(struct caller2025 *call, const struct attach_note *note)
{
    struct attach *attach = MEM_NEW(struct attach);

    attach->comer.ops = &attach_ops;
    attach->server = call->session->server;
    attach->call = call;
    attach->request = note->request;
    attach->by_handle = attach->noted = true;
    attach->answered = note->answered;
    call->caller.again = note->marks;
    attach->wish = note->wish;
    arena_init(&attach->arena, ATTACH_ARENA_MAX);
    call->attach = attach;
    attach_comes(attach, id_str(&note->call));
}

/* --- the end --- */

static void attach_collect_again(void *data)
{
    struct attach *attach = data;

    caller2025_found_ended(attach->call);
}

/* The call has ended, and the client is told nothing else: it waits until the store is back. */
static void wait_for_store(struct attach *attach)
{
    attach->hands_out = false;
    if (!caller2025_end_later(attach->call, &attach->again, attach_collect_again, attach))
        say_away(attach); /* it is not handed out, and can be had later */
}

static void hand_out(struct attach *attach, const struct back *back)
{
    struct caller2025 *call = attach->call;
    struct arena arena;

    if (back->as == BACK_UNREAD && back->status == NOD_E_STORE) {
        wait_for_store(attach);
        return;
    }
    if (back->as != BACK_ENDED || !back->outcome) {
        say_failure(attach, "CALL_UNKNOWN", attach_not_known);
        return;
    }
    struct outcome outcome = *back->outcome;
    arena_init(&arena, ATTACH_ARENA_MAX);
    if (call->caller.again && !str_eq(back->record->id, id_str(&attach->request)))
        attach_mark_result(&arena, back->record, &outcome);
    if (call->stream->pipe)
        engine_fetched(attach->server->opts.engine, back->record->id);
    mcp_stream_hands(call->stream, back->record->id);
    caller2025_respond(call, &outcome);
    arena_finish(&arena);
}

static void collected(void *data, nod_status status)
{
    struct attach *attach = data;

    CRASH_POINT(collect_after);
    attach->busy--;
    if (!attach->call || !attach->call->session) {
        attach_settle(attach);
    } else if (status != NOD_OK) {
        wait_for_store(attach);
    } else {
        attach->collected = attach->hands_out = true;
        attach_comes(attach, id_str(&attach->wanted));
    }
}

void attach2025_collect(struct caller2025 *call)
{
    struct attach *attach = call->attach;

    attach->busy++;
    if (attach->collected)
        collected(attach, NOD_OK);
    else
        handle_hand_out(attach->server, &attach->found[attach->at], &attach->request, STR_NONE,
                        collected, attach);
}

void attach2025_release(struct caller2025 *call)
{
    struct attach *attach = call->attach;
    struct mcp_server *server = attach->server;

    if (!engine_store(server->opts.engine)->ops->shared || attach->collected)
        return;
    struct handle handle = attach->found[attach->at];
    handle.held_until = 0;
    handle_put(server, &handle, STR_NONE, 0, STORE_ABANDONED_MS, NULL, NULL);
}
