/* cli/remember: what approvals may be remembered for, in the operator's words. */
#ifndef NOD_CLI_REMEMBER_H
#define NOD_CLI_REMEMBER_H

#include "core/engine.h"

/* Uses the rules of two lists, each ending with NULL (or NULL): those of the program, and then
 * those of the command line, where the last word on a tool counts. NULL: they are fine. Otherwise
 * what is wrong, in words, and nothing was changed. */
const char *remember_use(struct engine *engine, const char *const *first, const char *const *then);

#endif
