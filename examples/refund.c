/*
 * refund: a tool that needs a key which the model must never meet.
 *
 * What it shows: nod_secret. The first call asks for the key of the payment service, on a page of
 * this server: the client is only given a link, and the key passes neither through it nor through
 * the model. After that every call has the key without a question, until somebody deletes it.
 *
 * Run it, open the link to the inbox that it logs, and let a client call refund twice:
 *
 *     MCP_ELICITATION_SECRET=$(openssl rand -base64 48) \
 *         build/release/examples/refund --http 127.0.0.1:8080 --http unix:refund.sock \
 *             --store sqlite:refund.db
 *
 * What the person sees, on the page: the message, a field for the key, and for how long it is kept.
 * A client that cannot open links leaves it to the inbox, which leads to the same page.
 *
 *     nod inbox unix:refund.sock secrets              what was given, by name
 *     nod inbox unix:refund.sock forget payments      deletes it: the next call asks again
 */
#include <nod/nod.h>
#include <string.h>

struct refund {
    const char *payment;
    nod_bytes key; /* for this run only: it is wiped when the handler returns */
};

/* A real server would send the key to the payment service, and nowhere else. */
static nod_status send_refund(nod_step_run *step, void *arg)
{
    const struct refund *refund = arg;

    if (strncmp(refund->key.text, "sk_", 3) != 0)
        return nod_reply_error(nod_step_call(step), "The payment service does not take this key.");
    nod_step_result(step, nod_json_str(nod_step_call(step), refund->payment));
    return NOD_OK;
}

static nod_status refund(nod_call *call)
{
    struct refund order = { .payment = nod_arg_str(call, "payment") };

    NOD_TRY(nod_secret(call, &order.key, .name = "payments",
                       .message =
                           "To send refunds I need the key of the payment service. It begins "
                           "with sk_ and stands on its page Developers, Keys."));
    NOD_TRY(nod_step(call, "refund", send_refund, &order, NULL));
    return nod_reply_textf(call, "Refunded %s.", order.payment);
}

int main(int argc, char **argv)
{
    const nod_tool tools[] = { {
        .name = "refund",
        .handler = refund,
        .title = "Refund a payment",
        .description = "Sends a payment back to whoever made it.",
        .input = NOD_FORM(NOD_TEXT("payment", .title = "Payment", .required = true)),
    } };
    nod_server *server = nod_server_new(.name = "refund", .version = NOD_VERSION);

    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
