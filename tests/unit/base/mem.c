/*
 * tests/unit/base/mem: freed memory is reused, and is never smaller than what was asked for.
 */
#include "base/mem.h"
#include "../runner.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZES = 1200, ROUNDS = 50 }; /* past the largest pieces that are kept */

/* The same numbers in every run. */
static size_t roll(size_t below)
{
    static uint32_t state = 1;

    state = state * 1664525u + 1013904223u;
    return state / 65536 % below;
}

static void give_back(void *p, size_t size)
{
    if (roll(2))
        mem_free(p);
    else
        mem_free_sized(p, size);
}

static void every_piece_holds_what_was_asked_for(void **state)
{
    static void *pieces[SIZES];
    static size_t sizes[SIZES];
    (void)state;

    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < SIZES; i++) {
            sizes[i] = roll(SIZES);
            pieces[i] = roll(2) ? mem_alloc(sizes[i]) : mem_zalloc(sizes[i]);
            assert_true(malloc_usable_size(pieces[i]) >= sizes[i]);
            memset(pieces[i], (int)i, sizes[i]);
        }
        for (size_t i = 0; i < SIZES; i += 3) {
            sizes[i] = roll(SIZES);
            pieces[i] = mem_realloc(pieces[i], sizes[i]);
            assert_true(malloc_usable_size(pieces[i]) >= sizes[i]);
        }
        for (size_t i = 0; i < SIZES; i++)
            give_back(pieces[i], sizes[i]);
    }
}

static void a_zeroed_piece_is_zeroed_whoever_had_it_before(void **state)
{
    static const unsigned char zeros[SIZES];
    (void)state;

    for (size_t size = 0; size < SIZES; size++) {
        void *dirty = mem_alloc(size);
        memset(dirty, 0xFF, size);
        mem_free_sized(dirty, size);
        void *clean = mem_zalloc(size);
        assert_memory_equal(clean, zeros, size);
        mem_free_sized(clean, size);
    }
}

static void nothing_is_given_back_as_nothing(void **state)
{
    (void)state;
    mem_free(NULL);
    mem_free_sized(NULL, 100);
}

struct thing {
    char name[100];
};

static void *pass_through(void *state)
{
    struct thing *mine = MEM_NEW(struct thing);

    MEM_DELETE((struct thing *)state);
    MEM_DELETE(mine);
    return NULL;
}

/* What the thread keeps is freed when it ends: a sanitizer would tell of it otherwise. */
static void a_piece_may_be_given_back_on_another_thread(void **state)
{
    struct thing *thing = MEM_NEW(struct thing);
    pthread_t thread;
    (void)state;

    assert_int_equal(pthread_create(&thread, NULL, pass_through, thing), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

SUBJECT(mem)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_holds_what_was_asked_for),
        cmocka_unit_test(a_zeroed_piece_is_zeroed_whoever_had_it_before),
        cmocka_unit_test(nothing_is_given_back_as_nothing),
        cmocka_unit_test(a_piece_may_be_given_back_on_another_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
