/*
 * renewals: a question about each of several things, and a step for each yes.
 *
 * What it shows: nod_each, which asks about all of them in one round and does one step for each
 * that was accepted; that what the questions are about is read in a step; .journal_entries, because
 * a call with many questions and steps learns more than usual; and what to say when some of it
 * failed.
 *
 * Run it:
 *
 *     build/release/examples/renewals
 *     build/release/examples/renewals --http 127.0.0.1:8080
 *
 * What the person sees: "Renew example.org for 12.00?", and the same for each domain that runs out.
 * Only what they accept is renewed. If the server is stopped in the middle (with a store that keeps
 * calls), the domains that were renewed are not renewed again.
 */
#include <nod/nod.h>

enum { DOMAINS_MAX = 100, DAYS_LEFT = 30 };

struct domain {
    const char *name;
    int days; /* until it runs out */
    int cents;
    bool locked; /* its registry refuses to renew it */
};

static struct domain domains[] = {
    { "example.org", 12, 1200, false },
    { "example.net", 3, 1450, false },
    { "example.com", 200, 1100, false },
    { "example.edu", 7, 9900, true },
};
enum { DOMAIN_COUNT = sizeof(domains) / sizeof(domains[0]) };

static nod_status list_domains(nod_call *call)
{
    for (size_t i = 0; i < DOMAIN_COUNT; i++)
        (void)nod_reply_textf(call, "%s: %d days", domains[i].name, domains[i].days);
    return NOD_OK;
}

/* Which domains are meant, as their numbers: they are the same for every question and every run. */
static nod_status find_expiring(nod_step_run *step, void *arg)
{
    nod_call *call = nod_step_call(step);
    nod_json *found = nod_array(call);
    (void)arg;

    for (size_t i = 0; i < DOMAIN_COUNT; i++)
        if (domains[i].days <= DAYS_LEFT)
            nod_push(call, found, nod_json_int(call, (int64_t)i));
    nod_step_result(step, found);
    return NOD_OK;
}

static const char *about(nod_call *call, void *item)
{
    const struct domain *domain = &domains[*(size_t *)item];

    return nod_fmt(call, "Renew %s for %d.%02d?", domain->name, domain->cents / 100,
                   domain->cents % 100);
}

/* One domain. A real registry would be given nod_step_key(step), and so recognise a repeat. */
static nod_status renew(nod_step_run *step, void *item)
{
    struct domain *domain = &domains[*(size_t *)item];

    if (domain->locked) {
        (void)nod_reply_error(nod_step_call(step), "the registry has locked it");
        return NOD_E_FAILED;
    }
    domain->days += 365;
    return NOD_OK;
}

static nod_status renew_domains(nod_call *call)
{
    const nod_json *found;
    size_t items[DOMAINS_MAX], count = 0;
    nod_each_result results[DOMAINS_MAX];

    NOD_TRY(nod_step(call, "find", find_expiring, NULL, &found));
    for (; count < nod_count(found) && count < DOMAINS_MAX; count++)
        items[count] = (size_t)nod_as_int(nod_at(found, count));
    if (count == 0)
        return nod_reply_text(call, "Nothing runs out soon.");

    NOD_TRY(nod_each(call, items, count, results, .key = "renew", .ask = about, .step = renew));

    for (size_t i = 0; i < count; i++) {
        const char *name = domains[items[i]].name;

        if (!results[i].yes)
            (void)nod_reply_textf(call, "%s: not renewed", name);
        else if (!results[i].done)
            (void)nod_reply_textf(call, "%s: failed, %s", name, results[i].error);
        else
            (void)nod_reply_textf(call, "%s: renewed", name);
    }
    return NOD_OK;
}

static const nod_tool tools[] = {
    { .name = "list_domains",
      .handler = list_domains,
      .description = "Lists the domains and when they run out",
      .read_only = true,
      .closed_world = true },
    { .name = "renew_domains",
      .handler = renew_domains,
      .title = "Renew domains",
      .description = "Renews the domains that run out soon, those that a person agrees to",
      .journal_entries = 1 + 2 * DOMAINS_MAX }, /* the list, and a question and a step for each */
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "renewals", .version = NOD_VERSION);

    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
