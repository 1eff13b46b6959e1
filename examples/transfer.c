/*
 * transfer: two questions in one call, then one side effect with an idempotency key.
 *
 * What it shows: straight-line code that asks twice; a question with its own time to live; a
 * balance that is read inside a step, because a question shows it; and nod_step_key, the key that a
 * bank is given so that a repeated transfer is the same transfer.
 *
 * Run it:
 *
 *     build/release/examples/transfer
 *     build/release/examples/transfer --http 127.0.0.1:8080
 *
 * What the person sees: first a form with the account to pay from and a reference; then, with a
 * minute to decide, "Send 250.00 from savings (1000.00) to Bob?". If nobody answers, nothing is
 * sent.
 *
 * TRANSFER_CONFIRM_MS changes the minute.
 */
#include <nod/nod.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t confirm_ms = 60000;

struct account {
    const char *name;
    int64_t cents;
};

static struct account accounts[] = { { "checking", 50000 }, { "savings", 100000 } };

static struct account *find_account(const char *name)
{
    for (size_t i = 0; i < sizeof(accounts) / sizeof(accounts[0]); i++)
        if (strcmp(accounts[i].name, name) == 0)
            return &accounts[i];
    return NULL;
}

/* A bank. It remembers the keys it has seen: the same key again is the same transfer. */
enum { BANK_KEYS = 64, BANK_KEY_LEN = 128 };
static char bank_keys[BANK_KEYS][BANK_KEY_LEN];
static size_t bank_key_count;

static bool bank_knows(const char *key)
{
    for (size_t i = 0; i < bank_key_count; i++)
        if (strcmp(bank_keys[i], key) == 0)
            return true;
    return false;
}

static nod_status bank_send(struct account *from, int64_t cents, const char *key)
{
    if (bank_knows(key))
        return NOD_OK;
    if (bank_key_count == BANK_KEYS)
        return NOD_E_LIMIT;
    if (from->cents < cents)
        return NOD_E_INVALID;
    from->cents -= cents;
    snprintf(bank_keys[bank_key_count++], BANK_KEY_LEN, "%s", key);
    return NOD_OK;
}

struct order {
    struct account *from;
    int64_t cents;
};

static nod_status read_balance(nod_step_run *step, void *arg)
{
    const struct order *order = arg;

    nod_step_result(step, nod_json_int(nod_step_call(step), order->from->cents));
    return NOD_OK;
}

static nod_status send_money(nod_step_run *step, void *arg)
{
    struct order *order = arg;

    return bank_send(order->from, order->cents, nod_step_key(step));
}

/* Amounts are euros on the outside and whole cents inside. */
static const char *euros(nod_call *call, int64_t cents)
{
    return nod_fmt(call, "%lld.%02lld", (long long)(cents / 100), (long long)(cents % 100));
}

static nod_status transfer(nod_call *call)
{
    const char *to = nod_arg_str(call, "to");
    struct order order = { .cents = nod_arg_int(call, "cents") };
    nod_answer details;

    NOD_TRY(nod_elicit(
        call, &details, .key = "details",
        .message =
            nod_fmt(call, "Where shall the %s for %s come from?", euros(call, order.cents), to),
        .form = NOD_FORM(
            NOD_CHOICE("account", NOD_OPTIONS({ "checking", "Checking" }, { "savings", "Savings" }),
                       .title = "Account", .required = true, .preset = "checking"),
            NOD_TEXT("reference", .title = "Reference", NOD_MAX(80)))));
    if (details.action != NOD_ACCEPT)
        return nod_reply_text(call, "Nothing was sent.");

    order.from = find_account(nod_get_str(details.content, "account"));

    /* The balance may change while the person thinks, and a replay must ask the same question. */
    const nod_json *balance;
    NOD_TRY(nod_step(call, "balance", read_balance, &order, &balance));

    bool yes;
    NOD_TRY(nod_confirm(call, &yes, .key = "confirm", .ttl_ms = confirm_ms,
                        .message =
                            nod_fmt(call, "Send %s from %s (%s) to %s?", euros(call, order.cents),
                                    order.from->name, euros(call, nod_as_int(balance)), to)));
    if (!yes)
        return nod_reply_text(call, "Nothing was sent.");

    nod_status sent = nod_step(call, "send", send_money, &order, NULL);
    if (sent == NOD_E_INVALID)
        return nod_reply_error(call, "There is not enough money on %s. Nothing was sent.",
                               order.from->name);
    NOD_TRY(sent);

    const char *reference = nod_get_str(details.content, "reference");
    return nod_reply_textf(call, "Sent %s from %s to %s%s%s.", euros(call, order.cents),
                           order.from->name, to, *reference ? ", reference " : "", reference);
}

static const nod_tool tools[] = {
    { .name = "transfer",
      .handler = transfer,
      .title = "Transfer money",
      .description =
          "Sends money, after a person has chosen the account and confirmed the transfer",
      .input = NOD_FORM(
          NOD_TEXT("to", .description = "Who gets it", .required = true, NOD_MIN(1), NOD_MAX(80)),
          NOD_INT("cents", .description = "How much, in cents", .required = true, NOD_MIN(1),
                  NOD_MAX(100000000))),
      .destructive = true },
};

int main(int argc, char **argv)
{
    const char *text = getenv("TRANSFER_CONFIRM_MS");
    nod_server *server = nod_server_new(.name = "transfer", .version = NOD_VERSION);

    if (text != NULL)
        confirm_ms = strtoll(text, NULL, 10);
    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
