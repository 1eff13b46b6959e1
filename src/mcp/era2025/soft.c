/*
 * mcp/era2025/soft: see soft.h.
 *
 * The time counts from when the request came, and only while every question of its call is up
 * elsewhere. When it is over, the record of the handle is written first. Then the client is given
 * the pending result, and the call is nobody's: it rests, and goes on when somebody answers. If it
 * has ended meanwhile, the record is marked as handed out, and its client gets the result.
 */
#include "mcp/era2025/soft.h"

#include "base/crash.h"
#include "base/mem.h"
#include "core/json_digest.h"
#include "mcp/era2025/attach.h"
#include "mcp/later/pending.h"
#include "mcp/era2025/stdio_orphans.h"

enum {
    SOFT_AGAIN_MS = 1000,      /* wait before a store that did not take a handle is asked again */
    SOFT_LOOK_MS = 200,        /* and before the next look at a call that is being looked up */
    SOFT_ARENA_MAX = 64 << 20, /* memory of a result that waits until its handle is marked */
};

static void soft_over(void *data);

struct soft { /* of a request whose call waits, or has waited, for somebody elsewhere */
    struct timer timer;
    struct caller2025 *call; /* NULL: it is gone */
    struct mcp_server *server;
    bool putting; /* the record of the handle is being written */
    bool noted;   /* it may be there */
    bool ended;   /* the call has ended, as `end` says; the texts are in the arena */
    struct arena arena;
    struct outcome end;
    struct id call_id; /* with ended */
    char key[HANDLE_KEY_LEN + 1];
};

static struct soft *soft_of(struct caller2025 *call)
{
    if (!call->soft) {
        call->soft = MEM_NEW(struct soft);
        call->soft->call = call;
        call->soft->server = call->session->server;
        arena_init(&call->soft->arena, SOFT_ARENA_MAX);
    }
    return call->soft;
}

static void soft_free(struct soft *soft)
{
    arena_finish(&soft->arena);
    mem_free(soft);
}

void soft2025_stop(struct caller2025 *call)
{
    if (call->soft)
        timer_stop(call->soft->server->opts.loop, &call->soft->timer);
}

void soft2025_forget(struct caller2025 *call)
{
    struct soft *soft = call->soft;

    if (!soft)
        return;
    soft2025_stop(call);
    call->soft = NULL;
    soft->call = NULL;
    if (!soft->putting)
        soft_free(soft);
}

/* Responds with the pending result. The call is nobody's then, and goes on by itself. */
void soft2025_pend(struct caller2025 *call, struct caller2025 *to)
{
    struct session *session = call->session;
    struct mcp_server *server = session->server;
    struct call *engine_call_ = call->caller.call;
    struct buf body;

    buf_init(&body, PENDING_BODY_MAX);
    pending_write(server, engine_call_, &body);
    session->pended = true;
    session_need(session, caller2025_needs(server, engine_call_));
    if (call->attach && !to)
        attach2025_release(call);
    call_handed(engine_call_);
    if (to)
        call_change_caller(engine_call_, &to->caller);
    else
        call_caller_left(engine_call_);
    caller2025_respond(call, &(struct outcome){ .status = NOD_OK, .body = buf_str(&body) });
    buf_finish(&body);
    CRASH_POINT(pended_after);
}

/* While the call is looked up in the store it does not wait, for a moment. */
static void look_again(struct soft *soft)
{
    if (soft->call->waiting && !soft->call->quiet)
        timer_set(soft->server->opts.loop, &soft->timer, SOFT_LOOK_MS, soft_over, soft);
}

static bool may_pend(const struct caller2025 *call)
{
    const struct call *waits = call->caller.call;

    return waits && call_waiting(waits) && !call->quiet &&
           (call_waits_only_elsewhere(waits) ||
            (call->attach && !call_ask_first(waits))); /* another node works on it */
}

static void set_key(struct soft *soft, struct str principal, const struct call *call)
{
    handle_key(principal, call_target(call)->name, call_args(call), call_id(call), soft->key);
}

static void hand_out(struct soft *soft);

static void soft_put(void *data, nod_status status)
{
    struct soft *soft = data;
    struct caller2025 *call = soft->call;

    soft->putting = false;
    if (!call)
        soft_free(soft);
    else if (soft->ended)
        hand_out(soft);
    else if (may_pend(call) && status == NOD_OK)
        soft2025_pend(call, NULL);
    else if (may_pend(call)) /* the store is away: the request waits on */
        timer_set(soft->server->opts.loop, &soft->timer, SOFT_AGAIN_MS, soft_over, soft);
    else
        look_again(soft);
}

static void soft_over(void *data)
{
    struct soft *soft = data;
    struct caller2025 *call = soft->call;
    struct mcp_server *server = soft->server;
    struct handle handle = { 0 };

    if (!may_pend(call)) {
        look_again(soft);
        return;
    }
    if (call->attach) { /* the record is there */
        soft2025_pend(call, NULL);
        return;
    }
    const struct call *made = call->caller.call;
    set_key(soft, session_principal(call->session), made);
    memcpy(handle.key, soft->key, sizeof(handle.key));
    soft->putting = soft->noted = true;
    if (call->stream->pipe)
        stdio_orphans_note(call->session); /* before the client has the handle */
    handle_put(server, &handle, session_principal(call->session), 0, pending_keep_ms(server, made),
               soft_put, soft);
}

/* --- the end --- */

bool soft2025_noted(const struct caller2025 *call)
{
    return call->part == PART_TOOL_RESULT && (call->returned || (call->soft && call->soft->noted));
}

bool soft2025_ends(const struct caller2025 *call, struct str tool, const struct json *args)
{
    char prefix[ID_LEN + 1];
    struct digest digest;

    if (!call->soft || !call->soft->ended)
        return false;
    digest_of_args(args, &digest);
    handle_prefix(session_principal(call->session), tool, &digest, prefix);
    return strncmp(prefix, call->soft->key, ID_LEN) == 0;
}

static void soft_collect_again(void *data)
{
    struct soft *soft = data;

    caller2025_found_ended(soft->call);
}

static void handed_out(void *data, nod_status status)
{
    struct soft *soft = data;
    struct caller2025 *call = soft->call;

    soft->putting = false;
    if (!call || !call->session) {
        if (!call)
            soft_free(soft);
        return;
    }
    if (status != NOD_OK && caller2025_end_later(call, &soft->timer, soft_collect_again, soft))
        return;
    if (status != NOD_OK) {
        struct str id = str_of(soft->call_id.text);
        soft->end = (struct outcome){
            .status = NOD_E_STORE,
            .code = "STORE_AWAY",
            .message =
                arena_fmt(&soft->arena,
                          "The call has ended, and its result is kept. The store cannot be "
                          "reached, so it was not handed out. Get it later: call the tool " STR_FMT
                          " with {\"callId\":\"" STR_FMT "\"}.",
                          STR_ARG(PENDING_TOOL), STR_ARG(id)),
            .meta =
                arena_fmt(&soft->arena, "{\"callId\":\"" STR_FMT "\",\"waitWith\":\"" STR_FMT "\"}",
                          STR_ARG(id), STR_ARG(PENDING_TOOL)),
        };
    }
    if (status == NOD_OK)
        mcp_stream_hands(call->stream, id_str(&soft->call_id));
    caller2025_respond(call, &soft->end);
}

static void hand_out(struct soft *soft)
{
    soft->putting = true;
    handle_collect(soft->server, soft->key, handed_out, soft);
}

void soft2025_collect(struct caller2025 *call)
{
    hand_out(call->soft);
}

void soft2025_end(struct caller2025 *call, const struct call *ended, const struct outcome *outcome)
{
    struct soft *soft = soft_of(call);
    struct buf text;

    buf_init(&text, SOFT_ARENA_MAX);
    bool kept =
        outcome_write(&text, outcome) &&
        outcome_read(&soft->arena, arena_str(&soft->arena, buf_str(&text)), &soft->end) == NOD_OK;
    buf_finish(&text);
    if (!kept) { /* it cannot be stored either */
        caller2025_respond(call, outcome);
        return;
    }
    set_key(soft, session_principal(call->session), ended);
    memcpy(soft->call_id.text, call_id(ended).at, ID_LEN);
    soft->ended = true;
    if (!soft->putting)
        hand_out(soft);
}

/* --- where its questions are up has changed --- */

void soft2025_offered(struct caller *caller, struct call *engine_call_)
{
    struct caller2025 *call = (struct caller2025 *)(void *)caller;
    struct session *session = call->session;

    if (!session || call->quiet || call->part != PART_TOOL_RESULT)
        return;
    if (!call_waits_only_elsewhere(engine_call_)) {
        soft2025_stop(call);
        return;
    }
    struct soft *soft = soft_of(call);
    if (soft->putting)
        return;
    struct mcp_server *server = session->server;
    int64_t ms = pending_soft_ms(server, call_target(engine_call_), STR_NONE);
    if (ms < session->soft_ms)
        ms = session->soft_ms;
    int64_t left =
        call->began + pending_hold_ms(server, engine_call_, ms) - loop_now(server->opts.loop);
    timer_set(server->opts.loop, &soft->timer, left > 0 ? left : 0, soft_over, soft);
}

void soft2025_now(struct caller *caller)
{
    struct caller2025 *call = (struct caller2025 *)(void *)caller;

    if (!call->soft && caller->call)
        soft2025_offered(caller, caller->call);
    if (call->soft && !call->soft->putting)
        timer_set(call->soft->server->opts.loop, &call->soft->timer, 0, soft_over, call->soft);
}
