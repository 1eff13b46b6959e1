/*
 * mcp/era2025/methods: the lifecycle of a session, and the table of methods.
 *
 * A session begins with initialize. The client names the newest revision it speaks and what it can
 * do. The server answers with the revision that will be spoken and with what it offers. If the
 * server knows the client's revision, that one is spoken. Otherwise it offers the newest of this
 * era, and the client decides whether to go on.
 *
 * What a client says about itself changes only how its questions look: a client that is known to be
 * unable to show an empty form gets a form with one boolean.
 */
#include "mcp/era2025/methods.h"

#include "base/log.h"
#include "mcp/era2025/caller.h"
#include "mcp/era2025/held.h"
#include "mcp/era2025/repeat.h"
#include "mcp/era2025/session_store.h"
#include "mcp/era2025/subscribers.h"
#include "mcp/later/pending.h"
#include "mcp/offered/methods.h"
#include "mcp/wire/notice.h"
#include "mcp/era2025/resume.h"
#include "mcp/era2025/ask.h"

/* --- initialize --- */

static bool declares(const struct json *object, struct str name)
{
    return json_is(json_get(object, name), JSON_OBJECT);
}

static uint8_t declared_can(const struct json *capabilities, const struct revision_facts *facts)
{
    const struct json *experimental = json_get(capabilities, STR("experimental"));
    const struct json *sampling = json_get(capabilities, STR("sampling"));
    const struct json *elicitation = json_get(capabilities, STR("elicitation"));
    /* `elicitation: {}` means forms only. A client that names modes has those modes. */
    bool url = facts->modes && declares(elicitation, STR("url"));
    bool form = !url || declares(elicitation, STR("form"));
    unsigned can = 0;

    if (facts->elicitation && json_is(elicitation, JSON_OBJECT))
        can |= (form ? CLIENT_CAN_FORM : 0u) | (url ? CLIENT_CAN_URL : 0u);
    else if (facts->elicitation && declares(experimental, STR("elicitation")))
        can |= CLIENT_CAN_FORM;
    if (json_is(sampling, JSON_OBJECT))
        can |= CLIENT_CAN_SAMPLE;
    if (declares(sampling, STR("tools")))
        can |= CLIENT_CAN_SAMPLE_TOOLS;
    if (declares(capabilities, STR("roots")))
        can |= CLIENT_CAN_ROOTS;
    /* An older revision has no _meta in its lists, where a tool names its view. */
    if (facts->elicitation && client_shows_views(json_get(capabilities, STR("extensions"))))
        can |= CLIENT_CAN_VIEW;
    return (uint8_t)can;
}

static void initialize(struct request *request)
{
    struct session *session = request->session;
    const struct mcp_opts *opts = &request->server->opts;
    const struct json *capabilities, *info;
    struct str version;
    enum revision revision = REVISION_NEWEST;

    if (session->initialized) {
        reply_error(request, RPC_INVALID_REQUEST,
                    STR("This session is initialized already; begin another one instead."));
        return;
    }
    if (!request_text(request, STR("protocolVersion"), &version) ||
        !request_object(request, STR("capabilities"), &capabilities) ||
        !request_object(request, STR("clientInfo"), &info))
        return;
    revision_find(version, &revision);
    session->client.revision = (uint8_t)revision;
    session->client.declares = session->client.asked =
        declared_can(capabilities, session_knows(session));
    struct str client = json_get_str(info, STR("name"));
    for (const char *const *name = opts->boolean_confirm_clients; name && *name; name++)
        session->boolean_confirm |= str_eq(str_of(*name), client);
    session_name_client(session, info);
    session->soft_ms = pending_soft_ms(request->server, NULL, client);
    session->initialized = true;
    LOG_DEBUG("session begun", LOG_STR("principal", session_principal(session)),
              LOG_STR("client", client), LOG_STR("revision", session_knows(session)->name));

    struct json_writer w;
    reply_begin(request, &w);
    jw_key_str(&w, STR("protocolVersion"), session_knows(session)->name);
    jw_key(&w, STR("capabilities"));
    jw_object(&w);
    capabilities_write(request, &w);
    jw_end(&w);
    jw_key(&w, STR("serverInfo"));
    jw_object(&w);
    jw_key_str(&w, STR("name"), opts->self.name);
    if (session_knows(session)->titles && opts->self.title.len)
        jw_key_str(&w, STR("title"), opts->self.title);
    jw_key_str(&w, STR("version"), opts->self.version);
    jw_end(&w);
    if (opts->instructions.len)
        jw_key_str(&w, STR("instructions"), opts->instructions);
    reply_end(request, &w);
}

/* --- requests --- */

/* Until the client sets a level, it is sent everything from "info" up. */
static void logging_set_level(struct request *request)
{
    struct str level;

    if (!request_text(request, STR("level"), &level))
        return;
    if (!logging_level_find(level, &request->session->log_level))
        reply_error(request, RPC_INVALID_PARAMS,
                    STR("params.level must be one of debug, info, notice, warning, error, "
                        "critical, alert, emergency."));
    else {
        session_refresh(request->session, true);
        reply_empty(request);
    }
}

static const struct method {
    struct str name;
    void (*handle)(struct request *request);
    bool before; /* may come before initialize */
} methods[] = {
    { STR_INIT("tools/call"), tools_call, false },
    { STR_INIT("tools/list"), tools_list, false },
    { STR_INIT("ping"), reply_empty, true },
    { STR_INIT("initialize"), initialize, true },
    { STR_INIT("resources/read"), resources_read, false },
    { STR_INIT("resources/list"), resources_list, false },
    { STR_INIT("resources/templates/list"), resources_templates_list, false },
    { STR_INIT("resources/subscribe"), subscribers_add, false },
    { STR_INIT("resources/unsubscribe"), subscribers_remove, false },
    { STR_INIT("prompts/get"), prompts_get, false },
    { STR_INIT("prompts/list"), prompts_list, false },
    { STR_INIT("completion/complete"), completion_complete, false },
    { STR_INIT("logging/setLevel"), logging_set_level, false },
};

static const struct era_ops ops = { .start = caller2025_start,
                                    .hold = held2025_take,
                                    .gone = repeat2025_gone };

void era2025_request(struct request *request, struct str method)
{
    const struct session *session = request->session;

    request->era = &ops;
    request->sender = session_principal(session);
    request->can = session->client.declares;
    request->revision = (enum revision)session->client.revision;
    params_find(request->params, &request->has);
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (!str_eq(methods[i].name, method))
            continue;
        if (request->params && request->params->type != JSON_OBJECT)
            reply_error(request, RPC_INVALID_PARAMS, STR("params must be an object."));
        else if (!request->session->initialized && !methods[i].before)
            reply_error(request, RPC_INVALID_REQUEST,
                        STR("Nothing can be asked before initialize has been answered."));
        else
            methods[i].handle(request);
        return;
    }
    enum { SHOWN_MAX = 100 };
    if (method.len > SHOWN_MAX)
        method.len = SHOWN_MAX;
    reply_errorf(request, RPC_METHOD_NOT_FOUND, "Method not found: " STR_FMT, STR_ARG(method));
}

/* --- notifications --- */

void era2025_notification(struct session *session, const struct rpc_message *message,
                          void (*done)(void *data, nod_status status), void *data)
{
    if (str_eq(message->method, STR("notifications/cancelled"))) {
        /* A request in flight, by its exact id. If it is unknown, or has ended, the notification
         * is ignored, as MCP demands. */
        struct str id =
            rpc_id_of(&session->server->message, json_get(message->params, STR("requestId")));
        struct str reason = json_get_str(message->params, STR("reason"));
        struct caller2025 *call = id.len ? session_call(session, id) : NULL;

        if (reason.len == 0)
            reason = STR("the client has cancelled the request");
        if (call) {
            caller2025_cancel(call, reason, done, data);
            return;
        }
        if (id.len && !held2025_cancel(session, id) && server_survives(session->server)) {
            resume2025_cancel(session, id, reason, done, data);
            return;
        }
    } else {
        LOG_DEBUG("notification", LOG_STR("method", message->method));
    }
    if (done)
        done(data, NOD_OK);
}

void era2025_response(struct session *session, role_set roles, const struct rpc_message *message,
                      answered_fn *done, void *data)
{
    client_surface_response(session->server->client, session, roles, message, done, data);
}
