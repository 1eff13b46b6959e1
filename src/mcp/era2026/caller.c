/*
 * mcp/era2026/caller: one request, its waiters, and how it is answered (era 2026).
 *
 * While the call runs, notifications go to every request that waits for it, each with its own
 * progress token and log level. A client that goes away is one waiter less. When the last one is
 * gone, the caller leaves the call: it is cancelled if the store does not know it, and otherwise
 * stays for a retry. On stdio, where cancelling is a message, the call is cancelled.
 *
 * Holds always: a waiter is answered exactly once. A caller is freed only when it is over and no
 * completion (of the store, of a claim, of the loop) is on its way to it.
 */
#include "mcp/era2026/caller.h"

#include <math.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "core/json_digest.h"
#include "mcp/era2026/attach.h"
#include "mcp/later/attach_tool.h"
#include "mcp/shared/caller_record.h"
#include "mcp/shared/delivery.h"
#include "mcp/shared/live.h"
#include "mcp/wire/notice.h"
#include "mcp/later/pending.h"
#include "mcp/wire/result.h"
#include "mcp/shared/shares.h"
#include "mcp/tasks/tasks.h"

enum {
    CALLER_ARENA_MAX = 32 << 20,
    GIVEN_TEXT_MAX = 16 << 10, /* bytes of inputResponses that are kept as text */
};

static const struct caller_ops caller2026_ops;

struct caller2026 *caller2026_of(const struct call *call)
{
    struct caller *caller = call ? call_caller(call) : NULL;

    return caller && caller->ops == &caller2026_ops ? (struct caller2026 *)(void *)caller : NULL;
}

bool caller_holds_steps(const struct caller2026 *caller)
{
    return caller->tasks && caller->target->detach != DETACH_NEVER &&
           caller->target->detach_after_asks;
}

/* --- waiters --- */

struct str waiter_id(const struct waiter *waiter)
{
    return str_n(waiter->text, waiter->id_len);
}

static bool waiter_is_own(const struct waiter *waiter)
{
    return waiter == &waiter->caller->own;
}

static size_t waiter_text_len(const struct waiter *waiter)
{
    return (size_t)waiter->id_len + waiter->token_len;
}

void waiter_free(struct waiter *waiter)
{
    list_remove(&waiter->link);
    pipe_remove(&waiter->in_flight);
    if (!waiter_is_own(waiter))
        mem_free_sized(waiter, sizeof(*waiter) + waiter_text_len(waiter));
}

void waiter_move(struct waiter *waiter, struct caller2026 *to)
{
    list_remove(&waiter->link);
    if (waiter_is_own(waiter)) { /* freed with its caller */
        size_t len = waiter_text_len(waiter);
        struct waiter *moved = mem_alloc(sizeof(*moved) + len);
        *moved = *waiter;
        moved->text = memcpy(moved + 1, waiter->text, len);
        response_moved(&moved->response);
        pipe_moved(&moved->in_flight, moved->text);
        waiter = moved;
    }
    waiter->caller = to;
    list_append(&to->waiters, &waiter->link);
}

void caller_join(struct caller2026 *caller, struct caller2026 *other)
{
    LIST_EACH (at, &caller->waiters)
        waiter_move(LIST_OF(at, struct waiter, link), other);
    caller_over(caller);
}

/* Takes out waiters whose clients are gone, when nobody walks over the list. */
static void waiters_swept(void *data)
{
    struct caller2026 *caller = data;
    bool any = false;

    LIST_EACH (at, &caller->waiters) {
        struct waiter *waiter = LIST_OF(at, struct waiter, link);
        if (waiter->response.over)
            waiter_free(waiter);
        else
            any = true;
    }
    if (any || caller->over)
        return;
    caller_over(caller);
    if (caller->caller.call)
        call_caller_left(caller->caller.call);
}

static void waiter_gone(struct response *response)
{
    struct waiter *waiter = LIST_OF(response, struct waiter, response);

    caller_defer(waiter->caller, waiters_swept);
}

static void waiter_cancelled(struct in_flight *in_flight)
{
    struct waiter *waiter = LIST_OF(in_flight, struct waiter, in_flight);
    struct caller2026 *caller = waiter->caller;
    struct call *call = caller->caller.call;

    waiter->response.over = true;
    waiter_free(waiter);
    if (!list_empty(&caller->waiters) || caller->over)
        return;
    caller_over(caller);
    if (call && caller->attach)
        call_caller_left(call); /* the call is not this request's: it can be found again */
    else if (call)
        call_cancel(call, STR("the client has cancelled the request"));
}

/* --- beginning and end --- */

/* The size with which it was allocated. */
static size_t caller_size(const struct caller2026 *caller)
{
    return sizeof(*caller) + caller->principal.len + caller->uri.len +
           waiter_text_len(&caller->own);
}

void caller_settle(struct caller2026 *caller)
{
    if (!caller->over || caller->busy || caller->caller.call)
        return;
    list_remove(&caller->link);
    target_release(caller->target);
    arena_finish(&caller->arena);
    mem_free_sized(caller, caller_size(caller));
}

static void run_deferred(void *data)
{
    struct deferred *deferred = data;
    struct caller2026 *caller = deferred->caller;
    void (*fn)(void *) = deferred->fn;

    if (deferred == &caller->deferred)
        deferred->caller = NULL;
    else
        mem_free(deferred);
    if (fn && caller->server)
        fn(caller);
    caller->busy--;
    caller_settle(caller);
}

void caller_defer(struct caller2026 *caller, void (*fn)(void *data))
{
    struct deferred *deferred =
        caller->deferred.caller ? MEM_NEW(struct deferred) : &caller->deferred;

    deferred->caller = caller;
    deferred->fn = fn;
    caller->busy++;
    loop_defer(caller->server->opts.loop, run_deferred, deferred);
}

void caller_over(struct caller2026 *caller)
{
    if (caller->over)
        return;
    caller->over = true;
    if (caller->server) {
        timer_stop(caller->server->opts.loop, &caller->timer);
        live_call_ended(caller->server);
        shares_drop(caller->server, caller->principal, MCP_SHARE_CALLS, 1);
        server_check_drained(caller->server);
    }
}

static struct str text_put(char **at, struct str text)
{
    struct str put = str_n(*at, text.len);

    if (text.len)
        memcpy(*at, text.at, text.len);
    *at += text.len;
    return put;
}

/* NULL: an error was replied (see pipe_add). */
static struct caller2026 *caller_create(struct request *request, const struct start_spec *spec)
{
    struct mcp_server *server = request->server;
    const struct meta *meta = request->meta;
    struct caller2026 *caller = mem_alloc(sizeof(*caller) + request->principal.len + spec->uri.len +
                                          request->id.len + meta->progress_token.len);
    struct waiter *own = &caller->own;
    char *text = caller->text;

    memset(caller, 0, offsetof(struct caller2026, args_digest));
    caller->principal = text_put(&text, request->principal);
    caller->uri = text_put(&text, spec->uri);
    own->text = text;
    own->id_len = (uint16_t)text_put(&text, request->id).len;
    own->token_len = (uint16_t)text_put(&text, meta->progress_token).len;
    if (!pipe_add(request, &own->in_flight, waiter_id(own), waiter_cancelled)) {
        mem_free_sized(caller, caller_size(caller));
        return NULL;
    }
    own->caller = caller;
    own->log_level = meta->log_level;
    list_init(&caller->waiters);
    list_append(&caller->waiters, &own->link);
    caller->caller.ops = &caller2026_ops;
    caller->caller.client = &caller->client;
    caller->caller.roles = request->roles;
    caller->server = server;
    list_append(&server->rounds->callers, &caller->link);
    arena_init(&caller->arena, CALLER_ARENA_MAX);
    caller->target = spec->target;
    target_hold(spec->target);
    caller->part = spec->part;
    caller->client.scope = caller->principal;
    caller->client.revision = REVISION_2026_07_28;
    caller->client.told = true;
    if (engine_asks_client(server->opts.engine, spec->target))
        caller->client.declares = caller->client.asked = meta->can;
    caller->pages = meta->can & CLIENT_CAN_URL;
    caller->tasks = meta->tasks;
    caller->began = loop_now(server->opts.loop);
    if (server->opts.soft_rule_count)
        caller->soft_name =
            arena_str(&caller->arena,
                      json_get_str(json_get(request->has.meta, STR(META_CLIENT)), STR("name")));
    live_call_began(server);
    shares_add(server, caller->principal, MCP_SHARE_CALLS, 1);
    return caller;
}

static const struct str methods[] = {
    [PART_TOOL_RESULT] = STR_INIT("tools/call"),
    [PART_PROMPT_RESULT] = STR_INIT("prompts/get"),
    [PART_RESOURCE_RESULT] = STR_INIT("resources/read"),
};

struct state_bound caller_bound(const struct caller2026 *caller)
{
    return (struct state_bound){ .principal = caller->principal,
                                 .method = methods[caller->part],
                                 .target = caller->target->name,
                                 .args = digest_str(&caller->args_digest),
                                 .uri = caller->uri };
}

/* --- the two members a request may have --- */

static bool read_retry(struct request *request, struct str *state, const struct json **responses)
{
    const struct json *text = request->has.state;

    *responses = request->has.responses;
    *state = json_str(text);
    if (text && !json_is(text, JSON_STRING)) {
        reply_error(request, RPC_INVALID_PARAMS, STR("params.requestState must be a string."));
        request->status = 400;
        return false;
    }
    if (*responses && !json_is(*responses, JSON_OBJECT)) {
        reply_error(request, RPC_INVALID_PARAMS, STR("params.inputResponses must be an object."));
        request->status = 400;
        return false;
    }
    JSON_EACH (response, *responses) {
        if (!json_is(response, JSON_OBJECT)) {
            reply_errorf(request, RPC_INVALID_PARAMS,
                         "params.inputResponses: every response must be an object, but one is %s.",
                         json_type_name(response));
            request->status = 400;
            return false;
        }
    }
    return true;
}

bool caller_keep_args(struct caller2026 *caller, struct str text, const struct json *args)
{
    static _Thread_local struct digest of_nothing; /* "{}", with which many tools are called */
    static _Thread_local bool known;

    if (str_eq(text, STR("{}"))) {
        if (!known)
            digest_of(text, &of_nothing);
        known = true;
        caller->args = STR("{}");
        caller->args_digest = of_nothing;
        return true;
    }
    caller->args = arena_str(&caller->arena, text);
    if (!args)
        args = json_parse(&caller->arena, caller->args, NULL, NULL);
    return args && digest_of_json(args, &caller->args_digest) == NOD_OK;
}

static bool keep_args(struct caller2026 *caller, const struct json *args)
{
    struct buf text;

    if (!json_first(args))
        return caller_keep_args(caller, STR("{}"), NULL);
    buf_init(&text, MCP_BODY_MAX);
    bool fine = json_write(&text, args) && caller_keep_args(caller, buf_str(&text), args);
    buf_finish(&text);
    return fine;
}

/*
 * The tree of the request is freed with it. Of most answers the text is kept, and parsed when it is
 * needed. Large ones become a tree of our own at once, so that their memory counts from the
 * beginning.
 */
static void keep_answers(struct caller2026 *caller, const struct json *responses)
{
    if (!json_first(responses))
        return;
    if (responses->raw.len && responses->raw.len <= GIVEN_TEXT_MAX)
        caller->given_text = arena_str(&caller->arena, responses->raw);
    else
        caller->given = json_copy(&caller->arena, responses);
}

const struct json *caller_given(struct caller2026 *caller)
{
    if (!caller->given && caller->given_text.len)
        caller->given = json_parse(&caller->arena, caller->given_text, NULL, NULL);
    return caller->given;
}

bool caller_same(struct caller2026 *a, struct caller2026 *b)
{
    /* A client that can be asked less must not be told what another one is asked. */
    return a->resumed && b->resumed && a->client.asked == b->client.asked && a->pages == b->pages &&
           a->tasks == b->tasks && a->caller.roles == b->caller.roles &&
           str_eq(a->state_text, b->state_text) && json_equal(caller_given(a), caller_given(b));
}

struct str caller_store(const struct mcp_server *server)
{
    return server->opts.portable_states ? STR_NONE : engine_store(server->opts.engine)->id;
}

size_t caller_state_max(const struct mcp_server *server)
{
    return server->opts.portable_states ? STATE_PORTABLE_MAX : STATE_TEXT_MAX;
}

bool mcp_state_carries(const struct engine *engine, const struct target *target)
{
    return engine_journal_limits(engine, target).bytes <= MCP_STATE_JOURNAL_MAX;
}

/* Before anybody is asked: what the tool does after the answer might happen on two nodes, or what
 * the answers lead to might not fit into the next state. True: the request is refused. */
static bool refuse_not_portable(struct caller2026 *caller)
{
    const struct target *target = caller->target;
    const struct engine *engine = caller->server->opts.engine;
    struct outcome refusal = { .status = NOD_E_REFUSED, .code = "TOOL_NOT_PORTABLE" };

    if (!target->portable)
        refusal.message = arena_fmt(
            &caller->arena,
            "The tool " STR_FMT " is not served here: this server gives out portable states, which "
            "two nodes could go on with. Its author can say .portable if every step of it is "
            ".idempotent; or let the nodes share a store, without portable states.",
            STR_ARG(target->name));
    else if (!mcp_state_carries(engine, target))
        refusal.message = arena_fmt(
            &caller->arena,
            "The tool " STR_FMT
            " is not served here: its calls may learn %zu bytes, and the portable "
            "states that this server gives out carry %d. Its author can set .journal_bytes to "
            "that.",
            STR_ARG(target->name), engine_journal_limits(engine, target).bytes,
            MCP_STATE_JOURNAL_MAX);
    else
        return false;
    caller_end(caller, &refusal);
    return true;
}

/* A call that is answered elsewhere is run on without the client, by any node; and so is one that
 * stays, by its home, while its client comes back to another node. */
static struct str caller_record(struct caller2026 *caller)
{
    if (!target_stays(caller->target) &&
        !pending_may_come(caller->server, caller->target, caller->client.declares,
                          caller->caller.roles))
        return STR_NONE;
    return caller_record_write(&caller->arena,
                               &(struct caller_record){ .can = caller->client.declares,
                                                        .roles = (uint8_t)caller->caller.roles });
}

void caller2026_start(struct request *request, const struct start_spec *spec)
{
    struct mcp_server *server = request->server;
    const struct json *responses;
    struct str state;

    if (!read_retry(request, &state, &responses) ||
        shares_refuse(request, request->principal, MCP_SHARE_CALLS, 1))
        return;
    struct caller2026 *caller = caller_create(request, spec);
    if (!caller)
        return;
    response_take(&caller->own.response, request, waiter_gone);

    caller->busy++; /* during this function */
    const struct own_tool *tool = attach_tool_of(spec->target);
    if (!tool) { /* nod's own tools ask nothing: a request of them brings no answer */
        keep_answers(caller, responses);
        caller->resumed = request->has.state;
    }
    if (tool && request->has.state) {
        caller_refuse(caller); /* they give out no states either */
    } else if (tool) {
        attach2026_start(caller, tool, spec->args);
    } else if (caller->resumed) {
        caller->state_text = arena_str(&caller->arena, state);
        if (state.len > caller_state_max(server) || !keep_args(caller, spec->args)) {
            caller_refuse(caller);
        } else {
            resume_begin(caller);
        }
    } else if (!server->opts.portable_states || !refuse_not_portable(caller)) {
        caller->client.name = client_shown(request->meta->client, &caller->arena);
        engine_call(server->opts.engine,
                    &(struct call_spec){ .target = spec->target,
                                         .args = spec->args,
                                         .uri = spec->uri,
                                         .principal = caller->principal,
                                         .scope = caller->principal,
                                         .caller_record = caller_record(caller),
                                         .client = caller->client.name,
                                         .meta = spec->meta,
                                         .keep_asked_ms = MCP_STATE_GRACE_MS,
                                         .portable = server->opts.portable_states,
                                         .hold_steps = caller_holds_steps(caller),
                                         .caller = &caller->caller });
    }
    caller->busy--;
    /* The request is held now, and its memory is not needed. */
    const struct response *response = &caller->own.response;
    if (!caller->over && request->exchange && !response->over && !response->events)
        http_release(request->exchange);
    caller_settle(caller);
}

/* --- meanwhile --- */

/* False: this waiter is not told, or there is no room. */
static bool write_notice(struct waiter *waiter, const struct notice *notice, struct buf *out)
{
    if (notice->kind == NOTICE_LOG)
        return waiter->log_level != META_NO_LOG && notice->level >= waiter->log_level &&
               notice_write_log(out, notice);
    /* The value MUST rise. If a handler reports one that does not, it is not sent. */
    if (notice->kind != NOTICE_PROGRESS || !waiter->token_len || !isfinite(notice->progress) ||
        (waiter->progressed && notice->progress <= waiter->progress))
        return false;
    waiter->progressed = true;
    waiter->progress = notice->progress;
    return notice_write_progress(out, str_n(waiter->text + waiter->id_len, waiter->token_len),
                                 notice->progress, notice->total, notice->text);
}

/* In this era notifications of other kinds belong to listeners, not to requests. */
static void caller_notify(struct caller *base, struct call *call, const struct notice *notice)
{
    struct caller2026 *caller = (struct caller2026 *)(void *)base;

    (void)call;
    if (!caller->server)
        return;
    struct buf *out = &caller->server->out;
    LIST_EACH (at, &caller->waiters) {
        struct waiter *waiter = LIST_OF(at, struct waiter, link);
        if (write_notice(waiter, notice, out))
            response_notify(&waiter->response, buf_str(out));
        buf_clear(out);
    }
}

/* --- the end --- */

void caller_fail(struct caller2026 *caller, int status, int64_t code, struct str message,
                 struct str data)
{
    if (!caller->server)
        return;
    struct buf *out = &caller->server->out;

    LIST_EACH (at, &caller->waiters) {
        struct waiter *waiter = LIST_OF(at, struct waiter, link);
        buf_clear(out);
        rpc_write_error(out, waiter_id(waiter), code, message, data);
        response_end(&waiter->response, status, buf_str(out));
        buf_clear(out);
        waiter_free(waiter);
    }
    caller_over(caller);
}

void caller_end(struct caller2026 *caller, const struct outcome *outcome)
{
    struct mcp_server *server = caller->server;
    struct buf *out = &server->out;

    LIST_EACH (at, &caller->waiters) {
        struct waiter *waiter = LIST_OF(at, struct waiter, link);
        int status =
            result_respond(out, &server->opts.self, waiter_id(waiter), caller->part, outcome);
        response_end(&waiter->response, status, buf_str(out));
        buf_clear(out);
        waiter_free(waiter);
    }
    caller_over(caller);
}

void caller_hands(struct caller2026 *caller, struct str call_id)
{
    LIST_EACH (at, &caller->waiters) {
        const struct response *response = &LIST_OF(at, struct waiter, link)->response;
        if (!response->over)
            delivery_begin(caller->server, response->exchange, call_id);
    }
}

void caller_refuse(struct caller2026 *caller)
{
    caller_fail(caller, 400, RPC_INVALID_PARAMS, STR(CALLER_STATE_REFUSED), STR_NONE);
}

static void caller_finished(struct caller *base, struct call *call, const struct outcome *outcome)
{
    struct caller2026 *caller = (struct caller2026 *)(void *)base;

    if (caller->server && !caller->over && outcome->status == NOD_OK &&
        resume_contested(caller, call)) {
        resume_later(caller);
        return;
    }
    if (caller->server && !caller->over && caller->attach && call_has_ended(call)) {
        attach2026_collect(caller);
        return;
    }
    if (caller->resumed && outcome->status == NOD_E_STALE) {
        caller_refuse(caller); /* its call is known to have ended, but the result is not kept */
    } else if (caller->server) {
        if (!caller->over && call_is_stored(call))
            caller_hands(caller, call_id(call));
        caller_end(caller, outcome);
    }
    caller_settle(caller);
}

static bool waits_on_pipe(const struct caller2026 *caller)
{
    struct list *first = list_first(&caller->waiters);

    return first && LIST_OF(first, struct waiter, link)->response.pipe;
}

/* Over HTTP it is known later: mcp/shared/delivery. */
static bool caller_is_awaited(const struct caller *base)
{
    const struct caller2026 *caller = (const struct caller2026 *)(const void *)base;

    return caller->server && !caller->over && !caller->attach && waits_on_pipe(caller);
}

static struct str caller_made_with(const struct caller *base)
{
    const struct caller2026 *caller = (const struct caller2026 *)(const void *)base;
    struct list *first = list_first(&caller->waiters);

    return first && !caller->attach ? waiter_id(LIST_OF(first, struct waiter, link)) : STR_NONE;
}

static void caller_unloaded(struct caller *base)
{
    struct caller2026 *caller = (struct caller2026 *)(void *)base;

    if (!caller->over)
        caller_fail(caller, 503, RPC_INTERNAL_ERROR,
                    STR("This node goes on with the call no longer; send the request again later."),
                    STR_NONE);
    caller_settle(caller);
}

/* Nothing more is asked before the work begins: the call goes on as a task, if there is room for
 * one. */
static void caller_stepping(struct caller *base, struct call *call)
{
    struct caller2026 *caller = (struct caller2026 *)(void *)base;

    if (!caller->server || caller->over || !tasks_take(caller, call))
        call_step_on(call);
}

/* A request to one of nod's own tools waits for the call of another one. */
static void caller_goes_over(struct caller *base, struct call *call)
{
    struct caller2026 *caller = (struct caller2026 *)(void *)base;

    if (caller->attach)
        return;
    target_release(caller->target);
    caller->target = (struct target *)(uintptr_t)call_target(call);
    target_hold(caller->target);
}

static const struct caller_ops caller2026_ops = {
    .goes_over = caller_goes_over,
    .stepping = caller_stepping,
    .brings = round_brings,
    .answered = round_answered,
    .contradicted = round_contradicted,
    .asked = round_asked,
    .offered = attach2026_offered,
    .unseen = attach2026_now,
    .request = caller_made_with,
    .notify = caller_notify,
    .finished = caller_finished,
    .there = caller_is_awaited,
    .carries = true,
    .unloaded = caller_unloaded,
};

void callers_drain(struct mcp_server *server, bool pipe)
{
    LIST_EACH (at, &server->rounds->callers) {
        struct caller2026 *caller = LIST_OF(at, struct caller2026, link);
        if (caller->over || (pipe && !waits_on_pipe(caller)))
            continue;
        if (heap_has(&caller->timer.node)) /* it only waits */
            timer_set(server->opts.loop, &caller->timer, 0, caller->timer.fn, caller->timer.data);
        else if (caller->caller.call)
            round_drain(caller);
        caller->until = 0;
    }
}

void callers_overdue(struct mcp_server *server)
{
    LIST_EACH (at, &server->rounds->callers) {
        struct caller2026 *caller = LIST_OF(at, struct caller2026, link);
        struct call *call = caller->caller.call;

        if (caller->over || (call && !call_is_opening(call)))
            continue;
        caller->busy++;
        caller_fail(caller, 503, RPC_INTERNAL_ERROR,
                    STR("This server stops, and its store has not answered in time. Nothing was "
                        "done for this request; send it again later."),
                    STR_NONE);
        if (call)
            call_caller_left(call);
        caller->busy--;
        caller_settle(caller);
    }
}

void callers_drop(struct mcp_server *server)
{
    LIST_EACH (at, &server->rounds->callers) {
        struct caller2026 *caller = LIST_OF(at, struct caller2026, link);
        struct call *call = caller->caller.call;

        LIST_EACH (link, &caller->waiters) {
            struct waiter *waiter = LIST_OF(link, struct waiter, link);
            response_drop(&waiter->response);
            waiter_free(waiter);
        }
        caller->busy++;
        caller_over(caller);
        list_remove(&caller->link);
        caller->server = NULL;
        if (call)
            call_caller_left(call);
        caller->busy--;
        caller_settle(caller);
    }
}
