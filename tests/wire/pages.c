/*
 * pages: tools whose questions are asked on pages of this server, for pages.test.js.
 */
#include <nod/nod.h>

static nod_status reply_answer(nod_call *call, const nod_answer *answer)
{
    static const char *const names[] = { "waiting", "accept",    "decline", "cancel",
                                         "expired", "withdrawn", "unfit",   "unasked" };

    return nod_reply_textf(call, "%s by %s: %s", names[answer->action], answer->by,
                           answer->content ? nod_text(call, answer->content) : "nothing");
}

/* A form. */
static nod_status form(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit_page(
        call, &answer, .message = nod_arg_str_or(call, "message", "Where does it go?"),
        .ttl_ms = nod_arg_int_or(call, "ttl", 0),
        .consent = nod_arg_bool_or(call, "consent", false),
        .form = NOD_FORM(NOD_TEXT("city", .title = "City", .required = true, NOD_MAX(40)),
                         NOD_INT("floor", .title = "Floor", NOD_MIN(0), NOD_MAX(99)))));
    return reply_answer(call, &answer);
}

/* A page of somebody else, which sends the person back. */
static nod_status foreign(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit_url(call, &answer, .message = "Pay for it", .returns = true,
                           .ttl_ms = nod_arg_int_or(call, "ttl", 0),
                           .url = nod_arg_str(call, "url")));
    return reply_answer(call, &answer);
}

static nod_status require(nod_call *call)
{
    return nod_require_url(call, .message = "Open this first",
                           .url = "https://example.org/first?id={id}");
}

static nod_status done(nod_call *call)
{
    nod_url_done(nod_server_of(call), nod_arg_str(call, "id"));
    return nod_reply_text(call, "done");
}

static const char input[] =
    "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"},\"url\":{\"type\":"
    "\"string\"},\"id\":{\"type\":\"string\"},\"ttl\":{\"type\":\"integer\"},\"consent\":{\"type\":"
    "\"boolean\"}}}";

int main(int argc, char **argv)
{
    static const nod_tool tools[] = {
        { .name = "form", .handler = form, .title = "Ship it", .input_schema = input },
        { .name = "wipe", .handler = form, .input_schema = input, .destructive = true },
        { .name = "require", .handler = require },
        { .name = "done", .handler = done, .input_schema = input },
        { .name = "foreign", .handler = foreign, .input_schema = input },
    };
    nod_server *server = nod_server_new(.name = "pages", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (nod_tools(server, tools) != NOD_OK) {
        nod_server_destroy(server);
        return 1;
    }
    return nod_main(server, argc, argv);
}
