/*
 * mcp/resume2026: going on with a call by its requestState.
 *
 *     open the state ▶ is it of our store? ▶ is the call live here? ▶ what does the store say? ▶
 *     if it waits: is its target what it was? ▶ adopt it
 *
 *   live, with the same state and answers   this request waits for the same end
 *   live, otherwise                         looked at again when it is not, within MCP_HOLD_MS
 *   waiting, and its target has changed     it ends: no answer was taken
 *   waiting, or runnable                    adopted
 *   running elsewhere                       adopted: the core waits for its end, or its turn
 *   finished                                the stored result, if the answers are those it had
 *   cancelled, forgotten, or not known      refused: it has ended, and never runs again
 *
 * With portable states, which are the call itself and belong to no store:
 *
 *   not known                               imported from the state
 *   waiting, with a shorter journal         imported: it went on at another node
 *
 * Answers to questions that are already journalled must be the very same: a state that is presented
 * again with other answers is told so, and executes nothing. All other refusals are the same: they
 * do not say what is wrong with a state.
 */
#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "core/json_digest.h"
#include "mcp/caller_away.h"
#include "mcp/caller2026.h"
#include "mcp/ask2026.h"
#include "mcp/pipe2026.h"
#include "mcp/result.h"
#include "mcp/tasks.h"
#include "mcp/work.h"

enum { MCP_WAITERS_MAX = 64 }; /* requests that wait for the end of one call */

enum { ASKS_AT_FIRST = 4 };
_Static_assert((STATE_ASKS_MAX & (STATE_ASKS_MAX - 1)) == 0 &&
                   (ASKS_AT_FIRST & (ASKS_AT_FIRST - 1)) == 0,
               "doubling must meet the most");

static const char other_answers[] =
    "These questions were answered before, with other answers; nothing of this request counts.";
static const char other_store[] =
    "This requestState belongs to another server, which has another store: bring it there, or make "
    "the call again.";

static const char invalid_state[] = "Invalid or expired requestState";

static void look(struct caller2026 *caller);

/* --- waiting for a better moment --- */

static void look_again(void *data)
{
    struct caller2026 *caller = data;

    if (caller->over)
        return;
    if (loop_now(caller->server->opts.loop) < caller->until)
        look(caller);
    else
        round_respond(caller, STR_NONE, caller->state_text);
    caller_settle(caller);
}

static void look_later(struct caller2026 *caller)
{
    timer_set(caller->server->opts.loop, &caller->timer, MCP_HOLD_LOOK_MS, look_again, caller);
}

bool resume_unsure(const struct caller2026 *caller)
{
    return caller->resumed && caller->answers && !caller->won && !caller->checked;
}

void resume_anew(struct caller2026 *caller)
{
    caller->checked = true;
    look_later(caller);
}

/* --- what the store has --- */

/* How often was it asked? Our store knows. A portable state may have been at another node since. */
static int attempt_of(const struct caller2026 *caller, const struct ask_record *ask)
{
    if (!caller->server->opts.portable_states)
        return ask->attempt;
    for (size_t i = 0; i < caller->state.ask_count; i++) {
        const struct ask_record *carried = &caller->state.asks[i];
        if (str_eq(carried->id, ask->id) && carried->attempt > ask->attempt)
            return carried->attempt;
    }
    return ask->attempt;
}

/* Most calls have one or two asks: room for as many as there may be would be a megabyte. */
static bool make_room(struct caller2026 *caller)
{
    if (caller->ask_count < caller->ask_room)
        return true;
    if (caller->ask_room == STATE_ASKS_MAX)
        return false;
    size_t room = caller->ask_room ? caller->ask_room * 2 : ASKS_AT_FIRST;
    struct ask_record *asks = arena_alloc(&caller->arena, room * sizeof(*asks));
    if (!asks)
        return false;
    if (caller->ask_count)
        memcpy(asks, caller->asks, caller->ask_count * sizeof(*asks));
    caller->asks = asks;
    caller->ask_room = room;
    return true;
}

static void keep_ask(void *data, const struct store_row *row)
{
    struct caller2026 *caller = data;

    if (!row->ask || row->ask->state != ASK_PENDING || !make_room(caller))
        return;
    struct ask_record *ask = &caller->asks[caller->ask_count++];
    *ask = ask_record_copy(&caller->arena, row->ask);
    ask->principal = caller->principal;
    ask->scope = caller->principal;
    ask->target = caller->target->name;
}

/* Other answers came first. Whoever has the state was asked, so it may be told. */
static void refuse_answers(struct caller2026 *caller)
{
    caller_fail(caller, 400, RPC_INVALID_PARAMS, str_of(other_answers), STR_NONE);
}

/* Are the responses to journalled questions the journalled answers? *known counts them. */
static bool responses_agree(const struct json *responses, const struct call_record *record,
                            struct arena *arena, size_t *known)
{
    *known = 0;
    for (size_t i = 0; i < record->entry_count; i++) {
        const struct entry *entry = &record->entries[i];
        const struct json *response =
            entry->class == ENTRY_ASK ? json_get(responses, entry->key) : NULL;
        if (response && !ask2026_same(entry, response, arena))
            return false;
        *known += response != NULL;
    }
    return true;
}

static bool answers_agree(struct caller2026 *caller, const struct call_record *record)
{
    const struct json *responses = caller_answers(caller);
    size_t known, given = 0;

    if (!responses_agree(responses, record, &caller->arena, &known))
        return false;
    JSON_EACH (response, responses)
        given++;
    caller->checked |= known == given;
    return true;
}

/* --- a target that is another one --- */

/* What the person was asked about, or what the handler reads, has changed: the call ends, unless an
 * answer was taken already. */
static bool has_changed(const struct caller2026 *caller)
{
    return memcmp(caller->state.version, caller->target->version, DIGEST_BYTES) != 0;
}

static void end_changed(struct caller2026 *caller)
{
    struct outcome outcome = outcome_changed(&caller->arena, caller->target->name);

    caller_away_end_gone(caller->server, caller->state.call_id, &outcome);
    caller_end(caller, &outcome);
}

/* --- adopting --- */

static void put_again(struct caller2026 *caller, struct call *call)
{
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask))
        ask_put_again(ask, attempt_of(caller, ask_record(ask)));
}

static void adopt(struct caller2026 *caller, bool import)
{
    struct adopt_spec spec = { .record = &caller->record,
                               .asks = caller->asks,
                               .ask_count = caller->ask_count,
                               .import = import,
                               .portable = caller->server->opts.portable_states,
                               .target = caller->target,
                               .hold_steps = caller_holds_steps(caller),
                               .keep_asked_ms = MCP_STATE_GRACE_MS,
                               .caller = &caller->caller };

    if (caller->arena.exhausted)
        caller_fail(caller, 200, RPC_INTERNAL_ERROR, STR("The call is too large."), STR_NONE);
    else if (!engine_adopt(caller->server->opts.engine, &spec))
        look_later(caller); /* another request was faster */
    else if (caller->caller.call)
        put_again(caller, caller->caller.call);
}

static void import(struct caller2026 *caller)
{
    const struct state *state = &caller->state;

    if (has_changed(caller)) {
        end_changed(caller);
        return;
    }
    caller->record = (struct call_record){ .id = state->call_id,
                                           .principal = caller->principal,
                                           .scope = caller->principal,
                                           .kind = caller->target->kind,
                                           .target = caller->target->name,
                                           .args = caller->args,
                                           .uri = caller->uri,
                                           .notices = state->notices,
                                           .entries = state->entries,
                                           .entry_count = state->entry_count };
    caller->asks = arena_zalloc(&caller->arena, (state->ask_count + 1) * sizeof(*caller->asks));
    caller->ask_count = caller->asks ? state->ask_count : 0;
    for (size_t i = 0; i < caller->ask_count; i++) {
        struct ask_record *ask = &caller->asks[i];
        *ask = state->asks[i];
        ask->call_id = state->call_id;
        ask->principal = ask->scope = caller->principal;
        ask->target = caller->target->name;
    }
    if (answers_agree(caller, &caller->record))
        adopt(caller, true);
    else
        refuse_answers(caller);
}

static struct str why_not(nod_status status)
{
    return status == NOD_E_STORE
               ? STR("The store cannot be reached; try again later.")
               : STR("What the store has of this call cannot be read; make the call again.");
}

static void asks_scanned(void *data, nod_status status, const struct store_reply *reply)
{
    struct caller2026 *caller = data;

    (void)reply;
    if (caller->server && !caller->over) {
        if (status == NOD_OK)
            adopt(caller, false);
        else
            caller_fail(caller, 200, RPC_INTERNAL_ERROR, why_not(status), STR_NONE);
    }
    caller->busy--;
    caller_settle(caller);
}

static void asks_forget(struct caller2026 *caller)
{
    caller->asks = NULL;
    caller->ask_count = caller->ask_room = 0;
}

static void scan_asks(struct caller2026 *caller)
{
    struct store *store = engine_store(caller->server->opts.engine);

    asks_forget(caller);
    caller->busy++;
    store->ops->scan(store,
                     &(struct store_scan){ .index = STORE_ASKS_OF_CALL,
                                           .key = caller->record.id,
                                           .limit = STATE_ASKS_MAX },
                     keep_ask, asks_scanned, caller);
}

/* --- what has ended --- */

static void respond_stored(struct caller2026 *caller, struct str text)
{
    struct outcome outcome;
    struct arena arena;

    arena_init(&arena, MCP_TREE_MAX);
    if (outcome_read(&arena, text, &outcome) != NOD_OK || outcome.status == NOD_E_CANCELLED)
        caller_refuse(caller);
    else
        caller_end(caller, &outcome);
    arena_finish(&arena);
}

/* --- answers that are not the journalled ones --- */

static void contested_ask(void *data, const struct store_row *row)
{
    struct caller2026 *caller = data;
    const struct ask_record *ask = row->ask;
    const struct json *response = ask ? json_get(caller_answers(caller), ask->key) : NULL;

    if (!response || ask->state == ASK_PENDING)
        return;
    struct entry entry = { .state = ask->state, .content = ask->content, .by = ask->by };
    if (str_eq(ask->via, str_of(caller->server->mrtr->ops->name)) &&
        !ask2026_same(&entry, response, &caller->arena))
        caller->yields = false;
}

static void contested(void *data, nod_status status, const struct store_reply *reply)
{
    struct caller2026 *caller = data;

    (void)reply;
    if (caller->server && !caller->over) {
        if (status != NOD_OK) {
            caller_fail(caller, 200, RPC_INTERNAL_ERROR, why_not(status), STR_NONE);
        } else if (caller->yields) {
            caller->checked = true;
            look(caller);
        } else {
            refuse_answers(caller);
        }
    }
    caller->busy--;
    caller_settle(caller);
}

/* Who answered otherwise? If it was this client, it is told so. If it was somebody on another
 * surface, they came first: the client gets the result, or the next question. */
static void contest(struct caller2026 *caller, struct str call_id)
{
    struct store *store = engine_store(caller->server->opts.engine);

    if (!engine_asks_together(caller->server->opts.engine)) {
        refuse_answers(caller);
        return;
    }
    caller->yields = true;
    caller->busy++;
    store->ops->scan(store, &(struct store_scan){ .index = STORE_ASKS_OF_CALL, .key = call_id },
                     contested_ask, contested, caller);
}

/* --- looking --- */

static void not_a_task(struct caller2026 *caller, bool was)
{
    caller->no_task = !was;
    if (!was && caller->server && !caller->over)
        look(caller);
}

/* `asks_too`: its asks came with the record, if it waits. */
static void found(struct caller2026 *caller, const struct call_record *record, bool asks_too)
{
    if (!str_eq(record->principal, caller->principal) || record->kind != caller->target->kind ||
        !str_eq(record->target, caller->target->name)) {
        caller_refuse(caller);
        return;
    }
    if (record->state == CALL_STORED_CANCELLED) { /* no answer was taken */
        respond_stored(caller, record->result);
        return;
    }
    if (!caller->yields && !answers_agree(caller, record)) {
        contest(caller, record->id);
        return;
    }
    struct task *task = task_find(caller->server, record->id, caller->principal);
    if (task) { /* it has become a task already, by the very same answers */
        if (caller->tasks)
            tasks_respond(caller, task);
        else
            caller_refuse(caller);
        return;
    }
    if (!caller->no_task && caller_holds_steps(caller) &&
        server_survives(caller->server)) { /* another node may have made it a task */
        tasks_resumed(caller, record->id, not_a_task);
        return;
    }
    switch (record->state) {
    case CALL_STORED_WAITING:
        if (has_changed(caller)) {
            end_changed(caller);
            break;
        }
        if (caller->state.entry_count > record->entry_count) {
            import(caller); /* portable: it went on at a node that does not share our store */
            break;
        }
        caller->record = call_record_copy(&caller->arena, record);
        if (asks_too)
            adopt(caller, false);
        else
            scan_asks(caller);
        break;
    case CALL_STORED_RUNNABLE:
    case CALL_STORED_RUNNING:
        caller->record = call_record_copy(&caller->arena, record);
        caller->ask_count = 0;
        adopt(caller, false);
        break;
    case CALL_STORED_FINISHED:
        respond_stored(caller, record->result);
        break;
    case CALL_STORED_CANCELLED:
        break; /* handled above */
    }
}

static void call_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct caller2026 *caller = data;

    if (caller->server && !caller->over) {
        if (status == NOD_OK && reply->call->forgotten)
            caller_refuse(caller); /* it has ended, and its result is no longer known */
        else if (status == NOD_OK)
            found(caller, reply->call,
                  engine_store(caller->server->opts.engine)->ops->load_with_asks != NULL);
        else if (status == NOD_E_NOT_FOUND && caller->state.store.len == 0)
            import(caller);
        else if (status == NOD_E_NOT_FOUND)
            caller_refuse(caller); /* our store knew it: it has ended, and is forgotten */
        else
            caller_fail(caller, 200, RPC_INTERNAL_ERROR, why_not(status), STR_NONE);
    }
    caller->busy--;
    caller_settle(caller);
}

static size_t waiting_with(const struct caller2026 *caller)
{
    size_t count = 0;

    for (const struct list *at = caller->waiters.next; at != &caller->waiters; at = at->next)
        count++;
    return count;
}

/* This request waits for the end of another one. */
static void join(struct caller2026 *caller, struct caller2026 *other)
{
    LIST_EACH (at, &caller->waiters) {
        waiter_move(LIST_OF(at, struct waiter, link), other);
    }
    caller_over(caller);
}

static void look(struct caller2026 *caller)
{
    struct mcp_server *server = caller->server;
    struct call *live = engine_find(server->opts.engine, caller->state.call_id);
    struct caller2026 *other = caller2026_of(live);

    if (other && !other->over && caller_same(other, caller) &&
        waiting_with(other) < MCP_WAITERS_MAX) {
        join(caller, other);
    } else if (live && !task_find(server, caller->state.call_id, caller->principal)) {
        look_later(caller);
    } else {
        struct store *store = engine_store(server->opts.engine);
        asks_forget(caller);
        caller->busy++;
        if (store->ops->load_with_asks)
            store->ops->load_with_asks(store, caller->state.call_id, STATE_ASKS_MAX, keep_ask,
                                       call_loaded, caller);
        else
            store->ops->load_call(store, caller->state.call_id, call_loaded, caller);
    }
}

/* --- opening --- */

static nod_status open_state(struct caller2026 *caller)
{
    struct mcp_server *server = caller->server;
    struct state_bound bound = caller_bound(caller);

    return state_open(server->rounds->keyring, &bound, caller->state_text, caller_state_max(server),
                      engine_now(server->opts.engine), &caller->arena, &caller->state);
}

void resume_begin(struct caller2026 *caller)
{
    struct mcp_server *server = caller->server;

    caller->until = loop_now(server->opts.loop) + server->opts.hold_ms;
    if (open_state(caller) != NOD_OK)
        caller_refuse(caller);
    else if (!str_eq(caller->state.store, caller_store(server)))
        caller_fail(caller, 400, RPC_INVALID_PARAMS, str_of(other_store), STR_NONE);
    else
        look(caller);
}

/* --- a target that is not here --- */

/* A request that came with the state of such a call, while the store is asked about it. */
struct homeless {
    struct server_work work; /* first */
    struct response response;
    struct in_flight in_flight;
    enum target_kind kind;
    enum revision_part part;
    struct arena arena;         /* for what follows */
    struct str id;              /* of the request: JSON */
    struct str name, principal; /* of the target; of the client */
    const struct json *responses;
    struct state state;
};

static void homeless_gone(struct response *response)
{
    (void)response; /* it is over, which is checked when the store has answered */
}

static void homeless_cancelled(struct in_flight *in_flight)
{
    struct homeless *homeless = LIST_OF(in_flight, struct homeless, in_flight);

    homeless->response.over = true;
    pipe_remove(in_flight);
}

static void homeless_free(struct homeless *homeless)
{
    server_work_done(&homeless->work);
    arena_finish(&homeless->arena);
    mem_free(homeless);
}

static int homeless_error(struct homeless *homeless, int status, int64_t code, struct str message)
{
    rpc_write_error(&homeless->work.server->out, homeless->id, code, message, STR_NONE);
    return status;
}

static int homeless_refuse(struct homeless *homeless)
{
    return homeless_error(homeless, 400, RPC_INVALID_PARAMS, str_of(invalid_state));
}

static int homeless_ended(struct homeless *homeless, const struct call_record *record)
{
    struct mcp_server *server = homeless->work.server;
    struct outcome outcome;

    if (outcome_read(&homeless->arena, record->result, &outcome) != NOD_OK ||
        outcome.status == NOD_E_CANCELLED)
        return homeless_refuse(homeless);
    if (record->state == CALL_STORED_CANCELLED)
        return homeless_error(homeless, 200, RPC_INVALID_PARAMS, outcome.message);
    return result_respond(&server->out, &server->opts, homeless->id, homeless->part, &outcome);
}

/* Other nodes may have its target, or it runs here with the one it began with. */
static bool may_still_end(const struct mcp_server *server, struct str call_id)
{
    return server->opts.portable_states || engine_store(server->opts.engine)->ops->shared ||
           engine_find(server->opts.engine, call_id);
}

static int homeless_not_ended(struct homeless *homeless)
{
    struct mcp_server *server = homeless->work.server;
    struct outcome outcome = outcome_gone(&homeless->arena, homeless->name);

    if (may_still_end(server, homeless->state.call_id))
        return homeless_error(homeless, 503, RPC_INTERNAL_ERROR,
                              arena_fmt(&homeless->arena,
                                        STR_FMT " is not at this node, and its call has not ended; "
                                                "send the request again later.",
                                        STR_ARG(homeless->name)));
    caller_away_end_gone(server, homeless->state.call_id, &outcome);
    return homeless_error(homeless, 200, RPC_INVALID_PARAMS, outcome.message);
}

static int homeless_found(struct homeless *homeless, const struct call_record *record)
{
    size_t known;

    if (record->forgotten || !str_eq(record->principal, homeless->principal) ||
        record->kind != homeless->kind || !str_eq(record->target, homeless->name))
        return homeless_refuse(homeless);
    if (record->state == CALL_STORED_CANCELLED)
        return homeless_ended(homeless, record);
    if (!responses_agree(homeless->responses, record, &homeless->arena, &known))
        return homeless_error(homeless, 400, RPC_INVALID_PARAMS, str_of(other_answers));
    return record->state == CALL_STORED_FINISHED ? homeless_ended(homeless, record)
                                                 : homeless_not_ended(homeless);
}

static void homeless_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct homeless *homeless = data;
    struct mcp_server *server = homeless->work.server;
    int http = 0;

    if (server && !homeless->response.over) {
        buf_clear(&server->out);
        if (status == NOD_OK)
            http = homeless_found(homeless, reply->call);
        else if (status == NOD_E_NOT_FOUND && server->opts.portable_states)
            http = homeless_not_ended(homeless);
        else if (status == NOD_E_NOT_FOUND)
            http = homeless_refuse(homeless);
        else
            http = homeless_error(homeless, 200, RPC_INTERNAL_ERROR, why_not(status));
        response_end(&homeless->response, http, buf_str(&server->out));
        buf_clear(&server->out);
    }
    if (server)
        pipe_remove(&homeless->in_flight);
    homeless_free(homeless);
}

/* False: the state is not that of a call of this target. */
static bool homeless_open(struct homeless *homeless, struct request *request, struct str method,
                          const struct json *args)
{
    struct mcp_server *server = request->server;
    struct digest digest;

    if (!args)
        digest_of(STR("{}"), &digest);
    else if (digest_of_json(args, &digest) != NOD_OK)
        return false;
    struct state_bound bound = { .principal = homeless->principal,
                                 .method = method,
                                 .target = homeless->name,
                                 .args = digest_str(&digest) };
    return state_open(server->rounds->keyring, &bound, json_str(request->has.state),
                      caller_state_max(server), engine_now(server->opts.engine), &homeless->arena,
                      &homeless->state) == NOD_OK;
}

bool resume_gone(struct request *request, struct str method, struct str name,
                 const struct json *args)
{
    struct mcp_server *server = request->server;
    struct store *store = engine_store(server->opts.engine);

    if (!request->meta || !json_str(request->has.state).len)
        return false;
    struct homeless *homeless = MEM_NEW(struct homeless);
    list_init(&homeless->work.link);
    arena_init(&homeless->arena, MCP_TREE_MAX + STATE_ARENA_MAX);
    bool tool = str_eq(method, STR("tools/call"));
    homeless->kind = tool ? TARGET_TOOL : TARGET_PROMPT;
    homeless->part = tool ? PART_TOOL_RESULT : PART_PROMPT_RESULT;
    homeless->name = arena_str(&homeless->arena, name);
    homeless->principal = arena_str(&homeless->arena, request->principal);
    homeless->id = arena_str(&homeless->arena, request->id);
    bool opened = homeless_open(homeless, request, method, args);
    bool ours = opened && str_eq(homeless->state.store, caller_store(server));

    if (opened && !ours)
        reply_error(request, RPC_INVALID_PARAMS, str_of(other_store));
    if (!ours || !pipe_add(request, &homeless->in_flight, homeless->id, homeless_cancelled)) {
        homeless_free(homeless);
        return opened;
    }
    homeless->responses =
        request->has.responses ? json_copy(&homeless->arena, request->has.responses) : NULL;
    response_take(&homeless->response, request, homeless_gone);
    server_work_add(server, &homeless->work);
    store->ops->load_call(store, homeless->state.call_id, homeless_loaded, homeless);
    return true;
}
