/*
 * mcp/era2026/target_gone: a request that comes with the state of a call whose target is not here.
 *
 * Its call may have ended before that, and then the request gets its result. If it has not ended,
 * it ends now, and the request is answered when that is stored (core/comeback.h). While another
 * node may have the target, and with portable states, nothing ends, and the client is told to come
 * again later.
 *
 * With a shared store the call may have its home at another node (core/home_node.c). Then the
 * request waits here for its end, or the next question, as any retry does: the target has a
 * stand-in meanwhile (resume.c), and what only a target that is gone leads to is told here.
 */
#include "base/mem.h"
#include "core/catalog.h"
#include "core/comeback.h"
#include "core/json_digest.h"
#include "mcp/era2026/caller.h"
#include "mcp/shared/delivery.h"
#include "mcp/wire/failure.h"
#include "mcp/era2026/pipe.h"
#include "mcp/wire/result.h"
#include "mcp/shared/work.h"

enum { HOMELESS_DATA_MAX = 64 << 10 }; /* bytes of what the error carries */

/* A request that came with the state of such a call, while the store is asked about it. */
struct homeless {
    struct server_work work; /* first */
    struct comer comer;      /* comes for the call */
    struct response response;
    struct in_flight in_flight;
    enum target_kind kind;
    enum revision_part part;
    struct arena arena;         /* of what follows */
    struct str id;              /* of the request: JSON */
    struct str name, principal; /* of the target, as its call has it; who asks */
    const struct json *responses;
    struct state state;
};

static void homeless_gone(struct response *response)
{
    (void)response; /* it is over: that is looked at when the store has answered */
}

static void homeless_cancelled(struct in_flight *in_flight)
{
    struct homeless *homeless = LIST_OF(in_flight, struct homeless, in_flight);

    homeless->response.over = true;
    pipe_remove(in_flight);
}

static void homeless_free(struct homeless *homeless)
{
    server_work_done(&homeless->work);
    arena_finish(&homeless->arena);
    mem_free(homeless);
}

static int homeless_error(struct homeless *homeless, int status, int64_t code, struct str message)
{
    rpc_write_error(&homeless->work.server->out, homeless->id, code, message, STR_NONE);
    return status;
}

static struct str gone_facts(struct buf *data, const struct outcome *outcome)
{
    struct json_writer w;

    json_writer_init(&w, data);
    jw_object(&w);
    failure_facts2026(&w, outcome);
    jw_end(&w);
    return json_writer_done(&w) ? buf_str(data) : STR_NONE;
}

static int homeless_refuse(struct homeless *homeless)
{
    return homeless_error(homeless, 400, RPC_INVALID_PARAMS, STR(CALLER_STATE_REFUSED));
}

static int homeless_ended(struct homeless *homeless, const struct back *back)
{
    struct mcp_server *server = homeless->work.server;

    if (!back->outcome || back->outcome->status == NOD_E_CANCELLED)
        return homeless_refuse(homeless);
    delivery_begin(server, homeless->response.exchange, back->record->id);
    if (back->record->state == CALL_STORED_CANCELLED) {
        /* The call has ended without a result: the error carries its code, and the steps that were
         * done. */
        struct buf data;

        buf_init(&data, HOMELESS_DATA_MAX);
        rpc_write_error(&server->out, homeless->id, RPC_INVALID_PARAMS, back->outcome->message,
                        gone_facts(&data, back->outcome));
        buf_finish(&data);
        return 200;
    }
    return result_respond(&server->out, &server->opts.self, homeless->id, homeless->part,
                          back->outcome);
}

static struct str gone_later(struct arena *arena, struct str name)
{
    return arena_fmt(arena,
                     STR_FMT " is not at this node, and its call has not ended; send the request "
                             "again later.",
                     STR_ARG(name));
}

static int homeless_later(struct homeless *homeless)
{
    return homeless_error(homeless, 503, RPC_INTERNAL_ERROR,
                          gone_later(&homeless->arena, homeless->name));
}

/* The last word, but where the client has gone: then it is only the last step. */
static void homeless_respond(struct homeless *homeless, int status)
{
    struct mcp_server *server = homeless->work.server;

    if (server && !homeless->response.over)
        response_end(&homeless->response, status, buf_str(&server->out));
    if (server) {
        buf_clear(&server->out);
        pipe_remove(&homeless->in_flight);
    }
    homeless_free(homeless);
}

static struct homeless *homeless_of(const struct comer *comer)
{
    return LIST_OF(comer, struct homeless, comer);
}

static bool homeless_there(const struct comer *comer)
{
    return homeless_of(comer)->work.server && !homeless_of(comer)->response.over;
}

static enum found homeless_found(struct comer *comer, const struct call_record *record)
{
    struct homeless *homeless = homeless_of(comer);
    int http;

    buf_clear(&homeless->work.server->out);
    if (record->kind != homeless->kind || !str_eq(record->target, homeless->name))
        http = homeless_refuse(homeless);
    else if (record->state == CALL_STORED_CANCELLED ||
             responses_agree(homeless->responses, record->entries, record->entry_count,
                             &homeless->arena))
        return FOUND_IT;
    else
        http = homeless_error(homeless, 400, RPC_INVALID_PARAMS, str_of(resume_other_answers));
    homeless_respond(homeless, http);
    return FOUND_OTHER;
}

static void homeless_back(struct comer *comer, const struct back *back)
{
    struct homeless *homeless = homeless_of(comer);
    struct mcp_server *server = homeless->work.server;
    int http = 0;

    if (server)
        buf_clear(&server->out);
    switch (back->as) {
    case BACK_LEFT:
        break;
    case BACK_UNREAD:
        http = homeless_error(homeless, resume_http(server, back->status), RPC_INTERNAL_ERROR,
                              resume_why_not(server, back->status));
        break;
    case BACK_UNKNOWN: /* a portable state is the call itself */
        http = server->opts.portable_states ? homeless_later(homeless) : homeless_refuse(homeless);
        break;
    case BACK_FORGOTTEN:
        http = homeless_refuse(homeless);
        break;
    case BACK_ENDED:
        http = homeless_ended(homeless, back);
        break;
    case BACK_WAITS:
    case BACK_BUSY: /* it runs here with the target it began with */
    case BACK_TOO_SOON:
    case BACK_FULL:
        http = homeless_later(homeless);
        break;
    }
    homeless_respond(homeless, http);
}

static const struct comer_ops homeless_comes = { .there = homeless_there,
                                                 .found = homeless_found,
                                                 .done = homeless_back };

/* False: the state is not one of a call of that target. */
static bool homeless_open(struct homeless *homeless, struct request *request, struct str method,
                          const struct json *args)
{
    struct mcp_server *server = request->server;
    struct digest digest;

    if (!args)
        digest_of(STR("{}"), &digest);
    else if (digest_of_json(args, &digest) != NOD_OK)
        return false;
    struct state_bound bound = { .principal = homeless->principal,
                                 .method = method,
                                 .target = homeless->name,
                                 .as_shown = homeless->kind == TARGET_TOOL &&
                                             catalog_shows_underscores(server->opts.catalog),
                                 .args = digest_str(&digest) };
    bool opened = state_open(server->rounds->keyring, &bound, json_str(request->has.state),
                             caller_state_max(server), engine_now(server->opts.engine),
                             &homeless->arena, &homeless->state) == NOD_OK;
    if (opened)
        homeless->name = homeless->state.target;
    return opened;
}

bool gone_told(struct caller2026 *caller, const struct back *back)
{
    const struct outcome *outcome = back->outcome;

    if (back->as == BACK_TOO_SOON) {
        caller_fail(caller, 503, RPC_INTERNAL_ERROR,
                    gone_later(&caller->arena, caller->target->name), STR_NONE);
        return true;
    }
    if (back->as != BACK_ENDED || back->record->state != CALL_STORED_CANCELLED || !outcome ||
        outcome->status == NOD_E_CANCELLED || outcome->status == NOD_E_OUTCOME_UNKNOWN)
        return false;
    struct buf data;
    buf_init(&data, HOMELESS_DATA_MAX);
    caller_hands(caller, back->record->id);
    caller_fail(caller, 200, RPC_INVALID_PARAMS, outcome->message, gone_facts(&data, outcome));
    buf_finish(&data);
    return true;
}

/* The call may be at another node, and this request waits for it. */
static void gone_waits(struct request *request, const struct wanted *wanted, struct str name)
{
    bool tool = wanted->kind == TARGET_TOOL;
    struct target *stand_in = target_stand_in(wanted->kind, name);

    caller2026_start(request,
                     &(struct start_spec){ .target = stand_in,
                                           .args = wanted->args,
                                           .part = tool ? PART_TOOL_RESULT : PART_PROMPT_RESULT });
    target_release(stand_in);
}

bool resume_gone(struct request *request, const struct wanted *wanted)
{
    struct mcp_server *server = request->server;

    if (wanted->kind == TARGET_RESOURCE || !json_str(request->has.state).len)
        return false;
    struct homeless *homeless = MEM_NEW(struct homeless);
    list_init(&homeless->work.link);
    arena_init(&homeless->arena, MCP_TREE_MAX + STATE_ARENA_MAX);
    bool tool = wanted->kind == TARGET_TOOL;
    struct str method = tool ? STR("tools/call") : STR("prompts/get");
    homeless->kind = tool ? TARGET_TOOL : TARGET_PROMPT;
    homeless->part = tool ? PART_TOOL_RESULT : PART_PROMPT_RESULT;
    homeless->name = arena_str(&homeless->arena, wanted->name);
    homeless->principal = arena_str(&homeless->arena, request->principal);
    homeless->id = arena_str(&homeless->arena, request->id);
    bool opened = homeless_open(homeless, request, method, wanted->args);
    bool ours = opened && str_eq(homeless->state.store, caller_store(server));

    bool waits =
        ours && engine_store(server->opts.engine)->ops->shared && !server->opts.portable_states;

    if (opened && !ours)
        reply_error(request, RPC_INVALID_PARAMS, str_of(resume_other_store));
    if (waits)
        gone_waits(request, wanted, homeless->name);
    if (!ours || waits ||
        !pipe_add(request, &homeless->in_flight, homeless->id, homeless_cancelled)) {
        homeless_free(homeless);
        return opened;
    }
    homeless->responses =
        request->has.responses ? json_copy(&homeless->arena, request->has.responses) : NULL;
    response_take(&homeless->response, request, homeless_gone);
    server_work_add(server, &homeless->work);
    homeless->comer = (struct comer){ .ops = &homeless_comes,
                                      .call = id_of(homeless->state.call_id),
                                      .principal = homeless->principal,
                                      .spares = server->opts.portable_states };
    engine_return(server->opts.engine, &homeless->comer);
    return true;
}
