/*
 * provider/at_work: whose code runs on this thread.
 *
 * A handler or a hook that kills the process takes what it was doing with it. So each thread knows
 * at any time whose code it is in, and the last line of the log says so (base/log, log_last_words).
 *
 * Holds always: what is read in the handler of a signal was written by the same thread before.
 */
#ifndef NOD_PROVIDER_AT_WORK_H
#define NOD_PROVIDER_AT_WORK_H

#include <nod/nod.h>

#include "base/str.h"

struct at_work {
    nod_call *call; /* a handler, or the call of a hook */
    struct str plugin;
    struct str hook;            /* empty: it is no hook, or has no name */
    const char *stage;          /* of a hook */
    struct str target, call_id; /* of a hook that has not asked for its call */
    const char *file;           /* of a plugin that is being loaded or unloaded */
};

/* Gives what was there before, to be put back. */
struct at_work at_work_enter(struct at_work now);
void at_work_leave(struct at_work before);
nod_call *at_work_call(void);

/* For log_last_words. */
struct log_field;
size_t at_work_words(struct log_field *fields);

#endif
