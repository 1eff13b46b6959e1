/*
 * core/inner_inside: what the files of a call that waits for a call share (inner.c).
 */
#ifndef NOD_CORE_INNER_INSIDE_H
#define NOD_CORE_INNER_INSIDE_H

#include "core/call_inside.h"

enum {
    INNER_KEEP_MS = 60000,  /* an inner call is known so long after its ask can wait no more */
    INNER_FRESH_MS = 30000, /* an ask that was seen waiting counts so long as waiting */
};

_Static_assert(2 * INNER_FRESH_MS <= INNER_KEEP_MS, "see inner_begin.c");

/* --- inner.c --- */

struct whom {
    struct str top;          /* the id of the outermost call */
    const struct json *path; /* the names of the tools, from the outermost to the outer one */
};

/* Whom the call of this record is for. False: it is not an inner one. */
bool whom_read(struct arena *arena, struct str caller_record, struct whom *out);
/* The caller of an inner call whose outer call is this one; NULL: that is not here. */
struct caller *inner_caller_for(struct engine *engine, const struct call *outer);

/* --- inner_begin.c --- */

enum coming_as {
    COMING_FIRST, /* the ask is new: nobody can have begun the call, or hardly */
    COMING_BACK,
    COMING_LOOKS, /* nobody may begin it: the client of the outer call has to come back */
};

/* Comes for the inner call of this ask. `client` and `roles` are of whoever is behind the outer
 * call, if its record does not say so. */
void inner_come(struct engine *engine, const struct ask_record *ask,
                const struct call_record *outer, const struct client *client, role_set roles,
                enum coming_as as);
/* Somebody does, and it is not yet known what came of it. */
bool inner_is_coming(const struct engine *engine, struct str ask_id);
/* The store says that this node runs the inner call, and this node has not begun it. */
bool inner_is_unbegun(const struct engine *engine, const struct call_record *record);
/* The ask has ended. True: somebody comes for its call, and will cancel it. */
bool inner_unwanted(struct engine *engine, struct str ask_id);
void inner_comings_init(struct engine *engine);
void inner_comings_drop(struct engine *engine);

/* --- inner_list.c --- */

#define INNER_KIND STR("inner")

/* Its ask has ended, and so has the call. */
void inner_unlist(struct engine *engine, struct str ask_id);

#endif
