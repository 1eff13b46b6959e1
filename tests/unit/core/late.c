/*
 * tests/unit/core/late: replies that come late, and ends that are told.
 *
 * Two replies may give a node the same call, and the older one may come last. A call may have ended
 * elsewhere long before this node hears of it. A store may be away when a call is cancelled.
 */
#include "loaded.h"

#include "core/hook.h"
#include "../runner.h"

#include <stdio.h>
#include <string.h>

static struct world world;
static struct store_ops ops; /* the store's own, but it survives and is shared */
static struct world_caller *caller;
static char call_name[ID_LEN + 1];
static char ask_name[ID_LEN + 1];

enum { KEPT_MS = 700000, AWAY_TRIES = 20 }; /* longer than the memory store keeps an end */

static nod_status asks_then_steps(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    NOD_TRY(world_step(run, &world, "step", false));
    *body = STR("{\"ours\":true}");
    return NOD_OK;
}

/* --- a store that does not say how a call is --- */

static int loads_fail; /* so many times */
static void (*own_load)(struct store *store, struct str id, store_done *done, void *data);
static store_done *load_done; /* of the one that is under way */

static void load_failed(void *data, nod_status status, const struct store_reply *reply)
{
    (void)status, (void)reply;
    load_done(data, NOD_E_STORE, &(struct store_reply){ 0 });
}

static void load_or_fail(struct store *store, struct str id, store_done *done, void *data)
{
    bool fails = loads_fail > 0;

    loads_fail -= fails;
    load_done = done;
    own_load(store, id, fails ? load_failed : done, data);
}

static void begin_with(world_handler *handler)
{
    world_init(&world, &(struct world_opts){ .handler = handler, .ttl_ms = 60000 });
    ops = *world.store->ops;
    ops.durable = ops.shared = true;
    own_load = ops.load_call;
    ops.load_call = load_or_fail;
    loads_fail = 0;
    world.store->ops = &ops;
    caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    snprintf(ask_name, sizeof(ask_name), "%s", world_up(&world)->id);
}

static void begin(void)
{
    begin_with(asks_then_steps);
}

static struct str token(void)
{
    static struct id id;

    id_random(&id);
    return id_str(&id);
}

static void other_done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)reply;
    assert_int_equal(status, NOD_OK);
}

static void nothing_done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply;
}

static void answer(void)
{
    struct arena arena;

    arena_init(&arena, 1 << 16);
    ask_answer(world.engine, str_of(ask_name),
               &(struct answer){ .action = ASK_ACCEPTED,
                                 .content = json_parse(&arena, STR("{\"n\":1}"), NULL, NULL),
                                 .by = STR("ann"),
                                 .surface = &world.surface },
               NULL, NULL);
    arena_finish(&arena);
}

static struct loaded stored(void)
{
    struct loaded loaded = { 0 };

    loaded_begin(&loaded, world.store, str_of(call_name));
    world_settle(&world);
    return loaded;
}

/* --- epochs --- */

/* This node was silent for so long that what it runs may be taken: a take of its own gets it. */
static void taken_for_gone(uint64_t epoch)
{
    ops.park(
        world.store,
        &(struct park_spec){
            .token = token(), .node = STR("other"), .call_id = str_of(call_name), .epoch = epoch },
        other_done, NULL);
}

static void finish_as_other(uint64_t epoch)
{
    struct buf result;

    buf_init(&result, 1 << 16);
    outcome_write(&result, &(struct outcome){ .status = NOD_OK, .body = STR("{\"theirs\":true}") });
    ops.finish(world.store,
               &(struct finish_spec){ .token = token(),
                                      .call_id = str_of(call_name),
                                      .epoch = epoch,
                                      .result = buf_str(&result) },
               other_done, NULL);
    buf_finish(&result);
}

static void line09_of_two_replies_that_give_a_call_the_newer_counts(void **state)
{
    begin();
    (void)state;

    answer();
    assert_int_equal(world.queued, 1); /* the claim has taken the call; its reply is on its way, */
    __typeof__(world.queue[0]) late = world.queue[0];
    world.queued = 0;
    taken_for_gone(2);
    while (world.queued > 0 && call_waiting(caller->caller.call))
        world_turn(&world);
    while (world.queued > 1) /* whatever else there is */
        world_turn(&world);
    assert_int_equal(world.queued, 1); /* and so is that of a take, in the next epoch */
    world.queue[1] = world.queue[0];
    world.queue[0] = late;
    world.queued = 2;
    world_settle(&world);
    for (int i = 0; i < 5; i++)
        world_advance(&world, 1000);

    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"ours\":true}");
    assert_int_equal(world.steps_done, 1);
    world_finish(&world);
}

static void deaf(void *data, struct str call)
{
    (void)data, (void)call;
}

static void a_call_that_was_taken_on_since_its_claim_is_looked_at_though_the_hint_was_lost(
    void **state)
{
    begin();
    (void)state;

    ops.watch(world.store, STR("nobody"), deaf, NULL);
    answer();
    assert_int_equal(world.queued, 1);
    __typeof__(world.queue[0]) late = world.queue[0];
    world.queued = 0;
    taken_for_gone(2);
    ops.take(
        world.store,
        &(struct take_spec){ .token = token(), .call_id = str_of(call_name), .node = STR("other") },
        other_done, NULL);
    finish_as_other(3);
    world_settle(&world);
    world.queue[world.queued++] = late;
    world_settle(&world);
    for (int i = 0; i < 5; i++)
        world_advance(&world, 1000);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"theirs\":true}");
    world_finish(&world);
}

/* A blocking handler returns. */
static void world_return(void)
{
    struct run *run = world.held;
    struct str body = STR_NONE;

    world.held = NULL;
    nod_status status = asks_then_steps(run, &body);
    run_done(run, status, body);
}

/* --- ends --- */

/* Ended by another node, in the store and nowhere else; what would tell us lies in the queue. */
static void other_ends_it(void)
{
    ops.claim(world.store,
              &(struct claim_spec){ .token = token(),
                                    .items = &(struct claim_item){ .ask_id = str_of(ask_name),
                                                                   .outcome = ASK_DECLINED },
                                    .count = 1,
                                    .by = STR("ann"),
                                    .via = STR("api"),
                                    .take_for = STR("other") },
              other_done, NULL);
    finish_as_other(2);
}

/* Its end has been kept for its time. */
static void the_store_forgets(void)
{
    fake_clock_advance(&world.clock, KEPT_MS);
    for (int i = 0; i < 3; i++)
        ops.cancel(world.store, token(), STR("nothing"), STR("{}"), nothing_done, NULL);
}

static void an_end_that_is_no_longer_known_is_not_told_as_a_cancel(void **state)
{
    begin();
    (void)state;

    other_ends_it();
    call_cancel(caller->caller.call, STR("enough")); /* too late, as the reply will say */
    the_store_forgets();
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_NOT_FOUND);
    world_finish(&world);
}

static void a_question_that_the_store_no_longer_knows_is_not_told_as_a_cancel(void **state)
{
    begin();
    (void)state;

    other_ends_it();
    the_store_forgets();
    answer();
    world_settle(&world);
    world_advance(&world, 1000);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_NOT_FOUND);
    world_finish(&world);
}

static void how_a_call_ended_before_is_asked_for_until_the_store_says_it(void **state)
{
    begin();
    (void)state;

    other_ends_it();
    call_cancel(caller->caller.call, STR("enough"));
    loads_fail = AWAY_TRIES;
    world_settle(&world);
    for (int i = 0; i < 100 && loads_fail > 0; i++) {
        assert_int_equal(caller->finished, 0);
        world_advance(&world, 1000);
    }
    world_advance(&world, 3000);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_OK);
    assert_string_equal(caller->body, "{\"theirs\":true}");
    world_finish(&world);
}

static void a_result_is_not_told_of_a_call_that_has_ended_and_is_forgotten(void **state)
{
    begin();
    (void)state;

    world.blocking = true;
    answer();
    world_settle(&world);
    world_return();
    world_settle(&world);
    assert_non_null(world.held); /* it has taken its step, and is about to reply */
    ops.cancel(world.store, token(), str_of(call_name), STR("{}"), other_done, NULL);
    the_store_forgets();
    world_return();
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_NOT_FOUND);
    world_finish(&world);
}

static void line09_a_cancel_is_told_when_it_is_stored_however_long_the_store_is_away(void **state)
{
    begin();
    (void)state;

    world.fail_verb = "cancel";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = AWAY_TRIES;
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&world);
    for (int i = 0; i < 100 && world.fail_times > 0; i++) {
        assert_int_equal(caller->finished, 0);
        world_advance(&world, 1000);
    }
    world_advance(&world, 3000);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_CANCELLED);
    struct loaded loaded = stored();
    assert_int_equal(loaded.call.state, CALL_STORED_CANCELLED);
    loaded_forget(&loaded);
    world_finish(&world);
}

static void line09_a_cancel_of_a_call_that_is_not_here_outlasts_a_store_that_is_away(void **state)
{
    begin();
    (void)state;

    call_caller_left(caller->caller.call);
    world.fail_verb = "cancel";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = AWAY_TRIES;
    engine_cancel(world.engine, str_of(call_name), STR("enough"), NULL, NULL);
    world_settle(&world);
    for (int i = 0; i < 60; i++)
        world_advance(&world, 1000);
    struct loaded loaded = stored();
    assert_int_equal(loaded.call.state, CALL_STORED_CANCELLED);
    loaded_forget(&loaded);
    world_finish(&world);
}

/* --- submissions --- */

static nod_status wants_two(struct run *run, struct str *body)
{
    const struct entry *a, *b;
    nod_status first = world_ask(run, "a", "A?", world_ask_form, &a);
    nod_status second = world_ask(run, "b", "B?", world_ask_form, &b);

    if (first == NOD_PENDING || second == NOD_PENDING)
        return NOD_PENDING;
    *body = STR("{\"ours\":true}");
    return NOD_OK;
}

static nod_status told_of_b;

static void heard_of_b(void *data, const struct answer_result *result)
{
    (void)data;
    told_of_b = result->status;
}

static void submit_two(const char *a, const char *b)
{
    struct answer_set *set = answers_begin(world.engine);
    struct arena arena;

    arena_init(&arena, 1 << 16);
    struct answer answer = { .action = ASK_ACCEPTED,
                             .content = json_parse(&arena, STR("{\"n\":2}"), NULL, NULL),
                             .by = STR("ann"),
                             .surface = &world.surface,
                             .set = set };
    ask_answer(world.engine, str_of(a), &answer, NULL, NULL);
    ask_answer(world.engine, str_of(b), &answer, heard_of_b, NULL);
    answers_end(set);
    arena_finish(&arena);
    world_settle(&world);
}

/* Also where the call is not live, and one of the questions is found to have been answered. */
static void line11_a_submission_that_contradicts_another_counts_for_nothing(void **state)
{
    char a[ID_LEN + 1], b[ID_LEN + 1];
    (void)state;

    begin_with(wants_two);
    snprintf(a, sizeof(a), "%s", world_up_key(&world, "a")->id);
    snprintf(b, sizeof(b), "%s", world_up_key(&world, "b")->id);
    call_caller_left(caller->caller.call);
    snprintf(ask_name, sizeof(ask_name), "%s", a);
    answer();
    world_settle(&world);
    submit_two(a, b);
    assert_int_equal(told_of_b, NOD_E_STALE);
    struct loaded loaded = stored();
    assert_int_equal(loaded.ask_count, 1); /* b is still pending */
    assert_int_equal(loaded.call.entry_count, 1);
    loaded_forget(&loaded);
    world_finish(&world);
}

/* --- a result that was another's to give --- */

static nod_status asks_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = STR("{\"ours\":true}");
    return NOD_OK;
}

static nod_status gate_said;
static int gates;

static nod_status gate_writes(struct nod_hook_run *hook, void *data)
{
    (void)data;
    gates++;
    gate_said = hook_write(hook, HOOK_ARGS, STR("{\"x\":1}"));
    return gate_said;
}

static void a_call_that_runs_again_after_its_result_was_refused_has_no_outcome(void **state)
{
    struct str body = STR_NONE;

    (void)state;
    gates = 0;
    begin_with(asks_once);
    world_hook(&world, NOD_FLOW_CALL, "gate", NOD_WILL, gate_writes, NULL);
    world.blocking = true;
    answer();
    world_settle(&world);
    assert_non_null(world.held);
    taken_for_gone(2);
    ops.take(
        world.store,
        &(struct take_spec){ .token = token(), .call_id = str_of(call_name), .node = STR("other") },
        other_done, NULL);
    taken_for_gone(3); /* it was another's, and is anybody's to take now */
    struct run *run = world.held;
    world.held = NULL;
    world.blocking = false;
    nod_status status = asks_once(run, &body);
    run_done(run, status, body); /* too late: what it gives is refused */
    world_settle(&world);
    for (int i = 0; i < 5; i++)
        world_advance(&world, 1000);
    assert_int_equal(gates, 1); /* it was taken again, and came to the gate */
    assert_int_equal(gate_said, NOD_OK);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_OK);
    world_finish(&world);
}

static void no_orphan(void *data, const struct call_record *record)
{
    (void)data, (void)record;
}

/* What recovery waits for goes with it; questions that go later must not meet it. */
static void an_engine_goes_with_its_recovery_while_questions_wait(void **state)
{
    begin();
    (void)state;

    engine_recover(world.engine, &(struct recovery_opts){ .orphan = no_orphan });
    for (int i = 0; i < WORLD_CALLS_MAX - 1; i++) {
        world_call(&world, "ann", "s1");
        world_advance(&world, 400);
    }
    assert_int_equal(engine_pending(world.engine), WORLD_CALLS_MAX);
    world_finish(&world);
}

SUBJECT(late)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line09_of_two_replies_that_give_a_call_the_newer_counts),
        cmocka_unit_test(
            a_call_that_was_taken_on_since_its_claim_is_looked_at_though_the_hint_was_lost),
        cmocka_unit_test(an_end_that_is_no_longer_known_is_not_told_as_a_cancel),
        cmocka_unit_test(a_question_that_the_store_no_longer_knows_is_not_told_as_a_cancel),
        cmocka_unit_test(how_a_call_ended_before_is_asked_for_until_the_store_says_it),
        cmocka_unit_test(a_result_is_not_told_of_a_call_that_has_ended_and_is_forgotten),
        cmocka_unit_test(line09_a_cancel_is_told_when_it_is_stored_however_long_the_store_is_away),
        cmocka_unit_test(line11_a_submission_that_contradicts_another_counts_for_nothing),
        cmocka_unit_test(a_call_that_runs_again_after_its_result_was_refused_has_no_outcome),
        cmocka_unit_test(an_engine_goes_with_its_recovery_while_questions_wait),
        cmocka_unit_test(line09_a_cancel_of_a_call_that_is_not_here_outlasts_a_store_that_is_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
