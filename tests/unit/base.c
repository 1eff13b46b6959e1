/* tests/unit/base: arena, buf, map, heap, str, id, log, clock. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"

static void an_arena_never_gives_more_than_its_cap(void **state)
{
    struct arena arena;
    (void)state;

    arena_init(&arena, 4096);
    assert_non_null(arena_alloc(&arena, 1000));
    assert_null(arena_alloc(&arena, 5000));
    assert_true(arena.exhausted);
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arena_never_gives_more_than_its_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
