/*
 * net/http1_head: what a complete head means, and whether it is valid.
 *
 * The bytes have passed the state machine, so names are tokens and values hold no control bytes.
 * Here the request line is split, and the few headers that decide where the request ends, or whom
 * it is for, are read. Each of those may occur once, in one form. So may those that say whom it is
 * from and what it holds: of two, others on its way may have believed the other one. All the rest
 * is left to the user of the server.
 */
#include "net/http1.h"

static struct str span(const struct http1 *p, uint32_t at, uint32_t end)
{
    return str_n(p->head.at + at, end - at);
}

/* Turns offsets into slices, in place: the head does not move any more. */
static void field_resolve(const char *head, union http1_field *field)
{
    uint32_t name_at = field->span.name_at;
    uint32_t name_end = field->span.name_end;
    uint32_t value_at = field->span.value_at;
    uint32_t value_end = field->span.value_end;

    /* The state machine has left out blanks before the value. */
    while (value_end > value_at && (head[value_end - 1] == ' ' || head[value_end - 1] == '\t'))
        value_end--;
    field->header.name.at = head + name_at;
    field->header.name.len = name_end - name_at;
    field->header.value.at = head + value_at;
    field->header.value.len = value_end - value_at;
}

/* --- headers that decide --- */

typedef bool header_fn(struct http1 *p, struct str value);

static bool header_length(struct http1 *p, struct str value)
{
    uint64_t length = 0;

    if (!value.len)
        return http1_refuse(p, 400, "Content-Length is empty");
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return http1_refuse(p, 400, "Content-Length is not a number");
        if (__builtin_mul_overflow(length, (uint64_t)10, &length) ||
            __builtin_add_overflow(length, (uint64_t)(value.at[i] - '0'), &length))
            return http1_refuse(p, 400, "Content-Length is not a possible number");
    }
    p->content_length = length;
    return true;
}

static bool header_encoding(struct http1 *p, struct str value)
{
    if (!str_eq(value, STR("chunked")))
        return http1_refuse(p, 400, "the only Transfer-Encoding taken is chunked");
    p->chunked = true;
    return true;
}

static bool is_host(struct str value)
{
    for (size_t i = 0; i < value.len; i++)
        if (!(http1_bytes[(uint8_t)value.at[i]] & HTTP1_HOST))
            return false;
    return value.len > 0;
}

static bool header_host(struct http1 *p, struct str value)
{
    if (!is_host(value))
        return http1_refuse(p, 400, "Host is empty or not a host");
    return true;
}

static bool header_connection(struct http1 *p, struct str value)
{
    struct str word;

    for (bool more = true; more;) {
        more = str_cut(value, ',', &word, &value);
        if (str_eq_nocase(str_trim(word), STR("close")))
            p->keep_alive = false;
    }
    return true;
}

static bool header_expect(struct http1 *p, struct str value)
{
    if (!str_eq_nocase(value, STR("100-continue")))
        return http1_refuse(p, 417, "the only expectation met is 100-continue");
    p->expect_continue = true;
    return true;
}

static header_fn *const deciding[] = {
    [HTTP_NAME_HOST] = header_host,
    [HTTP_NAME_CONTENT_LENGTH] = header_length,
    [HTTP_NAME_TRANSFER_ENCODING] = header_encoding,
    [HTTP_NAME_CONNECTION] = header_connection,
    [HTTP_NAME_EXPECT] = header_expect,
};

/* Those that may occur once, and what is said of a second one. */
static const char *const twice[HTTP_NAMES] = {
    [HTTP_NAME_HOST] = "Host comes twice",
    [HTTP_NAME_CONTENT_LENGTH] = "Content-Length comes twice",
    [HTTP_NAME_TRANSFER_ENCODING] = "Transfer-Encoding comes twice",
    [HTTP_NAME_AUTHORIZATION] = "Authorization comes twice",
    [HTTP_NAME_CONTENT_TYPE] = "Content-Type comes twice",
    [HTTP_NAME_LAST_EVENT_ID] = "Last-Event-ID comes twice",
    [HTTP_NAME_MCP_SESSION_ID] = "Mcp-Session-Id comes twice",
    [HTTP_NAME_MCP_PROTOCOL_VERSION] = "MCP-Protocol-Version comes twice",
    [HTTP_NAME_ORIGIN] = "Origin comes twice",
    [HTTP_NAME_SEC_FETCH_SITE] = "Sec-Fetch-Site comes twice",
    [HTTP_NAME_X_PAGE_KEY] = "X-Page-Key comes twice",
};

/* Notes where a header is. True: one of that name came before. */
static bool index_add(struct http_index *index, enum http_name name, uint32_t place)
{
    if (!index->first[name]) {
        index->first[name] = (uint8_t)place;
        return false;
    }
    index->again |= (uint16_t)(1u << name);
    return true;
}

static bool headers_read(struct http1 *p)
{
    p->request.headers = (const struct http_header *)(const void *)p->fields;
    p->request.header_count = p->field_count;
    for (uint32_t i = 0; i < p->field_count; i++) {
        field_resolve(p->head.at, &p->fields[i]);
        const struct http_header *header = &p->fields[i].header;
        enum http_name name = http_name_of(header->name);
        if (name == HTTP_NAMES)
            continue;
        if (index_add(&p->request.index, name, i + 1) && twice[name])
            return http1_refuse(p, 400, twice[name]);
        if (name < sizeof(deciding) / sizeof(deciding[0]) && !deciding[name](p, header->value))
            return false;
    }
    return true;
}

static bool has(const struct http1 *p, enum http_name name)
{
    return p->request.index.first[name] != 0;
}

/* --- the target --- */

static void target_split(struct http_request *request, struct str target)
{
    if (!str_cut(target, '?', &request->path, &request->query))
        request->query = STR_NONE;
    if (!request->path.len)
        request->path = STR("/");
}

/* http://host/path: the authority must be the same as in Host, so that nobody is misled. */
static bool target_absolute(struct http1 *p, struct str rest)
{
    size_t end = 0;

    while (end < rest.len && rest.at[end] != '/' && rest.at[end] != '?')
        end++;
    struct str authority = str_n(rest.at, end);
    if (!is_host(authority) ||
        (has(p, HTTP_NAME_HOST) &&
         !str_eq_nocase(authority, http_header(&p->request, http_name_text(HTTP_NAME_HOST)))))
        return http1_refuse(p, 400, "the target's authority is not the one in Host");
    target_split(&p->request, str_skip(rest, end));
    return true;
}

static bool target_read(struct http1 *p)
{
    struct str target = p->request.target;

    if (str_eq(p->request.method, STR("CONNECT")))
        return http1_refuse(p, 501, "this server is not a proxy");
    if (target.at[0] == '/') {
        target_split(&p->request, target);
        return true;
    }
    if (str_starts(target, STR("http://")))
        return target_absolute(p, str_skip(target, 7));
    if (str_starts(target, STR("https://")))
        return target_absolute(p, str_skip(target, 8));
    if (str_eq(target, STR("*")) && str_eq(p->request.method, STR("OPTIONS"))) {
        p->request.path = target;
        return true;
    }
    return http1_refuse(p, 400, "the request target is not a path");
}

/* --- all of it --- */

static bool framing_read(struct http1 *p)
{
    bool chunked = has(p, HTTP_NAME_TRANSFER_ENCODING);

    if (chunked && has(p, HTTP_NAME_CONTENT_LENGTH))
        return http1_refuse(p, 400, "Content-Length and Transfer-Encoding together");
    if (chunked && p->version_minor == 0)
        return http1_refuse(p, 400, "Transfer-Encoding in HTTP/1.0");
    if (!has(p, HTTP_NAME_HOST) && p->version_minor == 1)
        return http1_refuse(p, 400, "Host is missing");
    if (p->content_length > p->limits->body_max)
        return http1_refuse(p, 413, "the body is too long");
    return true;
}

bool http1_judge(struct http1 *p)
{
    if (p->version_major != 1 || p->version_minor > 1)
        return http1_refuse(p, 505, "this server speaks HTTP/1.1");
    p->keep_alive = p->version_minor == 1;
    p->request.method = span(p, p->method_at, p->method_end);
    p->request.target = span(p, p->method_end + 1, p->target_end);
    if (!headers_read(p) || !framing_read(p) || !target_read(p))
        return false;
    if (p->version_minor == 0)
        p->expect_continue = false; /* a 1.0 client would take 100 for the answer */
    p->request.index.filled = true;
    return true;
}

const char *http1_reason(int status)
{
    static const struct {
        int status;
        const char *words;
    } reasons[] = {
        { 100, "Continue" },
        { 101, "Switching Protocols" },
        { 200, "OK" },
        { 201, "Created" },
        { 202, "Accepted" },
        { 204, "No Content" },
        { 206, "Partial Content" },
        { 301, "Moved Permanently" },
        { 302, "Found" },
        { 303, "See Other" },
        { 304, "Not Modified" },
        { 307, "Temporary Redirect" },
        { 308, "Permanent Redirect" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 406, "Not Acceptable" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 410, "Gone" },
        { 411, "Length Required" },
        { 412, "Precondition Failed" },
        { 413, "Content Too Large" },
        { 414, "URI Too Long" },
        { 415, "Unsupported Media Type" },
        { 417, "Expectation Failed" },
        { 421, "Misdirected Request" },
        { 422, "Unprocessable Content" },
        { 425, "Too Early" },
        { 426, "Upgrade Required" },
        { 428, "Precondition Required" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 502, "Bad Gateway" },
        { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
    };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].status == status)
            return reasons[i].words;
    return "Unknown";
}
