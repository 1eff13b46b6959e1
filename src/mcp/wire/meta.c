/*
 * mcp/wire/meta: reads the _meta of a request of the 2026 era.
 *
 * Holds always: work and memory are linear in the request. The client's name decides nothing.
 */
#include "mcp/wire/meta.h"

#include "json/write.h"
#include "mcp/wire/era.h"
#include "core/caller.h"
#include "mcp/wire/notice.h"
#include "rpc/message.h"
#include "mcp/wire/revision.h"

enum { REFUSAL_DATA_MAX = 4096 }; /* bytes of the versions that a refusal names */

struct str meta_shown(struct str value)
{
    return str_n(value.at, value.len > META_SHOWN_MAX ? META_SHOWN_MAX : value.len);
}

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

/* `elicitation: {}` means forms only. A client that names modes has those modes. */
static unsigned elicitation_modes(const struct json *elicitation)
{
    static const struct str names[] = { STR_INIT("form"), STR_INIT("url") };
    const struct json *modes[2];

    json_pick(elicitation, names, 2, modes);
    bool form = json_is(modes[0], JSON_OBJECT), url = json_is(modes[1], JSON_OBJECT);

    return (form || !url ? CLIENT_CAN_FORM : 0u) | (url ? CLIENT_CAN_URL : 0u);
}

bool client_shows_views(const struct json *extensions)
{
    const struct json *types =
        json_get(json_get(extensions, STR("io.modelcontextprotocol/ui")), STR("mimeTypes"));

    JSON_EACH (type, json_is(types, JSON_ARRAY) ? types : NULL)
        if (json_is(type, JSON_STRING) && str_eq(type->text, STR(VIEW_MIME)))
            return true;
    return false;
}

/* The capabilities of a client that this server looks at. */
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
    if (client_shows_views(found[EXTENSIONS]))
        can |= CLIENT_CAN_VIEW;
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

    buf_init(&out, REFUSAL_DATA_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key(&w, STR("supported"));
    jw_array(&w);
    for (size_t i = 0; i < count; i++)
        jw_str(&w, era_versions[i]);
    jw_end(&w);
    jw_key_str(&w, STR("requested"), meta_shown(requested));
    jw_end(&w);
    struct str data = json_writer_done(&w) ? arena_str(arena, buf_str(&out)) : STR_NONE;
    buf_finish(&out);
    return data;
}

/*
 * This server speaks the versions of the 2025 era too, but not in requests that stand alone. To a
 * request that names one of them in _meta it is not offered, or the client would send the same
 * again.
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

/* Cut if it is long, and not in the middle of a character. */
static struct str cut(struct str text)
{
    size_t len = text.len < CLIENT_NAME_SHOWN ? text.len : CLIENT_NAME_SHOWN;

    while (len < text.len && len > 0 && ((unsigned char)text.at[len] & 0xC0) == 0x80)
        len--;
    return str_n(text.at, len);
}

struct str client_shown(const struct json *info, struct arena *arena)
{
    struct str name = cut(json_get_str(info, STR("name")));
    struct str version = cut(json_get_str(info, STR("version")));
    struct json_writer w;
    struct buf out;

    if (!name.len)
        return STR_NONE;
    buf_init(&out, 16 * CLIENT_NAME_SHOWN);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key_str(&w, STR("name"), name);
    if (version.len)
        jw_key_str(&w, STR("version"), version);
    jw_end(&w);
    struct str text = json_writer_done(&w) ? arena_str(arena, buf_str(&out)) : STR_NONE;
    buf_finish(&out);
    return text;
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
    out->client = found[CLIENT];
    if (found[PROGRESS]) {
        out->progress_token = rpc_id_of(arena, found[PROGRESS]);
        if (!out->progress_token.len)
            return invalid(fault, STR("_meta.progressToken must be a string or an integer, of at "
                                      "most 512 bytes."));
    }
    if (!read_log_level(found[LOG_LEVEL], out, fault))
        return false;
    capabilities_pick(out->capabilities, declared);
    out->can = can_of(declared);
    out->tasks = declares(declared[EXTENSIONS], STR(META_TASKS));
    return true;
}

/* --- what is not for the protocol --- */

/* Reserved: a prefix whose second label is one of the protocol's names (2025-11-25, 2026-07-28), or
 * whose first label is, with another behind it (2025-06-18). */
static bool meta_key_reserved(struct str key)
{
    if (str_starts(key, STR("io.modelcontextprotocol/"))) /* those of every request of 2026 */
        return true;
    const char *slash = key.len ? memchr(key.at, '/', key.len) : NULL;
    struct str prefix = str_n(key.at, slash ? (size_t)(slash - key.at) : 0);

    if (str_eq(key, STR("progressToken")))
        return true;
    for (int label = 0; label < 2 && prefix.len; label++) {
        const char *dot = memchr(prefix.at, '.', prefix.len);
        struct str name = str_n(prefix.at, dot ? (size_t)(dot - prefix.at) : prefix.len);
        if ((label || dot) &&
            (str_eq(name, STR("modelcontextprotocol")) || str_eq(name, STR("mcp"))))
            return true;
        prefix = str_skip(prefix, name.len + (dot ? 1 : 0));
    }
    return false;
}

bool meta_rest(const struct json *meta, struct arena *arena, struct str *out)
{
    struct json_writer w;
    struct buf text;
    bool some = false, fits = true;

    *out = STR_NONE;
    JSON_EACH (member, json_is(meta, JSON_OBJECT) ? meta : NULL)
        some |= !meta_key_reserved(member->key);
    if (!some)
        return true;
    buf_init(&text, META_REST_MAX);
    json_writer_init(&w, &text);
    jw_object(&w);
    JSON_EACH (member, meta) {
        if (meta_key_reserved(member->key))
            continue;
        jw_key(&w, member->key);
        jw_value(&w, member);
    }
    jw_end(&w);
    fits = json_writer_done(&w);
    if (fits)
        *out = arena_str(arena, buf_str(&text));
    buf_finish(&text);
    return fits && !arena->exhausted;
}
