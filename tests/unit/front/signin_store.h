/* A store in memory, with a clock of the test. (store/memory.h and net/stream.h each have a struct
 * memory_opts, and cannot be included together.) */
#ifndef TESTS_UNIT_FRONT_SIGNIN_STORE_H
#define TESTS_UNIT_FRONT_SIGNIN_STORE_H

#include "base/clock.h"

struct loop;
struct store;

struct store *signin_store_create(const struct clock *clock, struct loop *loop);

#endif
