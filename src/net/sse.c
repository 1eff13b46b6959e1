/*
 * net/sse: see sse.h.
 *
 * An event is handed to http_write in one piece, so it is queued whole or refused whole. CR, LF and
 * CRLF all end a line for a reader of event streams. So each of them in the data begins a new
 * "data:" line, and the reader joins the lines with LF.
 */
#include "net/sse.h"

#include <limits.h>

#include "base/buf.h"
#include "base/log.h"

enum {
    SSE_HEADERS_MAX = 13, /* headers of the caller; more are left out */
    SSE_NUMBER_LEN = 10,  /* digits of an int */
};

void sse_begin(struct http_exchange *exchange, const struct http_header *extra, size_t extra_count)
{
    http_begin(exchange, 200,
               STR("Content-Type: text/event-stream\r\n"
                   "Cache-Control: no-cache, no-transform\r\n"
                   "X-Accel-Buffering: no\r\n"),
               extra, extra_count < SSE_HEADERS_MAX ? extra_count : SSE_HEADERS_MAX);
}

static bool has_line_end(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] == '\n' || s.at[i] == '\r' || s.at[i] == '\0')
            return true;
    return false;
}

static void add_field(struct buf *out, struct str name, struct str value)
{
    buf_add(out, name);
    buf_add(out, value);
    buf_add_char(out, '\n');
}

/* Each line of the text as a field of that name; at least one, even if the text is empty. */
static void add_lines(struct buf *out, struct str name, struct str text)
{
    size_t from = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] != '\n' && text.at[i] != '\r')
            continue;
        add_field(out, name, str_n(text.at + from, i - from));
        if (text.at[i] == '\r' && i + 1 < text.len && text.at[i + 1] == '\n')
            i++;
        from = i + 1;
    }
    add_field(out, name, str_skip(text, from));
}

static bool send_all(struct http_exchange *exchange, struct buf *out)
{
    buf_add_char(out, '\n');
    bool sent = http_write(exchange, buf_str(out));
    buf_finish(out);
    return sent;
}

static struct str retry_text(int ms, char out[SSE_NUMBER_LEN])
{
    size_t at = SSE_NUMBER_LEN;

    do
        out[--at] = (char)('0' + ms % 10);
    while (ms /= 10);
    return str_n(out + at, SSE_NUMBER_LEN - at);
}

static bool one_line(struct str text)
{
    return !text.len || (!memchr(text.at, '\n', text.len) && !memchr(text.at, '\r', text.len));
}

/* Most data is one line of JSON, and is sent from where it is. */
static bool send_line(struct http_exchange *exchange, const struct sse_event *event)
{
    struct str parts[HTTP_PARTS_MAX];
    char retry[SSE_NUMBER_LEN];
    size_t count = 0;

    if (event->id.len) {
        parts[count++] = STR("id: ");
        parts[count++] = event->id;
        parts[count++] = STR("\n");
    }
    if (event->event.len) {
        parts[count++] = STR("event: ");
        parts[count++] = event->event;
        parts[count++] = STR("\n");
    }
    if (event->retry_ms > 0) {
        parts[count++] = STR("retry: ");
        parts[count++] = retry_text(event->retry_ms, retry);
        parts[count++] = STR("\n");
    }
    parts[count++] = STR("data: ");
    parts[count++] = event->data;
    parts[count++] = STR("\n\n");
    return http_write_parts(exchange, parts, count);
}

bool sse_send(struct http_exchange *exchange, const struct sse_event *event)
{
    struct buf out;

    if (has_line_end(event->id) || has_line_end(event->event)) {
        LOG_ERROR("an event was not sent: its id or name holds a line end");
        return false;
    }
    if (one_line(event->data))
        return send_line(exchange, event);
    buf_init(&out, INT_MAX);
    buf_reserve(&out, event->data.len + event->id.len + event->event.len + 64);
    if (event->id.len)
        add_field(&out, STR("id: "), event->id);
    if (event->event.len)
        add_field(&out, STR("event: "), event->event);
    if (event->retry_ms > 0)
        buf_fmt(&out, "retry: %d\n", event->retry_ms);
    add_lines(&out, STR("data: "), event->data);
    return send_all(exchange, &out);
}

bool sse_comment(struct http_exchange *exchange, struct str text)
{
    struct buf out;

    buf_init(&out, INT_MAX);
    add_lines(&out, STR(": "), text);
    return send_all(exchange, &out);
}
