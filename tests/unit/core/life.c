/*
 * tests/unit/core/life: every transition in the life of an ask and of its call, with a fake clock.
 */
#include "world.h"

#include "base/log.h"
#include "store/memory_inside.h"
#include "../runner.h"

static size_t memory_store_asks(const struct store *store)
{
    return ((const struct memory_store *)(const void *)store)->asks.count;
}

static size_t memory_store_calls(const struct store *store)
{
    return ((const struct memory_store *)(const void *)store)->calls.count;
}

#include <stdio.h>
#include <string.h>

static struct world world;

#define ACCEPT_3 "{\"n\":3}"

static const char *up_id(void)
{
    struct shown *up = world_up(&world);

    assert_non_null(up);
    return up->id;
}

static nod_status asks_once(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "How many?", world_ask_form, &answer));
    *body = arena_fmt(&run->arena, "{\"state\":\"" STR_FMT "\",\"content\":" STR_FMT "}",
                      STR_ARG(ask_state_name(answer->state)),
                      STR_ARG(answer->content.len ? answer->content : STR("null")));
    return NOD_OK;
}

static struct world_caller *begin(const struct world_opts *opts)
{
    world_init(&world, opts);
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    return caller;
}

static void nothing_is_shown_before_the_ask_is_stored(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    struct world_caller *caller = world_call(&world, "ann", "s1");
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(memory_store_asks(world.store), 1);
    world_settle(&world);
    assert_int_equal(world.shown_count, 1);
    assert_int_equal(caller->asked, 1);
    assert_true(caller->waiting);
    world_finish(&world);
}

static void an_accepted_ask_resumes_the_call_with_its_content(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_once });

    (void)state;
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"state\":\"accepted\",\"content\":{\"n\":3}}");
    assert_int_equal(world.runs, 2);
    assert_int_equal(engine_calls(world.engine), 0);
    assert_int_equal(engine_pending(world.engine), 0);
    assert_false(caller->waiting);
    assert_string_equal(world.shown[0].why, ""); /* who answered has nothing to take down */
    world_finish(&world);
}

static void a_decline_and_a_cancel_are_told_apart_and_carry_no_content(void **state)
{
    (void)state;
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_once });
    world_answer(&world, up_id(), ASK_DECLINED, ACCEPT_3, "ann", 1);
    assert_string_equal(caller->body, "{\"state\":\"declined\",\"content\":null}");
    world_finish(&world);

    caller = begin(&(struct world_opts){ .handler = asks_once });
    world_answer(&world, up_id(), ASK_CANCELLED, NULL, "ann", 1);
    assert_string_equal(caller->body, "{\"state\":\"cancelled\",\"content\":null}");
    world_finish(&world);
}

static void an_ask_expires_after_its_time_to_live_and_is_taken_down(void **state)
{
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = asks_once, .ttl_ms = 5000 });

    (void)state;
    world_advance(&world, 4999);
    assert_int_equal(caller->finished, 0);
    world_advance(&world, 1);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_TIMEOUT);
    assert_string_equal(caller->code, "ELICITATION_TIMEOUT");
    assert_null(world_up(&world));
    assert_string_equal(world.shown[0].why, "Nobody answered in time");
    world_finish(&world);
}

static void the_default_time_to_live_is_five_minutes(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_once });

    (void)state;
    world_advance(&world, 299999);
    assert_int_equal(caller->finished, 0);
    world_advance(&world, 1);
    assert_int_equal(caller->status, NOD_E_TIMEOUT);
    world_finish(&world);
}

static void a_late_answer_changes_nothing(void **state)
{
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = asks_once, .ttl_ms = 5000 });
    char id[64];

    (void)state;
    snprintf(id, sizeof(id), "%s", up_id());
    world_advance(&world, 5000);
    world_answer(&world, id, ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_int_equal(world.last.state, ASK_EXPIRED);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_TIMEOUT);
    world_finish(&world);
}

static nod_status asks_twice(struct run *run, struct str *body)
{
    const struct entry *first, *second;
    nod_status status = world_ask(run, "first", "One?", world_ask_form, &first);

    if (status != NOD_OK && status != NOD_E_TIMEOUT)
        return status;
    NOD_TRY(world_ask(run, "second", "Two?", world_ask_form, &second));
    *body =
        arena_fmt(&run->arena, "{\"first\":\"" STR_FMT "\",\"second\":\"" STR_FMT "\"}",
                  STR_ARG(ask_state_name(first->state)), STR_ARG(ask_state_name(second->state)));
    return NOD_OK;
}

static void a_late_answer_never_answers_the_next_ask(void **state)
{
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = asks_twice, .ttl_ms = 5000 });
    char first[64];

    (void)state;
    snprintf(first, sizeof(first), "%s", up_id());
    world_advance(&world, 5000);
    assert_int_equal(world.shown_count, 2);
    world_answer(&world, first, ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_int_equal(caller->finished, 0);
    world_answer(&world, up_id(), ASK_DECLINED, NULL, "ann", 1);
    assert_string_equal(caller->body, "{\"first\":\"expired\",\"second\":\"declined\"}");
    world_finish(&world);
}

static void the_second_answer_is_told_who_was_first(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_twice });
    char id[64];

    (void)state;
    snprintf(id, sizeof(id), "%s", up_id());
    world_answer(&world, id, ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(world.last.status, NOD_OK);
    world_answer(&world, id, ASK_DECLINED, NULL, "ann", 1);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_int_equal(world.last.state, ASK_ACCEPTED);
    assert_int_equal(caller->finished, 0);
    world_finish(&world);
}

static void another_principal_cannot_answer(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_once });

    (void)state;
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "bob", 1);
    assert_int_equal(world.last.status, NOD_E_NOT_FOUND);
    assert_int_equal(caller->finished, 0);
    world_answer(&world, "AAAAAAAAAAAAAAAAAAAAAA", ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(world.last.status, NOD_E_NOT_FOUND);
    world_finish(&world);
}

static void a_models_word_is_no_consent(void **state)
{
    (void)state;
    struct world_caller *caller = begin(
        &(struct world_opts){ .handler = asks_once, .requires_confirmation = true, .model = true });
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "CONFIRMATION_REQUIRED");
    assert_int_equal(world.shown_count, 0);
    world_finish(&world);
}

static void a_model_cannot_answer_what_was_put_to_a_person(void **state)
{
    char id[ID_LEN + 1];

    (void)state;
    world_init(&world, &(struct world_opts){
                           .handler = asks_once, .requires_confirmation = true, .model = true });
    world.second_can = 1u << ASK_APPROVAL;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(world.second_count, 1);
    snprintf(id, sizeof(id), STR_FMT, STR_ARG(ask_record(call_ask_first(caller->caller.call))->id));
    world_answer(&world, id, ASK_ACCEPTED, NULL, "ann", 0); /* by the first surface, a model */
    assert_int_equal(world.last.status, NOD_E_REFUSED);
    assert_true(world.last.pending);
    assert_int_equal(world.runs, 0);
    world_finish(&world);
}

static void an_answer_that_is_late_by_the_clock_is_late_before_anybody_looked(void **state)
{
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = asks_once, .ttl_ms = 5000 });

    (void)state;
    fake_clock_advance(&world.clock, 5000); /* and the engine has not been told */
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_int_equal(world.last.state, ASK_EXPIRED);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_TIMEOUT);
    world_finish(&world);
}

static void invalid_content_ends_the_call_where_the_surface_has_one_attempt(void **state)
{
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = asks_once, .surface_attempts = 1 });

    (void)state;
    world_answer(&world, up_id(), ASK_ACCEPTED, "{\"n\":\"three\"}", "ann", 1);
    assert_int_equal(world.last.status, NOD_E_INVALID);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_INVALID);
    assert_string_equal(caller->code, "INVALID_INPUT");
    assert_non_null(strstr(caller->message, "Invalid elicitation result content: n: expected"));
    assert_non_null(strstr(caller->details, "\"path\":\"/n\""));
    assert_int_equal(world.runs, 2);
    world_finish(&world);
}

static void invalid_content_is_still_pending_where_the_surface_says_so(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_once });

    (void)state;
    world_answer(&world, up_id(), ASK_ACCEPTED, "{}", "ann", 0);
    assert_int_equal(world.last.status, NOD_E_INVALID);
    assert_true(world.last.pending);
    assert_int_equal(caller->finished, 0);
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 0);
    assert_int_equal(caller->status, NOD_OK);
    world_finish(&world);
}

static nod_status asks_with_attempts(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(run_ask(run,
                    &(struct ask_spec){ .kind = ASK_FORM,
                                        .message = STR("How many?"),
                                        .detail = STR(world_ask_form),
                                        .attempts = 3 },
                    &answer));
    *body = answer->content;
    return NOD_OK;
}

static void an_ask_with_attempts_is_asked_again_and_says_what_was_wrong(void **state)
{
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = asks_with_attempts, .surface_attempts = 1 });

    (void)state;
    world_answer(&world, up_id(), ASK_ACCEPTED, "{\"n\":\"x\"}", "ann", 1);
    assert_int_equal(world.shown_count, 2);
    assert_int_equal(world.shown[1].attempt, 2);
    assert_non_null(strstr(world.shown[1].problems, "/n"));
    /* An answer to the first offer no longer counts. */
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_int_equal(caller->finished, 0);
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 2);
    assert_string_equal(caller->body, ACCEPT_3);
    world_finish(&world);
}

static void content_with_a_nul_in_it_does_not_fit_and_is_asked_for_again(void **state)
{
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = asks_with_attempts, .surface_attempts = 1 });

    (void)state;
    world_answer(&world, up_id(), ASK_ACCEPTED, "{\"n\":3,\"more/of it\":[\"a\\u0000b\"]}", "ann",
                 1);
    assert_int_equal(world.shown[1].attempt, 2);
    assert_non_null(strstr(world.shown[1].problems, "\"/more~1of it\""));
    assert_non_null(strstr(world.shown[1].problems, "has a NUL character in it"));
    world_answer(&world, up_id(), ASK_ACCEPTED, "{\"n\":3,\"a\\u0000b\":1}", "ann", 2);
    assert_int_equal(world.shown[2].attempt, 3);
    assert_int_equal(caller->finished, 0);
    world_answer(&world, up_id(), ASK_ACCEPTED, "{\"n\":3,\"a\":\"\\\\u0000\"}", "ann", 3);
    assert_int_equal(caller->status, NOD_OK); /* that is a backslash */
    world_finish(&world);
}

static nod_status asks_to_choose(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(run_ask(
        run,
        &(struct ask_spec){
            .kind = ASK_FORM,
            .message = STR("Which?"),
            .detail = STR("{\"type\":\"object\",\"properties\":{\"size\":{\"type\":\"string\","
                          "\"title\":\"Size\",\"oneOf\":[{\"const\":\"s\",\"title\":\"Small\"},"
                          "{\"const\":\"l\",\"title\":\"Large\"}]}}}"),
            .attempts = 3 },
        &answer));
    *body = answer->content;
    return NOD_OK;
}

static void people_are_told_the_titles_of_choices(void **state)
{
    begin(&(struct world_opts){ .handler = asks_to_choose, .surface_attempts = 1 });

    (void)state;
    world_answer(&world, up_id(), ASK_ACCEPTED, "{\"size\":\"m\"}", "ann", 1);
    assert_int_equal(world.shown[1].attempt, 2);
    assert_non_null(strstr(world.shown[1].problems, "must be one of \\\"Small\\\", \\\"Large\\\""));
    world_answer(&world, up_id(), ASK_ACCEPTED, "{\"size\":\"l\"}", "ann", 2);
    world_finish(&world);
}

static void arguments_with_a_nul_in_them_are_refused_before_anybody_is_asked(void **state)
{
    struct arena arena;
    (void)state;

    world_init(&world, &(struct world_opts){ .handler = asks_once, .requires_confirmation = true });
    struct world_caller *caller = world_caller_new(&world);
    arena_init(&arena, 1 << 16);
    engine_call(world.engine,
                &(struct call_spec){
                    .target = &world.target,
                    .args = json_parse(&arena, STR("{\"path\":\"a\\u0000b\"}"), NULL, NULL),
                    .principal = STR("ann"),
                    .scope = STR("s1"),
                    .caller = &caller->caller });
    arena_finish(&arena);
    world_settle(&world);
    assert_int_equal(world.shown_count, 0);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "INVALID_ARGUMENTS");
    assert_int_equal(world.runs, 0);
    world_finish(&world);
}

static void a_cancelled_call_withdraws_its_asks(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_once });
    char id[64];

    (void)state;
    snprintf(id, sizeof(id), "%s", up_id());
    call_cancel(caller->caller.call, STR("The client cancelled"));
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_CANCELLED);
    assert_null(world_up(&world));
    assert_string_equal(world.shown[0].why, "The client cancelled");
    world_answer(&world, id, ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(world.last.status, NOD_E_STALE);
    assert_int_equal(world.last.state, ASK_WITHDRAWN);
    world_finish(&world);
}

static void an_offer_that_fails_moves_on_and_is_no_refusal(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    world.offer = OFFER_REFUSED;
    world.second_can = 1u << ASK_FORM;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(world.second_count, 1);
    assert_int_equal(caller->finished, 0);
    world_finish(&world);

    world_init(&world, &(struct world_opts){ .handler = asks_once });
    world.offer = OFFER_REFUSED;
    caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(caller->status, NOD_E_NOT_SUPPORTED);
    assert_string_equal(caller->code, "ELICITATION_NOT_SUPPORTED");
    world_finish(&world);
}

static void without_any_surface_nothing_is_sent_or_stored(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    world.can = 0;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(caller->status, NOD_E_NOT_SUPPORTED);
    assert_non_null(strstr(caller->message, "form mode"));
    assert_int_equal(memory_store_calls(world.store), 0);
    world_finish(&world);
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
    *body = arena_fmt(&run->arena, "[" STR_FMT "," STR_FMT "]", STR_ARG(a->content),
                      STR_ARG(b->content));
    return NOD_OK;
}

static void two_asks_of_one_round_are_answered_in_any_order(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = wants_two });

    (void)state;
    assert_int_equal(world.shown_count, 2);
    world_answer(&world, world_up_key(&world, "b")->id, ASK_ACCEPTED, "{\"n\":2}", "ann", 1);
    assert_int_equal(world.runs, 1); /* not before the round is whole */
    assert_int_equal(caller->finished, 0);
    world_answer(&world, world_up_key(&world, "a")->id, ASK_ACCEPTED, "{\"n\":1}", "ann", 1);
    assert_string_equal(caller->body, "[{\"n\":1},{\"n\":2}]");
    assert_int_equal(world.runs, 2);
    world_finish(&world);
}

static nod_status asks_then_steps(struct run *run, struct str *body)
{
    const struct entry *answer;
    int64_t now;
    uint64_t bits;

    NOD_TRY(run_now(run, &now));
    NOD_TRY(run_random(run, &bits));
    run_notice(run, &(struct notice){ .kind = NOTICE_LOG, .text = STR("begun") });
    NOD_TRY(world_ask(run, NULL, "Sure?", world_ask_form, &answer));
    run_notice(run, &(struct notice){ .kind = NOTICE_LOG, .text = STR("agreed") });
    NOD_TRY(world_step(run, &world, "effect", false));
    NOD_TRY(world_step(run, &world, "once", true));
    *body = arena_fmt(&run->arena, "{\"now\":%lld,\"bits\":\"%llu\"}", (long long)now,
                      (unsigned long long)bits);
    return NOD_OK;
}

static void a_step_happens_once_and_time_and_chance_stay_the_same(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_then_steps });
    char expected[64];

    (void)state;
    snprintf(expected, sizeof(expected), "{\"now\":%lld,", (long long)world.clock.wall);
    world_advance(&world, 60000);
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_OK);
    assert_int_equal(world.steps_done, 2);
    assert_memory_equal(caller->body, expected, strlen(expected));
    assert_string_equal(caller->order, "begun;agreed;"); /* not repeated by the replays */
    world_finish(&world);
}

static int asked_before;

static nod_status changes_its_mind(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, "k", asked_before++ ? "Another?" : "One?", world_ask_form, &answer));
    *body = STR("{}");
    return NOD_OK;
}

static void another_question_under_the_same_key_is_named(void **state)
{
    (void)state;
    asked_before = 0;
    struct world_caller *caller = begin(&(struct world_opts){ .handler = changes_its_mind });
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(caller->status, NOD_E_NOT_DETERMINISTIC);
    assert_non_null(strstr(caller->message, "'k'"));
    world_finish(&world);
}

static void a_gate_asks_before_the_tool_starts(void **state)
{
    (void)state;
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = asks_once, .requires_confirmation = true });
    assert_int_equal(world.runs, 0);
    assert_string_equal(world.shown[0].key, "nod.gate");
    world_answer(&world, up_id(), ASK_ACCEPTED, NULL, "ann", 1);
    assert_int_equal(world.runs, 1);
    assert_int_equal(world.shown_count, 2);
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(caller->status, NOD_OK);
    world_finish(&world);

    caller = begin(&(struct world_opts){ .handler = asks_once, .requires_confirmation = true });
    world_answer(&world, up_id(), ASK_DECLINED, NULL, "ann", 1);
    assert_string_equal(caller->code, "CONFIRMATION_DECLINED");
    assert_int_equal(world.runs, 0);
    world_finish(&world);
}

static void a_persons_time_is_not_work_time(void **state)
{
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = asks_once, .timeout_ms = 1000 });

    (void)state;
    world_advance(&world, 200000);
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(caller->status, NOD_OK);
    world_finish(&world);
}

static void work_that_outlives_its_time_is_answered_for(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once, .timeout_ms = 1000 });
    world.blocking = true;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_advance(&world, 999);
    assert_int_equal(caller->finished, 0);
    world_advance(&world, 1);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "TOOL_TIMEOUT");
    assert_true(world.cancelled_told);
    run_done(world.held, NOD_OK, STR("{}")); /* too late: changes nothing */
    world.held = NULL;
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    world_finish(&world);
}

static void a_running_call_can_be_cancelled(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    world.blocking = true;
    struct world_caller *caller = world_call(&world, "ann", "s1");
    call_cancel(caller->caller.call, STR("stop"));
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_CANCELLED);
    assert_true(world.cancelled_told);
    run_done(world.held, NOD_OK, STR("{}"));
    world.held = NULL;
    assert_int_equal(caller->finished, 1);
    world_finish(&world);
}

static void a_new_ask_cancels_the_older_one_of_its_scope_where_that_is_the_rule(void **state)
{
    (void)state;
    struct world_caller *first =
        begin(&(struct world_opts){ .handler = asks_once, .one_ask_per_scope = true });
    struct world_caller *other = world_call(&world, "ann", "another scope");
    struct world_caller *second = world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(first->finished, 1);
    assert_string_equal(first->body, "{\"state\":\"cancelled\",\"content\":null}");
    assert_int_equal(second->finished, 0);
    assert_int_equal(other->finished, 0);
    world_finish(&world);
}

static void many_asks_may_be_pending_in_a_scope(void **state)
{
    (void)state;
    struct world_caller *first = begin(&(struct world_opts){ .handler = asks_once });
    struct world_caller *second = world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(engine_pending(world.engine), 2);
    world_answer(&world, world.shown[1].id, ASK_ACCEPTED, "{\"n\":2}", "ann", 1);
    world_answer(&world, world.shown[0].id, ASK_ACCEPTED, "{\"n\":1}", "ann", 1);
    assert_non_null(strstr(first->body, "{\"n\":1}"));
    assert_non_null(strstr(second->body, "{\"n\":2}"));
    world_finish(&world);
}

static void pending_asks_are_limited_per_principal_and_in_all(void **state)
{
    (void)state;
    struct world_opts opts = { .handler = asks_once,
                               .limits = { .pending_asks_per_principal = 1, .pending_asks = 2 } };
    world_init(&world, &opts);
    struct world_caller *a1 = world_call(&world, "ann", "s");
    world_settle(&world);
    struct world_caller *a2 = world_call(&world, "ann", "s");
    struct world_caller *b = world_call(&world, "bob", "s");
    world_settle(&world);
    struct world_caller *c = world_call(&world, "cyd", "s");
    world_settle(&world);
    assert_int_equal(a1->finished, 0);
    assert_string_equal(a2->code, "LIMIT_REACHED");
    assert_int_equal(b->finished, 0);
    assert_string_equal(c->code, "LIMIT_REACHED");
    world_answer(&world, world.shown[0].id, ASK_DECLINED, NULL, "ann", 1);
    a2 = world_call(&world, "ann", "s");
    world_settle(&world);
    assert_int_equal(a2->finished, 0); /* there is room again */
    world_finish(&world);
}

static nod_status asks_for_ever(struct run *run, struct str *body)
{
    const struct entry *answer;

    (void)body;
    for (int i = 0;; i++)
        NOD_TRY(world_ask(run, NULL, "More?", NULL, &answer));
}

static void a_journal_is_bounded(void **state)
{
    (void)state;
    struct world_opts opts = { .handler = asks_for_ever, .limits = { .journal_entries = 3 } };
    struct world_caller *caller = begin(&opts);
    for (int i = 0; i < 3; i++)
        world_answer(&world, up_id(), ASK_ACCEPTED, NULL, "ann", 1);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "LIMIT_REACHED");
    world_finish(&world);
}

static nod_status pends_for_nothing(struct run *run, struct str *body)
{
    (void)run;
    (void)body;
    return NOD_PENDING;
}

static nod_status says_nothing(struct run *run, struct str *body)
{
    (void)run;
    (void)body;
    return NOD_OK;
}

static void a_handlers_bug_is_an_error_that_names_it(void **state)
{
    (void)state;
    struct world_caller *caller = begin(&(struct world_opts){ .handler = pends_for_nothing });
    assert_string_equal(caller->code, "HANDLER_BUG");
    assert_non_null(strstr(caller->message, "tool"));
    world_finish(&world);
    caller = begin(&(struct world_opts){ .handler = says_nothing });
    assert_string_equal(caller->code, "HANDLER_BUG");
    world_finish(&world);
}

static nod_status asks_for_a_password(struct run *run, struct str *body)
{
    const struct entry *answer;

    (void)body;
    return world_ask(run, NULL, "Password?",
                     "{\"type\":\"object\",\"properties\":{\"password\":{\"type\":\"string\"}}}",
                     &answer);
}

static nod_status asks_with_depth(struct run *run, struct str *body)
{
    const struct entry *answer;

    (void)body;
    return world_ask(run, NULL, "Deep?",
                     "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\"}}}", &answer);
}

static void a_form_that_may_not_be_asked_is_refused_at_the_call_site(void **state)
{
    (void)state;
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_for_a_password });
    assert_string_equal(caller->code, "BAD_SCHEMA");
    assert_non_null(strstr(caller->message, "secret"));
    assert_int_equal(world.shown_count, 0);
    world_finish(&world);
    caller = begin(&(struct world_opts){ .handler = asks_with_depth });
    assert_string_equal(caller->code, "BAD_SCHEMA");
    assert_int_equal(world.shown_count, 0);
    world_finish(&world);
}

static nod_status asks_url(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(run_ask(run,
                    &(struct ask_spec){ .kind = ASK_URL,
                                        .message = STR("Sign in"),
                                        .wait_done = true,
                                        .url = STR("https://example.com/{id}/x") },
                    &answer));
    *body = STR("{\"in\":true}");
    return NOD_OK;
}

static void a_page_that_is_waited_for_ends_its_ask_when_it_is_done(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_url });
    char id[64], url[128];
    const struct ask_record *record = ask_record(engine_ask(world.engine, str_of(up_id())));

    (void)state;
    snprintf(id, sizeof(id), "%s", up_id());
    snprintf(url, sizeof(url), "https://example.com/%s/x", id);
    assert_true(str_eq(record->url, str_of(url)));
    world_answer(&world, id, ASK_ACCEPTED, NULL, "ann", 1); /* opened */
    assert_int_equal(world.last.status, NOD_OK);
    assert_true(world.last.pending);
    assert_int_equal(caller->finished, 0);
    ask_url_done(world.engine, str_of(id), NULL, NULL);
    world_settle(&world);
    assert_string_equal(caller->body, "{\"in\":true}");
    world_finish(&world);
}

static char stages[1024];

static nod_status note_stage(struct nod_hook_run *hook, void *data)
{
    (void)data;
    strcat(stages, hook_stage(hook));
    strcat(stages, " ");
    return NOD_OK;
}

static void hooks_are_called_at_every_stage_in_order(void **state)
{
    static const nod_flow flows[] = { NOD_FLOW_CALL, NOD_FLOW_ASK, NOD_FLOW_ANSWER };

    (void)state;
    stages[0] = '\0';
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    for (size_t f = 0; f < 3; f++) {
        const struct flow_table *table = engine_flow(flows[f]);
        for (size_t i = 0; i < table->count; i++)
            world_hook(&world, table->id, table->stages[i].name, NOD_WILL, note_stage, NULL);
    }
    world_call(&world, "ann", "s1");
    world_settle(&world);
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_string_equal(
        stages, "accept authorise gate start "
                "parseInput validateRequest generateElicitId storePendingRecord buildRequestParams "
                "finalize "
                "parseInput lookupPending validateContent buildResult publishResult finalize "
                "finish ");
    world_finish(&world);
}

static nod_status refuse(struct nod_hook_run *hook, void *data)
{
    (void)hook;
    (void)data;
    return NOD_E_REFUSED;
}

static void a_hook_may_refuse_at_any_stage_and_nothing_is_stranded(void **state)
{
    static const nod_flow flows[] = { NOD_FLOW_CALL, NOD_FLOW_ASK };

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        const struct flow_table *table = engine_flow(flows[f]);
        for (size_t i = 0; i < table->count; i++) {
            world_init(&world, &(struct world_opts){ .handler = asks_once });
            world_hook(&world, table->id, table->stages[i].name, NOD_WILL, refuse, NULL);
            struct world_caller *caller = world_call(&world, "ann", "s1");
            world_settle(&world);
            if (world_up(&world))
                world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 1);
            if (f == 1 && strcmp(table->stages[i].name, "finalize") == 0) {
                assert_int_equal(caller->finished,
                                 1); /* it ends without an answer: nobody was asked */
            } else {
                assert_int_equal(caller->finished, 1);
                assert_int_not_equal(caller->status, NOD_OK);
            }
            assert_int_equal(engine_calls(world.engine), 0);
            assert_int_equal(engine_pending(world.engine), 0);
            world_finish(&world);
        }
    }
}

static nod_status refuse_aloud(struct nod_hook_run *hook, void *data)
{
    (void)data;
    return hook_fail(hook, NOD_E_REFUSED, "NO_BRIBES", STR("This house pays no bribes."));
}

/* A client's form cannot be answered twice: nobody listens for what becomes of the answer. */
static void an_answer_that_a_hook_refuses_counts_as_one_that_does_not_fit(void **state)
{
    static const char *const stages_before[] = { "parseInput", "lookupPending", "validateContent",
                                                 "buildResult", "publishResult" };

    (void)state;
    for (size_t i = 0; i < 5 * 2; i++) {
        world_init(&world, &(struct world_opts){ .handler = asks_once, .surface_attempts = 1 });
        world_hook(&world, NOD_FLOW_ANSWER, stages_before[i / 2], NOD_WILL, refuse_aloud, NULL);
        struct world_caller *caller = world_call(&world, "ann", "s1");
        world_settle(&world);
        for (int attempt = 1; attempt <= 8; attempt++) {
            assert_int_equal(caller->finished, 0);
            assert_int_equal((int)world.shown_count, attempt);
            struct json content = { .type = JSON_OBJECT };
            ask_answer(world.engine, str_of(up_id()),
                       &(struct answer){ .action = i % 2 ? ASK_DECLINED : ASK_ACCEPTED,
                                         .content = i % 2 ? NULL : &content,
                                         .by = STR("ann"),
                                         .attempt = attempt,
                                         .surface = &world.surface },
                       NULL, NULL);
            world_settle(&world);
        }
        assert_int_equal(caller->finished, 1);
        assert_int_equal(caller->status, NOD_E_INVALID);
        assert_non_null(strstr(caller->message, "This house pays no bribes."));
        world_finish(&world);
    }
}

static void what_a_hook_refuses_of_somebody_else_counts_for_nothing(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    world_hook(&world, NOD_FLOW_ANSWER, "parseInput", NOD_WILL, refuse_aloud, NULL);
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    ask_answer(
        world.engine, str_of(up_id()),
        &(struct answer){ .action = ASK_DECLINED, .by = STR("bob"), .surface = &world.surface },
        NULL, NULL);
    world_settle(&world);
    assert_int_equal(caller->finished, 0);
    assert_true(world_up(&world));
    world_finish(&world);
}

static void an_answer_that_a_hook_refuses_for_the_last_time_moves_the_ask_on(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once, .surface_attempts = 1 });
    world.second_can = ~0u;
    world_hook(&world, NOD_FLOW_ANSWER, "validateContent", NOD_WILL, refuse, NULL);
    struct world_caller *caller = world_call(&world, "ann", "s1");
    world_settle(&world);
    size_t before = world.second_count;
    for (int attempt = 1; attempt <= 8; attempt++) {
        assert_int_equal(world.second_count, before);
        ask_answer(
            world.engine, str_of(up_id()),
            &(struct answer){ .action = ASK_DECLINED, .by = STR("ann"), .surface = &world.surface },
            NULL, NULL);
        world_settle(&world);
    }
    assert_int_equal(caller->finished, 0);
    assert_int_equal(world.second_count, before + 1);
    world_finish(&world);
}

static void a_store_that_is_away_fails_the_call_cleanly(void **state)
{
    (void)state;
    world_init(&world,
               &(struct world_opts){ .handler = asks_once, .seed = 1, .fault_per_mille = 1000 });
    struct world_caller *caller = world_call(&world, "ann", "s1");
    for (int i = 0; i < 40; i++)
        world_advance(&world, 2000);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "STORE_UNAVAILABLE");
    assert_int_equal(engine_calls(world.engine), 0);
    world_finish(&world);
}

static void whose_an_ask_is_shows_in_no_refusal(void **state)
{
    begin(&(struct world_opts){ .handler = asks_once });

    (void)state;
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "bob",
                 7); /* neither his nor that offer */
    assert_int_equal(world.last.status, NOD_E_NOT_FOUND);
    assert_false(world.last.pending);
    world_finish(&world);
}

static void an_answer_that_is_too_large_is_an_invalid_one(void **state)
{
    static char content[8192];

    (void)state;
    snprintf(content, sizeof(content), "{\"n\":3,\"x\":\"%0*d\"}", 4000, 0);
    struct world_caller *caller = begin(&(struct world_opts){
        .handler = asks_once, .surface_attempts = 1, .limits = { .journal_bytes = 3000 } });
    world_answer(&world, up_id(), ASK_ACCEPTED, content, "ann", 1);
    assert_int_equal(world.last.status, NOD_E_INVALID);
    assert_int_equal(caller->finished, 1); /* nobody will answer this prompt a second time */
    assert_string_equal(caller->code, "INVALID_INPUT");
    assert_non_null(strstr(caller->details, "larger"));
    world_finish(&world);

    caller =
        begin(&(struct world_opts){ .handler = asks_once, .limits = { .journal_bytes = 3000 } });
    world_answer(&world, up_id(), ASK_ACCEPTED, content, "ann", 0);
    assert_int_equal(world.last.status, NOD_E_INVALID);
    assert_true(world.last.pending);
    assert_int_equal(caller->finished, 0);
    world_finish(&world);
}

static nod_status asks_for_anything(struct run *run, struct str *body)
{
    const struct entry *answer;

    NOD_TRY(world_ask(run, NULL, "What?",
                      "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}",
                      &answer));
    *body = arena_fmt(&run->arena, "{\"bytes\":%zu}", answer->content.len);
    return NOD_OK;
}

/* Small as text, large as a tree: what cannot be checked must not read as an empty form. */
static void an_answer_that_cannot_be_checked_is_not_an_empty_one(void **state)
{
    enum { PIECES = 400000 };
    struct world_caller *caller = begin(&(struct world_opts){
        .handler = asks_for_anything, .limits = { .journal_bytes = 4 << 20 } });
    struct arena arena;

    (void)state;
    arena_init(&arena, 64 << 20);
    char *text = arena_alloc(&arena, PIECES * 3 + 32);
    size_t len = (size_t)sprintf(text, "{\"x\":[");
    for (int i = 0; i < PIECES; i++)
        len += (size_t)sprintf(text + len, "[],");
    sprintf(text + len - 1, "]}");
    ask_answer(world.engine, str_of(up_id()),
               &(struct answer){ .action = ASK_ACCEPTED,
                                 .content = json_parse(&arena, str_of(text), NULL, NULL),
                                 .by = STR("ann"),
                                 .surface = &world.surface },
               NULL, NULL);
    arena_finish(&arena);
    world_settle(&world);
    if (caller->finished)
        assert_string_not_equal(caller->body, "{\"bytes\":2}");
    world_finish(&world);
}

static nod_status speaks_after_a_step(struct run *run, struct str *body)
{
    nod_status status = world_step(run, &world, "one", false);

    run_notice(run, &(struct notice){ .kind = NOTICE_LOG, .text = STR("done") });
    NOD_TRY(status);
    *body = STR("{}");
    return NOD_OK;
}

static void what_could_not_be_said_in_one_run_is_said_in_the_next(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = speaks_after_a_step });

    (void)state;
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->order, "done;");
    world_finish(&world);
}

static nod_status asks_for_an_age(struct run *run, struct str *body)
{
    const struct entry *answer;

    (void)body;
    return run_ask(run,
                   &(struct ask_spec){ .kind = ASK_FORM, .message = STR("?"), .ttl_ms = INT64_MAX },
                   &answer);
}

static void a_time_to_live_past_all_clocks_is_refused(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_for_an_age });

    (void)state;
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_USAGE);
    assert_non_null(strstr(caller->message, "ttl_ms"));
    world_finish(&world);
    caller = begin(&(struct world_opts){ .handler = asks_once, .timeout_ms = INT64_MAX });
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(caller->status, NOD_OK);
    world_finish(&world);
}

static void every_ask_of_an_older_call_is_cancelled_where_that_is_the_rule(void **state)
{
    (void)state;
    struct world_caller *first =
        begin(&(struct world_opts){ .handler = wants_two, .one_ask_per_scope = true });
    world_answer(&world, world_up_key(&world, "a")->id, ASK_ACCEPTED, "{\"n\":1}", "ann", 1);
    assert_int_equal(engine_pending(world.engine), 1); /* b still waits */
    struct world_caller *second = world_call(&world, "ann", "s1");
    world_settle(&world);
    assert_int_equal(first->finished, 1);
    assert_int_equal(second->finished, 0);
    assert_int_equal(engine_pending(world.engine), 2);
    world_finish(&world);
}

static void arguments_that_do_not_fit_are_refused_and_never_dropped(void **state)
{
    enum { LARGE = 17 << 20 };
    struct arena arena;

    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    arena_init(&arena, 128 << 20);
    char *text = arena_alloc(&arena, LARGE);
    memset(text, 'x', LARGE);
    struct json *args = json_new_object(&arena);
    json_set(&arena, args, STR("x"), json_new_str(&arena, str_n(text, LARGE)));
    struct world_caller *caller = world_caller_new(&world);
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .args = args,
                                                   .principal = STR("ann"),
                                                   .caller = &caller->caller });
    arena_finish(&arena);
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_LIMIT);
    assert_int_equal(world.runs, 0);
    assert_int_equal(engine_calls(world.engine), 0);
    world_finish(&world);
}

static void a_gate_without_memory_is_no_missing_confirmation(void **state)
{
    (void)state;
    struct world_caller *caller = begin(&(struct world_opts){
        .handler = asks_once, .requires_confirmation = true, .limits = { .run_bytes = 200 } });
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->code, "LIMIT_REACHED");
    world_finish(&world);
}

static nod_status steps_without_memory(struct run *run, struct str *body)
{
    arena_alloc(&run->arena, (size_t)1 << 30); /* what it wanted to write is cut short */
    NOD_TRY(world_step(run, &world, "one", false));
    *body = STR("{}");
    return NOD_OK;
}

static void nothing_is_done_on_the_strength_of_text_that_was_cut_short(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = steps_without_memory });

    (void)state;
    assert_int_equal(world.steps_done, 0);
    assert_int_equal(caller->status, NOD_E_LIMIT);
    world_finish(&world);
}

static nod_status runs_out_after_a_step(struct run *run, struct str *body)
{
    nod_status status = world_step(run, &world, "one", false);

    if (status == NOD_PENDING)
        arena_alloc(&run->arena, (size_t)1 << 30);
    NOD_TRY(status);
    *body = STR("{}");
    return NOD_OK;
}

static void a_step_that_was_done_is_recorded_also_when_memory_ran_out_behind_it(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = runs_out_after_a_step });

    (void)state;
    assert_int_equal(world.steps_done, 1);
    assert_int_equal(caller->status, NOD_OK);
    world_finish(&world);
}

static nod_status goes_on_past_a_question(struct run *run, struct str *body)
{
    const struct entry *answer;
    nod_status asked = world_ask(run, NULL, "Sure?", world_ask_form, &answer);

    NOD_TRY(world_step(run, &world, "one", false)); /* whatever the answer will be */
    NOD_TRY(asked);
    *body = STR("{}");
    return NOD_OK;
}

static void nothing_is_done_past_a_question_that_waits(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = goes_on_past_a_question });

    (void)state;
    assert_int_equal(world.steps_done, 0);
    world_answer(&world, up_id(), ASK_ACCEPTED, ACCEPT_3, "ann", 1);
    assert_int_equal(world.steps_done, 1);
    assert_int_equal(caller->status, NOD_OK);
    world_finish(&world);
}

static nod_status steps_anywhere(struct run *run, struct str *body)
{
    const struct entry *entry;
    bool go;
    nod_status status = run_step(run, STR("again"), false, true, &entry, &go);

    if (status == NOD_PENDING && go)
        return run_step_done(run, STR("again"), NOD_OK, STR_NONE);
    NOD_TRY(status);
    NOD_TRY(world_step(run, &world, "one", false));
    *body = STR("{}");
    return NOD_OK;
}

static void only_idempotent_steps_are_done_where_the_state_may_be_presented_elsewhere(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = steps_anywhere });
    struct world_caller *caller = world_caller_new(&world);
    engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                   .principal = STR("ann"),
                                                   .portable = true,
                                                   .caller = &caller->caller });
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_USAGE);
    assert_non_null(strstr(caller->message, "'one'"));
    assert_int_equal(world.steps_done, 0);
    assert_int_equal(world.runs, 2); /* the idempotent one was done */
    world_finish(&world);
}

static void an_answer_that_nobody_will_repeat_outlasts_a_store_that_is_away(void **state)
{
    struct world_caller *caller = begin(&(struct world_opts){ .handler = asks_once });

    (void)state;
    world.fail_verb = "claim";
    world.fail_how = MEMORY_FAIL_BEFORE;
    world.fail_times = 4 * ENGINE_STORE_TRIES;
    ask_answer(
        world.engine, str_of(up_id()),
        &(struct answer){ .action = ASK_DECLINED, .by = STR("ann"), .surface = &world.surface },
        NULL, NULL);
    for (int i = 0; i < 60; i++)
        world_advance(&world, 2000);
    assert_int_equal(caller->finished, 1);
    assert_string_equal(caller->body, "{\"state\":\"declined\",\"content\":null}");
    world_finish(&world);
}

static void a_call_that_is_cancelled_while_its_question_is_stored_asks_nobody(void **state)
{
    (void)state;
    world_init(&world, &(struct world_opts){ .handler = asks_once });
    struct world_caller *caller = world_call(&world, "ann", "s1");
    call_cancel(caller->caller.call, STR("enough"));
    world_settle(&world);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_CANCELLED);
    assert_int_equal(caller->asked, 0);
    assert_int_equal(world.shown_count, 0);
    world_finish(&world);
}

static void a_store_whose_clock_is_behind_is_asked_again(void **state)
{
    struct world_caller *caller =
        begin(&(struct world_opts){ .handler = asks_once, .ttl_ms = 5000 });

    (void)state;
    world.clock.wall -= 2500;
    world_advance(&world, 5000);
    assert_int_equal(caller->finished, 0); /* by the store's clock it is not due */
    for (int i = 0; i < 3; i++)
        world_advance(&world, 1000);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_TIMEOUT);
    world_finish(&world);
}

SUBJECT(life)
{
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR });
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_shown_before_the_ask_is_stored),
        cmocka_unit_test(an_accepted_ask_resumes_the_call_with_its_content),
        cmocka_unit_test(a_decline_and_a_cancel_are_told_apart_and_carry_no_content),
        cmocka_unit_test(an_ask_expires_after_its_time_to_live_and_is_taken_down),
        cmocka_unit_test(the_default_time_to_live_is_five_minutes),
        cmocka_unit_test(a_late_answer_changes_nothing),
        cmocka_unit_test(a_late_answer_never_answers_the_next_ask),
        cmocka_unit_test(the_second_answer_is_told_who_was_first),
        cmocka_unit_test(another_principal_cannot_answer),
        cmocka_unit_test(a_models_word_is_no_consent),
        cmocka_unit_test(a_model_cannot_answer_what_was_put_to_a_person),
        cmocka_unit_test(an_answer_that_is_late_by_the_clock_is_late_before_anybody_looked),
        cmocka_unit_test(invalid_content_ends_the_call_where_the_surface_has_one_attempt),
        cmocka_unit_test(invalid_content_is_still_pending_where_the_surface_says_so),
        cmocka_unit_test(an_ask_with_attempts_is_asked_again_and_says_what_was_wrong),
        cmocka_unit_test(content_with_a_nul_in_it_does_not_fit_and_is_asked_for_again),
        cmocka_unit_test(people_are_told_the_titles_of_choices),
        cmocka_unit_test(arguments_with_a_nul_in_them_are_refused_before_anybody_is_asked),
        cmocka_unit_test(a_cancelled_call_withdraws_its_asks),
        cmocka_unit_test(an_offer_that_fails_moves_on_and_is_no_refusal),
        cmocka_unit_test(without_any_surface_nothing_is_sent_or_stored),
        cmocka_unit_test(two_asks_of_one_round_are_answered_in_any_order),
        cmocka_unit_test(a_step_happens_once_and_time_and_chance_stay_the_same),
        cmocka_unit_test(another_question_under_the_same_key_is_named),
        cmocka_unit_test(a_gate_asks_before_the_tool_starts),
        cmocka_unit_test(a_persons_time_is_not_work_time),
        cmocka_unit_test(work_that_outlives_its_time_is_answered_for),
        cmocka_unit_test(a_running_call_can_be_cancelled),
        cmocka_unit_test(a_new_ask_cancels_the_older_one_of_its_scope_where_that_is_the_rule),
        cmocka_unit_test(many_asks_may_be_pending_in_a_scope),
        cmocka_unit_test(pending_asks_are_limited_per_principal_and_in_all),
        cmocka_unit_test(a_journal_is_bounded),
        cmocka_unit_test(a_handlers_bug_is_an_error_that_names_it),
        cmocka_unit_test(a_form_that_may_not_be_asked_is_refused_at_the_call_site),
        cmocka_unit_test(a_page_that_is_waited_for_ends_its_ask_when_it_is_done),
        cmocka_unit_test(hooks_are_called_at_every_stage_in_order),
        cmocka_unit_test(a_hook_may_refuse_at_any_stage_and_nothing_is_stranded),
        cmocka_unit_test(an_answer_that_a_hook_refuses_counts_as_one_that_does_not_fit),
        cmocka_unit_test(what_a_hook_refuses_of_somebody_else_counts_for_nothing),
        cmocka_unit_test(an_answer_that_a_hook_refuses_for_the_last_time_moves_the_ask_on),
        cmocka_unit_test(a_store_that_is_away_fails_the_call_cleanly),
        cmocka_unit_test(whose_an_ask_is_shows_in_no_refusal),
        cmocka_unit_test(an_answer_that_is_too_large_is_an_invalid_one),
        cmocka_unit_test(an_answer_that_cannot_be_checked_is_not_an_empty_one),
        cmocka_unit_test(what_could_not_be_said_in_one_run_is_said_in_the_next),
        cmocka_unit_test(a_time_to_live_past_all_clocks_is_refused),
        cmocka_unit_test(every_ask_of_an_older_call_is_cancelled_where_that_is_the_rule),
        cmocka_unit_test(arguments_that_do_not_fit_are_refused_and_never_dropped),
        cmocka_unit_test(a_gate_without_memory_is_no_missing_confirmation),
        cmocka_unit_test(nothing_is_done_past_a_question_that_waits),
        cmocka_unit_test(only_idempotent_steps_are_done_where_the_state_may_be_presented_elsewhere),
        cmocka_unit_test(an_answer_that_nobody_will_repeat_outlasts_a_store_that_is_away),
        cmocka_unit_test(a_call_that_is_cancelled_while_its_question_is_stored_asks_nobody),
        cmocka_unit_test(a_store_whose_clock_is_behind_is_asked_again),
        cmocka_unit_test(nothing_is_done_on_the_strength_of_text_that_was_cut_short),
        cmocka_unit_test(a_step_that_was_done_is_recorded_also_when_memory_ran_out_behind_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
