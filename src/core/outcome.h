/*
 * core/outcome: how a call ended.
 *
 * An outcome knows no protocol. It is a body (JSON, made by the provider), or a failure with a code
 * for programs, a sentence for people, and details. The status is kept to the end, so a timeout
 * stays a timeout.
 */
#ifndef NOD_CORE_OUTCOME_H
#define NOD_CORE_OUTCOME_H

#include "base/arena.h"
#include "base/buf.h"
#include "core/record.h"

struct outcome {
    nod_status status;  /* NOD_OK: body; else a failure */
    struct str body;    /* JSON object: the result, without what the protocol adds */
    const char *code;   /* failures: "ELICITATION_TIMEOUT", "INVALID_INPUT", ... */
    struct str message; /* failures: a sentence */
    struct str details; /* failures: JSON or empty: see problems.h */
    /* failures: JSON object of further facts, or empty: {"askId":..., "ttl":...} */
    struct str meta;
    struct str error_id; /* failures: to find it in the log */
    /* Failures: the request itself was wrong. It is told as an error even where a failure is a
     * result. */
    bool request_error;
    struct str error_data; /* JSON, with request_error: what the error carries; or empty */
    /* Failures: it was refused because what is kept for its principal, or for all, has its bound.
     * It is told as an error, too. Not stored: a call that was stored may end with it. */
    bool no_room;
    bool elsewhere; /* not stored here: the call was cancelled through another node */
};

/* Codes of calls that end because they cannot go on as they began. */
#define OUTCOME_TARGET_GONE    "TOOL_GONE"
#define OUTCOME_TARGET_CHANGED "TOOL_CHANGED"
/* The code of a call that an operator has ended (`nod store end`); its message has the reason. */
#define OUTCOME_ENDED_BY_OPERATOR "ENDED_BY_OPERATOR"
/* The code of a call that needs a page to be opened before it is made again. error_data names the
 * page. */
#define OUTCOME_PAGE_REQUIRED "URL_ELICITATION_REQUIRED"
/* What a call that cannot go on had done, as far as is known. */
struct so_far {
    const struct entry *entries; /* its journal */
    size_t count;
    bool answered;    /* its questions had been answered: it could have gone on */
    bool interrupted; /* its last run may have been in the middle of a step */
};
/* In words, with a blank in front: which steps were done, and which may have been; or nothing. */
struct str outcome_so_far(struct arena *arena, const struct so_far *so_far);
/* The outcome of a call whose target no longer exists. The text is in the arena. */
struct outcome outcome_gone(struct arena *arena, struct str target, const struct so_far *so_far);
/* The outcome of a call whose target takes other arguments than when it was called, or has another
 * version. */
struct outcome outcome_changed(struct arena *arena, struct str target, const struct so_far *so_far);
/* The outcome of a call that stays, and whose home is gone (core/home.c). */
struct outcome outcome_homeless(struct arena *arena, struct str target);
/* What the sender of a request is told that comes again after it was cancelled. */
struct outcome outcome_withdrawn(struct arena *arena, const struct so_far *so_far);
enum crashed_in { CRASHED_IN_RUN, CRASHED_IN_ANSWER };

/* The outcome of a call that was running too often when a process died (core/suspect.c), or that an
 * answer came to (core/claim_hand.c). */
struct outcome outcome_crashed(struct arena *arena, struct str target, enum crashed_in in,
                               bool step_open);

struct outcome outcome_ended_by_operator(struct arena *arena, struct str reason);

/* The code of a status: "ELICITATION_TIMEOUT" for NOD_E_TIMEOUT, ...; never NULL. */
const char *outcome_code(nod_status status);

/* To and from the store. */
bool outcome_write(struct buf *out, const struct outcome *outcome);
/* The same for a call that went well. *body is its result; afterwards it points into `out`. */
bool outcome_write_body(struct buf *out, struct str *body);
nod_status outcome_read(struct arena *arena, struct str text, struct outcome *out);

#endif
