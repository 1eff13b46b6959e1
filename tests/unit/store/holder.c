/* tests/unit/store/holder: what the holder of a call that waits may do, in every store. */
#include "suite.h"

static struct entry one_step(const char *key)
{
    return (struct entry){ .class = ENTRY_STEP, .key = str_of(key), .content = STR("{\"n\":1}") };
}

static struct got *take_back(const struct id *ask, uint64_t epoch, const char *take_for)
{
    struct claim_item item = { .ask_id = id_str(ask), .outcome = ASK_WITHDRAWN };

    return suite_claims_of(NULL, &(struct claim_spec){ .items = &item,
                                                       .count = 1,
                                                       .by = STR("nod"),
                                                       .via = STR("nod"),
                                                       .take_for = str_of(take_for),
                                                       .epoch = epoch });
}

static void the_holder_of_a_waiting_call_parks_further_questions(void **state)
{
    struct question first = { .key = "a" }, second = { .key = "b" }, third = { .key = "c" };
    struct id call = suite_ask(&first);
    struct entry step = one_step("s");
    struct parking more = {
        .call = call, .questions = &second, .count = 1, .entries = &step, .entry_count = 1
    };
    struct parking other = { .call = call, .epoch = 2, .questions = &third, .count = 1 };
    (void)state;

    assert_int_equal(suite_park(&more)->status, NOD_OK);
    assert_int_equal(suite_park(&other)->status, NOD_E_STALE);
    const struct call_record *stored = suite_load_call(&call)->reply.call;
    assert_int_equal(stored->state, CALL_STORED_WAITING);
    assert_int_equal(stored->epoch, 1);
    assert_int_equal(stored->entry_count, 1);
    assert_int_equal(
        suite_scan(&(struct store_scan){ .index = STORE_ASKS_OF_CALL, .key = id_str(&call) })->rows,
        2);
    assert_false(suite_claim(&first.id, ASK_ACCEPTED, "{}", "ada", "node-a")->reply.taken);
    struct got *last = suite_claim(&second.id, ASK_ACCEPTED, "{}", "ada", "node-a");
    assert_true(last->reply.taken);
    assert_int_equal(last->reply.epoch, 2);
    assert_int_equal(last->reply.call->entry_count, 3);
    assert_str(last->reply.call->entries[0].key, "s");
    assert_str(last->reply.call->entries[1].key, "a");
    assert_str(last->reply.call->entries[2].key, "b");
}

static void a_park_that_is_sent_again_while_the_call_waits_happens_once(void **state)
{
    struct question first = { .key = "a" }, second = { .key = "b" };
    struct id call = suite_ask(&first);
    struct parking more = { .call = call, .token = suite_id(), .questions = &second, .count = 1 };
    (void)state;

    assert_int_equal(suite_park(&more)->status, NOD_OK);
    assert_int_equal(suite_park(&more)->status, NOD_OK);
    suite_claim(&first.id, ASK_ACCEPTED, "{}", "ada", "");
    suite_claim(&second.id, ASK_ACCEPTED, "{}", "ada", "");
    assert_int_equal(suite_load_call(&call)->reply.call->state, CALL_STORED_RUNNABLE);
}

static void the_holder_of_a_waiting_call_appends_and_the_call_waits_on(void **state)
{
    struct question question = { .key = "a" };
    struct id call = suite_ask(&question);
    struct entry step = one_step("s");
    struct parking append = { .call = call, .entries = &step, .entry_count = 1 };
    (void)state;

    assert_int_equal(suite_append(&append)->status, NOD_OK);
    append.epoch = 2;
    assert_int_equal(suite_append(&append)->status, NOD_E_STALE);
    const struct call_record *stored = suite_load_call(&call)->reply.call;
    assert_int_equal(stored->state, CALL_STORED_WAITING);
    assert_int_equal(stored->entry_count, 1);
    assert_int_equal(suite_take(NULL, &call, "node-b")->status, NOD_E_STALE);
    assert_int_equal(suite_load_ask(&question.id)->reply.ask->state, ASK_PENDING);
    assert_int_equal(suite_scan(&(struct store_scan){ .index = STORE_RUNNABLE, .limit = 10 })->rows,
                     0);
    struct got *claimed = suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "node-a");
    assert_true(claimed->reply.taken);
    assert_int_equal(claimed->reply.call->entry_count, 2);
}

static void a_call_that_became_runnable_has_no_holder_any_more(void **state)
{
    struct question question = { .key = "a" }, more = { .key = "b" };
    struct id call = suite_ask(&question);
    struct entry step = one_step("s");
    struct parking parking = {
        .call = call, .questions = &more, .count = 1, .entries = &step, .entry_count = 1
    };
    (void)state;

    suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "");
    assert_int_equal(suite_park(&parking)->status, NOD_E_STALE);
    parking.count = 0;
    assert_int_equal(suite_append(&parking)->status, NOD_E_STALE);
    assert_int_equal(suite_take(NULL, &call, "node-a")->reply.epoch, 2);
    assert_int_equal(suite_append(&parking)->status, NOD_E_STALE);
    parking.epoch = 2;
    assert_int_equal(suite_append(&parking)->status, NOD_OK);
}

static void the_holder_takes_one_question_back(void **state)
{
    struct question questions[] = { { .key = "a" }, { .key = "b" } };
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = questions, .count = 2
    };
    (void)state;

    suite_park(&parking);
    assert_int_equal(take_back(&questions[0].id, 0, "node-a")->status, NOD_E_USAGE);
    struct got *other = take_back(&questions[0].id, 2, "node-a");
    assert_int_equal(other->status, NOD_E_STALE);
    assert_false(other->reply.won);
    assert_int_equal(other->reply.ask->state, ASK_PENDING);
    struct got *got = take_back(&questions[0].id, 1, "node-a");
    assert_int_equal(got->status, NOD_OK);
    assert_true(got->reply.won);
    assert_false(got->reply.taken);
    const struct ask_record *ask = suite_load_ask(&questions[0].id)->reply.ask;
    assert_int_equal(ask->state, ASK_WITHDRAWN);
    assert_str(ask->by, "nod");
    struct got *late = suite_claim(&questions[0].id, ASK_ACCEPTED, "{}", "ada", "node-a");
    assert_false(late->reply.won);
    assert_int_equal(late->reply.ask->state, ASK_WITHDRAWN);
    const struct call_record *call = suite_load_call(&parking.call)->reply.call;
    assert_int_equal(call->state, CALL_STORED_WAITING);
    assert_int_equal(call->entry_count, 1);
    assert_int_equal(call->entries[0].state, ASK_WITHDRAWN);
    struct got *last = take_back(&questions[1].id, 1, "node-a");
    assert_true(last->reply.taken);
    assert_int_equal(last->reply.epoch, 2);
    assert_int_equal(last->reply.call->state, CALL_STORED_RUNNING);
}

static void a_question_that_was_answered_is_not_taken_back(void **state)
{
    struct question questions[] = { { .key = "a" }, { .key = "b" } };
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = questions, .count = 2
    };
    (void)state;

    suite_park(&parking);
    suite_claim(&questions[0].id, ASK_ACCEPTED, "{\"n\":2}", "ada", "");
    struct got *late = take_back(&questions[0].id, 1, "node-a");
    assert_int_equal(late->status, NOD_OK);
    assert_false(late->reply.won);
    assert_int_equal(late->reply.ask->state, ASK_ACCEPTED);
    assert_str(late->reply.ask->by, "ada");
}

static void the_holder_of_a_waiting_call_finishes_it_and_what_waits_is_withdrawn(void **state)
{
    struct question questions[] = { { .key = "a" }, { .key = "b" } };
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = questions, .count = 2
    };
    (void)state;

    suite_park(&parking);
    suite_claim(&questions[0].id, ASK_ACCEPTED, "{}", "ada", "");
    assert_int_equal(suite_finish(NULL, &parking.call, 2, "{}")->status, NOD_E_STALE);
    assert_int_equal(suite_finish(NULL, &parking.call, 1, "{\"ok\":true}")->status, NOD_OK);
    assert_int_equal(suite_load_call(&parking.call)->reply.call->state, CALL_STORED_FINISHED);
    assert_int_equal(suite_load_ask(&questions[0].id)->reply.ask->state, ASK_ACCEPTED);
    assert_int_equal(suite_load_ask(&questions[1].id)->reply.ask->state, ASK_WITHDRAWN);
    struct got *late = suite_claim(&questions[1].id, ASK_ACCEPTED, "{}", "ada", "node-a");
    assert_false(late->reply.won || late->reply.taken);
    assert_int_equal(suite_append(&parking)->status, NOD_E_STALE);
}

static int told_of;

static void holder_woken(void *data, struct str call_id)
{
    (void)data;
    told_of += call_id.len != 0; /* else: a look at everything, because hints may have been lost */
}

static void the_node_that_holds_a_call_is_told_of_each_answer_given_elsewhere(void **state)
{
    struct question questions[] = { { .key = "a" }, { .key = "b" } };
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = questions, .count = 2, .node = "node-a"
    };
    struct store *mine = suite_store;
    (void)state;

    if (!suite_rig->shared)
        return; /* whoever answers is in the same process */
    told_of = 0;
    mine->ops->watch(mine, STR("node-a"), holder_woken, NULL);
    suite_beat("node-a", SUITE_LONG_MS);
    suite_park(&parking);
    suite_store = suite_rig->open(suite_rig);
    assert_false(suite_claim(&questions[0].id, ASK_ACCEPTED, "{}", "ada", "")->reply.taken);
    for (int i = 0; !told_of && i < SUITE_PATIENCE; i++)
        suite_rig->turn(suite_rig);
    assert_int_equal(told_of, 1);
    suite_store->ops->destroy(suite_store);
    suite_store = mine;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, suite_setup, suite_teardown)

const struct CMUnitTest suite_holder[] = {
    TEST(the_holder_of_a_waiting_call_parks_further_questions),
    TEST(a_park_that_is_sent_again_while_the_call_waits_happens_once),
    TEST(the_holder_of_a_waiting_call_appends_and_the_call_waits_on),
    TEST(a_call_that_became_runnable_has_no_holder_any_more),
    TEST(the_holder_takes_one_question_back),
    TEST(a_question_that_was_answered_is_not_taken_back),
    TEST(the_holder_of_a_waiting_call_finishes_it_and_what_waits_is_withdrawn),
    TEST(the_node_that_holds_a_call_is_told_of_each_answer_given_elsewhere),
};
const size_t suite_holder_count = sizeof(suite_holder) / sizeof(suite_holder[0]);
