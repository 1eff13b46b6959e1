/*
 * mcp/era2026/resume: going on with a call by its requestState.
 *
 *     open the state ▶ is it of our store? ▶ is the call live here? ▶ the door (core/comeback.h)
 *
 *   live, with the same state and answers   this request waits for the same end
 *   live, otherwise                         looked at again when it is not, within MCP_HOLD_MS
 *   it has not ended                        it goes on for this request; 503 if there is no room
 *   finished                                the stored result, if the answers are those it had
 *   cancelled, forgotten, or not known      refused: it has ended, and never runs again
 *
 * With portable states, which are the call itself and belong to no store:
 *
 *   not known                               imported from the state
 *   waiting, with a shorter journal         imported: it went on at another node
 *
 * Answers to questions that are pending go in with the adoption (round_brings). Answers to
 * questions that are journalled already must be the very same: a state that is presented again with
 * other answers is told so, and executes nothing. But where somebody answered on another surface,
 * they came first, and the client gets the result, or the next question. All other refusals are the
 * same: they do not say what is wrong with a state.
 */
#include "base/mem.h"
#include "core/catalog.h"
#include "mcp/era2026/caller.h"
#include "mcp/era2026/ask.h"
#include "mcp/tasks/tasks.h"

enum { MCP_WAITERS_MAX = 64 }; /* requests that wait for the end of one call */

#define TOO_LARGE "The call is too large."

const char resume_other_answers[] =
    "These questions were answered before, with other answers; nothing of this request counts.";
const char resume_other_store[] =
    "This requestState belongs to another server, which has another store: bring it there, or make "
    "the call again.";

static void look(struct caller2026 *caller);

/* A record that cannot be read here may be read by another node, which then runs the call. */
static bool may_be_read(const struct mcp_server *server, nod_status status)
{
    return status == NOD_E_STORE || engine_store(server->opts.engine)->ops->shared;
}

struct str resume_why_not(const struct mcp_server *server, nod_status status)
{
    if (status == NOD_E_STORE)
        return STR(STORE_AWAY ", and nothing was done for this request; send it "
                              "again later.");
    return may_be_read(server, status)
               ? STR("What the store has of this call cannot be read here, and nothing was done "
                     "for this request; send it again later.")
               : STR("What the store has of this call cannot be read; make the call again.");
}

int resume_http(const struct mcp_server *server, nod_status status)
{
    return may_be_read(server, status) ? 503 : 200;
}

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

void resume_later(struct caller2026 *caller)
{
    timer_set(caller->server->opts.loop, &caller->timer, MCP_HOLD_LOOK_MS, look_again, caller);
}

/* How often was it asked? Our store knows. A portable state may have been at another node since. */
static int attempt_of(const struct caller2026 *caller, const struct ask_record *ask)
{
    if (!caller->server->opts.portable_states)
        return ask->attempt;
    for (size_t i = 0; i < caller->state.ask_count; i++) {
        const struct ask_record *carried = &caller->state.asks[i];
        int attempt = carried->attempt & ~STATE_MARKS;
        if (str_eq(carried->id, ask->id) && attempt > ask->attempt)
            return attempt;
    }
    return ask->attempt;
}

/* --- answers that were given before --- */

/* Other answers came first. Whoever has the state was asked, so it may be told. */
void resume_refuse_answers(struct caller2026 *caller)
{
    caller_fail(caller, 400, RPC_INVALID_PARAMS, str_of(resume_other_answers), STR_NONE);
}

bool responses_agree(const struct json *responses, const struct entry *entries, size_t count,
                     struct arena *arena)
{
    for (size_t i = 0; responses && i < count; i++) {
        const struct json *response =
            entries[i].class == ENTRY_ASK ? json_get(responses, entries[i].key) : NULL;
        if (response && !ask2026_same(&entries[i], response, arena))
            return false;
    }
    return true;
}

static bool stands_in(const struct entry *entries, size_t count, struct str ask_id)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].class == ENTRY_ASK && str_eq(entries[i].ask_id, ask_id))
            return true;
    return false;
}

static bool is_pending(const struct call *call, struct str ask_id)
{
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask))
        if (str_eq(ask_record(ask)->id, ask_id))
            return true;
    return false;
}

/* What the record had when it was found has been judged. A question of the state that was pending
 * then, and is not now, was answered in between. */
bool resume_contested(struct caller2026 *caller, const struct call *call)
{
    if (!caller->resumed || caller->won || !caller_given(caller))
        return false;
    size_t count, seen = caller->known_count;
    const struct entry *entries = call_journal(call, &count);

    for (size_t i = 0; i < caller->state.ask_count; i++) {
        struct str id = caller->state.asks[i].id;
        if (caller->state.asks[i].attempt & STATE_INNER)
            continue; /* its answer is in the journal of the inner call */
        if (!is_pending(call, id) && !stands_in(caller->known, seen, id) &&
            !stands_in(entries, count, id))
            return true;
    }
    return count > seen &&
           !responses_agree(caller_given(caller), entries + seen, count - seen, &caller->arena);
}

/* --- adopting --- */

static void adopt_spec_fill(struct caller2026 *caller, struct adopt_spec *spec)
{
    spec->record = &caller->record;
    spec->portable = caller->server->opts.portable_states;
    spec->hold_steps = caller_holds_steps(caller);
    spec->keep_asked_ms = MCP_STATE_GRACE_MS;
    spec->caller = &caller->caller;
}

static void adopted(struct caller2026 *caller, bool ours)
{
    struct call *call = caller->caller.call;

    if (!ours)
        resume_later(caller); /* another request was faster */
    for (struct ask *ask = ours && call ? call_ask_first(call) : NULL; ask;
         ask = call_ask_next(call, ask))
        ask_put_again(ask, attempt_of(caller, ask_record(ask)));
}

/* The call goes on, here or elsewhere, when somebody comes for it. */
static void resume_full(struct caller2026 *caller)
{
    caller_fail(
        caller, 503, RPC_INTERNAL_ERROR,
        STR("This server has as many live calls as it may have. The call has not ended, and "
            "nothing was done for this request; send it again later."),
        STR_NONE);
}

static void import(struct caller2026 *caller)
{
    const struct state *state = &caller->state;
    struct ask_record *asks = arena_zalloc(&caller->arena, (state->ask_count + 1) * sizeof(*asks));
    struct adopt_spec spec = {
        .asks = asks, .ask_count = state->ask_count, .target = caller->target, .import = true
    };

    caller->record = (struct call_record){ .id = state->call_id,
                                           .principal = caller->principal,
                                           .scope = caller->principal,
                                           .kind = caller->target->kind,
                                           .target = caller->target->name,
                                           .args = caller->args,
                                           .uri = caller->uri,
                                           .meta = state->meta,
                                           .version = version_number(state->version),
                                           .notices = state->notices,
                                           .entries = state->entries,
                                           .entry_count = state->entry_count };
    for (size_t i = 0; asks && i < state->ask_count; i++) {
        asks[i] = state->asks[i];
        asks[i].call_id = state->call_id;
        asks[i].principal = asks[i].scope = caller->principal;
        asks[i].target = caller->target->name;
    }
    caller->known = state->entries;
    caller->known_count = state->entry_count;
    adopt_spec_fill(caller, &spec);
    if (caller->arena.exhausted)
        caller_fail(caller, 200, RPC_INTERNAL_ERROR, STR(TOO_LARGE), STR_NONE);
    else if (!engine_has_room_for(caller->server->opts.engine, state->call_id))
        resume_full(caller);
    else if (responses_agree(caller_given(caller), state->entries, state->entry_count,
                             &caller->arena))
        adopted(caller, engine_adopt(caller->server->opts.engine, &spec));
    else
        resume_refuse_answers(caller);
}

/* --- what was found --- */

static struct caller2026 *resuming(const struct comer *comer)
{
    return LIST_OF(comer, struct caller2026, comer);
}

static bool resume_there(const struct comer *comer)
{
    return resuming(comer)->server && !resuming(comer)->over;
}

static void resume_unread(struct caller2026 *caller, nod_status status)
{
    caller_fail(caller, resume_http(caller->server, status), RPC_INTERNAL_ERROR,
                resume_why_not(caller->server, status), STR_NONE);
}

/* The caller looked at something else first: it goes on with the call, or its client was told
 * otherwise. */
static void resume_decided(struct caller2026 *caller, bool goes_on)
{
    comer_goes_on(&caller->comer, goes_on);
    if (!goes_on) {
        caller->busy--;
        caller_settle(caller);
    }
}

static void not_a_task(struct caller2026 *caller, bool was)
{
    resume_decided(caller, !was);
}

/* What it brings is what the call was told, as far as it was told anything by this client. */
static enum found agreed(struct caller2026 *caller)
{
    struct str id = caller->state.call_id;
    struct task *task = task_find(caller->server, id, caller->principal);

    if (task && caller->tasks) /* it has become one already, by the very same answers */
        tasks_respond(caller, task);
    else if (task)
        caller_refuse(caller);
    if (task)
        return FOUND_OTHER;
    if (!caller_holds_steps(caller) || !server_survives(caller->server))
        return FOUND_IT;
    tasks_resumed(caller, id, not_a_task); /* perhaps another node has made it one */
    return FOUND_LATER;
}

/* A look at who it was that answered otherwise, and where. */
struct contest {
    struct caller2026 *caller;
    bool own; /* it was this client */
};

static void contested_ask(void *data, const struct store_row *row)
{
    struct contest *contest = data;
    struct caller2026 *caller = contest->caller;
    const struct ask_record *ask = row->ask;
    const struct json *response = ask ? json_get(caller_given(caller), ask->key) : NULL;

    if (!response || ask->state == ASK_PENDING ||
        !str_eq(ask->via, str_of(caller->server->mrtr->ops->name)))
        return;
    struct entry entry = { .state = ask->state, .content = ask->content, .by = ask->by };
    contest->own |= !ask2026_same(&entry, response, &caller->arena);
}

static void contested(void *data, nod_status status, const struct store_reply *reply)
{
    struct contest *contest = data;
    struct caller2026 *caller = contest->caller;
    bool own = contest->own;

    (void)reply;
    mem_free(contest);
    if (!resume_there(&caller->comer)) {
        resume_decided(caller, true);
    } else if (status != NOD_OK || own) {
        if (own)
            resume_refuse_answers(caller);
        else
            resume_unread(caller, status);
        resume_decided(caller, false);
    } else {
        enum found found = agreed(caller);
        if (found != FOUND_LATER)
            resume_decided(caller, found == FOUND_IT);
    }
}

/* If it was this client, it is told so. If it was somebody on another surface, they came first: the
 * client gets the result, or the next question. */
static enum found contest_begin(struct caller2026 *caller)
{
    struct store *store = engine_store(caller->server->opts.engine);

    if (!engine_asks_elsewhere(caller->server->opts.engine, caller->target)) {
        resume_refuse_answers(caller);
        return FOUND_OTHER;
    }
    struct contest *contest = MEM_NEW(struct contest);
    contest->caller = caller;
    store->ops->scan(
        store, &(struct store_scan){ .index = STORE_ASKS_OF_CALL, .key = caller->state.call_id },
        contested_ask, contested, contest);
    return FOUND_LATER;
}

static enum found resume_means(struct caller2026 *caller, const struct call_record *record)
{
    if (record->kind != caller->target->kind || !str_eq(record->target, caller->target->name)) {
        caller_refuse(caller);
        return FOUND_OTHER;
    }
    if (record->state == CALL_STORED_CANCELLED)
        return FOUND_IT;
    if (record->state != CALL_STORED_FINISHED) {
        caller->known_count = record->entry_count;
        caller->known = entries_kept(&caller->arena, record->entries, &caller->known_count);
    }
    if (caller->arena.exhausted) {
        caller_fail(caller, 200, RPC_INTERNAL_ERROR, STR(TOO_LARGE), STR_NONE);
        return FOUND_OTHER;
    }
    if (!responses_agree(caller_given(caller), record->entries, record->entry_count,
                         &caller->arena))
        return contest_begin(caller);
    return agreed(caller);
}

static enum found resume_found(struct comer *comer, const struct call_record *record)
{
    struct caller2026 *caller = resuming(comer);
    enum found found = resume_means(caller, record);

    if (found == FOUND_OTHER) {
        caller->busy--;
        caller_settle(caller);
    }
    return found;
}

static bool resume_waits(struct comer *comer, const struct call_record *record,
                         struct adopt_spec *spec)
{
    struct caller2026 *caller = resuming(comer);

    /* portable: it went on at a node that shares no store with us */
    caller->imports =
        record->state == CALL_STORED_WAITING && caller->state.entry_count > record->entry_count;
    caller->record = *record;
    if (!record->version) /* a store that does not outlive the process keeps none */
        caller->record.version = version_number(caller->state.version);
    adopt_spec_fill(caller, spec);
    return !caller->imports && !engine_find(caller->server->opts.engine, record->id);
}

static void resume_back(struct comer *comer, const struct back *back)
{
    struct caller2026 *caller = resuming(comer);

    if (resume_there(comer) && !(target_is_stand_in(caller->target) && gone_told(caller, back))) {
        switch (back->as) {
        case BACK_LEFT:
            break;
        case BACK_UNREAD:
            if (back->status == NOD_E_LIMIT)
                caller_fail(caller, 200, RPC_INTERNAL_ERROR, STR(TOO_LARGE), STR_NONE);
            else
                resume_unread(caller, back->status);
            break;
        case BACK_UNKNOWN:
            if (caller->state.store.len == 0)
                import(caller);
            else
                caller_refuse(caller); /* our store knew it: it has ended, and is forgotten */
            break;
        case BACK_FORGOTTEN:
            caller_refuse(caller);
            break;
        case BACK_ENDED: /* also by its client, or with its target: then no answer was taken */
            if (!back->outcome || back->outcome->status == NOD_E_CANCELLED) {
                caller_refuse(caller);
            } else {
                caller_hands(caller, caller->state.call_id);
                caller_end(caller, back->outcome);
            }
            break;
        case BACK_WAITS:
        case BACK_BUSY:
            if (caller->imports)
                import(caller);
            else
                adopted(caller, back->as == BACK_WAITS);
            break;
        case BACK_FULL:
            resume_full(caller);
            break;
        case BACK_TOO_SOON: /* its target went while the store was asked */
            resume_later(caller);
            break;
        }
    }
    caller->busy--;
    caller_settle(caller);
}

static const struct comer_ops resume_ops = {
    .there = resume_there, .found = resume_found, .waits = resume_waits, .done = resume_back
};

/* --- looking --- */

static void look(struct caller2026 *caller)
{
    struct mcp_server *server = caller->server;
    struct call *live = engine_find(server->opts.engine, caller->state.call_id);
    struct caller2026 *other = caller2026_of(live);
    size_t waiting = 0;

    if (other && !other->over && caller_same(other, caller))
        LIST_EACH (at, &other->waiters)
            waiting++;
    if (waiting && waiting < MCP_WAITERS_MAX) {
        caller_join(caller, other);
    } else if (live && !task_find(server, caller->state.call_id, caller->principal)) {
        resume_later(caller);
    } else {
        caller->busy++;
        engine_return(server->opts.engine, &caller->comer);
    }
}

/* --- opening --- */

/* On a node that lacks a secret of its store, the state may be another node's. On any other it is
 * forged, or of a secret that was taken out of use. */
static void refuse_state(struct caller2026 *caller)
{
    struct mcp_server *server = caller->server;

    if (engine_lacks_secret(server->opts.engine) &&
        state_is_foreign(server->rounds->keyring, caller->state_text))
        caller_fail(caller, 503, RPC_INTERNAL_ERROR,
                    STR("This node lacks a secret of its store and cannot open the requestState; "
                        "send the request again later."),
                    STR_NONE);
    else
        caller_refuse(caller);
}

void resume_begin(struct caller2026 *caller)
{
    struct mcp_server *server = caller->server;

    struct state_bound bound = caller_bound(caller);

    caller->until = loop_now(server->opts.loop) + server->opts.hold_ms;
    if (state_open(server->rounds->keyring, &bound, caller->state_text, caller_state_max(server),
                   engine_now(server->opts.engine), &caller->arena, &caller->state) != NOD_OK)
        refuse_state(caller);
    else if (!str_eq(caller->state.store, caller_store(server)))
        caller_fail(caller, 400, RPC_INVALID_PARAMS, str_of(resume_other_store), STR_NONE);
    else {
        caller->comer = (struct comer){ .ops = &resume_ops,
                                        .call = id_of(caller->state.call_id),
                                        .principal = caller->principal,
                                        .asks = true,
                                        .spares = server->opts.portable_states };
        look(caller);
    }
}
