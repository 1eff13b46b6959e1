/*
 * mcp/era2025/stream: the way back to a client (era 2025).
 *
 * A stream takes messages and delivers them in order. There are three kinds:
 *
 *   held      the response to a POST. If nothing but the response is sent, it is plain JSON; the
 *             first other message turns it into server-sent events. It ends with the last response.
 *   standing  the response to a GET: messages that belong to no call.
 *   lines     stdout.
 *
 * Events have ids `<stream>_<seq>` and are kept, under caps, so that a client that lost its
 * connection can resume after the last event it has seen. Progress and log messages are dropped
 * first.
 *
 * With a durable or shared store, the stream of a request is named after its call, and any node can
 * go on with it (mcp/era2025/resume). Everything that a client can come back for is made again from
 * the records: a question has the seq that was stored with it, and the result comes after all
 * others. Between two questions each node may use the seqs for events that are not stored.
 */
#ifndef NOD_MCP_ERA2025_STREAM_H
#define NOD_MCP_ERA2025_STREAM_H

#include "mcp/era2025/ended_streams.h"
#include "mcp/era2025/session.h"
#include "net/pipe.h"

enum {
    MCP_STREAM_EVENTS_MAX = 256,    /* kept events of one stream */
    MCP_STREAM_BYTES_MAX = 1 << 20, /* and their bytes */
    MCP_STREAM_EVENTS_MOST = 4096, /* kept events of one stream, of whatever kind and sent or not */
    MCP_STREAM_BYTES_MOST = 64 << 20, /* and their bytes */
};

struct mcp_event;

enum event_sort {
    EVENT_VOLATILE, /* progress, logs: may be dropped under the caps */
    EVENT_KEPT,     /* asks, results */
};

enum {
    STREAM_NAME_MAX = ID_LEN + 1,  /* a call's id; if no store knows it, an id with a mark */
    EVENT_SEQ_RESULT = PLACES_END, /* the seq of the response that ends the stream of a call */
    EVENT_SEQ_STEP = PLACE_STEP,   /* between the seqs of two questions of a call */
};

struct mcp_stream {
    struct session *session;
    struct list link;               /* of the session */
    struct ended_entry kept;        /* once it has ended */
    struct delivery *delivery;      /* of its end; NULL: none is under way */
    struct http_exchange *exchange; /* NULL: nobody listens now */
    struct pipe_lines *pipe;
    struct mcp_event *first, *last;
    struct mcp_event *unsent; /* the first that was not written to this connection */
    struct buf *batch;        /* responses of an array so far, if nothing else was sent */
    struct timer *beat;       /* standing: comments that keep proxies from closing it */
    uint32_t next_seq;
    uint32_t reserved; /* the last place that was given out. Until it is used, other events stay
                          below it: what was reserved may never be stored */
    uint32_t seen;     /* of a call: the client has shown that it has everything up to this seq */
    uint32_t primes;   /* the seq of the event without data that is written first: see `unprimed` */
    uint32_t bytes;
    uint16_t count;
    uint16_t awaited; /* responses still to come */
    bool standing;
    bool array; /* the POST was an array */
    bool begun; /* server-sent events */
    bool ended;
    bool arrived;                   /* the whole of it has arrived, as far as is known */
    bool unprimed;                  /* the first event of this connection, an id without data, is
                                       still to be written */
    bool lost;                      /* the client left before it had an id to come back with: it may
                                       send its request again */
    struct id result_of;            /* its response is the result of this call; empty: of none */
    bool of_call;                   /* its name is the id of its only call */
    char name[STREAM_NAME_MAX + 1]; /* a number of its session, unless other nodes know it */
};

struct mcp_stream *mcp_stream_held(struct session *session, struct http_exchange *exchange,
                                   bool array);
/* NULL: the principal has as many listeners as it may have. */
struct mcp_stream *mcp_stream_standing(struct session *session, struct http_exchange *exchange);
struct mcp_stream *mcp_stream_lines(struct session *session, struct pipe_lines *pipe);
/* The stream of this call goes on here; the client has seen everything up to `seq`. */
struct mcp_stream *mcp_stream_back(struct session *session, struct http_exchange *exchange,
                                   struct str call_id, uint32_t seq);
/* Names the stream after its call, before anything is sent. */
void mcp_stream_name(struct mcp_stream *stream, const struct id *call_id);
/* Splits an event id. False: this server never gives out such an id. */
bool mcp_event_id_read(struct str event_id, struct str *stream, uint32_t *seq);
/* The stream of this session that an event belongs to, or NULL. */
struct mcp_stream *mcp_stream_find(struct session *session, struct str name, uint32_t seq);
/* Is this the name of a standing stream, which any node may begin anew? */
bool mcp_stream_name_is_standing(struct str name);

/* One more response will come (mcp_stream_respond or mcp_stream_skip). */
void mcp_stream_await(struct mcp_stream *stream);
/* Turns a held response into events, with a priming one if the client knows those. */
void mcp_stream_begin(struct mcp_stream *stream);
/* Has the client been sent an event with an id? */
bool mcp_stream_has_id(const struct mcp_stream *stream);
void mcp_stream_send(struct mcp_stream *stream, enum event_sort sort, struct str message);
/* Reserves a place for something that is stored before it is sent. mcp_stream_send_at then sends it
 * there, unless the client has it from another node. Places are used in the order in which they
 * were given out. 0: there is none. */
uint32_t mcp_stream_reserve(struct mcp_stream *stream);
void mcp_stream_send_at(struct mcp_stream *stream, uint32_t seq, struct str message);
/* What was sent with this seq no longer counts: whoever resumes the stream is not shown it. */
void mcp_stream_forget(struct mcp_stream *stream, uint32_t seq);
/* The next response is the result of this call, which the store has: it is told when a client was
 * given it, on whatever connection. */
void mcp_stream_hands(struct mcp_stream *stream, struct str call_id);
/* The last of the awaited responses ends a held stream, and may free it. */
void mcp_stream_respond(struct mcp_stream *stream, struct str message);
/* The same, with this HTTP status if nothing was sent yet and the POST was no array. */
void mcp_stream_refuse(struct mcp_stream *stream, int status, struct str message);
void mcp_stream_skip(struct mcp_stream *stream);
/* The awaited response is not sent here: the store has it, or will, for a client that comes back.
 * Frees the stream, which would stand in its way, unless others respond on it. */
void mcp_stream_abandon(struct mcp_stream *stream);
/* Sends a comment, if somebody listens. */
void mcp_stream_comment(struct mcp_stream *stream);
/* Is there a client that gets, or may come back for, what is sent? */
bool mcp_stream_reachable(const struct mcp_stream *stream);
/* Goes on after `seq`, on another connection. */
void mcp_stream_resume(struct mcp_stream *stream, struct http_exchange *exchange, uint32_t seq);
/* The same request has come again, on this connection, which takes the stream over from its
 * beginning. */
void mcp_stream_again(struct mcp_stream *stream, struct http_exchange *exchange);
/* Ends the connection. What is sent later is dropped. */
void mcp_stream_close(struct mcp_stream *stream);
void mcp_stream_destroy(struct mcp_stream *stream);
/* Lines: the pipe has room again. */
void mcp_stream_pump(struct mcp_stream *stream);
/* The bytes that it holds. */
size_t mcp_stream_memory(const struct mcp_stream *stream);

#endif
