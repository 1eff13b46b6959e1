/*
 * net/http1_same: a head that begins as the one before.
 *
 * A client says the same request line and the same headers with each request, but for a length or
 * an id near the end; and one parser reads many requests, one after the other. So the head that was
 * read stays in memory until the next one is written over it. As far as both are the same bytes, in
 * whole lines, their fields are the same as well: they were found lawful and need no second look.
 *
 * Holds always: only a plain head is kept (HTTP/1.1, lawful, a path for its target, no header
 * that decides anything but the length, none of the known ones twice), so that what is kept of it
 * is its request line, its fields, their index and the length; the limits are those it has passed.
 * A kept field is a slice of `head`, and `head` does not move while there are any.
 */
#include "net/http1.h"

enum { BLOCK = 32, WORD = 8, LINE_END = 2 };

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
