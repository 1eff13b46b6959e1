/* tests/unit/provider/loops: handlers that do the same for many things, and what may go wrong. */
#include "core/inside.h"
#include "handler_bench.h"
#include "../runner.h"

enum { ITEMS = 3 };

static int effects;

static nod_status charge(nod_step_run *step, void *arg)
{
    (void)step, (void)arg;
    effects++;
    return NOD_OK;
}

static nod_status fails(nod_step_run *step, void *arg)
{
    (void)step, (void)arg;
    effects++;
    return NOD_E_FAILED;
}

/* --- keys --- */

static nod_status steps_under_a_key_of_ours(nod_call *call)
{
    NOD_TRY(nod_step(call, "nod.guard.charge", charge, NULL, NULL));
    return nod_reply_text(call, "charged");
}

static void a_step_has_no_key_of_nods_own(void **state)
{
    (void)state;
    effects = 0;
    bench_call(steps_under_a_key_of_ours, "{}");
    expect_failure(NOD_E_USAGE, "keys that begin with 'nod.' are nod's own");
    assert_string_equal(b.code, "HANDLER_BUG");
    assert_int_equal(effects, 0);
}

static nod_status asks_otherwise_under_the_same_key(nod_call *call)
{
    nod_answer answer;
    nod_status status =
        nod_elicit_url(call, &answer, .key = "who", .message = "Sign in", .url = "https://a.test/");

    if (status == NOD_E_NOT_SUPPORTED)
        status = nod_elicit(call, &answer, .key = "who", .message = "Who are you?");
    NOD_TRY(status);
    return nod_reply_text(call, "done");
}

static void a_key_of_a_question_that_could_not_be_asked_is_used(void **state)
{
    (void)state;
    b.can = 1u << ASK_FORM;
    bench_call(asks_otherwise_under_the_same_key, "{}");
    expect_failure(NOD_E_USAGE, "uses the key 'who' for two questions in one run");
    assert_int_equal(b.ask_count, 0);
}

static nod_status charges_under_one_key(nod_call *call)
{
    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_step(call, "charge", charge, NULL, NULL));
    return nod_reply_text(call, "all charged");
}

static void a_step_in_a_loop_needs_a_key_for_each_turn(void **state)
{
    (void)state;
    effects = 0;
    bench_call(charges_under_one_key, "{}");
    expect_failure(NOD_E_USAGE, "uses the key 'charge' for two steps in one run");
    expect_failure(NOD_E_USAGE, "nod_key(call, \"charge-%d\", i)");
    assert_string_equal(b.code, "HANDLER_BUG");
    assert_int_equal(effects, 1);
}

static nod_status asks_under_one_key(nod_call *call)
{
    int yes_count = 0;

    for (int i = 0; i < ITEMS; i++) {
        bool yes;
        NOD_TRY(nod_confirm(call, &yes, .key = "sure", .message = "Sure?"));
        yes_count += yes;
    }
    return nod_reply_textf(call, "%d times yes", yes_count);
}

static void one_yes_does_not_count_three_times(void **state)
{
    (void)state;
    bench_call(asks_under_one_key, "{}");
    bench_answer(ASK_ACCEPTED, NULL);
    expect_failure(NOD_E_USAGE, "uses the key 'sure' for two questions in one run");
    assert_string_equal(b.code, "HANDLER_BUG");
}

static nod_status asks_another_under_one_key(nod_call *call)
{
    nod_answer answer;

    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_elicit(call, &answer, .key = "name", .message = nod_fmt(call, "Name %d?", i)));
    return nod_reply_text(call, "done");
}

static void another_question_under_the_key_is_told_as_the_same_mistake(void **state)
{
    (void)state;
    bench_call(asks_another_under_one_key, "{}");
    bench_answer(ASK_ACCEPTED, "{\"response\":\"Ada\"}");
    expect_failure(NOD_E_USAGE, "uses the key 'name' for two questions");
}

static nod_status wants_under_one_key(nod_call *call)
{
    nod_answer answers[ITEMS];

    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_want(call, &answers[i], .key = "name", .message = "Name?"));
    NOD_TRY(nod_await(call));
    return nod_reply_text(call, "done");
}

static nod_status wants_then_elicits(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_want(call, &answer, .key = "name", .message = "Name?"));
    NOD_TRY(nod_elicit(call, &answer, .key = "name", .message = "Name?"));
    NOD_TRY(nod_await(call));
    return nod_reply_text(call, "done");
}

static void a_round_with_a_key_twice_is_refused_before_anybody_is_asked(void **state)
{
    (void)state;
    bench_call(wants_under_one_key, "{}");
    expect_failure(NOD_E_USAGE, "uses the key 'name' for two questions");
    assert_int_equal(b.ask_count, 0);
    bench_call(wants_then_elicits, "{}");
    expect_failure(NOD_E_USAGE, "uses the key 'name' for two questions");
    assert_int_equal(b.ask_count, 0);
}

static nod_status goes_on_regardless(nod_call *call)
{
    for (int i = 0; i < ITEMS; i++)
        (void)!nod_step(call, "charge", charge, NULL, NULL);
    (void)!nod_step(call, "other", charge, NULL, NULL);
    return nod_reply_text(call, "done");
}

static void after_the_mistake_nothing_more_is_done(void **state)
{
    (void)state;
    effects = 0;
    bench_call(goes_on_regardless, "{}");
    expect_failure(NOD_E_USAGE, "'charge'");
    assert_int_equal(effects, 1);
}

static nod_status tries_again(nod_call *call)
{
    for (int i = 0; i < ITEMS; i++) {
        nod_status status = nod_step(call, "charge", fails, NULL, NULL);
        if (status != NOD_E_FAILED)
            return status;
    }
    return nod_reply_text(call, "in vain");
}

static void a_failed_step_is_tried_again_under_another_key(void **state)
{
    (void)state;
    effects = 0;
    bench_call(tries_again, "{}");
    expect_failure(NOD_E_USAGE, "'charge'");
    assert_int_equal(effects, 1);
}

static nod_status with_an_index(nod_call *call)
{
    nod_answer answers[ITEMS];
    int done = 0;

    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_want(call, &answers[i], .key = nod_key(call, "card-%d", i),
                         .message = nod_fmt(call, "Charge card %d?", i),
                         .form = NOD_FORM(NOD_BOOL("ok"))));
    NOD_TRY(nod_await(call));
    for (int i = 0; i < ITEMS; i++) {
        if (!nod_get_bool(answers[i].content, "ok"))
            continue;
        /* A question and its step may have the same key. */
        NOD_TRY(nod_step(call, nod_key(call, "card-%d", i), charge, NULL, NULL,
                         .at_most_once = i == 0));
        done++;
    }
    return nod_reply_textf(call, "%d charged", done);
}

static void keys_with_an_index_are_different_keys(void **state)
{
    (void)state;
    effects = 0;
    bench_call(with_an_index, "{}");
    assert_int_equal(b.ask_count, ITEMS);
    assert_string_equal(b.asks[2].key, "card-2");
    bench_answer_at(0, ASK_ACCEPTED, "{\"ok\":true}");
    bench_answer_at(1, ASK_ACCEPTED, "{\"ok\":false}");
    bench_answer_at(2, ASK_ACCEPTED, "{\"ok\":true}");
    bench_turn(false);
    expect_body(TEXT_BODY("2 charged"));
    assert_int_equal(effects, 2);
}

static void a_blocking_handler_and_the_replay_check_have_the_same_rule(void **state)
{
    (void)state;
    bench_teardown(NULL);
    bench_open(true);
    effects = 0;
    bench_call(with_an_index, "{}");
    for (size_t i = 0; i < ITEMS; i++)
        bench_answer_at(i, ASK_ACCEPTED, "{\"ok\":true}");
    bench_turn(false);
    expect_body(TEXT_BODY("3 charged"));
    assert_int_equal(effects, ITEMS);

    effects = 0;
    bench_call_as(charges_under_one_key, "{}", &(nod_tool){ .blocking = true });
    bench_turn(true);
    expect_failure(NOD_E_USAGE, "uses the key 'charge' for two steps");
    assert_int_equal(effects, 1);
}

static nod_status empty_key(nod_call *call)
{
    return nod_step(call, nod_key(call, "%s", ""), charge, NULL, NULL);
}

static void a_key_that_comes_out_empty_is_a_mistake(void **state)
{
    (void)state;
    bench_call(empty_key, "{}");
    expect_failure(NOD_E_USAGE, "an empty key");
}

static nod_status numbered(nod_call *call)
{
    nod_answer answer;

    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_elicit(call, &answer, .message = "Name?"));
    return nod_reply_text(call, "asked");
}

static void questions_without_a_key_are_numbered(void **state)
{
    (void)state;
    bench_call(numbered, "{}");
    for (int i = 0; i < ITEMS; i++)
        bench_answer(ASK_ACCEPTED, "{\"response\":\"Ada\"}");
    expect_body(TEXT_BODY("asked"));
    assert_int_equal(b.ask_count, ITEMS);
}

/* --- hooks --- */

static nod_status confirms_twice(nod_hook_run *hook, void *data)
{
    nod_call *call = nod_hook_call(hook);
    bool yes;

    (void)data;
    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_confirm(call, &yes, .message = "Sure?", .key = "sure"));
    return NOD_OK;
}

static nod_status echo(nod_call *call)
{
    return nod_reply_text(call, "done");
}

static void add_hook(const char *name, nod_hook_fn *fn)
{
    assert_int_equal(local_add_hook(b.local, engine_hooks(b.engine),
                                    &(struct nod_hook_opts){ .size = sizeof(struct nod_hook_opts),
                                                             .flow = NOD_FLOW_CALL,
                                                             .stage = "gate",
                                                             .fn = fn,
                                                             .name = name }),
                     NOD_OK);
}

static void a_hook_has_the_same_rule(void **state)
{
    (void)state;
    add_hook("sure", confirms_twice);
    bench_call(echo, "{}");
    bench_answer(ASK_ACCEPTED, NULL);
    expect_failure(NOD_E_USAGE, "A hook of the tool");
    expect_failure(NOD_E_USAGE, "uses the key 'sure' for two questions");
}

/* --- what a call may learn --- */

enum { MANY = 300 };

static nod_status charges_many(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "All?", .key = "all"));
    for (int i = 0; i < MANY; i++)
        NOD_TRY(nod_step(call, nod_key(call, "charge-%d", i), charge, NULL, NULL));
    return nod_reply_textf(call, "%d charged", MANY);
}

static void a_limit_that_is_hit_says_the_number_the_option_and_what_was_done(void **state)
{
    (void)state;
    effects = 0;
    bench_call(charges_many, "{}");
    bench_answer(ASK_ACCEPTED, NULL);
    expect_failure(NOD_E_LIMIT, "may learn at most 64 things");
    expect_failure(NOD_E_LIMIT, "it did 63 steps, the last of them 'charge-62', and got 1 answer.");
    expect_failure(NOD_E_LIMIT, "up to 4096, set .journal_entries of the tool or of the server, or "
                                "--journal-entries");
    assert_string_equal(b.code, "LIMIT_REACHED");
    assert_int_equal(effects, 63);
}

static void a_tool_may_learn_more(void **state)
{
    (void)state;
    effects = 0;
    bench_call_as(charges_many, "{}", &(nod_tool){ .journal_entries = MANY + 1 });
    bench_answer(ASK_ACCEPTED, NULL);
    expect_body(TEXT_BODY("300 charged"));
    assert_int_equal(effects, MANY);
}

static void a_server_may_let_all_its_tools_learn_more(void **state)
{
    (void)state;
    effects = 0;
    b.engine->opts.limits.journal_entries = MANY + 1;
    b.engine->opts.limits.journal_bytes = engine_journal_bytes_for(MANY + 1);
    bench_call(charges_many, "{}");
    bench_answer(ASK_ACCEPTED, NULL);
    expect_body(TEXT_BODY("300 charged"));
    bench_call_as(charges_many, "{}", &(nod_tool){ .journal_entries = 2 }); /* and one tool less */
    bench_answer(ASK_ACCEPTED, NULL);
    expect_failure(NOD_E_LIMIT, "may learn at most 2 things");
}

static void bounds_that_cannot_be_are_refused_at_registration(void **state)
{
    static const struct {
        size_t entries, bytes;
        nod_status status;
    } cases[] = { { 4096, 4194304, NOD_OK }, { 4097, 0, NOD_E_USAGE }, { 0, 4194305, NOD_E_USAGE },
                  { 0, 4095, NOD_E_USAGE },  { 0, 4096, NOD_OK },      { 1, 0, NOD_OK } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[] = { 't', (char)('0' + (int)i), '\0' };
        nod_tool tool = { .name = name,
                          .handler = echo,
                          .journal_entries = cases[i].entries,
                          .journal_bytes = cases[i].bytes };
        assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), cases[i].status);
    }
}

static nod_status learns_kibibytes(nod_call *call)
{
    nod_answer answer;

    for (int i = 0; i < ITEMS; i++)
        NOD_TRY(nod_elicit(call, &answer, .message = "Text?"));
    return nod_reply_text(call, "learned");
}

/* The bytes that a call may learn are those of its tool, also for who weighs an answer. */
static void the_bytes_of_a_tool_count_for_its_answers(void **state)
{
    static char content[6000];

    (void)state;
    memset(content, 'x', sizeof(content) - 1);
    memcpy(content, "{\"response\":\"", 13);
    memcpy(content + sizeof(content) - 3, "\"}", 2);
    engine_use_catalog(b.engine, b.catalog);
    bench_call_as(learns_kibibytes, "{}", &(nod_tool){ .journal_bytes = 8192 });
    bench_answer(ASK_ACCEPTED, content);
    bench_answer(ASK_ACCEPTED, content);
    expect_failure(NOD_E_INVALID, "Invalid elicitation result content");

    bench_call_as(learns_kibibytes, "{}", &(nod_tool){ .journal_bytes = 65536 });
    for (int i = 0; i < ITEMS; i++)
        bench_answer(ASK_ACCEPTED, content);
    expect_body(TEXT_BODY("learned"));
}

static nod_status wants_many(nod_call *call)
{
    nod_answer answers[70];

    for (int i = 0; i < nod_arg_int(call, "n"); i++)
        NOD_TRY(nod_want(call, &answers[i], .message = "Name?", .key = nod_key(call, "n-%d", i)));
    NOD_TRY(nod_await(call));
    return nod_reply_text(call, "all there");
}

static void a_round_has_an_end_that_is_known_before_anybody_is_asked(void **state)
{
    nod_tool tool = { .journal_entries = 100, .input_schema = "{\"type\":\"object\"}" };

    (void)state;
    bench_call_as(wants_many, "{\"n\":65}", &tool);
    expect_failure(NOD_E_LIMIT, "A round may have at most 64 questions, and nobody was asked");
    assert_int_equal(b.ask_count, 0);
    bench_call_as(wants_many, "{\"n\":64}", &tool);
    assert_int_equal(b.ask_count, 64);
    for (size_t i = 0; i < 64; i++)
        bench_answer_at(i, ASK_ACCEPTED, "{\"response\":\"Ada\"}");
    bench_turn(false);
    expect_body(TEXT_BODY("all there"));
}

/* --- each of several things --- */

static int numbers[] = { 10, 11, 12 };
static char done[64];

static const char *about(nod_call *call, void *item)
{
    return nod_fmt(call, "Take %d?", *(int *)item);
}

static nod_status take(nod_step_run *step, void *item)
{
    nod_call *call = nod_step_call(step);
    const nod_answer *answer = nod_step_answer(step);
    size_t len = strlen(done);
    int number = *(int *)item;

    snprintf(done + len, sizeof(done) - len, "%d;", number);
    if (number == 11)
        return nod_reply_error(call, "11 is taken"), NOD_E_FAILED;
    nod_json *result = nod_object(call);
    nod_set_int(call, result, "twice", 2 * number + nod_get_int(answer->content, "more"));
    nod_step_result(step, result);
    return NOD_OK;
}

static nod_status tell_each(nod_call *call, const nod_each_result *results, size_t count)
{
    char text[256] = "";

    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "%s%s %d %s%lld", i ? ", " : "",
                 results[i].yes ? "yes" : "no", (int)results[i].answer.action, results[i].error,
                 results[i].done ? (long long)nod_get_int(results[i].result, "twice") : 0);
    }
    return nod_reply_text(call, text);
}

static nod_status takes_each(nod_call *call)
{
    nod_each_result results[ITEMS];

    NOD_TRY(nod_each(call, numbers, ITEMS, results, .key = "n", .ask = about, .step = take));
    return tell_each(call, results, ITEMS);
}

static void each_is_asked_about_in_one_round_and_done_in_a_step_of_its_own(void **state)
{
    (void)state;
    done[0] = '\0';
    bench_call(takes_each, "{}");
    assert_int_equal(b.ask_count, ITEMS);
    assert_string_equal(b.asks[1].message, "Take 11?");
    assert_string_equal(b.asks[1].key, "n-1");
    assert_true(b.asks[1].consent);
    bench_answer_at(2, ASK_ACCEPTED, NULL);
    bench_answer_at(0, ASK_DECLINED, NULL);
    bench_turn(false);
    assert_string_equal(done, ""); /* not before the round has ended */
    bench_answer_at(1, ASK_ACCEPTED, NULL);
    bench_turn(false);
    /* The one that failed does not keep the next from being done. */
    expect_body(TEXT_BODY("no 2 0, yes 1 11 is taken0, yes 1 24"));
    assert_string_equal(done, "11;12;");
}

static nod_status takes_one_by_one(nod_call *call)
{
    nod_each_result results[ITEMS];

    NOD_TRY(nod_each(call, numbers, ITEMS, results, .key = "n", .ask = about, .step = take,
                     .at_once = 1, .at_most_once = true, .ttl_ms = 1000,
                     .form = NOD_FORM(NOD_INT("more"))));
    return tell_each(call, results, ITEMS);
}

static void one_after_the_other_with_a_form_and_nobody_answers_the_last(void **state)
{
    (void)state;
    done[0] = '\0';
    bench_call(takes_one_by_one, "{}");
    assert_int_equal(b.ask_count, 1);
    bench_answer(ASK_ACCEPTED, "{\"more\":5}");
    assert_int_equal(b.ask_count, 2);
    assert_string_equal(done, "10;");
    bench_answer(ASK_CANCELLED, NULL);
    assert_int_equal(b.ask_count, 3);
    b.asks[2].up = false;
    fake_clock_advance(&b.clock, 1001);
    bench_turn(false);
    expect_body(TEXT_BODY("yes 1 25, no 3 0, no 4 0"));
    assert_string_equal(done, "10;");
}

static void nobody_to_ask_is_a_no_for_each(void **state)
{
    (void)state;
    done[0] = '\0';
    b.can = 0;
    bench_call(takes_each, "{}");
    expect_body(TEXT_BODY("no 7 0, no 7 0, no 7 0")); /* NOD_UNASKED */
    assert_string_equal(done, "");
}

static nod_status steps_only(nod_call *call)
{
    static const int things[MANY];
    nod_each_result *results = nod_alloc(call, MANY * sizeof(*results));

    NOD_TRY(nod_each(call, things, MANY, results, .key = "n", .step = charge));
    for (int i = 0; i < MANY; i++)
        if (!results[i].done)
            return nod_reply_text(call, "not all");
    return nod_reply_text(call, "all");
}

static void room_for_all_is_made_sure_of_before_the_first(void **state)
{
    (void)state;
    effects = 0;
    bench_call(steps_only, "{}");
    expect_failure(NOD_E_LIMIT, "has learned 0 and wanted 300 more");
    assert_int_equal(effects, 0);
    bench_call_as(takes_each, "{}", &(nod_tool){ .journal_entries = 5 });
    expect_failure(NOD_E_LIMIT, "at most 5 things");
    /* What it takes is said at once, not first for the questions and then for the steps. */
    bench_call_as(takes_each, "{}", &(nod_tool){ .journal_entries = 2 });
    expect_failure(NOD_E_LIMIT, "has learned 0 and wanted 6 more");
    assert_int_equal(b.ask_count, 0);

    bench_teardown(NULL);
    bench_open(true); /* also with the replay check */
    bench_call_as(steps_only, "{}", &(nod_tool){ .journal_entries = MANY });
    expect_body(TEXT_BODY("all"));
    assert_int_equal(effects, MANY);
}

static nod_status without_a_key(nod_call *call)
{
    nod_each_result results[ITEMS];
    return nod_each(call, numbers, ITEMS, results, .ask = about);
}

static nod_status without_anything(nod_call *call)
{
    nod_each_result results[ITEMS];
    return nod_each(call, numbers, ITEMS, results, .key = "n");
}

static const char *about_nothing(nod_call *call, void *item)
{
    (void)call, (void)item;
    return NULL;
}

static nod_status without_a_message(nod_call *call)
{
    nod_each_result results[ITEMS];
    return nod_each(call, numbers, ITEMS, results, .key = "n", .ask = about_nothing);
}

static nod_status twice_each(nod_call *call)
{
    nod_each_result results[ITEMS];

    for (int i = 0; i < 2; i++)
        NOD_TRY(nod_each(call, numbers, ITEMS, results, .key = "n", .ask = about));
    return nod_reply_text(call, "done");
}

static nod_status asks_then_does_each(nod_call *call)
{
    nod_each_result results[ITEMS];

    NOD_TRY(nod_each(call, numbers, ITEMS, results, .key = "n", .ask = about));
    NOD_TRY(nod_each(call, numbers, ITEMS, results, .key = "n", .step = charge));
    return nod_reply_text(call, "done");
}

static void mistakes_with_each_are_named(void **state)
{
    (void)state;
    bench_call(without_a_key, "{}");
    expect_failure(NOD_E_USAGE, "calls nod_each without .key");
    bench_call(without_anything, "{}");
    expect_failure(NOD_E_USAGE, "without .ask and without .step");
    bench_call(without_a_message, "{}");
    expect_failure(NOD_E_USAGE, "its .ask gave no message");
    bench_call(twice_each, "{}");
    for (size_t i = 0; i < ITEMS; i++)
        bench_answer_at(i, ASK_ACCEPTED, NULL);
    bench_turn(false);
    expect_failure(NOD_E_USAGE, "calls nod_each with the key 'n' twice in one run");
    effects = 0;
    bench_call(asks_then_does_each, "{}");
    for (size_t i = 0; i < ITEMS; i++)
        bench_answer_at(i, ASK_ACCEPTED, NULL);
    bench_turn(false);
    assert_int_equal(effects, ITEMS); /* questions and steps have keys of their own */
}

SUBJECT(loops)
{
#define T(test) cmocka_unit_test_setup_teardown(test, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        T(a_step_in_a_loop_needs_a_key_for_each_turn),
        T(a_step_has_no_key_of_nods_own),
        T(a_key_of_a_question_that_could_not_be_asked_is_used),
        T(one_yes_does_not_count_three_times),
        T(another_question_under_the_key_is_told_as_the_same_mistake),
        T(a_round_with_a_key_twice_is_refused_before_anybody_is_asked),
        T(after_the_mistake_nothing_more_is_done),
        T(a_failed_step_is_tried_again_under_another_key),
        T(keys_with_an_index_are_different_keys),
        T(a_blocking_handler_and_the_replay_check_have_the_same_rule),
        T(a_key_that_comes_out_empty_is_a_mistake),
        T(questions_without_a_key_are_numbered),
        T(a_hook_has_the_same_rule),
        T(a_limit_that_is_hit_says_the_number_the_option_and_what_was_done),
        T(a_tool_may_learn_more),
        T(a_server_may_let_all_its_tools_learn_more),
        T(bounds_that_cannot_be_are_refused_at_registration),
        T(the_bytes_of_a_tool_count_for_its_answers),
        T(a_round_has_an_end_that_is_known_before_anybody_is_asked),
        T(each_is_asked_about_in_one_round_and_done_in_a_step_of_its_own),
        T(one_after_the_other_with_a_form_and_nobody_answers_the_last),
        T(nobody_to_ask_is_a_no_for_each),
        T(room_for_all_is_made_sure_of_before_the_first),
        T(mistakes_with_each_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
