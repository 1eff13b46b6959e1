/*
 * mcp/stream: the way back to a client (era 2025).
 *
 * A stream takes messages and delivers them in order. There are three kinds:
 *
 *   held      the response to a POST. As long as nothing but the response is sent, it is plain
 * JSON; the first other message turns it into server-sent events. It ends with the last response.
 *   standing  the response to a GET: messages outside of any call.
 *   lines     stdout.
 *
 * Events have ids `<stream>_<seq>` and are kept, under caps, so that a client that lost its
 * connection can resume right behind the last one it has seen. Progress and log messages are
 * dropped first.
 */
#ifndef NOD_MCP_STREAM_H
#define NOD_MCP_STREAM_H

#include "mcp/session.h"
#include "net/pipe.h"

struct mcp_event;

enum event_sort {
    EVENT_VOLATILE, /* progress, logs: may be dropped under the caps */
    EVENT_KEPT,     /* asks, results */
};

struct mcp_stream {
    struct session *session;
    struct list link;               /* of the session */
    struct list kept;               /* of the server, once it has ended */
    struct http_exchange *exchange; /* NULL: nobody listens now */
    struct pipe_lines *pipe;
    struct mcp_event *first, *last;
    struct mcp_event *unsent; /* first of those not yet written to this connection */
    struct buf *batch;        /* responses so far, of an array, while nothing else was sent */
    struct timer *beat;       /* standing: comments that keep proxies awake */
    int64_t ended_ms;
    uint32_t number;
    uint32_t next_seq;
    uint32_t bytes;
    uint16_t count;
    uint16_t awaited; /* responses still to come */
    bool standing;
    bool array; /* the POST was an array */
    bool begun; /* server-sent events */
    bool ended;
    bool unprimed;  /* its first event, with an id, is still to be written */
    bool delivered; /* it ended on a connection that took all of it */
    bool lost;      /* the client went before it had anything to come back with */
};

struct mcp_stream *mcp_stream_held(struct session *session, struct http_exchange *exchange,
                                   bool array);
struct mcp_stream *mcp_stream_standing(struct session *session, struct http_exchange *exchange);
struct mcp_stream *mcp_stream_lines(struct session *session, struct pipe_lines *pipe);
/* The stream that an event id of this session belongs to, or NULL. */
struct mcp_stream *mcp_stream_find(struct session *session, struct str event_id, uint32_t *seq);

/* One more response will come (mcp_stream_respond or mcp_stream_skip). */
void mcp_stream_await(struct mcp_stream *stream);
/* Turns a held response into events, with a priming one where the client knows them. */
void mcp_stream_begin(struct mcp_stream *stream);
void mcp_stream_send(struct mcp_stream *stream, enum event_sort sort, struct str message);
/* The last of the awaited responses ends a held stream, and perhaps frees it. */
void mcp_stream_respond(struct mcp_stream *stream, struct str message);
void mcp_stream_skip(struct mcp_stream *stream);
/* A comment, if somebody listens. */
void mcp_stream_comment(struct mcp_stream *stream);
/* Is there somebody who gets, or may come back for, what is sent? */
bool mcp_stream_reachable(const struct mcp_stream *stream);
/* Goes on behind `seq` on another connection. */
void mcp_stream_resume(struct mcp_stream *stream, struct http_exchange *exchange, uint32_t seq);
/* The session is over: the connection is ended, what comes later is dropped. */
void mcp_stream_close(struct mcp_stream *stream);
void mcp_stream_destroy(struct mcp_stream *stream);
/* Lines: the pipe has room again. */
void mcp_stream_pump(struct mcp_stream *stream);

/* Forgets streams that ended too long ago. */
void mcp_stream_sweep(struct mcp_server *server, int64_t now);

#endif
