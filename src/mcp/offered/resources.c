/*
 * mcp/offered/resources: resources are listed and read.
 *
 * Who is told of their changes is the business of the eras (mcp/era2025/subscribers,
 * mcp/era2026/subscriptions).
 */
#include "mcp/offered/lists.h"
#include "mcp/offered/methods.h"
#include "mcp/wire/failure.h"

void resources_list(struct request *request)
{
    lists_reply(request, TARGET_RESOURCE, false, STR("resources"), PART_RESOURCE);
}

void resources_templates_list(struct request *request)
{
    lists_reply(request, TARGET_RESOURCE, true, STR("resourceTemplates"), PART_RESOURCE);
}

static void reply_not_found(struct request *request, struct str uri)
{
    struct buf data;
    struct json_writer w;

    buf_init(&data, MCP_MESSAGE_MAX);
    json_writer_init(&w, &data);
    jw_object(&w);
    jw_key_str(&w, STR("uri"), uri);
    jw_end(&w);
    /* The 2026 era has no code of its own for this. */
    reply_error_data(request, request->meta ? RPC_INVALID_PARAMS : MCP_RESOURCE_NOT_FOUND,
                     STR("Resource not found"), buf_str(&data));
    buf_finish(&data);
}

struct target *resources_find(struct request *request, struct str *uri, struct json **variables,
                              bool reads)
{
    if (!request_text(request, STR("uri"), uri))
        return NULL;
    struct target *target = uri->len > MCP_URI_MAX
                                ? NULL
                                : catalog_match(request->server->opts.catalog, request->sender,
                                                *uri, &request->server->message, variables);
    if (target && !lists_allow(request, target)) {
        reply_not_found(request, *uri);
        return NULL;
    }
    if (!target && uri->len <= MCP_URI_MAX && !catalog_uri_is_text(*uri, &request->server->message))
        reply_error(request, RPC_INVALID_PARAMS,
                    STR("params.uri is not percent-encoded UTF-8: a % stands in front of two "
                        "hexadecimal digits, and the bytes are text without NUL."));
    else if (!target && catalog_uri_hides_slash(*uri))
        reply_error(request, RPC_INVALID_PARAMS,
                    STR("params.uri has an encoded slash (%2F), which no variable of a uri "
                        "template takes."));
    else if (!target &&
             !(reads && request->era->gone(
                            request, &(struct wanted){ .kind = TARGET_RESOURCE, .uri = *uri })))
        reply_not_found(request, *uri);
    return target;
}

void resources_read(struct request *request)
{
    struct json *variables = NULL;
    struct str uri;
    struct target *target = resources_find(request, &uri, &variables, true);

    if (target)
        request_start(request, (struct start_spec){ .target = target,
                                                    .args = variables,
                                                    .uri = uri,
                                                    .part = PART_RESOURCE_RESULT });
}
