/* tests/unit/provider/workers: the pool for handlers that may block. Also run with the thread
 * sanitizer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <semaphore.h>

#include "provider/workers.h"
#include "../runner.h"

enum { TURN_MS = 1000 };

static struct loop *loop;
static struct workers *pool;
static pthread_t loop_thread;

struct piece {
    struct work work; /* first */
    sem_t *began;
    sem_t *go_on;
    int ran;
    int done;
    bool was_run;
    bool done_on_loop;
    int posts;      /* to send from run() */
    int posts_seen; /* when done() came */
    int seen;
};

static void piece_post(void *data)
{
    ((struct piece *)data)->seen++;
}

static void piece_run(struct work *work)
{
    struct piece *p = (struct piece *)(void *)work;

    if (p->began)
        sem_post(p->began);
    if (p->go_on)
        while (sem_wait(p->go_on) != 0)
            ;
    for (int i = 0; i < p->posts; i++)
        loop_post(loop, piece_post, p);
    p->ran++;
}

static void piece_done(struct work *work, bool was_run)
{
    struct piece *p = (struct piece *)(void *)work;

    p->done++;
    p->was_run = was_run;
    p->posts_seen = p->seen;
    p->done_on_loop = pthread_equal(pthread_self(), loop_thread);
}

static struct piece piece_of(sem_t *began, sem_t *go_on)
{
    return (struct piece){ .work = { .run = piece_run, .done = piece_done },
                           .began = began,
                           .go_on = go_on };
}

static void until_done(const struct piece *p)
{
    while (!p->done)
        loop_turn(loop, TURN_MS);
}

static int setup(void **state)
{
    (void)state;
    loop_thread = pthread_self();
    loop = loop_create();
    pool = workers_create(loop, 2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_true(workers_destroy(pool, 5000));
    loop_destroy(loop);
    return 0;
}

static void a_work_runs_on_another_thread_and_is_done_on_the_loop(void **state)
{
    struct piece p = piece_of(NULL, NULL);
    (void)state;

    assert_int_equal(workers_submit(pool, &p.work), NOD_OK);
    until_done(&p);
    assert_int_equal(p.ran, 1);
    assert_true(p.was_run);
    assert_true(p.done_on_loop);
}

static void what_a_work_posts_arrives_before_its_end(void **state)
{
    struct piece p = piece_of(NULL, NULL);
    (void)state;

    p.posts = 100;
    assert_int_equal(workers_submit(pool, &p.work), NOD_OK);
    until_done(&p);
    assert_int_equal(p.posts_seen, 100);
}

static void threads_are_started_when_needed_and_never_more_than_the_pool_has(void **state)
{
    enum { MANY = 64 };
    struct piece pieces[MANY];
    (void)state;

    assert_int_equal(workers_threads(pool), 0);
    for (int i = 0; i < MANY; i++) {
        pieces[i] = piece_of(NULL, NULL);
        assert_int_equal(workers_submit(pool, &pieces[i].work), NOD_OK);
        assert_true(workers_threads(pool) <= 2);
    }
    for (int i = 0; i < MANY; i++) {
        until_done(&pieces[i]);
        assert_int_equal(pieces[i].done, 1);
        assert_int_equal(pieces[i].ran, 1);
    }
}

static void stuck_works_do_not_take_the_pool_away_from_others(void **state)
{
    sem_t began, go_on;
    struct piece stuck[2] = { piece_of(&began, &go_on), piece_of(&began, &go_on) };
    struct piece next = piece_of(NULL, NULL);
    (void)state;

    sem_init(&began, 0, 0);
    sem_init(&go_on, 0, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(workers_submit(pool, &stuck[i].work), NOD_OK);
    for (int i = 0; i < 2; i++)
        sem_wait(&began);
    for (int i = 0; i < 2; i++)
        workers_late(&stuck[i].work);
    assert_int_equal(workers_stuck(pool), 2);

    assert_int_equal(workers_submit(pool, &next.work), NOD_OK);
    until_done(&next);
    assert_int_equal(stuck[0].done, 0);

    for (int i = 0; i < 2; i++)
        sem_post(&go_on);
    for (int i = 0; i < 2; i++)
        until_done(&stuck[i]);
    assert_int_equal(workers_stuck(pool), 0);
    while (workers_threads(pool) > 2)
        loop_turn(loop, 1);
    sem_destroy(&began);
    sem_destroy(&go_on);
}

static void past_the_bound_of_stuck_works_new_ones_are_refused_until_one_comes_back(void **state)
{
    enum { ALL = 2 + WORKERS_STUCK_MAX };
    sem_t began, go_on;
    struct piece stuck[ALL], next = piece_of(NULL, NULL);
    (void)state;

    sem_init(&began, 0, 0);
    sem_init(&go_on, 0, 0);
    for (int i = 0; i < ALL; i++) {
        stuck[i] = piece_of(&began, &go_on);
        assert_int_equal(workers_submit(pool, &stuck[i].work), NOD_OK);
        sem_wait(&began);
        workers_late(&stuck[i].work);
    }
    assert_int_equal(workers_stuck(pool), ALL);
    assert_int_equal(workers_submit(pool, &next.work), NOD_E_LIMIT);
    assert_int_equal(workers_threads(pool), ALL);

    for (int i = 0; i < ALL; i++)
        sem_post(&go_on);
    for (int i = 0; i < ALL; i++)
        until_done(&stuck[i]);
    assert_int_equal(workers_submit(pool, &next.work), NOD_OK);
    until_done(&next);
    assert_int_equal(next.ran, 1);
    sem_destroy(&began);
    sem_destroy(&go_on);
}

static void a_late_work_that_has_not_begun_never_begins(void **state)
{
    sem_t began, go_on;
    struct piece busy[2] = { piece_of(&began, &go_on), piece_of(&began, &go_on) };
    struct piece queued = piece_of(NULL, NULL);
    (void)state;

    sem_init(&began, 0, 0);
    sem_init(&go_on, 0, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(workers_submit(pool, &busy[i].work), NOD_OK);
    for (int i = 0; i < 2; i++)
        sem_wait(&began);
    assert_int_equal(workers_submit(pool, &queued.work), NOD_OK);
    workers_late(&queued.work);
    workers_late(&queued.work); /* twice is once */
    assert_int_equal(queued.done, 0);
    until_done(&queued);
    assert_false(queued.was_run);
    assert_int_equal(queued.ran, 0);
    assert_int_equal(queued.done, 1);
    for (int i = 0; i < 2; i++)
        sem_post(&go_on);
    for (int i = 0; i < 2; i++)
        until_done(&busy[i]);
    sem_destroy(&began);
    sem_destroy(&go_on);
}

static void a_full_queue_refuses(void **state)
{
    sem_t began, go_on;
    struct piece busy[2] = { piece_of(&began, &go_on), piece_of(&began, &go_on) };
    static struct piece queued[WORKERS_QUEUE_MAX + 1];
    (void)state;

    sem_init(&began, 0, 0);
    sem_init(&go_on, 0, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(workers_submit(pool, &busy[i].work), NOD_OK);
    for (int i = 0; i < 2; i++)
        sem_wait(&began);
    for (int i = 0; i < WORKERS_QUEUE_MAX; i++) {
        queued[i] = piece_of(NULL, NULL);
        assert_int_equal(workers_submit(pool, &queued[i].work), NOD_OK);
    }
    queued[WORKERS_QUEUE_MAX] = piece_of(NULL, NULL);
    assert_int_equal(workers_submit(pool, &queued[WORKERS_QUEUE_MAX].work), NOD_E_LIMIT);
    for (int i = 0; i < 2; i++)
        sem_post(&go_on);
    for (int i = 0; i < WORKERS_QUEUE_MAX; i++)
        until_done(&queued[i]);
    for (int i = 0; i < 2; i++)
        until_done(&busy[i]);
    sem_destroy(&began);
    sem_destroy(&go_on);
}

static void the_end_of_the_pool_gives_back_what_is_queued_and_waits_for_what_runs(void **state)
{
    sem_t began, go_on;
    struct piece busy = piece_of(&began, &go_on), queued = piece_of(NULL, NULL);
    struct workers *one = workers_create(loop, 1);
    (void)state;

    sem_init(&began, 0, 0);
    sem_init(&go_on, 0, 1);
    assert_int_equal(workers_submit(one, &busy.work), NOD_OK);
    sem_wait(&began);
    assert_int_equal(workers_submit(one, &queued.work), NOD_OK);
    assert_true(workers_destroy(one, 5000));
    assert_int_equal(busy.done, 1);
    assert_true(busy.was_run);
    assert_int_equal(queued.done, 1);
    sem_destroy(&began);
    sem_destroy(&go_on);
}

static void the_end_of_the_pool_does_not_wait_for_ever(void **state)
{
    static sem_t began, go_on;
    static struct piece stuck;
    struct workers *one = workers_create(loop, 1);
    (void)state;

    stuck = piece_of(&began, &go_on);
    sem_init(&began, 0, 0);
    sem_init(&go_on, 0, 0);
    assert_int_equal(workers_submit(one, &stuck.work), NOD_OK);
    sem_wait(&began);
    workers_late(&stuck.work);
    assert_false(workers_destroy(one, 1));
    assert_int_equal(stuck.done, 0);

    /* It comes back after all: nothing is posted, and the thread ends. */
    sem_post(&go_on);
    while (workers_threads(one))
        loop_turn(loop, 1);
    assert_int_equal(stuck.done, 0);
    assert_true(workers_destroy(one, 5000));
}

SUBJECT(workers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_work_runs_on_another_thread_and_is_done_on_the_loop,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_work_posts_arrives_before_its_end, setup, teardown),
        cmocka_unit_test_setup_teardown(
            threads_are_started_when_needed_and_never_more_than_the_pool_has, setup, teardown),
        cmocka_unit_test_setup_teardown(stuck_works_do_not_take_the_pool_away_from_others, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            past_the_bound_of_stuck_works_new_ones_are_refused_until_one_comes_back, setup,
            teardown),
        cmocka_unit_test_setup_teardown(a_late_work_that_has_not_begun_never_begins, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_full_queue_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(
            the_end_of_the_pool_gives_back_what_is_queued_and_waits_for_what_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_of_the_pool_does_not_wait_for_ever, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
