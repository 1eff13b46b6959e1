/* tests/unit/store/transitions: what may happen to a call and to an ask, in every store. */
#include "suite.h"

static void a_park_stores_the_call_and_its_questions_whole(void **state)
{
    struct question questions[] = { { .key = "#1", .message = "First?" },
                                    { .key = "second", .sensitive = true, .ttl_ms = 5000 } };
    struct entry entry = { .class = ENTRY_NOW, .key = STR("now"), .number = -77 };
    struct parking parking = { .call = suite_id(),
                               .open = true,
                               .entries = &entry,
                               .entry_count = 1,
                               .questions = questions,
                               .count = 2,
                               .keep_for_ms = 123456 };
    (void)state;

    struct got *parked = suite_park(&parking);
    assert_int_equal(parked->status, NOD_OK);
    const struct call_record *call = suite_load_call(&parking.call)->reply.call;
    assert_non_null(call);
    assert_true(str_eq(call->id, id_str(&parking.call)));
    assert_str(call->principal, "ada");
    assert_str(call->scope, "ada/session-1");
    assert_int_equal(call->kind, TARGET_TOOL);
    assert_str(call->target, "delete_account");
    assert_str(call->args, "{\"userId\":\"7\"}");
    assert_str(call->uri, "note://7");
    assert_str(call->caller, "{\"stream\":\"s1\"}");
    assert_int_equal(call->notices, 5);
    assert_int_equal(call->state, CALL_STORED_WAITING);
    assert_int_equal(call->epoch, 1);
    assert_int_equal(call->opened_ms, parked->reply.now_ms);
    assert_int_equal(call->entry_count, 1);
    assert_int_equal(call->entries[0].class, ENTRY_NOW);
    assert_int_equal(call->entries[0].number, -77);
    assert_str(call->entries[0].key, "now");

    const struct ask_record *ask = suite_load_ask(&questions[1].id)->reply.ask;
    assert_non_null(ask);
    assert_true(str_eq(ask->id, id_str(&questions[1].id)));
    assert_true(str_eq(ask->call_id, id_str(&parking.call)));
    assert_str(ask->key, "second");
    assert_str(ask->principal, "ada");
    assert_str(ask->scope, "ada/session-1");
    assert_int_equal(ask->kind, ASK_URL);
    assert_true(ask->consent && ask->sensitive && ask->wait_done);
    assert_int_equal(ask->approver, ROLE_APPROVE);
    assert_str(ask->target, "delete_account");
    assert_str(ask->message, "Sure?");
    assert_str(ask->detail, "{\"type\":\"object\"}");
    assert_str(ask->url, "https://example.com/x");
    assert_int_equal(ask->digest[31], (unsigned char)(31 * 7));
    assert_int_equal(ask->ttl_ms, 5000);
    assert_int_equal(ask->attempts, 3);
    assert_int_equal(ask->attempt, 1);
    assert_int_equal(ask->seq, 42);
    assert_int_equal(ask->state, ASK_PENDING);
    assert_int_equal(ask->asked_ms, parked->reply.now_ms);
    assert_int_equal(ask->expires_ms, parked->reply.now_ms + 5000);
}

/* Whether or not it is known what the client calls itself. */
static void what_the_request_said_beside_its_arguments_is_kept(void **state)
{
    static const char *const clients[] = { NULL, "{\"name\":\"c\"}" };
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        struct question question = { .key = "#1" };
        struct parking parking = { .call = suite_id(),
                                   .open = true,
                                   .questions = &question,
                                   .count = 1,
                                   .client = clients[i],
                                   .meta = "{\"traceparent\":\"00-1\"}" };
        assert_int_equal(suite_park(&parking)->status, NOD_OK);
        suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", NULL);
        const struct call_record *call = suite_take(NULL, &parking.call, "node-a")->reply.call;
        assert_non_null(call);
        assert_str(call->client, clients[i] ? clients[i] : "");
        assert_str(call->meta, "{\"traceparent\":\"00-1\"}");
    }
}

static void what_is_not_there_is_not_found(void **state)
{
    struct id none = suite_id();
    struct parking parking = { .call = none };
    (void)state;

    assert_int_equal(suite_park(&parking)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_append(&parking)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_claim(&none, ASK_DECLINED, "", "ada", "")->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_take(NULL, &none, "node-a")->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_finish(NULL, &none, 1, "{}")->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_cancel(NULL, &none, "why")->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_load_call(&none)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_load_ask(&none)->status, NOD_E_NOT_FOUND);
}

static void a_park_without_asks_makes_the_call_runnable(void **state)
{
    struct parking parking = { .call = suite_id(), .open = true };
    (void)state;

    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    assert_int_equal(suite_load_call(&parking.call)->reply.call->state, CALL_STORED_RUNNABLE);
    struct got *taken = suite_take(NULL, &parking.call, "node-b");
    assert_int_equal(taken->status, NOD_OK);
    assert_int_equal(taken->reply.epoch, 2);
    assert_true(taken->reply.taken);
    assert_int_equal(taken->reply.call->state, CALL_STORED_RUNNING);
}

static void an_append_lengthens_the_journal_of_a_running_call(void **state)
{
    struct entry step = { .class = ENTRY_STEP,
                          .key = STR("delete"),
                          .status = NOD_E_FAILED,
                          .content = STR("{\"rows\":1}") };
    struct entry random = { .class = ENTRY_RANDOM, .key = STR("r"), .number = INT64_MIN };
    struct parking parking = {
        .call = suite_id(), .open = true, .entries = &step, .entry_count = 1
    };
    (void)state;

    assert_int_equal(suite_append(&parking)->status, NOD_OK);
    parking.open = false;
    parking.entries = &random;
    assert_int_equal(suite_append(&parking)->status, NOD_OK);
    const struct call_record *call = suite_load_call(&parking.call)->reply.call;
    assert_int_equal(call->state, CALL_STORED_RUNNING);
    assert_int_equal(call->notices, 9);
    assert_int_equal(call->entry_count, 2);
    assert_int_equal(call->entries[0].status, NOD_E_FAILED);
    assert_str(call->entries[0].content, "{\"rows\":1}");
    assert_int_equal(call->entries[1].number, INT64_MIN);
    parking.entry_count = 0;
    assert_int_equal(suite_append(&parking)->status, NOD_OK);
    assert_int_equal(suite_load_call(&parking.call)->reply.call->entry_count, 2);
}

static void a_claim_wins_once_and_the_second_is_told_who_won(void **state)
{
    struct question question = { .key = "#1" };
    struct id call = suite_ask(&question);
    (void)state;

    struct got *first = suite_claim(&question.id, ASK_ACCEPTED, "{\"n\":1}", "ada", "");
    assert_int_equal(first->status, NOD_OK);
    assert_true(first->reply.won);
    assert_false(first->reply.taken);
    struct got *second = suite_claim(&question.id, ASK_DECLINED, "", "bob", "node-b");
    assert_int_equal(second->status, NOD_OK);
    assert_false(second->reply.won);
    assert_false(second->reply.taken);
    assert_int_equal(second->reply.ask->state, ASK_ACCEPTED);
    assert_str(second->reply.ask->by, "ada");
    assert_str(second->reply.ask->content, "{\"n\":1}");
    assert_int_equal(second->reply.ask->ended_ms, first->reply.now_ms);

    const struct call_record *stored = suite_load_call(&call)->reply.call;
    assert_int_equal(stored->state, CALL_STORED_RUNNABLE);
    assert_int_equal(stored->entry_count, 1);
    const struct entry *entry = &stored->entries[0];
    assert_int_equal(entry->class, ENTRY_ASK);
    assert_str(entry->key, "#1");
    assert_int_equal(entry->state, ASK_ACCEPTED);
    assert_str(entry->content, "{\"n\":1}");
    assert_str(entry->by, "ada");
    assert_true(str_eq(entry->ask_id, id_str(&question.id)));
    assert_int_equal(entry->number, SUITE_LONG_MS);
    assert_int_equal(entry->digest[31], (unsigned char)(31 * 7));
}

static void every_outcome_reads_back_as_itself(void **state)
{
    static const enum ask_state outcomes[] = { ASK_ACCEPTED, ASK_DECLINED, ASK_CANCELLED,
                                               ASK_UNSUPPORTED, ASK_INVALID };
    (void)state;

    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
        struct question question = { .key = "#1" };
        struct id call = suite_ask(&question);
        assert_true(suite_claim(&question.id, outcomes[i], "[]", "ada", "")->reply.won);
        assert_int_equal(suite_load_ask(&question.id)->reply.ask->state, outcomes[i]);
        assert_int_equal(suite_load_call(&call)->reply.call->entries[0].state, outcomes[i]);
    }
}

static void only_the_last_claim_takes_the_call(void **state)
{
    struct question questions[] = { { .key = "a" }, { .key = "b" }, { .key = "c" } };
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = questions, .count = 3
    };
    (void)state;

    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    for (int i = 0; i < 2; i++) {
        struct got *got = suite_claim(&questions[i].id, ASK_ACCEPTED, "{}", "ada", "node-b");
        assert_true(got->reply.won);
        assert_false(got->reply.taken);
        assert_null(got->reply.call);
        assert_int_equal(suite_take(NULL, &parking.call, "node-b")->status, NOD_E_STALE);
        assert_int_equal(suite_load_call(&parking.call)->reply.call->state, CALL_STORED_WAITING);
    }
    struct got *last = suite_claim(&questions[2].id, ASK_DECLINED, "", "ada", "node-b");
    assert_true(last->reply.won && last->reply.taken);
    assert_int_equal(last->reply.epoch, 2);
    assert_non_null(last->reply.call);
    assert_int_equal(last->reply.call->epoch, 2);
    assert_int_equal(last->reply.call->state, CALL_STORED_RUNNING);
    assert_int_equal(last->reply.call->entry_count, 3);
    assert_str(last->reply.call->entries[0].key, "a");
    assert_str(last->reply.call->entries[2].key, "c");
}

static void asks_of_several_rounds_follow_one_another(void **state)
{
    struct question first = { .key = "#1" }, second = { .key = "#2" };
    struct id call = suite_ask(&first);
    (void)state;

    assert_true(suite_claim(&first.id, ASK_ACCEPTED, "{}", "ada", "node-a")->reply.taken);
    struct parking again = { .call = call, .epoch = 2, .questions = &second, .count = 1 };
    assert_int_equal(suite_park(&again)->status, NOD_OK);
    struct got *got = suite_claim(&second.id, ASK_ACCEPTED, "{}", "ada", "node-a");
    assert_int_equal(got->reply.epoch, 3);
    assert_int_equal(got->reply.call->entry_count, 2);
    /* A late answer to the first never answers the second. */
    assert_false(suite_claim(&first.id, ASK_DECLINED, "", "bob", "")->reply.won);
}

static void a_persons_word_after_the_deadline_is_an_expiry(void **state)
{
    static const enum ask_state words[] = { ASK_ACCEPTED, ASK_DECLINED, ASK_CANCELLED,
                                            ASK_INVALID };
    struct question questions[4] = {
        { .key = "a" }, { .key = "b" }, { .key = "c" }, { .key = "d" }
    };
    (void)state;

    for (int i = 0; i < 4; i++) {
        questions[i].ttl_ms = SUITE_SHORT_MS;
        suite_ask(&questions[i]);
    }
    suite_rig->advance(suite_rig, SUITE_SHORT_MS);
    for (int i = 0; i < 4; i++) {
        struct got *got = suite_claim(&questions[i].id, words[i], "{}", "ada", "node-a");
        assert_int_equal(got->status, NOD_OK);
        assert_true(got->reply.won);
        assert_true(got->reply.taken);
        assert_int_equal(got->reply.ask->state, ASK_EXPIRED);
        assert_int_equal(got->reply.ask->content.len, 0);
        assert_int_equal(got->reply.call->entries[0].state, ASK_EXPIRED);
        assert_int_equal(got->reply.call->entries[0].content.len, 0);
    }
}

static void the_clock_ends_an_ask_when_it_is_due_and_not_before(void **state)
{
    struct question late = { .key = "#1", .ttl_ms = SUITE_SHORT_MS }, early = { .key = "#1" };
    (void)state;

    suite_ask(&late);
    suite_ask(&early);
    assert_int_equal(suite_claim(&early.id, ASK_EXPIRED, "", "nod", "")->status, NOD_E_STALE);
    assert_int_equal(suite_load_ask(&early.id)->reply.ask->state, ASK_PENDING);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS);
    struct got *got = suite_claim(&late.id, ASK_EXPIRED, "", "nod", "");
    assert_true(got->reply.won);
    assert_int_equal(got->reply.ask->state, ASK_EXPIRED);
    assert_int_equal(suite_claim(&early.id, ASK_EXPIRED, "", "nod", "")->status, NOD_E_STALE);
    assert_true(suite_claim(&early.id, ASK_ACCEPTED, "{}", "ada", "")->reply.won);
}

static void nobody_left_to_ask_is_said_also_after_the_deadline(void **state)
{
    struct question question = { .key = "#1", .ttl_ms = SUITE_SHORT_MS };
    (void)state;

    suite_ask(&question);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS);
    struct got *got = suite_claim(&question.id, ASK_UNSUPPORTED, "", "nod", "");
    assert_true(got->reply.won);
    assert_int_equal(got->reply.ask->state, ASK_UNSUPPORTED);
}

static void an_ask_that_comes_back_keeps_its_times(void **state)
{
    struct id call = suite_id(), ask_id = suite_id(), token = suite_id();
    struct call_record open = { .id = id_str(&call), .scope = STR("s"), .principal = STR("p") };
    struct got *first = suite_beat("node-a", SUITE_LONG_MS);
    int64_t now = first->reply.now_ms;
    struct ask_record ask = { .id = id_str(&ask_id),
                              .call_id = id_str(&call),
                              .key = STR("#1"),
                              .ttl_ms = 99,
                              .asked_ms = now - 5000,
                              .expires_ms = now + SUITE_LONG_MS };
    (void)state;

    struct got *got = got_new();
    suite_store->ops->park(suite_store,
                           &(struct park_spec){ .token = id_str(&token),
                                                .open = &open,
                                                .node = STR("node-a"),
                                                .call_id = id_str(&call),
                                                .epoch = 1,
                                                .asks = &ask,
                                                .ask_count = 1,
                                                .handed = true },
                           got_done, got);
    assert_int_equal(got_wait(got)->status, NOD_OK);
    const struct ask_record *stored = suite_load_ask(&ask_id)->reply.ask;
    assert_int_equal(stored->asked_ms, now - 5000);
    assert_int_equal(stored->expires_ms, now + SUITE_LONG_MS);
    assert_int_equal(suite_claim(&ask_id, ASK_EXPIRED, "", "nod", "")->status, NOD_E_STALE);
}

/* --- tokens --- */

static void a_park_and_an_append_sent_again_happen_once(void **state)
{
    struct entry entry = { .class = ENTRY_NOW, .key = STR("n"), .number = 1 };
    struct question question = { .key = "#1" };
    struct parking parking = {
        .token = suite_id(), .call = suite_id(), .open = true, .entries = &entry, .entry_count = 1
    };
    (void)state;

    for (int i = 0; i < 3; i++)
        assert_int_equal(suite_append(&parking)->status, NOD_OK);
    assert_int_equal(suite_load_call(&parking.call)->reply.call->entry_count, 1);
    parking.token = suite_id();
    parking.open = false;
    parking.questions = &question;
    parking.count = 1;
    for (int i = 0; i < 3; i++)
        assert_int_equal(suite_park(&parking)->status, NOD_OK);
    assert_int_equal(suite_load_call(&parking.call)->reply.call->entry_count, 2);
    struct got *asks = suite_scan(
        &(struct store_scan){ .index = STORE_ASKS_OF_CALL, .key = id_str(&parking.call) });
    assert_int_equal(asks->rows, 1);
    /* The answer came meanwhile: it is still the park that happened. */
    assert_true(suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "")->reply.won);
    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    assert_int_equal(suite_load_call(&parking.call)->reply.call->state, CALL_STORED_RUNNABLE);
}

static void a_claim_sent_again_gives_the_same_answer(void **state)
{
    struct question plain = { .key = "#1" }, taking = { .key = "#1" };
    struct id token = suite_id(), other = suite_id(), call = suite_ask(&plain);
    (void)state;

    for (int i = 0; i < 3; i++) {
        struct got *got = suite_claim_token(&token, &plain.id, ASK_ACCEPTED, "{}", "ada", "");
        assert_true(got->reply.won);
        assert_false(got->reply.taken);
        assert_int_equal(got->reply.ask->state, ASK_ACCEPTED);
    }
    assert_int_equal(suite_load_call(&call)->reply.call->entry_count, 1);
    call = suite_ask(&taking);
    for (int i = 0; i < 3; i++) {
        struct got *got =
            suite_claim_token(&other, &taking.id, ASK_ACCEPTED, "{}", "ada", "node-b");
        assert_true(got->reply.won && got->reply.taken);
        assert_int_equal(got->reply.epoch, 2);
        assert_int_equal(got->reply.call->entry_count, 1);
    }
    assert_int_equal(suite_load_call(&call)->reply.call->epoch, 2);
}

static void a_take_sent_again_gives_the_same_epoch(void **state)
{
    struct parking parking = { .call = suite_id(), .open = true };
    struct id token = suite_id();
    (void)state;

    suite_park(&parking);
    for (int i = 0; i < 3; i++) {
        struct got *got = suite_take(&token, &parking.call, "node-b");
        assert_int_equal(got->status, NOD_OK);
        assert_int_equal(got->reply.epoch, 2);
        assert_true(got->reply.taken);
        assert_non_null(got->reply.call);
    }
}

static void an_end_sent_again_happens_once(void **state)
{
    struct parking first = { .call = suite_id(), .open = true };
    struct parking second = { .call = suite_id(), .open = true };
    struct id finish = suite_id(), cancel = suite_id();
    (void)state;

    suite_append(&first);
    suite_append(&second);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(suite_finish(&finish, &first.call, 1, "{\"r\":1}")->status, NOD_OK);
        assert_int_equal(suite_cancel(&cancel, &second.call, "why")->status, NOD_OK);
    }
    assert_str(suite_load_call(&first.call)->reply.call->result, "{\"r\":1}");
    assert_str(suite_load_call(&second.call)->reply.call->result, "why");
}

/* --- epochs, takes --- */

static void an_old_epoch_writes_nothing(void **state)
{
    struct entry entry = { .class = ENTRY_NOW, .key = STR("n"), .number = 1 };
    struct question question = { .key = "#1" };
    struct parking parking = { .call = suite_id(), .open = true };
    (void)state;

    suite_park(&parking);
    assert_int_equal(suite_take(NULL, &parking.call, "node-b")->reply.epoch, 2);
    for (uint64_t epoch = 1; epoch <= 3; epoch += 2) { /* the one before, and one yet to come */
        struct parking old = { .call = parking.call,
                               .epoch = epoch,
                               .entries = &entry,
                               .entry_count = 1,
                               .questions = &question,
                               .count = 1 };
        assert_int_equal(suite_park(&old)->status, NOD_E_STALE);
        assert_int_equal(suite_append(&old)->status, NOD_E_STALE);
        assert_int_equal(suite_finish(NULL, &parking.call, epoch, "old")->status, NOD_E_STALE);
    }
    const struct call_record *call = suite_load_call(&parking.call)->reply.call;
    assert_int_equal(call->state, CALL_STORED_RUNNING);
    assert_int_equal(call->entry_count, 0);
    assert_int_equal(suite_load_ask(&question.id)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_finish(NULL, &parking.call, 2, "new")->status, NOD_OK);
}

static void a_call_that_is_stored_is_not_opened_twice(void **state)
{
    struct question question = { .key = "#1" }, other = { .key = "#1" };
    struct parking again = {
        .call = suite_ask(&question), .open = true, .questions = &other, .count = 1
    };
    (void)state;

    assert_int_equal(suite_park(&again)->status, NOD_E_STALE);
    assert_int_equal(suite_load_ask(&other.id)->status, NOD_E_NOT_FOUND);
    struct parking running = { .call = suite_id(), .open = true };
    assert_int_equal(suite_append(&running)->status, NOD_OK);
    assert_int_equal(suite_append(&running)->status, NOD_E_STALE); /* another token: not itself */
    assert_int_equal(suite_park(&running)->status, NOD_E_STALE);
    assert_int_equal(suite_load_call(&running.call)->reply.call->state, CALL_STORED_RUNNING);
}

static void a_call_that_has_gone_on_elsewhere_gives_way_to_what_comes_back(void **state)
{
    struct entry entries[2] = { { .class = ENTRY_NOW, .key = STR("a"), .number = 1 },
                                { .class = ENTRY_NOW, .key = STR("b"), .number = 2 } };
    struct question before = { .key = "#1" }, now = { .key = "#2" }, less = { .key = "#3" };
    struct parking parking = { .call = suite_id(),
                               .open = true,
                               .entries = entries,
                               .entry_count = 1,
                               .questions = &before,
                               .count = 1 };
    (void)state;

    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    parking.token = suite_id();
    parking.entry_count = 2;
    parking.questions = &now;
    for (int i = 0; i < 2; i++)
        assert_int_equal(suite_park(&parking)->status, NOD_OK);
    assert_int_equal(suite_load_ask(&before.id)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_load_ask(&now.id)->reply.ask->state, ASK_PENDING);
    assert_int_equal(suite_load_call(&parking.call)->reply.call->entry_count, 2);
    parking.token = suite_id();
    parking.questions = &less;
    assert_int_equal(suite_park(&parking)->status, NOD_E_STALE); /* it knows no more than we do */
    assert_int_equal(suite_load_ask(&less.id)->status, NOD_E_NOT_FOUND);
    assert_true(suite_claim(&now.id, ASK_ACCEPTED, "{}", "ada", "node-a")->reply.taken);
    parking.token = suite_id();
    assert_int_equal(suite_park(&parking)->status, NOD_E_STALE); /* it runs here */
}

static void only_a_runnable_call_is_taken_and_once(void **state)
{
    struct question question = { .key = "#1" };
    struct parking running = { .call = suite_id(), .open = true };
    struct id call = suite_ask(&question);
    (void)state;

    if (suite_rig->nodes)
        suite_beat("node-a", SUITE_LONG_MS);
    suite_append(&running);
    assert_int_equal(suite_take(NULL, &running.call, "node-b")->status, NOD_E_STALE);
    assert_int_equal(suite_take(NULL, &call, "node-b")->status, NOD_E_STALE);
    suite_claim(&question.id, ASK_DECLINED, "", "ada", "");
    if (suite_rig->nodes)
        suite_beat("node-b", SUITE_LONG_MS);
    assert_int_equal(suite_take(NULL, &call, "node-b")->status, NOD_OK);
    assert_int_equal(suite_take(NULL, &call, "node-c")->status, NOD_E_STALE);
    suite_finish(NULL, &call, 2, "{}");
    assert_int_equal(suite_take(NULL, &call, "node-c")->status, NOD_E_STALE);
    suite_cancel(NULL, &running.call, "");
    assert_int_equal(suite_take(NULL, &running.call, "node-c")->status, NOD_E_STALE);
}

static bool runnable(const struct id *call)
{
    struct got *got = suite_scan(&(struct store_scan){ .index = STORE_RUNNABLE });

    for (size_t i = 0; i < got->rows; i++)
        if (str_eq(got->calls[i].id, id_str(call)))
            return true;
    return false;
}

static void a_running_call_of_a_node_that_is_gone_is_taken_by_another(void **state)
{
    struct parking parking = { .call = suite_id(), .open = true, .node = "node-a" };
    (void)state;

    if (!suite_rig->nodes)
        return;
    suite_beat("node-a", SUITE_SHORT_MS);
    suite_append(&parking);
    assert_false(runnable(&parking.call));
    suite_rig->advance(suite_rig, SUITE_SHORT_MS + 1);
    assert_true(runnable(&parking.call));
    suite_beat("node-b", SUITE_LONG_MS);
    struct got *got = suite_take_as(NULL, &parking.call, "node-b", TAKE_SUSPECT);
    assert_int_equal(got->status, NOD_OK);
    assert_int_equal(got->reply.epoch, 2);
    assert_false(runnable(&parking.call));
    /* It was only asleep: its writes are refused. */
    suite_beat("node-a", SUITE_LONG_MS);
    assert_int_equal(suite_append(&parking)->status, NOD_E_STALE);
    assert_int_equal(suite_finish(NULL, &parking.call, 1, "{}")->status, NOD_E_STALE);
    assert_int_equal(suite_take(NULL, &parking.call, "node-a")->status, NOD_E_STALE);
}

/* Opens a call that runs on a node, in its first epoch. */
static struct parking runs_on(const char *node)
{
    struct parking parking = { .call = suite_id(), .open = true, .node = node };

    assert_int_equal(suite_append(&parking)->status, NOD_OK);
    parking.open = false;
    return parking;
}

/* The node of this call dies. */
static void dies(const struct id *call, const char *node)
{
    if (suite_rig->lose) {
        suite_rig->lose(suite_rig, call);
        return;
    }
    suite_beat(node, SUITE_SHORT_MS);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS + 1);
}

static void deaths_are(const struct id *call, unsigned early, unsigned late, bool probation)
{
    const struct deaths *deaths = &suite_load_call(call)->reply.call->deaths;

    assert_int_equal(deaths->early, early);
    assert_int_equal(deaths->late, late);
    assert_int_equal(deaths->probation, probation);
    assert_int_equal(deaths->tried_ms > 0, probation);
}

static void a_death_is_counted_by_whoever_takes_the_call_and_says_so(void **state)
{
    struct id token = suite_id();
    (void)state;

    if (!suite_rig->nodes && !suite_rig->lose)
        return;
    suite_beat("node-b", SUITE_LONG_MS);
    struct parking run = runs_on("node-a");
    dies(&run.call, "node-a");
    deaths_are(&run.call, 0, 0, false);
    assert_true(runnable(&run.call));
    struct got *plain = suite_take(NULL, &run.call, "node-b");
    assert_int_equal(plain->status, NOD_E_STALE);
    assert_true(plain->reply.suspect);
    deaths_are(&run.call, 0, 0, false);
    for (int i = 0; i < 3; i++) { /* sent again, it is counted once */
        struct got *got = suite_take_as(&token, &run.call, "node-a", TAKE_SUSPECT);
        assert_int_equal(got->status, NOD_OK);
        assert_int_equal(got->reply.epoch, 2);
        assert_true(got->reply.call->deaths.probation);
        assert_int_equal(got->reply.call->deaths.late, 1);
    }
    deaths_are(&run.call, 0, 1, true);
    for (unsigned early = 1; early <= 3; early++) {
        dies(&run.call, "node-a");
        assert_int_equal(suite_take_as(NULL, &run.call, "node-a", TAKE_SUSPECT)->status, NOD_OK);
        deaths_are(&run.call, early, 1, true);
    }
    suite_beat("node-a", SUITE_LONG_MS);
    struct got *runs = suite_take_as(NULL, &run.call, "node-b", TAKE_SUSPECT);
    assert_int_equal(runs->status, NOD_E_STALE);
    assert_false(runs->reply.suspect);
    deaths_are(&run.call, 3, 1, true);
}

static void what_a_node_leaves_that_was_told_to_stop_counts_for_nothing(void **state)
{
    (void)state;

    if (!suite_rig->nodes && !suite_rig->lose)
        return;
    struct parking run = runs_on("node-a");
    for (int i = 0; i < 20; i++) {
        dies(&run.call, "node-a");
        assert_int_equal(suite_take_as(NULL, &run.call, "node-a", TAKE_FORGIVEN)->status, NOD_OK);
        deaths_are(&run.call, 0, 0, false);
    }
    dies(&run.call, "node-a");
    suite_take_as(NULL, &run.call, "node-a", TAKE_SUSPECT);
    dies(&run.call, "node-a");
    suite_take_as(NULL, &run.call, "node-a", TAKE_FORGIVEN);
    deaths_are(&run.call, 0, 1, true); /* nor does it clear anything */
}

static void what_a_run_commits_clears_what_was_counted(void **state)
{
    struct entry entry = { .class = ENTRY_NOW, .key = STR("n"), .number = 1 };
    struct question question = { .key = "#1" };
    (void)state;

    if (!suite_rig->nodes && !suite_rig->lose)
        return;
    for (int way = 0; way < 2; way++) {
        struct parking run = runs_on("node-a");
        for (int i = 0; i < 2; i++) {
            dies(&run.call, "node-a");
            run.epoch = suite_take_as(NULL, &run.call, "node-a", TAKE_SUSPECT)->reply.epoch;
        }
        deaths_are(&run.call, 1, 1, true);
        run.node = "node-a";
        if (way == 0) {
            run.entries = &entry;
            run.entry_count = 1;
            assert_int_equal(suite_append(&run)->status, NOD_OK);
        } else {
            run.questions = &question;
            run.count = 1;
            assert_int_equal(suite_park(&run)->status, NOD_OK);
        }
        deaths_are(&run.call, 0, 0, false);
    }
}

static void a_run_that_is_no_longer_on_probation_dies_late(void **state)
{
    (void)state;

    if (!suite_rig->nodes && !suite_rig->lose)
        return;
    struct parking run = runs_on("node-a");
    dies(&run.call, "node-a");
    suite_take_as(NULL, &run.call, "node-a", TAKE_SUSPECT);
    assert_int_equal(suite_clear(&run.call, 1)->status, NOD_E_STALE); /* of an older epoch */
    deaths_are(&run.call, 0, 1, true);
    for (int i = 0; i < 2; i++)
        assert_int_equal(suite_clear(&run.call, 2)->status, NOD_OK);
    deaths_are(&run.call, 0, 1, false);
    for (unsigned late = 2; late < 20; late++) {
        dies(&run.call, "node-a");
        struct got *got = suite_take_as(NULL, &run.call, "node-a", TAKE_SUSPECT);
        unsigned most = late < DEATHS_COUNTED ? late : DEATHS_COUNTED;
        deaths_are(&run.call, 0, most, true);
        assert_int_equal(suite_clear(&run.call, got->reply.epoch)->status, NOD_OK);
    }
    struct id none = suite_id();
    assert_int_equal(suite_clear(&none, 1)->status, NOD_E_NOT_FOUND);
}

/* Its other operations recognise themselves as before. */
static void a_probation_may_end_while_another_operation_of_the_run_is_sent_again(void **state)
{
    struct entry entry = { .class = ENTRY_NOW, .key = STR("n"), .number = 1 };
    struct id token = suite_id();
    (void)state;

    if (!suite_rig->nodes && !suite_rig->lose)
        return;
    struct parking run = runs_on("node-a");
    dies(&run.call, "node-a");
    suite_take_as(NULL, &run.call, "node-a", TAKE_SUSPECT);
    run = (struct parking){ .call = run.call,
                            .token = token,
                            .epoch = 2,
                            .node = "node-a",
                            .entries = &entry,
                            .entry_count = 1 };
    assert_int_equal(suite_append(&run)->status, NOD_OK);
    assert_int_equal(suite_clear(&run.call, 2)->status, NOD_OK);
    assert_int_equal(suite_append(&run)->status, NOD_OK);
    assert_int_equal(suite_load_call(&run.call)->reply.call->entry_count, 1);
}

static void a_suspect_that_is_given_back_stays_one(void **state)
{
    (void)state;

    if (!suite_rig->nodes && !suite_rig->lose)
        return;
    struct parking run = runs_on("node-a");
    dies(&run.call, "node-a");
    suite_take_as(NULL, &run.call, "node-a", TAKE_SUSPECT);
    run.epoch = 2;
    assert_int_equal(suite_park(&run)->status, NOD_OK);
    struct got *plain = suite_take(NULL, &run.call, "node-b");
    assert_int_equal(plain->status, NOD_E_STALE);
    assert_true(plain->reply.suspect);
    assert_int_equal(suite_take_as(NULL, &run.call, "node-b", TAKE_SUSPECT)->reply.epoch, 3);
    deaths_are(&run.call, 0, 1, true);
}

static void a_call_says_which_node_runs_it(void **state)
{
    (void)state;

    if (!suite_rig->nodes)
        return;
    struct parking run = runs_on("node-a");
    assert_str(suite_load_call(&run.call)->reply.call->node, "node-a");
    dies(&run.call, "node-a");
    struct got *got = suite_scan(&(struct store_scan){ .index = STORE_RUNNABLE });
    assert_int_equal(got->rows, 1);
    assert_str(got->calls[0].node, "node-a");
    suite_take_as(NULL, &run.call, "node-b", TAKE_SUSPECT);
    assert_str(suite_load_call(&run.call)->reply.call->node, "node-b");
}

/* Whatever nobody takes: a walk from page to page shows each of them once, and ends. */
static void runnable_calls_come_by_page(void **state)
{
    enum { CALLS = 12, SHOWN = 5 };
    struct id calls[CALLS];
    int seen[CALLS] = { 0 };
    char text[64];
    struct str cursor = STR_NONE;
    int pages = 0;
    (void)state;

    for (size_t i = 0; i < CALLS; i++) {
        struct question question = { .key = "#1" };
        calls[i] = suite_ask(&question);
        suite_claim(&question.id, ASK_DECLINED, "", "ada", "");
    }
    do {
        struct got *got = suite_scan(
            &(struct store_scan){ .index = STORE_RUNNABLE, .cursor = cursor, .limit = SHOWN });
        assert_int_equal(got->status, NOD_OK);
        assert_true(got->rows <= SHOWN);
        for (size_t row = 0; row < got->rows; row++)
            for (size_t i = 0; i < CALLS; i++)
                seen[i] += str_eq(got->calls[row].id, id_str(&calls[i]));
        assert_true(got->reply.cursor.len <= sizeof(text));
        if (got->reply.cursor.len)
            memcpy(text, got->reply.cursor.at, got->reply.cursor.len);
        cursor = str_n(text, got->reply.cursor.len);
        if (pages++ == 0) /* it comes and goes meanwhile, and the others are shown all the same */
            suite_cancel(NULL, &calls[0], "");
        assert_true(pages < CALLS);
    } while (cursor.len);
    for (size_t i = 1; i < CALLS; i++)
        assert_int_equal(seen[i], 1);
}

/* --- ends --- */

static void a_finish_keeps_the_result_and_withdraws_what_is_open(void **state)
{
    struct question question = { .key = "#1" };
    struct id call = suite_ask(&question);
    (void)state;

    assert_int_equal(suite_finish(NULL, &call, 1, "{\"ok\":true}")->status, NOD_OK);
    const struct call_record *stored = suite_load_call(&call)->reply.call;
    assert_int_equal(stored->state, CALL_STORED_FINISHED);
    assert_str(stored->result, "{\"ok\":true}");
    assert_int_equal(suite_load_ask(&question.id)->reply.ask->state, ASK_WITHDRAWN);
    struct got *late = suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "node-a");
    assert_int_equal(late->status, NOD_OK);
    assert_false(late->reply.won);
    assert_int_equal(late->reply.ask->state, ASK_WITHDRAWN);
    assert_int_equal(suite_load_call(&call)->reply.call->entry_count, 0);
    assert_int_equal(suite_finish(NULL, &call, 1, "{}")->status, NOD_E_STALE);
    assert_int_equal(suite_cancel(NULL, &call, "late")->status, NOD_E_STALE);
    assert_str(suite_load_call(&call)->reply.call->result, "{\"ok\":true}");
}

static void a_cancel_ends_a_call_in_any_state_and_keeps_why(void **state)
{
    struct question question = { .key = "#1" };
    struct parking running = { .call = suite_id(), .open = true };
    struct parking ready = { .call = suite_id(), .open = true };
    struct id calls[3] = { suite_ask(&question), running.call, ready.call };
    (void)state;

    suite_append(&running);
    suite_park(&ready);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(suite_cancel(NULL, &calls[i], "no longer needed")->status, NOD_OK);
        const struct call_record *stored = suite_load_call(&calls[i])->reply.call;
        assert_int_equal(stored->state, CALL_STORED_CANCELLED);
        assert_str(stored->result, "no longer needed");
        assert_int_equal(suite_cancel(NULL, &calls[i], "again")->status, NOD_E_STALE);
        assert_int_equal(suite_finish(NULL, &calls[i], 1, "{}")->status, NOD_E_STALE);
        assert_int_equal(suite_append(&(struct parking){ .call = calls[i] })->status, NOD_E_STALE);
    }
    assert_int_equal(suite_load_ask(&question.id)->reply.ask->state, ASK_WITHDRAWN);
}

enum { RACES = 200 };

static void an_ask_answered_and_its_call_cancelled_at_once_has_one_end(void **state)
{
    struct question questions[RACES] = { 0 };
    struct got *claims[RACES], *cancels[RACES];
    struct id calls[RACES];
    (void)state;

    for (int i = 0; i < RACES; i++) {
        questions[i].key = "#1";
        calls[i] = suite_ask(&questions[i]);
    }
    for (int i = 0; i < RACES; i++) {
        struct id a = suite_id(), b = suite_id();
        struct claim_item item = { .ask_id = id_str(&questions[i].id),
                                   .outcome = ASK_ACCEPTED,
                                   .content = STR("{}") };
        struct claim_spec spec = {
            .token = id_str(&a), .items = &item, .count = 1, .by = STR("ada")
        };
        claims[i] = got_new();
        cancels[i] = got_new();
        if (i % 2)
            suite_store->ops->claim(suite_store, &spec, got_done, claims[i]);
        suite_store->ops->cancel(suite_store, id_str(&b), id_str(&calls[i]), STR("why"), got_done,
                                 cancels[i]);
        if (i % 2 == 0)
            suite_store->ops->claim(suite_store, &spec, got_done, claims[i]);
    }
    for (int i = 0; i < RACES; i++) {
        got_wait(claims[i]);
        got_wait(cancels[i]);
        assert_int_equal(cancels[i]->status, NOD_OK);
        assert_int_equal(claims[i]->status, NOD_OK);
        assert_int_equal(claims[i]->reply.ask->state,
                         claims[i]->reply.won ? ASK_ACCEPTED : ASK_WITHDRAWN);
        assert_int_equal(suite_load_ask(&questions[i].id)->reply.ask->state,
                         claims[i]->reply.ask->state);
    }
}

static void two_answers_at_once_have_one_winner(void **state)
{
    struct question questions[RACES] = { 0 };
    struct got *claims[RACES][2];
    struct id calls[RACES];
    (void)state;

    for (int i = 0; i < RACES; i++) {
        questions[i].key = "#1";
        calls[i] = suite_ask(&questions[i]);
    }
    for (int i = 0; i < RACES; i++) {
        for (int j = 0; j < 2; j++) {
            struct id token = suite_id();
            claims[i][j] = got_new();
            suite_store->ops->claim(
                suite_store,
                &(struct claim_spec){ .token = id_str(&token),
                                      .items =
                                          &(struct claim_item){ .ask_id = id_str(&questions[i].id),
                                                                .outcome = ASK_ACCEPTED,
                                                                .content = STR("{}") },
                                      .count = 1,
                                      .by = j ? STR("bob") : STR("ada"),
                                      .take_for = STR("node-a") },
                got_done, claims[i][j]);
        }
    }
    for (int i = 0; i < RACES; i++) {
        got_wait(claims[i][0]);
        got_wait(claims[i][1]);
        assert_int_equal(claims[i][0]->reply.won + claims[i][1]->reply.won, 1);
        assert_int_equal(claims[i][0]->reply.taken + claims[i][1]->reply.taken, 1);
        assert_true(str_eq(claims[i][0]->reply.ask->by, claims[i][1]->reply.ask->by));
        assert_int_equal(suite_load_call(&calls[i])->reply.call->entry_count, 1);
    }
}

/* --- hints, ends of stores --- */

static int woken;
static struct id woken_call;

static void wake(void *data, struct str call_id)
{
    (void)data;
    if (call_id.len == 0) /* a look at everything, because hints may have been lost */
        return;
    woken++;
    memset(&woken_call, 0, sizeof(woken_call));
    memcpy(woken_call.text, call_id.at, call_id.len < ID_LEN ? call_id.len : ID_LEN);
}

static void a_node_is_woken_when_its_call_became_runnable_elsewhere(void **state)
{
    struct question question = { .key = "#1" };
    struct store *mine = suite_store;
    struct id call;
    (void)state;

    woken = 0;
    mine->ops->watch(mine, STR("node-a"), wake, NULL);
    suite_beat("node-a", SUITE_LONG_MS);
    call = suite_ask(&question);
    if (suite_rig->shared) {
        suite_store = suite_rig->open(suite_rig);
        assert_non_null(suite_store);
    }
    assert_true(suite_claim(&question.id, ASK_ACCEPTED, "{}", "ada", "")->reply.won);
    for (int i = 0; !woken && i < SUITE_PATIENCE; i++)
        suite_rig->turn(suite_rig);
    assert_int_equal(woken, 1);
    assert_true(str_eq(id_str(&woken_call), id_str(&call)));
    if (suite_rig->shared) {
        suite_store->ops->destroy(suite_store);
        suite_store = mine;
    }
}

static void what_one_handle_stores_another_sees(void **state)
{
    struct question question = { .key = "#1" };
    struct store *mine = suite_store;
    (void)state;

    if (!suite_rig->shared)
        return;
    suite_ask(&question);
    suite_store = suite_rig->open(suite_rig);
    assert_non_null(suite_store);
    assert_true(suite_claim(&question.id, ASK_ACCEPTED, "{}", "bob", "node-b")->reply.taken);
    suite_store->ops->destroy(suite_store);
    suite_store = mine;
    struct got *second = suite_claim(&question.id, ASK_DECLINED, "", "ada", "node-a");
    assert_false(second->reply.won);
    assert_str(second->reply.ask->by, "bob");
}

static void a_store_that_is_destroyed_completes_nothing_any_more(void **state)
{
    struct id calls[50], token;
    struct got *got[50];
    (void)state;

    for (int i = 0; i < 50; i++) {
        calls[i] = suite_id();
        token = suite_id();
        got[i] = got_new();
        struct call_record open = { .id = id_str(&calls[i]), .scope = STR("s") };
        suite_store->ops->append(suite_store,
                                 &(struct append_spec){ .token = id_str(&token),
                                                        .open = &open,
                                                        .node = STR("node-a"),
                                                        .call_id = id_str(&calls[i]),
                                                        .epoch = 1,
                                                        .handed = true },
                                 got_done, got[i]);
        if (i % 2)
            suite_store->ops->load_call(suite_store, id_str(&calls[i]), got_done, got_new());
    }
    suite_store->ops->destroy(suite_store);
    suite_store = NULL;
    for (int i = 0; i < 20; i++)
        suite_rig->turn(suite_rig);
    for (int i = 0; i < 50; i++)
        assert_int_equal(got[i]->done, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, suite_setup, suite_teardown)

const struct CMUnitTest suite_transitions[] = {
    TEST(a_park_stores_the_call_and_its_questions_whole),
    TEST(what_the_request_said_beside_its_arguments_is_kept),
    TEST(what_is_not_there_is_not_found),
    TEST(a_park_without_asks_makes_the_call_runnable),
    TEST(an_append_lengthens_the_journal_of_a_running_call),
    TEST(a_claim_wins_once_and_the_second_is_told_who_won),
    TEST(every_outcome_reads_back_as_itself),
    TEST(only_the_last_claim_takes_the_call),
    TEST(asks_of_several_rounds_follow_one_another),
    TEST(a_persons_word_after_the_deadline_is_an_expiry),
    TEST(the_clock_ends_an_ask_when_it_is_due_and_not_before),
    TEST(nobody_left_to_ask_is_said_also_after_the_deadline),
    TEST(an_ask_that_comes_back_keeps_its_times),
    TEST(a_park_and_an_append_sent_again_happen_once),
    TEST(a_claim_sent_again_gives_the_same_answer),
    TEST(a_take_sent_again_gives_the_same_epoch),
    TEST(an_end_sent_again_happens_once),
    TEST(an_old_epoch_writes_nothing),
    TEST(a_call_that_is_stored_is_not_opened_twice),
    TEST(a_call_that_has_gone_on_elsewhere_gives_way_to_what_comes_back),
    TEST(only_a_runnable_call_is_taken_and_once),
    TEST(a_running_call_of_a_node_that_is_gone_is_taken_by_another),
    TEST(a_death_is_counted_by_whoever_takes_the_call_and_says_so),
    TEST(what_a_node_leaves_that_was_told_to_stop_counts_for_nothing),
    TEST(what_a_run_commits_clears_what_was_counted),
    TEST(a_run_that_is_no_longer_on_probation_dies_late),
    TEST(a_probation_may_end_while_another_operation_of_the_run_is_sent_again),
    TEST(a_suspect_that_is_given_back_stays_one),
    TEST(a_call_says_which_node_runs_it),
    TEST(runnable_calls_come_by_page),
    TEST(a_finish_keeps_the_result_and_withdraws_what_is_open),
    TEST(a_cancel_ends_a_call_in_any_state_and_keeps_why),
    TEST(an_ask_answered_and_its_call_cancelled_at_once_has_one_end),
    TEST(two_answers_at_once_have_one_winner),
    TEST(a_node_is_woken_when_its_call_became_runnable_elsewhere),
    TEST(what_one_handle_stores_another_sees),
    TEST(a_store_that_is_destroyed_completes_nothing_any_more),
};
const size_t suite_transitions_count = sizeof(suite_transitions) / sizeof(suite_transitions[0]);
