/*
 * tests/unit/base/id: ids and random bytes.
 */
#include "base/id.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/map.h"
#include "../runner.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

enum { IDS = 20000, COUNTED_FROM = 11 /* the letters before are the thread's */ };

typedef void make_fn(struct id *id);

static void all_differ_and_fit_a_url(make_fn *make)
{
    static struct id ids[IDS];
    struct map seen;

    map_init(&seen, IDS);
    for (int i = 0; i < IDS; i++) {
        make(&ids[i]);
        struct str text = id_str(&ids[i]);
        assert_int_equal(text.len, ID_LEN);
        assert_int_equal(strspn(ids[i].text, LETTERS), ID_LEN);
        assert_null(map_get(&seen, text));
        assert_true(map_set(&seen, text, &ids[i]));
    }
    map_finish(&seen);
}

static void ids_are_unique_and_fit_a_url(void **state)
{
    (void)state;
    all_differ_and_fit_a_url(id_random);
    all_differ_and_fit_a_url(id_unique);
    assert_int_equal(id_str(&(struct id){ { 0 } }).len, 0);
}

/* 128 bits are 21 letters and two bits, whose letters are the first of each sixteen. */
static void every_letter_comes_at_every_place(void **state)
{
    size_t count[ID_LEN][64] = { 0 };
    struct id id;
    (void)state;

    for (int i = 0; i < IDS; i++) {
        id_random(&id);
        for (size_t at = 0; at < ID_LEN; at++)
            count[at][strchr(LETTERS, id.text[at]) - LETTERS]++;
    }
    for (size_t at = 0; at < ID_LEN - 1; at++)
        for (size_t letter = 0; letter < 64; letter++) /* 312 are expected */
            assert_in_range(count[at][letter], 180, 470);
    for (size_t letter = 0; letter < 64; letter++) {
        if (letter % 16 == 0) /* 5000 are expected */
            assert_in_range(count[ID_LEN - 1][letter], 4500, 5500);
        else
            assert_int_equal(count[ID_LEN - 1][letter], 0);
    }
}

static size_t number_of(char letter)
{
    return (size_t)(strchr(LETTERS, letter) - LETTERS);
}

/* As far as the last three letters go, which is far enough to see them carry. */
static void unique_ids_count_up(void **state)
{
    struct id before, now;
    size_t carries = 0;
    (void)state;

    id_unique(&before);
    for (int i = 0; i < IDS; i++, before = now) {
        size_t at = ID_LEN;
        id_unique(&now);
        while (--at > COUNTED_FROM && now.text[at] == 'A') {
            assert_int_equal(before.text[at], '_');
            carries++;
        }
        assert_int_equal(number_of(now.text[at]), (number_of(before.text[at]) + 1) % 64);
        assert_memory_equal(now.text, before.text, at);
    }
    assert_in_range(carries, IDS / 64, IDS / 60);
}

static void a_forked_child_gives_out_others(make_fn *make)
{
    struct id ours, theirs;
    int pipe_fds[2];
    int status;

    make(&ours); /* fills the pool, or begins the count, that the child inherits */
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        make(&theirs);
        _exit(write(pipe_fds[1], &theirs, sizeof(theirs)) == sizeof(theirs) ? 0 : 1);
    }
    make(&ours);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(pipe_fds[0], &theirs, sizeof(theirs)), sizeof(theirs));
    assert_memory_not_equal(ours.text, theirs.text, COUNTED_FROM);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void a_forked_child_gives_out_other_ids(void **state)
{
    (void)state;
    a_forked_child_gives_out_others(id_random);
    a_forked_child_gives_out_others(id_unique);
}

static void *make_one(void *id)
{
    id_unique(id);
    return NULL;
}

static void each_thread_counts_behind_a_beginning_of_its_own(void **state)
{
    struct id ours, theirs;
    pthread_t thread;
    (void)state;

    id_unique(&ours);
    assert_int_equal(pthread_create(&thread, NULL, make_one, &theirs), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_memory_not_equal(ours.text, theirs.text, COUNTED_FROM);
}

static void random_bytes_fill_all_that_was_asked_for(void **state)
{
    unsigned char bytes[4096] = { 0 };
    size_t zeros = 0;
    (void)state;

    random_bytes(bytes, sizeof(bytes));
    random_bytes(bytes, 0);
    for (size_t i = 0; i < sizeof(bytes); i++)
        zeros += bytes[i] == 0;
    assert_true(zeros < 100); /* 16 are expected */
}

SUBJECT(id)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_unique_and_fit_a_url),
        cmocka_unit_test(every_letter_comes_at_every_place),
        cmocka_unit_test(unique_ids_count_up),
        cmocka_unit_test(a_forked_child_gives_out_other_ids),
        cmocka_unit_test(each_thread_counts_behind_a_beginning_of_its_own),
        cmocka_unit_test(random_bytes_fill_all_that_was_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
