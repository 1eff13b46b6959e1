/* tests/unit/store/quota: how many questions may wait, in all and for one principal, in every
 * store. */
#include "suite.h"

enum { FEW = 3 };

/* The store again, with these bounds. */
static void bounded(size_t in_all, size_t per_principal)
{
    suite_rig->pending_asks = in_all;
    suite_rig->pending_asks_per_principal = per_principal;
    suite_reopen();
}

static nod_status ask_of(const char *principal, struct question *question, struct id *call)
{
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = question, .count = 1, .principal = principal
    };

    if (!question->key)
        question->key = "#1";
    *call = parking.call;
    return suite_park(&parking)->status;
}

static void fill(const char *principal, struct question questions[FEW], struct id calls[FEW])
{
    for (int i = 0; i < FEW; i++)
        assert_int_equal(ask_of(principal, &questions[i], &calls[i]), NOD_OK);
}

static void past_its_bound_a_principal_asks_nothing_and_others_do(void **state)
{
    struct question questions[FEW] = { 0 }, more = { 0 }, other = { 0 };
    struct id calls[FEW], refused, fine;
    (void)state;

    bounded(0, FEW);
    fill("ada", questions, calls);
    assert_int_equal(ask_of("ada", &more, &refused), NOD_E_LIMIT);
    assert_int_equal(suite_load_call(&refused)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_load_ask(&more.id)->status, NOD_E_NOT_FOUND);
    assert_int_equal(ask_of("grace", &other, &fine), NOD_OK);
}

/* Where the questions are counted first, a call is stored as it was given, whole. */
static void a_call_at_a_bound_keeps_the_name_of_its_client(void **state)
{
    struct question question = { .key = "#1" };
    struct parking parking = { .call = suite_id(),
                               .open = true,
                               .questions = &question,
                               .count = 1,
                               .client = "{\"name\":\"Inspector\"}" };
    (void)state;

    bounded(FEW, FEW);
    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    assert_str(suite_load_call(&parking.call)->reply.call->client, parking.client);
}

static void past_the_bound_in_all_nobody_asks(void **state)
{
    struct question questions[FEW] = { 0 }, other = { 0 };
    struct id calls[FEW], refused;
    (void)state;

    bounded(FEW, 0);
    fill("ada", questions, calls);
    assert_int_equal(ask_of("grace", &other, &refused), NOD_E_LIMIT);
    suite_claim(&questions[0].id, ASK_DECLINED, "", "ada", "");
    assert_int_equal(ask_of("grace", &other, &refused), NOD_OK);
}

static void every_end_of_a_question_makes_room_for_one(void **state)
{
    struct question questions[FEW] = { 0 }, more[FEW] = { 0 };
    struct id calls[FEW], call;
    (void)state;

    bounded(0, FEW);
    fill("ada", questions, calls);
    suite_claim(&questions[0].id, ASK_ACCEPTED, "{}", "ada", "node-a");
    suite_cancel(NULL, &calls[1], "enough");
    suite_finish(NULL, &calls[2], 1, "{}");
    for (int i = 0; i < FEW; i++)
        assert_int_equal(ask_of("ada", &more[i], &call), NOD_OK);
    struct question last = { 0 };
    assert_int_equal(ask_of("ada", &last, &call), NOD_E_LIMIT);
    /* An end counts once, whoever says it again. */
    suite_claim(&questions[0].id, ASK_ACCEPTED, "{}", "ada", "node-a");
    suite_cancel(NULL, &calls[1], "enough");
    assert_int_equal(ask_of("ada", &last, &call), NOD_E_LIMIT);
}

static void all_the_questions_of_a_park_have_room_or_none(void **state)
{
    struct question first[2] = { { .key = "a" }, { .key = "b" } };
    struct question second[2] = { { .key = "a" }, { .key = "b" } };
    struct parking parking = { .call = suite_id(), .open = true, .questions = first, .count = 2 };
    struct parking next = { .call = suite_id(), .open = true, .questions = second, .count = 2 };
    (void)state;

    bounded(0, FEW);
    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    assert_int_equal(suite_park(&next)->status, NOD_E_LIMIT);
    assert_int_equal(suite_load_ask(&second[0].id)->status, NOD_E_NOT_FOUND);
    next.count = 1;
    assert_int_equal(suite_park(&next)->status, NOD_OK);
}

static void a_second_round_is_bounded_as_the_first(void **state)
{
    struct question questions[FEW] = { 0 }, round = { .key = "again" };
    struct id calls[FEW];
    (void)state;

    bounded(0, FEW);
    fill("ada", questions, calls);
    suite_claim(&questions[0].id, ASK_ACCEPTED, "{}", "ada", "node-a");
    struct parking parking = { .call = calls[0], .epoch = 2, .questions = &round, .count = 1 };
    struct question more = { 0 };
    struct id call;
    assert_int_equal(ask_of("ada", &more, &call), NOD_OK);
    assert_int_equal(suite_park(&parking)->status, NOD_E_LIMIT);
    suite_claim(&more.id, ASK_CANCELLED, "", "ada", "");
    assert_int_equal(suite_park(&parking)->status, NOD_OK); /* and it may be sent again */
}

static void a_question_that_ran_out_does_not_count(void **state)
{
    struct question questions[FEW] = { { .ttl_ms = SUITE_SHORT_MS },
                                       { .ttl_ms = SUITE_SHORT_MS },
                                       { 0 } };
    struct question more[2] = { 0 }, last = { 0 };
    struct id calls[FEW], call;
    (void)state;

    bounded(0, FEW);
    fill("ada", questions, calls);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS + 1);
    assert_int_equal(ask_of("ada", &more[0], &call), NOD_OK);
    /* That its end is said afterwards makes no further room. */
    suite_claim(&questions[0].id, ASK_EXPIRED, "", "nod", "");
    suite_cancel(NULL, &calls[1], "enough");
    assert_int_equal(ask_of("ada", &more[1], &call), NOD_OK);
    assert_int_equal(ask_of("ada", &last, &call), NOD_E_LIMIT);
}

static void a_park_sent_again_at_the_bound_recognises_itself(void **state)
{
    struct question questions[FEW] = { { .key = "a" }, { .key = "b" }, { .key = "c" } };
    struct parking parking = {
        .token = suite_id(), .call = suite_id(), .open = true, .questions = questions, .count = FEW
    };
    (void)state;

    bounded(0, FEW);
    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    suite_claim(&questions[0].id, ASK_DECLINED, "", "ada", "");
    struct question more = { 0 };
    struct id call;
    assert_int_equal(ask_of("ada", &more, &call), NOD_OK); /* it was counted once */
}

static void what_comes_back_with_its_call_is_not_refused(void **state)
{
    struct question questions[FEW] = { 0 }, back = { .key = "#1" }, more = { 0 };
    struct id calls[FEW], call;
    (void)state;

    bounded(0, FEW);
    fill("ada", questions, calls);
    back.expires_ms = suite_load_ask(&questions[0].id)->reply.ask->expires_ms;
    assert_int_equal(ask_of("ada", &back, &call), NOD_OK);
    suite_claim(&questions[0].id, ASK_DECLINED, "", "ada", "");
    assert_int_equal(ask_of("ada", &more, &call), NOD_E_LIMIT); /* but it counts */
}

static void the_bounds_hold_after_a_restart(void **state)
{
    struct question questions[FEW] = { 0 }, more = { 0 };
    struct id calls[FEW], call;
    (void)state;

    if (!suite_rig->durable)
        return;
    bounded(0, FEW);
    fill("ada", questions, calls);
    suite_reopen();
    assert_int_equal(ask_of("ada", &more, &call), NOD_E_LIMIT);
    suite_claim(&questions[2].id, ASK_ACCEPTED, "{}", "ada", "");
    assert_int_equal(ask_of("ada", &more, &call), NOD_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, suite_setup, suite_teardown)

const struct CMUnitTest suite_quota[] = {
    TEST(past_its_bound_a_principal_asks_nothing_and_others_do),
    TEST(past_the_bound_in_all_nobody_asks),
    TEST(a_call_at_a_bound_keeps_the_name_of_its_client),
    TEST(every_end_of_a_question_makes_room_for_one),
    TEST(all_the_questions_of_a_park_have_room_or_none),
    TEST(a_second_round_is_bounded_as_the_first),
    TEST(a_question_that_ran_out_does_not_count),
    TEST(a_park_sent_again_at_the_bound_recognises_itself),
    TEST(what_comes_back_with_its_call_is_not_refused),
    TEST(the_bounds_hold_after_a_restart),
};
const size_t suite_quota_count = sizeof(suite_quota) / sizeof(suite_quota[0]);
