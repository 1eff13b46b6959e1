/*
 * where-server: tools that ask one thing each, for the tables of docs/where.md.
 *
 * Each says "nobody" if nobody could be asked. Each is there twice, the second time without .asks.
 */
#include <nod/nod.h>

static nod_status told(nod_call *call, nod_status status, nod_action action)
{
    if (status == NOD_E_NOT_SUPPORTED)
        return nod_reply_text(call, "nobody");
    if (status != NOD_OK)
        return status;
    return nod_reply_text(call, action == NOD_ACCEPT ? "yes" : "no");
}

static nod_status ask_data(nod_call *call)
{
    nod_answer answer = { 0 };
    nod_status status = nod_elicit(call, &answer, .message = "Which word?",
                                   .form = NOD_FORM(NOD_TEXT("word", .required = true)));

    return told(call, status, answer.action);
}

static nod_status ask_yes(nod_call *call)
{
    nod_approval approval;
    nod_status status = nod_approve(call, &approval, .message = "Shall it be done?");

    if (status == NOD_OK && approval.action == NOD_UNASKED)
        return nod_reply_text(call, "nobody");
    return told(call, status, approval.action);
}

static nod_status ask_link(nod_call *call)
{
    nod_answer answer = { 0 };
    nod_status status =
        nod_elicit_url(call, &answer, .message = "Please pay.", .url = "https://example.com/pay");

    return told(call, status, answer.action);
}

static nod_status ask_page(nod_call *call)
{
    nod_answer answer = { 0 };
    nod_status status = nod_elicit_page(call, &answer, .message = "Which word?",
                                        .form = NOD_FORM(NOD_TEXT("word", .required = true)));

    return told(call, status, answer.action);
}

static nod_status ask_secret(nod_call *call)
{
    nod_bytes secret = { 0 };

    return told(call, nod_secret(call, &secret, .name = "key", .message = "The key, please."),
                NOD_ACCEPT);
}

static nod_status ask_account(nod_call *call)
{
    const char *token;

    return told(call, nod_credential(call, &token, "idp"), NOD_ACCEPT);
}

static nod_status ask_returns(nod_call *call)
{
    nod_answer answer = { 0 };
    nod_status status = nod_elicit_url(call, &answer, .message = "Please pay.", .returns = true,
                                       .url = "https://example.com/pay");

    return told(call, status, answer.action);
}

static nod_status say_yes(nod_call *call)
{
    return nod_reply_text(call, "yes");
}

int main(int argc, char **argv)
{
    const nod_tool tools[] = {
        { .name = "data", .handler = ask_data, .asks = true },
        { .name = "yes", .handler = ask_yes, .asks = true },
        { .name = "danger", .handler = ask_data, .destructive = true },
        { .name = "gated", .handler = say_yes, .requires_confirmation = true },
        { .name = "link", .handler = ask_link, .asks = true },
        { .name = "page", .handler = ask_page, .asks = true },
        { .name = "secret", .handler = ask_secret, .asks = true },
        { .name = "account", .handler = ask_account, .asks = true },
        { .name = "returns", .handler = ask_returns, .asks = true },
        { .name = "quiet_data", .handler = ask_data },
        { .name = "quiet_yes", .handler = ask_yes },
        { .name = "quiet_link", .handler = ask_link },
        { .name = "quiet_page", .handler = ask_page },
        { .name = "quiet_secret", .handler = ask_secret },
        { .name = "quiet_account", .handler = ask_account },
        { .name = "quiet_returns", .handler = ask_returns },
    };
    nod_server *server = nod_server_new(.name = "where", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (nod_tools(server, tools) != NOD_OK ||
        nod_oauth(server, .name = "idp", .issuer = "https://idp.example", .client_id = "where") !=
            NOD_OK) {
        nod_server_destroy(server);
        return 1;
    }
    return nod_main(server, argc, argv);
}
