/*
 * mcp/offered/prompts: prompts/list and prompts/get.
 */
#include "mcp/offered/lists.h"
#include "mcp/offered/methods.h"

enum { PROMPT_NAME_SHOWN_MAX = 128 };

void prompts_list(struct request *request)
{
    lists_reply(request, TARGET_PROMPT, false, STR("prompts"), PART_PROMPT);
}

void prompts_get(struct request *request)
{
    const struct json *args;
    struct str name;

    if (!request_name(request, &name) || !request_arguments(request, &args))
        return;
    JSON_EACH (arg, args) {
        if (arg->type != JSON_STRING) {
            reply_error(request, RPC_INVALID_PARAMS,
                        STR("Every argument of a prompt must be a string."));
            return;
        }
    }
    struct target *target =
        catalog_for(request->server->opts.catalog, request->sender, TARGET_PROMPT, name);
    if (!target &&
        request->era->gone(request,
                           &(struct wanted){ .kind = TARGET_PROMPT, .name = name, .args = args }))
        return;
    if (!target || !lists_allow(request, target)) {
        if (name.len > PROMPT_NAME_SHOWN_MAX)
            name.len = PROMPT_NAME_SHOWN_MAX;
        reply_errorf(request, RPC_INVALID_PARAMS, "Unknown prompt: " STR_FMT, STR_ARG(name));
        return;
    }
    request_start(
        request, (struct start_spec){ .target = target, .args = args, .part = PART_PROMPT_RESULT });
}
