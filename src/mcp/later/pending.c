/*
 * mcp/later/pending: see pending.h.
 */
#include "mcp/later/pending.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "json/shown.h"
#include "mcp/later/attach_tool.h"
#include "mcp/later/model.h"
#include "mcp/shared/question_message.h"
#include "mcp/shared/server_inside.h"
#include "mcp/later/view.h"
#include "mcp/wire/failure.h"

enum { PENDING_ARENA_MAX = 8 << 20 }; /* memory of a listing while it is widened */

/* --- the tool --- */

static const char descriptor[] =
    "{\"name\":\"waitForPerson\",\"title\":\"Wait for a person\","
    "\"description\":\"A tool that has to ask a person may return a pending result with a callId "
    "instead of its own result. Call this tool with that callId: it returns the result of that "
    "call "
    "as soon as the person has answered, or another pending result. Nothing is done twice.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"callId\":{\"type\":\"string\","
    "\"description\":\"The callId of the pending result\"}},\"required\":[\"callId\"]},"
    "\"annotations\":{\"title\":\"Wait for a person\",\"readOnlyHint\":true,"
    "\"openWorldHint\":false}}";

static bool tool_is_listed(const struct target *target, const struct audience *audience)
{
    const struct mcp_server *server = own_tool_of(target)->server;
    const struct catalog *catalog = server->opts.catalog;

    for (size_t i = 0; i < catalog_count(catalog, TARGET_TOOL, false); i++) {
        struct target *tool = catalog_at(catalog, TARGET_TOOL, false, i);
        if (!own_tool_of(tool) && catalog_is_for(catalog, tool, audience->principal) &&
            (engine_waits_for_people(server->opts.engine, tool, audience->kinds & 1u << ASK_FORM,
                                     audience->roles) ||
             (audience->views && views_ask(tool, CLIENT_CAN_VIEW))))
            return true;
    }
    return false;
}

static bool tool_read(const struct own_tool *tool, const struct json *args, struct arena *arena,
                      struct attach_wish *out, struct schema_problems *problems)
{
    (void)tool, (void)arena;
    out->call_id = json_get_str(args, STR("callId"));
    if (!out->call_id.len)
        problems->at[problems->count++] =
            (struct schema_problem){ STR("/callId"),
                                     STR("must be the callId of a pending result") };
    return problems->count == 0;
}

static const struct own_tool_ops tool_ops = { .read = tool_read };

struct pending *pending_create(struct mcp_server *server)
{
    struct pending *pending = MEM_NEW(struct pending);

    id_random(&pending->self);
    pending->tool = (struct own_tool){ .ops = &tool_ops,
                                       .target = { .kind = TARGET_TOOL,
                                                   .name = PENDING_TOOL,
                                                   .title = STR("Wait for a person"),
                                                   .descriptor = str_of(descriptor),
                                                   .listed = tool_is_listed,
                                                   .callable_unlisted = true } };
    if (!own_tool_add(&pending->tool, server))
        LOG_WARN("a tool of this server is called waitForPerson: pending results cannot be waited "
                 "for by their handle");
    return pending;
}

void pending_destroy(struct pending *pending)
{
    own_tool_remove(&pending->tool);
    mem_free(pending);
}

bool pending_may_come(struct mcp_server *server, struct target *target, unsigned can,
                      role_set roles)
{
    return engine_waits_elsewhere(server->opts.engine, target, client_ask_kinds(can), roles) ||
           views_ask(target, can);
}

/* --- the soft deadline --- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t pending_soft_ms(const struct mcp_server *server, const struct target *target,
                        struct str client)
{
    int64_t ms = larger(server->opts.soft_ms, target ? target->soft_deadline_ms : 0);

    for (size_t i = 0; i < server->opts.soft_rule_count; i++) {
        const struct mcp_soft_rule *rule = &server->opts.soft_rules[i];
        if (str_eq(rule->name, rule->tool ? (target ? target->name : STR_NONE) : client))
            ms = larger(ms, rule->ms);
    }
    return ms;
}

int64_t pending_hold_ms(const struct mcp_server *server, const struct call *call, int64_t usual)
{
    return model_is_asked(server, call) ? 0 : usual;
}

int64_t pending_keep_ms(const struct mcp_server *server, const struct call *call)
{
    int64_t now = server_now(server), longest = 0;

    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask)) {
        const struct ask_record *record = ask_record(ask);
        longest = larger(longest, record->expires_ms ? record->expires_ms - now : record->ttl_ms);
    }
    return longest + STORE_ABANDONED_MS + engine_store(server->opts.engine)->keep_ms;
}

/* --- the result --- */

/* So much of it as may be told beside the handle. The rest is counted. */
static struct str shown(struct str message, struct arena *arena)
{
    char count[SHOWN_COUNT_MAX];
    size_t len = PENDING_SHOWN_MAX;

    if (message.len <= len)
        return message;
    while (len && ((unsigned char)message.at[len] & 0xc0) == 0x80)
        len--; /* no half of a character */
    return arena_fmt(arena, STR_FMT "\xE2\x80\xA6 (%s more bytes)", STR_ARG(str_n(message.at, len)),
                     shown_count(count, message.len - len));
}

/*
 * The handle of a call opens what it asks in views, now or later (mcp/later/view_questions). So it
 * is not told to a session that merely calls with the same arguments, which may be anybody's of
 * this principal. Such a session waits by calling again.
 */
static bool is_strangers(const struct call *call)
{
    return call_caller(call)->again && !str_eq(call_client(call).scope, call_scope(call));
}

/* In the view of the chat, if that shows it, and on its page in any case. */
static struct str where_to_answer(struct mcp_server *server, const struct call *call,
                                  struct str page, struct arena *arena)
{
    bool view = views_show(server, call) && !is_strangers(call);

    if (!page.len && !view && model_is_asked_elsewhere(server, call))
        return STR(" It is answered in the session that made the call, whose model was told the "
                   "question.");
    if (page.len)
        return arena_fmt(arena, " It can be answered %sat " STR_FMT " .",
                         view ? "in the view that this chat shows, or " : "", STR_ARG(page));
    return view ? STR(" It can be answered in the view that this chat shows.")
                : STR(" It can be answered in the inbox of this server.");
}

/* A client that has forms, and answers with an error, is not listed waitForPerson: its model would
 * not find it. In the 2025 era calling again does the same. */
static bool is_found_by_calling_again(const struct mcp_server *server, const struct call *call)
{
    struct client client = call_client(call);

    return client.revision < REVISION_2026_07_28 &&
           !tool_is_listed(&server->pending->tool.target,
                           &(struct audience){ .kinds = client_ask_kinds(client.declares),
                                               .views = client_has_views(client.declares),
                                               .roles = call_caller(call)->roles });
}

static struct str text_of(const struct mcp_server *server, const struct call *call,
                          struct str where, struct arena *arena)
{
    const struct ask *first = call_ask_first(call);
    struct str text =
        first ? arena_fmt(arena,
                          "Not done yet: a person has been asked, and has not answered so far. The "
                          "question is: \"" STR_FMT "\"" STR_FMT " ",
                          STR_ARG(shown(ask_record(first)->message, arena)), STR_ARG(where))
              : STR("Not done yet: what was asked has been answered, and the call goes on. ");

    if (is_found_by_calling_again(server, call) || is_strangers(call))
        return arena_fmt(arena,
                         STR_FMT "Call the tool " STR_FMT
                                 " again, with the same arguments, to wait for the answer and get "
                                 "the result: nothing is done twice.",
                         STR_ARG(text), STR_ARG(call_target(call)->name));
    return arena_fmt(arena,
                     STR_FMT "Call the tool " STR_FMT " with {\"callId\":\"" STR_FMT
                             "\"} to wait for %s and get the result.",
                     STR_ARG(text), STR_ARG(PENDING_TOOL), STR_ARG(call_id(call)),
                     first ? "the answer" : "its end");
}

static void write_facts(struct json_writer *w, const struct mcp_server *server,
                        const struct call *call, struct str page, struct arena *arena)
{
    jw_key(w, STR("structuredContent"));
    jw_object(w);
    jw_key_bool(w, STR("pending"), true);
    if (!is_strangers(call))
        jw_key_str(w, STR("callId"), call_id(call));
    if (model_is_asked(server, call))
        model_write_facts(server, call, w);
    else if (!is_strangers(call))
        jw_key_str(w, STR("waitWith"), PENDING_TOOL);
    jw_key(w, STR("waitingFor"));
    jw_array(w);
    size_t room = PENDING_SHOWN_MAX, left = 0;
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask)) {
        struct str message = shown(ask_record(ask)->message, arena);
        left += left || (message.len > room && ask != call_ask_first(call));
        if (left)
            continue;
        room -= message.len < room ? message.len : room;
        jw_str(w, message);
    }
    if (left)
        jw_str(w,
               arena_fmt(arena, "\xE2\x80\xA6 (%zu more question%s)", left, left == 1 ? "" : "s"));
    jw_end(w);
    if (page.len)
        jw_key_str(w, STR("answerAt"), page);
    jw_end(w);
}

void pending_write(struct mcp_server *server, const struct call *call, struct buf *out)
{
    struct json_writer w;
    struct arena arena;

    arena_init(&arena, PENDING_BODY_MAX);
    const struct ask *first = call_ask_first(call);
    struct str page = first ? question_page(server, ask_record(first)->id, &arena) : STR_NONE;
    bool model = model_is_asked(server, call);
    if ((model || model_is_asked_elsewhere(server, call)) && !call_asks_people_elsewhere(call))
        page = STR_NONE;
    json_writer_init(&w, out);
    jw_object(&w);
    bool view = !model && views_show(server, call) && !is_strangers(call);
    content_text(
        &w, model ? model_text(server, call, page, &arena)
                  : text_of(server, call, where_to_answer(server, call, page, &arena), &arena));
    write_facts(&w, server, call, page, &arena);
    if (model || view) {
        jw_key(&w, STR("_meta"));
        jw_object(&w);
        if (model)
            model_write_meta(server, call, &w);
        else
            views_write_meta(&w, call);
        jw_end(&w);
    }
    jw_end(&w);
    if (!json_writer_done(&w))
        buf_clear(out);
    arena_finish(&arena);
}

void pending_write_elsewhere(struct str call_id, struct buf *out)
{
    struct json_writer w;
    struct arena arena;

    arena_init(&arena, PENDING_BODY_MAX);
    json_writer_init(&w, out);
    jw_object(&w);
    content_text(&w, arena_fmt(&arena,
                               "Not done yet: the tool of this call is at another node of this "
                               "server, and the call has not ended there. Call the tool " STR_FMT
                               " with {\"callId\":\"" STR_FMT
                               "\"} to wait for its end and get the result.",
                               STR_ARG(PENDING_TOOL), STR_ARG(call_id)));
    jw_key(&w, STR("structuredContent"));
    jw_object(&w);
    jw_key_bool(&w, STR("pending"), true);
    jw_key_str(&w, STR("callId"), call_id);
    jw_key_str(&w, STR("waitWith"), PENDING_TOOL);
    jw_key(&w, STR("waitingFor"));
    jw_array(&w);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    if (!json_writer_done(&w))
        buf_clear(out);
    arena_finish(&arena);
}

/* --- the listing --- */

static const char pending_schema[] =
    "{\"type\":\"object\",\"description\":\"A person has been asked, and has not answered so far\","
    "\"properties\":{\"pending\":{\"const\":true},\"callId\":{\"type\":\"string\"},"
    "\"waitWith\":{\"type\":\"string\"},\"answerWith\":{\"type\":\"string\"},"
    "\"questions\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
    "\"waitingFor\":{\"type\":\"array\",\"items\":{\"type\":"
    "\"string\"}},\"answerAt\":{\"type\":\"string\"}},\"required\":[\"pending\"]}";

static void write_wide(struct json_writer *w, const struct json *schema, struct str name)
{
    const struct json *dialect = json_get(schema, STR("$schema"));

    jw_object(w);
    if (dialect)
        jw_key_value(w, STR("$schema"), dialect);
    if (str_eq(json_get_str(schema, STR("type")), STR("object")))
        jw_key_str(w, STR("type"), STR("object"));
    jw_key(w, STR("anyOf"));
    jw_array(w);
    /* Its own references must still find what they name, one level deeper: it gets a name. */
    jw_object(w);
    if (name.len && !json_get(schema, STR("$id")))
        jw_key_str(w, STR("$id"), name);
    JSON_EACH (member, schema)
        if (!str_eq(member->key, STR("$schema")))
            jw_key_value(w, member->key, member);
    jw_end(w);
    jw_raw(w, str_of(pending_schema));
    jw_end(w);
    jw_end(w);
}

struct str pending_widen(struct arena *arena, struct str text)
{
    struct json_writer w;
    struct arena tree;
    struct buf out;

    if (str_find(text, STR("\"outputSchema\"")) < 0)
        return text;
    arena_init(&tree, PENDING_ARENA_MAX);
    buf_init(&out, PENDING_ARENA_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    const struct json *listing = json_parse(&tree, text, NULL, NULL);
    struct str name = STR_NONE;
    if (str_find(text, STR("\"$ref\"")) >= 0)
        name = arena_fmt(&tree, "urn:nod:" STR_FMT, STR_ARG(json_get_str(listing, STR("name"))));
    JSON_EACH (member, listing) {
        if (!str_eq(member->key, STR("outputSchema"))) {
            jw_key_value(&w, member->key, member);
        } else {
            jw_key(&w, member->key);
            write_wide(&w, member, name);
        }
    }
    jw_end(&w);
    struct str wide = listing && json_writer_done(&w) ? arena_str(arena, buf_str(&out)) : text;
    buf_finish(&out);
    arena_finish(&tree);
    return wide;
}
