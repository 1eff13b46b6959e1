/*
 * net/listener: a socket that accepts connections.
 *
 * host is an address ("127.0.0.1", "::1", "0.0.0.0"), "localhost" (both loopback addresses, or
 * 127.0.0.1 alone where there is no IPv6) or "unix:PATH" (a socket that only this user may connect to; a stale one is
 * replaced, a live one is not).
 */
#ifndef NOD_NET_LISTENER_H
#define NOD_NET_LISTENER_H

#include "net/peer.h"
#include "net/stream.h"

struct listener;

typedef void listener_accepted_fn(struct stream *stream, const struct peer *peer, void *data);

/* Connections that wait to be accepted. The kernel may have a lower bound of its own. */
enum { LISTENER_BACKLOG = 1024 };

/* accepted() owns the stream it is given; the peer is valid during the call. Port 0 takes a free
 * one. NOD_E_STALE, logged: it is taken. NOD_E_IO, logged: it failed otherwise. */
nod_status listener_open(struct loop *loop, struct str host, int port,
                         listener_accepted_fn *accepted, void *data, struct listener **out);
/* The port it got; 0 for a Unix socket. */
int listener_port(const struct listener *listener);
/* accepted() is not called after this. Freed on a later turn. */
void listener_close(struct listener *listener);

#endif
