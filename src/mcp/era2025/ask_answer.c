/*
 * mcp/era2025/ask_answer: what a client of the 2025 era has answered.
 *
 * A JSON-RPC error means that this client has no handler, or that its handler broke. Nobody has
 * refused anything, so the ask moves to the next surface. Only for sampling does MCP have an error
 * (-1) that means a person said no.
 *
 * Holds always: a malformed result is never read as consent.
 */
#include "mcp/era2025/ask_inside.h"

enum { SAMPLING_REJECTED = -1 };

/* Content that fits no question: the answer is invalid, and is no consent. */
static const struct json not_an_object = { .type = JSON_STRING };

static const struct response unfit = { .action = ASK_ACCEPTED, .content = &not_an_object };

void ask2025_read_back(const struct ask_record *record, enum form_revision revision,
                       struct arena *arena, struct response *response)
{
    bool form = record->kind == ASK_FORM || record->kind == ASK_APPROVAL;

    if (!form || !record->detail.len || !response->content || revision == FORM_2025_11_25)
        return;
    const struct json *schema = json_parse(arena, record->detail, NULL, NULL);
    response->content = form_read_back(schema, revision, response->content, arena);
    response->too_large |= arena->exhausted;
}

struct response ask2025_read(const struct ask_record *record, bool confirm,
                             const struct json *result, int64_t code)
{
    if (!result && record->kind == ASK_SAMPLE && code == SAMPLING_REJECTED)
        return (struct response){ .action = ASK_DECLINED };
    if (!result)
        return (struct response){ .reading = READ_NOTHING };
    if (record->kind == ASK_SAMPLE || record->kind == ASK_ROOTS)
        return (struct response){ .action = ASK_ACCEPTED, .content = result };
    const struct json *content = json_get(result, STR("content"));
    const struct json *truth = json_get(content, STR("confirm"));
    bool url = record->kind == ASK_URL;
    enum ask_state action;
    if (!ask_action_read(json_get_str(result, STR("action")), &action))
        /* a URL has no content that could be invalid */
        return url ? (struct response){ .reading = READ_NOTHING } : unfit;
    if (action != ASK_ACCEPTED || url)
        return (struct response){ .action = action };
    if (!confirm) /* null counts as no content */
        return (struct response){ .action = ASK_ACCEPTED,
                                  .content = json_is(content, JSON_NULL) ? NULL : content };
    if (!json_is(truth, JSON_BOOL))
        return unfit;
    return (struct response){ .action = truth->truth ? ASK_ACCEPTED : ASK_DECLINED };
}
