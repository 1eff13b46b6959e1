/*
 * net/child: a child process whose stdin and stdout are one stream.
 *
 * stderr stays ours, so that what the child says there is seen. The stream is the caller's, as any
 * other; it may outlive the child (what it wrote last is still to be read) and the other way round.
 */
#ifndef NOD_NET_CHILD_H
#define NOD_NET_CHILD_H

#include "net/stream.h"

struct child;

struct child_opts {
    const char *const *argv; /* ends with NULL; argv[0] is looked up in PATH */
    const char *const *env;  /* ends with NULL; NULL: ours */
    const char *cwd;         /* NULL: ours */
    /* Once, when it has ended: its exit status, or the signal that ended it. May be NULL. */
    void (*on_exit)(int64_t status, int signo, void *data);
    void *data;
};

/* NOD_E_NOT_FOUND if there is no such program; else NOD_E_IO; both with a log line. */
nod_status child_spawn(struct loop *loop, const struct child_opts *opts, struct child **out,
                       struct stream **stream);
int child_pid(const struct child *child);
/* False if it has ended already. */
bool child_kill(struct child *child, int signo);
/* No on_exit after this. A child that still runs is killed; frees itself when it has ended. */
void child_close(struct child *child);

#endif
