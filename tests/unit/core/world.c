/* tests/unit/core/world: see world.h. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world *world_now;

static void copy(char *to, size_t room, struct str s)
{
    size_t len = s.len < room - 1 ? s.len : room - 1;

    if (len)
        memcpy(to, s.at, len);
    to[len] = '\0';
}

uint64_t world_random(struct world *world)
{
    world->seed ^= world->seed << 13;
    world->seed ^= world->seed >> 7;
    world->seed ^= world->seed << 17;
    return world->seed;
}

/* --- the queue --- */

static void defer(void *ctx, void (*fn)(void *data), void *data)
{
    struct world *world = ctx;

    assert_true(world->queued < WORLD_QUEUE_MAX);
    world->queue[world->queued].fn = fn;
    world->queue[world->queued].data = data;
    world->queued++;
}

bool world_turn(struct world *world)
{
    if (world->queued == 0)
        return false;
    size_t at = world->seed ? world_random(world) % world->queued : 0;
    void (*fn)(void *) = world->queue[at].fn;
    void *data = world->queue[at].data;
    memmove(&world->queue[at], &world->queue[at + 1],
            (world->queued - at - 1) * sizeof(world->queue[0]));
    world->queued--;
    fn(data);
    return true;
}

void world_settle(struct world *world)
{
    for (int i = 0; world_turn(world); i++)
        assert_true(i < 100000);
}

void world_advance(struct world *world, int64_t ms)
{
    fake_clock_advance(&world->clock, ms);
    engine_tick(world->engine);
    world_settle(world);
}

static enum memory_fault fault(void *ctx, const char *verb)
{
    struct world *world = ctx;

    if (world->fail_times > 0 && world->fail_verb && strstr(world->fail_verb, verb)) {
        world->fail_times--;
        return world->fail_how;
    }
    if (!world->seed || world_random(world) % 1000 >= world->fault_per_mille)
        return MEMORY_FINE;
    return world_random(world) % 2 ? MEMORY_FAIL_BEFORE : MEMORY_FAIL_AFTER;
}

/* --- surfaces --- */

static bool first_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    (void)surface;
    (void)call;
    return world_now->can & 1u << kind;
}

static void first_offer(struct surface *surface, struct ask *ask, int attempt, struct str problems)
{
    struct world *world = world_now;
    struct shown *shown = &world->shown[world->shown_count++];

    assert_true(world->shown_count < WORLD_SHOWN_MAX);
    memset(shown, 0, sizeof(*shown));
    copy(shown->id, sizeof(shown->id), ask_record(ask)->id);
    copy(shown->key, sizeof(shown->key), ask_record(ask)->key);
    copy(shown->message, sizeof(shown->message), ask_record(ask)->message);
    copy(shown->problems, sizeof(shown->problems), problems);
    shown->attempt = attempt;
    shown->up = world->offer == OFFER_SHOWN;
    ask_offered(ask, surface, world->offer);
}

static void note_winner(struct shown *shown, const struct winner *winner)
{
    shown->end = winner->state;
    copy(shown->by, sizeof(shown->by), winner->by);
    copy(shown->via, sizeof(shown->via), winner->via);
    shown->winner = winner->surface;
}

static void first_withdraw(struct surface *surface, struct ask *ask, struct str why,
                           const struct winner *winner)
{
    (void)surface;
    if (world_now->on_withdraw)
        world_now->on_withdraw(ask);
    for (size_t i = 0; i < world_now->shown_count; i++) {
        struct shown *shown = &world_now->shown[i];
        if (shown->up && str_eq(str_of(shown->id), ask_record(ask)->id)) {
            shown->up = false;
            copy(shown->why, sizeof(shown->why), why);
            note_winner(shown, winner);
        }
    }
}

static bool second_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    (void)surface;
    (void)call;
    return world_now->second_can & 1u << kind;
}

static void second_offer(struct surface *surface, struct ask *ask, int attempt, struct str problems)
{
    (void)attempt;
    (void)problems;
    if (world_now->second_count < WORLD_SHOWN_MAX) {
        struct shown *shown = &world_now->second_shown[world_now->second_count];
        *shown = (struct shown){ .up = world_now->second_offer == OFFER_SHOWN };
        copy(shown->id, sizeof(shown->id), ask_record(ask)->id);
    }
    world_now->second_count++;
    ask_offered(ask, surface, world_now->second_offer);
}

static void second_withdraw(struct surface *surface, struct ask *ask, struct str why,
                            const struct winner *winner)
{
    (void)surface;
    for (size_t i = 0; i < world_now->second_count && i < WORLD_SHOWN_MAX; i++) {
        struct shown *shown = &world_now->second_shown[i];
        if (shown->up && str_eq(str_of(shown->id), ask_record(ask)->id)) {
            shown->up = false;
            copy(shown->why, sizeof(shown->why), why);
            note_winner(shown, winner);
        }
    }
}

static struct surface_ops first_ops;
static const struct surface_ops second_ops = {
    .name = "second", .can = second_can, .offer = second_offer, .withdraw = second_withdraw
};

/* --- the caller --- */

static enum caller_way caller_asked(struct caller *caller, struct call *call)
{
    struct world_caller *mine = (struct world_caller *)caller;

    mine->asked++;
    if (world_now->on_asked)
        world_now->on_asked(mine, call);
    return mine->way;
}

static struct world_brings *brought_to(struct world_caller *mine, const struct ask_record *ask)
{
    for (size_t i = 0; i < WORLD_BRINGS_MAX; i++)
        if (mine->brings[i].key && str_eq(str_of(mine->brings[i].key), ask->key))
            return &mine->brings[i];
    return NULL;
}

static bool caller_brings(struct caller *caller, struct call *call)
{
    struct world_caller *mine = (struct world_caller *)caller;
    struct arena arena;

    arena_init(&arena, 1 << 16);
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask)) {
        const struct world_brings *one = brought_to(mine, ask_record(ask));
        if (one)
            call_bring(ask, &(struct answer){
                                .action = one->action,
                                .content = one->content ? json_parse(&arena, str_of(one->content),
                                                                     NULL, NULL)
                                                        : NULL,
                                .by = STR("ann"),
                                .surface = &world_now->surface,
                                .attempt = ask_record(ask)->attempt });
    }
    arena_finish(&arena);
    return true;
}

static void caller_answered(struct caller *caller, struct str ask_id,
                            const struct answer_result *result)
{
    struct world_caller *mine = (struct world_caller *)caller;
    struct world_brings *one = &mine->brings[0];

    for (size_t i = 0; i < WORLD_BRINGS_MAX; i++)
        if (mine->brings[i].key && !mine->brings[i].told) { /* they are told in their order */
            one = &mine->brings[i];
            break;
        }
    (void)ask_id;
    one->told++;
    one->status = result->status;
    one->pending = result->pending;
    one->same = result->same;
    copy(one->via, sizeof(one->via), result->via);
}

static bool caller_contradicted(struct caller *caller, struct call *call)
{
    struct world_caller *mine = (struct world_caller *)caller;

    (void)call;
    mine->contradicted++;
    return !mine->stays;
}

static void caller_notify(struct caller *caller, struct call *call, const struct notice *notice)
{
    struct world_caller *mine = (struct world_caller *)caller;
    size_t len = strlen(mine->order);

    (void)call;
    mine->notices++;
    snprintf(mine->order + len, sizeof(mine->order) - len, STR_FMT ";", STR_ARG(notice->text));
}

static void caller_waiting(struct caller *caller, struct call *call, bool waiting)
{
    struct world_caller *mine = (struct world_caller *)caller;

    mine->waiting = waiting;
    mine->waiting_changes++;
    if (world_now->on_waiting)
        world_now->on_waiting(mine, call, waiting);
}

static void caller_finished(struct caller *caller, struct call *call, const struct outcome *outcome)
{
    struct world_caller *mine = (struct world_caller *)caller;

    (void)call;
    assert_null(caller->call);
    mine->finished++;
    mine->status = outcome->status;
    copy(mine->code, sizeof(mine->code), str_of(outcome->code));
    copy(mine->body, sizeof(mine->body), outcome->body);
    copy(mine->message, sizeof(mine->message), outcome->message);
    copy(mine->details, sizeof(mine->details), outcome->details);
}

static uint64_t caller_reserve(struct caller *caller, struct call *call)
{
    struct world_caller *mine = (struct world_caller *)caller;
    uint64_t place = mine->place;

    (void)call;
    mine->place += place ? PLACE_STEP : 0;
    return place;
}

static const struct caller_ops caller_ops = { .reserve = caller_reserve,
                                              .brings = caller_brings,
                                              .answered = caller_answered,
                                              .contradicted = caller_contradicted,
                                              .asked = caller_asked,
                                              .notify = caller_notify,
                                              .finished = caller_finished,
                                              .waiting = caller_waiting };

/* --- the provider --- */

static void provider_start(struct provider *provider, struct run *run)
{
    struct str body = STR_NONE;

    (void)provider;
    world_now->runs++;
    if (world_now->blocking) {
        world_now->held = run;
        return;
    }
    nod_status status = world_now->handler(run, &body);
    run_done(run, status, body);
}

static void provider_cancelled(struct provider *provider, struct run *run)
{
    (void)provider;
    (void)run;
    world_now->cancelled_told = true;
}

static const struct provider_ops provider_ops = {
    .name = "test", .c_strings = true, .start = provider_start, .cancelled = provider_cancelled
};

/* --- the whole --- */

void world_engine(struct world *world)
{
    const struct world_opts *opts = &world->opts;

    world->engine = engine_create(
        &(struct engine_opts){ .clock = &world->clock.clock,
                               .store = world->store,
                               .defer = defer,
                               .defer_ctx = world,
                               .ask_ttl_ms = opts->ttl_ms,
                               .one_ask_per_scope = opts->one_ask_per_scope,
                               .consent = "any", /* roles are the subject of consent.c */
                               .limits = opts->limits });
    assert_true(engine_add_surface(world->engine, &world->surface));
    assert_true(engine_add_surface(world->engine, &world->second));
}

void world_init(struct world *world, const struct world_opts *opts)
{
    memset(world, 0, sizeof(*world));
    world_now = world;
    world->seed = opts->seed;
    world->fault_per_mille = opts->fault_per_mille;
    world->handler = opts->handler;
    world->can = 1u << ASK_FORM | 1u << ASK_APPROVAL | 1u << ASK_URL;
    fake_clock_init(&world->clock, 1700000000000);
    world->store = memory_store_create(&(struct memory_opts){ .clock = &world->clock.clock,
                                                              .defer = defer,
                                                              .defer_ctx = world,
                                                              .fault = fault,
                                                              .fault_ctx = world });
    first_ops = (struct surface_ops){ .name = "first",
                                      .can = first_can,
                                      .offer = first_offer,
                                      .withdraw = first_withdraw,
                                      .attempts = opts->surface_attempts,
                                      .model = opts->model,
                                      .client = true };
    world->surface.ops = &first_ops;
    world->second.ops = &second_ops;
    world->opts = *opts;
    world_engine(world);
    world->provider.ops = &provider_ops;
    world->target = (struct target){ .kind = TARGET_TOOL,
                                     .name = STR("tool"),
                                     .title = STR("Tool"),
                                     .provider = &world->provider,
                                     .timeout_ms = opts->timeout_ms,
                                     .requires_confirmation = opts->requires_confirmation };
}

void world_finish(struct world *world)
{
    world->store->ops->destroy(world->store);
    engine_destroy(world->engine);
    world->engine = NULL;
    if (world->held)
        run_done(world->held, NOD_PENDING, STR_NONE);
    world->seed = 0;
    world_settle(world); /* replies of a store that is gone free themselves */
}

struct world_caller *world_caller_new(struct world *world)
{
    struct world_caller *caller = &world->callers[world->caller_count++];

    assert_true(world->caller_count <= WORLD_CALLS_MAX);
    memset(caller, 0, sizeof(*caller));
    caller->caller.ops = &caller_ops;
    return caller;
}

struct world_caller *world_call(struct world *world, const char *principal, const char *scope)
{
    struct world_caller *caller = world_caller_new(world);

    engine_call(world->engine, &(struct call_spec){ .target = &world->target,
                                                    .principal = str_of(principal),
                                                    .scope = str_of(scope),
                                                    .caller = &caller->caller });
    return caller;
}

struct shown *world_up(struct world *world)
{
    for (size_t i = world->shown_count; i-- > 0;)
        if (world->shown[i].up)
            return &world->shown[i];
    return NULL;
}

struct shown *world_up_key(struct world *world, const char *key)
{
    for (size_t i = world->shown_count; i-- > 0;)
        if (world->shown[i].up && strcmp(world->shown[i].key, key) == 0)
            return &world->shown[i];
    return NULL;
}

static void answered(void *data, const struct answer_result *result)
{
    struct world *world = data;

    world->last = *result;
    copy(world->said_code, sizeof(world->said_code), str_of(result->code));
    copy(world->said, sizeof(world->said), result->message);
    copy(world->said_problems, sizeof(world->said_problems), result->problems);
    world->answered++;
    if (world->on_answered)
        world->on_answered();
}

void world_answer_by(struct world *world, const char *id, const struct answer *answer)
{
    char exact[64];

    snprintf(exact, sizeof(exact), "%s", id);
    ask_answer(world->engine, str_of(exact), answer, answered, world);
    if (!world->seed)
        world_settle(world);
}

void world_answer(struct world *world, const char *id, enum ask_state action, const char *content,
                  const char *by, int attempt)
{
    struct arena arena;
    struct json_error error;

    arena_init(&arena, 1 << 20);
    struct json *value = content ? json_parse(&arena, str_of(content), NULL, &error) : NULL;
    world_answer_by(world, id,
                    &(struct answer){ .action = action,
                                      .content = value,
                                      .by = str_of(by),
                                      .surface = &world->surface,
                                      .attempt = attempt });
    arena_finish(&arena);
}

void world_hook(struct world *world, nod_flow flow, const char *stage, nod_hook_kind kind,
                nod_status (*fn)(struct nod_hook_run *hook, void *data), void *data)
{
    assert_int_equal(
        hooks_add(
            engine_hooks(world->engine),
            &(struct hook_spec){
                .table = engine_flow(flow), .stage = stage, .kind = kind, .fn = fn, .data = data }),
        NOD_OK);
}

nod_status world_ask(struct run *run, const char *key, const char *message, const char *schema,
                     const struct entry **answer)
{
    return run_ask(run,
                   &(struct ask_spec){ .kind = ASK_FORM,
                                       .key = str_of(key),
                                       .message = str_of(message),
                                       .detail = str_of(schema) },
                   answer);
}

nod_status world_step(struct run *run, struct world *world, const char *key, bool at_most_once)
{
    const struct entry *entry;
    bool go;
    nod_status status = run_step(run, str_of(key), at_most_once, false, &entry, &go);

    if (status != NOD_PENDING || !go)
        return status == NOD_OK ? entry->status : status;
    world->steps_done++;
    return run_step_done(run, str_of(key), NOD_OK, STR("{\"done\":true}"));
}
