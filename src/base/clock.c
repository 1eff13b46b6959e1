/* base/clock: the system's clocks, and one that stands still until it is moved. */
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
