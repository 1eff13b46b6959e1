/*
 * mcp/meta: reading _meta, and holding the headers against the body.
 *
 * The headers exist so that those in between (a balancer, a gateway) can decide without reading the
 * body; a request whose headers say something else than its body would be decided by one and
 * executed by the other, so it is refused, always with the error HeaderMismatch.
 *
 * Holds always: work and memory are linear in the request; nothing of a client's own name counts.
 */
#include "mcp/meta.h"

#include <stdio.h>

#include "json/write.h"
#include "mcp/era.h"
#include "mcp/session.h"
#include "mcp/request.h"
#include "mcp/revision.h"

enum { SHOWN_MAX = 128 }; /* bytes of a client's value in an error message */

static struct str shown(struct str value)
{
    return str_n(value.at, value.len > SHOWN_MAX ? SHOWN_MAX : value.len);
}

/* --- _meta --- */

static const struct json *meta_of(const struct json *params)
{
    return json_is(params, JSON_OBJECT) ? json_get(params, STR("_meta")) : NULL;
}

bool meta_is_modern(const struct json *params)
{
    const struct json *meta = meta_of(params);

    return json_is(meta, JSON_OBJECT) &&
           (json_get(meta, STR(META_VERSION)) || json_get(meta, STR(META_CAPABILITIES)));
}

static bool declares(const struct json *object, struct str name)
{
    return json_is(json_get(object, name), JSON_OBJECT);
}

/* `elicitation: {}` is the form alone; a client that names modes has those it names. */
static unsigned elicitation_modes(const struct json *elicitation)
{
    static const struct str names[] = { STR_INIT("form"), STR_INIT("url") };
    const struct json *modes[2];

    json_pick(elicitation, names, 2, modes);
    bool form = json_is(modes[0], JSON_OBJECT), url = json_is(modes[1], JSON_OBJECT);

    return (form || !url ? CLIENT_CAN_FORM : 0u) | (url ? CLIENT_CAN_URL : 0u);
}

/* What a client may declare and this server looks at. */
enum capability { ELICITATION, SAMPLING, ROOTS, EXTENSIONS, CAPABILITIES };

static void capabilities_pick(const struct json *capabilities,
                              const struct json *found[CAPABILITIES])
{
    static const struct str names[CAPABILITIES] = {
        [ELICITATION] = STR_INIT("elicitation"),
        [SAMPLING] = STR_INIT("sampling"),
        [ROOTS] = STR_INIT("roots"),
        [EXTENSIONS] = STR_INIT("extensions"),
    };

    json_pick(capabilities, names, CAPABILITIES, found);
}

static uint8_t can_of(const struct json *const found[CAPABILITIES])
{
    unsigned can = 0;

    if (json_is(found[ELICITATION], JSON_OBJECT))
        can |= elicitation_modes(found[ELICITATION]);
    if (json_is(found[SAMPLING], JSON_OBJECT))
        can |= CLIENT_CAN_SAMPLE;
    if (declares(found[SAMPLING], STR("tools")))
        can |= CLIENT_CAN_SAMPLE_TOOLS;
    if (json_is(found[ROOTS], JSON_OBJECT))
        can |= CLIENT_CAN_ROOTS;
    return (uint8_t)can;
}

uint8_t meta_can(const struct json *capabilities)
{
    const struct json *found[CAPABILITIES];

    capabilities_pick(capabilities, found);
    return can_of(found);
}

static bool invalid(struct meta_fault *fault, struct str message)
{
    *fault = (struct meta_fault){ .status = 400, .code = RPC_INVALID_PARAMS, .message = message };
    return false;
}

static struct str unsupported_data(struct arena *arena, struct str requested, size_t count)
{
    struct buf out;
    struct json_writer w;

    buf_init(&out, META_HEADER_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key(&w, STR("supported"));
    jw_array(&w);
    for (size_t i = 0; i < count; i++)
        jw_str(&w, era_versions[i]);
    jw_end(&w);
    jw_key_str(&w, STR("requested"), shown(requested));
    jw_end(&w);
    struct str data = json_writer_done(&w) ? arena_str(arena, buf_str(&out)) : STR_NONE;
    buf_finish(&out);
    return data;
}

/*
 * A version of the 2025 era is spoken here, but not this way: to a request that names it in _meta
 * it must not be offered again, or its client would come back with the very same.
 */
void meta_unsupported(struct str requested, struct arena *arena, struct meta_fault *fault)
{
    enum revision revision;
    bool other_way = revision_find(requested, &revision);

    *fault = (struct meta_fault){
        .status = 400,
        .code = MCP_UNSUPPORTED_VERSION,
        .message = other_way ? STR("Unsupported protocol version: this one begins with initialize, "
                                   "and is not named in _meta")
                             : STR("Unsupported protocol version"),
        .data = unsupported_data(arena, requested, other_way ? 1 : ERA_VERSIONS)
    };
}

static bool read_log_level(const struct json *value, struct meta *out, struct meta_fault *fault)
{
    out->log_level = META_NO_LOG;
    if (!value)
        return true;
    if (json_is(value, JSON_STRING) && logging_level_find(json_str(value), &out->log_level))
        return true;
    return invalid(fault, STR("_meta[\"" META_LOG_LEVEL "\"] must be one of debug, info, notice, "
                              "warning, error, critical, alert, emergency."));
}

/* The members of _meta that are read. */
enum member { VERSION, CLIENT, CAPABILITY, PROGRESS, LOG_LEVEL, MEMBERS };

static const struct str member_names[MEMBERS] = {
    [VERSION] = STR_INIT(META_VERSION),         [CLIENT] = STR_INIT(META_CLIENT),
    [CAPABILITY] = STR_INIT(META_CAPABILITIES), [PROGRESS] = STR_INIT("progressToken"),
    [LOG_LEVEL] = STR_INIT(META_LOG_LEVEL),
};

bool meta_read(const struct json *params, struct arena *arena, struct meta *out,
               struct meta_fault *fault)
{
    const struct json *meta = meta_of(params), *found[MEMBERS], *declared[CAPABILITIES];

    *out = (struct meta){ .log_level = META_NO_LOG };
    if (!json_is(meta, JSON_OBJECT))
        return invalid(fault, STR("params._meta must be an object with \"" META_VERSION
                                  "\" and \"" META_CAPABILITIES "\"."));
    json_pick(meta, member_names, MEMBERS, found);
    if (!json_is(found[VERSION], JSON_STRING))
        return invalid(fault, STR("_meta[\"" META_VERSION "\"] must be a string."));
    out->version = json_str(found[VERSION]);
    out->capabilities = found[CAPABILITY];
    if (!json_is(out->capabilities, JSON_OBJECT))
        return invalid(fault, STR("_meta[\"" META_CAPABILITIES "\"] must be an object."));
    if (found[CLIENT] && !json_is(found[CLIENT], JSON_OBJECT))
        return invalid(fault, STR("_meta[\"" META_CLIENT "\"] must be an object."));
    if (found[PROGRESS]) {
        out->progress_token = rpc_id_of(arena, found[PROGRESS]);
        if (!out->progress_token.len)
            return invalid(fault, STR("_meta.progressToken must be a string or an integer."));
    }
    if (!read_log_level(found[LOG_LEVEL], out, fault))
        return false;
    capabilities_pick(out->capabilities, declared);
    out->can = can_of(declared);
    out->tasks = declares(declared[EXTENSIONS], STR(META_TASKS));
    return true;
}

/* --- header values --- */

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* RFC 4648 section 4, padded; one text for one run of bytes. */
static bool base64_decode(struct str text, struct arena *arena, struct str *out)
{
    size_t pad = str_ends(text, STR("==")) ? 2 : str_ends(text, STR("=")) ? 1 : 0;
    size_t digits = text.len - pad, len = 0;
    uint32_t bits = 0;

    if (text.len % 4 != 0 || text.len > META_HEADER_MAX)
        return false;
    char *to = arena_alloc_aligned(arena, text.len / 4 * 3 + 1, 1);
    if (!to)
        return false;
    for (size_t i = 0; i < digits; i++) {
        int digit = base64_digit(text.at[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 == 1)
            to[len++] = (char)(bits >> 4 & 0xFF);
        else if (i % 4 == 2)
            to[len++] = (char)(bits >> 2 & 0xFF);
        else if (i % 4 == 3)
            to[len++] = (char)(bits & 0xFF);
    }
    if ((pad == 2 && bits & 0xF) || (pad == 1 && bits & 0x3))
        return false;
    *out = str_n(to, len);
    return true;
}

/* Eight bytes that all stand for something to be seen, or a space. */
static bool word_is_visible(const char *at)
{
    const uint64_t ones = UINT64_MAX / 255;
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    uint64_t without_del = word ^ (ones * 0x7F);
    uint64_t below_blank = word - ones * 0x20;
    uint64_t is_del = without_del - ones;
    return ((word | below_blank | is_del) & (ones * 0x80)) == 0;
}

/* Blanks and what can be seen, in ASCII. */
static bool is_printable(struct str text)
{
    size_t i = 0;

    while (text.len - i >= sizeof(uint64_t) && word_is_visible(text.at + i))
        i += sizeof(uint64_t);
    for (; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c != '\t' && (c < 0x20 || c > 0x7E))
            return false;
    }
    return true;
}

/* No blank at either end, and nothing that could be taken for the base64 form. */
bool meta_is_plain(struct str words)
{
    return words.len && words.at[0] != '=' && !str_is_blank_(words.at[0]) &&
           !str_is_blank_(words.at[words.len - 1]) && is_printable(words);
}

bool meta_header_value(struct str raw, struct arena *arena, struct str *out)
{
    static const struct str open = STR_INIT("=?base64?"), close = STR_INIT("?=");

    *out = raw = str_trim(raw);
    if (!is_printable(raw))
        return false;
    if (raw.len < open.len + close.len || !str_starts(raw, open) || !str_ends(raw, close))
        return true;
    return base64_decode(str_n(raw.at + open.len, raw.len - open.len - close.len), arena, out);
}

/* --- agreeing --- */

static bool mismatch(struct meta_fault *fault, struct str message)
{
    *fault = (struct meta_fault){ .status = 400, .code = MCP_HEADER_MISMATCH, .message = message };
    return false;
}

/* A header that was looked for, by the name it has in messages. */
struct sought {
    struct str name;
    const struct http_header *header; /* NULL: it is not there */
    bool again;                       /* there is another one */
};

static struct sought seek_named(const struct http_request *http, enum http_name name)
{
    struct sought sought = { .name = http_name_text(name) };

    sought.header = http_find_named(http, name, &sought.again);
    return sought;
}

/* The one value of a header that has to be there. */
static bool header_required(const struct sought *sought, bool encoded, struct arena *arena,
                            struct str *value, struct meta_fault *fault)
{
    struct str name = sought->name;

    if (!sought->header)
        return mismatch(
            fault,
            arena_fmt(arena, "Header mismatch: the " STR_FMT " header is missing", STR_ARG(name)));
    if (sought->again)
        return mismatch(fault,
                        arena_fmt(arena, "Header mismatch: there are several " STR_FMT " headers",
                                  STR_ARG(name)));
    bool fine = meta_header_value(sought->header->value, arena, value);
    if (!encoded)
        *value = str_trim(sought->header->value);
    if (!fine)
        return mismatch(fault, arena_fmt(arena,
                                         "Header mismatch: the " STR_FMT
                                         " header has characters it must not have, or is not "
                                         "valid base64",
                                         STR_ARG(name)));
    return true;
}

static bool header_agrees(const struct http_request *http, enum http_name name, bool encoded,
                          struct str body, struct arena *arena, struct meta_fault *fault)
{
    struct sought sought = seek_named(http, name);
    struct str value;

    if (!header_required(&sought, encoded, arena, &value, fault))
        return false;
    if (str_same(value, body))
        return true;
    return mismatch(fault,
                    arena_fmt(arena,
                              "Header mismatch: " STR_FMT " header value '" STR_FMT
                              "' does not match body value '" STR_FMT "'",
                              STR_ARG(sought.name), STR_ARG(shown(value)), STR_ARG(shown(body))));
}

bool meta_headers_agree(const struct http_request *http, struct str version, struct str method,
                        struct str name, struct arena *arena, struct meta_fault *fault)
{
    return header_agrees(http, HTTP_NAME_MCP_PROTOCOL_VERSION, false, version, arena, fault) &&
           header_agrees(http, HTTP_NAME_MCP_METHOD, false, method, arena, fault) &&
           (!name.at || header_agrees(http, HTTP_NAME_MCP_NAME, true, name, arena, fault));
}

/* "42.0" and 42 are the same number, and so are 1e2 and 100. */
static bool same_number(struct str header, const struct json *value, struct arena *arena)
{
    const struct json *number = json_parse(arena, header, NULL, NULL);

    return json_is(number, JSON_NUMBER) && json_is(value, JSON_NUMBER) &&
           json_number_cmp(number, value) == 0;
}

static bool param_agrees(const struct param_header *param, struct str header,
                         const struct json *value, struct arena *arena)
{
    switch (param->type) {
    case PARAM_HEADER_STRING:
        return json_is(value, JSON_STRING) && str_eq(header, json_str(value));
    case PARAM_HEADER_BOOLEAN:
        return json_is(value, JSON_BOOL) &&
               str_eq(header, value->truth ? STR("true") : STR("false"));
    case PARAM_HEADER_INTEGER:
        return same_number(header, value, arena);
    }
    return false;
}

bool meta_params_agree(const struct http_request *http, const struct param_header *param_headers,
                       size_t count, const struct json *args, struct arena *arena,
                       struct meta_fault *fault)
{
    for (size_t i = 0; i < count; i++) {
        const struct json *value = param_header_value(&param_headers[i], args);
        struct str name = arena_fmt(arena, "Mcp-Param-" STR_FMT, STR_ARG(param_headers[i].name));
        struct sought sought = { .name = name };
        struct str header;

        sought.header = http_find(http, name, &sought.again);
        if (!value && !sought.header)
            continue;
        if (!header_required(&sought, true, arena, &header, fault))
            return false;
        if (!value)
            return mismatch(fault, arena_fmt(arena,
                                             "Header mismatch: the " STR_FMT
                                             " header is there, but the argument is not",
                                             STR_ARG(name)));
        if (!param_agrees(&param_headers[i], header, value, arena))
            return mismatch(fault, arena_fmt(arena,
                                             "Header mismatch: the " STR_FMT
                                             " header does not match the argument",
                                             STR_ARG(name)));
    }
    return true;
}
