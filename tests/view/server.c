/*
 * The server of the view's tests: tools that ask in every way a view has to show, one that asks
 * nothing, and one with a view of its own.
 */
#include <nod/nod.h>

static nod_status kinds(nod_call *call)
{
    static const nod_option countries[] = {
        { "at", "Austria" }, { "be", "Belgium" }, { "ch", "Switzerland" }, { "de", "Germany" },
        { "es", "Spain" },   { "fr", "France" },  { "it", "Italy" },       { NULL, NULL },
    };
    nod_answer answer;

    NOD_TRY(nod_elicit(
        call, &answer, .message = "Where shall the parcel go, and how?",
        .form = NOD_FORM(
            NOD_TEXT("name", .title = "Name", .required = true, NOD_MIN(2), NOD_MAX(20)),
            NOD_TEXT("email", .title = "E-mail", .description = "For the tracking number.",
                     .format = "email", .required = true),
            NOD_TEXT("site", .title = "Web site", .format = "uri"),
            NOD_TEXT("day", .title = "Day", .format = "date", .preset = "2026-11-20"),
            NOD_TEXT("pickup", .title = "Pick-up", .format = "date-time"),
            NOD_TEXT("ticket", .title = "Ticket", .pattern = "^(T-)+[0-9]+$", .hint = "T-123"),
            NOD_INT("days", .title = "Days in transit", .required = true, NOD_MIN(1), NOD_MAX(14),
                    .preset = "3"),
            NOD_INT("account", .title = "Account"),
            NOD_NUMBER("weight", .title = "Weight in kg", NOD_MIN(0.5)),
            NOD_BOOL("insured", .title = "Insure it", .preset = "true"),
            NOD_CHOICE("size", NOD_OPTIONS({ "s", "Small" }, { "m", "Medium" }, { "l", "Large" }),
                       .title = "Size", .required = true),
            NOD_CHOICE("country", countries, .title = "Country"),
            NOD_CHOICES("extras",
                        NOD_OPTIONS({ "gift", "Gift wrap" }, { "sign", "Signature" },
                                    { "night", "Overnight" }),
                        .title = "Extras", NOD_MIN(1), NOD_MAX(2), .preset = "[\"gift\"]"),
            NOD_TEXT("note", .title = "Note", .description = "Printed on the label.",
                     NOD_MAX(2000)))));
    if (answer.action != NOD_ACCEPT)
        return nod_reply_text(call, "No parcel.");
    return nod_reply_textf(call, "Shipped: %s", nod_json_text(call, answer.content));
}

static nod_status ask_word(nod_call *call, const char *which, const char **out)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = which,
                       .message = nod_fmt(call, "%s: the %s word?",
                                          nod_arg_str_or(call, "tag", "untagged"), which),
                       .form = NOD_FORM(NOD_TEXT("word", .title = "Word", .required = true))));
    *out = answer.action == NOD_ACCEPT ? nod_get_str(answer.content, "word") : "(none)";
    return NOD_OK;
}

static nod_status word(nod_call *call)
{
    const char *only;

    NOD_TRY(ask_word(call, "only", &only));
    return nod_reply_textf(call, "%s: %s", nod_arg_str_or(call, "tag", "untagged"), only);
}

static nod_status three(nod_call *call)
{
    const char *first, *second, *third;

    NOD_TRY(ask_word(call, "first", &first));
    NOD_TRY(ask_word(call, "second", &second));
    NOD_TRY(ask_word(call, "third", &third));
    return nod_reply_textf(call, "%s %s %s", first, second, third);
}

static nod_status pay(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = "Pay Grace Hopper?"));
    return nod_reply_textf(call, "%s by %s", approval.approved ? "Paid" : "Not paid",
                           approval.by ? approval.by : "nobody");
}

static nod_status erase(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Erase the disk?"));
    return nod_reply_text(call, yes ? "Erased." : "Nothing was erased.");
}

/* Asks with the text that it is given. */
static nod_status say(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = nod_arg_str(call, "text"),
                       .form = NOD_FORM(NOD_TEXT("word", .title = nod_arg_str(call, "text")))));
    return nod_reply_text(call, answer.action == NOD_ACCEPT ? "Said." : "Not said.");
}

static nod_status quiet(nod_call *call)
{
    return nod_reply_text(call, "Nothing to ask.");
}

static nod_status own_view(nod_call *call)
{
    return nod_reply_text(call, "<!doctype html><title>own</title>");
}

#define TAGGED   .input = NOD_FORM(NOD_TEXT("tag"))
#define ANYTHING .input_schema = "{\"type\":\"object\"}"

static const nod_tool tools[] = {
    { .name = "kinds", .handler = kinds, .title = "Ship a parcel", .additive = true, .asks = true },
    { .name = "word", .handler = word, .title = "A word", .additive = true, .asks = true, TAGGED },
    { .name = "three", .handler = three, .additive = true, .asks = true, TAGGED },
    { .name = "pay",
      .handler = pay,
      .title = "Pay somebody",
      .additive = true,
      .asks = true,
      .remember = NOD_REMEMBER_TOOL,
      ANYTHING },
    { .name = "erase", .handler = erase, .title = "Erase the disk", .destructive = true },
    { .name = "gated", .handler = quiet, .additive = true, .requires_confirmation = true },
    { .name = "say", .handler = say, .additive = true, .asks = true, ANYTHING },
    { .name = "quiet", .handler = quiet, .additive = true, .asks = true },
    { .name = "unsaid", .handler = word, .additive = true, TAGGED },
    { .name = "own",
      .handler = word,
      .additive = true,
      .view = "ui://parcels/own",
      .meta = "{\"shelf\":1,\"ui\":{\"visibility\":[\"model\",\"app\"]}}",
      TAGGED },
};

static const nod_resource resources[] = {
    { .uri = "ui://parcels/own", .read = own_view, .mime_type = "text/html;profile=mcp-app" },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "parcels", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (nod_tools(server, tools) != NOD_OK || nod_resources(server, resources) != NOD_OK) {
        nod_server_destroy(server);
        return 1;
    }
    return nod_main(server, argc, argv);
}
