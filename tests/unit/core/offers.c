/*
 * tests/unit/core/offers: questions that several nodes put, and what is left after the store was
 * away.
 *
 * The other node is played by operations on the store, as another engine would send them.
 */
#include "world.h"
#include "../runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCEPT_WORD "{\"n\":\"three\"}"
#define ACCEPT_3    "{\"n\":3}"

enum { TTL_MS = 600000 };

static struct world world;
static struct store_ops ops;

static nod_status asks(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(run_ask(run,
                    &(struct ask_spec){ .kind = ASK_FORM,
                                        .key = STR("n"),
                                        .message = STR("How many?"),
                                        .detail = STR(world_ask_form),
                                        .attempts = 3 },
                    &answer));
    *body = answer->state == ASK_ACCEPTED ? STR("{\"ok\":true}") : STR("{\"ok\":false}");
    return NOD_OK;
}

static void begin_with(const struct world_opts *opts, bool shared)
{
    world_init(&world, opts);
    ops = *world.store->ops;
    ops.durable = ops.shared = shared;
    world.store->ops = &ops;
}

static void begin(bool shared)
{
    begin_with(&(struct world_opts){ .handler = asks, .ttl_ms = TTL_MS, .surface_attempts = 1 },
               shared);
}

static char ask_name[ID_LEN + 1], call_name[ID_LEN + 1];

static struct world_caller *call_of(enum caller_way way, bool handed)
{
    struct world_caller *caller = world_caller_new(&world);

    caller->way = way;
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .scope = STR("s1"),
                                                   .caller_record = STR("{}"),
                                                   .handed = handed,
                                                   .caller = &caller->caller });
    if (caller->caller.call)
        snprintf(call_name, sizeof(call_name), STR_FMT, STR_ARG(call_id(caller->caller.call)));
    world_settle(&world);
    return caller;
}

static struct world_caller *call(enum caller_way way)
{
    return call_of(way, true);
}

/* --- the store, as it is --- */

static struct ask_record seen_ask;
static struct call_record seen_call;
static nod_status seen_status;
static char seen_result[512];

static void ask_row(void *data, const struct store_row *row)
{
    (void)data;
    snprintf(ask_name, sizeof(ask_name), STR_FMT, STR_ARG(row->ask->id));
    seen_ask = *row->ask;
}

static void seen_done(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data;
    seen_status = status;
    if (!reply->call)
        return;
    seen_call = *reply->call;
    snprintf(seen_result, sizeof(seen_result), STR_FMT, STR_ARG(reply->call->result));
}

static void look(void)
{
    ops.scan(world.store,
             &(struct store_scan){ .index = STORE_ASKS_OF_CALL, .key = str_of(call_name) }, ask_row,
             seen_done, NULL);
    ops.load_call(world.store, str_of(call_name), seen_done, NULL);
    world_settle(&world);
}

static void answer(const char *content, int attempt)
{
    world_answer(&world, ask_name, ASK_ACCEPTED, content, "ann", attempt);
}

/* Another node was given content that does not fit. */
static void other_puts_again(int attempt)
{
    struct id token;

    id_random(&token);
    struct claim_item item = { .ask_id = str_of(ask_name), .attempt = attempt, .again = true };
    ops.claim(world.store,
              &(struct claim_spec){ .token = id_str(&token),
                                    .items = &item,
                                    .count = 1,
                                    .by = STR("ann"),
                                    .via = STR("client") },
              seen_done, NULL);
    world_settle(&world);
    assert_int_equal(seen_status, NOD_OK);
}

/* --- offers --- */

static void line04_an_invalid_answer_through_another_node_does_not_end_the_question(void **state)
{
    (void)state;
    begin(true);
    call(CALLER_LEAVES); /* it waits on no node */
    look();
    for (int i = 1; i <= 2; i++) {
        answer(ACCEPT_WORD, i);
        assert_int_equal(world.last.status, NOD_E_INVALID);
        assert_true(world.last.pending);
        look();
        assert_int_equal(seen_ask.state, ASK_PENDING);
        assert_int_equal(seen_ask.attempt, i + 1);
    }
    answer(ACCEPT_WORD, 3); /* the last of its three */
    assert_int_equal(world.last.status, NOD_E_INVALID);
    assert_false(world.last.pending);
    look();
    assert_int_equal(seen_ask.state, ASK_INVALID);
    world_finish(&world);
}

static void line04_an_old_answer_does_not_end_a_newer_offer(void **state)
{
    (void)state;
    begin(true);
    call(CALLER_LEAVES);
    look();
    answer(ACCEPT_WORD, 1);
    answer(ACCEPT_WORD, 1); /* a proxy sends it again */
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_true(world.last.pending);
    answer(ACCEPT_3, 1);
    assert_int_equal(world.last.status, NOD_E_STALE);
    look();
    assert_int_equal(seen_ask.state, ASK_PENDING);
    assert_int_equal(seen_ask.attempt, 2);
    answer(ACCEPT_3, 2);
    assert_int_equal(world.last.status, NOD_OK);
    world_finish(&world);
}

static void line04_an_offer_that_another_node_made_is_known_here(void **state)
{
    struct world_caller *caller;
    (void)state;

    begin(true);
    caller = call(CALLER_HOLDS);
    look();
    assert_int_equal(world.shown_count, 1);
    other_puts_again(1);
    /* Nothing has hinted yet: its old answer comes here first. */
    answer(ACCEPT_3, 1);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_true(world.last.pending);
    assert_int_equal(caller->finished, 0);
    assert_int_equal(world.shown_count, 2); /* it is put up again, where its person is */
    assert_int_equal(world.shown[1].attempt, 2);
    answer(ACCEPT_3, 2);
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(caller->finished, 1);
    world_finish(&world);
}

static void line04_a_hint_shows_the_newer_offer(void **state)
{
    (void)state;
    begin(true);
    struct world_caller *caller = call(CALLER_HOLDS);
    look();
    other_puts_again(1);
    call_wake(caller->caller.call);
    world_settle(&world);
    assert_int_equal(world.shown_count, 2);
    assert_int_equal(world.shown[1].attempt, 2);
    call_wake(caller->caller.call);
    world_settle(&world);
    assert_int_equal(world.shown_count, 2); /* once */
    answer(ACCEPT_3, 2);
    assert_int_equal(caller->finished, 1);
    world_finish(&world);
}

static void line04_an_answer_to_an_offer_that_is_not_known_here_yet_counts(void **state)
{
    (void)state;
    begin(true);
    struct world_caller *caller = call(CALLER_HOLDS);
    look();
    other_puts_again(1);
    answer(ACCEPT_3, 2); /* its client was shown it by the other node */
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(caller->finished, 1);
    world_finish(&world);
}

/* Of its offers the store has not seen the first two: a portable state counted them. */
static void line04_a_hint_shows_the_newer_offer_of_a_question_that_was_carried(void **state)
{
    (void)state;
    begin(true);
    struct world_caller *caller = call(CALLER_HOLDS);
    look();
    ask_put_again(engine_ask(world.engine, str_of(ask_name)), 3);
    other_puts_again(1);
    call_wake(caller->caller.call);
    world_settle(&world);
    assert_int_equal(world.shown_count, 2);
    assert_int_equal(world.shown[1].attempt, 4);
    world_finish(&world);
}

/* --- a store that was away --- */

static void line09_a_cancel_that_failed_is_made_up_for_when_the_store_is_back(void **state)
{
    (void)state;
    begin(true);
    struct world_caller *caller = call(CALLER_HOLDS);
    world.fail_verb = "cancel";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = ENGINE_STORE_TRIES + 3;
    call_cancel(caller->caller.call, STR("enough"));
    for (int i = 0; i < 60; i++)
        world_advance(&world, 500);
    assert_int_equal(caller->finished, 1);
    look();
    assert_int_equal(seen_call.state, CALL_STORED_CANCELLED);
    world_finish(&world);
}

static nod_status steps(struct run *run, struct str *body)
{
    NOD_TRY(world_step(run, &world, "one", false));
    *body = STR("{}");
    return NOD_OK;
}

static void line09_a_call_that_could_not_be_stored_is_not_left_running(void **state)
{
    (void)state;
    begin_with(&(struct world_opts){ .handler = steps, .ttl_ms = TTL_MS }, true);
    world.fail_verb = "append";
    world.fail_how = MEMORY_FAIL_AFTER; /* it happened, and nobody hears of it */
    world.fail_times = ENGINE_STORE_TRIES;
    struct world_caller *caller = call(CALLER_HOLDS);
    for (int i = 0; i < 60; i++)
        world_advance(&world, 500);
    assert_int_equal(caller->finished, 1);
    look();
    assert_true(seen_call.state == CALL_STORED_FINISHED ||
                seen_call.state == CALL_STORED_CANCELLED);
    world_finish(&world);
}

/* What is stored is what the caller was told, and not that anybody cancelled the call. */
static void line09_a_failure_that_the_store_hears_of_later_is_no_cancel(void **state)
{
    (void)state;
    begin(true);
    world.fail_verb = "park finish";
    world.fail_how = MEMORY_FAIL_AFTER;
    world.fail_times = ENGINE_STORE_TRIES - 1; /* the question is stored, and nobody hears of it */
    struct world_caller *caller = call_of(CALLER_HOLDS, false);
    for (int i = 0; i < 30 && world.fail_times; i++)
        world_advance(&world, 100);
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 1 + ENGINE_STORE_TRIES; /* its last try, and its end */
    for (int i = 0; i < 60; i++)
        world_advance(&world, 500);
    assert_int_equal(world.fail_times, 0);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "STORE_UNAVAILABLE");
    look();
    assert_int_equal(seen_call.state, CALL_STORED_CANCELLED);
    assert_non_null(strstr(seen_result, "STORE_UNAVAILABLE"));
    world_finish(&world);
}

/* The word of a claim that was sent again: it took the call once, and others have it by now. */
static uint64_t late_epoch;
static void (*own_claim)(struct store *, const struct claim_spec *, store_done *, void *);

struct late {
    store_done *done;
    void *data;
};

static void late_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct late *late = data;
    struct store_reply old = *reply;

    if (old.taken)
        old.epoch = late_epoch;
    late->done(late->data, status, &old);
    free(late);
}

static void late_claim(struct store *store, const struct claim_spec *claim, store_done *done,
                       void *data)
{
    struct late *late = calloc(1, sizeof(*late));

    late->done = done;
    late->data = data;
    own_claim(store, claim, late_done, late);
}

static void line09_an_older_epoch_is_not_run_in(void **state)
{
    (void)state;
    begin(true);
    call(CALLER_HOLDS);
    look();
    own_claim = ops.claim;
    ops.claim = late_claim;
    late_epoch = 1; /* which this node has seen before */
    size_t runs = world.runs;
    answer(ACCEPT_3, 1);
    assert_int_equal(world.last.status, NOD_OK); /* the answer counts */
    assert_int_equal(world.runs, runs);          /* and nothing runs in an epoch that is over */
    world_finish(&world);
}

/* --- limits --- */

static void line17_the_bound_that_refused_a_question_is_said(void **state)
{
    (void)state;
    begin_with(
        &(struct world_opts){ .handler = asks,
                              .ttl_ms = TTL_MS,
                              .limits = { .pending_asks_per_principal = 1, .pending_asks = 2 } },
        false);
    call(CALLER_HOLDS);
    struct world_caller *second = call(CALLER_HOLDS);
    assert_int_equal(second->status, NOD_E_LIMIT);
    assert_non_null(strstr(second->message, "one principal"));
    assert_non_null(strstr(second->message, ", 1,"));
    assert_non_null(strstr(second->message, "--pending-per-principal"));
    world_call(&world, "bob", "s2");
    world_settle(&world);
    struct world_caller *third = world_call(&world, "cat", "s3");
    world_settle(&world);
    assert_non_null(strstr(third->message, "in all, 2,"));
    assert_non_null(strstr(third->message, "(--pending)"));
    world_finish(&world);
}

static void park_refused(struct store *store, const struct park_spec *park, store_done *done,
                         void *data)
{
    (void)store;
    (void)park;
    done(data, NOD_E_LIMIT,
         &(struct store_reply){ .quota = STORE_QUOTA_PRINCIPAL, .quota_most = 77 });
}

static void (*park_real)(struct store *store, const struct park_spec *park, store_done *done,
                         void *data);

static void park_refused_asks(struct store *store, const struct park_spec *park, store_done *done,
                              void *data)
{
    (park->ask_count ? park_refused : park_real)(store, park, done, data);
}

static void line17_the_bound_of_the_store_is_said_too(void **state)
{
    (void)state;
    begin(true);
    ops.park = park_refused;
    struct world_caller *caller = call(CALLER_HOLDS);
    assert_int_equal(caller->status, NOD_E_LIMIT);
    assert_non_null(strstr(caller->message, "one principal"));
    assert_non_null(strstr(caller->message, "77"));
    assert_non_null(strstr(caller->message, "--pending-per-principal"));
    world_finish(&world);
}

static nod_status steps_asks(struct run *run, struct str *body)
{
    const struct entry *entry;

    NOD_TRY(world_step(run, &world, "transfer", false));
    NOD_TRY(world_ask(run, "a", "A?",
                      "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}",
                      &entry));
    *body = STR("{}");
    return NOD_OK;
}

static void a_bound_that_refuses_a_question_after_a_step_says_what_was_done(void **state)
{
    (void)state;
    for (int by_store = 0; by_store < 2; by_store++) {
        begin_with(
            &(struct world_opts){ .handler = steps_asks,
                                  .ttl_ms = TTL_MS,
                                  .limits = { .pending_asks_per_principal = by_store ? 8 : 1 } },
            true);
        call(CALLER_HOLDS);
        park_real = ops.park;
        if (by_store)
            ops.park = park_refused_asks;
        struct world_caller *second = call(CALLER_HOLDS);
        assert_int_equal(second->status, NOD_E_LIMIT);
        assert_non_null(strstr(second->message, "--pending-per-principal"));
        assert_non_null(strstr(second->message, "Done before: 'transfer'."));
        world_finish(&world);
    }
}

static nod_status asks_asks_steps(struct run *run, struct str *body)
{
    const struct entry *a, *b;

    NOD_TRY(world_ask(run, "a", "A?",
                      "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}", &a));
    NOD_TRY(world_ask(run, "b", "B?",
                      "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}", &b));
    NOD_TRY(world_step(run, &world, "one", false));
    *body = STR("{}");
    return NOD_OK;
}

static const char *large(size_t bytes)
{
    static char text[65536];

    snprintf(text, sizeof(text), "{\"x\":\"%0*d\"}", (int)bytes, 0);
    return text;
}

/* Live, and on no node: what was learned before counts. */
static void line17_an_answer_that_the_journal_has_no_room_for_is_refused_when_given(void **state)
{
    (void)state;
    for (int away = 0; away < 2; away++) {
        begin_with(&(struct world_opts){ .handler = asks_asks_steps,
                                         .ttl_ms = TTL_MS,
                                         .limits = { .journal_bytes = 16384 } },
                   true);
        struct world_caller *caller = call(CALLER_HOLDS);
        look();
        answer(large(9000), 0);
        assert_int_equal(world.last.status, NOD_OK);
        if (away)
            call_caller_left(caller->caller.call);
        look(); /* the second question */
        answer(large(9000), 0);
        assert_int_equal(world.last.status, NOD_E_INVALID);
        assert_true(world.last.pending);
        look();
        assert_int_equal(seen_ask.state, ASK_PENDING);
        assert_int_equal(world.steps_done, 0);
        answer(large(2000), 0);
        assert_int_equal(world.last.status, NOD_OK);
        if (!away) {
            assert_int_equal(world.steps_done, 1);
            assert_int_equal(caller->status, NOD_OK);
            assert_int_equal(caller->finished, 1);
        }
        world_finish(&world);
    }
}

static nod_status fills_then_steps(struct run *run, struct str *body)
{
    struct str filler = arena_fmt(&run->arena, "{\"x\":\"%0*d\"}", 15500, 0);
    const struct entry *entry;
    bool go;

    if (run_step(run, STR("first"), false, false, &entry, &go) == NOD_PENDING)
        return go ? run_step_done(run, STR("first"), NOD_OK, filler) : NOD_PENDING;
    NOD_TRY(world_step(run, &world, "second", false));
    *body = STR("{}");
    return NOD_OK;
}

static void line17_a_step_whose_result_would_have_no_room_is_not_begun(void **state)
{
    (void)state;
    begin_with(&(struct world_opts){ .handler = fills_then_steps,
                                     .ttl_ms = TTL_MS,
                                     .limits = { .journal_bytes = 16384 } },
               true);
    struct world_caller *caller = call(CALLER_HOLDS);
    assert_int_equal(caller->status, NOD_E_LIMIT);
    assert_int_equal(world.steps_done, 0);
    assert_non_null(strstr(caller->message, "16384"));
    world_finish(&world);
}

static void line17_arguments_that_leave_no_room_are_refused_before_anything(void **state)
{
    (void)state;
    begin_with(&(struct world_opts){ .handler = asks,
                                     .ttl_ms = TTL_MS,
                                     .requires_confirmation = true,
                                     .limits = { .journal_bytes = 16384, .run_bytes = 80000 } },
               true);
    struct world_caller *caller = world_caller_new(&world);
    struct arena arena;

    arena_init(&arena, 1 << 20);
    engine_call(world.engine,
                &(struct call_spec){ .target = &world.target,
                                     .args = json_parse(&arena, str_of(large(60000)), NULL, NULL),
                                     .principal = STR("ann"),
                                     .scope = STR("s1"),
                                     .caller = &caller->caller });
    world_settle(&world);
    arena_finish(&arena);
    assert_int_equal(caller->status, NOD_E_LIMIT);
    assert_int_equal(world.shown_count, 0); /* nobody was asked */
    assert_non_null(strstr(caller->message, "47232"));
    world_finish(&world);
}

SUBJECT(offers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line04_an_invalid_answer_through_another_node_does_not_end_the_question),
        cmocka_unit_test(line04_an_old_answer_does_not_end_a_newer_offer),
        cmocka_unit_test(line04_an_offer_that_another_node_made_is_known_here),
        cmocka_unit_test(line04_a_hint_shows_the_newer_offer),
        cmocka_unit_test(line04_an_answer_to_an_offer_that_is_not_known_here_yet_counts),
        cmocka_unit_test(line04_a_hint_shows_the_newer_offer_of_a_question_that_was_carried),
        cmocka_unit_test(line09_a_cancel_that_failed_is_made_up_for_when_the_store_is_back),
        cmocka_unit_test(line09_a_call_that_could_not_be_stored_is_not_left_running),
        cmocka_unit_test(line09_a_failure_that_the_store_hears_of_later_is_no_cancel),
        cmocka_unit_test(line09_an_older_epoch_is_not_run_in),
        cmocka_unit_test(line17_the_bound_that_refused_a_question_is_said),
        cmocka_unit_test(line17_the_bound_of_the_store_is_said_too),
        cmocka_unit_test(a_bound_that_refuses_a_question_after_a_step_says_what_was_done),
        cmocka_unit_test(line17_an_answer_that_the_journal_has_no_room_for_is_refused_when_given),
        cmocka_unit_test(line17_a_step_whose_result_would_have_no_room_is_not_begun),
        cmocka_unit_test(line17_arguments_that_leave_no_room_are_refused_before_anything),
    };

    return cmocka_run_group_tests_name("core: offers", tests, NULL, NULL);
}
