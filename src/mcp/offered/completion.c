/*
 * mcp/offered/completion: suggestions for an argument of a prompt or of a resource template.
 */
#include "mcp/offered/lists.h"
#include "mcp/offered/methods.h"

enum { COMPLETION_SENT_MAX = 100 }; /* suggestions that are sent for one completion */

static struct target *allowed(const struct request *request, struct target *target)
{
    return target && lists_allow(request, target) ? target : NULL;
}

/* The prompt or template that params.ref names, or NULL after an error reply. */
static struct target *find_ref(struct request *request)
{
    const struct json *ref = json_get(request->params, STR("ref"));
    const struct catalog *catalog = request->server->opts.catalog;
    struct str type = json_get_str(ref, STR("type"));
    struct target *target = NULL;

    if (str_eq(type, STR("ref/prompt"))) {
        target = allowed(request, catalog_for(catalog, request->sender, TARGET_PROMPT,
                                              json_get_str(ref, STR("name"))));
        if (!target)
            reply_error(request, RPC_INVALID_PARAMS,
                        STR("params.ref names no prompt of this server."));
    } else if (str_eq(type, STR("ref/resource"))) {
        struct str uri = json_get_str(ref, STR("uri"));
        target = catalog_template_for(catalog, request->sender, uri);
        if (!target)
            target = catalog_for(catalog, request->sender, TARGET_RESOURCE, uri);
        target = allowed(request, target);
        if (!target)
            reply_error(request, RPC_INVALID_PARAMS,
                        STR("params.ref names no resource or template of this server."));
    } else {
        reply_error(request, RPC_INVALID_PARAMS,
                    STR("params.ref.type must be \"ref/prompt\" or \"ref/resource\"."));
    }
    return target;
}

static void write_values(struct request *request, const struct completion *completion)
{
    size_t total = completion->total > completion->count ? completion->total : completion->count;
    struct json_writer w;

    reply_begin(request, &w);
    jw_key(&w, STR("completion"));
    jw_object(&w);
    jw_key(&w, STR("values"));
    jw_array(&w);
    for (size_t i = 0; i < completion->count; i++)
        jw_str(&w, completion->values[i]);
    jw_end(&w);
    jw_key_i64(&w, STR("total"), (int64_t)total);
    jw_key_bool(&w, STR("hasMore"), total > completion->count);
    jw_end(&w);
    reply_end(request, &w);
}

void completion_complete(struct request *request)
{
    const struct json *argument, *context;
    struct target *target = find_ref(request);

    if (!target || !request_object(request, STR("argument"), &argument) ||
        !request_object(request, STR("context"), &context))
        return;
    const struct json *name = json_get(argument, STR("name"));
    const struct json *value = json_get(argument, STR("value"));
    if (!json_is(name, JSON_STRING) || !json_is(value, JSON_STRING)) {
        reply_error(request, RPC_INVALID_PARAMS,
                    STR("params.argument must be {\"name\": string, \"value\": string}."));
        return;
    }

    struct completion completion = { .argument = json_str(name),
                                     .typed = json_str(value),
                                     .context = json_get(context, STR("arguments")),
                                     .arena = &request->server->message };
    nod_status status = target->completes && target->provider->ops->complete
                            ? target->provider->ops->complete(target->provider, target, &completion)
                            : NOD_E_NOT_FOUND;
    if (status != NOD_OK && status != NOD_E_NOT_FOUND) {
        reply_error(request, RPC_INTERNAL_ERROR, STR("The suggestions could not be made."));
        return;
    }
    /* If an argument has no suggestions, the list is empty; that is not an error. */
    if (status == NOD_E_NOT_FOUND)
        completion.count = completion.total = 0;
    if (completion.count > COMPLETION_SENT_MAX)
        completion.count = COMPLETION_SENT_MAX;
    write_values(request, &completion);
}
