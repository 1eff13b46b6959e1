/*
 * net/sse: server-sent events over a streamed response.
 *
 * Each call writes one whole event or comment. Past the connection's queue limit it writes nothing
 * and returns false: the owner keeps the event and goes on from on_drain. Data is split at line
 * ends, so no byte of it can begin a field of its own. An id or event name with a line end is
 * refused.
 */
#ifndef NOD_NET_SSE_H
#define NOD_NET_SSE_H

#include "net/http.h"

/* Begins a text/event-stream response (no caching, no buffering by proxies) with extra headers. */
void sse_begin(struct http_exchange *exchange, const struct http_header *extra, size_t extra_count);

struct sse_event {
    struct str id;    /* empty: no id line */
    struct str event; /* empty: "message", which is not written */
    struct str data;  /* written even if empty */
    int retry_ms;     /* 0: no retry line */
};

bool sse_send(struct http_exchange *exchange, const struct sse_event *event);
/* ": text", which keeps the connection alive. */
bool sse_comment(struct http_exchange *exchange, struct str text);

#endif
