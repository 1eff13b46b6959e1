/*
 * mcp/shared/request: writes responses, and reads params.
 *
 * A response is written straight into server->out; no tree is built. If it does not fit into the
 * buffer, it becomes an error that says so.
 */
#include "mcp/shared/request.h"

#include <stdarg.h>
#include <stdio.h>

#include "mcp/wire/result.h"

void reply_begin(struct request *request, struct json_writer *w)
{
    rpc_begin(w, &request->server->out, request->id, STR_NONE);
    if (request->meta)
        result_begin(w, &request->server->opts.self, STR("complete"));
}

void reply_end(struct request *request, struct json_writer *w)
{
    if (!rpc_end(w))
        reply_error(request, RPC_INTERNAL_ERROR, MCP_TOO_LARGE("The result"));
}

void reply_empty(struct request *request)
{
    struct json_writer w;

    reply_begin(request, &w);
    reply_end(request, &w);
}

void reply_fault(struct request *request, const struct meta_fault *fault)
{
    reply_error_data(request, fault->code, fault->message, fault->data);
    request->status = fault->status;
}

void reply_cacheable(const struct request *request, struct json_writer *w, int64_t ttl_ms,
                     bool anybody)
{
    if (!request->meta)
        return;
    jw_key_i64(w, STR("ttlMs"), ttl_ms);
    jw_key_str(w, STR("cacheScope"), anybody ? STR("public") : STR("private"));
}

void reply_error_data(struct request *request, int64_t code, struct str message, struct str data)
{
    request->failed = true;
    buf_clear(&request->server->out);
    rpc_write_error(&request->server->out, request->id, code, message, data);
}

void reply_error(struct request *request, int64_t code, struct str message)
{
    reply_error_data(request, code, message, STR_NONE);
}

void reply_errorf(struct request *request, int64_t code, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    reply_error(request, code, str_n(text, len));
}

void params_find(const struct json *params, struct params *out)
{
    *out = (struct params){ 0 };
    if (!json_is(params, JSON_OBJECT))
        return;
    JSON_EACH (member, params) {
        struct str key = member->key;
        switch (key.len) { /* all of these keys differ in length */
        case sizeof("name") - 1:
            if (str_eq(key, STR("name")))
                out->name = member;
            break;
        case sizeof("_meta") - 1:
            if (str_eq(key, STR("_meta")))
                out->meta = member;
            break;
        case sizeof("arguments") - 1:
            if (str_eq(key, STR("arguments")))
                out->arguments = member;
            break;
        case sizeof("requestState") - 1:
            if (str_eq(key, STR("requestState")))
                out->state = member;
            break;
        case sizeof("inputResponses") - 1:
            if (str_eq(key, STR("inputResponses")))
                out->responses = member;
            break;
        }
    }
}

static bool is_text(struct request *request, struct str name, const struct json *value)
{
    if (json_is(value, JSON_STRING))
        return true;
    reply_errorf(request, RPC_INVALID_PARAMS, "params." STR_FMT " must be a string, but is %s.",
                 STR_ARG(name), value ? json_type_name(value) : "not there");
    return false;
}

static bool is_object(struct request *request, struct str name, const struct json *value)
{
    if (!value || value->type == JSON_OBJECT)
        return true;
    reply_errorf(request, RPC_INVALID_PARAMS, "params." STR_FMT " must be an object, but is %s.",
                 STR_ARG(name), json_type_name(value));
    return false;
}

bool request_name(struct request *request, struct str *out)
{
    *out = json_str(request->has.name);
    return is_text(request, STR("name"), request->has.name);
}

bool request_arguments(struct request *request, const struct json **out)
{
    *out = request->has.arguments;
    return is_object(request, STR("arguments"), *out);
}

bool request_text(struct request *request, struct str name, struct str *out)
{
    const struct json *value = json_get(request->params, name);

    *out = json_str(value);
    return is_text(request, name, value);
}

bool request_object(struct request *request, struct str name, const struct json **out)
{
    const struct json *value = json_get(request->params, name);

    *out = value;
    return is_object(request, name, value);
}

void request_start(struct request *request, struct start_spec spec)
{
    if (meta_rest(request->has.meta, &request->server->message, &spec.meta))
        request->era->start(request, &spec);
    else
        reply_errorf(request, RPC_INVALID_PARAMS,
                     "params._meta must have at most %d bytes besides what the protocol uses.",
                     META_REST_MAX);
}
