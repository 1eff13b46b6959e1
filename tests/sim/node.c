/*
 * tests/sim/node: a node of this world.
 *
 * An engine with its own clock, and what a protocol would add to it: seats, which are the requests
 * of clients, and a provider whose handlers may take long. A seat does what a caller must do: the
 * handle goes out first, and only then is the store told that the client can come back.
 *
 * A crash takes all of it, and nobody is told. The next start has another name.
 */
#include "sim.h"

#include "base/mem.h"
#include "core/catalog.h"
#include "core/gone.h"

#include <stdio.h>

/* --- time and turns --- */

bool node_awake(const struct node *node)
{
    return node->up && !node->asleep;
}

void node_set_clock(struct node *node)
{
    node->clock.wall = sim.now + node->skew;
    node->clock.mono = sim.now - node->started;
}

static void node_defer(void *ctx, void (*fn)(void *data), void *data)
{
    struct node *node = ctx;

    if (node->deferred_count == SIM_DEFERRED)
        broken("%s has more to do than fits", node->name);
    size_t at = (node->deferred_first + node->deferred_count++) % SIM_DEFERRED;
    node->deferred[at].fn = fn;
    node->deferred[at].data = data;
}

bool node_run_deferred(struct node *node)
{
    if (node->deferred_count == 0)
        return false;
    size_t at = node->deferred_first;
    node->deferred_first = (at + 1) % SIM_DEFERRED;
    node->deferred_count--;
    node->deferred[at].fn(node->deferred[at].data);
    return true;
}

void node_tick(struct node *node)
{
    node_set_clock(node);
    engine_tick(node->engine);
}

/* --- seats --- */

static const struct caller_ops held_ops;
static const struct caller_ops carried_ops;

static struct seat *seat_of(const struct call *call)
{
    struct caller *caller = call_caller(call);

    return caller->ops == &held_ops || caller->ops == &carried_ops ? (struct seat *)(void *)caller
                                                                   : NULL;
}

static struct seat *seat_new(struct node *node, struct sim_call *call)
{
    struct seat *seat = MEM_NEW(struct seat);

    seat->caller.ops = call->kind == KIND_CARRY ? &carried_ops : &held_ops;
    seat->node = node;
    seat->call = call;
    list_init(&seat->link);
    list_append(&node->seats, &seat->link);
    return seat;
}

static void seat_lets_go(struct seat *seat)
{
    if (seat->target)
        target_release(seat->target);
    seat->target = NULL;
}

static void seat_forget(struct seat *seat)
{
    message_free(seat->record);
    message_free(seat->asks);
    seat->record = seat->asks = NULL;
}

static void seat_free(struct seat *seat)
{
    seat_forget(seat);
    seat_lets_go(seat);
    list_remove(&seat->link);
    mem_free(seat);
}

void node_sweep(struct node *node)
{
    LIST_EACH (at, &node->seats) {
        struct seat *seat = LIST_OF(at, struct seat, link);
        if (seat->over && !seat->caller.call && !seat->looking)
            seat_free(seat);
    }
}

static bool arrives(const struct seat *seat)
{
    return seat->connected && (sim.calm || dice() % 1000 >= sim.lost);
}

/* The client is sent something to come back with; perhaps it never arrives. */
static void hand_out(struct seat *seat)
{
    seat->call->handle_out = true;
    if (arrives(seat))
        client_given_handle(seat->call);
}

static void show(struct seat *seat, const struct call *call)
{
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask))
        client_shown(seat->call, ask_record(ask), ask_record(ask)->attempt);
}

static bool stands_in(const struct entry *entries, size_t count, struct str ask_id)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].class == ENTRY_ASK && str_eq(entries[i].ask_id, ask_id))
            return true;
    return false;
}

/* A round is one thing: what its client brings is compared with what the call was told before, and
 * all of it must be known. */
static bool seat_agrees(const struct seat *seat, const struct call *live)
{
    const struct submission *submission = &sim.submissions[seat->brings];
    const struct call_record *record = seat->record ? seat->record->reply.call : NULL;
    size_t count;
    const struct entry *entries = call_journal(live, &count);

    for (size_t i = 0; i < submission->count; i++) {
        struct str id = str_of(submission->asks[i].id);
        bool pending = false;
        for (struct ask *ask = call_ask_first(live); ask; ask = call_ask_next(live, ask))
            pending |= str_eq(ask_record(ask)->id, id);
        if (pending)
            continue;
        struct sim_call *of = ledger_call_of_ask(id);
        if (of == seat->call && of->shape != SHAPE_LIVE &&
            !(record && stands_in(record->entries, record->entry_count, id)) &&
            !stands_in(entries, count, id))
            return false; /* it was answered since it was looked at */
        const struct ledger_ask *ask = ledger_ask(of, id);
        if (ask->state == ASK_ACCEPTED && ask->number != (int64_t)seat->brings &&
            !sim.submissions[ask->number].elsewhere)
            return false;
    }
    return true;
}

static bool seat_brings(struct caller *caller, struct call *live)
{
    struct seat *seat = (struct seat *)(void *)caller;
    struct answer answer;
    struct arena arena;

    if (seat->brings && !seat_agrees(seat, live)) {
        seat->over = true; /* its client is told so, or has to come again */
        return false;
    }
    arena_init(&arena, 1 << 14);
    for (struct ask *ask = call_ask_first(live); seat->brings && ask;
         ask = call_ask_next(live, ask))
        if (submission_answer(seat->node, seat->brings, ask_record(ask)->id, &arena, &answer))
            call_bring(ask, &answer);
    arena_finish(&arena);
    return true;
}

static void seat_answered(struct caller *caller, struct str ask_id,
                          const struct answer_result *result)
{
    struct seat *seat = (struct seat *)(void *)caller;

    seat->counted |= result->status == NOD_OK && !result->pending;
    submission_heard(seat->brings, ask_id, result);
}

static bool seat_contradicted(struct caller *caller, struct call *live)
{
    struct seat *seat = (struct seat *)(void *)caller;

    (void)live;
    TRACE("client: answer %zu to call %zu contradicts what was said", seat->brings,
          seat->call->number);
    if (seat->counted)
        broken("nothing of answer %zu counts, and part of it does", seat->brings);
    seat->over = true;
    return true;
}

static enum caller_way seat_asked(struct caller *caller, struct call *live)
{
    struct seat *seat = (struct seat *)(void *)caller;

    if (seat->absent) {
        seat->over = true;
        return CALLER_LEAVES;
    }
    if (seat->call->kind != KIND_HELD && seat->connected) {
        hand_out(seat);
        call_handed(live);
    }
    if (seat->call->kind != KIND_CARRY)
        return CALLER_HOLDS;
    if (arrives(seat))
        show(seat, live);
    seat->over = true;
    return CALLER_LEAVES;
}

static void seat_finished(struct caller *caller, struct call *live, const struct outcome *outcome)
{
    struct seat *seat = (struct seat *)(void *)caller;

    (void)live;
    seat->over = true;
    if (!seat->absent && arrives(seat))
        ledger_told(seat->call, outcome);
}

static void seat_notify(struct caller *caller, struct call *live, const struct notice *notice)
{
    (void)caller, (void)live, (void)notice;
}

static const struct caller_ops held_ops = { .asked = seat_asked,
                                            .notify = seat_notify,
                                            .finished = seat_finished };
static const struct caller_ops carried_ops = { .brings = seat_brings,
                                               .answered = seat_answered,
                                               .contradicted = seat_contradicted,
                                               .asked = seat_asked,
                                               .notify = seat_notify,
                                               .finished = seat_finished,
                                               .carries = true };

/* --- beginning --- */

static struct call_spec spec_of(struct seat *seat)
{
    const struct sim_call *call = seat->call;

    return (struct call_spec){ .target = seat->target,
                               .principal = STR("ann"),
                               .scope = STR("s"),
                               .caller_record = STR("{}"),
                               .keep_ms = sim.keep_ms,
                               .id = str_of(call->id),
                               .caller = &seat->caller };
}

static void opened(void *data, nod_status status, const struct store_reply *reply)
{
    struct seat *seat = data;
    struct call_spec spec = spec_of(seat);

    (void)reply;
    seat->looking--;
    if (status != NOD_OK) {
        seat_lets_go(seat);
        seat->call->left = true; /* told to try again later, with another call */
        seat->over = true;
        return;
    }
    hand_out(seat);
    spec.opened = spec.handed = true;
    engine_call(seat->node->engine, &spec);
    seat_lets_go(seat);
}

void seat_begin(struct node *node, struct sim_call *call)
{
    struct target *target = shape_target(node, call->shape);

    if (!target) { /* unknown tool */
        call->left = true;
        return;
    }
    struct seat *seat = seat_new(node, call);
    target_hold(target);
    seat->target = target;
    struct call_spec spec = spec_of(seat);
    seat->connected = true;
    if (call->kind == KIND_HELD) {
        seat->looking++;
        engine_open(node->engine, &spec, opened, seat);
    } else {
        engine_call(node->engine, &spec);
        seat_lets_go(seat);
    }
}

/* --- coming back --- */

static void look(struct seat *seat);
static void comes(struct seat *seat);

static void adopt(struct seat *seat)
{
    struct ask_record asks[SIM_ASKS];
    struct target *target = shape_target(seat->node, seat->call->shape);
    size_t count = 0;

    if (!target) {
        comes(seat);
        return;
    }
    for (size_t i = 0; seat->asks && i < seat->asks->row_count; i++)
        if (seat->asks->rows[i].ask->state == ASK_PENDING && count < SIM_ASKS)
            asks[count++] = *seat->asks->rows[i].ask;
    bool done =
        engine_adopt(seat->node->engine, &(struct adopt_spec){ .record = seat->record->reply.call,
                                                               .asks = asks,
                                                               .ask_count = count,
                                                               .target = target,
                                                               .keep_ms = sim.keep_ms,
                                                               .handed = true,
                                                               .caller = &seat->caller });
    if (!seat->brings)
        seat_forget(seat);
    if (!done) /* it is live here by now */
        look(seat);
}

static void asks_found(void *data, nod_status status, const struct store_reply *reply)
{
    struct seat *seat = data;

    seat->looking--;
    if (!seat->connected || status != NOD_OK) {
        seat->over = true;
        return;
    }
    seat->asks = message_keep(reply);
    adopt(seat);
}

static void no_row(void *data, const struct store_row *row)
{
    (void)data, (void)row;
}

static void gone(struct seat *seat)
{
    seat->over = true;
    ledger_not_found(seat->call);
    if (seat->call->stored) /* and its handle is over */
        seat->call->left = true;
}

static void found(void *data, nod_status status, const struct store_reply *reply)
{
    struct seat *seat = data;
    struct store *store = &seat->node->link.store;

    seat->looking--;
    if (!seat->connected || (status != NOD_OK && status != NOD_E_NOT_FOUND)) {
        seat->over = true;
    } else if (status == NOD_E_NOT_FOUND || reply->call->forgotten) {
        gone(seat);
    } else if (reply->call->state == CALL_STORED_FINISHED ||
               reply->call->state == CALL_STORED_CANCELLED) {
        seat->over = true;
        if (arrives(seat))
            ledger_told_stored(seat->call, reply->call->result);
    } else {
        seat_forget(seat);
        seat->record = message_keep(reply);
        if (reply->call->state != CALL_STORED_WAITING) {
            adopt(seat);
            return;
        }
        seat->looking++;
        store->ops->scan(
            store,
            &(struct store_scan){ .index = STORE_ASKS_OF_CALL, .key = str_of(seat->call->id) },
            no_row, asks_found, seat);
    }
}

/* --- coming back through the door, for a call that may have a home --- */

static struct seat *seat_of_comer(const struct comer *comer)
{
    return LIST_OF(comer, struct seat, comer);
}

static bool comer_there(const struct comer *comer)
{
    return seat_of_comer(comer)->connected;
}

static bool comer_waits(struct comer *comer, const struct call_record *record,
                        struct adopt_spec *spec)
{
    (void)record;
    spec->keep_ms = sim.keep_ms;
    spec->handed = true;
    spec->caller = &seat_of_comer(comer)->caller;
    return true;
}

static void comer_done(struct comer *comer, const struct back *back)
{
    struct seat *seat = seat_of_comer(comer);

    seat->looking--;
    if (back->as == BACK_WAITS)
        return;
    if (back->as == BACK_UNKNOWN || back->as == BACK_FORGOTTEN)
        gone(seat);
    else if (back->as == BACK_ENDED && arrives(seat))
        ledger_told_stored(seat->call, back->record->result);
    seat->over = true;
}

static const struct comer_ops comer_ops = { .there = comer_there,
                                            .waits = comer_waits,
                                            .done = comer_done };

static void comes(struct seat *seat)
{
    seat->looking++;
    seat->comer = (struct comer){ .ops = &comer_ops,
                                  .call = id_of(str_of(seat->call->id)),
                                  .principal = STR("ann"),
                                  .asks = true };
    engine_return(seat->node->engine, &seat->comer);
}

/* The newest request is the one that is answered. */
static void take_over(struct seat *seat, struct call *live)
{
    struct seat *other = seat_of(live);

    call_change_caller(live, &seat->caller);
    if (other)
        other->over = true;
    if (call_waiting(live) && arrives(seat))
        show(seat, live);
}

static void look(struct seat *seat)
{
    struct node *node = seat->node;
    struct store *store = &node->link.store;
    struct call *live = engine_find(node->engine, str_of(seat->call->id));

    if (live) {
        take_over(seat, live);
    } else if (seat->call->shape >= SHAPE_LIVE || !shape_target(node, seat->call->shape)) {
        comes(seat);
    } else {
        seat->looking++;
        store->ops->load_call(store, str_of(seat->call->id), found, seat);
    }
}

void seat_come_back(struct node *node, struct sim_call *call, size_t brings)
{
    struct seat *seat = seat_new(node, call);

    seat->connected = true;
    seat->brings = brings;
    look(seat);
}

void seat_disconnect(struct node *node, struct sim_call *call)
{
    LIST_EACH (at, &node->seats) {
        struct seat *seat = LIST_OF(at, struct seat, link);
        if (seat->call != call || !seat->connected)
            continue;
        seat->connected = false;
        if (seat->caller.call && one_in(2)) {
            call_caller_left(seat->caller.call);
            seat->over = true;
        }
    }
}

/* --- recovery --- */

static void orphan(void *data, const struct call_record *record)
{
    struct node *node = data;
    struct sim_call *call = ledger_call(record->id);

    ledger_orphan(record);
    struct target *target = shape_target(node, call->shape);
    if (!target)
        engine_orphan_gone(node->engine, record);
    if (!target || (!sim.calm && one_in(4))) /* left to others, for now */
        return;
    struct seat *seat = seat_new(node, call);
    seat->absent = true;
    TRACE("node %s: recovers call %zu", node->name, call->number);
    if (!engine_adopt(node->engine, &(struct adopt_spec){ .record = record,
                                                          .target = target,
                                                          .keep_ms = sim.keep_ms,
                                                          .caller = &seat->caller }))
        seat->over = true;
}

/* --- surfaces --- */

static bool carried_by_client(const struct call *call)
{
    const struct sim_call *known = ledger_call(call_id(call));

    return known && known->kind == KIND_CARRY;
}

static bool held_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    (void)surface;
    return kind == ASK_FORM && !carried_by_client(call);
}

static bool carried_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    (void)surface;
    return kind == ASK_FORM && carried_by_client(call);
}

static void offer(struct surface *surface, struct ask *ask, int attempt, struct str problems)
{
    struct seat *seat = seat_of(ask_call(ask));

    (void)problems;
    if (seat && arrives(seat))
        client_shown(seat->call, ask_record(ask), attempt);
    ask_offered(ask, surface, !sim.calm && one_in(100) ? OFFER_REFUSED : OFFER_SHOWN);
}

static void withdraw(struct surface *surface, struct ask *ask, struct str why,
                     const struct winner *winner)
{
    (void)surface, (void)ask, (void)why, (void)winner;
}

/* --- a place beside the client --- */

static size_t up_at(const struct node *node, struct str id)
{
    size_t at = 0;

    while (at < node->asked_count && !str_eq(str_of(node->asked[at]), id))
        at++;
    return at;
}

void inbox_done(struct node *node, struct str ask_id)
{
    size_t at = up_at(node, ask_id);

    if (at == node->asked_count)
        return;
    memmove(node->asked[at], node->asked[at + 1],
            (--node->asked_count - at) * sizeof(node->asked[0]));
}

static bool inbox_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    (void)surface, (void)call;
    return kind == ASK_FORM;
}

static void inbox_offer(struct surface *surface, struct ask *ask, int attempt, struct str problems)
{
    struct node *node = LIST_OF(surface, struct node, inbox);
    struct str id = ask_record(ask)->id;

    (void)attempt, (void)problems;
    if (up_at(node, id) < node->asked_count)
        broken("a question was put up twice at %s", node->name);
    if (node->asked_count == SIM_UP || (!sim.calm && one_in(20))) {
        ask_offered(ask, surface, OFFER_REFUSED);
        return;
    }
    snprintf(node->asked[node->asked_count++], sizeof(node->asked[0]), STR_FMT, STR_ARG(id));
    people_shown(ledger_call(call_id(ask_call(ask))), ask_record(ask));
    figures.rested += !seat_of(ask_call(ask));
    ask_offered(ask, surface, OFFER_SHOWN);
}

static void inbox_withdraw(struct surface *surface, struct ask *ask, struct str why,
                           const struct winner *winner)
{
    struct node *node = LIST_OF(surface, struct node, inbox);
    size_t at = up_at(node, ask_record(ask)->id);

    (void)why;
    if (at == node->asked_count)
        broken("a question was taken down at %s that was not up", node->name);
    inbox_done(node, ask_record(ask)->id);
    ledger_withdrawn(ask_record(ask)->id, winner);
}

static const struct surface_ops inbox_surface = {
    .name = "inbox", .can = inbox_can, .offer = inbox_offer, .withdraw = inbox_withdraw
};

static const struct surface_ops held_surface = { .name = "client",
                                                 .can = held_can,
                                                 .offer = offer,
                                                 .withdraw = withdraw,
                                                 .attempts = 1,
                                                 .client = true };
static const struct surface_ops carried_surface = { .name = "round",
                                                    .can = carried_can,
                                                    .offer = offer,
                                                    .withdraw = withdraw,
                                                    .attempts = CARRY_ATTEMPTS,
                                                    .client = true };

/* --- handlers --- */

static struct node *node_of(struct provider *provider)
{
    return LIST_OF(provider, struct node, provider);
}

void node_runs(struct node *node, struct run *run)
{
    struct str body = STR_NONE;

    ledger_run(node, run);
    if (run->target->removed && !target_stays(run->target))
        broken("%s runs " STR_FMT " in an edition that was replaced", node->name,
               STR_ARG(run->target->name));
    if (ledger_crashes(run)) { /* nothing of it happens any more, and its node goes next */
        node->crashed = run;
        node->falls = true;
        return;
    }
    if (sim.slow && !sim.calm && one_in(2) && node->held_count < SIM_HELD) {
        node->held[node->held_count].run = run;
        node->held[node->held_count++].epoch = ledger_epoch(run);
        return;
    }
    nod_status status = shape_work(run, ledger_epoch(run), &body);
    run_done(run, status, body);
}

static void provider_start(struct provider *provider, struct run *run)
{
    node_runs(node_of(provider), run);
}

bool node_return_one(struct node *node)
{
    struct str body = STR_NONE;

    if (node->held_count == 0)
        return false;
    size_t at = pick(node->held_count);
    struct run *run = node->held[at].run;
    uint64_t epoch = node->held[at].epoch;
    node->held[at] = node->held[--node->held_count];
    nod_status status = shape_work(run, epoch, &body);
    run_done(run, status, body);
    return true;
}

static void provider_released(struct provider *provider, struct target *target)
{
    editions_released(node_of(provider), target);
}

static const struct provider_ops provider_ops = { .name = "sim",
                                                  .start = provider_start,
                                                  .released = provider_released };

/* --- up and down --- */

void node_start(struct node *node)
{
    if (sim.name_count == SIM_NAMES)
        return;
    snprintf(node->name, sizeof(node->name), "n%zu.%zu", node->number, sim.name_count);
    snprintf(sim.names[sim.name_count], sizeof(sim.names[0]), "%s", node->name);
    sim.alive_until[sim.name_count++] = 0;
    node->up = true;
    node->asleep = node->cut = false;
    node->started = sim.now;
    node_set_clock(node);
    TRACE("node %s: starts, with a clock that is %lld ms off", node->name,
          (long long)(clock_wall(&node->clock.clock) - store_now()));
    list_init(&node->messages);
    list_init(&node->seats);
    node->deferred_first = node->deferred_count = node->held_count = 0;
    node->surface.ops = &held_surface;
    node->carried.ops = &carried_surface;
    node->inbox.ops = &inbox_surface;
    node->asked_count = 0;
    node->provider.ops = &provider_ops;
    lives_begin(node);
    memset(node->targets, 0, sizeof(node->targets));
    link_init(&node->link, node);
    node->engine = engine_create(&(struct engine_opts){ .clock = &node->clock.clock,
                                                        .store = &node->link.store,
                                                        .node = str_of(node->name),
                                                        .defer = node_defer,
                                                        .defer_ctx = node,
                                                        .consent = "any" });
    if (sim.nested || sim.lively || sim.replacing) {
        node->catalog = catalog_create();
        if (sim.replacing)
            editions_begin(node);
        for (size_t i = 0; !sim.replacing && i < SHAPES; i++)
            if (catalog_add(node->catalog, shape_target(node, i)) != NOD_OK)
                broken("a tool cannot be added");
        engine_use_catalog(node->engine, node->catalog);
    }
    engine_add_surface(node->engine, &node->surface);
    engine_add_surface(node->engine, &node->carried);
    if (sim.together) {
        engine_add_surface(node->engine, &node->inbox);
        if (!engine_use_surfaces(node->engine, (const char *const[]){ "client", "inbox", NULL },
                                 &(struct str){ 0 }))
            broken("there is no inbox");
    }
    engine_recover(node->engine, &(struct recovery_opts){ .orphan = orphan, .data = node });
}

void node_crash(struct node *node)
{
    TRACE("node %s: crashes", node->name);
    node->up = false;
    link_drop(node);
    engine_destroy(node->engine);
    node->engine = NULL;
    for (size_t i = 0; i < node->held_count; i++)
        run_done(node->held[i].run, NOD_PENDING, STR_NONE);
    node->held_count = 0;
    if (node->crashed)
        run_done(node->crashed, NOD_PENDING, STR_NONE);
    node->crashed = NULL;
    node->falls = false;
    while (node_run_deferred(node))
        ;
    LIST_EACH (at, &node->seats)
        seat_free(LIST_OF(at, struct seat, link));
    client_lost_node(node);
    if (node->catalog)
        catalog_destroy(node->catalog);
    node->catalog = NULL;
    if (sim.replacing)
        editions_end(node);
}
