/*
 * net/http1: the state machine that reads the bytes of a request.
 *
 * A table of states, each with a step that takes as many bytes as it can and says where it stopped.
 * The head is saved as it comes; positions are offsets into the saved bytes. It is judged as a
 * whole when it is complete (http1_head.c). Body bytes are not saved here: they are handed out as
 * slices of the input.
 *
 * Holds always: a step looks at each byte once. Every state that waits for the end of a line has a
 * budget of bytes, so no input makes the parser hold or scan more than its limits. What is refused
 * stays refused.
 */
#include "net/http1.h"

#include <assert.h>

#include "base/byte_order.h"
#include "base/mem.h"

enum state {
    S_START, /* before a request: one empty line may come */
    S_START_LF,
    S_METHOD,
    S_TARGET,
    S_VERSION,
    S_LINE_LF,
    S_FIELD, /* at the beginning of a header line */
    S_NAME,
    S_LEAD, /* blanks between colon and value */
    S_VALUE,
    S_VALUE_LF,
    S_HEAD_LF,
    S_CHUNK_SIZE,
    S_CHUNK_EXTENSION,
    S_CHUNK_LF,
    S_DATA_CR,
    S_DATA_LF,
    /* From here on nothing is scanned. */
    S_JUDGE,
    S_DATA,
    S_END,
    S_REFUSED,
};

/* States that share one budget of bytes. */
enum group { G_LINE, G_HEADERS, G_CHUNK, G_TRAILERS, G_FREE };

enum { FIELDS_FIRST = 16 };

/* A budget counts the bytes of a line; these are the CR and LF after it. */
enum { LINE_END = 2 };

typedef const char *step_fn(struct http1 *p, const char *at, const char *end);

static step_fn step_start, step_start_lf, step_method, step_target, step_version, step_line_lf,
    step_field, step_name, step_lead, step_value, step_value_lf, step_head_lf, step_chunk_size,
    step_chunk_extension, step_chunk_lf, step_data_cr, step_data_lf;

static const struct {
    step_fn *step;
    enum group group;
} states[] = {
    [S_START] = { step_start, G_LINE },
    [S_START_LF] = { step_start_lf, G_LINE },
    [S_METHOD] = { step_method, G_LINE },
    [S_TARGET] = { step_target, G_LINE },
    [S_VERSION] = { step_version, G_LINE },
    [S_LINE_LF] = { step_line_lf, G_LINE },
    [S_FIELD] = { step_field, G_HEADERS },
    [S_NAME] = { step_name, G_HEADERS },
    [S_LEAD] = { step_lead, G_HEADERS },
    [S_VALUE] = { step_value, G_HEADERS },
    [S_VALUE_LF] = { step_value_lf, G_HEADERS },
    [S_HEAD_LF] = { step_head_lf, G_HEADERS },
    [S_CHUNK_SIZE] = { step_chunk_size, G_CHUNK },
    [S_CHUNK_EXTENSION] = { step_chunk_extension, G_CHUNK },
    [S_CHUNK_LF] = { step_chunk_lf, G_CHUNK },
    [S_DATA_CR] = { step_data_cr, G_CHUNK },
    [S_DATA_LF] = { step_data_lf, G_CHUNK },
    [S_JUDGE] = { NULL, G_FREE },
    [S_DATA] = { NULL, G_FREE },
    [S_END] = { NULL, G_FREE },
    [S_REFUSED] = { NULL, G_FREE },
};

#define BOTH (HTTP1_TARGET | HTTP1_VALUE)

const uint8_t http1_bytes[256] = {
    ['\t'] = HTTP1_VALUE,
    [' '] = HTTP1_VALUE,
    ['!'] = BOTH | HTTP1_TOKEN | HTTP1_HOST,
    ['"'] = HTTP1_VALUE,
    ['#'] = HTTP1_VALUE | HTTP1_TOKEN, /* a fragment is never sent */
    ['$'] = BOTH | HTTP1_TOKEN | HTTP1_HOST,
    ['%'] = BOTH | HTTP1_TOKEN | HTTP1_HOST,
    ['&'] = BOTH | HTTP1_TOKEN | HTTP1_HOST,
    ['\''] = BOTH | HTTP1_TOKEN | HTTP1_HOST,
    ['('] = BOTH | HTTP1_HOST,
    [')'] = BOTH | HTTP1_HOST,
    ['*'] = BOTH | HTTP1_TOKEN | HTTP1_HOST,
    ['+'] = BOTH | HTTP1_TOKEN | HTTP1_HOST,
    [','] = BOTH | HTTP1_HOST,
    ['-'] = BOTH | HTTP1_TOKEN | HTTP1_HOST | HTTP1_METHOD,
    ['.'] = BOTH | HTTP1_TOKEN | HTTP1_HOST,
    ['/'] = BOTH,
    ['0' ... '9'] = BOTH | HTTP1_TOKEN | HTTP1_HOST,
    [':'] = BOTH | HTTP1_HOST,
    [';'] = BOTH | HTTP1_HOST,
    ['<'] = HTTP1_VALUE,
    ['='] = BOTH | HTTP1_HOST,
    ['>'] = HTTP1_VALUE,
    ['?'] = BOTH,
    ['@'] = BOTH,
    ['A' ... 'Z'] = BOTH | HTTP1_TOKEN | HTTP1_HOST | HTTP1_METHOD,
    ['['] = BOTH | HTTP1_HOST,
    ['\\'] = HTTP1_VALUE, /* some servers take it for a slash */
    [']'] = BOTH | HTTP1_HOST,
    ['^'] = BOTH | HTTP1_TOKEN,
    ['_'] = BOTH | HTTP1_TOKEN | HTTP1_HOST,
    ['`'] = HTTP1_VALUE | HTTP1_TOKEN,
    ['a' ... 'z'] = BOTH | HTTP1_TOKEN | HTTP1_HOST,
    ['{'] = BOTH,
    ['|'] = BOTH | HTTP1_TOKEN,
    ['}'] = BOTH,
    ['~'] = BOTH | HTTP1_TOKEN | HTTP1_HOST,
    [0x80 ... 0xFF] = HTTP1_VALUE,
};

static inline bool byte_is(char c, uint8_t kind)
{
    return (http1_bytes[(uint8_t)c] & kind) != 0;
}

static inline const char *skip_while(const char *at, const char *end, uint8_t kind)
{
    while (at < end && byte_is(*at, kind))
        at++;
    return at;
}

/*
 * The same for HTTP1_VALUE, eight bytes at a time. The lowest flag of the mask marks the first byte
 * that is a control byte or DEL; flags above it may be wrong, and are not looked at.
 */
static inline const char *skip_value(const char *at, const char *end)
{
    const uint64_t ones = UINT64_MAX / 255;
    uint64_t word;

    while ((size_t)(end - at) >= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        word = order_le64(word);
        uint64_t without_del = word ^ (ones * 0x7F);
        uint64_t below_blank = (word - ones * 0x20) & ~word;
        uint64_t is_del = (without_del - ones) & ~without_del;
        uint64_t mask = (below_blank | is_del) & (ones * 0x80);
        if (!mask) {
            at += sizeof(word);
            continue;
        }
        at += __builtin_ctzll(mask) / 8;
        if (*at != '\t')
            return at;
        at++;
    }
    return skip_while(at, end, HTTP1_VALUE);
}

/*
 * The same for names: first the letters and dashes of which most are made, then HTTP1_TOKEN for the
 * rest. Without their high bits, the sum of two bytes never carries into the next one.
 */
static inline const char *skip_name(const char *at, const char *end)
{
    const uint64_t ones = UINT64_MAX / 255, high = ones * 0x80;
    uint64_t word;

    while ((size_t)(end - at) >= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        word = order_le64(word);
        uint64_t low = word & ~high;
        uint64_t lower = low | (ones * 0x20);
        uint64_t from_a = lower + ones * (0x80 - 'a');
        uint64_t past_z = lower + ones * (0x80 - 'z' - 1);
        uint64_t no_dash = (low ^ (ones * '-')) + ones * 0x7F;
        uint64_t other = (word | (no_dash & ~(from_a & ~past_z))) & high;
        if (other) {
            at += __builtin_ctzll(other) / 8;
            break;
        }
        at += sizeof(word);
    }
    return skip_while(at, end, HTTP1_TOKEN);
}

static size_t group_budget(const struct http1 *p, enum group group)
{
    switch (group) {
    case G_LINE:
        return p->limits->line_max + LINE_END;
    case G_HEADERS:
        return p->limits->headers_max + LINE_END;
    case G_CHUNK:
        return HTTP1_CHUNK_LINE_MAX + LINE_END;
    case G_TRAILERS:
        return HTTP1_TRAILERS_MAX + LINE_END;
    default:
        return 0;
    }
}

static void enter(struct http1 *p, enum state state)
{
    enum group group = states[state].group;

    if (group == G_HEADERS && p->in_trailers)
        group = G_TRAILERS;
    p->state = (uint8_t)state;
    if (group != p->group) {
        p->group = (uint8_t)group;
        p->left = group_budget(p, group);
    }
}

bool http1_refuse(struct http1 *p, int status, const char *why)
{
    p->status = status;
    p->why = why;
    enter(p, S_REFUSED);
    return false;
}

static const char *bad(struct http1 *p, const char *at, const char *why)
{
    http1_refuse(p, 400, why);
    return at;
}

_Static_assert(HTTP1_METHOD_MAX == 32 && HTTP1_CHUNK_DIGITS_MAX == 15 &&
                   HTTP1_CHUNK_LINE_MAX == 256 && HTTP1_EXTENSIONS_MAX == 16384 &&
                   HTTP1_TRAILERS_MAX == 4096,
               "the messages of this file name the limits");

static void over_budget(struct http1 *p)
{
    switch ((enum group)p->group) {
    case G_LINE:
        http1_refuse(p, 414, "the request line is too long");
        break;
    case G_HEADERS:
        http1_refuse(p, 431, "the headers are too long");
        break;
    case G_CHUNK:
        http1_refuse(p, 400, "a chunk's size line has more than 256 bytes");
        break;
    default:
        http1_refuse(p, 400, "the trailers have more than 4096 bytes in all");
        break;
    }
}

/* Where a byte of this call will be in the saved head. */
static uint32_t offset(const struct http1 *p, const char *at)
{
    return (uint32_t)(p->head.len + (size_t)(at - p->fed));
}

/* --- the request line --- */

static const char *step_start(struct http1 *p, const char *at, const char *end)
{
    (void)end;
    if (*at == '\r' && !p->blank_seen) {
        p->blank_seen = true;
        enter(p, S_START_LF);
        return at + 1;
    }
    p->method_at = offset(p, at);
    enter(p, S_METHOD);
    return at;
}

static const char *step_start_lf(struct http1 *p, const char *at, const char *end)
{
    (void)end;
    if (*at != '\n')
        return bad(p, at, "a CR without its LF before the request line");
    enter(p, S_START);
    return at + 1;
}

static const char *step_method(struct http1 *p, const char *at, const char *end)
{
    at = skip_while(at, end, HTTP1_METHOD);
    uint32_t len = offset(p, at) - p->method_at;
    if (len > HTTP1_METHOD_MAX)
        return bad(p, at, "the method has more than 32 letters");
    if (at == end)
        return at;
    if (*at != ' ' || !len)
        return bad(p, at, "a method is upper-case letters and is followed by one space");
    p->method_end = offset(p, at);
    enter(p, S_TARGET);
    return at + 1;
}

static const char *step_target(struct http1 *p, const char *at, const char *end)
{
    at = skip_while(at, end, HTTP1_TARGET);
    if (at == end)
        return at;
    if (*at != ' ' || offset(p, at) == p->method_end + 1)
        return bad(p, at, "the request target holds a byte that may not be there, or is missing");
    p->target_end = offset(p, at);
    p->matched = 0;
    enter(p, S_VERSION);
    return at + 1;
}

static const char *step_version(struct http1 *p, const char *at, const char *end)
{
    static const char form[] = "HTTP/x.y\r";
    static const char usual[] = "HTTP/1.1\r";
    size_t usual_len = sizeof(usual) - 1;

    if (!p->matched && (size_t)(end - at) >= usual_len && memcmp(at, usual, usual_len) == 0) {
        p->version_major = p->version_minor = 1;
        enter(p, S_LINE_LF);
        return at + usual_len;
    }
    for (; at < end; at++) {
        char wanted = form[p->matched];
        bool digit = *at >= '0' && *at <= '9';
        if (wanted == 'x' && digit)
            p->version_major = (uint8_t)(*at - '0');
        else if (wanted == 'y' && digit)
            p->version_minor = (uint8_t)(*at - '0');
        else if (wanted != *at || wanted == 'x' || wanted == 'y')
            return bad(p, at, "the request line does not end in HTTP/1.1 and CRLF");
        if (wanted == '\r') {
            enter(p, S_LINE_LF);
            return at + 1;
        }
        p->matched++;
    }
    return at;
}

static const char *step_line_lf(struct http1 *p, const char *at, const char *end)
{
    (void)end;
    if (*at != '\n')
        return bad(p, at, "a CR without its LF in the request line");
    enter(p, S_FIELD);
    return at + 1;
}

/* --- header lines, of the head and of the trailers --- */

static union http1_field *field_last(struct http1 *p)
{
    return &p->fields[p->field_count - 1];
}

static bool field_add(struct http1 *p, const char *at)
{
    if (p->field_count >= p->limits->header_count_max)
        return http1_refuse(p, 431, "too many headers");
    if (p->field_count == p->field_room) {
        p->field_room = p->field_room ? p->field_room * 2 : FIELDS_FIRST;
        p->fields = mem_realloc(p->fields, p->field_room * sizeof(*p->fields));
    }
    p->field_count++;
    field_last(p)->span.name_at = offset(p, at);
    return true;
}

/*
 * Takes a whole, valid header line at once. NULL: it is not whole or not valid, and the states take
 * it byte by byte. This is tried once for each line, so the time stays linear.
 */
static const char *whole_line(struct http1 *p, const char *at, const char *end)
{
    const char *name_end = skip_name(at, end);

    if (name_end == end || *name_end != ':' || name_end == at)
        return NULL;
    const char *value = name_end + 1;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    const char *value_end = skip_value(value, end);
    if (end - value_end < LINE_END || value_end[0] != '\r' || value_end[1] != '\n')
        return NULL;
    if (!field_add(p, at))
        return at;
    field_last(p)->span.name_end = offset(p, name_end);
    field_last(p)->span.value_at = offset(p, value);
    field_last(p)->span.value_end = offset(p, value_end);
    return value_end + LINE_END;
}

static const char *step_field(struct http1 *p, const char *at, const char *end)
{
    const char *next;

    while (!p->in_trailers && p->state != S_REFUSED && (next = whole_line(p, at, end))) {
        at = next;
        if (at == end)
            return at;
    }
    if (p->state == S_REFUSED)
        return at;
    if (*at == '\r') {
        enter(p, S_HEAD_LF);
        return at + 1;
    }
    if (*at == ' ' || *at == '\t')
        return bad(p, at, "a header is folded over lines");
    if (!byte_is(*at, HTTP1_TOKEN))
        return bad(p, at, "a header name holds a byte that may not be there, or is missing");
    if (!p->in_trailers && !field_add(p, at))
        return at;
    enter(p, S_NAME);
    return at;
}

static const char *step_name(struct http1 *p, const char *at, const char *end)
{
    at = skip_name(at, end);
    if (at == end)
        return at;
    if (*at == ' ' || *at == '\t')
        return bad(p, at, "there is a blank before a header's colon");
    if (*at != ':')
        return bad(p, at, "a header name holds a byte that may not be there");
    if (!p->in_trailers)
        field_last(p)->span.name_end = offset(p, at);
    enter(p, S_LEAD);
    return at + 1;
}

static const char *step_lead(struct http1 *p, const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (at == end)
        return at;
    if (!p->in_trailers)
        field_last(p)->span.value_at = offset(p, at);
    enter(p, S_VALUE);
    return at;
}

static const char *step_value(struct http1 *p, const char *at, const char *end)
{
    at = skip_value(at, end);
    if (at == end)
        return at;
    if (*at == '\n')
        return bad(p, at, "a header line ends in LF without CR");
    if (*at != '\r')
        return bad(p, at, "a header value holds a control byte");
    if (!p->in_trailers)
        field_last(p)->span.value_end = offset(p, at);
    enter(p, S_VALUE_LF);
    return at + 1;
}

static const char *step_value_lf(struct http1 *p, const char *at, const char *end)
{
    (void)end;
    if (*at != '\n')
        return bad(p, at, "a CR without its LF in a header");
    enter(p, S_FIELD);
    return at + 1;
}

static const char *step_head_lf(struct http1 *p, const char *at, const char *end)
{
    (void)end;
    if (*at != '\n')
        return bad(p, at, "a CR without its LF behind the headers");
    enter(p, p->in_trailers ? S_END : S_JUDGE);
    return at + 1;
}

/* --- chunks --- */

static void chunk_begin(struct http1 *p)
{
    p->matched = 0;
    p->body_left = 0;
    enter(p, S_CHUNK_SIZE);
}

static const char *step_chunk_size(struct http1 *p, const char *at, const char *end)
{
    for (; at < end; at++) {
        int digit = hex_digit(*at);
        if (digit < 0)
            break;
        if (++p->matched > HTTP1_CHUNK_DIGITS_MAX)
            return bad(p, at, "a chunk size has more than 15 digits");
        p->body_left = p->body_left * 16 + (uint64_t)digit;
    }
    if (at == end)
        return at;
    if (!p->matched || (*at != '\r' && *at != ';'))
        return bad(p, at, "a chunk size is hexadecimal digits, then CRLF");
    enter(p, *at == ';' ? S_CHUNK_EXTENSION : S_CHUNK_LF);
    return at + 1;
}

static const char *step_chunk_extension(struct http1 *p, const char *at, const char *end)
{
    const char *stop = skip_while(at, end, HTTP1_VALUE);

    if ((size_t)(stop - at) > p->extensions_left)
        return bad(p, at, "the chunk extensions have more than 16384 bytes in all");
    p->extensions_left -= (size_t)(stop - at);
    if (stop == end)
        return stop;
    if (*stop != '\r')
        return bad(p, stop, "a chunk extension holds a control byte");
    enter(p, S_CHUNK_LF);
    return stop + 1;
}

static const char *step_chunk_lf(struct http1 *p, const char *at, const char *end)
{
    (void)end;
    if (*at != '\n')
        return bad(p, at, "a CR without its LF in a chunk's size line");
    if (p->body_left > p->limits->body_max - p->body_seen) {
        http1_refuse(p, 413, "the body is too long");
        return at;
    }
    p->body_seen += p->body_left;
    if (p->body_left) {
        enter(p, S_DATA);
    } else {
        p->in_trailers = true;
        enter(p, S_FIELD);
    }
    return at + 1;
}

static const char *step_data_cr(struct http1 *p, const char *at, const char *end)
{
    (void)end;
    if (*at != '\r')
        return bad(p, at, "a chunk is longer than its size, or does not end in CRLF");
    enter(p, S_DATA_LF);
    return at + 1;
}

static const char *step_data_lf(struct http1 *p, const char *at, const char *end)
{
    (void)end;
    if (*at != '\n')
        return bad(p, at, "a CR without its LF behind a chunk");
    chunk_begin(p);
    return at + 1;
}

/* --- feeding --- */

/* One step, on the budget of its group. */
static const char *run_step(struct http1 *p, const char *at, const char *end)
{
    uint8_t group = p->group;

    if ((size_t)(end - at) > p->left)
        end = at + p->left;
    if (at == end) {
        over_budget(p);
        return at;
    }
    const char *next = states[p->state].step(p, at, end);
    if (p->group == group)
        p->left -= (size_t)(next - at);
    return next;
}

/* Runs steps until the bytes are used up, or until something other than a line comes. */
static void run_lines(struct http1 *p, struct str *in)
{
    const char *at = in->at;
    const char *end = at + in->len;
    bool saves = p->state < S_CHUNK_SIZE && !p->in_trailers;

    p->fed = at;
    while (at < end && states[p->state].step)
        at = run_step(p, at, end);
    if (saves && p->state != S_REFUSED)
        buf_add(&p->head, str_n(p->fed, (size_t)(at - p->fed)));
    *in = str_skip(*in, (size_t)(at - in->at));
}

static enum http1_event take_data(struct http1 *p, struct str *in, struct str *body)
{
    size_t n = in->len < p->body_left ? in->len : (size_t)p->body_left;

    *body = str_n(in->at, n);
    *in = str_skip(*in, n);
    p->body_left -= n;
    if (!p->body_left)
        enter(p, p->chunked ? S_DATA_CR : S_END);
    return HTTP1_BODY;
}

enum http1_event http1_next(struct http1 *p, struct str *in, struct str *body)
{
    for (;;) {
        switch ((enum state)p->state) {
        case S_REFUSED:
            return HTTP1_REFUSED;
        case S_END:
            return HTTP1_END;
        case S_JUDGE:
            if (!http1_judge(p))
                return HTTP1_REFUSED;
            if (p->chunked) {
                chunk_begin(p);
            } else {
                p->body_left = p->content_length;
                enter(p, p->body_left ? S_DATA : S_END);
            }
            return HTTP1_HEAD;
        case S_DATA:
            return in->len ? take_data(p, in, body) : HTTP1_MORE;
        default:
            if (!in->len)
                return HTTP1_MORE;
            run_lines(p, in);
        }
    }
}

void http1_init(struct http1 *p, const struct http1_limits *limits)
{
    assert(limits->line_max < UINT32_MAX / 4 && limits->headers_max < UINT32_MAX / 4);
    assert(limits->header_count_max < UINT8_MAX);
    *p = (struct http1){ .limits = limits, .extensions_left = HTTP1_EXTENSIONS_MAX };
    p->group = G_FREE;
    enter(p, S_START);
    /* The steps stop a line and the headers at their budgets, so this limit is never reached. */
    buf_init(&p->head, limits->line_max + limits->headers_max + 2 * LINE_END);
}

void http1_reset(struct http1 *p)
{
    p->request = (struct http_request){ 0 };
    p->content_length = 0;
    p->chunked = p->keep_alive = p->expect_continue = false;
    p->blank_seen = p->in_trailers = false;
    p->status = 0;
    p->why = NULL;
    p->extensions_left = HTTP1_EXTENSIONS_MAX;
    p->body_left = p->body_seen = 0;
    p->field_count = 0;
    buf_clear(&p->head);
    p->group = G_FREE;
    enter(p, S_START);
}

void http1_finish(struct http1 *p)
{
    buf_finish(&p->head);
    mem_free(p->fields);
    p->fields = NULL;
}

bool http1_has_head(const struct http1 *p)
{
    return p->state >= S_CHUNK_SIZE && p->state != S_REFUSED;
}

size_t http1_memory(const struct http1 *p)
{
    return p->head.room + p->field_room * sizeof(*p->fields);
}
