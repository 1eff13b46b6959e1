/*
 * tests/fuzz/http1: the request parser, fed whole and fed in pieces.
 *
 * The first two bytes seed how the rest is cut. Both ways must give the same events, byte for byte,
 * even if the parser is reused for the next request. A request that was accepted has the same
 * headers however one asks for them.
 */
#include <stdint.h>
#include <stdlib.h>

#include "net/http1.h"
#include "target.h"

static const struct http1_limits limits = {
    .line_max = 256,
    .headers_max = 1024,
    .header_count_max = 16,
    .body_max = 4096,
};

enum { TRACE_MAX = 1 << 22 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_index(const struct http_request *request)
{
    must(request->index.filled);
    for (int name = 0; name < HTTP_NAMES; name++) {
        struct str text = http_name_text((enum http_name)name);
        bool again, named_again;
        must(http_find(request, text, &again) ==
             http_find_named(request, (enum http_name)name, &named_again));
        must(again == named_again);
    }
}

static void trace_head(struct buf *trace, const struct http1 *parser)
{
    const struct http_request *request = &parser->request;

    must(request->method.len > 0 && request->target.len > 0 && request->path.len > 0);
    must(parser->content_length <= limits.body_max);
    check_index(request);
    buf_add(trace, request->method);
    buf_add_char(trace, ' ');
    buf_add(trace, request->path);
    buf_add_char(trace, '?');
    buf_add(trace, request->query);
    for (size_t i = 0; i < request->header_count; i++) {
        buf_add(trace, request->headers[i].name);
        buf_add_char(trace, ':');
        buf_add(trace, request->headers[i].value);
        buf_add_char(trace, '\n');
    }
    buf_fmt(trace, "%d%d%d%zu\n", parser->keep_alive, parser->chunked, parser->expect_continue,
            (size_t)parser->content_length);
}

static void begin_anew(struct http1 *parser, bool fresh)
{
    if (!fresh) {
        http1_reset(parser);
        return;
    }
    http1_finish(parser);
    http1_init(parser, &limits);
}

static bool feed(struct http1 *parser, struct str in, bool fresh, struct buf *trace)
{
    struct str body;

    for (;;) {
        switch (http1_next(parser, &in, &body)) {
        case HTTP1_HEAD:
            trace_head(trace, parser);
            break;
        case HTTP1_BODY:
            must(body.len > 0);
            buf_add(trace, body);
            break;
        case HTTP1_END:
            must(parser->body_seen <= limits.body_max);
            buf_add(trace, STR("<end>"));
            begin_anew(parser, fresh);
            break;
        case HTTP1_REFUSED:
            must(parser->status >= 400 && parser->why);
            buf_fmt(trace, "%d %s", parser->status, parser->why);
            return false;
        case HTTP1_MORE:
            must(in.len == 0);
            return true;
        }
    }
}

static void run(struct str bytes, unsigned seed, bool fresh, struct buf *trace)
{
    struct http1 parser;

    buf_init(trace, TRACE_MAX);
    http1_init(&parser, &limits);
    while (bytes.len) {
        size_t n = bytes.len;
        if (seed) {
            seed = seed * 1103515245u + 12345u;
            n = 1 + (seed >> 16) % 13;
        }
        if (n > bytes.len)
            n = bytes.len;
        char *piece = malloc(n); /* of its own, so that a read past it is seen */
        memcpy(piece, bytes.at, n);
        bool goes_on = feed(&parser, str_n(piece, n), fresh, trace);
        free(piece);
        if (!goes_on)
            break;
        bytes = str_skip(bytes, n);
    }
    http1_finish(&parser);
}

FUZZ_TARGET(http1)
{
    struct buf whole, again, cut;

    if (size < 2)
        return 0;
    unsigned seed = 1u + data[0] + 256u * data[1];
    struct str bytes = str_n((const char *)data + 2, size - 2);
    run(bytes, 0, true, &whole);
    run(bytes, 0, false, &again);
    run(bytes, seed, false, &cut);
    must(str_eq(buf_str(&whole), buf_str(&again)));
    must(str_eq(buf_str(&whole), buf_str(&cut)));
    buf_finish(&whole);
    buf_finish(&again);
    buf_finish(&cut);
    return 0;
}
