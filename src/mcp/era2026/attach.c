/*
 * mcp/era2026/attach: a request whose call waits for somebody elsewhere (era 2026).
 *
 * The request is held up to its soft deadline. What its client gets then:
 *
 *   it is its turn to be asked now       input_required, with the questions; this does not wait
 *                                        for the deadline
 *   it can open pages, and there is one  input_required, with a link to the page of each question;
 *                                        its retry waits again
 *   it takes tasks, and so does the tool a task
 *   otherwise                            a pending result (mcp/later/pending)
 *
 * The record of the handle is written before the client is given a pending result. If the call goes
 * on meanwhile, the record stays, and does no harm: it is found by its name only, which nobody was
 * told.
 *
 * A request of one of nod's own tools (attach_tool.h) finds the call of a pending result by its
 * handle, or by a question that it answers first, and waits for it in the same way, together with
 * others that name it at this node. Such a request is asked nothing itself, and is given no page. A
 * result is marked as handed out before it is given (attach2026_collect), and is given again by its
 * handle for HANDLE_AGAIN_MS, because a reply may have been lost.
 *
 * Holds always: a call is found by its own principal only. Between a look at the store and its
 * reply the caller may be over, or the server gone: `busy` keeps the caller until then.
 */
#include "mcp/era2026/attach.h"

#include "base/crash.h"
#include "core/catalog.h"
#include "mcp/later/attach_tool.h"
#include "mcp/shared/caller_record.h"
#include "mcp/shared/live.h"
#include "mcp/later/model.h"
#include "mcp/later/pending.h"
#include "mcp/tasks/tasks.h"

enum {
    ATTACH_AGAIN_MS = 1000, /* between two looks at a call that is not ready to be left */
};

struct attach2026 {
    struct client maker; /* of the call */
    struct handle handle;
    bool known;     /* `handle` */
    bool collected; /* it was handed out before */
    bool hands_out; /* the handle says so: the result is fetched, and given out */
    bool answered;  /* its answer to a question of the call counts */
};

/* --- the soft deadline --- */

static void soft_over(void *data);

static void hold_for(struct caller2026 *caller, int64_t ms)
{
    timer_set(caller->server->opts.loop, &caller->timer, ms > 0 ? ms : 0, soft_over, caller);
}

void attach2026_hold(struct caller2026 *caller)
{
    struct mcp_server *server = caller->server;
    int64_t soft = pending_hold_ms(server, caller->caller.call,
                                   pending_soft_ms(server, caller->target, caller->soft_name));

    hold_for(caller,
             server_draining(server) ? 0 : caller->began + soft - loop_now(server->opts.loop));
}

void attach2026_offered(struct caller *base, struct call *call)
{
    struct caller2026 *caller = (struct caller2026 *)(void *)base;

    if (!caller->server || caller->over || !heap_has(&caller->timer.node) ||
        caller->timer.fn != soft_over)
        return;
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask))
        if (ask_is_up_on(ask, caller->server->mrtr)) {
            hold_for(caller, 0);
            return;
        }
    if (model_is_asked(caller->server, call))
        attach2026_hold(caller);
}

void attach2026_now(struct caller *base)
{
    struct caller2026 *caller = (struct caller2026 *)(void *)base;

    if (!caller->over && caller->caller.call)
        hold_for(caller, 0);
}

void attach2026_pend(struct caller2026 *caller, struct call *call)
{
    struct buf body;

    buf_init(&body, PENDING_BODY_MAX);
    pending_write(caller->server, call, &body);
    call_handed(call);
    caller_end(caller, &(struct outcome){ .status = NOD_OK, .body = buf_str(&body) });
    buf_finish(&body);
    CRASH_POINT(pended_after);
    call_caller_left(call);
}

static void put_out(void *data, nod_status status)
{
    struct caller2026 *caller = data;
    struct call *call = caller->caller.call;

    if (caller->server && !caller->over && call) {
        if (status == NOD_OK && call_waiting(call) && call_waits_only_elsewhere(call))
            attach2026_pend(caller, call);
        else
            hold_for(caller, ATTACH_AGAIN_MS);
    }
    caller->busy--;
    caller_settle(caller);
}

static void soft_over(void *data)
{
    struct caller2026 *caller = data;
    struct mcp_server *server = caller->server;
    struct call *call = caller->caller.call;
    struct handle handle = { .named = true };

    if (caller->over || !call)
        return;
    bool pages = caller->pages && server->pages && front_is_linked(server->pages);
    if (!call_waiting(call)) {
        hold_for(caller, ATTACH_AGAIN_MS); /* it runs, or ends by itself */
    } else if (round_ends_with_process(caller, call)) {
        return;
    } else if (round_brings_late(caller, call)) {
        hold_for(caller, ATTACH_AGAIN_MS); /* as soon as it is taken, it runs */
    } else if (caller->attach) {           /* the record is there */
        attach2026_pend(caller, call);
        caller_settle(caller);
    } else if (caller->part != PART_TOOL_RESULT || pages || server->opts.portable_states ||
               !call_waits_only_elsewhere(call)) {
        round_leave(caller, call);
    } else if (caller_holds_steps(caller) && !model_is_asked(server, call) &&
               tasks_take(caller, call)) {
        return;
    } else {
        handle_key(caller->principal, call_target(call)->name, call_args(call), call_id(call),
                   handle.key);
        caller->busy++;
        handle_put(server, &handle, caller->principal, 0, pending_keep_ms(server, call), put_out,
                   caller);
    }
}

/* --- a call that was made before --- */

static void say_failure(struct caller2026 *caller, const char *code, const char *why)
{
    caller_end(caller, &(struct outcome){
                           .status = NOD_E_NOT_FOUND, .code = code, .message = str_of(why) });
}

static void store_failed(struct caller2026 *caller)
{
    caller_fail(caller, 503, RPC_INTERNAL_ERROR,
                STR(STORE_AWAY ". Nothing was handed out, and the call goes on; try again "
                               "later."),
                STR_NONE);
}

/* Goes to the door. What it has found there, attach_found and attach_back say. */
static void attach_comes(struct caller2026 *caller)
{
    caller->busy++;
    engine_return(caller->server->opts.engine, &caller->comer);
}

static void look_again(void *data)
{
    struct caller2026 *caller = data;

    if (!caller->over)
        attach_comes(caller);
}

/* Another node may have the tool: the call is looked at until it has ended, or until the soft
 * deadline. */
static void wait_elsewhere(struct caller2026 *caller, struct str call_id)
{
    struct mcp_server *server = caller->server;
    int64_t left = caller->began + pending_soft_ms(server, NULL, caller->soft_name) -
                   loop_now(server->opts.loop);
    struct buf body;

    if (left > 0 && !server_draining(server)) {
        timer_set(server->opts.loop, &caller->timer,
                  left < ATTACH_AGAIN_MS ? left : ATTACH_AGAIN_MS, look_again, caller);
        return;
    }
    buf_init(&body, PENDING_BODY_MAX);
    pending_write_elsewhere(call_id, &body);
    caller_end(caller, &(struct outcome){ .status = NOD_OK, .body = buf_str(&body) });
    buf_finish(&body);
}

static void found(void *data, nod_status status, const struct handle *handles, size_t count)
{
    struct caller2026 *caller = data;

    if (caller->server && !caller->over) {
        caller->attach->known = count > 0;
        if (count)
            caller->attach->handle = handles[0];
        caller->attach->collected = count && handles[0].collected_ms;
        if (status != NOD_OK) {
            store_failed(caller);
        } else if (!count && caller->attach->answered) { /* whoever made the call waits for it */
            struct outcome taken = attach_taken();
            caller_end(caller, &taken);
        } else if (!count) {
            say_failure(caller, "CALL_UNKNOWN", attach_not_known);
        } else if (handles[0].collected_ms &&
                   server_now(caller->server) - handles[0].collected_ms >= HANDLE_AGAIN_MS) {
            say_failure(caller, "RESULT_HANDED_OUT", attach_was_collected);
        } else {
            attach_comes(caller);
        }
    }
    caller->busy--;
    caller_settle(caller);
}

static struct caller2026 *attaching(const struct comer *comer)
{
    return LIST_OF(comer, struct caller2026, comer);
}

static bool attach_there(const struct comer *comer)
{
    return attaching(comer)->server && !attaching(comer)->over;
}

static enum found attach_found(struct comer *comer, const struct call_record *record)
{
    struct caller2026 *caller = attaching(comer);
    struct caller2026 *other = caller2026_of(engine_find(caller->server->opts.engine, record->id));
    char key[HANDLE_KEY_LEN + 1];

    if (caller->attach->known && (!other || other->over || !other->attach))
        return FOUND_IT;
    if (caller->attach->known) { /* those who wait for the call already get the same end */
        caller_join(caller, other);
    } else { /* its handle is found by what the call was made with */
        handle_key(record->principal, record->target, record->args, record->id, key);
        caller->busy++;
        handles_find(caller->server, str_of(key), found, caller);
    }
    caller->busy--;
    caller_settle(caller);
    return FOUND_OTHER;
}

static bool attach_waits(struct comer *comer, const struct call_record *record,
                         struct adopt_spec *spec)
{
    struct caller2026 *caller = attaching(comer);

    caller->attach->maker = caller_record_maker(record);
    spec->keep_asked_ms = MCP_STATE_GRACE_MS;
    spec->handed = true;
    spec->made_by = &caller->attach->maker;
    spec->caller = &caller->caller;
    return true;
}

static void attach_back(struct comer *comer, const struct back *back)
{
    struct caller2026 *caller = attaching(comer);

    if (attach_there(comer)) {
        switch (back->as) {
        case BACK_LEFT:
        case BACK_WAITS:
            break;
        case BACK_ENDED:
            if (!caller->attach->hands_out) {
                attach2026_collect(caller);
            } else if (back->outcome) {
                caller_hands(caller, back->record->id);
                caller_end(caller, back->outcome);
            } else {
                say_failure(caller, "CALL_UNKNOWN", attach_not_known);
            }
            break;
        case BACK_BUSY:
            say_failure(caller, "CALL_BUSY", attach_is_elsewhere);
            break;
        case BACK_TOO_SOON:
            wait_elsewhere(caller, back->record->id);
            break;
        case BACK_FULL:
            say_failure(caller, "LIMIT_REACHED", attach_no_room);
            break;
        case BACK_UNREAD:
        case BACK_UNKNOWN:
        case BACK_FORGOTTEN:
            if (back->as == BACK_UNREAD && back->status == NOD_E_STORE)
                store_failed(caller);
            else
                say_failure(caller, "CALL_UNKNOWN", attach_not_known);
            break;
        }
    }
    caller->busy--;
    caller_settle(caller);
}

static const struct comer_ops attach_ops = {
    .there = attach_there, .found = attach_found, .waits = attach_waits, .done = attach_back
};

static void attach_named(struct caller2026 *caller, struct str call_id)
{
    caller->comer = (struct comer){ .ops = &attach_ops, .principal = caller->principal };
    if (call_id.len == ID_LEN)
        caller->comer.call = id_of(call_id);
    attach_comes(caller);
}

static void was_answered(void *data, bool server, struct str call_id, const struct outcome *refusal)
{
    struct caller2026 *caller = data;

    if (server && caller->server && !caller->over) {
        caller->attach->answered = !refusal;
        if (refusal)
            caller_end(caller, refusal);
        else
            attach_named(caller, call_id);
    }
    caller->busy--;
    caller_settle(caller);
}

void attach2026_start(struct caller2026 *caller, const struct own_tool *tool,
                      const struct json *args)
{
    struct outcome refusal;
    struct attach_wish wish;

    caller->attach = ARENA_NEW(&caller->arena, struct attach2026);
    caller->client.asked &= CLIENT_CAN_VIEW; /* it is asked nothing itself, and gets no page */
    caller->pages = false;
    caller->tasks = false;
    target_release(caller->target);
    caller->target = attach_target(); /* the tool goes with the server, a request may come after */
    target_hold(caller->target);
    if (!attach_read(tool, args, &caller->arena, &wish, &refusal)) {
        caller_end(caller, &refusal);
    } else if (wish.ask_id.len) {
        caller->busy++;
        attach_answer(caller->server, &wish,
                      (struct visitor){ caller->principal, caller->caller.roles },
                      caller->principal, was_answered, caller);
    } else {
        attach_named(caller, wish.call_id);
    }
}

/* --- the end --- */

static void collected(void *data, nod_status status)
{
    struct caller2026 *caller = data;

    CRASH_POINT(collect_after);
    if (caller->server && !caller->over) {
        if (status == NOD_OK) {
            caller->attach->hands_out = true;
            attach_comes(caller);
        } else {
            store_failed(caller); /* nothing was handed out, and it can be had later */
        }
    }
    caller->busy--;
    caller_settle(caller);
}

void attach2026_collect(struct caller2026 *caller)
{
    caller->busy++;
    if (caller->attach->collected)
        collected(caller, NOD_OK);
    else
        handle_hand_out(caller->server, &caller->attach->handle, NULL, caller->principal, collected,
                        caller);
}
