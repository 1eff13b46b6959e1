/* A store in memory, with a clock of the test. (store/memory.h and net/stream.h each
 * have a struct memory_opts, and cannot be included together.) */
#ifndef NOD_TESTS_ACCOUNTS_NODE_STORE_H
#define NOD_TESTS_ACCOUNTS_NODE_STORE_H

#include "base/clock.h"

struct loop;
struct store;

struct store *node_store_create(const struct clock *clock, struct loop *loop);

#endif
