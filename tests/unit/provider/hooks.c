/*
 * tests/unit/provider/hooks: hooks as in nod.h.
 *
 * Stages, kinds and orders are tested in the core (core/hooks.c). Here it is what a C function
 * reads, writes, asks and returns, and what it is told when it makes a mistake.
 */
#include "handler_bench.h"
#include "json/shown.h"
#include "../runner.h"

#include <pthread.h>
#include <string.h>

static nod_status echo(nod_call *call)
{
    return nod_reply_text(call, nod_arg_str_or(call, "word", "nothing"));
}

static nod_status asks(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Which word?",
                       .form = NOD_FORM(NOD_TEXT("word", .required = true))));
    return nod_reply_text(call, nod_get_str(answer.content, "word"));
}

static void add(const struct nod_hook_opts *opts)
{
    struct nod_hook_opts sized = *opts;

    sized.size = sizeof(sized);
    assert_int_equal(local_add_hook(b.local, engine_hooks(b.engine), &sized), NOD_OK);
}

static void add_at(nod_flow flow, const char *stage, nod_hook_kind kind, nod_hook_fn *fn)
{
    add(&(struct nod_hook_opts){ .flow = flow, .stage = stage, .kind = kind, .fn = fn });
}

/* --- reading --- */

static char seen[512];

static nod_status reads(nod_hook_run *hook, void *data)
{
    size_t len = strlen(seen);

    (void)data;
    snprintf(seen + len, sizeof(seen) - len, "%d.%s %s by %s key=%s msg=%s kind=%d act=%s in=%s\n",
             (int)nod_hook_flow(hook), nod_hook_stage(hook),
             strchr(nod_hook_target(hook), '-') ? "tool" : "?", nod_hook_principal(hook),
             nod_hook_ask_key(hook), nod_hook_message(hook), (int)nod_hook_ask_kind(hook),
             nod_hook_action(hook), nod_get_str(nod_hook_content(hook), "word"));
    return NOD_OK;
}

static nod_status reads_end(nod_hook_run *hook, void *data)
{
    (void)data;
    snprintf(seen, sizeof(seen), "%d %s %s", (int)nod_hook_status(hook),
             nod_get_str(nod_at(nod_get(nod_hook_result(hook), "content"), 0), "text"),
             nod_get_str(nod_hook_args(hook), "word"));
    return NOD_OK;
}

static void what_it_is_about_can_be_read(void **state)
{
    (void)state;
    seen[0] = '\0';
    add_at(NOD_FLOW_CALL, "authorise", NOD_WILL, reads);
    add_at(NOD_FLOW_ASK, "finalize", NOD_DID, reads);
    add_at(NOD_FLOW_ANSWER, "parseInput", NOD_WILL, reads);
    add_at(NOD_FLOW_ANSWER, "buildResult", NOD_WILL, reads);
    bench_call(asks, "{}");
    bench_answer(ASK_ACCEPTED, "{\"word\":\"yes\"}");
    expect_body(TEXT_BODY("yes"));
    assert_string_equal(
        seen, "0.authorise tool by ada key= msg= kind=0 act= in=\n"
              "1.finalize tool by ada key=#1 msg=Which word? kind=1 act= in=\n"
              "2.parseInput tool by ada key=#1 msg=Which word? kind=1 act=accepted in=yes\n"
              "2.buildResult tool by ada key=#1 msg=Which word? kind=1 act=accepted in=yes\n");
}

static void the_end_can_be_read(void **state)
{
    (void)state;
    add_at(NOD_FLOW_CALL, "finish", NOD_WILL, reads_end);
    bench_call(echo, "{\"word\":\"hello\"}");
    assert_string_equal(seen, "0 hello hello");
}

/* --- writing --- */

static nod_status writes_args(nod_hook_run *hook, void *data)
{
    nod_call *call = nod_hook_call(hook);
    nod_json *args = nod_object(call);

    nod_set_str(call, args, "word", data);
    return nod_hook_set_args(hook, args);
}

static void arguments_are_written(void **state)
{
    (void)state;
    add(&(struct nod_hook_opts){
        .flow = NOD_FLOW_CALL, .stage = "start", .fn = writes_args, .data = (void *)"written" });
    bench_call(echo, "{\"word\":\"hello\"}");
    expect_body(TEXT_BODY("written"));
}

static void a_confirmation_shows_the_arguments_as_a_hook_has_written_them(void **state)
{
    static char word[2 * SHOWN_MAX];

    (void)state;
    memset(word, 'x', sizeof(word) - 1);
    add(&(struct nod_hook_opts){
        .flow = NOD_FLOW_CALL, .stage = "gate", .fn = writes_args, .data = word });
    bench_call_as(echo, "{\"word\":\"hello\"}", &(nod_tool){ .requires_confirmation = true });
    assert_int_equal(b.ask_count, 1);
    struct str message = str_of(b.asks[0].message);
    assert_true(str_find(message, STR("Arguments: {\"word\":\"xxx")) > 0);
    assert_true(str_ends(message, STR(" bytes of the arguments. They can be seen nowhere.")));
    bench_answer(ASK_DECLINED, NULL);
}

static void arguments_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    add(&(struct nod_hook_opts){ .flow = NOD_FLOW_CALL,
                                 .stage = "gate",
                                 .fn = writes_args,
                                 .data = (void *)"far too long" });
    bench_call_as(echo, "{\"word\":\"ok\"}",
                  &(nod_tool){ .input = NOD_FORM(NOD_TEXT("word", NOD_MAX(4))) });
    expect_failure(NOD_E_INVALID, "/word");
}

static nod_status writes_content(nod_hook_run *hook, void *data)
{
    nod_call *call = nod_hook_call(hook);
    nod_json *content = nod_object(call);

    (void)data;
    nod_set_str(call, content, "word",
                nod_fmt(call, "%s!", nod_get_str(nod_hook_content(hook), "word")));
    return nod_hook_set_content(hook, content);
}

static void the_content_of_an_answer_is_written(void **state)
{
    (void)state;
    add_at(NOD_FLOW_ANSWER, "parseInput", NOD_WILL, writes_content);
    bench_call(asks, "{}");
    bench_answer(ASK_ACCEPTED, "{\"word\":\"yes\"}");
    expect_body(TEXT_BODY("yes!"));
}

static nod_status replies(nod_hook_run *hook, void *data)
{
    (void)nod_reply_text(nod_hook_call(hook), data);
    return nod_hook_set_result(hook, NULL);
}

static void a_hook_replies_in_place_of_the_tool(void **state)
{
    (void)state;
    add(&(struct nod_hook_opts){ .flow = NOD_FLOW_CALL,
                                 .stage = "start",
                                 .kind = NOD_INSTEAD,
                                 .fn = replies,
                                 .data = (void *)"from a hook" });
    bench_call(echo, "{\"word\":\"hello\"}");
    expect_body(TEXT_BODY("from a hook"));
}

static nod_status turns_into_failure(nod_hook_run *hook, void *data)
{
    (void)data;
    return nod_hook_fail(hook, NOD_E_FAILED, "NOT_GOOD", "%s is not good", nod_hook_target(hook));
}

static void a_result_is_turned_into_a_failure(void **state)
{
    (void)state;
    add_at(NOD_FLOW_CALL, "finish", NOD_WILL, turns_into_failure);
    bench_call(echo, "{\"word\":\"hello\"}");
    expect_failure(NOD_E_FAILED, "is not good");
    assert_string_equal(b.code, "NOT_GOOD");
}

/* --- asking --- */

static int closed;

static void closes(void *data)
{
    (void)data;
    closed++;
}

static nod_status confirms(nod_hook_run *hook, void *data)
{
    nod_call *call = nod_hook_call(hook);
    bool yes;

    (void)data;
    nod_defer(call, closes, NULL);
    NOD_TRY(nod_confirm(call, &yes, .message = "Sure?", .key = "sure"));
    return yes ? NOD_OK : nod_hook_fail(hook, NOD_E_REFUSED, NULL, "Not sure.");
}

static nod_status swallows(nod_hook_run *hook, void *data)
{
    bool yes = false;
    nod_status status = nod_confirm(nod_hook_call(hook), &yes, .message = "Sure?");

    (void)status;
    (void)data;
    return NOD_OK; /* a NOD_PENDING that is not passed on */
}

static void a_hook_at_the_gate_asks(void **state)
{
    (void)state;
    closed = 0;
    add(&(struct nod_hook_opts){
        .flow = NOD_FLOW_CALL, .stage = "gate", .fn = confirms, .name = "sure" });
    bench_call(echo, "{\"word\":\"hello\"}");
    assert_false(b.finished);
    assert_string_equal(b.asks[0].key, "nod.sure.sure");
    assert_int_equal(closed, 1); /* what was opened in a run is closed with it */
    bench_answer(ASK_ACCEPTED, NULL);
    expect_body(TEXT_BODY("hello"));
    assert_int_equal(closed, 2);

    bench_call(echo, "{\"word\":\"hello\"}");
    bench_answer(ASK_DECLINED, NULL);
    expect_failure(NOD_E_REFUSED, "Not sure.");
}

static void a_question_that_a_hook_forgets_about_is_waited_for(void **state)
{
    (void)state;
    add(&(struct nod_hook_opts){
        .flow = NOD_FLOW_CALL, .stage = "gate", .fn = swallows, .name = "forgets" });
    bench_call(echo, "{\"word\":\"hello\"}");
    assert_false(b.finished);
    bench_answer(ASK_ACCEPTED, NULL);
    expect_body(TEXT_BODY("hello"));
}

static void a_hook_asks_nowhere_else(void **state)
{
    (void)state;
    add(&(struct nod_hook_opts){
        .flow = NOD_FLOW_CALL, .stage = "start", .fn = confirms, .name = "sure" });
    bench_call(echo, "{}");
    expect_failure(NOD_E_USAGE, "a hook that is not at gate");
    assert_int_equal(b.ask_count, 0);
}

static void a_hook_without_a_name_does_not_ask(void **state)
{
    (void)state;
    add_at(NOD_FLOW_CALL, "gate", NOD_WILL, confirms);
    bench_call(echo, "{}");
    expect_failure(NOD_E_USAGE, "has no .name");
}

static nod_status reads_what_is_not_there(nod_hook_run *hook, void *data)
{
    (void)data;
    (void)nod_arg_str(nod_hook_call(hook), "missing");
    return NOD_OK;
}

static void a_mistake_of_a_hook_is_named(void **state)
{
    (void)state;
    add_at(NOD_FLOW_CALL, "authorise", NOD_WILL, reads_what_is_not_there);
    bench_call(echo, "{}");
    expect_failure(NOD_E_USAGE, "missing");
}

/* --- later, and around --- */

static nod_status the_end;

static void *finishes(void *arg)
{
    nod_hook_done(arg,
                  the_end == NOD_OK ? NOD_OK : nod_hook_fail(arg, the_end, "LATER", "Said later."));
    return NULL;
}

static nod_status on_a_thread(nod_hook_run *hook, void *data)
{
    pthread_t thread;

    (void)data;
    assert_int_equal(pthread_create(&thread, NULL, finishes, hook), 0);
    pthread_join(thread, NULL); /* it has finished before this returns: that is fine, too */
    return NOD_PENDING;
}

static void a_hook_finishes_from_another_thread(void **state)
{
    (void)state;
    add_at(NOD_FLOW_CALL, "authorise", NOD_WILL, on_a_thread);
    the_end = NOD_OK;
    bench_call(echo, "{\"word\":\"hello\"}");
    expect_body(TEXT_BODY("hello"));
    the_end = NOD_E_REFUSED;
    bench_call(echo, "{\"word\":\"hello\"}");
    expect_failure(NOD_E_REFUSED, "Said later.");
    assert_string_equal(b.code, "LATER");
}

static nod_status comes_out(nod_hook_run *hook, nod_status status, void *data)
{
    assert_int_equal(status, NOD_OK);
    return replies(hook, data);
}

static void *goes_in_later(void *arg)
{
    assert_int_equal(nod_hook_next(arg, comes_out, (void *)"around"), NOD_PENDING);
    return NULL;
}

static nod_status around_on_a_thread(nod_hook_run *hook, void *data)
{
    pthread_t thread;

    (void)data;
    assert_int_equal(pthread_create(&thread, NULL, goes_in_later, hook), 0);
    pthread_join(thread, NULL);
    return NOD_PENDING;
}

static nod_status twice(nod_hook_run *hook, void *data)
{
    assert_int_equal(nod_hook_next(hook, NULL, data), NOD_PENDING);
    return nod_hook_next(hook, NULL, data);
}

static void a_hook_goes_in_from_another_thread(void **state)
{
    (void)state;
    add_at(NOD_FLOW_CALL, "start", NOD_AROUND, around_on_a_thread);
    bench_call(asks, "{}");
    bench_answer(ASK_ACCEPTED, "{\"word\":\"yes\"}");
    expect_body(TEXT_BODY("around"));
}

static void a_hook_goes_in_once(void **state)
{
    (void)state;
    add_at(NOD_FLOW_CALL, "start", NOD_AROUND, twice);
    bench_call(echo, "{}");
    expect_failure(NOD_E_USAGE, "called once");
}

static void a_hook_that_never_finishes_goes_with_the_server(void **state)
{
    (void)state;
    add_at(NOD_FLOW_CALL, "authorise", NOD_WILL, on_a_thread);
    the_end = NOD_OK;
    bench_add("never", echo, NULL);
    bench_start(catalog_find(b.catalog, TARGET_TOOL, STR("never")), "{}", NULL);
    assert_false(b.finished); /* its end is on its way when everything is taken apart */
}

static void a_removed_hook_finishes_from_another_thread_and_others_go_on(void **state)
{
    struct nod_hook_opts second = { .size = sizeof(second),
                                    .flow = NOD_FLOW_CALL,
                                    .stage = "authorise",
                                    .fn = on_a_thread,
                                    .name = "second" };

    (void)state;
    struct nod_hook_opts first = second;
    first.name = "first";
    assert_int_equal(local_add_hook(b.local, engine_hooks(b.engine), &first), NOD_OK);
    assert_int_equal(local_add_hook(b.local, engine_hooks(b.engine), &second), NOD_OK);
    the_end = NOD_OK;
    bench_add("never", echo, NULL);
    bench_start(catalog_find(b.catalog, TARGET_TOOL, STR("never")), "{}", NULL);
    assert_true(local_remove_hook(b.local, engine_hooks(b.engine),
                                  STR("first"))); /* its end is on its way */
    assert_false(local_remove_hook(b.local, engine_hooks(b.engine), STR("first")));
    assert_false(local_remove_hook(b.local, engine_hooks(b.engine), STR_NONE));
    bench_turn(false);
    assert_int_equal(b.status, NOD_OK);
    bench_call(echo, "{}"); /* what is left finishes from its thread as before */
    assert_int_equal(b.status, NOD_OK);
}

/* --- a target of another provider --- */

static void other_start(struct provider *provider, struct run *run)
{
    (void)provider;
    run_done(run, NOD_OK, run->args->raw);
}

static void a_text_with_a_nul_reaches_another_provider_and_no_hook(void **state)
{
    static const struct provider_ops ops = { .name = "other", .start = other_start };
    static struct provider other = { .ops = &ops };
    static struct target target = { .kind = TARGET_TOOL,
                                    .name = STR_INIT("other"),
                                    .provider = &other };

    (void)state;
    bench_start(&target, "{\"a\":\"x\\u0000y\"}", NULL);
    bench_turn(false);
    expect_body("{\"a\":\"x\\u0000y\"}");
    add_at(NOD_FLOW_CALL, "authorise", NOD_WILL, on_a_thread);
    bench_start(&target, "{\"a\":\"x\\u0000y\"}", NULL);
    bench_turn(false);
    expect_failure(NOD_E_INVALID, "NUL");
}

/* --- options of another size --- */

static void options_of_an_older_program_are_read(void **state)
{
    struct nod_hook_opts opts = { .size = offsetof(struct nod_hook_opts, name),
                                  .flow = NOD_FLOW_CALL,
                                  .stage = "start",
                                  .kind = NOD_INSTEAD,
                                  .fn = replies,
                                  .data = (void *)"old",
                                  .target = "not read" };

    (void)state;
    assert_int_equal(local_add_hook(b.local, engine_hooks(b.engine), &opts), NOD_OK);
    bench_call(echo, "{}");
    expect_body(TEXT_BODY("old"));
    opts.size = sizeof(opts);
    opts.flow = 9;
    assert_int_equal(local_add_hook(b.local, engine_hooks(b.engine), &opts), NOD_E_USAGE);
    assert_int_equal(local_add_hook(b.local, engine_hooks(b.engine), &(struct nod_hook_opts){ 0 }),
                     NOD_E_USAGE);
}

#define BENCH_TEST(test) cmocka_unit_test_setup_teardown(test, bench_setup, bench_teardown)

SUBJECT(hooks)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(what_it_is_about_can_be_read),
        BENCH_TEST(the_end_can_be_read),
        BENCH_TEST(arguments_are_written),
        BENCH_TEST(a_confirmation_shows_the_arguments_as_a_hook_has_written_them),
        BENCH_TEST(arguments_that_do_not_fit_are_refused),
        BENCH_TEST(the_content_of_an_answer_is_written),
        BENCH_TEST(a_hook_replies_in_place_of_the_tool),
        BENCH_TEST(a_result_is_turned_into_a_failure),
        BENCH_TEST(a_hook_at_the_gate_asks),
        BENCH_TEST(a_question_that_a_hook_forgets_about_is_waited_for),
        BENCH_TEST(a_hook_asks_nowhere_else),
        BENCH_TEST(a_hook_without_a_name_does_not_ask),
        BENCH_TEST(a_mistake_of_a_hook_is_named),
        BENCH_TEST(a_hook_finishes_from_another_thread),
        BENCH_TEST(a_hook_goes_in_from_another_thread),
        BENCH_TEST(a_hook_goes_in_once),
        BENCH_TEST(a_hook_that_never_finishes_goes_with_the_server),
        BENCH_TEST(a_removed_hook_finishes_from_another_thread_and_others_go_on),
        BENCH_TEST(a_text_with_a_nul_reaches_another_provider_and_no_hook),
        BENCH_TEST(options_of_an_older_program_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
