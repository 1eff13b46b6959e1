/*
 * tests/unit/provider/messages: what an author or an operator is told, word for word where it
 * counts.
 *
 * Each trap that the API could be is here with its message: at registration, in the answer of a
 * call, and in the log. docs/api.md has the table of them.
 */
#include <unistd.h>

#include "base/log.h"
#include "handler_bench.h"
#include "../runner.h"

enum { SAID_MAX = 1 << 16 };

static char said[SAID_MAX];
static FILE *log_file;

static void log_begin(void)
{
    log_file = tmpfile();
    assert_non_null(log_file);
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_INFO, .fd = fileno(log_file) });
}

static void log_end(void)
{
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR, .fd = 2 });
    rewind(log_file);
    said[fread(said, 1, sizeof(said) - 1, log_file)] = '\0';
    fclose(log_file);
}

static void expect_said(const char *part)
{
    if (!strstr(said, part))
        fail_msg("the log does not say \"%s\":\n%s", part, said);
}

static nod_status fine(nod_call *call)
{
    return nod_reply_text(call, "fine");
}

/* --- registration --- */

static void what_is_wrong_with_a_tool_is_said_in_a_sentence(void **state)
{
    static const nod_field half = { .name = "n", .kind = NOD_FIELD_INT, .min_value = 5 };
    static const nod_form half_form = { sizeof(half), &half, 1 };
    const struct {
        nod_tool tool;
        const char *part;
    } cases[] = {
        { { .title = " " }, "its title is blank" },
        { { .requires_confirmation = true, .confirm_message = "" },
          "its confirm_message is blank" },
        { { .ask_ttl_ms = -1 }, "its ask_ttl_ms is negative" },
        { { .input = NOD_FORM(NOD_TEXT("f", .title = "\t")) }, "has a blank title" },
        { { .input = NOD_FORM(NOD_CHOICE("f", NOD_OPTIONS({ "a", "" }))) },
          "has an option with a blank title" },
        { { .input = NOD_FORM(NOD_TEXT("f", .format = "phone")) },
          "none of email, uri, date and date-time" },
        { { .input = NOD_FORM(NOD_TEXT("f", .hint = "T-1")) }, "has a hint, but no pattern" },
        { { .input = NOD_FORM(NOD_TEXT("f", .title = "\xC2\xA0\xE2\x80\x8B")) },
          "has a blank title" },
        { { .input = NOD_FORM(NOD_TEXT("f", .pattern = "^x$", .hint = " ")) }, "has a blank hint" },
        { { .input = NOD_FORM(NOD_TEXT("f", .pattern = "^T-[0-9]+$", .hint = "nope")) },
          "does not fit its pattern: give an example that does" },
        { { .input = NOD_FORM(NOD_TEXT("f\xFF")) },
          "has a name, a pattern or a preset that is not UTF-8" },
        { { .input = NOD_FORM(NOD_CHOICE("f", NOD_OPTIONS({ "caf\xE9", NULL }))) },
          "has an option that is not UTF-8" },
        { { .input =
                NOD_FORM(NOD_CHOICES("f", NOD_OPTIONS({ "a", NULL }, { "b", NULL }), NOD_MIN(3))) },
          "asks for more choices than it has options" },
        { { .input = NOD_FORM(NOD_INT("f", NOD_MIN(0.2), NOD_MAX(0.7))) },
          "has bounds with no whole number between them" },
        { { .input = NOD_FORM(NOD_TEXT("f", .pattern = "(")) }, "is not valid" },
        { { .input = NOD_FORM(NOD_INT("f", NOD_MIN(1), NOD_MAX(5), .preset = "9")) },
          "does not fit the field: it must be at most 5" },
        { { .input = NOD_FORM(NOD_TEXT("f", NOD_MAX(2), .preset = "abc")) },
          "does not fit the field: it must be at most 2 characters long" },
        { { .input = NOD_FORM(NOD_TEXT("f", .format = "email", .preset = "nobody")) },
          "does not fit the field" },
        { { .input_schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\","
                            "\"maximum\":5,\"default\":9}}}" },
          "does not fit the field: it must be at most 5" },
        { { .input = &half_form }, "say NOD_MIN(5)" },
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        nod_tool tool = cases[i].tool;
        tool.name = "t";
        tool.handler = fine;
        log_begin();
        nod_status status = local_add_tools(b.local, &tool, 1, sizeof(tool));
        log_end();
        assert_true(status == NOD_E_USAGE || status == NOD_E_BAD_SCHEMA);
        expect_said(cases[i].part);
        expect_said("name=t ");
    }
}

static void a_preset_that_refers_elsewhere_is_left_alone(void **state)
{
    nod_tool tool = { .name = "t",
                      .handler = fine,
                      .input_schema =
                          "{\"type\":\"object\",\"$defs\":{\"a\":{\"type\":\"integer\"}},"
                          "\"properties\":{\"n\":{\"$ref\":\"#/$defs/a\","
                          "\"default\":1}}}" };
    (void)state;

    assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), NOD_OK);
}

static void a_secret_among_the_arguments_is_a_warning(void **state)
{
    nod_tool tool = { .name = "t", .handler = fine, .input = NOD_FORM(NOD_TEXT("api_key")) };
    (void)state;

    log_begin();
    assert_int_equal(local_add_tools(b.local, &tool, 1, sizeof(tool)), NOD_OK);
    log_end();
    expect_said("level=warn");
    expect_said("looks like a secret");
    expect_said("nod_secret");
    expect_said("argument=api_key");
}

/* --- mistakes of a handler --- */

static nod_status confirms_nothing(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = " \n"));
    return nod_reply_text(call, "asked");
}

static nod_status elicits_nothing(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = ""));
    return nod_reply_text(call, "asked");
}

static nod_status approves_nothing(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = ""));
    return nod_reply_text(call, "asked");
}

static nod_status opens_nothing(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit_url(call, &answer, .message = "", .url = "https://example.org/"));
    return nod_reply_text(call, "asked");
}

static const char *asks_blank(nod_call *call, void *item)
{
    (void)call, (void)item;
    return " \t\n";
}

static nod_status asks_each_nothing(nod_call *call)
{
    int items[] = { 1 };
    nod_each_result results[1];

    NOD_TRY(nod_each(call, items, 1, results, .key = "k", .ask = asks_blank));
    return nod_reply_text(call, "asked");
}

static nod_status samples_nothing(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_sample(call, &answer, .prompt = "\xE2\x80\x8B"));
    return nod_reply_text(call, "asked");
}

static nod_status asks_with_a_blank_title(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Which?",
                       .schema = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\","
                                 "\"title\":\" \"}}}"));
    return nod_reply_text(call, "asked");
}

static nod_status asks_in_latin1(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Which?",
                       .form = NOD_FORM(NOD_TEXT("a", .title = "caf\xE9"))));
    return nod_reply_text(call, "asked");
}

static void text_of_a_form_that_is_not_utf8_is_shown_with_marks(void **state)
{
    (void)state;
    bench_call(asks_in_latin1, "{}");
    assert_int_equal(b.ask_count, 1);
    assert_non_null(strstr(b.asks[0].detail, "caf\xEF\xBF\xBD"));
}

static void a_blank_message_is_a_mistake_that_names_the_call(void **state)
{
    (void)state;
    bench_call(confirms_nothing, "{}");
    expect_failure(NOD_E_USAGE, "calls nod_confirm with a blank .message: say what is asked");
    bench_call(elicits_nothing, "{}");
    expect_failure(NOD_E_USAGE, "calls nod_elicit with a blank .message");
    bench_call(approves_nothing, "{}");
    expect_failure(NOD_E_USAGE, "calls nod_approve with a blank .message");
    bench_call(opens_nothing, "{}");
    expect_failure(NOD_E_USAGE, "calls nod_elicit_url with a blank .message");
    bench_call(asks_each_nothing, "{}");
    expect_failure(NOD_E_USAGE, "calls nod_each, and its .ask gave no message");
    bench_call(samples_nothing, "{}");
    expect_failure(NOD_E_USAGE, "calls nod_sample with a blank .prompt");
    bench_call(asks_with_a_blank_title, "{}");
    expect_failure(NOD_E_BAD_SCHEMA, "is blank: leave it out, or say something");
    assert_int_equal(b.ask_count, 0);
}

static char *long_text(nod_call *call, size_t len)
{
    char *text = nod_alloc(call, len + 1);

    memset(text, 'x', len);
    text[len] = '\0';
    return text;
}

static nod_status asks_at_length(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = long_text(call, 40000)));
    return nod_reply_text(call, "asked");
}

static nod_status asks_with_much_detail(nod_call *call)
{
    nod_answer answer;
    char *schema = long_text(call, 300000);

    memset(schema, ' ', 300000);
    memcpy(schema, "{\"type\":\"object\",\"properties\":{}}", 33);
    NOD_TRY(nod_elicit(call, &answer, .message = "Who?", .schema = schema));
    return nod_reply_text(call, "asked");
}

static nod_status opens_at_length(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit_url(call, &answer, .message = "Open it",
                           .url = nod_fmt(call, "https://a.example/%s", long_text(call, 9000))));
    return nod_reply_text(call, "asked");
}

static nod_status opens_ftp(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit_url(call, &answer, .message = "Open it", .url = "ftp://x"));
    return nod_reply_text(call, "asked");
}

static void what_is_too_long_is_named_with_its_tool_and_its_length(void **state)
{
    (void)state;
    bench_call(asks_at_length, "{}");
    expect_failure(NOD_E_LIMIT, "A question of tool-");
    expect_failure(NOD_E_LIMIT, " has a message of 40000 bytes; it may have 32768");
    bench_call(asks_with_much_detail, "{}");
    expect_failure(NOD_E_LIMIT, " has a schema of 300000 bytes; it may have 65536");
    bench_call(opens_at_length, "{}");
    expect_failure(NOD_E_LIMIT, " has a URL of 9018 bytes; it may have 2048");
    bench_call(opens_ftp, "{}");
    expect_failure(NOD_E_USAGE, "The tool tool-");
    expect_failure(NOD_E_USAGE, " calls nod_elicit_url with a .url that nobody is "
                                "sent to: it has to be https, or http on this machine");
}

static nod_status confirms_nowhere(nod_call *call)
{
    NOD_TRY(nod_confirm(call, NULL, .message = "Sure?"));
    return nod_reply_text(call, "asked");
}

static nod_status elicits_nowhere(nod_call *call)
{
    NOD_TRY(nod_elicit(call, NULL, .message = "Who?"));
    return nod_reply_text(call, "asked");
}

static nod_status approves_nowhere(nod_call *call)
{
    NOD_TRY(nod_approve(call, NULL, .message = "Sure?"));
    return nod_reply_text(call, "asked");
}

static nod_status wants_nowhere(nod_call *call)
{
    NOD_TRY(nod_want(call, NULL, .message = "Who?"));
    NOD_TRY(nod_await(call));
    return nod_reply_text(call, "asked");
}

static nod_status samples_nowhere(nod_call *call)
{
    NOD_TRY(nod_sample(call, NULL, .prompt = "Who?"));
    return nod_reply_text(call, "asked");
}

static void an_answer_needs_a_place(void **state)
{
    nod_status (*const handlers[])(nod_call *) = { confirms_nowhere, elicits_nowhere,
                                                   approves_nowhere, wants_nowhere,
                                                   samples_nowhere };
    (void)state;

    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        bench_call(handlers[i], "{}");
        expect_failure(NOD_E_USAGE, "with NULL for the answer: give it a place");
    }
    assert_int_equal(b.ask_count, 0);
}

static nod_status nothing_done(nod_step_run *step, void *arg)
{
    (void)step, (void)arg;
    return NOD_OK;
}

static nod_status makes_keys_of_an_answer(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = "who", .message = "Who?",
                       .form = NOD_FORM(NOD_TEXT("name"), NOD_TEXT("size"), NOD_INT("age"))));
    const char *key = nod_key(call, "mail-%s-%s%s-%lld", nod_get_str(answer.content, "name"),
                              nod_get_str(answer.content, "size"), "mall",
                              (long long)nod_get_int(answer.content, "age"));
    NOD_TRY(nod_step(call, key, nothing_done, NULL, NULL));
    NOD_TRY(nod_step(call, key, nothing_done, NULL, NULL));
    return nod_reply_text(call, "mailed");
}

static void what_a_person_has_answered_is_not_in_the_log(void **state)
{
    (void)state;
    bench_call(makes_keys_of_an_answer, "{}");
    log_begin();
    bench_answer(ASK_ACCEPTED, "{\"name\":\"Zebedee\",\"size\":\"s\",\"age\":36}");
    log_end();
    expect_failure(NOD_E_USAGE, "uses the key 'mail-Zebedee-small-36' for two steps");
    expect_said("uses the key 'mail-[answer]-small-[answer]' for two steps");
    expect_said("code=HANDLER_BUG");
}

static void a_mistake_is_an_error_in_the_log_with_everything_that_finds_it(void **state)
{
    (void)state;
    local_source(b.local, "tools/files.c", 120);
    log_begin();
    bench_call(confirms_nothing, "{}");
    log_end();
    expect_said("level=error");
    expect_said("a mistake in the program");
    expect_said("calls nod_confirm with a blank .message");
    expect_said("code=HANDLER_BUG");
    expect_said("tool=tool-");
    expect_said("principal=ada");
    expect_said("source=tools/files.c:120");
    expect_said("error=");
}

/* --- calls that fail --- */

static nod_status asks_age(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(
        call, &answer, .message = "How old?",
        .form = NOD_FORM(NOD_TEXT("who", .title = "Name", .pattern = "^[A-Z]+$", .hint = "ADA"))));
    return nod_reply_text(call, "asked");
}

static void a_failed_call_is_logged_with_its_sentence_and_without_what_a_person_said(void **state)
{
    (void)state;
    log_begin();
    bench_call(asks_age, "{}");
    bench_answer(ASK_ACCEPTED, "{\"who\":\"something private\"}");
    log_end();
    expect_failure(NOD_E_INVALID, "Invalid elicitation result content: Name: must look like ADA");
    expect_said("level=info");
    expect_said("Name: must look like ADA");
    expect_said("code=INVALID_INPUT");
    expect_said("principal=ada");
    assert_null(strstr(said, "private"));
}

static nod_status fails_itself(nod_call *call)
{
    return nod_reply_error(call, "The disk is full");
}

static void a_failure_that_the_tool_tells_itself_is_logged_too(void **state)
{
    (void)state;
    log_begin();
    bench_call(fails_itself, "{}");
    log_end();
    expect_said("why=\"The disk is full\"");
    expect_said("code=TOOL_FAILED");
    expect_said("principal=ada");
}

/* --- nobody could be asked --- */

static nod_status confirms_twice(nod_call *call)
{
    bool yes, again;

    NOD_TRY(nod_confirm(call, &yes, .message = "Go on?", .key = "a"));
    NOD_TRY(nod_confirm(call, &again, .message = "Really?", .key = "b"));
    return nod_reply_text(call, yes || again ? "yes" : "no");
}

static void that_nobody_could_be_asked_is_a_warning_that_names_what_is_missing(void **state)
{
    (void)state;
    b.can = 0;
    log_begin();
    bench_call(confirms_twice, "{}");
    log_end();
    expect_body(TEXT_BODY("no"));
    expect_said("level=warn");
    expect_said("nobody could be asked");
    expect_said("The client does not support elicitation in form mode");
    expect_said("principal=ada");
    assert_null(strstr(strstr(said, "nobody could be asked") + 1, "nobody could be asked"));
}

/* --- a handler that takes its time --- */

static nod_status takes_long(nod_call *call)
{
    usleep(120 * 1000);
    return nod_reply_text(call, "done");
}

static void a_handler_that_holds_the_loop_is_named(void **state)
{
    (void)state;
    log_begin();
    bench_call(takes_long, "{}");
    log_end();
    expect_body(TEXT_BODY("done"));
    expect_said("level=warn");
    expect_said("held the loop");
    expect_said(".blocking");
    expect_said("target=tool-");

    log_begin();
    bench_call_as(takes_long, "{}", &(nod_tool){ .blocking = true });
    log_end();
    assert_null(strstr(said, "held the loop"));
}

SUBJECT(messages)
{
#define T(test) cmocka_unit_test_setup_teardown(test, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        T(what_is_wrong_with_a_tool_is_said_in_a_sentence),
        T(a_preset_that_refers_elsewhere_is_left_alone),
        T(a_secret_among_the_arguments_is_a_warning),
        T(a_blank_message_is_a_mistake_that_names_the_call),
        T(text_of_a_form_that_is_not_utf8_is_shown_with_marks),
        T(an_answer_needs_a_place),
        T(what_is_too_long_is_named_with_its_tool_and_its_length),
        T(what_a_person_has_answered_is_not_in_the_log),
        T(a_mistake_is_an_error_in_the_log_with_everything_that_finds_it),
        T(a_failed_call_is_logged_with_its_sentence_and_without_what_a_person_said),
        T(a_failure_that_the_tool_tells_itself_is_logged_too),
        T(that_nobody_could_be_asked_is_a_warning_that_names_what_is_missing),
        T(a_handler_that_holds_the_loop_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
