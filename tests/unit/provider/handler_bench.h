/*
 * tests/unit/provider/handler_bench: C handlers on a real engine with the memory store, with a
 * surface and a caller that record what they are told, and a clock that the test moves.
 */
#ifndef NOD_TESTS_HANDLER_BENCH_H
#define NOD_TESTS_HANDLER_BENCH_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/engine.h"
#include "core/run.h"
#include "json/write.h"
#include "provider/local.h"
#include "store/memory.h"
#include "../runner.h"

enum { BENCH_TURNS = PATIENCE_MS / 10, BENCH_TEXT = 8192, BENCH_ASKS = 80 };

struct bench_ask {
    char id[64];
    char key[64];
    char message[BENCH_TEXT];
    char detail[BENCH_TEXT];
    char url[512];
    enum ask_kind kind;
    bool consent;
    bool up;
};

struct bench {
    struct loop *loop;
    struct fake_clock clock;
    struct store *store;
    struct engine *engine;
    struct catalog *catalog;
    struct local *local;
    struct surface surface;
    struct caller caller;
    unsigned can; /* bits of enum ask_kind */
    struct bench_ask asks[BENCH_ASKS];
    size_t ask_count;
    bool finished;
    nod_status status;
    char code[64];
    char message[BENCH_TEXT];
    char body[BENCH_TEXT];
    char error_data[BENCH_TEXT];
    bool request_error;
    char notices[BENCH_TEXT]; /* one line each */
};

static struct bench b;

static inline void bench_copy(char *to, size_t room, struct str text)
{
    size_t len = text.len < room - 1 ? text.len : room - 1;

    if (len)
        memcpy(to, text.at, len);
    to[len] = '\0';
}

#define BENCH_COPY(array, text) bench_copy((array), sizeof(array), (text))

static bool bench_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    (void)surface;
    (void)call;
    return b.can & 1u << kind;
}

static void bench_offer(struct surface *surface, struct ask *ask, int attempt, struct str problems)
{
    const struct ask_record *record = ask_record(ask);
    struct bench_ask *a = &b.asks[b.ask_count++];

    (void)attempt;
    (void)problems;
    assert_true(b.ask_count <= BENCH_ASKS);
    BENCH_COPY(a->id, record->id);
    BENCH_COPY(a->key, record->key);
    BENCH_COPY(a->message, record->message);
    BENCH_COPY(a->detail, record->detail);
    BENCH_COPY(a->url, record->url);
    a->kind = record->kind;
    a->consent = record->consent;
    a->up = true;
    ask_offered(ask, surface, OFFER_SHOWN);
}

static void bench_withdraw(struct surface *surface, struct ask *ask, struct str why,
                           const struct winner *winner)
{
    (void)surface;
    (void)why;
    (void)winner;
    for (size_t i = 0; i < b.ask_count; i++)
        if (str_eq(str_of(b.asks[i].id), ask_record(ask)->id))
            b.asks[i].up = false;
}

static const struct surface_ops bench_surface = { .name = "bench",
                                                  .can = bench_can,
                                                  .offer = bench_offer,
                                                  .withdraw = bench_withdraw,
                                                  .attempts = 1,
                                                  .client = true };

static void bench_notify(struct caller *caller, struct call *call, const struct notice *notice)
{
    char *to = b.notices + strlen(b.notices);
    size_t room = sizeof(b.notices) - (size_t)(to - b.notices);

    (void)caller;
    (void)call;
    if (notice->kind == NOTICE_PROGRESS)
        snprintf(to, room, "progress %g/%g " STR_FMT "\n", notice->progress, notice->total,
                 STR_ARG(notice->text));
    else if (notice->kind == NOTICE_LOG)
        snprintf(to, room, "log %d " STR_FMT " " STR_FMT "\n", notice->level,
                 STR_ARG(notice->logger), STR_ARG(notice->text));
    else
        snprintf(to, room, STR_FMT " " STR_FMT "\n", STR_ARG(notice->method),
                 STR_ARG(notice->params));
}

static void bench_finished(struct caller *caller, struct call *call, const struct outcome *outcome)
{
    (void)caller;
    (void)call;
    assert_false(b.finished);
    b.finished = true;
    b.status = outcome->status;
    BENCH_COPY(b.code, str_of(outcome->code));
    BENCH_COPY(b.message, outcome->message);
    BENCH_COPY(b.body, outcome->body);
    BENCH_COPY(b.error_data, outcome->error_data);
    b.request_error = outcome->request_error;
}

static const struct caller_ops bench_caller = { .notify = bench_notify,
                                                .finished = bench_finished };

static void bench_defer(void *ctx, void (*fn)(void *data), void *data)
{
    loop_defer(ctx, fn, data);
}

static void bench_open(bool replay_check)
{
    memset(&b, 0, sizeof(b));
    b.loop = loop_create();
    fake_clock_init(&b.clock, 1700000000000);
    b.store = memory_store_create(&(struct memory_opts){
        .clock = &b.clock.clock, .defer = bench_defer, .defer_ctx = b.loop });
    b.engine = engine_create(&(struct engine_opts){ .clock = &b.clock.clock,
                                                    .store = b.store,
                                                    .defer = bench_defer,
                                                    .defer_ctx = b.loop,
                                                    .consent = "any" });
    b.catalog = catalog_create();
    b.local = local_create(&(struct local_opts){
        .catalog = b.catalog, .loop = b.loop, .workers = 2, .replay_check = replay_check });
    b.surface.ops = &bench_surface;
    b.can = ~0u;
    engine_add_surface(b.engine, &b.surface);
}

static int bench_setup(void **state)
{
    (void)state;
    bench_open(false);
    return 0;
}

static int bench_teardown(void **state)
{
    (void)state;
    assert_true(local_stop(b.local, 5000));
    engine_destroy(b.engine);
    local_destroy(b.local);
    catalog_destroy(b.catalog);
    loop_turn(b.loop, 0);
    b.store->ops->destroy(b.store);
    loop_destroy(b.loop);
    return 0;
}

/* Until nothing is left to do but wait for an answer, or for a worker if `wait` is set. */
static void bench_turn(bool wait)
{
    for (int i = 0; i < BENCH_TURNS && !b.finished; i++) {
        size_t pending = 0;
        loop_turn(b.loop, wait ? 10 : 0);
        if (engine_deadline(b.engine) <= clock_mono(&b.clock.clock))
            engine_tick(b.engine);
        for (size_t a = 0; a < b.ask_count; a++)
            pending += b.asks[a].up;
        if (pending && pending == engine_pending(b.engine))
            break;
    }
}

static void bench_add(const char *name, nod_handler *handler, const nod_tool *like)
{
    nod_tool tool = like ? *like : (nod_tool){ 0 };

    tool.name = name;
    tool.handler = handler;
    assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), NOD_OK);
}

static void bench_start(struct target *target, const char *args, const char *uri)
{
    struct arena arena;
    struct json *parsed;

    assert_non_null(target);
    arena_init(&arena, 1 << 20);
    parsed = json_parse(&arena, str_of(args), NULL, NULL);
    assert_non_null(parsed);
    b.finished = false;
    b.ask_count = 0;
    b.notices[0] = '\0';
    b.caller.ops = &bench_caller;
    engine_call(b.engine, &(struct call_spec){ .target = target,
                                               .args = parsed,
                                               .uri = str_of(uri),
                                               .principal = STR("ada"),
                                               .scope = STR("ada"),
                                               .caller = &b.caller });
    arena_finish(&arena);
}

/* Adds a tool and calls it, up to its first question or its end. */
static inline void bench_call_as(nod_handler *handler, const char *args, const nod_tool *like)
{
    static int number;
    char name[32];

    snprintf(name, sizeof(name), "tool-%d", ++number);
    bench_add(name, handler, like);
    bench_start(catalog_find(b.catalog, TARGET_TOOL, str_of(name)), args, NULL);
    bench_turn(like && like->blocking);
}

static inline void bench_call(nod_handler *handler, const char *args)
{
    bench_call_as(handler, args, &(nod_tool){ .input_schema = "{\"type\":\"object\"}" });
}

/* Answers the newest question; content is JSON or NULL. */
static inline void bench_answer_at(size_t at, enum ask_state action, const char *content)
{
    struct arena arena;

    assert_true(at < b.ask_count);
    arena_init(&arena, 1 << 20);
    b.asks[at].up = false;
    ask_answer(b.engine, str_of(b.asks[at].id),
               &(struct answer){
                   .action = action,
                   .content = content ? json_parse(&arena, str_of(content), NULL, NULL) : NULL,
                   .by = STR("ada"),
                   .surface = &b.surface },
               NULL, NULL);
    arena_finish(&arena);
}

static inline void bench_answer(enum ask_state action, const char *content)
{
    bench_answer_at(b.ask_count - 1, action, content);
    bench_turn(false);
}

static inline void expect_body(const char *body)
{
    if (!b.finished)
        fail_msg("the call has not ended");
    if (b.status != NOD_OK)
        fail_msg("failed: %s: %s", b.code, b.message);
    assert_string_equal(b.body, body);
}

#define TEXT_BODY(text) "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"

static inline void expect_failure(nod_status status, const char *part)
{
    if (!b.finished)
        fail_msg("the call has not ended");
    if (b.status != status || !strstr(b.message, part))
        fail_msg("ended with %d \"%s\" (%s)", b.status, b.message, b.body);
}

#endif
