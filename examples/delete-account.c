/*
 * delete-account: ask before something that cannot be undone, and keep the reason.
 *
 * What it shows: a form with a checkbox and a text, the three answers a person can give, and a side
 * effect inside a step, so that it happens once although the handler runs several times.
 *
 * Run it:
 *
 *     make run                                        over HTTP, on http://127.0.0.1:8080/mcp
 *     build/release/examples/delete-account           over stdio, as an MCP client starts it
 *
 * What the person sees: they ask their assistant to "delete the account of ada". Before anything
 * happens, the client shows a form: "Permanently delete account ada? This cannot be undone.", with
 * the box "Confirm deletion" and a line for the reason. Only Accept with the box ticked deletes.
 *
 * The accounts are in memory: no real account is harmed.
 */
#include <nod/nod.h>

#include <string.h>

struct account {
    const char *id;
    const char *name;
    bool deleted;
};

static struct account accounts[] = {
    { "ada", "Ada Lovelace", false },
    { "alan", "Alan Turing", false },
    { "grace", "Grace Hopper", false },
};
enum { ACCOUNT_COUNT = sizeof(accounts) / sizeof(accounts[0]) };

static struct account *find_account(const char *id)
{
    for (size_t i = 0; i < ACCOUNT_COUNT; i++)
        if (!accounts[i].deleted && strcmp(accounts[i].id, id) == 0)
            return &accounts[i];
    return NULL;
}

/* The side effect. nod runs it once and remembers that it did. */
static nod_status delete_row(nod_step_run *step, void *arg)
{
    struct account *account = find_account(arg);
    (void)step;

    if (account == NULL)
        return NOD_E_NOT_FOUND; /* somebody was faster while the person was thinking */
    account->deleted = true;
    return NOD_OK;
}

static nod_status delete_account(nod_call *call)
{
    const char *user = nod_arg_str(call, "userId");
    nod_answer answer;

    /* On the first run this returns NOD_PENDING, and NOD_TRY leaves the handler. When the person
       has answered, the handler is run again from the top, and the answer is here. */
    NOD_TRY(nod_elicit(
        call, &answer,
        .message = nod_fmt(call, "Permanently delete account %s? This cannot be undone.", user),
        .form = NOD_FORM(NOD_BOOL("confirmed", .title = "Confirm deletion", .required = true),
                         NOD_TEXT("reason", .title = "Reason", NOD_MAX(200)))));

    if (answer.action != NOD_ACCEPT || !nod_get_bool(answer.content, "confirmed"))
        return nod_reply_text(call, "Nothing was deleted.");

    nod_status deleted = nod_step(call, "delete", delete_row, (void *)user, NULL);
    if (deleted == NOD_E_NOT_FOUND)
        return nod_reply_error(call, "There is no account %s.", user);
    NOD_TRY(deleted);

    if (nod_has(answer.content, "reason"))
        return nod_reply_textf(call, "Deleted %s. Reason: %s", user,
                               nod_get_str(answer.content, "reason"));
    return nod_reply_textf(call, "Deleted %s.", user);
}

static nod_status list_accounts(nod_call *call)
{
    for (size_t i = 0; i < ACCOUNT_COUNT; i++)
        if (!accounts[i].deleted)
            (void)nod_reply_textf(call, "%s: %s", accounts[i].id, accounts[i].name);
    return nod_reply_text(call, "That is all.");
}

static const nod_tool tools[] = {
    { .name = "list_accounts",
      .handler = list_accounts,
      .description = "Lists the accounts",
      .read_only = true,
      .closed_world = true },
    { .name = "delete_account",
      .handler = delete_account,
      .title = "Delete an account",
      .description = "Permanently deletes an account, after a person has confirmed it",
      .input = NOD_FORM(NOD_TEXT("userId", .description = "Whose account", .required = true,
                                 NOD_MIN(1), NOD_MAX(64))),
      .destructive = true,
      .closed_world = true },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "delete-account", .version = NOD_VERSION,
                                        .instructions = "Deleting an account asks a person first.");

    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
