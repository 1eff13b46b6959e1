/*
 * core/call_state: the one place where a live call changes its state.
 *
 * Each row has the states that may come next; docs/inside/core.md, "The states of a live call",
 * says what leads to each. A state that is entered again means that the same work has a next part.
 *
 * Holds always: a live call takes no way that is not in the table. A build with crash points, which
 * is one for tests, ends at the first that does. Any other build says so and goes on: what the
 * store refuses stays refused.
 */
#include "core/call_inside.h"

#include <stdlib.h>

#include "base/log.h"

#define TO(state) (1u << LIVE_##state)

static const struct {
    const char *name;
    unsigned next;
} states[] = {
    [LIVE_NEW] = { "new", TO(RUNNING) | TO(ASKING) | TO(SAVING) | TO(WAITING) | TO(FINISHING) |
                              TO(CANCELLING) },
    [LIVE_RUNNING] = { "running", TO(ASKING) | TO(SAVING) | TO(FINISHING) | TO(CANCELLING) },
    [LIVE_ASKING] = { "asking", TO(RUNNING) | TO(ASKING) | TO(NEEDING) | TO(SAVING) |
                                    TO(FINISHING) | TO(CANCELLING) },
    [LIVE_NEEDING] = { "needing", TO(RUNNING) | TO(SAVING) | TO(FINISHING) | TO(CANCELLING) },
    [LIVE_SAVING] = { "saving", TO(RUNNING) | TO(ASKING) | TO(SAVING) | TO(TELLING) | TO(WAITING) |
                                    TO(TAKING) | TO(FINISHING) | TO(CANCELLING) },
    [LIVE_TELLING] = { "telling", TO(RUNNING) | TO(ASKING) | TO(SAVING) | TO(TELLING) |
                                      TO(WAITING) | TO(TAKING) | TO(FINISHING) | TO(CANCELLING) },
    [LIVE_WAITING] = { "waiting", TO(NEW) | TO(ASKING) | TO(SAVING) | TO(TELLING) | TO(WAITING) |
                                      TO(TAKING) | TO(FINISHING) | TO(CANCELLING) },
    [LIVE_TAKING] = { "taking", TO(WAITING) | TO(FINISHING) },
    [LIVE_FINISHING] = { "finishing", TO(WAITING) | TO(FINISHING) },
    [LIVE_CANCELLING] = { "cancelling", TO(FINISHING) | TO(CANCELLING) },
};

void call_enter(struct call *call, enum live_state state)
{
    enum live_state before = call->state;

    call->state = (unsigned char)state;
    if (call->live && (state == LIVE_WAITING || state == LIVE_RUNNING))
        live_wake(call);
    if (state == LIVE_WAITING)
        inner_waits(call);
    if (before != state)
        LOG_DEBUG("call", LOG_STR("call", id_str(&call->id)), LOG_CSTR("was", states[before].name),
                  LOG_CSTR("is", states[state].name));
    if (states[before].next & 1u << state)
        return;
    LOG_ERROR("a live call took a way that is not in the table of its states",
              LOG_STR("call", id_str(&call->id)), LOG_CSTR("was", states[before].name),
              LOG_CSTR("is", states[state].name));
#ifdef NOD_CRASH_POINTS
    abort();
#endif
}
