/*
 * core/ask: the life of an ask, from the question to the offer.
 *
 *     parseInput ▶ validateRequest ▶ generateElicitId ▶ storePendingRecord ▶ buildRequestParams ▶
 *     finalize
 *
 * The asks of one round meet at storePendingRecord and are parked in one transition (call_save.c).
 * No surface is told of an ask before the park is committed. Then each ask is offered (offers.c).
 *
 * Holds always: an ask is freed only in a completion of the store, or with its call.
 */
#include "core/call_inside.h"

#include "base/log.h"
#include "base/mem.h"

enum { EXPIRY_AGAIN_MS = 1000 }; /* wait before a store that did not agree is asked again */

struct ask *ask_create(struct call *call, const struct run_item *item)
{
    const struct ask_spec *spec = &item->spec;
    struct str said = call->inner ? inner_said(call, &call->run->arena) : STR_NONE;
    size_t text = spec->key.len + said.len + spec->message.len + spec->detail.len + spec->url.len +
                  ID_LEN + spec->remember.len + 5; /* {id} in the URL becomes the ask's id */
    struct ask *ask = mem_alloc(sizeof(*ask) + text);
    struct ask_record *record = &ask->record;
    char *at = ask->text;

    *ask = (struct ask){ .call = call, .size = (uint32_t)(sizeof(*ask) + text) };
    list_init(&ask->link);
    record->call_id = id_str(&call->id);
    record->key = str_place(&at, spec->key);
    record->principal = call->principal;
    record->scope = call->scope;
    record->kind = spec->kind;
    record->consent = spec->consent;
    record->sensitive = spec->sensitive;
    record->wait_done = spec->wait_done || spec->page;
    record->page = spec->page;
    record->target = call->target->name;
    record->inner = call->inner;
    if (said.len)
        memcpy(at, said.at, said.len);
    record->message = str_n(at, said.len + spec->message.len);
    at += said.len;
    str_place(&at, spec->message);
    record->detail = str_place(&at, spec->detail);
    record->remember = str_place(&at, spec->remember);
    record->url = str_place(&at, spec->url); /* last: it has room behind it */
    memcpy(record->digest, item->entry.digest, DIGEST_BYTES);
    record->ttl_ms = spec->ttl_ms;
    record->attempts = spec->attempts;
    record->attempt = 1;
    return ask;
}

struct ask *ask_adopt(struct call *call, const struct ask_record *record)
{
    size_t text = record->key.len + record->message.len + record->detail.len + record->url.len +
                  record->remember.len + 5;
    struct ask *ask = mem_alloc(sizeof(*ask) + text);
    char *at = ask->text;

    *ask = (struct ask){ .call = call, .size = (uint32_t)(sizeof(*ask) + text) };
    list_init(&ask->link);
    ask->id = id_of(record->id);
    ask->record = *record;
    ask->record.id = id_str(&ask->id);
    ask->record.call_id = id_str(&call->id);
    ask->record.principal = call->principal;
    ask->record.scope = call->scope;
    ask->record.target = call->target->name;
    ask->record.key = str_place(&at, record->key);
    ask->record.message = str_place(&at, record->message);
    ask->record.detail = str_place(&at, record->detail);
    ask->record.url = str_place(&at, record->url);
    ask->record.remember = str_place(&at, record->remember);
    ask->record.content = ask->record.by = ask->record.note = STR_NONE;
    if (ask->record.attempt < 1)
        ask->record.attempt = 1;
    ask->tally = tally_add(call->engine, call->principal);
    call->engine->pending_calls += record->kind == ASK_CALL;
    list_append(&call->asks, &ask->link);
    return ask;
}

/* The question leaves its scope. If another question of the call still waits, that one stands for
 * the call. */
static void scope_leave(struct ask *ask)
{
    struct engine *engine = ask->call->engine;

    if (map_get(&engine->scopes, ask->record.scope) != ask)
        return;
    map_remove(&engine->scopes, ask->record.scope);
    LIST_EACH (at, &ask->call->asks) {
        struct ask *other = LIST_OF(at, struct ask, link);
        if (other == ask || engine_ask(engine, id_str(&other->id)) != other)
            continue;
        map_set(&engine->scopes, other->record.scope, other);
        return;
    }
}

/* The ask no longer waits: it leaves the lists and the clock. */
static void ask_unlist(struct ask *ask)
{
    struct engine *engine = ask->call->engine;

    flow_drop(&ask->flow);
    due_stop(engine, &ask->expiry);
    due_stop(engine, &ask->move);
    if (ask->listed) {
        idmap_remove(&engine->asks, ask);
        engine->asks_moved++;
    }
    ask->listed = false;
    scope_leave(ask);
    if (ask->tally) {
        tally_drop(engine, ask->tally);
        engine->pending_calls -= ask->record.kind == ASK_CALL;
    }
    ask->tally = NULL;
}

void ask_put_again(struct ask *ask, int attempt)
{
    if (attempt <= ask->record.attempt)
        return;
    ask->ahead = attempt - ask->record.attempt;
    ask->record.attempt = attempt;
}

static void ask_gone(struct ask *ask)
{
    mem_free(ask->seen_end);
    mem_free_sized(ask, ask->size);
}

void ask_free(struct ask *ask)
{
    ask_unlist(ask);
    list_remove(&ask->link);
    ask_gone(ask);
}

void ask_end(struct ask *ask, const struct surface *but, const struct winner *winner,
             struct str why)
{
    if (ask->record.kind == ASK_CALL)
        inner_withdraw(ask, winner, why); /* while it can be found by its id */
    ask_unlist(ask);
    list_remove(&ask->link); /* what a surface does now may end the call */
    ask_withdraw(ask, but, winner, why);
    ask_gone(ask);
}

void ask_seen_ended(struct ask *ask, const struct ask_record *record)
{
    if (ask->seen_end)
        return;
    ask->seen_end = mem_alloc(sizeof(*ask->seen_end) + record->by.len + record->via.len + 2);
    char *at = (char *)(ask->seen_end + 1);
    *ask->seen_end = (struct winner){ .state = record->state,
                                      .by = str_place(&at, record->by),
                                      .via = str_place(&at, record->via) };
}

void ask_ended_elsewhere(struct ask *ask)
{
    const struct journal *journal = &ask->call->journal;
    struct winner winner = ask->seen_end ? *ask->seen_end : (struct winner){ 0 };

    for (size_t i = 0; winner.state == ASK_PENDING && i < journal->count; i++) {
        const struct entry *entry = &journal->entries[i];
        if (entry->class == ENTRY_ASK && str_eq(entry->key, ask->record.key))
            winner = (struct winner){ .state = entry->state, .by = entry->by };
    }
    ask_end(ask, NULL, &winner, STR("The question was answered elsewhere"));
}

/* --- time to live --- */

static void ask_expired(struct due *due)
{
    struct ask *ask = HEAP_OF(&due->node, struct ask, expiry.node);

    /* If the store does not agree yet, or is away, the clock tries again. */
    due_set(ask->call->engine, &ask->expiry, EXPIRY_AGAIN_MS, ask_expired);
    if (!ask->claiming)
        claim_by_engine(ask, ASK_EXPIRED);
}

/* --- the stages --- */

/* The form was checked when it was asked (run_journal.c). Only the limits are checked here. */
static void stage_validate_request(struct flow *flow, void *subject)
{
    struct ask *ask = subject;
    struct engine *engine = ask->call->engine;

    struct call *call = ask->call;

    size_t most;
    enum store_quota quota = tally_full(engine, ask->record.principal, &most);

    if (quota) {
        call->asks_quota = quota;
        call->asks_quota_most = most;
        flow_stop(flow, NOD_E_LIMIT);
        return;
    }
    ask->tally = tally_add(engine, ask->record.principal);
    engine->pending_calls += ask->record.kind == ASK_CALL;
    flow_next(flow);
}

static void put_id_into_url(struct ask *ask)
{
    static const struct str hole = STR_INIT("{id}");
    struct str url = ask->record.url;
    ptrdiff_t at = str_find(url, hole);

    if (url.len == 0 || at < 0)
        return;
    char *text = (char *)ask->record.url.at; /* ask_create() left space */
    memmove(text + at + ID_LEN, text + at + hole.len, url.len - (size_t)at - hole.len + 1);
    memcpy(text + at, ask->id.text, ID_LEN);
    ask->record.url.len = url.len - hole.len + ID_LEN;
}

struct str ask_url(const struct engine *engine, const struct ask_record *ask, struct arena *arena)
{
    int64_t expires_ms = ask->expires_ms ? ask->expires_ms : engine_now(engine) + ask->ttl_ms;
    struct buf url;

    if (!ask->page)
        return ask->url;
    buf_init(&url, ENGINE_PAGE_URL_MAX);
    bool made = engine_has_page(engine, ask->page) &&
                engine->pages.link(engine->pages.data, ask, expires_ms, &url);
    struct str copy = made ? arena_str(arena, buf_str(&url)) : STR_NONE;
    buf_finish(&url);
    return copy;
}

static void stage_generate_id(struct flow *flow, void *subject)
{
    struct ask *ask = subject;

    ask->record.id = id_str(&ask->id); /* call_asks.c has made it */
    put_id_into_url(ask);
    flow_next(flow);
}

static void stage_store_pending(struct flow *flow, void *subject)
{
    struct ask *ask = subject;

    (void)flow; /* goes on in ask_stored, after the commit */
    call_asks_settled(ask->call);
}

/* With one_ask_per_scope, the older question of the scope ends as cancelled. */
static void cancel_older(struct ask *ask)
{
    struct engine *engine = ask->call->engine;
    struct ask *older = map_get(&engine->scopes, ask->record.scope);

    if (ask->record.kind == ASK_CALL || (older && call_top(older->call) == call_top(ask->call)))
        return;
    map_set(&engine->scopes, ask->record.scope, ask);
    if (!older)
        return;
    LIST_EACH (at, &older->call->asks) {
        struct ask *other = LIST_OF(at, struct ask, link);
        if (!other->claiming)
            claim_by_engine(other, ASK_CANCELLED);
    }
}

static void stage_build_params(struct flow *flow, void *subject)
{
    struct ask *ask = subject;

    if (ask->call->engine->opts.one_ask_per_scope)
        cancel_older(ask);
    ask_offer_unless_carried(ask);
    flow_next(flow);
}

static void stage_finalize(struct flow *flow, void *subject)
{
    struct ask *ask = subject;

    LOG_DEBUG("asked", LOG_STR("ask", id_str(&ask->id)), LOG_STR("call", ask->record.call_id),
              LOG_STR("target", ask->record.target));
    flow_next(flow);
}

void ask_record_describe(const struct ask_record *record, struct hook_view *view)
{
    _Static_assert(NOD_ASK_FORM == ASK_FORM + 1 && NOD_ASK_ROOTS == ASK_ROOTS + 1,
                   "the public kinds are ours, behind NOD_ASK_ANY");
    view->target = record->target;
    view->ask_key = record->key;
    view->message = record->message;
    view->kind = (nod_ask_kind)(record->kind + 1);
}

static void ask_describe(void *subject, struct hook_view *view)
{
    const struct ask *ask = subject;

    ask_record_describe(&ask->record, view);
    view->call_id = ask->record.call_id;
    view->principal = ask->record.principal;
    view->ask_id = ask->record.id; /* empty before generateElicitId */
}

/* The digest stays that of the handler's own question: on a replay the handler asks that again. */
static nod_status ask_write(void *subject, size_t stage, enum hook_field field, struct str text,
                            struct arena *arena, struct str *why)
{
    struct ask *ask = subject;
    struct run *run = ask->call->run;

    (void)stage;
    if (field != HOOK_MESSAGE || ask->call->state != LIVE_ASKING || ask->listed || !run) {
        *why = STR(
            "Of a question only the message can be written, and only before storePendingRecord");
        return NOD_E_USAGE;
    }
    nod_status status = run_check_message(run, ask_record_form(&ask->record), text);
    if (status != NOD_OK) {
        *why = arena_str(arena, run->fault.message);
        return status;
    }
    ask->record.message = arena_str(&call_ending(ask->call)->arena, text);
    return NOD_OK;
}

/* The hooks of its inner call see what it leads to. */
static bool ask_is_unhooked(const void *subject)
{
    return ((const struct ask *)subject)->record.kind == ASK_CALL;
}

static bool ask_halted(void *subject)
{
    const struct ask *ask = subject;

    return ask->call->state == LIVE_CANCELLING;
}

/* parseInput has no work: run_journal.c has copied and measured the question. */
static const struct stage ask_stages[] = {
    { "parseInput", NULL },
    { "validateRequest", stage_validate_request, .needed = true },
    { "generateElicitId", stage_generate_id, .needed = true },
    { "storePendingRecord", stage_store_pending, .needed = true },
    { "buildRequestParams", stage_build_params },
    { "finalize", stage_finalize },
};

static void ask_flow_done(struct flow *flow, void *subject, nod_status status)
{
    struct ask *ask = subject;

    if (status == NOD_OK)
        return;
    if (ask->call->state != LIVE_ASKING || ask->listed) {
        /* A hook objects to an ask that is stored already. Nobody is asked, and the handler learns
         * it. */
        if (!ask->claiming)
            claim_by_engine(ask, ASK_UNSUPPORTED);
        return;
    }
    LOG_INFO("ask refused", LOG_STR("call", ask->record.call_id),
             LOG_CSTR("stage", flow_stage(flow)), LOG_CSTR("why", nod_status_name(status)));
    if (!ask->call->asks_quota && ask->call->asks_failed == NOD_OK)
        call_refused(ask->call, flow, status);
    ask->call->asks_failed = status;
    call_asks_settled(ask->call);
}

const struct flow_table ask_flow = { .id = NOD_FLOW_ASK,
                                     .done = ask_flow_done,
                                     .stages = ask_stages,
                                     .count = sizeof(ask_stages) / sizeof(ask_stages[0]),
                                     .describe = ask_describe,
                                     .write = ask_write,
                                     .halted = ask_halted,
                                     .unhooked = ask_is_unhooked };

void ask_begin(struct ask *ask)
{
    flow_start(&ask->flow, &ask_flow, ask->call->engine->hooks, NULL, ask);
}

void ask_stored(struct ask *ask)
{
    struct engine *engine = ask->call->engine;
    int64_t left =
        ask->record.expires_ms ? ask->record.expires_ms - engine_now(engine) : ask->record.ttl_ms;

    if (ask->listed) { /* its call was taken over while it rested, or answers were brought to it */
        if (!flow_awaits_hook(&ask->flow)) /* else it is offered when the hook has finished */
            ask_offer_unless_carried(ask);
        return;
    }
    ask->listed = idmap_set(&engine->asks, ask);
    engine->asks_moved++;
    due_set(engine, &ask->expiry, left > 0 ? left : 0, ask_expired);
    if (ask->flow.table) {
        engine->counts.asked += ask->record.kind != ASK_CALL;
        flow_next(&ask->flow);
        return;
    }
    /* An ask that came back has been through its request stages. It is older than the one in its
     * scope. */
    if (engine->opts.one_ask_per_scope && ask->record.kind != ASK_CALL &&
        !map_get(&engine->scopes, ask->record.scope))
        map_set(&engine->scopes, ask->record.scope, ask);
    /* Clients that carry their questions refuse nothing, and without a client nobody is asked too
     * early. */
    if (!call_is_alone(ask->call) && !ask->call->carries)
        ask_turn_to(ask, ask->record.turn);
    ask_offer_unless_carried(ask);
}

const struct ask_record *ask_record(const struct ask *ask)
{
    return &ask->record;
}

struct call *ask_call(const struct ask *ask)
{
    return ask->call;
}

bool ask_is_opened(const struct ask *ask)
{
    return ask->opened;
}
