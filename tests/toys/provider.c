/*
 * tests/toys/provider: a provider in one file.
 *
 * It stands for any provider that keeps something for each call it works on: a connection, a
 * process, a live app. So it does not migrate: it keeps a session for each call it has begun, goes
 * on with it when the answer comes, and frees it when it is told of the end. Nothing in core/, mcp/
 * or front/ knows of it: it fills in core's provider seam.
 *
 * The tests below end its calls in every possible way, and check what it still keeps.
 */
#include "../unit/core/loaded.h"
#include "../unit/runner.h"

#include <stdio.h>
#include <string.h>

/* --- the provider --- */

enum { TOY_SESSIONS = 8 };

struct toy {
    struct provider provider; /* first */
    struct target target;
    struct {
        char call[ID_LEN + 1]; /* empty: free */
        int runs;
    } sessions[TOY_SESSIONS];
    int begun;     /* sessions, ever */
    int ends;      /* that it was told of */
    char code[40]; /* of the last one */
    char last[ID_LEN + 1];
};

static struct toy toy;

static int *toy_session(struct toy *mine, struct str call, bool make)
{
    for (size_t i = 0; i < TOY_SESSIONS; i++)
        if (str_eq(str_of(mine->sessions[i].call), call))
            return &mine->sessions[i].runs;
    for (size_t i = 0; make && i < TOY_SESSIONS; i++) {
        if (mine->sessions[i].call[0])
            continue;
        snprintf(mine->sessions[i].call, sizeof(mine->sessions[i].call), STR_FMT, STR_ARG(call));
        mine->sessions[i].runs = 0;
        mine->begun++;
        return &mine->sessions[i].runs;
    }
    return NULL;
}

static void toy_start(struct provider *provider, struct run *run)
{
    struct toy *mine = (struct toy *)provider;
    int *runs = toy_session(mine, run->call_id, true);
    const struct entry *answer;

    (*runs)++;
    nod_status status = world_ask(run, NULL, "Go on?", world_ask_form, &answer);
    run_done(run, status, status == NOD_OK ? STR("{\"toy\":true}") : STR_NONE);
}

static void toy_ended(struct provider *provider, struct str call_id, const struct outcome *outcome)
{
    struct toy *mine = (struct toy *)provider;

    mine->ends++;
    snprintf(mine->code, sizeof(mine->code), "%s",
             outcome->status == NOD_OK ? "OK" : outcome->code);
    snprintf(mine->last, sizeof(mine->last), STR_FMT, STR_ARG(call_id));
    for (size_t i = 0; i < TOY_SESSIONS; i++)
        if (str_eq(str_of(mine->sessions[i].call), call_id))
            mine->sessions[i].call[0] = '\0';
}

/* Shown to those alone whose client can be asked with a form. */
static bool toy_listed(const struct target *target, const struct audience *audience)
{
    (void)target;
    return audience->kinds & 1u << ASK_FORM;
}

static const struct provider_ops toy_ops = { .name = "toy",
                                             .start = toy_start,
                                             .ended = toy_ended };

static void toy_init(struct toy *mine)
{
    *mine = (struct toy){ .provider.ops = &toy_ops,
                          .target = { .kind = TARGET_TOOL,
                                      .name = STR("toy"),
                                      .title = STR("Toy"),
                                      .stays = true,
                                      .listed = toy_listed } };
    mine->target.provider = &mine->provider;
}

static size_t toy_keeps(const struct toy *mine)
{
    size_t count = 0;

    for (size_t i = 0; i < TOY_SESSIONS; i++)
        count += mine->sessions[i].call[0] != '\0';
    return count;
}

/* --- every end of its calls --- */

static struct world world;
static char call_name[ID_LEN + 1];

static struct world_caller *begin(enum caller_way way, bool gate)
{
    struct world_caller *caller;

    world_init(&world, &(struct world_opts){ .ttl_ms = 1000 });
    toy_init(&toy);
    toy.target.requires_confirmation = gate;
    caller = world_caller_new(&world);
    caller->way = way;
    engine_call(world.engine, &(struct call_spec){ .target = &toy.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .handed = true,
                                                   .caller = &caller->caller });
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
    return caller;
}

static void answer(const char *content)
{
    struct shown *up = world_up(&world);
    char id[ID_LEN + 1];

    assert_non_null(up);
    memcpy(id, up->id, sizeof(id));
    up->up = false;
    world_answer(&world, id, ASK_ACCEPTED, content, "ann", 1);
}

static void heard(const char *code)
{
    assert_int_equal(toy.ends, 1);
    assert_string_equal(toy.code, code);
    assert_string_equal(toy.last, call_name);
    assert_int_equal(toy_keeps(&toy), 0);
    world_finish(&world);
    assert_int_equal(toy.ends, 1);
}

static void it_hears_of_a_call_that_finishes(void **state)
{
    struct world_caller *caller = begin(CALLER_HOLDS, false);

    (void)state;
    assert_int_equal(toy_keeps(&toy), 1);
    answer("{\"n\":1}");
    assert_string_equal(caller->body, "{\"toy\":true}");
    assert_int_equal(toy.begun, 1);
    heard("OK");
}

static void it_hears_of_a_call_that_is_cancelled_while_it_waits(void **state)
{
    struct world_caller *caller = begin(CALLER_HOLDS, false);

    (void)state;
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&world);
    heard("CANCELLED");
}

static void it_hears_of_a_question_that_expires(void **state)
{
    (void)state;
    begin(CALLER_HOLDS, false);
    world_advance(&world, 1000);
    heard("ELICITATION_TIMEOUT");
}

static void it_hears_of_the_end_of_a_call_that_is_live_nowhere(void **state)
{
    (void)state;
    begin(CALLER_LEAVES, false);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(toy_keeps(&toy), 1);
    engine_cancel(world.engine, str_of(call_name), STR("enough"), NULL, NULL);
    world_settle(&world);
    heard("CANCELLED");
}

static void ignored(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)reply;
    assert_int_equal(status, NOD_OK);
}

static void it_hears_of_an_end_that_another_node_made(void **state)
{
    static const struct outcome elsewhere = { .status = NOD_E_CANCELLED, .code = "CANCELLED" };
    struct id token;
    struct buf result;

    (void)state;
    begin(CALLER_LEAVES, false);
    buf_init(&result, 1024);
    outcome_write(&result, &elsewhere);
    id_random(&token);
    world.store->ops->cancel(world.store, id_str(&token), str_of(call_name), buf_str(&result),
                             ignored, NULL);
    world_settle(&world);
    buf_finish(&result);
    assert_int_equal(toy.ends, 0); /* nobody has said it here */
    for (int i = 0; i < 10 && toy.ends == 0; i++)
        world_advance(&world, 1000);
    heard("CANCELLED");
}

static void a_call_that_it_never_began_ends_too(void **state)
{
    struct world_caller *caller = begin(CALLER_HOLDS, true);
    struct shown *up = world_up(&world);
    char id[ID_LEN + 1];

    (void)state;
    memcpy(id, up->id, sizeof(id));
    world_answer(&world, id, ASK_DECLINED, NULL, "ann", 1);
    assert_string_equal(caller->code, "CONFIRMATION_DECLINED");
    assert_int_equal(toy.begun, 0);
    heard("CONFIRMATION_DECLINED");
}

/* --- another node, or the same one after a restart --- */

static void come_back(struct world_caller *caller)
{
    static struct loaded loaded;

    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
    caller->way = CALLER_LEAVES;
    assert_true(engine_adopt(world.engine, &(struct adopt_spec){ .record = &loaded.call,
                                                                 .asks = loaded.asks,
                                                                 .ask_count = loaded.ask_count,
                                                                 .target = &toy.target,
                                                                 .caller = &caller->caller }));
    world_settle(&world);
    loaded_forget(&loaded);
}

static void answer_what_is_stored(void)
{
    static struct loaded loaded;
    char id[ID_LEN + 1];

    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
    assert_int_equal(loaded.ask_count, 1);
    snprintf(id, sizeof(id), STR_FMT, STR_ARG(loaded.asks[0].id));
    loaded_forget(&loaded);
    world_answer(&world, id, ASK_ACCEPTED, "{\"n\":1}", "ann", 0);
}

/* The engine and the toy go, and the store stays. */
static void restart(void)
{
    engine_destroy(world.engine);
    world_settle(&world);
    world_engine(&world);
    toy_init(&toy);
}

static void at_home_it_goes_on(void **state)
{
    (void)state;
    begin(CALLER_LEAVES, false);
    answer_what_is_stored();
    struct world_caller *again = world_caller_new(&world);
    come_back(again);
    assert_string_equal(again->body, "{\"toy\":true}");
    assert_int_equal(toy.begun, 1); /* the same session */
    heard("OK");
}

static void elsewhere_it_is_not_begun_again(void **state)
{
    (void)state;
    begin(CALLER_LEAVES, false);
    restart();
    answer_what_is_stored();
    struct world_caller *again = world_caller_new(&world);
    come_back(again);
    assert_int_equal(again->finished, 1);
    assert_int_equal(again->status, NOD_E_OUTCOME_UNKNOWN);
    assert_int_equal(toy.begun, 0);
    heard("OUTCOME_UNKNOWN");
}

static void what_waits_at_the_gate_has_not_begun_and_may_begin_elsewhere(void **state)
{
    (void)state;
    begin(CALLER_LEAVES, true);
    assert_int_equal(toy.begun, 0);
    restart();
    toy.target.requires_confirmation = true;
    answer_what_is_stored();
    struct world_caller *again = world_caller_new(&world);
    come_back(again);
    assert_int_equal(again->finished, 0);
    assert_int_equal(toy.begun, 1);
    answer_what_is_stored();
    again = world_caller_new(&world);
    come_back(again);
    assert_string_equal(again->body, "{\"toy\":true}");
    assert_int_equal(toy.begun, 1);
    heard("OK");
}

SUBJECT(toy_provider)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_hears_of_a_call_that_finishes),
        cmocka_unit_test(it_hears_of_a_call_that_is_cancelled_while_it_waits),
        cmocka_unit_test(it_hears_of_a_question_that_expires),
        cmocka_unit_test(it_hears_of_the_end_of_a_call_that_is_live_nowhere),
        cmocka_unit_test(it_hears_of_an_end_that_another_node_made),
        cmocka_unit_test(a_call_that_it_never_began_ends_too),
        cmocka_unit_test(at_home_it_goes_on),
        cmocka_unit_test(elsewhere_it_is_not_begun_again),
        cmocka_unit_test(what_waits_at_the_gate_has_not_begun_and_may_begin_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
