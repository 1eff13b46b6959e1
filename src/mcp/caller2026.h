/*
 * mcp/caller2026: the caller of a call that came with one request (era 2026).
 *
 * A request starts a call, or goes on with one by its requestState. It is answered with the result,
 * or with what the call wants to know. Requests that bring the same state and the same answers
 * while the call runs wait for the same end; all of them get it.
 */
#ifndef NOD_MCP_CALLER2026_H
#define NOD_MCP_CALLER2026_H

#include "base/list.h"
#include "crypto/digest.h"
#include "mcp/era2026.h"
#include "mcp/caller2025.h"
#include "mcp/pipe2026.h"
#include "mcp/request_state.h"

struct keyring;

enum {
    MCP_STATE_GRACE_MS = 600000, /* a state outlives the last of its asks by this */
    MCP_HOLD_MS = 20000,         /* a retry waits that long for a page, or for another node */
    MCP_HOLD_LOOK_MS = 50,       /* and looks that often */
};

/* What the requests of a server share. */
struct rounds2026 {
    struct list callers;                /* whose calls are live, or being looked for */
    struct keyring *keyring;            /* seals requestState */
    struct buf plain, sealed, requests; /* of the round that goes out: see round2026.c */
};
/* Takes the keyring over. */
struct rounds2026 *rounds2026_create(struct keyring *keyring);
void rounds2026_destroy(struct rounds2026 *rounds);

/* One request that waits for the end of a call. It is part of the caller it came with (`own`), or
 * has memory of its own, with its text behind it, once it waits with another one. */
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
    struct mcp_server *server; /* NULL: it is gone */
    struct list link;          /* of the server */
    struct list waiters;
    struct waiter own;     /* the first of them */
    struct target *target; /* held */
    enum revision_part part;
    struct str principal, uri; /* in `text` */
    struct arena arena;        /* of what follows */
    uint8_t can;               /* of the request that made it */
    bool tasks;                /* and whether it may be answered with a task */
    bool starting;             /* its request is still there, and what was read of it */
    bool feeds;                /* when it has started: its answers are to be claimed */
    bool answers;              /* its inputResponses are still to be looked at */
    bool resumed;              /* it came with a requestState */
    bool opened;               /* a page was agreed to, and is not done yet */
    bool won, beaten;          /* an answer of its counted; somebody else's came first */
    bool no_task;              /* its call is known not to be a task yet */
    bool checked;              /* what it answers was compared with what the call was told */
    bool yields;               /* of that, what differs was answered on another surface */
    bool over;                 /* no waiter is left, and none may come */
    unsigned busy;             /* completions on their way that point here */
    struct deferred deferred;  /* one of them; further ones have memory of their own */
    size_t feeding;            /* answers that are being claimed */
    struct note *notes;

    /* With a requestState. */
    const struct json *given; /* inputResponses as they came: see caller_given */
    struct str given_text;
    struct str state_text;
    struct str args; /* JSON */
    struct ask_record *asks;
    size_t ask_count, ask_room;

    struct timer timer; /* a hold, or the next look */
    int64_t until;      /* of the loop's clock: when no more looks are taken */

    /* From here on nothing is zeroed: it is set before anybody looks at it. */
    struct digest args_digest; /* with `args` */
    struct state state;        /* with `resumed`, once it is opened */
    struct call_record record; /* as the store has it, when it is adopted */
    char text[];               /* principal, uri, and what the own waiter has */
};

/* Answers with an error, or takes the request over. */
void caller2026_start(struct request *request, const struct caller2025_spec *spec);

/* What the client of a call declares (enum client_can); 0 for calls of other callers. */
uint8_t caller2026_can(const struct call *call);
struct caller2026 *caller2026_of(const struct call *call);

/* The server is shutting down: what waits is answered now. Or it goes: nobody is told more. */
void callers_drain(struct mcp_server *server, bool pipe);
void callers_drop(struct mcp_server *server);

/* --- between caller2026.c, resume2026.c and round2026.c --- */

/* Every waiter gets this error; the caller is over. */
void caller_fail(struct caller2026 *caller, int status, int64_t code, struct str message,
                 struct str data);
/* Every waiter gets the result, or the error, of an end; the caller is over. */
void caller_end(struct caller2026 *caller, const struct outcome *outcome);
/* The one refusal of a requestState. */
void caller_refuse(struct caller2026 *caller);
/* What its states belong to: the store, or (empty) whoever has the key. */
struct str caller_store(const struct mcp_server *server);
/* Characters of a requestState that is looked at. */
size_t caller_state_max(const struct mcp_server *server);
/* Over: freed when nothing points to it any more. */
void caller_over(struct caller2026 *caller);
void caller_settle(struct caller2026 *caller);
/* fn(caller) later; it is not freed meanwhile. */
void caller_defer(struct caller2026 *caller, void (*fn)(void *data));
struct state_bound caller_bound(const struct caller2026 *caller);
/* Notes the arguments and their digest; `args` NULL: they are read from the text. False: no JSON.
 */
bool caller_keep_args(struct caller2026 *caller, struct str text, const struct json *args);
/* Its inputResponses, or NULL: there are none, or they have been looked at. */
const struct json *caller_answers(struct caller2026 *caller);
/* The same state, brought with the same answers by a client that can do the same. */
bool caller_same(struct caller2026 *a, struct caller2026 *b);
struct str waiter_id(const struct waiter *waiter);
void waiter_free(struct waiter *waiter);
/* It waits with another caller from now on. */
void waiter_move(struct waiter *waiter, struct caller2026 *to);
/* May the call of this request become a task on the way? */
bool caller_holds_steps(const struct caller2026 *caller);

/* resume2026.c: goes on with the call of caller->state_text. */
void resume_begin(struct caller2026 *caller);
/* The target of a request is not there. True: it came with the state of a call of it, and is told
 * how that ended; if it has not, it ends now, unless another node may have its target. */
bool resume_gone(struct request *request, struct str method, struct str name,
                 const struct json *args);
/* Its call goes on, and not by its answers: by the same ones, or by somebody else's? */
bool resume_unsure(const struct caller2026 *caller);
/* The store knows. The call was unloaded. */
void resume_anew(struct caller2026 *caller);
/* round2026.c: the asks of a call go out, and answers come in. */
enum caller_way round_asked(struct caller2026 *caller, struct call *call);
/* Every waiter is told: input is required. `requests` is JSON, and may be empty. */
void round_respond(struct caller2026 *caller, struct str requests, struct str state);
/* Its answers are claimed, now that the asks can be found. */
void round_feed(struct caller2026 *caller);
/* The asks that are left go out again. */
void round_again(struct caller2026 *caller);

#endif
