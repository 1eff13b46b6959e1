/*
 * core/seam: the vtables through which the core reaches the world (the store has its own, store.h).
 *
 * A new surface, provider or caller is a new file that fills one of these in; nothing else moves.
 */
#ifndef NOD_CORE_SEAM_H
#define NOD_CORE_SEAM_H

#include "core/outcome.h"
#include "core/record.h"
#include "core/store.h"
#include "json/param_header.h"

struct ask;
struct call;
struct run;
struct surface;
struct provider;
struct caller;

/* --- surface: a place where an ask can be answered --- */

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
     * Puts it up. Calls ask_offered(ask, result) once, now or later; OFFER_REFUSED may also come
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

/* --- provider: where targets come from --- */

/* A call that is detached is no longer waited for by the request that made it: its client was given
 * a handle, and comes back with it. How that is told is its caller's matter. */
enum target_detach { DETACH_NEVER, DETACH_MAY, DETACH_MUST };

/* Who is shown a list. */
struct audience {
    struct str principal;
    unsigned kinds; /* what its client can be asked, a bit (1 << enum ask_kind) each */
};

/* A tool, resource or prompt. Owned by its provider; listed in the catalog (core/catalog.h). */
struct target {
    enum target_kind kind;
    struct str name; /* tool or prompt name; resource uri or uri template */
    struct provider *provider;
    struct str descriptor; /* JSON object, as it is listed: Tool, Resource, ResourceTemplate or
                              Prompt of 2025-11-25 */
    /* What a call that waits depends on, beside the name: the digest of what it takes and of the
     * version its author gives. Wording is not among it. */
    unsigned char version[DIGEST_BYTES];
    bool portable; /* every step of it may happen again on another node */
    /* Is it listed to them? NULL: to everybody. Whoever is not shown it cannot call it either, and
     * is told that it is not there, unless callable_unlisted. */
    bool (*listed)(const struct target *target, const struct audience *audience);
    bool callable_unlisted;
    struct str title;                         /* for people; the name if there is none */
    const struct schema *input;               /* checked before a run; NULL: anything */
    bool is_template;                         /* TARGET_RESOURCE: name is a uri template */
    bool subscribable;                        /* TARGET_RESOURCE */
    bool completes;                           /* has completions for some argument */
    const struct param_header *param_headers; /* TARGET_TOOL: arguments that headers repeat */
    size_t param_header_count;
    bool requires_confirmation;
    struct str confirm_message;
    int64_t timeout_ms; /* of work */
    unsigned in_use;    /* calls that point here: it is freed only at 0 */
    bool removed;
    enum target_detach detach; /* may, or must, a call of it go on apart from its request? */
    bool detach_after_asks;    /* what it asks before its first step is asked before that */
};

/* A completion of one argument: the provider fills in values (in the arena), at most max. */
struct completion {
    struct str argument;
    struct str typed;
    const struct json *context; /* other arguments already chosen: object or NULL */
    struct arena *arena;
    struct str values[100];
    size_t count; /* filled in */
    size_t total; /* of all there are; 0: count */
};

enum {
    /* Any node can run its calls on, by replay. Without it a call is begun once, on one node, in
     * one life of that node: elsewhere it ends in NOD_E_OUTCOME_UNKNOWN (core/home.c). */
    PROVIDER_MIGRATES = 1,
    PROVIDER_CONCURRENT = 2,
};

struct provider_ops {
    const char *name;
    unsigned flags;
    /* Works on the call; ends in run_done(run, ...) exactly once, now or later. */
    void (*start)(struct provider *provider, struct run *run);
    /* The call of this run was cancelled, or ran out of time; run_done may still come and is then
     * dropped. */
    void (*cancelled)(struct provider *provider, struct run *run);
    /* Suggests values, at once. NOD_E_NOT_FOUND: that argument has none. May be NULL. */
    nod_status (*complete)(struct provider *provider, struct target *target,
                           struct completion *completion);
    /*
     * A call of one of its targets has ended, also one that waited, or that was not live here and
     * was begun here: how, once. Ids it does not know are of calls that never began. May be NULL.
     */
    void (*ended)(struct provider *provider, struct str call_id, const struct outcome *outcome);
    /* The last call of a removed target has ended; may be NULL. */
    void (*released)(struct provider *provider, struct target *target);
};

struct provider {
    const struct provider_ops *ops;
};

/* --- caller: who made the call and waits for its result --- */

enum caller_way {
    CALLER_HOLDS,   /* offer the asks on surfaces; the caller waits */
    CALLER_CARRIES, /* the caller puts the asks to the client itself, and will bring the answers */
    CALLER_LEAVES,  /* it has told the client how to come back, and waits no longer */
};

enum notice_kind { NOTICE_PROGRESS, NOTICE_LOG, NOTICE_OTHER };

struct notice {
    enum notice_kind kind;
    double progress, total; /* NOTICE_PROGRESS */
    int level;              /* NOTICE_LOG: nod_log_level */
    struct str logger;
    struct str text;   /* message */
    struct str method; /* NOTICE_OTHER */
    struct str params; /* JSON */
};

struct caller_ops {
    /*
     * Before the asks are stored: the place of the next one in the caller's stream, so that a
     * client that comes back is not told twice. 0, or no function: there is none.
     */
    uint64_t (*reserve)(struct caller *caller, struct call *call);
    /*
     * The asks are stored, and not offered yet: a held stream sends its priming event here. Also
     * after engine_adopt, for asks that were pending already.
     */
    enum caller_way (*asked)(struct caller *caller, struct call *call);
    void (*notify)(struct caller *caller, struct call *call, const struct notice *notice);
    /* The end, exactly once: the caller is not used again. NOD_E_CANCELLED: it was cancelled. */
    void (*finished)(struct caller *caller, struct call *call, const struct outcome *outcome);
    /* The work clock stands still while this is true for a call: for heartbeats. May be NULL. */
    void (*waiting)(struct caller *caller, struct call *call, bool waiting);
    /* Its asks travel in results: a call can ask where another caller would have to end it. */
    bool carries;
    /* How long a question may wait, unless its author says; the engine's own time is the least. May
     * be NULL. */
    int64_t (*ask_ttl_ms)(struct caller *caller, const struct call *call);
    /*
     * The call, whose steps are held (call_spec.hold_steps), has come to its first one; nothing was
     * done yet. It goes on, with its steps, after call_step_on; the caller may hand it over. NULL:
     * it goes on at once.
     */
    void (*stepping)(struct caller *caller, struct call *call);
    /*
     * This node has unloaded the call, which has not ended: the next node that comes goes on with
     * it. The caller is not used again. May be NULL.
     */
    void (*unloaded)(struct caller *caller);
};

struct caller {
    const struct caller_ops *ops;
    struct call *call; /* set by the engine while it belongs to a call; NULL after finished() */
};

#endif
