/*
 * A connection without a kernel: what is written to one end is read from the other.
 */
#ifndef NOD_TESTS_MEMORY_STREAM_H
#define NOD_TESTS_MEMORY_STREAM_H

#include "net/stream.h"

struct memory_stream_opts {
    size_t piece_max;  /* bytes given to one on_read; 0: all there are */
    size_t window_max; /* unread bytes that count as "taken by the kernel"; 0: no bound */
};
void memory_stream_pair(struct loop *loop, const struct memory_stream_opts *opts, struct stream **a,
                        struct stream **b);

#endif
