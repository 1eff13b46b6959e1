/*
 * tests/unit/store/records: scans, small records, retention and size, in every store.
 */
#include "suite.h"

#include <stdlib.h>

/* --- scans --- */

static void runnable_calls_are_listed_up_to_a_limit(void **state)
{
    struct question question = { .key = "#1" };
    struct id calls[5];
    size_t seen = 0;
    (void)state;

    suite_beat("node-a", SUITE_LONG_MS);
    suite_ask(&question); /* waits: not listed */
    for (int i = 0; i < 5; i++) {
        struct parking parking = { .call = suite_id(), .open = true };
        calls[i] = parking.call;
        suite_park(&parking);
    }
    assert_int_equal(suite_scan(&(struct store_scan){ .index = STORE_RUNNABLE, .limit = 3 })->rows,
                     3);
    struct got *got = suite_scan(&(struct store_scan){ .index = STORE_RUNNABLE });
    assert_int_equal(got->rows, 5);
    for (size_t i = 0; i < got->rows; i++) {
        assert_int_equal(got->calls[i].state, CALL_STORED_RUNNABLE);
        assert_str(got->calls[i].target, "delete_account");
        for (int j = 0; j < 5; j++)
            seen += str_eq(got->calls[i].id, id_str(&calls[j]));
    }
    assert_int_equal(seen, 5);
    suite_take(NULL, &calls[0], "node-a");
    suite_cancel(NULL, &calls[1], "");
    assert_int_equal(suite_scan(&(struct store_scan){ .index = STORE_RUNNABLE })->rows, 3);
}

static void a_call_that_nobody_comes_back_for_is_not_listed_and_can_be_taken(void **state)
{
    struct parking parking = { .call = suite_id(), .open = true, .alone = true };
    (void)state;

    suite_beat("node-a", SUITE_LONG_MS);
    suite_park(&parking);
    assert_int_equal(suite_load_call(&parking.call)->reply.call->state, CALL_STORED_RUNNABLE);
    assert_int_equal(suite_scan(&(struct store_scan){ .index = STORE_RUNNABLE })->rows, 0);
    assert_int_equal(suite_take(NULL, &parking.call, "node-a")->status, NOD_OK);
}

static void an_append_without_entries_opens_a_call(void **state)
{
    struct parking parking = { .call = suite_id(), .open = true };
    (void)state;

    suite_beat("node-a", SUITE_LONG_MS);
    assert_int_equal(suite_append(&parking)->status, NOD_OK);
    assert_int_equal(suite_load_call(&parking.call)->reply.call->state, CALL_STORED_RUNNING);
    assert_int_equal(suite_load_call(&parking.call)->reply.call->entry_count, 0);
    parking.open = false;
    parking.token = (struct id){ 0 };
    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    assert_int_equal(suite_load_call(&parking.call)->reply.call->state, CALL_STORED_RUNNABLE);
}

static void asks_that_are_due_are_listed_up_to_a_limit(void **state)
{
    struct question due[4] = { { .key = "#1" }, { .key = "#1" }, { .key = "#1" }, { .key = "#1" } };
    struct question later = { .key = "#1" };
    (void)state;

    for (int i = 0; i < 4; i++) {
        due[i].ttl_ms = SUITE_SHORT_MS;
        suite_ask(&due[i]);
    }
    suite_ask(&later);
    int64_t now = suite_load_ask(&later.id)->reply.ask->asked_ms;
    assert_int_equal(suite_scan(&(struct store_scan){ .index = STORE_ASKS_DUE })->rows, 0);
    struct store_scan ahead = { .index = STORE_ASKS_DUE, .before = now + 2 * SUITE_LONG_MS };
    assert_int_equal(suite_scan(&ahead)->rows, 5);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS + 1);
    suite_claim(&due[0].id, ASK_EXPIRED, "", "nod", "");
    struct got *got = suite_scan(&(struct store_scan){ .index = STORE_ASKS_DUE });
    assert_int_equal(got->rows, 3);
    for (size_t i = 0; i < got->rows; i++) {
        assert_int_equal(got->asks[i].state, ASK_PENDING);
        assert_int_equal(got->asks[i].ttl_ms, SUITE_SHORT_MS);
        assert_int_equal(got->asks[i].call_id.len, ID_LEN);
    }
    assert_int_equal(suite_scan(&(struct store_scan){ .index = STORE_ASKS_DUE, .limit = 2 })->rows,
                     2);
}

static void the_asks_of_a_call_are_listed_in_order(void **state)
{
    struct question questions[] = { { .key = "a" }, { .key = "b" }, { .key = "c" } };
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = questions, .count = 3
    };
    struct question other = { .key = "other" };
    struct id none = suite_id();
    (void)state;

    suite_park(&parking);
    suite_ask(&other);
    suite_claim(&questions[1].id, ASK_DECLINED, "", "ada", "");
    struct store_scan scan = { .index = STORE_ASKS_OF_CALL, .key = id_str(&parking.call) };
    struct got *got = suite_scan(&scan);
    assert_int_equal(got->rows, 3);
    assert_str(got->asks[0].key, "a");
    assert_str(got->asks[1].key, "b");
    assert_int_equal(got->asks[1].state, ASK_DECLINED);
    assert_str(got->asks[2].key, "c");
    scan.limit = 2;
    assert_int_equal(suite_scan(&scan)->rows, 2);
    scan.key = id_str(&none);
    assert_int_equal(suite_scan(&scan)->rows, 0);
}

static struct got *load_with_asks(const struct id *call, size_t most)
{
    struct got *got = got_new();

    suite_store->ops->load_with_asks(suite_store, id_str(call), most, got_row, got_done, got);
    return got_wait(got);
}

static void a_call_that_waits_is_loaded_with_its_asks(void **state)
{
    struct question questions[] = { { .key = "a" }, { .key = "b" }, { .key = "c" } };
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = questions, .count = 3
    };
    struct id none = suite_id();
    (void)state;

    if (!suite_store->ops->load_with_asks) /* then nobody asks it to */
        return;
    suite_park(&parking);
    suite_claim(&questions[1].id, ASK_DECLINED, "", "ada", "");
    struct got *got = load_with_asks(&parking.call, 10);
    assert_int_equal(got->status, NOD_OK);
    assert_int_equal(got->reply.call->state, CALL_STORED_WAITING);
    assert_int_equal(got->reply.call->entry_count, 1);
    assert_int_equal(got->rows, 3);
    assert_str(got->asks[0].key, "a");
    assert_int_equal(got->asks[1].state, ASK_DECLINED);
    assert_str(got->asks[2].key, "c");
    assert_int_equal(load_with_asks(&parking.call, 2)->rows, 2);
    assert_int_equal(suite_finish(NULL, &parking.call, 1, "{}")->status, NOD_OK);
    got = load_with_asks(&parking.call, 10); /* what has ended has nothing to ask */
    assert_int_equal(got->reply.call->state, CALL_STORED_FINISHED);
    assert_int_equal(got->rows, 0);
    got = load_with_asks(&none, 10);
    assert_int_equal(got->status, NOD_E_NOT_FOUND);
    assert_int_equal(got->rows, 0);
}

enum { ROUND = STORE_CLAIM_MOST, ROUNDS = 16, LARGE = 100000 };

/* One round of a call, after the take that gave the epoch. */
static void put_round(const struct id *call, uint64_t epoch, const char *message,
                      struct question questions[ROUND])
{
    struct parking parking = {
        .call = *call, .open = epoch == 1, .epoch = epoch, .questions = questions, .count = ROUND
    };

    for (size_t i = 0; i < ROUND; i++)
        questions[i] = (struct question){ .key = "q", .message = message };
    assert_int_equal(suite_park(&parking)->status, NOD_OK);
}

static void answer_round(struct question questions[ROUND])
{
    struct claim_item items[ROUND];

    for (size_t i = 0; i < ROUND; i++)
        items[i] = (struct claim_item){ .ask_id = id_str(&questions[i].id),
                                        .outcome = ASK_ACCEPTED,
                                        .content = STR("{}") };
    struct got *got = suite_claims_of(
        NULL, &(struct claim_spec){
                  .items = items, .count = ROUND, .by = STR("ada"), .take_for = STR("node-a") });
    assert_true(got->reply.taken);
}

/* The latest asks of the call are these, in this order, and wait. */
static void assert_round(const struct got *got, const struct question questions[ROUND])
{
    assert_int_equal(got->status, NOD_OK);
    assert_true(got->rows >= ROUND);
    for (size_t i = 0; i < ROUND; i++) {
        const struct ask_record *ask = &got->asks[got->rows - ROUND + i];
        assert_true(str_eq(ask->id, id_str(&questions[i].id)));
        assert_int_equal(ask->state, ASK_PENDING);
        assert_int_equal(ask->message.len, LARGE);
    }
}

static void what_waits_is_listed_however_much_came_before_and_however_large(void **state)
{
    struct id call = suite_id();
    struct question questions[ROUND];
    struct store_scan scan = { .index = STORE_ASKS_OF_CALL, .key = id_str(&call) };
    char *large = calloc(1, LARGE + 1);
    (void)state;

    assert_non_null(large);
    memset(large, 'x', LARGE);
    suite_beat("node-a", SUITE_LONG_MS);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        put_round(&call, i + 1, "Sure?", questions);
        answer_round(questions);
    }
    put_round(&call, ROUNDS + 1, large, questions);
    assert_round(suite_scan(&scan), questions);
    scan.limit = ROUND;
    assert_round(suite_scan(&scan), questions);
    if (suite_store->ops->load_with_asks)
        assert_round(load_with_asks(&call, ROUND), questions);
    free(large);
}

/* A call that begins and ends: a store removes in passing what is over. */
static void pass_by(void)
{
    struct parking parking = { .call = suite_id(), .open = true };

    suite_append(&parking);
    assert_int_equal(suite_finish(NULL, &parking.call, 1, "{}")->status, NOD_OK);
}

/* --- small records --- */

static void a_small_record_is_put_read_and_removed(void **state)
{
    (void)state;

    assert_int_equal(suite_get("grant", "k")->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_del("grant", "k")->status, NOD_E_NOT_FOUND);
    struct got *put = suite_put("grant", "k", STR("one"), 0, 0);
    assert_int_equal(put->status, NOD_OK);
    assert_true(put->reply.version > 0);
    struct got *got = suite_get("grant", "k");
    assert_int_equal(got->status, NOD_OK);
    assert_str(got->reply.value, "one");
    assert_int_equal(got->reply.version, put->reply.version);
    assert_int_equal(suite_get("session", "k")->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_put("grant", "k", STR("two"), 0, 0)->status, NOD_OK);
    assert_str(suite_get("grant", "k")->reply.value, "two");
    assert_int_equal(suite_del("grant", "k")->status, NOD_OK);
    assert_int_equal(suite_get("grant", "k")->status, NOD_E_NOT_FOUND);
}

static void a_small_record_is_replaced_only_over_the_version_that_was_read(void **state)
{
    (void)state;

    assert_int_equal(suite_put("k", "a", STR("0"), 77, 0)->status, NOD_E_STALE); /* none is there */
    uint64_t first = suite_put("k", "a", STR("1"), 0, 0)->reply.version;
    struct got *second = suite_put("k", "a", STR("2"), first, 0);
    assert_int_equal(second->status, NOD_OK);
    assert_true(second->reply.version > first);
    assert_int_equal(suite_put("k", "a", STR("3"), first, 0)->status, NOD_E_STALE);
    assert_str(suite_get("k", "a")->reply.value, "2");
    suite_del("k", "a");
    assert_int_equal(suite_put("k", "a", STR("4"), second->reply.version, 0)->status, NOD_E_STALE);
    assert_true(suite_put("k", "a", STR("5"), 0, 0)->reply.version > second->reply.version);
}

static void line24_of_two_that_saw_no_small_record_one_makes_it(void **state)
{
    (void)state;

    struct got *made = suite_put("k", "a", STR("1"), STORE_NEW, SUITE_SHORT_MS);
    assert_int_equal(made->status, NOD_OK);
    uint64_t version = made->reply.version;
    assert_int_equal(suite_put("k", "a", STR("2"), STORE_NEW, 0)->status, NOD_E_STALE);
    assert_str(suite_get("k", "a")->reply.value, "1");
    assert_int_equal(suite_put("k", "a", STR("3"), version, SUITE_SHORT_MS)->status, NOD_OK);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS + 1);
    assert_int_equal(suite_put("k", "a", STR("4"), STORE_NEW, 0)->status, NOD_OK);
    suite_del("k", "a");
    assert_int_equal(suite_put("k", "a", STR("5"), STORE_NEW, 0)->status, NOD_OK);
}

static void a_small_record_goes_when_its_time_is_over(void **state)
{
    (void)state;

    uint64_t version = suite_put("k", "a", STR("1"), 0, SUITE_SHORT_MS)->reply.version;
    suite_put("k", "b", STR("1"), 0, SUITE_LONG_MS);
    assert_int_equal(suite_get("k", "a")->status, NOD_OK);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS + 1);
    assert_int_equal(suite_get("k", "a")->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_del("k", "a")->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_put("k", "a", STR("2"), version, 0)->status, NOD_E_STALE);
    assert_int_equal(suite_get("k", "b")->status, NOD_OK);
}

/* --- bytes --- */

static const char odd[] = "\0\x01\xff\xfe\"\\\n caf\xc3\xa9 \xe6\x97\xa5\0";

static void any_bytes_come_back_as_they_were(void **state)
{
    struct str bytes = str_n(odd, sizeof(odd));
    struct id call = suite_id(), ask_id = suite_id(), token = suite_id(), claim = suite_id();
    struct call_record open = { .id = id_str(&call),
                                .principal = bytes,
                                .scope = bytes,
                                .target = bytes,
                                .args = bytes,
                                .caller = bytes,
                                .version = CALL_VERSION_LEAST + 3 };
    struct ask_record ask = { .id = id_str(&ask_id),
                              .call_id = id_str(&call),
                              .key = bytes,
                              .principal = bytes,
                              .scope = bytes,
                              .target = bytes,
                              .message = bytes,
                              .detail = bytes,
                              .ttl_ms = SUITE_LONG_MS };
    struct entry entry = { .class = ENTRY_STEP, .key = bytes, .content = bytes };
    struct got *got = got_new();
    (void)state;

    suite_store->ops->park(suite_store,
                           &(struct park_spec){ .token = id_str(&token),
                                                .open = &open,
                                                .node = STR("node-a"),
                                                .call_id = id_str(&call),
                                                .epoch = 1,
                                                .entries = &entry,
                                                .entry_count = 1,
                                                .asks = &ask,
                                                .ask_count = 1,
                                                .handed = true },
                           got_done, got);
    assert_int_equal(got_wait(got)->status, NOD_OK);
    got = got_new();
    suite_store->ops->claim(
        suite_store,
        &(struct claim_spec){ .token = id_str(&claim),
                              .items = &(struct claim_item){ .ask_id = id_str(&ask_id),
                                                             .outcome = ASK_ACCEPTED,
                                                             .content = bytes },
                              .count = 1,
                              .by = bytes,
                              .take_for = STR("node-a") },
        got_done, got);
    got_wait(got);
    assert_true(got->reply.taken);
    const struct call_record *back = got->reply.call;
    assert_true(str_eq(back->principal, bytes) && str_eq(back->scope, bytes));
    assert_true(str_eq(back->target, bytes) && str_eq(back->args, bytes));
    assert_true(str_eq(back->caller, bytes));
    assert_true(back->version == open.version);
    assert_int_equal(back->uri.len, 0);
    assert_int_equal(back->entry_count, 2);
    assert_true(str_eq(back->entries[0].key, bytes) && str_eq(back->entries[0].content, bytes));
    assert_true(str_eq(back->entries[1].key, bytes) && str_eq(back->entries[1].content, bytes));
    const struct ask_record *asked = suite_load_ask(&ask_id)->reply.ask;
    assert_true(str_eq(asked->message, bytes) && str_eq(asked->detail, bytes));
    assert_true(str_eq(asked->content, bytes) && str_eq(asked->by, bytes));
    assert_int_equal(asked->url.len, 0);

    assert_int_equal(suite_put("k", "odd", bytes, 0, 0)->status, NOD_OK);
    assert_true(str_eq(suite_get("k", "odd")->reply.value, bytes));
    assert_int_equal(suite_put("k", "", STR_NONE, 0, 0)->status, NOD_OK);
    assert_int_equal(suite_get("k", "")->status, NOD_OK);
    assert_int_equal(suite_get("k", "")->reply.value.len, 0);
}

enum { BIG = 256 * 1024 };

static void a_large_journal_and_a_large_result_come_back_whole(void **state)
{
    char *big = malloc(BIG + 1);
    struct parking parking = { .call = suite_id(), .open = true };
    (void)state;

    assert_non_null(big);
    for (size_t i = 0; i < BIG; i++)
        big[i] = (char)('a' + i * i % 26);
    big[BIG] = '\0';
    for (int i = 0; i < 4; i++) {
        struct entry entry = { .class = ENTRY_STEP,
                               .key = str_n(&"0123"[i], 1),
                               .content = str_n(big, BIG) };
        parking.entries = &entry;
        parking.entry_count = 1;
        assert_int_equal(suite_append(&parking)->status, NOD_OK);
        parking.open = false;
    }
    const struct call_record *call = suite_load_call(&parking.call)->reply.call;
    assert_int_equal(call->entry_count, 4);
    for (int i = 0; i < 4; i++)
        assert_true(str_eq(call->entries[i].content, str_n(big, BIG)));
    assert_int_equal(suite_finish(NULL, &parking.call, 1, big)->status, NOD_OK);
    assert_str(suite_load_call(&parking.call)->reply.call->result, big);
    free(big);
}

static void many_entries_in_one_transition_keep_their_order(void **state)
{
    struct entry entries[64] = { 0 };
    struct parking parking = {
        .call = suite_id(), .open = true, .entries = entries, .entry_count = 64
    };
    (void)state;

    for (int i = 0; i < 64; i++)
        entries[i] = (struct entry){ .class = ENTRY_NOW, .key = STR("k"), .number = i };
    assert_int_equal(suite_park(&parking)->status, NOD_OK);
    const struct call_record *call = suite_load_call(&parking.call)->reply.call;
    assert_int_equal(call->entry_count, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(call->entries[i].number, i);
}

/* --- keeping --- */

static void a_call_that_has_ended_is_kept_for_its_time_and_no_longer(void **state)
{
    struct question short_ask = { .key = "#1" }, long_ask = { .key = "#1" };
    struct parking brief = {
        .call = suite_id(), .open = true, .questions = &short_ask, .count = 1
    };
    struct parking kept = { .call = suite_id(),
                            .open = true,
                            .questions = &long_ask,
                            .count = 1,
                            .keep_for_ms = 100 * SUITE_LONG_MS };
    (void)state;

    suite_rig->keep_ms = SUITE_SHORT_MS;
    suite_reopen();
    suite_park(&brief);
    suite_park(&kept);
    suite_finish(NULL, &brief.call, 1, "{}");
    suite_finish(NULL, &kept.call, 1, "{}");
    assert_int_equal(suite_load_call(&brief.call)->status, NOD_OK);
    suite_rig->advance(suite_rig, SUITE_SHORT_MS + 1);
    /* A store removes in slices, in passing. */
    for (int i = 0; i < 3; i++)
        pass_by();
    if (suite_load_call(&brief.call)->status == NOD_OK) {
        suite_rig->advance(suite_rig, 10000);
        for (int i = 0; i < 3; i++)
            pass_by();
    }
    assert_int_equal(suite_load_call(&brief.call)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_load_ask(&short_ask.id)->status, NOD_E_NOT_FOUND);
    assert_int_equal(suite_load_call(&kept.call)->status, NOD_OK);
    assert_int_equal(suite_load_ask(&long_ask.id)->status, NOD_OK);
}

static void a_sensitive_answer_is_erased_when_its_call_ends(void **state)
{
    struct question questions[] = { { .key = "pin", .sensitive = true }, { .key = "name" } };
    struct parking parking = {
        .call = suite_id(), .open = true, .questions = questions, .count = 2
    };
    (void)state;

    suite_park(&parking);
    suite_claim(&questions[0].id, ASK_ACCEPTED, "{\"pin\":\"1234\"}", "ada", "");
    struct got *got = suite_claim(&questions[1].id, ASK_ACCEPTED, "{\"n\":1}", "ada", "node-a");
    assert_str(got->reply.call->entries[0].content, "{\"pin\":\"1234\"}"); /* it is needed still */
    suite_finish(NULL, &parking.call, 2, "{}");
    const struct ask_record *pin = suite_load_ask(&questions[0].id)->reply.ask;
    assert_int_equal(pin->state, ASK_ACCEPTED);
    assert_int_equal(pin->content.len, 0);
    assert_str(pin->by, "ada");
    const struct call_record *call = suite_load_call(&parking.call)->reply.call;
    assert_int_equal(call->entry_count, 2);
    assert_int_equal(call->entries[0].content.len, 0);
    assert_int_equal(call->entries[0].state, ASK_ACCEPTED);
    assert_str(call->entries[1].content, "{\"n\":1}");
    assert_str(suite_load_ask(&questions[1].id)->reply.ask->content, "{\"n\":1}");
}

/* A client brought the journal of its call from a node that does not share this store. */
static void a_sensitive_answer_that_came_with_the_journal_is_erased_too(void **state)
{
    struct question question = { .key = "next" };
    struct entry entries[] = { { .class = ENTRY_ASK,
                                 .key = STR("pin"),
                                 .state = ASK_ACCEPTED,
                                 .content = STR("{\"pin\":\"1234\"}"),
                                 .sensitive = true },
                               { .class = ENTRY_STEP, .key = STR("s"), .content = STR("{}") } };
    struct parking parking = { .call = suite_id(),
                               .open = true,
                               .entries = entries,
                               .entry_count = 2,
                               .questions = &question,
                               .count = 1 };
    (void)state;

    suite_park(&parking);
    assert_str(suite_load_call(&parking.call)->reply.call->entries[0].content,
               "{\"pin\":\"1234\"}");
    suite_cancel(NULL, &parking.call, "enough");
    const struct call_record *call = suite_load_call(&parking.call)->reply.call;
    assert_int_equal(call->entry_count, 2);
    assert_true(call->entries[0].sensitive);
    assert_int_equal(call->entries[0].content.len, 0);
    assert_str(call->entries[1].content, "{}");
}

static void everything_is_there_when_it_is_opened_again(void **state)
{
    struct question waiting = { .key = "#1" }, answered = { .key = "#1" };
    struct parking running = { .call = suite_id(), .open = true };
    struct parking ready = { .call = suite_id(), .open = true };
    struct id token = suite_id(), claim = suite_id();
    (void)state;

    if (!suite_rig->durable)
        return;
    struct id first = suite_ask(&waiting), second = suite_ask(&answered);
    suite_claim_token(&claim, &answered.id, ASK_ACCEPTED, "{\"n\":1}", "ada", "node-a");
    suite_finish(&token, &second, 2, "{\"r\":2}");
    suite_append(&running);
    suite_park(&ready);
    uint64_t version = suite_put("grant", "k", STR("v"), 0, SUITE_LONG_MS)->reply.version;
    suite_reopen();

    assert_int_equal(suite_load_call(&first)->reply.call->state, CALL_STORED_WAITING);
    assert_int_equal(suite_load_ask(&waiting.id)->reply.ask->state, ASK_PENDING);
    assert_str(suite_load_call(&second)->reply.call->result, "{\"r\":2}");
    assert_int_equal(suite_load_call(&second)->reply.call->entry_count, 1);
    assert_str(suite_load_ask(&answered.id)->reply.ask->content, "{\"n\":1}");
    assert_int_equal(suite_load_call(&running.call)->reply.call->state, CALL_STORED_RUNNING);
    assert_int_equal(suite_load_call(&ready.call)->reply.call->state, CALL_STORED_RUNNABLE);
    assert_int_equal(suite_get("grant", "k")->reply.version, version);
    assert_true(suite_put("grant", "k", STR("w"), version, 0)->reply.version > version);
    /* Tokens too: what was sent before the end is known after it. */
    assert_int_equal(suite_finish(&token, &second, 2, "{\"r\":2}")->status, NOD_OK);
    assert_true(suite_claim_token(&claim, &answered.id, ASK_ACCEPTED, "{\"n\":1}", "ada", "node-a")
                    ->reply.won);
    assert_true(suite_claim(&waiting.id, ASK_ACCEPTED, "{}", "ada", "node-a")->reply.taken);
}

/* --- many --- */

enum { MANY = 10000, AT_ONCE = 1000 };

static void ten_thousand_questions_are_all_answered_once(void **state)
{
    struct id *ids = malloc(2 * MANY * sizeof(*ids));
    struct got **got = malloc(MANY * sizeof(struct got *));
    (void)state;

    assert_true(ids && got);
    for (int i = 0; i < MANY; i++) {
        struct id token = suite_id();
        if (i >= AT_ONCE) /* on a machine with other work, too many would be too late */
            assert_int_equal(got_wait(got[i - AT_ONCE])->status, NOD_OK);
        ids[2 * i] = suite_id();
        ids[2 * i + 1] = suite_id();
        struct call_record open = { .id = id_str(&ids[2 * i]), .scope = STR("s") };
        struct ask_record ask = { .id = id_str(&ids[2 * i + 1]),
                                  .call_id = id_str(&ids[2 * i]),
                                  .key = STR("#1"),
                                  .message = STR("Go on?"),
                                  .ttl_ms = SUITE_LONG_MS };
        got[i] = got_new();
        suite_store->ops->park(suite_store,
                               &(struct park_spec){ .token = id_str(&token),
                                                    .open = &open,
                                                    .node = STR("node-a"),
                                                    .call_id = id_str(&ids[2 * i]),
                                                    .epoch = 1,
                                                    .asks = &ask,
                                                    .ask_count = 1,
                                                    .handed = true },
                               got_done, got[i]);
    }
    for (int i = MANY - AT_ONCE; i < MANY; i++)
        assert_int_equal(got_wait(got[i])->status, NOD_OK);
    for (int i = 0; i < MANY; i++) {
        struct id token = suite_id();
        if (i >= AT_ONCE)
            assert_int_equal(got_wait(got[i - AT_ONCE])->status, NOD_OK);
        got[i] = got_new();
        suite_store->ops->claim(
            suite_store,
            &(struct claim_spec){ .token = id_str(&token),
                                  .items = &(struct claim_item){ .ask_id = id_str(&ids[2 * i + 1]),
                                                                 .outcome = ASK_ACCEPTED,
                                                                 .content = STR("{}") },
                                  .count = 1,
                                  .by = STR("ada"),
                                  .take_for = STR("node-a") },
            got_done, got[i]);
    }
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(got_wait(got[i])->status, NOD_OK);
        assert_true(got[i]->reply.won && got[i]->reply.taken);
    }
    assert_int_equal(suite_load_call(&ids[0])->reply.call->epoch, 2);
    free(ids);
    free(got);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, suite_setup, suite_teardown)

const struct CMUnitTest suite_records[] = {
    TEST(runnable_calls_are_listed_up_to_a_limit),
    TEST(a_call_that_nobody_comes_back_for_is_not_listed_and_can_be_taken),
    TEST(an_append_without_entries_opens_a_call),
    TEST(asks_that_are_due_are_listed_up_to_a_limit),
    TEST(the_asks_of_a_call_are_listed_in_order),
    TEST(a_call_that_waits_is_loaded_with_its_asks),
    TEST(what_waits_is_listed_however_much_came_before_and_however_large),
    TEST(a_small_record_is_put_read_and_removed),
    TEST(a_small_record_is_replaced_only_over_the_version_that_was_read),
    TEST(line24_of_two_that_saw_no_small_record_one_makes_it),
    TEST(a_small_record_goes_when_its_time_is_over),
    TEST(any_bytes_come_back_as_they_were),
    TEST(a_large_journal_and_a_large_result_come_back_whole),
    TEST(many_entries_in_one_transition_keep_their_order),
    TEST(a_call_that_has_ended_is_kept_for_its_time_and_no_longer),
    TEST(a_sensitive_answer_is_erased_when_its_call_ends),
    TEST(a_sensitive_answer_that_came_with_the_journal_is_erased_too),
    TEST(everything_is_there_when_it_is_opened_again),
    TEST(ten_thousand_questions_are_all_answered_once),
};
const size_t suite_records_count = sizeof(suite_records) / sizeof(suite_records[0]);
