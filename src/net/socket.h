/*
 * net/socket: a stream over an accepted socket, TCP or Unix, by its descriptor.
 *
 * The streams of net/stream go through libuv; a server has thousands of these, so an idle one is a
 * dozen words, and reading and writing are recv and send and nothing else.
 */
#ifndef NOD_NET_SOCKET_H
#define NOD_NET_SOCKET_H

#include "net/stream.h"

/* Takes over a connected socket, `local`: a Unix one. NULL: it cannot be watched, and was closed.
 */
struct stream *socket_stream_create(struct loop *loop, int fd, bool local);

#endif
