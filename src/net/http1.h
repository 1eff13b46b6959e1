/*
 * net/http1: reads one HTTP/1.x request from bytes. No I/O, no clock.
 *
 *     struct str in = ...;              whatever has arrived
 *     while ((event = http1_next(parser, &in, &body)) != HTTP1_MORE) ...
 *
 * Each call takes bytes off the front of *in and says what they led to. The events are the same
 * however the bytes are cut, and each byte is looked at once: feeding single bytes takes linear
 * time too. The parser is strict: whatever two parsers could read in two ways is refused.
 *
 * HTTP1_HEAD     the head is complete and valid; http1_request() is set (without a body)
 * HTTP1_BODY     *body is a piece of the body, a slice of the input
 * HTTP1_END      the request is complete; what is left in *in belongs to the next one
 * HTTP1_REFUSED  status and why say what to answer; the connection cannot go on
 *
 * HTTP/1.0 is accepted (then a Host is not required, chunked is refused, and keep_alive is false).
 */
#ifndef NOD_NET_HTTP1_H
#define NOD_NET_HTTP1_H

#include "base/buf.h"
#include "net/http.h"

enum http1_event { HTTP1_MORE, HTTP1_HEAD, HTTP1_BODY, HTTP1_END, HTTP1_REFUSED };

enum {
    HTTP1_METHOD_MAX = 32,            /* letters of a method; 400 */
    HTTP1_CHUNK_DIGITS_MAX = 15,      /* digits of a chunk size; 400 */
    HTTP1_CHUNK_LINE_MAX = 256,       /* bytes of a chunk's size with its extensions; 400 */
    HTTP1_EXTENSIONS_MAX = 16 * 1024, /* bytes of all chunk extensions of a body; 400 */
    HTTP1_TRAILERS_MAX = 4096, /* bytes of all trailers, which are checked and dropped; 400 */
};

struct http1_limits {
    size_t line_max;
    size_t headers_max;
    size_t header_count_max;
    uint64_t body_max;
};

union http1_field;

struct http1 {
    const struct http1_limits *limits;
    struct http_request request; /* slices into `head`; from HTTP1_HEAD on */

    /* What the head said; from HTTP1_HEAD on. */
    uint64_t content_length;
    bool chunked;
    bool keep_alive;
    bool expect_continue;
    uint8_t version_minor;

    /* Set with HTTP1_REFUSED. */
    int status;
    const char *why;

    /* Private to the parser. */
    uint8_t state;
    uint8_t group;
    uint8_t matched; /* bytes of "HTTP/x.y", or digits of a chunk size */
    uint8_t version_major;
    bool blank_seen; /* the one empty line that may precede a request has come */
    bool in_trailers;
    size_t left; /* of the budget of the current group of states */
    size_t extensions_left;
    const char *fed;    /* where the bytes of this call begin */
    uint64_t body_left; /* of the body, or of this chunk */
    uint64_t body_seen;
    uint32_t method_at; /* all offsets are into `head` */
    uint32_t method_end;
    uint32_t target_end;
    struct buf head;
    union http1_field *fields;
    uint32_t field_count;
    uint32_t field_room;
};

void http1_init(struct http1 *parser, const struct http1_limits *limits);
void http1_finish(struct http1 *parser);
/* Prepares for another request, in the same memory. Nothing of the last one is left. */
void http1_reset(struct http1 *parser);

enum http1_event http1_next(struct http1 *parser, struct str *in, struct str *body);

/* The head is complete. */
bool http1_has_head(const struct http1 *parser);
/* Heap bytes that the parser holds, without itself. */
size_t http1_memory(const struct http1 *parser);

/* For http1_head.c: reads the saved head, and decides on the body. False: refused. */
bool http1_judge(struct http1 *parser);
bool http1_refuse(struct http1 *parser, int status, const char *why);

union http1_field {
    struct {
        uint32_t name_at;
        uint32_t name_end;
        uint32_t value_at;
        uint32_t value_end;
    } span;                    /* while the head may still move */
    struct http_header header; /* once it is complete */
};

/* What a byte may be part of. */
enum {
    HTTP1_TOKEN = 1 << 0,  /* header names */
    HTTP1_METHOD = 1 << 1, /* upper-case letters and '-' */
    HTTP1_TARGET = 1 << 2,
    HTTP1_VALUE = 1 << 3, /* header values, chunk extensions */
    HTTP1_HOST = 1 << 4,
};
extern const uint8_t http1_bytes[256];

/* The reason phrase of a status: "Bad Request". */
const char *http1_reason(int status);

#endif
