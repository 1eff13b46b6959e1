/*
 * net/pipe: this process's own stdin and stdout as lines.
 *
 * One message in each line, UTF-8, ended by '\n' ('\r\n' is accepted). A line over the limit is
 * reported once (on_line with NULL at) and skipped to its end. Writes are queued up to a limit;
 * on_drain tells when there is room again.
 */
#ifndef NOD_NET_PIPE_H
#define NOD_NET_PIPE_H

#include <nod/nod.h>

#include "base/str.h"
#include "net/loop.h"

struct pipe_lines;
struct stream;

struct pipe_opts {
    int read_fd;  /* 0, or another; both are closed, unless they are standard streams */
    int write_fd; /* 1, or another, also the same */
    size_t line_max;
    size_t queue_max;
    void (*on_line)(struct str line,
                    void *data);  /* the slice is valid during the call; {NULL,0}: too long */
    void (*on_end)(void *data);   /* end of input, or a broken pipe; once */
    void (*on_drain)(void *data); /* may be NULL */
    void *data;
};

/*
 * Takes the descriptors over: they are closed with the pipe, except 0, 1 and 2, which it copies.
 * NOD_E_IO, logged: it failed.
 */
nod_status pipe_open(struct loop *loop, const struct pipe_opts *opts, struct pipe_lines **out);
/* The same over any stream (a child, a socket), which it owns. The descriptors are ignored. */
struct pipe_lines *pipe_attach(struct loop *loop, struct stream *stream,
                               const struct pipe_opts *opts);
/* A line, without its end. False, and nothing is queued, past queue_max. */
bool pipe_write(struct pipe_lines *pipe, struct str line);
size_t pipe_queued(const struct pipe_lines *pipe);
/* Writes what is queued (for at most grace_ms), closes, and calls done(), and nothing else. */
void pipe_close(struct pipe_lines *pipe, int grace_ms, void (*done)(void *data), void *data);

#endif
