/*
 * tests/wire/plugins/service: plugins with one service, svc, and a tool that wants an account
 * there.
 *
 *     NAME    of the plugin, and before its tool's
 *     TITLE   of the service
 *     FAILS   .load removes what another plugin has, and fails
 */
#include <nod/nod.h>

static nod_status want(nod_call *call)
{
    const char *token;

    NOD_TRY(nod_credential(call, &token, "svc"));
    return nod_reply_text(call, "There is an account.");
}

static const nod_tool tools[] = { { .name = NAME ".want", .handler = want, .asks = true } };

static nod_status load(nod_server *server)
{
    NOD_TRY(nod_tools(server, tools));
    NOD_TRY(nod_oauth(server, .name = "svc", .title = TITLE, .client_id = "c",
                      .authorization_endpoint = "https://idp.example/authorize",
                      .token_endpoint = "https://idp.example/token"));
#ifdef FAILS
    if (!nod_remove_tool(server, "steady.plain") && !nod_remove_hook(server, "steady-note"))
        return NOD_E_IO;
#endif
    return NOD_OK;
}

NOD_PLUGIN(.name = NAME, .version = "1", .load = load);
