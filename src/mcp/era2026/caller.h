/*
 * mcp/era2026/caller: the caller of a call that came with one request (era 2026).
 *
 * A request starts a call, or goes on with one by its requestState. It is answered with the result,
 * or with what the call asks. Requests that bring the same state and the same answers while the
 * call runs wait for the same end, and all of them get it.
 */
#ifndef NOD_MCP_ERA2026_CALLER_H
#define NOD_MCP_ERA2026_CALLER_H

#include "base/list.h"
#include "core/comeback.h"
#include "crypto/digest.h"
#include "mcp/era2026/methods.h"
#include "mcp/era2026/pipe.h"
#include "mcp/era2026/request_state.h"

struct keyring;

enum {
    MCP_STATE_GRACE_MS = 600000, /* a state outlives the last of its asks by this */
    MCP_HOLD_MS = 20000,         /* how long a retry waits for a page, or for another node */
    MCP_HOLD_LOOK_MS = 50,       /* and how often it looks */
};

/* What all requests of a server share. */
struct rounds2026 {
    struct list callers;                /* whose calls are live, or being looked for */
    struct keyring *keyring;            /* seals requestState */
    struct buf plain, sealed, requests; /* of the round that is sent: see round.c */
};
/* Takes the keyring over. */
struct rounds2026 *rounds2026_create(struct keyring *keyring);
void rounds2026_destroy(struct rounds2026 *rounds);

/* One request that waits for the end of a call. It is part of the caller it came with (`own`). Once
 * it waits with another caller it has its own memory, with its text after it. */
struct waiter {
    struct list link; /* of its caller */
    struct caller2026 *caller;
    struct response response;
    struct in_flight in_flight;
    uint8_t log_level;
    bool progressed;
    uint16_t id_len, token_len;
    double progress;
    const char *text; /* the request's id, then the progress token, both JSON */
};

struct note { /* what was wrong with an answer */
    struct note *next;
    struct str key, problems;
};

struct deferred { /* something a caller does when the stack is clear */
    struct caller2026 *caller;
    void (*fn)(void *data);
};

struct caller2026 {
    struct caller caller;      /* first */
    struct comer comer;        /* with a requestState, or `attach`: comes for its call */
    struct mcp_server *server; /* NULL: the server is gone */
    struct list link;          /* of the server */
    struct list waiters;
    struct waiter own;     /* the first of them */
    struct target *target; /* held */
    enum revision_part part;
    struct str principal, uri; /* in `text` */
    struct arena arena;        /* for what follows */
    struct client client;      /* of the request that made it */
    bool pages;                /* that client can open a page, whoever is asked on it */
    bool tasks;                /* it may be answered with a task */
    bool resumed;              /* it came with a requestState */
    bool imports;              /* its state knows more of the call than our store */
    bool won;                  /* an answer of this request counted */
    bool brought_ahead;        /* what it brought before its turn was given in its turn */
    struct attach2026 *attach; /* it finds a call that was made before: attach_tool.h; or NULL */
    int64_t began;             /* by the loop's clock */
    struct str soft_name;      /* the name its client gives, if rules need it; in the arena */
    bool over;                 /* no waiter is left, and none may come */
    unsigned busy;             /* completions on their way that point here */
    struct deferred deferred;  /* the first of them; further ones have their own memory */
    struct note *notes;
    const struct json *given; /* inputResponses: see caller_given */
    struct str given_text;

    /* With a requestState. */
    struct str state_text;
    struct str args; /* JSON */

    struct timer timer; /* for a hold, or the next look */
    int64_t until;      /* by the loop's clock: when to stop looking */

    /* From here on nothing is zeroed: it is set before it is read. */
    struct digest args_digest; /* with `args` */
    struct state state;        /* with `resumed`, once it is opened */
    struct call_record record; /* its texts are valid while it is adopted */
    const struct entry *known; /* the journal of the call, as it was when it was found */
    size_t known_count;
    char text[]; /* principal, uri, and the texts of the own waiter */
};

/* Replies with an error, or takes the request over. */
void caller2026_start(struct request *request, const struct start_spec *spec);

struct caller2026 *caller2026_of(const struct call *call);

/* The server is shutting down: waiting requests are answered now; or it is gone: nobody is told
 * more. */
void callers_drain(struct mcp_server *server, bool pipe);
/* See era2026_overdue. */
void callers_overdue(struct mcp_server *server);
void callers_drop(struct mcp_server *server);

/* --- between caller.c, resume.c and round.c --- */

/* Answers every waiter with this error. The caller is over. */
void caller_fail(struct caller2026 *caller, int status, int64_t code, struct str message,
                 struct str data);
/* Answers every waiter with the result, or the error, of this end. The caller is over. */
void caller_end(struct caller2026 *caller, const struct outcome *outcome);
/* What everybody who waits is given next is the result of this call. */
void caller_hands(struct caller2026 *caller, struct str call_id);
/* Answers with the one refusal of a requestState. */
#define CALLER_STATE_REFUSED "Invalid or expired requestState: make the call again, without it"
void caller_refuse(struct caller2026 *caller);
/* The id of the store to which its states belong; empty: they are portable. */
struct str caller_store(const struct mcp_server *server);
/* Characters of a requestState that is accepted. */
size_t caller_state_max(const struct mcp_server *server);
/* The caller is over: freed when nothing points to it. */
void caller_over(struct caller2026 *caller);
void caller_settle(struct caller2026 *caller);
/* Calls fn(caller) later. The caller is not freed before. */
void caller_defer(struct caller2026 *caller, void (*fn)(void *data));
struct state_bound caller_bound(const struct caller2026 *caller);
/* Keeps the arguments and their digest. `args` NULL: they are parsed from the text. False: not
 * JSON. */
bool caller_keep_args(struct caller2026 *caller, struct str text, const struct json *args);
/* Its inputResponses. NULL: there are none. */
const struct json *caller_given(struct caller2026 *caller);
/* Do both bring the same state, with the same answers, from clients that can be asked the same? */
bool caller_same(struct caller2026 *a, struct caller2026 *b);
struct str waiter_id(const struct waiter *waiter);
void waiter_free(struct waiter *waiter);
/* From now on it waits with another caller. */
void waiter_move(struct waiter *waiter, struct caller2026 *to);
/* All who wait for the one wait for the end of the other, and the one is over. */
void caller_join(struct caller2026 *caller, struct caller2026 *other);
/* May the call of this request become a task? */
bool caller_holds_steps(const struct caller2026 *caller);

/* target_gone.c: the target of a request does not exist here. True: the request came with the
 * state of a call of that target, and is told how the call ended. If it has not ended it ends now,
 * unless another node may have the target. */
bool resume_gone(struct request *request, const struct wanted *wanted);
/* What came back for a request whose target has a stand-in. False: nothing that a target that is
 * gone has to do with. */
bool gone_told(struct caller2026 *caller, const struct back *back);
/* resume.c: goes on with the call of caller->state_text. */
void resume_begin(struct caller2026 *caller);
/* Are the responses to journalled questions the journalled answers? */
bool responses_agree(const struct json *responses, const struct entry *entries, size_t count,
                     struct arena *arena);
/* Why nothing can be said of a call whose record could not be read. */
struct str resume_why_not(const struct mcp_server *server, nod_status status);
int resume_http(const struct mcp_server *server,
                nod_status status); /* the HTTP status that goes with it */
extern const char resume_other_answers[], resume_other_store[];
/* Since it was looked at, the call was told something elsewhere: perhaps not what this request
 * says. */
bool resume_contested(struct caller2026 *caller, const struct call *call);
/* So it is looked at once more, when it is not live here. */
void resume_later(struct caller2026 *caller);
/* Tells every waiter that the questions were answered before, with other answers. */
void resume_refuse_answers(struct caller2026 *caller);
/* round.c: the asks of a call go out, and answers come in: see caller_ops. */
bool round_brings(struct caller *base, struct call *call);
/* The client's turn has come while its request was held: what it brought ahead counts from now on.
 * False: there was nothing, or it was given before. */
bool round_brings_late(struct caller2026 *caller, struct call *call);
void round_answered(struct caller *base, struct str ask_id, const struct answer_result *result);
bool round_contradicted(struct caller *base, struct call *call);
enum caller_way round_asked(struct caller *base, struct call *call);
/* Tells every waiter what the call asks now, and leaves it. */
void round_leave(struct caller2026 *caller, struct call *call);
/* Tells every waiter that input is required. `requests` is JSON, and may be empty. */
void round_respond(struct caller2026 *caller, struct str requests, struct str state);
/* The server is shutting down: if its call waits, what is asked goes out soon. */
void round_drain(struct caller2026 *caller);
/* A server that stops, whose calls are in memory only: the call is cancelled, and its client is
 * given nothing to come back with. */
bool round_ends_with_process(struct caller2026 *caller, struct call *call);

#endif
