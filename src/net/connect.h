/*
 * net/connect: an outgoing connection as a stream.
 *
 * A name is looked up on a thread of libuv, and its addresses are tried one after the other. The
 * whole attempt has one deadline. Nothing blocks the loop.
 */
#ifndef NOD_NET_CONNECT_H
#define NOD_NET_CONNECT_H

#include "net/stream.h"

struct connecting;

enum {
    CONNECT_MS = 5000,     /* for a whole attempt: name, addresses, connection */
    CONNECT_WHY_MAX = 256, /* bytes of an error message */
};

struct connect_opts {
    struct str host; /* an address, or a name */
    int port;
    struct str path;    /* a Unix socket, instead of host and port */
    int64_t timeout_ms; /* 0: CONNECT_MS */
    bool background;    /* the stream does not keep loop_run alive */
};

/* A stream, which the callee owns; or NULL and a message. Called on a later turn, exactly once. */
typedef void connect_done(void *data, struct stream *stream, const char *why);

struct connecting *connect_begin(struct loop *loop, const struct connect_opts *opts,
                                 connect_done *done, void *data);
/* Only before done() was called, which it then never is. */
void connect_cancel(struct connecting *connecting);

#endif
