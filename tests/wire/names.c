/*
 * tests/wire/names: tools whose names are paths, for clients that are shown other names.
 *
 * A hook says on standard error which target it has seen: hooks are given the path.
 */
#include <nod/nod.h>
#include <stdio.h>
#include <stdlib.h>

static nod_status elicit_word(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Which word?",
                       .form = NOD_FORM(NOD_TEXT("word", .required = true))));
    return nod_reply_textf(call, "%s %s", nod_arg_str(call, "title"),
                           answer.action == NOD_ACCEPT ? nod_get_str(answer.content, "word") : "-");
}

static nod_status create_issue(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = "Create the issue?",
                        .tool_path = "github.issues.create"));
    return nod_reply_text(call, approval.approved ? "created" : "not created");
}

static nod_status add_note(nod_call *call)
{
    return nod_reply_text(call, "added");
}

static nod_status say_target(nod_hook_run *hook, void *data)
{
    (void)data;
    fprintf(stderr, "the hook has seen %s\n", nod_hook_target(hook));
    return NOD_OK;
}

#define TITLE NOD_FORM(NOD_TEXT("title", .required = true))

static const nod_tool tools[] = {
    { .name = "github.issues.create",
      .handler = create_issue,
      .input = TITLE,
      .remember = NOD_REMEMBER_PRINCIPAL | NOD_REMEMBER_TOOL,
      .asks = true },
    { .name = "github.issues.ask", .handler = elicit_word, .input = TITLE, .asks = true },
    { .name = "github.issues.task",
      .handler = elicit_word,
      .input = TITLE,
      .asks = true,
      .task = NOD_TASK_REQUIRED },
    { .name = "notes/add-1", .handler = add_note },
    { .name = "plain_2", .handler = add_note },
    { .name = "shapes.odd", /* what its listing has is listed as it is */
      .handler = add_note,
      .title = "Odd \u00e9",
      .description = "name",
      .input_schema = "{\"type\":\"object\",\"properties\":{\"name\":{\"maximum\":1.50}}}",
      .output_schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"const\":1e2}}}",
      .meta = "{\"x/y\":[1E+2, {\"name\":\"shapes.odd\"}]}" },
};

static const nod_tool also[] = { { .name = "github_issues.ask", .handler = add_note } };

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "names", .version = "1");

    if (nod_tools(server, tools) != NOD_OK ||
        (getenv("NAMES_MEET") && nod_tools(server, also) != NOD_OK) ||
        nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "start", .kind = NOD_WILL,
                 .fn = say_target, .target = "github.*") != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
