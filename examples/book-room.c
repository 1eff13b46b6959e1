/*
 * book-room: a form that is filled in at the inbox, for a client that cannot ask.
 *
 * What it shows: the tool is an ordinary one, and asks as all tools do. A client with forms shows
 * the form itself. A client without, but with views (MCP Apps), shows the form inside the chat,
 * because the tool says that it asks. For all others the form waits in the inbox of the server, and
 * the call goes on when somebody has filled it in there: on the page, in the terminal or through the
 * API. The person may also decline, and say why.
 *
 * Run it:
 *
 *     build/release/examples/book-room --http 127.0.0.1:8080
 *
 * The log names a link that opens the inbox (event=inbox). Call the tool with any client that
 * declares no elicitation, and the form is there.
 *
 * With a token file (--token-file) whose line is `TOKEN ada ask answer`, a program can answer too:
 *
 *     curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/api/elicitation
 *     curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \
 *          -d '{"approved":true,"data":{"date":"2026-08-03","people":6,"projector":true}}' \
 *          http://127.0.0.1:8080/api/elicitation/ID/resolve
 */
#include <nod/nod.h>

static const nod_form *const booking = NOD_FORM(
    NOD_TEXT("date", .title = "Day", .format = "date", .required = true),
    NOD_INT("people", .title = "People", .required = true, NOD_MIN(1), NOD_MAX(12)),
    NOD_BOOL("projector", .title = "With a projector", .required = true, .preset = "false"));

static nod_status book_room(nod_call *call)
{
    const char *name = nod_arg_str(call, "room");
    nod_answer answer;

    NOD_TRY(
        nod_elicit(call, &answer, .form = booking,
                   .message = nod_fmt(call, "When shall %s be booked, and for how many?", name)));
    if (answer.action != NOD_ACCEPT)
        return nod_reply_textf(call, "%s was not booked. %s", name,
                               nod_answer_reason(call, &answer));
    return nod_reply_textf(call, "%s is booked on %s for %lld%s.", name,
                           nod_get_str(answer.content, "date"),
                           (long long)nod_get_int(answer.content, "people"),
                           nod_get_bool(answer.content, "projector") ? ", with a projector" : "");
}

int main(int argc, char **argv)
{
    const nod_tool tools[] = {
        {
            .name = "book_room",
            .handler = book_room,
            .title = "Book a room",
            .description = "Books a meeting room. A person says when, and for how many.",
            .input = NOD_FORM(NOD_TEXT("room", .title = "Room", .required = true)),
            .asks = true,
        },
    };
    nod_server *server = nod_server_new(.name = "book-room", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (nod_tools(server, tools) != NOD_OK) {
        nod_server_destroy(server);
        return 1;
    }
    return nod_main(server, argc, argv);
}
