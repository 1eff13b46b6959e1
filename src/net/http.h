/*
 * net/http: an HTTP/1.1 server that gives whole requests and takes whole or streamed responses.
 *
 * The server reads a request (headers and body, within the limits), then calls on_request with an
 * exchange. The exchange is answered exactly once: with http_reply, or with http_begin ...
 * http_end. It may be held for any time before that; a held exchange costs a few hundred bytes and
 * no thread. Requests on one connection are answered in order (pipelining).
 *
 * The request (headers, body) is valid until the response has begun or http_release is called, and
 * at least until on_request has returned. If the client goes away first, on_gone is called once.
 * After that, and after http_reply or http_end, the exchange is dead: nothing may be called with
 * it.
 *
 * A slow or silent connection delays nobody else. Clients that are not known yet (strangers) have a
 * small share of everything. on_head is asked as soon as a head is there, before a byte of the body
 * is kept; until it has returned HTTP_TRUST, the connection counts as a stranger's. After that it
 * counts in the share of its owner, whom on_head names.
 */
#ifndef NOD_NET_HTTP_H
#define NOD_NET_HTTP_H

#include <nod/nod.h>

#include "base/str.h"
#include "net/loop.h"

struct http_server;
struct http_exchange;
struct peer;
struct stream;

enum { HTTP_PARTS_MAX = 12 }; /* parts of one write */

/* How many seconds a client is asked to wait after 429 or 503. */
#define HTTP_RETRY_AFTER "5"
#define HTTP_RETRY_LINE  "Retry-After: " HTTP_RETRY_AFTER "\r\n"

struct http_header {
    struct str name;
    struct str value;
};

/* Headers that most requests are asked for. They are recognised once, when the head is read. */
enum http_name {
    HTTP_NAME_HOST, /* these five decide where a request ends, or whom it is for: http1_head.c */
    HTTP_NAME_CONTENT_LENGTH,
    HTTP_NAME_TRANSFER_ENCODING,
    HTTP_NAME_CONNECTION,
    HTTP_NAME_EXPECT,
    HTTP_NAME_ACCEPT,
    HTTP_NAME_AUTHORIZATION,
    HTTP_NAME_CONTENT_TYPE,
    HTTP_NAME_LAST_EVENT_ID,
    HTTP_NAME_MCP_SESSION_ID,
    HTTP_NAME_MCP_PROTOCOL_VERSION,
    HTTP_NAME_ORIGIN,
    HTTP_NAME_SEC_FETCH_SITE,
    HTTP_NAME_X_PAGE_KEY,
    HTTP_NAMES, /* how many there are; as a name: any other */
};

/* Where those headers are. */
struct http_index {
    uint16_t again;            /* a bit for each that occurs more than once */
    uint8_t first[HTTP_NAMES]; /* the number of the header, from 1; 0: not there */
    bool filled;               /* false in a request that was not made by the parser */
};

/* What on_head found out about a request, for on_request. This module does not look at it. */
struct http_mark {
    const void *who;
    const void *what;
    int64_t wait_ms;
};

struct http_request {
    struct str method;
    struct str target;                 /* as sent */
    struct str path;                   /* target up to '?' */
    struct str query;                  /* after it */
    const struct http_header *headers; /* values without blanks at either end */
    size_t header_count;
    struct http_index index;
    struct str body;
    bool old;                /* HTTP/1.0 */
    const struct peer *peer; /* the other end of the connection: net/peer.h */
    struct http_mark mark;   /* what on_head has said of it */
};

struct http_limits {
    size_t line_max;    /* bytes of the request line; past it 431 or 414 */
    size_t headers_max; /* bytes of all headers; past it 431 */
    size_t header_count_max;
    size_t body_max;        /* past it 413 */
    size_t connections_max; /* past it 503, and the connection is closed */
    /* bytes of partial requests and queued responses of all connections; past it 503 */
    size_t memory_max;
    /* unsent response bytes of one connection; past it http_write returns false */
    size_t queue_max;
    int header_ms;    /* time for a whole head; 408 */
    int body_ms;      /* time without progress in a body; 408 */
    size_t body_rate; /* bytes in a second that a body must have, after its body_ms; 408 */
    int idle_ms;      /* keep-alive without a request; closed */
    int write_ms;     /* a client that reads nothing for so long is closed */

    /* Shares; 0: everything. */
    size_t strangers_max;         /* connections; past it the oldest stranger is closed */
    size_t strangers_memory_max;  /* bytes of their heads; the same */
    int stranger_ms;              /* from accepting to the first whole head; 408. 0: idle_ms */
    size_t owner_connections_max; /* connections of one owner; past it 429 */
    size_t owner_memory_max;      /* bytes of one owner's requests and responses; past it 429 */
};

/* The defaults; also listed in docs/inside/limits.md. */
extern const struct http_limits http_limits_default;

/*
 * What on_head decides about a request whose head is complete and valid, before anything of its
 * body is kept. HTTP_ANSWER: the ruling is the whole answer, and on_request is not called.
 * HTTP_SERVE: on_request follows, without a body, and a stranger's connection stays one.
 * HTTP_TRUST: on_request follows, and from now on it is known who is at the other end.
 */
enum http_verdict { HTTP_ANSWER, HTTP_SERVE, HTTP_TRUST };

enum { HTTP_RULING_HEADERS_MAX = 6 }; /* headers of an answer that on_head gives */

struct http_ruling {
    /* With HTTP_ANSWER. The texts are valid until on_head is called again. */
    int status;
    struct http_header headers[HTTP_RULING_HEADERS_MAX];
    size_t header_count;
    struct str body;

    /* These must live as long as the server. */
    struct str lines; /* header lines, each with its line end, for every response to this request */
    struct str who;   /* with HTTP_TRUST: the owner in whose share it counts; empty: in none */
    struct http_mark mark; /* becomes request->mark */
    bool wiped; /* its body may hold what nobody may see: its bytes are wiped, wherever they were */
};

struct http_opts {
    struct http_limits limits;
    /* NULL: everything is served, and there are no strangers. */
    enum http_verdict (*on_head)(const struct http_request *request, struct http_ruling *ruling,
                                 void *data);
    void (*on_request)(struct http_exchange *exchange, const struct http_request *request,
                       void *data);
    void *data;
};

/* host: an address, "localhost", or "unix:PATH". Port 0 takes a free one. NOD_E_STALE,
 * logged: it is taken. NOD_E_IO, logged: it failed otherwise. */
nod_status http_listen(struct loop *loop, struct str host, int port, const struct http_opts *opts,
                       struct http_server **out);
/* A server without a socket of its own: http_attach hands it connections. */
struct http_server *http_create(struct loop *loop, const struct http_opts *opts);
/* Serves a connection that came from elsewhere. The server owns its stream from now on. The peer is
 * copied; NULL: it is not known. */
void http_attach(struct http_server *server, struct stream *stream, const struct peer *peer);
int http_port(const struct http_server *server);

struct http_figures {
    size_t connections; /* all of them */
    size_t strangers;   /* those of clients that are not known yet */
    size_t upgraded;    /* those that were taken over: http_upgrade */
    size_t memory;      /* bytes of partial requests and unsent responses */
};
void http_figures(const struct http_server *server, struct http_figures *figures);
/* Sends what was written in this turn of the loop now, and not at its end: for what must be on its
 * way before something else happens. Connections may end by it. */
void http_flush(struct http_server *server);
/*
 * No new connections; idle ones are closed. done() is called when the last response is sent, or
 * after grace_ms; whoever has no response then is told 503. The server is still there then:
 * http_close ends it and its remaining connections.
 */
void http_drain(struct http_server *server, int grace_ms, void (*done)(void *data), void *data);
/* Closes everything now, with on_gone for each open exchange. Freed on a later turn. */
void http_close(struct http_server *server);

/* The value of the first header of that name (in any case), or {NULL, 0}. */
struct str http_header(const struct http_request *request, struct str name);
/* The same for one of the names above, without a search. */
static inline struct str http_named(const struct http_request *request, enum http_name name);
/* The header itself, or NULL, and whether there is another one of that name. */
const struct http_header *http_find(const struct http_request *request, struct str name,
                                    bool *again);
const struct http_header *http_find_named(const struct http_request *request, enum http_name name,
                                          bool *again);
/* Which of the names it is (in any case), or HTTP_NAMES; and how a name is written. */
enum http_name http_name_of(struct str name);
struct str http_name_text(enum http_name name);

static inline struct str http_named(const struct http_request *request, enum http_name name)
{
    size_t place = request->index.first[name];

    if (place)
        return request->headers[place - 1].value;
    return request->index.filled ? STR_NONE : http_header(request, http_name_text(name));
}

/* Called once, if the client goes away before the response is complete. */
void http_on_gone(struct http_exchange *exchange, void (*gone)(void *data), void *data);
/*
 * Called once, after the response: did it arrive? It did if the client has sent something after the
 * whole response was written, or has closed the connection and has all of it. It did not if the
 * connection broke, or was closed by the client before that. A client that holds the connection
 * open and silent is believed to have it when it is closed as idle. Never called from inside the
 * reply. Several can be set for one exchange.
 */
void http_on_arrived(struct http_exchange *exchange, void (*arrived)(void *data, bool did),
                     void *data);
/* It is known now who is at the other end, as if on_head had returned HTTP_TRUST. False: that owner
 * has too many connections. */
bool http_trust(struct http_exchange *exchange, struct str who);
/*
 * So many bytes are in use for the response that is being made: they count in the share of the
 * owner, instead of those said before, until it is answered. 0, or 429 or 503, the status to answer
 * with, and what was said before still counts. What must be delivered need not ask.
 */
int http_hold(struct http_exchange *exchange, size_t bytes);
/* Frees the request's memory early. */
void http_release(struct http_exchange *exchange);

/* A whole response. Content-Length is added; without a body it is 0. */
void http_reply(struct http_exchange *exchange, int status, const struct http_header *headers,
                size_t header_count, struct str body);

/*
 * The same with ready-made header lines, each with its line end. They are constants of the program,
 * and are sent as they are.
 */
void http_reply_lines(struct http_exchange *exchange, int status, struct str lines,
                      struct str body);
/* With 429 or 503, a header says when to come back. */
static inline void http_reply_json(struct http_exchange *exchange, int status, struct str body)
{
    http_reply_lines(exchange, status,
                     status == 429 || status == 503
                         ? STR("Content-Type: application/json\r\n" HTTP_RETRY_LINE)
                         : STR("Content-Type: application/json\r\n"),
                     body);
}

/* A streamed response, chunked. `lines` as in http_reply_lines. */
void http_begin(struct http_exchange *exchange, int status, struct str lines,
                const struct http_header *headers, size_t header_count);
/* False, and nothing is queued, past queue_max: stop and wait for on_drain. */
bool http_write(struct http_exchange *exchange, struct str bytes);
/* The same for one piece that is in several places; at most HTTP_PARTS_MAX of them. */
bool http_write_parts(struct http_exchange *exchange, const struct str *parts, size_t count);
size_t http_queued(const struct http_exchange *exchange);
/* Called whenever a queue that was not empty becomes empty. */
void http_on_drain(struct http_exchange *exchange, void (*drained)(void *data), void *data);
void http_end(struct http_exchange *exchange);

/*
 * Answers 101 and takes the connection over, for `protocol` (and further headers). The exchange is
 * dead; on_gone and on_drain are not called any more. The caller sets the owner of the stream at
 * once, and keeps the rules of net/stream.h: stream_close in the end, also after on_end. Nothing is
 * read before stream_read_start; what came behind the request comes first. The server still counts
 * and bounds the connection, and closes it with itself (on_end, UV_ECANCELED).
 *
 * The request must be a whole HTTP/1.1 request without a body that asks for this protocol: nothing
 * here looks (front/upgrade.c does).
 */
struct stream *http_upgrade(struct http_exchange *exchange, struct str protocol,
                            const struct http_header *headers, size_t header_count);

#endif
