/* core/outcome: the codes of failures, and an outcome as JSON for the store. */
#include "core/outcome.h"

#include "json/write.h"

static const struct {
    nod_status status;
    const char *code;
    const char *name;
} words[] = {
    { NOD_OK, "OK", "ok" },
    { NOD_PENDING, "PENDING", "pending" },
    { NOD_E_INVALID, "INVALID_INPUT", "invalid" },
    { NOD_E_TIMEOUT, "ELICITATION_TIMEOUT", "timeout" },
    { NOD_E_NOT_SUPPORTED, "ELICITATION_NOT_SUPPORTED", "not supported" },
    { NOD_E_BAD_SCHEMA, "BAD_SCHEMA", "bad schema" },
    { NOD_E_NOT_DETERMINISTIC, "NOT_DETERMINISTIC", "not deterministic" },
    { NOD_E_OUTCOME_UNKNOWN, "OUTCOME_UNKNOWN", "outcome unknown" },
    { NOD_E_LIMIT, "LIMIT_REACHED", "limit reached" },
    { NOD_E_CANCELLED, "CANCELLED", "cancelled" },
    { NOD_E_STORE, "STORE_UNAVAILABLE", "store unavailable" },
    { NOD_E_STALE, "STALE", "stale" },
    { NOD_E_NOT_FOUND, "NOT_FOUND", "not found" },
    { NOD_E_USAGE, "HANDLER_BUG", "usage" },
    { NOD_E_PARSE, "PARSE_ERROR", "parse error" },
    { NOD_E_IO, "IO_ERROR", "i/o error" },
    { NOD_E_REFUSED, "REFUSED", "refused" },
    { NOD_E_FAILED, "TOOL_FAILED", "failed" },
};

const char *outcome_code(nod_status status)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i].status == status)
            return words[i].code;
    return "UNKNOWN_STATUS";
}

const char *nod_status_name(nod_status status)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i].status == status)
            return words[i].name;
    return "unknown status";
}

struct outcome outcome_gone(struct arena *arena, struct str target)
{
    return (struct outcome){
        .status = NOD_E_NOT_FOUND,
        .code = OUTCOME_TARGET_GONE,
        .message = arena_fmt(arena,
                             STR_FMT " is no longer there: this call of it has ended, and no "
                                     "further answer is taken",
                             STR_ARG(target)),
    };
}

struct outcome outcome_changed(struct arena *arena, struct str target)
{
    return (struct outcome){
        .status = NOD_E_REFUSED,
        .code = OUTCOME_TARGET_CHANGED,
        .message = arena_fmt(arena,
                             STR_FMT " has changed since this call asked; no answer was taken. "
                                     "Make the call again.",
                             STR_ARG(target)),
    };
}

bool outcome_write(struct buf *out, const struct outcome *outcome)
{
    struct json_writer w;

    json_writer_init(&w, out);
    jw_object(&w);
    jw_key_i64(&w, STR("status"), outcome->status);
    if (outcome->body.len)
        jw_key_raw(&w, STR("body"), outcome->body);
    if (outcome->code)
        jw_key_str(&w, STR("code"), str_of(outcome->code));
    if (outcome->message.len)
        jw_key_str(&w, STR("message"), outcome->message);
    if (outcome->details.len)
        jw_key_raw(&w, STR("details"), outcome->details);
    if (outcome->meta.len)
        jw_key_raw(&w, STR("meta"), outcome->meta);
    if (outcome->error_id.len)
        jw_key_str(&w, STR("errorId"), outcome->error_id);
    if (outcome->request_error) {
        jw_key_bool(&w, STR("requestError"), true);
        if (outcome->error_data.len)
            jw_key_raw(&w, STR("errorData"), outcome->error_data);
    }
    jw_end(&w);
    return json_writer_done(&w);
}

bool outcome_write_body(struct buf *out, struct str *body)
{
    static const struct str head = STR_INIT("{\"status\":0,\"body\":");
    char *to = buf_reserve(out, head.len + body->len + 1);

    _Static_assert(NOD_OK == 0, "what is written as the status of a call that went well");
    if (!to)
        return false;
    memcpy(to, head.at, head.len);
    memcpy(to + head.len, body->at, body->len);
    to[head.len + body->len] = '}';
    out->len += head.len + body->len + 1;
    *body = str_n(to + head.len, body->len);
    return true;
}

static struct str raw_of(const struct json *object, struct str key)
{
    const struct json *v = json_get(object, key);

    return v ? v->raw : STR_NONE;
}

nod_status outcome_read(struct arena *arena, struct str text, struct outcome *out)
{
    struct json_error error;
    struct json *v = json_parse(arena, text, NULL, &error);
    int64_t status;

    if (!v || !json_i64(json_get(v, STR("status")), &status))
        return NOD_E_PARSE;
    *out = (struct outcome){ .status = (nod_status)status };
    out->body = raw_of(v, STR("body"));
    out->message = json_get_str(v, STR("message"));
    out->details = raw_of(v, STR("details"));
    out->meta = raw_of(v, STR("meta"));
    out->error_id = json_get_str(v, STR("errorId"));
    const struct json *request_error = json_get(v, STR("requestError"));
    out->request_error = json_is(request_error, JSON_BOOL) && request_error->truth;
    out->error_data = raw_of(v, STR("errorData"));
    if (json_get(v, STR("rpcCode"))) { /* as it was written up to version 0.1.0 */
        out->request_error = true;
        out->error_data = raw_of(v, STR("rpcData"));
    }
    if (json_get(v, STR("code")))
        out->code = arena_str(arena, json_get_str(v, STR("code"))).at;
    return NOD_OK;
}
