/*
 * net/http_inside: what the files of the HTTP server share, and nobody else sees.
 *
 * http.c           the server: listening, counting, draining, closing
 * http_conn.c      a connection: reading requests, timeouts, refusing, going away
 * http_response.c  an exchange: replying whole or streamed
 * http_cork.c      what is written in one turn is sent at its end
 * http_upgrade.c   an exchange that is taken over as a stream
 * http_share.c     strangers and owners: who may hold how much
 * http_names.c     headers by name
 *
 * Ownership: the server owns its connections; a connection its stream, its partial request and its
 * exchange; an exchange its request. An idle connection is this struct and its stream, no more.
 */
#ifndef NOD_NET_HTTP_INSIDE_H
#define NOD_NET_HTTP_INSIDE_H

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "net/http1.h"
#include "net/listener.h"

enum {
    HTTP_LINGER_MS = 1000,        /* time for the client to read a last response and close */
    HTTP_AHEAD_MAX = 16 * 1024,   /* pipelined bytes kept before reading stops */
    HTTP_REFUSED_MAX = 64,        /* connections past connections_max that are told so */
    HTTP_DROPPED_MAX = 64 * 1024, /* a refused body up to this is read and dropped */
    HTTP_OWNERS_MAX = 100000,     /* owners with connections; others have no share of their own */
    HTTP_HEAD_MAX = 256 * 1024,   /* bytes of a response's head; headers past it are left out */
    HTTP_FRAMING_MAX = 1024,      /* bytes of these, kept for status line, Date and framing */
    HTTP_SPARE_MAX = 16 * 1024,   /* a request that holds more is not kept as a spare */
    HTTP_CORK_MAX = 16 * 1024,    /* bytes of one connection, gathered before they are sent */
    HTTP_HELD_MAX = 256 * 1024,   /* bytes of all connections */
    HTTP_STATUS_LEN = 17,         /* "HTTP/1.1 200 OK" and its line end */
    HTTP_DATE_LEN = 37,           /* "Date: ..." and its line end */
    HTTP_PREFIX_LEN = HTTP_STATUS_LEN + HTTP_DATE_LEN,
};

/* What is sent at the end of the turn: http_cork.c. */
struct http_cork {
    struct buf bytes;
    struct http_piece *pieces;
    uint32_t piece_count;
    uint32_t piece_room;
    uint32_t open; /* pieces that are not written yet */
};

struct http_server {
    struct loop *loop;
    struct http_opts opts;
    struct http1_limits parse_limits;
    struct listener *listener; /* NULL while draining, or without a socket */
    int port;
    struct list connections; /* all but the strangers */
    struct list strangers;   /* oldest first */
    size_t connection_count; /* both lists */
    size_t stranger_count;
    size_t upgraded_count;  /* connections that speak no HTTP any more */
    size_t memory;          /* what the connections have counted */
    size_t stranger_memory; /* the strangers' part of that */
    struct map owners;      /* name -> struct http_owner */
    struct buf head;        /* response heads are built here */
    struct str head_lines;  /* what follows the prefix in `head` */
    int64_t head_prefix_at; /* the prefix_at of that prefix; 0: `head` begins with something else */
    struct http_cork cork;
    struct loop_last flush;
    struct http_incoming *spare; /* kept for the next request, which usually comes after this one */
    struct http_incoming *handing; /* on_request is being called with it: it is freed after that */
    bool let_go;                   /* nobody holds it any more */
    char prefix[HTTP_PREFIX_LEN + 1]; /* of a 200: status line and Date, renewed once a second */
    int64_t prefix_at; /* the second for which it was made, by the loop's clock, plus one */
    struct timer grace;
    void (*drained)(void *data);
    void *drained_data;
    bool draining;
    bool closed;
};

/* A request while it is read, and until its response begins. */
struct http_incoming {
    struct http1 parser;
    struct buf body;
    int64_t body_from; /* when its head was complete */
    struct str lines;  /* from the ruling */
    struct http_mark mark;
    bool answered; /* by the ruling */
    bool unkept;   /* its body is dropped: its sender is not trusted, or nobody wants it */
};

/* What one owner holds. It exists while the owner has a connection. */
struct http_owner {
    size_t connections;
    size_t memory;
    size_t len;
    char name[];
};

/* What a connection's deadline is for. */
enum http_wait {
    HTTP_WAIT_NONE,
    HTTP_WAIT_FIRST, /* a stranger's first head */
    HTTP_WAIT_IDLE,
    HTTP_WAIT_HEAD,
    HTTP_WAIT_BODY,
    HTTP_WAIT_WRITE,
    HTTP_WAIT_LINGER,
};

struct http_ahead {
    struct buf bytes;
    size_t from; /* everything before it was taken */
};

struct http_arrival { /* somebody who wants to know whether a response has arrived */
    struct http_arrival *next;
    void (*arrived)(void *data, bool did);
    void *data;
};

struct http_conn {
    struct list link;
    struct http_server *server;
    struct stream *stream;
    struct http_incoming *incoming; /* NULL: no byte of a request yet */
    struct http_exchange *exchange; /* NULL: nothing to answer */
    struct http_ahead *ahead;       /* NULL: nothing came ahead */
    struct http_upgraded *upgraded; /* not NULL: somebody else has it as a stream */
    struct http_owner *owner;       /* NULL: it has none */
    struct timer timer;             /* fires at the deadline or before it */
    int64_t deadline;
    size_t counted; /* in server->memory */
    size_t put;     /* bytes handed to the stream so far; wraps */
    /* of these, how many had left the queue when the reader was last seen taking some */
    size_t taken;
    struct http_arrival *arrivals; /* of responses that were written; NULL: nobody wants to know */
    uint32_t held;                 /* the number of its piece in the cork, from 1; 0: it has none */
    struct peer peer;
    uint8_t wait;
    bool stranger;
    bool taking; /* inside conn_take */
    bool wiped;  /* bytes that are read now may be of a body that is wiped */
    bool paused; /* not reading: too much came ahead, or too much is unsent */
    bool ending; /* no more requests are read; bytes are dropped */
    bool ended;  /* the client has closed its side */
    bool broken; /* the connection broke */
    bool closed;
    bool resuming; /* a deferred call holds the connection */
    bool released; /* the stream is gone; free it when that call has run */
};

struct http_exchange {
    struct http_conn *conn;
    struct http_incoming *incoming; /* NULL once released */
    void (*gone)(void *data);
    void *gone_data;
    void (*drained)(void *data);
    void *drained_data;
    struct http_arrival *arrivals;
    struct str lines; /* from the ruling */
    size_t making;    /* bytes in use for the response, said by http_hold; in conn->counted */
    bool begun;
    bool head_only; /* HEAD: no body is sent, whatever is written */
    bool bodiless;  /* 204, 304 */
    bool chunked;
    bool keep_alive;
    bool old; /* HTTP/1.0 */
};

void conn_create(struct http_server *server, struct stream *stream, const struct peer *peer);
/* Closes it now; an open exchange is told that its client is gone. */
void conn_close(struct http_conn *conn);
bool conn_idle(const struct http_conn *conn);
void conn_write(struct http_conn *conn, const struct str *parts, size_t count);
/* The same for a piece that others may follow at once: they are sent together. See http_cork.c. */
void cork_init(struct http_cork *cork);
void cork_finish(struct http_cork *cork);
void cork_put(struct http_conn *conn, const struct str *parts, size_t count);
void cork_flush(struct http_conn *conn);
size_t cork_held(const struct http_conn *conn);
/* What is known of the responses so far: they have arrived, or they have not. */
void conn_arrived(struct http_arrival **arrivals, bool did);
/* The exchange was answered (and freed): goes on with the next request, or ends. */
void conn_answered(struct http_conn *conn, bool keep_alive);
/* Its stream is gone: frees it. */
void conn_gone(struct http_conn *conn);
/* The connection of such a stream was closed, and not by its new owner, who is told. */
void upgraded_cut(struct http_upgraded *upgraded);
/* Counts anew what the connection holds, and sets the deadline for what it waits for. */
void conn_settle(struct http_conn *conn);
/* The same if something may still be written in this turn: it is settled then. */
void conn_settle_soon(struct http_conn *conn);
void incoming_free(struct http_server *server, struct http_incoming *incoming);
void exchange_free(struct http_server *server, struct http_exchange *exchange);
/* Frees what is kept for the next request. */
void spare_free(struct http_server *server);

void server_free(struct http_server *server);
/* A connection was closed and freed. */
void server_forget(struct http_server *server, struct http_conn *conn);
/* "HTTP/1.1 200 OK" and "Date: ...", each with its line end; renewed once a second. */
struct str server_prefix(struct http_server *server);
/* A whole plain-text response that ends the connection, for a request that was refused. */
void response_refuse(struct http_conn *conn, int status, const char *why);
/* 101: the end of the exchange, and of HTTP on its connection. */
void response_upgrade(struct http_exchange *exchange, struct str protocol,
                      const struct http_header *headers, size_t header_count);
/* Sends the answer that on_head has given to the request that is being read. */
void response_rule(struct http_conn *conn, const struct http_ruling *ruling, bool keep_alive);

/* --- http_share.c --- */

/* A connection begins as a stranger's. The oldest stranger may have to go for it. */
void share_stranger(struct http_conn *conn);
/* It is no longer a stranger's: on_head trusts it, or it is being closed. */
void share_known(struct http_conn *conn);
/* It belongs to this owner from now on. False: the owner has as many as it may have. */
bool share_own(struct http_conn *conn, struct str who);
void share_disown(struct http_conn *conn);
/* The connection holds `now` bytes instead of conn->counted. */
void share_count(struct http_conn *conn, size_t now);
/* Strangers hold more than they may: the oldest are closed, but not this one. */
void share_bound_strangers(struct http_conn *conn);
/* Is there room for `more` bytes beside what is held? 0, or the status that says whose room is
 * short. */
int share_refuses(const struct http_conn *conn, size_t held, size_t more);
/* Is there room for one more connection? If not, a stranger's may be closed for it. */
bool share_has_place(struct http_server *server);

#endif
