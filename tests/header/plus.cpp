// The public header from C++: no macro with designated initialisers, only the _with functions.
#include <nod/nod.h>

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
    nod_server_destroy(server);
    std::printf("%s\n", nod_status_name(status));
    return status == NOD_OK && removed ? 0 : 1;
}
