/*
 * tests/unit/provider/numbers: a handler never reads another number than was sent.
 */
#include "handler_bench.h"
#include "../runner.h"

static nod_status number_texts(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "How many?",
                       .form = NOD_FORM(NOD_INT("n"), NOD_NUMBER("x"))));
    return nod_reply_textf(
        call, "%s %s %s [%s] [%s] %s", nod_arg_number_text(call, "n"),
        nod_get_number_text(answer.content, "n"), nod_get_number_text(answer.content, "x"),
        nod_get_number_text(answer.content, "no"), nod_get_number_text(nod_args(call), "word"),
        nod_arg_number_text_or(call, "no", "none"));
}

static void line23_the_exact_text_of_a_number_is_there_for_those_who_want_it(void **state)
{
    (void)state;
    bench_call(number_texts, "{\"n\":123456789012345678901234567890,\"word\":\"w\"}");
    bench_answer(ASK_ACCEPTED, "{\"n\":9007199254740993,\"x\":0.10}");
    expect_body(TEXT_BODY("123456789012345678901234567890 9007199254740993 0.10 [] [] none"));
}

static nod_status reads_text_as_number(nod_call *call)
{
    return nod_reply_text(call, nod_arg_number_text(call, "word"));
}

static void line23_what_is_no_number_has_no_text_of_one(void **state)
{
    (void)state;
    bench_call(reads_text_as_number, "{\"word\":\"w\"}");
    expect_failure(NOD_E_USAGE, "\"word\" as a number");
    bench_call(reads_text_as_number, "{}");
    expect_failure(NOD_E_USAGE, "nod_arg_number_text_or");
}

static void line23_no_answer_reads_as_another_number(void **state)
{
    static const char *const refused[] = {
        "{\"n\":9223372036854775808}",
        "{\"n\":-9223372036854775809}",
        "{\"n\":1e19}",
        "{\"n\":1e400}",
        "{\"x\":1e309}",
        "{\"x\":-1e400}",
    };
    static const char *const taken[] = { "{\"n\":9223372036854775807}",
                                         "{\"n\":-9223372036854775808}", "{\"n\":1e18}",
                                         "{\"x\":1.7976931348623157e308}", "{\"x\":1e-400}" };
    (void)state;

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        bench_call(number_texts, "{\"n\":1}");
        bench_answer(ASK_ACCEPTED, refused[i]);
        expect_failure(NOD_E_INVALID, "Invalid elicitation result content");
    }
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        bench_call(number_texts, "{\"n\":1}");
        bench_answer(ASK_ACCEPTED, taken[i]);
        assert_true(b.finished && b.status == NOD_OK);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

SUBJECT(numbers)
{
    const struct CMUnitTest tests[] = {
        T(line23_the_exact_text_of_a_number_is_there_for_those_who_want_it),
        T(line23_what_is_no_number_has_no_text_of_one),
        T(line23_no_answer_reads_as_another_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
