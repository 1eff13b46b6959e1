/*
 * shipping: a form with every kind of field there is.
 *
 * What it shows: texts with lengths, formats and a pattern, numbers and whole numbers with limits,
 * a checkbox, one of several, any of several, titles, descriptions and presets. The answer is
 * checked against all of that before the handler sees it. .attempts lets the person correct a
 * mistake. A preset is what the form starts with, and a client may leave out what is not .required:
 * so the fields that the handler counts on are required, and have a preset as well.
 *
 * Run it:
 *
 *     build/release/examples/shipping
 *     build/release/examples/shipping --http 127.0.0.1:8080
 *
 * What the person sees: "Where shall we send order 17?" and a form of ten fields, some filled in. A
 * client of revision 2025-06-18 cannot show a list of several choices: it shows a text field
 * instead, whose description names the choices.
 *
 * What a client without elicitation gets, on standard input and output: a result that begins "This
 * tool requires user input", with the question and its schema. Its model asks the user, and calls
 * sendElicitationResult with the answer. A postcode of four digits is an error that names the
 * field, and the model tries again. Nothing of this is in the code below.
 */
#include <nod/nod.h>

static const nod_form *const address = NOD_FORM(
    NOD_TEXT("name", .title = "Name", .required = true, NOD_MIN(2), NOD_MAX(80)),
    NOD_TEXT("email", .title = "E-mail", .format = "email", .required = true,
             .description = "For the tracking number"),
    NOD_TEXT("postcode", .title = "Postcode", .required = true, .pattern = "^[0-9]{5}$",
             .description = "Five digits"),
    NOD_TEXT("delivery", .title = "Not before", .format = "date"),
    NOD_TEXT("website", .title = "Website", .format = "uri"),
    NOD_INT("parcels", .title = "Parcels", .required = true, NOD_MIN(1), NOD_MAX(20),
            .preset = "1"),
    NOD_NUMBER("weight", .title = "Weight in kg", .required = true, NOD_MIN(0.1), NOD_MAX(31.5),
               .preset = "2.5"),
    NOD_BOOL("insured", .title = "Insured", .required = true, .preset = "true"),
    NOD_CHOICE("speed",
               NOD_OPTIONS({ "economy", "Economy, 5 days" }, { "standard", "Standard, 2 days" },
                           { "express", "Express, tomorrow" }),
               .title = "Speed", .required = true, .preset = "standard"),
    NOD_CHOICES("extras",
                NOD_OPTIONS({ "gift", "Gift wrapping" }, { "sign", "Signature on delivery" },
                            { "neighbour", "Not to a neighbour" }),
                .title = "Extras", NOD_MAX(2), .preset = "[\"sign\"]"));

static nod_status ship(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .form = address, .attempts = 3,
                       .message = nod_fmt(call, "Where shall we send order %lld?",
                                          (long long)nod_arg_int(call, "order"))));

    switch (answer.action) {
    case NOD_ACCEPT:
        break;
    case NOD_DECLINE:
        return nod_reply_text(call, "The person does not want it shipped.");
    default:
        return nod_reply_text(call, "The person has not decided. Ask again later.");
    }

    const nod_json *form = answer.content;
    const nod_json *extras = nod_get(form, "extras");
    const char *list = "none";
    for (size_t i = 0; i < nod_count(extras); i++)
        list = i == 0 ? nod_as_str(nod_at(extras, i))
                      : nod_fmt(call, "%s, %s", list, nod_as_str(nod_at(extras, i)));

    return nod_reply_textf(call, "Order %lld goes to %s (%s), %s; extras: %s; insured: %s.",
                           (long long)nod_arg_int(call, "order"), nod_get_str(form, "name"),
                           nod_get_str(form, "postcode"), nod_get_str(form, "speed"), list,
                           nod_get_bool(form, "insured") ? "yes" : "no");
}

static const nod_tool tools[] = {
    { .name = "ship_order",
      .handler = ship,
      .title = "Ship an order",
      .description = "Ships an order to the address a person fills in",
      .input = NOD_FORM(NOD_INT("order", .required = true, NOD_MIN(1))) },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "shipping", .version = NOD_VERSION);

    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
