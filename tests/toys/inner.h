/*
 * tests/toys/inner: a provider whose calls wait for calls of other tools, in one file.
 *
 * The tool `outer` calls the tool `inner` with run_call, and replies with how that ended. What
 * `inner` does is set by each test. Nothing in core/, mcp/ or front/ knows of these tools.
 *
 * Behind the provider is what its tests share: callers that hold a call, or come back for it.
 * inner.c compares each end with that of the same tool called directly; inner_rounds.c has the
 * questions of both calls in one round; inner_dies.c takes the process down after each turn;
 * inner_away.c lets the store be away, or the node sleep, while an inner call begins.
 */
#ifndef NOD_TESTS_TOYS_INNER_H
#define NOD_TESTS_TOYS_INNER_H

#include "../unit/core/loaded.h"
#include "../unit/runner.h"

#include <stdio.h>
#include <string.h>

#include "core/comeback.h"
#include "core/consent.h"
#include "core/gone.h"
#include "core/grant.h"
#include "core/hook.h"

static struct world world;
static struct catalog *catalog;
static struct store_ops ops;

/* --- the tools --- */

enum { TOOLS_MAX = 8 };

static struct target tools[TOOLS_MAX];
static size_t tool_count;
static struct provider toy;

/* What `inner` does. */
static struct {
    world_handler *handler;
    int runs; /* of inner, ever */
    int64_t ttl_ms;
    const char *args; /* with which outer calls it */
    bool asks_too;    /* outer asks a question beside */
    int beside;       /* calls of it that outer waits for at the same time, and does not look at */
    bool twice;       /* outer calls it twice, one after the other */
    bool counts_first, counts_last; /* outer reports progress before and after its calls */
} does;

static inline void counts(struct run *run, double progress)
{
    run_notice(run, &(struct notice){ .kind = NOTICE_PROGRESS, .progress = progress, .total = 10 });
}
static const char *does_first; /* a step of outer, before it calls; NULL: none */

static inline struct str kept(struct run *run, struct str text)
{
    return arena_str(&run->arena, text);
}

static inline const struct json *args_of(struct run *run)
{
    return does.args ? json_parse(&run->arena, kept(run, str_of(does.args)), NULL, NULL) : NULL;
}

static char beside_said[128]; /* how one of them failed */

static inline nod_status calls(struct run *run, const char *tool, struct str *body)
{
    const struct entry *answer = NULL;
    struct outcome outcome;

    if (does_first)
        NOD_TRY(world_step(run, &world, does_first, false));
    nod_status asked = does.asks_too && str_eq(run->target->name, STR("outer"))
                           ? world_ask(run, NULL, "Beside?", world_ask_form, &answer)
                           : NOD_OK;
    struct run_call_spec spec = { .tool = str_of(tool),
                                  .args = args_of(run),
                                  .ttl_ms = does.ttl_ms };

    for (int i = 0; i < does.beside; i++) {
        struct outcome other;
        nod_status one = run_call(run, &spec, &other);
        if (one == NOD_OK && other.status != NOD_OK)
            snprintf(beside_said, sizeof(beside_said), STR_FMT, STR_ARG(other.message));
        if (one == NOD_PENDING)
            asked = one;
    }
    if (does.counts_first)
        counts(run, 1);
    nod_status status = run_call(run, &spec, &outcome);
    if (asked == NOD_PENDING)
        return NOD_PENDING;
    if (status == NOD_OK && does.twice)
        status = run_call(run, &spec, &outcome);
    if (status != NOD_OK)
        return status;
    if (does.counts_last)
        counts(run, 9);
    if (outcome.status == NOD_OK)
        *body = arena_fmt(&run->arena, "{\"inner\":" STR_FMT "}", STR_ARG(outcome.body));
    else
        *body =
            arena_fmt(&run->arena, "{\"status\":%d,\"code\":\"%s\",\"message\":\"" STR_FMT "\"}",
                      (int)outcome.status, outcome.code, STR_ARG(outcome.message));
    return NOD_OK;
}

static inline void toy_start(struct provider *provider, struct run *run)
{
    struct str body = STR_NONE, name = run->target->name;
    nod_status status;

    (void)provider;
    if (str_eq(name, STR("outer"))) {
        status = calls(run, "inner", &body);
    } else if (str_eq(name, STR("around"))) {
        status = calls(run, "outer", &body);
    } else if (str_starts(name, STR("deep"))) {
        char next[16];
        snprintf(next, sizeof(next), "deep%d", name.at[4] - '0' + 1);
        status = calls(run, next, &body);
    } else {
        does.runs++;
        status = does.handler(run, &body);
    }
    run_done(run, status, body);
}

static const struct provider_ops toy_ops = { .name = "toy", .start = toy_start };

static inline struct target *tool(const char *name)
{
    struct target *target = catalog_find(catalog, TARGET_TOOL, str_of(name));

    if (target)
        return target;
    assert_true(tool_count < TOOLS_MAX);
    target = &tools[tool_count++];
    *target = (struct target){
        .kind = TARGET_TOOL, .name = str_of(name), .title = str_of(name), .provider = &toy
    };
    assert_int_equal(catalog_add(catalog, target), NOD_OK);
    return target;
}

/* --- the callers --- */

/* One that is told of questions as they come, as a held stream is; world_caller is one that
 * responds once. */
static struct caller_ops held_ops;

static inline void engine_again(void)
{
    engine_use_catalog(world.engine, catalog);
}

static size_t most_calls; /* live at a time; 0: as many as usual */

static inline void begin_with(world_handler *handler, bool durable)
{
    memset(&does, 0, sizeof(does));
    does.handler = handler;
    world_init(&world, &(struct world_opts){ .ttl_ms = 1000, .limits.calls = most_calls });
    ops = *world.store->ops;
    ops.durable = durable;
    world.store->ops = &ops;
    toy.ops = &toy_ops;
    catalog = catalog_create();
    tool_count = 0;
    tool("outer");
    tool("inner");
    engine_again();
}

static inline void begin(world_handler *handler)
{
    begin_with(handler, false);
}

static inline void finish(void)
{
    world_finish(&world);
    catalog_destroy(catalog);
}

static char call_name[ID_LEN + 1];

static inline struct world_caller *caller_held(void)
{
    struct world_caller *caller = world_caller_new(&world);

    held_ops = *caller->caller.ops;
    held_ops.brings = NULL;
    caller->caller.ops = &held_ops;
    caller->way = CALLER_HOLDS;
    return caller;
}

static inline void call_by(struct world_caller *caller, const char *name, bool handed)
{
    engine_call(world.engine, &(struct call_spec){ .target = tool(name),
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .handed = handed,
                                                   .caller = &caller->caller });
    if (caller->caller.call)
        snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
}

static inline struct world_caller *call_of(const char *name, bool held, bool handed)
{
    struct world_caller *caller = held ? caller_held() : world_caller_new(&world);

    if (!held)
        caller->way = CALLER_LEAVES;
    call_by(caller, name, handed);
    return caller;
}

static inline struct world_caller *call(const char *name)
{
    return call_of(name, true, false);
}

static inline void answer(enum ask_state action, const char *content)
{
    struct shown *up = world_up(&world);
    char id[ID_LEN + 1];

    assert_non_null(up);
    memcpy(id, up->id, sizeof(id));
    up->up = false;
    world_answer(&world, id, action, content, "ann", 1);
}

static inline size_t ups(void)
{
    size_t count = 0;

    for (size_t i = 0; i < world.shown_count; i++)
        count += world.shown[i].up;
    return count;
}

/* --- what inner does --- */

static inline nod_status replies(struct run *run, struct str *body)
{
    (void)run;
    *body = STR("{\"done\":1}");
    return NOD_OK;
}

static inline nod_status asks(struct run *run, struct str *body)
{
    const struct entry *said;
    nod_status status = world_ask(run, NULL, "Go on?", world_ask_form, &said);

    if (status != NOD_OK)
        return status;
    *body =
        arena_fmt(&run->arena, "{\"said\":\"" STR_FMT "\"}", STR_ARG(ask_state_name(said->state)));
    return NOD_OK;
}

static inline nod_status asks_twice(struct run *run, struct str *body)
{
    const struct entry *said;
    nod_status status = world_ask(run, "one", "One?", world_ask_form, &said);

    if (status == NOD_OK)
        status = world_ask(run, "two", "Two?", world_ask_form, &said);
    if (status == NOD_OK)
        *body = STR("{\"both\":true}");
    return status;
}

static inline nod_status steps_then_asks(struct run *run, struct str *body)
{
    nod_status status = world_step(run, &world, "deed", false);

    return status == NOD_OK ? asks(run, body) : status;
}

static inline nod_status fails(struct run *run, struct str *body)
{
    (void)body;
    return run_fail(run, NOD_E_REFUSED, "OUT_OF_STOCK", STR("there are none left"));
}

static inline nod_status is_wrong(struct run *run, struct str *body)
{
    (void)run, (void)body;
    return NOD_OK; /* without a reply */
}

static inline nod_status is_large(struct run *run, struct str *body)
{
    char *text = arena_alloc(&run->arena, 300 << 10);

    memset(text, 'x', 300 << 10);
    *body = arena_fmt(&run->arena, "{\"text\":\"%.*s\"}", 300 << 10, text);
    return NOD_OK;
}

/* --- what people do --- */

static inline void accepts_it(void)
{
    answer(ASK_ACCEPTED, "{\"n\":1}");
}

/* --- coming back --- */

struct returning {
    struct comer comer;
    struct world_caller *caller;
    int done;
    enum back_as as;
};

static inline bool returning_there(const struct comer *comer)
{
    (void)comer;
    return true;
}

static inline bool returning_waits(struct comer *comer, const struct call_record *record,
                                   struct adopt_spec *spec)
{
    (void)record;
    spec->handed = record->handed;
    spec->caller = &LIST_OF(comer, struct returning, comer)->caller->caller;
    return true;
}

static inline void returning_done(struct comer *comer, const struct back *back)
{
    struct returning *returning = LIST_OF(comer, struct returning, comer);

    returning->done++;
    returning->as = back->as;
    if (back->as == BACK_ENDED) {
        returning->caller->finished++;
        returning->caller->status = back->outcome->status;
        snprintf(returning->caller->body, sizeof(returning->caller->body), STR_FMT,
                 STR_ARG(back->outcome->body));
    }
}

static const struct comer_ops returning_ops = { .there = returning_there,
                                                .waits = returning_waits,
                                                .done = returning_done };
static struct returning returning;

static inline void come_for(struct world_caller *caller, const char *id)
{
    returning = (struct returning){ .comer = { .ops = &returning_ops,
                                               .call = id_of(str_of(id)),
                                               .principal = STR("ann"),
                                               .asks = true },
                                    .caller = caller };
    engine_return(world.engine, &returning.comer);
    world_settle(&world);
    assert_int_equal(returning.done, 1);
}

/* As one that responds once, with an answer to each question of this key. */
static inline struct world_caller *come_back(const char *key)
{
    struct world_caller *caller = world_caller_new(&world);

    caller->way = CALLER_LEAVES;
    caller->brings[0] =
        (struct world_brings){ .key = key, .action = ASK_ACCEPTED, .content = "{\"n\":1}" };
    come_for(caller, call_name);
    return caller;
}

enum { ORDERS = 60, ORDER_TURNS = 6 };

#endif
