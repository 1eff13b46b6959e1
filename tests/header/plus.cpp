// The public header from C++: no macro with designated initialisers, only the _with functions.
#include <nod/nod.h>
#include <nod/test.h>

#include <cstdio>
#include <cstring>

namespace
{

nod_status effect(nod_step_run *step, void *arg)
{
    nod_json *result = nod_object(nod_step_call(step));

    nod_set_str(nod_step_call(step), result, "row", static_cast<const char *>(arg));
    nod_step_result(step, result);
    return NOD_OK;
}

nod_status remove_row(nod_call *call)
{
    nod_confirm_opts confirm{};
    nod_step_opts step{};
    const nod_json *result = nullptr;
    bool yes = false;
    char row[] = "7";

    confirm.size = sizeof(confirm);
    confirm.message = nod_fmt(call, "Remove row %s?", row);
    NOD_TRY(nod_confirm_with(call, &yes, &confirm));
    if (!yes)
        return nod_reply_text(call, "Nothing was removed.");
    step.size = sizeof(step);
    NOD_TRY(nod_step_with(call, "remove", effect, row, &result, &step));
    return nod_reply_textf(call, "Removed %s.", nod_get_str(result, "row"));
}

const char *about(nod_call *call, void *item)
{
    return nod_fmt(call, "Remove row %s?", *static_cast<const char **>(item));
}

nod_status effect_of_each(nod_step_run *step, void *item)
{
    return effect(step, const_cast<char *>(*static_cast<const char **>(item)));
}

nod_status remove_rows(nod_call *call)
{
    const char *rows[] = {"7", "8"};
    nod_each_result results[2];
    nod_each_opts each{};

    each.size = sizeof(each);
    each.key = "row";
    each.ask = about;
    each.step = effect_of_each;
    NOD_TRY(nod_each_with(call, rows, 2, sizeof(rows[0]), results, &each));
    return nod_reply_textf(call, "%s %d", nod_get_str(results[0].result, "row"), results[1].yes);
}

int test_it(const nod_tool *tool)
{
    nod_test *test = nod_test_create(tool, 1, sizeof(*tool));

    nod_test_accept(test, nullptr, nullptr);
    nod_test_decline(test, nullptr);
    nod_test_call(test, tool->name, nullptr);
    NOD_EXPECT_TEXT(test, "7 0");
    NOD_EXPECT_STEPS(test, 1);
    return nod_test_end(test);
}

} // namespace

int main()
{
    nod_server_opts opts{};
    nod_field field{};
    nod_form form{sizeof(nod_field), &field, 1};
    nod_tool tool{};

    opts.size = sizeof(opts);
    opts.name = "plus";
    opts.version = NOD_VERSION;
    nod_server *server = nod_server_create(&opts);
    if (!server)
        return 1;
    field.name = "row";
    field.kind = NOD_FIELD_INT;
    tool.name = "remove_row";
    tool.handler = remove_row;
    tool.input = &form;
    nod_status status = nod_add_tools(server, &tool, 1, sizeof(tool));
    bool removed = nod_remove_tool(server, "remove_row");
    removed = removed && !nod_remove_resource(server, "row://remove") &&
              !nod_remove_prompt(server, "remove_row") && !nod_remove_hook(server, "remove_row");
    nod_server_destroy(server);
    nod_tool rows{};
    rows.name = "remove_rows";
    rows.handler = remove_rows;
    if (test_it(&rows) != 0)
        return 1;
    std::printf("%s\n", nod_status_name(status));
    return status == NOD_OK && removed ? 0 : 1;
}
