/*
 * rpc/message: reads and writes single JSON-RPC messages.
 *
 * Reading is one walk over the members of the object, into a small table of the six members that
 * JSON-RPC knows. Then the rules are checked. The id is read first, so that a fault carries it if
 * there is a readable one. Nothing is copied except string ids that came with escapes.
 *
 * Writing builds no tree: the frame of a message is constant text, and what goes between is already
 * JSON. In JSON a line end can only be white space between tokens. The writers turn it into a
 * space, because a message is a line on stdio and a field in an event stream.
 *
 * This file knows no method, no session and no transport.
 */
#include "rpc/message.h"

#include <inttypes.h>
#include <stdio.h>

#include "json/utf8.h"

/* --- ids --- */

static bool is_integer(struct str number)
{
    if (number.len == 0 || number.len > RPC_ID_MAX)
        return false;
    for (size_t i = number.at[0] == '-'; i < number.len; i++)
        if (number.at[i] < '0' || number.at[i] > '9')
            return false;
    return true;
}

/* Is it already as our writer would write it? Most ids are, and need no copy. */
static bool is_plain_string(struct str id)
{
    if (id.len < 2 || id.len > RPC_ID_MAX || id.at[0] != '"' || id.at[id.len - 1] != '"')
        return false;
    const char *end = id.at + id.len - 1;
    return utf8_plain(id.at + 1, end) == end;
}

struct str rpc_id_json(struct arena *arena, struct str text)
{
    struct buf quoted;
    struct json_writer writer;
    struct str id = STR_NONE;

    buf_init(&quoted, RPC_ID_MAX);
    json_writer_init(&writer, &quoted);
    jw_str(&writer, text);
    if (json_writer_done(&writer))
        id = arena_str(arena, buf_str(&quoted));
    buf_finish(&quoted);
    return id;
}

struct str rpc_id_of(struct arena *arena, const struct json *value)
{
    if (json_is(value, JSON_NUMBER))
        return is_integer(value->text) ? value->text : STR_NONE;
    if (!json_is(value, JSON_STRING))
        return STR_NONE;
    /* The same for a parsed string: every escape is longer than what it stands for. */
    return (value->raw.len == value->text.len + 2 && value->raw.len <= RPC_ID_MAX)
               ? value->raw
               : rpc_id_json(arena, value->text);
}

struct str rpc_id_text(struct arena *arena, struct str id)
{
    if (id.len < 2 || id.at[0] != '"')
        return STR_NONE;
    if (is_plain_string(id))
        return str_n(id.at + 1, id.len - 2);
    return json_str(json_parse(arena, id, NULL, &(struct json_error){ 0 }));
}

/* --- reading --- */

enum member { JSONRPC, ID, METHOD, PARAMS, RESULT, ERROR, MEMBERS };

/* MEMBERS: none of them. By the length first; then each name is one comparison of words. */
static enum member member_of(struct str key)
{
    switch (key.len) {
    case 2:
        return str_eq(key, STR("id")) ? ID : MEMBERS;
    case 5:
        return str_eq(key, STR("error")) ? ERROR : MEMBERS;
    case 6:
        return str_eq(key, STR("method"))   ? METHOD
               : str_eq(key, STR("params")) ? PARAMS
               : str_eq(key, STR("result")) ? RESULT
                                            : MEMBERS;
    case 7:
        return str_eq(key, STR("jsonrpc")) ? JSONRPC : MEMBERS;
    default:
        return MEMBERS;
    }
}

static nod_status refuse(struct rpc_fault *fault, const char *why)
{
    fault->code = RPC_INVALID_REQUEST;
    fault->message = str_of(why);
    return NOD_E_INVALID;
}

/* False: a member occurs twice, in a value that was built or parsed loosely. */
static bool members_of(const struct json *object, const struct json *found[MEMBERS])
{
    JSON_EACH (child, object) {
        enum member which = member_of(child->key);
        if (which == MEMBERS)
            continue;
        if (found[which])
            return false;
        found[which] = child;
    }
    return true;
}

static nod_status read_call(const struct json *const found[MEMBERS], struct rpc_message *out,
                            struct rpc_fault *fault)
{
    if (!json_is(found[METHOD], JSON_STRING))
        return refuse(fault, "\"method\" must be a string");
    if (found[RESULT] || found[ERROR])
        return refuse(fault, "a message with \"method\" cannot have \"result\" or \"error\"");
    if (found[ID] && out->id.len == 0)
        return refuse(fault, "\"id\" must be a string or an integer, of at most 512 bytes");
    if (found[PARAMS] && found[PARAMS]->type < JSON_ARRAY)
        return refuse(fault, "\"params\" must be an object or an array");
    out->kind = found[ID] ? RPC_REQUEST : RPC_NOTIFICATION;
    out->method = found[METHOD]->text;
    out->params = found[PARAMS];
    return NOD_OK;
}

static nod_status read_response(const struct json *const found[MEMBERS], struct rpc_message *out,
                                struct rpc_fault *fault)
{
    fault->response = found[RESULT] || found[ERROR];
    if (!fault->response)
        return refuse(fault, "\"method\" is missing");
    if (found[RESULT] && found[ERROR])
        return refuse(fault, "a response has either \"result\" or \"error\", not both");
    if (found[ERROR]) {
        const struct json *error = found[ERROR];
        const struct json *text = json_get(error, STR("message"));

        /* The sender could not read our id: null or, in later revisions of MCP, no id at all. */
        if (!found[ID] || json_is(found[ID], JSON_NULL))
            out->id = STR("null");
        if (out->id.len == 0)
            return refuse(fault,
                          "\"id\" must be a string, an integer or null, of at most 512 bytes");
        if (!json_i64(json_get(error, STR("code")), &out->code) || !json_is(text, JSON_STRING))
            return refuse(fault,
                          "\"error\" must have an integer \"code\" and a string \"message\"");
        out->kind = RPC_ERROR;
        out->text = text->text;
        out->data = json_get(error, STR("data"));
        return NOD_OK;
    }
    if (out->id.len == 0)
        return refuse(fault, "\"id\" must be a string or an integer, of at most 512 bytes");
    out->kind = RPC_RESULT;
    out->result = found[RESULT];
    return NOD_OK;
}

nod_status rpc_read(const struct json *value, struct arena *arena, struct rpc_message *out,
                    struct rpc_fault *fault)
{
    const struct json *found[MEMBERS] = { NULL };

    *out = (struct rpc_message){ .whole = value };
    *fault = (struct rpc_fault){ .id = STR("null") };
    if (!json_is(value, JSON_OBJECT))
        return refuse(fault, "a message must be an object");
    if (!members_of(value, found))
        return refuse(fault, "a member occurs twice");
    out->id = rpc_id_of(arena, found[ID]);
    if (out->id.len)
        fault->id = out->id;
    /* Whatever its shape, it is an error, and ends the wait for a response. */
    if (found[ERROR] && !found[METHOD]) {
        out->kind = RPC_ERROR;
        json_i64(json_get(found[ERROR], STR("code")), &out->code);
    }
    if (!str_eq(json_str(found[JSONRPC]), STR("2.0"))) {
        fault->response = !found[METHOD] && (found[RESULT] || found[ERROR]);
        return refuse(fault, "\"jsonrpc\" must be \"2.0\"");
    }
    return found[METHOD] ? read_call(found, out, fault) : read_response(found, out, fault);
}

/* --- batches --- */

bool rpc_is_batch(const struct json *value)
{
    return json_is(value, JSON_ARRAY);
}

nod_status rpc_batch_of(const struct json *value, struct rpc_batch *out, struct rpc_fault *fault)
{
    *out = (struct rpc_batch){ .next = value, .left = 1 };
    *fault = (struct rpc_fault){ .id = STR("null") };
    if (!rpc_is_batch(value))
        return NOD_OK; /* rpc_read will report what is wrong with it */

    uint32_t count = 0;
    JSON_EACH (child, value) {
        if (++count > RPC_BATCH_MAX)
            break;
    }
    *out = (struct rpc_batch){ .array = true };
    if (count == 0)
        return refuse(fault, "a batch must not be empty");
    if (count > RPC_BATCH_MAX)
        return refuse(fault, "a batch has at most 128 messages");
    out->next = json_first(value);
    out->left = count;
    return NOD_OK;
}

bool rpc_batch_next(struct rpc_batch *batch, struct arena *arena, struct rpc_message *out,
                    struct rpc_fault *fault, nod_status *status)
{
    const struct json *value = batch->next;

    if (batch->left == 0 || !value)
        return false;
    batch->left--;
    batch->next = batch->array ? value->next : NULL;
    *status = rpc_read(value, arena, out, fault);
    return true;
}

/* --- writing --- */

_Static_assert(RPC_ID_MAX == 512 && RPC_BATCH_MAX == 128, "the messages above name the limits");

static void blank(char *at, size_t len, char what)
{
    for (char *hit; len && (hit = memchr(at, what, len)); at = hit) {
        *hit = ' ';
        len -= (size_t)(hit - at);
    }
}

static void add_json(struct buf *out, struct str json)
{
    if (json.len == 0 || !buf_add(out, json))
        return;
    char *added = out->at + out->len - json.len;
    blank(added, json.len, '\n');
    blank(added, json.len, '\r');
}

static void add_text(struct buf *out, struct str text)
{
    static const char hex[] = "0123456789abcdef";
    struct json_writer writer;
    size_t from = out->len;

    json_writer_init(&writer, out);
    jw_str(&writer, text);
    if (json_writer_done(&writer) || out->overflow)
        return;
    out->len = from;
    /* Text that the writer refuses: keeps its ASCII. */
    buf_add_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c == '"' || c == '\\')
            buf_add_char(out, '\\');
        if (c < 0x20 && buf_add(out, STR("\\u00"))) {
            buf_add_char(out, hex[c >> 4]);
            buf_add_char(out, hex[c & 15]);
        } else {
            buf_add_char(out, c < 0x80 ? (char)c : '?');
        }
    }
    buf_add_char(out, '"');
}

/* Ends a message. On overflow the part that did fit is removed. */
static void finish(struct buf *out, size_t from)
{
    buf_add_char(out, '}');
    if (out->overflow)
        out->len = from;
}

static void add_head(struct buf *out, struct str id)
{
    buf_add(out, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
    add_json(out, id.len ? id : STR("null"));
    buf_add_char(out, ',');
}

void rpc_write_notification(struct buf *out, struct str method, struct str params)
{
    size_t from = out->len;

    buf_add(out, STR("{\"jsonrpc\":\"2.0\",\"method\":"));
    add_text(out, method);
    if (params.len) {
        buf_add(out, STR(",\"params\":"));
        add_json(out, params);
    }
    finish(out, from);
}

/* After the beginning of the message. */
static void add_error(struct buf *out, int64_t code, struct str message, struct str data)
{
    char number[24];
    int digits = snprintf(number, sizeof(number), "%" PRId64, code);

    buf_add(out, STR("\"error\":{\"code\":"));
    buf_add(out, str_n(number, (size_t)digits));
    buf_add(out, STR(",\"message\":"));
    add_text(out, message);
    if (data.len) {
        buf_add(out, STR(",\"data\":"));
        add_json(out, data);
    }
    buf_add_char(out, '}');
}

void rpc_write_error(struct buf *out, struct str id, int64_t code, struct str message,
                     struct str data)
{
    size_t from = out->len;

    add_head(out, id);
    add_error(out, code, message, data);
    finish(out, from);
}

void rpc_write_refusal(struct buf *out, struct str id, int64_t code, struct str message,
                       struct str data)
{
    size_t from = out->len;

    if (id.len && !str_eq(id, STR("null")))
        add_head(out, id);
    else
        buf_add(out, STR("{\"jsonrpc\":\"2.0\","));
    add_error(out, code, message, data);
    finish(out, from);
}

void rpc_write_fault(struct buf *out, const struct rpc_fault *fault)
{
    rpc_write_error(out, fault->id, fault->code, fault->message, STR_NONE);
}

void rpc_begin(struct json_writer *w, struct buf *out, struct str id, struct str method)
{
    buf_clear(out);
    json_writer_init(w, out);
    jw_object(w);
    jw_key_str(w, STR("jsonrpc"), STR("2.0"));
    if (id.len)
        jw_key_raw(w, STR("id"), id);
    if (method.len)
        jw_key_str(w, STR("method"), method);
    jw_key(w, method.len ? STR("params") : STR("result"));
    jw_object(w);
}

bool rpc_end(struct json_writer *w)
{
    jw_end(w);
    jw_end(w);
    return json_writer_done(w);
}
