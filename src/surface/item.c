/*
 * surface/item: an ask as JSON, as every reader of the API sees it.
 *
 * Arguments and schemas are written byte for byte as they came, so no number changes on the way.
 * What was answered, and what the call led to, is written only for those who may see it; the
 * content of a sensitive answer is written for nobody.
 */
#include "core/note.h"
#include "core/outcome.h"
#include "surface/hosted.h"
#include "surface/inbox_inside.h"

enum {
    ITEM_ARENA_MAX = 24 << 20,              /* memory to read the outcome of a call */
    ITEM_URL_MAX = 2 * ENGINE_PAGE_URL_MAX, /* memory for the link of a page */
    ITEM_TOOL_MAX = 1 << 20,                /* memory to read the description of a tool */
};

/* Says its author so? A tool that says nothing may be destructive, but is not called so. */
static bool is_destructive(const struct target *tool)
{
    struct arena arena;

    if (!tool || str_find(tool->descriptor, STR("destructiveHint")) < 0)
        return false;
    arena_init(&arena, ITEM_TOOL_MAX);
    const struct json *descriptor = json_parse(&arena, tool->descriptor, NULL, NULL);
    bool so = json_true(json_get(json_get(descriptor, STR("annotations")), STR("destructiveHint")));
    arena_finish(&arena);
    return so;
}

/* Whoever asks; and what the yes is for, if that is another tool. The colour is of the more
 * dangerous of both. */
static void write_tool(struct json_writer *w, const struct inbox *inbox,
                       const struct ask_record *ask)
{
    const struct target *tool =
        catalog_for(inbox->opts.catalog, ask->principal, TARGET_TOOL, ask->target);
    struct arena arena;

    arena_init(&arena, ITEM_TOOL_MAX);
    struct str path = grant_path(ask, &arena);
    const struct target *other =
        path.len ? catalog_for(inbox->opts.catalog, ask->principal, TARGET_TOOL, path) : NULL;
    jw_key_str(w, STR("tool"), ask->target);
    jw_key_str(w, STR("title"), tool && tool->title.len ? tool->title : ask->target);
    jw_key_bool(w, STR("destructive"), is_destructive(tool) || is_destructive(other));
    if (path.len)
        jw_key_str(w, STR("approves"), path);
    if (tool && tool->from.len)
        jw_key_str(w, STR("plugin"), tool->from);
    arena_finish(&arena);
}

static void key_raw_or(struct json_writer *w, struct str key, struct str json, struct str or)
{
    jw_key_raw(w, key, json.len ? json : or);
}

static void write_urls(struct json_writer *w, const struct inbox *inbox,
                       const struct ask_record *ask)
{
    struct arena arena;

    if (ask->kind != ASK_URL)
        return;
    arena_init(&arena, ITEM_URL_MAX);
    struct str url = ask_url(inbox->opts.engine, ask, &arena);
    jw_key_str(w, STR("url"), url);
    if (ask->page) /* it is answered there, and not here */
        jw_key_str(w, STR("page"), url);
    arena_finish(&arena);
}

static void write_question(struct json_writer *w, const struct inbox *inbox,
                           const struct shown_ask *shown)
{
    const struct ask_record *ask = &shown->ask;

    jw_key_bool(w, STR("consent"), ask->consent);
    jw_key_str(w, STR("message"), ask->message);
    key_raw_or(w, STR("schema"), ask->page ? STR_NONE : ask->detail, STR("null"));
    key_raw_or(w, STR("arguments"), shown->args, shown->found ? STR("{}") : STR("null"));
    write_urls(w, inbox, ask);
    const struct hosted_kind *page = hosted_kind_of(ask);
    if (page && page->item)
        page->item(w, ask);
    jw_key_str(w, STR("principal"), ask->principal);
    key_raw_or(w, STR("client"), shown->client, STR("null"));
}

/* What was written beside the answer; if nobody answered because the call has ended, how it did. */
static void write_reason(struct json_writer *w, const struct shown_ask *shown)
{
    struct outcome outcome = { 0 };
    struct arena arena;

    arena_init(&arena, ITEM_ARENA_MAX);
    struct str reason = note_reason(shown->ask.note, &arena);
    if (shown->ask.state == ASK_WITHDRAWN && !reason.len) {
        if (shown->result.len && outcome_read(&arena, shown->result, &outcome) == NOD_OK)
            reason = outcome.message;
        if (!reason.len)
            reason = STR("The call has ended without this answer.");
    }
    api_key_str_or_null(w, STR("reason"), reason);
    arena_finish(&arena);
}

/* What may be chosen to be remembered with a yes. */
static void write_remember(struct json_writer *w, const struct ask_record *ask)
{
    struct remember_choice choices[GRANT_CHOICES_MAX];
    struct arena arena;

    arena_init(&arena, ITEM_TOOL_MAX);
    size_t count = ask->state == ASK_PENDING ? grants_offered(ask, &arena, choices) : 0;
    jw_key(w, STR("remember"));
    jw_array(w);
    for (size_t i = 0; i < count; i++) {
        jw_object(w);
        jw_key_str(w, STR("scope"), grant_scope_name(choices[i].scope));
        jw_key_str(w, STR("match"), grant_match_name(choices[i].match));
        jw_key(w, STR("for"));
        if (choices[i].for_ms)
            jw_i64(w, choices[i].for_ms / 1000);
        else
            jw_null(w);
        jw_key_str(w, STR("label"), choices[i].label);
        jw_end(w);
    }
    jw_end(w);
    arena_finish(&arena);
}

/* The texts of a tool's result, one after the other; or its failure. */
static struct str result_text(struct arena *arena, const struct outcome *outcome)
{
    struct str text = STR_NONE;

    if (outcome->status != NOD_OK)
        return outcome->message;
    const struct json *body = json_parse(arena, outcome->body, NULL, NULL);
    JSON_EACH (block, json_get(body, STR("content"))) {
        struct str more = json_get_str(block, STR("text"));
        if (more.len && text.len)
            text = arena_fmt(arena, STR_FMT "\n" STR_FMT, STR_ARG(text), STR_ARG(more));
        else if (more.len)
            text = more;
    }
    return text;
}

static bool is_error(struct arena *arena, const struct outcome *outcome)
{
    return outcome->status != NOD_OK ||
           json_true(json_get(json_parse(arena, outcome->body, NULL, NULL), STR("isError")));
}

static void write_call(struct json_writer *w, const struct shown_ask *shown, bool all)
{
    static const struct str names[] = {
        [CALL_STORED_RUNNING] = STR_INIT("running"),
        [CALL_STORED_WAITING] = STR_INIT("waiting"),
        [CALL_STORED_RUNNABLE] = STR_INIT("running"),
        [CALL_STORED_FINISHED] = STR_INIT("finished"),
        [CALL_STORED_CANCELLED] = STR_INIT("cancelled"),
    };
    struct outcome outcome = { 0 };
    struct arena arena;

    arena_init(&arena, ITEM_ARENA_MAX);
    bool ended = all && shown->state == CALL_STORED_FINISHED && shown->result.len &&
                 outcome_read(&arena, shown->result, &outcome) == NOD_OK;
    jw_key(w, STR("call"));
    jw_object(w);
    jw_key_str(w, STR("state"),
               ended && is_error(&arena, &outcome) ? STR("failed") : names[shown->state]);
    api_key_str_or_null(w, STR("result"), ended ? result_text(&arena, &outcome) : STR_NONE);
    jw_end(w);
    arena_finish(&arena);
}

static void write_members(struct json_writer *w, const struct inbox *inbox,
                          const struct shown_ask *shown, bool all)
{
    const struct ask_record *ask = &shown->ask;

    jw_key_str(w, STR("id"), ask->id);
    jw_key_str(w, STR("executionId"), ask->call_id);
    jw_key_str(w, STR("kind"), api_kind(ask->kind));
    jw_key_str(w, STR("state"), ask_state_name(ask->state));
    write_tool(w, inbox, ask);
    write_question(w, inbox, shown);
    jw_key_str(w, STR("server"), inbox->opts.name);
    jw_key_time(w, STR("askedAt"), ask->asked_ms);
    jw_key_time(w, STR("expiresAt"), ask->expires_ms);
    jw_key_i64(w, STR("attempt"), ask->attempt);
    write_remember(w, ask);
    if (ask->state != ASK_PENDING) {
        api_write_answer(w, ask);
        write_reason(w, shown);
        jw_key_i64(w, STR("tookMs"), ask->ended_ms - ask->asked_ms);
        if (all && !ask->sensitive && ask->state == ASK_ACCEPTED && ask->content.len)
            jw_key_raw(w, STR("content"), ask->content);
        jw_end(w);
        if (shown->found)
            write_call(w, shown, all);
        else
            jw_key(w, STR("call")), jw_null(w);
    }
}

void item_write(struct json_writer *w, const struct inbox *inbox, const struct shown_ask *shown,
                bool all)
{
    jw_object(w);
    write_members(w, inbox, shown, all);
    jw_end(w);
}

void item_write_alone(struct json_writer *w, const struct inbox *inbox,
                      const struct shown_ask *shown, bool all)
{
    const struct target *tool =
        catalog_for(inbox->opts.catalog, shown->ask.principal, TARGET_TOOL, shown->ask.target);
    struct arena arena;

    arena_init(&arena, ITEM_TOOL_MAX);
    const struct json *descriptor = tool ? json_parse(&arena, tool->descriptor, NULL, NULL) : NULL;
    const struct json *input = json_get(descriptor, STR("inputSchema"));
    jw_object(w);
    write_members(w, inbox, shown, all);
    jw_key(w, STR("inputSchema"));
    if (input)
        jw_value(w, input);
    else
        jw_null(w);
    jw_end(w);
    arena_finish(&arena);
}
