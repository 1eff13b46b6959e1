/*
 * core/surface: a place where an ask can be answered.
 *
 * A new place is a new file that fills in struct surface_ops; nothing else moves. It is added with
 * engine_add_surface before the server begins to serve: surfaces are preferred in the order in
 * which they were added. Where the operator names several (`--surfaces`), an ask is up on all of
 * them that can show it, and the first answer wins.
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
    OFFER_UNRENDERED, /* this surface cannot draw this ask */
};

/* How an ask ended, for the surfaces where it was still up. */
struct winner {
    enum ask_state
        state;      /* ASK_PENDING: it is no longer asked here, and how it ends is not known */
    struct str by;  /* the principal who answered; empty: nobody did, or it is not known */
    struct str via; /* where: see ask_record.via; empty: likewise */
    const struct surface *surface; /* of this node, that the answer came through, or NULL */
};

struct surface_ops {
    const char *name; /* at most STORE_VIA_MAX bytes of a-z, 0-9, - and _ */
    /* May this surface put this kind of ask to the person behind this call? Never sends anything.
     */
    bool (*can)(struct surface *surface, const struct call *call, enum ask_kind kind);
    /*
     * Puts it up. Calls ask_offered(ask, surface, result) once, now or later; OFFER_REFUSED may also come
     * after OFFER_SHOWN (the client answers with an error). An ask that is up nowhere then moves to
     * the next surface. `problems` (may be empty): what was wrong with the last answer, when it is
     * asked again; attempt counts from 1.
     */
    void (*offer)(struct surface *surface, struct ask *ask, int attempt, struct str problems);
    /* It no longer counts: take it down. `why` is a short sentence. Not called where the answer
     * came from that ended it: there ask_answer tells. */
    void (*withdraw)(struct surface *surface, struct ask *ask, struct str why,
                     const struct winner *winner);
    /* What invalid content leads to here when the author said nothing (.attempts = 0): how many
     * times it is asked. */
    int attempts;
    bool model; /* answers come from a model: no consent */
    /* It is the client that made the call: its answers are its own word, which needs no role. The
     * operator calls all such surfaces "client". */
    bool client;
    /* What `can` says of all kinds at once, a bit (1 << kind) each. NULL: it is asked for each. */
    unsigned (*kinds)(struct surface *surface, const struct call *call);
};

struct surface {
    const struct surface_ops *ops;
};

#endif
