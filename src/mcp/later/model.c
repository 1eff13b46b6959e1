/*
 * mcp/later/model: see model.h.
 *
 * A question that is put to the model goes out with the pending result of the request, which the
 * caller writes at once. If several are, the result has all of them, as far as there is room, and
 * the first is the one to answer next. Invalid content leaves the question pending, and the model
 * tries again (attempts = 0).
 */
#include "mcp/later/model.h"

#include "base/log.h"
#include "base/mem.h"
#include "mcp/later/attach_tool.h"
#include "mcp/later/own_tool.h"

enum { MODEL_MORE_MAX = 64 << 10 }; /* bytes of the questions that are told after the first */

struct model {
    struct surface *surface; /* surface/model */
    struct own_tool tool;    /* sendElicitationResult */
};

/* --- the tool --- */

static const char descriptor[] =
    "{\"name\":\"sendElicitationResult\",\"title\":\"Send the user's answer\","
    "\"description\":\"A tool that needs something from the user may return a result that begins "
    "'This tool requires user input', with an elicitId. Ask the user, then call this tool with "
    "that elicitId and what the user said. It goes on with the call that asked, and returns its "
    "result or its next question. Never make up an answer: if the user says no, send decline; if "
    "the user does not decide, send cancel.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"elicitId\":{\"type\":\"string\",\"description\":\"The elicitId of the question\"},"
    "\"action\":{\"type\":\"string\",\"enum\":[\"accept\",\"decline\",\"cancel\"],"
    "\"description\":\"What the user did\"},"
    "\"content\":{\"type\":\"object\",\"description\":\"With accept: the user's answer, which fits "
    "the schema of the question\"}},\"required\":[\"elicitId\",\"action\"]},"
    "\"annotations\":{\"title\":\"Send the user's answer\",\"readOnlyHint\":false,"
    "\"destructiveHint\":false,\"idempotentHint\":true,\"openWorldHint\":false}}";

static bool tool_is_listed(const struct target *target, const struct audience *audience)
{
    const struct mcp_server *server = own_tool_of(target)->server;
    const struct catalog *catalog = server->opts.catalog;

    for (size_t i = 0; i < catalog_count(catalog, TARGET_TOOL, false); i++) {
        struct target *tool = catalog_at(catalog, TARGET_TOOL, false, i);
        if (!attach_tool_of(tool) && catalog_is_for(catalog, tool, audience->principal) &&
            engine_asks_model(server->opts.engine, tool, audience->kinds, audience->roles))
            return true;
    }
    return false;
}

static void problem(struct schema_problems *problems, struct str path, struct str message)
{
    problems->at[problems->count++] = (struct schema_problem){ path, message };
}

static bool tool_read(const struct own_tool *tool, const struct json *args, struct arena *arena,
                      struct attach_wish *out, struct schema_problems *problems)
{
    const struct model *model = LIST_OF(tool, const struct model, tool);
    const struct json *content = json_get(args, STR("content"));

    (void)arena;
    out->ask_id = json_get_str(args, STR("elicitId"));
    if (json_is(content, JSON_NULL))
        content = NULL;
    if (!out->ask_id.len)
        problem(problems, STR("/elicitId"), STR("must be the elicitId of a question"));
    if (!ask_action_read(json_get_str(args, STR("action")), &out->action))
        problem(problems, STR("/action"), STR("must be accept, decline or cancel"));
    if (content && !json_is(content, JSON_OBJECT))
        problem(problems, STR("/content"), STR("must be an object"));
    out->content = out->action == ASK_ACCEPTED ? content : NULL;
    out->surface = model->surface;
    out->in_scope = true;
    return problems->count == 0;
}

static const struct own_tool_ops tool_ops = { .read = tool_read };

bool mcp_use_model(struct mcp_server *server, struct surface *surface)
{
    struct model *model = MEM_NEW(struct model);

    model->surface = surface;
    model->tool = (struct own_tool){ .ops = &tool_ops,
                                     .target = { .kind = TARGET_TOOL,
                                                 .name = MODEL_TOOL,
                                                 .title = STR("Send the user's answer"),
                                                 .descriptor = str_of(descriptor),
                                                 .listed = tool_is_listed } };
    if (!own_tool_add(&model->tool, server)) {
        LOG_WARN("a tool of this server is called sendElicitationResult: the model of a client "
                 "without elicitation is not asked");
        mem_free(surface);
        mem_free(model);
        return true;
    }
    server->model = model;
    return engine_add_surface(server->opts.engine, surface);
}

void model_destroy(struct model *model)
{
    if (!model)
        return;
    own_tool_remove(&model->tool);
    mem_free(model->surface);
    mem_free(model);
}

/* --- the result --- */

/* An elicitId counts in the scope of its call only: who waits for the call in another one, such as
 * another session, is given none. */
static bool is_in_scope(const struct call *call)
{
    return str_eq(call_client(call).scope, call_scope(call));
}

/* The next question of the call that is put to the model, from this one on. */
static struct ask *up_from(const struct mcp_server *server, const struct call *call,
                           struct ask *ask)
{
    while (ask && !(server->model && ask_is_up_on(ask, server->model->surface)))
        ask = call_ask_next(call, ask);
    return ask;
}

static struct ask *first_up(const struct mcp_server *server, const struct call *call)
{
    return is_in_scope(call) ? up_from(server, call, call_ask_first(call)) : NULL;
}

static struct ask *next_up(const struct mcp_server *server, const struct call *call,
                           struct ask *ask, size_t *room)
{
    struct ask *next = up_from(server, call, call_ask_next(call, ask));
    size_t size = next ? ask_record(next)->message.len + ask_record(next)->detail.len : 0;

    if (!next || size > *room)
        return NULL;
    *room -= size;
    return next;
}

bool model_is_asked(const struct mcp_server *server, const struct call *call)
{
    return first_up(server, call) != NULL;
}

bool model_is_asked_elsewhere(const struct mcp_server *server, const struct call *call)
{
    return !is_in_scope(call) && up_from(server, call, call_ask_first(call));
}

static struct str schema_of(const struct ask *ask)
{
    struct str detail = ask_record(ask)->detail;

    return detail.len ? detail : STR("{\"type\":\"object\",\"properties\":{}}");
}

struct str model_text(const struct mcp_server *server, const struct call *call, struct str page,
                      struct arena *arena)
{
    struct ask *ask = first_up(server, call);
    size_t room = MODEL_MORE_MAX;
    struct str text =
        STR("This tool requires user input before it can go on. Ask the user, and do not answer "
            "for them.");

    for (; ask; ask = next_up(server, call, ask, &room)) {
        const struct ask_record *record = ask_record(ask);
        text = arena_fmt(arena,
                         STR_FMT "\n\nQuestion: " STR_FMT "\nelicitId: " STR_FMT
                                 "\nThe answer must fit this JSON Schema: " STR_FMT,
                         STR_ARG(text), STR_ARG(record->message), STR_ARG(record->id),
                         STR_ARG(schema_of(ask)));
    }
    return arena_fmt(arena,
                     STR_FMT
                     "\n\nThen call the tool " STR_FMT
                     " with {\"elicitId\":\"...\",\"action\":\"accept\",\"content\":{...}}; "
                     "if the user says no, with \"decline\" as the action, and if the user "
                     "does not decide, with \"cancel\", both without content.%s" STR_FMT,
                     STR_ARG(text), STR_ARG(MODEL_TOOL),
                     page.len ? " A person can also answer at " : "", STR_ARG(page));
}

static void write_question(struct json_writer *w, const struct ask *ask)
{
    jw_key_str(w, STR("elicitId"), ask_record(ask)->id);
    jw_key_str(w, STR("message"), ask_record(ask)->message);
    jw_key_raw(w, STR("schema"), schema_of(ask));
}

static void write_questions(struct json_writer *w, const struct mcp_server *server,
                            const struct call *call, struct ask *from, size_t room)
{
    jw_array(w);
    for (struct ask *ask = from; ask; ask = next_up(server, call, ask, &room)) {
        jw_object(w);
        write_question(w, ask);
        jw_end(w);
    }
    jw_end(w);
}

void model_write_facts(const struct mcp_server *server, const struct call *call,
                       struct json_writer *w)
{
    jw_key_str(w, STR("answerWith"), MODEL_TOOL);
    jw_key(w, STR("questions"));
    write_questions(w, server, call, first_up(server, call), MODEL_MORE_MAX);
}

void model_write_meta(const struct mcp_server *server, const struct call *call,
                      struct json_writer *w)
{
    struct ask *first = first_up(server, call);
    size_t room = MODEL_MORE_MAX;
    struct ask *second = next_up(server, call, first, &room);

    jw_key(w, STR("elicitationPending"));
    jw_object(w);
    write_question(w, first);
    jw_key_str(w, STR("instructions"),
               STR("Ask the user, then call the tool sendElicitationResult with this elicitId, an "
                   "action (accept, decline or cancel) and, to accept, content that fits the "
                   "schema. It returns the result of the call, or its next question. Do not answer "
                   "for the user."));
    if (second) {
        jw_key(w, STR("more"));
        write_questions(w, server, call, second, room);
    }
    jw_end(w);
}
