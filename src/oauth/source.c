/*
 * oauth/source: access tokens as values that a run needs (core/need.h).
 *
 * The name of the value is that of the service. Its detail is what the handler wants of it: the
 * scopes, and behind a line feed the question by which the call has had the account connected, if
 * it has. With fewer scopes than are wanted a person is asked; but not again and again for the same
 * call, if the service grants no more.
 */
#include "oauth/oauth_inside.h"

static void got(void *data, const struct oauth_token *token)
{
    struct need *need = data;

    need->data = NULL;
    need_done(need, token->status, token->access, token->message);
}

static void fetch(struct need_source *source, struct need *need)
{
    struct oauth *oauth = (struct oauth *)(void *)((char *)source - offsetof(struct oauth, source));
    struct str scopes, ask_id;

    if (!str_cut(need->spec.detail, '\n', &scopes, &ask_id))
        ask_id = STR_NONE;
    need->data = oauth_token(oauth,
                             &(struct oauth_want){ .principal = need->principal,
                                                   .service = need->spec.name,
                                                   .scopes = scopes,
                                                   .ask_id = ask_id },
                             got, need);
}

static void dropped(struct need_source *source, struct need *need)
{
    (void)source;
    oauth_token_cancel(need->data);
    need->data = NULL;
}

struct need_source *oauth_source(struct oauth *oauth)
{
    oauth->source =
        (struct need_source){ .name = "credential", .fetch = fetch, .dropped = dropped };
    return &oauth->source;
}
