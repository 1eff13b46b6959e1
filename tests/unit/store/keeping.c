/*
 * tests/unit/store/keeping: how long things are kept, what is never removed, and the id of a store.
 */
#include "suite.h"

static int64_t keep_until(const struct id *call)
{
    struct got *got = suite_load_call(call);

    assert_int_equal(got->status, NOD_OK);
    return got->reply.call->keep_until_ms;
}

/* A store removes in slices, in passing. */
static void stir(void)
{
    for (int i = 0; i < 3; i++) {
        struct question question = { .key = "#1" };
        struct id call = suite_ask(&question);
        suite_finish(NULL, &call, 1, "{}");
    }
}

static void pass(int64_t ms)
{
    suite_rig->advance(suite_rig, ms);
    stir();
    if (suite_rig->by_hand)
        suite_rig->advance(suite_rig, 10000);
    stir();
}

static void line01_what_could_bring_a_call_back_is_raised_with_every_transition(void **state)
{
    struct question question = { .key = "#1" };
    struct parking opening = { .call = suite_id(), .open = true, .keep_for_ms = SUITE_LONG_MS };
    struct parking parking = {
        .call = opening.call, .questions = &question, .count = 1, .keep_for_ms = 10 * SUITE_LONG_MS
    };
    (void)state;

    suite_append(&opening);
    int64_t first = keep_until(&opening.call);
    int64_t now = suite_store->ops->now(suite_store);
    assert_in_range(first, now + SUITE_LONG_MS - 5000, now + SUITE_LONG_MS + 5000);
    suite_park(&parking);
    int64_t second = keep_until(&opening.call);
    assert_in_range(second, now + 10 * SUITE_LONG_MS - 5000, now + 10 * SUITE_LONG_MS + 5000);
    suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "node-a");
    struct parking less = { .call = opening.call, .epoch = 2, .keep_for_ms = 1 };
    suite_append(&less);
    assert_int_equal(keep_until(&opening.call), second);
    suite_finish_for(&opening.call, 2, 20 * SUITE_LONG_MS);
    assert_in_range(keep_until(&opening.call), now + 20 * SUITE_LONG_MS - 5000,
                    now + 20 * SUITE_LONG_MS + 5000);
}

static void line01_an_end_is_remembered_as_long_as_something_could_bring_it_back(void **state)
{
    struct question question = { .key = "#1" };
    struct parking opening = { .call = suite_id(), .open = true };
    struct parking parking = {
        .call = opening.call, .questions = &question, .count = 1, .keep_for_ms = 100 * SUITE_LONG_MS
    };
    (void)state;

    suite_rig->keep_ms = SUITE_SHORT_MS;
    suite_reopen();
    suite_append(&opening); /* the step before the first ask */
    suite_park(&parking);
    suite_claim(&question.id, ASK_DECLINED, "", "ada", "node-a");
    suite_finish(NULL, &opening.call, 2, "{}");
    pass(2 * SUITE_SHORT_MS);
    struct got *got = suite_load_call(&opening.call);
    assert_int_equal(got->status, NOD_OK);
    assert_int_equal(got->reply.call->state, CALL_STORED_FINISHED);
}

static void line07_a_runnable_call_is_never_swept_by_age(void **state)
{
    struct question question = { .key = "#1" };
    (void)state;

    suite_rig->keep_ms = SUITE_SHORT_MS;
    suite_reopen();
    struct id call = suite_ask(&question);
    suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "");
    pass(3 * SUITE_SHORT_MS);
    if (suite_rig->durable) {
        suite_reopen();
        pass(3 * SUITE_SHORT_MS);
    }
    struct got *got = suite_load_call(&call);
    assert_int_equal(got->status, NOD_OK);
    assert_int_equal(got->reply.call->state, CALL_STORED_RUNNABLE);
    assert_int_equal(got->reply.call->entry_count, 1);
}

static void line07_a_waiting_call_is_not_swept_when_its_questions_have_run_out(void **state)
{
    struct question question = { .key = "#1", .ttl_ms = SUITE_SHORT_MS };
    (void)state;

    suite_rig->keep_ms = SUITE_SHORT_MS;
    suite_reopen();
    struct id call = suite_ask(&question);
    pass(4 * SUITE_SHORT_MS);
    struct got *got = suite_load_call(&call);
    assert_int_equal(got->status, NOD_OK);
    if (got->reply.call->state == CALL_STORED_WAITING) /* a store may have done it itself */
        assert_int_equal(suite_claim(&question.id, ASK_EXPIRED, "", "nod", "")->status, NOD_OK);
    got = suite_load_call(&call);
    assert_int_equal(got->reply.call->state, CALL_STORED_RUNNABLE);
    assert_int_equal(suite_load_ask(&question.id)->reply.ask->state, ASK_EXPIRED);
}

static void line09_a_park_that_is_refused_leaves_the_one_that_waits(void **state)
{
    struct entry entries[] = { { .class = ENTRY_NOW, .key = STR("#1") },
                               { .class = ENTRY_NOW, .key = STR("#2") } };
    struct question first = { .key = "a" }, second = { .key = "b" };
    struct parking waits = { .call = suite_id(), .open = true, .questions = &first, .count = 1 };
    struct parking ahead = { .call = waits.call,
                             .open = true,
                             .entries = entries,
                             .entry_count = 2,
                             .questions = &second,
                             .count = 1 };
    (void)state;

    if (!suite_rig->quotas)
        return; /* nothing is refused */
    suite_rig->pending_asks_per_principal = 1;
    suite_reopen();
    assert_int_equal(suite_park(&waits)->status, NOD_OK);
    struct got *got = suite_park(&ahead);
    assert_int_equal(got->status, NOD_E_LIMIT);
    assert_int_equal(got->reply.quota, STORE_QUOTA_PRINCIPAL);
    assert_int_equal(got->reply.quota_most, 1);
    got = suite_load_call(&waits.call);
    assert_int_equal(got->status, NOD_OK);
    assert_int_equal(got->reply.call->state, CALL_STORED_WAITING);
    assert_int_equal(suite_load_ask(&first.id)->reply.ask->state, ASK_PENDING);
    assert_int_equal(suite_claim(&first.id, ASK_ACCEPTED, "{}", "ada", "")->status, NOD_OK);
}

static void line17_the_bound_that_refused_is_named(void **state)
{
    struct question questions[] = { { .key = "a" }, { .key = "b" }, { .key = "c" } };
    struct parking three = { .call = suite_id(), .open = true, .questions = questions, .count = 3 };
    (void)state;

    if (!suite_rig->quotas)
        return;
    suite_rig->pending_asks = 2;
    suite_reopen();
    struct got *got = suite_park(&three);
    assert_int_equal(got->status, NOD_E_LIMIT);
    assert_int_equal(got->reply.quota, STORE_QUOTA_ALL);
    assert_int_equal(got->reply.quota_most, 2);
    suite_rig->pending_asks_per_principal = 1;
    suite_reopen();
    got = suite_park(&three);
    assert_int_equal(got->reply.quota, STORE_QUOTA_PRINCIPAL);
    assert_int_equal(got->reply.quota_most, 1);
}

static void a_store_knows_which_one_it_is(void **state)
{
    char id[64] = { 0 };
    (void)state;

    assert_in_range(suite_store->id.len, 16, sizeof(id) - 1);
    memcpy(id, suite_store->id.at, suite_store->id.len);
    if (suite_rig->shared) {
        struct store *other = suite_rig->open(suite_rig);
        assert_str(other->id, id);
        other->ops->destroy(other);
    }
    suite_reopen();
    if (suite_rig->durable)
        assert_str(suite_store->id, id);
    else
        assert_false(str_eq(suite_store->id, str_of(id)));
}

static void line08_a_store_says_what_time_it_is(void **state)
{
    (void)state;

    struct got *got = suite_put("k", "v", STR("x"), 0, 0);
    int64_t said = got->reply.now_ms;
    int64_t now = suite_store->ops->now(suite_store);
    assert_in_range(now, said - 100, said + 2000);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS);
    assert_true(suite_store->ops->now(suite_store) >= said + SUITE_SHORT_MS - 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, suite_setup, suite_teardown)

const struct CMUnitTest suite_keeping[] = {
    TEST(line01_what_could_bring_a_call_back_is_raised_with_every_transition),
    TEST(line01_an_end_is_remembered_as_long_as_something_could_bring_it_back),
    TEST(line07_a_runnable_call_is_never_swept_by_age),
    TEST(line07_a_waiting_call_is_not_swept_when_its_questions_have_run_out),
    TEST(line09_a_park_that_is_refused_leaves_the_one_that_waits),
    TEST(line17_the_bound_that_refused_is_named),
    TEST(a_store_knows_which_one_it_is),
    TEST(line08_a_store_says_what_time_it_is),
};
const size_t suite_keeping_count = sizeof(suite_keeping) / sizeof(suite_keeping[0]);
