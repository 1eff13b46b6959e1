/* The public header as strict compilers read it: every macro that takes options, with and without.
 */
#include <nod/nod.h>

static nod_status effect(nod_step_run *step, void *arg)
{
    (void)step;
    (void)arg;
    return NOD_OK;
}

static nod_status everything(nod_call *call)
{
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
    return nod_require_url(call, .message = "Sign in", .url = "https://example.org/");
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
