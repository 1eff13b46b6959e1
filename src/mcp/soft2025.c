/*
 * mcp/soft2025: see soft2025.h.
 *
 * The time counts from when the request came, and only while every question of its call is up
 * elsewhere. When it is over, the record of the handle is written first. Then the client is given
 * the pending result, and the call is nobody's: it rests, and goes on when somebody answers. If it
 * has ended meanwhile, its client gets the result, and the record is taken back.
 */
#include "mcp/soft2025.h"

#include "base/mem.h"
#include "mcp/attach2025.h"
#include "mcp/pending.h"

enum { SOFT_AGAIN_MS = 1000 }; /* wait before a store that did not take a handle is asked again */

static void soft_over(void *data);

struct soft { /* of a request whose call waits for somebody elsewhere */
    struct timer timer;
    struct caller2025 *call; /* NULL: it is gone, or no longer waits */
    struct mcp_server *server;
    bool putting; /* the record of the handle is being written */
    char key[HANDLE_KEY_LEN + 1];
};

void soft2025_stop(struct caller2025 *call)
{
    struct soft *soft = call->soft;

    call->soft = NULL;
    if (!soft)
        return;
    soft->call = NULL;
    timer_stop(soft->server->opts.loop, &soft->timer);
    if (!soft->putting)
        mem_free(soft);
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
}

static bool may_pend(const struct caller2025 *call)
{
    return call->caller.call && call_waiting(call->caller.call) && !call->quiet &&
           call_waits_only_elsewhere(call->caller.call);
}

static void soft_put(void *data, nod_status status)
{
    struct soft *soft = data;
    struct caller2025 *call = soft->call;

    soft->putting = false;
    if (call && may_pend(call) && status == NOD_OK) {
        soft2025_pend(call, NULL);
    } else if (call) { /* the store is away: the request waits on */
        timer_set(soft->server->opts.loop, &soft->timer, SOFT_AGAIN_MS, soft_over, soft);
    } else {
        if (status == NOD_OK) /* it has ended meanwhile, and its client was told */
            handle_drop(soft->server, soft->key);
        mem_free(soft);
    }
}

static void soft_over(void *data)
{
    struct soft *soft = data;
    struct caller2025 *call = soft->call;
    struct mcp_server *server = soft->server;
    struct handle handle = { 0 };

    if (!may_pend(call))
        return;         /* soft2025_offered sets it again */
    if (call->attach) { /* the record is there */
        soft2025_pend(call, NULL);
        return;
    }
    const struct call *made = call->caller.call;
    handle_key(session_principal(call->session), call_target(made)->name, call_args(made),
               call_id(made), soft->key);
    memcpy(handle.key, soft->key, sizeof(handle.key));
    soft->putting = true;
    handle_put(server, &handle, 0, pending_keep_ms(server, made), soft_put, soft);
}

/* Where its questions are up has changed. */
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
    if (call->soft)
        return;
    struct mcp_server *server = session->server;
    int64_t ms = pending_soft_ms(server, call_target(engine_call_), STR_NONE);
    if (ms < session->soft_ms)
        ms = session->soft_ms;
    int64_t left = call->began + ms - loop_now(server->opts.loop);
    call->soft = MEM_NEW(struct soft);
    call->soft->call = call;
    call->soft->server = server;
    timer_set(server->opts.loop, &call->soft->timer, left > 0 ? left : 0, soft_over, call->soft);
}
