/*
 * The server of the browser tests: tools that ask in every way the page has to show.
 *
 * What is asked is in the arguments where a test wants to decide it (the message of `say`), so that
 * hostile text comes the way it would: from a client.
 */
#include <nod/nod.h>

/* Every kind of field, with limits, defaults, titles and descriptions. */
static nod_status fields(nod_call *call)
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
            NOD_TEXT("ticket", .title = "Ticket", .pattern = "^T-[0-9]+$", .hint = "T-123"),
            NOD_INT("days", .title = "Days in transit", .required = true, NOD_MIN(1), NOD_MAX(14),
                    .preset = "3"),
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

/* A short form, whose buttons are below it and not at the end of the window. */
static nod_status label(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "What is on the label?",
                       .form = NOD_FORM(NOD_TEXT("code", .title = "Code", NOD_MIN(5)),
                                        NOD_TEXT("text", .title = "Text", NOD_MAX(2000)))));
    return nod_reply_textf(call, "%s %s", answer.action == NOD_ACCEPT ? "Printed:" : "Not printed:",
                           answer.action == NOD_ACCEPT ? nod_json_text(call, answer.content)
                                                       : nod_answer_reason(call, &answer));
}

/* Times, one of them with a preset that no picker can show whole. */
static nod_status meet(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(
        call, &answer, .message = "When shall we meet?",
        .form = NOD_FORM(NOD_TEXT("when", .title = "When", .format = "date-time", .required = true),
                         NOD_TEXT("until", .title = "Until", .format = "date-time",
                                  .preset = "2026-11-16T12:03:30.5Z"),
                         NOD_TEXT("day", .title = "Paid by", .format = "date"))));
    return nod_reply_textf(call, "Met: %s", nod_json_text(call, answer.content));
}

/* Six questions in one round, and another one when these are answered. */
static nod_status tickets(nod_call *call)
{
    nod_answer answers[6], last;

    for (int i = 0; i < 6; i++) {
        const char *ticket = nod_fmt(call, "T-%d", i + 1);
        NOD_TRY(nod_want(call, &answers[i], .message = ticket, .key = ticket,
                         .form = NOD_FORM(NOD_TEXT("word", .title = "A word"))));
    }
    NOD_TRY(nod_await(call));
    NOD_TRY(nod_elicit(call, &last, .message = "And who pays?",
                       .form = NOD_FORM(NOD_TEXT("word", .title = "A word"))));
    return nod_reply_text(call, "Paid.");
}

/* Asks with the text that it is given. */
static nod_status say(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = nod_arg_str(call, "text"),
                       .form = NOD_FORM(NOD_TEXT("word", .title = "A word"))));
    return nod_reply_text(call, answer.action == NOD_ACCEPT ? "Said." : "Not said.");
}

/* Waits as long as it is told to. */
static nod_status lasts(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = nod_arg_str(call, "text"),
                       .ttl_ms = nod_arg_int(call, "ms"),
                       .form = NOD_FORM(NOD_TEXT("word", .title = "A word"))));
    return nod_reply_text(call, "Done.");
}

/* The same, for a yes; `bare`: to no arguments. */
static nod_status agree(nod_call *call)
{
    bool bare = nod_arg_bool_or(call, "bare", false);
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = nod_arg_str(call, "text"),
                        .arguments = bare ? nod_object(call) : NULL));
    return nod_reply_text(call, approval.approved ? "Agreed." : "Not agreed.");
}

static nod_status transfer(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = "Transfer the money to Grace Hopper?"));
    return nod_reply_text(call, approval.approved ? "Transferred." : "Nothing was transferred.");
}

/* Its arguments are described. */
static nod_status refund(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = "Pay this back?"));
    return nod_reply_text(call, approval.approved ? "Paid back." : "Kept.");
}

/* Destructive, and without a box to tick. */
static nod_status erase(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Erase the disk?"));
    return nod_reply_text(call, yes ? "Erased." : "Nothing was erased.");
}

/* Destructive, with a box to tick. */
static nod_status drop(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Drop the table?",
                       .form = NOD_FORM(NOD_BOOL("sure", .title = "Drop it", .required = true))));
    bool sure = answer.action == NOD_ACCEPT && nod_get_bool(answer.content, "sure");
    return nod_reply_text(call, sure ? "Dropped." : "Nothing was dropped.");
}

/* Asked for at the gate, and may be remembered. */
static nod_status refresh(nod_call *call)
{
    return nod_reply_text(call, "Refreshed.");
}

/* Asks to open an address. */
static nod_status visit(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit_url(call, &answer, .message = "Sign the contract there, please.",
                           .url = "https://contracts.example/sign?who=ada"));
    return nod_reply_text(call, answer.action == NOD_ACCEPT ? "Opened." : "Not opened.");
}

/* Gone before anybody answers. */
static nod_status brief(nod_call *call)
{
    nod_answer answer;
    nod_status asked = nod_elicit(call, &answer, .message = "Quick: yes?", .ttl_ms = 3500,
                                  .form = NOD_FORM(NOD_TEXT("word", .title = "A word")));

    if (asked == NOD_E_TIMEOUT)
        return nod_reply_text(call, "Too late.");
    NOD_TRY(asked);
    return nod_reply_text(call, "In time.");
}

#define ANYTHING "{\"type\":\"object\"}"
#define REFUND                                                                                     \
    "{\"type\":\"object\",\"properties\":{"                                                        \
    "\"to\":{\"type\":\"string\",\"title\":\"Pay to\"},"                                           \
    "\"amount\":{\"type\":\"number\",\"title\":\"Amount\",\"x-nod-unit\":\"EUR\","                 \
    "\"description\":\"What is paid back, without fees.\"},"                                       \
    "\"share\":{\"type\":\"number\",\"title\":\"Share\",\"format\":\"percent\"},"                  \
    "\"due\":{\"type\":\"string\",\"title\":\"Due\",\"format\":\"date-time\"},"                    \
    "\"first\":{\"type\":\"string\",\"title\":\"Name\"},"                                          \
    "\"last\":{\"type\":\"string\",\"title\":\"Name\"},"                                           \
    "\"note\":{\"type\":\"string\",\"title\":\"Note\"},"                                           \
    "\"query\":{\"type\":\"string\",\"title\":\"Query\",\"contentMediaType\":\"application/"       \
    "sql\"},"                                                                                      \
    "\"items\":{\"type\":\"array\",\"title\":\"Articles\",\"items\":{\"type\":\"object\","         \
    "\"properties\":{\"name\":{\"title\":\"Article\"},\"count\":{\"title\":\"Pieces\"},"           \
    "\"price\":{\"title\":\"Price\",\"x-nod-unit\":\"EUR\"}}}}}}"

static const nod_tool tools[] = {
    { .name = "fields", .handler = fields, .title = "Ship a parcel", .additive = true },
    { .name = "label", .handler = label, .title = "Print a label", .additive = true },
    { .name = "meet", .handler = meet, .title = "Meet", .additive = true },
    { .name = "tickets", .handler = tickets, .title = "Buy tickets", .additive = true },
    { .name = "say", .handler = say, .input_schema = ANYTHING, .additive = true },
    { .name = "agree", .handler = agree, .input_schema = ANYTHING, .additive = true },
    { .name = "lasts", .handler = lasts, .input_schema = ANYTHING, .additive = true },
    { .name = "transfer",
      .handler = transfer,
      .title = "Transfer money",
      .input_schema = ANYTHING,
      .additive = true },
    { .name = "refund",
      .handler = refund,
      .title = "Refund an order",
      .input_schema = REFUND,
      .additive = true },
    { .name = "erase", .handler = erase, .title = "Erase the disk", .destructive = true },
    { .name = "drop", .handler = drop, .title = "Drop a table", .destructive = true },
    { .name = "refresh",
      .handler = refresh,
      .title = "Refresh the cache",
      .additive = true,
      .requires_confirmation = true,
      .remember = NOD_REMEMBER_SESSION | NOD_REMEMBER_TIME | NOD_REMEMBER_TOOL },
    { .name = "visit", .handler = visit, .title = "Sign a contract", .additive = true },
    { .name = "brief", .handler = brief, .title = "Something brief", .additive = true },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "parcels", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (nod_tools(server, tools) != NOD_OK) {
        nod_server_destroy(server);
        return 1;
    }
    return nod_main(server, argc, argv);
}
