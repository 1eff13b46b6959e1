/*
 * tests/unit/store/bytes: how many bytes may be kept, for one principal and in all, in every store.
 *
 * A large text is random, so that no store makes it small. Records have a little beside their
 * texts, which is not the same in every store: a bound has room for that.
 */
#include "suite.h"

#include <stdio.h>

#include "base/mem.h"

enum {
    LARGE = 100 << 10, /* bytes of a large text */
    FITS = 4,          /* so many of them are kept */
    BOUND = FITS * LARGE + LARGE / 2,
};

static void bounded(uint64_t in_all, uint64_t per_principal)
{
    suite_rig->kept_bytes = in_all;
    suite_rig->kept_bytes_per_principal = per_principal;
    suite_reopen();
}

struct made {
    struct id call;
    struct question question;
    struct got *got;
};

/* A call with arguments of this size, which waits for an answer. */
static nod_status make(struct made *made, const char *principal, size_t len)
{
    char *args = suite_large(len);

    *made = (struct made){ .call = suite_id(), .question = { .key = "#1" } };
    struct parking parking = { .call = made->call,
                               .open = true,
                               .questions = &made->question,
                               .count = 1,
                               .principal = principal,
                               .args = str_n(args, len),
                               .keep_for_ms = SUITE_LONG_MS };
    made->got = suite_park(&parking);
    mem_free(args);
    return made->got->status;
}

static void answer(struct made *made)
{
    struct got *got = suite_claim(&made->question.id, ASK_ACCEPTED, "{}", "ada", "node-a");

    assert_int_equal(got->status, NOD_OK);
    assert_true(got->reply.taken);
}

/* A call that has ended with a result of this size. */
static void ended(struct made *made, const char *principal, size_t len, bool fetched)
{
    char *result = suite_large(len);

    assert_int_equal(make(made, principal, 16), NOD_OK);
    answer(made);
    assert_int_equal(suite_finish_as(&made->call, 2, str_n(result, len), fetched)->status, NOD_OK);
    mem_free(result);
}

static bool is_whole(const struct made *made, size_t len)
{
    struct got *got = suite_load_call(&made->call);

    assert_int_equal(got->status, NOD_OK);
    assert_int_equal(got->reply.call->state, CALL_STORED_FINISHED);
    assert_str(got->reply.call->principal, "ada");
    assert_true(got->reply.call->forgotten || got->reply.call->result.len == len);
    return !got->reply.call->forgotten;
}

static void the_arguments_of_waiting_calls_count(void **state)
{
    struct made made[FITS], more, other;
    (void)state;

    bounded(0, BOUND);
    for (int i = 0; i < FITS; i++)
        assert_int_equal(make(&made[i], "ada", LARGE), NOD_OK);
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    assert_int_equal(more.got->reply.quota, STORE_QUOTA_BYTES_PRINCIPAL);
    assert_int_equal(more.got->reply.quota_most, BOUND);
    assert_int_equal(suite_load_call(&more.call)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_load_ask(&more.question.id)->status, NOD_E_NOT_FOUND);
    assert_int_equal(make(&other, "grace", LARGE), NOD_OK);
    for (int i = 0; i < FITS; i++)
        assert_int_equal(suite_load_call(&made[i].call)->reply.call->state, CALL_STORED_WAITING);
    if (!suite_rig->durable)
        return;
    suite_reopen();
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    suite_cancel(NULL, &made[0].call, "enough"); /* what is withdrawn makes room */
    assert_int_equal(make(&more, "ada", LARGE), NOD_OK);
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
}

static void past_the_bound_in_all_nobody_opens_a_call(void **state)
{
    struct made made, other;
    (void)state;

    bounded(BOUND, 0);
    for (int i = 0; i < FITS; i++)
        assert_int_equal(make(&made, i % 2 ? "ada" : "alan", LARGE), NOD_OK);
    assert_int_equal(make(&other, "grace", LARGE), NOD_E_LIMIT);
    assert_int_equal(other.got->reply.quota, STORE_QUOTA_BYTES_ALL);
    assert_int_equal(other.got->reply.quota_most, BOUND);
    suite_cancel(NULL, &made.call, "enough");
    assert_int_equal(make(&other, "grace", LARGE), NOD_OK);
}

static void what_was_let_in_may_go_on_and_end(void **state)
{
    struct made made[FITS], more;
    char *text = suite_large(LARGE);
    (void)state;

    bounded(0, BOUND);
    for (int i = 0; i < FITS; i++)
        assert_int_equal(make(&made[i], "ada", LARGE), NOD_OK);
    assert_int_equal(suite_claim(&made[0].question.id, ASK_ACCEPTED, text, "ada", "node-a")->status,
                     NOD_OK);
    struct entry entry = { .class = ENTRY_STEP, .key = STR("s"), .content = str_n(text, LARGE) };
    struct parking step = { .call = made[0].call, .epoch = 2, .entries = &entry, .entry_count = 1 };
    assert_int_equal(suite_append(&step)->status, NOD_OK);
    struct question next = { .key = "next" };
    struct parking asks = { .call = made[0].call, .epoch = 2, .questions = &next, .count = 1 };
    struct got *got = suite_park(&asks);
    assert_int_equal(got->status, NOD_E_LIMIT); /* but it asks nothing new */
    assert_int_equal(got->reply.quota, STORE_QUOTA_BYTES_PRINCIPAL);
    assert_int_equal(suite_finish_as(&made[0].call, 2, str_n(text, LARGE), false)->status, NOD_OK);
    assert_true(is_whole(&made[0], LARGE));
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    mem_free(text);
}

static void a_question_that_comes_back_with_its_call_is_not_refused(void **state)
{
    struct made made[FITS], more;
    struct question back = { .key = "#1" };
    (void)state;

    bounded(0, BOUND);
    for (int i = 0; i < FITS; i++)
        assert_int_equal(make(&made[i], "ada", LARGE), NOD_OK);
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    back.expires_ms = suite_load_ask(&made[0].question.id)->reply.ask->expires_ms;
    char *args = suite_large(LARGE);
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = &back, .count = 1, .args = str_n(args, LARGE)
    };
    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    mem_free(args);
}

static void results_that_were_handed_out_go_first_and_the_oldest_of_them(void **state)
{
    struct made made[FITS], more;
    (void)state;

    bounded(0, BOUND);
    for (int i = 0; i < FITS; i++) {
        ended(&made[i], "ada", LARGE, i != 0); /* the very first was not handed out */
        if (suite_rig->by_hand)
            suite_rig->advance(suite_rig, 1);
    }
    assert_int_equal(make(&more, "ada", LARGE), NOD_OK);
    assert_true(is_whole(&made[0], LARGE));
    assert_false(is_whole(&made[1], LARGE));
    assert_true(is_whole(&made[2], LARGE));
    assert_true(is_whole(&made[3], LARGE));
    assert_int_equal(make(&more, "ada", LARGE), NOD_OK);
    assert_false(is_whole(&made[2], LARGE));
    assert_int_equal(make(&more, "ada", LARGE), NOD_OK);
    assert_false(is_whole(&made[3], LARGE));
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    assert_true(is_whole(&made[0], LARGE));
    suite_store->ops->fetched(suite_store, id_str(&made[0].call), NULL, NULL);
    assert_true(is_whole(&made[0], LARGE)); /* whoever reads this comes after the hint */
    assert_int_equal(make(&more, "ada", LARGE), NOD_OK);
    assert_false(is_whole(&made[0], LARGE));
}

static void a_result_that_is_handed_out_again_makes_room_once(void **state)
{
    struct made made[FITS], more;
    (void)state;

    bounded(0, BOUND);
    for (int i = 0; i < FITS; i++)
        ended(&made[i], "ada", LARGE, false);
    for (int i = 0; i < 3; i++)
        suite_store->ops->fetched(suite_store, id_str(&made[0].call), NULL, NULL);
    assert_true(is_whole(&made[0], LARGE)); /* whoever reads this comes after the hint */
    assert_int_equal(make(&more, "ada", LARGE), NOD_OK);
    assert_false(is_whole(&made[0], LARGE));
    suite_store->ops->fetched(suite_store, id_str(&made[0].call), NULL, NULL); /* there is none any more */
    assert_false(is_whole(&made[0], LARGE));
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    for (int i = 1; i < FITS; i++)
        assert_true(is_whole(&made[i], LARGE));
}

static void one_principal_makes_no_room_for_another(void **state)
{
    struct made made[FITS], other;
    (void)state;

    bounded(0, BOUND);
    for (int i = 0; i < FITS; i++)
        ended(&made[i], "ada", LARGE, true);
    for (int i = 0; i < FITS; i++)
        assert_int_equal(make(&other, "grace", LARGE), NOD_OK);
    assert_int_equal(make(&other, "grace", LARGE), NOD_E_LIMIT);
    for (int i = 0; i < FITS; i++)
        assert_true(is_whole(&made[i], LARGE));
}

static void an_end_that_made_room_never_runs_again(void **state)
{
    struct made made, more;
    (void)state;

    bounded(0, BOUND);
    ended(&made, "ada", LARGE, true);
    for (int i = 0; i < FITS; i++)
        assert_int_equal(make(&more, "ada", LARGE), NOD_OK);
    assert_false(is_whole(&made, LARGE));
    struct question question = { .key = "#1" };
    struct parking again = { .call = made.call, .open = true, .questions = &question, .count = 1 };
    again.questions = NULL, again.count = 0;
    assert_int_equal(suite_append(&again)->status, NOD_E_STALE);
    assert_int_equal(suite_take(NULL, &made.call, "node-b")->status, NOD_E_STALE);
    assert_int_equal(suite_finish(NULL, &made.call, 2, "{}")->status, NOD_E_STALE);
    assert_int_equal(suite_cancel(NULL, &made.call, "no")->status, NOD_E_STALE);
    if (suite_rig->durable) {
        suite_reopen();
        assert_false(is_whole(&made, LARGE));
        assert_int_equal(suite_take(NULL, &made.call, "node-b")->status, NOD_E_STALE);
    }
}

static void a_refusal_drops_nothing(void **state)
{
    struct made made, more;
    (void)state;

    bounded(0, BOUND);
    ended(&made, "ada", LARGE, true);
    assert_int_equal(make(&more, "ada", (FITS + 1) * LARGE), NOD_E_LIMIT);
    assert_true(is_whole(&made, LARGE));
}

static void a_result_that_nobody_fetched_counts_for_its_time(void **state)
{
    struct made made[FITS], more;
    (void)state;

    suite_rig->keep_ms = SUITE_SHORT_MS;
    bounded(0, BOUND);
    for (int i = 0; i < FITS; i++) {
        char *result = suite_large(LARGE);
        struct parking parking = { .call = made[i].call = suite_id(), .open = true };
        assert_int_equal(suite_append(&parking)->status, NOD_OK);
        assert_int_equal(suite_finish_as(&made[i].call, 1, str_n(result, LARGE), false)->status,
                         NOD_OK);
        mem_free(result);
    }
    if (suite_rig->by_hand)
        assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    nod_status status = NOD_E_LIMIT;
    for (int i = 0; i < 100 && status != NOD_OK; i++) { /* a store removes in passing */
        suite_rig->advance(suite_rig, suite_rig->by_hand ? 10000 : SUITE_SHORT_MS);
        suite_beat("node-a", SUITE_LONG_MS);
        status = make(&more, "ada", LARGE);
    }
    assert_int_equal(status, NOD_OK);
}

static void who_comes_and_goes_is_never_refused(void **state)
{
    struct made made;
    (void)state;

    bounded(0, BOUND);
    for (int i = 0; i < 10 * FITS; i++) {
        ended(&made, "ada", LARGE, true);
        assert_true(is_whole(&made, LARGE)); /* the newest is the last to go */
    }
}

static void a_park_sent_again_at_the_bound_recognises_itself(void **state)
{
    struct question questions[] = { { .key = "a" } };
    char *args = suite_large(LARGE);
    struct parking parking = { .token = suite_id(),
                               .call = suite_id(),
                               .open = true,
                               .questions = questions,
                               .count = 1,
                               .args = str_n(args, LARGE) };
    (void)state;

    bounded(0, LARGE + LARGE / 2);
    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    mem_free(args);
}

/* --- small records --- */

static nod_status put_large(const char *whose, const char *key, uint64_t version, int64_t ttl_ms)
{
    char *text = suite_large(LARGE);
    nod_status status = suite_put_of(whose, key, str_n(text, LARGE), version, ttl_ms)->status;

    mem_free(text);
    return status;
}

static void small_records_count_for_their_principal(void **state)
{
    static const char *const keys[FITS] = { "a", "b", "c", "d" };
    struct made more, other;
    (void)state;

    bounded(0, BOUND);
    for (int i = 0; i < FITS; i++)
        assert_int_equal(put_large("ada", keys[i], 0, 0), NOD_OK);
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    assert_int_equal(more.got->reply.quota, STORE_QUOTA_BYTES_PRINCIPAL);
    assert_int_equal(make(&other, "grace", LARGE), NOD_OK);
    suite_del("k", "a");
    assert_int_equal(make(&more, "ada", LARGE), NOD_OK);
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    assert_int_equal(suite_put("k", "b", STR("short"), 0, 0)->status, NOD_OK); /* it stays hers */
    if (suite_rig->durable)
        suite_reopen();
    assert_int_equal(make(&more, "ada", LARGE), NOD_OK);
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    assert_int_equal(put_large("grace", "c", 0, 0), NOD_OK); /* and now it is somebody else's */
    assert_int_equal(make(&more, "ada", LARGE), NOD_OK);
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
}

static void a_small_record_that_is_written_often_counts_once(void **state)
{
    struct made more;
    (void)state;

    bounded(0, BOUND);
    for (int i = 0; i < 3 * FITS; i++)
        assert_int_equal(put_large("ada", "a", 0, i % 2 ? SUITE_LONG_MS : 0), NOD_OK);
    for (int i = 1; i < FITS; i++)
        assert_int_equal(make(&more, "ada", LARGE), NOD_OK);
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    for (int i = 0; i < 3; i++) {
        suite_del("k", "a");
        assert_int_equal(put_large("ada", "a", 0, 0), NOD_OK);
    }
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    suite_del("k", "a");
    assert_int_equal(make(&more, "ada", LARGE), NOD_OK);
}

static void a_small_record_whose_time_is_over_counts_no_more(void **state)
{
    struct made more;
    char key[16];
    (void)state;

    bounded(0, BOUND);
    for (int i = 0; i < FITS; i++) {
        snprintf(key, sizeof(key), "%d", i);
        assert_int_equal(put_large("ada", key, 0, SUITE_SHORT_MS), NOD_OK);
    }
    if (suite_rig->by_hand)
        assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
    nod_status status = NOD_E_LIMIT;
    for (int i = 0; i < 100 && status != NOD_OK; i++) { /* a store removes in passing */
        suite_rig->advance(suite_rig, suite_rig->by_hand ? 10000 : SUITE_SHORT_MS);
        suite_beat("node-a", SUITE_LONG_MS);
        status = make(&more, "ada", (FITS - 1) * LARGE);
    }
    assert_int_equal(status, NOD_OK);
    assert_int_equal(put_large("ada", "0", 0, 0), NOD_OK); /* what is there anew counts anew */
    assert_int_equal(make(&more, "ada", LARGE), NOD_E_LIMIT);
}

static void a_new_small_record_is_refused_only_if_it_asks_for_room(void **state)
{
    struct made made[FITS];
    struct got *got;
    (void)state;

    bounded(0, BOUND);
    assert_int_equal(put_large("ada", "there", STORE_IF_ROOM, 0), NOD_OK);
    for (int i = 1; i < FITS; i++)
        assert_int_equal(make(&made[i], "ada", LARGE), NOD_OK);
    char *text = suite_large(LARGE);
    got = suite_put_of("ada", "new", str_n(text, LARGE), STORE_IF_ROOM, 0);
    mem_free(text);
    assert_int_equal(got->status, NOD_E_LIMIT);
    assert_int_equal(got->reply.quota, STORE_QUOTA_BYTES_PRINCIPAL);
    assert_int_equal(got->reply.quota_most, BOUND);
    assert_int_equal(suite_get("k", "new")->status, NOD_E_NOT_FOUND);
    assert_int_equal(put_large("grace", "hers", STORE_IF_ROOM, 0), NOD_OK);
    assert_int_equal(put_large("ada", "there", STORE_IF_ROOM, 0), NOD_OK); /* it was let in */
    assert_int_equal(put_large("ada", "word", 0, 0), NOD_OK);
    suite_cancel(NULL, &made[1].call, "enough");
    suite_cancel(NULL, &made[2].call, "enough");
    assert_int_equal(put_large("ada", "new", STORE_IF_ROOM, 0), NOD_OK);
}

/* Honest use: as many questions of the usual size as may wait. */
static void as_many_usual_questions_as_may_wait_have_room(void **state)
{
    enum { SOME = 20, MAY_WAIT = 10000, USUAL = 1 << 10 };
    static const uint64_t share = UINT64_C(64) << 20;
    struct store_held held;
    struct made made;
    (void)state;

    bounded(0, share);
    for (int i = 0; i < SOME; i++)
        assert_int_equal(make(&made, "ada", USUAL), NOD_OK);
    suite_store->ops->held(suite_store, &held);
    assert_int_equal(held.each_most, share);
    assert_true(held.bytes >= SOME * USUAL);
    assert_true(held.bytes / SOME * MAY_WAIT < share);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, suite_setup, suite_teardown)

const struct CMUnitTest suite_bytes[] = {
    TEST(the_arguments_of_waiting_calls_count),
    TEST(past_the_bound_in_all_nobody_opens_a_call),
    TEST(what_was_let_in_may_go_on_and_end),
    TEST(a_question_that_comes_back_with_its_call_is_not_refused),
    TEST(results_that_were_handed_out_go_first_and_the_oldest_of_them),
    TEST(one_principal_makes_no_room_for_another),
    TEST(an_end_that_made_room_never_runs_again),
    TEST(a_refusal_drops_nothing),
    TEST(a_result_that_nobody_fetched_counts_for_its_time),
    TEST(a_result_that_is_handed_out_again_makes_room_once),
    TEST(who_comes_and_goes_is_never_refused),
    TEST(a_park_sent_again_at_the_bound_recognises_itself),
    TEST(small_records_count_for_their_principal),
    TEST(a_small_record_that_is_written_often_counts_once),
    TEST(a_small_record_whose_time_is_over_counts_no_more),
    TEST(a_new_small_record_is_refused_only_if_it_asks_for_room),
    TEST(as_many_usual_questions_as_may_wait_have_room),
};
const size_t suite_bytes_count = sizeof(suite_bytes) / sizeof(suite_bytes[0]);
