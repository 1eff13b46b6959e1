/*
 * mcp/era2025/attach: a request that finds its call again, by the handle of a pending result or by
 * the same tool and arguments (era 2025).
 *
 * Its caller2025 has no call while it looks (struct attach). Then one of three things becomes of
 * it: it takes over a call that went on without its client, and waits for it as the request that
 * made the call did; or it makes a call of its own; or it is told why there is nothing to wait for.
 * attach.c has the rules of who finds what.
 *
 * Holds always: an attach outlives its caller only for completions that are on their way. Whoever
 * cancels the request, or goes away, leaves the call as it is: it can be found again.
 */
#ifndef NOD_MCP_ERA2025_ATTACH_H
#define NOD_MCP_ERA2025_ATTACH_H

#include "core/comeback.h"
#include "mcp/era2025/caller.h"
#include "mcp/later/handle.h"

/* What a request that is not the one that made the call knows of it. */
struct attach {
    struct mcp_server *server;
    struct caller2025 *call; /* NULL: it is gone */
    struct comer comer;      /* comes for a call: the one it names, or that of a handle */
    struct client maker;     /* of that call */
    unsigned busy;           /* completions on their way that point here */
    struct id request;       /* stands for the request, on every node */
    bool by_handle;          /* the request names the call, or a question of it: attach_tool.h */
    bool answered;           /* its answer to that question counts */
    bool attached;           /* it waits for a call that somebody else made */
    bool collected;          /* the result was handed out before, and is handed out again */
    bool hands_out;          /* the handle says so: the result is fetched, and given out */
    struct id wanted;        /* the call that it waits for, or looks at */
    struct handle found[HANDLES_FOUND_MAX];
    size_t count, at;
    struct digest wish; /* what the request asks for: see repeat2025 */
    bool noted;         /* the store knows of which call the stream is: see attach_note */
    struct timer again; /* the next look at a call that runs for another request */

    /* If it finds nothing, it makes a call of its own. */
    struct arena arena;
    struct target *target; /* held; NULL: it never makes one */
    const struct json *args;
    struct str meta; /* see call_record.meta */
    bool named;
};

/* The caller, which has no call yet, looks for one. `args` are copied. Ends in caller2025_begin,
 * in a call that it is attached to, or in a response. */
void attach2025_look(struct caller2025 *call, const struct start_spec *spec,
                     const struct id *request, bool named);
/*
 * The stream of a request that found a call is named after the request, and no call is stored under
 * that name. So that a client can come back to the stream at another node, or after a restart, a
 * note is stored before the first event: which call it is, and who asks.
 */
#define ATTACH_NOTE_KIND STR("attach")
struct attach_note {
    struct id request, call;
    struct digest wish;
    bool marks, answered;
    struct str by; /* caller_record, JSON */
};
/* False: this nod cannot read it. The text is in the arena. */
bool attach_note_read(struct arena *arena, struct str text, struct attach_note *out);
/* The caller, on a stream that goes on here, waits for that call. */
void attach2025_back(struct caller2025 *call, const struct attach_note *note);
/* The call that it was attached to has ended: marks the result as handed out, then responds. */
void attach2025_collect(struct caller2025 *call);
/* It no longer waits for the call, which can be found again. */
void attach2025_release(struct caller2025 *call);
/* The caller is being freed. */
void attach2025_forget(struct caller2025 *call);
/* The target of its call was replaced: what the request would begin is begun with the new one. */
void attach2025_goes_over(struct caller2025 *call);
/* Says in the outcome that it is of that call, and was found by calling again (attach_mark.c). The
 * text is in the arena. */
void attach_mark_result(struct arena *arena, const struct call_record *record,
                        struct outcome *outcome);

#endif
