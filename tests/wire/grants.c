/*
 * grants: a server whose approvals can be remembered, in every way.
 *
 * GRANTS_VERSION is the author's version of the tool `guarded`, GRANTS_INPUT a JSON Schema instead
 * of its own, GRANTS_NAME another name for it: a changed tool.
 */
#include <nod/nod.h>

#include <stdlib.h>

#define EVERYTHING                                                                                 \
    (NOD_REMEMBER_SESSION | NOD_REMEMBER_PRINCIPAL | NOD_REMEMBER_TIME | NOD_REMEMBER_ARGUMENTS |  \
     NOD_REMEMBER_TOOL)

#define INPUT "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}"

static nod_status work(nod_step_run *step, void *arg)
{
    (void)step, (void)arg;
    return NOD_OK;
}

static nod_status guarded(nod_call *call)
{
    NOD_TRY(nod_step(call, "work", work, NULL, NULL));
    return nod_reply_text(call, "done");
}

/* Asks once more after the gate. */
static nod_status twice(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Really?"));
    return nod_reply_text(call, yes ? "done" : "not done");
}

static nod_status approving(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = "May I?", .tool_path = "guarded"));
    return approval.approved ? nod_reply_textf(call, "approved by %s", approval.by)
                             : nod_reply_text(call, "not approved");
}

/* What is approved has arguments of its own. */
static nod_status approving_other(nod_call *call)
{
    nod_json *other = nod_object(call);
    nod_approval approval;

    nod_set_int(call, other, "n", 5);
    NOD_TRY(nod_approve(call, &approval, .message = "May I?", .tool_path = "guarded",
                        .arguments = other));
    return nod_reply_text(call, approval.approved ? "approved" : "not approved");
}

/* The same on a thread of its own, with a form: somebody has to fill it in each time. */
static nod_status filling(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = "How many?", .tool_path = "guarded",
                        .form = NOD_FORM(NOD_INT("many", .required = true))));
    return nod_reply_textf(call, "approved %d", approval.approved);
}

/* Asks for the approval of a destructive tool. */
static nod_status for_risky(nod_call *call)
{
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .message = "May I?", .tool_path = "risky"));
    return nod_reply_text(call, approval.approved ? "approved" : "not approved");
}

static nod_status careless(nod_call *call)
{
    return nod_reply_text(call, "gone");
}

static const char *setting(const char *name, const char *otherwise)
{
    const char *set = getenv(name);

    return set != NULL ? set : otherwise;
}

int main(int argc, char **argv)
{
    const nod_tool tools[] = {
        { .name = setting("GRANTS_NAME", "guarded"),
          .handler = guarded,
          .input_schema = setting("GRANTS_INPUT", INPUT),
          .version = setting("GRANTS_VERSION", "1"),
          .requires_confirmation = true,
          .remember = EVERYTHING },
        { .name = "brief",
          .handler = guarded,
          .input_schema = INPUT,
          .requires_confirmation = true,
          .remember = NOD_REMEMBER_TIME | NOD_REMEMBER_TOOL,
          .remember_ms = 1 },
        { .name = "risky",
          .handler = guarded,
          .input_schema = INPUT,
          .destructive = true,
          .requires_confirmation = true,
          .remember = NOD_REMEMBER_SESSION | NOD_REMEMBER_TOOL },
        { .name = "twice",
          .handler = twice,
          .input_schema = INPUT,
          .requires_confirmation = true,
          .remember = EVERYTHING },
        { .name = "approving", .handler = approving, .input_schema = INPUT },
        { .name = "approving_other", .handler = approving_other, .input_schema = INPUT },
        { .name = "approving_blocking",
          .handler = approving,
          .input_schema = INPUT,
          .blocking = true },
        { .name = "filling", .handler = filling, .input_schema = INPUT },
        { .name = "sly", .handler = for_risky, .input_schema = INPUT },
        { .name = "frank",
          .handler = for_risky,
          .input_schema = INPUT,
          .approves = (const char *const[]){ "other", "risky", NULL } },
        { .name = "careless", .handler = careless, .destructive = true },
    };
    nod_server *server = nod_server_new(.name = "grants", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (nod_tools(server, tools) != NOD_OK) {
        nod_server_destroy(server);
        return 1;
    }
    return nod_main(server, argc, argv);
}
