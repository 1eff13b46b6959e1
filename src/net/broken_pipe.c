/*
 * net/broken_pipe: SIGPIPE is blocked on the thread while nod writes, and dropped afterwards.
 *
 * Neither libuv nor OpenSSL can be told to write without that signal. To ignore it would change the
 * whole process, which may belong to somebody else (nod_start). Its mask is the thread's own, and
 * the signal of a write comes to the thread that has written.
 *
 * Holds always: a SIGPIPE that was pending before is pending afterwards, and what the process does
 * about the signal does not change. Holds may be nested.
 */
#include "net/broken_pipe.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static sigset_t pipe_alone(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return set;
}

void broken_pipe_hold(struct broken_pipe *held)
{
    sigset_t set = pipe_alone(), pending;

    pthread_sigmask(SIG_BLOCK, &set, &held->before);
    held->was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

void broken_pipe_release(const struct broken_pipe *held)
{
    sigset_t set = pipe_alone();
    int saved = errno;

    if (!held->was_pending)
        while (sigtimedwait(&set, NULL, &(struct timespec){ 0 }) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &held->before, NULL);
    errno = saved;
}
