/*
 * tests/wire/accounts: tools that use an account of their person's at a service named github.
 *
 *     use {scopes}   needs a token; says a number that stands for it, so that a test can tell
 *                    which one it was given and nothing has the token itself
 *     use_twice      needs it, asks something, and needs it again
 *     use_blocking   like use, on a worker thread
 *     use_often {scopes}  needs it, does a step, needs it with these scopes as well, and again
 *     use_named {name}  a service of any name
 */
#include <nod/nod.h>
#include <string.h>

/* FNV-1a. */
static unsigned number_of(const char *token)
{
    unsigned n = 2166136261u;

    while (*token)
        n = (n ^ (unsigned char)*token++) * 16777619u;
    return n;
}

static nod_status use(nod_call *call)
{
    const char *scopes = nod_arg_str_or(call, "scopes", NULL), *token;

    NOD_TRY(nod_credential(call, &token, "github", .scopes = scopes,
                           .message = "This tool needs your account."));
    return nod_reply_textf(call, "%u", number_of(token));
}

static nod_status use_twice(nod_call *call)
{
    const char *token;
    bool yes;

    NOD_TRY(nod_credential(call, &token, "github"));
    unsigned first = number_of(token);
    (void)first; /* it may be another one on the next run */
    NOD_TRY(nod_confirm(call, &yes, .message = "Go on?"));
    NOD_TRY(nod_credential(call, &token, "github"));
    return nod_reply_textf(call, "%s %u", yes ? "yes" : "no", number_of(token));
}

static nod_status step(nod_step_run *step, void *arg)
{
    (void)step;
    (void)arg;
    return NOD_OK;
}

static nod_status use_often(nod_call *call)
{
    const char *one, *other, *again;

    NOD_TRY(nod_credential(call, &one, "github"));
    NOD_TRY(nod_step(call, "step", step, NULL, NULL));
    NOD_TRY(nod_credential(call, &other, "github", .scopes = nod_arg_str_or(call, "scopes", NULL)));
    NOD_TRY(nod_credential(call, &again, "github", .message = "In other words."));
    return nod_reply_textf(call, "%s %u", strcmp(one, again) == 0 ? "the same" : "another",
                           number_of(other));
}

static nod_status use_named(nod_call *call)
{
    const char *token;

    NOD_TRY(nod_credential(call, &token, nod_arg_str(call, "name"),
                           .scopes = nod_arg_str_or(call, "scopes", NULL)));
    return nod_reply_textf(call, "%u", number_of(token));
}

static const nod_tool tools[] = {
    { .name = "use", .handler = use, .input = NOD_FORM(NOD_TEXT("scopes")) },
    { .name = "use_twice", .handler = use_twice },
    { .name = "use_often", .handler = use_often, .input = NOD_FORM(NOD_TEXT("scopes")) },
    { .name = "use_blocking",
      .handler = use,
      .input = NOD_FORM(NOD_TEXT("scopes")),
      .blocking = true },
    { .name = "use_named",
      .title = "Any service",
      .handler = use_named,
      .input = NOD_FORM(NOD_TEXT("name", .required = true), NOD_TEXT("scopes")) },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "accounts", .version = NOD_VERSION);

    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
