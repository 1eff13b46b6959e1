/*
 * later: the clock of a process, as far ahead as a file says.
 *
 * Linked into a server of the tests, and loaded into a Redis (LD_PRELOAD), so that both are as late
 * as each other. The wall clock and the monotonic one are moved by as much: time has passed.
 */
#include "later.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default"))) /* by whoever it is loaded into */

int64_t later_ms(void)
{
    static const _Atomic int64_t none;
    static const _Atomic int64_t *_Atomic ahead;

    if (ahead == NULL) {
        const char *path = getenv("NOD_LATER_FILE");
        int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        void *at = fd >= 0 ? mmap(NULL, sizeof(*ahead), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

        if (fd >= 0)
            close(fd);
        ahead = at != MAP_FAILED ? at : &none;
    }
    return *ahead;
}

SEEN int clock_gettime(clockid_t clock, struct timespec *out)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, out);

    if (failed == 0 && clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID)
        out->tv_sec += (time_t)(later_ms() / 1000);
    return failed;
}

SEEN int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;

    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

SEEN time_t time(time_t *out)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}
