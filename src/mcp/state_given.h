/*
 * mcp/state_given: the states that were given out a moment ago.
 *
 * A client brings its requestState back once, mostly to the process that gave it, and soon. A state
 * that is, byte for byte, one that was sealed here, and is bound to the same things, says what was
 * written into it: there is nothing that opening it could find out. So what was sealed is kept for
 * a while beside the sealed text, and whoever brings that text is spared the opening.
 *
 * It is a memory, not a register: a fixed number of places, two of which a text may have. Who comes
 * to two that are taken replaces the older one, and what is taken out is gone. Who is not found
 * opens the state as ever.
 */
#ifndef NOD_MCP_STATE_GIVEN_H
#define NOD_MCP_STATE_GIVEN_H

#include "mcp/state.h"

enum {
    STATE_GIVEN_PLACES = 1024,    /* states that are kept */
    STATE_GIVEN_BYTES_MAX = 4096, /* of one, with what it is bound to; a larger one is not kept */
    STATE_GIVEN_MS = 60000,       /* at least so long, and at most twice */
};

struct state_given;

struct state_given *state_given_create(void);
void state_given_destroy(struct state_given *given);

/* Forgets what was there at the last sweep already: nobody came back for it soon. */
void state_given_sweep(struct state_given *given);

/* `text` is `plain`, sealed for `bound`. Copies all of it. */
void state_given_keep(struct state_given *given, const struct state_bound *bound, struct str plain,
                      struct str text);

/*
 * True: this is a text that was kept for the same `bound`; *plain is in the arena, and the text is
 * forgotten. False says nothing about the text.
 */
bool state_given_take(struct state_given *given, const struct state_bound *bound, struct str text,
                      struct arena *arena, struct str *plain);

#endif
