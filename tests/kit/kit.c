/* tests/kit/kit: the test kit itself: what it finds, and what it says. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <nod/test.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- what is said on stderr --- */

static char said[8192];
static int real_stderr = -1, pipe_ends[2];

static void listen_to_stderr(void)
{
    assert_int_equal(pipe(pipe_ends), 0);
    fflush(stderr);
    real_stderr = dup(2);
    dup2(pipe_ends[1], 2);
    close(pipe_ends[1]);
}

static const char *what_was_said(void)
{
    fflush(stderr);
    dup2(real_stderr, 2);
    close(real_stderr);
    ssize_t len = read(pipe_ends[0], said, sizeof(said) - 1);
    close(pipe_ends[0]);
    said[len > 0 ? len : 0] = '\0';
    return said;
}

/* --- handlers --- */

static int effects;
static char last_key[128];

static nod_status pay(nod_step_run *step, void *arg)
{
    nod_call *call = nod_step_call(step);
    nod_json *result = nod_object(call);

    (void)arg;
    if (strcmp(last_key, nod_step_key(step)) != 0) /* the bank knows what it has done */
        effects++;
    snprintf(last_key, sizeof(last_key), "%s", nod_step_key(step));
    nod_set_int(call, result, "receipt", 7);
    nod_step_result(step, result);
    return NOD_OK;
}

static nod_status buy(nod_call *call)
{
    const nod_json *receipt;
    nod_answer size;
    bool yes;

    NOD_TRY(nod_elicit(call, &size, .key = "size", .message = "Which size?", .attempts = 2,
                       .form = NOD_FORM(NOD_INT("size", .required = true))));
    if (size.action != NOD_ACCEPT)
        return nod_reply_textf(call, "no size: %d", (int)size.action);
    NOD_TRY(nod_confirm(
        call, &yes, .key = "sure",
        .message = nod_fmt(call, "Buy size %lld?", (long long)nod_get_int(size.content, "size"))));
    if (!yes)
        return nod_reply_error(call, "nothing was bought"), NOD_E_FAILED;
    NOD_TRY(nod_step(call, "pay", pay, NULL, &receipt));
    nod_json *bought = nod_object(call);
    nod_set_int(call, bought, "receipt", nod_get_int(receipt, "receipt"));
    nod_set_int(call, bought, "size", nod_get_int(size.content, "size"));
    return nod_reply_structured(call, bought);
}

static nod_status pay_once(nod_call *call)
{
    NOD_TRY(nod_step(call, "first", pay, NULL, NULL));
    NOD_TRY(nod_step(call, "once", pay, NULL, NULL, .at_most_once = true));
    return nod_reply_text(call, "paid");
}

static nod_status visit(nod_call *call)
{
    static int visits;

    NOD_TRY(nod_step(call, "count", pay, NULL, NULL));
    return nod_reply_textf(call, "visit %d", ++visits);
}

static nod_status open_page(nod_call *call)
{
    nod_answer answer;

    if (!nod_supports(call, NOD_MODE_URL))
        return nod_reply_text(call, "no page");
    NOD_TRY(nod_elicit_url(call, &answer, .message = "Sign in", .url = "https://example.org/{id}",
                           .wait_done = true));
    return nod_reply_text(call, answer.action == NOD_ACCEPT ? "signed in" : "not signed in");
}

static nod_status use_key(nod_step_run *step, void *arg)
{
    nod_step_result(step, nod_json_int(nod_step_call(step), (int64_t)((nod_bytes *)arg)->len));
    return NOD_OK;
}

static nod_status with_key(nod_call *call)
{
    const nod_json *len;
    nod_bytes key;

    NOD_TRY(nod_secret(call, &key, .name = "key", .message = "The key, please."));
    NOD_TRY(nod_step(call, "use", use_key, &key, &len));
    return nod_reply_textf(call, "%d bytes", (int)nod_as_int(len));
}

static nod_status stars(nod_call *call)
{
    const char *token;

    NOD_TRY(nod_credential(call, &token, "github", .scopes = "repo"));
    return nod_reply_textf(call, "with %s", token);
}

static nod_status stars_with_key(nod_call *call)
{
    const nod_json *len;
    const char *token;
    nod_bytes key;

    NOD_TRY(nod_credential(call, &token, "github"));
    NOD_TRY(nod_secret(call, &key, .name = "key", .message = "The key, please."));
    NOD_TRY(nod_step(call, "use", use_key, &key, &len));
    return nod_reply_textf(call, "%s, %d bytes", token, (int)nod_as_int(len));
}

static nod_status fill_page(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit_page(call, &answer, .message = "Who is it?",
                            .form = NOD_FORM(NOD_TEXT("name", .required = true))));
    return nod_reply_text(call, answer.action == NOD_ACCEPT ? nod_get_str(answer.content, "name")
                                                            : "nobody");
}

static const nod_tool tools[] = {
    { .name = "with_key", .handler = with_key },
    { .name = "stars", .handler = stars },
    { .name = "stars_with_key", .handler = stars_with_key },
    { .name = "buy", .handler = buy },
    { .name = "buy_blocking", .handler = buy, .blocking = true },
    { .name = "pay_once", .handler = pay_once },
    { .name = "visit", .handler = visit },
    { .name = "open_page", .handler = open_page },
    { .name = "fill_page", .handler = fill_page },
    { .name = "guarded", .handler = pay_once, .requires_confirmation = true },
};

/* --- what it does --- */

static void a_call_is_answered_from_the_script(void **state)
{
    nod_test *t = nod_test_new(tools);

    (void)state;
    effects = 0;
    nod_test_accept(t, "sure", NULL); /* by their keys, in whatever order */
    nod_test_accept(t, "size", "{\"size\":42}");
    assert_int_equal(nod_test_call(t, "buy", NULL), NOD_OK);
    assert_true(NOD_EXPECT_JSON(t, "{\"size\":42,\"receipt\":7}"));
    assert_int_equal(nod_get_int(nod_test_structured(t), "size"), 42);
    assert_true(NOD_EXPECT_STEPS(t, 1));
    assert_true(NOD_EXPECT_QUESTIONS(t, 2));
    assert_string_equal(nod_test_question(t, 1), "Buy size 42?");
    assert_string_equal(nod_test_question_key(t, 0), "size");
    assert_string_equal(nod_test_question(t, 2), "");
    assert_int_equal(effects, 1);
    assert_int_equal(nod_test_end(t), 0);
}

static void no_dismissed_and_too_late_are_told_apart(void **state)
{
    nod_test *t = nod_test_new(tools);

    (void)state;
    nod_test_decline(t, NULL);
    nod_test_call(t, "buy", "{}");
    NOD_EXPECT_TEXT(t, "no size: 2");
    nod_test_cancel(t, NULL);
    nod_test_call(t, "buy", "{}");
    NOD_EXPECT_TEXT(t, "no size: 3");
    nod_test_expire(t, NULL);
    assert_int_equal(nod_test_call(t, "buy", "{}"), NOD_E_TIMEOUT);
    NOD_EXPECT_CODE(t, "ELICITATION_TIMEOUT");
    NOD_EXPECT_MATCH(t, "Nobody answered");
    nod_test_accept(t, NULL, "{\"size\":1}"); /* without a key: in their order */
    nod_test_decline(t, NULL);
    nod_test_call(t, "buy", "{}");
    NOD_EXPECT(t, nod_test_is_error(t) && nod_test_status(t) == NOD_OK);
    NOD_EXPECT_TEXT(t, "nothing was bought");
    NOD_EXPECT_STEPS(t, 0);
    assert_int_equal(nod_test_end(t), 0);
}

static void content_that_does_not_fit_is_refused_and_asked_for_again(void **state)
{
    nod_test *t = nod_test_new(tools);

    (void)state;
    nod_test_accept(t, "size", "{\"size\":\"large\"}");
    nod_test_accept(t, "size", "{\"size\":3}");
    nod_test_accept(t, "sure", NULL);
    nod_test_call(t, "buy", "{}");
    NOD_EXPECT_JSON(t, "{\"receipt\":7,\"size\":3}");
    assert_int_equal(nod_test_refused(t), 1);
    NOD_EXPECT_QUESTIONS(t, 2);
    nod_test_accept(t, "size", "{}");
    nod_test_accept(t, "size", "{\"size\":1.5}");
    nod_test_call(t, "buy", "{}");
    NOD_EXPECT_CODE(t, "INVALID_INPUT");
    assert_int_equal(nod_test_refused(t), 2);
    assert_int_equal(nod_test_end(t), 0);
}

static void a_secret_is_given_to_the_handler_and_can_be_deleted(void **state)
{
    nod_test *t = nod_test_new(tools);

    (void)state;
    nod_test_secret(t, "key", "sk_1");
    nod_test_call(t, "with_key", NULL);
    NOD_EXPECT_TEXT(t, "4 bytes");
    nod_test_secret(t, "key", "sk_other");
    nod_test_crash_after_step(t, 1);
    nod_test_call(t, "with_key", NULL);
    NOD_EXPECT_TEXT(t, "8 bytes");
    assert_int_equal(nod_test_step_runs(t, "use"), 1);
    nod_test_secret(t, "key", NULL);
    nod_test_decline(t, NULL);
    nod_test_call(t, "with_key", NULL);
    NOD_EXPECT_CODE(t, "SECRET_DECLINED");
    nod_test_accept(t, NULL, "{\"secret\":\"sk_given\"}");
    nod_test_call(t, "with_key", NULL);
    NOD_EXPECT_TEXT(t, "8 bytes");
    NOD_EXPECT_QUESTIONS(t, 1);
    assert_string_equal(nod_test_question(t, 0), "The key, please.");
    nod_test_call(t, "with_key", NULL); /* it is kept */
    NOD_EXPECT_QUESTIONS(t, 0);
    NOD_EXPECT_TEXT(t, "8 bytes");
    assert_int_equal(nod_test_end(t), 0);
}

static void an_account_is_there_is_connected_or_is_not(void **state)
{
    nod_test *t = nod_test_new(tools);

    (void)state;
    nod_test_credential(t, "github", "gho_1");
    nod_test_call(t, "stars", NULL);
    NOD_EXPECT_TEXT(t, "with gho_1");
    NOD_EXPECT_QUESTIONS(t, 0);
    nod_test_credential(t, "github", NULL); /* it was disconnected */
    nod_test_decline(t, NULL);
    nod_test_call(t, "stars", NULL);
    NOD_EXPECT_MATCH(t, "No account at github was connected");
    nod_test_expire(t, NULL);
    nod_test_call(t, "stars", NULL);
    NOD_EXPECT_CODE(t, "ELICITATION_TIMEOUT");
    nod_test_accept(t, NULL, "{\"token\":\"gho_2\"}");
    nod_test_call(t, "stars", NULL);
    NOD_EXPECT_TEXT(t, "with gho_2");
    NOD_EXPECT_MATCH(t, "gho_2");
    assert_string_equal(nod_test_question(t, 0),
                        "Connect your account at github, which the tool stars uses.");
    assert_int_equal(nod_test_end(t), 0);
}

static void connects(nod_test *t, void *data)
{
    (void)data;
    nod_test_accept(t, NULL, "{\"token\":\"gho_3\"}");
    nod_test_accept(t, NULL, "{\"secret\":\"sk_3\"}");
    nod_test_call(t, "stars_with_key", NULL);
    NOD_EXPECT_TEXT(t, "gho_3, 4 bytes");
}

static void what_was_given_outlives_every_crash(void **state)
{
    nod_test *t = nod_test_new(tools);

    (void)state;
    assert_true(nod_test_every_crash(t, connects, NULL) > 8);
    assert_int_equal(nod_test_end(t), 0);
}

static void pages_and_clients_that_cannot_be_asked(void **state)
{
    nod_test *t = nod_test_new(tools);

    (void)state;
    nod_test_page_done(t, NULL);
    nod_test_call(t, "open_page", NULL);
    NOD_EXPECT_TEXT(t, "signed in");
    nod_test_accept(t, NULL, "{\"surname\":\"Lovelace\"}");
    nod_test_accept(t, NULL, "{\"name\":\"Ada\"}");
    nod_test_call(t, "fill_page", NULL);
    NOD_EXPECT_TEXT(t, "Ada");
    assert_int_equal(nod_test_refused(t), 1);
    nod_test_decline(t, NULL);
    nod_test_call(t, "fill_page", NULL);
    NOD_EXPECT_TEXT(t, "nobody");
    nod_test_cannot(t, NOD_MODE_URL);
    nod_test_call(t, "open_page", NULL);
    NOD_EXPECT_TEXT(t, "no page");
    nod_test_cannot(t, NOD_MODE_FORM);
    nod_test_call(t, "buy", NULL);
    NOD_EXPECT_CODE(t, "ELICITATION_NOT_SUPPORTED");
    assert_int_equal(nod_test_end(t), 0);
}

/* --- crashes --- */

static void a_crash_in_a_step_does_it_again_and_after_it_does_not(void **state)
{
    nod_test *t = nod_test_new(tools);

    (void)state;
    effects = 0;
    nod_test_crash_in_step(t, 1);
    nod_test_call(t, "pay_once", NULL);
    NOD_EXPECT_TEXT(t, "paid");
    assert_int_equal(nod_test_step_runs(t, "first"), 2);
    assert_int_equal(nod_test_step_runs(t, "once"), 1);
    assert_int_equal(effects, 2); /* with the same key: the bank has noticed */

    nod_test_crash_after_step(t, 1);
    nod_test_call(t, "pay_once", NULL);
    NOD_EXPECT_TEXT(t, "paid");
    assert_int_equal(nod_test_step_runs(t, "first"), 1);

    nod_test_crash_in_step(t, 2);
    nod_test_call(t, "pay_once", NULL);
    NOD_EXPECT_CODE(t, "OUTCOME_UNKNOWN");
    assert_int_equal(nod_test_step_runs(t, "once"), 1);
    NOD_EXPECT_STEPS(t, 2);
    assert_int_equal(nod_test_end(t), 0);
}

static void buys(nod_test *t, void *data)
{
    effects = 0;
    last_key[0] = '\0';
    nod_test_accept(t, "size", "{\"size\":42}");
    nod_test_accept(t, "sure", NULL);
    nod_test_call(t, data, NULL);
    NOD_EXPECT_JSON(t, "{\"size\":42,\"receipt\":7}");
    NOD_EXPECT_STEPS(t, 1);
    NOD_EXPECT_QUESTIONS(t, 2);
    NOD_EXPECT(t, effects == 1);
}

static void at_every_point_of_a_crash_the_end_is_the_same(void **state)
{
    nod_test *t = nod_test_new(tools);

    (void)state;
    /* Opened, asked, answered, asked, answered, paid, finished: before and after each. */
    assert_true(nod_test_every_crash(t, buys, (void *)"buy") >= 14);
    assert_true(nod_test_every_crash(t, buys, (void *)"buy_blocking") >= 14);
    assert_int_equal(nod_test_end(t), 0);
}

static nod_status allows(nod_hook_run *hook, void *data)
{
    bool yes;

    (void)data;
    NOD_TRY(nod_confirm(nod_hook_call(hook), &yes, .key = "sure", .message = "Allow it?"));
    return yes ? NOD_OK : nod_hook_fail(hook, NOD_E_REFUSED, NULL, "Not allowed.");
}

static int made;

static nod_server *make(void *data)
{
    nod_server *server = nod_server_new(.name = "own", .version = "1", .journal_entries = 3);

    (void)data;
    made++;
    assert_non_null(server);
    assert_int_equal(nod_tools(server, tools), NOD_OK);
    assert_int_equal(nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "gate", .fn = allows,
                              .name = "allows", .target = "pay*"),
                     NOD_OK);
    return server;
}

static void a_server_of_ones_own_has_its_options_and_hooks_and_is_made_again(void **state)
{
    nod_test *t = nod_test_create_with(make, NULL);

    (void)state;
    nod_test_accept(t, "nod.allows.sure", NULL);
    nod_test_crash_after_step(t, 1);
    nod_test_call(t, "pay_once", NULL);
    NOD_EXPECT_CODE(t, "LIMIT_REACHED"); /* three things, and it wants four */
    NOD_EXPECT_MATCH(t, "may learn at most 3 things");
    assert_int_equal(made, 2);
    nod_test_decline(t, "nod.gate");
    nod_test_call(t, "guarded", NULL);
    NOD_EXPECT_CODE(t, "CONFIRMATION_DECLINED");
    assert_int_equal(nod_test_end(t), 0);
}

/* --- what it finds --- */

static void what_does_not_hold_is_said_with_its_place(void **state)
{
    (void)state;
    listen_to_stderr();
    nod_test *t = nod_test_new(tools);
    nod_test_accept(t, "size", "{\"size\":42}");
    nod_test_decline(t, "sure");
    nod_test_accept(t, "other", NULL);
    nod_test_call(t, "buy", NULL);
    bool text = NOD_EXPECT_TEXT(t, "bought");
    bool json = NOD_EXPECT_JSON(t, "{}");
    bool code = NOD_EXPECT_CODE(t, "STALE");
    bool steps = NOD_EXPECT_STEPS(t, 1);
    bool holds = NOD_EXPECT(t, 1 > 2);
    nod_test_call(t, "no_such_tool", NULL);
    nod_test_call(t, "buy", "[]");
    nod_test_accept(t, NULL, "{size");
    nod_test_crash_in_step(t, 9);
    nod_test_decline(t, NULL);
    nod_test_call(t, "buy", NULL);
    int end = nod_test_end(t);
    const char *all = what_was_said();
    assert_false(text || json || code || steps || holds);
    assert_int_equal(end, 1);
    assert_non_null(strstr(all, "kit.c:"));
    assert_non_null(
        strstr(all, "expected the text \"bought\", got \"nothing was bought\" (isError)"));
    assert_non_null(strstr(all, "expected the structured result {}, but there was none (isError: "
                                "\"nothing was bought\")"));
    assert_non_null(strstr(all, "expected the code STALE, got isError"));
    assert_non_null(strstr(all, "expected 1 steps, got 0"));
    assert_non_null(strstr(all, "does not hold: 1 > 2"));
    assert_non_null(strstr(all, "there is no tool no_such_tool"));
    assert_non_null(strstr(all, "are not a JSON object: []"));
    assert_non_null(strstr(all, "is not JSON: {size"));
    assert_non_null(strstr(all, "buy did not come to step 9"));
    assert_non_null(strstr(all, "answer 3 (key 'other') for the call of buy was not used: it "
                                "asked 2 questions"));
    assert_non_null(strstr(all, "expectations failed"));
}

static void a_question_that_nobody_answers_ends_the_test_of_the_call(void **state)
{
    (void)state;
    listen_to_stderr();
    nod_test *t = nod_test_new(tools);
    nod_test_call(t, "buy", NULL);
    nod_test_decline(t, NULL);
    nod_test_call(t, "buy", NULL); /* the next call is not disturbed */
    bool next = NOD_EXPECT_TEXT(t, "no size: 2");
    nod_test_accept(t, "size", "{\"size\":\"large\"}");
    nod_test_call(t, "buy", NULL);
    int end = nod_test_end(t);
    const char *all = what_was_said();
    assert_true(next);
    assert_int_equal(end, 1);
    assert_non_null(strstr(all, "nobody answers the question \"Which size?\" (key 'size')"));
    assert_non_null(strstr(all, "; the last answer did not fit: [{\"path\":\"/size\""));
}

static void an_answer_is_for_the_next_call_only(void **state)
{
    (void)state;
    listen_to_stderr();
    nod_test *t = nod_test_new(tools);
    nod_test_decline(t, NULL);
    nod_test_accept(t, NULL, "{\"size\":1}"); /* one too many */
    nod_test_call(t, "buy", NULL);
    nod_test_cancel(t, NULL);
    nod_test_call(t, "buy", NULL); /* it gets its own, not what was left over */
    bool own = NOD_EXPECT_TEXT(t, "no size: 3");
    int end = nod_test_end(t);
    const char *all = what_was_said();
    assert_true(own);
    assert_int_equal(end, 1);
    assert_non_null(strstr(all, "answer 2 for the call of buy was not used: it asked 1 question, "
                                "and the answer is not kept for the next call"));
    assert_non_null(strstr(all, "1 expectation failed"));
}

static void answers_without_a_call_are_told_at_the_end(void **state)
{
    (void)state;
    listen_to_stderr();
    nod_test *t = nod_test_new(tools);
    nod_test_decline(t, "size");
    int end = nod_test_end(t);
    const char *all = what_was_said();
    assert_int_equal(end, 1);
    assert_non_null(strstr(all, "answer 1 (key 'size') was not used: no call came after it"));
}

static void fails_unseen(nod_test *t, void *data)
{
    (void)data;
    nod_test_call(t, "visit", NULL);
}

static void a_failure_that_nobody_looks_at_fails_the_test(void **state)
{
    static const char *const seen[] = { "visit", "buy" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        listen_to_stderr();
        nod_test *t = nod_test_new(tools);
        if (i == 2) {
            nod_test_every_crash(t, fails_unseen, NULL);
        } else {
            nod_test_accept(t, "size", "{\"size\":42}");
            nod_test_decline(t, "sure");
            nod_test_call(t, i ? "buy" : "visit", NULL); /* a failure of nod's, or an isError */
        }
        NOD_EXPECT_STEPS(t, i == 1 ? 0 : 1); /* says nothing of how it ended */
        nod_test_end(t);
        const char *all = what_was_said();
        char start[64];
        snprintf(start, sizeof(start),
                 "the call of %s failed, and nobody looked: ", seen[i == 1 ? 1 : 0]);
        assert_non_null(strstr(all, start));
        assert_non_null(strstr(all, i == 1 ? "isError: \"nothing was bought\". If it is right, say "
                                             "NOD_EXPECT_TEXT(t, ...)"
                                           : "NOT_DETERMINISTIC: \""));
        if (i != 1)
            assert_non_null(strstr(all, "If it is right, say NOD_EXPECT_CODE(t, "
                                        "\"NOT_DETERMINISTIC\")"));
    }
}

static void every_run_is_checked(void **state)
{
    nod_test *t = nod_test_new(tools);

    (void)state;
    nod_test_call(t, "visit", NULL);
    assert_true(NOD_EXPECT_CODE(t, "NOT_DETERMINISTIC"));
    assert_int_equal(nod_test_end(t), 0);
}

static nod_status careless(nod_step_run *step, void *arg)
{
    (void)step, (void)arg;
    effects++;
    return effects > 1 ? NOD_E_FAILED : NOD_OK; /* it does not expect to be done again */
}

static nod_status careless_tool(nod_call *call)
{
    NOD_TRY(nod_step(call, "careless", careless, NULL, NULL));
    return nod_reply_text(call, "done");
}

static void once(nod_test *t, void *data)
{
    (void)data;
    effects = 0;
    nod_test_call(t, "careless", NULL);
    NOD_EXPECT_TEXT(t, "done");
}

static void a_step_that_cannot_be_done_again_is_found(void **state)
{
    static const nod_tool tool[] = { { .name = "careless", .handler = careless_tool } };

    (void)state;
    listen_to_stderr();
    nod_test *t = nod_test_new(tool);
    size_t crashes = nod_test_every_crash(t, once, NULL);
    int end = nod_test_end(t);
    const char *all = what_was_said();
    assert_int_equal(end, 1);
    assert_true(crashes >= 6);
    assert_non_null(strstr(all, "with a crash before operation 2 of the store"));
}

/* --- two people --- */

static nod_status who_and_who(nod_call *call)
{
    nod_bytes secret;
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = "May they?"));
    NOD_TRY(nod_secret(call, &secret, .name = "archive", .message = "The key, please."));
    return nod_reply_textf(call, "%s, %s by %s, %s", nod_principal(call),
                           approval.approved ? "approved" : "refused", approval.by, secret.text);
}

static const nod_tool two_people[] = { { .name = "who", .handler = who_and_who } };

static void two_people_call_and_answer_and_each_has_what_they_gave(void **state)
{
    nod_test *t = nod_test_new(two_people);

    (void)state;
    nod_test_secret(t, "archive", "of the tester");
    nod_test_accept(t, NULL, NULL);
    nod_test_call(t, "who", NULL);
    NOD_EXPECT_TEXT(t, "tester, approved by tester, of the tester");

    nod_test_as(t, "ada");
    nod_test_by(t, "bob");
    nod_test_accept(t, NULL, NULL);
    nod_test_by(t, NULL); /* she gives the key herself */
    nod_test_accept(t, NULL, "{\"secret\":\"of ada\"}");
    nod_test_call(t, "who", NULL);
    NOD_EXPECT_TEXT(t, "ada, approved by bob, of ada");

    nod_test_as(t, "bob");
    nod_test_secret(t, "archive", "of bob");
    nod_test_by(t, "ada");
    nod_test_decline(t, NULL);
    nod_test_call(t, "who", NULL);
    NOD_EXPECT_TEXT(t, "bob, refused by ada, of bob");
    assert_int_equal(nod_test_end(t), 0);
}

static void a_page_is_answered_by_nobody_else(void **state)
{
    nod_test *t = nod_test_new(two_people);

    (void)state;
    nod_test_accept(t, NULL, NULL);
    nod_test_by(t, "bob");
    nod_test_accept(t, NULL, "{\"secret\":\"x\"}");
    listen_to_stderr();
    nod_test_call(t, "who", NULL);
    int end = nod_test_end(t);
    const char *all = what_was_said();
    assert_int_equal(end, 1);
    assert_non_null(strstr(all, "a page is for the person who was asked"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_people_call_and_answer_and_each_has_what_they_gave),
        cmocka_unit_test(a_page_is_answered_by_nobody_else),
        cmocka_unit_test(a_call_is_answered_from_the_script),
        cmocka_unit_test(no_dismissed_and_too_late_are_told_apart),
        cmocka_unit_test(content_that_does_not_fit_is_refused_and_asked_for_again),
        cmocka_unit_test(a_secret_is_given_to_the_handler_and_can_be_deleted),
        cmocka_unit_test(an_account_is_there_is_connected_or_is_not),
        cmocka_unit_test(what_was_given_outlives_every_crash),
        cmocka_unit_test(pages_and_clients_that_cannot_be_asked),
        cmocka_unit_test(a_crash_in_a_step_does_it_again_and_after_it_does_not),
        cmocka_unit_test(at_every_point_of_a_crash_the_end_is_the_same),
        cmocka_unit_test(a_server_of_ones_own_has_its_options_and_hooks_and_is_made_again),
        cmocka_unit_test(what_does_not_hold_is_said_with_its_place),
        cmocka_unit_test(a_question_that_nobody_answers_ends_the_test_of_the_call),
        cmocka_unit_test(an_answer_is_for_the_next_call_only),
        cmocka_unit_test(answers_without_a_call_are_told_at_the_end),
        cmocka_unit_test(a_failure_that_nobody_looks_at_fails_the_test),
        cmocka_unit_test(every_run_is_checked),
        cmocka_unit_test(a_step_that_cannot_be_done_again_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
