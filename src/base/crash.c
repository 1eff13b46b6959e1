/*
 * base/crash: NOD_CRASH_AT is read before main, so that no program has to know of it.
 *
 * Holds always: without NOD_CRASH_AT nothing happens. An unknown name ends the program at its
 * start, because a test would wait in vain for the crash.
 */
#include "base/crash.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { CRASH_WRONG_EXIT = 2 };

#define CRASH_TEXT(name) #name,
static const char *const names[] = { CRASH_POINTS(CRASH_TEXT) };

static int chosen = CRASH_POINT_COUNT; /* set before there is a second thread */
static atomic_ullong left;             /* how often it is still to be reached */

void crash_reached(enum crash_point point)
{
    if ((int)point == chosen && atomic_fetch_sub(&left, 1) == 1)
        raise(SIGKILL);
}

static bool choose(struct str text)
{
    struct str name = text, number = STR_NONE;
    uint64_t times = 1;

    if (str_cut(text, ':', &name, &number) && (!str_to_u64(number, &times) || times == 0))
        return false;
    for (int i = 0; i < CRASH_POINT_COUNT; i++) {
        if (!str_eq(name, str_of(names[i])))
            continue;
        chosen = i;
        atomic_store(&left, times);
        return true;
    }
    return false;
}

__attribute__((constructor)) static void crash_setup(void)
{
    const char *at = getenv("NOD_CRASH_AT");

    if (!at || !*at)
        return;
    if (strcmp(at, "list") == 0) {
        for (size_t i = 0; i < CRASH_POINT_COUNT; i++)
            puts(names[i]);
        fflush(stdout);
        _Exit(0);
    }
    if (choose(str_of(at)))
        return;
    fprintf(stderr, "NOD_CRASH_AT=%s: it is list, a name of that list, or name:N\n", at);
    _Exit(CRASH_WRONG_EXIT);
}
