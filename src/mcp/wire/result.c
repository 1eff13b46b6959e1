/*
 * mcp/wire/result: outcomes as results and errors of the 2026 era.
 *
 * A body is JSON that the provider wrote. It is copied byte by byte after the members that every
 * result has. Only a body with a _meta of its own is parsed, to join the two.
 *
 * If a question could not be asked, and the handler passed that on, the client lacks a capability:
 * the error -32021 names it. A handler that itself returns NOD_E_NOT_SUPPORTED has failed like any
 * other. The codes -32002 and -32042 of the 2025 era are never sent.
 */
#include "mcp/wire/result.h"

#include "mcp/wire/failure.h"
#include "mcp/wire/meta.h"
#include "mcp/wire/limits.h"
#include "rpc/message.h"

void result_server_info(struct json_writer *w, const struct implementation *self)
{
    jw_object(w);
    jw_key_str(w, STR("name"), self->name);
    if (self->title.len)
        jw_key_str(w, STR("title"), self->title);
    jw_key_str(w, STR("version"), self->version);
    jw_end(w);
}

static void write_meta(struct json_writer *w, const struct implementation *self)
{
    jw_object(w);
    jw_key(w, STR(META_SERVER));
    result_server_info(w, self);
    jw_end(w);
}

bool result_meta(struct buf *out, const struct implementation *self)
{
    struct json_writer w;

    json_writer_init(&w, out);
    write_meta(&w, self);
    return json_writer_done(&w);
}

void result_begin(struct json_writer *w, const struct implementation *self, struct str type)
{
    jw_key_str(w, STR("resultType"), type);
    jw_key(w, STR("_meta"));
    if (self->meta.len)
        jw_raw(w, self->meta);
    else
        write_meta(w, self);
}

static inline char *put(char *to, struct str s)
{
    if (s.len)
        memcpy(to, s.at, s.len);
    return to + s.len;
}

/* The same as text, after a frame that ends with the opening bracket of the result. */
static inline void add_open(struct buf *out, const struct implementation *self, struct str frame,
                            struct str id, struct str result, struct str type)
{
    struct str kind = STR("\"resultType\":\""), meta = STR("\",\"_meta\":");
    char *to = buf_reserve(out, frame.len + id.len + result.len + kind.len + type.len + meta.len +
                                    self->meta.len);

    if (!to)
        return;
    to = put(put(put(to, frame), id), result);
    to = put(put(put(to, kind), type), meta);
    to = put(to, self->meta);
    out->len = (size_t)(to - out->at);
    if (!self->meta.len && !result_meta(out, self))
        out->overflow = true;
}

void result_open(struct buf *out, const struct implementation *self, struct str id, struct str type)
{
    add_open(out, self, STR("{\"jsonrpc\":\"2.0\",\"id\":"), id, STR(",\"result\":{"), type);
}

/* --- results --- */

/* The members of an object, after those that are already written, and its closing bracket. */
static bool add_members(struct buf *out, struct str body)
{
    body = str_trim(body);
    if (body.len < 2 || body.at[0] != '{' || body.at[body.len - 1] != '}')
        return false;
    struct str inside = str_trim(str_n(body.at + 1, body.len - 2));
    if (inside.len) {
        buf_add_char(out, ',');
        buf_add(out, inside);
    }
    buf_add_char(out, '}');
    return !out->overflow;
}

static bool join_slowly(struct json_writer *w, const struct implementation *self,
                        enum revision_part part, struct str body)
{
    struct arena arena;

    arena_init(&arena, MCP_TREE_MAX);
    const struct json *value = json_parse(&arena, body, NULL, NULL);
    bool fine = json_is(value, JSON_OBJECT);
    if (fine) {
        jw_object(w);
        jw_key_str(w, STR("resultType"), STR("complete"));
        jw_key(w, STR("_meta"));
        jw_object(w);
        JSON_EACH (member, json_get(value, STR("_meta")))
            if (!str_eq(member->key, STR(META_SERVER)))
                jw_key_value(w, member->key, member);
        jw_key(w, STR(META_SERVER));
        result_server_info(w, self);
        jw_end(w);
        if (part == PART_RESOURCE_RESULT) { /* only its handler knows how long it is valid */
            jw_key_i64(w, STR("ttlMs"), 0);
            jw_key_str(w, STR("cacheScope"), STR("private"));
        }
        JSON_EACH (member, value)
            if (!str_eq(member->key, STR("_meta")) && !str_eq(member->key, STR("resultType")))
                jw_key_value(w, member->key, member);
        jw_end(w);
    }
    arena_finish(&arena);
    return fine && json_writer_done(w);
}

/* Does the name occur anywhere in the body? `rare` is a letter of it that few bodies contain: if
 * that letter is missing, which is quick to check, the name is. */
static bool has_name(struct str body, char rare, struct str name)
{
    return body.len && memchr(body.at, rare, body.len) && str_find(body, name) >= 0;
}

static bool write_tool_failure(struct buf *out, const struct implementation *self,
                               const struct outcome *outcome)
{
    struct json_writer w;

    json_writer_init(&w, out);
    jw_object(&w);
    jw_key_str(&w, STR("resultType"), STR("complete"));
    jw_key(&w, STR("_meta"));
    jw_object(&w);
    jw_key(&w, STR(META_SERVER));
    result_server_info(&w, self);
    failure_facts2026(&w, outcome);
    jw_end(&w);
    failure_content(&w, outcome);
    jw_end(&w);
    return json_writer_done(&w);
}

/* The core names the mode in which nobody could be asked. A handler's own status has none. */
bool result_lacks_capability(const struct outcome *outcome)
{
    return outcome->status == NOD_E_NOT_SUPPORTED && !outcome->request_error &&
           str_find(outcome->meta, STR("\"mode\"")) >= 0;
}

bool result_of_outcome(struct buf *out, const struct implementation *self, enum revision_part part,
                       const struct outcome *outcome)
{
    if (outcome->request_error || outcome->no_room || result_lacks_capability(outcome))
        return false;
    if (outcome->status == NOD_OK) {
        if (has_name(outcome->body, '_', STR("\"_meta\"")) ||
            has_name(outcome->body, 'T', STR("\"resultType\""))) {
            struct json_writer w;

            json_writer_init(&w, out);
            return join_slowly(&w, self, part, outcome->body);
        }
        add_open(out, self, STR("{"), STR_NONE, STR_NONE, STR("complete"));
        if (part == PART_RESOURCE_RESULT)
            buf_add(out, STR(",\"ttlMs\":0,\"cacheScope\":\"private\""));
        return add_members(out, outcome->body);
    }
    return part == PART_TOOL_RESULT && write_tool_failure(out, self, outcome);
}

/* --- errors --- */

struct str result_capability(enum ask_kind kind, bool tools)
{
    switch (kind) {
    case ASK_URL:
        return STR("{\"elicitation\":{\"url\":{}}}");
    case ASK_SAMPLE:
        return tools ? STR("{\"sampling\":{\"tools\":{}}}") : STR("{\"sampling\":{}}");
    case ASK_ROOTS:
        return STR("{\"roots\":{}}");
    case ASK_FORM:
    case ASK_APPROVAL:
    case ASK_CALL:
        break;
    }
    return STR("{\"elicitation\":{\"form\":{}}}");
}

/* The core names the missing mode in the failure's meta. */
static struct str missing_capability(const struct outcome *outcome)
{
    static const struct {
        struct str mode;
        enum ask_kind kind;
    } modes[] = {
        { STR_INIT("\"url\""), ASK_URL },
        { STR_INIT("\"sampling\""), ASK_SAMPLE },
        { STR_INIT("\"roots\""), ASK_ROOTS },
    };

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (str_find(outcome->meta, modes[i].mode) >= 0)
            return result_capability(modes[i].kind, false);
    return result_capability(ASK_FORM, false);
}

int result_error(struct json_writer *w, const struct outcome *outcome)
{
    bool missing = result_lacks_capability(outcome);

    jw_object(w);
    jw_key_i64(w, STR("code"), missing ? MCP_MISSING_CAPABILITY : failure_code2026(outcome));
    jw_key_str(w, STR("message"), outcome->message);
    if (outcome->request_error && outcome->error_data.len && !failure_wants_page(outcome)) {
        jw_key_raw(w, STR("data"), outcome->error_data);
    } else if (!outcome->request_error) {
        jw_key(w, STR("data"));
        jw_object(w);
        if (missing)
            jw_key_raw(w, STR("requiredCapabilities"), missing_capability(outcome));
        failure_facts2026(w, outcome);
        jw_end(w);
    }
    jw_end(w);
    return missing ? 400 : outcome->no_room ? 429 : 200;
}

int result_respond(struct buf *out, const struct implementation *self, struct str id,
                   enum revision_part part, const struct outcome *outcome)
{
    struct json_writer w;
    int status = 200;

    buf_clear(out);
    buf_add(out, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
    buf_add(out, id);
    buf_add(out, STR(",\"result\":"));
    bool is_result = !result_lacks_capability(outcome) && !outcome->request_error &&
                     !outcome->no_room && (outcome->status == NOD_OK || part == PART_TOOL_RESULT);
    if (is_result) {
        if (!result_of_outcome(out, self, part, outcome) || !buf_add_char(out, '}'))
            status = 0;
    } else {
        buf_clear(out);
        json_writer_init(&w, out);
        jw_object(&w);
        jw_key_str(&w, STR("jsonrpc"), STR("2.0"));
        jw_key_raw(&w, STR("id"), id);
        jw_key(&w, STR("error"));
        status = result_error(&w, outcome);
        jw_end(&w);
        status = json_writer_done(&w) ? status : 0;
    }
    if (status)
        return status;
    buf_clear(out);
    rpc_write_error(out, id, RPC_INTERNAL_ERROR, MCP_TOO_LARGE_OR_WRONG("The result"), STR_NONE);
    return 200;
}
