/*
 * sign-in: what must not go through the client goes through a page of this server.
 *
 * What it shows: nod_elicit_page. The client is given a link, the person fills a form in on a page
 * of this very server, and only the tool sees what they entered: neither the client nor its model
 * does. The form is checked while typing and when it is sent, as in the inbox; what does not fit
 * can be put right. Whether name and number belong together is for the tool to say: it asks again.
 *
 * Run it:
 *
 *     build/release/examples/sign-in --http 127.0.0.1:8080
 *     build/release/examples/sign-in --inbox 127.0.0.1:8081       (a client on stdio)
 *
 * What the person sees: "Sign in to the archive", a link to open, and behind it a page with a form.
 * Name and number are "Ada" and "R-1815", or "Grace" and "R-1906".
 */
#include <nod/nod.h>

#include <string.h>

enum {
    TRIES = 3,
    PEOPLE_MAX = 100, /* that are signed in; enough for an example */
    PERSON_MAX = 64,
};

static const struct {
    const char *name, *number;
} readers[] = { { "Ada", "R-1815" }, { "Grace", "R-1906" } };

/* Who is signed in, by the principal that nod has verified. */
static char signed_in[PEOPLE_MAX][PERSON_MAX];

static char *place_of(const char *person)
{
    char *empty = NULL;

    for (int i = 0; i < PEOPLE_MAX; i++) {
        if (strcmp(signed_in[i], person) == 0)
            return signed_in[i];
        if (signed_in[i][0] == '\0' && empty == NULL)
            empty = signed_in[i];
    }
    return empty;
}

static bool is_signed_in(const char *person)
{
    const char *place = place_of(person);

    return place != NULL && place[0] != '\0';
}

static bool is_reader(const nod_json *form)
{
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
        if (strcmp(nod_get_str(form, "name"), readers[i].name) == 0 &&
            strcmp(nod_get_str(form, "number"), readers[i].number) == 0)
            return true;
    return false;
}

static nod_status let_in(nod_step_run *step, void *arg)
{
    const char *person = nod_principal(nod_step_call(step));
    char *place = place_of(person);

    (void)arg;
    if (place == NULL || strlen(person) >= PERSON_MAX)
        return NOD_E_LIMIT;
    strcpy(place, person);
    return NOD_OK;
}

/* Asks until name and number belong together; *yes: they do. */
static nod_status ask_who(nod_call *call, bool *yes)
{
    static const char *const messages[] = {
        "Sign in to the archive", "There is no such reader. Sign in to the archive",
        "There is still no such reader. Sign in to the archive: this is the last try"
    };
    nod_answer answer;

    for (int i = 0; i < TRIES && !*yes; i++) {
        NOD_TRY(nod_elicit_page(
            call, &answer, .message = messages[i], .sensitive = true,
            .form =
                NOD_FORM(NOD_TEXT("name", .title = "Name", .required = true),
                         NOD_TEXT("number", .title = "Reader number",
                                  .description = "As on your reader's card",
                                  .pattern = "^R-[0-9]{4}$", .hint = "R-1234", .required = true))));
        if (answer.action != NOD_ACCEPT)
            return NOD_OK;
        *yes = is_reader(answer.content);
    }
    return NOD_OK;
}

static nod_status sign_in(nod_call *call)
{
    bool yes = false;

    NOD_TRY(ask_who(call, &yes));
    if (!yes)
        return nod_reply_text(call, "You are not signed in.");
    NOD_TRY(nod_step(call, "let in", let_in, NULL, NULL, .idempotent = true));
    return nod_reply_text(call, "You are signed in.");
}

static nod_status read_archive(nod_call *call)
{
    if (!is_signed_in(nod_principal(call)))
        return nod_reply_error(call, "Nobody is signed in to the archive: call sign_in first.");
    return nod_reply_text(call, "The archive says: everything is fine.");
}

static nod_status sign_out(nod_call *call)
{
    if (is_signed_in(nod_principal(call)))
        place_of(nod_principal(call))[0] = '\0';
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
    { .name = "sign_out", .handler = sign_out, .description = "Signs out" },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "sign-in", .version = NOD_VERSION);

    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
