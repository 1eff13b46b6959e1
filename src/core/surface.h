/*
 * core/surface: a place where an ask can be answered.
 *
 * A new place is a new file that fills in struct surface_ops. Nothing else changes. It is added
 * with engine_add_surface before the server begins to serve; surfaces are preferred in the order in
 * which they were added, unless the operator or the tool names others (plan.h). If several are
 * named for the same turn, an ask is up on all of them that can show it, and the first answer wins.
 *
 * A surface may keep a `struct ask *` from offer() until withdraw(), or until ask_answer has told
 * it that its own answer ended the ask: withdraw() is not called then.
 */
#ifndef NOD_CORE_SURFACE_H
#define NOD_CORE_SURFACE_H

#include "core/record.h"

struct ask;
struct call;
struct surface;

enum offer_result {
    OFFER_SHOWN,      /* it is up; the answer will come through ask_answer */
    OFFER_REFUSED,    /* the other side has no handler, dropped it, or answered with an error */
    OFFER_UNRENDERED, /* this surface cannot show this ask */
    /* It is up and stays up, but nobody seems to look: it is the next one's turn as well, unless
     * only a model is left. */
    OFFER_UNSEEN,
};

/* How an ask ended, for the surfaces on which it was still up. */
struct winner {
    enum ask_state
        state;      /* ASK_PENDING: it is no longer asked here, and how it ends is not known */
    struct str by;  /* the principal who answered; empty: nobody did, or it is not known */
    struct str via; /* where: see ask_record.via; empty: nowhere, or not known */
    /* the surface of this node through which the answer came, or NULL */
    const struct surface *surface;
};

struct surface_ops {
    const char *name; /* at most STORE_VIA_MAX bytes of a-z, 0-9, - and _ */
    /* May this surface put this kind of ask to the person behind this call? Never sends anything.
     */
    bool (*can)(struct surface *surface, const struct call *call, enum ask_kind kind);
    /*
     * Puts the ask up. Calls ask_offered(ask, surface, result) once, now or later. OFFER_REFUSED
     * may also come after OFFER_SHOWN (the client answers with an error). An ask that is then up
     * nowhere moves to the next surface. `problems` (may be empty): what was wrong with the last
     * answer, if the question is asked again. `attempt` counts from 1.
     */
    void (*offer)(struct surface *surface, struct ask *ask, int attempt, struct str problems);
    /* The ask no longer counts: take it down. `why` is a short sentence. Not called on the surface
     * whose answer ended the ask: ask_answer has told that one. */
    void (*withdraw)(struct surface *surface, struct ask *ask, struct str why,
                     const struct winner *winner);
    /* How many times a question is asked if the content is invalid, unless its author says
     * (.attempts). 0: it stays pending, and the answerer may try again. */
    int attempts;
    bool model; /* a model answers here: its answers are data, and not consent (core/plan.c) */
    /* This surface is the client that made the call. The operator calls all such surfaces
     * "client". Its answers are its own word, which is consent only as core/consent.h says. */
    bool client;
    /* With `client`: may the person behind a call of this principal consent here at all? NULL: yes.
     */
    bool (*consents)(const struct surface *surface, struct str principal);
    bool own_word; /* so are the answers given here: they need no role (core/answerable.h) */
    /* It puts every form to the person behind every call: `can` does not look at the call, which
     * may be NULL. */
    bool every;
    /* With `client`: the question does not travel with the call's own request, but is fetched from
     * here. So it is up while nobody holds the call, and the call waits as it does for somebody
     * elsewhere. */
    bool apart;
    /* The kinds that `can` allows, one bit (1 << kind) each. NULL: `can` is called for each
     * kind. */
    unsigned (*kinds)(struct surface *surface, const struct call *call);
};

struct surface {
    const struct surface_ops *ops;
};

/* Is it asked through the request that the call came with? */
static inline bool surface_is_held(const struct surface *surface)
{
    return surface->ops->client && !surface->ops->apart;
}

#endif
