/*
 * base/clock: the system's clocks, a clock that stands still during an event, and a fake one for
 * tests.
 *
 * An event reads only the monotonic clock. How far the wall clock is ahead of it is measured every
 * few milliseconds, as it changes only when somebody sets the clock. So one reading of the system's
 * clocks is enough, whichever time is wanted.
 *
 * Holds always: a thread that is not in an event, such as a blocking handler's, reads the system's
 * time and sees it go on.
 */
#include "base/clock.h"

#ifdef NOD_CRASH_POINTS
#include <stdatomic.h>
#include <stdlib.h>
#endif
#include <string.h>
#include <time.h>

enum {
    NS_OF_MS = 1000000,
    AHEAD_UNSURE_MS = 1, /* two readings further apart than this are not compared */
    AHEAD_TRIES = 3,     /* tries to get two close readings */
};

#ifdef NOD_CRASH_POINTS
/* For tests of wrong clocks: NOD_CLOCK_AHEAD_MS. */
static int64_t wrong_by_ns(void)
{
    static _Atomic int64_t known = INT64_MIN;
    int64_t ns = atomic_load(&known);

    if (ns == INT64_MIN) {
        const char *ms = getenv("NOD_CLOCK_AHEAD_MS");
        ns = ms ? strtoll(ms, NULL, 10) * NS_OF_MS : 0;
        atomic_store(&known, ns);
    }
    return ns;
}
#else
static int64_t wrong_by_ns(void)
{
    return 0;
}
#endif

static int64_t read_ns(clockid_t which)
{
    struct timespec now;

    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec +
           (which == CLOCK_REALTIME ? wrong_by_ns() : 0);
}

static int64_t system_mono(const struct clock *clock)
{
    (void)clock;
    return read_ns(CLOCK_MONOTONIC) / NS_OF_MS;
}

static int64_t system_wall(const struct clock *clock)
{
    (void)clock;
    return read_ns(CLOCK_REALTIME) / NS_OF_MS;
}

const struct clock *clock_system(void)
{
    static const struct clock system = { system_mono, system_wall };

    return &system;
}

static _Thread_local struct {
    int64_t mono, wall;  /* of this event; 0: not read since clock_hold or clock_look_again */
    int64_t now_ns;      /* the exact time of mono and wall; set with mono */
    int64_t ahead_ns;    /* how far the wall clock is ahead of the monotonic one */
    int64_t ahead_at_ns; /* when that was measured; 0: never, or not reliably */
    bool holds;
} seen;

int64_t clock_look_ns(void)
{
    int64_t now = read_ns(CLOCK_MONOTONIC);

    if (seen.holds) {
        seen.now_ns = now;
        seen.mono = now / NS_OF_MS;
        seen.wall = 0;
    }
    return now;
}

static __attribute__((noinline)) int64_t mono_look(void)
{
    return clock_look_ns() / NS_OF_MS;
}

/* If the thread is interrupted between the readings, it tries again, or else the next time. */
static void ahead_find(void)
{
    seen.ahead_at_ns = 0;
    for (int i = 0; i < AHEAD_TRIES && seen.ahead_at_ns == 0; i++) {
        int64_t before = read_ns(CLOCK_MONOTONIC);
        int64_t wall = read_ns(CLOCK_REALTIME);
        int64_t after = read_ns(CLOCK_MONOTONIC);
        seen.ahead_ns = wall - before;
        if (after - before < AHEAD_UNSURE_MS * NS_OF_MS)
            seen.ahead_at_ns = before;
    }
}

static __attribute__((noinline)) int64_t wall_look(void)
{
    if (!seen.holds)
        return read_ns(CLOCK_REALTIME) / NS_OF_MS;
    if (seen.mono == 0)
        mono_look();
    if (seen.ahead_at_ns == 0 || seen.now_ns - seen.ahead_at_ns >= CLOCK_WALL_LATE_MS * NS_OF_MS)
        ahead_find();
    seen.wall = (seen.now_ns + seen.ahead_ns) / NS_OF_MS;
    return seen.wall;
}

static int64_t held_mono(const struct clock *clock)
{
    (void)clock;
    return seen.mono ? seen.mono : mono_look();
}

static int64_t held_wall(const struct clock *clock)
{
    (void)clock;
    return seen.wall ? seen.wall : wall_look();
}

const struct clock *clock_held(void)
{
    static const struct clock held = { held_mono, held_wall };

    return &held;
}

void clock_look_again(void)
{
    seen.mono = seen.wall = 0;
}

void clock_hold(void)
{
    seen.holds = true;
    clock_look_again();
}

void clock_release(void)
{
    seen.holds = false;
    clock_look_again();
}

static int64_t fake_mono(const struct clock *clock)
{
    return ((const struct fake_clock *)clock)->mono;
}

static int64_t fake_wall(const struct clock *clock)
{
    return ((const struct fake_clock *)clock)->wall;
}

void fake_clock_init(struct fake_clock *fake, int64_t wall_ms)
{
    *fake = (struct fake_clock){ { fake_mono, fake_wall }, 1000, wall_ms };
}

void fake_clock_advance(struct fake_clock *fake, int64_t ms)
{
    fake->mono += ms;
    fake->wall += ms;
}

/* --- dates --- */

static void put_digits(char *at, int digits, int64_t n)
{
    for (int i = digits - 1; i >= 0; i--, n /= 10)
        at[i] = (char)('0' + n % 10);
}

/* Years begin in March here, so that the day that is there in some years only is the last one; and
 * every 400 years the calendar begins anew. */
void clock_date(int64_t seconds, char out[CLOCK_DATE_LEN])
{
    int64_t days = seconds / 86400 - (seconds % 86400 < 0), of_day = seconds - days * 86400;
    int64_t since = days + 719468, era = since / 146097, of_era = since % 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153, day = of_year - (153 * month + 2) / 5 + 1;

    month += month < 10 ? 3 : -9;
    memcpy(out, "0000-00-00T00:00:00", CLOCK_DATE_LEN);
    put_digits(out, 4, year + era * 400 + (month <= 2));
    put_digits(out + 5, 2, month);
    put_digits(out + 8, 2, day);
    put_digits(out + 11, 2, of_day / 3600);
    put_digits(out + 14, 2, of_day / 60 % 60);
    put_digits(out + 17, 2, of_day % 60);
}
