/*
 * sign-in: what must not go through a form goes through a page.
 *
 * What it shows: nod_elicit_url, for things that need a browser. The client shows
 * the person a link, they do what is needed on that page, and the page tells the server. And
 * nod_require_url, for a tool that cannot even begin before that: it ends the call with "open this
 * first".
 *
 * Run it:
 *
 *     build/release/examples/sign-in
 *     build/release/examples/sign-in --http 127.0.0.1:8080
 *
 * What the person sees: "Sign in to the archive" and a link to open. The page would be yours. Here
 * there is none, so the tool finish_sign_in plays the page that reports back.
 */
#include <nod/nod.h>

#define SIGN_IN_PAGE "https://archive.example/sign-in?elicitation={id}"

static bool signed_in;

static nod_status remember(nod_step_run *step, void *arg)
{
    (void)step;
    (void)arg;
    signed_in = true;
    return NOD_OK;
}

/* Waits until the page is done. */
static nod_status sign_in(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit_url(call, &answer, .message = "Sign in to the archive", .url = SIGN_IN_PAGE,
                           .wait_done = true));
    if (answer.action != NOD_ACCEPT)
        return nod_reply_text(call, "You are not signed in.");

    NOD_TRY(nod_step(call, "remember", remember, NULL, NULL, .idempotent = true));
    return nod_reply_text(call, "You are signed in.");
}

/* Does not wait: says what has to be done first, and is called again afterwards. */
static nod_status read_archive(nod_call *call)
{
    if (!signed_in)
        return nod_require_url(call, .message = "Sign in to read the archive", .url = SIGN_IN_PAGE);
    return nod_reply_text(call, "The archive says: everything is fine.");
}

/* What the page behind the link does when the person is done. */
static nod_status finish_sign_in(nod_call *call)
{
    const char *id = nod_arg_str(call, "elicitationId");

    signed_in = true;
    nod_url_done(nod_server_of(call), id);
    return nod_reply_text(call, "The page is done.");
}

static nod_status sign_out(nod_call *call)
{
    signed_in = false;
    return nod_reply_text(call, "You are signed out.");
}

static const nod_tool tools[] = {
    { .name = "sign_in",
      .handler = sign_in,
      .title = "Sign in",
      .description = "Lets the person sign in to the archive in their browser" },
    { .name = "read_archive",
      .handler = read_archive,
      .title = "Read the archive",
      .description = "Reads the archive; the person has to be signed in",
      .read_only = true },
    { .name = "finish_sign_in",
      .handler = finish_sign_in,
      .description = "Plays the sign-in page when it reports that the person is through",
      .input = NOD_FORM(NOD_TEXT("elicitationId", .required = true, NOD_MAX(128))) },
    { .name = "sign_out", .handler = sign_out, .description = "Signs out" },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "sign-in", .version = NOD_VERSION);

    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
