/* The public header as strict compilers read it: every macro that takes options, with and without.
 */
#include <nod/nod.h>
#include <nod/test.h>

static nod_status effect(nod_step_run *step, void *arg)
{
    (void)step;
    (void)arg;
    return NOD_OK;
}

static const char *about(nod_call *call, void *item)
{
    return nod_key(call, "Item %d?", *(const int *)item);
}

static nod_status everything(nod_call *call)
{
    static const int items[] = { 1, 2 };
    nod_each_result results[2];
    const nod_json *result;
    nod_answer answer, other, roots;
    nod_approval approval;
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Go on?"));
    NOD_TRY(nod_approve(call, &approval, .message = "Pay?", .form = NOD_FORM(NOD_TEXT("why"))));
    NOD_TRY(nod_elicit(
        call, &answer, .message = "Who?", .key = "who",
        .form = NOD_FORM(
            NOD_TEXT("name", .title = "Name", NOD_MIN(1), NOD_MAX(80)), NOD_INT("age"),
            NOD_INT("floor", NOD_MIN(0)), NOD_NUMBER("weight", NOD_MAX(31.5)),
            NOD_BOOL("sure", .required = true),
            NOD_CHOICE("size", NOD_OPTIONS({ "s", "Small" }, { "l", "Large" })),
            NOD_CHOICES("extras", NOD_OPTIONS({ "a", "A" }), .title = "Extras", NOD_MAX(2)))));
    NOD_TRY(nod_elicit_url(call, &answer, .message = "Sign in", .url = "https://example.org/"));
    NOD_TRY(nod_sample(call, &answer, .prompt = "A word"));
    NOD_TRY(nod_want(call, &answer, .message = "One?"));
    NOD_TRY(nod_want_sample(call, &other, .prompt = "Two"));
    NOD_TRY(nod_want_roots(call, &roots));
    NOD_TRY(nod_want_roots(call, &roots, .key = "roots", .ttl_ms = 1000));
    NOD_TRY(nod_await(call));
    NOD_TRY(nod_step(call, "one", effect, NULL, NULL));
    NOD_TRY(nod_step(call, "two", effect, NULL, &result, .idempotent = true));
    NOD_TRY(
        nod_step(call, "three", effect, NULL, &result, .idempotent = true, .at_most_once = false));
    NOD_TRY(nod_each(call, items, 2, results, .key = "item", .ask = about, .step = effect));
    return nod_require_url(call, .message = "Sign in", .url = "https://example.org/");
}

static const nod_tool tested[] = { { .name = "everything", .handler = everything } };

int test_it(void);
int test_it(void)
{
    nod_test *t = nod_test_new(tested);

    nod_test_accept(t, NULL, "{}");
    (void)nod_test_call(t, "everything", NULL);
    NOD_EXPECT_TEXT(t, "done");
    NOD_EXPECT_MATCH(t, "on");
    NOD_EXPECT_JSON(t, "{}");
    NOD_EXPECT_CODE(t, "REFUSED");
    NOD_EXPECT_STEPS(t, 1);
    NOD_EXPECT_QUESTIONS(t, 1);
    NOD_EXPECT(t, nod_test_is_error(t));
    return nod_test_end(t);
}

static nod_status rule(nod_hook_run *hook, void *data)
{
    (void)hook;
    (void)data;
    return NOD_OK;
}

static const nod_tool tools[] = {
    { .name = "everything",
      .handler = everything,
      .input = NOD_FORM(NOD_TEXT("path", .required = true)) },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "strict", .version = NOD_VERSION);

    if (!server || nod_tools(server, tools) != NOD_OK ||
        nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "gate", .fn = rule) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
