/*
 * mcp/wire/failure: failures of the core, in the words of MCP.
 *
 * Holds always: a failure has the same facts wherever it is told, in a result's _meta or in an
 * error's data.
 */
#include "mcp/wire/failure.h"

#include "rpc/message.h"

enum { FACTS_TREE_MAX = 64 << 20 }; /* memory of further facts while they are read */

bool failure_wants_page(const struct outcome *outcome)
{
    return outcome->request_error && outcome->code &&
           str_eq(str_of(outcome->code), STR(OUTCOME_PAGE_REQUIRED));
}

int64_t failure_code2026(const struct outcome *outcome)
{
    bool params = outcome->status == NOD_E_INVALID || outcome->status == NOD_E_NOT_FOUND ||
                  (outcome->status == NOD_E_BAD_SCHEMA && outcome->request_error);

    return params ? RPC_INVALID_PARAMS : RPC_INTERNAL_ERROR;
}

int64_t failure_code2025(const struct outcome *outcome, enum revision_part part)
{
    if (failure_wants_page(outcome))
        return MCP_URL_REQUIRED;
    if (outcome->status == NOD_E_NOT_FOUND && part == PART_RESOURCE_RESULT)
        return MCP_RESOURCE_NOT_FOUND;
    return failure_code2026(outcome);
}

void content_text(struct json_writer *w, struct str text)
{
    jw_key(w, STR("content"));
    jw_array(w);
    jw_object(w);
    jw_key_str(w, STR("type"), STR("text"));
    jw_key_str(w, STR("text"), text);
    jw_end(w);
    jw_end(w);
}

void failure_content(struct json_writer *w, const struct outcome *outcome)
{
    content_text(w, outcome->message);
    jw_key_bool(w, STR("isError"), true);
}

static void write_facts(struct json_writer *w, const struct outcome *outcome, bool with_ask)
{
    jw_key_str(w, STR("code"),
               str_of(outcome->code ? outcome->code : outcome_code(outcome->status)));
    if (outcome->error_id.len)
        jw_key_str(w, STR("errorId"), outcome->error_id);
    if (outcome->details.len)
        jw_key_raw(w, STR("details"), outcome->details);
    if (!outcome->meta.len)
        return;
    struct arena arena;
    arena_init(&arena, FACTS_TREE_MAX);
    const struct json *meta = json_parse(&arena, outcome->meta, NULL, NULL);
    JSON_EACH (member, json_is(meta, JSON_OBJECT) ? meta : NULL) {
        /* What an older nod has stored has the second name. */
        bool ask = str_eq(member->key, STR("askId")) || str_eq(member->key, STR("elicitationId"));
        if (with_ask || !ask)
            jw_key_value(w, ask ? STR("elicitationId") : member->key, member);
    }
    arena_finish(&arena);
}

void failure_facts2025(struct json_writer *w, const struct outcome *outcome)
{
    write_facts(w, outcome, true);
}

void failure_facts2026(struct json_writer *w, const struct outcome *outcome)
{
    write_facts(w, outcome, false);
}
