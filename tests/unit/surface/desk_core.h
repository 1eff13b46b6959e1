/* The core of the desk. (core/world.h includes store/memory.h, which has a struct memory_opts, as
 * net/stream.h has: the two cannot be included together.) */
#ifndef NOD_TESTS_SURFACE_DESK_CORE_H
#define NOD_TESTS_SURFACE_DESK_CORE_H

#include <stdint.h>

struct engine;
struct catalog;

struct engine *desk_core_open(struct catalog *catalog);
void desk_core_close(void);
void desk_core_settle(void);
/* From now on lists of the store hang, and are counted; or the one that hangs fails. */
int desk_core_lists_hang(void);
void desk_core_list_fails(void);

#endif
