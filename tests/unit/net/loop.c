/* tests/unit/net/loop: posts, timers, deferred calls, slices, signals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "net/loop.h"
#include "../runner.h"

enum { LOG_MAX = 4096, POSTERS = 4, POSTS = 500, TURN_MS = 2000 };

struct log {
    struct loop *loop;
    int seen[LOG_MAX];
    int count;
};

struct note {
    struct log *log;
    int what;
};

static void write_note(void *data)
{
    const struct note *note = data;

    assert_true(note->log->count < LOG_MAX);
    note->log->seen[note->log->count++] = note->what;
}

static int setup(void **state)
{
    struct log *log = calloc(1, sizeof(*log));

    log->loop = loop_create();
    *state = log;
    return 0;
}

static int teardown(void **state)
{
    struct log *log = *state;

    loop_destroy(log->loop);
    free(log);
    return 0;
}

struct poster {
    struct log *log;
    struct note notes[POSTS];
    pthread_t thread;
};

static void *post_all(void *data)
{
    struct poster *poster = data;

    for (int i = 0; i < POSTS; i++)
        loop_post(poster->log->loop, write_note, &poster->notes[i]);
    return NULL;
}

static void posts_of_each_thread_arrive_all_and_in_order(void **state)
{
    struct log *log = *state;
    struct poster *posters = calloc(POSTERS, sizeof(*posters));
    int next[POSTERS] = { 0 };

    for (int p = 0; p < POSTERS; p++) {
        posters[p].log = log;
        for (int i = 0; i < POSTS; i++)
            posters[p].notes[i] = (struct note){ log, p * POSTS + i };
        pthread_create(&posters[p].thread, NULL, post_all, &posters[p]);
    }
    while (log->count < POSTERS * POSTS)
        loop_turn(log->loop, TURN_MS);
    for (int p = 0; p < POSTERS; p++)
        pthread_join(posters[p].thread, NULL);
    for (int i = 0; i < log->count; i++) {
        int p = log->seen[i] / POSTS;
        assert_int_equal(log->seen[i] % POSTS, next[p]++);
    }
    free(posters);
}

static void post_again(void *data)
{
    struct log *log = data;

    if (++log->count < 10)
        loop_post(log->loop, post_again, log);
}

static void a_post_may_post(void **state)
{
    struct log *log = *state;

    loop_post(log->loop, post_again, log);
    for (int i = 0; i < 100 && log->count < 10; i++)
        loop_turn(log->loop, TURN_MS);
    assert_int_equal(log->count, 10);
}

static void timers_fire_in_the_order_of_their_deadlines(void **state)
{
    struct log *log = *state;
    struct timer timers[5] = { 0 };
    struct note notes[5];
    const int after[5] = { 30, 5, 20, 1, 12 };
    const int order[4] = { 3, 1, 2, 0 };

    for (int i = 0; i < 5; i++) {
        notes[i] = (struct note){ log, i };
        timer_set(log->loop, &timers[i], after[i], write_note, &notes[i]);
    }
    timer_stop(log->loop, &timers[4]);
    timer_stop(log->loop, &timers[4]); /* fine on one that is not set */
    while (log->count < 4)
        loop_turn(log->loop, TURN_MS);
    for (int i = 0; i < 4; i++)
        assert_int_equal(log->seen[i], order[i]);
    loop_turn(log->loop, 0);
    assert_int_equal(log->count, 4);
}

static void a_timer_can_be_moved_both_ways(void **state)
{
    struct log *log = *state;
    struct timer early = { 0 };
    struct timer late = { 0 };
    struct note first = { log, 1 };
    struct note second = { log, 2 };

    timer_set(log->loop, &early, 60000, write_note, &first);
    timer_set(log->loop, &late, 1, write_note, &second);
    timer_set(log->loop, &early, 1, write_note, &first);
    timer_set(log->loop, &late, 20, write_note, &second);
    while (log->count < 2)
        loop_turn(log->loop, TURN_MS);
    assert_int_equal(log->seen[0], 1);
    assert_int_equal(log->seen[1], 2);
}

/* The loop was left alone: it finds both at once. */
static void what_came_before_a_timer_fires_is_heard_first(void **state)
{
    struct log *log = *state;
    struct timer timer = { 0 };
    struct note deadline = { log, 1 };
    struct note word = { log, 2 };

    timer_set(log->loop, &timer, 1, write_note, &deadline);
    loop_post(log->loop, write_note, &word);
    nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    while (log->count < 2)
        loop_turn(log->loop, TURN_MS);
    assert_int_equal(log->seen[0], 2);
    assert_int_equal(log->seen[1], 1);
}

struct rearming {
    struct log *log;
    struct timer timer;
};

static void rearm(void *data)
{
    struct rearming *rearming = data;

    rearming->log->count++;
    timer_set(rearming->log->loop, &rearming->timer, 0, rearm, rearming);
}

static void a_timer_that_sets_itself_again_does_not_hold_the_loop(void **state)
{
    struct log *log = *state;
    struct rearming rearming = { .log = log };

    timer_set(log->loop, &rearming.timer, 0, rearm, &rearming);
    for (int i = 0; i < 3; i++) { /* returns at all */
        int before = log->count;
        while (log->count == before)
            loop_turn(log->loop, TURN_MS);
    }
    timer_stop(log->loop, &rearming.timer);
    assert_true(log->count >= 3);
}

static void a_timer_alone_does_not_keep_the_loop_running(void **state)
{
    struct log *log = *state;
    struct timer timer = { 0 };
    struct note note = { log, 1 };

    timer_set(log->loop, &timer, 60000, write_note, &note);
    loop_run(log->loop); /* returns, or the test hangs */
    assert_int_equal(log->count, 0);
    timer_stop(log->loop, &timer);
}

static void deferred_calls_run_in_order_before_the_loop_waits(void **state)
{
    struct log *log = *state;
    struct note notes[3] = { { log, 0 }, { log, 1 }, { log, 2 } };

    for (int i = 0; i < 3; i++)
        loop_defer(log->loop, write_note, &notes[i]);
    assert_int_equal(log->count, 0); /* not at once */
    int64_t before = loop_now(log->loop);
    loop_turn(log->loop, PATIENCE_MS);
    assert_int_equal(log->count, 3);
    assert_true(loop_now(log->loop) - before < PATIENCE_MS);
    for (int i = 0; i < 3; i++)
        assert_int_equal(log->seen[i], i);
}

static void defer_again(void *data)
{
    struct log *log = data;

    log->count++;
    loop_defer(log->loop, defer_again, log);
}

struct stopper {
    struct log *log;
    bool fired;
};

static void stop(void *data)
{
    struct stopper *stopper = data;

    stopper->fired = true;
    loop_stop(stopper->log->loop);
}

static void endless_deferring_starves_nobody(void **state)
{
    struct log *log = calloc(1, sizeof(*log)); /* its loop is left with something deferred */
    struct stopper stopper = { .log = log };
    (void)state;

    log->loop = loop_create();
    loop_defer(log->loop, defer_again, log);
    loop_post(log->loop, stop, &stopper);
    loop_run(log->loop);
    assert_true(stopper.fired);
    assert_true(log->count > 0);
    loop_destroy(log->loop);
    free(log);
}

static void a_signal_is_told_on_the_loop(void **state)
{
    struct log *log = *state;
    struct note note = { log, 7 };

    assert_true(loop_signal(log->loop, SIGUSR1, write_note, &note));
    kill(getpid(), SIGUSR1);
    while (!log->count)
        loop_turn(log->loop, TURN_MS);
    assert_int_equal(log->seen[0], 7);
    for (int i = 1; i < LOOP_SIGNALS_MAX; i++)
        assert_true(loop_signal(log->loop, SIGUSR2, write_note, &note));
    assert_false(loop_signal(log->loop, SIGUSR2, write_note, &note));
}

static void what_was_posted_is_run_before_the_loop_is_destroyed(void **state)
{
    struct log log = { .loop = loop_create() };
    struct note note = { &log, 1 };
    (void)state;

    loop_post(log.loop, write_note, &note);
    loop_destroy(log.loop);
    assert_int_equal(log.count, 1);
}

/* libuv counts in milliseconds, and looks at the timers before it waits: a turn that begins a
 * moment before the next millisecond finds its own timer due already. Here each does. */
enum { EDGE_TURNS = 600, EDGE_NS = 6000, MS_NS = 1000000 };

static void wait_for_the_edge(long ns_before)
{
    struct timespec now;

    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (MS_NS - now.tv_nsec % MS_NS > ns_before);
}

static void a_turn_ends_also_if_its_time_is_over_before_it_waits(void **state)
{
    struct log *log = *state;
    uv_async_t waits; /* something that may happen, and does not: the loop waits for it */

    assert_int_equal(uv_async_init(loop_uv(log->loop), &waits, NULL), 0);
    alarm(PATIENCE_MS / 1000); /* ends the test, and so fails it */
    for (int i = 0; i < EDGE_TURNS; i++) {
        wait_for_the_edge(EDGE_NS * (i % 20 + 1) / 20);
        loop_turn(log->loop, 1);
    }
    alarm(0);
    uv_close((uv_handle_t *)&waits, NULL);
    loop_turn(log->loop, 0);
}

/* --- slices --- */

enum { SPIN_MS = 2, SPINS = 40, LONG_MS = TURN_MOST_MS + 10 };

/* CPU time of this thread, and so not less of any other. */
static void spin(int ms)
{
    struct timespec now, end;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    end.tv_nsec += (long)ms * MS_NS;
    end.tv_sec += end.tv_nsec / (1000 * MS_NS);
    end.tv_nsec %= 1000 * MS_NS;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static void spin_and_note(void *data)
{
    const struct note *note = data;
    enum turn_work before = loop_spend(note->log->loop, TURN_LISTS);

    spin(SPIN_MS);
    loop_spend(note->log->loop, before);
    write_note(data);
}

static void assert_in_order(const struct log *log, int count)
{
    assert_int_equal(log->count, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(log->seen[i], i);
}

/* Each takes much less than a slice, and all of them much more. */
static void long_deferred_calls_are_spread_over_turns_in_order(void **state)
{
    struct log *log = *state;
    struct note notes[SPINS];
    int turns = 0;

    loop_turn(log->loop, 0);
    for (int i = 0; i < SPINS; i++) {
        notes[i] = (struct note){ log, i };
        if (i % 2)
            loop_post(log->loop, spin_and_note, &notes[i]);
        else
            loop_defer(log->loop, spin_and_note, &notes[i]);
    }
    for (; log->count < SPINS; turns++) {
        int before = log->count;
        loop_turn(log->loop, 0);
        assert_true(log->count > before || turns == 0);
        assert_true((log->count - before) * SPIN_MS <= 2 * LOOP_SLICE_MS);
    }
    assert_true(turns >= SPINS * SPIN_MS / (2 * LOOP_SLICE_MS));
    for (int i = 0; i < SPINS / 2; i++) {
        assert_int_equal(log->seen[i], 2 * i);                 /* those that were deferred */
        assert_int_equal(log->seen[SPINS / 2 + i], 2 * i + 1); /* and behind them those posted */
    }
}

static void long_timers_are_spread_over_turns_in_order(void **state)
{
    struct log *log = *state;
    struct note notes[SPINS];
    struct timer timers[SPINS] = { 0 };

    for (int i = 0; i < SPINS; i++) {
        notes[i] = (struct note){ log, i };
        timer_set(log->loop, &timers[i], i, spin_and_note, &notes[i]);
    }
    usleep(SPINS * 1000); /* all of them are due */
    while (log->count < SPINS) {
        int before = log->count;
        loop_turn(log->loop, TURN_MS);
        assert_true((log->count - before) * SPIN_MS <= 2 * LOOP_SLICE_MS);
    }
    assert_in_order(log, SPINS);
}

struct spell {
    struct loop *loop;
    enum turn_work work;
    int ms;
    int64_t took_ns; /* by the clock on the wall */
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 * MS_NS + now.tv_nsec;
}

static void figures_of(struct loop *loop, struct turn_figures figures[TURN_WORKS])
{
    for (int work = 0; work < TURN_WORKS; work++)
        figures[work] = loop_figures(loop, (enum turn_work)work);
}

static void spend_a_spell(void *data)
{
    struct spell *spell = data;
    enum turn_work before = loop_spend(spell->loop, spell->work);
    int64_t began = now_ns();

    spin(spell->ms);
    spell->took_ns = now_ns() - began;
    loop_spend(spell->loop, before);
}

static void a_turn_counts_for_what_took_most_of_it(void **state)
{
    struct log *log = *state;
    struct spell mostly = { log->loop, TURN_WEBHOOKS, LONG_MS, 0 };
    struct spell little = { log->loop, TURN_HANDLERS, 1, 0 };
    struct turn_figures before[TURN_WORKS], after[TURN_WORKS];
    int64_t began, all;

    /* Until other processes leave it alone: what they take counts for whatever was under way. */
    do {
        figures_of(log->loop, before);
        began = now_ns();
        loop_defer(log->loop, spend_a_spell, &little);
        loop_defer(log->loop, spend_a_spell, &mostly);
        for (int i = 0; i < 4; i++)
            loop_turn(log->loop, 0);
        all = now_ns() - began;
        usleep(LONG_MS * 1000); /* a wait is no work */
        loop_turn(log->loop, 0);
        figures_of(log->loop, after);
    } while (all - mostly.took_ns > LONG_MS / 4 * MS_NS);
    /* a turn is the shorter of two clocks, which differ a little */
    assert_true(after[TURN_WEBHOOKS].longest_ns >= (int64_t)(LONG_MS - 1) * MS_NS);
    assert_int_equal(after[TURN_WEBHOOKS].too_long - before[TURN_WEBHOOKS].too_long, 1);
    assert_int_equal(after[TURN_HANDLERS].too_long - before[TURN_HANDLERS].too_long, 0);
    assert_int_equal(after[TURN_REQUESTS].too_long - before[TURN_REQUESTS].too_long, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(loop)
{
    const struct CMUnitTest tests[] = {
        TEST(posts_of_each_thread_arrive_all_and_in_order),
        TEST(a_post_may_post),
        TEST(timers_fire_in_the_order_of_their_deadlines),
        TEST(a_timer_can_be_moved_both_ways),
        TEST(what_came_before_a_timer_fires_is_heard_first),
        TEST(a_timer_that_sets_itself_again_does_not_hold_the_loop),
        TEST(a_timer_alone_does_not_keep_the_loop_running),
        TEST(deferred_calls_run_in_order_before_the_loop_waits),
        cmocka_unit_test(endless_deferring_starves_nobody),
        TEST(long_deferred_calls_are_spread_over_turns_in_order),
        TEST(long_timers_are_spread_over_turns_in_order),
        TEST(a_turn_counts_for_what_took_most_of_it),
        TEST(a_signal_is_told_on_the_loop),
        TEST(a_turn_ends_also_if_its_time_is_over_before_it_waits),
        cmocka_unit_test(what_was_posted_is_run_before_the_loop_is_destroyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
