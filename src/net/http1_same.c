/*
 * net/http1_same: a head that begins as the one before.
 *
 * A client says the same request line and the same headers with each request, but for a length or
 * an id near the end; and one parser reads many requests, one after the other. So the head that was
 * read stays in memory until the next one is written over it. As far as both are the same bytes, in
 * whole lines, their fields are the same as well: they were found lawful and need no second look.
 * Mostly that is all of it but for the digits of the length, and then nothing has to be read at
 * all.
 *
 * Holds always: only a plain head is kept (HTTP/1.1, lawful, a path for its target, no header
 * that decides anything but the length, none of the known ones twice), so that what is kept of it
 * is its request line, its fields, their index and the length; the limits are those it has passed.
 * A kept field is a slice of `head`, and `head` does not move while there are any.
 */
#include "net/http1.h"

enum {
    BLOCK = 32,
    WORD = 8,
    LINE_END = 2,
    DIGITS_MAX = 18, /* of a length in a head like the one before; with more it is read anew */
};

static size_t same_bytes(const char *a, const char *b, size_t len)
{
    size_t n = 0;

    while (len - n >= BLOCK && memcmp(a + n, b + n, BLOCK) == 0)
        n += BLOCK;
    while (len - n >= WORD && memcmp(a + n, b + n, WORD) == 0)
        n += WORD;
    while (n < len && a[n] == b[n])
        n++;
    return n;
}

static uint32_t line_begin(const struct http1 *p, uint32_t field)
{
    return (uint32_t)(p->fields[field].header.name.at - p->head.at);
}

static uint32_t line_end(const struct http1 *p, uint32_t field)
{
    if (field + 1 < p->request.header_count)
        return line_begin(p, field + 1);
    return p->kept_len - LINE_END;
}

static bool is_plain(const struct http1 *p)
{
    return p->request.index.filled && !p->request.index.again && p->method_at == 0 &&
           p->request.target.at[0] == '/' && p->version_minor == 1 && p->keep_alive &&
           !p->chunked && !p->expect_continue;
}

void http1_keep(struct http1 *p)
{
    p->kept = is_plain(p) ? p->field_count : 0;
    p->kept_len = (uint32_t)p->head.len;
    p->request.index.filled = false; /* until the next head has been judged */
}

/* How many digits there are at the beginning, and what they say. */
static size_t take_digits(struct str in, uint64_t *number)
{
    size_t n = 0;

    *number = 0;
    for (; n < in.len && n < DIGITS_MAX && in.at[n] >= '0' && in.at[n] <= '9'; n++)
        *number = *number * 10 + (uint64_t)(in.at[n] - '0');
    return n;
}

/*
 * All bytes but the digits are compared. Fields behind the length stay where they are, so there it
 * has to have as many digits as before.
 */
size_t http1_same_whole(struct http1 *p, struct str in)
{
    uint32_t place = p->request.index.first[HTTP_NAME_CONTENT_LENGTH];
    uint64_t length;

    if (!place)
        return 0;
    struct str *value = &p->fields[place - 1].header.value;
    size_t before = (size_t)(value->at - p->head.at);
    size_t behind = p->kept_len - before - value->len;
    size_t digits = take_digits(str_skip(in, before), &length);
    size_t whole = before + digits + behind;
    if (!digits || (digits != value->len && place != p->kept) || in.len < whole ||
        whole > p->head.room || whole - line_begin(p, 0) > p->limits->headers_max + LINE_END)
        return 0;
    if (memcmp(p->head.at, in.at, before) != 0 ||
        memcmp(value->at + value->len, in.at + before + digits, behind) != 0)
        return 0;
    memcpy(p->head.at + before, in.at + before, digits + behind);
    value->len = digits;
    p->head.len = whole;
    p->field_count = p->kept;
    p->content_length = length;
    return whole;
}

/* The index of the first fields alone. */
static void index_cut(struct http_index *index, uint32_t fields)
{
    for (size_t i = 0; i < HTTP_NAMES; i++)
        index->first[i] = index->first[i] > fields ? 0 : index->first[i];
}

size_t http1_same(struct http1 *p, struct str in)
{
    size_t len = in.len < p->kept_len ? in.len : p->kept_len;
    size_t same = same_bytes(p->head.at, in.at, len);

    while (p->kept && line_end(p, p->kept - 1) > same)
        p->kept--;
    if (!p->kept)
        return 0;
    index_cut(&p->request.index, p->kept);
    if (!p->request.index.first[HTTP_NAME_CONTENT_LENGTH])
        p->content_length = 0;
    p->field_count = p->kept;
    return line_end(p, p->kept - 1);
}

void http1_unkeep(struct http1 *p)
{
    for (uint32_t i = 0; i < p->kept; i++) {
        struct http_header header = p->fields[i].header;
        uint32_t name_at = (uint32_t)(header.name.at - p->head.at);
        uint32_t value_at = (uint32_t)(header.value.at - p->head.at);

        p->fields[i].span.name_at = name_at;
        p->fields[i].span.name_end = name_at + (uint32_t)header.name.len;
        p->fields[i].span.value_at = value_at;
        p->fields[i].span.value_end = value_at + (uint32_t)header.value.len;
    }
    p->kept = 0;
}
