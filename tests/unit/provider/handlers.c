/* tests/unit/provider/handlers: what a handler can do, and what its mistakes lead to. */
#include "handler_bench.h"
#include "provider/form_build.h"
#include "../runner.h"

enum { SHOWN_MAX = 4096 }; /* as in json/shown.h */

/* --- asking --- */

static int runs;

static nod_status say_hello(nod_call *call)
{
    nod_answer answer;

    runs++;
    NOD_TRY(nod_elicit(call, &answer, .message = "Your name?"));
    if (answer.action != NOD_ACCEPT)
        return nod_reply_textf(call, "action %d", (int)answer.action);
    return nod_reply_textf(call, "Hello %s, from %s", nod_get_str(answer.content, "response"),
                           answer.by);
}

static void a_handler_goes_on_with_the_answer_it_waited_for(void **state)
{
    (void)state;
    runs = 0;
    bench_call(say_hello, "{}");
    assert_int_equal(b.ask_count, 1);
    assert_string_equal(b.asks[0].message, "Your name?");
    assert_string_equal(b.asks[0].detail,
                        "{\"type\":\"object\",\"properties\":{\"response\":{\"type\":\"string\"}},"
                        "\"required\":[\"response\"]}");
    assert_false(b.asks[0].consent);
    bench_answer(ASK_ACCEPTED, "{\"response\":\"Bob\"}");
    expect_body(TEXT_BODY("Hello Bob, from ada"));
    assert_int_equal(runs, 2);
}

static nod_status takes_our_key(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Allow?", .key = "nod.gate"));
    return nod_reply_text(call, "done");
}

static void keys_of_our_own_are_not_the_authors(void **state)
{
    (void)state;
    bench_call(takes_our_key, "{}");
    assert_int_equal(b.ask_count, 0);
    expect_failure(NOD_E_USAGE, "nod.gate");
}

static nod_status reads_presets(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(
        call, &answer, .message = "How much?",
        .form = NOD_FORM(
            NOD_INT("percent", .preset = "100"), NOD_TEXT("why", .required = true),
            NOD_CHOICES("extras", NOD_OPTIONS({ "a", NULL }, { "b", NULL }), .required = true),
            NOD_TEXT("name", .required = true, NOD_MIN(1)))));
    return nod_reply_textf(
        call, "%s %lld '%s' %zu", nod_has(answer.content, "percent") ? "there" : "not there",
        (long long)nod_get_int(answer.content, "percent"), nod_get_str(answer.content, "why"),
        nod_count(nod_get(answer.content, "extras")));
}

static void a_preset_is_no_default_and_what_is_required_may_be_empty(void **state)
{
    (void)state;
    bench_call(reads_presets, "{}");
    bench_answer(ASK_ACCEPTED, "{\"why\":\"\",\"extras\":[],\"name\":\"Ada\"}");
    expect_body(TEXT_BODY("not there 0 '' 0"));
    bench_call(reads_presets, "{}");
    bench_answer(ASK_ACCEPTED, "{\"why\":\"\",\"extras\":[],\"name\":\"\"}");
    expect_failure(NOD_E_INVALID, "name");
}

static void write_schema(const nod_form *form, char text[SHOWN_MAX])
{
    struct arena arena;
    struct str why;

    arena_init(&arena, 1 << 20);
    struct str schema = form_text(form, &arena, &why);
    assert_non_null(schema.at);
    snprintf(text, SHOWN_MAX, STR_FMT, STR_ARG(schema));
    arena_finish(&arena);
}

/* A form of texts that are gone when the helper returns. */
static const nod_form *form_of_a_helper(nod_call *call, char schema[SHOWN_MAX])
{
    char texts[8][16] = {
        "ticket", "Ticket", "Which one", "email", "T-.*", "T-1", "T-123", "choice"
    };
    nod_option options[] = { { texts[7], texts[1] }, { NULL, NULL } };
    nod_field fields[] = { { .name = texts[0],
                             .title = texts[1],
                             .description = texts[2],
                             .pattern = texts[4],
                             .preset = texts[5],
                             .hint = texts[6],
                             .required = true },
                           { .name = texts[3], .format = texts[3] },
                           { .name = texts[7], .kind = NOD_FIELD_CHOICE, .options = options } };
    nod_form form = { sizeof(fields[0]), fields, 3 };
    const nod_form *kept = nod_form_keep(call, &form);

    write_schema(&form, schema);
    memset(texts, 'x', sizeof(texts));
    memset(options, 0, sizeof(options));
    memset(fields, 0, sizeof(fields));
    return kept;
}

static nod_status asks_with_a_form_of_a_helper(nod_call *call)
{
    char schema[SHOWN_MAX], kept[SHOWN_MAX];
    nod_answer answer;
    const nod_form *form = form_of_a_helper(call, schema);

    write_schema(form, kept);
    assert_string_equal(kept, schema);
    assert_null(nod_form_keep(call, NULL));
    NOD_TRY(nod_elicit(call, &answer, .message = "Which?", .form = form));
    return nod_reply_text(call, nod_get_str(answer.content, "ticket"));
}

static void a_form_that_a_helper_keeps_outlives_the_helper(void **state)
{
    (void)state;
    bench_call(asks_with_a_form_of_a_helper, "{}");
    bench_answer(ASK_ACCEPTED, "{\"ticket\":\"T-7\",\"choice\":\"choice\"}");
    expect_body(TEXT_BODY("T-7"));
}

static nod_status asks_with_a_form_without_room(nod_call *call)
{
    nod_field fields[2] = { { .name = "a" }, { .name = "b" } };
    nod_form form = { sizeof(fields[0]), fields, FORM_FIELDS_MAX + 1 };
    nod_answer answer;

    return nod_elicit(call, &answer, .message = "?", .form = nod_form_keep(call, &form));
}

static void a_form_that_cannot_be_kept_is_no_other_question(void **state)
{
    (void)state;
    bench_call(asks_with_a_form_without_room, "{}");
    expect_failure(NOD_E_BAD_SCHEMA, "form");
    assert_int_equal(b.ask_count, 0);
}

static void decline_and_cancel_are_told_apart(void **state)
{
    (void)state;
    bench_call(say_hello, "{}");
    bench_answer(ASK_DECLINED, NULL);
    expect_body(TEXT_BODY("action 2"));
    bench_call(say_hello, "{}");
    bench_answer(ASK_CANCELLED, NULL);
    expect_body(TEXT_BODY("action 3"));
}

static void an_ask_that_nobody_answers_is_a_timeout(void **state)
{
    (void)state;
    bench_call(say_hello, "{}");
    fake_clock_advance(&b.clock, 300001);
    b.asks[0].up = false;
    bench_turn(false);
    expect_failure(NOD_E_TIMEOUT, "Nobody answered");
}

static void an_ask_that_no_surface_takes_is_not_supported(void **state)
{
    (void)state;
    b.can = 0;
    bench_call(say_hello, "{}");
    expect_failure(NOD_E_NOT_SUPPORTED, "elicitation");
}

static nod_status no_message(nod_call *call)
{
    nod_answer answer;
    return nod_elicit(call, &answer, .key = "k");
}

static nod_status asks_password(nod_call *call)
{
    nod_answer answer;
    return nod_elicit(call, &answer, .message = "Sign in", .form = NOD_FORM(NOD_TEXT("password")));
}

static nod_status bad_preset(nod_call *call)
{
    nod_answer answer;
    return nod_elicit(call, &answer, .message = "?", .form = NOD_FORM(NOD_INT("n", .preset = "x")));
}

static nod_status asks_code(nod_call *call)
{
    nod_answer answer;

    return nod_elicit(call, &answer, .message = nod_arg_str(call, "message"),
                      .form = NOD_FORM(NOD_TEXT("value")));
}

/* What may be asked with one message, and is remembered as checked, is checked with another. */
static void a_form_that_was_asked_is_refused_under_a_message_that_asks_for_a_secret(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        bench_call(asks_code, "{\"message\":\"Which colour?\"}");
        assert_int_equal(b.ask_count, 1);
        bench_call(asks_code, "{\"message\":\"Please enter your password\"}");
        expect_failure(NOD_E_BAD_SCHEMA, "secret");
        assert_int_equal(b.ask_count, 0);
    }
}

static void questions_that_cannot_be_asked_are_refused_and_nothing_is_sent(void **state)
{
    (void)state;
    bench_call(no_message, "{}");
    expect_failure(NOD_E_USAGE, "nod_elicit without .message");
    bench_call(asks_password, "{}");
    expect_failure(NOD_E_BAD_SCHEMA, "secret");
    bench_call(bad_preset, "{}");
    expect_failure(NOD_E_BAD_SCHEMA, "preset");
    assert_true(b.request_error);
    assert_int_equal(b.ask_count, 0);
}

static nod_status confirm_it(nod_call *call)
{
    bool yes = true;

    NOD_TRY(nod_confirm(call, &yes, .message = "Sure?", .ttl_ms = 1000));
    return nod_reply_text(call, yes ? "yes" : "no");
}

static void only_an_accept_is_a_yes(void **state)
{
    (void)state;
    bench_call(confirm_it, "{}");
    assert_true(b.asks[0].consent);
    bench_answer(ASK_ACCEPTED, "{}");
    expect_body(TEXT_BODY("yes"));

    bench_call(confirm_it, "{}");
    bench_answer(ASK_DECLINED, NULL);
    expect_body(TEXT_BODY("no"));

    bench_call(confirm_it, "{}");
    bench_answer(ASK_CANCELLED, NULL);
    expect_body(TEXT_BODY("no"));

    bench_call(confirm_it, "{}");
    b.asks[0].up = false;
    fake_clock_advance(&b.clock, 1001);
    bench_turn(false);
    expect_body(TEXT_BODY("no"));

    b.can = 0;
    bench_call(confirm_it, "{}");
    expect_body(TEXT_BODY("no"));
    assert_int_equal(b.ask_count, 0);
}

static nod_status approve_it(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = "Transfer?"));
    return nod_reply_textf(call, "%d %d %s", approval.approved, (int)approval.action,
                           approval.execution_id[0] ? "id" : "none");
}

static void an_approval_shows_the_arguments_and_keeps_the_id(void **state)
{
    (void)state;
    bench_call(approve_it, "{\"to\":\"bob\",\"items\":[1,{\"a\":null}],\"none\":{}}");
    assert_int_equal(b.asks[0].kind, ASK_APPROVAL);
    assert_true(b.asks[0].consent);
    assert_string_equal(b.asks[0].message,
                        "Transfer?\n\n{\n  \"to\": \"bob\",\n  \"items\": [\n    1,\n    {\n"
                        "      \"a\": null\n    }\n  ],\n  \"none\": {}\n}");
    bench_answer(ASK_ACCEPTED, "{}");
    expect_body(TEXT_BODY("1 1 id"));
    bench_call(approve_it, "{}");
    assert_string_equal(b.asks[0].message, "Transfer?");
    bench_answer(ASK_DECLINED, NULL);
    expect_body(TEXT_BODY("0 2 id"));
    b.can = 0;
    bench_call(approve_it, "{}");
    expect_body(TEXT_BODY("0 7 none")); /* NOD_UNASKED */
}

static void arguments_too_long_to_show_are_cut_between_characters(void **state)
{
    static char args[3 * SHOWN_MAX];
    (void)state;

    memcpy(args, "{\"a\":\"x", 7);
    for (int i = 0; i < SHOWN_MAX; i++)
        memcpy(args + 7 + 2 * i, "\xC3\xA4", 2);
    memcpy(args + 7 + 2 * SHOWN_MAX, "\"}", 3);
    bench_call(approve_it, args);
    assert_int_equal(b.ask_count, 1); /* it was valid UTF-8, or it could not have been stored */
    assert_true(strlen(b.asks[0].message) < 5000);
    assert_non_null(strstr(b.asks[0].message, "\xE2\x80\xA6"));
}

static nod_status approve_own(nod_call *call)
{
    nod_approval approval;
    nod_json *own = nod_object(call);

    nod_set_str(call, own, "text", nod_arg_str(call, "a"));
    NOD_TRY(nod_approve(call, &approval, .message = "Transfer?", .arguments = own));
    return nod_reply_text(call, "done");
}

static bool ends_with(const char *text, const char *end)
{
    return str_ends(str_of(text), str_of(end));
}

static void the_message_says_where_the_rest_of_the_arguments_is(void **state)
{
    static char args[3 * SHOWN_MAX];
    (void)state;

    snprintf(args, sizeof(args), "{\"a\":\"%0*d\"}", 2 * SHOWN_MAX, 0);
    bench_call(approve_it, args);
    assert_true(ends_with(b.asks[0].message,
                          " bytes of the arguments. Whoever made the call has all of them, and so "
                          "has the inbox if this question is there."));
    bench_call(approve_own, args); /* nobody else has these */
    assert_true(ends_with(b.asks[0].message, " bytes of the arguments. They can be seen nowhere."));
}

static nod_status approve_with_form(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = "How much?",
                        .form = NOD_FORM(NOD_INT("amount", .required = true))));
    return nod_reply_textf(call, "%lld", (long long)nod_get_int(approval.data, "amount"));
}

static void an_approval_with_a_form_gives_what_was_filled_in(void **state)
{
    (void)state;
    bench_call(approve_with_form, "{}");
    bench_answer(ASK_ACCEPTED, "{\"amount\":12}");
    expect_body(TEXT_BODY("12"));
}

static nod_status two_questions(nod_call *call)
{
    nod_answer name, age;

    NOD_TRY(nod_want(call, &name, .message = "Name?", .key = "name"));
    NOD_TRY(
        nod_want(call, &age, .message = "Age?", .key = "age", .form = NOD_FORM(NOD_INT("age"))));
    NOD_TRY(nod_await(call));
    return nod_reply_textf(call, "%s %lld", nod_get_str(name.content, "response"),
                           (long long)nod_get_int(age.content, "age"));
}

static void several_questions_go_out_in_one_round(void **state)
{
    (void)state;
    bench_call(two_questions, "{}");
    assert_int_equal(b.ask_count, 2);
    bench_answer_at(1, ASK_ACCEPTED, "{\"age\":7}");
    bench_turn(false);
    assert_false(b.finished);
    bench_answer_at(0, ASK_ACCEPTED, "{\"response\":\"Eve\"}");
    bench_turn(false);
    expect_body(TEXT_BODY("Eve 7"));
}

static void one_of_several_that_expires_is_a_timeout(void **state)
{
    (void)state;
    bench_call(two_questions, "{}");
    bench_answer_at(0, ASK_ACCEPTED, "{\"response\":\"Eve\"}");
    bench_turn(false);
    b.asks[1].up = false;
    fake_clock_advance(&b.clock, 300001);
    bench_turn(false);
    expect_failure(NOD_E_TIMEOUT, "Nobody answered");
}

static nod_status want_only(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_want(call, &answer, .message = "?"));
    return nod_reply_text(call, "done");
}

static void a_want_without_an_await_is_a_mistake(void **state)
{
    (void)state;
    bench_call(want_only, "{}");
    expect_failure(NOD_E_USAGE, "nod_await");
}

static nod_status wants_and_pends(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_want(call, &answer, .message = "?"));
    return answer.action == NOD_WAITING ? NOD_PENDING : nod_reply_text(call, "done");
}

static void line24_pending_after_a_want_without_an_await_asks_nobody(void **state)
{
    (void)state;
    bench_call(wants_and_pends, "{}");
    assert_int_equal(b.ask_count, 0);
    expect_failure(NOD_E_USAGE, "NOD_PENDING after nod_want, without nod_await");
}

static nod_status wants_then_asks(nod_call *call)
{
    nod_answer wanted, asked;

    NOD_TRY(nod_want(call, &wanted, .message = "One?", .key = "one"));
    NOD_TRY(nod_elicit(call, &asked, .message = "Two?", .key = "two"));
    NOD_TRY(nod_await(call));
    return nod_reply_textf(call, "%d %d", (int)wanted.action, (int)asked.action);
}

static void line24_a_want_may_be_awaited_behind_another_question(void **state)
{
    (void)state;
    bench_call(wants_then_asks, "{}");
    assert_int_equal(b.ask_count, 2);
    bench_answer_at(0, ASK_DECLINED, NULL);
    bench_answer(ASK_CANCELLED, NULL);
    expect_body(TEXT_BODY("2 3"));
}

/* --- pages, the model, roots --- */

static const char *the_url;

static nod_status open_page(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit_url(call, &answer, .message = "Open", .url = the_url));
    return nod_reply_text(call, "opened");
}

static nod_status require_page(nod_call *call)
{
    return nod_require_url(call, .message = "Sign in first", .url = "https://x.test/{id}/y?i={id}");
}

static void only_safe_addresses_are_shown_to_a_person(void **state)
{
    static const struct {
        const char *url;
        bool fine;
    } cases[] = {
        { "https://example.com/a?b=c#d", true },
        { "HTTPS://example.com", true },
        { "http://127.0.0.1:80/", true },
        { "http://localhost/x", true },
        { "http://[::1]:9/", true },
        { "http://example.com/", false },
        { "http://127.0.0.1.evil.com/", false },
        { "http://localhost.evil.com/", false },
        { "http://127.0.0.1@evil.com/", false },
        { "https://user:pass@example.com/", false },
        { "https:///path", false },
        { "javascript:alert(1)", false },
        { "file:///etc/passwd", false },
        { "https://example.com/a b", false },
        { "https://example.com\\@evil.com", false },
        { "", false },
        { "http://127.1/", false },
        { "http://127.0.0.256/", false },
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        the_url = cases[i].url;
        bench_call(open_page, "{}");
        if (cases[i].fine && b.ask_count != 1)
            fail_msg("%s was refused: %s", cases[i].url, b.message);
        if (!cases[i].fine)
            expect_failure(NOD_E_USAGE, "https");
        else
            bench_answer(ASK_ACCEPTED, NULL);
    }
}

static void a_required_url_ends_the_call_with_its_own_error(void **state)
{
    (void)state;
    bench_call(require_page, "{}");
    expect_failure(NOD_E_FAILED, "Sign in first");
    assert_true(b.request_error);
    assert_string_equal(b.code, "URL_ELICITATION_REQUIRED");
    assert_non_null(
        strstr(b.error_data, "{\"elicitations\":[{\"mode\":\"url\",\"elicitationId\":\""));
    assert_null(strstr(b.error_data, "{id}"));
    b.can = 1u << ASK_FORM;
    bench_call(require_page, "{}");
    expect_failure(NOD_E_NOT_SUPPORTED, "url");
}

static nod_status sample_it(nod_call *call)
{
    nod_answer answer, roots;

    NOD_TRY(nod_sample(call, &answer, .prompt = "Sum up", .system_prompt = "Be brief",
                       .max_tokens = 5, .params = "{\"temperature\":0.10}"));
    NOD_TRY(nod_roots(call, &roots));
    return nod_reply_textf(call, "%s %zu", nod_get_str(answer.content, "model"),
                           nod_count(nod_get(roots.content, "roots")));
}

static void the_model_and_the_roots_are_asked_through_the_client(void **state)
{
    (void)state;
    bench_call(sample_it, "{}");
    assert_int_equal(b.asks[0].kind, ASK_SAMPLE);
    assert_string_equal(
        b.asks[0].detail,
        "{\"temperature\":0.10,\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
        "\"text\":\"Sum up\"}}],\"maxTokens\":5,\"systemPrompt\":\"Be brief\"}");
    bench_answer(ASK_ACCEPTED, "{\"model\":\"m\",\"role\":\"assistant\",\"content\":{}}");
    assert_int_equal(b.asks[1].kind, ASK_ROOTS);
    bench_answer(ASK_ACCEPTED, "{\"roots\":[{},{}]}");
    expect_body(TEXT_BODY("m 2"));
}

/* --- steps --- */

static int effects;
static char step_keys[2][64];

static nod_status effect(nod_step_run *step, void *arg)
{
    nod_json *result = nod_object(nod_step_call(step));

    BENCH_COPY(step_keys[effects % 2], str_of(nod_step_key(step)));
    effects++;
    nod_set_int(nod_step_call(step), result, "n", *(int *)arg);
    nod_step_result(step, result);
    return NOD_OK;
}

static nod_status with_steps(nod_call *call)
{
    const nod_json *first, *second;
    nod_answer answer;
    int64_t now;
    uint64_t bits;
    int seven = 7, eight = 8;

    NOD_TRY(nod_now(call, &now));
    NOD_TRY(nod_random(call, &bits));
    NOD_TRY(nod_step(call, "one", effect, &seven, &first));
    NOD_TRY(nod_elicit(call, &answer,
                       .message =
                           nod_fmt(call, "%lld %llu?", (long long)now, (unsigned long long)bits)));
    NOD_TRY(nod_step(call, "two", effect, &eight, &second, .at_most_once = true));
    return nod_reply_textf(call, "%lld %lld", (long long)nod_get_int(first, "n"),
                           (long long)nod_get_int(second, "n"));
}

static void a_step_is_done_once_and_its_result_is_given_back(void **state)
{
    (void)state;
    effects = 0;
    bench_call(with_steps, "{}");
    assert_int_equal(effects, 1);
    fake_clock_advance(&b.clock, 5000);
    bench_answer(ASK_ACCEPTED, "{\"response\":\"\"}");
    expect_body(TEXT_BODY("7 8"));
    assert_int_equal(effects, 2);
    assert_non_null(strstr(step_keys[0], ":one"));
    assert_non_null(strstr(step_keys[1], ":two"));
}

static nod_status many_steps(nod_call *call)
{
    for (int i = 0; i < 100; i++)
        NOD_TRY(nod_step(call, nod_fmt(call, "s%d", i), effect, &i, NULL));
    return nod_reply_text(call, "all of them");
}

static void a_step_whose_result_has_no_room_is_not_done(void **state)
{
    (void)state;
    effects = 0;
    bench_call(many_steps, "{}");
    expect_failure(NOD_E_LIMIT, "at most 64 things");
    assert_int_equal(effects, 64);
}

static nod_status large_effect(nod_step_run *step, void *arg)
{
    char *text = nod_alloc(nod_step_call(step), 300 * 1024);

    (void)arg;
    memset(text, 'x', 300 * 1024 - 1);
    nod_step_result(step, nod_json_str(nod_step_call(step), text));
    return NOD_OK;
}

static nod_status large_step(nod_call *call)
{
    (void)!nod_step(call, "large", large_effect, NULL, NULL);
    return nod_reply_text(call, "went on");
}

static void a_step_whose_result_is_too_large_ends_the_call_and_says_that_it_was_done(void **state)
{
    (void)state;
    bench_call(large_step, "{}");
    expect_failure(NOD_E_LIMIT, "'large' was done");
}

static nod_status failing_effect(nod_step_run *step, void *arg)
{
    (void)arg;
    effects++;
    (void)nod_reply_error(nod_step_call(step), "row %d is locked", 3);
    return NOD_E_FAILED;
}

static nod_status with_failing_step(nod_call *call)
{
    NOD_TRY(nod_step(call, "fails", failing_effect, NULL, NULL));
    return nod_reply_text(call, "not reached");
}

static void the_failure_of_a_step_is_a_result_with_its_sentence(void **state)
{
    (void)state;
    effects = 0;
    bench_call(with_failing_step, "{}");
    expect_failure(NOD_E_FAILED, "row 3 is locked");
    assert_int_equal(effects, 1);
}

static nod_status silent_effect(nod_step_run *step, void *arg)
{
    (void)step, (void)arg;
    return NOD_E_FAILED;
}

static nod_status with_silent_step(nod_call *call)
{
    return nod_step(call, "fails", silent_effect, NULL, NULL);
}

static void a_step_that_does_not_say_why_is_told_how_to(void **state)
{
    (void)state;
    bench_call(with_silent_step, "{}");
    expect_failure(NOD_E_FAILED, "The step 'fails' of tool-");
    expect_failure(NOD_E_FAILED, " failed without saying why (failed). A step says it with "
                                 "nod_reply_error(nod_step_call(step), ...)");
}

static nod_status asking_effect(nod_step_run *step, void *arg)
{
    nod_answer answer;
    (void)arg;
    return nod_elicit(nod_step_call(step), &answer, .message = "?");
}

static nod_status asks_in_step(nod_call *call)
{
    return nod_step(call, "asks", asking_effect, NULL, NULL);
}

static void asking_inside_of_a_step_is_a_mistake(void **state)
{
    (void)state;
    bench_call(asks_in_step, "{}");
    expect_failure(NOD_E_USAGE, "inside of a step");
}

static nod_status goes_on(nod_call *call)
{
    nod_answer answer;
    int n = 1;

    (void)!nod_elicit(call, &answer, .message = "First?"); /* and does not return */
    if (nod_step(call, "unasked", effect, &n, NULL) == NOD_OK)
        return nod_reply_text(call, answer.action == NOD_ACCEPT ? "accepted" : "something else");
    (void)nod_reply_text(call, "too early");
    return NOD_OK;
}

static void a_handler_that_goes_on_past_pending_acts_on_nothing(void **state)
{
    (void)state;
    effects = 0;
    bench_call(goes_on, "{}");
    assert_false(b.finished);
    assert_int_equal(effects, 0);
    bench_answer(ASK_ACCEPTED, "{\"response\":\"\"}");
    expect_body(TEXT_BODY("accepted"));
    assert_int_equal(effects, 1);
}

/* --- mistakes --- */

static nod_status reads_missing(nod_call *call)
{
    return nod_reply_text(call, nod_arg_str(call, "path"));
}

static nod_status replies_nothing(nod_call *call)
{
    (void)call;
    return NOD_OK;
}

static nod_status pending_for_nothing(nod_call *call)
{
    (void)call;
    return NOD_PENDING;
}

static nod_status positive(nod_call *call)
{
    (void)call;
    return (nod_status)7;
}

static nod_status plain_failure(nod_call *call)
{
    (void)call;
    return NOD_E_IO;
}

static nod_status replies_null(nod_call *call)
{
    return nod_reply_text(call, NULL);
}

static void mistakes_of_a_handler_name_the_tool_and_the_remedy(void **state)
{
    (void)state;
    bench_call(reads_missing, "{}");
    expect_failure(NOD_E_USAGE, "\"path\"");
    assert_non_null(strstr(b.message, "tool-"));
    assert_non_null(strstr(b.message, "nod_arg_str_or"));
    bench_call(reads_missing, "{\"path\":null}");
    expect_failure(NOD_E_USAGE, "\"path\"");
    bench_call(reads_missing, "{\"path\":5}");
    expect_failure(NOD_E_USAGE, "a number");
    bench_call(replies_nothing, "{}");
    expect_failure(NOD_E_USAGE, "without a reply");
    bench_call(pending_for_nothing, "{}");
    expect_failure(NOD_E_USAGE, "has asked nothing");
    bench_call(positive, "{}");
    expect_failure(NOD_E_USAGE, "not a nod_status");
    bench_call(plain_failure, "{}");
    expect_failure(NOD_E_IO, "failed without saying why (i/o error). A handler says it with "
                             "nod_reply_error");
    bench_call(replies_null, "{}");
    expect_failure(NOD_E_USAGE, "replies with a text that is NULL");
}

static nod_status misreads_and_acts(nod_call *call)
{
    nod_answer answer;
    int64_t n = nod_arg_int(call, "missing");
    int zero = (int)n;

    (void)!nod_step(call, "delete", effect, &zero, NULL);
    (void)!nod_elicit(call, &answer, .message = "Delete row 0?");
    return nod_reply_text(call, "done");
}

static void after_a_mistake_no_step_is_done_and_nobody_is_asked(void **state)
{
    (void)state;
    effects = 0;
    bench_call(misreads_and_acts, "{}");
    expect_failure(NOD_E_USAGE, "\"missing\"");
    assert_int_equal(effects, 0);
    assert_int_equal(b.ask_count, 0);
}

static void text_with_a_nul_in_it_never_reaches_a_handler(void **state)
{
    (void)state;
    runs = 0;
    bench_call(say_hello, "{\"path\":[{\"a\":\"/etc/passwd\\u0000.txt\"}]}");
    expect_failure(NOD_E_INVALID, "NUL");
    bench_call(say_hello, "{\"a\\u0000b\":1}");
    expect_failure(NOD_E_INVALID, "NUL");
    assert_int_equal(runs, 0);
    bench_call(say_hello, "{}");
    bench_answer(ASK_ACCEPTED, "{\"response\":\"Bob\\u0000by\"}");
    expect_failure(NOD_E_INVALID, "NUL");
}

static int changing;

static nod_status asks_differently(nod_call *call)
{
    nod_answer answer;

    if (nod_elicit(call, &answer, .message = nod_fmt(call, "%d?", changing++), .key = "q") ==
        NOD_PENDING)
        return NOD_PENDING;
    return nod_reply_text(call, "went on regardless");
}

static void another_question_under_the_same_key_ends_the_call(void **state)
{
    (void)state;
    bench_call(asks_differently, "{}");
    bench_answer(ASK_ACCEPTED, "{\"response\":\"\"}");
    expect_failure(NOD_E_NOT_DETERMINISTIC, "'q'");
}

static void the_replay_check_finds_it_before_anybody_is_asked(void **state)
{
    (void)state;
    bench_teardown(NULL);
    bench_open(true);
    bench_call(asks_differently, "{}");
    expect_failure(NOD_E_NOT_DETERMINISTIC, "'q'");
    assert_int_equal(b.ask_count, 0);

    effects = 0;
    bench_call(with_steps,
               "{}"); /* one that is deterministic passes, and its steps are done once */
    bench_answer(ASK_ACCEPTED, "{\"response\":\"\"}");
    expect_body(TEXT_BODY("7 8"));
    assert_int_equal(effects, 2);
}

static nod_status hungry(nod_call *call)
{
    while (nod_alloc(call, 1 << 20))
        ;
    (void)nod_set_str(call, nod_object(call), "a", nod_fmt(call, "%s", "b"));
    return nod_reply_text(call, "ate everything");
}

static void a_run_that_takes_too_much_memory_ends_with_a_limit(void **state)
{
    (void)state;
    bench_call(hungry, "{}");
    expect_failure(NOD_E_LIMIT, "memory");
}

static char order[8];

static void note(void *data)
{
    strncat(order, data, 1);
}

static nod_status defers(nod_call *call)
{
    nod_answer answer;

    nod_defer(call, note, (void *)"a");
    nod_defer(call, note, (void *)"b");
    NOD_TRY(nod_elicit(call, &answer, .message = "?"));
    nod_defer(call, note, (void *)"c");
    return nod_reply_text(call, "ok");
}

static void defers_run_in_reverse_at_the_end_of_every_run(void **state)
{
    (void)state;
    order[0] = '\0';
    bench_call(defers, "{}");
    assert_string_equal(order, "ba");
    bench_answer(ASK_ACCEPTED, "{\"response\":\"\"}");
    assert_string_equal(order, "bacba");
}

/* --- notices --- */

static nod_status noisy_effect(nod_step_run *step, void *arg)
{
    (void)arg;
    nod_progress(nod_step_call(step), 1, 2, "in the step");
    nod_progress(nod_step_call(step), 2, 2, NULL);
    return NOD_OK;
}

static nod_status noisy(nod_call *call)
{
    nod_log(call, NOD_LOG_INFO, "me", "before %d", 1);
    NOD_TRY(nod_step(call, "s", noisy_effect, NULL, NULL));
    nod_notify(call, "notifications/x", "{ \"a\" : 1.0 }");
    nod_progress(call, 3, 0, "after");
    return nod_reply_text(call, "ok");
}

static void a_replay_repeats_no_notice_and_swallows_none(void **state)
{
    (void)state;
    bench_call(noisy, "{}");
    expect_body(TEXT_BODY("ok"));
    assert_string_equal(b.notices, "log 1 me before 1\nprogress 1/2 in the step\nprogress 2/2 \n"
                                   "notifications/x {\"a\":1.0}\nprogress 3/0 after\n");
}

SUBJECT(handlers)
{
#define T(test) cmocka_unit_test_setup_teardown(test, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        T(a_handler_goes_on_with_the_answer_it_waited_for),
        T(keys_of_our_own_are_not_the_authors),
        T(a_preset_is_no_default_and_what_is_required_may_be_empty),
        T(decline_and_cancel_are_told_apart),
        T(an_ask_that_nobody_answers_is_a_timeout),
        T(an_ask_that_no_surface_takes_is_not_supported),
        T(questions_that_cannot_be_asked_are_refused_and_nothing_is_sent),
        T(a_form_that_a_helper_keeps_outlives_the_helper),
        T(a_form_that_cannot_be_kept_is_no_other_question),
        T(a_form_that_was_asked_is_refused_under_a_message_that_asks_for_a_secret),
        T(only_an_accept_is_a_yes),
        T(an_approval_shows_the_arguments_and_keeps_the_id),
        T(arguments_too_long_to_show_are_cut_between_characters),
        T(the_message_says_where_the_rest_of_the_arguments_is),
        T(an_approval_with_a_form_gives_what_was_filled_in),
        T(several_questions_go_out_in_one_round),
        T(one_of_several_that_expires_is_a_timeout),
        T(a_want_without_an_await_is_a_mistake),
        T(line24_pending_after_a_want_without_an_await_asks_nobody),
        T(line24_a_want_may_be_awaited_behind_another_question),
        T(only_safe_addresses_are_shown_to_a_person),
        T(a_required_url_ends_the_call_with_its_own_error),
        T(the_model_and_the_roots_are_asked_through_the_client),
        T(a_step_is_done_once_and_its_result_is_given_back),
        T(a_step_whose_result_has_no_room_is_not_done),
        T(a_step_whose_result_is_too_large_ends_the_call_and_says_that_it_was_done),
        T(the_failure_of_a_step_is_a_result_with_its_sentence),
        T(a_step_that_does_not_say_why_is_told_how_to),
        T(asking_inside_of_a_step_is_a_mistake),
        T(a_handler_that_goes_on_past_pending_acts_on_nothing),
        T(mistakes_of_a_handler_name_the_tool_and_the_remedy),
        T(after_a_mistake_no_step_is_done_and_nobody_is_asked),
        T(text_with_a_nul_in_it_never_reaches_a_handler),
        T(another_question_under_the_same_key_ends_the_call),
        T(the_replay_check_finds_it_before_anybody_is_asked),
        T(a_run_that_takes_too_much_memory_ends_with_a_limit),
        T(defers_run_in_reverse_at_the_end_of_every_run),
        T(a_replay_repeats_no_notice_and_swallows_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
