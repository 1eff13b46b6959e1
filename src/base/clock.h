/*
 * base/clock: the time, as something that is handed in.
 *
 * Monotonic time measures durations on this node; wall time is what records carry. Both are in
 * milliseconds. Tests hand in a fake_clock and move it.
 */
#ifndef NOD_BASE_CLOCK_H
#define NOD_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct clock {
    int64_t (*mono_ms)(const struct clock *clock);
    int64_t (*wall_ms)(const struct clock *clock); /* since 1970 */
};

const struct clock *clock_system(void);

enum {
    CLOCK_WALL_LATE_MS = 4 /* how late an event may see that the wall clock was set */
};

/*
 * The system's clock, read once in an event. A loop brackets each event by clock_hold and
 * clock_release, and everything in between on this thread sees the time of its first read, or of
 * the last clock_look_ns. Outside of an event, and on threads without events, it is the system's
 * clock. After something that may have taken long (a handler, a hook), look again, because
 * deadlines count from when they are set. Brackets do not nest.
 */
const struct clock *clock_held(void);
void clock_hold(void);
void clock_look_again(void);
/* The exact monotonic time, read now. An event that is under way sees this time from now on. */
int64_t clock_look_ns(void);
void clock_release(void);

/* Seconds since 1970 as "2026-11-18T23:14:00". Nothing of the C library is asked, which may hold a
 * lock when a signal comes. Years 0 to 9999. */
enum { CLOCK_DATE_LEN = sizeof("1970-01-01T00:00:00") - 1 };
void clock_date(int64_t seconds, char out[CLOCK_DATE_LEN]);

struct fake_clock {
    struct clock clock; /* first: hand in &fake.clock */
    int64_t mono;
    int64_t wall;
};

void fake_clock_init(struct fake_clock *fake, int64_t wall_ms);
void fake_clock_advance(struct fake_clock *fake, int64_t ms);

static inline int64_t clock_mono(const struct clock *clock)
{
    return clock->mono_ms(clock);
}

static inline int64_t clock_wall(const struct clock *clock)
{
    return clock->wall_ms(clock);
}

#endif
