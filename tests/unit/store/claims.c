/*
 * tests/unit/store/claims: claims of several asks, of offers, and who is told what.
 */
#include "suite.h"

#include <stdio.h>

struct pair { /* a call that waits for two questions */
    struct id call;
    struct question asks[2];
};

static struct pair pair_park(void)
{
    struct pair pair = { .call = suite_id(), .asks = { { .key = "a" }, { .key = "b" } } };
    struct parking parking = {
        .call = pair.call, .open = true, .questions = pair.asks, .count = 2
    };

    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    return pair;
}

static struct claim_item item(const struct question *question, const char *content)
{
    return (struct claim_item){ .ask_id = id_str(&question->id),
                                .outcome = ASK_ACCEPTED,
                                .content = str_of(content) };
}

/* Of one submission by its client. */
static struct got *submit(const struct id *token, const struct claim_item *items, size_t count)
{
    return suite_claims_of(token, &(struct claim_spec){ .items = items,
                                                        .count = count,
                                                        .by = STR("ada"),
                                                        .via = STR("client"),
                                                        .take_for = STR("node-a"),
                                                        .whole = true });
}

static void line11_several_asks_are_claimed_in_one_transition(void **state)
{
    struct pair pair = pair_park();
    struct claim_item items[] = { item(&pair.asks[0], "{\"x\":1}"),
                                  item(&pair.asks[1], "{\"x\":2}") };
    struct got *got = submit(NULL, items, 2);
    (void)state;

    assert_int_equal(got->status, NOD_OK);
    assert_int_equal(got->reply.claimed_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(got->reply.claimed[i].won);
        assert_int_equal(got->reply.claimed[i].ask->state, ASK_ACCEPTED);
        assert_str(got->reply.claimed[i].ask->via, "client");
        assert_str(got->reply.claimed[i].ask->content, i ? "{\"x\":2}" : "{\"x\":1}");
    }
    assert_true(got->reply.taken);
    assert_int_equal(got->reply.epoch, 2);
    assert_int_equal(got->reply.call->entry_count, 2);
    assert_str(got->reply.call->entries[0].key, "a");
    assert_str(got->reply.call->entries[1].key, "b");
    struct got *loaded = suite_load_call(&pair.call);
    assert_int_equal(loaded->reply.call->state, CALL_STORED_RUNNING);
    assert_str(suite_load_ask(&pair.asks[1].id)->reply.ask->via, "client");
}

static void a_claim_of_several_that_is_sent_again_gives_the_same_answer(void **state)
{
    struct pair pair = pair_park();
    struct claim_item items[] = { item(&pair.asks[0], "{}"), item(&pair.asks[1], "{}") };
    struct id token = suite_id();
    (void)state;

    for (int i = 0; i < 3; i++) {
        struct got *got = submit(&token, items, 2);
        assert_int_equal(got->status, NOD_OK);
        assert_true(got->reply.claimed[0].won && got->reply.claimed[1].won);
        assert_true(got->reply.taken);
        assert_int_equal(got->reply.epoch, 2);
        assert_int_equal(got->reply.call->entry_count, 2);
    }
}

static void line11_a_question_that_was_answered_elsewhere_keeps_that_answer(void **state)
{
    struct pair pair = pair_park();
    struct claim_item first = item(&pair.asks[0], "{\"x\":\"inbox\"}");
    struct claim_item items[] = { item(&pair.asks[0], "{\"x\":1}"),
                                  item(&pair.asks[1], "{\"x\":2}") };
    (void)state;

    suite_claims_of(
        NULL,
        &(struct claim_spec){
            .items = &first, .count = 1, .by = STR("ada"), .via = STR("inbox"), .whole = true });
    struct got *got = submit(NULL, items, 2);
    assert_int_equal(got->status, NOD_OK);
    assert_false(got->reply.claimed[0].won);
    assert_str(got->reply.claimed[0].ask->content, "{\"x\":\"inbox\"}");
    assert_str(got->reply.claimed[0].ask->via, "inbox");
    assert_true(got->reply.claimed[1].won);
    assert_true(got->reply.taken);
}

static void line11_two_submissions_never_mix(void **state)
{
    struct pair pair = pair_park();
    struct claim_item first = item(&pair.asks[0], "{\"x\":1}");
    struct claim_item other[] = { item(&pair.asks[0], "{\"x\":9}"),
                                  item(&pair.asks[1], "{\"x\":9}") };
    (void)state;

    assert_int_equal(submit(NULL, &first, 1)->status, NOD_OK);
    struct got *got = submit(NULL, other, 2);
    assert_int_equal(got->status, NOD_E_STALE);
    assert_int_equal(got->reply.claimed_count, 2);
    assert_false(got->reply.claimed[0].won || got->reply.claimed[1].won);
    assert_str(got->reply.claimed[0].ask->content, "{\"x\":1}");
    assert_int_equal(got->reply.claimed[1].ask->state, ASK_PENDING);
    assert_int_equal(suite_load_ask(&pair.asks[1].id)->reply.ask->state, ASK_PENDING);
    assert_int_equal(suite_load_call(&pair.call)->reply.call->entry_count, 1);
    /* Somebody else's yes is another answer, too. */
    struct claim_item same = first;
    got = suite_claims_of(
        NULL,
        &(struct claim_spec){
            .items = &same, .count = 1, .by = STR("bob"), .via = STR("client"), .whole = true });
    assert_int_equal(got->status, NOD_E_STALE);
}

static void line11_the_same_submission_again_goes_on_where_it_stopped(void **state)
{
    struct pair pair = pair_park();
    struct claim_item items[] = { item(&pair.asks[0], "{\"x\":1}"),
                                  item(&pair.asks[1], "{\"x\":2}") };
    (void)state;

    assert_int_equal(submit(NULL, items, 1)->status, NOD_OK);
    struct got *got = submit(NULL, items, 2);
    assert_int_equal(got->status, NOD_OK);
    assert_false(got->reply.claimed[0].won);
    assert_true(got->reply.claimed[1].won);
    got = submit(NULL, items, 2);
    assert_int_equal(got->status, NOD_OK);
    assert_false(got->reply.claimed[0].won || got->reply.claimed[1].won);
    assert_false(got->reply.taken);
}

static void line11_many_submissions_at_once_leave_one_whole(void **state)
{
    enum { MANY = 8 };
    struct pair pair = pair_park();
    struct got *gots[MANY];
    struct id tokens[MANY];
    char texts[MANY][16];
    int winners = 0;
    (void)state;

    for (int i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof(texts[i]), "{\"x\":%d}", i);
        struct claim_item items[] = { item(&pair.asks[i % 2], texts[i]),
                                      item(&pair.asks[1 - i % 2], texts[i]) };
        tokens[i] = suite_id();
        gots[i] = got_new();
        suite_store->ops->claim(suite_store,
                                &(struct claim_spec){ .token = id_str(&tokens[i]),
                                                      .items = items,
                                                      .count = 2,
                                                      .by = STR("ada"),
                                                      .via = STR("client"),
                                                      .whole = true },
                                got_done, gots[i]);
    }
    for (int i = 0; i < MANY; i++) {
        got_wait(gots[i]);
        assert_int_equal(gots[i]->reply.claimed_count, 2);
        bool one = gots[i]->reply.claimed[0].won, two = gots[i]->reply.claimed[1].won;
        assert_int_equal(one, two);
        assert_int_equal(gots[i]->status, one ? NOD_OK : NOD_E_STALE);
        winners += one;
    }
    assert_int_equal(winners, 1);
    const struct call_record *call = suite_load_call(&pair.call)->reply.call;
    assert_int_equal(call->entry_count, 2);
    assert_true(str_eq(call->entries[0].content, call->entries[1].content));
}

/* From the question to the record of a call that has ended. */
static void what_an_answer_says_beside_its_content_is_kept(void **state)
{
    const char *note = "{\"reason\":\"caf\xc3\xa9\"}", *remember = "{\"tool\":\"t\"}";
    struct question question = { .key = "a", .remember = remember, .sensitive = true };
    struct id call = suite_ask(&question);
    struct claim_item answer = item(&question, "{\"x\":1}");
    (void)state;

    assert_str(suite_load_ask(&question.id)->reply.ask->remember, remember);
    assert_int_equal(suite_load_ask(&question.id)->reply.ask->note.len, 0);
    answer.note = str_of(note);
    struct got *got = submit(NULL, &answer, 1);
    assert_int_equal(got->status, NOD_OK);
    assert_str(got->reply.claimed[0].ask->note, note);
    assert_str(got->reply.call->entries[0].note, note);
    assert_str(got->reply.call->entries[0].content, "{\"x\":1}");
    assert_str(suite_load_call(&call)->reply.call->entries[0].note, note);
    assert_int_equal(suite_finish(NULL, &call, 2, "{}")->status, NOD_OK);
    got = suite_load_ask(&question.id);
    assert_str(got->reply.ask->note, note);
    assert_str(got->reply.ask->remember, remember);
    assert_int_equal(got->reply.ask->content.len, 0); /* it was sensitive */
}

/* It goes into the journal of a call that nobody was asked for, too. */
static void a_note_comes_with_an_entry_that_is_appended(void **state)
{
    struct question question = { .key = "a" };
    struct id call = suite_ask(&question);
    struct entry entry = { .class = ENTRY_ASK,
                           .key = STR("b"),
                           .state = ASK_ACCEPTED,
                           .by = STR("bob"),
                           .note = STR("{\"grant\":\"00\"}") };
    (void)state;

    suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "node-a");
    struct parking parking = { .call = call, .epoch = 2, .entries = &entry, .entry_count = 1 };
    assert_int_equal(suite_append(&parking)->status, NOD_OK);
    struct got *got = suite_load_call(&call);
    assert_int_equal(got->reply.call->entry_count, 2);
    assert_int_equal(got->reply.call->entries[0].note.len, 0);
    assert_str(got->reply.call->entries[1].note, "{\"grant\":\"00\"}");
    assert_str(got->reply.call->entries[1].by, "bob");
}

static void a_claim_that_makes_no_sense_is_refused(void **state)
{
    struct pair pair = pair_park(), other = pair_park();
    struct question missing = { .key = "c", .id = suite_id() };
    struct claim_item twice[] = { item(&pair.asks[0], "{}"), item(&pair.asks[0], "{}") };
    struct claim_item mixed[] = { item(&pair.asks[0], "{}"), item(&other.asks[0], "{}") };
    struct claim_item lost[] = { item(&pair.asks[0], "{}"), item(&missing, "{}") };
    struct claim_item again = item(&pair.asks[0], "{}");
    (void)state;

    again.again = true; /* and says not from which offer */
    assert_int_equal(submit(NULL, twice, 0)->status, NOD_E_USAGE);
    assert_int_equal(submit(NULL, twice, 2)->status, NOD_E_USAGE);
    assert_int_equal(submit(NULL, mixed, 2)->status, NOD_E_USAGE);
    assert_int_equal(submit(NULL, lost, 2)->status, NOD_E_NOT_FOUND);
    assert_int_equal(submit(NULL, &again, 1)->status, NOD_E_USAGE);
    assert_int_equal(suite_claims_of(NULL, &(struct claim_spec){ .items = twice,
                                                                 .count = 1,
                                                                 .by = STR("ada"),
                                                                 .via = STR("two words") })
                         ->status,
                     NOD_E_USAGE);
    assert_int_equal(suite_load_ask(&pair.asks[0].id)->reply.ask->state, ASK_PENDING);
}

/* --- offers --- */

static struct got *answer_offer(const struct id *token, const struct question *question,
                                int attempt, bool again)
{
    struct claim_item one = item(question, "{\"x\":1}");

    one.attempt = attempt;
    one.again = again;
    return suite_claims_of(
        token,
        &(struct claim_spec){ .items = &one, .count = 1, .by = STR("ada"), .via = STR("client") });
}

static void line04_offers_are_counted_in_the_record(void **state)
{
    struct question question = { .key = "#1" };
    struct id call = suite_ask(&question), token = suite_id();
    struct got *got;
    (void)state;

    for (int i = 0; i < 3; i++) { /* sent again, it is the same */
        got = answer_offer(&token, &question, 1, true);
        assert_int_equal(got->status, NOD_OK);
        assert_true(got->reply.won);
        assert_int_equal(got->reply.ask->state, ASK_PENDING);
        assert_int_equal(got->reply.ask->attempt, 2);
    }
    assert_int_equal(suite_load_ask(&question.id)->reply.ask->attempt, 2);
    got = suite_scan(&(struct store_scan){ .index = STORE_ASKS_OF_CALL, .key = id_str(&call) });
    assert_int_equal(got->rows, 1);
    assert_int_equal(got->asks[0].attempt, 2);
    assert_int_equal(suite_load_call(&call)->reply.call->state, CALL_STORED_WAITING);
    assert_int_equal(suite_load_call(&call)->reply.call->entry_count, 0);
}

static void line04_an_answer_to_an_older_offer_ends_nothing(void **state)
{
    struct question question = { .key = "#1" };
    (void)state;

    suite_ask(&question);
    answer_offer(NULL, &question, 1, true);
    for (int again = 0; again < 2; again++) {
        struct got *got = answer_offer(NULL, &question, 1, again);
        assert_int_equal(got->status, NOD_E_STALE);
        assert_false(got->reply.won);
        assert_int_equal(got->reply.ask->state, ASK_PENDING);
        assert_int_equal(got->reply.ask->attempt, 2);
    }
    assert_int_equal(answer_offer(NULL, &question, 3, false)->status, NOD_E_STALE);
    struct got *got = answer_offer(NULL, &question, 2, false);
    assert_int_equal(got->status, NOD_OK);
    assert_true(got->reply.won);
    assert_int_equal(got->reply.ask->state, ASK_ACCEPTED);
    assert_int_equal(got->reply.ask->attempt, 2);
}

static struct got *come_early(const struct question *question, unsigned turn, bool listed)
{
    struct claim_item one = { .ask_id = id_str(&question->id), .turn = turn, .listed = listed };

    return suite_claims_of(NULL, &(struct claim_spec){ .items = &one, .count = 1 });
}

static void assert_came(const struct ask_record *ask, unsigned turn, enum ask_listed listed)
{
    assert_int_equal(ask->turn, turn);
    assert_int_equal(ask->listed, listed);
    assert_int_equal(ask->attempt, 1);
}

static void a_turn_that_comes_early_is_in_the_record(void **state)
{
    struct question question = { .key = "#1" };
    struct id call = suite_ask(&question);
    struct got *got = come_early(&question, 2, false);
    (void)state;

    assert_int_equal(got->status, NOD_OK);
    assert_true(got->reply.won);
    assert_came(got->reply.ask, 2, NOT_LISTED);
    assert_int_equal(come_early(&question, 1, false)->status, NOD_OK); /* it is past that */
    got = suite_load_ask(&question.id);
    assert_came(got->reply.ask, 2, NOT_LISTED);
    assert_int_equal(got->reply.ask->state, ASK_PENDING);
    assert_int_equal(got->reply.ask->via.len, 0);
    assert_came(come_early(&question, 2, true)->reply.ask, 2, LISTED);
    got = suite_scan(&(struct store_scan){ .index = STORE_ASKS_OF_CALL, .key = id_str(&call) });
    assert_came(&got->asks[0], 2, LISTED);
    assert_int_equal(come_early(&question, ASK_TURNS, true)->status, NOD_E_USAGE);
    got = answer_offer(NULL, &question, 1, false);
    assert_true(got->reply.won);
    assert_int_equal(got->reply.ask->state, ASK_ACCEPTED);
    assert_str(got->reply.ask->via, "client");
    got = come_early(&question, 3, true); /* it has ended */
    assert_int_equal(got->status, NOD_OK);
    assert_false(got->reply.won);
    assert_str(suite_load_ask(&question.id)->reply.ask->via, "client");
}

static void a_turn_that_came_early_is_not_where_a_withdrawn_question_was_answered(void **state)
{
    struct question question = { .key = "#1" };
    struct id call = suite_ask(&question);
    (void)state;

    come_early(&question, 1, true);
    assert_int_equal(suite_cancel(NULL, &call, "enough")->status, NOD_OK);
    struct got *got = suite_load_ask(&question.id);
    assert_int_equal(got->reply.ask->state, ASK_WITHDRAWN);
    assert_int_equal(got->reply.ask->via.len, 0);
}

static void an_item_that_is_refused_does_not_hinder_the_others(void **state)
{
    struct pair pair = pair_park();
    struct claim_item items[] = { item(&pair.asks[0], "{}"), item(&pair.asks[1], "{}") };
    (void)state;

    items[0].attempt = 7;
    struct got *got = submit(NULL, items, 2);
    assert_int_equal(got->status, NOD_OK);
    assert_false(got->reply.claimed[0].won);
    assert_int_equal(got->reply.claimed[0].ask->state, ASK_PENDING);
    assert_true(got->reply.claimed[1].won);
    assert_false(got->reply.taken);
    assert_int_equal(suite_load_call(&pair.call)->reply.call->state, CALL_STORED_WAITING);
}

static void a_question_is_not_put_again_after_its_time(void **state)
{
    struct question question = { .key = "#1", .ttl_ms = SUITE_SHORT_MS };
    (void)state;

    suite_ask(&question);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS + 1);
    struct got *got = answer_offer(NULL, &question, 1, true);
    assert_int_equal(got->status, NOD_OK);
    assert_int_equal(got->reply.ask->state, ASK_EXPIRED);
    assert_str(got->reply.ask->via, "clock");
}

static void an_ask_that_comes_back_keeps_its_count_of_offers(void **state)
{
    struct question question = { .key = "#1", .attempt = 3 };
    (void)state;

    suite_ask(&question);
    assert_int_equal(answer_offer(NULL, &question, 1, false)->status, NOD_E_STALE);
    assert_int_equal(answer_offer(NULL, &question, 3, false)->status, NOD_OK);
}

/* --- handles --- */

static bool listed(const struct id *call)
{
    struct got *got = suite_scan(&(struct store_scan){ .index = STORE_RUNNABLE });

    for (size_t i = 0; i < got->rows; i++)
        if (str_eq(got->calls[i].id, id_str(call)))
            return true;
    return false;
}

static void line03_only_a_call_whose_client_can_come_back_is_recovered(void **state)
{
    struct question question = { .key = "#1" };
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = &question, .count = 1, .unhanded = true
    };
    (void)state;

    suite_park(&parking);
    suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "");
    assert_int_equal(suite_load_call(&parking.call)->reply.call->state, CALL_STORED_RUNNABLE);
    assert_false(suite_load_call(&parking.call)->reply.call->handed);
    assert_str(suite_load_call(&parking.call)->reply.call->caller, "{\"stream\":\"s1\"}");
    assert_false(listed(&parking.call));
    /* Whoever comes with the handle takes it; from then on it is handed. */
    assert_int_equal(suite_take(NULL, &parking.call, "node-a")->reply.epoch, 2);
    struct parking back = { .call = parking.call, .epoch = 2 };
    suite_park(&back);
    assert_true(suite_load_call(&parking.call)->reply.call->handed);
    assert_true(listed(&parking.call));
    /* It stays so. */
    suite_take(NULL, &parking.call, "node-a");
    back = (struct parking){ .call = parking.call, .epoch = 3, .unhanded = true };
    suite_park(&back);
    assert_true(listed(&parking.call));
}

static void line03_an_answer_may_hand_it(void **state)
{
    struct question question = { .key = "#1" };
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = &question, .count = 1, .unhanded = true
    };
    (void)state;

    suite_park(&parking);
    struct claim_item one = item(&question, "{}");
    suite_claims_of(
        NULL,
        &(struct claim_spec){
            .items = &one, .count = 1, .by = STR("ada"), .via = STR("client"), .handed = true });
    assert_true(listed(&parking.call));
}

static void line03_an_append_may_hand_it(void **state)
{
    struct parking parking = { .call = suite_id(), .open = true, .unhanded = true };
    struct parking more = { .call = parking.call };
    (void)state;

    if (!suite_rig->nodes)
        return; /* nothing of it is ever gone */
    suite_beat("node-z", SUITE_LONG_MS);
    suite_append(&parking);
    assert_false(listed(&parking.call));
    suite_append(&more);
    assert_true(listed(&parking.call)); /* its node was never heard of */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, suite_setup, suite_teardown)

const struct CMUnitTest suite_claims[] = {
    TEST(line11_several_asks_are_claimed_in_one_transition),
    TEST(a_claim_of_several_that_is_sent_again_gives_the_same_answer),
    TEST(line11_a_question_that_was_answered_elsewhere_keeps_that_answer),
    TEST(line11_two_submissions_never_mix),
    TEST(line11_the_same_submission_again_goes_on_where_it_stopped),
    TEST(line11_many_submissions_at_once_leave_one_whole),
    TEST(what_an_answer_says_beside_its_content_is_kept),
    TEST(a_note_comes_with_an_entry_that_is_appended),
    TEST(a_claim_that_makes_no_sense_is_refused),
    TEST(line04_offers_are_counted_in_the_record),
    TEST(line04_an_answer_to_an_older_offer_ends_nothing),
    TEST(an_item_that_is_refused_does_not_hinder_the_others),
    TEST(a_question_is_not_put_again_after_its_time),
    TEST(a_turn_that_comes_early_is_in_the_record),
    TEST(a_turn_that_came_early_is_not_where_a_withdrawn_question_was_answered),
    TEST(an_ask_that_comes_back_keeps_its_count_of_offers),
    TEST(line03_only_a_call_whose_client_can_come_back_is_recovered),
    TEST(line03_an_answer_may_hand_it),
    TEST(line03_an_append_may_hand_it),
};
const size_t suite_claims_count = sizeof(suite_claims) / sizeof(suite_claims[0]);
