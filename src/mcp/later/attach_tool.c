/*
 * mcp/later/attach_tool: see attach_tool.h.
 */
#include "mcp/later/attach_tool.h"

#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/comeback.h"
#include "core/problems.h"
#include "mcp/later/own_tool.h"
#include "mcp/later/pending.h"
#include "mcp/shared/question_message.h"
#include "mcp/shared/work.h"

enum { REFUSAL_ARENA_MAX = 1 << 20 }; /* memory of what is said of an answer that does not count */

const char attach_not_known[] =
    "No call of yours with this callId waits for a person, or its result is no longer kept.";
const char attach_was_collected[] = "The result of this call was handed out before.";
const char attach_no_room[] =
    "This server has as many live calls as it may have. Nothing was begun or handed out by this "
    "request, and the call goes on; try again later.";
const char attach_is_elsewhere[] =
    "Another request waits for this call in another way, as a task or with its state.";

/* --- the tools --- */

const struct own_tool *attach_tool_of(const struct target *target)
{
    const struct own_tool *tool = own_tool_of(target);

    return tool && tool->ops->read ? tool : NULL;
}

struct target *attach_target(void)
{
    static _Thread_local struct target none = { .kind = TARGET_TOOL }; /* its holds are counted */

    return &none;
}

/* --- its arguments --- */

bool attach_read(const struct own_tool *tool, const struct json *args, struct arena *arena,
                 struct attach_wish *out, struct outcome *refusal)
{
    struct schema_problems problems = { 0 };

    *out = (struct attach_wish){ 0 };
    if (tool->ops->read(tool, args, arena, out, &problems))
        return true;
    struct str list = problems_list(arena, &problems, NULL);
    *refusal = (struct outcome){
        .status = NOD_E_INVALID,
        .code = "INVALID_ARGUMENTS",
        .message = arena_fmt(arena, "Invalid arguments: " STR_FMT,
                             STR_ARG(problems_sentence(arena, list))),
        .details = list,
    };
    return false;
}

/* --- an answer that does not count --- */

/* Where a person can answer instead. */
static struct str where_instead(const struct mcp_server *server, struct str ask_id,
                                struct arena *arena)
{
    struct str page = question_page(server, ask_id, arena);

    if (page.len)
        return arena_fmt(arena, "A person can answer it at " STR_FMT " .", STR_ARG(page));
    if (server->pages)
        return STR("A person can answer it in the inbox of this server.");
    return arena_fmt(arena, "This server has no inbox: " STR_FMT ".",
                     STR_ARG(engine_instead_of_model(server->opts.engine)));
}

static struct outcome refused(const struct mcp_server *server, struct str ask_id,
                              const struct answer_result *result, struct arena *arena)
{
    struct outcome out = { .status = NOD_E_REFUSED,
                           .code = result->code,
                           .message = result->message };

    if (result->message.len)
        return out; /* a hook has said why */
    if (result->elsewhere) {
        out.code = "TOOL_ELSEWHERE";
        out.message = STR("The tool that asks this is not at this node, so it is not known here "
                          "whether a model may answer. The question still waits: send the same "
                          "answer again later.");
        return out;
    }
    out.code = "CONSENT_REQUIRED";
    out.message = arena_fmt(arena, "%s " STR_FMT, result->unheard ? result->unheard : "",
                            STR_ARG(where_instead(server, ask_id, arena)));
    return out;
}

static struct outcome ended(const struct answer_result *result)
{
    struct outcome out = { .status = NOD_E_STALE, .code = "ASK_ENDED" };

    switch (result->state) {
    case ASK_EXPIRED:
        out.message = STR("The time to answer this question is over. Call the tool that asked it "
                          "again, if it is still wanted.");
        break;
    case ASK_WITHDRAWN:
        out.message =
            STR("The call that asked this question has ended; nobody waits for an answer.");
        break;
    default:
        out.message = STR("This question was answered before, and not with this answer. An answer "
                          "counts once.");
    }
    return out;
}

static struct outcome refusal_of(const struct mcp_server *server, struct str ask_id,
                                 const struct answer_result *result, struct arena *arena)
{
    switch (result->status) {
    case NOD_E_INVALID:
        return (struct outcome){
            .status = NOD_E_INVALID,
            .code = outcome_code(NOD_E_INVALID),
            .details = arena_str(arena, result->problems),
            .message =
                arena_fmt(arena,
                          "The answer does not fit the question: " STR_FMT
                          ". The question still waits: answer it again, with the same elicitId.",
                          STR_ARG(problems_sentence(arena, result->problems))),
        };
    case NOD_E_REFUSED:
        return refused(server, ask_id, result, arena);
    case NOD_E_STALE:
        if (!result->pending)
            return ended(result);
        break;
    case NOD_E_NOT_FOUND:
        return (struct outcome){ .status = NOD_E_NOT_FOUND,
                                 .code = "ASK_UNKNOWN",
                                 .message = STR("No question with this elicitId waits for you; it "
                                                "may have ended long ago.") };
    default:
        break;
    }
    if (result->message.len) /* a hook has said why */
        return (struct outcome){ .status = result->status,
                                 .code = result->code,
                                 .message = result->message,
                                 .details = result->problems };
    if (result->status != NOD_E_STORE && result->status != NOD_E_STALE)
        return (struct outcome){ .status = result->status,
                                 .code = outcome_code(result->status),
                                 .message = arena_fmt(arena, "The answer could not be taken: %s.",
                                                      nod_status_name(result->status)) };
    return (struct outcome){
        .status = NOD_E_STORE,
        .code = "STORE_AWAY",
        .message = STR(STORE_AWAY ", so it is not known whether the "
                                  "answer was taken; send the same answer again later.")
    };
}

/* --- answering --- */

struct answering {
    struct server_work work; /* first */
    struct comer comer;      /* comes for the call, if this node lacks its tool */
    struct id ask;
    attach_answered *done;
    void *data;
    char by[]; /* the principal */
};

static void answering_over(struct answering *answering, const struct answer_result *result)
{
    struct mcp_server *server = answering->work.server;
    struct outcome refusal;
    struct arena arena;

    server_work_done(&answering->work);
    arena_init(&arena, REFUSAL_ARENA_MAX);
    bool counts = result->status == NOD_OK || (result->status == NOD_E_STALE && result->same);
    if (counts)
        CRASH_POINT(attach_after);
    if (server && !counts)
        refusal = refusal_of(server, id_str(&answering->ask), result, &arena);
    answering->done(answering->data, server, result->call_id, counts ? NULL : &refusal);
    arena_finish(&arena);
    mem_free(answering);
}

static bool answering_there(const struct comer *comer)
{
    return LIST_OF(comer, const struct answering, comer)->work.server;
}

static void answering_back(struct comer *comer, const struct back *back)
{
    struct answer_result result = { .status = NOD_E_REFUSED, .elsewhere = true };

    if (back->as == BACK_UNREAD)
        result = (struct answer_result){ .status = NOD_E_STORE };
    else if (back->as == BACK_ENDED)
        result = (struct answer_result){ .status = NOD_E_STALE, .state = ASK_WITHDRAWN };
    answering_over(LIST_OF(comer, struct answering, comer), &result);
}

static const struct comer_ops answering_comes = { .there = answering_there,
                                                  .done = answering_back };

static void answered(void *data, const struct answer_result *result)
{
    struct answering *answering = data;
    struct mcp_server *server = answering->work.server;

    if (!server || !result->elsewhere) {
        answering_over(answering, result);
        return;
    }
    answering->comer.ops = &answering_comes; /* if no node has the tool any more, the call ends */
    answering->comer.call = id_of(result->call_id);
    engine_return(server->opts.engine, &answering->comer);
}

void attach_answer(struct mcp_server *server, const struct attach_wish *wish, struct visitor who,
                   struct str scope, attach_answered *done, void *data)
{
    struct answering *answering = mem_zalloc(sizeof(*answering) + who.principal.len);
    struct str id = wish->ask_id;

    memcpy(answering->by, who.principal.at, who.principal.len);
    answering->comer.principal = str_n(answering->by, who.principal.len);
    answering->done = done;
    answering->data = data;
    answering->ask = id_of(id);
    server_work_add(server, &answering->work);
    ask_answer(server->opts.engine, id,
               &(struct answer){ .action = wish->action,
                                 .content = wish->content,
                                 .by = who.principal,
                                 .roles = who.roles,
                                 .scope = wish->in_scope ? scope : STR_NONE,
                                 .surface = wish->surface },
               answered, answering);
}

struct outcome attach_taken(void)
{
    return (struct outcome){
        .status = NOD_OK,
        .body =
            STR("{\"content\":[{\"type\":\"text\",\"text\":\"The answer was taken. Whoever made "
                "the call is given its result.\"}],\"structuredContent\":{\"taken\":true}}")
    };
}
