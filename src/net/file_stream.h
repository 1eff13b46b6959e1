/*
 * net/file_stream: a descriptor that the kernel cannot wait for (a regular file, /dev/null).
 *
 * Reads one buffer in each turn, and writes at once. Takes the descriptor over.
 */
#ifndef NOD_NET_FILE_STREAM_H
#define NOD_NET_FILE_STREAM_H

#include "net/stream.h"

struct stream *file_stream_create(struct loop *loop, int fd);

#endif
