/*
 * core/gone: a call that comes back to a node which does not have its target.
 *
 * However it comes (a look for orphans, or through the door of comeback.h), the rule is the same,
 * and it is here: a call that has ended gives its end; a call that has not is left to other nodes
 * while one of them may have its target, and ends in TOOL_GONE, with the steps that were done, when
 * none has.
 */
#ifndef NOD_CORE_GONE_H
#define NOD_CORE_GONE_H

#include "core/engine.h"

enum {
    ENGINE_GONE_MS = 30000
}; /* a call that could be run, and whose target no node has, ends then */

/*
 * Somebody has come for this call, which has not ended, and whose target this node does not have.
 * True: no node has the target, and the call is to be ended. False: another node has it, or may
 * have it soon: come again later.
 */
bool gone_for_good(struct engine *engine, const struct call_record *record);

/* Ends it, as engine_end does. The journal of the record must be there. */
void gone_end(struct engine *engine, const struct call_record *record,
              void (*done)(void *data, nod_status status), void *data);

/* Nobody works on this call, and its target is not here. The journal need not be there. */
void engine_orphan_gone(struct engine *engine, const struct call_record *record);

#endif
