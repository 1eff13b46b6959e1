/* tests/unit/base/hidden: memory for values that nobody else may see. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/hidden.h"
#include "../runner.h"

/* What the kernel says of the mapping that has this address: "dd" is "in no core dump". */
static bool in_no_dump(const void *at)
{
    char line[512];
    unsigned long from, to;
    bool ours = false, found = false;
    FILE *maps = fopen("/proc/self/smaps", "r");

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            ours = from <= (uintptr_t)at && (uintptr_t)at < to;
        else if (ours && strncmp(line, "VmFlags:", 8) == 0)
            found = strstr(line, " dd") != NULL;
    }
    fclose(maps);
    return found;
}

static void bytes_are_kept_and_end_with_a_nul(void **state)
{
    struct hidden hidden;

    (void)state;
    for (size_t len = 0; len <= HIDDEN_MAX; len = len * 2 + 1) {
        static char bytes[HIDDEN_MAX];
        memset(bytes, 'x', len);
        assert_true(hidden_copy(&hidden, str_n(bytes, len)));
        assert_int_equal(hidden_str(&hidden).len, len);
        assert_memory_equal(hidden.at, bytes, len);
        assert_int_equal(hidden.at[len], 0);
        hidden_wipe(&hidden);
        assert_null(hidden.at);
        hidden_wipe(&hidden); /* nothing is fine */
    }
}

static void more_than_the_limit_is_refused(void **state)
{
    struct hidden hidden;

    (void)state;
    assert_true(hidden_make(&hidden, HIDDEN_MAX));
    hidden_wipe(&hidden);
    assert_false(hidden_make(&hidden, HIDDEN_MAX + 1));
    assert_null(hidden.at);
}

static void its_pages_are_in_no_core_dump(void **state)
{
    struct hidden hidden;
    char other[64] = "visible";

    (void)state;
    assert_true(hidden_copy(&hidden, STR("secret")));
    assert_true(in_no_dump(hidden.at));
    assert_false(in_no_dump(other));
    hidden_wipe(&hidden);
}

SUBJECT(hidden)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_kept_and_end_with_a_nul),
        cmocka_unit_test(more_than_the_limit_is_refused),
        cmocka_unit_test(its_pages_are_in_no_core_dump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
