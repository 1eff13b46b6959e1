/*
 * core/caller: whoever made a call and waits for its result.
 *
 * A held request of the 2025 era, a request of the 2026 era, a task: each is a file that fills in
 * struct caller_ops.
 */
#ifndef NOD_CORE_CALLER_H
#define NOD_CORE_CALLER_H

#include "core/outcome.h"
#include "core/record.h"

struct ask;
struct call;
struct caller;

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
