/*
 * core/plan: where the questions of a call are asked, and in which order.
 *
 * A plan is a list of turns; a turn is one or more surfaces. A question is up on all surfaces of
 * its turn at the same time, and the first answer wins. The next turn comes if nobody can be asked
 * in this one, or everybody there has refused. In a plan that somebody has named ("client>inbox"),
 * it also comes when nobody has answered for the engine's next_turn_ms: then the question is taken
 * down where it was. The time counts from when the question was asked, by the store's clock. So
 * every node, and the next start, comes to the same turn.
 * If the next start has another plan, turns are others; what was in the inbox stays there
 * (enum ask_listed).
 *
 * The names are the server's, or those of the target. Without names every surface is a turn of its
 * own, in the order in which they were added, and the clock moves nothing.
 */
#ifndef NOD_CORE_PLAN_H
#define NOD_CORE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAN_TURNS_MAX = 8 }; /* turns of a plan: one for each surface of an engine */

struct plan {
    bool made; /* the rest is set */
    /* Somebody has named several places: what a client carries is up elsewhere too. */
    bool several;
    bool timed;    /* the clock moves a question to its next turn */
    uint8_t count; /* turns */
    uint8_t all;   /* the bits of all turns together */
    /* bits of the engine's surfaces; the last one is always 0 */
    uint8_t turns[PLAN_TURNS_MAX + 1];
};

#endif
