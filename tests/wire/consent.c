/*
 * consent: tools that ask one thing each, for tests of whose yes counts.
 *
 * Each says "yes" after a yes, "no" after a no, and otherwise fails as nod says. `danger` is
 * destructive and asks with nod_elicit, as the first example of the README does.
 */
#include <nod/nod.h>

static nod_status told(nod_call *call, nod_status status, nod_action action)
{
    if (status != NOD_OK)
        return status;
    return nod_reply_text(call, action == NOD_ACCEPT ? "yes" : "no");
}

static nod_status ask_form(nod_call *call)
{
    nod_answer answer = { 0 };
    nod_status status =
        nod_elicit(call, &answer, .key = "form", .message = "Shall it be done?",
                   .form = NOD_FORM(NOD_BOOL("confirmed", .title = "Yes", .required = true)));

    return told(call, status, answer.action);
}

/* Its author has ticked the box. */
static nod_status ask_preset(nod_call *call)
{
    nod_answer answer = { 0 };
    nod_status status =
        nod_elicit(call, &answer, .key = "form", .message = "Shall it be done?",
                   .form = NOD_FORM(NOD_BOOL("confirmed", .required = true, .preset = "true"),
                                    NOD_BOOL("copy", .preset = "true")));

    return told(call, status, answer.action);
}

static nod_status ask_confirm(nod_call *call)
{
    bool yes = false;

    NOD_TRY(nod_confirm(call, &yes, .key = "confirm", .message = "Shall it be done?"));
    return nod_reply_text(call, yes ? "yes" : "no");
}

static nod_status ask_approve(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .key = "approve", .message = "Shall it be done?"));
    if (approval.action == NOD_UNASKED)
        return nod_reply_text(call, "nobody");
    return nod_reply_text(call, approval.action == NOD_ACCEPT ? "yes" : "no");
}

static nod_status ask_nothing(nod_call *call)
{
    return nod_reply_text(call, "yes");
}

static nod_status ask_link(nod_call *call)
{
    nod_answer answer = { 0 };
    nod_status status = nod_elicit_url(call, &answer, .key = "link", .message = "Please agree.",
                                       .url = "https://example.com/agree");

    return told(call, status, answer.action);
}

static nod_status ask_page(nod_call *call)
{
    nod_answer answer = { 0 };
    nod_status status =
        nod_elicit_page(call, &answer, .key = "page", .message = "Shall it be done?",
                        .form = NOD_FORM(NOD_BOOL("confirmed", .title = "Yes", .required = true)));

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

int main(int argc, char **argv)
{
    const nod_tool tools[] = {
        { .name = "data", .handler = ask_form, .asks = true },
        { .name = "danger", .handler = ask_form, .destructive = true },
        { .name = "confirm", .handler = ask_confirm, .asks = true },
        { .name = "approve", .handler = ask_approve, .asks = true },
        { .name = "gated", .handler = ask_nothing, .requires_confirmation = true },
        { .name = "confirmed",
          .handler = ask_nothing,
          .requires_confirmation = true,
          .confirm_message = "Really?" },
        { .name = "preset", .handler = ask_preset, .asks = true },
        { .name = "danger_preset", .handler = ask_preset, .destructive = true },
        { .name = "link", .handler = ask_link, .asks = true },
        { .name = "danger_link", .handler = ask_link, .destructive = true },
        { .name = "page", .handler = ask_page, .asks = true },
        { .name = "danger_page", .handler = ask_page, .destructive = true },
        { .name = "secret", .handler = ask_secret, .asks = true },
        { .name = "account", .handler = ask_account, .asks = true },
        { .name = "kept",
          .handler = ask_nothing,
          .requires_confirmation = true,
          .remember = NOD_REMEMBER_PRINCIPAL | NOD_REMEMBER_TOOL },
        { .name = "task_data", .handler = ask_form, .asks = true, .task = NOD_TASK_REQUIRED },
        { .name = "task_danger",
          .handler = ask_form,
          .destructive = true,
          .task = NOD_TASK_REQUIRED },
        { .name = "task_confirm", .handler = ask_confirm, .asks = true, .task = NOD_TASK_REQUIRED },
        { .name = "lax", .handler = ask_confirm, .asks = true, .consent = "any" },
        { .name = "strict", .handler = ask_confirm, .asks = true, .consent = "roles" },
        { .name = "elsewhere", .handler = ask_confirm, .asks = true, .consent = "inbox" },
    };
    nod_server *server = nod_server_new(.name = "consent", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (nod_tools(server, tools) != NOD_OK ||
        nod_oauth(server, .name = "idp", .issuer = "https://idp.example", .client_id = "consent") !=
            NOD_OK) {
        nod_server_destroy(server);
        return 1;
    }
    return nod_main(server, argc, argv);
}
