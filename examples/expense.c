/*
 * expense: small things go through, large ones need an approval.
 *
 * What it shows: nod_approve. Unlike nod_confirm it shows the person the arguments of the call, and
 * it leaves a record of who approved what: approval.by and approval.execution_id.
 *
 * Run it:
 *
 *     build/release/examples/expense
 *     EXPENSE_LIMIT=20 build/release/examples/expense --http 127.0.0.1:8080
 *
 * What the person sees: up to the limit (100, or EXPENSE_LIMIT) nothing. Above it: "Approve an
 * expense of 250.00 for flight?", with the arguments of the call, Accept and Decline.
 */
#include <nod/nod.h>

#include <stdlib.h>

static double limit = 100;
static double booked;

static nod_status book(nod_step_run *step, void *arg)
{
    nod_call *call = nod_step_call(step);
    nod_json *result = nod_object(call);

    booked += *(double *)arg;
    nod_set_double(call, result, "total", booked);
    nod_step_result(step, result);
    return NOD_OK;
}

static nod_status submit_expense(nod_call *call)
{
    double amount = nod_arg_double(call, "amount");
    const char *purpose = nod_arg_str(call, "purpose");
    const char *note = "";

    if (amount > limit) {
        nod_approval approval;
        NOD_TRY(nod_approve(
            call, &approval,
            .message = nod_fmt(call, "Approve an expense of %.2f for %s?", amount, purpose)));
        if (!approval.approved)
            return nod_reply_textf(
                call, "The expense of %.2f was not approved. Nothing was booked.", amount);
        note = nod_fmt(call, " Approved by %s (%s).", approval.by, approval.execution_id);
    }

    const nod_json *result;
    NOD_TRY(nod_step(call, "book", book, &amount, &result));
    return nod_reply_textf(call, "Booked %.2f for %s; %.2f in all.%s", amount, purpose,
                           nod_get_double(result, "total"), note);
}

static const nod_tool tools[] = {
    { .name = "submit_expense",
      .handler = submit_expense,
      .title = "Submit an expense",
      .description = "Books an expense; above the limit a person has to approve it",
      .input = NOD_FORM(NOD_NUMBER("amount", .description = "In euros", .required = true,
                                   NOD_MIN(0.01), NOD_MAX(1000000)),
                        NOD_TEXT("purpose", .required = true, NOD_MIN(1), NOD_MAX(100))),
      .closed_world = true },
};

int main(int argc, char **argv)
{
    const char *text = getenv("EXPENSE_LIMIT");
    nod_server *server = nod_server_new(.name = "expense", .version = NOD_VERSION);

    if (text != NULL)
        limit = strtod(text, NULL);
    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
