/*
 * provider/handler_reply: the result, written while the handler runs.
 *
 * The body is one JSON object, whose array of blocks stays open while the handler runs: each
 * nod_reply_* adds a block, and reply_close ends it. The text is written once, so a large image is
 * never held twice as JSON.
 *
 * A reply after NOD_PENDING was returned is dropped: the next run makes it again. A reply inside a
 * step would be lost on a replay, so it is a mistake. Only nod_reply_error is allowed there: it is
 * the step's own failure.
 */

#include "base/mem.h"
#include "core/note.h"
#include "provider/local_inside.h"

/* In _meta of a result: the ids of the grants because of which nobody was asked. */
#define REPLY_REMEMBERED "nod/remembered"

void reply_init(struct reply *reply)
{
    memset(reply, 0, sizeof(*reply));
    buf_init(&reply->out, REPLY_BYTES_MAX);
    json_writer_init(&reply->w, &reply->out);
}

static enum target_kind kind_of(const nod_call *call)
{
    return call->run->target->kind;
}

/* The writer, ready for one more block. NULL: no reply is possible here. */
static struct json_writer *block_begin(nod_call *call)
{
    struct json_writer *w = &call->reply.w;

    if (call->step || call->completion) {
        run_bug(call->run, "The %s " STR_FMT " replies inside of %s: reply from the handler itself",
                call_what(call), STR_ARG(call_name(call)), call->step ? "a step" : "a completion");
        return NULL;
    }
    if (call->stopped)
        return NULL;
    if (!call->reply.blocks++) {
        static const struct str arrays[] = { [TARGET_TOOL] = STR_INIT("content"),
                                             [TARGET_RESOURCE] = STR_INIT("contents"),
                                             [TARGET_PROMPT] = STR_INIT("messages") };
        jw_object(w);
        if (kind_of(call) == TARGET_PROMPT)
            register_key(w, "description", call->target->description);
        jw_plain_key(w, arrays[kind_of(call)]);
        jw_array(w);
    }
    jw_object(w);
    if (kind_of(call) == TARGET_PROMPT) {
        jw_key_str(w, STR("role"),
                   call->reply.role == NOD_ASSISTANT ? STR("assistant") : STR("user"));
        jw_key(w, STR("content"));
        jw_object(w);
    }
    return w;
}

static void block_end(nod_call *call)
{
    jw_end(&call->reply.w);
    if (kind_of(call) == TARGET_PROMPT)
        jw_end(&call->reply.w);
}

/* --- bytes --- */

static void base64_encode(const unsigned char *in, size_t len, char *out)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t three = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                         (left > 2 ? in[i + 2] : 0);

        *out++ = letters[three >> 18];
        *out++ = letters[three >> 12 & 63];
        *out++ = left > 1 ? letters[three >> 6 & 63] : '=';
        *out++ = left > 2 ? letters[three & 63] : '=';
    }
}

static void write_bytes(nod_call *call, const char *key, const void *bytes, size_t len)
{
    struct reply *reply = &call->reply;

    if (len > REPLY_BYTES_MAX / 4 * 3 || (len && !bytes)) {
        reply->out.overflow |= len > 0;
        jw_key_str(&reply->w, str_of(key), STR(""));
        return;
    }
    size_t text_len = (len + 2) / 3 * 4;
    char *text = mem_alloc(text_len + 1);
    base64_encode(bytes, len, text);
    jw_key_str(&reply->w, str_of(key), str_n(text, text_len));
    mem_free(text);
}

/* --- blocks --- */

struct content { /* of a resource */
    struct str uri;
    struct str mime_type;
    const struct str *text; /* or */
    const void *bytes;
    size_t len;
};

/* In a resource handler it is the content itself; elsewhere it is embedded. */
static nod_status reply_content(nod_call *call, const char *uri, const char *mime_type,
                                struct content *c)
{
    bool reading = kind_of(call) == TARGET_RESOURCE;
    struct json_writer *w;

    if (!uri && !reading) {
        run_bug(call->run, "The %s " STR_FMT " replies with a resource without a uri",
                call_what(call), STR_ARG(call_name(call)));
        return NOD_OK;
    }
    c->uri = uri ? call_text(call, uri) : call->run->uri;
    c->mime_type = mime_type ? call_text(call, mime_type)
                   : reading ? call->target->mime_type
                             : STR_NONE;
    if (!(w = block_begin(call)))
        return NOD_OK;
    if (!reading) {
        jw_key_str(w, STR("type"), STR("resource"));
        jw_key(w, STR("resource"));
        jw_object(w);
    }
    jw_key_str(w, STR("uri"), c->uri);
    register_key(w, "mimeType", c->mime_type);
    if (c->text)
        jw_key_str(w, STR("text"), *c->text);
    else
        write_bytes(call, "blob", c->bytes, c->len);
    if (!reading)
        jw_end(w);
    block_end(call);
    return NOD_OK;
}

static nod_status reply_str(nod_call *call, struct str text)
{
    struct json_writer *w;

    if (kind_of(call) == TARGET_RESOURCE)
        return reply_content(call, NULL, NULL, &(struct content){ .text = &text });
    if (!(w = block_begin(call)))
        return NOD_OK;
    jw_key_str(w, STR("type"), STR("text"));
    jw_key_str(w, STR("text"), text);
    block_end(call);
    return NOD_OK;
}

nod_status nod_reply_text(nod_call *call, const char *text)
{
    if (!text) {
        run_bug(call->run, "The %s " STR_FMT " replies with a text that is NULL", call_what(call),
                STR_ARG(call_name(call)));
        return NOD_OK;
    }
    return reply_str(call, call_text(call, text));
}

nod_status nod_reply_textf(nod_call *call, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct str text = arena_vfmt(&call->run->arena, format, args);
    va_end(args);
    return reply_str(call, text_clean(&call->run->arena, text));
}

static nod_status reply_media(nod_call *call, const char *type, const void *bytes, size_t len,
                              const char *mime_type)
{
    struct json_writer *w;

    if (kind_of(call) == TARGET_RESOURCE)
        return reply_content(call, NULL, mime_type,
                             &(struct content){ .bytes = bytes, .len = len });
    if (!mime_type || !*mime_type) {
        run_bug(call->run, "The %s " STR_FMT " replies with an %s without a mime_type",
                call_what(call), STR_ARG(call_name(call)), type);
        return NOD_OK;
    }
    if (!(w = block_begin(call)))
        return NOD_OK;
    jw_key_str(w, STR("type"), str_of(type));
    write_bytes(call, "data", bytes, len);
    jw_key_str(w, STR("mimeType"), call_text(call, mime_type));
    block_end(call);
    return NOD_OK;
}

nod_status nod_reply_image(nod_call *call, const void *bytes, size_t len, const char *mime_type)
{
    return reply_media(call, "image", bytes, len, mime_type);
}

nod_status nod_reply_audio(nod_call *call, const void *bytes, size_t len, const char *mime_type)
{
    return reply_media(call, "audio", bytes, len, mime_type);
}

nod_status nod_reply_resource_text(nod_call *call, const char *uri, const char *mime_type,
                                   const char *text)
{
    struct str clean = call_text(call, text);

    return reply_content(call, uri, mime_type, &(struct content){ .text = &clean });
}

nod_status nod_reply_resource_blob(nod_call *call, const char *uri, const char *mime_type,
                                   const void *bytes, size_t len)
{
    return reply_content(call, uri, mime_type, &(struct content){ .bytes = bytes, .len = len });
}

nod_status nod_reply_link(nod_call *call, const char *uri, const char *name,
                          const char *description, const char *mime_type)
{
    struct json_writer *w;

    if (!uri || kind_of(call) == TARGET_RESOURCE) {
        run_bug(call->run, "The %s " STR_FMT " replies with a link %s", call_what(call),
                STR_ARG(call_name(call)), uri ? "where only content goes" : "without a uri");
        return NOD_OK;
    }
    if (!(w = block_begin(call)))
        return NOD_OK;
    jw_key_str(w, STR("type"), STR("resource_link"));
    jw_key_str(w, STR("uri"), call_text(call, uri));
    jw_key_str(w, STR("name"), call_text(call, name ? name : uri));
    if (description)
        jw_key_str(w, STR("description"), call_text(call, description));
    if (mime_type)
        jw_key_str(w, STR("mimeType"), call_text(call, mime_type));
    block_end(call);
    return NOD_OK;
}

/* --- the structured result --- */

static bool structured_fits(nod_call *call, const struct json *value)
{
    struct schema_problems problems = { 0 };

    if (!call->target->output)
        return true;
    if (schema_check(call->target->output, value, &call->run->arena, &problems) == NOD_OK)
        return true;
    struct schema_problem none = { STR(""), STR("it does not fit") };
    struct schema_problem first = problems.count ? problems.at[0] : none;
    run_bug(call->run,
            "The structured reply of tool " STR_FMT " does not fit its output_schema: at \"" STR_FMT
            "\": " STR_FMT,
            STR_ARG(call_name(call)), STR_ARG(first.path), STR_ARG(first.message));
    return false;
}

nod_status nod_reply_structured(nod_call *call, const nod_json *value)
{
    const struct json *v = json_in(value);

    if (call->stopped)
        return NOD_OK;
    struct str text = call_json(call, v);
    if (kind_of(call) != TARGET_TOOL)
        return reply_str(call, text);
    if (!v || call->reply.structured.at) {
        run_bug(call->run, "The tool " STR_FMT " gives %s", STR_ARG(call_name(call)),
                v ? "two structured replies: there is room for one"
                  : "NULL as its structured reply: give a value, or make it with nod_parse");
        return NOD_OK;
    }
    if (!structured_fits(call, v))
        return NOD_OK;
    call->reply.structured = text;
    return reply_str(call, text);
}

nod_status nod_reply_error(nod_call *call, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct str text = arena_vfmt(&call->run->arena, format, args);
    va_end(args);
    text = text_clean(&call->run->arena, text);
    if (call->step) {
        step_error(call->step, text);
        return NOD_OK;
    }
    if (call->stopped)
        return NOD_OK;
    call->reply.error = text;
    call->reply.is_error = true;
    return kind_of(call) == TARGET_TOOL ? reply_str(call, text) : NOD_OK;
}

void nod_reply_meta(nod_call *call, const char *key, const nod_json *value)
{
    struct reply *reply = &call->reply;

    if (call->stopped)
        return;
    if (!reply->meta)
        reply->meta = json_new_object(&call->run->arena);
    nod_set(call, (nod_json *)(void *)reply->meta, key, value);
}

void nod_reply_as(nod_call *call, nod_speaker role)
{
    call->reply.role = role;
}

/* --- the end --- */

static bool has_what_it_promised(nod_call *call)
{
    const struct reply *reply = &call->reply;

    if (!reply->blocks) {
        run_bug(call->run,
                "The %s " STR_FMT " returned NOD_OK without a reply: end with one of nod_reply_*",
                call_what(call), STR_ARG(call_name(call)));
        return false;
    }
    if (call->target->output && !reply->structured.at && !reply->is_error) {
        run_bug(call->run,
                "The tool " STR_FMT " has an output_schema, but gave no structured reply",
                STR_ARG(call_name(call)));
        return false;
    }
    return true;
}

/* The result says which grants stood for a person's answer. */
static void say_remembered(nod_call *call)
{
    struct run *run = call->run;
    nod_json *grants = NULL;

    for (size_t i = 0; i < run->journal_count; i++) {
        const struct entry *entry = &run->journal[i];
        struct str id = entry->class == ENTRY_ASK && entry->note.len
                            ? note_grant(entry->note, &run->arena)
                            : STR_NONE;
        if (!id.len)
            continue;
        if (!grants)
            grants = nod_array(call);
        nod_push(call, grants, nod_json_str(call, call_cstr(call, id)));
    }
    if (grants)
        nod_reply_meta(call, REPLY_REMEMBERED, grants);
}

nod_status reply_close(nod_call *call, struct str *body)
{
    struct reply *reply = &call->reply;
    struct json_writer *w = &reply->w;

    if (reply->is_error && kind_of(call) != TARGET_TOOL)
        return run_fail(call->run, NOD_E_FAILED, NULL, reply->error);
    if (!has_what_it_promised(call))
        return NOD_E_USAGE;
    jw_end(w);
    if (reply->structured.at && !reply->is_error)
        jw_key_raw(w, STR("structuredContent"), reply->structured);
    if (reply->is_error)
        jw_key_bool(w, STR("isError"), true);
    say_remembered(call);
    if (reply->meta)
        jw_key_value(w, STR("_meta"), reply->meta);
    jw_end(w);
    if (!json_writer_done(w))
        return run_fail(call->run, NOD_E_LIMIT, NULL,
                        arena_fmt(&call->run->arena,
                                  "The reply is larger than the %d bytes that a reply may have",
                                  REPLY_BYTES_MAX));
    *body = buf_str(&reply->out);
    return NOD_OK;
}
