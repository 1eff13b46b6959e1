/*
 * mcp/offered/tools: tools/list and tools/call.
 *
 * A tool is called by its path, or by the name that clients are shown for it (catalog_show).
 *
 * Arguments are not checked here: the core checks them against the tool's schema. If they do not
 * fit, the result says so, and the model can read and correct them.
 */
#include "mcp/wire/headers.h"
#include "mcp/offered/lists.h"
#include "mcp/offered/methods.h"

enum { TOOL_NAME_SHOWN_MAX = 128 };

void tools_list(struct request *request)
{
    lists_reply(request, TARGET_TOOL, false, STR("tools"), PART_TOOL);
}

void tools_call(struct request *request)
{
    const struct json *args;
    struct str name;

    if (!request_name(request, &name) || !request_arguments(request, &args))
        return;
    struct target *target = catalog_called(request->server->opts.catalog, request->sender, name);
    if (!target &&
        request->era->gone(request,
                           &(struct wanted){ .kind = TARGET_TOOL, .name = name, .args = args }))
        return;
    if (!target || !lists_allow(request, target)) {
        if (name.len > TOOL_NAME_SHOWN_MAX)
            name.len = TOOL_NAME_SHOWN_MAX;
        reply_errorf(request, RPC_INVALID_PARAMS, "Unknown tool: " STR_FMT, STR_ARG(name));
        return;
    }
    struct meta_fault fault;
    if (request->http &&
        !headers_params_agree(request->http, target->param_headers, target->param_header_count,
                              args, &request->server->message, &fault)) {
        reply_fault(request, &fault);
        return;
    }
    request_start(request,
                  (struct start_spec){ .target = target, .args = args, .part = PART_TOOL_RESULT });
}
