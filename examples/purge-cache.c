/*
 * purge-cache: a destructive tool whose approval is remembered.
 *
 * What it shows: .remember, and nod_approve with .tool_path. Purging a zone of the cache needs a
 * person's yes. Whoever gives it in the inbox may add "for this session" or "for 1 hour", for this
 * zone; the next purge of the zone then passes without a question. refresh_site purges as well, as
 * a part of its work, and honours the same approvals.
 *
 * Run it, open the link to the inbox that it logs, and let a client call purge_zone twice:
 *
 *     build/release/examples/purge-cache --http 127.0.0.1:8080
 *
 * Approvals for every zone at once need the operator's leave, because the tool is destructive:
 *
 *     build/release/examples/purge-cache --http 8080 --remember purge_zone=session,1h,tool
 *
 * What the person sees, in the inbox: "Allow Purge a zone?" with the zone, Approve, Decline, and
 * what may be remembered. A client that shows forms asks there instead, each time: --surfaces inbox
 * asks only in the inbox.
 */
#include <nod/nod.h>

static int purges; /* a real server would talk to its cache */

static nod_status purge(nod_step_run *step, void *arg)
{
    nod_call *call = nod_step_call(step);
    (void)arg;

    nod_step_result(step, nod_json_int(call, ++purges));
    return NOD_OK;
}

/* The gate has asked, or has found an approval that is remembered. */
static nod_status purge_zone(nod_call *call)
{
    const char *zone = nod_arg_str(call, "zone");
    const nod_json *count;

    NOD_TRY(nod_step(call, "purge", purge, (void *)zone, &count));
    return nod_reply_textf(call, "Purged %s; %d in all.", zone, (int)nod_as_int(count));
}

/* The arguments of this tool are those of purge_zone, so an approval for the zone counts here. */
static nod_status refresh_site(nod_call *call)
{
    const char *zone = nod_arg_str(call, "zone");
    nod_approval approval;
    const nod_json *count;

    NOD_TRY(nod_approve(call, &approval, .tool_path = "purge_zone",
                        .message = nod_fmt(call, "Purge %s, to refresh the site?", zone)));
    if (!approval.approved)
        return nod_reply_textf(call, "%s was not refreshed.", zone);
    NOD_TRY(nod_step(call, "purge", purge, (void *)zone, &count));
    return nod_reply_textf(call, "Refreshed %s; %d purges in all. Approved by %s.", zone,
                           (int)nod_as_int(count), approval.by);
}

int main(int argc, char **argv)
{
    const nod_tool tools[] = {
        {
            .name = "purge_zone",
            .handler = purge_zone,
            .title = "Purge a zone",
            .description = "Empties a zone of the cache. It fills again, slowly.",
            .input = NOD_FORM(NOD_TEXT("zone", .title = "Zone", .required = true)),
            .destructive = true,
            .requires_confirmation = true,
            .remember = NOD_REMEMBER_SESSION | NOD_REMEMBER_TIME, /* for these arguments */
        },
        {
            .name = "refresh_site",
            .handler = refresh_site,
            .title = "Refresh a site",
            .description = "Purges a zone, and warms it up again.",
            .input = NOD_FORM(NOD_TEXT("zone", .title = "Zone", .required = true)),
            .destructive = true,
        },
    };
    nod_server *server = nod_server_new(.name = "purge-cache", .version = NOD_VERSION);

    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
