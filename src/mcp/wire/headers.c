/*
 * mcp/wire/headers: compares the headers of a request with its body.
 *
 * The headers are there so that balancers and gateways can decide without reading the body. If they
 * said something else than the body, a gateway would decide about one request and the server would
 * execute another. So such a request is refused, always with the error HeaderMismatch.
 *
 * Holds always: work and memory are linear in the request.
 */
#include "mcp/wire/headers.h"

#include <string.h>

#include "crypto/digest.h"

/* --- header values --- */

/* RFC 4648 section 4, padded. Each run of bytes has exactly one text. */
static bool base64_decode(struct str text, struct arena *arena, struct str *out)
{
    size_t pad = str_ends(text, STR("==")) ? 2 : str_ends(text, STR("=")) ? 1 : 0;
    size_t digits = text.len - pad;
    char *url = text.len <= HEADER_VALUE_MAX ? arena_alloc_aligned(arena, text.len + 1, 1) : NULL;

    if (!url || text.len % 4 != 0)
        return false;
    for (size_t i = 0; i < digits; i++) {
        char c = text.at[i];
        if (c == '-' || c == '_') /* digits of the other base64 */
            return false;
        url[i] = c == '+' ? '-' : c == '/' ? '_' : c;
    }
    *out = base64url_bytes(arena, str_n(url, digits));
    return out->at;
}

/* Are all eight bytes visible ASCII or spaces? */
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

/* Is it all visible ASCII, spaces and tabs? */
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

/* No blank at either end, and nothing that looks like the base64 form. */
bool header_is_plain(struct str words)
{
    return words.len && words.at[0] != '=' && !str_is_blank_(words.at[0]) &&
           !str_is_blank_(words.at[words.len - 1]) && is_printable(words);
}

bool header_value(struct str raw, struct arena *arena, struct str *out)
{
    static const struct str open = STR_INIT("=?base64?"), close = STR_INIT("?=");

    *out = raw = str_trim(raw);
    if (!is_printable(raw))
        return false;
    if (raw.len < open.len + close.len || !str_starts(raw, open) || !str_ends(raw, close))
        return true;
    return base64_decode(str_n(raw.at + open.len, raw.len - open.len - close.len), arena, out);
}

/* A header that was looked for, and its name in messages. */
struct sought {
    struct str name;
    const struct http_header *header; /* NULL: it is missing */
    bool again;                       /* it occurs more than once */
};

static struct sought seek(const struct http_request *http, struct str name)
{
    struct sought sought = { .name = name };

    sought.header = http_find(http, name, &sought.again);
    return sought;
}

bool header_is(const struct http_request *http, struct str name, struct str words)
{
    struct sought sought = seek(http, name);

    return sought.header && !sought.again && str_same(sought.header->value, words);
}

/* --- agreeing --- */

static bool mismatch(struct meta_fault *fault, struct str message)
{
    *fault = (struct meta_fault){ .status = 400, .code = MCP_HEADER_MISMATCH, .message = message };
    return false;
}

/* The value of a header that must occur exactly once. */
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
    bool fine = header_value(sought->header->value, arena, value);
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

static bool header_agrees(const struct http_request *http, struct str name, bool encoded,
                          struct str body, struct arena *arena, struct meta_fault *fault)
{
    struct sought sought = seek(http, name);
    struct str value;

    if (!header_required(&sought, encoded, arena, &value, fault))
        return false;
    if (str_same(value, body))
        return true;
    return mismatch(fault, arena_fmt(arena,
                                     "Header mismatch: " STR_FMT " header value '" STR_FMT
                                     "' does not match body value '" STR_FMT "'",
                                     STR_ARG(sought.name), STR_ARG(meta_shown(value)),
                                     STR_ARG(meta_shown(body))));
}

bool headers_agree(const struct http_request *http, struct str version, struct str method,
                   struct str name, struct arena *arena, struct meta_fault *fault)
{
    return header_agrees(http, STR(HEADER_VERSION), false, version, arena, fault) &&
           header_agrees(http, STR(HEADER_METHOD), false, method, arena, fault) &&
           (!name.at || header_agrees(http, STR(HEADER_NAME), true, name, arena, fault));
}

static bool param_agrees(const struct param_header *param, struct str header,
                         const struct json *value, struct arena *arena)
{
    const struct json *number;

    switch (param->type) {
    case PARAM_HEADER_STRING:
        return json_is(value, JSON_STRING) && str_eq(header, json_str(value));
    case PARAM_HEADER_BOOLEAN:
        return json_is(value, JSON_BOOL) &&
               str_eq(header, value->truth ? STR("true") : STR("false"));
    case PARAM_HEADER_INTEGER:
        number = json_parse(arena, header, NULL, NULL); /* 42.0 is 42, and 1e2 is 100 */
        return json_is(number, JSON_NUMBER) && json_is(value, JSON_NUMBER) &&
               json_number_cmp(number, value) == 0;
    }
    return false;
}

bool headers_params_agree(const struct http_request *http, const struct param_header *param_headers,
                          size_t count, const struct json *args, struct arena *arena,
                          struct meta_fault *fault)
{
    for (size_t i = 0; i < count; i++) {
        const struct json *value = param_header_value(&param_headers[i], args);
        struct str name =
            arena_fmt(arena, HEADER_PARAM_PREFIX STR_FMT, STR_ARG(param_headers[i].name));
        struct sought sought = seek(http, name);
        struct str header;

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
