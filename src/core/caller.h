/*
 * core/caller: the side that made a call and waits for its result, and the client behind it.
 *
 * A held request of the 2025 era, a request of the 2026 era and a task are callers. Each is a file
 * that fills in struct caller_ops, and says whose caller it is: struct client. Surfaces and the
 * core read that (call_client), whatever kind of caller it is.
 */
#ifndef NOD_CORE_CALLER_H
#define NOD_CORE_CALLER_H

#include "core/outcome.h"
#include "core/record.h"

struct answer_result;
struct ask;
struct call;
struct caller;

enum caller_way {
    CALLER_HOLDS,   /* offer the asks on surfaces; the caller waits */
    CALLER_CARRIES, /* the caller puts the asks to the client itself, and brings the answers */
    CALLER_LEAVES,  /* the caller has told the client how to come back, and waits no longer */
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

/*
 * A client that comes back for its stream is told what has a higher place than the last that it has
 * seen. So the place of an ask is higher than all that its call gave out before. What is not stored
 * has places between those of two asks.
 */
enum {
    PLACE_STEP = 1 << 16,    /* between two asks */
    PLACES_END = 0x7fffffff, /* of the result: every ask has a lower one */
};

/* What a client declares. The numbers are in records. */
enum client_can {
    CLIENT_CAN_FORM = 1,
    CLIENT_CAN_URL = 2,
    CLIENT_CAN_SAMPLE = 4,
    CLIENT_CAN_SAMPLE_TOOLS = 8,
    CLIENT_CAN_ROOTS = 16,
    CLIENT_CAN_VIEW = 32, /* it shows views (MCP Apps) */
};

/*
 * What is known of whoever is behind a caller: what it says about itself, and where its word
 * counts. Nothing of this is consent (core/consent.h).
 */
struct client {
    struct str name;  /* what it calls itself, as people are shown it: see call_record.client */
    struct str scope; /* of what it is given; empty: that of the call */
    uint8_t declares; /* enum client_can */
    uint8_t asked;    /* of that, what it is asked through this caller */
    uint8_t revision; /* of the protocol, by the protocol's own numbers */
    bool told;        /* its model reads the result: a question may be put to it there */
};

/* The kinds of asks that a client which declares this can be asked: one bit (1 << enum ask_kind)
 * each. Which of them the client of one call can be asked is found in askable.c. */
unsigned client_ask_kinds(unsigned declares);
/* Is it asked in views? A client that has forms is not. */
bool client_has_views(unsigned declares);

struct caller_ops {
    /* Before the asks are stored: returns the next place in the caller's stream. 0, or no function:
     * there is no stream. */
    uint64_t (*reserve)(struct caller *caller, struct call *call);
    /* Without `reserve`: the client may come back for a stream. Each ask gets the place behind
     * those that the store knows of the call. */
    bool away;
    /*
     * The answers that it has with it, to questions that are pending now: it gives each with
     * call_bring. Comes before asked(), which follows if something is left when they are known.
     * False, and none was given: it has told its client something else, and leaves. May be NULL.
     */
    bool (*brings)(struct caller *caller, struct call *call);
    /* What became of one of them. Nothing may be done to the call here. May be NULL. */
    void (*answered)(struct caller *caller, struct str ask_id, const struct answer_result *result);
    /*
     * One of them is not what was answered before on the same surface; of those that were given
     * with it none was taken. True: it has told its client, and leaves. May be NULL.
     */
    bool (*contradicted)(struct caller *caller, struct call *call);
    /*
     * The asks are stored and not offered yet. A held stream sends its priming event here. Also
     * called after engine_adopt, for asks that were pending already, and when a live run asks
     * beside those that wait: the call's asks are all that are pending.
     */
    enum caller_way (*asked)(struct caller *caller, struct call *call);
    void (*notify)(struct caller *caller, struct call *call, const struct notice *notice);
    /* The end of the call, at most once. The caller is not used again. NOD_E_CANCELLED: it was
     * cancelled. Or only the caller's wait has ended, because this node cannot go on with the call
     * now: call_has_ended says which. */
    void (*finished)(struct caller *caller, struct call *call, const struct outcome *outcome);
    /* Is somebody there who is given the result by finished() itself? If not, the store keeps the
     * result for whoever comes for it. NULL: nobody is. */
    bool (*there)(const struct caller *caller);
    /* True: the call waits for people, and its work clock stands still. For heartbeats. May be
     * NULL. */
    void (*waiting)(struct caller *caller, struct call *call, bool waiting);
    /* Where its asks are up has changed (call_waits_only_elsewhere). Nothing may be done to the
     * call here. May be NULL. */
    void (*offered)(struct caller *caller, struct call *call);
    /* Nobody looks where its asks are up. A caller that holds a request tells its client how to
     * come back, if it can. May be NULL. */
    void (*unseen)(struct caller *caller);
    /* The id of the request that made the call, as its client wrote it; empty if another request
     * has found the call. NULL: there is none. */
    struct str (*request)(const struct caller *caller);
    /* Its asks travel in results, so a call can ask where it would otherwise have to end. */
    bool carries;
    /* How long a question waits if its author does not say. It is never less than the engine's own
     * time. May be NULL. */
    int64_t (*ask_ttl_ms)(struct caller *caller, const struct call *call);
    /*
     * The call's steps are held (call_spec.hold_steps), and it has come to its first step; nothing
     * was done yet. The call goes on after call_step_on. Until then the caller may tell its client
     * how to come back. NULL: it goes on at once.
     */
    void (*stepping)(struct caller *caller, struct call *call);
    /*
     * This node has unloaded the call, which has not ended: another node, or the next start, goes
     * on with it. The caller is not used again. May be NULL.
     */
    void (*unloaded)(struct caller *caller);
    /* The target of the call was replaced, and the call has the new one from now on (call_target).
     * Nothing may be done to the call here. May be NULL. */
    void (*goes_over)(struct caller *caller, struct call *call);
    /* Somebody else has come for the call (comeback.h), who would wait for it as `to`. True: `to`
     * has it now (call_change_caller), and this caller is not used again. NULL: never. */
    bool (*gives_way)(struct caller *caller, struct call *call, struct caller *to);
};

struct caller {
    const struct caller_ops *ops;
    const struct client *client; /* as long as the caller is used; NULL: nothing is known */
    /* Of whoever is behind the call, by the newest request that says so: where consent is asked
     * (core/consent.h). An answer brings roles of its own. */
    role_set roles;
    bool again;        /* its client made a call once more, and may have found this one so */
    struct call *call; /* set by the engine while it belongs to a call; NULL after finished() */
};

#endif
