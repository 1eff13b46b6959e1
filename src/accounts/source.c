/*
 * accounts/source: access tokens as values that a run needs (core/need.h).
 *
 * The name of the value is that of the service. Its detail is what the handler wants of it: the
 * scopes, and behind a line feed the question by which the call has had the account connected, if
 * it has. With fewer scopes than are wanted a person is asked; but not again and again for the same
 * call, if the service grants no more.
 */
#include "accounts/accounts_inside.h"

static void got(void *data, const struct account_token *token)
{
    struct need *need = data;

    need->data = NULL;
    need_done(need, token->status, token->access, token->message);
}

static void fetch(struct need_source *source, struct need *need)
{
    struct accounts *accounts =
        (struct accounts *)(void *)((char *)source - offsetof(struct accounts, source));
    struct str scopes, ask_id;

    if (!str_cut(need->spec.detail, '\n', &scopes, &ask_id))
        ask_id = STR_NONE;
    need->data = accounts_token(accounts,
                                &(struct account_want){ .principal = need->principal,
                                                        .service = need->spec.name,
                                                        .scopes = scopes,
                                                        .ask_id = ask_id },
                                got, need);
}

static void dropped(struct need_source *source, struct need *need)
{
    (void)source;
    accounts_token_cancel(need->data);
    need->data = NULL;
}

struct need_source *accounts_source(struct accounts *accounts)
{
    accounts->source =
        (struct need_source){ .name = "credential", .fetch = fetch, .dropped = dropped };
    return &accounts->source;
}
