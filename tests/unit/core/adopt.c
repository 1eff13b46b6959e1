/*
 * tests/unit/core/adopt: calls that come back, and calls whose caller leaves, in every state.
 */
#include "loaded.h"

#include "base/log.h"
#include "store/memory_inside.h"
#include "../runner.h"

static size_t memory_store_asks(const struct store *store)
{
    return ((const struct memory_store *)(const void *)store)->asks.count;
}

#include <stdio.h>
#include <string.h>

static struct world world;

#define ACCEPT_3 "{\"n\":3}"

static nod_status asks_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = arena_fmt(&run->arena, "{\"state\":\"" STR_FMT "\"}",
                      STR_ARG(ask_state_name(answer->state)));
    return NOD_OK;
}

static nod_status wants_two(struct run *run, struct str *body)
{
    const struct entry *a, *b;
    nod_status first = world_ask(run, "a", "A?", world_ask_form, &a);
    nod_status second = world_ask(run, "b", "B?", world_ask_form, &b);

    if (first == NOD_PENDING || second == NOD_PENDING)
        return NOD_PENDING;
    NOD_TRY(first);
    NOD_TRY(second);
    *body = STR("{}");
    return NOD_OK;
}

/* Known to the store by its first step, then asks. */
static nod_status steps_then_asks(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_step(run, &world, "one", false));
    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    NOD_TRY(world_step(run, &world, "two", true));
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

static nod_status two_steps_then_asks(struct run *run, struct str *body)
{
    NOD_TRY(world_step(run, &world, "zero", false));
    return steps_then_asks(run, body);
}

static struct loaded loaded; /* what a caller that comes back knows */

static void load(const char *id)
{
    char name[ID_LEN + 1];

    snprintf(name, sizeof(name), "%s", id); /* it may live in what is forgotten */
    loaded_begin(&loaded, world.store, str_of(name));
    world_settle(&world);
}

static bool adopt(struct world_caller *caller)
{
    return loaded_adopt(&loaded, &world, caller, false);
}

static bool import(struct world_caller *caller)
{
    return loaded_adopt(&loaded, &world, caller, true);
}

static char call_name[ID_LEN + 1];

static struct world_caller *begin(const struct world_opts *opts, enum caller_way way)
{
    world_init(&world, opts);
    struct world_caller *caller = world_caller_new(&world);
    caller->way = way;
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller = &caller->caller });
    if (caller->caller.call)
        snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    return caller;
}

static struct world_caller *begin_and_settle(const struct world_opts *opts, enum caller_way way)
{
    struct world_caller *caller = begin(opts, way);

    world_settle(&world);
    return caller;
}

static void end(void)
{
    world_finish(&world);
    loaded_forget(&loaded);
}

static void answer(const char *id)
{
    world_answer(&world, id, ASK_ACCEPTED, ACCEPT_3, "ann", 0);
}

/* Answers without delivering anything: it is on its way. */
static void answer_quietly(const char *id)
{
    char exact[ID_LEN + 1];
    struct arena arena;

    arena_init(&arena, 1 << 16);
    snprintf(exact, sizeof(exact), "%s", id);
    ask_answer(world.engine, str_of(exact),
               &(struct answer){ .action = ASK_ACCEPTED,
                                 .content = json_parse(&arena, STR(ACCEPT_3), NULL, NULL),
                                 .by = STR("ann"),
                                 .surface = &world.surface },
               NULL, NULL);
    arena_finish(&arena);
}

/* The id of the only pending ask, from the store. */
static const char *only_ask(void)
{
    load(call_name);
    assert_int_equal(loaded.ask_count, 1);
    return loaded.asks[0].id.at;
}

static enum call_state stored_state(void)
{
    load(call_name);
    assert_int_equal(loaded.status, NOD_OK);
    return loaded.call.state;
}

/* --- leaving, and coming back --- */

static void a_caller_that_leaves_leaves_nothing_behind_but_the_record(void **state)
{
    struct world_caller *caller =
        begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_LEAVES);

    (void)state;
    assert_int_equal(caller->asked, 1);
    assert_int_equal(caller->finished, 0);
    assert_null(caller->caller.call);
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(engine_pending(world.engine), 0);
    assert_int_equal(stored_state(), CALL_STORED_WAITING);
    end();
}

static void a_waiting_call_comes_back_and_is_asked_and_answered(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_LEAVES);

    (void)state;
    load(call_name);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    assert_non_null(back->caller.call);
    assert_false(adopt(world_caller_new(&world))); /* it is live already */
    world_settle(&world);
    assert_int_equal(back->asked, 1);
    assert_int_equal(world.shown_count, 1);
    answer(world.shown[0].id);
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"state\":\"accepted\"}");
    assert_int_equal(world.runs, 2);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(engine_pending(world.engine), 0);
    end();
}

static void a_call_that_was_answered_meanwhile_runs_when_it_comes_back(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_LEAVES);

    (void)state;
    answer(only_ask());
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(world.runs, 1);
    assert_int_equal(stored_state(), CALL_STORED_RUNNABLE);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    assert_int_equal(back->asked, 0);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"state\":\"accepted\"}");
    end();
}

static void a_carried_call_is_not_offered_and_takes_its_answers_from_the_caller(void **state)
{
    struct world_caller *caller =
        begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_CARRIES);

    (void)state;
    assert_int_equal(caller->asked, 1);
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(engine_pending(world.engine), 1);
    answer(only_ask());
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_OK);
    end();
}

static void the_time_to_live_goes_on_while_a_call_is_away(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once, .ttl_ms = 5000 }, CALLER_LEAVES);

    (void)state;
    world_advance(&world, 4000);
    load(call_name);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    world_advance(&world, 999);
    assert_int_equal(back->finished, 0);
    world_advance(&world, 1);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_E_TIMEOUT);
    end();
}

static void steps_are_not_repeated_by_a_call_that_comes_back(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = steps_then_asks }, CALLER_LEAVES);

    (void)state;
    assert_int_equal(world.steps_done, 1);
    answer(only_ask());
    load(call_name);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    assert_int_equal(back->status, NOD_OK);
    assert_int_equal(back->finished, 1);
    assert_int_equal(world.steps_done, 2);
    end();
}

static void an_adopted_call_can_be_cancelled_at_once(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_LEAVES);

    (void)state;
    load(call_name);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    call_cancel(back->caller.call, STR("enough"));
    world_settle(&world);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_E_CANCELLED);
    assert_int_equal(back->asked, 0);
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(stored_state(), CALL_STORED_CANCELLED);
    end();
}

static void an_adopted_call_can_be_cancelled_while_it_is_taken(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_LEAVES);

    (void)state;
    answer(only_ask());
    load(call_name);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    assert_true(world_turn(&world)); /* it goes on: the take is under way */
    call_cancel(back->caller.call, STR("enough"));
    world_settle(&world);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_E_CANCELLED);
    assert_int_equal(world.runs, 1);
    assert_int_equal(stored_state(), CALL_STORED_CANCELLED);
    end();
}

/* --- what a caller knows may be old --- */

static void an_answer_between_the_look_and_the_return_is_not_lost(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once, .ttl_ms = 5000 }, CALLER_LEAVES);

    (void)state;
    load(call_name);
    answer(loaded.asks[0].id.at); /* the record in hand still says that it waits */
    assert_int_equal(world.last.status, NOD_OK);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    if (!back->finished) /* then whoever answers what is shown learns that it was answered */
        answer(world.shown[0].id);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"state\":\"accepted\"}");
    assert_int_equal(engine_calls(world.engine), 0);
    end();
}

static void a_stale_ask_that_nobody_answers_again_does_not_strand_its_call(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once, .ttl_ms = 5000 }, CALLER_LEAVES);

    (void)state;
    load(call_name);
    answer(loaded.asks[0].id.at);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    world_advance(&world, 6000);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"state\":\"accepted\"}");
    end();
}

static void a_call_that_ended_between_the_look_and_the_return_gives_its_result(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_LEAVES);

    (void)state;
    answer(only_ask());
    load(call_name);
    struct world_caller *first = world_caller_new(&world);
    assert_true(adopt(first));
    world_settle(&world);
    assert_int_equal(first->finished, 1);
    struct world_caller *second = world_caller_new(&world); /* with the record from before */
    assert_true(adopt(second));
    world_settle(&world);
    assert_int_equal(second->finished, 1);
    assert_int_equal(second->status, NOD_OK);
    assert_string_equal(second->body, first->body);
    assert_int_equal(world.runs, 2); /* nothing was done again */
    assert_int_equal(engine_calls(world.engine), 0);
    end();
}

static void a_call_that_asks_again_between_the_look_and_the_return_is_asked(void **state)
{
    (void)state;
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = two_steps_then_asks }, CALLER_HOLDS);
    assert_true(world_turn(&world)); /* the first step is stored */
    call_caller_left(caller->caller.call);
    load(call_name);
    assert_int_equal(loaded.call.state, CALL_STORED_WAITING);
    loaded.call.state = CALL_STORED_RUNNING; /* as a look a moment before would have found it */
    loaded.call.entry_count = 1;
    loaded.ask_count = 0;
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    assert_int_equal(back->asked, 1);
    assert_int_equal(world.shown_count, 1);
    answer(world.shown[0].id);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_OK);
    assert_int_equal(world.steps_done, 3);
    end();
}

static void a_call_that_was_cancelled_between_the_look_and_the_return_is_cancelled(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = wants_two }, CALLER_LEAVES);

    (void)state;
    load(call_name);
    struct world_caller *first = world_caller_new(&world);
    assert_true(adopt(first));
    world_settle(&world);
    call_cancel(first->caller.call, STR("enough"));
    world_settle(&world);
    struct world_caller *second = world_caller_new(&world);
    assert_true(adopt(second));
    world_settle(&world);
    world_advance(&world, 400000);
    assert_int_equal(second->finished, 1);
    assert_int_equal(second->status, NOD_E_CANCELLED);
    assert_int_equal(engine_calls(world.engine), 0);
    end();
}

static void more_asks_than_the_limit_come_back_and_go_again(void **state)
{
    struct world_opts opts = { .handler = wants_two, .limits = { .pending_asks = 2 } };

    (void)state;
    begin_and_settle(&opts, CALLER_LEAVES);
    char first[ID_LEN + 1];
    memcpy(first, call_name, sizeof(first));
    struct world_caller *other = world_caller_new(&world);
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller = &other->caller });
    world_settle(&world);
    assert_int_equal(engine_pending(world.engine), 2);
    memcpy(call_name, first, sizeof(first));
    load(call_name);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back)); /* it has been asked: the limit is for new ones */
    world_settle(&world);
    for (size_t i = 0; i < 2; i++)
        answer(loaded.asks[i].id.at);
    assert_int_equal(back->finished, 1);
    for (size_t i = 0; i < 2; i++)
        assert_null(engine_ask(world.engine, loaded.asks[i].id));
    call_cancel(other->caller.call, STR("enough"));
    world_settle(&world);
    assert_int_equal(engine_pending(world.engine), 0);
    end();
}

static void more_calls_than_the_limit_are_told_so(void **state)
{
    struct world_opts opts = { .handler = asks_once, .limits = { .calls = 1 } };

    (void)state;
    begin_and_settle(&opts, CALLER_LEAVES);
    load(call_name);
    struct world_caller *other = world_call(&world, "ann", "s1");
    world_settle(&world);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_E_LIMIT);
    assert_int_equal(other->finished, 0);
    assert_int_equal(stored_state(), CALL_STORED_WAITING); /* and it waits for another try */
    assert_int_equal(engine_pending(world.engine), 1);
    end();
}

static void the_older_question_of_a_scope_is_cancelled_also_when_it_came_back(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once, .one_ask_per_scope = true },
                     CALLER_LEAVES);

    (void)state;
    load(call_name);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    struct world_caller *newer = world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"state\":\"cancelled\"}");
    assert_int_equal(newer->finished, 0);
    end();
}

/* --- answers while it is away --- */

static void an_answer_to_another_offer_does_not_count_while_the_call_is_away(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_LEAVES);

    (void)state;
    world_answer(&world, only_ask(), ASK_ACCEPTED, ACCEPT_3, "ann", 2);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_true(world.last.pending);
    assert_int_equal(stored_state(), CALL_STORED_WAITING);
    world_answer(&world, only_ask(), ASK_ACCEPTED, ACCEPT_3, "bob", 1);
    assert_int_equal(world.last.status, NOD_E_NOT_FOUND);
    world_answer(&world, only_ask(), ASK_ACCEPTED, "{\"n\":\"x\"}", "ann", 0);
    assert_int_equal(world.last.status, NOD_E_INVALID);
    world_answer(&world, only_ask(), ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(world.last.status, NOD_OK);
    end();
}

static void told_nobody(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    (void)reply;
    assert_int_equal(status, NOD_OK);
}

/* As another node would: the call is not taken with it. */
static void answer_elsewhere(struct str ask_id)
{
    struct id token;

    id_random(&token);
    world.store->ops->claim(
        world.store,
        &(struct claim_spec){ .token = id_str(&token),
                              .items = &(struct claim_item){ .ask_id = ask_id,
                                                             .outcome = ASK_ACCEPTED,
                                                             .content = STR(ACCEPT_3) },
                              .count = 1,
                              .by = STR("ann") },
        told_nobody, NULL);
}

static void an_answer_that_another_node_took_wakes_the_call(void **state)
{
    struct world_caller *caller =
        begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_HOLDS);

    (void)state;
    answer_elsewhere(str_of(world.shown[0].id));
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"state\":\"accepted\"}");
    assert_null(world_up(&world));
    assert_string_equal(world.shown[0].why, "The question was answered elsewhere");
    end();
}

static void a_hint_that_comes_too_early_is_not_forgotten(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_once }, CALLER_HOLDS);

    (void)state;
    assert_int_equal(world.queued, 1); /* that the question is stored */
    answer_elsewhere(ask_record(call_ask_first(caller->caller.call))->id);
    world.queue[world.queued] = world.queue[0]; /* is heard after the hint */
    memmove(&world.queue[0], &world.queue[1], world.queued * sizeof(world.queue[0]));
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"state\":\"accepted\"}");
    end();
}

static nod_status asks_url(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(run_ask(run,
                    &(struct ask_spec){ .kind = ASK_URL,
                                        .message = STR("Sign in"),
                                        .wait_done = true,
                                        .url = STR("https://example.com/{id}") },
                    &answer));
    *body = STR("{\"in\":true}");
    return NOD_OK;
}

static void a_page_may_be_done_while_the_call_is_away(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_url }, CALLER_LEAVES);

    (void)state;
    ask_url_done(world.engine, str_of(only_ask()), NULL, NULL);
    world_settle(&world);
    load(call_name);
    assert_int_equal(loaded.ask_count, 0);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    assert_string_equal(back->body, "{\"in\":true}");
    end();

    begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_LEAVES);
    ask_url_done(world.engine, str_of(only_ask()), NULL, NULL); /* that is no page */
    world_settle(&world);
    assert_int_equal(stored_state(), CALL_STORED_WAITING);
    end();
}

/* --- letting go --- */

static void let_go_of_a_waiting_call_and_come_back(void **state)
{
    struct world_caller *caller =
        begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_HOLDS);

    (void)state;
    call_caller_left(caller->caller.call);
    assert_null(caller->caller.call);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(engine_pending(world.engine), 0);
    answer(world.shown[0].id); /* it counts while nobody is there */
    assert_int_equal(world.last.status, NOD_OK);
    load(call_name);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    assert_int_equal(back->finished, 1);
    assert_int_equal(caller->finished, 0);
    end();
}

static void an_answer_under_way_when_its_call_is_let_go_of_is_not_lost(void **state)
{
    struct world_caller *caller =
        begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_HOLDS);

    (void)state;
    answer_quietly(world.shown[0].id);
    call_caller_left(caller->caller.call);
    world_settle(&world);
    assert_int_equal(engine_calls(world.engine), 0);
    load(call_name);
    assert_int_equal(loaded.ask_count, 0);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"state\":\"accepted\"}");
    end();
}

static void an_answer_under_way_finds_the_call_that_came_back_meanwhile(void **state)
{
    struct world_caller *caller =
        begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_HOLDS);

    (void)state;
    load(call_name);
    answer_quietly(world.shown[0].id);
    call_caller_left(caller->caller.call);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_OK);
    assert_int_equal(world.runs, 2);
    assert_int_equal(engine_calls(world.engine), 0);
    end();
}

static void let_go_of_a_running_call_that_the_store_knows_and_it_goes_on(void **state)
{
    (void)state;
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = steps_then_asks }, CALLER_HOLDS);
    call_caller_left(caller->caller.call); /* the first step is on its way to the store */
    world_settle(&world);
    /* The store did not know it when the caller went. */
    assert_int_equal(stored_state(), CALL_STORED_CANCELLED);
    assert_int_equal(caller->finished, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    end();
}

static void what_goes_on_alone_may_ask_and_waits_for_whoever_comes_back(void **state)
{
    (void)state;
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = two_steps_then_asks }, CALLER_HOLDS);
    assert_true(world_turn(&world)); /* the first step is stored, the second on its way */
    call_caller_left(caller->caller.call);
    world.can = 0; /* there is no surface for a call without a caller */
    world_settle(&world);
    world.can = 1u << ASK_FORM;
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(stored_state(), CALL_STORED_WAITING);
    assert_int_equal(world.steps_done, 2);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    world_settle(&world);
    answer(world.shown[0].id);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_OK);
    assert_int_equal(world.steps_done, 3);
    end();
}

static void let_go_of_a_call_that_the_store_does_not_know_and_it_is_cancelled(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    world.blocking = true;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    call_caller_left(caller->caller.call);
    world_settle(&world);
    assert_true(world.cancelled_told);
    assert_int_equal(caller->finished, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    end();
}

static void let_go_while_the_questions_are_stored(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_once }, CALLER_HOLDS);

    (void)state;
    call_caller_left(caller->caller.call);
    world_settle(&world);
    assert_int_equal(caller->asked, 0);
    assert_int_equal(caller->finished, 0);
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    end();
}

static void let_go_before_an_adopted_call_goes_on(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_LEAVES);

    (void)state;
    answer(only_ask());
    load(call_name);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    call_caller_left(back->caller.call);
    world_settle(&world);
    assert_int_equal(back->finished, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(stored_state(), CALL_STORED_RUNNABLE); /* for the next who comes */
    end();
}

static void let_go_while_an_adopted_call_is_taken(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_LEAVES);

    (void)state;
    answer(only_ask());
    load(call_name);
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    assert_true(world_turn(&world));
    call_caller_left(back->caller.call);
    world_settle(&world);
    assert_int_equal(back->finished, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    load(call_name);
    assert_true(loaded.call.state == CALL_STORED_FINISHED ||
                loaded.call.state == CALL_STORED_RUNNABLE);
    end();
}

static void let_go_while_it_finishes(void **state)
{
    struct world_caller *caller =
        begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_HOLDS);

    (void)state;
    answer_quietly(world.shown[0].id);
    assert_true(world_turn(&world)); /* claimed, run, and its result is on its way */
    assert_int_equal(world.runs, 2);
    call_caller_left(caller->caller.call);
    world_settle(&world);
    assert_int_equal(caller->finished, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(stored_state(), CALL_STORED_FINISHED);
    end();
}

static void let_go_while_it_is_cancelled(void **state)
{
    struct world_caller *caller =
        begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_HOLDS);

    (void)state;
    call_cancel(caller->caller.call, STR("enough"));
    call_caller_left(caller->caller.call);
    world_settle(&world);
    assert_int_equal(caller->finished, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(stored_state(), CALL_STORED_CANCELLED);
    end();
}

/* --- import --- */

/* A record in hand, and a store that has never seen it. */
static void begin_import(const struct world_opts *opts, bool answered)
{
    begin_and_settle(opts, CALLER_LEAVES);
    if (answered)
        answer(only_ask());
    load(call_name);
    world.store->ops->destroy(world.store);
    engine_destroy(world.engine);
    world_settle(&world);
    world_init(&world, opts);
}

static void an_imported_call_is_stored_before_anybody_is_asked(void **state)
{
    begin_import(&(struct world_opts){ .handler = asks_once }, false);

    (void)state;
    struct world_caller *back = world_caller_new(&world);
    assert_true(import(back));
    assert_int_equal(memory_store_asks(world.store), 1);
    assert_int_equal(back->asked, 0);
    world_settle(&world);
    assert_int_equal(back->asked, 1);
    assert_int_equal(world.shown_count, 1);
    answer(world.shown[0].id);
    assert_int_equal(back->finished, 1);
    assert_string_equal(back->body, "{\"state\":\"accepted\"}");
    end();
}

static void an_imported_call_that_has_its_answers_runs(void **state)
{
    begin_import(&(struct world_opts){ .handler = steps_then_asks }, true);

    (void)state;
    struct world_caller *back = world_caller_new(&world);
    assert_true(import(back));
    world_settle(&world);
    assert_int_equal(back->asked, 0);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_OK);
    assert_int_equal(world.steps_done, 1); /* the first was done before */
    end();
}

static nod_status steps_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    NOD_TRY(world_step(run, &world, "once", true));
    *body = STR("{}");
    return NOD_OK;
}

static void a_step_that_was_begun_by_another_is_not_tried_again(void **state)
{
    struct entry entries[2];

    (void)state;
    begin_import(&(struct world_opts){ .handler = steps_once }, true);
    assert_int_equal(loaded.call.entry_count, 1);
    entries[0] = loaded.call.entries[0];
    entries[1] = (struct entry){ .class = ENTRY_INTENT, .key = STR("once") };
    loaded.call.entries = entries;
    loaded.call.entry_count = 2;
    struct world_caller *back = world_caller_new(&world);
    assert_true(import(back));
    world_settle(&world);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_E_OUTCOME_UNKNOWN);
    assert_int_equal(world.steps_done, 0);
    end();
}

static void an_import_whose_reply_is_lost_happens_once(void **state)
{
    begin_import(&(struct world_opts){ .handler = steps_then_asks }, true);

    (void)state;
    world.fail_verb = "park";
    world.fail_how = MEMORY_FAIL_AFTER;
    world.fail_times = 2;
    struct world_caller *back = world_caller_new(&world);
    assert_true(import(back));
    for (int i = 0; i < 10; i++)
        world_advance(&world, 1000);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_OK);
    end();
}

static void an_import_that_the_store_does_not_take_says_so_and_may_be_tried_again(void **state)
{
    begin_import(&(struct world_opts){ .handler = asks_once }, false);

    (void)state;
    world.fail_verb = "park";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = ENGINE_STORE_TRIES;
    struct world_caller *back = world_caller_new(&world);
    assert_true(import(back));
    for (int i = 0; i < 10; i++)
        world_advance(&world, 1000);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_E_STORE);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(engine_pending(world.engine), 0);
    back = world_caller_new(&world);
    assert_true(import(back));
    world_settle(&world);
    assert_int_equal(back->asked, 1);
    end();
}

static void a_second_import_of_a_call_changes_nothing(void **state)
{
    begin_import(&(struct world_opts){ .handler = asks_once }, false);

    (void)state;
    struct world_caller *back = world_caller_new(&world);
    back->way = CALLER_LEAVES;
    assert_true(import(back));
    world_settle(&world);
    struct world_caller *again = world_caller_new(&world);
    assert_true(import(again));
    world_settle(&world);
    assert_int_equal(again->finished, 1);
    assert_int_equal(again->status, NOD_E_STALE);
    assert_int_equal(stored_state(), CALL_STORED_WAITING);
    end();
}

static void a_cancel_during_an_import_is_a_cancel_whatever_the_store_says(void **state)
{
    static const enum memory_fault ways[] = { MEMORY_FINE, MEMORY_FAIL_BEFORE, MEMORY_FAIL_AFTER };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        begin_import(&(struct world_opts){ .handler = asks_once }, false);
        world.fail_verb = "park";
        world.fail_how = ways[i];
        world.fail_times = ENGINE_STORE_TRIES;
        struct world_caller *back = world_caller_new(&world);
        assert_true(import(back));
        call_cancel(back->caller.call, STR("enough"));
        for (int t = 0; t < 10; t++)
            world_advance(&world, 1000);
        assert_int_equal(back->finished, 1);
        assert_int_equal(back->status, NOD_E_CANCELLED);
        assert_int_equal(world.shown_count, 0);
        assert_int_equal(engine_calls(world.engine), 0);
        end();
    }
}

static void let_go_during_an_import_and_the_call_waits_in_the_store(void **state)
{
    begin_import(&(struct world_opts){ .handler = asks_once }, false);

    (void)state;
    struct world_caller *back = world_caller_new(&world);
    assert_true(import(back));
    call_caller_left(back->caller.call);
    world_settle(&world);
    assert_int_equal(back->finished, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(stored_state(), CALL_STORED_WAITING); /* the client still has its state */
    end();
}

/* --- a store that fails --- */

static void a_take_whose_reply_is_lost_happens_once(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_LEAVES);

    (void)state;
    answer(only_ask());
    load(call_name);
    world.fail_verb = "take";
    world.fail_how = MEMORY_FAIL_AFTER;
    world.fail_times = 2;
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    for (int i = 0; i < 10; i++)
        world_advance(&world, 1000);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_OK);
    assert_int_equal(world.runs, 2);
    end();
}

static void a_take_waits_for_a_store_that_is_away(void **state)
{
    begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_LEAVES);

    (void)state;
    answer(only_ask());
    load(call_name);
    world.fail_verb = "take";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 2 * ENGINE_STORE_TRIES;
    struct world_caller *back = world_caller_new(&world);
    assert_true(adopt(back));
    for (int i = 0; i < 10; i++)
        world_advance(&world, 1000);
    assert_int_equal(back->finished, 0);
    assert_int_equal(stored_state(), CALL_STORED_RUNNABLE);
    for (int i = 0; i < 30; i++)
        world_advance(&world, 1000);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_OK);
    assert_int_equal(world.runs, 2);
    end();
}

/* --- from inside of a callback --- */

static void goes(struct world_caller *caller, struct call *call)
{
    (void)caller;
    call_caller_left(call);
}

static void cancels(struct world_caller *caller, struct call *call)
{
    (void)caller;
    call_cancel(call, STR("enough"));
}

static void a_caller_may_go_while_it_is_told_of_asks(void **state)
{
    static const enum caller_way ways[] = { CALLER_HOLDS, CALLER_CARRIES, CALLER_LEAVES };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        begin(&(struct world_opts){ .handler = asks_once }, ways[i]);
        world.on_asked = goes;
        world_settle(&world);
        assert_int_equal(engine_calls(world.engine), 0);
        assert_int_equal(world.shown_count, 0);
        assert_int_equal(stored_state(), CALL_STORED_WAITING);
        end();
    }
}

static void a_caller_may_cancel_while_it_is_told_of_asks(void **state)
{
    static const enum caller_way ways[] = { CALLER_HOLDS, CALLER_CARRIES, CALLER_LEAVES };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_once }, ways[i]);
        world.on_asked = cancels;
        world_settle(&world);
        assert_int_equal(engine_calls(world.engine), 0);
        assert_int_equal(caller->finished, 1);
        assert_int_equal(caller->status, NOD_E_CANCELLED);
        assert_int_equal(world.shown_count, 0);
        assert_int_equal(stored_state(), CALL_STORED_CANCELLED);
        end();
    }
}

static struct world_caller *goes_next;

static void go_now(void)
{
    if (goes_next->caller.call)
        call_caller_left(goes_next->caller.call);
}

static void a_caller_may_go_while_an_answerer_is_told(void **state)
{
    goes_next = begin_and_settle(&(struct world_opts){ .handler = asks_once }, CALLER_HOLDS);

    (void)state;
    world.on_answered = go_now;
    answer(world.shown[0].id);
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(goes_next->finished, 0);
    load(call_name);
    struct world_caller *back = world_caller_new(&world);
    world.on_answered = NULL;
    assert_true(adopt(back));
    world_settle(&world);
    assert_int_equal(back->finished, 1);
    assert_int_equal(back->status, NOD_OK);
    end();
}

SUBJECT(adopt)
{
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR });
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caller_that_leaves_leaves_nothing_behind_but_the_record),
        cmocka_unit_test(a_waiting_call_comes_back_and_is_asked_and_answered),
        cmocka_unit_test(a_call_that_was_answered_meanwhile_runs_when_it_comes_back),
        cmocka_unit_test(a_carried_call_is_not_offered_and_takes_its_answers_from_the_caller),
        cmocka_unit_test(the_time_to_live_goes_on_while_a_call_is_away),
        cmocka_unit_test(steps_are_not_repeated_by_a_call_that_comes_back),
        cmocka_unit_test(an_adopted_call_can_be_cancelled_at_once),
        cmocka_unit_test(an_adopted_call_can_be_cancelled_while_it_is_taken),
        cmocka_unit_test(an_answer_between_the_look_and_the_return_is_not_lost),
        cmocka_unit_test(a_stale_ask_that_nobody_answers_again_does_not_strand_its_call),
        cmocka_unit_test(a_call_that_ended_between_the_look_and_the_return_gives_its_result),
        cmocka_unit_test(a_call_that_asks_again_between_the_look_and_the_return_is_asked),
        cmocka_unit_test(a_call_that_was_cancelled_between_the_look_and_the_return_is_cancelled),
        cmocka_unit_test(more_asks_than_the_limit_come_back_and_go_again),
        cmocka_unit_test(more_calls_than_the_limit_are_told_so),
        cmocka_unit_test(the_older_question_of_a_scope_is_cancelled_also_when_it_came_back),
        cmocka_unit_test(an_answer_to_another_offer_does_not_count_while_the_call_is_away),
        cmocka_unit_test(an_answer_that_another_node_took_wakes_the_call),
        cmocka_unit_test(a_hint_that_comes_too_early_is_not_forgotten),
        cmocka_unit_test(a_page_may_be_done_while_the_call_is_away),
        cmocka_unit_test(let_go_of_a_waiting_call_and_come_back),
        cmocka_unit_test(an_answer_under_way_when_its_call_is_let_go_of_is_not_lost),
        cmocka_unit_test(an_answer_under_way_finds_the_call_that_came_back_meanwhile),
        cmocka_unit_test(let_go_of_a_running_call_that_the_store_knows_and_it_goes_on),
        cmocka_unit_test(what_goes_on_alone_may_ask_and_waits_for_whoever_comes_back),
        cmocka_unit_test(let_go_of_a_call_that_the_store_does_not_know_and_it_is_cancelled),
        cmocka_unit_test(let_go_while_the_questions_are_stored),
        cmocka_unit_test(let_go_before_an_adopted_call_goes_on),
        cmocka_unit_test(let_go_while_an_adopted_call_is_taken),
        cmocka_unit_test(let_go_while_it_finishes),
        cmocka_unit_test(let_go_while_it_is_cancelled),
        cmocka_unit_test(an_imported_call_is_stored_before_anybody_is_asked),
        cmocka_unit_test(an_imported_call_that_has_its_answers_runs),
        cmocka_unit_test(a_step_that_was_begun_by_another_is_not_tried_again),
        cmocka_unit_test(an_import_whose_reply_is_lost_happens_once),
        cmocka_unit_test(an_import_that_the_store_does_not_take_says_so_and_may_be_tried_again),
        cmocka_unit_test(a_second_import_of_a_call_changes_nothing),
        cmocka_unit_test(a_cancel_during_an_import_is_a_cancel_whatever_the_store_says),
        cmocka_unit_test(let_go_during_an_import_and_the_call_waits_in_the_store),
        cmocka_unit_test(a_take_whose_reply_is_lost_happens_once),
        cmocka_unit_test(a_take_waits_for_a_store_that_is_away),
        cmocka_unit_test(a_caller_may_go_while_it_is_told_of_asks),
        cmocka_unit_test(a_caller_may_cancel_while_it_is_told_of_asks),
        cmocka_unit_test(a_caller_may_go_while_an_answerer_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
