/*
 * tests/unit/base/clock: how often an event reads the system's clocks, and how soon it sees that
 * one was set.
 *
 * The system's clock is replaced here by one that is moved by hand and counts how often it is read.
 */
#include "base/clock.h"
#include "../runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

enum { NS_OF_MS = 1000000 };

static int64_t mono_ns, wall_ns;
static int64_t halt_ns; /* how long the reader is kept from running behind a reading */
static int readings;

int clock_gettime(clockid_t which, struct timespec *out)
{
    int64_t now = which == CLOCK_REALTIME ? wall_ns : mono_ns;

    *out = (struct timespec){ .tv_sec = now / 1000000000, .tv_nsec = now % 1000000000 };
    mono_ns += halt_ns;
    wall_ns += halt_ns;
    readings++;
    return 0;
}

static void time_passes(int64_t ns)
{
    mono_ns += ns;
    wall_ns += ns;
}

static int64_t ms(int64_t ns)
{
    return ns / NS_OF_MS;
}

static int begin(void **state)
{
    (void)state;
    time_passes(INT64_C(3600) * 1000000000); /* nothing that was seen before is still believed */
    mono_ns += 123456;
    wall_ns += INT64_C(1700000000) * 1000000000 + 789012;
    halt_ns = 0;
    clock_hold();
    clock_wall(clock_held());
    clock_release();
    readings = 0;
    return 0;
}

static void a_look_is_one_reading_whichever_time_is_wanted(void **state)
{
    const struct clock *held = clock_held();
    (void)state;

    time_passes(NS_OF_MS);
    clock_hold();
    assert_int_equal(clock_wall(held), ms(wall_ns));
    assert_int_equal(clock_mono(held), ms(mono_ns));
    assert_int_equal(readings, 1);
    time_passes(NS_OF_MS);
    clock_look_again();
    assert_int_equal(clock_mono(held), ms(mono_ns));
    assert_int_equal(clock_wall(held), ms(wall_ns));
    assert_int_equal(readings, 2);
    clock_release();
}

static void an_exact_look_is_the_time_of_the_event_from_then_on(void **state)
{
    const struct clock *held = clock_held();
    (void)state;

    time_passes(NS_OF_MS);
    clock_hold();
    assert_int_equal(clock_wall(held), ms(wall_ns));
    time_passes(NS_OF_MS + 1);
    assert_int_equal(clock_look_ns(), mono_ns);
    assert_int_equal(clock_mono(held), ms(mono_ns));
    assert_int_equal(clock_wall(held), ms(wall_ns));
    assert_int_equal(readings, 2);
    clock_release();
    assert_int_equal(clock_look_ns(), mono_ns);
    time_passes(NS_OF_MS);
    assert_int_equal(clock_mono(held), ms(mono_ns)); /* nothing is kept outside of an event */
}

static void a_wall_clock_that_is_set_is_seen_soon_forward_and_back(void **state)
{
    const struct clock *held = clock_held();
    const int64_t steps[] = { INT64_C(86400) * 1000000000, INT64_C(-7200) * 1000000000 };
    (void)state;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        wall_ns += steps[i];
        time_passes(CLOCK_WALL_LATE_MS * NS_OF_MS);
        clock_hold();
        assert_int_equal(clock_wall(held), ms(wall_ns));
        clock_release();
    }
    wall_ns += steps[0]; /* outside of an event it is seen at once */
    assert_int_equal(clock_wall(held), ms(wall_ns));
}

static void readings_that_lie_apart_are_not_relied_upon(void **state)
{
    const struct clock *held = clock_held();
    (void)state;

    time_passes(CLOCK_WALL_LATE_MS * NS_OF_MS);
    halt_ns = 20 * NS_OF_MS;
    clock_hold();
    int64_t wall = clock_wall(held);
    assert_true(wall <= ms(wall_ns));
    assert_int_equal(clock_wall(held), wall); /* one event, one time */
    clock_release();
    halt_ns = 0;
    clock_hold();
    assert_int_equal(clock_wall(held), ms(wall_ns));
    clock_release();
}

static void a_date_is_that_of_the_calendar(void **state)
{
    enum { STEP = 86400 * 13 + 3607, LAST = 253402300799 / STEP };
    (void)state;

    for (int64_t i = -1000; i <= LAST; i++) {
        time_t seconds = (time_t)(i * STEP);
        char expected[32], date[CLOCK_DATE_LEN + 1] = "";
        struct tm utc;

        gmtime_r(&seconds, &utc);
        strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S", &utc);
        clock_date(seconds, date);
        assert_string_equal(date, expected);
    }
}

SUBJECT(clock)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_look_is_one_reading_whichever_time_is_wanted, begin),
        cmocka_unit_test_setup(an_exact_look_is_the_time_of_the_event_from_then_on, begin),
        cmocka_unit_test_setup(a_wall_clock_that_is_set_is_seen_soon_forward_and_back, begin),
        cmocka_unit_test_setup(readings_that_lie_apart_are_not_relied_upon, begin),
        cmocka_unit_test(a_date_is_that_of_the_calendar),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
