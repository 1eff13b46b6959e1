/*
 * net/broken_pipe: writing to a peer that is gone is an error of that stream, not the end of the
 * process, and nobody's signal.
 */
#ifndef NOD_NET_BROKEN_PIPE_H
#define NOD_NET_BROKEN_PIPE_H

#include <signal.h>
#include <stdbool.h>

struct broken_pipe {
    sigset_t before; /* the signals that this thread blocked */
    bool was_pending;
};

/* On this thread, until the release: SIGPIPE waits. */
void broken_pipe_hold(struct broken_pipe *held);
/* A SIGPIPE that came meanwhile is dropped, and the thread is as it was. errno does not change. */
void broken_pipe_release(const struct broken_pipe *held);

#endif
