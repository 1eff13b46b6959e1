/*
 * base/clock: the system's clocks, the same held for the length of an event, and one that stands
 * still until it is moved.
 *
 * Holds always: a thread that holds nothing reads the system's time, so whoever is not part of an
 * event, as a blocking handler on its thread, sees the time go on.
 */
#include "base/clock.h"

#include <time.h>

static int64_t read_ms(clockid_t which)
{
    struct timespec now;

    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t system_mono(const struct clock *clock)
{
    (void)clock;
    return read_ms(CLOCK_MONOTONIC);
}

static int64_t system_wall(const struct clock *clock)
{
    (void)clock;
    return read_ms(CLOCK_REALTIME);
}

const struct clock *clock_system(void)
{
    static const struct clock system = { system_mono, system_wall };

    return &system;
}

static _Thread_local struct {
    bool holds;
    int64_t mono, wall; /* 0: not looked at since clock_hold or clock_look_again */
} seen;

static int64_t look(int64_t *kept, clockid_t which)
{
    int64_t now = *kept;

    if (now == 0) {
        now = read_ms(which);
        if (seen.holds)
            *kept = now;
    }
    return now;
}

static int64_t held_mono(const struct clock *clock)
{
    (void)clock;
    return look(&seen.mono, CLOCK_MONOTONIC);
}

static int64_t held_wall(const struct clock *clock)
{
    (void)clock;
    return look(&seen.wall, CLOCK_REALTIME);
}

const struct clock *clock_held(void)
{
    static const struct clock held = { held_mono, held_wall };

    return &held;
}

static void forget(void)
{
    seen.mono = seen.wall = 0;
}

/* Mostly not even a millisecond has gone by: then the other clock need not be looked at. */
void clock_look_again(void)
{
    int64_t before = seen.mono, now = before ? read_ms(CLOCK_MONOTONIC) : 0;

    if (now != before || now == 0)
        seen.wall = 0;
    seen.mono = now;
}

void clock_hold(void)
{
    seen.holds = true;
    forget();
}

void clock_release(void)
{
    seen.holds = false;
    forget();
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
