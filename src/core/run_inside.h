/* core/run_inside: what run_journal.c and run_room.c share. */
#ifndef NOD_CORE_RUN_INSIDE_H
#define NOD_CORE_RUN_INSIDE_H

#include "core/run.h"

nod_status run_fail_fmt(struct run *run, nod_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- run_room.c --- */

/* One more question in the round that this run asks? */
nod_status run_room_in_round(struct run *run);
/* Room for so many entries, and for what comes of a step? What that will be nobody knows: a least
 * of it is kept free. */
nod_status run_room_for_step(struct run *run, size_t more);
/* Adds to what is new, if there is room. */
nod_status run_record(struct run *run, struct run_item *item);

#endif
