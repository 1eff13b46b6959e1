/*
 * mcp/era2026/round: one round of a call: its asks go out in a result, answers come in with a
 * request.
 *
 * When a call asks, the request that made it is answered with the questions and the call's state,
 * and the live call is unloaded. If a request brings answers, the core claims them first, all in
 * one transition (core/brought.c). What is still open after that (not answered, or not fitting) is
 * sent again, with a new state. A page that was agreed to is waited for, within MCP_HOLD_MS.
 *
 * Answers to a question that was not asked before, on a first request or for a later round, count
 * for data only, never for consent (core/consent.h), and only from a client that could be asked it.
 */
#include "base/log.h"
#include "base/mem.h"
#include "crypto/seal.h"
#include "mcp/era2026/attach.h"
#include "mcp/era2026/caller.h"
#include "mcp/shared/live.h"
#include "mcp/era2026/ask.h"
#include "mcp/later/pending.h"
#include "mcp/shared/question_message.h"
#include "mcp/wire/result.h"

struct rounds2026 *rounds2026_create(struct keyring *keyring)
{
    struct rounds2026 *rounds = MEM_NEW(struct rounds2026);

    list_init(&rounds->callers);
    rounds->keyring = keyring;
    buf_init(&rounds->plain, STATE_PORTABLE_MAX);
    buf_init(&rounds->sealed, STATE_PORTABLE_MAX);
    buf_init(&rounds->requests, MCP_MESSAGE_MAX);
    return rounds;
}

void rounds2026_destroy(struct rounds2026 *rounds)
{
    keyring_destroy(rounds->keyring);
    buf_finish(&rounds->plain);
    buf_finish(&rounds->sealed);
    buf_finish(&rounds->requests);
    mem_free(rounds);
}

/* --- writing --- */

_Static_assert(STATE_TEXT_MAX == 16384 && STATE_PORTABLE_MAX == 1048576,
               "a message of this file names the limits");

enum { ASKS_FEW = 2 }; /* most calls ask no more at a time, and need no memory for it */

/* The client can be asked this itself, and it is its turn. */
static bool client_draws(const struct caller2026 *caller, const struct ask *ask)
{
    return ask2026_can(caller->server->opts.engine, caller->client.asked, ask_record(ask)) &&
           ask_is_clients_turn(ask);
}

/* The question as the client has it in its state; NULL: it was not asked before. */
static const struct ask_record *carried_of(const struct caller2026 *caller, struct str ask_id)
{
    for (size_t i = 0; caller->resumed && i < caller->state.ask_count; i++)
        if (str_eq(caller->state.asks[i].id, ask_id))
            return &caller->state.asks[i];
    return NULL;
}

/* Which offer of the question went out with the state; 0: the client was not asked it. */
static int offer_of(const struct caller2026 *caller, struct str ask_id)
{
    const struct ask_record *carried = carried_of(caller, ask_id);

    return carried ? carried->attempt & ~STATE_MARKS : 0;
}

/* Was this very question put to the client before, so that a response can be an answer to it? What
 * it declares now does not matter: it knows the question. */
static bool was_asked(const struct caller2026 *caller, const struct ask_record *ask)
{
    return offer_of(caller, ask->id);
}

/* It is answered elsewhere. A client that can open pages is given that one. */
static struct str page_of(struct caller2026 *caller, const struct ask *ask)
{
    return !client_draws(caller, ask) && caller->pages
               ? question_page(caller->server, ask_record(ask)->id, &caller->arena)
               : STR_NONE;
}

/* Everything that is asked now, as the store knows it or will know it. What the call has learned
 * (`known`) is included only if no store has it. */
static bool state_of_call(struct caller2026 *caller, struct call *call,
                          const struct call_record *known, struct buf *plain)
{
    struct mcp_server *server = caller->server;
    int64_t now = engine_now(server->opts.engine);
    struct ask_record few[ASKS_FEW], *asks = few;
    struct arena arena;
    size_t count = 0;

    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask))
        count++;
    arena_init(&arena, STATE_ARENA_MAX);
    if (count > ASKS_FEW)
        asks = arena_alloc(&arena, count * sizeof(*asks));
    struct state state = {
        .target = caller->target->name, .call_id = call_id(call), .expires_ms = now, .asks = asks
    };
    for (struct ask *ask = call_ask_first(call); asks && ask; ask = call_ask_next(call, ask)) {
        struct ask_record *record = &asks[state.ask_count++];
        *record = *ask_record(ask);
        record->key = ask_carried_key(record);
        if (!client_draws(caller, ask)) { /* it may still answer what it was asked before */
            record->attempt = was_asked(caller, record) ? record->attempt : 0;
            if (record->attempt && page_of(caller, ask).len)
                record->attempt |= STATE_PAGED;
        }
        if (record->inner)
            record->attempt |= STATE_INNER;
        if (!record->asked_ms)
            record->asked_ms = now;
        if (!record->expires_ms)
            record->expires_ms = now + record->ttl_ms;
        if (record->expires_ms > state.expires_ms)
            state.expires_ms = record->expires_ms;
    }
    state.expires_ms += MCP_STATE_GRACE_MS;
    target_digest(caller->target, state.version);
    state.store = caller_store(server);
    if (known) {
        state.notices = known->notices;
        state.entries = known->entries;
        state.entry_count = known->entry_count;
        state.meta = call_meta(call);
    }
    bool fine = asks && state_write(plain, &state);
    arena_finish(&arena);
    return fine;
}

/* Sealed for this very request, of which it is known from now on what it is: see caller_bound. */
static bool seal_round(struct caller2026 *caller, struct call *call, struct str plain,
                       struct buf *out)
{
    if (!caller->resumed && !caller->args.at && !caller_keep_args(caller, call_args(call), NULL))
        return false;
    struct state_bound bound = caller_bound(caller);
    return state_seal(caller->server->rounds->keyring, &bound, plain, out) == NOD_OK;
}

/* What the client says of it is its word: not of a page, and not where it has none. */
static bool is_clients_word(struct caller2026 *caller, const struct ask *ask)
{
    return ask_is_clients_turn(ask) &&
           (was_asked(caller, ask_record(ask)) || !page_of(caller, ask).len);
}

static void write_page(struct caller2026 *caller, const struct ask *ask, struct json_writer *w)
{
    const struct ask_record *record = ask_record(ask);
    struct ask_record page = *record;

    page.kind = ASK_URL;
    page.page = PAGE_NONE;
    page.url = page_of(caller, ask);
    if (!page.url.len)
        return;
    jw_key(w, ask_carried_key(record));
    ask2026_write(w, caller->server, &page, STR_NONE);
}

/* What the result holds besides the state, written while the call is at hand. */
static bool write_requests(struct caller2026 *caller, struct call *call, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    jw_object(&w);
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask)) {
        const struct ask_record *record = ask_record(ask);
        if (!client_draws(caller, ask)) {
            write_page(caller, ask, &w);
            continue;
        }
        const struct note *note = caller->notes;
        while (note && !str_eq(note->key, ask_carried_key(record)))
            note = note->next;
        jw_key(&w, ask_carried_key(record));
        ask2026_write(&w, caller->server, record, note ? note->problems : STR_NONE);
    }
    jw_end(&w);
    return json_writer_done(&w);
}

static void write_required(struct caller2026 *caller, struct str id, struct str requests,
                           struct str state)
{
    struct buf *out = &caller->server->out;

    buf_clear(out);
    result_open(out, &caller->server->opts.self, id, STR("input_required"));
    if (requests.len > 2) {
        buf_add(out, STR(",\"inputRequests\":"));
        buf_add(out, requests);
    }
    buf_add(out, STR(",\"requestState\":\""));
    buf_add(out, state);
    buf_add(out, STR("\"}}"));
    if (!out->overflow)
        return;
    buf_clear(out);
    rpc_write_error(out, id, RPC_INTERNAL_ERROR, MCP_TOO_LARGE("What is asked"), STR_NONE);
}

void round_respond(struct caller2026 *caller, struct str requests, struct str state)
{
    struct buf *out = &caller->server->out;

    LIST_EACH (at, &caller->waiters) {
        struct waiter *waiter = LIST_OF(at, struct waiter, link);
        write_required(caller, waiter_id(waiter), requests, state);
        response_end(&waiter->response, 200, buf_str(out));
        buf_clear(out);
        waiter_free(waiter);
    }
    caller_over(caller);
}

/* Not used for now: a large round must not cost memory for ever. */
static void rest(struct buf *buf)
{
    enum { KEPT_MAX = 16 << 10 };

    if (buf->room > KEPT_MAX)
        buf_finish(buf);
    else
        buf_clear(buf);
}

/* Tells every waiter what the call asks. */
static void send_round(struct caller2026 *caller, struct call *call,
                       const struct call_record *known)
{
    struct mcp_server *server = caller->server;
    struct buf *plain = &server->rounds->plain, *sealed = &server->rounds->sealed,
               *requests = &server->rounds->requests;

    if (state_of_call(caller, call, known, plain) && write_requests(caller, call, requests) &&
        seal_round(caller, call, buf_str(plain), sealed) &&
        sealed->len <= caller_state_max(server)) {
        /* From now on the client has something to come back with. If the call can be answered
         * elsewhere, it is run on without the client. */
        if (call_waits_elsewhere(call))
            call_handed(call);
        round_respond(caller, buf_str(requests), buf_str(sealed));
    } else {
        caller_fail(caller, 200, RPC_INTERNAL_ERROR,
                    server->opts.portable_states
                        ? STR("What is asked and was learned does not fit into a requestState, "
                              "which has at most 1048576 characters.")
                        : STR("What is asked does not fit into a requestState, which has at most "
                              "16384 characters."),
                    STR_NONE);
    }
    if (plain->len)
        explicit_bzero(plain->at, plain->len); /* no answers stay in memory */
    rest(plain);
    rest(sealed);
    rest(requests);
}

/* --- asking again --- */

static void hold_over(void *data);

/* The engine has the call now: it goes on by itself, or it was only looked at and waits as
 * before. */
void round_drain(struct caller2026 *caller)
{
    struct mcp_server *server = caller->server;

    timer_set(server->opts.loop, &caller->timer,
              server_draining(server) ? MCP_HOLD_LOOK_MS : server->opts.hold_ms, hold_over, caller);
}

static void known_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct caller2026 *caller = data;
    struct call *call = caller->caller.call;

    if (caller->server && !caller->over && call && call_waiting(call)) {
        if (status == NOD_OK) {
            send_round(caller, call, reply->call);
        } else {
            caller_fail(caller, resume_http(caller->server, status), RPC_INTERNAL_ERROR,
                        STR(STORE_AWAY ". The call waits, and nothing more of it was done; "
                                       "send the request again later."),
                        STR_NONE);
        }
        call_caller_left(call);
    } else if (caller->server && !caller->over && call) {
        round_drain(caller);
    }
    caller->busy--;
    caller_settle(caller);
}

/* A portable state needs all that the call has learned, which the store has while it waits. */
static void send_portable(struct caller2026 *caller, struct call *call)
{
    struct store *store = engine_store(caller->server->opts.engine);

    caller->busy++;
    store->ops->load_call(store, call_id(call), known_loaded, caller);
}

void round_leave(struct caller2026 *caller, struct call *call)
{
    if (caller->attach) {
        attach2026_pend(caller, call);
    } else if (caller->server->opts.portable_states) {
        send_portable(caller, call);
    } else {
        send_round(caller, call, NULL);
        call_caller_left(call);
    }
}

bool round_ends_with_process(struct caller2026 *caller, struct call *call)
{
    struct mcp_server *server = caller->server;

    if (!server_draining(server) || server_survives(server) || server->opts.portable_states)
        return false;
    call_cancel(call, STR("the server is shutting down"));
    return true;
}

static void hold_over(void *data)
{
    struct caller2026 *caller = data;
    struct call *call = caller->caller.call;

    if (caller->over || !call)
        return;
    if (!call_waiting(call))
        round_drain(caller);
    else if (!round_ends_with_process(caller, call))
        round_leave(caller, call);
}

/* --- answers that came with the request --- */

/* Whoever opens a page, or does not, says nothing that has content. Consent is not given where it
 * could be meant for the page. */
static bool is_about_page(const struct caller2026 *caller, const struct ask_record *ask,
                          const struct json *response)
{
    const struct ask_record *carried = carried_of(caller, ask->id);

    return carried && carried->attempt & STATE_PAGED &&
           (ask->kind != ASK_FORM || ask->consent ||
            !json_is(json_get(response, STR("content")), JSON_OBJECT));
}

/* Does this response count for this ask? Where the client was given a page, or nothing yet, its
 * response is no answer to the question, which it sees now for the first time. What comes ahead
 * counts only from a client that could be asked it now. */
static bool counts(struct caller2026 *caller, const struct ask_record *ask,
                   const struct json *response)
{
    struct engine *engine = caller->server->opts.engine;
    struct answer answer;

    if (carried_of(caller, ask->id))
        return was_asked(caller, ask) && !is_about_page(caller, ask, response);
    if (!ask2026_can(engine, caller->client.asked, ask) ||
        ask_is_consent(engine, ask, caller->target) || ask->kind == ASK_URL ||
        !ask2026_read(ask, response, &answer))
        return false;
    /* A form without fields asks for consent, not for data: no answer is taken in advance. */
    return answer.action != ASK_ACCEPTED || ask->kind != ASK_FORM ||
           (ask->detail.len && json_is(answer.content, JSON_OBJECT) &&
            ask_fits_form(engine, ask, answer.content));
}

static const struct str malformed =
    STR_INIT("params.inputResponses: a response is not shaped as its request wants it.");

/* Is there a response to what was asked that is none? */
static bool is_malformed(struct caller2026 *caller, const struct call *call)
{
    struct answer answer;

    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask)) {
        const struct ask_record *record = ask_record(ask);
        const struct json *response = json_get(caller_given(caller), ask_carried_key(record));
        if (response && is_clients_word(caller, ask) && was_asked(caller, record) &&
            !is_about_page(caller, record, response) && !ask2026_read(record, response, &answer))
            return true;
    }
    return false;
}

/* The answer to this ask that the request has with it, if it counts now. */
static bool brought_for(struct caller2026 *caller, struct ask *asked, struct answer *answer)
{
    const struct ask_record *ask = ask_record(asked);
    const struct json *response = json_get(caller_given(caller), ask_carried_key(ask));

    if (!response || !is_clients_word(caller, asked) || !counts(caller, ask, response) ||
        !ask2026_read(ask, response, answer))
        return false;
    if (answer->content && answer->content->raw.len) { /* formatting does not matter */
        answer->content = json_copy(&caller->arena, answer->content);
        answer->too_large = !answer->content;
    }
    answer->by = caller->principal;
    answer->roles = caller->caller.roles;
    answer->surface = caller->server->mrtr;
    if (!caller->resumed || !caller->state.store.len)
        return true; /* a portable state has counted elsewhere */
    /* What does not fit counts once, for the offer that it answers. What fits answers the question,
     * whichever offer of it the client has. */
    bool form = ask->kind == ASK_FORM || ask->kind == ASK_APPROVAL;
    bool filled = form && answer->action == ASK_ACCEPTED && ask->detail.len;
    answer->fits = filled && answer->content &&
                   ask_fits_form(caller->server->opts.engine, ask, answer->content);
    if (!form || (filled && !answer->fits))
        answer->attempt = offer_of(caller, ask->id);
    return true;
}

bool round_brings(struct caller *base, struct call *call)
{
    struct caller2026 *caller = (struct caller2026 *)(void *)base;

    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask))
        if (was_asked(caller, ask_record(ask)))
            ask_was_clients_turn(ask);
    if (!caller->server || caller->over || !caller_given(caller))
        return true;
    bool contested = resume_contested(caller, call);
    if (contested || is_malformed(caller, call)) {
        if (contested)
            resume_later(caller);
        else
            caller_fail(caller, 400, RPC_INVALID_PARAMS, malformed, STR_NONE);
        caller_defer(caller, NULL); /* the engine is still working on it */
        return false;
    }
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask)) {
        struct answer answer;
        if (brought_for(caller, ask, &answer))
            call_bring(ask, &answer);
    }
    return true;
}

bool round_brings_late(struct caller2026 *caller, struct call *call)
{
    struct engine *engine = caller->server->opts.engine;
    struct ask *next;
    bool any = false;

    if (caller->brought_ahead || !caller_given(caller))
        return false;
    for (struct ask *ask = call_ask_first(call); ask; ask = next) {
        struct answer answer;
        next = call_ask_next(call, ask);
        if (!brought_for(caller, ask, &answer))
            continue;
        any = caller->brought_ahead = true;
        ask_answer(engine, ask_record(ask)->id, &answer, NULL, NULL);
    }
    return any;
}

void round_answered(struct caller *base, struct str ask_id, const struct answer_result *result)
{
    struct caller2026 *caller = (struct caller2026 *)(void *)base;
    struct ask *ask = caller->server ? engine_ask(caller->server->opts.engine, ask_id) : NULL;
    struct note *note = NULL;

    if (ask && result->pending && result->problems.len)
        note = ARENA_NEW(&caller->arena, struct note);
    if (note) {
        *note = (struct note){ caller->notes,
                               arena_str(&caller->arena, ask_carried_key(ask_record(ask))),
                               arena_str(&caller->arena, result->problems) };
        caller->notes = note;
    }
    caller->won |= result->status == NOD_OK && !result->pending; /* else: a page is opened */
}

/* If something of it has counted before, what is left yields to what was said first. */
bool round_contradicted(struct caller *base, struct call *call)
{
    struct caller2026 *caller = (struct caller2026 *)(void *)base;

    (void)call;
    if (caller->won || caller->over)
        return false;
    resume_refuse_answers(caller);
    caller_defer(caller, NULL); /* the engine is still working on it */
    return true;
}

/* --- the round --- */

struct view {
    bool left;          /* one waits for the client, and not for a page or the clock */
    bool drawable;      /* the client can be asked one of them */
    bool unheard;       /* nobody can be asked one of them, because its word does not count */
    struct str missing; /* the capability without which one cannot be asked */
};

static struct view look(struct caller2026 *caller, struct call *call)
{
    struct view view = { 0 };
    struct engine *engine = caller->server->opts.engine;
    int64_t now = engine_now(engine);

    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask)) {
        const struct ask_record *record = ask_record(ask);
        bool expired = record->expires_ms && record->expires_ms <= now;
        view.left |= !expired && !ask_is_opened(ask);
        if (client_draws(caller, ask))
            view.drawable = true;
        else if (engine_can_elsewhere(engine, call, record, caller->server->mrtr))
            ;
        else if (ask2026_can(engine, caller->client.asked, record))
            view.unheard |= !ask_is_for_client(ask);
        else
            view.missing =
                result_capability(record->kind, record->kind == ASK_SAMPLE &&
                                                    caller->client.asked & CLIENT_CAN_SAMPLE);
    }
    return view;
}

enum caller_way round_asked(struct caller *base, struct call *call)
{
    struct caller2026 *caller = (struct caller2026 *)(void *)base;
    struct mcp_server *server = caller->server;

    if (server && !caller->over) {
        if (round_ends_with_process(caller, call))
            return CALLER_HOLDS;
        struct view view = look(caller, call);
        if (!view.left && !caller->attach) { /* a page or the clock decides */
            timer_set(server->opts.loop, &caller->timer,
                      server_draining(server) ? 0 : server->opts.hold_ms, hold_over, caller);
            return CALLER_CARRIES;
        }
        if (view.missing.len) {
            caller_fail(caller, 400, MCP_MISSING_CAPABILITY,
                        STR("The client does not declare a capability that this request needs."),
                        arena_fmt(&caller->arena, "{\"requiredCapabilities\":" STR_FMT "}",
                                  STR_ARG(view.missing)));
        } else if (!view.drawable || view.unheard) {
            attach2026_hold(caller); /* another surface has it, or nobody, and it ends */
            return CALLER_HOLDS;
        } else if (server->opts.portable_states) {
            send_portable(caller, call);
            return CALLER_CARRIES;
        } else {
            send_round(caller, call, NULL);
        }
    }
    if (server)
        caller_defer(caller, NULL); /* the engine is still working on it */
    return CALLER_LEAVES;
}
