/*
 * core/comeback: the one door for whoever comes back for a call.
 *
 * A client comes back with a name of its call: an event id, the id of its request, a requestState,
 * a task id, the handle of a pending result, a question that it answers. Whoever reads such a name
 * (a comer) brings the id of the call here, and engine_return does the rest:
 *
 *     load the call ▶ whose is it? ▶ is it what the comer means? ▶ has it ended? ▶ is it live here?
 *     ▶ is its target here? ▶ adopt it
 *
 * and tells what came of it, once. What the client is then told is the comer's business.
 */
#ifndef NOD_CORE_COMEBACK_H
#define NOD_CORE_COMEBACK_H

#include "base/id.h"
#include "core/engine.h"

struct comer;

enum back_as {
    BACK_LEFT,      /* whoever came is no longer there: nothing was done */
    BACK_UNREAD,    /* the store cannot be reached, or the record not be read (back.status) */
    BACK_UNKNOWN,   /* there is no such call, or it is somebody else's */
    BACK_FORGOTTEN, /* it has ended, and nothing more is known of it */
    BACK_ENDED,     /* back.outcome is its end; NULL: that cannot be read */
    BACK_WAITS,     /* its end comes to the caller that waits() gave */
    BACK_BUSY,      /* it has not ended, and is not to be had: somebody else has it here */
    BACK_TOO_SOON,  /* this node lacks its target, and another may have it: come again later */
    BACK_FULL,      /* it has not ended, and as many calls are live here as may be: the same */
};

struct back {
    enum back_as as;
    nod_status status;                /* of BACK_UNREAD */
    const struct call_record *record; /* of all that come after BACK_FORGOTTEN */
    const struct outcome *outcome;    /* of BACK_ENDED */
    const struct ask_record *asks;    /* its pending asks, if the comer wants them */
    size_t ask_count;
};

enum found {
    FOUND_IT,    /* go on with the call */
    FOUND_OTHER, /* it is not the one that the comer means, or the comer wants no more of it */
    FOUND_LATER, /* the comer looks at something else first: comer_goes_on */
};

/* After engine_return one of two things happens, once, and never before it returns: found() says
 * FOUND_OTHER, or done() is called. */
struct comer_ops {
    /* Is anybody there who wants to know? Nothing else is called after a no, but done(). */
    bool (*there)(const struct comer *comer);
    /* There is such a call, and it is of the comer's principal. NULL: FOUND_IT. */
    enum found (*found)(struct comer *comer, const struct call_record *record);
    /* The call has not ended: who waits for it from now on, and how. The record, the target and
     * the asks are in `spec` already. False: nobody can, and it is BACK_BUSY. NULL: the comer wants
     * to know of its end only. */
    bool (*waits)(struct comer *comer, const struct call_record *record, struct adopt_spec *spec);
    /* What came of it. All that `back` points to is valid during done(). */
    void (*done)(struct comer *comer, const struct back *back);
};

struct comer { /* lives until then */
    const struct comer_ops *ops;
    struct id call;
    struct str principal;  /* whose the call must be */
    bool asks;             /* its pending asks are to be adopted too, which saves a look */
    bool inner;            /* it means an inner call; others are led to the outermost one */
    bool spares;           /* a call whose target is gone does not end for this comer */
    struct engine *engine; /* where it came last */
    struct comeback *kept; /* the door's, after FOUND_LATER */
};

void engine_return(struct engine *engine, struct comer *comer);
/* After FOUND_LATER, once: it is the call that the comer means; or, with false, it is not, and
 * done() is not called. */
void comer_goes_on(struct comer *comer, bool means);

#endif
