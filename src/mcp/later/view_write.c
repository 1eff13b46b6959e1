/*
 * mcp/later/view_write: a question as a view is given it, and how one that it has stands.
 *
 * Each is written as the inbox has it. Values that are JSON already are written as they are, so no
 * number changes on the way.
 */
#include "core/catalog.h"
#include "core/grant.h"
#include "mcp/later/view_inside.h"

enum { VIEW_ROW_BYTES = 4096 }; /* bytes of a question beside its texts, at most */

/* A byte of a text is written as six at most. */
size_t view_question_size(const struct ask_record *ask, const struct call_record *call)
{
    return VIEW_ROW_BYTES + call->args.len + call->client.len + ask->detail.len +
           6 * (ask->message.len + ask->principal.len + 2 * ask->target.len);
}

static void write_tool(struct json_writer *w, const struct views *views,
                       const struct view_shown *shown)
{
    const struct catalog *catalog = views->server->opts.catalog;
    const struct target *tool =
        catalog_for(catalog, shown->ask.principal, TARGET_TOOL, shown->ask.target);
    struct arena arena;

    arena_init(&arena, VIEW_ROW_BYTES);
    struct str path = grant_path(&shown->ask, &arena);
    const struct target *other =
        path.len ? catalog_for(catalog, shown->ask.principal, TARGET_TOOL, path) : NULL;
    jw_key_str(w, STR("tool"), shown->ask.target);
    jw_key_str(w, STR("title"), tool && tool->title.len ? tool->title : shown->ask.target);
    jw_key_bool(w, STR("destructive"),
                (tool && tool->destructive) || (other && other->destructive));
    if (path.len)
        jw_key_str(w, STR("approves"), path);
    arena_finish(&arena);
}

static void raw_or(struct json_writer *w, struct str key, struct str json, struct str or)
{
    jw_key_raw(w, key, json.len ? json : or);
}

void view_write_question(struct json_writer *w, const struct views *views,
                         const struct view_shown *shown)
{
    const struct ask_record *ask = &shown->ask;

    jw_object(w);
    jw_key_str(w, STR("nonce"), str_of(shown->record.nonce));
    jw_key_str(w, STR("id"), ask->id);
    jw_key_str(w, STR("executionId"), ask->call_id);
    jw_key_str(w, STR("kind"), ask->kind == ASK_APPROVAL ? STR("approval") : STR("form"));
    jw_key_str(w, STR("state"), STR("pending"));
    write_tool(w, views, shown);
    jw_key_bool(w, STR("consent"), ask->consent);
    jw_key_str(w, STR("message"), ask->message);
    raw_or(w, STR("schema"), ask->detail, STR("null"));
    raw_or(w, STR("arguments"), shown->args, STR("{}"));
    jw_key_str(w, STR("principal"), ask->principal);
    raw_or(w, STR("client"), shown->client, STR("null"));
    jw_key_str(w, STR("server"), views->server->opts.self.name);
    jw_key_time(w, STR("askedAt"), ask->asked_ms);
    jw_key_time(w, STR("expiresAt"), ask->expires_ms);
    jw_key_i64(w, STR("attempt"), ask->attempt);
    jw_end(w);
}

void view_write_ended(struct json_writer *w, const struct view_shown *shown)
{
    const struct ask_record *ask = &shown->ask;

    jw_object(w);
    jw_key_str(w, STR("nonce"), str_of(shown->record.nonce));
    jw_key_str(w, STR("state"), ask_state_name(ask->state));
    jw_key_str(w, STR("by"), ask->by);
    jw_key_str(w, STR("via"), ask_via_shown(ask->via));
    if (ask->ended_ms)
        jw_key_time(w, STR("at"), ask->ended_ms);
    jw_end(w);
}

void view_write_waiting(struct json_writer *w, struct str nonce, bool mine)
{
    jw_object(w);
    jw_key_str(w, STR("nonce"), nonce);
    jw_key_bool(w, STR("mine"), mine);
    jw_end(w);
}
