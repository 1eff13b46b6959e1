/*
 * mcp/era2026/target_gone: a request that comes with the state of a call whose target is not here.
 *
 * Its call may have ended before that, and then the request gets its result. If it has not ended,
 * it ends now, and the request is answered when that is stored. While another node may have the
 * target (gone.h), and with portable states, nothing ends, and the client is told to come again
 * later.
 */
#include "base/mem.h"
#include "core/catalog.h"
#include "core/json_digest.h"
#include "mcp/era2026/caller.h"
#include "mcp/shared/delivery.h"
#include "mcp/wire/failure.h"
#include "mcp/shared/gone.h"
#include "mcp/era2026/pipe.h"
#include "mcp/wire/result.h"
#include "mcp/shared/work.h"

enum { HOMELESS_DATA_MAX = 64 << 10 }; /* bytes of what the error carries */

/* A request that came with the state of such a call, while the store is asked about it. */
struct homeless {
    struct server_work work; /* first */
    struct response response;
    struct in_flight in_flight;
    enum target_kind kind;
    enum revision_part part;
    struct arena arena;         /* of what follows */
    struct str id;              /* of the request: JSON */
    struct str name, principal; /* of the target; who asks */
    const struct json *responses;
    struct state state;
    struct outcome end; /* it has ended */
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

/* The call has ended without a result: the error carries its code, and the steps that were done. */
static int homeless_over(struct homeless *homeless, const struct outcome *outcome)
{
    struct buf *out = &homeless->work.server->out;
    struct json_writer w;
    struct buf data;

    buf_init(&data, HOMELESS_DATA_MAX);
    json_writer_init(&w, &data);
    jw_object(&w);
    failure_facts2026(&w, outcome);
    jw_end(&w);
    rpc_write_error(out, homeless->id, RPC_INVALID_PARAMS, outcome->message,
                    json_writer_done(&w) ? buf_str(&data) : STR_NONE);
    buf_finish(&data);
    return 200;
}

static int homeless_refuse(struct homeless *homeless)
{
    return homeless_error(homeless, 400, RPC_INVALID_PARAMS, STR(CALLER_STATE_REFUSED));
}

static int homeless_ended(struct homeless *homeless, const struct call_record *record)
{
    struct mcp_server *server = homeless->work.server;
    struct outcome outcome;

    if (outcome_read(&homeless->arena, record->result, &outcome) != NOD_OK ||
        outcome.status == NOD_E_CANCELLED)
        return homeless_refuse(homeless);
    if (!homeless->response.over)
        delivery_begin(server, homeless->response.exchange, record->id);
    if (record->state == CALL_STORED_CANCELLED)
        return homeless_over(homeless, &outcome);
    return result_respond(&server->out, &server->opts.self, homeless->id, homeless->part, &outcome);
}

/* Others may have its target, or it runs here with the one it began with. */
static bool may_still_end(struct mcp_server *server, const struct call_record *record)
{
    return server->opts.portable_states || !record ||
           engine_find(server->opts.engine, record->id) || !gone_for_good(server, record);
}

static int homeless_later(struct homeless *homeless)
{
    return homeless_error(homeless, 503, RPC_INTERNAL_ERROR,
                          arena_fmt(&homeless->arena,
                                    STR_FMT " is not at this node, and its call has not ended; "
                                            "send the request again later.",
                                    STR_ARG(homeless->name)));
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

static void homeless_stored(void *data, nod_status status)
{
    struct homeless *homeless = data;
    int http = 0;

    if (homeless->work.server) {
        buf_clear(&homeless->work.server->out);
        if (status == NOD_OK)
            http = homeless_over(homeless, &homeless->end);
        else
            http = homeless_later(homeless); /* it had ended before, or the store is away */
    }
    homeless_respond(homeless, http);
}

/* 0: the reply comes when the end is stored; it may be gone by now. No record: it is with a state
 * that no store knows. */
static int homeless_not_ended(struct homeless *homeless, const struct call_record *record)
{
    struct mcp_server *server = homeless->work.server;
    const struct so_far so_far = {
        .entries = record ? record->entries : homeless->state.entries,
        .count = record ? record->entry_count : homeless->state.entry_count,
        .answered = record && record->state != CALL_STORED_WAITING,
        .interrupted = record && record->state == CALL_STORED_RUNNING,
    };

    homeless->end = outcome_gone(&homeless->arena, homeless->name, &so_far);
    if (may_still_end(server, record))
        return homeless_later(homeless);
    engine_end(server->opts.engine, homeless->state.call_id, &homeless->end, homeless_stored,
               homeless);
    return 0;
}

static int homeless_found(struct homeless *homeless, const struct call_record *record)
{
    if (record->forgotten || !str_eq(record->principal, homeless->principal) ||
        record->kind != homeless->kind || !str_eq(record->target, homeless->name))
        return homeless_refuse(homeless);
    if (record->state == CALL_STORED_CANCELLED)
        return homeless_ended(homeless, record);
    if (!responses_agree(homeless->responses, record->entries, record->entry_count,
                         &homeless->arena))
        return homeless_error(homeless, 400, RPC_INVALID_PARAMS, str_of(resume_other_answers));
    return record->state == CALL_STORED_FINISHED ? homeless_ended(homeless, record)
                                                 : homeless_not_ended(homeless, record);
}

static void homeless_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct homeless *homeless = data;
    struct mcp_server *server = homeless->work.server;
    int http;

    if (!server || homeless->response.over) {
        homeless_respond(homeless, 0);
        return;
    }
    buf_clear(&server->out);
    if (status == NOD_OK)
        http = homeless_found(homeless, reply->call);
    else if (status == NOD_E_NOT_FOUND && server->opts.portable_states)
        http = homeless_not_ended(homeless, NULL);
    else if (status == NOD_E_NOT_FOUND)
        http = homeless_refuse(homeless);
    else
        http = homeless_error(homeless, resume_http(server, status), RPC_INTERNAL_ERROR,
                              resume_why_not(server, status));
    if (http)
        homeless_respond(homeless, http);
}

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
                                 .args = digest_str(&digest) };
    return state_open(server->rounds->keyring, &bound, json_str(request->has.state),
                      caller_state_max(server), engine_now(server->opts.engine), &homeless->arena,
                      &homeless->state) == NOD_OK;
}

bool resume_gone(struct request *request, const struct wanted *wanted)
{
    struct mcp_server *server = request->server;
    struct store *store = engine_store(server->opts.engine);

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

    if (opened && !ours)
        reply_error(request, RPC_INVALID_PARAMS, str_of(resume_other_store));
    if (!ours || !pipe_add(request, &homeless->in_flight, homeless->id, homeless_cancelled)) {
        homeless_free(homeless);
        return opened;
    }
    homeless->responses =
        request->has.responses ? json_copy(&homeless->arena, request->has.responses) : NULL;
    response_take(&homeless->response, request, homeless_gone);
    server_work_add(server, &homeless->work);
    store->ops->load_call(store, homeless->state.call_id, homeless_loaded, homeless);
    return true;
}
