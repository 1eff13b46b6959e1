/*
 * tests/wire/plugins/doorman: a plugin that has one hook alone, which asks before every call
 * whether it may begin.
 */
#include <nod/nod.h>

static nod_status ask_first(nod_hook_run *hook, void *data)
{
    bool yes;

    (void)data;
    NOD_TRY(nod_confirm(nod_hook_call(hook), &yes, .message = "May it begin?"));
    return yes ? NOD_OK : nod_hook_fail(hook, NOD_E_REFUSED, "DOORMAN", "The doorman said no.");
}

static nod_status load(nod_server *server)
{
    return nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "gate", .fn = ask_first,
                    .name = "doorman");
}

NOD_PLUGIN(.name = "doorman", .version = "1", .load = load);
